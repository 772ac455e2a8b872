"""A SYCL device to work with: its memory and its kernels.

A `SyclDevice` owns a queue and the kernels built for it, which are made when they are first needed and stay for the life of the
process, as contexts of their own would share no memory.
"""

import re
from time import perf_counter

from dforest.engines.device import backend, kernel_source
from dforest.errors import DeviceError

_OPTIONS = ("-ffp-contract=off",)
_ITEMS = 128  # of a group, on other devices than CPUs
_NO_HEADER = re.compile(r"'([a-z_]+)' file not found")


class SyclDevice(backend.Device):
    """A SYCL device. Tests may set "no_atomic64" in `TUNING`: build as for devices without atomic operations on 64 bits.

    Parameters
    ----------
    queue : dpctl.SyclQueue
        On the device; what it does is waited for.

    Attributes
    ----------
    queue : dpctl.SyclQueue

    Raises
    ------
    DeviceError
        If the device lacks what the kernels need.
    """

    def __init__(self, queue):
        from dforest.backends.sycl.runtime import can_build

        device = queue.sycl_device
        super().__init__(
            device.name.strip(),
            is_cpu=bool(device.is_cpu),
            n_units=int(device.max_compute_units),
            local_bytes=int(device.local_mem_size),
            memory_bytes=int(device.global_mem_size),
            array_bytes=int(device.max_mem_alloc_size),
            max_items=int(device.max_work_group_size),
        )
        self.queue = queue
        self._has_atomic64 = bool(device.has_aspect_atomic64)
        self._bundles = {}  # by the compiler's options
        if not device.has_aspect_fp64:
            raise DeviceError(f"the device {self.name!r} does not support float64, which dforest's sums need")
        if not can_build(queue):
            raise DeviceError(f"kernels can't be built for the device {self.name!r}")

    @property
    def n_items(self):
        return backend.TUNING.get("n_items") or (1 if self.is_cpu else min(_ITEMS, self.max_items))

    def empty(self, shape, dtype, account=None):
        from dforest.backends.sycl.runtime import DeviceArray

        return DeviceArray(self.queue, shape, dtype, account or self.account)

    def takes(self, argument):
        from dforest.backends.sycl.runtime import DeviceArray

        if not isinstance(argument, DeviceArray):
            return False
        if argument.queue.sycl_context != self.queue.sycl_context:
            raise ValueError("lies in the memory of another context")
        return True

    def check_usable(self):
        from dforest.backends.sycl.runtime import check_process

        check_process()

    def launch(self, kernel, n_groups, n_items, n_local, arguments):
        self.build().run(kernel, n_groups, n_items, n_local, arguments)

    def build(self, *headers):
        """Build the kernels, if they are not built yet, and all of them at once: `Bundle`."""
        options = _OPTIONS if self.is_cpu else (*_OPTIONS, "-DDF_LARGE_GROUPS")  # leaves out what groups of one item do
        if not self._has_atomic64 or backend.TUNING.get("no_atomic64"):
            options += ("-DDF_NO_ATOMIC64",)
        bundle = self._bundles.get(options)
        if bundle is None:
            with self.lock:
                bundle = self._bundles.get(options)
                if bundle is None:
                    bundle = self._bundles[options] = self._build(options)
        return bundle

    def _build(self, options):
        from dforest.backends.sycl.runtime import Bundle

        start = perf_counter()
        try:
            return Bundle(self.queue, kernel_source.main(), kernel_source.files(), list(options))
        except DeviceError as error:
            raise DeviceError(f"the kernels could not be built for the device {self.name!r}: {_explained(error)}") from None
        finally:
            self.build_seconds += perf_counter() - start


def _explained(error):
    """What a compiler says, and what to do if it has not found C++'s headers."""
    missing = _NO_HEADER.search(str(error))
    if missing is None:
        return str(error)
    return (
        f"C++'s header <{missing[1]}> is missing: the compiler of kernels needs the headers of GCC's C++ standard library, "
        f"which apt-get install g++ brings on Debian and Ubuntu ({error})"
    )
