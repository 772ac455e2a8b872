"""Large copies between the memory of the host and that of a GPU.

A GPU copies from and to *pinned* memory of the host, which stays where it is, several times as fast as from and to an array of
NumPy's. So arrays go through pinned memory in parts, by several threads: while the GPU copies one part, others are made ready.
A `Copier` owns the pinned memory, which stays until the process ends.
"""

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np

from dforest.backends.cuda.driver import call, check_process

PART_BYTES = 1 << 22
LARGE_BYTES = 1 << 23  # of copies that are worth the threads
_THREADS = 4


class _Part:
    """Pinned memory for a part, and the event that a copy from or to it ends with."""

    def __init__(self):
        self.address = int(call("cuMemHostAlloc", PART_BYTES, 0))
        self.bytes = np.frombuffer((ctypes.c_uint8 * PART_BYTES).from_address(self.address), np.uint8)
        self.event = call("cuEventCreate", 0)

    def wait(self):
        call("cuEventSynchronize", self.event)


class Copier:
    """Copies for a device, in the order of its stream.

    Parameters
    ----------
    device : CudaDevice
    """

    def __init__(self, device):
        self._device, self._lock, self._parts = device, Lock(), None

    def upload(self, array, address):
        """Copy a NumPy array, C-contiguous, to an address of the GPU. The array may change afterwards."""

        def copy(part, first, own):
            part.wait()
            part.bytes[: len(own)] = own
            call("cuMemcpyHtoDAsync", address + first, part.address, len(own), self._device.stream)
            call("cuEventRecord", part.event, self._device.stream)

        self._by_parts(array, copy)

    def download(self, address, array):
        """Copy from an address of the GPU to a NumPy array, C-contiguous, when all work before has been done."""

        def copy(part, first, own):
            call("cuMemcpyDtoHAsync", part.address, address + first, len(own), self._device.stream)
            call("cuEventRecord", part.event, self._device.stream)
            part.wait()
            own[:] = part.bytes[: len(own)]

        self._by_parts(array, copy)

    def _by_parts(self, array, copy):
        """Call `copy(part, first, bytes of the array from there on)` for all parts of an array, by some threads."""
        whole = array.reshape(-1).view(np.uint8)
        what = "a copy to the device or from it"

        def work(number):
            with self._device.at_work(what):
                for first in range(number * PART_BYTES, len(whole), len(self._parts) * PART_BYTES):
                    copy(self._parts[number], first, whole[first : first + PART_BYTES])

        check_process()
        with self._lock:
            if self._parts is None:
                with self._device.at_work(what):
                    self._parts = [_Part() for _ in range(min(_THREADS, len(os.sched_getaffinity(0))))]
            with ThreadPoolExecutor(len(self._parts)) as pool:
                list(pool.map(work, range(len(self._parts))))
