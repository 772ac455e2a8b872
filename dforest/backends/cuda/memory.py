"""Arrays in the memory of a GPU.

Memory is taken from a pool and given back in the order of the device's stream, as copies and kernels are done: memory that is
given back is not taken again before the kernels that use it have ended. Small arrays share blocks of memory: see `Blocks`.

What other libraries are handed has memory of its own, outside of the pool, which is given back when all work on the GPU has
ended: they may use it on streams of their own.
"""

from math import prod

import numpy as np

from dforest.backends.cuda.blocks import SMALL_BYTES
from dforest.backends.cuda.copies import LARGE_BYTES
from dforest.backends.cuda.dlpack import CUDA, capsule_of
from dforest.backends.cuda.driver import CudaError, call
from dforest.engines.device.backend import shape_of, to_write
from dforest.errors import DeviceError


class CudaArray:
    """An array in the memory of a GPU: see `dforest.engines.device.backend.DeviceArray`.

    It has CUDA's array interface and that of DLPack, so that libraries such as CuPy, PyTorch and JAX take it without a copy.

    Parameters
    ----------
    device : CudaDevice
    shape : tuple of int
    dtype : dtype
    account : Account
        Where new memory, and copies, are entered.
    owner : object, optional
        Of the memory, which is at `address` then; without one, it is new and the array's own.
    address : int, optional
    is_pooled : bool
        Whether new memory is the pool's.
    content : ndarray, optional
        Of a new array of up to `SMALL_BYTES`.

    Raises
    ------
    DeviceError
        If there is not that much memory.
    """

    def __init__(self, device, shape, dtype, account, owner=None, address=0, is_pooled=True, content=None):
        self.address = None  # until there is memory to give back
        self.device, self.account, self.owner = device, account, owner
        self.shape = shape_of(shape)
        self.dtype = np.dtype(dtype)
        self.nbytes = prod(self.shape) * self.dtype.itemsize
        self._is_pooled, self._is_new = is_pooled, owner is None
        if owner is not None:
            self.address = address
            return
        try:
            if is_pooled and self.nbytes <= SMALL_BYTES:
                self.owner, self.address = device.blocks.place(self.nbytes, content)
            else:
                self.address = device.allocate(min(max(self.nbytes, 1), 1 << 62), is_pooled)
        except CudaError as error:
            raise DeviceError(
                f"{self.nbytes} bytes of memory could not be allocated on the device {device.name!r}, which has "
                f"{device.memory_bytes} bytes in all; dforest already uses {account.n_bytes} bytes there ({error})"
            ) from None
        account.hold(self.nbytes)
        if content is not None:
            account.write(self.nbytes)

    def __del__(self):
        if self.address is None or not self._is_new:
            return
        self.account.hold(-self.nbytes)
        if self.owner is None:
            self.device.free(self.address, self._is_pooled)

    def __array__(self, *_, **__):
        raise TypeError("an array on a device is no NumPy array; get() copies it to one")

    def __reduce__(self):
        raise TypeError("an array on a device can't be pickled; get() copies it to a NumPy array")

    def __len__(self):
        return self.shape[0]

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def __cuda_array_interface__(self):
        """The array, once all that writes to it has ended; version 3, without a stream to wait for."""
        self.device.wait()
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address if self.nbytes else 0, False),
            "strides": None, "stream": None, "version": 3,
        }  # fmt: skip

    def __dlpack__(self, **_):
        """A capsule of DLPack, once all that writes to the array has ended."""
        self.device.wait()
        return capsule_of(self, self.device.number)

    def __dlpack_device__(self):
        return CUDA, self.device.number

    def ravel(self):
        """This array's memory as an array of one dimension."""
        return CudaArray(self.device, (prod(self.shape),), self.dtype, self.account, self, self.address)

    def for_others(self):
        """A copy that other libraries may be handed."""
        copy = CudaArray(self.device, self.shape, self.dtype, self.account, is_pooled=False)
        if self.nbytes:
            with self.device.at_work("a copy on the device"):
                call("cuMemcpyDtoDAsync", copy.address, self.address, self.nbytes, self.device.stream)
        return copy

    def write(self, array, first=0):
        """Copy a NumPy array to where entry `first` of this array, seen as flat, and the next ones are."""
        array, start = to_write(self, array, first)
        n = array.nbytes
        if n >= LARGE_BYTES:
            self.device.copier.upload(array, self.address + start)
        elif n > 0:
            with self.device.at_work("a copy to the device"):
                call("cuMemcpyHtoDAsync", self.address + start, array.ctypes.data, n, self.device.stream)
                if self.device.reads_host:
                    call("cuStreamSynchronize", self.device.stream)  # whose array may change, or end, after this
        self.account.write(n)

    def fill(self, byte):
        """Set all bytes to one."""
        if self.nbytes:
            with self.device.at_work("setting memory"):
                call("cuMemsetD8Async", self.address, byte, self.nbytes, self.device.stream)

    def get(self):
        """A copy as a NumPy array, made when all work before it has been done."""
        result = np.empty(self.shape, self.dtype)
        if self.nbytes >= LARGE_BYTES:
            self.device.copier.download(self.address, result)
        elif self.nbytes:
            with self.device.at_work("a kernel, or a copy from the device,"):
                call("cuMemcpyDtoHAsync", result.ctypes.data, self.address, self.nbytes, self.device.stream)
                call("cuStreamSynchronize", self.device.stream)
        self.account.read(self.nbytes)
        return result
