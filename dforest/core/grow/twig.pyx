"""Subtrees of few records, grown whole: what twig.h finds becomes part of the tree.

A *twig* is a node of at most 32 records and all that is below it. Twigs are grown where a forest is what most are: splits, best
or random, by columns of numbers, draws of weight 1, no limit that asks for impurities, and a criterion that has twigs among its
fast scans (`dforest.core.search.chooser`). Everything else goes the long way, node by node, to the same trees.

A `Twig` belongs to a grower and owns what `df_twig` holds; splitter and judge are the grower's.
"""
cimport cython
from libc.stdlib cimport free, malloc

from dforest.core.loops cimport (
    DF_FEW_DRAWS,
    DF_TWIG,
    DF_TWIG_PAIRS,
    DF_TWIG_SUMS,
    df_twig_node,
    df_twig_scale,
    loops,
)
from dforest.core.search.chooser cimport FastScans, scans_of
from dforest.core.search.sums cimport NO_SUMS, Sums
from dforest.core.search.words cimport df_sum_word
from dforest.core.types cimport CATEGORICAL, CONTINUOUS, Record, Split, data_row
from dforest.rules.cut cimport df_least_draws
from dforest.rules.bounds cimport df_clip
from dforest.rules.node cimport df_least_split
from dforest.rules.records cimport df_limits

cdef enum:
    FETCHED_AHEAD = 8              # most features whose codes are on their way


@cython.final
cdef class Twig:
    """Grows twigs.

    Parameters
    ----------
    data : DataView
    judge : Judge
        Of the same grower; it has its criterion and splitter.
    is_depth_first : bool
        Whether the tree is grown depth first; else there are no twigs.
    """

    def __cinit__(self, DataView data not None, Judge judge not None, bint is_depth_first):
        cdef Py_ssize_t j
        cdef FastScans scans = scans_of(judge.criterion)
        cdef Splitter splitter = judge.splitter
        cdef df_twig* twig
        self.data = data
        self.judge = judge
        self.splitter = splitter
        self.is_random = isinstance(splitter, RandomSplitter)
        self.twig = twig = <df_twig*> malloc(sizeof(df_twig))
        if twig == NULL:
            raise MemoryError()
        if (not is_depth_first or not splitter.grows_twigs or scans is None or data.weight != NULL
                or judge.limits.impurity_threshold > 0.0 or judge.limits.min_impurity_decrease > 0.0):
            return
        for j in range(data.n_features):
            if data.columns[j].kind == CATEGORICAL or data.columns[j].direction != 0:
                return
            if (self.is_random and splitter.method == "dense" and data.columns[j].kind == CONTINUOUS
                    and not data.columns[j].has_keys):
                return                     # a random cut between ranks is looked for among all values
        self.words = scans.twig_words
        if self.words > 0:
            self.most_records = min(<Py_ssize_t> DF_TWIG, splitter.tuning.get("twig_up_to", TWIG_UP_TO))
        twig.n_features = <uint32_t> data.n_features
        twig.max_features = splitter.max_features
        twig.skip_constant = splitter.skip_constant_features
        self.n_ahead = <int> min(splitter.max_features, <Py_ssize_t> FETCHED_AHEAD) if splitter.fetch_up_to > 0 else 0
        twig.n_classes = <int> judge.criterion.n_classes
        twig.features = splitter.order.order
        twig.swapped = splitter.order.swapped
        twig.is_constant = splitter.is_constant

    def __dealloc__(self):
        free(self.twig)

    cdef void enter(self, const Trunk* trunk) noexcept nogil:
        cdef const df_limits* limits = &self.judge.limits
        self.trunk = trunk
        self.twig.seed = trunk.seed
        self.twig.max_depth = limits.max_depth
        self.twig.least = df_least_draws(&trunk.rules)
        self.twig.least_split = df_least_split(limits, trunk.root_weight)

    cdef bint grow(self, const Place* place, const Node* node, TreeWriter writer) except -1 nogil:
        if not self.load(place, node):
            return False
        self.splitter.forget_constants_from(node.depth)
        if self.is_random:
            loops.random_twig[self.words](self.twig)
        else:
            loops.twig[self.words](self.twig)
        self.write(node, place, writer)
        return True

    cdef bint load(self, const Place* place, const Node* node) noexcept nogil:
        """Copy what the records say, and make the uppermost node; False: there are too many draws, or columns are sparse."""
        cdef df_twig* twig = self.twig
        cdef df_twig_node* root = &twig.nodes[0]
        cdef const Record* record
        cdef Py_ssize_t i
        cdef int64_t n_draws = 0
        if self.data.has_sparse and node.rows == NULL:     # not in a block: columns are sparse
            return False
        for i in range(node.n):
            n_draws += node.records[i].count
        if n_draws > DF_FEW_DRAWS:
            return False
        twig.columns = node.columns
        twig.data_rows = node.rows
        twig.n_ahead = self.n_ahead if node.rows == NULL or self.data.coarse != NULL else 0
        for i in range(node.n):
            record = &node.records[i]
            twig.row[i] = record.row
            twig.count[i] = record.count
            twig.order[i] = <uint8_t> i
            twig.target[i] = record.target
            if self.words == DF_TWIG_SUMS:
                twig.word[i] = df_sum_word(record.count, record.target)
                twig.y[i] = node.y[record.row]
            elif self.words == DF_TWIG_PAIRS:
                twig.pair[i] = <uint16_t> (record.count << (8 * record.target))
            else:
                twig.word[i] = <uint64_t> record.count << (8 * record.target)
        twig.scales[0].centre = place.scale.centre
        twig.scales[0].range = place.scale.range
        twig.scales[0].exponent = place.scale.exponent
        twig.n_scales = 1
        root.path = place.path
        root.depth = place.depth
        root.constants = 0
        root.feature = -1
        root.first = root.scale = root.parent = root.is_right = 0
        root.n = <uint8_t> node.n
        return True

    cdef int write(self, const Node* node, const Place* place, TreeWriter writer) except -1 nogil:
        """Append the nodes to the tree."""
        cdef Py_ssize_t base = writer.n_nodes, parent, i, k, at
        cdef const df_twig_node* found
        cdef bint is_right
        cdef Split split
        split.payload = NULL
        for k in range(self.twig.n_nodes):
            found = &self.twig.nodes[k]
            parent = base + found.parent if k > 0 else place.parent
            is_right = found.is_right if k > 0 else place.is_right
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
            self.write_leaf(node, k, writer.add_leaf(parent, is_right))
            if self.trunk.rows != NULL:
                at = place.first + found.first
                for i in range(found.n):
                    self.trunk.rows[at + i] = data_row(node.rows, self.twig.row[self.twig.order[found.first + i]])
                    self.trunk.is_first[at + i] = i == 0
        return 0

    cdef int write_leaf(self, const Node* node, Py_ssize_t k, int64_t* words) except -1 nogil:
        """Say what the k-th node keeps as a leaf. OUT words : [Objective.n_leaf_words]"""
        cdef df_twig* twig = self.twig
        cdef const df_twig_node* found = &twig.nodes[k]
        cdef const uint8_t* run = &twig.order[found.first]
        cdef const df_twig_scale* scale = &twig.scales[found.scale]
        cdef Record records[DF_TWIG]
        cdef Node leaf
        cdef Sums unknown
        cdef Py_ssize_t i
        cdef int64_t n_draws = 0
        if self.words != DF_TWIG_SUMS:
            for i in range(twig.n_classes):
                words[1 + i] = 0
            for i in range(found.n):
                n_draws += twig.count[run[i]]
                words[1 + twig.target[run[i]]] += twig.count[run[i]]
            words[0] = n_draws
            return 0
        if found.is_pure:
            for i in range(found.n):
                n_draws += twig.count[run[i]]
            words[0] = words[1] = n_draws
            (<double*> words)[2] = df_clip(twig.y[run[0]], node.lower, node.upper)
            (<double*> words)[3] = 0.0
            return 0
        leaf = node[0]
        leaf.records = records
        leaf.n = found.n
        leaf.scale.centre = scale.centre
        leaf.scale.range = scale.range
        leaf.scale.exponent = scale.exponent
        for i in range(found.n):
            records[i] = node.records[run[i]]
            records[i].target = twig.target[run[i]]
        unknown.kind = NO_SUMS
        self.judge.open(&leaf, False, &unknown)
        return self.judge.store_leaf(&leaf, words)
