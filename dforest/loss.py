"""Losses of boosted trees: objects or classes for the parameter `loss` of `HistGradientBoostingClassifier`, `...Regressor` and
`...Ranker`.

The built-in losses have names, such as ``loss="squared_error"``; those for ranking are also classes, `LambdaRank` and
`PairwiseRank`, which have parameters. To write a loss of your own in Python, over NumPy arrays,
subclass `PythonLoss`; in Cython, subclass `Loss`, whose contract is the head of ``dforest/core/boost/loss.pxd``.
"""

import dforest.built  # noqa: F401
from dforest.core.boost.loss import Loss, PythonLossBase
from dforest.core.boost.ranking import LambdaRank, PairwiseRank
from dforest.core.component import LossError

__all__ = ["LambdaRank", "Loss", "LossError", "PairwiseRank", "PythonLoss"]


class PythonLoss(PythonLossBase):
    """Base class of losses that are written in Python, over NumPy arrays; they are asked once in each iteration.

    A row's *raw prediction* is the sum of a constant and of the values of its leaves in all trees. For regression and for two
    classes it is one number, and arrays that methods are given have the shape (n_rows,). For more classes there is a number for
    each class, and arrays of raw predictions have the shape (n_rows, n_classes). Targets are float64: finite numbers, or the
    numbers of classes, 0, 1, ..., in the order of `classes_`. Arrays are copies, and may be written to.

    A subclass must override ``gradient_hessian(y_true, raw_prediction)``, which returns the first and the second derivative of
    each row's loss by its raw prediction, as two arrays shaped like `raw_prediction`. It may also override or set:

    - ``loss(y_true, raw_prediction)`` returns the loss of each row, an array of shape (n_rows,). Early stopping by the loss
      needs it.
    - ``inverse_link(raw_prediction)`` returns predictions: numbers, or probabilities of classes. By default, predicted numbers
      are the raw predictions, the probability of the second of two classes is 1 / (1 + exp(-raw_prediction)), and the
      probabilities of more classes are in proportion to exp(raw_prediction). For two classes the method returns the probability
      of the second one. Which class is predicted follows from raw predictions: the second one where they are above 0, and of
      more classes the one with the highest.
    - ``fit_intercept_only(y_true, sample_weight)`` returns the constant that raw predictions begin with: one number, or one for
      each of more than two classes. `sample_weight` is None if all weights are 1. By default, the constant of least loss is
      searched by Newton's method.
    - ``leaf_value(y_true, raw_prediction, sample_weight)`` returns the number that a leaf with these rows adds to their raw
      predictions, before the learning rate. By default this is Newton's step, minus the sum of gradients divided by the sum of
      Hessians; so it is with the attribute ``need_update_leaves_values = False`` too. It is not for more than two classes.
    - ``constant_hessian = True`` says that the second derivative is 1 for all rows. The second array is then ignored, and may
      be None.
    - ``of_groups = True`` says that the loss of a row depends on the other rows of its group, as in ranking. The loss is then for
      `HistGradientBoostingRanker`, and is asked once for each group: all arrays are of the rows of one group.
    - ``in_y_true_range(y_true)`` returns whether all targets are allowed, as a bool.
    - ``configure(n_classes)``, where n_classes is 0 for regression, raises ValueError for the task that the loss is not for, and
      calls the method of its base class.

    If the derivatives of a row depend on this row alone, the trees are the same on any number of threads, and a warm start gives
    the trees of a single fit.

    Each argument of the constructor must be kept as an attribute of the same name. If a method raises an exception, the fit
    ends with it. An array of the wrong shape, a number that is not finite or is beyond 2**500 in magnitude, or a negative second
    derivative raises `LossError`, which is a ValueError.

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
    >>> HistGradientBoostingRegressor(LogCosh(), max_iter=100).fit(X, y / 100).score(X, y / 100) > 0.6
    True
    """

    def _overrides_leaf_value(self):
        return getattr(self.leaf_value, "__func__", None) is not PythonLoss.leaf_value

    def gradient_hessian(self, y_true, raw_prediction):
        """Return the first and the second derivative of each row's loss; a subclass must override it.

        Parameters
        ----------
        y_true : ndarray of shape (n_rows,), dtype float64
            Targets; for classification the numbers of the classes.
        raw_prediction : ndarray of shape (n_rows,) or (n_rows, n_classes), dtype float64
            Raw predictions of the rows.

        Returns
        -------
        gradient, hessian : ndarray, shaped like `raw_prediction`
            The derivatives of each row's loss by its raw prediction. The second array is ignored, and may be None, with
            ``constant_hessian = True``.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define gradient_hessian")

    def loss(self, y_true, raw_prediction):
        """Return the loss of each row, which ``scoring="loss"`` needs.

        Parameters
        ----------
        y_true : ndarray of shape (n_rows,), dtype float64
            Targets; for classification the numbers of the classes.
        raw_prediction : ndarray of shape (n_rows,) or (n_rows, n_classes), dtype float64
            Raw predictions of the rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Finite numbers.
        """
        raise NotImplementedError(
            f'{type(self).__name__} does not define loss, which scoring="loss" needs; allowed are other values of scoring, and '
            "early_stopping=False"
        )

    def inverse_link(self, raw_prediction):
        """Return predictions, given raw predictions.

        Parameters
        ----------
        raw_prediction : ndarray of shape (n_rows,) or (n_rows, n_classes), dtype float64
            Raw predictions of the rows.

        Returns
        -------
        ndarray, shaped like `raw_prediction`, or None
            Numbers, or for classification probabilities; for two classes, the probability of the second one. None means the
            default that the class describes.
        """
        return None

    def leaf_value(self, y_true, raw_prediction, sample_weight):
        """Return the number that a leaf adds to the raw predictions of its rows, before the learning rate.

        By default this is Newton's step. The method is not for more than two classes.

        Parameters
        ----------
        y_true, raw_prediction, sample_weight : ndarray of shape (n,), dtype float64
            Targets, raw predictions and weights of the rows in the leaf.

        Returns
        -------
        float
            A finite number.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define leaf_value, which need_update_leaves_values=True needs")
