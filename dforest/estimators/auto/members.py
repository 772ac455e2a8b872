"""What is blended: members by name, and what a member predicts of rows that it was not fitted on.

Forests leave rows out of each tree, and so predict all rows out of bag, and boosted trees keep what they predict out of fold. Any
other member is fitted once more on each of some folds of the rows, and predicts the others.
"""

import warnings
from dataclasses import dataclass

import joblib
import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from dforest.errors import UnseenLabelsWarning
from dforest.estimators.auto.predictions import predicted
from dforest.estimators.boosting.boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from dforest.estimators.data.tables import given_rows, read_table
from dforest.estimators.forest.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.estimators.kinds import BoostedTrees, Forest

N_FOLDS = 5
# By name; what is worth most for the time that it takes comes first.
CLASSIFIERS = {
    "random_forest": (RandomForestClassifier, {"max_features": 0.5, "calibration": "oob"}),
    "extra_trees": (ExtraTreesClassifier, {"bootstrap": True, "max_features": 0.5, "calibration": "oob"}),
    "boosted_trees": (HistGradientBoostingClassifier, {"validation_folds": N_FOLDS}),
}
REGRESSORS = {
    "random_forest": (RandomForestRegressor, {}),
    "extra_trees": (ExtraTreesRegressor, {"bootstrap": True}),
    "boosted_trees": (HistGradientBoostingRegressor, {"validation_folds": N_FOLDS}),
}


@dataclass(frozen=True)
class Finished:
    """A member that has been fitted."""

    asked: str | None  # a digest of its parameters and of its seed, if a later fit may go on
    estimator: object
    prediction: np.ndarray  # out of sample, of all training rows
    seconds: float


@dataclass(frozen=True)
class Progress:
    """What a fit goes on from."""

    data: str | None  # a digest of the training data
    seeds: np.ndarray  # of the members, and of the division into folds
    finished: dict  # members by name: `Finished`


def digest_of(estimator, seed):
    """A digest of an estimator's class and parameters, and of the seed that it will be given: str."""
    return joblib.hash((type(estimator).__qualname__, estimator.get_params(), int(seed)))


def digest_of_data(X, y, weight):
    """A digest of training data, whatever kind of table X is: str."""
    table = read_table(X)
    return joblib.hash((table.names, [table.exact(j) for j in range(table.n_columns)], y, weight))


_OWN = ("n_estimators", "categorical_features", "ordinal_features")  # parameters of a blend that members by name have, too


def named_members(blend, known):
    """The members of a blend, not fitted: list of (name, estimator).

    Parameters
    ----------
    blend : estimator
        Its parameters.
    known : dict
        Classes and parameters by name.

    Raises
    ------
    ValueError
        If there is no member, or one that is neither known nor an estimator, or two of one name.
    """
    given = list(known) if blend.members is None else list(blend.members)
    allowed = f"names ({', '.join(known)}), and pairs (name, estimator)"
    members = []
    for one in given:
        if isinstance(one, str) and one in known:
            kind, parameters = known[one]
            own = {name: getattr(blend, name) for name in _OWN}
            members.append((one, kind(**{name: own[name] for name in own if name in kind._parameter_constraints}, **parameters)))
        elif isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[0], str) and hasattr(one[1], "fit"):
            members.append((one[0], clone(one[1])))
        else:
            raise ValueError(f"members holds {one!r}; allowed are {allowed}")
    names = [name for name, _ in members]
    if not members or len(set(names)) < len(names):
        raise ValueError(f"members has the names {names}; allowed are {allowed}, of different names, and at least one")
    return members


def prepare(estimator, seed, n_jobs):
    """Give a member what it has no value for: a seed, a number of threads, and, if it can, estimates out of bag."""
    known = estimator.get_params(deep=False)
    given = {name: value for name, value in (("random_state", seed), ("n_jobs", n_jobs)) if known.get(name, 0) is None}
    if isinstance(estimator, Forest) and known.get("bootstrap", False) and not known["oob_score"]:
        given["oob_score"] = True
    estimator.set_params(**given)


def fit(estimator, X, y, weight):
    """Fit a member. That rows are out of bag of no tree is said by NaN, and need not be warned of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        return estimator.fit(X, y) if weight is None else estimator.fit(X, y, sample_weight=weight)


def out_of_sample(estimator, X, y, weight, classes, fold_of):
    """What a fitted member predicts of rows that it was not fitted on; NaN where that is not known.

    Parameters
    ----------
    estimator : estimator
    X, y, weight
        What it was fitted on.
    classes : ndarray or None
    fold_of : ndarray of shape (n_rows,), dtype int
        The fold that each row is in; -1 if in none.

    Returns
    -------
    ndarray of shape (n_rows,), or (n_rows, n_classes)
    """
    if isinstance(estimator, Forest) and getattr(estimator, "oob_score", False):
        return estimator.oob_prediction_ if classes is None else estimator.oob_decision_function_
    if isinstance(estimator, BoostedTrees) and hasattr(estimator, "oof_prediction_"):
        return estimator.oof_prediction_
    X = given_rows(X)
    X = X.tocsr() if issparse(X) else X if hasattr(X, "__getitem__") else np.asarray(X)
    found = np.full(len(y) if classes is None else (len(y), len(classes)), np.nan)
    for fold in range(fold_of.max() + 1):
        inside, outside = np.flatnonzero((fold_of >= 0) & (fold_of != fold)), np.flatnonzero(fold_of == fold)
        again = _again(estimator, len(inside) / (len(inside) + len(outside)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLabelsWarning)
            fit(again, _safe_indexing(X, inside), y[inside], None if weight is None else weight[inside])
            found[outside] = predicted(again, _safe_indexing(X, outside), classes)
    return found


def _again(estimator, share):
    """A copy of a fitted member to be fitted on a share of the rows; of boosted trees, by as many iterations as it found."""
    again = clone(estimator)
    if isinstance(estimator, BoostedTrees) and estimator.do_early_stopping_:
        again.set_params(
            max_iter=max(1, round(share * estimator.n_iter_)), learning_rate=estimator.learning_rate_, early_stopping=False
        )
    return again


def folds_of(y, weight, is_classes, random):
    """The fold of each row, -1 for rows of weight 0: as many of each class in each fold as can be.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,), or None
    is_classes : bool
    random : RandomState
    """
    rows = random.permutation(len(y) if weight is None else np.flatnonzero(weight))
    if is_classes:
        rows = rows[np.argsort(y[rows], kind="stable")]
    found = np.full(len(y), -1)
    found[rows] = np.arange(len(rows)) % N_FOLDS
    return found
