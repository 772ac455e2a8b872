"""The naive twin: the whole training algorithm again, slow and plain, to compare the compiled core with.

The twin is this module and those that it imports: `coding` makes codes of values, and integers of weights and
targets; `scores` and `splits` find the best split; `sampling` draws rows; `streams` has random numbers. They
import nothing compiled but NumPy. Sums are Python integers,
which never overflow; the few float expressions follow `numerics.h` operation for operation, so that
scores and thresholds have the same bits. Where the core counts, sorts by radix, packs words and
skips work, the twin loops.

Words: a *row* is a row of X; a *draw* is one selection of a row by the sampling plan, and equal draws
are one `Record` record with a count.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from twins.labels import label_ranks
from twins.sampling import AllRows
from twins.splits import Split, best_split, feature_order, weighted_feature_order

from dforest.testing.coding import Scale, Weights, columns_of, quantise
from dforest.testing.scores import TARGET_POWER, Record, impurity, statistic
from dforest.testing.streams import ROOT_KEY, THRESHOLD, Stream, child_key, feature_key
from dforest.testing.survival import NodeTimes

SHARE_BITS = 26  # DF_FRACTION_BITS


@dataclass
class Node:
    """A node and all nodes below it. The feature of a leaf is -1; leaves alone have a value and an impurity, in regression."""

    draws: int
    weight: list  # by class, or of one entry; in units of 2**-shift
    feature: int = -1
    threshold: float = 0.0
    missing_left: bool = False
    subset: list = None  # of a split by categories
    left: object = None  # a Node
    right: object = None
    value: float = math.nan
    impurity: float = math.nan
    shift: int = 0


def grow_tree(X, y, *, criterion, method, n_classes=0, max_bins=256, sample_weight=None, sampling=None,
              seed=0, max_features=None, max_depth=None, min_samples_split=2, min_samples_leaf=1,
              min_weight_fraction_leaf=0.0, min_impurity_decrease=0.0, impurity_threshold=0.0, max_leaf_nodes=None,
              splitter="best", n_categories=None, ordinal=None, categorical_split="subset", monotonic_cst=None,
              skip_constant_features=True, n_times=None, feature_weights=None, always_tried=(), n_random_splits=1,
              regularization_factors=None, regularization_use_depth=False):
    """Grow a tree.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
        NaN means missing; a categorical column holds category numbers.
    y : sequence of length n_rows
        Class numbers from 0 to n_classes - 1, or targets; for survival times, codes of `dforest.testing.survival`.
    criterion : {"gini", "entropy", "log_loss", "hellinger", "squared_error", "friedman_mse", "poisson", "absolute_error", \
        "logrank", "logrank_score"}
    method : {"dense", "hist"}
    sample_weight : sequence of float, optional
        Positive weights; rows of weight 0 must have been dropped.
    sampling : AllRows or Bootstrap, optional
        A plan of `twins.sampling`, which says which rows the tree draws. None means each row once.
    seed : int
        The seed of the tree.
    max_features : int, optional
        None means all. The other limits are numbers as in scikit-learn.
    splitter : {"best", "random"}
    n_categories : list of int, optional
        Number of categories of each feature; 0 if it is not categorical.
    ordinal : list of bool, optional
        Whether each feature is ordinal.
    categorical_split : {"subset", "one_hot", "order"}
        "order" is that of rows which the tree does not draw, for columns of many labels: see `twins.labels`.
    monotonic_cst : list of {-1, 0, 1}, optional
        Whether predictions fall with each feature, are free, or rise with it.
    skip_constant_features : bool
        Whether features that are constant in a node don't count among `max_features`.
    n_times : int, optional
        How many event times there are, for survival times.
    feature_weights : list of int, optional
        The integer weights by which features are drawn.
    always_tried : list of int
        The features that every node tries.
    n_random_splits : int
        How many random tests of a feature are tried.
    regularization_factors : list of float, optional
        For each feature, what the score of a split is multiplied by if no split above it uses the feature.
    regularization_use_depth : bool
        Whether factors are taken to the power of the depth, where the root's is 1.

    Returns
    -------
    Node
    """
    n_rows, n_features = X.shape
    is_regression = criterion in TARGET_POWER or n_times is not None
    n_classes = 0 if is_regression else n_classes
    max_features = n_features if max_features is None else max_features
    min_samples_leaf = max(1, min_samples_leaf)
    weights = Weights(sample_weight, n_rows)
    weight = weights.integers
    columns = columns_of(X, method, max_bins, weight, n_categories, ordinal)
    weight = weights.as_counts() if n_times is not None else weight
    constraints = monotonic_cst if monotonic_cst is not None and any(monotonic_cst) else None
    y = [float(v) for v in y] if is_regression else [int(v) for v in y]
    target = [0] * n_rows if is_regression else y  # the root makes integers of y
    counts = (sampling or AllRows()).counts(n_rows, seed).tolist()
    root = [Record(*record) for record in zip(range(n_rows), counts, target, weight, strict=True) if record[1] > 0]
    drawn, root_shift = weights.of_node(root, 0)
    ranks = label_ranks(columns, counts, y, weight, n_classes, seed, n_times or 0) if categorical_split == "order" else None
    root_weight = math.ldexp(float(statistic(drawn, n_classes)[1]), -root_shift)

    def find_split(draws, node_key, depth, scale, shift, bounds, used):
        """A new node, its split or None, the split's score, and what its children inherit."""
        draws, shift = weights.of_node(draws, shift)
        targets = [draw.target for draw in draws]
        span = max(targets) - min(targets)
        is_pure = span == 0
        times = None
        if n_times is not None:
            times = NodeTimes(draws, [int(code) for code in y], n_times, weights.exact and list(map(float, weights.exact)))
            is_pure, scale = times.is_pure[criterion], scale._replace(centre=0.0, exponent=times.digits)
            draws = [draw._replace(target=q) for draw, q in zip(draws, times.targets, strict=True)]
        elif is_regression and (span == 0 or 256 * span < scale.range):
            exact = [y[draw.row] for draw in draws]
            is_pure = min(exact) == max(exact)
            if not is_pure:
                targets, scale = quantise(exact)
                draws = [draw._replace(target=q) for draw, q in zip(draws, targets, strict=True)]
        words = statistic(draws, n_classes)
        fine, fine_shift = weights.of_leaf(draws)
        by_class = [sum(w for w, draw in zip(fine, draws, strict=True) if draw.target == k) for k in range(n_classes)]
        kept, leaf_shift = weights.kept(by_class or [sum(fine)], fine_shift)
        if constraints is not None and not is_regression and n_classes == 2:
            kept, leaf_shift = within(kept, leaf_shift, bounds)
        node = Node(draws=words[0], weight=kept, shift=leaf_shift)
        split, decrease = None, Fraction(0)
        if not (is_pure or (max_depth is not None and depth >= max_depth)
                or words[0] < min_samples_split or words[0] < 2 * min_samples_leaf
                or math.ldexp(float(words[1]), -shift) < 2.0 * min_weight_fraction_leaf * root_weight
                or (impurity_threshold > 0.0 and impurity(draws, words, criterion, scale) < impurity_threshold)):
            order = feature_order(n_features, seed, node_key)
            if feature_weights is not None:
                order = weighted_feature_order(feature_weights, always_tried, seed, node_key)
            split = best_split(draws, columns, order, max_features,
                               criterion=criterion, n_classes=n_classes, scale=scale, min_draws=min_samples_leaf,
                               min_weight=math.ldexp(min_weight_fraction_leaf * root_weight, shift),
                               stream_of=stream_of(node_key) if splitter == "random" else None,
                               categorical_split=categorical_split, constraints=constraints, bounds=bounds,
                               skip_constant_features=skip_constant_features, times=times,
                               n_always=len(always_tried), n_random_splits=n_random_splits,
                               factors=factors_at(depth, used), label_ranks=ranks)
        if split is not None:
            exponent = (TARGET_POWER[criterion] * scale.exponent if is_regression and times is None else 0) + shift
            decrease = Fraction(split.score) / Fraction(2) ** exponent
            if min_impurity_decrease > 0.0 and np.ldexp(split.score / root_weight, -exponent) < min_impurity_decrease:
                split = None
        if times is not None:
            node.value, node.impurity = times.risk, 0.0
        elif is_regression:
            leaf_value = weights.in_median if criterion == "absolute_error" else weights.in_mean
            value = leaf_value([y[d.row] for d in draws], draws, fine)
            node.value = min(max(value, bounds[0]), bounds[1])
            node.impurity = impurity(draws, words, criterion, scale)
        return Found(node, split, decrease, draws, node_key, depth, scale, shift, bounds, used)

    def factors_at(depth, used):
        """What the scores of features are multiplied by at a node; `used` are those of the splits above."""
        if regularization_factors is None:
            return None
        n = depth + 1 if regularization_use_depth else 1
        return [1.0 if j in used else power(factor, n) for j, factor in enumerate(regularization_factors)]

    def stream_of(node_key):
        return lambda feature: Stream(seed, feature_key(node_key, feature), THRESHOLD)

    def children(found):
        """Turn a node into an inner one, and look at its children."""
        node, split = found.node, found.split
        node.feature, node.threshold, node.missing_left = split.feature, split.threshold, split.missing_left
        node.subset, node.value, node.impurity = split.subset, math.nan, math.nan
        sides = [], []
        for draw in found.draws:
            sides[not goes_left(node, X[draw.row])].append(draw)
        bounds = [found.bounds, found.bounds]
        if constraints is not None and constraints[split.feature] != 0:
            between = 0.5 * split.values[0] + 0.5 * split.values[1]
            if not is_regression:
                between = round(between * 2**SHARE_BITS) / 2**SHARE_BITS
            lower, upper = found.bounds
            bounds = [(lower, between), (between, upper)][:: constraints[split.feature]]
        used = found.used | {split.feature}
        found = [find_split(sides[side], child_key(found.node_key, side), found.depth + 1, found.scale, found.shift, bounds[side],
                            used) for side in (0, 1)]
        node.left, node.right = found[0].node, found[1].node
        return found

    root = find_split(root, ROOT_KEY, 0, Scale(), 0, (-math.inf, math.inf), frozenset())
    # The nodes that may be split, with their places as strings of 0 (left) and 1: these order like preorder.
    frontier, n_leaves = {"": root}, 1
    while n_leaves != max_leaf_nodes:
        open_places = [place for place, found in frontier.items() if found.split is not None]
        if not open_places:
            break
        place = min(open_places, key=lambda place: (-frontier[place].decrease, place))
        left, right = children(frontier.pop(place))
        frontier |= {place + "0": left, place + "1": right}
        n_leaves += 1
    return root.node


def within(kept, shift, bounds):
    """The weights of two classes in a leaf, and their shift: with more bits, and the share of the second one within bounds."""
    total = sum(kept)
    share = float(kept[1]) / float(total)
    bounded = min(max(share, bounds[0]), bounds[1])
    if bounded == share:
        by = max(0, min(SHARE_BITS, 61 - total.bit_length() + 1))
        return [weight << by for weight in kept], shift + by
    excess = max(0, total.bit_length() - (53 - SHARE_BITS))
    total = total + (1 << excess >> 1) >> excess
    second = int(bounded * 2**SHARE_BITS) * total
    return [(total << SHARE_BITS) - second, second], shift + SHARE_BITS - excess


class Found(NamedTuple):
    """A node of the frontier: its split, that split's score in units of weight and y, and what its children inherit."""

    node: Node
    split: Split
    decrease: Fraction
    draws: list
    node_key: int
    depth: int
    scale: Scale
    shift: int  # of its draws' weights
    bounds: tuple  # the lowest and the highest prediction that constraints allow
    used: frozenset  # the features of the splits above it


def power(x, n):
    """The n-th power of x, by squaring."""
    product = 1.0
    while n > 0:
        product *= x if n % 2 else 1.0
        x, n = x * x, n // 2
    return product


def goes_left(node, x):
    """Whether a row x goes to the left child of an inner node."""
    v = float(x[node.feature])
    if v != v:
        return node.missing_left
    return v <= node.threshold if node.subset is None else (int(v) in node.subset) != node.missing_left


def flatten(tree, dtype=np.float64):
    """The nodes of a tree in preorder.

    Returns
    -------
    dict of ndarray
        The arrays feature (-1 for a leaf), threshold (of X's dtype; 0 for leaves, nan with a subset), right
        (the number of the right child; 0 for leaves), missing_left, draws, weight (class weights, or one
        column, times 2 to the power of shift), shift, value and impurity (of the leaves of regression; nan
        elsewhere), and subsets, a list with the ascending category numbers of each node's subset, or None. A
        left child's number is its parent's + 1.
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
    dtypes = {"feature": np.int32, "threshold": dtype, "missing_left": bool, "draws": np.int64, "weight": np.int64,
              "shift": np.int32, "value": np.float64, "impurity": np.float64}
    arrays = {name: np.array([getattr(node, name) for node in nodes], kind) for name, kind in dtypes.items()}
    return {**arrays, "right": np.array(right, np.uint32), "subsets": [node.subset for node in nodes]}
