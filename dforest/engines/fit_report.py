"""Where a fit grew its trees, and what that took."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

_SECONDS = ("build_seconds", "upload_seconds", "train_seconds", "wait_seconds")


@dataclass(frozen=True)
class FitReport:
    """Report on where the last `fit` grew its trees, and how much time and memory that took.

    It is the attribute `fit_report_` of fitted estimators; ``print`` shows it. Seconds belong to the process that measured
    them: in a pickled copy they are None, so that equal fits give equal pickles.

    Attributes
    ----------
    device : str
        Where trees were grown: "cpu", which is the processor as such, or the name of a device. For "cpu", all
        attributes that follow, except for `n_trees`, `train_seconds` and `n_ranks`, are 0 or empty.
    n_trees : int
        Number of trees that this fit grew; with ``warm_start=True``, the number of trees that it added.
    kernels : dict of str to int
        Names of the kernels that ran on the device, and how often each was launched.
    bytes_written, bytes_read : int
        Bytes that were copied to the device's memory, and from it.
    bytes_most : int
        Most bytes of the device's memory that the fit held at a time.
    build_seconds : float
        Seconds for building the kernels; nearly 0 if this process had built them before.
    upload_seconds : float
        Seconds for copying the data to the device's memory.
    train_seconds : float
        Seconds for growing the trees, once data and kernels were ready.
    n_ranks : int
        Number of processes ("ranks") that grew the trees together. If it is 1, the attributes that follow are 0.
    n_rounds : int
        Number of times that the ranks exchanged data, from the beginning of the fit until the trees were grown.
    bytes_sent : int
        Bytes that this rank sent to others.
    ship_up_to : int
        Size of the largest subtree that a single rank grew on its own, in records, which are distinct rows of a tree.
    wait_seconds : float
        Seconds that this rank spent exchanging data, mostly waiting for others.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> report = RandomForestClassifier(10, random_state=0).fit(X, y).fit_report_
    >>> report.device, report.n_trees
    ('cpu', 10)
    """

    device: str
    n_trees: int = 0
    kernels: dict = field(default_factory=dict, hash=False)
    bytes_written: int = 0
    bytes_read: int = 0
    bytes_most: int = 0
    build_seconds: float = 0.0
    upload_seconds: float = 0.0
    train_seconds: float = 0.0
    n_ranks: int = 1
    n_rounds: int = 0
    bytes_sent: int = 0
    ship_up_to: int = 0
    wait_seconds: float = 0.0

    def __getstate__(self):
        return vars(self) | dict.fromkeys(_SECONDS)

    @property
    def n_launches(self):
        """Number of launches of all kernels together: int."""
        return sum(self.kernels.values())

    def __str__(self):
        trees = "1 tree" if self.n_trees == 1 else f"{self.n_trees} trees"
        line = f"{self.device}: {trees}"
        if self.train_seconds is not None:
            line += f" in {self.train_seconds:.3f} s"
        if self.n_ranks > 1:
            line += f"\n{self.n_ranks} ranks: {self.n_rounds} rounds, {self.bytes_sent / 2**20:.1f} MiB sent by this one"
            if self.wait_seconds is not None:
                line += f", {self.wait_seconds:.3f} s at exchanging"
            return line + (f"; subtrees of up to {self.ship_up_to} records grown by one rank each" if self.ship_up_to else "")
        if not self.kernels:
            return line
        width = max(map(len, self.kernels))
        written, read, most = (f"{n / 2**20:.1f} MiB" for n in (self.bytes_written, self.bytes_read, self.bytes_most))
        return "\n".join(
            [
                line
                if self.train_seconds is None
                else f"{line}, after {self.build_seconds:.3f} s to build kernels and {self.upload_seconds:.3f} s to upload data",
                f"{written} written there, {read} read, at most {most} held",
                *(f"{kernel:<{width}}  {n:>6}" for kernel, n in self.kernels.items()),
            ]
        )


class Stopwatch:
    """Keeps how long it took to grow trees.

    Parameters
    ----------
    name : str
        What the engine is called.
    """

    def __init__(self, name):
        self.name, self._seconds = name, Counter()

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
        seconds = {f"{what}_seconds": float(taken) for what, taken in self._seconds.items()}
        return FitReport(self.name, n_trees, **seconds)
