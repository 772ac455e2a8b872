"""The search for the number of iterations: rows that are held out say it, and then all rows grow the model.

Each *fold* is a division of the rows of X, into some that trees are grown on and some that are scored. The folds' trees grow side
by side, and the mean of the scores of all folds says when to stop, and which number of iterations is best. A fold is grown as a
fit is to which the rows held out are given. Each bag (`dforest.estimators.boosting.bags`) has folds of its own, and the folds of
all bags find one number of iterations.
"""

from contextlib import ExitStack

from dforest.estimators.boosting.bags import Bag, begun, model_of, monitor_of_bags, opened, problem_of_bags
from dforest.estimators.boosting.defaults import choose_values
from dforest.estimators.boosting.early_stopping import MeanScores, Monitor
from dforest.estimators.boosting.gains import warn_of_no_gain
from dforest.estimators.boosting.held_out import Division, hold_out, hold_out_in_turn
from dforest.estimators.boosting.loop import Trees
from dforest.estimators.boosting.out_of_fold import raw_out_of_fold
from dforest.estimators.boosting.progress import tell_iteration, tell_stop
from dforest.estimators.data.validation import count_threads
from dforest.warning import warn


def divisions_of(estimator, sample, given, seeds, ranks):
    """How each bag divides rows: list of lists of `Division`. A collective.

    If more than one, or if the estimator is to be refitted, rows come back when the number of iterations is known. Where rows
    cannot be held out, and nothing but dforest's defaults asks for it, nothing stops early, and a warning says so.

    Parameters
    ----------
    estimator : BoostingEstimator
        Of which it is known what its parameters mean.
    sample : Sample
        All rows of X.
    given : Sample or None
        The rows to be scored that `fit` is given.
    seeds : list of Seeds
        Those of each bag.
    ranks : Communicator
    """
    if not estimator.do_early_stopping_ or given is not None or estimator.validation_fraction_ is None:
        return [[Division(sample, given)] for _ in seeds]
    n_folds, n_rows = estimator.validation_folds_, ranks.total(len(sample.y))
    try:
        if n_folds == 1:
            return [[hold_out(estimator, sample, own.rows, ranks)] for own in seeds]
        return [hold_out_in_turn(estimator, sample, n_folds, own.rows, ranks) for own in seeds]
    except ValueError as error:
        choose_values(estimator, n_rows, is_given=False, can_stop=False)
        if estimator.do_early_stopping_:
            raise
        if ranks.rank == 0:
            warn(
                f'{error}. Only defaults="dforest" asks for early stopping here, so {estimator.max_iter_} iterations are grown '
                "without it; early_stopping=False does the same and warns of nothing"
            )
    return [[Division(sample, None)] for _ in seeds]


def is_searched(estimator, divisions, given):
    """Whether the number of iterations is searched before all rows grow the model: see `divisions_of`."""
    holds_out = divisions[0][0].held_out is not given
    return holds_out and (estimator.refit_ or len(divisions[0]) > 1)


def search_iterations(estimator, sample, divisions, seeds, engine, ranks):
    """Find how many iterations all rows are to grow. A collective.

    Parameters
    ----------
    estimator : BoostingEstimator
        Its parameters, and what is known of the data.
    sample : Sample
        All rows.
    divisions : list of list of Division
        Those of each bag, as of `divisions_of`.
    seeds : list of Seeds
        Those of each bag.
    engine : Engine
    ranks : Communicator

    Returns
    -------
    n_iterations : int
        The number that scored best, or that was grown, times the number of all rows over that of the rows of a fold that trees
        are grown on, and rounded, but no more than are allowed.
    monitor : Monitor
        Which has the mean scores of the folds.
    raw : ndarray of shape (n_rows, n_sums), dtype float64, or None
        Of several folds, what each predicts for the rows that it held out, by the iterations that were found: the mean over bags.
    """
    n_threads, n_most, folds, sessions = count_threads(estimator.n_jobs), estimator.max_iter_, [], ExitStack()
    all_folds = [(own, division) for own, of_bag in zip(seeds, divisions, strict=True) for division in of_bag]
    with sessions:
        for own, (rows, held_out, _) in all_folds:
            bags, settings = begun(estimator, [Bag(own, rows, held_out)], None, ranks), estimator._tree_settings()
            monitor = monitor_of_bags(estimator, bags, n_threads, ranks)
            monitor.begin(None, estimator._loss.n_sums)
            problem = problem_of_bags(estimator, bags, ranks, engine)
            session = sessions.enter_context(opened(engine, problem, bags, **settings))
            folds.append(_Fold(session, problem, bags[0], monitor, n_most, n_threads, settings))
        parts = [MeanScores([getattr(fold.monitor, name) for fold in folds]) for name in ("training", "held_out")]
        monitor, done = Monitor(monitor.stopping, *parts), 0
        while done < n_most and (wait := monitor.earliest()):
            ahead = range(done, min(n_most, done + wait))
            for fold in folds:
                fold.grow(ahead)
            done = ahead.stop
            if estimator.verbose:
                for number in ahead:
                    tell_iteration(estimator, number + 1, n_most, monitor)
        forests = [fold.forest() for fold in folds]
        for fold, forest in zip(folds, forests, strict=True):
            estimator._check_raw(forest, fold.session.raw_sums)
    n_folds = len(divisions[0])
    scored = divisions[0][0].held_out if n_folds == 1 else sample
    warn_of_no_gain(estimator, forests[0], monitor, scored, ranks)
    found = monitor.best()[0] if estimator.use_best_model else done
    n_rows, n_grown = len(folds) * ranks.total(len(sample.y)), ranks.total(sum(len(rows.y) for _, (rows, *_) in all_folds))
    n_iterations = min(n_most, (2 * found * n_rows + n_grown) // (2 * n_grown))  # rounded, half of one up
    if estimator.verbose:
        tell_stop(estimator, monitor, f"{n_iterations} are grown on all rows")
    raw = None
    if n_folds > 1:
        forests = [model_of(forest, [fold.bag], found) for fold, forest in zip(folds, forests, strict=True)]
        of_bags = [forests[first : first + n_folds] for first in range(0, len(folds), n_folds)]
        raw = sum(raw_out_of_fold(*own, found, n_threads) for own in zip(divisions, of_bags, strict=True)) / len(divisions)
    return n_iterations, monitor, raw


class _Fold:
    """The trees of a fold, as they come, and what they score."""

    def __init__(self, session, problem, bag, monitor, n_most, n_threads, settings):
        self.session, self.bag, self.monitor, self._per_iteration = session, bag, monitor, problem.n_trees_per_iteration
        self._trees = Trees(problem, bag.training.X.dtype, n_most * self._per_iteration, None, True, None, n_threads, **settings)

    def grow(self, iterations):
        """Grow some iterations, and score each."""
        for number in iterations:
            self.session.grow(range(number * self._per_iteration, (number + 1) * self._per_iteration), self._trees)
            self.monitor.training.add_sums(self.session.raw_sums.T)
        self.monitor.held_out.add(self._trees.latest_forest())

    def forest(self):
        """The `Forest` of all trees."""
        return self._trees.forest()
