"""The naive twins of sampling plans: `dforest.core.sampling`, `draws` and `halves` again, slow and plain.

A twin has the name and the parameters of its plan. It draws all rows at once; where the core counts the ones of a word, a twin
looks at one bit after another, and where the core goes down a tree of blocks in a loop, a twin calls itself.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from dforest.testing.streams import (
    BOOTSTRAP_DRAW,
    BOOTSTRAP_SPLIT,
    HONEST_HALF,
    SUBSAMPLE_DRAW,
    SUBSAMPLE_SHARE,
    Stream,
    tree_seed,
)

BLOCK = 4096  # rows


@dataclass(frozen=True)
class AllRows:
    """Every row once."""

    def counts(self, n_rows, seed):
        """How often the tree of a seed draws each row: ndarray of shape (n_rows,), dtype uint32."""
        return np.ones(n_rows, np.uint32)


def drawn_by_mass(mass, n_draws, seed, stratum=0):
    """How often each row is drawn, with replacement and chances in proportion to masses: ndarray of shape (n_rows,), uint32.

    Parameters
    ----------
    mass : list of int
        Of each row; 0 for rows of other strata.
    n_draws, seed, stratum : int
    """
    counts = np.zeros(len(mass), np.uint32)

    def allocate(number, first, n_blocks, n):
        """Allocate n draws to some blocks of rows: down a binary tree with nodes numbered as in a heap."""
        half = n_blocks // 2
        rows = range(first * BLOCK, min(len(mass), (first + n_blocks) * BLOCK))
        total, left_mass = sum(mass[i] for i in rows), sum(mass[i] for i in rows[: half * BLOCK])
        if n == 0:
            return
        if n_blocks == 1:
            stream = Stream(seed, stratum * 2**40 + first, BOOTSTRAP_DRAW)
            upto = list(accumulate(mass[i] for i in rows))
            for _ in range(n):
                counts[rows[bisect_right(upto, stream.below(total))]] += 1
            return
        stream = Stream(seed, stratum * 2**40 + number, BOOTSTRAP_SPLIT)
        if left_mass in (0, total):
            left = n if left_mass else 0
        elif 2 * left_mass == total:  # a random bit a draw, the lowest of a word first
            left = 0
            for i in range(n):
                if i % 32 == 0:
                    word = stream.next()
                left += word >> i % 32 & 1
        else:
            left = sum(stream.below(total) < left_mass for _ in range(n))
        allocate(2 * number, first, half, left)
        allocate(2 * number + 1, first + half, half, n - left)

    n_blocks = -(-len(mass) // BLOCK)
    allocate(1, 0, 1 << (n_blocks - 1).bit_length(), n_draws)
    return counts


def drawn_without_replacement(member, n_draws, seed, stratum=0):
    """Whether each row is drawn, which only members are: ndarray of shape (n_rows,), dtype uint32.

    Parameters
    ----------
    member : list of bool
        Of each row.
    n_draws, seed, stratum : int
    """
    counts, n_members, before = np.zeros(len(member), np.uint32), sum(member), 0
    rounding = Stream(seed, stratum, SUBSAMPLE_SHARE).below(n_members)
    for block, first in enumerate(range(0, len(member), BLOCK)):
        rows = [i for i in range(first, min(first + BLOCK, len(member))) if member[i]]
        share = (n_draws * (before + len(rows)) + rounding) // n_members - (n_draws * before + rounding) // n_members
        before += len(rows)
        stream = Stream(seed, stratum * 2**40 + block, SUBSAMPLE_DRAW)
        for i, row in enumerate(rows):
            counts[row] = stream.below(len(rows) - i) < share
            share -= int(counts[row])
    return counts


@dataclass(frozen=True)
class Bootstrap:
    """Rows drawn with replacement."""

    n_draws: int

    def counts(self, n_rows, seed):
        """How often the tree of a seed draws each row: ndarray of shape (n_rows,), dtype uint32."""
        return drawn_by_mass([1] * n_rows, self.n_draws, seed)


@dataclass(frozen=True)
class Subsample:
    """Rows drawn without replacement, by a seed of their own, or by that of the tree."""

    n_draws: int
    seed: int | None = None

    def counts(self, n_rows, seed):
        """Whether each row is drawn: ndarray of shape (n_rows,), dtype uint32."""
        return drawn_without_replacement([True] * n_rows, min(self.n_draws, n_rows), seed if self.seed is None else self.seed)


@dataclass(frozen=True, eq=False)
class Strata:
    """A given number of draws from each part of the rows."""

    stratum: np.ndarray | None
    n_draws: np.ndarray
    replace: bool
    mass: np.ndarray | None = None

    def counts(self, n_rows, seed):
        """How often the tree of a seed draws each row: ndarray of shape (n_rows,), dtype uint32."""
        counts = np.zeros(n_rows, np.uint32)
        mass = [1] * n_rows if self.mass is None else self.mass.tolist()
        for s, n in enumerate(self.n_draws.tolist()):
            member = [True] * n_rows if self.stratum is None else (self.stratum == s).tolist()
            if self.replace:
                counts += drawn_by_mass([mass[i] * member[i] for i in range(n_rows)], n, seed, s)
            elif any(member):
                counts += drawn_without_replacement(member, n, seed, s)
        return counts


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows drawn, each with all of its rows."""

    group: np.ndarray | None
    n_draws: int
    replace: bool
    n_rows: int | None = None
    length: int | None = None
    of_groups: object = None

    def counts(self, n_rows, seed):
        """How often the tree of a seed draws each row: ndarray of shape (n_rows,), dtype uint32."""
        group = [i // self.length for i in range(n_rows)] if self.group is None else self.group.tolist()
        return self.of_groups.counts(max(group) + 1, seed)[group]


@dataclass(frozen=True)
class HonestHalf:
    """Those rows of another plan's that choose the splits of an honest tree, or those that fill its leaves."""

    plan: object
    share: float
    fills_leaves: bool

    def counts(self, n_rows, seed):
        """How often the tree of a seed draws each row: ndarray of shape (n_rows,), dtype uint32."""
        counts, is_only, chooses = self.plan.counts(n_rows, seed), n_rows <= BLOCK, {}
        for block in range(-(-n_rows // BLOCK)):
            drawn = [row for row in range(block * BLOCK, min(n_rows, (block + 1) * BLOCK)) if counts[row]]
            stream = Stream(seed, block, HONEST_HALF)
            if drawn:
                n_splits = int(self.share * len(drawn) + (0.5 if is_only else stream.uniform()))
            if len(drawn) > 1:
                n_splits = min(max(n_splits, 1), len(drawn) - 1)
            for i, row in enumerate(drawn):
                chooses[row] = stream.below(len(drawn) - i) < n_splits
                n_splits -= chooses[row]
        if len(chooses) == 1:
            return counts
        if len(set(chooses.values())) == 1:
            chooses[min(chooses)] ^= True
        for row, does in chooses.items():
            if does == self.fills_leaves:
                counts[row] = 0
        return counts


@dataclass(frozen=True)
class LittleBags:
    """Rows drawn without replacement from half of all rows, which trees of a bag share."""

    n_draws: int
    n_half: int
    bag_size: int
    seed: int

    def counts(self, n_rows, seed):
        """Whether each row is drawn: ndarray of shape (n_rows,), dtype uint32."""
        number = next(t for t in range(1000) if tree_seed(self.seed, t) == seed)
        bag = tree_seed(self.seed ^ 0xBA65, number // self.bag_size)
        half = drawn_without_replacement([True] * n_rows, self.n_half, bag)
        return drawn_without_replacement(half.astype(bool).tolist(), self.n_draws, seed)


_TWINS = {twin.__name__: twin for twin in (AllRows, Bootstrap, Groups, HonestHalf, LittleBags, Strata, Subsample)}


def twin_of(plan):
    """The twin of a sampling plan of the core; of one with an order of labels, that of what is drawn."""
    plan = plan.plan if type(plan).__name__ == "WithLabelOrder" else plan
    parameters = {name: getattr(plan, name) for name in plan.parameters}
    if type(plan).__name__ == "Groups":
        parameters["of_groups"] = plan.drawing
    for name in {"plan", "of_groups"} & parameters.keys():
        parameters[name] = twin_of(parameters[name])
    return _TWINS[type(plan).__name__](**parameters)
