"""The losses of boosted trees by name, and as functions over arrays; and numbers that are made of all targets of a set of rows.

Formulas are those of losses.h. Every function returns new arrays.

Exact means, weighted quantiles and the baselines of boosted trees are made of all targets of some rows. Each follows the rules of
node.h and boost.h, so that no order of the rows changes a bit.
"""
from typing import NamedTuple

from libc.float cimport DBL_EPSILON, DBL_MIN
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memset

import numpy as np

from dforest.rules.boost cimport df_between_values, df_ends_at_quantile, df_reaches_quantile
from dforest.rules.node cimport DF_LEAF_BITS, df_choose_scale, df_leaf_mean, df_leaf_offset
from dforest.rules.numerics cimport df_add_product, df_exact_sum, df_log, df_sum_digits, df_sum_of_digits


class Loss(NamedTuple):
    """What is known of a loss.

    Attributes
    ----------
    number : int
        Its `df_loss_number`.
    has_constant_hessian : bool
        Whether the Hessian is 1 for every row.
    targets : {"finite", "from_0", "above_0", "to_1", "two_classes", "classes"}
        Which targets it allows: finite numbers; numbers from 0 on, not all 0; numbers above 0; numbers from 0 to 1; the class
        numbers 0 and 1; class numbers from 0 on.
    leaf : {"newton", "median", "relative", "quantile", "robust"}
        How the value of a leaf follows from its rows.
    """

    number: int
    has_constant_hessian: bool
    targets: str
    leaf: str

    @property
    def is_of_classes(self):
        """Whether targets are classes: bool."""
        return any(df_is_of_classes(targets) for targets, name in _TARGETS.items() if name == self.targets)


_TARGETS = {DF_FINITE_TARGETS: "finite", DF_TARGETS_FROM_0: "from_0", DF_TARGETS_ABOVE_0: "above_0",
            DF_TARGETS_TO_1: "to_1", DF_TWO_CLASSES: "two_classes", DF_CLASS_NUMBERS: "classes"}
_LEAVES = {DF_NEWTON_LEAF: "newton", DF_MEDIAN_LEAF: "median", DF_RELATIVE_LEAF: "relative", DF_QUANTILE_LEAF: "quantile",
           DF_ROBUST_LEAF: "robust"}


def _all_losses():
    cdef df_loss_facts facts
    losses = {}
    for number in range(DF_N_LOSSES):
        facts = df_facts_of_loss(number)
        losses[facts.name.decode()] = Loss(number, bool(facts.has_constant_hessian), _TARGETS[facts.targets], _LEAVES[facts.leaf])
    return losses


LOSSES = _all_losses()  # by name; "log_loss" is that of two classes, "multinomial" that of more


def number_of_row_loss(loss):
    """The number of a loss of one raw prediction for each row, by its name. Raises ValueError if there is none."""
    if loss not in LOSSES or loss == "multinomial":
        raise ValueError(f"loss={loss!r}; allowed are {sorted(set(LOSSES) - {'multinomial'})}")
    return LOSSES[loss].number


def _check_lengths(raw, y):
    if len(raw) != len(y):
        raise ValueError(f"raw has {len(raw)} rows, y has {len(y)}; allowed are equal numbers")


def derivatives(loss, const double[::1] raw not None, const double[::1] y not None, double parameter=0.0):
    """The gradient and the Hessian of each row's loss by its raw prediction.

    Parameters
    ----------
    loss : str
        Of `LOSSES`, other than "multinomial".
    raw, y : ndarray of shape (n_rows,), dtype float64
    parameter : float
        The quantile of "quantile", Huber's delta of "huber", the c of "fair", the power of "tweedie", the gamma of "focal";
        others have none.

    Returns
    -------
    gradient, hessian : ndarray of shape (n_rows,), dtype float64
    """
    cdef Py_ssize_t i
    cdef int number = number_of_row_loss(loss)
    cdef df_derivatives d
    _check_lengths(raw, y)
    gradient, hessian = np.empty((2, raw.shape[0]))
    cdef double[::1] g = gradient, h = hessian
    with nogil:
        for i in range(raw.shape[0]):
            d = df_derivatives_of_loss(number, raw[i], y[i], parameter)
            g[i] = d.gradient
            h[i] = d.hessian
    return gradient, hessian


def values(loss, const double[::1] raw not None, const double[::1] y not None, double parameter=0.0):
    """The loss of each row. Parameters are those of `derivatives`.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
    """
    cdef Py_ssize_t i
    cdef int number = number_of_row_loss(loss)
    _check_lengths(raw, y)
    result = np.empty(raw.shape[0])
    cdef double[::1] out = result
    with nogil:
        for i in range(raw.shape[0]):
            out[i] = df_value_of_loss(number, raw[i], y[i], parameter)
    return result


def relative_weights(const double[::1] y not None, const double[::1] weight=None):
    """What rows weigh in medians by relative weights.

    Parameters
    ----------
    y : ndarray of shape (n_rows,), dtype float64
    weight : ndarray of shape (n_rows,), dtype float64, optional
        None means that all are 1.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
    """
    cdef Py_ssize_t i
    result = np.empty(y.shape[0])
    cdef double[::1] out = result
    for i in range(y.shape[0]):
        out[i] = df_relative_weight(y[i]) * (1.0 if weight is None else weight[i])
    return result


def most_robust_term(loss, double parameter):
    """The most, in magnitude, that a robust mean takes of a row beyond the median: float. loss : str, whose leaves are such"""
    return df_most_robust_term(LOSSES[loss].number, parameter)


def _check_classes(raw, y):
    _check_lengths(raw, y)
    n_classes = raw.shape[1]
    if len(y) and not 0 <= np.min(y) <= np.max(y) < n_classes:
        raise ValueError(f"y has classes from {np.min(y)} to {np.max(y)}; allowed are 0 to {n_classes - 1}")


def class_derivatives(const double[:, ::1] raw not None, const int64_t[::1] y not None):
    """The gradients and Hessians of each row's multinomial loss by its raw predictions.

    Parameters
    ----------
    raw : ndarray of shape (n_rows, n_classes), dtype float64
    y : ndarray of shape (n_rows,), dtype int64
        Class numbers.

    Returns
    -------
    gradient, hessian : ndarray of shape (n_rows, n_classes), dtype float64
    """
    cdef Py_ssize_t i
    cdef int64_t n_classes = raw.shape[1]
    _check_classes(raw, y)
    gradient, hessian = np.empty((2, raw.shape[0], raw.shape[1]))
    cdef double[:, ::1] g = gradient, h = hessian
    with nogil:
        for i in range(raw.shape[0]):
            df_multinomial_derivatives(&raw[i, 0], y[i], &g[i, 0], &h[i, 0], 1, n_classes)
    return gradient, hessian


def class_values(const double[:, ::1] raw not None, const int64_t[::1] y not None):
    """The multinomial loss of each row. Parameters are those of `class_derivatives`.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
    """
    cdef Py_ssize_t i
    cdef int64_t n_classes = raw.shape[1]
    _check_classes(raw, y)
    result = np.empty(raw.shape[0])
    cdef double[::1] out = result, scratch = np.empty(raw.shape[1])
    with nogil:
        for i in range(raw.shape[0]):
            out[i] = df_multinomial_loss(&raw[i, 0], y[i], &scratch[0], 1, n_classes)
    return result


N_DIGITS = 4                   # of an exact sum


def exact_mean(const double[::1] y not None, const uint32_t[::1] weight=None, ranks=None):
    """The weighted mean of some numbers, from an exact sum of integers of 62 bits: what a leaf of them predicts.

    Parameters
    ----------
    y : ndarray of shape (n,), dtype float64
        Finite; at least one, here or on another rank.
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
    cdef Py_ssize_t i = 0, n = len(values)
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


def baselines(loss, const double[::1] y not None, weight=None, Py_ssize_t n_classes=2, ranks=None):
    """What the raw predictions of boosted trees begin with: the constants that lose least.

    Parameters
    ----------
    loss : str
        Of `LOSSES`, but those whose leaves are no Newton steps: these begin with a quantile or the median.
    y : ndarray of shape (n_rows,), dtype float64
        Targets that the loss allows, or class numbers. For a finite logarithm, a class without rows has a share of 2^-52, and
        the mean of shares of a class is at least that and at most as much below 1.
    weight : ndarray of shape (n_rows,), dtype uint32, optional
        Integer weights from 1 on; 1 each unless given.
    n_classes : int
        Of classification.
    ranks : Communicator, optional
        Who else has rows, whose baselines these are too. None: nobody.

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
    if LOSSES[loss].targets in ("from_0", "above_0"):
        mean = exact_mean(y, w, ranks)
        if not mean >= DBL_MIN:              # df_log takes normal numbers
            raise ValueError(f"the mean of y is {mean}; allowed are means from {DBL_MIN} on for loss={loss!r}")
        return np.array([df_log(mean)])
    if LOSSES[loss].targets == "finite":
        return np.array([exact_mean(y, w, ranks)])
    if LOSSES[loss].targets == "to_1":
        mean = min(max(exact_mean(y, w, ranks), DBL_EPSILON), 1.0 - DBL_EPSILON)
        return np.array([df_log(mean / (1.0 - mean))])
    of_class = np.zeros(n_classes, np.int64)
    for i in range(y.shape[0]):
        if not 0 <= y[i] < n_classes:
            raise ValueError(f"y has class {y[i]}; allowed are 0 to {n_classes - 1}")
        of_class[<Py_ssize_t> y[i]] += 1 if w is None else w[i]
    if ranks is not None:
        of_class = ranks.sum(np.asarray(of_class))
    rows = <double> int(np.sum(of_class))
    sizes = [<double> of_class[i] if of_class[i] else DBL_EPSILON * rows for i in range(n_classes)]
    if LOSSES[loss].targets == "two_classes":
        ratio = df_log(<double> sizes[1] / <double> sizes[0])
        return np.array([0.5 * ratio if loss == "exponential" else ratio])
    logs = np.array([df_log(<double> size / <double> rows) for size in sizes])
    for i in range(n_classes):
        total += logs[i]
    return logs - total / <double> n_classes
