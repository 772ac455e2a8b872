"""Where the boxes of a drawn tree are placed. Lengths are in any unit, as that of the given widths and heights."""

from itertools import zip_longest

import numpy as np


def columns(parents, width, gap):
    """Middles of boxes around 0, and the width of all.

    From the leaves up, subtrees are put side by side as close as their outlines allow, and a parent above the middle of its
    children.

    Parameters
    ----------
    parents : dict of int to int
        The parent of each node, or -1, in preorder.
    width : dict of int to float
        Of the nodes' boxes.
    gap : float
        Between boxes side by side.

    Returns
    -------
    x : dict of int to float
    total : float
    """
    children = {node: [] for node in parents}
    for node, parent in parents.items():
        if parent >= 0:
            children[parent].append(node)
    outline, shift = {}, {}  # by node: (left, right) of each level, and the way from its parent
    for node in reversed(parents):
        outline[node] = [(-width[node] / 2, width[node] / 2)]
        if children[node]:
            left, right = (outline.pop(child) for child in children[node])
            half = max(a[1] - b[0] + gap for a, b in zip(left, right, strict=False)) / 2
            shift.update(zip(children[node], (-half, half), strict=True))
            nothing = np.inf, -np.inf
            for a, b in zip_longest(left, right, fillvalue=nothing):
                outline[node].append((min(a[0] - half, b[0] + half), max(a[1] - half, b[1] + half)))
    low, high = min(left for left, _ in outline[0]), max(right for _, right in outline[0])
    x = {}
    for node, parent in parents.items():
        x[node] = -(low + high) / 2 if parent < 0 else x[parent] + shift[node]
    return x, high - low


def rows(depths, height):
    """Heights of the rows of boxes: ndarray of shape (n_levels,), given dicts of each node's depth and of its box's height."""
    found = np.zeros(1 + max(depths.values()))
    for node, depth in depths.items():
        found[depth] = max(found[depth], height[node])
    return found
