"""Shapley values as a result: what each feature of each row adds to a prediction.

A `ShapValues` owns its values; `data` may be the array that was given.
"""

from dataclasses import dataclass

import numpy as np

from dforest.extras import needed


@dataclass(frozen=True, eq=False, repr=False)
class ShapValues:
    """How much each feature of each row adds to what is predicted for the row.

    ``numpy.asarray(result)`` is `values`.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features) or (n_rows, n_features, n_outputs), dtype float64
        In the unit of the prediction. The latter for the probabilities of a classifier, with two classes too, and for boosted
        trees for more than two classes.
    base_values : float, or ndarray of shape (n_outputs,), dtype float64
        What is expected of a row of which nothing is known. Beside it, the values of a row add up to the row's prediction.
    data : ndarray of shape (n_rows, n_features), dtype float32 or float64
        The rows; labels as their numbers, NaN where a value is missing.
    feature_names : list of str, or None
        The names of the columns, if the estimator was fitted on a frame.
    output_names : list of str, or None
        The classes, if values are for one class after the other.
    additivity_error : float
        The largest difference, over rows and outputs, between a prediction and `base_values` with the values added, for these
        rows. It is what rounding does.

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

    values: np.ndarray
    base_values: float | np.ndarray
    data: np.ndarray
    feature_names: list | None
    output_names: list | None
    additivity_error: float

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype, copy=copy)

    def __repr__(self):
        return f"<ShapValues of shape {self.values.shape}, additivity_error={self.additivity_error:.2g}>"

    def explanation(self):
        """Make the object that plots of the library shap take.

        Returns
        -------
        shap.Explanation
            For ``shap.plots.beeswarm``, ``waterfall`` and ``bar``; with several outputs these take that of one, such as
            ``explanation[:, :, 0]``.

        Raises
        ------
        ImportError
            If shap is not installed.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dforest import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> result = RandomForestClassifier(random_state=0).fit(X, y).shap_values(X)
        >>> result.explanation()[:, :, 0].shape  # doctest: +SKIP
        (150, 4)
        """
        Explanation = needed("shap", "shap", "explanation()").Explanation
        base = np.broadcast_to(self.base_values, (len(self.values), *self.values.shape[2:])).copy()
        return Explanation(
            self.values, base_values=base, data=self.data, feature_names=self.feature_names, output_names=self.output_names
        )
