"""What is said of boosted trees whose iterations all score no better than the constant that they begin with."""

import numpy as np

from dforest.estimators.boosting.rows import count_strata
from dforest.warning import warn


def warn_of_no_gain(estimator, forest, monitor, held_out, ranks):
    """Warn if trees have splits, and the score that decides was never better than before the first tree. A collective.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Its parameters, and its classes.
    forest : Forest
        All trees that there are.
    monitor : Monitor or None
        None: iterations are not scored.
    held_out : Sample or None
        The rows by whose scores the monitor decides; None: the training rows.
    ranks : Communicator
        Who has such rows.
    """
    if monitor is None or max(monitor.deciding_scores[1:]) > monitor.deciding_scores[0] or not (forest.feature >= 0).any():
        return
    rows = "the training rows"
    if held_out is not None:
        rows = f"the {ranks.total(len(held_out.y))} validation rows"
        if count_strata(estimator):
            own = np.bincount(held_out.y.astype(np.intp), minlength=len(estimator.classes_))
            counts = ranks.sum(own.astype(np.int64))
            rows += f", {counts.min()} of which have the class {estimator.classes_.tolist()[counts.argmin()]!r},"
    name, n_iterations = next(iter(monitor.training.measures)), len(monitor.deciding_scores) - 1
    scoring = estimator.scoring if estimator.scoring is not None or name == "score" else name
    by = "by their loss" if name == "loss" else f"by scoring={scoring!r}"
    if ranks.rank > 0:
        return
    warn(
        f"none of {n_iterations} iterations scored better on {rows} than the constant before the first tree, {by}, so that the "
        "model may be no better than this constant. Where few rows of a class are scored, choose early_stopping=False, or give "
        "X_val and y_val with more of them; a lower learning_rate, smaller trees (max_leaf_nodes) and another scoring may help "
        "too"
    )
