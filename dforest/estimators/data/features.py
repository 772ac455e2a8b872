"""What the columns of X are, as a fit learns it: which are continuous, ordinal or categorical, and which labels they hold."""

from functools import reduce
from numbers import Integral

import numpy as np

from dforest.core.sparse_rows import SparseRows
from dforest.estimators.data.encoder import CATEGORICAL, CONTINUOUS, KINDS, ORDINAL, RowEncoder
from dforest.estimators.data.labels import some_of
from dforest.estimators.data.ranges import ranges_of
from dforest.estimators.data.sparse import with_numbers

MAX_CATEGORIES = 65535  # of a column


class Features(RowEncoder):
    """What the columns of X are, as a fit finds it, and what becomes of it as trees are added."""

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
        ranges = ranges_of(rows.parts, rows.ranks)
        ranges[:, kept._encoded] = np.nan
        return kept.with_ranges(ranges if known is None else _spanning(known.ranges, ranges))

    def spanning(self, others):
        """These features with the ranges of all rows that these and others, a list of features, are of."""
        return self.with_ranges(reduce(_spanning, (features.ranges for features in (self, *others))))

    def with_ranges(self, ranges):
        """These features with other ranges; what they have else is shared."""
        if ranges is not None:
            ranges.setflags(write=False)
        made = object.__new__(type(self))
        vars(made).update(vars(self), ranges=ranges)
        return made

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


def _spanning(ranges, others):
    """The ranges of the rows of both; None if those of some are not known."""
    if ranges is None or others is None:
        return None
    return np.stack([np.minimum(ranges[0], others[0]), np.maximum(ranges[1], others[1])])


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
