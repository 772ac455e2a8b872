"""scikit-learn's tests of AdaBoost; the trees in it are dforest's: see `conftest.py`."""

from sklearn.ensemble.tests.test_weight_boosting import *  # noqa: F403
