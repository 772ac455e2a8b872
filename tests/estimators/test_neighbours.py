"""What forests tell of the training rows in their leaves: against the twin in plain Python, on any number of threads."""

import pickle
import warnings

import numpy as np
import pytest
from helpers.ranks import CUTS, Cut, fit_by_ranks
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from twins import neighbours as twin

import dforest
from dforest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.core.predict.neighbours import LeafTable, quantiles_of_rows
from dforest.sampling import BlockSampling

MODELS = [
    RandomForestRegressor(),
    RandomForestRegressor(min_samples_leaf=4, max_samples=0.4),
    RandomForestRegressor(criterion="absolute_error", max_depth=3),
    ExtraTreesRegressor(max_leaf_nodes=6),
    ExtraTreesRegressor(bootstrap=True, min_samples_leaf=2),
    RandomForestRegressor(categorical_features=[0], ccp_alpha=0.01),
    RandomForestClassifier(),
    RandomForestClassifier(min_samples_leaf=3, class_weight="balanced"),
    RandomForestClassifier(class_weight="balanced_subsample"),
    ExtraTreesClassifier(min_samples_leaf=3),
]
ALL = pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model).replace("\n", ""))
REGRESSORS = pytest.mark.parametrize("model", MODELS[:6], ids=lambda model: repr(model).replace("\n", ""))
WEIGHTED = pytest.mark.parametrize("is_weighted", [False, True])


def problem(model, seed, is_weighted, n=45, n_outputs=1):
    """A fitted forest, new rows, and the training rows of positive weight: X, y, and the numbers that they had."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n + 20, 4)).astype(float)
    X[:, 1] = rng.normal(size=len(X))
    X[rng.random(X.shape) < 0.1] = np.nan
    shape = n if n_outputs == 1 else (n, n_outputs)
    y = rng.integers(0, 6, shape).astype(float) if hasattr(model, "predict_quantiles") else rng.integers(0, 3, shape)
    weight = rng.integers(0, 4, n) / 2 if is_weighted else None
    model = clone(model).set_params(n_estimators=9, random_state=seed, keep_training_data=True)
    kept = np.arange(n) if weight is None else np.flatnonzero(weight)
    return model.fit(X[:n], y, weight), X[n:], X[:n][kept], y[kept], kept


def among_all(matrix, kept, n=45, rows=False):
    """A matrix over the training rows of positive weight, as one over all n rows that fit was given."""
    found = np.zeros((n if rows else len(matrix), n))
    found[np.ix_(kept if rows else np.arange(len(matrix)), kept)] = matrix
    return found


def masses_of(model, X, kept):
    """What training rows weigh in each tree, from the rows that it drew, and their weights by the leaves' own sums."""
    data = model._training_rows()
    n_trees = len(model.estimators_)
    masses = np.zeros((len(kept), n_trees))
    place = {number: i for i, number in enumerate(kept.tolist())}
    for t, numbers in enumerate(model.estimators_samples_):
        counts = np.bincount([place[number] for number in numbers.tolist()], minlength=len(kept))
        masses[:, t] = data.masses(counts.astype(np.uint32))
    return masses


@ALL
@WEIGHTED
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_those_of_the_twin(model, is_weighted, seed):
    model, new, X, y, kept = problem(model, seed, is_weighted)
    masses, leaves = masses_of(model, X, kept), model.apply(X)
    found = model.forest_weights(new)
    assert found.shape == (len(new), 45) and found.has_sorted_indices
    assert not np.delete(found.toarray(), kept, axis=1).any()
    found = found[:, kept]
    expected = [[float(w) for w in twin.weights_of_row(leaf, leaves, masses)] for leaf in model.apply(new)]
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12)
    assert ((found.toarray() > 0) == (np.array(expected) > 0)).all()
    np.testing.assert_allclose(found.sum(axis=1).ravel(), np.ones((1, len(new))))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found @ np.eye(3)[y][:, : len(model.classes_)], model.predict_proba(new), atol=1e-12)
    elif model.criterion == "squared_error":
        np.testing.assert_allclose(found @ y, model.predict(new), rtol=1e-9)


@REGRESSORS
@WEIGHTED
@pytest.mark.parametrize("seed", range(3))
def test_quantiles_are_those_of_the_twin(model, is_weighted, seed):
    model, new, X, y, kept = problem(model, seed, is_weighted)
    masses, leaves = masses_of(model, X, kept), model.apply(X)
    weights = [twin.weights_of_row(leaf, leaves, masses) for leaf in model.apply(new)]
    q = [0.5, 0.0, 1.0, 0.1, 0.9, 1 / 3, 0.25, 0.5, 4 / 9]
    found = model.predict_quantiles(new, q)
    assert found.tolist() == [[twin.quantile(y, own, one) for one in q] for own in weights]
    for k, one in enumerate(q):
        np.testing.assert_array_equal(model.predict_quantiles(new, one), found[:, k])
    assert model.predict_quantiles(new, []).shape == (len(new), 0)


@REGRESSORS
@WEIGHTED
def test_each_of_several_outputs_has_quantiles_of_its_own(model, is_weighted):
    model, new, X, y, kept = problem(model, 0, is_weighted, n_outputs=3)
    masses, leaves = masses_of(model, X, kept), model.apply(X)
    weights = [twin.weights_of_row(leaf, leaves, masses) for leaf in model.apply(new)]
    found = model.predict_quantiles(new, [0.9, 0.2])
    assert found.tolist() == [[[twin.quantile(column, own, q) for q in (0.9, 0.2)] for column in y.T] for own in weights]
    np.testing.assert_array_equal(model.predict_quantiles(new, 0.2), found[:, :, 1])
    assert model.predict_quantiles(new, []).shape == (len(new), 3, 0)


@ALL
@WEIGHTED
def test_proximities_are_those_of_the_twin(model, is_weighted):
    model, new, X, y, kept = problem(model, 7, is_weighted)
    masses, leaves, reached = masses_of(model, X, kept), model.apply(X), model.apply(new)
    for rows, there in ((new, reached), (None, leaves)):
        found = model.proximity(rows, kind="leaf").toarray()
        expected = [[float(p) for p in twin.proximity_of_row(leaf, leaves)] for leaf in there]
        expected = among_all(expected, kept, rows=rows is None)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(model.proximity(new).toarray(), model.forest_weights(new).toarray())
    if model.bootstrap in (False, "auto"):
        with pytest.raises(ValueError, match='kind="gap" of training rows needs trees that left the rows out'):
            model.proximity()
        return
    drawn = np.array([model.forest_.row_counts(t) > 0 for t in range(9)]).T
    expected = [twin.weights_of_row(leaf, leaves, masses, ~own) for leaf, own in zip(leaves, drawn, strict=True)]
    found = model.proximity().toarray()
    expected = among_all([[float(p) for p in row] for row in expected], kept, rows=True)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert not found.diagonal().any()


@ALL
@WEIGHTED
def test_outlier_scores_are_those_of_the_twin(model, is_weighted):
    model, _, X, y, kept = problem(model, 3, is_weighted)
    group = y if hasattr(model, "predict_proba") else np.zeros(len(y), int)
    expected = np.full(45, np.nan)
    expected[kept] = twin.outlier_scores(model.apply(X), group)
    np.testing.assert_allclose(model.outlier_scores(), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", [RandomForestRegressor, RandomForestClassifier])
def test_threads_blocks_and_pickles_give_the_same(kind, monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    y = y if kind is RandomForestRegressor else np.digitize(y, [100, 200])

    def answers(model):
        found = [model.forest_weights(X[:50]), model.proximity(), model.proximity(X[:9], "leaf")]
        found = [part for matrix in found for part in (matrix.indptr, matrix.indices, matrix.data)]
        quantiles = [model.predict_quantiles(X, [0.2, 0.7])] if kind is RandomForestRegressor else []
        return [part.tobytes() for part in (*found, model.outlier_scores(), *quantiles)]

    model = kind(30, min_samples_leaf=3, keep_training_data=True, random_state=0, n_jobs=1).fit(X, y)
    expected = answers(model)
    for n_jobs in (2, 7):
        assert answers(clone(model).set_params(n_jobs=n_jobs).fit(X, y)) == expected
    copied = pickle.loads(pickle.dumps(model))
    assert not hasattr(copied, "_leaf_tables") and answers(copied) == expected
    for n_bytes in (8 * 30 * 17, 1):
        monkeypatch.setattr(dforest.estimators.results.neighbours, "_BLOCK_BYTES", n_bytes)
        assert answers(model) == expected
    if "sparse_interface" in get_config():
        with config_context(sparse_interface="sparray"):
            assert isinstance(model.proximity(), csr_array)


@st.composite
def weighted_fits(draw):
    """A forest whose leaves predict means, and rows to fit it to: by any plan, with any weights, with categories."""
    is_classifier, several = draw(st.booleans()), draw(st.booleans())
    n, rng = draw(st.integers(20, 60)), np.random.default_rng(draw(st.integers(0, 2**16)))
    X = rng.normal(size=(n, 3))
    X[:, 1] = rng.integers(0, 6, n)
    y = rng.integers(0, 3, (n, 2)) if is_classifier else rng.normal(size=(n, 2)) * [1, 50]
    kinds = ["none", "whole", "some 0", "of many magnitudes"]
    weight = {
        "none": None,
        "whole": rng.integers(1, 6, n).astype(float),
        "some 0": rng.integers(0, 3, n) * (X[:, 1] > 1),
        "of many magnitudes": 10.0 ** rng.uniform(-12, 0, n),
    }[draw(st.sampled_from(kinds))]
    plans = [True, False, "weighted", BlockSampling(4)] + ["stratified"] * (is_classifier and not several)
    bootstrap = draw(st.sampled_from(plans))
    parameters = {"bootstrap": bootstrap, "min_samples_leaf": draw(st.sampled_from([1, 4])), "categorical_features": [1]}
    if is_classifier:
        kind = RandomForestClassifier
        parameters["class_weight"] = draw(st.sampled_from([None, "balanced", "balanced_subsample"]))
    else:
        kind = RandomForestRegressor
    model = kind(7, keep_training_data=True, oob_score=bootstrap is not False, random_state=0, **parameters)
    return model, X, (y if several else y[:, 0]), weight


@given(weighted_fits())
@settings(max_examples=examples(100), deadline=None)
def test_weights_give_the_predictions(fit):
    model, X, y, weight = fit
    if weight is not None and not weight.any():
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores|R.2 score is not well-defined")
        model.fit(X, y, weight)
    is_classifier, weights = hasattr(model, "predict_proba"), model.forest_weights(X)
    predicted = model.predict_proba(X) if is_classifier else model.predict(X)
    out_of_bag = None
    if model.bootstrap is not False:
        gap = model.proximity()
        out_of_bag = model.oob_decision_function_ if is_classifier else model.oob_prediction_
    for output in range(y.ndim):
        own = y if y.ndim == 1 else y[:, output]
        classes, found = (model.classes_ if y.ndim == 1 else model.classes_[output]) if is_classifier else None, predicted
        if y.ndim == 2:
            found = predicted[output] if is_classifier else predicted[:, output]
        own = (own[:, None] == classes).astype(float) if is_classifier else own
        np.testing.assert_allclose(weights @ own, found, rtol=1e-12, atol=1e-12)
        if out_of_bag is None:
            continue
        found = out_of_bag if not isinstance(out_of_bag, list) else out_of_bag[output]
        if y.ndim == 2 and not isinstance(out_of_bag, list):
            found = found[..., output]
        seen = np.diff(gap.indptr) > 0
        np.testing.assert_allclose((gap @ own)[seen], found[seen], rtol=1e-12, atol=1e-12)
        assert np.isnan(found[~seen]).all()


@pytest.mark.parametrize("parameters", [{}, {"class_weight": {0: 0, 1: 1, 2: 2}}])
def test_rows_of_weight_0_have_their_numbers_everywhere(parameters, tmp_path):
    """Those of all other attributes and methods: in pickles, of earlier versions too, in files, and on ranks with many parts."""
    X, y = load_iris(return_X_y=True)
    weight = np.arange(150) % 3 * 1.0
    kind = RandomForestClassifier if parameters else RandomForestRegressor
    make = lambda: kind(6, keep_training_data=True, oob_score=True, random_state=0, n_jobs=2, **parameters)  # noqa: E731
    model = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, weight)
    has_weight = (weight > 0) & ~(bool(parameters) & (y == 0))

    def answers(model):
        return [part.toarray() for part in (model.forest_weights(X), model.proximity(), model.proximity(kind="leaf"))]

    expected, scores = answers(model), model.outlier_scores()
    of_new, gap, leaf = expected
    values = np.eye(3)[y] if parameters else y
    np.testing.assert_allclose(of_new @ values, model.predict_proba(X) if parameters else model.predict(X))
    assert ((of_new > 0).any(axis=0) <= has_weight).all() and (np.isnan(scores) == ~has_weight).all()
    assert (leaf.diagonal() == has_weight).all() and (gap.any(axis=1) <= has_weight).all()
    for rows in model.estimators_samples_:
        assert has_weight[rows].all()
    model.save(tmp_path / "model")
    earlier = pickle.loads(pickle.dumps(model))
    earlier._training_data = earlier._training_data._replace(kept=None, n_given=None)
    for again in (dforest.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), earlier):
        for found, own in zip(answers(again), expected, strict=True):
            np.testing.assert_array_equal(found, own)
        np.testing.assert_array_equal(again.outlier_scores(), scores)
    for cut in ("even", "interleaved"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for other in fit_by_ranks(make(), X, y, weight, Cut.random(np.random.default_rng(0), 150, 3, cut), 3):
                for found, own in zip(answers(other), expected, strict=True):
                    np.testing.assert_allclose(found, own, rtol=1e-12)
                np.testing.assert_array_equal(np.isnan(other.outlier_scores()), np.isnan(scores))
    damaged = model._training_data._replace(n_given=149)
    with pytest.raises(ValueError, match="a bit for each|drew from"):
        damaged.check(model.forest_)


def test_several_outputs_are_saved_with_their_training_rows(tmp_path):
    X, y = load_iris(return_X_y=True)
    for class_weight in (None, "balanced_subsample"):
        model = RandomForestClassifier(5, class_weight=class_weight, keep_training_data=True, random_state=0)
        model.fit(X, np.c_[y, y > 1]).save(tmp_path / "model")
        for again in (dforest.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            assert np.array_equal(again.forest_weights(X).toarray(), model.forest_weights(X).toarray())


def test_quantiles_of_no_rows_are_nan():
    table = LeafTable(lambda t: np.zeros(2, np.int64), lambda t: np.ones(2), np.array([2]), 2, True, 1)
    place, y = np.array([0, 1], np.uint32), np.array([3.0, 4.0])
    found = quantiles_of_rows(table, np.array([[0], [1], [-1]]), place, y, np.array([0.0, 0.5, 1.0]), 1)
    np.testing.assert_array_equal(found, [[3, 3, 4], [np.nan] * 3, [np.nan] * 3])


def test_warm_starts():
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(10, keep_training_data=True, warm_start=True, random_state=0).fit(X, y)
    model.predict_quantiles(X[:5], 0.5)  # makes a table of ten trees
    model.set_params(n_estimators=20).fit(X, y)
    whole = RandomForestRegressor(20, keep_training_data=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.forest_weights(X[:20]).toarray(), whole.forest_weights(X[:20]).toarray())
    for other in [(X[::-1], y), (X, y + 1), (X[:400], y[:400]), (X, y, np.arange(1, 443))]:
        model.set_params(n_estimators=25)
        with pytest.raises(ValueError, match="training rows were others than those of this fit"):
            model.fit(*other)
    model.set_params(keep_training_data=False).fit(X, y)
    with pytest.raises(ValueError, match="fitted with keep_training_data=False"):
        model.forest_weights(X)
    with pytest.raises(ValueError, match="training rows were not kept"):
        model.set_params(n_estimators=30, keep_training_data=True).fit(X, y)


def test_a_warm_start_with_other_weights_of_draws():
    """Trees that were drawn by weight count draws as 1, others count them by weight: no kept rows tell of both."""
    X, y = load_diabetes(return_X_y=True)
    weight = np.arange(1, 443) % 3 + 1.0
    model = RandomForestRegressor(5, bootstrap="weighted", keep_training_data=True, warm_start=True, random_state=0)
    model.fit(X, y, weight).set_params(n_estimators=9).fit(X, y, weight)
    with pytest.raises(ValueError, match="if draws of them weigh the same"):
        model.set_params(n_estimators=12, bootstrap=True).fit(X, y, weight)


def test_a_warm_start_without_a_category():
    """The rows that are kept have the numbers that categories had in the first fit, whatever labels later rows are given with."""
    X, y = np.array([["a", "b", "c"][i % 3] for i in range(12)], object)[:, None], np.arange(12) % 3 * 10.0
    model = RandomForestRegressor(3, categorical_features=[0], keep_training_data=True, bootstrap=False, warm_start=True)
    more = np.concatenate([[["A"]], X])  # a label that comes first, of weight 0
    model.fit(X, y).set_params(n_estimators=5).fit(more, np.r_[7, y], np.r_[0, np.ones(12)])
    assert model.predict_quantiles([["a"], ["b"], ["c"]], 0.5).tolist() == [0, 10, 20]


def test_what_is_kept_is_a_copy():
    X, y = (part.copy() for part in load_diabetes(return_X_y=True))
    model = RandomForestRegressor(10, keep_training_data=True, random_state=0).fit(X, y)
    before, rows = model.predict_quantiles(X[:30], 0.3), X[:30].copy()
    X[:], y[:] = 0.0, 0.0
    model.__dict__.pop("_leaf_tables")
    np.testing.assert_array_equal(model.predict_quantiles(rows, 0.3), before)


def test_bad_input():
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(3, random_state=0).fit(X, y)
    for method in (model.forest_weights, model.proximity, lambda X: model.predict_quantiles(X, 0.5)):
        with pytest.raises(ValueError, match="fitted with keep_training_data=False, but this method needs"):
            method(X)
    model.set_params(keep_training_data=True).fit(X, y)
    for q in (-0.1, 1.1, np.nan, [0.5, 2], [[0.5]], "x", None, [[0.1], [0.2, 0.3]]):
        with pytest.raises(ValueError, match="q=.*; allowed are a number from 0 to 1"):
            model.predict_quantiles(X, q)
    with pytest.raises(ValueError, match='kind=\'both\'; allowed are "gap" and "leaf"'):
        model.proximity(X, "both")
    with pytest.raises(ValueError, match="X has 3 features"):
        model.forest_weights(X[:, :3])
    assert not hasattr(RandomForestClassifier(), "predict_quantiles")
    assert not hasattr(HistGradientBoostingRegressor(), "proximity")


@pytest.mark.parametrize("make", [np.asarray, lambda X: csr_array(np.where(X > 0.01, X, 0))], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", CUTS)
def test_several_ranks_keep_the_rows_of_all(kind, make):
    """Each of them says what one process says, also of a forest that is unpickled or goes on."""
    X, y = load_diabetes(return_X_y=True)
    X, y, weight = make(X[:150]), y[:150], np.arange(150) % 3 / 2.0
    cut = Cut.random(np.random.default_rng(0), len(y), 3, kind)
    classes = np.digitize(y, [100, 200])
    models = RandomForestRegressor(5, min_samples_leaf=3), RandomForestClassifier(5, class_weight="balanced_subsample")
    for model, target in zip(models, (y, classes), strict=True):
        model.set_params(keep_training_data=True, random_state=0)
        alone = clone(model).fit(X, target, weight)
        for found in fit_by_ranks(model, X, target, weight, cut, 3):
            for one in (found, pickle.loads(pickle.dumps(found))):
                assert one._training_data.equals(alone._training_data)
                assert (one.forest_weights(X) != alone.forest_weights(X)).nnz == 0
                assert (one.proximity() != alone.proximity()).nnz == 0
                np.testing.assert_array_equal(one.outlier_scores(), alone.outlier_scores())
                if target is y:
                    np.testing.assert_array_equal(one.predict_quantiles(X, [0.1, 0.9]), alone.predict_quantiles(X, [0.1, 0.9]))
