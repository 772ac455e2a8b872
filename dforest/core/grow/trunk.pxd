"""The records of one tree, and what else its pieces share while they are grown.

Words: a *piece* is what one grower grows of a tree in one go: the tree from its root, or a subtree that was given away. A
*trunk* is what all pieces of one tree work on. Each node's records are a run of `draws`, and a piece writes nothing but its own
node's run, so pieces are grown at the same time, in place.

The grower that begins a tree owns the trunk, which `reserve_trunk` and `free_trunk` make and end, and uses it again for its next
tree. Growers of other threads work on it until all pieces are finished.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t

from dforest.core.threads cimport df_add_to
from dforest.core.types cimport LeafRules, Node, Record, data_row

cdef struct Trunk:                 # room for [capacity] records; all 0 before it is made
    Record* records                    # [n] the records, those of each node together
    Record* scratch                # [n] for searches and partitions: a node uses the stretch where its records are
    # Where the leaves of a tree are asked for, else NULL: the row of each record, which numbers in a block hide, and whether
    # the record is the first of its leaf. Written as leaves are, so they are complete when the last piece is finished.
    uint32_t* rows                 # [n]
    uint8_t* is_first              # [n]
    # Of data with sparse columns, else NULL: see Node.record_of
    uint32_t* record_of            # [rows]
    Py_ssize_t n                   # records
    uint32_t tree                  # its number in the forest; or that of given records: see Grower.grow_given
    uint32_t seed                  # of its random numbers
    int64_t root_weight            # of all its draws
    LeafRules rules                # what a side of each split has at least
    int n_pieces                   # begun so far; they are numbered from 0, the one with the root
    int n_open                     # begun and not finished


# Make room for `capacity` records, for their numbers by row, of n_numbered rows or 0, and, if leaves are to be kept, for their
# rows, unless there is. May be called for each tree.
cdef int reserve_trunk(Trunk* trunk, Py_ssize_t capacity, Py_ssize_t n_numbered, bint keeps_leaves) except -1 nogil

cdef void free_trunk(Trunk* trunk) noexcept nogil

# The records of a finished tree whose leaves were kept, in copies.
#
# Returns
# -------
# rows : ndarray of shape (n_records,), dtype uint32
#     The records' rows: those of each leaf together, leaves in preorder.
# is_first : ndarray of shape (n_records,), dtype bool
#     Which records are the first of their leaf.
cdef tuple leaf_table(const Trunk* trunk)


cdef inline void begin_tree(Trunk* trunk, uint32_t tree, uint32_t seed, int64_t root_weight, LeafRules rules) noexcept nogil:
    """Tell of the tree whose records have been drawn what all of its pieces need; the piece of the root is begun."""
    trunk.tree = tree
    trunk.seed = seed
    trunk.root_weight = root_weight
    trunk.rules = rules
    trunk.n_pieces = trunk.n_open = 1


cdef inline void number_records(Trunk* trunk, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
    """Note where n records are now, from the first one on, if they have numbers by row."""
    cdef Py_ssize_t i
    if trunk.record_of != NULL:
        for i in range(first, first + n):
            trunk.record_of[trunk.records[i].row] = <uint32_t> i


cdef inline int begin_piece(Trunk* trunk) noexcept nogil:
    """Count another piece as begun; return its number."""
    df_add_to(trunk.n_open, 1)
    return df_add_to(trunk.n_pieces, 1)


cdef inline bint end_piece(Trunk* trunk) noexcept nogil:
    """Count a piece as finished; whether all that were begun are."""
    return df_add_to(trunk.n_open, -1) == 1


cdef inline void note_leaf(Trunk* trunk, const Node* node) noexcept nogil:
    """Note which rows a leaf has, if leaves are to be kept."""
    cdef Py_ssize_t i, first
    if trunk.rows == NULL:
        return
    first = node.records - trunk.records
    for i in range(node.n):
        trunk.rows[first + i] = data_row(node.rows, node.records[i].row)
        trunk.is_first[first + i] = i == 0
