"""Memory and kernels of a SYCL device: what stands between Python and shim.h.

A `Bundle` owns built kernels and a `DeviceArray` owns memory of a device, unless it was made of another owner's; both keep
their queue alive. What SYCL accepts in silence is checked by `dforest.backends.sycl.device`.

To be imported after dpctl, which loads SYCL's run-time library. A queue is dpctl's; its address alone is used.
"""
from libc.stdint cimport uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from posix.unistd cimport getpid

from math import prod

import numpy as np

from dforest.engines.device.backend import shape_of, to_write
from dforest.errors import DeviceError

cdef extern from "shim.h" nogil:
    const char* df_sycl_error()
    int df_sycl_can_build(void* queue)
    void* df_sycl_build(void* queue, const char* source, int n_files, const char** names, const char** texts, int n_options,
                        const char** options)
    void df_sycl_release(void* bundle)
    int df_sycl_launch(void* queue, void* bundle, const char* kernel, size_t n_groups, size_t n_items, int n_arguments,
                       const uint64_t* arguments, const unsigned char* is_pointer, size_t n_local)
    void* df_sycl_allocate(void* queue, size_t n_bytes)
    void df_sycl_free(void* queue, void* memory)
    int df_sycl_copy(void* queue, void* to, const void* source, size_t n_bytes)
    int df_sycl_fill(void* queue, void* memory, int byte, size_t n_bytes)

cdef enum:
    MAX_ARGUMENTS = 64

cdef int process = getpid()       # SYCL's library does not survive a fork


def check_process():
    """Raise if this process was forked from the one that loaded SYCL."""
    if getpid() != process:
        raise DeviceError(
            "this process was forked from one that had used SYCL, which a forked process can't use; start processes with "
            '"spawn" (multiprocessing.set_start_method), or with joblib, whose backend "loky" does so'
        )


cdef void* address_of(queue) except NULL:
    cdef uintptr_t address = queue.addressof_ref()
    return <void*> address


cdef str what_failed():
    return df_sycl_error().decode(errors="replace").strip()


def can_build(queue):
    """Whether a queue's device can build kernels from their source."""
    cdef void* address = address_of(queue)
    return bool(df_sycl_can_build(address))


cdef class Strings:
    """Some strings as C has them."""
    cdef list kept
    cdef const char** pointers
    cdef int n

    def __cinit__(self, texts):
        self.kept = [text.encode() for text in texts]
        self.n = len(self.kept)
        self.pointers = <const char**> malloc((self.n + 1) * sizeof(char*))
        if self.pointers == NULL:
            raise MemoryError()
        for i, text in enumerate(self.kept):
            self.pointers[i] = text

    def __dealloc__(self):
        free(self.pointers)


cdef class Bundle:
    """Kernels built for a device.

    Parameters
    ----------
    queue : dpctl.SyclQueue
    source : str
    files : dict of str to str
        What the source includes, by name.
    options : list of str
        Of the compiler.

    Raises
    ------
    DeviceError
        With what the compiler says.
    """
    cdef void* built
    cdef readonly object queue

    def __cinit__(self, queue, str source not None, dict files not None, list options not None):
        cdef Strings names = Strings(files.keys()), texts = Strings(files.values()), given = Strings(options)
        cdef bytes text = source.encode()
        cdef const char* to_text = text
        cdef void* address = address_of(queue)
        self.queue = queue
        with nogil:
            self.built = df_sycl_build(address, to_text, names.n, names.pointers, texts.pointers, given.n, given.pointers)
        if self.built == NULL:
            raise DeviceError(what_failed())

    def __dealloc__(self):
        if self.built != NULL and getpid() == process:
            df_sycl_release(self.built)

    def run(self, str kernel not None, size_t n_groups, size_t n_items, size_t n_local, list arguments not None):
        """Run a kernel and wait for its end.

        Parameters
        ----------
        kernel : str
        n_groups, n_items : int
            Work-groups, and work-items of each.
        n_local : int
            Bytes of memory that a work-group shares.
        arguments : list of DeviceArray, None or int
            As the kernel declares them; None: a null pointer.
        """
        cdef uint64_t[MAX_ARGUMENTS] words
        cdef unsigned char[MAX_ARGUMENTS] is_pointer
        cdef int n = len(arguments), i, result
        cdef bytes name = kernel.encode()
        cdef const char* to_name = name
        cdef void* address = address_of(self.queue)
        if n > MAX_ARGUMENTS:
            raise ValueError(f"{kernel} with {n} arguments; allowed are up to {MAX_ARGUMENTS}")
        for i in range(n):
            is_pointer[i] = arguments[i] is None or isinstance(arguments[i], DeviceArray)
            if arguments[i] is None:
                words[i] = 0
            elif is_pointer[i]:
                words[i] = <uintptr_t> (<DeviceArray> arguments[i]).memory
            else:
                words[i] = <uint64_t> <long long> arguments[i]
        with nogil:
            result = df_sycl_launch(address, self.built, to_name, n_groups, n_items, n, words, is_pointer, n_local)
        if result < 0:
            raise DeviceError(f"kernel {kernel}: {what_failed()}")


cdef class DeviceArray:
    """An array in the memory of a device, C-contiguous.

    It has SYCL's USM array interface, so that libraries such as dpnp take it without a copy.

    Parameters
    ----------
    queue : dpctl.SyclQueue
    shape : tuple of int
    dtype : dtype
    account : Account
        Where new memory, and copies, are entered.
    owner : object, optional
        Of the memory, which is at `address` then; without one, it is new and the array's own.
    address : int, optional

    Attributes
    ----------
    queue : dpctl.SyclQueue
    shape : tuple of int
    dtype : numpy.dtype
    nbytes : int

    Raises
    ------
    DeviceError
        If there is not that much memory.
    """
    cdef void* memory
    cdef readonly object queue, account, owner
    cdef readonly tuple shape
    cdef readonly object dtype
    cdef readonly size_t nbytes

    def __cinit__(self, queue, shape, dtype, account, owner=None, uintptr_t address=0):
        cdef void* at = address_of(queue)
        check_process()
        self.queue = queue
        self.owner = owner
        self.account = account
        self.shape = shape_of(shape)
        self.dtype = np.dtype(dtype)
        n_bytes = prod(self.shape) * self.dtype.itemsize
        if owner is not None:
            self.nbytes = n_bytes
            self.memory = <void*> address
            return
        cdef size_t asked = 0
        if n_bytes < 1 << 62:
            asked = max(n_bytes, 1)
            with nogil:
                self.memory = df_sycl_allocate(at, asked)
        if self.memory == NULL:
            device = queue.sycl_device
            raise DeviceError(
                f"{n_bytes} bytes of memory could not be allocated on the device {device.name.strip()!r}, which has "
                f"{device.global_mem_size} bytes in all, and up to {device.max_mem_alloc_size} for one array; dforest already "
                f"uses {account.n_bytes} bytes there" + (f" ({what_failed()})" if asked else "")
            )
        self.nbytes = n_bytes
        account.hold(self.nbytes)

    def __del__(self):     # not __dealloc__: in a cycle, queue and account would be gone by then
        if self.memory == NULL or self.owner is not None:
            return
        self.account.hold(-<long long> self.nbytes)
        if getpid() == process:
            df_sycl_free(address_of(self.queue), self.memory)
        self.memory = NULL

    def __reduce__(self):
        raise TypeError("an array on a device can't be pickled; get() copies it to a NumPy array")

    def __len__(self):
        return self.shape[0]

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def __sycl_usm_array_interface__(self):
        return {
            "data": (<uintptr_t> self.memory, False), "shape": self.shape, "strides": None, "typestr": self.dtype.str,
            "version": 1, "syclobj": self.queue, "offset": 0,
        }

    def on(self, queue):
        """This array's memory as an array on another queue of its context."""
        return DeviceArray(queue, self.shape, self.dtype, self.account, self, <uintptr_t> self.memory)

    def ravel(self):
        """This array's memory as an array of one dimension."""
        return DeviceArray(self.queue, (prod(self.shape),), self.dtype, self.account, self, <uintptr_t> self.memory)

    def write(self, array, size_t first=0):
        """Copy a NumPy array to where entry `first` of this array, seen as flat, and the next ones are."""
        cdef const unsigned char[::1] source
        cdef void* address = address_of(self.queue)
        cdef int result
        cdef size_t start, n
        check_process()
        array, start = to_write(self, array, first)
        n = array.nbytes
        if n == 0:
            return
        source = array.reshape(-1).view(np.uint8)
        with nogil:
            result = df_sycl_copy(address, <char*> self.memory + start, &source[0], n)
        if result < 0:
            raise DeviceError(f"a copy to the device failed: {what_failed()}")
        self.account.write(n)

    def fill(self, unsigned char byte):
        """Set all bytes to one."""
        cdef void* address = address_of(self.queue)
        cdef int result = 0
        check_process()
        if self.nbytes > 0:
            with nogil:
                result = df_sycl_fill(address, self.memory, byte, self.nbytes)
        if result < 0:
            raise DeviceError(f"memory of the device could not be set: {what_failed()}")

    def get(self):
        """A copy as a NumPy array."""
        result = np.empty(self.shape, self.dtype)
        cdef unsigned char[::1] to
        cdef void* address = address_of(self.queue)
        cdef int done = 0
        check_process()
        if self.nbytes > 0:
            to = result.reshape(-1).view(np.uint8)
            with nogil:
                done = df_sycl_copy(address, &to[0], self.memory, self.nbytes)
        if done < 0:
            raise DeviceError(f"a copy from the device failed: {what_failed()}")
        self.account.read(self.nbytes)
        return result
