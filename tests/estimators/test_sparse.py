"""Sparse X: forests, and all that they say, are those of the dense X, to the bit."""

import pickle
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.device_forests import assert_same, standing_in
from helpers.host_device import strict_device
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor

from dforest import (
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.core.sparse_rows import SparseRows
from dforest.engines.device.predictor import DevicePredictor
from dforest.errors import UnseenLabelsWarning
from dforest.estimators.data.sparse import in_order
from dforest.splitter import PythonSplitter, Test

BOOSTED = [HistGradientBoostingClassifier, HistGradientBoostingRegressor]
FORMATS = ["csr", "csc", "coo", "dok", "lil", "bsr", "dia"]
METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")


def data(n=200, n_features=30, seed=0, dtype=np.float64):
    """A sparse matrix with missing, infinite, negative and explicit zero values, and empty rows and columns; and targets."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, n_features), density=0.1, rng=rng, format="csr", data_sampler=lambda size: rng.normal(size=size))
    X.data[rng.random(len(X.data)) < 0.3] = 1.0
    for value in (np.nan, np.inf, -np.inf, 0.0, -0.0):
        X.data[rng.random(len(X.data)) < 0.05] = value
    X.data[X.indices == 3] = 0.0
    y = np.nan_to_num(X.toarray()[:, :5].clip(-2, 2)).sum(axis=1) + 0.3 * rng.normal(size=n)
    return X.astype(dtype), y


def make(kind, **parameters):
    if issubclass(kind, RandomForestClassifier | RandomForestRegressor | ExtraTreesClassifier | ExtraTreesRegressor):
        parameters = {"n_estimators": 4, **parameters}
    return kind(random_state=0, **parameters)


def targets(kind, y):
    return np.digitize(y, [-0.5, 0.5]) if is_classifier(kind()) else y


def assert_says_the_same(model, X, dense):
    for name in ("predict", "predict_proba", "predict_log_proba", "apply", "transform"):
        if hasattr(model, name):
            found, expected = getattr(model, name)(X), getattr(model, name)(dense)
            if sp.issparse(found):
                found, expected = found.toarray(), expected.toarray()
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected, err_msg=name)
    found, expected = model.decision_path(X), model.decision_path(dense)
    if isinstance(found, tuple):
        found, expected = found[0], expected[0]
    assert (found != expected).nnz == 0


@METHODS
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_what_rows_left_out_say(method, n_jobs):
    X, y = data(300, 40)
    dense = X.toarray()
    for kind in (RandomForestClassifier, RandomForestRegressor):
        model = make(kind, n_estimators=12, method=method, oob_score=True, variable_importance="mda_scaled", n_jobs=n_jobs)
        target = targets(kind, y)
        found, expected = clone(model).fit(X, target), clone(model).fit(dense, target)
        assert_same(found, expected)
        for name in ("oob_score_", "oob_error_", "oob_curve_", "oob_error_per_observation_", "variable_importance_",
                     "variable_importance_std_"):  # fmt: skip
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
        for scoring in (None, "accuracy" if is_classifier(model) else "r2"):
            asked = {"scoring": scoring, "n_repeats": 2, "random_state": 0}
            both = found.oob_importance(X, target, **asked), expected.oob_importance(dense, target, **asked)
            np.testing.assert_array_equal(both[0].importances, both[1].importances)


def test_columns_with_other_values():
    X, _ = data()
    rows, values = SparseRows.of(in_order(X)), np.random.default_rng(0).normal(size=X.shape[0])
    for part, j in ((slice(None), 0), (slice(3, 50), 7), (slice(0, 0), 3), (slice(7, 9), 29)):
        dense = rows[part].toarray()
        np.testing.assert_array_equal(rows[part].column(j), dense[:, j])
        for new in (values[part], 0.0):
            dense[:, j] = new
            found = rows[part].with_column(j, new)
            found.check()
            np.testing.assert_array_equal(found.toarray(), dense)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor, HistGradientBoostingRegressor])
def test_reports(kind):
    """They are those of the dense X; also on training rows, out of bag."""
    X, y = data(300)
    X.data[~np.isfinite(X.data)] = 2.0
    dense, y = X.toarray(), targets(kind, y)
    model = kind(random_state=0, min_samples_leaf=4) if kind in BOOSTED else make(kind, oob_score=True)
    model.fit(X[:200], y[:200])
    for some in (slice(200), slice(200, None)):
        assert str(model.report(X[some], y[some])) == str(model.report(dense[some], y[some]))


def test_neighbours_intervals_and_shapley_values():
    X, y = data()
    dense = X.toarray()
    model = make(RandomForestRegressor, n_estimators=20, keep_training_data=True)
    found, expected = clone(model).fit(X, y), clone(model).fit(dense, y)
    for name in ("forest_weights", "proximity"):
        assert (getattr(found, name)(X) != getattr(expected, name)(dense)).nnz == 0
    assert (found.proximity() != expected.proximity()).nnz == 0
    assert (found.proximity(kind="leaf") != expected.proximity(kind="leaf")).nnz == 0
    np.testing.assert_array_equal(found.outlier_scores(), expected.outlier_scores())
    np.testing.assert_array_equal(found.predict_quantiles(X, [0.1, 0.9]), expected.predict_quantiles(dense, [0.1, 0.9]))
    for method in ("oob", "jackknife+ab", "infinitesimal"):
        np.testing.assert_array_equal(found.predict_interval(X, method=method), expected.predict_interval(dense, method=method))
    for background in (None, X[:7]):
        both = found.shap_values(X[:20], background), expected.shap_values(dense[:20], None if background is None else dense[:7])
        np.testing.assert_array_equal(both[0].values, both[1].values)
    np.testing.assert_array_equal(
        found.shap_interaction_values(X[:5], X[:7]).values, expected.shap_interaction_values(dense[:5], dense[:7]).values
    )
    # Kept rows go with pickles, model files and warm starts.
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict_interval(X), expected.predict_interval(dense))
    for rows in (X, dense):
        longer = pickle.loads(pickle.dumps(found)).set_params(warm_start=True, n_estimators=22)
        assert longer.fit(rows, y).forest_.n_trees == 22
    with pytest.raises(ValueError, match="others than those of this fit"):
        again.set_params(warm_start=True, n_estimators=22).fit(X[::-1], y)


@settings(max_examples=examples(100))
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(BOOSTED), threads=st.integers(1, 4))
def test_boosted_trees(seed, kind, threads):
    rng = np.random.default_rng(seed)
    X, y = data(int(rng.integers(30, 400)), int(rng.integers(5, 60)), seed, rng.choice([np.float32, np.float64]))
    dense, y = X.toarray(), targets(kind, y)
    weight = None if rng.random() < 0.5 else rng.choice([0.0, 0.3, 1.0, 2.0], len(y), p=[0.1, 0.2, 0.4, 0.3])
    chosen = {
        "max_bins": rng.choice([255, 4]), "max_features": rng.choice([1.0, 0.3]), "subsample": rng.choice([1.0, 0.6]),
        "early_stopping": bool(rng.integers(2)), "max_leaf_nodes": rng.choice([None, 7]),
        "min_samples_leaf": int(rng.integers(1, 20)),
        "monotonic_cst": rng.choice([None, {0: 1, 4: -1}]) if is_regressor(kind()) else None,
        "interaction_cst": rng.choice([None, "pairwise"]),
    }  # fmt: skip
    model = kind(max_iter=4, random_state=0, **chosen)
    if chosen["early_stopping"]:
        model.set_params(validation_fraction=0.3, scoring=rng.choice(["loss", "accuracy" if is_classifier(model) else "r2"]))
    found = clone(model).set_params(n_jobs=threads)
    try:
        model.fit(dense, y, weight)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            found.fit(X, y, weight)
        return
    found.fit(X, y, weight)
    assert_same(found, model)
    for name in ("predict", "predict_proba", "apply", "staged_predict", "staged_decision_function"):
        if hasattr(model, name):
            np.testing.assert_array_equal(list(getattr(found, name)(X)), list(getattr(model, name)(dense)), err_msg=name)
    np.testing.assert_array_equal(found.feature_importances_, model.feature_importances_)
    np.testing.assert_array_equal(found.validation_score_, model.validation_score_)
    np.testing.assert_array_equal(found.shap_values(X[:5], X[5:9]).values, model.shap_values(dense[:5], dense[5:9]).values)
    np.testing.assert_array_equal(found.shap_interaction_values(X[:2]).values, model.shap_interaction_values(dense[:2]).values)
    longer = {"warm_start": True, "max_iter": 6, "early_stopping": False}
    assert_same(found.set_params(**longer).fit(X, y, weight), model.set_params(**longer).fit(dense, y, weight))


def test_boosted_trees_of_many_columns():
    """Rows have lists of most columns' codes, and columns of none, or of a single code."""
    rng = np.random.default_rng(0)
    X = sp.random_array((600, 3000), density=0.02, rng=rng, format="csr")
    X.data = np.ceil(3 * X.data)
    X[:, 7] = 2.0
    y = np.nan_to_num(X[:, :40].sum(axis=1)) + 0.1 * rng.normal(size=600)
    for parameters in ({}, {"subsample": 0.5, "max_features": 0.2, "min_samples_leaf": 2}, {"min_samples_leaf": 1}):
        model = HistGradientBoostingRegressor(max_iter=5, random_state=0, **parameters).fit(X.toarray(), y)
        assert_same(clone(model).set_params(n_jobs=3).fit(X, y), model)
        assert len(model.forest_.feature) > 50


@pytest.mark.parametrize("n_columns", [1, 40])
def test_boosted_trees_of_columns_of_zeros(n_columns):
    X, y = sp.csr_array((50, n_columns)), np.arange(50.0)
    with pytest.warns(UserWarning, match="no tree has a split"):
        model = HistGradientBoostingRegressor(max_iter=2).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), np.full(50, 24.5))


def test_scorers_get_matrices():
    X, y = data()

    def scorer(estimator, rows, _):
        seen.append(sp.issparse(rows) and rows.shape[1] == X.shape[1])
        return 0.0

    seen = []
    HistGradientBoostingRegressor(max_iter=3, early_stopping=True, scoring=scorer).fit(X, y)
    assert len(seen) > 2 and all(seen)


def test_damaged_rows_are_refused():
    X, y = data()
    model = make(RandomForestRegressor, keep_training_data=True).fit(X, y)
    rows = model._training_data.X
    assert isinstance(rows, SparseRows)
    rows.check()
    n = rows.n_features
    damaged = [
        SparseRows(rows.values, rows.columns + np.int32(1), rows.starts, n),
        SparseRows(rows.values, rows.columns[::-1].copy(), rows.starts, n),
        SparseRows(rows.values, rows.columns, rows.starts[::-1].copy(), n),
        SparseRows(rows.values, rows.columns, rows.starts + 1, n),
        SparseRows(rows.values[1:], rows.columns, rows.starts, n),
        SparseRows(rows.values, rows.columns.astype(np.int64), rows.starts, n),
        SparseRows(rows.values.astype(np.float16), rows.columns, rows.starts, n),
        SparseRows(rows.values, rows.columns, rows.starts[:0], n),
        SparseRows(rows.values, rows.columns, rows.starts, -1),
    ]
    for one in damaged:
        with pytest.raises((TypeError, ValueError)):
            one.check()
    model._training_data = model._training_data._replace(X=damaged[0])
    with pytest.raises((TypeError, ValueError)):
        pickle.loads(pickle.dumps(model))


@METHODS
def test_warm_starts_with_another_type(method):
    X, y = data()
    dense = X.toarray()
    for first, then in ((np.float32, np.float64), (np.float64, np.float32)):
        model = make(RandomForestRegressor, method=method, warm_start=True, n_estimators=2)
        both = [clone(model).fit(rows.astype(first), y) for rows in (X, dense)]
        both = [one.set_params(n_estimators=4).fit(rows.astype(then), y) for one, rows in zip(both, (X, dense), strict=True)]
        assert_same(*both)


@pytest.mark.parametrize("kind", [RandomForestClassifier, HistGradientBoostingRegressor])
def test_labels(kind):
    """Also those that make others than 0 the numbers of what is not stored, or that only rows of weight 0 have."""
    rng = np.random.default_rng(0)
    X, y = data()
    X, y = X.tocsc(), targets(kind, y)
    for j, labels in enumerate([[0, 1, 2], [1, 5], [-3, -1, 4], [7], [np.nan, 2, 0.5], range(300)]):
        X.data[X.indptr[j] : X.indptr[j + 1]] = rng.choice(labels, X.indptr[j + 1] - X.indptr[j])
    X = X.tocsr()
    rare = X[:, [5]].toarray()[:, 0] < 100
    chosen = {"categorical_features": list(range(6))} | ({"min_samples_leaf": 2} if kind in BOOSTED else {})
    for dtype in (np.float32, np.float64):
        rows, dense = X.astype(dtype), X.astype(dtype).toarray()
        for weight in (None, rare.astype(float), rng.integers(0, 2, len(y))):
            model = make(kind, **chosen).fit(dense, y, weight)
            found = make(kind, **chosen).fit(rows, y, weight)
            assert_same(found, model)
            for a, b in zip(found.categories_, model.categories_, strict=True):
                np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(found.predict(rows), model.predict(dense))
            np.testing.assert_array_equal(found.predict(dense), model.predict(rows))
    # Of labels that were not there, most rows have one: 0, or one that is stored.
    for unseen in (sp.csr_array((50, 30)), sp.csr_array(np.full((50, 30), 77.0))):
        others = make(kind, **chosen).fit(np.where(dense[:, :] == 0, 3.0, dense), y)
        for rows in (unseen, unseen.toarray()):
            with pytest.warns(UnseenLabelsWarning, match="50 of 50 rows hold labels that were not in the training data"):
                others.predict(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_array_equal(others.predict(unseen), others.predict(unseen.toarray()))
    # A warm start goes on with the numbers that labels have.
    name = "max_iter" if kind in BOOSTED else "n_estimators"
    more = {"warm_start": True, name: 2}
    both = [make(kind, **{**chosen, **more}).fit(given, y) for given in (X, X.toarray())]
    some = X.copy()
    some.data[(some.indices == 2) & (some.data < 0)] = 4.0
    both = [one.set_params(**{name: 4}).fit(given, y) for one, given in zip(both, (some, some.toarray()), strict=True)]
    assert_same(*both)


def test_booleans_that_are_found_to_be_categories():
    X, y = data()
    X = X.astype(bool)
    found, expected = (make(RandomForestRegressor, categorical_features="auto").fit(rows, y) for rows in (X, X.toarray()))
    assert found.is_categorical_.all()
    assert_same(found, expected)


def test_pruning():
    X, y = data()
    tree, dense = make(DecisionTreeRegressor).fit(X, y), X.toarray()
    assert_same(tree.prune(X, y[::-1], inplace=False), tree.prune(dense, y[::-1], inplace=False))
    for name in ("ccp_alphas", "impurities"):
        paths = (tree.cost_complexity_pruning_path(rows, y)[name] for rows in (X, dense))
        np.testing.assert_array_equal(*paths)


@st.composite
def matrices(draw):
    """A sparse matrix with whatever SciPy allows: its dtype, format, order, and how often places occur."""
    n, p = draw(st.integers(2, 30)), draw(st.integers(1, 6))
    n_stored = draw(st.integers(0, 60))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    dtype = np.dtype(draw(st.sampled_from(["f4", "f8", "i1", "i4", "i8", "u2", "?"])))
    values = rng.choice([0, 1, 2, 3, 100], n_stored).astype(dtype)
    if dtype.kind == "f":
        values = rng.choice([0.0, -0.0, 0.1, 0.2, 1e-3, -1.5, np.nan, np.inf, 1e20], n_stored).astype(dtype)
    rows, columns = rng.integers(0, n, n_stored), rng.integers(0, p, n_stored)
    index = draw(st.sampled_from([np.int32, np.int64]))
    kind = draw(st.sampled_from(["coo", "csr", "csc"]))
    is_array = draw(st.booleans())
    if kind == "coo":
        X = (sp.coo_array if is_array else sp.coo_matrix)((values, (rows.astype(index), columns.astype(index))), shape=(n, p))
    else:  # neither in order nor added up
        major, minor, n_major = (rows, columns, n) if kind == "csr" else (columns, rows, p)
        order = np.argsort(major, kind="stable")
        starts = np.searchsorted(major[order], np.arange(n_major + 1))
        makes = {"csr": (sp.csr_matrix, sp.csr_array), "csc": (sp.csc_matrix, sp.csc_array)}[kind][is_array]
        X = makes((values[order], minor[order].astype(index), starts.astype(index)), shape=(n, p))
    return X, rng.integers(0, 3, n)


@settings(max_examples=examples(150), deadline=None)
@given(matrices(), st.sampled_from(["hist", "dense"]), st.sampled_from(["best", "random"]), st.sampled_from([1, 3]))
def test_any_matrix(matrix, method, splitter, n_jobs):
    X, y = matrix
    before, dense = [np.copy(part) for part in parts_of(X)], X.toarray()
    with np.errstate(invalid="ignore"):
        ordered = in_order(X).toarray()
    np.testing.assert_array_equal(ordered, dense)
    model = RandomForestClassifier(3, method=method, splitter=splitter, n_jobs=n_jobs, oob_score=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = clone(model).fit(X, y), clone(model).fit(dense, y)
    assert_same(found, expected)
    np.testing.assert_array_equal(found.oob_decision_function_, expected.oob_decision_function_)
    assert_says_the_same(found, X, dense)
    for part, was in zip(parts_of(X), before, strict=True):
        np.testing.assert_array_equal(part, was)


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_columns_without_values_before_one_with_many(method):
    """Sparse columns that store nothing, then a column that all rows store, then sparse columns that tell the classes."""
    rng = np.random.default_rng(0)
    dense = np.zeros((200, 8))
    dense[:, 2] = rng.normal(size=200)
    for j in (3, 5, 6):
        dense[rng.choice(200, 20, replace=False), j] = rng.normal(size=20)
    y = (dense[:, 3] != 0) + 2 * (dense[:, 6] != 0)
    model = RandomForestClassifier(5, method=method, random_state=0)
    found, expected = clone(model).fit(sp.csr_array(dense), y), clone(model).fit(dense, y)
    assert_same(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bins_by_weights_where_values_are_missing(dtype):
    """Rows with missing values take their weights from what all rows weigh, so that zeros have the rest."""
    rng = np.random.default_rng(0)
    dense = np.zeros((400, 2), dtype)
    dense[:60, 0], dense[60:76, 0] = rng.normal(size=60), np.nan
    weight = np.repeat([20.0, 50.0, 1.0], [60, 16, 324])  # so much that zeros alone would fill a bin if they had all of it
    y = (np.nan_to_num(dense[:, 0]) > 0) + rng.integers(0, 2, 400)
    model = RandomForestClassifier(5, max_bins=5, random_state=0)
    assert_same(clone(model).fit(sp.csr_array(dense), y, weight), clone(model).fit(dense, y, weight))


def parts_of(X):
    return (X.data, X.row, X.col) if X.format == "coo" else (X.data, X.indices, X.indptr)


@pytest.mark.parametrize("form", FORMATS)
def test_formats(form):
    X, y = data(n_features=8)
    model = make(RandomForestRegressor).fit(X.toarray(), y)
    for other in (X.asformat(form), sp.csr_matrix(X).asformat(form)):
        assert_same(make(RandomForestRegressor).fit(other, y), model)
        np.testing.assert_array_equal(model.predict(other), model.predict(X))


def test_many_values_of_a_place_are_added_up_in_their_order():
    rng = np.random.default_rng(0)
    values = rng.normal(size=500) * 10.0 ** rng.integers(-9, 9, 500)
    rows, columns = rng.integers(0, 3, 500), rng.integers(0, 4, 500)
    X = sp.coo_array((values, (rows, columns)), shape=(3, 4))
    np.testing.assert_array_equal(in_order(X).toarray(), X.toarray())
    order = np.argsort(rows, kind="stable")
    X = sp.csr_array((values[order], columns[order], np.searchsorted(rows[order], np.arange(4))), shape=(3, 4))
    np.testing.assert_array_equal(in_order(X).toarray(), X.toarray())


@pytest.mark.slow
def test_many_columns_are_unpacked_some_rows_at_a_time():
    """Blocks of few rows, and one row at a time, where a row has megabytes."""
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 600_000), density=1e-3, rng=rng, format="csr")
    y = rng.integers(0, 2, 60)
    model = RandomForestClassifier(5, random_state=0, oob_score=True, bootstrap=True).fit(X[:, :1000], y)
    wide = ExtraTreesClassifier(3, max_depth=3, random_state=0, bootstrap=True, oob_score=True, n_jobs=2).fit(X, y)
    assert wide.oob_decision_function_.shape == (60, 2)
    leaves = np.concatenate([wide.apply(X[i : i + 1].toarray()) for i in range(0, 60, 7)])
    np.testing.assert_array_equal(wide.apply(X)[::7], leaves)
    assert_says_the_same(model, X[:, :1000], X[:, :1000].toarray())


@METHODS
@pytest.mark.parametrize("n_threads", [1, 3])
def test_on_a_device(method, n_threads, monkeypatch):
    X, y = data(150)
    dense, device = X.toarray(), strict_device(n_threads=n_threads)
    expected = make(RandomForestClassifier, method=method, splitter="random", oob_score=True, variable_importance="mda_raw")
    expected.fit(dense, targets(RandomForestClassifier, y))
    packed = expected.forest_.packed()
    rows = SparseRows.of(in_order(X))
    monkeypatch.setattr("dforest.engines.device.predictor.PART_BYTES", 8 * X.shape[1] * 40)
    for name in ("mean", "most", "apply"):
        found = getattr(DevicePredictor(device, packed), name)(rows)
        np.testing.assert_array_equal(found, getattr(packed, name)(dense, 1))
    with standing_in(device):
        found = clone(expected).set_params(device="sycl").fit(X, targets(RandomForestClassifier, y))
    found.device = None
    assert_same(found, expected)
    np.testing.assert_array_equal(found.oob_decision_function_, expected.oob_decision_function_)
    np.testing.assert_array_equal(found.variable_importance_, expected.variable_importance_)


# What is refused


def test_bad_input():
    X, y = data()
    model = make(RandomForestRegressor).fit(X, y)
    with pytest.raises(ValueError, match="X has 29 features, but RandomForestRegressor is expecting 30 features"):
        model.predict(X[:, 1:])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])
    with pytest.raises(ValueError, match="Complex data not supported"):
        model.fit(X.astype(complex), y)
    with pytest.raises(ValueError, match=r"X holds the integer 9007199254740993; integers beyond 2\*\*53"):
        model.fit(sp.csr_array(np.array([[0, 2**53 + 1], [1, 0]])), [0, 1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[1:])
    with pytest.raises(ValueError, match="sparse multilabel-indicator for y is not supported"):
        model.fit(X, sp.csr_array(y[:, None]))
    beyond = sp.csr_array(X)
    beyond.indices = beyond.indices + np.int32(30)
    with pytest.raises(ValueError, match="ind"):
        model.predict(beyond)
    np.testing.assert_array_equal(model.predict(X), make(RandomForestRegressor).fit(X, y).predict(X))


class Sums(PythonSplitter):
    """Tests of sums of two columns, which look at whole rows."""

    def find_split(self, node):
        j, k = node.random().choice(node.n_features, 2, replace=False)
        sums = np.nan_to_num(node.values(j)) + np.nan_to_num(node.values(k))
        threshold = np.sort(sums)[(len(sums) - 1) // 2]
        return Test([j, k, threshold], feature=j, score=1.0) if threshold < sums.max() else None

    def goes_left(self, payload, X):
        j, k = payload[:2].astype(int)
        return np.nan_to_num(X[:, j]) + np.nan_to_num(X[:, k]) <= payload[2]

    def used_features(self, payload):
        return payload.view(float)[:2].astype(int), np.array([0.5, 0.5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_splitters_that_look_at_rows(dtype):
    X = sp.random_array((150, 8), density=0.3, rng=0, dtype=np.float64).astype(dtype).tocsr()
    y = X[:, [0]].toarray().ravel() + X[:, [1]].toarray().ravel()
    own = {"splitter": Sums(), "oob_score": True, "variable_importance": "mda_raw", "max_depth": 5}
    sparse, dense = (make(RandomForestRegressor, **own).fit(rows, y) for rows in (X, X.toarray()))
    assert_same(sparse, dense)
    np.testing.assert_array_equal(sparse.oob_prediction_, dense.oob_prediction_)
    np.testing.assert_array_equal(sparse.variable_importance_, dense.variable_importance_)
    assert (sparse.variable_importance_ != 0).any()
    for rows in (X, X[:1], sp.csr_array(X.shape, dtype=dtype)):
        np.testing.assert_array_equal(sparse.predict(rows), dense.predict(rows.toarray()))
        np.testing.assert_array_equal(sparse.apply(rows), dense.apply(rows.toarray()))


def test_estimated_memory():
    X, y = data()
    estimates = [make(RandomForestRegressor, keep_training_data=True).estimate_memory(rows, y) for rows in (X, X.toarray())]
    assert estimates[0].total < estimates[1].total
