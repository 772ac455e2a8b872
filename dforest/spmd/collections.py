"""Collections of Dask as rows: dask arrays, dask dataframes and lists of delayed rows, and the partitions of several of them."""

import numpy as np

from dforest.extras import install_command

try:
    import dask.array as da
    from dask.delayed import Delayed
except ImportError as error:
    raise ImportError(f"dforest.dask needs Dask; install it: {install_command('dask')}") from error


def kind_of(given):
    """What kind of collection something is, in words; None if it is none."""
    if isinstance(given, list | tuple):
        return "list of delayed" if len(given) and all(isinstance(part, Delayed) for part in given) else None
    if isinstance(given, da.Array):
        return "dask array"
    return "dask dataframe" if hasattr(given, "map_partitions") and hasattr(given, "to_delayed") else None


def is_of_dask(given):
    """Whether something is a collection."""
    return kind_of(given) is not None


def _whole_rows(array, name):
    """A dask array none of whose rows is cut."""
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} has {array.ndim} dimensions; allowed are 1 and 2")
    return array if array.ndim == 1 or array.numblocks[1] == 1 else array.rechunk({1: -1})


def alike(given):
    """Collections of Dask, by name, as a list: arrays of known sizes in the blocks of the first one, none of whose rows is cut.

    Raises
    ------
    TypeError
        If one is none.
    """
    collections = []
    for name, collection in given.items():
        if not is_of_dask(collection):
            raise TypeError(
                f"{name} is of type {type(collection).__name__}; allowed are dask arrays and dataframes, and lists of delayed "
                f"partitions. For data in memory, use the estimators of dforest instead of those of dforest.dask"
            )
        if isinstance(collection, da.Array):
            collection = _whole_rows(collection, name)
            rows = collections[0].chunks[0] if collections and isinstance(collections[0], da.Array) else collection.chunks[0]
            if collection.chunks[0] != rows and sum(collection.chunks[0]) == sum(rows):  # so all sizes are known
                collection = collection.rechunk({0: rows})
        collections.append(collection)
    return collections


def side_by_side(names, collections):
    """For each partition, its delayed parts of all collections. Raises ValueError if these differ in the number of parts."""
    parts = [part if isinstance(part, list | tuple) else np.ravel(part.to_delayed()).tolist() for part in collections]
    check_numbers(names, list(map(len, parts)))
    return list(zip(*parts, strict=True))


def check_numbers(names, numbers):
    """Raise ValueError unless collections have equal numbers of partitions."""
    if len(set(numbers)) > 1:
        said = ", ".join(f"{name} has {number}" for name, number in zip(names, numbers, strict=True))
        raise ValueError(f"{said} partitions; allowed is the same number for all")


def n_rows_of(X):
    """The number of rows of an array, a frame or a sparse matrix."""
    return X.shape[0] if hasattr(X, "shape") else len(X)
