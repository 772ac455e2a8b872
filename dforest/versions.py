"""What a report about a bug should say of the machine: versions of dforest, of what it works with, and how it was built."""

import os
import platform
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

LIBRARIES = (
    "numpy", "scikit-learn", "scipy", "joblib", "threadpoolctl", "pandas", "polars", "pyarrow", "dask", "mpi4py", "dpctl",
    "cuda-bindings", "onnx", "onnxruntime", "shap", "treelite", "matplotlib",
)  # fmt: skip


def show_versions():
    """Print the versions of dforest, of Python and of other libraries, and what this machine's processor offers.

    Reports about bugs should have this. What is printed names no files of yours but the one of the Python that runs.

    Examples
    --------
    >>> import dforest
    >>> dforest.show_versions()  # doctest: +ELLIPSIS
    dforest: ...
    """
    loops, threads = import_module("dforest.core.loops"), import_module("dforest.core.threads")
    facts = {
        "dforest": version("dforest"),
        "loops": f"{os.environ.get('DFOREST_LOOPS', loops.names()[-1])} of {', '.join(loops.names())}",
        "threads": f"{threads.openmp_threads()} by OpenMP, {os.cpu_count()} of the machine",
        "Python": " ".join(sys.version.split()),
        "executable": sys.executable,
        "machine": platform.platform(),
    }
    for name in LIBRARIES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = None
    for name, fact in facts.items():
        print(f"{name}: {fact}")
