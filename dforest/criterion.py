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
        The weight of each class; None for regression.
    mean : ndarray of shape (n,), dtype float64, or None
        The weighted mean target; None for classification.
    """

    draws: np.ndarray
    weight: np.ndarray
    class_weight: np.ndarray | None
    mean: np.ndarray | None


class PythonCriterion(PythonCriterionBase):
    """A criterion written in Python: slow, for trying ideas.

    A subclass overrides ``impurity(statistics)``, which is given the `Statistics` of n sets of draws and returns an array of
    n finite numbers; those of classification may not be below 0. A criterion for regression whose leaves do not predict the
    mean overrides ``value(statistics)`` too. For regression, a term that all cuts of a node have in common, such as the
    node's mean square, may be left out of the impurity.

    Of several outputs each has a criterion of its own, which is given the statistics of this output. It has the attributes
    `n_outputs`, how many there are, and `output`, which of them is its own, from 0.

    A subclass may override ``score(left, right, node)`` as well: given the `Statistics` of the n left sides, of the n right
    sides and of the node (a single set of draws), it returns what each cut is worth, a number from 0, or -inf for a cut that
    is not allowed. By default, that is the node's weight times the decrease of its impurity. Scores decide between cuts, also
    in `min_impurity_decrease` and best-first growth; importances and pruning keep to the impurity.

    A criterion for classification alone, or for regression alone, overrides ``configure(n_classes, wide)``, in which
    n_classes is 0 for regression: it raises ValueError for the task that it is not for, and otherwise returns what the
    method of its base class returns.

    Each parameter of the constructor is kept as an attribute of its name. A method that raises ends the fit with that
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
        """The impurity of each of n sets of draws: see the class."""
        raise NotImplementedError(f"{type(self).__name__} does not define impurity")

    def value(self, statistics):
        """What a leaf predicts in regression, for each of n sets of draws: by default the mean target."""
        return statistics.mean

    def score(self, left, right, node):
        """What each of n cuts is worth: the node's weight times the decrease of its impurity, at least 0."""
        before, at_left, at_right = (part.weight * self.checked_impurity(part) for part in (node, left, right))
        return np.maximum(before - at_left - at_right, 0.0)
