"""Fitted estimators as what `shap.TreeExplainer` takes in place of a model: a dict of trees.

The dict's arrays are copies.
"""

import numpy as np
from sklearn.base import is_classifier

from dforest.extras import needed
from dforest.interchange.conversion.columns import check_numbers_alone, probes_of
from dforest.interchange.conversion.probes import check_same


@np.errstate(under="ignore")
def to_shap(estimator, verify):
    """What `ExportPart.to_shap` returns for a fitted estimator."""
    check_numbers_alone(estimator, "shap")
    forest = estimator.forest_
    baseline = forest.objective.baseline
    votes = _votes(forest, getattr(estimator, "voting", "soft"))
    if baseline is None:
        output, offset = "probability" if is_classifier(estimator) else "raw_value", 0.0
    else:
        output = "log_odds" if getattr(estimator._loss, "name", None) == "log_loss" else "raw_value"
        offset = baseline[0] if len(baseline) == 1 else np.array(baseline)
    model = {
        "trees": [_tree(forest, t, votes(t)) for t in range(forest.n_trees)],
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
        "tree_output": output,
        "objective": None,
        "base_offset": offset,
    }
    if verify:
        _verify(model, estimator, votes)
    return model


def _votes(forest, voting):
    """A function that returns, for a tree, what each of its leaves adds to predictions, in the order of the nodes."""
    added, baseline = forest.leaf_votes(voting), forest.objective.baseline
    first = forest.node_offsets

    def of_tree(t):
        nodes = slice(first[t], first[t + 1])
        leaves = added[forest.leaf_row[nodes][forest.feature[nodes] < 0]]
        if baseline is None:
            return leaves / forest.n_trees
        if leaves.shape[1] == len(baseline):
            return leaves
        sums = np.zeros((len(leaves), len(baseline)))
        sums[:, t % len(baseline)] = leaves[:, 0]
        return sums

    return of_tree


def _tree(forest, t, votes):
    """A tree as a dict; votes: what its leaves add."""
    tree = forest.tree(t)
    weight = forest.objective.total_weight(forest.node_table(t).weight).astype(np.float64) * forest.weight_unit[t]
    inner, numbers = tree.feature >= 0, np.arange(len(tree.feature))
    left, right = np.where(inner, numbers + 1, -1), np.where(inner, tree.right_child.astype(np.int64), -1)
    # Of nodes that are no leaves, shap asks what the root's leaves say on average.
    values, depth = np.zeros((len(inner), votes.shape[1])), tree.depths()
    values[~inner] = votes
    by_depth = np.argsort(-depth[inner], kind="stable")
    nodes = np.flatnonzero(inner)[by_depth]
    for level in np.split(nodes, np.flatnonzero(np.diff(depth[nodes])) + 1):
        sums = sum(weight[child[level], None] * values[child[level]] for child in (left, right))
        values[level] = sums / weight[level, None]
    return {
        "children_left": left.astype(np.int32),
        "children_right": right.astype(np.int32),
        "children_default": np.where(tree.missing_left, left, right).astype(np.int32),
        "features": tree.feature.copy(),
        "thresholds": np.where(inner, tree.threshold, 0.0).astype(np.float64),
        "values": values,
        "node_sample_weight": weight,
    }


def _verify(model, estimator, votes):
    """Raise ConversionError unless rows reach the leaves that they should, in the trees as shap has read them."""
    shap = needed("shap", "shap", "to_shap(verify=True)")
    _, rows = probes_of(estimator, np.float64, infinite=True)
    forest = estimator.forest_
    reached = forest.packed(getattr(estimator, "voting", "soft")).apply(rows, 1)
    for t, tree in enumerate(model["trees"]):
        alone = shap.TreeExplainer({**model, "trees": [tree], "base_offset": 0.0}).model
        place = np.cumsum(tree["features"] < 0) - 1
        check_same("shap", rows, votes(t)[place[reached[:, t]]], alone.predict(rows))
