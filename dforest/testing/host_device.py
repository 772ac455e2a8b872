"""The kernels of devices, run by this processor without a runtime: what checks them, and what a sanitizer can look at.

`HostDevice` is the smallest backend (`dforest.engines.device.backend`). It compiles the kernels with the C++ compiler of this
machine; a phase of a kernel runs for one item after another, so nothing runs at the same time.
"""

import ctypes
import subprocess
from pathlib import Path

import numpy as np

import dforest
from dforest.engines.device.backend import Device

_MAIN = """
#define DF_ON_HOST
#include <stdint.h>
int64_t df_host_groups, df_host_items;
char *df_host_local;
#include "kernels.cpp"
"""


def compile_kernels(folder, options=()):
    """Compile the kernels for this processor.

    Parameters
    ----------
    folder : path-like
        Where the library goes.
    options : sequence of str
        Further options of g++.

    Returns
    -------
    Path
        The path of the library.
    """
    source, library = Path(folder) / "kernels_on_host.cpp", Path(folder) / "kernels_on_host.so"
    source.write_text(_MAIN)
    kernels = Path(dforest.__file__).parent / "engines" / "device" / "kernels"
    subprocess.run(
        ["g++", "-std=c++17", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-I", kernels, "-I", dforest.get_include(),
         *options, "-o", library, source],
        check=True,
    )  # fmt: skip
    return library


class HostArray:
    """An array of a `HostDevice`: see `dforest.engines.device.backend.DeviceArray`."""

    def __init__(self, array, account):
        self._array, self._account = array, account
        account.hold(array.nbytes)

    def __del__(self):
        self._account.hold(-self.nbytes)

    def __len__(self):
        return len(self._array)

    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    nbytes = property(lambda self: self._array.nbytes)
    address = property(lambda self: self._array.ctypes.data)

    def get(self):
        """A copy as a NumPy array."""
        self._account.read(self.nbytes)
        return self._array.copy()

    def write(self, array, first=0):
        """Copy a NumPy array to where entry `first` of this array, seen as flat, and the next ones are."""
        array = np.asarray(array, order="C")
        if array.dtype != self.dtype:
            raise TypeError(f"an array of {array.dtype} written to one of {self.dtype}")
        if first > self._array.size or array.size > self._array.size - first:
            raise ValueError(f"{array.size} entries written from entry {first} on to an array of shape {self.shape}")
        self._account.write(array.nbytes)
        self._array.reshape(-1)[first : first + array.size] = array.reshape(-1)

    def fill(self, byte):
        """Set all bytes to one."""
        self._array.reshape(-1).view(np.uint8)[:] = byte


class HostDevice(Device):
    """A device that runs kernels on this processor.

    Parameters
    ----------
    library : path-like
        A library that `compile_kernels` made.
    n_items : int
        Number of items of a group, unless a run names another.
    is_cpu : bool
        Whether it passes for a processor, which the sizes of the machinery depend on.
    local_bytes : int
        Memory of a group.
    """

    n_items = None  # set for each device

    def __init__(self, library, n_items=1, is_cpu=True, local_bytes=1 << 15):
        super().__init__(
            "this processor", is_cpu=is_cpu, n_units=2, local_bytes=local_bytes, memory_bytes=1 << 32, array_bytes=1 << 32,
            most_items=1 << 10,
        )  # fmt: skip
        self._library = ctypes.CDLL(str(library))
        self.n_items = n_items

    def build(self):
        """Do nothing: the kernels have been built."""

    def empty(self, shape, dtype, account=None):
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[:] = 0xA5  # no kernel may count on zeros
        return HostArray(array, account or self.account)

    def takes(self, argument):
        return isinstance(argument, HostArray)

    def launch(self, kernel, n_groups, n_items, n_local, arguments):
        given = []
        for argument in arguments:
            if argument is None or self.takes(argument):
                given.append(ctypes.c_void_p(None if argument is None else argument.address))
            else:
                given.append(ctypes.c_int64(argument))
        local = np.full(-(-n_local // 8), -1)
        ctypes.c_int64.in_dll(self._library, "df_host_groups").value = n_groups
        ctypes.c_int64.in_dll(self._library, "df_host_items").value = n_items
        ctypes.c_void_p.in_dll(self._library, "df_host_local").value = local.ctypes.data
        getattr(self._library, kernel)(*given, ctypes.c_int(0))
