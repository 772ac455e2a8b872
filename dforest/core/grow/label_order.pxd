"""The order of the labels of columns that have many, in one tree: see label_order.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t

from dforest.core.data cimport DataView
from dforest.core.search.criterion cimport Criterion
from dforest.core.types cimport Node, Scale
from dforest.rules.node cimport df_quantiser


cdef struct Keyed:
    double key
    uint32_t label


@cython.final
cdef class LabelOrder:
    cdef DataView data
    cdef Criterion criterion
    cdef df_quantiser scale            # of `data.response`, if there is any
    cdef readonly Py_ssize_t n_words, n_orders
    cdef readonly Py_ssize_t n_ranks   # of a tree, 0: no column has many labels
    cdef readonly Py_ssize_t n_entries  # of the sums of a tree: of each column its labels, and all rows
    cdef const uint32_t** ranks        # [n_features] see Node.label_ranks: into `own` or `given`
    cdef uint32_t* own                 # [n_ranks]
    cdef const uint32_t[:, ::1] given  # [n_trees, n_ranks] of trees whose labels were ordered elsewhere, or None
    cdef uint8_t* orders               # [n_rows] whether each row orders labels
    cdef int64_t* sums                 # [most labels + 1, n_words] statistics of labels, and behind them that of all rows
    cdef Keyed* keyed                  # [most labels + 1]

    # Order the labels of the tree of this seed, given its root, which is open.
    cdef void fill(self, const Node* root, uint32_t seed) noexcept nogil
    # Set `ranks` to those of one of the trees that are given.
    cdef void take(self, Py_ssize_t tree) noexcept nogil

    cdef void point_to(self, const uint32_t* table) noexcept nogil
    cdef void find_rows(self, uint32_t seed, const uint32_t* numbers) noexcept nogil
    cdef void add_up(self, const Scale* of_root, Py_ssize_t feature, int64_t* sums) noexcept nogil
    cdef Py_ssize_t rank(self, Py_ssize_t feature, const int64_t* sums, uint32_t* ranks) noexcept nogil
    cdef void rank_by(self, Py_ssize_t word, Py_ssize_t n_labels, const int64_t* sums, uint32_t* ranks) noexcept nogil
