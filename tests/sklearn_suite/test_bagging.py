"""scikit-learn's tests of bagging; the forests and trees in it are dforest's: see `conftest.py`."""

from sklearn.ensemble.tests.test_bagging import *  # noqa: F403
