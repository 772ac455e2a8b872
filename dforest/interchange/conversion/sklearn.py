"""Fitted forests and trees as scikit-learn's.

scikit-learn's trees compare rows of float32 with thresholds of float64, and go where ours do: what they predict has the same bits
for rows of float32. They know numbers alone. The model owns copies of all arrays.
"""

from copy import deepcopy

import numpy as np
from sklearn import ensemble, tree
from sklearn.base import is_classifier
from sklearn.tree._tree import NODE_DTYPE, Tree
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from dforest.estimators.data.outputs import classes_of
from dforest.interchange.conversion.columns import check_numbers_alone
from dforest.interchange.conversion.links import meaning
from dforest.interchange.conversion.probes import check_same, probe_rows, within_leaves

_CLASSES = {
    name: getattr(module, name)
    for module, names in (
        (ensemble, ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")),
        (tree, ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")),
    )
    for name in names
}


@np.errstate(under="ignore")
def to_sklearn(estimator, verify):
    """What `ConversionPart.to_sklearn` returns for a fitted estimator."""
    check_numbers_alone(estimator, "scikit-learn")
    model = _model_of(estimator)
    _give_outputs(model, estimator, deepcopy(classes_of(estimator)) if is_classifier(estimator) else None)
    if hasattr(model, "n_estimators"):
        model.estimator_ = _model_of(estimator.estimator_)
        model.estimators_ = [_tree_model(one, estimator) for one in estimator.estimators_]
    else:
        _give_tree(model, estimator, estimator)
    if verify:
        _verify(model, estimator)
    if hasattr(estimator, "feature_names_in_"):
        model.feature_names_in_ = estimator.feature_names_in_.copy()
    return model


def _model_of(estimator):
    """scikit-learn's estimator for one of ours, with the parameters that it has and allows, and what a fit learns of X."""
    of = next(_CLASSES[kind.__name__] for kind in type(estimator).__mro__ if kind.__name__ in _CLASSES)
    given, known = estimator.get_params(deep=False), of()
    given["n_estimators"] = len(getattr(estimator, "estimators_", ()))
    parameters = {}
    for name in known.get_params(deep=False).keys() & given.keys():
        try:
            validate_parameter_constraints(of._parameter_constraints, {name: given[name]}, caller_name=of.__name__)
        except InvalidParameterError:
            continue
        parameters[name] = deepcopy(given[name])
    model = of(**parameters)
    model.n_features_in_ = getattr(estimator, "n_features_in_", None)
    return model


def _tree_model(one, forest):
    """The tree of a forest; its classes are numbers, as in scikit-learn's forests."""
    model = _model_of(one)
    numbers = [np.arange(len(labels), dtype=np.float64) for labels in classes_of(forest)] if is_classifier(forest) else None
    _give_outputs(model, forest, numbers)
    _give_tree(model, one, forest)
    return model


def _give_outputs(model, estimator, classes):
    """Set how many outputs a model predicts, and the classes of each; None: it predicts numbers."""
    model.n_outputs_ = estimator.n_outputs_
    if classes is not None:
        n_classes = list(map(len, classes))
        model.classes_, model.n_classes_ = (classes[0], n_classes[0]) if model.n_outputs_ == 1 else (classes, n_classes)


def _give_tree(model, one, forest):
    """Make a tree model predict as one of ours does, by the voting of its forest."""
    ours = one.tree_
    nodes = np.zeros(ours.node_count, NODE_DTYPE)
    for name, array in (
        ("left_child", ours.children_left),
        ("right_child", ours.children_right),
        ("feature", ours.feature),
        ("threshold", ours.threshold),
        ("impurity", ours.impurity),
        ("n_node_samples", ours.n_node_samples),
        ("weighted_n_node_samples", ours.weighted_n_node_samples),
        ("missing_go_to_left", ours.missing_go_to_left),
    ):
        nodes[name] = array
    values = np.array(ours.value)
    is_leaf = ours.children_left < 0
    votes = one.forest_.leaf_votes(getattr(forest, "voting", "soft"))[one.forest_.leaf_row[is_leaf]]
    values[is_leaf] = ours._by_output(votes)
    model.tree_ = Tree(ours.n_features, np.array(ours.n_classes), ours.n_outputs)
    model.tree_.__setstate__({"max_depth": ours.max_depth, "node_count": ours.node_count, "nodes": nodes, "values": values})
    model.max_features_ = one.max_features_


def _verify(model, estimator):
    allows_missing = get_tags(model).input_tags.allow_nan and getattr(model, "monotonic_cst", None) is None
    rows = probe_rows(estimator.forest_, np.float32, allows_missing)
    packed = estimator.forest_.packed(getattr(estimator, "voting", "soft"))
    *labels, expected = meaning(estimator, packed.mean(rows, 1))
    found = on_one_thread(model, model.predict, rows).reshape(len(rows), -1)
    if not labels:
        check_same("scikit-learn", rows, expected, within_leaves(estimator.forest_, found))
        return
    probability = on_one_thread(model, model.predict_proba, rows)
    check_same("scikit-learn", rows, expected, np.hstack(probability) if estimator.n_outputs_ > 1 else probability)
    check_same("scikit-learn", rows, labels[0], found)


def on_one_thread(model, predict, rows):
    """What a method predicts, with trees added in their order: several of scikit-learn's threads add them as they come."""
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name == "n_jobs"}
    try:
        model.set_params(**dict.fromkeys(parameters, 1))
        with np.errstate(invalid="ignore"):  # scikit-learn adds up X, to see whether it is finite
            return predict(rows)
    finally:
        model.set_params(**parameters)
