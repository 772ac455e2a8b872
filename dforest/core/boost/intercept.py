"""The constants that raw predictions begin with where no formula says them: a search by Newton's method.

The *intercept* has a number for each raw prediction of a row. It is to lose least over all rows. Sums are exact, so that no order
of the rows changes a bit.
"""

import numpy as np

from dforest.core.component import LossError
from dforest.core.predict.out_of_bag import add_up, total_of

LARGEST = 2.0**1000  # magnitude of what is added up; what is beyond counts as this
MAX_STEPS = 50
MAX_HALVINGS = 60  # of a step


def sums_of_columns(columns, weight=None, ranks=None):
    """Exact sums over rows, each rounded once: ndarray of shape (n_columns,). A collective of the ranks.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_columns), dtype float64
    weight, ranks
        See `sum_derivatives`.
    """
    digits = []
    for column in columns.T:
        with np.errstate(over="ignore", under="ignore"):
            digits.append(add_up(np.clip(column if weight is None else column * weight, -LARGEST, LARGEST)))
    digits = np.array(digits) if ranks is None else ranks.sum(np.array(digits))
    return np.array([float(total_of(of_column)) for of_column in digits])


def sum_derivatives(gradient, hessian, weight=None, ranks=None):
    """The sums of first and second derivatives over rows: ndarray of shape (2, n_outputs). A collective of the ranks.

    Parameters
    ----------
    gradient, hessian : ndarray of shape (n_rows, n_outputs), dtype float64
    weight : ndarray of shape (n_rows,), dtype float64, optional
        None means that all weights are 1.
    ranks : Communicator, optional
        Who else has rows. None: nobody.
    """
    return sums_of_columns(np.hstack([gradient, hessian]), weight, ranks).reshape(2, -1)


def find_intercept(sums_of_derivatives, start, are_classes=True):
    """Search the intercept that loses least; a step is halved until it brings the sums of gradients closer to 0.

    Parameters
    ----------
    sums_of_derivatives : callable
        Given an intercept, it returns the sums of gradients and Hessians over all rows: ndarray of shape (2, n_outputs). Where
        these are not finite it may raise LossError.
    start : ndarray of shape (n_outputs,), dtype float64
    are_classes : bool, default=True
        Whether several raw predictions are those of classes.

    Returns
    -------
    ndarray of shape (n_outputs,), dtype float64
    """
    raw, n_outputs = start, len(start)
    sums = sums_of_derivatives(raw)
    for _ in range(MAX_STEPS):
        step = -np.divide(sums[0], sums[1], out=np.zeros(n_outputs), where=sums[1] > 0.0)
        if not np.isfinite(step).all():
            break
        if n_outputs > 1 and are_classes:  # as each raises the probability of one class, and so lowers the others'
            step *= 1.0 - 1.0 / n_outputs
        size, halvings = np.abs(sums[0]).sum(), 0
        while halvings < MAX_HALVINGS:
            try:
                with np.errstate(all="ignore"):
                    new = sums_of_derivatives(raw + step)
                if np.abs(new[0]).sum() < size:
                    break
            except LossError:  # too far off for derivatives to be finite
                pass
            step *= 0.5
            halvings += 1
        if halvings == MAX_HALVINGS or (raw + step == raw).all():
            break
        raw, sums = raw + step, new
    return raw
