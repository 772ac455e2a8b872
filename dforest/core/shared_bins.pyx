"""Bins of values that nobody has all of: as far as they follow from sums of weights, and what to ask for next.

Words: a *mark* is a key (keys.h) of which the weight of all values up to it is known; it need not be that of a value. Marks
ascend; the *gap* of a mark goes from the mark before, exclusive, up to it, inclusive, and has a weight. A *single* gap has at
most one distinct value. A *target* is a weight: the bin in question ends next to the value whose gap holds it.

The bins are dealt out by the rule in rules/bins.h. Where a target falls into a gap that is not single, the bin's end isn't known
yet; those after it are guessed, from the target, so that all gaps that are likely to be needed are found together.
"""
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint8_t, uint64_t

import numpy as np

from dforest.rules.bins cimport df_bin_ends_before, df_bin_share

cdef enum:
    MOST_NEAR = 8      # gaps on either side of a target that are asked for with it


cdef Py_ssize_t first_reaching(const int64_t[::1] upto, Py_ssize_t start, int64_t weight) noexcept nogil:
    """The first mark, from `start`, up to which there is such a weight."""
    cdef Py_ssize_t end = upto.shape[0] - 1, middle
    while start < end:
        middle = (start + end) >> 1
        if upto[middle] < weight:
            start = middle + 1
        else:
            end = middle
    return start


def deal_out(const uint64_t[::1] marks not None, const int64_t[::1] upto not None, const uint8_t[::1] is_single not None,
             int64_t n_bins, double jump):
    """Deal values out to bins, as far as is known.

    Parameters
    ----------
    marks : ndarray of shape (n,), dtype uint64
        Ascending. No value is up to the first, none above the last.
    upto : ndarray of shape (n,), dtype int64
        The weight of the values up to each mark.
    is_single : ndarray of shape (n,), dtype uint8
        Whether the mark's gap is single. It counts only where the gap has a weight; that of mark 0 has none.
    n_bins : int
        Most bins.
    jump : float
        About the weight of a value, for guesses.

    Returns
    -------
    ends : list of int
        Keys: bin b has the values above that of b - 1 up to its own. All bins, if nothing is wanted; else those before the first
        one that is not known.
    wanted : list of (int, int, int, int)
        Gaps to ask for, by their marks: weights from the second to the third entry are likely to hold targets. The fourth is
        whether all values of the gap are wanted, as few are left.
    """
    cdef Py_ssize_t n = marks.shape[0], start = 0, i, k, at, last_unsure = 0, tail
    cdef int64_t total = upto[n - 1], done = 0, bins = n_bins, rest, target, slack
    cdef double variance = 0.0
    cdef bint is_exact = True
    cdef int64_t[::1] above = np.empty(n, np.int64)      # at least so many distinct values are above each mark
    cdef list ends = [], wanted = []
    above[n - 1] = 0
    for i in range(n - 1, 0, -1):
        above[i - 1] = above[i] + (upto[i] > upto[i - 1])
        if last_unsure == 0 and upto[i] > upto[i - 1] and not is_single[i]:
            last_unsure = i
    while bins > 1 and done < total:
        rest = total - done
        target = done + df_bin_share(bins, rest)
        i = first_reaching(upto, start + 1, target)
        if above[i] < bins:
            # Once a value has fewer than `bins` above it, it ends its bin: see df_bin_ends_with.
            tail = start + 1
            while above[tail] >= bins or upto[tail] <= done:
                tail += 1
            if last_unsure >= tail:
                for k in range(tail, last_unsure + 1):
                    if not is_single[k] and upto[k] > upto[k - 1]:
                        wanted.append((k, upto[k - 1], upto[k], True))
                return ends, wanted
            i = min(i, tail)
        if upto[i] > upto[i - 1] and not is_single[i]:
            is_exact = False
            slack = <int64_t> (3.0 * sqrt(variance)) + 1
            k = i
            while k > 1 and upto[k - 1] > target - slack and i - k < MOST_NEAR:
                k -= 1
            at = k
            while at < n and upto[at - 1] < target + slack and at - i <= MOST_NEAR:
                if not is_single[at] and upto[at] > upto[at - 1]:
                    wanted.append((at, max(target - slack, upto[at - 1]), min(target + slack, upto[at]), False))
                at += 1
            variance = variance * (1.0 - 1.0 / bins) * (1.0 - 1.0 / bins) + (jump * jump - 1.0) / 12.0
            done += (2 * rest + bins) // (2 * bins)      # the nearest whole number
            start = i - 1
            bins -= 1
            continue
        if df_bin_ends_before(upto[i - 1] - done, upto[i] - upto[i - 1], bins, rest):
            i -= 1
        if is_exact:
            ends.append(marks[i])
        done = upto[i]
        start = i
        bins -= 1
    if done < total and is_exact:
        ends.append(marks[n - 1])
    return ends, wanted


def trim(const int64_t[::1] starts not None, const int64_t[::1] weight not None, const int64_t[::1] low not None,
         const int64_t[::1] high not None):
    """Which values of some gaps are worth knowing: those next to the targets, and one or two more on either side.

    Parameters
    ----------
    starts : ndarray of shape (n_gaps + 1,), dtype int64
        Where the values of each gap begin, and the last ones end.
    weight : ndarray of shape (n,), dtype int64
        Of each value.
    low, high : ndarray of shape (n_gaps,), dtype int64
        The weights between which a gap's targets are, counted from where it begins.

    Returns
    -------
    is_kept : ndarray of shape (n,), dtype bool
        One run of each gap.
    upto : ndarray of shape (n,), dtype int64
        The weight of a gap's values up to each, inclusive.
    """
    cdef Py_ssize_t n = weight.shape[0], g, i, first, last
    cdef int64_t[::1] upto = np.empty(n, np.int64)
    cdef uint8_t[::1] is_kept = np.zeros(n, np.uint8)
    cdef int64_t total
    for g in range(low.shape[0]):
        total = 0
        first = last = starts[g + 1]
        for i in range(starts[g], starts[g + 1]):
            total += weight[i]
            upto[i] = total
            if first == starts[g + 1] and total >= low[g]:
                first = i
            if last == starts[g + 1] and total >= high[g]:
                last = i
        for i in range(max(first - 2, starts[g]), min(last + 3, starts[g + 1])):
            is_kept[i] = True
    return np.asarray(is_kept).view(bool), np.asarray(upto)
