"""Sets of loops for different processors: that the environment chooses one."""

import os
import subprocess
import sys

import pytest

from dforest.core import loops

CODE = """
import numpy as np
from dforest import RandomForestRegressor
X = np.random.default_rng(0).random((500, 3))
print(RandomForestRegressor(3, random_state=0).fit(X, X[:, 0]).predict(X).sum().hex())
"""


def run(code, name):
    environment = os.environ | {"DFOREST_LOOPS": name}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("name", loops.names())
def test_the_environment_chooses(name, capsys):
    """Forests are the same, so that only an error can tell here that it does."""
    exec(CODE, {})
    assert run(CODE, name).stdout == capsys.readouterr().out != ""


def test_sets_that_there_are_not():
    done = run("import helpers.core_alone, dforest.core.loops", "avx1024")
    assert "ValueError: DFOREST_LOOPS='avx1024'; allowed are the sets of loops that this processor can run: ['" in done.stderr
    with pytest.raises(ValueError, match=r"name='none'; allowed are the sets .* \['portable'"):
        loops.use("none")
