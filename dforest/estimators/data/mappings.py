"""Tables as mappings of the names of columns to values, as JSON has them; only rows to be predicted come so."""

import numpy as np

from dforest.estimators.data.tables import Table, exact_array, factorise

_LISTING = ("to_list", "to_pylist")  # what columns of polars and pyarrow have


def is_column(value):
    """Whether a value of a mapping is a column of values, and no value itself."""
    return isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1 or any(hasattr(value, name) for name in _LISTING)


class MappingTable(Table):
    """Columns by name, each a list, an array or a Series of as many values: those that are not there have missing values alone.

    Parameters
    ----------
    X : Mapping
    names : list
        All columns, in their order.

    Raises
    ------
    ValueError
        If columns have different lengths.
    """

    def __init__(self, X, names):
        lengths = {name: len(column) for name, column in X.items()}
        self.n_rows = next(iter(lengths.values()))
        for name, length in lengths.items():
            if length != self.n_rows:
                first = next(iter(lengths))
                raise ValueError(
                    f"X column {name!r} has {length} values, and column {first!r} has {self.n_rows}; allowed are equal numbers"
                )
        self.given, self.X, self.dtype, self.names, self.n_columns = X, None, None, names, len(names)
        self._columns = [exact_array(X[name]) if name in X else np.full(self.n_rows, np.nan) for name in names]

    def known(self, j):
        return self._columns[j]

    def exact(self, j):
        return self._columns[j]

    def _codes(self, j):
        return factorise(self._columns[j])

    def _numbers(self, j):
        return self._columns[j]
