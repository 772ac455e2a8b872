"""An NVIDIA GPU to work with: its memory and its kernels.

A `CudaDevice` owns a stream, a pool of memory and the kernels loaded into the GPU's context, all of which are made when they are
first needed and stay for the life of the process. A launch does not wait for its kernel to end: what follows on the stream does,
and `CudaArray.get` waits for all of it. So an error of a kernel is told by a later call.
"""

import ctypes
import os
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from threading import Lock, RLock
from time import perf_counter

import numpy as np

from dforest.backends.cuda import compiler
from dforest.backends.cuda.blocks import SMALL_BYTES, Blocks
from dforest.backends.cuda.copies import Copier
from dforest.backends.cuda.driver import Context, CudaError, attribute, bindings, call, check_process
from dforest.backends.cuda.memory import CudaArray
from dforest.engines.device import backend, kernel_source
from dforest.errors import DeviceError

_ITEMS = 256  # of a group, at most: DF_MAX_ITEMS of cuda_items.hpp
_STATIC_BYTES = 1 << 10  # of a group's memory, which the kernels' own variables take
_KEPT_BYTES = 1 << 30  # by the pool, of what arrays give back, while nobody is at work
_OLDEST = 70  # ten times the compute capability


class CudaDevice(backend.Device):
    """An NVIDIA GPU.

    Parameters
    ----------
    number : int
        As CUDA counts GPUs.

    Attributes
    ----------
    number : int
    stream : object
        On which all work is done in order.
    blocks : Blocks
        Of small arrays.
    copier : Copier
        Of large arrays.

    Raises
    ------
    DeviceError
        If the GPU lacks what the kernels need.
    """

    def __init__(self, number):
        self.number = number
        self._architecture = compiler.architecture_for(capability_of(number))
        compiler.check_driver(call("cuDriverGetVersion"))
        self._context = context = Context(number)
        memory_bytes = int(call("cuDeviceTotalMem", context.gpu))
        super().__init__(
            name_of(number),
            is_cpu=False,
            n_units=attribute(context.gpu, "MULTIPROCESSOR_COUNT"),
            local_bytes=attribute(context.gpu, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") - _STATIC_BYTES,
            memory_bytes=memory_bytes,
            array_bytes=memory_bytes,
            max_items=_ITEMS,
        )
        self._functions = {}  # by kernel
        self._building = defaultdict(Lock)  # by kernel
        self._n_at_work, self._n_lock = 0, RLock()  # whoever collects garbage may end work while this thread holds it
        self.blocks, self.copier = Blocks(self), Copier(self)
        # Whether the GPU reads memory of the host where it is, so that a copy to it does not take a copy of its own first.
        self.reads_host = bool(attribute(context.gpu, "PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES"))
        with context:
            self.stream = call("cuStreamCreate", bindings().CUstream_flags.CU_STREAM_NON_BLOCKING)
            self._pool = self._made_pool() if attribute(context.gpu, "MEMORY_POOLS_SUPPORTED") else None  # not everywhere

    @property
    def n_items(self):
        return backend.TUNING.get("n_items") or _ITEMS

    def _made_pool(self):
        driver = bindings()
        wanted = driver.CUmemPoolProps()
        wanted.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        wanted.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        wanted.location.id = self.number
        pool = call("cuMemPoolCreate", wanted)
        self._keep(pool, _KEPT_BYTES)
        return pool

    @staticmethod
    def _keep(pool, n_bytes):
        """Let the pool keep so much of what is given back for the next arrays: to take memory from the driver is slow."""
        driver = bindings()
        threshold = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        call("cuMemPoolSetAttribute", pool, threshold, driver.cuuint64_t(n_bytes))

    def keep_memory(self, is_kept):
        try:
            check_process()
        except DeviceError:
            if is_kept:
                raise
            return  # what a parent of this process began
        with self._n_lock:
            n = self._n_at_work + (1 if is_kept else -1)
            if self._pool is not None and n == is_kept:  # the first one begins, or the last one ends
                with nullcontext() if is_kept else suppress(DeviceError), self.at_work("memory", flushes=False):
                    self._keep(self._pool, self.memory_bytes if is_kept else _KEPT_BYTES)
                    if not is_kept:
                        call("cuStreamSynchronize", self.stream)  # at which the pool gives back the rest
            self._n_at_work = n
            if n == 0:
                self.blocks.rest()

    @property
    def is_at_work(self):
        """Whether somebody works here: see `keep_memory`."""
        return self._n_at_work > 0

    def build(self, *headers):
        """Build kernels that are not built yet, each for itself, by as many threads as there are processors for this process."""
        wanted = [kernel for kernel in kernel_source.kernels(*headers) if kernel not in self._functions]
        if wanted:
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                list(pool.map(self._function, wanted))

    def check_usable(self):
        check_process()

    @contextmanager
    def at_work(self, what, flushes=True):
        """Work on the device inside the block, on small arrays too if it `flushes`; errors say what failed, and where."""
        check_process()
        try:
            with self._context:
                if flushes:
                    self.blocks.flush()
                yield
        except CudaError as error:
            raise DeviceError(f"{what} failed on the device {self.name!r}: {error}") from None

    def wait(self):
        """Wait for all work that was given to the device."""
        with self.at_work("a kernel"):
            call("cuStreamSynchronize", self.stream)

    def wait_for_all(self):
        """Wait for all work in the GPU's context, that of other libraries too."""
        with self.at_work("work"):
            call("cuCtxSynchronize")

    def allocate(self, n_bytes, is_pooled):
        """The address of new memory, of the pool, or of its own. Raise CudaError if there is not that much."""
        check_process()
        with self._context:
            try:
                return self._allocated(n_bytes, is_pooled)
            except CudaError as error:
                if self._pool is None or not error.is_out_of_memory:
                    raise
                call("cuStreamSynchronize", self.stream)
                call("cuMemPoolTrimTo", self._pool, 0)  # of what the pool keeps, none is in use
                return self._allocated(n_bytes, is_pooled)

    def _allocated(self, n_bytes, is_pooled):
        if is_pooled and self._pool is not None:
            return int(call("cuMemAllocFromPoolAsync", n_bytes, self._pool, self.stream))
        return int(call("cuMemAlloc", n_bytes))

    def free(self, address, is_pooled):
        """Give memory back, after all work on it."""
        if sys.is_finalizing():  # the process ends, and its memory with it
            return
        with suppress(DeviceError):  # the memory of a lost context is lost with it
            check_process()
            with self._context:
                if is_pooled and self._pool is not None:
                    call("cuMemFreeAsync", address, self.stream)
                else:
                    call("cuMemFree", address)

    def array(self, array, account=None):
        array = np.asarray(array, order="C")
        if array.nbytes > SMALL_BYTES:
            return super().array(array, account)
        return CudaArray(self, array.shape, array.dtype, account or self.account, content=array)

    def empty(self, shape, dtype, account=None):
        return CudaArray(self, shape, dtype, account or self.account)

    def takes(self, argument):
        if not isinstance(argument, CudaArray):
            return False
        if argument.device is not self:
            raise ValueError(f"lies in the memory of another device, {argument.device.name!r}")
        return True

    def launch(self, kernel, n_groups, n_items, n_local, arguments):
        # A word for each argument, and after them where each of these words is.
        words = [argument.address if isinstance(argument, CudaArray) else argument or 0 for argument in (*arguments, n_local)]
        n = len(words)
        there = (ctypes.c_int64 * (2 * n))(*words)
        first = ctypes.addressof(there)
        there[n:] = range(first, first + 8 * n, 8)
        function = self._function(kernel)
        with self.at_work(f"kernel {kernel}"):
            call("cuLaunchKernel", function, n_groups, 1, 1, n_items, 1, 1, n_local, self.stream, first + 8 * n, 0)

    def _function(self, kernel):
        """A kernel as a function in the GPU's context, which is built if need be."""
        found = self._functions.get(kernel)
        if found is not None:
            return found
        with self.lock:
            building = self._building[kernel]
        with building:
            if kernel not in self._functions:
                start = perf_counter()
                self._functions[kernel] = self._loaded(kernel, compiler.build(kernel, self._architecture))
                with self.lock:
                    self.build_seconds += perf_counter() - start
        return self._functions[kernel]

    def _loaded(self, kernel, code):
        with self.at_work(f"loading the kernel {kernel}"):
            function = call("cuModuleGetFunction", call("cuModuleLoadData", code), kernel.encode())
            larger = bindings().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call("cuFuncSetAttribute", function, larger, self.local_bytes)
        return function


def name_of(number):
    """What a GPU is called; it is not made ready for work."""
    return call("cuDeviceGetName", 256, call("cuDeviceGet", number)).decode(errors="replace").rstrip("\0 ")


def capability_of(number):
    """Ten times the compute capability of a GPU, which is not made ready for work.

    Raises
    ------
    DeviceError
        If kernels need a later one.
    """
    gpu = call("cuDeviceGet", number)
    major, minor = (attribute(gpu, f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
    if 10 * major + minor < _OLDEST:
        raise DeviceError(
            f"the device {name_of(number)!r} has compute capability {major}.{minor}; kernels need {_OLDEST / 10} or a later one"
        )
    return 10 * major + minor
