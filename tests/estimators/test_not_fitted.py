"""Estimators that are not fitted say so, in scikit-learn's words, whatever is asked of them."""

import inspect
from functools import partial

import numpy as np
import pytest
from helpers.kinds import OF_TREES
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dforest

shap, skl2onnx = pytest.importorskip("shap"), pytest.importorskip("skl2onnx")

# What fits, or says something of estimators that are not fitted.
WITHOUT_FIT = {
    "fit", "fit_transform", "fit_predict", "get_params", "set_params", "get_metadata_routing", "estimate_memory", "estimator",
    "cost_complexity_pruning_path", "onnx_converter", "onnx_shape_calculator",
}  # fmt: skip
OF_NO_TARGET = {"feature_importances_", "oob_importance", "oob_local_importance"}  # an isolation forest lacks these
X, Y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2
ARGUMENTS = {"y": Y, "priorities": Y, "path": "model", "q": 0.5, "n": 1, "features": [0]}


def members(kind):
    """The names of public methods and properties, but for those that need no fit."""
    for name in dir(kind):
        if not name.startswith(("_", "set_")) and name not in WITHOUT_FIT:
            member = inspect.getattr_static(kind, name)
            if isinstance(member, property) or inspect.isroutine(member) and not isinstance(member, classmethod | staticmethod):
                if not (kind is dforest.IsolationForest and name in OF_NO_TARGET):
                    yield name


def ask(kind, name):
    """Look up what is called so, and call it, if it is a method, with what it must be given."""
    found = getattr(kind(), name)
    if inspect.isroutine(found):
        needed = [one for one in inspect.signature(found).parameters.values() if one.default is one.empty]
        result = found(*(ARGUMENTS.get(one.name, X) for one in needed if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)))
        if inspect.isgenerator(result):
            next(result)


@pytest.mark.parametrize("kind", OF_TREES.values(), ids=OF_TREES)
def test_methods_and_properties(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = list(members(kind))
    assert {"save", "apply", "to_onnx"} <= set(names)
    for name in names:
        with pytest.raises(NotFittedError):
            ask(kind, name)
            pytest.fail(f"{kind.__name__}.{name} says nothing")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", OF_TREES.values(), ids=OF_TREES)
def test_functions(kind):
    estimator, functions = kind(), [
        dforest.trees_to_dataframe,
        partial(dforest.PartialDependenceDisplay.from_estimator, X=X, features=[0]),
        partial(dforest.pipeline_to_onnx, X=X),
        partial(skl2onnx.to_onnx, X=X),
    ]  # fmt: skip
    if "DecisionTree" in kind.__name__:
        functions += [dforest.export_text, dforest.plot_tree, dforest.export_graphviz]
    if issubclass(kind, dforest.RandomForestClassifier | dforest.HistGradientBoostingRegressor):
        functions.append(dforest.ImportanceDisplay.from_estimator)
    for function in functions:
        with pytest.raises(NotFittedError):
            function(estimator)
    with pytest.raises(NotFittedError):
        dforest.pipeline_to_onnx(make_pipeline(StandardScaler().fit(X), estimator), X)
    with dforest.register_shap(), pytest.raises(NotFittedError):
        shap.TreeExplainer(estimator)
