"""What holds for every node of a tree, from the leaves up; which inner nodes are to become leaves; and which nodes remain.

A forest keeps statistics of leaves only. Children come after their parent in preorder, so one pass from the last node to the
first gives the statistics of inner nodes. With w the weight of a node, i its impurity and L, R its children,

    w i = w_L i_L + w_R i_R + decrease,

where the decrease is formed from what the children differ in, without cancellation.

In pruning, a *branch* is a node and all below it; a node is *cut* when its branch becomes a leaf. As nodes are in preorder, the
branch of node i is the run of nodes

    i, i + 1, ..., end[i] - 1.

Nothing here is kept: tables are new arrays, the arrays handed in are borrowed.
"""
from collections import namedtuple

from libc.math cimport INFINITY, fabs, ldexp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from dforest.core.threads cimport WorkerContext, current_worker, poll
from dforest.rules.node cimport df_score_exponent
from dforest.rules.records cimport DF_ABSOLUTE_ERROR, DF_POISSON, DF_SQUARED_ERROR
from dforest.rules.weights cimport df_both_weights, df_shifted_sum, df_weight_fraction

from dforest.core.search.regression import Poisson

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1


NodeTable = namedtuple("NodeTable", ["draws", "weight", "value", "impurity", "decrease"])
NodeTable.__doc__ = """Table of the n nodes of a tree: how many draws reach each of them, what it predicts, and how impure it is.

The method `node_table` of a `Forest` returns it. Nodes come in preorder, the root first.

Attributes
----------
draws : ndarray of shape (n,), dtype int64
    Number of draws that reach the node; a row that the tree drew twice counts twice.
weight : ndarray of shape (n, n_classes) or (n, 1), dtype int64
    Integer weights of these draws, by class; for several outputs, those of all classes of one output after those of another. They
    are float64, and no integers, where the forest has a `leaf_shift`.
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


SHIFTED_SUM = np.dtype([("weight", np.int64), ("shift", np.int32)], align=True)


cdef inline double weight_of(df_shifted_sum sum) noexcept nogil:
    return <double> sum.weight if sum.shift == 0 else ldexp(<double> sum.weight, -sum.shift)


cdef shifts_of(sums, bint has_shift):
    """The shifts of nodes, given their weights; none if all are 0."""
    return sums["shift"].copy() if has_shift else np.zeros(0, np.int32)


def target_power(criterion):
    """Which power of the target's unit an impurity has; 0 if this is not known, as of user-defined criteria."""
    # An impurity of targets in units of 2 is in units of 2 to this power.
    return df_score_exponent(_NUMBERS[criterion], -1) if isinstance(criterion, str) and criterion in _NUMBERS else 0


def is_deviance(criterion):
    """Whether a `Forest.criterion` is the Poisson deviance."""
    return criterion == "poisson" if isinstance(criterion, str) else isinstance(criterion, Poisson)


def is_additive(criterion):
    """Whether the values and impurities of inner nodes follow from the leaves, by a `Forest.criterion` for numbers."""
    return criterion != "absolute_error" if isinstance(criterion, str) else criterion.is_additive


cdef df_shifted_sum leaf_sum(const int64_t[:, ::1] leaf_weight, const int32_t[::1] leaf_shift, Py_ssize_t row) noexcept nogil:
    """The weight of a leaf."""
    cdef df_shifted_sum found
    found.weight = leaf_weight[row, 0]
    found.shift = leaf_shift[row] if leaf_shift.shape[0] > 0 else 0
    return found


cdef df_shifted_sum sum_of_both(df_shifted_sum a, df_shifted_sum b, bint has_shift) noexcept nogil:
    """The weight of a node, given those of its children."""
    if has_shift:
        return df_both_weights(a, b)
    a.weight += b.weight
    return a


def number_table(const int32_t[::1] feature not None, const uint32_t[::1] link not None,
                 const int64_t[::1] leaf_draws not None, const int64_t[:, ::1] leaf_weight not None,
                 const int32_t[::1] leaf_shift not None, const double[:, ::1] leaf_value not None,
                 const double[::1] leaf_impurity not None, const double[:, ::1] inner not None, criterion not None,
                 int exponent=0):
    """The nodes of a regression tree.

    Parameters
    ----------
    feature, link, leaf_draws, leaf_weight, leaf_shift
        As for `dforest.core.forest.class_table.class_table`.
    leaf_value : ndarray of shape (n_leaves, n_outputs), dtype float64
    leaf_impurity : ndarray of shape (n_leaves,), dtype float64
    inner : ndarray of shape (n_inner, n_outputs + 1) or (0, n_outputs + 1), dtype float64
        Values and impurity of the nodes that are no leaves, where these do not follow from the leaves'.
        The decrease is then a difference of impurities.
    criterion : str or Criterion
        As `Forest.criterion`.
    exponent : int
        As if all targets had been divided by 2**exponent; with a user-defined criterion they are not.

    Returns
    -------
    table, shift
        As of `dforest.core.forest.class_table.class_table`.
    """
    cdef Py_ssize_t n = feature.shape[0], n_outputs = leaf_value.shape[1], n_inner = inner.shape[0], i, a, b, o
    cdef bint is_poisson = is_deviance(criterion), given = not is_additive(criterion)
    cdef double left, rest, difference, mean, fall
    cdef int power = target_power(criterion)
    cdef bint has_shift = leaf_shift.shape[0] > 0
    draws = np.empty(n, np.int64)
    sums = np.empty(n, SHIFTED_SUM)
    value = np.empty((n, n_outputs))
    if not isinstance(criterion, str):     # the unit of a user-defined criterion's impurities is not known
        exponent = 0
    impurity = np.empty(n)
    decrease = np.zeros(n)
    cdef int64_t[::1] to_draws = draws
    cdef df_shifted_sum[::1] w = sums
    cdef double[:, ::1] v = value
    cdef double[::1] to_impurity = impurity, to_decrease = decrease
    with nogil:
        for i in range(n - 1, -1, -1):
            if feature[i] < 0:
                to_draws[i] = leaf_draws[link[i]]
                w[i] = leaf_sum(leaf_weight, leaf_shift, link[i])
                for o in range(n_outputs):
                    v[i, o] = ldexp(leaf_value[link[i], o], -exponent)
                to_impurity[i] = ldexp(leaf_impurity[link[i]], -power * exponent)
                continue
            a = i + 1
            b = link[i]
            to_draws[i] = to_draws[a] + to_draws[b]
            w[i] = sum_of_both(w[a], w[b], has_shift)
            left = df_weight_fraction(w[a], w[i])
            rest = df_weight_fraction(w[b], w[i])
            if given:
                n_inner -= 1
                for o in range(n_outputs):
                    v[i, o] = ldexp(inner[n_inner, o], -exponent)
                to_impurity[i] = ldexp(inner[n_inner, n_outputs], -power * exponent)
                mean = left * to_impurity[a] + rest * to_impurity[b]
                to_decrease[i] = max(0.0, weight_of(w[i]) * (to_impurity[i] - mean))
                continue
            fall = 0.0
            for o in range(n_outputs):
                # Between its children, so that an order of leaf values holds for those of nodes too.
                mean = left * v[a, o] + rest * v[b, o]
                mean = min(max(mean, min(v[a, o], v[b, o])), max(v[a, o], v[b, o]))
                difference = v[b, o] - v[a, o]
                fall += fall_of(left, rest, difference, mean, is_poisson)
                v[i, o] = mean
            fall /= <double> n_outputs
            to_impurity[i] = left * to_impurity[a] + rest * to_impurity[b] + fall
            to_decrease[i] = weight_of(w[i]) * fall
    return NodeTable(draws, sums["weight"].reshape(-1, 1).copy(), value, impurity, decrease), shifts_of(sums, has_shift)


def gain_table(const int32_t[::1] feature not None, const uint32_t[::1] link not None,
               const int64_t[::1] leaf_draws not None, const int64_t[:, ::1] leaf_weight not None,
               const int32_t[::1] leaf_shift not None, const double[:, ::1] leaf_value not None,
               const double[:, ::1] inner not None):
    """The nodes of a tree whose leaves are added up, as a boosted one.

    Parameters
    ----------
    feature, link, leaf_draws, leaf_weight, leaf_shift
        As for `dforest.core.forest.class_table.class_table`.
    leaf_value : ndarray of shape (n_leaves, n_outputs), dtype float64
    inner : ndarray of shape (n_inner, n_outputs + 1), dtype float64
        What each node that is no leaf would add as one, and the gain of its split.

    Returns
    -------
    table, shift
        As of `dforest.core.forest.class_table.class_table`. The decreases are the gains. Impurities are not known, and 0.
    """
    cdef Py_ssize_t n = feature.shape[0], n_inner = inner.shape[0], n_outputs = leaf_value.shape[1], i, o
    cdef bint has_shift = leaf_shift.shape[0] > 0
    draws = np.empty(n, np.int64)
    sums = np.empty(n, SHIFTED_SUM)
    value = np.empty((n, n_outputs))
    decrease = np.zeros(n)
    cdef int64_t[::1] to_draws = draws
    cdef df_shifted_sum[::1] w = sums
    cdef double[:, ::1] v = value
    cdef double[::1] to_decrease = decrease
    with nogil:
        for i in range(n - 1, -1, -1):
            if feature[i] < 0:
                to_draws[i] = leaf_draws[link[i]]
                w[i] = leaf_sum(leaf_weight, leaf_shift, link[i])
                for o in range(n_outputs):
                    v[i, o] = leaf_value[link[i], o]
                continue
            n_inner -= 1
            to_draws[i] = to_draws[i + 1] + to_draws[link[i]]
            w[i] = sum_of_both(w[i + 1], w[link[i]], has_shift)
            for o in range(n_outputs):
                v[i, o] = inner[n_inner, o]
            to_decrease[i] = inner[n_inner, n_outputs]
    return NodeTable(draws, sums["weight"].reshape(-1, 1).copy(), value, np.zeros(n), decrease), shifts_of(sums, has_shift)


cdef double UNIT = 2.0 ** -53  # no rounding of a float64 errs by a larger share of it
cdef double TINY = 2.0 ** -990  # what all numbers below float64's range are worth together, where others are below 1


def fewest_errors(const int32_t[::1] feature not None, const uint32_t[::1] right_child not None,
                  const int64_t[:, ::1] prediction not None, const int64_t[::1] leaf not None,
                  const int64_t[:, ::1] target not None, const int64_t[::1] weight):
    """The cuts that leave the fewest wrong classes on some rows, and of those the smallest tree.

    A node is cut where it makes no more errors as a leaf than its branch does once that is cut as it should be.

    Parameters
    ----------
    feature, right_child : ndarray of shape (n,)
        Of the nodes of one tree.
    prediction : ndarray of shape (n, n_outputs), dtype int64
        The class of each output that each node predicts as a leaf.
    leaf : ndarray of shape (n_rows,), dtype int64
        The node that each row ends in.
    target : ndarray of shape (n_rows, n_outputs), dtype int64
        Class numbers.
    weight : ndarray of shape (n_rows,), dtype int64, or None
        What each error of a row counts, from 1 to 2**53; None: 1. The weights of all errors add up to less than 2**63.

    Returns
    -------
    ndarray of shape (n,), dtype bool
        Nodes that are cut; those below another one may be or not.
    """
    cdef Py_ssize_t n = feature.shape[0], n_outputs = target.shape[1], i, row, k
    cdef uint64_t least, n_wrong
    cdef WorkerContext worker = current_worker()
    cdef uint64_t[::1] error = np.zeros(n, np.uint64)     # first of nodes, then of branches
    result = np.zeros(n, np.bool_)
    cdef uint8_t[::1] cut = result.view(np.uint8)
    with nogil:
        for row in range(target.shape[0]):
            i = 0
            while True:
                n_wrong = 0
                for k in range(n_outputs):
                    n_wrong += target[row, k] != prediction[i, k]
                error[i] += n_wrong * (<uint64_t> weight[row] if weight is not None else 1)
                if feature[i] < 0:
                    break
                i = right_child[i] if leaf[row] >= right_child[i] else i + 1
                poll(&worker, 3 + n_outputs)
        for i in range(n - 1, -1, -1):
            if feature[i] < 0:
                continue
            least = error[i + 1] + error[right_child[i]]
            if error[i] > least:
                error[i] = least
            else:
                cut[i] = True
    return result


cdef struct Subtotal:          # what the rows that reach a node say
    int64_t rows
    uint64_t weight
    double gain                # what the branch saves in squared error as against the node as a leaf; 0 where it is cut
    double margin              # how far that may be off


cdef struct Total:             # what the rows that reach a node say of one output
    double sum                 # of weight * target, where the largest target is below 1
    double size                # the same of magnitudes


cdef inline void add_step(Subtotal* node, const Subtotal* child, const Total* total, const double* before, const double* after,
                          Py_ssize_t n_outputs, int exponent) noexcept nogil:
    """Add to a node's gain what its child brings: the predictions of outputs go from `before` to `after` there.

    IN total : [n_outputs] of the child
    """
    cdef double p, q, step, size
    cdef Py_ssize_t k
    node.gain += child.gain
    node.margin += child.margin + 4.0 * (1.0 + n_outputs) * UNIT * child.gain
    for k in range(n_outputs if child.rows > 0 else 0):
        if before[k] == after[k]:
            continue
        p = ldexp(before[k], exponent)
        q = ldexp(after[k], exponent)
        step = q - p
        # w (y - p)^2 - w (y - q)^2 = (q - p) (2 w y - w (p + q)), summed over rows; each of them was rounded twice.
        node.gain += step * (2.0 * total[k].sum - <double> child.weight * (p + q))
        size = fabs(step) * (2.0 * total[k].size + <double> child.weight * (fabs(p) + fabs(q)))
        node.margin += 2.0 * UNIT * (<double> child.rows + 15.0 + n_outputs) * size + TINY


def least_squares(const int32_t[::1] feature not None, const uint32_t[::1] right_child not None,
                  const double[:, ::1] prediction not None, const int64_t[::1] leaf not None,
                  const double[:, ::1] target not None, const int64_t[::1] weight):
    """The cuts that leave the least squared error on some rows, and of those the smallest tree.

    As `fewest_errors`, but that predictions and targets are numbers (float64), whose errors are compared exactly: what a branch
    saves is worked out in float64 with a bound of all that was rounded, and in integers where its sign is in doubt.
    """
    cdef Py_ssize_t n = feature.shape[0], n_outputs = target.shape[1], i, row, b, k
    cdef int exponent
    cdef double w, y
    cdef Subtotal* node
    cdef Subtotal[::1] subtotal = np.zeros(n, [("rows", np.int64), ("weight", np.uint64), ("gain", np.float64), ("margin",
                                                                                                                 np.float64)])
    cdef Total[:, ::1] total = np.zeros((n, n_outputs), [("sum", np.float64), ("size", np.float64)])
    result = np.zeros(n, np.bool_)
    cdef uint8_t[::1] cut = result.view(np.uint8)
    exponent = -int(np.frexp(max(np.abs(target).max(), np.abs(prediction).max()))[1])
    exact = None
    with nogil:
        for row in range(target.shape[0]):
            node = &subtotal[leaf[row]]
            w = <double> weight[row] if weight is not None else 1.0
            node.rows += 1
            node.weight += <uint64_t> w
            for k in range(n_outputs):
                y = ldexp(target[row, k], exponent)
                total[leaf[row], k].sum += w * y
                total[leaf[row], k].size += w * fabs(y)
    for i in range(n - 1, -1, -1):
        if feature[i] < 0:
            continue
        b = right_child[i]
        node = &subtotal[i]
        node.rows = subtotal[i + 1].rows + subtotal[b].rows
        node.weight = subtotal[i + 1].weight + subtotal[b].weight
        for k in range(n_outputs):
            total[i, k].sum = total[i + 1, k].sum + total[b, k].sum
            total[i, k].size = total[i + 1, k].size + total[b, k].size
        add_step(node, &subtotal[i + 1], &total[i + 1, 0], &prediction[i, 0], &prediction[i + 1, 0], n_outputs, exponent)
        add_step(node, &subtotal[b], &total[b, 0], &prediction[i, 0], &prediction[b, 0], n_outputs, exponent)
        node.margin *= 1.0 + 2.0 ** -40      # for what was rounded in margins themselves
        if fabs(node.gain) <= node.margin and node.margin > 0.0:
            if exact is None:
                exact = ExactGains(feature, right_child, prediction, leaf, target, weight)
            node.gain = exact.gain(i, exponent)
            node.margin = 4.0 * UNIT * node.gain + TINY if node.gain > 0.0 else 0.0
        if node.gain <= 0.0:
            cut[i] = True
            node.gain = node.margin = 0.0
    return result


class ExactGains:
    """What branches save in squared error as against leaves, in integers.

    Parameters as for `least_squares`. Numbers are multiples of 2**-self.bits.
    """

    def __init__(self, feature, right_child, prediction, leaf, target, weight):
        self.feature = np.asarray(feature)
        self.right_child = np.asarray(right_child)
        leaf = np.asarray(leaf)
        self.rows = np.argsort(leaf, kind="stable")
        self.first = np.searchsorted(leaf, np.arange(len(feature) + 1), sorter=self.rows)
        self.weight = None if weight is None else np.asarray(weight)
        (self.target, a), (self.prediction, b) = (np.frexp(numbers) for numbers in (target, prediction))
        lowest = min(e[f != 0.0].min(initial=1024) for f, e in ((self.target, a), (self.prediction, b)))
        self.bits = 53 - int(lowest)
        self.target_shift, self.prediction_shift = (np.maximum(e - lowest, 0) for e in (a, b))
        self.known = {}

    def gain(self, top, exponent):
        """What the branch of a node saves, above 0 or 0, as if all numbers had been multiplied by 2**exponent.

        A positive result below float64's range is given as the least number there is.
        """
        pending, order = [top], []
        while pending:
            i = pending.pop()
            order.append(i)
            if i not in self.known and self.feature[i] >= 0:
                pending += [i + 1, int(self.right_child[i])]
        found = {}
        for i in reversed(order):        # children before their parent
            found[i] = self.known[i] if i in self.known else self._measure(i, found)
        self.known[top] = found[top]
        _, _, _, gain = found[top]
        shift = max(0, gain.bit_length() - 62)
        return max(ldexp(float(gain >> shift), shift + 2 * (exponent - self.bits)), 2.0 ** -1074) if gain else 0.0

    def _measure(self, i, found):
        """(predictions, weight, sums of weight * target, gain) of a node, with lists by output."""
        PyErr_CheckSignals()             # does nothing but in the main thread
        predictions = _integers(self.prediction[i], self.prediction_shift[i])
        if self.feature[i] < 0:
            rows = self.rows[self.first[i] : self.first[i + 1]].tolist()
            weights = [1] * len(rows) if self.weight is None else self.weight[rows].tolist()
            totals = [0] * len(predictions)
            for row, w in zip(rows, weights):
                totals = [s + w * y for s, y in zip(totals, _integers(self.target[row], self.target_shift[row]))]
            return predictions, sum(weights), totals, 0
        weight = gain = 0
        totals = [0] * len(predictions)
        for after, w, sums, g in (found.pop(i + 1), found.pop(int(self.right_child[i]))):
            weight += w
            totals = [s + t for s, t in zip(sums, totals)]
            gain += g + sum((q - p) * (2 * s - w * (q + p)) for p, q, s in zip(predictions, after, sums))
        return predictions, weight, totals, max(gain, 0)


def _integers(fractions, shifts):
    return [int(fraction * 2.0 ** 53) << int(shift) for fraction, shift in zip(fractions, shifts)]


cdef struct Links:             # the nodes of a tree that may be cut, as a knockout of 2 * size places
    Py_ssize_t size            # a power of two from the number of nodes: node i plays from place size + i
    const double* strength     # [size] of each node's link; infinite for those that may not be cut, or past the end
    uint32_t* winner           # [2 * size] the node of the weakest link below a place, of equals the first


cdef inline bint play(Links* links, Py_ssize_t place) noexcept nogil:
    """Find a place's winner anew; return whether it is another one than before."""
    cdef uint32_t a = links.winner[2 * place], b = links.winner[2 * place + 1], before = links.winner[place]
    links.winner[place] = b if links.strength[b] < links.strength[a] else a
    return links.winner[place] != before


cdef inline void update(Links* links, uint32_t node) noexcept nogil:
    """Take account of the changed strength of a node's link."""
    cdef Py_ssize_t place = (links.size + node) // 2
    while place > 0 and (play(links, place) or links.winner[place] == node):
        place //= 2


def weakest_links(const int32_t[::1] feature not None, const uint32_t[::1] right_child not None,
                  const double[::1] decrease not None, double alpha=INFINITY):
    """The cuts of minimal cost-complexity pruning, one after the other.

    With R the risk of a set of leaves (the sum of share of weight times impurity), the strength of a node's link is
    g = (R(node) - R(branch)) / (leaves of the branch - 1). The numerator is the sum of what the branch's inner nodes decrease,
    and the denominator is the number of these nodes: g is the mean decrease of the branch's inner nodes, as far as the branch
    isn't cut yet. Always the node of the weakest link is cut, of equals the first in preorder.

    Parameters
    ----------
    feature, right_child : ndarray of shape (n,)
        Of the nodes of one tree.
    decrease : ndarray of shape (n,), dtype float64
        Of the risk by each node's split, finite; 0 for leaves.
    alpha : float
        Stronger links are left.

    Returns
    -------
    nodes : ndarray of shape (n_cuts,), dtype int64
        In the order in which they are cut.
    strength : ndarray of shape (n_cuts,), dtype float64
        Of the links, when they are cut.
    rise : ndarray of shape (n_cuts,), dtype float64
        Of the risk, by each cut.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984, chapter 3.
    """
    cdef Py_ssize_t n = feature.shape[0], size = 1, n_cuts = 0, i, j
    cdef Links links
    cdef WorkerContext worker = current_worker()
    while size < n:
        size *= 2
    parents = np.zeros(n, np.uint32)
    ends = np.empty(n, np.uint32)
    gains = np.zeros(n)                  # decrease by all inner nodes of the branch
    inners = np.zeros(n, np.int64)       # how many these are; 0: the node is a leaf now
    strengths = np.full(size, np.inf)
    winners = np.empty(2 * size, np.uint32)
    cuts = np.empty(n // 2, np.int64)    # a tree of n nodes has n // 2 inner ones
    at_cut = np.empty(n // 2)
    rises = np.empty(n // 2)
    cdef uint32_t[::1] parent = parents, end = ends, winner = winners
    cdef double[::1] gain = gains, strength = strengths, to_strength = at_cut, to_rise = rises
    cdef int64_t[::1] inner = inners, to_cut = cuts
    links.size = size
    links.strength = &strength[0]
    links.winner = &winner[0]
    with nogil:
        for i in range(n - 1, -1, -1):
            if feature[i] < 0:
                end[i] = <uint32_t> (i + 1)
                continue
            parent[i + 1] = parent[right_child[i]] = <uint32_t> i
            end[i] = end[right_child[i]]
            inner[i] = 1 + inner[i + 1] + inner[right_child[i]]
            gain[i] = decrease[i] + (gain[i + 1] + gain[right_child[i]])
            strength[i] = gain[i] / <double> inner[i]
        for i in range(size):
            winner[size + i] = <uint32_t> i
        for i in range(size - 1, 0, -1):
            play(&links, i)
        while inner[0] > 0:
            i = winner[1]
            if inner[i] == 0 or strength[i] > alpha:
                break
            to_cut[n_cuts] = i
            to_strength[n_cuts] = strength[i]
            to_rise[n_cuts] = gain[i]
            n_cuts += 1
            j = i
            while j < end[i]:            # nothing in the branch can be cut any more
                if inner[j] == 0:
                    j = end[j]
                    continue
                inner[j] = 0
                strength[j] = INFINITY
                update(&links, <uint32_t> j)
                j += 1
            gain[i] = 0.0
            while i > 0:
                i = parent[i]
                inner[i] = 1 + inner[i + 1] + inner[right_child[i]]
                gain[i] = decrease[i] + (gain[i + 1] + gain[right_child[i]])
                strength[i] = gain[i] / <double> inner[i]
                update(&links, <uint32_t> i)
                poll(&worker, 4)
    return cuts[:n_cuts].copy(), at_cut[:n_cuts].copy(), rises[:n_cuts].copy()


def remaining_nodes(const int32_t[::1] feature not None, const uint32_t[::1] right_child not None, cut not None):
    """The nodes of a tree that is cut back.

    Parameters
    ----------
    feature, right_child : ndarray of shape (n,)
        Of the nodes of one tree.
    cut : ndarray of shape (n,), dtype bool
        The inner nodes that become leaves.

    Returns
    -------
    kept : ndarray of shape (n_kept,), dtype int64
        The nodes that remain, ascending.
    right : ndarray of shape (n_kept,), dtype uint32
        Their right children, numbered anew; of leaves: 0.
    """
    cdef Py_ssize_t n = feature.shape[0], i, k, n_kept = 0
    cdef const uint8_t[::1] is_cut = np.ascontiguousarray(cut, np.bool_).view(np.uint8)
    stays = np.zeros(n, np.bool_)
    numbers = np.empty(n, np.uint32)      # of the nodes that stay
    kept = np.empty(n, np.int64)
    cdef uint8_t[::1] to_stays = stays.view(np.uint8)
    cdef uint32_t[::1] to_numbers = numbers
    cdef int64_t[::1] to_kept = kept
    to_stays[0] = True
    for i in range(n):
        if not to_stays[i]:
            continue
        to_numbers[i] = <uint32_t> n_kept
        to_kept[n_kept] = i
        n_kept += 1
        if feature[i] >= 0 and not is_cut[i]:
            to_stays[i + 1] = to_stays[right_child[i]] = True
    rights = np.zeros(n_kept, np.uint32)
    cdef uint32_t[::1] to_rights = rights
    for k in range(n_kept):
        i = to_kept[k]
        if feature[i] >= 0 and not is_cut[i]:
            to_rights[k] = to_numbers[right_child[i]]
    return kept[:n_kept].copy(), rights
