"""Boosted trees of scikit-learn as ours: the same predictions, and all that our estimators do with them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.read_models import classes_of, data
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import ensemble
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

import dforest
from dforest.errors import ConversionError
from dforest.interchange.conversion import from_hist_boosting as conversion

REGRESSION = ["squared_error", "absolute_error", "gamma", "poisson", "quantile"]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """scikit-learn's threads wait for each other, longest where other tests run too."""
    with threadpool_limits(1):
        yield


def assert_same(estimator, model, X):
    if hasattr(model, "classes_"):
        assert estimator.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-13)
        assert estimator.decision_function(X) == pytest.approx(model.decision_function(X), abs=1e-12)
        assert np.array_equal(estimator.predict(X), model.predict(X))
    else:
        assert estimator.predict(X) == pytest.approx(model.predict(X), rel=1e-12)
    staged = zip(estimator.staged_predict(X), model.staged_predict(X), strict=True)
    assert all(np.all(one == other) if other.dtype.kind == "U" else np.allclose(one, other) for one, other in staged)
    shap = estimator.shap_values(X)
    assert shap.additivity_error < 1e-12


@pytest.mark.parametrize("loss", REGRESSION)
@pytest.mark.parametrize("categorical", [None, [3]])
def test_numbers(loss, categorical):
    X, y = data()
    parameters = {"loss": loss, "quantile": 0.3 if loss == "quantile" else None, "categorical_features": categorical}
    model = ensemble.HistGradientBoostingRegressor(max_iter=12, max_leaf_nodes=9, learning_rate=0.3, **parameters).fit(X, y)
    estimator = dforest.from_sklearn(model)
    assert type(estimator) is dforest.HistGradientBoostingRegressor
    assert_same(estimator, model, X)
    given = estimator.get_params()
    assert {name: given[name] for name in parameters} == parameters
    assert (given["max_iter"], given["max_leaf_nodes"], given["learning_rate"]) == (12, 9, 0.3)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_classes(n_classes, early_stopping, tmp_path):
    X, y = data()
    labels = classes_of(y, n_classes)
    model = ensemble.HistGradientBoostingClassifier(
        max_iter=60, early_stopping=early_stopping, n_iter_no_change=2, learning_rate=0.5, random_state=0
    ).fit(X, labels)
    estimator = dforest.from_sklearn(model)
    assert_same(estimator, model, X)
    assert estimator.max_iter == model.n_iter_ == estimator.n_iter_
    assert (model.n_iter_ < 60) == early_stopping == estimator.do_early_stopping_
    assert np.array_equal(estimator.validation_score_, model.validation_score_)
    estimator.save(tmp_path / "model")
    for other in (dforest.load(tmp_path / "model"), pickle.loads(pickle.dumps(estimator))):
        assert np.array_equal(other.predict_proba(X), estimator.predict_proba(X))


def test_frames():
    """Columns of categories, which scikit-learn moves to the front; labels that are missing, new, or in another order."""
    X, y = data()
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"first": X[:, 0], "c": pd.Categorical(rng.choice([*"uvwxyz", None], len(y))), "third": X[:, 1]})
    frame["d"] = pd.Categorical(rng.choice([5, 7, 100], len(y)), categories=[100, 5, 7])
    y = y + frame["c"].cat.codes.to_numpy() % 3 + frame["d"].cat.codes.to_numpy()
    for task, target in [("Regressor", y), ("Classifier", classes_of(y, 3))]:
        model = getattr(ensemble, f"HistGradientBoosting{task}")(max_iter=9, categorical_features="from_dtype").fit(frame, target)
        estimator = dforest.from_sklearn(model)
        assert estimator.feature_names_in_.tolist() == list(frame.columns)
        assert estimator.is_categorical_.tolist() == [False, True, False, True]
        other = frame.assign(c=frame["c"].cat.rename_categories({"u": "new"}).cat.reorder_categories([*"zyxwv", "new"]))
        for rows in (frame, other):
            assert_same(estimator, model, rows)
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.predict(frame[frame.columns[::-1]])


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    parameters=st.fixed_dictionaries(
        {
            "max_leaf_nodes": st.sampled_from([2, 5, 31]), "min_samples_leaf": st.sampled_from([1, 20, 400]),
            "l2_regularization": st.sampled_from([0.0, 1.0]), "max_bins": st.sampled_from([12, 255]),
            "categorical_features": st.sampled_from([None, [0, 3], [3]]),
        }
    ),
)  # fmt: skip
def test_whatever_was_grown(seed, parameters):
    X, y = data(300, seed)
    X[:, 0] = np.rint(3 + X[:, 0])
    X[X[:, 0] < 0, 0] = 0
    model = ensemble.HistGradientBoostingRegressor(max_iter=6, random_state=seed, **parameters).fit(X, y, 0.5 + (y > 1))
    estimator = dforest.from_sklearn(model)
    assert estimator.predict(X) == pytest.approx(model.predict(X), rel=1e-12)


def test_attributes_are_those_of_a_fit_and_trees_go_on():
    X, y = data()
    model = ensemble.HistGradientBoostingRegressor(max_iter=5, monotonic_cst=[0, 0, 1, 0], random_state=3).fit(X, y)
    estimator = dforest.from_sklearn(model)
    assert vars(dforest.HistGradientBoostingRegressor(max_iter=1).fit(X, y)).keys() == vars(estimator).keys()
    tree, theirs = estimator.estimators_[0, 0].tree_, model._predictors[0][0].nodes
    assert np.array_equal(tree.n_node_samples, theirs["count"])
    is_leaf = theirs["is_leaf"] != 0
    assert np.array_equal(tree.value[is_leaf, 0, 0], theirs["value"][is_leaf])
    before = estimator.predict(X)
    estimator.set_params(max_iter=30, warm_start=True).fit(X, y)
    assert np.array_equal(estimator.predict(X, n_iter=5), before)
    assert estimator.score(X, y) > model.score(X, y) + 0.05
    rows = np.tile(X[:1], (50, 1))
    rows[:, 2] = np.linspace(-3, 3, 50)
    assert (np.diff(estimator.predict(rows)) >= 0).all()


def test_one_wrong_number_is_found(monkeypatch):
    X, y = data()
    model = ensemble.HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    right = conversion._source_tree

    def wrong(*args):
        tree = right(*args)
        return tree._replace(threshold=np.nextafter(tree.threshold, np.inf))

    monkeypatch.setattr(conversion, "_source_tree", wrong)
    with pytest.raises(ConversionError, match=r"the model of scikit-learn and the estimator predict differently for \d+ of \d+"):
        dforest.from_sklearn(model)
    dforest.from_sklearn(model, verify=False)


def test_what_is_refused():
    X, y = data()
    with pytest.raises(NotFittedError):
        dforest.from_sklearn(ensemble.HistGradientBoostingRegressor())
    model = ensemble.HistGradientBoostingRegressor(max_iter=2).fit(X, y)
    model.loss = object()
    with pytest.raises(ValueError, match=r"model has loss=<object .*; allowed are the names of scikit-learn's losses"):
        dforest.from_sklearn(model)
