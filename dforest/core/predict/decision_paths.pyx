"""The nodes on the way from the roots to the leaves that rows reach. Arrays are borrowed, and those that are returned are new."""
from libc.stdint cimport int32_t, int64_t, uint32_t

import numpy as np

from dforest.core.threads cimport WorkerContext, current_worker, poll


def paths_to(const int32_t[::1] feature not None, const uint32_t[::1] right_child not None, const int64_t[::1] offsets not None,
             const int64_t[:, ::1] leaf not None):
    """The nodes that rows pass, over all trees.

    Parameters
    ----------
    feature, right_child, offsets : ndarray
        As in `Forest`.
    leaf : ndarray of shape (n, n_trees), dtype int64
        The number of the leaf where each row arrives in each tree.

    Returns
    -------
    indices : ndarray, dtype int64
        Places in the node arrays, row after row, ascending in each.
    indptr : ndarray of shape (n + 1,), dtype int64
        Where in `indices` the nodes of each row begin.
    """
    cdef Py_ssize_t n = leaf.shape[0], n_trees = offsets.shape[0] - 1, i, j, t, place
    cdef int64_t[::1] parent = np.full(feature.shape[0], -1, np.int64), depth = np.zeros(feature.shape[0], np.int64)
    cdef WorkerContext worker = current_worker()
    starts = np.zeros(n + 1, np.int64)
    cdef int64_t[::1] indptr = starts
    if leaf.shape[1] != n_trees:
        raise ValueError(f"leaves of {leaf.shape[1]} trees; the forest has {n_trees}")
    with nogil:
        for t in range(n_trees):
            for i in range(offsets[t], offsets[t + 1]):
                if feature[i] >= 0:
                    parent[i + 1] = parent[offsets[t] + right_child[i]] = i
                    depth[i + 1] = depth[offsets[t] + right_child[i]] = depth[i] + 1
            poll(&worker, offsets[t + 1] - offsets[t])
        for i in range(n):
            indptr[i + 1] = indptr[i]
            for t in range(n_trees):
                if not 0 <= leaf[i, t] < offsets[t + 1] - offsets[t]:
                    with gil:
                        raise ValueError(f"row {i} reaches node {leaf[i, t]} of tree {t}; allowed are 0 to "
                                         f"{offsets[t + 1] - offsets[t] - 1}")
                indptr[i + 1] += depth[offsets[t] + leaf[i, t]] + 1
            poll(&worker, n_trees)
    result = np.empty(indptr[n], np.int64)
    cdef int64_t[::1] to = result
    with nogil:
        for i in range(n):
            place = indptr[i + 1]
            poll(&worker, place - indptr[i])
            for t in range(n_trees - 1, -1, -1):
                j = offsets[t] + leaf[i, t]
                while j >= 0:              # ancestors have lower numbers
                    place -= 1
                    to[place] = j
                    j = parent[j]
    return result, starts
