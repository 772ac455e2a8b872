"""Subtrees of few records, which are grown whole.

A *small subtree* is a node of at most DF_SMALL records and all that is below it. Small subtrees are grown whole: what
small_subtree.h finds becomes part of the tree. They are grown where a forest is what most are: splits, best or random, by columns
of numbers, draws of weight 1, no limit that asks for impurities, and a criterion that has small subtrees among its fast scans
(`dforest.core.search.split_evaluator`). Everything else goes the long way, node by node, to the same trees.

A `SmallSubtree` belongs to a grower and owns what `df_small_subtree` holds; splitter and decision are the grower's.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from dforest.core.loops cimport DF_SMALL, DF_SMALL_BINARY, DF_SMALL_SLOTS, DF_SMALL_SUMS, DF_UNORDERED_DRAWS, loops
from dforest.core.prefetch cimport df_prefetch
from dforest.core.search.packed_sums cimport df_pack_sum
from dforest.core.search.split_evaluator cimport FastScans, scans_of
from dforest.core.search.splitter cimport RandomSplitter
from dforest.core.search.sums cimport NO_SUMS, Sums
from dforest.core.types cimport CATEGORICAL, CONTINUOUS, Record, Split, data_row
from dforest.rules.cut cimport df_min_draws
from dforest.rules.node cimport df_min_split_size
from dforest.rules.records cimport df_limits


cdef enum:
    ALIGNMENT = 64                 # of small subtrees, as vectors of a cache line are read from them


@cython.final
cdef class SmallSubtree:
    """Grows small subtrees.

    Parameters
    ----------
    data : DataView
    decision : NodeDecision
        Of the same grower; it has its criterion and splitter.
    is_depth_first : bool
        Whether the tree is grown depth first; else there are no small subtrees.
    """

    def __cinit__(self, DataView data not None, NodeDecision decision not None, bint is_depth_first):
        cdef Py_ssize_t j
        cdef FastScans scans = scans_of(decision.criterion)
        cdef Splitter splitter = decision.splitter
        cdef df_small_subtree* small
        self.data = data
        self.decision = decision
        self.splitter = splitter
        self.is_random = isinstance(splitter, RandomSplitter)
        self.memory = calloc(1, sizeof(df_small_subtree) + ALIGNMENT)
        if self.memory == NULL:
            raise MemoryError()
        self.small = small = <df_small_subtree*> (<size_t> self.memory + ALIGNMENT - <size_t> self.memory % ALIGNMENT)
        if (not is_depth_first or not splitter.grows_small_subtrees or scans is None or data.weight != NULL
                or decision.limits.impurity_threshold > 0.0 or decision.limits.min_impurity_decrease > 0.0):
            return
        for j in range(data.n_features):
            if data.columns[j].kind == CATEGORICAL or data.columns[j].monotonic_cst != 0:
                return
            if (self.is_random and splitter.method == "dense" and data.columns[j].kind == CONTINUOUS
                    and not data.columns[j].has_keys):
                return                     # a random cut between ranks is looked for among all values
        self.words = scans.small_packing
        if self.words > 0:
            most = DF_SMALL if self.is_random else loops.small_records[self.words]
            self.max_records = min(<Py_ssize_t> DF_SMALL, splitter.tuning.get("small_up_to", most))
        small.n_features = <uint32_t> data.n_features
        small.max_features = splitter.max_features
        small.skip_constant = splitter.skip_constant_features
        small.n_classes = <int> decision.criterion.n_classes
        small.features = splitter.order.order
        small.swapped = splitter.order.swapped
        small.is_constant = splitter.is_constant
        for j in range(data.n_features):
            small.has_missing |= data.columns[j].has_missing
        if data.n_features > DF_SMALL_SLOTS:
            small.codes.slot_of = <uint8_t*> calloc(data.n_features, sizeof(uint8_t))
            if small.codes.slot_of == NULL:
                raise MemoryError()
            return
        small.all_features = ~<uint64_t> 0 >> (DF_SMALL_SLOTS - data.n_features)
        if data.rows is not None and data.rows.n_bytes == data.n_features and data.buckets == NULL:
            small.byte_rows = data.rows.codes
            small.byte_stride = data.rows.stride
            for j in range(data.n_features):
                small.codes.missing[j] = <uint8_t> data.columns[j].n_codes

    def __dealloc__(self):
        if self.small != NULL:
            free(self.small.codes.slot_of)
        free(self.memory)

    cdef void enter(self, const TreeRecords* tree_records) noexcept nogil:
        cdef const df_limits* limits = &self.decision.limits
        self.small.seed = tree_records.seed
        self.small.max_depth = limits.max_depth
        self.small.least = df_min_draws(&tree_records.rules)
        self.small.min_split = df_min_split_size(limits, tree_records.root_weight)

    cdef bint grow(self, const OpenNode* open_node, const Node* node, TreeWriter writer) except -1 nogil:
        if not self.load(node):
            return False
        self.splitter.forget_constants_from(node.depth)
        if self.is_random:
            loops.random_small_subtree[self.words](self.small)
        else:
            loops.small_subtree[self.words](self.small)
        self.write(node, open_node, writer)
        return True

    cdef bint load(self, const Node* node) noexcept nogil:
        """Copy what the records say, and make the uppermost node; False: there are too many draws, or columns are sparse."""
        cdef df_small_subtree* small = self.small
        cdef df_small_node* root = &small.nodes[0]
        cdef const Record* record
        cdef Py_ssize_t i
        cdef int64_t n_draws = 0
        if self.data.has_sparse and node.rows == NULL:     # not in a subtree cache: columns are sparse
            return False
        for i in range(node.n):
            n_draws += node.records[i].count
            if small.byte_rows != NULL:
                df_prefetch(small.byte_rows + <size_t> data_row(node.rows, node.records[i].row) * small.byte_stride)
        if n_draws > DF_UNORDERED_DRAWS:
            return False
        small.columns = node.columns
        small.data_rows = node.rows
        for i in range(node.n):
            record = &node.records[i]
            small.row[i] = record.row
            small.count[i] = record.count
            small.order[i] = <uint8_t> i
            small.target[i] = record.target
            if self.words == DF_SMALL_SUMS:
                small.word[i] = df_pack_sum(record.count, record.target)
                small.y[i] = node.y[record.row]
            elif self.words == DF_SMALL_BINARY:
                small.binary_counts[i] = <uint16_t> (record.count << (8 * record.target))
            else:
                small.word[i] = <uint64_t> record.count << (8 * record.target)
        small.scales[0] = node.scale
        small.n_scales = 1
        root.key = node.key
        root.depth = node.depth
        root.constants = 0
        root.feature = -1
        root.first = root.scale = root.parent = root.is_right = 0
        root.n = <uint8_t> node.n
        return True

    cdef int write(self, const Node* node, const OpenNode* open_node, TreeWriter writer) except -1 nogil:
        """Append the nodes to the tree."""
        cdef Py_ssize_t base = writer.n_nodes, parent, k
        cdef const df_small_node* found
        cdef bint is_right
        cdef Split split
        cdef Record records[DF_SMALL]
        cdef Node leaf = node[0]
        leaf.records = records
        split.payload = NULL
        for k in range(self.small.n_nodes):
            found = &self.small.nodes[k]
            parent = base + found.parent if k > 0 else open_node.parent
            is_right = found.is_right if k > 0 else open_node.is_right
            if found.feature >= 0:
                split.feature = found.feature
                split.code = found.code
                split.above = found.above
                split.threshold = found.threshold
                split.missing_left = found.missing_left
                split.only_missing_right = found.only_missing_right
                self.splitter.store_split(node, &split)
                writer.add_inner(parent, is_right, &split)
                continue
            self.open_leaf(node, found, &leaf)
            self.decision.write_leaf(&leaf, parent, is_right, writer)
        return 0

    cdef int open_leaf(self, const Node* node, const df_small_node* found, Node* leaf) except -1 nogil:
        """Open a leaf, given the subtree's node. INOUT leaf : with this node's fields, and memory for its records"""
        cdef const uint8_t* run = &self.small.order[found.first]
        cdef int64_t* statistics = self.decision.statistics
        cdef bint has_classes = self.words != DF_SMALL_SUMS
        cdef int64_t n_draws = 0
        cdef Record* record
        cdef Sums unknown
        cdef Py_ssize_t i
        for i in range(self.small.n_classes):
            statistics[2 + i] = 0
        for i in range(found.n):
            record = &leaf.records[i]
            record[0] = node.records[run[i]]
            n_draws += record.count
            if has_classes:
                statistics[2 + record.target] += record.count
            else:
                record.target = self.small.target[run[i]]
        leaf.at.first = node.at.first + found.first
        leaf.n = found.n
        leaf.is_pure = found.is_pure
        leaf.statistics = statistics
        statistics[0] = statistics[1] = n_draws
        if has_classes or found.is_pure:       # nobody asks for the sum of equal targets
            return 0
        leaf.scale = self.small.scales[found.scale]
        unknown.kind = NO_SUMS
        return self.decision.open(leaf, False, &unknown)
