"""Arrays of other libraries in the memory of a GPU, by `__cuda_array_interface__` or by DLPack, in and out.

What comes in is borrowed; what goes out is owned by the arrays that are made of it. Before an array is read, all work in the
GPU's context is waited for: not all libraries say on which stream they fill it.
"""

import numpy as np

from dforest.backends.cuda.devices import device_of
from dforest.backends.cuda.dlpack import layout_of
from dforest.backends.cuda.driver import bindings, call, count_devices
from dforest.backends.cuda.memory import CudaArray
from dforest.backends.foreign import contiguous, from_lowest, library_of


def queue_of(array):
    """The `CudaDevice` in whose memory an array is."""
    count_devices()  # starts the driver
    if not hasattr(array, "__cuda_array_interface__"):
        return device_of(array.__dlpack_device__()[1])
    address = array.__cuda_array_interface__["data"][0]
    if not address:  # of an array without entries
        return device_of(array.__dlpack_device__()[1] if hasattr(array, "__dlpack_device__") else 0)
    which = bindings().CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return device_of(int(call("cuPointerGetAttribute", which, address)))


def rows_of(array, device):
    """An array where it is, as `CudaArray`; None if it is not C-contiguous, or not of rows of float32 or float64.

    Parameters
    ----------
    array : object
        In the memory of the device.
    device : CudaDevice
    """
    owner, shape, dtype, strides, address = _layout(array)
    if len(shape) != 2 or 0 in shape or dtype not in (np.float32, np.float64) or address % dtype.itemsize:
        return None
    if strides != contiguous(shape, dtype.itemsize):
        return None
    device.wait_for_all()
    return CudaArray(device, shape, dtype, device.account, owner, address)


def on_host(array):
    """A copy as a NumPy array."""
    owner, shape, dtype, strides, address = _layout(array)
    if 0 in shape:
        return np.empty(shape, dtype)
    device = queue_of(array)
    device.wait_for_all()
    before, n_bytes = from_lowest(shape, strides, dtype.itemsize)
    held = CudaArray(device, (n_bytes,), np.uint8, device.account, owner, address - before).get()
    return np.ndarray(shape, dtype, held, before, strides)


def like(array, result):
    """A result as an array on the GPU, and of the library, of another one.

    Parameters
    ----------
    array : object
    result : ndarray or CudaArray
        The latter in the memory of the array's GPU.
    """
    if isinstance(result, np.ndarray):
        if result.dtype.kind not in "biuf":
            return result
        result = queue_of(array).array(result)
    result, library = result.for_others(), library_of(array)
    return result if library is None else library.from_dlpack(result)


def _layout(array):
    """(owner of the memory, shape, dtype, strides in bytes, address)."""
    if not hasattr(array, "__cuda_array_interface__"):
        capsule = array.__dlpack__()
        return capsule, *layout_of(capsule)
    interface = array.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise ValueError("an array on a GPU has a mask, which is not supported; allowed are arrays without one")
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    strides = interface.get("strides")
    strides = contiguous(shape, dtype.itemsize) if strides is None else tuple(strides)
    return array, shape, dtype, strides, interface["data"][0]
