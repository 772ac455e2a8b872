"""scikit-learn's boosted trees as ours.

scikit-learn's preprocessor moves categorical columns before all others, and makes numbers of their labels. Its trees know the
columns by their places after that.
"""

import numpy as np
from sklearn.base import is_classifier

from dforest.estimators.data.labels import is_missing
from dforest.interchange.conversion.boosted import SourceTree, boosted_estimator, check_boosted, features_of, sum_forest
from dforest.interchange.conversion.probes import probe_rows


def give_boosted_trees(estimator, model, verify):
    """Make an estimator a fitted one that predicts as a HistGradientBoosting model of scikit-learn does.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        With the parameters of the model.
    model : sklearn.ensemble.HistGradientBoostingClassifier or sklearn.ensemble.HistGradientBoostingRegressor
    verify : bool
        Whether to compare what both predict.

    Returns
    -------
    HistGradientBoostingClassifier or HistGradientBoostingRegressor
        The estimator.
    """
    if not isinstance(model.loss, str):
        raise ValueError(f"model has loss={model.loss!r}; allowed are the names of scikit-learn's losses")
    n_features, labels = model.n_features_in_, _labels(model)
    names = getattr(model, "feature_names_in_", None)
    column = np.concatenate([sorted(labels), np.setdiff1d(np.arange(n_features), list(labels))]).astype(np.int32)
    n_categories = np.array([len(labels.get(j, ())) for j in range(n_features)], np.int32)
    trees = [_source_tree(tree, column, n_categories, model.learning_rate) for turn in model._predictors for tree in turn]
    forest, _ = sum_forest(trees, np.ravel(model._baseline_prediction), n_categories)
    features = features_of(n_features, labels, None if names is None else names.tolist())
    boosted_estimator(estimator, forest, features, model.classes_ if is_classifier(model) else None)
    estimator.do_early_stopping_ = model.do_early_stopping_
    estimator.train_score_, estimator.validation_score_ = map(np.array, (model.train_score_, model.validation_score_))
    if verify:
        _verify(estimator, model, column)
    return estimator


def _labels(model):
    """The labels of each categorical column, in the order of their numbers: dict of ndarray, by the columns' numbers."""
    if model.is_categorical_ is None:
        return {}
    known = model._preprocessor.named_transformers_["encoder"].categories_
    labels = [own[[not is_missing(label) for label in own.tolist()]] for own in known]
    return dict(zip(np.flatnonzero(model.is_categorical_).tolist(), labels, strict=True))


def _source_tree(tree, column, n_categories, learning_rate):
    """A tree of scikit-learn as `SourceTree`. column: the numbers of columns by their places after preprocessing."""
    nodes = tree.nodes
    is_leaf, feature = nodes["is_leaf"] != 0, column[nodes["feature_idx"]]
    left, right = (np.where(is_leaf, -1, nodes[name].astype(np.int64)) for name in ("left", "right"))
    sets = {}
    for node in np.flatnonzero(~is_leaf & (nodes["is_categorical"] != 0)).tolist():
        words = tree.raw_left_cat_bitsets[nodes["bitset_idx"][node]].astype("<u4")
        sets[node] = np.unpackbits(words.view(np.uint8), bitorder="little")[: n_categories[feature[node]]].astype(bool)
    return SourceTree(
        left, right, feature, nodes["num_threshold"].copy(), nodes["missing_go_to_left"] != 0,
        np.where(is_leaf, 1.0, learning_rate) * nodes["value"], nodes["gain"].copy(), nodes["count"].astype(np.float64),
        nodes["count"].astype(np.int64), sets,
    )  # fmt: skip


def _verify(estimator, model, column):
    """Raise ConversionError unless both predict the same, once labels are numbers."""
    encoded = probe_rows(estimator.forest_, np.float64, infinite=True)
    n_categories = estimator.forest_.n_categories
    # scikit-learn's encoder makes a missing value of an unknown label.
    encoded[(n_categories > 0) & (encoded == n_categories)] = np.nan
    rows, bitsets = np.ascontiguousarray(encoded[:, column]), model._bin_mapper.make_known_categories_bitsets()
    raw = np.tile(model._baseline_prediction, (len(rows), 1))
    for turn in model._predictors:
        for k, tree in enumerate(turn):
            raw[:, k] += tree.predict(rows, *bitsets, 1)
    check_boosted("scikit-learn", estimator, encoded, raw)
