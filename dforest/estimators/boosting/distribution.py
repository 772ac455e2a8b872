"""Gradient boosting for whole distributions: trees whose leaves have a value for each parameter of a distribution."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dforest.core.boost.distributions import DISTRIBUTIONS, BuiltInDistribution
from dforest.core.boost.loss import Loss as BoostingLoss
from dforest.estimators.boosting.base import BoostingEstimator
from dforest.estimators.boosting.conformalize import ConformalIntervals
from dforest.estimators.boosting.distribution_predictions import BoostedDistributions
from dforest.estimators.boosting.losses import OwnLoss
from dforest.estimators.boosting.parameters import BOOSTING_PARAMETERS
from dforest.estimators.boosting.starts import unit_of
from dforest.estimators.data.fits import instance_of
from dforest.estimators.declaration import has_parameters
from dforest.estimators.scoring import read_scored_column
from dforest.estimators.targets.numbers import Numbers


@has_parameters("boosting distribution", table=BOOSTING_PARAMETERS, max_leaf_nodes=15)
class HistGradientBoostingDistribution(ConformalIntervals, BoostedDistributions, RegressorMixin, BoostingEstimator):
    """Gradient-boosted trees for whole distributions: each tree corrects the parameters of all rows' distributions.

    A row has a *raw prediction* for each parameter of the distribution of its target, such as the location and the logarithm of
    the scale of a normal distribution; it is the sum of a constant and of the values of the leaves that the row reaches. Each
    iteration grows one tree whose leaves have a value for each parameter, and that increases the logarithm of the density of the
    training targets. A leaf's values are natural gradients: the mean derivative by each parameter, divided by its Fisher
    information, or by a bound of it, so that they don't depend on units. The trees are the same to the bit on any number of
    threads.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    HistGradientBoostingRegressor : Gradient-boosted trees for means, medians and quantiles.
    RandomForestRegressor : A random forest, whose `forest_weights` give any functional of a distribution.
    dforest.distribution : The distributions as classes, those of your own, and scorers.

    References
    ----------
    T. Duan et al., "NGBoost: natural gradient boosting for probabilistic prediction", ICML 2020.
    T. Gneiting, A. E. Raftery, "Strictly proper scoring rules, prediction, and estimation", Journal of the American Statistical
    Association 102(477), 2007.
    A. März, T. Kneib, "Distributional gradient boosting machines", arXiv 2204.00778, 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import HistGradientBoostingDistribution
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingDistribution("normal", random_state=0).fit(X[100:], y[100:])
    >>> predicted = model.predict_distribution(X[:100])
    >>> bool(((predicted.cdf(y[:100]) > 0.05) & (predicted.cdf(y[:100]) < 0.95)).mean() > 0.8)
    True
    >>> model.score(X[:100], y[:100]) > -5.6  # the mean logarithm of the density
    True
    """

    _target = Numbers()
    _for_columns = "targets in one column"

    def _make_loss(self, n_outputs):
        loss = DISTRIBUTIONS[self.loss]() if isinstance(self.loss, str) else instance_of(BoostingLoss, "loss", self.loss)
        if loss.parameter_names is None:
            raise ValueError(
                f"loss={self.loss!r} is no distribution; allowed are names, objects of dforest.distribution, and losses of your "
                "own with parameter_names"
            )
        return OwnLoss(loss, one_tree=True)

    def _fitted_loss(self, loss, rows, has_offset, grown):
        if "unit" not in loss.loss.get_params() or loss.loss.unit is not None or not isinstance(loss.loss, BuiltInDistribution):
            return loss
        if has_offset:
            name = type(loss.loss).__name__
            raise ValueError(
                f"offset is given with loss={self.loss!r}, whose unit is only known after fit; allowed are losses that are told "
                f"it, such as loss=dforest.distribution.{name}(unit=1.0)"
            )
        before = getattr(self, "_loss", None)
        if grown is not None and isinstance(before, OwnLoss) and type(before.loss) is type(loss.loss):
            return before
        y = rows.y.astype(np.float64)
        loss.check_targets(y, is_trained_on=False)  # but for what is asked of the targets of all ranks
        unit = unit_of(loss.loss, y, rows.sample_weight, rows.ranks)
        return OwnLoss(type(loss.loss)(**loss.loss.get_params() | {"unit": unit}), one_tree=True)

    def score(self, X, y, sample_weight=None):
        """Return the mean logarithm of the density of targets, the log score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        y : array-like of shape (n_rows,)
            The targets of the rows. None may be missing.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows. None means that all weights are 1.

        Returns
        -------
        float
            The higher, the better: it is greatest for the true distributions. It is comparable among models of the same targets
            alone, as it depends on their unit. Minus infinity if a target of positive weight is impossible.
        """
        check_is_fitted(self, "_loss")
        X, y, sample_weight = read_scored_column(X, y, sample_weight)
        return self.predict_distribution(X).mean_log_density(y, sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a score is no R2
        tags.target_tags.positive_only = getattr(self, "loss", None) in ("lognormal", "gamma")
        return tags

