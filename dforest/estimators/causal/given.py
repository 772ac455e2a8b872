"""What the ranks of a fit that is told of treatments are given of their rows beside X, brought together.

Effects are differences between rows, and what is taken off, warned of, and called an arm depends on all of them. So each rank
gets outcomes, treatments and what else it needs of the rows of all ranks, some numbers for each, in the order in which one
process would have them. The columns of X stay where they are.
"""

import numpy as np

from dforest.engines.rows import RowShare
from dforest.estimators.causal.observations import categories_of
from dforest.estimators.data.agreement import check_alike, join_labels
from dforest.estimators.data.given import given_values
from dforest.estimators.data.tables import read_table


class GivenRows:
    """The rows of a fit that is told of treatments. Making it is a collective.

    Parameters
    ----------
    estimator : ForestEstimator
    partitions : list of Partition
        This rank's, as `fit` was given them.
    ranks : Communicator
    beside : tuple of str
        Which fields of partitions are wanted beside y: their names.

    Attributes
    ----------
    partitions : list of Partition
        This rank's, with X as a `Table` if there are several of all ranks.
    told : dict
        `y`, `treatment` and what else is known, of the rows of all ranks.
    sample_weight, groups : array-like, or None
        Of the rows of all ranks, if they are wanted.
    categories : list, or None
        The order of the labels of the treatment, if its type has one.
    share : RowShare, or None
        Which of the rows are this rank's: a range for each of its partitions; None: all are, in one.
    is_divided : bool
        Whether there are several partitions.

    Raises
    ------
    ValueError
        If ranks ask for different things; if something is given in some partitions alone, has other columns, types or categories
        there, or has not a value for each row.
    """

    def __init__(self, estimator, partitions, ranks, beside=()):
        self.partitions, self.ranks = partitions, ranks
        self.is_divided = ranks.size > 1 or len(partitions) != 1
        if not self.is_divided:
            (own,) = partitions
            self.told, self.sample_weight, self.groups = _told(own), own.sample_weight, own.groups
            self.categories, self.share = categories_of(self.told.get("treatment")), None
            return
        partitions = self.partitions = [own._replace(X=read_table(own.X)) for own in partitions]
        check_alike(ranks, estimator, partitions, vars(estimator).get("forest_") if estimator.warm_start else None)
        own = [(partition.place, *_arrays(partition, beside)) for partition in partitions]
        self.share = RowShare.agreed(ranks, [place for place, _, _ in own], [len(arrays["y"]) for _, arrays, _ in own])
        everywhere = [part for of_rank in ranks.gather_objects(own) for part in of_rank]
        everywhere = sorted(everywhere, key=lambda part: part[0])
        there = [part for part in everywhere if len(part[1]["y"])] or everywhere[:1]
        names = dict.fromkeys(name for _, arrays, _ in there for name in arrays)
        self.told = {name: _joined(name, [arrays.get(name) for _, arrays, _ in there]) for name in names}
        self.sample_weight, self.groups = self.told.pop("sample_weight", None), self.told.pop("groups", None)
        self.categories = _one_order([categories for _, _, categories in there])

    def parts(self, array):
        """What an array has of the rows of each of this rank's partitions; None of each if it is None."""
        if array is None:
            return [None] * len(self.partitions)
        if not self.is_divided:
            return [array]
        ranges = zip(self.share.starts.tolist(), self.share.lengths.tolist(), strict=True)
        return [array[start : start + length] for start, length in ranges]

    def partitions_with(self, **arrays):
        """This rank's partitions with other fields, given by name what all rows have of them."""
        parts = zip(*map(self.parts, arrays.values()), strict=True)
        return [own._replace(**dict(zip(arrays, part, strict=True))) for own, part in zip(self.partitions, parts, strict=True)]

    def of_all(self, own):
        """What the rows of all ranks have, given that of this rank's. A collective."""
        return self.share.gathered(self.ranks, own) if self.is_divided else own


def _told(partition):
    return partition.y if isinstance(partition.y, dict) else {"y": partition.y}


def _arrays(partition, beside):
    """(what is known of the rows of a partition, as arrays by name, the categories of the treatment, if it has labels)."""
    told = _told(partition) | {name: getattr(partition, name) for name in beside}
    arrays = {name: given_values(name, values) for name, values in told.items() if values is not None}
    if "y" not in arrays:
        raise ValueError("y=None; allowed is an outcome for each row")
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.ndim == 0:
            raise ValueError(f"{name} has the shape {np.shape(array)}; allowed are dense arrays with a value for each row")
        if len(array) != len(arrays["y"]):
            raise ValueError(f"{name} has {len(array)} rows, and y has {len(arrays['y'])}; allowed are equal numbers")
    has_numbers = "treatment" in arrays and arrays["treatment"].dtype.kind in "biuf"
    return arrays, None if has_numbers else categories_of(told.get("treatment"))


def _joined(name, arrays):
    """An array of the rows of all partitions, given those of each."""
    if any(array is None for array in arrays):
        raise ValueError(f"{name} is given in some partitions, and in others not; allowed is one for all partitions")
    shapes = sorted({array.shape[1:] for array in arrays})
    if len(shapes) > 1:
        raise ValueError(f"{name} has rows of the shape {shapes[0]} in one partition, and {shapes[1]} in another; allowed is one")
    return join_labels(name, arrays)


def _one_order(categories):
    """The categories of the treatment, given those of each partition."""
    for other in categories:
        if other != categories[0]:
            said = [f"the categories {one}" if one is not None else "no categorical type" for one in (categories[0], other)]
            raise ValueError(f"treatment has {said[0]} in one partition, but {said[1]} in another; allowed is one type")
    return categories[0]
