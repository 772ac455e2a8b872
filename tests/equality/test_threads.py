"""Promise 1: the same forest to the bit for any number of threads, each time, at both extremes of the machinery."""

import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.rings import combined
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

import dforest
from dforest.core.grow import trainer
from dforest.engines import cpu


def random_problem(seed, n=400, p=8):
    """Ties, missing and infinite values, a constant column, weights of all sizes with zeros."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, p)) * (seed + 1), 1)
    X[rng.random((n, p)) < 0.1] = np.nan
    X[rng.random((n, p)) < 0.02] = np.inf
    X[:, 3] = 7.0
    y = (np.nan_to_num(X[:, 0], posinf=1) + rng.standard_normal(n) > 0) + 2 * (rng.random(n) < 0.3)
    return X, y, [rng.integers(0, 4, n).astype(float), rng.random(n), None][seed]


PROBLEMS = {
    "digits": (*load_digits(return_X_y=True), None),
    "breast cancer": (*load_breast_cancer(return_X_y=True), None),
    "diabetes": (*load_diabetes(return_X_y=True), None),
    "random 0": random_problem(0),
    "random 1": random_problem(1),
    "random 2": random_problem(2),
}


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("method", ["hist", "dense"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_threads_and_extremes_change_nothing(problem, method, criterion, extremes, tuning, assert_equal):
    X, y, weight = PROBLEMS[problem]
    kind = dforest.RandomForestRegressor if criterion == "squared_error" else dforest.RandomForestClassifier
    if problem == "diabetes" and criterion != "squared_error":
        y = np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))
    model = kind(n_estimators=7, criterion=criterion, method=method, max_features=0.4, random_state=1)
    first = None
    for extreme, n_jobs in combined(extremes, (1, 2, 3, 7, 1), turn=list(PROBLEMS).index(problem)):
        with tuning(extreme):
            forest = kind(**{**model.get_params(), "n_jobs": n_jobs}).fit(X, y, weight)
        first = first or forest
        assert_equal(first, forest, (extreme, n_jobs))
    assert np.array_equal(first.predict(X), first.set_params(n_jobs=3).predict(X))


def problem_of_all_kinds(n=700):
    """Columns: continuous, ordinal, few categories, many, ordinal of many levels; missing values and weights."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 220, n)
    X = np.stack(
        [rng.standard_normal(n), rng.integers(-3, 4, n), rng.integers(0, 5, n), 7.5 * numbers, np.round(rng.random(n), 3)], axis=1
    )
    y = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] % 2 + rng.standard_normal(220)[numbers] + X[:, 4] + rng.standard_normal(n)
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.random(n)
    weight[rng.random(n) < 0.05] = 0
    return X, np.exp(y / 3), weight


@pytest.mark.parametrize("method", ["hist", "dense"])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson", "absolute_error"])
def test_useless_cuts(criterion, method, extremes, tuning, assert_equal):
    """Pairs of rows of two targets, or of four rows of three classes: no cut scores above 0."""
    X = np.repeat(problem_of_all_kinds(260)[0], 2, axis=0)
    y = np.tile([1, 2], len(X) // 2)
    if method == "hist" and criterion in ("gini", "entropy"):
        X, y = np.repeat(X, 2, axis=0), np.tile([1, 2, 3, 1], len(X) // 2)
    kind = dforest.RandomForestClassifier if criterion in ("gini", "entropy") else dforest.RandomForestRegressor
    first = None
    for extreme, n_jobs in combined(extremes, [1, 4], turn=method == "dense"):
        with tuning(extreme):
            forest = kind(3, criterion=criterion, method=method, bootstrap=False, max_features=2, n_jobs=n_jobs, random_state=0,
                          categorical_features=[2, 3], ordinal_features=[1, 4])  # fmt: skip
            forest.fit(X, y)
        first = first or forest
        assert_equal(first, forest, (extreme, n_jobs))
    assert set(first.forest_.feature) == {-1, 0, 1, 2, 3, 4}
    assert max(tree.get_depth() for tree in first.estimators_) < 20


@pytest.mark.parametrize("method", ["hist", "dense"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_many_rows(task, method, assert_equal):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 4), np.float32)
    X[:, 1] = np.round(X[:, 1], 1)
    X[rng.random(200_000) < 0.1, 2] = np.nan
    y = X[:, 0] + X[:, 1] * rng.random(200_000)
    kind = dforest.RandomForestRegressor
    if task == "classification":
        kind, y = dforest.RandomForestClassifier, y > 0
    parameters = {"n_estimators": 3, "max_depth": 12, "max_features": 2, "method": method, "random_state": 0}
    one = kind(n_jobs=1, **parameters).fit(X, y)
    assert_equal(one, kind(n_jobs=3, **parameters).fit(X, y))
    assert len(one.forest_.feature) > 3 * 500


@pytest.mark.parametrize("method", ["hist", "dense"])
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@pytest.mark.slow
def test_a_constant_node_never_splits(method, criterion):
    """2**24 draws of one class or target: no rounding makes a gain of them, and noise columns are no excuse."""
    n = 2**24
    X = np.arange(n, dtype=np.float32)[:, None] % 1000
    y = np.full(n, 0.1)
    kind = dforest.DecisionTreeRegressor if criterion == "squared_error" else dforest.DecisionTreeClassifier
    tree = kind(method=method, random_state=0).fit(X, y if criterion == "squared_error" else y > 1)
    assert len(tree.forest_.feature) == 1
    y[: n // 2] = 0.3                        # a split, then two constant nodes of 2**23
    X[: n // 2] += 1000
    tree.fit(X, y if criterion == "squared_error" else y > 0.2)
    assert len(tree.forest_.feature) == 3
    if criterion == "squared_error":
        assert sorted(tree.forest_.leaf_value) == [0.1, 0.3]


class LateTrees:
    """A range of trees that a thread gets a while after it asked, so that others lack work already."""

    def __init__(self, trees):
        self.trees = trees

    def __len__(self):
        return len(self.trees)

    def __getitem__(self, i):
        time.sleep(0.02)
        return self.trees[i]


@pytest.fixture
def parts_joined(monkeypatch):
    """How many parts each tree was put together from; trees begin late."""
    counts = []

    class LateTrainer(trainer.Trainer):
        def grow(self, trees, *others):
            return super().grow(LateTrees(trees), *others)

    monkeypatch.setattr(cpu, "Trainer", LateTrainer)

    def join_parts(parts):
        counts.append(len(parts))
        return join(parts)

    join = trainer.join_parts
    monkeypatch.setattr(trainer, "join_parts", join_parts)
    return counts


ONE_TREE = {
    "gini": {"criterion": "gini"},
    "entropy, random cuts": {"criterion": "entropy", "splitter": "random"},
    "all features": {"criterion": "gini", "max_features": None},
    "constant features count": {"criterion": "gini", "max_features": 2, "skip_constant_features": False},
    "dense, constraints": {"criterion": "gini", "method": "dense", "monotonic_cst": [1, -1, 0, 0, 1]},
    "one hot": {"criterion": "squared_error", "categorical_split": "one_hot"},
    "poisson": {"criterion": "poisson", "monotonic_cst": [1, 0, 0, 0, 0]},
    "absolute error": {"criterion": "absolute_error"},
    "dense, absolute error": {"criterion": "absolute_error", "method": "dense"},
    "absolute error, random cuts": {"criterion": "absolute_error", "splitter": "random"},
    "dense, absolute error, random cuts": {"criterion": "absolute_error", "method": "dense", "splitter": "random"},
    "balanced subsample": {"criterion": "entropy", "class_weight": "balanced_subsample"},
}


@pytest.mark.parametrize("n_trees", [1, 3])
@pytest.mark.parametrize("max_leaf_nodes", [None, 40, 10**6])
@pytest.mark.parametrize("parameters", ONE_TREE.values(), ids=ONE_TREE)
def test_one_tree_on_many_threads(parameters, max_leaf_nodes, n_trees, tuning, assert_equal, parts_joined):
    """More threads than trees, which share all they can, give the tree of one thread; so do they time after time."""
    X, y, weight = problem_of_all_kinds()
    kind = dforest.RandomForestRegressor
    if parameters["criterion"] in ("gini", "entropy"):
        kind, y = dforest.RandomForestClassifier, np.digitize(y, [1] if "monotonic_cst" in parameters else [0, 2])
    elif parameters["criterion"] == "poisson":
        y = np.abs(y)
    parameters = {
        "max_features": 3, "categorical_features": [2, 3], "ordinal_features": [1, 4], "max_leaf_nodes": max_leaf_nodes,
        "random_state": 0, **parameters,
    }  # fmt: skip
    with tuning("share nothing"):
        one = kind(n_trees, n_jobs=1, **parameters).fit(X, y, weight)
        assert_equal(one, kind(n_trees, n_jobs=8, **parameters).fit(X, y, weight))
    assert not parts_joined
    with tuning("share everything"):
        for n_jobs in [2, 3, 8] * 2:
            assert_equal(one, kind(n_trees, n_jobs=n_jobs, **parameters).fit(X, y, weight), n_jobs)
    assert bool(parts_joined) == (max_leaf_nodes is None)


def test_a_large_tree_is_shared_by_default(assert_equal, parts_joined):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 6), np.float32)
    y = X[:, 0] * X[:, 1] + rng.standard_normal(60_000) > 0
    one = dforest.RandomForestClassifier(1, n_jobs=1, random_state=0).fit(X, y)
    assert_equal(one, dforest.RandomForestClassifier(1, n_jobs=4, random_state=0).fit(X, y))
    assert len(parts_joined) == 1 < parts_joined[0]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("sharing", ["default", "share everything"])
@pytest.mark.parametrize("method", ["hist", "dense"])
def test_calls_at_the_same_time(method, sharing, tuning, assert_equal):
    """Fits, and predictions of one forest that is used for the first time, from threads of the program's own."""
    X, y, weight = problem_of_all_kinds(400)
    parameters = {"method": method, "categorical_features": [2, 3], "ordinal_features": [1, 4], "oob_score": True,
                  "variable_importance": "mda_raw", "random_state": 0}  # fmt: skip
    alone = dforest.RandomForestRegressor(4, n_jobs=1, **parameters).fit(X, y, weight)
    rows = np.tile(X, (50, 1))
    expected, leaves = alone.predict(rows), alone.apply(rows)
    shared = pickle.loads(pickle.dumps(alone))

    def call(number):
        n_jobs = 1 + number % 4
        if number % 3 == 0:
            return dforest.RandomForestRegressor(4, n_jobs=n_jobs, **parameters).fit(X, y, weight)
        return shared.predict(rows) if number % 3 == 1 else shared.apply(rows)

    with tuning(sharing), ThreadPoolExecutor(5) as pool:
        shared.n_jobs = 3
        found = list(pool.map(call, range(24)))
    for number in range(0, 24, 3):
        assert_equal(alone, found[number], number)
        assert np.array_equal(alone.oob_error_per_observation_, found[number].oob_error_per_observation_, equal_nan=True)
        assert np.array_equal(alone.variable_importance_, found[number].variable_importance_)
        assert np.array_equal(expected, found[number + 1])
        assert np.array_equal(leaves, found[number + 2])
