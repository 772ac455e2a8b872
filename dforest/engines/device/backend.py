"""What a backend is: devices, their memory, and kernels that are built and run there.

An *account* counts memory. The account of a fit is part of the device's, so that several fits may run on one device at once.

A backend is a folder of `dforest.backends`, with a subclass of `Device` and a class of arrays that has what `DeviceArray` lists.
`dforest.backends.host` is the smallest one. What is in `dforest.engines.device` is handed a device, asks no more of it than what
is listed here, and imports no backend.
"""

from abc import ABC, abstractmethod
from operator import index
from threading import Lock, RLock
from typing import Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np

from dforest.engines.device import kernel_source

# Sizes of the machinery, set by tests: see `Tuning`; "n_items": items of a group. A backend may know more of them.
TUNING = {}


class Account:
    """How much memory is held, and how much was copied.

    Parameters
    ----------
    whole : Account, optional
        Which this is a part of: what is entered here is entered there too.

    Attributes
    ----------
    n_bytes, n_bytes_most : int
        Held now, and the most there was.
    n_bytes_written, n_bytes_read : int
        Copied to the device so far, and from it.
    """

    def __init__(self, whole=None):
        self.whole = whole
        self._lock = RLock()  # memory may be given back, by whoever collects garbage, while this thread holds it
        self.n_bytes = self.n_bytes_most = self.n_bytes_written = self.n_bytes_read = 0

    def hold(self, n_bytes):
        """Enter memory that was taken, or, if below 0, given back."""
        with self._lock:
            self.n_bytes += n_bytes
            self.n_bytes_most = max(self.n_bytes_most, self.n_bytes)
        if self.whole is not None:
            self.whole.hold(n_bytes)

    def write(self, n_bytes):
        """Enter a copy to the device."""
        with self._lock:
            self.n_bytes_written += n_bytes
        if self.whole is not None:
            self.whole.write(n_bytes)

    def read(self, n_bytes):
        """Enter a copy from the device."""
        with self._lock:
            self.n_bytes_read += n_bytes
        if self.whole is not None:
            self.whole.read(n_bytes)


@runtime_checkable
class DeviceArray(Protocol):
    """An array in a device's memory, which it owns: C-contiguous, and entered in an `Account` while it lives.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    nbytes : int
    """

    shape: tuple
    dtype: np.dtype
    nbytes: int

    def __len__(self):
        """The first number of the shape."""

    def get(self):
        """A NumPy array: a copy, or the memory itself where it is the host's, which changes when kernels write there again."""

    def write(self, array, first=0):
        """Copy a NumPy array, which may change afterwards, to where entry `first` of this array, seen as flat, and the next are.

        Raises
        ------
        TypeError
            If the array is of another type.
        ValueError
            If it does not fit.
        """

    def fill(self, byte):
        """Set all bytes to one."""


def shape_of(shape):
    """A shape, or a length, as a tuple of ints. Raise ValueError if one is below 0."""
    found = tuple(int(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    if min(found, default=0) < 0:
        raise ValueError(f"shape={found}; allowed are numbers from 0")
    return found


def to_write(there, array, first):
    """A NumPy array, C-contiguous, that fits a `DeviceArray` from an entry on, and the byte of that entry: see its `write`."""
    array = np.asarray(array, order="C")
    if array.dtype != there.dtype:
        raise TypeError(f"an array of {array.dtype} written to one of {there.dtype}")
    start = first * there.dtype.itemsize
    if not 0 <= start <= there.nbytes - array.nbytes:
        raise ValueError(f"{array.size} entries written from entry {first} on to an array of shape {there.shape}")
    return array, start


class Device(ABC):
    """A device to work with: its memory and its kernels. Any number of threads may use one.

    Parameters
    ----------
    name : str
    is_cpu : bool
        Whether an item does best alone in its group.
    n_units : int
        Compute units, each of which runs a group.
    local_bytes : int
        Of the memory that a group shares.
    memory_bytes : int
        Of the global memory.
    array_bytes : int
        Of the largest array.
    max_items : int
        Of a group.

    Attributes
    ----------
    account : Account
        How much memory is held.
    n_launches : int
        Kernels run so far.
    build_seconds : float
        That building kernels took.
    lock : threading.Lock
        Of the counters and copies.
    n_groups : int
        Most groups of a launch: enough for all units to have something to do until its end. They take turns at longer lists.
    adds_64_bits : bool
        Whether kernels add up words of 64 bits in histograms, not limbs of 32: those for groups of one item do.
    copies : weakref.WeakKeyDictionary
        Of forests, by `PackedForest`: see `dforest.engines.device.predictor`.
    """

    adds_64_bits = False

    def __init__(self, name, *, is_cpu, n_units, local_bytes, memory_bytes, array_bytes, max_items):
        self.name, self.is_cpu, self.n_units, self.max_items = name, is_cpu, n_units, max_items
        self.local_bytes, self.memory_bytes, self.array_bytes = local_bytes, memory_bytes, array_bytes
        self.n_groups = 64 * n_units
        self.account = Account()
        self.n_launches = 0
        self.build_seconds = 0.0
        self.lock = Lock()
        self.copies = WeakKeyDictionary()

    # What a backend says.

    @property
    @abstractmethod
    def n_items(self):
        """Items of a group, if `run` is not told."""

    @abstractmethod
    def build(self, *headers):
        """Build the kernels of `kernel_source`, or those that some headers declare, if they are not built yet.

        Kernels that are run are built if need be; this is for those who know that they will run many.

        Raises
        ------
        DeviceError
            With what the compiler says.
        """

    @abstractmethod
    def empty(self, shape, dtype, account=None):
        """A `DeviceArray` of whatever the memory holds, entered in the device's account or in a part of it.

        Raises
        ------
        DeviceError
            If there is not that much memory.
        """

    @abstractmethod
    def takes(self, argument):
        """Whether an argument of a kernel is an array of this backend. Raise ValueError if kernels here can't reach it."""

    @abstractmethod
    def launch(self, kernel, n_groups, n_items, n_local, arguments):
        """Run a kernel, the arguments of which have been checked; see `run`."""

    def check_usable(self):
        """Raise DeviceError where this process can't use the device, after a fork, say. By default it can."""
        return None

    def keep_memory(self, is_kept):
        """Say that somebody begins to work here, who soon takes memory again that was given back; or, with False, ends to.

        By default, nothing follows from it.
        """
        return None

    # What follows for every backend.

    @property
    def n_bytes_held(self):
        """Bytes of memory that arrays of this device take."""
        return self.account.n_bytes

    @property
    def n_bytes_most(self):
        """The most bytes of memory that arrays of this device took at a time."""
        return self.account.n_bytes_most

    def array(self, array, account=None):
        """A NumPy array as `DeviceArray`, entered in the device's account or in a part of it.

        It is a copy, or, where the device's memory is the host's, the array itself: nobody may change it while kernels read it.
        """
        array = np.asarray(array, order="C")
        made = self.empty(array.shape, array.dtype, account)
        made.write(array)
        return made

    def zeros(self, shape, dtype, account=None):
        """A `DeviceArray` of zeros."""
        made = self.empty(shape, dtype, account)
        made.fill(0)
        return made

    def run(self, kernel, n_groups, *arguments, n_items=None, n_local=8):
        """Run a kernel, after all that was given to the device before; `DeviceArray.get` waits for its end.

        Parameters
        ----------
        kernel : str
        n_groups : int
            0: nothing is done.
        *arguments : DeviceArray, None or int
            As the kernel declares them; None: a null pointer.
        n_items : int, optional
            Items of a group.
        n_local : int, default=8
            Bytes of memory that the items of a group share.

        Raises
        ------
        TypeError
            If there are more or fewer arguments than the kernel has, or one is of another type.
        ValueError
            If there is no such kernel, if memory lies where the kernel can't reach it, or if groups are larger than the device
            allows.
        DeviceError
            If the kernel could not be built, or fails; a backend that does not wait for kernels tells of that later.
        """
        self.check_usable()
        n_items = self.n_items if n_items is None else index(n_items)
        n_groups, n_local = index(n_groups), max(8, index(n_local))
        arguments = self._checked(kernel, arguments)
        if not 1 <= n_items <= self.max_items:
            raise ValueError(f"{kernel}: n_items={n_items}; the device {self.name!r} allows 1 to {self.max_items}")
        if n_local > self.local_bytes:
            raise ValueError(f"{kernel}: n_local={n_local}; the device {self.name!r} allows up to {self.local_bytes}")
        if n_groups < 0:
            raise ValueError(f"{kernel}: n_groups={n_groups}; allowed are numbers from 0")
        if n_groups == 0:
            return
        with self.lock:
            self.n_launches += 1
        self.launch(kernel, n_groups, n_items, n_local, arguments)

    def _checked(self, kernel, arguments):
        """The arguments of a kernel, which fit what it declares."""
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
                try:
                    is_array = self.takes(argument)
                except ValueError as error:
                    raise ValueError(f"{what} {error}") from None
                if not is_array:
                    raise TypeError(f"{what} is an array on a device, or None, not {type(argument).__name__}")
                if parameter.dtype is not None and parameter.dtype != argument.dtype:  # NumPy: float64 == None
                    raise TypeError(f"{what} is of type {parameter.dtype}, not {argument.dtype}")
            checked.append(argument)
        return checked
