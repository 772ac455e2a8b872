"""Prediction on a device: rows down packed trees, with the bits that `dforest.core.predict.packed` gives.

A forest's copy is kept with the device and ends with the forest's `PackedForest`; rows are copied in parts.
"""

import numpy as np

from dforest.core.class_lists import ClassLists
from dforest.core.sparse_rows import SparseRows, dense
from dforest.rules.losses import LOSSES

PART_BYTES = 1 << 28  # of rows, or of what is predicted of them, that are copied at a time
BLOCK_MIN, BLOCK_MAX = 64, 1024  # rows of a group


class ForestCopy:
    """A packed forest in a device's memory.

    Parameters
    ----------
    device : Device
    packed : PackedForest
    """

    def __init__(self, device, packed):
        arrays = packed.arrays()
        self.slots = device.array(arrays.slots)
        self.starts = device.array(arrays.starts)
        self.words = None if arrays.words is None else device.array(arrays.words)
        self.form = arrays.bits, int(arrays.is_wide)
        self.n_first = device.array(arrays.n_first)
        self.values = device.array(arrays.values.dense() if isinstance(arrays.values, ClassLists) else arrays.values)
        self.bases = device.array(arrays.bases)
        self.baseline = None if packed.baselines is None else device.array(packed.baselines)
        self.bounds = None if arrays.bounds is None else device.array(arrays.bounds)
        self.numbers = None

    @property
    def trees(self):
        """The arguments that all kernels which send rows down trees begin with."""
        return self.slots, self.starts, self.words, *self.form, self.n_first


def _copy_of(device, packed):
    with device.lock:
        copy = device.copies.get(packed)
        if copy is None:
            copy = device.copies[packed] = ForestCopy(device, packed)
        return copy


class DevicePredictor:
    """Predictions by a forest on a device, with the methods of `PackedForest`.

    Parameters
    ----------
    device : Device
    packed : PackedForest

    Raises
    ------
    ValueError
        If the forest has tests of a splitter's own, or linear leaves.
    """

    def __init__(self, device, packed):
        if packed.splitter is not None:
            raise ValueError(
                f"the forest's tests are those of {packed.splitter!r}, which is not supported on the device {device.name!r}; "
                "allowed is device=None, which uses the CPU"
            )
        if packed.arrays().lines is not None:
            raise ValueError(
                f"the forest has linear leaves, which are not supported on the device {device.name!r}; allowed is device=None, "
                "which uses the CPU"
            )
        self.device, self.packed, self.copy = device, packed, _copy_of(device, packed)

    def mean(self, X):
        """The mean over trees of the values of the leaves that each row reaches; or the baseline, and their sum.

        Parameters
        ----------
        X : ndarray, SparseRows or DeviceArray of shape (n, n_features), dtype float32 or float64
            C-contiguous.

        Returns
        -------
        X's kind of array, or ndarray for sparse rows, of shape (n, n_outputs), dtype float64
        """
        return self._by_parts(X, (self.packed.n_outputs,), np.float64, self._mean)

    def most(self, X):
        """The output of the largest mean, of equal ones the first: X's kind of array, of shape (n,), dtype int64."""
        return self._by_parts(X, (), np.int64, self._most)

    def inverse_link(self, X, loss, has_classes):
        """What the means say of y: see `dforest.estimators.boosting.losses.Loss.predict`.

        Parameters
        ----------
        X : as for `mean`
        loss : int
            Its number in `rules/losses.h`.
        has_classes : bool
            Whether the probabilities of all classes are asked for: of two, with one mean, those of both.

        Returns
        -------
        X's kind of array, of shape (n,) or (n, n_predictions), dtype float64
        """
        n_sums = self.packed.n_outputs
        has_both = has_classes and loss != LOSSES["multinomial"].number
        shape = (2,) if has_both else () if n_sums == 1 and not has_classes else (n_sums,)

        def predict(rows, out):
            means = self.device.empty((len(rows), n_sums), np.float64)
            self._mean(rows, means)
            n_groups, n_block = self._groups(len(rows))
            self.device.run("df_invert_link", n_groups, means, n_sums, loss, int(has_both), len(rows), n_block, out)

        return self._by_parts(X, shape, np.float64, predict)

    def apply(self, X):
        """The number of the leaf's node, by row and tree: X's kind of array, of shape (n, n_trees), dtype int64."""
        if self.copy.numbers is None:
            self.copy.numbers = self.device.array(self.packed.node_numbers())
        return self._by_parts(X, (self.packed.n_trees,), np.int64, self._apply)

    def _by_parts(self, X, shape, dtype, predict):
        """What `predict(rows, out)` puts on the device for all rows."""
        n = len(X)
        if not isinstance(X, np.ndarray | SparseRows):
            out = self.device.empty((n, *shape), dtype)
            predict(X, out)
            return out
        result = np.empty((n, *shape), dtype)
        widest = max(X.shape[1], self.packed.n_outputs, *shape) * 8
        n_part = max(1, PART_BYTES // widest)
        for start in range(0, n, n_part):
            rows = self.device.array(dense(X[start : start + n_part]))
            out = self.device.empty((len(rows), *shape), dtype)
            predict(rows, out)
            result[start : start + n_part] = out.get()
        return result

    def _groups(self, n):
        """(groups, rows of each): enough for all compute units."""
        if self.device.n_items > 1:
            n_block = self.device.n_items
        else:
            n_block = min(BLOCK_MAX, max(BLOCK_MIN, -(-n // (4 * self.device.n_units))))
        return -(-n // n_block), n_block

    def _mean(self, X, means):
        copy, packed = self.copy, self.packed
        n_groups, n_block = self._groups(len(X))
        self.device.run(
            "df_mean", n_groups, *copy.trees, copy.values, copy.bases, copy.baseline, packed.takes_turns, copy.bounds,
            packed.n_trees, packed.n_outputs, X, packed.n_features, X.dtype == np.float64, len(X), n_block, means,
            n_local=8 * n_block,
        )  # fmt: skip

    def _most(self, X, most):
        n_groups, n_block = self._groups(len(X))
        means = self.device.empty((len(X), self.packed.n_outputs), np.float64)
        self._mean(X, means)
        self.device.run("df_most", n_groups, means, self.packed.n_outputs, len(X), n_block, most)

    def _apply(self, X, nodes):
        copy, packed = self.copy, self.packed
        n_groups, n_block = self._groups(len(X))
        self.device.run(
            "df_apply", n_groups, *copy.trees, copy.numbers, packed.n_trees, X, packed.n_features, X.dtype == np.float64,
            len(X), n_block, nodes, n_local=8 * n_block,
        )  # fmt: skip
