"""How well predictions of uplift rank rows: curves, and areas under them.

The rows of an experiment are sorted by predicted uplift, from the highest on. Among the first rows, which are a share s of all,
let N_T and N_C be the weights of treated rows and of the others (the control), and R_T and R_C the sums of their outcomes, times
weight. The *uplift curve* is what is gained for each row, if those rows are treated and no others,

    U(s) = (R_T / N_T - R_C / N_C) s

(P. Gutierrez, J.-Y. Gerardy, "Causal inference and uplift modelling: a review of the literature", PMLR 67, 2017), and the *Qini
curve* is the gain for each row that was treated, as it was counted,

    Q(s) = (R_T - R_C N_T / N_C) / (N_T of all rows)

(N. J. Radcliffe, "Using control groups to target on predicted lift: building and assessing uplift models", Direct Marketing
Analytics Journal, 2007). A quotient by 0 counts as 0. Both end, at s = 1, with the mean outcome of treated rows less that of the
others; where rows are in random order, both are about straight. Rows of equal predictions count together: curves have a point
before and behind each such group, and are straight between.
"""

from numbers import Real

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from dforest.config import on_host
from dforest.estimators.data.given import check_number, given_numbers, given_values
from dforest.estimators.data.validation import check_classes, check_weights

KINDS = "qini", "uplift"
ROUNDING = 1e-12  # of outcomes: smaller areas are none


def qini_curve(y, uplift, treatment, *, sample_weight=None):
    """Compute the Qini curve of predictions: what is gained by treating the rows of highest predicted uplift.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Outcomes: booleans, 0 and 1, or other finite numbers.
    uplift : array-like of shape (n_rows,)
        Predictions, of which the order alone counts.
    treatment : array-like of shape (n_rows,)
        0 and 1, booleans, or two other labels, of which the first one in their order is the control.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows, from 0 on. None means that all weights are 1.

    Returns
    -------
    share, gain : ndarray of shape (n_different + 1,)
        Shares s of the rows, from 0 to 1, and Q(s) = (R_T - R_C N_T / N_C) / N_T(1): among the first rows, N_T and N_C are the
        weights of treated and other rows, and R_T and R_C the weighted sums of their outcomes.

    Raises
    ------
    ValueError
        If an argument is not as described.

    References
    ----------
    N. J. Radcliffe, "Using control groups to target on predicted lift: building and assessing uplift models", Direct Marketing
    Analytics Journal, 2007.

    Examples
    --------
    >>> from dforest.uplift import qini_curve
    >>> share, gain = qini_curve(y=[1, 0, 0, 1], uplift=[0.4, 0.4, 0.1, 0.1], treatment=[1, 0, 1, 0])
    >>> share, gain
    (array([0. , 0.5, 1. ]), array([0. , 0.5, 0. ]))
    """
    return curve("qini", *checked(y, uplift, treatment, sample_weight))


def uplift_curve(y, uplift, treatment, *, sample_weight=None):
    """Compute the uplift curve of predictions: what is gained by treating the rows of highest predicted uplift.

    Parameters
    ----------
    y, uplift, treatment, sample_weight
        As of `qini_curve`.

    Returns
    -------
    share, gain : ndarray of shape (n_different + 1,)
        Shares s of the rows, from 0 to 1, and U(s) = (R_T / N_T - R_C / N_C) s: among the first rows, N_T and N_C are the weights
        of treated and other rows, and R_T and R_C the weighted sums of their outcomes.

    Raises
    ------
    ValueError
        If an argument is not as described.

    References
    ----------
    P. Gutierrez, J.-Y. Gerardy, "Causal inference and uplift modelling: a review of the literature", PMLR 67, 2017.

    Examples
    --------
    >>> from dforest.uplift import uplift_curve
    >>> share, gain = uplift_curve(y=[1, 0, 0, 1], uplift=[0.4, 0.4, 0.1, 0.1], treatment=[1, 0, 1, 0])
    >>> share, gain
    (array([0. , 0.5, 1. ]), array([0. , 0.5, 0. ]))
    """
    return curve("uplift", *checked(y, uplift, treatment, sample_weight))


def qini_score(y, uplift, treatment, *, sample_weight=None, normalize=False):
    """Compute the area between the Qini curve of predictions and the straight line to its end.

    It is 0 on average for predictions that say nothing, and the higher, the better they rank rows.

    Parameters
    ----------
    y, uplift, treatment, sample_weight
        As of `qini_curve`.
    normalize : bool, default=False
        Whether to divide by the area that predictions would have which knew what came of each row: its outcome if it was treated,
        and the negative outcome if it was not. Where there are many rows, hardly any order has a larger area.

    Returns
    -------
    float
        NaN if it is normalized, and that area is not above 0.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> from dforest.uplift import qini_score
    >>> qini_score(y=[1, 0, 0, 1], uplift=[0.4, 0.4, 0.1, 0.1], treatment=[1, 0, 1, 0])
    0.25
    """
    return area("qini", *checked(y, uplift, treatment, sample_weight), normalize)


def auuc_score(y, uplift, treatment, *, sample_weight=None, normalize=False):
    """Compute the area between the uplift curve of predictions and the straight line to its end.

    Parameters
    ----------
    y, uplift, treatment, sample_weight
        As of `qini_curve`.
    normalize : bool, default=False
        As of `qini_score`.

    Returns
    -------
    float
        NaN if it is normalized, and the area that it is divided by is not above 0.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> from dforest.uplift import auuc_score
    >>> auuc_score(y=[1, 0, 0, 1], uplift=[0.4, 0.4, 0.1, 0.1], treatment=[1, 0, 1, 0])
    0.25
    """
    return area("uplift", *checked(y, uplift, treatment, sample_weight), normalize)


def uplift_at_k(y, uplift, treatment, *, k=0.3, sample_weight=None):
    """Compute the uplift among the rows of highest predicted uplift: the mean outcome of treated ones less that of others.

    Parameters
    ----------
    y, uplift, treatment, sample_weight
        As of `qini_curve`.
    k : float, default=0.3
        Share of the rows, by weight, above 0 and up to 1. Rows of equal predictions of which a part belongs there all count, each
        with that part of its weight.

    Returns
    -------
    float
        NaN if there are no treated rows among them, or no others.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> from dforest.uplift import uplift_at_k
    >>> uplift_at_k(y=[1, 0, 0, 1], uplift=[0.4, 0.4, 0.1, 0.1], treatment=[1, 0, 1, 0], k=0.5)
    1.0
    """
    k = check_number("k", k, Real, "numbers above 0 and up to 1", lambda k: 0 < k <= 1)
    sums = sums_of_first(*checked(y, uplift, treatment, sample_weight))
    weight = sums[0] + sums[1]
    at = [np.interp(k * weight[-1], weight, own) for own in sums]
    return float(at[2] / at[0] - at[3] / at[1]) if at[0] > 0 and at[1] > 0 else float("nan")


def checked(y, uplift, treatment, sample_weight=None):
    """(y, uplift, whether treated, weight), as ndarrays of shape (n_rows,). Raises ValueError if they are not as described."""
    y, uplift = (_column(name, given) for name, given in (("y", y), ("uplift", uplift)))
    treatment = given_values("treatment", treatment)
    for name, column in (("uplift", uplift), ("treatment", treatment)):
        if getattr(column, "shape", None) != y.shape:
            raise ValueError(f"{name} has the shape {getattr(column, 'shape', None)}; allowed is that of y, {y.shape}")
    arms, arm = check_classes(treatment)
    if len(arms) != 2:
        raise ValueError(
            f"treatment has the labels {arms.tolist()[:5]!r}; allowed are two: of several arms, pass the rows of one and of the "
            "control"
        )
    weight = check_weights([sample_weight], [y])
    weight = np.ones(len(y)) if weight is None else weight
    for number, label in enumerate(arms.tolist()):
        if not weight[arm == number].any():
            raise ValueError(
                f"sample_weight is 0 for all rows of treatment {label!r}; allowed are weights of which some are above 0"
            )
    return y, uplift, arm == 1, weight


def _column(name, values):
    values = given_numbers(name, on_host(values))
    if not isinstance(values, np.ndarray) or values.ndim != 1 or len(values) == 0 or values.dtype.kind not in "biuf":
        raise ValueError(f"{name} is {values!r:.100}; allowed are arrays of one axis, of numbers or booleans")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has the value {values[~np.isfinite(values)][0]}; allowed are finite numbers")
    return values


def sums_of_first(y, uplift, is_treated, weight):
    """N_T, N_C, R_T and R_C of the first rows, before and behind each group of equal predictions: ndarray of shape (4, n + 1)."""
    levels, group = np.unique(-uplift, return_inverse=True)
    parts = [weight * is_treated, weight * ~is_treated]
    parts += [part * y for part in parts]
    return np.stack([np.cumsum(np.concatenate([[0.0], np.bincount(group, part, len(levels))])) for part in parts])


def _ratio(a, b):
    return np.divide(a, b, out=np.zeros(len(a)), where=b > 0)


def curve(kind, y, uplift, is_treated, weight):
    """(shares, gains) of a curve, given checked arguments. kind : one of `KINDS`"""
    n_treated, n_others, treated, others = sums_of_first(y, uplift, is_treated, weight)
    share = (n_treated + n_others) / (n_treated[-1] + n_others[-1])
    if kind == "qini":
        return share, (treated - _ratio(others, n_others) * n_treated) / n_treated[-1]
    return share, (_ratio(treated, n_treated) - _ratio(others, n_others)) * share


def area(kind, y, uplift, is_treated, weight, normalize):
    """The area between a curve and the straight line to its end: float."""
    share, gain = curve(kind, y, uplift, is_treated, weight)
    found = float((np.diff(share) * (gain[1:] + gain[:-1])).sum() / 2 - gain[-1] / 2)
    if not normalize:
        return found
    best = area(kind, y, np.where(is_treated, y, -y), is_treated, weight, False)
    return found / best if best > ROUNDING * np.abs(y).max() else float("nan")


class UpliftScorer:
    """What `make_uplift_scorer` returns: a scorer, which is called as ``scorer(estimator, X, y, treatment=treatment)``."""

    def __init__(self, score, arm, is_weighted, parameters):
        self.score, self.arm, self.is_weighted, self.parameters = score, arm, is_weighted, parameters

    def __call__(self, estimator, X, y, treatment=None, sample_weight=None):
        if treatment is None:
            raise ValueError(
                "treatment=None; a scorer of uplift needs the arm of each row: with metadata routing, which "
                "sklearn.set_config(enable_metadata_routing=True) enables, it is passed on by fit(X, y, treatment=treatment)"
            )
        uplift, y, treatment = np.asarray(on_host(estimator.predict(X))), np.asarray(y), np.asarray(treatment)
        if uplift.ndim == 2:
            arms = np.asarray(getattr(estimator, "arms_", np.arange(uplift.shape[1] + 1))).tolist()
            if self.arm not in arms[1:]:
                raise ValueError(f"arm={self.arm!r}; allowed are the arms {', '.join(map(repr, arms[1:]))}")
            rows = np.isin(treatment, [arms[0], self.arm])
            uplift, y, treatment = uplift[rows, arms.index(self.arm) - 1], y[rows], treatment[rows]
            sample_weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        return self.score(y, uplift, treatment, sample_weight=sample_weight, **self.parameters)

    def get_metadata_routing(self):
        """Return what the scorer asks for: see scikit-learn's metadata routing."""
        requests = MetadataRequest(owner=type(self).__name__)
        requests.score.add_request(param="treatment", alias=True)
        requests.score.add_request(param="sample_weight", alias=self.is_weighted)
        return requests

    def __repr__(self):
        return f"make_uplift_scorer({self.score.__name__})"


def make_uplift_scorer(score=qini_score, *, arm=None, sample_weight=False, **parameters):
    """Make a scorer for scikit-learn's model selection, which ranks held-out rows by what an estimator's `predict` returns.

    The arms of rows reach it by metadata routing, which must be enabled; estimators are asked for them by ``set_fit_request``.

    Parameters
    ----------
    score : callable, default=qini_score
        `qini_score`, `auuc_score` or `uplift_at_k`, or another function of y, uplift, treatment and sample_weight.
    arm : label, optional
        Of several arms, the one that is scored, on the rows of this arm and of the control.
    sample_weight : bool, default=False
        Whether the scorer asks for weights of rows.
    **parameters
        Passed on to `score`.

    Returns
    -------
    callable

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV
    >>> from dforest import UpliftForestClassifier
    >>> from dforest.uplift import make_uplift_scorer
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(1000, 3))
    >>> letter = random.random(1000) < 0.5
    >>> bought = random.random(1000) < 0.2 + 0.4 * letter * (X[:, 0] > 0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     forest = UpliftForestClassifier(20, random_state=0).set_fit_request(treatment=True)
    ...     search = GridSearchCV(forest, {"max_depth": [1, 3]}, scoring=make_uplift_scorer(), cv=3)
    ...     search = search.fit(X, bought, treatment=letter)
    >>> float(search.best_score_) > 0.02
    True
    """
    if not callable(score):
        raise ValueError(f"score={score!r}; allowed are functions such as qini_score, auuc_score and uplift_at_k")
    return UpliftScorer(score, arm, bool(sample_weight), parameters)
