"""Fitted estimators as what `shap.TreeExplainer` takes in place of a model: a dict of trees, which owns its arrays."""

import numpy as np
from sklearn.base import is_classifier

from dforest.extras import needed
from dforest.interchange.conversion.chains import threshold_trees
from dforest.interchange.conversion.columns import check_own_tests, known_probes, own_numbers, threshold_labels
from dforest.interchange.conversion.links import LINKS, check_predicts
from dforest.interchange.conversion.probes import check_same


@np.errstate(under="ignore")
def to_shap(estimator, verify, encoded=False):
    """What `dforest.estimators.conversion.to_shap` returns for a fitted estimator.

    encoded: whether rows hold numbers in the place of all labels
    """
    check_own_tests(estimator, "shap")
    check_predicts(estimator, "shap")
    forest, labels = estimator.forest_, own_numbers(estimator) if encoded else threshold_labels(estimator, "shap", np.float64)
    baseline = forest.objective.baseline
    votes = _votes(forest, getattr(estimator, "voting", "soft"))
    if baseline is None:
        output, offset = "probability" if is_classifier(estimator) else "raw_value", 0.0
    else:
        output = "log_odds" if LINKS.get(getattr(estimator._loss, "name", None)) in ("logistic", "share") else "raw_value"
        offset = baseline[0] if len(baseline) == 1 else np.array(baseline)
    model = {
        "trees": [_tree(tree, votes(t)) for t, tree in enumerate(threshold_trees(forest, labels, "shap"))],
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
        "tree_output": output,
        "objective": None,
        "base_offset": offset,
    }
    if verify:
        _verify(model, estimator, labels, votes)
    return model


def _votes(forest, voting):
    """A function that returns, for a tree, what each of its nodes adds to predictions as a leaf; 0 for other nodes."""
    added, baseline = forest.leaf_votes(voting), forest.objective.baseline
    first = forest.node_offsets

    def of_tree(t):
        nodes = slice(first[t], first[t + 1])
        is_leaf = forest.feature[nodes] < 0
        leaves = added[forest.leaf_row[nodes][is_leaf]]
        found = np.zeros((len(is_leaf), added.shape[1] if baseline is None else len(baseline)))
        if baseline is None:
            found[is_leaf] = leaves / forest.n_trees
        elif leaves.shape[1] == len(baseline):
            found[is_leaf] = leaves
        else:
            found[is_leaf, t % len(baseline)] = leaves[:, 0]
        return found

    return of_tree


def _tree(tree, votes):
    """A `ThresholdTree` as a dict; votes: what the nodes of the forest's tree add."""
    # Of nodes that are no leaves, shap asks what the root's leaves say on average.
    values, weight = votes[tree.node], tree.weight
    for level in tree.levels():
        sums = sum(weight[child[level], None] * values[child[level]] for child in (tree.left, tree.right))
        values[level] = sums / weight[level, None]
    return {
        "children_left": tree.left.astype(np.int32),
        "children_right": tree.right.astype(np.int32),
        "children_default": np.where(tree.missing_left, tree.left, tree.right).astype(np.int32),
        "features": tree.feature.astype(np.int32),
        "thresholds": tree.threshold,
        "values": values,
        "node_sample_weight": weight,
    }


def _verify(model, estimator, labels, votes):
    """Raise ConversionError unless rows reach the leaves that they should, in the trees as shap has read them."""
    shap = needed("shap", "shap", "to_shap(verify=True)")
    encoded, rows = known_probes(estimator, np.float64, labels, missing=True, infinite=True)
    reached = estimator.forest_.packed(getattr(estimator, "voting", "soft")).apply(encoded, 1)
    for t, tree in enumerate(model["trees"]):
        alone = shap.TreeExplainer({**model, "trees": [tree], "base_offset": 0.0}).model
        check_same("shap", rows, votes(t)[reached[:, t]], alone.predict(rows))
