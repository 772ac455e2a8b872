"""Boosted trees on a device: the models of the processor, to the bit. The processor stands in for a device, with its kernels."""

import numpy as np
import pytest
from helpers.boosted_fits import CLASSES, KINDS, REGRESSION, random_fit, random_fit_of
from helpers.boosting import assert_equal_models
from helpers.device_forests import fit_there, standing_in
from helpers.host_device import compile_kernels, load_kernels, strict_device
from helpers.rings import some
from sklearn.base import clone

from dforest import HistGradientBoostingRegressor
from dforest.core.boost.booster import Booster
from dforest.core.coding import code_columns
from dforest.engines.boosting_driver import Iterations, RowWeights
from dforest.engines.device.boosting import BoostingShard
from dforest.engines.device.training import Tuning
from dforest.engines.problem import BoostingProblem, BoostingRules
from dforest.errors import DeviceError
from dforest.estimators.boosting.losses import Loss
from dforest.rules.losses import LOSSES

TUNINGS = [
    {},
    {"subtree_up_to": 0, "chunk": 1, "ahead": 1},
    {"subtree_up_to": 0, "chunk": 7, "ahead": 3, "n_together": 1},
    {"chunk": 1 << 20, "ahead": 100, "histogram_bytes": 1, "together_bytes": 1, "n_groups": 2},
    {"subtree_up_to": 0, "chunk": 64, "local_bytes": 8, "n_groups": 3},
    {"subtree_up_to": 0, "chunk": 100, "ahead": 16, "histogram_bytes": 30_000},  # which few nodes have room in
]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", [*REGRESSION, *CLASSES])
def test_models_are_those_of_the_processor(loss, seed):
    model, X, y, weight = random_fit(seed, loss)
    here = clone(model).fit(X, y, weight)
    for number, tuning in enumerate(TUNINGS):
        with standing_in(strict_device(n_threads=1 + number % 3, is_cpu=number % 2 == 0)):
            there = fit_there(model, X, y, weight, tuning=tuning)
            assert_equal_models(here, there)
            for name in ("predict", "predict_proba", "decision_function", "apply"):
                if hasattr(here, name):
                    assert getattr(here, name)(X).tobytes() == getattr(there, name)(X).tobytes(), name


def test_the_smaller_child_is_counted(monkeypatch):
    """And the histograms of the other are a difference; so they are when some are forgotten, as there is no room for all."""
    counted, asked = [], []
    add_to, find_cuts = BoostingShard._add_to, BoostingShard.find_cuts

    def counting(self, histograms, open_nodes, pairs):
        counted.append(int(open_nodes["n"].sum()))
        return add_to(self, histograms, open_nodes, pairs)

    def asking(self, open_nodes, *given):
        asked.append(int(open_nodes["n"].sum()))
        return find_cuts(self, open_nodes, *given)

    monkeypatch.setattr(BoostingShard, "_add_to", counting)
    monkeypatch.setattr(BoostingShard, "find_cuts", asking)
    X, y = np.random.default_rng(0).random((2, 4000, 3))
    model = HistGradientBoostingRegressor(defaults="scikit-learn", max_iter=1, min_samples_leaf=1, random_state=0)
    here = clone(model).fit(X, y[:, 0])
    with standing_in(strict_device()):
        there = fit_there(model, X, y[:, 0])
        assert_equal_models(here, there)
        assert counted[0] == asked[0] == 4000 and len(counted) == len(asked)
        assert sum(counted[1:]) <= sum(asked[1:]) / 2
        assert there.fit_report_.kernels["df_boost_subtract"] > 0
        counted.clear(), asked.clear()
        less = fit_there(model, X, y[:, 0], tuning={"histogram_bytes": 8 * 3 * 3 * 256 * 12})
        assert_equal_models(here, less)
        assert 4000 < sum(counted) < sum(asked) and less.fit_report_.kernels["df_boost_subtract"] > 0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("kind", "loss"), KINDS)
def test_other_models(kind, loss, seed):
    model, X, y, weight = random_fit_of(kind, seed, loss)
    here = clone(model).fit(X, y, weight)
    with standing_in(strict_device(n_threads=1 + seed % 3)):
        there = fit_there(model, X, y, weight, tuning=TUNINGS[seed % len(TUNINGS)])
        assert_equal_models(here, there)
        assert here.apply(X).tobytes() == there.apply(X).tobytes()


@pytest.fixture(scope="module")
def kernels():
    """The kernels for groups of several items."""
    return load_kernels(compile_kernels())


@pytest.mark.parametrize("loss", [*REGRESSION, *CLASSES])
def test_groups_of_several_items(loss, kernels):
    for seed in some(range(10, 13), 1):
        model, X, y, weight = random_fit(seed, loss)
        here = clone(model).fit(X, y, weight)
        for tuning in ({"n_items": 5}, {"n_items": 3, "subtree_up_to": 0, "chunk": 4, "local_bytes": 8}):
            with standing_in(strict_device(kernels, 2, is_cpu=False)):
                there = fit_there(model, X, y, weight, tuning=tuning)
            assert_equal_models(here, there)
            with standing_in(strict_device(kernels, 2, n_items=5)):
                assert here.predict(X).tobytes() == there.predict(X).tobytes()


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_more_rows_than_a_word_stands_for(loss, is_wide, is_weighted):
    """Words of every kind are spilled, inside of chunks and between them."""
    rng = np.random.default_rng(0)
    n, p = 12_000, 3
    X = np.column_stack([rng.standard_normal(n), rng.random(n) < 0.1, np.where(rng.random(n) < 0.3, np.nan, 1.0)])
    y = X[:, 0] + X[:, 1] + rng.standard_normal(n)
    y = y if loss == "squared_error" else (y > 0).astype(float)
    times = rng.integers(1900, 2049, n).astype(np.uint32) if is_weighted else None
    weight = None if times is None else times.astype(float)
    columns = list(code_columns(X, 255, times, counts_missing=False))
    limits = dict(learning_rate=0.1, max_leaf_nodes=9, max_depth=None, min_samples_leaf=20, min_hessian=1e-3, l2=0.0,
                  max_features=p)  # fmt: skip
    booster = Booster(columns, LOSSES[loss].number, y, weight, baseline=[0.0], seed=0, n_threads=1,
                      tuning={"wide_packed_sums": is_wide}, **limits)  # fmt: skip
    wanted = [booster.grow_iteration()[0] for _ in range(3)]
    problem = BoostingProblem(columns, y, weight, Loss(loss), (0.0,), BoostingRules(**limits), 0, n)
    weights = RowWeights.of(problem)
    assert (weights.times is None) == (times is None)
    for chunk in (1000, 5000, 1 << 20):
        device = strict_device()
        tuning = Tuning(device, {"subtree_up_to": 0, "chunk": chunk})
        shard = BoostingShard(device, tuning, problem, weights)
        shard.ahead = 2
        iterations = Iterations(problem, shard, is_wide=is_wide)
        for tree in wanted:
            for name, a, b in zip(tree._fields, tree, iterations.grow_iteration()[0], strict=True):
                assert a.tobytes() == b.tobytes(), name
        assert booster.raw_sums.tobytes() == iterations.raw_sums.tobytes()


@pytest.mark.parametrize("loss", ["squared_error", "multinomial"])
def test_scores_and_warm_starts(loss):
    model, X, y, _ = random_fit(1, loss)
    model.set_params(max_iter=30, early_stopping=True, validation_fraction=None, n_iter_no_change=2, tol=1e-2)
    with standing_in(strict_device()):
        assert_equal_models(clone(model).fit(X, y), fit_there(model, X, y))
        model.set_params(early_stopping=False, max_iter=5)
        in_two = clone(model).set_params(device="sycl", warm_start=True, max_iter=2).fit(X, y)
        assert_equal_models(clone(model).fit(X, y), in_two.set_params(max_iter=5).fit(X, y))
        assert in_two.fit_report_.n_trees == 3 * in_two.n_trees_per_iteration_
        assert in_two.fit_report_.kernels["df_boost_derive"] == 3
        assert in_two.fit_report_.device == "this processor"
        for a, b in zip(in_two.staged_predict(X), clone(in_two).set_params(device=None).fit(X, y).staged_predict(X), strict=True):
            assert a.tobytes() == b.tobytes()


def test_an_error_of_the_device_leaves_the_estimator_as_it_was(monkeypatch):
    X, y = np.arange(40.0).reshape(20, 2) % 7, np.arange(20.0)
    model = HistGradientBoostingRegressor(device="sycl", max_iter=3, warm_start=True)
    device = strict_device()
    with standing_in(device):
        model.fit(X, y)
        before = dict(vars(model))
        n_left = [20]
        launch = type(device).launch

        def fail_later(self, kernel, *arguments):
            n_left[0] -= 1
            if n_left[0] < 0:
                raise DeviceError("it is gone")
            launch(self, kernel, *arguments)

        monkeypatch.setattr(type(device), "launch", fail_later)
        with pytest.raises(DeviceError, match="it is gone"):
            model.set_params(max_iter=10).fit(X, y)
    assert {**vars(model), "max_iter": 3} == before
    held = device.n_bytes_held
    monkeypatch.undo()
    with standing_in(device):
        model.fit(X, y)
    assert device.n_bytes_held <= held
