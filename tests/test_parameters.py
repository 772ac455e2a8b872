"""The parameters of all public estimators: their names, order, defaults and constraints do not change by accident.

`parameters.json` lists them, as an earlier version had them. A change that means to add a parameter, or to change one,
says so in CHANGELOG.md and writes the file again:

    DFOREST_RENEW_PARAMETERS=1 pytest tests/test_parameters.py
"""

import inspect
import json
import os
import pickle
import pydoc
import re
from numbers import Integral
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils._param_validation import Interval, InvalidParameterError, Options

import dforest

FILE = Path(__file__).with_name("parameters.json")
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
ESTIMATORS = [
    dforest.DecisionTreeClassifier,
    dforest.DecisionTreeRegressor,
    dforest.ExtraTreeClassifier,
    dforest.ExtraTreeRegressor,
    dforest.ExtraTreesClassifier,
    dforest.ExtraTreesRegressor,
    dforest.RandomForestClassifier,
    dforest.RandomForestRegressor,
    dforest.RandomTreesEmbedding,
]
ALL = pytest.mark.parametrize("kind", ESTIMATORS)


def described(constraint):
    """A constraint as text that depends neither on scikit-learn's release nor on the order of a set."""
    if isinstance(constraint, Interval):
        left = "[" if constraint.closed in ("left", "both") else "("
        right = "]" if constraint.closed in ("right", "both") else ")"
        kind = "int" if constraint.type is Integral else constraint.type.__name__
        return f"{kind} in {left}{constraint.left}, {constraint.right}{right}"
    if isinstance(constraint, Options):
        options = sorted(getattr(option, "__name__", repr(option)) for option in constraint.options)
        deprecated = "".join(f", deprecated {name!r}" for name in sorted(constraint.deprecated))
        return f"{type(constraint).__name__} {', '.join(options)}{deprecated}"
    if isinstance(constraint, type):
        return f"instance of {constraint.__name__}"
    return "callable" if constraint is callable else repr(constraint)


def listed(kind):
    """What a line of the list says of each parameter of an estimator, in the order of its signature."""
    return {
        name: f"{parameter.kind.name.lower()}, default {parameter.default!r}: "
        + "; ".join(described(constraint) for constraint in kind._parameter_constraints[name])
        for name, parameter in inspect.signature(kind).parameters.items()
    }


if os.environ.get("DFOREST_RENEW_PARAMETERS"):
    FILE.write_text(json.dumps({kind.__name__: listed(kind) for kind in ESTIMATORS}, indent=1) + "\n")


@ALL
def test_parameters_are_those_listed(kind):
    known = json.loads(FILE.read_text())[kind.__name__]
    found = listed(kind)
    assert found == known
    assert list(found) == list(known)


def test_all_estimators_are_listed():
    public = {name for name in dforest.__all__ if hasattr(getattr(dforest, name), "get_params")}
    assert {kind.__name__ for kind in ESTIMATORS} == public == set(json.loads(FILE.read_text()))


@ALL
def test_constructor_sets_what_it_is_given(kind):
    given = {name: object() for name in inspect.signature(kind).parameters}
    model = kind(**given)
    assert vars(model) == given
    assert model.get_params(deep=False) == given
    assert vars(kind().set_params(**given)) == given


@ALL
def test_defaults(kind):
    defaults = {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}
    assert vars(kind()) == defaults == clone(kind()).get_params() == pickle.loads(pickle.dumps(kind())).get_params()


@ALL
def test_arguments_that_are_none(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__}.__init__.* unexpected keyword argument 'n_trees'"):
        kind(n_trees=3)
    with pytest.raises(TypeError, match=f"{kind.__name__}.__init__.* positional argument"):
        kind(3, 4)


def test_number_of_trees_by_position():
    assert dforest.RandomForestRegressor(7).n_estimators == 7
    with pytest.raises(TypeError, match="multiple values for argument 'n_estimators'"):
        dforest.RandomForestRegressor(7, n_estimators=7)


class TwoTrees(dforest.ExtraTreesClassifier):
    """A user's class with parameters of its own."""

    def __init__(self, max_depth=3, *, note="", random_state=None):
        super().__init__(2, max_depth=max_depth, random_state=random_state)
        self.note = note


class SameParameters(dforest.DecisionTreeRegressor):
    """A user's class with the parameters of its base."""


def test_subclass_with_a_constructor_of_its_own():
    model = TwoTrees(1, note="mine", random_state=0)
    assert model.get_params() == {"max_depth": 1, "note": "mine", "random_state": 0}
    assert (model.n_estimators, model.splitter, model.method) == (2, "random", "dense")
    fitted = clone(model).fit(X_IRIS, Y_IRIS)
    assert len(fitted) == 2 and fitted.forest_.depths().max() == 1
    assert (pickle.loads(pickle.dumps(fitted)).predict(X_IRIS) == fitted.predict(X_IRIS)).all()


def test_subclass_without_one():
    assert inspect.signature(SameParameters) == inspect.signature(dforest.DecisionTreeRegressor)
    with pytest.raises(InvalidParameterError, match="The 'max_depth' parameter of SameParameters must be an int"):
        SameParameters(max_depth=0).fit(X_IRIS, Y_IRIS)


@ALL
def test_help_shows_the_signature(kind):
    text = re.sub(r"\s+", " ", pydoc.plain(pydoc.render_doc(kind)))
    assert f"class {kind.__name__}(" in text
    assert f"| {kind.__name__}{inspect.signature(kind)}".replace(" ", "") in text.replace("|", "| ").replace(" ", "")
