"""All that decides a forest, in one frozen object: every engine that is given the same `Problem` grows the same trees.

What is not here changes the speed alone: the number of threads, the device, sizes of the machinery. A problem borrows its arrays
from who made it, and nobody writes to them.
"""

from dataclasses import dataclass, replace

import numpy as np

from dforest.core.grow.trainer import tree_seeds
from dforest.core.objective import Objective
from dforest.core.sampling import SamplingPlan
from dforest.core.search.criterion import Criterion
from dforest.core.search.splitter import Splitter
from dforest.rules.records import record
from dforest.weights import ClassBalance


@dataclass(frozen=True, eq=False)
class Targets:
    """What trees are to predict, and how much each training row counts.

    Attributes
    ----------
    classes : ndarray of shape (n_rows,), dtype int32
        Class numbers; regression: zeros.
    numbers : ndarray of shape (n_rows,), dtype float64, or None
        Regression: what is to be predicted; None for classification.
    weight : ndarray of shape (n_rows,), dtype uint32, or None
        Integer weights; None: all 1.
    weight_exponent : int
        `weight` is the sample weights times ``2**weight_exponent``.
    balance : ClassBalance, optional
        Makes the weights of each tree anew, from its draws.
    """

    classes: np.ndarray
    numbers: np.ndarray | None = None
    weight: np.ndarray | None = None
    weight_exponent: int = 0
    balance: ClassBalance | None = None

    @property
    def heaviest(self):
        """The largest integer weight."""
        return 1 if self.weight is None else int(self.weight.max())


@dataclass(frozen=True)
class GrowthRules:
    """When a node becomes a leaf.

    Attributes
    ----------
    max_depth : int or None
        A node at this depth is a leaf; None: no limit.
    min_samples_split : int
        A node of fewer draws is a leaf.
    min_samples_leaf : int
        Draws that each side of a split has at least.
    min_weight_fraction_leaf : float
        Share of the weight of the tree's draws that each side of a split has at least.
    impurity_threshold : float
        A node of lower impurity is a leaf.
    min_impurity_decrease : float
        A node is split only if that decreases the impurity by at least this much, weighted by the node's share of the weight.
    max_leaf_nodes : int or None
        Most leaves, for growth best first; None: no limit, and growth depth first.
    """

    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    impurity_threshold: float = 0.0
    min_impurity_decrease: float = 0.0
    max_leaf_nodes: int | None = None

    def limits(self, n_rows):
        """What makes a single node a leaf: ndarray of shape (1,), dtype df_limits, for data of that many rows."""
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
    columns : tuple of dforest.core.data.CodedColumn
        Each feature's codes.
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
        Of the forest, below 2**64; or of the tree alone, below 2**32.
    is_tree : bool
        Whether this is a tree alone, whose seed is the given one.
    directions : ndarray of shape (n_features,), dtype int8
        1 or -1: predictions may only rise or only fall with the feature; 0: either.
    X : ndarray of shape (n_rows, n_features), C-contiguous, or None
        What the columns were made from, where the splitter looks at it.
    """

    columns: tuple
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

    @property
    def n_rows(self):
        """Training rows."""
        return len(self.targets.classes)

    @property
    def n_features(self):
        return len(self.columns)

    def seeds_of(self, trees):
        """The seeds of some trees, given a range of their numbers: ndarray of shape (n_trees,), dtype uint32."""
        return np.array([self.seed], np.uint32) if self.is_tree else tree_seeds(self.seed, trees)

    @property
    def n_draws(self):
        """Draws of a tree."""
        return self.sampling.count_draws(self.n_rows)

    def weigh_draws(self, seed):
        """What a tree with weights of its own draws, given its seed, and how much that weighs.

        Returns
        -------
        counts : ndarray of shape (n_rows,), dtype uint32
            How often it draws each row.
        weight : ndarray of shape (n_rows,), dtype uint32
            Integer weights of the rows.
        exponent : int
            Of these weights.
        """
        counts = self.sampling.counts(self.n_rows, seed)
        return counts, *self.targets.balance.integer_weight(counts)

    def with_targets(self, targets):
        """This problem for other targets.

        Raises
        ------
        ValueError
            If they have not as many rows, or are not of the same kind.
        """
        if len(targets.classes) != self.n_rows:
            raise ValueError(f"targets of {len(targets.classes)} rows, for a problem of {self.n_rows} rows")
        for name in ("numbers", "weight", "balance"):
            if (getattr(targets, name) is None) != (getattr(self.targets, name) is None):
                raise ValueError(f"targets.{name} must be None where that of the problem's own targets is, and only there")
        if needs_wide_sums(targets, self.sampling) != needs_wide_sums(self.targets, self.sampling):
            raise ValueError(f"targets.weight goes up to {targets.heaviest}, which needs sums of another width")
        return replace(self, targets=targets)


def needs_wide_sums(targets, sampling):
    """Whether sums of weight times target, over a tree's draws, may leave 64 bits: then they are kept in two words."""
    return targets.heaviest * sampling.count_draws(len(targets.classes)) > 2**31
