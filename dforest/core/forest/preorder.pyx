"""What follows from the preorder of a forest's nodes: right children, depths, and whether nodes make trees at all.

Arrays are as `dforest.core.forest.arrays.Forest` has them. They are borrowed; what is returned is new.
"""
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.core.predict.walk cimport real_t


def right_children(const int32_t[::1] feature not None, const int64_t[::1] offsets not None):
    """The right children that the order of nodes implies.

    Parameters
    ----------
    feature : ndarray of shape (n_nodes,), dtype int32
        -1: a leaf.
    offsets : ndarray of shape (n_trees + 1,), dtype int64

    Returns
    -------
    ndarray of shape (n_nodes,), dtype uint32
        Of leaves: 0.
    """
    cdef Py_ssize_t n = feature.shape[0], n_trees = offsets.shape[0] - 1, t, i, n_open
    result = np.zeros(n, np.uint32)
    waiting = np.empty(n, np.uint32)      # nodes whose right child is to come, the lowest last
    cdef uint32_t[::1] right = result, opened = waiting
    for t in range(n_trees):
        if not 0 <= offsets[t] < offsets[t + 1] <= n:
            raise ValueError(f"the nodes of tree {t} begin at {offsets[t]} and end at {offsets[t + 1]} of {n}")
        n_open = 0
        for i in range(offsets[t], offsets[t + 1]):
            if feature[i] >= 0:
                opened[n_open] = <uint32_t> i
                n_open += 1
            elif i + 1 < offsets[t + 1]:
                if n_open == 0:
                    raise ValueError(f"tree {t} ends at its node {i - offsets[t]} of {offsets[t + 1] - offsets[t]}")
                n_open -= 1
                right[opened[n_open]] = <uint32_t> (i + 1 - offsets[t])
        if n_open > 0:
            raise ValueError(f"tree {t} lacks nodes")
    return result


def depths(const int32_t[::1] feature not None, const uint32_t[::1] right_child not None, const int64_t[::1] offsets not None):
    """The depth of each node: ndarray of shape (n_nodes,), dtype int64. The depth of a root is 0."""
    result = np.zeros(feature.shape[0], np.int64)
    cdef int64_t[::1] depth = result
    cdef Py_ssize_t t, i
    for t in range(offsets.shape[0] - 1):
        for i in range(offsets[t], offsets[t + 1]):
            if feature[i] >= 0:
                depth[i + 1] = depth[i] + 1
                depth[offsets[t] + right_child[i]] = depth[i] + 1
    return result


def leaf_totals(const int64_t[:, ::1] weight not None):
    """Sums of the rows of numbers not below 0; raise ValueError where one is 0 or leaves 63 bits."""
    cdef Py_ssize_t i, k
    cdef int64_t total
    result = np.empty(weight.shape[0], np.int64)
    cdef int64_t[::1] out = result
    with nogil:
        for i in range(weight.shape[0]):
            total = 0
            for k in range(weight.shape[1]):
                if weight[i, k] > INT64_MAX - total:
                    with gil:
                        raise ValueError(f"the weights in row {i} of leaf_weight sum up to 2**63 or more")
                total += weight[i, k]
            if total == 0:
                with gil:
                    raise ValueError(f"the weights in row {i} of leaf_weight are all 0")
            out[i] = total
    return result


def check_nodes(const int64_t[::1] offsets not None, const int32_t[::1] feature not None, const real_t[::1] threshold not None,
                const uint32_t[::1] link not None, const uint8_t[::1] missing_left not None,
                const int64_t[::1] leaf_draws not None, const int64_t[::1] leaf_total not None,
                const int64_t[::1] n_draws not None, const int32_t[::1] n_categories not None, bint has_own_tests,
                const int64_t[::1] payload_offsets not None,
                const uint64_t[::1] payload_words not None):
    """Raise ValueError unless nodes make trees.

    In preorder the subtree of node i is a run of nodes, its left child's subtree and then its right child's:

        i | i + 1 ... | right child ... | end

    so node i has a right child between i + 2 and end - 1, and is a leaf if and only if end is i + 1. The ends
    of right children's subtrees wait on a stack while the left ones are looked at.

    Parameters
    ----------
    offsets, feature, threshold, link, missing_left, leaf_draws, n_categories, payload_offsets, payload_words : ndarray
        As in `Forest`, of matching lengths; both offsets ascending.
    leaf_total : ndarray of shape (n_leaves,), dtype int64
        Total weight of each leaf.
    n_draws : ndarray of shape (n_trees,), dtype int64
        Draws that all leaves of a tree may have together: fewer where leaves learn from some of a tree's draws only.
    has_own_tests : bool
        Whether payloads are those of a splitter's own tests, and every inner node has one. If not, they are subsets.

    Returns
    -------
    int
        How many nodes are no leaves.
    """
    cdef Py_ssize_t n_trees = offsets.shape[0] - 1, n_leaves = leaf_draws.shape[0], n_features = n_categories.shape[0]
    cdef Py_ssize_t n_payloads = payload_offsets.shape[0] - 1, payload = 0, n_inner = 0, longest = 0, first, n, t, i, m
    cdef int64_t draws, weight
    cdef uint32_t end, leaf
    cdef int32_t f
    for t in range(n_trees):
        longest = max(longest, offsets[t + 1] - offsets[t])
    if longest >> 32:
        raise ValueError(f"a tree has {longest} nodes; allowed are fewer than 2**32")
    cdef uint32_t* ends = <uint32_t*> malloc((longest // 2 + 1) * sizeof(uint32_t))
    if ends == NULL:
        raise MemoryError()
    try:
        for t in range(n_trees):
            first = offsets[t]
            n = offsets[t + 1] - first
            end = <uint32_t> n
            m = 0
            draws = weight = 0
            for i in range(n):
                f = feature[first + i]
                if f >= 0:
                    if f >= n_features:
                        raise ValueError(f"node {i} of tree {t} tests feature {f}; allowed are 0 to {n_features - 1}")
                    if not i + 1 < link[first + i] < end:
                        raise ValueError(f"node {i} of tree {t} has the right child {link[first + i]}; allowed are {i + 2} "
                                         f"to {end - 1}")
                    ends[m] = end
                    m += 1
                    end = link[first + i]
                    n_inner += 1
                    if has_own_tests or n_categories[f] > 0:
                        if payload >= n_payloads:
                            raise ValueError(f"there are {n_payloads} payloads, but more nodes that have one")
                        if not has_own_tests and not is_subset(payload_words, payload_offsets[payload],
                                                               payload_offsets[payload + 1], n_categories[f]):
                            raise ValueError(f"the subset of node {i} of tree {t} has other categories than the "
                                             f"{n_categories[f]} of feature {f}")
                        payload += 1
                    elif threshold[first + i] != threshold[first + i]:
                        raise ValueError(f"node {i} of tree {t} has the threshold NaN; allowed are numbers")
                    continue
                leaf = link[first + i]
                if f != -1:
                    raise ValueError(f"node {i} of tree {t} tests feature {f}; that of a leaf is -1")
                if i + 1 != end:
                    raise ValueError(f"node {i} of tree {t} is a leaf, but the next right child is node {end}")
                if leaf >= n_leaves:
                    raise ValueError(f"node {i} of tree {t} has row {leaf} of the leaf tables; allowed are 0 to {n_leaves - 1}")
                if leaf_draws[leaf] > n_draws[t] - draws or leaf_total[leaf] > INT64_MAX - weight:
                    raise ValueError(f"the leaves of tree {t} have more than its {n_draws[t]} draws, or weights of 2**63 or more")
                draws += leaf_draws[leaf]
                weight += leaf_total[leaf]
                if m > 0:
                    m -= 1
                    end = ends[m]
        if payload != n_payloads:
            raise ValueError(f"there are {n_payloads} payloads, but {payload} nodes that have one")
    finally:
        free(ends)
    return n_inner


cdef inline bint is_subset(const uint64_t[::1] words, int64_t first, int64_t last, int64_t n_categories) noexcept nogil:
    """Whether the subset in some words has no category from a number on."""
    cdef int64_t room = n_categories - 64 * (last - first - 1)       # bits of the last word
    return first == last or room >= 64 or (room > 0 and words[last - 1] >> room == 0)
