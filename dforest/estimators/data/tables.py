"""Tables: what users pass as X, read once, whatever library it comes from: arrays, lists, sparse matrices, frames.

A column's *labels* are the values that it holds or may hold. Its *codes* are, here, an integer per row that is a place in the
list of labels; missing values have the code -1, or the number of labels. Frames are recognised by what they can do: none of their
packages is imported. Masked cells and what other libraries call missing (None, NA, null) are missing values, and nothing else. A
table borrows what the user passed, and never changes it.
"""

from functools import cached_property
from importlib import import_module

import numpy as np

from dforest.config import on_host
from dforest.core.readable import readable
from dforest.estimators.data.column_check import LARGEST_EXACT, refusal_of
from dforest.estimators.data.labels import as_list, is_missing, is_number, label_array, sorted_labels, title
from dforest.estimators.data.sparse import in_order, is_sparse, with_numbers
from dforest.extras import needed
from dforest.warning import warn


def read_table(X, unique=True):
    """X as a `Table`, which is returned as it is if it has been read before.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n_rows, n_columns)
        On the host or on a device.
    unique : bool, default=True
        Whether two columns of a name are refused.

    Raises
    ------
    ValueError
        If X is not two-dimensional, or two columns have the same name.
    """
    if isinstance(X, Table):
        return X
    first = X[0] if isinstance(X, list | tuple) and X else None
    if len(getattr(first[0] if isinstance(first, list | tuple) and first else first, "shape", ())) == 2:
        raise ValueError(
            f"X is a {type(X).__name__} of {len(X)} tables; allowed is one: pandas.concat and numpy.concatenate join their rows"
        )
    X = given_rows(X)
    if is_sparse(X):
        table = SparseTable(X, in_order(X))
    elif hasattr(X, "iloc") and hasattr(X, "columns"):
        table = PandasTable(X)
    elif hasattr(X, "iter_columns"):
        table = PolarsTable(X)
    elif hasattr(X, "column_names"):
        table = ArrowTable(X)
    else:
        X = readable(X) if isinstance(X, np.ndarray) else X
        values = np.asarray(X, dtype=object if isinstance(X, list | tuple) else None)
        if values.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {f'{values.ndim}D array' if values.ndim else 'scalar'} instead: X has the shape "
                f"{values.shape}; allowed are rows with columns. Reshape your data: array.reshape(-1, 1) is a single column, and "
                "array.reshape(1, -1) a single row"
            )
        table = Table(X, values)
    if unique and table.names is not None:
        _check_unique(table.names)
    return table


def given_rows(X):
    """The table X on the host, with the masked cells of an array as `without_mask` has them.

    A record batch of pyarrow becomes a table, of which scikit-learn knows the names of columns, and so does whatever else offers
    its columns as a stream of Arrow's, such as a relation of duckdb. A frame of narwhals is the one that it wraps, and a lazy
    frame of polars is collected. Anything else but masked arrays, and lists of them, is returned as it is.
    """
    X = on_host(X)
    if type(X).__module__.partition(".")[0] == "narwhals" and hasattr(X, "to_native"):
        X = X.to_native()
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        warn("X is a lazy frame, which is collected: all of its columns and rows are read into memory")
        X = X.collect()
    if type(X).__name__ == "RecordBatch" and hasattr(X, "schema"):
        return import_module("pyarrow").Table.from_batches([X])
    if hasattr(X, "__arrow_c_stream__") and not any(hasattr(X, name) for name in ("iloc", "iter_columns", "column_names")):
        return needed("pyarrow", "arrow", f"X of the type {type(X).__name__}").table(X)
    return without_mask(X)


def without_mask(X):
    """A masked array, or a list of them, as an array of numbers with NaN, or of objects with None, in its masked cells.

    Anything else is returned as it is.
    """
    X = _as_masked(X)
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return np.ma.getdata(X)
    if X.dtype.kind == "f":
        return X.filled(np.nan)
    known = X.compressed()
    if X.dtype.kind in "iu" and -LARGEST_EXACT <= known.min(initial=0) and known.max(initial=0) <= LARGEST_EXACT:
        return X.astype(np.float64).filled(np.nan)
    values = np.ma.getdata(X).astype(object)
    values[np.ma.getmaskarray(X)] = None
    return values


def _as_masked(values):
    """A list that holds masked arrays as a masked array; anything else as it is."""
    is_list = isinstance(values, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in values)
    return np.ma.array(values) if is_list else values


class Table:
    """The table of a two-dimensional array or a list; base class of the others.

    Attributes
    ----------
    given : object
        What the table was read from, on the host.
    names : list or None
        The columns' names, of frames.
    is_plain : bool
        Whether scikit-learn makes numbers of `given` that say the same: it would not always convert columns of labels to what
        they say, and refuses frames of sparse columns alone, and NA among objects.
    dtype : dtype or None
        That of all columns; None of frames.
    """

    names = None

    def __init__(self, given, X):
        self.given, self.X, self.dtype = given, X, X.dtype
        self.n_rows, self.n_columns = X.shape

    @property
    def is_plain(self):
        return self.dtype.kind != "O"

    @property
    def holds_floats(self):
        """Whether this is an array or a sparse matrix of float32 or float64."""
        return self.dtype is not None and self.dtype in (np.float32, np.float64)

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
        if self.dtype is not None and self.dtype.kind in "iuf":
            return False
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
        ValueError
            If a label can't be hashed.
        """
        try:
            codes, labels = self._codes(j)
            if isinstance(labels, list):
                dict.fromkeys(labels)  # a label that can't be hashed raises TypeError
        except TypeError as error:
            raise ValueError(
                f"{self.title(j)} can't be read as categories: {error}; allowed are strings, numbers and booleans"
            ) from None
        return codes, labels

    def _codes(self, j):
        return factorise(self.X[:, j])

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

    def categories(self, j):
        """The labels that column j has, in ascending order: ndarray. Raises ValueError if they can't be compared."""
        codes, labels = self.codes(j)
        seen = np.zeros(len(labels) + 1, bool)
        seen[codes] = True
        if isinstance(labels, np.ndarray):
            labels = labels[seen[:-1]]
            if labels.dtype.kind == "f":
                labels = labels[labels == labels] + 0  # -0 becomes 0
            return np.unique(labels)
        return sorted_labels(
            [label for label, here in zip(labels, seen[:-1], strict=True) if here and not is_missing(label)], self.title(j)
        )

    def levels(self, j):
        """The declared levels of an ordinal column in their order: ndarray; None for a column of numbers.

        Raises
        ------
        ValueError
            If labels are no numbers, and have no order.
        """
        order = self.order(j)
        if order is None:
            known = self.known(j)
            labels = known.tolist() if known.dtype.kind in "OUST" else []  # others hold numbers, or are refused
        else:
            labels = as_list(self.codes(j)[1])
        labels = [label for label in dict.fromkeys(labels) if not is_missing(label)]
        words = [label for label in labels if not is_number(label)]
        if order == "ordered" and (words or labels != sorted(labels)):
            return label_array(labels)
        if words:
            cure = ", such as pandas' column.cat.as_ordered()" if order == "unordered" else ""
            raise ValueError(
                f"{self.title(j)} holds {words[0]!r}, whose order is unknown; for ordinal features allowed are numbers, "
                f"booleans and ordered categorical types, which declare an order{cure}"
            )
        return None

    def floats(self, encoded):
        """The table as one matrix of floats, with other numbers in place of some columns.

        Parameters
        ----------
        encoded : dict of int to ndarray
            The numbers of columns, by the columns' numbers: one for each row; or, in a `SparseTable`, for each entry of `codes`.

        Returns
        -------
        ndarray or csr_array of shape (n_rows, n_columns)
            Of float32, if all other columns are, or X is if there are none; else of float64. A `SparseTable` gives a csr_array: X
            itself, if no column is replaced; a column in which 0 is replaced by another number stores all rows.
        """
        parts = [encoded[j] if j in encoded else self.numbers(j) for j in range(self.n_columns)]
        dtypes = {part.dtype for j, part in enumerate(parts) if j not in encoded} or {self.dtype}
        floats = np.empty((self.n_rows, self.n_columns), np.float32 if dtypes == {np.dtype(np.float32)} else np.float64)
        for start in range(0, self.n_rows, 1024):  # rows that stay in cache while columns are written
            for j, part in enumerate(parts):
                floats[start : start + 1024, j] = part[start : start + 1024]
        return floats


class SparseTable(Table):
    """A sparse matrix: what is said of values is said of those that are stored, and of one 0 if others are not."""

    is_plain = False

    @cached_property
    def _stored(self):
        """The matrix column by column: csc_array, in order."""
        return self.X.tocsc()

    def _n_stored(self, j):
        return int(self._stored.indptr[j + 1] - self._stored.indptr[j])

    def known(self, j):
        starts = self._stored.indptr
        values = self._stored.data[starts[j] : starts[j + 1]]
        return values if len(values) == self.n_rows else np.append(values, values.dtype.type(0))

    def exact(self, j):
        return self._stored[:, [j]].toarray().ravel()

    def _codes(self, j):
        return factorise(self.known(j))

    def n_rows_of(self, j):
        n_stored = self._n_stored(j)
        return np.append(np.ones(n_stored, np.int64), self.n_rows - n_stored)[: n_stored + (n_stored < self.n_rows)]

    def floats(self, encoded):
        if not encoded:
            return self.X
        numbers = {}
        for j, part in encoded.items():
            n_stored = self._n_stored(j)
            numbers[j] = part[:n_stored], part[-1] if n_stored < len(part) else 0
        return with_numbers(self._stored.astype(self.dtype if self.holds_floats else np.float64, copy=False), numbers)


class _Frame(Table):
    def __init__(self, X, names):
        self.given, self.X, self.dtype, self.names = X, X, None, names
        self.n_rows, self.n_columns = X.shape

    @property
    def is_plain(self):
        return all(self.order(j) is None for j in range(self.n_columns))


class PandasTable(_Frame):
    def __init__(self, X):
        self.types = list(X.dtypes)
        self._series = [series for _, series in X.items()]  # the fastest way, for which few rows are grateful
        super().__init__(X, list(X.columns))

    @property
    def is_plain(self):
        has_objects = any(getattr(dtype, "kind", "") == "O" and isinstance(dtype, np.dtype) for dtype in self.types)
        return not has_objects and not all(map(_is_sparse, self.types)) and super().is_plain

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

    def _codes(self, j):
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


class PolarsTable(_Frame):
    def __init__(self, X):
        self.types = [dtype.base_type().__name__ for dtype in X.dtypes]
        super().__init__(X, X.columns)

    def _column(self, j):
        return self.X.to_series(j)

    def exact(self, j):
        return exact_values(self._column(j))

    def order(self, j):
        return {"Enum": "ordered", "Categorical": "unordered"}.get(self.types[j])

    def known(self, j):
        return self._column(j).drop_nulls().to_numpy()

    def _codes(self, j):
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
            found, labels = factorise(here.to_numpy() if column.dtype.is_numeric() or kind == "Boolean" else here.to_list())
        if len(here) == len(column):
            return found, labels
        codes = np.full(len(column), -1, np.int64)
        codes[column.is_not_null().to_numpy()] = found
        return codes, labels

    def _numbers(self, j):
        return self._column(j).to_numpy()


class ArrowTable(_Frame):
    def __init__(self, X):
        super().__init__(X, X.column_names)

    def order(self, j):
        return _arrow_order(self.X.column(j).type)

    def known(self, j):
        return self.X.column(j).drop_null().to_numpy(zero_copy_only=False)

    def exact(self, j):
        return exact_values(self.X.column(j))

    def _codes(self, j):
        return _arrow_codes(self.X.column(j))

    def _numbers(self, j):
        return self.X.column(j).to_numpy(zero_copy_only=False)


def exact_array(values):
    """What users pass beside X, on the host, as an array that says exactly the same: ndarray, perhaps masked.

    Parameters
    ----------
    values : array-like, Series or frame
        Columns of several types become an array of objects, and so does a list that NumPy would read as something else.
    """
    values = _as_masked(on_host(values))
    if isinstance(values, list | tuple):
        values = _array_of_list(values)
    elif any(hasattr(values, name) for name in ("columns", "iter_columns", "column_names")):
        table = read_table(values, unique=False)
        values = _array_of_columns([table.exact(j) for j in range(table.n_columns)], table.n_rows)
    elif not isinstance(values, np.ndarray):
        values = exact_values(values)
    # NumPy's text of any length may have missing values of any kind.
    return values.astype(object) if values.dtype.kind == "T" else values


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


def _check_unique(names):
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"X has more than one column {name!r}; allowed are columns of different names")
        seen.add(name)


def _holds_numbers(values):
    return isinstance(values.dtype, np.dtype) and values.dtype.kind in "biuf"


def factorise(values):
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
            return factorise(column.to_pylist())
    if hasattr(column, "combine_chunks"):
        if column.type.ordered:
            longest = max((chunk.dictionary for chunk in column.chunks), key=len, default=None)
            if any(not chunk.dictionary.equals(longest.slice(0, len(chunk.dictionary))) for chunk in column.chunks):
                raise TypeError("chunks that order their levels differently")
        column = column.unify_dictionaries().combine_chunks()
    codes = column.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    return codes, column.dictionary.to_pylist()
