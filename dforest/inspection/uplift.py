"""Pictures of uplift and Qini curves, in the manner of scikit-learn's displays."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.config import on_host
from dforest.estimators.causal.uplift_scores import KINDS, area, checked, curve
from dforest.extras import needed

LABELS = {"qini": "Gain for each treated row", "uplift": "Gain for each row"}


class UpliftCurveDisplay:
    """A picture of a Qini curve or an uplift curve, beside the straight line of random order.

    Use `from_estimator` or `from_predictions` to make and draw it. All parameters are stored as attributes.

    Parameters
    ----------
    share, gain : ndarray of shape (n_points,)
        The curve, as `dforest.uplift.qini_curve` or `uplift_curve` returns it.
    score : float, default=None
        The area between the curve and the straight line, for the legend. None means that there is none.
    kind : {"qini", "uplift"}, default="qini"
        Which curve it is.
    estimator_name : str, default=None
        Name for the legend. None means that there is no name.

    Attributes
    ----------
    line_ : matplotlib Artist
        The line of the curve.
    chance_level_ : matplotlib Artist or None
        The straight line to the end of the curve, which random order has on average.
    ax_ : matplotlib Axes
        The axes that hold the lines.
    figure_ : matplotlib Figure
        The figure that holds the axes.

    Examples
    --------
    >>> from dforest.uplift import UpliftCurveDisplay
    >>> display = UpliftCurveDisplay.from_predictions([1, 0, 0, 1], [0.4, 0.4, 0.1, 0.1], [1, 0, 1, 0])
    >>> display.gain
    array([0. , 0.5, 0. ])
    """

    def __init__(self, share, gain, *, score=None, kind="qini", estimator_name=None):
        self.share, self.gain, self.score, self.kind, self.estimator_name = share, gain, score, kind, estimator_name

    @classmethod
    def from_estimator(cls, estimator, X, y, treatment, *, kind="qini", sample_weight=None, name=None, ax=None, **kwargs):
        """Draw the curve of a fitted estimator's predictions.

        Parameters
        ----------
        estimator : estimator
            Whose `predict` returns a number for each row: an uplift forest or a causal forest of one treatment, for example.
        X : array-like of shape (n_rows, n_features)
            Rows of an experiment that the estimator was not fitted on.
        y, treatment, kind, sample_weight, ax, **kwargs
            As of `from_predictions`.
        name : str, default=None
            Name for the legend. None means the name of the estimator's class.

        Returns
        -------
        UpliftCurveDisplay
            The picture, which has been drawn.

        Raises
        ------
        ValueError
            If an argument is not as described.
        ImportError
            If matplotlib is not installed: the extra ``dforest[plot]`` has it.
        """
        check_is_fitted(estimator)
        name = type(estimator).__name__ if name is None else name
        uplift = np.asarray(on_host(estimator.predict(X)))
        return cls.from_predictions(y, uplift, treatment, kind=kind, sample_weight=sample_weight, name=name, ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y, uplift, treatment, *, kind="qini", sample_weight=None, name=None, ax=None, **kwargs):
        """Draw the curve of predictions.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Outcomes: booleans, 0 and 1, or other finite numbers.
        uplift : array-like of shape (n_rows,)
            Predictions, of which the order alone counts.
        treatment : array-like of shape (n_rows,)
            0 and 1, booleans, or two other labels, of which the first one in their order is the control.
        kind : {"qini", "uplift"}, default="qini"
            Which curve to draw.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on. None means that all weights are 1.
        name, ax, **kwargs
            Passed on to `plot`.

        Returns
        -------
        UpliftCurveDisplay
            The picture, which has been drawn.

        Raises
        ------
        ValueError
            If an argument is not as described.
        ImportError
            If matplotlib is not installed: the extra ``dforest[plot]`` has it.
        """
        if kind not in KINDS:
            raise ValueError(f"kind={kind!r}; allowed are {', '.join(map(repr, KINDS))}")
        told = checked(y, uplift, treatment, sample_weight)
        own = cls(*curve(kind, *told), score=area(kind, *told, False), kind=kind, estimator_name=name)
        return own.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, name=None, plot_chance_level=True, **kwargs):
        """Draw the curve on axes of matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None means the axes of a new figure.
        name : str, default=None
            Name for the legend. None means `estimator_name`.
        plot_chance_level : bool, default=True
            Whether to draw the straight line too.
        **kwargs : dict
            Passed on to ``matplotlib.axes.Axes.plot`` for the curve.

        Returns
        -------
        UpliftCurveDisplay
            This object.
        """
        needed("matplotlib", "plot", type(self).__name__)
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots()
        name = self.estimator_name if name is None else name
        label = " ".join([name or "", *([f"(area {self.score:.3g})"] if self.score is not None else [])]).strip()
        (self.line_,) = ax.plot(self.share, self.gain, **{"label": label or None} | kwargs)
        self.chance_level_ = None
        if plot_chance_level:
            (self.chance_level_,) = ax.plot([0, 1], [0, self.gain[-1]], color="grey", linestyle="--", label="random order")
        ax.set(xlabel="Share of the rows that are treated", ylabel=LABELS[self.kind], xlim=(0, 1))
        ax.legend(loc="best")
        self.ax_, self.figure_ = ax, ax.figure
        return self
