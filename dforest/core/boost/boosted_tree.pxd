"""A boosted tree as it grows: see boosted_tree.pyx."""
cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.boost.bundles cimport Bundles
from dforest.core.boost.histograms cimport Histograms, Search, WideRoom
from dforest.core.boost.preferences cimport Preferences
from dforest.core.boost.tree_rows cimport TreeRows, df_boost_largest
from dforest.core.boost.tried_columns cimport TriedColumns
from dforest.core.loops cimport df_boost_cut
from dforest.core.spin_team cimport SpinTeam
from dforest.core.threads cimport WorkerContext
from dforest.core.tree.split_heap cimport SplitHeap
from dforest.rules.boost cimport df_boost_limits, df_boost_sums
from dforest.rules.bounds cimport df_bounds
from dforest.rules.records cimport df_gradient_sums, df_open_node


cdef struct BoostScale:        # of the integers that stand for gradients and Hessians
    int32_t exponent_g, exponent_h     # 1.0 is 2 to this power in quantised gradients
    int32_t narrow_g, narrow_h  # and in narrow ones

cdef struct BoostNode:
    df_open_node at            # where it stands: its range of the rows, and so on
    bint is_light              # it has a scale of its own, not its parent's
    double reference           # weight of the heaviest of the rows that the scale was chosen for
    int bits_below_max         # of that row
    int64_t most               # rows of the most frequent entry, at most
    double gain                # of its best cut, if integer weights were the weights
    double counts              # what that split counts for (rules/preferences.h); 0: it is not split
    int32_t unit               # which both are in: 2 to this power
    int32_t left               # number of its left child, before that of the right one; -1: it is a leaf
    int32_t parent             # -1: the root has none
    int32_t slot               # of its histogram; -1: it has none
    bint has_packed_sums       # its histogram has words, or else sums
    df_boost_cut cut           # once it has been searched
    int32_t forced             # of its split in `forced`, if it has one; -1: it is split by the best cut
    int64_t sides              # where the sides of a wide column's codes begin in `sides`, a bit for each: 1: left; -1: nowhere

cdef struct BoostOutput:       # what a node has of one of the outputs
    BoostScale scale           # of its rows' integers
    df_gradient_sums quantised  # once the tree is grown; 0 where leaves are no Newton steps
    double value               # of a leaf, or what another node would add as one


cdef struct ForcedSplit:       # of a node at the top of each tree
    int32_t feature, code      # rows up to the code go left
    int32_t left, right        # the forced splits of its children; -1: they have none

cdef struct BoostRoute:        # where a node sends rows that walk down the tree
    uint64_t[4] left           # a bit for each code that goes left; of a leaf all
    int32_t bundle             # whose codes these are, of a leaf 0; or
    int32_t listed             # the column whose codes these are, in the lists of rows; -1: they are those of the bundle
    int32_t next               # its left child; of a leaf itself, so that its rows stay there
    int64_t sides              # of a wide column, instead of `left`: as of the node


@cython.final
cdef class BoostedTree:
    cdef Bundles bundles
    cdef SpinTeam team
    cdef Histograms histograms
    # Limits
    cdef readonly int64_t max_leaves   # 0: there is no limit
    cdef int64_t max_depth
    cdef df_boost_limits rules         # in units of the loss; whoever makes the tree sets them
    cdef bint is_random                # one cut of each column of numbers is tried; whoever makes the tree sets it, as the next
    cdef const ForcedSplit* forced     # [n_forced] splits of the root and of nodes below it; NULL: there are none
    cdef uint8_t* forced_tried         # [2, n_columns] whether a column has the forced split of a node that is searched
    cdef double min_gain               # of a split, in units of the loss; whoever makes the tree sets it
    cdef TriedColumns columns
    cdef Preferences preferences       # None: columns are all alike
    cdef double* factors               # [2, 2, n_columns] of both searches: factors and costs; NULL: columns are all alike
    cdef Search[2] searches            # in the small node, and in the large one
    cdef int8_t* monotonic_csts        # [n_columns] -1, 0 or 1; NULL: there are no monotonic constraints
    cdef df_boost_limits* limits       # [n_outputs] in units of the nodes that are searched
    cdef double* units                 # [n_outputs] what makes scores of outputs such in units of 2**unit
    cdef int32_t unit
    # Sizes at which the machinery changes its ways
    cdef int64_t part_rows             # of a part of a histogram, at least
    cdef int n_item_ranges             # into which items are divided where the rows of a node are too few for parts
    cdef bint subtracts                # the large child's histogram is what remains of the parent's; else its rows are added up
    # What the tree is grown from
    cdef Py_ssize_t n_outputs          # values of a leaf
    cdef int32_t* quantised            # [n_outputs, n_rows, 1 or 2]
    cdef int64_t plane                 # of one output
    cdef const double* kept            # [n_outputs, n_rows, 2] derivatives; NULL: no node may be light
    cdef bint has_tail                 # nodes may be light by what their derivatives are, not by weights alone
    cdef df_boost_largest* largest     # [n_outputs] of a node that may be light
    cdef TreeRows rows
    # What there is of it
    cdef BoostNode* nodes
    cdef BoostOutput* outputs          # [n_nodes, n_outputs]
    # Both NULL without monotonic constraints: what these set for steps of nodes' rows, in units of predictions, and once leaves
    # are refitted for their values; and where the best cut parts the steps.
    cdef df_bounds* bounds             # [n_nodes, n_outputs]
    cdef double* midpoints             # [n_nodes, n_outputs]
    cdef df_boost_sums* sums           # [n_nodes, n_outputs] of their rows' narrow integers, if columns have defaults
    cdef BoostRoute* routes            # of the nodes; NULL: all rows are drawn
    cdef uint64_t* sides               # of nodes whose best cuts are of wide columns, one after another
    cdef Py_ssize_t n_nodes, room, output_room, bounds_room, midpoint_room, sums_room, route_room, n_sides, sides_room
    cdef SplitHeap frontier            # leaves that may be split; without a limit of leaves, the one that came last is the first
    cdef Py_ssize_t n_pushed
    # What a call of the team is about
    cdef BoostNode* small
    cdef BoostNode* large              # NULL: the root alone is searched
    cdef bint searches_small, searches_large, parent_had_packed_sums
    cdef int n_parts
    cdef uint8_t* tried                # [2, n_columns] whether a cut of the column is looked for
    cdef int32_t* tested               # [n_columns] those tested above a node
    cdef df_boost_cut* cuts            # [2, n_items] of the small and the large node
    cdef df_bounds* searched           # [2, n_outputs] their bounds in their units; NULL: there are no monotonic constraints
    cdef uint8_t* by_code              # [as many as the widest column has] whether each of the column's codes goes left, ...
    cdef uint8_t* by_shared            # [DF_BOOST_CODES] ... and each of its bundle's

    cdef int grow(self, int32_t* quantised, const double* kept, bint has_tail, const BoostScale* scales, double max_weight,
                  uint32_t seed, WorkerContext* worker) except -1 nogil
    cdef int split(self, int32_t number) except -1 nogil
    cdef int add_bounds(self, int32_t parent, bint is_right) except -1 nogil
    cdef int know_sums(self, int32_t number) except -1 nogil
    cdef int weigh_leaves(self) except -1 nogil
    cdef int requantise(self, BoostNode* node, int tail_bits) except -1 nogil
    cdef df_boost_largest enough_of(self, const BoostNode* node, Py_ssize_t output, int tail_bits) noexcept nogil
    cdef bint is_light(self, const BoostNode* node, int tail_bits) noexcept nogil
    cdef int add_up(self, BoostNode* node) except -1 nogil
    cdef BoostOutput* outputs_of(self, const BoostNode* node) noexcept nogil
    cdef df_boost_limits limits_of(self, const BoostNode* node, Py_ssize_t output) noexcept nogil
    cdef void use_units_of(self, const BoostNode* node) noexcept nogil
    cdef int search_children(self, int32_t number) except -1 nogil
    cdef int search(self) except -1 nogil
    cdef void fill_part(self, int64_t item) noexcept nogil
    cdef void search_item(self, int64_t item) noexcept nogil
    cdef void search_range(self, int64_t item) noexcept nogil
    cdef void fill_small_histogram(self, Py_ssize_t item, Py_ssize_t last) noexcept nogil
    cdef void prune_frontier(self, Py_ssize_t n_splits) noexcept nogil
    cdef void begin_search(self, int which) noexcept nogil
    cdef void draw_columns(self, const BoostNode* node, uint8_t* tried) noexcept nogil
    cdef uint64_t* make_sides(self, BoostNode* node, Py_ssize_t n_words) except NULL nogil
    cdef bint goes_left(self, const BoostNode* node, int code) noexcept nogil
    cdef int8_t monotonic_cst(self, const BoostNode* node) noexcept nogil
    cdef int choose_freely(self, BoostNode* node, int which) except -1 nogil
    cdef int choose(self, BoostNode* node, const df_boost_cut* cuts, const Search* search) except -1 nogil
    cdef void find_midpoints(self, const BoostNode* node, const Search* search) noexcept nogil
    cdef void find_leaves(self, const uint32_t* rows, int n, int32_t* leaves) noexcept nogil
    cdef int divide(self, BoostNode* node) except -1 nogil
    cdef int32_t add_node(self, const df_open_node* at, int32_t parent, bint is_right) except -1 nogil
    cdef bint may_be_split(self, const BoostNode* node) noexcept nogil
    cdef int push(self, int32_t number) except -1 nogil
