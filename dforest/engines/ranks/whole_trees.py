"""Whole trees that are grown by their owners, which have the rows of all ranks.

Some trees can't be grown from sums over rows: those of a splitter or a criterion that kernels lack, or with preferences among
features that they lack, those by medians or by effects, and those that try a threshold between any two values. For these, each
rank gets the codes and the targets of the rows of all ranks, once, and rows of X if the splitter looks at them. Of R ranks,
rank r then grows the trees r, r + R, ... of a batch alone, from records that the other ranks send: rows are drawn and weighed
where they are. Rows have the numbers, and records the order, that they have in one process, as splitters may look at both.

A `WholeTrees` owns the codes, targets and rows of all ranks.
"""

from dataclasses import replace

import numpy as np

from dforest.core.search.dense import DenseSplitter
from dforest.core.search.heterogeneity import Heterogeneity
from dforest.engines.given import code_types, grow_given
from dforest.engines.layout import has_kernels
from dforest.engines.nodes import range_entries
from dforest.engines.ranks.shipping import collect


def grows_whole(problem):
    """Whether ranks grow the trees of a `Problem` whole; histograms of all values would be longer than the codes of all rows."""
    has_sums = has_kernels(problem) and problem.criterion.is_additive and not isinstance(problem.criterion, Heterogeneity)
    return not has_sums or isinstance(problem.splitter, DenseSplitter)


def whole_bytes(problem):
    """Bytes that a rank needs for the rows of all ranks, whose codes it has twice for a while."""
    row_bytes = 2 * problem.n_features * max(column.codes.itemsize for column in problem.columns)
    for array in (problem.targets.numbers, problem.X):
        row_bytes += 0 if array is None else array.itemsize * (1 if array.ndim == 1 else array.shape[1])
    return problem.n_rows * row_bytes


class WholeTrees:
    """Assigns trees to owners, and all trees to all ranks. Making one is a collective.

    Parameters
    ----------
    ranks : Communicator
    problem : Problem
        Of this rank's rows.
    codes : ndarray of shape (n_own, n_features)
        The codes of this rank's rows.
    n_threads : int
        Threads that grow a tree.
    """

    def __init__(self, ranks, problem, codes, n_threads):
        self._ranks, self._n_threads, share = ranks, n_threads, problem.share
        self._numbers = share.numbers().astype(np.uint32)  # fits have fewer rows than 2**32, those of all ranks together
        own_y, own_X = problem.targets.numbers, problem.X
        matrix = share.gathered(ranks, codes)
        self._columns = [np.ascontiguousarray(matrix[:, j], dtype) for j, dtype in enumerate(code_types(problem.columns))]
        self._y = None if own_y is None else share.gathered(ranks, own_y)
        X = None if own_X is None else share.gathered(ranks, own_X)
        self._problem = replace(problem, X=X)

    def grow(self, open_nodes, own, draws, exact_weight, label_ranks):
        """Grow trees: a collective. The parameters are those of `Shipping.grow`; all nodes are roots."""
        size, rank = self._ranks.size, self._ranks.rank
        parts = [self._records(own[owner::size], draws, exact_weight) for owner in range(size)]
        lengths = np.stack(self._ranks.gather(own["n"].astype(np.int64)))[:, rank::size]
        records, weights = zip(*parts, strict=True)
        records, weights = self._ranks.exchange(list(records)), self._ranks.exchange(list(weights))
        ends = np.cumsum(lengths, axis=1)
        grown = []
        for i, open_node in enumerate(open_nodes[rank::size]):
            of_tree = [slice(end[i] - length[i], end[i]) for end, length in zip(ends, lengths, strict=True)]
            own = (np.concatenate([part[some] for part, some in zip(sent, of_tree, strict=True)]) for sent in (records, weights))
            grown.append(self._grow(open_node, label_ranks, *own))
        numbers = np.concatenate([np.arange(owner, len(open_nodes), size) for owner in range(size)])
        return collect(self._ranks, numbers, grown, self._problem.objective)

    def _records(self, own, draws, exact_weight):
        """The records of some trees, with the numbers of rows among those of all ranks, and their exact weights, if any."""
        sent = draws[range_entries(own["first"], own["n"])]
        weights = np.zeros(len(sent) if exact_weight is not None else 0)
        if exact_weight is not None:
            first = np.repeat(own["first_weight"], own["n"])
            weights[first >= 0] = exact_weight[(first + sent["row"])[first >= 0]]
        sent["row"] = self._numbers[sent["row"]]
        return sent, weights

    def _grow(self, open_node, label_ranks, records, weights):
        """Grow a tree, given its records and their exact weights, if there are any."""
        order = np.argsort(records["row"])
        root, exact_weight = np.array([open_node]), None
        root["first"] = 0
        if len(weights) and open_node["first_weight"] >= 0:
            root["first_weight"], exact_weight = 0, np.zeros(self._problem.n_rows)
            exact_weight[records["row"]] = weights
        return grow_given(self._problem, self._columns, records[order], self._y, root, self._n_threads, exact_weight, label_ranks)
