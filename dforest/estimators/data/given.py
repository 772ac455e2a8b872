"""What users pass beside X: masked arrays, lists, and columns of other libraries, as arrays that say exactly the same.

Masked cells and what other libraries call missing (None, NA, null) are missing values, which are refused.
"""

import numpy as np
from scipy.sparse import issparse

from dforest.estimators.data.column_check import check_values
from dforest.estimators.data.labels import is_missing
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
    if values is None or issparse(values):  # which is for others to allow or refuse
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

