"""Arrays of GPUs by DLPack, in and out, as far as the header dlpack.h of its version 0 goes.

A *capsule* owns an array that is handed over: whoever takes it renames it, and calls its *deleter* in the end; if nobody takes
it, its destructor does. What we hand over lives until then. Either may be called while an exception is on its way, which has to
survive, and when Python has ended.
"""
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.backends.foreign import contiguous

CUDA = 2       # kDLCUDA
KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}   # by the codes of types

cdef extern from "Python.h":
    int Py_IsInitialized() nogil
    void PyErr_Fetch(PyObject** kind, PyObject** value, PyObject** trace)
    void PyErr_Restore(PyObject* kind, PyObject* value, PyObject* trace)

cdef struct Tensor:            # DLTensor
    void* data
    int32_t device_type, device
    int32_t ndim
    uint8_t code, bits
    uint16_t lanes
    int64_t* shape
    int64_t* strides
    uint64_t first

cdef struct Managed:           # DLManagedTensor
    Tensor tensor
    void* context              # the array, which this has a reference to
    void (*deleter)(Managed* managed) noexcept nogil


cdef void let_go(Managed* managed) noexcept with gil:
    cdef PyObject* kind
    cdef PyObject* value
    cdef PyObject* trace
    PyErr_Fetch(&kind, &value, &trace)
    Py_DECREF(<object> managed.context)
    free(managed)
    PyErr_Restore(kind, value, trace)


cdef void deleter(Managed* managed) noexcept nogil:
    if Py_IsInitialized():
        let_go(managed)


cdef void destructor(object capsule) noexcept:
    if PyCapsule_IsValid(capsule, "dltensor"):
        let_go(<Managed*> PyCapsule_GetPointer(capsule, "dltensor"))


def capsule_of(array not None, int32_t number):
    """A capsule for an array that owns its memory, a `CudaArray` of the GPU of a number."""
    code = next((code for code, kind in KINDS.items() if kind == array.dtype.kind), None)
    if code is None:
        raise TypeError(f"an array of {array.dtype} can't be handed over by DLPack; allowed are numbers and truth values")
    cdef uint8_t found = code, bits = 8 * array.dtype.itemsize
    cdef uintptr_t address = array.address
    cdef int32_t i, n = len(array.shape)
    cdef Managed* managed = <Managed*> malloc(sizeof(Managed) + n * sizeof(int64_t))
    if managed == NULL:
        raise MemoryError()
    managed.tensor.shape = <int64_t*> (managed + 1)
    for i in range(n):
        managed.tensor.shape[i] = array.shape[i]
    managed.tensor.data, managed.tensor.device_type, managed.tensor.device, managed.tensor.ndim = <void*> address, 2, number, n
    managed.tensor.code, managed.tensor.bits, managed.tensor.lanes = found, bits, 1
    managed.tensor.strides, managed.tensor.first = NULL, 0
    managed.context, managed.deleter = <void*> array, deleter
    Py_INCREF(array)
    try:
        return PyCapsule_New(managed, "dltensor", destructor)
    except BaseException:
        let_go(managed)
        raise


def layout_of(capsule not None):
    """(shape, dtype, strides in bytes, address) of what a capsule owns, which is to be kept as long as the memory is used."""
    cdef Tensor* tensor = &(<Managed*> PyCapsule_GetPointer(capsule, "dltensor")).tensor
    cdef int32_t i
    if tensor.code not in KINDS or tensor.lanes != 1:
        raise ValueError(
            f"an array on a GPU has entries of DLPack's type {tensor.code} with {tensor.lanes} lanes; allowed are integers, "
            "floating point numbers and truth values"
        )
    dtype = np.dtype(f"{KINDS[tensor.code]}{tensor.bits // 8}")
    shape = tuple([tensor.shape[i] for i in range(tensor.ndim)])
    strides = contiguous(shape, dtype.itemsize)
    if tensor.strides != NULL:
        strides = tuple([tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim)])
    return shape, dtype, strides, <uintptr_t> tensor.data + tensor.first
