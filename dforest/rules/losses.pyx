"""The losses of boosted trees by name, and as functions over arrays. Formulas are those of losses.h.

Words: a *raw prediction* is what trees add up, on the scale of the loss's link. Every function returns new arrays.
"""
from libc.stdint cimport int64_t

from typing import NamedTuple

import numpy as np


class Loss(NamedTuple):
    """What is known of a loss.

    Attributes
    ----------
    number : int
        Its `df_loss_number`.
    has_constant_hessian : bool
        Whether the hessian is 1 for every row.
    targets : {"finite", "from_0", "above_0", "two_classes", "classes"}
        Which targets it allows: finite numbers; numbers from 0 on, not all 0; numbers above 0; the class numbers 0 and 1; class
        numbers from 0 on.
    leaf : {"newton", "median", "quantile", "huber"}
        How the value of a leaf follows from its rows.
    """

    number: int
    has_constant_hessian: bool
    targets: str
    leaf: str


_TARGETS = {DF_FINITE_TARGETS: "finite", DF_TARGETS_FROM_0: "from_0", DF_TARGETS_ABOVE_0: "above_0",
            DF_TWO_CLASSES: "two_classes", DF_CLASS_NUMBERS: "classes"}
_LEAVES = {DF_NEWTON_LEAF: "newton", DF_MEDIAN_LEAF: "median", DF_QUANTILE_LEAF: "quantile", DF_HUBER_LEAF: "huber"}


def _all_losses():
    cdef df_loss_facts facts
    losses = {}
    for number in range(DF_N_LOSSES):
        facts = df_facts_of_loss(number)
        losses[facts.name.decode()] = Loss(number, bool(facts.has_constant_hessian), _TARGETS[facts.targets], _LEAVES[facts.leaf])
    return losses


LOSSES = _all_losses()  # by name; "log_loss" is that of two classes, "multinomial" that of more


def _number_of_row_loss(loss):
    if loss not in LOSSES or loss == "multinomial":
        raise ValueError(f"loss={loss!r}; allowed are {sorted(set(LOSSES) - {'multinomial'})}")
    return LOSSES[loss].number


def _check_lengths(raw, y):
    if len(raw) != len(y):
        raise ValueError(f"raw has {len(raw)} rows, y has {len(y)}; allowed are equal numbers")


def derivatives(loss, const double[::1] raw not None, const double[::1] y not None, double parameter=0.0):
    """The gradient and the hessian of each row's loss by its raw prediction.

    Parameters
    ----------
    loss : str
        Of `LOSSES`, other than "multinomial".
    raw, y : ndarray of shape (n_rows,), dtype float64
    parameter : float
        The quantile of "quantile", Huber's delta of "huber"; others have none.

    Returns
    -------
    gradient, hessian : ndarray of shape (n_rows,), dtype float64
    """
    cdef Py_ssize_t i
    cdef int number = _number_of_row_loss(loss)
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


def predictions(loss, const double[::1] raw not None):
    """What raw predictions say: a mean, a median, a quantile, or the probability of class 1.

    Parameters
    ----------
    loss : str
        Of `LOSSES`, other than "multinomial".
    raw : ndarray of shape (n_rows,), dtype float64

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
    """
    cdef Py_ssize_t i
    cdef int number = _number_of_row_loss(loss)
    result = np.empty(raw.shape[0])
    cdef double[::1] out = result
    with nogil:
        for i in range(raw.shape[0]):
            out[i] = df_prediction_of_loss(number, raw[i])
    return result


def values(loss, const double[::1] raw not None, const double[::1] y not None, double parameter=0.0):
    """The loss of each row. Parameters are those of `derivatives`.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
    """
    cdef Py_ssize_t i
    cdef int number = _number_of_row_loss(loss)
    _check_lengths(raw, y)
    result = np.empty(raw.shape[0])
    cdef double[::1] out = result
    with nogil:
        for i in range(raw.shape[0]):
            out[i] = df_value_of_loss(number, raw[i], y[i], parameter)
    return result


def _check_classes(raw, y):
    _check_lengths(raw, y)
    n_classes = raw.shape[1]
    if len(y) and not 0 <= np.min(y) <= np.max(y) < n_classes:
        raise ValueError(f"y has classes from {np.min(y)} to {np.max(y)}; allowed are 0 to {n_classes - 1}")


def class_derivatives(const double[:, ::1] raw not None, const int64_t[::1] y not None):
    """The gradients and hessians of each row's multinomial loss by its raw predictions.

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


def class_predictions(const double[:, ::1] raw not None):
    """The probabilities of classes, given raw predictions: ndarray of shape (n_rows, n_classes), dtype float64."""
    cdef Py_ssize_t i
    cdef int64_t n_classes = raw.shape[1]
    result = np.empty((raw.shape[0], raw.shape[1]))
    cdef double[:, ::1] out = result
    with nogil:
        for i in range(raw.shape[0]):
            df_multinomial_prediction(&raw[i, 0], &out[i, 0], 1, n_classes)
    return result


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
