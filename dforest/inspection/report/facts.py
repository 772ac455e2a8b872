"""What a fitted forest knows without any rows: importances by impurity, sizes of its trees, its parameters, a typical tree."""

import inspect
import re
from dataclasses import dataclass

import numpy as np

from dforest.estimators.results.importance import summarise
from dforest.estimators.subclasses import every_parameter


def impurity_importance(forest):
    """Importances by impurity, and how much trees differ.

    Parameters
    ----------
    forest : dforest.core.forest.arrays.Forest

    Returns
    -------
    mean, std : ndarray of shape (n_features,), dtype float64
        The mean is `feature_importances_` of the estimator. The standard deviation over trees (ddof 1) is that of the numbers
        that it is the mean of, in each tree scaled to sum 1.
    """
    decrease = forest.impurity_decrease(relative=True)
    totals = decrease.sum(axis=1, keepdims=True)
    mean, std = summarise(np.divide(decrease, totals, out=np.zeros_like(decrease), where=totals > 0))
    total = mean.sum()
    return (mean / total, std / total) if total > 0 else (mean, std)


def weighted_quantiles(values, counts, shares):
    """The least values that at least some shares of all values don't exceed, given how often each value occurs."""
    order = np.argsort(values, kind="stable")
    before = np.cumsum(counts[order])
    places = np.searchsorted(before, np.multiply(shares, before[-1]))
    return values[order][np.minimum(places, len(order) - 1)].tolist()


@dataclass(frozen=True)
class Sizes:
    """How large the trees of a forest are."""

    depth: np.ndarray  # of shape (n_trees,): of the deepest leaf of each tree; 0 where a tree is a single leaf
    n_leaves: np.ndarray  # of shape (n_trees,)
    leaves_by_depth: np.ndarray  # leaves of all trees at depth 0, 1, ...
    leaves_by_draws: np.ndarray  # leaves of all trees with 1 draw, with 2 or 3 draws, with 4 to 7 draws, ...
    draws: list  # the smallest leaf, the three quartiles, and the largest leaf of all trees, in draws

    @property
    def typical_tree(self):
        """The first of the trees whose number of leaves is nearest to the median."""
        return int(np.abs(self.n_leaves - np.median(self.n_leaves)).argmin())


def sizes_of(forest):
    """The `Sizes` of a `dforest.core.forest.arrays.Forest`."""
    depth, n_leaves = np.zeros(forest.n_trees, np.int64), np.zeros(forest.n_trees, np.int64)
    by_depth = np.zeros(1, np.int64)
    for t in range(forest.n_trees):  # one by one, as depths of all nodes would take more memory than the forest
        tree = forest.tree(t)
        counts = np.bincount(tree.depths()[tree.feature < 0])
        depth[t], n_leaves[t] = len(counts) - 1, counts.sum()
        longer, shorter = (counts, by_depth) if len(counts) > len(by_depth) else (by_depth, counts)
        by_depth = longer.copy()
        by_depth[: len(shorter)] += shorter
    times = np.bincount(forest.leaf_row[forest.feature < 0], minlength=len(forest.leaf_draws))
    power = np.frexp(np.maximum(forest.leaf_draws, 1).astype(np.float64))[1] - 1
    by_draws = np.zeros(power.max() + 1, np.int64)
    np.add.at(by_draws, power, times)
    draws = weighted_quantiles(forest.leaf_draws, times, [0, 0.25, 0.5, 0.75, 1])
    return Sizes(depth, n_leaves, by_depth, by_draws, draws)


def parameters_of(estimator):
    """The parameters of an estimator as text: a list of (name, value, default, whether these differ)."""
    own = {name: entry.default for name, entry in inspect.signature(type(estimator)).parameters.items()}
    defaults = estimator._defaults | own
    found, chosen = [], getattr(estimator, "best_params_", {})
    for name, value in every_parameter(estimator).items():
        text, default = (re.sub(r" at 0x[0-9a-f]+", "", repr(given)) for given in (value, defaults.get(name)))
        text += f", {chosen[name]!r} was chosen" if name in chosen else ""
        found.append((name, text, default, text != default))
    return found
