"""Which NVIDIA GPUs there are: "cuda" is the first, "cuda:1" the second, as CUDA counts them.

A `CudaDevice` is made when it is first asked for, and stays for the life of the process.
"""

from threading import Lock

from dforest.backends.devices import DeviceInfo
from dforest.errors import DeviceError

_devices = {}  # by number
_lock = Lock()


def list_devices():
    """A `DeviceInfo` for each GPU that CUDA sees; if it sees none, one for "cuda" that has the reason."""
    from dforest.backends.cuda.compiler import architecture_for
    from dforest.backends.cuda.device import capability_of, name_of
    from dforest.backends.cuda.driver import count_devices

    try:
        n = count_devices()
    except DeviceError as error:
        return [DeviceInfo("cuda", "", False, str(error))]
    if n == 0:
        return [DeviceInfo("cuda", "", False, "NVIDIA's driver sees no GPU")]
    found = []
    for number in range(n):
        reason = ""
        try:
            architecture_for(capability_of(number))
        except DeviceError as error:
            reason = str(error)
        found.append(DeviceInfo(f"cuda:{number}", name_of(number), not reason, reason))
    return found


def find_device(device=None, queue=None):
    """See `dforest.backends.find_device`; the queue of arrays on a GPU is the GPU's `CudaDevice`."""
    from dforest.backends.cuda.device import name_of
    from dforest.backends.cuda.driver import count_devices

    if device is None:
        return queue
    try:
        n = count_devices()
    except DeviceError as error:
        raise DeviceError(f"device={device!r}: {error}") from error
    number = int(device.partition(":")[2] or 0)
    if number >= n:
        there = ", ".join(f'"cuda:{i}" ({name_of(i)})' for i in range(n)) or "none"
        raise DeviceError(f"device={device!r}: there is no such GPU; there are {there}")
    found = device_of(number)
    if queue not in (None, found):
        raise ValueError(
            f'device={device!r} is "cuda:{number}", but the arrays given are on "cuda:{queue.number}"; allowed are device=None '
            "and the same device"
        )
    return found


def device_of(number):
    """The `CudaDevice` of a number."""
    from dforest.backends.cuda.device import CudaDevice

    with _lock:
        if number not in _devices:
            _devices[number] = CudaDevice(number)
        return _devices[number]
