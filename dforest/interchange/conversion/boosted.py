"""Boosted trees that other libraries have grown, as ours.

A reader for each library turns its trees into `SourceTree`, whose nodes have the numbers that they have there. `sum_forest` makes
a `Forest` of them, `boosted_estimator` an estimator around it, and `check_boosted` compares it with the original. What is made
owns its arrays. Files may be damaged: that the numbers of children make a tree is checked here, and all else by `Forest`.
"""

from typing import NamedTuple

import numpy as np

from dforest.core.boost.ranking import RANK_LOSSES
from dforest.core.forest.arrays import Forest
from dforest.core.objective import MultiOutputSumObjective, SumObjective
from dforest.core.sampling import DrawnElsewhere
from dforest.engines.fit_report import FitReport
from dforest.estimators.boosting.boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from dforest.estimators.boosting.constraints import constraints_of
from dforest.estimators.boosting.defaults import choose_values
from dforest.estimators.boosting.ranker import HistGradientBoostingRanker
from dforest.estimators.data.encoder import CATEGORICAL, CONTINUOUS, ORDINAL
from dforest.estimators.data.features import Features
from dforest.estimators.data.rows import keep_features
from dforest.interchange.conversion.links import meaning, sum_rounding
from dforest.interchange.conversion.probes import check_same

DAMAGED = (TypeError, KeyError, IndexError, AttributeError, ArithmeticError)  # what a reader may meet in a damaged file

_BITS = 52  # of a tree's weight that is no integer
_MOST_POWER = 1.9999999  # below 2
_MAX_WEIGHT = 2.0**53  # of a tree, up to which sums of integers are exact


class SourceTree(NamedTuple):
    """A tree of another library. Arrays have an entry for each node; node 0 is the root."""

    left: np.ndarray  # int64: numbers of the children; below 0 at leaves
    right: np.ndarray  # likewise
    feature: np.ndarray  # int32
    threshold: np.ndarray  # float64: rows with values up to it go left
    missing_left: np.ndarray  # bool: whether missing values and unknown categories go left
    value: np.ndarray  # float64: what a node adds, or would add as a leaf; 0 where this is not known
    gain: np.ndarray  # float64
    weight: np.ndarray  # float64: of the training rows of each leaf, from 0 on
    draws: np.ndarray  # int64: how many training rows each leaf has; numbers below 1 count as 1
    left_categories: dict  # of ndarray of bool: which categories go left, by the nodes that test categories


def preorder(left, right):
    """The numbers of the nodes below node 0, each one followed by its left subtree and then by its right one.

    Parameters
    ----------
    left, right : ndarray of shape (n_nodes,)
        Numbers of the children; below 0 at leaves.

    Raises
    ------
    ValueError
        If these are not the nodes of a tree.
    """
    n = len(left)
    inner = np.flatnonzero(left >= 0)
    children = np.concatenate([left[inner], right[inner]])
    if n == 0 or len(children) and not 1 <= children.min() <= children.max() < n:
        raise ValueError(f"a tree of {n} nodes has children beyond these")
    order, left, right, waiting = [], left.tolist(), right.tolist(), [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if left[node] >= 0 and len(order) <= n:
            waiting += [right[node], left[node]]
    if len(set(order)) < len(order):
        raise ValueError(f"a tree of {n} nodes has a node with two parents")
    return np.array(order)


def as_one_sum(trees, baseline):
    """Trees that take turns at two sums, and what these begin with, for the second sum less the first one.

    The softmax of two raw predictions is the logistic function of their difference.
    """
    signs = (-1.0, 1.0)
    return [tree._replace(value=signs[t % 2] * tree.value) for t, tree in enumerate(trees)], [baseline[1] - baseline[0]]


def sum_forest(trees, baseline, n_categories, are_outputs=False):
    """A `Forest` whose leaves are added up.

    Parameters
    ----------
    trees : list of SourceTree
        In turns for each of the sums.
    baseline : sequence of float
        What each sum begins with.
    n_categories : ndarray of shape (n_features,), dtype int32
    are_outputs : bool, default=False
        Whether several sums are those of several outputs, for which leaves have a value each: 0 for all but one.

    Returns
    -------
    forest : Forest
    orders : list of ndarray
        For each tree, the numbers of its nodes in the other library, in the order that they have in the forest.

    Raises
    ------
    ValueError
        If these are no such trees.
    """
    n_sums = len(baseline)
    if not trees or len(trees) % n_sums:
        raise ValueError(f"the model has {len(trees)} trees; allowed are as many for each of its {n_sums} sums, and at least one")
    orders = [preorder(tree.left, tree.right) for tree in trees]
    parts = [_tree_arrays(tree, order) for tree, order in zip(trees, orders, strict=True)]
    are_outputs &= n_sums > 1
    for t, part in enumerate(parts if are_outputs else ()):
        value, inner = part["leaf_value"], part["inner"]
        part["leaf_value"], part["inner"] = np.zeros((len(value), n_sums)), np.zeros((len(inner), n_sums + 1))
        part["leaf_value"][:, t % n_sums], part["inner"][:, [t % n_sums, -1]] = value, inner
    n_draws = [int(part["leaf_draws"].sum()) for part in parts]
    objective = (MultiOutputSumObjective if are_outputs else SumObjective)(tuple(map(float, baseline)))
    return forest_of(parts, n_draws, n_draws, n_categories, objective, "squared_error", np.zeros(len(trees), np.uint32)), orders


def forest_of(trees, n_rows, n_draws, n_categories, objective, criterion, seeds):
    """A `Forest` of trees that were grown elsewhere.

    Parameters
    ----------
    trees : list of dict of ndarray
        For each tree, the arrays of its nodes, leaves and payloads by their names in a `Forest`, and "weight_unit" and
        "payload_lengths". Links of leaves are numbers of the tree's leaves.
    n_rows, n_draws : list of int
    n_categories : ndarray of shape (n_features,), dtype int32
    objective, criterion, seeds
        As of `Forest`.
    """
    parts = {name: [tree[name] for tree in trees] for name in trees[0]}
    units, n_leaves = parts.pop("weight_unit"), np.cumsum([0, *map(len, parts["leaf_draws"])])
    for link, feature, first in zip(parts["link"], parts["feature"], n_leaves, strict=False):
        link[feature < 0] += np.uint32(first)
    arrays = {name: np.concatenate(each) for name, each in parts.items()}
    arrays["node_offsets"] = np.cumsum([0, *map(len, parts["feature"])])
    arrays["payload_offsets"] = np.cumsum([0, *arrays.pop("payload_lengths")])
    return Forest(
        arrays,
        n_rows=np.array(n_rows),
        n_features=len(n_categories),
        objective=objective,
        n_categories=n_categories,
        criterion=criterion,
        seed=0,
        seeds=seeds,
        plans=tuple(map(DrawnElsewhere, n_draws)),
        weight_unit=np.array(units),
    )


def linked(left, right, order):
    """(which nodes are leaves, their links, and the places of nodes by their numbers) of a tree whose nodes take an order."""
    place = np.full(len(left), -1)
    place[order] = np.arange(len(order))
    is_leaf, link = left[order] < 0, np.empty(len(order), np.uint32)
    link[is_leaf], link[~is_leaf] = np.arange(np.count_nonzero(is_leaf)), place[right[order[~is_leaf]]]
    return is_leaf, link, place


def _tree_arrays(tree, order):
    """The arrays of a tree, as `forest_of` takes them."""
    is_leaf, link, place = linked(tree.left, tree.right, order)
    leaves, inner = order[is_leaf], order[~is_leaf]
    weight, unit = _integer_weights(tree.weight[leaves])
    threshold, words = np.where(is_leaf, 0.0, tree.threshold[order]), []
    for node in inner.tolist() if tree.left_categories else ():
        if node in tree.left_categories:
            threshold[place[node]] = np.nan
            # A subset is of the categories on the side opposite to the missing values.
            words.append(_words_of(tree.left_categories[node] ^ tree.missing_left[node]))
    return {
        "feature": np.where(is_leaf, -1, tree.feature[order]).astype(np.int32),
        "threshold": threshold,
        "link": link,
        "missing_left": ~is_leaf & tree.missing_left[order],
        "leaf_draws": np.maximum(tree.draws[leaves], 1),
        "leaf_weight": weight[:, None],
        "leaf_value": tree.value[leaves],
        "leaf_impurity": np.zeros(len(leaves)),
        "inner": np.column_stack([tree.value[inner], np.maximum(tree.gain[inner], 0.0)]),
        "payload_lengths": np.array([len(own) for own in words], np.int64),
        "payload_words": np.concatenate([np.zeros(0, np.uint64), *words]),
        "weight_unit": unit,
    }


def _words_of(members):
    """Words of 64 bits that have the bits of members, without zeros at the end."""
    packed = np.packbits(members, bitorder="little")
    words = np.concatenate([packed, np.zeros(-len(packed) % 8, np.uint8)]).view("<u8").astype(np.uint64)
    return words[: len(np.trim_zeros(words, "b"))]


def _integer_weights(weight):
    """(integers from 1, their unit), which stand for the weights of a tree's leaves."""
    total = weight.sum()
    if not total > 0:  # it is not known
        return np.ones(len(weight), np.int64), 1.0
    if total < _MAX_WEIGHT and (weight == np.rint(weight)).all():
        return np.maximum(weight, 1.0).astype(np.int64), 1.0
    exponent = _BITS - int(np.frexp(total)[1])
    return np.maximum(np.rint(np.ldexp(weight, exponent)), 1.0).astype(np.int64), float(np.ldexp(1.0, -exponent))


def features_of(n_features, labels, names, ordinal=()):
    """The `Features` of columns of numbers, and of those that have labels.

    Parameters
    ----------
    n_features : int
    labels : dict of ndarray
        What stands for the numbers 0, 1, ... in columns of categories or levels, by the columns' numbers.
    names : list of str or None
    ordinal : set of int, optional
        The columns whose labels are levels, which trees compare with thresholds.
    """
    kinds = [ORDINAL if j in ordinal else CATEGORICAL if j in labels else CONTINUOUS for j in range(n_features)]
    return Features(kinds, [labels.get(j) for j in range(n_features)], names)


def boosted_estimator(estimator, forest, features, classes=None):
    """Give an estimator what a fit would have set.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        With its parameters, which are checked.
    forest : Forest
    features : Features
    classes : ndarray, optional
        Of a classifier.
    """
    estimator._validate_params()
    estimator.n_features_in_ = forest.n_features
    if features.names is not None and all(isinstance(name, str) for name in features.names):
        estimator.feature_names_in_ = np.array(features.names, object)
    if classes is not None:
        estimator.classes_, estimator.n_classes_ = np.array(classes), len(classes)
    keep_features(estimator, features)
    estimator._loss = estimator._make_loss(forest.objective.n_outputs)
    estimator._constraints = constraints_of(estimator, forest.n_features)
    estimator._has_offset, estimator._row_seed = None, 0  # the former is not known
    estimator.n_trees_per_iteration_ = estimator._loss.n_trees_per_iteration
    estimator.forest_, estimator.fit_report_ = forest, FitReport("cpu")
    estimator.score_history_ = {}
    estimator.train_score_, estimator.validation_score_ = np.array([]), np.array([])
    estimator.best_iteration_ = estimator.best_score_ = None
    choose_values(estimator, 0, is_given=False)
    estimator.do_early_stopping_, estimator.leaf_model_ = False, "constant"
    return estimator


def estimator_for(loss, quantile=None, power=None, fair_c=None):
    """An estimator, not fitted, with a loss.

    Parameters
    ----------
    loss : str
    quantile, power, fair_c : callable, optional
        What a loss that has such a parameter asks for it. Other libraries allow powers from 1 to below 2.
    """
    given = {}
    if loss == "quantile":
        given["quantile"] = float(quantile())
    if loss == "fair":
        given["fair_c"] = float(fair_c())
    if loss == "tweedie":
        power = float(power())
        # Text of few digits may have rounded it to 2.
        loss, given = ("poisson", {}) if power == 1 else (loss, {"power": min(power, _MOST_POWER) if power <= 2 else power})
    if loss in RANK_LOSSES:
        kind = HistGradientBoostingRanker
    else:
        kind = HistGradientBoostingClassifier if loss == "log_loss" else HistGradientBoostingRegressor
    return kind(loss=loss, defaults="scikit-learn", **given)


def check_boosted(library, estimator, encoded, raw=None, predicted=None, leaves=(), orders=(), dtype=np.float64):
    """Raise ConversionError unless an estimator and the model that it was made of predict the same.

    Parameters
    ----------
    library : str
        Whose model it is, for the message.
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
    encoded : ndarray of shape (n_rows, n_features)
        Rows, in which categories are their numbers.
    raw : ndarray of shape (n_rows,) or (n_rows, n_sums), optional
        Raw predictions of the model; two where the estimator has one stand for the second less the first: see `as_one_sum`.
    predicted : ndarray of shape (n_rows,) or (n_rows, n_classes), optional
        Predictions of the model for numbers, or probabilities: those of two classes may be of the second one alone.
    leaves, orders : sequence of ndarray
        For each tree, the numbers of the leaves that rows reach in the model, and what `sum_forest` returns; none: they are not
        compared.
    dtype : type
        In which the other library adds up leaves.
    """
    packed = estimator.forest_.packed()
    for order, own, theirs in zip(orders, packed.apply(encoded, 1).T, leaves, strict=True) if len(orders) else ():
        check_same(library, encoded, order[own], theirs)
    sums, rounding = packed.mean(encoded, 1), sum_rounding(estimator.forest_, dtype)
    if raw is not None:
        is_difference = sums.shape[1] == 1 and np.ndim(raw) == 2 and raw.shape[1] == 2
        check_same(library, encoded, sums, raw[:, 1] - raw[:, 0] if is_difference else raw, rounding)
    if predicted is not None:
        expected = meaning(estimator, sums)[-1]
        if expected.ndim == 2 and expected.shape[1] == 1:  # others have a second probability, of no class, which is close to 0
            return
        if expected.ndim == 2 and np.ndim(predicted) == 1:
            expected = expected[:, 1]
        # A rounding of raw predictions becomes that share of their exponentials.
        rounding = (rounding + 64 * np.finfo(dtype).eps) * np.maximum(1.0, np.abs(expected))
        check_same(library, encoded, expected, predicted, rounding)
