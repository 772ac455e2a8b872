"""Memory for a while."""

import contextlib
import errno
import math
import mmap

import numpy as np

# Pages of this process alone where the system knows others.
_FLAGS = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANON} if hasattr(mmap, "MAP_PRIVATE") else {}


def scratch(shape, dtype, huge=False):
    """An array of zeros whose memory goes back to the system with it: what malloc gets back it may keep for itself.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype
    huge : bool, default=False
        Whether large pages are asked for, where the system has such: for memory that is read here and there.
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        memory = mmap.mmap(-1, n_bytes, **_FLAGS)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise MemoryError(f"{n_bytes} bytes for an array of shape {shape} and type {np.dtype(dtype)}") from None
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # of a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)
