"""scikit-learn's comparison of its boosted trees with LightGBM's; the former are dforest's: see `conftest.py`."""

from sklearn.base import clone
from sklearn.ensemble._hist_gradient_boosting.tests import test_compare_lightgbm as theirs
from sklearn.ensemble._hist_gradient_boosting.tests.test_compare_lightgbm import *  # noqa: F403
from sklearn.ensemble._hist_gradient_boosting.utils import get_equivalent_estimator

from dforest.estimators.boosting.defaults import SCIKIT_LEARN


def equivalent_of_values(estimator, **parameters):
    """LightGBM's estimator, which needs numbers where parameters are "auto"."""
    values = {name: value for name, value in SCIKIT_LEARN.items() if getattr(estimator, name) == "auto"}
    return get_equivalent_estimator(clone(estimator).set_params(**values), **parameters)


theirs.get_equivalent_estimator = equivalent_of_values
