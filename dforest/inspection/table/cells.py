"""The cells of a column, and their keys, by which rows and columns are compared.

The key of a row is a number of 64 bits: the sum, over the columns, of the cells' keys, each mixed with the number of its column.
That of a column is such a sum over its rows. Of a million different rows, two have equal keys with a probability below 1e-7.
"""

from functools import cached_property

import numpy as np

from dforest.estimators.data.column_check import FEW, LARGEST_EXACT, ROWS_OF_IDS, are_ids
from dforest.estimators.data.labels import as_list, is_missing, is_number
from dforest.estimators.data.texts import READERS, content_of

EQUALS_BY_CHANCE = 5  # pairs of equal integers that chance would bring: where there are none, integers are ids;
EQUALS_PER_COPY = 45  # so many more for each value that was there before

ROWS_OF_ID = 2  # at most, on average, copies included

_MISSING = np.uint64(2**63 - 1)  # the key of a missing value


class Cells:
    """The cells of a column.

    Attributes
    ----------
    values : ndarray of shape (n_rows,), dtype float64
        Numbers, or places in the list of labels; NaN where a value is missing.
    labels : list or None
        All of them occur.
    n_known : int
    low, high : float
        The least and the greatest value; NaN if all are missing.
    varies : bool
        Whether there are two different values, or a value and a missing one.
    """

    def __init__(self, values, labels=None):
        self.values, self.labels = values, labels
        self.n_known = int(np.count_nonzero(values == values))
        self.low, self.high = np.fmin.reduce(values), np.fmax.reduce(values)
        self.varies = 0 < self.n_known < len(values) or bool(self.low < self.high)

    def as_numbers(self):
        """These cells with labels that are numbers, or text that says numbers, as the numbers; others are missing."""
        if self.labels is None:
            return self
        return Cells(np.array([*map(_number, self.labels), np.nan])[self._places()])

    def first(self):
        """The first value that is not missing."""
        value = self.values[np.argmax(self.values == self.values)].item()
        return value if self.labels is None else self.labels[int(value)]

    @cached_property
    def content(self):
        """What labels say, text or not: a `Content` of dates or amounts, or None if it is something else."""
        texts = _texts(self.labels or [])
        return content_of(texts) if texts else None

    def in_order(self, rows):
        """The dates or amounts of some rows as numbers: ndarray of shape (n_rows,), NaN in other rows; None without `content`."""
        if self.content is None:
            return None
        places = np.unique(self.values[rows])
        texts, others = _texts(self.labels), {*self.content.others}
        places = [place for place in places[places == places].astype(np.intp).tolist() if texts[place] not in others]
        numbers = np.full(len(self.labels) + 1, np.nan)
        if places:
            numbers[places] = READERS[self.content.kind]([texts[place] for place in places])
        return numbers[self._places()]

    @cached_property
    def n_different(self):
        return len(np.unique(self.values[self.values == self.values]) if self.labels is None else self.labels)

    def may_be_ids(self):
        """Whether it is worth while to ask `are_ids` of some of the rows."""
        if self.labels is None:  # most columns of other numbers have equal ones, or fractions, among the first rows
            known = self.values[self.values == self.values]
            first = known[:1000]
            if len(np.unique(first)) * ROWS_OF_ID < len(first) or not all((part % 1 == 0).all() for part in (first, known)):
                return False
        elif any(hasattr(label, "isoformat") for label in self.labels[:1]) or self.content is not None:
            return False
        return self.n_different * ROWS_OF_ID >= self.n_known >= ROWS_OF_IDS

    def are_ids(self, rows):
        """Whether values in some rows, which have all of them, are different where measurements, or labels, would not be."""
        n = int(np.count_nonzero(self.values[rows] == self.values[rows]))
        if self.labels is not None or not are_ids(self.n_different, n):
            return are_ids(self.n_different, n)
        by_chance = n * (n - 1) / 2 / (self.high - self.low + 1)
        return by_chance >= EQUALS_BY_CHANCE + EQUALS_PER_COPY * (n - self.n_different)

    def variants(self):
        """Labels that differ only in case, or in spaces around them: list of lists of two labels or more."""
        groups = {}
        for label in self.labels or ():
            if isinstance(label, str):
                groups.setdefault(label.strip().casefold(), []).append(label)
        return [group for group in groups.values() if len(group) > 1]

    def own_keys(self):
        """Keys by which columns are compared: those of few labels say in which order labels occur for the first time."""
        if self.labels is None or len(self.labels) > min(FEW, self.n_known / 2):
            return self.keys()
        places, k = self._places(), len(self.labels)
        first = np.empty(k + 1, np.int64)
        first[places[::-1]] = np.arange(len(places))[::-1]
        rank = np.append(np.argsort(np.argsort(first[:k])), k).astype(np.uint64)
        return ~rank[places]

    def keys(self):
        """Keys by which rows are compared: equal labels have equal ones in all tables."""
        if self.labels is None:
            return keys_of(self.values)
        hashes = np.fromiter(map(hash, self.labels), np.int64, len(self.labels)).astype(np.uint64)
        for place, label in enumerate(self.labels):
            if type(label) is not str and is_number(label) and abs(label) <= LARGEST_EXACT:
                hashes[place] = keys_of(np.array([float(label)]))[0]
        return np.append(hashes, _MISSING)[self._places()]

    def _places(self):
        """Places in the list of labels, with one behind the last for missing values."""
        return np.where(self.values == self.values, self.values, len(self.labels)).astype(np.intp)


def numbered(codes, labels):
    """Codes of labels, as columns have them, as (values, labels) of `Cells`."""
    labels, codes = as_list(labels), np.asarray(codes)
    places = np.where(codes < 0, len(labels), codes)
    occurs = np.bincount(places, minlength=len(labels) + 1) > 0
    numbers, table = {}, np.full(len(labels) + 1, np.nan)
    for place in np.flatnonzero(occurs[:-1]).tolist():
        label = labels[place]
        if type(label) is str or not is_missing(label):
            table[place] = numbers.setdefault(label, len(numbers))
    return table[places], list(numbers)


def _number(label):
    try:
        return float(label)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _texts(labels):
    """Labels that are text, or dates, as text; None if any is something else."""
    if all(type(label) is str for label in labels):
        return labels
    return [label.isoformat() for label in labels] if all(hasattr(label, "isoformat") for label in labels) else None


def keys_of(values):
    """The keys of numbers: -0 is 0, and NaN is always the same."""
    keys = (values.astype(np.float64) + 0.0).view(np.uint64)
    keys[values != values] = _MISSING
    return keys


def mixed(places, keys):
    """Keys of cells, ndarray of dtype uint64, mixed with their places; by Steele, Lea and Flood's splitmix64 (2014)."""
    keys = keys + (np.atleast_1d(places) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    return keys ^ (keys >> np.uint64(31))
