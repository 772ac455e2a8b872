"""scikit-learn's tests of votes of several estimators; the forests and trees among them are dforest's: see `conftest.py`."""

from sklearn.ensemble.tests.test_voting import *  # noqa: F403
