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

import numpy as np
from scipy.stats import norm, t


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
        The expected shares of the arms.

    Returns
    -------
    ndarray of shape (n_rows, K)
    """
    control = y_hat - (share[:, 1:] * tau).sum(axis=1)
    level = np.column_stack([control, control[:, None] + tau])
    is_in = arm[:, None] == np.arange(share.shape[1])
    correction = np.where(is_in, (y[:, None] - level) / share, 0.0)
    return tau + correction[:, 1:] - correction[:, :1]


def by_cluster(values, clusters):
    """Sums over clusters; None: each row is one."""
    if clusters is None:
        return values
    return np.bincount(np.unique(clusters, return_inverse=True)[1], values)


def mean(scores, weight, clusters):
    """The weighted mean of scores, with a standard error: `Estimate`."""
    weight = np.ones(len(scores)) if weight is None else weight
    found = np.average(scores, weights=weight)
    parts = by_cluster(weight * (scores - found), clusters)
    n = len(parts)
    return Estimate(float(found), float(np.sqrt(np.square(parts).sum() * n / max(n - 1, 1)) / weight.sum()))


def mean_of_some(tau, y, w, y_hat, w_hat, weight, clusters, of_treated):
    """The mean effect on the treated rows, or on the others, by weighted residuals: `Estimate`.

    Residuals of treated rows and of others are averaged apart, with weights that make either look like those that are asked for:
    e / (1 - e) for untreated rows to look like treated ones.
    """
    weight = np.ones(len(y)) if weight is None else weight
    is_in = w == (1.0 if of_treated else 0.0)
    raw = np.average(tau[is_in], weights=weight[is_in])
    odds = w_hat / (1.0 - w_hat) if of_treated else (1.0 - w_hat) / w_hat
    gamma = np.where(is_in, 1.0, odds) * weight
    residual = y - y_hat - (w - w_hat) * tau
    treated = np.where(w == 1.0, gamma, 0.0)
    others = np.where(w == 1.0, 0.0, gamma)
    correction = treated / treated.sum() * residual - others / others.sum() * residual
    parts = by_cluster(correction, clusters)
    n = len(parts)
    return Estimate(float(raw + correction.sum()), float(np.sqrt(np.square(parts).sum() * n / max(n - 1, 1))))


def regression(names, X, y, weight=None, clusters=None, one_sided=False):
    """A weighted least-squares regression with robust standard errors: `Coefficients`.

    Residuals are divided by one less their leverage (HC3); with clusters, those of a cluster together (CR3), which is as if the
    regression were done without the cluster: J. G. MacKinnon, H. White, Journal of Econometrics 29(3), 1985; R. M. Bell,
    D. F. McCaffrey, Survey Methodology 28(2), 2002.

    Parameters
    ----------
    names : list of str
    X : ndarray of shape (n_rows, n_columns), dtype float64
    y : ndarray of shape (n_rows,), dtype float64
    weight, clusters : ndarray of shape (n_rows,), optional
    one_sided : bool, default=False
        Whether p-values are probabilities of a greater statistic, not of a greater magnitude.
    """
    weight = np.ones(len(y)) if weight is None else weight / weight.mean()
    inverse = np.linalg.pinv((X * weight[:, None]).T @ X)
    found = inverse @ (X * weight[:, None]).T @ y
    residual = y - X @ found
    if clusters is None:
        leverage = np.einsum("ij,jk,ik->i", X, inverse, X) * weight
        parts = X * (weight * residual / np.maximum(1.0 - leverage, 1e-10))[:, None]
    else:
        parts = []
        for rows in np.split(np.argsort(clusters, kind="stable"), np.flatnonzero(np.diff(np.sort(clusters))) + 1):
            own, w = X[rows], weight[rows]
            # By the matrix inversion lemma, no larger than the number of columns: (I - X A X'W)^-1 = I + X (A^-1 - X'W X)^-1 X'W.
            inside = np.linalg.pinv(np.linalg.pinv(inverse) - (own * w[:, None]).T @ own)
            left = own.T @ (w * residual[rows])
            parts.append(left + (own * w[:, None]).T @ own @ inside @ left)
        parts = np.array(parts)
    covariance = inverse @ parts.T @ parts @ inverse
    error = np.sqrt(np.diagonal(covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = found / error
    freedom = max(len(parts) - X.shape[1], 1)
    p = t.sf(statistic, freedom) if one_sided else 2.0 * t.sf(np.abs(statistic), freedom)
    return Coefficients(list(names), found, error, statistic, p)


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
    found = []
    for _ in range(n_resamples):
        chosen = np.zeros(n, bool)
        chosen[random.permutation(n)[: n // 2]] = True
        rows = np.flatnonzero(chosen[number])
        found.append(rank_average(scores[rows], priorities[rows], None if weight is None else weight[rows], target))
    return Estimate(rank_average(scores, priorities, weight, target), float(np.std(found, ddof=1)))
