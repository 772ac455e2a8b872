"""The log-rank test in plain Python, slow and plainly correct: the twin of `dforest.core.search.logrank`.

A *code* is twice the number of event times, among those of all training rows, that are not after a row's time, and 1 more for an
event; and `ENTRY` times the number of event times that are not after its entry.
"""

import math

from dforest.testing.scores import squared_error_score

OF_TIMES = ("logrank", "logrank_score")
ENTRY = 2**27


class NodeTimes:
    """The event times of a node's draws.

    Parameters
    ----------
    draws : list of dforest.testing.scores.Record
    codes : sequence of int
        Of all training rows.
    n_times : int
        How many event times these have.
    exact : sequence of float, optional
        The exact weights of all training rows, by which leaves predict.

    Attributes
    ----------
    targets : list of int
        The residual of each draw, as an integer.
    digits : int
        How many digits after the point these have.
    risk : float
        What the node predicts as a leaf.
    is_pure : dict
        By criterion, whether no split can be scored.
    """

    def __init__(self, draws, codes, n_times, exact=None):
        self.entries, self.codes = zip(*(divmod(code, ENTRY) for code in codes), strict=True)
        weights = [draw.count * draw.weight for draw in draws]
        self.shift = max(0, sum(weights).bit_length() - 31)
        counted = sum(w >> self.shift for w in weights)
        self.times = sorted({self.codes[draw.row] >> 1 for draw in draws if self.codes[draw.row] & 1})
        self.at_risk, steps, hazards, hazard, self.risk = [], [], [], 0.0, 0.0
        for time in self.times:
            n, d = (sum(self._weight(draw, 0) for draw in some) for some in self._at(draws, time))
            self.risk += (d / n if exact is None else self._exact_hazard(draws, time, exact)) * (n_times + 1 - time)
            hazard += d / n
            hazards.append(hazard)
            n, d = (sum(self._weight(draw, self.shift) for draw in some) for some in self._at(draws, time))
            x, y = float(d), float(n)
            steps.append(x * (y - x) / (y * y * (y - 1.0)) if 0 < d < n else 0.0)
            self.at_risk.append(n)
        total = 0.0
        for step in steps:
            total += step
        room = 62 - math.frexp(max(0.5, total))[1]
        self.variance_digits = min(room, 2 * counted.bit_length() + 20)
        self.steps = [round(math.ldexp(step, self.variance_digits)) for step in steps]
        self.digits = 31 - math.frexp(max(1.0, hazard))[1]
        self.targets = []
        for draw in draws:
            begin, end = (
                max([0.0] + [h for h, time in zip(hazards, self.times, strict=True) if time <= place])
                for place in (self.entries[draw.row], self.codes[draw.row] >> 1)
            )
            self.targets.append(round(math.ldexp((self.codes[draw.row] & 1) - (end - begin), self.digits)))
        total = sum(weights)
        mean = float(sum(w * a for w, a in zip(weights, self.targets, strict=True)))
        spread = float(sum(w * a * a for w, a in zip(weights, self.targets, strict=True))) - mean * (mean / total)
        self.factor = (total - 1.0) / spread if spread > 0.0 else 0.0
        self.is_pure = {"logrank": sum(self.steps) == 0, "logrank_score": not self.times or self.factor == 0.0}

    def _weight(self, draw, shift):
        return draw.count * draw.weight >> shift

    def _at(self, draws, time):
        """(draws at risk at a time, those of them with an event then)."""
        at_risk = [draw for draw in draws if self.entries[draw.row] < time <= self.codes[draw.row] >> 1]
        return at_risk, [draw for draw in at_risk if self.codes[draw.row] == 2 * time + 1]

    def _exact_hazard(self, draws, time, exact):
        """d / n by exact weights: sums of pairs, of pairs of pairs, and so on, of the draws by their codes."""
        draws = sorted(draws, key=lambda draw: self.codes[draw.row])
        at_risk, events = self._at(draws, time)
        others = [draw.count * exact[draw.row] if draw in at_risk and draw not in events else 0.0 for draw in draws]
        sums = [0.0] * len(draws) + others
        for i in range(len(draws) - 1, 0, -1):
            sums[i] = sums[2 * i] + sums[2 * i + 1]
        d = 0.0
        for draw in events:
            d += draw.count * exact[draw.row]
        return d / (d + sums[1])

    def variance(self, draws_left):
        """The variance of how many events there are on the left."""
        variance = 0
        for time, n, step in zip(self.times, self.at_risk, self.steps, strict=True):
            n_left = sum(self._weight(draw, self.shift) for draw in self._at(draws_left, time)[0])
            variance += step * n_left * (n - n_left)
        return variance

    def score(self, criterion, left, total, draws_left):
        """The score of a cut, from the statistics of its left side and of the node, and the draws on the left."""
        if criterion == "logrank_score":
            return squared_error_score(left, total) * self.factor
        u = math.ldexp(float(left[2]), -self.digits)
        v = math.ldexp(float(self.variance(draws_left)), self.shift - self.variance_digits)
        return u * u / v if v > 0.0 else 0.0
