"""Models of LightGBM as ours, read from the text that LightGBM writes; LightGBM itself is needed for the comparison alone.

The text has a part of ``name=value`` lines for the model, and one for each tree: numbers of its inner nodes from 0, and of its
leaves from 0, which are written as children -1, -2, ... Then there are the parameters, and the labels of categories of a pandas
frame, if the model was trained on one.
"""

import json
from copy import deepcopy
from importlib.util import find_spec
from os import PathLike

import numpy as np
from sklearn.base import is_classifier

from dforest.estimators.data.given import file_path_of
from dforest.estimators.data.labels import label_array
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
from dforest.interchange.conversion.columns import probes_of
from dforest.interchange.conversion.parameters import of_lightgbm, take_parameters

# The loss for an objective. Of those that have none of their own here, it is one whose raw predictions say as much of y.
_LOSSES = {
    "regression": "squared_error", "regression_l1": "absolute_error", "mape": "mape", "huber": "huber",
    "fair": "fair", "quantile": "quantile", "poisson": "poisson", "gamma": "gamma", "tweedie": "tweedie",
    "binary": "log_loss", "multiclass": "log_loss", "cross_entropy": "log_loss", "lambdarank": "lambdarank",
    "rank_xendcg": "lambdarank",
}  # fmt: skip
_VERSIONS = ("v2", "v3", "v4")
_END = "end of trees"
# Bits of `decision_type`, and what values of the last two say of missing values.
_CATEGORICAL, _DEFAULT_LEFT, _MISSING_BITS, _DECISION = 1, 2, 2, 15
_NO_MISSING, _ZERO_MISSING = 0, 1
_NEARLY_ZERO = float(np.float32(1e-35))  # up to which magnitude numbers are zeros to LightGBM


@np.errstate(under="ignore")
def from_lightgbm(model, *, feature_names=None, pandas_categorical=None, verify=True):
    """Convert a model of LightGBM to an estimator of dforest that predicts the same.

    The trees are those of LightGBM, with their gains and numbers of rows: rows reach the same leaves, and raw predictions are
    equal but for the rounding of sums. Shapley values are those of ``pred_contrib=True``. All methods of boosted trees work, such
    as ``shap_values``, ``save`` and ``to_onnx``, and ``warm_start=True`` goes on with the trees. Those parameters of the model
    that dforest has are taken from it, such as its learning rate, the limits of its trees, its penalties and its monotonicity
    and interaction constraints. A warning names others that shaped the trees, as a warm start goes on without them.

    A model with an objective of the user's own becomes a regressor whose predictions are raw predictions, as those of LightGBM
    are: as many outputs as there are trees an iteration. Of two classes, dforest has one raw prediction: the softmax of two
    classes becomes the logistic function of their difference, for which each tree counts as an iteration.

    Labels of categories are those of the frame that LightGBM was trained on, or else numbers. LightGBM cuts off the fractions of
    numbers that are no integers, which are unknown categories to dforest. Scores that each row begins with (`init_score`) are
    no part of a model: give them to `predict` as `offset`, and to a `fit` that goes on.

    Parameters
    ----------
    model : lightgbm.Booster, lightgbm.LGBMModel, str or path-like
        A model, of which those iterations count that LightGBM's own `predict` uses; or the path of a file that ``save_model`` has
        written, or the text that such a file has.
    feature_names : sequence of str, optional
        Names of the columns in place of those of the model. LightGBM writes ``_`` for spaces and other characters in the names of
        a frame, so that the frame's own names are needed here: ``feature_names=X.columns``. None means the names of the model.
    pandas_categorical : sequence of str or int, optional
        Names or numbers of all columns that had a categorical dtype in the frame that LightGBM was trained on, ordered ones too.
        They have the labels that the model keeps; the values of other categorical columns are integers. It is needed if
        `categorical_feature` did not name just these columns. None means all columns that the model treats as categorical.
    verify : bool, default=True
        Whether to compare the predictions of the new estimator with those of LightGBM, if that is installed, for rows made for up
        to 2,000 nodes of the trees: their value is the node's threshold, next to it on either side, or missing; or a category of
        either side. If False, nothing is compared.

    Returns
    -------
    HistGradientBoostingClassifier, HistGradientBoostingRegressor or HistGradientBoostingRanker
        A fitted estimator, which shares nothing with the model. It is a classifier for the objectives "binary", "multiclass" and
        "cross_entropy"; unless the model is an ``LGBMClassifier``, which knows its labels, classes are the numbers from 0. It is
        a ranker for "lambdarank" and "rank_xendcg".

    Raises
    ------
    TypeError
        If the model is of another type.
    NotFittedError
        If the model is not fitted.
    ValueError
        If the text is not that of one model, or if dforest has nothing that predicts the same: linear trees, objectives other
        than those in the table of the page about conversion, and most trees that were grown with `zero_as_missing`. Also if it
        can't be known which columns the labels of the model belong to: see `pandas_categorical`.
    ConversionError
        If any prediction differs. The message shows the first row for which it does.
    OSError
        If a file can't be read.

    Examples
    --------
    >>> import dforest
    >>> from lightgbm import LGBMClassifier  # doctest: +SKIP
    >>> model = LGBMClassifier().fit(X, y)  # doctest: +SKIP
    >>> dforest.from_lightgbm(model).shap_values(X).values.shape  # doctest: +SKIP
    (150, 4, 3)
    """
    booster, classes = _booster_of(model), getattr(model, "classes_", None)
    for name, given in (("feature_names", feature_names), ("pandas_categorical", pandas_categorical)):
        if isinstance(given, str):
            raise ValueError(f"{name}={given!r}; allowed are lists of names")
    feature_names = None if feature_names is None else [str(name) for name in feature_names]
    pandas_categorical = None if pandas_categorical is None else list(pandas_categorical)
    facts, trees, parameters, frame_labels = _parse(_text_of(model) if booster is None else booster.model_to_string())
    try:
        n_features, n_sums = _integer(facts, "max_feature_idx") + 1, _integer(facts, "num_tree_per_iteration")
        if not 1 <= n_sums <= len(trees):
            raise ValueError(f"model has {len(trees)} trees, and num_tree_per_iteration={n_sums}; allowed are 1 to all of them")
        names = facts["feature_names"].split(" ")
        if len(names) != n_features:
            raise ValueError(f"model has {len(names)} feature_names; max_feature_idx says that there are {n_features}")
        if feature_names is not None and len(feature_names) != n_features:
            raise ValueError(f"feature_names has {len(feature_names)} names; allowed are {n_features}, one for each column")
        names = None if names == [f"Column_{j}" for j in range(n_features)] else names
        estimator = _estimator_for(facts, parameters, n_sums)
        codes = _codes(facts, trees, n_features)
        chosen = names if feature_names is None else feature_names
        of_frame = _columns_of_frame(codes, frame_labels or [], pandas_categorical, chosen, n_features)
        labels = _labels(codes, of_frame, facts.get("feature_infos", "").split(" "))
        n_categories = np.array([len(codes.get(j, ())) for j in range(n_features)], np.int32)
        share = n_sums / len(trees) if "average_output" in facts else 1.0
        sources = [_source_tree(tree, t, codes, share) for t, tree in enumerate(trees)]
        features = features_of(n_features, labels, chosen, of_frame.keys() - codes.keys())
        n_classes = max(2, n_sums) if is_classifier(estimator) else 0
        found, lacking = of_lightgbm(parameters, n_features, n_classes, codes.keys())
    except DAMAGED as error:
        raise ValueError(f"model is damaged, or not LightGBM's: {type(error).__name__}: {error}") from error
    baseline = np.zeros(n_sums)
    if n_classes == n_sums == 2:
        sources, baseline = as_one_sum(sources, baseline)
    forest, orders = sum_forest(sources, baseline, n_categories, are_outputs=n_classes == 0)
    estimator.set_params(max_iter=forest.n_trees // forest.objective.n_trees_per_iteration)
    if codes and (features.names is None or codes.keys() - of_frame.keys()):  # the types of columns do not tell
        estimator.set_params(categorical_features=sorted(codes))
    if n_classes == 0:
        classes = None
    elif classes is None:
        classes = np.arange(n_classes)
    if getattr(model, "class_weight", None) is not None and n_classes:
        found["class_weight"] = deepcopy(model.class_weight)
    take_parameters(estimator, found, lacking, "LightGBM", classes)
    boosted_estimator(estimator, forest, features, classes)
    if verify and (booster is not None or find_spec("lightgbm") is not None):
        booster = _booster_from(facts, trees, n_features, n_sums) if booster is None else booster
        others = {j: own for j, own in codes.items() if j not in of_frame}
        _verify(estimator, booster, trees, orders, share, others)
    return estimator


def _booster_of(model):
    """The Booster of a model; None if there is only its text."""
    if hasattr(type(model), "booster_"):
        return model.booster_
    if hasattr(model, "model_to_string"):
        return model
    if isinstance(model, str | PathLike):
        return None
    raise TypeError(
        f"model is of the type {type(model).__name__}; allowed are LightGBM's Booster and its estimators, the path of a file "
        "that save_model has written, and the text of such a file"
    )


def _text_of(model):
    """The text of a model, given that or the path of its file."""
    if isinstance(model, str) and ("\n" in model or "\r" in model):
        return model
    path = file_path_of(model)
    with open(path, "rb") as file:
        content = file.read()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path!r} is not the file of a model of LightGBM, which is text in UTF-8: {error}") from None


def _parse(text):
    """(facts of the model, those of each tree, parameters, labels of the frame's categories or None)."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    head, *parts = text.split("\nTree=")
    if not head.startswith("tree\n"):
        raise ValueError(f"model begins with {head[:20]!r}; the text of a model of LightGBM begins with the line 'tree'")
    facts = _fields(head, "model")
    if facts.get("version") not in _VERSIONS:
        raise ValueError(f"model has version={facts.get('version')} of LightGBM's format; allowed are {', '.join(_VERSIONS)}")
    if not parts:
        raise ValueError("model has no trees; allowed is one or more")
    if any(f"\n{_END}" in part for part in parts[:-1]):
        raise ValueError(f"model has trees after its line {_END!r}; allowed is the text of one model: divide the text")
    parts[-1], end, rest = parts[-1].partition(f"\n{_END}")
    if not end:
        raise ValueError(f"model ends before its line {_END!r}: its text was cut off")
    if "\ntree\n" in rest:
        raise ValueError(f"model has another one after its line {_END!r}; allowed is the text of one model: divide the text")
    trees = []
    for t, part in enumerate(parts):
        number, _, lines = part.partition("\n")
        if number != str(t):
            raise ValueError(f"model has Tree={number!r:.20} where Tree={t} should be: its text lacks parts, or has too many")
        trees.append(_fields(lines, f"tree {t}"))
    sizes = facts.get("tree_sizes", "").split()
    if sizes and len(sizes) != len(trees):
        raise ValueError(f"model has tree_sizes of {len(sizes)} trees, and {len(trees)} trees: parts of its text are missing")
    parameters = dict(line[1:-1].split(": ", 1) for line in rest.split("\n") if line.startswith("[") and ": " in line)
    of_frame = [line.removeprefix("pandas_categorical:") for line in rest.split("\n") if line.startswith("pandas_categorical:")]
    try:
        return facts, trees, parameters, json.loads(of_frame[-1]) if of_frame else None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"model has pandas_categorical:{of_frame[-1]:.60}, which is not JSON: {error}") from error


def _fields(part, who):
    """What ``name=value`` lines say: dict of str."""
    found = {}
    for line in part.split("\n"):
        name, _, value = line.partition("=")
        if name in found:
            raise ValueError(f"{who} has the line {name!r:.40} twice; allowed is one: its text is damaged")
        if name:
            found[name] = value
    return found


def _integer(fields, name, who="model"):
    try:
        return int(fields[name])
    except (KeyError, ValueError):
        raise ValueError(f"{who} has {name}={fields.get(name)!r:.60}; allowed are integers") from None


def _estimator_for(facts, parameters, n_sums):
    """An estimator, not fitted, with the loss of a model. Raises ValueError if there is none for its objective."""
    if "objective" not in facts:  # it was the user's own
        return estimator_for("squared_error")
    words = facts["objective"].split(" ")
    name, details = words[0], dict(word.partition(":")[::2] for word in words[1:])
    is_link_ours = "sqrt" not in details and float(details.get("sigmoid", 1)) == 1
    if name not in _LOSSES or not is_link_ours or (n_sums > 1) != (name == "multiclass"):
        raise ValueError(
            f"model has objective={facts['objective']}, with {n_sums} trees an iteration; allowed are {', '.join(_LOSSES)}, "
            "without reg_sqrt and with sigmoid=1.0, and objectives of the user's own"
        )
    of_alpha, of_power = (lambda: parameters.get("alpha", 0.9)), (lambda: parameters.get("tweedie_variance_power", 1.5))
    return estimator_for(_LOSSES[name], of_alpha, of_power, lambda: parameters.get("fair_c", 1.0))


def _array(tree, name, n, dtype, t):
    """One of the arrays of a tree, whose length is known."""
    words = tree.get(name, "").split()
    try:
        found = np.array(words, dtype)
    except ValueError:
        found = None
    if found is None or len(found) != n:
        raise ValueError(f"tree {t} has {name}={tree.get(name)!r:.60}; allowed are {n} numbers")
    return found


def _sets(tree, t):
    """The sets of categories of a tree: list of ndarray of their members."""
    n = _integer({"num_cat": 0, **tree}, "num_cat", f"tree {t}")
    if n == 0:
        return []
    bounds = _array(tree, "cat_boundaries", n + 1, np.int64, t)
    words = _array(tree, "cat_threshold", max(0, bounds[-1]), np.uint32, t)
    if bounds[0] != 0 or (np.diff(bounds) < 0).any():
        raise ValueError(f"tree {t} has cat_boundaries={tree['cat_boundaries']!r:.60}; allowed are numbers that rise from 0")
    members = [np.unpackbits(words[a:b].astype("<u4").view(np.uint8), bitorder="little") for a, b in zip(bounds, bounds[1:])]  # noqa: B905
    return [np.flatnonzero(bits) for bits in members]


def _codes(facts, trees, n_features):
    """The categories that LightGBM knows of each categorical column: dict of ndarray, ascending."""
    known = {}
    for j, info in enumerate(facts.get("feature_infos", "").split(" ")):
        if info[:1] not in ("[", "n", ""):  # an interval, "none", or nothing
            known[j] = {int(code) for code in info.split(":")}
    for t, tree in enumerate(trees):
        for node, members in _sets_by_node(tree, t).items():
            known.setdefault(int(tree["split_feature"].split()[node]), set()).update(members.tolist())
    if any(j >= n_features for j in known):
        raise ValueError(f"model has a column {max(known)}; allowed are 0 to {n_features - 1}, as max_feature_idx says")
    return {j: np.array(sorted(code for code in own if code >= 0), np.int64) for j, own in known.items()}


def _sets_by_node(tree, t):
    """The categories that go left, by the nodes that test categories: dict of ndarray."""
    sets, n = _sets(tree, t), _integer(tree, "num_leaves", f"tree {t}") - 1
    if not sets:
        return {}
    nodes = np.flatnonzero(_array(tree, "decision_type", n, np.int64, t) & _CATEGORICAL)
    numbers = _array(tree, "threshold", n, np.float64, t)[nodes].astype(np.int64).tolist()
    if not all(0 <= number < len(sets) for number in numbers):
        raise ValueError(f"tree {t} names sets of categories {numbers}; there are {len(sets)}")
    return {node: sets[number] for node, number in zip(nodes.tolist(), numbers, strict=True)}


def _columns_of_frame(codes, frame_labels, given, names, n_features):
    """The labels of those columns that had a categorical dtype, in the order of the frame: dict of list, by their numbers."""
    if given is None:
        columns = sorted(codes) if frame_labels else []
    else:
        places = {} if names is None else {name: j for j, name in enumerate(names)}
        columns = [places.get(one, one) for one in given]
        unknown = [one for one in columns if one not in range(n_features)]
        if unknown or len(set(columns)) < len(columns):
            known = "of which the model has none" if names is None else f"of {names!r:.200}"
            raise ValueError(
                f"pandas_categorical={given!r}; allowed are different names of columns, {known}, and numbers from 0 to "
                f"{n_features - 1}"
            )
    if len(columns) != len(frame_labels):
        what = f"it treats the columns {columns} as categorical" if given is None else f"pandas_categorical={given}"
        n, first = len(frame_labels), [labels[:3] for labels in frame_labels[:3]]
        raise ValueError(
            f"model has the labels of {n} columns of categories of a frame, the first of which are {first!r:.200}, but {what}; "
            f"allowed is pandas_categorical=[...] with the names or numbers of the {n} columns that had a categorical dtype, "
            "ordered ones too; all other categories are integers"
        )
    return dict(zip(sorted(columns), frame_labels, strict=True))


def _labels(codes, of_frame, infos):
    """What stands for the numbers of each column that has labels; changes the codes to those that the frame's labels have."""
    for j, labels in of_frame.items():
        info = "".join(infos[j : j + 1])
        if info in ("none", ""):  # no tree tests the column
            codes.setdefault(j, np.zeros(0, np.int64))
        # What is not in codes are numbers in an interval: levels, from 0 on.
        used = codes[j] if j in codes else np.array(info.strip("[]").split(":")[-2:], np.float64)
        wrong = used[~np.isin(used, range(len(labels)))]
        if len(wrong):
            raise ValueError(f"model has category {wrong[0]:g} of column {j}, whose {len(labels)} labels are {labels!r:.60}")
        if j in codes:
            codes[j] = np.arange(len(labels))
    return codes | {j: label_array(labels) for j, labels in of_frame.items()}


def _source_tree(tree, t, codes, share):
    """A tree of LightGBM as `SourceTree`, in which leaves have the numbers after those of inner nodes."""
    if tree.get("is_linear", "0") != "0":
        raise ValueError(f"tree {t} has linear models in its leaves (linear_tree); allowed are trees whose leaves are numbers")
    n_leaves = _integer(tree, "num_leaves", f"tree {t}")
    n = n_leaves - 1

    def of_nodes(name, dtype, of_leaves=None):
        return np.append(_array(tree, name, n, dtype, t), np.zeros(n_leaves, dtype) if of_leaves is None else of_leaves)

    def children(name):
        given = _array(tree, name, n, np.int64, t)
        if (given < -n_leaves).any() or (given >= n).any():
            raise ValueError(f"tree {t} has {name}={tree[name]!r:.60}; allowed are numbers from {-n_leaves} to {n - 1}")
        return np.append(np.where(given < 0, n + ~given, given), np.full(n_leaves, -1))

    left, right = children("left_child"), children("right_child")
    if len(np.unique(np.concatenate([left[:n], right[:n]]))) < 2 * n:
        raise ValueError(f"tree {t} has a node with two parents, and one with none; allowed are trees")
    feature, threshold = of_nodes("split_feature", np.int32), of_nodes("threshold", np.float64)
    decision = of_nodes("decision_type", np.int64)
    if (decision & ~_DECISION).any():
        raise ValueError(f"tree {t} has decision_type={tree['decision_type']!r:.60}; allowed are numbers from 0 to {_DECISION}")
    has_set, default_left, missing = (decision & _CATEGORICAL) > 0, (decision & _DEFAULT_LEFT) > 0, decision >> _MISSING_BITS
    of_zero = (missing == _ZERO_MISSING) & ~has_set
    wrong = np.flatnonzero(of_zero & (default_left != (threshold >= 0)))
    if len(wrong):
        raise ValueError(
            f"node {wrong[0]} of tree {t} sends zeros as missing values away from the numbers next to them (zero_as_missing); "
            "allowed are trees whose missing values are NaN"
        )
    sets = {}
    for node, members in _sets_by_node(tree, t).items():
        sets[node] = np.isin(codes[feature[node]], members)
    mixed = [int(j) for j in np.unique(feature[:n][~has_set[:n]]) if j in codes]
    if mixed or has_set.sum() != len(sets):
        raise ValueError(f"tree {t} compares the categories of columns {mixed} with thresholds, or has fewer sets than tests")
    # Where no value was missing in training, NaN is 0 to LightGBM. What is in no set goes right.
    missing_left = np.where(missing == _NO_MISSING, threshold >= 0, default_left) & ~has_set
    # All numbers that are nearly zero go where 0 does.
    threshold = np.where((threshold >= 0) & (threshold < _NEARLY_ZERO), _NEARLY_ZERO, threshold)
    threshold = np.where((threshold < 0) & (threshold >= -_NEARLY_ZERO), np.nextafter(-_NEARLY_ZERO, -1.0), threshold)
    counts = _array(tree, "leaf_count", n_leaves, np.int64, t) if n else np.ones(1, np.int64)
    counts = np.append(np.zeros(n, np.int64), counts)
    return SourceTree(
        left, right, feature, threshold, missing_left,
        share * of_nodes("internal_value", np.float64, _array(tree, "leaf_value", n_leaves, np.float64, t)),
        of_nodes("split_gain", np.float64), np.maximum(counts, 0).astype(np.float64), counts, sets,
    )  # fmt: skip


def _booster_from(facts, trees, n_features, n_sums):
    """LightGBM's Booster, given what has been read of its text.

    It is read from a text of what has been checked, and of no other part: damaged ones may make LightGBM end the process.
    """
    from lightgbm import Booster
    from lightgbm.basic import LightGBMError

    lines = [
        "tree", f"version={facts['version']}", f"num_class={n_sums}", f"num_tree_per_iteration={n_sums}", "label_index=0",
        f"max_feature_idx={n_features - 1}", f"feature_names={' '.join(f'Column_{j}' for j in range(n_features))}",
        f"feature_infos={' '.join(['none'] * n_features)}",
    ]  # fmt: skip
    if "objective" in facts:
        name = facts["objective"].split(" ")[0]
        details = {"binary": " sigmoid:1", "multiclass": f" num_class:{n_sums}"}
        lines.append(f"objective={name}{details.get(name, '')}")
    lines += ["average_output"] * ("average_output" in facts)
    for t, tree in enumerate(trees):
        n, n_sets = int(tree["num_leaves"]), int(tree.get("num_cat", 0))
        lengths = dict.fromkeys(("split_feature", "decision_type", "left_child", "right_child"), (n - 1, np.int64))
        lengths |= {"threshold": (n - 1, np.float64), "leaf_value": (n, np.float64)}
        if n_sets:
            bounds = _array(tree, "cat_boundaries", n_sets + 1, np.int64, t)
            lengths |= {"cat_boundaries": (n_sets + 1, np.int64), "cat_threshold": (bounds[-1], np.uint32)}
        lines += ["", f"Tree={t}", f"num_leaves={n}", f"num_cat={n_sets}"]
        lines += [f"{name}={' '.join(map(str, _array(tree, name, *of, t).tolist()))}" for name, of in lengths.items()]
        lines += ["is_linear=0", "shrinkage=1", ""]
    try:
        return Booster(model_str="\n".join([*lines, "", _END, ""]))
    except LightGBMError as error:
        raise ValueError(f"LightGBM does not read the model, which may be damaged: {error}") from None


def _verify(estimator, booster, trees, orders, share, labels):
    """Raise ConversionError unless both predict the same. labels: LightGBM's numbers of categories, where they are others."""
    n_features = estimator.n_features_in_
    labels = [labels.get(j) for j in range(n_features)]
    encoded, rows = probes_of(estimator, np.float64, labels, infinite=True)
    inner = [int(tree["num_leaves"]) - 1 for tree in trees]
    reached = booster.predict(rows, pred_leaf=True).reshape(len(rows), -1).T
    raw, leaves = share * booster.predict(rows, raw_score=True), [n + own for n, own in zip(inner, reached, strict=True)]
    check_boosted("LightGBM", estimator, encoded, raw, booster.predict(rows), leaves, orders)
