"""Reports of estimators, by `dforest.inspection.report`, which is imported when it is asked for.

`report` is a method of forests and boosted trees, which take it as theirs.
"""

from importlib import import_module
from numbers import Integral

from sklearn.utils.validation import check_is_fitted

from dforest.estimators.data.given import check_number
from dforest.estimators.kinds import DistributionTrees
from dforest.estimators.results.calibration import check_leaves_predict


def report(self, X=None, y=None, *, path=None, scoring=None, output=None, verbose=0):
    """Make a report: one HTML page, which needs no network.

    The page shows how well rows are predicted, and how reliable probabilities are; the score by the number of trees, and
    whether more would help; importances of features by the trees and by permutation; how predictions depend on the six most
    important features; the sizes of the trees, and one tree; the data and the parameters; and the seed, versions and a digest
    of the trees. Of forests it also shows rows arranged by their proximity. Where something can't be shown, the page says
    why. There is more to show of forests that were fitted with ``oob_score=True``.

    Parts that would take long are computed from some of the rows, drawn with a fixed seed; the page says from how many.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features), optional
        Rows to show predictions for, preferably rows that were not used for training. If they are the training rows in
        their order, a forest recognises them, and the page shows out-of-bag predictions. None means that the page shows only
        what the estimator itself knows.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), optional
        The true targets of these rows. None means that the page says nothing about the quality of predictions.
    path : str or path-like, optional
        A file to write the page to. Whether it can be written is tried before anything is computed.
    scoring : str or callable, default=None
        What predictions are judged by at the head of the page, in the curve by the number of trees, and in importances by
        permutation: a name of scikit-learn's scorers, what ``sklearn.metrics.make_scorer`` returns, or a metric that is
        called with true and predicted values, and for which larger is better. Of two classes, scores of scikit-learn that
        have a `pos_label` look at the class 1, or, if there is no such class, at ``classes_[1]``. None means accuracy for
        classes and R² for numbers; if there are two classes, one of which has less than a tenth of the rows, it means the
        average precision of this one.
    output : int, optional
        The number of the output that the page is about, from 0 on, if y has several columns, in which case it must be given. Of
        boosted trees that predict several quantiles, it is the number of a quantile, as predicted before the quantiles of a row
        are put in order.
    verbose : int, default=0
        Whether progress is shown on the error stream: 1 means a line that is written anew after each section of the page, and
        2 a line for each.

    Returns
    -------
    dforest.inspection.report.report.Report
        The report. Notebooks show it, its method `save` writes it to a file, and ``str`` gives its HTML.

    Raises
    ------
    OSError
        If the file can't be written.
    ValueError
        If X or y don't fit the estimator, if y is given without X, if `scoring` can't score the predictions, or if `output`
        is none of the estimator's several outputs, or is given though there is one.
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
    check_leaves_predict(self, "report")
    if isinstance(self, DistributionTrees):
        raise ValueError(
            f"{type(self).__name__} predicts distributions, and a report is about numbers or classes; allowed are its methods "
            "predict_distribution, shap_values and permutation_importance"
        )
    loss = getattr(self, "_loss", None)
    n_outputs = self.forest_.objective.n_outputs
    if loss is not None and not loss.levels:  # whose trees have a value for each class, maybe, of one target
        n_outputs = loss.n_targets
    if n_outputs > 1 and output is None:
        raise ValueError(
            f"output=None, but {type(self).__name__} has {n_outputs} outputs, and a report is about one: its scores, curves "
            f"and pictures are each of one target; allowed are 0 to {n_outputs - 1}"
        )
    if output is not None:
        allowed = f"integers from 0 to {n_outputs - 1}" if n_outputs > 1 else "None, as there is one output"
        output = check_number("output", output, Integral, allowed, lambda k: n_outputs > 1 and 0 <= k < n_outputs)
    return report_on(self, X, y, path, scoring, output, verbose)


def report_on(self, X, y, path, scoring, output, verbose, *told):
    """A report, given also what tells the queries of ranking, if there are any."""
    verbose = check_number("verbose", verbose, Integral, "integers from 0", lambda n: n >= 0)
    return import_module("dforest.inspection.report.report").report_of(self, X, y, path, scoring, output, verbose, *told)
