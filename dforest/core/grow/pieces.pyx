"""Puts the pieces of a tree together.

A *piece* is what one thread grew of a tree: a subtree in preorder, with *holes*, nodes in whose place
other pieces belong (see `Hole` in `dforest/core/grow/writer.pxd`). Between its holes lie *runs*, of nodes and of all that
belongs to these; the runs of all pieces, in preorder, are the tree.
"""
from libc.stdint cimport int32_t, uint32_t

import numpy as np

from dforest.core.forest.assembly import TreeArrays

# Columns of a table of holes: which piece, its node, and how much comes before the hole of ...
_PIECE, _NODE = 0, 1
_COUNTS = {"leaves": 2, "inner": 3, "payload_lengths": 4, "payload_words": 5}


def join_pieces(pieces):
    """The tree that pieces make up.

    Parameters
    ----------
    pieces : dict of int to (TreeArrays, ndarray)
        By number, 0 is the root's, of two or more: its arrays, and its holes in preorder, of shape (n_holes, 6), dtype int64.

    Returns
    -------
    TreeArrays
    """
    runs = []                    # (piece, number of the run)
    pending = [(0, 0)]
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
    """Each of a piece's arrays as a list with an array for each run."""
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
        Of a tree in preorder; -1: a leaf.
    right : ndarray of shape (n,), dtype uint32
        OUT, but for leaves.
    """
    cdef Py_ssize_t i, n = feature.shape[0], n_waiting = 0
    if n >= <Py_ssize_t> <uint32_t> -1:
        raise OverflowError("a tree has more than 2**32 nodes; limit max_depth or min_samples_leaf")
    cdef uint32_t[::1] waiting = np.empty((n + 1) // 2 + 1, np.uint32)      # children to come, the next one last
    with nogil:
        for i in range(n - 1, -1, -1):
            if feature[i] >= 0:
                right[i] = waiting[n_waiting - 2]
                n_waiting -= 2
            waiting[n_waiting] = <uint32_t> i
            n_waiting += 1
