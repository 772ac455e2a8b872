"""`Report`: a page on a forest, to be saved or shown; and how one is made."""

import html
import os
import tempfile
from pathlib import Path

from sklearn import config_context

from dforest.estimators.progress import ProgressLine
from dforest.inspection.report.outputs import column_of, estimator_of_output
from dforest.inspection.report.page import page_of, parts_of
from dforest.inspection.report.study import Study

HEIGHT = 720  # of a report in a notebook, in pixels


class Report:
    """A report about a forest: one HTML page, which notebooks show.

    The method `report` of forests returns it.

    Attributes
    ----------
    html : str
        The text of the page, which ``str(report)`` gives too.
    name : str
        Name of the forest's class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    >>> report = forest.report()
    >>> report.name
    'RandomForestClassifier'
    >>> "</html>" in report.html
    True
    """

    def __init__(self, html, name):
        self.html = html
        self.name = name

    def __str__(self):
        return self.html

    def __repr__(self):
        return f"<Report on a {self.name}, {len(self.html.encode()) / 1000:,.0f} kB: save(path) writes it>"

    def _repr_html_(self):
        """The page in a frame of its own, so that its style and the notebook's don't meet."""
        frame = f'title="Report on a {html.escape(self.name)}" sandbox="" style="width:100%;height:{HEIGHT}px;border:0"'
        return f'<iframe {frame} srcdoc="{html.escape(self.html, quote=True)}"></iframe>'

    def save(self, path):
        """Write the page to a file in UTF-8, which replaces an existing file.

        Parameters
        ----------
        path : str or path-like
            The file; ``.html`` is the usual suffix.

        Returns
        -------
        self
            This report.

        Raises
        ------
        OSError
            If the file can't be written.
        """
        check_writable(path)
        Path(path).write_text(self.html, encoding="utf-8")
        return self


def check_writable(path):
    """Raise OSError if a file can't be written; it is left as it is, and none is made."""
    path = Path(path)
    try:
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        if path.exists():
            with open(path, "ab"):
                pass
        else:
            with tempfile.TemporaryFile(dir=path.parent):
                pass
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise type(error)(
            f"path={str(path)!r} can't be written: {reason}; allowed is a file in a folder that exists and is writable"
        ) from None


def report_of(estimator, X=None, y=None, path=None, scoring=None, output=None, verbose=0, told=(None, None)):
    """The `Report` on a fitted forest or model: see `dforest.estimators.reporting.report`."""
    if y is not None and X is None:
        raise ValueError("y is given without X; allowed are X and y, X alone, or neither")
    if path is not None:
        check_writable(path)
    n_outputs = estimator.forest_.objective.n_outputs
    if output is not None:
        of_one_target = getattr(estimator, "n_outputs_", n_outputs) < n_outputs  # which has several quantiles
        y, estimator = y if of_one_target else column_of(y, output, n_outputs), estimator_of_output(estimator, output)
    study, line = Study(estimator, X, y, scoring, None if output is None else (output, n_outputs), told), None
    if verbose:
        line = ProgressLine(len(parts_of(study)), verbose, "sections")
        line.begin(0)
    try:
        with config_context(assume_finite=True, skip_parameter_validation=True):  # as all rows have been checked
            html = page_of(study, line.tell if line else lambda n_done: None)
    finally:
        if line:
            line.end()
    report = Report(html, type(estimator).__name__)
    return report if path is None else report.save(path)
