"""The nodes of trees as a data frame."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import dforest

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("family", [
    dforest.RandomForestClassifier, dforest.ExtraTreesRegressor, dforest.DecisionTreeRegressor,
    dforest.HistGradientBoostingClassifier,
])  # fmt: skip
def test_rows_walk_by_the_table(family):
    """The table alone says which leaf each row reaches, and what that predicts."""
    rng = np.random.default_rng(0)
    towns = np.array(["Bern", "Cadiz", "Delft", "Essen"])[(Y + rng.integers(0, 2, 150)) % 4]
    frame = pd.DataFrame({"town": pd.Categorical(towns)})
    frame["x"] = np.where(rng.random(150) < 0.2, np.nan, X[:, 2])
    model = family(random_state=0, max_depth=4)
    model.set_params(**{name: 3 for name in ("n_estimators", "max_iter") if name in model.get_params()}).fit(frame, Y)
    table = dforest.trees_to_dataframe(model)
    leaves = model.apply(frame).reshape(150, -1)
    assert table["tree"].nunique() == model.forest_.n_trees
    for t, nodes in table.groupby("tree"):
        nodes = nodes.set_index("node")
        for i in range(0, 150, 7):
            node, depth = 0, 0
            while not pd.isna(nodes.loc[node, "left"]):
                own, value = nodes.loc[node], frame.loc[i, nodes.loc[node, "feature"]]
                if own["categories_left"] is None:
                    goes_left = own["missing_left"] if pd.isna(value) else value <= own["threshold"]
                else:
                    assert np.isnan(own["threshold"])
                    goes_left = value in own["categories_left"]
                node, depth = own["left" if goes_left else "right"], depth + 1
                assert nodes.loc[node, "depth"] == depth
            assert node == leaves[i, t]
    if family is dforest.DecisionTreeRegressor:
        np.testing.assert_array_equal(table["value"].to_numpy()[leaves[:, 0]], model.predict(frame))
        np.testing.assert_allclose(table["gain"].sum() / 150, np.var(Y) - np.mean((model.predict(frame) - Y) ** 2))
    assert ("impurity" in table) == (family is not dforest.HistGradientBoostingClassifier)
    assert isinstance(table["value"][0], list) == (family is dforest.RandomForestClassifier)
    records = json.loads(table.to_json(orient="records"))
    assert len(records) == len(table) and records[0]["feature"] in ("town", "x")
    assert (table["feature"].value_counts().sum() == (model.forest_.feature >= 0).sum()).all()


def test_weights_of_nodes():
    weight = np.linspace(1, 3, 150)
    table = dforest.trees_to_dataframe(dforest.DecisionTreeRegressor(max_depth=2).fit(X, Y, weight))
    np.testing.assert_allclose(table["weighted_n_node_samples"][0], weight.sum())
    table = dforest.trees_to_dataframe(dforest.HistGradientBoostingRegressor(max_iter=2).fit(X, Y, weight))
    np.testing.assert_array_equal(table["weighted_n_node_samples"], table["n_node_samples"])


def test_names():
    model = dforest.DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, Y)
    assert dforest.trees_to_dataframe(model)["feature"][0] == "2"
    assert dforest.trees_to_dataframe(model, feature_names=list("abcd"))["feature"][0] == "c"
    with pytest.raises(ValueError, match="feature_names"):
        dforest.trees_to_dataframe(model, feature_names=["a"])
