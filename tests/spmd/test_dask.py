"""Forests of rows on the workers of a Dask cluster of this machine are those of one process."""

import os
import pickle
import signal
import time
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from helpers.device_forests import differences
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dforest
from dforest.errors import RankError

pytest.importorskip("distributed")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from dask import delayed  # noqa: E402
from helpers import dask_programs as programs  # noqa: E402

import dforest.dask  # noqa: E402

pytestmark = [pytest.mark.slow(after=1), pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")]
KINDS = ["RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"]


def problem(kind, n=600):
    rng = np.random.default_rng(7)
    X = np.round(rng.standard_normal((n, 4)), 2)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.integers(0, 3, n) if "Classifier" in kind else rng.standard_normal(n)
    return rng, X, y, rng.random(n) * (rng.random(n) < 0.9)


def models(kind, **parameters):
    parameters = {"n_estimators": 4, "random_state": 0} | parameters
    return getattr(dforest.dask, kind)(**parameters), getattr(dforest, kind)(**parameters)


def placed(client, parts, where):
    """Delayed partitions, each on the worker of this number."""
    addresses = sorted(client.nthreads())
    futures = [client.scatter(part, workers=[addresses[w]], hash=False) for part, w in zip(parts, where, strict=True)]
    return [delayed(future) for future in futures]


@pytest.mark.parametrize("kind", KINDS)
def test_forests_are_those_of_one_process(client, kind):
    """However the rows are cut, and wherever they lie; attributes too."""
    rng, X, y, weight = problem(kind)
    model, one = models(kind)
    one.fit(X, y, weight)
    for where in ([0, 1, 2, 0, 1], [2, 2, 2, 2, 2], [1, 0, 0, 1, 1], [2]):
        cuts = np.sort(rng.integers(0, len(y), len(where) - 1))
        parts = [placed(client, np.split(array, cuts), where) for array in (X, y, weight)]
        model.fit(*parts)
        assert model.fit_report_.n_ranks == len(set(where))
        local = model.to_local()
        assert type(local) is type(one)
        assert not differences(local, one)
        for samples, expected in zip(local.estimators_samples_, one.estimators_samples_, strict=True):
            np.testing.assert_array_equal(samples, expected)


def test_arrays(client):
    """Of other chunks for y than for X, cut by columns, of unknown sizes, with empty chunks."""
    rng, X, y, weight = problem("Classifier")
    model, one = models("RandomForestClassifier", oob_score=True)
    one.fit(X, y, weight)
    dX, dy, dw = da.from_array(X, (200, 2)), da.from_array(y, 150), da.from_array(weight, 600)
    assert not differences(model.fit(dX, dy, dw).to_local(), one)
    assert (model.oob_score_, model.oob_error_) == (one.oob_score_, one.oob_error_)
    keep = X[:, 0] > 0
    one.fit(X[keep], y[keep])
    dkeep = da.from_array(keep, 200)
    assert not differences(model.fit(dX[dkeep], dy.rechunk(200)[dkeep]).to_local(), one)
    gap = np.r_[X[:200], X[400:]], np.r_[y[:200], y[400:]]
    dkeep = da.from_array(np.repeat([True, False, True], 200), 200)
    assert not differences(model.fit(dX[dkeep], dy.rechunk(200)[dkeep]).to_local(), one.fit(*gap))


def frame(n=300):
    rng = np.random.default_rng(3)
    colours = np.array(["red", "green", "blue", "black"])[np.sort(rng.integers(0, 4, n))]
    table = pd.DataFrame({"size": rng.standard_normal(n).round(1), "colour": colours, "flag": rng.random(n) < 0.5})
    return table.astype({"colour": "category"}), (table["size"] + (table["colour"] == "red") > 0).to_numpy(str)


def test_frames_whose_categories_differ_by_partition(client):
    table, y = frame()
    target = pd.Series(y, index=table.index, dtype=object)
    model, one = models("RandomForestClassifier", categorical_features="from_dtype")
    one.fit(table, y)
    rows = [slice(0, 120), slice(120, 180), slice(180, 300)]
    parts = [table.iloc[own].assign(colour=lambda part: part["colour"].cat.remove_unused_categories()) for own in rows]
    model.fit([delayed(part) for part in parts], [delayed(target.iloc[own]) for own in rows])
    assert not differences(model.to_local(), one)
    assert [len(categories) for categories in model.categories_ if categories is not None] == [4]
    dX, dy = dd.from_pandas(table, npartitions=3), dd.from_pandas(target, npartitions=3)
    model.fit(dX, dy)
    assert not differences(model.to_local(), one)
    assert model.feature_names_in_.tolist() == ["size", "colour", "flag"]
    found = model.predict_proba(dX)
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found.compute(), one.predict_proba(table))
    np.testing.assert_array_equal(model.predict(dX).compute(), one.predict(table))


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_lazy(client, kind):
    rng, X, y, _ = problem(kind)
    model, one = models(kind)
    dX, dy = da.from_array(X, (250, 3)), da.from_array(y, 250)
    one.fit(X, y)
    model.fit(dX, dy)
    for method in ["predict", "apply", "predict_proba", "predict_log_proba"][: 4 if "Classifier" in kind else 2]:
        expected = getattr(one, method)(X)
        lazy = getattr(model, method)(dX)
        assert isinstance(lazy, da.Array)
        assert (lazy.dtype, lazy.shape, lazy.chunks[0]) == (expected.dtype, expected.shape, (250, 250, 100))
        np.testing.assert_array_equal(lazy.compute(), expected)
        np.testing.assert_array_equal(getattr(model, method)(X), expected)
        some = getattr(model, method)(dX[dX[:, 0] > 1])  # of unknown sizes
        np.testing.assert_array_equal(some.compute(), getattr(one, method)(X[X[:, 0] > 1]))
        empty = getattr(model, method)(dX[da.from_array(np.arange(600) >= 500, 250)])
        np.testing.assert_array_equal(empty.compute(), expected[500:])
        by_part = getattr(model, method)([delayed(X[:10]), delayed(X[10:])])
        np.testing.assert_array_equal(np.concatenate([part.compute() for part in by_part]), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_other_methods_refuse_lazy_rows(client, kind):
    """All that take rows, rather than to gather them without a word."""
    rng, X, y, _ = problem(kind)
    model, one = models(kind, bootstrap=True)
    dX, dy = da.from_array(X, (250, 3)), da.from_array(y, 250)
    model.fit(dX, dy)
    one.fit(X, y)
    names = [
        "decision_path",
        "shap_values",
        "shap_interaction_values",
        "forest_weights",
        "proximity",
        "score",
        "estimate_memory",
        "oob_importance",
        "report",
    ]
    names += [] if "Classifier" in kind else ["predict_quantiles", "predict_interval"]
    lists = [delayed(X[:10]), delayed(X[10:])]
    for name in names:
        needs_y = name in ("score", "estimate_memory", "oob_importance")
        for rows, said in (
            (dX, "X is of type Array"),
            (dd.from_dask_array(dX), "X is of type DataFrame"),
            (lists, "X is of type list"),
        ):
            with pytest.raises(TypeError, match=rf"{said}; {name} takes .* call to_local\(\).{name} for each"):
                getattr(model, name)(*((rows, y) if needs_y else (rows,)))
    with pytest.raises(TypeError, match="y is of type Array; score"):
        model.score(X, dy)
    with pytest.raises(TypeError, match="background is of type Array; shap_values"):
        model.shap_values(X, background=dX)
    assert model.score(X, y) == one.score(X, y)
    np.testing.assert_array_equal(model.decision_path(X)[0].toarray(), one.decision_path(X)[0].toarray())
    assert len(vars(dforest.dask)[kind].score.__doc__) > 100


def test_fewer_workers_add_trees(client):
    rng, X, y, weight = problem("Classifier")
    model, one = models("RandomForestClassifier", warm_start=True)
    one.fit(X, y, weight)
    one.set_params(n_estimators=9).fit(X, y, weight)
    for where in ([0, 1, 2], [1, 0, 1]):
        parts = [placed(client, np.array_split(array, 3), where) for array in (X, y, weight)]
        model.set_params(n_estimators=4 if 2 in where else 9).fit(*parts)
    assert not differences(model.to_local(), one)
    for samples, expected in zip(model.estimators_samples_, one.estimators_samples_, strict=True):
        np.testing.assert_array_equal(samples, expected)


def test_draws_by_group_class_and_weight(client):
    """Plans are made of all rows, in the order of the partitions; groups come with or without weights."""
    rng, X, y, weight = problem("Classifier")
    weight, groups = weight + 0.1, rng.integers(0, 40, len(y)).astype(str)
    where, cuts = [1, 0, 2, 0], [100, 350, 351]
    for way, given in [("group", {"groups": groups}), ("group", {"groups": groups, "sample_weight": weight}),
                       ("balanced", {}), ("weighted", {"sample_weight": weight})]:  # fmt: skip
        model, one = models("RandomForestClassifier", bootstrap=way, oob_score=True)
        one.fit(X, y, **given)
        parts = {name: placed(client, np.split(array, cuts), where) for name, array in {"X": X, "y": y, **given}.items()}
        model.fit(**parts)
        assert not differences(model.to_local(), one)
        assert model.forest_.plans == one.forest_.plans
        assert model.oob_error_ == one.oob_error_
        for samples, expected in zip(model.estimators_samples_, one.estimators_samples_, strict=True):
            np.testing.assert_array_equal(samples, expected)
    model, one = models("RandomForestClassifier", bootstrap="group")
    one.fit(X, y, groups=groups)
    model.fit(da.from_array(X, (200, 4)), da.from_array(y, 200), groups=da.from_array(groups, 150))
    assert not differences(model.to_local(), one)
    column = pd.Series(groups)
    dX, dy = dd.from_pandas(pd.DataFrame(X), npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)
    model.fit(dX, dy, groups=dd.from_pandas(column, npartitions=3))
    assert not differences(model.to_local(), one)
    column[450] = None
    with pytest.raises(ValueError, match=r"on rank \d: groups has .* for row 450; every row needs a group"):
        model.fit(dX, dy, groups=dd.from_pandas(column, npartitions=3))
    with pytest.raises(TypeError, match="groups is of type ndarray; allowed are dask arrays and dataframes"):
        model.fit(dX, dy, groups=groups)
    with pytest.raises(ValueError, match="X has 3, y has 3, groups has 1 partitions; allowed is the same number for all"):
        model.fit(dX, dy, groups=dd.from_pandas(column, npartitions=1))


def test_a_random_state_goes_on(client):
    rng, X, y, _ = problem("Classifier")
    model, one = models("RandomForestClassifier")
    for estimator in (model, one):
        estimator.random_state = np.random.RandomState(5)
    for _ in range(2):
        model.fit(da.from_array(X, (200, 4)), da.from_array(y, 200))
        assert not differences(model.to_local(), one.fit(X, y))


def test_a_failed_fit_leaves_the_estimator_as_it_was(client):
    rng, X, y, _ = problem("Regressor")
    model, one = models("RandomForestRegressor")
    dX, dy = da.from_array(X, (200, 4)), da.from_array(y, 200)
    model.fit(dX, dy)
    before = dict(model.__dict__)
    y = y.copy()
    y[450] = np.nan
    with pytest.raises(ValueError, match=r"on rank \d: Input y contains NaN"):
        model.fit(dX, da.from_array(y, 200))
    with pytest.raises(ValueError, match="n_estimators"):
        model.set_params(n_estimators=0).fit(dX, dy)
    model.set_params(n_estimators=4)
    with pytest.raises(ZeroDivisionError):
        model.fit(dX, dy.map_blocks(lambda block: 1 // 0, dtype=float))
    assert model.__dict__ == before


def test_data_are_checked(client):
    rng, X, y, _ = problem("Classifier")
    model = dforest.dask.RandomForestClassifier()
    dX, dy = da.from_array(X, (200, 4)), da.from_array(y, 200)
    with pytest.raises(TypeError, match="X is of type ndarray; allowed are dask arrays and dataframes, and lists of delayed"):
        model.fit(X, dy)
    with pytest.raises(TypeError, match="y is of type ndarray"):
        model.fit(dX, y)
    with pytest.raises(ValueError, match="X has 3, y has 2 partitions; allowed is the same number for all"):
        model.fit(dX, dy[:400])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit([delayed(X[:10]), delayed(X[10:])], [delayed(y[:11]), delayed(y[11:])])


@pytest.mark.parametrize("moment", range(2))
def test_a_worker_that_leaves_ends_the_fit(client, moment):
    rng, X, y, _ = problem("Classifier", 3000)
    model, one = models("RandomForestClassifier")
    dX, dy = da.from_array(X, (500, 4)), da.from_array(y, 500)
    model.fit(dX, dy)
    before = dict(model.__dict__)
    model.set_params(n_estimators=100_000)
    victim, number = list(client.run(os.getpid).items())[moment]

    def kill():
        while not all(client.run(programs.runs).values()):
            time.sleep(0.05)
        time.sleep(moment / 2)
        os.kill(number, signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    with pytest.raises(RankError, match="cannot be reached|has left the cluster"):
        model.fit(dX, dy)
    killer.join()
    while victim in client.nthreads():  # or others would count on it
        time.sleep(0.05)
    assert model.set_params(n_estimators=4).__dict__ == before
    assert not differences(model.fit(dX, dy).to_local(), one.fit(X, y))  # on those that are left


def test_they_are_estimators_like_others(client):
    rng, X, y, _ = problem("Classifier")
    model = clone(dforest.dask.RandomForestClassifier(3, max_depth=4, random_state=1))
    assert model.get_params() == dforest.RandomForestClassifier(3, max_depth=4, random_state=1).get_params()
    with pytest.raises(NotFittedError):
        model.predict(da.from_array(X, (200, 4)))
    model.fit(da.from_array(X, (200, 4)), da.from_array(y, 200), client=client)
    copied = pickle.loads(pickle.dumps(model))
    assert type(copied) is type(model)
    np.testing.assert_array_equal(copied.predict(X), model.to_local().predict(X))
    assert model.score(X, y) == model.to_local().score(X, y)
    assert len(model.estimators_) == 3


def test_nothing_stays_on_workers(client):
    rng, X, y, _ = problem("Classifier")
    models("RandomForestClassifier")[0].fit(da.from_array(X, (200, 4)), da.from_array(y, 200))
    assert not any(client.run(programs.runs).values())
    assert not any("_work_on" in str(key) for keys in client.has_what().values() for key in keys)
