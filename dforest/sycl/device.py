"""A SYCL device to work with: its memory and its kernels.

Words: a kernel is run by *groups* of *items*; see ``kernels/group.hpp``.

A `Device` owns a queue and the kernels built for it, which are made when they are first needed and stay for the life of the
process, as contexts of their own would share no memory. Any number of threads may use one.
"""

import re
from operator import index
from threading import Lock
from time import perf_counter
from weakref import WeakKeyDictionary

import numpy as np

from dforest.engines.device import kernel_source
from dforest.engines.device.recorder import Account
from dforest.errors import DeviceError

# Set by tests: "no_atomic64": build as for devices without atomic operations on 64 bits; "n_items": of a group.
TUNING = {}

_OPTIONS = ("-ffp-contract=off",)
_ITEMS = 128  # of a group, on other devices than CPUs
_NO_HEADER = re.compile(r"'([a-z_]+)' file not found")


class Device:
    """A SYCL device.

    Parameters
    ----------
    queue : dpctl.SyclQueue
        On the device; what it does is waited for.

    Attributes
    ----------
    queue : dpctl.SyclQueue
    name : str
    is_cpu : bool
    n_units : int
        Compute units.
    n_items : int
        Work-items of a group, if `run` is not told.
    local_bytes : int
        Of the memory that a group shares.
    memory_bytes : int
        Of the global memory.
    array_bytes : int
        Of the largest array.
    account : Account
        How much of it is held.
    n_launches : int
        Kernels run so far.
    build_seconds : float
        That building kernels took.

    Raises
    ------
    DeviceError
        If the device lacks what the kernels need.
    """

    def __init__(self, queue):
        from dforest.sycl.runtime import can_build

        device = queue.sycl_device
        self.queue = queue
        self.name = device.name.strip()
        self.is_cpu = bool(device.is_cpu)
        self.n_units = int(device.max_compute_units)
        self.local_bytes = int(device.local_mem_size)
        self.memory_bytes = int(device.global_mem_size)
        self.array_bytes = int(device.max_mem_alloc_size)
        self.account = Account()
        self.n_launches = 0
        self.build_seconds = 0.0
        self.copies = WeakKeyDictionary()  # of forests, by `PackedForest`: kept by dforest.engines.device.predictor
        self.lock = Lock()  # of the counters, bundles and copies
        self._most_items = int(device.max_work_group_size)
        self._has_atomic64 = bool(device.has_aspect_atomic64)
        self._bundles = {}
        if not device.has_aspect_fp64:
            raise DeviceError(f"the device {self.name!r} has no float64, without which sums would be other numbers")
        if not can_build(queue):
            raise DeviceError(f"kernels can't be built for the device {self.name!r}")

    @property
    def n_items(self):
        return TUNING.get("n_items") or (1 if self.is_cpu else min(_ITEMS, self._most_items))

    @property
    def n_bytes_held(self):
        """Bytes of memory that arrays of this device take."""
        return self.account.n_bytes

    @property
    def n_bytes_most(self):
        """The most there were at a time."""
        return self.account.n_bytes_most

    def array(self, array, account=None):
        """A copy of a NumPy array on the device: `DeviceArray`; account: a part of the device's, where it is entered."""
        array = np.asarray(array, order="C")
        made = self.empty(array.shape, array.dtype, account)
        made.write(array)
        return made

    def empty(self, shape, dtype, account=None):
        """A `DeviceArray` of whatever the memory holds."""
        from dforest.sycl.runtime import DeviceArray

        return DeviceArray(self.queue, shape, dtype, account or self.account)

    def zeros(self, shape, dtype, account=None):
        """A `DeviceArray` of zeros."""
        made = self.empty(shape, dtype, account)
        made.fill(0)
        return made

    def run(self, kernel, n_groups, *arguments, n_items=None, n_local=8):
        """Run a kernel and wait for its end.

        Parameters
        ----------
        kernel : str
        n_groups : int
            0: nothing is done.
        *arguments : DeviceArray, None or int
            As the kernel declares them; None: a null pointer.
        n_items : int, optional
            Work-items of a group.
        n_local : int, default=8
            Bytes of memory that the items of a group share.

        Raises
        ------
        TypeError
            If there are more or fewer arguments than the kernel has, or one is of another type.
        ValueError
            If there is no such kernel, if memory lies in another context, or if groups are larger than the device allows.
        DeviceError
            If the kernel fails, or could not be built.
        """
        from dforest.sycl.runtime import check_process

        check_process()
        n_items = self.n_items if n_items is None else index(n_items)
        n_groups, n_local = index(n_groups), max(8, index(n_local))
        arguments = self._check(kernel, arguments)
        if not 1 <= n_items <= self._most_items:
            raise ValueError(f"{kernel}: n_items={n_items}; the device {self.name!r} allows 1 to {self._most_items}")
        if n_local > self.local_bytes:
            raise ValueError(f"{kernel}: n_local={n_local}; the device {self.name!r} allows up to {self.local_bytes}")
        if n_groups < 0:
            raise ValueError(f"{kernel}: n_groups={n_groups}; allowed are numbers from 0")
        bundle = self.build()
        if n_groups == 0:
            return
        with self.lock:
            self.n_launches += 1
        bundle.run(kernel, n_groups, n_items, n_local, arguments)

    def _check(self, kernel, arguments):
        from dforest.sycl.runtime import DeviceArray

        parameters = kernel_source.kernels().get(kernel)
        if parameters is None:
            raise ValueError(f"there is no kernel {kernel!r}; there are {', '.join(kernel_source.kernels())}")
        if len(arguments) != len(parameters):
            names = ", ".join(parameter.name for parameter in parameters)
            raise TypeError(f"{kernel} takes {len(parameters)} arguments ({names}), not {len(arguments)}")
        checked = []
        for parameter, argument in zip(parameters, arguments, strict=True):
            what = f"{kernel}: {parameter.name}"
            if not parameter.is_pointer:
                try:
                    argument = index(argument)
                except TypeError:
                    raise TypeError(f"{what} is an integer, not {type(argument).__name__}") from None
                if not -(2**63) <= argument < 2**63:
                    raise ValueError(f"{what}={argument}; allowed are integers of 64 bits")
            elif argument is not None:
                if not isinstance(argument, DeviceArray):
                    raise TypeError(f"{what} is an array on a device, or None, not {type(argument).__name__}")
                if parameter.dtype is not None and parameter.dtype != argument.dtype:  # NumPy: float64 == None
                    raise TypeError(f"{what} is of type {parameter.dtype}, not {argument.dtype}")
                if argument.queue.sycl_context != self.queue.sycl_context:
                    raise ValueError(f"{what} lies in the memory of another context")
            checked.append(argument)
        return checked

    def build(self):
        """Build the kernels, if they are not built yet: `Bundle`."""
        options = _OPTIONS if self.is_cpu else (*_OPTIONS, "-DDF_LARGE_GROUPS")  # leaves out what groups of one item do
        if not self._has_atomic64 or TUNING.get("no_atomic64"):
            options += ("-DDF_NO_ATOMIC64",)
        bundle = self._bundles.get(options)
        if bundle is None:
            with self.lock:
                bundle = self._bundles.get(options)
                if bundle is None:
                    bundle = self._bundles[options] = self._build(options)
        return bundle

    def _build(self, options):
        from dforest.sycl.runtime import Bundle

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
