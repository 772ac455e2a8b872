"""Modules outside of dforest, compiled against the dforest that is installed.

What was compiled stays in the folder build/compiled, by a digest of all that it was made from, so that the processes of a test
run, and further runs, need not compile it again.
"""

import contextlib
import hashlib
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

import dforest

try:
    import fcntl
except ImportError:  # on Windows, where processes may compile the same at the same time
    fcntl = None

COMPILED = Path(__file__).parents[2] / "build" / "compiled"


def compile_module(name, source):
    """Compile a Cython module, and import it.

    Parameters
    ----------
    name : str
        Of the module.
    source : str
        What it says.

    Returns
    -------
    module
    """
    cython = pytest.importorskip("Cython")
    parts = name, source, cython.__version__, platform.python_version(), os.environ.get("CFLAGS")
    folder = compiled(parts, lambda folder: build(name, source, folder))
    path = next(path for path in folder.iterdir() if path.suffix in (".so", ".pyd"))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # for pickle
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def compiled(parts, build):
    """The folder in which `build`, called with a folder, left what it made of some parts and dforest, once for all processes."""
    folder = COMPILED / hashlib.sha256(repr((parts, declarations())).encode()).hexdigest()[:20]
    COMPILED.mkdir(parents=True, exist_ok=True)
    with alone(folder.with_suffix(".lock")):
        if not folder.is_dir():
            made = Path(tempfile.mkdtemp(dir=COMPILED, prefix="part-"))
            build(made)
            try:
                made.rename(folder)
            except OSError:  # another process was as quick
                shutil.rmtree(made)
    return folder


@contextlib.contextmanager
def alone(path):
    """Other processes wait for the end of a block of code that has a file of the same path."""
    with path.open("w") as file:
        if fcntl:
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        yield


@cache
def declarations():
    """A digest of what modules outside of dforest compile against."""
    top = Path(dforest.get_include())
    whole = hashlib.sha256(str(top).encode())
    for path in sorted(path for kind in ("pxd", "h", "hpp", "cpp") for path in top.rglob(f"*.{kind}")):
        whole.update(path.read_bytes())
    return whole.hexdigest()


def build(name, source, folder):
    """Leave a compiled module in a folder."""
    cythonize = pytest.importorskip("Cython.Build").cythonize
    setuptools = pytest.importorskip("setuptools")
    (folder / f"{name}.pyx").write_text(source, encoding="utf-8")
    extension = setuptools.Extension(
        name, [str(folder / f"{name}.pyx")], include_dirs=[dforest.get_include()],
        extra_compile_args=["-O0", "-g0", "-ffp-contract=off"],
    )  # fmt: skip
    modules = cythonize([extension], include_path=[str(Path(dforest.__file__).parents[1])], language_level=3, quiet=True)
    command = setuptools.Distribution({"ext_modules": modules}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(folder), str(folder / "temporary")
    command.ensure_finalized()
    command.run()
