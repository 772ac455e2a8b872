"""Pictures of partial dependence: scikit-learn's display of what the method `partial_dependence` computes."""

import numpy as np

from dforest.config import on_host
from dforest.core.sparse_rows import dense
from dforest.estimators.data.validation import check_X
from dforest.inspection.export import names_of_features


class PartialDependenceDisplay:
    """Pictures of how predictions depend on one feature, or on two: a maker of scikit-learn's displays.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import dforest
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = dforest.RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    >>> display = dforest.PartialDependenceDisplay.from_estimator(forest, X, ["bmi", ("bmi", "s5")])
    """

    @staticmethod
    def from_estimator(estimator, X, features, *, target=0, grid_resolution=100, percentiles=(0.05, 0.95), custom_values=None,
                       feature_names=None, **kwargs):  # fmt: skip
        """Compute the partial dependence by recursion, and draw it.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator of dforest that has the method `partial_dependence`.
        X : array-like of shape (n_rows, n_features)
            Rows whose values make the grid; marks at the axis show their deciles.
        features : list of int, str, or tuple of two of them
            What to draw: a line for each feature, bars for one with labels, and contours for each pair. The features of a pair
            have both labels, or none of them has.
        target : int, default=0
            The output to draw, a place in the first axis of what `partial_dependence` returns.
        grid_resolution, percentiles, custom_values
            See the method `partial_dependence`.
        feature_names : list of str, default=None
            Names for the axes. None means those that the estimator was fitted with, or the numbers of the features.
        **kwargs
            What scikit-learn's display takes to draw, such as `ax` and `n_cols`.

        Returns
        -------
        sklearn.inspection.PartialDependenceDisplay

        Raises
        ------
        ValueError
            If a parameter is not as described.
        ImportError
            If matplotlib is not installed.
        """
        from sklearn.inspection import PartialDependenceDisplay as Display

        names = [str(name) for name in names_of_features(estimator, feature_names)]
        groups = [tuple(each) if isinstance(each, list | tuple) else (each,) for each in features]
        numbers = [tuple(map(estimator._number_of, group)) for group in groups]
        has_labels = [tuple(estimator._features.categories[j] is not None for j in group) for group in numbers]
        if not groups:
            raise ValueError("features is empty; allowed are one feature or more")
        for group, labels in zip(groups, has_labels, strict=True):
            if len(group) > 2 or len(set(labels)) > 1:
                raise ValueError(f"features holds {group!r}; allowed are one feature or two, both with labels or both without")
        results = [
            estimator.partial_dependence(
                X, list(group), grid_resolution=grid_resolution, percentiles=percentiles, custom_values=custom_values
            )
            for group in numbers
        ]
        n_outputs = len(results[0].average)
        if not 0 <= target < n_outputs:
            raise ValueError(f"target={target!r}; allowed are 0 to {n_outputs - 1}")
        tenths = np.arange(0.1, 1.0, 0.1)
        encoded = dense(check_X(estimator, on_host(X), estimator._features, reset=False))
        deciles = {j: np.nanquantile(encoded[:, j], tenths) for group in numbers for j in group}
        display = Display(
            results, features=numbers, feature_names=names, target_idx=target, deciles=deciles, is_categorical=has_labels
        )
        return display.plot(**kwargs)
