"""Trees as text and pictures: scikit-learn's words where the trees are the same, and tests of labels."""

import io
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier as PeerClassifier
from sklearn.tree import DecisionTreeRegressor as PeerRegressor
from sklearn.tree import export_text as peer_text
from sklearn.tree import plot_tree as peer_plot

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export_text,
    plot_tree,
)
from dforest.core.forest.arrays import Forest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

PEERS = {DecisionTreeClassifier: PeerClassifier, DecisionTreeRegressor: PeerRegressor}
TREES = pytest.mark.parametrize("kind", PEERS)
NAMES = ["width", "height", "depth", "colour of the lid", "price", "x^2 + y"]
CLASSES = ["low", "middle", "high"]


@pytest.fixture(autouse=True)
def figure():
    yield
    plt.close("all")


def data_of(kind):
    random = np.random.RandomState(0)
    X = random.normal(size=(2000, 6)).astype(np.float32).astype(np.float64)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * random.normal(size=2000)
    return X, np.digitize(signal, [-0.7, 0.7]) if kind is DecisionTreeClassifier else signal


def pair(kind, weights=None, several=False, **parameters):
    """A tree of dforest's and one of scikit-learn's, grown on equal data with equal parameters; several: of two outputs."""
    X, y = data_of(kind)
    y = np.stack([y, np.where(X[:, 3] > 0, y, y[::-1])], axis=1) if several else y
    weight = None if weights is None else np.random.RandomState(1).choice(weights, len(y))
    parameters = {"max_depth": 4, "min_samples_leaf": 50, "random_state": 0, **parameters}
    return kind(method="dense", **parameters).fit(X, y, weight), PEERS[kind](**parameters).fit(X, y, weight)


def change(model, **arrays):
    """Give a tree's forest other arrays in the place of some."""
    settings = {**model.forest_.as_dict(), **model.forest_.settings(), **arrays}
    model.forest_ = Forest({name: settings.pop(name) for name in model.forest_.as_dict()}, **settings)


def labelled(missing_left=False, labels=("blue", "green", "red")):
    """A tree whose root is made to test whether feature 0 is in {0, 2}."""
    X, y = data_of(DecisionTreeRegressor)
    X[:, 0] = np.arange(len(X)) % 4
    model = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, X[:, 0] + (y > 0) / 10)
    known = {name: getattr(model.forest_, name).copy() for name in ("feature", "threshold", "missing_left")}
    assert known["feature"][0] == 0
    known["feature"][1:][known["feature"][1:] == 0] = 1
    known["threshold"][0] = np.nan
    known["missing_left"][0] = missing_left
    change(
        model, **known, n_categories=np.array([len(labels), 0, 0, 0, 0, 0], np.int32), payload_offsets=np.array([0, 1]),
        payload_words=np.array([0b101], np.uint64),
    )  # fmt: skip
    model.categories_ = [np.array(labels, object)] + [None] * 5
    return model


# Text


@TREES
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"feature_names": NAMES},
        {"feature_names": np.array(NAMES), "decimals": 0},
        {"max_depth": 0},
        {"max_depth": 2, "spacing": 1},
        {"max_depth": 3, "spacing": 5, "decimals": 4},
        {"show_weights": True},
        {"show_weights": True, "decimals": 1, "class_names": CLASSES, "feature_names": NAMES},
        {"class_names": np.array(CLASSES)},
    ],
    ids=str,
)
@pytest.mark.parametrize("weights", [None, [0.25, 1, 3]], ids=["", "weighted"])
def test_the_peers_text(kind, settings, weights):
    model, peer = pair(kind, weights)
    assert export_text(model, **settings) == peer_text(peer, **settings)


@TREES
def test_the_peers_text_of_a_root(kind):
    model, peer = pair(kind, min_samples_split=2001)
    for settings in ({}, {"max_depth": 0}, {"show_weights": True}):
        assert export_text(model, **settings) == peer_text(peer, **settings)


def test_the_peers_text_of_other_labels():
    X, y = data_of(DecisionTreeClassifier)
    for labels in (np.array(CLASSES), np.array([-5, 7, 99]), np.array([0.0, 1.0, 5.0])):
        settings = {"max_depth": 3, "min_samples_leaf": 50, "random_state": 0}
        model = DecisionTreeClassifier(method="dense", **settings).fit(X, labels[y])
        assert export_text(model) == peer_text(PeerClassifier(**settings).fit(X, labels[y]))


def test_text_of_a_deep_tree():
    X = np.arange(3000.0)[:, None]
    model = DecisionTreeClassifier(method="dense").fit(X, np.arange(3000) % 2)
    depth = model.get_depth()
    assert depth > 1000
    lines = export_text(model, max_depth=depth).splitlines()
    assert len(lines) == model.tree_.node_count + (model.tree_.node_count - model.tree_.n_leaves)
    assert f"truncated branch of depth {depth}" in export_text(model, max_depth=0)


def test_text_of_several_outputs():
    model, peer = pair(DecisionTreeRegressor, several=True)
    assert export_text(model) == peer_text(peer)
    X = [[0.0], [0.0], [1.0]]
    model = DecisionTreeClassifier().fit(X, np.array([["a", 5], ["b", 5], ["a", 7]], object), [1, 2, 0.5])
    assert export_text(model, show_weights=True, decimals=1).splitlines() == [
        "|--- feature_0 <= 0.5",
        "|   |--- weights: [[1.0, 2.0], [3.0, 0.0]] class: [b, 5]",
        "|--- feature_0 >  0.5",
        "|   |--- weights: [[0.5, 0.0], [0.0, 0.5]] class: [a, 7]",
    ]
    assert "class: [b, five]" in export_text(model, class_names=[["a", "b"], ["five", "seven"]])
    for wrong in (["a", "b"], [["a", "b"]]):
        with pytest.raises(ValueError, match="allowed for 2 outputs are as many lists of names"):
            export_text(model, class_names=wrong)
    with pytest.raises(ValueError, match=r"class_names\[1\] must contain 2 elements, got 3"):
        plot_tree(model, class_names=[["a", "b"], ["c", "d", "e"]])
    boxes = texts(plot_tree(model, impurity=False))
    assert boxes[0].endswith("samples = 3\nvalue = [[1.5, 2.0]\n[3.0, 0.5]]\nclass = [b, 5]")


def test_pictures_of_boosted_trees_of_several_outputs():
    X, y = data_of(DecisionTreeRegressor)
    model = HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=3).fit(X, np.stack([y, -y], axis=1))
    tree = model.estimators_[1, 0]
    boxes, values = texts(plot_tree(tree, precision=6)), tree.tree_.value.round(6)
    assert [text for text in boxes if "value" in text][0].endswith(f"value = [[{values[0, 0, 0]}]\n[{values[0, 1, 0]}]]")
    assert export_text(tree, decimals=6).count("value: [") == 3


def test_one_class_has_its_name():
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["only", "only"])
    assert export_text(model) == "|--- class: only\n"


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_trees_of_a_forest(kind):
    X, y = data_of(DecisionTreeClassifier)
    forest = kind(n_estimators=3, max_depth=3, random_state=0).fit(X, y)
    texts = {export_text(tree) for tree in forest.estimators_}
    assert len(texts) == 3
    for tree in forest.estimators_:
        assert len(plot_tree(tree)) == tree.tree_.node_count + 2


def test_text_of_categories():
    model = labelled()
    lines = export_text(model, feature_names=["colour", "b", "c", "d", "e", "f"]).splitlines()
    assert [line for line in lines if line.startswith("|---")] == [
        "|--- colour in {blue, red}",
        "|--- colour not in {blue, red}",
    ]
    model = labelled(missing_left=True)
    lines = export_text(model).splitlines()
    assert [line for line in lines if line.startswith("|---")] == [
        "|--- feature_0 not in {blue, red}",
        "|--- feature_0 in {blue, red}",
    ]


def test_categories_of_either_side():
    assert labelled().tree_.categories_left(0).tolist() == [0, 2]
    assert labelled(missing_left=True, labels="abcd").tree_.categories_left(0).tolist() == [1, 3]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["a\n b", "", "1" * 40], "{a b, 111111111111111111111111111...}"),
        ([1.5, 2.0, 7.0], "{1.5, 7.0}"),
        ([True, False, True], "{True, True}"),
    ],
)
def test_labels_on_one_line(labels, expected):
    assert export_text(labelled(labels=labels)).startswith(f"|--- feature_0 in {expected}\n")


def test_long_lists_of_categories_are_cut():
    model = labelled(labels=[f"category {i}" for i in range(300)])
    bits = np.zeros(320, np.uint8)
    bits[100:300] = 1
    words = np.packbits(bits, bitorder="little").view(np.uint64)
    change(model, payload_offsets=np.array([0, len(words)]), payload_words=words)
    text = "{category 100, category 101, category 102, category 103, ... 196 more}"
    assert export_text(model).startswith(f"|--- feature_0 in {text}\n")
    assert plot_tree(model)[0].get_text().startswith("x[0] in {category 100, category 101, ... 198 more}\n")


def test_text_of_levels():
    X = np.tile(np.arange(3.0), 20)[:, None]
    model = DecisionTreeRegressor(method="dense").fit(X, X[:, 0])
    change(model, threshold=np.floor(model.forest_.threshold))  # as ordinal features have them
    model.categories_ = [np.array(["small", "medium", "large"], object)]
    assert export_text(model, feature_names=["size"]).splitlines() == [
        "|--- size <= small",
        "|   |--- value: [0.00]",
        "|--- size >  small",
        "|   |--- size <= medium",
        "|   |   |--- value: [1.00]",
        "|   |--- size >  medium",
        "|   |   |--- value: [2.00]",
    ]
    X[::2] = np.nan
    X[1::2] = 1
    model = DecisionTreeRegressor(method="dense").fit(X, np.isnan(X[:, 0]))
    model.categories_ = [np.array(["small", "medium", "large"], object)]
    assert export_text(model, feature_names=["size"]).startswith("|--- size <= inf\n")


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_text_of_frames_with_labels(method):
    colour = pd.Categorical(list("abcde") * 20)
    size = pd.Categorical(["small", "medium", "large", "large"] * 25, ["small", "medium", "large"], ordered=True)
    X = pd.DataFrame({"colour": colour, "size": size})
    settings = {"method": method, "random_state": 0, "max_depth": 1}
    # Categories with the least of the commoner class, or the lowest mean, go left; missing values to the larger side.
    model = DecisionTreeClassifier(**settings).fit(X, np.isin(colour, ["b", "d"]))
    assert export_text(model, feature_names=X.columns).splitlines() == [
        "|--- colour in {b, d}",
        "|   |--- class: True",
        "|--- colour not in {b, d}",
        "|   |--- class: False",
    ]
    model = DecisionTreeRegressor(**settings).fit(X, np.isin(colour, ["b", "d"]))
    assert export_text(model, feature_names=X.columns, decimals=0).splitlines() == [
        "|--- colour not in {b, d}",
        "|   |--- value: [0]",
        "|--- colour in {b, d}",
        "|   |--- value: [1]",
    ]
    assert texts(plot_tree(model))[0].startswith("colour not in {b, d}\n")
    model = DecisionTreeClassifier(**settings).fit(X, size == "large")
    assert export_text(model, feature_names=X.columns).startswith("|--- size <= medium\n")
    forest = RandomForestClassifier(3, max_features=None, **settings).fit(X, size == "large")
    for tree in forest.estimators_:
        assert export_text(tree).startswith("|--- size <= medium\n")


# Pictures


def texts(annotations):
    return [annotation.get_text().strip() for annotation in annotations]


def whole(texts):
    """Lists like [31.0, 2.0] as [31, 2]; scikit-learn has them where share times weight is off by a bit."""
    return [re.sub(r"\[\d+\.0(, \d+\.0)*\]", lambda values: values[0].replace(".0", ""), text) for text in texts]


@TREES
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"feature_names": NAMES, "class_names": CLASSES, "filled": True},
        {"class_names": True, "label": "root", "node_ids": True},
        {"class_names": False, "label": "none", "node_ids": True, "rounded": True},
        {"proportion": True, "impurity": False},
        {"max_depth": 2, "precision": 1, "filled": True},
        {"max_depth": 0, "precision": 0},
        {"fontsize": 7},
    ],
    ids=str,
)
@pytest.mark.parametrize("weights", [None, [0.25, 1, 3]], ids=["", "weighted"])
def test_the_peers_boxes(kind, settings, weights):
    model, peer = pair(kind, weights)
    settings = {"class_names": False, "filled": False} | settings
    if not is_classifier(model):
        del settings["class_names"]
    found = plot_tree(model, **settings)
    unnamed = {"class_names": None} if settings.get("class_names") is False else {}
    expected = peer_plot(peer, ax=plt.figure().gca(), **settings | unnamed)
    assert whole(texts(found)) == whole(texts(expected))
    if "fontsize" in settings:
        assert {annotation.get_fontsize() for annotation in found} == {7}


@TREES
@pytest.mark.parametrize("settings", [{}, {"proportion": True}, {"max_depth": 1, "node_ids": True, "label": "root"}], ids=str)
def test_the_peers_boxes_of_several_outputs(kind, settings):
    model, peer = pair(kind, [0.25, 1, 3], several=True)
    expected = whole(texts(peer_plot(peer, ax=plt.figure().gca(), **settings)))
    assert whole(texts(plot_tree(model, class_names=False, **settings))) == expected
    if is_classifier(model):  # the peer names no class
        named = texts(plot_tree(model, class_names=[CLASSES, ["x", "y", "z"]], **settings))
        last = re.compile(r"\n(class = )?\[(low|middle|high), [xyz]\]$")
        assert all(last.search(text) for text in named if "\n" in text)
        assert whole([last.sub("", text) for text in named]) == expected


@TREES
@pytest.mark.parametrize("several", [False, True], ids=["", "several outputs"])
def test_the_peers_colours(kind, several):
    model, peer = pair(kind, several=several)
    found, expected = (
        [np.array(box.get_bbox_patch().get_facecolor()) for box in plot(tree, filled=True) if box.get_bbox_patch()]
        for plot, tree in ((plot_tree, model), (peer_plot, peer))
    )
    np.testing.assert_allclose(found, expected, atol=0.01)


@TREES
def test_a_picture_is_readable_by_default(kind):
    """Boxes have colours and the labels of their classes, and letters have at least nine points."""
    X, y = data_of(kind)
    y = np.array(CLASSES)[y] if kind is DecisionTreeClassifier else y
    model = kind(max_depth=4, min_samples_leaf=5, random_state=0).fit(X, y)
    boxes = [box for box in plot_tree(model) if box.get_bbox_patch()]
    assert model.tree_.n_leaves > 12 and min(box.get_fontsize() for box in boxes) >= 8.9
    assert len({box.get_bbox_patch().get_facecolor() for box in boxes}) > 8
    named = [box.get_text().rpartition("class = ")[2] for box in boxes]
    assert (set(named) == set(CLASSES)) == is_classifier(model)
    plt.gcf().canvas.draw()
    inside = plt.gcf().get_window_extent()
    for box in boxes:
        extent = box.get_bbox_patch().get_window_extent()
        assert inside.x0 <= extent.x0 and extent.x1 <= inside.x1 and inside.y0 <= extent.y0 and extent.y1 <= inside.y1
    size = plt.gcf().get_size_inches()
    plot_tree(model, max_depth=1)  # on the figure that there is
    assert len(plt.get_fignums()) == 1 and np.array_equal(plt.gcf().get_size_inches(), size)


@TREES
def test_colours_of_a_root(kind):
    X, y = data_of(kind)
    model = kind(max_depth=3).fit(X, np.zeros(len(y)))
    [box] = plot_tree(model, filled=True)
    assert box.get_bbox_patch().get_facecolor() == (1, 1, 1, 1)


@TREES
@pytest.mark.parametrize("depth", [1, 3, 4])
@pytest.mark.parametrize("size", [(6.4, 4.8), (3, 8), (20, 5)], ids=str)
def test_boxes_lie_side_by_side(kind, depth, size):
    model, _ = pair(kind, max_depth=depth, min_samples_leaf=5)
    figure, ax = plt.subplots(figsize=size)
    boxes = plot_tree(model, feature_names=NAMES, ax=ax)
    figure.canvas.draw()
    tree = model.tree_
    assert len(boxes) == tree.node_count + 2
    extents = [box.get_bbox_patch().get_window_extent() for box in boxes if box.get_bbox_patch()]
    inside = ax.get_window_extent().padded(1)
    for i, a in enumerate(extents):
        assert inside.x0 <= a.x0 and a.x1 <= inside.x1 and inside.y0 <= a.y0 and a.y1 <= inside.y1
        assert not any(a.overlaps(b) for b in extents[:i])
    depths = tree.compute_node_depths()
    for node in range(tree.node_count):
        left, right = tree.children_left[node], tree.children_right[node]
        if left >= 0:
            middle = (extents[left].x0 + extents[left].x1 + extents[right].x0 + extents[right].x1) / 4
            assert (extents[node].x0 + extents[node].x1) / 2 == pytest.approx(middle, abs=1)
            assert extents[left].x1 < extents[right].x0
            assert extents[left].y1 < extents[node].y0
        same = depths == depths[node]
        heights = [extents[i].y0 + extents[i].y1 for i in np.flatnonzero(same)]
        assert max(heights) - min(heights) < 2


@TREES
def test_a_picture_is_drawn(kind):
    model, _ = pair(kind)
    figure, axes = plt.subplots(1, 2, figsize=(12, 4))
    axes[0].plot([0, 1])
    plt.sca(axes[1])
    boxes = plot_tree(model, filled=True, rounded=True, ax=axes[0])
    assert all(box.axes is axes[0] for box in boxes)
    assert not axes[0].lines and not axes[1].texts
    assert all(box.axes is axes[1] for box in plot_tree(model))
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=100)
    file.seek(0)
    pixels = plt.imread(file)
    assert pixels.shape[:2] == (400, 1200)
    assert (pixels[:, :600, :3].std(), pixels[:, 600:, :3].std()) > (0.05, 0.05)
    figure.savefig(io.BytesIO(), format="svg")


def test_whole_weights_are_written_so():
    model, _ = pair(DecisionTreeClassifier)
    values = [text.split("value = ")[1] for text in texts(plot_tree(model, class_names=False)) if "value" in text]
    assert not any("." in value for value in values)
    assert all(sum(json.loads(value)) == n for value, n in zip(values, model.tree_.n_node_samples, strict=True))


def test_no_mathematics_in_names():
    model, _ = pair(DecisionTreeClassifier, max_depth=1)
    plot_tree(model, feature_names=["$", "price in $", "$x^$", "a_b", "$$", r"$\broken"], class_names=["$a", "b$", "$"])
    plt.gcf().canvas.draw()


def test_pictures_of_categories():
    boxes = texts(plot_tree(labelled(), feature_names=["colour", *NAMES[1:]]))
    assert boxes[0].startswith("colour in {blue, red}\n")
    boxes = texts(plot_tree(labelled(missing_left=True)))
    assert boxes[0].startswith("x[0] not in {blue, red}\n")


# Errors


@pytest.mark.parametrize("draw", [export_text, plot_tree])
def test_what_is_refused(draw):
    model, peer = pair(DecisionTreeClassifier)
    X, y = data_of(DecisionTreeClassifier)
    with pytest.raises(NotFittedError):
        draw(DecisionTreeClassifier())
    for other in (peer, RandomForestClassifier(n_estimators=1).fit(X, y), model.tree_, None):
        with pytest.raises(ValueError, match="decision_tree"):
            draw(other)
    with pytest.raises(ValueError, match="feature_names must contain 6 elements, got 1"):
        draw(model, feature_names=["a"])
    with pytest.raises(ValueError, match="class_names must contain 3 elements, got 4"):
        draw(model, class_names=["a", "b", "c", "d"])
    for wrong in ({"max_depth": -1}, {"feature_names": 1}, {"class_names": 3.5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            draw(model, **wrong)


def test_without_matplotlib(monkeypatch):
    model, _ = pair(DecisionTreeClassifier)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert export_text(model)
    with pytest.raises(ImportError, match="pip install 'matplotlib>="):
        plot_tree(model)
