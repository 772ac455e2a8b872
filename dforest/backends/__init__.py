"""Backends: whose devices trees can be grown and rows predicted on. This is the one place that knows which backends there are.

A backend is a folder here; `dforest.engines.device` says what it has to bring. Backends whose devices users name, or whose arrays
they hand over, have an entry in `BACKENDS`. Nothing of a backend is imported before it is needed.
"""

import re
from importlib import import_module
from typing import NamedTuple

import numpy as np


class Backend(NamedTuple):
    """Where the parts of a backend are.

    Attributes
    ----------
    names : str
        A regular expression for the names of its devices. The first backend whose expression a name matches is the name's.
    interface : str
        An attribute that arrays in the memory of its devices have, and no others.
    dlpack : tuple of int
        The types of its devices in DLPack, by which arrays without the interface are known.
    queue : str
        An attribute that queues on its devices have, and no others.
    devices : str
        A module with ``find_device(device, queue)``, which returns the `dforest.engines.device.backend.Device` that a user means,
        and ``list_devices()``, which returns a `DeviceInfo` for each.
    arrays : str
        A module of functions for arrays with the interface: ``queue_of(array)``; ``on_host(array)``, a copy; ``like(array,
        result)``, a result as an array of the library that made another one, on its queue; ``rows_of(array, device)``, an array
        where it is, as `dforest.engines.device.backend.DeviceArray`, or None.
    """

    names: str
    interface: str
    dlpack: tuple
    queue: str
    devices: str
    arrays: str


BACKENDS = (
    Backend(
        r"cuda(:\d+)?", "__cuda_array_interface__", (2, 13), "stream",
        "dforest.backends.cuda.devices", "dforest.backends.cuda.arrays",
    ),
    Backend(
        ".*", "__sycl_usm_array_interface__", (), "sycl_device",
        "dforest.backends.sycl.devices", "dforest.backends.sycl.usm",
    ),
)  # fmt: skip


def is_on_device(array):
    """Whether an array's memory is that of a device."""
    return type(array) is not np.ndarray and _backend_with(array) is not None


def functions_for(array):
    """The module `Backend.arrays` for an array on a device."""
    return import_module(_backend_with(array).arrays)


def _backend_with(array):
    """The backend in the memory of whose devices an array is, or None."""
    for backend in BACKENDS:
        if hasattr(array, backend.interface):
            return backend
    if not hasattr(array, "__dlpack_device__"):
        return None
    try:
        kind, _ = array.__dlpack_device__()
    except Exception:  # libraries' own, of arrays that lie on several devices, or on none
        return None
    return next((backend for backend in BACKENDS if kind in backend.dlpack), None)


def find_device(device=None, queue=None):
    """The device that a user means.

    Parameters
    ----------
    device : str or None
        As the estimators' parameter: "cuda" or "cuda:1", say, for NVIDIA's GPUs; "gpu", "sycl", or a filter string of SYCL.
    queue : object, optional
        What `dforest.config_context` was given, or the queue of arrays on a device: it says where, if `device` is None.

    Returns
    -------
    dforest.engines.device.backend.Device

    Raises
    ------
    DeviceError
        If there is no such device, if it can't run the kernels, or if something is not installed.
    ValueError
        If `device` and the queue are not of the same device.
    """
    backend = _backend_of(device, queue)
    if queue is not None and not hasattr(queue, backend.queue):
        raise ValueError(
            f"device={device!r}, but the queue of config_context, or the arrays given, are of a device of another kind; allowed "
            "are device=None and the same device"
        )
    return import_module(backend.devices).find_device(device, queue)


def _backend_of(device, queue):
    if device is None:
        (backend,) = (backend for backend in BACKENDS if hasattr(queue, backend.queue))
        return backend
    return next(backend for backend in BACKENDS if re.fullmatch(backend.names, device))


def processor(n_threads):
    """The processor as a device, whose kernels are compiled with dforest."""
    return import_module("dforest.backends.host.device").HostDevice(n_threads)
