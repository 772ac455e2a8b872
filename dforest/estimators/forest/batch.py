"""What a forest remembers of the rows that its trees were grown on."""

from typing import NamedTuple

import numpy as np

from dforest.core.sampling import MAX_ROWS, checked_integer
from dforest.engines.rows import RowShare


class Batch(NamedTuple):
    """What the trees that one call of `fit` added were grown on."""

    n_trees: int
    n_rows: int
    kept: np.ndarray | None  # a bit for each row that was given: whether trees drew from it; None if they drew from all
    class_weight: object  # see `_tree_class_weight`
    share: RowShare | None  # which of the rows that trees drew from were given, if other ranks were given more; None: all

    def row_numbers(self):
        """The numbers of the rows that trees drew from, among the rows that were given; int32 if that suffices."""
        kept = np.arange(self.n_rows) if self.kept is None else np.flatnonzero(np.unpackbits(self.kept, count=self.n_rows))
        return kept.astype(np.int32 if self.n_rows <= 2**31 else np.int64)

    def check(self, n_rows):
        """Raise TypeError or ValueError unless the trees of the batch can have drawn from so many rows each."""
        checked_integer("n_rows of a batch", self.n_rows, 0, MAX_ROWS)
        n_kept = self.n_rows
        if self.kept is not None:
            if not isinstance(self.kept, np.ndarray) or self.kept.dtype != np.uint8 or len(self.kept) != (self.n_rows + 7) // 8:
                raise ValueError(f"what was kept of {self.n_rows} rows must be a bit for each, not {self.kept!r}")
            n_kept = int(np.unpackbits(self.kept, count=self.n_rows).sum())
        n_all = n_kept
        if self.share is not None:
            self.share.check(n_kept)
            n_all = self.share.n_rows
        if (n_rows != n_all).any():
            raise ValueError(f"trees of a batch of {n_all} rows drew from {n_rows.tolist()}")

    def own(self, counts):
        """Those of the counts of all rows that are of rows that were given."""
        return counts if self.share is None else counts[self.share.numbers()]
