"""Forests grown on a device: the same bits as the CPU's, and what is said of what can't be grown there."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from helpers.device_forests import TUNINGS, differences, fit_there, random_fit, random_fit_of_outputs, standing_in, tuned
from helpers.treatments import random_forest, table
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

import dforest
from dforest.core.search.dense import RandomDenseSplitter
from dforest.criterion import PythonCriterion
from dforest.engines.device.training import Tuning
from dforest.errors import DeviceError

FORESTS = {
    "best": (dforest.RandomForestClassifier, dforest.RandomForestRegressor),
    "random": (dforest.ExtraTreesClassifier, dforest.ExtraTreesRegressor),
    "random edges": tuple(partial(kind, method="hist") for kind in (dforest.ExtraTreesClassifier, dforest.ExtraTreesRegressor)),
}


def assert_same(estimator, X, y, where, weight=None, tuning=None):
    here = clone(estimator).fit(X, y, weight)
    there = fit_there(estimator, X, y, weight, where, tuning)
    assert differences(here, there) == []
    assert there.predict(X).tobytes() == here.predict(X).tobytes()
    return there


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("strategy", FORESTS)
@pytest.mark.parametrize("load", [load_digits, load_breast_cancer, load_iris, load_wine])
def test_classes(where, load, strategy, criterion):
    X, y = load(return_X_y=True)
    estimator = FORESTS[strategy][0](4, criterion=criterion, random_state=0)
    assert_same(estimator, X, y, where)
    missing = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    assert_same(estimator.set_params(max_bins=20), missing, y, where, np.random.default_rng(1).random(len(y)))


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("strategy", FORESTS)
def test_rare_classes(where, strategy, tuning):
    """By Hellinger distance, which is for two classes."""
    X, y = load_digits(return_X_y=True)
    estimator = FORESTS[strategy][0](3, criterion="hellinger", random_state=0, impurity_threshold=0.1)
    assert_same(estimator, X, (y == 3) & (X[:, 20] > 5), where, np.random.default_rng(1).random(len(y)), tuning)
    X = X[:, 20:26]
    assert_same(estimator.set_params(categorical_features=[2, 5]), X, y == 3, where, None, tuning)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@pytest.mark.parametrize("strategy", FORESTS)
def test_numbers(where, strategy, criterion):
    X, y = load_diabetes(return_X_y=True)
    estimator = FORESTS[strategy][1](4, criterion=criterion, random_state=0)
    assert_same(estimator, X, y, where)
    missing = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    assert_same(estimator, missing, y, where, np.random.default_rng(1).random(len(y)))


@pytest.mark.parametrize("seed", range(30))
def test_random_problems(where, seed):
    estimator, X, y, weight = random_fit(seed)
    here = clone(estimator).fit(X, y, weight)
    for tuning in TUNINGS:
        assert differences(here, fit_there(estimator, X, y, weight, where, tuning)) == [], tuning


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_effects(where, seed):
    given, model = table(seed), random_forest(seed, 4)
    here = clone(model).fit(**given)
    with tuned(TUNINGS[seed % len(TUNINGS)]):
        there = clone(model).set_params(device=where).fit(**given)
    assert differences(here, there) == []


@pytest.mark.parametrize("seed", range(12))
def test_random_problems_of_several_outputs(where, seed):
    estimator, X, y, weight = random_fit_of_outputs(seed)
    here = clone(estimator).fit(X, y, weight)
    for tuning in TUNINGS[seed % 2 :: 2]:
        assert differences(here, fit_there(estimator, X, y, weight, where, tuning)) == [], tuning


@pytest.mark.parametrize("tuning", TUNINGS)
def test_large_nodes(where, tuning):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 6)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])
    y = X[:, 0] * X[:, 1] + rng.standard_normal(len(X))
    assert_same(dforest.RandomForestRegressor(3, max_features=0.5, min_samples_leaf=5, random_state=0), X, y, where, None, tuning)
    weight = rng.random(len(X)) * 1e9
    assert_same(dforest.RandomForestClassifier(3, max_depth=9, random_state=0), X, y > 0, where, weight, tuning)
    assert_same(dforest.ExtraTreesClassifier(2, random_state=0), X, np.digitize(y, [-1, 0, 1]), where, None, tuning)
    X = X + 1e-9 * rng.standard_normal(X.shape)      # no float32 numbers any more
    X[rng.random(X.shape) < 0.05] = np.nan
    assert_same(dforest.ExtraTreesRegressor(2, min_samples_leaf=5, random_state=0), X, y, where, weight, tuning)


@pytest.mark.parametrize("categorical_split", ["subset", "one_hot"])
@pytest.mark.parametrize("strategy", FORESTS)
def test_useless_cuts(where, strategy, categorical_split):
    """Rows of two targets: no cut scores above 0, and the most balanced is taken, of more codes than fit one pass."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, n, 600) for n in (40, 250, 7)] + [rng.standard_normal(600)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    X, y, weight = np.repeat(X, 2, axis=0), np.tile([0, 1], 600), np.repeat(rng.integers(1, 9, 600), 2)
    parameters = {"categorical_features": [1], "categorical_split": categorical_split, "bootstrap": False, "random_state": 0}
    classes, numbers = (partial(kind, 2, max_features=2, **parameters) for kind in FORESTS[strategy])
    for tuning in TUNINGS:
        tree = assert_same(classes(), X, y, where, None, tuning).estimators_[0]
        assert strategy != "best" or categorical_split != "subset" or tree.get_depth() < 20
        assert_same(classes(criterion="entropy"), X, y, where, weight, tuning)
        assert_same(classes(), np.repeat(X, 2, axis=0), np.tile([0, 1, 2, 0], 600), where, None, tuning)
        assert_same(numbers(max_leaf_nodes=50), X, y, where, weight, tuning)
        assert_same(numbers(criterion="poisson"), X, y + 1.0, where, None, tuning)


def test_a_splitter_object(where):
    X, y = load_iris(return_X_y=True)
    tree = dforest.DecisionTreeClassifier(method="dense", splitter=RandomDenseSplitter(), random_state=0)
    assert_same(tree, X, y, where)


def test_sums_of_two_words(where):
    """Weights so large that sums of targets leave 63 bits."""
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((3000, 4)), rng.random(3000) * 2.0**40
    y = X[:, 0] + rng.standard_normal(3000) * 1e-3
    for tuning in TUNINGS:
        assert_same(dforest.RandomForestRegressor(2, random_state=0), X, y, where, weight, tuning)


def test_targets_far_from_each_other(where):
    """Nodes whose targets need another scale, at all sizes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3))
    y = np.where(X[:, 0] > 3, 1e15, X[:, 1] * np.where(X[:, 2] > 1, 1e-6, 1.0))
    for tuning in TUNINGS:
        assert_same(dforest.RandomForestRegressor(2, random_state=0, impurity_threshold=1e-20), X, y, where, None, tuning)


def test_many_codes_and_classes(where):
    """Histograms too large for the memory of a group."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 3))
    assert_same(dforest.RandomForestClassifier(2, max_bins=3000, random_state=0), X, X[:, 0] > 0, where)
    y = rng.integers(0, 200, 5000)
    for tuning in ({}, {"histogram_bytes": 1, "n_items": 4}):
        assert_same(dforest.RandomForestClassifier(2, max_depth=6, random_state=0), X, y, where, None, tuning)
    assert_same(dforest.ExtraTreesClassifier(2, max_depth=6, random_state=0), X, y, where, rng.random(5000))


@pytest.mark.parametrize("categorical_split", ["subset", "one_hot"])
@pytest.mark.parametrize("strategy", FORESTS)
def test_categories(where, strategy, categorical_split):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, n, 3000) for n in (2, 5, 64, 65, 250)] + [rng.standard_normal(3000)]).astype(float)
    y = (X[:, 1] == 3) * 2.0 + np.sin(X[:, 2]) + np.sin(X[:, 4]) + 0.1 * rng.standard_normal(3000)
    X[rng.random(X.shape) < 0.1] = np.nan
    parameters = {"categorical_features": [0, 1, 2, 3, 4], "categorical_split": categorical_split, "random_state": 0}
    for tuning in TUNINGS:
        assert_same(FORESTS[strategy][0](2, **parameters), X, np.digitize(y, [-1, 1]), where, None, tuning)
        assert_same(FORESTS[strategy][1](2, max_leaf_nodes=30, **parameters), X, y, where, rng.random(3000), tuning)


@pytest.mark.parametrize("strategy", FORESTS)
@pytest.mark.slow
def test_columns_without_values_and_features_that_part_nothing(where, strategy):
    X, y = load_iris(return_X_y=True)
    nothing = np.full_like(X, np.nan)
    for tuning in TUNINGS:
        assert_same(FORESTS[strategy][0](2, random_state=0), nothing, y, where, None, tuning)
        wide = np.hstack([np.repeat(nothing, 10, axis=1), np.ones((len(X), 40)), X[:, :1]])
        assert_same(FORESTS[strategy][0](2, max_features=1, random_state=0), wide, y, where, None, tuning)
        parameters = {"categorical_features": [0], "max_leaf_nodes": 9, "max_features": 1, "random_state": 0}
        assert_same(FORESTS[strategy][1](2, **parameters), wide, y, where, None, tuning)


@pytest.mark.slow
def test_devices_without_atomics_of_64_bits(no_atomic64, where):
    X, y = load_digits(return_X_y=True)
    tuning = {"subtree_up_to": 50, "chunk": 64, "n_items": 8}
    assert_same(dforest.RandomForestClassifier(3, random_state=0), X, y, where, None, tuning)
    X, y = load_diabetes(return_X_y=True)
    assert_same(dforest.RandomForestRegressor(3, random_state=0), X, y, where, None, tuning)


@pytest.mark.slow
def test_what_is_built_for_other_devices_than_cpus(another):
    another.is_cpu = False
    assert Tuning(another, {}).n_items > 1
    with standing_in(another):
        for seed in range(40, 50):
            estimator, X, y, weight = random_fit(seed)
            here = clone(estimator).fit(X, y, weight)
            for tuning in ({}, {"subtree_up_to": 60}):
                assert differences(here, fit_there(estimator, X, y, weight, tuning=tuning)) == []


@pytest.mark.parametrize("kind", [dforest.DecisionTreeClassifier, dforest.DecisionTreeRegressor])
def test_single_trees(where, kind):
    X, y = load_breast_cancer(return_X_y=True)
    assert_same(kind(random_state=0, ccp_alpha=0.001), X, y, where)


def test_what_follows_from_a_forest(where):
    """Out-of-bag estimates, importances, pickles and warm starts are those of the CPU's forest."""
    X, y = load_breast_cancer(return_X_y=True)
    estimator = dforest.RandomForestClassifier(
        30, random_state=0, oob_score=True, variable_importance="mda_raw", class_weight="balanced_subsample"
    )
    here, there = clone(estimator).fit(X, y), fit_there(estimator, X, y, device=where)
    assert there.oob_score_ == here.oob_score_
    assert np.array_equal(there.variable_importance_, here.variable_importance_)
    copy = pickle.loads(pickle.dumps(there)).set_params(device=None)
    assert np.array_equal(copy.predict_proba(X), here.predict_proba(X))
    there.set_params(warm_start=True, n_estimators=33).fit(X, y)
    assert differences(clone(here).set_params(n_estimators=33).fit(X, y), there) == []


def test_a_name_says_where(device, where):
    X, y = load_iris(return_X_y=True)
    before = device.n_launches
    there = dforest.RandomForestClassifier(3, random_state=0, device=where).fit(X, y)
    assert device.n_launches > before
    assert differences(dforest.RandomForestClassifier(3, random_state=0).fit(X, y), there) == []


def test_two_devices_at_once(part_queues):
    X, y = load_digits(return_X_y=True)
    estimator = dforest.RandomForestClassifier(8, random_state=0)
    here = clone(estimator).fit(X, y)

    def fit(queue):
        with dforest.config_context(queue=queue):
            return clone(estimator).fit(X, y)

    with ThreadPoolExecutor(2) as pool:
        for there in pool.map(fit, part_queues * 2):
            assert differences(here, there) == []


def test_one_thread_fits_while_another_predicts(where):
    X, y = load_digits(return_X_y=True)
    estimator = dforest.RandomForestClassifier(8, random_state=0)
    here = clone(estimator).fit(X, y)
    there = clone(estimator).set_params(device=where).fit(X, y)
    with ThreadPoolExecutor(2) as pool:
        fits = [pool.submit(fit_there, estimator, X, y, None, where) for _ in range(3)]
        for _ in range(20):
            assert np.array_equal(there.predict_proba(X), here.predict_proba(X))
        for fitted in fits:
            assert differences(here, fitted.result()) == []


def test_bootstraps_of_any_size(where):
    X, y = load_iris(return_X_y=True)
    for parameters in ({"bootstrap": False}, {"max_samples": 7}, {"max_samples": 20.0}):
        assert_same(dforest.RandomForestClassifier(3, random_state=0, **parameters), X, y, where)
    wide = np.random.default_rng(0).random((9000, 2))  # rows of more than two blocks
    assert_same(dforest.RandomForestClassifier(3, max_depth=4, random_state=0), wide, wide[:, 0] > 0.5, where)


class Halves(PythonCriterion):
    """Something of one's own."""

    def impurity(self, statistics):
        return 0.5


def test_what_has_no_code_there(where):
    X, y = load_iris(return_X_y=True)
    estimator = dforest.RandomForestClassifier(3, device=where, criterion=Halves())
    before = dict(vars(estimator))
    with pytest.raises(ValueError, match="criterion=.*is not supported for .*gini, entropy"):
        estimator.fit(np.round(X), y > 0)
    assert vars(estimator) == before


def test_a_tree_too_large_for_the_device(where):
    X, y = load_iris(return_X_y=True)
    for name in ("batch_bytes", "array_bytes"):
        with pytest.raises(DeviceError, match=r"a tree of 150 rows needs \d+ MiB on .*; available are \d+ MiB for trees, and"):
            fit_there(dforest.RandomForestClassifier(3), X, y, device=where, tuning={name: 1000})


def test_sizes_that_contradict_each_other(where):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="subtree_up_to=100, chunk=64"):
        fit_there(dforest.RandomForestClassifier(3), X, y, device=where, tuning={"subtree_up_to": 100, "chunk": 64})
