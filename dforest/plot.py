"""A single tree for people to read: as text, and as a picture.

`export_text` and `plot_tree` stand in for scikit-learn's functions of these names, which take
scikit-learn's own trees only. How a test of a node is worded:

- continuous: ``name <= 1.50`` and ``name >  1.50``; ordinal levels likewise, by their labels;
- categories: ``name in {a, b}`` and ``name not in {a, b}``. Missing values, and labels that training
  didn't show at the node, are always on the side of ``not in``;
- a test of a splitter's own: what its `describe` says, or ``own test of {name, name}``; and ``not:`` with that.

Where missing values of a number go is not shown: see ``tree_.missing_go_to_left``.
"""

from itertools import zip_longest
from numbers import Integral
from textwrap import fill

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils.validation import check_is_fitted

from dforest.extras import install_command
from dforest.interop import TREE_LEAF
from dforest.tree import DecisionTree

CUT = "(...)"  # in place of a subtree
MOST_LABELS, MOST_LABELS_IN_BOX = 60, 30  # characters of a list of categories, or of features
MOST_LABEL = 30  # characters of one of them
MOST_VALUES = 36  # characters of a line of class weights

LARGEST_FONT, SMALLEST_FONT = 12, 1  # points, unless asked for
PADDING = 0.4  # between a box's text and its edge, in font sizes
COLUMN_GAP = 0.8  # between boxes side by side, in font sizes
ROW_GAP = 2.4  # between rows of boxes, in font sizes
WIDEST_STRETCH = 1.6  # of the distances between boxes where the axes have room

_NOT_NEGATIVE = Interval(Integral, 0, None, closed="left")


def _check_names(names, n, what):
    """A list of n names as strings, or None."""
    if names is None:
        return None
    names = [str(name) for name in names]
    if len(names) != n:
        raise ValueError(f"{what} must contain {n} elements, got {len(names)}")
    return names


def _one_line(label):
    label = " ".join(str(label).split())
    return label if len(label) <= MOST_LABEL else label[: MOST_LABEL - 3] + "..."


def _set_text(labels, most):
    """{a, b, c}; of a long list the beginning, and how many more there are."""
    shown = [_one_line(label) for label in labels]
    lengths = np.cumsum([len(label) + 2 for label in shown])
    n = max(1, int((lengths <= most).sum()))
    if n < len(shown):
        shown = [*shown[:n], f"... {len(shown) - n} more"]
    return "{" + ", ".join(shown) + "}"


def _labels(decision_tree, feature):
    """Labels of the numbers that a feature's tests speak of; None: it holds numbers itself."""
    return decision_tree.categories_[feature]


def _own_test_text(forest, node, names, most_names):
    """What a splitter says of its own test at a node of a forest of one tree."""
    payload = forest.payload_of(node)
    text = forest.splitter.describe(payload, names)
    if text is None:
        features, _ = forest.splitter.used_features(payload) or ([forest.feature[node]], None)
        text = "own test of " + _set_text([names[feature] for feature in features], most_names)
    return " ".join(text.split())


def _test_text(decision_tree, node, names, number, most_labels):
    """What is true of rows that go left at a node, and of those that go right.

    Parameters
    ----------
    decision_tree : DecisionTree
    node : int
    names : list of str
        Of the features.
    number : callable
        Makes a string of a threshold.
    most_labels : int
        Characters of a list of categories, or of features.
    """
    tree, forest = decision_tree.tree_, decision_tree.forest_
    if forest.splitter is not None:
        text = _own_test_text(forest, node, names, most_labels)
        return text, f"not: {text}"
    name = names[tree.feature[node]]
    labels = _labels(decision_tree, tree.feature[node])
    left = tree.categories_left(node)
    if left is None:
        threshold = tree.threshold[node]
        level = labels is not None and np.isfinite(threshold)
        shown = _one_line(labels[int(threshold)]) if level else number(threshold)
        return f"{name} <= {shown}", f"{name} >  {shown}"
    missing_left = bool(tree.missing_go_to_left[node])
    inside = np.isin(np.arange(len(labels)), left) != missing_left
    categories = _set_text([label for label, is_inside in zip(labels, inside, strict=True) if is_inside], most_labels)
    texts = f"{name} in {categories}", f"{name} not in {categories}"
    return texts[::-1] if missing_left else texts


@validate_params(
    {
        "decision_tree": [DecisionTree],
        "feature_names": ["array-like", None],
        "class_names": ["array-like", None],
        "max_depth": [_NOT_NEGATIVE],
        "spacing": [Interval(Integral, 1, None, closed="left")],
        "decimals": [_NOT_NEGATIVE],
        "show_weights": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def export_text(
    decision_tree, *, feature_names=None, class_names=None, max_depth=10, spacing=3, decimals=2, show_weights=False
):
    """The rules of a tree as text, in the form of scikit-learn's function of this name.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        Fitted; a forest's are in its `estimators_`.
    feature_names : array-like of shape (n_features,), default=None
        None: "feature_0", "feature_1", ...
    class_names : array-like of shape (n_classes,), default=None
        In the order of `classes_`. None: `classes_`.
    max_depth : int, default=10
        Deepest level of tests to be shown; of what lies below only the depth.
    spacing : int, default=3
        Width of a level.
    decimals : int, default=2
        Of thresholds, weights and values.
    show_weights : bool, default=False
        Classification: show the weight of each class in a leaf.

    Returns
    -------
    str
        Tests of categories read ``name in {a, b}`` and ``name not in {a, b}``; missing values and
        labels unknown at the node belong to the latter.

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
    check_is_fitted(decision_tree)
    tree = decision_tree.tree_
    names = _check_names(feature_names, tree.n_features, "feature_names") or [
        f"feature_{j}" for j in range(tree.n_features)
    ]
    if is_classifier(decision_tree):
        class_names = _check_names(class_names, tree.n_classes[0], "class_names") or decision_tree.classes_

    def number(value):
        return f"{value:.{decimals}f}"

    def numbers(values):
        return "[" + ", ".join(map(number, values)) + "]"

    def leaf(node):
        values = tree.value[node, 0]
        if not is_classifier(decision_tree):
            return " value: " + numbers(values)
        weights = f" weights: {numbers(values * tree.weighted_n_node_samples[node])}" if show_weights else ""
        return f"{weights} class: {class_names[values.argmax()]}"

    heights = _heights(tree)
    lines = []
    stack = [(0, 0, None)]  # node, its depth, and the line above it
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
            left, right = _test_text(decision_tree, node, names, number, MOST_LABELS)
            stack.append((tree.children_right[node], depth + 1, right))
            stack.append((tree.children_left[node], depth + 1, left))
    return "\n".join(lines) + "\n"


def _heights(tree):
    """Levels of each node's subtree; a leaf has 1."""
    heights = np.ones(tree.node_count, np.int64)
    for node in np.flatnonzero(tree.children_left != TREE_LEAF)[::-1]:
        heights[node] = 1 + max(heights[tree.children_left[node]], heights[tree.children_right[node]])
    return heights


@validate_params(
    {
        "decision_tree": [DecisionTree],
        "max_depth": [_NOT_NEGATIVE, None],
        "feature_names": ["array-like", None],
        "class_names": ["array-like", "boolean", None],
        "label": [StrOptions({"all", "root", "none"})],
        "filled": ["boolean"],
        "impurity": ["boolean"],
        "node_ids": ["boolean"],
        "proportion": ["boolean"],
        "rounded": ["boolean"],
        "precision": [_NOT_NEGATIVE],
        "ax": "no_validation",
        "fontsize": [Interval(Integral, 1, None, closed="left"), None],
    },
    prefer_skip_nested_validation=True,
)
def plot_tree(
    decision_tree,
    *,
    max_depth=None,
    feature_names=None,
    class_names=None,
    label="all",
    filled=False,
    impurity=True,
    node_ids=False,
    proportion=False,
    rounded=False,
    precision=3,
    ax=None,
    fontsize=None,
):
    """Draw a tree with matplotlib, in the manner of scikit-learn's function of this name.

    Rows of which a node's test is true go left. A test of categories reads ``name in {a, b}``, or
    ``name not in {a, b}``; missing values and labels unknown at the node are not in.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        Fitted; a forest's are in its `estimators_`.
    max_depth : int, default=None
        Deepest level of nodes to be drawn; below it a box says "(...)". None: all.
    feature_names : array-like of shape (n_features,), default=None
        None: "x[0]", "x[1]", ...
    class_names : array-like of shape (n_classes,) or bool, default=None
        In the order of `classes_`. True: "y[0]", "y[1]", ... None or False: no class is named.
    label : {"all", "root", "none"}, default="all"
        Where to say what the numbers in the boxes are.
    filled : bool, default=False
        Colour the boxes. Classification: a hue for the class of most weight, the paler the less it
        is ahead of the second; regression: the larger the value, the stronger.
    impurity : bool, default=True
        Show it.
    node_ids : bool, default=False
        Show the nodes' numbers, as `apply` returns them.
    proportion : bool, default=False
        Shares instead of numbers of samples and weights of classes.
    rounded : bool, default=False
        Boxes with round corners.
    precision : int, default=3
        Decimals of thresholds, impurities and values.
    ax : matplotlib.axes.Axes, default=None
        Cleared and drawn on. None: the current one.
    fontsize : int, default=None
        None: what fits the axes.

    Returns
    -------
    list of matplotlib.text.Annotation
        The boxes in preorder; after the root's children the words at their edges, "True" and
        "False".

    Raises
    ------
    ImportError
        If there is no matplotlib.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier, plot_tree
    >>> X, y = load_iris(return_X_y=True)
    >>> boxes = plot_tree(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y), filled=True)
    """
    check_is_fitted(decision_tree)
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(f"plot_tree needs matplotlib; install it with: {install_command('plot')}") from error
    tree = decision_tree.tree_
    names = _check_names(feature_names, tree.n_features, "feature_names") or [f"x[{j}]" for j in range(tree.n_features)]
    if class_names is True:
        class_names = [f"y[{k}]" for k in range(tree.n_classes[0])]
    elif class_names is False or not is_classifier(decision_tree):
        class_names = None
    box_text = _BoxText(
        decision_tree, names, _check_names(class_names, tree.n_classes[0], "class_names"),
        label, impurity, node_ids, proportion, precision,
    )  # fmt: skip
    colours = _Colours(decision_tree) if filled else None
    picture = _Picture(pyplot.gca() if ax is None else ax, fontsize, rounded)

    depth = tree.compute_node_depths() - 1
    parent = np.full(tree.node_count, -1)
    for children in (tree.children_left, tree.children_right):
        inner = np.flatnonzero(children != TREE_LEAF)
        parent[children[inner]] = inner
    for node in range(tree.node_count):
        if max_depth is None or depth[node] <= max_depth:
            picture.add(node, parent[node], depth[node], box_text(node), colours and colours.of(node))
        elif depth[node] == max_depth + 1:
            picture.add(node, parent[node], depth[node], CUT, "lightgrey")
    return picture.draw()


class _BoxText:
    """What is written into the boxes: call it with a node."""

    def __init__(self, decision_tree, names, class_names, label, impurity, node_ids, proportion, precision):
        self.decision_tree = decision_tree
        self.tree = decision_tree.tree_
        self.names = names
        self.class_names = class_names
        self.label = label
        self.impurity = impurity
        self.node_ids = node_ids
        self.proportion = proportion
        self.precision = precision

    def __call__(self, node):
        tree = self.tree
        lines = []

        def add(label, text, join=" = "):
            labelled = self.label == "all" or (self.label == "root" and node == 0)
            lines.append(label + join + text if labelled else text)

        if self.node_ids:
            add("node", f"#{node}", " ")
        if tree.children_left[node] != TREE_LEAF:
            lines.append(_test_text(self.decision_tree, node, self.names, self._number, MOST_LABELS_IN_BOX)[0])
        if self.impurity:
            criterion = self.decision_tree.criterion
            add(criterion if isinstance(criterion, str) else "impurity", self._number(tree.impurity[node]))
        if self.proportion:
            add("samples", f"{round(100.0 * tree.n_node_samples[node] / tree.n_node_samples[0], 1)}%")
        else:
            add("samples", str(tree.n_node_samples[node]))
        add("value", self._value(node))
        if self.class_names is not None:
            add("class", self.class_names[tree.value[node, 0].argmax()])
        return "\n".join(lines)

    def _number(self, value):
        return str(float(np.round(value, self.precision)))

    def _value(self, node):
        values = self.tree.value[node, 0]
        if not is_classifier(self.decision_tree):
            return self._number(values[0])
        if not self.proportion:
            weight = self.tree.weighted_n_node_samples[node]
            values = values * weight
            # Shares times weight miss integers by a rounding error.
            if (np.abs(values - np.rint(values)) <= 1e-12 * weight).all():
                values = [int(value) for value in np.rint(values)]
        texts = [str(value) if isinstance(value, int) else self._number(value) for value in values]
        return fill("[" + ", ".join(texts) + "]", MOST_VALUES)


class _Colours:
    """Colours of nodes, from white to a full hue."""

    def __init__(self, decision_tree):
        from matplotlib.colors import hsv_to_rgb

        self.values = decision_tree.tree_.value[:, 0]
        self.by_class = is_classifier(decision_tree)
        n_hues = self.values.shape[1]
        hues = (25 / 360 + np.arange(n_hues) / n_hues) % 1
        self.full = hsv_to_rgb(np.column_stack([hues, np.full(n_hues, 0.75), np.full(n_hues, 0.9)]))

    def of(self, node):
        value = self.values[node]
        strongest = 0
        if not self.by_class:
            low, high = self.values.min(), self.values.max()
            strength = value[0] / 2 - low / 2
            strength = strength / (high / 2 - low / 2) if high > low else 0.0
        elif len(value) == 1:
            strength = 0.0
        else:
            strongest = value.argmax()
            second, first = np.sort(value)[-2:]
            strength = (first - second) / (1 - second)
        return tuple(1 - strength * (1 - self.full[strongest]))


class _Picture:
    """Boxes on axes: `add` them in preorder, then `draw`."""

    def __init__(self, ax, fontsize, rounded):
        self.ax = ax
        self.fontsize = fontsize
        self.shape = "round" if rounded else "square"
        self.boxes = {}  # by node: parent, depth, text, colour

    def add(self, node, parent, depth, text, colour):
        self.boxes[node] = parent, depth, text, colour

    def draw(self):
        ax = self.ax
        ax.clear()
        ax.set_axis_off()
        extent = ax.get_window_extent()
        room = np.array([extent.width, extent.height]) * 72 / ax.figure.dpi
        fontsize = self.fontsize or LARGEST_FONT
        while True:
            width, height = self._measure(fontsize)
            x, total_width = self._columns(width)
            rows = self._rows(height)
            fits = min(room / (total_width, rows.sum() + ROW_GAP * (len(rows) - 1)))
            if self.fontsize or fontsize <= max(fits, SMALLEST_FONT):
                break
            # Small letters are wider than their size says, so what fits is measured again.
            fontsize = max(0.99 * fits, SMALLEST_FONT)
        # All in font sizes from here on.
        room = room / fontsize
        stretch = min(WIDEST_STRETCH, room[0] / total_width)
        gaps = len(rows) - 1
        gap = min(2 * rows.max(), (room[1] - rows.sum()) / max(gaps, 1))
        y = (rows.sum() + gap * gaps) / 2 - (np.cumsum(rows) - rows / 2 + gap * np.arange(len(rows)))

        def place(node, up=0.0):
            """Where a box is, in fractions of the axes; `up`: of its height, from its middle."""
            return 0.5 + x[node] * stretch / room[0], 0.5 + (y[self.boxes[node][1]] + up * height[node]) / room[1]

        annotations = []
        for node, (parent, _, text, colour) in self.boxes.items():
            ends = dict(xy=place(node), xytext=place(node))
            if parent >= 0:
                ends["xy"] = place(parent, -0.5)
            annotations.append(self._box(text, colour, fontsize, parent >= 0, **ends))
            if parent == 0 and text != CUT:
                is_left = node == 1
                start, end = np.array(place(0, -0.5)), np.array(place(node, 0.5))
                annotations.append(
                    ax.annotate("True  " if is_left else "  False", (start + end) / 2, xycoords="axes fraction",
                                ha="right" if is_left else "left", va="bottom", fontsize=fontsize)
                )  # fmt: skip
        return annotations

    def _box(self, text, colour, fontsize, has_parent, **ends):
        from matplotlib import rcParams

        edge = rcParams["text.color"]
        line = min(0.8, fontsize / 10)
        arrow = dict(arrowstyle="<|-", facecolor=edge, edgecolor=edge, relpos=(0.5, 1), shrinkA=0, shrinkB=0, linewidth=line)
        return self.ax.annotate(
            text,
            **ends,
            xycoords="axes fraction",
            ha="center",
            va="center",
            fontsize=fontsize,
            parse_math=False,
            color=edge if colour is None else "black",
            arrowprops=arrow if has_parent else None,
            bbox=dict(
                boxstyle=f"{self.shape},pad={PADDING}",
                facecolor=self.ax.get_facecolor() if colour is None else colour,
                edgecolor=edge,
                linewidth=line,
            ),
        )

    def _measure(self, fontsize):
        """Widths and heights of the boxes by node, in font sizes."""
        pixels = fontsize * self.ax.figure.dpi / 72
        width, height = {}, {}
        for node, (_, _, text, _) in self.boxes.items():
            drawn = self.ax.text(0, 0, text, fontsize=fontsize, parse_math=False)
            extent = drawn.get_window_extent()
            drawn.remove()
            width[node] = extent.width / pixels + 2 * PADDING
            height[node] = extent.height / pixels + 2 * PADDING
        return width, height

    def _rows(self, height):
        """Heights of the rows of boxes."""
        rows = np.zeros(1 + max(depth for _, depth, _, _ in self.boxes.values()))
        for node, (_, depth, _, _) in self.boxes.items():
            rows[depth] = max(rows[depth], height[node])
        return rows

    def _columns(self, width):
        """Middles of the boxes by node around 0, and the width of all, in font sizes.

        From the leaves up, subtrees are put side by side as close as their outlines allow, and a
        parent above the middle of its children.
        """
        children = {node: [] for node in self.boxes}
        for node, (parent, *_) in self.boxes.items():
            if parent >= 0:
                children[parent].append(node)
        outline, shift = {}, {}  # by node: (left, right) of each level, and the way from its parent
        for node in reversed(self.boxes):
            outline[node] = [(-width[node] / 2, width[node] / 2)]
            if children[node]:
                left, right = (outline.pop(child) for child in children[node])
                half = max(a[1] - b[0] + COLUMN_GAP for a, b in zip(left, right, strict=False)) / 2
                shift.update(zip(children[node], (-half, half), strict=True))
                nothing = np.inf, -np.inf
                for a, b in zip_longest(left, right, fillvalue=nothing):
                    outline[node].append((min(a[0] - half, b[0] + half), max(a[1] - half, b[1] + half)))
        low, high = min(left for left, _ in outline[0]), max(right for _, right in outline[0])
        x = {}
        for node, (parent, *_) in self.boxes.items():
            x[node] = -(low + high) / 2 if parent < 0 else x[parent] + shift[node]
        return x, high - low
