"""Labels for which JSON has no word, as values that it has, and back: exact numbers, dates and times, and pandas' own of these.

A label is written as its *parts*, which are values again: an interval of times has two times as parts. pandas is imported only
where a file has one of its labels.
"""

import datetime
import re
from decimal import Decimal
from fractions import Fraction
from importlib import import_module

import numpy as np

# By the name of a type, which is the tag: the functions that take a label to pieces, and that make it of them.
_PYTHON = {
    Decimal: (lambda label: [str(label)], Decimal),
    Fraction: (lambda label: [label.numerator, label.denominator], Fraction),
    datetime.date: (lambda label: [label.isoformat()], datetime.date.fromisoformat),
    datetime.datetime: (lambda label: [label.isoformat()], datetime.datetime.fromisoformat),
    datetime.time: (lambda label: [label.isoformat()], datetime.time.fromisoformat),
    datetime.timedelta: (lambda label: [label.days, label.seconds, label.microseconds], datetime.timedelta),
}
_PANDAS = {
    "Interval": (lambda label: [*map(_plain, (label.left, label.right)), label.closed], lambda pandas: pandas.Interval),
    "Period": (
        lambda label: [label.ordinal, label.freqstr],
        lambda pandas: lambda ordinal, freq: pandas.Period(ordinal=ordinal, freq=freq),
    ),
    "Timedelta": (
        lambda label: _count(label.asm8),
        lambda pandas: lambda n, unit: pandas.Timedelta(np.timedelta64(n, unit)),
    ),
    "Timestamp": (
        lambda label: [*_count(label.asm8), None if label.tz is None else str(label.tz)],
        lambda pandas: lambda n, unit, zone: _in_zone(pandas.Timestamp(np.datetime64(n, unit)), zone),
    ),
}
_BY_NAME = {kind.__name__: kind for kind in _PYTHON}
TAGS = frozenset({*_BY_NAME, *_PANDAS})
_ZONE = re.compile(r"(?!dateutil|tzlocal)[A-Za-z][\w+:/-]*")  # those names that pandas takes for no file of a given path


def _plain(end):
    """An end of an interval as Python's number, if it is one of NumPy's."""
    return end.item() if isinstance(end, np.number) else end


def _count(time):
    """How many units a time of NumPy has, and of what they are."""
    return [int(time.astype(np.int64)), np.datetime_data(time.dtype)[0]]


def _in_zone(time, zone):
    if zone is None:
        return time
    if not _ZONE.fullmatch(zone):
        raise ValueError(f"it has the time zone {zone!r}")
    return time.tz_localize("UTC").tz_convert(zone)


def parts_of(label):
    """(tag, parts) of a label, from which `label_of` makes an equal one; None if there is no way."""
    kind = type(label)
    if kind in _PYTHON:
        tag, to_pieces = kind.__name__, _PYTHON[kind][0]
    elif kind.__name__ in _PANDAS and kind.__module__.partition(".")[0] == "pandas":
        tag, to_pieces = kind.__name__, _PANDAS[kind.__name__][0]
    else:
        return None
    parts = to_pieces(label)
    try:
        return (tag, parts) if label_of(tag, parts) == label else None
    except (ValueError, KeyError):  # a time zone, say, that has no name
        return None


def label_of(tag, parts):
    """A label. Raises ValueError, TypeError, KeyError or ArithmeticError if its parts are none of it."""
    if tag in _BY_NAME:
        return _PYTHON[_BY_NAME[tag]][1](*parts)
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise ValueError(f"it has labels of pandas' type {tag}, and pandas is not installed") from error
    return _PANDAS[tag][1](pandas)(*parts)
