cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.block cimport Block
from dforest.core.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.path_features cimport PathFeatures
from dforest.core.splitter cimport Splitter
from dforest.core.team cimport Team
from dforest.core.types cimport Column, Draw, LeafRules, Node, Scale, Split

cdef struct Limits:
    Py_ssize_t max_depth           # a node at this depth is a leaf
    int64_t min_samples_split      # a node of fewer draws is a leaf
    int64_t min_samples_leaf
    double min_weight_fraction_leaf
    double impurity_threshold      # a node of lower impurity is a leaf
    double min_impurity_decrease
    Py_ssize_t max_leaf_nodes      # 0: no limit, and depth-first growth

cdef struct NodeRecord:
    double threshold
    int32_t feature                # -1: a leaf
    uint32_t right                 # inner node: number of its right child; leaf: number of the leaf
    uint8_t missing_left

cdef struct Trunk:                 # what the pieces of a tree share
    Draw* draws                    # [capacity]
    Draw* scratch                  # [capacity]
    Py_ssize_t n                   # records
    # NULL; or the rows of the records by place, which numbers in a block hide, and whether one is its leaf's first
    uint32_t* rows                 # [capacity]
    uint8_t* is_first              # [capacity]
    uint32_t tree                  # its number
    uint32_t seed                  # of its random streams
    int64_t root_weight
    LeafRules rules
    int n_pieces                   # begun, numbered from 0, the root's
    int n_open                     # begun and not finished

cdef struct Place:                 # where a node stands
    Py_ssize_t first, n            # its records in the trunk's draws
    uint64_t path
    Py_ssize_t depth
    Py_ssize_t parent              # its number, -1: none
    bint is_right
    Scale scale
    double lower, upper            # bounds of its predictions
    int piece                      # the one it was given away as; -1: none

cdef struct Subtree:               # given away; n_path_features of int32_t follow it in memory
    Trunk* trunk
    Place place
    Py_ssize_t n_path_features

cdef struct Hole:                  # where another piece belongs, and how much of this one comes before
    int64_t piece
    int64_t node                   # which holds its place
    int64_t leaves, inner, subsets, payload_words

cdef struct Judgement:             # of a node, if it were a leaf; regression only
    double value
    double impurity

cdef struct Candidate:             # a node grown best first, numbered in order of creation
    Place place
    Split split                    # the best one; feature -1: the node stays a leaf
    Py_ssize_t subset_at           # where its subset lies in Grower.waiting
    Judgement judgement            # unless it follows from the leaves
    double score                   # of the split, comparable between nodes
    Py_ssize_t left                # number of its left child, the right one's is 1 more; -1: a leaf so far
    # The last one on the path, from the root to this one, whose split uses a feature for the first time on that
    # path; -1: none, or nobody asks
    Py_ssize_t last_new


cdef struct Words:                 # a growing array
    uint64_t* words
    Py_ssize_t n, room


@cython.final
cdef class Grower:
    cdef DataView data
    cdef Criterion criterion
    cdef Splitter splitter
    cdef Limits limits
    cdef int64_t n_draws           # 0: every row once
    cdef const uint32_t[::1] weight  # of the rows in the tree at hand; None: the data's
    cdef Py_ssize_t capacity       # most records of a tree
    cdef Trunk own                 # of the trees that this grower begins
    cdef Py_ssize_t row_room, first_room  # of its rows and is_first
    cdef Trunk* trunk              # of the piece at hand
    cdef readonly int piece        # its number
    cdef Draw* draws               # the trunk's
    cdef int64_t* of_block         # [blocks] draws of each block of the bootstrap
    cdef int64_t* statistics       # [n_words] of the node at hand
    cdef PathFeatures path         # of the node at hand, if the splitter asks for it
    cdef Block block
    cdef bint in_block
    cdef Py_ssize_t block_base     # the block's subtree is done when fewer nodes than this wait
    cdef Place* stack              # depth first: nodes to come
    cdef Py_ssize_t n_stack, stack_room
    cdef Py_ssize_t n_offered      # of those, from the bottom, that were given away or are too small for it
    cdef Py_ssize_t share_from     # subtrees of fewer records are not given away
    cdef Hole* holes               # the pieces given away
    cdef Py_ssize_t n_holes, hole_room
    cdef Candidate* candidates
    cdef Py_ssize_t n_candidates, candidate_room
    cdef Py_ssize_t* heap          # numbers of candidates that can be split, the best one first
    cdef Py_ssize_t n_heap, heap_room
    cdef NodeRecord* nodes
    cdef Py_ssize_t n_nodes, node_room
    cdef Words subsets             # of the nodes that test categories, one after another
    cdef Words waiting             # those of candidates
    cdef int64_t* payload_lengths   # [n_subsets] words of each
    cdef Py_ssize_t n_subsets, subset_room
    cdef int64_t* leaves           # [leaf_room, n_leaf_words]
    cdef Py_ssize_t n_leaves, leaf_room, n_leaf_words
    cdef Judgement* inner          # of the nodes that are no leaves, unless it follows from these
    cdef Py_ssize_t n_inner, inner_room
    cdef Py_ssize_t since_poll     # records seen since
    cdef Team team
    cdef int member                # this grower's number in it

    cdef void recall_path(self, Py_ssize_t parent) noexcept nogil
    cdef int grow(self, uint32_t tree, uint32_t seed) except -1 nogil
    cdef bint help(self) except -1 nogil
    cdef int enter(self, Trunk* trunk, int piece) except -1 nogil
    cdef void give(self) noexcept nogil
    cdef int add_hole(self, const Place* place) except -1 nogil
    cdef int open(self, const Place* place, Node* node) except -1 nogil
    cdef int find_split(self, Node* node, Split* split) except -1 nogil
    cdef int find_foreign_split(self, const Node* node, Split* split) except -1 nogil
    cdef bint has_test(self, const Node* node, const Split* split) noexcept nogil
    cdef bint parts_codes(self, const Node* node, const Split* split) noexcept nogil
    cdef int refuse_split(self, const Node* node, const Split* split) except -1 nogil
    cdef bint breaks_rules(self, const Place* place, const Node* node) noexcept nogil
    cdef int refuse_side(self, const Place* place, const Node* node) except -1 nogil
    cdef int check_division(self, const Node* node, Py_ssize_t n_left) except -1 nogil
    cdef Py_ssize_t partition_by_test(self, const Node* node, const Split* split, Draw* scratch) except -1 nogil
    cdef bint is_leaf(self, const Node* node) noexcept nogil
    cdef bint is_shared(self, int64_t n_visits) noexcept nogil
    cdef int divide(self, const Node* node, const Split* split, Place* left, Place* right) except -1 nogil
    cdef Py_ssize_t add_node(self, const Place* place, const Split* split) except -1 nogil
    cdef int judge(self, const Node* node, Judgement* out) except -1 nogil
    cdef int refuse_judgement(self, const Judgement* judgement) except -1 nogil
    cdef int add_inner(self, const Judgement* judgement) except -1 nogil
    cdef void note_rows(self, const Node* node) noexcept nogil
    cdef int add_leaf(self, Node* node) except -1 nogil
    cdef int reserve_tree(self, Py_ssize_t most_leaves) except -1
    cdef int grow_depth_first(self, const Place* root) except -1 nogil
    cdef int grow_best_first(self, const Place* root) except -1 nogil
    cdef int add_candidate(self, const Place* place) except -1 nogil
    cdef bint goes_before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef bint stands_before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef void lend_subset(self, Candidate* candidate) noexcept nogil
    cdef Py_ssize_t pop(self) noexcept nogil
    cdef int poll(self, Py_ssize_t n_records) except -1 nogil
