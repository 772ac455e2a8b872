"""What a tree is grown on: coded columns, targets and weights of the training rows; and the codes of all columns, row by row.

A `DataView` borrows NumPy arrays and keeps them alive; it copies nothing but pointers. It is read
only and shared by all threads. It owns the buckets of codes that `add_buckets` gives it, the codes by row of `add_rows`,
and the lists of `add_present`.

Columns serve those who read many rows of one column. Whoever copies all columns of a few rows (`dforest.core.grow.subtree_cache`)
would wait for memory once for each code. In `RowCodes`, all codes of a row lie together, in a cache line or two:

    columns    a b c d     1 2 3 4     A B C D           rows    a 1 A . | b 2 B . | c 3 C . | d 4 D .

A row has of each column its bucket, where the column has buckets, and else its code: the widest codes first, so that all are
aligned; those of one byte last, in the order of their columns. Rows of up to 64 bytes are padded to a power of two, so that none
lies in two cache lines, and longer ones to whole lines where that takes little memory.

The row codes of a fit are made once, by several threads; afterwards all threads share them, and none writes to them, but for
boosted trees, whose last columns may change from iteration to iteration (`dforest.core.boost.projected_columns`).
"""
cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int8_t, uint16_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

import numpy as np

from dforest.core.threads cimport WorkerContext, parallel_for, poll
from dforest.core.types cimport CATEGORICAL, MAX_BUCKETS, Kind, bucket_of, code_t, column_t

from dforest.core.coding.coded_columns import CodedColumns
from dforest.core.scratch import scratch

cdef extern from "rules/ordered_keys.h" nogil:
    const uint32_t DF_MISSING_KEY32
    const uint64_t DF_MISSING_KEY64

cdef enum:
    CHUNK = 1 << 14            # rows that a thread takes at a time
    WRITTEN = 256              # rows that are written column by column
    WIDEST = 8                 # bytes of a code


cdef Py_ssize_t padded(Py_ssize_t n_bytes) noexcept nogil:
    """Bytes from row to row, for rows of n_bytes."""
    cdef Py_ssize_t stride = WIDEST
    if n_bytes <= DF_LINE:
        while stride < n_bytes:
            stride *= 2
        return stride
    stride = (n_bytes + DF_LINE - 1) // DF_LINE * DF_LINE
    if stride - n_bytes > n_bytes // 8:
        stride = (n_bytes + DF_TILE - 1) // DF_TILE * DF_TILE
    return stride


def row_bytes(widths):
    """Bytes from row to row of `RowCodes`, given the bytes that a row has of each column."""
    return padded(sum(widths))


cdef void spread(RowCodes rows, Py_ssize_t first, Py_ssize_t n, const column_t* codes, Py_ssize_t place) noexcept nogil:
    """Write the codes of a column into n rows from `first` on."""
    cdef Py_ssize_t i, stride = rows.stride
    cdef uint8_t* to = rows.codes + first * stride + place
    for i in range(first, first + n):
        (<column_t*> to)[0] = codes[i]
        to += stride


cdef int make_chunk(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
    """Write a chunk of rows."""
    cdef Py_ssize_t n_rows = (<RowCodes> context).n_rows, first = item * CHUNK, n = min(n_rows - first, <Py_ssize_t> CHUNK)
    (<RowCodes> context).make(first, n)
    return poll(worker, n * (<RowCodes> context).stride)


@cython.final
cdef class RowCodes:
    """The codes of a `DataView` by row. See `DataView.add_rows`."""

    @staticmethod
    cdef Py_ssize_t stride_of(const Column* columns, Py_ssize_t n_features) noexcept:
        """Bytes that a row of these columns takes."""
        cdef Py_ssize_t j, n_bytes = 0
        for j in range(n_features):
            n_bytes += held_width(&columns[j])
        return padded(n_bytes)

    @staticmethod
    cdef RowCodes of(const Column* columns, Py_ssize_t n_features, Py_ssize_t n_rows, int n_threads):
        """The codes of some columns, made by n_threads threads at most."""
        cdef RowCodes rows = RowCodes.__new__(RowCodes)
        cdef Py_ssize_t j, at = 0
        cdef int32_t width = WIDEST
        cdef uint8_t[::1] memory
        rows.columns = columns
        rows.n_rows = n_rows
        rows.n_features = n_features
        rows.stride = RowCodes.stride_of(columns, n_features)
        rows.place = <Py_ssize_t*> malloc(n_features * sizeof(Py_ssize_t))
        rows.of_bytes = <const uint8_t**> malloc(n_features * sizeof(uint8_t*))
        if rows.place == NULL or rows.of_bytes == NULL:
            raise MemoryError()
        while width > 0:
            rows.first_byte = at
            for j in range(n_features):
                if held_width(&columns[j]) != width:
                    continue
                rows.place[j] = at
                at += width
                if width == 1:
                    rows.of_bytes[rows.n_bytes] = (columns[j].buckets if columns[j].buckets != NULL
                                                   else <const uint8_t*> columns[j].codes)
                    rows.n_bytes += 1
            width //= 2
        # A tile is read as a whole, even where the last row has but one column of it.
        memory = rows.owner = scratch((n_rows * rows.stride + DF_TILE,), "u1", huge=True)
        rows.codes = &memory[0]
        parallel_for(make_chunk, <void*> rows, (n_rows + CHUNK - 1) // CHUNK, n_threads)
        rows.columns = NULL
        return rows

    def __dealloc__(self):
        free(self.place)
        free(self.of_bytes)

    cdef void make(self, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Write n rows from `first` on."""
        cdef Py_ssize_t i = first, j, m, place, end = first + n
        cdef const Column* column
        while i < end:
            m = min(<Py_ssize_t> WRITTEN, end - i)     # rows that stay in a cache until all columns are there
            for j in range(self.n_features):
                column = &self.columns[j]
                place = self.place[j]
                if column.buckets != NULL or column.width == 1:
                    continue
                if column.width == 2:
                    spread[uint16_t](self, i, m, <const uint16_t*> column.codes, place)
                elif column.width == 4:
                    spread[uint32_t](self, i, m, <const uint32_t*> column.codes, place)
                else:
                    spread[uint64_t](self, i, m, <const uint64_t*> column.codes, place)
            self.write_bytes(0, i, m)
            i += m

    cdef void write_bytes(self, Py_ssize_t column, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Write what n rows from `first` on have of the columns of one byte, from one of these on; again, if codes changed."""
        df_interleave(self.of_bytes + column, self.n_bytes - column, first, n,
                      self.codes + first * self.stride + self.first_byte + column, self.stride)

    def column(self, Py_ssize_t j, int width):
        """What the rows have of column j, in `width` bytes each, as a view: ndarray of shape (n_rows,)."""
        return np.ndarray((self.n_rows,), f"u{width}", self.owner, self.place[j], (self.stride,))


cdef void write_buckets(const Column* column, Py_ssize_t n, const code_t* codes, uint8_t* to) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        to[i] = <uint8_t> (bucket_of(column, codes[i]) if codes[i] < column.n_codes else MAX_BUCKETS)


cdef const void* address_of(array) except? NULL:
    """Where a contiguous array's entries lie; its attribute `ctypes` is an object to be made, which takes ten times as long."""
    cdef Py_buffer view
    cdef const void* address
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    address = view.buf
    PyBuffer_Release(&view)
    return address


cdef class DataView:
    """Pointers to the coded columns, the targets and the weights of the training rows.

    Parameters
    ----------
    columns : sequence of CodedColumn
        One per feature, all of n_rows codes.
    target : ndarray of shape (n_rows,), dtype int32
        Class numbers; regression: zeros, as the root of each tree makes integers of `y`.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs), dtype float64, or None
        Exact targets; None for classification of one output. Of several outputs, class numbers if there are classes.
    weight : ndarray of shape (n_rows,), dtype uint32, or None
        Integer weights from 1 to 2**31; None: all 1.
    monotonic_csts : ndarray of shape (n_features,), dtype int8, or None
        1 or -1: predictions may only rise or only fall with the feature; None: all 0.
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64, or None
        C-contiguous: what the columns were made from, for splitters that look at it.
    exact_weight : ndarray of shape (n_rows,), dtype float64, or None
        Exact weights, of which `weight` are the integers (``rules/weights.h``); None: the integers are exact.
    response : ndarray of shape (n_rows,), dtype float64, or None
        What the labels of columns that have many are ordered by (`dforest.core.grow.label_order`). None: by the targets.
    """

    def __cinit__(self, columns not None, const int32_t[::1] target not None,
                  y=None, const uint32_t[::1] weight=None, const int8_t[::1] monotonic_csts=None, X=None,
                  const double[::1] exact_weight=None, const double[::1] response=None):
        cdef Py_ssize_t j
        self.n_rows = target.shape[0]
        self.n_features = len(columns)
        if self.n_features == 0:
            raise ValueError(f"a data view needs columns; got {self.n_rows} x 0")
        self.columns = <Column*> calloc(self.n_features, sizeof(Column))
        if self.columns == NULL:
            raise MemoryError()
        if isinstance(columns, CodedColumns):
            for j, given in columns.others.items():
                take_column(self, j, given)
            for batch in columns.batches:
                take_batch(self, batch)
        else:
            for j, given in enumerate(columns):
                take_column(self, j, given)
        if monotonic_csts is not None:
            for j in range(self.n_features):
                self.columns[j].monotonic_cst = monotonic_csts[j]
        self.owners = (columns, X)
        self.set_targets(target, y, weight, exact_weight, response)
        if X is not None:
            if X.shape != (self.n_rows, self.n_features) or not X.flags.c_contiguous or X.dtype not in (np.float32, np.float64):
                raise ValueError(f"X has shape {X.shape} and dtype {X.dtype}; allowed are contiguous rows of floats")
            self.x.x = <const char*> address_of(X)
            self.x.stride = X.shape[1] * X.itemsize    # strides of a single row may be any
            self.x.is_double = X.dtype == np.float64

    def set_targets(self, const int32_t[::1] target not None, y=None, const uint32_t[::1] weight=None,
                    const double[::1] exact_weight=None, const double[::1] response=None):
        """Take other targets and weights for the rows, while nobody reads them: see the class for each."""
        cdef const double[:, ::1] by_row = None if y is None else y if y.ndim == 2 else y[:, np.newaxis]
        if (target.shape[0] != self.n_rows or (y is not None and by_row.shape[0] != self.n_rows)
                or (weight is not None and weight.shape[0] != self.n_rows)
                or (exact_weight is not None and (weight is None or exact_weight.shape[0] != self.n_rows))
                or (response is not None and response.shape[0] != self.n_rows)):
            raise ValueError(f"target, y, weights and responses must have an entry for each of {self.n_rows} rows")
        self.target = &target[0]
        self.y = &by_row[0, 0] if y is not None else NULL
        self.n_targets = by_row.shape[1] if y is not None else 0
        self.weight = &weight[0] if weight is not None else NULL
        self.exact_weight = &exact_weight[0] if exact_weight is not None else NULL
        self.response = &response[0] if response is not None else NULL
        self.target_owners = (target, by_row, weight, exact_weight, response)

    def __dealloc__(self):
        free(self.columns)
        free(self.buckets)
        free(self.present_from)
        free(self.present)
        free(self.present_codes)
        free(self.dense)

    cdef int widest(self) noexcept:
        """Bytes of the widest codes."""
        cdef Py_ssize_t j
        cdef int bytes = 1
        for j in range(self.n_features):
            bytes = max(bytes, self.columns[j].width)
        return bytes

    cdef bint has_buckets(self, Py_ssize_t j, uint64_t n_buckets) noexcept:
        """Whether `add_buckets` makes buckets of column j."""
        cdef const Column* column = &self.columns[j]
        return n_buckets > 0 and column.stored == NULL and column.kind != CATEGORICAL and column.n_codes > n_buckets + 1

    cpdef int add_buckets(self, uint64_t n_buckets) except -1:
        """Have n_buckets buckets of neighbouring codes in each column of more codes; 0: none. Before threads share the data."""
        cdef Py_ssize_t j, n_bucketed = 0
        cdef Column* column
        cdef uint8_t* to
        if self.buckets != NULL or n_buckets == 0:
            return 0
        for j in range(self.n_features):
            n_bucketed += self.has_buckets(j, n_buckets)
        self.buckets = to = <uint8_t*> malloc(n_bucketed * self.n_rows + 1)
        if self.buckets == NULL:
            raise MemoryError()
        for j in range(self.n_features):
            column = &self.columns[j]
            if not self.has_buckets(j, n_buckets):
                continue
            column.scale = (n_buckets << 32) // column.n_codes
            column.buckets = to
            if column.width == 1:
                write_buckets[uint8_t](column, self.n_rows, <const uint8_t*> column.codes, to)
            elif column.width == 2:
                write_buckets[uint16_t](column, self.n_rows, <const uint16_t*> column.codes, to)
            else:
                write_buckets[uint32_t](column, self.n_rows, <const uint32_t*> column.codes, to)
            to += self.n_rows
        return 0

    cpdef int add_present(self) except -1:
        """Have the features that each row stores, and their codes, unless there are; and those that have codes of all rows."""
        cdef Py_ssize_t i, j
        cdef const Column* column
        cdef int64_t* at
        cdef int64_t total = 0, here, place
        if self.present_from != NULL:
            return 0
        self.present_from = at = <int64_t*> calloc(self.n_rows + 1, sizeof(int64_t))
        self.dense = <uint32_t*> malloc(self.n_features * sizeof(uint32_t))
        if at == NULL or self.dense == NULL:
            raise MemoryError()
        for j in range(self.n_features):
            column = &self.columns[j]
            if column.stored == NULL:
                self.dense[self.n_dense] = <uint32_t> j
                self.n_dense += 1
                continue
            for i in range(column.n_stored):
                at[column.stored[i]] += 1
        for i in range(self.n_rows + 1):
            here = at[i]
            at[i] = total
            total += here
        self.present = <uint32_t*> malloc((total + 1) * sizeof(uint32_t))
        self.present_codes = <uint8_t*> malloc((total + 1) * self.present_width)
        if self.present == NULL or self.present_codes == NULL:
            raise MemoryError()
        for j in range(self.n_features):
            column = &self.columns[j]
            if column.stored != NULL:
                for i in range(column.n_stored):
                    place = at[column.stored[i]]
                    at[column.stored[i]] += 1
                    self.present[place] = <uint32_t> j
                    memcpy(self.present_codes + place * self.present_width, <const uint8_t*> column.codes + i * column.width,
                           column.width)
        for i in range(self.n_rows, 0, -1):        # at[i] is where the next row's begin
            at[i] = at[i - 1]
        at[0] = 0
        return 0

    cpdef int add_rows(self, int n_threads) except -1:
        """Have the codes by row, unless there are: after `add_buckets`, and before threads share the data; none is sparse."""
        with cython.critical_section(self):
            if self.rows is None:
                self.rows = RowCodes.of(self.columns, self.n_features, self.n_rows, n_threads)
        return 0


cdef int take_column(DataView data, Py_ssize_t j, given) except -1:
    """Know a `CodedColumn`."""
    cdef Column* column = &data.columns[j]
    n_codes = data.n_rows if given.rows is None else len(given.rows)
    if given.codes.shape != (n_codes,) or not given.codes.flags.c_contiguous:
        raise ValueError(f"column {j} is not a contiguous array of {n_codes} codes")
    if given.codes.dtype not in ((np.uint32, np.uint64) if given.has_keys else (np.uint8, np.uint16, np.uint32)):
        raise ValueError(f"column {j} has codes of dtype {given.codes.dtype}")
    column.codes = address_of(given.codes)
    column.width = given.codes.dtype.itemsize
    if given.rows is not None:
        column.stored = <const uint32_t*> address_of(given.rows)
        column.n_stored = len(given.rows)
        column.implied = given.implied
        take_width(data, column.width)
    column.has_keys = given.has_keys
    column.n_codes = len(given.values)
    column.has_missing = given.has_missing
    column.kind = <Kind> <int> given.kind
    for numbers in (given.lows, given.highs):
        if numbers.shape != given.values.shape or numbers.dtype != given.values.dtype:
            raise ValueError(f"column {j} has lows or highs unlike its values")
    column.values = address_of(given.values)
    column.lows = address_of(given.lows)
    column.highs = address_of(given.highs)
    if given.has_keys:
        know_keys(column)
    column.is_float32 = given.values.dtype == np.float32
    return 0


cdef void know_keys(Column* column) noexcept:
    """Say of a column of keys that it has no values, and which key is that of missing ones."""
    column.n_codes = DF_MISSING_KEY64 if column.width == 8 else DF_MISSING_KEY32
    column.values = column.lows = column.highs = NULL


cdef int take_batch(DataView data, batch) except -1:
    """Know the columns of a `SparseBatch`."""
    cdef const int64_t[::1] numbers = batch.numbers, kinds = batch.kinds
    cdef const int64_t[:, ::1] facts = batch.facts
    cdef const char* codes = <const char*> address_of(batch.codes)
    cdef const uint32_t* stored = <const uint32_t*> address_of(batch.rows)
    cdef const char* values = <const char*> address_of(batch.values)
    cdef const char* lows = <const char*> address_of(batch.lows)
    cdef const char* highs = <const char*> address_of(batch.highs)
    cdef int width = batch.codes.dtype.itemsize, value_size = batch.values.dtype.itemsize
    cdef Py_ssize_t c
    cdef Column* column
    take_width(data, width)
    for c in range(numbers.shape[0]):
        column = &data.columns[numbers[c]]
        column.codes, column.width = codes, width
        column.stored, column.n_stored = stored, <uint32_t> facts[c, 3]
        column.n_codes, column.implied, column.has_missing = facts[c, 0], <uint64_t> facts[c, 1], facts[c, 2] != 0
        column.kind = <Kind> <int> kinds[c]
        column.values, column.lows, column.highs, column.is_float32 = values, lows, highs, value_size == sizeof(float)
        column.has_keys = batch.has_keys
        if column.has_keys:
            know_keys(column)
        codes += facts[c, 3] * width
        stored += facts[c, 3]
        values += facts[c, 0] * value_size
        lows += facts[c, 0] * value_size
        highs += facts[c, 0] * value_size
    return 0


cdef int take_width(DataView data, int width) except -1:
    """Have sparse columns whose codes are of so many bytes."""
    data.present_width = max(data.present_width, width)
    data.has_sparse = True
    return 0
