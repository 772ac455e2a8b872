"""The naive twin's boosted trees: the whole training of a booster again, slow and plain, to compare the compiled one with.

It imports nothing compiled but NumPy. Sums are Python integers; float expressions follow `boost.h` and `losses.h` operation for
operation, so that models have the same bits.

Words: a *round* grows a tree, or one for each of more than two classes. A row's *raw prediction* is F = baseline + S, with S the
sum of the values of the leaves that it reached, added up in the order of the trees from 0. A row's *gradient* and *hessian*,
derivatives of its loss by F, become *fine* integers, and *coarse* ones, by which cuts are judged.

The rules:

- Gradients and hessians of a tree have an exponent each: the largest s by which all of them times 2**s, rounded, are below 2**30
  in magnitude, but at most 1000; 0 where all are 0. Where all hessians are 1 they are no such integers, but count rows.
- *Narrow* words: coarse gradients have 17 bits less than fine ones, hessians 16, rounded to nearest, a half up. They serve losses
  whose hessian is not constant, if neither the largest fine gradient nor the largest fine hessian is above 64 times the mean.
  Else coarse integers are the fine ones: *constant* words where the hessian is, *wide* ones elsewhere.
- Weights are the integers w = weight * 2**k of `coding.integer_weights`. If none is above 2048, and their sum is below 2**32, all
  is as if each row stood there w times, but for the number of rows on a side of a cut: coarse and fine integers count w times,
  and so do constant hessians and the magnitudes of the mean; exponents are greater by k. Else gradients and hessians are
  multiplied by the weight, and then made integers, and words are wide. Bins, baselines and quantiles have the integer weights in
  each case.
- A cut sends codes up to one to the left. Missing values are tried on the right, then on the left, where the node has some; else
  they go to the side of more rows, or right. The highest score wins, of equal ones the lowest feature, then the lowest code, then
  the right side for missing values. The gain is the score less what all cuts of the node have in common; a node with a gain above
  0 may be divided. Best first, of equal gains the first in preorder.
- A leaf's value is Newton's step from fine sums. For "absolute_error" and "quantile" it is the median, or the quantile, of y - F,
  times the learning rate. For "huber" it is, times the learning rate, the median, and the mean of what y - F is beyond it, kept
  within delta: the `quantile` of |y - F| when the round begins.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dforest.testing.coding import columns_of, integer_weights, scale_exponent
from dforest.testing.losses import (
    BY_QUANTILE,
    CONSTANT_HESSIAN,
    baselines,
    class_derivatives,
    derivatives,
    weighted_quantile,
)
from dforest.testing.splits import feature_order
from dforest.testing.streams import ROOT_PATH, child_path, tree_seed

FINE_BITS, LARGEST_WEIGHT = 30, 2048
GRADIENT_SHIFT, HESSIAN_SHIFT = 17, 16


@dataclass
class Node:
    """A node and all nodes below it. The feature of a leaf is -1; leaves alone have a value, other nodes alone a gain."""

    rows: list
    feature: int = -1
    threshold: float = 0.0
    missing_left: bool = False
    gain: float = 0.0  # in units of the loss
    value: float = math.nan
    left: object = None  # a Node
    right: object = None


class Booster(NamedTuple):
    """What training gives."""

    baselines: list  # one number, or one for each class
    rounds: list  # of lists of trees: root nodes
    raw: np.ndarray  # raw predictions of the training rows, of shape (n_rows, n_outputs)
    words: list  # for each tree of each round the kind of its words


class Integers(NamedTuple):
    """Gradients and hessians of all rows as integers, q * 2**-exponent."""

    kind: str
    fine_gradient: list
    fine_hessian: list
    gradient: list  # coarse
    hessian: list
    exponents: tuple  # of fine gradients and hessians
    coarse_exponents: tuple


class Limits(NamedTuple):
    """Which cuts are valid, and how they are judged."""

    max_depth: int
    max_leaf_nodes: int
    min_samples_leaf: int
    min_hessian: float
    l2: float
    max_features: int


def grow_booster(X, y, *, loss, n_classes=2, max_iter=100, learning_rate=0.1, max_leaf_nodes=31, max_depth=None,
                 min_samples_leaf=20, min_hessian=1e-3, l2_regularization=0.0, max_features=None, max_bins=256, quantile=None,
                 sample_weight=None, words=None, seed=0):
    """Train a booster.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
        NaN means missing.
    y : sequence of length n_rows
        Targets, or class numbers.
    loss : str
        As `losses.h` names them; "multinomial" grows a tree for each class in a round.
    n_classes : int
        Of classification.
    max_iter : int
        The number of rounds.
    max_leaf_nodes, max_depth : int or None
        None: no limit.
    max_features : int, optional
        How many features a node tries. None means all.
    quantile : float, optional
        Of the loss "quantile"; of "huber", the share of rows that are not outliers, 0.9 unless given.
    sample_weight : sequence of float, optional
        Positive weights; rows of weight 0 must have been dropped.
    words : {"narrow", "wide"}, optional
        The kind of words of all trees, for a loss whose hessian is not constant, without weights; chosen for each tree unless
        given.
    seed : int

    Returns
    -------
    Booster
    """
    n_rows, n_features = X.shape
    y = [int(v) for v in y] if loss == "multinomial" else [float(v) for v in y]
    if quantile is None:
        quantile = 0.9 if loss == "huber" else math.nan
    limits = Limits(max_depth, max_leaf_nodes, max(1, min_samples_leaf), min_hessian, l2_regularization,
                    n_features if max_features is None else max_features)  # fmt: skip
    weight, k = ([1] * n_rows, 0) if sample_weight is None else integer_weights(sample_weight)
    weight = [int(w) for w in weight]
    columns = columns_of(X, "hist", max_bins, weight)
    start = baselines(loss, y, weight, n_classes, quantile)
    n_outputs = len(start)
    sums = [[0.0] * n_outputs for _ in range(n_rows)]
    rounds, kinds = [], []
    for number in range(max_iter):
        raw = [[baseline + s for baseline, s in zip(start, of_row, strict=True)] for of_row in sums]
        parameter = quantile
        if loss == "huber":
            parameter = weighted_quantile([abs(v - f) for v, (f,) in zip(y, raw, strict=True)], weight, quantile)
        if loss == "multinomial":
            slopes = [class_derivatives(f, v) for f, v in zip(raw, y, strict=True)]
        else:
            slopes = [[[d] for d in derivatives(loss, f, v, parameter)] for (f,), v in zip(raw, y, strict=True)]
        trees = []
        for output in range(n_outputs):
            gradient = [g[output] for g, _ in slopes]
            hessian = None if loss in CONSTANT_HESSIAN else [h[output] for _, h in slopes]
            integers = integers_of(gradient, hessian, weight, k, sample_weight, words)
            tree, leaves = grow_tree(columns, integers, limits, tree_seed(seed, number * n_outputs + output))
            for leaf in leaves:
                if loss in BY_QUANTILE:
                    residuals = [(y[row] - raw[row][0]) + 0.0 for row in leaf.rows]
                    leaf.value = refit(loss, residuals, [weight[row] for row in leaf.rows], parameter, learning_rate)
                else:
                    leaf.value = newton_step(leaf.rows, integers, learning_rate, l2_regularization)
                for row in leaf.rows:
                    sums[row][output] += leaf.value
            trees.append(tree)
            kinds.append(integers.kind)
        rounds.append(trees)
    raw = [[baseline + s for baseline, s in zip(start, of_row, strict=True)] for of_row in sums]
    return Booster(start, rounds, np.array(raw), kinds)


def predict_raw(booster, X):
    """Raw predictions of some rows: ndarray of shape (n_rows, n_outputs)."""
    raw = []
    for x in X:
        sums = [0.0] * len(booster.baselines)
        for trees in booster.rounds:
            for output, tree in enumerate(trees):
                sums[output] += leaf_of(tree, x).value
        raw.append([baseline + s for baseline, s in zip(booster.baselines, sums, strict=True)])
    return np.array(raw).reshape(len(X), len(booster.baselines))


def leaf_of(node, x):
    """The leaf that a row reaches."""
    while node.feature >= 0:
        v = float(x[node.feature])
        node = node.left if (v <= node.threshold if v == v else node.missing_left) else node.right
    return node


# Gradients and hessians as integers --------------------------------------------------------------------


def integers_of(gradient, hessian, weight, k, sample_weight, kind):
    """Gradients and hessians of a tree's rows as integers.

    Parameters
    ----------
    gradient : list of float
    hessian : list of float, or None
        None: all are 1.
    weight : list of int
        ``sample_weight * 2**k``, rounded.
    k : int
    sample_weight : sequence of float, or None
    kind : str or None
        Of words; None: as the rule says.
    """
    is_constant = hessian is None
    is_real = max(weight) > LARGEST_WEIGHT or sum(weight) >= 2**32
    if is_real:
        hessian = [1.0] * len(weight) if is_constant else hessian
        gradient, hessian = ([x * float(w) for x, w in zip(values, sample_weight, strict=True)] for values in (gradient, hessian))
        weight, k = [1] * len(weight), 0
    fine_gradient, s_g = fine_integers(gradient, FINE_BITS)
    fine_hessian, s_h = ([1] * len(weight), 0) if hessian is None else fine_integers(hessian, FINE_BITS)
    if kind is None:
        is_heavy = not is_constant and (has_heavy_tail(fine_gradient, weight) or has_heavy_tail(fine_hessian, weight))
        kind = "wide" if is_real else "constant" if is_constant else "wide" if is_heavy else "narrow"
    shifts = (GRADIENT_SHIFT, HESSIAN_SHIFT) if kind == "narrow" else (0, 0)
    coarse_gradient, coarse_hessian = coarse(fine_gradient, shifts[0]), coarse(fine_hessian, shifts[1])
    many = [times(weight, q) for q in (fine_gradient, fine_hessian, coarse_gradient, coarse_hessian)]
    exponents = s_g + k, s_h + k
    return Integers(kind, *many, exponents, (exponents[0] - shifts[0], exponents[1] - shifts[1]))


def times(weight, integers):
    """Integers of rows, each times its weight."""
    return [w * q for w, q in zip(weight, integers, strict=True)]


def fine_exponent(largest, bits=FINE_BITS):
    """The exponent of fine integers, given the largest magnitude of what they stand for."""
    return min(scale_exponent(largest, bits), 1000) if largest > 0.0 else 0


def fine_integers(x, bits):
    """(integers, exponent) of some numbers."""
    s = fine_exponent(max(map(abs, x)), bits)
    return [round(v * math.ldexp(1.0, s)) for v in x], s


def has_heavy_tail(fine, weight):
    """Whether the largest magnitude is above 64 times the mean."""
    return max(map(abs, fine)) * sum(weight) > 64 * sum(times(weight, map(abs, fine)))


def coarse(fine, shift):
    """Integers without their last bits."""
    return [(q + 2**shift // 2) // 2**shift for q in fine]


# A tree --------------------------------------------------------------------------------------------------


class Cut(NamedTuple):
    """The best cut of a node."""

    feature: int
    code: int  # the highest on the left, without that of missing values
    missing_left: bool
    threshold: float
    gain: float  # in units of the loss


class Found(NamedTuple):
    """A node of the frontier, with its cut, or None."""

    node: Node
    cut: Cut
    path: int
    depth: int


def grow_tree(columns, integers, limits, seed):
    """(root, leaves) of a tree. The leaves have no values yet."""

    def look_at(rows, path, depth):
        cut = None
        if limits.max_depth is None or depth < limits.max_depth:
            features = sorted(feature_order(len(columns), seed, path)[: limits.max_features])
            cut = best_cut(rows, columns, features, integers, limits)
        return Found(Node(rows), cut, path, depth)

    root = look_at(list(range(len(integers.gradient))), ROOT_PATH, 0)
    # Leaves by their places as strings of 0 (left) and 1: these order like preorder.
    frontier = {"": root}
    while len(frontier) != limits.max_leaf_nodes:
        places = [place for place, found in frontier.items() if found.cut is not None]
        if not places:
            break
        place = min(places, key=lambda place: (-frontier[place].cut.gain, place))
        node, cut, path, depth = frontier.pop(place)
        node.feature, node.threshold, node.missing_left, node.gain = cut.feature, cut.threshold, cut.missing_left, cut.gain
        sides = [], []
        column = columns[cut.feature]
        for row in node.rows:
            code = column.codes[row]
            sides[not (cut.missing_left if code == column.missing else code <= cut.code)].append(row)
        found = [look_at(sides[side], child_path(path, side), depth + 1) for side in (0, 1)]
        node.left, node.right = found[0].node, found[1].node
        frontier |= {place + "0": found[0], place + "1": found[1]}
    return root.node, [frontier[place].node for place in sorted(frontier)]


def best_cut(rows, columns, features, integers, limits):
    """The best cut of a node that gains something, or None."""
    gradient_exponent, hessian_exponent = integers.coarse_exponents
    l2, min_hessian = (scaled(x, hessian_exponent) for x in (limits.l2, limits.min_hessian))
    total = sums_of(rows, integers)
    best, best_score = None, -1.0
    for feature in features:
        column = columns[feature]
        rows_of = {}
        for row in rows:
            rows_of.setdefault(int(column.codes[row]), []).append(row)
        sums = {code: sums_of(members, integers) for code, members in rows_of.items()}
        missing = sums.get(column.missing)
        below = 0, 0, 0
        for code in range(column.missing):
            below = add(below, sums.get(code, (0, 0, 0)))
            for missing_left in (False,) if missing is None else (False, True):
                left = add(below, missing) if missing_left else below
                right = tuple(a - b for a, b in zip(total, left, strict=True))
                if not all(n >= limits.min_samples_leaf and float(h) >= min_hessian and float(h) + l2 > 0.0
                           for _, h, n in (left, right)):  # fmt: skip
                    continue
                score = cut_score(l2, left, right)
                if score > best_score:
                    best_score = score
                    unseen_left = left[2] > right[2]
                    best = feature, code, unseen_left if missing is None else missing_left, float(column.values[code])
    if best is None:
        return None
    gain = best_score - common_score(l2, total)
    return Cut(*best, scaled(gain, hessian_exponent - 2 * gradient_exponent)) if gain > 0.0 else None


def add(a, b):
    """The sum of two triples."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def sums_of(rows, integers):
    """The sums of coarse gradients and hessians, and the number of rows."""
    return sum(integers.gradient[row] for row in rows), sum(integers.hessian[row] for row in rows), len(rows)


def cut_score(l2, left, right):
    """What cuts of a node are compared by."""
    a, b = float(left[1]) + l2, float(right[1]) + l2
    d = b * float(left[0]) - a * float(right[0])
    return divide(d * d, (a * b) * (a + b))


def common_score(l2, total):
    """What a cut's score is above its gain, for all cuts of a node."""
    g, h = float(total[0]), float(total[1])
    return 0.0 if l2 == 0.0 else divide(l2 * (g * g), (h + l2) * (h + (l2 + l2)))


def divide(a, b):
    """a / b as IEEE has it, for a and b from 0 on."""
    return a / b if b != 0.0 else math.inf if a > 0.0 else math.nan


def scaled(x, exponent):
    """x * 2**exponent, infinite where math.ldexp would raise."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(x, exponent))


def newton_step(rows, integers, learning_rate, l2):
    """A leaf's value from sums of fine integers."""
    s_g, s_h = integers.exponents
    g = scaled(float(sum(integers.fine_gradient[row] for row in rows)), -s_g)
    below = scaled(float(sum(integers.fine_hessian[row] for row in rows)), -s_h) + l2
    return -(learning_rate * g) / below if below > 0.0 else 0.0


def refit(loss, residuals, weight, parameter, learning_rate):
    """A leaf's value by the median or quantile of y - F; parameter: the quantile, or Huber's delta."""
    if loss != "huber":
        return learning_rate * weighted_quantile(residuals, weight, parameter if loss == "quantile" else 0.5)
    median = weighted_quantile(residuals, weight, 0.5)
    s = fine_exponent(parameter)
    terms = [round(max(min(r - median, parameter), -parameter) * math.ldexp(1.0, s)) for r in residuals]
    total = sum(w * q for w, q in zip(weight, terms, strict=True))
    return learning_rate * (median + scaled(float(total) / float(sum(weight)), -s))


def flatten(tree, dtype=np.float64):
    """The nodes of a tree in preorder.

    Returns
    -------
    dict of ndarray
        The arrays feature (-1 for a leaf), threshold (of X's dtype; 0 for leaves), right (the number of the right child; 0 for
        leaves), missing_left, n_rows, gain (0 for leaves) and value (of leaves; nan elsewhere). A left child's number is its
        parent's + 1.
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
    dtypes = {"feature": np.int32, "threshold": dtype, "missing_left": bool, "gain": np.float64, "value": np.float64}
    arrays = {name: np.array([getattr(node, name) for node in nodes], kind) for name, kind in dtypes.items()}
    return {**arrays, "right": np.array(right, np.uint32), "n_rows": np.array([len(node.rows) for node in nodes], np.int64)}
