"""All that decides a forest, in one frozen object: for one `Problem`, every engine grows one and the same forest.

What a problem leaves out changes the speed alone: the number of threads, the device, sizes of the machinery. A problem borrows
its arrays from its maker, and nobody writes to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dforest.core.grow.trainer import tree_seeds
from dforest.core.objective import Objective
from dforest.core.sampling import SamplingPlan
from dforest.core.search.criterion import Criterion
from dforest.core.search.splitter import Splitter
from dforest.rows import RowShare
from dforest.rules.records import record
from dforest.weights import ClassBalance


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
    """

    classes: np.ndarray
    numbers: np.ndarray | None = None
    weight: np.ndarray | None = None
    weight_unit: float = 1.0
    balance: ClassBalance | None = None
    heaviest_elsewhere: int = 1
    exact_weight: np.ndarray | None = None

    @property
    def exact_weight_or_room(self):
        """`exact_weight`; with a `balance`, an array of its shape and type, as trees may have exact weights of their own."""
        return self.exact_weight if self.balance is None else np.empty(len(self.classes))

    @property
    def heaviest(self):
        """The largest integer weight."""
        own = 1 if self.weight is None else int(self.weight.max(initial=1))
        return max(own, self.heaviest_elsewhere)


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
    columns : sequence of dforest.core.coded_columns.CodedColumn
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
    directions : ndarray of shape (n_features,), dtype int8
        1 if predictions may only rise with the feature, -1 if they may only fall, 0 if they are free.
    X : ndarray of shape (n_rows, n_features), C-contiguous, or None
        What the columns were made from, if the splitter looks at it.
    share : RowShare or None
        Which of the training rows these are, if ranks have some each. None means that these are all rows. Codes, targets, weights
        and X are those of these rows; all else is as it is for the rows of all ranks.
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
    directions: np.ndarray
    X: np.ndarray | None = None
    share: RowShare | None = None

    @property
    def n_rows(self):
        """Number of training rows, of all ranks."""
        return len(self.targets.classes) if self.share is None else self.share.n_rows

    @property
    def n_features(self):
        return len(self.columns)

    def seeds_of(self, trees):
        """The seeds of some trees, given a range of their numbers: ndarray of shape (n_trees,), dtype uint32."""
        return np.array([self.seed], np.uint32) if self.is_tree else tree_seeds(self.seed, trees)

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
            raise ValueError(f"targets.weight goes up to {targets.heaviest}, which needs sums of another width than before")
        return replace(self, targets=targets)


def needs_wide_sums(targets, n_draws):
    """Whether sums of weight times target, over a tree's draws, may leave 64 bits: then they are kept in two words."""
    return targets.heaviest * n_draws > 2**31
