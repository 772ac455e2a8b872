"""Honest trees, whose splits and leaves know different rows, and little bags: the same bits everywhere, and what follows."""

import pickle
import signal

import numpy as np
import pytest
from helpers.device_forests import TUNINGS, random_fit, standing_in, tables, tuned
from helpers.host_device import strict_device
from helpers.ranks import CUTS, Cut, fit_by_ranks
from helpers.rings import some
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from twins.sampling import twin_of

import dforest
from dforest.callback.base import Callback, is_step
from dforest.core.draws import Groups, Strata
from dforest.core.halves import HonestHalf, LittleBags, honest, in_bags
from dforest.core.sampling import AllRows, Bootstrap, Subsample
from dforest.engines import tree_steps
from dforest.estimators.results.intervals import mean_and_variance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = X[:, 0] + np.abs(X[:, 1]) + RNG.normal(size=400)
CLASSES = np.digitize(Y, [-0.5, 1.0, 2.0])
SURVIVAL = np.column_stack([RNG.random(400) < 0.7, np.exp(Y / 2)])
TARGETS = {
    "RandomForestClassifier": CLASSES,
    "RandomForestRegressor": Y,
    "ExtraTreesClassifier": CLASSES,
    "ExtraTreesRegressor": np.column_stack([Y, X[:, 2]]),
    "DecisionTreeClassifier": CLASSES,
    "DecisionTreeRegressor": Y,
    "ExtraTreeRegressor": Y,
    "RandomSurvivalForest": SURVIVAL,
    "ExtraSurvivalTrees": SURVIVAL,
    "SurvivalTree": SURVIVAL,
}


@st.composite
def plans(draw):
    """(a sampling plan, the number of rows, the number of the group of each row, which groups are drawn by)"""
    n = draw(st.integers(1, 9000))
    kind = draw(st.sampled_from(["all", "bootstrap", "subsample", "strata", "weights", "groups", "blocks"]))
    if kind == "weights":
        mass = np.ones(n, np.uint32)
        mass[draw(st.integers(0, n - 1))] = 2**31
        return Strata(None, np.array([70]), True, mass), n, np.arange(n)
    if kind == "strata":
        stratum = np.arange(n, dtype=np.uint32) % 3
        return Strata(stratum, np.where(np.bincount(stratum, minlength=3) > 0, 1 + n // 4, 0), True), n, np.arange(n)
    if kind in ("groups", "blocks"):
        length = draw(st.integers(1, max(1, n // 3)))
        number, n_groups = np.arange(n) // length, -(-n // length)
        n_draws = max(1, n_groups * draw(st.integers(0, 10)) // 10)
        given = (number.astype(np.uint32), n_draws, False) if kind == "groups" else (None, n_draws, False, n, length)
        return Groups(*given), n, number
    n_draws = draw(st.integers(1, 3)) if draw(st.booleans()) else max(1, n * draw(st.integers(1, 10)) // 10)
    return {"all": AllRows(), "bootstrap": Bootstrap(n_draws), "subsample": Subsample(n_draws)}[kind], n, np.arange(n)


@given(plans(), st.integers(0, 2**32 - 1), st.sampled_from([0.5, 0.2, 0.9, 0.01]))
def test_halves_part_what_a_tree_draws(case, seed, share):
    plan, n, group = case
    splits = honest(plan, share)
    filling, counts = splits.filling(), plan.counts(n, seed)
    one, other = splits.counts(n, seed), filling.counts(n, seed)
    if n < 6000:
        assert np.array_equal(one, twin_of(splits).counts(n, seed))
        assert np.array_equal(other, twin_of(filling).counts(n, seed))
    assert np.array_equal(splits.drawn().counts(n, seed), counts) and np.array_equal(splits.used().counts(n, seed), counts)
    assert splits.count_draws(n, seed) == one.sum() and filling.count_draws(n, seed) == other.sum()
    n_drawn = len(np.unique(group[counts > 0]))
    if n_drawn == 1:
        assert np.array_equal(one, counts) and np.array_equal(other, counts)
        return
    assert np.array_equal(one + other, counts)
    assert one.any() and other.any()
    assert not set(group[one > 0]) & set(group[other > 0])
    n_blocks = -(-len(np.unique(group)) // 4096)
    assert abs(len(np.unique(group[one > 0])) - share * n_drawn) <= n_blocks
    block = n // 4096 // 2
    for half, whole in ((splits, one), (filling, other)):
        part = half.counts(n, seed, range(block, block + 1))
        assert np.array_equal(part, whole[block * 4096 : (block + 1) * 4096])
        assert pickle.loads(pickle.dumps(half)) == half


def test_each_row_is_in_either_half_by_its_share():
    plan = HonestHalf(AllRows(), 0.3)
    often = np.mean([plan.counts(5000, seed) for seed in range(1000)], axis=0)
    assert abs(often.mean() - 0.3) < 0.001
    assert np.abs(often - 0.3).max() < 5 * np.sqrt(0.21 / 1000)


def test_few_draws_of_many_blocks_are_in_both_halves():
    """Two rows of two blocks, one in each half whatever chance says; all such rows are as often in one as in the other."""
    plan, first = honest(Subsample(2), 0.5), []
    for seed in range(400):
        one, other = plan.counts(500_000, seed), plan.filling().counts(500_000, seed)
        assert one.sum() == other.sum() == 1
        first.append(one.argmax() < other.argmax())
    assert 0.4 < np.mean(first) < 0.6
    forest = dforest.RandomForestRegressor(30, honest=True, honest_fraction=0.1, bootstrap="subsample", max_samples=3)
    rows = np.arange(100_000.0)[:, None]
    assert np.isin(forest.fit(rows, rows[:, 0]).forest_.n_draws, [1, 2]).all()


def test_a_row_that_outweighs_all_others_is_in_both_halves():
    weight = np.where(np.arange(400) == 7, 1e12, 1.0)
    forest = dforest.RandomForestRegressor(5, honest=True, bootstrap="weighted", keep_training_data=True, random_state=0)
    forest.fit(X, Y, weight)
    assert (forest.predict(X) == Y[7]).all()
    assert np.allclose(forest.forest_weights(X[:3]).sum(axis=1), 1)


def test_groups_are_drawn_by_what_fits_them():
    group = np.repeat(np.arange(15), 2).astype(np.uint32)
    for n_draws, replace, plan in ((1, True, Bootstrap(15)), (5, False, Bootstrap(5)), (5, False, AllRows())):
        with pytest.raises(ValueError, match="allowed are plans of at most so many draws"):
            Groups(group, n_draws, replace, of_groups=plan)
    plan = Groups(group, 5, False)
    assert plan.used() is plan and plan.drawn() is plan and plan.filling() is plan
    assert "of_groups" not in repr(plan)
    half = honest(plan, 0.5)
    assert half.filling() is half.filling() and half.drawn() == plan
    assert Groups(*plan.__reduce__()[1]) == plan and Groups(*half.__reduce__()[1]) == half


@given(st.integers(3, 9000), st.integers(2, 5), st.integers(0, 2**64 - 1), st.booleans())
def test_trees_of_a_bag_share_half_of_the_rows(n, size, seed, of_groups):
    seeds = dforest.core.grow.trainer.tree_seeds(seed, range(3 * size))
    n_units = -(-n // 2) if of_groups else n
    n_draws = max(1, n_units // 3)
    plan = Groups(None, n_draws, False, n, 2) if of_groups else Subsample(n_draws)
    bags = in_bags(plan, n, size, seed)
    halves = []
    if n < 6000:
        assert np.array_equal(bags.counts(n, int(seeds[-1])), twin_of(bags).counts(n, int(seeds[-1])))
    for bag in range(3):
        counts = np.stack([bags.counts(n, int(s)) for s in seeds[bag * size : (bag + 1) * size]])
        assert counts.max() == 1
        drawn = counts[:, ::2].sum(axis=1) if of_groups else counts.sum(axis=1)
        assert (drawn == n_draws).all()
        halves.append(counts.any(axis=0))
    most = -(-n_units // 2) * (2 if of_groups else 1)
    assert max(half.sum() for half in halves) <= most
    whole = in_bags(Subsample((n + 1) // 2), n, size, seed)
    first = [whole.counts(n, int(s)) for s in seeds[: size + 1]]
    assert all(np.array_equal(first[0], other) for other in first[:size])
    if n > 200:
        assert not np.array_equal(first[0], first[size])
        assert not np.array_equal(halves[0], halves[1])


def test_draws_of_a_bag_have_equal_chances():
    seeds = dforest.core.grow.trainer.tree_seeds(3, range(2000))
    often = np.mean([LittleBags(1000, 2500, 2, 3).counts(5000, int(seed)) for seed in seeds], axis=0)
    assert np.abs(often - 0.2).max() < 6 * np.sqrt(0.16 / 1000)


def test_other_draws_have_no_bags():
    with pytest.raises(ValueError, match=r"Bootstrap\(n_draws=5\) does not draw without replacement"):
        in_bags(Bootstrap(5), 10, 2, 0)
    with pytest.raises(ValueError, match="trees draw 6 of 10 rows or groups, but those of a bag share half of them"):
        in_bags(Subsample(6), 10, 2, 0)
    with pytest.raises(ValueError, match=r"Bootstrap\(n_draws=200\) does not draw without replacement"):
        dforest.RandomForestRegressor(4, ci_group_size=2).fit(X, Y)
    for kind, bootstrap in ((dforest.RandomForestRegressor, False), (dforest.ExtraTreesRegressor, "auto")):
        with pytest.raises(ValueError, match="ci_group_size=2 with bootstrap=.*by which each tree takes every row"):
            kind(4, ci_group_size=2, bootstrap=bootstrap).fit(X, Y)


# The naive twin: a tree as nested tuples, whose leaves are numbers of nodes.


def nested(tree, node=0):
    if tree.feature[node] < 0:
        return node
    return node, nested(tree, node + 1), nested(tree, int(tree.right_child[node]))


def pruned(tree, left, counts, fewest):
    """A nested tree without leaves of fewer draws than `fewest`; and the leaf of each row.

    left : [n_nodes, n_rows] whether a row goes left; counts : [n_rows] draws
    """

    def leaf_of(tree, row):
        while isinstance(tree, tuple):
            tree = tree[1 if left[tree[0], row] else 2]
        return tree

    def leaves_of(tree):
        return [leaf for side in tree[1:] for leaf in leaves_of(side)] if isinstance(tree, tuple) else [tree]

    def without(tree, goes):
        if not isinstance(tree, tuple):
            return tree
        node, one, other = tree
        both = [not isinstance(side, tuple) and side in goes for side in (one, other)]
        if all(both):
            return node
        if any(both):
            return without(other if both[0] else one, goes)
        return node, without(one, goes), without(other, goes)

    while isinstance(tree, tuple):
        reached = np.array([leaf_of(tree, row) for row in range(len(counts))])
        goes = {leaf for leaf in leaves_of(tree) if counts[reached == leaf].sum() < fewest}
        if not goes:
            break
        tree = without(tree, goes)
    return tree, np.array([leaf_of(tree, row) for row in range(len(counts))])


def as_they_are(step, trees):
    """What a step that does nothing makes of trees."""
    return [tree._replace(arrays=tree.arrays.copy()) for tree in trees]


def shape(tree):
    return tuple(map(shape, tree[1:])) if isinstance(tree, tuple) else None


def order(tree):
    return [leaf for side in tree[1:] for leaf in order(side)] if isinstance(tree, tuple) else [tree]


@pytest.mark.parametrize("fewest", [1, 5])
@pytest.mark.parametrize("bootstrap", [True, "subsample"])
@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor", "ExtraTreesRegressor"])
def test_trees_are_those_of_the_naive_twin(name, bootstrap, fewest, monkeypatch):
    for seed in some(range(20), 3):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 120))
        rows, y = np.round(rng.normal(size=(n, 3)), 1), rng.integers(0, 3, n).astype(np.float64)
        rows[rng.random((n, 3)) < 0.1] = np.nan
        model = getattr(dforest, name)(
            4, honest=True, honest_fraction=float(rng.choice([0.5, 0.3])), bootstrap=bootstrap, min_samples_leaf=fewest,
            categorical_features=None, random_state=seed,
        )  # fmt: skip
        found = model.fit(rows, y).forest_
        with monkeypatch.context() as patch:
            patch.setattr(tree_steps.RefilledLeaves, "apply", as_they_are)
            grown = model.fit(rows, y).forest_
        for t in range(4):
            tree, plan = grown.tree(t), found.plans[t]
            counts = plan.filling().counts(n, int(found.seeds[t]))
            value = rows[:, np.maximum(tree.feature, 0)].T
            left = np.where(np.isnan(value), tree.missing_left[:, None], value <= tree.threshold[:, None])
            expected, leaf = pruned(nested(tree), left, counts, fewest)
            own = found.tree(t)
            assert shape(nested(own)) == shape(expected)
            assert np.array_equal(own.right_child[own.feature >= 0], np.array(right_children(expected)))
            kept = [node for node in inner(expected)]
            assert np.array_equal(own.feature[own.feature >= 0], tree.feature[kept])
            assert np.array_equal(own.threshold[own.feature >= 0], tree.threshold[kept])
            ends = own.leaf_row[own.feature < 0]
            for row, node in zip(ends.tolist(), order(expected), strict=True):
                here = counts * (leaf == node)
                assert own.leaf_draws[row] == here.sum() > 0
                if name == "RandomForestClassifier":
                    weights = np.bincount(y.astype(int), here, own.leaf_weight.shape[1])
                    assert own.leaf_weight[row].tolist() == weights.tolist()
                else:
                    assert own.leaf_value[row] == pytest.approx(np.average(y, weights=here), abs=1e-12)


def inner(tree):
    return [tree[0], *inner(tree[1]), *inner(tree[2])] if isinstance(tree, tuple) else []


def right_children(tree, first=0):
    """The right children of inner nodes, as preorder numbers them."""
    if not isinstance(tree, tuple):
        return []
    right = first + 1 + size_of(tree[1])
    return [right, *right_children(tree[1], first + 1), *right_children(tree[2], right)]


def size_of(tree):
    return 1 + size_of(tree[1]) + size_of(tree[2]) if isinstance(tree, tuple) else 1


@pytest.mark.parametrize("first", some(range(0, 200, 10), 4))
def test_threads_devices_and_ranks_grow_the_same_honest_trees(first):
    n_fits = 0
    for seed in range(first, first + 10):
        model, rows, y, weight = random_fit(seed)
        if model.monotonic_cst is not None:
            continue
        rng = np.random.default_rng(seed)
        model.set_params(honest=True, honest_fraction=float(rng.choice([0.5, 0.25, 0.8])))
        if seed % 3 == 0:
            model.set_params(bootstrap="subsample", max_samples=None)
            if "ci_group_size" in model.get_params():
                model.set_params(ci_group_size=2)
        expected = tables(model.set_params(n_jobs=1).fit(rows, y, weight).forest_)
        n_fits += 1
        assert tables(model.set_params(n_jobs=3).fit(rows, y, weight).forest_) == expected, seed
        with standing_in(strict_device()), tuned(TUNINGS[seed % len(TUNINGS)] | {"n_items": 1}):
            there = model.set_params(device="sycl").fit(rows, y, weight).forest_
        assert tables(there) == expected, seed
        model.set_params(device=None)
        size = int(rng.integers(2, 4))
        for fitted in fit_by_ranks(model, rows, y, weight, Cut.random(rng, len(y), size, CUTS[seed % len(CUTS)]), size):
            assert tables(fitted.forest_) == expected, seed
    assert n_fits


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_read_from_honest_trees(name, tmp_path):
    y, model = TARGETS[name], getattr(dforest, name)(honest=True, random_state=0)
    if "n_estimators" in model.get_params():
        model.set_params(n_estimators=12)
    rows = X.copy()
    rows[:, 4] = np.digitize(rows[:, 4], [-1, 0, 1])
    rows[::17, 1] = np.nan
    model.set_params(categorical_features=[4]).fit(rows, y)
    prediction = model.predict(rows)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(rows), prediction) and copy.forest_.plans == model.forest_.plans
    model.save(tmp_path / "model.dforest")
    read = dforest.load(tmp_path / "model.dforest")
    assert read.digest() == model.digest() and np.array_equal(read.predict(rows), prediction)
    for t in range(model.forest_.n_trees):
        counts = model.forest_.row_counts(t)
        assert model.forest_.n_draws[t] == counts.sum()
        drawn = model.forest_.drawn_counts(t)
        assert np.array_equal(model.forest_.left_out(t), drawn == 0) and (counts <= drawn).all()
        own = model.forest_.tree(t)
        leaf, is_leaf = own.packed().apply(rows, 1)[:, 0], own.feature < 0
        assert np.array_equal(np.bincount(leaf, counts, len(is_leaf))[is_leaf], own.leaf_draws[own.leaf_row[is_leaf]])


def test_a_forest_predicts_by_the_weights_of_rows_that_fill_leaves():
    forest = dforest.RandomForestRegressor(20, honest=True, keep_training_data=True, random_state=0).fit(X, Y)
    weights = forest.forest_weights(X[:50])
    assert np.allclose(weights @ Y, forest.predict(X[:50]))
    filling = np.any([forest.forest_.row_counts(t) > 0 for t in range(20)], axis=0)
    assert not weights.toarray()[:, ~filling].any()
    quantiles = forest.predict_quantiles(X[:50], [0.1, 0.5, 0.9])
    assert (np.diff(quantiles, axis=1) >= 0).all() and np.isin(quantiles, Y).all()
    assert np.allclose(np.asarray(forest.proximity(X[:9]).sum(axis=1)).ravel(), 1)
    shap = forest.shap_values(X[:20])
    assert np.allclose(shap.values.sum(axis=1) + shap.base_values, forest.predict(X[:20]))


@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor", "DecisionTreeRegressor"])
def test_honest_trees_are_exported_as_others_are(name):
    model = getattr(dforest, name)(honest=True, random_state=0)
    model.set_params(**({"n_estimators": 5} if "n_estimators" in model.get_params() else {})).fit(X, TARGETS[name])
    np.testing.assert_allclose(model.to_sklearn().predict(X), model.predict(X))
    assert "double" in model.to_c()
    if name == "DecisionTreeRegressor":
        assert dforest.export_text(model, max_depth=100).count("value:") == np.count_nonzero(model.forest_.feature < 0)
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model.to_onnx()  # which compares what is predicted


def test_rows_of_either_half_are_not_out_of_bag():
    forest = dforest.RandomForestRegressor(40, honest=True, oob_score=True, random_state=0).fit(X, Y)
    trees = np.stack([tree.predict(X) for tree in forest.estimators_])
    left_out = np.ones((40, len(X)), bool)
    for t, rows in enumerate(forest.estimators_samples_):
        left_out[t, rows] = False
    np.testing.assert_allclose(forest.oob_prediction_, (trees * left_out).sum(axis=0) / left_out.sum(axis=0))
    assert 0.6 < 1 - left_out.mean() < 0.66


def test_an_honest_forest_goes_on_and_stays_as_one_fit_has_it():
    whole = dforest.RandomForestRegressor(9, honest=True, bootstrap="subsample", ci_group_size=2, random_state=5).fit(X, Y)
    grown = dforest.RandomForestRegressor(4, honest=True, bootstrap="subsample", ci_group_size=2, warm_start=True, random_state=5)
    grown.fit(X, Y).set_params(n_estimators=9).fit(X, Y)
    assert tables(whole.forest_) == tables(grown.forest_)


def test_an_interrupted_fit_keeps_the_trees_that_are_finished():
    class CtrlC(Callback):
        def on_fit_task_end(self, estimator, context):
            if is_step(context) and context.task_id == 2:
                signal.raise_signal(signal.SIGINT)

    model = dforest.RandomForestRegressor(60, honest=True, random_state=0)
    kept = model.set_callbacks(dforest.callback.KeepOnInterrupt(), CtrlC()).fit(X, Y).forest_
    assert 3 <= kept.n_trees < 60
    whole = dforest.RandomForestRegressor(kept.n_trees, honest=True, random_state=0).fit(X, Y).forest_
    assert tables(whole) == tables(kept)


def test_bags_of_other_rows_are_none():
    model = dforest.RandomForestRegressor(3, honest=True, bootstrap="subsample", ci_group_size=2, warm_start=True, random_state=0)
    model.fit(X, Y).set_params(n_estimators=8).fit(X[:300], Y[:300])
    with pytest.raises(ValueError, match="grown on the same rows"):
        model.predict_interval(X, method="little_bags")


def test_a_share_of_draws_is_one_of_each_half():
    model = dforest.DecisionTreeRegressor(honest=True, honest_fraction=0.9, min_samples_leaf=0.1, random_state=0).fit(X, Y)
    assert model.forest_.n_draws[0] == 40
    assert len(model.forest_.feature) > 1 and model.forest_.leaf_draws.min() >= 4


def test_medians_of_honest_trees_are_of_the_rows_that_fill_them():
    model = dforest.DecisionTreeRegressor(criterion="absolute_error", honest=True, max_depth=3, random_state=0).fit(X, Y)
    tree, counts = model.forest_, model.forest_.row_counts(0)
    paths = model.decision_path(X).toarray().astype(bool)
    inner_nodes = np.flatnonzero(tree.feature >= 0)
    for i, node in enumerate(inner_nodes):
        here = Y[paths[:, node] & (counts > 0)]
        low, high = np.sort(here)[[(len(here) - 1) // 2, len(here) // 2]]
        assert low <= tree.inner[i, 0] <= high
        assert tree.inner[i, 1] == pytest.approx(np.abs(here - np.median(here)).mean())


def test_groups_go_whole_to_one_side():
    groups = np.arange(400) // 8
    forest = dforest.RandomForestRegressor(10, honest=True, bootstrap="group", random_state=0)
    forest.fit(X, Y, groups=groups)
    for t in range(10):
        filling, drawn = (of(t) > 0 for of in (forest.forest_.row_counts, forest.forest_.drawn_counts))
        assert not set(groups[filling]) & set(groups[drawn & ~filling])
    sampling = dforest.sampling.GroupSampling(replace=False)
    forest = dforest.RandomForestRegressor(4, honest=True, bootstrap=sampling, ci_group_size=2).fit(X, Y, groups=groups)
    assert forest.predict_interval(X[:5], method="little_bags").shape == (5, 2)


def test_what_honest_trees_cannot_have_is_refused():
    with pytest.raises(ValueError, match="honest=True with monotonic_cst=.*rows that have not chosen the splits may break"):
        dforest.RandomForestRegressor(2, honest=True, monotonic_cst=[1, 0, 0, 0, 0]).fit(X, Y)
    with pytest.raises(ValueError, match='honest=True with categorical_split="order" is not supported'):
        dforest.RandomForestRegressor(2, honest=True, categorical_split="order").fit(X, Y)
    with pytest.raises(ValueError, match="honest_fraction"):
        dforest.RandomForestRegressor(2, honest=True, honest_fraction=1.0).fit(X, Y)
    with pytest.raises(TypeError, match="Boosted trees are not honest: each is grown by what the trees before it leave over"):
        dforest.HistGradientBoostingRegressor(honest=True)


def naive_variance(trees, size):
    bags = trees[: len(trees) // size * size].reshape(-1, size) - trees.mean()
    between, total = np.mean(bags.mean(axis=1) ** 2), np.mean(bags**2)
    noise = (total - between) / (size - 1)
    error = max(between, noise) * np.sqrt(2 / len(bags))
    ratio = (between - noise) / error
    return between - noise + error * norm.pdf(ratio) / norm.cdf(ratio)


@pytest.mark.parametrize("size", [2, 5])
def test_the_variance_of_bags_is_that_of_the_naive_twin(size):
    rng = np.random.default_rng(1)
    trees = rng.normal(size=(30, 43)) + np.repeat(rng.normal(size=(30, 43 // size + 1)), size, axis=1)[:, :43]
    mean, variance = mean_and_variance(trees, size)
    assert np.allclose(mean, trees.mean(axis=1))
    assert np.allclose(variance, [naive_variance(row, size) for row in trees])
    counts = rng.random((30, 43)) < 0.9
    mean, variance = mean_and_variance(trees, size, counts)
    assert np.allclose(mean, [row[own].mean() for row, own in zip(trees, counts, strict=True)])
    assert mean_and_variance(np.ones((2, 8)), 2)[1].tolist() == [0.0, 0.0]
    assert np.isnan(mean_and_variance(trees[:, :8], size, np.zeros((30, 8), bool))[1]).all()


def test_intervals_by_little_bags():
    forest = dforest.RandomForestRegressor(
        200, honest=True, bootstrap="subsample", ci_group_size=2, keep_training_data=True, min_samples_leaf=5, random_state=0
    ).fit(X, Y)
    ends = forest.predict_interval(X, 0.95, "little_bags")
    assert np.allclose(ends.mean(axis=1), forest.predict(X))
    wider = forest.predict_interval(X, 0.99, "little_bags")
    assert (wider[:, 0] < ends[:, 0]).all() and (wider[:, 1] > ends[:, 1]).all()
    out_of_bag = forest.predict_interval(level=0.95, method="little_bags")
    left_out = np.stack([forest.forest_.left_out(t) for t in range(200)])
    trees = np.stack([tree.predict(X) for tree in forest.estimators_])
    assert np.allclose(out_of_bag.mean(axis=1), (trees * left_out).sum(axis=0) / left_out.sum(axis=0))
    several = dforest.ExtraTreesRegressor(20, honest=True, bootstrap="subsample", ci_group_size=4, random_state=0)
    assert several.fit(X, X[:, :2]).predict_interval(X[:7], method="little_bags").shape == (7, 2, 2)
    with pytest.raises(ValueError, match='X=None with method="oob"|X=None with method=\'oob\''):
        forest.predict_interval()
    with pytest.raises(ValueError, match='method="little_bags" needs two bags of trees or more'):
        dforest.RandomForestRegressor(4, random_state=0).fit(X, Y).predict_interval(X, method="little_bags")
