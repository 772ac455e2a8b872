"""Codes of columns that store few values: only these are sorted, for many columns at a time.

The rows whose codes a sparse column lacks have its *implied* code, which is that of zero. Codes, and the values that they stand
for, are those that `dforest.core.coding.column_sort` finds for the column with its zeros: zero is one value, which weighs as much
as all rows that have it.

    values of rows 0 to 5     0  -1   0   0   2   2
    codes                     1   0   1   1   2   2
    stored rows and codes     1: 0   4: 2   5: 2         and 1 is implied

Columns are coded in batches (`SparseBatch`), each by one thread. Each thread has scratch of its own, which is freed when all
columns are coded; the batches own their codes.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memmove

import numpy as np

from dforest.core.coding.key_sort cimport (
    Pair,
    df_value_of,
    fill_edges,
    key_in,
    key_of,
    make_item,
    number_in,
    pair_t,
    real_t,
    sort_items,
)
from dforest.core.types cimport code_t
from dforest.rules.bins cimport df_add_to_bin, df_bin_filler, df_bin_filler_of, df_n_filled_bins

cdef enum:
    NO_CODE = 0xFFFFFFFF       # implied where all rows are stored

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
        cdef uint64_t zero = key_of(<real_t> 0), key
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
                items[n_sorted] = make_item(items, key_of(x[i]), i)
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
        if self.weights[self.implied] == 0:        # all rows are stored, and none is 0
            n_values -= 1
            memmove(&self.keys[self.implied], &self.keys[self.implied + 1], (n_values - self.implied) * sizeof(uint64_t))
            memmove(&self.weights[self.implied], &self.weights[self.implied + 1], (n_values - self.implied) * sizeof(int64_t))
            self.implied = NO_CODE
        self.fill_bins(n_values, rest)
        self.write_values(n_values, real_t is double, out, stride)
        if self.implied != NO_CODE:
            self.implied = self.code_of[self.implied]
        for i in range(n):
            self.codes[i] = self.n_codes if x[i] != x[i] else self.implied
        value = 0
        for i in range(n_sorted):
            while self.keys[value] != key_in(items[i]):
                value += 1
            number = number_in(items[i])
            self.codes[number] = self.code_of[value]

    cdef void fill_bins(self, uint32_t n_values, int64_t rest) noexcept nogil:
        """Give values codes: each its own or, where they are too many, bins of equal weight where possible."""
        cdef int64_t bins = self.max_codes - (self.has_missing and self.counts_missing)
        cdef df_bin_filler filler = df_bin_filler_of(bins, rest)
        cdef uint32_t value
        if self.max_codes == 0 or <int64_t> n_values <= bins:
            for value in range(n_values):
                self.code_of[value] = value
            self.n_codes = n_values
            return
        for value in range(n_values):
            self.code_of[value] = df_add_to_bin(&filler, self.weights[value], n_values - value - 1)
        self.n_codes = df_n_filled_bins(&filler)

    cdef void write_values(self, uint32_t n_values, bint is_wide, double* out, Py_ssize_t stride) noexcept nogil:
        """Where codes are bins, runs of their upper edges, and their smallest and largest values; else one of the values."""
        cdef uint32_t value, code
        cdef Py_ssize_t last = 2 * stride if self.max_codes > 0 else 0
        for value in range(n_values):
            code = self.code_of[value]
            out[last + code] = df_value_of(self.keys[value], is_wide)
            if last and (value == 0 or self.code_of[value - 1] != code):
                out[stride + code] = out[last + code]
        if last:
            fill_edges(out + stride, out + last, self.n_codes, not is_wide, out)

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
