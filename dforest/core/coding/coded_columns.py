"""Coded columns: what splitters search, one for each feature.

A `CodedColumns` is the sequence of all columns. There may be very many sparse columns with little in each, so a few arrays hold
what a batch of them has, one column after another (`SparseBatch`); the `CodedColumn` of a sparse feature is made from its batch
when it is asked for. A batch owns its arrays, and columns that are made from it borrow them.
"""

from collections import namedtuple
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

CodedColumn = namedtuple(
    "CodedColumn",
    ["codes", "values", "lows", "highs", "has_missing", "kind", "has_keys", "rows", "implied"],
    defaults=[False, None, 0],
)
CodedColumn.__doc__ = """One feature's codes for all rows.

codes : ndarray of shape (n_rows,), dtype uint8, uint16 or uint32
    The number of each row's bin or value; ``len(values)`` where the value is missing. Or, with
    has_keys, keys made from values alone (ordered_keys.h), dtype uint32 or uint64.
values : ndarray, dtype float32 or float64
    Method dense: the distinct values, ascending. Method hist: the upper edges of the bins, the last
    of them infinite. Categories: their numbers. Keys: none.
lows, highs : ndarray, like values
    The smallest and the largest value of each code.
has_missing : bool
kind : int
    0: continuous, 1: ordinal, 2: categorical.
has_keys : bool
rows : ndarray of shape (n_stored,), dtype uint32, or None
    Of a sparse column: the rows, ascending, whose codes these are, and which are others than the implied one. None: all rows.
implied : int
    The code of all other rows.
"""


class SparseBatch(NamedTuple):
    """Some sparse columns.

    Attributes
    ----------
    numbers : ndarray of shape (n,), dtype int64
        The features, ascending.
    kinds : ndarray of shape (n,), dtype int64
        As in `CodedColumn`.
    facts : ndarray of shape (n, 4), dtype int64
        Of each column: how many codes of values there are, of keys 0; the bits of the implied code; whether values are missing;
        and how many rows are stored.
    values, lows, highs : ndarray, dtype float32 or float64
        Those of all columns one behind the other. Several of these may be one array.
    rows : ndarray, dtype uint32
        The stored rows, column after column.
    codes : ndarray, dtype uint8, uint16 or uint32; of keys uint32 or uint64
        Their codes.
    has_keys : bool
        Whether these are keys.
    """

    numbers: np.ndarray
    kinds: np.ndarray
    facts: np.ndarray
    values: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    rows: np.ndarray
    codes: np.ndarray
    has_keys: bool = False

    def starts(self):
        """Where the values and the rows of each column begin, and those of the last one end: ndarray of shape (n + 1, 2)."""
        return np.append(np.zeros((1, 2), np.int64), self.facts[:, [0, 3]].cumsum(axis=0), axis=0)

    def column(self, c, starts):
        """The `CodedColumn` of a place in the batch, which borrows the arrays."""
        (value, row), (value_end, row_end) = starts[c : c + 2].tolist()
        values = self.values[value:value_end]
        lows = values if self.lows is self.values else self.lows[value:value_end]
        highs = lows if self.highs is self.lows else self.highs[value:value_end]
        implied, has_missing = self.facts[c, 1:3].tolist()
        codes, rows = self.codes[row:row_end], self.rows[row:row_end]
        kind = int(self.kinds[c])
        return CodedColumn(codes, values, lows, highs, bool(has_missing), kind, self.has_keys, rows, implied % 2**64)


class CodedColumns(Sequence):
    """The columns of all features, of which some are sparse.

    Parameters
    ----------
    others : dict of int to CodedColumn
        Columns of features that are not in a batch.
    batches : list of SparseBatch
    """

    def __init__(self, others, batches):
        self.others, self.batches = others, batches
        self._n = len(others) + sum(len(batch.numbers) for batch in batches)
        self._batch_of = np.zeros(self._n, np.int32)  # of the features that are in one
        for b, batch in enumerate(batches):
            self._batch_of[batch.numbers] = b
        self._starts = [None] * len(batches)  # where values and rows of a batch's columns begin

    def __len__(self):
        return self._n

    def __getitem__(self, j):
        if not -self._n <= j < self._n:
            raise IndexError(f"column {j} of {self._n}")
        j = int(j) % self._n
        if j in self.others:
            return self.others[j]
        b = int(self._batch_of[j])
        batch = self.batches[b]
        if self._starts[b] is None:
            self._starts[b] = batch.starts()
        return batch.column(int(np.searchsorted(batch.numbers, j)), self._starts[b])
