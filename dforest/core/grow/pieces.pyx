"""Puts the pieces of a tree together.

Words: a *piece* is what one grower grew of a tree in one go: the tree from its root, or a subtree that was given away, in
preorder. A *hole* is a node of a piece in whose place another piece belongs (see `Hole` in `dforest/core/grow/writer.pxd`).
Between the holes of a piece lie its *runs*: nodes, and what is kept of them. The runs of all pieces, one after another in
preorder, are the tree:

    piece 0     0 1 (piece 1) 7 8        a tree of the nodes 0 to 8, of which the nodes 2 to 6 were given away,
    piece 1     2 (piece 2) 6            and out of these the nodes 3 to 5
    piece 2     3 4 5
    tree        0 1 | 2 | 3 4 5 | 6 | 7 8    five runs

The arrays of pieces are copied into those of the tree, which the caller owns.
"""
from libc.stdint cimport int32_t, uint32_t

import numpy as np

from dforest.core.forest.assembly import TreeArrays

# Columns of a table of holes: the piece that belongs there, the hole's node ...
_PIECE, _NODE = 0, 1
# ... and how much of each of these arrays of the piece comes before the hole.
_COUNTS = {"leaves": 2, "inner": 3, "payload_lengths": 4, "payload_words": 5}


def join_pieces(pieces):
    """The tree that pieces make up.

    Parameters
    ----------
    pieces : dict of int to (TreeArrays, ndarray)
        Two or more pieces by number, of which 0 has the root: a piece's arrays, and its holes in preorder, of shape (n_holes, 6),
        dtype int64.

    Returns
    -------
    TreeArrays
    """
    runs = []                    # (piece, number of the run)
    pending = [(0, 0)]           # runs to come, the next one last
    while pending:
        piece, run = pending.pop()
        runs.append((piece, run))
        holes = pieces[piece][1]
        if run < len(holes):
            pending += [(piece, run + 1), (int(holes[run, _PIECE]), 0)]
    split = {piece: _split(*both) for piece, both in pieces.items()}
    tree = TreeArrays(*(np.concatenate([split[piece][i][run] for piece, run in runs]) for i in range(len(TreeArrays._fields))))
    number_children(tree.feature, tree.right)
    return tree


def _split(arrays, holes):
    """For each of a piece's arrays, a list with the part of each run."""
    split = []
    for name, array in zip(TreeArrays._fields, arrays, strict=True):
        if name in _COUNTS:
            edges = [0, *holes[:, _COUNTS[name]].tolist(), len(array)]
            split.append([array[first:last] for first, last in zip(edges, edges[1:], strict=False)])
        else:                    # the hole itself is left out
            edges = [-1, *holes[:, _NODE].tolist(), len(array)]
            split.append([array[first + 1:last] for first, last in zip(edges, edges[1:], strict=False)])
    return split


def number_children(const int32_t[::1] feature not None, uint32_t[::1] right not None):
    """Set the number of each inner node's right child.

    Parameters
    ----------
    feature : ndarray of shape (n,), dtype int32
        Feature that each node of a tree tests, in preorder; -1: a leaf.
    right : ndarray of shape (n,), dtype uint32
        OUT : the number of each inner node's right child; leaves keep what they have.

    Notes
    -----
    Nodes are looked at from the last one to the first, and wait on a stack until their parent comes. Of the features 5, -1, 2,
    -1, -1, the nodes 4 and 3 wait when node 2 comes, so its right child is 4. Then 2 and 1 wait when node 0 comes, so its right
    child is 2.
    """
    cdef Py_ssize_t i, n = feature.shape[0], n_waiting = 0
    if n >= <Py_ssize_t> <uint32_t> -1:
        raise OverflowError("a tree has more than 2**32 nodes; limit max_depth or min_samples_leaf")
    cdef uint32_t[::1] waiting = np.empty((n + 1) // 2 + 1, np.uint32)      # nodes without a parent yet, the lowest number last
    with nogil:
        for i in range(n - 1, -1, -1):
            if feature[i] >= 0:
                right[i] = waiting[n_waiting - 2]
                n_waiting -= 2
            waiting[n_waiting] = <uint32_t> i
            n_waiting += 1
