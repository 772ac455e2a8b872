"""Boosted trees, grown iteration by iteration.

A booster keeps, for each training row, the sum of its offset, if it has one, and of the values of the leaves that it reached, in
the order of the trees; with the baseline, this is the row's raw prediction. At the beginning of an iteration, gradients and
Hessians are quantised (rules/boost.h), and the iteration's trees are grown from them: by all rows, or by those *drawn* for the
iteration, while the others are *left out* and only go down its trees (tree_grower.pyx). All threads share each tree. But where an
iteration has several trees and data are few, trees are shared out among threads, each of which has a grower and histograms of its
own.

A `Booster` owns its arrays; what it was given it borrows, and keeps alive.
"""
cimport cython
from libc.math cimport INFINITY, ldexp
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from dforest.core.boost.boosted_tree cimport ForcedSplit
from dforest.core.boost.bundles cimport Bundles
from dforest.core.boost.chances cimport RowChances
from dforest.core.boost.gradient_sketch cimport GradientSketch
from dforest.core.boost.linear_leaves cimport LinearLeaves
from dforest.core.boost.loss cimport Loss
from dforest.core.boost.preferences cimport Preferences
from dforest.core.boost.projected_columns cimport ProjectedColumns
from dforest.core.boost.tree_grower cimport CUSTOM_LEAF, TreeGrower
from dforest.core.boost.tried_columns cimport TriedColumns
from dforest.core.loops cimport loops
from dforest.core.threads cimport current_worker, df_add_to, df_glance, df_set, look_up, pass_on
from dforest.core.types cimport CATEGORICAL
from dforest.rules.boost cimport (
    DF_CONSTANT_WORDS, DF_GRADIENT_BITS, DF_WIDE_WORDS, df_boost_limits, df_choose_packing, df_gradient_exponent,
    df_gradient_shift, df_has_heavy_tail, df_hessian_shift, df_is_light, df_packing, df_takes_times, df_value_limits_of,
)
from dforest.rules.losses cimport (
    DF_FINITE_TARGETS, DF_HUBER_LOSS, DF_MULTINOMIAL_LOSS, DF_N_LOSSES, DF_NEWTON_LEAF, DF_RELATIVE_LEAF, df_facts_of_loss,
    df_is_of_classes, df_loss_facts,
)
from dforest.rules.random cimport df_tree_seed
from dforest.rules.sketch cimport DF_DIRECTIONS

from dforest.core.integer_weights import integer_weights
from dforest.core.sampling import Subsample
from dforest.core.threads import Stopped
from dforest.rules.losses import relative_weights

cdef extern from "core/boost/gradients.h" nogil:
    uint8_t df_bits_below_max(double weight, double max_weight)
    void df_join_extent(df_boost_extent* extent, const df_boost_extent* other)
    void df_quantise_kept(const df_boost_rows* rows, int64_t step, int64_t n_sums, int64_t begin, int64_t end,
                          const double* factors, int32_t* quantised, df_boost_extent* extent)
    void df_quantise_known(const df_known_derivatives* known, const df_boost_rows* rows, int64_t step, int64_t begin, int64_t end,
                           const double* factors, bint has_hessian, int32_t* quantised, df_boost_extent* extent)

cdef enum:
    CELL_WORK = 2                      # of a cell (see `Bundles`), in an iteration, in nanoseconds or so
    TREE_CELLS = 1 << 22               # cells of the data up to which a tree is grown by one thread, ...
    TREE_ENTRIES = 1 << 21             # ... if the histograms of all threads have at most this many entries


cdef void quantise_chunk(void* booster, int64_t item) noexcept nogil:
    (<Booster> booster).quantise_chunk(item)


cdef void grow_alone(void* booster, int64_t item) noexcept nogil:
    (<Booster> booster).grow_alone(<int> item)


# A function as `grow_tree` for a caller that looks at the answer -1 itself, where Cython would raise the exception.
ctypedef int (*SilentGrow)(void* booster, int k, int which, WorkerContext* worker) noexcept nogil


cdef int grow_tree(void* booster, int k, int which, WorkerContext* worker) except -1 nogil:
    return (<Booster> booster).grow_tree(k, which, worker)


cdef int grow_trees(void* booster, SpinTeam team, WorkerContext* worker) except -1 nogil:
    return (<Booster> booster).grow_trees(worker)


@cython.final
cdef class Booster:
    """Grows the trees of a boosted model.

    Parameters
    ----------
    columns : sequence of CodedColumn
        Codes of one byte, by method hist.
    loss : int or Loss
        Its number: see `dforest.rules.losses.LOSSES`. Or one of one's own, configured.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs), dtype float64
        Targets, or numbers of classes. Of several outputs, each has a sum; the loss is then not Huber's, nor has it relative
        weights.
    one_tree : bool, default=False
        Whether each iteration has one tree, whose leaves have a value for each sum, and not a tree for each sum. Without it the
        loss's leaves are Newton steps.
    n_directions : int, default=0
        How many directions of a sketch (rules/sketch.h) the splits of a tree for several classes are chosen by; 0: by all
        classes, as they also are where rows may be light.
    weight : ndarray of shape (n_rows,), dtype float64, optional
        Positive. None: all are 1.
    n_classes : int, default=2
        Only looked at where the loss is that of several classes.
    parameter : float or sequence of float, default=0.0
        Of the loss (losses.h); for Huber's, the share of rows that are no outliers. A sequence has one for each sum.
    baseline : ndarray of shape (n_sums,), dtype float64
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
    colsample_bytree, colsample_bylevel : float, default=1.0
        Shares of columns that trees, and levels of trees, draw: see `TriedColumns`.
    l1 : float, default=0.0
        By how much a leaf's sum of gradients is brought closer to 0.
    path_smooth : float, default=0.0
        How many rows have half of the say in the value of a node; the rest is the value of the node above. 0: none of it.
    min_gain : float, default=0.0
        Least gain of a split.
    categorical_smoothing, min_samples_category : float and int
        How categories are ordered: see `df_boost_limits` of records.h.
    seed : int
        Of the model, below 2**64.
    n_threads : int
    n_drawn : int, optional
        How many rows each iteration draws without replacement, from 1 to n_rows. None: trees are grown from all rows.
    by_chance : bool, default=False
        Whether rows are drawn by chances of their own (rules/chances.h), about n_drawn of them. Leaves are then Newton steps.
    sampling : SamplingPlan, optional
        By which an iteration draws about n_drawn rows by its seed, no row twice. None: `Subsample`, of n_drawn.
    n_trees : int, default=0
        How many trees there are already.
    raw : ndarray of shape (n_sums, n_rows), dtype float64, optional
        The sums to begin with; it is written to. None: zeros.
    max_delta_step : float, optional
        Largest magnitude of a leaf's value before it is multiplied by the learning rate. Infinity: any.
    constraints : Constraints, optional
        None: there are none.
    can_split : ndarray of shape (n_columns,), dtype uint8, optional
        Which columns may be drawn: see `TriedColumns`.
    preferences : Preferences, optional
        None: columns are all alike.
    is_random : bool, default=False
        Whether a node tries one cut of each column of numbers, drawn from those between the codes of its rows.
    forced : ndarray of shape (n_forced, 4), dtype int32, optional
        Splits of the nodes at the top of each tree, that of the root first: the column, which has numbers, the code up to which
        rows go left, and the rows of the splits of the two children, or -1. None: there are none.
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64, optional
        What the columns were made of, of which the last ones may lack. It makes leaves linear, unless there is a splitter: see
        `dforest.core.boost.linear_leaves`. None: leaves are constants.
    leaf_features : int, default=0
        Most features of a linear leaf.
    linear_l2 : float, default=0.0
        What is added to a leaf's sum of Hessians, for its slopes.
    splitter : dforest.splitter.ObliqueSplitter, optional
        Which sums of the columns of X trees split by too: see `dforest.core.boost.projected_columns`. There are neither
        constraints nor preferences then. None: trees split by single columns alone.
    max_codes : int, default=255
        Most values that a sum is parted into.
    tuning : dict, optional
        Sizes of the machinery that are not to have their defaults, for tests: see doc/machinery.md.
    """

    def __init__(self, columns, loss, y not None, weight=None, *, int n_classes=2, bint one_tree=False, int n_directions=0,
                 parameter=0.0, baseline, double learning_rate,
                 max_leaf_nodes, max_depth, int64_t min_samples_leaf, double min_hessian, double l2, max_features, uint64_t seed,
                 int n_threads, n_drawn=None, bint by_chance=False, sampling=None, int64_t n_trees=0, raw=None,
                 double max_delta_step=INFINITY, double colsample_bytree=1.0, double colsample_bylevel=1.0, double l1=0.0,
                 double path_smooth=0.0, double min_gain=0.0, double categorical_smoothing=10.0, int64_t min_samples_category=10,
                 constraints=None, can_split=None, Preferences preferences=None, bint is_random=False,
                 forced=None, X=None, int leaf_features=0, double linear_l2=0.0, splitter=None, int max_codes=255, tuning=None):
        cdef Py_ssize_t n_rows = len(y), K, i
        cdef int64_t plane
        cdef const double[::1] targets = np.ascontiguousarray(np.reshape(y, (n_rows, -1)).T).reshape(-1)
        cdef df_loss_facts facts
        cdef const int32_t[:, ::1] splits
        cdef Bundles bundles
        cdef int kind
        cdef bint are_related = True               # a row has one target, which all of its sums are about
        if isinstance(loss, Loss):
            K = loss.n_outputs
            facts.has_constant_hessian = loss.constant_hessian
            facts.leaf = CUSTOM_LEAF if loss.need_update_leaves_values else DF_NEWTON_LEAF
            facts.targets = DF_FINITE_TARGETS
            self.loss = -1
        else:
            self.loss = loss
            if <unsigned int> self.loss >= DF_N_LOSSES:
                raise ValueError(f"loss={loss}; allowed are numbers from 0 to {DF_N_LOSSES - 1}, and a Loss")
            facts = df_facts_of_loss(self.loss)
            are_related = self.loss == DF_MULTINOMIAL_LOSS
            K = n_classes if are_related else targets.shape[0] // n_rows
        # Nobody looks at targets there, so that their memory stays untouched.
        tuning = tuning or {}
        if splitter is not None:
            is_number = np.array([column.kind != CATEGORICAL for column in columns[:X.shape[1]]])
            self.projected = ProjectedColumns(splitter, X, is_number, len(columns), max_codes, seed, n_threads, tuning)
            columns = [*columns, *self.projected.columns]
            can_split = None if can_split is None else np.append(can_split, np.ones(self.projected.n, np.uint8))
        self.data = DataView(columns, np.zeros(n_rows, np.int32))
        self.n_sums = <int> K
        self.n_outputs = self.n_sums if one_tree else 1
        if self.n_outputs > 1:
            tuning = tuning | {"packed_rows": INFINITY}        # cuts of several outputs are searched without digits
        bundles = Bundles(columns, self.data, min_samples_leaf, n_threads, tuning,
                          n_changing=0 if self.projected is None else self.projected.n)
        if self.projected is not None:
            self.projected.attach(bundles)
        n_threads = self.threads_for(bundles.n_cells, n_threads, tuning.get("thread_cells", 65536))
        self.chunk = tuning.get("chunk_rows", 8192)
        self.is_wide = tuning.get("wide_packed_sums", False)
        self.n_trees_per_iteration = self.n_sums // self.n_outputs
        if not 0 <= n_directions <= DF_DIRECTIONS or n_directions > 0 and (
                self.loss != DF_MULTINOMIAL_LOSS or constraints is not None and constraints.directions is not None):
            raise ValueError(f"n_directions={n_directions}; allowed are 0, and, of several classes without monotonic "
                             f"constraints, numbers up to {DF_DIRECTIONS}")
        if targets.shape[0] != n_rows * (1 if are_related else K):
            raise ValueError(f"y has the shape {np.shape(y)}; allowed with this loss are {n_rows} numbers")
        self.is_of_classes = df_is_of_classes(facts.targets)
        self.n_trees = n_trees
        self.seed = seed
        self.fit.loss, self.fit.leaf = self.loss, facts.leaf
        is_damped = facts.targets != DF_FINITE_TARGETS
        self.fit.limits = df_value_limits_of(learning_rate, max_delta_step, is_damped, self.n_sums if are_related else 1)
        self.fit.l1 = l1
        self.fit.l2 = l2
        self.fit.path_smooth = path_smooth
        self.fit.weight_unit = 1.0
        self.total_weight = n_rows
        self.rows.y = &targets[0]
        self.raw = np.zeros((K, n_rows)) if raw is None else raw
        self.baseline = np.array(baseline, np.float64)
        self.parameters = np.array(np.broadcast_to(np.asarray(parameter, np.float64), K))
        if self.raw.shape[0] != K or self.raw.shape[1] != n_rows or self.baseline.shape[0] != K:
            raise ValueError(f"raw has shape {np.shape(self.raw)} and baseline {np.shape(self.baseline)}; allowed are "
                             f"{(K, n_rows)} and {(K,)}")
        self.n_drawn = n_rows if n_drawn is None else n_drawn
        if not 1 <= self.n_drawn <= n_rows:
            raise ValueError(f"n_drawn={n_drawn}; allowed are numbers from 1 to {n_rows}, the number of rows, and None")
        if sampling is None and not by_chance and self.n_drawn < n_rows:
            sampling = Subsample(self.n_drawn)
        self.n_listed = n_rows if sampling is None else sampling.max_records(n_rows)   # at most
        self.owners = [targets]
        if weight is not None:
            self.set_weights(weight)
        if facts.leaf == DF_RELATIVE_LEAF:
            self.weigh_leaves_by(relative_weights(targets, weight))
        n_directions = n_directions if self.max_weight == 0.0 and n_directions < self.n_outputs else 0
        if by_chance and self.n_drawn < n_rows:
            if facts.leaf != DF_NEWTON_LEAF:
                raise ValueError("by_chance=True with a loss whose leaves are no Newton steps; allowed is False")
            self.chances = RowChances(n_rows, self.n_drawn, self.n_sums)
        self.has_hessian = self.chances is not None or self.rows.weight != NULL or not facts.has_constant_hessian
        self.counts_hessian = facts.has_constant_hessian and not self.has_hessian
        kind = DF_WIDE_WORDS if self.has_hessian else DF_CONSTANT_WORDS    # the longest there may be
        self.team = SpinTeam(n_threads)
        self.n_cells = bundles.n_cells
        self.sum_of_weights = self.total_weight
        self.quantised = <int32_t*> malloc(K * n_rows * (2 if self.has_hessian else 1) * sizeof(int32_t))
        if self.chances is not None and self.max_weight == 0.0:
            self.keep_derivatives()
        if self.max_weight > 0.0:
            self.kept = <double*> malloc(2 * K * n_rows * sizeof(double))
            self.bits_below_max = <uint8_t*> malloc(n_rows)
            if self.kept == NULL or self.bits_below_max == NULL:
                raise MemoryError()
            for i in range(n_rows):
                self.bits_below_max[i] = df_bits_below_max(self.rows.weight[i], self.max_weight)
            self.rows.kept = self.kept
        self.factors = <double*> calloc(2 * K, sizeof(double))      # of no scale
        self.scales = <BoostScale*> malloc(K * sizeof(BoostScale))
        self.extents = <df_boost_extent*> calloc(self.n_chunks() * K, sizeof(df_boost_extent))    # joined before all is known
        self.totals = <df_boost_extent*> malloc(K * sizeof(df_boost_extent))
        if (self.quantised == NULL or self.factors == NULL or self.scales == NULL or self.extents == NULL or self.totals == NULL):
            raise MemoryError()
        if n_directions > 0:
            self.sketch = GradientSketch(self.n_sums, n_directions, n_rows, self.n_chunks())
        if self.chances is not None:
            self.importance_units = np.zeros((K, 2))
        elif sampling is not None:
            self.drawn = DrawnRows(n_rows, sampling)
            self.rows.list = self.drawn.order
        if isinstance(loss, Loss):
            self.own = CustomLoss(loss, targets, weight, self.team, self.chunk)
        self.fit.rows = &self.rows
        self.fit.baseline = &self.baseline[0]
        self.fit.parameters = &self.parameters[0]
        self.fit.has_hessian, self.fit.chunk, self.fit.leaf_rows = self.has_hessian, self.chunk, tuning.get("leaf_rows", 8192)
        plane = n_rows * (2 if self.has_hessian else 1)
        # Shared out, trees take as long as the thread that has most of them.
        K = self.n_trees_per_iteration
        pays = (max(bundles.n_cells, n_rows * n_threads) <= TREE_CELLS and n_threads * bundles.n_entries <= TREE_ENTRIES
                and 20 * K >= 17 * n_threads * ((K + n_threads - 1) // n_threads))
        by_tree = self.own is None and preferences is None and K > 1 and tuning.get("by_tree", pays)
        self.growers, self.errors = [], []
        for _ in range(n_threads if by_tree else 1):
            team = SpinTeam(1) if by_tree else self.team
            histograms = Histograms(bundles, kind, team.n_members, self.owners[1] if self.rows.times != NULL else None, tuning,
                                    n_directions or self.n_outputs, plane)
            tried = TriedColumns(len(columns), max_features, colsample_bytree, colsample_bylevel, constraints, can_split)
            tree = BoostedTree(bundles, histograms, team, max_leaf_nodes, max_depth, tried,
                               None if constraints is None else constraints.directions,
                               self.n_listed, tuning, preferences)
            tree.rules = df_boost_limits(l1, l2, min_hessian, categorical_smoothing, self.fit.weight_unit, min_samples_leaf,
                                         min_samples_category)
            tree.min_gain, tree.is_random = min_gain, is_random
            if forced is not None and len(forced):
                splits = np.ascontiguousarray(forced, np.int32)
                self.owners.append(splits)
                tree.forced = <const ForcedSplit*> &splits[0, 0]
            if self.bits_below_max != NULL:
                tree.rows.bits_below_max, tree.rows.weight = self.bits_below_max, self.rows.weight
            tree.rows.drawn = self.rows.list if self.chances is None else self.chances.order
            linear = None if X is None or splitter is not None else LinearLeaves(tree, X, leaf_features, linear_l2)
            grower = TreeGrower(tree, self.own, self.n_outputs, linear, self.projected)
            grower.begin_fit(&self.fit)
            self.growers.append(grower)
        self.n_growers = len(self.growers)
        self.grower = <PyObject**> malloc(self.n_growers * sizeof(PyObject*))
        self.is_busy = <int*> calloc(self.n_growers, sizeof(int))
        if self.grower == NULL or self.is_busy == NULL:
            raise MemoryError()
        for i in range(self.n_growers):
            self.grower[i] = <PyObject*> self.growers[i]

    cdef int set_weights(self, weight) except -1:
        """Take the weights of rows, in their unit: as integers, if these are small; none if all are equal."""
        cdef const double[::1] weights
        cdef const uint32_t[::1] times
        found = self.weigh_leaves_by(weight)
        integers = times = found.integers
        self.fit.weight_unit = found.unit
        total = int(integers.sum(dtype=np.uint64))
        if not df_takes_times(integers.max(), total):
            weights = in_units = found.in_units.astype(np.float64, copy=False)
            self.owners.append(in_units)
            self.rows.weight = &weights[0]
            if df_is_light(in_units.min(), in_units.max()):
                self.max_weight = in_units.max()
            return 0
        if integers.max() > 1:
            self.rows.times = &times[0]
            self.total_weight = total
        return 0

    cdef object weigh_leaves_by(self, weight):
        """Take what rows weigh in leaves that are no Newton steps. Returns `IntegerWeights`."""
        cdef const double[::1] exact
        cdef const uint32_t[::1] integers
        found = integer_weights(weight)
        integers = found.integers
        self.fit.integer_weight, self.fit.exact_weight = &integers[0], NULL
        if found.exact is not None:
            exact = found.exact
            self.fit.exact_weight = &exact[0]
        self.owners.extend([found.integers, found.exact])
        return found

    @staticmethod
    def threads_for(n_cells, n_threads, thread_cells):
        """How many threads are worth starting: one for so many cells."""
        return n_threads if thread_cells == 0 else max(1, min(n_threads, n_cells // thread_cells))

    def __dealloc__(self):
        free(self.quantised)
        free(self.kept)
        free(self.bits_below_max)
        free(self.factors)
        free(self.scales)
        free(self.extents)
        free(self.totals)
        free(self.grower)
        free(self.is_busy)

    @property
    def raw_sums(self):
        """What offsets and leaf values add up to: ndarray of shape (n_sums, n_rows), dtype float64, not copied."""
        return np.asarray(self.raw)

    def grow_iteration(self):
        """Grow the trees of an iteration.

        Returns
        -------
        list of TreeArrays
            The words of a leaf are its number of rows, as draws, the same number again, as their weight, its values, and 0 in
            place of a gain. Any other node has the values that it would have as a leaf, or 0 where a loss finds the values of
            leaves by other means than Newton steps, and the gain of its split.
        """
        self.grown = [None] * self.n_trees_per_iteration
        cdef double n_cells = <double> self.n_cells * self.n_drawn / self.data.n_rows * self.n_trees_per_iteration
        self.team.run_leader(grow_trees, <void*> self, CELL_WORK * n_cells)
        grown, self.grown = self.grown, None
        self.n_trees += self.n_trees_per_iteration
        return grown

    cdef int grow_trees(self, WorkerContext* worker) except -1 nogil:
        """Grow the trees of an iteration, as the team's leader."""
        cdef int64_t n = self.n_chunks()
        cdef int k
        if self.projected is not None:
            self.projected.draw(df_tree_seed(self.seed, <uint32_t> self.n_trees), self.team)
        if self.drawn is not None:
            self.drawn.draw(df_tree_seed(self.seed, <uint32_t> self.n_trees), self.rows.times, self.team)
            self.list_rows(self.drawn.order, self.drawn.n_drawn, self.drawn.total_weight)
        if self.chances is not None:
            self.rows.list = NULL                  # importances are those of all rows
            self.n_listed, self.total_weight = self.data.n_rows, self.sum_of_weights
        self.rows.raw = &self.raw[0, 0]
        self.rows.baseline = self.baseline[0]
        self.rows.parameter = (<TreeGrower> self.grower[0]).delta() if self.loss == DF_HUBER_LOSS else self.parameters[0]
        if self.own is not None:
            self.own.find(&self.raw[0, 0], &self.baseline[0])
        self.quantise_all()
        if self.chances is not None:
            self.draw_by_chance()
            self.quantise_all()
        n = self.n_chunks()
        if self.sketch is not None:
            self.sketch.draw(df_tree_seed(self.seed, <uint32_t> self.n_trees), self.scales, self.totals)
            self.sketch.make(&self.rows, self.n_listed, self.chunk, self.quantised, self.team)
        for k in range(self.n_sums):
            if self.kept == NULL and not self.is_of_classes and self.is_heavy(&self.totals[k]):
                self.keep_derivatives()
                self.team.for_each(quantise_chunk, <void*> self, n)
        if self.n_growers > 1:
            self.team.for_each(grow_alone, <void*> self, self.n_trees_per_iteration)
            return self.raise_error() if df_glance(self.has_failed) else 0
        for k in range(self.n_trees_per_iteration):
            self.grow_tree(k, 0, worker)
        return 0

    cdef void quantise_all(self) noexcept nogil:
        """Make the quantised gradients of all listed rows, by the scales that they need."""
        while not self.has_scales:
            self.team.for_each(quantise_chunk, <void*> self, self.n_chunks())
            self.join_extents()
            self.choose_scales()
        self.has_scales = False

    cdef void draw_by_chance(self) noexcept nogil:
        """Draw the rows of the iteration, given the quantised gradients of all."""
        cdef const df_boost_extent* total
        cdef int32_t lowest = self.scales[0].exponent_g
        cdef int k
        for k in range(1, self.n_sums):
            lowest = min(lowest, self.scales[k].exponent_g)
        for k in range(self.n_sums):
            total = &self.totals[k]
            self.importance_units[k, 0] = ldexp(1.0, lowest - self.scales[k].exponent_g)
            self.importance_units[k, 1] = 0.0
            if total.sum[1] > 0:
                self.importance_units[k, 1] = self.importance_units[k, 0] * (<double> total.sum[0] / <double> total.sum[1])
        self.chances.draw(df_tree_seed(self.seed, <uint32_t> self.n_trees), self.quantised, &self.importance_units[0, 0],
                          self.rows.times, self.kept, self.team)
        self.list_rows(self.chances.order, self.chances.n_drawn, self.chances.total_weight)

    cdef void list_rows(self, const uint32_t* rows, int64_t n, int64_t total_weight) noexcept nogil:
        """Have the trees of the iteration be grown from some of the rows, which come first in an order of all."""
        cdef int k
        self.rows.list, self.n_listed, self.total_weight = rows, n, total_weight
        for k in range(self.n_growers):
            (<TreeGrower> self.grower[k]).tree.rows.n = n

    cdef void grow_alone(self, int k) noexcept nogil:
        """Grow the k-th tree of an iteration by a grower that is free."""
        cdef WorkerContext worker = current_worker()
        cdef int which = 0
        if df_glance(self.has_failed):
            return
        while df_add_to(self.is_busy[which], 1) > 0:       # there are as many as threads
            df_add_to(self.is_busy[which], -1)
            which = (which + 1) % self.n_growers
        if (<SilentGrow> grow_tree)(<void*> self, k, which, &worker) == -1:
            self.keep_error()
        df_add_to(self.is_busy[which], -1)

    cdef void keep_error(self) noexcept nogil:
        """Keep the exception that the calling thread has raised, until all trees of the iteration are grown."""
        with gil:
            try:
                pass_on()
            except BaseException as error:
                self.errors.append(error)
            df_set(self.has_failed, 1)

    cdef int raise_error(self) except -1 nogil:
        """Raise what a thread has raised."""
        with gil:
            errors, self.errors, self.has_failed = self.errors, [], 0
            raise next((error for error in errors if not isinstance(error, Stopped)), errors[0])

    cdef int grow_tree(self, int k, int which, WorkerContext* worker) except -1 nogil:
        """Grow the k-th tree of an iteration."""
        look_up(worker)
        cdef BoostScale* scales = &self.scales[k]          # of what is searched
        cdef int n_searched = self.n_outputs
        cdef int32_t* sketched = NULL
        cdef df_boost_extent total
        cdef bint is_heavy = False, has_tail
        cdef df_packing kind
        cdef int output
        if self.sketch is not None:
            scales, n_searched, sketched = self.sketch.scales, self.sketch.n_directions, self.sketch.quantised
        for output in range(n_searched):
            total = self.totals[k + output] if self.sketch is None else self.sketch.extent_along(output)
            is_heavy |= self.is_heavy(&total)
        has_tail = is_heavy and not self.is_of_classes
        kind = df_choose_packing(not self.has_hessian, self.rows.weight != NULL, is_heavy or self.is_wide)
        for output in range(n_searched):
            scales[output].narrow_g = scales[output].exponent_g - df_gradient_shift(kind)
            scales[output].narrow_h = scales[output].exponent_h - df_hessian_shift(kind)
        (<TreeGrower> self.grower[which]).grow(
            kind, self.quantised_of(k),
            self.kept + 2 * k * self.data.n_rows if has_tail or self.max_weight > 0.0 else NULL, has_tail, &self.scales[k],
            self.max_weight,
            df_tree_seed(self.seed, <uint32_t> (self.n_trees + k)), &self.raw[k, 0], worker, sketched, scales)
        with gil:
            self.grown[k] = (<TreeGrower> self.grower[which]).writer.arrays().copy()
        return 0

    cdef bint is_heavy(self, const df_boost_extent* of_all) noexcept nogil:
        """Whether a few rows have most of what the quantised gradients of all drawn rows stand for."""
        return (df_has_heavy_tail(of_all.largest[0], of_all.sum[0], self.total_weight)
                or df_has_heavy_tail(of_all.largest[1], of_all.sum[1], self.total_weight))

    cdef int keep_derivatives(self) except -1 nogil:
        """Have derivatives kept whenever rows are quantised, from here on: what light nodes need."""
        cdef size_t size = 2 * self.n_sums * self.data.n_rows * sizeof(double)
        self.kept = <double*> malloc(size)
        if self.kept == NULL:
            with gil:
                raise MemoryError(f"{size} bytes for the derivatives of all rows, which have a heavy tail")
        self.rows.kept = self.kept
        return 0

    # Gradients -----------------------------------------------------------------------------------------------------------

    cdef int64_t n_chunks(self) noexcept nogil:
        return (self.n_listed + self.chunk - 1) // self.chunk

    cdef int32_t* quantised_of(self, int k) noexcept nogil:
        """The quantised gradients for the k-th sum."""
        return self.quantised + k * self.data.n_rows * (2 if self.has_hessian else 1)

    cdef df_boost_rows rows_of(self, int k) noexcept nogil:
        """The rows, with the targets and raw predictions of an output."""
        cdef df_boost_rows rows = self.rows
        rows.y += k * self.data.n_rows
        rows.raw += k * self.data.n_rows
        rows.baseline = self.baseline[k]
        if k > 0:
            rows.parameter = self.parameters[k]
        if rows.kept != NULL:
            rows.kept += 2 * k * self.data.n_rows
        return rows

    cdef void quantise_chunk(self, int64_t item) noexcept nogil:
        """Make the quantised gradients of a chunk."""
        cdef int64_t begin = item * self.chunk, end = min(self.n_listed, begin + self.chunk)
        cdef df_boost_extent* extent = self.extents + item * self.n_sums
        cdef df_boost_rows rows
        cdef int k
        if self.chances is not None and self.rows.list != NULL:
            df_quantise_kept(&self.rows, self.data.n_rows, self.n_sums, begin, end, self.factors, self.quantised, extent)
        elif self.own is not None:
            df_quantise_known(&self.own.known, &self.rows, self.data.n_rows, begin, end, self.factors, self.has_hessian,
                              self.quantised, extent)
        elif self.loss == DF_MULTINOMIAL_LOSS:
            loops.boost.quantise_classes(&self.rows, &self.baseline[0], self.data.n_rows, self.n_sums, begin, end, self.factors,
                                         self.quantised, extent)
        else:
            for k in range(self.n_sums):
                rows = self.rows_of(k)
                loops.boost.quantise(self.loss, &rows, begin, end, self.factors + 2 * k, self.has_hessian,
                                     self.quantised_of(k), extent + k)

    cdef void choose_scales(self) noexcept nogil:
        """Choose scales by the largest derivatives of all drawn rows, and see whether rows were quantised by these."""
        cdef BoostScale* scale
        cdef double factors[2]
        cdef int k, i
        self.has_scales = True
        for k in range(self.n_sums):
            scale = &self.scales[k]
            scale.exponent_g = df_gradient_exponent(self.totals[k].gradient, DF_GRADIENT_BITS)
            scale.exponent_h = 0 if self.counts_hessian else df_gradient_exponent(self.totals[k].hessian, DF_GRADIENT_BITS)
            factors[0], factors[1] = ldexp(1.0, scale.exponent_g), ldexp(1.0, scale.exponent_h)
            for i in range(2):
                self.has_scales &= self.factors[2 * k + i] == factors[i]
                self.factors[2 * k + i] = factors[i]

    cdef void join_extents(self) noexcept nogil:
        """What is known of all drawn rows, from what is known of chunks."""
        cdef int64_t i
        cdef int k
        memset(self.totals, 0, self.n_sums * sizeof(df_boost_extent))
        for k in range(self.n_sums):
            for i in range(self.n_chunks()):
                df_join_extent(&self.totals[k], &self.extents[i * self.n_sums + k])
