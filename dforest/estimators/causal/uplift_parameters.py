"""The parameters of uplift forests: a table like `dforest.estimators.parameters.PARAMETERS`, which says what an entry is."""

from dataclasses import replace
from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

from dforest.core.search.criteria import UPLIFT_CRITERIA
from dforest.estimators.entries import SHAPE, SPLITS, Parameter
from dforest.estimators.families import UPLIFT
from dforest.estimators.parameters import PARAMETERS


def _as_of(family, name):
    """The entry of a family of forests for a parameter."""
    (entry,) = (entry for entry in PARAMETERS if entry.name == name and family in entry.of)
    return replace(entry, of=UPLIFT)


# Where "auto" is no value.
(_MAX_FEATURES,) = (entry for entry in PARAMETERS if entry.name == "max_features" and "survival forest" in entry.of)

UPLIFT_PARAMETERS = (
    _as_of("forest classifier", "n_estimators"),
    Parameter(
        "criterion",
        '{"euclidean", "kl", "chi2"}',
        "euclidean",
        [StrOptions(set(UPLIFT_CRITERIA))],
        """How far the outcomes of an arm are from those of the control, which splits are chosen to raise: by the squared
        Euclidean distance, the Kullback-Leibler divergence, or the chi-squared divergence. Of several arms, the mean counts. The
        first one is bounded, and less easily led astray where outcomes are rare.""",
        of=UPLIFT,
        group=SPLITS,
    ),
    Parameter(
        "normalize",
        "bool",
        True,
        ["boolean"],
        """Whether gains are divided by a number that is large for splits whose sides have other shares of the arms, and for
        splits into halves, as gain ratios of decision trees are.""",
        of=UPLIFT,
        group=SPLITS,
    ),
    Parameter(
        "smoothing",
        "float",
        10.0,
        [Interval(Real, 0.0, None, closed="neither")],
        """How many draws are added to each arm before its outcomes are compared, with the outcomes of the node; above 0. Larger
        numbers make splits with few rows on a side rarer. They change no prediction.""",
        of=UPLIFT,
        group=SPLITS,
    ),
    replace(_MAX_FEATURES, of=UPLIFT),
    *(
        _as_of("forest classifier", name)
        for name in ("skip_constant_features", "feature_weights", "always_split_features", "method", "max_bins", "max_depth",
                     "max_leaf_nodes", "min_samples_split")
    ),
    _as_of("survival forest", "min_samples_leaf"),
    Parameter(
        "min_samples_treatment",
        "int",
        10,
        [Interval(Integral, 1, None, closed="left")],
        """Least number of draws of each arm, the control included, on either side of a split. If draws differ in weight, it is a
        weight, in units of the mean weight of the node's draws.""",
        of=UPLIFT,
        group=SHAPE,
    ),
    *(
        _as_of("forest classifier", name)
        for name in ("min_weight_fraction_leaf", "bootstrap", "max_samples", "honest", "honest_fraction", "categorical_features",
                     "ordinal_features", "categorical_split", "warm_start", "random_state", "n_jobs", "device", "verbose")
    ),
)  # fmt: skip
