"""Sampling: which rows each tree of a forest is grown on. Give an object to a forest as `bootstrap`.

A `Sampling` is asked once in each fit for the plan of the trees, a `SamplingPlan`. The draws of a tree follow from the plan and
the tree's seed, and are computed whenever they are needed, on any number of threads and on devices. For a sampling of your own,
subclass `Sampling`, and let its method `plan` return one of the plans of this module, such as a `Strata` or `Groups` made of your
own arrays. Plans of other kinds are written in Cython; the head of ``dforest/core/sampling.pxd`` is their contract.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np

import dforest.built  # noqa: F401
from dforest.core.draws import Groups, Strata
from dforest.core.sampling import MAX_DRAWS, AllRows, Bootstrap, SamplingPlan, Subsample

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
    """Description of the training rows, which the method `plan` of a `Sampling` is given.

    Only rows of positive weight count as training rows. If several processes have rows, these are the rows of all of them, in the
    order in which one process would have them, and each process asks for a plan.

    Attributes
    ----------
    n_rows : int
        Number of training rows.
    classes : ndarray of shape (n_rows,), dtype int32, or None
        Number of the class of each row; None for regression, and if the sampling does not need classes.
    labels : ndarray of shape (n_classes,), or None
        The class labels by number; None if `classes` is None.
    weight : ndarray of shape (n_rows,), dtype uint32 or uint64, or None
        Integers, which add up to less than 2**63, in proportion to the weights of the rows, class weights included. None means
        that all weights are equal; it is always None for a sampling that has not set `ignores_weights`.
    groups : ndarray of shape (n_rows,), or None
        Group of each row, as `fit` was given them.
    max_samples : int, float or None
        The forest's parameter `max_samples`.

    Examples
    --------
    >>> from dforest.sampling import RowSampling, SampledRows
    >>> rows = SampledRows(1000, classes=None, labels=None, weight=None, groups=None, max_samples=0.5)
    >>> RowSampling().plan(rows)
    Bootstrap(n_draws=500)
    """

    n_rows: int
    classes: np.ndarray | None
    labels: np.ndarray | None
    weight: np.ndarray | None
    groups: np.ndarray | None
    max_samples: object


class Sampling(ABC):
    """Base class of samplings, which say how the trees of a forest draw their rows.

    A subclass overrides `plan`. As objects are compared, copied and pickled together with the forests that have them as a
    parameter, a subclass is best a frozen dataclass. It may set three attributes of the class: ``ignores_weights = True`` if rows
    are drawn by their weights, so that each draw counts as 1 in trees; ``needs_groups = True`` if `fit` must be given groups; and
    ``needs_classes = False`` if the plan does not depend on classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import RandomForestRegressor
    >>> from dforest.sampling import Sampling, Strata
    >>> class RecentRows(Sampling):
    ...     def plan(self, rows):  # half of the draws from the last tenth of the rows
    ...         recent = np.arange(rows.n_rows) >= 0.9 * rows.n_rows
    ...         return Strata(recent.astype(np.uint32), np.array([50, 50]), True)
    >>> X = np.arange(100.0)[:, None]
    >>> forest = RandomForestRegressor(10, bootstrap=RecentRows(), random_state=0).fit(X, X[:, 0])
    >>> int((forest.estimators_samples_[0] >= 90).sum())
    50
    """

    # Whether rows are drawn by their weights, so that trees count each draw as 1.
    ignores_weights = False
    # Whether `fit` may be given groups.
    needs_groups = False
    # Whether the plan depends on the rows' classes, which ranks then send each other.
    needs_classes = True

    @abstractmethod
    def plan(self, rows):
        """Return the sampling plan of a fit, which all of its trees share.

        Parameters
        ----------
        rows : SampledRows
            Description of the training rows.

        Returns
        -------
        SamplingPlan
            How each tree draws from these rows.

        Raises
        ------
        ValueError
            If such rows can't be drawn in this way.
        """


def _count(max_samples, n, replace, what):
    """How many draws a value of `max_samples` means, of `n` things called `what`."""
    if max_samples is None:
        max_samples = 1.0 if replace else _WITHOUT_REPLACEMENT
    if isinstance(max_samples, Integral):
        count = int(max_samples)
    else:
        count = round(max(1.0, max_samples * n))
    most, kind = (MAX_DRAWS, "with") if replace else (n, "without")
    if count > most:
        raise ValueError(
            f"max_samples={max_samples} is too much for {n} {what}; allowed are up to {most} draws of a tree, {kind} replacement"
        )
    return count


@dataclass(frozen=True)
class RowSampling(Sampling):
    """A sampling that draws rows with equal chances: ``bootstrap=True`` or, without replacement, ``"subsample"``.

    The forest's parameter `max_samples` is the number of draws of a tree, or a share of the rows. None means as many draws as
    there are rows if they are drawn with replacement.

    Parameters
    ----------
    replace : bool, default=True
        Whether rows are drawn with replacement, which is the bootstrap. If False, all rows that a tree draws are different, and
        ``max_samples=None`` means 63.2 % of the rows, which is the share that a bootstrap draws at least once.

    References
    ----------
    P. Buehlmann, B. Yu, "Analyzing bagging", Annals of Statistics 30(4), 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> from dforest.sampling import RowSampling
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, bootstrap=RowSampling(replace=False), max_samples=0.5, random_state=0).fit(X, y)
    >>> len(forest.estimators_samples_[0])
    75
    """

    replace: bool = True
    needs_classes = False

    def plan(self, rows):
        n_draws = _count(rows.max_samples, rows.n_rows, self.replace, "rows")
        return Bootstrap(n_draws) if self.replace else Subsample(n_draws)


@dataclass(frozen=True)
class StratifiedSampling(Sampling):
    """A sampling that draws a fixed number of rows from each class in every tree, for classification.

    ``bootstrap="stratified"`` stands for ``StratifiedSampling()``, and "balanced" for ``StratifiedSampling("balanced")``.

    Parameters
    ----------
    sizes : None, "balanced" or dict, default=None
        Number of draws from each class:

        - None gives each class draws in proportion to its rows, and at least one; `max_samples` of the forest is the number of
          all draws.
        - "balanced" draws equally often from each class, as often as the smallest class has rows, which makes a balanced random
          forest [1]_. `max_samples` may then be a float, a share of the rows of the smallest class, or an int, the number of
          draws from all classes together.
        - A dict has an entry for each class: an int is the number of draws, and a float a share of the rows of the class.
          `max_samples` must then be None.
    replace : bool, default=True
        Whether the rows of a class are drawn with replacement. If False, ``max_samples=None`` means 63.2 % of all rows if `sizes`
        is None, and as many rows of each class as the smallest class has if `sizes` is "balanced".

    References
    ----------
    .. [1] C. Chen, A. Liaw, L. Breiman, "Using random forest to learn imbalanced data", University of California, Berkeley, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import RandomForestClassifier
    >>> from dforest.sampling import StratifiedSampling
    >>> X, y = np.arange(100.0)[:, None], np.arange(100) >= 90
    >>> forest = RandomForestClassifier(10, bootstrap=StratifiedSampling({False: 20, True: 20}), random_state=0).fit(X, y)
    >>> int(y[forest.estimators_samples_[0]].sum())
    20
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
            is_share = isinstance(size, float | np.floating)
            most = 1.0 if is_share and not self.replace else MAX_DRAWS
            if not (is_share or isinstance(size, Integral)) or not 0 < size <= most:
                raise ValueError(
                    f"sizes has {size!r} for the class {label!r}; allowed are numbers of draws from 1, and shares of the class's "
                    f"rows above 0{'' if self.replace else ', up to 1'}"
                )
            n_draws[k] = max(1, round(float(size) * int(known[k]))) if is_share else size
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
    """A sampling that draws rows with replacement, with chances in proportion to their weights: ``bootstrap="weighted"``.

    Each draw counts as 1 in the tree. The forests of scikit-learn treat `sample_weight` in this way from version 1.9 on. The
    chance of a row is in proportion to the product of its sample weight and the weight of its class (`class_weight`). The
    forest's parameter `max_samples` is the number of draws of a tree, or a share of the rows; None means as many draws as there
    are rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import RandomForestRegressor
    >>> from dforest.sampling import WeightedSampling
    >>> X, weight = np.arange(100.0)[:, None], np.where(np.arange(100) < 50, 1000.0, 1.0)
    >>> forest = RandomForestRegressor(10, bootstrap=WeightedSampling(), random_state=0).fit(X, X[:, 0], weight)
    >>> bool((forest.estimators_samples_[0] < 50).mean() > 0.95)
    True
    """

    ignores_weights = True
    needs_classes = False

    def plan(self, rows):
        n_draws = _count(rows.max_samples, rows.n_rows, True, "rows")
        return Bootstrap(n_draws) if rows.weight is None else Strata(None, np.array([n_draws]), True, rows.weight)


@dataclass(frozen=True)
class GroupSampling(Sampling):
    """A sampling that draws whole groups of rows, such as all rows of a patient: ``bootstrap="group"``.

    A tree is grown on all rows of a group or on none of them, so out-of-bag predictions for a row come from trees that have seen
    no row of its group. `fit` must be given the group of each row as `groups`. The forest's parameter `max_samples` is a number
    or a share of groups; None means as many draws as there are groups if they are drawn with replacement.

    Parameters
    ----------
    replace : bool, default=True
        Whether groups are drawn with replacement. If False, ``max_samples=None`` means 63.2 % of the groups.

    References
    ----------
    C. A. Field, A. H. Welsh, "Bootstrapping clustered data", Journal of the Royal Statistical Society B 69(3), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import RandomForestRegressor
    >>> from dforest.sampling import GroupSampling
    >>> X, groups = np.arange(12.0)[:, None], np.repeat(["Ada", "Ben", "Cleo"], 4)
    >>> sampling = GroupSampling(replace=False)
    >>> forest = RandomForestRegressor(10, bootstrap=sampling, random_state=0).fit(X, X[:, 0], groups=groups)
    >>> len(set(groups[forest.estimators_samples_[0]])), len(forest.estimators_samples_[0])
    (2, 8)
    """

    replace: bool = True
    needs_groups = True
    needs_classes = False

    def plan(self, rows):
        if rows.groups is None:
            raise ValueError(
                "groups=None; rows are drawn by groups, so `fit` needs the group of each row. Cross-validation and searches pass "
                'groups on in params={"groups": groups}, after sklearn.set_config(enable_metadata_routing=True) and '
                "estimator.set_fit_request(groups=True)"
            )
        _, first, number = np.unique(rows.groups, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.uint32)
        rank[np.argsort(first)] = np.arange(len(first), dtype=np.uint32)
        return Groups(rank[number], _count(rows.max_samples, len(first), self.replace, "groups"), self.replace)


@dataclass(frozen=True)
class BlockSampling(Sampling):
    """A sampling that draws blocks of consecutive rows, for time series, whose neighbouring rows depend on each other.

    Blocks don't overlap: the first `length` rows are one block, the next `length` rows another one, and so on; the last block may
    have fewer rows. The forest's parameter `max_samples` is a number or a share of blocks; None means as many draws as there are
    blocks if they are drawn with replacement.

    Parameters
    ----------
    length : int
        Number of rows of a block, from 1 on.
    replace : bool, default=True
        Whether blocks are drawn with replacement. If False, ``max_samples=None`` means 63.2 % of the blocks.

    References
    ----------
    E. Carlstein, "The use of subseries values for estimating the variance of a general statistic from a stationary sequence",
    Annals of Statistics 14(3), 1986.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import RandomForestRegressor
    >>> from dforest.sampling import BlockSampling
    >>> X = np.arange(100.0)[:, None]
    >>> sampling = BlockSampling(length=10, replace=False)
    >>> forest = RandomForestRegressor(10, bootstrap=sampling, random_state=0).fit(X, X[:, 0])
    >>> len(set(forest.estimators_samples_[0] // 10)), len(forest.estimators_samples_[0])
    (6, 60)
    """

    length: int
    replace: bool = True
    needs_classes = False

    def plan(self, rows):
        if not isinstance(self.length, Integral) or not 1 <= self.length <= rows.n_rows:
            raise ValueError(f"length={self.length!r}; allowed are 1 to {rows.n_rows} rows of a block")
        length = int(self.length)  # of NumPy's integers, those of few bits overflow
        n_blocks = -(-rows.n_rows // length)
        n_draws = _count(rows.max_samples, n_blocks, self.replace, "blocks")
        return Groups(None, n_draws, self.replace, rows.n_rows, length)


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
