"""A tree while it is grown: the records that its parts share, its nodes as they are written, and how parts become a tree.

All parts of a tree work on its `TreeRecords`. Each node's records are a range of these, and a part writes nothing but the range
of its own first node, so parts are grown at the same time, in place. A *hole* is a node of a part in whose place another part
belongs, which another grower writes; a node is *inner* if it is neither a leaf nor a hole.

Nodes are numbered as they are written. A left child's number is its parent's + 1, so only the right child's is kept. What leaves
keep, what inner nodes keep, and payloads lie in arrays of their own, in the order of their nodes.

Between the holes of a part lie its *runs*: nodes, and what is kept of them. The runs of all parts, one after another in
preorder, are the tree:

    part 0     0 1 (part 1) 7 8        a tree of the nodes 0 to 8, of which the nodes 2 to 6 were given away,
    part 1     2 (part 2) 6            and out of these the nodes 3 to 5
    part 2     3 4 5
    tree        0 1 | 2 | 3 4 5 | 6 | 7 8    five runs

The *features on the path* to a node are those that splits above it use, for splitters that ask for them. Nodes that come in
preorder need no search: the features on the path to a node are those, of all noted so far, that were used first at a lower depth
than the node's. So the features are a stack, and each node costs a push at most, whatever its depth. In

    node 0, depth 0, tests feature 7
        node 1, depth 1, tests feature 4
            node 2, depth 2, tests feature 7       already in use: nothing is noted
            node 3, depth 2                        path: 7, 4
        node 4, depth 1                            `leave(1)` takes feature 4 off; path: 7

A `TreeWriter` and a `PathFeatures` belong to one grower and own their memory, which they use again for the next part. The arrays
that a writer gives are lent, and what is lent of a path is valid until it changes. The arrays of parts are copied into those of
the tree, which the caller owns.
"""
cimport cython
from libc.math cimport NAN
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.types cimport middle_of

from dforest.core.forest.assembly import TreeArrays
from dforest.core.tree.layout import number_children


cdef int append_words(Words* to, const uint64_t* words, Py_ssize_t n) except -1 nogil:
    ensure_room(<void**> &to.words, &to.room, to.n + n, sizeof(uint64_t))
    memcpy(to.words + to.n, words, n * sizeof(uint64_t))
    to.n += n
    return 0


cdef lend(const void* buffer, size_t n_bytes, dtype):
    cdef const uint8_t[::1] bytes
    if n_bytes == 0:
        return np.empty(0, dtype)
    bytes = <const uint8_t[:n_bytes]> <const uint8_t*> buffer
    return np.asarray(bytes).view(dtype)


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
    return (lend(tree_records.rows, tree_records.n * sizeof(uint32_t), np.uint32).copy(),
            lend(tree_records.is_first, tree_records.n, np.bool_).copy())


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


cdef enum:
    LOOKED_UP_TOGETHER = 256           # nodes

cdef NodeRecord a_record
NODE_RECORD = np.dtype({
    "names": ["feature", "threshold", "right_child", "missing_left"],
    "formats": [np.int32, np.float64, np.uint32, np.bool_],
    "offsets": [<char*> &a_record.feature - <char*> &a_record, <char*> &a_record.threshold - <char*> &a_record,
                <char*> &a_record.right_child - <char*> &a_record, <char*> &a_record.missing_left - <char*> &a_record],
    "itemsize": sizeof(NodeRecord),
})


@cython.final
cdef class TreeWriter:
    """Writes one tree, or part, after another.

    Parameters
    ----------
    n_leaf_words : int
        64-bit words that a leaf keeps.
    n_node_values : int
        Numbers that an inner node keeps: see `dforest.core.grow.node_decision`.
    trims : bool
        Whether words of 0 at the end of a payload are left out, as of subsets.
    """

    def __cinit__(self, Py_ssize_t n_leaf_words, Py_ssize_t n_node_values, bint trims):
        self.n_leaf_words = n_leaf_words
        self.n_node_values = n_node_values
        self.trims = trims

    def __dealloc__(self):
        free(self.nodes)
        free(self.leaves)
        free(self.inner)
        free(self.payloads.words)
        free(self.payload_lengths)
        free(self.holes)

    cdef int reserve(self, Py_ssize_t max_leaves) except -1:
        """Make room for a tree of max_leaves leaves: memory that no tree fills is never written to, and costs nothing."""
        ensure_room(<void**> &self.nodes, &self.node_room, 2 * max_leaves - 1, sizeof(NodeRecord))
        ensure_room(<void**> &self.leaves, &self.leaf_room, max_leaves, self.n_leaf_words * sizeof(int64_t))
        return 0

    cdef void clear(self) noexcept nogil:
        """Begin a part."""
        self.n_nodes = self.n_leaves = self.n_inner = self.n_payloads = self.payloads.n = self.n_holes = 0

    cdef inline NodeRecord* add_node(self, Py_ssize_t parent, bint is_right) except NULL nogil:
        """Append a node, a leaf so far; the pointer returned is valid until the next one is appended."""
        cdef Py_ssize_t number = self.n_nodes
        cdef NodeRecord* record
        if number >= <Py_ssize_t> <uint32_t> -1:
            with gil:
                raise OverflowError("a tree has more than 2**32 nodes; limit max_depth or min_samples_leaf")
        ensure_room(<void**> &self.nodes, &self.node_room, number + 1, sizeof(NodeRecord))
        self.n_nodes += 1
        if is_right:
            self.nodes[parent].right_child = <uint32_t> number
        record = &self.nodes[number]
        record.threshold = 0.0
        record.feature = -1
        record.right_child = 0
        record.missing_left = 0
        record.is_deferred = 0
        return record

    cdef Py_ssize_t add_inner(self, Py_ssize_t parent, bint is_right, const Split* split) except -1 nogil:
        """Append a node that has children, which are to be appended later; return its number."""
        cdef NodeRecord* record = self.add_node(parent, is_right)
        cdef Py_ssize_t n_words
        record.feature = <int32_t> split.feature
        record.missing_left = split.missing_left
        if split.payload == NULL:
            record.threshold = split.threshold
            record.is_deferred = split.is_deferred
            if split.is_deferred:
                memcpy(&record.threshold, split.between, sizeof(split.between))
            return self.n_nodes - 1
        record.threshold = NAN
        n_words = split.n_payload_words
        while n_words > 0 and split.payload[n_words - 1] == 0 and self.trims:
            n_words -= 1
        append_words(&self.payloads, split.payload, n_words)
        ensure_room(<void**> &self.payload_lengths, &self.payload_room, self.n_payloads + 1, sizeof(int64_t))
        self.payload_lengths[self.n_payloads] = n_words
        self.n_payloads += 1
        return self.n_nodes - 1

    cdef int64_t* add_leaf(self, Py_ssize_t parent, bint is_right) except NULL nogil:
        """Append a leaf. OUT of the caller : [n_leaf_words] what it keeps, where the pointer returned leads"""
        self.add_node(parent, is_right)
        ensure_room(<void**> &self.leaves, &self.leaf_room, self.n_leaves + 1, self.n_leaf_words * sizeof(int64_t))
        self.n_leaves += 1
        return self.leaves + (self.n_leaves - 1) * self.n_leaf_words

    cdef int add_hole(self, Py_ssize_t parent, bint is_right, int part) except -1 nogil:
        """Append a node in whose place another part belongs."""
        cdef Hole* hole
        ensure_room(<void**> &self.holes, &self.hole_room, self.n_holes + 1, sizeof(Hole))
        hole = &self.holes[self.n_holes]
        self.n_holes += 1
        hole.part = part
        hole.node = self.n_nodes
        hole.leaves = self.n_leaves
        hole.inner = self.n_inner
        hole.payloads = self.n_payloads
        hole.payload_words = self.payloads.n
        self.add_node(parent, is_right)
        return 0

    cdef double* add_node_values(self) except NULL nogil:
        ensure_room(<void**> &self.inner, &self.inner_room, self.n_inner + 1, self.n_node_values * sizeof(double))
        self.n_inner += 1
        return self.inner + (self.n_inner - 1) * self.n_node_values

    cdef void look_up_thresholds(self, Py_ssize_t first, const Column* columns) noexcept nogil:
        """Set the thresholds that were deferred, of the nodes from `first` on.

        The nodes are listed before any is looked up: then no step depends on what the one before found in memory, and
        a processor has many of them under way.
        """
        cdef Py_ssize_t at[LOOKED_UP_TOGETHER]
        cdef Py_ssize_t i, n, end
        cdef uint32_t between[2]
        cdef NodeRecord* record
        while first < self.n_nodes:
            end = min(self.n_nodes, first + <Py_ssize_t> LOOKED_UP_TOGETHER)
            n = 0
            for i in range(first, end):
                at[n] = i
                n += self.nodes[i].is_deferred
            for i in range(n):
                record = &self.nodes[at[i]]
                memcpy(between, &record.threshold, sizeof(between))
                record.threshold = middle_of(&columns[record.feature], between[0], between[1])
            first = end

    def hole_table(self):
        """The fields of each `Hole` in the part at hand: ndarray of shape (n_holes, 6), dtype int64."""
        table = np.empty((self.n_holes, sizeof(Hole) // sizeof(int64_t)), np.int64)
        cdef int64_t[:, ::1] to = table
        if self.n_holes > 0:
            memcpy(&to[0, 0], self.holes, self.n_holes * sizeof(Hole))
        return table

    def arrays(self):
        """The part at hand as `TreeArrays`, lent until the next part is begun; right children of leaves and holes are 0."""
        nodes = lend(self.nodes, self.n_nodes * sizeof(NodeRecord), NODE_RECORD)
        leaves = lend(self.leaves, self.n_leaves * self.n_leaf_words * sizeof(int64_t), np.int64)
        return TreeArrays(
            *(nodes[name] for name in NODE_RECORD.names),
            leaves.reshape(-1, self.n_leaf_words),
            lend(self.inner, self.n_inner * self.n_node_values * sizeof(double), np.float64).reshape(-1, self.n_node_values),
            lend(self.payload_lengths, self.n_payloads * sizeof(int64_t), np.int64),
            lend(self.payloads.words, self.payloads.n * sizeof(uint64_t), np.uint64),
        )


# Columns of a table of holes: the part that belongs there, the hole's node ...
_PART, _NODE = 0, 1
# ... and how much of each of these arrays of the part comes before the hole.
_COUNTS = {"leaves": 2, "inner": 3, "payload_lengths": 4, "payload_words": 5}


def join_parts(parts):
    """The tree that parts make up.

    Parameters
    ----------
    parts : dict of int to (TreeArrays, ndarray)
        Two or more parts by number, of which 0 has the root: a part's arrays, and its holes in preorder, of shape (n_holes, 6),
        dtype int64.

    Returns
    -------
    TreeArrays
    """
    runs = []                    # (part, number of the run)
    pending = [(0, 0)]           # runs to come, the next one last
    while pending:
        part, run = pending.pop()
        runs.append((part, run))
        holes = parts[part][1]
        if run < len(holes):
            pending += [(part, run + 1), (int(holes[run, _PART]), 0)]
    split = {part: _split(*both) for part, both in parts.items()}
    tree = TreeArrays(*(np.concatenate([split[part][i][run] for part, run in runs]) for i in range(len(TreeArrays._fields))))
    number_children(tree.feature, tree.right)
    return tree


def _split(arrays, holes):
    """For each of a part's arrays, a list with the part of each run."""
    split = []
    for name, array in zip(TreeArrays._fields, arrays, strict=True):
        if name in _COUNTS:
            edges = [0, *holes[:, _COUNTS[name]].tolist(), len(array)]
            split.append([array[first:last] for first, last in zip(edges, edges[1:], strict=False)])
        else:                    # the hole itself is left out
            edges = [-1, *holes[:, _NODE].tolist(), len(array)]
            split.append([array[first + 1:last] for first, last in zip(edges, edges[1:], strict=False)])
    return split
