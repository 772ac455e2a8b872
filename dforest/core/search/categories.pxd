"""The cuts of a feature of categories.

A list over categories in ascending order of their numbers becomes one in the order of their mean response, then cut like
values: for two classes, and for squared error, the best of all subsets is among these cuts [1]_. With more classes, the
response is the share of the node's largest class, and that is a heuristic. Or it becomes a list of single categories, each
of which is divided from the rest.

Which categories are where is written as a *set*: 64-bit words with a bit for each category.

References
----------
.. [1] W. D. Fisher, "On grouping for maximum homogeneity", JASA 53, 1958; L. Breiman, J. Friedman,
   R. Olshen, C. Stone, "Classification and Regression Trees", 1984, section 4.2.2 and chapter 8.8.
"""
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
    cdef Py_ssize_t n_words
    cdef readonly bint one_hot       # categories are tested one by one
    cdef int64_t* sums               # [categories + 1, n_words] left sides in another order
    cdef uint32_t* codes             # [categories + 1] their codes
    cdef uint32_t* place             # [categories + 1] for CutList.place
    cdef double* keys                # [categories + 1] mean responses
    cdef Ranked* ranked              # [categories + 1]
    cdef uint32_t* drawn             # [categories / 32] a bit for each that goes left at random
    cdef readonly Py_ssize_t n_set_words   # of the column of most categories
    cdef uint64_t* present           # [n_set_words] categories in the node
    cdef uint64_t* left_ones         # [n_set_words] those of them that go left
    cdef uint64_t* subset            # [n_set_words] of the best split so far: see Split.payload

    cdef void arrange(self, const Node* node, CutList* cuts) noexcept nogil
    cdef void take_singles(self, CutList* cuts) noexcept nogil
    cdef void rank(self, const Node* node, CutList* cuts) noexcept nogil
    cdef uint32_t find_present(self, const Node* node, const Column* column) noexcept nogil
    cdef void take_up_to(self, const Column* column, uint64_t code) noexcept nogil
    cdef void draw(self, const Column* column, uint32_t n_present, df_stream* stream) noexcept nogil
    cdef void write(self, const Column* column, const CutList* cuts, Py_ssize_t entry, Split* best) noexcept nogil
