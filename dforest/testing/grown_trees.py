"""Grown trees seen from outside: which draws reach each node, and what each split is worth, computed again from the draws.

A node's *decrease* is its weight times the impurity decrease of its split.
"""

import math
from heapq import heappop, heappush

import numpy as np

from dforest.testing.coding import integer_weights
from dforest.testing.scores import gini_score


class GrownTree:
    """A tree of a fitted forest.

    Parameters
    ----------
    fitted : RandomForestClassifier or RandomForestRegressor
    problem : Problem
        The data that it was fitted to.
    t : int
        The tree's number.

    Attributes
    ----------
    feature, right_child, leaf_row : ndarray of shape (n_nodes,)
        As in `dforest.core.forest.arrays.Forest`.
    inner : ndarray of int64
        Numbers of the nodes that are not leaves.
    reached : ndarray of shape (n_rows, n_nodes), dtype bool
        Whether each row passes each node.
    counts, weight : ndarray of shape (n_rows,), dtype int64
        How often each row was drawn, and the integer weight of a draw.
    draws, total_weight : ndarray of shape (n_nodes,), dtype int64
        Number of the draws that reach each node, and their weight.
    depth : ndarray of shape (n_nodes,), dtype int64
    """

    def __init__(self, fitted, problem, t):
        self.forest = forest = fitted.forest_
        self.problem = problem
        first, last = forest.node_offsets[t], forest.node_offsets[t + 1]
        self.feature = forest.feature[first:last]
        self.right_child = self.leaf_row = forest.link[first:last].astype(np.int64)
        self.inner = np.flatnonzero(self.feature >= 0)
        paths, _ = fitted.decision_path(problem.X)
        self.reached = paths.toarray()[:, first:last].astype(bool)
        n_rows = len(problem.X)
        self.counts = counts = forest.row_counts(t).astype(np.int64)
        self.weight = np.ones(n_rows, np.int64)
        if problem.weight is not None:
            self.weight = integer_weights(problem.weight)[0].astype(np.int64)
        self.draws = counts @ self.reached
        self.total_weight = (counts * self.weight) @ self.reached
        self.depth = np.zeros(len(self.feature), np.int64)
        for node in self.inner:
            self.depth[[node + 1, self.right_child[node]]] = self.depth[node] + 1

    def path_features(self, node):
        """The features that the nodes above a node divide by, each once, in order of first use: list of int."""
        features, here = [], 0
        while here != node:
            if self.feature[here] not in features:
                features.append(int(self.feature[here]))
            here = here + 1 if node < self.right_child[here] else int(self.right_child[here])
        return features

    def statistic(self, node):
        """The number of draws of a node, their weight, and the weight of each class: list of int."""
        here = self.reached[:, node]
        weight = (self.counts * self.weight)[here]
        by_class = [int(weight[self.problem.y[here] == k].sum()) for k in range(self.problem.n_classes)]
        return [int(self.draws[node]), int(self.total_weight[node]), *by_class]

    def decreases(self):
        """What each split is worth by Gini impurity or squared error, 0 for leaves: ndarray of shape (n_nodes,)."""
        result = np.zeros(len(self.feature))
        for node in self.inner:
            left, right = int(node + 1), int(self.right_child[node])
            if self.problem.n_classes:
                result[node] = gini_score(self.statistic(left), self.statistic(node))
                continue
            means = []
            for side in (left, right):
                here = self.reached[:, side]
                weight = (self.counts * self.weight)[here].astype(float)
                means.append(math.fsum(weight * self.problem.y[here]) / math.fsum(weight))
            w_left, w_right = float(self.total_weight[left]), float(self.total_weight[right])
            result[node] = w_left / (w_left + w_right) * w_right * (means[0] - means[1]) ** 2
        return result

    def cut_back(self, divided):
        """The tree in which only some inner nodes are divided: the feature of each of its nodes in preorder, -1 for leaves."""
        result, stack = [], [0]
        while stack:
            node = stack.pop()
            stays = self.feature[node] >= 0 and divided[node]
            result.append(int(self.feature[node]) if stays else -1)
            if stays:
                stack += [int(self.right_child[node]), node + 1]
        return result

    def best_first(self, decreases, n_leaves, closest=1e-6):
        """Which nodes are divided if the best are divided first, until the tree has a given number of leaves.

        Returns
        -------
        ndarray of shape (n_nodes,), dtype bool; or None
            None if two decreases are so close to each other that rounding may decide between them.
        """
        divided = np.zeros(len(self.feature), bool)
        heap, found = [], [0]  # nodes that may be divided, and all nodes that have come up
        for _ in range(1, n_leaves):
            for node in found:
                if self.feature[node] >= 0:
                    heappush(heap, (-decreases[node], node))
            if not heap:
                break
            score, node = heappop(heap)
            if heap and score != heap[0][0] and heap[0][0] - score < closest * -score:
                return None
            divided[node] = True
            found = [node + 1, int(self.right_child[node])]
        return divided


def clear_limit(decreases, closest=1e-6):
    """A number between decreases that is near none of them; None if there is no such number."""
    values = np.unique(decreases[decreases > 0])
    if len(values) < 2:
        return None
    gaps = values[1:] / values[:-1]
    gaps[: len(gaps) // 4] = gaps[len(gaps) - len(gaps) // 4 :] = 0.0  # so that there are nodes on both sides
    place = int(gaps.argmax())
    return None if gaps[place] < 1 + closest else float(np.sqrt(values[place]) * np.sqrt(values[place + 1]))


OWN_SCORE = "A score that is meant to be another one is checked with own_score=True"


def check_scores(trial, fitted, decreases_of):
    """Raise unless limits on the impurity decrease and best-first growth follow what splits are worth.

    Parameters
    ----------
    trial : Trial
    fitted : estimator
        An estimator fitted depth first, with the parameters of the trial.
    decreases_of : callable
        Returns what each node's split is worth, ndarray of shape (n_nodes,), given a `GrownTree` and its number.
    """
    rule = "a split's score is the node's weight times the decrease of impurity"
    trees = [GrownTree(fitted, trial.problem, t) for t in range(fitted.forest_.n_trees)]
    decreases = [decreases_of(tree, t) for t, tree in enumerate(trees)]
    roots = [float(tree.total_weight[0]) for tree in trees]
    limit = clear_limit(np.concatenate([part / root for part, root in zip(decreases, roots, strict=True)]))
    if limit is not None:
        limited = trial.fit(min_impurity_decrease=limit)
        for t, tree in enumerate(trees):
            shares = decreases[t] / roots[t]
            expected, grown = tree.cut_back(shares >= limit), features_of(limited, t)
            if expected != grown:
                doubt = first_doubt(tree, expected, grown, shares)
                raise trial.broken(rule, f"{doubt} min_impurity_decrease={limit:.6g}. {OWN_SCORE}")
    for n_leaves in (2, 4, 7):
        limited = trial.fit(max_leaf_nodes=n_leaves)
        for t, tree in enumerate(trees):
            divided = tree.best_first(decreases[t], n_leaves)
            if divided is None:
                continue
            expected, grown = tree.cut_back(divided), features_of(limited, t)
            if expected != grown:
                doubt = first_doubt(tree, expected, grown, decreases[t])
                raise trial.broken(rule, f"{doubt} max_leaf_nodes={n_leaves}. {OWN_SCORE}")


def features_of(fitted, t):
    """The feature of each node of a tree: list of int."""
    forest = fitted.forest_
    return forest.feature[forest.node_offsets[t] : forest.node_offsets[t + 1]].tolist()


def first_doubt(tree, expected, grown, worth):
    """The first difference between a tree and what it should be after it was cut back."""
    # Up to the first difference both trees number their nodes alike; a walk finds the node of the whole tree that it is.
    place = next(i for i, (a, b) in enumerate(zip(expected, grown, strict=False)) if a != b)
    stack = [0]
    for i in range(place + 1):
        node = stack.pop()
        if expected[i] >= 0:
            stack += [int(tree.right_child[node]), node + 1]
    what = "is not divided" if expected[place] >= 0 else "is divided"
    return (f"node {node}, whose split decreases the impurity by {worth[node]:.6g} of "
            f"{worth[worth > 0].min():.6g} to {worth.max():.6g} in the tree, {what} with")
