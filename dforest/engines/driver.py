"""Grows trees over a shard, many nodes at a time: the one driver of every engine whose work is worth starting for many nodes.

A driver knows nodes and decides; a shard (`dforest.engines.shard`) knows rows, adds up what the driver asks for, and partitions.
A node is *evaluated* once its best cut is known; it is *divided* once its rows are partitioned and its children evaluated; it is
*split* once it is known to be an inner node of the tree. Without a limit on leaves, every node that has a cut is split, a level
of the trees at a time. With one, nodes are split in the order of their scores (`Frontier`), but as the best cut of a node depends
on nothing but the node, those of the highest scores are divided ahead. A node that was divided in vain stays a leaf: its rows
have only changed places within its range.

Nodes of few records may be left to the shard, which grows whole *subtrees*. A *reference* to a node is its number among the nodes
that are evaluated here, in the order in which that happens, or -1 less the number of its subtree.

A driver owns the table of its nodes.
"""

from abc import ABC, abstractmethod

import numpy as np

from dforest.core.tree.split_queue import SplitQueue


class Frontier:
    """The nodes of one tree that may be split, of a tree with a limit on leaves.

    Parameters
    ----------
    root : int
        Its number. A tree's nodes have any numbers.
    max_leaves : int
    score_of : callable
        Given an evaluated node's number, returns the score of its cut, by which nodes are compared, and the exponent of the
        score's unit; or None if it has no cut.
    children : dict of int to [int, int]
        Of divided nodes: the numbers of the left and the right child.

    Attributes
    ----------
    inner : list of int
        The nodes that have been split.
    """

    def __init__(self, root, max_leaves, score_of, children):
        self.inner = []
        self._max_leaves, self._score_of, self._children = max_leaves, score_of, children
        self._queue, self._numbers = SplitQueue(), []  # of the nodes by their numbers in the queue
        self._enter(root, -1, False)

    def _enter(self, number, parent, is_right):
        """Have an evaluated node wait to be split, if it has a cut, given its parent's number in the queue."""
        self._numbers.append(number)
        at, score = self._queue.note(parent, is_right), self._score_of(number)
        if score is not None:
            self._queue.push(at, *score)

    def advance(self, ahead):
        """Split nodes as long as the next one is divided.

        Parameters
        ----------
        ahead : callable
            Given the number of leaves, returns how many nodes are worth being divided at once.

        Returns
        -------
        list of int
            The nodes to divide, the next one first among them; empty if the tree is done.
        """
        while len(self._queue) and len(self.inner) + 1 < self._max_leaves:
            at = self._queue.pop()
            number = self._numbers[at]
            if number not in self._children:
                self._queue.push(at, *self._score_of(number))
                n_leaves = len(self.inner) + 1
                best = self._queue.first(min(self._max_leaves - n_leaves, ahead(n_leaves)))
                return [self._numbers[at] for at in best if self._numbers[at] not in self._children]
            self.inner.append(number)
            for side, child in enumerate(self._children[number]):
                self._enter(child, at, bool(side))
        return []


class Driver(ABC):
    """Grows some trees together.

    Parameters
    ----------
    max_leaf_nodes : int or None
        Of a tree.
    subtree_up_to : int
        Records of the largest node whose subtree the shard grows; -1: it grows none. With a limit on leaves there are no
        subtrees but whole trees.
    **columns
        Arrays of no entries: what is kept of each evaluated node. "node", a `df_open_node`; "cut", a record with the field
        "feature", -1 if the node has no cut; "score" and "unit", an exponent: cuts are compared by score * 2**unit; and what the
        kind of tree needs besides.

    Attributes
    ----------
    table : dict of str to ndarray
        These columns, of the nodes that have been evaluated.
    subtrees : list of ndarray, dtype df_open_node
        The nodes whose subtrees the shard is to grow.
    children : dict of int to [int, int]
        Of nodes that were divided ahead: the numbers of the left and the right child.
    """

    def __init__(self, max_leaf_nodes, subtree_up_to, **columns):
        self.max_leaf_nodes, self.subtree_up_to = max_leaf_nodes, subtree_up_to
        self.table, self.subtrees, self.children = columns, [], {}
        self._n_subtrees = 0

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
            The columns of the table for these nodes, but for "node".
        """

    @abstractmethod
    def partition(self, numbers):
        """Partition the rows of nodes by their cuts: the children as `df_open_node`, left and right in turn."""

    def ahead(self, n_leaves):
        """How many nodes of a tree of so many leaves are divided at once, where there is a limit on leaves."""
        return 1

    def grow_nodes(self, roots):
        """Evaluate and split nodes until the trees are done.

        Parameters
        ----------
        roots : ndarray of shape (n_trees,), dtype df_open_node

        Returns
        -------
        roots : ndarray of shape (n_trees,), dtype int64
            References to them.
        feature : ndarray of shape (n_nodes,), dtype int32
            What each evaluated node tests; -1: it has not been split.
        children : ndarray of shape (n_nodes, 2), dtype int64
            References to the children of nodes that were split.
        """
        roots = self._enter(roots, None)
        if self.max_leaf_nodes is None:
            first, levels = 0, [np.zeros((0, 2), np.int64)]
            while len(numbers := first + np.flatnonzero(self.table["cut"]["feature"][first:] >= 0)):
                first = len(self.table["node"])
                levels.append(self._divide(numbers))
            inner, of_inner = np.flatnonzero(self.table["cut"]["feature"] >= 0), np.concatenate(levels)
        else:
            limits = self.max_leaf_nodes, self._score_of, self.children
            frontiers = [Frontier(root, *limits) for root in roots.tolist() if root >= 0]
            while numbers := [number for frontier in frontiers for number in frontier.advance(self.ahead)]:
                found = self._divide(np.array(numbers))
                self.children.update(zip(numbers, found.tolist(), strict=True))
            inner = np.array(sorted(number for frontier in frontiers for number in frontier.inner), np.int64)
            of_inner = np.array([self.children[number] for number in inner.tolist()], np.int64).reshape(-1, 2)
        n = len(self.table["node"])
        feature, children = np.full(n, -1, np.int32), np.zeros((n, 2), np.int64)
        feature[inner] = self.table["cut"]["feature"][inner]
        children[inner] = of_inner
        return roots, feature, children

    def _enter(self, nodes, parents):
        """Evaluate new nodes, but for those whose subtrees the shard grows; return references to all."""
        is_large = nodes["n"] > self.subtree_up_to
        n_large, n = int(is_large.sum()), len(nodes)
        references = np.empty(n, np.int64)
        references[is_large] = len(self.table["node"]) + np.arange(n_large)
        references[~is_large] = -1 - self._n_subtrees - np.arange(n - n_large)
        self._n_subtrees += n - n_large
        self.subtrees.append(nodes[~is_large])
        if n_large:
            nodes = nodes[is_large]
            columns = self.evaluate(nodes, None if parents is None else parents[is_large])
            columns["node"] = nodes
            self.table = {name: np.concatenate([known, columns[name]]) for name, known in self.table.items()}
        return references

    def _divide(self, numbers):
        """Partition the rows of nodes, and evaluate their children: references to these, of shape (n_nodes, 2)."""
        return self._enter(self.partition(numbers), np.repeat(numbers, 2)).reshape(-1, 2)

    def _score_of(self, number):
        """The score of a node's cut, and the exponent of its unit; None: it has no cut."""
        return (self.table["score"][number], self.table["unit"][number]) if self.table["cut"]["feature"][number] >= 0 else None
