"""The naive twins of sampling plans: `dforest.core.sampling` again, slow and plain.

A twin has the name and the parameters of its plan. It draws all rows at once; where the core counts the ones of a word, a twin
looks at one bit after another, and where the core goes down a tree of blocks in a loop, a twin calls itself.
"""

from dataclasses import dataclass

import numpy as np

from dforest.testing.streams import BOOTSTRAP_DRAW, BOOTSTRAP_SPLIT, SUBSAMPLE_DRAW, SUBSAMPLE_SHARE, Stream

BLOCK = 4096  # rows


@dataclass(frozen=True)
class AllRows:
    """Every row once."""

    def counts(self, n_rows, seed):
        """How often the tree of a seed draws each row: ndarray of shape (n_rows,), dtype uint32."""
        return np.ones(n_rows, np.uint32)


@dataclass(frozen=True)
class Bootstrap:
    """Rows drawn with replacement."""

    n_draws: int

    def counts(self, n_rows, seed):
        """How often the tree of a seed draws each row: ndarray of shape (n_rows,), dtype uint32."""
        counts = np.zeros(n_rows, np.uint32)

        def deal(number, first, n_blocks, n):
            """Deal n draws out to some blocks of rows: down a binary tree with nodes numbered as in a heap."""
            rows = min(n_rows, (first + n_blocks) * BLOCK) - first * BLOCK
            if rows <= 0:  # padding
                return
            if n_blocks == 1:
                stream = Stream(seed, first, BOOTSTRAP_DRAW)
                for _ in range(n):
                    counts[first * BLOCK + stream.below(rows)] += 1
                return
            half = n_blocks // 2
            left_rows = min(rows, half * BLOCK)
            stream = Stream(seed, number, BOOTSTRAP_SPLIT)
            if left_rows == rows:
                left = n
            elif 2 * left_rows == rows:  # a random bit a draw, the lowest of a word first
                left = 0
                for i in range(n):
                    if i % 32 == 0:
                        word = stream.next()
                    left += word >> i % 32 & 1
            else:
                left = sum(stream.below(rows) < left_rows for _ in range(n))
            deal(2 * number, first, half, left)
            deal(2 * number + 1, first + half, half, n - left)

        n_blocks = -(-n_rows // BLOCK)
        deal(1, 0, 1 << (n_blocks - 1).bit_length(), self.n_draws)
        return counts


@dataclass(frozen=True)
class Subsample:
    """Rows drawn without replacement, by a seed of their own."""

    n_draws: int
    seed: int

    def counts(self, n_rows, seed):
        """Whether each row is drawn: ndarray of shape (n_rows,), dtype uint32. The tree's seed doesn't count."""
        n_draws = min(self.n_draws, n_rows)
        counts = np.zeros(n_rows, np.uint32)
        rounding = Stream(self.seed, 0, SUBSAMPLE_SHARE).below(n_rows)
        for block, first in enumerate(range(0, n_rows, BLOCK)):
            rows = list(range(first, min(first + BLOCK, n_rows)))
            share = (n_draws * (rows[-1] + 1) + rounding) // n_rows - (n_draws * first + rounding) // n_rows
            stream = Stream(self.seed, block, SUBSAMPLE_DRAW)
            for i, row in enumerate(rows):
                counts[row] = stream.below(len(rows) - i) < share
                share -= int(counts[row])
        return counts


_TWINS = {twin.__name__: twin for twin in (AllRows, Bootstrap, Subsample)}


def twin_of(plan):
    """The twin of a sampling plan of the core."""
    return _TWINS[type(plan).__name__](*(getattr(plan, name) for name in plan.parameters))
