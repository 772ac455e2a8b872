"""A copy of what a subtree's records need, small enough to stay in a cache.

The records of the subtree are numbered 0, 1, 2, ... in the order they have, and their codes, column by column, lie in that order:

    the data's rows of three records        7  2  9        Block.rows
    the data's codes of rows 0 to 9         a  b  c  d  e  f  g  h  i  j
    the block's codes                       h  c  j        and Record.row is 0, 1, 2

Where a column has buckets, the buckets are copied and the codes are not: `Node.rows` leads to the codes in the data. Where a
column has far more codes than the subtree has records, ranks take the place of the codes (`dforest.core.grow.ranker`):
`Column.origins` leads to the codes.

A `Block` belongs to one grower, owns its memory, and is filled again for each subtree.
"""
cimport cython
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.grow.ranker cimport MOST_RANKED
from dforest.core.types cimport column_t


cdef void gather(const uint32_t* rows, Py_ssize_t n, const column_t* codes, column_t* to) noexcept nogil:
    """Copy the codes of n rows."""
    cdef Py_ssize_t i
    for i in range(n):
        to[i] = codes[rows[i]]


@cython.final
cdef class Block:
    """Holds the records of one subtree at a time.

    Parameters
    ----------
    data : DataView
    n_bytes : int
        Room for targets and codes; 0: no subtree fits.
    n_records : int
        Most records of a subtree.
    tuning : dict
        The fields of `dforest.core.grow.ranker.Ranker`.
    takes_ranks : bool
        Whether ranks may take the place of codes: see `Splitter.takes_ranks`.
    """

    def __cinit__(self, DataView data not None, size_t n_bytes, Py_ssize_t n_records, dict tuning not None, bint takes_ranks):
        self.data = data
        if n_bytes > 0 and takes_ranks:
            self.ranker = Ranker(tuning)
        self.reserve(n_bytes, n_records)

    def __dealloc__(self):
        free(self.columns)
        free(self.rows)
        free(self.bytes)
        free(self.origins)

    cdef int reserve(self, size_t n_bytes, Py_ssize_t n_records) except -1:
        """Make room for the largest subtree whose targets and codes take n_bytes, but of n_records records at most."""
        cdef Py_ssize_t j, n_features = self.data.n_features, n_ranked = 0
        cdef size_t row_bytes = sizeof(double) if self.data.y != NULL else 0      # bytes of a record
        cdef const Column* column
        cdef bint is_ranked
        for j in range(n_features):
            column = &self.data.columns[j]
            if column.coarse != NULL:
                row_bytes += 1
                continue
            is_ranked = self.ranker is not None and self.ranker.is_worth_it(column, 1)
            n_ranked += is_ranked
            # A column that is ranked even in the largest block never takes more than the 16 bits of a rank.
            row_bytes += 2 if is_ranked and self.ranker.is_worth_it(column, MOST_RANKED) else column.width
        self.most_records = min(n_records, <Py_ssize_t> (n_bytes // row_bytes))
        if n_ranked > 0:
            self.most_records = min(self.most_records, MOST_RANKED)
            self.ranker.reserve(self.data, self.most_records)
            self.origins = <uint32_t*> malloc(n_ranked * (self.most_records + 1) * sizeof(uint32_t))
            if self.origins == NULL:
                raise MemoryError()
        else:
            self.ranker = None
        self.rows = <uint32_t*> malloc(self.most_records * sizeof(uint32_t) + 1)
        self.columns = <Column*> malloc(n_features * sizeof(Column))
        self.bytes = <uint8_t*> malloc(n_bytes + sizeof(double))
        if self.rows == NULL or self.columns == NULL or self.bytes == NULL:
            raise MemoryError()
        memcpy(self.columns, self.data.columns, n_features * sizeof(Column))
        return 0

    cdef void fill(self, Record* records, Py_ssize_t n, uint32_t* rows, Py_ssize_t n_waiting) noexcept nogil:
        cdef Py_ssize_t i, j
        cdef int32_t width = 8
        cdef uint8_t* to = self.bytes
        cdef double* y = <double*> to
        cdef uint32_t* origins = self.origins
        cdef const Column* column
        cdef Column* copy
        self.y = y if self.data.y != NULL else NULL
        for i in range(n):             # they are read once for each column, so they are put close together
            rows[i] = records[i].row
        if self.data.y != NULL:
            for i in range(n):
                y[i] = self.data.y[rows[i]]
            to += n * sizeof(double)
        for j in range(self.data.n_features):
            copy = &self.columns[j]
            copy[0] = self.data.columns[j]
            if copy.coarse == NULL and self.ranker is not None and self.ranker.is_worth_it(copy, n):
                copy.width = 2
                copy.origins = origins
                origins += n + 1
        while width > 0:               # wide codes first: all are aligned
            for j in range(self.data.n_features):
                column = &self.data.columns[j]
                copy = &self.columns[j]
                if width != (copy.width if copy.coarse == NULL else 1):
                    continue
                if copy.coarse != NULL:
                    gather[uint8_t](rows, n, column.coarse, to)
                    copy.coarse = to
                    to += n
                    continue
                if copy.origins != NULL:
                    copy.n_codes = self.ranker.rank(rows, n, column, <uint16_t*> to, <uint32_t*> copy.origins)
                elif width == 1:
                    gather[uint8_t](rows, n, <const uint8_t*> column.codes, <uint8_t*> to)
                elif width == 2:
                    gather[uint16_t](rows, n, <const uint16_t*> column.codes, <uint16_t*> to)
                elif width == 4:
                    gather[uint32_t](rows, n, <const uint32_t*> column.codes, <uint32_t*> to)
                else:
                    gather[uint64_t](rows, n, <const uint64_t*> column.codes, <uint64_t*> to)
                copy.codes = to
                to += n * width
            width //= 2
        for i in range(n):
            self.rows[i] = rows[i]
            records[i].row = <uint32_t> i
        self.is_open = True
        self.base = n_waiting
