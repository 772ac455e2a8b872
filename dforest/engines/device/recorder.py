"""What a piece of work does on a device: kernels, memory, copies, time.

An `Account` counts memory. That of a fit is part of the device's, so that several fits may run on one device at once.
"""

from collections import Counter
from contextlib import contextmanager
from threading import RLock
from time import perf_counter

from dforest.fit_report import FitReport


class Account:
    """How much memory is held, and how much was copied.

    Parameters
    ----------
    whole : Account, optional
        Which this is a part of: what is entered here is entered there too.

    Attributes
    ----------
    n_bytes, n_bytes_most : int
        Held now, and the most there was.
    n_bytes_written, n_bytes_read : int
        Copied to the device so far, and from it.
    """

    def __init__(self, whole=None):
        self.whole = whole
        self._lock = RLock()  # memory may be given back, by whoever collects garbage, while this thread holds it
        self.n_bytes = self.n_bytes_most = self.n_bytes_written = self.n_bytes_read = 0

    def hold(self, n_bytes):
        """Enter memory that was taken, or, if below 0, given back."""
        with self._lock:
            self.n_bytes += n_bytes
            self.n_bytes_most = max(self.n_bytes_most, self.n_bytes)
        if self.whole is not None:
            self.whole.hold(n_bytes)

    def write(self, n_bytes):
        """Enter a copy to the device."""
        with self._lock:
            self.n_bytes_written += n_bytes
        if self.whole is not None:
            self.whole.write(n_bytes)

    def read(self, n_bytes):
        """Enter a copy from the device."""
        with self._lock:
            self.n_bytes_read += n_bytes
        if self.whole is not None:
            self.whole.read(n_bytes)


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

    def __getattr__(self, name):
        return getattr(self._device, name)

    def array(self, array):
        """As the device's."""
        return self._device.array(array, self.account)

    def empty(self, shape, dtype):
        """As the device's."""
        return self._device.empty(shape, dtype, self.account)

    def zeros(self, shape, dtype):
        """As the device's."""
        return self._device.zeros(shape, dtype, self.account)

    def run(self, kernel, n_groups, *arguments, **settings):
        """As the device's."""
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

    def report(self, n_trees):
        """What was done, as `FitReport`."""
        account, seconds = self.account, self._seconds
        return FitReport(
            self.name, n_trees, dict(sorted(self.kernels.items())),
            account.n_bytes_written, account.n_bytes_read, account.n_bytes_most,
            float(seconds["build"]), float(seconds["upload"]), float(seconds["train"]),
        )  # fmt: skip
