"""Imported first of all: compiled modules, in the order in which they may bring OpenMP's runtime.

scikit-learn comes first, as a runtime that binds threads to cores leaves few of them to those that are loaded after it. Where the
compiled modules are missing, as in a folder of sources, the error says what to do.
"""

import sys
from pathlib import Path

from threadpoolctl import ThreadpoolController


def _runtimes():
    return {library.filepath for library in ThreadpoolController().select(user_api="openmp").lib_controllers}


_before = _runtimes()
if "sklearn.utils" in sys.modules:
    _between = _before
else:
    import sklearn.utils  # noqa: F401

    _between = _before and _runtimes()
try:
    import dforest.core.component
    import dforest.core.threads
except ModuleNotFoundError as error:
    if error.name != "dforest.core.component":
        raise
    raise ImportError(
        f"{Path(__file__).parent} holds dforest's sources, which are not compiled. Start Python in another folder, "
        "so that it finds the dforest that is installed"
    ) from error
if _before and _runtimes() == _between:
    dforest.core.threads.share_runtime()
