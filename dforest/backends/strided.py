"""Arrays by their strides in bytes, as the interfaces of other libraries describe them."""


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
