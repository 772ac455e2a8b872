"""From what `fit` is told of sampling to the sampling plan of its trees."""

from sklearn.utils import column_or_1d

from dforest.core.sampling import SamplingPlan
from dforest.estimators.outputs import joint_classes
from dforest.sampling import SampledRows


def groups_of(given, rows, sampling):
    """The groups of training rows, or None.

    Parameters
    ----------
    given : list of array-like or None
        `groups` of each partition.
    rows : TrainingRows
        Those that were given and have positive weight.
    sampling : Sampling or None

    Raises
    ------
    ValueError
        If these are no groups of the rows, or nobody asks for them.
    """
    if all(groups is None for groups in given):
        return None
    if sampling is None or not sampling.needs_groups:
        raise ValueError(f'groups are given, but {sampling or "bootstrap=False"} does not draw by groups: allowed is None; '
                         'bootstrap="group" draws them')  # fmt: skip
    (groups,) = map(column_or_1d, given)
    if len(groups) != len(rows.kept):
        raise ValueError(f"groups has {len(groups)} entries, but X has {len(rows.kept)} rows")
    for row, group in enumerate(groups.tolist()):
        if group is None or group != group:
            raise ValueError(f"groups has {group} for row {row}; every row needs a group")
    return groups[rows.kept]


def sampling_plan(sampling, labels, max_samples, rows, has_classes):
    """The `SamplingPlan` that a `Sampling` makes for training rows; `labels` are the classes by number."""
    weight = rows.integer_weight()[0] if sampling.ignores_weights else None
    y = rows.y
    if has_classes and y.ndim == 2:
        y, labels = joint_classes(y, labels)
    classes = (y, labels) if has_classes else (None, None)
    told = SampledRows(rows.n_rows, *classes, weight, rows.groups, max_samples)
    plan = sampling.plan(told)
    if not isinstance(plan, SamplingPlan):
        raise TypeError(f"bootstrap={sampling!r} made a plan {plan!r}; allowed are sampling plans: see dforest.sampling")
    plan.count_draws(rows.n_rows)
    plan.counts(rows.n_rows, 0, range(1))  # raises what it raises for such rows
    return plan


