"""Where a node of a growing tree stands: what a grower keeps of a node until it looks at the node's records.

An `OpenNode` is a value. It owns no memory: its records lie in the draws of its tree (`dforest.core.grow.tree`).
"""
from libc.stdint cimport int32_t

from dforest.core.search.sums cimport NO_SUMS, Sums
from dforest.core.types cimport Node
from dforest.rules.node cimport df_child_of
from dforest.rules.records cimport df_open_node

cdef struct OpenNode:
    df_open_node at                # where it stands: its range of the tree's draws, its path, its scale, its bounds
    Py_ssize_t parent              # number of its parent in the part that is being written; -1: the part begins with it
    bint is_right                  # it is its parent's right child
    Sums sums                      # what is known of its draws
    int part                       # number of the part that grows here, as the subtree was given away; -1: it was not


cdef inline OpenNode first_node(const df_open_node* at) noexcept nogil:
    """The node with which a tree, or a subtree, begins whose records are all there are."""
    cdef OpenNode node
    node.at = at[0]
    node.at.first = 0
    node.parent = node.part = -1
    node.is_right = False
    node.sums.kind = NO_SUMS
    return node


cdef inline void set_children(const Node* node, Py_ssize_t n_left, int32_t monotonic_cst, double midpoint, OpenNode* left,
                              OpenNode* right) noexcept nogil:
    """Set a partitioned node's children, but for their parent's number and what is known of their draws.

    A node of the records 10 to 15 whose first 4 go left has children of the records 10 to 13, and 14 and 15.

    IN n_left : records that go left
    IN monotonic_cst : of the feature that the node tests: see Column.monotonic_cst
    IN midpoint : see Split.midpoint
    """
    left.at = df_child_of(&node.at, False, n_left, monotonic_cst, midpoint)
    right.at = df_child_of(&node.at, True, n_left, monotonic_cst, midpoint)
    left.is_right = False
    right.is_right = True
    left.part = right.part = -1
