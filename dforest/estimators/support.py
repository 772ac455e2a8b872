"""What a fit may ask for that is not supported everywhere: one table, from which errors, a page and a test follow.

A *place* is where trees are grown: on "the processor" of one process that has all rows, on a "device", or by "ranks", which is
rows of several processes, or of several partitions. A *feature* is what a fit asks for. `FEATURES` says how to tell from a fit
that it asks for a feature, and `REFUSALS` where a feature is refused, why, and what is allowed instead. Whatever is not refused
there is supported. `doc/combinations.md` is the table for readers; `tests/test_support.py` renews it, and fits every feature
at every place.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np

from dforest.config import queue_of
from dforest.core.search.criteria import EFFECT_CRITERIA, OF_KERNELS
from dforest.core.search.oblique import ObliqueSplitter
from dforest.core.search.splitter import Splitter
from dforest.estimators.data.fits import instance_of
from dforest.estimators.kinds import BoostedTrees, CausalTrees, DistributionTrees, SurvivalTrees, UpliftTrees

PROCESSOR, DEVICE, RANKS = PLACES = "the processor", "a device", "several ranks"
HIST, DENSE, BOOSTING = KINDS = "forests, hist", "forests, dense", "boosted trees"
FORESTS = HIST, DENSE


class Fit(NamedTuple):
    """What is known of a fit; None: not yet.

    Attributes
    ----------
    estimator : estimator
        Its parameters.
    n_outputs : int or None
        How many columns y has.
    """

    estimator: object
    n_outputs: int | None = None

    @property
    def kind(self):
        """One of `KINDS`."""
        if isinstance(self.estimator, BoostedTrees):
            return BOOSTING
        return DENSE if self.estimator.method == "dense" else HIST


class Feature(NamedTuple):
    """What a fit may ask for.

    Attributes
    ----------
    title : str
        For the page.
    said : callable
        Given a `Fit`, it returns what messages call the feature in it, or None if it does not ask for it, as far as is known.
    kinds : tuple of str
        Those of `KINDS` that have it.
    """

    title: str
    said: Callable = lambda fit: None
    kinds: tuple = KINDS


class Refusal(NamedTuple):
    """Where a feature is refused.

    Attributes
    ----------
    feature : str
        Of `FEATURES`.
    places : tuple of str
        Of `PLACES`.
    reason : str
        Why, as a clause.
    allowed : str
        What is allowed instead, at the same place.
    kinds : tuple of str
        Of `KINDS`.
    """

    feature: str
    places: tuple
    reason: str
    allowed: str
    kinds: tuple = KINDS


def _splitter(fit):
    return instance_of(Splitter, "splitter", fit.estimator.splitter)


def _own_splitter(fit):
    splitter = _splitter(fit)
    return f"splitter={splitter!r}" if isinstance(splitter, Splitter) and not splitter.runs_on(None) else None


def _own_criterion(fit):
    criterion = fit.estimator._own_criterion()
    return None if isinstance(criterion, str) else f"criterion={criterion!r}"


def _label_order(fit):
    return 'categorical_split="order"' if fit.estimator.categorical_split == "order" else None


def _together(asks, name, without):
    """What tells of a feature, given what tells of it alone, together with another value of a parameter than one."""

    def said(fit):
        value = getattr(fit.estimator, name)
        return f"{asks(fit)} with {name}={value!r:.100}" if asks(fit) and value != without else None

    return said


def _is_constrained(estimator):
    """Whether `monotonic_cst` constrains a feature, or is none of its values, which is for others to say."""
    given = estimator.monotonic_cst
    values = list(given.values()) if isinstance(given, dict) else [] if given is None else given
    try:
        return bool(np.any(np.asarray(values, np.float64) != 0))
    except (TypeError, ValueError):
        return True


def _linear_and_monotonic(fit):
    estimator = fit.estimator
    asks = _linear(fit) and _is_constrained(estimator)
    return f"{_linear(fit)} with monotonic_cst={estimator.monotonic_cst!r:.100}" if asks else None


def _sketch(fit):
    estimator = fit.estimator
    if getattr(estimator, "multi_class", None) != "one_tree" or fit.n_outputs is None or estimator._loss.n_directions == 0:
        return None
    return f'multi_class="one_tree" with {estimator._loss.n_sums} classes'


def _chances(fit):
    return 'sampling="mvs"' if fit.estimator.sampling == "mvs" and fit.estimator.subsample != 1.0 else None


def _dropouts(fit):
    return 'boosting="dart"' if fit.estimator.boosting == "dart" else None


def _chosen_cuts(fit):
    if fit.estimator.splitter != "best":
        return f"splitter={fit.estimator.splitter!r}"
    return None if fit.estimator.forced_splits is None else f"forced_splits={fit.estimator.forced_splits!r:.100}"


def _preferences(fit):
    estimator = fit.estimator
    given = [] if estimator.feature_costs is None else [f"feature_costs={estimator.feature_costs!r:.100}"]
    if estimator.monotone_penalty > 0 and estimator.monotonic_cst is not None:
        given.append(f"monotone_penalty={estimator.monotone_penalty}")
    return " and ".join(given) or None


def _survival(fit):
    return f"{type(fit.estimator).__name__}, for survival times," if isinstance(fit.estimator, SurvivalTrees) else None


def _uplift(fit):
    return type(fit.estimator).__name__ if isinstance(fit.estimator, UpliftTrees) else None


def _preferred_features(fit):
    chosen = {name: getattr(fit.estimator, name) for name in ("feature_weights", "always_split_features")}
    given = [f"{name}={value!r}" for name, value in chosen.items() if value is not None]
    return " and ".join(given) or None


def _several_thresholds(fit):
    n = fit.estimator.n_random_splits
    return f"n_random_splits={n}" if n > 1 else None


def _oblique(fit):
    if fit.estimator.split_axis == "oblique":
        return 'split_axis="oblique"'
    if isinstance(fit.estimator.splitter, str):
        return None
    splitter = _splitter(fit)
    return f"splitter={splitter!r}" if isinstance(splitter, ObliqueSplitter) else None


def _oblique_constraints(fit):
    given = {name: getattr(fit.estimator, name) for name in ("monotonic_cst", "interaction_cst", "feature_costs")}
    given["monotonic_cst"] = given["monotonic_cst"] if _is_constrained(fit.estimator) else None
    said = [f"{name}={value!r:.100}" for name, value in given.items() if value is not None]
    return f"{_oblique(fit)} with {' and '.join(said)}" if _oblique(fit) and said else None


def _regularised(fit):
    factor = fit.estimator.regularization_factor
    return None if isinstance(factor, Real) and factor == 1 else f"regularization_factor={factor!r}"


def _honest_constraints(fit):
    cst = fit.estimator.monotonic_cst
    return f"honest=True with monotonic_cst={cst!r:.100}" if fit.estimator.honest and _is_constrained(fit.estimator) else None


def _smoothing_constraints(fit):
    estimator = fit.estimator
    both = estimator.leaf_smoothing != 0 and _is_constrained(estimator)
    return f"leaf_smoothing={estimator.leaf_smoothing!r} with monotonic constraints" if both else None


def _honest_order(fit):
    return f"honest=True with {_label_order(fit)}" if fit.estimator.honest and _label_order(fit) else None


def _isolation(fit):
    return f"{type(fit.estimator).__name__}" if fit.estimator._own_criterion() == "path_length" else None


_VOTING = "a callback that looks at out-of-bag errors"


def _causal(fit):
    return f"{type(fit.estimator).__name__}" if isinstance(fit.estimator, CausalTrees) else None


def _causal_votes(fit):
    return f"{_VOTING}, of {_causal(fit)}" if _causal(fit) and _looks_at_votes(fit) else None


def _causal_checkpoint(fit):
    seed = fit.estimator.random_state
    if _causal(fit) is None or isinstance(seed, Integral):
        return None
    return f"Checkpoint with random_state={seed!r}, of {_causal(fit)}" if _looks_at(fit, "checkpoint") else None


def _looks_at(fit, *names):
    callbacks = getattr(fit.estimator, "_skl_callbacks", ())
    return any(set(names) & set(getattr(callback, "needs", ())) for callback in callbacks)


def _looks_at_votes(fit):
    return _looks_at(fit, "live votes", "live scores")


def _isolation_votes(fit):
    return f"{_VOTING}, of {_isolation(fit)}" if _isolation(fit) and _looks_at_votes(fit) else None


def _several_outputs(fit):
    return f"a y of {fit.n_outputs} columns" if fit.n_outputs and fit.n_outputs > 1 else None


def _outputs_and_monotonic(fit):
    both = _several_outputs(fit) is not None and _is_constrained(fit.estimator)
    return f"a y of {fit.n_outputs} columns with monotonic_cst={fit.estimator.monotonic_cst!r}" if both else None


def _distribution_constraints(fit):
    estimator = fit.estimator
    if not isinstance(estimator, DistributionTrees) or not _is_constrained(estimator):
        return None
    return f"{type(estimator).__name__} with monotonic_cst={estimator.monotonic_cst!r:.100}"


def _linear(fit):
    model = fit.estimator.leaf_model
    return None if model == "constant" else f'leaf_model="{model}"'


def _linear_somewhere(fit):
    return None if fit.n_outputs is None else _linear(fit)  # once it is known whether they are refused everywhere


def _linear_outputs(fit):
    if not _linear(fit) or fit.n_outputs is None or fit.estimator._loss.n_outputs == 1 or fit.estimator._loss.levels:
        return None
    way = "a distribution of several parameters" if isinstance(fit.estimator, DistributionTrees) else 'multi_class="one_tree"'
    return f"{_linear(fit)} with {_several_outputs(fit) or way}"


def _linear_loss(fit):
    if not _linear(fit) or fit.n_outputs is None or fit.estimator._loss.facts.leaf == "newton":
        return None
    return f"{_linear(fit)} with loss={fit.estimator.loss!r}"


def _linear_choice(fit):
    return 'leaf_model="auto" with warm_start=True' if fit.estimator.leaf_model == "auto" and fit.estimator.warm_start else None


def _refit_and_warm_start(fit):
    asks = [f"validation_folds={fit.estimator.validation_folds!r}"] * (fit.estimator.validation_folds not in (1, "auto"))
    asks += ["refit=True"] * (fit.estimator.refit not in (False, "auto"))
    return f"{' and '.join(asks)} with warm_start=True" if asks and fit.estimator.warm_start else None


def _bags_and_warm_start(fit):
    n_bags = fit.estimator.n_bags
    return f"n_bags={n_bags} with warm_start=True" if n_bags > 1 and fit.estimator.warm_start else None


def _chosen_and_warm_start(fit):
    names = fit.estimator._names_to_choose()
    return f'{names[0]}="auto" with warm_start=True' if names and fit.estimator.warm_start else None


FEATURES = {
    "classes": Feature("classes"),
    "numbers": Feature("numbers"),
    "weights": Feature("weights of rows"),
    "class weights": Feature("weights of classes"),
    "missing": Feature("missing values"),
    "categories": Feature("categories"),
    "many bins": Feature("more than 255 bins", kinds=(BOOSTING,)),
    "many categories": Feature("more than 255 categories of a column", kinds=(BOOSTING,)),
    "ordinal": Feature("ordinal features"),
    "sparse": Feature("sparse X"),
    "several outputs": Feature("a y of several columns", _several_outputs),
    "monotonic": Feature("monotonic constraints"),
    "interaction": Feature("interaction constraints", kinds=(BOOSTING,)),
    "leaf limit": Feature("a limit on leaves"),
    "draws": Feature("draws of rows: `bootstrap`, `subsample`"),
    "warm start": Feature("`warm_start`"),
    "callbacks": Feature("callbacks"),
    "live votes": Feature("callbacks: `OutOfBagPlateau`", kinds=FORESTS),
    "live scores": Feature("callbacks: `OutOfBagPlateau` by a scorer", kinds=FORESTS),
    "memory limit": Feature("callbacks: `MemoryLimit`, and `estimate_memory`"),
    "checkpoint": Feature("callbacks: `Checkpoint`"),
    "random splits": Feature('`splitter="random"`', kinds=FORESTS),
    "entropy": Feature("entropy, Hellinger distance", kinds=FORESTS),
    "poisson": Feature("Poisson deviance", kinds=FORESTS),
    "absolute error": Feature('`criterion="absolute_error"`', kinds=FORESTS),
    "own criterion": Feature("a criterion of your own", _own_criterion, FORESTS),
    "own splitter": Feature("a splitter of your own", _own_splitter, FORESTS),
    "preferred features": Feature("`feature_weights`, `always_split_features`", _preferred_features, FORESTS),
    "honest": Feature("`honest`", kinds=FORESTS),
    "honest, monotonic": Feature("`honest`, with monotonic constraints", _honest_constraints, FORESTS),
    "honest, label order": Feature('`honest`, with `categorical_split="order"`', _honest_order, FORESTS),
    "leaf smoothing": Feature("`leaf_smoothing`", kinds=FORESTS),
    "leaf smoothing, monotonic": Feature("`leaf_smoothing`, with monotonic constraints", _smoothing_constraints, FORESTS),
    "little bags": Feature("`ci_group_size` above 1", kinds=FORESTS),
    "label order": Feature('`categorical_split="order"`', _label_order),
    "several thresholds": Feature("`n_random_splits` above 1", _several_thresholds, FORESTS),
    "oblique": Feature('`split_axis="oblique"`', _oblique),
    "oblique, constraints": Feature('`split_axis="oblique"`, with monotonic or interaction constraints, or `feature_costs`',
                                    _oblique_constraints, (BOOSTING,)),
    "oblique, linear leaves": Feature('`split_axis="oblique"`, with linear leaves', _together(_oblique, "leaf_model", "constant"),
                                      (BOOSTING,)),
    "regularised gains": Feature("`regularization_factor` below 1", _regularised, FORESTS),
    "choice": Feature('`max_features="auto"`, `min_samples_leaf="auto"`, `leaf_smoothing="auto"`', kinds=FORESTS),
    "choice, warm start": Feature('`max_features="auto"`, `min_samples_leaf="auto"`, `leaf_smoothing="auto"`, with `warm_start`',
                                  _chosen_and_warm_start, FORESTS),
    "out of bag": Feature("out-of-bag estimates", kinds=FORESTS),
    "out-of-bag scorer": Feature("`oob_score` by a scorer", kinds=FORESTS),
    "calibration": Feature("`calibration`", kinds=FORESTS),
    "importances": Feature("importances by permutation, out of bag", kinds=FORESTS),
    "kept data": Feature("`keep_training_data`: quantiles, intervals, proximities", kinds=FORESTS),
    "survival": Feature("survival times: `RandomSurvivalForest`", _survival, FORESTS),
    "isolation": Feature("`IsolationForest`", _isolation, FORESTS),
    "isolation, live votes": Feature("`IsolationForest`, with callbacks: `OutOfBagPlateau`", _isolation_votes, FORESTS),
    "causal": Feature("`CausalForest`", _causal, FORESTS),
    "causal, live votes": Feature("`CausalForest`, with callbacks: `OutOfBagPlateau`", _causal_votes, FORESTS),
    "causal, checkpoint": Feature("`CausalForest`, with callbacks: `Checkpoint`, without a seed", _causal_checkpoint, FORESTS),
    "uplift": Feature("`UpliftForestClassifier`", _uplift, FORESTS),
    "embedding": Feature("`RandomTreesEmbedding`", kinds=FORESTS),
    "offset": Feature("offsets", kinds=(BOOSTING,)),
    "early stopping": Feature("early stopping", kinds=(BOOSTING,)),
    "refit": Feature("`refit`, `validation_folds`", kinds=(BOOSTING,)),
    "refit, warm start": Feature("`refit` or `validation_folds`, with `warm_start`", _refit_and_warm_start, (BOOSTING,)),
    "bags": Feature("`n_bags` above 1", kinds=(BOOSTING,)),
    "bags, checkpoint": Feature("`n_bags` above 1, with callbacks: `Checkpoint`", kinds=(BOOSTING,)),
    "bags, warm start": Feature("`n_bags` above 1, with `warm_start`", _bags_and_warm_start, (BOOSTING,)),
    "label order, warm start": Feature('`categorical_split="order"`, with `warm_start`',
                                       _together(_label_order, "warm_start", False), (BOOSTING,)),
    "label order, interaction": Feature('`categorical_split="order"`, with interaction constraints',
                                        _together(_label_order, "interaction_cst", None), (BOOSTING,)),
    "dforest's defaults": Feature('`defaults="dforest"`', kinds=(BOOSTING,)),
    "classes in one tree": Feature('one tree for all classes: `multi_class="one_tree"`', kinds=(BOOSTING,)),
    "many classes in one tree": Feature("one tree for more than 20 classes", _sketch, (BOOSTING,)),
    "classes against the rest": Feature('each class against the rest: `multi_class="one_vs_rest"`', kinds=(BOOSTING,)),
    "rows by chance": Feature('rows drawn by their gradients: `sampling="mvs"`', _chances, (BOOSTING,)),
    "dropouts": Feature('iterations that are dropped: `boosting="dart"`', _dropouts, (BOOSTING,)),
    "dropouts, warm start": Feature('`boosting="dart"`, with `warm_start`', _together(_dropouts, "warm_start", False),
                                    (BOOSTING,)),
    "column costs": Feature("`feature_costs`, `monotone_penalty`", _preferences, (BOOSTING,)),
    "chosen cuts": Feature('`splitter="random"` of boosted trees, `forced_splits`', _chosen_cuts, (BOOSTING,)),
    "least gain": Feature("`min_gain_to_split`", kinds=(BOOSTING,)),
    "path smoothing": Feature("`path_smooth`", kinds=(BOOSTING,)),
    "linear leaves": Feature('`leaf_model="linear"`, `leaf_model="auto"`', _linear_somewhere, (BOOSTING,)),
    "linear leaves, monotonic": Feature("linear leaves, with monotonic constraints", _linear_and_monotonic, (BOOSTING,)),
    "linear leaves, outputs": Feature("linear leaves, with a y of several columns, or one tree for all classes",
                                      _linear_outputs, (BOOSTING,)),
    "linear leaves, losses": Feature("linear leaves, with losses whose leaves are medians, quantiles or robust means",
                                     _linear_loss, (BOOSTING,)),
    "linear leaves, choice, warm start": Feature('`leaf_model="auto"`, with `warm_start`', _linear_choice, (BOOSTING,)),
    "losses": Feature("all losses", kinds=(BOOSTING,)),
    "quantiles": Feature("several quantiles: `quantile` as a list", kinds=(BOOSTING,)),
    "own loss": Feature("a loss of your own", kinds=(BOOSTING,)),
    "own classes": Feature("a loss of your own for several classes", kinds=(BOOSTING,)),
    "own leaves": Feature("a loss of your own with `leaf_value`", kinds=(BOOSTING,)),
    "own intercept": Feature("a loss of your own with `fit_intercept_only` or `in_y_true_range`", kinds=(BOOSTING,)),
    "ranking": Feature("ranking: `HistGradientBoostingRanker`", kinds=(BOOSTING,)),
    "distributions": Feature("distributions: `HistGradientBoostingDistribution`", kinds=(BOOSTING,)),
    "own distribution": Feature("a distribution of your own", kinds=(BOOSTING,)),
    "distributions, monotonic": Feature("distributions, with monotonic constraints", _distribution_constraints, (BOOSTING,)),
    "outputs, monotonic": Feature("a y of several columns, with monotonic constraints", _outputs_and_monotonic),
    "outputs, categories": Feature("a y of several columns, with categories", kinds=(BOOSTING,)),
    "outputs, many codes": Feature("a y of several columns, with more than 255 codes", kinds=(BOOSTING,)),
}  # fmt: skip

_EVERYWHERE = PLACES
NAMES_OF_KERNELS = [name for name in OF_KERNELS if name not in EFFECT_CRITERIA]  # that users may choose

REFUSALS = [
    Refusal("own splitter", (DEVICE,), "it is no code for kernels", "built-in splitters", FORESTS),
    Refusal("own criterion", (DEVICE,), "it is no code for kernels", ", ".join(NAMES_OF_KERNELS), FORESTS),
    Refusal("survival", (DEVICE, RANKS), "the log-rank test is no code for kernels", "estimators for classes or numbers",
            FORESTS),
    Refusal("preferred features", (DEVICE,), "features are drawn with equal chances there", "None", FORESTS),
    Refusal("several thresholds", (DEVICE,), "one threshold is drawn for each feature there", "1", FORESTS),
    Refusal("oblique", (DEVICE,), "sums of features are no code for kernels", 'split_axis="axis_aligned"', FORESTS),
    Refusal("oblique", (DEVICE, RANKS), "sums of features are made by the processor of one process alone",
            'split_axis="axis_aligned"', (BOOSTING,)),
    Refusal("oblique, constraints", _EVERYWHERE, "a sum of features has no direction, group or cost",
            'split_axis="axis_aligned", or none of these', (BOOSTING,)),
    Refusal("oblique, linear leaves", _EVERYWHERE, "linear functions are of the single features that are tested above a leaf",
            'split_axis="axis_aligned", or leaf_model="constant"', (BOOSTING,)),
    Refusal("regularised gains", (DEVICE,), "the features that are used above a node are not known there", "1", FORESTS),
    Refusal("many classes in one tree", (DEVICE, RANKS), "sketches of gradients are made by the processor of one process",
            'multi_class="multinomial"', (BOOSTING,)),
    Refusal("column costs", (DEVICE, RANKS), "splits are compared by their gains alone there", "None, and 0", (BOOSTING,)),
    Refusal("chosen cuts", (DEVICE, RANKS), "all cuts of a column are searched there", '"best", and None', (BOOSTING,)),
    Refusal("rows by chance", (DEVICE, RANKS), "rows are drawn there before their gradients are known", 'sampling="uniform"',
            (BOOSTING,)),
    Refusal("dropouts", (DEVICE, RANKS), "gradients are found there by all trees", 'boosting="gbdt"', (BOOSTING,)),
    Refusal("isolation", (DEVICE,), "the length of a path is no code for kernels", "RandomTreesEmbedding, for random trees",
            FORESTS),
    Refusal("uplift", (DEVICE,), "divergences of arms are no code for kernels", "estimators for classes or numbers",
            FORESTS),
    Refusal("isolation, live votes", _EVERYWHERE, "outliers have no errors", "other callbacks", FORESTS),
    Refusal("causal, checkpoint", _EVERYWHERE, "what is expected of outcomes would be found anew with another seed",
            "an int as random_state", FORESTS),
    Refusal("causal, live votes", _EVERYWHERE, "effects have no errors that rows would tell", "other callbacks", FORESTS),
    Refusal("honest, monotonic", _EVERYWHERE, "rows that have not chosen the splits may break the constraints",
            "monotonic_cst=None, or honest=False", FORESTS),
    Refusal("honest, label order", _EVERYWHERE, "rows that fill leaves would order labels too",
            'categorical_split="subset", or honest=False', FORESTS),
    Refusal("leaf smoothing, monotonic", _EVERYWHERE, "what nodes above add to leaves may break the constraints by rounding",
            "monotonic_cst=None, or leaf_smoothing=0", FORESTS),
    Refusal("outputs, monotonic", _EVERYWHERE, "a cut may raise one output and lower another; in scikit-learn's words, "
            "Monotonicity constraints are not supported with multiple output",
            "boosted trees, one column, or no monotonic constraints", FORESTS),
    Refusal("choice, warm start", _EVERYWHERE, "trees that there are have the values that were chosen for other rows",
            "the values in best_params_, or warm_start=False", FORESTS),
    Refusal("distributions, monotonic", _EVERYWHERE, "a mean may follow from several parameters, such as that of a log-normal "
            "distribution, and constraints would hold for each of them", "monotonic_cst=None", (BOOSTING,)),
    Refusal("refit, warm start", _EVERYWHERE, "a search grows trees of its own, with which none of before can go on",
            'refit="auto" and validation_folds="auto", or warm_start=False', (BOOSTING,)),
    Refusal("dropouts, warm start", _EVERYWHERE, "a model keeps leaves multiplied by their weights, from which no fit can go on "
            "to the bit", "warm_start=False", (BOOSTING,)),
    Refusal("bags, warm start", _EVERYWHERE, "a model keeps shares of the leaves of its bags, from which no bag can go on "
            "to the bit", "n_bags=1, or warm_start=False", (BOOSTING,)),
    Refusal("linear leaves", (DEVICE, RANKS), "linear functions of leaves are found from the values of all rows by one process "
            "on the processor alone", 'leaf_model="constant"', (BOOSTING,)),
    Refusal("linear leaves, monotonic", _EVERYWHERE, "slopes of leaves may break the constraints",
            'leaf_model="constant", or monotonic_cst=None', (BOOSTING,)),
    Refusal("linear leaves, outputs", _EVERYWHERE, "a leaf has one linear function",
            'leaf_model="constant", or models whose trees have one output each', (BOOSTING,)),
    Refusal("linear leaves, losses", _EVERYWHERE, "slopes are Newton steps, as the leaves of such a loss are not",
            'leaf_model="constant", or a loss such as "squared_error" or "poisson"', (BOOSTING,)),
    Refusal("linear leaves, choice, warm start", _EVERYWHERE, "trees that there are have the leaves that were chosen for other "
            "rows", 'leaf_model="linear" or "constant", or warm_start=False', (BOOSTING,)),
    Refusal("label order, warm start", _EVERYWHERE, "trees of other rows were grown by other statistics of labels",
            'categorical_split="subset"', (BOOSTING,)),
    Refusal("label order, interaction", _EVERYWHERE, "the statistics of a column's labels are columns of their own",
            'categorical_split="subset"', (BOOSTING,)),
]  # fmt: skip


def refusals_at(kind, place):
    """The refusals that hold for a kind of estimator at a place: dict by feature."""
    return {refusal.feature: refusal for refusal in REFUSALS if kind in refusal.kinds and place in refusal.places}


def said_of_place(place, device=None):
    """What messages call a place. device : the parameter, where the place is a device; None stands for a queue's"""
    if place == DEVICE:
        return "a queue's device" if device is None else f"device={device!r}"
    return "a fit by several ranks, or of several partitions" if place == RANKS else "any trees"


def places_of_fit(estimator, partitions, ranks, others=()):
    """(where a fit grows its trees, as a tuple of `PLACES`; the `Device` or None that it asks for).

    Raises the errors of `check_support` and those of devices.

    Parameters
    ----------
    estimator : estimator
    partitions : list of Partition
        What this rank was given.
    ranks : Communicator
    others : iterable
        Other arrays that the fit was given, and None, which stands for nothing.
    """
    given = [array for partition in partitions for array in partition[1:] if array is not None]
    given += [array for array in others if array is not None]
    has_device = estimator.device not in (None, "cpu") or queue_of(*given) is not None
    is_shared = ranks.size > 1 or len(partitions) != 1
    places = (PROCESSOR,) + (DEVICE,) * has_device + (RANKS,) * is_shared
    check_support(Fit(estimator), places)
    return places, estimator._device(*given) if has_device else None


def check_support(fit, places):
    """Raise the error of the first refusal that holds for what is known of a `Fit` at some places."""
    for place in places:
        where = said_of_place(place, fit.estimator.device)
        way_out = ", or device=None" if place == DEVICE else ""
        for name, refusal in refusals_at(fit.kind, place).items():
            said = FEATURES[name].said(fit) if fit.kind in FEATURES[name].kinds else None
            if said is not None:
                raise ValueError(f"{said} is not supported for {where}, as {refusal.reason}; allowed: {refusal.allowed}{way_out}")


_PAGE = """# What works with what

A fit may ask for any of the features below, at any of these places: the processor of one process that has all rows, a \
[device](devices.md), or [several ranks](distributed.md), which is rows in several processes, or in several partitions of Dask. \
The model is the same, to the bit, wherever it is grown. "No" means that `fit` raises an error that names what it was asked for \
and what is allowed; the notes at the end say why. "–" means that there is no such thing.

This page is made from the table in `dforest/estimators/support.py`, from which errors follow too, and a test fits every feature \
at every place.
"""


def page():
    """The page of the table, in Markdown."""
    reasons, parts = [], [_PAGE.replace("\\\n", "")]
    for title, kinds in (("Forests and single trees", FORESTS), ("Boosted trees", (BOOSTING,))):
        columns = [(kind, place) for kind in kinds for place in PLACES]
        heads = [" ".join([*kind.split(", ")[1:], place.split()[-1]]) for kind, place in columns]
        parts += [f"## {title}", "", "| | " + " | ".join(heads) + " |", "|---" * (len(columns) + 1) + "|"]
        for name, feature in FEATURES.items():
            if not set(kinds) & set(feature.kinds):
                continue
            cells = []
            for kind, place in columns:
                refusal = refusals_at(kind, place).get(name)
                if refusal is not None and refusal not in reasons:
                    reasons.append(refusal)
                is_there = kind in feature.kinds
                cells.append("–" if not is_there else "yes" if refusal is None else f"no ({reasons.index(refusal) + 1})")
            parts.append(f"| {feature.title} | {' | '.join(cells)} |")
        parts.append("")
    parts += ["## Why not, and what is allowed", ""]
    for i, refusal in enumerate(reasons, 1):
        parts.append(f"{i}. {refusal.reason[0].upper()}{refusal.reason[1:]}. Allowed: {refusal.allowed}.")
    return "\n".join([*parts, ""])
