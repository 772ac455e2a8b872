"""The parameters of all public estimators: their names, order, defaults and constraints do not change by accident.

`parameters.json` lists them, as an earlier version had them. A change that means to add a parameter, or to change one,
says so in CHANGELOG.md and writes the file again:

    DFOREST_RENEW_PARAMETERS=1 pytest tests/estimators/test_parameters.py
"""

import inspect
import json
import os
import pickle
import pydoc
import re
from numbers import Integral
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.rings import some
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils._param_validation import HasMethods, Hidden, Interval, InvalidParameterError, Options, make_constraint

import dforest
from dforest.estimators.auto.parameters import BLEND_PARAMETERS
from dforest.estimators.boosting.parameters import BOOSTING_PARAMETERS
from dforest.estimators.causal.parameters import CAUSAL_PARAMETERS
from dforest.estimators.causal.uplift_parameters import UPLIFT_PARAMETERS
from dforest.estimators.declaration import has_parameters
from dforest.estimators.entries import Parameter
from dforest.estimators.families import FAMILIES, FORESTS, WORDS
from dforest.estimators.forest.ensemble import ForestClassifier
from dforest.estimators.forest.tree import _with_check_input
from dforest.estimators.kinds import CausalTrees, DistributionTrees, RankingTrees, SurvivalTrees, UpliftTrees
from dforest.estimators.parameters import PARAMETERS

FILE = Path(__file__).with_name("parameters.json")
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
ESTIMATORS = [
    dforest.AutoForestClassifier,
    dforest.AutoForestRegressor,
    dforest.CausalForest,
    dforest.DecisionTreeClassifier,
    dforest.DecisionTreeRegressor,
    dforest.ExtraSurvivalTree,
    dforest.ExtraSurvivalTrees,
    dforest.ExtraTreeClassifier,
    dforest.ExtraTreeRegressor,
    dforest.ExtraTreesClassifier,
    dforest.ExtraTreesRegressor,
    dforest.HistGradientBoostingClassifier,
    dforest.HistGradientBoostingDistribution,
    dforest.HistGradientBoostingRanker,
    dforest.HistGradientBoostingRegressor,
    dforest.IsolationForest,
    dforest.RandomForestClassifier,
    dforest.RandomForestRegressor,
    dforest.RandomSurvivalForest,
    dforest.RandomTreesEmbedding,
    dforest.SurvivalTree,
    dforest.UpliftForestClassifier,
]
ENTRIES = PARAMETERS + BOOSTING_PARAMETERS + BLEND_PARAMETERS + CAUSAL_PARAMETERS + UPLIFT_PARAMETERS
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
    if isinstance(constraint, Hidden):
        return f"hidden {described(constraint.constraint)}"
    if isinstance(constraint, HasMethods):
        return f"object with {' and '.join(constraint.methods)}"
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
    public = {name for name in dforest.__all__ if hasattr(getattr(dforest, name), "_parameter_groups")}  # which the tables make
    assert {kind.__name__ for kind in ESTIMATORS} == public == set(json.loads(FILE.read_text()))


@ALL
def test_constructor_sets_what_it_is_given(kind):
    given = {name: object() for name in inspect.signature(kind).parameters}
    model = kind(**given)
    assert vars(model) == given
    assert model.get_params(deep=False) == given
    assert vars(kind().set_params(**given)) == given


SMALL = {int: (np.int8, np.uint8, np.int16, np.uint64), float: (np.float16, np.float32, np.longdouble), bool: (np.bool_,)}
TRIED = (3, 2, 1, 127, 0.5, 0.25, 0.75, True, False)  # values of parameters, which all types of SMALL hold


def fitted_by(kind, parameters):
    """What a fit with these parameters returns of some rows, or the error that it raises."""
    rows = np.random.default_rng(0).normal(size=(130, 3))
    y = (rows[:, 0] > 0).astype(np.int64)
    few = {"max_iter": 2} if "max_iter" in kind._parameter_constraints else {"n_estimators": 2}
    few |= {"members": ["random_forest"]}
    few = {name: value for name, value in few.items() if name in kind._parameter_constraints} | {"random_state": 0}
    given = {"qid": np.arange(130) // 10} if issubclass(kind, RankingTrees) else {}
    if issubclass(kind, CausalTrees | UpliftTrees):
        given = {"treatment": np.arange(130) % 2}
    if issubclass(kind, SurvivalTrees):
        y = np.c_[y, np.abs(rows[:, 1]) + 0.1]
    model = kind(**few | parameters)
    try:
        model.fit(rows, y, **given)
        return model, model.transform(rows).toarray() if hasattr(model, "transform") else model.predict(rows)
    except ValueError as error:
        return model, str(error)


@ALL
@pytest.mark.filterwarnings("ignore")
def test_numbers_of_numpy_are_those_of_python(kind):
    """Each parameter in turn, by the constraints of the table; some of them in the short ring."""
    names = list(inspect.signature(kind).parameters)
    for name in some(names, 8, first=len(kind.__name__)):
        allowed = [make_constraint(one) for one in kind._parameter_constraints[name]]
        for type_, smaller in SMALL.items():
            value = next((v for v in TRIED if type(v) is type_ and any(one.is_satisfied_by(v) for one in allowed)), None)
            if value is None:
                continue
            _, expected = fitted_by(kind, {name: value})
            for small in smaller:
                model = kind(**{name: small(value)})
                assert type(getattr(model, name)) is type_ and clone(model).get_params()[name] == value
                assert type(getattr(clone(kind()).set_params(**{name: small(value)}), name)) is type_
            model, found = fitted_by(kind, {name: smaller[0](value)})
            np.testing.assert_equal(found, expected, f"{name}={value!r}")
            assert type(getattr(model, name)) is type_


@ALL
def test_values_that_are_not_allowed(kind):
    """Each parameter in turn, whose constraints are those listed."""
    for name in inspect.signature(kind).parameters:
        value = object()
        with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter of {kind.__name__} must be") as error:
            kind(**{name: value}).fit(X_IRIS, Y_IRIS)
        assert f"Got {value!r} instead" in str(error.value)


def test_numbers_of_numpy_in_old_pickles():
    model = dforest.RandomForestRegressor()
    vars(model)["max_depth"] = np.int8(3)
    again = pickle.loads(pickle.dumps(model))
    assert type(again.max_depth) is int and clone(again).max_depth == 3


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
    text = pydoc.plain(pydoc.render_doc(kind))
    assert f"class {kind.__name__}(" in text
    # From Python 3.13 on, a signature has a line for each parameter, and a comma after the last one.
    shown, signature = (re.sub(r"[\s|]", "", part).replace(",)", ")") for part in (text, str(inspect.signature(kind))))
    assert f"{kind.__name__}{signature}" in shown


# Docstrings


SECTION = re.compile(r"^(\w[\w ]*)\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", re.DOTALL | re.MULTILINE)
ENTRY = re.compile(r"^(\w.*?) : (.*)\n((?:(?: +.*)?\n)*)", re.MULTILINE)


def described_in(thing, section):
    """The (name, type, text) of the entries of a section of a docstring."""
    text = dict(SECTION.findall(inspect.getdoc(thing) + "\n"))[section]
    return [(name, type_, inspect.cleandoc(doc)) for name, type_, doc in ENTRY.findall(text)]


@ALL
def test_parameters_are_described_with_their_defaults(kind):
    found = described_in(kind, "Parameters")
    signature = inspect.signature(kind).parameters
    assert [name for name, _, _ in found] == list(signature)
    for name, type_, doc in found:
        default = repr(signature[name].default).replace("'", '"')
        assert type_.endswith(f", default={default}"), name
        assert re.match(r"[A-Z]", doc) and doc.endswith("."), name


@ALL
def test_attributes_that_are_described_are_there(kind):
    model = kind(random_state=0)
    if hasattr(model, "n_estimators"):
        model.set_params(n_estimators=20)
    if "calibration" in model.get_params():
        model.set_params(calibration="oob")
    if "oob_score" in model.get_params():
        model.set_params(oob_score=True, bootstrap=True, variable_importance="mdi")
    if getattr(model, "_candidates", None):
        model.set_params(max_features="auto")
    is_distribution = isinstance(model, DistributionTrees)
    if "leaf_model" in model.get_params() and not is_distribution:
        model.set_params(leaf_model="auto")
    y = np.column_stack([Y_IRIS, X_IRIS[:, 0]]).clip(0, [1, 9]) if isinstance(model, SurvivalTrees) else Y_IRIS
    told = {"group": [15] * 10} if isinstance(model, RankingTrees) else {}
    told = {"treatment": np.arange(150) % 2} if isinstance(model, CausalTrees | UpliftTrees) else told
    y = Y_IRIS > 0 if isinstance(model, UpliftTrees) else y
    model.fit(pd.DataFrame(X_IRIS, columns=list("abcd")), y, **told)
    if hasattr(model, "conformalize"):
        model.conformalize(X_IRIS, y)
    names = [name for entry, _, _ in described_in(kind, "Attributes") for name in entry.split(", ")]
    assert len(names) == len(set(names)) and ("forest_" in names or "estimators_" in names)
    if is_distribution:
        names.remove("leaf_model_scores_")  # of those of one parameter
    for name in names:
        assert hasattr(model, name), name
    untold = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")} - set(names)
    assert not untold


@ALL
def test_words_of_a_family(kind):
    """What a limit of size counts: draws of a forest's trees, rows of a single one."""
    text = {name: doc for name, _, doc in described_in(kind, "Parameters")}
    draws = "bootstrap" in text or issubclass(kind, CausalTrees)
    if "min_samples_leaf" in text:
        assert ("number of draws" in text["min_samples_leaf"]) == draws
        assert ("number of rows" in text["min_samples_leaf"]) != draws
    assert not re.search(r"[{}]", "".join(text.values()))


@pytest.mark.parametrize("method", ["fit", "predict", "predict_proba", "apply", "decision_path"])
def test_check_input_is_described_after_other_parameters(method):
    method = getattr(dforest.DecisionTreeClassifier, method)
    names = [name for name, _, _ in described_in(method, "Parameters")]
    assert names == list(inspect.signature(method).parameters)[1:]
    assert names[-1] == "check_input" and "\n\nReturns\n-------\n" in inspect.getdoc(method)


def test_docstrings_without_indentation():
    """That is how Python 3.13 and later keep them."""

    def method():
        pass

    method.__doc__ = "What it does.\n\nParameters\n----------\nX : list\n    Any.\n\nReturns\n-------\nint\n"
    method.__doc__ = _with_check_input(method)
    assert [name for name, _, _ in described_in(method, "Parameters")] == ["X", "check_input"]


# The table


def test_a_family_has_a_parameter_once():
    for family in FAMILIES:
        names = [entry.name for entry in ENTRIES if family in entry.of]
        assert names and len(names) == len(set(names))
    assert set(WORDS) == FAMILIES
    assert all(entry.of and entry.of <= FAMILIES for entry in ENTRIES)


def test_defaults_are_values_that_source_can_say():
    assert all(isinstance(entry.default, bool | int | float | str | None) for entry in ENTRIES)


def test_what_forests_have_an_embedding_has_or_fixes():
    missing = set(inspect.signature(dforest.RandomForestRegressor).parameters) - set(
        inspect.signature(dforest.RandomTreesEmbedding).parameters
    )
    assert {name for name in missing if not hasattr(dforest.RandomTreesEmbedding, name)} == set()


N_TRIES = Parameter(
    "n_tries",
    "int or None",
    None,
    [Interval(Integral, 1, None, closed="left"), None],
    """Number of trees after which growing stops.

    The trees count {draws}.""",
    of=FORESTS,
)


@has_parameters("forest classifier", table=(*PARAMETERS, N_TRIES), max_depth=4, criterion="entropy")
class LimitedForest(ForestClassifier):
    """A forest with one parameter more.

    Parameters
    ----------
    {parameters}

    Notes
    -----
    Nothing {else}.
    """


def test_an_entry_is_all_that_a_parameter_takes():
    signature = inspect.signature(LimitedForest)
    assert signature.parameters["n_tries"].kind is inspect.Parameter.KEYWORD_ONLY
    assert list(signature.parameters) == [*inspect.signature(dforest.RandomForestClassifier).parameters, "n_tries"]
    model = LimitedForest(5, n_tries=3)
    assert model.get_params()["n_tries"] == 3
    assert (model.max_depth, model.criterion) == (4, "entropy")
    assert clone(model).set_params(n_tries=None).n_tries is None
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    assert clone(model).fit(X_IRIS, Y_IRIS).forest_.depths().max() <= 4
    with pytest.raises(InvalidParameterError, match="The 'n_tries' parameter of LimitedForest must be an int"):
        LimitedForest(n_tries=0).fit(X_IRIS, Y_IRIS)
    told = {name: (type_, doc) for name, type_, doc in described_in(LimitedForest, "Parameters")}
    assert told["n_tries"] == (
        "int or None, default=None",
        "Number of trees after which growing stops.\n\nThe trees count draws.",
    )
    assert told["max_depth"][0] == "int or None, default=4"
    assert inspect.getdoc(LimitedForest).endswith("Nothing {else}.")


def test_constructor_is_shown_and_found_in_tracebacks():
    source = inspect.getsource(LimitedForest.__init__)
    assert source.startswith("def __init__(self, n_estimators=100, *, voting='soft', criterion='entropy', ")
    assert "n_tries=None" in source
    assert (LimitedForest.__init__.__qualname__, LimitedForest.__init__.__module__) == ("LimitedForest.__init__", __name__)


def test_defaults_that_are_none_s():
    with pytest.raises(ValueError, match="bootstrap=False is a default of no parameter; a tree classifier has criterion, "):
        has_parameters("tree classifier", bootstrap=False)
    with pytest.raises(ValueError, match="family='shrub'; allowed are blend classifier, blend regressor, boosting "):
        has_parameters("shrub")
