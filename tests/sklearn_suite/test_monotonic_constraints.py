"""scikit-learn's tests of monotonic constraints of its boosted trees; the classes they import are dforest's: see `conftest.py`.

Other tests of the module are of scikit-learn's private classes, and would say nothing of dforest's.
"""

from sklearn.ensemble._hist_gradient_boosting.tests.test_monotonic_constraints import (  # noqa: F401
    test_input_error,
    test_input_error_related_to_feature_names,
    test_predictions,
)
