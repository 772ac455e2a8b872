"""Sampling: which rows each tree of a forest is grown on. Give an object to a forest as `bootstrap`.

A `Sampling` is asked once per fit for the plan of its trees, a `SamplingPlan`, from which all else follows: any tree's draws are
computed from the plan and the tree's seed whenever they are needed, on any number of threads and on devices. For a sampling of
your own, subclass `Sampling`, and have `plan` return one of the plans here: a `Strata` or `Groups` of arrays that you have made.
The head of ``dforest/core/sampling.pxd`` is the contract of plans of other kinds, which are written in Cython.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np

from dforest.core.sampling import MOST_DRAWS, AllRows, Bootstrap, SamplingPlan, Subsample
from dforest.core.strata import Groups, Strata

__all__ = [
    "AllRows",
    "BlockSampling",
    "Bootstrap",
    "GroupSampling",
    "Groups",
    "RowSampling",
    "SampledRows",
    "Sampling",
    "SamplingPlan",
    "Strata",
    "StratifiedSampling",
    "Subsample",
    "WeightedSampling",
]

_WITHOUT_REPLACEMENT = 0.632  # of rows: a bootstrap draws this share of the rows at least once


class SampledRows(NamedTuple):
    """What a `Sampling` is told of the training rows, which are those of positive weight.

    If several ranks have rows, these are the rows of all of them, in the order in which one process would have them, and each
    rank asks for a plan.

    Attributes
    ----------
    n_rows : int
        Number of training rows.
    classes : ndarray of shape (n_rows,), dtype int32, or None
        The number of each row's class; None in regression, and where the sampling does not need classes.
    labels : ndarray of shape (n_classes,), or None
        The classes by number; None where `classes` is.
    weight : ndarray of shape (n_rows,), dtype uint32, or None
        Integers in the proportions of the rows' weights, those of classes included; None means that all are equal, and is what a
        sampling is told that has not set `ignores_weights`.
    groups : ndarray of shape (n_rows,), or None
        What `fit` was given as `groups`.
    max_samples : int, float or None
        The forest's parameter.
    """

    n_rows: int
    classes: np.ndarray | None
    labels: np.ndarray | None
    weight: np.ndarray | None
    groups: np.ndarray | None
    max_samples: object


class Sampling(ABC):
    """How trees draw their rows: base class.

    Objects are compared, copied and pickled with the forests that have them as a parameter; a frozen dataclass does this well.
    """

    # Whether rows are drawn by their weights, so that trees count each draw as 1.
    ignores_weights = False
    # Whether `fit` may be given groups.
    needs_groups = False
    # Whether the plan depends on the rows' classes, which ranks then send each other.
    needs_classes = True

    @abstractmethod
    def plan(self, rows):
        """The sampling plan for some training rows.

        Parameters
        ----------
        rows : SampledRows

        Returns
        -------
        SamplingPlan

        Raises
        ------
        ValueError
            If there is none for these rows.
        """


def _count(max_samples, n, replace, what):
    """How many draws a value of `max_samples` means, of `n` things called `what`."""
    if max_samples is None:
        max_samples = 1.0 if replace else _WITHOUT_REPLACEMENT
    if isinstance(max_samples, Integral):
        count = int(max_samples)
    else:
        count = round(max(1.0, max_samples * n))
    most, kind = (MOST_DRAWS, "with") if replace else (n, "without")
    if count > most:
        raise ValueError(
            f"max_samples={max_samples} is too much for {n} {what}; allowed are up to {most} draws of a tree, {kind} replacement"
        )
    return count


@dataclass(frozen=True)
class RowSampling(Sampling):
    """Rows are drawn with equal chances.

    `max_samples` of the forest is the number of draws of a tree, or a share of the rows; None means as many draws as rows if they
    are drawn with replacement.

    Parameters
    ----------
    replace : bool, default=True
        Whether rows are drawn with replacement, which is the bootstrap. If not, all rows that a tree draws are different, and
        ``max_samples=None`` means 63.2 % of the rows, which is the share that a bootstrap draws at least once.

    References
    ----------
    P. Buehlmann, B. Yu, "Analyzing bagging", Annals of Statistics 30(4), 2002.
    """

    replace: bool = True
    needs_classes = False

    def plan(self, rows):
        n_draws = _count(rows.max_samples, rows.n_rows, self.replace, "rows")
        return Bootstrap(n_draws) if self.replace else Subsample(n_draws)


@dataclass(frozen=True)
class StratifiedSampling(Sampling):
    """Each class has a fixed number of draws in every tree.

    Parameters
    ----------
    sizes : None, "balanced" or dict, default=None
        None gives classes draws in proportion to their rows, `max_samples` of the forest in all, and at least one each.
        "balanced" draws equally often from each class, and as often as the smallest class has rows, which makes a balanced random
        forest [1]_; a float `max_samples` is then a share of the smallest class's rows, and an int the number of draws from all
        classes together. A dict has, for each class, an int as the number of draws, or a float as the share of the class's rows;
        `max_samples` must then be None.
    replace : bool, default=True
        Whether the rows of a class are drawn with replacement. If not, ``max_samples=None`` means 63.2 % of all rows if `sizes`
        is None, and as many rows of each class as the smallest class has if `sizes` is "balanced".

    References
    ----------
    .. [1] C. Chen, A. Liaw, L. Breiman, "Using random forest to learn imbalanced data", University of California, Berkeley, 2004.
    """

    sizes: object = None
    replace: bool = True

    def plan(self, rows):
        if rows.classes is None:
            raise ValueError("rows are drawn by class, but regression has no classes; allowed is to draw rows, groups or blocks")
        known = np.bincount(rows.classes, minlength=len(rows.labels))
        if isinstance(self.sizes, dict):
            n_draws = self._given(rows, known)
        elif self.sizes == "balanced":
            n_draws = self._balanced(rows, known)
        elif self.sizes is None:
            n_draws = self._in_proportion(rows, known)
        else:
            raise ValueError(f'sizes={self.sizes!r}; allowed are None, "balanced" and dicts of numbers by class')
        return Strata(rows.classes.astype(np.uint32), n_draws, self.replace)

    def _given(self, rows, known):
        if rows.max_samples is not None:
            raise ValueError(
                f"max_samples={rows.max_samples}, but sizes={self.sizes!r} sets the number of draws; allowed is max_samples=None"
            )
        labels = rows.labels.tolist()
        unknown = [label for label in self.sizes if label not in labels]
        if unknown:
            raise ValueError(f"sizes has the class {unknown[0]!r}; the classes are {labels}")
        n_draws = np.zeros(len(known), np.int64)
        for k, label in enumerate(labels):
            if label not in self.sizes:
                raise ValueError(f"sizes={self.sizes!r} leaves the class {label!r} out; allowed are numbers for all of {labels}")
            size = self.sizes[label]
            is_share = isinstance(size, float)
            most = 1.0 if is_share and not self.replace else MOST_DRAWS
            if not (is_share or isinstance(size, Integral)) or not 0 < size <= most:
                raise ValueError(
                    f"sizes has {size!r} for the class {label!r}; allowed are numbers of draws from 1, and shares of the class's "
                    f"rows above 0{'' if self.replace else ', up to 1'}"
                )
            n_draws[k] = max(1, round(size * int(known[k]))) if is_share else size
            if not self.replace and n_draws[k] > known[k] > 0:
                raise ValueError(
                    f"sizes has {size!r} for the class {label!r}, which has only {known[k]} rows to draw from without replacement"
                )
        return np.where(known > 0, n_draws, 0)

    def _balanced(self, rows, known):
        smallest, there = int(known[known > 0].min()), known > 0
        if rows.max_samples is None:
            of_each = smallest
        elif isinstance(rows.max_samples, Integral):
            of_each = int(rows.max_samples) // int(there.sum())
        else:
            of_each = max(1, round(rows.max_samples * smallest))
        if of_each < 1 or (not self.replace and of_each > smallest):
            raise ValueError(
                f"max_samples={rows.max_samples} makes {of_each} draws from each of {there.sum()} classes, the smallest of which "
                f"has {smallest} rows; allowed are {'numbers from 1' if self.replace else f'1 to {smallest}'} for each"
            )
        return np.where(there, of_each, 0)

    def _in_proportion(self, rows, known):
        n_draws = _count(rows.max_samples, rows.n_rows, self.replace, "rows")
        there = known > 0
        if n_draws < there.sum():
            raise ValueError(
                f"max_samples={rows.max_samples} makes {n_draws} draws, but each of {there.sum()} classes needs at least one"
            )
        shares = [int(size) * n_draws for size in known]  # of one n_rows-th of a draw
        counts = np.array([max(share // rows.n_rows, int(size > 0)) for share, size in zip(shares, known, strict=True)])
        rest = n_draws - int(counts.sum())
        if rest > 0:  # to those whose shares were cut the most; of equal ones, to the first
            most = sorted(np.flatnonzero(there).tolist(), key=lambda k: -(shares[k] % rows.n_rows))
            counts[most[:rest]] += 1
        for _ in range(-rest):  # classes that have one draw although their share is less take it from the largest
            counts[np.argmax(counts)] -= 1
        return counts.astype(np.int64)


@dataclass(frozen=True)
class WeightedSampling(Sampling):
    """Rows are drawn with replacement, with chances in proportion to their weights; in a tree each draw then counts as 1.

    The forests of scikit-learn treat `sample_weight` in this way from version 1.9 on. A row's chance is in proportion to the
    product of its weight and that of its class (`class_weight`). `max_samples` of the forest is the number of draws of a tree, or
    a share of the rows; None means as many draws as rows.
    """

    ignores_weights = True
    needs_classes = False

    def plan(self, rows):
        n_draws = _count(rows.max_samples, rows.n_rows, True, "rows")
        return Bootstrap(n_draws) if rows.weight is None else Strata(None, np.array([n_draws]), True, rows.weight)


@dataclass(frozen=True)
class GroupSampling(Sampling):
    """Groups of rows are drawn: a tree is grown on all rows of a group, or on none of them.

    Out-of-bag estimates of a row are thus by trees that have seen no row of its group. `fit` is given the group of each row as
    `groups`. `max_samples` of the forest is a number or a share of groups; None means as many draws as there are groups if they
    are drawn with replacement.

    Parameters
    ----------
    replace : bool, default=True
        Whether groups are drawn with replacement. If not, ``max_samples=None`` means 63.2 % of the groups.

    References
    ----------
    C. A. Field, A. H. Welsh, "Bootstrapping clustered data", Journal of the Royal Statistical Society B 69(3), 2007.
    """

    replace: bool = True
    needs_groups = True
    needs_classes = False

    def plan(self, rows):
        if rows.groups is None:
            raise ValueError("groups=None; rows are drawn by groups, so `fit` needs the group of each row")
        _, first, number = np.unique(rows.groups, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.uint32)
        rank[np.argsort(first)] = np.arange(len(first), dtype=np.uint32)
        return Groups(rank[number], _count(rows.max_samples, len(first), self.replace, "groups"), self.replace)


@dataclass(frozen=True)
class BlockSampling(Sampling):
    """Blocks of consecutive rows are drawn, as for time series, whose neighbouring rows depend on each other.

    Blocks don't overlap: the first `length` rows are one, the next `length` rows another, and so on; the last may have fewer.
    `max_samples` of the forest is a number or a share of blocks; None means as many draws as there are blocks if they are drawn
    with replacement.

    Parameters
    ----------
    length : int
        Rows of a block.
    replace : bool, default=True
        Whether blocks are drawn with replacement. If not, ``max_samples=None`` means 63.2 % of the blocks.

    References
    ----------
    E. Carlstein, "The use of subseries values for estimating the variance of a general statistic from a stationary sequence",
    Annals of Statistics 14(3), 1986.
    """

    length: int
    replace: bool = True
    needs_classes = False

    def plan(self, rows):
        if not isinstance(self.length, Integral) or not 1 <= self.length <= rows.n_rows:
            raise ValueError(f"length={self.length!r}; allowed are 1 to {rows.n_rows} rows of a block")
        n_blocks = -(-rows.n_rows // self.length)
        n_draws = _count(rows.max_samples, n_blocks, self.replace, "blocks")
        return Groups(None, n_draws, self.replace, rows.n_rows, self.length)


# The values of `bootstrap` that are texts.
BY_NAME = {
    "subsample": RowSampling(replace=False),
    "stratified": StratifiedSampling(),
    "balanced": StratifiedSampling("balanced"),
    "weighted": WeightedSampling(),
    "group": GroupSampling(),
}


def sampling_of(bootstrap):
    """The `Sampling` that a value of `bootstrap` means; None: every row once."""
    if isinstance(bootstrap, Sampling):
        return bootstrap
    if isinstance(bootstrap, str):
        return BY_NAME[bootstrap]
    return RowSampling() if bootstrap else None
