"""Calibrated probabilities of forests: a temperature by the rows out of bag."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import log_loss

import dforest
from dforest import ExtraTreesClassifier, RandomForestClassifier
from dforest.callback import OutOfBagPlateau
from dforest.estimators.results.calibration import calibrated, fit_temperature

X, Y = load_digits(return_X_y=True)
TRAIN, TEST = slice(0, 500), slice(500, None)
KINDS = pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(60, random_state=0),
        ExtraTreesClassifier(60, bootstrap=True, random_state=0),
        RandomForestClassifier(60, voting="hard", method="dense", random_state=0),
    ],
)


def problem(seed, n=300, n_classes=3):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(n_classes, 0.6), n).round(2)
    shares /= shares.sum(axis=1, keepdims=True)
    sharpened = (shares + 0.001) ** rng.uniform(0.4, 3)
    y = (rng.random((n, 1)) > np.cumsum(sharpened / sharpened.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    return shares, y.clip(0, n_classes - 1), rng


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("has_weights", [False, True])
def test_the_temperature_is_the_best_of_a_grid(seed, has_weights):
    shares, y, rng = problem(seed)
    weight = rng.random(len(y)) if has_weights else None
    found = fit_temperature(shares, y, weight)
    grid = np.geomspace(0.1, 10, 2000)
    losses = []
    for temperature in grid:
        powers = (shares + found["floor"]) ** (1 / temperature)
        right = (powers / powers.sum(axis=1, keepdims=True))[np.arange(len(y)), y]
        losses.append(np.average(-np.log(right), weights=weight))
    assert found["temperature"] == pytest.approx(grid[np.argmin(losses)], rel=0.005)


def test_weights_are_repetitions():
    shares, y, rng = problem(7)
    counts = rng.integers(0, 4, len(y))
    assert fit_temperature(shares, y, counts) == fit_temperature(shares.repeat(counts, axis=0), y.repeat(counts))


def test_temperatures_have_ends_and_many_classes_a_lower_floor():
    sure = np.eye(3)[[0, 1, 2]]
    assert fit_temperature(sure, np.array([0, 1, 2]))["temperature"] == 0.1
    assert fit_temperature(sure, np.array([1, 2, 0]))["temperature"] == 10
    assert fit_temperature(np.full((4, 200), 1 / 200), np.arange(4))["floor"] == pytest.approx(0.05 / 200)


@KINDS
def test_probabilities_are_better_and_classes_are_what_they_were(forest):
    plain = clone(forest).set_params(oob_score=True).fit(X[TRAIN], Y[TRAIN])
    model = clone(forest).set_params(oob_score=True, calibration="oob").fit(X[TRAIN], Y[TRAIN])
    shares, found = plain.predict_proba(X[TEST]), model.predict_proba(X[TEST])
    assert 0.1 <= model.calibration_["temperature"] < 0.7 and not hasattr(plain, "calibration_")
    assert_array_equal(found, calibrated(shares, model.calibration_))
    assert_array_equal(model.predict_log_proba(X[TEST]), np.log(found))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert log_loss(Y[TEST], found) < 0.6 * log_loss(Y[TEST], shares)
    assert_array_equal(model.predict(X[TEST]), plain.predict(X[TEST]))
    assert_array_equal(model.oob_decision_function_, calibrated(plain.oob_decision_function_, model.calibration_))
    for name in ("oob_score_", "oob_error_", "oob_curve_"):
        assert_array_equal(getattr(model, name), getattr(plain, name))


def test_out_of_bag_scores_are_those_of_calibrated_probabilities():
    wine, kind = load_wine(return_X_y=True)
    forest = RandomForestClassifier(100, oob_score="neg_log_loss", random_state=0)
    plain, model = (clone(forest).set_params(calibration=chosen).fit(wine, kind) for chosen in (None, "oob"))
    assert model.oob_score_ > plain.oob_score_ + 0.02
    scored = model.oob_importance(wine, kind, scoring="neg_log_loss", n_repeats=1, random_state=0)
    assert abs(scored.importances_mean - plain.oob_importance(wine, kind, scoring="neg_log_loss", n_repeats=1, random_state=0)
               .importances_mean).max() > 0  # fmt: skip
    watched = clone(model).set_callbacks(OutOfBagPlateau(rounds=100)).fit(wine, kind)  # whose votes are counted tree by tree
    assert watched.calibration_ == model.calibration_


def test_trees_that_are_added_calibrate_anew():
    forest = RandomForestClassifier(20, calibration="oob", warm_start=True, random_state=0).fit(X[TRAIN], Y[TRAIN])
    before = forest.calibration_
    forest.set_params(n_estimators=60).fit(X[TRAIN], Y[TRAIN])
    whole = RandomForestClassifier(60, calibration="oob", random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert forest.calibration_ == whole.calibration_ != before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no trees are added
        forest.set_params(calibration=None).fit(X[TRAIN], Y[TRAIN])
    assert not hasattr(forest, "calibration_")


def test_rows_count_by_their_weights_and_those_of_their_classes():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((600, 4))
    rare = (rows[:, 0] + rng.standard_normal(600) > 1.6).astype(int)
    weight = np.where(rare, 0.5 / rare.mean(), 0.5 / (1 - rare.mean()))
    found = [
        RandomForestClassifier(100, calibration="oob", random_state=0, class_weight=balance)
        .fit(rows, rare, given)
        .calibration_["temperature"]
        for balance, given in (("balanced", None), ("balanced_subsample", None), (None, weight), (None, None))
    ]
    assert found[1] == pytest.approx(found[0], rel=0.05) and found[2] == pytest.approx(found[0], rel=0.1)
    assert found[3] < 0.5 * found[0]


def test_damaged_temperatures_are_found_and_joined_forests_have_none():
    model = RandomForestClassifier(10, calibration="oob", random_state=0).fit(X[TRAIN], Y[TRAIN])
    state = model.__getstate__()
    for damaged in (None, {"temperature": -1.0, "floor": 0.001}, {"temperature": 1.0, "floor": 0.0}, {"temperature": 1.0}):
        with pytest.raises((TypeError, ValueError), match="calibration_"):
            RandomForestClassifier().__setstate__(state | {"calibration_": damaged})
    joined = dforest.combine([model, model])
    assert joined.calibration is None and not hasattr(joined, "calibration_")


def test_what_is_about_means_is_refused():
    model = RandomForestClassifier(5, calibration="oob", random_state=0).fit(X[TRAIN], Y[TRAIN])
    asked = {
        "predictor": {}, "to_c": {}, "to_onnx": {}, "to_sklearn": {}, "to_shap": {}, "to_treelite": {}, "report": {},
        "onnx_shape_calculator": {}, "shap_values": {"X": X}, "shap_interaction_values": {"X": X},
        "partial_dependence": {"X": X, "features": [0]},
    }  # fmt: skip
    for name, given in asked.items():
        with pytest.raises(ValueError, match=f'^{name} is about means over trees, .*calibration="oob".*calibration=None'):
            getattr(model, name)(**given)


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"calibration": "isotonic"}, Y[TRAIN], "'calibration' parameter of RandomForestClassifier must be"),
        ({"calibration": "oob", "bootstrap": False}, Y[TRAIN], "calibration='oob' needs bootstrap=True"),
        ({"calibration": "oob"}, np.c_[Y, Y][TRAIN], "calibration='oob', and y has 2 columns"),
    ],
)
def test_refusals(parameters, y, message):
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(5, **parameters).fit(X[TRAIN], y)
    extra = ExtraTreesClassifier(20, calibration="oob", random_state=0).fit(X[TRAIN], Y[TRAIN])  # which draw rows then
    assert extra.forest_.plans[0].leaves_rows_out
    with pytest.raises(ValueError, match="each of 2 rows is drawn by all 1 trees"):
        for seed in range(20):
            RandomForestClassifier(1, calibration="oob", random_state=seed).fit([[0.0], [1.0]], [0, 1])
