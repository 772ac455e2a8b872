"""Splitters and criteria as objects with parameters, and the contract that they were compiled against."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from dforest import DecisionTreeClassifier, RandomForestClassifier, RandomForestRegressor
from dforest.core.component import ContractError, declare_contract, parameter_names
from dforest.criterion import Gini, PythonCriterion, SquaredError
from dforest.errors import DeviceError
from dforest.splitter import Cut, DenseSplitter, HistSplitter, PythonSplitter, RandomHistSplitter, SplitterError


class PowerSplitter(PythonSplitter):
    """A gain divided by the number of the feature to a power: `alpha` decides."""

    def __init__(self, alpha=1.0, names=("a", "b")):
        self.alpha = alpha
        self.names = names

    def best_cut(self, node, feature):
        codes = np.unique(node.codes(feature)).tolist()[:-1]
        scores = [node.score_cut(feature, code) for code in codes]
        best = int(np.argmax(scores)) if scores else 0
        return (codes[best], scores[best] / (1 + feature) ** self.alpha) if scores and scores[best] >= 0 else None


class PowerGini(PythonCriterion):
    def __init__(self, power=2):
        self.power = power

    def impurity(self, statistics):
        return 1 - ((statistics.class_weight / statistics.weight[:, None]) ** self.power).sum(axis=1)


class Inherits(PowerSplitter):
    """Without a constructor of its own."""


class HasList(PythonSplitter):
    parameters = ("alpha",)

    def __init__(self, **given):
        self.alpha = given.get("alpha", 3)


def test_parameters_are_the_constructors_arguments():
    assert parameter_names(PowerSplitter) == parameter_names(Inherits) == ["alpha", "names"]
    assert parameter_names(HistSplitter) == parameter_names(Gini) == []
    assert parameter_names(HasList) == ["alpha"]
    splitter = PowerSplitter(2.5)
    assert splitter.get_params() == splitter.get_params(deep=False) == {"alpha": 2.5, "names": ("a", "b")}
    assert repr(splitter) == "PowerSplitter(alpha=2.5, names=('a', 'b'))"
    assert splitter.set_params(alpha=3) is splitter and splitter.alpha == 3 and splitter.names == ("a", "b")
    assert splitter.set_params() is splitter and splitter.alpha == 3


def test_a_constructor_must_name_its_parameters():
    for arguments in ("*alphas", "**alphas"):
        space = {}
        exec(f"def init(self, {arguments}): pass", space)
        with pytest.raises(TypeError, match=r"Nameless.*takes \*alphas"):
            type("Nameless", (PythonSplitter,), {"__init__": space["init"]})().get_params()


def test_unknown_parameters_are_refused():
    splitter = PowerSplitter(2.0)
    with pytest.raises(ValueError, match=r"Invalid parameter 'beta' for PowerSplitter; it has \['alpha', 'names'\]"):
        splitter.set_params(beta=1)
    with pytest.raises(ValueError, match="beta"):
        splitter.set_params(alpha=3, beta=1)
    assert splitter.alpha == 2.0
    with pytest.raises(ValueError, match="Invalid parameter 'beta' for Gini"):
        Gini().set_params(beta=1)


@pytest.mark.parametrize("component", [PowerSplitter(0.5), Inherits(), HistSplitter(), PowerGini(3), Gini(), HasList(alpha=4)])
def test_copies_are_equal(component):
    for other in (clone(component), pickle.loads(pickle.dumps(component)), clone(component).set_params(**component.get_params())):
        assert other is not component and type(other) is type(component)
        assert other == component and hash(other) == hash(component) and repr(other) == repr(component)
    assert component != HasList(alpha=5) and component != 1
    assert HistSplitter() != DenseSplitter()


def test_estimators_show_and_set_parameters_of_components():
    forest = RandomForestClassifier(splitter=PowerSplitter(2.0), criterion=PowerGini(3))
    given = forest.get_params(deep=True)
    assert given["splitter__alpha"] == 2.0 and given["criterion__power"] == 3
    assert "splitter__alpha" not in forest.get_params(deep=False)
    copy = clone(forest)
    assert copy.splitter == forest.splitter and copy.splitter is not forest.splitter
    copy.set_params(splitter__alpha=7, criterion__power=2)
    assert (copy.splitter.alpha, forest.splitter.alpha, copy.criterion.power) == (7, 2.0, 2)
    with pytest.raises(ValueError, match="beta"):
        forest.set_params(splitter__beta=1)
    assert "PowerSplitter(alpha=2.0" in repr(forest)


def test_grid_search_over_a_component():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    forest = RandomForestClassifier(2, max_depth=2, splitter=PowerSplitter(), criterion=PowerGini(), random_state=0)
    grid = {"splitter__alpha": [0.0, 2.0], "criterion__power": [2, 3]}
    search = GridSearchCV(forest, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.splitter.alpha == search.best_params_["splitter__alpha"]
    assert forest.splitter.alpha == 1.0


def test_a_class_stands_for_an_object_of_it():
    X, y = load_iris(return_X_y=True)
    by_class = RandomForestClassifier(3, splitter=HistSplitter, criterion=Gini, random_state=0).fit(X, y)
    by_object = RandomForestClassifier(3, splitter=HistSplitter(), criterion=Gini(), random_state=0).fit(X, y)
    by_name = RandomForestClassifier(3, random_state=0).fit(X, y)
    for forest in (by_class, by_object):
        for name, array in by_name.forest_.as_dict().items():
            assert forest.forest_.as_dict()[name].tobytes() == array.tobytes()
    assert by_class.splitter is HistSplitter
    for name in ("splitter", "criterion"):
        with pytest.raises(ValueError, match=rf"{name}=<class 'int'>; allowed are subclasses of"):
            RandomForestClassifier(3, **{name: int}).fit(X, y)
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            RandomForestClassifier(3, **{name: 3}).fit(X, y)
    with pytest.raises(ValueError, match="'splitter' parameter"):
        RandomForestClassifier(3, splitter=Gini()).fit(X, y)


def test_components_of_another_task_method_or_device_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="SquaredError.*is for regression"):
        RandomForestClassifier(criterion=SquaredError()).fit(X, y)
    with pytest.raises(ValueError, match="Gini.*is for classification"):
        RandomForestRegressor(criterion=Gini).fit(X, y)
    with pytest.raises(ValueError, match="DenseSplitter.*works with method='dense', not with 'hist'"):
        RandomForestClassifier(splitter=DenseSplitter()).fit(X, y)
    with pytest.raises(ValueError, match="RandomHistSplitter.*works with method='hist', not with 'dense'"):
        RandomForestClassifier(splitter=RandomHistSplitter, method="dense").fit(X, y)
    with pytest.raises(ValueError, match=r"splitter=PowerSplitter.*is not supported for device='gpu', as it is no code"):
        RandomForestClassifier(splitter=PowerSplitter(), device="gpu").fit(X, y)
    with pytest.raises(DeviceError, match="device='gpu'"):
        RandomForestClassifier(splitter=HistSplitter(), device="gpu").fit(X, y)
    RandomForestClassifier(1, splitter=PowerSplitter(), device="cpu").fit(X, y)
    assert HistSplitter().runs_on("gpu") and not PowerSplitter().runs_on("gpu")


def test_another_version_of_the_contract_is_refused():
    with pytest.raises(ImportError, match=r"theirs was compiled for version 0 of .*has version \d+\. Compile theirs again"):
        declare_contract("theirs", 0)


UNDECLARED = """
from dforest.core.search.splitter cimport Splitter

cdef class Undeclared(Splitter):
    cdef int found
"""

CONSTRUCTED = """
from dforest.core.component cimport CONTRACT
from dforest.core.component import declare_contract
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport Node

declare_contract(__name__, CONTRACT)

cdef class Listed(Splitter):
    parameters = ("alpha",)
    cdef readonly double alpha

    def __init__(self, alpha=1.0):
        self.alpha = alpha

cdef class Unlisted(Splitter):
    cdef readonly double alpha

    def __init__(self, alpha=1.0):
        self.alpha = alpha

cdef class Unflagged(Splitter):
    cdef int open_leaf(self, Node* node) except -1 nogil:
        return 0
"""

OUTDATED = """
from dforest.core.component import declare_contract

declare_contract(__name__, 0)
"""


def test_compiled_modules_say_for_which_contract(compile_module):
    undeclared = compile_module("undeclared", UNDECLARED)
    for make in (undeclared.Undeclared, type("Below", (undeclared.Undeclared,), {})):
        with pytest.raises(ImportError, match="undeclared does not say for which contract Undeclared was compiled"):
            make()
    with pytest.raises(ImportError, match="outdated was compiled for version 0"):
        compile_module("outdated", OUTDATED)


def test_compiled_constructors_list_their_parameters(compile_module):
    constructed = compile_module("constructed", CONSTRUCTED)
    splitter = constructed.Listed(alpha=2.0)
    assert repr(splitter) == "Listed(alpha=2.0)"
    for other in (clone(splitter), pickle.loads(pickle.dumps(splitter)), constructed.Listed().set_params(alpha=2)):
        assert other == splitter
    with pytest.raises(TypeError, match="constructed.Unlisted has a compiled constructor, and so must list"):
        constructed.Unlisted().get_params()
    X, y = load_iris(return_X_y=True)
    own, built_in = (DecisionTreeClassifier(splitter=s, method="dense", random_state=0).fit(X, y) for s in (splitter, "best"))
    assert (own.tree_.threshold == built_in.tree_.threshold).all()
    with pytest.raises(SplitterError, match="Unflagged has the method open_leaf, .* called only if has_own_leaves is set"):
        DecisionTreeClassifier(splitter=constructed.Unflagged()).fit(X, y)


@pytest.mark.parametrize(("base", "name", "instead"), [
    (Gini, "impurity", "PythonCriterion"), (SquaredError, "value", "PythonCriterion"), (Gini, "score", "PythonCriterion"),
    (HistSplitter, "find_split", "PythonSplitter"), (DenseSplitter, "goes_left", "PythonSplitter"),
    (RandomHistSplitter, "best_cut", "PythonSplitter"),
])  # fmt: skip
def test_methods_in_python_that_nobody_would_call(base, name, instead):
    """Subclasses of compiled classes in Python kept the methods of these without a word."""
    mixin = type("Mixin", (), {name: lambda self, *given: None})
    for make in (type("Own", (base,), {name: lambda self, *given: None}), type("Own", (mixin, base), {})):
        with pytest.raises(ContractError, match=f"{name} is written in Python .* of dforest.*{instead}, or of {base.__name__}"):
            make()
    type("Own", (base,), {"another": lambda self: None})()


def test_errors_of_contracts_can_be_caught_together():
    from dforest.core.component import ContractError
    from dforest.criterion import CriterionError

    assert issubclass(SplitterError, ContractError) and issubclass(CriterionError, ContractError)
    assert Cut(1, 2).score is None
