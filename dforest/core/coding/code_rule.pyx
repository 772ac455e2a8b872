"""How the values of a column become codes, each by itself, without sorting.

A bin or a distinct value is found by its key among those of the codes' highest values, a category is its number, and a key is
made from the value alone. The columns of categories and of keys are described here too.
"""
from libc.float cimport FLT_MAX
from libc.math cimport isinf
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.core.coding.key_sort cimport (
    DF_MISSING_KEY32,
    DF_MISSING_KEY64,
    df_ordered_key32,
    df_ordered_key64,
    df_value_of,
    fill_edges,
    real_t,
)
from dforest.core.types cimport CATEGORICAL, column_t

from dforest.core.coding.coded_columns import CodedColumn

MISSING_KEY = {4: DF_MISSING_KEY32, 8: DF_MISSING_KEY64}   # by the bytes of a key

ctypedef fused key_t:
    uint32_t
    uint64_t

cdef enum:
    ROWS_AT_A_TIME = 1024      # of a matrix: the cache holds them for all columns that are coded together,
    CACHE = 1 << 20            # if it holds so many bytes of the columns' rules
    MIN_BUCKETS = 1 << 11      # of keys, for a column with enough rows
    MAX_BUCKETS = 1 << 18

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
        while top >> shift >= n_buckets and shift < 8 * highs.dtype.itemsize - 1:  # no shift by all bits is defined in C
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
                (<column_t*> to)[0] = <column_t> n_below(&own, <const uint32_t*> own.highs, df_ordered_key32(value))
            else:
                (<column_t*> to)[0] = <column_t> n_below(&own, <const uint64_t*> own.highs, df_ordered_key64(value))
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
            (<column_t*> to)[0] = <column_t> df_ordered_key64(value)
        else:
            (<column_t*> to)[0] = <column_t> df_ordered_key32(<float> value)
        to += stride


def write_codes(const real_t[:, :] x not None, Py_ssize_t offset, const int64_t[::1] columns not None, list rules not None,
                list codes not None):
    """Write the codes of some columns of a matrix.

    Parameters
    ----------
    x : ndarray of shape (n, n_features), dtype float32 or float64
    offset : int
        Where the codes of its first row are.
    columns : ndarray of shape (n_columns,), dtype int64
        Which columns.
    rules : list of CodeRule
        One for each of them.
    codes : list of ndarray of shape (n_rows,)
        Of unsigned integers; the codes of each column, of any stride. OUT
    """
    cdef Py_ssize_t j, i, end, n_columns = columns.shape[0], step = ROWS_AT_A_TIME
    cdef CodeRule rule
    cdef size_t address, n_bytes = 0
    cdef char* to
    cdef const Rule** of = <const Rule**> malloc(max(1, n_columns) * sizeof(Rule*))
    cdef Py_ssize_t[:, ::1] places = np.empty((n_columns, 3), np.intp)      # address of the first code, stride, width
    if of == NULL:
        raise MemoryError()
    for j in range(n_columns):
        rule = rules[j]
        of[j] = &rule.rule
        n_bytes += rule.rule.n_bytes
        address = codes[j].ctypes.data
        places[j, 0], places[j, 1], places[j, 2] = address, codes[j].strides[0], codes[j].dtype.itemsize
    if n_bytes > CACHE:
        step = max(step, CACHE // max(1, n_columns * <Py_ssize_t> sizeof(real_t)))
    with nogil:
        i = 0
        while i < x.shape[0]:
            end = min(i + step, x.shape[0])
            for j in range(n_columns):
                to = <char*> <size_t> places[j, 0] + (offset + i) * places[j, 1]
                if places[j, 2] == 1:
                    write_column(x, i, end, columns[j], of[j], <uint8_t*> to, places[j, 1])
                elif places[j, 2] == 2:
                    write_column(x, i, end, columns[j], of[j], <uint16_t*> to, places[j, 1])
                elif places[j, 2] == 4:
                    write_column(x, i, end, columns[j], of[j], <uint32_t*> to, places[j, 1])
                else:
                    write_column(x, i, end, columns[j], of[j], <uint64_t*> to, places[j, 1])
            i = end
    free(of)


def values_of_keys(const key_t[::1] keys not None):
    """The value of each key: ndarray of float32 or float64."""
    cdef Py_ssize_t i
    cdef double[::1] values = np.empty(keys.shape[0])
    for i in range(keys.shape[0]):
        values[i] = df_value_of(keys[i], key_t is uint64_t)
    return np.asarray(values).astype(np.float32 if key_t is uint32_t else np.float64)


def edges_between(lows, highs):
    """The upper edges of bins, given the smallest and the largest value of each: ndarray like these, of float32 or float64."""
    cdef double[::1] low = lows.astype(np.float64), high = highs.astype(np.float64), edges = np.empty(len(lows))
    if len(lows):
        fill_edges(&low[0], &high[0], len(lows), lows.dtype == np.float32, &edges[0])
    return np.asarray(edges).astype(lows.dtype)


def facts_of(const real_t[:, :] x not None, const int64_t[::1] columns not None, uint8_t[:, ::1] facts not None):
    """Find what must be known of columns that need no sorting.

    Parameters
    ----------
    x : ndarray of shape (n, n_features), dtype float32 or float64
    columns : ndarray of shape (n_columns,), dtype int64
        Which ones.
    facts : ndarray of shape (n_columns, 2), dtype uint8
        Whether values are missing, and whether some are no float32 numbers: 1 is put where it is so, and 0 nowhere. INOUT
    """
    cdef Py_ssize_t c, i, begin = 0, end
    cdef real_t value
    cdef bint is_missing, is_wide
    with nogil:
        while begin < x.shape[0]:
            end = min(begin + ROWS_AT_A_TIME, x.shape[0])
            for c in range(columns.shape[0]):
                is_missing = is_wide = False
                for i in range(begin, end):
                    value = x[i, columns[c]]
                    is_missing |= value != value
                    if real_t is double:
                        is_wide |= value == value and not (
                            -FLT_MAX <= value <= FLT_MAX and <double> <float> value == value or isinf(value)
                        )
                if is_missing:
                    facts[c, 0] = 1
                if is_wide:
                    facts[c, 1] = 1
            begin = end


def unsorted_column(int kind, dtype, bint has_missing, bint is_wide, Py_ssize_t n_categories):
    """Describe a column of categories or of keys, which says its codes itself.

    Parameters
    ----------
    kind : int
        Of the column: 2 for categories; others have keys.
    dtype : dtype
        Of X.
    has_missing : bool
    is_wide : bool
        Of keys: whether they have 64 bits.
    n_categories : int
        Of a column of categories.

    Returns
    -------
    column : CodedColumn
        Without codes.
    rule : CodeRule
    largest : int
        The largest code.
    """
    if kind == CATEGORICAL:
        numbers = np.arange(n_categories, dtype=dtype)
        column = CodedColumn(None, numbers, numbers, numbers, bool(has_missing), kind)
        return column, CodeRule(n_categories), n_categories
    none, n_bytes = np.empty(0, dtype), 8 if is_wide else 4
    column = CodedColumn(None, none, none, none, bool(has_missing), kind, True)
    return column, CodeRule(MISSING_KEY[n_bytes], key_bits=8 * n_bytes), MISSING_KEY[n_bytes]
