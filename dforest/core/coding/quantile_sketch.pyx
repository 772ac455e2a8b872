"""Bins of values that nobody has all of: as far as they follow from sums of weights, and what to ask for next.

A *cut point* is a key (ordered_keys.h) for which the weight of all values up to it is known; it need not be the key of a value.
Cut points ascend. The *gap* of a cut point goes from the cut point before, exclusive, up to the cut point itself, inclusive, and
has a weight. A *single* gap has at most one distinct value. A *target* is a weight: the bin in question ends next to the value
whose gap holds the target. A
*probe* is a key that becomes a cut point when its weight is told, and so does an *entry*, a value whose gap is single.

Values are allocated to bins by the rule in rules/bins.h. Where a target falls into a gap that is not single, the bin's end isn't
known yet; the ends after it are guessed from the target, so that all gaps that are likely to be needed are found together.
"""
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint8_t, uint64_t

import numpy as np

from dforest.core.coding.key_sort cimport Pair, df_value_of, sort_items
from dforest.rules.bins cimport df_bin_ends_before, df_bin_limits, df_bin_limits_of

cdef extern from "rules/ordered_keys.h" nogil:
    uint64_t df_last_key(double x, int is_wide)

cdef enum:
    MAX_NEAR = 8      # gaps on either side of a target that are asked for with it
    MAX_INSERTION_SORT = 32      # entries


cdef class QuantileSketch:
    """What is known of a column's values.

    Parameters
    ----------
    top : int
        A key that no value's is above.
    weight : int
        Of all values.
    n_bins : int
        Most bins.
    jump : float
        About the weight of a value, for guesses.
    is_wide : bool
        Whether keys have 64 bits.
    """
    cdef uint64_t[::1] cut_points  # [n] ascending; no value is up to the first, none above the last
    cdef int64_t[::1] upto         # [n] the weight of the values up to each
    cdef uint8_t[::1] is_single    # [n] whether its gap is known to be single; gaps without weight are, whatever this says
    cdef int64_t n_bins
    cdef double jump
    cdef bint is_wide
    cdef readonly object ends      # None, or keys: bin b has the values above that of b - 1 up to its own
    cdef readonly object gaps, first, last, probes     # what is wanted next; see allocate_bins

    def __cinit__(self, uint64_t top, int64_t weight, int64_t n_bins, double jump, bint is_wide):
        self.cut_points = np.array([0, top], np.uint64)
        self.upto = np.array([0, weight], np.int64)
        self.is_single = np.zeros(2, np.uint8)
        self.n_bins, self.jump, self.is_wide = n_bins, jump, is_wide

    def want_all(self, probes):
        """Want the one gap there is at first, with some probes, ascending."""
        self.set_wanted([1], [0], [self.upto[1]], probes[: np.searchsorted(probes, self.cut_points[1])])

    cdef set_wanted(self, gaps, first, last, probes):
        self.gaps, self.first, self.last = np.array(gaps, np.int64), np.array(first, np.int64), np.array(last, np.int64)
        self.probes = np.asarray(probes, np.uint64)

    def wanted_gaps(self):
        """The gaps that are wanted.

        Returns
        -------
        low, high : ndarray of shape (n_gaps,), dtype uint64
            The cut points that each lies between.
        base : ndarray of shape (n_gaps,), dtype int64
            The weight up to the lower one.
        first, last : ndarray of shape (n_gaps,), dtype int64
            Its targets lie between, counted from `base`.
        n_probes : ndarray of shape (n_gaps,), dtype int64
        probes : ndarray of shape (n_probes.sum(),), dtype uint64
        """
        cut_points, upto = np.asarray(self.cut_points), np.asarray(self.upto)
        low, high, base = cut_points[self.gaps - 1], cut_points[self.gaps], upto[self.gaps - 1]
        n_probes = np.searchsorted(self.probes, high) - np.searchsorted(self.probes, low)
        return low, high, base, self.first - base, self.last - base, n_probes, self.probes

    def add_cut_points(self, const uint64_t[::1] cut_points not None, const int64_t[::1] upto not None,
                       const uint8_t[::1] is_single not None):
        """Take more cut points, in ascending order. Of equal ones, it is enough if one is known to be single."""
        cdef Py_ssize_t n = self.cut_points.shape[0], m = cut_points.shape[0], i = 0, j = 0, k = 0
        cdef uint64_t[::1] all_cut_points = np.empty(n + m, np.uint64)
        cdef int64_t[::1] all_upto = np.empty(n + m, np.int64)
        cdef uint8_t[::1] all_single = np.empty(n + m, np.uint8)
        cdef uint64_t cut_point
        while i < n or j < m:
            cut_point = self.cut_points[i] if j == m or (i < n and self.cut_points[i] <= cut_points[j]) else cut_points[j]
            all_cut_points[k] = cut_point
            all_single[k] = k > 0 and cut_point - all_cut_points[k - 1] == 1
            while i < n and self.cut_points[i] == cut_point:
                all_upto[k] = self.upto[i]
                all_single[k] |= self.is_single[i]
                i += 1
            while j < m and cut_points[j] == cut_point:
                all_upto[k] = upto[j]
                all_single[k] |= is_single[j]
                j += 1
            k += 1
        self.cut_points, self.upto, self.is_single = all_cut_points[:k], all_upto[:k], all_single[:k]

    cdef bint is_known(self, Py_ssize_t gap) noexcept:
        """Whether a gap has at most one distinct value."""
        return self.is_single[gap] or self.upto[gap] == self.upto[gap - 1]

    cdef Py_ssize_t first_reaching(self, Py_ssize_t start, int64_t weight) noexcept:
        """The first cut point, from `start`, up to which there is such a weight."""
        cdef Py_ssize_t end = self.upto.shape[0] - 1, middle
        while start < end:
            middle = (start + end) >> 1
            if self.upto[middle] < weight:
                start = middle + 1
            else:
                end = middle
        return start

    cdef uint64_t probe_at(self, Py_ssize_t gap, double fraction) noexcept:
        """A key inside a gap with about such a fraction of its values below it."""
        cdef uint64_t low = self.cut_points[gap - 1], high = self.cut_points[gap], key
        cdef double a = df_value_of(low, self.is_wide), x = a + (df_value_of(high, self.is_wide) - a) * fraction
        if x - x == 0.0:
            key = df_last_key(x, self.is_wide)
        else:                  # a cut point is infinite, or no value's key
            key = low + <uint64_t> (<double> (high - low) * fraction)
        return min(max(key, low + 1), high - 1)

    def allocate_bins(self, int64_t max_entries, bint halve):
        """Allocate the values to bins as far as is known: have all `ends`, or `gaps` to ask for.

        Parameters
        ----------
        max_entries : int
            Gaps of more weight than that get probes.
        halve : bool
            Whether one of them is in the middle of the gap, so that it can't stay large.
        """
        cdef Py_ssize_t n = self.cut_points.shape[0], start = 0, i, k, at, last_unsure = 0, tail, n_ends = 0, n_probes = 0
        cdef int64_t[::1] upto = self.upto
        cdef int64_t total = upto[n - 1], done = 0, bins = self.n_bins, rest, target, slack, gap
        cdef double variance = 0.0, margin, weight, fraction, p
        cdef bint is_exact = True
        cdef df_bin_limits limits
        cdef int64_t[::1] above = np.empty(n, np.int64)      # how many distinct values are above each cut point, at least
        cdef uint64_t[::1] ends = np.empty(self.n_bins, np.uint64)
        cdef int64_t[::1] first = np.empty(n, np.int64), last = np.full(n, -1, np.int64)    # of the gaps that are wanted
        probes = np.empty(5 * (2 * MAX_NEAR + 1) * self.n_bins + 4 * n, np.uint64)
        cdef uint64_t[::1] to = probes
        above[n - 1] = 0
        for i in range(n - 1, 0, -1):
            above[i - 1] = above[i] + (upto[i] > upto[i - 1])
            if last_unsure == 0 and not self.is_known(i):
                last_unsure = i
        while bins > 1 and done < total:
            rest = total - done
            limits = df_bin_limits_of(bins, rest)
            target = done + limits.least
            i = self.first_reaching(start + 1, target)
            if above[i] < bins:
                # Once a value has fewer than `bins` above it, it ends its bin: see df_bin_ends_with.
                tail = start + 1
                while above[tail] >= bins or upto[tail] <= done:
                    tail += 1
                if last_unsure >= tail:
                    for k in range(tail, last_unsure + 1):
                        if not self.is_known(k):
                            first[k], last[k] = upto[k - 1], upto[k]
                            if upto[k] - upto[k - 1] > max_entries:
                                for at in range(1, 4):
                                    to[n_probes] = self.probe_at(k, 0.25 * at)
                                    n_probes += 1
                    is_exact = False
                    break
                i = min(i, tail)
            if self.is_known(i):
                if df_bin_ends_before(&limits, upto[i - 1] - done, upto[i] - upto[i - 1]):
                    i -= 1
                if is_exact:
                    ends[n_ends] = self.cut_points[i]
                    n_ends += 1
                done = upto[i]
                start = i
                bins -= 1
                continue
            # All gaps near the target, and probes on either side of it.
            is_exact = False
            slack = <int64_t> (4.0 * sqrt(variance)) + 1
            weight = <double> (upto[i] - upto[i - 1])
            fraction = <double> (target - upto[i - 1]) / weight
            margin = 2.0 * sqrt(weight * self.jump * max(0.0, fraction * (1.0 - fraction))) + self.jump + slack
            k = i
            while k > 1 and upto[k - 1] > target - slack and i - k < MAX_NEAR:
                k -= 1
            while k < n and upto[k - 1] < target + slack and k - i <= MAX_NEAR:
                if not self.is_known(k):
                    if last[k] < 0:
                        first[k] = max(target - slack, upto[k - 1])
                    last[k] = min(target + slack, upto[k])
                    if upto[k] - upto[k - 1] > max_entries:
                        weight = <double> (upto[k] - upto[k - 1])
                        for at in range(-2, 3):
                            # Those inside are for targets that are so uncertain that many values lie between the outer ones.
                            if -2 < at < 2 and slack <= 2.0 * self.jump:
                                continue
                            p = (<double> (target - upto[k - 1]) + 0.5 * at * (margin if at == -2 or at == 2 else slack)) / weight
                            if 0.0 < p < 1.0:
                                to[n_probes] = self.probe_at(k, p)
                                n_probes += 1
                k += 1
            variance = variance * (1.0 - 1.0 / bins) * (1.0 - 1.0 / bins) + (self.jump * self.jump - 1.0) / 12.0
            done += (2 * rest + bins) // (2 * bins)      # the nearest whole number
            start = i - 1
            bins -= 1
        if is_exact:
            if done < total:
                ends[n_ends] = self.cut_points[n - 1]
                n_ends += 1
            self.ends = np.asarray(ends)[:n_ends]
            self.set_wanted([], [], [], [])
            return
        gaps = np.flatnonzero(np.asarray(last) >= 0)
        for gap in gaps:
            if halve and upto[gap] - upto[gap - 1] > max_entries:
                to[n_probes] = self.cut_points[gap - 1] + (self.cut_points[gap] - self.cut_points[gap - 1]) // 2
                n_probes += 1
        self.set_wanted(gaps, np.asarray(first)[gaps], np.asarray(last)[gaps], np.unique(probes[:n_probes]))


cdef void sort_entries(Pair** entries, Pair** other, Py_ssize_t n) noexcept nogil:
    """Sort by key, stably; entries and other change places where the result is in the other."""
    cdef Py_ssize_t i, j
    cdef Pair entry
    cdef Pair* items = entries[0]
    if n > MAX_INSERTION_SORT:
        if sort_items(items, other[0], n) != items:
            entries[0], other[0] = other[0], items
        return
    for i in range(1, n):
        entry = items[i]
        j = i
        while j > 0 and items[j - 1].key > entry.key:
            items[j] = items[j - 1]
            j -= 1
        items[j] = entry


def merge_entries(const int64_t[:, ::1] n_entries not None, const int64_t[::1] starts not None, const uint64_t[::1] keys not None,
                  const int64_t[::1] weights not None, const int64_t[::1] first not None, const int64_t[::1] last not None):
    """Put the entries of several sources together, and keep those next to targets, with two more on either side.

    Parameters
    ----------
    n_entries : ndarray of shape (n_sources, n_gaps), dtype int64
        -1: a source has too many for this gap, which therefore gets no entries.
    starts : ndarray of shape (n_sources,), dtype int64
        Where the entries of each source begin in `keys` and `weights`; those of one gap lie behind those of another.
    keys : ndarray of shape (n,), dtype uint64
    weights : ndarray of shape (n,), dtype int64
    first, last : ndarray of shape (n_gaps,), dtype int64
        The targets of each gap lie between.

    Returns
    -------
    n_kept : ndarray of shape (n_gaps,), dtype int64
        The number of entries that are kept of a gap, doubled; odd if others are below them.
    keys, upto : ndarray of shape (n_kept,), dtype uint64 and int64
        Distinct and ascending, and the weight of a gap's values up to each.
    """
    cdef Py_ssize_t n_sources = n_entries.shape[0], n_gaps = n_entries.shape[1], g, s, i, j, n, n_out = 0, lowest, highest
    cdef int64_t[::1] at = np.array(starts), n_kept = np.zeros(n_gaps, np.int64), upto = np.empty(keys.shape[0], np.int64)
    cdef uint64_t[::1] kept = np.empty(keys.shape[0], np.uint64)
    cdef int64_t[::1] totals = np.empty(keys.shape[0], np.int64)
    cdef uint64_t[:, ::1] memory = np.empty((2, 2 * max(1, keys.shape[0])), np.uint64)
    cdef Pair* entries = <Pair*> &memory[0, 0]
    cdef Pair* other = <Pair*> &memory[1, 0]
    cdef int64_t total
    cdef bint is_whole
    for g in range(n_gaps):
        n = 0
        is_whole = True
        for s in range(n_sources):
            is_whole &= n_entries[s, g] >= 0
            for i in range(n_entries[s, g]):
                entries[n].key = keys[at[s] + i]
                entries[n].number = <uint64_t> weights[at[s] + i]
                n += 1
            at[s] += max(0, n_entries[s, g])
        if not is_whole or n == 0:
            continue
        sort_entries(&entries, &other, n)
        # Distinct keys and cumulated weights; the first of each kind that reaches a target.
        total = 0
        j = -1
        lowest = highest = -1
        for i in range(n):
            if j < 0 or entries[i].key != entries[j].key:
                j += 1
                entries[j].key = entries[i].key
            total += <int64_t> entries[i].number
            totals[j] = total
            if lowest < 0 and total >= first[g]:
                lowest = j
            if highest < 0 and total >= last[g]:
                highest = j
        n = j + 1
        lowest = max((lowest if lowest >= 0 else n) - 2, 0)
        highest = min((highest if highest >= 0 else n) + 3, n)
        for i in range(lowest, highest):
            kept[n_out] = entries[i].key
            upto[n_out] = totals[i]
            n_out += 1
        n_kept[g] = 2 * (highest - lowest) + (lowest > 0)
    return np.asarray(n_kept), np.asarray(kept)[:n_out], np.asarray(upto)[:n_out]
