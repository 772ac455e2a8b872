"""scikit-learn's tests of warm starts of its boosted trees; the classes they import are dforest's: see `conftest.py`."""

from sklearn.ensemble._hist_gradient_boosting.tests.test_warm_start import *  # noqa: F403
