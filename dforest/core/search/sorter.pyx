"""The records of a node sorted by code: see sorter.pxd.

A `Sorter` belongs to one thread and owns its scratch; `CutList.sorted` leads there.
"""
cimport cython
from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from dforest.core.codes cimport gather_keys
from dforest.core.loops cimport loops
from dforest.core.search.cut_list cimport LANES, SUMS, WORDS
from dforest.core.search.histogram cimport complete
from dforest.core.search.words cimport unpack_lanes, unpack_word
from dforest.core.search.sums cimport df_copy_words
from dforest.core.sorting cimport insertion_sort, radix_sort
from dforest.core.types cimport OUTPUTS, add_draws


@cython.final
cdef class Sorter:
    """Sorts the records of a node by code.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    words : NodeWords
        Of the same thread.
    n_records : int
        Of the largest node.
    insertion_below : int
        Insertion sort of fewer keys, radix sort from here.
    """

    def __cinit__(self, Criterion criterion not None, NodeWords words not None, Py_ssize_t n_records, int64_t insertion_below):
        self.criterion = criterion
        self.words = words
        self.n_words = criterion.n_words
        self.insertion_below = insertion_below
        self.keys = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.keys_to = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.sum = <int64_t*> malloc(self.n_words * sizeof(int64_t))
        if self.keys == NULL or self.keys_to == NULL or self.sum == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.keys)
        free(self.keys_to)
        free(self.sum)

    cdef uint64_t* sort_keys(self, Py_ssize_t n) noexcept nogil:
        """Sort the first n of `keys`; return where they are then, until the next call."""
        if n < self.insertion_below:
            insertion_sort(self.keys, n)
            return self.keys
        return radix_sort(self.keys, self.keys_to, n)

    cdef void sort(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil:
        """Make the list of a column."""
        cdef Py_ssize_t n = node.n, n_values = node.n
        cdef uint64_t* keys
        cuts.is_packed = cuts.manner == WORDS or cuts.manner == LANES
        gather_keys[Record](node.records, n, column, self.keys)
        keys = self.sort_keys(n)
        cuts.sorted = keys
        if column.has_missing:
            while n_values > 0 and <uint32_t> (keys[n_values - 1] >> 32) == column.n_codes:
                n_values -= 1
            if n_values < n:               # as a list of one cut, which the list of the values writes over
                self.walk(keys + n_values, n - n_values, node.records, cuts)
                if cuts.manner == WORDS:
                    cuts.missing_word[0] = cuts.run[0]
                    unpack_word(cuts.run[0], cuts.is_pairs, cuts.missing)
                elif cuts.manner == LANES:
                    cuts.missing_word[0] = cuts.run[0]
                    cuts.missing_word[1] = cuts.more[0]
                    unpack_lanes(cuts.run[0], cuts.more[0], cuts.missing, self.n_words)
                else:
                    memcpy(cuts.missing, cuts.left, self.n_words * sizeof(int64_t))
        cuts.n = self.walk(keys, n_values, node.records, cuts)

    # The walks fill the list's left sides and codes from sorted keys, and return how many codes occur. In all but the last, a
    # code that goes on is written over: keys of the codes 3, 3, 5 write 3's left side twice.

    cdef Py_ssize_t walk(self, const uint64_t* keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil:
        if cuts.manner == WORDS:
            return self.walk_words(keys, n, cuts)
        if cuts.manner == LANES:
            return self.walk_lanes(keys, n, records, cuts)
        if cuts.manner == SUMS:
            return self.walk_sums(keys, n, records, cuts)
        return self.walk_records(keys, n, records, cuts)

    cdef Py_ssize_t walk_words(self, const uint64_t* keys, Py_ssize_t n, CutList* cuts) noexcept nogil:
        cdef const uint64_t* words = self.words.word
        cdef uint64_t total = 0
        cdef uint64_t* run = cuts.run
        cdef uint32_t* codes = cuts.code
        cdef Py_ssize_t i, n_values = 0
        cdef uint32_t code, next_code = <uint32_t> (keys[0] >> 32) if n else 0
        for i in range(n):
            code = next_code
            next_code = <uint32_t> (keys[i + 1] >> 32) if i + 1 < n else ~code
            total += words[<uint32_t> keys[i]]
            run[n_values] = total
            codes[n_values] = code
            n_values += code != next_code
        return n_values

    cdef Py_ssize_t walk_lanes(self, const uint64_t* keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil:
        cdef uint64_t first = 0, second = 0, draws, is_second
        cdef uint64_t* run = cuts.run
        cdef uint64_t* more = cuts.more
        cdef uint32_t* codes = cuts.code
        cdef const Record* record
        cdef Py_ssize_t i, n_values = 0
        cdef uint32_t code, next_code = <uint32_t> (keys[0] >> 32) if n else 0
        for i in range(n):
            code = next_code
            next_code = <uint32_t> (keys[i + 1] >> 32) if i + 1 < n else ~code
            record = &records[<uint32_t> keys[i]]
            draws = <uint64_t> record.count << (16 * (record.target & 3))
            is_second = -<uint64_t> (record.target >> 2)       # all bits of classes 4 to 7
            first += draws & ~is_second
            second += draws & is_second
            run[n_values] = first
            more[n_values] = second
            codes[n_values] = code
            n_values += code != next_code
        return n_values

    cdef Py_ssize_t walk_sums(self, const uint64_t* keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil:
        cdef int64_t weight = 0, total = 0
        cdef int64_t* left = cuts.left
        cdef const Record* record
        cdef Py_ssize_t i, n_values = 0
        cdef uint32_t code, next_code = <uint32_t> (keys[0] >> 32) if n else 0
        for i in range(n):
            code = next_code
            next_code = <uint32_t> (keys[i + 1] >> 32) if i + 1 < n else ~code
            record = &records[<uint32_t> keys[i]]
            weight += record.count
            total += <int64_t> record.count * record.target
            left[3 * n_values] = left[3 * n_values + 1] = weight
            left[3 * n_values + 2] = total
            cuts.code[n_values] = code
            n_values += code != next_code
        return n_values

    cdef Py_ssize_t walk_records(self, const uint64_t* keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil:
        cdef Py_ssize_t i, n_values = 0
        cdef uint32_t code
        memset(self.sum, 0, self.n_words * sizeof(int64_t))
        if self.criterion.kind == OUTPUTS:
            return loops.outputs.sorted(&self.criterion.outputs, keys, n, records, self.n_words, self.sum, cuts.left, cuts.code)
        for i in range(n):
            code = <uint32_t> (keys[i] >> 32)
            add_draws(self.criterion.kind, self.sum, &records[<uint32_t> keys[i]])
            if i + 1 == n or <uint32_t> (keys[i + 1] >> 32) != code:
                complete(self.criterion, self.sum)
                df_copy_words(cuts.left + n_values * self.n_words, self.sum, self.n_words)
                cuts.code[n_values] = code
                n_values += 1
        return n_values
