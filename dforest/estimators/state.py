"""Whether the attributes of a fitted estimator, as a pickle or a caller hands them over, fit together.

What a forest's arrays must be, the forest checks itself (`dforest.core.forest.state`). Here are the attributes around it: what
the columns of X are, the classes, and the calls of `fit` that trees came from. Nothing is kept.
"""

import numpy as np

from dforest.core.forest.arrays import Forest
from dforest.estimators.boosting.intervals import bands_of, check_conformal_scores
from dforest.estimators.data.features import Features
from dforest.estimators.kinds import CausalTrees, Classifier, SurvivalTrees, UpliftTrees
from dforest.estimators.results.calibration import check_calibration
from dforest.estimators.results.survival import LeafCurves

_WITH_CLASSES = Classifier, UpliftTrees


def check_state(estimator, state):
    """Raise unless the attributes of a fitted estimator fit its forest.

    Parameters
    ----------
    estimator : estimator
        Whose kind says whether there are classes; its attributes are not looked at.
    state : dict
        Attributes by name, as of ``estimator.__getstate__()``. Without ``forest_``, or with None, which it is while a first fit
        is under way and callbacks may copy the estimator, nothing is looked at.

    Raises
    ------
    TypeError
        If one of them is of another type than `fit` makes.
    ValueError
        If they contradict each other.
    """
    forest, features = state.get("forest_"), state.get("_features")
    if forest is None:
        return
    for name, value, kind in (("forest_", forest, Forest), ("_features", features, Features)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} is of the type {type(value).__name__}; in a fitted estimator it is a {kind.__name__}")
    _check_equal("n_features_in_", state.get("n_features_in_"), forest.n_features)
    _check_equal("the number of columns in _features", len(features.kinds), forest.n_features)
    _check_equal("the number of feature_names_in_", len(state.get("feature_names_in_", features.kinds)), forest.n_features)
    _check_equal("the numbers of categories in _features", features.n_categories.tolist(), forest.n_categories.tolist())
    if "_batches" in state:
        _check_equal("the number of trees in _batches", sum(batch.n_trees for batch in state["_batches"]), forest.n_trees)
        first = 0
        for batch in state["_batches"]:
            batch.check(forest.n_rows[first : first + batch.n_trees])
            first += batch.n_trees
    if state.get("_training_data") is not None:
        state["_training_data"].check(forest)
    chosen = state.get("best_params_", {})
    if not isinstance(chosen, dict) or not chosen.keys() <= getattr(estimator, "_candidates", {}).keys():
        raise TypeError(f"best_params_ is {chosen!r}; in a fitted forest it is a dict of chosen parameters")
    if "calibration_" in state:
        check_calibration(state["calibration_"])
    objective, loss = forest.objective, state.get("_loss")
    if loss is not None and objective.baseline is not None:
        _check_equal("the number of raw predictions of _loss", loss.n_sums, objective.n_sums)
    if "conformal_scores_" in state:
        check_conformal_scores(state["conformal_scores_"], len(bands_of(state["_loss"])))
    if isinstance(estimator, SurvivalTrees):
        _check_equal("the number of event_times_", len(state.get("event_times_", ())), getattr(objective, "n_times", None))
        if not isinstance(state.get("_curves"), LeafCurves):
            raise TypeError(f"_curves is {state.get('_curves')!r}; in a fitted estimator it is a LeafCurves")
        state["_curves"].check(forest)
    if isinstance(estimator, CausalTrees):
        _check_effects(state, objective)
    classes = state.get("classes_")
    if objective.baseline is not None:  # of boosted trees; one sum is a score that two classes share, or that of the only class
        _check_trees_per_iteration(state.get("n_trees_per_iteration_"), objective.n_trees_per_iteration, forest.n_trees)
        n_classes = objective.n_sums if objective.n_sums > 1 or np.shape(classes) == (1,) else 2
    else:
        _check_equal("whether the estimator is a classifier", isinstance(estimator, _WITH_CLASSES), objective.predicts_shares)
        n_classes = objective.n_values
    if objective.n_outputs > 1 and (loss is None or loss.n_targets > 1):
        _check_outputs(estimator, state, objective)
    elif isinstance(estimator, _WITH_CLASSES):
        if not isinstance(classes, np.ndarray) or classes.ndim != 1:
            raise TypeError(f"classes_ is {classes!r}; in a fitted classifier it is an array of one axis")
        _check_equal("the number of classes_", len(classes), n_classes)
        _check_equal("n_classes_", state.get("n_classes_", n_classes), n_classes)
        if isinstance(estimator, UpliftTrees):
            _check_equal("the number of arms_", len(state.get("arms_", range(n_classes // 2))), n_classes / 2)
    elif objective.baseline is not None and objective.n_outputs == 1:
        _check_equal("n_trees_per_iteration_", objective.n_sums, 1)


def _check_effects(state, objective):
    """Raise unless what a causal forest knows of outcomes and treatments fits its objective."""
    moments, told = getattr(objective, "moments", None), state.get("_observed")
    if moments is None:
        raise ValueError(f"forest_ has {objective!r}; that of a causal forest is an EffectObjective")
    if told is None:  # of what is served, or keeps no rows
        return
    _check_equal("_moments", state.get("_moments"), moments)
    if type(told) is not dict or told.keys() != {"y", "w", "z", "weight", "groups"}:
        raise TypeError(f"_observed is of the type {type(told).__name__}; in a fitted estimator it is a dict of arrays by name")
    kept, batch = state.get("_training_data"), state["_batches"][-1]
    n_rows = getattr(kept, "n_given", None) or batch.n_rows  # of all ranks
    arrays = [*(told[key] for key in ("y", "w", "z", "weight")), *(state.get(f"{key}_hat_") for key in ("y", "w", "z"))]
    for array in arrays:
        if array is not None and not (isinstance(array, np.ndarray) and array.dtype == np.float64 and np.isfinite(array).all()):
            raise TypeError("_observed, y_hat_, w_hat_ or z_hat_ has something else than finite numbers of float64")
    if told["weight"] is not None and not (told["weight"] >= 0).all():
        raise ValueError("_observed['weight'] has numbers below 0")
    widths = {"y": moments.n_outcomes, "w": moments.n_treatments, "z": moments.n_treatments * moments.is_instrumental}
    for key, width in widths.items():
        for name, array in ((f"_observed[{key!r}]", told.get(key)), (f"{key}_hat_", state.get(f"{key}_hat_"))):
            _check_equal(f"the shape of {name}", np.shape(array) if width else array, (n_rows, width) if width else None)
    for key in ("weight", "groups"):
        if told.get(key) is not None:
            _check_equal(f"the shape of _observed[{key!r}]", np.shape(told[key]), (n_rows,))
    arms = state.get("arms_")
    if arms is not None:
        _check_equal("the number of arms_", len(arms), moments.n_treatments + 1)


def _check_outputs(estimator, state, objective):
    """Raise unless the classes of several outputs are those of the forest."""
    if not isinstance(estimator, Classifier):
        return
    classes = state.get("classes_")
    if not isinstance(classes, list) or not all(isinstance(one, np.ndarray) and one.ndim == 1 for one in classes):
        raise TypeError(f"classes_ is {classes!r}; in a classifier of several outputs it is a list of arrays of one axis")
    n_classes = [len(one) for one in classes]
    if objective.baseline is None:
        n_classes = list(objective.class_counts)
    elif len(classes) != objective.n_outputs or not all(1 <= n <= 2 for n in n_classes):
        raise ValueError(f"classes_: {n_classes} classes; for this forest it must be one or two of each of {objective.n_outputs}")
    _check_equal("the numbers of classes_", [len(one) for one in classes], n_classes)
    _check_equal("n_classes_", list(state.get("n_classes_", n_classes)), n_classes)


def _check_trees_per_iteration(n, n_of_bag, n_trees):
    """Raise unless an iteration has so many trees of one bag or more, and the forest whole iterations."""
    if type(n) is not int or n < 1 or n % n_of_bag or n_trees % n:
        raise ValueError(f"n_trees_per_iteration_: {n!r}; for this forest it must divide {n_trees}, as a multiple of {n_of_bag}")


def _check_equal(name, value, expected):
    if value != expected:
        raise ValueError(f"{name}: {value!r}; for this forest it must be {expected!r}")
