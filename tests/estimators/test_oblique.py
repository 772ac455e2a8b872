"""Oblique trees and forests: what they learn, what kinds of data they take, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from helpers.device_forests import assert_same
from helpers.oblique import mixed, rotated
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier as SklearnTree

from dforest import (
    CausalForest,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    export_text,
    load,
)
from dforest.core.forest.arrays import Forest
from dforest.splitter import ObliqueSplitter

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("seed", range(4))
def test_planes_are_learned_better_than_by_single_features(seed):
    rows, classes = rotated(seed)
    known = {"n_estimators": 50, "random_state": seed, "max_features": None}
    plain, oblique = (
        RandomForestClassifier(split_axis=axis, projection_density=3.0, **known).fit(rows[:1000], classes[:1000])
        for axis in ("axis_aligned", "oblique")
    )
    errors = [1 - model.score(rows[1000:], classes[1000:]) for model in (plain, oblique)]
    assert errors[1] < 0.8 * errors[0]


def test_a_single_column_is_taken_where_it_is_best():
    """At the threshold of scikit-learn's tree; a sum that parts the rows as well is not taken in its place."""
    rows, _ = load_breast_cancer(return_X_y=True)
    classes = (rows[:, 3] > 551.0).astype(int)
    tree = DecisionTreeClassifier(split_axis="oblique", method="dense", random_state=0).fit(rows, classes)
    threshold, missing_left, *term = tree.forest_.payload_of(0).view(float)
    assert tree.get_n_leaves() == 2 and term[:2] == [3.0, 1.0]
    assert threshold == SklearnTree(random_state=0).fit(rows, classes).tree_.threshold[0]


def test_categories_alone_give_ordinary_forests():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, (300, 4)).astype(float)
    labels[rng.random(labels.shape) < 0.1] = np.nan
    classes = rng.integers(0, 2, 300) ^ (labels[:, 0] > 2)
    for kind in (RandomForestClassifier, ExtraTreesClassifier):
        known = {"n_estimators": 10, "random_state": 0, "categorical_features": [0, 1, 2, 3], "max_depth": 6}
        plain, oblique = (kind(split_axis=axis, **known).fit(labels, classes) for axis in ("axis_aligned", "oblique"))
        unseen = np.vstack([labels, np.full((1, 4), 5.0), np.full((1, 4), np.nan)])
        np.testing.assert_array_equal(oblique.predict_proba(unseen), plain.predict_proba(unseen))
        np.testing.assert_array_equal(oblique.feature_importances_, plain.feature_importances_)


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("method", ["hist", "dense"])
def test_tables_with_gaps_and_categories(tmp_path, method, splitter):
    frame, target = mixed()
    known = {"n_estimators": 20, "split_axis": "oblique", "random_state": 0, "method": method, "splitter": splitter}
    model = RandomForestRegressor(**known, n_jobs=1, oob_score=True).fit(frame, target)
    assert_same(model, RandomForestRegressor(**known, n_jobs=4).fit(frame, target))
    assert model.oob_score_ > 0.75
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_[2] < model.feature_importances_[:2].min() / 2
    model.save(tmp_path / "model.dforest")
    there = load(tmp_path / "model.dforest")
    assert there.get_params() == model.get_params()
    np.testing.assert_array_equal(there.predict(frame), model.predict(frame))
    assert np.isfinite(model.predict(frame.assign(kind=pd.Categorical(["?"] * len(frame))))).all()


def test_more_projections_than_columns():
    """Columns take several turns; an exponent counts columns of numbers alone, of which there are three."""
    frame, target = mixed()
    a, b = (
        RandomForestRegressor(5, split_axis="oblique", n_projections=n, random_state=0).fit(frame, target) for n in (9, 2.0)
    )
    assert_same(a, b)
    one = RandomForestRegressor(5, split_axis="oblique", n_projections=1, random_state=0).fit(frame, target)
    assert not np.array_equal(a.predict(frame), one.predict(frame))


def test_features_that_are_always_tried():
    """Beside `max_features` others, of which a constant one takes no place."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 9))
    rows[:, 2] = 1.0
    known = {"split_axis": "oblique", "n_projections": 1, "max_features": 1, "max_depth": 1, "random_state": 0}
    for always in ([0, 1, 3, 4, 5, 6, 7, 8], [2, 8]):
        tree = DecisionTreeClassifier(always_split_features=always, **known).fit(rows, rows[:, 8] > 0)
        assert tree.score(rows, rows[:, 8] > 0) == 1.0
    weights = DecisionTreeClassifier(feature_weights={column: 0.0 for column in range(8)}, **known).fit(rows, rows[:, 8] > 0)
    assert weights.score(rows, rows[:, 8] > 0) == 1.0


def test_missing_values_that_training_had_none_of():
    """They count as means in sums, whatever scales these."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2000, 4))
    numbers, holed = rows[:, 0] + rows[:, 1], rows[1000:].copy()
    holed[:, 0] = np.nan
    for scaling in (None, "min_max", "standard"):
        model = RandomForestRegressor(20, split_axis="oblique", projection_scaling=scaling, random_state=0)
        model.fit(rows[:1000], numbers[:1000])
        means = model.forest_.payload_of(0).view(float)[4::3]
        assert np.abs(means).max() < 0.2
        assert model.score(holed, numbers[1000:]) > 0.4


def test_other_tasks():
    rows, numbers = load_diabetes(return_X_y=True)
    both = np.column_stack([numbers, -numbers])
    model = RandomForestRegressor(10, split_axis="oblique", honest=True, random_state=0).fit(rows, both)
    np.testing.assert_allclose(model.predict(rows)[:, 0], -model.predict(rows)[:, 1])
    model = RandomForestClassifier(5, split_axis="oblique", random_state=0, warm_start=True).fit(X, y)
    model.set_params(n_estimators=10).fit(X, y)
    assert_same(model, RandomForestClassifier(10, split_axis="oblique", random_state=0).fit(X, y))
    quantiles = RandomForestRegressor(10, split_axis="oblique", keep_training_data=True, random_state=0).fit(rows, numbers)
    assert (np.diff(quantiles.predict_quantiles(rows[:9], [0.1, 0.9])) >= 0).all()


def test_text_of_tests():
    frame, target = mixed()
    text = export_text(RandomForestRegressor(1, split_axis="oblique", max_depth=3, random_state=0).fit(frame, target)[0])
    assert " a " in text and "<=" in text and "|--- not: " in text
    payload = np.array([0.25, 0.0, 0, -0.5, np.nan, 1, 2.0, np.nan]).view(np.uint64)
    splitter = ObliqueSplitter()
    assert splitter.describe(payload, ["a", "b"]) == "-0.5 a + 2 b <= 0.25"
    features, shares = splitter.used_features(payload)
    assert features.tolist() == [0, 1] and shares.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "name, value",
    [
        ("n_projections", 0),
        ("n_projections", True),
        ("projection_density", 0.0),
        ("projection_weights", "ternary"),
        ("projection_scaling", "l2"),
        ("thresholds", "worst"),
    ],
)
def test_parameters_of_the_splitter(name, value):
    with pytest.raises(ValueError, match=rf"{name}={value!r}; allowed are"):
        ObliqueSplitter(**{name: value})


@pytest.mark.parametrize(
    "given, message",
    [
        ({"splitter": ObliqueSplitter()}, 'split_axis="oblique" with splitter=ObliqueSplitter'),
        ({"monotonic_cst": [1, 0, 0, 0]}, "makes tests of its own"),
        ({"splitter": "random", "n_random_splits": 3}, "n_random_splits=3 with split_axis=.oblique., which draws one threshold"),
        ({"regularization_factor": 0.5}, "needs a built-in splitter whose tests are of single features"),
        ({"n_projections": 0.0}, "'n_projections' parameter"),
        ({"projection_weights": "ternary"}, "'projection_weights' parameter"),
        ({"split_axis": "sparse_oblique"}, "'split_axis' parameter"),
        ({"device": "host"}, 'split_axis="oblique" is not supported for device='),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(2, **{"split_axis": "oblique"} | given).fit(X, y)


def test_what_is_refused_of_fitted_forests():
    model = RandomForestClassifier(2, split_axis="oblique", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="tests of its own"):
        model.shap_values(X)
    for convert in (model.to_onnx, model.to_treelite, model.to_shap, model.to_sklearn):
        with pytest.raises(ValueError, match="split_axis='oblique': tests add up several features"):
            convert()
    with pytest.raises(ValueError, match="goes on with trees that have tests by ObliqueSplitter"):
        model.set_params(warm_start=True, n_estimators=3, split_axis="axis_aligned").fit(X, y)
    with pytest.raises(ValueError, match="scores cuts of columns only"):
        RandomForestRegressor(2, split_axis="oblique", criterion="absolute_error").fit(X, y)
    with pytest.raises(TypeError, match="split_axis"):
        CausalForest(split_axis="oblique")


@pytest.mark.parametrize("place, value", [(2, 4.0), (2, -1.0), (2, np.nan), (0, np.nan)])
def test_tests_that_were_tampered_with(place, value):
    model = RandomForestClassifier(2, split_axis="oblique", random_state=0).fit(X, y)
    words = model.forest_.payload_words.copy()
    words.view(np.float64)[place] = value
    if place == 0:
        words.view(np.float64)[2] = 9.0  # of a categorical column
    model.forest_ = Forest({**model.forest_.as_dict(), "payload_words": words}, **model.forest_.settings())
    with pytest.raises(ValueError, match="is no test of an oblique tree on 4 features"):
        model.predict(X)
