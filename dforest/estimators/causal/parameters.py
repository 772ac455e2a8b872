"""The parameters of causal forests: a table like `dforest.estimators.parameters.PARAMETERS`, which says what an entry is."""

from dataclasses import replace
from numbers import Integral, Real

from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from dforest.estimators.entries import ENSEMBLE, ESTIMATES, ROWS, SHAPE, SPLITS, Parameter
from dforest.estimators.families import CAUSAL
from dforest.estimators.parameters import PARAMETERS

NUISANCES = "Expected outcomes and treatments"


def _as_of_forests(name, **changes):
    """The entry of regression forests for a parameter, changed as said."""
    (entry,) = (entry for entry in PARAMETERS if entry.name == name and "forest regressor" in entry.of)
    return replace(entry, of=CAUSAL, **changes)


def _with_auto(doc):
    return doc + ' "auto" leaves the choice to `fit`, as for `min_samples_leaf`.'


def _model(name, of, kind):
    return Parameter(
        name,
        "estimator or None",
        None,
        [HasMethods(["fit", "predict"]), None],
        f"""Regressor that predicts {of} from X, whose predictions of rows that it was not fitted on are taken off. A forest
        of dforest predicts out of bag; any other estimator is fitted `cv` times, each time without some of the rows. None means
        a `RandomForestRegressor` of a quarter as many {kind}trees, and at least 50.""",
        of=CAUSAL,
        group=NUISANCES,
    )


_MODELS = (
    _model("outcome_model", "an outcome", ""),
    _model("treatment_model", "a treatment, or of labels whether a row is in an arm,", "honest "),
    _model("instrument_model", "an instrument", "honest "),
)

# As of forests that choose no parameters.
(_OF_SURVIVAL,) = (entry for entry in PARAMETERS if entry.name == "max_features" and "survival forest" in entry.of)

CAUSAL_PARAMETERS = (
    _as_of_forests(
        "n_estimators",
        doc="""Number of trees in the forest, from 1 to 2**32 - 1. More trees take time and memory in proportion, and don't
        overfit. The variance that intervals are made of needs more trees than the effects do.""",
        group=ENSEMBLE,
    ),
    *_MODELS,
    Parameter(
        "cv",
        "int",
        5,
        [Interval(Integral, 2, None, closed="left")],
        """Number of folds, from 2 on, by which models that are no forests predict rows that they were not fitted on. With
        `groups`, rows of one group are in one fold.""",
        of=CAUSAL,
        group=NUISANCES,
    ),
    replace(
        _OF_SURVIVAL,
        type='int, float, {"sqrt", "log2", "auto"} or None',
        constraint=[StrOptions({"auto"}), *_OF_SURVIVAL.constraint],
        doc=_with_auto(_OF_SURVIVAL.doc),
        of=CAUSAL,
    ),
    Parameter(
        "alpha",
        'float or "auto"',
        0.05,
        [Interval(Real, 0.0, 0.5, closed="left"), StrOptions({"auto"})],
        """Least share of what tells an effect in a node, on each side of a split, from 0 to below 0.5: of the sum of squares of
        the treatment, or of the instrument, around its mean. "auto" leaves the choice to `fit`, as for `min_samples_leaf`.""",
        of=CAUSAL,
        group=SPLITS,
    ),
    Parameter(
        "imbalance_penalty",
        "float",
        0.0,
        [Interval(Real, 0.0, None, closed="left")],
        """How much uneven splits are avoided: this times the sum over both sides of 1 / (sum of squares of the treatment) is
        taken from the score of a split.""",
        of=CAUSAL,
        group=SPLITS,
    ),
    Parameter(
        "stabilize_splits",
        "bool",
        True,
        ["boolean"],
        """Whether splits must leave enough treated and untreated rows on both sides, by `min_samples_leaf`, `alpha` and
        `imbalance_penalty`. If False, `min_samples_leaf` counts rows of any treatment, and the other two do nothing.""",
        of=CAUSAL,
        group=SPLITS,
    ),
    *(
        _as_of_forests(name)
        for name in ("skip_constant_features", "feature_weights", "always_split_features", "method", "max_bins", "max_depth",
                     "max_leaf_nodes", "min_samples_split")
    ),
    Parameter(
        "min_samples_leaf",
        'int, float or "auto"',
        5,
        [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0.0, 1.0, closed="neither"), StrOptions({"auto"})],
        """Least number of draws on each side of a split whose treatment, or instrument, is above the mean of the node, and
        least number of others: of treated rows and of untreated ones, if a row is treated or not. So each side has at least twice
        as many. A float, above 0 and below 1,
        is a share of the tree's draws, rounded up. In an honest tree, a leaf that fewer rows of the other half reach goes.
        "auto" leaves the choice to `fit`, which tries some values by small forests: see `selection_`.""",
        of=CAUSAL,
        group=SHAPE,
    ),
    _as_of_forests("min_weight_fraction_leaf"),
    Parameter(
        "max_samples",
        "int or float",
        0.5,
        [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0.0, 1.0, closed="right")],
        """Number of rows that each tree draws, without replacement. An int is this number, and a float is a share of the rows of
        positive weight, rounded. With little bags (`ci_group_size`) it is at most half of them. Where `fit` is given groups,
        groups are drawn and counted.""",
        of=CAUSAL,
        group=ROWS,
    ),
    _as_of_forests("honest"),
    replace(
        _as_of_forests("honest_fraction"),
        type='float or "auto"',
        constraint=[Interval(Real, 0.0, 1.0, closed="neither"), StrOptions({"auto"})],
        doc=_with_auto(_as_of_forests("honest_fraction").doc),
    ),
    _as_of_forests(
        "ci_group_size",
        doc="""Number of trees in a *little bag*. The trees of a bag share a random half of the rows, from which each of them
        draws its own rows; how much bags differ tells how sure effects are: see `predict_interval`. With 1, there are no bags,
        and no intervals.""",
    ),
    *(_as_of_forests(name) for name in ("categorical_features", "ordinal_features", "categorical_split")),
    _as_of_forests(
        "keep_training_data",
        doc="""Whether the forest keeps copies of the training rows, which estimates of average effects need, `predict` and
        `predict_interval` of training rows, and `forest_weights`. The copies are pickled with the forest.""",
        group=ESTIMATES,
    ),
    *(_as_of_forests(name) for name in ("random_state", "n_jobs", "device", "warm_start", "verbose")),
)
