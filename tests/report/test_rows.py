"""Whether rows are those that a forest was grown on, and how they are predicted."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer

from dforest import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from dforest.inspection.report.assessment import permuted
from dforest.inspection.report.measure import Measure
from dforest.inspection.report.rows import Rows

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, random_state=0),
        RandomForestClassifier(5, random_state=0, max_samples=0.3, method="dense"),
        RandomForestClassifier(5, random_state=0, class_weight="balanced", max_leaf_nodes=4),
        ExtraTreesClassifier(5, random_state=0),
    ],
)
def test_training_rows_are_recognised(model):
    model.fit(X, Y)
    assert Rows(model, X, Y).is_training and Rows(model, X.tolist(), None).is_training
    draws = model.bootstrap not in (False, "auto")
    assert Rows(model, X[::-1], Y[::-1]).is_training == (not draws)  # without draws the order does not matter
    assert not Rows(model, X[:-1], Y[:-1]).is_training
    assert not Rows(model, X + 0.5, Y).is_training


def permuted_by_usual(model, X, y):
    return permuted(Rows(model, X, y), Measure.usual(model, None, None), model.feature_importances_)


@pytest.mark.parametrize("power", [-600, 600])
def test_shares_of_variance_have_no_unit(power):
    X, y = load_diabetes(return_X_y=True)
    forests = [RandomForestRegressor(9, random_state=0).fit(X, np.ldexp(y, k)) for k in (0, power)]
    found, scaled = (permuted_by_usual(forest, X, np.ldexp(y, k)) for forest, k in zip(forests, (0, power), strict=True))
    assert found.is_out_of_bag and found.mean.max() > 0.1
    np.testing.assert_allclose(scaled.mean, found.mean, rtol=1e-9)
    np.testing.assert_allclose(scaled.error, found.error, rtol=1e-9)


def test_rows_without_weight_belong_to_them():
    weight = np.arange(len(Y)) % 3
    model = RandomForestClassifier(3, random_state=0).fit(X, Y, weight)
    assert Rows(model, X, Y).is_training
    assert not Rows(model, X[weight > 0], Y[weight > 0]).is_training


def test_trees_that_were_added_count():
    model = RandomForestClassifier(3, random_state=0, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=6).fit(X[::-1], Y[::-1])
    assert not Rows(model, X, Y).is_training and not Rows(model, X[::-1], Y[::-1]).is_training


def test_frames_of_labels():
    frame = pd.DataFrame(X).add_prefix("c").assign(colour=pd.Categorical(np.array(["red", "green"])[Y % 2]))
    model = RandomForestClassifier(3, random_state=0).fit(frame, Y)
    rows = Rows(model, frame, Y)
    assert rows.is_training and rows.X.shape == (150, 5) and set(rows.X[:, 4]) == {0, 1}
    assert np.array_equal(rows.model.predict(rows.X), model.predict_proba(frame))


def test_training_rows_are_predicted_out_of_bag():
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(4, random_state=0, oob_score=True)
    with pytest.warns(UserWarning, match="OOB"):
        model.fit(X, y)
    numbers, prediction, is_out_of_bag = Rows(model, X, y).predictions()
    assert is_out_of_bag and len(numbers) == len(y) - model.n_never_oob_
    assert np.array_equal(prediction[:, 0], model.oob_prediction_[numbers])
    numbers, prediction, is_out_of_bag = Rows(model, X[:50], y[:50]).predictions()
    assert not is_out_of_bag and np.array_equal(prediction[:, 0], model.predict(X[:50]))


def test_samples():
    rows = Rows(RandomForestClassifier(1, random_state=0).fit(X, Y), X, Y)
    assert rows.sample(150).tolist() == list(range(150))
    some = rows.sample(40)
    assert len(set(some.tolist())) == 40 and (np.diff(some) > 0).all() and np.array_equal(some, rows.sample(40))


def test_labels_not_seen_are_refused():
    model = RandomForestClassifier(1, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="y holds 7; the classes are"):
        Rows(model, X, np.where(Y == 0, 7, Y))


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_importances_by_permutation_are_those_of_scikit_learn(kind):
    """Feature by feature, with permutations of one's own; infinite values, which scikit-learn refuses, stand for others."""
    X, y = load_diabetes(return_X_y=True)
    y = y > 140 if kind is RandomForestClassifier else y
    model = kind(20, max_depth=3, random_state=0).fit(X[::2], y[::2])
    X, y = X[1::2], y[1::2]
    found = permuted_by_usual(model, X, y)
    scoring = "accuracy" if kind is RandomForestClassifier else "r2"

    def importances(j):
        def score(model, column, y):
            return get_scorer(scoring)(model, np.column_stack([X[:, :j], column, X[:, j + 1 :]]), y)

        return permutation_importance(model, X[:, [j]], y, n_repeats=5, random_state=0, scoring=score).importances[0]

    expected = [importances(j) for j in range(10)]
    np.testing.assert_allclose(found.mean, np.mean(expected, axis=1), atol=1e-12)
    np.testing.assert_allclose(found.error, np.std(expected, axis=1, ddof=1) / np.sqrt(5), atol=1e-12)
    assert not found.is_out_of_bag and found.n_rows == len(y)
    far = X.copy()
    far[X[:, 2] == X[:, 2].max(), 2] = np.inf
    assert np.array_equal(permuted_by_usual(model, far, y).mean, found.mean)
