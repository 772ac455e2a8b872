"""Cython modules outside of dforest, compiled against the dforest that is installed.

What was compiled stays in the folder build/compiled, by a digest of all that it was made from, so that the processes of a test
run, and further runs, need not compile it again.
"""

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
    digest = hashlib.sha256(repr((name, source, declarations())).encode()).hexdigest()
    folder = COMPILED / digest[:20]
    if not folder.is_dir():
        COMPILED.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=COMPILED, prefix="part-"))
        build(name, source, made)
        try:
            made.rename(folder)
        except OSError:  # another process was as quick
            shutil.rmtree(made)
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


@cache
def declarations():
    """A digest of what modules outside of dforest compile against."""
    top, whole = Path(dforest.get_include()), hashlib.sha256()
    cython = pytest.importorskip("Cython")
    whole.update(repr((str(top), cython.__version__, platform.python_version(), os.environ.get("CFLAGS"))).encode())
    for path in sorted(path for kind in ("pxd", "h") for path in top.rglob(f"*.{kind}")):
        whole.update(path.read_bytes())
    return whole.hexdigest()


def build(name, source, folder):
    """Leave a compiled module in a folder."""
    cythonize = pytest.importorskip("Cython.Build").cythonize
    setuptools = pytest.importorskip("setuptools")
    (folder / f"{name}.pyx").write_text(source, encoding="utf-8")
    extension = setuptools.Extension(
        name, [str(folder / f"{name}.pyx")], include_dirs=[dforest.get_include()],
        extra_compile_args=["-O1", "-g0", "-ffp-contract=off"],
    )  # fmt: skip
    modules = cythonize([extension], include_path=[str(Path(dforest.__file__).parents[1])], language_level=3, quiet=True)
    command = setuptools.Distribution({"ext_modules": modules}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(folder), str(folder / "temporary")
    command.ensure_finalized()
    command.run()
