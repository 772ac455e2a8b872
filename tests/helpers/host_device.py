"""The kernels of devices compiled on their own, with any options: for sanitizers, and with groups of several items.

dforest has them compiled in, for groups of one item (`dforest.backends.host`). Here the C++ compiler of this machine compiles
them once more; a phase of a kernel then runs for one item of a group after another or, with `ITEMS_AS_THREADS`, at the same time.
"""

import ctypes
import subprocess
from pathlib import Path

import dforest
from dforest.backends.host import HostDevice
from dforest.backends.host.kernels import Kernels
from helpers.compiling import compiled

FILL = 0xA5  # in memory that is new, on which no kernel may count
ITEMS_AS_THREADS = ["-pthread", "-I", str(Path(__file__).parent), '-DDF_ITEMS="thread_items.hpp"']


def compile_kernels(options=()):
    """The path of a library of the kernels, compiled for this processor with some further options of g++.

    With -O1, g++ takes three times as long, and the kernels are no faster where tests use them.
    """
    top = Path(dforest.get_include())
    host = top / "backends" / "host"
    command = ["g++", "-std=c++17", "-O0", "-ffp-contract=off", "-fPIC", "-shared", "-I", host, *options, host / "entries.cpp"]
    name = "kernels_on_host.so"
    return compiled(command, lambda folder: subprocess.run([*command, "-I", top, "-o", folder / name], check=True)) / name


def load_kernels(library):
    """The kernels of a library that `compile_kernels` made: `dforest.backends.host.kernels.Kernels`."""
    library = ctypes.CDLL(str(library))
    return Kernels(*(ctypes.cast(library[name], ctypes.c_void_p).value for name in ("df_find_entry", "df_max_items")), FILL)


def strict_device(kernels=None, n_threads=1, n_items=1, is_cpu=True):
    """A `HostDevice` that hides no mistake: new memory is filled, groups have little of it, and every launch is shared.

    Parameters
    ----------
    kernels : Kernels, optional
        Others than those compiled with dforest.
    n_threads, n_items : int
        As for `HostDevice`.
    is_cpu : bool
        Whether it passes for a processor, which the sizes of the machinery depend on.
    """
    device = HostDevice(n_threads, kernels or Kernels(fill=FILL), n_items, FILL)
    device.is_cpu, device.local_bytes = is_cpu, 1 << 15
    device.kernels.time_limit = 0
    return device
