"""What makes a forest show itself, by `dforest.report`, which is imported when it is asked for."""

from importlib import import_module

from sklearn.utils.validation import check_is_fitted

from dforest.estimators.outputs import check_one_output


class ReportPart:
    """What makes a `ForestEstimator` report."""

    def report(self, X=None, y=None, *, path=None):
        """What there is to know about the forest, as one HTML page that needs no network.

        The page shows the data and the parameters; the error out of bag by the number of trees, and whether more would help;
        how well rows are predicted, and how far probabilities can be taken at their word; importances by impurity and by
        permutation; how predictions depend on the six most important features; rows by their proximity; the sizes of the
        trees, and one of them; seed, versions and a digest of the forest. What can't be shown says why. A forest that is
        fitted with ``oob_score=True`` has more to show.

        Slow parts are made from some of the rows, drawn with a fixed seed: the page says from how many.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), optional
            Rows to show the forest with: best such as it was not grown on. It recognises the ones that it was grown on, if
            they come in their order, and then shows predictions out of bag. None means that the page shows only what the
            forest itself knows.
        y : array-like of shape (n_rows,), optional
            The targets of these rows. None means that nothing is said about the quality of predictions.
        path : str or path-like, optional
            The file to write. Whether that is possible is tried before anything is computed.

        Returns
        -------
        dforest.report.report.Report
            Notebooks show it; `save` writes it, and ``str`` gives its text.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        OSError
            If the file can't be written.
        ValueError
            If X or y don't fit the forest, or y is there without X.
        TypeError
            If X or y are collections of Dask.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dforest import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> RandomForestClassifier(oob_score=True, random_state=0).fit(X, y).report(X, y).save("iris.html")  # doctest: +SKIP
        """
        check_is_fitted(self)
        check_one_output(self, "report")
        import_module("dforest.report.svg").need_matplotlib("report")
        return import_module("dforest.report.report").report_of(self, X, y, path)
