"""The naive twin's boosted trees: the whole training of a booster again, slow and plain, to compare the compiled one with.

It imports nothing compiled but NumPy. Sums are Python integers; float expressions follow `boost.h` and `losses.h` operation for
operation, so that models have the same bits.

Words: a *round* grows a tree, or one for each of more than two classes. A row's *raw prediction* is F = baseline + S, with S the
sum of the values of the leaves that it reached, added up in the order of the trees from 0. A row's *gradient* and *hessian*,
derivatives of its loss by F, become *quantised* integers, and *narrow* ones, by which cuts are judged.

The rules:

- Gradients and hessians of a tree have an exponent each: the largest s by which all of them times 2**s, rounded, are below 2**30
  in magnitude, but at most 1000; 0 where all are 0. Where all hessians are 1 they are no such integers, but count rows.
- *Narrow* words: narrow gradients have 17 bits less than quantised ones, hessians 16, rounded to nearest, a half up. They serve
  losses whose hessian is not constant, if neither the largest quantised gradient nor the largest quantised hessian is above 64
  times the mean. Else narrow gradients are the quantised ones: *constant* words where the hessian is, *wide* ones elsewhere.
- Weights are the integers w = weight / unit of `coding.integer_weights`. If none is above 2048, and their sum is below 2**32, all
  is as if each row stood there w times, but for the number of rows on a side of a cut: narrow and quantised gradients count w
  times, and so do constant hessians and the magnitudes of the mean; l2, the least hessian and the smoothing of
  categories are divided by the unit, and gains multiplied by it. Else gradients and hessians are
  multiplied by the weight in units, and then made integers, and words are wide; a hessian above 0 is 1 at least. Bins, baselines
  and quantiles have the integer weights in each case, but quantiles of a node's rows those of `Weights.of_node`.
- A node is *light* if derivatives are multiplied by weights, and its heaviest row has less than 2**-8 of the heaviest weight of
  those rows that its exponents were chosen for: all rows of the fit, or of the closest light node above it. If targets are
  no classes, and the largest quantised gradient or hessian of the tree is above 64 times the mean, in any output, a node is
  also light if the exponent for its own largest one, which is above 0, would be higher by 6 or more. A light node has
  exponents of its own, and so have the nodes below it; its hessians above 0 are 1 at least. What a node that is no leaf would
  add comes from the sums of its children: integers of the higher exponent lose their last bits, a half rounded up.
- With a subsample, each round draws rows without replacement, or of each class, or whole groups of rows, by the seed of its
  first tree. They are all that its trees know of:
  exponents and kinds of words are theirs too. The other rows count in `huber`'s delta, and in whether weights are small integers;
  they get the values of the leaves that they reach.
- A cut sends the first codes of an order to the left. Numbers are ordered by code, and *the rest* are rows whose value is
  missing. Categories with at least 10 rows in the node are ordered by G / (H + 10), of equal ones the lower code first, missing
  values being one more category; the rest are all other categories. Of several outputs, they are ordered by the one of which
  these G / (H + 10) have the largest variance, each weighted by H + 10, in units of the loss; of equal ones by the first. The
  rest is tried on the right, then on the left, where it has rows; else it goes to the side of more rows, or right. The highest
  score wins, of equal ones the lowest feature, then the shortest list of first codes, then the right side for the rest. The
  gain is the score less what all cuts of the node have in common; a node with a gain above 0 may be divided. Best first, of
  equal gains the first in preorder.
- With monotonic constraints, a node has bounds. The *step* of some rows is -G / (H + l2), kept within the bounds of their node,
  and a step v changes the loss by (2 G + (H + l2) v) v / 2. The gain of a cut is twice what the two steps of its sides save,
  compared with that of the node; a cut of a constrained feature is only valid if the steps have its direction. The middle of
  the two steps is a bound of both children then. Leaves are kept within their bounds; if they are refitted, bounds are found
  anew, from the refitted values of all nodes. Several outputs have bounds each, and the cut must have its direction in one. An
  output in which it has not, or in which a side has too little, is not divided: both sides have the step of the node, 0 where
  there is nothing to divide by.
- Features are drawn among those that have two codes or more among all training rows.
- With interaction constraints, given as sets of features, a node tries the features of those sets that have all features tested
  above it.
- A leaf's value is the learning rate times Newton's step v from quantised sums. Of losses whose hessian is not constant, its
  magnitude is at most |v| if that is up to 1, else the larger of 1 and ln(1 + |v|), times the learning rate if that is above
  1. For
  "absolute_error" and "quantile" it is the median, or the quantile, of y - F, times the learning rate; so it is for "mape", but
  rows weigh 1 / max(1, |y|) times their weight there. For "huber", "fair" and "log_cosh" it is, times the learning rate, the
  median, and the mean of minus the gradient of the loss of rows whose raw prediction is that median and whose target is y - F.
  Huber's delta is the `quantile` of |y - F| when the round begins.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from twins.boosted_cuts import Cut, Judge, best_cut, shrunk, sums_of, within
from twins.chances import draw_by_chance
from twins.dropout import Rounds
from twins.gradients import LEAF_TAIL_BITS, LIGHT_BITS, both_sums, fine_exponent, integers_of, of_node, scaled, sketch_of
from twins.linear_leaves import added, find_lines
from twins.losses import (
    BY_QUANTILE,
    CONSTANT_HESSIAN,
    ROBUST,
    baselines,
    class_derivatives,
    derivatives,
    exp,
    own_derivatives,
    relative_weight,
    weighted_quantile,
)
from twins.projections import Projected, set_payloads, sum_of
from twins.sampling import Subsample
from twins.splits import feature_order

from dforest.testing.coding import CATEGORICAL, ORDINAL, Weights, columns_of, integer_weights
from dforest.testing.scores import log
from dforest.testing.streams import ROOT_KEY, THRESHOLD, Stream, child_key, feature_key, tree_seed


@dataclass
class Node:
    """A node and all nodes below it. The feature of a leaf is -1; other nodes alone have a gain."""

    rows: list
    integers: list  # `Integers` of these rows, for each output
    feature: int = -1
    threshold: float = 0.0  # NaN where categories are tested
    categories: tuple = ()  # of a test of categories: those on the side that missing values don't go to
    missing_left: bool = False
    bounds: list = ()  # of steps, in units of predictions, for each output
    gain: float = 0.0  # in units of the loss
    # Of a leaf, or what another node would add as one, for each output; 0 there if leaves are no Newton steps.
    values: list = ()
    line: object = None  # of a leaf that adds a linear function, a `Line`
    terms: list = ()  # of a test of a sum, its `Term`s
    payload: list = None  # of a test where there may be sums, its words
    left: object = None  # a Node
    right: object = None


class Booster(NamedTuple):
    """What training gives."""

    baselines: list  # one number, or one for each class
    rounds: list  # of lists of trees: root nodes
    raw: np.ndarray  # raw predictions of the training rows, of shape (n_rows, n_outputs)
    words: list  # for each tree of each round the kind of its words
    weights: list  # of rounds, whose trees are as they were grown


class Weighed(NamedTuple):
    """A row with its integer weight."""

    row: int
    weight: int


class Limits(NamedTuple):
    """Which cuts are valid, and how they are judged."""

    max_depth: int
    max_leaf_nodes: int
    min_samples_leaf: int
    min_hessian: float
    l2: float
    max_features: float
    monotonic: list  # of each feature, -1, 0 or 1; None: there are no constraints
    interactions: list  # of sets of features, or None
    colsample_bytree: float = 1.0
    colsample_bylevel: float = 1.0
    l1: float = 0.0
    categorical_smoothing: float = 10.0
    min_samples_category: int = 10
    min_gain: float = 0.0
    monotone_penalty: float = 0.0
    costs: list = None  # of features, as long as no split of the model tests them

    @property
    def is_bounded(self):
        """Whether the gains of cuts are those of steps, which may have bounds."""
        return self.monotonic is not None or self.l1 > 0.0


def grow_booster(X, y, *, loss, n_classes=2, max_iter=100, learning_rate=0.1, max_leaf_nodes=31, max_depth=None,
                 min_samples_leaf=20, min_hessian=1e-3, l2_regularization=0.0, max_features=None, max_bins=256, quantile=None,
                 sample_weight=None, words=None, seed=0, n_categories=None, ordinal=None, monotonic=None, interactions=None,
                 n_drawn=None, max_delta_step=math.inf, power=1.5, offset=None, colsample_bytree=1.0, colsample_bylevel=1.0,
                 l1_regularization=0.0, path_smooth=0.0, categorical_smoothing=10.0, min_samples_category=10, start=None,
                 min_gain=0.0, monotone_penalty=0.0, feature_costs=None,
                 is_random=False, forced=None,
                 fair_c=1.0, focal_gamma=2.0, one_tree=None, n_directions=0, by_chance=False, sampling=None, leaf_features=0,
                 linear_l2=0.0, dropped=None, oblique=None):
    """Train a booster.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
        NaN means missing.
    y : sequence of length n_rows, or ndarray of shape (n_rows, n_outputs)
        Targets, or class numbers. With several outputs the loss is neither "huber" nor "mape".
    loss : str or object
        As `losses.h` names them. An object has methods and attributes as
        `dforest.loss.PythonLoss` describes them.
    n_classes : int
        Of classification.
    max_iter : int
        The number of rounds.
    max_leaf_nodes, max_depth : int or None
        None: no limit.
    max_features : int or float, optional
        How many of the features that it may try a node tries, or which share of them. None means all.
    quantile : float or list of float, optional
        Of the loss "quantile", of which a list makes a y of one column several outputs, one for each quantile; of "huber", the
        share of rows that are not outliers, 0.9 unless given.
    sample_weight : sequence of float, optional
        Positive weights; rows of weight 0 must have been dropped.
    words : {"narrow", "wide"}, optional
        The kind of words of all trees, for a loss whose hessian is not constant, without weights; chosen for each tree unless
        given.
    seed : int
    n_categories : sequence of int, optional
        Of each feature; one with categories holds their numbers, from 0, and NaN. 0: it has none.
    ordinal : sequence of bool, optional
        Whether thresholds of each feature are values that occur.
    monotonic : sequence of int, optional
        What predictions do as each feature rises: 1: rise, -1: fall, 0: either.
    interactions : list of set of int, optional
        Features that may be tested on one path.
    n_drawn : int, optional
        How many rows each round draws; at most n_rows. None: all.
    max_delta_step : float, optional
        Largest magnitude of a leaf's value before it is multiplied by the learning rate.
    power, fair_c, focal_gamma : float
        Of the losses "tweedie", "fair" and "focal".
    offset : ndarray of shape (n_rows, n_outputs), optional
        What raw predictions begin with beside `start`. None means zeros.
    colsample_bytree, colsample_bylevel : float
        The share of the features that can split that each tree draws, and of these that each level draws.
    l1_regularization : float
    path_smooth : float
        From the root down, a node's value is n / (n + path_smooth) of its own and the rest of its parent's, with n its rows.
    min_gain : float
        Least gain of a split.
    monotone_penalty : float
        How far splits by features with a monotonic constraint are put off.
    feature_costs : list of float, optional
        What the model's first split by each feature costs.
    is_random : bool
        Whether a node tries one cut of each feature of numbers, which is drawn.
    forced : tuple, optional
        The split of each tree's root: (feature, code up to which rows go left, such a tuple or None for the left child, for the
        right one).
    categorical_smoothing, min_samples_category : float and int
        How categories are ordered.
    leaf_features : int
        Most features of a linear leaf. 0: leaves are constants.
    linear_l2 : float
    oblique : twins.projections.Rule, optional
        Which sums of features trees split by too. None: there are none.
    start : list of float, optional
        What raw predictions begin with. None means what would lose least without offsets; "focal" needs it.
    one_tree : bool, optional
        Whether a round grows one tree, whose leaves have a value for each raw prediction of a row, and not a tree for each. None
        means that it does if y has several columns.
    n_directions : int
        How many directions of a sketch the splits of one tree for all classes are chosen by; 0: by all classes.
    by_chance : bool
        Whether rows are drawn by chances of their own, about n_drawn of them.
    dropped : callable, optional
        Given the number of a round, it returns those of the rounds that are dropped in it.
    sampling : object, optional
        Of `twins.sampling`: how rows are drawn. None: n_drawn of them are, all with equal chances.

    Returns
    -------
    Booster
    """
    n_rows, n_features = X.shape
    own = None if isinstance(loss, str) else loss
    if np.ndim(quantile) > 0:
        y = np.column_stack([y] * len(quantile))
    has_vectors = np.ndim(y) == 2 if one_tree is None else one_tree
    columns_of_y = np.reshape(y, (n_rows, -1)).T.astype(float).tolist()
    y = [int(v) for v in y] if loss == "multinomial" else columns_of_y[0]
    if quantile is None:
        quantile = 0.9 if loss == "huber" else math.nan
    limits = Limits(max_depth, max_leaf_nodes, max(1, min_samples_leaf), min_hessian, l2_regularization,
                    n_features if max_features is None else max_features,
                    monotonic if monotonic is not None and any(monotonic) else None, interactions,
                    colsample_bytree, colsample_bylevel, l1_regularization, categorical_smoothing,
                    min_samples_category, min_gain, monotone_penalty, feature_costs)  # fmt: skip
    weight, unit = ([1] * n_rows, 1.0) if sample_weight is None else integer_weights(sample_weight)
    weight, weights = [int(w) for w in weight], Weights(sample_weight, n_rows)
    relative = [float(w) for w in (weight if weights.exact is None else weights.exact)]
    columns = columns_of(X, "hist", max_bins, weight, n_categories, ordinal)
    leaf_weight, leaf_weights = weight, weights  # where leaves are no Newton steps
    if loss == "mape":
        given = [1.0] * n_rows if sample_weight is None else sample_weight
        relative_weights = [relative_weight(v) * w for v, w in zip(y, given, strict=True)]
        leaf_weight, leaf_weights = integer_weights(relative_weights)[0].tolist(), Weights(relative_weights, n_rows)
    if own is None:
        is_constant, is_refitted = loss in CONSTANT_HESSIAN, loss in BY_QUANTILE
        if start is None and (len(columns_of_y) > 1 or np.ndim(quantile) > 0):
            of_outputs = zip(columns_of_y, np.broadcast_to(quantile, len(columns_of_y)).tolist(), strict=True)
            start = [baselines(loss, column, weight, n_classes, level)[0] for column, level in of_outputs]
        elif start is None:
            start = baselines(loss, y, leaf_weight, n_classes, quantile)
    else:
        is_constant, is_refitted = own.constant_hessian, own.need_update_leaves_values
        given_weight = None if sample_weight is None else np.array(sample_weight)
        start = np.atleast_1d(own.fit_intercept_only(np.array(y), given_weight)).tolist()
    n_outputs, n_trees = len(start), 1 if has_vectors else len(start)
    n_coupled = n_outputs if loss == "multinomial" else 1
    values = ValueLimits(learning_rate, max_delta_step, own is None and not is_constant, n_coupled)
    sums = [[0.0] * n_outputs for _ in range(n_rows)] if offset is None else offset.tolist()
    rounds, kinds, used, weighed_rounds = [], [], set(), Rounds(dropped, learning_rate)
    projected = None if oblique is None else Projected(oblique, X, columns, seed)
    of_features, terms = columns, []
    for number in range(max_iter):
        if projected is not None:
            terms = projected.terms_of(tree_seed(seed, number * n_trees))
            columns = of_features + projected.columns_of(terms)
        known = weighed_rounds.without_dropped(sums)
        raw = [[baseline + s for baseline, s in zip(start, of_row, strict=True)] for of_row in known]
        parameter = {"tweedie": power, "fair": fair_c, "focal": focal_gamma}.get(loss, quantile) if own is None else quantile
        parameters = np.broadcast_to(parameter, n_outputs).tolist()
        if loss == "huber":
            parameters[0] = weighted_quantile([abs(v - f) for v, (f,) in zip(y, raw, strict=True)], weight, quantile)
        if own is not None:
            slopes = own_derivatives(own, raw, y)
        elif loss == "multinomial":
            slopes = [class_derivatives(f, v) for f, v in zip(raw, y, strict=True)]
        else:
            of_outputs = [
                [derivatives(loss, f, v, parameter) for f, v, parameter in zip(of_row, targets, parameters, strict=True)]
                for of_row, targets in zip(raw, zip(*columns_of_y, strict=True), strict=True)
            ]
            slopes = [list(zip(*of_row, strict=True)) for of_row in of_outputs]
        is_of_classes, drawn, inverse = loss in ("log_loss", "focal", "exponential", "multinomial"), list(range(n_rows)), None
        if by_chance and n_drawn is not None and n_drawn < n_rows:
            of_all = [
                integers_of([g[o] for g, _ in slopes], None if is_constant else [h[o] for _, h in slopes], weight, unit, relative,
                            words, drawn, is_of_classes, {})
                for o in range(n_outputs)
            ]  # fmt: skip
            drawn, inverse = draw_by_chance(of_all, n_drawn, tree_seed(seed, number * n_trees))
        elif n_drawn is not None:
            first_seed = tree_seed(seed, number * n_trees)
            drawn = np.flatnonzero((sampling or Subsample(n_drawn)).counts(n_rows, first_seed)).tolist()
        left_out = sorted(set(range(n_rows)) - set(drawn))
        trees, new = [], [[0.0] * n_outputs for _ in range(n_rows)]
        for k in range(n_trees):
            outputs = range(n_outputs) if has_vectors else range(k, k + 1)
            given = [
                ([g[o] for g, _ in slopes], None if is_constant else [h[o] for _, h in slopes], weight, unit, relative)
                for o in outputs
            ]
            integers = [integers_of(*one, words, drawn, is_of_classes, inverse) for one in given]
            if any(one.kind == "wide" for one in integers):
                integers = [integers_of(*one, "wide", drawn, is_of_classes, inverse) for one in given]
            own_seed = tree_seed(seed, number * n_trees + k)
            if n_directions and not (integers[0].weights and min(integers[0].weights) < max(integers[0].weights) / 2**LIGHT_BITS):
                sketch = sketch_of(integers, drawn, n_directions, own_seed, words)
                tree, leaves = grow_tree(drawn, columns, sketch, limits, own_seed, used, is_random, forced, len(terms))
                for node in [*leaves, *inner_nodes(tree)]:
                    node.integers, node.bounds = integers, [(-math.inf, math.inf)] * n_outputs
            else:
                tree, leaves = grow_tree(drawn, columns, integers, limits, own_seed, used, is_random, forced, len(terms))
            if projected is not None:
                set_payloads(tree, terms, columns, n_features)

            def value_of(node, raw=raw, parameters=parameters):
                if not is_refitted:
                    penalties = [x / node.integers[0].weight_unit for x in (limits.l1, limits.l2)]
                    return [newton_value(node, o, values, *penalties) for o in range(len(node.integers))]
                if own is not None:
                    given = np.ones(n_rows) if sample_weight is None else np.array(sample_weight)
                    y_and_raw = np.array([(y[row], raw[row][0]) for row in node.rows])
                    return [values.value(float(own.leaf_value(y_and_raw[:, 0], y_and_raw[:, 1], given[node.rows])))]
                weighed, _ = leaf_weights.of_node([Weighed(row, leaf_weight[row]) for row in node.rows], 0)
                found = []
                for o, column in enumerate(columns_of_y):
                    residuals = [(column[row] - raw[row][o]) + 0.0 for row in node.rows]
                    found.append(values.value(refit(loss, residuals, [row.weight for row in weighed], parameters[o])))
                return found

            # Of nodes that are no leaves nobody knows the quantile.
            for node in inner_nodes(tree):
                node.values = [0.0] * len(outputs)
            valued = leaves if is_refitted and path_smooth == 0.0 else [*leaves, *inner_nodes(tree)]
            if is_refitted and limits.monotonic is not None:
                bounds_of = refitted_bounds(tree, limits.monotonic, value_of)
            else:
                bounds_of = {id(node): [[values.value(step) for step in ends] for ends in node.bounds] for node in valued}
            for node in valued:
                node.values = [within(value, ends) for value, ends in zip(value_of(node), bounds_of[id(node)], strict=True)]
            if path_smooth > 0.0:
                smooth_below(tree, path_smooth, bounds_of)
            for node in inner_nodes(tree) if is_refitted else ():
                node.values = [0.0] * len(outputs)
            if leaf_features > 0:
                find_lines(tree, X, columns, leaf_features, linear_l2, values)
            reached = [(row, leaf) for leaf in leaves for row in leaf.rows]
            for row, leaf in reached + [(row, leaf_of(tree, X[row])) for row in left_out]:
                for o, value in zip(outputs, added(leaf, X[row]), strict=True):
                    new[row][o] += value
            trees.append(tree)
            kinds.append(integers[0].kind)
        rounds.append(trees)
        sums = weighed_rounds.advance(sums, new)
    raw = [[baseline + s for baseline, s in zip(start, of_row, strict=True)] for of_row in sums]
    return Booster(start, rounds, np.array(raw), kinds, weighed_rounds.weights)


def predict_raw(booster, X, offset=None):
    """Raw predictions of some rows: ndarray of shape (n_rows, n_outputs)."""
    raw = []
    for i, x in enumerate(X):
        sums = [0.0] * len(booster.baselines) if offset is None else offset[i].tolist()
        for trees in booster.rounds:
            for k, tree in enumerate(trees):
                for o, value in enumerate(added(leaf_of(tree, x), x), k):
                    sums[o] += value
        raw.append([baseline + s for baseline, s in zip(booster.baselines, sums, strict=True)])
    return np.array(raw).reshape(len(X), len(booster.baselines))


def inner_nodes(node):
    """The nodes below a node, and itself, that are no leaves."""
    return [node, *inner_nodes(node.left), *inner_nodes(node.right)] if node.feature >= 0 else []


def leaf_of(node, x):
    """The leaf that a row reaches."""
    while node.feature >= 0:
        v = sum_of(node.terms, x) if node.terms else float(x[node.feature])
        goes_left = (v in node.categories) != node.missing_left if node.threshold != node.threshold else v <= node.threshold
        node = node.left if (goes_left if v == v else node.missing_left) else node.right
    return node


# A tree --------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """A node of the frontier, with its cut, or None."""

    node: Node
    cut: Cut
    node_key: int
    depth: int
    used: frozenset  # features that are tested above it
    forced: tuple = (-1, -1, None, None)  # its own split, if that is forced: feature, code, and those of both children


def grow_tree(rows, columns, integers, limits, seed, used_before, is_random=False, forced=None, n_sums=0):
    """(root, leaves) of a tree of some rows. The leaves have no values yet.

    used_before : features that the model tests; changed
    n_sums : how many of the last columns are sums, which can split whatever codes they have
    """
    can_split = {j for j, column in enumerate(columns) if len(set(np.asarray(column.codes).tolist())) > 1}
    can_split |= set(range(len(columns) - n_sums, len(columns)))

    def look_at(rows, node_key, depth, used, bounds, before, forced=None):
        cut, integers = None, of_node(before, rows)
        if limits.max_depth is None or depth < limits.max_depth:
            allowed = allowed_features(len(columns), used, limits.interactions)
            of_level = first_features(of_tree, limits.colsample_bylevel, seed, 1 + depth)
            features = first_features(of_level & allowed, limits.max_features, seed, node_key)
            if forced is not None:
                feature, code = forced[:2]
                cut = best_cut(rows, columns, [feature], integers, limits, bounds, lambda feature, codes: code)
                if cut is not None:
                    return Found(Node(rows, integers, bounds=bounds), cut._replace(order=math.inf), node_key, depth, used, forced)

            def drawn_code(feature, codes):
                numbers = [code for code in codes if code < columns[feature].missing] or [0]
                first, last = min(numbers), max(numbers)
                stream = Stream(seed, feature_key(node_key, feature), THRESHOLD)
                return first + stream.below(last - first) if last > first else last

            code_of = drawn_code if is_random else None
            cut = preferred_cut(rows, columns, sorted(features), integers, limits, bounds, depth, used_before, code_of)
            cut = None if cut is not None and cut.gain < limits.min_gain else cut
        return Found(Node(rows, integers, bounds=bounds), cut, node_key, depth, used)

    def first_features(features, share, seed, node_key):
        """Those of some features that come first in the order of a stream: a number of them, or a share."""
        n = max(1, math.ceil(share * len(features))) if isinstance(share, float) else min(share, len(features))
        return set([f for f in feature_order(len(columns), seed, node_key) if f in features][:n])

    of_tree = first_features(can_split, limits.colsample_bytree, seed, 0)
    root = look_at(rows, ROOT_KEY, 0, frozenset(), [(-math.inf, math.inf)] * len(integers), integers, forced)
    # Leaves by their places as strings of 0 (left) and 1: these order like preorder.
    frontier = {"": root}
    while len(frontier) != limits.max_leaf_nodes:
        places = [place for place, found in frontier.items() if found.cut is not None]
        if not places:
            break
        place = min(places, key=lambda place: (-frontier[place].cut.order, place))
        node, cut, node_key, depth, used, own = frontier.pop(place)
        column = columns[cut.feature]
        sides = [row for row in node.rows if column.codes[row] in cut.left], [
            row for row in node.rows if column.codes[row] not in cut.left]  # fmt: skip
        bounds = children_bounds(cut, node, sides, limits)
        set_test(node, cut, column)
        used_before.add(cut.feature)
        found = [
            look_at(
                sides[side], child_key(node_key, side), depth + 1, used | {cut.feature}, bounds[side], node.integers,
                own[2 + side],
            )  # fmt: skip
            for side in (0, 1)
        ]
        node.left, node.right = found[0].node, found[1].node
        frontier |= {place + "0": found[0], place + "1": found[1]}
    leaves = [frontier[place].node for place in sorted(frontier)]
    for leaf in leaves:
        leaf.integers = of_node(leaf.integers, leaf.rows, LEAF_TAIL_BITS)
    return root.node, leaves


def preferred_cut(rows, columns, features, integers, limits, bounds, depth, used, code_of):
    """The cut of a node that counts for most, or None; its `order` is what it counts for."""
    if limits.costs is None and not limits.monotone_penalty:
        return best_cut(rows, columns, features, integers, limits, bounds, code_of)
    best = None
    for feature in features:
        cut = best_cut(rows, columns, [feature], integers, limits, bounds, code_of)
        if cut is None:
            continue
        is_put_off = limits.monotonic is not None and limits.monotonic[feature] != 0
        counts = float(cut.order) * (monotone_factor(limits.monotone_penalty, depth) if is_put_off else 1.0)
        if limits.costs is not None and feature not in used:
            counts -= limits.costs[feature] * (1.0 / integers[0].weight_unit)
        if best is None or Fraction(counts) > best.order:
            best = cut._replace(order=Fraction(counts))
    return best if best is not None and best.order > 0 else None


def monotone_factor(penalty, depth):
    """What gains of splits by features with a direction count for at a depth."""
    if penalty >= 1 + depth:
        return 0.0
    return 1.0 - (math.ldexp(penalty, -depth) if penalty <= 1 else exp(math.log(2.0) * (penalty - 1 - depth)))


def set_test(node, cut, column):
    """Make a node test what a cut says."""
    node.feature, node.gain, node.missing_left = cut.feature, cut.gain, column.missing in cut.left
    if column.kind == CATEGORICAL:
        node.threshold = math.nan
        node.categories = tuple(code for code in range(column.missing) if (code in cut.left) != node.missing_left)
    else:
        code = max(cut.left - {column.missing})
        node.threshold = float((column.highs if column.kind == ORDINAL else column.values)[code])


def allowed_features(n_features, used, interactions):
    """The features that a node may try."""
    if interactions is None:
        return set(range(n_features))
    return set().union(*(group for group in interactions if used <= group))


def children_bounds(cut, node, sides, limits):
    """Bounds of both children of a node, of each output."""
    if limits.monotonic is None or limits.monotonic[cut.feature] == 0:
        return node.bounds, node.bounds
    steps = []
    for integers, bounds in zip(node.integers, node.bounds, strict=True):
        judge = Judge(node.rows, integers, limits, bounds)
        of_sides = judge.steps(*(sums_of(side, integers) for side in sides), cut.feature)
        steps.append([scaled(step, judge.unit) for step in of_sides])
    return all_parted(node.bounds, steps, limits.monotonic[cut.feature])


def all_parted(bounds, steps, monotonic_cst):
    """Bounds of both children, of each output, given the steps of these within their parent's bounds."""
    pairs = [parted(own, of_sides, monotonic_cst) for own, of_sides in zip(bounds, steps, strict=True)]
    return [left for left, _ in pairs], [right for _, right in pairs]


def parted(bounds, steps, monotonic_cst):
    """`all_parted` of one output."""
    middle = 0.5 * steps[0] + 0.5 * steps[1]
    below, above = (bounds[0], middle), (middle, bounds[1])
    return (below, above) if monotonic_cst > 0 else (above, below)


def refitted_bounds(root, monotonic, value_of):
    """Bounds of the refitted values of nodes, of each output, by id."""
    found = {}

    def visit(node, bounds):
        found[id(node)] = bounds
        if node.feature < 0:
            return
        both = bounds, bounds
        if monotonic[node.feature] != 0:
            of_children = zip(value_of(node.left), value_of(node.right), strict=True)
            steps = [[within(value, own) for value in pair] for pair, own in zip(of_children, bounds, strict=True)]
            both = all_parted(bounds, steps, monotonic[node.feature])
        visit(node.left, both[0])
        visit(node.right, both[1])

    visit(root, [(-math.inf, math.inf)] * len(value_of(root)))
    return found


def smooth_below(node, strength, bounds_of):
    """Draw the values of the nodes below a node towards those of their parents, from above."""
    for child in (node.left, node.right) if node.feature >= 0 else ():
        share = len(child.rows) / (len(child.rows) + strength)
        for o, (above, own) in enumerate(zip(node.values, child.values, strict=True)):
            mixed = within((1.0 - share) * above + share * own, (min(above, own), max(above, own)))
            child.values[o] = within(mixed, bounds_of[id(child)][o])
        smooth_below(child, strength, bounds_of)


class ValueLimits(NamedTuple):
    """What makes values of the steps of leaves."""

    learning_rate: float
    max_step: float
    is_damped: bool
    n_sums: int = 1

    def value(self, step, value=None):
        """The value of a leaf with a step, given this times the learning rate, if that was rounded otherwise."""
        rate, size = self.learning_rate, abs(step)
        most = rate * self.max_step
        if self.is_damped:
            share = 0.5 if self.n_sums > 1 else 1.0
            most = min(most, share * max(rate, 1.0) * (size if size <= 1.0 or math.isinf(size) else max(1.0, log(1.0 + size))))
        return within(rate * step if value is None else value, (-most, most))


def newton_value(node, output, limits, l1, l2):
    """A node's value for an output, from sums of quantised gradients."""
    (g, s_g), (h, s_h) = gradient_sums(node, output)
    g, below = shrunk(scaled(float(g), -s_g), l1), scaled(float(h), -s_h) + l2
    return limits.value(g / below, -(limits.learning_rate * g) / below) if below > 0.0 else 0.0


def gradient_sums(node, output):
    """Sums of the quantised gradients and hessians of a node for an output, with an exponent each."""
    if node.feature >= 0:
        return both_sums(gradient_sums(node.left, output), gradient_sums(node.right, output))
    integers = node.integers[output]
    of_rows = integers.quantised_gradient, integers.quantised_hessian
    return tuple((sum(own[row] for row in node.rows), s) for own, s in zip(of_rows, integers.exponents, strict=True))


def refit(loss, residuals, weight, parameter):
    """A leaf's step by the median, quantile or robust mean of y - F; parameter: that of the loss, or Huber's delta."""
    if loss not in ROBUST:
        return weighted_quantile(residuals, weight, parameter if loss == "quantile" else 0.5)
    median = weighted_quantile(residuals, weight, 0.5)
    s = fine_exponent(1.0 if loss == "log_cosh" else parameter)
    terms = [round(-derivatives(loss, median, r, parameter)[0] * math.ldexp(1.0, s)) for r in residuals]
    total = sum(w * q for w, q in zip(weight, terms, strict=True))
    return median + scaled(float(total) / float(sum(weight)), -s)


def flatten(tree, dtype=np.float64):
    """The nodes of a tree in preorder.

    Returns
    -------
    dict of ndarray
        The arrays feature (-1 for a leaf), threshold (of X's dtype; 0 for leaves, NaN where payloads tell), right (the number of
        the right child; 0 for leaves), missing_left, n_rows, gain (0 for leaves) and values (0 for other nodes if leaves are no
        Newton steps). A left child's number is its parent's + 1. payload_lengths and payload_words have the categories of tests,
        as `Forest` has its subsets, or, where there may be sums, all tests.
    """
    nodes, right = [], []

    def visit(node):
        number = len(nodes)
        nodes.append(node)
        right.append(0)
        if node.feature >= 0:
            visit(node.left)
            right[number] = len(nodes)
            visit(node.right)

    visit(tree)
    dtypes = {"feature": np.int32, "threshold": dtype, "missing_left": bool, "gain": np.float64, "values": np.float64}
    arrays = {name: np.array([getattr(node, name) for node in nodes], kind) for name, kind in dtypes.items()}
    arrays |= {"right": np.array(right, np.uint32), "n_rows": np.array([len(node.rows) for node in nodes], np.int64)}
    subsets = [words_of(node.categories) for node in nodes if node.threshold != node.threshold]
    if any(node.payload is not None for node in nodes):  # which tell all of a test
        inner, subsets = arrays["feature"] >= 0, [node.payload for node in nodes if node.feature >= 0]
        arrays["threshold"][inner], arrays["missing_left"][inner] = math.nan, False
    arrays["payload_lengths"] = np.array([len(words) for words in subsets], np.int64)
    arrays["payload_words"] = np.array(sum(subsets, []), np.uint64)
    return arrays


def words_of(categories):
    """Words of 64 bits in which the bits of some categories are set, without words of 0 at the end."""
    bits = sum(1 << category for category in categories)
    return [bits >> 64 * i & 2**64 - 1 for i in range(-(-bits.bit_length() // 64))]
