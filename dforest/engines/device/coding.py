"""Bins of columns of numbers, found and written on a device: the codes that the processor would give, to the bit.

What is coded so: dense X whose bins weigh rows alike and have codes of one byte. The codes stay on the device, row by row;
`DeviceCodes` stands for those of a column.
"""

import numpy as np

from dforest.core.coding.code_rule import edges_between, values_of_keys
from dforest.core.coding.coded_columns import CodedColumn
from dforest.core.coding.columns import CATEGORICAL

KEYS_OF_ITEM = 32  # in a chunk
DIGIT_BITS = 4  # of the digits by which keys are sorted
MAX_CODES = 256  # of a column, that of missing values included


class DeviceCodes:
    """The codes of a column on a device.

    Parameters
    ----------
    matrix : DeviceArray of shape (n_rows, n_features), dtype uint8
        Of all columns.
    number : int
        Of the column.
    copies : list
        What all columns share: a copy of the matrix on the host, when one has been asked for.

    Attributes
    ----------
    dtype : numpy.dtype
    itemsize : int
    nbytes : int
        On the host: 0.
    """

    nbytes = 0

    def __init__(self, matrix, number, copies):
        self.matrix, self.number, self._copies = matrix, number, copies
        self.dtype, self.itemsize = matrix.dtype, matrix.dtype.itemsize

    def __len__(self):
        return len(self.matrix)

    def __getitem__(self, rows):
        """Some codes as a NumPy array."""
        if not self._copies:
            self._copies.append(self.matrix.get())
        return self._copies[0][rows, self.number]


def codes_there(columns):
    """The matrix on a device that has the codes of columns; None if they are on the host."""
    codes = columns[0].codes
    return codes.matrix if isinstance(codes, DeviceCodes) else None


def is_coded_there(X, max_codes, weight, kinds, counts_missing):
    """Whether columns can be coded by `code_columns`. Parameters: as of `dforest.core.coding.columns.code_columns`"""
    return (
        type(X) is np.ndarray
        and len(X) > 0
        and weight is None
        and 0 < max_codes <= MAX_CODES - (not counts_missing)
        and not np.any(np.asarray(kinds, np.int64) == CATEGORICAL)
    )


def columns_at_once(n_rows, n_features, itemsize, tuning):
    """How many columns are sorted at a time, of numbers of so many bytes: those whose keys, twice over, have room beside X.

    0: X itself has no room, with its codes and the keys of a column.
    """
    room = tuning.batch_bytes - n_rows * n_features * (itemsize + 1)
    return max(0, min(n_features, room // (2 * itemsize * n_rows)))


def bytes_there(n_rows, n_features, itemsize, tuning):
    """The memory of a device that it takes to code a matrix."""
    width = columns_at_once(n_rows, n_features, itemsize, tuning)
    return n_rows * (n_features * (itemsize + 1) + 2 * itemsize * width)


def code_columns(device, tuning, X, max_codes, kinds, counts_missing):
    """Code all columns of a matrix.

    Parameters
    ----------
    device : Device
    tuning : dforest.engines.device.training.Tuning
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
        It is on the device meanwhile, with the keys of as many columns as `columns_at_once` says.
    max_codes, kinds, counts_missing
        As of `dforest.core.coding.columns.code_columns`.

    Returns
    -------
    list of CodedColumn
        Whose codes are `DeviceCodes`.
    """
    n_rows, n_features = X.shape
    there, is_double, n_items = device.array(X), int(X.dtype == np.float64), tuning.n_items
    key_dtype = np.dtype(np.uint64 if is_double else np.uint32)
    highs = device.empty((n_features, max_codes), key_dtype)
    lows_found, highs_found = (np.empty(highs.shape, key_dtype) for _ in range(2))
    n_bins, n_missing = np.empty(n_features, np.int64), np.empty(n_features, np.int64)
    width = max(1, columns_at_once(n_rows, n_features, key_dtype.itemsize, tuning))
    for first in range(0, n_features, width):
        own = slice(first, min(first + width, n_features))
        found = _bins(device, tuning, there, key_dtype, own, max_codes, counts_missing)
        lows_found[own], highs_found[own], n_bins[own], n_missing[own] = (array.get() for array in found)
    highs.write(highs_found)
    codes = device.empty(X.shape, np.uint8)
    device.run("df_write_codes", min(tuning.n_groups, -(-n_rows // n_items)), there, is_double, n_rows, n_features, max_codes,
               highs, device.array(n_bins), codes, n_items=n_items)  # fmt: skip
    columns, copies = [], []
    for j, (n, kind) in enumerate(zip(n_bins.tolist(), kinds, strict=True)):
        lows, highs = (values_of_keys(np.ascontiguousarray(keys[j, :n])) for keys in (lows_found, highs_found))
        own = DeviceCodes(codes, j, copies)
        columns.append(CodedColumn(own, edges_between(lows, highs), lows, highs, bool(n_missing[j]), int(kind)))
    return columns


def _bins(device, tuning, x, key_dtype, own, max_codes, counts_missing):
    """The lowest and the highest keys of the bins of some columns, how many bins there are, and how many missing values."""
    n_rows, n_features = x.shape
    n, n_items, is_double = own.stop - own.start, tuning.n_items, int(x.dtype == np.float64)
    keys, other = (device.empty((n, n_rows), key_dtype) for _ in range(2))
    device.run("df_make_keys", min(tuning.n_groups, -(-n_rows // n_items)), x, is_double, n_rows, n_features, own.start, n, keys,
               n_items=n_items)  # fmt: skip
    size = KEYS_OF_ITEM * n_items
    n_chunks = -(-n_rows // size)
    places = device.empty((n, 1 << DIGIT_BITS, n_chunks), np.int64)
    how = {"n_items": n_items, "n_local": 4 * n_items << DIGIT_BITS}
    n_groups = min(tuning.n_groups, n * n_chunks)
    for shift in range(0, 8 * key_dtype.itemsize, DIGIT_BITS):
        shape = is_double, n_rows, n, size, n_chunks, shift, DIGIT_BITS
        device.run("df_count_digits", n_groups, keys, *shape, places, **how)
        device.run("df_place_digits", min(tuning.n_groups, n), n, n_chunks, DIGIT_BITS, places, n_items=n_items)
        device.run("df_move_keys", n_groups, keys, *shape, places, other, **how)
        keys, other = other, keys
    lows, highs = (device.empty((n, max_codes), key_dtype) for _ in range(2))
    n_bins, n_missing = (device.empty((n,), np.int64) for _ in range(2))
    device.run("df_make_bins", n, keys, is_double, n_rows, n, max_codes, int(counts_missing),
               device.empty((n, max_codes), np.int64), lows, highs, n_bins, n_missing, n_items=1)  # fmt: skip
    return lows, highs, n_bins, n_missing
