"""Weights of training rows: the user's, times those of classes, and as integers.

Words: the *training rows* are the rows of positive weight. Trees add up integers in place of weights: see "Weights and targets
as integers" in the maths.
"""

from dataclasses import dataclass

import numpy as np

from dforest.core.data import integer_weights


class TrainingRows:
    """The rows of positive weight.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Class numbers, or numbers.
    sample_weight : ndarray of shape (n_rows,), dtype float64, or None
        Weights from 0; None means that all are 1.

    Attributes
    ----------
    X, y : ndarray
        What `X` and `y` have for the rows of positive weight.
    sample_weight : ndarray or None
        The weights of these rows as the user gave them.
    weight : ndarray or None
        `sample_weight` times the weights of the rows' classes.
    kept : ndarray of bool
        Which of the rows that were given have positive weight.
    """

    def __init__(self, X, y, sample_weight):
        self.X, self.y, self.sample_weight, self.weight = X, y, sample_weight, sample_weight
        self.kept = np.ones(len(X), bool)
        self._drop_zeros()

    def _drop_zeros(self):
        if self.weight is None or self.weight.all():
            return
        positive = self.weight > 0
        self.kept[self.kept] = positive
        self.X, self.y, self.weight = self.X[positive], self.y[positive], self.weight[positive]
        if self.sample_weight is not None:
            self.sample_weight = self.sample_weight[positive]

    def apply_class_weight(self, factors):
        """Multiply the weight of each row by its entry in `factors`; None means 1."""
        if factors is None:
            return
        if not factors.any():
            raise ValueError("`class_weight` is zero for the classes of all rows of positive weight")
        with np.errstate(over="ignore", under="ignore"):
            self.weight = factors if self.sample_weight is None else factors * self.sample_weight
        if not (np.isfinite(self.weight) & ((self.weight > 0) | (factors == 0))).all():
            raise ValueError("`class_weight` times `sample_weight` is beyond the range of float64; rescale one of them")
        self._drop_zeros()

    def integer_weight(self):
        """(integer weights, or None if all are 1; their exponent)."""
        if self.weight is None:
            return None, 0
        weight, exponent = integer_weights(self.weight)
        return (None if weight.max() == 1 else weight), exponent

    def integer_bin_weight(self):
        """Integer weights of the rows without those of their classes, for bins of equal weight; None if all are 1."""
        return None if self.sample_weight is None else integer_weights(self.sample_weight)[0]


@dataclass(frozen=True, eq=False)
class ClassBalance:
    """Weighs draws so that each class among them has an equal share of their total weight, which stays what it was.

    Parameters
    ----------
    classes : ndarray of shape (n_rows,), dtype int32
        Class numbers of the training rows.
    n_classes : int
    sample_weight : ndarray of shape (n_rows,), dtype float64, or None
        Positive weights; None means that all are 1.
    """

    classes: np.ndarray
    n_classes: int
    sample_weight: np.ndarray | None = None

    @classmethod
    def of(cls, rows, n_classes):
        """The balance of the classes of `TrainingRows`."""
        return cls(rows.y, n_classes, rows.sample_weight)

    def factors(self, counts):
        """The factor of each row's weight, given how often each row is drawn."""
        weight = 1 if self.sample_weight is None else integer_weights(self.sample_weight)[0].astype(np.int64)
        total = np.zeros(self.n_classes, np.int64)
        np.add.at(total, self.classes, counts.astype(np.int64) * weight)
        return (int(total.sum()) / (np.count_nonzero(total) * np.maximum(total, 1)))[self.classes]

    def integer_weight(self, counts):
        """(integer weights of the rows drawn, 1 for the others; their exponent), given how often each row is drawn."""
        weight = self.factors(counts)
        if self.sample_weight is not None:
            weight = weight * self.sample_weight
        drawn, integers = counts > 0, np.ones(len(counts), np.uint32)
        integers[drawn], exponent = integer_weights(weight[drawn])
        return integers, exponent
