"""Categorical and ordinal features: predictions against a walk through the arrays, and all that is made of them."""

import pickle
from itertools import product

import numpy as np
import pytest
from helpers.device_forests import assert_same
from helpers.walker import Walker
from scipy.stats import chisquare
from twins import naive
from twins.labels import orders_labels
from twins.sampling import twin_of

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.core.sampling import WithLabelOrder

METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
TREES = pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
FORESTS = pytest.mark.parametrize(
    "kind", [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
)
SPLITS = pytest.mark.parametrize("categorical_split", ["subset", "one_hot"])
CLASSIFIERS = [DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier]

PERMUTATION = 5  # the purpose of the random streams that permute columns

# What the columns of `mixed` are.
KINDS = {"categorical_features": [1, 3], "ordinal_features": [2]}


def mixed(kind, n=400, seed=0):
    """Features: continuous, few categories, ordinal, many categories, continuous; each has missing values."""
    rng = np.random.default_rng(seed)
    numbers = np.stack([rng.integers(0, high, n) for high in (7, 20, 130)], axis=1)
    effects = [rng.standard_normal(high) for high in (7, 20, 130)]
    X = np.stack([rng.standard_normal(n), *(numbers * [1, 0.5, 3]).T, rng.standard_normal(n)], axis=1)
    y = X[:, 0] + sum(effect[number] for effect, number in zip(effects, numbers.T, strict=True)) + rng.standard_normal(n) / 4
    X[rng.random(X.shape) < 0.08] = np.nan
    return X, np.array([2, 3, 7])[np.digitize(y, [-1, 1])] if kind in CLASSIFIERS else y


def probes(model, X, n=150, seed=1):
    """Rows in which every column has values of its own: of training, missing, and labels that were not there."""
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.choice(column, n) for column in X.T], axis=1)
    for j in np.flatnonzero(model.is_categorical_):
        rows[rng.random(n) < 0.2, j] = rng.choice([-1.0, 0.25, 1e6, np.inf])
    return rows


def encoded(model, X):
    """X with category numbers, from the labels that a model shows."""
    X = np.array(X, np.float64)
    for j in np.flatnonzero(model.is_categorical_):
        number = {label: place for place, label in enumerate(model.categories_[j].tolist())}
        X[:, j] = [number.get(label, np.nan) for label in X[:, j].tolist()]
    return X


def subsets_of(forest):
    """Its subsets, and the number of each node's among them; -1 for nodes without."""
    found = [forest.subset_of(node) for node in range(len(forest.feature))]
    has_subset = np.array([subset is not None for subset in found])
    return [subset for subset in found if subset is not None], np.where(has_subset, np.cumsum(has_subset) - 1, -1)


def outputs(model):
    """Class shares, or one mean, of the rows of a model's leaf tables."""
    forest = model.forest_
    if forest.objective.predicts_shares:
        return forest.leaf_weight / forest.leaf_weight.sum(axis=1, keepdims=True)
    return forest.leaf_value[:, None]


def predicted(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)[:, None]


def assert_walks(model, X):
    """Whether leaves, paths and predictions are those of the walk."""
    forest, rows = model.forest_, encoded(model, X).tolist()
    walker = Walker(forest)
    paths = [[walker.path(t, x) for x in rows] for t in range(forest.n_trees)]
    leaves = np.array([[way[-1] for way in ways] for ways in paths])
    np.testing.assert_array_equal(model.apply(X).reshape(len(X), -1), leaves.T)
    found = model.decision_path(X)
    found = found[0] if isinstance(found, tuple) else found
    for i in range(len(X)):
        expected = [offset + node for offset, ways in zip(forest.node_offsets, paths, strict=False) for node in ways[i]]
        assert found[[i]].indices.tolist() == expected
    ends = forest.node_offsets[:-1, None] + leaves
    np.testing.assert_array_equal(predicted(model, X), sum(outputs(model)[forest.leaf_row[ends]]) / forest.n_trees)


# Where missing values, and labels that were not there, go


@METHODS
@SPLITS
@pytest.mark.parametrize("missing_with", [0, 1])
def test_unknown_labels_go_with_the_missing(method, categorical_split, missing_with):
    x = np.array([0.0, 1, 2, 3, np.nan] * 4)[:, None]
    y = np.array([0, 1, 1, 1, missing_with] * 4)
    model = DecisionTreeClassifier(method=method, categorical_split=categorical_split, categorical_features=[0]).fit(x, y)
    assert model.get_n_leaves() == 2
    np.testing.assert_array_equal(model.predict(x), y)
    unknown = np.array([[-1.0], [0.5], [4.0], [64.0], [1e30], [np.inf], [-np.inf], [np.nan]])
    assert model.predict(unknown).tolist() == [missing_with] * len(unknown)


# Many categories


@TREES
@pytest.mark.parametrize(
    ("method", "n_categories"),
    [*product(("hist", "dense"), (64, 65, 256, 257, 5000, 65535)), ("hist", 63), ("hist", 200)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_categories(kind, method, n_categories, dtype):
    """A tree that is grown out gives back y, a function of the category; others go where the arrays say."""
    rng = np.random.default_rng(n_categories)
    number = np.concatenate([rng.permutation(n_categories), rng.integers(0, n_categories, 200)])
    effect = rng.random(n_categories)
    if kind is DecisionTreeClassifier or n_categories > 5000:
        effect = np.floor(6 * effect)
    X = np.stack([3 * number - 100, np.ones(len(number))], axis=1).astype(dtype)
    y = effect[number]
    X[:50, 0], y[:50] = np.nan, effect.max() + 1
    model = kind(method=method, categorical_features=[0], random_state=0).fit(X, y)
    forest = model.forest_
    np.testing.assert_array_equal(model.predict(X), y)
    assert set(forest.feature) == {-1, 0}
    assert forest.n_categories.tolist() == [len(model.categories_[0]), 0]
    assert np.isnan(forest.threshold[forest.feature == 0]).all()
    n_words = np.diff(forest.payload_offsets)
    assert 0 < n_words.max() <= -(-n_categories // 64)
    assert n_words.max() > 1 or n_categories <= 65
    # The last words are not 0, and no category is out of range.
    assert (forest.payload_words[forest.payload_offsets[1:][n_words > 0] - 1] != 0).all()
    assert max(subset.max(initial=0) for subset in subsets_of(forest)[0]) < len(model.categories_[0])
    rows = np.concatenate([X[rng.choice(len(X), 200)], np.array([[-2, 0], [0.5, 0], [2.0**23, 0], [np.nan, 0]], dtype)])
    assert_walks(model, rows)
    assert len(set(model.apply(rows[-4:]))) == 1
    assert model.predict(rows[-4:]).tolist() == [y[0]] * 4


# All that predicts, and all that is estimated


@FORESTS
def test_one_tree_of_a_forest(kind):
    """Its arrays alone, its predictions, and those of a copy."""
    X, y = mixed(kind)
    model = kind(5, random_state=0, **KINDS).fit(X, y)
    rows = probes(model, X)
    forest, (subsets, _) = model.forest_, subsets_of(model.forest_)
    mean = sum(predicted(tree, rows) for tree in model.estimators_) / 5
    np.testing.assert_array_equal(predicted(model, rows), mean)
    before = 0
    for t, tree in enumerate(model.estimators_):
        alone = forest.tree(t)
        assert alone.payload_offsets[0] == 0 and alone.payload_offsets[-1] == len(alone.payload_words)
        subsets_alone, numbers = subsets_of(alone)
        for subset in subsets_alone:
            np.testing.assert_array_equal(subset, subsets[before])
            before += 1
        assert numbers[numbers >= 0].tolist() == list(range(len(alone.payload_offsets) - 1))
        np.testing.assert_array_equal(tree.apply(rows), model.apply(rows)[:, t])
        np.testing.assert_array_equal(alone.packed().apply(encoded(model, rows), 1)[:, 0], model.apply(rows)[:, t])
        np.testing.assert_array_equal(alone.tree(0).payload_words, alone.payload_words)
    assert before == len(subsets)
    copy = pickle.loads(pickle.dumps(model))
    assert_same(copy, model)
    np.testing.assert_array_equal(predicted(copy, rows), predicted(model, rows))


@TREES
def test_categories_left(kind):
    """What the tree in scikit-learn's form says goes left does."""
    X, y = mixed(kind)
    model = kind(random_state=0, **KINDS).fit(X, y)
    tree, rows = model.tree_, encoded(model, X)
    path = model.decision_path(X).toarray().astype(bool)
    tested = [node for node in range(tree.node_count) if tree.feature[node] in KINDS["categorical_features"]]
    assert len(tested) > 10
    for node in range(tree.node_count):
        left = tree.categories_left(node)
        assert (left is None) == (node not in tested)
        if left is not None:
            here, values = path[:, node], rows[:, tree.feature[node]]
            goes_left = np.where(np.isnan(values), tree.missing_go_to_left[node], np.isin(values, left))
            np.testing.assert_array_equal(path[here, node + 1], goes_left[here])


def left_out(model, t, n):
    plan, seed = model.forest_.plans[t], int(model.forest_.seeds[t])
    out = twin_of(plan).counts(n, seed) == 0
    if isinstance(plan, WithLabelOrder):
        out &= [not orders_labels(seed, row) for row in range(n)]
    return out


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
@METHODS
def test_permutation_importance(kind, method):
    """The rise of each tree's error where the categories of the rows it left out change places."""
    X, y = mixed(kind, n=200)
    model = kind(8, method=method, variable_importance="mda_raw", random_state=0, **KINDS).fit(X, y)
    forest, expected = model.forest_, np.zeros((8, X.shape[1]))

    def error(tree, X, y):
        return np.mean(tree.predict(X) != y if kind in CLASSIFIERS else (tree.predict(X) - y) ** 2)

    for t, tree in enumerate(model.estimators_):
        rows = np.flatnonzero(left_out(model, t, len(X)))
        for j in range(X.shape[1]):
            stream, other = naive.Stream(forest.seeds[t], j, PERMUTATION), rows.copy()
            for i in range(len(rows) - 1):
                at = i + stream.below(len(rows) - i)
                other[[i, at]] = other[[at, i]]
            permuted = X[rows]
            permuted[:, j] = X[other, j]
            expected[t, j] = error(tree, permuted, y[rows]) - error(tree, X[rows], y[rows])
    np.testing.assert_allclose(model.variable_importance_, expected.mean(axis=0), rtol=1e-9, atol=1e-12)
    assert (model.variable_importance_[[1, 3]] != 0).all()


@TREES
@METHODS
@SPLITS
def test_the_order_of_labels_does_not_matter(kind, method, categorical_split):
    """Renamed labels give the same leaves. By subset, of three classes they may not: equal shares are in order of labels."""
    X, y = mixed(kind)
    y = y > 2 if kind in CLASSIFIERS else y
    w = np.random.default_rng(1).integers(1, 10**6, len(y)).astype(float)
    renamed = X.copy()
    renamed[:, 1], renamed[:, 3] = -X[:, 1], X[:, 3] * 7 % 131  # a prime, so different labels stay so
    model = kind(method=method, categorical_split=categorical_split, max_depth=5, random_state=0, **KINDS)
    leaves = model.fit(X, y, w).apply(X)
    tested = model.forest_.feature
    assert {1, 3} & set(tested)
    np.testing.assert_array_equal(model.fit(renamed, y, w).apply(renamed), leaves)
    np.testing.assert_array_equal(model.forest_.feature, tested)


# The random strategy


def root_subsets(n_trees, **parameters):
    """The categories that go left in the roots of many trees on four categories, the third of which is rare."""
    x = np.repeat([0.0, 1.0, 2.0, 3.0], [5, 5, 1, 9])[:, None]
    model = ExtraTreesRegressor(n_trees, max_depth=1, random_state=0, categorical_features=[0], **parameters)
    leaves = model.fit(x, np.arange(20.0)).apply(np.arange(4.0)[:, None])
    return ((leaves == 1) * [[1], [2], [4], [8]]).sum(axis=0)


@METHODS
def test_random_subsets_are_uniform(method):
    """Over all subsets but none and all, whatever how many rows a category has."""
    counts = np.bincount(root_subsets(3000, method=method), minlength=16)
    assert counts[0] == counts[15] == 0
    assert chisquare(counts[1:15]).pvalue > 0.001


# Pruning


def assert_cut(small, large, X):
    """Whether a tree is another one cut back, and predicts what that one's nodes say where it was cut."""
    a, b, table = small.forest_, large.forest_, large.forest_.node_table(0)
    (subsets_a, numbers_a), (subsets_b, numbers_b) = map(subsets_of, (a, b))
    place = {0: 0}  # of nodes of the small tree in the large one
    for node in range(len(a.feature)):
        at = place[node]
        if a.feature[node] < 0:
            continue
        for name in ("feature", "threshold", "missing_left"):
            np.testing.assert_array_equal(getattr(a, name)[node], getattr(b, name)[at])
        assert (number := numbers_a[node]) < 0 or subsets_a[number].tolist() == subsets_b[numbers_b[at]].tolist()
        place[node + 1], place[int(a.right_child[node])] = at + 1, int(b.right_child[at])
    ends = {at for node, at in place.items() if a.feature[node] < 0}
    walker = Walker(b)
    stops = [next(node for node in walker.path(0, x) if node in ends) for x in encoded(large, X).tolist()]
    np.testing.assert_array_equal(predicted(small, X), table.value[stops])
    assert_walks(small, X)


@TREES
@METHODS
@SPLITS
def test_pruned_trees_predict_what_is_left_of_the_grown_one(kind, method, categorical_split):
    X, y = mixed(kind)
    parameters = {"method": method, "categorical_split": categorical_split, "random_state": 0, **KINDS}
    model = kind(**parameters).fit(X, y)
    rows = probes(model, X)
    alphas = model.cost_complexity_pruning_path(X, y).ccp_alphas
    for alpha in alphas[[len(alphas) // 3, len(alphas) // 2, -8]]:
        pruned = kind(ccp_alpha=alpha, **parameters).fit(X, y)
        assert 1 < pruned.get_n_leaves() < model.get_n_leaves()
        assert len(subsets_of(pruned.forest_)[0]) > 0
        assert_cut(pruned, model, rows)
    pruned = model.prune(*mixed(kind, n=300, seed=3), inplace=False)
    assert pruned.get_n_leaves() < model.get_n_leaves()
    assert_cut(pruned, model, rows)


# Ordinal features

ORDINAL_KINDS = pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (DecisionTreeClassifier, {}),
        (DecisionTreeRegressor, {"max_leaf_nodes": 30}),
        (RandomForestClassifier, {"n_estimators": 5}),
        (RandomForestRegressor, {"n_estimators": 5}),
        (ExtraTreesClassifier, {"n_estimators": 5}),
        (ExtraTreesRegressor, {"n_estimators": 5, "bootstrap": True}),
    ],
)


def levels(kind, n=500):
    """Columns of few, of many, and of infinite values, with missing ones; sorted distinct values of each."""
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(0, 6, n), np.round(rng.standard_normal(n), 3), rng.integers(-4, 5, n) / 4], axis=1)
    y = X[:, 0] ** 2 / 10 + X[:, 1] + rng.standard_normal(n) / 4
    X[X[:, 2] == 1, 2] = np.inf
    X[X[:, 2] == -1, 2] = -np.inf
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.digitize(y, [0, 1]) if kind in CLASSIFIERS else y


@ORDINAL_KINDS
@METHODS
@pytest.mark.parametrize("max_bins", [256, 10])
def test_only_the_order_of_levels_counts(kind, parameters, method, max_bins):
    """Values changed in any way that keeps their order give the same trees, but for thresholds."""
    X, y = levels(kind)
    weight = np.random.default_rng(1).integers(1, 9, len(y)) / 4
    changed = np.stack([np.exp(X[:, 0]), X[:, 1] ** 3 - 7, np.searchsorted(np.unique(X[:, 2]), X[:, 2]) * 1e3], axis=1)
    changed[np.isnan(X)] = np.nan
    parameters = {"method": method, "max_bins": max_bins, "random_state": 0, **parameters}
    a, b = (kind(ordinal_features=[0, 1, 2], **parameters).fit(data, y, weight) for data in (X, changed))
    for name, array in a.forest_.as_dict().items():
        if name != "threshold":
            np.testing.assert_array_equal(array, b.forest_.as_dict()[name], err_msg=name)
    np.testing.assert_array_equal(a.apply(X), b.apply(changed))
    # Values of training in rows that were not there.
    rng = np.random.default_rng(2)
    rows = np.stack([rng.integers(0, len(X), 1000) for _ in range(3)], axis=1)
    columns = np.arange(3)
    np.testing.assert_array_equal(a.apply(X[rows, columns]), b.apply(changed[rows, columns]))
    np.testing.assert_array_equal(predicted(a, X[rows, columns]), predicted(b, changed[rows, columns]))
