"""`check_table`."""

from numbers import Integral, Real

import numpy as np
import sklearn
from scipy.sparse import issparse

from dforest.config import config_context
from dforest.estimators.data.given import check_number
from dforest.estimators.data.tables import read_table
from dforest.inspection.table.cells import keys_of, mixed
from dforest.inspection.table.columns import SparseTable, Table
from dforest.inspection.table.finding import Finding, TableFindings
from dforest.inspection.table.target import is_survival, survival_targets, targets_of

REPEATED = "if these are copies, keep one of each, or all in one fold by GroupKFold; if columns are few, equal rows may be right"
CONTRADICTING = "no model can tell these rows apart: look for values of y that are wrong, or columns that are lacking"
IN_BOTH = "take them out of one part: a score on rows of the training data says nothing"


def check_table(X, y=None, *, X_test=None, categorical_features="from_dtype", cv=5, max_score=0.99, task=None):
    """Look for what is wrong with a table, or suspicious, before a model is fitted to it.

    Found are

    - columns that `fit` refuses, such as dates, amounts and free text;
    - columns of numbers that are stored as text, which `fit` takes, points for decimal ones even where they may mark thousands;
    - columns that have no values, a single value, the values of another column, or ids, which hardly any two rows share: as
      copied rows share theirs, equal rows count once, and one value in 20 may occur twice. Integers count as ids only if as many
      numbers of their range that are drawn by chance would not all be different;
    - columns of categories in which too few rows share a label, or whose more than 30 labels are dates or amounts;
    - text that looks like numbers or dates and is neither, such as IP addresses, phone numbers, versions and postcodes, and
      values beyond a limit, such as "<5";
    - labels that differ only in case, or in spaces around them;
    - columns that give y away: a small tree on this column alone predicts y for rows that it was not grown on;
    - rows that are equal, with equal or with different y, and rows of `X_test` that are in X too;
    - missing and infinite values of y, a single class, and classes with fewer rows than there are folds;
    - survival times that `fit` refuses, such as negative ones, events of other values than 0 and 1, entries that are not before
      the time, and swapped columns.

    Columns that `fit` refuses are tested like others. Dates, text or not, and text of amounts are read as numbers for that; where
    most values are numbers, others count as missing; all else is taken as categories. So whatever gives y away is found before
    columns are made ready. Only columns of values without a hash, such as lists, and NumPy arrays of dates are not tested.

    Nothing is changed, and bad data raise no error.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n_rows, n_features)
        The table, as it would be passed to `fit`.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), or str, optional
        Classes or numbers, or survival times as survival forests take them; or the name of a column of X that holds classes or
        numbers, which then does not count as one of X.
    X_test : array-like, frame or sparse matrix of shape (n_test_rows, n_features), optional
        Rows of a test set, with the columns of X; with or without the column that `y` names.
    categorical_features : {"from_dtype", "auto"}, array-like or None, default="from_dtype"
        As it would be passed to an estimator: such columns are not refused.
    cv : int, default=5
        Number of folds that cross-validation is to have.
    max_score : float, default=0.99
        A column gives y away if its score reaches this. For classes, the score is the balanced accuracy, which is the mean, over
        the classes, of the share of rows that are predicted right; for numbers, it is R2 of their ranks. It is that of two trees,
        each grown on one half of the rows and applied to the other half. The trees have as many leaves as there are classes, so a
        single split for two classes, or 32 leaves for numbers. At most 10,000 rows are used, about as many of each class.
    task : {"classification", "regression", "survival"}, optional
        What y is for. By default, y has survival times if it is a structured array, and classes if it holds text, booleans, or
        few different whole numbers: at most 20, each in four rows or more on average, or two.

    Returns
    -------
    dforest.inspection.table.finding.TableFindings
        A tuple of `dforest.inspection.table.finding.Finding`: those about columns come first, in the order of the columns, then
        those about rows and about y. It prints with the serious ones first, and those of one kind and advice together;
        `pandas.DataFrame` makes a frame of it.

    Raises
    ------
    ValueError
        If X is not two-dimensional or has no rows, if y has another number of rows, holds neither numbers nor classes, or names
        no column of X, if `X_test` has other columns, or if another parameter has a value that is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import check_table
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> X[:, 2] = np.where(y, 7, 8)
    >>> [(finding.column, finding.kind) for finding in check_table(X, y)]
    [(2, 'gives y away')]
    """
    cv = check_number("cv", cv, Integral, "integers from 2", lambda n: n >= 2)
    max_score = check_number("max_score", max_score, Real, "numbers above 0 and up to 1", lambda score: 0 < score <= 1)
    if task not in (None, "classification", "regression", "survival"):
        raise ValueError(f"task={task!r}; allowed are 'classification', 'regression', 'survival' and None")
    if isinstance(y, str):
        names = _names_of(X)
        if names.count(y) != 1:
            known = f"the columns of X are {', '.join(map(repr, names))}" if names else "X has no column names"
            raise ValueError(f"y={y!r}, but {known}; allowed are the name of one of the columns, and an array")
        X, X_test, y = _without(y, X), _without(y, X_test), X[y]
    table = _table(X, "X", categorical_features)
    # Trees are grown here alone; the checks of their parameters would take longer than they.
    with config_context(queue=None, communicator=None), sklearn.config_context(skip_parameter_validation=True):
        with np.errstate(all="ignore"):  # infinite values
            of_y = []
            if y is not None and (task == "survival" or task is None and is_survival(y)):
                targets, of_y = survival_targets(y, table.n_rows)
            else:
                targets = [] if y is None else targets_of(y, table.n_rows, task)
            found = list(table.findings(targets, max_score))
    found += of_rows(table.keys, targets)
    if X_test is not None:
        test = _table(X_test, "X_test", categorical_features)
        if issparse(X) != issparse(X_test) or test.names != table.names or test.n_columns != table.n_columns:
            raise ValueError("X_test has other columns than X; allowed are a table of the same kind with the same columns")
        for _ in test.read():
            pass
        keys = np.sort(table.keys)  # np.isin takes ten times as long
        n = np.count_nonzero(keys[np.minimum(np.searchsorted(keys, test.keys), len(keys) - 1)] == test.keys)
        if n:
            found.append(Finding(None, "rows in both parts", f"{n:,} of {test.n_rows:,} rows of X_test are in X too", IN_BOTH))
    found += of_y
    for target in targets:
        found += target.findings(cv)
    return TableFindings(found, (table.n_rows, table.n_columns))


def _names_of(X):
    try:
        return read_table(X, unique=False).names or []
    except ValueError:  # it is no table
        return []


def _without(name, X):
    """A table without the column of a name, if it has one."""
    if name not in _names_of(X):
        return X
    return X.drop(columns=[name]) if hasattr(X, "iloc") else X.drop([name])


def _table(X, name, categorical_features):
    try:
        columns = read_table(X, unique=False)
    except ValueError:
        columns = None
    if columns is None or columns.n_rows == 0:
        raise ValueError(f"{name} has the shape {np.shape(X)}; allowed are tables of two dimensions with one row or more")
    return (SparseTable if issparse(X) else Table)(columns, categorical_features)


def of_rows(keys, targets):
    """Findings of equal rows, given the keys of rows."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    first = first[group]  # of each row, the first row that equals it
    n = np.count_nonzero(first != np.arange(len(keys)))
    if n == 0:
        return []
    of_y, known = np.zeros(len(keys), np.uint64), np.ones(len(keys), bool)
    for place, target in enumerate(targets):
        of_y += mixed(np.uint64(place), keys_of(target.cells.values))
        known &= target.cells.values == target.cells.values
    what = f"{n:,} rows are equal to earlier ones, such as {_example(first != np.arange(len(keys)), first)}"
    found = [Finding(None, "repeated rows", what, REPEATED)]
    differs = (of_y != of_y[first]) & known & known[first]
    if differs.any():
        n = np.count_nonzero(np.isin(group, group[differs]))
        what = f"{n:,} rows are equal to rows with another y, such as {_example(differs, first)}"
        found.append(Finding(None, "contradicting rows", what, CONTRADICTING))
    return found


def _example(which, first):
    row = int(np.argmax(which))
    return f"rows {first[row]} and {row}"
