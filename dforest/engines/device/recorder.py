"""What a piece of work does on a device: kernels, memory, copies, time."""

from collections import Counter
from dataclasses import replace
from weakref import finalize

from dforest.engines.device.backend import Account
from dforest.engines.fit_report import Stopwatch


class Recorder(Stopwatch):
    """Stands in for a device, and keeps what is done there through it.

    Parameters
    ----------
    device : Device

    Attributes
    ----------
    account : Account
        Of the arrays made here.
    kernels : Counter
        Launches by kernel.
    """

    def __init__(self, device):
        super().__init__(device.name)
        self._device = device
        self.account = Account(device.account)
        self.kernels = Counter()
        device.keep_memory(True)
        finalize(self, device.keep_memory, False).atexit = False

    def __getattr__(self, name):
        return getattr(self._device, name)

    def array(self, array):
        """A NumPy array on the device, entered in this account."""
        return self._device.array(array, self.account)

    def empty(self, shape, dtype):
        """An array of whatever the device's memory holds, entered in this account."""
        return self._device.empty(shape, dtype, self.account)

    def zeros(self, shape, dtype):
        """An array of zeros on the device, entered in this account."""
        return self._device.zeros(shape, dtype, self.account)

    def run(self, kernel, n_groups, *arguments, **settings):
        """Run a kernel, and count it."""
        self._device.run(kernel, n_groups, *arguments, **settings)
        if n_groups:
            self.kernels[kernel] += 1

    def report(self, n_trees):
        account = self.account
        return replace(
            super().report(n_trees), kernels=dict(sorted(self.kernels.items())), bytes_written=account.n_bytes_written,
            bytes_read=account.n_bytes_read, bytes_most=account.n_bytes_most,
        )  # fmt: skip
