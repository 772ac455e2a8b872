"""Grows the trees of an iteration: see tree_grower.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from dforest.core.boost.boosted_tree cimport BoostNode, BoostOutput, BoostScale, BoostedTree
from dforest.core.boost.linear_leaves cimport LeafRange, LinearLeaves
from dforest.core.boost.loss cimport CustomLoss
from dforest.core.boost.projected_columns cimport ProjectedColumns
from dforest.core.data cimport DataView
from dforest.core.loops cimport df_boost_rows
from dforest.core.spin_team cimport SpinTeam
from dforest.core.threads cimport WorkerContext
from dforest.core.tree.writer cimport TreeWriter
from dforest.core.types cimport Split
from dforest.rules.boost cimport df_value_limits

cdef extern from "core/boost/quantile.h" nogil:
    ctypedef struct df_weighed:
        double value
        int64_t weight

cdef enum:
    CUSTOM_LEAF = -1                   # beside those of losses.h: a loss of one's own says what it is

cdef struct LeafSetting:       # what is the same for the leaves of all trees of a fit
    int leaf                   # how their values are found, a DF_..._LEAF of losses.h or CUSTOM_LEAF
    int loss                   # its number; -1: one's own
    df_value_limits limits
    double l1, l2, weight_unit
    double path_smooth         # how many rows have half of the say in a node's value; 0: all of it is its own
    bint has_hessian           # quantised gradients of a row are two
    const df_boost_rows* rows  # with targets, raw predictions and the baseline of the first output
    const double* baseline     # [n_outputs] of trees whose leaves are no Newton steps
    const double* parameters   # [n_outputs] of the loss, of such trees
    const uint32_t* integer_weight  # [n_rows] where they are none; NULL: all are 1
    const double* exact_weight  # [n_rows] of rules/weights.h; NULL: integer weights are no rounded ones
    int64_t chunk, leaf_rows   # rows that a thread takes at a time, of all and of a leaf, at most

cdef struct WaitingNode:       # a node that is to be written
    Py_ssize_t number
    Py_ssize_t parent          # as it was written; -1: it is the root
    bint is_right


@cython.final
cdef class TreeGrower:
    cdef DataView data
    cdef SpinTeam team                 # the tree's
    cdef BoostedTree tree
    cdef CustomLoss own                # None: the loss has a number
    cdef readonly LinearLeaves linear  # None: leaves are constants
    cdef ProjectedColumns projected    # None: tests are of single columns, and have no payloads but for subsets
    cdef uint64_t* payload             # of a test, if there may be sums
    cdef TreeWriter writer
    cdef readonly Py_ssize_t n_outputs  # values of a leaf
    cdef bint is_sketched              # the tree's own outputs are directions of a sketch
    cdef const LeafSetting* fit        # the booster's
    cdef const int32_t* quantised      # [n_outputs, n_rows, 1 or 2] of the present tree
    cdef BoostOutput* outputs          # [n_nodes, n_outputs] of the present tree: its own, or those here
    cdef BoostOutput* of_leaves        # [of_leaves_room] of sketched trees
    cdef Py_ssize_t of_leaves_room
    cdef double* raw                   # [n_outputs, n_rows] sums of leaf values, of the present tree and those before
    cdef df_weighed* weighed           # [n_rows] by leaves; NULL: leaves are Newton's steps
    cdef LeafRange* leaf_ranges        # [n_leaf_ranges] all rows that are drawn, leaf by leaf
    cdef int64_t* range_sums           # [n_leaf_ranges, n_outputs, 2] of their quantised gradients and Hessians
    cdef Py_ssize_t n_leaf_ranges, leaf_range_room, range_sums_room
    cdef int64_t depth                 # of the nodes that are weighed
    cdef WaitingNode* waiting          # [waiting_room] of the tree that is written, the next one last
    cdef Py_ssize_t waiting_room

    cdef int begin_fit(self, const LeafSetting* setting) except -1
    cdef int grow(self, int kind, int32_t* quantised, const double* kept, bint has_tail, const BoostScale* scales,
                  double max_weight, uint32_t seed, double* raw, WorkerContext* worker, int32_t* sketched=*,
                  const BoostScale* sketched_scales=*) except -1 nogil
    cdef int take_nodes(self, const BoostScale* scales) except -1 nogil
    cdef int finish_tree(self) except -1 nogil
    cdef void make_steps(self) noexcept nogil
    cdef int64_t weight_of(self, int64_t row) noexcept nogil
    cdef int32_t weight_shift(self, const uint32_t* rows, int64_t first, int64_t n) noexcept nogil
    cdef double within_bounds(self, Py_ssize_t output, double value) noexcept nogil
    cdef double value_of(self, double step) noexcept nogil
    cdef int weigh_nodes(self) except -1 nogil
    cdef void bound_nodes(self) noexcept nogil
    cdef void smooth_values(self) noexcept nogil
    cdef void find_leaf_value(self, int64_t item) noexcept nogil
    cdef void find_node_value(self, int64_t item) noexcept nogil
    cdef void find_value_of_rows(self, BoostNode* node) noexcept nogil
    cdef double delta(self) noexcept nogil
    cdef int list_leaf_ranges(self) except -1 nogil
    cdef void add_up(self, int64_t item) noexcept nogil
    cdef void update_raw_predictions(self, int64_t item) noexcept nogil
    cdef void move_others(self, int64_t item) noexcept nogil
    cdef int write_tree(self) except -1 nogil
    cdef void write_payload(self, const BoostNode* node, Split* split) noexcept nogil
    cdef void write_line(self, const BoostNode* node, int64_t* words) noexcept nogil
    cdef Py_ssize_t find_subset(self, const BoostNode* node, uint64_t* words) noexcept nogil
    cdef double threshold(self, Py_ssize_t column, Py_ssize_t code) noexcept nogil
