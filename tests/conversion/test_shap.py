"""What `shap.TreeExplainer` takes in place of a model explains what the estimator predicts."""

from itertools import chain

import numpy as np
import pytest
import shap
from helpers.conversion import data_of, labelled, labelled_models, models, models_of_several_outputs
from sklearn.base import is_classifier

import dforest
from dforest.errors import ConversionError
from dforest.interchange.conversion import chains
from dforest.interchange.conversion import shap as conversion


def explained(estimator, rows):
    """What values add up to."""
    if hasattr(estimator, "_loss"):
        return estimator.decision_function(rows) if is_classifier(estimator) else np.squeeze(estimator._raw(rows))
    if is_classifier(estimator):
        return np.hstack(estimator.predict_proba(rows)) if estimator.n_outputs_ > 1 else estimator.predict_proba(rows)
    return estimator.predict(rows)


def assert_explains(explainer, estimator, rows, ours, tolerance, name):
    """An explainer predicts what an estimator does, and its values, and what they begin with, are ours."""
    expected = explained(estimator, rows)
    rows = rows.astype(np.float64).to_numpy() if hasattr(rows, "iloc") else rows
    assert explainer.model.predict(rows).reshape(expected.shape) == pytest.approx(expected, rel=1e-12, abs=1e-12), name
    results = ours if isinstance(ours, list) else [ours]
    values = np.concatenate([result.values.reshape(*rows.shape, -1) for result in results], axis=-1)
    found = explainer.shap_values(rows, check_additivity=False).reshape(values.shape)
    assert np.abs(found - values).max() <= tolerance * max(1.0, np.abs(values).max()), name
    base = np.concatenate([np.ravel(result.base_values) for result in results])
    assert np.ravel(explainer.expected_value) == pytest.approx(base, rel=tolerance, abs=tolerance), name


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_are_those_of_shap_values(dtype):
    """By the cover of nodes, with missing and infinite values."""
    rows = data_of(40, seed=6)[0]
    for name, estimator in chain(models(dtype, n=150), models_of_several_outputs(dtype, n=150)):
        assert_explains(shap.TreeExplainer(estimator.to_shap()), estimator, rows, estimator.shap_values(rows), 1e-11, name)


@pytest.mark.parametrize("seed", [0, 1])
def test_categories(seed):
    """Path-dependent values, those against a background, which shap computes in float32, and shap with a forest."""
    for name, estimator, frame in labelled_models(seed):
        rows, model = frame[:60], estimator.to_shap()
        assert_explains(shap.TreeExplainer(model), estimator, rows, estimator.shap_values(rows), 1e-11, name)
        explainer = shap.TreeExplainer(model, frame[:5].astype(np.float64).to_numpy())
        assert_explains(explainer, estimator, rows, estimator.shap_values(rows, frame[:5]), 1e-6, name)


def test_the_values_of_an_equal_forest():
    """As scikit-learn's forest of the same trees has them."""
    X = np.nan_to_num(data_of(dtype=np.float32)[0], posinf=9, neginf=-9)
    z = data_of()[1]
    for forest in (
        dforest.RandomForestRegressor(5, random_state=0).fit(X, z),
        dforest.RandomForestClassifier(5, class_weight="balanced", random_state=0).fit(X, z.astype(int) % 3),
    ):
        ours, theirs = (shap.TreeExplainer(model) for model in (forest.to_shap(), forest.to_sklearn()))
        assert ours.shap_values(X[:50]) == pytest.approx(theirs.shap_values(X[:50]), abs=1e-9)
        assert ours.expected_value == pytest.approx(theirs.expected_value)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("thresholds", lambda array, _: np.nextafter(array, -np.inf)),
        ("features", lambda array, _: np.where(array < 0, array, (array + 1) % 6).astype(np.int32)),
        ("children_default", lambda array, of: np.where(array == of["children_left"], of["children_right"], of["children_left"])),
        ("values", lambda array, _: np.nextafter(array, np.inf)),
    ],
)
def test_wrong_numbers_are_found(name, change, monkeypatch):
    X, z = data_of()
    tree = dforest.DecisionTreeRegressor(max_leaf_nodes=3, random_state=0).fit(X, z)
    right = conversion._tree
    monkeypatch.setattr(conversion, "_tree", lambda *args: (of := right(*args)) | {name: change(of[name], of)})
    with pytest.raises(ConversionError, match=r"the model of shap and the estimator predict differently for \d+ of \d+ rows"):
        tree.to_shap()
    tree.to_shap(verify=False)


@pytest.mark.parametrize("change", [lambda cuts: np.roll(cuts, 1), lambda cuts: cuts + 40])
def test_wrong_thresholds_of_categories_are_found(change, monkeypatch):
    X, z, _ = labelled(0)
    tree, right = dforest.DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[["many"]], z), chains._cuts
    monkeypatch.setattr(chains, "_cuts", lambda labels: change(right(labels)))
    with pytest.raises(ConversionError, match="the model of shap and the estimator predict differently"):
        tree.to_shap()


def test_the_number_of_nodes_is_limited(monkeypatch):
    X, z, _ = labelled(0)
    forest = dforest.RandomForestRegressor(3, max_depth=5, random_state=0).fit(X, z)
    n_nodes = sum(len(tree["features"]) for tree in forest.to_shap()["trees"])
    monkeypatch.setattr(chains, "_ALLOWED_TIMES", 1)
    monkeypatch.setattr(chains, "_ALLOWED_NODES", n_nodes)
    forest.to_shap()
    monkeypatch.setattr(chains, "_ALLOWED_NODES", n_nodes - 1)
    with pytest.raises(ValueError, match=rf"would become at least {n_nodes}; allowed are {n_nodes - 1}\. Grow fewer or smaller"):
        forest.to_shap()


def test_what_it_cannot_have(monkeypatch):
    X, z = data_of(categories=True)
    text = np.where(X[:, :1] > 9, "many", "few").astype(object)
    with pytest.raises(ValueError, match="column 0 holds the label 'few', and shap's trees only compare numbers.*OrdinalEncoder"):
        dforest.RandomForestRegressor(2, categorical_features=[0]).fit(text, z).to_shap()
    forest = dforest.RandomForestRegressor(2, random_state=0).fit(X, z)
    monkeypatch.setitem(__import__("sys").modules, "shap", None)
    with pytest.raises(ImportError, match=r"to_shap\(verify=True\) needs shap; install it with: pip install 'shap"):
        forest.to_shap()
