"""A single tree for people to read: as text, and as a drawing for Graphviz; what pictures of trees have in common.

`export_text`, `export_graphviz` and, in `dforest.inspection.plot`, `plot_tree` stand in for scikit-learn's functions of these
names, which know nothing of tests of categories. How a test of a node is worded:

- numbers and ordinal levels: ``name <= 1.50`` and ``name >  1.50``, with the level's label for its number;
- categories: ``name in {a, b}`` and ``name not in {a, b}``. Missing values, and labels that did not occur
  at the node in training, are always on the side of ``not in``;
- a test of a splitter's own: what its `describe` says, or ``own test of {name, name}``; for rows that go right,
  ``not:`` comes before it.

Where missing values of a number go is not shown; ``tree_.missing_go_to_left`` tells it.
"""

from colorsys import hsv_to_rgb
from numbers import Integral
from pathlib import Path
from textwrap import fill

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions, validate_params
from sklearn.utils.validation import check_is_fitted

from dforest.estimators.kinds import BoostedTrees, DecisionTree, Forest
from dforest.estimators.one_fit import as_fitted
from dforest.inspection.interop import TREE_LEAF

CUT = "(...)"  # stands in place of a subtree
CUT_COLOUR = "lightgrey"
MAX_LABELS, MAX_LABELS_IN_BOX = 60, 30  # characters of a list of categories, or of features
MAX_LABEL = 30  # characters of one label or name in such a list
MAX_VALUES = 36  # characters of a line of class weights

NOT_NEGATIVE = Interval(Integral, 0, None, closed="left")
DRAWN = {  # what parameters of drawings may be
    "decision_tree": "no_validation",
    "max_depth": [NOT_NEGATIVE, None],
    "feature_names": ["array-like", None],
    "class_names": ["array-like", "boolean", None],
    "label": [StrOptions({"all", "root", "none"})],
    "precision": [NOT_NEGATIVE],
    **dict.fromkeys(("filled", "impurity", "node_ids", "proportion", "rounded"), ["boolean"]),
}


def tree_to_draw(decision_tree):
    """A single tree as it is fitted now (see `as_fitted`). Raises an error if this is none, or is not fitted."""
    if not isinstance(decision_tree, DecisionTree):
        message = f"decision_tree is a {type(decision_tree).__name__}; allowed is a single tree of dforest"
        for kind, place in ((Forest, "0"), (BoostedTrees, "0, 0")):
            if isinstance(decision_tree, kind):
                message += f", such as the first one of this model: model.estimators_[{place}]"
        raise ValueError(message)
    decision_tree = as_fitted(decision_tree)
    check_is_fitted(decision_tree)
    return decision_tree


def _check_names(names, n, what):
    """A list of n names as strings, or None."""
    if names is None:
        return None
    if isinstance(names, str):
        raise ValueError(f"{what}={names!r}; allowed is a list of {n} names")
    names = [str(name) for name in names]
    if len(names) != n:
        raise ValueError(f"{what} must contain {n} elements, got {len(names)}")
    return names


def names_of_features(decision_tree, given, pattern="x[{}]"):
    """Names of the features: as given; if none are given, as seen in `fit`; if there were none, made from their numbers."""
    n = decision_tree.n_features_in_
    if given is None:
        given = getattr(decision_tree, "feature_names_in_", None)
    return _check_names(given, n, "feature_names") or [pattern.format(j) for j in range(n)]


def names_of_classes(decision_tree, given):
    """Names of the classes of each output, given them as lists for several outputs; None if no class is named."""
    counts = decision_tree.tree_.n_classes.tolist()
    if given is None or given is False or not is_classifier(decision_tree):
        return None
    if given is True:
        return [[f"y[{k}]" for k in range(n)] for n in counts]
    if len(counts) == 1:
        return [_check_names(given, counts[0], "class_names")]
    if len(given) != len(counts) or any(isinstance(names, str) or not hasattr(names, "__len__") for names in given):
        raise ValueError(f"class_names={given!r}; allowed for {len(counts)} outputs are as many lists of names")
    return [_check_names(names, n, f"class_names[{o}]") for o, (names, n) in enumerate(zip(given, counts, strict=True))]


def _class_text(names, shares):
    """The name of the class of most weight; of several outputs a list of them.

    Parameters
    ----------
    names : list of list of str
        Of the classes of each output.
    shares : ndarray of shape (n_outputs, max_n_classes)
    """
    return _in_brackets([own[k] for own, k in zip(names, shares.argmax(axis=1).tolist(), strict=True)], len(names) > 1)


def _in_brackets(texts, has_several, join=", "):
    """A list of texts; the only one of them by itself, unless there may be several."""
    return f"[{join.join(texts)}]" if has_several else texts[0]


def drawn_nodes(tree, max_depth):
    """The nodes of a picture in preorder: (node, its parent or -1, its depth). One level below `max_depth` is cut off."""
    depth = tree.compute_node_depths() - 1
    parent = np.full(tree.node_count, -1)
    for children in (tree.children_left, tree.children_right):
        inner = np.flatnonzero(children != TREE_LEAF)
        parent[children[inner]] = inner
    drawn = depth <= (tree.max_depth if max_depth is None else max_depth + 1)
    return [(int(node), int(parent[node]), int(depth[node])) for node in np.flatnonzero(drawn)]


def _one_line(label):
    label = " ".join(str(label).split())
    return label if len(label) <= MAX_LABEL else label[: MAX_LABEL - 3] + "..."


def _set_text(labels, most):
    """A list of labels as text, {a, b, c}; of a long one, the beginning and how many more there are."""
    shown = [_one_line(label) for label in labels]
    lengths = np.cumsum([len(label) + 2 for label in shown])
    n = max(1, int((lengths <= most).sum()))
    if n < len(shown):
        shown = [*shown[:n], f"... {len(shown) - n} more"]
    return "{" + ", ".join(shown) + "}"


def _labels(decision_tree, feature):
    """The labels that the numbers in a feature's tests stand for; None if the feature holds numbers."""
    return decision_tree.categories_[feature]


def _own_test_text(forest, node, names, max_names):
    """What a splitter says of its own test at a node of a forest of one tree."""
    payload = forest.payload_of(node)
    text = forest.splitter.describe(payload, names)
    if text is None:
        features, _ = forest.splitter.used_features(payload) or ([forest.feature[node]], None)
        text = "own test of " + _set_text([names[feature] for feature in features], max_names)
    return " ".join(text.split())


def _test_text(decision_tree, node, names, number, max_labels, at_most="<="):
    """What is true of rows that go left at a node, and of those that go right.

    Parameters
    ----------
    decision_tree : DecisionTree
    node : int
    names : list of str
        Names of the features.
    number : callable
        Makes a string of a threshold.
    max_labels : int
        Most characters of a list of categories, or of features.
    at_most : str
        The sign between a feature and its threshold.
    """
    tree, forest = decision_tree.tree_, decision_tree.forest_
    if forest.splitter is not None:
        text = _own_test_text(forest, node, names, max_labels)
        return text, f"not: {text}"
    name = names[tree.feature[node]]
    labels = _labels(decision_tree, tree.feature[node])
    left = tree.categories_left(node)
    if left is None:
        threshold = tree.threshold[node]
        level = labels is not None and np.isfinite(threshold)
        shown = _one_line(labels[int(threshold)]) if level else number(threshold)
        return f"{name} {at_most} {shown}", f"{name} >  {shown}"
    missing_left = bool(tree.missing_go_to_left[node])
    inside = np.isin(np.arange(len(labels)), left) != missing_left
    categories = _set_text([label for label, is_inside in zip(labels, inside, strict=True) if is_inside], max_labels)
    texts = f"{name} in {categories}", f"{name} not in {categories}"
    return texts[::-1] if missing_left else texts


@validate_params(
    {
        "decision_tree": "no_validation",
        "feature_names": ["array-like", None],
        "class_names": ["array-like", None],
        "max_depth": [NOT_NEGATIVE],
        "spacing": [Interval(Integral, 1, None, closed="left")],
        "decimals": [NOT_NEGATIVE],
        "show_weights": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def export_text(decision_tree, *, feature_names=None, class_names=None, max_depth=10, spacing=3, decimals=2, show_weights=False):
    """Return the rules of a tree as text, in the form of ``sklearn.tree.export_text``.

    A test of categories reads ``name in {a, b}`` and ``name not in {a, b}``; missing values, and labels that did not occur in
    the node in training, belong to ``not in``.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree, such as one of the `estimators_` of a forest or of a boosted model.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. None means `feature_names_in_` of the tree; if it has none, "feature_0", "feature_1", ...
    class_names : array-like of shape (n_classes,), default=None
        Names of the classes, in the order of `classes_`; for several outputs, a list of such. None means `classes_`.
    max_depth : int, default=10
        Deepest level of tests that is shown, from 0 on. Of a subtree below it, only the depth is shown.
    spacing : int, default=3
        Number of characters, from 1 on, by which each level is indented.
    decimals : int, default=2
        Number of decimals of thresholds, weights and values.
    show_weights : bool, default=False
        Whether to show the weight of each class in a leaf, for classification.

    Returns
    -------
    str
        The rules, a line for each test and each leaf.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier, export_text
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> print(export_text(tree, feature_names=["a", "b", "c", "d"]), end="")
    |--- c <= 2.45
    |   |--- class: 0
    |--- c >  2.45
    |   |--- class: 1
    """
    decision_tree = tree_to_draw(decision_tree)
    tree = decision_tree.tree_
    names = names_of_features(decision_tree, feature_names, "feature_{}")
    if class_names is None and is_classifier(decision_tree):
        class_names = decision_tree.classes_
    class_names = names_of_classes(decision_tree, class_names)

    def number(value):
        return f"{value:.{decimals}f}"

    def numbers(values):
        return "[" + ", ".join(map(number, values)) + "]"

    def leaf(node):
        values = tree.value[node]
        if class_names is None:
            return " + ".join([" value: " + numbers(values[:, 0]), *_terms(decision_tree, node, names, number)])
        weights = ""
        if show_weights:
            by_output = zip(values * tree.weighted_n_node_samples[node], tree.n_classes, strict=True)
            weights = " weights: " + _in_brackets([numbers(own[:n]) for own, n in by_output], tree.n_outputs > 1)
        return f"{weights} class: {_class_text(class_names, values)}"

    heights = _heights(tree)
    lines = []
    stack = [(0, 0, None)]  # (node, its depth, the line above it)
    while stack:
        node, depth, line = stack.pop()
        if line is not None:
            lines.append(("|" + " " * spacing) * (depth - 1) + "|" + "-" * spacing + " " + line)
        begin = ("|" + " " * spacing) * depth + "|" + "-" * spacing
        if tree.children_left[node] == TREE_LEAF:
            lines.append(begin + leaf(node))
        elif depth > max_depth:
            lines.append(f"{begin} truncated branch of depth {heights[node]}")
        else:
            left, right = _test_text(decision_tree, node, names, number, MAX_LABELS)
            stack.append((tree.children_right[node], depth + 1, right))
            stack.append((tree.children_left[node], depth + 1, left))
    return "\n".join(lines) + "\n"


def _terms(decision_tree, node, names, number):
    """What a linear leaf adds beside its value, as text, a term for each feature; other nodes and leaves have none."""
    forest = decision_tree.forest_
    if not forest.objective.line_tables or forest.feature[node] >= 0:
        return []
    row = forest.leaf_row[node]
    found = zip(forest.leaf_features[row].tolist(), forest.leaf_centers[row], forest.leaf_slopes[row], strict=True)
    return [f"{number(slope)} * ({names[j]} - {number(centre)})" for j, centre, slope in found if j >= 0]


def _heights(tree):
    """The number of levels of each node's subtree, which is 1 for a leaf."""
    heights = np.ones(tree.node_count, np.int64)
    for node in np.flatnonzero(tree.children_left != TREE_LEAF)[::-1]:
        heights[node] = 1 + max(heights[tree.children_left[node]], heights[tree.children_right[node]])
    return heights


class BoxText:
    """The text of boxes: an object that is called with the number of a node."""

    def __init__(self, decision_tree, names, class_names, label, impurity, node_ids, proportion, precision, at_most="<="):
        self.decision_tree = decision_tree
        self.tree = decision_tree.tree_
        self.names = names
        self.class_names = class_names
        self.label = label
        self.impurity = impurity and not decision_tree.forest_.objective.keeps_gains
        self.node_ids = node_ids
        self.proportion = proportion
        self.precision = precision
        self.at_most = at_most

    def __call__(self, node):
        tree = self.tree
        lines = []

        def add(label, text, join=" = "):
            labelled = self.label == "all" or (self.label == "root" and node == 0)
            lines.append(label + join + text if labelled else text)

        if self.node_ids:
            add("node", f"#{node}", " ")
        if tree.children_left[node] != TREE_LEAF:
            lines.append(self.test(node))
        if self.impurity:
            criterion = self.decision_tree.criterion
            add(criterion if isinstance(criterion, str) else "impurity", self._number(tree.impurity[node]))
        if self.proportion:
            add("samples", f"{round(100.0 * tree.n_node_samples[node] / tree.n_node_samples[0], 1)}%")
        else:
            add("samples", str(tree.n_node_samples[node]))
        add("value", self._value(node))
        lines.extend(f"+ {term}" for term in _terms(self.decision_tree, node, self.names, self._number))
        if self.class_names is not None:
            add("class", _class_text(self.class_names, tree.value[node]))
        return "\n".join(lines)

    def test(self, node):
        """What is true of rows that go left at a node."""
        return _test_text(self.decision_tree, node, self.names, self._number, MAX_LABELS_IN_BOX, self.at_most)[0]

    def _number(self, value):
        with np.errstate(over="ignore", under="ignore"):
            rounded = float(np.round(value, self.precision))
        return str(rounded if np.isfinite(rounded) else float(value))  # what is so large has no decimals

    def _value(self, node):
        tree, is_number = self.tree, not is_classifier(self.decision_tree)
        texts = [self._of_output(node, own[:n]) for own, n in zip(tree.value[node], tree.n_classes, strict=True)]
        has_several = tree.n_outputs > 1
        return _in_brackets([f"[{text}]" for text in texts] if is_number and has_several else texts, has_several, "\n")

    @np.errstate(under="ignore")
    def _of_output(self, node, values):
        """The value of one output as text."""
        if not is_classifier(self.decision_tree):
            return self._number(values[0])
        if not self.proportion:
            weight = self.tree.weighted_n_node_samples[node]
            values = values * weight
            # Shares times weight miss integers by a rounding error.
            if (np.abs(values - np.rint(values)) <= 1e-12 * weight).all():
                values = [int(value) for value in np.rint(values)]
        texts = [str(value) if isinstance(value, int) else self._number(value) for value in values]
        return fill("[" + ", ".join(texts) + "]", MAX_VALUES)


class Colours:
    """Colours of nodes, from white to a full hue: (red, green, blue), each from 0 to 1."""

    def __init__(self, decision_tree):
        tree, has_several = decision_tree.tree_, decision_tree.tree_.n_outputs > 1
        self.values = -tree.impurity[:, None] if has_several else tree.value[:, 0]
        self.by_class = is_classifier(decision_tree) and not has_several
        n_hues = self.values.shape[1]
        self.full = np.array([hsv_to_rgb((25 / 360 + k / n_hues) % 1, 0.75, 0.9) for k in range(n_hues)])
        self.low, self.high = self.values.min(), self.values.max()

    @np.errstate(under="ignore")
    def strength(self, node):
        """(the number of the hue, how much of it, from 0 to 1)."""
        value = self.values[node]
        if not self.by_class:
            span = self.high / 2 - self.low / 2
            return 0, (value[0] / 2 - self.low / 2) / span if span > 0 else 0.0
        if len(value) == 1:
            return 0, 0.0
        second, first = np.sort(value)[-2:]
        return int(value.argmax()), (first - second) / (1 - second)

    def of(self, node):
        strongest, strength = self.strength(node)
        return tuple(1 - strength * (1 - self.full[strongest]))


@validate_params(
    DRAWN
    | {"out_file": [str, None, HasMethods("write")], "fontname": [str]}
    | dict.fromkeys(("leaves_parallel", "rotate", "special_characters"), ["boolean"]),
    prefer_skip_nested_validation=True,
)
def export_graphviz(
    decision_tree,
    out_file=None,
    *,
    max_depth=None,
    feature_names=None,
    class_names=None,
    label="all",
    filled=False,
    leaves_parallel=False,
    impurity=True,
    node_ids=False,
    proportion=False,
    rotate=False,
    rounded=False,
    special_characters=False,
    precision=3,
    fontname="helvetica",
):
    """Write a tree in the DOT language, for Graphviz to draw, in the manner of ``sklearn.tree.export_graphviz``.

    The command ``dot -Tsvg tree.dot -o tree.svg`` draws a file. Rows for which a node's test is true go left. A test of
    categories reads ``name in {a, b}`` or ``name not in {a, b}``; missing values, and labels that did not occur in the node in
    training, belong to ``not in``.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree, such as one of the `estimators_` of a forest or of a boosted model.
    out_file : str, object with a method `write`, or None, default=None
        Path of a file to be written in UTF-8, or an open text file. None means that the text is returned.
    max_depth : int, default=None
        Deepest level of nodes that is drawn, from 0 on; a box "(...)" stands for what is below. None means all levels.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. None means `feature_names_in_` of the tree; if it has none, "x[0]", "x[1]", ...
    class_names : array-like of shape (n_classes,) or bool, default=None
        Names of the classes, in the order of `classes_`; for several outputs, a list of such. True means "y[0]", "y[1]", ...;
        None or False means that no class is named.
    label : {"all", "root", "none"}, default="all"
        Which boxes have labels that say what the numbers in them are.
    filled : bool, default=False
        Whether boxes are coloured, as by `plot_tree`.
    leaves_parallel : bool, default=False
        Whether all leaves are drawn on one level, at the bottom.
    impurity : bool, default=True
        Whether to show impurities.
    node_ids : bool, default=False
        Whether to show the numbers of nodes, as the tree's method `apply` returns them.
    proportion : bool, default=False
        Whether to show shares instead of numbers of samples and weights of classes.
    rotate : bool, default=False
        Whether to draw from left to right instead of from top to bottom.
    rounded : bool, default=False
        Whether boxes have round corners.
    special_characters : bool, default=False
        Whether thresholds are written with the sign "≤" instead of "<=".
    precision : int, default=3
        Number of decimals of thresholds, impurities and values.
    fontname : str, default="helvetica"
        Name of the font.

    Returns
    -------
    str or None
        The text in the DOT language, if `out_file` is None; else None.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier, export_graphviz
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> print(export_graphviz(tree, feature_names=["a", "b", "c", "d"], impurity=False))
    digraph Tree {
    node [shape=box, fontname="helvetica"] ;
    edge [fontname="helvetica"] ;
    0 [label="c <= 2.45\\nsamples = 150\\nvalue = [50, 50, 50]"] ;
    1 [label="samples = 50\\nvalue = [50, 0, 0]"] ;
    0 -> 1 [labeldistance=2.5, labelangle=45, headlabel="True"] ;
    2 [label="samples = 100\\nvalue = [0, 50, 50]"] ;
    0 -> 2 [labeldistance=2.5, labelangle=-45, headlabel="False"] ;
    }
    """
    decision_tree = tree_to_draw(decision_tree)
    box_text = BoxText(
        decision_tree, names_of_features(decision_tree, feature_names), names_of_classes(decision_tree, class_names),
        label, impurity, node_ids, proportion, precision, "≤" if special_characters else "<=",
    )  # fmt: skip
    colours = Colours(decision_tree) if filled else None
    lines = _dot_head(fontname, filled, rounded, leaves_parallel, rotate)
    levels = {}  # nodes that are drawn side by side, leaves last
    angle = -45 if rotate else 45
    for node, parent, depth in drawn_nodes(decision_tree.tree_, max_depth):
        is_cut = max_depth is not None and depth > max_depth
        properties = [f'label="{CUT if is_cut else _quoted(box_text(node))}"']
        if filled:
            properties.append(f'fillcolor="{CUT_COLOUR if is_cut else _hexadecimal(colours.of(node))}"')
        lines.append(f"{node} [{', '.join(properties)}] ;")
        if not is_cut:
            is_leaf = decision_tree.tree_.children_left[node] == TREE_LEAF
            levels.setdefault((is_leaf, 0 if is_leaf else depth), []).append(str(node))
        if parent == 0 and not is_cut:
            side, turn = ("True", angle) if node == 1 else ("False", -angle)
            lines.append(f'0 -> {node} [labeldistance=2.5, labelangle={turn}, headlabel="{side}"] ;')
        elif parent >= 0:
            lines.append(f"{parent} -> {node} ;")
    if leaves_parallel:
        lines += [f"{{rank=same ; {'; '.join(nodes)}}} ;" for _, nodes in sorted(levels.items())]
    text = "\n".join([*lines, "}"])
    if out_file is None:
        return text
    if isinstance(out_file, str):
        Path(out_file).write_text(text, encoding="utf-8")
    else:
        out_file.write(text)
    return None


def _dot_head(fontname, filled, rounded, leaves_parallel, rotate):
    """The first lines of a drawing, which say how its boxes and edges look."""
    font = f'fontname="{_quoted(fontname)}"'
    styles = ["filled"] * filled + ["rounded"] * rounded
    style = f'style="{", ".join(styles)}", color="black", ' if styles else ""
    lines = ["digraph Tree {", f"node [shape=box, {style}{font}] ;"]
    if leaves_parallel:
        lines.append("graph [ranksep=equally, splines=polyline] ;")
    lines.append(f"edge [{font}] ;")
    return lines + ["rankdir=LR ;"] * rotate


def _quoted(text):
    """Text for a string of the DOT language."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _hexadecimal(colour):
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)
