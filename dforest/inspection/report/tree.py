"""One tree of a report: its upper levels as a picture."""

import numpy as np
from sklearn.base import is_classifier

from dforest.inspection import layout
from dforest.inspection.export import CUT, BoxText, Colours, drawn_nodes
from dforest.inspection.interop import TREE_LEAF
from dforest.inspection.report.chart import SERIES, pixels, svg
from dforest.inspection.report.markup import escaped, number, percent
from dforest.inspection.report.text import clean, shortened, width_of

LEVELS = 3  # of tests that are drawn
FONT, LINE = 12, 15  # of the text of a box, in pixels
PADDING, COLUMN_GAP, ROW_GAP = 7, 14, 26  # pixels
ZERO = 1e-7  # of the largest value of a tree: what is less is rounding
NAME, LABEL = 24, 18  # characters of a feature's and of a class's name


class _Text(BoxText):
    """A box's test, its share of the draws, and what it predicts."""

    def __init__(self, tree, names, unit, says):
        classes = [list(tree.classes_)] if is_classifier(tree) else None
        super().__init__(tree, names, classes, "none", False, False, False, 3, "≤")
        self.unit, self.says = unit, says

    def __call__(self, node):
        tree = self.tree
        lines = [] if tree.children_left[node] == TREE_LEAF else [clean(self.test(node))]
        draws = int(tree.n_node_samples[node])
        lines.append(f"{draws:,} {self.unit}" + ("s" if draws != 1 else ""))
        values = tree.value[node, 0]
        if self.class_names is None:
            is_zero = abs(values[0]) <= ZERO * np.abs(tree.value).max()
            lines.append(f"{self.says} {number(0.0 if is_zero else values[0])}")
        else:
            most = values.argmax()
            lines.append(f"{shortened(self.class_names[0][most], LABEL)}: {percent(values[most], 0)}")
        return lines

    def _number(self, value):
        return number(value)


def _colour(colours, node):
    """The colour of a node: the name of a variable, and how much of it, from 0 to 1."""
    if len(colours.full) > len(SERIES):
        return "other", 0.5
    strongest, strength = colours.strength(node)
    return SERIES[strongest], strength


def picture(tree, names, label, unit, says):
    """The upper levels of a fitted single tree as SVG.

    Parameters
    ----------
    tree : DecisionTree
    names : list of str
        Of the features.
    label : str
        What the picture shows.
    unit : str
        What the numbers in boxes count, in the singular.
    says : str
        What the value of a node that is a number is called.
    """
    text, colours = _Text(tree, [shortened(name, NAME) for name in names], unit, says), Colours(tree)
    boxes = {node: (parent, depth, text(node) if depth < LEVELS else [CUT])
             for node, parent, depth in drawn_nodes(tree.tree_, LEVELS - 1)}  # fmt: skip
    width = {node: 2 * PADDING + max(width_of(line, FONT) for line in lines) for node, (*_, lines) in boxes.items()}
    height = {node: 2 * PADDING + LINE * len(lines) for node, (*_, lines) in boxes.items()}
    x, total = layout.columns({node: parent for node, (parent, *_) in boxes.items()}, width, COLUMN_GAP)
    rows = layout.rows({node: depth for node, (_, depth, _) in boxes.items()}, height)
    top = 1 + np.cumsum(rows + ROW_GAP) - rows - ROW_GAP
    edges, drawn = [], []
    for node, (parent, depth, lines) in boxes.items():
        middle, y = x[node] + total / 2 + 1, top[depth]
        if parent >= 0:
            above = top[depth - 1] + height[parent]
            edges.append(f"M{pixels(x[parent] + total / 2 + 1)} {pixels(above)}L{pixels(middle)} {pixels(y)}")
        name, strength = _colour(colours, node) if lines != [CUT] else ("other", 0.2)
        share = f"--mark:var(--{name});--part:{round(8 + 42 * strength)}%"
        drawn.append(
            f'<rect class="box" style="{share}" x="{pixels(middle - width[node] / 2)}" y="{pixels(y)}" '
            f'width="{pixels(width[node])}" height="{pixels(height[node])}" rx="4"/>'
        )
        spans = "".join(
            f'<tspan x="{pixels(middle)}" y="{pixels(y + PADDING + LINE * k + 11)}">{escaped(line)}</tspan>'
            for k, line in enumerate(lines)
        )
        drawn.append(f'<text class="middle box">{spans}</text>')
        if parent == 0 and lines != [CUT]:
            is_left, between = node == 1, (middle + x[parent] + total / 2 + 1) / 2
            word, end, shift = ("yes", "end", -6) if is_left else ("no", "start", 6)
            drawn.append(f'<text class="{end}" x="{pixels(between + shift)}" y="{pixels(y - ROW_GAP / 2)}">{word}</text>')
    path = f'<path class="axes" d="{"".join(edges)}"/>'
    return svg([path, *drawn], round(total + 2), round(top[-1] + rows[-1] + 2), label, is_fixed=True)
