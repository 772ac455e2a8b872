"""scikit-learn's tests of partial dependence; the forests and trees it is computed of are dforest's: see `conftest.py`."""

from sklearn.inspection.tests.test_partial_dependence import *  # noqa: F403
