"""Grows trees, one at a time, on one thread: see grower.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint32_t

from dforest.core.data cimport DataView
from dforest.core.grow.block cimport Block
from dforest.core.grow.drawing cimport Drawing
from dforest.core.grow.frontier cimport Frontier
from dforest.core.grow.judge cimport Judge
from dforest.core.grow.path_features cimport PathFeatures
from dforest.core.grow.place cimport Place
from dforest.core.grow.stack cimport Stack
from dforest.core.grow.team cimport Team
from dforest.core.grow.trunk cimport Trunk
from dforest.core.grow.twig cimport Twig
from dforest.core.grow.writer cimport TreeWriter
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport Node, Record, Split
from dforest.rules.records cimport df_open_node


@cython.final
cdef class Grower:
    cdef Criterion criterion
    cdef Splitter splitter
    cdef Py_ssize_t max_leaf_nodes         # 0: no limit, and depth-first growth
    cdef Py_ssize_t most_records           # of a tree
    cdef bint keeps_leaves                 # of the trees that this grower begins: see Trunk.rows
    # Its parts
    cdef readonly Drawing drawing          # None: records are given
    cdef Judge judge
    cdef Block block
    cdef readonly Twig twig                # depth first
    cdef PathFeatures path                 # to the node at hand; empty unless the splitter asks for it
    cdef Stack stack                       # depth first
    cdef Frontier frontier                 # best first
    cdef readonly TreeWriter writer        # of the piece at hand
    cdef Trunk own                         # of the trees that this grower begins
    # The piece at hand
    cdef Trunk* trunk
    cdef readonly int piece                # its number
    # Other threads
    cdef Team team
    cdef int member                        # this grower's number in the team
    cdef Py_ssize_t since_poll             # records of the nodes that were looked at since the last poll

    # Grow a tree, but for the pieces that are given away.
    cdef int grow(self, uint32_t tree, uint32_t seed) except -1 nogil

    # Grow n trees or subtrees of given records, one after another into one piece, which has a number as a tree has. If they are
    # several, none of them may have as many records as are worth giving away. IN records : theirs start at places[i].first
    cdef int grow_given(self, uint32_t number, const Record* records, const df_open_node* places, Py_ssize_t n) except -1 nogil

    # Wait for work of other growers, and do it until it is a piece of a tree; False: no work is left.
    cdef bint help(self) except -1 nogil

    cdef int grow_piece(self, Trunk* trunk, int piece, const Place* root) except -1 nogil
    cdef void fill_node(self, const Place* place, Node* node) noexcept nogil
    cdef bint is_shared(self, int64_t n_visits) noexcept nogil
    cdef int divide(self, const Node* node, const Split* split, Place* left, Place* right) except -1 nogil
    cdef int grow_depth_first(self, const Place* root) except -1 nogil
    cdef int grow_best_first(self, const Place* root) except -1 nogil
    cdef int add_candidate(self, const Place* place) except -1 nogil
    cdef int write_candidates(self) except -1 nogil
    cdef int add_leaf(self, Node* node, Py_ssize_t parent, bint is_right) except -1 nogil
    cdef int poll(self, Py_ssize_t n_records) except -1 nogil
