"""Tests of what is built for SYCL devices, of contexts of their own, and of devices that are refused."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.device_rows import ROWS, most

from dforest.backends.sycl.device import SyclDevice, _explained
from dforest.errors import DeviceError


def test_memory_of_another_context(device, parts):
    part = parts[0]
    with pytest.raises(ValueError, match="df_most: means lies in the memory of another context"):
        device.run("df_most", 1, part.array(ROWS), 3, 1000, 1000, device.empty(1000, np.int64))


@pytest.mark.slow
def test_parts_of_a_device_at_once(device, parts):
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(lambda used: [most(used, ROWS[i:]) for i in range(50)], [*parts, device]):
            for i, places in enumerate(found):
                np.testing.assert_array_equal(places, ROWS[i:].argmax(axis=1))


@pytest.mark.slow
def test_devices_without_atomics_of_64_bits_are_built_for(device, no_atomic64):
    np.testing.assert_array_equal(most(device), ROWS.argmax(axis=1))


class Pretended:
    """A queue whose device lacks something."""

    def __init__(self, queue, **lacks):
        self.sycl_device = Pretended.Device(queue.sycl_device, lacks)
        self.addressof_ref = queue.addressof_ref

    class Device:
        def __init__(self, device, lacks):
            self.device, self.lacks = device, lacks

        def __getattr__(self, name):
            return self.lacks[name] if name in self.lacks else getattr(self.device, name)


def test_a_device_without_float64_is_refused(device):
    with pytest.raises(DeviceError, match="the device 'Slow thing' does not support float64"):
        SyclDevice(Pretended(device.queue, has_aspect_fp64=False, name=" Slow thing"))


def test_what_the_compiler_says_is_told(device, monkeypatch):
    from dforest.engines.device import kernel_source

    lost = SyclDevice(device.queue)
    monkeypatch.setattr(kernel_source, "main", lambda: "#include <no_such_header>\n")
    with pytest.raises(DeviceError, match=r"(?s)could not be built.*C\+\+'s header <no_such_header> is missing.*apt-get install"):
        most(lost)
    monkeypatch.setattr(kernel_source, "main", lambda: "this is no code\n")
    with pytest.raises(DeviceError, match=r"(?s)could not be built for the device.*error:"):
        most(lost)
    monkeypatch.undo()
    np.testing.assert_array_equal(most(lost), ROWS.argmax(axis=1))
    assert lost.build_seconds > 0


def test_only_headers_of_the_standard_library_are_missed():
    other = DeviceError("error: unknown type name 'algorithm'")
    assert _explained(other) == str(other)
