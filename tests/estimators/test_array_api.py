"""Arrays of other libraries on the host: taken as NumPy's, and answered in kind where scikit-learn's setting asks for it."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from dforest import HistGradientBoostingClassifier, RandomForestClassifier

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples", "apply")
PROGRAM = f"""
import importlib, sys
import numpy as np
import pandas
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
import dforest

library = importlib.import_module(sys.argv[1])
X, y = (values[:150] for values in load_breast_cancer(return_X_y=True))
there = library.asarray(X), library.asarray(y)
for kind in ("RandomForestClassifier", "ExtraTreesRegressor", "DecisionTreeClassifier", "IsolationForest",
             "HistGradientBoostingClassifier", "HistGradientBoostingRegressor"):
    size = {{"max_iter": 3}} if "Hist" in kind else {{}} if "Tree" in kind[:12] else {{"n_estimators": 3}}
    model = getattr(dforest, kind)(random_state=0, **size)
    expected = clone(model).fit(X, y)
    with sklearn.config_context(array_api_dispatch=True):
        found = clone(model).fit(*there)
        for name in filter(lambda name: hasattr(model, name), {METHODS}):
            said = getattr(found, name)(there[0])
            assert type(said) is type(there[0]), (kind, name)
            assert np.array_equal(np.asarray(said), getattr(expected, name)(X)), (kind, name)
        for other in (X.tolist(), pandas.DataFrame(X)):
            assert type(expected.predict(other)) is np.ndarray
        assert not hasattr(found, "score") or found.score(*there) == expected.score(X, y), kind
    assert type(found.predict(there[0])) is np.ndarray  # the setting is off again
print("equal")
"""


class OnlyDLPack:
    """An array that others read by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("library", ["array_api_strict", "torch", "jax.numpy"])
def test_arrays_are_answered_in_kind(library):
    pytest.importorskip(library)
    settings = {"SCIPY_ARRAY_API": "1", "JAX_ENABLE_X64": "1"}  # which their libraries read once
    done = subprocess.run([sys.executable, "-c", PROGRAM, library], capture_output=True, text=True, env=os.environ | settings)
    assert done.stdout == "equal\n", done.stderr


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(3, random_state=0), HistGradientBoostingClassifier(max_iter=2, random_state=0)]
)
def test_arrays_that_only_dlpack_reads(model):
    X, y = load_breast_cancer(return_X_y=True)
    expected = model.fit(X, y).predict_proba(X)
    found = model.fit(OnlyDLPack(X), OnlyDLPack(y)).predict_proba(OnlyDLPack(X))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, expected)


def test_arrays_that_numpy_cannot_read():
    class Foreign(OnlyDLPack):
        def __dlpack__(self, **options):
            raise BufferError("its numbers have 16 bits of a kind of their own")

    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="can't read an array of the class Foreign of an unknown type: its numbers.*allowed is"):
        RandomForestClassifier(3).fit(Foreign(X), y)
