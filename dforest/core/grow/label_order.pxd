"""The order of the labels of columns that have many, in one tree: see label_order.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t

from dforest.core.data cimport DataView
from dforest.core.search.criterion cimport Criterion
from dforest.core.types cimport Node


cdef struct Keyed:
    double key
    uint32_t label


@cython.final
cdef class LabelOrder:
    cdef DataView data
    cdef Criterion criterion
    cdef Py_ssize_t n_words, n_orders
    cdef readonly bint is_needed       # some column has many labels
    cdef uint32_t** ranks              # [n_features] see Node.label_ranks
    cdef uint8_t* orders               # [n_rows] whether each row orders labels
    cdef int64_t* sums                 # [most labels + 1, n_words] statistics of labels, and behind them that of all rows
    cdef Keyed* keyed                  # [most labels + 1]

    # Order the labels of the tree of this seed, given its root, which is open.
    cdef void fill(self, const Node* root, uint32_t seed) noexcept nogil

    cdef void find_rows(self, const Node* root, uint32_t seed) noexcept nogil
    cdef void add_up(self, const Node* root, Py_ssize_t feature) noexcept nogil
    cdef void rank(self, Py_ssize_t n_labels, Py_ssize_t word, uint32_t* ranks) noexcept nogil
