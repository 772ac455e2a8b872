"""The columns of a table, dense or sparse, and what is found in them."""

from functools import cached_property

import numpy as np
from scipy.sparse import csc_array

from dforest.estimators.data.column_check import (
    DATES,
    FEW,
    IDS,
    LABELS,
    MIXED,
    ROWS_OF_IDS,
    SCATTERED,
    WORDS,
    Refusal,
    advice_on,
    numbers_as_text,
    refusal_of,
)
from dforest.estimators.data.encoder import CATEGORICAL, CONTINUOUS
from dforest.estimators.data.features import MAX_CATEGORIES, kinds_of
from dforest.estimators.data.texts import code_kind
from dforest.inspection.table.cells import Cells, keys_of, mixed, numbered
from dforest.inspection.table.finding import Finding, short

DUPLICATE = "leave one of the two out: they share their importance"
VARIANTS = "make them one, unless the difference means something: column.str.strip().str.casefold()"
OF_IDS = (IDS, SCATTERED, LABELS, MIXED)  # what the advice for a refused column begins with if it may hold ids
MOST_DATES = 30  # or amounts, that make categories
ROWS_OF_LABEL = 20  # on average, below which many labels may cost more than they tell
SPARSE = (
    "see by cross-validation whether the model is better without it, as few rows share a label to learn from, though forests and "
    "boosted trees order so many labels by other rows than a node's; or join labels, such as those of one region"
)
MOST_NAMED = 3  # labels of several variants that a finding names
CONSTANT = "leave it out: no split can use it"


class Table:
    """A table whose columns are read one after another.

    Attributes
    ----------
    keys : ndarray of shape (n_rows,), dtype uint64
        The keys of rows, once all columns have been read.
    """

    def __init__(self, columns, categorical_features):
        self.columns, self.names = columns, columns.names
        self.n_rows, self.n_columns = columns.n_rows, columns.n_columns
        self.kinds = kinds_of(columns, categorical_features)
        self.keys = np.zeros(self.n_rows, np.uint64)

    def read(self):
        """Yield the number and the `Cells` of each column; None for cells that can't be told from each other, as lists can't."""
        places = np.arange(self.n_rows, dtype=np.uint64)
        for j in range(self.n_columns):
            cells = self._cells(j)
            self.keys += mixed(np.uint64(j), places if cells is None else cells.keys())  # no two rows are equal then
            yield j, cells

    def name(self, j):
        return j if self.names is None else self.names[j]

    def findings(self, targets, max_score):
        """Yield what is found in columns."""
        found, doubtful, names, firsts = [], {}, set(), {}  # firsts: of each key of columns, the first column
        places = np.arange(self.n_rows, dtype=np.uint64)
        for j, cells in self.read():
            name, refusal = self.name(j), self._refusal(j)
            double = [Finding(name, "refused", "has the name of another column", "rename one of them")] * (name in names)
            names.add(name)
            own = [] if refusal is None else [Finding(name, "refused", refusal.what, refusal.advice)]
            found.append((double, own, others := []))
            if cells is None:
                continue
            keys, written = cells.keys, cells.labels
            if self.kinds[j] == CONTINUOUS and (refusal is None or refusal.advice == MIXED):
                cells = cells.as_numbers()
            own += self._of_values(j, cells)
            if refusal is None and self.kinds[j] == CONTINUOUS:
                own += self._of_text(name, written)
            if not cells.varies:
                continue
            if (refusal is None or refusal.advice.startswith(OF_IDS)) and cells.may_be_ids():
                doubtful[j] = cells, keys
            key = int(mixed(places, cells.own_keys()).sum())
            first = self.name(firsts.setdefault(key, j))
            if firsts[key] != j:
                others.append(Finding(name, "duplicate", f"says the same as column {first!r} in each row", DUPLICATE))
            for target in targets:
                others += self._given_away(target, name, cells, max_score)
        for j, (cells, keys) in doubtful.items():
            found[j][1][:] = self._id(j, cells, keys) or found[j][1]
        for parts in found:
            for part in parts:
                yield from part

    @staticmethod
    def _given_away(target, name, cells, max_score):
        """A finding, or none, that a column gives an output away: as dates or amounts, if it is text of them, or as labels."""
        ordered = cells.in_order(np.concatenate(target.halves)) if target.halves else None
        if ordered is not None:
            found = list(target.given_away(name, ordered.take, False, max_score, cells.content.kind))
            if found:
                return found
        return target.given_away(name, cells.values.take, cells.labels is not None, max_score)

    @cached_property
    def _different_rows(self):
        """The numbers of rows without those that equal earlier ones, once all columns have been read."""
        return np.unique(self.keys, return_index=True)[1]

    def _id(self, j, cells, keys):
        """A finding, or none, that a column holds ids. Those of copied rows are there twice, so such rows count once."""
        if not cells.are_ids(slice(None)):
            others = self.keys - mixed(np.uint64(j), keys())  # keys of the rows without this column
            # If many rows are equal without the column, nothing says that they are copies.
            if len(np.unique(others)) * 2 < len(self._different_rows) or not cells.are_ids(self._different_rows):
                return []
        is_text = isinstance(cells.first(), str)
        what = "integers that differ" if cells.labels is None else "text that differs" if is_text else "labels that differ"
        nearly = "nearly " * (cells.n_different < cells.n_known)
        return [Finding(self.name(j), "id", f"{what} in {nearly}each row, such as {short(cells.first())}", IDS)]

    def _refusal(self, j):
        """Why `fit` refuses column j: `Refusal`, or None."""
        if self.kinds[j] == CONTINUOUS:
            return refusal_of(self.columns.known(j))
        try:
            self.columns.categories(j) if self.kinds[j] == CATEGORICAL else self.columns.levels(j)
        except ValueError as error:
            return Refusal(str(error).removeprefix(f"{self.columns.title(j)} "))
        return None

    def _cells(self, j):
        known = self.columns.known(j)
        if self.kinds[j] == CONTINUOUS and known.dtype.kind in "biuf" and (known.dtype.kind == "f" or refusal_of(known) is None):
            return Cells(np.asarray(self.columns.numbers(j)).astype(np.float64))
        try:
            return Cells(*numbered(*self.columns.codes(j)))
        except ValueError:
            return None

    @staticmethod
    def _of_text(name, labels):
        """A finding, or none, that a column that `fit` takes for numbers holds text, given its different values, or None."""
        found = numbers_as_text(labels or [])
        if found is not None:
            yield Finding(name, "numbers stored as text", f"text of numbers, such as {short(found[0])}", found[1])

    def _of_values(self, j, cells):
        name, is_categorical = self.name(j), self.kinds[j] == CATEGORICAL
        labels = cells.labels or []
        if not cells.n_known:
            yield Finding(name, "missing", "all values are missing", CONSTANT)
            return
        if not cells.varies:
            yield Finding(name, "constant", f"all rows have the value {short(cells.first())}", CONSTANT)
            return
        such_as = f", such as {short(cells.first())}"
        is_text = all(isinstance(label, str) for label in labels)
        codes = code_kind(labels) if is_categorical and is_text and len(labels) > MOST_DATES else None
        if codes is not None and len(labels) <= MAX_CATEGORIES:
            what = f"{codes.kind} make {len(labels):,} labels, such as {short(codes.example)}"
            yield Finding(name, "many labels", what, codes.advice)
        elif is_categorical and cells.content is not None and len(labels) > MOST_DATES:
            what = f"{cells.content.kind} make {len(labels):,} labels, whose order is lost{such_as}"
            yield Finding(name, "many labels", what, advice_on(cells.content) if isinstance(labels[0], str) else DATES)
        elif is_categorical and len(labels) > MAX_CATEGORIES:
            what = f"{len(labels):,} different labels; allowed are up to {MAX_CATEGORIES:,}"
            yield Finding(name, "refused", what, WORDS)
        elif is_categorical and ROWS_OF_IDS <= cells.n_known < 2 * len(labels):
            what = f"{len(labels):,} different labels in {cells.n_known:,} rows{such_as}"
            yield Finding(name, "many labels", what, SCATTERED)
        elif is_categorical and len(labels) > FEW and cells.n_known < ROWS_OF_LABEL * len(labels):
            what = f"{len(labels):,} different labels, each in {cells.n_known / len(labels):.0f} rows on average{such_as}"
            yield Finding(name, "many labels", what, SPARSE)
        variants = cells.variants() if len(labels) <= MAX_CATEGORIES else []
        if variants:
            named = "; ".join(", ".join(map(short, group)) for group in variants[:MOST_NAMED])
            more = "; ..." * (len(variants) > MOST_NAMED)
            n = f"{len(variants):,} label{'s' * (len(variants) > 1)}"
            what = f"{n} in several variants of case or spaces: {named}{more}"
            yield Finding(name, "label variants", what, VARIANTS)


class SparseTable(Table):
    """A sparse matrix, of which the values that it stores are read."""

    def __init__(self, columns, categorical_features):
        super().__init__(columns, categorical_features)
        self.stored = csc_array(columns.X)
        self.stored.eliminate_zeros()
        self.rows = self.stored.indices.astype(np.uint64)
        self.column = np.repeat(np.arange(self.n_columns, dtype=np.uint64), np.diff(self.stored.indptr))

    def findings(self, targets, max_score):
        X = self.stored
        refusal = refusal_of(X.data)
        if refusal is not None:
            yield Finding(None, "refused", f"X has {refusal.what}", refusal.advice)
            return
        keys = self._added(self.rows, self.column, self.n_columns)
        for _ in self.read():
            pass
        may_give_away = [target.may_give_away(X, max_score) for target in targets]
        firsts = {}
        for j, n_stored in enumerate(np.diff(X.indptr).tolist()):
            if n_stored in (0, self.n_rows):
                cells = Cells(X[:, [j]].toarray().ravel().astype(np.float64))
                yield from self._of_values(j, cells)
                if not cells.varies:
                    continue
                if cells.may_be_ids():
                    yield from self._id(j, cells, cells.keys)
            first = firsts.setdefault(int(keys[j]), j)
            if first != j:
                yield Finding(j, "duplicate", f"says the same as column {first} in each row", DUPLICATE)
            for target, may in zip(targets, may_give_away, strict=True):
                if may[j]:
                    yield from target.given_away(j, X[:, [j]].toarray().ravel().take, False, max_score)

    def read(self):
        self.keys = self._added(self.column, self.rows, self.n_rows)
        return iter(())

    def _added(self, places, own, n):
        """The n keys of columns or rows, given for each entry its place there and which of them it belongs to: 0 adds nothing."""
        cells = mixed(places, keys_of(self.stored.data)) - mixed(places, keys_of(np.zeros(1)))
        keys = np.zeros(n, np.uint64)
        np.add.at(keys, own, cells)
        return keys
