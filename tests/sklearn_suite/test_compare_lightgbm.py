"""scikit-learn's comparison of its boosted trees with LightGBM's; the former are dforest's: see `conftest.py`."""

from sklearn.ensemble._hist_gradient_boosting.tests.test_compare_lightgbm import *  # noqa: F403
