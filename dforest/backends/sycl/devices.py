"""Which SYCL devices there are, and what is kept for each.

A *filter string* names a device as dpctl does: ``backend:kind:number``, or parts of it.

A `SyclDevice` is made when it is first asked for, one for each context and device, and stays for the life of the process.
"""

import os
from importlib import import_module
from pathlib import Path
from threading import Lock

from dforest.backends.devices import DeviceInfo
from dforest.errors import DeviceError
from dforest.extras import install_command

_NONE_SEEN = (
    "dpctl sees no SYCL device; a GPU needs its driver, and the processor is a SYCL device with intel-opencl-rt if the "
    "environment variable OCL_ICD_FILENAMES is the path of its libintelocl.so"
)

_MAKERS = {"cuda": "NVIDIA", "hip": "AMD"}  # by the name of their back end

_devices = {}  # by context and device
_lock = Lock()


def list_devices():
    """A `DeviceInfo` for each device that dpctl sees; if it sees none, one for "sycl" that has the reason."""
    try:
        seen = _seen()
    except DeviceError as error:
        return [DeviceInfo("sycl", "", False, str(error))]
    if not seen:
        return [DeviceInfo("sycl", "", False, _NONE_SEEN)]
    found = []
    for device in seen:
        try:
            reason = ""
            _device_of(_dpctl().SyclQueue(device))
        except DeviceError as error:
            reason = str(error)
        found.append(DeviceInfo(device.filter_string, device.name.strip(), not reason, reason))
    return found


def find_device(device=None, queue=None):
    """See `dforest.backends.find_device`; without dpctl or dforest's own module for SYCL there is no device."""
    try:
        dpctl = _dpctl()
        _runtime().check_process()
    except DeviceError as error:
        raise DeviceError(f"device={device!r}: {error}") from error
    if device is not None:
        chosen = _select(device)
        if queue is not None and queue.sycl_device != chosen:
            raise ValueError(
                f"device={device!r} is {_title(chosen)}, but the queue of config_context, or of the arrays given, is on "
                f"{_title(queue.sycl_device)}; allowed are device=None and the same device"
            )
        if queue is None:
            queue = dpctl.SyclQueue(chosen)
    return _device_of(queue)


def _select(device):
    """dpctl's device of that name."""
    if device != "cpu":
        dpctl = _dpctl()
        try:
            return dpctl.SyclDevice() if device == "sycl" else dpctl.SyclDevice(device)
        except (ValueError, dpctl.SyclDeviceCreationError) as error:
            raise DeviceError(f"device={device!r}: there is no such device{_back_end(device)}; {_told()}") from error
    raise ValueError(
        'device="cpu" is the processor without SYCL, but config_context or the arrays given have a SYCL queue; allowed are '
        "device=None and the queue's device"
    )


def _back_end(device):
    """What devices of another maker need, if a device's name begins with a word that other libraries have for them."""
    makers = [maker for word, maker in _MAKERS.items() if device.startswith(word)]
    return f": SYCL's back end for {makers[0]}'s GPUs, a plug-in of its runtime, is not installed" if makers else ""


def _told():
    seen = _seen()
    if not seen:
        return _NONE_SEEN
    return "there are " + ", ".join(_title(device) for device in seen) + ', and "cpu" without SYCL'


def _title(device):
    try:
        return f'"{device.filter_string}" ({device.name.strip()})'
    except ValueError:  # a part of a device has none
        return f"a part of {device.name.strip()}"


def _seen():
    dpctl = _dpctl()
    _runtime().check_process()
    return dpctl.get_devices()


def _device_of(queue):
    from dforest.backends.sycl.device import SyclDevice

    key = queue.sycl_context, queue.sycl_device
    with _lock:
        if key not in _devices:
            _devices[key] = SyclDevice(_dpctl().SyclQueue(*key))
        return _devices[key]


def _dpctl():
    # Built kernels are kept for the next process, unless the user has said where or not to.
    # On CPUs an item of our kernels works alone: to make vectors of items would only take long to compile.
    os.environ.setdefault("CL_CONFIG_CPU_VECTORIZER_MODE", "1")
    if os.environ.setdefault("SYCL_CACHE_PERSISTENT", "1") == "1":
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        os.environ.setdefault("SYCL_CACHE_DIR", str(Path(home) / "dforest" / "sycl"))
    try:
        return import_module("dpctl")
    except ImportError as error:
        raise DeviceError(
            f"SYCL devices need dpctl and Intel's SYCL runtime: {install_command('gpu')} ({error})"
        ) from error


def _runtime():
    _dpctl()  # it loads SYCL's library
    try:
        return import_module("dforest.backends.sycl.runtime")
    except ImportError as error:
        raise DeviceError(
            "dforest was built without its module for SYCL devices; building it needs the "
            f"headers that come with intel-sycl-rt ({error})"
        ) from error
