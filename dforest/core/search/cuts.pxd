from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.loops cimport df_cut
from dforest.rules.random cimport df_stream
from dforest.core.search.side cimport Side
from dforest.core.search.tally cimport Tally
from dforest.core.types cimport Column, LeafRules, Node, Split

cdef enum Entries:            # what the entries of Tally.left are, besides left sides of cuts
    RUN                       # each holds the one before
    SINGLES                   # one category each; perhaps one more entry with all of them
    LONE                      # there is only one

cdef struct Choice:
    Py_ssize_t entry          # -1: no valid cut
    double score
    int64_t imbalance         # of a cut that scores 0, else 0: see numerics.h
    double middle             # as Split.middle

cdef struct Ranked:
    double key
    uint32_t place            # in ascending order of codes


cdef class Cuts:
    cdef Criterion criterion
    cdef bint is_foreign             # it is not dforest's own: what it says is checked
    cdef Tally tally
    cdef Side side                   # for single cuts
    cdef bint one_by_one             # it is single cuts that are asked for
    cdef bint is_open                # `open_node` was called since `close_node`
    cdef Py_ssize_t n_words
    cdef bint one_hot                # categories are tested one by one
    cdef bint is_bounded             # some feature has a direction
    cdef double score_of_two         # of a node of two records, once it is known; -1: not yet
    cdef Entries entries             # of the feature at hand
    cdef uint64_t lone               # the code of a single cut
    cdef int64_t* spare              # [entries, n_words]
    cdef uint32_t* spare_at          # [entries]
    cdef double* keys                # [entries] mean responses of categories, or middles of valid cuts
    cdef Ranked* ranked              # [entries]
    cdef Py_ssize_t n_subset_words   # for the column of most categories
    cdef uint64_t* present           # [n_subset_words] categories in the node
    cdef uint64_t* left_ones         # [n_subset_words] those that go left
    cdef uint64_t* subset            # [n_subset_words] of the best split so far: see Split.payload

    cdef int reserve(self, DataView data, Py_ssize_t n_records) except -1
    cdef void open_node(self, const Node* node) noexcept nogil
    cdef void close_node(self) noexcept nogil
    cdef void lend_node(self, const Node* node) noexcept nogil
    cdef void join_node(self, const Node* node, Cuts other) noexcept nogil
    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
    cdef bint find_few(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
    cdef bint find_small(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
    cdef void find_at(self, const Node* node, const Column* column, uint64_t code, const LeafRules* rules,
                      Split* best) noexcept nogil
    cdef void find_gathered(self, const Node* node, const Column* column, uint64_t code, bint has_missing,
                            const LeafRules* rules, Split* best) noexcept nogil
    cdef double score_lone(self, const Node* node, const int64_t* left, const LeafRules* rules) noexcept nogil
    cdef uint32_t find_present(self, const Node* node, const Column* column) noexcept nogil
    cdef void find_subset(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
    cdef bint find_random_subset(self, const Node* node, const Column* column, df_stream* stream, const LeafRules* rules,
                                 Split* best) noexcept nogil
    cdef Choice best_entry(self, const Node* node, const Column* column, Py_ssize_t n, bint missing_left,
                           const LeafRules* rules) noexcept nogil
    cdef void choose(self, const Node* node, const Column* column, Py_ssize_t n, const LeafRules* rules,
                     Split* best) noexcept nogil
    cdef Choice best_packed(self, const Node* node, Py_ssize_t n, bint missing_left, const LeafRules* rules) noexcept nogil
    cdef void check_cut(self, const char* method, df_cut* cut, Py_ssize_t n) noexcept nogil
    cdef void add_missing(self, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t keep_valid(self, const Node* node, const Column* column, Py_ssize_t n,
                               const LeafRules* rules) noexcept nogil
    cdef bint is_allowed(self, const Node* node, const Column* column, double left, double right) noexcept nogil
    cdef Py_ssize_t prepare_singles(self, Py_ssize_t n) noexcept nogil
    cdef void prepare_ranking(self, const Node* node, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t place_of(self, const Column* column, Py_ssize_t entry) noexcept nogil
    cdef void write_subset(self, const Column* column, Py_ssize_t n, Py_ssize_t entry, Split* best) noexcept nogil
