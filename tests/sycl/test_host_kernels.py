"""The kernels compiled for this processor by g++, every phase for one item after another, with sanitizers on."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from dforest.engines.device.backend import DeviceArray
from dforest.testing import device_forests
from dforest.testing.host_device import HostDevice, compile_kernels

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compile_kernels(tmp_path_factory.mktemp("kernels"))


def test_a_kernel_is_refused_what_it_cannot_take(library):
    device = HostDevice(library)
    means, most = device.array(np.array([[1.0, 3.0], [5.0, 5.0]])), device.empty((2,), np.int64)
    device.run("df_most", 1, means, 2, 2, 2, most)
    assert most.get().tolist() == [1, 0] and device.n_launches == 1
    with pytest.raises(TypeError, match="df_most: most is of type int64, not float64"):
        device.run("df_most", 1, means, 2, 2, 2, means)
    with pytest.raises(TypeError, match="df_most takes 5 arguments"):
        device.run("df_most", 1, means)
    with pytest.raises(ValueError, match="n_items=2000; the device 'this processor' allows 1 to 1024"):
        device.run("df_most", 1, means, 2, 2, 2, most, n_items=2000)


@pytest.mark.parametrize("n_items", [1, 4])
def test_an_item_after_another_predicts_and_estimates_the_same(library, n_items):
    """All kernels that do not grow."""
    device = HostDevice(library, n_items, is_cpu=n_items == 1)
    kinds = set()
    for seed in range(200, 230):
        estimator, X, y, weight = device_forests.random_fit(seed)
        model = estimator.fit(X, y, weight)
        assert device_forests.differences_afterwards(model, X, y, weight, device) == [], seed
        kinds.add((hasattr(model, "classes_"), model.bootstrap, model.categorical_features is None))
    assert len(kinds) == 8
    assert isinstance(device.array(X), DeviceArray) and device.n_bytes_held > 0  # copies of forests that are still there


@pytest.mark.slow
def test_an_item_after_another_grows_the_same_forests(library):
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
    # g++ takes three times as long if it optimises that many checks, and the kernels are no faster.
    options = ["-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    library = compile_kernels(tmp_path, options)
    runtime = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    done = subprocess.run(
        [sys.executable, "-m", "dforest.testing.device_forests", library, "0", "30"],
        env={"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "PATH": "/usr/bin:/bin", "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "30 problems: the same forests, predictions and estimates" in done.stdout
