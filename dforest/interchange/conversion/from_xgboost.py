"""Models of XGBoost as ours, read from the JSON that XGBoost writes; XGBoost itself is needed for the comparison alone.

XGBoost rounds X to float32, and compares ``x < t``. Our thresholds are of float64: the largest number that float32 rounds to one
below t. So rows of float64 go where they do in XGBoost, too.
"""

import json
from importlib.util import find_spec
from os import PathLike

import numpy as np
from sklearn.base import is_classifier

from dforest.estimators.data.given import file_path_of
from dforest.estimators.data.labels import label_array
from dforest.interchange.conversion import ubjson
from dforest.interchange.conversion.boosted import (
    DAMAGED,
    SourceTree,
    as_one_sum,
    boosted_estimator,
    check_boosted,
    estimator_for,
    features_of,
    sum_forest,
)
from dforest.interchange.conversion.parameters import of_xgboost, take_parameters
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
_LEAST_SHARE = np.float32(1e-6)  # below which, and as far below 1, XGBoost takes no base score for a probability
_BEYOND = 2.0**128  # to which float32 would round if it had no infinity
_MAX_FEATURES = 2**24
_NO_PARENT = 2**31 - 1
_WHOLE = ("left_children", "right_children", "split_indices", "default_left", "split_type")
_FLOATS = ("split_conditions", "loss_changes", "sum_hessian")
_SETS = ("categories_nodes", "categories_segments", "categories_sizes", "categories")
_MAX_CATEGORIES = 65535  # of a column of a forest


@np.errstate(under="ignore")
def from_xgboost(model, *, categories=None, verify=True):
    """Convert a model of XGBoost to an estimator of dforest that predicts the same.

    The trees are those of XGBoost, with their gains and covers (sums of Hessians): rows reach the same leaves, and raw
    predictions are equal but for the rounding of sums, which XGBoost computes in float32. Shapley values are those of
    ``pred_contribs=True``. All methods of boosted trees work, such as ``shap_values``, ``save`` and ``to_onnx``, and
    ``warm_start=True`` goes on with the trees. Those parameters of a Booster that dforest has are taken from it, such as its
    learning rate, the limits of its trees, its penalties and its monotonicity and interaction constraints. A warning names others
    that shaped the trees, as a warm start goes on without them. A file has none of them, and a Booster that was read from a file
    has XGBoost's defaults. How many training rows a node had is not known: `n_node_samples` counts leaves.

    An objective of the user's own is not part of a model: predictions are those by the model's parameter `objective`, as in
    XGBoost, which are raw predictions by default. Of two classes, dforest has one raw prediction: the softmax of two classes
    becomes the logistic function of their difference, for which each tree counts as an iteration.

    What is not in a sparse matrix is missing to XGBoost, and 0 to dforest. XGBoost cuts off the fractions of categories that are
    no integers, which are unknown categories to dforest. Base margins are no part of a model: XGBoost counts them
    in place of the `base_score`, so that the `offset` which stands for them is the margin less
    ``estimator.forest_.objective.baseline[0]``.

    Parameters
    ----------
    model : xgboost.Booster, xgboost.XGBModel, str or path-like
        A model, or the path of a file that ``save_model`` has written, as JSON or as UBJSON (the suffix ``.ubj``). Of an
        estimator that stopped early, or of its file, those iterations count that its own `predict` uses; of a Booster, all.
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
    HistGradientBoostingClassifier, HistGradientBoostingRegressor or HistGradientBoostingRanker
        A fitted estimator, which shares nothing with the model. It is a classifier for the objectives "binary:logistic",
        "binary:logitraw", "reg:logistic", "multi:softmax" and "multi:softprob", with the numbers from 0 as its classes, and a
        ranker for those of ranking.

    Raises
    ------
    TypeError
        If the model is of another type.
    NotFittedError
        If the model is not fitted.
    ValueError
        If the file is not that of a model, or if dforest has nothing that predicts the same: linear models, trees with a value
        for each output, other objectives than those in the table of the page about conversion, a number that stands for missing
        values. Also if the categories of a column are needed and not known.
    ConversionError
        If any prediction differs. The message shows the first row for which it does.
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
        n_features, n_classes = int(facts["num_feature"]), int(facts["num_class"])
        n_sums = max(1, n_classes)
        names = learner.get("feature_names") or None
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise ValueError(f"model has feature_names={names!r:.60}; allowed are lists of text")
        if not 1 <= n_features <= _MAX_FEATURES or names is not None and len(names) != n_features:
            raise ValueError(
                f"model has num_feature={n_features}" + (f" and {len(names)} feature_names" if names else "") + "; allowed are 1 "
                f"to {_MAX_FEATURES}, and as many names, or none"
            )
        estimator, link = _estimator_for(learner["objective"], n_classes, int(facts.get("num_target", 1)))
        is_of_estimator = "scikit_learn" in learner.get("attributes", {}) if booster is None else booster is not model
        trees, chosen, weights, n_iterations, known = _grown(learner, is_of_estimator, n_sums)
        trees = [_arrays_of(tree, t, n_features) for t, tree in enumerate(trees)]
        labels = _labels(learner.get("feature_types") or [], trees, known, _by_number(categories or {}, names), names)
        n_categories = np.array([len(labels.get(j, ())) for j in range(n_features)], np.int32)
        sources = [_source_tree(trees[t], weights[t], n_categories) for t in chosen]
        baseline = _margin(_json(facts["base_score"]), link, n_sums)
        features = features_of(n_features, labels, names)
        is_multi = learner["objective"]["name"].startswith("multi:")
        n_classes = (n_sums if is_multi else 2) if is_classifier(estimator) else 0
        config = {} if booster is None else json.loads(booster.save_config())  # a file has no parameters
        found, lacking = of_xgboost(config, n_features, n_classes, labels.keys()) if config else ({}, [])
    except DAMAGED as error:
        raise ValueError(f"model is damaged, or not XGBoost's: {type(error).__name__}: {error}") from error
    if n_classes == n_sums == 2:
        sources, baseline = as_one_sum(sources, baseline)
    forest, orders = sum_forest(sources, baseline, n_categories)
    estimator.set_params(max_iter=forest.n_trees // len(baseline))
    if names is None and labels:
        estimator.set_params(categorical_features=sorted(labels))
    classes = np.arange(n_classes) if n_classes else None
    take_parameters(estimator, found, lacking, "XGBoost", classes)
    boosted_estimator(estimator, forest, features, classes)
    if verify and (booster is not None or find_spec("xgboost") is not None):
        types = learner.get("feature_types")
        if booster is None:
            chosen_trees = [trees[t] for t in chosen]
            places = list(map(_places_by_level, chosen_trees))
            booster = _booster_from(document, chosen_trees, places, weights[chosen], n_features, n_sums)
            types, n_iterations, chosen = None, 0, slice(None)
            orders = [place[order] for place, order in zip(places, orders, strict=True)]
        has_predictions = learner["objective"]["name"] not in _NOT_PREDICTED
        _verify(estimator, booster, types, n_iterations, has_predictions, chosen, orders)
    return estimator


def _read(model):
    """(the Booster, or None if there is a file alone; what it writes as JSON)."""
    if isinstance(model, str | PathLike):
        path = file_path_of(model)
        with open(path, "rb") as file:
            content = file.read()
        try:
            document = (ubjson.loads if ubjson.is_object(content) else json.loads)(content)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{path!r} is neither JSON nor Universal Binary JSON, one of which save_model of XGBoost writes: {error}"
            ) from None
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


def _estimator_for(objective, n_classes, n_targets):
    """(an estimator, not fitted, with the loss of a model; the link of its base score). Raises ValueError if there is none."""
    name = objective["name"]
    if name not in _LOSSES or (n_classes < 1 if name.startswith("multi:") else n_classes > 1):
        raise ValueError(f"model has objective={name!r}, with {n_classes} classes; allowed are {', '.join(_LOSSES)}")
    if n_targets > 1:
        raise ValueError(f"model has {n_targets} outputs; allowed is one: fit a model for each column of y")
    loss, link = _LOSSES[name]
    estimator = estimator_for(
        loss,
        lambda: np.ravel(json.loads(objective["quantile_loss_param"]["quantile_alpha"]))[0],
        lambda: objective["tweedie_regression_param"]["tweedie_variance_power"],
    )
    return estimator, link


def _json(text):
    """What JSON in a model says; text that is none stays text, which no reader takes."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _margin(base_score, link, n_sums):
    """What raw predictions begin with: ndarray of shape (n_sums,), dtype float32. Older models have one number for all."""
    try:
        base = np.array(base_score, np.float32)
    except ValueError:
        base = np.array(np.nan, np.float32)
    with np.errstate(all="ignore"):
        if link == "logit":
            is_share = (base >= 0) & (base <= 1)
            base = np.where(is_share, np.clip(base, _LEAST_SHARE, np.float32(1) - _LEAST_SHARE), np.float32(np.nan))
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
        for node, members in tree["sets"].items():
            j = int(tree["split_indices"][node])
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
        labels[j] = label_array(given[j]) if j in given else _stored_labels(known[j], who) if known else None
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


def _stored_labels(column, who):
    """The labels of a column of the training frame; None if it had none. Raises ValueError if they can't be told."""
    values, ends = column["values"], column.get("offsets")
    if ends is None:
        return np.array(values)
    if len(ends) < 2:
        return None
    if min(values) < 0:  # XGBoost 3.2 counts characters where it should count bytes, and cuts the text
        raise ValueError(
            f"the categories of column {who!r} have characters beyond ASCII, whose text XGBoost cuts off; allowed is "
            f"categories={{{who!r}: [...]}}, with all labels in their order: frame[{who!r}].cat.categories"
        )
    text = bytes(values).decode()
    return np.fromiter((text[a:b] for a, b in zip(ends, ends[1:])), object, len(ends) - 1)  # noqa: B905


def _array(tree, name, is_whole, who):
    """One of the lists of a tree: ndarray of int64, or of float64."""
    given = tree[name]
    found = np.array(given if isinstance(given, list) else None)
    if found.ndim != 1 or found.size and found.dtype.kind not in ("bi" if is_whole else "bif"):
        raise ValueError(f"{who} has {name}={given!r:.60}; allowed are lists of {'integers' if is_whole else 'numbers'}")
    return found.astype(np.int64 if is_whole else np.float64)


def _arrays_of(tree, t, n_features):
    """The arrays of a tree by their names, once they have been checked, and ``sets``: the categories that go right, by nodes.

    That the numbers of children make a tree is checked by `sum_forest`.
    """
    who = f"tree {t}"
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise ValueError(f"{who} has a value for each output (multi_output_tree); allowed are trees for one output")
    tree = {"split_type": [0] * len(tree["left_children"]), **tree}
    found = {name: _array(tree, name, True, who) for name in _WHOLE} | {name: _array(tree, name, False, who) for name in _FLOATS}
    lengths = {name: len(array) for name, array in found.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{who} has arrays of the lengths {lengths}; allowed are equal ones")
    is_leaf, feature = found["left_children"] < 0, found["split_indices"]
    wrong = feature[~is_leaf & ((feature < 0) | (feature >= n_features))]
    if len(wrong):
        raise ValueError(f"{who} tests feature {wrong[0]}; allowed are 0 to {n_features - 1}")
    found["split_indices"] = np.where(is_leaf, 0, feature)
    tree = {name: [] for name in _SETS} | tree
    nodes, first, size, members = (_array(tree, name, True, who) for name in _SETS)
    is_allowed = len(nodes) == len(first) == len(size) and (first >= 0).all() and (size >= 0).all()
    if not is_allowed or (size > len(members)).any() or (first > len(members) - size).any():
        raise ValueError(f"{who} has sets of categories of sizes={size.tolist()!r:.60}; its lists are not so long")
    if nodes.tolist() != np.flatnonzero(~is_leaf & (found["split_type"] == 1)).tolist():
        raise ValueError(f"{who} has sets of categories at other nodes than those that test categories")
    parts = zip(nodes.tolist(), first.tolist(), size.tolist(), strict=True)
    found["sets"] = {node: members[begin : begin + n].tolist() for node, begin, n in parts}
    with np.errstate(over="ignore"):
        found["split_conditions"] = found["split_conditions"].astype(np.float32)
    return found


def _source_tree(tree, weight, n_categories):
    """A tree of XGBoost as `SourceTree`. weight: by which its leaves are multiplied."""
    left, feature, condition = tree["left_children"], tree["split_indices"].astype(np.int32), tree["split_conditions"]
    sets = {}
    for node, members in tree["sets"].items():
        sets[node] = np.ones(n_categories[feature[node]], bool)
        sets[node][members] = False
    return SourceTree(
        left, tree["right_children"], feature, highest_below(condition), tree["default_left"] != 0,
        np.where(left < 0, (weight * condition).astype(np.float64), 0.0), tree["loss_changes"], tree["sum_hessian"],
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


def _booster_from(document, trees, places, weights, n_features, n_sums):
    """XGBoost's Booster of those trees of a file that count.

    It is read from what has been checked, and from no other part: damaged ones may make XGBoost end the process.
    """
    import xgboost

    learner, n = document["learner"], len(trees)
    base_score = _json(learner["learner_model_param"]["base_score"])
    written = [f"{float(number):.9E}" for number in np.ravel(base_score)]  # XGBoost reads integers up to 64 bits
    gradient_booster = {
        "name": "gbtree",
        "model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(n), "size_leaf_vector": "0"},
            "iteration_indptr": list(range(0, n + 1, n_sums)), "tree_info": [t % n_sums for t in range(n)],
            "trees": [_written(tree, places[t], t, n_features) for t, tree in enumerate(trees)],
        },
    }  # fmt: skip
    if (weights != 1).any():
        gradient_booster = {"name": "dart", "gbtree": gradient_booster, "weight_drop": weights.astype(float).tolist()}
    objective = {name: facts for name, facts in learner["objective"].items() if name == "name" or isinstance(facts, dict)}
    learner = {
        "attributes": {}, "feature_names": [], "feature_types": [], "gradient_booster": gradient_booster, "objective": objective,
        "learner_model_param": {
            "base_score": f"[{','.join(written)}]" if isinstance(base_score, list) else written[0], "boost_from_average": "1",
            "num_class": learner["learner_model_param"]["num_class"], "num_feature": str(n_features), "num_target": "1",
        },
    }  # fmt: skip
    version = document.get("version")
    is_known = isinstance(version, list) and len(version) == 3 and all(isinstance(part, int) for part in version)
    text = json.dumps({"learner": learner, "version": version if is_known else [3, 0, 0]})
    try:
        return xgboost.Booster(model_file=bytearray(text.encode()))
    except xgboost.core.XGBoostError as error:
        raise ValueError(f"XGBoost does not read the model, which may be damaged: {str(error).splitlines()[0]}") from None


def _places_by_level(tree):
    """The numbers of the nodes that rows can reach, the root's first and those of siblings one after the other; -1 of others.

    XGBoost takes the number after that of a left child for its sibling's.
    """
    left, right, waiting = tree["left_children"].tolist(), tree["right_children"].tolist(), [0]
    for node in waiting:
        waiting += [left[node], right[node]] if left[node] >= 0 else []
    place = np.full(len(left), -1)
    place[waiting] = np.arange(len(waiting))
    return place


def _written(tree, place, t, n_features):
    """A tree as XGBoost reads it, whose nodes have the numbers that `_places_by_level` returns."""
    order = np.argsort(place)[np.count_nonzero(place < 0) :]
    left, right = tree["left_children"][order], tree["right_children"][order]
    is_leaf, parents = left < 0, np.full(len(order), _NO_PARENT)
    left, right = (np.where(is_leaf, -1, place[np.where(is_leaf, 0, side)]) for side in (left, right))
    inner = np.flatnonzero(~is_leaf)
    parents[left[inner]] = parents[right[inner]] = inner
    sets = dict(sorted((int(place[node]), members) for node, members in tree["sets"].items() if place[node] >= 0))
    ends = np.cumsum([0, *map(len, sets.values())])
    return {
        "id": t, "left_children": left.tolist(), "right_children": right.tolist(), "parents": parents.tolist(),
        "split_indices": tree["split_indices"][order].tolist(), "split_conditions": tree["split_conditions"][order].tolist(),
        "default_left": (tree["default_left"][order] != 0).astype(int).tolist(),
        "split_type": np.isin(np.arange(len(order)), list(sets)).astype(int).tolist(),
        "categories": [number for members in sets.values() for number in members], "categories_nodes": list(sets),
        "categories_segments": ends[:-1].tolist(), "categories_sizes": [len(members) for members in sets.values()],
        **{name: [0.0] * len(order) for name in ("base_weights", "loss_changes", "sum_hessian")},
        "tree_param": {
            "num_deleted": "0", "num_feature": str(n_features), "num_nodes": str(len(order)), "size_leaf_vector": "1",
        },
    }  # fmt: skip


def _verify(estimator, booster, types, n_iterations, has_predictions, chosen, orders):
    """Raise ConversionError unless both predict the same.

    IN types: of the columns, as XGBoost calls them, or None; n_iterations: how many of the Booster count; has_predictions:
    whether it predicts what the estimator does, beside raw predictions; chosen: which of its trees count.
    """
    import xgboost

    encoded = probe_rows(estimator.forest_, np.float64)
    is_encoded = estimator.forest_.n_categories > 0
    most = np.finfo(np.float32).max  # beyond which XGBoost takes no numbers
    encoded = np.where(is_encoded, encoded, np.clip(encoded, -most, most))
    # Categories that the model does not know go where it sends missing values, or are refused.
    encoded[is_encoded & (encoded == estimator.forest_.n_categories)] = np.nan
    types = types or np.where(is_encoded, "c", "q").tolist()
    rows = xgboost.DMatrix(encoded, feature_names=booster.feature_names, feature_types=types, enable_categorical=True)
    first = {"iteration_range": (0, n_iterations)}
    reached = booster.predict(rows, pred_leaf=True, **first).reshape(len(encoded), -1).T
    raw, predicted = booster.predict(rows, output_margin=True, **first), None
    if has_predictions:
        predicted = booster.predict(rows, **first)
    check_boosted("XGBoost", estimator, encoded, raw, predicted, reached[chosen].astype(np.int64), orders, np.float32)
