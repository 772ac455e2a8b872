"""How much memory a fit takes, told before it: estimated from the data, and from trees grown on a few of the rows."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from dforest.engines.memory import MemoryEstimate
from dforest.estimators.subclasses import unfitted

FIXED = 1 << 20  # bytes that any fit takes
FEW_ROWS = 4096  # of which trees are grown on all
_SORTED = 28  # bytes for each row, of a thread that codes a column


@dataclass(frozen=True)
class FitMemory:
    """Estimate of the memory that a fit takes, in bytes, beside the X and y that it is given.

    If several processes ("ranks") fit together, it is that of one process, which has some of the rows, and in the end all trees.

    The method `estimate_memory` of forests, single trees and boosted trees returns it; ``print`` shows it as a table.

    Attributes
    ----------
    data : int
        Bytes of copies of X and y that the fit makes: with other types, with categories as numbers, without rows of weight 0, or
        to be kept.
    codes : int
        Bytes of the columns as numbers of bins or ranks, and of the values that these numbers stand for.
    coding : int
        Bytes that are needed only while these numbers are computed.
    growth : MemoryEstimate
        Bytes that growing the trees takes, piece by piece, and those of the forest.
    estimates : int
        Bytes that out-of-bag estimates and importances by permutation take once the trees are grown.
    n_leaves : int
        Approximate number of leaves of a tree.
    search, search_on_device : int
        Bytes that the search for the number of iterations takes before the trees of the model are grown, copies of rows included,
        and those of a device's memory. They are 0 unless boosted trees are refitted: see `refit` and `validation_folds`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> memory = RandomForestClassifier(500, n_jobs=1).estimate_memory(X, y)
    >>> memory.forest < memory.total < 64 * 2**20
    True
    """

    data: int
    codes: int
    coding: int
    growth: MemoryEstimate
    estimates: int
    n_leaves: int
    search: int = 0
    search_on_device: int = 0

    @property
    def forest(self):
        """Bytes of the grown forest, with all of its trees: int."""
        return self.growth.forest

    @property
    def scratch(self):
        """Bytes that are needed beside the forest while trees are grown, by all threads: int."""
        return self.growth.scratch

    @property
    def on_device(self):
        """Most bytes that growing takes at a time of the memory of a device, if that is not the host's: int; not in `total`."""
        return max(self.search_on_device, self.growth.on_device)

    @property
    def total(self):
        """Most bytes that the fit takes at a time, be it while columns are coded, while trees are grown or afterwards: int."""
        of_growth = self.codes + max(self.coding, self.growth.total)
        return self.data + max(self.search, of_growth, self.forest + self.estimates)

    def __str__(self):
        n_threads = self.growth.n_threads
        pieces = {
            "copies of X and y": self.data,
            "codes of columns": self.codes,
            "coding them": self.coding,
            f"growing, {n_threads} {'thread' if n_threads == 1 else 'threads'}": self.scratch,
            "the forest": self.forest,
            "estimates afterwards": self.estimates,
        }
        if self.search:
            pieces = {"searching iterations": self.search, **pieces}
        lines = [f"{name:<24}{n_bytes / 2**20:>12.1f} MiB" for name, n_bytes in pieces.items()]
        lines.append(f"{'at most at a time':<24}{self.total / 2**20:>12.1f} MiB")
        if self.on_device:
            lines.append(f"{'on the device':<24}{self.on_device / 2**20:>12.1f} MiB")
        return "\n".join(lines)


def unwatched(estimator):
    """A clone of an estimator whose fit is estimated: with checked parameters, without callbacks and trees to go on with."""
    model = unfitted(estimator)
    for name in ("_skl_callbacks", "_parent_callback_ctx"):
        model.__dict__.pop(name, None)
    if hasattr(model, "warm_start"):
        model.warm_start = False
    model._validate_params()
    return model


def bytes_of_copies(arrays, given):
    """The memory of those of some arrays, or None, that do not lie in what `fit` was given, each counted once."""
    lent = [getattr(one, name, None) for one in given if issparse(one) for name in ("data", "indices", "indptr")] + [*given]
    copies = {id(array): array for array in arrays if array is not None}.values()
    return sum(
        array.nbytes
        for array in copies
        if not any(isinstance(one, np.ndarray) and np.may_share_memory(one, array) for one in lent)
    )


def bytes_of_coding(n_rows, n_columns, n_threads):
    """The memory that coding columns takes, beside the codes."""
    return _SORTED * n_rows * min(n_threads, n_columns)


def some_rows(n_rows, sizes, share, ranks):
    """Some of the rows, of so many as each size says: the same ones in each process. A collective.

    Parameters
    ----------
    n_rows : int
        Of all ranks.
    sizes : list of int
    share : RowShare or None
        Which of them this rank has; None: all.
    ranks : Communicator

    Returns
    -------
    list of (ndarray, RowShare or None)
        For each size, which of the own rows are among them, and what share of them these are.
    """
    order, found = np.random.default_rng(0).permutation(n_rows), []
    for size in sizes:
        is_chosen = np.zeros(n_rows, bool)
        is_chosen[order[:size]] = True
        own = is_chosen if share is None else is_chosen[share.numbers()]
        found.append((np.flatnonzero(own), None if share is None else share.of_some(ranks, own)))
    return found


def columns_of_some(columns, chosen, n_rows):
    """Coded columns of the rows that are chosen of so many."""
    place = np.full(n_rows, -1)
    place[chosen] = np.arange(len(chosen))

    def of_some(column):
        if column.rows is None:
            return column._replace(codes=column.codes[chosen])
        rows = place[column.rows]
        order = np.argsort(rows)[np.count_nonzero(rows < 0) :]
        return column._replace(codes=column.codes[order], rows=rows[order].astype(np.uint32))

    return tuple(map(of_some, columns))


def leaves_of_all(counts, sizes, n_rows, most):
    """How many leaves a tree of all rows has, at most so many, given how many trees of two numbers of rows have, on average."""
    power = np.clip(np.log(counts[1] / counts[0]) / np.log(sizes[1] / sizes[0]), 0.0, 1.0)
    return min(counts[1] * (n_rows / sizes[1]) ** power, most)
