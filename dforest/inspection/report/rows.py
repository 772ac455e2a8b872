"""The rows that a report is made from: checked, encoded, and whether they are those that the forest was grown on.

Rows are *training rows* if they are what `fit` was given, in its order, or in any order where trees drew all rows. A forest can
tell: each leaf of a tree knows how many draws reached it, and which rows a tree drew follows from its seed.
"""

import numpy as np
from sklearn.base import is_classifier

from dforest.config import on_host
from dforest.estimators.boosting.queries import ToldQueries, numbers_of_queries
from dforest.estimators.data.rows import checked_targets
from dforest.estimators.data.survival import check_survival
from dforest.estimators.data.tables import given_rows
from dforest.estimators.data.validation import count_threads
from dforest.estimators.kinds import Forest, RankingTrees, SurvivalTrees
from dforest.estimators.results import oob
from dforest.inspection.report.models import model_of

SEED = 0  # of all subsamples and permutations of a report


def are_training_rows(forest, X):
    """Whether the rows of an encoded X are, in their order, those that all calls of `fit` of a forest were given."""
    batches = forest._batches
    if any(batch.share is not None or batch.n_rows != len(X) for batch in batches):
        return False
    end = 0
    for batch in batches:
        begin, end = end, end + batch.n_trees
        rows = batch.row_numbers()
        if not oob.drew_from(forest.forest_, range(begin, end), [X[rows]], count_threads(forest.n_jobs)):
            return False
    return True


def sentence_on_sample(n_used, n_all):
    """From which rows something was found."""
    if n_used == n_all:
        return f"all {n_all:,} rows of X" if n_all > 1 else "the one row of X"
    return f"{n_used:,} of the {n_all:,} rows of X, drawn at random (seed {SEED})"


def check_in_memory(**given):
    """Raise TypeError if rows that are given by name are collections of Dask."""
    for name, rows in given.items():
        first = rows[0] if isinstance(rows, list | tuple) and rows else rows
        if hasattr(first, "__dask_graph__"):
            raise TypeError(f"{name} is of type {type(rows).__name__}; allowed are rows in memory: compute some rows first")


class Rows:
    """Rows to show a forest with.

    Parameters
    ----------
    forest : estimator
        Fitted.
    X : array-like, frame or sparse matrix of shape (n_rows, n_features)
    y : array-like of shape (n_rows,), or None
    told : tuple of (array-like or None, array-like or None), optional
        Of ranking, `qid` and `group`, one of which tells the queries if there is a y.

    Attributes
    ----------
    given : tuple
        X and y on the processor, as they were given.
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64, or SparseRows of these
        With the numbers of labels.
    y : ndarray of shape (n_rows,), or None
        Class numbers, or numbers; of ranking, of shape (n_rows, 2), grades and the numbers of queries; of survival times, of
        shape (n_rows, 2) or (n_rows, 3), events, times and entries.
    model : ForestModel or BoostedModel
    is_training : bool
        Whether they are known to be the training rows; boosted trees can't tell.

    Raises
    ------
    ValueError
        If X or y are not such as the forest was fitted with.
    TypeError
        If they are collections of Dask.
    """

    def __init__(self, forest, X, y, told=(None, None)):
        check_in_memory(X=X, y=y, qid=told[0], group=told[1])
        X, y = given_rows(X), None if y is None else on_host(y)
        self.given = X, y
        if y is None:
            self.X, self.y = forest._checked_rows(X), None
        elif isinstance(forest, SurvivalTrees):
            self.X = forest._checked_rows(X)
            self.y = np.column_stack([part for part in check_survival(y) if part is not None]).astype(np.float64)
            if len(self.y) != len(self.X):
                raise ValueError(f"y has {len(self.y)} rows, and X has {len(self.X)}; allowed are equal numbers")
        else:
            self.X = forest._checked_rows(X)
            self.y = forest._target.encode_known(forest, checked_targets(forest, y, self.X))
        self._queries = None
        if isinstance(forest, RankingTrees) and y is not None:
            self._queries = numbers_of_queries([ToldQueries(0, *told, len(self.X))])
            self.y = np.column_stack([self.y, self._queries])
        self.model = model_of(forest)
        self.is_training = isinstance(forest, Forest) and are_training_rows(forest, self.X)

    def __len__(self):
        return len(self.X)

    def sample(self, most):
        """Numbers of at most so many rows, ascending, drawn with a fixed seed.

        Of rows in queries, these are whole queries, and one at least, even if it has more rows.
        """
        if len(self) <= most:
            return np.arange(len(self))
        if self._queries is not None:
            numbers, own, sizes = np.unique(self._queries, return_inverse=True, return_counts=True)
            order = np.random.RandomState(SEED).permutation(len(numbers))
            n_drawn = max(1, np.searchsorted(np.cumsum(sizes[order]), most, side="right"))
            return np.flatnonzero(np.isin(own, order[:n_drawn]))
        return np.sort(np.random.RandomState(SEED).choice(len(self), most, replace=False))

    def predictions(self):
        """What is predicted for the rows, and how.

        Returns
        -------
        rows : ndarray
            The numbers of the rows that have a prediction.
        prediction : ndarray of shape (len(rows), n_outputs)
            Out of bag, if these are training rows and the forest has such predictions; else of all trees.
        is_out_of_bag : bool
        """
        name = "oob_decision_function_" if is_classifier(self.model.estimator) else "oob_prediction_"
        known = getattr(self.model.estimator, name, None) if self.is_training else None
        if known is None:
            return np.arange(len(self)), self.model.predict(self.X), False
        known = known.reshape(len(self), -1)
        rows = np.flatnonzero(~np.isnan(known).any(axis=1))
        return rows, known[rows], True
