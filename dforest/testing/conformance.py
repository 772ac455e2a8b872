"""What `check_splitter` and `check_criterion` have in common: problems, forests grown on them, and how these differ.

The *component* is the splitter or the criterion that is checked; a *rule* is a sentence that must be true of it; a *trial* is a
component and a problem, to which forests are fitted. Problems own their arrays, which nobody may change.
"""

import pickle
import warnings
from contextlib import contextmanager, suppress
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from dforest.core.component import ContractError
from dforest.estimators.forest import base as estimator
from dforest.estimators.forest.forest import RandomForestClassifier, RandomForestRegressor

# Thresholds at which threads share whatever can be shared.
SHARE_ALL = {"parallel_from": 1, "parallel_visits_from": 0}

TASKS = {"two classes": 2, "four classes": 4, "regression": 0}


ROW_ALONE = "where a row goes depends on nothing but the row"


class ConformanceError(AssertionError):
    """Error raised by `check_splitter` and `check_criterion` if a splitter or a criterion breaks a rule of its contract.

    Attributes
    ----------
    rule : str
        The rule that is broken.
    """

    def __init__(self, message, rule):
        super().__init__(message)
        self.rule = rule

    def __reduce__(self):
        return ConformanceError, (str(self), self.rule)


def broken(component, rule, shown):
    """The error that says which rule of a component is broken, and what shows it."""
    return ConformanceError(f"{type(component).__name__} breaks the rule: {rule}. {shown}", rule)


class Problem(NamedTuple):
    """Rows to grow a forest on.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
    y : ndarray of shape (n_rows,)
        Class numbers, all of which occur, or numbers from 0.
    weight : ndarray of shape (n_rows,), dtype float64, or None
    n_classes : int
        Number of classes; 0 for regression.
    parameters : dict
        The parameters that tell an estimator of the columns.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    n_classes: int
    parameters: dict


def make_problem(task, is_mixed, n_rows=150):
    """A small problem.

    Parameters
    ----------
    task : {"two classes", "four classes", "regression"}
    is_mixed : bool
        Whether some values are missing, a column is categorical, rows have weights, and X is float32.
    n_rows : int

    Returns
    -------
    Problem
    """
    rng = np.random.default_rng(n_rows)
    X = rng.standard_normal((n_rows, 5))
    X[:, 1] = np.round(X[:, 1], 1)  # so that values occur more than once
    X[:, 2] = rng.integers(0, 6, n_rows)
    X[:, 4] = X[:, 0] > 0.3
    number = X[:, 0] + X[:, 1] ** 2 + np.isin(X[:, 2], (0, 3)) + rng.standard_normal(n_rows) / 3
    n_classes = TASKS[task]
    y = np.searchsorted(np.quantile(number, np.arange(1, n_classes) / n_classes), number) if n_classes else number - number.min()
    name, weight, parameters = f"{task}, {n_rows} rows of numbers", None, {}
    if is_mixed:
        X = X.astype(np.float32)
        X[rng.random(n_rows) < 0.1, 0] = np.nan
        X[rng.random(n_rows) < 0.3, 3] = np.nan
        weight = rng.integers(512, 2049, n_rows) / 1024  # so that they are integers exactly
        parameters = {"categorical_features": [2]}
        name = f"{task}, {n_rows} weighted rows with missing values and a categorical column"
    return Problem(name, X, y, weight, n_classes, parameters)


@contextmanager
def tuned(**thresholds):
    """Give the machinery other size thresholds inside a `with` block."""
    before = dict(estimator.TUNING)
    estimator.TUNING.update(thresholds)
    try:
        yield
    finally:
        estimator.TUNING.clear()
        estimator.TUNING.update(before)


class Trial:
    """Fits forests with a component to a problem.

    Parameters
    ----------
    role : {"splitter", "criterion"}
    component : Splitter or Criterion
    problem : Problem
    **parameters
        Parameters of the forests.
    """

    def __init__(self, role, component, problem, **parameters):
        self.role, self.component, self.problem = role, component, problem
        self.own_parameters = parameters
        self.parameters = {"n_estimators": 3, "max_depth": 6, "max_features": 3, "random_state": 0, "n_jobs": 1}
        self.parameters.update(problem.parameters)
        self.parameters.update(parameters)

    def broken(self, rule, shown):
        """The error that says which rule is broken."""
        return broken(self.component, rule, f"{self.problem.name}: {shown}")

    def estimator(self, **changes):
        """A forest that is not fitted."""
        kind = RandomForestClassifier if self.problem.n_classes else RandomForestRegressor
        return kind(**{**self.parameters, self.role: self.component, **changes})

    def fit(self, data=None, **changes):
        """A forest fitted to the data that are given, by default the problem's."""
        X, y, weight = data or (self.problem.X, self.problem.y, self.problem.weight)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            before = [None if array is None else array.copy() for array in (X, y, weight)]
            try:
                fitted = self.estimator(**changes).fit(X, y, weight)
            except ContractError as error:
                raise self.broken("what it returns can be used", error) from error
        for name, now, then in zip(("X", "y", "sample_weight"), (X, y, weight), before, strict=True):
            self.check_unchanged(name, now, then)
        return fitted

    def check_unchanged(self, name, now, then, first=0):
        """Raise unless an array equals an earlier copy; `first` is where its data begin."""
        if now is None or now.tobytes() == then.tobytes():
            return
        where = tuple(int(i) for i in np.argwhere((now != then) & ~((now != now) & (then != then)))[0])
        place = [where[0] - first, *where[1:]]
        raise self.broken("no data are written to", f"{name}{place} was {then[where]}, and is {now[where]}")

    def predictions(self, fitted, X=None):
        """What a fitted forest predicts."""
        X = self.problem.X if X is None else X
        return fitted.predict_proba(X) if self.problem.n_classes else fitted.predict(X)


def with_cause(trial, check):
    """Run a check of a trial. Where it fails, its error says what the failure comes from, if trials of other kinds tell.

    Parameters
    ----------
    trial : Trial
    check : callable
        Given a trial, it raises `ConformanceError`, or what the component raises.
    """
    try:
        check(trial)
        return
    except ConformanceError as error:
        failure = error
    except Exception as error:
        failure = trial.broken("a fit ends without an exception", f"it raised {error!r}")
        failure.__cause__ = error
    mixed_up = rows_mixed_up(trial)
    if mixed_up and failure.rule != ROW_ALONE:
        raise trial.broken(ROW_ALONE, mixed_up) from failure
    for part, problem in without_parts(trial.problem):
        try:
            check(Trial(trial.role, trial.component, problem, **trial.own_parameters))
        except Exception:
            continue
        raise ConformanceError(f"{failure}. Without {part} in the same data, all rules hold", failure.rule) from failure
    raise failure


def without_parts(problem):
    """What may be special about the data of a `Problem`, and the problem without it: list of (str, Problem)."""
    parts = []
    if np.isnan(problem.X).any():
        parts.append(("missing values", problem._replace(X=np.nan_to_num(problem.X))))
    if problem.parameters:
        parts.append(("the categorical column", problem._replace(parameters={})))
    if problem.weight is not None:
        parts.append(("weights", problem._replace(weight=None)))
    return parts


def rows_mixed_up(trial):
    """How a test that is written in Python sends a row elsewhere when it is asked about the row alone: str, or None."""
    kind, found = type(trial.component), []
    if not hasattr(kind, "goes_left") or not hasattr(kind, "find_split"):
        return None

    def goes_left(self, payload, X):
        together = super(probing, self).goes_left(payload, X)
        if not found:
            alone = [np.ravel(super(probing, self).goes_left(payload, X[i : i + 1])).tolist() for i in range(len(X))]
            differs = [i for i, one in enumerate(alone) if one != [np.ravel(together)[i]]]
            found.extend((X[i].tolist(), len(X), "left" if alone[i][0] else "right") for i in differs[:1])
        return together

    probing = type(kind.__name__, (kind,), {"goes_left": goes_left})
    with suppress(Exception):  # as where rows are mixed up, splits break other rules
        trial.fit(**{trial.role: probing(**clone(trial.component).get_params())})
    if not found:
        return None
    row, n_rows, side = found[0]
    return (
        f"goes_left sends the row {row} {side} alone, and to the other side among {n_rows} rows. Sums of products such as "
        "X @ weights may be rounded otherwise for other numbers of rows; those that add up one column after another are not"
    )


def difference(forest, other):
    """A str that says where two forests differ first; None if they are equal to the bit."""
    arrays, others = forest.as_dict(), other.as_dict()
    for name, array in arrays.items():
        given = others[name]
        if array.shape != given.shape:
            return f"{name} has {len(array)} entries in one forest, {len(given)} in the other"
        if array.tobytes() != given.tobytes():
            differs = (array != given) & ~((array != array) & (given != given))
            place = tuple(int(i) for i in np.argwhere(differs)[0])
            return f"{name}{list(place)} is {array[place]} in one forest, {given[place]} in the other"
    return None


def check_same(trial, rule, fitted, other):
    """Raise unless two fitted forests are equal to the bit."""
    differs = difference(fitted.forest_, other.forest_)
    if differs:
        raise trial.broken(rule, differs)


def check_parameters(component):
    """Raise unless a component can be made again from its parameters."""
    rule = "its parameters are its constructor's arguments, kept as they are given in attributes"
    try:
        given = component.get_params()
    except (AttributeError, TypeError) as error:
        raise broken(component, rule, error) from error
    copies = {"clone": clone, "set_params": lambda one: clone(one).set_params(**given)}
    for way, copy in copies.items():
        other = copy(component)
        if other is component or other != component:
            raise broken(component, rule, f"{way}: {component!r} became {other!r}")
    try:
        other = pickle.loads(pickle.dumps(component))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise broken(component, "it can be pickled", error) from error
    if other != component:
        raise broken(component, rule, f"pickle: {component!r} became {other!r}")
    rule = "set_params refuses parameters that there are not, by ValueError"
    try:
        other = clone(component).set_params(no_such_parameter=1)
    except ValueError:
        return
    raise broken(component, rule, f"no_such_parameter=1 was taken: {other!r}")


def check_same_forests(trial):
    """Raise if a forest depends on something that it must not depend on; return a fitted forest."""
    before = repr(trial.component)
    first = trial.fit()
    check_same(trial, "the same fit gives the same forest", first, trial.fit())
    for way, component in {
        "clone": clone(trial.component),
        "pickle": pickle.loads(pickle.dumps(trial.component)),
        "set_params": clone(trial.component).set_params(**trial.component.get_params()),
    }.items():
        other = trial.fit(**{trial.role: component})
        check_same(trial, "objects with the same parameters give the same forest", first, other)
        for part in (trial.component, component):
            if repr(part) != before:
                raise trial.broken("fitting leaves its parameters alone", f"{way}: {before} became {part!r}")
    # Tree by tree: each is grown by an object that has grown none before.
    other = trial.estimator(warm_start=True)
    for n_trees in range(1, trial.parameters["n_estimators"] + 1):
        other.set_params(n_estimators=n_trees).fit(trial.problem.X, trial.problem.y, trial.problem.weight)
    check_same(trial, "a tree does not depend on the trees grown before", first, other)
    best_first = trial.fit(max_leaf_nodes=10**6)
    check_same(trial, "a node's split does not depend on the nodes divided before", first, best_first)
    with tuned(cache_bytes=0):
        check_same(trial, "the forest does not depend on where codes lie", first, trial.fit())
    for n_jobs in (1, 2, 8):
        with tuned(**SHARE_ALL):
            rule = "the forest does not depend on the number of threads"
            check_same(trial, rule, first, trial.fit(n_jobs=n_jobs))
    return first


def check_pickled(trial, fitted):
    """Raise unless the copy of a fitted forest that a pickle gives predicts what the forest does."""
    again = pickle.loads(pickle.dumps(fitted))
    here, there = trial.predictions(fitted), trial.predictions(again)
    if here.tobytes() != there.tobytes():
        row = int(np.argwhere((here != there).reshape(len(here), -1).any(axis=1))[0, 0])
        raise trial.broken("a pickled forest predicts the same", f"row {row}: {here[row]} before, {there[row]} after")


def check_inputs(trial):
    """Raise unless data are left alone, and what lies around them in memory is neither read nor written."""
    margin = 64

    def surrounded(array, value):
        larger = np.full((len(array) + 2 * margin, *array.shape[1:]), value, array.dtype)
        larger[margin:-margin] = array
        return larger

    plain = trial.problem
    weight = np.ones(len(plain.y)) if plain.weight is None else plain.weight
    arrays = plain.X, plain.y, weight
    first = trial.fit(arrays)
    for sentinel in (-1e30, np.nan):
        larger = [surrounded(array, sentinel if array.dtype.kind == "f" else -9) for array in arrays]
        before = [array.copy() for array in larger]
        other = trial.fit([array[margin:-margin] for array in larger])
        trial.predictions(other, larger[0][margin:-margin])
        for name, now, then in zip(("X", "y", "sample_weight"), larger, before, strict=True):
            trial.check_unchanged(name, now, then, margin)
        check_same(trial, "nothing but the data is read", first, other)
