"""Grows trees, one at a time, on one thread, and keeps the nodes that are still to come: see grower.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t

from dforest.core.data cimport DataView
from dforest.core.grow.subtree_cache cimport SubtreeCache
from dforest.core.grow.label_order cimport LabelOrder
from dforest.core.grow.node_decision cimport NodeDecision
from dforest.core.grow.open_node cimport OpenNode
from dforest.core.grow.records cimport Drawing
from dforest.core.grow.small_subtree cimport SmallSubtree
from dforest.core.team cimport Team
from dforest.core.grow.tree cimport PathFeatures, TreeRecords
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.splitter cimport Splitter
from dforest.core.tree.buffers cimport ensure_room
from dforest.core.tree.split_heap cimport SplitHeap
from dforest.core.tree.writer cimport TreeWriter, Words
from dforest.core.types cimport Node, Record, Split
from dforest.rules.records cimport df_open_node

cdef enum:
    PARALLEL_FROM = 2000           # records of a subtree that is worth giving away, by default


@cython.final
cdef class Stack:
    cdef OpenNode* open_nodes      # [n] the node that comes next is the last one
    cdef Py_ssize_t n, room
    cdef Py_ssize_t n_offered      # nodes from the bottom of the stack that were given away, or are too small for it
    cdef Py_ssize_t parallel_from  # subtrees of fewer records are not given away

    cdef inline int begin(self, const OpenNode* root) except -1 nogil:
        """Begin a part, with the node that it has above all others."""
        ensure_room(<void**> &self.open_nodes, &self.room, 1, sizeof(OpenNode))
        self.open_nodes[0] = root[0]
        self.n = 1
        self.n_offered = 0
        return 0

    cdef inline int push(self, const OpenNode* left, const OpenNode* right) except -1 nogil:
        """Have two children come next, the left one first."""
        ensure_room(<void**> &self.open_nodes, &self.room, self.n + 2, sizeof(OpenNode))
        self.open_nodes[self.n] = right[0]
        self.open_nodes[self.n + 1] = left[0]
        self.n += 2
        return 0

    cdef inline void pop(self, OpenNode* out) noexcept nogil:
        """Take the node that comes next."""
        self.n -= 1
        self.n_offered = min(self.n_offered, self.n)
        out[0] = self.open_nodes[self.n]

    # Give pending subtrees to idle members of a team, those nearest to the root first; but none in the subtree that the cache
    # has, unless that is an outer one.
    # IN path : the features on the path to the node taken last, if somebody asks for them
    cdef void give(self, Team team, TreeRecords* tree_records, PathFeatures path, SubtreeCache cache) noexcept nogil


# Take a subtree that was given away, which ends it; return its `TreeRecords`. OUT open_node : its uppermost node, in the part
# whose number is open_node.part. OUT path : the features on the path to it
cdef TreeRecords* take_subtree(void* offer, OpenNode* open_node, PathFeatures path) noexcept nogil


cdef struct Candidate:             # a node whose best split is known, numbered in order of creation
    OpenNode open_node             # its parent is a candidate's number, or, once the tree is written, a node's
    Split split                    # the best one; feature -1: the node stays a leaf
    Py_ssize_t payload_at          # where its payload lies in Frontier.payloads; -1: it has none
    Py_ssize_t left                # number of its left child, the right child's is 1 more; -1: a leaf so far
    # The lowest candidate on the path, from the root to this one, whose split uses a feature that no split above it uses;
    # -1: there is none, or no splitter asks for it
    Py_ssize_t last_new


@cython.final
cdef class Frontier:
    cdef Candidate* candidates
    cdef Py_ssize_t n_candidates, candidate_room
    cdef SplitHeap heap            # candidates that can be split; once the tree is written, those to come, the next one last
    cdef Words payloads            # of candidates, one after another
    cdef double* node_values       # [n_candidates, n_node_values] see NodeDecision.inner_values; set of those that can be split
    cdef Py_ssize_t node_values_room, n_node_values

    # Begin a tree.
    cdef void clear(self) noexcept nogil

    # While a tree is grown
    cdef int add(self, const OpenNode* open_node, const Split* split, const double* node_values, int32_t exponent,
                 bint uses_new_feature) except -1 nogil
    cdef Py_ssize_t pop(self) noexcept nogil
    cdef void recall_path(self, Py_ssize_t parent, PathFeatures path) noexcept nogil

    cdef inline Py_ssize_t n_leaves(self) noexcept nogil:
        """Leaves of the tree, if no more nodes are split: every split has two children."""
        return (self.n_candidates + 1) // 2

    # When it is written
    cdef int begin_preorder(self) except -1 nogil
    cdef Py_ssize_t next_in_preorder(self) noexcept nogil
    cdef void put_children(self, const Candidate* candidate, Py_ssize_t number) noexcept nogil

    cdef double* node_values_of(self, Py_ssize_t number) noexcept nogil
    cdef void lend_payload(self, Candidate* candidate) noexcept nogil


@cython.final
cdef class Grower:
    cdef Criterion criterion
    cdef Splitter splitter
    cdef Py_ssize_t max_leaf_nodes         # 0: no limit, and depth-first growth
    cdef Py_ssize_t max_records            # of a tree
    cdef bint keeps_leaves                 # of the trees that this grower begins: see TreeRecords.rows
    # Its parts
    cdef readonly Drawing drawing          # None: records are given
    cdef LabelOrder label_order            # None: labels are ordered node by node
    cdef NodeDecision decision
    cdef SubtreeCache cache
    cdef readonly SmallSubtree small       # depth first
    cdef PathFeatures path                 # to the node at hand; empty unless the splitter asks for it
    cdef Stack stack                       # depth first
    cdef Frontier frontier                 # best first
    cdef readonly TreeWriter writer        # of the part at hand
    cdef TreeRecords own                   # of the trees that this grower begins
    # The part at hand
    cdef TreeRecords* tree_records
    cdef Node node                         # the one at hand
    cdef readonly int part                 # its number
    # Other threads
    cdef Team team
    cdef int member                        # this grower's number in the team
    cdef Py_ssize_t since_poll             # records of the nodes that were looked at since the last poll

    # Grow a tree, but for the parts that are given away.
    cdef int grow(self, uint32_t tree, uint32_t seed) except -1 nogil

    # Grow n trees or subtrees of given records, one after another into one part, which has a number as a tree has. If they are
    # several, none of them may have as many records as are worth giving away. IN records : theirs start at given[i].first
    cdef int grow_given(self, uint32_t number, const Record* records, const df_open_node* given, Py_ssize_t n) except -1 nogil

    # Wait for work of other growers, and do it until it is a part of a tree; False: no work is left.
    cdef bint help(self) except -1 nogil

    cdef int grow_part(self, TreeRecords* tree_records, int part, const OpenNode* root) except -1 nogil
    cdef void enter(self, TreeRecords* tree_records) noexcept nogil
    cdef void go_to(self, const OpenNode* open_node) noexcept nogil
    cdef bint is_parallel(self, int64_t n_visits) noexcept nogil
    cdef int divide(self, const Split* split, OpenNode* left, OpenNode* right) except -1 nogil
    cdef int grow_nodes(self, const OpenNode* root) except -1 nogil
    cdef Py_ssize_t visit(self, OpenNode* open_node, Split* split) except -2 nogil
    cdef int hold(self, OpenNode* open_node, const Split* split) except -1 nogil
    cdef Py_ssize_t recall_best(self, Split* split) noexcept nogil
    cdef int write_candidates(self) except -1 nogil
    cdef Py_ssize_t write(self, const OpenNode* open_node, const Split* split, const double* node_values) except -2 nogil
    cdef int poll(self, Py_ssize_t n_records) except -1 nogil
