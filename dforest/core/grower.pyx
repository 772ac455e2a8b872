"""Grows one tree at a time, depth first.

A node's draws are a run of `draws`; splitting a node moves those that go left to the front of its
run, so that each child has a run of its own:

    draws:   | ...... | goes left | goes right | ...... |
                      first       first + n_left       first + n

Nodes are numbered in preorder: a left child is its parent's number + 1, a right child's is stored.

A grower belongs to one thread and owns all of its buffers, which it uses again for the next tree.
"""
from libc.math cimport ldexp
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

from dforest.core.random cimport DF_ROOT_PATH, df_child_path
from dforest.core.rows cimport all_rows, draw_rows, partition
from dforest.core.types cimport LeafRules, Split

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef enum:
    POLL_RECORDS = 200000      # look for signals each time so many records have been split


class Stopped(Exception):
    """Another thread failed; this one gave up its tree."""


cdef int ensure_room(void** buffer, Py_ssize_t* room, Py_ssize_t needed, size_t size) except -1 nogil:
    """Grow a buffer by doubling until it has room for `needed` items of `size` bytes."""
    cdef Py_ssize_t wanted = max(64, room[0])
    cdef void* grown
    if needed <= room[0]:
        return 0
    while wanted < needed:
        wanted *= 2
    grown = realloc(buffer[0], wanted * size)
    if grown == NULL:
        with gil:
            raise MemoryError()
    buffer[0] = grown
    room[0] = wanted
    return 0


cdef class Grower:
    """Grows trees on one thread.

    Parameters
    ----------
    data : DataView
    criterion, splitter : Criterion, Splitter
        Of this thread; the splitter gets attached.
    limits : dict
        max_depth (None: no limit), min_samples_split, min_samples_leaf, min_weight_fraction_leaf,
        min_impurity_decrease.
    n_draws : int
        Draws of the bootstrap; 0: every row once.
    """

    def __cinit__(self, DataView data not None, Criterion criterion not None, Splitter splitter not None,
                  dict limits not None, int64_t n_draws):
        cdef Py_ssize_t capacity = min(data.n_rows, n_draws) if n_draws else data.n_rows
        self.data = data
        self.criterion = criterion
        self.splitter = splitter
        self.n_draws = n_draws
        self.limits.max_depth = data.n_rows if limits["max_depth"] is None else min(limits["max_depth"], data.n_rows)
        self.limits.min_samples_split = limits["min_samples_split"]
        self.limits.min_samples_leaf = max(1, limits["min_samples_leaf"])
        self.limits.min_weight_fraction_leaf = limits["min_weight_fraction_leaf"]
        self.limits.min_impurity_decrease = limits["min_impurity_decrease"]
        # A leaf keeps its draws and class weights, or its draws, weight and value.
        self.n_leaf_words = 1 + criterion.n_classes if criterion.n_classes else 3
        splitter.attach(data, criterion, capacity)
        self.draws = <Draw*> malloc(capacity * sizeof(Draw))
        self.scratch = <Draw*> malloc(capacity * sizeof(Draw))
        self.statistics = <int64_t*> malloc(criterion.n_words * sizeof(int64_t))
        if self.draws == NULL or self.scratch == NULL or self.statistics == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.draws)
        free(self.scratch)
        free(self.statistics)
        free(self.stack)
        free(self.nodes)
        free(self.leaves)

    cdef int grow(self, uint64_t seed, uint32_t tree, const Scale* scale) except -1 nogil:
        """Grow a tree into `nodes` and `leaves`."""
        cdef Pending item
        cdef Node node
        cdef Split split
        cdef LeafRules rules
        cdef NodeRecord* record
        cdef Py_ssize_t number, n_left, since_poll = 0
        cdef int64_t root_weight = 0
        node.statistics = self.statistics
        item.first = 0
        item.n = draw_rows(self.data, seed, tree, self.n_draws, self.draws) if self.n_draws else all_rows(self.data, self.draws)
        item.path = DF_ROOT_PATH
        item.depth = 0
        item.parent = -1
        item.scale = scale[0]
        self.n_nodes = self.n_leaves = self.n_stack = 0
        ensure_room(<void**> &self.stack, &self.stack_room, 1, sizeof(Pending))
        self.stack[0] = item
        self.n_stack = 1
        while self.n_stack > 0:
            self.n_stack -= 1
            item = self.stack[self.n_stack]
            since_poll += item.n
            if since_poll >= POLL_RECORDS:
                since_poll = 0
                if self.polls_signals:
                    with gil:
                        PyErr_CheckSignals()
                if self.stop[0]:
                    with gil:
                        raise Stopped()
            number = self.n_nodes
            if number > <Py_ssize_t> <uint32_t> -1:
                with gil:
                    raise OverflowError(f"tree {tree} has more than 2**32 nodes; limit max_depth or min_samples_leaf")
            self.n_nodes += 1
            ensure_room(<void**> &self.nodes, &self.node_room, self.n_nodes, sizeof(NodeRecord))
            record = &self.nodes[number]
            if item.parent >= 0:
                self.nodes[item.parent].right = <uint32_t> number
            node.draws = self.draws + item.first
            node.n = item.n
            node.path = item.path
            node.depth = item.depth
            node.scale = item.scale
            self.criterion.open_node(self.data, &node)
            if number == 0:
                root_weight = self.statistics[1]
                rules.min_draws = self.limits.min_samples_leaf
                rules.min_weight = self.limits.min_weight_fraction_leaf * <double> root_weight
                self.splitter.open_tree(seed, tree, &rules)
            split.feature = -1
            if not self.is_leaf(&node, &root_weight):
                self.splitter.find_split(&node, &split)
                if (split.feature >= 0 and self.limits.min_impurity_decrease > 0.0
                        and ldexp(split.score, self.criterion.score_exponent(&node)) / <double> root_weight < self.limits.min_impurity_decrease):
                    split.feature = -1
            record.feature = <int> split.feature
            record.threshold = 0.0
            record.missing_left = 0
            if split.feature < 0:
                record.right = <uint32_t> self.n_leaves
                self.add_leaf(&node)
                continue
            record.threshold = split.threshold
            record.missing_left = split.missing_left
            n_left = partition(node.draws, node.n, &self.data.columns[split.feature], &split, self.scratch)
            ensure_room(<void**> &self.stack, &self.stack_room, self.n_stack + 2, sizeof(Pending))
            item.depth += 1
            item.scale = node.scale
            item.first += n_left
            item.n -= n_left
            item.path = df_child_path(node.path, 1)
            item.parent = number
            self.stack[self.n_stack] = item
            item.first -= n_left
            item.n = n_left
            item.path = df_child_path(node.path, 0)
            item.parent = -1
            self.stack[self.n_stack + 1] = item
            self.n_stack += 2
        return 0

    cdef bint is_leaf(self, const Node* node, int64_t* root_weight) noexcept nogil:
        cdef int64_t n_draws = node.statistics[0]
        return (node.is_pure or node.depth >= self.limits.max_depth
                or n_draws < self.limits.min_samples_split or n_draws < 2 * self.limits.min_samples_leaf
                or <double> node.statistics[1] < 2.0 * self.limits.min_weight_fraction_leaf * <double> root_weight[0])

    cdef int add_leaf(self, const Node* node) except -1 nogil:
        cdef int64_t* words
        cdef Py_ssize_t k
        cdef double value
        ensure_room(<void**> &self.leaves, &self.leaf_room, self.n_leaves + 1, self.n_leaf_words * sizeof(int64_t))
        words = self.leaves + self.n_leaves * self.n_leaf_words
        self.n_leaves += 1
        words[0] = node.statistics[0]
        if self.criterion.n_classes:
            for k in range(self.criterion.n_classes):
                words[1 + k] = node.statistics[2 + k]
            return 0
        words[1] = node.statistics[1]
        self.criterion.leaf_value(self.data, node, &value)
        memcpy(&words[2], &value, sizeof(double))
        return 0

    def arrays(self):
        """The tree grown last: feature, threshold, right, missing_left of its nodes; words of its leaves."""
        cdef Py_ssize_t i, n = self.n_nodes
        feature = np.empty(n, np.int32)
        threshold = np.empty(n, np.float64)
        right = np.empty(n, np.uint32)
        missing_left = np.empty(n, np.bool_)
        leaves = np.empty((self.n_leaves, self.n_leaf_words), np.int64)
        cdef int32_t[::1] to_feature = feature
        cdef double[::1] to_threshold = threshold
        cdef uint32_t[::1] to_right = right
        cdef uint8_t[::1] to_missing = missing_left.view(np.uint8)
        cdef int64_t[:, ::1] to_leaves = leaves
        with nogil:
            for i in range(n):
                to_feature[i] = self.nodes[i].feature
                to_threshold[i] = self.nodes[i].threshold
                to_right[i] = self.nodes[i].right
                to_missing[i] = self.nodes[i].missing_left
            memcpy(&to_leaves[0, 0], self.leaves, self.n_leaves * self.n_leaf_words * sizeof(int64_t))
        return feature, threshold, right, missing_left, leaves
