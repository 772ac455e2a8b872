"""The rows that trees are grown on, and their weights: the user's, times those of classes, and as integers.

X may come in several *parts*, the rows of one part after those of another, and several ranks may have rows of their own
(`dforest.spmd.communicator`). What holds for all rows follows from those of all parts and ranks. Trees add up integers in place
of weights: see "Weights and targets as integers" in the maths.
"""

from copy import copy
from dataclasses import dataclass

import numpy as np

from dforest.core.integer_weights import IntegerWeights, integer_weights
from dforest.core.sparse_rows import joined
from dforest.engines.rows import RowShare
from dforest.spmd.communicator import ALONE, Communicator


class TrainingRows:
    """The rows of positive weight.

    Parameters
    ----------
    parts : list of (ndarray of shape (n_rows of the part, n_features), or SparseRows)
        X.
    y : ndarray of shape (n_rows,)
        Class numbers, or numbers, of the rows of all parts.
    sample_weight : ndarray of shape (n_rows,), dtype float64, or None
        Weights from 0; None means that all are 1.
    ranks : Communicator, default=ALONE
        Who else has rows.
    places : sequence of int, optional
        Where each part comes in the order of the parts of all ranks: see `RowShare.agreed`. None means that the parts of a rank
        come after those of lower ranks.

    Attributes
    ----------
    parts, y : list of ndarray, ndarray
        What was given, for the rows of positive weight.
    sample_weight : ndarray or None
        The weights of these rows as the user gave them.
    weight : ndarray or None
        `sample_weight` times the weights of the rows' classes.
    lengths : list of int
        How many rows were given, by part.
    kept : ndarray of bool
        Which of the rows that were given have positive weight.
    ranks : Communicator
    share : RowShare
        Which of the rows of all ranks these are; `number` sets it.
    groups : ndarray of shape (n_rows,), or None
        The groups of these rows, which `fit` sets if it is given any.
    """

    def __init__(self, parts, y, sample_weight, ranks=ALONE, places=None):
        self.parts, self.y, self.sample_weight, self.weight = list(parts), y, sample_weight, sample_weight
        self.ranks, self._places = ranks, [ranks.rank] * len(self.parts) if places is None else places
        self.kept, self.lengths = np.ones(len(y), bool), [len(part) for part in self.parts]
        self.share = self.groups = None
        self._drop_zeros()

    def _drop_zeros(self):
        if self.weight is None or self.weight.all():
            return
        positive = self.weight > 0
        self.kept[self.kept] = positive
        ends = np.cumsum([len(part) for part in self.parts])
        self.parts = [part[positive[end - len(part) : end]] for part, end in zip(self.parts, ends, strict=True)]
        self.y, self.weight = self.y[positive], self.weight[positive]
        if self.sample_weight is not None:
            self.sample_weight = self.sample_weight[positive]

    def apply_class_weight(self, factors):
        """Multiply the weight of each row by its entry in `factors`; None means 1. A collective, unless that is None."""
        if factors is None:
            return
        if not self.ranks.any(factors.any()):
            raise ValueError("`class_weight` is zero for the classes of all rows of positive weight")
        self.weight = _weights_by_class(factors, self.sample_weight)
        self._drop_zeros()

    def of_output(self, output):
        """These rows with one of the columns of y."""
        rows = copy(self)
        rows.y = np.ascontiguousarray(self.y[:, output])
        return rows

    @property
    def is_divided(self):
        """Whether the rows lie on several ranks, or in several parts of this one."""
        return self.ranks.size > 1 or len(self.parts) != 1

    def of_all(self, own):
        """What the rows of all ranks have, by number, given what those of this rank have. A collective."""
        return self.share.gathered(self.ranks, own) if self.is_divided else own

    def kept_of_all(self):
        """Which of the rows that all ranks were given have positive weight, as one process would have them, or None: all.

        A collective.
        """
        if not self.ranks.any(not self.kept.all()):
            return None
        if not self.is_divided:
            return self.kept
        return RowShare.agreed(self.ranks, self._places, self.lengths).gathered(self.ranks, self.kept)

    def number(self):
        """Number the rows, none of which will be dropped any more, through all ranks: set `share`. A collective."""
        self.share = RowShare.agreed(self.ranks, self._places, [len(part) for part in self.parts])

    @property
    def n_rows(self):
        """Number of training rows of all ranks, once they have been numbered."""
        return self.share.n_rows

    def extent(self):
        """(least, greatest) entry of y among the rows of all ranks. A collective."""
        y = self.y.astype(np.float64, copy=False)
        least = np.array([y.min(initial=np.inf), -y.max(initial=-np.inf)])
        least = self.ranks.least(least)
        return float(least[0]), -float(least[1])

    def integer_weight(self):
        """The `IntegerWeights` of the rows. A collective."""
        if self.weight is None:
            return IntegerWeights(None)
        found = integer_weights(self.weight, self.ranks)
        return found if self.max_weight(found.integers) > 1 else found._replace(integers=None)

    def max_weight(self, weight):
        """The largest of all ranks' integer weights, given this rank's, or None if all are 1. A collective."""
        return 1 if weight is None else int(self.ranks.greatest(np.array([weight.max(initial=1)], np.int64))[0])

    @property
    def X(self):
        """The rows of all parts in one matrix."""
        return joined(self.parts)

    def integer_bin_weight(self):
        """Integer weights of the rows without those of their classes, for bins; None if all are 1. A collective."""
        return None if self.sample_weight is None else integer_weights(self.sample_weight, self.ranks).integers


def _weights_by_class(factors, sample_weight):
    """The weights of rows times the factors of their classes. Raises ValueError if one is beyond the range of float64."""
    with np.errstate(over="ignore", under="ignore"):
        weight = factors if sample_weight is None else factors * sample_weight
    if not (np.isfinite(weight) & ((weight > 0) | (factors == 0))).all():
        raise ValueError("`class_weight` times `sample_weight` is beyond the range of float64; rescale one of them")
    return weight


@dataclass(frozen=True, eq=False)
class ClassBalance:
    """Weighs draws so that each class among them has an equal share of their total weight, which stays what it was.

    Its methods are collectives.

    Parameters
    ----------
    classes : ndarray of shape (n_rows,) or (n_rows, n_outputs), dtype int32
        Class numbers of the training rows of this rank. The factors of several outputs are multiplied.
    n_classes : int or list of int
        Of each output.
    sample_weight : ndarray of shape (n_rows,), dtype float64, or None
        Positive weights; None means that all are 1.
    ranks : Communicator, default=ALONE
        Who else has rows.
    """

    classes: np.ndarray
    n_classes: int
    sample_weight: np.ndarray | None = None
    ranks: Communicator = ALONE

    @classmethod
    def of(cls, rows, n_classes):
        """The balance of the classes of `TrainingRows`."""
        return cls(rows.y, n_classes, rows.sample_weight, rows.ranks)

    def __getstate__(self):
        # Only what a process without other ranks keeps of its rows is stored: the default is right for it.
        return {name: value for name, value in vars(self).items() if name != "ranks"}

    def _by_output(self):
        """(class numbers, their number) of each output."""
        if self.classes.ndim == 1:
            return [(self.classes, self.n_classes)]
        return list(zip(self.classes.T, self.n_classes, strict=True))

    def class_factors(self, counts):
        """The factors of the weights of the classes of each output, 0 for classes without draws.

        Parameters
        ----------
        counts : ndarray of shape (n_trees, n_rows)
            How often each tree draws each row of this rank.

        Returns
        -------
        list of ndarray of shape (n_trees, n_classes), dtype float64
        """
        weights = IntegerWeights(None)
        if self.sample_weight is not None:
            weights = integer_weights(self.sample_weight, self.ranks)
        n_draws = self.ranks.sum(counts.sum(axis=1, dtype=np.int64))
        by_output = []
        for classes, n_classes in self._by_output():
            totals, shifts = self._class_totals(weights, counts, n_draws, classes, n_classes)
            factors = np.zeros(totals.shape)
            for factor, total, shift in zip(factors, totals, shifts, strict=True):
                there = total > 0
                if shift.any():
                    total = np.ldexp(total.astype(np.float64), -shift)
                with np.errstate(over="ignore"):  # which is refused where weights are multiplied by it
                    factor[there] = total.sum().item() / (np.count_nonzero(there) * total[there])
            by_output.append(factors)
        return by_output

    def _class_totals(self, weights, counts, n_draws, classes, n_classes):
        """The weight of each class in each tree, as integers, and shifts: those times 2**-shift are in units of the weights."""
        totals, shifts = np.zeros((2, len(counts), n_classes), np.int64)
        mass = 1 if weights.integers is None else weights.integers.astype(np.int64)
        if weights.exact is not None:  # a class whose rows are all light has integers of its own
            in_units, max_weight = weights.in_units, np.zeros(totals.shape)
            for highest, count in zip(max_weight, counts, strict=True):
                np.maximum.at(highest, classes[count > 0], in_units[count > 0])
            bits = 62 - np.frexp(n_draws)[1]
            shifts = bits[:, None] - np.frexp(self.ranks.greatest(max_weight))[1]
        for total, count, shift in zip(totals, counts, shifts, strict=True):
            if weights.exact is not None:
                mass = np.rint(np.ldexp(np.where(count > 0, in_units, 0.0), shift[classes])).astype(np.int64)
            np.add.at(total, classes, count.astype(np.int64) * mass)
        return self.ranks.sum(totals), shifts

    def _row_factors(self, factors, tree, rows=slice(None)):
        """The factors of the weights of some rows in a tree, given what `class_factors` returned."""
        of_outputs = [factor[tree][classes[rows]] for factor, (classes, _) in zip(factors, self._by_output(), strict=True)]
        with np.errstate(over="ignore", under="ignore"):  # which is refused where weights are multiplied by it
            return of_outputs[0] if len(of_outputs) == 1 else np.prod(of_outputs, axis=0)

    def factors(self):
        """The factor of each row's weight, if each row is drawn once."""
        return self._row_factors(self.class_factors(np.ones((1, len(self.classes)), np.int64)), 0)

    def integer_weights(self, counts):
        """Integer weights of the rows, for each tree by the rows that it draws.

        Parameters
        ----------
        counts : ndarray of shape (n_trees, n_rows)
            As of `class_factors`.

        Returns
        -------
        list of IntegerWeights
            Of each tree; for rows that a tree does not draw, the integers and exact weights are 1.
        """
        factors, of_trees = self.class_factors(counts), []
        for tree, count in enumerate(counts):
            is_drawn = count > 0
            own = None if self.sample_weight is None else self.sample_weight[is_drawn]
            weight = _weights_by_class(self._row_factors(factors, tree, is_drawn), own)
            found = integer_weights(weight, self.ranks)
            integers = np.ones(len(count), np.uint32)
            integers[is_drawn] = found.integers
            exact = None
            if found.exact is not None:
                exact = np.ones(len(count))
                exact[is_drawn] = found.exact
            of_trees.append(found._replace(integers=integers, exact=exact))
        return of_trees
