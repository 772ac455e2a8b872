"""Grows trees over a shard, many nodes at a time: what the drivers of forests and of boosted trees have in common.

A driver knows nodes and decides; a shard (`dforest.engines.device.shard`) knows rows, adds up what the driver asks for, and
partitions. A node is *evaluated* once its best cut is known; it is *divided* once its rows are partitioned and its children
evaluated; it is *split* once it is known to be an inner node of the tree. Which nodes are divided next is up to the frontier: by
level, every node that has a cut is split, and all of a level of the trees are divided together. With a limit on leaves, the nodes
of a tree are split best first, in the order of their scores; but as the best cut of a node depends on nothing but the node, those
of the highest scores are divided ahead. A node that was divided in vain stays a leaf: its rows have only changed places within
its range.

Nodes of few records may be left to the shard, which grows whole *subtrees*. A *reference* to a node is its number among the nodes
that are evaluated here, in the order in which that happens, or -1 less the number of its subtree.

A driver owns the table of its nodes.
"""

from abc import ABC, abstractmethod

import numpy as np

from dforest.core.tree.layout import lay_out, take_ranges
from dforest.core.tree.split_queue import SplitQueue
from dforest.engines.nodes import Nodes, Subtrees
from dforest.rules import arrays
from dforest.rules.records import record


class Driver(ABC):
    """Grows some trees together.

    Parameters
    ----------
    problem : Problem or BoostingProblem
    shard : ForestShard or BoostingShard
    subtree_up_to : int
        Records of the largest node whose subtree the shard grows; -1: it grows none. With a limit on leaves there are no
        subtrees but whole trees.
    **columns
        Arrays of no entries: what is kept of each evaluated node beside what every driver keeps. "cut", a record with the field
        "feature", -1 if the node has no cut; "subset", of the categories that go left; and what the kind of tree needs.

    Attributes
    ----------
    table : dict of str to ndarray
        These columns, of the nodes that have been evaluated; and "node", a `df_open_node`; "score" and "unit", an exponent: cuts
        are compared by score * 2**unit; "children", references to the two of a divided node, 0 of others, as 0 is a root; and
        "is_split".
    leaf_starts : list of ndarray, or None
        Where the draws of each tree's leaves begin, if that is kept.
    """

    def __init__(self, problem, shard, subtree_up_to, **columns):
        self.problem, self.shard, self.subtree_up_to = problem, shard, subtree_up_to
        self.rules = problem.rules
        self.table = {
            "node": np.zeros(0, record("df_open_node")),
            "score": np.zeros(0),
            "unit": np.zeros(0, np.int32),
            "children": np.zeros((0, 2), np.int64),
            "is_split": np.zeros(0, np.bool_),
            **columns,
        }
        self.leaf_starts, self._subtrees, self._n_subtrees = None, [], 0

    @abstractmethod
    def evaluate(self, nodes, parents):
        """Find the best cuts of new nodes.

        Parameters
        ----------
        nodes : ndarray of shape (n,), dtype df_open_node
            One or more; changed where nodes get another scale.
        parents : ndarray of shape (n,), dtype int64, or None
            The numbers of their parents; None: they are roots.

        Returns
        -------
        dict of str to ndarray
            The columns of the table that are not known of every new node.
        """

    @abstractmethod
    def directions(self, cuts):
        """The directions that cuts have by monotonic constraints, and where they part what leaves may be: as of `children`."""

    @abstractmethod
    def ahead(self, n_leaves):
        """How many nodes of a tree of so many leaves are divided at once, where there is a limit on leaves."""

    @abstractmethod
    def describe(self, numbers, feature):
        """The `Nodes` of the trees, given their numbers, ascending, and the features that they test; -1: a leaf."""

    def grow_trees(self, roots, keep_leaves=False):
        """Evaluate and split nodes until the trees are done; yield their `TreeArrays`, in order.

        Parameters
        ----------
        roots : ndarray of shape (n_trees,), dtype df_open_node
        keep_leaves : bool, default=False
            Whether to set `leaf_starts`, of which the shard has to tell: see `Subtrees.leaf_firsts`.
        """
        roots = self._enter(roots, None)
        if self.rules.max_leaf_nodes is None:
            frontiers = [self._by_level()]
        else:
            frontiers = [self._best_first(root) for root in roots.tolist() if root >= 0]
        while numbers := [number for frontier in frontiers for number in next(frontier, ())]:
            numbers = np.array(numbers)
            children = self._enter(self._partition(numbers), np.repeat(numbers, 2))
            self.table["children"][numbers] = children.reshape(-1, 2)
        return self._assemble(roots, keep_leaves)

    def _by_level(self):
        """Split every node that has a cut, and yield those of one level of all trees after the other, to be divided."""
        first = 0
        while first < len(self.table["node"]):
            numbers, first = first + np.flatnonzero(self.table["cut"]["feature"][first:] >= 0), len(self.table["node"])
            self.table["is_split"][numbers] = True
            yield numbers.tolist()

    def _best_first(self, root):
        """Split the nodes of a tree in the order of their scores, and yield those to be divided for that, the next one first."""
        queue, numbers, n_leaves = SplitQueue(), [], 1  # of nodes by their numbers in the queue

        def wait(at):
            """Have a node wait to be split, if it has a cut."""
            number = numbers[at]
            if self.table["cut"]["feature"][number] >= 0:
                queue.push(at, self.table["score"][number], self.table["unit"][number])

        def enter(number, parent, is_right):
            numbers.append(number)
            wait(queue.note(parent, is_right))

        enter(root, -1, False)
        while len(queue) and n_leaves < self.rules.max_leaf_nodes:
            at = queue.pop()
            left, right = self.table["children"][numbers[at]].tolist()
            if left == 0:  # it is not divided yet
                wait(at)
                best = queue.first(min(self.rules.max_leaf_nodes - n_leaves, self.ahead(n_leaves)))
                best = np.array([numbers[some] for some in best])
                yield best[self.table["children"][best, 0] == 0].tolist()
                continue
            self.table["is_split"][numbers[at]] = True
            n_leaves += 1
            enter(left, at, False)
            enter(right, at, True)

    def _enter(self, nodes, parents):
        """Evaluate new nodes, but for those whose subtrees the shard grows; return references to all."""
        is_large = nodes["n"] > self.subtree_up_to
        n_large, n = int(is_large.sum()), len(nodes)
        references = np.empty(n, np.int64)
        references[is_large] = len(self.table["node"]) + np.arange(n_large)
        references[~is_large] = -1 - self._n_subtrees - np.arange(n - n_large)
        self._n_subtrees += n - n_large
        self._subtrees.append(nodes[~is_large])
        if n_large:
            nodes = nodes[is_large]
            columns = self.evaluate(nodes, None if parents is None else parents[is_large])
            columns |= {"node": nodes, "children": np.zeros((n_large, 2), np.int64), "is_split": np.zeros(n_large, np.bool_)}
            self.table = {name: np.concatenate([known, columns[name]]) for name, known in self.table.items()}
        return references

    def _partition(self, numbers):
        """Partition the rows of nodes by their cuts: the children as `df_open_node`, left and right in turn."""
        nodes, cuts = self.table["node"][numbers], self.table["cut"][numbers]
        n_left = self.shard.partition(nodes, cuts, self.table["subset"][numbers])
        return arrays.children(nodes, n_left, *self.directions(cuts))

    def _assemble(self, roots, keep_leaves):
        """The trees' arrays."""
        opened = np.concatenate(self._subtrees)
        subtrees = self.shard.grow_subtrees(opened) if len(opened) else Subtrees.none(self.problem.objective)
        feature = np.where(self.table["is_split"], self.table["cut"]["feature"], -1).astype(np.int32)
        at, at_subtree, starts = lay_out(roots, feature, self.table["children"], subtrees.lengths)
        kept = np.flatnonzero(at >= 0)
        nodes = Nodes.join([self.describe(kept, feature[kept]), subtrees.nodes])
        # Each node that was evaluated and each subtree is a range of the nodes; the ranges are brought into preorder.
        order = np.argsort(np.concatenate([at[kept], at_subtree]))
        lengths = np.concatenate([np.ones_like(kept), subtrees.lengths])
        firsts, lengths = (np.cumsum(lengths) - lengths)[order], lengths[order]
        ordered = nodes.take(firsts, lengths)
        if keep_leaves:
            found = np.concatenate([self.table["node"]["first"][kept[feature[kept] < 0]], subtrees.leaf_firsts])
            found = take_ranges(found, *nodes.leaf_ranges(firsts, lengths))
            self.leaf_starts = np.split(found, ordered.leaf_ranges(starts[:-1], np.diff(starts))[0][1:])
        return ordered.trees(starts)
