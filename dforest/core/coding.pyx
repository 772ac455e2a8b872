"""All columns of a matrix as codes: which column is coded in which way, and by which threads.

Columns of numbers get bins, or ranks of their distinct values (`dforest.core.binning`), or, where no list of distinct values is
needed, keys (rules/keys.h). Columns of categories hold their codes already. Of sparse X, columns that are mostly zero become
sparse columns.

The rows whose codes a sparse column lacks have its *implied* code, which is that of zero. Codes, and the values that they stand
for, are those that `dforest.core.binning` finds for the column with its zeros: zero is one value, which weighs as much as all
rows that have it.

    values of rows 0 to 5     0  -1   0   0   2   2
    codes                     1   0   1   1   2   2
    stored rows and codes     1: 0   4: 2   5: 2         and 1 is implied

Sparse columns are coded in batches (`SparseBatch`), each by one thread. Each thread has scratch of its own, which is freed when
all columns are coded; the columns own their codes.
"""
from libc.float cimport FLT_MAX
from libc.math cimport INFINITY, isinf
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

import numpy as np

from dforest.core.key_sort cimport Pair, key_in, make_item, number_in, pair_t, sort_items
from dforest.core.types cimport CATEGORICAL, CONTINUOUS, code_t
from dforest.rules.bins cimport df_bin_ends_before, df_bin_ends_with
from dforest.rules.numerics cimport df_middle

from dforest.core.binning import Workspace, code_column, code_stored, code_together
from dforest.core.coded_columns import CodedColumn, CodedColumns, SparseBatch
from dforest.core.scratch import scratch
from dforest.core.sparse_rows import SparseRows
from dforest.core.threads import each

cdef extern from "rules/keys.h" nogil:
    uint32_t df_key32(float x)
    uint64_t df_key64(double x)
    double df_value_of(uint64_t key, int is_wide)
    const uint32_t DF_MISSING_KEY32
    const uint64_t DF_MISSING_KEY64

ctypedef fused real_t:
    float
    double

BATCH = 1 << 16            # stored values of a batch, about


cdef class Coder:
    """Codes columns, one after another: the scratch of one thread.

    Parameters
    ----------
    n_stored : int
        Most values that are stored of a column.
    n_rows : int
    max_codes : int
        Most codes of a column, from 2; 0: a code for each distinct value.
    counts_missing : bool
        Whether the code for missing values is one of max_codes.
    weight : ndarray of shape (n_rows,), dtype uint32, or None
        Integer weights; None: all 1.
    """
    cdef Py_ssize_t n_rows
    cdef int64_t max_codes
    cdef bint counts_missing
    cdef const uint32_t[::1] weight
    cdef int64_t all_weights
    cdef uint8_t[:, ::1] items     # two buffers
    cdef uint64_t[::1] keys        # [n_stored + 1] of distinct values, ascending
    cdef int64_t[::1] weights      # [n_stored + 1] of all rows with this value
    cdef uint32_t[::1] code_of     # [n_stored + 1] their codes
    cdef uint32_t[::1] codes       # [n_stored] of the stored values
    # Of the column at hand
    cdef uint32_t n_codes
    cdef uint32_t implied
    cdef bint has_missing

    def __cinit__(self, Py_ssize_t n_stored, Py_ssize_t n_rows, int64_t max_codes, bint counts_missing,
                  const uint32_t[::1] weight, all_weights):
        self.n_rows = n_rows
        self.max_codes = max_codes
        self.counts_missing = counts_missing
        self.weight = weight
        self.all_weights = all_weights
        self.items = np.empty((2, (n_stored + 1) * sizeof(Pair)), np.uint8)
        self.keys = np.empty(n_stored + 1, np.uint64)
        self.weights = np.empty(n_stored + 1, np.int64)
        self.code_of = np.empty(n_stored + 1, np.uint32)
        self.codes = np.empty(n_stored + 1, np.uint32)

    cdef int64_t weight_of(self, uint32_t row) noexcept nogil:
        return 1 if self.weight is None else self.weight[row]

    cdef void divide(self, const real_t* x, const uint32_t* rows, Py_ssize_t n, pair_t* items, double* out,
                     Py_ssize_t stride) noexcept nogil:
        """Find the codes of n stored values. OUT out : [1 or 3] runs, `stride` apart, of what `write_values` writes"""
        cdef uint64_t zero = df_key32(0) if real_t is float else df_key64(0), key
        cdef uint32_t n_values = 0, value = 0, number
        cdef Py_ssize_t i, n_sorted = 0
        cdef int64_t rest = self.all_weights
        cdef bint is_zero_due = True
        self.has_missing = False
        for i in range(n):
            if x[i] != x[i]:
                self.has_missing = True
                rest -= self.weight_of(rows[i])
            elif x[i] != 0:
                items[n_sorted] = make_item(items, df_key32(x[i]) if real_t is float else df_key64(x[i]), i)
                n_sorted += 1
        items = sort_items(items, <pair_t*> &self.items[1, 0], n_sorted)
        for i in range(n_sorted + 1):
            key = key_in(items[i]) if i < n_sorted else 0
            if is_zero_due and (i == n_sorted or key > zero):
                is_zero_due = False
                self.implied = n_values            # its number, for now
                self.keys[n_values] = zero
                n_values += 1
            if i == n_sorted:
                break
            if n_values == 0 or self.keys[n_values - 1] != key:
                self.keys[n_values] = key
                self.weights[n_values] = 0
                n_values += 1
            self.weights[n_values - 1] += self.weight_of(rows[number_in(items[i])])
        self.weights[self.implied] = rest
        for value in range(n_values):
            if value != self.implied:
                self.weights[self.implied] -= self.weights[value]
        self.deal_out(n_values, rest)
        self.write_values(n_values, real_t is double, out, stride)
        self.implied = self.code_of[self.implied]
        for i in range(n):
            self.codes[i] = self.n_codes if x[i] != x[i] else self.implied
        value = 0
        for i in range(n_sorted):
            while self.keys[value] != key_in(items[i]):
                value += 1
            number = number_in(items[i])
            self.codes[number] = self.code_of[value]

    cdef void deal_out(self, uint32_t n_values, int64_t rest) noexcept nogil:
        """Give values codes: each its own or, where they are too many, bins of equal weight where possible."""
        cdef int64_t bins = self.max_codes - (self.has_missing and self.counts_missing), filled = 0
        cdef uint32_t value
        self.n_codes = 0
        if self.max_codes == 0 or <int64_t> n_values <= bins:
            for value in range(n_values):
                self.code_of[value] = value
            self.n_codes = n_values
            return
        for value in range(n_values):
            if df_bin_ends_before(filled, self.weights[value], bins, rest):
                self.n_codes += 1
                rest -= filled
                bins -= 1
                filled = 0
            self.code_of[value] = self.n_codes
            filled += self.weights[value]
            if df_bin_ends_with(filled, n_values - value - 1, bins, rest):
                self.n_codes += 1
                rest -= filled
                bins -= 1
                filled = 0
        self.n_codes += filled > 0

    cdef void write_values(self, uint32_t n_values, bint is_wide, double* out, Py_ssize_t stride) noexcept nogil:
        """Where codes are bins, runs of their upper edges, and their smallest and largest values; else one of the values."""
        cdef uint32_t value, code
        cdef double number
        cdef double* lows = out + stride
        cdef double* highs = lows + stride
        for value in range(n_values):
            number = df_value_of(self.keys[value], is_wide)
            code = self.code_of[value]
            if self.max_codes == 0:
                out[code] = number
                continue
            if value == 0 or self.code_of[value - 1] != code:
                lows[code] = number
                if code > 0:
                    out[code - 1] = df_middle(highs[code - 1], number, not is_wide)
            highs[code] = number
        if self.max_codes > 0:
            out[self.n_codes - 1] = INFINITY

    cdef Py_ssize_t keep(self, const uint32_t* rows, Py_ssize_t n, uint32_t* to, code_t* codes) noexcept nogil:
        """Write rows and codes where these are not the implied one; return how many."""
        cdef Py_ssize_t i, kept = 0
        for i in range(n):
            if self.codes[i] != self.implied:
                to[kept] = rows[i]
                codes[kept] = <code_t> self.codes[i]
                kept += 1
        return kept

    def code_batch(self, const real_t[::1] x not None, uint32_t[::1] rows not None, const int64_t[::1] begin not None,
                   const int64_t[::1] end not None, double[:, ::1] values not None, codes not None,
                   int64_t[:, ::1] facts not None):
        """Code some columns.

        Parameters
        ----------
        x : ndarray of shape (n_stored,), dtype float32 or float64
            The values stored of all columns.
        rows : ndarray of shape (n_stored,), dtype uint32
            Of these values; in each column ascending. Out: from the beginning of the first column on that stores a value, the
            rows that have another code than the implied one, column after column.
        begin, end : ndarray of shape (n_columns,), dtype int64
            Where each column's begin and end.
        values : ndarray of shape (1 or 3, n), dtype float64
            Out: what codes stand for, column after column, as `SparseBatch` has it: values; or edges, lows and highs.
        codes : ndarray of shape (n,), dtype uint8, uint16 or uint32
            Out: their codes.
        facts : ndarray of shape (n_columns, 4), dtype int64
            Out: of each column how many codes there are, which is the implied one, whether values are missing, and how many
            rows are stored.
        """
        cdef uint8_t[::1] to = codes.view(np.uint8)
        cdef Py_ssize_t c, n, width = codes.itemsize, n_kept = 0, n_values = 0, here
        cdef uint32_t* kept = NULL             # never ahead of the rows that are still to be read
        cdef const real_t* own
        cdef const uint32_t* own_rows
        with nogil:
            for c in range(begin.shape[0]):
                n = end[c] - begin[c]
                own = &x[begin[c]] if n > 0 else NULL
                own_rows = &rows[begin[c]] if n > 0 else NULL
                if n > 0 and kept == NULL:
                    kept = &rows[begin[c]]
                if real_t is float:
                    self.divide(own, own_rows, n, <uint64_t*> &self.items[0, 0], &values[0, n_values], values.shape[1])
                else:
                    self.divide(own, own_rows, n, <Pair*> &self.items[0, 0], &values[0, n_values], values.shape[1])
                n_values += self.n_codes
                if n == 0:
                    here = 0
                elif width == 1:
                    here = self.keep(own_rows, n, kept + n_kept, &to[n_kept])
                elif width == 2:
                    here = self.keep(own_rows, n, kept + n_kept, <uint16_t*> &to[2 * n_kept])
                else:
                    here = self.keep(own_rows, n, kept + n_kept, <uint32_t*> &to[4 * n_kept])
                n_kept += here
                facts[c, 0] = self.n_codes
                facts[c, 1] = self.implied
                facts[c, 2] = self.has_missing
                facts[c, 3] = here


def code_sparse(stored, numbers, kinds, n_rows, max_codes, weight, counts_missing, n_threads):
    """Code some columns of numbers as sparse ones.

    Parameters
    ----------
    stored : SparseColumns
        Its rows become those of the batches: nobody else may need them any more.
    numbers : ndarray of int
        Which columns, of which some row is not stored; ascending.
    kinds : ndarray of int
        Of these columns: see `CodedColumn`.
    n_rows : int
    max_codes, weight, counts_missing, n_threads
        As of `code_columns`.

    Returns
    -------
    list of SparseBatch
    """
    if len(numbers) == 0:
        return []
    begin, end = np.asarray(stored.starts[:-1], np.int64)[numbers], np.asarray(stored.starts[1:], np.int64)[numbers]
    n_stored = end - begin
    most = n_stored + 1 if max_codes == 0 else np.minimum(n_stored + 1, max_codes)     # codes of values
    largest = int(most.max())                                                          # that of missing values, ...
    if max_codes and counts_missing:
        largest = min(largest, max_codes - 1)                                          # ... which counts
    dtype = np.uint8 if largest <= 0xFF else np.uint16 if largest <= 0xFFFF else np.uint32
    all_weights = n_rows if weight is None else int(weight.sum(dtype=np.int64))
    before = np.cumsum(n_stored + 1)
    edges = np.searchsorted(before, np.arange(BATCH, before[-1], BATCH)).tolist()
    edges = sorted({0, *edges, len(numbers)})
    batches = list(zip(edges[:-1], edges[1:], strict=True))
    coders = [Coder(int(n_stored.max()), n_rows, max_codes, counts_missing, weight, all_weights) for _ in range(n_threads)]
    coded = [None] * len(batches)

    def work(b, number):
        own = slice(*batches[b])
        n = int(n_stored[own].sum())
        values = np.empty((3 if max_codes else 1, int(most[own].sum())))
        codes = np.empty(n, dtype)             # more than are kept, if zeros are stored
        facts = np.empty((own.stop - own.start, 4), np.int64)
        coders[number].code_batch(stored.values, stored.rows, begin[own], end[own], values, codes, facts)
        first = own.start + int((n_stored[own] > 0).argmax())   # the column from whose beginning on rows are kept
        rows = stored.rows[begin[first] :][: facts[:, 3].sum()]
        values = values[:, : facts[:, 0].sum()].astype(stored.values.dtype)
        edges, lows, highs = values if max_codes else 3 * [values[0]]
        if max_codes and (lows == highs).all():
            highs = lows = lows.copy()
            edges = edges.copy()
        coded[b] = SparseBatch(numbers[own], kinds[own], facts, edges, lows, highs, rows, codes)

    each(len(batches), work, n_threads)
    return coded


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
                 max_stored=0.0):
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
    max_stored : float
        Of SparseRows: columns of numbers of which at most this share of the rows is stored, less than 1, become sparse columns,
        unless they are coded by keys.

    Returns
    -------
    sequence of CodedColumn
    """
    n_rows, n_features = X.shape
    if isinstance(X, SparseRows):
        return code_columns_of_sparse(X, max_codes, weight, n_threads, kinds, n_categories, takes_keys, counts_missing,
                                      max_stored)
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


def code_columns_of_sparse(X, max_codes, weight, n_threads, kinds, n_categories, takes_keys, counts_missing, max_stored):
    """`code_columns` for SparseRows: one column at a time or, of sparse ones, many."""
    n_rows, n_features = X.shape
    kinds = np.full(n_features, <int> CONTINUOUS) if kinds is None else np.array(kinds, np.int64)
    stored = X.by_column()
    to_sort = kinds != <int> CATEGORICAL
    if takes_keys:
        to_sort &= kinds != <int> CONTINUOUS
    is_sparse = to_sort & (np.diff(stored.starts) <= max_stored * n_rows) & (max_stored > 0)
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
