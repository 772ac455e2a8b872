"""Which histograms of the nodes of a boosted tree are differences of others.

A *family* is a node that was divided, and its two children. Histograms are sums of integers: those of the child of more rows are
those of the parent less those of the other child, unless the rows of a child were given other integers than the parent's.

Nodes are told apart by the ranges of their rows among all rows, (first, n).
"""


def row_ranges_of(open_nodes):
    """The ranges of rows of nodes, given as an ndarray of `df_open_node`: list of (int, int)."""
    return list(zip(open_nodes["first"].tolist(), open_nodes["n"].tolist(), strict=True))


class Families:
    """The families of a tree that grows."""

    def __init__(self):
        self._relatives = {}  # (parent, sibling), by node
        self._has_other_integers = set()

    def divide(self, open_nodes, n_left):
        """Enter the children of nodes, given how many rows go left: ndarray of int64."""
        for (first, n), n_of_left in zip(row_ranges_of(open_nodes), n_left.tolist(), strict=True):
            left, right = (first, n_of_left), (first + n_of_left, n - n_of_left)
            self._relatives |= {left: ((first, n), right), right: ((first, n), left)}

    def quantise_again(self, open_nodes):
        """Enter that the rows of nodes were given other integers."""
        self._has_other_integers.update(row_ranges_of(open_nodes))

    def parent_of(self, node):
        """The parent of a node; None of a root."""
        return self._relatives.get(node, (None, None))[0]

    def differences(self, nodes, kept):
        """Those nodes whose histograms are the difference of others.

        Parameters
        ----------
        nodes : list
            Those whose histograms are asked for.
        kept : container
            Nodes whose histograms are known.

        Returns
        -------
        differences : dict
            (parent, sibling), by node.
        counted : list
            All nodes whose rows have to be counted: those asked for, and siblings.
        """
        differences = {node: self._relatives[node] for node in nodes if self._is_difference(node, kept)}
        counted = dict.fromkeys(node for node in nodes if node not in differences)
        return differences, list(counted | dict.fromkeys(sibling for _, sibling in differences.values()))

    def _is_difference(self, node, kept):
        parent, sibling = self._relatives.get(node, (None, None))
        is_larger = sibling is not None and (sibling[1], sibling[0]) < (node[1], node[0])
        return is_larger and parent in kept and self._has_other_integers.isdisjoint((node, sibling))
