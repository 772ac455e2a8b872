"""What users pass beside X: masked arrays, lists, and columns of other libraries, as arrays that say exactly the same.

Masked cells and what other libraries call missing (None, NA, null) are missing values, which are refused.
"""

import numpy as np
from scipy.sparse import issparse

from dforest.config import on_host
from dforest.estimators.data.column_check import check_values, refusal_of
from dforest.estimators.data.labels import is_missing
from dforest.estimators.data.tables import as_masked, exact_values, read_table


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
    values = as_masked(on_host(values))
    if isinstance(values, np.ma.MaskedArray):
        _check_there(name, first, np.ma.getmaskarray(values), "a masked cell")
        values = np.ma.getdata(values)
    elif isinstance(values, list | tuple):
        values = _array_of_list(values)
    elif any(hasattr(values, name) for name in ("columns", "iter_columns", "column_names")):
        table = read_table(values, unique=False)
        values = _array_of_columns([table.exact(j) for j in range(table.n_columns)], table.n_rows)
    elif not isinstance(values, np.ndarray):
        values = exact_values(values)
    if values.dtype.kind == "T":  # NumPy's text of any length, which may have missing values of any kind
        values = values.astype(object)
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


def _array_of_list(values):
    """A list as NumPy reads it, unless an entry would become another one, such as None or a number text: as objects then."""
    objects = np.asarray(values, dtype=object)
    array = np.asarray(values)
    same = array.shape == objects.shape and array.tolist() == objects.tolist()
    return array if same or array.dtype.kind == "f" and _holds_floats(objects) else objects


def _holds_floats(objects):
    """Whether objects are floats, or integers that floats hold, of which NaN is not equal to itself."""
    return refusal_of(objects.ravel()) is None and not any(isinstance(value, str) for value in objects.ravel().tolist())


def _array_of_columns(columns, n_rows):
    """Columns side by side: of one type if that holds all values exactly, or else as objects."""
    dtypes = {column.dtype for column in columns}
    if len(dtypes) == 1 or not dtypes:
        return np.stack(columns, axis=1) if columns else np.zeros((n_rows, 0))
    if all(dtype.kind in "iuf" for dtype in dtypes):
        common = np.result_type(*dtypes)
        if all(column.dtype == common or refusal_of(column) is None for column in columns):
            return np.stack([column.astype(common) for column in columns], axis=1)
    return np.stack([column.astype(object) for column in columns], axis=1)
