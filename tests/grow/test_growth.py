"""Best-first growth and limits on growth: limited trees against the full tree cut back by hand.

A node's best split depends on its draws alone, so a limit that looks at one node at a time, or at the
order of nodes, gives the full tree without what grows below some nodes.
"""

import heapq
from typing import NamedTuple

import numpy as np
import pytest
from twins.sampling import Bootstrap, twin_of

from dforest import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.testing import coding, scores

KINDS = {
    "gini": RandomForestClassifier,
    "entropy": RandomForestClassifier,
    "squared_error": RandomForestRegressor,
}
CRITERIA = pytest.mark.parametrize("criterion", KINDS)
METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
SPLITTERS = pytest.mark.parametrize("splitter", ["best", "random"])


def problem(criterion, seed=0, n=150):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(n)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y if criterion == "squared_error" else np.digitize(y, [0, 1.5])


def fit(criterion, X, y, sample_weight=None, **parameters):
    parameters = {"n_estimators": 3, "max_features": 2, "random_state": 0} | parameters
    return KINDS[criterion](criterion=criterion, **parameters).fit(X, y, sample_weight)


class Node(NamedTuple):
    """A node of a tree; right is None for leaves. The left child is the next node."""

    split: tuple  # feature, threshold, missing_left
    right: int
    depth: int
    draws: int
    weight: float
    impurity: float
    score: float  # of its split


def nodes_of(model, t, X, y, sample_weight=None):
    """All nodes of a tree in preorder, from the rows that a bootstrap by the naive twin sends through it."""
    forest, tree = model.forest_, model.forest_.tree(t)
    criterion, n_classes = model.criterion, forest.objective.n_classes
    counts = twin_of(forest.plans[t]).counts(len(X), forest.seeds[t])
    weight, unit = (np.ones(len(X), int), 1.0) if sample_weight is None else coding.integer_weights(sample_weight)
    target, scale = y, coding.Scale()
    if not n_classes:
        target, drawn = np.zeros(len(y), int), np.flatnonzero(counts)
        target[drawn], scale = coding.quantise(y[drawn].tolist())
    nodes = []

    def visit(rows, depth):
        i = len(nodes)
        nodes.append(None)
        draws = [scores.Record(r, int(counts[r]), int(target[r]), int(weight[r])) for r in rows]
        total = scores.statistic(draws, n_classes)
        score = 0.0
        if tree.feature[i] >= 0:
            x = X[rows, tree.feature[i]]
            left = np.where(np.isnan(x), tree.missing_left[i], x <= tree.threshold[i])
            of_left = [draw for draw, goes_left in zip(draws, left, strict=True) if goes_left]
            score = scores.SCORES[criterion](scores.statistic(of_left, n_classes), total)
            score *= 4.0**-scale.exponent * unit
            visit(rows[left], depth + 1)
            visit(rows[~left], depth + 1)
        split = tree.feature[i], tree.threshold[i], tree.missing_left[i]
        right = int(tree.right_child[i]) if tree.feature[i] >= 0 else None
        impurity = scores.impurity(draws, total, criterion, scale)
        nodes[i] = Node(split, right, depth, total[0], total[1] * unit, impurity, score)

    visit(np.flatnonzero(counts), 0)
    return nodes


def cut_back(nodes, may_split, max_leaves=None):
    """The numbers of the nodes that are split where `may_split` says so, best first up to a number of leaves."""
    split = set()
    frontier = []

    def add(i):
        if nodes[i].right is not None and may_split(nodes[i]):
            heapq.heappush(frontier, (-nodes[i].score, i))

    add(0)
    while frontier and len(split) + 1 != max_leaves:
        _, i = heapq.heappop(frontier)
        split.add(i)
        add(i + 1)
        add(nodes[i].right)
    return split


def assert_cut_back(model, t, nodes, split):
    """Whether a tree is the full one, with the nodes in `split` alone divided."""
    expected = []

    def visit(i):
        expected.append((i in split, nodes[i]))
        if i in split:
            visit(i + 1)
            visit(nodes[i].right)

    visit(0)
    tree = model.forest_.tree(t)
    is_inner = tree.feature >= 0
    assert is_inner.tolist() == [inner for inner, _ in expected]
    found = list(zip(tree.feature, tree.threshold, tree.missing_left, strict=True))
    for i, (inner, node) in enumerate(expected):
        if inner:
            assert found[i] == node.split
        else:
            assert tree.leaf_draws[tree.leaf_row[i]] == node.draws
            leaf_weight = float(tree.leaf_weight[tree.leaf_row[i]].sum()) * tree.weight_unit[0]
            if len(tree.leaf_shift):
                leaf_weight = np.ldexp(leaf_weight, -tree.leaf_shift[tree.leaf_row[i]])
            assert leaf_weight == pytest.approx(node.weight)


def n_leaves_of(tree):
    return (tree.forest_.feature < 0).sum()


def depth_of(tree):
    depth = np.zeros(len(tree.forest_.feature), int)
    for i in np.flatnonzero(tree.forest_.feature >= 0):
        depth[[i + 1, tree.forest_.right_child[i]]] = depth[i] + 1
    return depth.max()


def assert_same(a, b):
    a, b = a.forest_.as_dict(), b.forest_.as_dict()
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].tobytes() == b[name].tobytes(), name


# Best first


@CRITERIA
@METHODS
@SPLITTERS
@pytest.mark.parametrize("weighted", [False, True])
def test_nodes_are_split_in_the_order_of_their_scores(criterion, method, splitter, weighted):
    X, y = problem(criterion)
    weight = np.random.default_rng(1).random(len(X)) + 0.1 if weighted else None
    parameters = {"method": method, "splitter": splitter}
    full = fit(criterion, X, y, weight, **parameters)
    nodes = [nodes_of(full, t, X, y, weight) for t in range(3)]
    for max_leaf_nodes in (2, 3, 4, 7, 12, 30):
        model = fit(criterion, X, y, weight, max_leaf_nodes=max_leaf_nodes, **parameters)
        for t in range(3):
            split = cut_back(nodes[t], lambda node: True, max_leaf_nodes)
            assert len(split) == max_leaf_nodes - 1
            assert_cut_back(model, t, nodes[t], split)


def test_equal_scores_go_in_preorder():
    """Halves, then quarters of equal score: the quarters on the left are split first."""
    X, y = np.arange(8.0)[:, None], np.arange(8)
    forest = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=6).fit(X, y).forest_
    inner = forest.feature >= 0
    assert forest.threshold[inner].tolist() == [3.5, 1.5, 0.5, 2.5, 5.5]


@CRITERIA
@METHODS
@SPLITTERS
def test_without_an_effective_limit_the_tree_is_the_depth_first_one(criterion, method, splitter):
    X, y = problem(criterion)
    parameters = {"method": method, "splitter": splitter, "n_estimators": 5}
    depth_first = fit(criterion, X, y, **parameters)
    leaves = max(map(n_leaves_of, depth_first.estimators_))
    for max_leaf_nodes in (0, leaves, 10**6):
        assert_same(fit(criterion, X, y, max_leaf_nodes=max_leaf_nodes, **parameters), depth_first)
    limits = {"max_depth": 4, "min_samples_leaf": 3, "min_impurity_decrease": 0.001}
    model = fit(criterion, X, y, max_leaf_nodes=len(X), **limits, **parameters)
    assert_same(model, fit(criterion, X, y, **limits, **parameters))


@CRITERIA
@METHODS
@pytest.mark.parametrize(
    "limit",
    [{}, {"max_depth": 3}, {"max_depth": 1}, {"min_samples_leaf": 10}, {"min_samples_split": 40},
     {"min_weight_fraction_leaf": 0.1}, {"min_impurity_decrease": 0.02}, {"impurity_threshold": 0.4}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("max_leaf_nodes", [2, 5, 9])
def test_number_of_leaves(criterion, method, limit, max_leaf_nodes):
    X, y = problem(criterion)
    without, model = (fit(criterion, X, y, method=method, max_leaf_nodes=n, **limit) for n in (None, max_leaf_nodes))
    for a, b in zip(without.estimators_, model.estimators_, strict=True):
        assert n_leaves_of(b) == min(n_leaves_of(a), max_leaf_nodes)
        assert depth_of(b) <= min(limit.get("max_depth", len(X)), max_leaf_nodes - 1)


def test_single_trees():
    X, y = problem("gini")
    for kind in (DecisionTreeClassifier, DecisionTreeRegressor):
        tree = kind(max_leaf_nodes=5, random_state=0).fit(X, y)
        assert n_leaves_of(tree) == 5
        assert_same(kind(max_leaf_nodes=0, random_state=0).fit(X, y), kind(random_state=0).fit(X, y))
    with pytest.raises(ValueError, match="max_leaf_nodes"):
        kind(max_leaf_nodes=1).fit(X, y)


# Limits


LIMITS = {
    "max_depth": ([1, 2, 5], lambda node, limit, root: node.depth < limit),
    "min_samples_split": ([3, 10, 60, 1000], lambda node, limit, root: node.draws >= limit),
    "impurity_threshold": ([0.1, 0.3, 0.45, 1.0, 99.0], lambda node, limit, root: node.impurity >= limit),
    "min_impurity_decrease": (
        [1e-4, 0.01, 0.03, 0.2, 9.0],
        lambda node, limit, root: node.score / root.weight >= limit,
    ),
}


@CRITERIA
@METHODS
@pytest.mark.parametrize("max_leaf_nodes", [None, 8])
@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_cuts_the_full_tree_back(criterion, method, max_leaf_nodes, name):
    X, y = problem(criterion)
    weight = np.random.default_rng(1).random(len(X)) + 0.1
    full = fit(criterion, X, y, weight, method=method)
    nodes = [nodes_of(full, t, X, y, weight) for t in range(3)]
    limits, may_split = LIMITS[name]
    sizes = set()
    for limit in limits:
        model = fit(criterion, X, y, weight, method=method, max_leaf_nodes=max_leaf_nodes, **{name: limit})
        for t in range(3):
            split = cut_back(nodes[t], lambda node: may_split(node, limit, nodes[t][0]), max_leaf_nodes)  # noqa: B023
            assert_cut_back(model, t, nodes[t], split)
            sizes.add(len(split))
    assert len(sizes) > 1


@pytest.mark.parametrize(
    ("kind", "y", "criterion", "impurity"),
    [
        (DecisionTreeClassifier, [0, 0, 1, 1], "gini", 0.5),
        (DecisionTreeClassifier, [0, 0, 1, 1], "entropy", 1.0),
        (DecisionTreeRegressor, [0, 0, 1, 1], "squared_error", 0.25),
        (DecisionTreeRegressor, np.ldexp([3.0, 3, 5, 5], 300), "squared_error", 2.0**600),
    ],
)
@pytest.mark.parametrize("name", ["impurity_threshold", "min_impurity_decrease"])
@pytest.mark.parametrize("max_leaf_nodes", [None, 4])
def test_at_the_limit_a_node_is_split(kind, y, criterion, impurity, name, max_leaf_nodes):
    X = [[0], [1], [2], [3]]
    for factor, n_leaves in ((1 - 1e-15, 2), (1, 2), (1 + 1e-15, 1)):
        tree = kind(criterion=criterion, max_leaf_nodes=max_leaf_nodes, **{name: impurity * factor}).fit(X, y)
        assert n_leaves_of(tree) == n_leaves, factor


def test_entropy_is_in_bits():
    X, y = np.arange(8)[:, None], np.arange(8)
    for limit, n_leaves in ((3.01, 1), (2.99, 2), (2.01, 2), (1.99, 4), (1.01, 4), (1.0, 8)):
        tree = DecisionTreeClassifier(criterion="entropy", impurity_threshold=limit).fit(X, y)
        assert n_leaves_of(tree) == n_leaves


@CRITERIA
@SPLITTERS
@METHODS
@pytest.mark.parametrize("max_leaf_nodes", [None, 20])
@pytest.mark.parametrize(("draws", "fraction"), [(5, 0.0), (1, 0.07), (12, 0.1), (0.05, 0.0), (1, 0.5)])
def test_leaf_rules(criterion, method, splitter, max_leaf_nodes, draws, fraction):
    """Both rules hold in all leaves, and are of the tree's own draws and their weight."""
    X, y = problem(criterion)
    weight = np.where(np.arange(len(X)) < 5, 20.0, 1.0)
    model = fit(criterion, X, y, weight, method=method, splitter=splitter, min_samples_leaf=draws, max_samples=100,
                min_weight_fraction_leaf=fraction, max_leaf_nodes=max_leaf_nodes, n_estimators=5)  # fmt: skip
    forest, totals = model.forest_, set()
    for t in range(5):
        counts = Bootstrap(100).counts(len(X), forest.seeds[t])
        total = counts @ weight
        totals.add(total)
        leaves = model.estimators_[t].apply(X)
        for leaf in np.flatnonzero(forest.tree(t).feature < 0):
            assert counts[leaves == leaf].sum() >= (draws if draws >= 1 else 100 * draws)
            assert (counts * weight)[leaves == leaf].sum() >= fraction * total
    assert len(totals) > 1


@CRITERIA
@pytest.mark.parametrize(("draws", "fraction"), [(1, 0.0), (6, 0.0), (1, 0.08), (8, 0.03)])
def test_a_leaf_has_no_valid_cut(criterion, draws, fraction):
    X, y = problem(criterion)
    X = np.nan_to_num(X)
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    model = fit(criterion, X, y, weight, method="dense", min_samples_leaf=draws, min_weight_fraction_leaf=fraction)
    forest = model.forest_
    for t in range(3):
        counts = Bootstrap(len(X)).counts(len(X), forest.seeds[t])
        limit = fraction * (counts @ weight)
        leaves = model.estimators_[t].apply(X)
        for leaf in np.unique(leaves):
            rows = (leaves == leaf) & (counts > 0)
            if len(np.unique(y[rows])) == 1:
                continue
            for x in X[rows].T:
                left = (x <= np.unique(x)[:-1, None]).astype(int)  # each cut's rows on the left
                n, w = counts[rows], (counts * weight)[rows]
                valid = np.minimum(left @ n, (1 - left) @ n) >= draws
                valid &= np.minimum(left @ w, (1 - left) @ w) >= limit
                assert not valid.any()


@CRITERIA
@pytest.mark.parametrize(("limit", "number"), [(0.1, 10), (0.101, 11), (1.0, 100)])
def test_a_share_is_of_the_draws_rounded_up(criterion, limit, number):
    X, y = problem(criterion)
    assert_same(
        fit(criterion, X, y, max_samples=100, min_samples_split=limit),
        fit(criterion, X, y, max_samples=100, min_samples_split=number),
    )
    if limit < 1:
        assert_same(
            fit(criterion, X, y, max_samples=100, min_samples_leaf=limit),
            fit(criterion, X, y, max_samples=100, min_samples_leaf=number),
        )


@CRITERIA
def test_more_draws_in_a_leaf_than_there_are(criterion):
    X, y = problem(criterion)
    assert len(fit(criterion, X, y, max_samples=50, min_samples_leaf=50).forest_.feature) == 3
    for limits in ({"max_samples": 50, "min_samples_leaf": 51}, {"bootstrap": False, "min_samples_leaf": 151}):
        assert len(fit(criterion, X, y, **limits).forest_.feature) == 3  # roots
    assert len(fit(criterion, X, y, max_samples=50, min_samples_split=51).forest_.feature) == 3  # 3 roots
