"""Imported first of all: an error that says what to do where the compiled modules are missing, as in a folder of sources."""

from pathlib import Path

try:
    import dforest.core.component  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "dforest.core.component":
        raise
    raise ImportError(
        f"{Path(__file__).parent} holds dforest's sources, which are not compiled. Start Python in another folder, "
        "so that it finds the dforest that is installed"
    ) from error
