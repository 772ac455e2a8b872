"""Arrays of other libraries: their strides in bytes, as interfaces describe them, and which library an array is of."""

from importlib import import_module


def contiguous(shape, itemsize):
    """Strides of C-contiguous arrays."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def from_lowest(shape, strides, itemsize):
    """Where an array's first entry is, counted in bytes from its lowest address on, and how many bytes the array spans."""
    ends = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    before = -sum(end for end in ends if end < 0)
    return before, before + sum(end for end in ends if end > 0) + itemsize


def library_of(array):
    """The library of an array, a module with ``from_dlpack``; None if there is none."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    packages = (kind.__module__.partition(".")[0] for kind in type(array).__mro__ if kind is not object)
    return next((library for library in map(import_module, packages) if hasattr(library, "from_dlpack")), None)
