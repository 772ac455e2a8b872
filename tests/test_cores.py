"""Cores where OpenMP binds threads: those of the process count, and workers have all of them."""

import os
import subprocess
import sys

import pytest

CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
pytestmark = pytest.mark.skipif(len(CORES) < 2, reason="needs two cores, and Linux, to be bound to one")

# What -1 means before and after a limit, in this thread and another; then the cores of a worker and of the main thread.
PROGRAM = """
import os, threading
{first}
import dforest
from dforest.core.threads import each
from dforest.estimators.data.validation import count_threads
from threadpoolctl import threadpool_limits

found = [count_threads(-1)]
other = threading.Thread(target=lambda: found.append(count_threads(-1)))
other.start()
other.join()
with threadpool_limits(1):
    found.append(count_threads(-1))
main, meeting, seen = threading.get_ident(), threading.Barrier(2, timeout=60), []

def work(item, number):
    meeting.wait()
    if threading.get_ident() != main:
        seen.append(sorted(os.sched_getaffinity(0)))

each(2, work, 2)
print(found, seen, sorted(os.sched_getaffinity(0)))
"""


def run(first="", cores=CORES, **environment):
    """What the program prints, in a process that has some cores from its beginning."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "KMP_"))}
    command = [sys.executable, "-c", PROGRAM.format(first=first)]
    begin = f"import os; os.sched_setaffinity(0, {cores}); os.execv({command[0]!r}, {command})"
    done = subprocess.run([sys.executable, "-c", begin], env=clean | environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("first", ["", "import sklearn.tree"])
@pytest.mark.parametrize("name", ["OMP_PROC_BIND", "OMP_PLACES"])
def test_a_bound_thread_has_the_cores_of_its_process(name, first):
    n, value = len(CORES), {"OMP_PROC_BIND": "true", "OMP_PLACES": "threads"}[name]
    assert run(first, **{name: value}) == f"{[n, n, 1]} {[CORES]} {CORES[:1]}"


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("environment", "n", "cores"),
    [
        ({"OMP_PLACES": str(set(CORES[-1:]))}, 1, CORES[-1:]),
        ({"OMP_PROC_BIND": "false"}, len(CORES), CORES),
        ({"OMP_PROC_BIND": "true", "OMP_NUM_THREADS": "1"}, 1, CORES),
    ],
    ids=["place", "not bound", "number"],
)
def test_what_the_environment_says_counts(environment, n, cores):
    """One thread, or one place, means that."""
    assert run(**environment).startswith(f"{[n, n, 1]} {[cores]} ")


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("environment", [{"OMP_PROC_BIND": "true"}, {}])
def test_the_cores_a_process_begins_with_count(environment):
    assert run(cores=CORES[-1:], **environment) == f"{[1, 1, 1]} {[CORES[-1:]]} {CORES[-1:]}"
