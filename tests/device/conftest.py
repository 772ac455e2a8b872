"""A device for the tests: the processor, by Intel's OpenCL runtime, if it is installed.

The environment variable DFOREST_TEST_FILTER names another device, such as "cuda" or "level_zero:gpu:0"; tests of other kinds of
devices are skipped then. If DFOREST_TEST_DEVICE is "required", tests fail without a device.
"""

import os

import pytest
from helpers.opencl import offer_processor

from dforest.backends import find_device
from dforest.engines.device import backend
from dforest.errors import DeviceError
from dforest.splitter import PythonSplitter, Test

offer_processor()


def is_cuda(device):
    """Whether a device is one of CUDA's; else it is one of SYCL's."""
    return hasattr(device, "number")


@pytest.fixture(scope="session")
def device():
    """A device; without one tests are skipped, or fail."""
    try:
        return find_device(os.environ.get("DFOREST_TEST_FILTER", "opencl:cpu:0"))
    except DeviceError as error:
        if os.environ.get("DFOREST_TEST_DEVICE") == "required":
            raise
        pytest.skip(str(error))


@pytest.fixture
def tuning(monkeypatch):
    """Settings of the machinery that this test may change."""
    tuning = {}
    monkeypatch.setattr(backend, "TUNING", tuning)
    return tuning


@pytest.fixture
def where(device):
    """A name of the device."""
    return f"cuda:{device.number}" if is_cuda(device) else device.queue.sycl_device.filter_string


@pytest.fixture
def another(device):
    """The same device again, with kernels of its own."""
    return type(device)(device.number if is_cuda(device) else device.queue)


@pytest.fixture(scope="session")
def part_queues(device):
    """Queues on two parts of a SYCL device, each in a context of its own."""
    if is_cuda(device):
        pytest.skip("GPUs of CUDA have no parts")
    try:
        parts = device.queue.sycl_device.create_sub_devices(partition=[1, 1])
    except Exception as error:  # dpctl's own, of a device that has no parts
        pytest.skip(f"the device can't be parted: {error}")
    return [type(device.queue)(part) for part in parts]


@pytest.fixture(scope="session")
def parts(device, part_queues):
    """Two parts of the device, as devices."""
    return [type(device)(queue) for queue in part_queues]


@pytest.fixture
def no_atomic64(device, tuning):
    """Kernels are built as for devices without atomic operations on 64 bits."""
    if is_cuda(device):
        pytest.skip("GPUs of CUDA have such operations")
    tuning["no_atomic64"] = True


class OwnTest(PythonSplitter):
    def find_split(self, node):
        x = node.values(0)
        return Test([(x.min() + x.max()) / 2]) if x.min() < x.max() else None

    def goes_left(self, payload, X):
        return X[:, 0] <= payload[0]


@pytest.fixture
def own_test():
    """A splitter with tests of its own."""
    return OwnTest()
