"""What "auto" means as the value of a parameter of boosted trees: dforest's defaults for given rows, or scikit-learn's.

The former are those that measured best on real tables: a low rate, as many iterations as rows held out ask for, then all rows;
and chance in columns, with some regularisation. Where an iteration grows a tree for each of many classes, time counts: a higher
rate takes half of the iterations, and rows are held out once, which cost no accuracy on average.
"""

STOPS_ABOVE = 10_000  # rows, where max_iter is a number
FOLDS_BELOW, N_FOLDS = 2_000, 5  # rows; how many folds there are
MANY_TREES = 6  # of an iteration
MOST_ITERATIONS, MOST_OF_MANY, FEW_ITERATIONS = 1_000, 500, 100  # with early stopping, also of many trees, and without
LEAST_RATE, MOST_RATE = 0.05, 0.1
RATE_OF_DROPOUTS, MOST_WITH_DROPOUTS, NO_CHANGE_WITH_DROPOUTS = 0.3, 300, 30  # as weights of trees shrink; iterations take longer
NO_CHANGE, LEAST_NO_CHANGE, MOST_NO_CHANGE = 2.5, 10, 1_000  # rate of the iterations that are waited for; their numbers

SCIKIT_LEARN = {
    "learning_rate": 0.1,
    "max_iter": 100,
    "l2_regularization": 0.0,
    "max_features": 1.0,
    "categorical_split": "subset",
    "validation_fraction": 0.1,
    "validation_folds": 1,
    "refit": False,
    "n_iter_no_change": 10,
    "tol": 1e-7,
}  # fmt: skip


def choose_values(estimator, n_rows, is_given, can_stop=True, has_scores=True):
    """Set `do_early_stopping_` and, for each parameter that may be "auto", the attribute of its name with an underscore.

    Parameters
    ----------
    estimator : BoostingEstimator
        Which knows how many trees its loss has in an iteration.
    n_rows : int
        Rows of X, of all ranks.
    is_given : bool
        Whether `fit` is given rows to be scored.
    can_stop : bool
        Whether rows can be held out, as far as is known. If not, only what says so stops early.
    has_scores : bool
        Whether `scoring` can be computed at all.
    """
    ours = estimator.defaults == "dforest"
    is_free, stops = ours and estimator.max_iter == "auto", estimator.early_stopping
    if stops == "auto":
        stops = is_given or has_scores and (n_rows > STOPS_ABOVE or is_free and can_stop)
    has_many = estimator._loss.n_trees_per_iteration >= MANY_TREES  # by each bag
    drops = estimator.boosting == "dart"
    most, rate = estimator.max_iter, estimator.learning_rate
    if is_free:
        with_stop = MOST_WITH_DROPOUTS if drops else MOST_OF_MANY if has_many else MOST_ITERATIONS
        most = with_stop if stops else FEW_ITERATIONS
    if rate == "auto" and ours and most != "auto":
        of_one = RATE_OF_DROPOUTS if drops else min(MOST_RATE, max(LEAST_RATE, 10 / most))
        rate = MOST_RATE if has_many and not drops else of_one
    no_change = rate if rate == "auto" else round(min(MOST_NO_CHANGE, max(LEAST_NO_CHANGE, NO_CHANGE / rate)))
    has_folds = n_rows < FOLDS_BELOW and not has_many and estimator.validation_fraction == "auto" and not estimator.warm_start
    values = {
        "max_iter": most,
        "learning_rate": rate,
        "l2_regularization": 1.0,
        "max_features": 0.5,
        "categorical_split": "subset" if estimator.warm_start or estimator.interaction_cst is not None else "order",
        "validation_fraction": 0.15,
        "validation_folds": N_FOLDS if has_folds else 1,
        "refit": not estimator.warm_start,
        "n_iter_no_change": NO_CHANGE_WITH_DROPOUTS if drops else no_change,
        "tol": 0.0,  # as scores have the scale of the targets, which may be small
    }
    estimator.do_early_stopping_ = bool(stops)
    for name, value in (values if ours else SCIKIT_LEARN).items():
        given = getattr(estimator, name)
        setattr(estimator, f"{name}_", value if isinstance(given, str) and given == "auto" else given)
