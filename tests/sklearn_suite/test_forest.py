"""scikit-learn's tests of its forests; the classes they import are dforest's: see `conftest.py`."""

from sklearn.ensemble.tests.test_forest import *  # noqa: F403
