"""scikit-learn's tests of how features are selected by a model; the forests in it are dforest's: see `conftest.py`."""

from sklearn.feature_selection.tests.test_from_model import *  # noqa: F403
