"""The base class of splitters: feature sampling, and the order of the search.

A splitter owns its scratch; the data view, the criterion and the node are lent to it.
"""
from libc.math cimport INFINITY
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from dforest.core.random cimport DF_FEATURES, df_below, df_stream, df_stream_open


cdef class Splitter:
    """Base class; see the contract in splitter.pxd.

    Parameters
    ----------
    max_features : int
        Features tried at a node before the search may stop.
    tuning : dict
        Size thresholds of the machinery; they change speed, never the forest.
    """

    def __init__(self, Py_ssize_t max_features, dict tuning=None):
        self.max_features = max_features
        self.tuning = dict(tuning or {})

    def __dealloc__(self):
        free(self.order)
        free(self.swapped)
        free(self.is_constant)
        free(self.marks)

    def clone(self):
        """An unattached splitter with the same parameters."""
        return type(self)(self.max_features, self.tuning)

    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1:
        """Take data to work on, and make room for nodes of n_records records."""
        cdef Py_ssize_t j, n = data.n_features
        cdef uint32_t n_codes = 0
        self.data = data
        self.criterion = criterion
        self.cuts = Cuts(criterion, data.weight == NULL, self.tuning)
        for j in range(n):
            n_codes = max(n_codes, data.columns[j].n_codes)
        self.cuts.reserve(n_records, n_codes)
        self.order = <Py_ssize_t*> malloc(n * sizeof(Py_ssize_t))
        self.swapped = <Py_ssize_t*> malloc(n * sizeof(Py_ssize_t))
        self.is_constant = <uint8_t*> calloc(n, sizeof(uint8_t))
        self.marks = <Mark*> malloc(n * sizeof(Mark))
        if self.order == NULL or self.swapped == NULL or self.is_constant == NULL or self.marks == NULL:
            raise MemoryError()
        for j in range(n):
            self.order[j] = j
        return 0

    cdef int open_tree(self, uint64_t seed, uint32_t tree, const LeafRules* rules) except -1 nogil:
        self.seed = seed
        self.tree = tree
        self.rules = rules[0]
        while self.n_marks > 0:
            self.n_marks -= 1
            self.is_constant[self.marks[self.n_marks].feature] = 0
        return 0

    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        cdef Py_ssize_t i, j, n_tried = 0, n_features = self.data.n_features
        cdef Py_ssize_t feature
        cdef double before
        cdef df_stream stream
        out.feature = -1
        out.score = -1.0
        # Of the nodes that left marks only the ancestors count, and they are the less deep ones.
        while self.n_marks > 0 and self.marks[self.n_marks - 1].depth >= node.depth:
            self.n_marks -= 1
            self.is_constant[self.marks[self.n_marks].feature] = 0
        df_stream_open(&stream, self.seed, self.tree, node.path, DF_FEATURES)
        while n_tried < n_features and (n_tried < self.max_features or out.feature < 0):
            # order[0, n_tried) have been tried, order[n_tried, n_features) are left to draw from
            j = n_tried + df_below(&stream, <uint32_t> (n_features - n_tried))
            self.swapped[n_tried] = j
            feature = self.order[j]
            self.order[j] = self.order[n_tried]
            self.order[n_tried] = feature
            n_tried += 1
            if self.is_constant[feature]:
                continue
            before = out.score
            if self.best_cut(node, feature, &self.rules, out):
                self.is_constant[feature] = 1
                self.marks[self.n_marks].feature = feature
                self.marks[self.n_marks].depth = node.depth
                self.n_marks += 1
            if out.score > before:
                out.feature = feature
        for i in range(n_tried - 1, -1, -1):
            j = self.swapped[i]
            feature = self.order[j]
            self.order[j] = self.order[i]
            self.order[i] = feature
        if out.feature >= 0:
            if out.only_missing_right:
                out.code = self.data.columns[out.feature].n_codes - 1
                out.threshold = INFINITY
            else:
                out.threshold = self.threshold(node, out)
        return 0

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        return self.cuts.find(node, &self.data.columns[feature], rules, best)

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        return INFINITY
