"""What a fit asks of a kind of target.

A kind of target is an object without a state of its own: what a fit learns of the targets is kept in the attributes of the
estimator that is fitted, which each method is handed as `model`. An estimator's class names its kind in the attribute `_target`.
Beside it, each kind has an `Objective` (`dforest.core.objective`), which says what leaves keep and predict, and its criteria.
"""

import numpy as np
from scipy.sparse import issparse

from dforest.estimators.kinds import Forest
from dforest.estimators.scoring import named_scorer

MOST_TRIED = 10_000  # rows on which a scorer is tried before trees are grown


class Target:
    """A kind of target.

    Attributes
    ----------
    has_numbers : bool
        Whether y must be numbers.
    """

    has_numbers = True

    def read(self, model, partitions):
        """The partitions that trees are grown on, with y as it is checked and encoded, given those that `fit` was given."""
        if isinstance(model, Forest) and any(issparse(partition.y) for partition in partitions):  # trees check y later
            raise ValueError(
                "y is a sparse matrix: sparse multilabel-indicator for y is not supported. Allowed are arrays of one axis"
            )
        return partitions

    def read_known(self, model, y):
        """What is checked and encoded in place of the y of rows that trees were grown on before."""
        return y

    def encode(self, model, y, ranks):
        """Check targets, set what is known of them, and return them as class numbers or other numbers. A collective.

        Parameters
        ----------
        model : estimator
            Whose attributes are set.
        y : list of ndarray
            Of each partition with rows.
        ranks : Communicator
        """
        raise NotImplementedError

    def encode_known(self, model, y):
        """Targets as `encode` encoded those of training. Raises ValueError if one can't be."""
        raise NotImplementedError

    def encode_none(self, model):
        """The encoded targets of no rows."""
        raise NotImplementedError

    def class_factors(self, model, rows):
        """The factor of each row's weight by its class; None if all are 1. A collective."""

    def check_splitter(self, model, splitter):
        """Raise ValueError if trees for such targets can't be split by a configured `Splitter`."""

    def replace(self, model, rows, ranks):
        """Put other targets in the place of those of training rows, once these are numbered. A collective."""

    def check(self, model, rows, plan):
        """Raise ValueError if the targets of training rows do not go with the trees of a `Plan`. A collective."""

    def objective(self, model, rows):
        """The `Objective` that trees are grown for on these `TrainingRows`."""
        raise NotImplementedError

    def make(self, model, rows, plan):
        """The `Targets` that engines are given of training rows. A collective."""
        raise NotImplementedError

    def bytes_beside(self, problem, n_trees):
        """About how many bytes `after_growth` keeps beside the forest, of a `Problem`'s new trees."""
        return 0

    def after_growth(self, model, rows, plan):
        """Set the attributes that leaves need beside the numbers that a `Forest` keeps. A collective."""

    def score(self, model, scorer, true, prediction, outputs, sample_weight=None):
        """What a scorer of the user says of predictions.

        Parameters
        ----------
        model : estimator
        scorer : callable
        true : ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Encoded targets.
        prediction : ndarray of shape (n_rows, n_values)
        outputs : tuple of slice
            As `Objective.outputs`.
        sample_weight : ndarray of shape (n_rows,), optional
            None means that the scorer is given no weights.
        """
        raise NotImplementedError

    def trial(self, model, y):
        """(true, predicted) of some rows, to try a scorer on before there are trees; None if it can't be tried."""

    def groups(self, model, y):
        """The number of each row's group, within which rows are compared by proximity."""
        return np.zeros(len(y), np.int64)

    def keep_out_of_bag(self, model, rows, found):
        """Set the attributes of out-of-bag estimates, in which rows of weight 0 have NaN. A collective.

        Parameters
        ----------
        model : estimator
            Whose attributes are set.
        rows : TrainingRows
        found : OutOfBag
        """
        prediction = np.full((len(rows.kept), *found.prediction.shape[1:]), np.nan)
        prediction[rows.kept] = found.prediction
        model.oob_error_per_observation_ = np.full(len(rows.kept), np.nan)
        model.oob_error_per_observation_[rows.kept] = found.error_per_row
        model.oob_error_ = found.error
        model.oob_curve_ = found.curve
        model.n_never_oob_ = found.n_never
        model.oob_score_ = np.nan
        of_rows = ~np.isnan(found.error_per_row), rows.y, found.prediction
        if callable(named_scorer(model.oob_score, "oob_score")):
            of_rows = map(rows.of_all, of_rows)
        seen, true, predicted = of_rows
        self.set_oob_score(model, prediction, true[seen], predicted[seen], rows.ranks)

    def set_oob_score(self, model, prediction, true, seen, ranks):
        """Set predictions of training rows out of bag, and their score: a part of `keep_out_of_bag`.

        Parameters
        ----------
        model : estimator
            Whose attributes are set.
        prediction : ndarray of shape (n_rows, n_values)
            NaN for rows that are not seen.
        true : ndarray of shape (n_seen,) or (n_seen, n_outputs)
            The encoded targets of the rows that some tree left out: of this rank's, or, for a scorer, of all.
        seen : ndarray of shape (n_seen, n_values)
            Their predictions.
        ranks : Communicator
        """
        raise NotImplementedError


def spread_rows(y):
    """The numbers of some thousand rows, all over them."""
    return np.arange(0, len(y), 1 + len(y) // MOST_TRIED)
