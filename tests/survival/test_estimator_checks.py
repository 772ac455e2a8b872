"""scikit-learn's own checks of estimators: these hand over a y of numbers, of which events at such times are made."""

import inspect

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from dforest import ExtraSurvivalTrees, RandomSurvivalForest, SurvivalTree


def times_of(y):
    """Events at times that rise with y, where y holds finite real numbers; else y as it is."""
    numbers = np.asarray(y)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iuf" or not len(numbers) or not np.isfinite(numbers).all():
        return y
    return np.column_stack([np.ones(len(numbers)), numbers - numbers.min()])


def of_numbers(kind):
    """A kind of estimator that takes such a y."""

    class OfNumbers(kind):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X, times_of(y), sample_weight)

        def score(self, X, y):
            return super().score(X, times_of(y))

    OfNumbers.__init__.__signature__ = inspect.signature(kind.__init__)
    OfNumbers.__name__ = OfNumbers.__qualname__ = kind.__name__ + "OfNumbers"
    globals()[OfNumbers.__name__] = OfNumbers  # for pickles
    return OfNumbers


ESTIMATORS = [
    of_numbers(RandomSurvivalForest)(n_estimators=5),
    of_numbers(ExtraSurvivalTrees)(n_estimators=5),
    of_numbers(SurvivalTree)(),
]


def expected_failures(estimator):
    equivalence = "check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"
    of_y = "check_complex_data", "check_dtype_object"
    return {
        **dict.fromkeys(equivalence, "min_samples_leaf counts rows, whatever their weights"),
        **dict.fromkeys(of_y, "a y of other numbers, or of labels, is no survival time: the error says so in words of its own"),
    }


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
