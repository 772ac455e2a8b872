cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.grow.block cimport Block
from dforest.core.search.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.grow.frontier cimport Frontier, Place
from dforest.core.grow.path_features cimport PathFeatures
from dforest.core.sampling cimport SamplingPlan
from dforest.core.search.splitter cimport Splitter
from dforest.core.grow.team cimport Team
from dforest.core.types cimport Draw, LeafRules, Node, Split
from dforest.core.grow.writer cimport Judgement, TreeWriter
from dforest.rules.records cimport df_limits

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

cdef struct Subtree:               # given away; n_path_features of int32_t follow it in memory
    Trunk* trunk
    Place place
    Py_ssize_t n_path_features


@cython.final
cdef class Grower:
    cdef DataView data
    cdef Criterion criterion
    cdef Py_ssize_t first_weight, n_weights  # the words of a statistic that a leaf keeps: see Objective.weight_words
    cdef bint keeps_values         # leaves keep values and impurities too
    cdef Splitter splitter
    cdef df_limits limits
    cdef Py_ssize_t max_leaf_nodes  # 0: no limit, and depth-first growth
    cdef SamplingPlan sampling
    cdef const uint32_t[::1] counts  # how often the tree at hand draws each row; None: the sampling plan says it
    cdef const uint32_t[::1] weight  # of the rows in the tree at hand; None: the data's
    cdef Py_ssize_t capacity       # most records of a tree
    cdef Trunk own                 # of the trees that this grower begins
    cdef Py_ssize_t row_room, first_room  # of its rows and is_first
    cdef Trunk* trunk              # of the piece at hand
    cdef readonly int piece        # its number
    cdef Draw* draws               # the trunk's
    cdef int64_t* of_block         # [count_blocks(n_rows)] see Drawing
    cdef int64_t* statistics       # [n_words] of the node at hand
    cdef PathFeatures path         # of the node at hand, if the splitter asks for it
    cdef Block block
    cdef bint in_block
    cdef Py_ssize_t block_base     # the block's subtree is done when fewer nodes than this wait
    cdef Place* stack              # depth first: nodes to come
    cdef Py_ssize_t n_stack, stack_room
    cdef Py_ssize_t n_offered      # of those, from the bottom, that were given away or are too small for it
    cdef Py_ssize_t share_from     # subtrees of fewer records are not given away
    cdef readonly TreeWriter writer  # of the piece at hand
    cdef Frontier frontier         # best first
    cdef Py_ssize_t since_poll     # records seen since
    cdef Team team
    cdef int member                # this grower's number in it

    cdef int grow(self, uint32_t tree, uint32_t seed) except -1 nogil
    cdef bint help(self) except -1 nogil
    cdef int enter(self, Trunk* trunk, int piece) except -1 nogil
    cdef void give(self) noexcept nogil
    cdef int open(self, const Place* place, Node* node) except -1 nogil
    cdef int find_split(self, Node* node, Split* split) except -1 nogil
    cdef int find_foreign_split(self, const Node* node, Split* split) except -1 nogil
    cdef bint breaks_rules(self, const Place* place, const Node* node) noexcept nogil
    cdef Py_ssize_t partition_by_test(self, const Node* node, const Split* split, Draw* scratch) except -1 nogil
    cdef bint is_leaf(self, const Node* node) noexcept nogil
    cdef bint is_shared(self, int64_t n_visits) noexcept nogil
    cdef int divide(self, const Node* node, const Split* split, Place* left, Place* right) except -1 nogil
    cdef int judge(self, const Node* node, Judgement* out) except -1 nogil
    cdef void note_rows(self, const Node* node) noexcept nogil
    cdef int add_leaf(self, Node* node) except -1 nogil
    cdef int grow_depth_first(self, const Place* root) except -1 nogil
    cdef int grow_best_first(self, const Place* root) except -1 nogil
    cdef int write_candidates(self) except -1 nogil
    cdef int add_candidate(self, const Place* place) except -1 nogil
    cdef int poll(self, Py_ssize_t n_records) except -1 nogil
