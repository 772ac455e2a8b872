"""`path_smooth` of boosted trees, beside its formula and LightGBM; random models are compared with the naive twin elsewhere."""

import numpy as np
import pytest
from helpers.device_forests import tables
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from twins.smoothing import nodes_of_rows

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor

X, Y = load_diabetes(return_X_y=True)
ONE_TREE = {"max_iter": 1, "learning_rate": 1.0, "early_stopping": False, "defaults": "scikit-learn", "random_state": 0}


def smoothed(tree, own, n_rows, strength):
    """The values of all nodes, from the root down, by LightGBM's formula."""
    values = own.copy()
    for i in np.flatnonzero(tree.feature >= 0):
        for child in (i + 1, tree.right_child[i]):
            ratio = n_rows[child] / strength
            values[child] = own[child] * ratio / (ratio + 1) + values[i] / (ratio + 1)
    return values


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("strength", [0.5, 10, 1e6])
def test_values_are_mixed_with_those_above(loss, strength):
    model = HistGradientBoostingRegressor(loss, path_smooth=strength, **ONE_TREE).fit(X, Y)
    tree, plain = model.forest_, clone(model).set_params(path_smooth=0).fit(X, Y).forest_
    assert np.array_equal(tree.feature, plain.feature) and np.array_equal(tree.threshold, plain.threshold)
    there, rest = nodes_of_rows(tree, X), Y - tree.objective.baseline[0]
    center = np.mean if loss == "squared_error" else np.median
    own = np.array([center(rest[rows]) for rows in there])
    expected = smoothed(tree, own, there.sum(axis=1), strength)
    leaves = tree.feature < 0
    np.testing.assert_allclose(tree.leaf_value[tree.leaf_row[leaves]], expected[leaves], rtol=1e-6, atol=1e-6)
    if loss == "squared_error":  # of medians, inner nodes keep none
        np.testing.assert_allclose(tree.inner[:, 0], expected[~leaves], rtol=1e-6, atol=1e-6)
    if strength == 1e6:
        np.testing.assert_allclose(model.predict(X), expected[0] + tree.objective.baseline[0], atol=0.1)


def test_values_are_lightgbms():
    """Of columns that leave no choice of splits."""
    lightgbm = pytest.importorskip("lightgbm")
    columns = np.column_stack([X[:, 2] > 0, (X[:, 2] > 0) & (X[:, 8] > 0)]).astype(float)
    model = HistGradientBoostingRegressor(path_smooth=30, **ONE_TREE).fit(columns, Y)
    theirs = lightgbm.LGBMRegressor(n_estimators=1, learning_rate=1.0, path_smooth=30, verbose=-1).fit(columns, Y)
    assert model.forest_.feature.tolist().count(-1) == 3
    np.testing.assert_allclose(model.predict(columns), theirs.predict(columns), rtol=1e-6)


def test_several_classes_files_and_shapley_values(tmp_path):
    rows, y = load_wine(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=5, path_smooth=20, early_stopping=False, random_state=0).fit(rows, y)
    plain = clone(model).set_params(path_smooth=0).fit(rows, y)
    assert model.predict_proba(rows).max() < plain.predict_proba(rows).max()
    values = model.shap_values(rows)
    np.testing.assert_allclose(values.values.sum(axis=1) + values.base_values, model.decision_function(rows), atol=1e-9)
    model.save(tmp_path / "model")
    model.to_onnx()
    half = clone(model).set_params(max_iter=2, warm_start=True).fit(rows, y).set_params(max_iter=5).fit(rows, y)
    assert tables(half.forest_) == tables(model.forest_)


@pytest.mark.parametrize("wrong", [-1.0, np.inf, None, "auto"])
def test_what_is_no_number_from_0_is_refused(wrong):
    with pytest.raises(ValueError, match="'path_smooth' parameter of HistGradientBoostingRegressor must be a float in the range"):
        HistGradientBoostingRegressor(path_smooth=wrong).fit(X, Y)
