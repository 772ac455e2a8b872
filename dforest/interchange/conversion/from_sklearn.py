"""Fitted forests and trees of scikit-learn as ours; `from_hist_boosting` does the same for boosted trees.

scikit-learn keeps the shares of classes in a leaf, ours the integers whose quotients they are. Where weights were integers, these
are found, and shares have the same bits. Other weights are rounded to 52 bits of a tree's weight. What is made owns its arrays.
"""

from copy import deepcopy
from numbers import Integral

import numpy as np
import sklearn.ensemble
import sklearn.tree
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from dforest.core.objective import ClassObjective, NumberObjective, PathObjective
from dforest.estimators.boosting import boosting
from dforest.estimators.boosting.base import BoostingEstimator
from dforest.estimators.data.encoder import CONTINUOUS
from dforest.estimators.data.features import Features
from dforest.estimators.forest import embedding, isolation
from dforest.estimators.forest import forest as forests
from dforest.estimators.forest import tree as trees
from dforest.estimators.forest.batch import Batch
from dforest.interchange.conversion.boosted import forest_of, linked, preorder
from dforest.interchange.conversion.from_hist_boosting import give_boosted_trees
from dforest.interchange.conversion.links import embeds, finds_outliers
from dforest.interchange.conversion.probes import check_same, probe_rows, within_leaves
from dforest.interchange.conversion.sklearn import check_columns, check_scores, on_one_thread

_CLASSES = {
    getattr(theirs, f"{name}{task}"): getattr(ours, f"{name}{task}")
    for theirs, ours, names in (
        (sklearn.ensemble, forests, ("RandomForest", "ExtraTrees")),
        (sklearn.tree, trees, ("DecisionTree", "ExtraTree")),
        (sklearn.ensemble, boosting, ("HistGradientBoosting",)),
    )
    for name in names
    for task in ("Classifier", "Regressor")
} | {
    sklearn.ensemble.IsolationForest: isolation.IsolationForest,
    sklearn.ensemble.RandomTreesEmbedding: embedding.RandomTreesEmbedding,
}
_CRITERIA = "gini", "entropy", "log_loss", "squared_error", "absolute_error", "friedman_mse", "poisson"
_BITS = 52  # of a tree's weight that is no integer
_ROUNDING = 1e-12  # by how much a share of such weights may differ: those that scikit-learn keeps need not sum to 1 exactly


@np.errstate(under="ignore")
def from_sklearn(model, *, verify=True):
    """Convert a fitted forest, tree or boosted model of scikit-learn to an estimator of dforest that predicts the same.

    The trees are those of scikit-learn, with their importances, impurities and numbers of rows. ``save``, ``to_onnx`` and other
    methods work as for any estimator, and ``warm_start=True`` goes on with the trees. Parameters that both classes have keep
    their values where dforest allows them, and `method` is "dense". Which rows the trees drew is not known, so `oob_score`,
    `estimators_samples_` and all else that needs these rows raises ValueError.

    scikit-learn's forests and trees round X to float32, and dforest does not, so a row of float64 next to a threshold may take
    another way. For rows of float32, means over trees have the same bits. There is one exception: if a classifier was fitted with
    weights that are not integers, the shares of classes differ by rounding, by 1e-12 at most. Scores of isolation forests differ
    by rounding, too. Boosted trees don't round X in
    either library; their raw predictions are equal but for the rounding of sums.

    Parameters
    ----------
    model : sklearn.base.BaseEstimator
        A fitted classifier or regressor of scikit-learn, or of a subclass: RandomForest, ExtraTrees, DecisionTree, ExtraTree or
        HistGradientBoosting; or an IsolationForest or a RandomTreesEmbedding.
    verify : bool, default=True
        Whether to compare the predictions of the new estimator with those of the model, for rows made for up to 2,000 nodes of
        the trees: their value is the node's threshold, next to it on either side, or missing. The rows are of float32, or for
        boosted trees of float64. If False, nothing is compared.

    Returns
    -------
    estimator
        A fitted estimator of the class of the same name in dforest, which shares nothing with the model.

    Raises
    ------
    TypeError
        If the model is of another class.
    NotFittedError
        If the model is not fitted.
    ValueError
        If the model has several outputs, a criterion that dforest does not know by name, or leaves without training rows, as
        `to_sklearn` makes them where there are categories. Also if a RandomTreesEmbedding was fitted with `max_leaf_nodes`, so
        that its columns are in another order than leaves in dforest.
    ConversionError
        If any prediction differs. The message shows the first row for which it does.

    Examples
    --------
    >>> import numpy as np
    >>> import dforest
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> X = X.astype(np.float32)
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> forest = dforest.from_sklearn(model)
    >>> bool((forest.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    kind = next((_CLASSES[one] for one in type(model).__mro__ if one in _CLASSES), None)
    if kind is None:
        allowed = ", ".join(sorted(known.__name__ for known in _CLASSES))
        raise TypeError(f"model is of the type {type(model).__name__}; allowed are scikit-learn's {allowed}")
    check_is_fitted(model)
    if issubclass(kind, BoostingEstimator):
        estimator = _with_parameters_of(model, kind(defaults="scikit-learn"), {"max_iter": model.n_iter_})
        return give_boosted_trees(estimator, model, verify)
    is_isolation = isinstance(model, sklearn.ensemble.IsolationForest)
    if not is_isolation and model.n_outputs_ != 1:
        raise ValueError(f"model has {model.n_outputs_} outputs; allowed is one: fit a model for each column of y")
    if not is_isolation and model.criterion not in _CRITERIA:
        raise ValueError(f"model has criterion={model.criterion!r}; allowed are the names of scikit-learn's criteria")
    estimator = _with_parameters_of(model, kind(method="dense"), {"n_estimators": len(getattr(model, "estimators_", ()))})
    estimator.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        estimator.feature_names_in_ = model.feature_names_in_.copy()
    if is_classifier(model):
        estimator.classes_, estimator.n_classes_ = model.classes_.copy(), len(model.classes_)
    n = model.n_features_in_
    names = getattr(model, "feature_names_in_", None)
    estimator._features = Features([CONTINUOUS] * n, [None] * n, None if names is None else names.tolist())
    estimator.is_categorical_, estimator.is_ordinal_ = np.zeros(n, bool), np.zeros(n, bool)
    estimator.categories_ = [None] * n
    monotonic = getattr(model, "monotonic_cst", None)
    estimator._directions = np.zeros(n, np.int8) if monotonic is None else np.array(monotonic, np.int8)
    forest, is_exact = _forest_of(model, estimator._own_criterion() if is_isolation else estimator.criterion)
    estimator.forest_ = forest
    if is_isolation:
        estimator.offset_ = float(model.offset_)
    if hasattr(model, "estimators_"):
        estimator._batches = [Batch(forest.n_trees, int(forest.n_rows[0]), None, None, None)]
    if verify:
        _verify(estimator, model, is_exact)
    return estimator


def _with_parameters_of(model, estimator, known):
    """An estimator, not fitted, with the parameters that a model and our class have, as far as ours allows the values.

    IN known: the values of some, whatever the model has.
    """
    given = vars(model) | model.get_params(deep=False) | known  # a constructor of the user's own may not name all parameters
    for name in estimator.get_params(deep=False).keys() & given.keys():
        before = getattr(estimator, name)
        try:
            estimator.set_params(**{name: deepcopy(given[name])})._validate_params()
        except InvalidParameterError:
            estimator.set_params(**{name: before})
    return estimator


def _forest_of(model, criterion):
    """(the `Forest` of a model, whether the leaves of its classes have the same bits)."""
    alone = [one.tree_ for one in getattr(model, "estimators_", [model])]
    n_draws = [int(tree.n_node_samples[0]) for tree in alone]
    objective = ClassObjective(len(model.classes_)) if is_classifier(model) else NumberObjective()
    found = [_tree_arrays(tree, objective, criterion) for tree in alone]
    if isinstance(model, sklearn.ensemble.RandomTreesEmbedding):
        _check_order(alone)
    if isinstance(model, sklearn.ensemble.IsolationForest):
        objective, n_draws = PathObjective(), [int(model.max_samples_)] * len(alone)
        for t, (arrays, _) in enumerate(found):
            _become_path_lengths(arrays, model, t)
    seeds = [one.random_state for one in getattr(model, "estimators_", [model])]
    seeds = np.array([seed % 2**32 if isinstance(seed, Integral) else 0 for seed in seeds], np.uint32)
    trees, are_exact = zip(*found, strict=True)
    n_categories, n_rows = np.zeros(model.n_features_in_, np.int32), [max(n_draws)] * len(alone)
    return forest_of(trees, n_rows, n_draws, n_categories, objective, criterion, seeds), all(are_exact)


def _order(tree):
    """The nodes of a tree in the order of ours."""
    inner = np.flatnonzero(tree.children_left >= 0)
    if (tree.children_left[inner] != inner + 1).any():  # as scikit-learn grows trees if `max_leaf_nodes` is given
        return preorder(tree.children_left, tree.children_right)
    return np.arange(tree.node_count)


def _check_order(alone):
    """Raise ValueError if the leaves of trees, which are columns of an embedding, have another order than ours."""
    for tree in alone:
        order = _order(tree)
        if (np.diff(order[tree.children_left[order] < 0]) < 0).any():
            raise ValueError(
                "the leaves of a RandomTreesEmbedding that was fitted with max_leaf_nodes have another order than those of "
                "dforest's trees, and so have the columns of transform; allowed is max_leaf_nodes=None"
            )


def _become_path_lengths(arrays, model, t):
    """Have the leaves of a tree of an isolation forest keep the length of the path to them, and tests number all features."""
    tree, features = model.estimators_[t].tree_, model.estimators_features_[t]
    order = _order(tree)
    leaves, is_inner = order[tree.children_left[order] < 0], arrays["feature"] >= 0
    depths, more = np.asarray(model._decision_path_lengths[t]), np.asarray(model._average_path_length_per_tree[t])
    arrays["leaf_value"] = (depths + more - 1.0)[leaves]
    arrays["leaf_impurity"] = np.zeros(len(leaves))
    arrays["feature"][is_inner] = features[arrays["feature"][is_inner]]


def _tree_arrays(tree, objective, criterion):
    """(the arrays of a tree, as `forest_of` takes them; whether shares of classes are exact)."""
    order = _order(tree)
    is_leaf, link, _ = linked(tree.children_left, tree.children_right, order)
    leaves, inner = order[is_leaf], order[~is_leaf]
    if not tree.n_node_samples[leaves].all():
        raise ValueError(
            "a tree of the model has leaves whose n_node_samples are 0; allowed are leaves that rows have reached. Trees "
            "that to_sklearn has made of tests of categories have copies of leaves that count none: keep the model that they "
            "were made of, which the method save writes to a file"
        )
    weight, unit, is_exact = _integer_weights(tree, leaves, objective)
    values, impurity = tree.value[:, 0, 0], np.maximum(tree.impurity, 0.0)  # rounding may have made it negative
    empty = np.zeros(0)
    arrays = {
        "feature": np.where(is_leaf, -1, tree.feature[order]).astype(np.int32),
        "threshold": np.where(is_leaf, 0.0, tree.threshold[order]),
        "link": link,
        "missing_left": ~is_leaf & (tree.missing_go_to_left[order] != 0),
        "leaf_draws": tree.n_node_samples[leaves].astype(np.int64),
        "leaf_weight": weight,
        "leaf_value": values[leaves] if objective.keeps_values else empty,
        "leaf_impurity": impurity[leaves] if objective.keeps_values else empty,
        "inner": np.column_stack([values[inner], impurity[inner]]) if criterion == "absolute_error" else np.zeros((0, 2)),
        "payload_lengths": np.zeros(0, np.int64),
        "payload_words": np.zeros(0, np.uint64),
        "weight_unit": unit,
    }
    return arrays, is_exact


def _integer_weights(tree, leaves, objective):
    """(integer weights of leaves, by class if there are any; their unit; whether their shares are exact)."""
    total = tree.weighted_n_node_samples[leaves][:, None]
    shares = tree.value[leaves, 0, :] if objective.predicts_shares else np.ones_like(total)
    weight = np.rint(shares * total)
    if total.max() < 2**62 and _are_close(weight, shares * total) and _are_close(total, np.rint(total)):
        weight = weight.astype(np.int64)
        if (weight.sum(axis=1) > 0).all() and (weight / weight.sum(axis=1, keepdims=True) == shares).all():
            return weight, 1.0, True
    exponent = _BITS - int(np.frexp(tree.weighted_n_node_samples[0])[1])
    weight = np.rint(np.ldexp(shares * total, exponent)).astype(np.int64)
    return weight, float(np.ldexp(1.0, -exponent)), not objective.predicts_shares


def _are_close(numbers, others):
    return (np.abs(numbers - others) <= 1e-6).all()


def _verify(estimator, model, is_exact):
    """Raise ConversionError unless both predict the same."""
    allows_missing = get_tags(model).input_tags.allow_nan and getattr(model, "monotonic_cst", None) is None
    rows, name = probe_rows(estimator.forest_, np.float32, allows_missing), "scikit-learn"
    packed = estimator.forest_.packed()
    if finds_outliers(estimator):
        check_scores(estimator, model, rows, packed.mean(rows, 1))
        return
    if embeds(estimator):
        check_columns(estimator, model, rows, packed.apply(rows, 1))
        return
    if is_classifier(model):
        tolerance = None if is_exact else _ROUNDING
        check_same(name, rows, packed.mean(rows, 1), on_one_thread(model, model.predict_proba, rows), tolerance)
    else:
        found = within_leaves(estimator.forest_, on_one_thread(model, model.predict, rows))
        check_same(name, rows, packed.mean(rows, 1), found)
