"""Arrays of GPUs by DLPack, in and out, as far as the header dlpack.h of its version 0 goes.

A *capsule* owns an array that is handed over: whoever takes it renames it, and calls its *deleter* in the end; if nobody takes
it, its destructor does. What we hand over is kept alive by `_lent` until then.
"""

import ctypes

import numpy as np

from dforest.backends.strided import contiguous

CUDA = 2  # kDLCUDA
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}  # by the codes of types
_NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("first", ctypes.c_uint64),
    )  # fmt: skip


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_lent = {}  # by the address of a DLManagedTensor: it, its shape, and the array


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _deleter(address):
    _lent.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destructor(capsule):
    if _is_valid(capsule, _NAME):
        _lent.pop(_pointer_at(capsule, _NAME), None)


def _function(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_pointer = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
# A capsule that ends has no references any more, and must get none.
_pointer_at = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_is_valid = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_made = _function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def capsule_of(array, number):
    """A capsule for an array that owns its memory, a `CudaArray` of the GPU of a number."""
    shape = (ctypes.c_int64 * len(array.shape))(*array.shape)
    managed = _Managed()
    tensor = managed.tensor
    tensor.data, tensor.device_type, tensor.device, tensor.ndim = array.address, CUDA, number, len(array.shape)
    tensor.code = next(code for code, kind in _KINDS.items() if kind == array.dtype.kind)
    tensor.bits, tensor.lanes = 8 * array.dtype.itemsize, 1
    tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = ctypes.cast(_deleter, ctypes.c_void_p)
    address = ctypes.addressof(managed)
    _lent[address] = managed, shape, array
    return _made(address, _NAME, ctypes.cast(_destructor, ctypes.c_void_p))


def layout_of(capsule):
    """(shape, dtype, strides in bytes, address) of what a capsule owns, which is to be kept as long as the memory is used."""
    tensor = _Tensor.from_address(_pointer(capsule, _NAME))
    if tensor.code not in _KINDS or tensor.lanes != 1:
        raise ValueError(
            f"an array on a GPU has entries of DLPack's type {tensor.code} with {tensor.lanes} lanes; allowed are integers, "
            "floating point numbers and truth values"
        )
    dtype = np.dtype(f"{_KINDS[tensor.code]}{tensor.bits // 8}")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = contiguous(shape, dtype.itemsize)
    if tensor.strides:
        strides = tuple(n * dtype.itemsize for n in tensor.strides[: tensor.ndim])
    return shape, dtype, strides, (tensor.data or 0) + tensor.first
