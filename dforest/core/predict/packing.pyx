"""Trees as packed nodes: which slot each node gets, and what is written there. What slots are: see `walk.h`.

The arrays made here belong to the `PackedForest` that asks for them.
"""
from typing import NamedTuple

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

import numpy as np

from dforest.core.threads cimport Turn, current_turn, poll
from dforest.core.predict.walk cimport (
    DF_VALUE_ROWS, df_narrow, df_packed, df_tree, df_wide, df_write_leaf, df_write_number, df_write_subset, real_t,
)

cdef enum:
    LEVELS = 10               # of a tree that lie together at its beginning

WIDE_BITS = 30                # of a feature's number in a wide slot


class PackedArrays(NamedTuple):
    """All that prediction needs of a forest.

    Attributes
    ----------
    slots : ndarray of shape (n_bytes,), dtype int8
    starts : ndarray of shape (n_trees + 1,), dtype int64
    words : ndarray, dtype uint64, or None
    bits : int
    is_wide : bool
        As in `df_packed` of walk.h.
    n_first : ndarray of shape (n_trees,), dtype int32
        Steps that rows take in each tree before they are asked whether they have arrived.
    depth : ndarray of shape (n_trees,), dtype int64
        Of the deepest leaf, but 1 at least.
    n_steps : float
        Of a row over all trees, about.
    values : ndarray of shape (n_values, n_outputs), dtype float64
        What leaves add.
    bases : ndarray of shape (n_trees,), dtype int64
        Where in `values` the rows of each tree begin.
    """

    slots: np.ndarray
    starts: np.ndarray
    words: np.ndarray | None
    bits: int
    is_wide: bool
    n_first: np.ndarray
    depth: np.ndarray
    n_steps: float
    values: np.ndarray
    bases: np.ndarray


def pack_trees(forest, values, rows, is_wide):
    """Pack a forest's trees.

    Parameters
    ----------
    forest : Forest
    values : ndarray of shape (n_values, n_outputs), dtype float64
        What leaves add to the prediction.
    rows : ndarray of shape (n_leaf_nodes,), dtype uint32
        Which row of the values each leaf adds, in the order of the nodes.
    is_wide : bool
        Whether slots have 16 bytes even where 8 would do.

    Returns
    -------
    PackedArrays
    """
    n_trees, offsets, leaf = forest.n_trees, forest.node_offsets, forest.feature < 0
    starts = offsets + np.arange(n_trees + 1)
    if len(rows) != leaf.sum() or rows.max() >= len(values):
        raise ValueError(f"{leaf.sum()} leaves, {len(rows)} rows up to {rows.max(initial=0)} of {len(values)} values")
    first_leaf = np.append(0, np.cumsum(leaf))[offsets[:n_trees]]
    bases = np.minimum.reduceat(rows, first_leaf).astype(np.int64)
    highest = np.maximum.reduceat(rows, first_leaf)
    is_wide = (is_wide or np.diff(offsets).max() >= 1 << max(0, 30 - slot_bits(forest.n_features, False))
               or (highest - bases).max() >= DF_VALUE_ROWS or not is_float32(forest.threshold))
    bits = slot_bits(forest.n_features, is_wide)
    words, places = None, np.empty(0, np.int64)
    if len(forest.payload_offsets) > 1:
        words, places = payload_words(forest)
    slots = empty_aligned((len(leaf) + n_trees) * slot_size(is_wide))
    write_slots(slots, starts, bits, is_wide, bases, slot_numbers(forest.feature, forest.right_child, offsets),
                forest.feature, forest.threshold, forest.missing_left.view(np.uint8), offsets, rows, places,
                forest.n_categories, forest.splitter is not None)
    n_first, depth, n_steps = steps_of_rows(forest.feature, forest.link, offsets, forest.leaf_draws)
    return PackedArrays(slots, starts, words, bits, is_wide, n_first, depth, n_steps, values, bases)


def slot_bits(n_features, is_wide):
    """How many bits of a slot are a feature's number."""
    return WIDE_BITS if is_wide else max(1, int(n_features - 1).bit_length())


def slot_size(is_wide):
    """Bytes of a slot."""
    return sizeof(df_wide) if is_wide else sizeof(df_narrow)


def slot_numbers(const int32_t[::1] feature not None, const uint32_t[::1] right_child not None,
                 const int64_t[::1] offsets not None):
    """The slot of each node in its tree.

    Pairs of children lie in the order of their parents: pairs of the first levels level by level, as
    all rows pass them, the others in preorder.

    Parameters
    ----------
    feature, right_child, offsets : ndarray
        As in `Forest`.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype uint32
    """
    cdef Py_ssize_t t, i, first, n
    cdef uint32_t count[LEVELS + 1]
    cdef uint32_t level, start
    cdef Turn turn = current_turn()
    result = np.empty(feature.shape[0], np.uint32)
    levels = np.empty(feature.shape[0], np.uint8)
    cdef uint32_t[::1] to = result
    cdef uint8_t[::1] at = levels
    with nogil:
        for t in range(offsets.shape[0] - 1):
            first = offsets[t]
            n = offsets[t + 1] - first
            memset(count, 0, sizeof(count))
            at[first] = 0
            for i in range(first, first + n):
                if feature[i] >= 0:
                    at[i + 1] = at[first + right_child[i]] = min(at[i] + 1, LEVELS)
                    count[at[i]] += 1
            start = 2
            for level in range(LEVELS + 1):
                count[level], start = start, start + 2 * count[level]
            to[first] = 1
            for i in range(first, first + n):
                if feature[i] >= 0:
                    to[i + 1] = count[at[i]]
                    to[first + right_child[i]] = count[at[i]] + 1
                    count[at[i]] += 2
            poll(&turn, 4 * n)
    return result


def write_slots(char[::1] slots not None, const int64_t[::1] starts not None, int bits, bint is_wide,
                const int64_t[::1] bases not None, const uint32_t[::1] numbers not None, const int32_t[::1] feature not None,
                const real_t[::1] threshold not None, const uint8_t[::1] missing_left not None,
                const int64_t[::1] offsets not None, const uint32_t[::1] rows not None, const int64_t[::1] places not None,
                const int32_t[::1] n_categories not None, bint has_own_tests):
    """Fill the slots of a packed forest.

    Parameters
    ----------
    slots : OUT ndarray, dtype int8
    starts, bits, is_wide
        The form of the slots: see `df_packed` of walk.h.
    bases : ndarray of shape (n_trees,), dtype int64
        Where in the values the rows of each tree begin.
    numbers : ndarray of shape (n_nodes,), dtype uint32
        See `slot_numbers`.
    feature, threshold, missing_left, offsets, n_categories : ndarray
        As in `Forest`.
    rows : ndarray of shape (n_leaf_nodes,), dtype uint32
        The values that leaves add.
    places : ndarray of shape (n_payloads,), dtype int64
        Where the words of each test with a payload begin: see `payload_words`.
    has_own_tests : bool
        Whether all payloads are those of a splitter's own tests, and every inner node has one. If not, they are the subsets
        of the nodes that test categories.
    """
    cdef df_packed packed
    cdef const df_packed* forest = &packed
    cdef Py_ssize_t t, i, leaf = 0, payload = 0
    cdef char* tree
    cdef Turn turn = current_turn()
    packed.slots = &slots[0]
    packed.starts = &starts[0]
    packed.words = NULL
    packed.bits = bits
    packed.is_wide = is_wide
    with nogil:
        for t in range(bases.shape[0]):
            poll(&turn, 4 * (offsets[t + 1] - offsets[t]))
            tree = &slots[0] + (df_tree(forest, t) - forest.slots)
            memset(tree, 0, sizeof(df_wide) if is_wide else sizeof(df_narrow))      # slot 0, so that equal trees have equal bytes
            for i in range(offsets[t], offsets[t + 1]):
                if feature[i] < 0:
                    df_write_leaf(tree, numbers[i], <uint32_t> (rows[leaf] - bases[t]), forest)
                    leaf += 1
                elif has_own_tests or n_categories[feature[i]] > 0:
                    df_write_subset(tree, numbers[i], feature[i], missing_left[i], <uint32_t> places[payload], numbers[i + 1],
                                    forest)
                    payload += 1
                else:
                    df_write_number(tree, numbers[i], feature[i], missing_left[i], threshold[i], numbers[i + 1], forest)
    return None


def steps_of_rows(const int32_t[::1] feature not None, const uint32_t[::1] link not None, const int64_t[::1] offsets not None,
                  const int64_t[::1] leaf_draws not None):
    """How deep training rows went.

    Parameters
    ----------
    feature, link, offsets, leaf_draws : ndarray
        As in `Forest`.

    Returns
    -------
    n_first : ndarray of shape (n_trees,), dtype int32
        At least three quarters of the draws went so deep; 1 to 255.
    depth : ndarray of shape (n_trees,), dtype int64
        Of the deepest leaf, but 1 at least.
    n_steps : float
        Of a draw on average, over all trees.
    """
    cdef Py_ssize_t n_trees = offsets.shape[0] - 1, t, i, first, n
    cdef int64_t[256] draws             # that ended at each depth; at the last one all deeper ones too
    cdef int64_t total
    cdef double n_steps = 0.0, steps
    cdef int k
    cdef Turn turn = current_turn()
    firsts, depths = np.empty(n_trees, np.int32), np.ones(n_trees, np.int64)
    cdef int32_t[::1] to_first = firsts
    cdef int64_t[::1] to_depth = depths
    cdef uint32_t[::1] depth = np.empty(np.diff(offsets).max(), np.uint32)      # of a tree's nodes
    with nogil:
        for t in range(n_trees):
            first = offsets[t]
            n = offsets[t + 1] - first
            memset(draws, 0, sizeof(draws))
            total = 0
            steps = 0.0
            depth[0] = 0
            for i in range(n):
                if feature[first + i] >= 0:
                    depth[i + 1] = depth[link[first + i]] = depth[i] + 1
                    continue
                draws[min(<uint32_t> 255, depth[i])] += leaf_draws[link[first + i]]
                total += leaf_draws[link[first + i]]
                steps += <double> leaf_draws[link[first + i]] * depth[i]
                to_depth[t] = max(to_depth[t], <int64_t> depth[i])
            n_steps += steps / <double> total
            k = 0
            while k < 255 and 4 * draws[k] < total:
                k += 1
                draws[k] += draws[k - 1]
            to_first[t] = max(k, 1)
            poll(&turn, n)
    return firsts, depths, n_steps


def is_float32(threshold):
    """Whether thresholds, where there are any, are float32 numbers."""
    if threshold.dtype == np.float32:
        return True
    with np.errstate(over="ignore"):
        return bool(((threshold.astype(np.float32) == threshold) | np.isnan(threshold)).all())


def payload_words(forest):
    """The payloads of a forest's tests, subsets or a splitter's own, each after its number of words; and where each begins."""
    offsets, n_words = forest.payload_offsets, np.diff(forest.payload_offsets)
    words = np.empty(len(forest.payload_words) + len(n_words), np.uint64)
    if len(words) >> 32:
        raise OverflowError(f"the tests of a forest have {len(words)} words; allowed are fewer than 2**32")
    places = offsets[: len(n_words)] + np.arange(len(n_words))
    is_number = np.zeros(len(words), bool)
    is_number[places] = True
    words[is_number] = n_words
    words[~is_number] = forest.payload_words
    return words, places


def empty_aligned(n):
    """An array of n bytes that begins with a line of the cache, so that two children lie in one line."""
    room = np.empty(n + 64, np.int8)
    start = -room.ctypes.data % 64
    return room[start : start + n]
