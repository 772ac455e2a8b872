"""What a piece of work does on a device: kernels, memory, copies, time."""

from collections import Counter
from contextlib import contextmanager
from time import perf_counter
from weakref import finalize

from dforest.engines.device.backend import Account
from dforest.engines.fit_report import FitReport


class Recorder:
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
        self._device = device
        self._seconds = Counter()
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

    @contextmanager
    def timed(self, what):
        """Add the time of a block to that of "build", "upload" or "train"."""
        start = perf_counter()
        try:
            yield
        finally:
            self._seconds[what] += perf_counter() - start

    def report(self, n_trees, train_seconds=None):
        """What was done, as `FitReport`. train_seconds: those of "train", unless given."""
        account, seconds = self.account, self._seconds
        if train_seconds is None:
            train_seconds = float(seconds["train"])
        return FitReport(
            self.name, n_trees, dict(sorted(self.kernels.items())),
            account.n_bytes_written, account.n_bytes_read, account.n_bytes_most,
            float(seconds["build"]), float(seconds["upload"]), train_seconds,
        )  # fmt: skip
