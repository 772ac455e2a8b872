"""What boosted trees print on the error stream while they grow: see `verbose`."""

import sys


def tell_iteration(estimator, n_iterations, n_wanted, monitor):
    """Tell that iterations have been grown, where a line is due.

    Parameters
    ----------
    estimator : BoostingEstimator
    n_iterations, n_wanted : int
        Iterations so far, and in the end if nothing stops growing.
    monitor : Monitor or None
    """
    every = 1 if estimator.verbose > 1 else max(1, n_wanted // 10)
    if n_iterations % every and n_iterations != n_wanted:
        return
    line = f"{n_iterations} of {n_wanted} iterations"
    if monitor is not None:
        has_names = len(monitor.training.measures) > 1
        for name, which, score in monitor.scores_after(n_iterations):
            line += f", {which} {name if has_names else 'score'} {score:.6g}"
    print(line, file=sys.stderr)


def tell_stop(estimator, monitor, consequence):
    """Tell that scores ended the growing of trees, if they did, and what follows from it."""
    n_iterations = len(monitor.deciding_scores) - 1
    if n_iterations == estimator.max_iter_ or monitor.earliest():
        return
    which = "training" if monitor.held_out is None else "validation"
    name = next(iter(monitor.training.measures)) if len(monitor.training.measures) > 1 else "score"
    n_best, score = monitor.best()
    print(
        f"stopped after {n_iterations} of {estimator.max_iter_} iterations, as the {which} {name} has not risen by more than "
        f"tol={estimator.tol_:g} in the last {estimator.n_iter_no_change_}: it was best, {score:.6g}, after the first {n_best}; "
        f"{consequence}",
        file=sys.stderr,
    )
