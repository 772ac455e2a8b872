"""What is expected of outcomes, treatments and instruments given X, of each row by models that were not fitted on it.

A causal forest looks at what is left when these expectations are taken off (P. M. Robinson, "Root-n-consistent semiparametric
regression", Econometrica 56(4), 1988). Forests predict their training rows out of bag; any other estimator is fitted once more
without each of some folds of the rows, and predicts the fold.
"""

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import _safe_indexing

from dforest.config import config_context
from dforest.estimators.auto.members import fit
from dforest.estimators.data.tables import given_rows
from dforest.estimators.kinds import Forest


def expected(name, model, given, columns, weight, groups, n_folds, seed):
    """What a model expects of some columns: ndarray of shape (n_rows, n_columns), dtype float64. A collective.

    Parameters
    ----------
    name : str
        The parameter that the model was given as, for errors.
    model : estimator
        A regressor, which is copied for each column.
    given : GivenRows
        The rows of all ranks, whose X each rank has for its own rows.
    columns : ndarray of shape (n_rows, n_columns), dtype float64
    weight, groups : ndarray of shape (n_rows,), or None
    n_folds : int
        For models that are no forests of dforest.
    seed : int
        Of copies without a seed, and of the folds.

    Raises
    ------
    TypeError
        If the model can't be fitted, or is a classifier.
    ValueError
        If it does not predict each row by models that were not fitted on it, or not by finite numbers; or if it is no forest of
        dforest, and rows lie in several partitions.
    """
    if not (hasattr(model, "fit") and hasattr(model, "predict")) or is_classifier(model):
        raise TypeError(f"{name}={model!r}; allowed are None and estimators that predict numbers, which classifiers don't")
    model, random = clone(model), np.random.RandomState(seed)
    seeds = {key: int(random.randint(2**31 - 1)) for key, value in sorted(model.get_params().items(), key=lambda pair: pair[0])
             if (key == "random_state" or key.endswith("__random_state")) and value is None}  # fmt: skip
    model.set_params(**seeds)
    kept = np.arange(len(columns)) if weight is None else np.flatnonzero(weight)
    found = np.column_stack([_of_column(name, model, given, y, weight, groups, n_folds, seed, kept) for y in columns.T])
    if not np.isfinite(found).all():
        raise ValueError(f"{name}={model!r} predicts numbers that are not finite; allowed are models that predict finite ones")
    return found


def _of_column(name, model, given, y, weight, groups, n_folds, seed, kept):
    y = np.ascontiguousarray(y)
    if (y == y[0]).all():
        return y.copy()
    if isinstance(model, Forest) and getattr(model, "bootstrap", False) not in (False, "auto"):
        model = clone(model).set_params(oob_score=True)
        with config_context(communicator=given.ranks):  # where one rank has all rows, it is alone
            if given.is_divided:
                partitions = given.partitions_with(y=y, sample_weight=weight, groups=groups)
                model._fit_partitions(lambda rank: partitions)
            else:
                model.fit(given.partitions[0].X, y, weight, **({} if groups is None else {"groups": groups}))
        found = given.of_all(model.oob_prediction_)
        unseen = np.isnan(found)
        if unseen[kept].any():
            raise ValueError(
                f"{name}={model!r} has no tree that leaves out {unseen[kept].sum()} of {len(kept)} rows; allowed are forests of "
                "more trees, or whose trees draw fewer rows"
            )
        if not unseen.any():
            return found
        rows = zip(given.partitions, given.parts(y), strict=True)
        predictions = [model.predict(getattr(own.X, "given", own.X)) if len(of_y) else np.empty(0) for own, of_y in rows]
        return np.where(unseen, given.of_all(np.concatenate(predictions)), found)  # of rows of weight 0
    if given.is_divided:
        raise ValueError(
            f"{name}={model!r} would have to be fitted to all rows, which lie in several partitions; allowed are None, and "
            "forests of dforest whose trees draw rows"
        )
    rows = given_rows(given.partitions[0].X)
    found = np.full(len(y), np.average(y, weights=weight))  # of rows of weight 0, which nobody asks for
    n_units = len(kept) if groups is None else len(np.unique(groups[kept]))
    if n_units < n_folds:
        raise ValueError(f"cv={n_folds}, but there are {n_units} rows or groups; allowed are 2 to {n_units}")
    if groups is None:
        folds = KFold(n_folds, shuffle=True, random_state=seed).split(kept)
    else:
        folds = GroupKFold(n_folds).split(kept, groups=groups[kept])
    for inside, outside in folds:
        inside, outside = kept[inside], kept[outside]
        again = fit(clone(model), _safe_indexing(rows, inside), y[inside], None if weight is None else weight[inside])
        predicted = np.asarray(again.predict(_safe_indexing(rows, outside)))
        if predicted.shape not in ((len(outside),), (len(outside), 1)):
            shape = f"the shape {predicted.shape} for {len(outside)} rows"
            raise ValueError(f"{name}={model!r} predicts {shape}; allowed is a number for each")
        found[outside] = predicted.ravel()
    return found
