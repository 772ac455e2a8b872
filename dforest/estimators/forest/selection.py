"""Parameters of forests that are "auto": chosen for the training rows by the errors out of bag of small forests.

Parameters are chosen one after another, in the order of `ForestEstimator._candidates`, beginning with their defaults. A
*candidate* is a value of the one parameter that is being chosen; those before it have been chosen, and those after it are as they
began. Small forests of all candidates are grown on the same codes, and their trees are the first ones of the forest that would
have these values. A candidate is taken if its mean loss is lower by more than one standard error of the difference over rows; if
several are, the best one is.
"""

import sys
from copy import copy
from dataclasses import replace

import numpy as np

from dforest.estimators.powers import times_power
from dforest.estimators.results import oob
from dforest.sampling import RowSampling

SHARE_OF_TREES, LEAST_TREES = 0.1, 10  # of a small forest


def begin_with_defaults(estimator):
    """Set `best_params_` to what the choice begins with, or leave the estimator without it if there is nothing to choose.

    Raises ValueError if trees leave out no rows.
    """
    for name in ("best_params_", "selection_"):
        vars(estimator).pop(name, None)
    names = estimator._names_to_choose()
    if names and not estimator.bootstrap:
        raise ValueError(
            f'{names[0]}="auto" needs bootstrap=True: it is chosen by errors out of bag, and without bootstrap no tree leaves '
            "out rows"
        )
    if names:
        estimator.best_params_ = {name: estimator._defaults[name] for name in names}


def choose_parameters(estimator, plan, rows, device):
    """Set `best_params_` and `selection_` by the training rows. A collective.

    Parameters
    ----------
    estimator : ForestEstimator
        Being fitted; after `begin_with_defaults`.
    plan : Plan
        Settled, with its seed.
    rows : TrainingRows
    device : Device or None

    Returns
    -------
    list of CodedColumn
        Those of all rows.
    """
    names, tried = estimator._names_to_choose(), []
    weight = estimator._weight_of_losses(rows)
    power = 0 if estimator._target.objective(estimator, rows).predicts_shares else -int(np.frexp(max(map(abs, rows.extent())))[1])
    sampling = RowSampling() if plan.sampling is None else plan.sampling
    small = replace(plan, n_trees=max(LEAST_TREES, int(SHARE_OF_TREES * plan.n_trees)), sampling=sampling)
    engine, splitter = estimator._engine(plan, rows, device), estimator._configured_splitter(estimator.n_features_in_)
    columns = estimator._code_columns(plan, rows, rows.parts, splitter, engine)

    def try_values(values):
        """The loss of each row by a small forest that has some values."""
        trial = copy(estimator)
        trial.best_params_ = values
        trial._grow(small, rows, device, columns=columns)
        tried.append((values, trial._losses_of_small(rows, power, plan, device)))
        return tried[-1]

    best = try_values(estimator.best_params_)
    if np.isnan(best[1]).all():
        raise ValueError(
            f'{names[0]}="auto" needs rows that two trees leave out, but X has n_samples = {rows.n_rows}, and all but one of '
            f"{small.n_trees} trees draw each row. Allowed are values of bootstrap and max_samples by which trees draw fewer"
        )
    for name in names:
        incumbent, lowest = best, 0.0
        for value in estimator._candidates[name]:
            if value != incumbent[0][name]:
                candidate = try_values({**incumbent[0], name: value})
                difference, error = mean_and_error(candidate[1] - incumbent[1], weight)
                if difference < min(lowest, -error):
                    best, lowest = candidate, difference
        if estimator.verbose and rows.ranks.rank == 0:
            print(f'{name}="auto": {best[0][name]!r} is chosen', file=sys.stderr)
    estimator.best_params_ = best[0]
    means, errors = np.array([mean_and_error(losses, weight) for _, losses in tried]).T
    rank = np.empty(len(tried), np.int64)
    rank[np.argsort(means, kind="stable")] = np.arange(1, len(tried) + 1)
    estimator.selection_ = {
        "params": [values for values, _ in tried],
        **{f"param_{name}": np.array([values[name] for values, _ in tried], object) for name in names},
        "mean_loss": times_power(means, -2 * power),
        "std_error": times_power(errors, -2 * power),
        "rank": rank,
    }
    return columns


def expected_losses(estimator, rows, power, plan, device):
    """Of each row of all ranks, the squared error out of bag that a forest of as many trees as a plan's is expected to have.

    The fewer trees, the larger the squared error: by the variance of a tree's prediction over their number. That would favour
    trees which differ little. So this variance is estimated, too, and what few trees add to the error beyond what all will add is
    taken off. Of classes, the errors of the shares of all classes are added up, which is the Brier score; of several outputs,
    those of all outputs. A collective.

    Parameters
    ----------
    estimator : ForestEstimator
        Whose `forest_` is a small forest.
    rows : TrainingRows
    power : int
        Errors are multiplied by two to this power.
    plan : Plan
    device : Device or None

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
        NaN for rows that fewer than two trees left out.
    """
    forest, voting, total, squares, n_votes = estimator.forest_, getattr(estimator, "voting", "soft"), 0.0, 0.0, 0
    wanted = times_power(_without_error(forest.objective, rows.y), power)
    for t in range(forest.n_trees):
        found = oob.estimate(forest.tree(t), rows, voting, plan.n_threads, device).prediction
        is_seen = ~np.isnan(found[:, :1])
        errors = np.where(is_seen, times_power(found, power) - wanted, 0.0)
        total, squares, n_votes = total + errors, squares + errors**2, n_votes + is_seen
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n_votes
        variance = (squares - total * mean) / (n_votes - 1)
        losses = (mean**2 - variance * (1 / n_votes - 1 / plan.n_trees)).sum(axis=1)
    return rows.of_all(np.where(n_votes[:, 0] > 1, losses, np.nan))


def _without_error(objective, y):
    """Predictions of rows without error: ndarray of shape (n_rows, n_values)."""
    y = y.reshape(len(y), -1)
    if not objective.predicts_shares:
        return y
    return np.hstack([np.eye(own.stop - own.start)[y[:, o]] for o, own in enumerate(objective.outputs)])


def mean_and_error(losses, weight):
    """(the mean of losses by the weights of rows, its standard error), which leave NaN out. weight : ndarray or None"""
    known = ~np.isnan(losses)
    losses = losses[known]
    if len(losses) < 2:
        return 0.0, np.inf
    share = np.ones(len(losses)) if weight is None else weight[known]
    share = share / share.sum()
    mean = (share * losses).sum()
    return float(mean), float(np.sqrt((np.square(share * (losses - mean))).sum() * len(losses) / (len(losses) - 1)))
