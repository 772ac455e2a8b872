"""Training rows as neighbours: what the leaves of a forest say of which rows are alike.

The *weight* of a training row for another row is the mean, over trees, of the training row's share in the leaf that the other row
reaches; forests predict by these weights. The *proximity* of two rows is how often they share a leaf.

With ``keep_training_data=True`` a forest keeps copies of its training rows, on each rank those of all ranks. Which of them each
tree drew is computed again by the tree's sampling plan, and in which leaves they lie, by sending them down the trees. The tables
of their leaves are made when they are first needed, belong to the estimator, and are not pickled. Users see the numbers of rows
among all that `fit` was given, those of weight 0 included, of which nothing is kept but their places.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from dforest.core.predict.neighbours import LeafTable, quantiles_of_rows, squares_of_groups, weights_of_rows
from dforest.core.sparse_rows import SparseRows, dense
from dforest.core.threads import each
from dforest.engines.weights import ClassBalance
from dforest.estimators.data.outputs import columns_of
from dforest.estimators.data.validation import count_threads
from dforest.estimators.forest.batch import Batch
from dforest.estimators.other_names import with_hints

_BLOCK_BYTES = 1 << 25  # of the leaves of rows that are worked on together


class TrainingData(NamedTuple):
    """The training rows that a forest keeps, those of weight 0 left out."""

    X: np.ndarray | SparseRows  # of shape (n_rows, n_features), encoded
    y: np.ndarray  # class numbers, or numbers
    weight: np.ndarray | None  # `IntegerWeights.in_units`; None: all are 1
    balance: ClassBalance | None  # what makes the weights of each tree from its draws, in place of `weight`
    kept: np.ndarray | None = None  # a bit for each row that `fit` was given: whether it is one of these; None: all are
    n_given: int | None = None  # how many these are; None in what an earlier version kept

    @classmethod
    def of(cls, rows, plan, n_classes):
        """Copies of `TrainingRows`, for the trees of a `Plan`, whose estimator has `n_classes`.

        Each rank gets the rows of all ranks, as one process would have them. A collective.
        """
        weights, balance = plan.weights_of_draws(rows, n_classes)
        kept = rows.kept_of_all()
        bits, n_given = (None, rows.n_rows) if kept is None else (np.packbits(kept), len(kept))
        weight = None if balance else weights.in_units
        if rows.is_divided:
            X, y = rows.share.gathered_X(rows.ranks, rows.X), rows.of_all(rows.y)
            weight = None if weight is None else rows.of_all(weight)
            if balance is not None:
                weights_of_all = None if balance.sample_weight is None else rows.of_all(balance.sample_weight)
                balance = ClassBalance(y, balance.n_classes, weights_of_all)
            return cls(X, y, weight, balance, bits, n_given)
        X = rows.parts[0]
        X = X.copy() if isinstance(X, SparseRows) else np.array(X, order="C")
        return cls(X, np.array(rows.y), weight, balance, bits, n_given)

    def check(self, forest):
        """Raise TypeError or ValueError unless these can be the training rows of a forest."""
        n_rows, objective = int(forest.n_rows[0]), forest.objective
        shape = (n_rows,) if objective.n_outputs == 1 else (n_rows, objective.n_outputs)
        is_sparse = isinstance(self.X, SparseRows)
        rows, y = self.X if is_sparse else np.asarray(self.X), np.asarray(self.y)
        if is_sparse:
            rows.check()
        elif rows.dtype not in (np.float32, np.float64) or not rows.flags.c_contiguous:
            raise ValueError(f"training rows have the type {rows.dtype}; allowed are contiguous arrays of float32 and float64")
        if rows.shape != (n_rows, forest.n_features):
            raise ValueError(f"training rows have the shape {rows.shape}; that of this forest is {(n_rows, forest.n_features)}")
        if y.shape != shape or y.dtype.kind not in "if":
            raise ValueError(
                f"training targets have the shape {y.shape} and the type {y.dtype}; allowed are numbers of the shape {shape}"
            )
        objective.check_encoded(y)
        weight = self.weight if self.balance is None else self.balance.sample_weight
        if weight is not None and np.shape(weight) != (n_rows,):
            raise ValueError(f"training weights have the shape {np.shape(weight)}; that of this forest is {(n_rows,)}")
        if self.n_given is not None:
            Batch(0, self.n_given, self.kept, None, None).check(forest.n_rows[:1])
        balance = self.balance
        if balance is None:
            return
        limits, n_classes = np.atleast_1d(balance.n_classes), [own.stop - own.start for own in objective.outputs]
        is_known = limits.shape == (objective.n_outputs,) and (y.max(axis=0) < limits).all() and (limits <= n_classes).all()
        if not (is_known and np.array_equal(balance.classes, y)):
            raise ValueError("training targets differ from the class numbers by which their classes are balanced")

    def equals(self, other):
        """Whether these are the rows of other `TrainingData`."""
        if (self.balance is None) != (other.balance is None):
            return False
        weights = [(data.weight if data.balance is None else data.balance.sample_weight) for data in (self, other)]
        same_weights = weights[0] is weights[1] is None or np.array_equal(*weights)
        return same_weights and np.array_equal(self.y, other.y) and _are_equal(self.X, other.X)

    def masses(self, counts):
        """What the rows weigh in a tree, given how often it drew each of them: ndarray of shape (n_rows,), dtype float64."""
        weight = self.weight if self.balance is None else self.balance.integer_weights(counts[None])[0].in_units
        return counts.astype(np.float64) if weight is None else counts * weight.astype(np.float64)


def _are_equal(X, other):
    """Whether two matrices have equal values; some rows of sparse ones are unpacked at a time."""
    if isinstance(X, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(X, other, equal_nan=True)
    if X.shape != other.shape:
        return False
    n = max(1, _BLOCK_BYTES // (8 * X.shape[1]))
    blocks = (slice(first, first + n) for first in range(0, len(X), n))
    return all(np.array_equal(dense(X[block]), dense(other[block]), equal_nan=True) for block in blocks)


class NeighbourMixin:
    """What forests tell of the training rows in their leaves."""

    def _kept_rows(self, rows, plan):
        if not self.keep_training_data:
            return None
        data = TrainingData.of(rows, plan, getattr(self, "n_classes_", None))
        if plan.n_grown:
            kept = getattr(self, "_training_data", None)
            if kept is None or not kept.equals(data):
                raise ValueError(
                    f"keep_training_data={self.keep_training_data}, but warm_start=True goes on with trees whose training rows "
                    + ("were not kept" if kept is None else "were others than those of this fit")
                    + "; allowed is False, or the rows that all trees were grown on, if draws of them weigh the same"
                )
        return data

    def _training_rows(self):
        """The `TrainingData` of the forest. Raises ValueError if they were not kept."""
        check_is_fitted(self)
        data = getattr(self, "_training_data", None)
        if data is None:
            raise ValueError(
                f"{type(self).__name__} was fitted with keep_training_data=False, but this method needs the training rows; fit "
                "it with keep_training_data=True"
            )
        return data

    def _numbers_of_kept_rows(self):
        """(how many rows `fit` was given, the numbers of the `TrainingData` among them or None if these are all)."""
        data = self._training_rows()
        kept, n_given, batch = data.kept, data.n_given, self._batches[-1]
        if n_given is None:  # a model of an earlier version: its last batch tells; if ranks fitted it, it has kept all rows
            kept, n_given = (batch.kept, batch.n_rows) if batch.share is None else (None, len(data.y))
        return n_given, None if kept is None else np.flatnonzero(np.unpackbits(kept, count=n_given))

    def _of_given_rows(self, found):
        """What is known of the training rows, as an array of all rows that `fit` was given: NaN for those of weight 0."""
        n_given, numbers = self._numbers_of_kept_rows()
        if numbers is None:
            return found
        of_all = np.full((n_given, *found.shape[1:]), np.nan)
        of_all[numbers] = found
        return of_all

    def _derived(self, name, make):
        """What follows from the training rows and the trees, made when it is first asked for."""
        made_for, derived = self.__dict__.get("_leaf_tables", (None, {}))
        if made_for is not self.forest_:
            derived = {}
            self._leaf_tables = (self.forest_, derived)
        if name not in derived:
            derived[name] = make()
        return derived[name]

    def _leaf_table(self, of_draws=True):
        """The `LeafTable` of the rows that trees drew, or, of all rows."""
        data, forest = self._training_rows(), self.forest_

        def make():
            ones = np.ones(len(data.y))
            return LeafTable(
                lambda t: forest.tree(t).packed().apply(data.X, 1)[:, 0],
                lambda t: data.masses(forest.row_counts(t)) if of_draws else ones,
                np.diff(forest.node_offsets),
                len(data.y),
                of_draws,
                count_threads(self.n_jobs),
            )

        return self._derived(("drawn" if of_draws else "all"), make)

    def _blocks(self, X):
        """(the number of the first row, the leaves that the rows reach) of one block of checked rows after another."""
        n_threads, n = count_threads(self.n_jobs), max(1, _BLOCK_BYTES // (8 * self.forest_.n_trees))
        for first in range(0, len(X), n):
            yield first, self.forest_.packed(n_threads=n_threads).apply(X[first : first + n], n_threads)

    def _blocks_out_of_bag(self):
        """`_blocks` of the training rows, in which a tree does not count for rows that are not out of its bag."""
        forest, data = self.forest_, self._training_rows()
        used = np.empty((forest.n_trees, -(-len(data.y) // 8)), np.uint8)

        def mark(t, _):
            used[t] = np.packbits(~forest.left_out(t))

        each(forest.n_trees, mark, count_threads(self.n_jobs))
        for first, leaf in self._blocks(data.X):
            end = first + len(leaf)
            bits = np.unpackbits(used[:, first // 8 : -(-end // 8)], axis=1)[:, first % 8 :][:, : len(leaf)]
            leaf[bits.T.astype(bool)] = -1
            yield first, leaf

    def _sparse(self, table, blocks, are_training_rows=False):
        """The weights of training rows for the rows of all blocks, as a sparse matrix.

        Its columns are all rows that `fit` was given, and so are its rows, if those of the blocks are the training rows.
        """
        n_given, numbers = self._numbers_of_kept_rows()
        found = [weights_of_rows(table, leaf, count_threads(self.n_jobs)) for _, leaf in blocks]
        lengths = np.concatenate([np.empty(0, np.int64), *(np.diff(starts) for starts, _, _ in found)])
        rows = np.concatenate([np.empty(0, np.uint32), *(rows for _, rows, _ in found)])
        if numbers is not None:
            rows = numbers[rows]
            if are_training_rows:
                own, lengths = lengths, np.zeros(n_given, np.int64)
                lengths[numbers] = own
        starts = np.append(0, lengths.cumsum())
        small = max(starts[-1], n_given) < 2**31
        parts = (
            np.concatenate([np.empty(0), *(weights for _, _, weights in found)]),
            rows.astype(np.int32 if small else np.int64),
            starts.astype(np.int32 if small else np.int64),
        )
        kind = csr_array if get_config().get("sparse_interface") == "sparray" else csr_matrix
        return kind(parts, shape=(len(starts) - 1, n_given))

    def forest_weights(self, X):
        """Return the weight of each training row in the prediction for each row of X.

        In a tree, the weight of a training row is its share in the leaf that the row of X reaches: its draws times its weight
        (the sample weight times that of its class), divided by the sum of these products in the leaf. With
        ``bootstrap="weighted"``, each draw counts as 1. The weight in the forest is the mean over all trees [1]_ [2]_.
        A forest with ``criterion="squared_error"`` predicts the mean of the training targets with these weights, and a
        classifier with ``voting="soft"`` predicts the weighted shares of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        sparse matrix of shape (n_rows, n_training_rows), dtype float64, CSR
            Weights, each row of which sums to 1, but for rounding. Columns are the training rows, numbered as `fit` was given
            them; those of weight 0 have no entries.

        Raises
        ------
        ValueError
            If the forest was not fitted with ``keep_training_data=True``.

        References
        ----------
        .. [1] N. Meinshausen, "Quantile regression forests", Journal of Machine Learning Research 7, 2006.
        .. [2] S. Athey, J. Tibshirani, S. Wager, "Generalized random forests", Annals of Statistics 47(2), 2019.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_diabetes
        >>> from dforest import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(keep_training_data=True, random_state=0).fit(X, y)
        >>> bool(np.allclose(forest.forest_weights(X[:5]) @ y, forest.predict(X[:5])))
        True
        """
        table, X = self._leaf_table(), self._checked_rows(X)
        return self._sparse(table, self._blocks(X))

    def proximity(self, X=None, kind="gap"):
        """Return how close each row of X is to each training row, judged by the leaves that they share.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features), optional
            Rows with the columns of the training data. None means the training rows.
        kind : {"gap", "leaf"}, default="gap"
            Which measure of proximity:

            - "gap" preserves the geometry and the accuracy of the forest [1]_. The proximities are the weights that
              `forest_weights` returns, and for training rows these weights by the trees that left the row out. A training row
              that every tree drew has no proximities. They are not symmetric.
            - "leaf" is the share of the trees in which the two rows reach the same leaf, whether the trees drew them or
              not [2]_.

        Returns
        -------
        sparse matrix of shape (n_rows, n_training_rows), dtype float64, CSR
            Proximities, from 0 to 1. Columns are the training rows, numbered as `fit` was given them. Those of weight 0 have no
            entries, neither as columns nor, if X is None, as rows.

        Raises
        ------
        ValueError
            If the forest was not fitted with ``keep_training_data=True``; also for ``kind="gap"`` of training rows, if it was
            fitted with ``bootstrap=False``.

        References
        ----------
        .. [1] J. S. Rhodes, A. Cutler, K. R. Moon, "Geometry- and accuracy-preserving random forest proximities", IEEE
           Transactions on Pattern Analysis and Machine Intelligence 45(9), 2023.
        .. [2] L. Breiman, A. Cutler, "Manual for setting up, using, and understanding random forests", 2003.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dforest import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(keep_training_data=True, random_state=0).fit(X, y)
        >>> forest.proximity().shape
        (150, 150)
        """
        if kind not in ("gap", "leaf"):
            raise ValueError(f'kind={kind!r}; allowed are "gap" and "leaf"')
        table = self._leaf_table(of_draws=kind == "gap")
        if X is not None:
            return self._sparse(table, self._blocks(self._checked_rows(X)))
        if kind == "leaf":
            return self._sparse(table, self._blocks(self._training_rows().X), are_training_rows=True)
        if not all(plan.leaves_rows_out for plan in self.forest_.plans):
            raise ValueError(
                'kind="gap" of training rows needs trees that left the rows out, by bootstrap=True; without it "leaf" is allowed'
            )
        return self._sparse(table, self._blocks_out_of_bag(), are_training_rows=True)

    def outlier_scores(self):
        r"""Return how far each training row is from the others of its class or, in regression, from all others.

        With the proximities :math:`p` of ``proximity(kind="leaf")``, the raw measure of row i is

        .. math:: r_i = n \Big/ \sum_{j \ne i} p_{ij}^2

        where n is the number of training rows of positive weight, and the sum is over the other ones of these, for
        classification over those of the same class. The score of a row is its raw measure, less the median of these in the
        class, divided by the median of their absolute deviations from that median [1]_. Scores above 10 are suspicious. A row
        that shares no leaf with any other row counts as if it shared a leaf with one of them in one tree. Where the median of
        the deviations is 0, scores are 0 at the median, inf above it and -inf below it.

        Returns
        -------
        ndarray of shape (n_training_rows,), dtype float64
            Scores of the training rows, numbered as `fit` was given them. Those of rows of weight 0 are NaN.

        Raises
        ------
        ValueError
            If the forest was not fitted with ``keep_training_data=True``.

        References
        ----------
        .. [1] L. Breiman, A. Cutler, "Manual for setting up, using, and understanding random forests", 2003.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dforest import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(keep_training_data=True, random_state=0).fit(X, y)
        >>> forest.outlier_scores().shape
        (150,)
        """
        table, data, n_threads = self._leaf_table(of_draws=False), self._training_rows(), count_threads(self.n_jobs)
        group = self._target.groups(self, data.y)
        squares = [squares_of_groups(table, leaf, group, first, n_threads) for first, leaf in self._blocks(data.X)]
        raw = len(data.y) / np.maximum(np.concatenate(squares), self.forest_.n_trees**-2.0)
        scores, (n_given, numbers) = np.empty(len(raw)), self._numbers_of_kept_rows()
        for number in np.unique(group):
            own = group == number
            deviation = raw[own] - np.median(raw[own])
            spread = np.median(np.abs(deviation))
            with np.errstate(divide="ignore", invalid="ignore"):
                scores[own] = np.where(deviation == 0.0, 0.0, deviation / spread)
        if numbers is None:
            return scores
        of_all = np.full(n_given, np.nan)
        of_all[numbers] = scores
        return of_all


@with_hints
def predict_quantiles(self, X, q):
    """Predict quantiles of the target for each row, by the weights that `forest_weights` returns.

    The q-quantile is the least training target for which the weights of all training targets up to it sum to q or more:
    :math:`\\inf\\{y : F(y \\mid x) \\ge q\\}` [1]_. Targets of weight 0 do not count. As sums of weights are rounded, a sum
    that is less than q by no more than 2**-40 counts as q.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows with the columns of the training data.
    q : float or array-like of shape (n_q,)
        Which quantiles: numbers from 0 to 1, in any order.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_q), dtype float64
        Quantiles in the unit of the target; the second shape is that for an array of several q. For several outputs, the
        shape is (n_rows, n_outputs) or (n_rows, n_outputs, n_q): each output has quantiles of its own.

    Raises
    ------
    ValueError
        If a number is not from 0 to 1, or the forest was not fitted with ``keep_training_data=True``.

    References
    ----------
    .. [1] N. Meinshausen, "Quantile regression forests", Journal of Machine Learning Research 7, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(min_samples_leaf=5, keep_training_data=True, random_state=0).fit(X, y)
    >>> forest.predict_quantiles(X[:2], [0.1, 0.5, 0.9]).shape
    (2, 3)
    """
    try:
        numbers = np.asarray(q, np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.ndim > 1 or not ((numbers >= 0) & (numbers <= 1)).all():
        raise ValueError(f"q={q!r}; allowed are a number from 0 to 1, and arrays of one axis of such numbers")
    self._leaf_table()  # raises before rows are checked
    wanted = np.argsort(numbers.ravel(), kind="stable")
    X = self._checked_rows(X)
    found = np.empty((len(X), self.n_outputs_, len(wanted)))
    found[..., wanted] = quantiles_at(self, X, numbers.ravel()[wanted])
    found = found if self.n_outputs_ > 1 else found[:, 0]
    return found[..., 0] if numbers.ndim == 0 else found


def quantiles_at(self, X, q):
    """Quantiles of the targets of checked rows, for ascending q: ndarray of shape (n_rows, n_outputs, n_q), dtype float64."""
    return _quantiles(self, self._blocks(X), len(X), q)


def quantiles_out_of_bag(self, q):
    """As `quantiles_at`, of training rows by the trees that left each out; NaN for rows that no tree left out."""
    return _quantiles(self, self._blocks_out_of_bag(), len(self._training_rows().y), q)


def _quantiles(self, blocks, n_rows, q):
    """`quantiles_at`, given the blocks of so many rows."""
    table, n_threads = self._leaf_table(), count_threads(self.n_jobs)
    targets = self._derived("sorted", lambda: _sort_targets(self))
    found = np.empty((n_rows, len(targets), len(q)))
    for first, leaf in blocks:
        for output, (place, sorted_y) in enumerate(targets):
            found[first : first + len(leaf), output] = quantiles_of_rows(table, leaf, place, sorted_y, q, n_threads)
    return found


def _sort_targets(self):
    """(where each training target is among the ascending ones, these) of each output."""
    found = []
    for y in columns_of(self._training_rows().y):
        order = np.argsort(y, kind="stable")
        place = np.empty(len(y), np.uint32)
        place[order] = np.arange(len(y), dtype=np.uint32)
        found.append((place, y[order]))
    return found
