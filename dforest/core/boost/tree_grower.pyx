"""Grows the trees of an iteration, one after another: their splits, the values of their leaves, raw predictions, arrays.

A `TreeGrower` serves one booster, whose arrays it borrows. Where an iteration has several trees and data are few, each thread has
a grower of its own for trees of its own; else all threads share one. A *leaf range* is as many rows of a leaf as one thread looks
at in one go. A grower owns its tree, its histograms and the arrays that it writes trees to.
"""
cimport cython
from libc.math cimport NAN, fabs
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.loops cimport DF_SUBSET_WORDS
from dforest.core.search.projection cimport HEAD, Term, write_subset, write_sum
from dforest.core.tree.buffers cimport ensure_room
from dforest.core.types cimport CATEGORICAL, ORDINAL, Split
from dforest.rules.boost cimport df_absolute_gain, df_both_gradient_sums, df_limited_value, df_newton_value
from dforest.rules.bounds cimport df_bounds, df_child_bounds, df_clip, df_midpoint_prediction
from dforest.rules.linear_leaf cimport DF_LINE_HEAD, DF_TERM_NUMBERS
from dforest.rules.losses cimport DF_NEWTON_LEAF, DF_QUANTILE_LEAF, DF_ROBUST_LEAF
from dforest.rules.node cimport df_quantiser
from dforest.rules.smoothing cimport df_share_of_draws, df_smoothed
from dforest.rules.weights cimport df_node_weight, df_shift_if_low_weight, df_weight_quantiser_of

cdef extern from "core/boost/quantile.h" nogil:
    double df_weighted_quantile(df_weighed* values, int64_t n, double quantile)
    double df_robust_mean(int loss, df_weighed* residuals, int64_t n, double parameter)

cdef enum:
    WALKERS = 16                       # rows that go down a tree together


cdef void add_up(void* grower, int64_t item) noexcept nogil:
    (<TreeGrower> grower).add_up(item)


cdef void find_leaf_value(void* grower, int64_t item) noexcept nogil:
    (<TreeGrower> grower).find_leaf_value(item)


cdef void find_node_value(void* grower, int64_t item) noexcept nogil:
    (<TreeGrower> grower).find_node_value(item)


cdef void move_others(void* grower, int64_t item) noexcept nogil:
    (<TreeGrower> grower).move_others(item)


cdef void update_raw_predictions(void* grower, int64_t item) noexcept nogil:
    (<TreeGrower> grower).update_raw_predictions(item)


@cython.final
cdef class TreeGrower:
    """Grows one tree after another.

    Parameters
    ----------
    tree : BoostedTree
    own : CustomLoss or None
        The user's loss, which says what leaves are, or None.
    n_outputs : int
        How many values a leaf has: as many as the tree has outputs, or more if those are directions of a sketch.
    linear : LinearLeaves or None
        What makes leaves linear; they are then Newton's steps, of one output. None: leaves are constants.
    projected : ProjectedColumns or None
        What the last of the tree's columns are, if they are sums; each test has a payload then, as `ObliqueSplitter` reads it.
    """

    def __cinit__(self, BoostedTree tree not None, CustomLoss own, Py_ssize_t n_outputs, LinearLeaves linear=None,
                  ProjectedColumns projected=None):
        cdef Py_ssize_t n_words, j
        self.tree, self.own, self.n_outputs, self.linear, self.projected = tree, own, n_outputs, linear, projected
        self.is_sketched = n_outputs > tree.n_outputs
        self.data, self.team = tree.bundles.data, tree.team
        self.writer = TreeWriter(3 + n_outputs + (0 if linear is None else linear.line_size), 1 + n_outputs, projected is None)
        if projected is not None:
            n_words = projected.n_payload_words
            for j in range(self.data.n_features):
                n_words = max(n_words, HEAD + 2 + <Py_ssize_t> self.data.columns[j].n_codes // 64)
            self.payload = <uint64_t*> malloc(n_words * sizeof(uint64_t))
            if self.payload == NULL:
                raise MemoryError()

    cdef int begin_fit(self, const LeafSetting* setting) except -1:
        """Take what is the same for all trees of the fit."""
        self.fit = setting
        if self.linear is not None:
            self.linear.limits = &setting.limits
        if setting.leaf != DF_NEWTON_LEAF and setting.leaf != CUSTOM_LEAF:
            self.weighed = <df_weighed*> malloc(self.data.n_rows * sizeof(df_weighed))
            if self.weighed == NULL:
                raise MemoryError()
        return 0

    def __dealloc__(self):
        free(self.leaf_ranges)
        free(self.range_sums)
        free(self.weighed)
        free(self.waiting)
        free(self.of_leaves)
        free(self.payload)

    cdef int grow(self, int kind, int32_t* quantised, const double* kept, bint has_tail, const BoostScale* scales,
                  double max_weight, uint32_t seed, double* raw, WorkerContext* worker, int32_t* sketched=NULL,
                  const BoostScale* sketched_scales=NULL) except -1 nogil:
        """Grow a tree, and write it.

        IN kind : of words
        INOUT raw : [n_outputs, n_rows] sums of leaf values
        IN sketched : [n directions, n_rows, 2] what splits are chosen by, if the tree is sketched, and their scales; for the
        others see `BoostedTree.grow`
        """
        self.quantised, self.raw = quantised, raw
        self.tree.histograms.use(kind)
        if self.is_sketched:
            self.tree.grow(sketched, NULL, False, sketched_scales, 0.0, seed, worker)
            self.take_nodes(scales)
        else:
            self.tree.grow(quantised, kept, has_tail, scales, max_weight, seed, worker)
            self.outputs = self.tree.outputs
        self.finish_tree()
        return self.write_tree()

    cdef int take_nodes(self, const BoostScale* scales) except -1 nogil:
        """Have outputs of one's own for the nodes of a sketched tree. IN scales : [n_outputs]"""
        cdef Py_ssize_t i, k
        ensure_room(<void**> &self.of_leaves, &self.of_leaves_room, self.tree.n_nodes * self.n_outputs, sizeof(BoostOutput))
        self.outputs = self.of_leaves
        for i in range(self.tree.n_nodes):
            for k in range(self.n_outputs):
                self.outputs[i * self.n_outputs + k].scale = scales[k]
        return 0

    cdef int finish_tree(self) except -1 nogil:
        """Find the values of the leaves, and add them to the raw predictions."""
        cdef int64_t n_others
        self.list_leaf_ranges()
        if self.fit.leaf == DF_NEWTON_LEAF:
            self.tree.weigh_leaves()
            self.team.for_each(add_up, <void*> self, self.n_leaf_ranges)
            self.make_steps()
        elif self.tree.monotonic_csts == NULL and self.fit.path_smooth == 0.0:
            self.team.for_each(find_leaf_value, <void*> self, self.tree.n_nodes)
        else:
            self.weigh_nodes()
        if self.fit.path_smooth > 0.0:
            self.smooth_values()
        if self.own is not None:
            self.own.loss.check()
        if self.linear is not None:
            self.linear.find(self.leaf_ranges, self.n_leaf_ranges, self.quantised, self.fit.has_hessian, self.fit.rows.times,
                             self.fit.weight_unit)
        self.team.for_each(update_raw_predictions, <void*> self, self.n_leaf_ranges)
        if self.tree.rows.drawn != NULL:
            n_others = self.data.n_rows - self.tree.rows.n
            self.team.for_each(move_others, <void*> self, (n_others + self.fit.chunk - 1) // self.fit.chunk)
        return 0

    cdef void make_steps(self) noexcept nogil:
        """Newton's steps of all nodes, from the sums of leaf ranges."""
        cdef Py_ssize_t i, k, K = self.n_outputs
        cdef const BoostNode* node
        cdef const BoostNode* nodes = self.tree.nodes
        cdef BoostOutput* outputs = self.outputs
        cdef BoostOutput* own
        cdef double l1 = self.fit.l1 / self.fit.weight_unit, l2 = self.fit.l2 / self.fit.weight_unit
        for i in range(self.tree.n_nodes * K):
            outputs[i].quantised.gradient = outputs[i].quantised.hessian = 0
            outputs[i].quantised.gradient_exponent = outputs[i].scale.exponent_g
            outputs[i].quantised.hessian_exponent = outputs[i].scale.exponent_h
        for i in range(self.n_leaf_ranges):
            for k in range(K):
                own = &outputs[self.leaf_ranges[i].node * K + k]
                own.quantised.gradient += self.range_sums[2 * (i * K + k)]
                own.quantised.hessian += self.range_sums[2 * (i * K + k) + 1]
        for i in range(self.tree.n_nodes - 1, -1, -1):     # children come after their parent
            node = &nodes[i]
            for k in range(K):
                own = &outputs[i * K + k]
                if node.left >= 0:
                    own.quantised = df_both_gradient_sums(outputs[node.left * K + k].quantised,
                                                          outputs[(node.left + 1) * K + k].quantised)
                own.value = df_newton_value(&self.fit.limits, own.quantised, l1, l2)
                if self.tree.monotonic_csts != NULL:
                    own.value = self.within_bounds(i * K + k, own.value)

    cdef double within_bounds(self, Py_ssize_t output, double value) noexcept nogil:
        """The value of an output of a node, kept within the bounds of its steps. IN output : of [n_nodes, n_outputs]"""
        cdef df_bounds bounds = self.tree.bounds[output]
        return df_clip(value, self.value_of(bounds.lower), self.value_of(bounds.upper))

    cdef inline double value_of(self, double step) noexcept nogil:
        """The value of a leaf with this step."""
        return df_limited_value(&self.fit.limits, step, self.fit.limits.learning_rate * step)

    cdef inline int64_t weight_of(self, int64_t row) noexcept nogil:
        """The integer weight of a row, where leaves are no Newton steps."""
        return self.fit.integer_weight[row] if self.fit.integer_weight != NULL else 1

    cdef int32_t weight_shift(self, const uint32_t* rows, int64_t first, int64_t n) noexcept nogil:
        """The shift of the weights of n rows (rules/weights.h): above 0 if all are far below the largest of all rows."""
        cdef double max_weight = 0.0
        cdef int64_t i
        if self.fit.exact_weight == NULL:
            return 0
        for i in range(n):
            max_weight = max(max_weight, self.fit.exact_weight[first + i if rows == NULL else <int64_t> rows[i]])
        return df_shift_if_low_weight(0, max_weight)

    cdef int weigh_nodes(self) except -1 nogil:
        """Find the values of all nodes, one depth after another as they share rows, and keep them within bounds."""
        cdef const BoostNode* nodes = self.tree.nodes
        cdef int64_t deepest = 0
        cdef Py_ssize_t i
        for i in range(self.tree.n_nodes):
            deepest = max(deepest, nodes[i].at.depth)
        for i in range(deepest + 1):
            self.depth = i
            self.team.for_each(find_node_value, <void*> self, self.tree.n_nodes)
        if self.tree.monotonic_csts != NULL:
            self.bound_nodes()
        return 0

    cdef void bound_nodes(self) noexcept nogil:
        """Keep the values of all nodes within bounds, where these are no Newton's steps.

        Bounds of steps become those of values, from each node to its children, which have higher numbers.
        """
        cdef const BoostNode* nodes = self.tree.nodes
        cdef BoostOutput* outputs = self.outputs
        cdef df_bounds* bounds = self.tree.bounds
        cdef df_bounds own
        cdef double values[2]
        cdef double midpoint
        cdef Py_ssize_t i, k, K = self.n_outputs
        cdef int side
        for i in range(self.tree.n_nodes):
            for k in range(K):
                own = bounds[i * K + k]
                outputs[i * K + k].value = df_clip(outputs[i * K + k].value, own.lower, own.upper)
                if nodes[i].left < 0:
                    continue
                for side in range(2):
                    values[side] = df_clip(outputs[(nodes[i].left + side) * K + k].value, own.lower, own.upper)
                midpoint = df_midpoint_prediction(values[0], values[1])
                for side in range(2):
                    bounds[(nodes[i].left + side) * K + k] = df_child_bounds(own, side, self.tree.monotonic_cst(&nodes[i]),
                                                                             midpoint)

    cdef void smooth_values(self) noexcept nogil:
        """Draw the values of nodes towards those of their parents, which have lower numbers, but within their own bounds."""
        cdef BoostOutput* outputs = self.outputs
        cdef double share, value
        cdef df_bounds own
        cdef Py_ssize_t i, k, K = self.n_outputs
        for i in range(1, self.tree.n_nodes):
            share = df_share_of_draws(<double> self.tree.nodes[i].at.n, <double> self.tree.nodes[i].at.n, self.fit.path_smooth)
            for k in range(K):
                value = df_smoothed(outputs[self.tree.nodes[i].parent * K + k].value, outputs[i * K + k].value, share)
                if self.tree.monotonic_csts != NULL and self.fit.leaf == DF_NEWTON_LEAF:
                    value = self.within_bounds(i * K + k, value)
                elif self.tree.monotonic_csts != NULL:
                    own = self.tree.bounds[i * K + k]
                    value = df_clip(value, own.lower, own.upper)
                outputs[i * K + k].value = value

    cdef void find_leaf_value(self, int64_t item) noexcept nogil:
        """Find the value of a leaf; other nodes have none."""
        if self.tree.nodes[item].left < 0:
            self.find_value_of_rows(&self.tree.nodes[item])

    cdef void find_node_value(self, int64_t item) noexcept nogil:
        """Find the value of a node of the depth at hand."""
        if self.tree.nodes[item].at.depth == self.depth:
            self.find_value_of_rows(&self.tree.nodes[item])

    cdef void find_value_of_rows(self, BoostNode* node) noexcept nogil:
        """Find a node's values by the quantile of what is missing from its rows' raw predictions, or as the loss says."""
        cdef df_weighed* weighed = self.weighed + node.at.first
        cdef BoostOutput* outputs = self.outputs + (node - self.tree.nodes) * self.n_outputs
        cdef const uint32_t* rows = self.tree.rows.rows_from(node.at.first)
        cdef int32_t shift = self.weight_shift(rows, node.at.first, node.at.n)
        cdef df_quantiser weight_quantiser = df_weight_quantiser_of(shift)
        cdef const double* y
        cdef const double* raw
        cdef double quantile
        cdef int64_t i, row
        cdef Py_ssize_t k
        if self.own is not None:
            outputs.value = self.value_of(self.own.leaf_value(rows, node.at.first, node.at.n))
            return
        for k in range(self.n_outputs):
            y, raw = self.fit.rows.y + k * self.data.n_rows, self.raw + k * self.data.n_rows
            for i in range(node.at.n):
                row = node.at.first + i if rows == NULL else <int64_t> rows[i]
                weighed[i].value = (y[row] - (raw[row] + self.fit.baseline[k])) + 0.0     # no -0.0
                weighed[i].weight = self.weight_of(row)
                if shift != 0:
                    weighed[i].weight = <int64_t> df_node_weight(&weight_quantiser, self.fit.exact_weight[row])
            if self.fit.leaf == DF_ROBUST_LEAF:
                outputs[k].value = self.value_of(df_robust_mean(self.fit.loss, weighed, node.at.n, self.fit.rows.parameter))
                continue
            quantile = self.fit.parameters[k] if self.fit.leaf == DF_QUANTILE_LEAF else 0.5
            outputs[k].value = self.value_of(df_weighted_quantile(weighed, node.at.n, quantile))

    cdef double delta(self) noexcept nogil:
        """How far from its target a raw prediction is no outlier to Huber's loss: a quantile of the distances, by this thread."""
        cdef int64_t i
        for i in range(self.data.n_rows):
            self.weighed[i].value = fabs(self.fit.rows.y[i] - (self.fit.rows.raw[i] + self.fit.rows.baseline))
            self.weighed[i].weight = self.weight_of(i)
        return df_weighted_quantile(self.weighed, self.data.n_rows, self.fit.parameters[0])

    cdef int list_leaf_ranges(self) except -1 nogil:
        cdef const BoostNode* node
        cdef LeafRange* some
        cdef Py_ssize_t i
        cdef int64_t begin
        self.n_leaf_ranges = 0
        for i in range(self.tree.n_nodes):
            node = &self.tree.nodes[i]
            begin = 0
            while node.left < 0 and begin < node.at.n:
                ensure_room(<void**> &self.leaf_ranges, &self.leaf_range_room, self.n_leaf_ranges + 1, sizeof(LeafRange))
                some = &self.leaf_ranges[self.n_leaf_ranges]
                self.n_leaf_ranges += 1
                some.node = <int32_t> i
                some.first = node.at.first + begin
                some.n = min(self.fit.leaf_rows, node.at.n - begin)
                begin += some.n
        ensure_room(<void**> &self.range_sums, &self.range_sums_room, 2 * self.n_leaf_ranges * self.n_outputs,
                    sizeof(int64_t))
        return 0

    cdef void add_up(self, int64_t item) noexcept nogil:
        """Sum the quantised gradients of a leaf range."""
        cdef const LeafRange* some = &self.leaf_ranges[item]
        cdef const int32_t* quantised
        cdef const uint32_t* rows = self.tree.rows.rows_from(0)
        cdef int64_t i, row, times, g, h
        cdef Py_ssize_t k, K = self.n_outputs
        for k in range(K):
            quantised = self.quantised + k * self.tree.plane
            g = h = 0
            for i in range(some.first, some.first + some.n):
                row = i if rows == NULL else <int64_t> rows[i]
                times = 1 if self.fit.rows.times == NULL else self.fit.rows.times[row]
                if self.fit.has_hessian:
                    g += times * quantised[2 * row]
                    h += times * quantised[2 * row + 1]
                else:
                    g += times * quantised[row]
                    h += times
            self.range_sums[2 * (item * K + k)] = g
            self.range_sums[2 * (item * K + k) + 1] = h

    cdef void update_raw_predictions(self, int64_t item) noexcept nogil:
        """Add the leaf's values to the raw predictions of a leaf range."""
        cdef const LeafRange* some = &self.leaf_ranges[item]
        cdef const uint32_t* rows = self.tree.rows.rows_from(0)
        cdef double value
        cdef double* raw
        cdef int64_t i, row
        cdef Py_ssize_t k, K = self.n_outputs
        if self.linear is not None:
            for i in range(some.first, some.first + some.n):
                row = i if rows == NULL else <int64_t> rows[i]
                self.raw[row] += self.linear.value_at(some.node, i)
            return
        for k in range(K):
            value = self.outputs[some.node * K + k].value
            raw = self.raw + k * self.data.n_rows
            for i in range(some.first, some.first + some.n):
                raw[i if rows == NULL else <int64_t> rows[i]] += value

    cdef void move_others(self, int64_t item) noexcept nogil:
        """Add the values of the leaves that they reach to the raw predictions of some rows that are left out."""
        cdef int32_t leaves[WALKERS]
        cdef double* raw
        cdef int64_t at = self.tree.rows.n + item * self.fit.chunk, end = min(self.data.n_rows, at + self.fit.chunk)
        cdef const uint32_t* rows
        cdef int i, n
        cdef Py_ssize_t k, K = self.n_outputs
        while at < end:
            rows = self.tree.rows.drawn + at
            n = <int> min(<int64_t> WALKERS, end - at)
            self.tree.find_leaves(rows, n, leaves)
            for k in range(K):
                raw = self.raw + k * self.data.n_rows
                for i in range(n):
                    raw[rows[i]] += (self.outputs[leaves[i] * K + k].value if self.linear is None
                                     else self.linear.value(leaves[i], rows[i]))
            at += n

    # Trees ---------------------------------------------------------------------------------------------------------------

    cdef int write_tree(self) except -1 nogil:
        """Write the tree in preorder."""
        cdef const BoostNode* nodes = self.tree.nodes
        cdef const BoostNode* node
        cdef Split split
        cdef uint64_t narrow[DF_SUBSET_WORDS]
        cdef uint64_t* subset
        cdef Py_ssize_t number = 0, written, parent, k, K = self.n_outputs
        cdef const BoostOutput* outputs
        cdef int64_t* leaf
        cdef double* values
        ensure_room(<void**> &self.waiting, &self.waiting_room, self.tree.n_nodes, sizeof(WaitingNode))
        cdef WaitingNode* waiting = self.waiting
        cdef Py_ssize_t n = 1
        waiting[0].number = 0
        waiting[0].parent = -1
        waiting[0].is_right = False
        self.writer.clear()
        while n > 0:
            n -= 1
            node = &nodes[waiting[n].number]
            outputs = self.outputs + (node - nodes) * K
            parent = waiting[n].parent
            if node.left < 0:
                leaf = self.writer.add_leaf(parent, waiting[n].is_right)
                leaf[0] = leaf[1] = node.at.n
                for k in range(K):
                    memcpy(&leaf[2 + k], &outputs[k].value, sizeof(double))
                leaf[2 + K] = 0
                if self.linear is not None:
                    self.write_line(node, leaf + 3 + K)
                continue
            split.feature = node.cut.feature
            split.missing_left = node.cut.missing_left
            split.is_deferred = False
            split.payload = NULL
            if self.projected is not None and split.feature >= self.projected.first:
                pass
            elif self.data.columns[split.feature].kind == CATEGORICAL:
                subset = &narrow[0] if node.sides < 0 else &self.tree.sides[node.sides]
                split.n_payload_words = self.find_subset(node, subset)
                split.payload = subset
            else:
                split.threshold = self.threshold(split.feature, node.cut.code)
            if self.projected is not None:
                self.write_payload(node, &split)
            written = self.writer.add_inner(parent, waiting[n].is_right, &split)
            values = self.writer.add_node_values()
            for k in range(K):
                values[k] = outputs[k].value if self.fit.leaf == DF_NEWTON_LEAF else 0.0
            values[K] = df_absolute_gain(node.gain, node.unit, self.fit.weight_unit)
            for number in range(2):                # the left one is taken first
                waiting[n + number].number = node.left + 1 - number
                waiting[n + number].parent = written
                waiting[n + number].is_right = number == 0
            n += 2
        return 0

    cdef void write_payload(self, const BoostNode* node, Split* split) noexcept nogil:
        """Make a test one that `ObliqueSplitter` reads. INOUT split : the test as it is without sums"""
        cdef Term term
        if split.feature >= self.projected.first:
            split.n_payload_words = self.projected.write_test(split.feature, node.cut.code, split.missing_left, self.payload)
            split.feature = <Py_ssize_t> (<const Term*> (self.payload + HEAD)).column
        elif split.payload != NULL:
            split.n_payload_words = write_subset(split.feature, split.missing_left, split.payload, split.n_payload_words,
                                                 self.payload)
        else:
            term.column, term.weight, term.if_missing = <double> split.feature, 1.0, NAN
            split.n_payload_words = write_sum(split.threshold, split.missing_left, &term, 1, self.payload)
        split.payload, split.missing_left = self.payload, False    # the payload tells

    cdef void write_line(self, const BoostNode* node, int64_t* words) noexcept nogil:
        """Write the line of a leaf: its bounds, then the features, the centres and the slopes of all its terms."""
        cdef const double* line = self.linear.line_of(node - self.tree.nodes)
        cdef const double* term
        cdef Py_ssize_t j, n = self.linear.n_terms
        cdef double bounds[2]
        cdef double numbers[2]
        bounds[0] = bounds[1] = 0.0
        if line[DF_LINE_HEAD] >= 0.0:
            bounds[0], bounds[1] = line[0], line[1]
        memcpy(words, bounds, sizeof(bounds))
        words += 2
        for j in range(n):
            term = line + DF_LINE_HEAD + DF_TERM_NUMBERS * j
            numbers[0] = numbers[1] = 0.0
            words[j] = <int64_t> term[0]
            if term[0] >= 0.0:
                numbers[0], numbers[1] = term[1], term[2]
            memcpy(words + n + j, &numbers[0], sizeof(double))
            memcpy(words + 2 * n + j, &numbers[1], sizeof(double))

    cdef Py_ssize_t find_subset(self, const BoostNode* node, uint64_t* words) noexcept nogil:
        """The categories that don't go where missing values go, a bit each. Returns how many words they take.

        OUT words : of a wide column, these may be its sides
        """
        cdef Py_ssize_t n_codes = <Py_ssize_t> self.data.columns[node.cut.feature].n_codes, n_words = (n_codes + 63) // 64, w
        cdef int code
        cdef uint64_t word
        for w in range(n_words):
            word = 0
            for code in range(64 * w, min(n_codes, 64 * w + 64)):
                if self.tree.goes_left(node, code) != <bint> node.cut.missing_left:
                    word |= <uint64_t> 1 << (code & 63)
            words[w] = word
        return n_words

    cdef double threshold(self, Py_ssize_t column, Py_ssize_t code) noexcept nogil:
        """The upper edge of a bin; of an ordinal column, the highest value in it."""
        cdef const void* values = self.data.columns[column].values
        if self.data.columns[column].kind == ORDINAL:
            values = self.data.columns[column].highs
        return (<const float*> values)[code] if self.data.columns[column].is_float32 else (<const double*> values)[code]
