"""One forest made of the trees of several estimators, which were fitted apart."""

from copy import deepcopy
from functools import reduce

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.core.forest.arrays import Forest as ForestArrays
from dforest.core.forest.assembly import Assembly
from dforest.core.sampling import DrawnElsewhere
from dforest.estimators.forest.batch import Batch
from dforest.estimators.forest.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.estimators.forest.isolation import IsolationForest
from dforest.estimators.forest.survival import ExtraSurvivalTree, ExtraSurvivalTrees, RandomSurvivalForest, SurvivalTree
from dforest.estimators.forest.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from dforest.estimators.one_fit import as_fitted
from dforest.estimators.results.survival import LeafCurves
from dforest.estimators.subclasses import every_parameter

# The forest that trees of each class make; those of a class may be of a subclass.
_FORESTS = {
    ExtraTreeClassifier: ExtraTreesClassifier, ExtraTreeRegressor: ExtraTreesRegressor,
    DecisionTreeClassifier: RandomForestClassifier, DecisionTreeRegressor: RandomForestRegressor,
    ExtraTreesClassifier: ExtraTreesClassifier, ExtraTreesRegressor: ExtraTreesRegressor,
    RandomForestClassifier: RandomForestClassifier, RandomForestRegressor: RandomForestRegressor,
    ExtraSurvivalTree: ExtraSurvivalTrees, SurvivalTree: RandomSurvivalForest,
    ExtraSurvivalTrees: ExtraSurvivalTrees, RandomSurvivalForest: RandomSurvivalForest,
    IsolationForest: IsolationForest,
}  # fmt: skip


def combine(estimators):
    """Make one forest of the trees of fitted forests, or of single trees.

    The forest predicts the mean over all these trees, in their order. The estimators may be fitted on different rows, such as
    those that different machines have, or with different weights: a tree fitted with ``sample_weight=counts`` is grown from rows
    that are counted that often. To grow more trees on the same rows, `warm_start` needs no second forest.

    Isolation forests become one if their trees have equally many draws, `max_samples_`, and if they have the same `offset_`, as
    all forests of ``contamination="auto"`` have. An offset for a share of outliers is a percentile of the scores of rows, which
    are others once there are more trees: set ``offset_`` of the combined forest to ``np.percentile(forest.score_samples(X), 100 *
    share)``.

    Parameters
    ----------
    estimators : sequence of estimators
        Forests, or single trees, of one class; they have the same columns and labels, and the same classes, event times, or draws
        and offset.

    Returns
    -------
    RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor, RandomSurvivalForest, \
    ExtraSurvivalTrees or IsolationForest
        A fitted forest, which shares nothing with the estimators, with the parameters of the first one. Which rows
        its trees drew is not known any more, so that it has no out-of-bag estimates.

    Raises
    ------
    TypeError
        If an estimator is of another kind.
    NotFittedError
        If an estimator is not fitted.
    ValueError
        If there is none, or if they differ in what is to be alike.

    Examples
    --------
    >>> import dforest
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> halves = [dforest.RandomForestClassifier(50, random_state=i).fit(X[i::2], y[i::2]) for i in range(2)]
    >>> dforest.combine(halves).n_estimators
    100
    """
    estimators = list(map(as_fitted, estimators))
    if not estimators:
        raise ValueError("estimators is empty; allowed are one estimator or more")
    first = estimators[0]
    kind = next((known for known in _FORESTS if isinstance(first, known)), None)
    for k, one in enumerate(estimators):
        if kind is None or type(one) is not type(first):
            raise TypeError(
                f"estimators[{k}] is of the type {type(one).__name__}; allowed are forests or single trees of dforest, all of "
                "one class"
            )
        check_is_fitted(one)
    for k, one in enumerate(estimators[1:], 1):
        for what, of in _ALIKE.items():
            mine, others = of(first), of(one)
            if mine != others:
                raise ValueError(
                    f"estimators[{k}] has {what} {_short(others)}, and estimators[0] has {_short(mine)}; allowed are equal ones"
                )
    forests = [one.forest_ for one in estimators]
    dtype, objective = np.result_type(*(forest.threshold for forest in forests)), forests[0].objective
    assembly = Assembly(dtype, sum(forest.n_trees for forest in forests), objective.n_node_values)
    number = 0
    for forest in forests:
        read = forest.tree_reader()
        for t in range(forest.n_trees):
            tree = read(t)
            assembly.add(number, tree._replace(threshold=tree.threshold.astype(dtype)))
            number += 1
    settings = forests[0].settings()
    for name in ("seeds", "n_rows", "weight_unit"):
        settings[name] = np.concatenate([getattr(forest, name) for forest in forests])
    settings["plans"] = tuple(DrawnElsewhere(int(n)) for forest in forests for n in forest.n_draws)
    result = _FORESTS[kind]()
    parameters = every_parameter(first).keys() & result.get_params(deep=False).keys()
    result.set_params(**{name: deepcopy(getattr(first, name)) for name in parameters})
    unset = {"oob_score": False, "keep_training_data": False, "variable_importance": None, "calibration": None}
    known = result.get_params(deep=False)
    result.set_params(n_estimators=number, **{name: value for name, value in unset.items() if name in known})
    for name in _KEPT:
        if hasattr(first, name):
            setattr(result, name, deepcopy(getattr(first, name)))
    result._features = result._features.spanning([one._features for one in estimators[1:]])
    result.forest_ = ForestArrays.assembled(assembly, **settings)
    if hasattr(first, "_curves"):
        result._curves = LeafCurves.joined([one._curves for one in estimators])
        result.unique_times_ = reduce(np.union1d, [one.unique_times_ for one in estimators])
    result._batches = [Batch(1, int(n), None, None, None) for n in result.forest_.n_rows]
    return result


# What fitted estimators have that doesn't depend on rows.
_KEPT = (
    "n_features_in_", "feature_names_in_", "classes_", "n_classes_", "_features", "is_categorical_", "is_ordinal_", "categories_",
    "_directions", "event_times_", "offset_", "best_params_",
)  # fmt: skip

_ALIKE = {
    "columns": lambda model: model._features.names or model.n_features_in_,
    "kinds of columns": lambda model: model._features.kinds.tolist(),
    "labels": lambda model: [None if labels is None else labels.tolist() for labels in model._features.categories],
    "classes": lambda model: [np.asarray(own).tolist() for own in _by_output(getattr(model, "classes_", []))],
    "event times": lambda model: np.asarray(getattr(model, "event_times_", [])).tolist(),
    "max_samples_": lambda model: getattr(model, "max_samples_", None),
    "offset_": lambda model: getattr(model, "offset_", None),
    "the objective": lambda model: model.forest_.objective,
    "the criterion": lambda model: model.forest_.criterion,
    "the splitter": lambda model: model.forest_.splitter,
}


def _by_output(classes):
    return classes if isinstance(classes, list) else [classes]


def _short(value):
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
