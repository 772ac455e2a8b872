"""Boosted trees, grown iteration by iteration.

A booster keeps, for each training row, the sum of the values of the leaves that the row reached, in the order of the trees; with
the baseline, this is the row's raw prediction. At the beginning of an iteration, gradients and Hessians are quantised
(rules/boost.h), and the iteration's trees are grown from them: by all rows, or by those *drawn* for the iteration, while the
others are *left out* and only go down its trees. A *leaf range* is as many rows of a leaf as one thread looks at in one go.

A `Booster` owns its arrays; what it was given it borrows, and keeps alive.
"""
cimport cython
from libc.math cimport INFINITY, fabs, ldexp
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.boost.boosted_tree cimport bounds_of, set_bounds
from dforest.core.boost.bundles cimport Bundles
from dforest.core.boost.loss cimport Loss
from dforest.core.loops cimport DF_SUBSET_WORDS, loops
from dforest.core.tree.buffers cimport ensure_room
from dforest.core.types cimport CATEGORICAL, ORDINAL, Split
from dforest.rules.boost cimport (
    DF_CONSTANT_WORDS, DF_GRADIENT_BITS, DF_WIDE_WORDS, df_both_gradient_sums, df_bounds_in_units, df_choose_words,
    df_gradient_exponent, df_gradient_shift, df_has_heavy_tail, df_hessian_shift, df_is_light, df_limited_value,
    df_newton_value, df_takes_times, df_value_limits_of, df_word_kind,
)
from dforest.rules.bounds cimport df_child_bounds, df_clip, df_middle_prediction
from dforest.rules.losses cimport (
    DF_HUBER_LEAF, DF_MULTINOMIAL_LOSS, DF_NEWTON_LEAF, DF_QUANTILE_LEAF, df_facts_of_loss, df_loss_facts,
)
from dforest.rules.node cimport df_quantiser
from dforest.rules.random cimport df_tree_seed
from dforest.rules.weights cimport df_light_below, df_node_weight, df_weigher_of, df_weight_shift

from dforest.core.boost.constraints import Constraints
from dforest.core.integer_weights import integer_weights

cdef extern from "core/boost/quantile.h" nogil:
    double df_weighted_quantile(df_weighed* values, int64_t n, double quantile)
    double df_huber_leaf(df_weighed* residuals, int64_t n, double delta)


cdef extern from "core/boost/gradients.h" nogil:
    uint8_t df_lightness(double weight, double heaviest)
    void df_join_extent(df_boost_extent* extent, const df_boost_extent* other)
    void df_known_extent(const df_known_derivatives* known, const df_boost_rows* rows, int64_t begin, int64_t end,
                         df_boost_extent* extent)
    void df_quantise_known(const df_known_derivatives* known, const df_boost_rows* rows, int64_t step, int64_t begin, int64_t end,
                           const double* factors, bint has_hessian, int32_t* quantised, df_boost_extent* extent)

cdef enum:
    WALKERS = 16                       # rows that go down a tree together
    CELL_WORK = 2                      # of a row and a column, in an iteration, in nanoseconds or so
    OWN_LEAF = -1                      # beside those of losses.h: a loss of one's own says what it is


cdef void measure(void* booster, int64_t item) noexcept nogil:
    (<Booster> booster).measure(item)


cdef void quantise_chunk(void* booster, int64_t item) noexcept nogil:
    (<Booster> booster).quantise_chunk(item)


cdef void add_up(void* booster, int64_t item) noexcept nogil:
    (<Booster> booster).add_up(item)


cdef void weigh_leaf(void* booster, int64_t item) noexcept nogil:
    (<Booster> booster).weigh_leaf(item)


cdef void weigh_node(void* booster, int64_t item) noexcept nogil:
    (<Booster> booster).weigh_node(item)


cdef void move_others(void* booster, int64_t item) noexcept nogil:
    (<Booster> booster).move_others(item)


cdef void move_on(void* booster, int64_t item) noexcept nogil:
    (<Booster> booster).move_on(item)


cdef int lead(void* booster, SpinTeam team, WorkerContext* worker) except -1 nogil:
    return (<Booster> booster).lead(worker)


@cython.final
cdef class Booster:
    """Grows the trees of a boosted model.

    Parameters
    ----------
    columns : list of CodedColumn
        Codes of one byte, by method hist.
    loss : int or Loss
        Its number: see `dforest.rules.losses.LOSSES`. Or one of one's own, configured.
    y : ndarray of shape (n_rows,), dtype float64
        Targets, or numbers of classes.
    weight : ndarray of shape (n_rows,), dtype float64, optional
        Positive. None: all are 1.
    n_classes : int, default=2
        Only looked at where the loss is that of several classes.
    parameter : float, default=0.0
        Of the loss: its quantile; for Huber's, the share of rows that are no outliers.
    baseline : ndarray of shape (n_trees_per_iteration,), dtype float64
        What raw predictions begin with.
    learning_rate : float
        What the values of leaves are multiplied by.
    max_leaf_nodes, max_depth : int or None
    min_samples_leaf : int
        Least number of rows of a leaf.
    min_hessian : float
        Least sum of Hessians of a leaf.
    l2 : float
        What is added to a leaf's sum of Hessians.
    max_features : int or float
        How many columns, or which share of those that may be tried, are tried in each node.
    seed : int
        Of the model, below 2**64.
    n_threads : int
    n_drawn : int, optional
        How many rows each iteration draws without replacement, from 1 to n_rows. None: trees are grown from all rows.
    n_trees : int, default=0
        How many trees there are already,
    raw : ndarray of shape (n_trees_per_iteration, n_rows), dtype float64, optional
        and what their leaves add up to; it is written to. None: zeros.
    max_delta_step : float, optional
        Largest magnitude of a leaf's value before it is multiplied by the learning rate. Infinity: any.
    constraints : Constraints, optional
        None: there are none.
    tuning : dict, optional
        Sizes of the machinery that are not to have their defaults, for tests: see doc/machinery.md.
    """

    def __init__(self, columns, loss, const double[::1] y not None, weight=None, *, int n_classes=2, double parameter=0.0,
                 baseline, double learning_rate, max_leaf_nodes, max_depth, int64_t min_samples_leaf, double min_hessian,
                 double l2, max_features, uint64_t seed, int n_threads, n_drawn=None, int64_t n_trees=0, raw=None,
                 double max_delta_step=INFINITY, constraints=None, tuning=None):
        cdef Py_ssize_t n_rows = y.shape[0], K, i
        cdef df_loss_facts facts
        cdef Bundles bundles
        cdef int kind
        if isinstance(loss, Loss):
            K = loss.n_outputs
            facts.has_constant_hessian = loss.constant_hessian
            facts.leaf = OWN_LEAF if loss.need_update_leaves_values else DF_NEWTON_LEAF
            self.loss = -1
        else:
            self.loss = loss
            facts = df_facts_of_loss(self.loss)
            K = n_classes if self.loss == DF_MULTINOMIAL_LOSS else 1
        # Nobody looks at targets there, so that their memory stays untouched.
        self.data = DataView(columns, np.zeros(n_rows, np.int32))
        tuning = tuning or {}
        bundles = Bundles(columns, self.data, min_samples_leaf, n_threads, tuning)
        n_threads = self.threads_for(bundles.n_cells, n_threads, tuning.get("thread_cells", 16384))
        self.chunk = tuning.get("chunk_rows", 8192)
        self.leaf_rows = tuning.get("leaf_rows", 8192)
        self.is_wide = tuning.get("wide_words", False)
        self.n_trees_per_iteration = <int> K
        self.n_trees = n_trees
        self.seed = seed
        self.leaf = facts.leaf
        self.parameter = parameter
        is_damped = not (isinstance(loss, Loss) or facts.has_constant_hessian)
        self.limits = df_value_limits_of(learning_rate, max_delta_step, is_damped, K)
        self.l2 = l2
        self.weight_unit = 1.0
        self.total_weight = n_rows
        self.rows.y = &y[0]
        self.raw = np.zeros((K, n_rows)) if raw is None else raw
        self.baseline = np.array(baseline, np.float64)
        if self.raw.shape[0] != K or self.raw.shape[1] != n_rows or self.baseline.shape[0] != K:
            raise ValueError(f"raw has shape {np.shape(self.raw)} and baseline {np.shape(self.baseline)}; allowed are "
                             f"{(K, n_rows)} and {(K,)}")
        self.n_drawn = n_rows if n_drawn is None else n_drawn
        if not 1 <= self.n_drawn <= n_rows:
            raise ValueError(f"n_drawn={n_drawn}; allowed are numbers from 1 to {n_rows}, the number of rows, and None")
        self.owners = [y]
        if weight is not None:
            self.weigh(weight)
        self.has_hessian = self.rows.weight != NULL or not facts.has_constant_hessian
        self.counts_hessian = facts.has_constant_hessian and self.rows.weight == NULL
        kind = DF_WIDE_WORDS if self.has_hessian else DF_CONSTANT_WORDS    # the longest there may be
        self.team = SpinTeam(n_threads)
        self.histograms = Histograms(bundles, kind, n_threads, self.owners[2] if self.rows.times != NULL else None, tuning)
        self.tree = BoostedTree(bundles, self.histograms, self.team, max_leaf_nodes, max_depth, min_samples_leaf, min_hessian,
                                l2, self.weight_unit, max_features, constraints or Constraints(), self.n_drawn, tuning)
        self.writer = TreeWriter(4, 2, True)
        self.quantised = <int32_t*> malloc(K * n_rows * (2 if self.has_hessian else 1) * sizeof(int32_t))
        if self.heaviest > 0.0:
            self.kept = <double*> malloc(2 * K * n_rows * sizeof(double))
            self.lightness = <uint8_t*> malloc(n_rows)
            if self.kept == NULL or self.lightness == NULL:
                raise MemoryError()
            for i in range(n_rows):
                self.lightness[i] = df_lightness(self.rows.weight[i], self.heaviest)
            self.tree.lightness = self.lightness
            self.rows.kept = self.kept
            self.tree.weight = self.rows.weight
        self.factors = <double*> malloc(2 * K * sizeof(double))
        self.scales = <BoostScale*> malloc(K * sizeof(BoostScale))
        self.extents = <df_boost_extent*> calloc(self.n_chunks() * K, sizeof(df_boost_extent))    # joined before all is known
        self.totals = <df_boost_extent*> malloc(K * sizeof(df_boost_extent))
        if self.leaf not in (DF_NEWTON_LEAF, OWN_LEAF):
            self.weighed = <df_weighed*> malloc(n_rows * sizeof(df_weighed))
            if self.weighed == NULL:
                raise MemoryError()
        if (self.quantised == NULL or self.factors == NULL or self.scales == NULL or self.extents == NULL or self.totals == NULL):
            raise MemoryError()
        if self.n_drawn < n_rows:
            self.drawn = DrawnRows(n_rows, self.n_drawn)
            self.rows.list = self.tree.drawn = self.drawn.order
        if isinstance(loss, Loss):
            self.own = OwnLoss(loss, y, weight, self.team, self.chunk)

    cdef int weigh(self, weight) except -1:
        """Take the weights of rows: as integers, if these are small; none if all are equal."""
        cdef const double[::1] weights = weight
        cdef const uint32_t[::1] times
        cdef const double[::1] exact_weights
        integers, unit, exact = integer_weights(weight)
        self.owners.extend([weight, integers, exact])
        times = integers
        self.integer_weight = &times[0]
        total = int(integers.sum(dtype=np.uint64))
        if not df_takes_times(integers.max(), total):
            self.rows.weight = &weights[0]
            if exact is not None:
                exact_weights = exact
                self.exact_weight = &exact_weights[0]
            if df_is_light(weight.min(), weight.max()):
                self.heaviest = weight.max()
            return 0
        self.weight_unit = unit
        if integers.max() > 1:
            self.rows.times = &times[0]
            self.total_weight = total
        return 0

    @staticmethod
    def threads_for(n_cells, n_threads, thread_cells):
        """How many threads are worth starting: one for so many cells."""
        return n_threads if thread_cells == 0 else max(1, min(n_threads, n_cells // thread_cells))

    def __dealloc__(self):
        free(self.quantised)
        free(self.kept)
        free(self.lightness)
        free(self.factors)
        free(self.scales)
        free(self.extents)
        free(self.totals)
        free(self.leaf_ranges)
        free(self.weighed)
        free(self.waiting)

    @property
    def raw_sums(self):
        """The sums of leaf values of each row: ndarray of shape (n_trees_per_iteration, n_rows), dtype float64, not copied."""
        return np.asarray(self.raw)

    def grow_iteration(self):
        """Grow the trees of an iteration.

        Returns
        -------
        list of TreeArrays
            A leaf keeps the words of `SumObjective`: its rows twice, its value, and 0. Another node keeps the value that it
            would have as a leaf, 0 if leaves are no Newton steps, and the gain of its split.
        """
        self.grown = []
        cdef double n_cells = <double> self.tree.bundles.n_cells * self.n_drawn / self.data.n_rows * self.n_trees_per_iteration
        self.team.run(lead, <void*> self, CELL_WORK * n_cells)
        grown, self.grown = self.grown, None
        return grown

    cdef int lead(self, WorkerContext* worker) except -1 nogil:
        """Grow the trees of an iteration, as the team's leader."""
        cdef int64_t n = self.n_chunks()
        cdef df_word_kind kind
        cdef BoostScale* scale
        cdef int k
        if self.drawn is not None:
            self.drawn.draw(df_tree_seed(self.seed, <uint32_t> self.n_trees), self.rows.times, self.team)
            self.total_weight = self.drawn.total_weight
        self.rows.raw = &self.raw[0, 0]
        self.rows.baseline = self.baseline[0]
        self.rows.parameter = self.delta() if self.leaf == DF_HUBER_LEAF else self.parameter
        if self.own is not None:
            self.own.find(&self.raw[0, 0], &self.baseline[0])
        self.team.call(measure, <void*> self, n)
        self.join_extents()
        for k in range(self.n_trees_per_iteration):
            scale = &self.scales[k]
            scale.exponent_g = df_gradient_exponent(self.totals[k].gradient, DF_GRADIENT_BITS)
            scale.exponent_h = 0 if self.counts_hessian else df_gradient_exponent(self.totals[k].hessian, DF_GRADIENT_BITS)
            self.factors[2 * k] = ldexp(1.0, scale.exponent_g)
            self.factors[2 * k + 1] = ldexp(1.0, scale.exponent_h)
        self.team.call(quantise_chunk, <void*> self, n)
        self.join_extents()
        for k in range(self.n_trees_per_iteration):
            scale = &self.scales[k]
            kind = df_choose_words(not self.has_hessian, self.rows.weight != NULL, self.is_wide or self.is_heavy(k))
            self.histograms.use(kind)
            scale.narrow_g = scale.exponent_g - df_gradient_shift(kind)
            scale.narrow_h = scale.exponent_h - df_hessian_shift(kind)
            self.k = k
            self.tree.grow(self.quantised_of(k), self.kept + 2 * k * self.data.n_rows if self.kept != NULL else NULL, scale,
                           self.heaviest, df_tree_seed(self.seed, <uint32_t> self.n_trees), worker)
            self.finish_tree()
            self.write_tree()
            with gil:
                self.grown.append(self.writer.arrays().copy())
            self.n_trees += 1
        return 0

    cdef bint is_heavy(self, int k) noexcept nogil:
        """Whether a few rows have most of what the quantised gradients of the k-th tree stand for."""
        cdef const df_boost_extent* of_all = &self.totals[k]
        return (df_has_heavy_tail(of_all.largest[0], of_all.sum[0], self.total_weight)
                or df_has_heavy_tail(of_all.largest[1], of_all.sum[1], self.total_weight))

    # Gradients -----------------------------------------------------------------------------------------------------------

    cdef int64_t n_chunks(self) noexcept nogil:
        return (self.n_drawn + self.chunk - 1) // self.chunk

    cdef int32_t* quantised_of(self, int k) noexcept nogil:
        """The quantised gradients for the k-th tree of an iteration."""
        return self.quantised + k * self.data.n_rows * (2 if self.has_hessian else 1)

    cdef void measure(self, int64_t item) noexcept nogil:
        """Find the largest derivatives of a chunk."""
        cdef int64_t begin = item * self.chunk, end = min(self.n_drawn, begin + self.chunk)
        cdef df_boost_extent* extent = self.extents + item * self.n_trees_per_iteration
        if self.own is not None:
            df_known_extent(&self.own.known, &self.rows, begin, end, extent)
        elif self.loss == DF_MULTINOMIAL_LOSS:
            loops.boost.class_extent(&self.rows, &self.baseline[0], self.data.n_rows, self.n_trees_per_iteration, begin, end,
                                     extent)
        else:
            loops.boost.extent(self.loss, &self.rows, begin, end, extent)

    cdef void quantise_chunk(self, int64_t item) noexcept nogil:
        """Make the quantised gradients of a chunk."""
        cdef int64_t begin = item * self.chunk, end = min(self.n_drawn, begin + self.chunk)
        cdef df_boost_extent* extent = self.extents + item * self.n_trees_per_iteration
        if self.own is not None:
            df_quantise_known(&self.own.known, &self.rows, self.data.n_rows, begin, end, self.factors, self.has_hessian,
                              self.quantised, extent)
        elif self.loss == DF_MULTINOMIAL_LOSS:
            loops.boost.quantise_classes(&self.rows, &self.baseline[0], self.data.n_rows, self.n_trees_per_iteration, begin, end,
                                         self.factors, self.quantised, extent)
        else:
            loops.boost.quantise(self.loss, &self.rows, begin, end, self.factors, self.has_hessian, self.quantised, extent)

    cdef void join_extents(self) noexcept nogil:
        """What is known of all drawn rows, from what is known of chunks."""
        cdef int64_t i
        cdef int k
        memset(self.totals, 0, self.n_trees_per_iteration * sizeof(df_boost_extent))
        for k in range(self.n_trees_per_iteration):
            for i in range(self.n_chunks()):
                df_join_extent(&self.totals[k], &self.extents[i * self.n_trees_per_iteration + k])

    # Leaves --------------------------------------------------------------------------------------------------------------

    cdef int finish_tree(self) except -1 nogil:
        """Find the values of the leaves, and add them to the raw predictions."""
        self.list_leaf_ranges()
        if self.leaf == DF_NEWTON_LEAF:
            self.team.call(add_up, <void*> self, self.n_leaf_ranges)
            self.make_steps()
        elif self.tree.directions == NULL:
            self.team.call(weigh_leaf, <void*> self, self.tree.n_nodes)
        else:
            self.weigh_nodes()
        if self.own is not None:
            self.own.loss.check()
        self.team.call(move_on, <void*> self, self.n_leaf_ranges)
        if self.drawn is not None:
            self.team.call(move_others, <void*> self, (self.data.n_rows - self.n_drawn + self.chunk - 1) // self.chunk)
        return 0

    cdef void make_steps(self) noexcept nogil:
        """Newton's steps of all nodes, from the sums of leaf ranges."""
        cdef Py_ssize_t i
        cdef BoostNode* node
        cdef BoostNode* nodes = self.tree.nodes
        cdef df_bounds bounds
        cdef double l2 = self.l2 / self.weight_unit
        for i in range(self.tree.n_nodes):
            nodes[i].quantised.gradient = nodes[i].quantised.hessian = 0
            nodes[i].quantised.gradient_exponent = nodes[i].scale.exponent_g
            nodes[i].quantised.hessian_exponent = nodes[i].scale.exponent_h
        for i in range(self.n_leaf_ranges):
            node = &nodes[self.leaf_ranges[i].node]
            node.quantised.gradient += self.leaf_ranges[i].g
            node.quantised.hessian += self.leaf_ranges[i].h
        for i in range(self.tree.n_nodes - 1, -1, -1):     # children come after their parent
            node = &nodes[i]
            if node.left >= 0:
                node.quantised = df_both_gradient_sums(nodes[node.left].quantised, nodes[node.left + 1].quantised)
            node.value = df_newton_value(&self.limits, node.quantised, l2)
            if self.tree.directions != NULL:
                bounds = self.bounds_of_values(node)
                node.value = df_clip(node.value, bounds.lower, bounds.upper)

    cdef df_bounds bounds_of_values(self, const BoostNode* node) noexcept nogil:
        """The bounds of a node's value, from those of its steps, which are in units of narrow gradients."""
        cdef df_bounds bounds = df_bounds_in_units(bounds_of(node), node.scale.narrow_h - node.scale.narrow_g, 0)
        bounds.lower = self.value_of(bounds.lower)
        bounds.upper = self.value_of(bounds.upper)
        return bounds

    cdef inline double value_of(self, double step) noexcept nogil:
        """The value of a leaf with this step."""
        return df_limited_value(&self.limits, step, self.limits.learning_rate * step)

    cdef inline int64_t weight_of(self, int64_t row) noexcept nogil:
        """The integer weight of a row."""
        return self.integer_weight[row] if self.integer_weight != NULL else 1

    cdef int32_t weight_shift(self, const uint32_t* rows, int64_t first, int64_t n) noexcept nogil:
        """The shift of the weights of n rows (rules/weights.h): above 0 if they are all far lighter than the heaviest of all."""
        cdef double heaviest = 0.0
        cdef int64_t i
        if self.exact_weight == NULL:
            return 0
        for i in range(n):
            heaviest = max(heaviest, self.exact_weight[first + i if rows == NULL else <int64_t> rows[i]])
        return df_weight_shift(heaviest) if heaviest < df_light_below(0) else 0

    cdef int weigh_nodes(self) except -1 nogil:
        """Find the values of all nodes, one depth after another as they share rows, and keep those of leaves within bounds.

        Bounds of steps become those of values, from each node to its children, which have higher numbers.
        """
        cdef BoostNode* nodes = self.tree.nodes
        cdef BoostNode* node
        cdef int64_t deepest = 0
        cdef double values[2]
        cdef double middle
        cdef Py_ssize_t i
        cdef int side
        for i in range(self.tree.n_nodes):
            deepest = max(deepest, nodes[i].at.depth)
        for i in range(deepest + 1):
            self.depth = i
            self.team.call(weigh_node, <void*> self, self.tree.n_nodes)
        for i in range(self.tree.n_nodes):
            node = &nodes[i]
            if node.left < 0:
                node.value = df_clip(node.value, node.at.lower, node.at.upper)
                continue
            for side in range(2):
                values[side] = df_clip(nodes[node.left + side].value, node.at.lower, node.at.upper)
            middle = df_middle_prediction(values[0], values[1])
            for side in range(2):
                set_bounds(&nodes[node.left + side], df_child_bounds(bounds_of(node), side, self.tree.direction(node), middle))
        return 0

    cdef void weigh_leaf(self, int64_t item) noexcept nogil:
        """Find the value of a leaf; other nodes have none."""
        if self.tree.nodes[item].left < 0:
            self.weigh_rows(&self.tree.nodes[item])

    cdef void weigh_node(self, int64_t item) noexcept nogil:
        """Find the value of a node of the depth at hand."""
        if self.tree.nodes[item].at.depth == self.depth:
            self.weigh_rows(&self.tree.nodes[item])

    cdef void weigh_rows(self, BoostNode* node) noexcept nogil:
        """Find a node's value by the quantile of what is missing from its rows' raw predictions, or as the loss says."""
        cdef df_weighed* weighed
        cdef const uint32_t* rows = self.tree.run(node.at.first)
        cdef int32_t shift = self.weight_shift(rows, node.at.first, node.at.n)
        cdef df_quantiser weigher = df_weigher_of(shift)
        cdef int64_t i, row
        if self.own is not None:
            node.value = self.value_of(self.own.leaf_value(rows, node.at.first, node.at.n))
            return
        weighed = self.weighed + node.at.first
        for i in range(node.at.n):
            row = node.at.first + i if rows == NULL else <int64_t> rows[i]
            weighed[i].value = (self.rows.y[row] - (self.rows.raw[row] + self.rows.baseline)) + 0.0     # no -0.0
            weighed[i].weight = self.weight_of(row) if shift == 0 else <int64_t> df_node_weight(&weigher, self.exact_weight[row])
        if self.leaf == DF_HUBER_LEAF:
            node.value = self.value_of(df_huber_leaf(weighed, node.at.n, self.rows.parameter))
        else:
            node.value = self.value_of(df_weighted_quantile(
                weighed, node.at.n, self.rows.parameter if self.leaf == DF_QUANTILE_LEAF else 0.5))

    cdef double delta(self) noexcept nogil:
        """How far from its target a raw prediction is no outlier to Huber's loss: a quantile of the distances, by this thread."""
        cdef int64_t i
        for i in range(self.data.n_rows):
            self.weighed[i].value = fabs(self.rows.y[i] - (self.rows.raw[i] + self.rows.baseline))
            self.weighed[i].weight = self.weight_of(i)
        return df_weighted_quantile(self.weighed, self.data.n_rows, self.parameter)

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
                some.n = min(self.leaf_rows, node.at.n - begin)
                begin += some.n
        return 0

    cdef void add_up(self, int64_t item) noexcept nogil:
        """Sum the quantised gradients of a leaf range."""
        cdef LeafRange* some = &self.leaf_ranges[item]
        cdef const int32_t* quantised = self.quantised_of(self.k)
        cdef const uint32_t* rows = self.tree.run(0)
        cdef int64_t i, row, times, g = 0, h = 0
        for i in range(some.first, some.first + some.n):
            row = i if rows == NULL else <int64_t> rows[i]
            times = 1 if self.rows.times == NULL else self.rows.times[row]
            if self.has_hessian:
                g += times * quantised[2 * row]
                h += times * quantised[2 * row + 1]
            else:
                g += times * quantised[row]
                h += times
        some.g = g
        some.h = h

    cdef void move_on(self, int64_t item) noexcept nogil:
        """Add the leaf's value to the raw predictions of a leaf range."""
        cdef const LeafRange* some = &self.leaf_ranges[item]
        cdef double value = self.tree.nodes[some.node].value
        cdef double* raw = &self.raw[self.k, 0]
        cdef const uint32_t* rows = self.tree.run(0)
        cdef int64_t i
        for i in range(some.first, some.first + some.n):
            raw[i if rows == NULL else <int64_t> rows[i]] += value

    cdef void move_others(self, int64_t item) noexcept nogil:
        """Add the values of the leaves that they reach to the raw predictions of some rows that are left out."""
        cdef int32_t leaves[WALKERS]
        cdef double* raw = &self.raw[self.k, 0]
        cdef int64_t at = self.n_drawn + item * self.chunk, end = min(self.data.n_rows, at + self.chunk)
        cdef const uint32_t* rows
        cdef int i, n
        while at < end:
            rows = self.drawn.order + at
            n = <int> min(<int64_t> WALKERS, end - at)
            self.tree.find_leaves(rows, n, leaves)
            for i in range(n):
                raw[rows[i]] += self.tree.nodes[leaves[i]].value
            at += n

    # Trees ---------------------------------------------------------------------------------------------------------------

    cdef int write_tree(self) except -1 nogil:
        """Write the tree in preorder."""
        cdef const BoostNode* nodes = self.tree.nodes
        cdef const BoostNode* node
        cdef Split split
        cdef uint64_t subset[DF_SUBSET_WORDS]
        cdef Py_ssize_t number = 0, written, parent
        cdef int64_t* leaf
        cdef double* values
        ensure_room(<void**> &self.waiting, &self.n_waiting, self.tree.n_nodes, sizeof(WaitingNode))
        cdef WaitingNode* waiting = self.waiting
        cdef Py_ssize_t n = 1
        waiting[0].number = 0
        waiting[0].parent = -1
        waiting[0].is_right = False
        self.writer.clear()
        while n > 0:
            n -= 1
            node = &nodes[waiting[n].number]
            parent = waiting[n].parent
            if node.left < 0:
                leaf = self.writer.add_leaf(parent, waiting[n].is_right)
                leaf[0] = leaf[1] = node.at.n
                memcpy(&leaf[2], &node.value, sizeof(double))
                leaf[3] = 0
                continue
            split.feature = node.cut.feature
            split.missing_left = node.cut.missing_left
            split.is_deferred = False
            split.payload = NULL
            if self.data.columns[split.feature].kind == CATEGORICAL:
                self.find_subset(node, subset)
                split.payload = subset
                split.n_payload_words = DF_SUBSET_WORDS
            else:
                split.threshold = self.threshold(split.feature, node.cut.code)
            written = self.writer.add_inner(parent, waiting[n].is_right, &split)
            values = self.writer.add_node_values()
            values[0] = node.value if self.leaf == DF_NEWTON_LEAF else 0.0
            values[1] = node.gain
            for number in range(2):                # the left one is taken first
                waiting[n + number].number = node.left + 1 - number
                waiting[n + number].parent = written
                waiting[n + number].is_right = number == 0
            n += 2
        return 0

    cdef void find_subset(self, const BoostNode* node, uint64_t* words) noexcept nogil:
        """The categories that don't go where missing values go, a bit each. OUT words : [DF_SUBSET_WORDS]"""
        cdef int code
        memset(words, 0, DF_SUBSET_WORDS * sizeof(uint64_t))
        for code in range(self.data.columns[node.cut.feature].n_codes):
            if self.tree.goes_left(node, code) != <bint> node.cut.missing_left:
                words[code >> 6] |= <uint64_t> 1 << (code & 63)

    cdef double threshold(self, Py_ssize_t column, Py_ssize_t code) noexcept nogil:
        """The upper edge of a bin; of an ordinal column, the highest value in it."""
        cdef const void* values = self.data.columns[column].values
        if self.data.columns[column].kind == ORDINAL:
            values = self.data.columns[column].highs
        return (<const float*> values)[code] if self.data.columns[column].is_float32 else (<const double*> values)[code]
