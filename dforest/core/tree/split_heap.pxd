"""The nodes of a tree that may be split, the one that is split next first.

Nodes are numbered in order of creation. The node of the highest score comes first, of equal scores the first one in preorder. A
`SplitHeap` owns its memory, which `free_split_heap` frees; one whose bytes are all 0 is empty.
"""
from libc.stdlib cimport free

from dforest.core.tree.buffers cimport ensure_room

cdef struct SplitNode:
    double score                   # of its best split, comparable between nodes
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
    cdef double x = heap.nodes[a].score, y = heap.nodes[b].score
    return x > y or (x == y and stands_before(heap, a, b))


cdef inline int push_split(SplitHeap* heap, Py_ssize_t number, double score) except -1 nogil:
    """Have a node wait, given its score."""
    cdef Py_ssize_t at = heap.n_waiting, above
    ensure_room(<void**> &heap.waiting, &heap.room, at + 1, sizeof(Py_ssize_t))
    heap.nodes[number].score = score
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
