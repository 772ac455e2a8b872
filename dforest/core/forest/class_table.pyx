"""What holds for every node of a tree for classes, from the leaves up: see node_table.pyx.

A node's statistic is the sum of those of its children. Nodes are passed from the last one to the first, and statistics wait on a
stack until their parent comes, the left child's on top of the right child's. The stack is as high as the tree is deep, so that no
memory is needed for all nodes times all classes unless the weights of all nodes are asked for.

Nothing here is kept: tables are new arrays, the arrays handed in are borrowed.
"""
from libc.math cimport ldexp
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.search.criterion cimport Criterion
from dforest.rules.numerics cimport df_without_last_bits
from dforest.rules.weights cimport df_both_weights, df_coarser_classes, df_shifted_sum

from dforest.core.class_lists import ClassLists
from dforest.core.forest.node_table import NodeTable


def class_table(const int32_t[::1] feature not None, const uint32_t[::1] link not None,
                const int64_t[::1] leaf_draws not None, weights not None,
                const int64_t[::1] leaf_total not None, const int32_t[::1] leaf_shift not None, const int64_t[::1] sets not None,
                Criterion impurity_criterion, bint keeps_weights=True):
    """The nodes of a class tree.

    Parameters
    ----------
    feature, link : ndarray of shape (n,)
        Of the nodes of the tree: see `dforest.core.forest.arrays.Forest`.
    leaf_draws, weights : ndarray
        Of the leaf tables that `link` leads to: see `Forest.weights`.
    leaf_total : ndarray of shape (n_leaves,), dtype int64
        The weight of each leaf.
    leaf_shift : ndarray of shape (n_leaves,) or (0,), dtype int32
        See `Forest`.
    sets : ndarray of shape (n_outputs + 1,), dtype int64
        Where the classes of each output begin, and those of the last one end.
    impurity_criterion : Criterion or None
        Configured. The decrease by another one than dforest's own is that of its impurity, whatever it scores cuts by. None:
        impurities and decreases are not asked for, and are 0.
    keeps_weights : bool, default=True
        Whether the weights of all nodes by class are asked for, and their values.

    Returns
    -------
    table : NodeTable
        Its weights and values are those of the root alone unless those of all nodes are asked for.
    shift : ndarray of shape (n,) or (0,), dtype int32
        Of the nodes' weights.
    """
    cdef bint is_listed = isinstance(weights, ClassLists), has_shift = leaf_shift.shape[0] > 0, is_divided
    cdef bint is_judged = impurity_criterion is not None
    cdef Py_ssize_t n = feature.shape[0], n_classes = weights.shape[1], n_words = 2 + n_classes, i, k, row, n_waiting = 0
    cdef const int64_t[:, ::1] leaf_weight = None if is_listed else weights
    cdef const int64_t[::1] starts = weights.starts if is_listed else None, entries = weights.values if is_listed else None
    cdef const int32_t[::1] classes = weights.classes if is_listed else None
    draws = np.empty(n, np.int64)
    statistics = np.empty((n if keeps_weights else 1, n_words), np.int64)
    impurity = np.zeros(n)
    decrease = np.zeros(n)
    shifts = np.zeros(n if has_shift else 0, np.int32)
    cdef int32_t[::1] shift = shifts
    cdef int64_t[:, ::1] stack = np.empty((most_waiting(feature) + 1, n_words), np.int64)
    cdef int64_t[:, ::1] words = statistics
    cdef int64_t* left                 # on top of the stack; ...
    cdef int64_t* right                # ... below it, where the parent's statistic stays ...
    cdef int64_t* total                # ... once it has been made above both
    cdef int64_t[::1] to_draws = draws
    cdef double[::1] to_impurity = impurity, to_decrease = decrease
    with nogil:
        for i in range(n - 1, -1, -1):
            if feature[i] < 0:
                total = &stack[n_waiting, 0]
                n_waiting += 1
                row = link[i]
                total[0] = leaf_draws[row]
                total[1] = leaf_total[row]
                if is_listed:
                    memset(total + 2, 0, n_classes * sizeof(int64_t))
                    for k in range(starts[row], starts[row + 1]):
                        total[2 + classes[k]] = entries[k]
                else:
                    memcpy(total + 2, &leaf_weight[row, 0], n_classes * sizeof(int64_t))
                if has_shift:
                    shift[i] = leaf_shift[row]
            else:
                left, right, total = &stack[n_waiting - 1, 0], &stack[n_waiting - 2, 0], &stack[n_waiting, 0]
                is_divided = is_judged
                if has_shift:
                    shift[i] = common_shift(left, shift[i + 1], right, shift[link[i]], sets)
                    is_divided = is_judged and left[1] > 0 and right[1] > 0
                for k in range(n_words):
                    total[k] = left[k] + right[k]
                if is_divided and impurity_criterion.is_built_in:
                    impurity_criterion.best_cut(left, 1, total, &to_decrease[i])
                elif is_divided:
                    Criterion.best_cut(impurity_criterion, left, 1, total, &to_decrease[i])
                if has_shift:
                    to_decrease[i] = ldexp(to_decrease[i], -shift[i])
                n_waiting -= 1
                memcpy(right, total, n_words * sizeof(int64_t))
                total = right
            to_draws[i] = total[0]
            if is_judged:
                to_impurity[i] = impurity_criterion.impurity(total)
            if keeps_weights or i == 0:
                memcpy(&words[i, 0], total, n_words * sizeof(int64_t))
    if is_judged:
        impurity_criterion.check()
    weight = statistics[:, 2:].copy()
    return NodeTable(draws, weight, weight / statistics[:, 1:2], impurity, decrease), shifts


cdef Py_ssize_t most_waiting(const int32_t[::1] feature) noexcept nogil:
    """How many nodes wait for their parent at most, when nodes are passed from the last one to the first."""
    cdef Py_ssize_t i, n_waiting = 0, most = 0
    for i in range(feature.shape[0] - 1, -1, -1):
        n_waiting += 1 if feature[i] < 0 else -1
        most = max(most, n_waiting)
    return most


cdef void coarsen(int64_t* statistic, int32_t by, const int64_t[::1] sets) noexcept nogil:
    """Lower the shift of a statistic of classes. INOUT statistic"""
    cdef Py_ssize_t o
    cdef int64_t* classes = statistic + 2
    if by == 0:
        return
    statistic[1] = df_without_last_bits(statistic[1], by)
    for o in range(sets.shape[0] - 1):
        df_coarser_classes(classes + sets[o], sets[o + 1] - sets[o], by, statistic[1], classes + sets[o])


cdef int32_t common_shift(int64_t* left, int32_t left_shift, int64_t* right, int32_t right_shift,
                          const int64_t[::1] sets) noexcept nogil:
    """Bring the statistics of two sides to one shift, so that they may be added: that shift. INOUT left, right : statistics"""
    cdef df_shifted_sum a, b
    cdef int32_t shift
    a.weight, a.shift = left[1], left_shift
    b.weight, b.shift = right[1], right_shift
    shift = df_both_weights(a, b).shift
    coarsen(left, left_shift - shift, sets)
    coarsen(right, right_shift - shift, sets)
    return shift
