"""What makes an estimator a model of another library, by `dforest.conversion`, which is imported when it is asked for."""

from importlib import import_module

from sklearn.utils.validation import check_is_fitted


class ConversionPart:
    """What gives a forest, or a single tree, to other libraries."""

    def to_sklearn(self, *, verify=True):
        """Make the scikit-learn estimator of the same name that predicts the same.

        It is an estimator of scikit-learn's own class, for tools that ask for one, such as
        ``partial_dependence(method="recursion")``. It has the parameters that both classes have, where scikit-learn allows the
        values; others keep scikit-learn's defaults. ``voting="hard"`` is in the values of the leaves.

        scikit-learn's trees round X to float32, so that a row of float64 next to a threshold may take another way than here; for
        rows of float32 all predictions have the same bits. They are means over trees, which scikit-learn's forests add up in any
        order if `n_jobs` is above 1, so that last bits differ then. Infinite values, which scikit-learn's estimators refuse,
        can't be predicted, nor missing values where its parameters rule them out, as `monotonic_cst` does.

        Parameters
        ----------
        verify : bool, default=True
            Whether to compare what the new estimator predicts with what this one does: for rows of float32 that reach up to
            2,000 nodes of the trees, with a value at the node's threshold, next to it on either side, or missing. With False,
            nothing is compared.

        Returns
        -------
        sklearn.base.BaseEstimator
            A fitted ``sklearn.ensemble.RandomForestClassifier``, for example, which shares nothing with this estimator.

        Raises
        ------
        ValueError
            If a column holds categories or labels, or if a splitter makes tests of its own: scikit-learn's trees can't.
        ConversionError
            If any prediction differs. The message has the first row for which it does.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from dforest import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> X = X.astype(np.float32)
        >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
        >>> bool((forest.to_sklearn().predict_proba(X) == forest.predict_proba(X)).all())
        True
        """
        check_is_fitted(self)
        return import_module("dforest.conversion.sklearn").to_sklearn(self, verify)
