"""Numbers that are made of all targets of a set of rows: exact means, weighted quantiles, and the baselines of boosted trees.

Each follows the rules of node.h and boost.h, so that no order of the rows changes a bit.
"""
from libc.float cimport DBL_MIN
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

import numpy as np

from dforest.rules.boost cimport df_between_values, df_ends_at_quantile, df_reaches_quantile
from dforest.rules.node cimport DF_LEAF_BITS, df_choose_scale, df_leaf_mean, df_leaf_offset
from dforest.rules.numerics cimport df_add_product, df_exact_sum, df_log, df_sum_digits, df_sum_of_digits

from dforest.rules.losses import LOSSES

N_DIGITS = 4                   # of an exact sum


def exact_mean(const double[::1] y not None, const uint32_t[::1] weight=None, ranks=None):
    """The weighted mean of some numbers, from an exact sum of integers of 62 bits: what a leaf of them predicts.

    Parameters
    ----------
    y : ndarray of shape (n,), dtype float64
        Finite, at least one, if not of these, then of others.
    weight : ndarray of shape (n,), dtype uint32, optional
        From 1 on; 1 each unless given.
    ranks : Communicator, optional
        Whose numbers these are besides. None: nobody else has any.

    Returns
    -------
    float
    """
    cdef Py_ssize_t i
    cdef double centre = 0.0, lo = np.min(y, initial=np.inf), hi = np.max(y, initial=-np.inf)
    cdef int32_t exponent
    cdef int64_t total = 0
    cdef int64_t[::1] found
    cdef df_exact_sum sum
    cdef bint has_weight = weight is not None
    if ranks is not None:
        lo, hi = ranks.least(np.array([lo, -hi])) * [1.0, -1.0]
    if lo == hi:
        return lo + 0.0                      # no -0.0
    exponent = df_choose_scale(lo, hi, DF_LEAF_BITS, &centre)
    memset(&sum, 0, sizeof(sum))
    with nogil:
        for i in range(y.shape[0]):
            df_add_product(&sum, weight[i] if has_weight else 1, df_leaf_offset(y[i], centre, exponent))
            total += weight[i] if has_weight else 1
    if ranks is not None:
        found = np.zeros(N_DIGITS + 1, np.int64)
        df_sum_digits(&sum, &found[0])
        found[N_DIGITS] = total
        found = ranks.sum(np.asarray(found))
        sum = df_sum_of_digits(&found[0])
        total = found[N_DIGITS]
    return df_leaf_mean(&sum, total, centre, exponent, lo, hi)


def weighted_quantile(values, double quantile, weight=None):
    """The least of some numbers up to which they have a share of the weight.

    Parameters
    ----------
    values : ndarray of shape (n,), dtype float64
        Finite, at least one.
    quantile : float
        The share, from 0 to 1.
    weight : ndarray of shape (n,), dtype uint32, optional
        From 1 on; 1 each unless given.

    Returns
    -------
    float
        If numbers up to one have exactly this share, the middle between it and the next greater one.
    """
    cdef Py_ssize_t i, n = len(values)
    cdef int64_t upto = 0, total = 0
    cdef const double[::1] v
    cdef const uint32_t[::1] w
    values = values + 0.0                    # no -0.0, which would compare as equal to 0.0
    if weight is None:
        v = np.sort(values)
        w = None
        total = n
    else:
        order = np.argsort(values)
        v, w = values[order], weight[order]
        for i in range(n):
            total += w[i]
    for i in range(n):
        upto += 1 if w is None else w[i]
        if i + 1 < n and v[i + 1] == v[i]:
            continue
        if i + 1 == n or df_reaches_quantile(upto, total, quantile):
            break
    return df_between_values(v[i], v[i + 1]) if i + 1 < n and df_ends_at_quantile(upto, total, quantile) else v[i]


def baselines(loss, const double[::1] y not None, weight=None, Py_ssize_t n_classes=2, double quantile=0.5,
              ranks=None):
    """What the raw predictions of boosted trees begin with: the constants that lose least; Huber's loss begins with the median.

    Parameters
    ----------
    loss : str
        Of `dforest.rules.losses.LOSSES`.
    y : ndarray of shape (n_rows,), dtype float64
        Targets that the loss allows, or class numbers, each of which occurs.
    weight : ndarray of shape (n_rows,), dtype uint32, optional
        Integer weights from 1 on; 1 each unless given.
    n_classes : int
        Of classification.
    quantile : float
        Of the loss "quantile".
    ranks : Communicator, optional
        Who else has rows, whose baselines these are too; not for medians and quantiles. None: nobody.

    Returns
    -------
    ndarray of shape (1,) or (n_classes,), dtype float64
    """
    cdef Py_ssize_t i
    cdef const uint32_t[::1] w = weight
    cdef int64_t[::1] of_class
    cdef double total = 0.0
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r}; allowed are {sorted(LOSSES)}")
    if LOSSES[loss].leaf != "newton":
        return np.array([weighted_quantile(np.asarray(y), quantile if loss == "quantile" else 0.5, weight)])
    if LOSSES[loss].targets in ("from_0", "above_0"):
        mean = exact_mean(y, w, ranks)
        if not mean >= DBL_MIN:              # df_log takes normal numbers
            raise ValueError(f"the mean of y is {mean}; allowed are means from {DBL_MIN} on for loss={loss!r}")
        return np.array([df_log(mean)])
    if LOSSES[loss].targets == "finite":
        return np.array([exact_mean(y, w, ranks)])
    of_class = np.zeros(n_classes, np.int64)
    for i in range(y.shape[0]):
        if not 0 <= y[i] < n_classes:
            raise ValueError(f"y has class {y[i]}; allowed are 0 to {n_classes - 1}")
        of_class[<Py_ssize_t> y[i]] += 1 if w is None else w[i]
    if ranks is not None:
        of_class = ranks.sum(np.asarray(of_class))
    if np.min(of_class) == 0:
        raise ValueError(f"y has no rows of class {np.argmin(of_class)}; allowed is one at least of each of {n_classes} classes")
    if LOSSES[loss].targets == "two_classes":
        ratio = df_log(<double> of_class[1] / <double> of_class[0])
        return np.array([ratio if loss == "log_loss" else 0.5 * ratio])
    rows = <double> int(np.sum(of_class))
    logs = np.array([df_log(<double> of_class[i] / <double> rows) for i in range(n_classes)])
    for i in range(n_classes):
        total += logs[i]
    return logs - total / <double> n_classes
