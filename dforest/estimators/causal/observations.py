"""What a causal forest is told of rows beside X: outcomes, treatments and instruments, as numbers.

A *treatment* is a column of numbers, of 0 and 1 if rows are treated or not, or labels of arms. Of labels, the first one in their
order, or of a categorical type in the order of its categories, is the *control*, and each other one becomes a column of 0 and 1:
whether the row is in that arm. Instruments are numbers, a column for each treatment.
"""

import warnings
from numbers import Real
from typing import NamedTuple

import numpy as np

from dforest.estimators.data.given import given_numbers, given_values
from dforest.estimators.data.validation import check_classes, check_targets
from dforest.warning import warn

RARE = 0.05  # expected shares of an arm below this, or above 1 less this, are warned of
MOST_ARMS = 50  # leaves keep a number for each pair of arms


class Observations(NamedTuple):
    """What a fit is told of its rows.

    Attributes
    ----------
    y : ndarray of shape (n_rows, n_outcomes), dtype float64
    w : ndarray of shape (n_rows, n_treatments), dtype float64
    z : ndarray of shape (n_rows, n_treatments), dtype float64, or None
    arms : ndarray of shape (n_treatments + 1,), or None
        The labels of the treatment, ascending; None: treatments are numbers.
    y_hat, w_hat, z_hat : ndarray of the shape of y, w and z, or None
        What is expected of them given X, as far as that was given.
    """

    y: np.ndarray
    w: np.ndarray
    z: np.ndarray | None
    arms: np.ndarray | None
    y_hat: np.ndarray | None
    w_hat: np.ndarray | None
    z_hat: np.ndarray | None

    @classmethod
    def read(cls, y=None, treatment=None, instrument=None, y_hat=None, w_hat=None, z_hat=None, categories=None):
        """Check what `fit` was given, and the order of labels of the treatment, if there is one.

        Raises ValueError if it is not as described.
        """
        for name, value in (("y", y), ("treatment", treatment)):
            if value is None:
                raise ValueError(f"{name}=None: a causal forest requires {name} to be passed, but the target {name} is None")
        outcomes = _columns("y", given_values("y", y))
        labels = _plain(given_values("treatment", treatment))
        arms = None
        if labels.dtype.kind in "OUST" and (labels.ndim == 1 or labels.shape[1:] == (1,)):
            w, arms = _arms(labels, categories)
        else:
            w = _columns("treatment", labels)
        z = None
        if instrument is not None:
            z = _columns("instrument", given_values("instrument", instrument))
            if z.shape[1] != w.shape[1]:
                raise ValueError(
                    f"instrument has {z.shape[1]} columns, and there are {w.shape[1]} treatments; allowed is one for each"
                )
        elif z_hat is not None:
            raise ValueError("z_hat is given without an instrument; allowed is z_hat=None")
        found = cls(outcomes, w, z, arms, None, None, None)
        for name, own in (("treatment", w), ("instrument", z)):
            if own is not None and len(own) != len(outcomes):
                raise ValueError(f"{name} has {len(own)} rows, and y has {len(outcomes)}; allowed are equal numbers")
        if len(outcomes) == 0:
            raise ValueError("y has no rows; allowed are one or more")
        given = {"y_hat": (y_hat, outcomes), "w_hat": (w_hat, w), "z_hat": (z_hat, z)}
        return found._replace(**{name: _expected(name, value, of) for name, (value, of) in given.items() if value is not None})

    def weights_of(self, weight):
        """The weights of the rows, checked: ndarray of shape (n_rows,), or None."""
        if weight is None:
            return None
        weight = np.asarray(given_numbers("sample_weight", weight))
        if weight.shape not in ((len(self.y),), (len(self.y), 1)) or weight.dtype.kind not in "biuf":
            raise ValueError(f"sample_weight has the shape {weight.shape}; allowed is a number for each of {len(self.y)} rows")
        weight = weight.ravel().astype(np.float64)
        if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
            raise ValueError("sample_weight has numbers that are not allowed: weights are finite, from 0 on, and not all 0")
        return weight

    def groups_of(self, groups):
        """The numbers of the groups of the rows: ndarray of shape (n_rows,), dtype int64, or None."""
        if groups is None:
            return None
        groups = given_values("groups", groups)
        if groups.shape not in ((len(self.y),), (len(self.y), 1)):
            raise ValueError(f"groups has the shape {groups.shape}; allowed is a label for each of {len(self.y)} rows")
        found = {}  # in the order of the rows
        return np.array([found.setdefault(label, len(found)) for label in groups.ravel().tolist()], np.int64)

    def _names(self, k):
        if self.arms is not None:
            return f"treatment {self.arms.tolist()[k + 1]!r}"
        return "treatment" + f" {k}" * (self.w.shape[1] > 1)

    def check_treatments(self, kept):
        """Raise ValueError if a treatment, or an instrument, is the same in all rows that are kept, or no row is the control."""
        for name, columns in (("", self.w), ("instrument", self.z)):
            for k, own in enumerate([] if columns is None else columns[kept].T):
                if (own == own[0]).all():
                    what = f"{name} {k}" if name else self._names(k)
                    raise ValueError(f"{what} is {own[0]:g} in all rows; allowed are numbers that differ between rows")
        if self.arms is not None and self.w[kept].any(axis=1).all():
            control = self.arms.tolist()[0]
            raise ValueError(f"treatment: no row is of the control, {control!r}; allowed are treatments with such rows")
        for name, columns, expected in (("w_hat", self.w, self.w_hat), ("z_hat", self.z, self.z_hat)):
            if expected is not None:
                is_share = np.isin(columns, (0.0, 1.0)).all(axis=0)
                if not ((expected[:, is_share] >= 0) & (expected[:, is_share] <= 1)).all():
                    raise ValueError(f"{name} has numbers beyond 0 and 1 of what is 0 or 1; allowed are shares")

    def warn_of_overlap(self, w_hat, z_hat, kept):
        """Warn where rows have few to be compared with."""
        for name, columns, expected in (("", self.w, w_hat), ("instrument", self.z, z_hat)):
            if columns is None:
                continue
            for k, (own, own_hat) in enumerate(zip(columns[kept].T, expected[kept].T, strict=True)):
                what = f"instrument {k}" if name else self._names(k)
                if np.isin(own, (0.0, 1.0)).all():
                    _warn_of_shares(what, own_hat)
                    continue
                explained = 1.0 - np.square(own - own_hat).mean() / np.square(own - own.mean()).mean()
                if explained > 1.0 - RARE:
                    warn(
                        f"X explains {explained:.1%} of the variance of {what}: little is left to tell its effect by. Is there a "
                        "column among the features that follows from it?"
                    )
        if self.arms is not None and self.w.shape[1] > 1:
            _warn_of_shares(f"treatment {self.arms.tolist()[0]!r}", 1.0 - w_hat[kept].sum(axis=1))


def categories_of(treatment):
    """The order of the labels of a treatment, ascending: list; None if its type has none."""
    categories = getattr(getattr(treatment, "dtype", None), "categories", None)
    return None if categories is None else list(categories)


def _warn_of_shares(what, share):
    rare, sure = int((share < RARE).sum()), int((share > 1.0 - RARE).sum())
    if rare or sure:
        warn(
            f"{what}: of {len(share)} rows, {rare} have an expected share below {RARE:g} and {sure} one above {1.0 - RARE:g}, "
            "and so have few rows to be compared with. Effects of these are uncertain, and averages over all rows too: "
            'average_effect(target="overlap") gives them little weight'
        )


def _plain(values):
    """Objects that are all booleans, or numbers, as an array of these."""
    if values.dtype.kind != "O":
        return values
    if all(isinstance(one, bool | np.bool_ | Real) for one in values.ravel().tolist()):
        return values.astype(np.float64)
    return values


def _columns(name, values):
    """Numbers as columns."""
    if not isinstance(values, np.ndarray) or values.ndim not in (1, 2) or values.shape[-1] == 0 and values.ndim == 2:
        shape = getattr(values, "shape", None)
        raise ValueError(f"{name} has the shape {shape}; allowed are arrays of one axis, or of two with a column for each {name}")
    if values.dtype.kind == "b":
        values = values.astype(np.float64)
    try:
        numbers = check_targets(values)
    except ValueError as error:
        raise ValueError(str(error).replace("y holds", f"{name} holds").replace("Input y", f"Input {name}")) from None
    return numbers.reshape(len(numbers), -1)


def labels_and_numbers(name, values, categories=None):
    """(labels of a column, ascending or in the order of categories; which of them each row has).

    Raises ValueError if it is no column of two labels or more.
    """
    values = given_values(name, values)
    if not isinstance(values, np.ndarray) or values.ndim not in (1, 2) or values.shape[1:] not in ((), (1,)):
        raise ValueError(f"{name} has the shape {getattr(values, 'shape', None)}; allowed is a label for each row")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes that are many
            labels, numbers = check_classes(values.ravel())
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None
    if len(labels) < 2:
        raise ValueError(f"{name} has the label {labels.tolist()[0]!r} alone; allowed are two labels or more")
    if categories is not None:
        place = {label: i for i, label in enumerate(categories)}
        order = np.argsort([place.get(label, len(place)) for label in labels.tolist()], kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        labels, numbers = labels[order], rank[numbers]
    return labels, numbers


def _arms(labels, categories):
    """(a column of 0 and 1 for each arm but the control, which is the first one; the labels of the arms)."""
    arms, number = labels_and_numbers("treatment", labels, categories)
    if len(arms) > MOST_ARMS:
        raise ValueError(f"treatment has {len(arms)} labels; allowed are up to {MOST_ARMS} arms")
    return (number[:, None] == np.arange(1, len(arms))).astype(np.float64), arms


def _expected(name, values, of):
    """Given expectations as columns, of the shape of what they are expectations of."""
    numbers = _columns(name, given_values(name, values))
    if numbers.shape != of.shape:
        raise ValueError(f"{name} has the shape {numbers.shape}; allowed is {of.shape}, a number for each row and column")
    return numbers
