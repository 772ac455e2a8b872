"""Shapley values as a result: what each feature of each row, or each pair of features, adds to a prediction.

A result owns its values; `data` may be the array that was given.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from dforest.extras import needed


def _dense(values):
    """Values as an ndarray: sparse ones of several outputs are a list, which becomes the last axis."""
    if isinstance(values, list):
        return np.stack([of_output.toarray() for of_output in values], axis=-1)
    return values.toarray() if issparse(values) else values


@dataclass(frozen=True, eq=False, repr=False)
class _Explained:
    """Values of some rows, and what belongs to them."""

    values: object
    base_values: float | np.ndarray
    data: np.ndarray | object
    feature_names: list | None
    output_names: list | None
    additivity_error: float

    def __array__(self, dtype=None, copy=None):
        return np.array(_dense(self.values), dtype, copy=copy)

    def __repr__(self):
        shape = (*self.values[0].shape, len(self.values)) if isinstance(self.values, list) else self.values.shape
        return f"<{type(self).__name__} of shape {shape}, additivity_error={self.additivity_error:.2g}>"


class ShapValues(_Explained):
    """Shapley values of some rows: how much each feature of each row adds to the prediction for the row.

    The method `shap_values` of estimators returns it. ``numpy.asarray(result)`` gives `values`.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features) or (n_rows, n_features, n_outputs), dtype float64
        The Shapley values, in the unit of the prediction. The second shape is that for the probabilities of forests and single
        trees, also with two classes, and for boosted trees with more than two classes, where an output is a class; and for
        regression with several outputs. With ``sparse_output=True`` they are a sparse matrix or array of the first shape, or a
        list of them, one for each output.
    base_values : float, or ndarray of shape (n_outputs,), dtype float64
        The prediction that is expected if nothing is known of a row. This number and the values of a row add up to the
        prediction for the row.
    data : ndarray of shape (n_rows, n_features), dtype float32 or float64
        The rows that are explained, with labels as their numbers and NaN where a value is missing. With ``sparse_output=True``
        they are a sparse matrix or array, too.
    feature_names : list of str, or None
        Names of the columns; None if the estimator was not fitted on a data frame.
    output_names : list of str, or None
        The classes as text, if there are values for each class; else None.
    additivity_error : float
        The largest difference, over these rows and all outputs, between the prediction and the sum of `base_values` and the
        values. It comes from rounding alone.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = RandomForestRegressor(random_state=0).fit(X, y).shap_values(X[:5])
    >>> result.values.shape
    (5, 10)
    >>> result.additivity_error < 1e-9
    True
    """

    def explanation(self):
        """Make an object for the plots of the library shap.

        Returns
        -------
        shap.Explanation
            The values for ``shap.plots.beeswarm``, ``waterfall`` and ``bar``, as dense arrays. If there are several outputs,
            plots take the values of one of them, such as ``explanation[:, :, 0]``.

        Raises
        ------
        ImportError
            If shap is not installed: the extra ``dforest[shap]`` has it.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dforest import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> result = RandomForestClassifier(random_state=0).fit(X, y).shap_values(X)
        >>> result.explanation()[:, :, 0].shape
        (150, 4)
        """
        Explanation = needed("shap", "shap", "explanation()").Explanation
        values = _dense(self.values)
        base = np.broadcast_to(self.base_values, (len(values), *values.shape[2:])).copy()
        names = {"feature_names": self.feature_names, "output_names": self.output_names}
        return Explanation(values, base_values=base, data=_dense(self.data), **names)


class ShapInteractionValues(_Explained):
    """Shapley interaction values of some rows: main effects of features, and interactions of pairs of features.

    The method `shap_interaction_values` of estimators returns it. ``numpy.asarray(result)`` gives `values`, which
    ``shap.summary_plot`` and ``shap.dependence_plot`` accept.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features, n_features) or (n_rows, n_features, n_features, n_outputs), dtype float64
        A symmetric matrix for each row, in the unit of the prediction. It has the main effects of the features on the diagonal,
        and half of the interaction of two features elsewhere. Its rows add up to the Shapley values. The second shape is that
        for the probabilities of forests and single trees, also with two classes, and for boosted trees with more than two
        classes, where an output is a class; and for regression with several outputs.
    base_values : float, or ndarray of shape (n_outputs,), dtype float64
        The prediction that is expected if nothing is known about a row. This number and all values of a row add up to the
        prediction for the row.
    data : ndarray of shape (n_rows, n_features), dtype float32 or float64
        The rows that are explained, with labels as their numbers and NaN where a value is missing.
    feature_names : list of str, or None
        Names of the columns; None if the estimator was not fitted on a data frame.
    output_names : list of str, or None
        The classes as text, if there are values for each class; else None.
    additivity_error : float
        The largest difference, over these rows and all outputs, between the prediction and the sum of `base_values` and the
        values. It comes from rounding alone.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> result = RandomForestClassifier(random_state=0).fit(X, y).shap_interaction_values(X)
    >>> result.values.shape
    (150, 4, 4, 3)
    >>> result.additivity_error < 1e-12
    True
    """
