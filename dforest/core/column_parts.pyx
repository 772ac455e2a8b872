"""Columns whose rows lie in several matrices: their values, each column's sorted, and their codes.

A `SortedColumn` has the values of a column as keys (keys.h), without missing ones. Once it is known which values have which code,
a `CodeRule` says how a column's values become codes: a bin or a distinct value is found by its key among those of the codes'
highest values, a category is its number, a key is made from the value alone. Objects of both classes own their arrays.
"""
from typing import NamedTuple

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.core.key_sort cimport Key32, Key64, Pair, item_t, key_in, make_item, number_in, pair_t, sort_items
from dforest.core.types cimport column_t
from dforest.rules.numerics cimport df_middle

from dforest.core.scratch import scratch

cdef extern from "rules/keys.h" nogil:
    uint32_t df_key32(float x)
    uint64_t df_key64(double x)
    double df_value_of(uint64_t key, int is_wide)

ctypedef fused real_t:
    float
    double

ctypedef fused key_t:
    uint32_t
    uint64_t

cdef enum:
    ROWS_AT_A_TIME = 1024      # of a matrix: the cache holds them for all columns that are read or coded together,
    CACHE = 1 << 20            # if it holds so many bytes of the columns' rules
    MIN_BUCKETS = 1 << 11      # of keys, for a column with enough rows
    MAX_BUCKETS = 1 << 18


class SortedColumn(NamedTuple):
    """A column's values in ascending order.

    keys : ndarray of shape (n_present,), dtype uint32 or uint64
    sums : ndarray of shape (n_present,), dtype int64, or None
        The weight of each value and those before it; None: all weights are 1.
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

    IN weight : [end] or NULL: items without numbers
    """
    cdef Py_ssize_t i, n = 0
    cdef real_t value
    for i in range(first, end):
        value = x[i, j]
        if value == value:
            to[n] = make_item(to, df_key32(value) if real_t is float else df_key64(value), weight[i] if weight != NULL else 0)
            n += 1
    return n


cdef inline void add_up(const pair_t* items, Py_ssize_t n, key_t* keys, int64_t* sums) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t total = 0
    for i in range(n):
        keys[i] = <key_t> key_in(items[i])
        total += number_in(items[i])
        sums[i] = total


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
    cdef Py_ssize_t n_rows = sum([len(x) for x in parts]), width = len(columns), c, i, end, done = 0, n
    cdef Py_ssize_t[::1] place = np.array(columns, np.intp), n_present = np.zeros(width, np.intp)
    cdef const real_t[:, :] x
    cdef item_t* items
    cdef item_t* ordered
    cdef size_t address
    cdef uint32_t[::1] keys32
    cdef uint64_t[::1] keys64
    cdef int64_t[::1] sums
    key_dtype = np.dtype(np.uint32 if real_t is float else np.uint64)
    cdef bint has_numbers = item_t is uint64_t or item_t is Pair
    cdef Py_ssize_t size = max(1, n_rows) * sizeof(item_t)
    # Without numbers items are the keys that are kept.
    if has_numbers:
        memory = list(scratch((width, size), np.uint8))
    else:
        memory = [np.empty(max(1, n_rows), key_dtype) for _c in range(width)]
    spare = scratch((size,), np.uint8) if has_numbers else np.empty(max(1, n_rows), key_dtype)
    cdef list addresses = [array.ctypes.data for array in memory]
    cdef size_t[::1] to = np.array(addresses, np.uintp)
    address = spare.ctypes.data
    cdef item_t* other = <item_t*> address
    for part in parts:
        x = part
        with nogil:
            i = 0
            while i < x.shape[0]:
                end = min(i + ROWS_AT_A_TIME, x.shape[0])
                for c in range(width):
                    items = <item_t*> to[c] + n_present[c]
                    n_present[c] += read_items(x, i, end, place[c], &weight[done] if has_numbers else NULL, items)
                i = end
        done += x.shape[0]
    found = []
    for c in range(width):
        n = n_present[c]
        items = <item_t*> to[c]
        with nogil:
            ordered = sort_items(items, other, n)
        if ordered != items and not has_numbers:
            memory[c], spare, other = spare, memory[c], items
        sums_array = None
        keys = memory[c]
        if has_numbers:
            keys = np.empty(max(1, n), key_dtype)
            sums_array = sums = np.empty(max(1, n), np.int64)
            sums_array = np.asarray(sums_array)
        if real_t is float:
            keys32 = keys
            if item_t is uint64_t:
                with nogil:
                    add_up(<uint64_t*> ordered, n, &keys32[0], &sums[0])
            found.append(describe(keys[:n], &keys32[0], &sums[0] if has_numbers else NULL,
                                  sums_array[:n] if has_numbers else None, n, n < n_rows, n_shares))
        else:
            keys64 = keys
            if item_t is Pair:
                with nogil:
                    add_up(<Pair*> ordered, n, &keys64[0], &sums[0])
            found.append(describe(keys[:n], &keys64[0], &sums[0] if has_numbers else NULL,
                                  sums_array[:n] if has_numbers else None, n, n < n_rows, n_shares))
    return found


def sort_columns(list parts not None, list columns not None, dtype, const uint32_t[::1] weight=None, int64_t n_shares=1):
    """Sort some columns.

    Parameters
    ----------
    parts : list of ndarray of shape (n_k, n_features), of the dtype given
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
    if dtype == np.float32:
        if weight is None:
            return sort_as(parts, columns, weight, n_shares, <Key32*> NULL, <float*> NULL)
        return sort_as(parts, columns, weight, n_shares, <uint64_t*> NULL, <float*> NULL)
    if weight is None:
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


cdef enum Kind:
    SEARCHED = 0
    CATEGORY = 1
    KEYED = 2

cdef struct Rule:
    Kind kind
    bint has_wide_keys         # of 64 bits
    uint64_t missing           # the code of missing values
    # SEARCHED: the keys of the highest values of all codes but the last, ascending, of 32 or 64 bits as X. Buckets are
    # equal ranges of keys, where the widest void between two highs counts as one key: that around zero may be most of the
    # range. `first` tells how many highs are below each bucket; fewer than `span`, a power of two, lie in one, and `span`
    # times the largest key follows the last.
    const void* highs
    const uint32_t* first      # [n_buckets]
    uint64_t base              # the lowest key of bucket 0
    uint64_t void_base, void_size    # the high below the widest void, and how many keys are left out of the buckets
    uint64_t n_buckets
    int shift                  # a bucket has 2**shift keys
    uint32_t span
    size_t n_bytes             # of highs and first


cdef class CodeRule:
    """How a column's values become codes.

    Parameters
    ----------
    missing : int
        The code of missing values.
    highs : ndarray, dtype uint32 or uint64, optional
        The keys of the highest values of all codes but the last, ascending, for X of float32 or float64.
    key_bits : int
        32 or 64: the codes are keys of as many bits; 0: they are not. With neither, the values are categories.
    n_rows : int
        About how many values are to be coded.
    """
    cdef Rule rule
    cdef object owned

    def __cinit__(self, uint64_t missing, highs=None, int key_bits=0, Py_ssize_t n_rows=0):
        self.rule.missing = missing
        self.rule.kind = SEARCHED if highs is not None else KEYED if key_bits else CATEGORY
        self.rule.has_wide_keys = key_bits == 64
        if highs is not None:
            self.divide(highs, n_rows)

    cdef divide(self, highs, Py_ssize_t n_rows):
        cdef size_t address
        cdef int shift = 0
        n = len(highs)
        key_type = highs.dtype.type
        place = highs - (highs[0] if n else key_type(0))
        if n > 1:
            widest = int(np.argmax(np.diff(place)))
            self.rule.void_base, self.rule.void_size = highs[widest], place[widest + 1] - place[widest] - key_type(1)
            place[widest + 1 :] -= key_type(self.rule.void_size)
        top = int(place[n - 1]) if n else 0
        n_buckets = min(max(MIN_BUCKETS, 2 * n), MAX_BUCKETS, max(1, n_rows // 4))
        while top >> shift >= n_buckets:
            shift += 1
        n_buckets = (top >> shift) + 1
        in_bucket = (place >> key_type(shift)).astype(np.int64)
        counts = np.bincount(in_bucket, minlength=n_buckets)
        first = (np.cumsum(counts) - counts).astype(np.uint32)
        span = 1 << int(counts.max()).bit_length()
        padded = np.append(highs, np.full(span, np.iinfo(highs.dtype).max, highs.dtype))
        self.owned = padded, first
        address = padded.ctypes.data
        self.rule.highs = <const void*> address
        address = first.ctypes.data
        self.rule.first = <const uint32_t*> address
        self.rule.base = highs[0] if n else 0
        self.rule.n_buckets, self.rule.shift, self.rule.span = n_buckets, shift, span
        self.rule.n_bytes = padded.nbytes + first.nbytes


cdef inline key_t mask(key_t a, key_t b) noexcept nogil:
    """All ones if a < b, else 0."""
    return <key_t> 0 - <key_t> (a < b)


cdef inline uint32_t n_below(const Rule* rule, const key_t* highs, key_t key) noexcept nogil:
    """How many of `highs` are below a key; without branches, as nobody can foretell where it falls."""
    cdef key_t base = <key_t> rule.base, void_base = <key_t> rule.void_base
    cdef key_t left_out = <key_t> rule.void_size, last = <key_t> rule.n_buckets - 1
    cdef key_t place = mask(base, key) & (key - base), beyond = mask(void_base, key) & (key - void_base)
    cdef key_t bucket = (place - (left_out ^ ((left_out ^ beyond) & mask(beyond, left_out)))) >> rule.shift
    cdef uint32_t half = rule.span >> 1, at = rule.first[last ^ ((last ^ bucket) & mask(bucket, last))]
    while half > 0:
        at += half & <uint32_t> mask(highs[at + half - 1], key)
        half >>= 1
    return at


cdef inline void write_column(const real_t[:, :] x, Py_ssize_t first, Py_ssize_t end, Py_ssize_t j, const Rule* rule,
                              column_t* codes, Py_ssize_t stride) noexcept nogil:
    """OUT codes : of row `first` and those that follow, as many bytes apart as `stride` says"""
    cdef Py_ssize_t i
    cdef real_t value
    cdef column_t missing = <column_t> rule.missing
    cdef char* to = <char*> codes
    cdef Rule own = rule[0]
    if rule.kind == SEARCHED:
        for i in range(first, end):
            value = x[i, j]
            if real_t is float:
                (<column_t*> to)[0] = <column_t> n_below(&own, <const uint32_t*> own.highs, df_key32(value))
            else:
                (<column_t*> to)[0] = <column_t> n_below(&own, <const uint64_t*> own.highs, df_key64(value))
            if value != value:
                (<column_t*> to)[0] = missing
            to += stride
        return
    for i in range(first, end):
        value = x[i, j]
        if value != value:
            (<column_t*> to)[0] = missing
        elif rule.kind == CATEGORY:
            (<column_t*> to)[0] = <column_t> value
        elif rule.has_wide_keys:
            (<column_t*> to)[0] = <column_t> df_key64(value)
        else:
            (<column_t*> to)[0] = <column_t> df_key32(<float> value)
        to += stride


def write_codes(const real_t[:, :] x not None, Py_ssize_t offset, list rules not None, list codes not None):
    """Write the codes of a matrix.

    Parameters
    ----------
    x : ndarray of shape (n, n_features), dtype float32 or float64
    offset : int
        Where the codes of its first row are.
    rules : list of CodeRule
        One for each column.
    codes : list of ndarray of shape (n_rows,)
        Of unsigned integers; the codes of each column, of any stride. OUT
    """
    cdef Py_ssize_t j, i, end, n_features = x.shape[1], step = ROWS_AT_A_TIME
    cdef CodeRule rule
    cdef size_t address, n_bytes = 0
    cdef char* to
    cdef const Rule** of = <const Rule**> malloc(max(1, n_features) * sizeof(Rule*))
    cdef Py_ssize_t[:, ::1] places = np.empty((n_features, 3), np.intp)      # address of the first code, stride, width
    if of == NULL:
        raise MemoryError()
    for j in range(n_features):
        rule = rules[j]
        of[j] = &rule.rule
        n_bytes += rule.rule.n_bytes
        address = codes[j].ctypes.data
        places[j, 0], places[j, 1], places[j, 2] = address, codes[j].strides[0], codes[j].dtype.itemsize
    if n_bytes > CACHE:
        step = max(step, CACHE // max(1, n_features * <Py_ssize_t> sizeof(real_t)))
    with nogil:
        i = 0
        while i < x.shape[0]:
            end = min(i + step, x.shape[0])
            for j in range(n_features):
                to = <char*> <size_t> places[j, 0] + (offset + i) * places[j, 1]
                if places[j, 2] == 1:
                    write_column(x, i, end, j, of[j], <uint8_t*> to, places[j, 1])
                elif places[j, 2] == 2:
                    write_column(x, i, end, j, of[j], <uint16_t*> to, places[j, 1])
                elif places[j, 2] == 4:
                    write_column(x, i, end, j, of[j], <uint32_t*> to, places[j, 1])
                else:
                    write_column(x, i, end, j, of[j], <uint64_t*> to, places[j, 1])
            i = end
    free(of)


def values_of_keys(const key_t[::1] keys not None):
    """The value of each key: ndarray of float32 or float64."""
    cdef Py_ssize_t i
    cdef double[::1] values = np.empty(keys.shape[0])
    for i in range(keys.shape[0]):
        values[i] = df_value_of(keys[i], key_t is uint64_t)
    return np.asarray(values).astype(np.float32 if key_t is uint32_t else np.float64)


def edges_between(const real_t[::1] lows not None, const real_t[::1] highs not None):
    """The upper edges of bins, given the smallest and largest value of each."""
    cdef Py_ssize_t i, n = lows.shape[0]
    cdef double[::1] edges = np.empty(n)
    for i in range(n):
        edges[i] = df_middle(highs[i], lows[i + 1], real_t is float) if i + 1 < n else INFINITY
    return np.asarray(edges).astype(np.float32 if real_t is float else np.float64)
