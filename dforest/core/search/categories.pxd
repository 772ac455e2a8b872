"""The cuts of categories: see categories.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList
from dforest.core.types cimport Column, Node, Split
from dforest.rules.random cimport df_stream


cdef struct Ranked:
    double key                # mean response
    uint32_t place            # in ascending order of category numbers


@cython.final
cdef class Categories:
    cdef Criterion criterion
    cdef readonly bint one_hot       # categories are tested one by one
    cdef int64_t* sums               # [categories + 1, n_words] left sides in another order
    cdef uint32_t* codes             # [categories + 1] their codes
    cdef uint32_t* place             # [categories + 1] for CutList.place
    cdef uint32_t* ends              # [categories + 1] for CutList.ends
    cdef double* keys                # [categories + 1] mean responses
    cdef Ranked* ranked              # [categories + 1]
    cdef uint32_t* drawn             # [categories / 32] a bit for each that goes left at random
    cdef readonly Py_ssize_t n_set_words   # of the column of most categories
    cdef uint64_t* present           # [n_set_words] categories in the node
    cdef uint64_t* left_ones         # [n_set_words] those of them that go left
    cdef uint64_t* subset            # [n_set_words] of the best split so far: see Split.payload
    # Of the column and the node at hand. NULL: categories are ordered by what the node's records say; or [n_codes + 1]: see
    # Node.label_ranks
    cdef const uint32_t* ranks
    cdef const uint32_t* all_ranks   # [n_orders, n_codes + 1] those that `ranks` is a row of
    cdef Py_ssize_t n_orders
    cdef uint32_t last               # the highest rank on the left of a random cut
    cdef int64_t* draws              # [n_categories] of each in the node; NULL but for isolation trees

    cdef void arrange(self, const Node* node, CutList* cuts) noexcept nogil
    cdef void look_up(self, const Node* node, Py_ssize_t feature) noexcept nogil
    cdef bint are_tied(self, const Column* column, Py_ssize_t n) noexcept nogil
    cdef void take_one_vs_rest(self, CutList* cuts) noexcept nogil
    cdef void rank(self, const Node* node, CutList* cuts) noexcept nogil
    cdef void merge(self, CutList* cuts) noexcept nogil
    cdef void take_up_to(self, const Column* column, uint64_t code) noexcept nogil
    cdef void draw(self, const Column* column, uint32_t n_present, df_stream* stream) noexcept nogil
    cdef bint draw_rank(self, const Column* column, df_stream* stream) noexcept nogil
    cdef void write(self, const Column* column, const CutList* cuts, Py_ssize_t entry, Split* best) noexcept nogil
    cdef void write_up_to(self, const Column* column, uint32_t last, bint has_missing, Split* best) noexcept nogil
