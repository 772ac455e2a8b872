"""Fitted forests and trees as scikit-learn's.

scikit-learn's trees compare rows of float32 with thresholds of float64, and go where ours do: what they predict has the same bits
for rows of float32. They have no sets of categories: see `dforest.interchange.conversion.chains`. The model owns its arrays.
"""

from copy import deepcopy

import numpy as np
from scipy.sparse import csr_matrix
from sklearn import ensemble, tree
from sklearn.base import is_classifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree._tree import NODE_DTYPE, TREE_UNDEFINED, Tree
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from dforest.estimators.data.outputs import classes_of
from dforest.estimators.subclasses import every_parameter
from dforest.interchange.conversion.chains import threshold_trees
from dforest.interchange.conversion.columns import check_numbers_alone, check_own_tests, known_probes, threshold_labels
from dforest.interchange.conversion.links import embeds, finds_outliers, meaning, rounding, sum_rounding
from dforest.interchange.conversion.probes import check_same, within_leaves

_CLASSES = {
    name: getattr(module, name)
    for module, names in (
        (ensemble, ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")),
        (ensemble, ("IsolationForest", "RandomTreesEmbedding")),
        (tree, ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")),
    )
    for name in names
}


@np.errstate(under="ignore")
def to_sklearn(estimator, verify):
    """What `dforest.estimators.conversion.to_sklearn` returns for a fitted estimator."""
    check_own_tests(estimator, "scikit-learn")
    if embeds(estimator):  # copies of a leaf would be columns of their own
        check_numbers_alone(estimator, "scikit-learn")
    labels = threshold_labels(estimator, "scikit-learn", np.float32)
    trees = list(threshold_trees(estimator.forest_, labels, "scikit-learn"))
    model = _model_of(estimator)
    _give_outputs(model, estimator, deepcopy(classes_of(estimator)) if is_classifier(estimator) else None)
    if hasattr(model, "n_estimators"):
        model.estimator_ = _model_of(estimator.estimator_)
        model.estimators_ = [_tree_model(*pair, estimator) for pair in zip(estimator.estimators_, trees, strict=True)]
    else:
        _give_tree(model, estimator, *trees, estimator)
    if finds_outliers(estimator):
        _give_path_lengths(model, estimator, trees)
    elif embeds(estimator):
        leaves = [np.flatnonzero(tree.left < 0) for tree in trees]
        model.one_hot_encoder_ = OneHotEncoder(categories=leaves, sparse_output=estimator.sparse_output)
        model.one_hot_encoder_.fit(np.array([[own[0] for own in leaves]]))
    if verify:
        _verify(model, estimator, labels)
    if hasattr(estimator, "feature_names_in_"):
        model.feature_names_in_ = estimator.feature_names_in_.copy()
    return model


def _model_of(estimator):
    """scikit-learn's estimator for one of ours, with the parameters that it has and allows, and what a fit learns of X."""
    of = next(_CLASSES[kind.__name__] for kind in type(estimator).__mro__ if kind.__name__ in _CLASSES)
    given, known = every_parameter(estimator), of()
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


def _tree_model(one, tree, forest):
    """The tree of a forest; its classes are numbers, as in scikit-learn's forests."""
    model = _model_of(one)
    numbers = [np.arange(len(labels), dtype=np.float64) for labels in classes_of(forest)] if is_classifier(forest) else None
    _give_outputs(model, forest, numbers)
    _give_tree(model, one, tree, forest)
    return model


def _give_outputs(model, estimator, classes):
    """Set how many outputs a model predicts, and the classes of each; None: it predicts numbers."""
    model.n_outputs_ = estimator.n_outputs_
    if classes is not None:
        n_classes = list(map(len, classes))
        model.classes_, model.n_classes_ = (classes[0], n_classes[0]) if model.n_outputs_ == 1 else (classes, n_classes)


def _give_tree(model, one, tree, forest):
    """Make a tree model predict as one of ours, whose `ThresholdTree` this is, does by the voting of its forest."""
    ours, is_leaf = one.tree_, tree.left < 0
    nodes = np.zeros(len(tree.node), NODE_DTYPE)
    for name, array in (
        ("left_child", tree.left),
        ("right_child", tree.right),
        ("feature", np.where(is_leaf, TREE_UNDEFINED, tree.feature)),
        ("threshold", np.where(is_leaf, TREE_UNDEFINED, tree.threshold)),
        ("impurity", ours.impurity[tree.node]),
        ("n_node_samples", tree.draws),
        ("weighted_n_node_samples", tree.weight),
        ("missing_go_to_left", tree.missing_left),
    ):
        nodes[name] = array
    values = ours.value[tree.node]
    votes = one.forest_.leaf_votes(getattr(forest, "voting", "soft"))[one.forest_.leaf_row[tree.node[is_leaf]]]
    values[is_leaf] = ours._by_output(votes)
    model.tree_ = Tree(ours.n_features, np.array(ours.n_classes), ours.n_outputs)
    state = {"max_depth": int(tree.depth.max()), "node_count": len(nodes), "nodes": nodes, "values": values}
    model.tree_.__setstate__(state)
    model.max_features_ = one.max_features_


def _give_path_lengths(model, forest, trees):
    """Set what an isolation forest keeps of its fit: its trees add the lengths of paths that leaves of ours keep."""
    model.max_samples_ = model._max_samples = forest.max_samples_
    model.offset_, model._max_features = forest.offset_, forest.n_features_in_
    model.estimators_features_ = [np.arange(forest.n_features_in_)] * len(trees)
    # The length is the sum of two numbers, less 1. Copies of a leaf in chains of tests have the length of the leaf.
    depths = [one.forest_.depths()[tree.node].astype(np.float64) for one, tree in zip(forest.estimators_, trees, strict=True)]
    model._decision_path_lengths = tuple(depth + 1.0 for depth in depths)
    values = [one.tree_.value[:, 0, 0] for one in model.estimators_]
    model._average_path_length_per_tree = tuple(value - depth for value, depth in zip(values, depths, strict=True))


def _verify(model, estimator, labels):
    allows_missing = get_tags(model).input_tags.allow_nan and getattr(model, "monotonic_cst", None) is None
    encoded, rows = known_probes(estimator, np.float32, labels, allows_missing)
    packed = estimator.forest_.packed(getattr(estimator, "voting", "soft"))
    if embeds(estimator):
        check_columns(estimator, model, rows, packed.apply(encoded, 1))
        return
    if finds_outliers(estimator):
        check_scores(estimator, model, rows, packed.mean(encoded, 1))
        return
    *classes, expected = meaning(estimator, packed.mean(encoded, 1))
    found = on_one_thread(model, model.predict, rows).reshape(len(rows), -1)
    if not classes:
        check_same("scikit-learn", rows, expected, within_leaves(estimator.forest_, found))
        return
    probability = on_one_thread(model, model.predict_proba, rows)
    check_same("scikit-learn", rows, expected, np.hstack(probability) if estimator.n_outputs_ > 1 else probability)
    check_same("scikit-learn", rows, classes[0], found)


def check_columns(estimator, model, rows, leaves):
    """Raise ConversionError unless an embedding of scikit-learn has the columns of the leaves that rows reach here."""
    forest = estimator.forest_
    columns = (np.cumsum(forest.feature < 0) - 1)[forest.node_offsets[:-1] + leaves]
    with np.errstate(invalid="ignore"):  # as below
        found = csr_matrix(model.transform(rows))
    check_same("scikit-learn", rows, columns, found.indices.reshape(columns.shape))


def check_scores(estimator, model, rows, means):
    """Raise ConversionError unless an isolation forest of scikit-learn scores rows as mean lengths of paths here say."""
    _, expected = meaning(estimator, means)
    with np.errstate(invalid="ignore"):
        found = np.stack([model.decision_function(rows), model.score_samples(rows)], axis=1)
    slack = sum_rounding(estimator.forest_, np.float64) + rounding(expected, np.float64)  # scores have slopes below 1
    check_same("scikit-learn", rows, expected, found, slack)


def on_one_thread(model, predict, rows):
    """What a method predicts, with trees added in their order: several of scikit-learn's threads add them as they come."""
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name == "n_jobs"}
    try:
        model.set_params(**dict.fromkeys(parameters, 1))
        with np.errstate(invalid="ignore"):  # scikit-learn adds up X, to see whether it is finite
            return predict(rows)
    finally:
        model.set_params(**parameters)
