"""From values to codes: bin edges for method "hist", ranks for method "dense".

A column's values are sorted once, as integers that order like the floats do. For "dense" each
distinct value is a code. For "hist" so is it where there are no more distinct values than codes;
otherwise the values are dealt out to bins greedily, by the rule in rules/bins.h.

Words: an *edge* belongs to the bin below it: the middle between the bin's largest value and the next
bin's smallest. The edge of the last bin is infinite. Missing values (NaN) have the code after the
last. Columns of categories hold their codes already.

Columns are coded in parallel, each by one thread with a `Workspace` of its own.
"""
from libc.float cimport FLT_MAX
from libc.math cimport INFINITY, isinf
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

import numpy as np

from dforest.core.key_sort cimport Pair, key_in, make_item, number_in, pair_t, sort_items
from dforest.core.types cimport CATEGORICAL, CONTINUOUS, code_t
from dforest.rules.bins cimport df_bin_ends_before, df_bin_ends_with
from dforest.rules.numerics cimport df_middle

from dforest.core.data import CodedColumn
from dforest.core.scratch import scratch
from dforest.core.threads import each

cdef extern from "rules/keys.h" nogil:
    const uint32_t DF_MISSING_KEY32
    const uint64_t DF_MISSING_KEY64
    uint32_t df_key32(float x)
    uint64_t df_key64(double x)
    double df_value_of(uint64_t key, int is_wide)


ctypedef fused real_t:
    float
    double

BLOCK_BYTES = 1 << 25      # most that columns copied out of X take, for one thread

cdef inline uint64_t key_of(real_t x) noexcept nogil:
    if real_t is float:
        return df_key32(x)
    else:
        return df_key64(x)


cdef class Workspace:
    """One thread's scratch: a sorted column, and where each code ends in it.

    Parameters
    ----------
    n : int
        Rows.
    is_float32 : bool
        Of X; else float64.
    """
    cdef Py_ssize_t n
    cdef bint is_float32
    cdef object owned              # the memory
    cdef void* items[2]            # [n] each, of which one
    cdef void* sorted              # has the rows whose value is not missing, sorted by it,
    cdef uint32_t* ends            # [n] and the other, by code: one past its last row there
    cdef Py_ssize_t n_present
    cdef uint32_t n_codes

    def __cinit__(self, Py_ssize_t n, bint is_float32):
        cdef uint8_t[:, ::1] items = scratch((2, n * (sizeof(uint64_t) if is_float32 else sizeof(Pair))), np.uint8)
        self.n = n
        self.is_float32 = is_float32
        self.owned = items
        self.items[0] = &items[0, 0]
        self.items[1] = &items[1, 0]


cdef void divide(Workspace space, const real_t* x, pair_t* items) noexcept nogil:
    """Sort the rows by value, and give each distinct value a code of its own."""
    cdef Py_ssize_t i, n = 0
    for i in range(space.n):
        if x[i] == x[i]:
            items[n] = make_item(items, key_of(x[i]), i)
            n += 1
    items = sort_items(items, <pair_t*> space.items[1], n)
    space.n_present = n
    space.sorted = items
    space.ends = <uint32_t*> space.items[space.sorted == space.items[0]]
    space.n_codes = 0
    for i in range(n):
        if i + 1 == n or key_in(items[i + 1]) != key_in(items[i]):
            space.ends[space.n_codes] = <uint32_t> (i + 1)
            space.n_codes += 1


cdef void merge(Workspace space, pair_t* items, int64_t bins, const uint32_t* weight) noexcept nogil:
    """Merge the codes that `divide` gave into at most `bins` bins, of equal weight where possible."""
    cdef int64_t rest = 0, filled = 0, w
    cdef uint32_t code, n_values = space.n_codes, n_bins = 0, begin = 0, end, i
    if weight == NULL:
        rest = space.n_present
    else:
        for i in range(space.n_present):
            rest += weight[number_in(items[i])]
    for code in range(n_values):
        # ends[0, n_bins) are those of finished bins, ends[code, n_values) still those of values
        end = space.ends[code]
        w = end - begin
        if weight != NULL:
            w = 0
            for i in range(begin, end):
                w += weight[number_in(items[i])]
        if df_bin_ends_before(filled, w, bins, rest):
            space.ends[n_bins] = begin
            n_bins += 1
            rest -= filled
            bins -= 1
            filled = 0
        filled += w
        begin = end
        if df_bin_ends_with(filled, n_values - code - 1, bins, rest):
            space.ends[n_bins] = end
            n_bins += 1
            rest -= filled
            bins -= 1
            filled = 0
    if filled > 0:
        space.ends[n_bins] = begin
        n_bins += 1
    space.n_codes = n_bins


cdef void write_codes(Workspace space, pair_t* items, code_t* codes) noexcept nogil:
    cdef Py_ssize_t i, begin = 0
    cdef uint32_t code
    if space.n_present < space.n:
        for i in range(space.n):
            codes[i] = <code_t> space.n_codes
    for code in range(space.n_codes):
        for i in range(begin, space.ends[code]):
            codes[number_in(items[i])] = <code_t> code
        begin = space.ends[code]


cdef void write_values(Workspace space, pair_t* items, double[:, ::1] out) noexcept nogil:
    """OUT out : [3, n_codes] upper edges, smallest and largest values; or [1, n_codes] where all three are equal"""
    cdef uint32_t code, begin = 0
    cdef bint is_wide = pair_t is not uint64_t
    if out.shape[0] == 1:
        for code in range(space.n_codes):
            out[0, code] = df_value_of(key_in(items[space.ends[code] - 1]), is_wide)
        return
    for code in range(space.n_codes):
        out[1, code] = df_value_of(key_in(items[begin]), is_wide)
        begin = space.ends[code]
        out[2, code] = df_value_of(key_in(items[begin - 1]), is_wide)
        if code + 1 < space.n_codes:
            out[0, code] = df_middle(out[2, code], df_value_of(key_in(items[begin]), is_wide), not is_wide)
        else:
            out[0, code] = INFINITY


cdef code_by_items(Workspace space, pair_t* items, int64_t max_codes, const uint32_t* weight, dtype):
    """The `CodedColumn` of what `divide` has sorted."""
    cdef bint has_missing = space.n_present < space.n
    cdef uint8_t[::1] codes8
    cdef uint16_t[::1] codes16
    cdef uint32_t[::1] codes32
    cdef Py_ssize_t largest
    if max_codes and <int64_t> space.n_codes > max_codes - has_missing:
        with nogil:
            merge(space, items, max_codes - has_missing, weight)
    cdef double[:, ::1] numbers = np.empty((3 if max_codes else 1, space.n_codes), np.float64)
    write_values(space, items, numbers)
    values = np.asarray(numbers).astype(dtype)
    largest = <Py_ssize_t> space.n_codes - 1 + has_missing
    if largest <= 0xFF:
        codes = codes8 = np.empty(space.n, np.uint8)
        with nogil:
            write_codes(space, items, &codes8[0])
    elif largest <= 0xFFFF:
        codes = codes16 = np.empty(space.n, np.uint16)
        with nogil:
            write_codes(space, items, &codes16[0])
    else:
        codes = codes32 = np.empty(space.n, np.uint32)
        with nogil:
            write_codes(space, items, &codes32[0])
    edges, lows, highs = values if max_codes else 3 * [values[0]]
    return CodedColumn(np.asarray(codes), edges, lows, highs, bool(has_missing), 0)


def code_column(Workspace space not None, const real_t[::1] x not None, int64_t max_codes, const uint32_t[::1] weight=None):
    """Code one column.

    Parameters
    ----------
    space : Workspace
        Of as many rows, and X's type.
    x : ndarray of shape (n,), dtype float32 or float64
    max_codes : int
        Most codes, the one for missing values included; 0: a code for each distinct value.
    weight : ndarray of shape (n,), dtype uint32, optional

    Returns
    -------
    CodedColumn
    """
    cdef const uint32_t* w = &weight[0] if weight is not None else NULL
    cdef bint is_float32 = real_t is float
    if x.shape[0] != space.n or space.is_float32 != is_float32:
        raise ValueError(f"a workspace for {space.n} rows of {4 if space.is_float32 else 8} bytes got {x.shape[0]} rows")
    if real_t is float:
        with nogil:
            divide(space, &x[0], <uint64_t*> space.items[0])
        return code_by_items(space, <uint64_t*> space.sorted, max_codes, w, np.float32)
    else:
        with nogil:
            divide(space, &x[0], <Pair*> space.items[0])
        return code_by_items(space, <Pair*> space.sorted, max_codes, w, np.float64)


cdef bint fits_float32(const real_t* x, Py_ssize_t n) noexcept nogil:
    """Whether all values are float32 numbers, or missing."""
    cdef Py_ssize_t i
    if real_t is double:
        for i in range(n):
            if x[i] == x[i] and not (-FLT_MAX <= x[i] <= FLT_MAX and <double> <float> x[i] == x[i] or isinf(x[i])):
                return False
    return True


def code_by_keys(const real_t[::1] x not None):
    """Code one column by keys: of 32 bits where all values are float32 numbers.

    Parameters
    ----------
    x : ndarray of shape (n,), dtype float32 or float64

    Returns
    -------
    CodedColumn
    """
    cdef Py_ssize_t i, n = x.shape[0]
    cdef bint has_missing = False, fits
    cdef uint32_t[::1] keys32
    cdef uint64_t[::1] keys64
    none = np.empty(0, np.float32 if real_t is float else np.float64)
    with nogil:
        fits = fits_float32(&x[0], n)
    if fits:
        codes = keys32 = np.empty(n, np.uint32)
        with nogil:
            for i in range(n):
                has_missing |= x[i] != x[i]
                keys32[i] = df_key32(<float> x[i]) if x[i] == x[i] else DF_MISSING_KEY32
    else:
        codes = keys64 = np.empty(n, np.uint64)
        with nogil:
            for i in range(n):
                has_missing |= x[i] != x[i]
                keys64[i] = df_key64(x[i]) if x[i] == x[i] else DF_MISSING_KEY64
    return CodedColumn(codes, none, none, none, bool(has_missing), CONTINUOUS, True)


def code_categories(x, Py_ssize_t n_categories):
    """Code a column of category numbers 0, 1, ..., n_categories - 1 and NaN."""
    codes = np.empty(len(x), np.uint8 if n_categories < 256 else np.uint16 if n_categories < 65536 else np.uint32)
    missing = np.isnan(x)
    has_missing = bool(missing.any())
    codes[...] = np.where(missing, n_categories, x) if has_missing else x
    numbers = np.arange(n_categories, dtype=x.dtype)
    return CodedColumn(codes, numbers, numbers, numbers, has_missing, CATEGORICAL)


def code_columns(X, max_codes=0, weight=None, n_threads=1, kinds=None, n_categories=None, takes_keys=False):
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
    takes_keys : bool
        Whether continuous columns are coded by keys, which takes no sorting; max_codes is 0.

    Returns
    -------
    list of CodedColumn
    """
    n_rows, n_features = X.shape
    kinds = [CONTINUOUS] * n_features if kinds is None else [int(kind) for kind in kinds]
    columns = [None] * n_features
    # A few columns at a time are copied out of row-major X, so that a cache line serves them all; as many blocks for each thread.
    width = 1 if X.flags.f_contiguous else max(1, min(8, n_features // (2 * n_threads), BLOCK_BYTES // X[:, 0].nbytes))
    width = -(-n_features // (-(-n_features // (width * n_threads)) * n_threads))
    n_blocks = -(-n_features // width)
    # Scratch takes `width` + 4 times a column for each thread; it is kept to about twice the size of X.
    n_threads = max(1, min(n_threads, n_blocks, 2 * n_features // (width + 4)))
    spaces = [Workspace(n_rows, X.dtype == np.float32) for _ in range(n_threads)]
    copies = [scratch((width, n_rows), X.dtype) for _ in range(n_threads)]

    def work(b, number):
        space, first = spaces[number], b * width
        block = copies[number][: n_features - first]
        block[...] = X[:, first : first + width].T
        for j, x in enumerate(block, first):
            if kinds[j] == CATEGORICAL:
                columns[j] = code_categories(x, n_categories[j])
            elif takes_keys and kinds[j] == CONTINUOUS:
                columns[j] = code_by_keys(x)
            else:
                columns[j] = code_column(space, x, max_codes, weight)._replace(kind=kinds[j])

    each(n_blocks, work, n_threads)
    return columns
