"""The nodes of a tree that grows best first, as drivers of devices and ranks see them: evaluated ahead, split in order.

A node is *evaluated* once its best cut is known; it is *divided* once its draws, or rows, are partitioned and both children
evaluated; it is *split* once the heap's order has come to it. As the best cut of a node depends on nothing but the node, nodes
may be divided before it is known whether they will be split: those of the highest scores. A node that is divided in vain stays
a leaf: its draws have only changed places within its range.
"""

import heapq


class Frontier:
    """The nodes of one tree that may be split.

    Parameters
    ----------
    root : int
        Its number. A tree's nodes have any numbers; a right child's is its sibling's + 1.
    max_leaves : int or float
        Infinity: there is no limit.
    score_of : callable
        Given an evaluated node's number, returns the score of its cut, by which nodes are compared, or None if it has no cut.
    left : dict of int to int
        Of divided nodes: the number of the left child.

    Attributes
    ----------
    inner : set of int
        The nodes that have been split.
    """

    def __init__(self, root, max_leaves, score_of, left):
        self.root, self.inner = root, set()
        self._max_leaves, self._score_of, self._left = max_leaves, score_of, left
        self._heap = []  # (-score, sides, number); sides: of the node and its ancestors, which orders nodes as preorder does
        self._n_leaves = 1
        self._enter(root, b"")

    def _enter(self, number, sides):
        """Have an evaluated node wait to be split, if it has a cut."""
        score = self._score_of(number)
        if score is not None:
            heapq.heappush(self._heap, (-float(score), sides, number))

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
        while self._heap and self._n_leaves < self._max_leaves:
            _, sides, number = self._heap[0]
            if number not in self._left:
                n = min(self._max_leaves - self._n_leaves, ahead(self._n_leaves))
                best = self._heap if n >= len(self._heap) else heapq.nsmallest(n, self._heap)
                return [number for _, _, number in best if number not in self._left]
            heapq.heappop(self._heap)
            self.inner.add(number)
            self._n_leaves += 1
            for side in range(2):
                self._enter(self._left[number] + side, sides + bytes([side]))
        return []
