"""The naive twin's splits by category, of ordinal columns and under monotone constraints, by brute force and by hand."""

import math
from decimal import Context
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from twins import naive, splits

from dforest.testing import coding, scores, streams

PRECISE = Context(prec=50)
SPLITS = pytest.mark.parametrize("categorical_split", ["subset", "one_hot"])
METHODS = pytest.mark.parametrize("method", ["dense", "hist"])


# The best split of one categorical column, against all partitions -------------------------------------


@lru_cache(None)
def y_ln_y(y):
    """y ln y of a fraction, to about 50 digits."""
    return y * Fraction(PRECISE.ln(PRECISE.divide(y.numerator, y.denominator))) if y else Fraction(0)


def classes_of(pairs):
    weight = {}
    for target, w in pairs:
        weight[target] = weight.get(target, 0) + w
    return weight.values()


def gini(pairs):
    weight = classes_of(pairs)
    return sum(weight) - Fraction(sum(w * w for w in weight), sum(weight))


def entropy(pairs):
    weight = classes_of(pairs)
    return (y_ln_y(Fraction(sum(weight))) - sum(y_ln_y(Fraction(w)) for w in weight)) / Fraction(math.log(2))


def squares(pairs):
    mean = Fraction(sum(w * y for y, w in pairs), sum(w for _, w in pairs))
    return sum(w * (y - mean) ** 2 for y, w in pairs)


def deviance(pairs):
    mean = Fraction(sum(w * y for y, w in pairs), sum(w for _, w in pairs))
    ln_mean = y_ln_y(mean) / mean if mean else 0
    return sum(w * (y_ln_y(Fraction(y)) - y * ln_mean) for y, w in pairs)


def distance(pairs):
    return min(sum(w * abs(y - m) for y, w in pairs) for m in {y for y, _ in pairs})


# The weight times the impurity of a set of (target, weight).
IMPURITIES = {"gini": gini, "entropy": entropy, "squared_error": squares, "poisson": deviance, "absolute_error": distance}


def partitions(groups):
    """Every partition of the groups into two sides, neither empty."""
    first, *others = groups
    for n in range(len(others)):
        for more in combinations(others, n):
            yield {first, *more}


def one_against_the_rest(groups):
    """One category, alone or with the missing ones; or the missing ones."""
    for category in groups - {None}:
        for left in ({category}, {category, None} & groups):
            if left != groups:
                yield left
    if None in groups and len(groups) > 1:
        yield {None}


@st.composite
def columns(draw, criterion, n_classes=2):
    """A node's rows (category or None, target, count, weight) and the number of categories that the column has."""
    m = draw(st.integers(1, 8))
    category = st.integers(0, m - 1)
    if draw(st.booleans()):
        category |= st.none()
    if n_classes and criterion in ("gini", "entropy"):
        target = st.integers(0, n_classes - 1)
    else:
        target = st.integers(0, 5) | st.integers(0, 100)
        target = target.map(lambda q: q << 24)  # a node's targets have a range of 23 bits or more
    weight = st.integers(1, 4) | st.integers(1, 2**31 - 1)
    rows = draw(st.lists(st.tuples(category, target, st.integers(1, 3), weight), min_size=2, max_size=24))
    return rows, m + draw(st.integers(0, 2))


def find(rows, n_categories, criterion, categorical_split="subset", method="dense", **limits):
    """The twin's best split of a column, and the weighted targets by category."""
    X = np.array([[np.nan if category is None else category] for category, *_ in rows], float)
    draws = [scores.Record(row, count, target, weight) for row, (_, target, count, weight) in enumerate(rows)]
    n_classes = 1 + max(target for _, target, *_ in rows) if criterion in ("gini", "entropy") else 0
    columns = coding.columns_of(X, method, 256, [1] * len(X), [n_categories])
    split = splits.best_split(draws, columns, [0], 1, criterion=criterion, n_classes=n_classes,
                              categorical_split=categorical_split, scale=coding.Scale(), **limits)  # fmt: skip
    groups = {}
    for category, target, count, weight in rows:
        groups.setdefault(category, []).append((target, count * weight))
    return split, groups


def exact_score(groups, left, impurity):
    sides = [[pair for group in groups if (group in left) == is_left for pair in groups[group]] for is_left in (True, False)]
    return impurity(sides[0] + sides[1]) - impurity(sides[0]) - impurity(sides[1])


def left_groups(split, groups):
    """The categories, and None for missing, that a split sends to the left."""
    left = {c for c in groups if c is not None and (c in split.subset) != split.missing_left}
    return left | ({None} & set(groups) if split.missing_left else set())


def check_best(rows, n_categories, criterion, categorical_split, is_exact=True):
    split, groups = find(rows, n_categories, criterion, categorical_split)
    tried = (partitions if categorical_split == "subset" else one_against_the_rest)(set(groups))
    impurity = IMPURITIES[criterion]
    exact = [float(exact_score(groups, left, impurity)) for left in tried]
    if not exact:
        assert split is None
        return
    assert math.isnan(split.threshold) and split.subset == sorted(split.subset) and set(split.subset) < {*groups, None}
    slack = {"rel": 1e-9, "abs": 1e-10 * float(impurity([pair for group in groups.values() for pair in group]))}
    assert split.score == pytest.approx(float(exact_score(groups, left_groups(split, groups), impurity)), **slack)
    if is_exact:
        assert split.score == pytest.approx(max(exact), **slack)
    assert split.score <= max(exact) or split.score == pytest.approx(max(exact), **slack)


@SPLITS
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_the_best_split_is_that_of_all_partitions(criterion, categorical_split, data):
    check_best(*data.draw(columns(criterion)), criterion, categorical_split)


@SPLITS
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_the_best_poisson_split_is_that_of_all_partitions(categorical_split, data):
    """Where no category is all 0, so that every partition is valid."""
    rows, n_categories = data.draw(columns("poisson"))
    rows = [(category, target + 2**24, count, weight) for category, target, count, weight in rows]
    check_best(rows, n_categories, "poisson", categorical_split)


@SPLITS
@pytest.mark.parametrize("criterion", ["gini", "entropy", "absolute_error"])
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_a_split_has_the_score_of_its_partition(criterion, categorical_split, data):
    """For more classes and for absolute error an order of the categories need not hold the best subset."""
    rows, n_categories = data.draw(columns(criterion, 4))
    check_best(rows, n_categories, criterion, categorical_split, is_exact=categorical_split == "one_hot")


def test_all_partitions_are_counted():
    for m in range(1, 9):
        assert len(list(partitions(set(range(m))))) == 2 ** (m - 1) - 1
        assert len(list(partitions({None, *range(m)}))) == 2 * (2 ** (m - 1) - 1) + 1
        assert len(list(one_against_the_rest({None, *range(m)}))) == 2 * m + 1 - (m == 1)


@pytest.mark.parametrize(
    ("criterion", "targets", "order"),
    [
        ("squared_error", {0: [5], 1: [1, 2], 2: [9], 3: [0, 3]}, [1, 3, 0, 2]),  # equal means: the lower category
        ("absolute_error", {0: [5], 1: [1, 2], 2: [9], 3: [0, 3]}, [1, 3, 0, 2]),
        ("gini", {0: [1, 0], 1: [0], 2: [1], 3: [1, 1, 0]}, [1, 0, 3, 2]),  # by the share of class 1 ...
        ("entropy", {0: [1, 0], 1: [0, 0], 2: [1], 3: [1, 0]}, [2, 0, 3, 1]),  # ... of class 0: more of the node
        ("gini", {0: [1, 0], 1: [0, 0], 2: [1, 1]}, [2, 0, 1]),  # as many of both: class 0
        ("gini", {0: [0, 1], 1: [2, 2, 2], 2: [2, 1]}, [0, 2, 1]),
    ],
)
def test_order_of_categories(criterion, targets, order):
    draws = [scores.Record(c, 1, target, 1) for c in targets for target in targets[c]]
    column = coding.Column(*coding.code_categories(np.arange(4.0), 4)[:4], True, coding.CATEGORICAL)
    n_classes = 3 if criterion in ("gini", "entropy") else 0
    tests = list(splits.all_tests(draws, column, n_classes, "subset"))
    assert [codes for codes, _ in tests] == [order[: i + 1] for i in range(len(order))]
    tests = list(splits.all_tests(draws, column, n_classes, "one_hot"))
    assert [codes for codes, _ in tests] == [[c] for c in sorted(order)] + [sorted(order)]


@METHODS
@pytest.mark.parametrize(
    ("values", "y", "subset", "one_hot"),  # the last two: the subset that is stored, and whether missing values go left
    [
        ([2, 2, 1, 1], [0, 1, 0, 1], ([1], False), ([1], False)),  # all scores are 0: the first cut
        ([2, 2, 2, 1], [0, 1, 0, 0], ([1], True), ([1], False)),  # unseen missing values go with the larger side
        ([0, 0, 1, 1, None], [0, 0, 1, 1, 1], ([0], False), ([0], False)),
        ([0, 0, 1, 1, None], [0, 0, 1, 1, 0], ([1], False), ([1], True)),  # one partition, found as two cuts
        ([0, 1, 2, None], [0, 0, 0, 1], ([0, 1, 2], False), ([0, 1, 2], False)),  # missing against the rest
        ([3, 3, None, None], [0, 0, 1, 1], ([3], False), ([3], False)),
    ],
)
def test_sides_by_hand(values, y, subset, one_hot, method):
    rows = [(value, target, 1, 1) for value, target in zip(values, y, strict=True)]
    for categorical_split, expected in (("subset", subset), ("one_hot", one_hot)):
        split, _ = find(rows, 4, "gini", categorical_split, method)
        assert (split.subset, split.missing_left) == expected


def test_leaf_rules_hold_on_both_sides():
    found = changed = 0
    rng = np.random.default_rng(0)
    for _ in range(30):
        values = [None if v == 5 else v for v in rng.integers(0, 6, 20).tolist()]
        numbers = rng.integers(1, 9, (20, 2)).tolist()
        rows = [(value, target, 1, weight) for value, (target, weight) in zip(values, numbers, strict=True)]
        limit = 0.4 * sum(weight for *_, weight in rows)
        split, groups = find(rows, 5, "squared_error", min_draws=7, min_weight=limit)
        assert find(rows, 5, "squared_error", min_draws=11)[0] is None
        if split is None:
            continue
        found += 1
        for side in (left_groups(split, groups), set(groups) - left_groups(split, groups)):
            of_side = [weight for value, _, _, weight in rows if value in side]
            assert len(of_side) >= 7 and sum(of_side) >= limit
        free, _ = find(rows, 5, "squared_error")
        changed += free.subset != split.subset
    assert found > 20 and changed > 5


# Random splits ---------------------------------------------------------------------------------------


def random_tests(codes, kind, n_codes, n_tests=4000, categorical_split="subset", method="dense"):
    """Codes on the left and thresholds of random tests of a node with these codes, each from a stream of its own."""
    x = np.arange(n_codes) * 10.0
    parts = coding.code_categories(np.arange(n_codes), n_codes) if kind == coding.CATEGORICAL else coding.code_column(x)
    column = coding.Column(*parts[:4], method == "dense", kind)
    draws = [scores.Record(code, 1, 0, 1) for code in codes]
    for tree in range(n_tests):
        stream = streams.Stream(tree, streams.ROOT_PATH, streams.THRESHOLD)
        (test,) = splits.random_test(draws, column, stream, categorical_split)
        yield test


def counts_of(results):
    counts = {}
    for result in results:
        counts[tuple(result)] = counts.get(tuple(result), 0) + 1
    return counts


@pytest.mark.parametrize("codes", [[0, 1], [1, 4, 6], [2, 3, 5, 9]], ids=str)
def test_random_subsets_are_equally_likely(codes):
    counts = counts_of(left for left, _ in random_tests(codes, coding.CATEGORICAL, 10))
    assert len(counts) == 2 ** len(codes) - 2 and all(set(left) < set(codes) for left in counts)
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_random_categories_are_equally_likely():
    codes = [0, 2, 3, 5, 9]
    counts = counts_of(left for left, _ in random_tests(codes, coding.CATEGORICAL, 10, categorical_split="one_hot"))
    assert sorted(counts) == [(code,) for code in codes]
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_random_bits_come_from_words_lowest_first():
    codes = list(range(3, 73))
    for tree, (left, _) in enumerate(random_tests(codes, coding.CATEGORICAL, 80, n_tests=20)):
        stream = streams.Stream(tree, streams.ROOT_PATH, streams.THRESHOLD)
        bits = sum(stream.next() << shift for shift in (0, 32, 64))
        assert left == [code for i, code in enumerate(codes) if bits >> i & 1]


def test_a_repeated_attempt_takes_a_fresh_word():
    repeated = 0
    for tree, (left, _) in enumerate(random_tests([0, 1], coding.CATEGORICAL, 2, n_tests=100)):
        stream = streams.Stream(tree, streams.ROOT_PATH, streams.THRESHOLD)
        words = [stream.next() & 3 for _ in range(50)]
        word = next(word for word in words if word in (1, 2))
        assert left == [word - 1]
        repeated += words[0] != word
    assert repeated > 20


@METHODS
def test_random_ordinal_cuts(method):
    """Any code of the column from the lowest in the node up to below the highest, in the node or not."""
    tests = list(random_tests([2, 3, 7], coding.ORDINAL, 10, method=method))
    counts = counts_of([threshold] for _, threshold in tests)
    assert sorted(counts) == [(10.0 * code,) for code in range(2, 7)]
    assert chisquare(list(counts.values())).pvalue > 0.001
    for left, threshold in tests:
        assert left == ([2, 3] if threshold >= 30 else [2])


@pytest.mark.parametrize("kind", [coding.ORDINAL, coding.CATEGORICAL, coding.CONTINUOUS])
@pytest.mark.parametrize("categorical_split", ["subset", "one_hot"])
def test_random_tests_of_one_value_draw_nothing(kind, categorical_split):
    ((left, threshold),) = random_tests([4], kind, 6, 1, categorical_split)
    assert left == [4] and (math.isnan(threshold) if kind == coding.CATEGORICAL else threshold == math.inf)


# Ordinal columns -------------------------------------------------------------------------------------


def test_ordinal_thresholds_are_values_before_the_next():
    x = np.array([1.0, 2, 4, 8, 16, 32, np.nan])
    kinds = {kind: coding.Column(*coding.code_column(x)[:4], True, kind) for kind in (coding.CONTINUOUS, coding.ORDINAL)}
    draws = [scores.Record(row, 1, 0, 1) for row in (0, 3, 4, 6)]  # 1, 8, 16 and missing
    thresholds = {kind: [t for _, t in splits.all_tests(draws, column, 0, "subset")] for kind, column in kinds.items()}
    assert thresholds == {coding.CONTINUOUS: [4.5, 12.0, math.inf], coding.ORDINAL: [4.0, 8.0, math.inf]}
    binned = coding.Column(*coding.code_column(x, 4)[:4], False, coding.ORDINAL)  # 1 2 | 4 8 | 16 32
    assert [t for _, t in splits.all_tests(draws, binned, 0, "subset")] == [2.0, 8.0, math.inf]


@METHODS
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("criterion", ["entropy", "squared_error"])
def test_ordinal_trees(method, splitter, criterion):
    """Thresholds are values that occur; the best cuts of a root part it as those of a continuous column do."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 12, (80, 2)) ** 2.0
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 2, 80)
    settings = dict(criterion=criterion, method=method, splitter=splitter, n_classes=2, max_bins=9, min_samples_leaf=2)
    tree, plain = (naive.grow_tree(X, y, ordinal=ordinal, **settings) for ordinal in ([True, True], None))
    arrays = naive.flatten(tree)
    inner = arrays["feature"] >= 0
    assert inner.sum() > 5 and arrays["subsets"] == [None] * len(inner)
    assert np.isin(arrays["threshold"][inner], [*X[X == X], np.inf]).all()
    if splitter == "best":
        assert tree.left.draws == plain.left.draws and tree.left.weight == plain.left.weight
        assert tree.threshold < plain.threshold


# Trees with categorical columns ----------------------------------------------------------------------


def problem(seed, criterion, n=70):
    rng = np.random.default_rng(seed)
    categories, numbers = rng.integers(0, [7, 40], (n, 2)), rng.standard_normal((n, 2)).round(1)
    X = np.c_[categories[:, 0], numbers[:, 0], categories[:, 1], numbers[:, 1]]
    signal = np.array([3, 0, 5, 1, 4, 2, 1])[X[:, 0].astype(int)] + X[:, 1] + 0.1 * X[:, 2] + rng.standard_normal(n)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (signal > np.median(signal)).astype(int) if criterion in ("gini", "entropy") else np.maximum(signal - 2, 0)
    return X, y, {"n_classes": 2, "criterion": criterion, "n_categories": [7, 0, 40, 0], "sample_weight": rng.integers(1, 4, n)}


def leaf_of(node, x):
    while node.feature >= 0:
        v = x[node.feature]
        if v != v:
            is_left = node.missing_left
        elif node.subset is None:
            is_left = v <= node.threshold
        else:  # missing values and what is in no subset go to the same side
            is_left = (v in node.subset) != node.missing_left
        node = node.left if is_left else node.right
    return node


def nodes_of(node):
    yield node
    if node.feature >= 0:
        yield from nodes_of(node.left)
        yield from nodes_of(node.right)


CRITERIA = pytest.mark.parametrize("criterion", IMPURITIES)


@CRITERIA
@SPLITS
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_rows_come_to_their_leaves(criterion, splitter, categorical_split):
    for seed in range(3):
        X, y, settings = problem(seed, criterion)
        tree = naive.grow_tree(X, y, method="dense", splitter=splitter, categorical_split=categorical_split, seed=seed,
                               max_features=2, min_samples_leaf=2, **settings)  # fmt: skip
        leaves = [leaf_of(tree, x) for x in X]
        for leaf in {id(leaf): leaf for leaf in leaves}.values():
            rows = np.array([other is leaf for other in leaves])
            assert leaf.draws == rows.sum() and sum(leaf.weight) == settings["sample_weight"][rows].sum()
        arrays = naive.flatten(tree)
        is_categorical = np.isin(arrays["feature"], [0, 2])
        assert is_categorical.sum() > 3 and (np.isnan(arrays["threshold"]) == is_categorical).all()
        assert [subset is not None for subset in arrays["subsets"]] == is_categorical.tolist()
        check_subsets(tree, X, np.arange(len(X)))


def check_subsets(node, X, rows):
    """A node's subset is the categories of its rows on the side where missing ones are not."""
    if node.feature < 0:
        return
    left = np.array([naive.goes_left(node, X[row]) for row in rows])
    if node.subset is not None:
        values = X[rows[left != node.missing_left], node.feature]
        assert node.subset == np.unique(values).tolist() and len(node.subset) > 0
    check_subsets(node.left, X, rows[left])
    check_subsets(node.right, X, rows[~left])


@METHODS
@SPLITS
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_categories_that_do_not_occur_change_nothing(method, splitter, categorical_split):
    X, y, settings = problem(0, "squared_error")
    settings |= {"method": method, "splitter": splitter, "categorical_split": categorical_split}
    one = naive.flatten(naive.grow_tree(X, y, **settings))
    other = naive.flatten(naive.grow_tree(X, y, **settings | {"n_categories": [100, 0, 65535, 0]}))
    for name in one:
        np.testing.assert_equal(one[name], other[name])


def test_categories_are_never_binned():
    X = np.arange(200.0)[:, None]
    y = np.arange(200) % 2
    tree = naive.grow_tree(X, y, criterion="gini", method="hist", max_bins=5, n_classes=2, n_categories=[200])
    assert (tree.left.weight, tree.right.weight) == ([0, 100], [100, 0])  # ascending in the share of class 0
    assert (tree.subset, tree.missing_left) == (list(range(1, 200, 2)), False)


# Monotone constraints --------------------------------------------------------------------------------


def prediction(leaf, criterion):
    return leaf.weight[1] / sum(leaf.weight) if criterion in ("gini", "entropy") else leaf.value


def rises(tree, X, criterion, feature):
    """Differences of predictions between neighbouring values of a feature, of every row."""
    values = np.sort([*X[X[:, feature] == X[:, feature], feature], -np.inf, np.inf])
    found = []
    for x in X[:25]:
        rows = np.repeat(x[None], len(values), axis=0)
        rows[:, feature] = values
        found.append(np.diff([prediction(leaf_of(tree, row), criterion) for row in rows]))
    return np.concatenate(found)


@pytest.mark.parametrize(("criterion", "method"), [*((criterion, "dense") for criterion in IMPURITIES), ("gini", "hist"),
                                                   ("squared_error", "hist"), ("poisson", "hist")])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("direction", [1, -1])
def test_predictions_are_monotone(criterion, method, splitter, direction):
    free = used = 0
    for seed in range(3):
        X, y, settings = problem(seed, criterion)
        if direction < 0:
            X[:, [1, 3]] *= -1
        settings |= {"method": method, "splitter": splitter, "seed": seed, "max_features": 2}
        tree = naive.grow_tree(X, y, monotonic_cst=[0, direction, 0, -direction], **settings)
        for feature, sign in ((1, direction), (3, -direction)):
            differences = rises(tree, X, criterion, feature) * sign
            assert (differences >= 0).all()  # to the last bit
            used += (differences > 0).any()
        free += (rises(naive.grow_tree(X, y, **settings), X, criterion, 1) * direction < 0).any()
    assert free and used > 2


@CRITERIA
def test_the_best_monotone_cut(criterion):
    """Of one column: the cut of highest score among those whose sides predict in order, by brute force."""
    rejected = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, w = rng.permutation(12).astype(float), rng.integers(1, 5, 12)
        y = rng.integers(0, 2, 12) if criterion in ("gini", "entropy") else rng.integers(1, 30, 12)
        tree = naive.grow_tree(x[:, None], y, criterion=criterion, method="dense", n_classes=2, sample_weight=w,
                               max_depth=1, monotonic_cst=[1])  # fmt: skip
        best, best_free = {}, 0.0
        for i in range(11):
            sides = [[(int(t), int(v)) for t, v in zip(y[side], w[side], strict=True)] for side in (x <= i, x > i)]
            impurity = IMPURITIES[criterion]
            score = float(impurity(sides[0] + sides[1]) - impurity(sides[0]) - impurity(sides[1]))
            repeated = [np.repeat(*np.array(side).T) for side in sides]
            if criterion == "absolute_error":
                left, right = (np.quantile(side, 0.5, method="inverted_cdf") for side in repeated)
            else:
                left, right = (Fraction(int(side.sum()), len(side)) for side in repeated)
            if left <= right:
                best[i] = score
            best_free = max(best_free, score)
        if not best:
            assert tree.feature == -1
        else:
            assert best[math.floor(tree.threshold)] == pytest.approx(max(best.values()), rel=1e-9)
        rejected += max(best.values(), default=-1) < best_free
    assert rejected > 5


def test_zero_constraints_are_none():
    X, y, settings = problem(1, "squared_error")
    one, other = (
        naive.flatten(naive.grow_tree(X, y, method="hist", monotonic_cst=constraints, **settings))
        for constraints in (None, [0] * 4)
    )
    for name in one:
        np.testing.assert_equal(one[name], other[name])


def test_a_feature_without_a_monotone_cut_is_passed_over():
    X = np.array([[0.0, 0], [1, 1], [2, 0], [3, 1]])
    y = [3.0, 2.0, 1.0, 0.0]
    for seed in range(5):
        settings = dict(criterion="squared_error", method="dense", max_features=1, max_depth=1, seed=seed)
        assert naive.grow_tree(X, y, monotonic_cst=[1, 0], **settings).feature == 1
        assert naive.grow_tree(X[:, :1], y, monotonic_cst=[1], **settings).feature == -1


def test_leaf_values_are_clipped_to_the_bounds():
    """Medians of even leaves lie beyond the lower medians that cuts are judged by."""
    X = np.array([0.0, 0, 1, 1])[:, None]
    y = [0.0, 9.0, 1.0, 1.0]  # lower medians 0 and 1, their middle 0.5; the left leaf's median is 4.5
    settings = dict(criterion="absolute_error", method="dense", max_depth=1)
    free = naive.grow_tree(X, y, **settings)
    assert (free.left.value, free.right.value) == (4.5, 1.0)
    bound = naive.grow_tree(X, y, monotonic_cst=[1], **settings)
    assert (bound.left.value, bound.right.value) == (0.5, 1.0)
    assert bound.left.impurity == free.left.impurity == 4.5
