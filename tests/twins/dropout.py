"""Dropouts in boosting, row by row: what `dforest.estimators.boosting.dropout` does with arrays."""


class Rounds:
    """What each round adds to the sums of each row, and the weights of rounds.

    Parameters
    ----------
    dropped : callable or None
        Given the number of a round, it returns those of the rounds that are dropped in it. None: none ever is.
    learning_rate : float
    """

    def __init__(self, dropped, learning_rate):
        self._dropped, self._rate = dropped, learning_rate
        self.weights, self._added = [], []  # the latter: for each round a list of lists, of rows and outputs

    def dropped(self):
        """The rounds that are dropped in the next one."""
        return [] if self._dropped is None else list(self._dropped(len(self.weights)))

    def without_dropped(self, sums):
        """The sums of rows that the next round is grown from: list of lists."""
        return [[s - d for s, d in zip(*pair, strict=True)] for pair in zip(sums, self._of_dropped(sums), strict=True)]

    def _of_dropped(self, sums):
        total = [[0.0] * len(of_row) for of_row in sums]
        for number in self.dropped():
            for row, added in enumerate(self._added[number]):
                for o, value in enumerate(added):
                    total[row][o] += self.weights[number] * value
        return total

    def advance(self, sums, added):
        """The sums of rows when one more round counts, given what its trees add as they were grown: list of lists."""
        of_dropped, dropped = self._of_dropped(sums), self.dropped()
        total = len(dropped) + self._rate
        weight, lost = (1.0 / total, self._rate / total) if dropped else (1.0, 0.0)
        self._added.append(added)
        self.weights.append(weight)
        for number in dropped:
            self.weights[number] *= len(dropped) / total
        return [
            [(s - lost * d) + weight * a for s, d, a in zip(*of_row, strict=True)]
            for of_row in zip(sums, of_dropped, added, strict=True)
        ]
