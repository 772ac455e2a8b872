"""The naive twin of ranking (`ranking.h`) again, slow and plain: a double loop over the pairs of a group."""

from math import exp, log1p, log2

import numpy as np

GAINS = [2.0**grade - 1 for grade in range(32)]


def order(raw):
    """Rows by descending raw predictions, those of equal ones as they stand."""
    return sorted(range(len(raw)), key=lambda row: -raw[row])


def ideal_dcg(y, n_places, gains=GAINS):
    best = sorted((gains[int(grade)] for grade in y), reverse=True)[:n_places]
    return sum(gain / log2(2 + place) for place, gain in enumerate(best))


def pairs(y, raw, truncation):
    """Yield (the place and the row of higher grade, those of the other one) of all pairs."""
    rows = order(raw)
    for i in range(min(len(rows), truncation)):
        for j in range(i + 1, len(rows)):
            if y[rows[i]] > y[rows[j]]:
                yield i, rows[i], j, rows[j]
            elif y[rows[i]] < y[rows[j]]:
                yield j, rows[j], i, rows[i]


def weights(y, raw, truncation, gains):
    """Yield (what NDCG changes by if they change places, the row of higher grade, the other one) of all pairs."""
    best = ideal_dcg(y, truncation, gains)
    for i, high, j, low in pairs(y, raw, truncation):
        change = abs(1 / log2(2 + i) - 1 / log2(2 + j)) * (gains[int(y[high])] - gains[int(y[low])])
        yield change / best if best > 0 else 0.0, high, low


def weighed_pairs(loss, y, raw, truncation, gains):
    if loss == "lambdarank":
        return weights(y, raw, truncation, gains)
    return ((1.0, high, low) for _, high, _, low in pairs(y, raw, truncation))


def derivatives(loss, y, raw, truncation, sigmoid, normalize=False, gains=GAINS):
    """(gradients, Hessians) of the rows of a group."""
    gradient, hessian, total = np.zeros(len(y)), np.zeros(len(y)), 0.0
    for weight, high, low in weighed_pairs(loss, y, raw, truncation, gains):
        difference = raw[high] - raw[low]
        if normalize and max(raw) != min(raw):
            weight /= 0.01 + abs(difference)
        wrong = 1 / (1 + exp(min(sigmoid * difference, 708.0)))
        slope, curve = sigmoid * weight * wrong, sigmoid**2 * weight * wrong / (1 + exp(min(-sigmoid * difference, 708.0)))
        gradient[high] -= slope
        gradient[low] += slope
        hessian[[high, low]] += curve
        total += 2 * slope
    if normalize and total > 0:
        factor = log2(1 + total) / total
        return gradient * factor, hessian * factor
    return gradient, hessian


def values(loss, y, raw, truncation, sigmoid, gains=GAINS):
    """What each row of a group has of the losses of pairs."""
    result = np.zeros(len(y))
    for weight, high, low in weighed_pairs(loss, y, raw, truncation, gains):
        x = sigmoid * (raw[high] - raw[low])
        result[[high, low]] += 0.5 * weight * (log1p(exp(-abs(x))) + max(-x, 0.0))
    return result


def ndcg(y, raw, n_places, gains=GAINS):
    """NDCG by one order, in which the raw predictions differ."""
    best = ideal_dcg(y, n_places, gains)
    dcg = sum(gains[int(y[row])] / log2(2 + place) for place, row in enumerate(order(raw)[:n_places]))
    return dcg / best if best > 0 else 1.0


def average_precision(y, raw, n_places):
    """The average precision by one order."""
    good, total = 0, 0.0
    for place, row in enumerate(order(raw)):
        good += y[row] > 0
        total += good / (place + 1) if y[row] > 0 and place < n_places else 0.0
    return total / min(good, n_places) if good else 1.0
