"""Blends of forests and boosted trees, which choose their members' weights by themselves."""

import sys
from abc import abstractmethod
from dataclasses import replace
from time import perf_counter

import numpy as np
from sklearn.utils import Bunch, column_or_1d
from sklearn.utils.validation import check_is_fitted

from dforest.config import communicator
from dforest.estimators.auto import members
from dforest.estimators.auto.parameters import BLEND_PARAMETERS
from dforest.estimators.auto.predictions import BlendedClasses, BlendedNumbers, BlendPredictions, check_blend, mixed_by
from dforest.estimators.auto.weights import floored, log_weights, squared_weights
from dforest.estimators.data.fits import fitting
from dforest.estimators.data.given import given_numbers, given_values
from dforest.estimators.data.validation import check_classes, check_targets, check_weights
from dforest.estimators.declaration import has_parameters
from dforest.estimators.model import Model
from dforest.estimators.other_names import with_hints
from dforest.estimators.randomness import check_random_state
from dforest.estimators.scoring import ClassifierScore, RegressorScore


class AutoForest(BlendPredictions, Model):
    """What blends share."""

    @with_hints
    def fit(self, X, y, sample_weight=None):
        """Fit the members, and find their weights.

        Ctrl-C, or an end by `time_limit`, keeps the members that have been fitted: the estimator is a blend of these then. After
        Ctrl-C, KeyboardInterrupt is raised nevertheless.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Training rows, as the members take them.
        y : array-like of shape (n_rows,)
            Targets: classes of any type, or finite numbers.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on, which count in all members and in the loss that decides their weights. None means that
            all weights are 1.

        Returns
        -------
        self
            The fitted blend.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the estimator is then left as it was.
        """
        self._validate_params()
        with fitting(self) as blend:
            interrupt = blend._fit(X, y, sample_weight)
        if interrupt is not None:
            raise interrupt
        return self

    def _fit(self, X, y, sample_weight):
        """Fit the blend; returns the KeyboardInterrupt that has ended it before all members were fitted, or None."""
        if communicator().size > 1:
            raise ValueError(
                f"{type(self).__name__} is fitted by one process; config_context has set a communicator of "
                f"{communicator().size} ranks. Allowed are estimators of dforest.spmd"
            )
        y = self._encode(self._one_column(y))
        if len(y) < 2:
            raise ValueError(
                f"X has n_samples = {len(y)}; allowed are two rows or more, as rows are predicted by members fitted on others"
            )
        weight = check_weights([sample_weight], [y])
        random = check_random_state(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=64)
        candidates = members.named_members(self, self._known_members)
        if len(candidates) >= len(seeds):
            raise ValueError(f"members has {len(candidates)} entries; allowed are up to {len(seeds) - 1}")
        given = y if self._classes() is None else self.classes_[y]
        progress = self._progress_on(X, given, weight, seeds)
        seeds = progress.seeds
        fold_of = members.folds_of(y, weight, self._classes() is not None, np.random.RandomState(seeds[-1]))
        start, interrupt = perf_counter(), None
        self.selection_, fitted = [], []
        for (name, estimator), seed in zip(candidates, seeds, strict=False):
            begun = perf_counter()
            asked = members.digest_of(estimator, seed) if self.warm_start else None
            known = progress.finished.get(name)
            if known is not None and known.asked == asked:
                fitted.append((name, known.estimator, known.prediction))
                self.selection_.append({"name": name, "loss": np.nan, "weight": 0.0, "seconds": known.seconds, "note": ""})
                continue
            if interrupt is not None:
                self._leave_out(name, "not begun, as the fit was interrupted")
                continue
            if fitted and self.time_limit is not None and begun - start >= self.time_limit:
                self._leave_out(name, f"not begun, as time_limit={self.time_limit} was reached")
                continue
            try:
                members.prepare(estimator, int(seed), self.n_jobs)
                members.fit(estimator, X, given, weight)
                prediction = members.out_of_sample(estimator, X, given, weight, self._classes(), fold_of)
            except KeyboardInterrupt as error:
                if not fitted:
                    raise
                interrupt = error
                self._leave_out(name, "interrupted")
                continue
            seconds = perf_counter() - begun
            fitted.append((name, estimator, prediction))
            progress.finished[name] = members.Finished(asked, estimator, prediction, seconds)
            self.selection_.append({"name": name, "loss": np.nan, "weight": 0.0, "seconds": seconds, "note": ""})
            self._tell(f"{name}: fitted in {seconds:.1f} s")
        self.__dict__.pop("_progress", None)
        if self.warm_start:
            self._progress = progress
        self._blend(fitted, y, weight)
        return interrupt

    def _progress_on(self, X, y, weight, seeds):
        """The `Progress` that the fit goes on from: that of an earlier fit with ``warm_start=True``, or one without members."""
        before = getattr(self, "_progress", None) if self.warm_start else None
        data = members.digest_of_data(X, y, weight) if self.warm_start else None
        if before is None:
            return members.Progress(data, seeds, {})
        if before.data != data:
            raise ValueError(
                "X, y or sample_weight are others than those that members were fitted to, with which warm_start=True goes on; "
                "allowed are equal ones, or warm_start=False"
            )
        return replace(before, finished=dict(before.finished))

    def _one_column(self, y):
        """y as the members take it, of one axis."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        read = given_numbers if self._targets_are_numbers else given_values
        return column_or_1d(read("y", y), warn=True)

    def _leave_out(self, name, note):
        self.selection_.append({"name": name, "loss": np.nan, "weight": 0.0, "seconds": 0.0, "note": note})
        self._tell(f"{name}: {note}")

    def _tell(self, text):
        if self.verbose:
            print(f"[{type(self).__name__}] {text}", file=sys.stderr, flush=True)

    def _blend(self, fitted, y, weight):
        """Weigh the members by out-of-sample predictions, and keep those that have a weight.

        Parameters
        ----------
        fitted : list of (name, estimator, ndarray)
            With predictions of all rows.
        y : ndarray of shape (n_rows,)
            Encoded.
        weight : ndarray of shape (n_rows,), or None
        """
        predictions = [prediction for _, _, prediction in fitted]
        known = ~np.isnan(np.stack([prediction.reshape(len(y), -1)[:, 0] for prediction in predictions])).any(axis=0)
        if weight is not None:
            known &= weight > 0
        if not known.any():
            raise ValueError(
                f"X has {len(y)} rows, none of which all members predict without having been fitted on it; allowed are more "
                "rows, or more trees: n_estimators"
            )
        own = None if weight is None else weight[known]
        seen = [prediction[known] for prediction in predictions]
        weights = self._weights(seen, y[known], own) if len(fitted) > 1 else np.ones(1)
        entries = [entry for entry in self.selection_ if not entry["note"]]
        for entry, prediction, share in zip(entries, seen, weights.tolist(), strict=True):
            entry.update(loss=self._loss(prediction, y[known], own), weight=share)
        kept = [(name, estimator, share) for (name, estimator, _), share in zip(fitted, weights, strict=True) if share > 0]
        self.estimators_ = [estimator for _, estimator, _ in kept]
        self._names = [name for name, _, _ in kept]
        self.weights_ = np.array([share for _, _, share in kept])
        mixed = mixed_by([predictions[i] for i in np.flatnonzero(weights)], self.weights_)
        self.oof_prediction_ = mixed
        self.oof_loss_ = self._loss(mixed[known], y[known], own)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            found = [getattr(estimator, name) for _, estimator, _ in fitted if hasattr(estimator, name)]
            if found:
                setattr(self, name, found[0])
        self._tell(", ".join(f"{name} {share:.3f}" for name, _, share in kept) + f": a loss of {self.oof_loss_:.6g}")

    @property
    def named_estimators_(self):
        """The members that have a weight, by name: Bunch."""
        self._check_fitted()
        return Bunch(**dict(zip(self._names, self.estimators_, strict=True)))

    @property
    def feature_importances_(self):
        """Importances of the features: the means of the members' `feature_importances_` by weight, which sum to 1.

        They are all 0 if no tree has a split. AttributeError is raised if a member has none.
        """
        self._check_fitted()
        mean = mixed_by([estimator.feature_importances_ for estimator in self.estimators_], self.weights_)
        return mean / mean.sum() if mean.any() else mean

    @abstractmethod
    def _encode(self, y):
        """Check targets, and return them as class numbers or float64."""

    @abstractmethod
    def _weights(self, predictions, y, weight):
        """The weights of members."""

    @abstractmethod
    def _loss(self, prediction, y, weight):
        """The loss of predictions."""

    def _check_fitted(self):
        check_is_fitted(self)

    def __setstate__(self, state):
        if "weights_" in state:
            check_blend(state)
        super().__setstate__(state)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _mean(values, weight):
    return float(values.mean() if weight is None else (values * weight).sum() / weight.sum())


@has_parameters("blend classifier", table=BLEND_PARAMETERS)
class AutoForestClassifier(BlendedClasses, ClassifierScore, AutoForest):
    """A blend for classification: a random forest, boosted trees and extra trees, weighed by what they predict out of sample.

    The forests have ``max_features=0.5`` and ``calibration="oob"``, and boosted trees ``validation_folds=5``, which measured best
    on real tables. Rows are predicted by members that were not fitted on them: by forests out of bag, and by boosted trees fold
    by fold. The weights are those, from 0 on and with a sum of 1, with which the log loss of these predictions is least; members
    of weight 0 are dropped. Probabilities are the members' probabilities, averaged by weight. The same data, parameters and
    `random_state` give the same blend to the bit, on any number of threads.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    AutoForestRegressor : A blend for regression.
    RandomForestClassifier : A random forest for classification.
    HistGradientBoostingClassifier : Gradient-boosted trees for classification.

    References
    ----------
    L. Breiman, "Stacked regressions", Machine Learning 24, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import AutoForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> blend = AutoForestClassifier(50, random_state=0).fit(X, y)
    >>> blend.predict(X[:2])
    array([0, 0])
    >>> [entry["name"] for entry in blend.selection_]
    ['random_forest', 'extra_trees', 'boosted_trees']
    >>> round(float(blend.weights_.sum()), 6)
    1.0
    """

    _known_members = members.CLASSIFIERS
    _targets_are_numbers = False

    def _encode(self, y):
        self.classes_, numbers = check_classes(y)
        self.n_classes_ = len(self.classes_)
        return numbers

    def _weights(self, predictions, y, weight):
        return log_weights(predictions, y, weight)

    def _loss(self, prediction, y, weight):
        return _mean(-np.log(floored(prediction)[np.arange(len(y)), y]), weight)


@has_parameters("blend regressor", table=BLEND_PARAMETERS)
class AutoForestRegressor(BlendedNumbers, RegressorScore, AutoForest):
    """A blend for regression: a random forest, boosted trees and extra trees, weighed by what they predict out of sample.

    Boosted trees have ``validation_folds=5``. Rows are predicted by members that were not fitted on them: by forests out of bag,
    and by boosted trees fold by fold. The weights are those, from 0 on and with a sum of 1, with which the squared error of these
    predictions is least; members of weight 0 are dropped. Predictions are the members' predictions, averaged by weight. The same
    data, parameters and `random_state` give the same blend to the bit, on any number of threads.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    AutoForestClassifier : A blend for classification.
    RandomForestRegressor : A random forest for regression.
    HistGradientBoostingRegressor : Gradient-boosted trees for regression.

    References
    ----------
    L. Breiman, "Stacked regressions", Machine Learning 24, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import AutoForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> blend = AutoForestRegressor(50, random_state=0).fit(X, y)
    >>> blend.predict(X).shape
    (442,)
    >>> blend.oof_loss_ <= min(entry["loss"] for entry in blend.selection_)
    True
    """

    _known_members = members.REGRESSORS
    _targets_are_numbers = True

    def _encode(self, y):
        return check_targets(y)

    def _weights(self, predictions, y, weight):
        return squared_weights(predictions, y, weight)

    def _loss(self, prediction, y, weight):
        return _mean((prediction - y) ** 2, weight)
