"""scikit-learn's tests of what shows a tree; the trees are dforest's: see `conftest.py`."""

from sklearn.tree.tests.test_export import *  # noqa: F403
