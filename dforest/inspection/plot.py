"""A picture of a single tree, drawn with matplotlib; how tests are worded is told in `dforest.inspection.export`."""

from numbers import Integral

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval, validate_params

from dforest.extras import needed
from dforest.inspection import layout
from dforest.inspection.export import (
    CUT,
    CUT_COLOUR,
    DRAWN,
    BoxText,
    Colours,
    drawn_nodes,
    names_of_classes,
    names_of_features,
    tree_to_draw,
)

LARGEST_FONT, SMALLEST_FONT = 12, 1  # points, unless asked for
READABLE_FONT, LARGEST_FIGURE = 9, 40  # points; inches
PADDING = 0.4  # between a box's text and its edge, in font sizes
COLUMN_GAP = 0.8  # between boxes side by side, in font sizes
ROW_GAP = 2.4  # between rows of boxes, in font sizes
WIDEST_STRETCH = 1.6  # of the distances between boxes where the axes have room


@validate_params(
    DRAWN | {"ax": "no_validation", "fontsize": [Interval(Integral, 1, None, closed="left"), None]},
    prefer_skip_nested_validation=True,
)
def plot_tree(
    decision_tree,
    *,
    max_depth=None,
    feature_names=None,
    class_names=None,
    label="all",
    filled=True,
    impurity=True,
    node_ids=False,
    proportion=False,
    rounded=False,
    precision=3,
    ax=None,
    fontsize=None,
):
    """Draw a tree with matplotlib, in the manner of ``sklearn.tree.plot_tree``.

    Unlike there, boxes are coloured by default and name their class, and a new figure is as large as the tree needs.

    Rows for which a node's test is true go left. A test of categories reads ``name in {a, b}`` or
    ``name not in {a, b}``; missing values, and labels that did not occur in the node in training, belong to
    ``not in``.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree, such as one of the `estimators_` of a forest or of a boosted model.
    max_depth : int, default=None
        Deepest level of nodes that is drawn, from 0 on; a box "(...)" stands for what is below. None means all levels.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. None means `feature_names_in_` of the tree; if it has none, "x[0]", "x[1]", ...
    class_names : array-like of shape (n_classes,) or bool, default=None
        Names of the classes, in the order of `classes_`; for several outputs, a list of such. None means the labels in
        `classes_`, True means "y[0]", "y[1]", ..., and False means that no class is named.
    label : {"all", "root", "none"}, default="all"
        Which boxes have labels that say what the numbers in them are.
    filled : bool, default=True
        Whether boxes are coloured. For classification, the class of most weight gives the hue, which is paler where its
        lead over the second one is smaller; for regression, larger values give a stronger colour; for several outputs, smaller
        impurities do, which boosted trees lack.
    impurity : bool, default=True
        Whether to show impurities.
    node_ids : bool, default=False
        Whether to show the numbers of nodes, as the tree's method `apply` returns them.
    proportion : bool, default=False
        Whether to show shares instead of numbers of samples and weights of classes.
    rounded : bool, default=False
        Whether boxes have round corners.
    precision : int, default=3
        Number of decimals of thresholds, impurities and values.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on, which are cleared first. None means the current axes or, if there is no figure, those of a new one that
        has room for the tree in letters of 9 points, up to 40 inches wide or high.
    fontsize : int, default=None
        Size of the font in points. None means the largest that fits the axes.

    Returns
    -------
    list of matplotlib.text.Annotation
        The boxes in preorder, and after each child of the root the word at its edge, "True" or "False".

    Raises
    ------
    ImportError
        If matplotlib is not installed: the extra ``dforest[plot]`` has it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier, plot_tree
    >>> X, y = load_iris(return_X_y=True)
    >>> boxes = plot_tree(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y), filled=True)
    """
    decision_tree = tree_to_draw(decision_tree)
    pyplot = needed("matplotlib.pyplot", "plot", "plot_tree")
    if class_names is None and is_classifier(decision_tree):
        class_names = decision_tree.classes_
    box_text = BoxText(
        decision_tree, names_of_features(decision_tree, feature_names), names_of_classes(decision_tree, class_names),
        label, impurity, node_ids, proportion, precision,
    )  # fmt: skip
    colours = Colours(decision_tree) if filled else None
    is_new = ax is None and not pyplot.get_fignums()
    if is_new:
        ax = pyplot.figure().add_axes((0.01, 0.01, 0.98, 0.98))
    picture = TreePicture(pyplot.gca() if ax is None else ax, fontsize, rounded)
    for node, parent, depth in drawn_nodes(decision_tree.tree_, max_depth):
        if max_depth is None or depth <= max_depth:
            picture.add(node, parent, depth, box_text(node), colours and colours.of(node))
        else:
            picture.add(node, parent, depth, CUT, CUT_COLOUR)
    if is_new:
        picture.enlarge()
    return picture.draw()


def _is_dark(colour):
    """Whether black letters are hard to read on a colour; the weights are those of luma in ITU-R BT.601."""
    from matplotlib.colors import to_rgb

    return np.dot(to_rgb(colour), (0.299, 0.587, 0.114)) < 0.45


class TreePicture:
    """Boxes on axes: they are added in preorder by `add`, and then drawn by `draw`."""

    def __init__(self, ax, fontsize, rounded):
        self.ax = ax
        self.fontsize = fontsize
        self.shape = "round" if rounded else "square"
        self.boxes = {}  # by node: parent, depth, text, colour

    def add(self, node, parent, depth, text, colour):
        self.boxes[node] = parent, depth, text, colour

    def _layout(self, fontsize):
        """(heights of the boxes, their middles, heights of their rows, width and height of all), in font sizes."""
        width, height = self._measure(fontsize)
        x, total = layout.columns({node: parent for node, (parent, *_) in self.boxes.items()}, width, COLUMN_GAP)
        rows = layout.rows({node: depth for node, (_, depth, *_) in self.boxes.items()}, height)
        return height, x, rows, np.array([total, rows.sum() + ROW_GAP * (len(rows) - 1)])

    def enlarge(self):
        """Make the figure as large as the tree needs, where the axes fill it."""
        fontsize = self.fontsize or READABLE_FONT
        needed, figure = self._layout(fontsize)[-1] * fontsize / 72 / 0.96, self.ax.figure
        figure.set_size_inches(np.clip(needed, figure.get_size_inches(), LARGEST_FIGURE))

    def draw(self):
        ax = self.ax
        ax.clear()
        ax.set_axis_off()
        extent = ax.get_window_extent()
        room = np.array([extent.width, extent.height]) * 72 / ax.figure.dpi
        fontsize = self.fontsize or LARGEST_FONT
        while True:
            height, x, rows, needed = self._layout(fontsize)
            total_width, fits = needed[0], min(room / needed)
            if self.fontsize or fontsize <= max(fits, SMALLEST_FONT):
                break
            # Small letters are wider than their size says, so what fits is measured again.
            fontsize = max(0.99 * fits, SMALLEST_FONT)
        # All lengths from here on are in font sizes.
        room = room / fontsize
        stretch = min(WIDEST_STRETCH, room[0] / total_width)
        gaps = len(rows) - 1
        gap = min(2 * rows.max(), (room[1] - rows.sum()) / max(gaps, 1))
        y = (rows.sum() + gap * gaps) / 2 - (np.cumsum(rows) - rows / 2 + gap * np.arange(len(rows)))

        def place(node, up=0.0):
            """A point of a box in fractions of the axes: `up` times its height above its middle."""
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
            color=edge if colour is None else "white" if _is_dark(colour) else "black",
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
