"""What reports ask of models, against the estimators' own methods."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from dforest import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.inspection.report.models import model_of

IRIS, DIABETES, CANCER = load_iris(return_X_y=True), load_diabetes(return_X_y=True), load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (RandomForestClassifier(7, random_state=0), IRIS),
        (RandomForestClassifier(7, random_state=0, voting="hard", max_depth=2), IRIS),
        (ExtraTreesRegressor(7, random_state=0), DIABETES),
    ],
)
def test_the_first_trees_of_a_forest(estimator, data):
    X, y = data
    model = model_of(estimator.fit(X, y))
    for n, found in zip([1, 4, 7], model.staged(X[:20], [1, 4, 7]), strict=True):
        trees = [getattr(tree, "predict_proba", tree.predict)(X[:20]).reshape(20, -1) for tree in estimator[:n]]
        if getattr(estimator, "voting", "soft") == "hard":
            trees = [np.eye(3)[tree.argmax(axis=1)] for tree in trees]
        np.testing.assert_allclose(found, np.mean(trees, axis=0), atol=1e-12)
    np.testing.assert_allclose(found, model.predict(X[:20]), atol=1e-12)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
def test_out_of_bag(kind):
    X, y = IRIS if kind is RandomForestClassifier else DIABETES
    estimator = kind(5, random_state=0, oob_score=True).fit(X, y)
    known = getattr(estimator, "oob_decision_function_", None)
    known = estimator.oob_prediction_[:, None] if known is None else known
    model, chosen = model_of(estimator), np.arange(0, len(X), 3)
    np.testing.assert_allclose(model.out_of_bag(chosen)(X[chosen]), known[chosen], atol=1e-12)
    assert np.isnan(known[chosen]).any()  # some rows are drawn by all trees
    *_, (seen, last) = model.staged_out_of_bag((X, y), [1, 3, 5])
    np.testing.assert_allclose(last, known[seen], atol=1e-12)
    assert np.isnan(known[~seen]).all()


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (HistGradientBoostingClassifier(max_iter=5, random_state=0), IRIS),
        (HistGradientBoostingClassifier(max_iter=5, random_state=0), CANCER),
        (HistGradientBoostingRegressor(max_iter=5, random_state=0, loss="poisson"), DIABETES),
    ],
)
def test_the_first_iterations(estimator, data):
    X, y = data
    model, several = model_of(estimator.fit(X, y)), [1, 3, 5]
    for n, found in zip(several, model.staged(X, several), strict=True):
        predict = getattr(estimator, "predict_proba", estimator.predict)
        np.testing.assert_array_equal(found, predict(X, n_iter=n).reshape(len(X), -1))
    np.testing.assert_array_equal(model.predict(X), found)
    assert model.n_steps == 5 and model.own_importances()[1] is None
