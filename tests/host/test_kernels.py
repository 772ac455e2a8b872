"""Kernels on the host, those compiled with dforest and others: their forests and estimates are the processor's, to the bit."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers import device_forests
from helpers.host_device import ITEMS_AS_THREADS, compile_kernels, load_kernels, strict_device
from helpers.rings import examples
from sklearn.base import clone

from dforest.backends.host import HostDevice
from dforest.engines.device.engine import DeviceEngine
from dforest.testing.engine_check import check_engine

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
ONE_ITEM = [{name: size for name, size in sizes.items() if name != "n_items"} for sizes in device_forests.TUNINGS]


@pytest.fixture(scope="module")
def kernels():
    """Kernels for groups of any size."""
    return load_kernels(compile_kernels())


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("seed", range(100, 115))
def test_the_same_forests(seed, n_threads):
    estimator, X, y, weight = device_forests.random_fit(seed)
    here = estimator.fit(X, y, weight)
    for sizes in ONE_ITEM:
        with device_forests.standing_in(strict_device(None, n_threads, is_cpu=seed % 2 == 0)):
            there = device_forests.fit_there(estimator, X, y, weight, tuning=sizes)
        assert device_forests.differences(here, there) == [], sizes


@pytest.mark.parametrize("seed", range(100, 112))
def test_the_same_forests_of_several_outputs(seed):
    estimator, X, y, weight = device_forests.random_fit_of_outputs(seed)
    here = estimator.fit(X, y, weight)
    for sizes in ONE_ITEM[seed % 2 :: 2]:
        with device_forests.standing_in(strict_device(None, 2, is_cpu=seed % 2 == 0)):
            there = device_forests.fit_there(estimator, X, y, weight, tuning=sizes)
        assert device_forests.differences(here, there) == [], sizes


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_same_predictions_and_estimates(n_threads):
    device, kinds = strict_device(None, n_threads), set()
    for seed in range(200, 240):
        estimator, X, y, weight = device_forests.random_fit(seed)
        model = estimator.fit(X, y, weight)
        assert device_forests.differences_afterwards(model, X, y, weight, device) == [], seed
        kinds.add((hasattr(model, "classes_"), model.bootstrap, model.categorical_features is None))
    assert len(kinds) == 8


@pytest.mark.parametrize("sizes", [{}, {"subtree_up_to": 10, "chunk": 64}, {"batch_bytes": 1 << 18}])
def test_it_is_an_engine(sizes):
    with device_forests.tuned(sizes):
        check_engine(DeviceEngine(HostDevice(2)))


def test_fits_at_the_same_time():
    """On one device, from several threads."""
    device = strict_device(None, 2)
    fits = [device_forests.random_fit(seed) for seed in range(300, 312)]
    expected = [clone(estimator).fit(X, y, weight) for estimator, X, y, weight in fits]
    sizes = {"subtree_up_to": 10, "chunk": 64}
    with device_forests.tuned(sizes), device_forests.standing_in(device), ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda fit: clone(fit[0]).set_params(device="sycl").fit(*fit[1:]), fits * 2))
    for here, there in zip(expected * 2, found, strict=True):
        assert device_forests.differences(here, there) == []


@needs_compiler
@pytest.mark.parametrize("n_items", [1, 4])
def test_an_item_after_another_predicts_and_estimates_the_same(kernels, n_items):
    """All kernels that do not grow."""
    device = strict_device(kernels, 2, n_items, is_cpu=n_items == 1)
    for seed in range(200, 240):
        estimator, X, y, weight = device_forests.random_fit(seed)
        assert device_forests.differences_afterwards(estimator.fit(X, y, weight), X, y, weight, device) == [], seed


@needs_compiler
def test_an_item_after_another_grows_the_same_forests(kernels):
    for seed in range(100, 100 + examples(40)):
        fit_of = device_forests.random_fit_of_outputs if seed % 4 == 0 else device_forests.random_fit
        estimator, X, y, weight = fit_of(seed)
        here = estimator.fit(X, y, weight)
        for sizes in device_forests.TUNINGS:
            with device_forests.standing_in(strict_device(kernels, is_cpu=seed % 2 == 0)):
                there = device_forests.fit_there(estimator, X, y, weight, tuning=sizes)
            assert device_forests.differences(here, there) == [], sizes


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "options", "n_problems"),
    [
        ("libasan.so", ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"], 30),
        ("libtsan.so", ["-fsanitize=thread", *ITEMS_AS_THREADS], 3),
    ],
)
def test_sanitizers_find_nothing(library, options, n_problems):
    """In a process of its own, as a sanitizer has to be loaded first."""
    kernels = compile_kernels(["-g1", *options])
    runtime = subprocess.run(["g++", f"-print-file-name={library}"], capture_output=True, text=True, check=True).stdout.strip()
    settings = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "DFOREST_THREADS": "pool"}
    done = subprocess.run(
        [sys.executable, "-m", "helpers.device_forests", kernels, "0", str(n_problems)],
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{n_problems} problems: the same forests, boosted trees, predictions and estimates" in done.stdout
