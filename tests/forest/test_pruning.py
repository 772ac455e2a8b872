"""Pruning against brute force over all prunings of small trees, and against scikit-learn."""

import copy
import pickle
import warnings
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from helpers.rings import examples
from helpers.walker import Walker
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier as TheirClassifier
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.core.forest.node_table import least_squares, weakest_links
from dforest.core.integer_weights import integer_weights
from dforest.estimators.results.pruning import cost_complexity

TASKS = pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def is_class(criterion):
    return criterion != "squared_error"


def problem(criterion, seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)).astype(np.float32)
    y = X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(n)
    return X, np.digitize(y, [0, 1]) if is_class(criterion) else y


def sets_of_leaves(tree, i=0):
    """The leaves of each pruning of the branch of a node."""
    yield [i]
    if tree.feature[i] >= 0:
        for left, right in product(sets_of_leaves(tree, i + 1), list(sets_of_leaves(tree, int(tree.right_child[i])))):
            yield left + right


def assert_same(a, b):
    a, b = a.as_dict(), b.as_dict()
    for name in a:
        assert a[name].tobytes() == b[name].tobytes(), name


# Reduced error pruning

numbers = st.sampled_from([0.0, 1.0, 2.0, 3.0, np.nan])


@st.composite
def pruning_problems(draw):
    """A small tree, and rows to prune it by."""
    classes, n_outputs = draw(st.booleans()), draw(st.sampled_from([1, 1, 2, 3]))
    n, m = draw(st.integers(2, 16)), draw(st.integers(1, 12))
    rows = st.lists(numbers, min_size=2, max_size=2)
    X = np.array(draw(st.lists(rows, min_size=n + m, max_size=n + m)))
    targets = st.one_of(st.integers(0, 3), st.floats(-5, 5), st.sampled_from([1e6, 1e-150, 0.1, np.nextafter(0.1, 1)]))
    targets = st.integers(0, 3) if classes else targets
    grown, others = [], []
    for _ in range(n_outputs):
        y = draw(st.lists(targets, min_size=n, max_size=n))
        known = st.sampled_from(sorted(set(y))) if classes else targets
        grown.append(y)
        others.append(draw(st.lists(known, min_size=m, max_size=m)))
    y, z = (np.array(columns, np.int64 if classes else np.float64).T for columns in (grown, others))
    y, z = (y[:, 0], z[:, 0]) if n_outputs == 1 else (y, z)
    weight = draw(st.sampled_from([st.none(), st.integers(0, 3), st.floats(0, 7, allow_subnormal=False)]))
    weight = np.array([draw(weight) for _ in range(m)], np.float64)
    weight = None if np.isnan(weight).any() or not weight.any() else weight
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    tree = kind(max_leaf_nodes=draw(st.integers(2, 7)), splitter="random", random_state=draw(st.integers(0, 9)))
    return tree.fit(X[:n], y), X[n:], z, weight


@settings(max_examples=examples(400), deadline=None)
@given(pruning_problems())
def test_reduced_error_of_all_prunings(case):
    model, X, y, weight = case
    forest = model.forest_
    tree, table = forest.tree(0), forest.node_table(0)
    value = table.value
    if forest.objective.predicts_shares:
        classes = model.classes_ if y.ndim == 2 else [model.classes_]
        value = np.stack([
            known[table.weight[:, own].argmax(axis=1)] for known, own in zip(classes, forest.objective.outputs, strict=True)
        ], axis=1)  # fmt: skip
    kept = slice(None) if weight is None else weight > 0
    integers = np.ones(len(X), int) if weight is None else integer_weights(weight[kept]).fine(kept.sum() * value.shape[1], 53)
    targets = y[kept].reshape(-1, value.shape[1]).tolist()
    walker = Walker(tree)
    rows = [(set(walker.path(0, x)), t, int(w)) for x, t, w in zip(X[kept].tolist(), targets, integers, strict=True)]

    def error(leaves):
        total = 0
        for passed, target, w in rows:
            predicted = value[next(leaf for leaf in leaves if leaf in passed)].tolist()
            for t, p in zip(target, predicted, strict=True):
                total += w * ((t != p) if forest.objective.predicts_shares else (Fraction(t) - Fraction(p)) ** 2)
        return total

    errors = [(error(leaves), len(leaves), leaves) for leaves in sets_of_leaves(tree)]
    best = min(errors)
    assert sum(e[:2] == best[:2] for e in errors) == 1
    cut = np.zeros(len(tree.feature), bool)
    cut[best[2]] = tree.feature[best[2]] >= 0
    before = model.forest_
    pruned = model.prune(X, y, weight, inplace=False)
    assert model.forest_ is before
    assert_same(pruned.forest_, before.cut_back(cut))
    assert model.prune(X, y, weight) is model
    assert_same(model.forest_, pruned.forest_)


@TASKS
def test_a_pruned_tree_is_no_worse(kind):
    X, y = problem("gini" if kind is DecisionTreeClassifier else "squared_error", n=900)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    tree = kind(random_state=0).fit(X[:600], y[:600])
    pruned = tree.prune(X[600:], y[600:], inplace=False)
    assert pruned.score(X[600:], y[600:]) > tree.score(X[600:], y[600:])
    assert 1 < pruned.get_n_leaves() < tree.get_n_leaves()
    assert_same(pruned.prune(X[600:], y[600:], inplace=False).forest_, pruned.forest_)
    # Rows in another order, or as heavy as two of them; rows of weight 0, even of NaN alone.
    order = np.random.default_rng(2).permutation(300) + 600
    assert_same(tree.prune(X[order], y[order], inplace=False).forest_, pruned.forest_)
    assert_same(tree.prune(X[600:], y[600:], np.full(300, 0.3), inplace=False).forest_, pruned.forest_)
    order = np.r_[order, order[:100]]
    weight = np.r_[np.full(100, 2.0), np.ones(200)]
    assert_same(
        tree.prune(X[order], y[order], inplace=False).forest_,
        tree.prune(X[order[:300]], y[order[:300]], weight, inplace=False).forest_,
    )
    weight = np.r_[np.zeros(600), np.ones(300)]
    assert_same(tree.prune(X, y, weight, inplace=False).forest_, pruned.forest_)


def test_errors_of_several_outputs_are_added_up():
    """An output that would lose little by a cut gives way to another that wins more; of numbers, also in the last bit."""
    X = np.arange(4.0)[:, None]
    for small in (1e-3, 1e-200):
        y = np.array([[0.0, small], [0.0, small], [4.0, 0.0], [4.0, 0.0]])
        tree = DecisionTreeRegressor().fit(X, y)
        assert tree.prune(X, y, inplace=False).get_n_leaves() == 2
        for second, n_leaves in ((small, 2), (small / 2, 1), (0.0, 1)):
            # The first output is as wrong on either side as in the middle, so that the second one decides.
            assert tree.prune([[0.0], [3.0]], [[1.0, second], [3.0, small / 4]], inplace=False).get_n_leaves() == n_leaves
        assert tree.prune([[0.0], [3.0]], [[0.9, 0.0], [3.0, small]], inplace=False).get_n_leaves() == 2
    y = np.array([[0, 0], [0, 0], [1, 1], [1, 1]])
    tree = DecisionTreeClassifier().fit(X, y)
    assert tree.prune([[3.0]], [[1, 0]], inplace=False).get_n_leaves() == 1
    assert tree.prune([[3.0], [3.0]], [[1, 0], [1, 1]], inplace=False).get_n_leaves() == 2


@pytest.mark.parametrize("small", [1e-10, 1e-200, 5e-324])
def test_a_branch_that_hardly_saves_anything_stays(small):
    X = np.arange(4.0)[:, None]
    for y in ([0.0, small, 1e9, 1e9], [0.0, small, 1e300, 1e300]):
        tree = DecisionTreeRegressor().fit(X, y)
        assert tree.get_n_leaves() == tree.prune(X, y, inplace=False).get_n_leaves() == 3
        assert tree.prune(X, [small, 0.0, *y[2:]], inplace=False).get_n_leaves() == 2


# Node 0 splits into 1, which splits into 2 and 3, and 4.
@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=5, max_size=5),
    st.lists(st.tuples(st.sampled_from([2, 3, 4]), st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=9),
    st.sampled_from([0.0, 1.0, 1e-3]),
    st.integers(1, 2**31) | st.integers(1, 2**53 - 9),
)
def test_least_squares_of_any_numbers(prediction, rows, near, weight):
    """Also where all targets and predictions are about the same, and ties where they meet in the middle."""
    leaf, target = np.array([leaf for leaf, _ in rows]), np.array([y for _, y in rows])
    prediction = np.array(prediction)
    if near:
        prediction, target = (near + 2.0**-50 * (np.frexp(x)[1] % 4) for x in (prediction, target))
    weights = np.arange(weight, weight + len(rows))
    feature, right = np.array([0, 0, -1, -1, -1], np.int32), np.array([4, 3, 0, 1, 2], np.uint32)
    cut = least_squares(feature, right, prediction[:, None], leaf, target[:, None], weights)

    def error(i, leaves):
        return sum(
            w * (Fraction(y) - Fraction(prediction[i])) ** 2
            for reached, y, w in zip(leaf.tolist(), target.tolist(), weights.tolist(), strict=True)
            if reached in leaves
        )

    below = error(2, {2}) + error(3, {3})
    assert cut[1] == (error(1, {2, 3}) <= below)
    assert cut[0] == (error(0, {2, 3, 4}) <= min(below, error(1, {2, 3})) + error(4, {4}))
    assert not cut[2:].any()


def test_least_squares_where_much_is_in_doubt():
    """Many nested ties in a deep tree, against errors in integers."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        n = 400
        x = rng.random((n, 2))
        y = rng.integers(0, 3, n) * 2.0 + 2.0**20
        tree = DecisionTreeRegressor(splitter="random", random_state=seed).fit(x, y)
        forest = tree.forest_
        prediction = np.rint(forest.node_table(0).value[:, 0])  # integers: ties
        leaf = forest.packed().apply(rng.random((n, 2)), 1)[:, 0]
        cut = least_squares(forest.feature, forest.right_child, prediction[:, None], leaf, y[:, None], None)
        error = [0] * len(cut)
        for reached, target in zip(leaf.tolist(), y.tolist(), strict=True):
            i = 0
            while True:
                error[i] += int(target - prediction[i]) ** 2
                if forest.feature[i] < 0:
                    break
                i = int(forest.right_child[i]) if reached >= forest.right_child[i] else i + 1
        for i in reversed(np.flatnonzero(forest.feature >= 0).tolist()):
            below = error[i + 1] + error[int(forest.right_child[i])]
            assert cut[i] == (error[i] <= below)
            error[i] = min(error[i], below)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_any_unit_of_targets(scale):
    X, y = problem("squared_error")
    scale = 2.0 ** np.round(np.log2(scale))
    models = [DecisionTreeRegressor(min_samples_leaf=3, random_state=0).fit(X[:200], y[:200] * s) for s in (1, scale)]
    for model, s in zip(models, (1, scale), strict=True):
        model.prune(X[200:], y[200:] * s)
    np.testing.assert_array_equal(models[0].forest_.feature, models[1].forest_.feature)
    np.testing.assert_array_equal(models[0].predict(X) * scale, models[1].predict(X))


def test_heavy_rows():
    X, y = problem("squared_error", n=200)
    tree = DecisionTreeRegressor(random_state=0).fit(X[:100], y[:100])
    weight = np.random.default_rng(0).random(100) * 1e300
    a = tree.prune(X[100:], y[100:], weight, inplace=False)
    b = tree.prune(X[100:], y[100:], weight * 2.0**-1000, inplace=False)
    assert_same(a.forest_, b.forest_)


def test_importances_follow():
    X, y = problem("gini")
    tree = DecisionTreeClassifier(random_state=0).fit(X[:150], y[:150])
    before = tree.feature_importances_
    tree.prune(X[150:], y[150:])
    assert tree.feature_importances_.sum() == pytest.approx(1) and (tree.feature_importances_ != before).any()


@TASKS
def test_errors_leave_the_tree_as_it_was(kind):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": [0.0, 1, 2, 3], "b": [1.0, 1, 0, 0]})
    y = np.array([4, 5, 4, 5])
    with pytest.raises(NotFittedError):
        kind().prune(X, y)
    tree = kind().fit(X, y)
    before = dict(vars(tree))
    with pytest.raises(ValueError, match="unseen at fit time:\n- c"):
        tree.prune(X.rename(columns={"b": "c"}), y)
    with pytest.raises(ValueError, match="now missing:\n- b"):
        tree.prune(X[["a"]], y)
    with pytest.raises(ValueError, match="'b' holds the text 'text'"):
        tree.prune(X.astype({"b": object}).replace({"b": {1.0: "text"}}), y)
    with pytest.raises(ValueError, match="inconsistent"):
        tree.prune(X, y[1:])
    with pytest.raises(ValueError, match="non-zero"):
        tree.prune(X, y, np.zeros(4))
    with pytest.raises(ValueError, match="Negative"):
        tree.prune(X, y, [-1, 1, 1, 1])
    if kind is DecisionTreeClassifier:
        with pytest.raises(ValueError, match=r"y holds .*6.*; the classes are \[4, 5\]"):
            tree.prune(X, [4, 5, 6, 4])
    else:
        with pytest.raises(ValueError, match="NaN"):
            tree.prune(X, [4, 5, np.nan, 4])
    assert vars(tree).keys() == before.keys() and all(vars(tree)[name] is before[name] for name in before)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_a_tree_of_a_forest(kind):
    X, y, _ = forest_problem(kind)
    forest = kind(3, random_state=0).fit(X[:200], y[:200])
    tree, before = forest.estimators_[1], forest.predict(X)
    with pytest.raises(ValueError, match="inplace=True, but this tree is one of a forest's estimators_"):
        tree.prune(X[200:], y[200:])
    pruned = tree.prune(X[200:], y[200:], inplace=False)
    assert pruned.get_n_leaves() < tree.get_n_leaves()
    assert len(pruned.forest_.leaf_weight) <= pruned.get_n_leaves()  # its own arrays
    assert forest.estimators_[1] is tree and tree.get_n_leaves() == pickle.loads(pickle.dumps(forest))[1].get_n_leaves()
    np.testing.assert_array_equal(forest.predict(X), before)
    # What is no longer a forest's tree may change.
    assert pruned.prune(X[:50], y[:50]) is pruned
    for own in (copy.copy(tree), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree)), clone(tree).fit(X[:200], y[:200])):
        assert own.prune(X[200:], y[200:]) is own
    assert tree.forest_ is forest.estimators_[1].forest_ and tree.get_n_leaves() > pruned.get_n_leaves()


# Minimal cost-complexity pruning


def pair(criterion, **parameters):
    ours, theirs = (
        (DecisionTreeClassifier, TheirClassifier) if is_class(criterion) else (DecisionTreeRegressor, TheirRegressor)
    )
    # Leaves of several rows: hardly a tie.
    parameters = {"criterion": criterion, "random_state": 0, "min_samples_leaf": 5, **parameters}
    return ours(method="dense", **parameters), theirs(**parameters)


# Unweighted classes have cuts and links of equal strength.
@pytest.mark.parametrize(
    ("criterion", "weighted"), [("gini", True), ("entropy", True), ("squared_error", True), ("squared_error", False)]
)
@pytest.mark.parametrize("seed", range(4))
def test_paths_are_scikit_learns(criterion, weighted, seed):
    X, y = problem(criterion, seed, n=400)
    weight = np.random.default_rng(seed).integers(1, 900, len(X)) / 8 if weighted else None
    ours, theirs = pair(criterion)
    a = ours.cost_complexity_pruning_path(X, y, weight)
    b = theirs.cost_complexity_pruning_path(X, y, weight)
    assert set(a) == {"ccp_alphas", "impurities"} and len(a.ccp_alphas) > 10
    assert not hasattr(ours, "forest_")
    np.testing.assert_allclose(a.ccp_alphas, b.ccp_alphas, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(a.impurities, b.impurities, rtol=1e-9)
    for low, high in list(pairwise(a.ccp_alphas))[:: 5 if seed else 1]:
        alpha = 0.5 * low + 0.5 * high
        mine, their = (tree.set_params(ccp_alpha=alpha).fit(X, y, weight) for tree in (ours, theirs))
        assert len(mine.forest_.feature) == their.tree_.node_count
        np.testing.assert_allclose(mine.predict(X), their.predict(X), rtol=1e-9)


def slow_links(feature, right, decrease):
    """All links measured anew before each cut."""
    cut, found = set(), []

    def measure(i, links):
        if feature[i] < 0 or i in cut:
            return 0.0, 0
        (gain, inner), (more, others) = measure(i + 1, links), measure(int(right[i]), links)
        gain, inner = decrease[i] + (gain + more), 1 + inner + others
        links.append((gain / inner, i, gain))
        return gain, inner

    while True:
        links = []
        measure(0, links)
        if not links:
            return found
        found.append(min(links))
        cut.add(found[-1][1])


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 3.7])), max_size=60))
def test_links_of_any_tree(splits):
    """Trees of any shape, with many links of equal strength."""
    children, leaves = {}, [0]
    for k, (which, _) in enumerate(splits):  # split leaf after leaf, in any order
        node = leaves.pop(which % len(leaves))
        children[node] = (2 * k + 1, 2 * k + 2)
        leaves += children[node]
    order, stack = [], [0]
    while stack:
        order.append(node := stack.pop())
        stack += reversed(children.get(node, ()))
    number = {node: i for i, node in enumerate(order)}
    feature = np.array([0 if node in children else -1 for node in order], np.int32)
    right = np.array([number[children[node][1]] if node in children else 0 for node in order], np.uint32)
    decrease = np.zeros(len(order))
    decrease[feature >= 0] = [value for _, value in splits]
    nodes, strength, rise = weakest_links(feature, right, decrease)
    expected = slow_links(feature, right, decrease)
    assert list(zip(strength.tolist(), nodes.tolist(), rise.tolist(), strict=True)) == expected
    for alpha in (0.0, 0.25, 0.6):
        above = next((k for k, link in enumerate(expected) if link[0] > alpha), len(expected))
        assert weakest_links(feature, right, decrease, alpha)[0].tolist() == nodes[:above].tolist()


@settings(max_examples=examples(100), deadline=None)
@given(pruning_problems(), st.floats(0, 0.5))
def test_no_pruning_costs_less(case, alpha):
    model, X, y, _ = case
    X, y = np.tile(X, (2, 1)), np.r_[y, y[::-1]]
    X[len(y) // 2 :] += 0.5
    parameters = {**model.get_params(), "max_leaf_nodes": 8}
    forest = type(model)(**parameters).fit(X, y).forest_
    pruned = type(model)(**{**parameters, "ccp_alpha": alpha}).fit(X, y).forest_
    share = forest.node_table(0).weight.sum(axis=1) / forest.node_table(0).weight[0].sum()
    risk = share * forest.node_table(0).impurity
    costs = [risk[leaves].sum() + alpha * len(leaves) for leaves in sets_of_leaves(forest.tree(0))]
    table, is_leaf = pruned.node_table(0), pruned.feature < 0
    share = table.weight[is_leaf].sum(axis=1) / table.weight[0].sum()
    assert (share * table.impurity[is_leaf]).sum() + alpha * is_leaf.sum() <= min(costs) * (1 + 1e-9) + 1e-12


FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
ALPHAS = {True: 0.004, False: 0.02}


def forest_problem(kind):
    classes = kind in (RandomForestClassifier, ExtraTreesClassifier)
    return *problem("gini" if classes else "squared_error"), ALPHAS[classes]


@pytest.mark.parametrize("kind", FORESTS)
def test_each_tree_of_a_forest_is_pruned(kind):
    X, y, alpha = forest_problem(kind)
    full = kind(6, random_state=0).fit(X, y).forest_
    model = kind(6, random_state=0, ccp_alpha=alpha, n_jobs=3).fit(X, y)
    cut = np.zeros(len(full.feature), bool)
    for t in range(6):
        tree, table = full.tree(t), full.node_table(t)
        nodes, strength, _ = weakest_links(tree.feature, tree.right_child, table.decrease / table.weight[0].sum())
        cut[full.node_offsets[t] + nodes[strength <= alpha]] = True
    assert_same(model.forest_, full.cut_back(cut))
    assert 6 < (model.forest_.feature < 0).sum() < (full.feature < 0).sum()
    assert_same(model.forest_, kind(6, random_state=0, ccp_alpha=alpha).fit(X, y).forest_)
    assert all(tree.ccp_alpha == alpha for tree in model)


@pytest.mark.parametrize("kind", FORESTS)
def test_warm_start_prunes_the_new_trees(kind):
    X, y, alpha = forest_problem(kind)
    full = kind(5, random_state=0).fit(X, y)
    pruned = kind(5, random_state=0, ccp_alpha=alpha).fit(X, y)
    model = kind(2, random_state=0, warm_start=True).fit(X, y)
    model.set_params(n_estimators=5, ccp_alpha=alpha).fit(X, y)
    for t in range(5):
        expected = (full if t < 2 else pruned).forest_.tree(t)
        np.testing.assert_array_equal(model.forest_.tree(t).feature, expected.feature)
    model = kind(2, random_state=0, warm_start=True, ccp_alpha=alpha).fit(X, y)
    assert_same(model.set_params(n_estimators=5).fit(X, y).forest_, pruned.forest_)


def test_forests_are_looked_through_once(monkeypatch):
    """What takes as long as the whole forest is large isn't done for each tree."""
    X, y, _ = forest_problem(RandomForestRegressor)
    forest = RandomForestRegressor(6, random_state=0).fit(X, y).forest_
    calls = []
    kind = type(forest)
    for name in ("target_exponent", "_leaf_words"):
        method = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda self, name=name, method=method: (calls.append(name), method(self))[1])
    pruned = cost_complexity(forest, range(4, 6), 0.02, 1)
    assert sorted(calls) == ["_leaf_words", "target_exponent"]
    assert len(pruned.feature) < len(forest.feature)
    assert cost_complexity(forest, range(4, 6), 1e-12, 1) is forest  # nothing to cut


@pytest.mark.parametrize("exponent", [-900, -400, 400, 900])
def test_paths_in_any_unit(exponent):
    X, y = problem("squared_error")
    X = X.astype(np.float64)
    model = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    found = model.cost_complexity_pruning_path(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = model.cost_complexity_pruning_path(X, np.ldexp(y, exponent))
        leaves = model.set_params(ccp_alpha=1.0).fit(X, np.ldexp(y, exponent)).get_n_leaves()
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(other.ccp_alphas, np.ldexp(found.ccp_alphas, 2 * exponent))
        if abs(exponent) < 500:
            np.testing.assert_array_equal(other.impurities, np.ldexp(found.impurities, 2 * exponent))
    assert leaves == 1 if exponent < 0 else leaves > 10


def test_a_path_that_leaves_the_range():
    """Rises of the risk are finite, and their sum is not."""
    X, y = np.arange(400.0)[:, None], np.arange(400.0) * np.tile([1, -1], 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, scaled = (DecisionTreeRegressor(method="dense").cost_complexity_pruning_path(X, np.ldexp(y, k)) for k in (0, 505))
    with np.errstate(over="ignore"):
        for name in ("ccp_alphas", "impurities"):
            np.testing.assert_array_equal(scaled[name], np.ldexp(found[name], 1010))
    assert np.isfinite(scaled.ccp_alphas).all() and np.isinf(scaled.impurities[-1])


@TASKS
def test_path_of_a_single_node(kind):
    found = kind().cost_complexity_pruning_path([[0.0], [0.0]], [1, 2])
    np.testing.assert_array_equal(found.ccp_alphas, [0])
    np.testing.assert_array_equal(found.impurities, [0.5 if kind is DecisionTreeClassifier else 0.25])
