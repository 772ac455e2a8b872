"""scikit-learn's tests of isolation forests; the class in them is dforest's: see `conftest.py`."""

from sklearn.ensemble.tests.test_iforest import *  # noqa: F403
