"""What is expected of outcomes, treatments and instruments given X, of each row by models that were not fitted on it.

A causal forest looks at what is left when these expectations are taken off (P. M. Robinson, "Root-n-consistent semiparametric
regression", Econometrica 56(4), 1988). Forests predict their training rows out of bag; any other estimator is fitted once more
without each of some folds of the rows, and predicts the fold.
"""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import _safe_indexing

from dforest.estimators.auto.members import fit
from dforest.estimators.data.tables import given_rows
from dforest.estimators.kinds import Forest


def expected(name, model, X, columns, weight, groups, n_folds, seed):
    """What a model expects of some columns: ndarray of shape (n_rows, n_columns), dtype float64.

    Parameters
    ----------
    name : str
        The parameter that the model was given as, for errors.
    model : estimator
        A regressor, which is copied for each column.
    X : array-like
        As `fit` was given it.
    columns : ndarray of shape (n_rows, n_columns), dtype float64
    weight, groups : ndarray of shape (n_rows,), or None
    n_folds : int
        For models that are no forests of dforest.
    seed : int
        Of copies without a seed, and of the folds.

    Raises
    ------
    TypeError
        If the model can't be fitted.
    """
    if not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise TypeError(f"{name}={model!r}; allowed are None and estimators that predict numbers")
    return np.column_stack([_of_column(model, X, y, weight, groups, n_folds, seed) for y in columns.T])


def _of_column(model, X, y, weight, groups, n_folds, seed):
    y = np.ascontiguousarray(y)
    if (y == y[0]).all():
        return y.copy()
    model, has_seed = clone(model), model.get_params(deep=False).get("random_state", 0) is not None
    if not has_seed:
        model.set_params(random_state=seed)
    if isinstance(model, Forest) and getattr(model, "bootstrap", False) not in (False, "auto"):
        model.set_params(oob_score=True)
        needs_groups = groups is not None and model.bootstrap != "weighted"
        model.fit(X, y, weight, **({"groups": groups} if needs_groups else {}))
        found = model.oob_prediction_
        unseen = np.isnan(found)  # rows of weight 0, and such that all trees drew
        if unseen.any():
            found = np.where(unseen, model.predict(X), found)
        return found
    rows, found = given_rows(X), np.empty(len(y))
    kept = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    if groups is None:
        folds = KFold(n_folds, shuffle=True, random_state=seed).split(kept)
    else:
        folds = GroupKFold(n_folds).split(kept, groups=groups[kept])
    found[:] = np.nan
    for inside, outside in folds:
        inside, outside = kept[inside], kept[outside]
        again = fit(clone(model), _safe_indexing(rows, inside), y[inside], None if weight is None else weight[inside])
        found[outside] = again.predict(_safe_indexing(rows, outside))
    return np.where(np.isnan(found), np.average(y, weights=weight), found)
