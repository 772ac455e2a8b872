"""Where a node of a growing tree stands: what a grower keeps of a node until it looks at the node's records.

An `OpenNode` is a value. It owns no memory: its records lie in the draws of its tree (`dforest.core.grow.tree`).
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint64_t

from dforest.core.search.sums cimport NO_SUMS, Sums
from dforest.core.types cimport Node, Scale
from dforest.rules.bounds cimport df_bounds, df_child_bounds
from dforest.rules.random cimport DF_ROOT_PATH, df_child_path
from dforest.rules.records cimport df_open_node

cdef struct OpenNode:
    Py_ssize_t first, n            # its records: n of the tree's draws, from `first` on
    uint64_t path                  # what its random numbers follow from, beside the tree's seed
    Py_ssize_t depth               # the root's is 0
    Py_ssize_t parent              # number of its parent in the part that is being written; -1: the part begins with it
    bint is_right                  # it is its parent's right child
    Scale scale                    # of its records' targets
    int32_t weight_shift           # of its records' weights: see Node.exact_weight
    double lower, upper            # bounds of what it may predict
    Sums sums                      # what is known of its draws
    int part                       # number of the part that grows here, as the subtree was given away; -1: it was not


cdef inline OpenNode root_node(Py_ssize_t n) noexcept nogil:
    """A tree's root, given how many records the tree has."""
    cdef OpenNode root
    root.first = 0
    root.n = n
    root.path = DF_ROOT_PATH
    root.depth = 0
    root.parent = root.part = -1
    root.is_right = False
    root.scale.centre = 0.0            # a range of 0: whoever opens the node makes a scale of its targets
    root.scale.exponent = 0
    root.scale.range = 0
    root.weight_shift = 0
    root.lower = -INFINITY
    root.upper = INFINITY
    root.sums.kind = NO_SUMS
    return root


cdef inline OpenNode given_node(const df_open_node* node) noexcept nogil:
    """A node with which a tree, or a subtree, begins whose records are all there are."""
    cdef OpenNode open_node
    open_node.first = 0
    open_node.n = node.n
    open_node.path = node.path
    open_node.depth = node.depth
    open_node.parent = open_node.part = -1
    open_node.is_right = False
    open_node.scale.centre = node.centre
    open_node.scale.exponent = node.exponent
    open_node.scale.range = node.range
    open_node.weight_shift = node.weight_shift
    open_node.lower = node.lower
    open_node.upper = node.upper
    open_node.sums.kind = NO_SUMS
    return open_node


cdef inline void open_children(const Node* node, Py_ssize_t first, Py_ssize_t n_left, int32_t direction, double middle,
                               OpenNode* left, OpenNode* right) noexcept nogil:
    """Set a partitioned node's children, but for their parent's number and what is known of their draws.

    A node of the records 10 to 15 whose first 4 go left has children of the records 10 to 13, and 14 and 15.

    IN first : of the node's records, among its tree's draws
    IN n_left : records that go left
    IN direction : of the feature that the node tests: see Column.direction
    IN middle : see Split.middle
    """
    cdef df_bounds bounds, own
    bounds.lower = node.lower
    bounds.upper = node.upper
    left.first = first
    left.n = n_left
    right.first = first + n_left
    right.n = node.n - n_left
    left.path = df_child_path(node.path, 0)
    right.path = df_child_path(node.path, 1)
    left.depth = right.depth = node.depth + 1
    left.is_right = False
    right.is_right = True
    left.part = right.part = -1
    left.scale = right.scale = node.scale
    left.weight_shift = right.weight_shift = node.weight_shift
    own = df_child_bounds(bounds, False, direction, middle)
    left.lower = own.lower
    left.upper = own.upper
    own = df_child_bounds(bounds, True, direction, middle)
    right.lower = own.lower
    right.upper = own.upper
