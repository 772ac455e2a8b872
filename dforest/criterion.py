"""Criteria: how impure a node is, and so which split is best. Give an object or a class to an estimator as `criterion`.

The built-in criteria also have names, such as ``criterion="gini"``. To write a criterion of your own in Cython, subclass
`ClassCriterion` or `NumberCriterion`, whose contract is the head of ``dforest/core/search/criterion.pxd``; to try an idea in
Python, subclass `PythonCriterion`.
"""

from typing import NamedTuple

import numpy as np

import dforest.built  # noqa: F401
from dforest.core.component import CriterionError
from dforest.core.search.absolute_error import AbsoluteError
from dforest.core.search.criterion import ClassCriterion, Criterion, Entropy, Gini, Hellinger
from dforest.core.search.logrank import LogRank, LogRankScore
from dforest.core.search.python_components import PythonCriterionBase
from dforest.core.search.regression import NumberCriterion, Poisson, SquaredError

__all__ = [
    "AbsoluteError",
    "ClassCriterion",
    "Criterion",
    "CriterionError",
    "Entropy",
    "Gini",
    "Hellinger",
    "LogRank",
    "LogRankScore",
    "NumberCriterion",
    "Poisson",
    "PythonCriterion",
    "SquaredError",
    "Statistics",
]


class Statistics(NamedTuple):
    """Sums over n sets of draws, which the methods of a `PythonCriterion` are given.

    A set of draws is a node or a side of a split; a row that the tree drew twice is two draws. All arrays are read-only.

    Attributes
    ----------
    draws : ndarray of shape (n,), dtype int64
        Number of draws in each set.
    weight : ndarray of shape (n,), dtype float64
        Total weight of each set. Weights are whole numbers: sample weights times a power of two.
    class_weight : ndarray of shape (n, n_classes), dtype float64, or None
        Weight of each class in each set; None for regression.
    mean : ndarray of shape (n,), dtype float64, or None
        Weighted mean of the targets of each set; None for classification.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.criterion import Statistics
    >>> one_set = Statistics(np.array([4]), np.array([4.0]), np.array([[3.0, 1.0]]), None)  # of two classes
    >>> (one_set.class_weight / one_set.weight[:, None]).tolist()
    [[0.75, 0.25]]
    """

    draws: np.ndarray
    weight: np.ndarray
    class_weight: np.ndarray | None
    mean: np.ndarray | None


class PythonCriterion(PythonCriterionBase):
    """Base class of criteria that are written in Python, which are slow and meant for trying ideas.

    A criterion says how impure a node is; trees choose splits that decrease the impurity. A subclass overrides one or more
    methods:

    - ``impurity(statistics)`` is always needed. It is given the `Statistics` of n sets of draws, and returns an array of n
      finite numbers, which for classification may not be below 0. For regression, a term that all splits of a node have in
      common, such as the node's mean square, may be left out.
    - ``value(statistics)`` is needed for regression if leaves do not predict the mean of their targets.
    - ``score(left, right, node)`` is given the `Statistics` of the n left sides and of the n right sides of n splits, and of
      the node (a single set of draws). It returns how good each split is: a number from 0 on, or -inf for a split that is not
      allowed. By default this is the node's weight times the decrease of its impurity. Scores decide between splits, also in
      `min_impurity_decrease` and in best-first growth; importances and pruning use the impurity.
    - ``configure(n_classes, wide)`` is needed for a criterion that is for classification alone, or for regression alone, where
      n_classes is 0. It raises ValueError for the task that the criterion is not for, and otherwise returns what the method
      of its base class returns.

    If there are several outputs, each of them has a criterion object of its own, which is given the statistics of this output.
    The attribute `n_outputs` is the number of outputs, and `output` is the number of the criterion's own one, from 0 on.

    Each argument of the constructor must be kept as an attribute of the same name. If a method raises an exception, the fit
    ends with it; a result of the wrong shape, or NaN, raises `CriterionError`.

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
        """Return the impurity of each of n sets of draws; a subclass must override it.

        Parameters
        ----------
        statistics : Statistics
            Sums over the n sets.

        Returns
        -------
        ndarray of shape (n,)
            Finite numbers, which for classification may not be below 0.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define impurity")

    def value(self, statistics):
        """Return what each of n sets of draws would predict as a leaf, for regression: by default its mean target.

        Parameters
        ----------
        statistics : Statistics
            Sums over the n sets.

        Returns
        -------
        ndarray of shape (n,)
            Finite numbers.
        """
        return statistics.mean

    def score(self, left, right, node):
        """Return how good each of n splits is: by default the node's weight times the decrease of its impurity.

        Parameters
        ----------
        left, right : Statistics
            Sums over the left and over the right sides of the n splits.
        node : Statistics
            Sums over the node, a single set of draws.

        Returns
        -------
        ndarray of shape (n,)
            Numbers from 0 on, or -inf for a split that is not allowed.
        """
        before, at_left, at_right = (part.weight * self.checked_impurity(part) for part in (node, left, right))
        return np.maximum(before - at_left - at_right, 0.0)
