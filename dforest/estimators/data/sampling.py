"""From what `fit` is told of sampling to the sampling plan of its trees."""

import numpy as np

from dforest.core.draws import Groups
from dforest.core.sampling import SamplingPlan, Subsample
from dforest.engines.rows import RowShare
from dforest.estimators.data.agreement import common_labels, join_labels, unique_labels
from dforest.estimators.data.given import given_values
from dforest.estimators.data.outputs import joint_classes
from dforest.sampling import SampledRows


def groups_of(partitions, rows, sampling):
    """The groups of this rank's training rows, or None. A collective, if groups are given.

    Parameters
    ----------
    partitions : list of Partition
        What this rank was given.
    rows : TrainingRows
        Those that were given and have positive weight.
    sampling : Sampling or None

    Raises
    ------
    ValueError
        If these are no groups of the rows, or nobody asks for them.
    """
    if all(partition.groups is None for partition in partitions):
        return None
    if sampling is None or not sampling.needs_groups:
        raise ValueError(f'groups are given, but {sampling or "bootstrap=False"} does not draw by groups; allowed is '
                         'groups=None, or bootstrap="group", which does')  # fmt: skip
    given = RowShare.agreed(rows.ranks, [partition.place for partition in partitions], rows.lengths)
    by_partition = []
    for partition, first, length in zip(partitions, given.starts.tolist(), rows.lengths, strict=True):
        groups = given_values("groups", partition.groups, first)
        if groups.ndim != 1 and groups.shape[1:] != (1,):
            raise ValueError(f"groups has the shape {groups.shape}; allowed is one group for each row")
        groups = groups.ravel()
        if len(groups) != length:
            raise ValueError(f"groups has {len(groups)} entries, but X has {length} rows")
        by_partition.append(groups)
    there = [groups for groups in by_partition if len(groups)]
    groups = join_labels("groups", there or by_partition)
    if groups.dtype.kind == "O":
        unique_labels("groups", groups)  # which raises if they have no order
    return groups[rows.kept]


def _groups_of_all(rows):
    """The groups of the training rows of all ranks, by number, or None. A collective."""
    if rows.groups is None or not rows.is_divided:
        return rows.groups
    labels, numbers = unique_labels("groups", rows.groups)
    labels, numbers = common_labels(rows.ranks, "groups", labels, numbers.astype(np.uint32))
    return labels[rows.of_all(numbers)]


def sampling_plan(sampling, labels, max_samples, rows):
    """The `SamplingPlan` that a `Sampling` makes for the training rows of all ranks. A collective.

    Parameters
    ----------
    sampling : Sampling
        Equal ones on all ranks.
    labels : ndarray, list of ndarray, or None
        The classes by number; None: targets are no classes.
    max_samples : int, float or None
    rows : TrainingRows
        Numbered. What they have as y are numbers of classes, if there are labels.

    Raises
    ------
    TypeError, ValueError
        If it makes no plan for these rows, or another one on another rank.
    """
    classes, weight = (None, None), None
    if labels is not None and sampling.needs_classes:
        classes = (rows.y, labels) if rows.y.ndim == 1 else joint_classes(rows.y, labels, rows.ranks)
        classes = rows.of_all(classes[0]), classes[1]
    if sampling.ignores_weights:
        own = rows.integer_weight()
        if own.exact is not None:  # chances of rows that are light are as exact as others
            weight = rows.of_all(own.fine(rows.n_rows).astype(np.uint64))
        elif own.integers is not None:
            weight = rows.of_all(own.integers)
    plan = sampling.plan(SampledRows(rows.n_rows, *classes, weight, _groups_of_all(rows), max_samples))
    if not isinstance(plan, SamplingPlan):
        raise TypeError(f"bootstrap={sampling!r} made a plan {plan!r}; allowed are sampling plans: see dforest.sampling")
    plan.count_draws(rows.n_rows)
    plan.counts(rows.n_rows, 0, range(1))  # raises what it raises for such rows
    if rows.ranks.size > 1:
        everywhere = rows.ranks.gather_objects(repr(plan))
        for rank, other in enumerate(everywhere):
            if other != everywhere[0]:
                raise ValueError(
                    f"bootstrap={sampling!r} made the plan {everywhere[0]} on rank 0, but {other} on rank {rank}; allowed is one "
                    "for all ranks"
                )
    return plan


def why_no_order(plan, n_rows):
    """Why trees that draw rows by a `SamplingPlan` have none that could order labels: the end of a clause; None: they have."""
    if isinstance(plan, Groups):
        return ', whose rows are drawn together; allowed is "subset"'
    if not plan.leaves_rows_out or (isinstance(plan, Subsample) and plan.n_draws >= n_rows):
        return f' needs trees that leave rows out, but each draws all {n_rows}; allowed is "subset"'
    return None
