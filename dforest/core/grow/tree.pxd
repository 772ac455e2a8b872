"""A tree, or a part of one, while it is grown: see tree.pyx.

The grower that begins a tree owns the `TreeRecords`, which `reserve_records` and `free_records` make and end, and uses it again
for its next tree. Growers of other threads work on it until all parts are finished.
"""
cimport cython
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from dforest.core.threads cimport df_add_to
from dforest.core.types cimport LeafRules, Node, Record, data_row

cdef struct TreeRecords:           # room for [capacity] records; all 0 before it is made
    Record* records                    # [n] the records, those of each node together
    Record* scratch                # [n] for searches and partitions: a node uses the range where its records are
    # Where the leaves of a tree are asked for, else NULL: the row of each record, which numbers in a subtree cache hide, and
    # whether the record is the first of its leaf. Written as leaves are, so they are complete when the last part is finished.
    uint32_t* rows                 # [n]
    uint8_t* is_first              # [n]
    # Of data with sparse columns, else NULL: see Node.record_of
    uint32_t* record_of            # [rows]
    Py_ssize_t n                   # records
    uint32_t tree                  # its number in the forest; or that of given records: see Grower.grow_given
    uint32_t seed                  # of its random numbers
    double root_weight             # of all its draws, in the units of all rows' integers
    const double* exact_weight     # [n_rows] see Node.exact_weight
    const uint32_t* const* label_ranks     # see Node.label_ranks
    LeafRules rules                # what a side of each split has at least
    int n_parts                    # begun so far; they are numbered from 0, the one with the root
    int n_open                     # begun and not finished


# Make room for `capacity` records, for their numbers by row, of n_numbered rows or 0, and, if leaves are to be kept, for their
# rows, unless there is. May be called for each tree.
cdef int reserve_records(TreeRecords* tree_records, Py_ssize_t capacity, Py_ssize_t n_numbered, bint keeps_leaves) except -1 nogil

cdef void free_records(TreeRecords* tree_records) noexcept nogil

# The records of a finished tree whose leaves were kept, in copies.
#
# Returns
# -------
# rows : ndarray of shape (n_records,), dtype uint32
#     The records' rows: those of each leaf together, leaves in preorder.
# is_first : ndarray of shape (n_records,), dtype bool
#     Which records are the first of their leaf.
cdef tuple leaf_table(const TreeRecords* tree_records)


cdef inline void begin_tree(TreeRecords* tree_records, uint32_t tree, uint32_t seed, double root_weight,
                            LeafRules rules) noexcept nogil:
    """Tell of the tree whose records have been drawn what all of its parts need; the part of the root is begun."""
    tree_records.tree = tree
    tree_records.seed = seed
    tree_records.root_weight = root_weight
    tree_records.rules = rules
    tree_records.n_parts = tree_records.n_open = 1


cdef inline void number_records(TreeRecords* tree_records, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
    """Note where n records are now, from the first one on, if they have numbers by row."""
    cdef Py_ssize_t i
    if tree_records.record_of != NULL:
        for i in range(first, first + n):
            tree_records.record_of[tree_records.records[i].row] = <uint32_t> i


cdef inline int begin_part(TreeRecords* tree_records) noexcept nogil:
    """Count another part as begun; return its number."""
    df_add_to(tree_records.n_open, 1)
    return df_add_to(tree_records.n_parts, 1)


cdef inline bint end_part(TreeRecords* tree_records) noexcept nogil:
    """Count a part as finished; whether all that were begun are."""
    return df_add_to(tree_records.n_open, -1) == 1


cdef inline void note_leaf(const TreeRecords* tree_records, const Node* node) noexcept nogil:
    """Note which rows a leaf has, if leaves are to be kept."""
    cdef Py_ssize_t i, first
    if tree_records.rows == NULL:
        return
    first = node.at.first
    for i in range(node.n):
        tree_records.rows[first + i] = data_row(node.rows, node.records[i].row)
        tree_records.is_first[first + i] = i == 0


@cython.final
cdef class PathFeatures:
    cdef Py_ssize_t n
    cdef int32_t* features         # [n], room for all; features in use, each once, in order of first use; NULL: no splitter asks
    cdef Py_ssize_t* depths        # [n] depth of the node whose split was the first to use the feature
    cdef uint64_t* bits            # a bit for each feature: whether it is in use

    # Go to a node of this depth: forget the features that no node above it used first.
    cdef void leave(self, Py_ssize_t depth) noexcept nogil

    # Note the feature that the split of a node uses, given the node's depth, or -1 if it is above all that will be left; return
    # whether no split above uses it.
    cdef bint add(self, Py_ssize_t feature, Py_ssize_t depth) noexcept nogil

    # How many features the splits of nodes above this depth use.
    cdef Py_ssize_t count_above(self, Py_ssize_t depth) noexcept nogil

    # Turn the order around, where features were noted from the node up.
    cdef void reverse(self) noexcept nogil
