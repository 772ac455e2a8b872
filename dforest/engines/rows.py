"""Which of the training rows of a fit a rank holds.

The training rows are numbered from 0 through all ranks, in the order in which one process would have them; so a forest depends on
this order alone, and not on who holds which rows. A *range* of rows has neighbouring numbers. A rank holds the rows of some
ranges, one range after another: for three ranges that begin at 10, 40 and 0 and have 2, 3 and 1 rows, its rows are

    own row      0   1   2   3   4   5
    number      10  11  40  41  42   0
"""

from dataclasses import dataclass

import numpy as np

from dforest.core.sparse_rows import SparseRows
from dforest.rules.arrays import BLOCK


@dataclass(frozen=True, eq=False)
class RowShare:
    """The rows that a rank holds.

    Attributes
    ----------
    n_rows : int
        Of all ranks together.
    starts, lengths : ndarray of shape (n_ranges,), dtype int64
        Where each range begins, and how many rows it has, possibly none.
    """

    n_rows: int
    starts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def whole(cls, n_rows):
        """The share of who holds all rows."""
        return cls(n_rows, np.zeros(1, np.int64), np.array([n_rows], np.int64))

    @classmethod
    def agreed(cls, ranks, places, lengths):
        """This rank's share, given how many rows its ranges have. A collective.

        Parameters
        ----------
        ranks : Communicator
        places : sequence of int
            Where each range of this rank comes in the order of the ranges of all ranks. Of equal places, that of the lower
            rank comes first, and of one rank that which it names first.
        lengths : sequence of int
            Rows of each range.

        Returns
        -------
        RowShare
        """
        own = np.stack([np.asarray(places, np.int64), np.asarray(lengths, np.int64)], axis=1).reshape(-1, 2)
        by_rank = ranks.gather(own)
        everything = np.concatenate(by_rank)
        order = np.argsort(everything[:, 0], kind="stable")
        ends = np.cumsum(everything[order, 1])
        starts = np.empty(len(everything), np.int64)
        starts[order] = ends - everything[order, 1]
        first = sum(len(row_ranges) for row_ranges in by_rank[: ranks.rank])
        return cls(int(ends[-1]) if len(ends) else 0, starts[first : first + len(own)], own[:, 1])

    def check(self, n_own):
        """Raise TypeError or ValueError unless these are n_own rows among all there are."""
        for name, array in (("starts", self.starts), ("lengths", self.lengths)):
            if not isinstance(array, np.ndarray) or array.dtype != np.int64 or array.ndim != 1:
                raise TypeError(f"{name} of a share of rows are {array!r}; allowed are arrays of int64 with one axis")
        ends = self.n_rows - self.lengths
        if len(self.starts) != len(self.lengths) or ((self.lengths < 0) | (self.starts < 0) | (self.starts > ends)).any():
            raise ValueError(
                f"a share of rows has starts={self.starts.tolist()} and lengths={self.lengths.tolist()}; allowed are ranges "
                f"of {self.n_rows} rows"
            )
        if self.n_own != n_own:
            raise ValueError(f"a share has {self.n_own} rows, but this batch of trees was grown on {n_own}")

    @property
    def n_own(self):
        """Number of rows that this rank holds."""
        return int(self.lengths.sum())

    def numbers(self):
        """The number of each own row: ndarray of shape (n_own,), dtype int64."""
        ends = np.cumsum(self.lengths)
        return np.arange(self.n_own) + np.repeat(self.starts - ends + self.lengths, self.lengths)

    def of_some(self, ranks, kept):
        """The share of some of the rows, which are numbered anew. A collective.

        Parameters
        ----------
        ranks : Communicator
        kept : ndarray of shape (n_own,), dtype bool
            Which of the own rows are among them.

        Returns
        -------
        RowShare
        """
        before = np.concatenate([[0], np.cumsum(kept)])
        ends = np.cumsum(self.lengths)
        return RowShare.agreed(ranks, self.starts, before[ends] - before[ends - self.lengths])

    def gathered(self, ranks, own):
        """What the rows of all ranks have, in the order of their numbers. A collective of the ranks whose shares these are.

        Parameters
        ----------
        ranks : Communicator
        own : ndarray of shape (n_own, ...)
            What the rows of this rank have; of one dtype on all ranks, and of one shape but for its first number.

        Returns
        -------
        ndarray of shape (n_rows, ...)
        """
        result = np.empty((self.n_rows, *own.shape[1:]), own.dtype)
        row_ranges_of = ranks.gather(np.stack([self.starts, self.lengths], axis=1))
        for row_ranges, values in zip(row_ranges_of, ranks.gather(own), strict=True):
            end = 0
            for start, length in row_ranges.tolist():
                begin, end = end, end + length
                result[start : start + length] = values[begin:end]
        return result

    def gathered_X(self, ranks, own):
        """The rows of X of all ranks, in the order of their numbers. A collective of the ranks whose shares these are.

        Parameters
        ----------
        ranks : Communicator
        own : ndarray of shape (n_own, n_features), or SparseRows
            Of one dtype on all ranks.

        Returns
        -------
        ndarray of shape (n_rows, n_features), or SparseRows
            The latter if those of any rank are sparse.
        """
        if not ranks.any(isinstance(own, SparseRows)):
            return self.gathered(ranks, np.ascontiguousarray(own))
        values, columns, starts = SparseRows.of_any(own).matrix_arrays()
        ends = np.append(0, np.cumsum(self.gathered(ranks, np.diff(starts))))
        # What is stored is shared out like the rows.
        firsts = ends[self.starts]
        stored = RowShare(int(ends[-1]), firsts, ends[self.starts + self.lengths] - firsts)
        return SparseRows(stored.gathered(ranks, values), stored.gathered(ranks, columns), ends, own.shape[1])

    def pieces(self):
        """The ranges cut where a block of rows ends, in order.

        Returns
        -------
        block : ndarray of shape (n_pieces,), dtype int64
            The block of `dforest.core.sampling` that each piece lies in.
        first : ndarray of shape (n_pieces,), dtype int64
            Where the piece begins in its block.
        length : ndarray of shape (n_pieces,), dtype int64
            Rows of the piece, at least one.
        """
        there = self.lengths > 0
        starts, ends = self.starts[there], self.starts[there] + self.lengths[there]
        n_blocks = (ends - 1) // BLOCK - starts // BLOCK + 1
        begin = np.cumsum(n_blocks) - n_blocks
        block = np.arange(n_blocks.sum()) + np.repeat(starts // BLOCK - begin, n_blocks)
        first = np.maximum(np.repeat(starts, n_blocks), block * BLOCK)
        last = np.minimum(np.repeat(ends, n_blocks), (block + 1) * BLOCK)
        return block, first - block * BLOCK, last - first
