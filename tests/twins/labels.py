"""The naive twin of a tree's order of labels: `dforest.core.grow.label_order` again, slow and plain."""

import math

from dforest.testing.coding import CATEGORICAL, quantise
from dforest.testing.streams import LABEL_ORDER, Stream
from dforest.testing.survival import ENTRY

ORDERED_ABOVE, PRIOR, MAX_CLASSES = 30, 3, 64


def orders_labels(seed, row):
    """Whether a row that the tree of this seed has not drawn orders its labels; else it is out of bag."""
    return Stream(seed, row, LABEL_ORDER).below(3) < 2


def label_ranks(columns, counts, y, weight, n_classes, seed, n_times=0):
    """The ranks of labels, and last that of missing values, in each order: dict by the number of the column.

    Parameters
    ----------
    columns : list of Column
    counts : list of int
        How often the tree draws each row.
    y : list
        Class numbers or targets.
    weight : list of int
    n_classes : int
        0 for numbers.
    seed : int
        The tree's.
    n_times : int
        Number of event times, where targets are codes of survival times; else 0.
    """
    rows = [row for row, count in enumerate(counts) if count == 0 and orders_labels(seed, row)]
    if n_times:
        responses = [logrank_scores([int(code) for code in y], weight, n_times)]
    elif n_classes:
        responses = [[float(y[row] == k) for row in range(len(y))] for k in range(n_classes)]
    else:
        drawn = [y[row] for row, count in enumerate(counts) if count]
        _, scale = quantise(drawn)
        most = math.ldexp(0.5 * scale.range, -scale.exponent)
        clipped = [min(max(v, scale.centre - most), scale.centre + most) for v in y]
        responses = [[round(math.ldexp(v - scale.centre, scale.exponent)) for v in clipped]]
    total = [sum(weight[row] * response[row] for row in rows) for response in responses]
    if n_classes == 2 or n_classes > MAX_CLASSES:
        responses = [responses[total.index(max(total))]]
    return {
        j: [ranks_of(column, rows, response, weight, bool(n_classes)) for response in responses]
        for j, column in enumerate(columns)
        if column.kind == CATEGORICAL and column.missing > ORDERED_ABOVE
    }


def logrank_scores(codes, weight, n_times):
    """The log-rank scores of all rows, as integers."""
    events, ends, begins = [c % 2 for c in codes], [c % ENTRY // 2 for c in codes], [c // ENTRY for c in codes]
    hazard = [0.0]
    for time in range(1, n_times + 1):
        at_risk = sum(w for w, begin, end in zip(weight, begins, ends, strict=True) if begin < time <= end)
        died = sum(w for w, event, end in zip(weight, events, ends, strict=True) if event and end == time)
        hazard.append(hazard[-1] + (float(died) / float(at_risk) if died else 0.0))
    scores = [event - (hazard[end] - hazard[begin]) for event, begin, end in zip(events, begins, ends, strict=True)]
    digits = 31 - math.frexp(max(1.0, *map(abs, scores)))[1]
    return [round(math.ldexp(score, digits)) for score in scores]


def ranks_of(column, rows, response, weight, is_class):
    """The ranks of a column's labels by their mean response."""
    n_labels = column.missing
    members = {}
    for row in rows:
        members.setdefault(int(column.codes[row]), []).append(row)
    keys = [0.0] * (n_labels + 1)
    total = sum(weight[row] for row in rows)
    floor = 0 if is_class or not rows else sum(weight[row] * response[row] for row in rows) // total
    for label, own in members.items():
        if label < n_labels:
            own_weight = sum(weight[row] for row in own)
            mean = float(sum(weight[row] * (int(response[row]) - floor) for row in rows)) / float(total)
            own_mean = float(sum(weight[row] * (int(response[row]) - floor) for row in own)) / float(own_weight)
            keys[label] = (own_mean - mean) * (own_weight / (own_weight + PRIOR * (float(total) / float(len(rows)))))
    places = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return [places[key] for key in keys]
