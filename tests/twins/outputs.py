"""The naive twin for several outputs: a tree that predicts all columns of y, grown slowly and plainly.

It covers what several outputs change, on columns of numbers: targets of each output as integers at a scale of the node's own,
scores as the mean over the outputs that are not pure, and leaves with a value, or class weights, of each output. Everything else
is that of `twins.naive`, whose words it uses. Sums are Python integers; the float expressions follow the core's
operation by operation.
"""

import math

import numpy as np
from twins.naive import Node, goes_left
from twins.sampling import AllRows
from twins.splits import Split, all_tests, feature_order

from dforest.testing.coding import Scale, Weights, columns_of, quantise
from dforest.testing.scores import (
    OF_CLASSES,
    TARGET_POWER,
    Record,
    evenness,
    impurity,
    in_units_of_y,
    is_zero,
    score_of,
    statistic,
)
from dforest.testing.streams import ROOT_KEY, child_key

SQUARES = ("squared_error", "friedman_mse")


def sum_of_lanes(terms):
    """The sum of floats as the core forms it: of every eighth term; then the later half of the sums is added to the first."""
    lanes = [0.0] * 8
    for i, term in enumerate(terms):
        lanes[i % 8] += term
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [a + b for a, b in zip(lanes[:half], lanes[half:], strict=True)]
    return lanes[0]


class Output:
    """One output in a node: its records, whose targets are integers of the node's own scale."""

    def __init__(self, draws, y, criterion, n_classes):
        self.exact = [y[draw.row] for draw in draws]
        self.n_classes, self.is_pure, self.scale = n_classes, min(self.exact) == max(self.exact), Scale()
        targets = self.exact
        if not n_classes:
            targets, self.scale = quantise(self.exact, 30 if criterion in SQUARES else 31)
            if self.is_pure:
                self.scale = Scale()
        self.records = {d.row: d._replace(target=q) for d, q in zip(draws, targets, strict=True)}
        self.total = self.words(draws)
        self.exponent = -TARGET_POWER.get(criterion, 0) * self.scale.exponent

    def of(self, draws):
        return [self.records[draw.row] for draw in draws]

    def words(self, draws):
        return statistic(self.of(draws), self.n_classes)


def score_of_outputs(criterion, outputs, sides, unit):
    """Score of a cut in units of 2**unit, the mean over outputs, given two lists of draws; None if one does not allow it."""
    w, w_left = outputs[0].total[1], sum(draw.count * draw.weight for draw in sides[0])
    if criterion in SQUARES or criterion == "gini":  # one division for all outputs
        crosses = []
        for output in outputs:
            left = output.words(sides[0])
            if criterion == "gini":
                parts = [float(w * a - w_left * b) for a, b in zip(left[2:], output.total[2:], strict=True)]
                crosses += [d * d for d in parts]
            else:
                mean = output.total[2] // w
                rest = float(output.total[2] - w * mean)
                d = float(w) * float(left[2] - w_left * mean) - float(w_left) * rest
                crosses.append(0.0 if output.is_pure else d * d * math.ldexp(1.0, output.exponent - unit))
        return sum_of_lanes(crosses) / ((float(w_left) * float(w - w_left)) * float(w)) / float(len(outputs))
    total = 0.0
    for output in outputs:
        if output.is_pure:
            continue
        left, right = (output.words(side) for side in sides)
        factor = math.ldexp(1.0, output.exponent - unit)
        if criterion == "poisson" and (is_zero(left, output.scale) or is_zero(right, output.scale)):
            return None
        total += score_of(criterion, left, output.total, *map(output.of, sides), output.scale) * factor
    return total / float(len(outputs))


def best_split_of_outputs(draws, columns, order, max_features, score_of_sides, min_draws, min_weight):
    """The best split of a node by trying every cut; None if there is none. Parameters as of `best_split`.

    score_of_sides : given the draws of the left and of the right side, the score of a cut; None: it is not allowed
    """
    best, n_counted = None, 0
    whole = statistic([draw._replace(target=0) for draw in draws], 1)
    for feature in order:
        if n_counted >= max_features and best is not None:
            break
        column = columns[feature]
        there = {int(column.codes[draw.row]) for draw in draws}
        n_counted += len(there) > 1
        found, rank = None, ()
        for codes, threshold in all_tests(draws, column, 0, "subset"):
            for missing_left in (False, True) if column.missing in there else (False,):
                left_codes = set(codes) | ({column.missing} if missing_left else set())
                sides = [], []
                for draw in draws:
                    sides[int(column.codes[draw.row]) not in left_codes].append(draw)
                words = [statistic([draw._replace(target=0) for draw in side], 1) for side in sides]
                if min(words[0][0], words[1][0]) < min_draws or min(float(words[0][1]), float(words[1][1])) < min_weight:
                    continue
                score = score_of_sides(sides)
                if score is None:
                    continue
                if found is None or (score, evenness(score, words[0], whole)) > rank:
                    rank = score, evenness(score, words[0], whole)
                    if column.missing not in there:
                        missing_left = 2 * words[0][0] > whole[0]
                    found = Split(feature, missing_left, threshold, None, score, None)
        if found is not None and (best is None or found.score > best.score):
            best = found
    return best


def grow_outputs(X, y, *, criterion, method, n_classes=None, max_bins=256, sample_weight=None, sampling=None, seed=0,
                 max_features=None, max_depth=None, min_samples_split=2, min_samples_leaf=1, min_weight_fraction_leaf=0.0,
                 min_impurity_decrease=0.0, impurity_threshold=0.0):
    """Grow a tree of several outputs.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
        Numbers; NaN means missing.
    y : ndarray of shape (n_rows, n_outputs)
        Class numbers, or targets.
    n_classes : list of int, optional
        Of each output. None means regression.
    criterion, method, max_bins, sample_weight, sampling, seed, max_features, max_depth, ...
        As of `twins.naive.grow_tree`.

    Returns
    -------
    Node
        Whose weights are those of all classes, output by output, and whose value is a list, a number for each output.
    """
    n_rows, n_features = X.shape
    has_classes = criterion in OF_CLASSES
    n_outputs = y.shape[1]
    n_classes = list(n_classes) if has_classes else [0] * n_outputs
    y = [[(int if has_classes else float)(v) for v in column] for column in np.asarray(y).T]
    weights = Weights(sample_weight, n_rows)
    weight = weights.integers
    columns = columns_of(X, method, max_bins, weight, None, None)
    counts = (sampling or AllRows()).counts(n_rows, seed).tolist()
    root = [Record(row, count, 0, w) for row, count, w in zip(range(n_rows), counts, weight, strict=True) if count > 0]
    drawn, root_shift = weights.of_node(root, 0)
    root_weight = math.ldexp(float(sum(draw.count * draw.weight for draw in drawn)), -root_shift)

    def grow(draws, node_key, depth, shift):
        draws, shift = weights.of_node(draws, shift)
        outputs = [Output(draws, column, criterion, n) for column, n in zip(y, n_classes, strict=True)]
        n_draws, w = outputs[0].total[:2]
        fine, fine_shift = weights.of_leaf(draws)
        by_output = [
            [sum(w for w, draw in zip(fine, draws, strict=True) if column[draw.row] == k) for k in range(n)]
            for column, n in zip(y, n_classes, strict=True)
        ]
        kept = [weights.kept(by_class, fine_shift) for by_class in (by_output if has_classes else [[sum(fine)]])]
        node = Node(n_draws, [weight for of_output, _ in kept for weight in of_output], shift=kept[0][1])
        open_ones = [output.exponent for output in outputs if not output.is_pure]
        unit = max(open_ones, default=0)
        mixed = sum(0.0 if o.is_pure else impurity(o.of(draws), o.total, criterion, o.scale) for o in outputs) / float(n_outputs)
        split = None
        if not (not open_ones or (max_depth is not None and depth >= max_depth)
                or n_draws < min_samples_split or n_draws < 2 * min_samples_leaf
                or math.ldexp(float(w), -shift) < 2.0 * min_weight_fraction_leaf * root_weight
                or (impurity_threshold > 0.0 and mixed < impurity_threshold)):
            split = best_split_of_outputs(
                draws, columns, feature_order(n_features, seed, node_key), max_features or n_features,
                lambda sides: score_of_outputs(criterion, outputs, sides, unit),
                max(1, min_samples_leaf), math.ldexp(min_weight_fraction_leaf * root_weight, shift),
            )  # fmt: skip
        if (split is not None and min_impurity_decrease > 0.0
                and math.ldexp(in_units_of_y(split.score, "poisson", -unit), -shift) / root_weight < min_impurity_decrease):
            split = None
        if split is None:
            leaf_value = weights.in_median if criterion == "absolute_error" else weights.in_mean
            node.value = None if has_classes else [leaf_value(output.exact, draws, fine) for output in outputs]
            node.impurity = mixed
            return node
        node.feature, node.threshold, node.missing_left = split.feature, split.threshold, split.missing_left
        sides = [], []
        for draw in draws:
            sides[not goes_left(node, X[draw.row])].append(draw)
        node.left, node.right = (grow(sides[side], child_key(node_key, side), depth + 1, shift) for side in (0, 1))
        return node

    return grow(root, ROOT_KEY, 0, 0)


def nodes_of(tree):
    """A node, and all below it, in preorder: list of Node."""
    return [tree] if tree.feature < 0 else [tree, *nodes_of(tree.left), *nodes_of(tree.right)]
