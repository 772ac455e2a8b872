"""The parameters of blends: a table like `dforest.estimators.parameters.PARAMETERS`, which says what an entry is."""

from dataclasses import replace
from numbers import Integral, Real

from sklearn.utils._param_validation import Interval

from dforest.estimators.entries import COMPUTATION, ENSEMBLE, Parameter
from dforest.estimators.families import BLENDS
from dforest.estimators.parameters import MAX_TREES, PARAMETERS
from dforest.estimators.randomness import ALLOWED

_COLUMNS = [replace(entry, of=BLENDS) for entry in PARAMETERS if entry.name in ("categorical_features", "ordinal_features")]

BLEND_PARAMETERS = (
    Parameter(
        "n_estimators",
        "int",
        300,
        [Interval(Integral, 1, MAX_TREES, closed="both")],
        """Number of trees of each forest, from 1 to 2**32 - 1. The number of iterations of boosted trees is found by rows held
        out.""",
        of=BLENDS,
        by_position=True,
        group=ENSEMBLE,
    ),
    Parameter(
        "members",
        "list or None",
        None,
        ["array-like", None],
        """Members of the blend in the order in which they are fitted. Each is a name, "random_forest", "extra_trees" or
        "boosted_trees", or a pair (name, estimator) of any estimator with scikit-learn's interface, of which a copy is fitted.
        None means these three names. `n_estimators`, `categorical_features` and `ordinal_features` are for members that are
        given by name alone.""",
        of=BLENDS,
        group=ENSEMBLE,
    ),
    *_COLUMNS,
    Parameter(
        "time_limit",
        "float or None",
        None,
        [Interval(Real, 0, None, closed="neither"), None],
        """Time in seconds after which no other member is begun. A member that has been begun is finished, and the first one is
        always fitted. With a limit, which members there are depends on the speed of the machine: see `selection_`. None means no
        limit.""",
        of=BLENDS,
        group=COMPUTATION,
    ),
    Parameter(
        "warm_start",
        "bool",
        False,
        ["boolean"],
        """Whether `fit` keeps what it needs to go on: all members and their out-of-sample predictions. A later call with
        equal data then fits those members alone that a time limit or Ctrl-C left out, that are new or whose parameters have
        changed, and weighs all of them; the result is the blend of one uninterrupted call. Model files don't keep this,
        pickles do.""",
        of=BLENDS,
        group=COMPUTATION,
    ),
    Parameter(
        "random_state",
        "int, RandomState, Generator or None",
        None,
        ALLOWED,
        """Seed of the seeds of members and of the division of rows into folds. An int gives an equal blend in each fit to the
        same data, whatever `n_jobs` is, if no time limit ends it; None gives another one in each fit. Members that have a
        `random_state` of their own keep it.""",
        of=BLENDS,
        group=COMPUTATION,
    ),
    Parameter(
        "n_jobs",
        "int or None",
        None,
        [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        """Number of threads for fitting and predicting, as in joblib: None means 1, or what ``joblib.parallel_config`` says; -1
        means all cores that the process may use. Members are fitted one after another, each with all these threads; those that
        have an `n_jobs` of their own keep it. The blend does not depend on `n_jobs`.""",
        of=BLENDS,
        group=COMPUTATION,
    ),
    Parameter(
        "verbose",
        "int",
        0,
        ["verbose"],
        """How much is printed on the error stream. 0 prints nothing, 1 prints a line for each member that has been fitted, and a
        line about the weights.""",
        of=BLENDS,
        group=COMPUTATION,
    ),
)
