"""Gradient boosting: trees that are grown one after the other, each for what those before it leave to be predicted."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.config import on_host
from dforest.core.boost.loss import Loss as BoostingLoss
from dforest.estimators.boosting.base import BoostingEstimator
from dforest.estimators.boosting.conformalize import ConformalIntervals
from dforest.estimators.boosting.losses import Loss, OwnLoss
from dforest.estimators.boosting.parameters import BOOSTING_PARAMETERS
from dforest.estimators.boosting.predictions import BoostedClasses, BoostedNumbers
from dforest.estimators.data.fits import instance_of
from dforest.estimators.declaration import has_parameters
from dforest.estimators.scoring import ClassifierScore, RegressorScore, read_scored_column
from dforest.estimators.targets.classes import Classes
from dforest.estimators.targets.numbers import Numbers


@has_parameters("boosting classifier", table=BOOSTING_PARAMETERS)
class HistGradientBoostingClassifier(BoostedClasses, ClassifierScore, BoostingEstimator):
    """Gradient-boosted trees for classification: each tree corrects the predictions of those before it.

    A row's *raw prediction* is the sum of a constant and of the values of the leaves that it reaches in all trees;
    probabilities follow from it. Each iteration grows a tree (or, for more than two classes, a tree for each class) that
    decreases the loss of the raw predictions so far, to second order. The values of each feature are sorted into bins, trees
    are grown best first, and missing values go to the side that has more gain. The trees are the same to the bit on any
    number of threads.

    If y has several columns of two classes each, *labels*, each iteration grows a tree for all of them, whose leaves have a value
    for each. Trees then decrease the sum of the losses of all labels, and what is said of classes comes in lists.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    HistGradientBoostingRegressor : Gradient-boosted trees for regression.
    RandomForestClassifier : A random forest, whose trees do not depend on each other.

    References
    ----------
    L. Breiman, "Bagging predictors", Machine Learning 24(2), 1996, of `n_bags`.
    J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29(5), 2001.
    G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import HistGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    >>> model.n_iter_, model.n_trees_per_iteration_
    (20, 3)
    """

    _target = Classes()

    def _make_loss(self, n_outputs):
        loss, n_classes = instance_of(BoostingLoss, "loss", self.loss), self.n_classes_
        parameter = float(self.focal_gamma) if loss == "focal" else 0.0
        if isinstance(n_classes, list):
            return Loss.of_labels(loss, n_classes, parameter)
        return Loss.of_classes(loss, n_classes, parameter, self.multi_class)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = isinstance(getattr(self, "loss", None), str)
        return tags


@has_parameters("boosting regressor", table=BOOSTING_PARAMETERS)
class HistGradientBoostingRegressor(ConformalIntervals, BoostedNumbers, RegressorScore, BoostingEstimator):
    """Gradient-boosted trees for regression: each tree corrects the predictions of those before it.

    A row's *raw prediction* is the sum of a constant and of the values of the leaves that it reaches in all trees; for most
    losses it is the prediction. Each iteration grows a tree that decreases the loss of the raw predictions so far, to second
    order. The values of each feature are sorted into bins, trees are grown best first, and missing values go to the side
    that has more gain. The trees are the same to the bit on any number of threads.

    If y has several columns, each row has a raw prediction for each of them, and leaves have a value for each. Trees then
    decrease the sum of the losses of all columns, so these should be on scales that can be compared.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    HistGradientBoostingClassifier : Gradient-boosted trees for classification.
    RandomForestRegressor : A random forest, whose trees do not depend on each other.

    References
    ----------
    L. Breiman, "Bagging predictors", Machine Learning 24(2), 1996, of `n_bags`.
    J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29(5), 2001.
    G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import HistGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingRegressor(learning_rate=0.05, random_state=0).fit(X[100:], y[100:])
    >>> model.predict(X[:100]).shape
    (100,)
    >>> model.score(X[:100], y[:100]) > 0.3
    True
    """

    _target = Numbers()

    @property
    def n_outputs_(self):
        """Number of outputs, which is the number of columns of y: int."""
        check_is_fitted(self, "_loss")
        return self._loss.n_targets

    def score(self, X, y, sample_weight=None):
        """Return the coefficient of determination of predictions, R2, or, of several quantiles, how much better they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The targets of the rows. None may be missing.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows. None means that all weights are 1.

        Returns
        -------
        float
            At most 1, which is the score of predictions without errors. The mean of the targets as the prediction of each row
            scores 0. Of several outputs, it is the mean of their scores. If `quantile` is a list, it is 1 less the ratio of two
            mean pinball losses over rows and quantiles, that of the predictions and that of the quantiles of these targets: for
            one quantile, `sklearn.metrics.d2_pinball_score`.
        """
        check_is_fitted(self, "_loss")
        if not self._loss.levels:
            return super().score(X, y, sample_weight)
        X, y, sample_weight = read_scored_column(X, y, sample_weight)
        return self._loss.score(on_host(self.predict(X)), y, sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        loss = getattr(self, "loss", "huber")  # while a pickle is read there is none
        has_levels = loss == "quantile" and np.ndim(getattr(self, "quantile", None)) > 0
        tags.target_tags.multi_output = isinstance(loss, str) and loss not in ("huber", "mape") and not has_levels
        return tags

    def _make_loss(self, n_outputs):
        if isinstance(self.loss, str):
            loss = self._loss_by_name()
            return loss if loss.levels else loss.of_outputs(n_outputs)
        loss = instance_of(BoostingLoss, "loss", self.loss)
        if loss.parameter_names is not None:
            raise ValueError(f"loss={self.loss!r} is a distribution; allowed with it is HistGradientBoostingDistribution")
        return OwnLoss(loss)

    def _loss_by_name(self):
        """The `Loss` of one output that the parameters name."""
        if self.loss == "quantile":
            if self.quantile is None:
                raise ValueError('quantile=None with loss="quantile"; allowed are numbers from 0 to 1')
            return Loss(self.loss, float(self.quantile)) if np.ndim(self.quantile) == 0 else Loss.of_levels(self._levels())
        if np.ndim(self.quantile) > 0:
            raise ValueError(f'quantile={self.quantile!r} with loss="{self.loss}"; allowed are a number from 0 to 1, and None')
        if self.loss == "huber":
            return Loss(self.loss, 0.9 if self.quantile is None else float(self.quantile))
        if self.loss == "tweedie":
            return Loss(self.loss, float(self.power))
        if self.loss == "fair":
            return Loss(self.loss, float(self.fair_c))
        return Loss(self.loss)

    def _levels(self):
        """The numbers of `quantile`, if it is a list: list of float. Raises ValueError if they are not as described."""
        try:
            levels = np.asarray(self.quantile, np.float64)
        except (TypeError, ValueError):
            levels = np.empty(0)
        is_right = levels.ndim == 1 and len(levels) and ((levels >= 0) & (levels <= 1)).all() and (np.diff(levels) > 0).all()
        if not is_right:
            raise ValueError(
                f"quantile={self.quantile!r}; allowed are a number from 0 to 1, and lists of such numbers, each greater than the "
                "one before"
            )
        return levels.tolist()
