"""Forests' trees with a limit on leaves, many nodes at once: the frontier is evaluated ahead, a heap commits in order."""

import numpy as np

from dforest.engines.frontier import Frontier
from dforest.engines.levels import Levels
from dforest.rules.records import record

MIN_AHEAD = 16  # nodes of a tree that are divided at once, if there are as many


class BestFirst(Levels):
    """`Levels` of trees with a limit on leaves."""

    def grow(self):
        """Grow the trees; return their `TreeArrays`, in order."""
        self._set_root_weights()
        roots = self.shard.roots
        self.open_nodes, self.cuts, self.scores = roots[:0], np.zeros(0, record("df_split")), np.zeros(0)
        self.subsets_of = np.zeros((0, self.layout.subset_words), np.uint64)
        left = {}  # of divided nodes: the number of the left child
        frontiers = [Frontier(root, self.max_leaf_nodes, self._score_of, left) for root in self._add(roots).tolist()]
        while wanted := [number for frontier in frontiers for number in frontier.advance(_ahead)]:
            open_nodes = self.open_nodes[wanted]
            n_left = self._partition(open_nodes, self.cuts[wanted], self.subsets_of[wanted])
            children = self._add(self._divide(open_nodes, self.cuts[wanted], n_left))
            left.update(zip(wanted, children[::2].tolist(), strict=True))
        cuts = self.cuts.copy()
        children = np.zeros((len(cuts), 2), np.int64)
        inner = set().union(*(frontier.inner for frontier in frontiers))
        for number in range(len(cuts)):
            if number in inner:
                children[number] = left[number], left[number] + 1
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

    def _score_of(self, number):
        return self.scores[number] if self.cuts["feature"][number] >= 0 else None


def _ahead(n_leaves):
    """How many nodes of a tree are divided at once."""
    return max(MIN_AHEAD, n_leaves // 2)
