"""Fitted estimators as models of treelite.

treelite's builder takes a tree node by node; here it makes trees of one leaf each, whose fields are then set to whole arrays. A
model owns copies of all arrays.
"""

import numpy as np
from sklearn.base import is_classifier

from dforest.estimators.data.outputs import prediction_columns
from dforest.extras import needed
from dforest.interchange.conversion.columns import check_own_tests, numeric_labels, probes_of
from dforest.interchange.conversion.links import (
    check_predicts,
    finds_outliers,
    link_of,
    meaning,
    rounding,
    scores_of,
    sum_rounding,
)
from dforest.interchange.conversion.probes import check_same, within_leaves

# Codes of the format: kinds of nodes, and the comparison of a number with a threshold.
_LEAF, _NUMBER, _CATEGORY = 0, 1, 2
_NO_COMPARISON, _LEQ = 0, 3

_POSTPROCESSORS = {
    None: ("identity", {}),
    "identity": ("identity", {}),
    "raw": ("identity", {}),
    "exponential": ("exponential", {}),
    "share": ("sigmoid", {"sigmoid_alpha": 1.0}),
    "logistic": ("sigmoid", {"sigmoid_alpha": 1.0}),
    "logistic_of_twice": ("sigmoid", {"sigmoid_alpha": 2.0}),
    "softmax": ("softmax", {}),
}


@np.errstate(under="ignore")
def to_treelite(estimator, verify):
    """What `dforest.estimators.conversion.to_treelite` returns for a fitted estimator."""
    builder = needed("treelite.model_builder", "treelite", "to_treelite")
    check_own_tests(estimator, "treelite")
    check_predicts(estimator, "treelite")
    forest, link = estimator.forest_, link_of(estimator)
    if link not in _POSTPROCESSORS:
        raise ValueError(
            f"{type(estimator).__name__} predicts {forest.objective.n_outputs} quantiles, which are put in ascending order, and "
            "treelite puts nothing in order; allowed are to_onnx and to_c, and a model of one quantile"
        )
    labels = labels_of(estimator)
    values, value_of_leaf = forest.added_values(getattr(estimator, "voting", "soft"))
    values = _arranged(values, forest.objective)
    model = _leaves(builder, estimator, link, values.shape[1] > 1)
    first_leaf = np.append(0, np.cumsum(forest.feature < 0))[forest.node_offsets]
    for t in range(forest.n_trees):
        fields = _fields(forest.tree(t), values[value_of_leaf[first_leaf[t] : first_leaf[t + 1]]], labels)
        tree = model.get_tree_accessor(t)
        for name, array in fields.items():
            tree.set_field(name, array)
    if verify:
        _verify(model, estimator, link, labels)
    return model


def labels_of(estimator):
    """The labels of categories as treelite takes them: see `numeric_labels`."""
    return numeric_labels(estimator, "treelite", np.uint32, 0, np.iinfo(np.uint32).max)


def _counts(objective):
    """How many numbers a model predicts of each output: list of int."""
    n_sums = objective.n_values if objective.baseline is None else len(objective.baseline)
    return [len(range(n_sums)[own]) for own in prediction_columns(objective)]


def _arranged(values, objective):
    """Numbers as treelite has those of several outputs, each with as many as the longest has: ndarray of shape (n, .)."""
    counts = _counts(objective)
    if len(counts) == 1:
        return values
    parts = [values[:, own] for own in prediction_columns(objective)]
    return np.hstack([np.pad(part, ((0, 0), (0, max(counts) - n))) for part, n in zip(parts, counts, strict=True)])


def _leaves(builder, estimator, link, has_vectors):
    """A model as that of an estimator, but all of whose trees are leaves."""
    forest, counts = estimator.forest_, _counts(estimator.forest_.objective)
    n_outputs, n_sums = len(counts), max(counts)
    name, parameters = _POSTPROCESSORS[link]
    task = "kRegressor"
    if is_classifier(estimator):
        task = "kBinaryClf" if link is not None and n_sums == 1 else "kMultiClf"
    elif finds_outliers(estimator):
        task, name, parameters = "kIsolationForest", "exponential_standard_ratio", {"ratio_c": _longest(estimator)}
    n_trees, baseline = forest.n_trees, np.zeros((1, n_sums * n_outputs))
    # Of trees that take turns, each is for one class; a tree whose leaves have a number for every class is for all of them.
    class_of_tree = [-1] * n_trees if has_vectors and n_sums > 1 else (np.arange(n_trees) % n_sums).tolist()
    if link is not None:
        baseline = _arranged(np.array([forest.objective.baseline]), forest.objective)
    made = builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=builder.Metadata(
            num_feature=forest.n_features, task_type=task, average_tree_output=link is None, num_target=n_outputs,
            num_class=counts, leaf_vector_shape=(n_outputs, n_sums if has_vectors else 1),
        ),
        tree_annotation=builder.TreeAnnotation(
            num_tree=n_trees, target_id=[-1 if n_outputs > 1 else 0] * n_trees, class_id=class_of_tree
        ),
        postprocessor=builder.PostProcessorFunc(name=name, **parameters),
        base_scores=baseline[0].tolist(),
    )  # fmt: skip
    for _ in range(n_trees):
        made.start_tree()
        made.start_node(0)
        made.leaf([0.0] * (n_outputs * n_sums) if has_vectors else 0.0)
        made.end_node()
        made.end_tree()
    return made.commit()


def _longest(forest):
    """The average length of paths by which treelite divides those of an isolation forest."""
    longest = scores_of(forest).longest
    if longest == np.inf:
        raise ValueError(
            "trees of one draw (max_samples_=1), whose scores are all -0.5, which treelite can't compute; allowed are more draws"
        )
    return longest


def _fields(tree, added, labels):
    """The arrays of a tree as treelite has them, by name; added: what its leaves add, in the order of the nodes."""
    n, is_leaf = len(tree.feature), tree.feature < 0
    has_categories = ~is_leaf & (tree.n_categories[tree.feature] > 0)
    sets = [labels[tree.feature[node]][tree.subset_of(node)] for node in np.flatnonzero(has_categories)]
    ends = np.zeros(n, np.uint64)
    ends[has_categories] = [len(members) for members in sets]
    ends = np.cumsum(ends, dtype=np.uint64)
    fields = {
        "num_nodes": np.array([n], np.int32),
        "has_categorical_split": np.array([has_categories.any()], np.uint8),
        "node_type": np.where(is_leaf, _LEAF, np.where(has_categories, _CATEGORY, _NUMBER)).astype(np.int8),
        "cleft": np.where(is_leaf, -1, np.arange(n) + 1).astype(np.int32),
        "cright": np.where(is_leaf, -1, tree.right_child.astype(np.int64)).astype(np.int32),
        "split_index": tree.feature.astype(np.int32),
        "default_left": tree.missing_left.astype(np.uint8),
        "threshold": np.where(is_leaf | has_categories, 0.0, tree.threshold).astype(np.float64),
        "cmp": np.where(is_leaf | has_categories, _NO_COMPARISON, _LEQ).astype(np.int8),
        # A value that is in no set goes the other way: a set is of the side opposite to missing values.
        "category_list_right_child": (has_categories & tree.missing_left).astype(np.uint8),
        "category_list": np.concatenate([np.zeros(0, np.uint32), *sets]),
        "category_list_begin": np.append(0, ends[:-1]).astype(np.uint64),
        "category_list_end": ends,
    }
    n_values = added.shape[1]
    numbers = np.zeros(n)
    if n_values == 1:
        numbers[is_leaf] = added[:, 0]
        vector, begin, end = np.zeros(0), np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    else:
        end = np.cumsum(is_leaf, dtype=np.uint64) * np.uint64(n_values)
        vector, begin = added.ravel(), np.append(0, end[:-1]).astype(np.uint64)
    return fields | {"leaf_value": numbers, "leaf_vector": vector, "leaf_vector_begin": begin, "leaf_vector_end": end}


def _verify(model, estimator, link, labels):
    """Raise ConversionError unless treelite's own predictions are those of the estimator."""
    gtil = needed("treelite.gtil", "treelite", "to_treelite(verify=True)")
    encoded, rows = probes_of(estimator, np.float64, labels, infinite=True)
    packed, name = estimator.forest_.packed(getattr(estimator, "voting", "soft")), "treelite"
    check_same(name, rows, packed.apply(encoded, 1), gtil.predict_leaf(model, rows, nthread=1).astype(np.int64))
    expected, sums = packed.mean(encoded, 1), gtil.predict(model, rows, nthread=1, pred_margin=True)
    counts = _counts(estimator.forest_.objective)
    by_output = sums.reshape(len(rows), len(counts), -1)
    sums = np.hstack([by_output[:, output, :n] for output, n in enumerate(counts)])
    if link is None:
        check_same(name, rows, expected, within_leaves(estimator.forest_, sums))
        if finds_outliers(estimator):  # treelite divides by a number of float32, and tells the opposite
            _, right = meaning(estimator, sums)
            check_same(name, rows, -right[:, 1], gtil.predict(model, rows, nthread=1), rounding(right[:, 1], np.float32))
        return
    # Raw predictions begin with the baseline there, and end with it here.
    check_same(name, rows, expected, sums, sum_rounding(estimator.forest_, np.float64))
    *_, right = meaning(estimator, sums)
    right = right[:, 1] if link.startswith("logistic") else right
    exact = np.float32 if link == "softmax" else np.float64  # treelite has powers of float32
    check_same(name, rows, right, gtil.predict(model, rows, nthread=1), rounding(right, exact))
