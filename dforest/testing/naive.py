"""The naive twin: the whole training algorithm again, slow and plain, to compare the compiled core with.

It and `streams`, its random numbers, import nothing compiled but NumPy. Sums are Python integers,
which never overflow; the few float expressions follow `numerics.h` operation for operation, so that
scores and thresholds have the same bits. Where the core counts, sorts by radix, packs words and
skips work, this file loops.

Words: a *row* is a row of X; a *draw* is one selection of a row by the bootstrap, and equal draws
are one `Draw` record with a count. A *code* is an integer that stands for a value (`dense`: its rank
among the distinct values; `hist`: its bin); the code after the last means missing. A *statistic* is
a list of integers, the sum over draws of what a criterion needs:

    [number of draws, sum of weights, weight of class 0, of class 1, ...]     classification
    [number of draws, sum of weights, sum of weight times quantised target]   regression

A *cut* is a statistic of the left side, the highest code on the left, and the side of the missing.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from dforest.testing.streams import FEATURES, ROOT_PATH, THRESHOLD, Stream, bootstrap_counts, child_path, feature_path

# From values to codes (binning.pyx) ------------------------------------------------------------------


def middle(lo, hi, is_float32):
    """The middle of lo < hi, in float64 or rounded to float32; lo where rounding would reach hi."""
    m = 0.5 * lo + 0.5 * hi  # NaN from -inf and inf
    if is_float32:
        m = float(np.float32(m))
    return m if lo <= m < hi else lo


def distinct(x):
    """The distinct values of a column but for missing ones, ascending, as Python floats; no -0."""
    return sorted({float(v) + 0.0 for v in x if v == v})


def bin_edges(x, max_codes, weight=None):
    """Upper edges of the bins of a column.

    With W the weight and B the bins still to be filled, a bin ends at the value that brings its
    weight closest to W / B, at the higher of two that do; but it leaves a value for every other bin.

    Parameters
    ----------
    x : ndarray of shape (n,), dtype float32 or float64
    max_codes : int
        Most codes, the one for missing values included.
    weight : sequence of int, optional

    Returns
    -------
    list of float
        Ascending, the last infinite; empty if all values are missing.
    """
    values = distinct(x)
    weight_of = dict.fromkeys(values, 0)
    for v, w in zip(x, [1] * len(x) if weight is None else weight, strict=True):
        if v == v:
            weight_of[float(v) + 0.0] += int(w)
    bins = max_codes - any(v != v for v in x)
    ends = []  # how many values lie in the bins so far
    if len(values) <= bins:
        ends = list(range(1, len(values) + 1))
    else:
        rest = sum(weight_of.values())
        begin = 0
        for left in range(bins, 1, -1):
            upto = list(accumulate(weight_of[v] for v in values[begin : len(values) - left + 1]))
            distance = [abs(left * w - rest) for w in upto]  # from rest / left, times left
            closest = min(distance)
            size = max(n for n, d in enumerate(distance, 1) if d == closest)
            begin += size
            rest -= upto[size - 1]
            ends.append(begin)
        ends.append(len(values))
    is_float32 = x.dtype == np.float32
    return [middle(values[end - 1], values[end], is_float32) for end in ends[:-1]] + [math.inf] * bool(ends)


def code_column(x, max_codes=0, weight=None):
    """Code a column.

    Parameters are those of `bin_edges`, but max_codes 0 gives each distinct value a code.

    Returns
    -------
    codes : ndarray of shape (n,), dtype int64
        ``len(values)`` where the value is missing.
    values : ndarray, dtype of x
        The distinct values, or the upper edges of the bins.
    lows, highs : ndarray, dtype of x
        The smallest and largest value of each code.
    has_missing : bool
    """
    values = bin_edges(x, max_codes, weight) if max_codes else distinct(x)
    # A value's code is the first whose upper edge, or whose value, is not below it.
    codes = [bisect_left(values, v) if v == v else len(values) for v in x.tolist()]
    members = [[v + 0.0 for v, c in zip(x.tolist(), codes, strict=True) if c == code] for code in range(len(values))]
    lows, highs = (np.array([end(m) for m in members], x.dtype) for end in (min, max))
    return np.array(codes, np.int64), np.array(values, x.dtype), lows, highs, len(values) in codes


# From targets and weights to integers ----------------------------------------------------------------


def scale_exponent(largest, bits):
    """The largest e with rint(largest * 2**e) < 2**bits."""
    e = bits - math.frexp(largest)[1]
    return e if round(math.ldexp(largest, e)) < 2**bits else e - 1


def offsets(y, bits):
    """Targets as integers around their middle: (integers, centre, exponent); not for equal ones."""
    lo, hi = min(y), max(y)
    centre = 0.5 * lo + 0.5 * hi
    exponent = scale_exponent(max(hi - centre, centre - lo), bits)
    return [round(math.ldexp(v - centre, exponent)) for v in y], centre, exponent


def quantise(y):
    """Turn targets into integers of at most 31 magnitude bits.

    Returns
    -------
    (list of int, int, int)
        rint((y - centre) * 2**exponent), the exponent, and the largest minus the smallest of them.
    """
    if min(y) == max(y):
        return [0] * len(y), 0, 0
    target, _, exponent = offsets([float(v) for v in y], 31)
    return target, exponent, max(target) - min(target)


def mean_target(y, weight):
    """The weighted mean of targets, from an exact sum of 62-bit integers: the value of a leaf."""
    lo, hi = min(y), max(y)
    if lo == hi:
        return lo
    offset, centre, exponent = offsets(y, 62)
    total = sum(w * q for w, q in zip(weight, offset, strict=True))
    mean = centre + math.ldexp(float(total) / float(sum(weight)), -exponent)
    return min(max(mean, lo), hi)


def integer_weights(sample_weight):
    """Weights as integers w_q = w * 2**k.

    Returns
    -------
    weight : ndarray of shape (n,), dtype uint32
    k : int
        The smallest that makes all weights (positive, finite) integers. If the largest then reaches
        2**31: the one that puts it in [2**30, 2**31), and weights are rounded, to 1 at least.
    """
    exact = [Fraction(float(w)) for w in sample_weight]

    def exponent_of(w):  # the smallest k that makes w * 2**k an integer; a denominator is a power of two
        halvings = (w.numerator & -w.numerator).bit_length() - 1
        return w.denominator.bit_length() - 1 - halvings

    k = max(map(exponent_of, exact))
    if max(exact) * Fraction(2) ** k >= 2**31:
        k = 31 - math.frexp(max(exact))[1]
    return np.array([max(1, round(w * Fraction(2) ** k)) for w in exact], np.uint32), k


# Scores (numerics.h, criterion.pyx) ------------------------------------------------------------------
# The score of a cut is the node's weight times the impurity decrease, from the statistics of the left
# side and of the node. float(i) of an integer i is the nearest float64.


def gini_score(left, total):
    """Score of a cut for Gini impurity."""
    w, w_left = total[1], left[1]
    s = 0.0
    for c, c_left in zip(total[2:], left[2:], strict=True):
        d = float(w * c_left - w_left * c)
        s += d * d
    return s / ((float(w_left) * float(w - w_left)) * float(w))


def entropy_score(left, total):
    """Score of a cut for entropy in bits."""
    w, w_left = total[1], left[1]
    s = 0.0
    for c, c_left in zip(total[2:], left[2:], strict=True):
        if c > 0:
            cross = float(w * c_left - w_left * c)
            at_left = float(w_left) * float(c)
            at_right = float(w - w_left) * float(c)
            s += (at_left * entropy_term(cross / at_left) + at_right * entropy_term(-cross / at_right)) / float(w)
    return s * 1.4426950408889634


def squared_error_score(left, total):
    """Score of a cut for squared error, in units of quantised targets."""
    w, w_left = total[1], left[1]
    mean = total[2] // w  # rounded down
    d = float(w) * float(left[2] - w_left * mean) - float(w_left) * float(total[2] - w * mean)
    return d * d / ((float(w_left) * float(w - w_left)) * float(w))


def entropy_term(x):
    """(1 + x) ln(1 + x) - x, by series near 0."""
    u = 1.0 + x
    if u <= 0.0:
        return 1.0
    if 0.71 < u < 1.41:
        s = x / (2.0 + x)
        return x * s + u * (2.0 * s * atanh_tail(s))
    return u * log(u) - x


def log_of_fraction(x):
    """(ln m, exponent) of x = m * 2**exponent with m around 1; math.log differs between machines."""
    m, exponent = math.frexp(x)
    m, exponent = 2.0 * m, exponent - 1  # m in [1, 2)
    if m > 1.4142135623730951:
        m, exponent = m * 0.5, exponent + 1
    s = (m - 1.0) / (m + 1.0)
    return 2.0 * s + 2.0 * s * atanh_tail(s), exponent


def log(x):
    """Natural logarithm."""
    fraction, exponent = log_of_fraction(x)
    return exponent * 0.6931471805599453 + fraction


def log2(x):
    """Binary logarithm, exact for powers of two."""
    fraction, exponent = log_of_fraction(x)
    return exponent + fraction * 1.4426950408889634


def atanh_tail(s):
    """Sum over i from 1 to 12 of s**(2i) / (2i + 1)."""
    z = s * s
    r = 1.0 / 25
    for odd in range(23, 2, -2):
        r = r * z + 1.0 / odd
    return r * z


SCORES = {"gini": gini_score, "entropy": entropy_score, "log_loss": entropy_score, "squared_error": squared_error_score}

# Splits ----------------------------------------------------------------------------------------------


class Draw(NamedTuple):
    """Equal draws of a tree. target: a class number or a quantised target; weight: of one draw."""

    row: int
    count: int
    target: int
    weight: int


class Column(NamedTuple):
    """Codes and values as `code_column` gives them; is_dense: values are not the edges of bins."""

    codes: np.ndarray
    values: np.ndarray
    lows: np.ndarray  # smallest value of each code
    highs: np.ndarray  # largest
    is_dense: bool


class Split(NamedTuple):
    """A row goes left if x <= threshold; a draw, if its code is at most `code`; missing ones as told."""

    feature: int
    code: int
    missing_left: bool
    threshold: float
    score: float


def statistic(draws, n_classes):
    """The statistic of some draws; n_classes is 0 for regression."""
    words = [0] * (2 + (n_classes or 1))
    for draw in draws:
        w = draw.count * draw.weight
        words[0] += draw.count
        words[1] += w
        if n_classes:
            words[2 + draw.target] += w
        else:
            words[2] += w * draw.target
    return words


def random_threshold(lo, hi, u, is_float32):
    """A threshold in [lo, hi), lo < hi, for u in [0, 1)."""
    largest = float(np.finfo(np.float32 if is_float32 else np.float64).max)
    t = max(lo, -largest) * (1.0 - u) + min(hi, largest) * u
    if is_float32:
        with np.errstate(over="ignore"):
            t = float(np.float32(t))
    return t if lo <= t < hi else lo


def random_cuts(draws, column, n_classes, stream):
    """One random cut of a column, in one or two directions of the missing, as `cuts` gives them.

    A column of one value in the node, and missing ones, has the cut between the two.
    """
    missing_code = len(column.values)
    codes = sorted({int(column.codes[draw.row]) for draw in draws} - {missing_code})
    if not codes:
        return
    threshold, cut = None, codes[0]
    if len(codes) > 1 and column.is_dense:
        lo, hi = float(column.values[codes[0]]), float(column.values[codes[-1]])
        threshold = random_threshold(lo, hi, stream.uniform(), column.values.dtype == np.float32)
        cut = max(code for code in codes if column.values[code] <= threshold)
    elif len(codes) > 1:
        lo, hi = float(column.lows[codes[0]]), float(column.highs[codes[-1]])
        threshold = random_threshold(lo, hi, stream.uniform(), column.values.dtype == np.float32)
        edges = [float(edge) for edge in column.values[codes[0] : codes[-1]]]
        place = min(bisect_left(edges, threshold), len(edges) - 1)
        if place > 0 and threshold - edges[place - 1] < edges[place] - threshold:
            place -= 1
        cut = codes[0] + place
    missing = [draw for draw in draws if column.codes[draw.row] == missing_code]
    left = [draw for draw in draws if column.codes[draw.row] <= cut and column.codes[draw.row] != missing_code]
    yield statistic(left, n_classes), cut, False, threshold
    if missing:
        yield statistic(left + missing, n_classes), cut, True, threshold


def cuts(draws, column, n_classes):
    """Every cut of a column between codes that occur: (statistic of the left side, code, missing_left, None).

    They come in the order of preference among equal scores. The last divides missing from the rest.
    """
    by_code = {}
    for draw in draws:
        by_code.setdefault(int(column.codes[draw.row]), []).append(draw)
    missing = statistic(by_code.pop(len(column.values), []), n_classes)
    left = statistic([], n_classes)
    for code in sorted(by_code):
        left = [a + b for a, b in zip(left, statistic(by_code[code], n_classes), strict=True)]
        yield left, code, False, None
        if missing[0] > 0:
            yield [a + b for a, b in zip(left, missing, strict=True)], code, True, None


def feature_order(n_features, seed, tree, path):
    """All features in the order in which they are tried at the node of this path."""
    stream = Stream(seed, tree, path, FEATURES)
    order = list(range(n_features))
    for i in range(n_features):
        j = i + stream.below(n_features - i)
        order[i], order[j] = order[j], order[i]
    return order


def best_split(draws, columns, order, max_features, *, criterion, n_classes=0, min_draws=1, min_weight=0.0,
               stream_of=None):
    """The best split of a node, by trying every cut, or one random cut of each feature.

    Parameters
    ----------
    draws, columns : list of Draw, list of Column
    order : list of int
        The features in the order in which they are tried.
    max_features : int
        So many are tried, and more while none of them had a valid cut.
    min_draws, min_weight : int, float
        What each side of a valid cut has at least.
    stream_of : callable, optional
        The random stream of a feature: cuts are random.

    Returns
    -------
    Split or None
    """
    total = statistic(draws, n_classes)
    best = None
    for n_tried, feature in enumerate(order):
        if n_tried >= max_features and best is not None:
            break
        column = columns[feature]
        tried = random_cuts(draws, column, n_classes, stream_of(feature)) if stream_of else cuts(draws, column, n_classes)
        for left, code, missing_left, threshold in tried:
            n_right, w_right = total[0] - left[0], total[1] - left[1]
            if min(left[0], n_right) < min_draws or min(float(left[1]), float(w_right)) < min_weight:
                continue
            score = SCORES[criterion](left, total)
            if best is None or score > best[0]:  # not >=: the first of equal scores stays
                best = score, feature, code, missing_left, left, threshold
    if best is None:
        return None
    score, feature, code, missing_left, left, threshold = best
    column = columns[feature]
    missing_code = len(column.values)
    codes = {int(column.codes[draw.row]) for draw in draws}
    if missing_code not in codes:  # unseen here, missing values go with the larger side
        missing_left = 2 * left[0] > total[0]
    above = [c for c in codes if code < c < missing_code]
    if not above:
        threshold = math.inf  # missing against the rest
    elif column.is_dense and threshold is not None:
        pass
    elif column.is_dense:
        is_float32 = column.values.dtype == np.float32
        threshold = middle(float(column.values[code]), float(column.values[min(above)]), is_float32)
    elif threshold is not None:
        threshold = float(column.values[code])
    else:  # bins between the two sides that the node has not: half of them to the left
        threshold = float(column.values[(code + min(above) - 1) // 2])
    return Split(feature, code, missing_left, threshold, score)


# Trees -----------------------------------------------------------------------------------------------


@dataclass
class Node:
    """A node and all below it; feature is -1 for a leaf, which alone has a value (in regression)."""

    draws: int
    weight: list  # by class, or of one entry
    feature: int = -1
    threshold: float = 0.0
    missing_left: bool = False
    left: object = None  # a Node
    right: object = None
    value: float = math.nan


def grow_tree(X, y, *, criterion, method, n_classes=0, max_bins=256, sample_weight=None, bootstrap=False, n_draws=None,
              seed=0, tree=0, max_features=None, max_depth=None, min_samples_split=2, min_samples_leaf=1,
              min_weight_fraction_leaf=0.0, min_impurity_decrease=0.0, impurity_threshold=0.0, max_leaf_nodes=None,
              splitter="best"):
    """Grow one tree of a forest.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
        NaN means missing.
    y : sequence of length n_rows
        Class numbers from 0 to n_classes - 1, or targets.
    criterion : {"gini", "entropy", "log_loss", "squared_error"}
    method : {"dense", "hist"}
    sample_weight : sequence of float, optional
        Positive: rows of weight 0 are dropped before.
    bootstrap, n_draws : bool, int
        Whether to draw rows, and how many (None: n_rows); else every row is drawn once.
    seed, tree : int
        The forest's seed, and the tree's number.
    max_features : int, optional
        None: all. The other limits are numbers as in scikit-learn.
    splitter : {"best", "random"}

    Returns
    -------
    Node
    """
    n_rows, n_features = X.shape
    is_regression = criterion == "squared_error"
    n_classes = 0 if is_regression else n_classes
    max_features = n_features if max_features is None else max_features
    min_samples_leaf = max(1, min_samples_leaf)
    weight = [1] * n_rows if sample_weight is None else integer_weights(sample_weight)[0].tolist()
    max_codes = max_bins if method == "hist" else 0
    columns = [Column(*code_column(x, max_codes, weight)[:4], method == "dense") for x in X.T]
    y = [float(v) for v in y] if is_regression else [int(v) for v in y]
    target, root_exponent, root_range = quantise(y) if is_regression else (y, 0, 0)
    counts = [1] * n_rows
    if bootstrap:
        counts = bootstrap_counts(n_rows, n_rows if n_draws is None else n_draws, seed, tree).tolist()
    root = [Draw(*record) for record in zip(range(n_rows), counts, target, weight, strict=True) if record[1] > 0]
    root_weight = float(statistic(root, n_classes)[1])

    def find_split(draws, path, depth, exponent, scale_range):
        """A node, its split or None, the score, and what its children inherit.

        Targets are quantised at 2**exponent, made for targets of this range.
        """
        targets = [draw.target for draw in draws]
        span = max(targets) - min(targets)
        is_pure = span == 0
        if is_regression and (span == 0 or 256 * span < scale_range):
            exact = [y[draw.row] for draw in draws]
            is_pure = min(exact) == max(exact)
            if not is_pure:
                targets, exponent, scale_range = quantise(exact)
                draws = [draw._replace(target=q) for draw, q in zip(draws, targets, strict=True)]
        words = statistic(draws, n_classes)
        node = Node(draws=words[0], weight=words[2:] if n_classes else words[1:2])
        split, decrease = None, 0.0
        if not (is_pure or (max_depth is not None and depth >= max_depth)
                or words[0] < min_samples_split or words[0] < 2 * min_samples_leaf
                or float(words[1]) < 2.0 * min_weight_fraction_leaf * root_weight
                or (impurity_threshold > 0.0 and impurity(draws, words, criterion, exponent) < impurity_threshold)):
            split = best_split(draws, columns, feature_order(n_features, seed, tree, path), max_features,
                               criterion=criterion, n_classes=n_classes, min_draws=min_samples_leaf,
                               min_weight=min_weight_fraction_leaf * root_weight,
                               stream_of=stream_of(path) if splitter == "random" else None)
        if split is not None:
            decrease = in_units_of_y(split.score, exponent) if is_regression else split.score
            if min_impurity_decrease > 0.0 and decrease / root_weight < min_impurity_decrease:
                split = None
        if is_regression:
            node.value = mean_target([y[d.row] for d in draws], [d.count * d.weight for d in draws])
        return Found(node, split, decrease, draws, path, depth, exponent, scale_range)

    def stream_of(path):
        return lambda feature: Stream(seed, tree, feature_path(path, feature), THRESHOLD)

    def children(found):
        """Turn a node into an inner one, and look at its children."""
        node, split = found.node, found.split
        node.feature, node.threshold, node.missing_left = split.feature, split.threshold, split.missing_left
        node.value = math.nan
        sides = [], []
        for draw in found.draws:
            x = float(X[draw.row, split.feature])
            goes_left = x <= split.threshold if x == x else split.missing_left
            sides[not goes_left].append(draw)
        found = [find_split(sides[side], child_path(found.path, side), found.depth + 1, found.exponent, found.scale_range)
                 for side in (0, 1)]
        node.left, node.right = found[0].node, found[1].node
        return found

    root = find_split(root, ROOT_PATH, 0, root_exponent, root_range)
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


class Found(NamedTuple):
    """A node of the frontier: its split, that split's score in units of y, and what its children inherit."""

    node: Node
    split: Split
    decrease: float
    draws: list
    path: int
    depth: int
    exponent: int
    scale_range: int


def in_units_of_y(x, exponent):
    """A score or variance of targets quantised at 2**exponent; may be infinite, where math.ldexp would raise."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(x, -2 * exponent))


def impurity(draws, words, criterion, exponent):
    """Impurity of a node, in units of the targets."""
    w = float(words[1])
    if criterion == "squared_error":
        mean = words[2] // words[1]
        remainder = float(words[2] - words[1] * mean) / w
        squares = sum(d.count * d.weight * (d.target - mean) ** 2 for d in draws)
        return in_units_of_y(float(squares) / w - remainder * remainder, exponent)
    total = 0.0
    for c in words[2:]:
        p = float(c) / w
        if criterion == "gini":
            total += p * (1.0 - p)
        elif c > 0:
            total -= p * log2(p)
    return total


def flatten(tree, dtype=np.float64):
    """The nodes of a tree in preorder.

    Returns
    -------
    dict of ndarray
        feature (-1: a leaf), threshold (in X's dtype; 0 in leaves), right (the number of the right
        child; 0 in leaves), missing_left, draws, weight (2-D: class weights, or one column), value
        (nan but in the leaves of regression). A left child is its parent's number + 1.
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
              "value": np.float64}
    arrays = {name: np.array([getattr(node, name) for node in nodes], kind) for name, kind in dtypes.items()}
    return {**arrays, "right": np.array(right, np.uint32)}
