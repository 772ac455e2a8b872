"""The naive twin of `division.pyx`: the best cut of numbers computed for each record, slow and plain."""

import math

from dforest.testing.coding import middle
from dforest.testing.scores import SCORES, evenness, statistic


def best_along(values, draws, *, criterion, n_classes, min_draws=1, min_weight=0.0):
    """The best cut of some numbers, by trying all.

    Parameters
    ----------
    values : sequence of float
        The number of each draw; NaN if it is missing.
    draws : list of Record
    criterion : {"gini", "entropy", "squared_error"}
    n_classes : int
        Number of classes; 0 for regression.
    min_draws, min_weight : int, float
        Least number of draws, and least weight, of each side.

    Returns
    -------
    (score, threshold, missing_left)
        (-1.0, nan, False) if no cut is valid.
    """
    total = statistic(draws, n_classes)
    missing = [draw for draw, value in zip(draws, values, strict=True) if value != value]
    distinct = sorted({value for value in values if value == value})
    best, rank = (-1.0, math.nan, False), (-1.0, 0)
    for i, highest in enumerate(distinct):
        threshold = middle(highest, distinct[i + 1], False) if i + 1 < len(distinct) else math.inf
        below = [draw for draw, value in zip(draws, values, strict=True) if value <= highest]
        for missing_left in (False, True) if missing else (False,):
            left = statistic(below + missing * missing_left, n_classes)
            right = [a - b for a, b in zip(total, left, strict=True)]
            if min(left[0], right[0]) < min_draws or min(float(left[1]), float(right[1])) < min_weight:
                continue
            score = SCORES[criterion](left, total)
            if (score, evenness(score, left, total)) > rank:
                rank = score, evenness(score, left, total)
                # If no number is missing here, missing ones go to the larger side.
                best = score, threshold, missing_left if missing else 2 * left[0] > total[0]
    return best
