"""The processor as a device to work with: its memory and its kernels.

A `HostDevice` owns nothing but counts. Arrays that it makes own their memory; those it is given are used where they are.
"""

import os
from operator import index

import numpy as np

from dforest.backends.host.kernels import Kernels
from dforest.engines.device.backend import Device, to_write
from dforest.errors import DeviceError

_LOCAL_BYTES = 1 << 28  # there is one for each thread at work, however many groups there are
_GROUPS = 1024  # for each thread: between two of its groups a thread looks whether it is interrupted
_compiled_in = Kernels()


class HostArray:
    """An array in memory that NumPy knows: see `dforest.engines.device.backend.DeviceArray`.

    Parameters
    ----------
    array : ndarray
        C-contiguous; it is used as it is.
    account : Account
        Where its memory is entered.
    """

    def __init__(self, array, account):
        self._array, self._account = array, account
        self.shape, self.dtype, self.nbytes = array.shape, array.dtype, array.nbytes
        account.hold(self.nbytes)

    def __del__(self):
        self._account.hold(-self.nbytes)

    def __len__(self):
        return len(self._array)

    @property
    def address(self):
        return self._array.ctypes.data

    def get(self):
        """The NumPy array itself, not a copy."""
        return self._array

    def write(self, array, first=0):
        """Copy a NumPy array to where entry `first` of this array, seen as flat, and the next ones are.

        Raises
        ------
        TypeError
            If the array is of another type.
        ValueError
            If it does not fit, or if this array is one that the device was given and uses where it is.
        """
        array, _ = to_write(self, array, first)
        self._account.write(array.nbytes)
        self._array.reshape(-1)[first : first + array.size] = array.reshape(-1)

    def fill(self, byte):
        """Set all bytes to one."""
        self._array.reshape(-1).view(np.uint8)[:] = byte


class HostDevice(Device):
    """This processor, running the kernels of devices on threads of its own: `dforest.core.threads`.

    Kernels take arrays where they lie: `array` copies nothing if the array is C-contiguous, and `get` never does. So nobody may
    change an array while kernels may read it, and what `get` gives changes when kernels write there again.

    Parameters
    ----------
    n_threads : int, default=1
        Most threads at work on a launch, the calling one included. Short launches wake no others.
    kernels : Kernels, optional
        Others than those compiled with dforest.
    n_items : int, default=1
        Items of a group, unless a launch names another number. The kernels compiled with dforest have one.
    fill : int, optional
        A byte that new memory is filled with, so that who counts on zeros shows himself. None: it holds whatever it holds.

    Raises
    ------
    ValueError
        If a number is below 1.
    """

    n_items = None  # set for each device

    def __init__(self, n_threads=1, kernels=None, n_items=1, fill=None):
        for name, number in {"n_threads": n_threads, "n_items": n_items}.items():
            if index(number) < 1:
                raise ValueError(f"{name}={number}; allowed are integers from 1")
        self.kernels = kernels or _compiled_in
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        super().__init__(
            "this processor", is_cpu=True, n_units=n_threads, local_bytes=_LOCAL_BYTES, memory_bytes=memory_bytes,
            array_bytes=memory_bytes, max_items=self.kernels.max_items,
        )  # fmt: skip
        self.n_threads, self.n_items, self.n_groups = n_threads, n_items, _GROUPS * n_threads
        self.adds_64_bits = self.kernels.max_items == 1
        self._fill = fill

    def build(self, *headers):
        """Do nothing: the kernels have been built."""

    def array(self, array, account=None):
        """A NumPy array as `HostArray`; it is copied only if it is not C-contiguous."""
        seen = np.asarray(array, order="C").view()
        seen.flags.writeable = False
        return HostArray(seen, account or self.account)

    def empty(self, shape, dtype, account=None):
        """A `HostArray` of whatever the memory holds."""
        made = self._made(np.empty, shape, dtype, account)
        if self._fill is not None:
            made.fill(self._fill)
        return made

    def zeros(self, shape, dtype, account=None):
        """A `HostArray` of zeros."""
        return self._made(np.zeros, shape, dtype, account)

    def _made(self, make, shape, dtype, account):
        try:
            array = make(shape, dtype)
        except MemoryError as error:
            raise DeviceError(f"{self.name} does not have enough memory left: {error}") from None
        return HostArray(array, account or self.account)

    def takes(self, argument):
        return isinstance(argument, HostArray)

    def launch(self, kernel, n_groups, n_items, n_local, arguments):
        words = [a.address if isinstance(a, HostArray) else a or 0 for a in arguments]
        self.kernels.run(kernel, n_groups, n_items, n_local, words, self.n_threads)
