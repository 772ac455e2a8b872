"""Curves of survival times: those of leaves, their means over trees, and how well risks agree with times.

Event times are numbered from 0 here. A *curve* is what the draws of a leaf say: their Nelson-Aalen hazards, d / n, at the event
times at which some of them have an event, where n draws are at risk and d of them have one. Leaves have their curves one after
another: those of leaf i are entries offsets[i] to offsets[i + 1] - 1.

Sums are formed in a fixed order: of a row by itself, tree after tree. Nothing here is kept.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

import numpy as np

from dforest.rules.logrank cimport DF_ENTRY_SHIFT, df_addable, df_begin_hazards, df_exposed, df_hazards, df_next_hazard

ENTRY = 1 << DF_ENTRY_SHIFT           # what a code has for each time up to the entry


def parts_of_codes(code):
    """(event, number of the time, number of the last time up to the entry or None if all are there from the start), of codes.

    A code is twice the number of a time, from 0 in ascending order, and 1 more for an event; and `ENTRY` times the number of
    times that are not after the entry.
    """
    own, entry = code % ENTRY, code // ENTRY
    return own % 2 == 1, own >> 1, entry - 1 if entry.any() else None


def curves_of_leaves(const int64_t[::1] leaf not None, const uint32_t[::1] count not None, const double[::1] weight,
                     const int64_t[::1] code not None, const int64_t[::1] order not None, const int64_t[::1] entry,
                     Py_ssize_t n_leaves):
    """The curves of the leaves of a tree.

    Parameters
    ----------
    leaf : ndarray of shape (n_rows,), dtype int64
        The number of the leaf that each training row is in.
    count : ndarray of shape (n_rows,), dtype uint32
        How often the tree drew each row.
    weight : ndarray of shape (n_rows,), dtype float64, or None
        What a draw of each row weighs, below 2**1023; None: 1.
    code : ndarray of shape (n_rows,), dtype int64
        Twice the number of event times up to the row's time, and 1 more for an event.
    order : ndarray of shape (n_rows,), dtype int64
        The rows in the order of their codes.
    entry : ndarray of shape (n_rows,), dtype int64, or None
        The number of event times up to the entry of each row. None: all are there from the start.
    n_leaves : int

    Returns
    -------
    lengths : ndarray of shape (n_leaves,), dtype int64
    time : ndarray of shape (n,), dtype int32
    hazard : ndarray of shape (n,), dtype float64
    """
    cdef Py_ssize_t n = order.shape[0], i, j, k, m = 0
    cdef int64_t time
    cdef double hazard
    cdef df_hazards hazards
    lengths, starts = np.zeros(n_leaves, np.int64), np.zeros(n_leaves + 1, np.int64)
    cdef int64_t[::1] start = starts, length = lengths
    # The drawn rows leaf by leaf, in each by time; where in its leaf each row is; and by entry, of those that enter later, where.
    cdef df_exposed[::1] draws = np.empty(n, [("code", np.int64), ("entry", np.int64), ("weight", np.float64)])
    cdef int64_t[::1] place = np.empty(n, np.int64), entering = np.empty(n, np.int64)
    cdef const int64_t[::1] by_entry = None if entry is None else np.argsort(entry, kind="stable")
    times, hazard_of = np.empty(n, np.int32), np.empty(n)
    cdef int32_t[::1] to_time = times
    cdef double[::1] to_hazard = hazard_of, sums = np.empty(2 * n + 2)
    cdef int64_t[::1] n_entering = np.zeros(n_leaves, np.int64)
    with nogil:
        for i in range(n):
            if count[i] > 0:
                start[leaf[i] + 1] += 1
        for i in range(n_leaves):
            start[i + 1] += start[i]
        for i in range(n):
            j = order[i]
            if count[j] > 0:
                k = leaf[j]
                place[j] = length[k]
                length[k] += 1
                draws[start[k] + place[j]].code = code[j]
                draws[start[k] + place[j]].entry = 0 if entry is None else entry[j]
                draws[start[k] + place[j]].weight = count[j] * df_addable(weight[j]) if weight is not None else <double> count[j]
        for i in range(n if entry is not None else 0):
            j = by_entry[i]
            if count[j] > 0 and entry[j] > 0:
                k = leaf[j]
                entering[start[k] + n_entering[k]] = place[j]
                n_entering[k] += 1
        for k in range(n_leaves):
            hazards.n, hazards.n_entering = length[k], n_entering[k]
            length[k] = 0
            if hazards.n == 0:
                continue
            hazards.draws, hazards.entering, hazards.sums = &draws[start[k]], &entering[start[k]], &sums[0]
            df_begin_hazards(&hazards)
            hazard = df_next_hazard(&hazards, &time)
            while hazard > 0.0:
                to_time[m] = <int32_t> (time - 1)
                to_hazard[m] = hazard
                length[k] += 1
                m += 1
                hazard = df_next_hazard(&hazards, &time)
    return lengths, times[:m].copy(), hazard_of[:m].copy()


def mean_curves(const int64_t[:, ::1] leaf not None, const int64_t[::1] offsets not None, const int32_t[::1] time not None,
                const double[::1] hazard not None, double[:, ::1] out not None, bint is_survival):
    """The means over trees of the curves of rows, at all event times.

    Parameters
    ----------
    leaf : ndarray of shape (n_rows, n_trees), dtype int64
        The number of the leaf that each row reaches in each tree, among those of all trees; -1: the tree doesn't count. Each row
        needs a tree.
    offsets, time, hazard : ndarray
        The curves of the leaves of all trees.
    out : ndarray of shape (n_rows, n_times), dtype float64
        OUT : cumulative hazards, or the probabilities of survival by the Kaplan-Meier estimator, the product of 1 - d / n.
    is_survival : bool
    """
    cdef Py_ssize_t n_trees, i, t, j
    cdef double alive, total
    with nogil:
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = 0.0
            n_trees = 0
            for t in range(leaf.shape[1]):
                if leaf[i, t] < 0:
                    continue
                n_trees += 1
                alive = 1.0
                for j in range(offsets[leaf[i, t]], offsets[leaf[i, t] + 1]):
                    out[i, time[j]] += alive * hazard[j]       # a fall of the survival, if `alive` is that
                    if is_survival:
                        alive *= 1.0 - hazard[j]
            total = 0.0
            for j in range(out.shape[1]):
                total += out[i, j]
                out[i, j] = max(0.0, 1.0 - total / <double> n_trees) if is_survival else total / <double> n_trees


def count_pairs(const uint8_t[::1] event not None, const int64_t[::1] time not None, const int64_t[::1] risk not None,
                const double[::1] weight, const int64_t[::1] entry, const int64_t[::1] by_entry):
    """How many pairs of rows are comparable, and how many of these are concordant, where pairs of equal risk count half.

    A pair is comparable if one row has an event, and the other a later time, or the same time without an event, and an entry
    before that event. It is concordant if the row with the event has the higher risk.

    Parameters
    ----------
    event : ndarray of shape (n_rows,), dtype uint8
    time : ndarray of shape (n_rows,), dtype int64
        Ascending.
    risk : ndarray of shape (n_rows,), dtype int64
        Ranks, from 0 on and below n_rows.
    weight : ndarray of shape (n_rows,), dtype float64, or None
        What a pair counts, by its row with the event; None: 1.
    entry : ndarray of shape (n_rows,), dtype int64, or None
        At risk at times above this. None: all are there from the start.
    by_entry : ndarray of shape (n_rows,), dtype int64, or None
        The rows by descending entries.

    Returns
    -------
    concordant, comparable : float
    """
    cdef Py_ssize_t n = time.shape[0], end = n, first, i, gone = 0
    cdef int64_t lower, upto, n_later = 0
    cdef double concordant = 0.0, comparable = 0.0, w
    cdef int64_t[::1] later = np.zeros(n + 1, np.int64)        # a Fenwick tree over risks
    with nogil:
        while end > 0:
            first = end - 1
            while first > 0 and time[first - 1] == time[first]:
                first -= 1
            for i in range(first, end):
                if not event[i]:
                    put(later, risk[i], 1)
                    n_later += 1
            while entry is not None and gone < n and entry[by_entry[gone]] >= time[first]:
                put(later, risk[by_entry[gone]], -1)
                n_later -= 1
                gone += 1
            for i in range(first, end):
                if event[i]:
                    w = weight[i] if weight is not None else 1.0
                    lower = count_below(later, risk[i])
                    upto = count_below(later, risk[i] + 1)
                    concordant += w * 0.5 * <double> (lower + upto)
                    comparable += w * <double> n_later
            for i in range(first, end):
                if event[i]:
                    put(later, risk[i], 1)
                    n_later += 1
            end = first
    return concordant, comparable


def concordance(event, time, risk, weight=None, entry=None):
    """Harrell's concordance index [1]_; with weights of events, those of Uno, for example [2]_. NaN if no pairs are comparable.

    With entries, a pair counts only if both rows are at risk at the time of the event.

    Parameters
    ----------
    event, time : ndarray of shape (n_rows,)
    risk : ndarray of shape (n_rows,)
        Higher numbers mean an earlier event.
    weight : ndarray of shape (n_rows,), optional
    entry : ndarray of shape (n_rows,), optional
        Below the row's time, which it is at risk after.

    References
    ----------
    .. [1] F. E. Harrell, R. M. Califf, D. B. Pryor, K. L. Lee, R. A. Rosati, "Evaluating the yield of medical tests", Journal of
       the American Medical Association 247(18), 1982.
    .. [2] H. Uno, T. Cai, M. J. Pencina, R. B. D'Agostino, L. J. Wei, "On the C-statistics for evaluating overall adequacy of
       risk prediction procedures with censored survival data", Statistics in Medicine 30(10), 2011.
    """
    order = np.argsort(time, kind="stable")
    ranks = [np.unique(numbers, return_inverse=True)[1].astype(np.int64)[order] for numbers in (time, risk)]
    own = None if weight is None else np.ascontiguousarray(weight[order], np.float64)
    entries = by_entry = None
    if entry is not None:
        entries = np.searchsorted(np.unique(time), entry[order], side="right").astype(np.int64) - 1
        by_entry = np.argsort(-entries, kind="stable")
    concordant, comparable = count_pairs(np.ascontiguousarray(event[order], np.uint8), *ranks, own, entries, by_entry)
    return concordant / comparable if comparable > 0 else np.nan


cdef inline void put(int64_t[::1] counts, int64_t rank, int64_t n) noexcept nogil:
    cdef Py_ssize_t at = rank + 1
    while at < counts.shape[0]:
        counts[at] += n
        at += at & -at


cdef inline int64_t count_below(const int64_t[::1] counts, int64_t rank) noexcept nogil:
    cdef Py_ssize_t at = rank
    cdef int64_t n = 0
    while at > 0:
        n += counts[at]
        at &= at - 1
    return n
