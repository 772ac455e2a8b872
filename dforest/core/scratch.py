"""Memory for a while."""

import math
import mmap

import numpy as np

# Pages of this process alone where the system knows others.
_FLAGS = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANON} if hasattr(mmap, "MAP_PRIVATE") else {}


def scratch(shape, dtype):
    """An array of zeros whose memory goes back to the system with it: what malloc gets back it may keep for itself."""
    return np.frombuffer(mmap.mmap(-1, math.prod(shape) * np.dtype(dtype).itemsize, **_FLAGS), dtype).reshape(shape)
