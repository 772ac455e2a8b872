"""Which rows of X are held out of a boosted fit, to be scored for early stopping: some of them once, or all of them in turn."""

from math import ceil
from numbers import Integral
from typing import NamedTuple

import numpy as np

from dforest.estimators.boosting.rows import Sample, check_targets, count_strata


class Division(NamedTuple):
    """How rows are divided.

    Attributes
    ----------
    training : Sample
        The rows that trees are grown on.
    held_out : Sample or None
        The rows that are scored.
    chosen : ndarray of bool, or None
        Which of the training rows of the fit are held out; None: none of them are.
    """

    training: Sample
    held_out: Sample | None
    chosen: np.ndarray | None = None


def hold_out(estimator, sample, seed, ranks):
    """The `Division` into some rows to train on and some to score: of classes, each has its share of both. A collective.

    For ranking, whole queries are divided, and counted.
    """
    n, what, name = _count(sample, ranks)
    held = estimator.validation_fraction_
    n_held = held if isinstance(held, Integral) else ceil(held * n)
    n_classes = count_strata(estimator)
    try:
        n_members = _count_members(estimator, sample, n_classes, ranks)
        least = max(1, np.count_nonzero(n_members))
        if not least <= min(n_held, n - n_held):
            raise ValueError(f"{n_held} of {name}={n} would be held out; allowed are numbers from {least} to {n - least}")
        if sample.queries is None:
            chosen = sample.draw(n_held, seed, n_classes, ranks)
        else:
            chosen = sample.draw_queries(n_held, seed, ranks)
        return _divided(estimator, sample, chosen, n_members, ranks)
    except ValueError as error:
        raise ValueError(
            f"validation_fraction={held} of {n} {what} can't be held out for early stopping: {str(error).rstrip('.')}. Give "
            "X_val and y_val, or choose another fraction, validation_fraction=None or early_stopping=False"
        ) from None


def hold_out_in_turn(estimator, sample, n_folds, seed, ranks):
    """Divide rows as `hold_out` does, once for each of some folds, two at least: a list of `Division`. A collective.

    Each row is held out once.
    """
    n, what, name = _count(sample, ranks)
    n_classes = count_strata(estimator)
    try:
        if n_folds > n:
            raise ValueError(f"allowed are numbers from 1 to {name}={n}")
        n_members = _count_members(estimator, sample, n_classes, ranks)
        fold = sample.allocate(n_folds, seed, n_classes, ranks)
        return [_divided(estimator, sample, fold == k, n_members, ranks) for k in range(n_folds)]
    except ValueError as error:
        raise ValueError(
            f"validation_folds={n_folds} of {n} {what} can't be held out in turn for early stopping: "
            f"{str(error).rstrip('.')}. Give X_val and y_val, or choose fewer folds or early_stopping=False"
        ) from None


def _count(sample, ranks):
    """(how many rows or queries can be held out, what they are, a name for their number). A collective."""
    if sample.queries is None:
        return ranks.total(len(sample.y)), "rows", "n_samples"
    return ranks.total(len(np.unique(sample.queries))), "queries", "n_queries"


def _count_members(estimator, sample, n_classes, ranks):
    """How many rows each class has; of numbers there are none. Raises ValueError if one has a single row. A collective."""
    n_members = _members(sample.y, n_classes, ranks)
    if (n_members == 1).any():
        label = estimator.classes_[n_members == 1].tolist()[0]
        raise ValueError(f"the class {label!r} has one row; allowed are two: The least populated class in y has only 1 member")
    return n_members


def _members(y, n_classes, ranks):
    if not n_classes:
        return np.zeros(0, np.int64)
    return ranks.sum(np.bincount(y.astype(np.intp), minlength=n_classes).astype(np.int64))


def _divided(estimator, sample, chosen, n_members, ranks):
    """The `Division` that holds out what is chosen. Raises ValueError if no trees can be grown on the rest. A collective."""
    n_left = _members(sample.y[~chosen], len(n_members), ranks)
    if (n_left < (n_members > 0)).any():
        label = estimator.classes_[n_left < (n_members > 0)].tolist()[0]
        raise ValueError(f"no row of the class {label!r} would be left to train on")
    check_targets(estimator, sample.y[~chosen], ranks)  # all are allowed; together they may not be
    return Division(sample.take(~chosen, ranks), sample.take(chosen, ranks), chosen)
