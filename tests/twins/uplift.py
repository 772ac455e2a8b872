"""The naive twin of the criteria of uplift forests (`core/search/uplift.pyx`), operation by operation, on statistics as lists."""

from dforest.testing.scores import log2

NEARLY = 1.0 - 2.0**-20


def kl(p, q):
    return p * log2(p / q) + (1.0 - p) * log2((1.0 - p) / (1.0 - q))


def euclidean(p, q):
    return 2.0 * (p - q) * (p - q)


def chi2(p, q):
    return (p - q) * (p - q) / (q * (1.0 - q))


def entropy(share):
    return -share * log2(share) - (1.0 - share) * log2(1.0 - share)


def gini(share):
    return 2.0 * share * (1.0 - share)


DIVERGENCES = {"kl": (kl, entropy), "euclidean": (euclidean, gini), "chi2": (chi2, gini)}


def arms_of(statistic):
    """(weight, weight of the second outcome) of each arm."""
    return [(statistic[i] + statistic[i + 1], statistic[i + 1]) for i in range(2, len(statistic), 2)]


def mean_divergence(statistic, divergence, share, mass):
    rates = [(float(second) + mass * share) / (float(weight) + mass) for weight, second in arms_of(statistic)]
    total = 0.0
    for rate in rates[1:]:
        total += divergence(rate, rates[0])
    return total / float(len(rates) - 1)


def uplift_score(left, total, criterion, normalize, least, smoothing):
    """The score of a cut; None if it is not allowed."""
    divergence, spread = DIVERGENCES[criterion]
    w = float(total[1])
    mean_weight = w / float(total[0])
    mass = smoothing * mean_weight
    share = float(sum(second for _, second in arms_of(total))) / w
    right = [a - b for a, b in zip(total, left, strict=True)]
    fewest = min(weight for side in (left, right) for weight, _ in arms_of(side))
    if share in (0.0, 1.0) or float(fewest) < float(least) * mean_weight * NEARLY:
        return None
    found = float(left[1]) * mean_divergence(left, divergence, share, mass) + float(right[1]) * mean_divergence(
        right, divergence, share, mass
    )
    found -= w * mean_divergence(total, divergence, share, mass)
    if normalize and found > 0.0:
        n, to_left = float(arms_of(total)[0][0]), float(arms_of(left)[0][0])
        unit = spread(n / w) * divergence((float(left[1]) - to_left) / (w - n), to_left / n) + 0.5
        for (own, _), (on_left, _) in zip(arms_of(total), arms_of(left), strict=True):
            unit += float(own) / w * spread(float(on_left) / float(own))
        found /= unit
    return found if found > 0.0 else None
