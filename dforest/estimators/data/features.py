"""What the columns of X are, continuous, ordinal or categorical, and their encoding as numbers.

Trees test numbers. The labels of a categorical column become numbers 0, 1, ... in their ascending order;
those of an ordinal column that does not hold numbers, in the order that its type declares. NaN stands for
a missing value, and for a label that was not there in training. Labels are compared by Python's equality: 1 equals 1.0.
Where all labels of a column are text, numbers or booleans, a value of another type is no new label, and is refused; but
0 and 1 are False and True where a column has no other numbers.
"""

from collections.abc import Mapping
from numbers import Integral

import numpy as np

from dforest.core.sparse_rows import SparseRows
from dforest.errors import UnseenLabelsWarning
from dforest.estimators.data.column_check import ALLOWED, check_columns
from dforest.estimators.data.labels import as_list, is_missing, some_of, title, type_of, types_beside
from dforest.estimators.data.sparse import with_numbers
from dforest.estimators.data.tables import read_table
from dforest.rules.records import constants
from dforest.warning import warn

CONTINUOUS, ORDINAL, CATEGORICAL = (constants()[f"DF_{name}"] for name in ("CONTINUOUS", "ORDINAL", "CATEGORICAL"))
KINDS = ("continuous", "ordinal", "categorical")

MAX_CATEGORIES = 65535  # of a column
_USUAL = {"text": {str}, "numbers": {int, float}, "booleans": {bool}}  # the types of most values


class Features:
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
    encodes : bool
        Whether there is any column that `encode` changes.
    """

    def __init__(self, kinds, categories, names=None):
        self.kinds = np.array(kinds, np.uint8)
        self.categories = list(categories)
        self.names = names
        self._encoded = [j for j, labels in enumerate(self.categories) if labels is not None]
        self.encodes = bool(self._encoded)
        self.n_categories = np.array(
            [len(labels) if kind == CATEGORICAL else 0 for kind, labels in zip(kinds, categories, strict=True)], np.int32
        )
        for array in (self.kinds, self.n_categories, *self.categories):
            if array is not None:
                array.setflags(write=False)
        self._known_names = frozenset() if names is None else frozenset(names)
        self._numbers = [
            None if labels is None else {label: number for number, label in enumerate(labels.tolist())} for labels in categories
        ]
        self._allowed = [() if labels is None else types_beside(labels.tolist()) for labels in categories]
        self._usual = [set().union(*map(_USUAL.get, allowed)) for allowed in self._allowed]

    def __getstate__(self):
        return {"kinds": self.kinds, "categories": self.categories, "names": self.names}

    def __setstate__(self, state):
        """Take what `__getstate__` gave; raises TypeError or ValueError if it is something else."""
        if not isinstance(state, dict) or state.keys() != {"kinds", "categories", "names"}:
            raise ValueError("the state of features must be a dict with the keys categories, kinds and names")
        kinds, categories, names = state["kinds"], state["categories"], state["names"]
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
        self.__init__(kinds, categories, names)

    @classmethod
    def learn(cls, table, categorical_features="from_dtype", ordinal_features="from_dtype"):
        """What the columns of X are, as the user says or as their types tell.

        Parameters
        ----------
        table : Table
        categorical_features, ordinal_features : {"auto", "from_dtype"}, array-like or None
            The parameters of estimators; "auto" is for the first one.

        Returns
        -------
        Features
            Categories are all labels that X has, in ascending order.

        Raises
        ------
        ValueError
            If a column is named that is not there, or is named by both; if the labels of a column can't be compared with each
            other, or the values of an ordinal column have no order.
        """
        kinds, categories = kinds_of(table, categorical_features, ordinal_features), [None] * table.n_columns
        for j in np.flatnonzero(kinds != CONTINUOUS).tolist():
            categories[j] = table.categories(j) if kinds[j] == CATEGORICAL else table.levels(j)
        return cls(kinds, categories, table.names)

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

    def encode_rows(self, X):
        """One row, as a mapping or a Series of the names of columns to values, or rows, as a list of mappings or a frame.

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
        if isinstance(X, Mapping) or hasattr(X, "to_dict") and getattr(X, "ndim", 2) == 1:
            return self._encode_row(dict(X))
        if isinstance(X, list | tuple):
            return self._encode_listed(X)
        if not hasattr(X, "columns") and not hasattr(X, "column_names"):
            allowed = "arrays, mappings of names to values, lists of these, Series and frames"
            raise TypeError(f"X is of type {type(X).__name__}; allowed are {allowed}")
        table = read_table(X)
        self._check_names(table.names)
        check_columns(table, [j for j in range(table.n_columns) if not self.is_encoded(j)])
        return np.ascontiguousarray(table.floats({j: self._part(table, j) for j in self._encoded}))

    def _check_names(self, given):
        """Raise ValueError unless these are the names of the columns, in any order for a mapping."""
        lost, unknown = [name for name in self.names if name not in given], [name for name in given if name not in self.names]
        parts = [f"lacks {some_of(lost)}"] * bool(lost)
        parts += [f"has {some_of(unknown)}, which training rows did not have"] * bool(unknown)
        if not parts and not isinstance(given, Mapping) and list(given) != self.names:
            parts = [f"has its columns in another order, {some_of(given)}"]
        if parts:
            allowed = f"allowed are the columns {some_of(self.names)}, with None or NaN where a value is missing"
            raise ValueError(f"X {' and '.join(parts)}; {allowed}")

    def _encode_listed(self, rows):
        """Rows, each as a mapping. Errors name the row by its number, from 0."""
        result = np.empty((len(rows), len(self.names)))
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise TypeError(f"row {i} of X is of type {type(row).__name__}; allowed are mappings of names to values")
            try:
                result[i] = self._encode_row(row)
            except ValueError as error:
                raise ValueError(f"row {i}: {error}") from None
        return result

    def _encode_row(self, row):
        if row.keys() != self._known_names:
            self._check_names(row)
        result = np.empty(len(self.names))
        for j, name in enumerate(self.names):
            value = row[name]
            if self._allowed[j] and type(value) not in self._usual[j]:
                self._check_type(j, value)
            try:
                result[j] = value if self._numbers[j] is None else self._numbers[j].get(value, np.nan)
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

    def _part(self, table, j):
        """The numbers of the labels of an encoded column, for each entry of its codes: ndarray of float64."""
        codes, labels = table.codes(j)
        labels = as_list(labels)
        numbers = self._table(j, labels)
        n_rows, known = table.n_rows_of(j), codes >= 0
        rows = np.bincount(codes[known], None if n_rows is None else n_rows[known], len(numbers)).astype(np.int64)
        if self._allowed[j] and not {*map(type, labels)} <= self._usual[j]:
            for label, n in zip(labels, rows.tolist(), strict=False):
                if n:
                    self._check_type(j, label)
        self._check_unseen(j, rows, labels, numbers)
        return numbers[codes]

    def _check_unseen(self, j, rows, labels, table):
        """Warn if most rows that have a label in column j have one that has no number. rows : how many have each label"""
        unseen = [place for place in np.flatnonzero(np.isnan(table[:-1])).tolist() if not is_missing(labels[place])]
        if not unseen:
            return
        n_unseen, n_seen = int(rows[unseen].sum()), int(rows[~np.isnan(table)].sum())
        if n_unseen <= n_seen:
            return
        known = self.categories[j]
        commonest = sorted(unseen, key=lambda place: -rows[place])
        warn(
            f"{self.title(j)}: {n_unseen} of {n_unseen + n_seen} rows hold labels that were not in the training data, and are "
            f"taken as missing: {some_of([labels[place] for place in commonest], 3)}; the training data had {some_of(known, 3)}",
            UnseenLabelsWarning,
        )

    def _table(self, j, labels):
        """The number of each label of column j, NaN for a label that has none; at the end NaN, for missing values."""
        number = self._numbers[j].get
        return np.array([*(number(label, np.nan) for label in labels), np.nan])

    def occurring(self, parts, ranks):
        """These features with only those categories that occur in encoded rows. A collective.

        Parameters
        ----------
        parts : list of (ndarray of shape (n_rows of the part, n_features), or SparseRows)
            This rank's rows.
        ranks : Communicator
            Who else has rows.
        """
        categories = list(self.categories)
        parts = [_readable_by_column(X) for X in parts]
        for j in np.flatnonzero(self.kinds == CATEGORICAL).tolist():
            counts = sum((self._counts(X, j) for X in parts), np.zeros(len(categories[j]), np.int64))
            categories[j] = categories[j][ranks.sum(counts) > 0]
        return Features(self.kinds, categories, self.names)

    def kept(self, rows, known=None):
        """The features that trees are grown by; the rows' parts, which these features have encoded, are recoded. A collective.

        Parameters
        ----------
        rows : TrainingRows
        known : Features, optional
            Those of trees that there are already. None: without categories that only rows of weight 0 have.
        """
        kept = known
        if kept is None:
            kept = self.occurring(rows.parts, rows.ranks) if rows.ranks.any(not rows.kept.all()) else self
        if kept is not self:
            rows.parts = [self.recode(part, kept) for part in rows.parts]
        return kept

    def _counts(self, X, j):
        """How often each number occurs in column j of encoded rows: an ndarray, or SparseColumns."""
        numbers = X[:, j] if isinstance(X, np.ndarray) else X.column(j)[0]
        counts = np.bincount(numbers[numbers == numbers].astype(np.intp), minlength=len(self.categories[j]))
        if len(numbers) < len(X):
            counts[0] += len(X) - len(numbers)
        return counts

    def recode(self, X, other):
        """What other features would have made of rows that these features have encoded: an array is changed in place.

        Raises
        ------
        ValueError
            If the other features have other names, are of other kinds, or lack a label that occurs in the rows.
        """
        if self.names is not None and other.names is not None and self.names != other.names:
            j = next(j for j, (mine, others) in enumerate(zip(self.names, other.names, strict=True)) if mine != others)
            raise ValueError(
                f"column {j} of X is {self.names[j]!r}, but warm_start=True goes on with trees grown on {other.names[j]!r}; "
                f"allowed are {some_of(other.names)}"
            )
        rows, recoded = _readable_by_column(X), {}
        for j, labels in enumerate(self.categories):
            self._check_same_kind(j, other)
            if labels is None:
                continue
            table = other._table(j, labels.tolist())
            present = np.flatnonzero(self._counts(rows, j))
            unknown = present[np.isnan(table[present])]
            if len(unknown):
                raise ValueError(
                    f"{self.title(j)} holds {labels.tolist()[unknown[0]]!r}, but warm_start=True goes on with trees "
                    f"grown on {some_of(other.categories[j])}"
                )
            numbers = X[:, j] if rows is X else rows.column(j)[0]
            found = table[np.where(numbers == numbers, numbers, -1).astype(np.intp)]
            if rows is X:
                X[:, j] = found
            else:
                recoded[j] = found, table[0] if len(numbers) < len(X) else 0
        return SparseRows.of(with_numbers(rows.matrix(), recoded)) if recoded else X

    def _check_same_kind(self, j, other):
        mine, others = self.kinds[j], other.kinds[j]
        if mine != others:
            raise ValueError(
                f"{self.title(j)} is {KINDS[mine]}, but warm_start=True goes on with trees grown on it as {KINDS[others]}"
            )
        if self.is_encoded(j) != other.is_encoded(j):
            what = "levels", "numbers"
            raise ValueError(
                f"{self.title(j)} holds {what[not self.is_encoded(j)]}, but warm_start=True goes on with trees grown on "
                f"{what[not other.is_encoded(j)]}"
            )

    def check_limits(self):
        """Raise if a column has more categories than there may be."""
        for j in np.flatnonzero(self.n_categories > MAX_CATEGORIES).tolist():
            raise ValueError(
                f"{self.title(j)} has {self.n_categories[j]} categories; allowed are up to {MAX_CATEGORIES}: leave the column "
                "out, or replace its labels by what is known of each, such as by sklearn.preprocessing.TargetEncoder"
            )


def _readable_by_column(X):
    """Encoded rows, of which columns are to be read: an array as it is, and sparse ones column by column."""
    return X.by_column() if isinstance(X, SparseRows) else X


def kinds_of(table, categorical_features="from_dtype", ordinal_features="from_dtype"):
    """What kinds a table's columns are, by the user's word or by their types: ndarray of shape (n_columns,), dtype uint8."""
    kinds = np.full(table.n_columns, CONTINUOUS, np.uint8)
    by_name = {"categorical_features": categorical_features, "ordinal_features": ordinal_features}
    known = table.n_columns, table.names
    for name, choice in by_name.items():
        if isinstance(choice, str) and choice not in ("from_dtype", "auto"):
            raise ValueError(f'{name}={choice!r}; allowed are "from_dtype", "auto", None, and lists of columns')
    given = {name: numbers_of(name, choice, *known) for name, choice in by_name.items() if not _is_word(choice)}
    categorical, ordinal = given.get("categorical_features", []), given.get("ordinal_features", [])
    both = sorted(set(categorical) & set(ordinal))
    if both:
        raise ValueError(f"{table.title(both[0])} is in both categorical_features and ordinal_features; allowed is one of them")
    if isinstance(categorical_features, str) or isinstance(ordinal_features, str):
        for j in range(table.n_columns):
            order = table.order(j)
            if order == "ordered" and isinstance(ordinal_features, str):
                kinds[j] = ORDINAL
            elif isinstance(categorical_features, str):
                has_labels = order is not None or categorical_features == "auto" and table.holds_labels(j)
                kinds[j] = CATEGORICAL if has_labels else CONTINUOUS
    kinds[categorical] = CATEGORICAL
    kinds[ordinal] = ORDINAL
    return kinds


def _is_word(choice):
    return choice is None or isinstance(choice, str)


def numbers_of(parameter, choice, n, names):
    """The numbers of the columns, of n with some names or None, that a mask, indices or names stand for."""
    if np.ndim(choice) != 1:
        raise ValueError(f"{parameter} has {np.ndim(choice)} dimensions; allowed are names, numbers or a mask of columns")
    choice = list(choice)
    if all(isinstance(entry, bool | np.bool_) for entry in choice):
        if choice and len(choice) != n:
            raise ValueError(f"{parameter} is a mask of length {len(choice)}, but X has {n} features")
        return np.flatnonzero(choice).tolist()
    if all(isinstance(entry, str) for entry in choice):
        if names is None:
            raise ValueError(f"{parameter} names {choice[0]!r}, but X has no column names; give numbers or a mask")
        places = {name: j for j, name in enumerate(names)}
        for name in choice:
            if name not in places:
                raise ValueError(f"{parameter} names {name!r}; the columns of X are {some_of(list(names))}")
        numbers = [places[name] for name in choice]
    elif all(isinstance(entry, Integral) and not isinstance(entry, bool) for entry in choice):
        for entry in choice:
            if not 0 <= entry < n:
                raise ValueError(f"{parameter} holds {entry}; the {n} features of X have the numbers 0 to {n - 1}")
        numbers = [int(entry) for entry in choice]
    else:
        types = sorted({type(entry).__name__ for entry in choice})
        raise ValueError(
            f"{parameter} holds values of the types {', '.join(types)}; allowed are column names, numbers of columns, "
            "or a mask of booleans"
        )
    seen = set()
    for number, entry in zip(numbers, choice, strict=True):
        if number in seen:
            raise ValueError(f"{parameter} lists {entry!r} more than once")
        seen.add(number)
    return numbers
