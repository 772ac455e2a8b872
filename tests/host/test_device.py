"""The processor as a device: what it takes, where arrays lie, which threads work, and how a launch is interrupted."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from dforest.backends.host import HostDevice
from dforest.backends.host.kernels import Kernels
from dforest.engines.device import kernel_source
from dforest.engines.device.backend import DeviceArray
from dforest.errors import DeviceError


def run(code):
    """Run code in an interpreter of its own, which has no more of dforest than it asks for."""
    command = [sys.executable, "-c", "import helpers.core_alone\n" + textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_all_kernels_are_there():
    kernels = Kernels()
    assert [name for name in kernel_source.kernels() if not kernels.has(name)] == []
    assert not kernels.has("df_other")


def test_a_kernel_is_refused_what_it_cannot_take():
    device = HostDevice()
    means, most = device.array(np.array([[1.0, 3.0], [5.0, 5.0]])), device.empty((2,), np.int64)
    device.run("df_most", 1, means, 2, 2, 2, most)
    assert most.get().tolist() == [1, 0] and device.n_launches == 1
    with pytest.raises(TypeError, match="df_most: most is of type int64, not float64"):
        device.run("df_most", 1, means, 2, 2, 2, means)
    with pytest.raises(TypeError, match="df_most takes 5 arguments"):
        device.run("df_most", 1, means)
    with pytest.raises(TypeError, match="df_most: most is an array on a device, or None, not ndarray"):
        device.run("df_most", 1, means, 2, 2, 2, np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="n_items=2; the device 'this processor' allows 1 to 1"):
        device.run("df_most", 1, means, 2, 2, 2, most, n_items=2)


@pytest.mark.parametrize("parameters", [{"n_threads": 0}, {"n_items": -1}])
def test_numbers_below_one_are_refused(parameters):
    (name, number), = parameters.items()
    with pytest.raises(ValueError, match=f"{name}={number}; allowed are integers from 1"):
        HostDevice(**parameters)


def test_arrays_stay_where_they_are():
    device = HostDevice()
    given = np.arange(6.0).reshape(2, 3)
    array = device.array(given)
    assert isinstance(array, DeviceArray) and len(array) == 2
    assert (array.shape, array.dtype, array.nbytes) == ((2, 3), np.float64, 48)
    assert np.shares_memory(array.get(), given) and device.n_bytes_held == 48
    copied = device.array(given.T)
    assert not np.shares_memory(copied.get(), given) and np.array_equal(copied.get(), given.T)
    assert device.account.n_bytes_written == device.account.n_bytes_read == 0
    made = device.empty((2, 2), np.int32)
    made.fill(0)
    made.write(np.array([5, 7], np.int32), 1)
    assert made.get().tolist() == [[0, 5], [7, 0]] and np.shares_memory(made.get(), made.get())
    del array, copied, made
    assert device.n_bytes_held == 0 and device.n_bytes_most == 48 + 48 + 16


def test_what_an_array_is_not_written():
    device = HostDevice()
    array = device.zeros((4,), np.int64)
    with pytest.raises(TypeError, match="an array of float64 written to one of int64"):
        array.write(np.zeros(2))
    for n, first in ((5, 0), (2, 3), (1, -1)):
        with pytest.raises(ValueError, match=f"{n} entries written from entry {first} on to an array of shape"):
            array.write(np.zeros(n, np.int64), first)
    given = np.zeros(3)
    for change in (lambda array: array.write(np.ones(3)), lambda array: array.fill(1)):
        with pytest.raises(ValueError, match="read-only"):
            change(device.array(given))
    assert given.flags.writeable and not given.any()


def test_memory_that_is_not_there():
    with pytest.raises(DeviceError, match="this processor does not have enough memory left: Unable to allocate"):
        HostDevice().empty((1 << 50,), np.int64)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads in /proc")
def test_short_launches_wake_nobody():
    run("""
        import os
        import numpy as np
        from dforest.backends.host import HostDevice

        def n_threads():
            return len(os.listdir("/proc/self/task"))

        device, alone = HostDevice(4), n_threads()
        usual, device.kernels.time_limit = device.kernels.time_limit, 10**10  # other processes may have the core for a while
        means, most = device.array(np.ones((10**6, 2))), device.empty((10**6,), np.int64)
        for n in range(1, 50):
            device.run("df_most", n, means, 2, n, 1, most)
        assert n_threads() == alone
        device.kernels.time_limit = usual
        for _ in range(20):
            device.run("df_most", 100, means, 2, 10**6, 10**4, most)
        assert alone < n_threads() <= alone + 3
    """)


@pytest.mark.slow(after=1)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sends signals")
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_launch_is_interrupted(n_threads):
    """One that would take an hour."""
    run(f"""
        import os, signal, threading
        import numpy as np
        from dforest.backends.host import HostDevice

        device = HostDevice({n_threads})
        means, most = device.array(np.ones((1, 2))), device.empty((1,), np.int64)
        threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
        try:
            device.run("df_most", 10**12, means, 2, 1, 1, most)
        except KeyboardInterrupt:
            device.run("df_most", 1, means, 2, 1, 1, most)
            assert most.get()[0] == 0
        else:
            raise SystemExit("it came to its end")
    """)
