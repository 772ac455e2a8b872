"""The kernels compiled for this processor by g++, every phase for one item after another, with sanitizers on."""

import shutil
import subprocess
import sys

import pytest

from dforest.testing import device_forests
from dforest.testing.host_device import HostDevice, compile_kernels

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")


@pytest.mark.slow
def test_an_item_after_another_grows_the_same_forests(tmp_path):
    library = compile_kernels(tmp_path)
    for seed in range(100, 140):
        estimator, X, y, weight = device_forests.random_fit(seed)
        here = estimator.fit(X, y, weight)
        for tuning in device_forests.TUNINGS:
            with device_forests.standing_in(HostDevice(library, is_cpu=seed % 2 == 0)):
                there = device_forests.fit_there(estimator, X, y, weight, tuning=tuning)
            assert device_forests.differences(here, there) == [], tuning


@pytest.mark.slow
def test_sanitizers_find_nothing(tmp_path):
    """In a process of its own, as the address sanitizer has to be loaded first."""
    library = compile_kernels(tmp_path, ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
    runtime = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    done = subprocess.run(
        [sys.executable, "-m", "dforest.testing.device_forests", library, "0", "30"],
        env={"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "PATH": "/usr/bin:/bin", "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "30 problems: the same forests" in done.stdout
