"""The order of finished nodes: preorder, parts of arrays brought into it, and how parts of a tree become the tree.

A left child's number is its parent's + 1, so only right children's numbers are kept. Arrays that are returned are new.

A part of a tree (`dforest.core.tree.writer`) has placeholders where other parts belong. Between its placeholders lie ranges of
nodes, and of what is kept of them. The ranges of all parts, one after another in preorder, are the tree:

    part 0     0 1 (part 1) 7 8        a tree of the nodes 0 to 8, of which the nodes 2 to 6 were given away,
    part 1     2 (part 2) 6            and out of these the nodes 3 to 5
    part 2     3 4 5
    tree       0 1 | 2 | 3 4 5 | 6 | 7 8    five ranges
"""
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy

import numpy as np

from dforest.core.forest.assembly import TreeArrays


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


def lay_out(const int64_t[::1] roots not None, const int32_t[::1] feature not None, const int64_t[:, ::1] children not None,
            const int64_t[::1] lengths not None):
    """Where nodes, and subtrees below them, come to stand when trees are put into preorder, one after another.

    A *reference* is the number of a node, or -1 less the number of a subtree.

    Parameters
    ----------
    roots : ndarray of shape (n_trees,), dtype int64
        References to the roots.
    feature : ndarray of shape (n_nodes,), dtype int32
        Of the nodes that are in no subtree, numbered so that children come after their parents; -1: a leaf.
    children : ndarray of shape (n_nodes, 2), dtype int64
        References to those of each.
    lengths : ndarray of shape (n_subtrees,), dtype int64
        Nodes of each subtree.

    Returns
    -------
    of_nodes : ndarray of shape (n_nodes,), dtype int64
        The place of each node; -1: it is in no tree.
    of_subtrees : ndarray of shape (n_subtrees,), dtype int64
        The place of each subtree's first node; -1: it is in no tree.
    starts : ndarray of shape (n_trees + 1,), dtype int64
        Where each tree begins, and the last one ends.

    Examples
    --------
    A root, 0, whose left child is a subtree of 3 nodes, and whose right child, 1, is a leaf; and a tree that is a subtree:

    >>> import numpy as np
    >>> children = np.array([[-1, 1], [0, 0]])
    >>> lay_out(np.array([0, -2]), np.array([5, -1], np.int32), children, np.array([3, 9]))
    (array([0, 4]), array([1, 5]), array([ 0,  5, 14]))
    """
    cdef Py_ssize_t n = feature.shape[0], m = lengths.shape[0], i, reference
    # By reference, those of subtrees counted from the end.
    sizes = np.concatenate([np.ones(n, np.int64), np.asarray(lengths)[::-1]])
    at = np.full(n + m, -1)
    starts = np.zeros(roots.shape[0] + 1, np.int64)
    cdef int64_t[::1] size = sizes, place = at, start = starts
    with nogil:
        for i in range(n - 1, -1, -1):
            if feature[i] >= 0:
                for k in range(2):
                    reference = children[i, k]
                    size[i] += size[reference if reference >= 0 else n + m + reference]
        for i in range(roots.shape[0]):
            reference = roots[i] if roots[i] >= 0 else n + m + roots[i]
            place[reference] = start[i]
            start[i + 1] = start[i] + size[reference]
        for i in range(n):
            if feature[i] >= 0 and place[i] >= 0:
                reference = children[i, 0] if children[i, 0] >= 0 else n + m + children[i, 0]
                place[reference] = place[i] + 1
                place[children[i, 1] if children[i, 1] >= 0 else n + m + children[i, 1]] = place[i] + 1 + size[reference]
    return at[:n], at[n:][::-1], starts


def take_ranges(array, const int64_t[::1] firsts not None, const int64_t[::1] lengths not None):
    """Ranges of an array, one after another.

    Parameters
    ----------
    array : ndarray of shape (n, ...)
        C-contiguous.
    firsts, lengths : ndarray of shape (n_ranges,), dtype int64
        The first entry of each range along the first axis, and how many entries it has.

    Returns
    -------
    ndarray of shape (sum of lengths, ...)

    Raises
    ------
    ValueError
        If a range leads out of the array, or this is not contiguous.

    Examples
    --------
    >>> import numpy as np
    >>> take_ranges(np.array([10, 11, 12, 13]), np.array([2, 0]), np.array([2, 1]))
    array([12, 13, 10])
    """
    cdef Py_ssize_t i, n = array.shape[0], total = 0
    cdef size_t item = array.dtype.itemsize
    cdef size_t address = array.ctypes.data
    cdef const char* source = <const char*> address
    cdef char* to
    if not array.flags.c_contiguous or firsts.shape[0] != lengths.shape[0]:
        raise ValueError(f"{firsts.shape[0]} firsts, {lengths.shape[0]} lengths; allowed are as many, of a contiguous array")
    for i in range(firsts.shape[0]):
        if firsts[i] < 0 or lengths[i] < 0 or lengths[i] > n - firsts[i]:
            raise ValueError(f"a range of {lengths[i]} entries from {firsts[i]} on leads out of an array of {n}")
        total += lengths[i]
    found = np.empty((total, *array.shape[1:]), array.dtype)
    for length in array.shape[1:]:
        item *= length
    address = found.ctypes.data
    to = <char*> address
    with nogil:
        for i in range(firsts.shape[0]):
            memcpy(to, source + firsts[i] * item, lengths[i] * item)
            to += lengths[i] * item
    return found


# Columns of a table of placeholders: the part that belongs there, the placeholder's node ...
_PART, _NODE = 0, 1
# ... and how much of each of these arrays of the part comes before the placeholder.
_COUNTS = {"leaves": 2, "inner": 3, "payload_lengths": 4, "payload_words": 5, "entries": 6}


def join_parts(parts):
    """The tree that parts make up.

    Parameters
    ----------
    parts : dict of int to (TreeArrays, ndarray)
        Two or more parts by number, of which 0 has the root: a part's arrays, and its placeholders in preorder, of shape
        (n_placeholders, 7), dtype int64.

    Returns
    -------
    TreeArrays
    """
    ranges = []                  # (part, number of the range)
    pending = [(0, 0)]           # ranges to come, the next one last
    while pending:
        part, i = pending.pop()
        ranges.append((part, i))
        placeholders = parts[part][1]
        if i < len(placeholders):
            pending += [(part, i + 1), (int(placeholders[i, _PART]), 0)]
    split = {part: _split(*both) for part, both in parts.items()}
    fields = range(len(TreeArrays._fields))
    tree = TreeArrays(*(np.concatenate([split[part][field][i] for part, i in ranges]) for field in fields))
    number_children(tree.feature, tree.right)
    return tree


def _split(arrays, placeholders):
    """For each of a part's arrays, a list of its ranges."""
    split = []
    for name, array in zip(TreeArrays._fields, arrays, strict=True):
        if name in _COUNTS:
            edges = [0, *placeholders[:, _COUNTS[name]].tolist(), len(array)]
            split.append([array[first:last] for first, last in zip(edges, edges[1:], strict=False)])
        else:                    # the placeholder itself is left out
            edges = [-1, *placeholders[:, _NODE].tolist(), len(array)]
            split.append([array[first + 1:last] for first, last in zip(edges, edges[1:], strict=False)])
    return split
