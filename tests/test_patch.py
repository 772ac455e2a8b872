"""Scripts that import scikit-learn's names get dforest's estimators, with scikit-learn's defaults, and the originals back."""

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree
from sklearn.base import clone
from sklearn.datasets import load_iris

import dforest
from dforest.interchange.patch import HOMES, Patch

X, y = load_iris(return_X_y=True)
ORIGINALS = {name: getattr(sklearn.ensemble, name) for name in sklearn.ensemble.__all__}


@pytest.fixture
def patch():
    with dforest.patch_sklearn() as patch:
        yield patch


def test_each_name_is_taken_or_left_with_a_reason(patch):
    told = {*patch.taken, *patch.left}
    assert told >= {f"{module.__name__}.{name}" for module in (sklearn.ensemble, sklearn.tree) for name in module.__all__}
    assert {name.rpartition(".")[2] for name in patch.taken} <= set(HOMES)
    assert all(line in str(patch) for line in [*patch.taken, *(f"{name}: {why}" for name, why in patch.left.items())])


def test_defaults_are_those_of_the_other_library(patch):
    for name in (name.rpartition(".")[2] for name in patch.taken if name.startswith("sklearn.ensemble.")):
        here, there = (inspect.signature(kind).parameters for kind in (getattr(sklearn.ensemble, name), ORIGINALS[name]))
        other = {key: here[key].default for key in there if here[key].default != there[key].default}
        assert set(other.values()) <= {"auto"}  # what these are, the parameter defaults and the kind of forest say
        assert all(here[key].default == "dense" for key in here.keys() & {"method"})
    assert sklearn.ensemble.HistGradientBoostingRegressor().fit(X, y).n_iter_ == 100


def test_estimators_stay_what_they_are(patch, tmp_path):
    model = sklearn.ensemble.RandomForestClassifier(3, random_state=0).fit(X, y)
    dforest.unpatch_sklearn()
    expected = dforest.RandomForestClassifier(3, method="dense", random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y), dforest.load(tmp_path / "model")):
        assert other.method == "dense"
        np.testing.assert_array_equal(other.predict_proba(X), expected.predict_proba(X))
    assert isinstance(model, dforest.RandomForestClassifier)


def test_originals_come_back():
    first = dforest.patch_sklearn()
    assert dforest.patch_sklearn() is first
    dforest.unpatch_sklearn()
    dforest.unpatch_sklearn()
    assert {name: getattr(sklearn.ensemble, name) for name in ORIGINALS} == ORIGINALS


def test_what_was_imported_before_is_told(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "DecisionTreeClassifier", sklearn.tree.DecisionTreeClassifier, raising=False)
    patch = Patch()
    patch.undo()
    assert f"{__name__}.DecisionTreeClassifier" in patch.before
    assert "These were imported before, and stay:" in str(patch)


SCRIPT = """\
import sys
from helper import RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier
print(__name__, sys.argv[1:], RandomForestRegressor.__module__, DecisionTreeClassifier().method)
"""


@pytest.mark.parametrize("arguments", [["script.py", "a", "-b"], ["-m", "script", "a", "-b"]])
def test_a_script_is_run_patched(arguments, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("from sklearn.ensemble import RandomForestRegressor\n")
    command = [sys.executable, "-m", "dforest", "-v", *arguments]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert finished.stdout == "__main__ ['a', '-b'] dforest.interchange.patch dense\n", finished.stderr
    assert "sklearn.ensemble.RandomForestRegressor" in finished.stderr
