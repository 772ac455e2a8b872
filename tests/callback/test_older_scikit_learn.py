"""Callbacks without `sklearn.callback`: the tests of callbacks pass with dforest's own form of the protocol."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

# All of scikit-learn that the tests need is imported before its callbacks are hidden; then dforest's estimators are made anew.
WITHOUT = """
import sys
import sklearn.datasets, sklearn.metrics, sklearn.model_selection, sklearn.ensemble, sklearn.linear_model, sklearn.pipeline
import helpers.device_forests, helpers.host_device
anew = ("dforest.estimators", "dforest.callback", "dforest.testing", "helpers")
for name in [name for name in sys.modules if name.startswith(anew)]:
    del sys.modules[name]
del sys.modules["dforest"]
sys.modules["sklearn.callback"] = None
import dforest
from dforest.estimators import callback_protocol, callbacks
assert callbacks.CallbackSupportMixin is callback_protocol.CallbackSupportMixin
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_the_tests_of_callbacks_pass():
    callbacks = [str(path) for path in sorted(TESTS.glob("callback/test_*.py")) if path != Path(__file__)]
    # What is left out is about a search that copies callbacks of scikit-learn's own, or about names that are hidden.
    chosen = ["-q", "-n0", "-p", "no:cacheprovider", "--rootdir", str(TESTS.parent)]
    paths = [*callbacks, str(TESTS / "estimators" / "test_callbacks.py")]
    command = [sys.executable, "-P", "-c", WITHOUT, *chosen, *paths]
    found = subprocess.run(command, capture_output=True, text=True, cwd=TESTS.parent)
    assert found.returncode == 0, found.stdout[-5000:] + found.stderr[-2000:]
    assert " passed" in found.stdout
