"""Leaves that are smoothed: what they predict, beside the naive twin, and what follows for all that reads trees."""

import pickle

import numpy as np
import pytest
from helpers.device_forests import TUNINGS, random_fit, standing_in, tables, tuned
from helpers.host_device import strict_device
from helpers.ranks import CUTS, Cut, fit_by_ranks
from helpers.rings import some
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_wine
from twins.smoothing import paths, smoothed, smoothed_tree

import dforest
from dforest import serving
from dforest.callback import OutOfBagPlateau

RNG = np.random.default_rng(0)
STRENGTHS = st.sampled_from([1e-9, 0.5, 3.0, 40.0, 1e12])
KINDS = [
    "RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor", "DecisionTreeClassifier",
    "DecisionTreeRegressor",
]  # fmt: skip


def one_hot(y):
    """The columns that trees for classes average: a column for each class of each output."""
    columns = y.reshape(len(y), -1).T
    return np.hstack([(own[:, None] == np.unique(own)).astype(float) for own in columns])


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), STRENGTHS, st.booleans(), st.booleans(), st.booleans())
def test_nodes_predict_what_the_twin_does(seed, kind, strength, is_weighed, several, is_honest):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 120))
    X, y = np.round(rng.normal(size=(n, 3)), 1), np.round(rng.normal(size=(n, 2)), 1) * 10.0 ** rng.integers(-3, 4)
    if "Classifier" in kind:
        y = rng.integers(0, 3, (n, 2))
    y = y if several else y[:, 0]
    weight = [rng.integers(1, 5, n).astype(float), rng.random(n), 10.0 ** rng.uniform(-40, 0, n)][rng.integers(3)]
    settings = {"honest": is_honest, "random_state": seed, "max_depth": int(rng.integers(1, 8))}
    model = getattr(dforest, kind)(**settings)
    if "Forest" in kind or "Trees" in kind:
        model.set_params(n_estimators=2, bootstrap=bool(rng.integers(2)))
    own = model.fit(X, y, weight if is_weighed else None).forest_
    forest = clone(model).set_params(leaf_smoothing=strength).fit(X, y, weight if is_weighed else None).forest_
    targets, weight = one_hot(y) if is_classifier(model) else y.reshape(n, -1), weight if is_weighed else np.ones(n)
    scale = np.abs(targets).max()
    for t in range(forest.n_trees):
        tree, before = forest.tree(t), own.tree(t)
        assert np.array_equal(tree.feature, before.feature) and np.array_equal(tree.threshold, before.threshold)
        table, old = forest.node_table(t), own.node_table(t)
        assert np.array_equal(table.draws, old.draws)
        of_outputs = forest.objective.weight_columns
        for columns in of_outputs:
            np.testing.assert_allclose(table.weight[:, columns].sum(axis=1), old.weight[:, columns].sum(axis=1), rtol=1e-9)
        counts = own.plans[t].filling().counts(n, int(own.seeds[t]))
        value, variance = smoothed_tree(before, X, targets, counts, weight, strength)
        np.testing.assert_allclose(table.value, value, rtol=1e-6, atol=1e-9 * scale)
        if weight.max() > 1e6 * weight.min():
            continue  # impurities are of integer weights, of which the lightest are rounded
        # Gini of classes, variances of numbers; means over outputs
        impurity = variance.sum(axis=1) / (y.shape[1] if several else 1)
        np.testing.assert_allclose(table.impurity, impurity, rtol=1e-6, atol=1e-9 * scale**2)


def with_and_without(model, X, y, strength=20):
    """The forest of a model as it is, and with smoothed leaves."""
    return [clone(model).set_params(leaf_smoothing=own).fit(X, y).forest_ for own in (0, strength)]


@pytest.mark.parametrize("criterion", ["gini", "entropy", "hellinger"])
def test_roots_keep_what_they_say_of_classes(criterion):
    X, y = load_wine(return_X_y=True)
    y = y == 0 if criterion == "hellinger" else y
    own, forest = with_and_without(dforest.RandomForestClassifier(5, criterion=criterion, random_state=0), X, y)
    for t in range(5):
        table, old = forest.node_table(t), own.node_table(t)
        np.testing.assert_allclose(table.weight[0], old.weight[0], rtol=1e-10)
        assert table.impurity[0] == pytest.approx(old.impurity[0], rel=1e-12)
        assert table.impurity[1:].min() > 0


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_roots_keep_what_they_say_of_numbers(criterion):
    """The impurity of the root is the mean of those below and what tells these apart, so that those of leaves are right."""
    X, y = load_diabetes(return_X_y=True)
    y = np.maximum(0, y - 100)
    own, forest = with_and_without(dforest.RandomForestRegressor(5, criterion=criterion, random_state=0), X, y)
    for t in range(5):
        table, old = forest.node_table(t), own.node_table(t)
        assert table.value[0] == pytest.approx(old.value[0], rel=1e-12)
        assert table.impurity[0] == pytest.approx(old.impurity[0], rel=1e-12)
        assert table.value.min() >= 0


def test_medians_are_smoothed_and_impurities_kept():
    X, y = load_diabetes(return_X_y=True)
    own, forest = with_and_without(dforest.DecisionTreeRegressor(criterion="absolute_error", max_depth=3), X, y)
    old, table = own.node_table(0), forest.node_table(0)
    medians, n = old.value[:, 0], old.draws
    expected = np.array([smoothed(medians[:, None], n, path, 20)[0] for path in paths(own)])
    np.testing.assert_allclose(table.value[:, 0], expected, rtol=1e-12)
    assert np.array_equal(table.impurity, old.impurity) and np.array_equal(table.decrease, old.decrease)


def test_importances_count_decreases_of_few_draws_less():
    X, y = load_diabetes(return_X_y=True)
    own, model = (dforest.DecisionTreeRegressor(leaf_smoothing=strength, min_samples_leaf=5).fit(X, y) for strength in (0, 20))
    old, table = (one.forest_.node_table(0) for one in (own, model))
    np.testing.assert_allclose(table.decrease, old.decrease / (1 + 20 / old.draws) ** 2, rtol=1e-9)
    expected = np.bincount(own.forest_.feature[own.forest_.feature >= 0], table.decrease[own.forest_.feature >= 0], X.shape[1])
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())


@pytest.mark.parametrize("first", some(range(0, 100, 10), 3))
def test_devices_ranks_and_threads_smooth_alike(first):
    for seed in range(first, first + 10):
        model, X, y, weight = random_fit(seed)
        if model.monotonic_cst is not None:
            continue
        model.set_params(leaf_smoothing=float(1 + seed % 7), honest=seed % 3 == 0 and model.categorical_split != "order")
        expected = tables(model.set_params(n_jobs=1).fit(X, y, weight).forest_)
        assert tables(model.set_params(n_jobs=3).fit(X, y, weight).forest_) == expected, seed
        rng = np.random.default_rng(seed)
        if model.criterion != "absolute_error":
            with standing_in(strict_device()), tuned(TUNINGS[seed % len(TUNINGS)] | {"n_items": 1}):
                there = clone(model).set_params(device="sycl").fit(X, y, weight).forest_
            assert tables(there) == expected, seed
            size = int(rng.integers(2, 4))
            for fitted in fit_by_ranks(model, X, y, weight, Cut.random(rng, len(y), size, CUTS[seed % len(CUTS)]), size):
                assert tables(fitted.forest_) == expected, seed


def small_fits(**settings):
    """Fitted forests and single trees of classes and of numbers, with smoothed leaves; with their rows and targets."""
    for kind in KINDS:
        own = settings | ({"n_estimators": 6} if hasattr(getattr(dforest, kind)(), "n_estimators") else {})
        model = getattr(dforest, kind)(leaf_smoothing=5, random_state=0, **own)
        X, y = (load_wine if is_classifier(model) else load_diabetes)(return_X_y=True)
        yield model.fit(X, y), X, y


def predictions(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def test_estimates_out_of_bag_and_votes_are_of_smoothed_leaves():
    X, y = load_wine(return_X_y=True)
    for voting in ("soft", "hard"):
        model = dforest.RandomForestClassifier(20, leaf_smoothing=30, voting=voting, oob_score=True, random_state=0).fit(X, y)
        trees = np.stack([tree.predict_proba(X) for tree in model.estimators_])
        if voting == "hard":
            trees = np.eye(3)[trees.argmax(axis=2)]
        np.testing.assert_allclose(model.predict_proba(X), trees.mean(axis=0), rtol=1e-12)
        out = np.stack([model.forest_.left_out(t) for t in range(20)])[:, :, None]
        np.testing.assert_allclose(model.oob_decision_function_, (trees * out).sum(axis=0) / out.sum(axis=0), rtol=1e-12)


def test_shapley_values_add_up_to_smoothed_predictions():
    for model, X, _ in small_fits():
        found = model.shap_values(X[:20])
        roots = np.mean([model.forest_.node_table(t).value[0] for t in range(model.forest_.n_trees)], axis=0)
        np.testing.assert_allclose(np.unique(found.base_values), np.unique(roots), rtol=1e-12)
        total = found.values.sum(axis=1) + found.base_values
        np.testing.assert_allclose(total, predictions(model, X[:20]), rtol=1e-9, atol=1e-12)


def test_files_pickles_and_conversions_have_smoothed_leaves(tmp_path):
    for model, X, _ in small_fits():
        expected, path = predictions(model, X), tmp_path / "model"
        model.save(path)
        for other in (dforest.load(path), pickle.loads(pickle.dumps(model))):
            assert tables(other.forest_) == tables(model.forest_) and other.leaf_smoothing == 5
            assert np.array_equal(predictions(other, X), expected)
        assert np.array_equal(predictions(serving.load(path), X), expected)
        np.testing.assert_allclose(predictions(model.to_sklearn(), X), expected, rtol=1e-12, atol=1e-15)
        for other in ("onnx", "treelite", "c"):  # they are compared with the model
            getattr(model, f"to_{other}")()


def test_leaves_of_many_classes_are_smoothed():
    """Of more than 64 classes, leaves keep lists."""
    X, y = RNG.normal(size=(600, 4)), RNG.integers(0, 100, 600)
    own, model = (dforest.RandomForestClassifier(3, leaf_smoothing=strength, random_state=0).fit(X, y) for strength in (0, 9))
    for t in range(3):
        counts, before = own.forest_.row_counts(t), own.forest_.tree(t)
        value, _ = smoothed_tree(before, X, one_hot(y), counts, np.ones(600), 9)
        np.testing.assert_allclose(model.forest_.node_table(t).value, value, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_trees_that_are_added_later_are_smoothed_too():
    X, y = load_wine(return_X_y=True)
    whole = dforest.RandomForestClassifier(8, leaf_smoothing=4, random_state=0).fit(X, y)
    half = dforest.RandomForestClassifier(3, leaf_smoothing=4, random_state=0, warm_start=True).fit(X, y)
    assert tables(half.set_params(n_estimators=8).fit(X, y).forest_) == tables(whole.forest_)


def test_who_watches_trees_sees_smoothed_ones():
    X, y = load_wine(return_X_y=True)
    model = dforest.RandomForestClassifier(30, leaf_smoothing=8, oob_score=True, random_state=0)
    expected, watched = clone(model).fit(X, y), clone(model).set_callbacks(OutOfBagPlateau(rounds=30))
    watched.fit(X, y)
    assert tables(watched.forest_) == tables(expected.forest_)
    assert np.array_equal(watched.oob_decision_function_, expected.oob_decision_function_)


def test_nodes_that_become_leaves_predict_what_they_did():
    X, y = load_diabetes(return_X_y=True)
    tree = dforest.DecisionTreeRegressor(leaf_smoothing=15, random_state=0).fit(X[:300], y[:300])
    table, forest = tree.forest_.node_table(0), tree.forest_
    cut = forest.cut_back(forest.depths() == 3)
    kept = np.flatnonzero((forest.depths() == 3) | (forest.feature < 0) & (forest.depths() < 3))
    found = cut.leaf_value[cut.leaf_row[cut.feature < 0]]
    np.testing.assert_allclose(found, table.value[kept, 0], rtol=1e-12)
    pruned = tree.prune(X[300:], y[300:], inplace=False)
    assert pruned.get_n_leaves() < tree.get_n_leaves()
    assert np.isin(np.round(np.unique(pruned.predict(X)), 9), np.round(table.value[:, 0], 9)).all()
    assert dforest.DecisionTreeRegressor(leaf_smoothing=15, ccp_alpha=30.0).fit(X, y).get_n_leaves() < tree.get_n_leaves()


def test_a_strength_is_chosen_out_of_bag():
    X = np.random.default_rng(0).normal(size=(3000, 5))
    y = np.random.default_rng(1).random(3000) < 1 / (1 + np.exp(-0.7 * X[:, 0]))  # noise, for the most part
    noisy = dforest.RandomForestClassifier(100, leaf_smoothing="auto", random_state=0).fit(X, y)
    assert noisy.best_params_["leaf_smoothing"] >= 10
    same = dforest.RandomForestClassifier(100, leaf_smoothing=noisy.best_params_["leaf_smoothing"], random_state=0).fit(X, y)
    assert tables(noisy.forest_) == tables(same.forest_)
    assert noisy.estimators_[0].leaf_smoothing == same.leaf_smoothing
    clear = dforest.RandomForestClassifier(100, leaf_smoothing="auto", random_state=0).fit(X, X[:, 0] > 0)
    assert clear.best_params_["leaf_smoothing"] == 0


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (dforest.RandomForestRegressor(leaf_smoothing=-1), "leaf_smoothing"),
        (dforest.RandomForestRegressor(leaf_smoothing=np.inf), "leaf_smoothing"),
        (dforest.RandomForestRegressor(leaf_smoothing="oob"), "leaf_smoothing"),
        (dforest.DecisionTreeRegressor(leaf_smoothing="auto"), "leaf_smoothing"),
        (dforest.ExtraTreesRegressor(leaf_smoothing="auto", bootstrap=False), 'leaf_smoothing="auto" needs bootstrap=True'),
        (dforest.RandomForestRegressor(leaf_smoothing="auto", warm_start=True), 'leaf_smoothing="auto" with warm_start=True'),
        (dforest.RandomForestRegressor(leaf_smoothing=2, monotonic_cst=[1] + [0] * 9), "leaf_smoothing=2 with monotonic"),
    ],
)  # fmt: skip
def test_what_is_refused(model, message):
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
