"""The columns of what users pass as X: arrays, lists, and frames of pandas, polars and pyarrow.

A column's *labels* are the values that it holds or may hold. Its *codes* are, here, an integer per row that is a place in the
list of labels; missing values have the code -1, or the number of labels. Frames are recognised by what they can do: none of their
packages is imported.
"""

from decimal import Decimal
from functools import cached_property
from numbers import Real

import numpy as np
from scipy.sparse import issparse

from dforest.estimators.data.sparse import in_order


def columns_of(X, unique=True):
    """The reader of X's columns; None if X is not two-dimensional.

    Parameters
    ----------
    X : array-like, frame or sparse matrix
    unique : bool, default=True
        Whether names are checked.

    Raises
    ------
    ValueError
        If two columns have the same name.
    """
    columns = _reader_of(X)
    if unique and columns is not None and columns.names is not None:
        _check_unique(columns.names)
    return columns


def _reader_of(X):
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return PandasColumns(X) if X.ndim == 2 else None
    if hasattr(X, "iter_columns"):
        return PolarsColumns(X)
    if hasattr(X, "column_names"):
        return ArrowColumns(X)
    if issparse(X):
        return ColumnsOfSparse(X) if X.ndim == 2 else None
    X = np.asarray(X, dtype=object if isinstance(X, list | tuple) else None)
    return ArrayColumns(X) if X.ndim == 2 else None


class ArrayColumns:
    """Columns of a two-dimensional array; base class of the others."""

    names = None  # list, of frames
    are_sparse = False  # whether all columns have a type that leaves out zeros or other values

    @property
    def have_objects(self):
        """Whether a column may have a missing value that NumPy does not know."""
        return self.X.dtype.kind == "O"

    def __init__(self, X):
        self.X = X
        self.n_rows, self.n_columns = X.shape

    def title(self, j):
        """What messages call column j."""
        return title(self.names, j)

    def order(self, j):
        """Whether the categories of a column's type are "ordered" or "unordered"; None for a type without any."""
        return None

    def known(self, j):
        """The values that are not missing, or all of them if their type can't say so: ndarray, exact."""
        return self.X[:, j]

    def says_nothing(self, j):
        """Whether column j has no value, and a type that declares no categories: it may be of any kind."""
        return self.order(j) is None and all(is_missing(value) for value in self.known(j))

    def exact(self, j):
        """The values of a column in their own type, or as objects, of which missing ones are None or NaN: ndarray."""
        return self.X[:, j]

    def holds_labels(self, j):
        """Whether the type of column j is that of text or of booleans, or, if it is any type, one of the values is."""
        known = self.known(j)
        if known.dtype.kind == "O":
            return any(isinstance(value, str | bool | np.bool_) for value in known.tolist())
        return known.dtype.kind in "bUST"

    def codes(self, j):
        """(codes, labels) of a column.

        Labels are an ndarray of numbers or booleans, or a list. They may hold what no row has, an
        equal label twice, and missing values.

        Raises
        ------
        TypeError
            If a label can't be hashed.
        """
        return _factorise(self.X[:, j])

    def n_rows_of(self, j):
        """How many rows each entry of `codes` stands for: ndarray; None: one each."""
        return None

    def numbers(self, j):
        """The values of a column, for assignment to an array of floats: ndarray, objects as float64."""
        if self.order(j) is None:
            return _floats_of_objects(self._numbers(j))
        codes, labels = self.codes(j)
        return np.array([np.nan if is_missing(label) else float(label) for label in as_list(labels)] + [np.nan])[codes]

    def _numbers(self, j):
        return self.X[:, j]


class ColumnsOfSparse(ArrayColumns):
    """Columns of a sparse matrix: what is said of values is said of those that are stored, and of one 0 if others are not."""

    @cached_property
    def stored(self):
        """The matrix column by column: csc_array, in order."""
        return in_order(self.X).tocsc()

    def known(self, j):
        starts = self.stored.indptr
        values = self.stored.data[starts[j] : starts[j + 1]]
        return values if len(values) == self.n_rows else np.append(values, values.dtype.type(0))

    def exact(self, j):
        return self.stored[:, [j]].toarray().ravel()

    def codes(self, j):
        return _factorise(self.known(j))

    def n_rows_of(self, j):
        n_stored = int(self.stored.indptr[j + 1] - self.stored.indptr[j])
        return np.append(np.ones(n_stored, np.int64), self.n_rows - n_stored)[: n_stored + (n_stored < self.n_rows)]


class PandasColumns(ArrayColumns):
    @property
    def have_objects(self):
        return any(getattr(dtype, "kind", "") == "O" and isinstance(dtype, np.dtype) for dtype in self.types)

    def __init__(self, X):
        self.names = list(X.columns)
        self.types = list(X.dtypes)
        self.are_sparse = all(map(_is_sparse, self.types))
        self._series = [series for _, series in X.items()]  # the fastest way, for which few rows are grateful
        super().__init__(X)

    def order(self, j):
        dtype = self.types[j]
        if dtype.name == "category":
            return "ordered" if dtype.ordered else "unordered"
        return _arrow_order(getattr(dtype, "pyarrow_dtype", None))

    def known(self, j):
        column = self._series[j]
        return (column if isinstance(column.dtype, np.dtype) else column.dropna()).to_numpy()

    def exact(self, j):
        return exact_values(self._series[j])

    def codes(self, j):
        column = self._series[j]
        if column.dtype.name == "category":
            codes, labels = column.cat.codes.to_numpy(), column.cat.categories
        elif self.order(j) is not None:
            return _arrow_codes(column.array.__arrow_array__())
        else:
            codes, labels = column.factorize()
        return codes, labels.to_numpy() if _holds_numbers(labels) else labels.tolist()

    def _numbers(self, j):
        column = self._series[j]
        if isinstance(column.dtype, np.dtype):
            return column.to_numpy()
        if _is_sparse(column.dtype):
            return column.array.to_dense()
        return column.to_numpy(np.float64 if column.dtype.kind in "biuf" else object, na_value=np.nan)


class PolarsColumns(ArrayColumns):
    have_objects = False

    def __init__(self, X):
        self.names = X.columns
        self.types = [dtype.base_type().__name__ for dtype in X.dtypes]
        super().__init__(X)

    def _column(self, j):
        return self.X.to_series(j)

    def exact(self, j):
        return exact_values(self._column(j))

    def order(self, j):
        return {"Enum": "ordered", "Categorical": "unordered"}.get(self.types[j])

    def known(self, j):
        return self._column(j).drop_nulls().to_numpy()

    def codes(self, j):
        column = self._column(j)
        here = column.drop_nulls()
        kind = self.types[j]
        if kind == "Enum":
            found, labels = here.to_physical().to_numpy(), column.dtype.categories.to_list()
        elif kind in ("Categorical", "String") and len(here):
            first = here.arg_unique()
            labels = here.gather(first).to_list()
            if kind == "String":
                found = here.replace_strict(labels, list(range(len(labels)))).to_numpy()
            else:  # the physical numbers are those of all categories of the process
                found = here.to_physical().to_numpy()
                place = np.empty(int(found.max()) + 1, np.int64)
                place[found[first.to_numpy()]] = np.arange(len(labels))
                found = place[found]
        else:
            found, labels = _factorise(here.to_numpy() if column.dtype.is_numeric() or kind == "Boolean" else here.to_list())
        if len(here) == len(column):
            return found, labels
        codes = np.full(len(column), -1, np.int64)
        codes[column.is_not_null().to_numpy()] = found
        return codes, labels

    def _numbers(self, j):
        return self._column(j).to_numpy()


class ArrowColumns(ArrayColumns):
    have_objects = False

    def __init__(self, X):
        self.names = X.column_names
        super().__init__(X)

    def order(self, j):
        return _arrow_order(self.X.column(j).type)

    def known(self, j):
        return self.X.column(j).drop_null().to_numpy(zero_copy_only=False)

    def exact(self, j):
        return exact_values(self.X.column(j))

    def codes(self, j):
        return _arrow_codes(self.X.column(j))

    def _numbers(self, j):
        return self.X.column(j).to_numpy(zero_copy_only=False)


def exact_values(column):
    """The values of a column of pandas, polars or pyarrow, or of an array, in their own type: ndarray.

    They are objects, of which missing ones are None or NaN, where the type of numbers can't say that some are missing.
    """
    if hasattr(column, "isna") and hasattr(column, "dtype"):
        return _exact_of_pandas(getattr(column, "array", column))
    if hasattr(column, "drop_nulls"):
        has_numbers = column.null_count() == 0 and (column.dtype.is_numeric() or column.dtype.base_type().__name__ == "Boolean")
        return column.to_numpy() if has_numbers else _objects(column.to_list())
    if hasattr(column, "to_pylist"):
        if _is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return column.to_numpy(zero_copy_only=False) if column.null_count == 0 else _objects(column.to_pylist())
    return np.asarray(column)


def _exact_of_pandas(values):
    """`exact_values` of an array of pandas."""
    missing, dtype = np.asarray(values.isna()), getattr(values.dtype, "numpy_dtype", None)  # of nullable types, too
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf" and not missing.any():
        return values.to_numpy(dtype)
    if hasattr(values, "categories") and hasattr(values, "codes"):
        labels = _exact_of_pandas(values.categories.array)
        if not missing.any():
            return labels[values.codes]
        return np.append(labels.astype(object), [None])[values.codes]
    if not missing.any() or getattr(values.dtype, "kind", "O") in "fmM":  # with NaN and NaT
        return np.asarray(values)
    objects = np.array(values, dtype=object)
    objects[missing] = None
    return objects


def _floats_of_objects(values):
    if values.dtype.kind != "O":
        return values
    try:
        return values.astype(np.float64)
    except TypeError:  # pandas' NA is no number
        return np.array([np.nan if is_missing(value) else value for value in values.tolist()], object).astype(np.float64)


def _objects(values):
    return np.fromiter(values, object, len(values))


def title(names, j):
    """What messages call column j, given the names of all columns or None."""
    return f"X column {j if names is None else repr(names[j])}"


def is_missing(value):
    """Whether a label is None, NaN, NA or the masked cell of a masked array."""
    try:
        return value is None or value is np.ma.masked or bool(value != value)
    except TypeError:  # neither true nor false: pandas' NA
        return True


def is_number(value):
    return isinstance(value, Real | Decimal | np.bool_)


def as_list(values):
    return values if isinstance(values, list) else values.tolist()


def _check_unique(names):
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"X has more than one column {name!r}; allowed are columns of different names")
        seen.add(name)


def _holds_numbers(values):
    return isinstance(values.dtype, np.dtype) and values.dtype.kind in "biuf"


def _factorise(values):
    """(codes, labels) of an ndarray or a list."""
    if not isinstance(values, list):
        if _holds_numbers(values):
            return _factorise_numbers(np.ascontiguousarray(values))
        if values.dtype.kind in "mM":
            raise TypeError(f"values of type {values.dtype}")
        values = values.tolist()
    places = {label: place for place, label in enumerate(dict.fromkeys(values))}
    return np.fromiter(map(places.__getitem__, values), np.int64, len(values)), list(places)


def _factorise_numbers(values):
    if values.dtype.kind == "b":
        return values.astype(np.uint8), np.array([False, True])
    if len(values):
        # Neighbouring whole numbers need no search; fmin and fmax pass over NaN.
        low, high = np.fmin.reduce(values).item(), np.fmax.reduce(values).item()
        if high - low < min(len(values), 2**16):
            wide = values if values.dtype.itemsize == 8 or values.dtype.kind == "f" else values.astype(np.int64)
            low = wide.dtype.type(low)
            labels = (low + np.arange(int(high - low) + 1).astype(wide.dtype)).astype(values.dtype)
            missing = values != values
            codes = (np.where(missing, low, wide) - low).astype(np.int64)
            if (missing | (labels[codes] == values)).all():
                codes[missing] = -1
                return codes, labels
    labels = np.unique(values)
    labels = labels[labels == labels]
    return np.searchsorted(labels, values), labels


def _is_sparse(pandas_type):
    return type(pandas_type).__name__ == "SparseDtype"


def _is_dictionary(arrow_type):
    return type(arrow_type).__name__ == "DictionaryType"


def _arrow_order(arrow_type):
    if not _is_dictionary(arrow_type):
        return None
    return "ordered" if arrow_type.ordered else "unordered"


def _arrow_codes(column):
    """(codes, labels) of a pyarrow column."""
    if not _is_dictionary(column.type):
        if column.null_count == len(column):  # pyarrow can't unify dictionaries of nothing if there are no rows
            return np.full(len(column), -1, np.int64), []
        try:
            column = column.dictionary_encode()
        except NotImplementedError:
            return _factorise(column.to_pylist())
    if hasattr(column, "combine_chunks"):
        if column.type.ordered:
            longest = max((chunk.dictionary for chunk in column.chunks), key=len, default=None)
            if any(not chunk.dictionary.equals(longest.slice(0, len(chunk.dictionary))) for chunk in column.chunks):
                raise TypeError("chunks that order their levels differently")
        column = column.unify_dictionaries().combine_chunks()
    codes = column.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    return codes, column.dictionary.to_pylist()
