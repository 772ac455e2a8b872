"""What is said of boosted trees that have no split."""

import numpy as np

from dforest.estimators.boosting.losses import OwnLoss
from dforest.warning import warn


def warn_of_no_split(estimator, forest, training, ranks):
    """Warn if no tree has a split, although the loss of the training rows has a slope: all rows get one prediction. A collective.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Its parameters, and its loss.
    forest : Forest
        All trees that there are, of which the last iteration is new.
    training : Sample
        The training rows.
    ranks : Communicator
        Who has rows.
    """
    if (forest.feature >= 0).any():
        return
    y, offset, loss = training.y, training.offset, estimator._loss.bound(training.queries)
    n_rows = ranks.total(len(y))
    drawn = "" if estimator.subsample == 1 else f" and subsample={estimator.subsample}"
    why = (
        f"with {n_rows} training rows{drawn}, none gains anything and has min_samples_leaf={estimator.min_samples_leaf} rows and "
        f"min_sum_hessian_in_leaf={estimator._min_hessian()} on each side; look at these parameters, at constraints, and at "
        "constant columns"
    )
    if isinstance(loss, OwnLoss):
        gradient, hessian = loss.derivatives(y, forest.objective.baseline, offset) if len(y) else (y, y)
        if not ranks.any(gradient.any()):
            return
        if not ranks.any(hessian.any()):
            why = (
                f"all second derivatives of loss={estimator.loss!r} are 0, and gains are squared sums of first derivatives, "
                "divided by sums of second ones; return positive numbers, or set constant_hessian = True"
            )
    elif offset is None and ranks.least(np.array([y.min(initial=np.inf)])) == ranks.greatest(np.array([y.max(initial=-np.inf)])):
        return
    if ranks.rank == 0:
        warn(f"no tree has a split, so that all rows get one prediction: {why}", UserWarning)
