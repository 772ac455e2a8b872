cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.loops cimport df_few
from dforest.core.types cimport Column, Draw, Node

cdef struct Tuning:
    int64_t few_below         # nodes of fewer records are scanned without order, see few.h, if these are few enough
    int64_t small_draws       # two classes: nodes of at most so many draws, and of no more than ...
    int64_t small_codes       # ... 1 / so many of the draws that a column has codes, are scanned by code
    int64_t sort_below        # nodes of fewer records are sorted, larger ones counted ...
    int64_t codes_per_record  # ... unless the column has more codes than this times the records
    int64_t insertion_below   # sorting: insertion sort below, radix sort from here
    int64_t copy_from         # counting: in copies if there are this many times more records than codes
    int64_t mark_from         # codes that occur are marked if the column has at least this many codes for each record
    int64_t codes_per_mark    # packed words are added up by marked codes if the column has at most this many for each record

cdef enum Manner:             # how draws are counted
    WORDS                     # weights of 1: statistics in packed words, see scan.h
    CLASSES                   # more classes, weights of 1: a 32-bit counter for each
    SUMS                      # weights of 1: number of draws and sum of targets
    RECORDS                   # anything: whole statistics

cdef extern from "core/search/scan.h" nogil:
    const int64_t DF_PAIR_DRAWS
    const int64_t DF_SUM_DRAWS
    const int DF_SUM_BITS
    const int64_t DF_SUM_BIAS
    const uint64_t DF_SUM_MASK
    uint64_t df_pair_word(uint32_t count, int32_t target)
    uint64_t df_sum_word(uint32_t count, int32_t target)

cdef inline int64_t draws_of(uint64_t word, bint is_pairs) noexcept nogil:
    """Draws in a packed word."""
    return <int64_t> (word >> 32) + <uint32_t> word if is_pairs else <int64_t> (word >> DF_SUM_BITS)


@cython.final
cdef class Tally:
    cdef Criterion criterion
    cdef Tuning tuning
    cdef bint is_unit                # all weights are 1
    cdef bint packs                  # words may be used
    cdef Manner manner               # of the open node
    cdef bint is_pairs               # its words are pairs
    cdef bint is_few                 # it is small enough for ...
    cdef df_few few                  # ... this
    cdef uint32_t* small             # [DF_SMALL_DRAWS] two classes, likewise: words of the records ...
    cdef uint32_t* small_run         # [256] ... and their sums by code, up to it
    cdef bint has_small              # the former holds
    cdef bint has_words              # what follows holds
    cdef const uint32_t* row         # [records] WORDS: rows of its records,
    cdef const uint64_t* word        # [records] their words; both may be another tally's, or
    cdef uint32_t* own_row           # [records] these,
    cdef uint64_t* own_word          # [records] and these
    cdef uint64_t* run               # [records] as `left`, in words,
    cdef uint64_t missing_word       # and as `missing`
    cdef bint is_packed              # `run` has what `left` is to have
    cdef Py_ssize_t n_words
    cdef int64_t* histogram          # [codes, n_words or 4] or smaller, all 0 between calls
    cdef uint64_t* marks             # [codes / 64] a bit for each code that occurs, all 0 between calls
    cdef uint32_t* before            # [codes / 64] marks before
    cdef uint64_t* keys              # [records], for sorting: see gather_keys
    cdef uint64_t* keys_to           # [records]
    cdef const uint64_t* sorted      # [records] whichever of these holds the result
    cdef int64_t* left               # [records, n_words] by value that occurs: statistic up to it
    cdef uint32_t* code              # [records] its code
    cdef int64_t* sum                # [n_words] of the values so far
    cdef int64_t* missing            # [n_words] of the missing ones

    cdef int reserve(self, Py_ssize_t n_records, Py_ssize_t n_codes) except -1
    cdef uint64_t* sort_keys(self, Py_ssize_t n) noexcept nogil
    cdef void open_node(self, const Node* node) noexcept nogil
    cdef void lend_words(self, const Node* node) noexcept nogil
    cdef void borrow_words(self, Tally other) noexcept nogil
    cdef void make_words(self, const Node* node) noexcept nogil
    cdef bint counts_small(self, const Node* node, const Column* column) noexcept nogil
    cdef bint counts_in_copies(self, const Node* node, const Column* column) noexcept nogil
    cdef bint count_small(self, const Node* node, const Column* column, uint32_t* missing) noexcept nogil
    cdef bint gather_few(self, const Node* node, const Column* column, uint64_t* missing) noexcept nogil
    cdef void expand(self, Py_ssize_t n) noexcept nogil
    cdef void unpack(self, uint64_t word, int64_t* statistic) noexcept nogil
    cdef Py_ssize_t cumulate(self, const Node* node, const Column* column) noexcept nogil
    cdef Manner manner_of(self, const int64_t* total) noexcept nogil
    cdef void complete(self, int64_t* statistic) noexcept nogil
    cdef void take(self, Manner manner, uint32_t code, int64_t* statistic) noexcept nogil
    cdef Py_ssize_t count(self, const Node* node, const Column* column) noexcept nogil
    cdef Py_ssize_t mark_words(self, const Node* node, const Column* column) noexcept nogil
    cdef Py_ssize_t count_words(self, const Node* node, const Column* column) noexcept nogil
    cdef Py_ssize_t walk_sums(self, uint32_t n_codes) noexcept nogil
    cdef void take_classes(self, uint32_t code, int64_t* to, const int64_t* before) noexcept nogil
    cdef Py_ssize_t walk_classes(self, uint32_t n_codes, bint marked) noexcept nogil
    cdef Py_ssize_t walk(self, Manner manner, uint32_t n_codes) noexcept nogil
    cdef Py_ssize_t walk_marked(self, Manner manner, uint32_t n_codes) noexcept nogil
    cdef Py_ssize_t walk_sorted_words(self, const uint64_t* keys, Py_ssize_t n, uint64_t* sum) noexcept nogil
    cdef Py_ssize_t walk_sorted_sums(self, const uint64_t* keys, Py_ssize_t n, const Draw* draws) noexcept nogil
    cdef Py_ssize_t walk_sorted(self, const uint64_t* keys, Py_ssize_t n, const Draw* draws) noexcept nogil
    cdef Py_ssize_t sort(self, const Node* node, const Column* column) noexcept nogil
