"""What all estimators share: how they fit.

A single tree is a forest of one tree grown on every row. `fit` goes X -> codes -> trees -> `forest_`;
a fit that fails leaves the estimator as it was. What is fitted is a copy, whose attributes the estimator takes at the end, so
that other threads can predict meanwhile.
"""

from abc import abstractmethod
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dforest.config import communicator
from dforest.core.grow.label_order import LABELS_ORDERED_ABOVE
from dforest.core.grow.trainer import tree_seeds
from dforest.core.halves import honest, in_bags
from dforest.core.sampling import AllRows, WithLabelOrder
from dforest.core.search.criteria import NAMES
from dforest.core.search.criterion import Criterion
from dforest.core.search.dense import DenseSplitter, RandomDenseSplitter
from dforest.core.search.oblique import ObliqueSplitter
from dforest.core.search.splitter import HistSplitter, RandomHistSplitter, RandomSplitter, Splitter
from dforest.core.sparse_rows import dense
from dforest.engines.fit_report import FitReport
from dforest.engines.fitting import ForestSink, engine_on, grow_forest
from dforest.engines.problem import DrawnRows, GrowthRules, Problem, needs_wide_sums
from dforest.engines.tree_steps import TREES_TOGETHER, InTurn, RefilledLeaves, SmoothedLeaves
from dforest.estimators.callbacks import FitTasks, callback_management_context
from dforest.estimators.data.agreement import Partition
from dforest.estimators.data.fits import fitting, instance_of
from dforest.estimators.data.preferences import feature_preferences, gain_factors
from dforest.estimators.data.rows import coded_columns, training_rows
from dforest.estimators.data.sampling import groups_of, sampling_plan, why_no_order
from dforest.estimators.data.validation import (
    MAX_ROWS,
    check_directions,
    count_features,
    count_samples,
    count_threads,
)
from dforest.estimators.forest.memory import estimate_memory
from dforest.estimators.other_names import with_hints
from dforest.estimators.results import pruning
from dforest.estimators.support import Fit, check_support, places_of_fit
from dforest.estimators.tree_model import TreeModel
from dforest.sampling import RowSampling

SPLITTERS = {
    ("hist", "best"): HistSplitter,
    ("hist", "random"): RandomHistSplitter,
    ("dense", "best"): DenseSplitter,
    ("dense", "random"): RandomDenseSplitter,
}

# Size thresholds of the machinery, for tests: they change the speed, never the forest.
TUNING = {}
DRAWN_BESIDE_ORDER = 0.75  # draws of a tree, as a share of the rows, if other rows order labels
DRAWN_UP_TO = 0.25  # draws of all trees, as a share of the rows: if there are more, all rows get codes
MAX_STORED = 0.2  # share of rows, of a column that is coded as a sparse one: beyond, codes of all rows take less memory


class TreeEstimator(TreeModel):
    """Base class of trees and forests.

    A subclass says in `_plan` how many trees there are and how each draws its rows, and in `_target` what is predicted. The
    methods that predict it are in `dforest.estimators.forest.predictions`.
    """

    _target = None  # a `Target`
    estimate_memory = estimate_memory

    # Parameters that not all families have, with the values that they have there.
    feature_weights = None
    always_split_features = None
    n_random_splits = 1
    split_axis = "axis_aligned"
    n_projections = None
    projection_density = 2.0
    projection_weights = "binary"
    projection_scaling = "min_max"
    projections = None
    regularization_factor = 1.0
    regularization_use_depth = False
    honest = False
    honest_fraction = 0.5
    ci_group_size = 1
    leaf_smoothing = 0.0

    @abstractmethod
    def _plan(self):
        """A `Plan` for a fit. Raises ValueError if parameters contradict each other."""

    @abstractmethod
    def _seed(self, plan):
        """(a seed, whether it is the seed of a single tree and not of a forest)."""

    def _check_plan(self, rows, plan):
        """Raise ValueError if the rows do not fit the plan."""

    def _check_rows(self, rows, plan):
        """Raise ValueError if the rows, encoded by the estimator's features, do not fit the trees there are. A collective."""

    def _watch(self, plan, rows, tasks, device):
        """What sees the trees as they come, a `ForestGrowth`; None if nobody looks at them."""

    def _names_to_choose(self):
        """The names of parameters that are "auto", for a fit to choose their values: list of str, in the order of the choice."""
        return []

    def _value(self, name):
        """The value of a parameter, which may have been chosen for the training rows."""
        return getattr(self, name)

    def _choose(self, plan, rows, device):
        """Choose the values of parameters for training rows; returns the columns that `_grow` takes. A collective."""

    def _conclude(self, rows, plan, device, growth=None):
        """Set whatever attributes follow from `forest_` and the training rows. A collective."""
        self._target.after_growth(self, rows, plan)
        self._after_growth(rows, plan, device, growth)

    def _after_growth(self, rows, plan, device, growth=None):
        """Set the attributes that are estimated from the training rows."""

    def _own_criterion(self):
        """The criterion: the name of a built-in one, or an object."""
        criterion = instance_of(Criterion, "criterion", self.criterion)
        return NAMES.get(type(criterion), criterion)

    def _make_criterion(self, objective, is_wide, n_draws):
        """The configured `Criterion` of a problem, for an `Objective` and trees of `n_draws` draws."""
        return objective.make_criterion(self._own_criterion(), is_wide)

    def _made_splitter(self):
        """The `Splitter` that the parameters ask for."""
        splitter = instance_of(Splitter, "splitter", self.splitter)
        if self.projections is not None and self.split_axis != "oblique":
            raise ValueError(
                f'projections is given with split_axis={self.split_axis!r}, whose splits are of single features; allowed is '
                'split_axis="oblique"'
            )
        if not isinstance(splitter, str):
            if self.split_axis == "oblique":
                raise ValueError(
                    f'split_axis="oblique" with splitter={splitter!r}, which makes its own splits; allowed are "best" and '
                    '"random"'
                )
            return clone(splitter)
        if self.split_axis == "oblique":
            names = [name for name in ObliqueSplitter.parameters if name != "thresholds"]
            return ObliqueSplitter(**{name: getattr(self, name) for name in names}, thresholds=splitter)
        return SPLITTERS[self.method, splitter]()

    def _configured_splitter(self, n_features):
        """The configured `Splitter` of a problem."""
        splitter = self._made_splitter()
        if splitter.method not in (None, self.method):
            raise ValueError(f"splitter={splitter!r} works with method={splitter.method!r}, not with {self.method!r}")
        if splitter.has_own_tests and self.monotonic_cst is not None:
            raise ValueError(
                f"monotonic_cst is given, but splitter={splitter!r} makes tests of its own; allowed is monotonic_cst=None"
            )
        if self.n_random_splits > 1 and self.split_axis == "oblique":
            raise ValueError(
                f'n_random_splits={self.n_random_splits} with split_axis="oblique", which draws one threshold for each sum; '
                "allowed is 1"
            )
        if self.n_random_splits > 1 and not isinstance(splitter, RandomSplitter):
            raise ValueError(
                f"n_random_splits={self.n_random_splits} needs a splitter that draws thresholds; splitter={self.splitter!r} "
                'searches them. Allowed are 1, or splitter="random"'
            )
        factors = gain_factors(self, n_features)
        if factors is not None and (not splitter.is_built_in or splitter.has_own_tests):
            raise ValueError(
                f"regularization_factor={self.regularization_factor!r} needs a built-in splitter whose tests are of single "
                f"features; splitter={splitter!r}. Allowed are 1, or such a splitter"
            )
        return splitter.configure(
            count_features(self._value("max_features"), n_features), self.categorical_split == "one_hot", TUNING,
            self.skip_constant_features, *feature_preferences(self, n_features), self.n_random_splits, factors,
            self.regularization_use_depth,
        )  # fmt: skip

    @with_hints
    def fit(self, X, y, sample_weight=None):
        """Grow the tree on the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Training rows: numbers or booleans, and in categorical columns text too (see
            `categorical_features`). NaN, None, NA, null and masked cells are missing values, and infinities are ordinary
            values. float32 and float64 are used as they are, and other types become float64. Sparse
            matrices and arrays of SciPy give the same trees as ``X.toarray()``, which is never made as a
            whole; entries that they do not store are 0.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Targets: classes of any type, or finite numbers. If there are several columns ("outputs"), one
            tree predicts all of them, and impurities are means over the outputs.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on, which count in impurities and leaves; rows of weight 0 are left
            out. None means that all weights are 1.

        Returns
        -------
        self
            The fitted tree.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the estimator is then left as it was.
        """
        return self._fit_partitions(lambda rank: [Partition(rank, X, y, sample_weight)])

    def _fit_partitions(self, partitions_of):
        """Grow the trees from the partitions of this rank, given a function that returns them for the rank's number.

        All ranks of the estimator's communicator do this together.
        """
        with (
            fitting(self) as model,
            self._communicator().together() as ranks,
            callback_management_context(model),
        ):
            model._validate_params()
            partitions = partitions_of(ranks.rank)
            places, device = places_of_fit(model, partitions, ranks)
            partitions, plan = model._read(partitions, ranks), model._plan()
            rows = model._prepared_rows(partitions, plan, places, ranks)
            tasks = FitTasks(model, "tree", partitions[0]._replace(X=partitions[0].X.given), ranks)
            plan.seed = tasks.agree(model._seed(plan))
            growth = model._watch(plan, rows, tasks, device)
            columns = model._choose(plan, rows, device)
            model._grow(plan, rows, device, growth, columns)
            model._conclude(rows, plan, device, growth)
            if growth is not None:
                growth.end()
                del model._growth
        return self

    def _communicator(self):
        """The `Communicator` of the ranks that fit together."""
        return communicator()

    def _read(self, partitions, ranks):
        """The partitions that `fit` was given, with X as a `Table` and y as the target reads it, on the host. A collective."""
        return [partition.read() for partition in self._target.read(self, partitions)]

    def _prepared_rows(self, partitions, plan, places, ranks):
        """The `TrainingRows` of a fit at some places, which do for its `Plan`; their features are kept. A collective."""
        rows = training_rows(self, partitions, ranks, plan.grown)
        check_support(Fit(self, 1 if rows.y.ndim == 1 else rows.y.shape[1]), places)
        rows.groups = groups_of(partitions, rows, plan.sampling)
        self._check_plan(rows, plan)
        self._target.check(self, rows, plan)
        self._target.replace(self, rows, ranks)
        self._settle(plan, rows)
        self._check_rows(rows, plan)
        return rows

    def _grow(self, plan, rows, device=None, growth=None, columns=None):
        """Grow the trees that the plan lacks, and set `forest_`, which has all of them, and `fit_report_`.

        columns : as of `_make_problem`
        """
        engine = self._engine(plan, rows, device)
        splitter = self._configured_splitter(self.n_features_in_)
        own_tests = clone(splitter) if splitter.has_own_tests else None
        self._target.check_splitter(self, splitter)
        self._check_tests(plan, own_tests)
        if plan.n_grown == plan.n_trees:
            self.forest_ = plan.grown
            self.fit_report_ = FitReport(engine.name)
            return
        if plan.grown is not None:
            # float32 values and thresholds are exact in float64, not the other way round.
            rows.parts = [part.astype(np.result_type(part.dtype, plan.grown.threshold), copy=False) for part in rows.parts]
        settings = {"n_categories": self._features.n_categories, "criterion": self._own_criterion(), "splitter": own_tests}
        problem, before = self._make_problem(plan, rows, splitter, engine, columns), plan.grown
        if self.honest:
            filling = problem.sampling.filling()
            fewest = count_samples(self._value("min_samples_leaf"), filling.count_draws(rows.n_rows), 1)
            most = 1 if growth is not None else TREES_TOGETHER  # who watches trees sees each as it comes
            step = RefilledLeaves(problem, rows.parts, filling, rows.ranks, fewest, most, **settings)
            problem = replace(problem, after_tree=step if problem.after_tree is None else InTurn(step, problem.after_tree))
        if growth is not None:
            before = growth.start(problem, engine, **settings)
        first = 0 if before is None else before.n_trees
        self.forest_, self.fit_report_ = before, FitReport(engine.name)
        try:
            if growth.is_wanted if growth is not None else first < plan.n_trees:
                given = rows.parts[0].dtype, plan.n_trees, problem.objective.n_node_values
                sink = ForestSink(*given, before, growth, engine.n_threads)
                self.forest_, self.fit_report_ = grow_forest(problem, engine, range(first, plan.n_trees), sink, **settings)
        finally:
            if growth is not None:
                growth.stop()
        new = range(plan.n_grown, self.forest_.n_trees)
        self.fit_report_ = replace(self.fit_report_, n_trees=len(new))
        self.forest_ = pruning.cost_complexity(self.forest_, new, self.ccp_alpha, plan.n_threads)

    def _engine(self, plan, rows, device):
        """The `Engine` that grows trees."""
        n_threads = plan.n_threads if device is None else count_threads(-1)  # beside a device all work
        return engine_on(device, n_threads, rows.ranks)

    def _check_tests(self, plan, own_tests):
        """Raise ValueError if the new trees have tests of another kind than the trees there are."""
        if plan.grown is not None and plan.grown.splitter != own_tests:
            raise ValueError(
                f"splitter={own_tests if own_tests is not None else self.splitter!r}, but warm_start=True goes on with trees "
                + (f"that have tests by {plan.grown.splitter!r}" if plan.grown.splitter else "that have tests of single features")
            )

    def _make_problem(self, plan, rows, splitter, engine, columns=None):
        """The `Problem` that the new trees are grown for.

        columns : as of `_code_columns`, of all rows, if they are known
        """
        n_rows, ranks = rows.n_rows, rows.ranks
        needs_rows = splitter.needs_rows or splitter.has_own_tests
        sampling = self._sampling(plan, rows)
        rules = self._rules(n_rows, sampling.count_draws(n_rows))
        targets = self._target.make(self, rows, plan)
        objective = self._target.objective(self, rows)
        most_draws = max(sampling.largest_tree(n_rows), n_rows * isinstance(sampling, WithLabelOrder))
        criterion = self._make_criterion(objective, needs_wide_sums(targets, most_draws), sampling.count_draws(n_rows))
        directions = check_directions(self, self.monotonic_cst)
        if plan.grown is not None and not np.array_equal(directions, self._directions):
            raise ValueError(
                f"monotonic_cst={self.monotonic_cst!r}, but warm_start=True goes on with trees grown under the "
                f"constraints {self._directions.tolist()}"
            )
        self._directions = directions
        seed, is_tree = plan.seed
        drawn, parts = None, rows.parts
        if columns is None:
            drawn = self._drawn_rows(plan, rows, sampling, splitter, engine)
            if drawn is not None:
                targets, parts = targets.of_rows(drawn.numbers), [parts[0][drawn.numbers]]
            columns = self._code_columns(plan, rows, parts, splitter, engine)
        X = None if not needs_rows else parts[0] if drawn is not None else dense(rows.X)
        share = None if ranks.size == 1 else rows.share
        strength = self._value("leaf_smoothing")
        step = SmoothedLeaves(float(strength), objective, self._own_criterion()) if strength > 0 else None
        return Problem(
            columns, targets, objective, criterion, splitter, rules, sampling, seed, is_tree, directions, X, share, drawn, step
        )

    def _code_columns(self, plan, rows, parts, splitter, engine):
        """The coded columns of parts of X, which are those of all `TrainingRows` or of some. A collective."""
        return coded_columns(
            engine,
            rows.ranks,
            parts,
            self.max_bins if self.method == "hist" else 0,
            rows.integer_bin_weight(),
            plan.n_threads,
            self._features.kinds,
            self._features.n_categories,
            takes_keys=splitter.takes_keys and (engine.needs_keys or TUNING.get("keys", True)),
            max_stored=TUNING.get("max_stored", MAX_STORED) if splitter.takes_sparse else 0.0,
        )

    def _drawn_rows(self, plan, rows, sampling, splitter, engine):
        """The `DrawnRows` of the new trees, if these draw few of the rows, and grow the same way if others have no codes."""
        n_trees, n_rows = plan.n_trees - plan.n_grown, rows.n_rows
        is_possible = (
            engine.takes_drawn and splitter.runs_on(None) and self.method == "dense"  # where only the order of codes matters
            and not self.is_ordinal_.any() and not plan.balances_draws and not rows.is_divided
            and isinstance(rows.parts[0], np.ndarray) and not isinstance(sampling, AllRows | WithLabelOrder) and not self.honest
        )  # fmt: skip
        if not is_possible or n_trees * sampling.largest_tree(n_rows) > TUNING.get("drawn_up_to", DRAWN_UP_TO) * n_rows:
            return None
        seed, is_tree = plan.seed
        seeds = [seed] if is_tree else tree_seeds(seed, range(plan.n_grown, plan.n_trees))
        return DrawnRows.of(sampling, seeds, n_rows, plan.n_grown, plan.n_threads)

    def _settle(self, plan, rows):
        """Choose what "auto" means for rows whose features are known: how trees draw them, and whether trees order labels.

        Raises ValueError if labels are to be ordered and cannot be.
        """
        has_many = (self._features.n_categories > LABELS_ORDERED_ABOVE).any()
        asked, is_free = self.categorical_split, getattr(self, "bootstrap", False) == "auto"
        if asked == "order" or asked == "auto" and has_many and not self.honest:
            sampling = RowSampling() if is_free and plan.sampling is None else plan.sampling
            reason = self._why_no_order(sampling, rows)
            if reason is None and has_many:
                plan.sampling, plan.orders_labels = sampling, True
                if plan.max_samples is None and sampling == RowSampling(replace=True):
                    plan.max_samples = DRAWN_BESIDE_ORDER
            elif reason is not None and asked == "order":
                raise ValueError(f'categorical_split="order" {reason}')

    def _why_no_order(self, sampling, rows):
        """Why trees can't order labels by rows that a `Sampling` leaves out: a clause; None: they can."""
        if sampling is None:
            return 'needs trees that leave rows out; allowed are forests with bootstrap=True, or "subset"'
        criterion = self._own_criterion()
        if criterion in ("absolute_error", "path_length"):
            return f'with the criterion {criterion!r}, which has no mean targets; allowed is "subset"'
        if rows.y.ndim == 2:
            return f'with a y of {rows.y.shape[1]} columns, which have a mean each; allowed is "subset"'
        return None

    def _sampling(self, plan, rows):
        """The `SamplingPlan` of the new trees, which a `Sampling` makes for training rows. A collective."""
        if plan.sampling is None:
            if self.ci_group_size > 1:
                raise ValueError(
                    f"ci_group_size={self.ci_group_size} with bootstrap={self.bootstrap!r}, by which each tree takes every row; "
                    'allowed are bootstrap="subsample" and GroupSampling(replace=False)'
                )
            return honest(AllRows(), self._value("honest_fraction")) if self.honest else AllRows()
        share = 0.5 if plan.max_samples is None and self.ci_group_size > 1 else plan.max_samples
        found = sampling_plan(plan.sampling, getattr(self, "classes_", None), share, rows)
        if self.ci_group_size > 1:
            found = in_bags(found, rows.n_rows, self.ci_group_size, plan.seed[0])
        if self.honest:
            return honest(found, self._value("honest_fraction"))
        reason = why_no_order(found, rows.n_rows) if plan.orders_labels else None
        if reason is not None and self.categorical_split == "order":
            raise ValueError(f'categorical_split="order" with bootstrap={plan.sampling!r}{reason}')
        return WithLabelOrder(found) if plan.orders_labels and reason is None else found

    def _rules(self, n_rows, n_draws):
        """The `GrowthRules` for trees of `n_draws` draws each, from `n_rows` rows."""
        min_samples_split, min_samples_leaf = (
            count_samples(self._value(name), n_draws, least)
            for name, least in (("min_samples_split", 2), ("min_samples_leaf", 1))
        )
        return GrowthRules(
            self.max_depth and min(self.max_depth, MAX_ROWS),  # which no tree exceeds
            min_samples_split,
            min_samples_leaf,
            self.min_weight_fraction_leaf,
            self.impurity_threshold,
            self.min_impurity_decrease,
            self.max_leaf_nodes and min(self.max_leaf_nodes, max(2, n_rows)),
        )

    @property
    def n_outputs_(self):
        """Number of outputs, which are the columns of y: int."""
        if "forest_" not in self.__dict__:  # as check_is_fitted takes longer than predicting a single row
            check_is_fitted(self)
        return self.forest_.objective.n_outputs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags
