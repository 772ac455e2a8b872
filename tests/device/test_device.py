"""Tests of memory and kernels of a device: what comes back, and what is refused."""

import gc
import pickle
import re
import subprocess
import sys
from threading import Thread

import numpy as np
import pytest
from helpers.device_rows import ROWS, check_order, most

from dforest.engines.device import backend
from dforest.errors import DeviceError


@pytest.mark.parametrize("n_items", [None, 1, 4, 64])
@pytest.mark.slow
def test_kernels_run(device, n_items):
    before = device.n_launches
    np.testing.assert_array_equal(most(device, n_items=n_items), ROWS.argmax(axis=1))
    assert device.n_launches == before + 1


def test_a_device_is_what_engines_ask_for(device):
    assert isinstance(device, backend.Device)
    assert isinstance(device.array(ROWS), backend.DeviceArray) and not isinstance(ROWS, backend.DeviceArray)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 0), (2, 3, 4)])
def test_arrays_go_there_and_back(device, dtype, shape):
    array = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    there = device.array(array)
    assert (there.shape, there.dtype, there.nbytes) == (array.shape, array.dtype, array.nbytes)
    back = there.get()
    np.testing.assert_array_equal(back, array)
    assert back.dtype == dtype and back.shape == array.shape
    zeros = device.zeros(shape, dtype).get()
    assert zeros.shape == array.shape and not zeros.any()


def test_parts_of_an_array_are_written(device):
    there = device.zeros((3, 4), np.float32)
    there.write(np.ones((2, 2), np.float32).T, 5)
    there.write(np.full(1, 7, np.float32), 11)
    there.write(np.empty(0, np.float32), 12)
    np.testing.assert_array_equal(there.get().ravel(), [0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 7])
    for array, first in ((np.ones(2, np.float32), 11), (np.ones(1, np.float32), 12), (np.ones(13, np.float32), 0)):
        with pytest.raises(ValueError, match=rf"{len(array)} entries written from entry {first} on to an array of shape"):
            there.write(array, first)
    with pytest.raises(TypeError, match="an array of float64 written to one of float32"):
        there.write(np.ones(2))
    there.fill(255)
    assert np.isnan(there.get()).all()


def test_large_arrays(device):
    rng = np.random.default_rng(0)
    array = rng.integers(0, 1 << 62, (1 << 21) + 12345)
    there = device.array(array)
    array[:] = -array  # which the copy does not see
    np.testing.assert_array_equal(there.get(), -array)
    part = rng.integers(0, 1 << 62, (1 << 20) + 77)
    there.write(part, 1001)
    array = -array
    array[1001 : 1001 + len(part)] = part
    np.testing.assert_array_equal(there.get(), array)


def test_arrays_are_written_and_read_in_order(device):
    check_order(device, np.random.default_rng(1))


def test_memory_is_counted_and_given_back(device):
    gc.collect()
    held = device.n_bytes_held
    array = device.empty((1000, 1000), np.float64)
    same = array.ravel()
    assert device.n_bytes_held == held + 8_000_000 <= device.n_bytes_most
    assert same.shape == (1000000,)
    del array
    assert device.n_bytes_held == held + 8_000_000
    del same
    assert device.n_bytes_held == held


@pytest.mark.parametrize("n", [2**45, 2**59, 2**70])
def test_too_much_memory(device, n):
    held = device.n_bytes_held
    with pytest.raises(DeviceError, match=rf"{8 * n} bytes of memory could not be allocated on the .*{device.memory_bytes}"):
        device.empty(n, np.float64)
    assert device.n_bytes_held == held


def test_wrong_arguments(device):
    rows, out = device.array(ROWS), device.empty(len(ROWS), np.int64)
    cases = [
        (TypeError, r"df_most takes 5 arguments \(means, n_outputs, n_rows, n_block, most\), not 4", (rows, 3, 1000, 10)),
        (TypeError, r"df_most takes 5 arguments .*, not 6", (rows, 3, 1000, 10, out, 1)),
        (TypeError, "df_most: means is of type float64, not float32", (device.array(ROWS.astype("f")), 3, 1000, 10, out)),
        (TypeError, "df_most: means is an array on a device, or None, not ndarray", (ROWS, 3, 1000, 10, out)),
        (TypeError, "df_most: n_outputs is an integer, not float", (rows, 3.0, 1000, 10, out)),
        (TypeError, "df_most: n_rows is an integer, not (Device|Cuda)Array", (rows, 3, rows, 10, out)),
        (ValueError, "df_most: n_rows=9223372036854775808; allowed are integers of 64 bits", (rows, 3, 2**63, 10, out)),
    ]
    for kind, message, arguments in cases:
        with pytest.raises(kind, match=message):
            device.run("df_most", 100, *arguments)
    arguments = rows, 3, 1000, 10, out
    cases = [
        (r"df_most: n_items=0; the device .* allows 1 to \d+", {"n_items": 0}),
        (r"df_most: n_items=1000000000; the device", {"n_items": 10**9}),
        (rf"df_most: n_local=1000000000; the device .* allows up to {device.local_bytes}", {"n_local": 10**9}),
    ]
    for message, how in cases:
        with pytest.raises(ValueError, match=message):
            device.run("df_most", 100, *arguments, **how)
    with pytest.raises(ValueError, match="df_most: n_groups=-1"):
        device.run("df_most", -1, *arguments)
    with pytest.raises(ValueError, match="there is no kernel 'df_least'; there are .*df_most"):
        device.run("df_least", 100)


def test_no_groups_do_nothing(device):
    before = device.n_launches
    device.run("df_most", 0, None, 3, 0, 1, None)
    assert device.n_launches == before


@pytest.mark.slow
def test_threads_and_devices_at_once(device, another):
    found = {}

    def work(number, used):
        rng = np.random.default_rng(number)
        found[number] = all(
            np.array_equal(most(used, rows), rows.argmax(axis=1)) for rows in (rng.random((50 + number, 3)) for _ in range(100))
        )

    threads = [Thread(target=work, args=(i, used)) for i, used in enumerate([another, another, device, device])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(4), True)


def test_arrays_on_a_device_are_not_pickled(device):
    with pytest.raises(TypeError, match=re.escape("get() copies it to a NumPy array")):
        pickle.dumps(device.zeros(3, np.float64))


@pytest.mark.slow
def test_after_a_fork(where):
    code = """
import os, sys
import numpy as np
from dforest.errors import DeviceError
from dforest.backends import find_device
device = find_device(sys.argv[1])
array = device.array(np.ones(3))
child = os.fork()
if child == 0:
    for use in (lambda: find_device(sys.argv[1]), array.get, lambda: device.zeros(3, np.int8), lambda: device.run("df_most", 0)):
        try:
            use()
            os._exit(1)
        except DeviceError as error:
            if "spawn" not in str(error):
                os._exit(2)
    del array
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, where], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
