"""What holds for every node of a tree, from the leaves up.

A forest keeps statistics of leaves only. Children come after their parent in preorder, so one pass
from the last node to the first gives those of inner nodes. With w the weight of a node, i its
impurity and L, R its children,

    w i = w_L i_L + w_R i_R + decrease,

where the decrease is formed from what the children differ in, without cancellation.

Nothing here is kept: tables are new arrays, the arrays handed in are borrowed.
"""
from collections import namedtuple

from libc.math cimport ldexp
from libc.stdint cimport int32_t, int64_t, uint32_t

import numpy as np

from dforest.core.search.criterion cimport Criterion
from dforest.rules.node cimport df_score_exponent
from dforest.rules.numerics cimport df_entropy_term
from dforest.rules.records cimport DF_ABSOLUTE_ERROR, DF_POISSON, DF_SQUARED_ERROR

from dforest.core.search.regression import Poisson


NodeTable = namedtuple("NodeTable", ["draws", "weight", "value", "impurity", "decrease"])
NodeTable.__doc__ = """Table of the n nodes of a tree: how many draws reach each of them, what it predicts, and how impure it is.

The method `node_table` of a `Forest` returns it. Nodes come in preorder, the root first.

Attributes
----------
draws : ndarray of shape (n,), dtype int64
    Number of draws that reach the node; a row that the tree drew twice counts twice.
weight : ndarray of shape (n, n_classes) or (n, 1), dtype int64
    Integer weights of these draws, by class; for several outputs, those of all classes of one output after those of another.
value : ndarray of shape (n, n_classes) or (n, n_outputs), dtype float64
    Shares of the classes in the weight; for regression, the number that the node would predict for each output as a leaf.
impurity : ndarray of shape (n,), dtype float64
    Impurity of the node, by the criterion; 0 for boosted trees, where it is not known.
decrease : ndarray of shape (n,), dtype float64
    The node's integer weight times the impurity decrease of its split, or, for boosted trees, the gain of its split; 0 for
    a leaf.

Examples
--------
>>> from sklearn.datasets import load_iris
>>> from dforest import DecisionTreeClassifier
>>> X, y = load_iris(return_X_y=True)
>>> table = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y).forest_.node_table(0)
>>> table.draws.tolist()
[150, 50, 100]
>>> table.weight.tolist()
[[50, 50, 50], [50, 0, 0], [0, 50, 50]]
"""

_NUMBERS = {"squared_error": DF_SQUARED_ERROR, "friedman_mse": DF_SQUARED_ERROR, "poisson": DF_POISSON,
            "absolute_error": DF_ABSOLUTE_ERROR}


def target_power(criterion):
    """Which power of the target's unit an impurity has: that of a criterion by name; 0 for others, whose unit nobody knows."""
    # An impurity of targets in units of 2 is in units of 2 to this power.
    return df_score_exponent(_NUMBERS[criterion], -1) if isinstance(criterion, str) and criterion in _NUMBERS else 0


def class_table(const int32_t[::1] feature not None, const uint32_t[::1] link not None,
                const int64_t[::1] leaf_draws not None, const int64_t[:, ::1] leaf_weight not None,
                const int64_t[::1] leaf_total not None, Criterion judge not None):
    """The nodes of a class tree.

    Parameters
    ----------
    feature, link : ndarray of shape (n,)
        Of the nodes of the tree: see `dforest.core.forest.arrays.Forest`.
    leaf_draws, leaf_weight : ndarray
        Of the leaf tables that `link` leads to.
    leaf_total : ndarray of shape (n_leaves,), dtype int64
        The weight of each leaf.
    judge : Criterion
        Configured. The decrease by another one than dforest's own is that of its impurity, whatever it scores cuts by.

    Returns
    -------
    NodeTable
    """
    cdef Py_ssize_t n = feature.shape[0], n_classes = leaf_weight.shape[1], n_words = 2 + n_classes, i, k
    statistics = np.zeros((n, n_words), np.int64)
    impurity = np.zeros(n)
    decrease = np.zeros(n)
    cdef int64_t[:, ::1] words = statistics
    cdef double[::1] to_impurity = impurity, to_decrease = decrease
    with nogil:
        for i in range(n - 1, -1, -1):
            if feature[i] < 0:
                words[i, 0] = leaf_draws[link[i]]
                words[i, 1] = leaf_total[link[i]]
                for k in range(n_classes):
                    words[i, 2 + k] = leaf_weight[link[i], k]
            else:
                for k in range(n_words):
                    words[i, k] = words[i + 1, k] + words[link[i], k]
                if judge.is_built_in:
                    judge.best_cut(&words[i + 1, 0], 1, &words[i, 0], &to_decrease[i])
                else:
                    Criterion.best_cut(judge, &words[i + 1, 0], 1, &words[i, 0], &to_decrease[i])
            to_impurity[i] = judge.impurity(&words[i, 0])
    judge.check()
    weight = statistics[:, 2:].copy()
    return NodeTable(statistics[:, 0].copy(), weight, weight / statistics[:, 1:2], impurity, decrease)


def number_table(const int32_t[::1] feature not None, const uint32_t[::1] link not None,
                 const int64_t[::1] leaf_draws not None, const int64_t[:, ::1] leaf_weight not None,
                 const double[:, ::1] leaf_value not None, const double[::1] leaf_impurity not None,
                 const double[:, ::1] inner not None, criterion not None, int exponent=0):
    """The nodes of a regression tree.

    Parameters
    ----------
    feature, link, leaf_draws, leaf_weight
        As for `class_table`.
    leaf_value : ndarray of shape (n_leaves, n_outputs), dtype float64
    leaf_impurity : ndarray of shape (n_leaves,), dtype float64
    inner : ndarray of shape (n_inner, n_outputs + 1) or (0, n_outputs + 1), dtype float64
        Values and impurity of the nodes that are no leaves, where these do not follow from the leaves'.
        The decrease is then a difference of impurities.
    criterion : str or Criterion
        As `Forest.criterion`.
    exponent : int
        As if all targets had been divided by 2**exponent; with a criterion from elsewhere they are not.

    Returns
    -------
    NodeTable
    """
    cdef Py_ssize_t n = feature.shape[0], n_outputs = leaf_value.shape[1], n_inner = inner.shape[0], i, a, b, o
    cdef bint is_name = isinstance(criterion, str)
    cdef bint is_poisson = criterion == "poisson" if is_name else isinstance(criterion, Poisson)
    cdef bint given = criterion == "absolute_error" if is_name else not criterion.is_additive
    cdef double left, rest, difference, mean, fall
    cdef int power = target_power(criterion)
    draws = np.empty(n, np.int64)
    weight = np.empty((n, 1), np.int64)
    value = np.empty((n, n_outputs))
    if not is_name:            # in whose unit its impurities are, nobody knows
        exponent = 0
    impurity = np.empty(n)
    decrease = np.zeros(n)
    cdef int64_t[::1] to_draws = draws
    cdef int64_t[:, ::1] w = weight
    cdef double[:, ::1] v = value
    cdef double[::1] to_impurity = impurity, to_decrease = decrease
    with nogil:
        for i in range(n - 1, -1, -1):
            if feature[i] < 0:
                to_draws[i] = leaf_draws[link[i]]
                w[i, 0] = leaf_weight[link[i], 0]
                for o in range(n_outputs):
                    v[i, o] = ldexp(leaf_value[link[i], o], -exponent)
                to_impurity[i] = ldexp(leaf_impurity[link[i]], -power * exponent)
                continue
            a = i + 1
            b = link[i]
            to_draws[i] = to_draws[a] + to_draws[b]
            w[i, 0] = w[a, 0] + w[b, 0]
            left = <double> w[a, 0] / <double> w[i, 0]
            rest = <double> w[b, 0] / <double> w[i, 0]
            if given:
                n_inner -= 1
                for o in range(n_outputs):
                    v[i, o] = ldexp(inner[n_inner, o], -exponent)
                to_impurity[i] = ldexp(inner[n_inner, n_outputs], -power * exponent)
                mean = left * to_impurity[a] + rest * to_impurity[b]
                to_decrease[i] = max(0.0, <double> w[i, 0] * (to_impurity[i] - mean))
                continue
            fall = 0.0
            for o in range(n_outputs):
                # Between its children, so that an order of leaf values holds for those of nodes too.
                mean = left * v[a, o] + rest * v[b, o]
                mean = min(max(mean, min(v[a, o], v[b, o])), max(v[a, o], v[b, o]))
                difference = v[b, o] - v[a, o]
                if not is_poisson:
                    fall += left * rest * difference * difference
                elif mean > 0.0:               # of 0, the output is 0 in the whole node
                    fall += mean * (left * df_entropy_term(-rest * difference / mean)
                                    + rest * df_entropy_term(left * difference / mean))
                v[i, o] = mean
            fall /= <double> n_outputs
            to_impurity[i] = left * to_impurity[a] + rest * to_impurity[b] + fall
            to_decrease[i] = <double> w[i, 0] * fall
    return NodeTable(draws, weight, value, impurity, decrease)


def gain_table(const int32_t[::1] feature not None, const uint32_t[::1] link not None,
               const int64_t[::1] leaf_draws not None, const int64_t[:, ::1] leaf_weight not None,
               const double[::1] leaf_value not None, const double[:, ::1] inner not None):
    """The nodes of a tree whose leaves are added up, as a boosted one.

    Parameters
    ----------
    feature, link, leaf_draws, leaf_weight
        As for `class_table`.
    leaf_value : ndarray of shape (n_leaves,), dtype float64
    inner : ndarray of shape (n_inner, 2), dtype float64
        What each node that is no leaf would add as one, and the gain of its split.

    Returns
    -------
    NodeTable
        The decreases are the gains. Impurities are not known, and 0.
    """
    cdef Py_ssize_t n = feature.shape[0], n_inner = inner.shape[0], i
    draws = np.empty(n, np.int64)
    weight = np.empty((n, 1), np.int64)
    value = np.empty((n, 1))
    decrease = np.zeros(n)
    cdef int64_t[::1] to_draws = draws
    cdef int64_t[:, ::1] w = weight
    cdef double[:, ::1] v = value
    cdef double[::1] to_decrease = decrease
    with nogil:
        for i in range(n - 1, -1, -1):
            if feature[i] < 0:
                to_draws[i] = leaf_draws[link[i]]
                w[i, 0] = leaf_weight[link[i], 0]
                v[i, 0] = leaf_value[link[i]]
                continue
            n_inner -= 1
            to_draws[i] = to_draws[i + 1] + to_draws[link[i]]
            w[i, 0] = w[i + 1, 0] + w[link[i], 0]
            v[i, 0] = inner[n_inner, 0]
            to_decrease[i] = inner[n_inner, 1]
    return NodeTable(draws, weight, value, np.zeros(n), decrease)
