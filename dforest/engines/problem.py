"""All that decides a forest, in one frozen object: for one problem, every engine grows one and the same forest.

A `Problem` is that of trees which do not depend on each other, a `BoostingProblem` that of boosted trees. What a problem leaves
out changes the speed alone: the number of threads, the device, sizes of the machinery. A problem borrows its arrays from its
maker, and nobody writes to them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from numbers import Integral
from typing import NamedTuple

import numpy as np

from dforest.core.boost.constraints import Constraints
from dforest.core.grow.trainer import tree_seeds
from dforest.core.objective import LinearSumObjective, MultiOutputSumObjective, Objective, SumObjective
from dforest.core.row_lists import drawn_rows
from dforest.core.sampling import AllRows, DrawnElsewhere, SamplingPlan, Subsample
from dforest.core.search.criterion import Criterion
from dforest.core.search.splitter import Splitter
from dforest.engines.rows import RowShare
from dforest.engines.weights import ClassBalance
from dforest.rules.records import constants, record


@dataclass(frozen=True, eq=False)
class Targets:
    """What trees are to predict, and how much each training row counts.

    Attributes
    ----------
    classes : ndarray of shape (n_rows,), dtype int32
        Class numbers; zeros if the objective has no classes, or several outputs.
    numbers : ndarray of shape (n_rows,) or (n_rows, n_outputs), dtype float64, or None
        The numbers that trees are to predict, of several outputs also class numbers; None if there is one output with classes.
    weight : ndarray of shape (n_rows,), dtype uint32, or None
        Integer weights; None means that all are 1.
    weight_unit : float
        The sample weights are `weight` times this.
    balance : ClassBalance, optional
        What makes the weights of each tree from its draws, in place of `weight`.
    heaviest_elsewhere : int, default=1
        The largest integer weight of rows that other ranks have.
    exact_weight : ndarray of shape (n_rows,), dtype float64, or None
        Exact weights (`rules/weights.h`) of the rows, of which `weight` are the integers. None means that the integers are exact,
        or that there is a `balance`.
    response : ndarray of shape (n_rows,), dtype float64, or None
        What the labels of columns that have many are ordered by (`dforest.core.grow.label_order`). None: by the targets.
    """

    classes: np.ndarray
    numbers: np.ndarray | None = None
    weight: np.ndarray | None = None
    weight_unit: float = 1.0
    balance: ClassBalance | None = None
    heaviest_elsewhere: int = 1
    exact_weight: np.ndarray | None = None
    response: np.ndarray | None = None

    @property
    def exact_weight_or_room(self):
        """`exact_weight`; with a `balance`, an array of its shape and type, as trees may have exact weights of their own."""
        return self.exact_weight if self.balance is None else np.empty(len(self.classes))

    def of_rows(self, chosen):
        """Those of some training rows, whose numbers are given: ndarray of int."""
        named = {name: getattr(self, name) for name in ("classes", "numbers", "weight", "exact_weight", "response")}
        own = {name: None if array is None else np.ascontiguousarray(array[chosen]) for name, array in named.items()}
        balance = self.balance
        if balance is not None:
            weight = None if balance.sample_weight is None else balance.sample_weight[chosen]
            balance = replace(balance, classes=balance.classes[chosen], sample_weight=weight)
        return replace(self, **own, balance=balance)

    @property
    def max_weight(self):
        """The largest integer weight."""
        own = 1 if self.weight is None else int(self.weight.max(initial=1))
        return max(own, self.heaviest_elsewhere)


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """The training rows that some trees draw, where these are few of all: codes and targets are then those of these rows alone.

    Attributes
    ----------
    n_rows : int
        Number of all training rows.
    numbers : ndarray of shape (n_drawn,), dtype uint32
        The numbers of the rows that any of the trees draws among all, ascending.
    first : int
        The number of the first tree.
    places, counts : ndarray of shape (n_records,), dtype uint32
        Which of `numbers` a tree draws, and how often: those of one tree after those of another.
    ends : ndarray of shape (n_trees + 1,), dtype int64
        Where those of each tree begin, and those of the last one end.
    """

    n_rows: int
    numbers: np.ndarray
    first: int
    places: np.ndarray
    counts: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, plan, seeds, n_rows, first, n_threads):
        """The rows that trees of a sampling plan draw, given their seeds and the number of the first tree."""
        rows, counts, n = drawn_rows(plan, seeds, n_rows, n_threads)
        is_there = np.arange(rows.shape[1]) < n[:, None]
        numbers, places = np.unique(rows[is_there], return_inverse=True)
        return cls(n_rows, numbers, first, places.astype(np.uint32), counts[is_there], np.concatenate([[0], np.cumsum(n)]))

    @property
    def trees(self):
        """The numbers of the trees: range."""
        return range(self.first, self.first + len(self.ends) - 1)

    def of_tree(self, tree):
        """(places, counts) of a tree, given its number."""
        own = slice(*self.ends[tree - self.first : tree - self.first + 2])
        return self.places[own], self.counts[own]


@dataclass(frozen=True)
class GrowthRules:
    """When a node becomes a leaf.

    Attributes
    ----------
    max_depth : int or None
        A node at this depth is a leaf. None means no limit.
    min_samples_split : int
        A node of fewer draws is a leaf.
    min_samples_leaf : int
        Least number of draws on each side of a split.
    min_weight_fraction_leaf : float
        Least share of the total weight of the tree's draws on each side of a split.
    impurity_threshold : float
        A node of lower impurity is a leaf.
    min_impurity_decrease : float
        A node is split only if that decreases the impurity by at least this much, weighted by the node's share of the weight.
    max_leaf_nodes : int or None
        Largest number of leaves, of a tree that is grown best first. None means no limit, and growth depth first.
    """

    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    impurity_threshold: float = 0.0
    min_impurity_decrease: float = 0.0
    max_leaf_nodes: int | None = None

    def limits(self, n_rows):
        """The rules that hold for a node by itself, for data of `n_rows` rows: ndarray of shape (1,), dtype df_limits."""
        limits = np.zeros(1, record("df_limits"))
        for name in limits.dtype.names:
            limits[name] = getattr(self, name) or 0
        limits["max_depth"] = n_rows if self.max_depth is None else min(self.max_depth, n_rows)
        limits["min_samples_leaf"] = max(1, self.min_samples_leaf)
        return limits


@dataclass(frozen=True, eq=False)
class Problem:
    """All that decides a forest.

    Attributes
    ----------
    columns : sequence of dforest.core.coding.coded_columns.CodedColumn
        The codes of each feature.
    targets : Targets
    objective : Objective
        What trees are to predict.
    criterion : Criterion
        Configured for the objective; engines work with copies.
    splitter : Splitter
        Configured; engines work with copies.
    rules : GrowthRules
    sampling : SamplingPlan
        Which rows each tree draws.
    seed : int
        The seed of the forest, below 2**64; or, if `is_tree`, of the tree, below 2**32.
    is_tree : bool
        Whether a single tree is grown whose seed is `seed`. If not, the seeds of trees follow from that of the forest.
    monotonic_csts : ndarray of shape (n_features,), dtype int8
        1 if predictions may only rise with the feature, -1 if they may only fall, 0 if they are free.
    X : ndarray of shape (n_rows, n_features), C-contiguous, or None
        What the columns were made from, if the splitter looks at it.
    share : RowShare or None
        Which of the training rows these are, if ranks have some each. None means that these are all rows. Codes, targets, weights
        and X are those of these rows; all else is as it is for the rows of all ranks.
    drawn : DrawnRows or None
        The rows that trees draw, if codes, targets, weights and X are those of these rows alone; no other trees can be grown
        then, and there is no `balance`. None means that they are those of all rows.
    after_tree : TreeStep or None
        What is done with each tree before it goes into a sink: see `dforest.engines.tree_steps`. None: nothing.
    """

    columns: Sequence
    targets: Targets
    objective: Objective
    criterion: Criterion
    splitter: Splitter
    rules: GrowthRules
    sampling: SamplingPlan
    seed: int
    is_tree: bool
    monotonic_csts: np.ndarray
    X: np.ndarray | None = None
    share: RowShare | None = None
    drawn: DrawnRows | None = None
    after_tree: object = None

    @property
    def n_rows(self):
        """Number of training rows, of all ranks."""
        if self.drawn is not None:
            return self.drawn.n_rows
        return len(self.targets.classes) if self.share is None else self.share.n_rows

    @property
    def n_features(self):
        return len(self.columns)

    def seeds_of(self, trees):
        """The seeds of some trees, given a range of their numbers: ndarray of shape (n_trees,), dtype uint32."""
        return np.array([self.seed], np.uint32) if self.is_tree else tree_seeds(self.seed, trees)

    def plans_of(self, trees):
        """The sampling plan of each of some trees, given a range of their numbers: tuple of SamplingPlan."""
        return (self.sampling,) * len(trees)

    def n_rows_of(self, trees):
        """How many rows each of some trees draws from, given a range of their numbers: ndarray of int64."""
        return np.full(len(trees), self.n_rows, np.int64)

    @property
    def n_draws(self):
        """Number of draws of each tree."""
        return self.sampling.count_draws(self.n_rows)

    def weigh_draws(self, seeds):
        """What trees draw, and the weights that `targets.balance` makes for them, given the trees' seeds.

        Returns
        -------
        counts : ndarray of shape (n_trees, n_rows), dtype uint32
            How often each tree draws each row.
        weights : list of IntegerWeights
            Of the rows, for each tree.
        """
        counts = np.stack([self.sampling.counts(self.n_rows, int(seed)) for seed in seeds])
        return counts, self.targets.balance.integer_weights(counts)

    def with_targets(self, targets):
        """This problem for other targets.

        Raises
        ------
        ValueError
            If they are of another number of rows, or of another kind, than the problem's own.
        """
        if len(targets.classes) != len(self.targets.classes):
            raise ValueError(f"targets have {len(targets.classes)} rows; those of the problem have {len(self.targets.classes)}")
        for name in ("numbers", "weight", "balance", "exact_weight"):
            if (getattr(targets, name) is None) != (getattr(self.targets, name) is None):
                raise ValueError(f"targets.{name} must be None if and only if it is None in the problem's own targets")
        max_draws = self.sampling.largest_tree(self.n_rows)
        if needs_wide_sums(targets, max_draws) != needs_wide_sums(self.targets, max_draws):
            raise ValueError(f"targets.weight goes up to {targets.max_weight}, which needs sums of another width than before")
        return replace(self, targets=targets)


@dataclass(frozen=True)
class BoostingRules:
    """What decides a boosted tree, given the derivatives of its rows.

    Attributes
    ----------
    learning_rate : float
        What the values of leaves are multiplied by.
    max_leaf_nodes, max_depth : int or None
        None means no limit.
    min_samples_leaf : int
        Least number of rows of a leaf.
    min_hessian : float
        Least sum of Hessians of a leaf.
    l2 : float
        What is added to a leaf's sum of Hessians.
    max_features : int or float
        How many features, or which share of those that may be tried, are tried in each node.
    max_delta_step : float, default=inf
        Largest magnitude of a leaf's value before it is multiplied by the learning rate.
    colsample_bytree, colsample_bylevel : float, default=1.0
        The share of the features that can split that a tree draws, and of these that a level of the tree draws.
    l1 : float, default=0.0
        By how much a leaf's sum of gradients is brought closer to 0.
    path_smooth : float, default=0.0
        How many rows have half of the say in the value of a node; the rest is the value of the node above.
    min_gain : float, default=0.0
        Least gain of a split, in units of the loss.
    categorical_smoothing : float, default=10.0
        What is added to a category's sum of Hessians, as categories are ordered.
    min_samples_category : int, default=10
        Least number of rows of a category in a node, for it to have a place of its own in this order.
    is_random : bool, default=False
        Whether a node tries one cut of each column of numbers, which is drawn.
    leaf_features : int, default=0
        Most features of a linear leaf. 0: leaves are constants.
    linear_l2 : float, default=0.0
        What is added to a leaf's sum of Hessians, for its slopes.
    max_codes : int, default=255
        Most values that a sum of columns is parted into; counted as 255 if it is more.
    """

    learning_rate: float
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    min_hessian: float
    l2: float
    max_features: int | float
    max_delta_step: float = inf
    colsample_bytree: float = 1.0
    colsample_bylevel: float = 1.0
    l1: float = 0.0
    path_smooth: float = 0.0
    min_gain: float = 0.0
    categorical_smoothing: float = 10.0
    min_samples_category: int = 10
    is_random: bool = False
    leaf_features: int = 0
    linear_l2: float = 0.0
    max_codes: int = 255

    def draw_columns(self, n_features):
        """Whether trees, levels or nodes try some of so many features: bool."""
        all_of_node = n_features if isinstance(self.max_features, Integral) else 1.0
        return self.max_features < all_of_node or min(self.colsample_bytree, self.colsample_bylevel) < 1.0

    def asdict(self):
        return asdict(self)


class ForcedSplit(NamedTuple):
    """A split of a node at the top of each boosted tree.

    Attributes
    ----------
    feature : int
        Of numbers.
    threshold : float
        Rows up to the edge of the bin that it is in go left.
    left, right : int
        The numbers of the forced splits of its children; -1: they have none.
    """

    feature: int
    threshold: float
    left: int = -1
    right: int = -1

    def coded(self, columns):
        """(feature, code, left, right), given a fit's coded columns. The code is the last one where all rows would go left."""
        column = columns[self.feature]
        edges = column.highs if int(column.kind) == constants()["DF_ORDINAL"] else column.values
        return self.feature, max(0, min(int(np.searchsorted(edges, self.threshold)), len(edges) - 1)), self.left, self.right


@dataclass(frozen=True, eq=False)
class BoostingProblem:
    """All that decides boosted trees.

    In each iteration a tree is grown for each of the loss's sums, or one tree for all, whose leaves have a value for each. The
    trees of an iteration have the numbers that follow those of the iteration before, and they draw the same rows.

    Attributes
    ----------
    columns : sequence of dforest.core.coding.coded_columns.CodedColumn
        The codes of each feature, of one byte.
    y : ndarray of shape (n_own_rows,) or (n_own_rows, n_outputs), dtype float64
        Targets, or class numbers. Of several outputs, each has a sum.
    weight : ndarray of shape (n_own_rows,), dtype float64, or None
        Positive weights; None means that all are 1.
    loss : dforest.estimators.boosting.losses.Loss or dforest.estimators.boosting.losses.OwnLoss
    baseline : tuple of float
        What the sums of each row begin with.
    rules : BoostingRules
    seed : int
        The seed of the model, below 2**64.
    n_rows : int
        Number of training rows, of all ranks. If ranks have some each, the arrays are of the own rows, and all else is as it is
        for the rows of all ranks.
    n_drawn : int or None
        About how many rows each iteration draws, no row twice; None means that trees are grown from all rows.
    sampling : SamplingPlan or None
        How the rows of all ranks are drawn, by the seed of an iteration's first tree. None means that n_drawn of them are, all
        with equal chances.
    constraints : Constraints
    can_split : ndarray of shape (n_features,), dtype uint8, or None
        Which columns have two codes or more among the training rows, so that they may be drawn. None means that none are drawn,
        or that all may be.
    n_grown : int, default=0
        How many trees there are already.
    raw : ndarray of shape (n_sums, n_own_rows), dtype float64, or None
        What the sums of each row are to begin with: its offset, and the leaves of the trees that there are. Engines may write to
        it. None means zeros.
    share : RowShare or None
        Which of the training rows these are, if ranks have some each. None means that these are all rows.
    statistics : dforest.estimators.boosting.statistics.LabelStatistics or None
        What the last columns are, if they are no columns of X, but statistics of labels.
    by_chance : bool, default=False
        Whether rows are drawn by chances of their own (`rules/chances.h`), about n_drawn of them.
    used : ndarray of shape (n_columns,), dtype bool, or None
        Which columns the trees that there are test; None: there are none.
    forced : tuple of ForcedSplit
        The splits at the top of each tree, that of the root first.
    X : ndarray of shape (n_own_rows, n_features), C-contiguous, or None
        What the columns were made from, if leaves are linear, or there is a splitter.
    splitter : dforest.splitter.ObliqueSplitter or None
        Which sums of columns trees split by too, and what their tests are. None: they split by single columns alone.
    """

    columns: Sequence
    y: np.ndarray
    weight: np.ndarray | None
    loss: object
    baseline: tuple
    rules: BoostingRules
    seed: int
    n_rows: int
    n_drawn: int | None = None
    sampling: SamplingPlan | None = None
    constraints: Constraints = Constraints()
    can_split: np.ndarray | None = None
    n_grown: int = 0
    raw: np.ndarray | None = None
    share: RowShare | None = None
    statistics: object = None
    by_chance: bool = False
    used: np.ndarray | None = None
    forced: tuple = ()
    X: np.ndarray | None = None
    splitter: object = None
    after_tree = None  # what `Problem` says of it: rows' predictions are known before a step could change a tree

    @property
    def n_features(self):
        return len(self.columns)

    def of_features(self):
        """This problem with the columns of X alone, as forests know it, whose nodes test no statistics."""
        if self.statistics is None:
            return self
        return replace(self, columns=self.columns[: self.statistics.n_features], statistics=None)

    @property
    def of_bags(self):
        """The problems of the bags of a model, which has one: see `dforest.estimators.boosting.bags`."""
        return (self,)

    def statistics_of(self, tree):
        """The `statistics` that a tree was grown by, given its number."""
        return self.statistics

    def n_rows_of(self, trees):
        """See `Problem.n_rows_of`."""
        return np.full(len(trees), self.n_rows, np.int64)

    @property
    def n_sums(self):
        """How many sums a row has."""
        return len(self.baseline)

    @property
    def objective(self):
        if self.rules.leaf_features > 0:
            return LinearSumObjective(self.baseline, self.rules.leaf_features)
        return (SumObjective if self.loss.n_outputs == 1 else MultiOutputSumObjective)(self.baseline)

    @property
    def n_trees_per_iteration(self):
        return self.objective.n_trees_per_iteration

    def seeds_of(self, trees):
        """See `Problem.seeds_of`."""
        return tree_seeds(self.seed, trees)

    def plans_of(self, trees):
        """See `Problem.plans_of`; the range begins with the first tree of an iteration."""
        if self.n_drawn is None or self.by_chance:  # which rows are drawn by chance follows from the gradients of all
            return (AllRows(),) * len(trees)
        if self.sampling is not None:  # trees don't keep what it knows of every row
            return (DrawnElsewhere(self.n_drawn),) * len(trees)
        of_iterations = np.repeat(self.seeds_of(trees)[:: self.n_trees_per_iteration], self.n_trees_per_iteration)
        return tuple(Subsample(self.n_drawn, int(seed)) for seed in of_iterations[: len(trees)])


def needs_wide_sums(targets, n_draws):
    """Whether sums of weight times target, over a tree's draws, may leave 64 bits: then they are kept in two words."""
    return targets.max_weight * n_draws > 2**31
