"""Labels: the values of columns, and of y, that are compared with each other, whatever their type."""

from decimal import Decimal
from numbers import Real

import numpy as np


def is_missing(value):
    """Whether a label is None, NaN, NA or the masked cell of a masked array."""
    try:
        return value is None or value is np.ma.masked or bool(value != value)
    except TypeError:  # neither true nor false: pandas' NA
        return True


def is_number(value):
    return isinstance(value, Real | Decimal | np.bool_)


def type_of(value):
    """Whether a label is "text", "booleans" or "numbers"; None if it is something else."""
    if isinstance(value, str):
        return "text"
    return "booleans" if isinstance(value, bool | np.bool_) else "numbers" if is_number(value) else None


def types_beside(labels):
    """The types, as `type_of` has them, of values that may be in a column of these labels, beginning with the labels' own.

    Empty if the labels are of several types, or of another one, so that all values may be there.
    """
    types = {*map(type_of, labels)}
    if types and types <= {"numbers", "booleans"} and all(label in (0, 1) for label in labels):
        return ("booleans", "numbers") if types == {"booleans"} else ("numbers", "booleans")
    return tuple(types) if len(types) == 1 and None not in types else ()


def as_list(values):
    return values if isinstance(values, list) else values.tolist()


def some_of(values, most=10):
    """The first labels of a list, for messages."""
    values = as_list(values)
    if not values:
        return "none"
    return ", ".join(map(repr, values[:most])) + (", ..." if len(values) > most else "")


def label_array(labels):
    """Numbers as an array of numbers, if that is exact, and otherwise as an array of objects."""
    array = np.array(labels) if not labels or "numbers" in types_beside(labels) else None
    if array is None or array.dtype.kind not in "biuf" or array.tolist() != labels:
        array = np.fromiter(labels, object, len(labels))
    return array


def sorted_labels(labels, title):
    """Different labels in ascending order: ndarray.

    Parameters
    ----------
    labels : list
        None of them missing; equal ones count once.
    title : str
        What messages call the column.
    """
    labels = list(dict.fromkeys(labels))
    try:
        return label_array(sorted(labels))
    except TypeError:
        types = sorted({type(label).__name__ for label in labels})
        raise ValueError(
            f"{title} holds labels of the types {', '.join(types)}, which can't be sorted; allowed are labels of one type"
        ) from None


def title(names, j):
    """What messages call column j of X, given the names of all columns or None."""
    return f"X column {j if names is None else repr(names[j])}"


def labels_of(classes, numbers):
    """The labels of class numbers, given both output by output: ndarray of shape (n_rows, n_outputs)."""
    columns = [labels.take(own) for labels, own in zip(classes, numbers, strict=True)]
    if len({column.dtype.kind for column in columns}) > 1:  # else numbers would become text
        columns = [column.astype(object) for column in columns]
    return np.stack(columns, axis=1)
