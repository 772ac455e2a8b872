"""The headers of dforest/rules: each compiles alone, as C99 and as C++."""

import shutil
import subprocess
from pathlib import Path

import pytest
from twins import sampling

import dforest
from dforest.rules import arrays
from dforest.rules.records import constants, record
from dforest.testing import streams

PACKAGE = Path(dforest.__file__).parent
HEADERS = sorted(path.name for path in (PACKAGE / "rules").glob("*.h"))


@pytest.mark.parametrize("compiler", [["cc", "-x", "c", "-std=c99"], ["c++", "-x", "c++", "-std=c++17"]], ids=["C99", "C++"])
@pytest.mark.parametrize("header", HEADERS)
def test_a_header_compiles_alone(header, compiler):
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"there is no {compiler[0]}")
    command = [*compiler, "-Wall", "-Werror", "-Wno-unused-function", "-fsyntax-only", "-I", dforest.get_include(), "-"]
    source = f'#include "rules/{header}"\n#include "rules/{header}"\n'  # its guard holds
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_numbers_of_the_headers():
    assert (arrays.BLOCK, arrays.ROOT_KEY) == (sampling.BLOCK, streams.ROOT_KEY)
    numbers = constants()
    assert [numbers[f"DF_{kind}"] for kind in ("CONTINUOUS", "ORDINAL", "CATEGORICAL")] == [0, 1, 2]


def test_records_may_hold_records():
    assert record("df_problem")["limits"] == record("df_limits")
    assert record("df_record").itemsize == 16
