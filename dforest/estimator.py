"""What all estimators share: one way to fit, one way to predict.

A single tree is a forest of one tree grown on every row. `fit` goes X -> codes -> trees -> `forest_`;
a fit that fails leaves the estimator as it was.
"""

from abc import abstractmethod
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from dforest.core.binning import code_columns
from dforest.core.criterion import Entropy, Gini, SquaredError, quantise
from dforest.core.data import DataView, integer_weights
from dforest.core.dense import DenseSplitter
from dforest.core.forest_arrays import Forest
from dforest.core.hist import HistSplitter
from dforest.core.trainer import grow_trees
from dforest.validation import (
    MOST_ROWS,
    check_class_weight,
    check_classes,
    check_targets,
    check_weights,
    check_X,
    count_draws,
    count_features,
    count_samples,
)

SPLITTERS = {"hist": HistSplitter, "dense": DenseSplitter}

# Size thresholds of the machinery, for tests: they change the speed, never the forest.
TUNING = {}


class TreeEstimator(BaseEstimator):
    """Base class of trees and forests.

    A subclass says in `_plan` how many trees there are and how each draws its rows; the mixins
    below say what is predicted.
    """

    _parameter_constraints = {
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
        "random_state": ["random_state"],
        "method": [StrOptions(set(SPLITTERS))],
        "max_bins": [Interval(Integral, 2, 65535, closed="both")],
    }

    @abstractmethod
    def _plan(self):
        """(number of trees, whether they draw rows, max_samples, n_jobs, on_tree)."""

    @abstractmethod
    def _encode(self, y):
        """Checked targets as class numbers or float64."""

    @abstractmethod
    def _class_weight(self, y, sample_weight):
        """Sample weights times class weights; None: all 1."""

    @abstractmethod
    def _targets(self, y, wide):
        """(criterion, integer targets, exact targets or None, their scale)."""

    def fit(self, X, y, sample_weight=None):
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers or booleans; NaN means missing, infinities are ordinary values. float32 and
            float64 are taken as they are, all else becomes float64.
        y : array-like of shape (n_rows,)
            Classes of any type, or finite numbers.
        sample_weight : array-like of shape (n_rows,), optional
            How much a draw of each row counts in impurities and leaves; rows of weight 0 are left
            out before anything is drawn. Weights don't change how often a row is drawn.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the estimator is then as it was.
        """
        before = dict(self.__dict__)
        try:
            self._validate_params()
            self._fit(X, y, sample_weight)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _fit(self, X, y, sample_weight):
        n_trees, bootstrap, max_samples, n_jobs, on_tree = self._plan()
        X, y = check_X(self, X, y=y, y_numeric=is_regressor(self))
        sample_weight = check_weights(sample_weight, X)
        if len(X) > MOST_ROWS:
            raise ValueError(f"X has {len(X)} rows; allowed are up to {MOST_ROWS}")
        y = self._encode(y)
        if sample_weight is not None:
            X, y, sample_weight = _rows_of_weight(sample_weight, X, y, sample_weight)
        weight = self._class_weight(y, sample_weight)
        if weight is not None:
            if not weight.any():
                raise ValueError("`class_weight` is zero for the classes of all rows of positive weight")
            X, y, sample_weight, weight = _rows_of_weight(weight, X, y, sample_weight, weight)
        n_draws = count_draws(max_samples, len(X))
        bin_weight = integer_weights(sample_weight)[0] if sample_weight is not None else None
        weight, exponent = integer_weights(weight) if weight is not None else (None, 0)
        if weight is not None and weight.max() == 1:
            weight = None
        heaviest = int(weight.max()) if weight is not None else 1
        criterion, target, exact, scale = self._targets(y, wide=heaviest * n_draws > 2**31)
        threads = effective_n_jobs(n_jobs)
        columns = code_columns(X, self.max_bins if self.method == "hist" else 0, bin_weight, threads)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))
        settings = {"seed": seed, "n_draws": n_draws if bootstrap else 0}
        trees = grow_trees(
            DataView(columns, target, exact, weight),
            criterion,
            SPLITTERS[self.method](count_features(self.max_features, X.shape[1]), TUNING),
            {
                "max_depth": self.max_depth,
                "min_samples_split": count_samples(self.min_samples_split, n_draws, 2),
                "min_samples_leaf": count_samples(self.min_samples_leaf, n_draws, 1),
                "min_weight_fraction_leaf": self.min_weight_fraction_leaf,
                "min_impurity_decrease": self.min_impurity_decrease,
            },
            trees=range(n_trees),
            scale=scale,
            n_threads=threads,
            on_tree=on_tree,
            **settings,
        )
        self.forest_ = Forest.from_trees(
            trees,
            X.dtype,
            n_features=X.shape[1],
            n_classes=criterion.n_classes,
            criterion=self.criterion,
            weight_exponent=exponent,
            **settings,
        )

    def _check_fitted_X(self, X):
        check_is_fitted(self)
        return check_X(self, X, reset=False)

    def _mean(self, X, voting="soft"):
        X = self._check_fitted_X(X)
        return self.forest_.packed(voting).mean(X, effective_n_jobs(getattr(self, "n_jobs", None)))

    def _leaves(self, X):
        X = self._check_fitted_X(X)
        return self.forest_.packed().apply(X, effective_n_jobs(getattr(self, "n_jobs", None)))

    def _paths(self, X):
        """The nodes that each row passes, as a sparse matrix over the nodes of all trees."""
        X = self._check_fitted_X(X)
        indices, indptr = self.forest_.packed().paths(X)
        kind = csr_array if get_config().get("sparse_interface") == "sparray" else csr_matrix
        return kind((np.ones(len(indices), np.int64), indices, indptr), shape=(len(X), len(self.forest_.feature)))

    @property
    def feature_importances_(self):
        """Impurity-based importances, ndarray of shape (n_features,), dtype float64.

        The mean over trees of the total impurity decrease that each feature brings, each tree's
        scaled to sum 1 and the mean scaled again; all 0 if no tree has a split.
        """
        check_is_fitted(self)
        decrease = self.forest_.impurity_decrease()
        totals = decrease.sum(axis=1, keepdims=True)
        mean = np.divide(decrease, totals, out=np.zeros_like(decrease), where=totals > 0).mean(axis=0)
        return mean / mean.sum() if mean.any() else mean

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _rows_of_weight(weight, *arrays):
    """The rows of some arrays, or Nones, whose weight is not zero."""
    if weight.all():
        return arrays
    return tuple(array if array is None else array[weight > 0] for array in arrays)


class ClassifierPart(ClassifierMixin):
    """What makes a `TreeEstimator` a classifier."""

    _parameter_constraints = {
        "criterion": [StrOptions({"gini", "entropy", "log_loss"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def _encode(self, y):
        self.classes_, y = check_classes(y)
        self.n_classes_ = len(self.classes_)
        return y

    def _class_weight(self, y, sample_weight):
        if self.class_weight is None:
            return sample_weight
        if isinstance(self.class_weight, dict):
            factors = check_class_weight(self.class_weight, self.classes_)
        else:
            counts = np.bincount(y, minlength=self.n_classes_)
            factors = len(y) / (np.count_nonzero(counts) * np.maximum(counts, 1))
        if sample_weight is None:
            return factors[y]
        with np.errstate(over="ignore", under="ignore"):
            weight = factors[y] * sample_weight
        if not (np.isfinite(weight) & ((weight > 0) | (factors[y] == 0))).all():
            raise ValueError("`class_weight` times `sample_weight` is beyond the range of float64; rescale one of them")
        return weight

    def _targets(self, y, wide):
        kind = Gini if self.criterion == "gini" else Entropy
        return kind(self.n_classes_), y, None, (0.0, 0, 0)

    def predict_proba(self, X):
        """Class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes), dtype float64
            Columns in the order of `classes_`: the mean over trees of the class shares of the
            leaves reached; with ``voting="hard"`` the share of trees that vote for each class.
        """
        return self._mean(X, getattr(self, "voting", "soft"))

    def predict_log_proba(self, X):
        """Natural logarithms of `predict_proba`; that of 0 is -inf."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X):
        """The most probable class of each row; of equally probable ones the first in `classes_`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_.take(best)


class RegressorPart(RegressorMixin):
    """What makes a `TreeEstimator` a regressor."""

    _parameter_constraints = {"criterion": [StrOptions({"squared_error"})]}

    def _encode(self, y):
        return check_targets(y)

    def _class_weight(self, y, sample_weight):
        return sample_weight

    def _targets(self, y, wide):
        target, centre, exponent = quantise(y)
        scale = (centre, exponent, int(target.max()) - int(target.min()))
        return SquaredError(wide), target, y, scale

    def predict(self, X):
        """The mean over trees of the mean targets of the leaves that each row reaches.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), dtype float64
        """
        return self._mean(X)[:, 0]
