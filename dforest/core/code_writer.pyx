"""Codes of rows that lie in several matrices, once it is known which values have which code.

Words: a *rule* of a column says how a value becomes a code: a bin or a distinct value is found by its key (keys.h) among those of
the bins' highest values, a category is its number, a key is made from the value alone.
"""
from libc.math cimport INFINITY
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.core.types cimport column_t
from dforest.rules.numerics cimport df_middle

cdef extern from "rules/keys.h" nogil:
    const uint32_t DF_MISSING_KEY32
    const uint64_t DF_MISSING_KEY64
    uint32_t df_key32(float x)
    uint64_t df_key64(double x)
    double df_value_of(uint64_t key, int is_wide)
    uint64_t df_last_key(double x, int is_wide)


ctypedef fused real_t:
    float
    double

ctypedef fused key_t:
    uint32_t
    uint64_t

cdef enum:
    ROWS_AT_A_TIME = 1024      # of a matrix: the cache holds them for all columns

cdef enum Rule:
    SEARCHED = 0
    CATEGORY = 1
    KEY32 = 2
    KEY64 = 3

RULES = {"searched": SEARCHED, "category": CATEGORY, "key32": KEY32, "key64": KEY64}

cdef struct Column:
    Rule rule
    int width                  # bytes of a code
    const void* highs          # [n_codes - 1] keys of the highest values of all codes but the last
    Py_ssize_t n_highs
    uint64_t missing           # the code of missing values
    char* codes                # of row 0
    Py_ssize_t stride          # bytes from one row's code to the next


cdef inline Py_ssize_t n_below(const key_t* keys, Py_ssize_t n, key_t key) noexcept nogil:
    """How many of n ascending keys are below one; without branches, as nobody can foretell where it falls."""
    cdef const key_t* start = keys
    cdef Py_ssize_t half
    if n == 0:
        return 0
    while n > 1:
        half = n >> 1
        start += half * (start[half - 1] < key)
        n -= half
    return (start - keys) + (start[0] < key)


cdef void write_as(const real_t[:, :] x, Py_ssize_t first, Py_ssize_t end, Py_ssize_t j, const Column* column, char* to,
                   column_t* _) noexcept nogil:
    cdef Py_ssize_t i
    cdef real_t value
    cdef column_t missing = <column_t> column.missing, code
    for i in range(first, end):
        value = x[i, j]
        if value != value:
            code = missing
        elif column.rule == SEARCHED:
            if real_t is float:
                code = <column_t> n_below(<const uint32_t*> column.highs, column.n_highs, df_key32(value))
            else:
                code = <column_t> n_below(<const uint64_t*> column.highs, column.n_highs, df_key64(value))
        elif column.rule == CATEGORY:
            code = <column_t> value
        elif column.rule == KEY32:
            code = <column_t> df_key32(<float> value)
        else:
            code = <column_t> df_key64(value)
        (<column_t*> to)[0] = code
        to += column.stride


cdef void write_block(const real_t[:, :] x, Py_ssize_t first, Py_ssize_t end, Py_ssize_t offset,
                      const Column* columns) noexcept nogil:
    cdef Py_ssize_t j
    cdef const Column* column
    cdef char* to
    for j in range(x.shape[1]):
        column = &columns[j]
        to = column.codes + (offset + first) * column.stride
        if column.width == 1:
            write_as(x, first, end, j, column, to, <uint8_t*> NULL)
        elif column.width == 2:
            write_as(x, first, end, j, column, to, <uint16_t*> NULL)
        elif column.width == 4:
            write_as(x, first, end, j, column, to, <uint32_t*> NULL)
        else:
            write_as(x, first, end, j, column, to, <uint64_t*> NULL)


def write_codes(const real_t[:, :] x not None, Py_ssize_t offset, list rules not None, list codes not None):
    """Write the codes of a matrix.

    Parameters
    ----------
    x : ndarray of shape (n, n_features), dtype float32 or float64
    offset : int
        Where the codes of its first row are.
    rules : list of (str, ndarray or None, int)
        Of each column: a name in `RULES`; if it is "searched", the keys of the highest values of all codes but the last, dtype
        uint32 or uint64 as for x; the code of missing values.
    codes : list of ndarray of shape (n_rows,)
        Of unsigned integers; the codes of each column, of any stride. OUT
    """
    cdef Py_ssize_t j, i
    cdef size_t address
    cdef Column* columns = <Column*> malloc(max(1, len(rules)) * sizeof(Column))
    if columns == NULL:
        raise MemoryError()
    try:
        for j, (rule, highs, missing) in enumerate(rules):
            columns[j].rule = <Rule> <int> RULES[rule]
            columns[j].width = codes[j].dtype.itemsize
            columns[j].stride = codes[j].strides[0]
            columns[j].missing = missing
            columns[j].highs = NULL
            columns[j].n_highs = 0
            if highs is not None:
                address = highs.ctypes.data
                columns[j].highs = <const void*> address
                columns[j].n_highs = len(highs)
            address = codes[j].ctypes.data
            columns[j].codes = <char*> address
        with nogil:
            i = 0
            while i < x.shape[0]:
                write_block(x, i, min(i + ROWS_AT_A_TIME, x.shape[0]), offset, columns)
                i += ROWS_AT_A_TIME
    finally:
        free(columns)


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


def last_keys(const double[::1] values not None, bint is_wide):
    """The keys, of 64 or 32 bits, such that the values up to each number have the keys up to it: ndarray of uint64.

    Numbers may not be NaN.
    """
    cdef Py_ssize_t i
    cdef uint64_t[::1] keys = np.empty(values.shape[0], np.uint64)
    for i in range(values.shape[0]):
        keys[i] = df_last_key(values[i], is_wide)
    return np.asarray(keys)
