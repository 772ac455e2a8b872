"""One tree of a report: its upper levels as a picture."""

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.transforms import Bbox

from dforest.inspection.export import CUT, BoxText, Colours, drawn_nodes
from dforest.inspection.interop import TREE_LEAF
from dforest.inspection.plot import PADDING, TreePicture
from dforest.inspection.report.markup import number, percent
from dforest.inspection.report.svg import PALETTE, SERIES, clean, shortened

LEVELS = 3  # of tests that are drawn
SIZE = 1040, 400  # in pixels, before what is empty is cut off
FONT = 8.5
CUT_COLOUR = "#d5dae0"
NAME, LABEL = 24, 18  # characters of a feature's and of a class's name


class _Text(BoxText):
    """A box's test, its share of the draws, and what it predicts."""

    def __call__(self, node):
        tree = self.tree
        lines = [] if tree.children_left[node] == TREE_LEAF else [clean(self.test(node))]
        draws = int(tree.n_node_samples[node])
        lines.append(f"{draws:,} draw" + ("s" if draws > 1 else ""))
        values = tree.value[node, 0]
        if self.class_names is None:
            lines.append(f"mean {number(values[0])}")
        else:
            most = values.argmax()
            lines.append(f"{shortened(self.class_names[most], LABEL)} {percent(values[most], 0)}")
        return "\n".join(lines)

    def _number(self, value):
        return number(value)


def paint(figure, tree, names):
    """Paint the upper levels of a fitted single tree, whose features have these names; returns the part of the sheet taken."""
    text = _Text(
        tree, [shortened(name, NAME) for name in names], list(tree.classes_) if hasattr(tree, "classes_") else None,
        "none", False, False, False, 3, "≤",
    )  # fmt: skip
    colours = Colours(tree)
    if len(colours.full) <= len(SERIES):  # the colours of other pictures, but pale enough for text
        colours.full = 0.6 * np.array([to_rgb(PALETTE[name]) for name in SERIES[: len(colours.full)]]) + 0.4
    ax = figure.add_axes((0, 0, 1, 1))
    picture = TreePicture(ax, FONT, True)
    for node, parent, depth in drawn_nodes(tree.tree_, LEVELS - 1):
        if depth < LEVELS:
            picture.add(node, parent, depth, text(node), colours.of(node))
        else:
            picture.add(node, parent, depth, CUT, CUT_COLOUR)
    boxes = Bbox.union([box.get_window_extent() for box in picture.draw()])
    return boxes.padded(PADDING * FONT * figure.dpi / 72 + 2).transformed(figure.dpi_scale_trans.inverted())
