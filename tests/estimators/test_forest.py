"""Random forests: how trees are put together, threads, weights, failed and interrupted fits."""

import io
import os
import pickle
import signal
import sys

import numpy as np
import pytest
from helpers.callbacks import interrupted
from helpers.device_forests import same_forest
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.exceptions import NotFittedError

import dforest.estimators.progress
from dforest import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor

FORESTS = [RandomForestClassifier, RandomForestRegressor]
DATA = {
    RandomForestClassifier: load_wine(return_X_y=True),
    RandomForestRegressor: load_diabetes(return_X_y=True),
}
METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
KINDS = pytest.mark.parametrize("kind", FORESTS)


def draws_of_trees(model):
    forest = model.forest_
    trees = [forest.tree(t) for t in range(forest.n_trees)]
    return [int(tree.leaf_draws[tree.leaf_row[tree.feature < 0]].sum()) for tree in trees]


# Putting trees together


@METHODS
@pytest.mark.parametrize("n_trees", [2, 5])
def test_hard_voting_is_the_majority_of_the_trees(method, n_trees):
    X, _ = load_iris(return_X_y=True)
    y = np.random.RandomState(0).randint(4, size=150)
    names = np.array(["d", "b", "a", "c"])[y]
    model = RandomForestClassifier(n_trees, voting="hard", max_depth=2, method=method, random_state=0).fit(X, names)
    votes = np.array([tree.predict(X) for tree in model.estimators_])
    shares = np.array([(votes == name).mean(axis=0) for name in "abcd"]).T
    np.testing.assert_allclose(model.predict_proba(X), shares, rtol=1e-15)
    tied = (shares == shares.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert tied.any()
    expected = [min("abcd", key=lambda name: (-list(column).count(name), name)) for column in votes.T]
    np.testing.assert_array_equal(model.predict(X), expected)


def test_a_leaf_that_is_tied_votes_for_the_lower_class():
    model = RandomForestClassifier(1, voting="hard", bootstrap=False).fit([[0], [0], [1]], [2, 1, 5])
    assert model.predict([[0], [1]]).tolist() == [1, 5]
    assert model.predict_proba([[0]]).tolist() == [[1, 0, 0]]


@KINDS
def test_estimators(kind):
    X, y = DATA[kind]
    model = kind(n_estimators=5, max_features=3, min_samples_leaf=2, max_depth=6, random_state=0).fit(X, y)
    trees = model.estimators_
    assert len(trees) == 5
    leaves = model.apply(X)
    assert leaves.shape == (len(X), 5)
    for t, tree in enumerate(trees):
        assert type(tree) is (DecisionTreeClassifier if kind is RandomForestClassifier else DecisionTreeRegressor)
        assert (tree.max_features, tree.min_samples_leaf, tree.max_depth, tree.n_features_in_) == (3, 2, 6, X.shape[1])
        np.testing.assert_array_equal(tree.apply(X), leaves[:, t])
    assert len({len(tree.forest_.feature) for tree in trees}) > 1


# Rows, threads, weights


@KINDS
def test_random_state(kind):
    X, y = DATA[kind]
    first, again, other = (kind(n_estimators=3, random_state=seed).fit(X, y) for seed in (1, 1, 2))
    assert same_forest(first, again)
    assert not same_forest(first, other)
    generator = np.random.RandomState(1)
    first, second = (kind(n_estimators=3, random_state=generator).fit(X, y) for _ in range(2))
    assert not same_forest(first, second)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("method", ["hist", "dense"])
def test_targets_near_the_largest_float(criterion, method):
    """What is predicted is finite, or what can't be is refused."""
    X = np.arange(40.0)[:, None]
    y = np.where(X[:, 0] > 20, 1.5e308, -1.5e308)
    parameters = {"criterion": criterion, "method": method, "random_state": 0}
    assert np.array_equal(DecisionTreeRegressor(**parameters).fit(X, y).predict(X), y)
    assert np.array_equal(RandomForestRegressor(8, bootstrap=False, **parameters).fit(X, y / 8).predict(X), y / 8)
    model = RandomForestRegressor(8, warm_start=True, **parameters).fit(X, y / 8)
    with pytest.raises(ValueError, match="y holds -1.5e.308; allowed with 9 trees are numbers up to 1.99"):
        model.set_params(n_estimators=9).fit(X, y)
    with pytest.raises(ValueError, match="a leaf of a tree grown before holds .*; allowed with 10 trees are"):
        model.set_params(n_estimators=10).fit(X, y / 1e10)
    assert np.isfinite(model.set_params(n_estimators=9).fit(X, y / 1e10).predict(X)).all()


@KINDS
@pytest.mark.parametrize(
    ("max_samples", "share"), [(None, 1), (50, None), (0.31, 0.31), (1.0, 1), (1, None), (1.5, 1.5), (700, None)]
)
def test_max_samples(kind, max_samples, share):
    X, y = DATA[kind]
    model = kind(n_estimators=3, max_samples=max_samples, random_state=0).fit(X, y)
    expected = max_samples if share is None else round(share * len(X))
    assert draws_of_trees(model) == [expected] * 3
    assert model.forest_.n_draws.tolist() == [expected] * model.forest_.n_trees


@KINDS
def test_without_bootstrap_every_row_is_taken(kind):
    X, y = DATA[kind]
    model = kind(n_estimators=3, bootstrap=False, max_features=None, random_state=0).fit(X, y)
    assert draws_of_trees(model) == [len(X)] * 3
    tree = model._tree_class(random_state=model.estimators_[0].random_state).fit(X, y)
    assert same_forest(pickle.loads(pickle.dumps(model.estimators_[0])), tree)  # with its own leaves
    if kind is RandomForestRegressor:  # no two rows are alike
        np.testing.assert_array_equal(model.predict(X), y)


@METHODS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("class_weight", [{0: 2.5, 1: 0.3}, "balanced"])
def test_class_weights_are_sample_weights(method, weighted, class_weight):
    X, y = load_iris(return_X_y=True)  # no more distinct values than bins: weights cannot move their edges
    X, y = X[:120], y[:120]
    weight = 1 + np.arange(120) % 3 if weighted else np.ones(120)
    totals = np.bincount(y, weight)
    factors = np.array([2.5, 0.3, 1.0] if isinstance(class_weight, dict) else totals.sum() / (3 * totals))
    model = RandomForestClassifier(5, class_weight=class_weight, method=method, random_state=0)
    model.fit(X, y, weight if weighted else None)
    by_hand = RandomForestClassifier(5, method=method, random_state=0).fit(X, y, factors[y] * weight)
    assert same_forest(model, by_hand)
    assert np.array_equal(model.forest_.weight_unit, by_hand.forest_.weight_unit)
    assert not same_forest(model, RandomForestClassifier(5, method=method, random_state=0).fit(X, y))


def test_balanced_counts_rows_of_positive_weight():
    X, y = load_iris(return_X_y=True)
    kept = (y != 2) & (np.random.RandomState(0).rand(150) > 0.5 + 0.2 * y)
    model = RandomForestClassifier(3, class_weight="balanced", random_state=0).fit(X, y, kept)
    without = RandomForestClassifier(3, class_weight="balanced", random_state=0).fit(X[kept], y[kept])
    np.testing.assert_array_equal(model.predict_proba(X)[:, :2], without.predict_proba(X))
    np.testing.assert_array_equal(model.forest_.leaf_weight[:, :2], without.forest_.leaf_weight)
    assert np.array_equal(model.forest_.weight_unit, without.forest_.weight_unit)


def test_a_class_of_weight_zero():
    X, y = load_iris(return_X_y=True)
    for class_weight in ({1: 0}, "balanced"):
        model = RandomForestClassifier(3, class_weight=class_weight, random_state=0).fit(X, y, y != 1)
        assert model.classes_.tolist() == [0, 1, 2]
        assert not model.predict_proba(X)[:, 1].any()
        assert model.score(X[y != 1], y[y != 1]) > 0.9


def test_bin_edges_come_from_sample_weights_not_class_weights():
    random = np.random.RandomState(0)
    X, y = random.normal(size=(2000, 1)), random.randint(2, size=2000)
    X[y == 1] += 1

    def thresholds(class_weight=None, sample_weight=None):
        model = RandomForestClassifier(1, bootstrap=False, max_bins=8, class_weight=class_weight)
        forest = model.fit(X, y, sample_weight).forest_
        return set(forest.threshold[forest.feature >= 0])

    factors = np.array([1, 50])
    assert len(thresholds()) == 7  # all edges of 8 bins
    assert thresholds(class_weight={1: 50}) == thresholds()
    assert thresholds(sample_weight=factors[y]) != thresholds()


# Progress, failed and interrupted fits


@pytest.mark.parametrize(("verbose", "numbers"), [(0, []), (1, [*range(2, 21, 2), 21]), (2, [*range(1, 22)])])
@pytest.mark.parametrize("oob_score", [False, True])
def test_verbose(verbose, numbers, oob_score, capsys):
    X, y = DATA[RandomForestClassifier]
    model = RandomForestClassifier(21, verbose=verbose, random_state=0, n_jobs=2, oob_score=oob_score).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" trees")[0] for line in lines] == [f"{n} of 21" for n in numbers]
    for n, line in zip(numbers, lines, strict=True):
        assert (" s left" in line) == (n < 21)
        if oob_score:
            assert line.endswith(f", out-of-bag error {model.oob_curve_[n - 1]:.6g}")


def test_a_terminal_gets_one_line(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("dforest.estimators.progress._SECONDS_BETWEEN", 0.0)
    X, y = DATA[RandomForestClassifier]
    RandomForestClassifier(12, verbose=1, random_state=0).fit(X, y)
    first, *others = terminal.getvalue().split("\r")
    assert first == "" and [line.split(" trees")[0] for line in others] == [f"{n} of 12" for n in range(1, 13)]
    assert others[-1].startswith("12 of 12 trees ") and others[-1].endswith("\n")  # what was longer is overwritten
    assert terminal.getvalue().count("\n") == 1


def state_of(model):
    return dict(vars(model))


def assert_unchanged(model, state):
    assert list(vars(model)) == list(state)
    assert all(vars(model)[name] is value for name, value in state.items())


@KINDS
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [RuntimeError("no more"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_an_error_amid_growth_leaves_the_model_as_it_was(kind, n_jobs, error, monkeypatch):
    X, y = DATA[kind]
    model = kind(n_estimators=40, random_state=0, n_jobs=n_jobs, verbose=1)
    calls = []

    def tell(self, n_grown, error_out_of_bag):
        calls.append(n_grown)
        if n_grown == 3:
            raise error

    def failing_fit():
        with monkeypatch.context() as patched:
            patched.setattr(dforest.estimators.progress.ProgressLine, "tell", tell)
            with pytest.raises(type(error)) as caught:
                model.fit(X[:, :2], y)
        assert caught.value is error
        assert calls[:3] == [1, 2, 3]
        assert len(calls) < 40
        calls.clear()

    before = state_of(model)
    failing_fit()
    assert_unchanged(model, before)
    with pytest.raises(NotFittedError):
        model.predict(X)

    model.set_params(verbose=0).fit(X, y)
    expected, model.verbose = model.predict(X), 1
    before = state_of(model)
    failing_fit()
    assert_unchanged(model, before)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert same_forest(model, kind(n_estimators=40, random_state=0).fit(X, y))


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("n_rows", [100, 30000], ids=["small trees", "large trees"])
@pytest.mark.slow(after=1)
def test_ctrl_c(n_rows, n_jobs):
    script = f"""
import numpy as np
from dforest import RandomForestRegressor

X, y = np.random.RandomState(0).normal(size=({n_rows}, 5)), np.random.RandomState(1).normal(size={n_rows})
model = RandomForestRegressor(10**7, n_jobs={n_jobs})
print("growing", flush=True)
try:
    model.fit(X, y)
finally:
    print([name for name in vars(model) if name.endswith("_")], flush=True)
"""
    code, out, err = interrupted(script, [], 0.5)
    assert out == "[]\n"
    assert err.splitlines()[-1] == "KeyboardInterrupt"
    assert code == -signal.SIGINT
