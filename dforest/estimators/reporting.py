"""What makes a forest show itself, by `dforest.inspection.report`, which is imported when it is asked for."""

from importlib import import_module

from sklearn.utils.validation import check_is_fitted

from dforest.estimators.data.outputs import check_one_output


class ReportPart:
    """What makes a `ForestEstimator` report."""

    def report(self, X=None, y=None, *, path=None):
        """Make a report about the forest: one HTML page, which needs no network.

        The page shows the data and the parameters; the out-of-bag error by the number of trees, and whether more trees would
        help; how well rows are predicted, and how reliable probabilities are; importances by impurity and by permutation; how
        predictions depend on the six most important features; rows arranged by their proximity; the sizes of the trees, and one
        tree; and the seed, versions and a digest of the forest. Where something can't be shown, the page says why. There is more
        to show if the forest was fitted with ``oob_score=True``.

        Parts that would take long are computed from some of the rows, drawn with a fixed seed; the page says from how many.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), optional
            Rows to show the forest with, preferably rows that it was not grown on. If they are the training rows in their order,
            the forest recognises them, and the page shows out-of-bag predictions. None means that the page shows only what the
            forest itself knows.
        y : array-like of shape (n_rows,), optional
            The true targets of these rows. None means that the page says nothing about the quality of predictions.
        path : str or path-like, optional
            A file to write the page to. Whether it can be written is tried before anything is computed.

        Returns
        -------
        dforest.inspection.report.report.Report
            The report. Notebooks show it, its method `save` writes it to a file, and ``str`` gives its HTML.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        OSError
            If the file can't be written.
        ValueError
            If X or y don't fit the forest, or if y is given without X.
        TypeError
            If X or y are Dask collections.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dforest import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> RandomForestClassifier(oob_score=True, random_state=0).fit(X, y).report(X, y).save("iris.html")  # doctest: +SKIP
        """
        check_is_fitted(self)
        check_one_output(self, "report")
        import_module("dforest.inspection.report.svg").need_matplotlib("report")
        return import_module("dforest.inspection.report.report").report_of(self, X, y, path)
