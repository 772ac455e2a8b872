"""Splits of boosted trees by sums of columns: the parameters that say which, and what they go with."""

from dataclasses import replace

from dforest.core.search.oblique import ObliqueSplitter
from dforest.estimators.entries import SHAPE
from dforest.estimators.families import BOOSTING
from dforest.estimators.parameters import PARAMETERS

_NAMES = "n_projections", "projection_density", "projection_weights", "projection_scaling", "projections"
_DOCS = {
    "split_axis": """What the splits of trees compare with thresholds. "axis_aligned" means single features. "oblique" means
        weighted sums of a few features too, which are drawn at random for each iteration, and have bins as single features have;
        categorical features are tested by themselves alone. The next five parameters say which sums these are: see
        `dforest.splitter.ObliqueSplitter`, which draws them at each node.""",
    "n_projections": """Number of sums that an iteration draws with ``split_axis="oblique"``, as features beside those of X, of
        all of which nodes try as many as `max_features` says. A float is an exponent of the number of features that are not
        categorical, and the result is rounded up. None means this number.""",
    "projection_scaling": """What features are divided by before they are added up by ``split_axis="oblique"``: "min_max" means
        the range of their finite values among the training rows, and "standard" their standard deviation there, where each row
        counts once. None means that they are added up as they are.""",
    "projections": """The sums that iterations draw with ``split_axis="oblique"``, in place of random ones: each row holds the
        weights of the features in one, which are taken as they are. Two at least are not 0; those of categorical features are. An
        iteration draws `n_projections` rows, or takes all if there are not so many. `dforest.splitter.patch_projections` draws
        patches of images and windows of series. None means random sums.""",
}

# The entries of the parameters, as forests have them but for what they say of nodes.
OBLIQUE_PARAMETERS = tuple(
    replace(entry, of=BOOSTING, group=SHAPE, doc=_DOCS.get(entry.name, entry.doc))
    for entry in PARAMETERS
    if entry.name in ("split_axis", *_NAMES)
)


def splitter_of(estimator):
    """The `ObliqueSplitter` that the parameters of boosted trees ask for; None: splits are by single features.

    Raises
    ------
    ValueError
        If they contradict each other.
    """
    if estimator.split_axis == "oblique":
        return ObliqueSplitter(**{name: getattr(estimator, name) for name in _NAMES})
    if estimator.projections is not None:
        raise ValueError(
            f"projections is given with split_axis={estimator.split_axis!r}, whose splits are of single features; allowed is "
            'split_axis="oblique"'
        )
    return None


def check_oblique(estimator, sample, grown):
    """Raise ValueError if the rows, or the trees that there are, do not go with `split_axis` and `projections`.

    Parameters
    ----------
    estimator : BoostingEstimator
    sample : Sample
        All rows of X.
    grown : Forest or None
        The trees that there are.
    """
    splitter = splitter_of(estimator)
    if splitter is not None:
        sample.check_dense('split_axis="oblique"', 'split_axis="axis_aligned"')
    if splitter is not None and splitter.projections is not None:
        splitter.projections.check(estimator._features.n_categories)
    if grown is not None and (grown.splitter is None) != (splitter is None):
        before = "axis_aligned" if grown.splitter is None else "oblique"
        raise ValueError(
            f'split_axis={estimator.split_axis!r}, but warm_start=True goes on with trees grown by split_axis="{before}"'
        )
