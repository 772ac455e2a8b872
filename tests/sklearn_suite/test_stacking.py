"""scikit-learn's tests of stacks of estimators; the forests in them are dforest's: see `conftest.py`."""

from sklearn.ensemble.tests.test_stacking import *  # noqa: F403
