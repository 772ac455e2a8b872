"""Trees grown best first, many nodes at once: the frontier is evaluated ahead, a heap commits in order.

Words: a node is *evaluated* once its best cut is known; it is *divided* once its draws are partitioned and both children
evaluated; it is *split* once the heap's order has come to it. As the best cut of a node depends on nothing but the node,
nodes may be divided before it is known whether they will be split: the nodes of highest score, of all trees at once. What is
divided in vain stays a leaf: its draws have only changed places within its run.
"""

import heapq

import numpy as np

from dforest.engines.levels import Levels
from dforest.rules.records import record

MIN_AHEAD = 16  # nodes of a tree that are divided at once, if there are as many


class Frontier:
    """The nodes of a tree that may be split.

    Parameters
    ----------
    root : int
        Its number; nodes are numbered through all trees that are grown together.
    """

    def __init__(self, root):
        self.heap = []  # (-score, sides, number); sides: of the node and its ancestors, which orders nodes as preorder does
        self.n_leaves = 1
        self.root = root

    def add(self, number, score, sides):
        """Enter an evaluated node that has a cut."""
        heapq.heappush(self.heap, (-score, sides, number))


class BestFirst(Levels):
    """`Levels` of trees with a limit on leaves."""

    def grow(self):
        """Grow the trees; return their `TreeArrays`, in order."""
        self._set_root_weights()
        roots = self.shard.roots
        self.open_nodes, self.cuts, self.scores = roots[:0], np.zeros(0, record("df_split")), np.zeros(0)
        self.subsets_of = np.zeros((0, self.layout.subset_words), np.uint64)
        self.pairs = {}  # of divided nodes: the number of the left child, the right one's is 1 more
        self.is_split = set()
        frontiers = [Frontier(root) for root in self._add(roots).tolist()]
        for frontier in frontiers:
            self._enter_node(frontier, frontier.root, b"")
        while wanted := [number for frontier in frontiers for number in self._advance(frontier)]:
            open_nodes = self.open_nodes[wanted]
            n_left = self._partition(open_nodes, self.cuts[wanted], self.subsets_of[wanted])
            children = self._add(self._divide(open_nodes, self.cuts[wanted], n_left))
            self.pairs.update(zip(wanted, children[::2].tolist(), strict=True))
        cuts = self.cuts.copy()
        children = np.zeros((len(cuts), 2), np.int64)
        for number in range(len(cuts)):
            if number in self.is_split:
                children[number] = self.pairs[number], self.pairs[number] + 1
            else:
                cuts["feature"][number] = -1
        self._keep(self.open_nodes, cuts, self.subsets_of)
        self.children.append(children)
        return self._assemble(np.array([frontier.root for frontier in frontiers]))

    def _add(self, open_nodes):
        """Evaluate new nodes; return their numbers."""
        cuts, subsets = self._evaluate(open_nodes)
        numbers = len(self.open_nodes) + np.arange(len(open_nodes))
        self.open_nodes = np.concatenate([self.open_nodes, open_nodes])
        self.cuts = np.concatenate([self.cuts, cuts])
        self.subsets_of = np.concatenate([self.subsets_of, subsets])
        self.scores = np.concatenate([self.scores, self._scores(open_nodes, cuts)])
        return numbers

    def _enter_node(self, frontier, number, sides):
        if self.cuts["feature"][number] >= 0:
            frontier.add(number, float(self.scores[number]), sides)

    def _advance(self, frontier):
        """Split nodes as long as the next one is divided; return which ones to divide, none if the tree is done."""
        most = self.max_leaf_nodes
        while frontier.heap and frontier.n_leaves < most:
            _, sides, number = frontier.heap[0]
            if number not in self.pairs:
                ahead = min(most - frontier.n_leaves, max(MIN_AHEAD, frontier.n_leaves // 2))
                best = heapq.nsmallest(ahead, frontier.heap)
                return [number for _, _, number in best if number not in self.pairs]
            heapq.heappop(frontier.heap)
            self.is_split.add(number)
            frontier.n_leaves += 1
            left = self.pairs[number]
            self._enter_node(frontier, left, sides + b"\0")
            self._enter_node(frontier, left + 1, sides + b"\1")
        return []
