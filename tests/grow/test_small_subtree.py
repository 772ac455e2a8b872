"""Subtrees of few records, grown whole: the nodes that the long way makes, and when there are small subtrees at all."""

import itertools

import numpy as np
import pytest

import dforest
from dforest.core import loops
from dforest.core.grow.trainer import Trainer
from dforest.engines.cpu import CpuEngine
from dforest.estimators.forest import base as estimator
from dforest.testing.engine_check import Kept, assert_equal_trees, random_problem


@pytest.fixture(params=loops.names())
def each_loops(request):
    loops.use(request.param)
    yield request.param
    loops.use()


def random_data(rng, n, n_features, n_classes):
    """Columns of few and many values, equal rows, constant columns; targets of classes, or numbers some of which lie close
    together, so that they are quantised anew."""
    n_values = rng.integers(1, [3, 10, 1000][rng.integers(3)] + 1, n_features)
    X = np.floor(rng.random((n, n_features)) * n_values)
    X[rng.random(n) < 0.2] = X[0]
    if rng.integers(2):
        X[rng.random(X.shape) < rng.choice([0.02, 0.3])] = np.nan
    if rng.integers(2):
        X = rng.choice([1.0, np.pi], n_features) * X  # numbers of float32, and of float64
        X[rng.random(X.shape) < 0.02] = rng.choice([-np.inf, np.inf])
    if n_classes:
        return X, rng.permutation(np.arange(n) % n_classes)
    y = np.round(rng.standard_normal(n), int(rng.integers(0, 4)))
    return X, np.where(rng.random(n) < 0.5, y, 1e-4 * y + rng.integers(0, 3, n))


def random_rules(rng):
    return {
        "max_depth": [None, None, 3, 7][rng.integers(4)],
        "min_samples_leaf": int(rng.choice([1, 1, 1, 2, 5])),
        "min_samples_split": int(rng.choice([2, 2, 3, 9])),
        "min_weight_fraction_leaf": float(rng.choice([0, 0, 0.02])),
        "skip_constant_features": bool(rng.integers(2)),
        "bootstrap": bool(rng.integers(2)),
        "method": ["hist", "dense"][rng.integers(2)],
        "splitter": ["best", "random"][rng.integers(2)],
    }


@pytest.mark.parametrize("n_classes", [0, 2, 3, 8])
@pytest.mark.parametrize("seed", range(50))
def test_a_small_subtree_has_the_nodes_of_the_long_way(seed, n_classes, each_loops):
    rng = np.random.default_rng([seed, n_classes])
    n, n_features = int(rng.integers(5, 200)), int(rng.choice([1, 3, 9, 70]))
    X, y = random_data(rng, max(n, n_classes), n_features, n_classes)
    kind = dforest.RandomForestClassifier if n_classes else dforest.RandomForestRegressor
    ordinal = rng.choice(n_features, int(rng.integers(0, 2)), replace=False)
    forest = kind(3, random_state=seed, max_features=int(rng.integers(1, n_features + 1)), n_jobs=1, **random_rules(rng),
                  ordinal_features=ordinal if len(ordinal) else None)  # fmt: skip
    grown = []
    for tuning in (
        {"small_up_to": 0}, {}, {"small_up_to": 64}, {"small_up_to": 32}, {"small_up_to": 4},
        {"small_up_to": 0, "unordered_below": 0},
        {"cache_bytes": 0}, {"buckets": 3},
        {"fetch_up_to": 64}, {"fetch_up_to": 64, "cache_bytes": 0},
    ):  # fmt: skip
        estimator.TUNING.update(tuning)
        grown.append(forest.fit(X, y).forest_.as_dict())
        estimator.TUNING.clear()
    for arrays in grown[1:]:
        for name, array in grown[0].items():
            assert array.tobytes() == arrays[name].tobytes(), name


def test_cuts_that_score_nothing_are_even():
    """Each column leaves the classes as they are on both sides; together they part them."""
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 3, axis=0)
    y = np.repeat([0, 1, 1, 0], 3)
    tree = dforest.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert tree.tree_.n_node_samples.tolist() == [12, 6, 3, 3, 6, 3, 3]
    assert tree.score(X, y) == 1.0


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_rows_of_leaves_are_those_of_the_long_way(kind):
    _, problem = random_problem(5, kind)
    kept = []
    for most in (64, 0):
        problem.splitter.tuning["small_up_to"] = most
        sink = Kept()
        with CpuEngine(2).open(problem) as session:
            session.grow(range(4), sink, keep_leaves=True)
            kept.append((sink.trees, [session.leaves(t) for t in range(4)]))
    assert_equal_trees(kept[0][0], kept[1][0])
    for a, b in zip(kept[0][1], kept[1][1], strict=True):
        np.testing.assert_array_equal(a, b)


def max_records(forest, X, y, monkeypatch, **fit):
    """Of a small subtree in a fit: 0 if everything goes the long way."""
    found = []
    make = Trainer._make_grower

    def spy(self):
        found.append(make(self))
        return found[-1]

    monkeypatch.setattr(Trainer, "_make_grower", spy)
    forest.set_params(n_estimators=1).fit(X, y, **fit)
    return found[0].small.max_records


LONG_WAY = [
    {"max_leaf_nodes": 9}, {"min_impurity_decrease": 0.1}, {"impurity_threshold": 0.1},
    {"criterion": "entropy"}, {"categorical_features": [0]}, {"monotonic_cst": [1, 0, 0]}, {"class_weight": "balanced_subsample"},
]  # fmt: skip


def test_small_subtrees_are_grown_where_scores_count_draws(monkeypatch):
    monkeypatch.setitem(estimator.TUNING, "small_up_to", 64)
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 3)).astype(float), rng.integers(0, 2, 60)
    for way in itertools.product(("hist", "dense"), ("best", "random")):
        how = dict(zip(("method", "splitter"), way, strict=True))
        assert max_records(dforest.RandomForestClassifier(**how), X, y, monkeypatch) == 64
        assert max_records(dforest.RandomForestRegressor(**how), X, y, monkeypatch) == 64
        assert max_records(dforest.RandomForestClassifier(**how), X, np.arange(60) % 9, monkeypatch) == 0
    for parameters in LONG_WAY:
        assert max_records(dforest.RandomForestClassifier(**parameters), X, y, monkeypatch) == 0, parameters
    weight = rng.integers(1, 3, 60)
    assert max_records(dforest.RandomForestClassifier(), X, y, monkeypatch, sample_weight=weight) == 0
