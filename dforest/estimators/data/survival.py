"""Survival times as targets: checking them, numbering them, their log-rank scores, and step functions over them.

A *code* is a single number for event, time and entry: see `dforest.core.predict.survival.parts_of_codes`.
"""

from numbers import Real

import numpy as np

from dforest.config import on_host
from dforest.core.predict.survival import ENTRY
from dforest.estimators.data.labels import is_missing, is_number
from dforest.estimators.data.tables import read_table, without_mask

ALLOWED = "a structured array of two or three fields, event, time and entry, or as many columns"
COLUMNS = "True or 1 for an event, and False or 0 where a row was censored", "finite times from 0 on", "finite entries from 0 on"
MOST_TIMES = ENTRY // 2  # that codes have numbers for


def _columns(y):
    """The columns of y as arrays, masked or not, and what they are called."""
    y = on_host(y)
    dtype = getattr(y, "dtype", None)
    names = getattr(dtype, "names", None)
    if names:
        columns, called = [y[name] for name in names], [f"field {name!r} of y" for name in names]
    else:
        # An array of one type has its numbers as they are; a list may hold values of several.
        try:
            table = read_table(y, unique=False)
        except ValueError:
            what = f"y has the shape {np.shape(y)} and the type {np.asarray(y).dtype}"
            raise ValueError(f"{what}; allowed are {ALLOWED}") from None
        columns = [y[:, j] if isinstance(y, np.ma.MaskedArray) else table.exact(j) for j in range(table.n_columns)]
        called = [f"column {name!r} of y" for name in table.names or range(len(columns))]
    if len(columns) not in (2, 3):
        raise ValueError(f"y has {len(columns)} columns, or fields; allowed are {ALLOWED}")
    if any(column.ndim != 1 for column in columns):
        raise ValueError(f"y has fields of several values for a row; allowed are {ALLOWED}")
    return [np.asarray(without_mask(column)) for column in columns], called


def _numbers(column, called, allowed):
    """A column as float64."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    if column.dtype.kind != "O":
        raise ValueError(f"{called} is of the type {column.dtype}; allowed are {allowed}")
    numbers = np.empty(len(column))
    for row, value in enumerate(column.tolist()):
        value = value.item() if isinstance(value, np.generic) else value
        if is_missing(value) and not isinstance(value, Real):
            raise ValueError(f"{called} has no value in row {row}, which holds {value}; allowed are {allowed}")
        if not is_number(value):
            raise ValueError(f"{called} holds {value!r} in row {row}; allowed are {allowed}")
        numbers[row] = value
    return numbers


def _checked(column, called, allowed, is_allowed):
    """A column as float64. Raises ValueError unless all of its numbers are allowed."""
    numbers = _numbers(column, called, allowed)
    wrong = np.flatnonzero(~is_allowed(numbers))
    if len(wrong):
        raise ValueError(f"{called} holds {numbers[wrong[0]]:g} in row {wrong[0]}; allowed are {allowed}")
    return numbers


def _is_time(numbers):
    return np.isfinite(numbers) & (numbers >= 0)


def _is_event(numbers):
    return (numbers == 0) | (numbers == 1)


def look_at_survival(y):
    """What there is to survival times, and what is wrong with them.

    Returns
    -------
    event, time, entry : ndarray of shape (n_rows,), dtype bool and float64, or None
        None if it is wrong, or if there are no entries.
    wrong : list of ValueError
        Of each column, the first thing that is.

    Raises
    ------
    ValueError
        If y has not as many columns, of which nothing can be said then.
    """
    columns, called = _columns(y)
    found, wrong = [], []
    for column, name, allowed, is_allowed in zip(columns, called, COLUMNS, (_is_event, _is_time, _is_time), strict=False):
        try:
            found.append(_checked(column, name, allowed, is_allowed))
        except ValueError as error:
            found.append(None)
            wrong.append(error)
    event, time, entry = [*found, None][:3]
    if event is None and time is not None and _is_event(time).all():
        wrong[0] = ValueError(f"{wrong[0]}. The columns may be swapped: the event comes first, then the time")
    if time is not None and entry is not None:
        late = np.flatnonzero(entry >= time)
        if len(late):
            i = late[0]
            wrong.append(
                ValueError(
                    f"{called[2]} holds the entry {entry[i]:g} in row {i}, whose time is {time[i]:g}; allowed are entries before "
                    "the time"
                )
            )
    return None if event is None else event == 1, None if time is None else time + 0.0, entry, wrong


def check_survival(y):
    """Survival times as (event, time, entry or None): ndarrays of shape (n_rows,), dtype bool and float64.

    Raises
    ------
    ValueError
        If y is no such thing, if an event is neither True (1) nor False (0), or if a time is negative or not finite, or
        not after the row's entry.
    """
    event, time, entry, wrong = look_at_survival(y)
    if wrong:
        raise wrong[0]
    return event, time, entry


def check_events(event):
    """Raise ValueError unless some row has an event."""
    if not event.any():
        raise ValueError(f"y has no event among its {len(event)} rows; allowed are rows of which one or more have an event")


def codes_of(times, number, event, entry=None):
    """The codes of rows, given some times in ascending order and the number of each row's: ndarray of int64."""
    if len(times) > MOST_TIMES:
        raise ValueError(f"y has {len(times)} different times; allowed are up to {MOST_TIMES}")
    upto = 0 if entry is None else np.searchsorted(times, entry, side="right").astype(np.int64)
    return 2 * number.astype(np.int64) + event + ENTRY * upto


def logrank_scores(codes, weight, n_times):
    """The log-rank scores of rows among them all: event - (hazard at the time - hazard at the entry), by Nelson and Aalen.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,), dtype int64
        Among event times.
    weight : ndarray of shape (n_rows,), or None
    n_times : int
        Number of event times.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
    """
    event, end, begin = codes % 2, codes % ENTRY // 2, codes // ENTRY
    weight = np.ones(len(codes)) if weight is None else weight.astype(np.float64)

    def at(times, weight):
        return np.bincount(times, weight, n_times + 1)

    still_there = np.cumsum(at(begin, weight) - at(end, weight))  # behind each time
    at_risk, events = np.append(0.0, still_there[:-1]), at(end, weight * event)
    hazard = np.cumsum(np.divide(events, at_risk, out=np.zeros(n_times + 1), where=events > 0))
    return event - (hazard[end] - hazard[begin])


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

    before = None  # of those that an earlier version has pickled

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
