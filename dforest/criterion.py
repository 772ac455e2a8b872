"""Criteria: what a node is worth, and which cut is best. Give one, or its class, to an estimator as `criterion`.

The built-in ones stand behind ``criterion="gini"`` and the other names. To write your own in Cython, subclass
`ClassCriterion` or `NumberCriterion`, whose contract is the head of ``dforest/core/search/criterion.pxd``; to try an idea in
Python, subclass `PythonCriterion`.
"""

from typing import NamedTuple

import numpy as np

from dforest.core.component import CriterionError
from dforest.core.search.absolute_error import AbsoluteError
from dforest.core.search.criterion import ClassCriterion, Criterion, Entropy, Gini, Hellinger
from dforest.core.search.python_criterion import PythonCriterionBase
from dforest.core.search.regression import NumberCriterion, Poisson, SquaredError

__all__ = [
    "AbsoluteError",
    "ClassCriterion",
    "Criterion",
    "CriterionError",
    "Entropy",
    "Gini",
    "Hellinger",
    "NumberCriterion",
    "Poisson",
    "PythonCriterion",
    "SquaredError",
    "Statistics",
]


class Statistics(NamedTuple):
    """Sums over n sets of draws, read-only.

    Attributes
    ----------
    draws : ndarray of shape (n,), dtype int64
    weight : ndarray of shape (n,), dtype float64
        Integers: sample weights times a power of two.
    class_weight : ndarray of shape (n, n_classes), dtype float64, or None
        Of each class; None for regression.
    mean : ndarray of shape (n,), dtype float64, or None
        The weighted mean target; None for classification.
    """

    draws: np.ndarray
    weight: np.ndarray
    class_weight: np.ndarray | None
    mean: np.ndarray | None


class PythonCriterion(PythonCriterionBase):
    """A criterion written in Python: slow, for trying ideas.

    A subclass overrides ``impurity(statistics)``: given `Statistics` of n sets of draws, an array of n finite numbers, for
    classification from 0; and, for
    regression, where leaves do not predict the mean, ``value(statistics)``. For regression, what is the same for all cuts
    of a node, such as its mean square, may be left out of the impurity.

    Or ``score(left, right, node)``: given the `Statistics` of the n left and right sides and of the node (n = 1), what
    each cut is worth, from 0; -inf for one that is not allowed. By default that is the node's weight times the decrease of
    its impurity. Scores decide between cuts, also in `min_impurity_decrease` and best-first growth; importances and pruning
    keep to the impurity.

    One that is for classification alone, or for regression alone, says so in ``configure(n_classes, wide)``: it raises
    ValueError where n_classes, which is 0 for regression, is not to its liking, and else returns what its base's does.

    Parameters of the constructor are kept as attributes of the same name. A method that raises ends the fit with that
    exception; an answer of the wrong shape, or NaN, raises `CriterionError`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> from dforest.criterion import PythonCriterion
    >>> class Misclassification(PythonCriterion):
    ...     def impurity(self, statistics):
    ...         return 1 - statistics.class_weight.max(axis=1) / statistics.weight
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(criterion=Misclassification(), max_depth=3, random_state=0).fit(X, y)
    >>> tree.score(X, y) > 0.9
    True
    """

    statistics_type = Statistics

    def impurity(self, statistics):
        """Impurities of sets of draws: see above."""
        raise NotImplementedError(f"{type(self).__name__} does not define impurity")

    def value(self, statistics):
        """What leaves predict, for regression: the mean."""
        return statistics.mean

    def score(self, left, right, node):
        """The node's weight times the decrease of its impurity; not below 0."""
        before, at_left, at_right = (part.weight * self.checked_impurity(part) for part in (node, left, right))
        return np.maximum(before - at_left - at_right, 0.0)
