"""What boosted trees predict for their training rows, each by the trees of the fold that held it out: `oof_prediction_`."""

import numpy as np
from sklearn.base import is_classifier

from dforest.estimators.boosting.scores import predicted_shares


def raw_out_of_fold(divisions, forests, n_iterations, n_threads):
    """Raw predictions of all rows, by the first iterations of the folds: ndarray of shape (n_rows, n_sums), dtype float64.

    Parameters
    ----------
    divisions : list of Division
        Which hold each row out once.
    forests : list of Forest
        The models of the folds.
    n_iterations : int
    n_threads : int
    """
    n_sums = forests[0].objective.n_sums
    found = np.empty((len(divisions[0].chosen), n_sums))
    for (_, held_out, chosen), forest in zip(divisions, forests, strict=True):
        sums = held_out.first_sums(n_sums)
        n_trees = n_iterations * forest.objective.n_trees_per_iteration
        forest.packed(n_threads=n_threads).add_up(held_out.X, sums, 0, n_trees, n_threads)
        found[chosen] = sums + np.array(forest.objective.baseline)
    return found


def keep_out_of_fold(estimator, raw, kept):
    """Set the attributes that have the predictions out of fold, or none, and forget the scores of rows by an earlier fit.

    Parameters
    ----------
    estimator : BoostingEstimator
    raw : ndarray of shape (n_kept, n_sums), or None
        As of `raw_out_of_fold`; None: no rows were held out in turn.
    kept : ndarray of bool
        Which of the rows that `fit` was given these are.
    """
    for name in ("oof_prediction_", "oof_parameters_", "conformal_scores_"):
        vars(estimator).pop(name, None)
    if raw is None:
        return

    def of_all(own):
        found = np.full((len(kept), *own.shape[1:]), np.nan)
        found[kept] = own
        return found

    if not is_classifier(estimator):
        estimator.oof_prediction_ = of_all(estimator._loss.predict(raw))
        if estimator._loss.distribution is not None:
            estimator.oof_parameters_ = of_all(estimator._loss.distribution_of(raw).parameters)
        return
    shares = predicted_shares(estimator._loss, raw, estimator.classes_)
    if isinstance(shares, list):
        shares = [of_all(own) for own in shares]
        estimator.oof_prediction_ = np.stack(shares, axis=2) if len({own.shape for own in shares}) == 1 else shares
    else:
        estimator.oof_prediction_ = of_all(shares)
