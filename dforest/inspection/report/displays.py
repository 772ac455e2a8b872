"""Pictures of an estimator alone, in the manner of scikit-learn's displays: made by `from_estimator`, drawn anew by `plot`."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.estimators.kinds import BoostedTrees, Forest, RankingTrees
from dforest.estimators.one_fit import as_fitted
from dforest.extras import needed
from dforest.inspection.export import names_of_features
from dforest.inspection.report.curve import fit_trend
from dforest.inspection.report.facts import impurity_importance
from dforest.inspection.report.text import shortened

KINDS = {
    "impurity": "Mean decrease in impurity, scaled to sum to 1",
    "mdi": "Mean decrease in impurity",
    "gain": "Share of the gain of all splits",
    "permutation": "Mean loss of score when permuted",
    "oob": "Mean rise of the error out of bag when permuted",
    "mda_raw": "Mean rise of the error out of bag when permuted",
    "mda_scaled": "Mean rise of the error out of bag when permuted, in standard errors",
}
NAME_LENGTH = 26  # characters of a feature's name


def _fitted(estimator, display, kinds, allowed):
    """An estimator of some kinds, as it is fitted now. Raises an error if it is of another kind, or not fitted."""
    if not isinstance(estimator, kinds):
        raise ValueError(f"estimator={estimator!r}; allowed for {display} are {allowed}")
    estimator = as_fitted(estimator)
    check_is_fitted(estimator)
    return estimator


class _Display:
    """What displays share."""

    def _axes(self, ax):
        """The axes to draw on: those given, or those of a new figure of pyplot's."""
        needed("matplotlib", "plot", type(self).__name__)
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots()
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _legend(self, name):
        """The name for a legend; None if there is none."""
        return self.estimator_name if name is None else name


class OutOfBagCurveDisplay(_Display):
    """A picture of the out-of-bag error by the number of trees, which also shows what more trees would bring.

    Use `from_estimator` to make and draw it. All parameters are stored as attributes.

    Parameters
    ----------
    oob_curve : ndarray of shape (n_trees,)
        The out-of-bag error of the first 1, 2, ... trees; NaN where there is none.
    error_name : str, default="Out-of-bag error"
        Name of the error, for the label of the axis.
    estimator_name : str, default=None
        Name of the estimator, for a legend. None means that there is no name.

    Attributes
    ----------
    trend : dforest.inspection.report.curve.Trend or None
        The law, limit + slope / number of trees, that was fitted to the curve; None if there are fewer than 20 trees.
    line_ : matplotlib Artist
        The line of the curve.
    trend_line_ : matplotlib Artist or None
        The line of the law, drawn up to twice the number of trees.
    ax_ : matplotlib Axes
        The axes that hold the lines.
    figure_ : matplotlib Figure
        The figure that holds the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import OutOfBagCurveDisplay, RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> display = OutOfBagCurveDisplay.from_estimator(forest)
    >>> 0 < display.trend.gain(100) < 100  # of a mean squared error of some 3400
    True
    """

    def __init__(self, oob_curve, *, error_name="Out-of-bag error", estimator_name=None):
        self.oob_curve = oob_curve
        self.error_name = error_name
        self.estimator_name = estimator_name
        self.trend = fit_trend(oob_curve)

    @classmethod
    def from_estimator(cls, estimator, *, name=None, trend=True, ax=None, **kwargs):
        """Draw the curve of a fitted forest.

        Parameters
        ----------
        estimator : estimator
            A forest of dforest that was fitted with ``oob_score=True``.
        name : str, default=None
            Name for a legend. None means the name of the estimator's class.
        trend, ax, **kwargs
            Passed on to `plot`.

        Returns
        -------
        OutOfBagCurveDisplay
            The picture, which has been drawn.

        Raises
        ------
        ValueError
            If the estimator is not a forest, or was fitted without ``oob_score=True``.
        ImportError
            If matplotlib is not installed: the extra ``dforest[plot]`` has it.
        """
        estimator = _fitted(estimator, cls.__name__, Forest, "the forests of dforest")
        curve = getattr(estimator, "oob_curve_", None)
        if curve is None:
            raise ValueError(
                f"{type(estimator).__name__} has no out-of-bag errors: fit it with bootstrap=True and oob_score=True"
            )
        error_name = f"Out-of-bag {'misclassification rate' if hasattr(estimator, 'classes_') else 'mean squared error'}"
        name = type(estimator).__name__ if name is None else name
        return cls(curve, error_name=error_name, estimator_name=name).plot(trend=trend, ax=ax, **kwargs)

    def plot(self, ax=None, *, name=None, trend=True, **kwargs):
        """Draw the curve on axes of matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None means the axes of a new figure.
        name : str, default=None
            Name for a legend. None means `estimator_name`.
        trend : bool, default=True
            Whether to draw the fitted law too, up to twice the number of trees.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.plot`` for the curve.

        Returns
        -------
        OutOfBagCurveDisplay
            This object.
        """
        ax = self._axes(ax)
        curve = np.asarray(self.oob_curve)
        name = self._legend(name)
        label = {} if name is None else {"label": name}
        (self.line_,) = ax.plot(np.arange(1, len(curve) + 1), curve, **label | kwargs)
        self.trend_line_ = None
        if trend and self.trend is not None:
            n_trees = np.geomspace(self.trend.first, 2 * self.trend.last, 60)
            style = {"color": self.line_.get_color(), "linestyle": (0, (2, 2)), "linewidth": 1}
            (self.trend_line_,) = ax.plot(n_trees, self.trend.at(n_trees), **style, label="limit + slope / trees, fitted")
            # The first few trees err so much more that nothing else could be seen.
            seen = np.concatenate([curve[min(4, len(curve) // 10) :], self.trend.at(n_trees)])
            seen = seen[np.isfinite(seen)]
            low, high = seen.min(), seen.max()
            if high > low:
                ax.set_ylim(low - 0.08 * (high - low), high + 0.05 * (high - low))
        ax.set(xlabel="Number of trees", ylabel=self.error_name)
        if ax.get_legend_handles_labels()[1]:
            ax.legend(loc="upper right")
        return self


class ImportanceDisplay(_Display):
    """A picture of the importances of features, as bars with lines for how sure they are.

    The lines of importances by permutation, which are means of many estimates, reach one standard error of the mean to both
    sides; those of importances by impurity show the standard deviation over trees. Importances in standard errors have none.

    Use `from_estimator` to make and draw it. All parameters are stored as attributes.

    Parameters
    ----------
    importances_mean : ndarray of shape (n_features,)
        The importances.
    importances_std : ndarray of shape (n_features,), or None
        Their standard deviations; None means that no lines are drawn.
    feature_names : list of str
        Names of the features.
    kind : {"impurity", "mdi", "gain", "permutation", "oob", "mda_raw", "mda_scaled"}, default="impurity"
        The kind of the importances, for the label of the axis: see `from_estimator`.
    estimator_name : str, default=None
        Name of the estimator, for a title. None means that there is no name.
    n_estimates : int, default=None
        Number of estimates that each importance is the mean of, so that lines show the standard error, which is the standard
        deviation divided by the root of this number. None means that lines show the standard deviation.
    scoring : str or callable, default=None
        Score that ``kind="oob"`` is about; None means the errors of trees.

    Attributes
    ----------
    features_ : ndarray
        Numbers of the features that were drawn, from the top.
    bars_ : matplotlib BarContainer
        The bars.
    ax_ : matplotlib Axes
        The axes that hold the bars.
    figure_ : matplotlib Figure
        The figure that holds the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import ImportanceDisplay, RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(forest)
    >>> len(display.bars_)
    4
    """

    def __init__(
        self, importances_mean, importances_std, feature_names, *, kind="impurity", estimator_name=None, n_estimates=None,
        scoring=None,
    ):  # fmt: skip
        self.importances_mean = importances_mean
        self.importances_std = importances_std
        self.feature_names = feature_names
        self.kind = kind
        self.estimator_name = estimator_name
        self.n_estimates = n_estimates
        self.scoring = scoring

    @classmethod
    def from_estimator(
        cls, estimator, X=None, y=None, *, kind=None, scoring=None, n_repeats=5, random_state=None, features=None,
        max_features=20, name=None, ax=None, qid=None, group=None, **kwargs,
    ):  # fmt: skip
        """Draw the importances of a fitted forest, or of fitted boosted trees.

        Parameters
        ----------
        estimator : estimator
            A fitted forest, or fitted boosted trees, of dforest.
        X : {array-like, sparse matrix} of shape (n_rows, n_features), default=None
            Rows, which the kinds "permutation" and "oob" need.
        y : array-like of shape (n_rows,), default=None
            True targets of these rows.
        kind : {"impurity", "mdi", "gain", "permutation", "oob", "mda_raw", "mda_scaled"}, default=None
            Kind of the importances. None means what a forest was fitted with as `variable_importance`, or else "impurity" for
            forests, and "gain" for boosted trees.

            - "mdi", "mda_raw" or "mda_scaled", of forests that were fitted with this `variable_importance`: what the fit computed
              (`variable_importance_`), with the standard deviation over trees for "mdi", and the standard error for "mda_raw".
            - "impurity", of forests: the mean over trees of the decrease of impurity that a feature brings, scaled to sum to 1
              (`feature_importances_`), with the standard deviation over trees.
            - "gain", of boosted trees: the share of a feature in the gain of all splits (`feature_importances_`).
            - "permutation": how much the score falls when the values of a feature are permuted, by
              ``sklearn.inspection.permutation_importance``, or for boosted trees by their method `permutation_importance`, with
              the standard error over permutations; it is best computed on rows that were held out.
            - "oob", of forests: how much the error on the rows that each tree left out rises when the values of a feature are
              permuted, with the standard error over trees, or, with `scoring`, how much the score out of bag falls, with the
              standard error over permutations (`oob_importance`); X and y must be the training data.
        scoring, n_repeats, random_state
            Passed on to ``permutation_importance`` or, with a `scoring`, to `oob_importance`.
        features, max_features, ax, **kwargs
            Passed on to `plot`.
        name : str, default=None
            Name for a title. None means that there is no title.
        qid, group : array-like, optional
            The queries of the rows, of which a ranker needs one for the kind "permutation": see `HistGradientBoostingRanker.fit`.

        Returns
        -------
        ImportanceDisplay
            The picture, which has been drawn.

        Raises
        ------
        ValueError
            If the estimator is neither a forest nor boosted trees, or if it does not have this kind, which may need X and y.
        ImportError
            If matplotlib is not installed: the extra ``dforest[plot]`` has it.
        """
        estimator = _fitted(estimator, cls.__name__, (Forest, BoostedTrees), "the forests and the boosted trees of dforest")
        kinds = ["impurity", "permutation", "oob"] if isinstance(estimator, Forest) else ["gain", "permutation"]
        if hasattr(estimator, "variable_importance_") and estimator.variable_importance is not None:
            kinds.insert(0, estimator.variable_importance)
        kind = kinds[0] if kind is None else kind
        if kind not in kinds:
            raise ValueError(f"kind={kind!r}; allowed for a {type(estimator).__name__} are {', '.join(map(repr, kinds))}")
        of_rows = ("permutation", "oob")
        if kind in of_rows and (X is None or y is None):
            others = ", ".join(repr(other) for other in kinds if other not in of_rows)
            raise ValueError(f"kind={kind!r} needs X and y; without them, allowed: {others}")
        queries = {key: value for key, value in (("qid", qid), ("group", group)) if value is not None}
        if queries and not (isinstance(estimator, RankingTrees) and kind == "permutation"):
            raise ValueError(f'{" and ".join(queries)} given; allowed are these for rankers with kind="permutation" alone')
        needed("matplotlib", "plot", cls.__name__)
        n_estimates, settings = None, {"scoring": scoring, "n_repeats": n_repeats, "random_state": random_state}
        if kind == "impurity":
            mean, std = impurity_importance(estimator.forest_)
        elif kind == "gain":
            mean, std = estimator.feature_importances_, None
        elif kind in ("mdi", "mda_raw", "mda_scaled"):
            mean, std = estimator.variable_importance_, estimator.variable_importance_std_
            if kind == "mda_scaled":
                std = None
            elif kind == "mda_raw":  # the mean over trees that left out any row
                forest = estimator.forest_
                n_estimates = sum(bool(forest.left_out(t).any()) for t in range(forest.n_trees)) or None
        else:
            if kind == "permutation" and isinstance(estimator, BoostedTrees):
                found = estimator.permutation_importance(X, y, **queries, **settings)
            elif kind == "permutation":
                from sklearn.inspection import permutation_importance  # which takes long to import

                found = permutation_importance(estimator, X, y, **settings)
            else:
                found = estimator.oob_importance(X, y, **settings if scoring is not None else {})
            mean, n_estimates = found.importances_mean, int(np.isfinite(found.importances).all(axis=0).sum())
            std = np.nanstd(found.importances, axis=1, ddof=1) if n_estimates > 1 else None
        names = names_of_features(estimator, None)
        display = cls(mean, std, names, kind=kind, estimator_name=name, n_estimates=n_estimates, scoring=scoring)
        return display.plot(ax, features=features, max_features=max_features, **kwargs)

    def plot(self, ax=None, *, features=None, max_features=20, name=None, **kwargs):
        """Draw the importances as bars, with lines that reach a standard error, or deviation, to both sides.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None means the axes of a new figure.
        features : array-like of int, default=None
            Numbers of the features to draw, from the top. None means the most important ones, the most important at the top.
        max_features : int, default=20
            Largest number of features that are drawn if `features` is None.
        name : str, default=None
            Name for a title. None means `estimator_name`.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.barh``.

        Returns
        -------
        ImportanceDisplay
            This object.
        """
        ax = self._axes(ax)
        mean = np.asarray(self.importances_mean)
        if features is None:
            features = np.argsort(-mean, kind="stable")[:max_features]
        self.features_ = np.asarray(features)
        places = np.arange(len(self.features_))
        style = {"height": 0.7, "error_kw": {"elinewidth": 1, "ecolor": "0.5"}}
        if self.importances_std is not None:
            style["xerr"] = np.asarray(self.importances_std)[self.features_] / np.sqrt(self.n_estimates or 1)
        self.bars_ = ax.barh(places, mean[self.features_], **style | kwargs)
        names = [shortened(self.feature_names[j], NAME_LENGTH) for j in self.features_]
        ax.set_yticks(places, names, parse_math=False)
        ax.set_ylim(len(places) - 0.4, -0.6)
        ax.grid(False, axis="y")
        kind = "permutation" if self.kind == "oob" and self.scoring is not None else self.kind
        ax.set_xlabel(KINDS.get(kind, kind))
        name = self._legend(name)
        if name is not None:
            ax.set_title(name, parse_math=False)
        return self
