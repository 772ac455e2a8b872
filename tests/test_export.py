"""Trees for Graphviz: scikit-learn's text where the trees are the same, and tests of labels, which its function can't draw."""

import io
import re

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    export_graphviz,
    export_text,
    plot_tree,
    trees_to_dataframe,
)

NAMES = ["a", 'the "b"', "c\\d", "e <= f"]


def fitted(ours=DecisionTreeClassifier, theirs=sklearn.tree.DecisionTreeClassifier, several=False, **parameters):
    """A tree of dforest and one of scikit-learn, both fitted to the same data; of two outputs if `several` is True."""
    X = np.random.default_rng(0).standard_normal((500, 4)).astype(np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 2]
    if theirs is sklearn.tree.DecisionTreeClassifier:
        y = np.digitize(y, [-0.6, 0.7])
    if several:
        y = np.stack([y, np.where(X[:, 3] > 0, y, y[::-1])], axis=1)
    parameters = {"max_depth": 3, "random_state": 0, "min_samples_leaf": 5, **parameters}
    return ours(method="dense", **parameters).fit(X, y), theirs(**parameters).fit(X, y)


def with_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": pd.Categorical(np.array(["Aachen", "Bern", "Cadiz", "Oslo"])[rng.integers(0, 4, 200)])})
    frame["area"] = rng.standard_normal(200)
    y = frame["city"].isin(["Aachen", "Oslo"]) + 0.1 * (frame["area"] > 0)
    return DecisionTreeRegressor(max_depth=2, random_state=0).fit(frame, y), frame


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"feature_names": ["a", "b", "c", "d"]},
        {"class_names": True, "node_ids": True},
        {"class_names": ["x", "y", "z"], "label": "root"},
        {"label": "none", "impurity": False, "precision": 1},
        {"rotate": True, "leaves_parallel": True},
        {"max_depth": 1, "rounded": True, "fontname": "courier"},
    ],
    ids=str,
)
def test_the_peers_drawing(settings):
    for kinds in ((), (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor)):
        ours, theirs = fitted(*kinds)
        expected = sklearn.tree.export_graphviz(theirs, **settings)
        if not kinds:  # the peer rounds some numbers of rows to 126.0
            expected = re.sub(r"(\d)\.0([,\]])", r"\1\2", expected)
        assert export_graphviz(ours, **settings) == expected


@pytest.mark.parametrize("settings", [{}, {"filled": True, "impurity": False}, {"label": "none", "max_depth": 1}], ids=str)
def test_the_peers_drawing_of_several_outputs(settings):
    for kinds in ((), (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor)):
        ours, theirs = fitted(*kinds, several=True)
        expected = sklearn.tree.export_graphviz(theirs, **settings)
        if not kinds:
            expected = re.sub(r"(\d)\.0([,\]])", r"\1\2", expected)
        found = export_graphviz(ours, **settings)
        if "filled" in settings:  # other hues and roundings of the same strength
            found, expected = (re.sub(r'fillcolor="#\w+"', "", text) for text in (found, expected))
        assert found == expected


def test_names_seen_in_fit():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = DecisionTreeRegressor(max_depth=1, random_state=0).fit(X, y)
    name = model.feature_names_in_[model.tree_.feature[0]]
    assert f'0 [label="{name} <= ' in export_graphviz(model)
    assert export_text(model).startswith(f"|--- {name} <= ")
    assert plot_tree(model)[0].get_text().startswith(f"{name} <= ")
    assert '0 [label="x[' in export_graphviz(model, feature_names=[f"x[{j}]" for j in range(10)])
    forest = RandomForestClassifier(2, random_state=0, max_depth=1).fit(X, y > 100)
    assert 'label="x[' not in export_graphviz(forest.estimators_[0])


def test_what_must_be_quoted():
    tree, _ = fitted()
    text = export_graphviz(tree, feature_names=[NAMES[2]] * 2 + [NAMES[1]] * 2, class_names=['"', "\\", "z"])
    labels = re.findall(r'label="((?:[^"\\]|\\.)*)"', text)
    assert len(re.findall("label=", text)) == len(labels) == tree.tree_.node_count + 2
    assert any(label.startswith('the \\"b\\" <= ') for label in labels)
    assert any(label.endswith('class = \\"') for label in labels) and any(label.endswith("class = \\\\") for label in labels)


def test_where_it_is_written(tmp_path):
    tree, _ = fitted()
    text = export_graphviz(tree, special_characters=True)
    assert " ≤ " in text and "<=" not in text
    assert export_graphviz(tree, str(tmp_path / "tree.dot"), special_characters=True) is None
    assert (tmp_path / "tree.dot").read_text(encoding="utf-8") == text
    out = io.StringIO()
    assert export_graphviz(tree, out, special_characters=True) is None
    assert out.getvalue() == text


def test_colours():
    tree, _ = fitted()
    colours = re.findall('fillcolor="(.*?)"', export_graphviz(tree, filled=True))
    boxes = plot_tree(tree, filled=True)
    shown = [box.get_bbox_patch().get_facecolor()[:3] for box in boxes if box.get_bbox_patch() and "gini" in box.get_text()]
    assert colours == ["#" + "".join(f"{round(255 * part):02x}" for part in colour) for colour in shown]
    assert len(set(colours)) > 3


def test_tests_of_labels():
    tree, _ = with_categories()
    text = export_graphviz(tree)
    assert 'label="city not in {Aachen, Oslo}' in text or 'label="city in {Aachen, Oslo}' in text or "{Bern, Cadiz}" in text
    assert "nan" not in text


def test_the_peers_function_refuses_tests_of_labels():
    tree, _ = with_categories()
    with pytest.raises(ValueError, match="node 0 has no threshold: it tests categories .*; dforest.export_graphviz"):
        sklearn.tree.export_graphviz(tree)
    thresholds = tree.tree_.threshold
    assert np.isnan(thresholds).any() and not thresholds.flags.writeable
    np.testing.assert_array_equal(np.asarray(thresholds), np.where(tree.tree_.feature < 0, -2, tree.forest_.threshold))
    for node in np.flatnonzero(~np.isnan(thresholds)):
        assert thresholds[node] in (-2, tree.forest_.threshold[node])
    ordinary, _ = fitted()
    assert type(ordinary.tree_.threshold) is np.ndarray
    assert sklearn.tree.export_graphviz(ordinary)


@pytest.mark.parametrize("draw", [export_graphviz, export_text, plot_tree])
def test_models_of_many_trees_are_told_where_a_tree_is(draw):
    X, y = load_diabetes(return_X_y=True)
    for model, place in ((RandomForestClassifier(2), "[0]"), (HistGradientBoostingRegressor(max_iter=2), "[0, 0]")):
        model.fit(X, y > 100)
        message = f"decision_tree is a {type(model).__name__}; .*: model.estimators_{re.escape(place)}$"
        with pytest.raises(ValueError, match=message):
            draw(model)
        assert draw(eval(f"model.estimators_{place}"))


def test_bad_arguments():
    tree, peer = fitted()
    with pytest.raises(ValueError, match="feature_names must contain 4 elements, got 2"):
        export_graphviz(tree, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="class_names must contain 3 elements, got 1"):
        export_graphviz(tree, class_names=["a"])
    with pytest.raises(ValueError, match="decision_tree is a DecisionTreeClassifier; allowed is a single tree of dforest$"):
        export_graphviz(peer)
    with pytest.raises(ValueError, match="'out_file' parameter"):
        export_graphviz(tree, 3)
    with pytest.raises(NotFittedError):
        export_graphviz(DecisionTreeClassifier())


def test_a_text_is_no_list_of_names():
    """Its letters were taken for names."""
    X = np.arange(60.0).reshape(20, 3)
    forest = DecisionTreeRegressor(random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="feature_names='xyz'; allowed is a list of 3 names"):
        trees_to_dataframe(forest, feature_names="xyz")
