"""scikit-learn's tests of its trees; the classes they import are dforest's: see `conftest.py`."""

from sklearn.tree.tests.test_tree import *  # noqa: F403
