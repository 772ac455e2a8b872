"""Importances by permutation, of rows that several ranks have.

A tree permutes a feature's values among all rows that it left out, in ascending order of their numbers, whoever has them. So
each *pair* of a tree and a feature that it tests has an *owner*: a rank which is sent the values, permutes them, and sends each
back to where its row lies. Every rank then tries its own rows with the values it was given, and adds up by how much errors rise,
as exact digits, which all ranks add up.

Pairs go in *rounds*, of two exchanges and a sum each, with about as many pairs for each rank. An owner handles a pair's values in
one piece: at a time it has 2 values and 4 bytes for each row that the tree left out, beside what the communicator holds. Of 10^9
rows a bootstrap leaves out 3.7 * 10^8, which takes 4.4 GB if X is float32 and 7.4 GB if it is float64, and some seconds, as the
permutation goes to as many random places in turn. Where rows are fewer, a rank owns several pairs of a round, which its threads
permute at the same time. Beside this a rank has the values of its own rows for all pairs of a round, twice.
"""

import numpy as np

from dforest.core.predict.out_of_bag import N_DIGITS
from dforest.core.predict.permutation import permute_values, rise_of

ROUND_BYTES = 1 << 28  # of what an owner handles at a time, unless a single pair takes more; tests set it


def permutation_error_increase(ranks, row_ranges, dtype, seeds, used, n_threads):
    """By how much permuting a column raises each tree's mean error on the rows of all ranks that it never drew. A collective.

    Parameters
    ----------
    ranks : Communicator
    row_ranges : list of (int, Permutations)
        The ranges of this rank's rows that have any: the number of the first row, and what tries these rows.
    dtype : dtype
        Of X on all ranks.
    seeds : ndarray of shape (n_trees,)
    used : ndarray of shape (n_trees, n_features), dtype bool
        The features that each tree tests.
    n_threads : int

    Returns
    -------
    ndarray of shape (n_trees, n_features), dtype float64
        As `dforest.core.predict.permutation.permutation_error_increase` returns it, on every rank.
    """
    own = np.array([task.weigh_left_out(n_threads) for _, task in row_ranges], np.int64).reshape(-1, *used.shape[:1], 2)
    n_out, weight = ranks.sum(own.sum(axis=0)).T
    task = _Task(ranks, row_ranges, own[:, :, 0], np.dtype(dtype), seeds, n_threads)
    result = np.zeros(used.shape)
    result[n_out == 0] = np.nan
    pairs = np.argwhere(used & (n_out > 0)[:, None])
    lengths = n_out[pairs[:, 0]]
    most = max(int(n_out.max(initial=0)), ROUND_BYTES // (2 * task.dtype.itemsize + 4))
    turns = np.cumsum(lengths) // (ranks.size * most)
    for some in np.split(pairs, np.flatnonzero(np.diff(turns)) + 1):
        if len(some):
            error_increases = rise_of(task.error_increases(some))
            result[some[:, 0], some[:, 1]] = error_increases / weight[some[:, 0]]
    return result


class _Task:
    """What a rank knows in all rounds."""

    def __init__(self, ranks, row_ranges, n_out, dtype, seeds, n_threads):
        self.ranks, self.row_ranges, self.dtype, self.seeds, self.n_threads = ranks, row_ranges, dtype, seeds, n_threads
        self.n_out = ranks.gather(n_out)  # of each rank: [n_ranges, n_trees]
        firsts = ranks.gather(np.array([first for first, _ in row_ranges], np.int64))
        sources = [(rank, s) for rank, numbers in enumerate(firsts) for s in range(len(numbers))]
        self.order = [sources[i] for i in np.argsort(np.concatenate(firsts), kind="stable")]  # of ranges of all ranks, by rows

    def error_increases(self, pairs):
        """Digits of the rises of the sums of errors of some pairs (tree, feature): ndarray of shape (n_pairs, N_DIGITS)."""
        rank, size = self.ranks.rank, self.ranks.size
        rows = {t: [task.left_out(t, self.n_out[rank][s, t]) for s, (_, task) in enumerate(self.row_ranges)]
                for t in np.unique(pairs[:, 0]).tolist()}  # fmt: skip
        owned = [pairs[owner::size].tolist() for owner in range(size)]  # by owner
        there = [
            self._joined(
                [task.values_of(out, j) for t, j in of_owner for (_, task), out in zip(self.row_ranges, rows[t], strict=True)]
            )
            for of_owner in owned
        ]
        there = self._permuted(self.ranks.exchange(there), owned[rank])
        given = {}  # the values that own rows are tried with, by pair and range
        for of_owner, values in zip(owned, self.ranks.exchange(there), strict=True):
            for (t, j), by_range in zip(of_owner, self._split(values, rank, of_owner), strict=True):
                given[t, j] = by_range
        del there
        digits = np.zeros((len(pairs), N_DIGITS), np.int64)
        edges = np.r_[0, np.flatnonzero(np.diff(pairs[:, 0])) + 1, len(pairs)]
        for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            t, features = int(pairs[begin, 0]), np.ascontiguousarray(pairs[begin:end, 1])
            for s, (_, task) in enumerate(self.row_ranges):
                values = [given[t, j][s] for j in features.tolist()]
                task.add_error_increases(t, rows[t][s], features, values, digits[begin:end], self.n_threads)
        return self.ranks.sum(digits)

    def _joined(self, arrays):
        return np.concatenate(arrays) if arrays else np.zeros(0, self.dtype)

    def _split(self, values, rank, pairs):
        """The values of the rows of a rank, as a list by pair of lists by range."""
        lengths = np.array([self.n_out[rank][:, t] for t, _ in pairs], np.int64)
        parts = np.split(values, np.cumsum(lengths)[:-1]) if lengths.size else []
        n_ranges = len(self.n_out[rank])
        return [parts[k * n_ranges : (k + 1) * n_ranges] for k in range(len(pairs))]

    def _permuted(self, by_rank, pairs):
        """The values of own pairs, which lie by the rank that has the rows, permuted among all rows: as they came, by rank."""
        by_rank = [self._split(values, rank, pairs) for rank, values in enumerate(by_rank)]
        joined = [self._joined([by_rank[rank][k][s] for rank, s in self.order]) for k in range(len(pairs))]
        del by_rank
        joined = permute_values(joined, [self.seeds[t] for t, _ in pairs], [j for _, j in pairs], self.n_threads)
        back = [[] for _ in self.n_out]
        for (t, _), values in zip(pairs, joined, strict=True):
            ends = np.cumsum([self.n_out[rank][s, t] for rank, s in self.order])
            parts = [[None] * len(of_rank) for of_rank in self.n_out]
            for (rank, s), part in zip(self.order, np.split(values, ends[:-1]), strict=True):
                parts[rank][s] = part
            for of_rank, new in zip(back, parts, strict=True):
                of_rank += new
        return [self._joined(of_rank) for of_rank in back]
