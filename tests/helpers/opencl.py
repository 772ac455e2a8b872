"""The processor as a SYCL device, by Intel's OpenCL runtime, for tests and benchmarks."""

import os
from importlib.metadata import PackageNotFoundError, files


def opencl_library():
    """The path of the runtime's library, as pip installed it; None if it is not installed."""
    try:
        return next((str(path.locate().resolve()) for path in files("intel-opencl-rt") if path.name == "libintelocl.so"), None)
    except PackageNotFoundError:
        return None


def offer_processor():
    """Make the processor a device, "opencl:cpu:0", if the runtime is installed.

    This must be called before SYCL is first asked for devices: it sets ``OCL_ICD_FILENAMES``, unless that is set.
    """
    library = opencl_library()
    if library is not None:
        os.environ.setdefault("OCL_ICD_FILENAMES", library)
