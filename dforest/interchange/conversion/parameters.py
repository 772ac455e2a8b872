"""What the parameters that LightGBM and XGBoost grew a model by are called here, for trees that are added to the model.

Parameters have the names and the text that the libraries write. Those that have no name here, and other values than the
libraries' defaults, are told to the user: predictions of the model do not depend on them, but trees that a warm start adds would.
"""

import json

import numpy as np

from dforest.warning import warn

# What has no name here, and its default.
_LIGHTGBM = {
    "boosting": "gbdt", "data_sample_strategy": "bagging", "is_unbalance": "0", "use_missing": "1", "zero_as_missing": "0",
    "forcedsplits_filename": "", "feature_contri": "", "cegb_penalty_split": "0", "cegb_penalty_feature_lazy": "",
    "cegb_penalty_feature_coupled": "", "max_bin_by_feature": "", "forcedbins_filename": "", "min_data_in_bin": "3",
    "use_quantized_grad": "0",
}  # fmt: skip
_LIGHTGBM_CATEGORIES = {
    "min_data_per_group": "100", "max_cat_threshold": "32", "cat_l2": "10", "cat_smooth": "10", "max_cat_to_onehot": "4",
}  # fmt: skip
_LIGHTGBM_OBJECTIVES = {
    "poisson": {"poisson_max_delta_step": "0.7"},
    "lambdarank": {"lambdarank_truncation_level": "30", "lambdarank_norm": "1", "label_gain": ""},
}
_XGBOOST = {"sampling_method": "uniform", "num_parallel_tree": "1", "booster": "gbtree"}
_XGBOOST_CATEGORIES = {"max_cat_threshold": "64", "max_cat_to_onehot": "4"}

_MOST_BINS = 65535
_NO_LIMIT = ("max_depth", "max_leaf_nodes", "max_delta_step")  # of which None is a value


def of_lightgbm(given, n_features, n_classes, categorical):
    """What LightGBM's parameters are here.

    Parameters
    ----------
    given : dict of str
        What the text of a model says.
    n_features : int
    n_classes : int
        Of a classifier; 0 of others.
    categorical : collection of int
        The columns that have categories.

    Returns
    -------
    found : dict
        Values by our names; "positive_weight" is the weight of the second of two classes, and "class_shares" has the shares of
        their rows that are drawn.
    lacking : list of str
        What has no name here, with its values.

    Raises
    ------
    ValueError
        If a value is none.
    """
    number, whole = _readers(given)
    found = {
        "learning_rate": number("learning_rate") or None,  # 0 in models without one
        "max_leaf_nodes": whole("num_leaves", 2),
        "min_samples_leaf": whole("min_data_in_leaf", 1),
        "min_sum_hessian_in_leaf": number("min_sum_hessian_in_leaf"),
        "l1_regularization": number("lambda_l1"),
        "l2_regularization": number("lambda_l2"),
        "path_smooth": number("path_smooth"),
        "min_gain_to_split": number("min_gain_to_split"),
        "splitter": {"0": "best", "1": "random"}.get(given.get("extra_trees")),
        "monotone_penalty": number("monotone_penalty"),
        "colsample_bytree": number("feature_fraction"),
        "max_features": number("feature_fraction_bynode"),
        "max_bins": whole("max_bin", 2, _MOST_BINS),
        "positive_weight": number("scale_pos_weight"),
        **_above_0(max_depth=whole("max_depth"), max_delta_step=number("max_delta_step")),
    }
    lacking = _others(given, _LIGHTGBM)
    for objective, names in _LIGHTGBM_OBJECTIVES.items():
        lacking += _others(given, names) if given.get("objective") == objective else []
    lacking += _others(given, _LIGHTGBM_CATEGORIES) if categorical else []
    drawing, frequency = _drawing(given, number), whole("bagging_freq")
    if drawing and frequency == 1:
        found |= drawing
    elif drawing and frequency:
        lacking.append(f"bagging_freq={frequency}")
    _constrain(found, lacking, _directions(given, n_features), n_classes, categorical)
    groups = _list(given, "interaction_constraints", "[{}]")
    if groups:
        found["interaction_cst"] = groups
        unlisted = sorted(set(range(n_features)).difference(*groups))
        if unlisted:  # no tree tests them; here they are one more group
            lacking.append(f"interaction_constraints without the columns {unlisted}")
    return found, lacking


def of_xgboost(config, n_features, n_classes, categorical):
    """As `of_lightgbm`; config: what XGBoost's ``save_config`` says, as a dict."""
    learner = config["learner"]
    gradient_booster = learner["gradient_booster"]
    inner = gradient_booster.get("gbtree", gradient_booster)
    given = {"booster": gradient_booster.get("name", "gbtree")} | inner.get("gbtree_model_param", {})
    given |= inner.get("tree_train_param", {}) | learner["objective"].get("reg_loss_param", {})
    number, whole = _readers(given)
    found = {
        "learning_rate": number("learning_rate") or None,
        "min_sum_hessian_in_leaf": number("min_child_weight"),
        "l1_regularization": number("reg_alpha"),
        "l2_regularization": number("reg_lambda"),
        "min_gain_to_split": number("min_split_loss"),
        "subsample": number("subsample"),
        "colsample_bytree": number("colsample_bytree"),
        "colsample_bylevel": number("colsample_bylevel"),
        "max_features": number("colsample_bynode"),
        "max_bins": whole("max_bin", 2, _MOST_BINS),
        "positive_weight": number("scale_pos_weight"),
        **_above_0(max_depth=whole("max_depth"), max_leaf_nodes=whole("max_leaves"), max_delta_step=number("max_delta_step")),
    }
    if "learning_rate" in given:  # XGBoost has no such limit
        found["min_samples_leaf"] = 1
    lacking = _others(given, _XGBOOST) + (_others(given, _XGBOOST_CATEGORIES) if categorical else [])
    if found.get("max_leaf_nodes"):
        lacking += _others(given, {"grow_policy": "lossguide"})
    _constrain(found, lacking, _directions(given, n_features), n_classes, categorical)
    groups = _list(given, "interaction_constraints", "{}")
    if groups:  # a column of no group is tested alone
        found["interaction_cst"] = groups + [[j] for j in sorted(set(range(n_features)).difference(*groups))]
    return found, lacking


def take_parameters(estimator, found, lacking, library, classes=None):
    """Give an estimator what `of_lightgbm` or `of_xgboost` has found, and warn of what is lacking.

    Parameters
    ----------
    estimator : estimator
    found : dict
    lacking : list of str
    library : str
    classes : array-like, optional
        Of a classifier.
    """
    weight = found.pop("positive_weight", None)
    if weight not in (None, 1.0):
        if classes is not None and len(classes) == 2:
            found.setdefault("class_weight", {np.asarray(classes).tolist()[1]: weight})
        else:
            lacking = [*lacking, f"scale_pos_weight={weight:g}"]
    shares = found.pop("class_shares", None)
    if shares is not None:
        found["subsample"] = dict(zip(np.asarray(classes).tolist(), shares, strict=True))
    estimator.set_params(**{name: value for name, value in found.items() if value is not None or name in _NO_LIMIT})
    if lacking:
        warn(
            f"{library} grew the model with {', '.join(lacking)}, which boosted trees of dforest do not have; predictions are "
            "those of the model, but a fit with warm_start=True would go on without"
        )


def _readers(given):
    """Functions that read a number, and one without a fraction within a range, by its name; None: it is not given."""

    def number(name):
        if given.get(name, "") == "":
            return None
        try:
            return float(given[name])
        except (TypeError, ValueError):
            raise ValueError(f"model has {name}={given[name]!r:.60}; allowed are numbers") from None

    def whole(name, least=-(2**31), most=2**31):
        found = number(name)
        return None if found is None else int(min(max(found, least), most))

    return number, whole


def _drawing(given, number):
    """How LightGBM draws rows, if it draws some of all, by our names; shares of two classes are "class_shares"."""
    share, objective = number("bagging_fraction"), given.get("objective")
    shares = [number(f"{which}_bagging_fraction") for which in ("neg", "pos")]
    if objective == "binary" and any(own is not None and own < 1 for own in shares):  # which bagging_fraction gives way to
        return {"class_shares": [1.0 if own is None else own for own in shares]}
    if share is None or share >= 1:
        return {}
    by_query = objective in ("lambdarank", "rank_xendcg") and number("bagging_by_query")
    return {"subsample": share} | ({"sampling": "query"} if by_query else {})


def _above_0(**limits):
    """Limits that are given, where none up to 0 is one."""
    return {name: limit if limit > 0 else None for name, limit in limits.items() if limit is not None}


def _others(given, defaults):
    """Those of some parameters that are given and have other values than their defaults, as ``name=value``."""
    return [f"{name}={given[name]}" for name, default in defaults.items() if not _is_same(given.get(name, default), default)]


def _is_same(value, default):
    try:
        return float(value) == float(default)
    except (TypeError, ValueError):
        return value == default


def _list(given, name, form):
    """A list of lists of numbers, given the form of JSON that its text needs; None: there is none."""
    text = given.get(name, "")
    if text == "":
        return None
    try:
        found = [[int(j) for j in group] for group in json.loads(form.format(text))]
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"model has {name}={text!r:.60}; allowed are lists of numbers of columns") from None
    return found


def _directions(given, n_features):
    """The directions in which columns are constrained: a list, with 0 for columns that text leaves out."""
    words = given.get("monotone_constraints", "").strip("()").replace(" ", "")
    try:
        found = [int(word) for word in words.split(",")] if words else []
    except ValueError:
        found = None
    if found is None or len(found) > n_features or not set(found) <= {-1, 0, 1}:
        raise ValueError(
            f"model has monotone_constraints={given['monotone_constraints']!r:.60}; allowed are -1, 0 and 1 for up to "
            f"{n_features} columns"
        )
    return found + [0] * (n_features - len(found))


def _constrain(found, lacking, directions, n_classes, categorical):
    """Add directions to what is found, or to what is lacking."""
    allowed = [0 if j in categorical else direction for j, direction in enumerate(directions)]
    if n_classes > 2:
        allowed = [0] * len(directions)
    if any(allowed):
        found["monotonic_cst"] = allowed
    if allowed != directions:
        columns = [j for j, direction in enumerate(directions) if direction != allowed[j]]
        lacking.append(f"monotone_constraints of the columns {columns}")
