"""Lists of classes: rows of a table by class that have few of many classes, and keep those alone.

A table of the weights of leaves, or of the shares that they vote by, has a row for each leaf and a column for each class. Leaves
of many classes have few of them each, so a row is a list of entries, a class and a number. Numbers of classes that are not listed
are 0. Where a tree has several outputs, the classes of one output come after those of another, and are numbered throughout.

Lists borrow the arrays that they are made of, and own those that they make.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class ClassLists:
    """The rows of a table as lists of their entries.

    Attributes
    ----------
    starts : ndarray of shape (n + 1,), dtype int64
        Where the list of each row begins in the arrays of entries, and the last one ends.
    classes : ndarray of shape (n_entries,), dtype int32
        The class of each entry, in a list in ascending order.
    values : ndarray of shape (n_entries,), dtype int64 or float64
        The number of each entry.
    n_classes : int
        How many columns the table has.
    """

    starts: np.ndarray
    classes: np.ndarray
    values: np.ndarray
    n_classes: int

    @classmethod
    def of(cls, table):
        """The lists of a table's rows: ndarray of shape (n, n_classes), of which numbers other than 0 are entries."""
        rows, classes = np.nonzero(table)
        starts = np.append(0, np.cumsum(np.bincount(rows, minlength=len(table))))
        return cls(starts, classes.astype(np.int32), table[rows, classes], table.shape[1])

    @property
    def shape(self):
        return len(self.starts) - 1, self.n_classes

    def __len__(self):
        return len(self.starts) - 1

    @property
    def lengths(self):
        return np.diff(self.starts)

    def dense(self, rows=slice(None)):
        """Some rows of the table, a slice of step 1: ndarray of shape (n_rows, n_classes)."""
        first, last, _ = rows.indices(len(self))
        begin, end = self.starts[[first, max(first, last)]]
        table = np.zeros((max(0, last - first), self.n_classes), self.values.dtype)
        of_entries = np.repeat(np.arange(len(table)), np.diff(self.starts[first : last + 1]))
        table[of_entries, self.classes[begin:end]] = self.values[begin:end]
        return table

    def take(self, rows):
        """The lists of some rows, given their numbers, as lists of a table of these rows."""
        lengths = self.lengths[rows]
        starts = np.append(0, np.cumsum(lengths))
        entries = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], lengths)
        return ClassLists(starts, self.classes[entries], self.values[entries], self.n_classes)

    def columns(self, chosen):
        """The lists of the table with some columns only, a slice of step 1."""
        is_chosen = (self.classes >= chosen.start) & (self.classes < chosen.stop)
        before = np.append(0, np.cumsum(is_chosen))
        classes = self.classes[is_chosen] - np.int32(chosen.start)
        return ClassLists(before[self.starts], classes, self.values[is_chosen], chosen.stop - chosen.start)

    def totals(self):
        """The sum of each list: ndarray of shape (n,). No list is empty."""
        return np.add.reduceat(self.values, self.starts[:-1]) if len(self) else self.values[:0]

    def divided(self, by):
        """The lists with each number divided by that of its row, float64."""
        return ClassLists(self.starts, self.classes, self.values / np.repeat(by, self.lengths), self.n_classes)

    def largest(self):
        """The first class of the largest number of each list: ndarray of shape (n,), dtype int32. No list is empty."""
        if not len(self):
            return self.classes[:0]
        is_largest = self.values == np.repeat(np.maximum.reduceat(self.values, self.starts[:-1]), self.lengths)
        places = np.flatnonzero(is_largest)
        return self.classes[places[np.searchsorted(places, self.starts[:-1])]]


def weight_arrays(weights):
    """The arrays that a `Forest` keeps of the weights of leaves, by name."""
    if isinstance(weights, ClassLists):
        return {"class_starts": weights.starts, "class_numbers": weights.classes, "class_weights": weights.values}
    return {"leaf_weight": weights}
