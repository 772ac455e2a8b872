"""Codes of rows that lie in several matrices, once it is known which values have which code.

A `CodeRule` says how a column's values become codes: a bin or a distinct value is found by its key (keys.h) among those of the
codes' highest values, a category is its number, a key is made from the value alone. It owns its arrays.
"""
from libc.math cimport INFINITY
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.core.types cimport column_t
from dforest.rules.numerics cimport df_middle

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
    ROWS_AT_A_TIME = 1024      # of a matrix: the cache holds them for all columns,
    CACHE = 1 << 20            # if it holds so many bytes of the columns' rules
    LEAST_BUCKETS = 1 << 11    # of keys, for a column with enough rows
    MOST_BUCKETS = 1 << 18

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
        n_buckets = min(max(LEAST_BUCKETS, 2 * n), MOST_BUCKETS, max(1, n_rows // 4))
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
