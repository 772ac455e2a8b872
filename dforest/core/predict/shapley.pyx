"""Shapley values of what trees predict: how much each feature of a row adds, and how much couples of features interact.

`shapley.h` has the formulas by the cover of nodes, `shapley_rows.h` those against rows of a background. The rows of a block lie
lane by lane in *groups* of DF_SHAPLEY_LANES rows. A thread makes a tree ready for a block, and sends all groups of the block
through the tree; so a row's sums over trees are formed by one thread in the order of the trees, and have the same bits on any
number of threads.

A `ShapleyForest` borrows the arrays of a forest; each thread owns what it needs for the largest tree and for a block.
"""
from libc.math cimport exp2, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset
from cpython.ref cimport PyObject

import numpy as np

from dforest.core.loops cimport loops
from dforest.core.threads cimport WorkerContext, parallel_for, poll
from dforest.core.types cimport df_rows, value_at
from dforest.rules.weights cimport df_both_weights, df_shifted_sum, df_weight_fraction
from dforest.core.predict.packed cimport rows_of
from dforest.core.predict.walk cimport (
    DF_IS_SUBSET, DF_MISSING_LEFT, DF_SHAPLEY_FACTORS, DF_SHAPLEY_LANES, DF_SHAPLEY_POINTS, DF_SHAPLEY_TABLED,
    df_shapley_couple, df_shapley_interactions, df_shapley_node, df_shapley_tables, df_shapley_tree,
)

from dforest.core.class_lists import ClassLists
from dforest.core.predict.packing import payload_words
from dforest.core.predict.shapley_weights import gauss_points, make_factors

cdef extern from "core/predict/shapley_pairs.h" nogil:
    enum:
        DF_SHAPLEY_OTHERS
    ctypedef struct df_shapley_pair_node:
        uint64_t others_left
        uint32_t right
        int32_t feature
    ctypedef struct df_shapley_parting:
        pass
    uint64_t df_shapley_left(const df_shapley_node* node, const uint64_t* words, const double* x, size_t size, size_t n_groups)
    void df_shapley_pair(const df_shapley_pair_node* nodes, const uint32_t* rows_left, int row, int other,
                         const double* factors, uint8_t* given, df_shapley_parting* partings, double* sums,
                         double* interactions)

cdef enum:
    BLOCK_ROWS = 1024         # of a block, at most
    BLOCK_NUMBERS = 1 << 18   # values and sums of a block, at most, but for a single group
    LEVEL_ROWS = 1 << 23      # rows of a background that are looked at together, times levels, at most
    SOME_ROWS = 64            # ... but at least this many rows
    TABLE_WORK = 1 << 28      # leaves times rows, and features on a path, that tables are looked up for at once
    LEAF_WORK = 20            # of a row and a leaf, in nanoseconds or so
    PAIR_WORK = 60            # nanoseconds that a pair of rows takes, by the root of the number of leaves, about

cdef struct Scratch:          # of a thread
    df_shapley_node* nodes    # [nodes of the largest tree], as the next two
    df_shifted_sum* cover
    double* expected          # what a row is expected to find below, if nothing is known of it
    uint32_t* path            # [levels] the nodes from the root to one, as the next two
    uint8_t* side             # 1: to the right
    double* above             # z of the edge that is taken, with those of the same feature above: see shapley.h
    int32_t* last             # [n_features] the level of the last node on the path that tests a feature; -1: there is none
    double* room              # see `df_shapley_walk`
    df_shapley_interactions interactions  # see shapley.h; NULL: they are not asked for
    df_shapley_tables tables  # against a background: see shapley_rows.h, and shapley_pairs.h for what follows
    df_shapley_pair_node* pair_nodes      # [nodes of the largest tree]
    uint32_t* rows_left       # [nodes of the largest tree]
    uint8_t* given            # [n_features] 0
    df_shapley_parting* partings          # [n_features]

cdef struct Task:              # rows whose values are asked for
    PyObject* forest          # the ShapleyForest
    const df_rows* rows
    Py_ssize_t n, n_block     # rows, and rows of a block
    Py_ssize_t n_most         # rows of a block if there is one thread
    bint has_interactions
    Py_ssize_t n_sums         # of a row and an output: of features, and then of couples of features
    double* out               # [n, n_features, n_results], or [n, n_features, n_features, n_results]
    double* base              # [n_outputs] or NULL
    const double* z           # the background, in groups; NULL: values are by the cover of nodes
    Py_ssize_t n_background


cdef class ShapleyForest:
    """A forest made ready to tell Shapley values.

    Parameters
    ----------
    forest : Forest
        Whose tests are of numbers and categories.
    values : ndarray of shape (n_leaves, n_values), dtype float64
        What leaves add to predictions, by row of the leaf tables.
    n_threads : int

    """
    cdef readonly Py_ssize_t n_trees, n_features
    cdef readonly Py_ssize_t n_results    # numbers that a prediction has
    cdef readonly Py_ssize_t n_outputs    # ... but for the last class: predictions of classes sum to 1
    cdef bint predicts_shares
    cdef bint takes_turns                 # trees take turns at the outputs, which are sums; else they are means over trees
    cdef const int32_t[::1] feature
    cdef const uint32_t[::1] link
    cdef const float[::1] narrow          # thresholds, or ...
    cdef const double[::1] wide           # ... these
    cdef bint is_narrow
    cdef const uint8_t[::1] missing_left
    cdef const int64_t[::1] offsets
    cdef const int32_t[::1] n_categories
    cdef const uint64_t[::1] words
    cdef const int64_t[::1] places        # of subsets, in `words`
    cdef const int64_t[::1] first_place   # [n_trees] of each tree, in `places`
    cdef const int64_t[::1] weight        # of each leaf
    cdef const int32_t[::1] shift         # of these weights; none: all are 0
    cdef const double[:, ::1] values
    cdef int64_t[::1] most                # [n_trees] features on a path, at most
    cdef int64_t[::1] levels              # [n_trees] of nodes that are no leaves
    cdef int64_t largest, highest         # nodes and levels of a tree, at most
    cdef const int64_t[::1] first_point   # by number of points: where these begin in the next two
    cdef const double[::1] points, weights
    cdef int64_t room                     # numbers that `df_shapley_walk` needs, at most
    cdef const double[:, ::1] factors     # W of shapley_rows.h, from a = -1 on

    def __init__(self, forest not None, const double[:, ::1] values not None, int n_threads):
        if forest.splitter is not None:
            raise ValueError("the tests of a forest are a splitter's own; allowed are tests of single features")
        self.n_trees, self.n_features = forest.n_trees, forest.n_features
        self.predicts_shares = forest.objective.predicts_shares
        self.takes_turns = forest.objective.baseline is not None
        self.n_results = len(forest.objective.baseline) if self.takes_turns else values.shape[1]
        self.n_outputs = self.n_results - self.predicts_shares
        self.feature, self.link, self.offsets = forest.feature, forest.link, forest.node_offsets
        self.is_narrow = forest.threshold.dtype == np.float32
        if self.is_narrow:
            self.narrow = forest.threshold
        else:
            self.wide = forest.threshold
        self.missing_left = forest.missing_left.view(np.uint8)
        self.n_categories = forest.n_categories
        self.words, self.places = np.empty(1, np.uint64), np.empty(1, np.int64)
        self.first_place = np.ascontiguousarray(forest._payloads_before, np.int64)
        if len(forest.payload_offsets) > 1:
            self.words, self.places = payload_words(forest)
        weights = forest.weights
        self.weight = weights.totals() if isinstance(weights, ClassLists) else weights.sum(axis=1)
        self.shift = forest.leaf_shift
        self.values = values
        self.largest = int(np.diff(forest.node_offsets).max())
        self.highest = self.largest // 2
        most, levels = np.zeros(self.n_trees, np.int64), np.zeros(self.n_trees, np.int64)
        self.most, self.levels = most, levels
        parallel_for(measure_tree, <void*> self, self.n_trees, n_threads)
        self.highest = levels.max()
        needed = (most + 1) // 2                 # points
        at_a_time = np.minimum(needed, DF_SHAPLEY_POINTS)
        self.room = int((DF_SHAPLEY_LANES * at_a_time + levels * (2 * at_a_time + 2) * DF_SHAPLEY_LANES).max())
        self.factors = make_factors(DF_SHAPLEY_FACTORS)
        self.lay_out_points(np.unique(needed[needed > 0]).tolist())

    def lay_out_points(self, counts):
        """Make the points and weights of each of these numbers of points."""
        first = np.zeros(max(counts, default=0) + 1, np.int64)
        first[counts] = np.cumsum(counts) - counts
        pairs = [gauss_points(n) for n in counts] or [(np.empty(0), np.empty(0))]
        self.first_point = first
        self.points, self.weights = (np.concatenate(parts) for parts in zip(*pairs))

    cdef int open(self, Scratch* scratch) except -1 nogil:
        """Take the memory that a thread needs at least, of which `close` gives back as much as there is."""
        memset(scratch, 0, sizeof(Scratch))
        scratch.nodes = <df_shapley_node*> malloc(self.largest * sizeof(df_shapley_node))
        scratch.cover = <df_shifted_sum*> malloc(self.largest * sizeof(df_shifted_sum))
        scratch.expected = <double*> malloc(self.largest * sizeof(double))
        scratch.path = <uint32_t*> malloc((self.highest + 1) * sizeof(uint32_t))
        scratch.side = <uint8_t*> malloc((self.highest + 1) * sizeof(uint8_t))
        scratch.above = <double*> malloc((self.highest + 1) * sizeof(double))
        scratch.last = <int32_t*> malloc(self.n_features * sizeof(int32_t))
        scratch.room = <double*> malloc((self.room + 1) * sizeof(double))
        if (scratch.nodes == NULL or scratch.cover == NULL or scratch.expected == NULL or scratch.path == NULL
                or scratch.side == NULL or scratch.above == NULL or scratch.last == NULL or scratch.room == NULL):
            with gil:
                raise MemoryError()
        memset(scratch.last, 0xFF, self.n_features * sizeof(int32_t))
        return 0

    cdef int open_interactions(self, Scratch* scratch) except -1 nogil:
        """Take the memory besides for interactions, which `close` gives back."""
        cdef df_shapley_interactions* interactions = &scratch.interactions
        interactions.last = <int32_t*> malloc((self.n_features + 1) * sizeof(int32_t))
        interactions.gain = <double*> malloc((self.highest + 1) * DF_SHAPLEY_POINTS * sizeof(double))
        interactions.added = <double*> malloc((DF_SHAPLEY_POINTS + 1) * DF_SHAPLEY_LANES * sizeof(double))
        if interactions.last == NULL or interactions.gain == NULL or interactions.added == NULL:
            with gil:
                raise MemoryError()
        memset(interactions.last, 0xFF, (self.n_features + 1) * sizeof(int32_t))
        return 0

    cdef void close(self, Scratch* scratch) noexcept nogil:
        free(scratch.interactions.last)
        free(scratch.interactions.gain)
        free(scratch.interactions.added)
        free(scratch.nodes)
        free(scratch.cover)
        free(scratch.expected)
        free(scratch.path)
        free(scratch.side)
        free(scratch.above)
        free(scratch.last)
        free(scratch.room)

    cdef void make_ready(self, Py_ssize_t t, Scratch* scratch, int64_t* most, int64_t* levels) noexcept nogil:
        """Fill the nodes of tree t, but for the values of leaves. OUT most, levels : see the attributes"""
        cdef Py_ssize_t first = self.offsets[t], n = self.offsets[t + 1] - first, i
        cdef int64_t place = self.first_place[t], level = 0, n_known = 0
        cdef df_shapley_node* node
        cdef df_shapley_node* nodes = scratch.nodes
        most[0] = levels[0] = 0
        for i in range(n - 1, -1, -1):
            if self.feature[first + i] < 0:
                scratch.cover[i].weight = self.weight[self.link[first + i]]
                scratch.cover[i].shift = self.shift[self.link[first + i]] if self.shift.shape[0] > 0 else 0
            elif self.shift.shape[0] > 0:
                scratch.cover[i] = df_both_weights(scratch.cover[i + 1], scratch.cover[self.link[first + i]])
            else:
                scratch.cover[i].weight = scratch.cover[i + 1].weight + scratch.cover[self.link[first + i]].weight
                scratch.cover[i].shift = 0
        for i in range(n):
            node = nodes + i
            node.feature = self.feature[first + i]
            node.right = self.link[first + i]
            if node.feature < 0:         # the next node is the right child of the last one that went left
                while level > 0:
                    level -= 1
                    node = nodes + scratch.path[level]
                    if not scratch.side[level]:
                        scratch.side[level] = 1
                        scratch.above[level] = node.above * df_weight_fraction(scratch.cover[node.right],
                                                                               scratch.cover[scratch.path[level]])
                        level += 1
                        break
                    scratch.last[node.feature] = node.ancestor
                    n_known -= node.ancestor < 0
                continue
            node.left = df_weight_fraction(scratch.cover[i + 1], scratch.cover[i])
            node.threshold = self.narrow[first + i] if self.is_narrow else self.wide[first + i]
            node.flags = DF_MISSING_LEFT if self.missing_left[first + i] else 0
            if self.n_categories[node.feature] > 0:
                node.flags |= DF_IS_SUBSET
                node.place = <uint32_t> self.places[place]
                place += 1
            node.ancestor = scratch.last[node.feature]
            if node.ancestor < 0:
                node.above = 1.0
                node.position = <uint32_t> n_known
                n_known += 1
            else:
                node.above = scratch.above[node.ancestor]
                node.position = nodes[scratch.path[node.ancestor]].position
            scratch.last[node.feature] = <int32_t> level
            scratch.path[level] = <uint32_t> i
            scratch.side[level] = 0
            scratch.above[level] = node.above * node.left
            level += 1
            most[0] = max(most[0], n_known)
            levels[0] = max(levels[0], level)

    cdef int measure(self, Py_ssize_t t, WorkerContext* worker) except -1 nogil:
        """Set how many features and levels tree t has at most."""
        cdef Scratch scratch
        memset(&scratch, 0, sizeof(scratch))
        try:
            self.open(&scratch)
            self.make_ready(t, &scratch, &self.most[t], &self.levels[t])
            poll(worker, 30 * (self.offsets[t + 1] - self.offsets[t]))
        finally:
            self.close(&scratch)
        return 0

    cdef double set_values(self, Py_ssize_t t, Py_ssize_t output, Scratch* scratch) noexcept nogil:
        """Set what leaves are above or below the tree's mean, which is returned."""
        cdef Py_ssize_t first = self.offsets[t], n = self.offsets[t + 1] - first, i
        cdef df_shapley_node* nodes = scratch.nodes
        cdef double* expected = scratch.expected
        for i in range(n - 1, -1, -1):
            if nodes[i].feature < 0:
                expected[i] = self.values[self.link[first + i], output]
            else:
                expected[i] = nodes[i].left * expected[i + 1] + (1.0 - nodes[i].left) * expected[nodes[i].right]
        for i in range(n):
            if nodes[i].feature < 0:
                nodes[i].left = expected[i] - expected[0]
        return expected[0]

    cdef int by_cover(self, Py_ssize_t t, Py_ssize_t n, const double* x, const Task* task, Scratch* scratch, double* sums,
                      WorkerContext* worker) except -1 nogil:
        """Add the values of a tree that has been made ready for n rows, by the cover of its nodes.

        IN x : [n_groups, n_features, DF_SHAPLEY_LANES]
        INOUT sums : [n_groups, ., n_sums, DF_SHAPLEY_LANES], of which those of one output; the next group's are n_outputs on
        """
        cdef int64_t needed = (self.most[t] + 1) // 2, walks = (needed + DF_SHAPLEY_POINTS - 1) // DF_SHAPLEY_POINTS, i
        cdef Py_ssize_t size = self.n_features * DF_SHAPLEY_LANES, step = task.n_sums * DF_SHAPLEY_LANES * self.n_outputs, group
        cdef df_shapley_tree tree = df_shapley_tree(scratch.nodes, &self.words[0])
        cdef df_shapley_interactions* interactions = &scratch.interactions if task.has_interactions else NULL
        cdef int64_t others = self.most[t] if task.has_interactions else 0
        cdef const double* points = &self.points[self.first_point[needed]]
        cdef const double* weights = &self.weights[self.first_point[needed]]
        cdef int64_t begin, end
        for group in range((n + DF_SHAPLEY_LANES - 1) // DF_SHAPLEY_LANES):
            scratch.interactions.sums = sums + group * step + size
            for i in range(walks):
                begin = i * needed // walks
                end = (i + 1) * needed // walks
                loops.shapley(<int> (end - begin), &tree, x + group * size, points + begin, weights + begin, scratch.room,
                              scratch.path, scratch.side, sums + group * step, interactions)
                poll(worker, (self.offsets[t + 1] - self.offsets[t]) * (16 + 16 * (end - begin)) * (1 + others // 2))
        return 0

    cdef int open_background(self, Scratch* scratch, Py_ssize_t n_rows, bint has_interactions) except -1 nogil:
        """Take the memory besides that blocks of n_rows rows need against a background; `close_background` gives it back."""
        cdef Py_ssize_t levels = self.highest + 1, i, n_tables = 3 if has_interactions else 0
        cdef df_shapley_tables* tables = &scratch.tables
        scratch.pair_nodes = <df_shapley_pair_node*> malloc(self.largest * sizeof(df_shapley_pair_node))
        scratch.rows_left = <uint32_t*> malloc(self.largest * sizeof(uint32_t))
        scratch.given = <uint8_t*> calloc(self.n_features, 1)
        scratch.partings = <df_shapley_parting*> malloc(self.n_features * sizeof(df_shapley_parting))
        tables.node = scratch.path
        tables.side = scratch.side
        tables.cold = <uint16_t*> malloc((levels + 1) * n_rows * sizeof(uint16_t))
        tables.lacking = <uint16_t*> malloc((levels + 1) * self.rows_at_a_time() * sizeof(uint16_t))
        tables.left = <uint8_t*> malloc(levels * (n_rows + self.rows_at_a_time()))
        tables.first = <uint32_t*> malloc((1 + self.n_features) * sizeof(uint32_t))
        tables.counts = <uint32_t*> calloc(1 << DF_SHAPLEY_TABLED, sizeof(uint32_t))
        tables.patterns = <uint16_t*> malloc((1 << DF_SHAPLEY_TABLED) * sizeof(uint16_t))
        tables.b = <double*> malloc((1 << DF_SHAPLEY_TABLED) * sizeof(double))
        tables.e = <double*> malloc((1 << DF_SHAPLEY_TABLED) * sizeof(double))
        if (scratch.pair_nodes == NULL or scratch.rows_left == NULL or scratch.given == NULL or scratch.partings == NULL
                or tables.cold == NULL or tables.lacking == NULL or tables.left == NULL or tables.first == NULL
                or tables.counts == NULL or tables.patterns == NULL or tables.b == NULL or tables.e == NULL):
            with gil:
                raise MemoryError()
        for i in range(n_tables):
            tables.couples[i] = <double*> malloc((1 << DF_SHAPLEY_TABLED) * sizeof(double))
            if tables.couples[i] == NULL:
                with gil:
                    raise MemoryError()
        return 0

    cdef void close_background(self, Scratch* scratch) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(3):
            free(scratch.tables.couples[i])
        free(scratch.pair_nodes)
        free(scratch.rows_left)
        free(scratch.given)
        free(scratch.partings)
        free(scratch.tables.first)
        free(scratch.tables.cold)
        free(scratch.tables.lacking)
        free(scratch.tables.left)
        free(scratch.tables.counts)
        free(scratch.tables.patterns)
        free(scratch.tables.b)
        free(scratch.tables.e)

    cdef Py_ssize_t rows_at_a_time(self) noexcept nogil:
        """How many rows of a background are looked at together, as a multiple of 64."""
        return max(<Py_ssize_t> SOME_ROWS, min(<Py_ssize_t> 8192, <Py_ssize_t> (LEVEL_ROWS // (self.highest + 1)) // 64 * 64))

    cdef bint has_tables(self, Py_ssize_t t, const Task* task) noexcept nogil:
        """Whether tables of a tree take less time than pairs; that depends on no number of threads."""
        cdef double n_leaves = (self.offsets[t + 1] - self.offsets[t] + 1) / 2, most = <double> self.most[t], n = <double> task.n
        cdef double n_background = <double> task.n_background, n_blocks = (task.n + task.n_most - 1) // task.n_most
        cdef double fill = exp2(most) + n_background * exp2(0.5 * most), look_up = most, of_pair = PAIR_WORK
        if task.has_interactions:
            fill *= 2.0
            look_up += 0.5 * most * most
            of_pair *= 1.5
        return (self.most[t] <= DF_SHAPLEY_TABLED
                and n_leaves * (n_blocks * fill + n * look_up) < of_pair * sqrt(n_leaves) * n * n_background)

    cdef int by_rows(self, Py_ssize_t t, Py_ssize_t n, const double* x, const Task* task, Scratch* scratch, double* sums,
                     WorkerContext* worker) except -1 nogil:
        """Add the values of a tree for n rows, against all rows of the background. Parameters: as of `by_cover`"""
        cdef Py_ssize_t size = self.n_features * DF_SHAPLEY_LANES, step = task.n_sums * DF_SHAPLEY_LANES * self.n_outputs
        cdef Py_ssize_t n_nodes = self.offsets[t + 1] - self.offsets[t]
        cdef bint has_tables = self.has_tables(t, task)
        # Rows of the background, and others, that are worked on together: few enough for an interrupt to be heard in between.
        cdef Py_ssize_t n_leaves = (n_nodes + 1) // 2, most = max(1, self.most[t]), begin = 0, n_some, i, j, k
        cdef Py_ssize_t some = max(<Py_ssize_t> SOME_ROWS, min(self.rows_at_a_time(), TABLE_WORK // n_leaves // 64 * 64))
        cdef Py_ssize_t work = most * (1 + most // 2 if task.has_interactions else 1)     # of a row and a leaf
        cdef Py_ssize_t at_once = max(1, TABLE_WORK // (n_leaves * work) // DF_SHAPLEY_LANES) * DF_SHAPLEY_LANES
        cdef double* of_row
        cdef df_shapley_tree tree = df_shapley_tree(scratch.nodes, &self.words[0])
        cdef df_shapley_pair_node* nodes = scratch.pair_nodes
        cdef const double* z
        for i in range(n_nodes):
            nodes[i].feature = scratch.nodes[i].feature
            nodes[i].right = scratch.nodes[i].right if nodes[i].feature >= 0 else 0
            if nodes[i].right == 0:
                memcpy(&nodes[i].others_left, &scratch.nodes[i].left, sizeof(double))
        if not has_tables:
            some = DF_SHAPLEY_OTHERS
        while begin < task.n_background:
            z = task.z + begin // DF_SHAPLEY_LANES * size
            n_some = min(some, task.n_background - begin)
            begin += some
            if has_tables:
                for k in range((n + at_once - 1) // at_once):
                    i = k * at_once // DF_SHAPLEY_LANES
                    j = min(at_once, n - k * at_once)
                    loops.shapley_tables(&tree, &self.factors[1, 0], x + i * size, j, z, n_some, size, &scratch.tables,
                                         sums + i * step, step)
                    poll(worker, n_leaves * (j * work + 4 * n_some))
                continue
            for i in range(n_nodes):
                if nodes[i].right:
                    nodes[i].others_left = df_shapley_left(&scratch.nodes[i], &self.words[0], z, size,
                                                           (n_some + DF_SHAPLEY_LANES - 1) // DF_SHAPLEY_LANES)
            for k in range((n + DF_SHAPLEY_LANES - 1) // DF_SHAPLEY_LANES):
                for i in range(n_nodes):
                    if nodes[i].right:
                        scratch.rows_left[i] = <uint32_t> df_shapley_left(&scratch.nodes[i], &self.words[0],
                                                                          x + k * size, size, 1)
                for i in range(min(<Py_ssize_t> DF_SHAPLEY_LANES, n - k * DF_SHAPLEY_LANES)):
                    of_row = sums + k * step + i
                    for j in range(n_some):
                        df_shapley_pair(nodes, scratch.rows_left, <int> i, <int> j, &self.factors[1, 0], scratch.given,
                                        scratch.partings, of_row, of_row + size if task.has_interactions else NULL)
                    poll(worker, 16 * n_nodes + (100 + 10 * (work - most)) * n_some)
        return 0

    cdef int explain_block(self, const Task* task, Py_ssize_t first, Py_ssize_t n, WorkerContext* worker) except -1 nogil:
        """Tell the values of n rows of a `Task`, from the first one on."""
        cdef Py_ssize_t n_groups = (n + DF_SHAPLEY_LANES - 1) // DF_SHAPLEY_LANES, n_outputs = self.n_outputs
        cdef Py_ssize_t size = self.n_features * DF_SHAPLEY_LANES, step = task.n_sums * DF_SHAPLEY_LANES, t, i, k, output, end
        cdef double* x = <double*> malloc(n_groups * (size + step * n_outputs) * sizeof(double))
        cdef double* sums = x + n_groups * size
        cdef double* to
        cdef double mean
        cdef int64_t most, levels
        cdef Scratch scratch
        memset(&scratch, 0, sizeof(scratch))
        try:
            if x == NULL:
                with gil:
                    raise MemoryError()
            self.open(&scratch)
            if task.has_interactions:
                self.open_interactions(&scratch)
            if task.z != NULL:
                self.open_background(&scratch, n_groups * DF_SHAPLEY_LANES, task.has_interactions)
            for i in range(n_groups * DF_SHAPLEY_LANES):        # lanes that are left over repeat the last row
                to = x + i // DF_SHAPLEY_LANES * size + i % DF_SHAPLEY_LANES
                for k in range(self.n_features):
                    to[k * DF_SHAPLEY_LANES] = value_at(task.rows, first + min(i, n - 1), k)
            memset(sums, 0, n_groups * step * n_outputs * sizeof(double))
            for t in range(self.n_trees):
                self.make_ready(t, &scratch, &most, &levels)
                poll(worker, 30 * (self.offsets[t + 1] - self.offsets[t]))
                end = t % n_outputs + 1 if self.takes_turns else n_outputs
                for output in range(t % n_outputs if self.takes_turns else 0, end):
                    mean = self.set_values(t, 0 if self.takes_turns else output, &scratch)
                    if task.z == NULL and first == 0:
                        task.base[output] += mean
                    if most > 0 and task.z == NULL:
                        self.by_cover(t, n, x, task, &scratch, sums + output * step, worker)
                    elif most > 0:
                        self.by_rows(t, n, x, task, &scratch, sums + output * step, worker)
            for i in range(n):
                self.write_row(task, first + i, sums + i // DF_SHAPLEY_LANES * step * n_outputs + i % DF_SHAPLEY_LANES)
                poll(worker, 4 * task.n_sums * self.n_results)
        finally:
            free(x)
            self.close(&scratch)
            self.close_background(&scratch)
        return 0

    cdef void write_row(self, const Task* task, Py_ssize_t row, const double* sums) noexcept nogil:
        """Write what has been found for a row. IN sums : [n_outputs, n_sums, DF_SHAPLEY_LANES], of which one lane"""
        cdef Py_ssize_t m = self.n_features, n = self.n_results, i, j, k
        cdef Py_ssize_t wide = m if task.has_interactions else 1       # numbers of a feature, for each result
        cdef double* out = task.out + row * m * wide * n
        cdef double* to
        for i in range(m):
            self.write_number(task, sums + i * DF_SHAPLEY_LANES, out + (i * m + i if task.has_interactions else i) * n)
        for i in range(1, m if task.has_interactions else 1):
            for j in range(i):
                to = out + (i * m + j) * n
                self.write_number(task, sums + (m + df_shapley_couple(i, j)) * DF_SHAPLEY_LANES, to)
                for k in range(n):     # one half for each; what is left of a feature's value is its own
                    to[k] *= 0.5
                    out[(j * m + i) * n + k] = to[k]
                    out[(i * m + i) * n + k] -= to[k]
                    out[(j * m + j) * n + k] -= to[k]

    cdef void write_number(self, const Task* task, const double* sums, double* out) noexcept nogil:
        """Write what sums come to. IN sums : [n_outputs, n_sums, DF_SHAPLEY_LANES], of which one. OUT out : [n_results]"""
        cdef double total = 0.0, mean
        cdef Py_ssize_t j
        for j in range(self.n_outputs):
            mean = sums[j * task.n_sums * DF_SHAPLEY_LANES]
            if not self.takes_turns:
                mean /= <double> self.n_trees
            if task.z != NULL:
                mean /= <double> task.n_background
            total += mean
            out[j] = mean
        if self.predicts_shares:
            out[self.n_outputs] = -total

    def explain(self, X not None, background, int n_threads, bint has_interactions=False):
        """Values by the cover of nodes, or against a background, or interactions of features.

        Parameters
        ----------
        X : ndarray of shape (n, n_features), dtype float32 or float64
            C-contiguous.
        background : ndarray of shape (n_background, n_features), dtype float32 or float64, or None
            C-contiguous, of one row or more. None: by the cover of nodes.
        n_threads : int
        has_interactions : bool

        Returns
        -------
        values : ndarray of shape (n, n_features, n_results) or (n, n_features, n_features, n_results), dtype float64
            How much each feature adds to each output; or half the interaction of each couple of features, and what is left of
            each feature's value.
        base : ndarray of shape (n_outputs,), dtype float64
            By the cover of nodes: sums over trees of what a row is expected to find, of which nothing is known; without the last
            class. Against a background: 0.
        """
        for rows_of_both in (X,) if background is None else (X, background):
            if rows_of_both.shape[1] != self.n_features:
                raise ValueError(f"rows of {rows_of_both.shape[1]} features, but the forest was grown on {self.n_features}")
        cdef const float[:, ::1] floats
        cdef const double[:, ::1] doubles
        cdef const double[:, :, ::1] z
        cdef df_rows rows
        cdef Task task
        cdef Py_ssize_t n = X.shape[0], m = self.n_features, n_sums = m * (m + 1) // 2 if has_interactions else m
        cdef Py_ssize_t n_most = max(1, min(<Py_ssize_t> BLOCK_ROWS, BLOCK_NUMBERS // (m + n_sums * self.n_outputs)))
        cdef Py_ssize_t n_block, n_blocks
        if X.dtype == np.float32:
            floats = X
            rows = rows_of(floats)
        else:
            doubles = X
            rows = rows_of(doubles)
        values = np.zeros([n, *([m, m] if has_interactions else [m]), self.n_results])
        base = np.zeros(self.n_outputs)
        cdef double[::1] out = values.reshape(-1), to_base = base
        if n == 0 or self.n_outputs == 0:
            return values, base
        n_blocks = (n + n_most - 1) // n_most
        n_blocks = (n_blocks + n_threads - 1) // n_threads * n_threads      # even shares
        n_block = (n + n_blocks - 1) // n_blocks
        n_block = (n_block + DF_SHAPLEY_LANES - 1) // DF_SHAPLEY_LANES * DF_SHAPLEY_LANES
        task = Task(<PyObject*> self, &rows, n, n_block, n_most, has_interactions, n_sums, &out[0], &to_base[0], NULL, 0)
        if background is not None:
            z = in_groups(background)
            task.z = &z[0, 0, 0]
            task.n_background = len(background)
        work = LEAF_WORK * len(self.feature) // 2 * n
        if background is not None:
            work = PAIR_WORK * sqrt(self.largest) * self.n_trees * n * len(background)
        if has_interactions:
            work *= 1 + max(self.most) // 2
        parallel_for(explain_block, &task, (n + n_block - 1) // n_block, n_threads, work)
        return values, base


def in_groups(X):
    """Rows lane by lane: ndarray of shape (n_groups, n_features, DF_SHAPLEY_LANES), dtype float64; lanes left over are 0."""
    n_groups = (len(X) + DF_SHAPLEY_LANES - 1) // DF_SHAPLEY_LANES
    groups = np.zeros((n_groups, X.shape[1], DF_SHAPLEY_LANES))
    for lane in range(DF_SHAPLEY_LANES):
        own = X[lane::DF_SHAPLEY_LANES]
        groups[: len(own), :, lane] = own
    return groups


cdef int measure_tree(void* context, Py_ssize_t t, WorkerContext* worker) except -1 nogil:
    return (<ShapleyForest> context).measure(t, worker)


cdef int explain_block(void* context, Py_ssize_t block, WorkerContext* worker) except -1 nogil:
    """Tell the values of a block of the rows of a `Task`."""
    cdef const Task* task = <const Task*> context
    cdef Py_ssize_t first = block * task.n_block
    return (<ShapleyForest> task.forest).explain_block(task, first, min(task.n_block, task.n - first), worker)
