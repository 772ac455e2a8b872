"""Out-of-bag estimates and permutation importance on a device: the CPU's numbers, to the bit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

import dforest
from dforest.engines.device import out_of_bag

ATTRIBUTES = [
    "oob_score_", "oob_error_", "oob_error_per_observation_", "oob_curve_", "n_never_oob_", "variable_importance_",
    "variable_importance_std_",
]  # fmt: skip


def assert_same(estimator, X, y, where, weight=None):
    estimator = clone(estimator).set_params(oob_score=True, variable_importance="mda_raw", random_state=0)
    here = clone(estimator).fit(X, y, weight)
    there = clone(estimator).set_params(device=where).fit(X, y, weight)
    kind = "oob_decision_function_" if hasattr(here, "classes_") else "oob_prediction_"
    for name in [*ATTRIBUTES, kind]:
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name), err_msg=name)
    expected = here.oob_importance(X, y, weight).importances
    np.testing.assert_array_equal(there.oob_importance(X, y, weight).importances, expected)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_items", [1, 16])
@pytest.mark.parametrize("n_estimators", [1, 25])
def test_same_numbers(where, tuning, n_items, n_estimators):
    tuning["n_items"] = n_items
    X, y = load_digits(return_X_y=True)
    assert_same(dforest.RandomForestClassifier(n_estimators, max_features=8, voting="hard"), X, y, where)
    X, y = load_diabetes(return_X_y=True)
    assert_same(dforest.RandomForestRegressor(n_estimators), X.astype(np.float32), y, where)
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 0] = rng.integers(0, 5, len(X))
    weight = rng.random(len(X)) * (rng.random(len(X)) < 0.9)
    forest = dforest.RandomForestClassifier(n_estimators, categorical_features=[0], class_weight="balanced")
    assert_same(forest, X, y, where, weight)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_trees_in_parts_and_rows_of_several_blocks(where, monkeypatch):
    monkeypatch.setattr(out_of_bag, "PART_BYTES", 4 * 9000 * 3)
    X = np.random.default_rng(0).random((9000, 3))
    assert_same(dforest.RandomForestRegressor(8, max_depth=4, max_samples=0.7), X, X[:, 0] * X[:, 1], where)
    assert_same(dforest.RandomForestClassifier(8, max_depth=4), X, X[:, 0] > X[:, 1], where)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_items", [1, 16])
def test_targets_of_very_different_sizes(where, tuning, n_items):
    tuning["n_items"] = n_items
    X, y = load_diabetes(return_X_y=True)
    for outlier in (1e12, -1e100):
        y[::100] = outlier
        assert_same(dforest.RandomForestRegressor(3), X, y, where, np.arange(len(X)) + 1.0)
    here = dforest.RandomForestRegressor(5, oob_score=True, warm_start=True, random_state=0).fit(X, y)
    there = clone(here).set_params(device=where).fit(X, y)
    for model in (here, there):
        model.set_params(n_estimators=20).fit(X, np.sqrt(np.abs(y)) * 1e-9)
    np.testing.assert_array_equal(there.oob_curve_, here.oob_curve_)
    assert (here.oob_curve_ > 0).all()


def test_a_tree_that_draws_every_row(where):
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    forest = dforest.RandomForestClassifier(40, random_state=0).fit(X, y)
    expected = forest.oob_importance(X, y).importances
    assert np.isnan(expected).any()
    np.testing.assert_array_equal(forest.set_params(device=where).oob_importance(X, y).importances, expected)


def test_tests_of_a_splitters_own_are_refused(where, own_test):
    X, y = load_breast_cancer(return_X_y=True)
    forest = dforest.RandomForestClassifier(2, splitter=own_test, max_depth=1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"the forest's tests are those of OwnTest\(\), which is not supported on the device"):
        forest.set_params(device=where).oob_importance(X, y)
