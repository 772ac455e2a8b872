"""Forests and boosted trees of rows on the workers of a Dask cluster of this machine are those of one process."""

import os
import pickle
import signal
import time
from threading import Thread

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.callbacks import StopAfter
from helpers.device_forests import differences
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dforest
from dforest.errors import RankError

pytest.importorskip("distributed")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from dask import compute, delayed  # noqa: E402
from distributed import Future  # noqa: E402
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


def test_each_worker_has_the_callbacks(client):
    _, X, y, _ = problem("Classifier")
    model, one = models("RandomForestClassifier")
    parts = [placed(client, np.split(array, [200, 300]), [0, 1, 0]) for array in (X, y)]
    model.set_params(n_estimators=20).set_callbacks(StopAfter(4)).fit(*parts)
    assert not differences(model.to_local(), one.fit(X, y))


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


@pytest.mark.parametrize("kind", ["RandomForestRegressor", "HistGradientBoostingRegressor"])
def test_sparse_blocks(client, kind):
    """As blocks of arrays and as delayed partitions, some of them empty; lazy answers take them too."""
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 12), density=0.2, rng=rng, format="csr")
    y = X[:, :4].sum(axis=1) + 0.1 * rng.standard_normal(300)
    parameters = {"n_estimators": 4, "oob_score": True} if "Forest" in kind else {"max_iter": 4}
    one = getattr(dforest, kind)(random_state=0, **parameters).fit(X.toarray(), y)
    blocks = da.from_array(X.toarray(), ((70, 0, 230), 12)).map_blocks(sp.csr_matrix)
    parts = [delayed(X[rows]) for rows in (slice(70), slice(70, 70), slice(70, 300))]
    for rows, targets in ((blocks, da.from_array(y, ((70, 0, 230),))), (parts, list(map(delayed, np.split(y, [70, 70]))))):
        model = getattr(dforest.dask, kind)(random_state=0, **parameters).fit(rows, targets)
        assert not differences(model.to_local(), one)
        assert getattr(model, "oob_score_", None) == getattr(one, "oob_score_", None)
        answer = model.predict(rows)
        answer = np.concatenate(compute(*answer)) if isinstance(answer, list) else answer.compute()
        np.testing.assert_array_equal(answer, one.predict(X))
        assert model.score(rows, targets) == pytest.approx(one.score(X, y))


@pytest.mark.parametrize("kind", KINDS[:2])
def test_several_outputs(client, kind):
    _, X, y, weight = problem(kind)
    y = np.column_stack([y, y[::-1] * 2])
    model, one = models(kind, oob_score=True)
    one.fit(X, y, weight)
    model.fit(da.from_array(X, (200, 4)), da.from_array(y, (150, 1)), da.from_array(weight, 600))
    assert not differences(model.to_local(), one)
    assert (model.oob_score_, model.oob_error_) == (one.oob_score_, one.oob_error_)
    np.testing.assert_array_equal(model.predict(da.from_array(X, (200, 4))).compute(), one.predict(X))


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
    with pytest.raises(ValueError, match=r"on rank \d: Input groups .* in row 450; every row needs a value"):
        model.fit(dX, dy, groups=dd.from_pandas(column, npartitions=3))
    with pytest.raises(TypeError, match="groups is of type ndarray; allowed are dask arrays and dataframes"):
        model.fit(dX, dy, groups=groups)
    with pytest.raises(ValueError, match="X has 3, y has 3, groups has 1 partitions; allowed is the same number for all"):
        model.fit(dX, dy, groups=dd.from_pandas(column, npartitions=1))


@pytest.mark.parametrize("kind", ["HistGradientBoostingRegressor", "HistGradientBoostingClassifier"])
def test_boosted_trees_are_those_of_one_process(client, kind):
    """Of two and three workers, with weights, offsets, categories and an empty partition; others go on."""
    rng, X, y, weight = problem(kind, 200)
    X[:, 1] = rng.integers(0, 5, len(X))
    offset = rng.standard_normal((len(X), 3) if "Classifier" in kind else len(X))
    parameters = {"max_iter": 2, "max_leaf_nodes": 4, "categorical_features": [1], "random_state": 0}
    model, one = getattr(dforest.dask, kind)(**parameters), getattr(dforest, kind)(**parameters)
    one.fit(X, y, weight, offset=offset)
    for where, cuts in (([0, 1, 2, 0, 1], [17, 17, 60, 61]), ([2, 0, 2], [1, 150])):
        *parts, offsets = (placed(client, np.split(array, cuts), where) for array in (X, y, weight, offset))
        assert not differences(model.fit(*parts, offset=offsets).to_local(), one)
        assert model.fit_report_.n_ranks == len(set(where))
    one.set_params(warm_start=True, max_iter=3).fit(X, y, weight, offset=offset)
    model.set_params(warm_start=True, max_iter=3)
    dX, dy, dw = da.from_array(X, (80, 3)), da.from_array(y, 80), da.from_array(weight, 70)
    d_offset = da.from_array(offset, (70, 2) if offset.ndim == 2 else 70)
    assert not differences(model.fit(dX, dy, dw, offset=d_offset).to_local(), one)
    np.testing.assert_array_equal(model.predict(dX, offset=d_offset).compute(), one.predict(X, offset=offset))
    assert model.score(dX, dy) == pytest.approx(one.score(X, y), rel=1e-12)


def test_validation_rows_of_boosted_trees(client):
    """They are given in memory, to the first worker."""
    _, X, y, _ = problem("Regressor", 100)
    parameters = {"max_iter": 3, "early_stopping": True, "random_state": 0}
    model, one = (module.HistGradientBoostingRegressor(**parameters) for module in (dforest.dask, dforest))
    one.fit(X[20:], y[20:], X_val=X[:20], y_val=y[:20])
    parts = [placed(client, [array[20:50], array[50:]], [1, 1]) for array in (X, y)]
    model.fit(*parts, X_val=X[:20], y_val=y[:20])
    assert not differences(model.to_local(), one)
    np.testing.assert_array_equal(model.validation_score_, one.validation_score_)
    with pytest.raises(TypeError, match="X_val is of type list; allowed are validation rows in memory"):
        model.fit(*parts, X_val=parts[0], y_val=y[:20])
    # Several workers: the rows to be scored are those of the first rank.
    several = [placed(client, [array[20:50], array[50:]], [0, 1]) for array in (X, y)]
    model.fit(*several, X_val=X[:20], y_val=y[:20])
    assert not differences(model.to_local(), one)
    np.testing.assert_array_equal(model.validation_score_, one.validation_score_)


def test_rankers_are_those_of_one_process(client):
    """Partitions have whole queries; scores are added up exactly."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 12, 40)
    qid, n = np.repeat(rng.permutation(40), sizes), int(sizes.sum())
    X, weight = np.round(rng.standard_normal((n, 3)), 1), rng.integers(0, 3, n) / 2
    y = np.clip(np.floor(X[:, 0] + np.abs(X[:, 1])), 0, 4)
    parameters = {"max_iter": 4, "min_samples_leaf": 3, "random_state": 0, "early_stopping": True, "n_iter_no_change": 2}
    model, one = (module.HistGradientBoostingRanker(**parameters) for module in (dforest.dask, dforest))
    one.fit(X, y, weight, qid=qid)
    cuts = np.cumsum(sizes)[[9, 9, 25]]
    dX, dy, dw, dq = (placed(client, np.split(array, cuts), [0, 1, 1, 2]) for array in (X, y, weight, qid))
    assert not differences(model.fit(dX, dy, dw, qid=dq).to_local(), one)
    np.testing.assert_array_equal(model.validation_score_, one.validation_score_)
    assert model.score(dX, dy, dw, qid=dq, k=3) == one.score(X, y, weight, qid=qid, k=3)
    assert model.score(dX, dy, qid=dq) == model.score(X, y, qid=qid) == one.score(X, y, qid=qid)
    np.testing.assert_array_equal(np.concatenate([part.compute() for part in model.predict(dX)]), one.predict(X))
    given = {"X_val": X, "y_val": y, "qid_val": qid}
    assert not differences(model.fit(dX, dy, qid=dq, **given).to_local(), one.fit(X, y, qid=qid, **given))
    several = np.split(np.sort(qid), [5, n - 5, n - 1])
    for where in ([0, 1, 1, 2], [0, 0, 0, 0]):
        label = placed(client, several, where)
        parts = [placed(client, np.split(array, [5, n - 5, n - 1]), where) for array in (X, y)]
        with pytest.raises(ValueError, match=r"qid: rows of the query \d+ lie in partition \d and in partition \d; allowed are"):
            model.fit(*parts, qid=label)
        with pytest.raises(ValueError, match=r"qid: rows of the query \d+ lie in partition \d and in partition \d; allowed are"):
            model.score(*parts, qid=label)
    with pytest.raises(TypeError, match="qid is of type ndarray; allowed are dask arrays"):
        model.fit(dX, dy, qid=qid)
    with pytest.raises(TypeError, match="the queries of collections are told by qid"):
        model.score(dX, dy, group=dq)
    with pytest.raises(TypeError, match="qid_val is of type list; allowed are validation rows in memory"):
        model.fit(dX, dy, qid=dq, X_val=X, y_val=y, qid_val=dq)


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


def test_work_that_is_cancelled_ends_the_fit(client):
    """Dask may cancel what a rank does when its worker leaves, before it says that the worker has left."""
    _, X, y, _ = problem("Classifier", 3000)
    model, one = models("RandomForestClassifier")
    dX, dy = da.from_array(X, (500, 4)), da.from_array(y, 500)
    model.set_params(n_estimators=100_000)

    def cancel():
        while not (keys := [key for key in list(client.futures) if "_work_on" in str(key)]):
            time.sleep(0.05)
        client.cancel([Future(keys[0], client)])

    canceller = Thread(target=cancel)
    canceller.start()
    with pytest.raises(RankError, match=r"rank \d at tcp://\S+ cannot be reached: _work_on-[\w-]+ cancelled"):
        model.fit(dX, dy)
    canceller.join()
    assert not differences(model.set_params(n_estimators=4).fit(dX, dy).to_local(), one.fit(X, y))


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


def test_isolation_forests(client):
    X = np.random.default_rng(0).standard_normal((200, 3))
    lazy = da.from_array(X, (70, 3))
    for level in (0, 1):
        known = {"n_estimators": 5, "extension_level": level, "contamination": 0.1, "random_state": 0}
        model, one = dforest.dask.IsolationForest(**known).fit(lazy), dforest.IsolationForest(**known).fit(X)
        assert not differences(model, one) and model.offset_ == one.offset_
        np.testing.assert_array_equal(model.predict(lazy).compute(), one.predict(X))


def test_causal_forests(client):
    """Text, in partitions of which each lacks an arm, lies on two workers; what rows have beside X is that of one process."""
    rng = np.random.default_rng(1)
    X, number = rng.standard_normal((240, 3)), np.sort(rng.integers(0, 3, 240))
    given = {"X": X, "y": X[:, 0] * (number > 0) + rng.standard_normal(240), "treatment": np.array(["no", "some", "yes"])[number]}
    given |= {"groups": rng.integers(0, 40, 240), "sample_weight": rng.integers(1, 3, 240)}
    parameters = {"n_estimators": 60, "random_state": 0}
    one = dforest.CausalForest(**parameters).fit(**given)
    lazy = {name: placed(client, np.split(value, [100, 170]), [0, 1, 0]) for name, value in given.items()}
    model = dforest.dask.CausalForest(**parameters).fit(**lazy)
    assert not differences(model.to_local(), one) and model.fit_report_.n_ranks == 2
    for name in ("y_hat_", "w_hat_", "arms_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(one, name))
    np.testing.assert_array_equal(model.predict(), one.predict())
    np.testing.assert_array_equal(model.predict(da.from_array(X, (70, 3))).compute(), one.predict(X))
    np.testing.assert_array_equal(model.predict_interval(da.from_array(X, (70, 3))).compute(), one.predict_interval(X))
    assert model.average_effect(treatment="yes") == one.average_effect(treatment="yes")


def test_uplift_forests(client):
    rng = np.random.default_rng(2)
    X, treatment = rng.standard_normal((240, 3)), rng.integers(0, 2, 240)
    y = rng.random(240) < 0.3 + 0.3 * treatment * (X[:, 0] > 0)
    one = dforest.UpliftForestClassifier(5, random_state=0).fit(X, y, treatment=treatment)
    lazy = [da.from_array(array, (100, 3)[: array.ndim]) for array in (X, y, treatment)]
    model = dforest.dask.UpliftForestClassifier(5, random_state=0).fit(*lazy)
    assert not differences(model.to_local(), one)
    np.testing.assert_array_equal(model.predict(lazy[0]).compute(), one.predict(X))
