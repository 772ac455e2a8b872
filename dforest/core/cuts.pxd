cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.criterion cimport Criterion
from dforest.core.types cimport Column, Draw, LeafRules, Node, Split

cdef struct Tuning:
    int64_t sort_below     # nodes of fewer records are sorted, larger ones counted ...
    int64_t codes_per_record  # ... unless the column has more codes than this times the records
    int64_t insertion_below   # sorting: insertion sort below, radix sort from here
    int64_t chunk          # cuts scored by one call of the criterion

cdef struct CodeRange:       # what occurs in a node
    uint32_t lowest          # of the codes that are values
    uint32_t highest         # below lowest: none are
    bint has_missing

cdef CodeRange code_range(const Node* node, const Column* column) noexcept nogil


@cython.final
cdef class Cuts:
    cdef Criterion criterion
    cdef Tuning tuning
    cdef bint is_unit                # all weights are 1
    cdef Py_ssize_t n_words
    cdef int64_t* histogram          # [codes, n_words], all 0 between calls
    cdef Py_ssize_t n_histogram      # codes it has room for
    cdef uint64_t* keys              # [records], for sorting: code << 32 | record
    cdef uint64_t* keys_to           # [records]
    cdef Py_ssize_t n_keys
    cdef int64_t* left               # [chunk, n_words] statistics of the left sides of cuts to score
    cdef uint32_t* code              # [chunk]
    cdef bint* missing_left          # [chunk]
    cdef Py_ssize_t n_cuts
    cdef int64_t* sum                # [n_words] of the values seen so far
    cdef int64_t* missing            # [n_words] of the missing ones
    cdef Py_ssize_t n_seen           # different codes

    cdef int reserve(self, Py_ssize_t n_records, Py_ssize_t n_codes) except -1
    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
    cdef void find_at(self, const Node* node, const Column* column, uint32_t code, const LeafRules* rules,
                      Split* best) noexcept nogil
    cdef void add(self, int64_t* statistic, const Draw* draw) noexcept nogil
    cdef void complete(self, int64_t* statistic) noexcept nogil
    cdef void emit(self, const int64_t* total, uint32_t code, const LeafRules* rules, Split* best) noexcept nogil
    cdef void score(self, const int64_t* total, Split* best) noexcept nogil
    cdef void count(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
    cdef void sort(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
