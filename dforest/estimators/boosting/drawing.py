"""Which rows an iteration of boosting draws: as many of all rows, a share of each class, or whole queries."""

from numbers import Real

import numpy as np

from dforest.core.draws import Groups, Strata


def drawing_of(estimator, training, n_rows, ranks):
    """How iterations draw rows: dict of the fields `n_drawn`, `sampling` and `by_chance` of a `BoostingProblem`. A collective.

    Parameters
    ----------
    estimator : BoostingEstimator
        Its parameters, its loss and its classes.
    training : Sample
        The rows of this rank that trees are grown on.
    n_rows : int
        Those of all ranks.
    ranks : Communicator

    Raises
    ------
    ValueError
        If `subsample` has shares of classes that are none, or `sampling` does not go with it, or with the loss.
    """
    subsample, sampling = estimator.subsample, estimator.sampling
    if isinstance(subsample, dict):
        return _of_classes(estimator, training, ranks)
    if sampling == "query" and subsample < 1:
        return _of_queries(estimator, training, ranks)
    n_drawn = max(1, int(subsample * n_rows))
    by_chance = sampling == "mvs" and n_drawn < n_rows
    if by_chance and estimator._loss.facts.leaf != "newton":
        raise ValueError(
            f'sampling="mvs" with loss={estimator.loss!r}; allowed is sampling="uniform", as leaves of this loss are no Newton '
            "steps, and rows that are likelier to be drawn would count too much there"
        )
    return {"n_drawn": n_drawn if n_drawn < n_rows else None, "by_chance": by_chance}


def _of_classes(estimator, training, ranks):
    """Rows of each class by its share."""
    if estimator.sampling != "uniform":
        raise ValueError(
            f"sampling={estimator.sampling!r} with subsample={estimator.subsample!r}; allowed with shares of classes is "
            'sampling="uniform"'
        )
    shares = np.array(_checked_shares(estimator.subsample, estimator.classes_))
    classes = training.y if training.share is None else training.share.gathered(ranks, training.y)
    known = np.bincount(classes.astype(np.intp), minlength=len(shares))
    n_draws = np.where(known > 0, np.maximum(1, (shares * known).astype(np.int64)), 0)
    if (n_draws == known).all():
        return {}
    return {"n_drawn": int(n_draws.sum()), "sampling": Strata(classes.astype(np.uint32), n_draws, False)}


def _checked_shares(given, classes):
    """The share of each class: list of float. Raises ValueError unless `given` says shares of classes."""
    if isinstance(classes, list):
        raise ValueError(f"subsample={given!r} with a y of several columns; allowed is one share, of all rows")
    labels = classes.tolist()
    unknown = [label for label in given if label not in labels]
    if unknown:
        raise ValueError(f"subsample has the class {unknown[0]!r}; allowed are the classes {labels}")
    for label, share in given.items():
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 < share <= 1:
            raise ValueError(f"subsample has {share!r} for the class {label!r}; allowed are shares above 0 and up to 1")
    return [float(given.get(label, 1.0)) for label in labels]


def _of_queries(estimator, training, ranks):
    """All rows of some queries."""
    queries = training.queries if training.share is None else training.share.gathered(ranks, training.queries)
    _, first, number = np.unique(queries, return_index=True, return_inverse=True)
    n_drawn = max(1, int(estimator.subsample * len(first)))
    if n_drawn == len(first):
        return {}
    place = np.empty(len(first), np.uint32)
    place[np.argsort(first)] = np.arange(len(first), dtype=np.uint32)
    plan = Groups(place[number], n_drawn, False)
    return {"n_drawn": min(plan.count_draws(len(queries)), len(queries)), "sampling": plan}
