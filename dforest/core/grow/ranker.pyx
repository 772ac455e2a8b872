"""Ranks of a column's codes among those that occur in a few records.

A column may have a code for each of a million rows, and the records of a small subtree have few of these codes. The *ranks* 0,
1, 2, ... of the codes that occur are in the order of the codes, fit 16 bits, and are counted in little memory. The *origin* of a
rank is its code. Missing values have the rank that follows the highest one, as they have the code that follows the highest one:

    codes     70  5  70  300  missing          ranks     1  0  1  2  3          origins     5  70  300

A `Ranker` belongs to one thread and owns its scratch.
"""
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from dforest.core.loops cimport loops
from dforest.core.sorting cimport radix_sort
from dforest.core.types cimport CATEGORICAL


ctypedef fused wide_t:       # columns of 8 bits are never ranked
    uint16_t
    uint32_t


cdef void mark_codes(const uint32_t* rows, Py_ssize_t n, const wide_t* codes, Py_ssize_t step, uint32_t* to,
                     uint64_t* marks) noexcept nogil:
    """Copy the codes of n rows, `step` codes apart from row to row, and mark each that occurs."""
    cdef Py_ssize_t i
    cdef uint32_t code
    for i in range(n):
        code = codes[rows[i] * step]
        to[i] = code
        marks[code >> 6] |= <uint64_t> 1 << (code & 63)


cdef void fill_keys(const uint32_t* rows, Py_ssize_t n, const wide_t* codes, Py_ssize_t step, uint64_t* keys) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        keys[i] = <uint64_t> codes[rows[i] * step] << 32 | <uint64_t> i


cdef class Ranker:
    """Ranks the codes of a subtree's records.

    Parameters
    ----------
    tuning : dict
        `ranked_above` and `codes_per_mark`, if they are not to have their defaults.
    """

    def __cinit__(self, dict tuning not None):
        self.ranked_above = tuning.get("ranked_above", 1)
        self.codes_per_mark = tuning.get("codes_per_mark", 512)

    def __dealloc__(self):
        free(self.marks)
        free(self.before)
        free(self.keys)
        free(self.keys_to)

    cdef int reserve(self, DataView data, Py_ssize_t n_records) except -1:
        """Make room for ranking `n_records` records."""
        cdef Py_ssize_t j, n_codes = 0
        for j in range(data.n_features):
            if data.columns[j].kind != CATEGORICAL:
                n_codes = max(n_codes, <Py_ssize_t> data.columns[j].n_codes)
        n_codes = min(n_codes, self.codes_per_mark * n_records)
        self.n_marks = n_codes // 64 + 1
        self.marks = <uint64_t*> calloc(self.n_marks, sizeof(uint64_t))
        self.before = <uint32_t*> malloc(self.n_marks * sizeof(uint32_t))
        self.keys = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.keys_to = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        if self.marks == NULL or self.before == NULL or self.keys == NULL or self.keys_to == NULL:
            raise MemoryError()
        return 0

    cdef bint is_worth_it(self, const Column* column, Py_ssize_t n) noexcept nogil:
        """Whether to rank a column's codes among those of n records."""
        return (column.kind != CATEGORICAL and not column.has_keys and column.width > 1
                and <double> column.n_codes > self.ranked_above * <double> n)

    cdef uint32_t rank(self, const uint32_t* rows, Py_ssize_t n, const Column* column, const uint8_t* codes, Py_ssize_t stride,
                       uint16_t* ranks, uint32_t* origins) noexcept nogil:
        """Rank the codes of n records, given their rows; return how many values occur.

        IN codes : the column's code of row 0, with `stride` bytes from row to row
        OUT ranks : [n]
        OUT origins : [n + 1] by rank
        """
        cdef uint32_t* found = <uint32_t*> self.keys
        cdef const uint64_t* sorted
        cdef Py_ssize_t i, n_words
        cdef uint32_t n_values
        if <int64_t> column.n_codes <= self.codes_per_mark * n:
            if column.width == 2:
                mark_codes(rows, n, <const uint16_t*> codes, stride // 2, found, self.marks)
            else:
                mark_codes(rows, n, <const uint32_t*> codes, stride // 4, found, self.marks)
            n_words = column.n_codes // 64 + 1
            n_values = loops.before(self.marks, n_words, self.before)
            n_values -= (self.marks[column.n_codes >> 6] >> (column.n_codes & 63)) & 1
            loops.ranks(found, n, self.marks, self.before, ranks, origins)
            memset(self.marks, 0, n_words * sizeof(uint64_t))
            return n_values
        if column.width == 2:
            fill_keys(rows, n, <const uint16_t*> codes, stride // 2, self.keys)
        else:
            fill_keys(rows, n, <const uint32_t*> codes, stride // 4, self.keys)
        sorted = radix_sort(self.keys, self.keys_to, n)
        n_values = 0
        for i in range(n):
            ranks[<uint32_t> sorted[i]] = <uint16_t> n_values
            origins[n_values] = <uint32_t> (sorted[i] >> 32)
            if i + 1 < n:
                n_values += (sorted[i] >> 32) != (sorted[i + 1] >> 32)
        return n_values + (origins[n_values] != column.n_codes)
