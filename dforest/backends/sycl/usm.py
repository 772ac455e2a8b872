"""Arrays of other libraries in the memory of a device, by `__sycl_usm_array_interface__`, in and out.

What comes in is borrowed; what goes out is owned by the arrays that are made of it.
"""

from importlib import import_module

import numpy as np

from dforest.backends.foreign import contiguous, from_lowest
from dforest.backends.sycl.devices import find_device


def _memory(array):
    return import_module("dpctl.memory").as_usm_memory(array)


def queue_of(array):
    """The queue an array is on."""
    return _memory(array).sycl_queue


def rows_of(array, device):
    """An array where it is, as `DeviceArray`; None if it is not C-contiguous, or not of rows of float32 or float64.

    Parameters
    ----------
    array : object
        With the interface, in a context of the device.
    device : SyclDevice
    """
    from dforest.backends.sycl.runtime import DeviceArray

    shape, dtype, strides = _layout(array)
    if len(shape) != 2 or 0 in shape or dtype not in (np.float32, np.float64) or strides != contiguous(shape, dtype.itemsize):
        return None
    memory = _memory(array)
    memory.sycl_queue.wait()  # for what is to fill it
    return DeviceArray(device.queue, shape, dtype, device.account, memory, memory._pointer)


def on_host(array):
    """A copy as a NumPy array."""
    shape, dtype, strides = _layout(array)
    if 0 in shape:
        return np.empty(shape, dtype)
    memory = _memory(array)
    memory.sycl_queue.wait()
    held = np.ascontiguousarray(memory.copy_to_host()).view(np.uint8)  # from the lowest address on
    return np.ndarray(shape, dtype, held, from_lowest(shape, strides, dtype.itemsize)[0], strides)


def like(array, result):
    """A result as an array on the queue, and of the library, of another one.

    Parameters
    ----------
    array : object
        With the interface.
    result : ndarray or DeviceArray
        The latter in a context of the array.
    """
    queue = queue_of(array)
    if isinstance(result, np.ndarray):
        if result.dtype.kind not in "biuf":
            return result
        result = find_device(None, queue).array(result)
    result = result.on(queue)
    library = getattr(array, "__array_namespace__", None)
    return result if library is None else library().asarray(result, sycl_queue=queue)


def _layout(array):
    """(shape, dtype, strides in bytes)."""
    interface = array.__sycl_usm_array_interface__
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    strides = interface.get("strides")  # in entries
    return shape, dtype, contiguous(shape, dtype.itemsize) if strides is None else tuple(n * dtype.itemsize for n in strides)
