"""Whether arrays are those of a forest.

Whatever reads a forest's arrays follows their numbers without looking at them again: to a right child,
a leaf row, a feature, a payload. Arrays that come from a fit are right by construction; those that come from
anywhere else, a pickle or a caller of `Forest`, pass here first. Words: see `dforest.core.forest.arrays`.

Nothing here is kept: the arrays handed in are borrowed.
"""
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.core.search.criterion import Criterion
from dforest.core.objective import check_objective
from dforest.core.sampling import MOST_ROWS, check_plans, checked_integer
from dforest.core.predict.walk cimport real_t
from dforest.core.sampling cimport SamplingPlan
from dforest.core.search.splitter import Splitter

cdef enum:
    MOST_FEATURES = (1 << 30) - 1     # a node of the packed forest has no more bits for a feature
    MOST_CATEGORIES = 65535

# Types and number of axes of the arrays.
FORMS = {
    "node_offsets": (np.int64, 1), "feature": (np.int32, 1), "threshold": ((np.float32, np.float64), 1),
    "link": (np.uint32, 1), "missing_left": (np.bool_, 1), "leaf_draws": (np.int64, 1), "leaf_weight": (np.int64, 2),
    "leaf_value": (np.float64, 1), "leaf_impurity": (np.float64, 1), "inner": (np.float64, 2),
    "payload_offsets": (np.int64, 1), "payload_words": (np.uint64, 1), "seeds": (np.uint32, 1), "n_rows": (np.int64, 1),
    "weight_exponent": (np.int64, 1), "n_categories": (np.int32, 1),
}
SETTINGS = {"seeds", "n_rows", "weight_exponent", "n_categories"}      # of these, what is for trees or columns


def check_form(name, array, axes=None):
    """Raise TypeError unless an array has the type and the axes that it has in a `Forest`, and is C-contiguous."""
    allowed, n_axes = FORMS[name]
    n_axes = axes or n_axes
    allowed = [np.dtype(one) for one in (allowed if isinstance(allowed, tuple) else (allowed,))]
    what = " or ".join(map(str, allowed))
    if type(array) is not np.ndarray:
        raise TypeError(f"{name} is a {type(array).__name__}; allowed are arrays of {what}")
    if array.dtype not in allowed or array.ndim != n_axes or not array.flags.c_contiguous:
        raise TypeError(f"{name} has {array.ndim} axes and the type {array.dtype}; allowed are C-contiguous arrays of {what} "
                        f"with {n_axes}")


def check_forest(forest):
    """Raise unless the attributes of a forest fit together.

    Parameters
    ----------
    forest : Forest

    Raises
    ------
    TypeError
        If an attribute is of another type than the forest's class says.
    ValueError
        If a value is out of its range, or arrays contradict each other.
    """
    check_settings(forest)
    check_arrays(forest)


def check_settings(forest):
    """Raise, as `check_forest` does, unless what a forest has for trees and columns fits together; no node is looked at."""
    for name in ("node_offsets", *SETTINGS):
        check_form(name, getattr(forest, name))
    n_trees = len(forest.node_offsets) - 1
    check_objective(forest.objective)
    n_features = checked_integer("n_features", forest.n_features, 1, MOST_FEATURES)
    checked_integer("seed", forest.seed, 0, 2**64 - 1)
    check_plans(forest.plans)
    check_criterion(forest.criterion, forest.objective)
    splitter = forest.splitter
    if splitter is not None and not (isinstance(splitter, Splitter) and splitter.has_own_tests):
        raise TypeError(f"splitter={splitter!r}; allowed are None and splitters with tests of their own")
    if n_trees < 1:
        raise ValueError(f"node_offsets has length {n_trees + 1}; allowed are two and more, for a tree and more")
    for plan, n_rows in set(zip(forest.plans, np.asarray(forest.n_rows).tolist())):
        (<SamplingPlan> plan).check_rows(n_rows)
    lengths = {"seeds": n_trees, "n_rows": n_trees, "plans": n_trees, "weight_exponent": n_trees, "n_categories": n_features}
    for name, n in lengths.items():
        check_length(name, len(getattr(forest, name)), n)
    check_offsets("node_offsets", forest.node_offsets, int(forest.node_offsets[n_trees]), 1)
    check_range("n_rows", forest.n_rows, 1, MOST_ROWS)
    check_range("n_categories", forest.n_categories, 0, MOST_CATEGORIES)


def check_arrays(forest):
    """Raise, as `check_forest` does, unless the nodes and leaves of a forest whose settings were checked make trees."""
    objective, splitter = forest.objective, forest.splitter
    by_output = objective.keeps_values and objective.n_outputs > 1
    for name in FORMS.keys() - SETTINGS:
        check_form(name, getattr(forest, name), 2 if name == "leaf_value" and by_output else None)
    n_nodes, n_leaves = len(forest.feature), len(forest.leaf_draws)
    lengths = {
        "threshold": n_nodes, "link": n_nodes, "missing_left": n_nodes, "leaf_weight": n_leaves,
        "leaf_value": n_leaves if objective.keeps_values else 0, "leaf_impurity": n_leaves if objective.keeps_values else 0,
    }
    for name, n in lengths.items():
        check_length(name, len(getattr(forest, name)), n)
    check_length("each row of leaf_weight", forest.leaf_weight.shape[1], objective.n_weights)
    if by_output:
        check_length("each row of leaf_value", forest.leaf_value.shape[1], objective.n_outputs)
    check_offsets("node_offsets", forest.node_offsets, n_nodes, 1)
    check_offsets("payload_offsets", forest.payload_offsets, len(forest.payload_words), 0)
    check_range("missing_left", forest.missing_left.view(np.uint8), 0, 1)
    check_range("leaf_draws", forest.leaf_draws, 1, INT64_MAX)
    check_range("leaf_weight", forest.leaf_weight, 0, INT64_MAX)
    if isinstance(forest.criterion, str):          # what another criterion's numbers may be, nobody knows
        check_numbers("leaf_value", forest.leaf_value, np.isfinite)
        check_numbers("leaf_impurity", forest.leaf_impurity, is_impurity)
        check_numbers("inner", forest.inner[:, :-1], np.isfinite)
        check_numbers("inner", forest.inner[:, -1:], is_impurity)
    totals = [leaf_totals(np.ascontiguousarray(forest.leaf_weight[:, columns])) for columns in objective.weight_columns]
    for output, total in enumerate(totals):
        if (total != totals[0]).any():
            raise ValueError(f"leaf_weight has another weight of a leaf for output {output} than for output 0")
    n_inner = check_nodes(
        forest.node_offsets, forest.feature, forest.threshold, forest.link, forest.missing_left.view(np.uint8),
        forest.leaf_draws, totals[0], forest.n_draws, forest.n_categories, splitter is not None,
        forest.payload_offsets, forest.payload_words,
    )
    n_given = n_inner if objective.keeps_gains or not objective.make_criterion(forest.criterion).is_additive else 0
    if forest.inner.shape != (n_given, objective.n_judged):
        raise ValueError(f"inner has the shape {forest.inner.shape}; that of this forest is {(n_given, objective.n_judged)}")


def check_criterion(criterion, objective):
    """Raise TypeError or ValueError unless this is the name of a criterion for an objective, or a `Criterion` for it."""
    if isinstance(criterion, str):
        if criterion not in objective.criteria:
            raise ValueError(f"criterion={criterion!r} of a forest with {objective}; allowed are {sorted(objective.criteria)}")
        return
    if not isinstance(criterion, Criterion):
        raise TypeError(f"criterion={criterion!r}; allowed are names and objects of the class Criterion")
    n_words, expected = objective.make_criterion(criterion).n_words, objective.weight_words.stop
    # Where a leaf's weights are all it keeps, statistics are put together from them.
    if not objective.keeps_values and n_words != expected:
        raise ValueError(f"criterion={criterion!r} has statistics of {n_words} words; those of {objective} have {expected}")


def check_length(name, n, expected):
    if n != expected:
        raise ValueError(f"{name} has length {n}; that of this forest is {expected}")


def check_offsets(name, offsets, n, least):
    """Raise unless offsets lead from 0 to n in steps of some least size."""
    if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != n or (offsets[1:] < offsets[:-1] + least).any():
        raise ValueError(f"{name} must rise from 0 to {n}, by {least} or more each")


def check_range(name, numbers, least, most):
    if numbers.size and not least <= int(numbers.min()) <= int(numbers.max()) <= most:
        raise ValueError(f"{name} holds numbers from {numbers.min()} to {numbers.max()}; allowed are {least} to {most}")


def check_numbers(name, numbers, is_allowed):
    wrong = ~is_allowed(numbers)
    if wrong.any():
        raise ValueError(f"{name} holds {numbers[wrong][0]!r}, which is not possible in a forest")


def is_impurity(numbers):
    return numbers >= 0.0


def leaf_totals(const int64_t[:, ::1] weight not None):
    """Sums of the rows of numbers not below 0; raise ValueError where one is 0 or leaves 63 bits."""
    cdef Py_ssize_t i, k
    cdef int64_t total
    result = np.empty(weight.shape[0], np.int64)
    cdef int64_t[::1] out = result
    with nogil:
        for i in range(weight.shape[0]):
            total = 0
            for k in range(weight.shape[1]):
                if weight[i, k] > INT64_MAX - total:
                    with gil:
                        raise ValueError(f"the weights in row {i} of leaf_weight sum up to 2**63 or more")
                total += weight[i, k]
            if total == 0:
                with gil:
                    raise ValueError(f"the weights in row {i} of leaf_weight are all 0")
            out[i] = total
    return result


def check_nodes(const int64_t[::1] offsets not None, const int32_t[::1] feature not None, const real_t[::1] threshold not None,
                const uint32_t[::1] link not None, const uint8_t[::1] missing_left not None,
                const int64_t[::1] leaf_draws not None, const int64_t[::1] leaf_total not None,
                const int64_t[::1] n_draws not None, const int32_t[::1] n_categories not None, bint has_own_tests,
                const int64_t[::1] payload_offsets not None,
                const uint64_t[::1] payload_words not None):
    """Raise ValueError unless nodes make trees.

    In preorder the subtree of node i is a run of nodes, its left child's subtree and then its right child's:

        i | i + 1 ... | right child ... | end

    so node i has a right child between i + 2 and end - 1, and is a leaf if and only if end is i + 1. The ends
    of right children's subtrees wait on a stack while the left ones are looked at.

    Parameters
    ----------
    offsets, feature, threshold, link, missing_left, leaf_draws, n_categories, payload_offsets, payload_words : ndarray
        As in `Forest`, of matching lengths; both offsets ascending.
    leaf_total : ndarray of shape (n_leaves,), dtype int64
        Total weight of each leaf.
    n_draws : ndarray of shape (n_trees,), dtype int64
        Draws that all leaves of a tree may have together: fewer where leaves learn from some of a tree's draws only.
    has_own_tests : bool
        Whether payloads are those of a splitter's own tests, and every inner node has one. If not, they are subsets.

    Returns
    -------
    int
        How many nodes are no leaves.
    """
    cdef Py_ssize_t n_trees = offsets.shape[0] - 1, n_leaves = leaf_draws.shape[0], n_features = n_categories.shape[0]
    cdef Py_ssize_t n_payloads = payload_offsets.shape[0] - 1, payload = 0, n_inner = 0, longest = 0, first, n, t, i, m
    cdef int64_t draws, weight
    cdef uint32_t end, leaf
    cdef int32_t f
    for t in range(n_trees):
        longest = max(longest, offsets[t + 1] - offsets[t])
    if longest >> 32:
        raise ValueError(f"a tree has {longest} nodes; allowed are fewer than 2**32")
    cdef uint32_t* ends = <uint32_t*> malloc((longest // 2 + 1) * sizeof(uint32_t))
    if ends == NULL:
        raise MemoryError()
    try:
        for t in range(n_trees):
            first = offsets[t]
            n = offsets[t + 1] - first
            end = <uint32_t> n
            m = 0
            draws = weight = 0
            for i in range(n):
                f = feature[first + i]
                if f >= 0:
                    if f >= n_features:
                        raise ValueError(f"node {i} of tree {t} tests feature {f}; allowed are 0 to {n_features - 1}")
                    if not i + 1 < link[first + i] < end:
                        raise ValueError(f"node {i} of tree {t} has the right child {link[first + i]}; allowed are {i + 2} "
                                         f"to {end - 1}")
                    ends[m] = end
                    m += 1
                    end = link[first + i]
                    n_inner += 1
                    if has_own_tests or n_categories[f] > 0:
                        if payload >= n_payloads:
                            raise ValueError(f"there are {n_payloads} payloads, but more nodes that have one")
                        if not has_own_tests and not is_subset(payload_words, payload_offsets[payload],
                                                               payload_offsets[payload + 1], n_categories[f]):
                            raise ValueError(f"the subset of node {i} of tree {t} has other categories than the "
                                             f"{n_categories[f]} of feature {f}")
                        payload += 1
                    elif threshold[first + i] != threshold[first + i]:
                        raise ValueError(f"node {i} of tree {t} has the threshold NaN; allowed are numbers")
                    continue
                leaf = link[first + i]
                if f != -1:
                    raise ValueError(f"node {i} of tree {t} tests feature {f}; that of a leaf is -1")
                if i + 1 != end:
                    raise ValueError(f"node {i} of tree {t} is a leaf, but the next right child is node {end}")
                if leaf >= n_leaves:
                    raise ValueError(f"node {i} of tree {t} has row {leaf} of the leaf tables; allowed are 0 to {n_leaves - 1}")
                if leaf_draws[leaf] > n_draws[t] - draws or leaf_total[leaf] > INT64_MAX - weight:
                    raise ValueError(f"the leaves of tree {t} have more than its {n_draws[t]} draws, or weights of 2**63 or more")
                draws += leaf_draws[leaf]
                weight += leaf_total[leaf]
                if m > 0:
                    m -= 1
                    end = ends[m]
        if payload != n_payloads:
            raise ValueError(f"there are {n_payloads} payloads, but {payload} nodes that have one")
    finally:
        free(ends)
    return n_inner


cdef inline bint is_subset(const uint64_t[::1] words, int64_t first, int64_t last, int64_t n_categories) noexcept nogil:
    """Whether the subset in some words has no category from a number on."""
    cdef int64_t room = n_categories - 64 * (last - first - 1)       # bits of the last word
    return first == last or room >= 64 or (room > 0 and words[last - 1] >> room == 0)
