"""The heap of nodes that wait for a split, for tests."""
from libc.string cimport memset

from dforest.core.tree.split_heap cimport SplitHeap, free_split_heap, keep_first, note_node, pop_split, push_split


def order_of_splits(scores, units, Py_ssize_t n_kept):
    """Have the leaves of a complete binary tree wait, level by level, given their scores and the exponents of the units of these,
    and keep the first few of them.

    Returns
    -------
    kept, others : list of int
        Numbers of nodes, those that are kept in the order of their splits; the root is 0, and 2 i + 1 and 2 i + 2 are below i.
    """
    cdef SplitHeap heap
    cdef Py_ssize_t n = len(scores), i, n_others
    memset(&heap, 0, sizeof(heap))
    try:
        for i in range(2 * n - 1):
            note_node(&heap, i, (i - 1) // 2 if i > 0 else -1, i > 0 and i % 2 == 0)
        for i in range(n):
            push_split(&heap, n - 1 + i, scores[i], units[i])
        n_others = keep_first(&heap, n_kept)
        others = [heap.waiting[heap.n_waiting + i] for i in range(n_others)]
        kept = [pop_split(&heap) for _ in range(heap.n_waiting)]
    finally:
        free_split_heap(&heap)
    return kept, others
