"""Variable importance by the formulas of the literature, tree by tree and put together.

MDI, mean decrease of impurity: the mean over trees of the sum of p(t) * (impurity decrease at t)
over the nodes t that test the feature [1]_.

MDA, mean decrease of accuracy: per tree, the rise of its mean error on the rows it left out when the
feature's values are permuted among these rows; the mean over trees is the raw importance. Scaled:
divided by its standard error, sigma / sqrt(B), over the B trees that left out any row [2]_ [3]_.

By a score: the fall of the score of the whole forest's predictions when the feature's values are permuted among the rows.

Local: the rise of the error of a single row when the feature's values are permuted as for MDA, in the mean over the trees that
left the row out [3]_.

Of boosted trees: the sum of gains over the nodes that test the feature, in all trees [4]_.

References
----------
.. [1] G. Louppe, L. Wehenkel, A. Sutera, P. Geurts, "Understanding variable importances in forests of
   randomized trees", NeurIPS 2013.
.. [2] L. Breiman, "Random forests", Machine Learning 45(1), 2001.
.. [3] L. Breiman, A. Cutler, "Manual for setting up, using, and understanding random forests", 2003.
.. [4] J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29(5), 2001.
"""

from collections.abc import Mapping
from importlib import import_module

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.core.forest.node_table import target_power
from dforest.core.integer_weights import integer_weights
from dforest.core.predict.permutation import Permutations, permutation_error_increase, permute_values
from dforest.core.sparse_rows import column_of, dense, with_column
from dforest.core.threads import each
from dforest.estimators.data.features import numbers_of
from dforest.estimators.powers import next_power, times_power
from dforest.estimators.randomness import check_random_state
from dforest.estimators.results.oob import exponent_of, mean_in_order, place_of, row_ranges_of
from dforest.spmd import permutations

HEADROOM = 21  # sums of 2**32 squares times weights up to 2**31 are in range if numbers are scaled by so much less


@property
def feature_importances_(self):
    """Impurity-based importances of the features: ndarray of shape (n_features,), dtype float64.

    The importance of a feature is the mean over trees of the total impurity decrease that it brings. The
    importances of each tree are scaled to sum to 1 before the mean is taken, and so are the means. If no
    tree has a split, all importances are 0.
    """
    check_is_fitted(self)
    decrease = self.forest_.impurity_decrease(relative=True)
    totals = decrease.sum(axis=1, keepdims=True)
    mean = np.divide(decrease, totals, out=np.zeros_like(decrease), where=totals > 0).mean(axis=0)
    return mean / mean.sum() if mean.any() else mean


def impurity_decrease(forest):
    """The summands of MDI: ndarray of shape (n_trees, n_features), in units of two to a power, and this power."""
    return forest.impurity_decrease(relative=True), target_power(forest.criterion) * forest.target_exponent()


def gain_shares(forest):
    """The share of each feature in the gain of all splits of a boosted forest: ndarray of shape (n_features,); 0s without any."""
    gain = np.minimum(forest.inner[:, -1], np.finfo(np.float64).max)  # of huge targets it may be infinite
    gain = gain / gain.max(initial=1.0)
    if forest.splitter is None:
        total = np.bincount(forest.feature[forest.feature >= 0], gain, forest.n_features)
    else:
        total, place = np.zeros(forest.n_features), np.cumsum(forest.feature >= 0) - 1  # of a node's gain
        for t in range(forest.n_trees):
            node, feature, share = forest.tests_by_feature(t)
            total += np.bincount(feature, gain[place[forest.node_offsets[t] + node]] * share, forest.n_features)
    return total / total.sum() if total.any() else total


def accuracy_decrease(forest, rows, n_threads, device=None):
    """The summands of MDA. A collective.

    Parameters
    ----------
    forest : Forest
    rows : TrainingRows
        The rows that the forest was grown on, numbered. Their `sample_weight` weighs them in mean errors.
    n_threads : int
    device : Device, optional
        Where to work if all rows lie in one part. None means the processor.

    Returns
    -------
    rise : ndarray of shape (n_trees, n_features), dtype float64
        0 for features that a tree doesn't use; NaN for trees that left out no row.
    power : int
        The rises are in units of two to this power, so that squares of any targets are in range.
    """
    if rows.y.ndim == 2:  # the mean over outputs, as errors are
        outputs = range(rows.y.shape[1])
        found = [accuracy_decrease(forest.of_output(o), rows.of_output(o), n_threads, device) for o in outputs]
        power = max(own for _, own in found)
        return mean_in_order([times_power(rise, own - power) for rise, own in found]), power
    if not forest.objective.has_errors_of_rows:
        return _rise_of_all(forest, rows, n_threads), 0
    device, n_threads = place_of(rows, device, n_threads)
    leaf_class = forest.leaf_class()
    is_regression = leaf_class is None
    scale = exponent_of(forest, rows) - HEADROOM if is_regression else 0
    value = np.ldexp(forest.leaf_value, scale) if is_regression else leaf_class.astype(np.float64)
    weight = None if rows.sample_weight is None else integer_weights(rows.sample_weight, rows.ranks).integers
    target, packed = np.ldexp(rows.y.astype(np.float64), scale), forest.packed_leaves(n_threads=n_threads)
    row_ranges = row_ranges_of(forest, rows, n_threads, device)
    if not rows.is_divided:
        ((X, _, draws),) = row_ranges
        work = (packed, X, target, value, is_regression, weight, draws)
        if device is not None:
            there = import_module("dforest.engines.device.out_of_bag")
            return there.permutation_error_increase(device, *work, features_used(forest)), -2 * scale
        own_tests = None if forest.splitter is None else features_used(forest).view(np.uint8)
        return permutation_error_increase(*work, n_threads, own_tests), -2 * scale
    used = features_used(forest)
    own_tests = None if forest.splitter is None else used.view(np.uint8)
    tasks = []
    for X, own, draws in row_ranges:
        own_weight = None if weight is None else weight[own]
        task = Permutations(packed, X, target[own], value, is_regression, own_weight, draws, own_tests)
        tasks.append((draws.first, task))
    dtype = rows.parts[0].dtype
    return permutations.permutation_error_increase(rows.ranks, tasks, dtype, forest.seeds, used, n_threads), -2 * scale


def _rise_of_all(forest, rows, n_threads):
    """The rises of `accuracy_decrease` where errors are those of rows together; of one rank, with its rows in one part."""
    X, used, error_of = dense(rows.parts[0]), features_used(forest), forest.objective.error_of
    rise = np.zeros((forest.n_trees, forest.n_features))

    def look(t, _):
        out = np.flatnonzero(forest.left_out(t))
        changed, y, packed = np.ascontiguousarray(X[out]), rows.y[out], forest.tree(t).packed()
        error = error_of(y, packed.mean(changed, 1)) if len(out) else np.nan
        if np.isnan(error):
            rise[t] = np.nan
            return
        for j in np.flatnonzero(used[t]):
            values = changed[:, j].copy()
            (changed[:, j],) = permute_values([values], [forest.seeds[t]], [j], 1)
            rise[t, j] = error_of(y, packed.mean(changed, 1)) - error
            changed[:, j] = values

    each(forest.n_trees, look, n_threads)
    return rise


def local_rise(forest, rows, n_threads):
    """By how much the error of each row rises when a feature is permuted among the rows that a tree left out; means over trees.

    Parameters
    ----------
    forest : Forest
    rows : TrainingRows
        The rows that the forest was grown on, numbered, of one rank, in one part.
    n_threads : int

    Returns
    -------
    ndarray of shape (n_rows, n_features), dtype float64
        NaN for rows that every tree drew.
    """
    if rows.y.ndim == 2:
        outputs = range(rows.y.shape[1])
        return mean_in_order([local_rise(forest.of_output(o), rows.of_output(o), n_threads) for o in outputs])
    X, used, exponent = dense(rows.parts[0]), features_used(forest), exponent_of(forest, rows)
    y, factor = rows.y * 2.0**exponent if exponent else rows.y, 2.0**exponent
    rise, n_trees = np.zeros((len(X), forest.n_features)), np.zeros(len(X), np.int64)

    def errors(packed, changed, y):
        found = packed.mean(changed, 1)
        if forest.objective.predicts_shares:
            return (found.argmax(axis=1) != y).astype(np.float64)
        return (found[:, 0] * factor - y) ** 2

    def add_tree(t):
        out, asked, copies = np.flatnonzero(forest.left_out(t)), np.flatnonzero(used[t]), {}
        own, packed = np.ascontiguousarray(X[out]), forest.tree(t).packed()
        before = errors(packed, own, y[out])

        def look(k, thread):
            j = asked[k]
            if thread not in copies:
                copies[thread] = own.copy()
            changed = copies[thread]
            (changed[:, j],) = permute_values([own[:, j]], [forest.seeds[t]], [j], 1)
            rise[out, j] += errors(packed, changed, y[out]) - before
            changed[:, j] = own[:, j]

        each(len(asked), look, n_threads)
        n_trees[out] += 1

    for t in range(forest.n_trees):  # one after another, as sums of floats depend on their order
        add_tree(t)
    mean = np.divide(rise, n_trees[:, None], out=np.full(rise.shape, np.nan), where=n_trees[:, None] > 0)
    return times_power(mean, -2 * exponent)


def score_decrease(X, predict, score, used, n_repeats, random_state, donors=None, groups=None):
    """By how much a score falls when the values of a feature, or of several together, are permuted among rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), or SparseRows
    predict : callable
        Predicts the rows, given an array like X.
    score : callable
        Says how good predictions are: the larger, the better.
    used : ndarray of shape (n_features,), dtype bool
        The features that trees test: the importances of others are 0.
    n_repeats : int
        How many permutations there are of each feature. They are the same for all features, and scikit-learn's for such a seed.
    random_state : int, RandomState, Generator or None
    donors : ndarray or SparseRows of the shape of X, optional
        Rows whose values are dealt out, where X is not what its columns are drawn from. None means X.
    groups : list of list of int, optional
        The features that are permuted together, as they stand in rows. None means that each is permuted by itself.

    Returns
    -------
    ndarray of shape (n_features, n_repeats) or (n_groups, n_repeats), dtype float64
    """
    shuffles = np.random.RandomState(check_random_state(random_state).randint(np.iinfo(np.int32).max + 1))
    shuffled, places = np.arange(len(X)), [np.arange(len(X))]
    for _ in range(n_repeats):
        shuffles.shuffle(shuffled)
        places.append(places[-1][shuffled])
    donors = X if donors is None else donors
    baseline, changed = score(predict(X)), X.copy()
    groups = [[j] for j in range(X.shape[1])] if groups is None else groups
    decrease = np.zeros((len(groups), n_repeats))
    for g, features in enumerate(groups):
        asked = [j for j in features if used[j]]
        values = [column_of(donors, j) for j in asked]
        for r, place in enumerate(places[1:] if asked else ()):
            rows = changed
            for j, own in zip(asked, values, strict=True):
                rows = with_column(rows, j, own[place])
            decrease[g, r] = baseline - score(predict(rows))
        if isinstance(X, np.ndarray):
            changed[:, asked] = X[:, asked]
    return decrease


def numbers_of_groups(estimator, feature_groups):
    """The numbers of the features of groups that a fitted estimator's user names: list of list of int.

    Raises
    ------
    ValueError
        If these are not groups of features.
    """
    check_is_fitted(estimator)
    groups = list(feature_groups.values() if isinstance(feature_groups, Mapping) else feature_groups)
    known = estimator.n_features_in_, getattr(estimator, "feature_names_in_", None)
    found = [numbers_of("a group of feature_groups", group, *known) for group in groups]
    if not found or not all(found):
        raise ValueError(f"feature_groups={feature_groups!r}; allowed are one group or more, of one feature or more each")
    return found


def features_used(forest):
    """The features that each tree tests: ndarray of shape (n_trees, n_features), dtype bool."""
    used = np.zeros((forest.n_trees, forest.n_features), bool)
    if forest.splitter is not None:
        for t in range(forest.n_trees):
            used[t, forest.tests_by_feature(t)[1]] = True
        return used
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.node_offsets))
    inner = forest.feature >= 0
    used[tree[inner], forest.feature[inner]] = True
    return used


def summarise(by_tree, power=0, scaled=False):
    """(importance, spread) of each feature, given the importances of each tree. Trees that have NaN don't count.

    The importances of trees are in units of two to a power. The spread is the standard deviation over trees (ddof 1; 0 for a
    single tree). A scaled importance is 0 where the spread is 0.
    """
    by_tree = by_tree[~np.isnan(by_tree).any(axis=1)]
    n_trees = len(by_tree)
    if n_trees == 0:
        return np.full(by_tree.shape[1], np.nan), np.full(by_tree.shape[1], np.nan)
    powers = next_power(by_tree, axis=0)  # so that squares are in range
    units = np.ldexp(by_tree, -powers)
    mean = units.mean(axis=0)
    spread = units.std(axis=0, ddof=1) if n_trees > 1 else np.zeros(len(mean))
    importance = times_power(mean, powers + power)
    if scaled:
        importance = np.divide(mean * np.sqrt(n_trees), spread, out=np.zeros(len(mean)), where=spread > 0)
    return importance, times_power(spread, powers + power)
