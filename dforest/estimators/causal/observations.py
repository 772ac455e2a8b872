"""What a causal forest is told of rows beside X: outcomes, treatments and instruments, as numbers.

A *treatment* is a column of numbers, of 0 and 1 if rows are treated or not, or labels of arms. Of labels, the first one in their
order is the *control*, and each other one becomes a column of 0 and 1: whether the row is in that arm. Instruments are numbers, a
column for each treatment.
"""

from typing import NamedTuple

import numpy as np

from dforest.estimators.data.given import given_values
from dforest.estimators.data.validation import check_classes, check_targets


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
    def read(cls, y, treatment, instrument, y_hat, w_hat, z_hat):
        """Check what `fit` was given. Raises ValueError if it is not as described."""
        for name, value in (("y", y), ("treatment", treatment)):
            if value is None:
                raise ValueError(f"{name}=None: a causal forest requires {name} to be passed, but the target {name} is None")
        outcomes = _columns("y", given_values("y", y))
        labels = given_values("treatment", treatment)
        arms = None
        if labels.dtype.kind in "OUST" and (labels.ndim == 1 or labels.shape[1:] == (1,)):
            w, arms = _arms(labels.ravel())
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
        given = {"y_hat": (y_hat, outcomes), "w_hat": (w_hat, w), "z_hat": (z_hat, z)}
        return found._replace(**{name: _expected(name, value, of) for name, (value, of) in given.items() if value is not None})


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


def _arms(labels):
    """(a column of 0 and 1 for each arm but the control, the labels of the arms)."""
    try:
        arms, number = check_classes(labels)
    except ValueError as error:
        raise ValueError(f"treatment: {error}") from None
    if len(arms) < 2:
        raise ValueError(
            f"treatment has the label {arms.tolist()[0]!r} alone; allowed are two arms or more, of which the first is the control"
        )
    return (number[:, None] == np.arange(1, len(arms))).astype(np.float64), arms


def _expected(name, values, of):
    """Given expectations as columns, of the shape of what they are expectations of."""
    numbers = _columns(name, given_values(name, values))
    if numbers.shape != of.shape:
        raise ValueError(f"{name} has the shape {numbers.shape}; allowed is {of.shape}, a number for each row and column")
    return numbers
