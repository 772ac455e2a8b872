"""Threads."""

import os
import subprocess
import sys

import pytest

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


@pytest.mark.skipif(CORES < 2, reason="needs two cores, and Linux, to be bound to one")
def test_all_cores_count_where_openmp_binds_threads():
    """With OMP_PROC_BIND=true, as clusters set it, ``n_jobs=-1`` meant one thread: OpenMP had bound the main thread to a core."""
    program = "from dforest.estimators.validation import count_threads; print(count_threads(-1))"
    others = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=others | {"OMP_PROC_BIND": "true"}, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == CORES
