"""Forests on a device, and the kernels they are made by.

The device is the one that DFOREST_BENCH_DEVICE names, such as "cuda", or else the processor as a SYCL device, if intel-opencl-rt
is installed. Without a device, all benchmarks here are skipped.
"""

import os
from time import perf_counter

import numpy as np
from helpers.device_forests import standing_in, tuned
from helpers.opencl import offer_processor

from dforest.backends import find_device
from dforest.engines.device import kernel_source
from dforest.errors import DeviceError

from . import data
from .forests import KINDS, ROWS, forest_for

DEVICE = os.environ.get("DFOREST_BENCH_DEVICE", "opencl:cpu:0")
PROBLEMS = ["waves", "grid", "friedman"]
KERNELS = sorted(kernel_source.kernels())

offer_processor()


def found_device():
    """The device, with its kernels built. Without one, asv is told to skip the benchmark."""
    try:
        device = find_device(DEVICE)
        device.build()
    except DeviceError as error:
        raise NotImplementedError(str(error)) from error
    return device


def tuning():
    """Data cut small have large nodes too."""
    return {} if data.DIVISOR == 1 else {"subtree_up_to": 40}


class Launches:
    """Stands in for a device, and keeps the longest launch of a kernel and what its arrays held."""

    def __init__(self, device, kernel):
        self.device, self.kernel, self.small = device, kernel, device.zeros(1, np.uint8)
        self.seconds, self.longest = -1.0, None

    def __getattr__(self, name):
        return getattr(self.device, name)

    def run(self, kernel, n_groups, *arguments, **settings):
        wanted = kernel == self.kernel and n_groups
        held = [(array, array.get()) for array in arguments if hasattr(array, "get")] if wanted else []
        self.small.get()  # which waits for all work
        start = perf_counter()
        self.device.run(kernel, n_groups, *arguments, **settings)
        self.small.get()
        seconds = perf_counter() - start
        if wanted and seconds > self.seconds:
            self.seconds, self.longest = seconds, ((kernel, n_groups, *arguments), settings, held)


class DeviceFit:
    """Training on the device, with data on the host."""

    params = (PROBLEMS, KINDS)
    param_names = ("problem", "kind")

    def setup(self, name, kind):
        found_device()
        self.problem = data.load(name, ROWS)
        self.forest = forest_for(self.problem, kind, device=DEVICE)

    def time_fit(self, name, kind):
        self.forest.fit(self.problem.X, self.problem.y)

    def track_memory(self, name, kind):
        """The most memory of the device that training holds."""
        return self.forest.fit(self.problem.X, self.problem.y).fit_report_.bytes_most

    track_memory.unit = "bytes"


class DevicePredict:
    """Prediction on the device by a forest that has predicted before, with rows on the host."""

    params = (PROBLEMS,)
    param_names = ("problem",)

    def setup(self, name):
        found_device()
        self.problem = data.load(name, ROWS)
        self.forest = forest_for(self.problem, "RandomForest").fit(self.problem.X, self.problem.y).set_params(device=DEVICE)
        self.forest.predict(self.problem.X_test)

    def time_test_set(self, name):
        self.forest.predict(self.problem.X_test)


class Kernel:
    """The longest launch of a kernel while a forest is grown and used, again and again."""

    params = (KERNELS, ["waves", "friedman"])
    param_names = ("kernel", "problem")

    def setup(self, kernel, name):
        problem = data.load(name, ROWS)
        launches = Launches(found_device(), kernel)
        with standing_in(launches), tuned(tuning()):
            forest = forest_for(problem, "RandomForest", device="sycl").fit(problem.X, problem.y)
            forest.predict(problem.X_test)
            forest.apply(problem.X_test)
        if launches.longest is None:
            raise NotImplementedError(f"{kernel} is not run for {name}")
        self.device, self.small = launches.device, launches.small
        self.arguments, self.settings, held = launches.longest
        for array, values in held:
            array.write(values)
        # Its records get other targets, so that another run would find another forest.
        names = [parameter.name for parameter in kernel_source.kernels()[kernel]]
        at = 2 + names.index("records") if kernel == "df_grow_subtrees" else None
        self.changed = [] if at is None else [(array, values) for array, values in held if array is self.arguments[at]]

    def time_run(self, kernel, name):
        for array, values in self.changed:
            array.write(values)
        self.device.run(*self.arguments, **self.settings)
        self.small.get()
