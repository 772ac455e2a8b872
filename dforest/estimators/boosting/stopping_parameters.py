"""The parameters of early stopping of boosted trees, entries of `dforest.estimators.boosting.parameters.BOOSTING_PARAMETERS`."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from dforest.estimators.entries import Parameter
from dforest.estimators.families import BOOSTED_CLASSES, BOOSTED_DISTRIBUTIONS, BOOSTED_NUMBERS, BOOSTED_RANKS, BOOSTING

STOPPING = "Early stopping"  # a group that only boosted trees have

STOPPING_PARAMETERS = (
    Parameter(
        "early_stopping",
        '"auto" or bool',
        "auto",
        [StrOptions({"auto"}), "boolean"],
        """Whether growing stops when scores get no better. "auto" means that it does if `fit` is given validation rows, or if X
        has more than 10,000 rows. With ``max_iter="auto"`` it also does below that number, where rows can be held out; if they
        can't, as a class has a single row, for example, a warning says so. With ``defaults="scikit-learn"`` it does not. Nor does
        a loss of your own stop that does not say what the loss of a row is, with ``scoring="loss"``.""",
        of=BOOSTING,
        group=STOPPING,
    ),
    Parameter(
        "scoring",
        "str, callable, list of str, dict or None",
        "loss",
        [str, callable, list, tuple, dict, None],
        """Score for early stopping, which is computed before the first iteration and after each one. "loss" is minus the mean
        loss, other names are those of scikit-learn's scorers, and None means what `score` returns. A callable is given an
        estimator, rows and targets, and returns a number, the higher the better; that estimator predicts these rows only, by the
        iterations grown so far. Of two classes, those scorers of scikit-learn whose metric has a `pos_label` look at the
        class 1, or, if there is no such class, at ``classes_[1]``. A list of names, or a dict of names to any of these, scores by
        all of them: the first decides, and `verbose` shows all. Except for "loss", at most 10,000 of the training rows are
        scored.""",
        of=BOOSTED_CLASSES | BOOSTED_NUMBERS | BOOSTED_DISTRIBUTIONS,
        group=STOPPING,
    ),
    Parameter(
        "scoring",
        "str, list of str, dict or None",
        None,
        [str, list, tuple, dict, None],
        """Score for early stopping, which is computed before the first iteration and after each one. "ndcg@10" is the mean over
        queries of NDCG of the ten highest rows, and "map@10" that of the average precision, for which rows of grades above 0
        are relevant; 10 may be another number, and "ndcg" and "map" count all rows. "loss" is minus the mean loss. None means
        "ndcg@10" or, if some grade has no gain, as it is no integer from 0 to 31, "loss". A list of names, or a dict of names to
        these, scores by all of them: the first decides, and `verbose` shows all.""",
        of=BOOSTED_RANKS,
        group=STOPPING,
    ),
    Parameter(
        "validation_fraction",
        'int, float, "auto" or None',
        "auto",
        [Interval(RealNotInt, 0, 1, closed="neither"), Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        """Number of rows that are held out and scored for early stopping, drawn at random and, for classification, from each
        class in proportion. An int is this number, and a float, between 0 and 1, is a share of all rows. "auto" means 0.15, or
        0.1 with ``defaults="scikit-learn"``. None means that the scores of the training rows decide. If `fit` is given
        validation rows, none are held out. For ranking, whole queries are held out, and these are numbers and shares of
        queries.""",
        of=BOOSTING,
        group=STOPPING,
    ),
    Parameter(
        "validation_folds",
        'int or "auto"',
        "auto",
        [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        """Number of folds of the rows of X, each of which is held out once for early stopping. 1 means that rows are held out
        once, as `validation_fraction` says. With 2 or more, the rows are dealt out to so many folds at random, those of each
        class evenly. The trees for all folds grow side by side, each on the rows of the other folds, and the mean of the folds'
        scores decides when growing stops. Then trees are grown anew on all rows, as with ``refit=True``. This takes as many
        times the time and memory, and pays where rows are few: "auto" means 5 if there are fewer than 2,000 rows and an
        iteration has fewer than six trees, unless `validation_fraction` is given or ``warm_start=True``; else, and with
        ``defaults="scikit-learn"``, it means 1. If `fit` is given validation rows, none are held out, and a number above 1 is
        refused; so it is with ``validation_fraction=None``. For ranking, whole queries are dealt out.""",
        of=BOOSTING,
        group=STOPPING,
    ),
    Parameter(
        "refit",
        'bool or "auto"',
        "auto",
        ["boolean", StrOptions({"auto"})],
        """Whether, after early stopping by rows that were held out of X, trees are grown anew on all rows, so that none are lost.
        The number of iterations is the one that was found, times the number of all rows over that of the rows that the search
        grew trees on, rounded, and at most `max_iter`. `train_score_`, `validation_score_`, `score_history_`, `best_iteration_`
        and `best_score_` tell of the search; `forest_`, `n_iter_` and `fit_report_` of the trees that are grown on all rows, and
        callbacks see these alone. "auto" means True, or with ``defaults="scikit-learn"`` or ``warm_start=True`` False. Where no
        rows of X were held out, there is nothing to refit.""",
        of=BOOSTING,
        group=STOPPING,
    ),
    Parameter(
        "n_iter_no_change",
        'int or "auto"',
        "auto",
        [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        """Number of iterations to wait for a better score: growing stops when none of this many latest scores is better than the
        score before them. "auto" means 2.5 / `learning_rate`, rounded, but no less than 10 and no more than 1,000, or 30
        with ``boosting="dart"``, or 10 with ``defaults="scikit-learn"``.""",
        of=BOOSTING,
        group=STOPPING,
    ),
    Parameter(
        "tol",
        'float or "auto"',
        "auto",
        [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        """Tolerance of early stopping, in the unit of the score: a score is better than another one if it is higher by more
        than this. "auto" means 0, or 1e-7 with ``defaults="scikit-learn"``.""",
        of=BOOSTING,
        group=STOPPING,
    ),
    Parameter(
        "use_best_model",
        "bool",
        True,
        ["boolean"],
        """Whether the model consists of the iterations up to the one of the best score, `best_iteration_`. The iterations after
        it, which early stopping has waited for, are then dropped when growing ends. If False, all iterations are kept, as in
        scikit-learn. Without early stopping there are no scores, and all iterations are kept.""",
        of=BOOSTING,
        group=STOPPING,
    ),
)
