"""The records of a tree while it is grown, which its parts share, and the features on the path to a node.

All parts of a tree work on its `TreeRecords`. Each node's records are a range of these, and a part writes nothing but the range
of its own first node, so parts are grown at the same time, in place.

The *features on the path* to a node are those that splits above it use, for splitters that ask for them. Nodes that come in
preorder need no search: the features on the path to a node are those, of all noted so far, that were used first at a lower depth
than the node's. So the features are a stack, and each node costs a push at most, whatever its depth. In

    node 0, depth 0, tests feature 7
        node 1, depth 1, tests feature 4
            node 2, depth 2, tests feature 7       already in use: nothing is noted
            node 3, depth 2                        path: 7, 4
        node 4, depth 1                            `leave(1)` takes feature 4 off; path: 7

A `PathFeatures` belongs to one grower and owns its memory; what is lent of a path is valid until it changes.
"""
cimport cython
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from dforest.core.tree.writer cimport view_of


cdef int reserve_records(TreeRecords* tree_records, Py_ssize_t capacity, Py_ssize_t n_numbered,
                         bint keeps_leaves) except -1 nogil:
    if tree_records.records == NULL:
        tree_records.records = <Record*> malloc(capacity * sizeof(Record))
    if tree_records.scratch == NULL:
        tree_records.scratch = <Record*> malloc(capacity * sizeof(Record))
    if n_numbered > 0:
        if tree_records.record_of == NULL:
            tree_records.record_of = <uint32_t*> malloc(n_numbered * sizeof(uint32_t))
        if tree_records.record_of == NULL:
            with gil:
                raise MemoryError()
        memset(tree_records.record_of, 0xFF, n_numbered * sizeof(uint32_t))       # NO_RECORD
    if not keeps_leaves:
        free(tree_records.rows)
        free(tree_records.is_first)
        tree_records.rows = NULL
        tree_records.is_first = NULL
    elif tree_records.rows == NULL or tree_records.is_first == NULL:
        free(tree_records.rows)
        free(tree_records.is_first)
        tree_records.rows = <uint32_t*> malloc(capacity * sizeof(uint32_t))
        tree_records.is_first = <uint8_t*> malloc(capacity)
    if tree_records.records == NULL or tree_records.scratch == NULL or (
            keeps_leaves and (tree_records.rows == NULL or tree_records.is_first == NULL)):
        with gil:
            raise MemoryError()
    return 0


cdef void free_records(TreeRecords* tree_records) noexcept nogil:
    free(tree_records.records)
    free(tree_records.scratch)
    free(tree_records.rows)
    free(tree_records.is_first)
    free(tree_records.record_of)


cdef tuple leaf_table(const TreeRecords* tree_records):
    return (view_of(tree_records.rows, tree_records.n * sizeof(uint32_t), np.uint32).copy(),
            view_of(tree_records.is_first, tree_records.n, np.bool_).copy())


@cython.final
cdef class PathFeatures:
    """The features on the path to the node at hand.

    Parameters
    ----------
    n_features : int
        Of the data; 0: no splitter asks for paths, and nothing is noted.
    """

    def __cinit__(self, Py_ssize_t n_features):
        if n_features == 0:
            return
        self.features = <int32_t*> malloc(n_features * sizeof(int32_t))
        self.depths = <Py_ssize_t*> malloc(n_features * sizeof(Py_ssize_t))
        self.bits = <uint64_t*> calloc((n_features + 63) // 64, sizeof(uint64_t))
        if self.features == NULL or self.depths == NULL or self.bits == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.features)
        free(self.depths)
        free(self.bits)

    cdef void leave(self, Py_ssize_t depth) noexcept nogil:
        cdef int32_t feature
        while self.n > 0 and self.depths[self.n - 1] >= depth:
            self.n -= 1
            feature = self.features[self.n]
            self.bits[feature >> 6] &= ~(<uint64_t> 1 << (feature & 63))

    cdef bint add(self, Py_ssize_t feature, Py_ssize_t depth) noexcept nogil:
        cdef uint64_t bit = <uint64_t> 1 << (feature & 63)
        if self.bits[feature >> 6] & bit:
            return False
        self.bits[feature >> 6] |= bit
        self.features[self.n] = <int32_t> feature
        self.depths[self.n] = depth
        self.n += 1
        return True

    cdef Py_ssize_t count_above(self, Py_ssize_t depth) noexcept nogil:
        cdef Py_ssize_t n = self.n
        while n > 0 and self.depths[n - 1] >= depth:
            n -= 1
        return n

    cdef void reverse(self) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n // 2):
            self.features[i], self.features[self.n - 1 - i] = self.features[self.n - 1 - i], self.features[i]
