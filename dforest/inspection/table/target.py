"""An output of y, and whether a column alone predicts it."""

from functools import cached_property

import numpy as np
from scipy.stats import rankdata

from dforest.config import on_host
from dforest.estimators.data.labels import is_number
from dforest.estimators.data.survival import check_events, look_at_survival
from dforest.estimators.data.tables import factorise, without_mask
from dforest.estimators.forest.tree import DecisionTreeClassifier, DecisionTreeRegressor
from dforest.inspection.table.cells import Cells, numbered
from dforest.inspection.table.finding import Finding, short

MAX_CLASSES = 20  # a target of whole numbers is one of classes if it has at most so many different ones,
ROWS_OF_CLASS = 4  # and so many rows for each on average, or only two of them
MOST_CLASSES = 100  # of targets that columns are tried on
ROWS_TRIED = 10_000  # on which a column alone is tried
LEAVES_OF_NUMBERS = 32  # by which a column alone predicts ranks of numbers: those of a copy have an R2 above 0.99
MOST_NAMED = 5  # classes that a finding names

REFUSED = "correct these values, or leave the rows out: fit refuses them"
GIVEN_AWAY = "make sure that this is known before y is; leave it out if not"
RARE = "join these classes to others, leave them out, or use fewer folds"


class Target:
    """An output: its cells, and rows on which columns are tried.

    Attributes
    ----------
    title : str
        What messages call it.
    cells : Cells
        Classes as labels, or numbers.
    y : ndarray of shape (n_rows,), dtype float64
        Numbers of classes, or ranks of numbers among those in the halves, so that a few large ones don't decide.
    halves : list of two ndarrays
        Row numbers; empty if columns can't be tried.
    """

    def __init__(self, title, cells, task):
        self.title = title
        is_number = cells.labels is None or all(_is_real(label) for label in cells.labels)
        if is_number and cells.labels is not None:
            cells = cells.as_numbers()
        if task == "regression" and not is_number:
            raise ValueError(f"{title} holds {short(cells.first())}; allowed with task='regression' are numbers")
        if task is None:
            task = "classification" if not is_number or _are_classes(cells.values) else "regression"
        if task == "classification" and cells.labels is None:
            labels, codes = np.unique(cells.values, return_inverse=True)
            cells = Cells(*numbered(codes, labels))
        self.cells = cells
        self.y = cells.values
        self.halves = self._halves()

    def _halves(self):
        random, y = np.random.default_rng(0), self.y
        if self.cells.labels is None:
            rows = random.permutation(np.flatnonzero(np.isfinite(y)))[:ROWS_TRIED]
            self.y = np.zeros(len(y))
            self.y[rows] = rankdata(y[rows])
            return [rows[::2], rows[1::2]] if len(np.unique(self.y[rows])) > 1 else []
        groups = [np.flatnonzero(y == k) for k in range(len(self.cells.labels))]
        groups = [random.permutation(rows)[: max(2, ROWS_TRIED // len(groups))] for rows in groups if len(rows) > 1]
        if not 1 < len(groups) <= MOST_CLASSES:
            return []
        return [np.concatenate([rows[start::2] for rows in groups]) for start in (0, 1)]

    @cached_property
    def _score_lost(self):
        """By how much a unit of error in each row lowers the score: list of an array for each half of the rows.

        The score is R2, or the balanced accuracy, of the rows of both halves: 1 less the sum of the rows' errors, each times its
        share. The error of a row is its squared deviation, or 1 if its class is wrong.
        """
        y = self.y[np.concatenate(self.halves)]
        if self.cells.labels is None:
            share = np.full(len(y), 1 / np.square(y - y.mean()).sum())
        else:
            counts = np.bincount(y.astype(np.intp))
            share = 1 / (counts[y.astype(np.intp)] * np.count_nonzero(counts))
        return np.split(share, [len(self.halves[0])])

    def given_away(self, name, take, is_label, max_score, reading=""):
        """Yield a finding if a column alone predicts this output.

        Parameters
        ----------
        name : object
            Of the column.
        take : callable
            Given row numbers, it returns values of the column.
        is_label : bool
            Whether these are numbers of labels.
        max_score : float
        reading : str
            What text was read as: "dates", "amounts", or "" if it was not.
        """
        if not self.halves:
            return
        classes = self.cells.labels
        n_leaves = LEAVES_OF_NUMBERS if classes is None else len(classes)
        if not is_label and 1 - self._least_loss(take, n_leaves) < max_score:
            return
        given = {"method": "dense", "max_leaf_nodes": n_leaves, "random_state": 0}
        given["categorical_features"] = [0] if is_label else None
        tree = DecisionTreeRegressor(**given) if classes is None else DecisionTreeClassifier(class_weight="balanced", **given)
        score = 1.0
        for half, share in enumerate(self._score_lost):
            X, y = ([of(self.halves[place]) for place in (1 - half, half)] for of in (take, self.y.take))
            if is_label:  # those that are new to a tree it would take as missing, with a warning
                X[1] = np.where(np.isin(X[1], X[0]), X[1], np.nan)
            error = tree.fit(X[0][:, None], y[0]).predict(X[1][:, None]) - y[1]
            score -= (share * (np.square(error) if classes is None else error != 0)).sum()
            if not score >= max_score:
                return
        by = f"{n_leaves} leaves" if n_leaves > 2 else "a single split"
        measure = "R2 of ranks" if classes is None else "balanced accuracy"
        read = f"read as {reading}, " if reading else ""
        yield Finding(name, "gives y away", f"predicts {self.title} alone, {read}by {by}: {measure} {score:.3f}", GIVEN_AWAY)

    def _least_loss(self, take, n_leaves):
        """What at least keeps a column of numbers from a score of 1, found without growing trees.

        In the order of the column, targets t and u of neighbouring rows differ. If both rows are in the same leaf, which predicts
        p, (t - u)² <= 2 (t - p)² + 2 (u - p)², or one of two classes is wrong. Rows of n leaves have at most n places where a
        leaf ends, missing values included, and each row has two neighbours.
        """
        least = 0.0
        for rows, share in zip(self.halves, self._score_lost, strict=True):
            y = self.y[rows[np.argsort(take(rows))]]
            change = np.square(np.diff(y)) / 4 if self.cells.labels is None else (np.diff(y) != 0) / 2
            least += np.sort(change)[:-n_leaves].sum() * share.min()
        return least

    def may_give_away(self, X, max_score):
        """Whether each column of a sparse matrix could give this output away: ndarray of shape (n_columns,), dtype bool.

        The rows in which a column stores nothing are all predicted the same, so it can't if their targets differ too much.
        """
        lost = np.zeros(X.shape[1])
        for half, share in zip(self.halves, self._score_lost if self.halves else [], strict=True):
            part, y = X[half], self.y[half]
            part.data = np.ones(len(part.data))
            if self.cells.labels is None:
                y = y - y.mean()
                sums = np.stack([np.ones(len(y)), y, y * y], axis=1)
            else:
                sums = np.eye(len(self.cells.labels))[y.astype(np.intp)] * share[:, None]
            zeros = sums.sum(axis=0) - part.T @ sums
            if self.cells.labels is None:
                n = np.maximum(zeros[:, 0], 1)
                lost += (zeros[:, 2] - np.square(zeros[:, 1]) / n) * share[0]
            else:
                lost += zeros.sum(axis=1) - zeros.max(axis=1)
        return np.logical_and(bool(self.halves), 1 - lost > max_score - 1e-6)

    def findings(self, cv):
        """Yield what is found in this output."""
        cells = self.cells
        n_missing, n_infinite = len(cells.values) - cells.n_known, int(np.isinf(cells.values).sum())
        for n, what in ((n_missing, "missing"), (n_infinite, "infinite")):
            if n:
                yield Finding(None, "y", f"{self.title} has {n:,} {what} value{'s' * (n > 1)}", "leave these rows out")
        if cells.n_known and cells.low == cells.high:
            yield Finding(None, "y", f"{self.title} is {short(cells.first())} in all rows", "there is nothing to predict")
        if cells.labels is None:
            return
        counts = np.bincount(cells.values[cells.values == cells.values].astype(np.intp))
        rare = [place for place in np.argsort(counts, kind="stable").tolist() if counts[place] < cv]
        if rare:
            named = ", ".join(f"{short(cells.labels[place])} ({counts[place]})" for place in rare[:MOST_NAMED])
            more = ", ..." * (len(rare) > MOST_NAMED)
            n = f"{len(rare)} class{'es' * (len(rare) > 1)} of {self.title}"
            yield Finding(None, "rare classes", f"{n} with fewer rows than {cv} folds: {named}{more}", RARE)


class Events(Target):
    """Which rows had an event, of survival times: that all had one is fine."""

    def findings(self, cv):
        if self.cells.varies:
            yield from super().findings(cv)


def survival_targets(y, n_rows):
    """(targets, findings) of survival times: times and events, as far as they can be read, and what `fit` refuses."""
    event, time, entry, wrong = look_at_survival(y)
    for column in (event, time, entry):
        if column is not None and len(column) != n_rows:
            raise ValueError(f"y has {len(column)} rows; allowed are {n_rows} rows, as X has")
    targets = [] if time is None else [Target("the time of y", Cells(time), "regression")]
    if event is not None:
        targets.append(Events("the event of y", Cells(*numbered(event.astype(np.int64), [False, True])), "classification"))
        try:
            check_events(event)
        except ValueError as error:
            wrong = [*wrong, error]
    return targets, [Finding(None, "y", str(error), REFUSED) for error in wrong]


def is_survival(y):
    """Whether y has fields, as survival times have that scikit-survival made."""
    return bool(getattr(getattr(y, "dtype", None), "names", None))


def targets_of(y, n_rows, task):
    """The outputs of y: list of `Target`."""
    values = np.asarray(without_mask(on_host(y)))
    if values.ndim not in (1, 2) or len(values) != n_rows:
        raise ValueError(f"y has the shape {values.shape}; allowed are {n_rows} rows, as X has, of one or more columns")
    columns, targets = [values] if values.ndim == 1 else list(values.T), []
    for output, own in enumerate(columns):
        title = "y" if len(columns) == 1 else f"column {output} of y"
        try:
            cells = Cells(own.astype(np.float64)) if own.dtype.kind in "iuf" else Cells(*numbered(*factorise(own)))
        except TypeError as error:
            raise ValueError(f"{title} can't be read: {error}; allowed are numbers and classes") from None
        targets.append(Target(title, cells, task))
    return targets


def _is_real(label):
    return is_number(label) and not isinstance(label, bool | np.bool_)


def _are_classes(values):
    """Whether numbers are few different whole ones."""
    values = values[values == values]
    if not ((values[:1000] % 1 == 0).all() and (values % 1 == 0).all()):
        return False
    return len(np.unique(values)) <= max(2, min(MAX_CLASSES, len(values) / ROWS_OF_CLASS))
