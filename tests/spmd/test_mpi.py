"""Ranks that are processes, started by mpiexec."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.boosted_fits import CLASSES, REGRESSION

from dforest import config_context

pytest.importorskip("mpi4py")
HERE = Path(__file__).parent
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")


def run(programs, n_ranks, folder, limit=100):
    """Run functions of mpi_programs.py, one after the other.

    Returns
    -------
    reports : dict
        What each rank has written, by program and rank; None where it has not.
    code : int
        The exit status of mpiexec.
    text : str
        What was written to the terminal.
    """
    command = [MPIEXEC, "-n", str(n_ranks), sys.executable, str(HERE / "mpi_programs.py"), str(folder), *programs]
    environment = os.environ | {"PYTHONPATH": str(HERE.parent), "HYDRA_LAUNCHER": "fork"}
    started = subprocess.Popen(
        command, env=environment, start_new_session=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        text, _ = started.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        pytest.fail(f"{programs} of {n_ranks} ranks are not done after {limit} s: {started.communicate()[0]}")
    reports = {}
    for program in programs:
        files = [folder / f"{program}.{rank}.json" for rank in range(n_ranks)]
        reports[program] = [json.loads(file.read_text()) if file.exists() else None for file in files]
    return reports, started.returncode, text


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """What the programs report that end well, by number of ranks; they are started together, as that takes most of the time."""

    @cache
    def reports_of(n_ranks):
        programs = {
            2: ["large", "freed"],
            3: ["wrapped", "forests", "causal", "boosted", "errors"],
        }
        reports, code, text = run(["collectives", *programs[n_ranks]], n_ranks, tmp_path_factory.mktemp("mpi"))
        assert code == 0, text
        return reports

    return reports_of


@pytest.mark.slow
def test_boosted_trees_are_those_of_one_process(done):
    assert done(3)["boosted"] == [2 * len([*REGRESSION, *CLASSES])] * 3


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("n_ranks", [3, 2])
def test_collectives_are_those_of_numpy(done, n_ranks):
    assert done(n_ranks)["collectives"] == [160] * n_ranks


def test_without_mpi4py_it_is_told_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.delitem(sys.modules, "dforest.spmd.mpi", raising=False)
    with pytest.raises(ImportError, match=r"ranks of MPI need mpi4py; install it: pip install 'mpi4py>=4"):
        with config_context(communicator=SimpleNamespace(Get_rank=None, Idup=None)):
            pass


@pytest.mark.slow
def test_large_arrays_pass(done):
    assert done(2)["large"] == [200_000_000] * 2


def test_communicators_of_mpi4py_are_wrapped(done):
    assert done(3)["wrapped"] == [["MpiCommunicator", rank, 3, True] for rank in range(3)]


def test_forests_are_those_of_one_process(done):
    assert done(3)["forests"] == [None] * 3


def test_causal_and_uplift_forests_are_those_of_one_process(done):
    assert done(3)["causal"] == [4] * 3


@pytest.mark.slow
def test_communicators_are_freed(done):
    assert done(2)["freed"] == [2200] * 2


def test_errors_on_one_rank_are_raised_on_all_and_work_goes_on(done):
    for rank, report in enumerate(done(3)["errors"]):
        assert len(report) == 60
        for case, (where, kind, text) in enumerate(report):
            expected = [
                ("ValueError", "bad"),
                ("MemoryError", "much"),
                ("KeyboardInterrupt", ""),
                ("RankError", "Odd: 1 and 2"),
                ("LookupError", "'key'"),
                ("ValueError", "x" * 10_000) if rank == where else ("RankError", "ValueError: " + "x" * 2000),
            ][case % 6]
            assert (kind, text) == (expected[0], f"on rank {where}: {expected[1]}")


@pytest.mark.slow
def test_a_killed_rank_ends_the_job(tmp_path):
    reports, code, _ = run(["killed"], 2, tmp_path)
    assert code != 0
    assert reports["killed"] == [None] * 2


@pytest.mark.slow
def test_an_interrupt_of_one_rank_ends_the_job(tmp_path):
    reports, code, _ = run(["interrupted"], 2, tmp_path)
    assert code != 0
    assert reports["interrupted"] == ["KeyboardInterrupt: on rank 1: "] * 2


def test_the_program_of_the_page_runs(tmp_path):
    page = (HERE.parents[1] / "doc" / "distributed.md").read_text(encoding="utf-8")
    program = re.search(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[1]
    (tmp_path / "train.py").write_text(program.replace("100_000", "2_000"), encoding="utf-8")
    command = [MPIEXEC, "-n", "2", sys.executable, "-m", "mpi4py", str(tmp_path / "train.py")]
    done = subprocess.run(command, env=os.environ | {"HYDRA_LAUNCHER": "fork"}, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"this processor: 20 trees in .* s\n2 ranks: .* grown by one rank each\n", done.stdout)
