"""The naive twin's splits: the cuts of a column, and the best of all (`cuts.pyx`, `splitter.pyx`) again, slow and plain.

Words: a *code* stands for a value of a column (see `coding`), or for missing values. A *side* of a cut is a set
of codes. A *test* is the codes on the left, without the code of missing values, and the threshold that tells
them from the others. Two cuts follow from a test, as missing values go right or left; or one, if there are none.
"""

import math
from bisect import bisect_left
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from dforest.testing.coding import CATEGORICAL, ORDINAL, Scale, middle
from dforest.testing.scores import OF_CLASSES, evenness, is_zero, lower_median, score_of, statistic
from dforest.testing.streams import FEATURES, Stream, mix

MANY_FEATURES = 4096  # from so many on, their order is a permutation of its own


class Split(NamedTuple):
    """A row goes left if x <= threshold, or, with a subset, if (x in it) != missing_left; a missing value, if missing_left."""

    feature: int
    missing_left: bool
    threshold: float
    subset: list  # category numbers, or None
    score: float
    values: tuple  # what the two sides predict, or None where nothing is constrained


# Tests of a column: (list of codes, threshold), in the order of preference among equal scores ---------


def all_tests(draws, column, n_classes, categorical_split, ranks=None):
    """Every test of a column, of which the last divides missing values from the rest.

    With ranks of its labels, a test has the highest rank on the left in place of a threshold.
    """
    codes = codes_of(draws, column)
    if ranks is not None:
        for rank in sorted({ranks[code] for code in codes}):
            yield [code for code in codes if ranks[code] <= rank], rank
    elif column.kind == CATEGORICAL and categorical_split == "one_hot":
        for code in codes:
            yield [code], math.nan
        if codes:
            yield codes, math.nan
    elif column.kind == CATEGORICAL:
        codes = by_key(codes, draws, column, n_classes)
        for i in range(len(codes)):
            yield codes[: i + 1], math.nan
    else:
        for i in range(len(codes)):
            is_last = i + 1 == len(codes)
            yield codes[: i + 1], math.inf if is_last else threshold_between(column, codes[i], codes[i + 1])


def random_test(draws, column, stream, categorical_split, ranks=None):
    """One random test of a column. If only one of its values is in the node, the test divides it from missing ones."""
    codes = codes_of(draws, column)
    if not codes:
        return
    if ranks is not None:
        lowest, highest = min(ranks[code] for code in codes), max(ranks[code] for code in codes)
        last = lowest + (stream.below(highest - lowest) if highest > lowest else 0)
        yield [code for code in codes if ranks[code] <= last], last
    elif column.kind == CATEGORICAL:
        left = codes
        if len(codes) > 1:
            left = [codes[stream.below(len(codes))]] if categorical_split == "one_hot" else random_subset(codes, stream)
        yield left, math.nan
    elif len(codes) == 1:
        yield codes, math.inf
    else:
        draw_code = random_ordinal_code if column.kind == ORDINAL else random_code
        cut, threshold = draw_code(codes, column, stream)
        yield [code for code in codes if code <= cut], threshold


def codes_of(draws, column):
    """The codes in a node in ascending order, without that of missing values."""
    return sorted({int(column.codes[draw.row]) for draw in draws} - {column.missing})


def threshold_between(column, code, above):
    """The threshold between two codes of a node that has no code between them."""
    if column.kind == ORDINAL:  # x < the value above, as x <= the column's value before it
        return float((column.values if column.is_dense else column.highs)[above - 1])
    if column.is_dense:
        return middle(float(column.values[code]), float(column.values[above]), column.values.dtype == np.float32)
    # Of the bins between the two sides, none of which is in the node, half go to the left.
    return float(column.values[(code + above - 1) // 2])


def by_key(codes, draws, column, n_classes):
    """Categories ordered by the share of the node's largest class, or by mean target; of equal ones, the lower comes first."""
    total = statistic(draws, n_classes)
    key = {}
    for code in codes:
        words = statistic([draw for draw in draws if column.codes[draw.row] == code], n_classes)
        if n_classes:
            max_weight = 2 + total[2:].index(max(total[2:]))
            key[code] = float(words[max_weight]) / float(words[1])
        else:
            key[code] = float(words[2] - words[1] * (total[2] // total[1])) / float(words[1])
    return sorted(codes, key=lambda code: (key[code], code))


def random_subset(codes, stream):
    """A set of categories, neither empty nor all: a random bit for each, the lowest of a word first."""
    while True:
        left = []
        for i, code in enumerate(codes):
            if i % 32 == 0:
                word = stream.next()
            if word >> i % 32 & 1:
                left.append(code)
        if 0 < len(left) < len(codes):
            return left


def random_ordinal_code(codes, column, stream):
    """The highest of the column's codes on the left, and the threshold."""
    code = codes[0] + stream.below(codes[-1] - codes[0])
    return code, float((column.values if column.is_dense else column.highs)[code])


def random_code(codes, column, stream):
    """The highest code on the left, and the threshold: a uniform random number, or, of bins, the edge nearest to it."""
    is_float32 = column.values.dtype == np.float32
    if column.is_dense:
        lo, hi = float(column.values[codes[0]]), float(column.values[codes[-1]])
        threshold = random_threshold(lo, hi, stream.uniform(), is_float32)
        return max(code for code in codes if column.values[code] <= threshold), threshold
    lo, hi = float(column.lows[codes[0]]), float(column.highs[codes[-1]])
    threshold = random_threshold(lo, hi, stream.uniform(), is_float32)
    edges = [float(edge) for edge in column.values[codes[0] : codes[-1]]]
    place = min(bisect_left(edges, threshold), len(edges) - 1)
    if place > 0 and threshold - edges[place - 1] < edges[place] - threshold:
        place -= 1
    return codes[0] + place, edges[place]


def random_threshold(lo, hi, u, is_float32):
    """A threshold in [lo, hi), lo < hi, for u in [0, 1)."""
    largest = float(np.finfo(np.float32 if is_float32 else np.float64).max)
    t = max(lo, -largest) * (1.0 - u) + min(hi, largest) * u
    if is_float32:
        with np.errstate(over="ignore"):
            t = float(np.float32(t))
    return t if lo <= t < hi else lo


# The best split --------------------------------------------------------------------------------------


def feature_at(place, n_features, keys):
    """The feature at a place of an order of many features, by a Feistel network of two halves of a number's bits."""
    bits = (n_features - 1).bit_length()
    n_low = (bits + 1) // 2
    while True:
        high, low = place >> n_low, place % 2**n_low
        for i in (0, 2):
            high ^= mix(keys[i] * 2**32 + i * 2**16 + low) >> 64 - (bits - n_low)
            low ^= mix(keys[i + 1] * 2**32 + (i + 1) * 2**16 + high) >> 64 - n_low
        place = high << n_low | low
        if place < n_features:
            return place


def feature_order(n_features, seed, node_key):
    """All features in the order in which they are tried at the node of this node key."""
    stream = Stream(seed, node_key, FEATURES)
    if n_features >= MANY_FEATURES:
        keys = [stream.next() for _ in range(4)]
        return [feature_at(place, n_features, keys) for place in range(n_features)]
    order = list(range(n_features))
    for i in range(n_features):
        j = i + stream.below(n_features - i)
        order[i], order[j] = order[j], order[i]
    return order


def weighted_feature_order(weights, first, seed, node_key, n=None):
    """The features that may be tried at the node of this key, or n of them: some first, then by draws with integer weights."""
    stream, left = Stream(seed, node_key, FEATURES), {j: w for j, w in enumerate(weights) if w > 0 and j not in first}
    order = list(first)
    while left and (n is None or len(order) < n):
        rest = int(stream.uniform() * sum(left.values()))
        drawn = next(j for j, upto in zip(left, accumulate(left.values()), strict=True) if rest < upto)
        order.append(drawn)
        del left[drawn]
    return order


def predicted(words, draws, criterion, scale):
    """What a side predicts for constraints: the share of class 1, or the mean or median in units of y."""
    if criterion == "absolute_error":
        return scale.centre + math.ldexp(float(lower_median(draws)), -scale.exponent)
    if criterion in OF_CLASSES:
        return float(words[3]) / float(words[1])
    return scale.centre + math.ldexp(float(words[2]) / float(words[1]), -scale.exponent)


def best_split(
    draws,
    columns,
    order,
    max_features,
    *,
    criterion,
    n_classes=0,
    scale=None,
    min_draws=1,
    min_weight=0.0,
    stream_of=None,
    categorical_split="subset",
    constraints=None,
    bounds=(-math.inf, math.inf),
    skip_constant_features=True,
    times=None,
    n_always=0,
    n_random_splits=1,
    factors=None,
    label_ranks=None,
):
    """The best split of a node, by trying every test, or one random test of each feature.

    Parameters
    ----------
    draws, columns : list of Record, list of Column
    order : list of int
        The features in the order in which they are tried.
    max_features : int
        How many features are tried; more are tried while none of them has a valid cut.
    scale : Scale, optional
        The scale of the targets.
    min_draws, min_weight : int, float
        Least number of draws, and least weight, of each side of a valid cut.
    stream_of : callable, optional
        Returns the random stream of a feature. If it is given, one random test of each feature is tried.
    categorical_split : {"subset", "one_hot"}
    constraints : list of {-1, 0, 1}, optional
        For each feature, -1 if the right side of a valid cut may not predict more than the left one, 1 if it may not
        predict less, 0 if it is free.
    bounds : (float, float)
        The lowest and the highest number that the sides of a constrained feature's cut may predict.
    skip_constant_features : bool
        Whether features of one code in the node don't count among `max_features`.
    times : dforest.testing.survival.NodeTimes, optional
        The event times of the node, for survival times.
    n_always : int
        How many features, the first of the order, are tried in any case.
    n_random_splits : int
        How many random tests of each feature are tried.
    factors : list of float, optional
        What the score of each feature's best test is multiplied by, before features are compared.
    label_ranks : dict of int to list of list of int, optional
        Of features whose labels are ordered, the ranks of the labels, and last that of missing values, by the share of each
        class, or in one order: see `twins.labels`.

    Returns
    -------
    Split or None
    """
    total = statistic(draws, n_classes)
    scale = Scale() if scale is None else scale
    best = None
    n_counted = 0
    for place, feature in enumerate(order):
        if place >= n_always and n_counted >= max_features and best is not None:
            break
        column = columns[feature]
        by_code = {}
        for draw in draws:
            by_code.setdefault(int(column.codes[draw.row]), []).append(draw)
        orders = (label_ranks or {}).get(feature)
        ranks = None
        different = len(by_code)
        if orders is not None:
            ranks = orders[total[2:].index(max(total[2:])) if len(orders) > 1 else 0]
            different = len({tuple(order[code] for order in orders) if code != column.missing else None for code in by_code})
        if place >= n_always and (different > 1 or not skip_constant_features):
            n_counted += 1
        statistics = {code: statistic(members, n_classes) for code, members in by_code.items()}
        if stream_of is None:
            searches = [all_tests(draws, column, n_classes, categorical_split, ranks)]
        else:
            stream = stream_of(feature)
            searches = [random_test(draws, column, stream, categorical_split, ranks) for _ in range(n_random_splits)]
        found, rank, found_in = None, (), None
        for k, (codes, threshold) in ((k, test) for k, tests in enumerate(searches) for test in tests):
            if found is not None and found_in != k:  # cuts are compared by their evenness within a search only
                rank = found.score, math.inf
            for missing_left in (False, True) if column.missing in by_code else (False,):
                codes_left = codes + [column.missing] * missing_left
                left = [sum(words) for words in zip(*(statistics[code] for code in codes_left), strict=True)]
                right = [a - b for a, b in zip(total, left, strict=True)]
                if min(left[0], right[0]) < min_draws or min(float(left[1]), float(right[1])) < min_weight:
                    continue
                if criterion == "poisson" and (is_zero(left, scale) or is_zero(right, scale)):
                    continue
                sides = [], []
                if criterion in ("absolute_error", "logrank"):
                    for code, members in by_code.items():
                        sides[code not in codes_left].extend(members)
                values = None
                if constraints is not None:
                    v_left, v_right = values = tuple(
                        predicted(words, side, criterion, scale) for words, side in zip((left, right), sides, strict=True)
                    )
                    d = constraints[feature]
                    is_within = bounds[0] <= v_left <= bounds[1] and bounds[0] <= v_right <= bounds[1]
                    if d != 0 and not (is_within and (v_left - v_right) * d <= 0.0):
                        continue
                if times is not None:
                    score = times.score(criterion, left, total, sides[0])
                else:
                    score = score_of(criterion, left, total, *sides, scale)
                if found is None or (score, evenness(score, left, total)) > rank:  # not >=, so that the first of equal cuts stays
                    rank, found_in = (score, evenness(score, left, total)), k
                    if column.missing not in by_code:  # if no value is missing here, missing values go to the larger side
                        missing_left = 2 * left[0] > total[0]
                        if criterion == "path_length" and column.kind == CATEGORICAL:  # or with the rarest category
                            missing_left = min(by_code, key=lambda code: (statistics[code][0], code)) in codes
                    subset = None
                    if ranks is not None:  # all labels have a side, and so have missing values if none is here
                        if column.missing not in by_code:
                            missing_left = ranks[-1] <= threshold
                        subset = [code for code, rank in enumerate(ranks[:-1]) if (rank <= threshold) != missing_left]
                    elif column.kind == CATEGORICAL:
                        subset = sorted(c for c in by_code if c != column.missing and (c not in codes) == missing_left)
                    found = Split(feature, missing_left, threshold if ranks is None else math.nan, subset, score, values)
        if found is not None and factors is not None:
            found = found._replace(score=found.score * factors[feature])
        if found is not None and (best is None or found.score > best.score):
            best = found
    return best
