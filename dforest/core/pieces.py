"""Puts the pieces of a tree together.

A *piece* is what one thread grew of a tree: a subtree in preorder, with *holes*, nodes in whose place
other pieces belong (see `Hole` in grower.pxd). Between its holes lie *runs*, of nodes and of all that
belongs to these; the runs of all pieces, in preorder, are the tree.
"""

from collections import defaultdict

import numpy as np

from dforest.core.forest_arrays import TreeArrays

# Columns of a table of holes: which piece, its node, and how much comes before of ...
_PIECE, _NODE = 0, 1
_COUNTS = {"leaves": 2, "inner": 3, "subset_lengths": 4, "subset_words": 5}


def join_pieces(pieces):
    """The tree that pieces make up.

    Parameters
    ----------
    pieces : dict of int to (TreeArrays, ndarray)
        By number, 0 is the root's: its arrays, and its holes in preorder, of shape (n_holes, 6), dtype int64.

    Returns
    -------
    TreeArrays
    """
    if len(pieces) == 1:
        return pieces[0][0]
    runs = []  # (piece, number of the run)
    starts = defaultdict(list)  # of a piece's runs: the number in the tree of their first node
    n_nodes = 0
    edges = {number: [-1, *holes[:, _NODE].tolist(), len(arrays.feature)] for number, (arrays, holes) in pieces.items()}
    pending = [(0, 0)]
    while pending:
        piece, run = pending.pop()
        runs.append((piece, run))
        starts[piece].append(n_nodes)
        n_nodes += edges[piece][run + 1] - edges[piece][run] - 1
        if run < len(pieces[piece][1]):
            pending += [(piece, run + 1), (int(pieces[piece][1][run, _PIECE]), 0)]
    if n_nodes >= 2**32:
        raise OverflowError("a tree has more than 2**32 nodes; limit max_depth or min_samples_leaf")
    parts = {number: _split(*pieces[number], edges[number], starts[number]) for number in pieces}
    return TreeArrays(*(np.concatenate([parts[piece][i][run] for piece, run in runs]) for i in range(len(TreeArrays._fields))))


def _split(arrays, holes, edges, starts):
    """Each of a piece's arrays as a list with an array for each run; right children numbered as in the tree."""
    # A hole is the end of the run before it, which is where its piece starts.
    shift = np.array(starts) - np.array(edges[:-1]) - 1
    right = arrays.right + shift[np.searchsorted(holes[:, _NODE], arrays.right)]
    arrays = arrays._replace(right=right.astype(arrays.right.dtype))
    split = []
    for name, array in zip(TreeArrays._fields, arrays, strict=True):
        if name in _COUNTS:
            cuts = [0, *holes[:, _COUNTS[name]].tolist(), len(array)]
            split.append([array[a:b] for a, b in zip(cuts, cuts[1:], strict=False)])
        else:
            split.append([array[a + 1 : b] for a, b in zip(edges, edges[1:], strict=False)])
    return split
