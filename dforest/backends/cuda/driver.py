"""What dforest calls of NVIDIA's driver, by the package cuda-bindings.

A *context* is a process's share of a GPU. Ours is the GPU's *primary* context, which CuPy, PyTorch and others use too, so that
memory of one is memory of all. A thread calls the driver between `Context.__enter__` and `Context.__exit__`, and finds the
context that it had before when it comes back.

A *stream* is a queue of work that a GPU does in order.
"""

import os
from functools import cache
from importlib import import_module

from dforest.errors import DeviceError
from dforest.extras import install_command

_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
_process = None  # the one that started the driver


class CudaError(DeviceError):
    """What the driver says when a call fails.

    Attributes
    ----------
    is_out_of_memory : bool
        Whether a GPU has not that much memory left. After most other errors of kernels and copies, a context can't be used.
    """

    def __init__(self, message, is_out_of_memory=False):
        super().__init__(message)
        self.is_out_of_memory = is_out_of_memory


@cache
def bindings(name="driver"):
    """The module of cuda-bindings for the driver, or for the compiler, "nvrtc".

    Raises
    ------
    DeviceError
        If it is not installed.
    """
    try:
        return import_module(f"cuda.bindings.{name}")
    except ImportError as error:
        raise DeviceError(f"NVIDIA GPUs need cuda-bindings and NVRTC: {install_command('cuda')} ({error})") from error


def call(name, *arguments):
    """Call a function of the driver.

    Parameters
    ----------
    name : str
        Of the function in the module `cuda.bindings.driver`.
    *arguments : object

    Returns
    -------
    object
        What the function gives besides its status: None, a value, or a tuple of them.

    Raises
    ------
    CudaError
        If the function fails.
    """
    function = getattr(bindings(), name)
    try:
        status, *values = function(*arguments)
    except RuntimeError as error:  # where cuda-bindings finds no library
        raise CudaError(f"NVIDIA's driver is not installed, or can't be loaded ({error})") from error
    if status:
        raise CudaError(f"{_described(status)} ({name})", int(status) == _OUT_OF_MEMORY)
    return values[0] if len(values) == 1 else tuple(values) or None


def _described(status):
    _, name = bindings().cuGetErrorName(status)
    _, text = bindings().cuGetErrorString(status)
    return f"{_text(name) or status}: {_text(text)}"


def _text(found):
    return found.decode(errors="replace") if isinstance(found, bytes) else str(found or "")


def count_devices():
    """How many GPUs the driver sees.

    Raises
    ------
    DeviceError
        If the driver or cuda-bindings is not installed, or if the driver fails.
    """
    global _process
    check_process()
    call("cuInit", 0)
    _process = os.getpid()
    return call("cuDeviceGetCount")


def check_process():
    """Raise DeviceError if this process was forked from one that had started the driver."""
    if _process not in (None, os.getpid()):
        raise DeviceError(
            "this process was forked from one that had used CUDA, which a forked process can't use; start processes with "
            '"spawn" (multiprocessing.set_start_method), or with joblib, whose backend "loky" does so'
        )


def attribute(gpu, name):
    """An attribute of a GPU, by its name without "CU_DEVICE_ATTRIBUTE_"."""
    return call("cuDeviceGetAttribute", getattr(bindings().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), gpu)


class Context:
    """The primary context of a GPU: a context manager, inside of which the calling thread works on the GPU.

    It is kept until the process ends.

    Parameters
    ----------
    number : int
        Of the GPU.
    """

    def __init__(self, number):
        self.gpu = call("cuDeviceGet", number)
        self._context = call("cuDevicePrimaryCtxRetain", self.gpu)

    def __enter__(self):
        call("cuCtxPushCurrent", self._context)
        return self

    def __exit__(self, *_):
        call("cuCtxPopCurrent")
