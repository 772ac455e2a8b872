"""Trees as attributes of operators of ONNX: ``TreeEnsemble`` of ai.onnx.ml 5, and those of versions 1 to 3, the *classic* ones.

Both are given the labels that sets of categories are of: a list with an array for each feature that has categories, of the type
of X. Classic operators have no sets. There a test of n labels becomes a chain of 2 n tests, from the lowest label on: whether the
value is below the label, and whether it is at most the label. Their true sides are the two children of the node, each of which
thus has several parents; false sides lead on. (onnxruntime 1.32 was seen to confuse tests for equality, which would be n.)

A set may be empty, as that of a node of boosted trees which parted training rows by statistics that no label has in the end. To
ONNX it is the test whether a value is below minus infinity, which is true of none.
"""

from typing import NamedTuple

import numpy as np

from dforest.interchange.conversion.probes import next_number, round_down

_LEQ, _LT, _MEMBER = 0, 1, 6  # modes of nodes: x <= threshold, x < threshold, x in a set


def ensemble_attributes(forest, labels, dtype, value_of_leaf):
    """The attributes of a ``TreeEnsemble`` that tells, for each row and tree, the number of the value that the leaf adds.

    Parameters
    ----------
    forest : Forest
    labels : list
    dtype : type
        ``np.float32`` or ``np.float64``: of X.
    value_of_leaf : ndarray of shape (n_leaf_nodes,), dtype uint32
        These numbers, in the order of the nodes.

    Returns
    -------
    attributes, tensors : dict
        Arrays whose elements, and which themselves, are the values of attributes.
    """
    feature, is_leaf, first = forest.feature, forest.feature < 0, forest.node_offsets[:-1]
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.node_offsets))
    number = np.where(is_leaf, np.cumsum(is_leaf), np.cumsum(~is_leaf)) - 1  # among the leaves, or among the other nodes
    inner = np.flatnonzero(~is_leaf)
    has_categories = forest.n_categories[feature[inner]] > 0
    left, right = inner + 1, first[tree[inner]] + forest.right_child[inner]
    true, false = _sides(left, right, has_categories, forest.missing_left[inner])
    threshold = np.where(has_categories, 0.0, forest.threshold[inner].astype(np.float64))
    sets = [labels[feature[node]][forest.subset_of(node)] for node in inner[has_categories]]
    mode = np.where(has_categories, _MEMBER, _LEQ).astype(np.uint8)
    never = np.flatnonzero(has_categories)[[len(members) == 0 for members in sets]]
    threshold[never], mode[never] = -np.inf, _LT
    # A tree that is one leaf is a test to ONNX: both sides of it are the leaf.
    alone = np.flatnonzero(is_leaf[first])
    roots = number[first]
    roots[alone] = len(inner) + np.arange(len(alone))

    def with_alone(array, of_leaf):
        return np.append(array, np.broadcast_to(of_leaf, len(alone)).astype(array.dtype))

    attributes = {
        "nodes_featureids": with_alone(feature[inner], 0),
        "nodes_truenodeids": with_alone(number[true], number[first[alone]]),
        "nodes_falsenodeids": with_alone(number[false], number[first[alone]]),
        "nodes_trueleafs": with_alone(is_leaf[true].astype(np.int64), 1),
        "nodes_falseleafs": with_alone(is_leaf[false].astype(np.int64), 1),
        "nodes_missing_value_tracks_true": with_alone((forest.missing_left[inner] & ~has_categories).astype(np.int64), 0),
        "tree_roots": roots,
        "leaf_targetids": tree[is_leaf],
    }
    tensors = {
        "nodes_modes": with_alone(mode, _LEQ),
        "nodes_splits": round_down(with_alone(threshold, 0.0), dtype),
        "leaf_weights": value_of_leaf.astype(dtype),
    }
    if (mode == _MEMBER).any():
        tensors["membership_values"] = np.concatenate([np.append(members, dtype(np.nan)) for members in sets if len(members)])
    return attributes, tensors


def _sides(left, right, has_categories, missing_left):
    """Where the tests of nodes lead if they are true, and if they are false.

    A value that is in no set, as NaN, is on the false side: a set is of the side opposite to missing values.
    """
    is_swapped = has_categories & missing_left
    return np.where(is_swapped, right, left), np.where(is_swapped, left, right)


class ClassicNodes(NamedTuple):
    """The nodes of a forest for classic operators."""

    attributes: dict  # as of `ensemble_attributes`, but without what leaves add
    tensors: dict  # likewise
    tree: np.ndarray  # int64: of the leaves, in the order of the forest's nodes: the tree
    node: np.ndarray  # int64: and the number of the node there

    def with_leaves(self, of, sums, weight, baseline=None):
        """The attributes and tensors with what leaves add.

        Parameters
        ----------
        of : {"class", "target"}
            What the attributes are called by.
        sums : ndarray of shape (n_leaf_nodes, n), dtype int64
            To which of the sums each leaf adds.
        weight : ndarray of shape (n_leaf_nodes, n), dtype float32 or float64
            What it adds there.
        baseline : ndarray of shape (n_sums,), of the same type, optional
            What sums begin with.
        """
        attributes, tensors, n_each = dict(self.attributes), dict(self.tensors), sums.shape[1]
        for name, array in (("treeids", self.tree), ("nodeids", self.node)):
            attributes[f"{of}_{name}"] = np.repeat(array, n_each)
        attributes[f"{of}_ids"] = sums.ravel()
        _add_floats(attributes, tensors, f"{of}_weights", weight.ravel())
        if baseline is not None:
            _add_floats(attributes, tensors, "base_values", baseline)
        return attributes, tensors


def _add_floats(attributes, tensors, name, array):
    """Add an attribute with floats: those of float64 are a tensor, which versions 1 and 2 do not have."""
    if array.dtype == np.float64:
        tensors[f"{name}_as_tensor"] = array
    else:
        attributes[name] = array


def classic_nodes(forest, labels, dtype):
    """The `ClassicNodes` of a forest; parameters are those of `ensemble_attributes`."""
    feature, is_leaf, first = forest.feature, forest.feature < 0, forest.node_offsets[:-1]
    n, tree = len(feature), np.repeat(np.arange(forest.n_trees), np.diff(forest.node_offsets))
    has_categories = ~is_leaf & (forest.n_categories[feature] > 0)
    sets = [np.sort(labels[feature[node]][forest.subset_of(node)]) for node in np.flatnonzero(has_categories)]
    n_tests = np.ones(n, np.int64)
    n_tests[has_categories] = [2 * len(members) or 1 for members in sets]
    start = np.append(0, np.cumsum(n_tests))
    left = np.minimum(np.arange(n) + 1, n - 1)  # nothing of leaves
    right = np.where(is_leaf, 0, first[tree] + forest.link)
    inside, outside = _sides(left, right, has_categories, forest.missing_left)
    # From here on there is an entry for each test of a node.
    owner = np.repeat(np.arange(n), n_tests)
    test, is_last, is_end = np.arange(len(owner)), np.append(owner[1:] != owner[:-1], True), is_leaf[owner]
    is_never = (has_categories & (n_tests == 1))[owner]
    is_below = has_categories[owner] & ~is_never & ((test - start[owner]) % 2 == 0)
    value = round_down(np.where(is_leaf, 0.0, forest.threshold.astype(np.float64))[owner], dtype)
    members = np.concatenate([np.zeros(0, dtype), *sets])
    value[has_categories[owner] & ~is_never] = np.column_stack([next_number(members, -1), members]).ravel()
    value[is_never] = -np.inf
    origin = start[first[tree[owner]]]
    true, false = np.where(is_below, outside[owner], inside[owner]), outside[owner]
    attributes = {
        "nodes_treeids": tree[owner],
        "nodes_nodeids": test - origin,
        "nodes_featureids": np.where(is_end, 0, feature[owner]),
        "nodes_modes": np.select([is_end, is_never], ["LEAF", "BRANCH_LT"], "BRANCH_LEQ"),
        "nodes_truenodeids": np.where(is_end, 0, start[true] - origin),
        "nodes_falsenodeids": np.where(is_end, 0, np.where(is_last, start[false], test + 1) - origin),
        "nodes_missing_value_tracks_true": (is_below | (forest.missing_left & ~has_categories)[owner]).astype(np.int64),
    }
    tensors = {}
    _add_floats(attributes, tensors, "nodes_values", value)
    return ClassicNodes(attributes, tensors, tree[is_leaf], (start[:-1] - start[first[tree]])[is_leaf])
