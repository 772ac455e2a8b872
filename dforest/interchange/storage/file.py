"""Model files as such: what they are opened with, which versions of the format are read, and what is said of damaged ones.

What a file's JSON means to a reader is the reader's: an estimator (`dforest.interchange.storage.model`), or what is loaded for
serving (`dforest.serving`), which needs NumPy alone.
"""

import json
from importlib import import_module

import numpy as np

from dforest.errors import ModelFileError
from dforest.estimators.data.given import file_path_of
from dforest.interchange.storage.container import Container
from dforest.interchange.storage.values import ValueReader

FORMAT_VERSION = 2
_READ_VERSIONS = ("1", "2")
_WRONG = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError)


def check_flag(name, flag):
    """Raise ValueError unless a parameter is a truth value."""
    if not isinstance(flag, bool | np.bool_):
        raise ValueError(f"{name}={flag!r}; allowed are True and False")


def read_file(path, mmap, components, n_threads, read_model):
    """What a reader makes of a model file: see `dforest.load`, of which the first three are parameters.

    Parameters
    ----------
    n_threads : int
        How many threads may look at checksums and at packed trees.
    read_model : callable
        Given the JSON of a model, the container, a `ValueReader`, whether to map the file, and how the names of the model's
        arrays begin. Whatever it raises because the JSON says something else than it expects becomes ModelFileError.
    """
    path = file_path_of(path)
    check_flag("mmap", mmap)
    for component in components:
        if not callable(component) or not hasattr(component, "__qualname__"):
            raise ValueError(f"components holds {component!r}; allowed are classes and functions")
    container = Container(path, n_threads)
    try:
        _check_version(container.texts)
        reader = ValueReader(container.array if mmap else lambda name: container.array(name).copy(), components)
        return read_model(json.loads(container.texts["model"]), container, reader, mmap, "")
    except ModelFileError:
        raise
    except _WRONG as error:
        raise container.error(f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}") from error


def _check_version(texts):
    if texts.get("format") != "dforest":
        raise ValueError("it does not contain a model of dforest")
    if texts.get("format_version") not in _READ_VERSIONS:
        own = import_module("importlib.metadata").version("dforest")
        raise ValueError(
            f"it was written by dforest {texts.get('dforest_version')} in version {texts.get('format_version')} of the format; "
            f"this is dforest {own}, which reads the versions {' and '.join(_READ_VERSIONS)}"
        )
