"""Target statistics of labels, for boosted trees: columns of many labels as columns of numbers, which nodes cut as any others.

In a node, the rows of one label are few where labels are many, and what their gradients say of the label is mostly noise that
the rows themselves made. So each label of a column that has many also has a *statistic*: the mean response of its rows, shrunk to
that of all rows, where the response of a row is what its first gradient asks for, -gradient. Rows are dealt out to folds, and a
row is given the statistic that the rows of the other folds make of its label; rows to be predicted are given that of all rows.
Statistics are in a unit of their own, a power of two, in which float32 holds them, whatever the targets are.

So a cut of such a column is a set of labels: those whose statistic is at most the threshold. Trees are grown from columns of
statistics beside the columns of X, and keep sets; nothing that reads a forest knows the difference.

Cross-fitted statistics are described by F. Pargent et al., "Regularized target encoding outperforms traditional methods in
supervised machine learning with high cardinality features", Computational Statistics 37, 2022.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from dforest.core.grow.label_order import LABELS_ORDERED_ABOVE
from dforest.core.search.oblique_test import ObliqueTest
from dforest.core.sparse_rows import SparseRows
from dforest.estimators.boosting.rows import count_strata

N_FOLDS = 5
PRIOR_ROWS = 10.0  # rows of the mean response, by which the statistic of a label is shrunk
MOST_SUMS = 10  # of raw predictions, for each of which a column of labels has a column of statistics
EXACT_BITS = 53  # of integers that float64 adds up without rounding


@dataclass(frozen=True, eq=False)
class LabelStatistics:
    """Columns of statistics, and what they say of labels.

    Attributes
    ----------
    rows : ndarray of shape (n_own_rows, n_columns), dtype float32 or float64
        Of each row and column, the statistic that the rows of other folds make of the row's label.
    of_labels : list of ndarray of shape (n_labels + 1,), dtype float32 or float64
        Of each column, the statistics of labels by all rows. The last one is that of missing values, which labels that did not
        occur share.
    features : ndarray of shape (n_columns,), dtype int32
        The column of X whose labels they are.
    n_categories : ndarray of shape (n_features,), dtype int32
        How many labels each column of X has; 0: it has none.
    has_payloads : bool, default=False
        Whether each test of a tree has a payload, as `ObliqueSplitter` reads it.
    """

    rows: np.ndarray
    of_labels: list
    features: np.ndarray
    n_categories: np.ndarray
    has_payloads: bool = False

    @property
    def n_features(self):
        """Columns of X."""
        return len(self.n_categories)

    @property
    def n_columns(self):
        """Columns of statistics."""
        return len(self.features)

    @property
    def all_n_categories(self):
        """`n_categories` of the columns of X and of statistics."""
        return np.append(self.n_categories, np.zeros(self.n_columns, np.int32))

    def beside_columns(self, X):
        """The columns of X, an ndarray or `SparseRows`, and those of statistics."""
        if isinstance(X, SparseRows):
            return SparseRows.of(hstack([X.matrix(), csr_array(self.rows)], "csr"))
        return np.hstack([X, self.rows])

    def beside(self, constraints):
        """The `Constraints` on the columns of X, with the columns of statistics, which cost what those of their labels do."""
        directions = constraints.directions
        if directions is not None:
            directions = np.append(directions, np.zeros(self.n_columns, directions.dtype))
        costs = constraints.costs
        origins = np.append(np.arange(self.n_features, dtype=np.int32), self.features)
        return constraints._replace(
            directions=directions, costs=None if costs is None else np.append(costs, costs[self.features]), origins=origins
        )

    def with_sets(self, tree):
        """A tree whose nodes test sets of labels in place of statistics.

        Parameters
        ----------
        tree : TreeArrays
            Grown from the columns of X and then those of statistics; borrowed.
        """
        found = np.flatnonzero(tree.feature >= self.n_features)
        if len(found) == 0:
            return tree
        if self.has_payloads:
            return self._with_payloads(tree, found)
        feature, threshold, missing_left = (array.copy() for array in (tree.feature, tree.threshold, tree.missing_left))
        columns = feature[found] - self.n_features
        feature[found] = self.features[columns]
        nodes = np.flatnonzero(np.where(feature >= 0, self.n_categories[feature], 0) > 0)  # those that have sets
        given = iter(np.split(tree.payload_words, np.cumsum(tree.payload_lengths)[:-1]))
        made = {int(node): self._set(column, threshold[node]) for node, column in zip(found, columns, strict=True)}
        sets = [made[node] if node in made else next(given) for node in nodes.tolist()]
        missing_left[found] = [self._is_left(*cut)[-1] for cut in zip(columns, threshold[found], strict=True)]
        threshold[found] = np.nan
        lengths = np.array(list(map(len, sets)), np.int64)
        return tree._replace(
            feature=feature, threshold=threshold, missing_left=missing_left, payload_lengths=lengths,
            payload_words=np.concatenate(sets),
        )  # fmt: skip

    def _with_payloads(self, tree, found):
        """`with_sets` of a tree with payloads, given the nodes that test statistics."""
        feature, lengths = tree.feature.copy(), tree.payload_lengths.copy()
        payloads = np.split(tree.payload_words, np.cumsum(lengths)[:-1])
        place = np.cumsum(feature >= 0) - 1  # of a node's payload
        for node in found.tolist():
            column, test = feature[node] - self.n_features, ObliqueTest.read(payloads[place[node]])
            feature[node] = self.features[column]
            head = [np.nan, float(self._is_left(column, test.threshold)[-1]), float(feature[node])]
            own = self._set(column, test.threshold)
            payloads[place[node]] = np.concatenate([np.array(head).view(np.uint64), own if len(own) else np.zeros(1, np.uint64)])
            lengths[place[node]] = len(payloads[place[node]])
        return tree._replace(feature=feature, payload_lengths=lengths, payload_words=np.concatenate(payloads))

    def _is_left(self, column, threshold):
        """Which labels, and at last missing values, go left by a cut of statistics: ndarray of bool."""
        return self.of_labels[column] <= np.asarray(threshold, self.rows.dtype)

    def _set(self, column, threshold):
        """The words of a node's set, which has the labels that don't go where missing values go, up to the last one."""
        is_left = self._is_left(column, threshold)
        labels = np.flatnonzero(is_left[:-1] != is_left[-1])
        bits = np.zeros(64 * (1 + labels[-1] // 64) if len(labels) else 0, bool)
        bits[labels] = True
        return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


def statistics_of(estimator, sample, baseline, seed, ranks):
    """The `LabelStatistics` of the columns of some rows that have many labels; None: there is no such column. A collective.

    Parameters
    ----------
    estimator : BoostingEstimator
        Of which features and loss are known.
    sample : Sample
        The rows that trees are grown on.
    baseline : tuple of float
        What raw predictions begin with.
    seed : int
        Of the rows, below 2**32.
    ranks : Communicator
    """
    n_categories = np.asarray(estimator._features.n_categories, np.int32)
    many = np.flatnonzero(n_categories > LABELS_ORDERED_ABOVE)
    if estimator.categorical_split_ != "order" or len(many) == 0:
        return None
    loss = estimator._loss.bound(sample.queries)
    loss = loss.at_start(baseline, sample.y, sample.weight, ranks, sample.offset)
    responses, weights = _responses(loss, sample, baseline, ranks)
    fold = sample.allocate(N_FOLDS, (seed + 1) % 2**32, count_strata(estimator), ranks)
    n_rows, dtype = ranks.total(len(sample.y)), sample.X.dtype
    totals, weight = (_total(array.sum(axis=0), ranks) for array in (responses, weights))
    rows, of_labels, features = [], [], []
    for j in many.tolist():
        column = sample.X[:, j] if isinstance(sample.X, np.ndarray) else sample.X.column(j)
        label = np.where(np.isnan(column), n_categories[j], column).astype(np.intp)
        place, shape = label * N_FOLDS + fold, (n_categories[j] + 1, N_FOLDS)
        heavy = _total(np.bincount(place, weights, shape[0] * N_FOLDS), ranks).reshape(shape)
        for k in range(min(responses.shape[1], MOST_SUMS)):
            sums = _total(np.bincount(place, responses[:, k], shape[0] * N_FOLDS), ranks).reshape(shape)
            sums = sums - heavy * (totals[k] / weight)  # what is beyond the mean response
            prior = PRIOR_ROWS * weight / n_rows
            of_all = sums.sum(axis=1), heavy.sum(axis=1) + prior
            of_others = (of_all[0][:, None] - sums) / (of_all[1][:, None] - heavy)
            of_labels.append((of_all[0] / of_all[1]).astype(dtype))
            rows.append(of_others.ravel()[place].astype(dtype))
            features.append(j)
    has_payloads = estimator.split_axis == "oblique"
    return LabelStatistics(np.column_stack(rows), of_labels, np.array(features, np.int32), n_categories, has_payloads)


def _total(sums, ranks):
    """Sums of integers over the rows of all ranks: float64. A collective."""
    return ranks.sum(np.asarray(sums, np.int64)).astype(np.float64)


def _responses(loss, sample, baseline, ranks):
    """(the responses of rows, each times its weight, of shape (n_rows, n_sums); their weights). A collective.

    Both are integers in float64, of units that are powers of two, so that sums are exact in any order.
    """
    weight = np.ones(len(sample.y)) if sample.weight is None else sample.weight
    gradient = np.zeros((0, len(baseline)))
    if len(sample.y):  # a rank may have no rows
        gradient, _ = loss.derivatives(sample.y, baseline, sample.offset)
    found = []
    for values in (-gradient * weight[:, None], weight):
        most = float(ranks.greatest(np.array([np.abs(values).max(initial=0.0)]))[0])
        n_bits = EXACT_BITS - ranks.total(len(weight)).bit_length()
        found.append(np.rint(np.ldexp(values, n_bits - int(np.frexp(most)[1]))))
    return found
