"""The nodes of a tree that may be split, the one that is split next first.

Nodes are numbered in order of creation. The node of the highest score comes first, of equal scores the first one in preorder.
Scores are from 0 on, in units that are powers of two; in one unit for all, they may be beyond the range of float64. A `SplitHeap`
owns its memory, which `free_split_heap` frees; one whose bytes are all 0 is empty.
"""
from libc.limits cimport INT_MIN
from libc.math cimport frexp
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from dforest.core.tree.buffers cimport ensure_room

cdef struct SplitNode:
    double fraction                # its best split's score is this times 2 to the power of the exponent: from 1/2, below 1; or 0,
    int exponent                   # with the lowest exponent
    Py_ssize_t parent              # its parent's number; -1: it is the root
    Py_ssize_t depth
    bint is_right                  # it is its parent's right child

cdef struct SplitHeap:
    SplitNode* nodes               # [n_nodes]
    Py_ssize_t* waiting            # [n_waiting] numbers of nodes: a heap
    Py_ssize_t n_waiting, node_room, room


cdef inline void free_split_heap(SplitHeap* heap) noexcept nogil:
    free(heap.nodes)
    free(heap.waiting)


cdef inline int note_node(SplitHeap* heap, Py_ssize_t number, Py_ssize_t parent, bint is_right) except -1 nogil:
    """Learn of a node, which comes after its parent."""
    ensure_room(<void**> &heap.nodes, &heap.node_room, number + 1, sizeof(SplitNode))
    heap.nodes[number].parent = parent
    heap.nodes[number].depth = heap.nodes[parent].depth + 1 if parent >= 0 else 0
    heap.nodes[number].is_right = is_right
    return 0


cdef inline bint stands_before(const SplitHeap* heap, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """Whether a comes before b in preorder; neither is below the other."""
    cdef const SplitNode* nodes = heap.nodes
    cdef bint a_is_right = False
    while nodes[a].depth > nodes[b].depth:
        a = nodes[a].parent
    while nodes[b].depth > nodes[a].depth:
        b = nodes[b].parent
    while a != b:
        a_is_right = nodes[a].is_right
        a = nodes[a].parent
        b = nodes[b].parent
    return not a_is_right


cdef inline bint goes_before(const SplitHeap* heap, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """Whether a node is split before another one."""
    cdef const SplitNode* x = &heap.nodes[a]
    cdef const SplitNode* y = &heap.nodes[b]
    if x.exponent != y.exponent:
        return x.exponent > y.exponent
    return x.fraction > y.fraction or (x.fraction == y.fraction and stands_before(heap, a, b))


cdef inline int push_split(SplitHeap* heap, Py_ssize_t number, double score, int32_t exponent) except -1 nogil:
    """Have a node wait, given its score, and the exponent of the score's unit."""
    cdef Py_ssize_t at = heap.n_waiting, above
    cdef int of_score
    ensure_room(<void**> &heap.waiting, &heap.room, at + 1, sizeof(Py_ssize_t))
    heap.nodes[number].fraction = frexp(score, &of_score)
    heap.nodes[number].exponent = of_score + exponent if score > 0.0 else INT_MIN
    heap.n_waiting += 1
    while at > 0:                  # the entry `at` is free; the one above it may have to move down
        above = (at - 1) // 2
        if not goes_before(heap, number, heap.waiting[above]):
            break
        heap.waiting[at] = heap.waiting[above]
        at = above
    heap.waiting[at] = number
    return 0


cdef inline Py_ssize_t pop_split(SplitHeap* heap) noexcept nogil:
    """Take the node that is split next; return its number."""
    cdef Py_ssize_t best = heap.waiting[0], last, at = 0, below
    heap.n_waiting -= 1
    last = heap.waiting[heap.n_waiting]
    while 2 * at + 1 < heap.n_waiting:     # the entry `at` is free; one below it may have to move up
        below = 2 * at + 1
        if below + 1 < heap.n_waiting and goes_before(heap, heap.waiting[below + 1], heap.waiting[below]):
            below += 1
        if not goes_before(heap, heap.waiting[below], last):
            break
        heap.waiting[at] = heap.waiting[below]
        at = below
    heap.waiting[at] = last
    return best


cdef inline Py_ssize_t keep_first(SplitHeap* heap, Py_ssize_t n) noexcept nogil:
    """Have none wait but the n nodes that are split first, or all, if they are no more. Returns how many no longer wait: their
    numbers are in `waiting`, behind those that do.
    """
    cdef Py_ssize_t n_all = heap.n_waiting, number, i, _
    if n_all <= n:
        return 0
    for _ in range(n):             # each takes the place that the heap leaves at its end
        number = pop_split(heap)
        heap.waiting[heap.n_waiting] = number
    for i in range(n_all // 2):    # numbers that are in the order of splits are a heap
        number = heap.waiting[i]
        heap.waiting[i] = heap.waiting[n_all - 1 - i]
        heap.waiting[n_all - 1 - i] = number
    heap.n_waiting = n
    return n_all - n
