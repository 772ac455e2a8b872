"""The heap of `split_heap.pxd` for drivers in Python.

A `SplitQueue` owns its memory.
"""
cimport cython
from libc.stdint cimport int32_t

from dforest.core.tree.split_heap cimport SplitHeap, free_split_heap, note_node, pop_split, push_split


@cython.final
cdef class SplitQueue:
    """The nodes of a tree that may be split: that of the highest score first, of equal scores the first one in preorder."""

    cdef SplitHeap heap
    cdef Py_ssize_t n_noted

    def __dealloc__(self):
        free_split_heap(&self.heap)

    def __len__(self):
        return self.heap.n_waiting

    def note(self, Py_ssize_t parent, bint is_right):
        """Learn of a node, and return its number; they count from 0, the root, whose parent is -1, and follow their parents."""
        if not -1 <= parent < max(self.n_noted, <Py_ssize_t> 1) or (parent < 0) != (self.n_noted == 0):
            raise ValueError(f"parent={parent}, of node {self.n_noted}")
        note_node(&self.heap, self.n_noted, parent, is_right)
        self.n_noted += 1
        return self.n_noted - 1

    def push(self, Py_ssize_t number, double score, int32_t exponent):
        """Have a node wait, given its score, and the exponent of the score's unit."""
        if not 0 <= number < self.n_noted:
            raise ValueError(f"number={number}, of {self.n_noted} nodes")
        push_split(&self.heap, number, score, exponent)

    def pop(self):
        """Take the first node; return its number."""
        if self.heap.n_waiting == 0:
            raise IndexError("no node waits")
        return pop_split(&self.heap)

    def first(self, Py_ssize_t n):
        """The numbers of the first n nodes, or of all, in their order; they stay."""
        cdef Py_ssize_t number
        found = [pop_split(&self.heap) for _ in range(min(n, self.heap.n_waiting))]
        for number in found:
            push_split(&self.heap, number, self.heap.nodes[number].fraction, self.heap.nodes[number].exponent)
        return found
