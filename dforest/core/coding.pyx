"""All columns of a matrix as codes: which column is coded in which way, and by which threads.

Columns of numbers get bins, or ranks of their distinct values (`dforest.core.binning`), or, where no order among them is needed,
*keys*: the bits of the floats, turned so that they order as the floats do (rules/keys.h). Columns of categories hold their codes
already. Of sparse X, columns that are mostly zero have codes of what is stored alone (`dforest.core.sparse_codes`).

Each thread has scratch of its own, which is freed when all columns are coded; the columns own their codes.
"""
from libc.float cimport FLT_MAX
from libc.math cimport isinf
from libc.stdint cimport uint32_t, uint64_t

import numpy as np

from dforest.core.types cimport CATEGORICAL, CONTINUOUS

from dforest.core.binning import Workspace, code_column, code_stored, code_together
from dforest.core.coded_columns import CodedColumn, CodedColumns
from dforest.core.scratch import scratch
from dforest.core.sparse_codes import code_sparse
from dforest.core.sparse_rows import SparseRows
from dforest.core.threads import each

cdef extern from "rules/keys.h" nogil:
    const uint32_t DF_MISSING_KEY32
    const uint64_t DF_MISSING_KEY64
    uint32_t df_key32(float x)
    uint64_t df_key64(double x)


ctypedef fused real_t:
    float
    double

ROWS_IN_CHUNK = 1 << 14    # least
BLOCK_BYTES = 1 << 25      # most that columns copied out of X take, for one thread


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


def code_columns(X, max_codes=0, weight=None, n_threads=1, kinds=None, n_categories=None, takes_keys=False, counts_missing=True,
                 most_stored=0.0):
    """Code all columns of a matrix.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64, or SparseRows
        NaN means missing; infinities are ordinary values.
    max_codes : int
        Most codes of a column, from 2; 0: a code for each distinct value.
    weight : ndarray of shape (n_rows,), dtype uint32, optional
        Integer weights, 1 or more; bins get equal shares of them. None: all 1.
    n_threads : int
    kinds : sequence of int, optional
        0: continuous, 1: ordinal, 2: categorical; None: all continuous. Categories are not binned.
    n_categories : sequence of int, optional
        Of the categorical columns, which hold numbers below and NaN.
    takes_keys : bool
        Whether continuous columns are coded by keys, which takes no sorting; max_codes is 0.
    counts_missing : bool
        Whether the code for missing values is one of max_codes.
    most_stored : float
        Of SparseRows: columns of numbers of which at most this share of the rows is stored, less than 1, become sparse columns,
        unless they are coded by keys.

    Returns
    -------
    sequence of CodedColumn
    """
    n_rows, n_features = X.shape
    if isinstance(X, SparseRows):
        return code_columns_of_sparse(X, max_codes, weight, n_threads, kinds, n_categories, takes_keys, counts_missing,
                                      most_stored)
    kinds = [CONTINUOUS] * n_features if kinds is None else [int(kind) for kind in kinds]
    columns = [None] * n_features
    # A few columns at a time are copied out of row-major X, so that a cache line serves them all; as many blocks for each thread.
    width = 1
    if not X.flags.f_contiguous:
        width = max(1, min(8, n_features // (2 * n_threads), BLOCK_BYTES // X[:, 0].nbytes))
    width = -(-n_features // (-(-n_features // (width * n_threads)) * n_threads))
    n_blocks = -(-n_features // width)
    # Scratch takes `width` + 4 times a column for each thread; it is kept to about twice the size of X.
    n_alone = max(1, min(n_threads, n_blocks, 2 * n_features // (width + 4)))
    to_sort = [j for j in range(n_features) if kinds[j] != CATEGORICAL and not (takes_keys and kinds[j] == CONTINUOUS)]
    if n_threads >= 2 * n_alone and n_rows >= 2 * ROWS_IN_CHUNK:
        n_together = min(len(to_sort), n_alone)
        n_chunks = min(-(-2 * n_threads // n_alone), n_rows // ROWS_IN_CHUNK)
        coded = code_together(X, to_sort, max_codes, counts_missing, weight, n_threads, n_together, n_chunks)
        for j, column in zip(to_sort, coded):
            columns[j] = column._replace(kind=kinds[j])
    n_threads = n_alone
    spaces = [Workspace(n_rows, X.dtype == np.float32) for _ in range(n_threads)]
    copies = [scratch((width, n_rows), X.dtype) for _ in range(n_threads)]

    def work(b, number):
        space, first = spaces[number], b * width
        if all(columns[first : first + width]):
            return
        block = copies[number][: n_features - first]
        block[...] = X[:, first : first + width].T
        for j, x in enumerate(block, first):
            if columns[j] is not None:
                continue
            if kinds[j] == CATEGORICAL:
                columns[j] = code_categories(x, n_categories[j])
            elif takes_keys and kinds[j] == CONTINUOUS:
                columns[j] = code_by_keys(x)
            else:
                columns[j] = code_column(space, x, max_codes, weight, counts_missing)._replace(kind=kinds[j])

    each(n_blocks, work, n_threads)
    return columns


def code_columns_of_sparse(X, max_codes, weight, n_threads, kinds, n_categories, takes_keys, counts_missing, most_stored):
    """`code_columns` for SparseRows: one column at a time or, of sparse ones, many."""
    n_rows, n_features = X.shape
    kinds = np.full(n_features, <int> CONTINUOUS) if kinds is None else np.array(kinds, np.int64)
    stored = X.by_column()
    to_sort = kinds != <int> CATEGORICAL
    if takes_keys:
        to_sort &= kinds != <int> CONTINUOUS
    is_sparse = to_sort & (np.diff(stored.starts) <= most_stored * n_rows) & (most_stored > 0)
    sparse_ones, others = np.flatnonzero(is_sparse), np.flatnonzero(~is_sparse).tolist()
    n_alone = max(1, min(n_threads, len(others), 2 * n_features // 5))     # scratch takes five times a column for each thread
    spaces = [Workspace(n_rows, X.dtype == np.float32) for _ in range(n_alone if others else 0)]
    copies = [scratch((n_rows,), X.dtype) for _ in spaces]
    columns = dict.fromkeys(others)

    def work(i, number):
        j = others[i]
        kind = int(kinds[j])
        if to_sort[j]:
            columns[j] = code_stored(spaces[number], *stored.column(j), max_codes, weight, counts_missing)._replace(kind=kind)
            return
        stored.unpack(j, copies[number])
        columns[j] = code_categories(copies[number], n_categories[j]) if kind == CATEGORICAL else code_by_keys(copies[number])

    each(len(others), work, n_alone)
    if len(sparse_ones) == 0:
        return list(columns.values())
    spaces.clear()                             # memory that sparse columns need
    copies.clear()
    batches = code_sparse(stored, sparse_ones, kinds[sparse_ones], n_rows, max_codes, weight, counts_missing, n_threads)
    return CodedColumns(columns, batches)
