"""A stand-in for NVIDIA's driver: memory of this machine, and kernels compiled for its processor.

It has those functions of `cuda.bindings.driver` that dforest calls, and tells what a GPU can't be made to do: run out of memory,
be lost, not be there. Kernels' code is their name.
"""

import ctypes
from enum import IntEnum
from types import SimpleNamespace

import numpy as np


class Status(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


class FakeDriver:
    """What stands in for the module `cuda.bindings.driver`.

    Parameters
    ----------
    kernels : dforest.backends.host.kernels.Kernels
        For groups of any size.
    n_gpus : int
    memory_bytes : int
        Of each GPU.

    Attributes
    ----------
    held : dict of int to ndarray
        The memory that was taken and not given back, by address.
    stack : list
        Contexts that are current, the last one now.
    lost : Status
        What all work on the GPU ends with; CUDA_SUCCESS: nothing.
    """

    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR="major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR="minor",
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT="units", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN="local",
        CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED="pools",
        CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES="reads host",
    )  # fmt: skip
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)
    CUmemAllocationType = SimpleNamespace(CU_MEM_ALLOCATION_TYPE_PINNED=1)
    CUmemLocationType = SimpleNamespace(CU_MEM_LOCATION_TYPE_DEVICE=1)
    CUmemPool_attribute = SimpleNamespace(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD=4)
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    CUpointer_attribute = SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9)
    cuuint64_t = int

    def __init__(self, kernels, n_gpus=1, memory_bytes=1 << 30):
        self.kernels, self.n_gpus, self.memory_bytes = kernels, n_gpus, memory_bytes
        self.attributes = {"major": 9, "minor": 0, "units": 4, "local": 1 << 16, "pools": 1, "reads host": 0}
        self.held, self.pinned, self.stack, self.lost = {}, [], [], Status.CUDA_SUCCESS

    @staticmethod
    def CUmemPoolProps():  # noqa: N802
        return SimpleNamespace(location=SimpleNamespace())

    def cuGetErrorName(self, status):  # noqa: N802
        return Status.CUDA_SUCCESS, status.name.encode()

    def cuGetErrorString(self, status):  # noqa: N802
        return Status.CUDA_SUCCESS, b"as the fake driver says"

    def cuInit(self, flags):  # noqa: N802
        return (Status.CUDA_SUCCESS if self.n_gpus else Status.CUDA_ERROR_NO_DEVICE,)

    def cuDriverGetVersion(self):  # noqa: N802
        return Status.CUDA_SUCCESS, 13000

    def cuDeviceGetCount(self):  # noqa: N802
        return Status.CUDA_SUCCESS, self.n_gpus

    def cuDeviceGet(self, number):  # noqa: N802
        return Status.CUDA_SUCCESS, number

    def cuDeviceGetName(self, length, gpu):  # noqa: N802
        return Status.CUDA_SUCCESS, f"Fake GPU {gpu}".encode().ljust(length, b"\0")

    def cuDeviceGetAttribute(self, attribute, gpu):  # noqa: N802
        return Status.CUDA_SUCCESS, self.attributes[attribute]

    def cuDeviceTotalMem(self, gpu):  # noqa: N802
        return Status.CUDA_SUCCESS, self.memory_bytes

    def cuDevicePrimaryCtxRetain(self, gpu):  # noqa: N802
        return Status.CUDA_SUCCESS, gpu

    def cuCtxPushCurrent(self, context):  # noqa: N802
        self.stack.append(context)
        return (Status.CUDA_SUCCESS,)

    def cuCtxPopCurrent(self):  # noqa: N802
        return Status.CUDA_SUCCESS, self.stack.pop()

    def _done(self, *_):
        assert self.stack, "no context is current"
        return (self.lost,)

    cuCtxSynchronize = cuStreamSynchronize = cuMemPoolSetAttribute = cuFuncSetAttribute = _done
    cuEventRecord = cuEventSynchronize = cuMemPoolTrimTo = _done

    def _made(self, *_):
        assert self.stack, "no context is current"
        return self.lost, object()

    cuStreamCreate = cuMemPoolCreate = cuEventCreate = _made

    def cuMemAllocFromPoolAsync(self, n_bytes, pool, stream):  # noqa: N802
        return self.cuMemAlloc(n_bytes)

    def cuMemAlloc(self, n_bytes):  # noqa: N802
        assert self.stack, "no context is current"
        if self.lost:
            return self.lost, 0
        if n_bytes + sum(memory.nbytes for memory in self.held.values()) > self.memory_bytes:
            return Status.CUDA_ERROR_OUT_OF_MEMORY, 0
        memory = np.full(n_bytes, 0xA5, np.uint8)  # on which nobody may count
        self.held[memory.ctypes.data] = memory
        return Status.CUDA_SUCCESS, memory.ctypes.data

    def cuMemHostAlloc(self, n_bytes, flags):  # noqa: N802
        assert self.stack, "no context is current"
        self.pinned.append(np.full(n_bytes, 0xA5, np.uint8))
        return self.lost, self.pinned[-1].ctypes.data

    def cuMemFreeAsync(self, address, stream):  # noqa: N802
        return self.cuMemFree(address)

    def cuMemFree(self, address):  # noqa: N802
        del self.held[address]
        return self._done()

    def cuMemcpyHtoDAsync(self, to, source, n_bytes, stream):  # noqa: N802
        if not self.lost:
            ctypes.memmove(to, source, n_bytes)
        return self._done()

    cuMemcpyDtoHAsync = cuMemcpyDtoDAsync = cuMemcpyHtoDAsync

    def cuMemsetD8Async(self, address, byte, n_bytes, stream):  # noqa: N802
        ctypes.memset(address, byte, n_bytes)
        return self._done()

    def cuPointerGetAttribute(self, attribute, address):  # noqa: N802
        return Status.CUDA_SUCCESS, 0

    def cuModuleLoadData(self, code):  # noqa: N802
        return self.lost, code

    def cuModuleGetFunction(self, module, name):  # noqa: N802
        return Status.CUDA_SUCCESS, name.decode()

    def cuLaunchKernel(self, name, n_groups, y, z, n_items, items_y, items_z, n_local, stream, pointers, extra):  # noqa: N802
        n = len(self.parameters_of(name))
        words = [ctypes.c_int64.from_address(address).value for address in (ctypes.c_uint64 * (n + 1)).from_address(pointers)]
        assert words.pop() == n_local
        if not self.lost:
            self.kernels.run(name, n_groups, n_items, n_local, words, 1)
        return self._done()

    @staticmethod
    def parameters_of(name):
        from dforest.engines.device import kernel_source

        return kernel_source.kernels()[name]
