"""Models of XGBoost as ours, read from the JSON that XGBoost writes; XGBoost itself is needed for the comparison alone.

XGBoost rounds X to float32, and compares ``x < t``. Our thresholds are of float64: the largest number that float32 rounds to one
below t. So rows of float64 go where they do in XGBoost, too.
"""

import json
from importlib.util import find_spec
from os import PathLike

import numpy as np

from dforest.estimators.data.features import label_array
from dforest.estimators.data.validation import file_path_of
from dforest.interchange.conversion.boosted import (
    DAMAGED,
    SourceTree,
    boosted_estimator,
    boosted_kind,
    check_boosted,
    features_of,
    sum_forest,
)
from dforest.interchange.conversion.probes import probe_rows

# The loss for an objective, and the link by which its base score is written: see `_margin`. Of objectives that have no loss of
# their own here, it is one whose raw predictions say as much of y.
_LOSSES = {
    "reg:squarederror": ("squared_error", None), "reg:linear": ("squared_error", None),
    "reg:squaredlogerror": ("squared_error", None), "reg:pseudohubererror": ("huber", None),
    "reg:absoluteerror": ("absolute_error", None), "reg:quantileerror": ("quantile", None),
    "count:poisson": ("poisson", "log"), "reg:gamma": ("gamma", "log"), "reg:tweedie": ("tweedie", "log"),
    "binary:logistic": ("log_loss", "logit"), "reg:logistic": ("log_loss", "logit"), "binary:logitraw": ("log_loss", None),
    "multi:softprob": ("log_loss", None), "multi:softmax": ("log_loss", None),
    "rank:ndcg": ("lambdarank", None), "rank:map": ("lambdarank", None), "rank:pairwise": ("pairwise", None),
}  # fmt: skip
_NOT_PREDICTED = ("binary:logitraw", "multi:softmax")  # whose predictions are not probabilities
_BEYOND = 2.0**128  # to which float32 would round if it had no infinity
_MAX_FEATURES = 2**24
_MAX_CATEGORIES = 65535  # of a column of a forest


@np.errstate(under="ignore")
def from_xgboost(model, *, categories=None, verify=True):
    """Convert a model of XGBoost to an estimator of dforest that predicts the same.

    The trees are those of XGBoost, with their gains and covers (sums of Hessians): rows reach the same leaves, and raw
    predictions are equal but for the rounding of sums, which XGBoost computes in float32. Shapley values are those of
    ``pred_contribs=True``. All methods of boosted trees work, such as ``shap_values``, ``save`` and ``to_onnx``, and
    ``warm_start=True`` goes on with the trees. Only `loss` and its parameters and `max_iter` are taken from the model; other
    parameters have their defaults. How many training rows a node had is not known: `n_node_samples` counts leaves.

    What is not in a sparse matrix is missing to XGBoost, and 0 to dforest. XGBoost cuts off the fractions of categories that are
    no integers, which are unknown categories to dforest. Base margins are no part of a model: XGBoost counts them
    in place of the `base_score`, so that the `offset` which stands for them is the margin less
    ``estimator.forest_.objective.baseline[0]``.

    Parameters
    ----------
    model : xgboost.Booster, xgboost.XGBModel, str or path-like
        A model, or the path of a file that ``save_model`` has written. A file of JSON is read without XGBoost; for one of UBJSON
        (the suffix ``.ubj``), XGBoost must be installed. Of an estimator that stopped early, or of its file, those iterations
        count that its own `predict` uses; of a Booster, all.
    categories : dict, optional
        What stands for the categories 0, 1, ... of categorical columns: lists by the names or numbers of the columns. Models that
        XGBoost 3.1 or later has trained on a data frame know their categories, so that this is not needed. For codes, give
        ``range(n_categories)``. If a column's missing values go where codes do that no split names, it is not needed either; such
        codes are then unknown labels, which may cause an ``UnseenLabelsWarning``.
    verify : bool, default=True
        Whether to compare the predictions of the new estimator with those of XGBoost, if that is installed, for rows made for up
        to 2,000 nodes of the trees: their value is the node's threshold, next to it on either side, or missing; or a category of
        either side. If False, nothing is compared.

    Returns
    -------
    HistGradientBoostingClassifier or HistGradientBoostingRegressor
        A fitted estimator, which shares nothing with the model. It is a classifier for the objectives "binary:logistic",
        "binary:logitraw", "reg:logistic", "multi:softmax" and "multi:softprob", with the numbers from 0 as its classes.

    Raises
    ------
    TypeError
        If the model is of another type.
    NotFittedError
        If the model is not fitted.
    ValueError
        If the file is not that of a model, or if dforest has nothing that predicts the same: linear models, trees with a value
        for each output, objectives of the user's own or other than those in the table of the page about conversion, a number
        that stands for missing values. Also if the categories of a column are needed and not known.
    ConversionError
        If any prediction differs. The message shows the first row for which it does.
    ImportError
        If the file is in UBJSON, and XGBoost is not installed.
    OSError
        If a file can't be read.

    Examples
    --------
    >>> import dforest
    >>> from xgboost import XGBClassifier  # doctest: +SKIP
    >>> model = XGBClassifier().fit(X, y)  # doctest: +SKIP
    >>> dforest.from_xgboost(model).shap_values(X).values.shape  # doctest: +SKIP
    (150, 4, 3)
    """
    booster, document = _read(model)
    if not isinstance(categories, dict | None):
        raise TypeError(f"categories={categories!r}; allowed are None, and dicts of the names or numbers of columns to lists")
    try:
        learner = document["learner"]
        facts = learner["learner_model_param"]
        n_features, n_sums = int(facts["num_feature"]), max(1, int(facts["num_class"]))
        names = learner.get("feature_names") or None
        if not 1 <= n_features <= _MAX_FEATURES or names is not None and len(names) != n_features:
            raise ValueError(
                f"model has num_feature={n_features}" + (f" and {len(names)} feature_names" if names else "") + "; allowed are 1 "
                f"to {_MAX_FEATURES}, and as many names, or none"
            )
        estimator, link = _estimator_for(learner["objective"], n_sums, int(facts.get("num_target", 1)))
        is_of_estimator = "scikit_learn" in learner.get("attributes", {}) if booster is None else booster is not model
        trees, chosen, weights, n_iterations, known = _grown(learner, is_of_estimator, n_sums)
        labels = _labels(learner.get("feature_types") or [], trees, known, _by_number(categories or {}, names), names)
        n_categories = np.array([len(labels.get(j, ())) for j in range(n_features)], np.int32)
        sources = [_source_tree(trees[t], t, weights[t], n_categories) for t in chosen]
        baseline = _margin(json.loads(facts["base_score"]), link, n_sums)
        features = features_of(n_features, labels, names)
    except DAMAGED as error:
        raise ValueError(f"model is damaged, or not XGBoost's: {type(error).__name__}: {error}") from error
    forest, orders = sum_forest(sources, baseline, n_features, n_categories)
    estimator.set_params(max_iter=forest.n_trees // n_sums)
    if names is None and labels:
        estimator.set_params(categorical_features=sorted(labels))
    classes = np.arange(max(2, n_sums)) if estimator.loss == "log_loss" else None
    boosted_estimator(estimator, forest, features, classes)
    if verify and (booster is not None or find_spec("xgboost") is not None):
        _verify(estimator, booster, document, n_iterations, learner, chosen, orders)
    return estimator


def _read(model):
    """(the Booster, or None if there is a file alone; what it writes as JSON)."""
    if isinstance(model, str | PathLike):
        path = file_path_of(model)
        with open(path, "rb") as file:
            content = file.read()
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            if find_spec("xgboost") is None:
                raise ImportError(
                    f"{path!r} is not JSON; to read XGBoost's other formats, install xgboost, or let save_model write JSON"
                ) from None
            from xgboost import Booster

            document = json.loads(bytes(Booster(model_file=path).save_raw("json")))
        if not isinstance(document, dict) or not isinstance(document.get("learner"), dict):
            raise ValueError(f"{path!r} is not the file of a model of XGBoost")
        return None, document
    is_estimator = hasattr(type(model), "get_booster")
    if not is_estimator and not hasattr(model, "save_raw"):
        raise TypeError(
            f"model is of the type {type(model).__name__}; allowed are XGBoost's Booster and its estimators, and the path of a "
            "file that save_model has written"
        )
    if is_estimator and getattr(model, "missing", None) is not None and not np.isnan(model.missing):
        raise ValueError(f"model has missing={model.missing!r}; allowed is NaN: put NaN where X has {model.missing!r}")
    booster = model.get_booster() if is_estimator else model
    return booster, json.loads(bytes(booster.save_raw("json")))


def _grown(learner, is_of_estimator, n_sums):
    """What has been grown, and what of it counts: of an estimator that stopped early, the best iterations.

    Returns
    -------
    trees : list of dict
    chosen : list of int
        Which of the trees count, in turns for each of the sums.
    weights : ndarray of shape (n_trees,), dtype float32
        By which their leaves are multiplied.
    n_iterations : int
        How many iterations count; 0: all.
    known : list of dict, or None
        The categories of each column, if the model has them.
    """
    gradient_booster, weights = learner["gradient_booster"], None
    if gradient_booster["name"] == "dart":
        gradient_booster, weights = gradient_booster["gbtree"], gradient_booster["weight_drop"]
    if gradient_booster["name"] != "gbtree":
        raise ValueError(f"model has booster={gradient_booster['name']!r}; allowed are those of trees, 'gbtree' and 'dart'")
    model = gradient_booster["model"]
    trees, groups, n_iterations = model["trees"], model["tree_info"], 0
    if n_sums > len(trees):
        raise ValueError(f"model has {len(trees)} trees, and {n_sums} sums; allowed is at least one tree for each of them")
    best = learner.get("attributes", {}).get("best_iteration")
    if is_of_estimator and best is not None:
        n_iterations = int(best) + 1
        groups = groups[: n_iterations * n_sums * max(1, int(model["gbtree_model_param"].get("num_parallel_tree", 1)))]
    by_sum = [[t for t, group in enumerate(groups) if group == k] for k in range(n_sums)]
    if len(set(map(len, by_sum))) > 1 or sum(map(len, by_sum)) != len(groups):
        raise ValueError(f"model has trees for {sorted(set(groups))}, and not as many for each of its {n_sums} sums")
    chosen = [t for turn in zip(*by_sum, strict=True) for t in turn]
    weights = np.ones(len(trees), np.float32) if weights is None else np.array(weights, np.float32)
    return trees, chosen, weights, n_iterations, (model.get("cats") or {}).get("enc")


def _estimator_for(objective, n_sums, n_targets):
    """(an estimator, not fitted, with the loss of a model; the link of its base score). Raises ValueError if there is none."""
    name = objective["name"]
    if name not in _LOSSES or (n_sums > 1) != name.startswith("multi:"):
        raise ValueError(f"model has objective={name!r}, with {n_sums} classes; allowed are {', '.join(_LOSSES)}")
    if n_targets > 1:
        raise ValueError(f"model has {n_targets} outputs; allowed is one: fit a model for each column of y")
    loss, link = _LOSSES[name]
    given = {"loss": loss}
    if loss == "quantile":
        given["quantile"] = float(np.ravel(json.loads(objective["quantile_loss_param"]["quantile_alpha"]))[0])
    if loss == "tweedie":
        given["power"] = float(objective["tweedie_regression_param"]["tweedie_variance_power"])
    return boosted_kind(loss)(**given), link


def _margin(base_score, link, n_sums):
    """What raw predictions begin with: ndarray of shape (n_sums,), dtype float32. Older models have one number for all."""
    base = np.array(base_score, np.float32)
    with np.errstate(all="ignore"):
        margin = -np.log(1 / base - 1) if link == "logit" else np.log(base) if link == "log" else base
    if margin.size not in (1, n_sums) or not np.isfinite(margin).all():
        raise ValueError(f"model has base_score={base_score}; allowed are {n_sums} numbers whose raw predictions are finite")
    return np.broadcast_to(margin.ravel(), n_sums)


def _labels(types, trees, known, given, names):
    """What stands for the categories of each categorical column: dict of ndarray, by the columns' numbers.

    Parameters
    ----------
    types : list of str
        The columns' types, as far as the model has them.
    trees : list of dict
    known : list of dict, or None
        The categories of each column, if the model has them.
    given : dict of list
        Those that the caller gives, by the columns' numbers.
    names : list of str, or None
    """
    most, sends_right = {j: -1 for j, kind in enumerate(types) if kind in ("c", "categorical")}, set()
    for tree in trees:
        for node, members in _sets(tree).items():
            j = tree["split_indices"][node]
            most[j] = max([most.get(j, -1), *members])
            wrong = [number for number in members if not 0 <= number < _MAX_CATEGORIES]
            if wrong:
                raise ValueError(f"model has category {wrong[0]} of column {j}; allowed are 0 to {_MAX_CATEGORIES - 1}")
            if not tree["default_left"][node]:
                sends_right.add(j)
    if not given.keys() <= most.keys():
        wrong = [j if names is None or j not in range(len(names)) else names[j] for j in given.keys() - most.keys()]
        raise ValueError(f"categories has the columns {wrong}; the categorical columns of the model are {sorted(most)}")
    labels = {}
    for j, last in most.items():
        who = j if names is None else names[j]
        labels[j] = label_array(given[j]) if j in given else _stored_labels(known[j]) if known else None
        if labels[j] is None and j not in sends_right:
            labels[j] = np.arange(last + 1)  # all others go left, as missing values do
        if labels[j] is None:
            raise ValueError(
                f"the categories of column {who!r} are not known: the model does not have them, and its trees name those up to "
                f"{last} alone; allowed is categories={{{who!r}: [...]}}, with what stands for 0, 1, ..., or range(n_categories)"
            )
        if last >= len(labels[j]) or len(set(labels[j].tolist())) < len(labels[j]):
            raise ValueError(
                f"the categories of column {who!r} are {labels[j].tolist()!r:.60}; allowed are different ones for the "
                f"numbers up to {last} that the trees name"
            )
    return labels


def _by_number(given, names):
    """Categories by the numbers of columns, which may be given by their names."""
    places = {} if names is None else {name: j for j, name in enumerate(names)}
    return {places.get(name, name): list(labels) for name, labels in given.items()}


def _stored_labels(column):
    """The labels of a column of the training frame; None if it had none, or if they can't be told."""
    values, ends = column["values"], column.get("offsets")
    if ends is None:
        return np.array(values)
    # XGBoost 3.2 counts characters where it should count bytes, and cuts text wrongly that is not ASCII.
    if len(ends) < 2 or min(values, default=0) < 0:
        return None
    text = bytes(values).decode()
    return np.fromiter((text[a:b] for a, b in zip(ends, ends[1:])), object, len(ends) - 1)  # noqa: B905


def _sets(tree):
    """The categories that go right, by the nodes that test categories: dict of list."""
    parts = (tree.get(f"categories_{name}", ()) for name in ("nodes", "segments", "sizes"))
    return {node: tree["categories"][first : first + size] for node, first, size in zip(*parts, strict=True)}


def _source_tree(tree, t, weight, n_categories):
    """A tree of XGBoost as `SourceTree`. weight: by which its leaves are multiplied."""
    names = (
        "left_children", "right_children", "split_indices", "split_conditions", "default_left", "loss_changes", "sum_hessian",
    )  # fmt: skip
    left, right, feature, condition, default_left, gain, cover = (np.array(tree[name]) for name in names)
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise ValueError(f"tree {t} has a value for each output (multi_output_tree); allowed are trees for one output")
    lengths = {name: len(tree[name]) for name in names}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"tree {t} has arrays of the lengths {lengths}; allowed are equal ones")
    is_leaf, condition = left < 0, condition.astype(np.float32)
    sets = {}
    for node, members in _sets(tree).items():
        sets[node] = np.ones(n_categories[feature[node]], bool)
        sets[node][members] = False
    if sorted(sets) != np.flatnonzero(~is_leaf & (np.array(tree.get("split_type", 0 * left)) == 1)).tolist():
        raise ValueError(f"tree {t} has sets of categories at other nodes than those that test categories")
    return SourceTree(
        left, right, feature.astype(np.int32), highest_below(condition), default_left.astype(bool),
        np.where(is_leaf, (weight * condition).astype(np.float64), 0.0), gain.astype(np.float64), cover.astype(np.float64),
        np.ones(len(left), np.int64), sets,
    )  # fmt: skip


def highest_below(thresholds):
    """The largest numbers of float64 that are below thresholds once they are rounded to float32.

    Half way between a threshold and the number of float32 before it, the even one of both is taken. For example, below 1 that is
    the number 1 - 2**-24, and all up to 1 - 2**-25 are rounded to it but this last one, which is rounded to 1.

    Parameters
    ----------
    thresholds : ndarray of shape (n,), dtype float32

    Returns
    -------
    ndarray of shape (n,), dtype float64
    """
    with np.errstate(over="ignore", under="ignore"):
        before = np.nextafter(thresholds, np.float32(-np.inf))
        ends = [np.clip(part.astype(np.float64), -_BEYOND, _BEYOND) for part in (before, thresholds)]
        half = ends[0] + (ends[1] - ends[0]) / 2
        return np.where(half.astype(np.float32) < thresholds, half, np.nextafter(half, -np.inf))


def _verify(estimator, booster, document, n_iterations, learner, chosen, orders):
    """Raise ConversionError unless both predict the same."""
    import xgboost

    if booster is None:
        booster = xgboost.Booster(model_file=bytearray(json.dumps(document).encode()))
    encoded = probe_rows(estimator.forest_, np.float64)
    is_encoded = estimator.forest_.n_categories > 0
    most = np.finfo(np.float32).max  # beyond which XGBoost takes no numbers
    encoded = np.where(is_encoded, encoded, np.clip(encoded, -most, most))
    # Categories that the model does not know go where it sends missing values, or are refused.
    encoded[is_encoded & (encoded == estimator.forest_.n_categories)] = np.nan
    types = learner.get("feature_types") or np.where(is_encoded, "c", "q").tolist()
    rows = xgboost.DMatrix(encoded, feature_names=booster.feature_names, feature_types=types, enable_categorical=True)
    first = {"iteration_range": (0, n_iterations)}
    reached = booster.predict(rows, pred_leaf=True, **first).reshape(len(encoded), -1).T
    has_predictions = learner["objective"]["name"] not in _NOT_PREDICTED
    check_boosted(
        "XGBoost", estimator, encoded, booster.predict(rows, output_margin=True, **first),
        booster.predict(rows, **first) if has_predictions else None, reached[chosen].astype(np.int64), orders, np.float32,
    )  # fmt: skip
