"""Losses of boosted trees. Give one, or its class, to `HistGradientBoostingClassifier` or `...Regressor` as `loss`.

The built-in ones stand behind ``loss="squared_error"`` and the other names. To write your own in Python, over arrays, subclass
`PythonLoss`; in Cython, `Loss`, whose contract is the head of ``dforest/core/boost/loss.pxd``.
"""

from dforest.core.boost.loss import Loss, PythonLossBase
from dforest.core.component import LossError

__all__ = ["Loss", "LossError", "PythonLoss"]


class PythonLoss(PythonLossBase):
    """A loss written in Python, over NumPy arrays: trees ask it once a round.

    A row's raw prediction is what the leaves of all trees and a constant add up to. In regression, and of two classes, it is a
    number, and the arrays that methods are given have the shape (n_rows,); of more classes it is one for each, and arrays of raw
    predictions have the shape (n_rows, n_classes). Targets are float64: finite numbers, or numbers of classes, 0, 1, ..., in the
    order of `classes_`. Arrays are copies, and may be written to.

    A subclass overrides ``gradient_hessian(y_true, raw_prediction)``: the first and the second derivative of each row's loss by
    its raw prediction, two arrays shaped like `raw_prediction`. And where it is needed:

    - ``loss(y_true, raw_prediction)``: the loss of each row, an array of shape (n_rows,), for early stopping by the loss.
    - ``inverse_link(raw_prediction)``: what is predicted, numbers or probabilities. By default numbers are what raw predictions
      are; the probability of the second of two classes is 1 / (1 + exp(-raw_prediction)), and those of several are in
      proportion to exp(raw_prediction). Of two classes it is that of the second one; the second is predicted where raw
      predictions are above 0, and of several classes the one with the highest.
    - ``fit_intercept_only(y_true, sample_weight)``: the constant that raw predictions begin with, one number, or one for each of
      several classes. `sample_weight` is None if all weights are 1. By default Newton's steps look for the constant that loses
      least.
    - ``leaf_value(y_true, raw_prediction, sample_weight)``, with the attribute ``need_update_leaves_values = True``: the number
      that a leaf of these rows adds to their raw predictions, before the learning rate. By default that is Newton's step, minus
      the sum of gradients over that of Hessians. Not for more than two classes.
    - ``constant_hessian = True``: the Hessian is 1 for all rows, and the second array is not looked at; it may be None.
    - ``in_y_true_range(y_true)``: whether all targets are allowed, a bool.
    - ``configure(n_classes)``, with n_classes 0 for regression: raises ValueError for the task that it is not for, and calls
      the method of its base class.

    A row's derivatives may depend on this row alone: then the trees are the same whatever the number of threads, and a warm start
    goes on with the trees of one fit.

    Each parameter of the constructor is kept as an attribute of its name. A method that raises ends the fit with that
    exception; an answer of the wrong shape, a number that is not finite or beyond 2**500, or a negative Hessian raises
    `LossError`, a ValueError.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import HistGradientBoostingRegressor
    >>> from dforest.loss import PythonLoss
    >>> class LogCosh(PythonLoss):
    ...     def gradient_hessian(self, y_true, raw_prediction):
    ...         gradient = np.tanh(raw_prediction - y_true)
    ...         return gradient, 1 - gradient**2
    ...     def fit_intercept_only(self, y_true, sample_weight):
    ...         return np.median(y_true)
    >>> X, y = load_diabetes(return_X_y=True)
    >>> HistGradientBoostingRegressor(LogCosh(), random_state=0).fit(X, y / 100).score(X, y / 100) > 0.6
    True
    """

    def gradient_hessian(self, y_true, raw_prediction):
        """The first and the second derivative of each row's loss: see the class."""
        raise NotImplementedError(f"{type(self).__name__} does not define gradient_hessian")

    def loss(self, y_true, raw_prediction):
        """The loss of each row: see the class."""
        raise NotImplementedError(
            f'{type(self).__name__} does not define loss, which scoring="loss" needs; allowed are other values of scoring, and '
            "early_stopping=False"
        )

    def inverse_link(self, raw_prediction):
        """What is predicted: see the class. None: as the class says of the default."""
        return None

    def leaf_value(self, y_true, raw_prediction, sample_weight):
        """What a leaf of some rows adds to their raw predictions: see the class."""
        raise NotImplementedError(f"{type(self).__name__} does not define leaf_value, which need_update_leaves_values=True needs")
