"""Whatever is asked of an estimator is answered by one fit, even if another one ends in the midst of the answer."""

import copy
import functools
import inspect
from importlib.util import find_spec
from types import GeneratorType

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, clone

import dforest
from dforest.interchange.storage.model import load
from dforest.public import estimators

N = 40
X = np.random.default_rng(0).normal(size=(N, 3))
OTHER = np.random.default_rng(1).normal(size=(N, 3))
TIMES = 1 + np.abs(X[:, 0]).round(1)
QUERIES = np.repeat(np.arange(8), 5)
# Two fits of each kind, of other rows, targets and numbers of classes, times and grades.
CLASSES = np.arange(N) % 2 * 10, np.arange(N) % 5 * 10
SURVIVAL = np.column_stack([np.arange(N) % 3 > 0, TIMES]), np.column_stack([np.arange(N) % 2 > 0, 2 * TIMES])
GRADES = np.arange(N) % 3, np.arange(N) % 4

# Arguments by the names of parameters; all others are as they are by default.
ARGUMENTS = {
    "X": X, "features": [0], "q": 0.5, "qid": QUERIES, "verify": False, "inplace": False, "scoring": None, "n_repeats": 1,
    "random_state": 0, "output": None, "horizon": 1.0, "priorities": X[:, 0],
}  # fmt: skip
MISSING = {name for name in ("onnx", "treelite") if find_spec(name) is None}


def targets_of(kind):
    name = kind.__name__
    if "Survival" in name:
        return SURVIVAL
    if "Ranker" in name:
        return GRADES
    if "Uplift" in name:
        return np.arange(N) % 2, np.arange(N) // 4 % 2
    return CLASSES if "Classifier" in name else (X[:, 0], OTHER[:, 1] * 3)


@functools.cache
def fits_of(kind):
    """(an estimator, the same one after another fit)."""
    known = kind().get_params()
    given = {
        "n_estimators": 3, "max_iter": 3, "max_depth": 3, "random_state": 0, "oob_score": True, "keep_training_data": True,
        "variable_importance": "mdi", "n_jobs": 1, "members": ["random_forest", "extra_trees"],
    }  # fmt: skip
    if "Isolation" in kind.__name__:
        given["contamination"] = 0.2
    elif "Trees" in kind.__name__:
        given["bootstrap"] = True
    given = {name: value for name, value in given.items() if name in known}
    queries = {"qid": QUERIES} if "Ranker" in kind.__name__ else {}
    queries = {"treatment": np.arange(N) % 2} if "Causal" in kind.__name__ else queries
    told = [queries, queries] if "Uplift" not in kind.__name__ else [{"treatment": np.arange(N) // 2 % n} for n in (2, 3)]
    every = zip((X, OTHER), targets_of(kind), told, strict=True)
    first, other = (kind(**given).fit(rows, y, **more) for rows, y, more in every)
    return first, other


def facts(thing):
    """What an answer says, in a form that can be compared."""
    if isinstance(thing, np.ndarray):
        return thing.shape, thing.dtype.str, [facts(one) for one in thing.ravel()] if thing.dtype == object else thing.tobytes()
    if scipy.sparse.issparse(thing):
        return "sparse", facts(thing.toarray())
    if isinstance(thing, dict):
        return [(facts(key), facts(value)) for key, value in thing.items()]
    if isinstance(thing, list | tuple | GeneratorType):
        return [facts(one) for one in thing]
    if isinstance(thing, BaseEstimator):
        kind = type(thing).__mro__[1] if type(thing).__name__ == "Watched" else type(thing)
        return kind.__name__, facts({name: value for name, value in vars(thing).items() if name not in ("_trees", "_tree")})
    if type(thing).__name__ in ("Predictor", "Report"):
        return facts(thing.predict(X)) if type(thing).__name__ == "Predictor" else str(thing)
    if hasattr(thing, "dump_as_json"):  # of treelite
        return thing.dump_as_json()
    if inspect.isroutine(thing) or isinstance(thing, type):
        return thing.__qualname__
    return repr(thing) if type(thing).__repr__ is not object.__repr__ else facts(thing.__reduce_ex__(4))


def outcome(ask, model):
    try:
        return facts(ask(model))
    except Exception as error:
        return type(error), str(error)


def watched(first, other, n, ask):
    """(what an estimator answers, whose fit is replaced by another at the n-th read of an attribute; the number of reads)."""
    reads = 0

    class Watched(type(first)):
        def __getattribute__(self, name):
            nonlocal reads
            if name == "__dict__" or name in before:
                reads += 1
                if reads == n:
                    model.__dict__ = after
            return object.__getattribute__(self, name)

    before, after = (
        {name: value for name, value in vars(one).items() if name not in ("_trees", "_tree", "_leaf_tables")}
        for one in (first, other)
    )
    Watched.__name__, Watched.__module__ = type(first).__name__, type(first).__module__
    model = object.__new__(Watched)
    model.__dict__ = before
    reads = 0
    return outcome(ask, model), reads


def members(kind):
    """(name, a function that asks an estimator) for all public methods and properties that don't set anything."""
    y = targets_of(kind)[0]
    for name, member in inspect.getmembers(kind):
        sets = name.startswith(("_", "fit", "set_", "conformalize", "get_metadata", "get_params"))
        if sets or name.removeprefix("to_") in MISSING:
            continue
        if isinstance(member, property):
            yield name, lambda model, name=name: getattr(model, name)
        elif name == "save":
            yield name, saved
        elif inspect.isfunction(member):
            known = ARGUMENTS | {"y": y}
            given = {each: known[each] for each in inspect.signature(member).parameters if each in known}
            yield name, lambda model, name=name, given=given: getattr(model, name)(**given)


def saved(model):
    path = saved.folder / "model"
    model.save(path)
    return load(path, components=[type(model)])


FUNCTIONS = [
    copy.copy, copy.deepcopy, clone, repr, list, len, dforest.export_text, dforest.export_graphviz,
    dforest.trees_to_dataframe, lambda model: dforest.combine([model]),
    lambda model: model.__reduce_ex__(4)[2],  # what pickles hold
]  # fmt: skip


def check(first, other, name, ask):
    expected, n_reads = watched(first, other, -1, ask)
    right = expected, watched(other, first, -1, ask)[0]
    for n in sorted({2, n_reads // 2, n_reads - 1, n_reads}):
        assert watched(first, other, n, ask)[0] in right, f"{name} at read {n} of {n_reads}"


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("kind", estimators(), ids=lambda kind: kind.__name__)
def test_answers_are_of_one_fit(kind, tmp_path):
    saved.folder = tmp_path
    for name, ask in [*members(kind), *((str(function), function) for function in FUNCTIONS)]:
        check(*fits_of(kind), name, ask)


PICTURES = {
    "DecisionTreeClassifier": lambda model: [box.get_text() for box in dforest.plot_tree(model)],
    "ExtraTreesRegressor": lambda model: dforest.PartialDependenceDisplay.from_estimator(model, X, [0]).pd_results,
    "ExtraTreesClassifier": lambda model: dforest.ImportanceDisplay.from_estimator(model, kind="impurity").importances_std,
    "RandomForestRegressor": lambda model: vars(dforest.OutOfBagCurveDisplay.from_estimator(model))["oob_curve"],
}


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_of_one_fit(name):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    check(*fits_of(getattr(dforest, name)), name, PICTURES[name])
    pyplot.close("all")


def test_what_returns_the_estimator_returns_itself():
    tree = fits_of(dforest.DecisionTreeClassifier)[0]
    tree = clone(tree).fit(X, CLASSES[0])
    assert tree.prune(X, CLASSES[0]) is tree and tree.set_params(max_depth=2) is tree and tree.fit(X, CLASSES[0]) is tree
