"""Adding trees to a forest, and class weights by tree."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from twins.sampling import Bootstrap, twin_of

from dforest import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from dforest.callback import OutOfBagPlateau
from dforest.estimators.data.agreement import Partition
from dforest.estimators.results import oob

TASKS = pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
OUT_OF_BAG = pytest.mark.parametrize(
    "estimate",
    [{"oob_score": True}, {"variable_importance": "mda_raw"}, {"variable_importance": "mda_scaled"}],
    ids=str,
)
METHODS = pytest.mark.parametrize("method", ["hist", "dense"])


def problem(kind, seed=0, n=200):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(n)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y if kind is RandomForestRegressor else np.array([3, 5, 9])[np.digitize(y, [0.5, 2])]


def assert_same(a, b):
    assert (a.forest_.seeds.tolist(), a.forest_.plans) == (b.forest_.seeds.tolist(), b.forest_.plans)
    assert a.forest_.weight_unit.tolist() == b.forest_.weight_unit.tolist()
    a, b = a.forest_.as_dict(), b.forest_.as_dict()
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].tobytes() == b[name].tobytes(), name


def nodes_of(forest, t):
    """A tree as lists, what leaves hold with its nodes."""
    tree = forest.tree(t)
    leaf = tree.leaf_row[tree.feature < 0]
    arrays = (tree.feature, tree.threshold, tree.missing_left, tree.right_child[tree.feature >= 0], tree.leaf_draws[leaf],
              tree.leaf_weight[leaf], tree.leaf_value[leaf] if not forest.objective.predicts_shares else leaf[:0])  # fmt: skip
    return [array.tolist() for array in arrays]


def state_of(model):
    return {**vars(model), **model.forest_.as_dict()}


def assert_unchanged(model, state):
    now = state_of(model)
    assert list(now) == list(state)
    assert all(now[name] is state[name] for name in state)


# Warm start


@TASKS
def test_the_second_random_state_is_not_looked_at(kind):
    X, y = problem(kind)
    model = kind(2, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=6, random_state=1).fit(X, y)
    assert_same(model, kind(6, random_state=0).fit(X, y))
    generator = np.random.RandomState(0)
    model = kind(2, warm_start=True, random_state=generator).fit(X, y)
    expected = generator.get_state()[2]
    model.set_params(n_estimators=6).fit(X, y)
    assert generator.get_state()[2] == expected
    assert_same(model, kind(6, random_state=np.random.RandomState(0)).fit(X, y))


@TASKS
def test_new_trees_grow_on_the_data_and_parameters_of_the_new_fit(kind):
    X, y = problem(kind)
    other, other_y = problem(kind, seed=1, n=120)
    model = kind(2, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=4, max_depth=2).fit(other, other_y)
    first, second = kind(2, random_state=0).fit(X, y), kind(4, random_state=0, max_depth=2).fit(other, other_y)
    for t in range(4):
        assert nodes_of(model.forest_, t) == nodes_of((first if t < 2 else second).forest_, t)
    assert model.forest_.n_draws.tolist() == [200, 200, 120, 120]


@TASKS
def test_fewer_trees(kind):
    X, y = problem(kind)
    model = kind(5, warm_start=True, random_state=0).fit(X, y)
    model.n_estimators = 4
    before = state_of(model)
    with pytest.raises(ValueError, match="n_estimators=4 must be larger or equal to the 5 trees"):
        model.fit(X, y)
    assert_unchanged(model, before)


def test_estimates_are_made_again_only_if_they_may_change(monkeypatch):
    """Where no tree is added they stay, unless they are asked for in another way, or not known to be of these trees."""
    made = []
    estimate = oob.estimate
    monkeypatch.setattr(oob, "estimate", lambda *given: made.append(1) or estimate(*given))
    X, y = problem(RandomForestClassifier)
    model = RandomForestClassifier(30, warm_start=True, oob_score=True, random_state=0).fit(X, y)
    score, curve = model.oob_score_, model.oob_curve_
    model.fit(X, y)
    assert len(made) == 1 and model.oob_score_ == score and model.oob_curve_ is curve
    for number, change in enumerate([{"voting": "hard"}, {"oob_score": balanced_accuracy_score}, {"n_estimators": 31}], start=2):
        model.set_params(**change).fit(X, y)
        fresh = clone(model).set_params(warm_start=False).fit(X, y)
        assert len(made) == 2 * number - 1
        assert model.oob_score_ == fresh.oob_score_
        np.testing.assert_array_equal(model.oob_decision_function_, fresh.oob_decision_function_)
    pickle.loads(pickle.dumps(model)).fit(X, y)
    model.set_params(oob_score=True).fit(X, y)
    model._fit_partitions(lambda rank: [Partition(0, X[:9], y[:9]), Partition(1, X[9:], y[9:])])
    assert len(made) == 10
    model.set_params(oob_score=False).fit(X, y)
    assert not hasattr(model, "oob_score_")
    model.set_params(oob_score=balanced_accuracy_score).fit(X, y)
    assert len(made) == 11 and model.oob_score_ == fresh.oob_score_


def test_progress_counts_all_trees(capsys):
    X, y = problem(RandomForestClassifier)
    model = RandomForestClassifier(5, warm_start=True, verbose=2, random_state=0).fit(X, y)
    capsys.readouterr()
    model.set_params(n_estimators=8).fit(X, y)
    assert [line.split(" trees")[0] for line in capsys.readouterr().err.splitlines()] == [f"{n} of 8" for n in (6, 7, 8)]


@TASKS
def test_out_of_bag_estimates_of_all_trees(kind):
    X, y = problem(kind)
    parameters = {"oob_score": True, "variable_importance": "mda_scaled", "random_state": 0}
    model = kind(20, warm_start=True, **parameters).fit(X, y)
    model.set_params(n_estimators=40, max_samples=0.5).fit(X, y)
    forest = model.forest_
    assert forest.n_draws.tolist() == [200] * 20 + [100] * 20
    sums = n_trees = 0
    for t, tree in enumerate(model.estimators_):
        out = twin_of(forest.plans[t]).counts(len(X), forest.seeds[t])[:, None] == 0
        sums = sums + out * (tree.predict_proba(X) if forest.objective.predicts_shares else tree.predict(X)[:, None])
        n_trees = n_trees + out
    found = model.oob_decision_function_ if forest.objective.predicts_shares else model.oob_prediction_[:, None]
    np.testing.assert_array_equal(found, sums / n_trees)
    assert model.oob_curve_.shape == (40,)
    assert model.oob_importance(X, y).importances.shape == (4, 40)
    np.testing.assert_array_equal(model.oob_importance(X, y).importances_scaled, model.variable_importance_)
    model.set_params(max_samples=None, n_estimators=50)
    two_steps = kind(40, warm_start=True, **parameters).fit(X, y).set_params(n_estimators=50).fit(X, y)
    at_once = kind(50, **parameters).fit(X, y)
    for name in ("oob_score_", "oob_error_", "oob_curve_", "oob_error_per_observation_", "variable_importance_"):
        np.testing.assert_array_equal(getattr(two_steps, name), getattr(at_once, name))


# What does not go together with the trees there are


def assert_refused(model, match, X, y, **parameters):
    parameters = {"n_estimators": 12} | parameters
    model.set_params(**parameters)
    before, predicted = state_of(model), model.predict(problem(type(model))[0])
    with pytest.raises(ValueError, match=match):
        model.fit(X, y)
    assert_unchanged(model, before)
    np.testing.assert_array_equal(model.predict(problem(type(model))[0]), predicted)


@TASKS
@pytest.mark.parametrize("n_features", [3, 5])
def test_another_number_of_columns(kind, n_features):
    X, y = problem(kind)
    model = kind(10, warm_start=True, random_state=0).fit(X, y)
    assert_refused(model, "features", np.c_[X, X][:, :n_features], y)


@pytest.mark.parametrize("change", ["more", "fewer", "others"])
def test_other_classes(change):
    X, y = problem(RandomForestClassifier)
    model = RandomForestClassifier(10, warm_start=True, random_state=0).fit(X, y)
    other = {"more": np.arange(200) % 4, "fewer": np.minimum(y, 5), "others": y + 1}[change]
    assert_refused(model, "class", X, other)


@TASKS
@OUT_OF_BAG
def test_trees_without_bootstrap_have_no_out_of_bag_estimates(kind, estimate):
    """They took every row, so an estimate on the rows they left out would be one on all rows they took."""
    X, y = problem(kind)
    model = kind(10, bootstrap=False, warm_start=True, random_state=0).fit(X, y)
    assert_refused(model, "bootstrap", X, y, bootstrap=True, **estimate)


@TASKS
@OUT_OF_BAG
def test_out_of_bag_estimates_need_the_same_number_of_rows(kind, estimate):
    """Which rows the first trees left out is known for the rows they were grown on only."""
    X, y = problem(kind)
    model = kind(10, warm_start=True, random_state=0).fit(X, y)
    assert_refused(model, "rows", X[:150], y[:150], n_estimators=40, **estimate)


@TASKS
@OUT_OF_BAG
def test_out_of_bag_estimates_need_the_same_rows(kind, estimate):
    X, y = problem(kind)
    model = kind(10, warm_start=True, random_state=0).fit(X, y)
    assert_refused(model, "other rows than those that trees 0 to 9", X[::-1], y[::-1], n_estimators=40, **estimate)
    plateau = kind(10, warm_start=True, random_state=0).fit(X, y).set_callbacks(OutOfBagPlateau())
    assert_refused(plateau, "other rows than those that trees 0 to 9", X[::-1], y[::-1], n_estimators=40)
    model.set_params(n_estimators=15).fit(X, y)
    again = kind(10, warm_start=True, random_state=0).fit(X[::-1], y[::-1]).set_params(n_estimators=15).fit(X, y)
    assert_refused(again, "other rows than those that trees 0 to 9", X, y, n_estimators=40, **estimate)


@TASKS
@pytest.mark.parametrize(("first", "second"), [(np.float32, np.float64), (np.float64, np.float32)])
def test_another_precision_changes_no_decision(kind, first, second):
    """Thresholds keep their precision, or the fit is refused."""
    X, y = problem(kind)
    model = kind(10, warm_start=True, random_state=0).fit(X.astype(first), y)
    thresholds = model.forest_.threshold.astype(np.float64)
    try:
        model.set_params(n_estimators=12).fit(X.astype(second), y)
    except ValueError as error:
        assert "float" in str(error)
    np.testing.assert_array_equal(model.forest_.threshold[: len(thresholds)].astype(np.float64), thresholds)


# Class weights by tree


def class_totals(model, y, sample_weight=None):
    """(total of each class in each tree, as its leaves have it; the same by brute force), each (n_trees, n_classes)."""
    forest = model.forest_
    found, expected = [], []
    codes = np.searchsorted(model.classes_, y)
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    for t in range(forest.n_trees):
        counts = twin_of(forest.plans[t]).counts(len(y), forest.seeds[t])
        total = np.bincount(codes, counts * weight, len(model.classes_))
        factor = total.sum() / ((total > 0).sum() * np.where(total > 0, total, 1))
        expected.append(np.bincount(codes, counts * factor[codes] * weight, len(factor)))
        tree = forest.tree(t)
        leaves = tree.leaf_row[tree.feature < 0]
        shift = tree.leaf_shift[leaves, None] if len(tree.leaf_shift) else 0
        found.append(np.ldexp(tree.leaf_weight[leaves].astype(float), -shift).sum(axis=0) * tree.weight_unit[0])
    return np.array(found), np.array(expected)


@METHODS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_balanced_subsample(kind, method, weighted):
    X, y = problem(kind)
    weight = np.random.default_rng(1).random(len(X)) + 0.1 if weighted else None
    model = kind(8, bootstrap=True, class_weight="balanced_subsample", method=method, max_depth=3, random_state=0)
    model.fit(X, y, weight)
    found, expected = class_totals(model, y, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    if not weighted:
        np.testing.assert_allclose(found, 200 / 3, rtol=1e-8)
    for t, tree in enumerate(model.estimators_):  # leaf by leaf
        counts = Bootstrap(len(y)).counts(len(y), model.forest_.seeds[t])
        codes = np.searchsorted(model.classes_, y)
        w = counts * (np.ones(len(y)) if weight is None else weight)
        total = np.bincount(codes, w)
        w *= (total.sum() / (3 * total))[codes]
        leaves, proba = tree.apply(X), tree.predict_proba(X)
        for leaf in np.unique(leaves):
            inside = leaves == leaf
            shares = np.bincount(codes[inside], w[inside], 3)
            np.testing.assert_allclose(proba[inside], np.tile(shares / shares.sum(), (inside.sum(), 1)), atol=1e-8)
            assert tree.forest_.leaf_draws[tree.forest_.leaf_row[leaf]] == counts[inside].sum()


def test_balanced_subsample_without_a_class():
    """A class that a tree never drew takes no part."""
    X, y = np.arange(12.0)[:, None], np.array([0] * 10 + [1, 2])
    model = RandomForestClassifier(30, class_weight="balanced_subsample", random_state=0).fit(X, y)
    found, expected = class_totals(model, y)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert {2, 3} <= set((found > 0).sum(axis=1))
    np.testing.assert_allclose(found.sum(axis=1), 12, rtol=1e-8)


@METHODS
def test_balanced_subsample_without_bootstrap_is_balanced(method):
    X, y = problem(RandomForestClassifier)
    models = [
        RandomForestClassifier(4, bootstrap=False, class_weight=name, method=method, random_state=0).fit(X, y)
        for name in ("balanced_subsample", "balanced")
    ]
    assert_same(*models)
