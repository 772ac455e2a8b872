"""Which devices there are, as users are told."""

from dataclasses import dataclass
from importlib import import_module

from dforest.backends import BACKENDS


@dataclass(frozen=True)
class DeviceInfo:
    """Description of a device that estimators may work on, or the reason why there is none.

    `dforest.devices` returns a list of such descriptions.

    Attributes
    ----------
    device : str
        Value for the parameter `device` of estimators.
    name : str
        Name of the device for people; empty if there is no device.
    usable : bool
        Whether estimators can work on the device.
    reason : str
        Why the device is not usable; empty if it is.

    Examples
    --------
    >>> import dforest
    >>> processor = dforest.devices()[0]
    >>> processor.device, processor.usable
    ('cpu', True)
    """

    device: str
    name: str
    usable: bool
    reason: str = ""


def devices():
    """List the devices that trees can be grown on: the processor, NVIDIA's GPUs, and SYCL devices such as Intel's GPUs.

    Returns
    -------
    list of DeviceInfo
        The first entry is "cpu", the processor, which needs nothing else; then come every GPU of NVIDIA's ("cuda:0") and every
        SYCL device. If there are none of a kind, an entry "cuda" or "sycl" that is not usable has the reason.

    Examples
    --------
    >>> import dforest
    >>> dforest.devices()[0].usable
    True
    """
    found = [DeviceInfo("cpu", "the processor, without SYCL", True)]
    for backend in BACKENDS:
        found += import_module(backend.devices).list_devices()
    return found
