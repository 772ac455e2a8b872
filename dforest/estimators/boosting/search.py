"""The search for the number of iterations: rows that are held out say it, and then all rows grow the model.

Each *fold* is a division of the rows of X, into some that trees are grown on and some that are scored. The folds' trees grow side
by side, and the mean of the scores of all folds says when to stop, and which number of iterations is best. A fold is grown as a
fit is to which the rows held out are given.
"""

from contextlib import ExitStack

from dforest.estimators.boosting.early_stopping import MeanScores, Monitor, Stopping
from dforest.estimators.boosting.gains import warn_of_no_gain
from dforest.estimators.boosting.held_out import count_folds, hold_out, hold_out_in_turn
from dforest.estimators.boosting.loop import grow
from dforest.estimators.boosting.progress import tell_iteration, tell_stop
from dforest.estimators.boosting.scores import make_monitor
from dforest.estimators.data.validation import count_threads

STOPS_ABOVE = 10_000  # rows, with early_stopping="auto" and a number as max_iter
MOST_ITERATIONS, FEW_ITERATIONS = 1_000, 100  # what max_iter="auto" means, with early stopping and without
LEAST_RATE, MOST_RATE = 0.05, 0.3  # between which learning_rate="auto" is


def choose_iterations(estimator, n_rows, is_given):
    """Set `do_early_stopping_`, `max_iter_` and `learning_rate_`.

    Parameters
    ----------
    estimator : BoostingEstimator
    n_rows : int
        Rows of X, of all ranks.
    is_given : bool
        Whether `fit` is given rows to be scored.
    """
    is_free, stops = estimator.max_iter == "auto", estimator.early_stopping
    stops = is_given or is_free or n_rows > STOPS_ABOVE if stops == "auto" else bool(stops)
    most = (MOST_ITERATIONS if stops else FEW_ITERATIONS) if is_free else estimator.max_iter
    rate = estimator.learning_rate
    if rate == "auto":
        rate = min(MOST_RATE, max(LEAST_RATE, 10 / most))
    estimator.do_early_stopping_, estimator.max_iter_, estimator.learning_rate_ = stops, most, rate


def is_searched(estimator, is_given, n_rows):
    """Whether the number of iterations is searched before all rows grow the model.

    Parameters
    ----------
    estimator : BoostingEstimator
        Of which it is known whether growing stops early.
    is_given : bool
        Whether `fit` is given rows to be scored: then none of X are held out.
    n_rows : int
        Those of X, of all ranks.
    """
    holds_out = estimator.do_early_stopping_ and not is_given and estimator.validation_fraction is not None
    return holds_out and (estimator.refit or count_folds(estimator, n_rows) > 1)


def folds_of(estimator, sample, ranks):
    """The folds: list of (the rows that trees are grown on, those that are scored). A collective."""
    n_folds = count_folds(estimator, ranks.total(len(sample.y)))
    return [hold_out(estimator, sample, ranks)] if n_folds == 1 else hold_out_in_turn(estimator, sample, n_folds, ranks)


def search_iterations(estimator, sample, seed, engine, ranks):
    """Find how many iterations all rows are to grow. A collective.

    Parameters
    ----------
    estimator : BoostingEstimator
        Its parameters, and what is known of the data.
    sample : Sample
        All rows.
    seed : int
        Of the trees.
    engine : Engine
    ranks : Communicator

    Returns
    -------
    n_iterations : int
        The number that scored best, or that was grown, times the number of all rows over that of the rows of a fold that trees
        are grown on, and rounded, but no more than are allowed.
    monitor : Monitor
        Which has the mean scores of the folds.
    """
    n_threads, n_most, folds, sessions = count_threads(estimator.n_jobs), estimator.max_iter_, [], ExitStack()
    divisions = folds_of(estimator, sample, ranks)
    with sessions:
        for rows, held_out in divisions:
            baseline = estimator._baseline(rows, None, ranks)
            monitor = make_monitor(
                estimator, estimator._loss, baseline, rows, held_out, estimator._row_seed, n_threads, ranks
            )
            monitor.begin(None, estimator._loss.n_sums)
            problem = estimator._state_problem(rows, baseline, seed, ranks, engine)
            folds.append(_Fold(sessions.enter_context(engine.open(problem)), problem, rows, monitor, n_most))
        parts = [MeanScores([getattr(fold.monitor, name) for fold in folds]) for name in ("training", "held_out")]
        monitor, done = Monitor(monitor.stopping, *parts), 0
        while done < n_most and (wait := monitor.earliest()):
            ahead = range(done, min(n_most, done + wait))
            for fold in folds:
                fold.grow(ahead, n_threads, estimator._tree_settings())
            done = ahead.stop
            if estimator.verbose:
                for number in ahead:
                    tell_iteration(estimator, number + 1, n_most, monitor)
        for fold in folds:
            estimator._check_raw(fold.forest, fold.session.raw_sums)
    scored = divisions[0][1] if len(folds) == 1 else sample
    warn_of_no_gain(estimator, folds[0].forest, monitor, scored, ranks)
    found = monitor.best()[0] if estimator.use_best_model else done
    n_rows, n_grown = len(folds) * ranks.total(len(sample.y)), ranks.total(sum(len(rows.y) for rows, _ in divisions))
    n_iterations = min(n_most, (2 * found * n_rows + n_grown) // (2 * n_grown))  # rounded, half of one up
    if estimator.verbose:
        tell_stop(estimator, monitor, f"{n_iterations} are grown on all rows")
    return n_iterations, monitor


class _Fold:
    """The trees of a fold, as they come, and what they score."""

    def __init__(self, session, problem, rows, monitor, n_most):
        self.session, self.forest, self._problem, self._dtype = session, None, problem, rows.X.dtype
        self.monitor = Monitor(Stopping(n_most + 1, 0.0), monitor.training, monitor.held_out)  # which alone ends nothing

    def grow(self, iterations, n_threads, settings):
        """Grow some iterations, and score each."""
        self.forest = grow(
            self.session, self._problem, self._dtype, iterations, self.forest, self.monitor, n_threads=n_threads, **settings
        )
