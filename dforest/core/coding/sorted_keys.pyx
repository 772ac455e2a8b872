"""Columns whose rows lie in several matrices: their values, each column's sorted, and what is asked of these.

Keys (`dforest.core.coding.key_sort`) stand for values, without missing ones. Of a sparse matrix only the stored values are
sorted; all zeros of a column become one entry, which has their weight.
"""
from typing import NamedTuple

from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

from dforest.core.coding.key_sort cimport (
    Key32,
    Key64,
    Pair,
    item_t,
    key_in,
    key_of,
    make_item,
    number_in,
    pair_t,
    real_t,
    sort_items,
)

from dforest.core.scratch import scratch
from dforest.core.sparse_rows import SparseColumns

ctypedef fused key_t:
    uint32_t
    uint64_t

cdef enum:
    ROWS_AT_A_TIME = 1024      # of a matrix: the cache holds them for all columns that are read together


class SortedColumn(NamedTuple):
    """A column's values in ascending order.

    keys : ndarray of shape (n,), dtype uint32 or uint64
        Those of rows or, with `sums`, of one row or of several that have equal values.
    sums : ndarray of shape (n,), dtype int64, or None
        The weight of each entry and those before it; None: all weights are 1.
    has_missing : bool
    n_distinct : int
    weight : int
        Of all values.
    jump : float
        The mean weight of a distinct value, where a value counts by its weight, and not at all if it has more than one of
        `n_shares` equal shares of the column's.
    """

    keys: np.ndarray
    sums: np.ndarray | None
    has_missing: bool
    n_distinct: int
    weight: int
    jump: float


cdef inline Py_ssize_t read_items(const real_t[:, :] x, Py_ssize_t first, Py_ssize_t end, Py_ssize_t j, const uint32_t* weight,
                                  item_t* to) noexcept nogil:
    """Items of the values in rows first, ..., end - 1 that are not missing; returns how many.

    IN weight : [end] or NULL: all 1
    """
    cdef Py_ssize_t i, n = 0
    cdef real_t value
    for i in range(first, end):
        value = x[i, j]
        if value == value:
            to[n] = make_item(to, key_of(value), weight[i] if weight != NULL else 1)
            n += 1
    return n


cdef inline Py_ssize_t read_stored(const real_t* x, const uint32_t* rows, Py_ssize_t n, const uint32_t* weight, item_t* to,
                                   int64_t* zeros, Py_ssize_t* n_missing) noexcept nogil:
    """Items of n stored values that are neither missing nor 0; returns how many.

    IN weight : by row, or NULL: all 1
    INOUT zeros : less the weight of the stored values that are not 0
    INOUT n_missing : plus the number of missing values
    """
    cdef Py_ssize_t i, n_items = 0
    cdef uint32_t own
    for i in range(n):
        own = weight[rows[i]] if weight != NULL else 1
        if x[i] != x[i]:
            n_missing[0] += 1
            zeros[0] -= own
        elif x[i] != 0:
            to[n_items] = make_item(to, key_of(x[i]), own)
            n_items += 1
            zeros[0] -= own
    return n_items


cdef inline Py_ssize_t add_up(const pair_t* items, Py_ssize_t n, key_t zero, int64_t zeros, key_t* keys,
                              int64_t* sums) noexcept nogil:
    """Write keys and sums of n items, and of zeros of some weight, if it is above 0; returns how many these are."""
    cdef Py_ssize_t i, n_written = 0
    cdef int64_t total = 0
    for i in range(n + 1):
        if zeros > 0 and (i == n or key_in(items[i]) > zero):
            keys[n_written] = zero
            total += zeros
            sums[n_written] = total
            n_written += 1
            zeros = 0
        if i < n:
            keys[n_written] = <key_t> key_in(items[i])
            total += number_in(items[i])
            sums[n_written] = total
            n_written += 1
    return n_written


cdef object describe(object column_keys, const key_t* keys, const int64_t* sums, object sums_array, Py_ssize_t n,
                     bint has_missing, int64_t n_shares):
    cdef Py_ssize_t i, n_distinct = 0
    cdef int64_t before = 0, upto = 0, most = 0, light = 0
    cdef double squares = 0
    if n:
        most = (sums[n - 1] if sums != NULL else n) // n_shares
    with nogil:
        for i in range(n):
            if i + 1 < n and keys[i] == keys[i + 1]:
                continue
            n_distinct += 1
            upto = sums[i] if sums != NULL else i + 1
            if upto - before == 1:
                light += 1
            elif upto - before <= most:
                squares += <double> (upto - before) * <double> (upto - before - 1)
                light += upto - before
            before = upto
    squares += light
    return SortedColumn(column_keys, sums_array, bool(has_missing), n_distinct, upto, squares / max(light, 1))


cdef inline list sort_as(list parts, list columns, const uint32_t[::1] weight, int64_t n_shares, item_t* _, real_t* __):
    """`sort_columns` by one type of items."""
    cdef Py_ssize_t width = len(columns), most = 0, c, i, end, done = 0, n      # most values of a column, without zeros
    cdef Py_ssize_t[::1] place = np.array(columns, np.intp)
    cdef Py_ssize_t[::1] n_items = np.zeros(width, np.intp), n_missing = np.zeros(width, np.intp)
    cdef int64_t[::1] zeros = np.zeros(width, np.int64)                        # their weight, where they are not stored
    cdef const real_t[:, :] x
    cdef const real_t[::1] stored
    cdef const uint32_t[::1] rows
    cdef const int64_t[::1] starts
    cdef const uint32_t* own_weight
    cdef int64_t all_weights
    cdef item_t* items
    cdef item_t* ordered
    cdef size_t address
    cdef uint32_t[::1] keys32
    cdef uint64_t[::1] keys64
    cdef int64_t[::1] sums
    key_dtype = np.dtype(np.uint32 if real_t is float else np.uint64)
    cdef bint has_numbers = item_t is uint64_t or item_t is Pair
    for part in parts:
        most += np.diff(part.starts)[columns].max() if isinstance(part, SparseColumns) else len(part)
    cdef Py_ssize_t size = max(1, most) * sizeof(item_t)
    # Without numbers items are the keys that are kept.
    if has_numbers:
        memory = list(scratch((width, size), np.uint8))
    else:
        memory = [np.empty(max(1, most), key_dtype) for _c in range(width)]
    spare = scratch((size,), np.uint8) if has_numbers else np.empty(max(1, most), key_dtype)
    cdef list addresses = [array.ctypes.data for array in memory]
    cdef size_t[::1] to = np.array(addresses, np.uintp)
    address = spare.ctypes.data
    cdef item_t* other = <item_t*> address
    for part in parts:
        n = len(part)
        own_weight = &weight[done] if weight is not None and n > 0 else NULL
        if isinstance(part, SparseColumns):
            stored, rows, starts = part.values, part.rows, part.starts
            all_weights = n if weight is None else np.asarray(weight)[done:done + n].sum(dtype=np.int64)
            with nogil:
                for c in range(width):
                    zeros[c] += all_weights
                    i, end = starts[place[c]], starts[place[c] + 1]
                    if end > i:
                        n_items[c] += read_stored(&stored[i], &rows[i], end - i, own_weight, <item_t*> to[c] + n_items[c],
                                                  &zeros[c], &n_missing[c])
        else:
            x = part
            with nogil:
                for c in range(width):
                    n_missing[c] += n + n_items[c]
                i = 0
                while i < n:
                    end = min(i + ROWS_AT_A_TIME, n)
                    for c in range(width):
                        n_items[c] += read_items(x, i, end, place[c], own_weight, <item_t*> to[c] + n_items[c])
                    i = end
                for c in range(width):
                    n_missing[c] -= n_items[c]
        done += n
    found = []
    for c in range(width):
        n = n_items[c]
        items = <item_t*> to[c]
        with nogil:
            ordered = sort_items(items, other, n)
        if ordered != items and not has_numbers:
            memory[c], spare, other = spare, memory[c], items
        sums_array = None
        keys = memory[c]
        if has_numbers:
            keys = np.empty(n + 1, key_dtype)
            sums_array = sums = np.empty(n + 1, np.int64)
            sums_array = np.asarray(sums_array)
        if real_t is float:
            keys32 = keys
            if item_t is uint64_t:
                with nogil:
                    n = add_up(<uint64_t*> ordered, n, <uint32_t> key_of(<float> 0), zeros[c], &keys32[0], &sums[0])
            found.append(describe(keys[:n], &keys32[0], &sums[0] if has_numbers else NULL,
                                  sums_array[:n] if has_numbers else None, n, n_missing[c] > 0, n_shares))
        else:
            keys64 = keys
            if item_t is Pair:
                with nogil:
                    n = add_up(<Pair*> ordered, n, key_of(<double> 0), zeros[c], &keys64[0], &sums[0])
            found.append(describe(keys[:n], &keys64[0], &sums[0] if has_numbers else NULL,
                                  sums_array[:n] if has_numbers else None, n, n_missing[c] > 0, n_shares))
    return found


def sort_columns(list parts not None, list columns not None, dtype, const uint32_t[::1] weight=None, int64_t n_shares=1):
    """Sort some columns.

    Parameters
    ----------
    parts : list of (ndarray of shape (n_k, n_features), or SparseColumns), of the dtype given
        One above the other. No more than 2**32 - 1 rows together.
    columns : list of int
        Which columns; they are read together.
    dtype : dtype
        float32 or float64.
    weight : ndarray of shape (n_rows,), dtype uint32, optional
        Of the rows of all parts.
    n_shares : int
        For `SortedColumn.jump`.

    Returns
    -------
    list of SortedColumn
    """
    has_weights = weight is not None or any([isinstance(part, SparseColumns) for part in parts])
    if dtype == np.float32:
        if not has_weights:
            return sort_as(parts, columns, weight, n_shares, <Key32*> NULL, <float*> NULL)
        return sort_as(parts, columns, weight, n_shares, <uint64_t*> NULL, <float*> NULL)
    if not has_weights:
        return sort_as(parts, columns, weight, n_shares, <Key64*> NULL, <double*> NULL)
    return sort_as(parts, columns, weight, n_shares, <Pair*> NULL, <double*> NULL)


cdef inline Py_ssize_t upper_end(const key_t* keys, Py_ssize_t start, Py_ssize_t end, key_t key) noexcept nogil:
    """Where the keys up to one end, from `start`, up to which all are, to `end`, from which on none is."""
    cdef Py_ssize_t middle
    while start < end:
        middle = (start + end) >> 1
        if keys[middle] <= key:
            start = middle + 1
        else:
            end = middle
    return start


def places_of(const key_t[::1] keys not None, const uint64_t[::1] low not None, const uint64_t[::1] high not None,
              const int64_t[::1] n_probes not None, const uint64_t[::1] probes not None):
    """How many keys are not above others, which lie close together in groups.

    Parameters
    ----------
    keys : ndarray of shape (n,), dtype uint32 or uint64
        Ascending.
    low, high : ndarray of shape (n_groups,), dtype uint64
        The least and the greatest of each group. Groups ascend, and none has a key below the greatest of another before it.
    n_probes : ndarray of shape (n_groups,), dtype int64
    probes : ndarray of shape (n_probes.sum(),), dtype uint64
        Those between, ascending.

    Returns
    -------
    begins, ends : ndarray of shape (n_groups,), dtype int64
        Of `low` and `high`.
    places : ndarray of shape (n_probes.sum(),), dtype int64
    """
    cdef Py_ssize_t g, p = 0, n = keys.shape[0], at = 0, end, step
    cdef int64_t[::1] begins = np.empty(low.shape[0], np.int64), ends = np.empty(low.shape[0], np.int64)
    cdef int64_t[::1] places = np.empty(probes.shape[0], np.int64)
    cdef const key_t* first = &keys[0] if n else NULL
    for g in range(low.shape[0]):
        begins[g] = at = upper_end(first, at, n, <key_t> low[g])
        end, step = at, 16
        while end < n and first[end] <= <key_t> high[g]:
            at = end
            end = min(end + step, n)
            step *= 2
        ends[g] = end = upper_end(first, at, end, <key_t> high[g])
        at = begins[g]
        for p in range(p, p + n_probes[g]):
            places[p] = at = upper_end(first, at, end, <key_t> probes[p])
        p += n_probes[g] > 0
        at = end
    return np.asarray(begins), np.asarray(ends), np.asarray(places)


def runs_of(const key_t[::1] keys not None, const int64_t[::1] begins not None, const int64_t[::1] ends not None,
            Py_ssize_t most):
    """Runs of equal keys, in ranges of ascending keys.

    Parameters
    ----------
    keys : ndarray of shape (n,), dtype uint32 or uint64
    begins, ends : ndarray of shape (n_ranges,), dtype int64
    most : int
        A range of more runs is left out.

    Returns
    -------
    n_runs : ndarray of shape (n_ranges,), dtype int64
        -1: more than `most`.
    run_begins, run_ends : ndarray of shape (n_runs.sum(),), dtype int64
        Range by range.
    """
    cdef Py_ssize_t s, n = 0, at, end, step, room = 0
    cdef key_t key
    for s in range(begins.shape[0]):
        room += min(most + 1, ends[s] - begins[s])
    cdef int64_t[::1] n_runs = np.empty(begins.shape[0], np.int64)
    cdef int64_t[:, ::1] runs = np.empty((2, room + 1), np.int64)
    for s in range(begins.shape[0]):
        n_runs[s] = 0
        at, end = begins[s], ends[s]
        while at < end:
            if n_runs[s] == most:
                n -= most
                n_runs[s] = -1
                break
            key = keys[at]
            runs[0, n] = at
            at += 1
            if at < end and keys[at] == key:
                step = 1
                while step < end - at and keys[at + step] == key:
                    at += step
                    step *= 2
                while step > 0:          # keys[at] is of the run, keys[at + 2 * step] is not
                    if step < end - at and keys[at + step] == key:
                        at += step
                    step //= 2
                at += 1
            runs[1, n] = at
            n += 1
            n_runs[s] += 1
    return np.asarray(n_runs), np.asarray(runs[0, :n]), np.asarray(runs[1, :n])
