"""Boosted trees grown iteration by iteration: see booster.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.boost.boosted_tree cimport BoostNode, BoostScale, BoostedTree, DrawnRows
from dforest.core.boost.histograms cimport Histograms
from dforest.core.boost.loss cimport OwnLoss, df_known_derivatives
from dforest.core.spin_team cimport SpinTeam
from dforest.core.threads cimport WorkerContext
from dforest.core.data cimport DataView
from dforest.core.loops cimport df_boost_extent, df_boost_rows
from dforest.core.tree.writer cimport TreeWriter
from dforest.rules.boost cimport df_value_limits
from dforest.rules.bounds cimport df_bounds

cdef extern from "core/boost/quantile.h" nogil:
    ctypedef struct df_weighed:
        double value
        int64_t weight

cdef struct LeafRange:         # some rows of a leaf
    int32_t node
    int64_t first, n           # of the tree's rows
    int64_t g, h               # sums of their quantised gradients


cdef struct WaitingNode:       # a node that is to be written
    Py_ssize_t number
    Py_ssize_t parent          # as it was written; -1: it is the root
    bint is_right


@cython.final
cdef class Booster:
    cdef DataView data
    cdef SpinTeam team
    cdef Histograms histograms
    cdef BoostedTree tree
    cdef readonly int n_trees_per_iteration
    cdef readonly int64_t n_trees      # that have been grown, or were there before
    cdef uint64_t seed
    cdef int loss                      # its number
    cdef int leaf                      # how the values of leaves are found, a DF_..._LEAF of losses.h or OWN_LEAF
    cdef double parameter
    cdef const uint32_t* integer_weight  # [n_rows]; NULL: all are 1
    cdef const double* exact_weight    # [n_rows] of rules/weights.h; NULL: integer weights are no rounded ones
    cdef double heaviest               # weight of all rows; 0: no node may be light
    cdef df_value_limits limits
    cdef double l2
    cdef bint has_hessian              # quantised gradients of a row are two
    cdef bint counts_hessian           # it is 1 without `times`
    cdef int64_t total_weight          # sum of `times`, or number, of drawn rows
    cdef bint is_wide                  # words are wide, wherever there are Hessians
    cdef int64_t chunk, leaf_rows      # rows of a chunk, and of a leaf range, at most
    cdef double weight_unit            # weights are `times` this
    cdef df_boost_rows rows
    cdef double[:, ::1] raw            # [n_trees_per_iteration, n_rows] sums of leaf values
    cdef int32_t* quantised                 # [n_trees_per_iteration, n_rows, 1 or 2]
    cdef uint8_t* lightness            # [n_rows] of weights; NULL: no node may be light
    cdef double* kept                  # [n_trees_per_iteration, n_rows, 2] derivatives; NULL: no node may be light
    cdef double[::1] baseline          # [n_trees_per_iteration]
    cdef double* factors               # [n_trees_per_iteration, 2] 2 to the power of the exponents of quantised gradients
    cdef BoostScale* scales            # [n_trees_per_iteration]
    cdef df_boost_extent* extents      # [chunks, n_trees_per_iteration]
    cdef df_boost_extent* totals       # [n_trees_per_iteration]
    cdef df_weighed* weighed           # [n_rows] by leaves; NULL: leaves are Newton's steps
    cdef OwnLoss own                   # None: the loss has a number
    cdef DrawnRows drawn               # None: all are
    cdef int64_t n_drawn               # of each iteration
    cdef LeafRange* leaf_ranges        # [n_leaf_ranges] all rows that are drawn, leaf by leaf
    cdef Py_ssize_t n_leaf_ranges, leaf_range_room
    cdef int64_t depth                 # of the nodes that are weighed
    cdef int k                         # which tree of an iteration is grown
    cdef TreeWriter writer
    cdef WaitingNode* waiting          # [n_waiting] of the tree that is written, the next one last
    cdef Py_ssize_t n_waiting
    cdef object owners, grown          # of arrays; the trees of the iteration

    cdef int lead(self, WorkerContext* worker) except -1 nogil
    cdef int weigh(self, weight) except -1
    cdef bint is_heavy(self, int k) noexcept nogil
    cdef void move_others(self, int64_t item) noexcept nogil
    cdef int64_t n_chunks(self) noexcept nogil
    cdef void measure(self, int64_t item) noexcept nogil
    cdef void quantise_chunk(self, int64_t item) noexcept nogil
    cdef void join_extents(self) noexcept nogil
    cdef int32_t* quantised_of(self, int k) noexcept nogil
    cdef int finish_tree(self) except -1 nogil
    cdef void make_steps(self) noexcept nogil
    cdef int64_t weight_of(self, int64_t row) noexcept nogil
    cdef int32_t weight_shift(self, const uint32_t* rows, int64_t first, int64_t n) noexcept nogil
    cdef df_bounds bounds_of_values(self, const BoostNode* node) noexcept nogil
    cdef double value_of(self, double step) noexcept nogil
    cdef int weigh_nodes(self) except -1 nogil
    cdef void weigh_leaf(self, int64_t item) noexcept nogil
    cdef void weigh_node(self, int64_t item) noexcept nogil
    cdef void weigh_rows(self, BoostNode* node) noexcept nogil
    cdef double delta(self) noexcept nogil
    cdef int list_leaf_ranges(self) except -1 nogil
    cdef void add_up(self, int64_t item) noexcept nogil
    cdef void move_on(self, int64_t item) noexcept nogil
    cdef int write_tree(self) except -1 nogil
    cdef void find_subset(self, const BoostNode* node, uint64_t* words) noexcept nogil
    cdef double threshold(self, Py_ssize_t column, Py_ssize_t code) noexcept nogil
