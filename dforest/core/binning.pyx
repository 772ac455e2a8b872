"""From values to codes: bin edges for method "hist", ranks for method "dense".

A column's values are sorted once, as integers that order like the floats do. For "dense" each
distinct value is a code. For "hist" so is it where there are no more distinct values than codes;
otherwise the values are dealt out to bins greedily: with W the weight and B the bins still to be
filled, a bin ends at the value that brings its weight closest to W / B; once no more distinct values
are left than bins, each has its own.

Words: an *edge* belongs to the bin below it: the middle between the bin's largest value and the next
bin's smallest. The edge of the last bin is infinite. Missing values (NaN) have the code after the
last. Columns of categories hold their codes already.

Columns are coded in parallel, each by one thread with a `Workspace` of its own.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dforest.core.types cimport CATEGORICAL, CONTINUOUS, code_t

from dforest.core.data import CodedColumn

cdef extern from "numerics.h" nogil:
    double df_middle(double lo, double hi, int is_float32)
    bint df_product_above(int64_t a, int64_t b, int64_t c, int64_t d)

ctypedef fused real_t:
    float
    double

cdef enum:
    DIGIT_BITS = 11
    DIGIT = 2048


cdef inline uint64_t key_of(double x, bint is_float32) noexcept nogil:
    """An integer that orders like x, of 32 bits for a float32; -0 becomes 0."""
    cdef float f
    cdef uint32_t b32
    cdef uint64_t b64
    x = x + 0.0
    if is_float32:
        f = <float> x
        memcpy(&b32, &f, 4)
        return b32 ^ (<uint32_t> 0xFFFFFFFF if b32 >> 31 else <uint32_t> 0x80000000)
    memcpy(&b64, &x, 8)
    return b64 ^ (<uint64_t> 0xFFFFFFFFFFFFFFFF if b64 >> 63 else <uint64_t> 1 << 63)


cdef inline double value_of(uint64_t key, bint is_float32) noexcept nogil:
    cdef float f
    cdef double x
    cdef uint32_t b32
    if is_float32:
        b32 = <uint32_t> key
        b32 ^= <uint32_t> 0x80000000 if b32 >> 31 else <uint32_t> 0xFFFFFFFF
        memcpy(&f, &b32, 4)
        return f
    key ^= <uint64_t> 1 << 63 if key >> 63 else <uint64_t> 0xFFFFFFFFFFFFFFFF
    memcpy(&x, &key, 8)
    return x


cdef struct Sorter:
    uint64_t* keys       # [n]
    uint32_t* rows       # [n]
    uint64_t* keys_to    # [n]
    uint32_t* rows_to    # [n]


cdef int sort_pairs(Sorter* s, Py_ssize_t n, int bits) except -1 nogil:
    """Sort keys of so many bits with their rows, stably; the result is in keys and rows."""
    cdef uint32_t counts[6][DIGIT]
    cdef uint32_t total, held, digit
    cdef int n_passes = (bits + DIGIT_BITS - 1) // DIGIT_BITS, p, shift
    cdef Py_ssize_t i
    cdef uint32_t place
    cdef uint64_t key
    memset(counts, 0, n_passes * sizeof(counts[0]))
    for i in range(n):
        key = s.keys[i]
        for p in range(n_passes):
            counts[p][(key >> (p * DIGIT_BITS)) & (DIGIT - 1)] += 1
    for p in range(n_passes):
        shift = p * DIGIT_BITS
        if counts[p][(s.keys[0] >> shift) & (DIGIT - 1)] == <uint32_t> n:
            continue       # all alike
        total = 0
        for digit in range(DIGIT):
            held = counts[p][digit]
            counts[p][digit] = total
            total += held
        for i in range(n):
            digit = (s.keys[i] >> shift) & (DIGIT - 1)
            place = counts[p][digit]
            counts[p][digit] = place + 1
            s.keys_to[place] = s.keys[i]
            s.rows_to[place] = s.rows[i]
        s.keys, s.keys_to = s.keys_to, s.keys
        s.rows, s.rows_to = s.rows_to, s.rows
    return 0


cdef class Workspace:
    """One thread's scratch: a sorted column, and where each code ends in it."""
    cdef Py_ssize_t n
    cdef Sorter sorter
    cdef uint32_t* ends            # [n] by code: one past its last row in sorted order
    cdef Py_ssize_t n_present      # rows whose value is not missing
    cdef uint32_t n_codes

    def __cinit__(self, Py_ssize_t n):
        self.n = n
        self.sorter.keys = <uint64_t*> malloc(n * sizeof(uint64_t))
        self.sorter.keys_to = <uint64_t*> malloc(n * sizeof(uint64_t))
        self.sorter.rows = <uint32_t*> malloc(n * sizeof(uint32_t))
        self.sorter.rows_to = <uint32_t*> malloc(n * sizeof(uint32_t))
        self.ends = <uint32_t*> malloc(n * sizeof(uint32_t))
        if (self.sorter.keys == NULL or self.sorter.keys_to == NULL or self.sorter.rows == NULL
                or self.sorter.rows_to == NULL or self.ends == NULL):
            raise MemoryError()

    def __dealloc__(self):
        free(self.sorter.keys)
        free(self.sorter.keys_to)
        free(self.sorter.rows)
        free(self.sorter.rows_to)
        free(self.ends)


cdef void sort_column(Workspace space, const real_t* x) noexcept nogil:
    """Sort the rows by value; those with a missing one come last, in row order."""
    cdef Py_ssize_t i, n_present = 0, n_missing = 0
    cdef bint is_float32 = real_t is float
    for i in range(space.n):
        if x[i] == x[i]:
            space.sorter.keys[n_present] = key_of(x[i], is_float32)
            space.sorter.rows[n_present] = <uint32_t> i
            n_present += 1
        else:
            space.ends[n_missing] = <uint32_t> i
            n_missing += 1
    space.n_present = n_present
    if n_present > 0:
        sort_pairs(&space.sorter, n_present, 32 if is_float32 else 64)
    memcpy(space.sorter.rows + n_present, space.ends, n_missing * sizeof(uint32_t))


cdef void divide(Workspace space) noexcept nogil:
    """Give each distinct value a code of its own."""
    cdef Py_ssize_t i
    space.n_codes = 0
    for i in range(space.n_present):
        if i + 1 == space.n_present or space.sorter.keys[i + 1] != space.sorter.keys[i]:
            space.ends[space.n_codes] = <uint32_t> (i + 1)
            space.n_codes += 1


cdef void merge(Workspace space, int64_t bins, const uint32_t* weight) noexcept nogil:
    """Merge the codes that `divide` gave into so many bins, of equal weight where possible."""
    cdef int64_t rest = 0, filled = 0, w
    cdef uint32_t code, n_values = space.n_codes, n_bins = 0, begin = 0, end, i
    if weight == NULL:
        rest = space.n_present
    else:
        for i in range(space.n_present):
            rest += weight[space.sorter.rows[i]]
    for code in range(n_values):
        # ends[0, n_bins) are those of finished bins, ends[code, n_values) still those of values
        end = space.ends[code]
        w = end - begin
        if weight != NULL:
            w = 0
            for i in range(begin, end):
                w += weight[space.sorter.rows[i]]
        if filled > 0 and bins > 1 and df_product_above(2 * filled + w, bins, 2, rest):
            space.ends[n_bins] = begin
            n_bins += 1
            rest -= filled
            bins -= 1
            filled = 0
        filled += w
        begin = end
        if bins > 1 and (n_values - code - 1 < bins or not df_product_above(rest, 1, filled, bins)):
            space.ends[n_bins] = end
            n_bins += 1
            rest -= filled
            bins -= 1
            filled = 0
    if filled > 0:
        space.ends[n_bins] = begin
        n_bins += 1
    space.n_codes = n_bins


cdef void write_codes(Workspace space, code_t* codes) noexcept nogil:
    cdef Py_ssize_t i, begin = 0
    cdef uint32_t code
    for code in range(space.n_codes):
        for i in range(begin, space.ends[code]):
            codes[space.sorter.rows[i]] = <code_t> code
        begin = space.ends[code]
    for i in range(space.n_present, space.n):
        codes[space.sorter.rows[i]] = <code_t> space.n_codes


cdef void write_values(Workspace space, bint is_float32, double[:, ::1] out) noexcept nogil:
    """OUT out : [3, n_codes] upper edges, smallest and largest values"""
    cdef uint32_t code, begin = 0
    for code in range(space.n_codes):
        out[1, code] = value_of(space.sorter.keys[begin], is_float32)
        begin = space.ends[code]
        out[2, code] = value_of(space.sorter.keys[begin - 1], is_float32)
        if code + 1 < space.n_codes:
            out[0, code] = df_middle(out[2, code], value_of(space.sorter.keys[begin], is_float32), is_float32)
        else:
            out[0, code] = INFINITY


def code_column(Workspace space not None, const real_t[::1] x not None, int64_t max_codes, const uint32_t[::1] weight=None):
    """Code one column.

    Parameters
    ----------
    space : Workspace
        Of as many rows.
    x : ndarray of shape (n,), dtype float32 or float64
    max_codes : int
        Most codes, the one for missing values included; 0: a code for each distinct value.
    weight : ndarray of shape (n,), dtype uint32, optional

    Returns
    -------
    CodedColumn
    """
    cdef Py_ssize_t n = x.shape[0]
    cdef bint has_missing, is_float32 = real_t is float
    cdef uint8_t[::1] codes8
    cdef uint16_t[::1] codes16
    cdef uint32_t[::1] codes32
    cdef const uint32_t* w = &weight[0] if weight is not None else NULL
    if n != space.n:
        raise ValueError(f"a workspace for {space.n} rows got {n}")
    with nogil:
        sort_column(space, &x[0])
        has_missing = space.n_present < n
        divide(space)
        if max_codes and <int64_t> space.n_codes > max_codes - has_missing:
            merge(space, max_codes - has_missing, w)
    numbers = np.empty((3, space.n_codes), np.float64)
    write_values(space, is_float32, numbers)
    edges, lows, highs = numbers.astype(np.asarray(x).dtype)
    largest = space.n_codes - 1 + has_missing
    if largest <= 0xFF:
        codes = codes8 = np.empty(n, np.uint8)
        with nogil:
            write_codes(space, &codes8[0])
    elif largest <= 0xFFFF:
        codes = codes16 = np.empty(n, np.uint16)
        with nogil:
            write_codes(space, &codes16[0])
    else:
        codes = codes32 = np.empty(n, np.uint32)
        with nogil:
            write_codes(space, &codes32[0])
    return CodedColumn(np.asarray(codes), edges if max_codes else lows, lows, highs, bool(has_missing), 0)


def code_categories(x, Py_ssize_t n_categories):
    """Code a column of category numbers 0, 1, ..., n_categories - 1 and NaN."""
    codes = np.empty(len(x), np.uint8 if n_categories < 256 else np.uint16 if n_categories < 65536 else np.uint32)
    missing = np.isnan(x)
    has_missing = bool(missing.any())
    codes[...] = np.where(missing, n_categories, x) if has_missing else x
    numbers = np.arange(n_categories, dtype=x.dtype)
    return CodedColumn(codes, numbers, numbers, numbers, has_missing, CATEGORICAL)


def code_columns(X, max_codes=0, weight=None, n_threads=1, kinds=None, n_categories=None):
    """Code all columns of a matrix.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
        NaN means missing; infinities are ordinary values.
    max_codes : int
        Most codes of a column, the one for missing values included, from 2; 0: a code for each
        distinct value.
    weight : ndarray of shape (n_rows,), dtype uint32, optional
        Integer weights, 1 or more; bins get equal shares of them. None: all 1.
    n_threads : int
    kinds : sequence of int, optional
        0: continuous, 1: ordinal, 2: categorical; None: all continuous. Categories are not binned.
    n_categories : sequence of int, optional
        Of the categorical columns, which hold numbers below and NaN.

    Returns
    -------
    list of CodedColumn
    """
    n_rows, n_features = X.shape
    kinds = [CONTINUOUS] * n_features if kinds is None else [int(kind) for kind in kinds]
    columns = [None] * n_features
    # Scratch takes 28 bytes a row and thread; it is kept to about twice the size of X.
    n_threads = max(1, min(n_threads, n_features, X.nbytes // (14 * n_rows)))
    # A few columns at a time are copied out of row-major X, so that a cache line serves them all; as many blocks for each thread.
    width = 1 if X.flags.f_contiguous or n_rows > 1 << 20 else 16
    width = -(-n_features // (-(-n_features // (width * n_threads)) * n_threads))
    blocks = iter(range(0, n_features, width))

    def work(_):
        space = Workspace(n_rows)
        for first in blocks:       # shared: each thread takes the next block
            block = np.ascontiguousarray(X[:, first:first + width].T)
            for j, x in enumerate(block, first):
                if kinds[j] == CATEGORICAL:
                    columns[j] = code_categories(x, n_categories[j])
                else:
                    columns[j] = code_column(space, x, max_codes, weight)._replace(kind=kinds[j])

    if n_threads == 1:
        work(0)
        return columns
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            list(pool.map(work, range(n_threads)))
        except BaseException:
            for _ in blocks:       # leave nothing to the threads that still run
                pass
            raise
    return columns
