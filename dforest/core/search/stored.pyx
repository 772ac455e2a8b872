"""What a node has of sparse columns: see stored.pxd.

A `Stored` belongs to one thread and owns its scratch, but for the arrays of the lists, which are a tally's.
"""
cimport cython
from libc.stdint cimport int32_t, uint16_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from dforest.core.search.criterion cimport add_record
from dforest.core.sorting cimport insertion_sort, radix_sort
from dforest.core.types cimport Record, code_t

cdef enum:
    INSERTION_BELOW = 24


cdef Py_ssize_t find_row(const uint32_t* rows, Py_ssize_t first, Py_ssize_t n, uint32_t row) noexcept nogil:
    """The place of the first of n ascending rows that is not below `row`, from the place `first` on, near which it may be."""
    cdef Py_ssize_t step = 1, end = first, middle
    while end < n and rows[end] < row:
        first = end + 1
        end += step
        step *= 2
    end = min(end, n)
    while first < end:
        middle = first + (end - first) // 2
        if rows[middle] < row:
            first = middle + 1
        else:
            end = middle
    return first


cdef inline Py_ssize_t find_stored(const Node* node, const Column* column, const code_t* codes, bint by_record, uint32_t* place,
                                   uint32_t* code) noexcept nogil:
    """Find the records of a node whose rows are stored. OUT place, code : [column.n_stored + 1]"""
    cdef const Record* records = node.records
    cdef const uint32_t* stored = column.stored
    cdef const uint32_t* record_of = node.record_of
    cdef uint32_t number, n = <uint32_t> node.n, first = node.first
    cdef Py_ssize_t i, at = 0, n_stored = column.n_stored, found = 0
    if by_record:
        for i in range(n):
            at = find_row(stored, at, n_stored, records[i].row)
            if at == n_stored:
                break
            if stored[at] == records[i].row:
                place[found] = <uint32_t> i
                code[found] = codes[at]
                found += 1
        return found
    for i in range(n_stored):
        number = record_of[stored[i]] - first      # too large where it is no record of the node
        place[found] = number
        code[found] = codes[i]
        found += number < n
    return found


cdef void write_all(const Node* node, uint32_t implied, const uint32_t* place, const uint32_t* code, Py_ssize_t n_found,
                    code_t* to) noexcept nogil:
    """Write the codes of a node's records by their rows."""
    cdef Py_ssize_t i
    for i in range(node.n):
        to[node.records[i].row] = <code_t> implied
    for i in range(n_found):
        to[node.records[place[i]].row] = <code_t> code[i]


@cython.final
cdef class Stored:
    """Finds what nodes have of sparse columns.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    data : DataView
    tuning : dict
        ``stored_per_record``: the field, if it is not to have its default.
    """

    def __cinit__(self, Criterion criterion not None, DataView data not None, dict tuning not None):
        cdef Py_ssize_t j, n = 0
        cdef int32_t width = 1
        self.criterion = criterion
        self.n_words = criterion.n_words
        self.stored_per_record = tuning.get("stored_per_record", 16)
        for j in range(data.n_features):
            if data.columns[j].stored != NULL:
                n = max(n, <Py_ssize_t> data.columns[j].n_stored)
                width = max(width, data.columns[j].width)
        self.place = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        self.code = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        self.keys = <uint64_t*> malloc((n + 1) * sizeof(uint64_t))
        self.more_keys = <uint64_t*> malloc((n + 1) * sizeof(uint64_t))
        self.rest = <int64_t*> malloc(self.n_words * sizeof(int64_t))
        self.unpacked = <uint8_t*> malloc(data.n_rows * width)
        if (self.place == NULL or self.code == NULL or self.keys == NULL or self.more_keys == NULL or self.rest == NULL
                or self.unpacked == NULL):
            raise MemoryError()

    def __dealloc__(self):
        free(self.place)
        free(self.code)
        free(self.keys)
        free(self.more_keys)
        free(self.rest)
        free(self.unpacked)

    cdef Py_ssize_t gather(self, const Node* node, const Column* column) noexcept nogil:
        cdef bint by_record = column.n_stored > self.stored_per_record * node.n
        if column.width == 1:
            return find_stored(node, column, <const uint8_t*> column.codes, by_record, self.place, self.code)
        if column.width == 2:
            return find_stored(node, column, <const uint16_t*> column.codes, by_record, self.place, self.code)
        return find_stored(node, column, <const uint32_t*> column.codes, by_record, self.place, self.code)

    cdef void cumulate(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil:
        cdef Py_ssize_t i, k, n_words = self.n_words, n = self.gather(node, column), n_cuts = 0
        cdef uint64_t* keys = self.keys
        cdef uint32_t code
        cdef int64_t* left = cuts.left - n_words
        if n == 0:
            cuts.n = 1                 # all records have the implied code
            return
        memcpy(self.rest, node.statistics, n_words * sizeof(int64_t))
        for i in range(n):
            keys[i] = <uint64_t> self.code[i] << 32 | self.place[i]
        if n < INSERTION_BELOW:
            insertion_sort(keys, n)
        else:
            keys = radix_sort(keys, self.more_keys, n)
        for i in range(n):             # the draws of each code that is stored
            code = <uint32_t> (keys[i] >> 32)
            if i == 0 or code != keys[i - 1] >> 32:
                left += n_words
                if code == column.n_codes:
                    left = cuts.missing
                else:
                    cuts.code[n_cuts] = code
                    n_cuts += 1
                memset(left, 0, n_words * sizeof(int64_t))
            add_record(self.criterion, left, &node.records[<uint32_t> keys[i]])
        for i in range(n_cuts):
            for k in range(n_words):
                self.rest[k] -= cuts.left[i * n_words + k]
        for k in range(n_words):
            self.rest[k] -= cuts.missing[k]
        if self.rest[0] > 0:           # draws
            i = n_cuts
            while i > 0 and cuts.code[i - 1] > column.implied:
                cuts.code[i] = cuts.code[i - 1]
                memcpy(cuts.left + i * n_words, cuts.left + (i - 1) * n_words, n_words * sizeof(int64_t))
                i -= 1
            cuts.code[i] = column.implied
            memcpy(cuts.left + i * n_words, self.rest, n_words * sizeof(int64_t))
            n_cuts += 1
        for i in range(n_words, n_cuts * n_words):
            cuts.left[i] += cuts.left[i - n_words]
        cuts.n = n_cuts

    cdef Column unpack(self, const Node* node, const Column* column) noexcept nogil:
        cdef Py_ssize_t n = self.gather(node, column)
        cdef Column dense = column[0]
        dense.codes = self.unpacked
        dense.stored = NULL
        if column.width == 1:
            write_all(node, column.implied, self.place, self.code, n, <uint8_t*> self.unpacked)
        elif column.width == 2:
            write_all(node, column.implied, self.place, self.code, n, <uint16_t*> self.unpacked)
        else:
            write_all(node, column.implied, self.place, self.code, n, <uint32_t*> self.unpacked)
        return dense
