"""The kernels of `dforest.engines.device`, run by this processor without SYCL, for tests and for sanitizers.

A `HostDevice` stands in for `dforest.sycl.devices.Device`. It compiles the kernels with the C++ compiler of this machine;
a phase of a kernel runs for one item after another, so that no two items run at once.
"""

import ctypes
import subprocess
from pathlib import Path

import numpy as np

import dforest
from dforest.engines.device.recorder import Account

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
    """An array of a `HostDevice`."""

    def __init__(self, array, account):
        self._array, self._account = array, account
        account.hold(array.nbytes)

    def __del__(self):
        self._account.hold(-self.nbytes)

    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    nbytes = property(lambda self: self._array.nbytes)

    def get(self):
        """A copy as a NumPy array."""
        self._account.read(self.nbytes)
        return self._array.copy()

    def write(self, array, first=0):
        """Copy an array into this one, from an entry on."""
        self._account.write(array.nbytes)
        self._array[first : first + len(array)] = array


class HostDevice:
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

    name = "this processor"
    n_units = 2
    memory_bytes = array_bytes = 1 << 32

    def __init__(self, library, n_items=1, is_cpu=True, local_bytes=1 << 15):
        self._library = ctypes.CDLL(str(library))
        self.n_items, self.is_cpu, self.local_bytes = n_items, is_cpu, local_bytes
        self.n_launches = 0
        self.account = Account()

    def build(self):
        """Do nothing: the kernels have been built."""

    def array(self, array, account=None):
        """A copy of a NumPy array."""
        array = np.array(array, order="C", ndmin=1)
        made = self.empty(array.shape, array.dtype, account)
        made.write(array)
        return made

    def empty(self, shape, dtype, account=None):
        """An array of any contents."""
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[:] = 0xA5  # no kernel may count on zeros
        return HostArray(array, account or self.account)

    def zeros(self, shape, dtype, account=None):
        """An array of zeros."""
        return HostArray(np.zeros(shape, dtype), account or self.account)

    def run(self, kernel, n_groups, *arguments, n_items=None, n_local=8):
        """Run a kernel on n_groups groups of n_items items, with n_local bytes of memory for each group."""
        given = []
        for argument in arguments:
            if argument is None or isinstance(argument, HostArray):
                given.append(ctypes.c_void_p(None if argument is None else argument._array.ctypes.data))
            else:
                given.append(ctypes.c_uint64(int(argument) % 2**64))
        local = np.full(-(-n_local // 8), -1)
        ctypes.c_int64.in_dll(self._library, "df_host_groups").value = n_groups
        ctypes.c_int64.in_dll(self._library, "df_host_items").value = n_items or self.n_items
        ctypes.c_void_p.in_dll(self._library, "df_host_local").value = local.ctypes.data
        getattr(self._library, kernel)(*given, ctypes.c_int(0))
        self.n_launches += 1
