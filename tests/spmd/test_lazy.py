"""What estimators of `dforest.dask` answer for collections, and what they refuse, without a cluster."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning

import dforest

pytest.importorskip("distributed")
import dask  # noqa: E402
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from dask import delayed  # noqa: E402

import dforest.dask  # noqa: E402

LAZY = {
    "apply", "decision_function", "decision_path", "forest_weights", "predict", "predict_interval", "predict_log_proba",
    "predict_outcome", "predict_proba", "predict_quantiles", "proximity", "score_samples", "shap_interaction_values",
    "shap_values",
}  # fmt: skip
TOLD_OF_TREATMENTS = "CausalForest", "UpliftForestClassifier"
REFUSED = {
    "conformalize", "estimate_memory", "fit_predict", "oob_importance", "oob_local_importance", "partial_dependence",
    "permutation_importance", "predict_local_linear", "report", "staged_decision_function", "staged_predict",
    "staged_predict_proba",
    "predict_distribution",
}  # fmt: skip


@pytest.fixture(autouse=True)
def without_a_cluster():
    with dask.config.set(scheduler="sync"):
        yield


def data(n=60):
    """Rows with numbers, missing values and labels, a table of them, and classes."""
    rng = np.random.default_rng(3)
    X = np.round(rng.standard_normal((n, 3)), 2)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 1] = rng.integers(0, 4, n)
    labels = np.array(["red", "green", "blue", "black"])[X[:, 1].astype(int)]
    table = pd.DataFrame({"size": X[:, 0], "colour": pd.Categorical(labels), "weight": X[:, 2]})
    return X, table, rng.integers(0, 3, n)


def fitted(kind, X, y, **parameters):
    """A model of `dforest`, and one of `dforest.dask` with the same trees."""
    if kind == "IsolationForest":
        parameters = {"n_estimators": 3} | parameters
    elif kind == "CausalForest":
        parameters = {"n_estimators": 10} | parameters
    elif kind == "UpliftForestClassifier":
        parameters, y = {"n_estimators": 3} | parameters, y > 0
    elif "Forest" in kind or "Extra" in kind:
        parameters = {"n_estimators": 3, "bootstrap": True, "keep_training_data": True, "max_leaf_nodes": 8} | parameters
    else:
        parameters = {"max_iter": 3, "max_leaf_nodes": 8} | parameters
    told = {"qid": np.arange(len(y)) // 5} if "Ranker" in kind else {}
    if kind in TOLD_OF_TREATMENTS:
        told["treatment"] = np.arange(len(y)) % 2
    local = getattr(dforest, kind)(random_state=0, **parameters).fit(X, y, **told)
    model = getattr(dforest.dask, kind)(**local.get_params())
    vars(model).update(vars(local))
    return local, model


def methods_of(model):
    """The names of the public methods that take rows, without `fit`."""
    found = inspect.getmembers(type(model), inspect.isfunction)
    return {n for n, m in found if n[0] != "_" and n != "fit" and "X" in inspect.signature(m).parameters}


def arguments_of(method):
    return {"q": [0.1, 0.5, 0.9]} if method == "predict_quantiles" else {}


def as_array(answer):
    """What a method returns for rows in memory, as a dense array."""
    answer = answer[0] if isinstance(answer, tuple) else answer
    return answer.toarray() if hasattr(answer, "toarray") else np.asarray(answer)


def collections_of(X, table):
    """Arrays cut by columns, with an empty block, and of unknown sizes; frames; lists with an empty part; by what they hold."""
    lazy = da.from_array(X, (25, 2))
    return [
        (X, lazy),
        (X, da.from_array(X, ((20, 0, 40), 3))),
        (X[X[:, 1] > 1], lazy[lazy[:, 1] > 1]),
        (X[X[:, 1] > 9], lazy[lazy[:, 1] > 9]),
        (X, [delayed(X[:7]), delayed(X[7:7]), delayed(X[7:])]),
        (table, dd.from_pandas(table, npartitions=3)),
    ]


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("kind", sorted(dforest.dask.__all__, key=lambda kind: kind[:-7], reverse=True))
def test_answers_are_those_of_rows_in_memory(kind):
    X, table, y = data()
    for labelled, n_classes in ((False, 3), (True, 2)):
        known = {"categorical_features": "from_dtype" if labelled else [1]}
        local, model = fitted(kind, table if labelled else X, y % n_classes, **known)
        methods = methods_of(model) & LAZY
        assert {"apply", "predict"} | ({"shap_values"} if kind not in TOLD_OF_TREATMENTS else set()) < methods
        for rows, lazy in collections_of(X, table):
            if isinstance(rows, pd.DataFrame) != labelled:
                continue
            for method in methods:
                given = arguments_of(method)
                found = getattr(model, method)(lazy, **given)
                if method == "decision_path":
                    found, edges = found
                    np.testing.assert_array_equal(edges, local.decision_path(X[:1] if not labelled else rows[:1])[1])
                whole = as_array(getattr(local, method)(table if labelled else X, **given))
                if isinstance(lazy, list):
                    assert len(found) == len(lazy)
                    np.testing.assert_array_equal(np.concatenate([as_array(part.compute()) for part in found]), whole)
                    continue
                assert isinstance(found, da.Array) and type(found.compute()) is type(found._meta)
                assert (found.dtype, found.shape[1:]) == (whole.dtype, whole.shape[1:])
                if isinstance(lazy, da.Array):
                    np.testing.assert_array_equal(found.chunks[0], lazy.chunks[0])
                expected = as_array(getattr(local, method)(rows, **given)) if len(rows) else whole[:0]
                np.testing.assert_array_equal(as_array(found.compute()), expected)
                np.testing.assert_array_equal(as_array(getattr(model, method)(table if labelled else X, **given)), whole)


def test_arguments_count():
    X, _, y = data()
    local, model = fitted("HistGradientBoostingClassifier", X, y)
    offset = np.random.default_rng(0).standard_normal((len(X), 3))
    lazy, lazy_offset = da.from_array(X, (25, 3)), da.from_array(offset, (20, 2))
    for method in ("predict", "predict_proba", "decision_function"):
        expected = getattr(local, method)(X, n_iter=2, offset=offset)
        np.testing.assert_array_equal(getattr(model, method)(lazy, n_iter=2, offset=lazy_offset).compute(), expected)
        frames = (dd.from_pandas(pd.DataFrame(rows), npartitions=2) for rows in (X, offset))
        np.testing.assert_array_equal(getattr(model, method)(next(frames), n_iter=2, offset=next(frames)).compute(), expected)
        parts = ([delayed(rows[:11]), delayed(rows[11:])] for rows in (X, offset))
        found = getattr(model, method)(X=next(parts), n_iter=2, offset=next(parts))
        np.testing.assert_array_equal(np.concatenate([part.compute() for part in found]), expected)
    few, few_offsets = lazy[lazy[:, 1] > 1], lazy_offset.rechunk((25, 3))[lazy[:, 1] > 1]  # of unknown sizes
    expected = local.predict(X[X[:, 1] > 1], offset=offset[X[:, 1] > 1])
    np.testing.assert_array_equal(model.predict(few, offset=few_offsets).compute(), expected)
    expected = local.predict(X, offset=offset)
    np.testing.assert_array_equal(model.predict(lazy[lazy[:, 1] >= 0], offset=lazy_offset.rechunk((25, 3))).compute(), expected)
    assert model.apply(lazy, n_iter=2).shape == (60, 2, 3)
    background = X[:5]
    found = model.shap_values(lazy, background).compute()
    np.testing.assert_array_equal(found, local.shap_values(X, background).values)
    for given, message in [
        ({"n_iter": 4}, "n_iter=4; allowed are integers from 1 to n_iter_=3"),
        ({"offset": da.from_array(offset[:50], (25, 3))}, "X has 3, offset has 2 partitions"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict(lazy, **given)
    for rows, given, message in [
        (lazy, {"offset": offset}, "offset is of type ndarray; allowed are dask arrays"),
        (X, {"offset": lazy_offset}, "offset is of type Array; predict takes it in memory if X is in memory"),
        (lazy, {"offset": [delayed(offset)]}, "X is a dask array, but offset a list of delayed; allowed is one kind"),
    ]:
        with pytest.raises(TypeError, match=message):
            model.predict(rows, **given)
    with pytest.raises(ValueError, match=r"offset has the shape \(20, 3\); allowed is \(25, 3\)"):
        model.predict(lazy, offset=da.from_array(offset[:50], (20, 3))).compute()
    with pytest.raises(TypeError, match="background is of type Array; shap_values takes it in memory: compute it first"):
        model.shap_values(lazy, background=lazy)


@pytest.mark.parametrize("kind", dforest.dask.__all__)
def test_all_other_methods_refuse_collections(kind):
    """Rather than to gather all rows without a word."""
    X, _, y = data()
    local, model = fitted(kind, X, y)
    methods = methods_of(model)
    of_kept_rows = {"report"} if kind == "CausalForest" else set()  # no X is passed
    assert methods == ((LAZY | REFUSED | {"score"}) & {name for name in dir(local) if name[0] != "_"}) - of_kept_rows
    lazy = da.from_array(X, (25, 3))
    for method in methods & REFUSED:
        for rows, said in (
            (lazy, "Array"), (dd.from_dask_array(lazy), "DataFrame"), ([delayed(X[:10]), delayed(X[10:])], "list"),
        ):  # fmt: skip
            with pytest.raises(TypeError, match=rf"X is of type {said}; {method} takes .* call to_local\(\).{method} for each"):
                getattr(model, method)(rows)
    with pytest.raises(NotFittedError):
        getattr(dforest.dask, kind)().predict(lazy)


def test_devices_may_be_those_of_workers():
    """Nothing is predicted there before the answer is computed."""
    X, _, y = data()
    _, model = fitted("RandomForestClassifier", X, y)
    found = model.set_params(device="level_zero:gpu:99").predict_proba(da.from_array(X, (25, 3)))
    assert found.shape == (60, 3)
    with pytest.raises((ValueError, ImportError, RuntimeError), match="level_zero:gpu:99"):
        found.compute()


def test_answers_are_described():
    for name in LAZY & methods_of(dforest.dask.RandomForestClassifier()):
        doc = inspect.getdoc(getattr(dforest.dask.RandomForestClassifier, name))
        local = inspect.getdoc(getattr(dforest.RandomForestClassifier, name))
        assert doc.splitlines()[0] == local.splitlines()[0] and "the answer is lazy" in doc and "Returns\n-------" in doc
    assert "An `offset` is then" in dforest.dask.HistGradientBoostingRegressor.predict.__doc__
    assert "only sums are sent" in dforest.dask.RandomForestClassifier.score.__doc__


class OverriddenForest(dforest.dask.RandomForestClassifier):
    def predict(self, X):
        return "own"


def test_methods_of_subclasses_stay():
    X, _, y = data()
    _, model = fitted("RandomForestClassifier", X, y)
    own = OverriddenForest()
    vars(own).update(vars(model))
    assert own.predict(da.from_array(X, (25, 3))) == "own"
    assert isinstance(own.apply(da.from_array(X, (25, 3))), da.Array)


def test_rows_in_memory_are_taken_as_ever():
    X, _, y = data()
    local, model = fitted("RandomForestClassifier", X, y)
    assert (model.proximity() != local.proximity()).nnz == 0
    with pytest.raises(TypeError, match="unexpected keyword argument 'rows'"):
        model.predict(da.from_array(X, (25, 3)), rows=3)
    _, model = fitted("HistGradientBoostingClassifier", X, y)
    with pytest.raises(TypeError, match="num_iteration.*n_iter"):
        model.predict(X, num_iteration=2)


def test_several_outputs():
    X, _, y = data()
    lazy = da.from_array(X, (25, 3))
    local, model = fitted("RandomForestRegressor", X, np.column_stack([y, X[:, 1]]))
    found = model.predict(lazy)
    assert found.shape == (60, 2)
    np.testing.assert_array_equal(found.compute(), local.predict(X))
    Y = np.column_stack([y + 1.0, X[:, 1] ** 2])
    assert model.score(lazy, da.from_array(Y, (20, 1))) == pytest.approx(local.score(X, Y), rel=1e-12)
    local, model = fitted("RandomForestClassifier", X, np.column_stack([y, X[:, 1] > 1]), keep_training_data=False)
    np.testing.assert_array_equal(model.predict(lazy).compute(), local.predict(X))
    with pytest.raises(TypeError, match=r"predict_proba is a list of arrays for several outputs, .* to_local\(\).predict_proba"):
        model.predict_proba(lazy)


@pytest.mark.parametrize("kind", [kind for kind in dforest.dask.__all__ if "Ranker" not in kind and "Isolation" not in kind
                                  and kind not in TOLD_OF_TREATMENTS])  # fmt: skip
def test_scores(kind):
    X, table, y = data()
    rng = np.random.default_rng(1)
    y = np.array(["a", "b", "c"])[y] if "Classifier" in kind else y + rng.standard_normal(len(y)) + 1000.0
    local, model = fitted(kind, X, y)
    weight = rng.random(len(X)) * (rng.random(len(X)) < 0.8)
    weight[:20] = 0.0
    other = rng.permutation(y)
    for rows, lazy in [(X, da.from_array(X, (20, 2))), (X, [delayed(X[:1]), delayed(X[1:1]), delayed(X[1:])])]:
        cuts = [20, 40] if isinstance(lazy, da.Array) else [1, 1]
        targets, weights = ([delayed(part) for part in np.split(array, cuts)] for array in (other, weight))
        score = model.score(lazy, targets)
        if "Classifier" in kind:
            assert score == local.score(rows, other)
        assert score == pytest.approx(local.score(rows, other), rel=1e-12) and type(score) is float
        assert model.score(lazy, targets, sample_weight=weights) == pytest.approx(local.score(rows, other, weight), rel=1e-12)
    frame, series = dd.from_pandas(pd.DataFrame(X), npartitions=4), dd.from_pandas(pd.Series(other), npartitions=4)
    assert model.score(frame, series) == pytest.approx(local.score(X, other), rel=1e-12)
    assert model.score(X, other) == local.score(X, other)


def test_scores_of_rankings():
    """To the bit, with partitions of weight 0 and without rows."""
    X, table, y = data()
    local, model = fitted("HistGradientBoostingRanker", X, y)
    qid, weight = np.arange(60) // 5, np.r_[np.zeros(20), np.random.default_rng(0).random(40)]
    lazy, lists = da.from_array(X, ((20, 0, 40), 3)), [delayed(X[:20]), delayed(X[20:20]), delayed(X[20:])]
    for rows in (lazy, lists):
        targets, weights, queries = ([delayed(part) for part in np.split(array, [20, 20])] for array in (y, weight, qid))
        assert model.score(rows, targets, qid=queries) == local.score(X, y, qid=qid)
        assert model.score(rows, targets, weights, qid=queries, k=2) == local.score(X, y, weight, qid=qid, k=2)
    with pytest.raises(ValueError, match="qid: rows of the query 1 lie in partition 0 and in partition 2; allowed are queries"):
        model.score(lists, targets, qid=[delayed(part) for part in np.split(qid // 3, [20, 20])])
    with pytest.raises(ValueError, match="sample_weight is 0 in all rows"):
        model.score(lazy, da.from_array(y, 60), da.zeros(60), qid=da.from_array(qid, 60))
    with pytest.raises(ValueError, match="X has 0 rows"):
        model.score(lazy[:0], da.ones(0), qid=da.ones(0))
    for told in ({}, {"group": da.from_array(np.full(12, 5), 4)}):
        with pytest.raises(TypeError, match="the queries of collections are told by qid; allowed are qid, and group=None"):
            model.score(lazy, da.from_array(y, 60), **told)
    assert "to the bit" in type(model).score.__doc__


def test_scores_of_few_rows_and_equal_targets():
    X, _, y = data()
    local, model = fitted("RandomForestRegressor", X, np.full(len(X), 0.1))
    lazy = da.from_array(X, (25, 3))
    assert model.score(lazy, da.full(60, 0.1, chunks=25)) == 1.0
    assert model.score(lazy, da.full(60, 0.7, chunks=25)) == 0.0
    with pytest.warns(UndefinedMetricWarning, match="less than two"):
        assert np.isnan(model.score(lazy[:1], da.ones(1)))
    with pytest.raises(ValueError, match="X has 0 rows"):
        model.score(lazy[:0], da.ones(0))
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model.score(lazy, da.full(60, np.nan, chunks=25))
    with pytest.raises(ValueError, match="X has 3, y has 2 partitions"):
        model.score(lazy, da.ones(50, chunks=25))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score([delayed(X)], [delayed(y[:7])])
    with pytest.raises(ValueError, match="sample_weight is 0 in all rows"):
        model.score(lazy, da.ones(60, chunks=25), da.zeros(60, chunks=25))
    for rows, targets, message in [
        (lazy, y, "y is of type ndarray; allowed"),
        (X, da.ones(60), "y is of type Array; score takes"),
    ]:
        with pytest.raises(TypeError, match=message):
            model.score(rows, targets)
