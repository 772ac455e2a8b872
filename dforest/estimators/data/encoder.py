"""What the columns of X are, continuous, ordinal or categorical, and their encoding as numbers.

Trees test numbers. The labels of a categorical column become numbers 0, 1, ... in their ascending order;
those of an ordinal column that does not hold numbers, in the order that its type declares. NaN stands for
a missing value, and for a label that was not there in training. Labels are compared by Python's equality: 1 equals 1.0.
Where all labels of a column are text, numbers or booleans, a value of another type is no new label, and is refused; but
0 and 1 are False and True where a column has no other numbers. All of this needs NumPy alone.
"""

from collections.abc import Mapping

import numpy as np

from dforest.core.readable import readable
from dforest.core.sparse_rows import SparseRows
from dforest.errors import UnseenLabelsWarning
from dforest.estimators.data.column_check import ALLOWED, check_columns, check_values
from dforest.estimators.data.labels import as_list, is_missing, some_of, title, type_of, types_beside
from dforest.estimators.data.mappings import MappingTable, is_column
from dforest.estimators.data.sparse import is_sparse
from dforest.estimators.data.tables import read_table
from dforest.rules.records import constants
from dforest.warning import warn

CONTINUOUS, ORDINAL, CATEGORICAL = (constants()[f"DF_{name}"] for name in ("CONTINUOUS", "ORDINAL", "CATEGORICAL"))
KINDS = ("continuous", "ordinal", "categorical")

_USUAL = {"text": {str}, "numbers": {int, float}, "booleans": {bool}}  # the types of most values


class RowEncoder:
    """What the columns of X are.

    Attributes
    ----------
    kinds : ndarray of shape (n_features,), dtype uint8
        CONTINUOUS, ORDINAL or CATEGORICAL.
    categories : list of length n_features
        ndarray of the labels that the numbers 0, 1, ... stand for; None for columns that are numbers
        themselves.
    n_categories : ndarray of shape (n_features,), dtype int32
        0 for columns that are not categorical.
    names : list or None
        The columns' names, if X was a frame.
    ranges : ndarray of shape (2, n_features), dtype float64, or None
        The least and the greatest value of each column in the training rows, infinity and -infinity if it had none, and NaN for
        encoded columns. None if they are not known.
    encodes : bool
        Whether there is any column that `encode` changes.
    """

    def __init__(self, kinds, categories, names=None, ranges=None):
        self.kinds = np.array(kinds, np.uint8)
        self.categories = list(categories)
        self.names, self.ranges = names, ranges
        self._encoded = [j for j, labels in enumerate(self.categories) if labels is not None]
        self.encodes = bool(self._encoded)
        self.n_categories = np.array(
            [len(labels) if kind == CATEGORICAL else 0 for kind, labels in zip(kinds, categories, strict=True)], np.int32
        )
        for array in (self.kinds, self.n_categories, ranges, *self.categories):
            if array is not None:
                array.setflags(write=False)
        self._known_names = frozenset() if names is None else frozenset(names)
        self._numbers = [
            None if labels is None else {label: number for number, label in enumerate(labels.tolist())} for labels in categories
        ]
        self._allowed = [() if labels is None else types_beside(labels.tolist()) for labels in categories]
        self._usual = [set().union(*map(_USUAL.get, allowed)) for allowed in self._allowed]

    def __getstate__(self):
        return {"kinds": self.kinds, "categories": self.categories, "names": self.names, "ranges": self.ranges}

    def __setstate__(self, state):
        """Take what `__getstate__` gave; raises TypeError or ValueError if it is something else."""
        if not isinstance(state, dict) or state.keys() | {"ranges"} != {"kinds", "categories", "names", "ranges"}:
            raise ValueError("the state of features must be a dict with the keys categories, kinds, names and ranges")
        kinds, categories, names = state["kinds"], state["categories"], state["names"]
        ranges = state.get("ranges")  # which earlier versions did not keep
        if not isinstance(kinds, np.ndarray) or kinds.ndim != 1 or not np.isin(kinds, (CONTINUOUS, ORDINAL, CATEGORICAL)).all():
            raise ValueError(f"kinds of features are {kinds!r}; allowed are arrays of {CONTINUOUS}, {ORDINAL} and {CATEGORICAL}")
        for what, parts in (("categories", categories), ("names", names)):
            if not (isinstance(parts, list) and len(parts) == len(kinds)) and not (what == "names" and parts is None):
                raise ValueError(f"{what} of {len(kinds)} features must be a list with one entry for each, got {parts!r}")
        for kind, labels in zip(kinds, categories, strict=True):
            if labels is None and kind == CATEGORICAL or labels is not None and kind == CONTINUOUS:
                raise ValueError(f"the categories of a {KINDS[kind]} feature can't be {labels!r}")
            if labels is not None and (not isinstance(labels, np.ndarray) or labels.ndim != 1):
                raise ValueError(f"the categories of a feature are {labels!r}; allowed are arrays of one axis, and None")
        if ranges is not None and not (
            isinstance(ranges, np.ndarray) and ranges.dtype == np.float64 and ranges.shape == (2, len(kinds))
        ):
            raise ValueError(f"ranges of {len(kinds)} features are {ranges!r}; allowed are two rows of so many float64")
        self.__init__(kinds, categories, names, ranges)

    def title(self, j):
        """What messages call column j."""
        return title(self.names, j)

    def is_encoded(self, j):
        return self.categories[j] is not None

    def encode(self, table):
        """X with numbers in place of the labels of encoded columns; the columns that are not encoded must hold what floats can.

        Returns
        -------
        array-like, frame, or sparse matrix of shape (n_rows, n_features)
            What the table was read from, if scikit-learn makes numbers of it that say the same, and no column is encoded;
            otherwise as `Table.floats`.
        """
        if table.is_plain and not self.encodes:
            return table.given
        return table.floats({j: self._part(table, j) for j in self._encoded})

    def check(self, table):
        """Raise ValueError or TypeError unless the columns that hold no labels hold what floats can."""
        is_number = np.array([not self.is_encoded(j) for j in range(table.n_columns)], bool)
        if is_sparse(table.X):
            check_values("X", table.X.data[is_number[table.X.indices]])
        elif not table.holds_floats:
            check_columns(table, np.flatnonzero(is_number).tolist())

    def encode_table(self, table, unseen=None):
        """The rows of a table, checked and encoded.

        Parameters
        ----------
        table : Table
        unseen : defaultdict of int, optional
            IN/OUT: by the number of a column, how many rows have a label there that was not there in training.

        Returns
        -------
        ndarray of shape (n_rows, n_features), dtype float32 or float64, C-contiguous; or SparseRows
        """
        self.check(table)
        if table.holds_floats and not self.encodes and not is_sparse(table.X):
            return readable(np.ascontiguousarray(table.X))
        rows = table.floats({j: self._part(table, j, unseen) for j in self._encoded})
        return SparseRows.of(rows) if is_sparse(rows) else np.ascontiguousarray(rows)

    def encode_rows(self, X, missing="error", unseen=None):
        """Rows by the names of columns: one as a mapping or a Series, or several as a list of mappings, as columns, or a frame.

        Parameters
        ----------
        X : mapping, Series, list of mappings, or frame
            A mapping has a value for each name, or, for several rows, a list, an array or a Series for each.
        missing : {"error", "allow"}, default="error"
            Whether a mapping may lack names, whose values are then missing.
        unseen
            As of `encode_table`.

        Returns
        -------
        ndarray of shape (n_features,) or (n_rows, n_features), dtype float32 or float64
            C-contiguous.

        Raises
        ------
        TypeError
            If X is nothing of that kind.
        ValueError
            If X has other names than in training, a column that holds no labels has something that is no number, or one of
            labels has a value of another type than they are.
        """
        if isinstance(X, Mapping) and X and all(map(is_column, X.values())):
            self.check_names(X, missing)
            return self.encode_table(MappingTable(X, self.names), unseen)
        if isinstance(X, Mapping) or hasattr(X, "to_dict") and getattr(X, "ndim", 2) == 1:
            return self._encode_row(dict(X), missing, unseen)
        if isinstance(X, list | tuple):
            return self._encode_listed(X, missing, unseen)
        if not hasattr(X, "columns") and not hasattr(X, "column_names"):
            allowed = "arrays, mappings of names to values, lists of these, Series and frames"
            raise TypeError(f"X is of type {type(X).__name__}; allowed are {allowed}")
        table = read_table(X)
        self.check_names(table.names)
        return self.encode_table(table, unseen)

    def check_names(self, given, missing="error"):
        """Raise ValueError unless these are the names of the columns, in any order for a mapping; some if they may be missing."""
        lost = [name for name in self.names if name not in given] if missing == "error" else []
        unknown = [name for name in given if name not in self._known_names]
        parts = [f"lacks {some_of(lost)}"] * bool(lost)
        parts += [f"has {some_of(unknown)}, which training rows did not have"] * bool(unknown)
        if not parts and not isinstance(given, Mapping) and list(given) != self.names:
            parts = [f"has its columns in another order, {some_of(given)}"]
        if parts:
            allowed = f"allowed are the columns {some_of(self.names)}, with None or NaN where a value is missing"
            raise ValueError(f"X {' and '.join(parts)}; {allowed}")

    def _encode_listed(self, rows, missing, unseen):
        """Rows, each as a mapping. Errors name the row by its number, from 0."""
        result = np.empty((len(rows), len(self.names)))
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise TypeError(f"row {i} of X is of type {type(row).__name__}; allowed are mappings of names to values")
            try:
                result[i] = self._encode_row(row, missing, unseen)
            except ValueError as error:
                raise ValueError(f"row {i}: {error}") from None
        return result

    def _encode_row(self, row, missing, unseen):
        if row.keys() != self._known_names:
            self.check_names(row, missing)
            row = {name: row.get(name) for name in self.names}
        result = np.empty(len(self.names))
        for j, name in enumerate(self.names):
            value = row[name]
            if self._allowed[j] and type(value) not in self._usual[j]:
                self._check_type(j, value)
            try:
                if self._numbers[j] is None:
                    result[j] = value
                else:
                    result[j] = number = self._numbers[j].get(value, np.nan)
                    if number is np.nan and unseen is not None and not is_missing(value):
                        unseen[j] += 1
            except (TypeError, ValueError, OverflowError):  # the last of integers that no float can hold
                if not is_missing(value):
                    raise ValueError(f"{self.title(j)} holds {value!r}; {ALLOWED}") from None
                result[j] = np.nan
        return result

    def _check_type(self, j, value):
        """Raise ValueError if a value has another type than all labels of column j."""
        allowed, given = self._allowed[j], type_of(value)
        if given is None or given in allowed or is_missing(value):
            return
        raise ValueError(
            f"{self.title(j)} holds the {given.removesuffix('s')} {value!r}, but {allowed[0]} in the training data, such as "
            f"{self.categories[j].tolist()[0]!r}; allowed are {', '.join(allowed)} and missing values"
        )

    def _part(self, table, j, unseen=None):
        """The numbers of the labels of an encoded column, for each entry of its codes: ndarray of float64.

        unseen : as of `encode_table`
        """
        codes, labels = table.codes(j)
        labels = as_list(labels)
        numbers = self._table(j, labels)
        n_rows, known = table.n_rows_of(j), codes >= 0
        rows = np.bincount(codes[known], None if n_rows is None else n_rows[known], len(numbers)).astype(np.int64)
        if self._allowed[j] and not {*map(type, labels)} <= self._usual[j]:
            for label, n in zip(labels, rows.tolist(), strict=False):
                if n:
                    self._check_type(j, label)
        n_unseen = self._check_unseen(j, rows, labels, numbers)
        if unseen is not None:
            unseen[j] += n_unseen
        return numbers[codes]

    def _check_unseen(self, j, rows, labels, table):
        """How many rows have a label in column j that has no number; warns if most do. rows : how many have each label"""
        unseen = [place for place in np.flatnonzero(np.isnan(table[:-1])).tolist() if not is_missing(labels[place])]
        if not unseen:
            return 0
        n_unseen, n_seen = int(rows[unseen].sum()), int(rows[~np.isnan(table)].sum())
        if n_unseen <= n_seen:
            return n_unseen
        known = self.categories[j]
        commonest = sorted(unseen, key=lambda place: -rows[place])
        warn(
            f"{self.title(j)}: {n_unseen} of {n_unseen + n_seen} rows hold labels that were not in the training data, and are "
            f"taken as missing: {some_of([labels[place] for place in commonest], 3)}; the training data had {some_of(known, 3)}",
            UnseenLabelsWarning,
        )
        return n_unseen

    def _table(self, j, labels):
        """The number of each label of column j, NaN for a label that has none; at the end NaN, for missing values."""
        number = self._numbers[j].get
        return np.array([*(number(label, np.nan) for label in labels), np.nan])
