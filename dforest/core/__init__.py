"""The compiled core: from coded columns to grown trees and predictions. It knows no estimators.

Where the compiled modules are missing, as in a folder of sources, the error says what to do. Whether a runtime of OpenMP was
there before dforest's modules is noted here, before the first of them is loaded.
"""

from importlib import import_module
from pathlib import Path

from dforest.core.cores import openmp_runtimes


def _runtimes():
    """The files of the OpenMP runtimes that are loaded; None: nobody can tell."""
    runtimes = openmp_runtimes()
    return None if runtimes is None else {library.filepath for library in runtimes}


_before = _runtimes()
try:
    _threads = import_module("dforest.core.threads")
except ModuleNotFoundError as error:
    if error.name != "dforest.core.threads":
        raise
    raise ImportError(
        f"{Path(__file__).parents[1]} holds dforest's sources, which are not compiled. Start Python in another folder, "
        "so that it finds the dforest that is installed"
    ) from error
if _before is None or _before and _runtimes() == _before:
    _threads.share_runtime()
