"""What users pass beside X: masked arrays, lists, and columns of other libraries, as arrays that say exactly the same.

Masked cells and what other libraries call missing (None, NA, null) are missing values, which are refused. Besides, numbers and
paths, as Python's own.
"""

import os
from numbers import Integral

import numpy as np

from dforest.estimators.data.column_check import check_values
from dforest.estimators.data.labels import is_missing
from dforest.estimators.data.sparse import is_sparse
from dforest.estimators.data.tables import exact_array


def given_values(name, values, first=0):
    """An argument that has a value, or several, for each row: ndarray, None or a sparse matrix.

    Parameters
    ----------
    name : str
        Of the argument.
    values : array-like, Series or frame
        Columns of several types become an array of objects.
    first : int, default=0
        The number of the first row, for errors.

    Raises
    ------
    ValueError
        If a value is missing.
    """
    if values is None or is_sparse(values):  # which is for others to allow or refuse
        return values
    values = exact_array(values)
    if isinstance(values, np.ma.MaskedArray):
        _check_there(name, first, np.ma.getmaskarray(values), "a masked cell")
        values = np.ma.getdata(values)
    if values.dtype.kind == "O":
        missing = np.fromiter(map(is_missing, values.ravel().tolist()), bool, values.size).reshape(values.shape)
    else:
        missing = values != values if values.dtype.kind in "fcmM" else np.zeros(0, bool)
    if missing.any():
        _check_there(name, first, missing, str(values[missing][0]))
    return values


def given_numbers(name, values):
    """`given_values` of which objects are numbers: they become float64. Raises ValueError if they are none."""
    values = given_values(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        check_values(name, values.ravel())
        values = values.astype(np.float64)
    return values


def _check_there(name, first, missing, what):
    places = np.argwhere(missing)
    if len(places):
        where = f"row {first + places[0][0]}" + (f", column {places[0][1]}" if missing.ndim > 1 and missing.shape[1] > 1 else "")
        raise ValueError(f"Input {name} contains NaN, or has no value: {what} in {where}; every row needs a value")


def check_number(name, value, kind, allowed, is_allowed):
    """A value as a number of Python. Raises ValueError unless it is a number of a kind that is allowed, and no bool.

    Parameters
    ----------
    name : str
        Of the parameter.
    value : object
    kind : type
        `numbers.Integral` or `numbers.Real`.
    allowed : str
        What the message says.
    is_allowed : callable
        Given the value; NaN should not pass.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, kind) or not is_allowed(value):
        raise ValueError(f"{name}={value!r}; allowed are {allowed}")
    return int(value) if isinstance(value, Integral) else float(value)


def path_of(path):
    """What a user gives as a path, as str; raises ValueError if it is none."""
    try:
        return os.fsdecode(path)
    except TypeError:
        raise ValueError(f"path={path!r}; allowed are strings and path-like objects") from None


def file_path_of(path):
    """The path of a regular file, there or to be made, as str; raises ValueError if it is none, or if something else is there.

    Who replaces a device takes it from all other programs, and who reads a pipe waits for one that writes.
    """
    path = path_of(path)
    if os.path.exists(path) and not os.path.isfile(path):
        kind = "folder" if os.path.isdir(path) else "device, a pipe or a socket"
        raise ValueError(f"path={path!r} is a {kind}; allowed are regular files")
    return path
