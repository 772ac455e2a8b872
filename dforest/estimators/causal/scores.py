"""Averages over effects, and tests of them, by doubly robust scores.

A *score* of a row is an estimate of its effect, noisy but with little bias: what the forest says of it, out of bag, and a
correction by the outcome of the row. With outcomes Y and treatments W of 0 and 1, what is expected of both (m and e), and effects
tau, it is

    tau + (W - e) / (e (1 - e)) (Y - m - (W - e) tau)

(J. M. Robins, A. Rotnitzky, L. P. Zhao, "Estimation of regression coefficients when some regressors are not always observed",
JASA 89(427), 1994; S. Athey, S. Wager, "Estimating treatment effects with causal forests: an application", Observational Studies
5, 2019). Standard errors are robust to heteroscedasticity (HC3), and to clusters (CR3), which are the groups of rows.

Everything here works on one effect of each row, as arrays of shape (n_rows,).
"""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.stats import norm, t

from dforest.estimators.data.given import check_number


@dataclass(frozen=True)
class Estimate:
    """An estimate, and how sure it is.

    Attributes
    ----------
    estimate, standard_error : float

    Examples
    --------
    >>> from dforest.estimators.causal.scores import Estimate
    >>> low, high = Estimate(1.0, 0.5).interval()
    >>> round(low, 3), round(high, 3)
    (0.02, 1.98)
    """

    estimate: float
    standard_error: float

    def interval(self, level=0.95):
        """The interval that covers the truth with a probability of `level`, as the estimate is about normal: (float, float)."""
        level = check_number("level", level, Real, "numbers above 0 and below 1", lambda n: 0 < n < 1)
        half = float(norm.ppf((1 + level) / 2)) * self.standard_error
        return self.estimate - half, self.estimate + half


@dataclass(frozen=True)
class Coefficients:
    """A linear regression: arrays of one axis, with an entry for each coefficient.

    Attributes
    ----------
    names : list of str
    estimate, standard_error, statistic, pvalue : ndarray of float64
        The statistic is the estimate over its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.estimators.causal.scores import regression
    >>> x = np.arange(8.0)
    >>> found = regression(["constant", "x"], np.column_stack([np.ones(8), x]), 2 * x + [1, 0, 1, 0, 1, 0, 1, 0])
    >>> found.estimate.round(2).tolist()
    [0.67, 1.95]
    """

    names: list
    estimate: np.ndarray
    standard_error: np.ndarray
    statistic: np.ndarray
    pvalue: np.ndarray

    def as_dict(self):
        """The table as a dict of columns, such as ``pandas.DataFrame`` takes."""
        return {
            "name": list(self.names), "estimate": self.estimate, "standard_error": self.standard_error,
            "statistic": self.statistic, "pvalue": self.pvalue,
        }  # fmt: skip

    def __str__(self):
        lines = [f"{'':24s}{'estimate':>12s}{'std. error':>12s}{'t':>9s}{'p':>9s}"]
        for row in zip(self.names, self.estimate, self.standard_error, self.statistic, self.pvalue, strict=True):
            lines.append("{:24.24s}{:12.5g}{:12.5g}{:9.2f}{:9.4f}".format(*row))
        return "\n".join(lines)


def doubly_robust(tau, y, w, y_hat, w_hat, debiasing=None):
    """The scores of rows for one treatment.

    Parameters
    ----------
    tau, y, w, y_hat, w_hat : ndarray of shape (n_rows,), dtype float64
        Effects out of bag, outcomes, treatments, and what is expected of these.
    debiasing : ndarray of shape (n_rows,), dtype float64, optional
        What a residual counts in the score; None: (W - e) / (e (1 - e)), for treatments of 0 and 1.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
    """
    if debiasing is None:
        debiasing = (w - w_hat) / (w_hat * (1.0 - w_hat))
    return tau + debiasing * (y - y_hat - (w - w_hat) * tau)


def of_arms(tau, y, arm, y_hat, share):
    """The scores of rows for several arms, each against the control.

    Parameters
    ----------
    tau : ndarray of shape (n_rows, K)
    y, y_hat : ndarray of shape (n_rows,)
    arm : ndarray of shape (n_rows,), dtype int
        0 for the control.
    share : ndarray of shape (n_rows, K + 1)
        The expected shares of the arms, which sum to 1.

    Returns
    -------
    ndarray of shape (n_rows, K)
    """
    control = y_hat - (share[:, 1:] * tau).sum(axis=1)
    level = np.column_stack([control, control[:, None] + tau])
    is_in = arm[:, None] == np.arange(share.shape[1])
    correction = np.where(is_in, (y[:, None] - level) / share, 0.0)
    return tau + correction[:, 1:] - correction[:, :1]


def _shares(weight, n):
    """Weights that sum to 1."""
    if weight is None:
        return np.full(n, 1.0 / n)
    weight = weight / weight.max()
    return weight / weight.sum()


def _by_cluster(values, clusters):
    """Sums over clusters, which are numbers; None: each row is one. Raises ValueError if there is one alone."""
    parts = values if clusters is None else np.bincount(clusters, values)[np.unique(clusters)]
    if len(parts) < 2:
        what = "row" if clusters is None else "group"
        raise ValueError(f"there is {len(parts)} {what} to estimate from; allowed are two or more")
    return parts


def _error_of(parts):
    """The standard error of a sum of independent parts, which sum to 0."""
    return float(np.sqrt(np.square(parts).sum() * len(parts) / (len(parts) - 1)))


def mean(scores, weight, clusters):
    """The weighted mean of scores, with a standard error: `Estimate`."""
    share = _shares(weight, len(scores))
    found = float((share * scores).sum())
    return Estimate(found, _error_of(_by_cluster(share * (scores - found), clusters)))


def mean_of_some(tau, y, w, y_hat, w_hat, weight, clusters, of_treated):
    """The mean effect on the treated rows, or on the others, by weighted residuals: `Estimate`.

    Residuals of treated rows and of others are averaged apart, with weights that make either look like those that are asked for:
    e / (1 - e) for untreated rows to look like treated ones. The standard error has a part for how effects vary among the rows,
    so that the interval is for the population that they are from, as that of `mean` is.

    Raises
    ------
    ValueError
        If all rows are treated, or none is.
    """
    share = _shares(weight, len(y))
    is_treated = w == 1.0
    if is_treated.all() or not is_treated.any():
        raise ValueError("all of the rows are treated, or none is; allowed are subsets with rows of both kinds")
    is_in = is_treated if of_treated else ~is_treated
    own = np.where(is_in, share, 0.0)
    own /= own.sum()
    raw = (own * tau).sum()
    odds = w_hat / (1.0 - w_hat) if of_treated else (1.0 - w_hat) / w_hat
    gamma = np.where(is_in, 1.0, odds) * share
    residual = y - y_hat - (w - w_hat) * tau
    treated, others = np.where(is_treated, gamma, 0.0), np.where(is_treated, 0.0, gamma)
    correction = treated / treated.sum() * residual - others / others.sum() * residual
    error = _error_of(_by_cluster(correction + own * (tau - raw), clusters))
    return Estimate(float(raw + correction.sum()), error)


def regression(names, X, y, weight=None, clusters=None, one_sided=False):
    """A weighted least-squares regression with robust standard errors: `Coefficients`.

    They are the spread of the coefficients when each row in turn is left out (HC3), or with clusters each cluster (CR3):
    J. G. MacKinnon, H. White, Journal of Econometrics 29(3), 1985; R. M. Bell, D. F. McCaffrey, Survey Methodology 28(2), 2002.

    Parameters
    ----------
    names : list of str
    X : ndarray of shape (n_rows, n_columns), dtype float64
    y : ndarray of shape (n_rows,), dtype float64
    weight : ndarray of shape (n_rows,), optional
    clusters : ndarray of shape (n_rows,), dtype int, optional
    one_sided : bool, default=False
        Whether p-values are probabilities of a greater statistic, not of a greater magnitude.

    Raises
    ------
    ValueError
        If a column follows from others, or does so without one of the rows, or clusters.
    """
    share = _shares(weight, len(y))
    scale = np.exp2(-np.ceil(np.log2(np.maximum(np.abs(X).max(axis=0, initial=0.0), np.finfo(float).tiny))))
    rows = X * scale * np.sqrt(share * len(y))[:, None]
    Q, R = np.linalg.qr(rows)
    diagonal = np.abs(np.diagonal(R))
    wrong = diagonal <= _RANK * diagonal.max(initial=0.0) if len(y) >= X.shape[1] else np.ones(X.shape[1], bool)
    if wrong.any():
        raise ValueError(
            f"the column {names[int(np.flatnonzero(wrong)[0])]!r} follows from others, or there are fewer rows than columns; "
            "allowed are columns that tell something of their own"
        )
    inverse = np.linalg.inv(R)
    found = inverse @ (Q.T @ (y * np.sqrt(share * len(y))))
    residual = y * np.sqrt(share * len(y)) - rows @ found
    number = np.arange(len(y)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    if number.max() < 1:
        raise ValueError("there is 1 group to estimate from; allowed are two or more")
    order = np.argsort(number, kind="stable")
    first = np.searchsorted(number[order], np.arange(number.max() + 1))
    own = np.add.reduceat(Q[order, :, None] * Q[order, None, :], first)  # of each cluster
    left = np.eye(X.shape[1]) - own
    if (np.linalg.eigvalsh(left)[:, 0] < _LEVERAGE).any():
        what = "row" if clusters is None else "group"
        raise ValueError(f"a coefficient is told by a single {what} alone; allowed are columns that vary without it")
    moved = np.linalg.solve(left, np.add.reduceat((Q * residual[:, None])[order], first)[:, :, None])[:, :, 0] @ inverse.T
    error = np.sqrt(np.square(moved).sum(axis=0))
    found, error = found * scale, error * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = found / error
    freedom = max(len(moved) - X.shape[1], 1)
    p = t.sf(statistic, freedom) if one_sided else 2.0 * t.sf(np.abs(statistic), freedom)
    return Coefficients(list(names), found, error, statistic, p)


_RANK, _LEVERAGE = 1e-10, 1e-9


def targeting_curve(scores, priorities, weight=None):
    """By how much the mean score of the rows of highest priority is above that of all.

    Rows of equal priority count with the mean of their scores.

    Parameters
    ----------
    scores, priorities : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,), optional

    Returns
    -------
    share, gain : ndarray of shape (n_rows,)
        The shares of the weight that the first 1, 2, ... rows are, and their mean scores less that of all.
    """
    weight = np.ones(len(scores)) if weight is None else weight
    weight = weight / weight.max()
    levels, number = np.unique(-priorities, return_inverse=True)
    total = np.bincount(number, weight, len(levels))
    means = np.divide(np.bincount(number, weight * scores, len(levels)), total, out=np.zeros(len(levels)), where=total > 0)
    order = np.argsort(number, kind="stable")
    summed = np.cumsum(weight[order])
    gain = np.cumsum((weight * means[number])[order]) / summed - np.average(scores, weights=weight)
    return summed / summed[-1], gain


def rank_average(scores, priorities, weight, target):
    """The area under a targeting curve: "AUTOC", or "QINI", which weighs it by the share of rows that are treated."""
    share, gain = targeting_curve(scores, priorities, weight)
    step = np.diff(share, prepend=0.0)
    return float((step * gain * (1.0 if target == "AUTOC" else share)).sum())


def rank_average_estimate(scores, priorities, weight, clusters, target, n_resamples, random):
    """A rank-weighted average effect, with the standard error of half-samples: `Estimate`.

    The spread of the estimates from halves of the clusters, drawn without replacement, is that of the estimate from all:
    S. Yadlowsky, S. Fleming, N. Shah, E. Brunskill, S. Wager, "Evaluating treatment prioritization rules via rank-weighted
    average treatment effects", JASA 120(549), 2025, section 3.
    """
    number = np.arange(len(scores)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    n = int(number.max()) + 1
    if n < 4:
        raise ValueError(f"there are {n} rows or groups to rank; allowed are four or more")
    found = []
    for _ in range(n_resamples):
        chosen = np.zeros(n, bool)
        chosen[random.permutation(n)[: n // 2]] = True
        rows = np.flatnonzero(chosen[number])
        found.append(rank_average(scores[rows], priorities[rows], None if weight is None else weight[rows], target))
    return Estimate(rank_average(scores, priorities, weight, target), float(np.std(found, ddof=1)))
