"""Tests that rows go down trees on a device as on the CPU, to the bit."""

import pickle
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from helpers.device_forests import standing_in
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    load,
)
from dforest.core.predict.packed import PackedForest
from dforest.engines.device import predictor
from dforest.engines.device.predictor import DevicePredictor

ITEMS = [None, 1, 4, 64]


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tobytes() == b.tobytes()


def check(model, X, device):
    """All predictions of a fitted model, against those on the CPU."""
    there = pickle.loads(pickle.dumps(model))
    names = [name for name in ("predict", "predict_proba", "predict_log_proba", "apply") if hasattr(model, name)]
    expected = {name: getattr(model, name)(X) for name in names}
    path = model.decision_path(X)
    before = device.n_launches
    with standing_in(device):
        there.set_params(device="sycl")
        for name in names:
            same(getattr(there, name)(X), expected[name])
        found = there.decision_path(X)
    assert device.n_launches > before + len(names)
    if not isinstance(model, DecisionTreeClassifier | DecisionTreeRegressor):
        same(found[1], path[1])
        found, path = found[0], path[0]
    same(found.indices, path.indices)
    same(found.indptr, path.indptr)


@pytest.mark.parametrize("n_items", ITEMS)
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_digits, load_diabetes])
def test_bundled_data(device, tuning, load, n_items):
    tuning["n_items"] = n_items
    X, y = load(return_X_y=True)
    kind = RandomForestRegressor if load is load_diabetes else RandomForestClassifier
    model = kind(20, random_state=0).fit(X[::2], y[::2])
    check(model, X, device)
    check(model, X.astype(np.float32), device)


MODELS = [
    RandomForestClassifier(7, random_state=0),
    RandomForestClassifier(7, voting="hard", method="dense", random_state=0),
    ExtraTreesClassifier(7, criterion="entropy", max_leaf_nodes=20, random_state=0),
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(max_depth=1, random_state=0),
    RandomForestRegressor(7, random_state=0),
    ExtraTreesRegressor(7, method="dense", random_state=0),
    DecisionTreeRegressor(random_state=0),
    DecisionTreeRegressor(criterion="absolute_error", method="dense", max_depth=4, random_state=0),
]


def problem(dtype, n, is_regression, missing, n_categories, seed=0):
    """Rows of random numbers, and of categories in columns 0 and 3."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6)).astype(dtype)
    if n_categories:
        X[:, [0, 3]] = rng.integers(0, n_categories, (n, 2))
    X[:: max(1, n // 20), 1] = np.inf
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    score = np.nan_to_num(X[:, 1], posinf=0) * X[:, 2] + (np.nan_to_num(X[:, 0]) % 3 if n_categories else X[:, 0])
    return X, np.nan_to_num(score) if is_regression else np.digitize(np.nan_to_num(score), [-0.5, 0.5])


@pytest.mark.parametrize("n_items", ITEMS)
@pytest.mark.parametrize("n_categories", [0, 5, 200])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_random_problems(device, tuning, dtype, missing, n_categories, n_items):
    tuning["n_items"] = n_items
    for number, pattern in enumerate(MODELS):
        is_regression = not hasattr(pattern, "predict_proba")
        X, y = problem(dtype, 300, is_regression, missing, n_categories, seed=number)
        model = type(pattern)(**pattern.get_params(deep=False))
        model.set_params(categorical_features=[0, 3] if n_categories else None).fit(X, y)
        new = problem(dtype, 203, is_regression, True, n_categories + 2 if n_categories else 0, seed=100 + number)[0]
        check(model, new, device)


@pytest.mark.parametrize("n_items", ITEMS)
@pytest.mark.parametrize("is_wide", [False, True])
def test_wide_and_narrow_slots(device, tuning, is_wide, n_items):
    tuning["n_items"] = n_items
    X, y = problem(np.float32, 400, False, True, 9)
    forest = RandomForestClassifier(9, categorical_features=[0, 3], random_state=0).fit(X, y).forest_
    packed = PackedForest(forest, forest.leaf_votes(), None, is_wide)
    assert packed.slot_size == (16 if is_wide else 8)
    there = DevicePredictor(device, packed)
    for rows in (X, X.astype(np.float64)):
        for name in ("mean", "most", "apply"):
            same(getattr(there, name)(rows), getattr(packed, name)(rows, 1))


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 63, 65, 127, 129, 1023, 1025, 9000])
@pytest.mark.parametrize("n_items", ITEMS)
def test_numbers_of_rows(device, tuning, n, n_items):
    tuning["n_items"] = n_items
    X, y = problem(np.float32, 500, False, False, 0)
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    check(model, problem(np.float32, n, False, False, 0, seed=n)[0], device)


def test_rows_go_to_the_device_in_parts(device, monkeypatch):
    X, y = problem(np.float64, 500, False, True, 0)
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    monkeypatch.setattr(predictor, "PART_BYTES", 100 * 8 * 6)
    before = device.n_launches
    check(model, X, device)
    assert device.n_launches - before == 5 * (2 + 1 + 1 + 1 + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_smallest_numbers_are_not_zero(device, dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    x = np.array([-3, -2, -1, 0, 1, 2, 3, 4], dtype) * tiny
    X, y = np.repeat(x, 5)[:, None], np.repeat(np.arange(8), 5)
    for method in ("hist", "dense"):
        model = DecisionTreeClassifier(method=method, random_state=0).fit(X, y)
        with standing_in(device):
            np.testing.assert_array_equal(model.set_params(device="sycl").predict(X), y)


def test_labels_of_frames(device):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["x", "y", "z"], 200), "b": rng.random(200), "c": rng.choice([1, 5, 7], 200)})
    frame["a"] = frame["a"].astype("category")
    frame.loc[::9, "b"] = None
    y = np.where((frame["a"] == "x") ^ (frame["b"] > 0.5), "yes", "no")
    check(RandomForestClassifier(5, random_state=0).fit(frame, y), frame, device)


@pytest.mark.parametrize("mmap", [True, False])
def test_forests_from_a_model_file(device, mmap, tmp_path):
    """Trees that are mapped from the file, or packed anew, predict there as those that were saved do here."""
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    for number, model in enumerate((RandomForestClassifier(7, random_state=0), ExtraTreesRegressor(7, random_state=0))):
        model.fit(X, y)
        model.save(tmp_path / f"{number}")
        loaded = load(tmp_path / f"{number}", mmap=mmap)
        before = device.n_launches
        with standing_in(device):
            same(loaded.set_params(device="sycl").predict(X), model.predict(X))
        assert device.n_launches > before
        check(loaded.set_params(device=None), X, device)


def test_trees_of_a_forest(device):
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    for tree in forest.estimators_:
        check(tree, X, device)


def test_copies_end_with_the_forest(device):
    X, y = load_iris(return_X_y=True)
    held, kept = device.n_bytes_held, len(device.copies)
    model = RandomForestClassifier(4, random_state=0).fit(X, y)
    with standing_in(device):
        model.set_params(device="sycl").predict(X)
        once = device.n_bytes_held
        model.predict(X)
    assert held < once == device.n_bytes_held
    assert len(device.copies) == kept + 1
    assert device.name.encode() not in pickle.dumps(model)
    del model
    assert (device.n_bytes_held, len(device.copies)) == (held, kept)


def test_threads_predict_at_once(device, another):
    X, y = load_digits(return_X_y=True)
    models = [RandomForestClassifier(10, random_state=i).fit(X, y) for i in range(2)]
    devices = [another, another, device, device]
    found = {}

    def work(number):
        there = DevicePredictor(devices[number], models[number % 2].forest_.packed())
        found[number] = [there.mean(X[i:]) for i in range(40)]

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        expected = models[number % 2].predict_proba(X)
        for i, proba in enumerate(found[number]):
            same(proba, expected[i:])


@pytest.mark.slow
def test_devices_without_atomics(device, no_atomic64):
    X, y = load_iris(return_X_y=True)
    check(RandomForestClassifier(4, random_state=0).fit(X, y), X, device)


def test_devices_of_their_own_contexts(device, parts):
    X, y = load_iris(return_X_y=True)
    packed = RandomForestClassifier(4, random_state=0).fit(X, y).forest_.packed()
    for used in (device, *parts, device):
        same(DevicePredictor(used, packed).mean(X), packed.mean(X, 1))


@pytest.mark.slow
def test_what_is_built_for_other_devices_than_cpus(another):
    X, y = problem(np.float32, 500, False, True, 9)
    packed = RandomForestClassifier(9, categorical_features=[0, 3], random_state=0).fit(X, y).forest_.packed()
    another.is_cpu = False
    assert another.n_items > 1
    there = DevicePredictor(another, packed)
    for name in ("mean", "most", "apply"):
        same(getattr(there, name)(X), getattr(packed, name)(X, 1))
