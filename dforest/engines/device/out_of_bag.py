"""Out-of-bag estimates and permutation importance on a device: the numbers of `dforest.core.predict.out_of_bag`, to the bit.

All rows lie on the device; trees come in parts, as how often each drew each row takes 4 bytes a row.
"""

import numpy as np

from dforest.core.predict.out_of_bag import N_DIGITS
from dforest.engines.device.predictor import ForestCopy
from dforest.engines.device.sampling import RowCounts

PART_BYTES = 1 << 28  # of what is kept for each tree and row, at a time


class OutOfBagRows:
    """The training rows on a device, and which of them each tree drew.

    Parameters
    ----------
    device : Device
    packed : PackedForest
        Its values are those of the leaf tables, row by row.
    X : ndarray of shape (n, n_features), dtype float32 or float64
    target : ndarray of shape (n,), dtype float64
    draws : TreeDraws
        Of the forest's trees, on the rows of X.
    """

    def __init__(self, device, packed, X, target, draws):
        if packed.splitter is not None:
            raise ValueError(
                f"the forest's tests are those of {packed.splitter!r}, which is not supported on the device {device.name!r}; "
                "allowed is device=None, which uses the CPU"
            )
        for plan in set(draws.plans):
            if not plan.leaves_rows_out:
                raise ValueError(f"sampling={plan!r} leaves no rows out, and out-of-bag estimates need rows that a tree left out")
        self.device, self.packed, self.draws = device, packed, draws
        self.n, self.n_features = X.shape
        self.copy = ForestCopy(device, packed)
        self.x = device.array(np.ascontiguousarray(X)), self.n_features, X.dtype == np.float64
        self.target = device.array(target)
        self.n_part = max(1, PART_BYTES // (4 * self.n))

    @property
    def trees(self):
        """The arguments of kernels that send rows down trees one at a time, which need no `n_first`."""
        return self.copy.slots, self.copy.starts, self.copy.words, *self.copy.form

    def parts(self):
        """Parts of the trees: the first tree of each part, how many trees it has, and how often each of them drew each row."""
        for first in range(0, self.packed.n_trees, self.n_part):
            end = min(first + self.n_part, self.packed.n_trees)
            yield first, end - first, RowCounts.drawn(self.device, self.draws, slice(first, end)).there


def predict_out_of_bag(device, packed, X, target, leaf_class, draws, exponent):
    """Predict each row by the trees that never drew it.

    Parameters
    ----------
    device : Device
    packed, X, target, leaf_class, draws, exponent
        As for `dforest.core.predict.out_of_bag.predict_out_of_bag`.

    Returns
    -------
    sums, votes, n_votes, totals, n_new : ndarray
        As `dforest.core.predict.out_of_bag.predict_out_of_bag` returns them.
    """
    is_regression = leaf_class is None
    rows = OutOfBagRows(device, packed, X, target, draws)
    n, n_outputs = rows.n, packed.n_outputs
    sums = device.zeros((n, n_outputs), np.float64)
    votes = device.zeros((n, 0 if is_regression else n_outputs), np.int32)
    n_votes, best = device.zeros((n,), np.int32), device.zeros((n,), np.int32)
    error, n_new = device.zeros((n,), np.float64), device.zeros((packed.n_trees,), np.int64)
    totals = device.zeros((N_DIGITS, packed.n_trees), np.int64)
    classes = None if is_regression else device.array(leaf_class)
    n_block = max(device.n_items, min(1024, -(-n // (4 * device.n_units))))
    for first, n_trees, counts in rows.parts():
        device.run(
            "df_vote_out_of_bag", -(-n // n_block), *rows.trees, rows.copy.values, rows.copy.bases, first, n_trees, n_outputs,
            *rows.x, n, n_block, rows.target, counts, classes, exponent, sums, votes, n_votes, best, error, totals,
            n_new, packed.n_trees,
        )  # fmt: skip
    return sums.get(), votes.get(), n_votes.get(), totals.get(), n_new.get()


def permutation_error_increase(device, packed, X, target, leaf_value, is_regression, weight, draws, used):
    """By how much permuting a column raises each tree's mean error on the rows it never drew.

    Parameters
    ----------
    device : Device
    packed, X, target, leaf_value, is_regression, weight, draws
        As for `dforest.core.predict.permutation.permutation_error_increase`.
    used : ndarray of shape (n_trees, n_features), dtype bool
        The features that each tree tests.

    Returns
    -------
    error_increase : ndarray of shape (n_trees, n_features), dtype float64
        As `dforest.core.predict.permutation.permutation_error_increase` returns it.
    """
    rows = OutOfBagRows(device, packed, X, target, draws)
    result = np.zeros((packed.n_trees, rows.n_features))
    seeds, value = device.array(draws.seeds), device.array(leaf_value)
    weights = None if weight is None else device.array(weight)
    for first, n_trees, counts in rows.parts():
        tree, out = np.nonzero(counts.get() == 0)
        n_out = np.bincount(tree, minlength=n_trees)
        result[first : first + n_trees][n_out == 0] = np.nan
        total = n_out.copy()
        if weight is not None:
            total[:] = 0
            np.add.at(total, tree, weight[out].astype(np.int64))
        there, ends = device.array(out.astype(np.uint32)), device.array(np.cumsum(n_out))
        pairs = np.argwhere(used[first : first + n_trees] & (n_out > 0)[:, None])
        lengths = n_out[pairs[:, 0]]
        batches = np.cumsum(lengths) // (PART_BYTES // 4)
        for some in np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(batches)) + 1):
            if len(some) == 0:
                continue
            firsts = np.cumsum(lengths[some]) - lengths[some]
            of = there, ends, first, device.array(pairs[some]), device.array(firsts), len(some)
            others = device.empty((int(lengths[some].sum()),), np.uint32)
            error_increases = device.empty((len(some),), np.float64)
            device.run("df_permute_rows", -(-len(some) // device.n_items), seeds, *of, others)
            device.run(
                "df_permuted_error_increases", len(some), *rows.trees, value, rows.copy.bases, is_regression, *rows.x,
                rows.target, weights, *of, others, error_increases,
            )  # fmt: skip
            at = pairs[some]
            result[first + at[:, 0], at[:, 1]] = error_increases.get() / total[at[:, 0]]
    return result
