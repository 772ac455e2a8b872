"""scikit-learn's tests of monotonic constraints of trees and forests; the classes in it are dforest's: see `conftest.py`."""

from sklearn.tree.tests.test_monotonic_tree import *  # noqa: F403
