"""Rows of which zeros are not stored, as the core takes them.

Values that are not stored are 0. Stored values, which may be 0 or NaN too, lie row by row (`SparseRows`) or, where columns are
coded, column by column (`SparseColumns`), in ascending order, and none twice. Slices of rows borrow the arrays of the whole, to
which nobody writes.
"""

from dataclasses import dataclass
from importlib import import_module

import numpy as np

from dforest.core.readable import readable

MAX_COLUMNS = 2**31 - 1  # their numbers have 32 bits


def _scipy():
    return import_module("scipy.sparse")


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A matrix of which zeros are not stored, with as much of an array's interface as those need who take rows of X.

    Attributes
    ----------
    values : ndarray of shape (n_stored,), dtype float32 or float64
        Row after row, in the order of the columns.
    columns : ndarray of shape (n_stored,), dtype int32
        The column of each value.
    starts : ndarray of shape (n_rows + 1,), dtype int64
        Where the values of each row begin.
    n_features : int
        How many columns there are.
    """

    values: np.ndarray
    columns: np.ndarray
    starts: np.ndarray
    n_features: int

    @classmethod
    def of(cls, X):
        """The rows of a matrix of SciPy: CSR with ascending columns, each once; float32 or float64."""
        return cls(
            readable(np.ascontiguousarray(X.data)),
            readable(np.ascontiguousarray(X.indices, np.int32)),
            readable(np.ascontiguousarray(X.indptr, np.int64)),
            X.shape[1],
        )

    @classmethod
    def of_any(cls, X):
        """The rows of an ndarray, of which all but zeros are stored; `SparseRows` as they are."""
        return X if isinstance(X, SparseRows) else cls.of(_scipy().csr_array(X))

    @property
    def shape(self):
        return len(self.starts) - 1, self.n_features

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def nbytes(self):
        """How much memory the arrays take."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def arrays(self):
        return self.values, self.columns, self.starts

    def __len__(self):
        return len(self.starts) - 1

    def __getitem__(self, rows):
        """Some of the rows: a slice of neighbouring ones, which is not copied; a mask; or an array of numbers."""
        if isinstance(rows, slice):
            first, end, step = rows.indices(len(self))
            if step == 1:
                return SparseRows(self.values, self.columns, self.starts[first : max(first, end) + 1], self.n_features)
            rows = np.arange(first, end, step)
        return SparseRows.of(self.matrix()[rows])

    def column(self, j):
        """The values of a column: ndarray of shape (n_rows,)."""
        return self.matrix()[:, [j]].toarray()[:, 0]

    def with_column(self, j, values):
        """These rows with other values in a column, all of which are stored."""
        own, columns, starts = self.matrix_arrays()
        row = np.repeat(np.arange(len(self)), np.diff(starts))
        kept, is_before = columns != j, columns < j
        starts = np.append(0, np.cumsum(np.bincount(row[kept], minlength=len(self))))
        places = starts[:-1] + np.bincount(row[is_before], minlength=len(self))
        own, columns = np.insert(own[kept], places, values), np.insert(columns[kept], places, np.int32(j))
        return SparseRows(own, columns, starts + np.arange(len(starts)), self.n_features)

    def astype(self, dtype, copy=True):
        return SparseRows(self.values.astype(dtype, copy=copy), self.columns, self.starts, self.n_features)

    def copy(self):
        """These rows in arrays of their own."""
        return SparseRows(*(array.copy() for array in self.matrix_arrays()), self.n_features)

    def matrix_arrays(self):
        """Values, columns and starts of these rows alone, where a slice has those of others too."""
        own = slice(self.starts[0], self.starts[-1])
        return self.values[own], self.columns[own], self.starts - self.starts[0]

    def matrix(self):
        """These rows as a matrix of SciPy: csr_array, which borrows the arrays."""
        values, columns, starts = self.matrix_arrays()
        if starts[-1] <= np.iinfo(columns.dtype).max:  # else SciPy copies the columns
            starts = starts.astype(columns.dtype)
        return _scipy().csr_array((values, columns, starts), shape=self.shape)

    def toarray(self):
        """These rows as an ndarray of shape (n_rows, n_features), C-contiguous."""
        return self.matrix().toarray()

    def by_column(self):
        """What is stored, column by column: `SparseColumns`."""
        X = self.matrix().tocsc()
        rows = X.indices.astype(np.int32, copy=False).view(np.uint32)
        return SparseColumns(X.data, rows, X.indptr.astype(np.int64, copy=False), len(self))

    def check(self):
        """Raise TypeError or ValueError unless the arrays are as described: files and pickles may say anything."""
        kinds = {"values": (np.float32, np.float64), "columns": (np.int32,), "starts": (np.int64,)}
        for (name, dtypes), array in zip(kinds.items(), self.arrays, strict=True):
            if not isinstance(array, np.ndarray) or array.dtype not in dtypes or array.ndim != 1 or not array.flags.c_contiguous:
                raise TypeError(f"{name} of sparse rows are {array!r}; allowed are contiguous arrays with one axis of {dtypes}")
        if type(self.n_features) is not int or not 0 <= self.n_features <= MAX_COLUMNS:
            raise ValueError(f"sparse rows of {self.n_features!r} columns; allowed are 0 to {MAX_COLUMNS}")
        starts, n_stored = self.starts, len(self.values)
        if len(starts) == 0 or starts[0] < 0 or starts[-1] > n_stored or (np.diff(starts) < 0).any():
            raise ValueError(f"starts of sparse rows are {starts}; allowed are ascending numbers from 0 to {n_stored}")
        if len(self.columns) != n_stored or n_stored and not (0 <= self.columns.min() and self.columns.max() < self.n_features):
            raise ValueError(f"columns of sparse rows are {self.columns}; allowed are {n_stored} numbers below {self.n_features}")
        rises = np.diff(self.columns) > 0
        rises[starts[(0 < starts) & (starts < n_stored)] - 1] = True  # where another row begins
        if not rises[starts[0] : max(starts[0], starts[-1] - 1)].all():
            raise ValueError("columns of sparse rows do not ascend in each row")


@dataclass(frozen=True, eq=False)
class SparseColumns:
    """What is stored of a matrix, column by column: arrays like those of `SparseRows`, with rows, of uint32, for columns."""

    values: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    n_rows: int

    def __len__(self):
        return self.n_rows

    @property
    def dtype(self):
        return self.values.dtype

    def column(self, j):
        """(the stored values of a column, their rows)."""
        own = slice(self.starts[j], self.starts[j + 1])
        return self.values[own], self.rows[own]

    def matrix(self):
        """This as a matrix of SciPy: csc_array."""
        return _scipy().csc_array((self.values, self.rows.view(np.int32), self.starts), shape=(self.n_rows, len(self.starts) - 1))


def parts_of(X):
    """The arrays that an ndarray, or `SparseRows`, is made of: a tuple."""
    return X.arrays if isinstance(X, SparseRows) else (X,)


def column_of(X, j):
    """A column of an ndarray, or of `SparseRows`, as an ndarray of shape (n_rows,)."""
    return X.column(j) if isinstance(X, SparseRows) else X[:, j]


def with_column(X, j, values):
    """Rows with other values in a column, or one value in all: `SparseRows` are made anew, an ndarray is changed in place."""
    if isinstance(X, SparseRows):
        return X.with_column(j, values)
    X[:, j] = values
    return X


def joined(parts):
    """Rows of one dtype, one part below the other: the only part as it is; else an ndarray, or `SparseRows` if a part is."""
    if len(parts) == 1:
        return parts[0]
    if not any(isinstance(part, SparseRows) for part in parts):
        return np.concatenate(parts)
    return SparseRows.of(_scipy().vstack([SparseRows.of_any(part).matrix() for part in parts], format="csr"))


def dense(X):
    """Some rows as an ndarray, C-contiguous: an array of them, or `SparseRows`."""
    return X.toarray() if isinstance(X, SparseRows) else np.ascontiguousarray(X)
