"""The nodes of a tree, or of a part of one, as they are written, in preorder.

A left child's number is its parent's + 1, so only the right child's is kept. What leaves keep, what inner nodes keep, and
payloads lie in arrays of their own, in the order of their nodes. A *placeholder* is a node in whose place another part belongs; a
node is *inner* if it is neither a leaf nor a placeholder.

A `TreeWriter` belongs to one thread and owns its memory, which it uses again for the next part. The arrays that it gives are
lent.
"""
cimport cython
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from dforest.core.types cimport midpoint_of

from dforest.core.forest.assembly import TreeArrays


cdef int append_words(Words* to, const uint64_t* words, Py_ssize_t n) except -1 nogil:
    ensure_room(<void**> &to.words, &to.room, to.n + n, sizeof(uint64_t))
    memcpy(to.words + to.n, words, n * sizeof(uint64_t))
    to.n += n
    return 0


cdef view_of(const void* buffer, size_t n_bytes, dtype):
    cdef const uint8_t[::1] bytes
    if n_bytes == 0:
        return np.empty(0, dtype)
    bytes = <const uint8_t[:n_bytes]> <const uint8_t*> buffer
    return np.asarray(bytes).view(dtype)


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
        64-bit words that a leaf keeps, beside its list of classes.
    n_node_values : int
        Numbers that an inner node keeps: see `dforest.core.grow.node_decision`.
    trims : bool
        Whether words of 0 at the end of a payload are left out, as of subsets.
    lists_classes : bool, default=False
        Whether leaves keep lists of classes.
    """

    def __cinit__(self, Py_ssize_t n_leaf_words, Py_ssize_t n_node_values, bint trims, bint lists_classes=False):
        self.n_leaf_words = n_leaf_words
        self.lists_classes = lists_classes
        self.n_node_values = n_node_values
        self.trims = trims

    def __dealloc__(self):
        free(self.nodes)
        free(self.leaves)
        free(self.entries)
        free(self.inner)
        free(self.payloads.words)
        free(self.payload_lengths)
        free(self.placeholders)

    cdef int reserve(self, Py_ssize_t max_leaves) except -1:
        """Make room for a tree of max_leaves leaves: memory that no tree fills is never written to, and costs nothing."""
        ensure_room(<void**> &self.nodes, &self.node_room, 2 * max_leaves - 1, sizeof(NodeRecord))
        ensure_room(<void**> &self.leaves, &self.leaf_room, max_leaves, self.n_leaf_words * sizeof(int64_t))
        return 0

    cdef void clear(self) noexcept nogil:
        """Begin a part."""
        self.n_nodes = self.n_leaves = self.n_entries = self.n_inner = self.n_payloads = self.payloads.n = self.n_placeholders = 0

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

    cdef Py_ssize_t list_classes(self, const int64_t* weight, const int32_t* classes, Py_ssize_t n) except -1 nogil:
        cdef Py_ssize_t k, first = self.n_entries
        ensure_room(<void**> &self.entries, &self.entry_room, first + n, 2 * sizeof(int64_t))
        for k in range(n):
            if weight[k] != 0:
                self.entries[2 * self.n_entries] = classes[k] if classes != NULL else k
                self.entries[2 * self.n_entries + 1] = weight[k]
                self.n_entries += 1
        return self.n_entries - first

    cdef int add_placeholder(self, Py_ssize_t parent, bint is_right, int part) except -1 nogil:
        """Append a node in whose place another part belongs."""
        cdef Placeholder* placeholder
        ensure_room(<void**> &self.placeholders, &self.placeholder_room, self.n_placeholders + 1, sizeof(Placeholder))
        placeholder = &self.placeholders[self.n_placeholders]
        self.n_placeholders += 1
        placeholder.part = part
        placeholder.node = self.n_nodes
        placeholder.leaves = self.n_leaves
        placeholder.inner = self.n_inner
        placeholder.payloads = self.n_payloads
        placeholder.payload_words = self.payloads.n
        placeholder.entries = self.n_entries
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
                record.threshold = midpoint_of(&columns[record.feature], between[0], between[1])
            first = end

    def placeholder_table(self):
        """The fields of each `Placeholder` in the part at hand: ndarray of shape (n_placeholders, 7), dtype int64."""
        table = np.empty((self.n_placeholders, sizeof(Placeholder) // sizeof(int64_t)), np.int64)
        cdef int64_t[:, ::1] to = table
        if self.n_placeholders > 0:
            memcpy(&to[0, 0], self.placeholders, self.n_placeholders * sizeof(Placeholder))
        return table

    def arrays(self):
        """The part at hand as `TreeArrays`, lent until the next part begins; right children of leaves and placeholders are 0."""
        nodes = view_of(self.nodes, self.n_nodes * sizeof(NodeRecord), NODE_RECORD)
        leaves = view_of(self.leaves, self.n_leaves * self.n_leaf_words * sizeof(int64_t), np.int64)
        return TreeArrays(
            *(nodes[name] for name in NODE_RECORD.names),
            leaves.reshape(-1, self.n_leaf_words),
            view_of(self.inner, self.n_inner * self.n_node_values * sizeof(double), np.float64).reshape(-1, self.n_node_values),
            view_of(self.payload_lengths, self.n_payloads * sizeof(int64_t), np.int64),
            view_of(self.payloads.words, self.payloads.n * sizeof(uint64_t), np.uint64),
            view_of(self.entries, self.n_entries * 2 * sizeof(int64_t), np.int64).reshape(-1, 2),
        )
