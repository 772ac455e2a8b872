"""Survival times as targets: checking them, numbering them, and step functions over them.

A *code* is a single number for event, time and entry: see `dforest.core.predict.survival.parts_of_codes`.
"""

import numpy as np

from dforest.core.predict.survival import ENTRY

ALLOWED = "a structured array of two or three fields, event, time and entry, or as many columns"
MOST_TIMES = ENTRY // 2  # that codes have numbers for


def _columns(y):
    """The columns of y as arrays, and what they are called."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names:
        columns, called = [np.asarray(y[name]) for name in names], [f"field {name!r} of y" for name in names]
    else:
        frame = y if hasattr(y, "columns") and hasattr(y, "shape") else None
        if frame is not None:
            names = list(frame.columns)
            columns = [np.asarray(frame[name]) for name in names]
        else:
            array = np.asarray(y)
            columns = list(array.T) if array.ndim == 2 else []
            if array.ndim != 2:
                raise ValueError(f"y has the shape {array.shape} and the type {array.dtype}; allowed are {ALLOWED}")
            names = range(len(columns))
        called = [f"column {name!r} of y" for name in names]
    if len(columns) not in (2, 3):
        raise ValueError(f"y has {len(columns)} columns, or fields; allowed are {ALLOWED}")
    if any(column.ndim != 1 for column in columns):
        raise ValueError(f"y has fields of several values for a row; allowed are {ALLOWED}")
    return columns, called


def _numbers(column, called, allowed):
    """A column as float64."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    if column.dtype.kind != "O":
        raise ValueError(f"{called} is of the type {column.dtype}; allowed are {allowed}")
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{called} holds {column[0]!r}; allowed are {allowed}") from error


def _check(numbers, called, is_allowed, allowed):
    wrong = np.flatnonzero(~is_allowed)
    if len(wrong):
        raise ValueError(f"{called} holds {numbers[wrong[0]]:g} in row {wrong[0]}; allowed are {allowed}")


def check_survival(y):
    """Survival times as (event, time, entry or None): ndarrays of shape (n_rows,), dtype bool and float64.

    Raises
    ------
    ValueError
        If y is no such thing, if an event is neither True (1) nor False (0), or if a time is negative or not finite, or
        not after the row's entry.
    """
    (event, time, *more), called = _columns(y)
    event = _numbers(event, called[0], "True or 1 for an event, and False or 0 where a row was censored")
    _check(event, called[0], (event == 0) | (event == 1), "True or 1 for an event, and False or 0 where a row was censored")
    time = _numbers(time, called[1], "finite times from 0 on")
    _check(time, called[1], np.isfinite(time) & (time >= 0), "finite times from 0 on")
    if not more:
        return event == 1, time + 0.0, None
    entry = _numbers(more[0], called[2], "finite entries from 0 on")
    _check(entry, called[2], np.isfinite(entry) & (entry >= 0), "finite entries from 0 on")
    late = np.flatnonzero(entry >= time)
    if len(late):
        i = late[0]
        raise ValueError(
            f"{called[2]} holds the entry {entry[i]:g} in row {i}, whose time is {time[i]:g}; allowed are entries before the time"
        )
    return event == 1, time + 0.0, entry


def codes_of(times, number, event, entry=None):
    """The codes of rows, given some times in ascending order and the number of each row's: ndarray of int64."""
    if len(times) > MOST_TIMES:
        raise ValueError(f"y has {len(times)} different times; allowed are up to {MOST_TIMES}")
    upto = 0 if entry is None else np.searchsorted(times, entry, side="right").astype(np.int64)
    return 2 * number.astype(np.int64) + event + ENTRY * upto


class StepFunction:
    """A function that keeps its value from one of some times to the next.

    `x`, `y` and the call are as in scikit-survival's class of this name, whose first value counts before the first time, too.

    Parameters
    ----------
    x : ndarray of shape (n_times,)
        Times, ascending.
    y : ndarray of shape (n_times,)
        The values from each of these times on.
    before : float, optional
        The value from 0 up to the first time, where these are all times at which the function changes; it keeps its last value
        then. None means that it is known from the first time to the last one only.
    """

    def __init__(self, x, y, before=None):
        self.x, self.y, self.before = x, y, before

    def __call__(self, x):
        """Return the value at a time, or an array of the values at several.

        Parameters
        ----------
        x : float or array-like of shape (n,)
            Finite times from 0 on, or, of a function for chosen times, from the first one of these to the last one.
        """
        at = np.asarray(x, np.float64)
        low, high = (self.x[0], self.x[-1]) if self.before is None else (0.0, np.finfo(np.float64).max)
        wrong = at[~((at >= low) & (at <= high))]
        if wrong.size:
            allowed = f"times from {low:g} to {high:g}" if self.before is None else "finite times from 0 on"
            raise ValueError(f"x holds {wrong[0]:g}; allowed are {allowed}")
        place = np.searchsorted(self.x, at, side="right") - 1
        found = self.y[np.maximum(place, 0)]
        if self.before is not None:
            found = np.where(place < 0, self.before, found)
        return found if at.ndim else float(found)

    def __repr__(self):
        return f"StepFunction(x={self.x!r}, y={self.y!r})"

    def __eq__(self, other):
        return (
            type(self) is type(other)
            and self.before == other.before
            and np.array_equal(self.x, other.x)
            and np.array_equal(self.y, other.y)
        )

    __hash__ = None


def step_functions(x, values, before=None):
    """An array of step functions, given the values of each."""
    functions = np.empty(len(values), object)
    functions[:] = [StepFunction(x, row, before) for row in values]
    return functions
