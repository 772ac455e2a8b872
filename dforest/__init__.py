"""Decision forests: exact or binned, fast, and the same to the bit on any number of threads."""

from importlib import import_module
from pathlib import Path

from dforest.interchange.pickles import know_moved_modules
from dforest.public import HOMES, MODULES, public

know_moved_modules()

__all__ = ["get_include", *HOMES]


def __getattr__(name):
    if name == "__version__":
        return import_module("importlib.metadata").version("dforest")
    if name in MODULES:
        return import_module(f"dforest.{name}")
    if name in HOMES:
        return globals().setdefault(name, public(name))
    if name.startswith("__"):  # which Python asks for, and nobody by another library's name
        raise AttributeError(f"module 'dforest' has no attribute {name!r}")
    hint = import_module("dforest.estimators.other_names").PACKAGE_NAMES.get(name)
    raise AttributeError(f"module 'dforest' has no attribute {name!r}{f'. {hint}' if hint else ''}")


def __dir__():
    return sorted([*__all__, *MODULES, "__version__"])


def get_include():
    """Return the folder that contains dforest's C headers, for compiling extensions against them.

    A splitter, criterion or loss of your own that is written in Cython is such an extension.

    Returns
    -------
    str
        Folder to be added to the include path of an extension that cimports `dforest.core` or `dforest.rules`. Headers are
        named from there, as in dforest's `.pxd` files: ``rules/random.h``, ``core/predict/walk.h``.

    Examples
    --------
    >>> from pathlib import Path
    >>> import dforest
    >>> Path(dforest.get_include()).name
    'dforest'
    """
    return str(Path(__file__).parent)
