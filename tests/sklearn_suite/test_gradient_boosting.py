"""scikit-learn's tests of its boosted trees; the classes they import are dforest's: see `conftest.py`."""

from sklearn.ensemble._hist_gradient_boosting.tests.test_gradient_boosting import *  # noqa: F403
