"""Settings of the whole test suite, and modules compiled for it."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

import dforest

# Python started by a test imports the installed dforest too, never the source folder in the current directory.
os.environ["PYTHONSAFEPATH"] = "1"


@pytest.hookimpl(tryfirst=True)  # before -m looks at marks
def pytest_collection_modifyitems(items):
    """Mark as quick the first case of every test that is not marked as slow."""
    seen = set()
    for item in items:
        test = item.path, getattr(item, "originalname", item.name)
        if test not in seen and not item.get_closest_marker("slow"):
            item.add_marker("quick")
        seen.add(test)


@pytest.fixture(scope="session")
def compile_module(tmp_path_factory):
    """Compile a Cython module outside of dforest, given its name and source, and import it."""
    build = pytest.importorskip("Cython.Build")
    setuptools = pytest.importorskip("setuptools")

    def compile_one(name, source):
        folder = tmp_path_factory.mktemp(name)
        (folder / f"{name}.pyx").write_text(source)
        extension = setuptools.Extension(
            name, [str(folder / f"{name}.pyx")], include_dirs=[dforest.get_include()], extra_compile_args=["-O1", "-g0"]
        )
        modules = build.cythonize(
            [extension], include_path=[str(Path(dforest.__file__).parents[1])], language_level=3, quiet=True
        )
        command = setuptools.Distribution({"ext_modules": modules}).get_command_obj("build_ext")
        command.build_lib = command.build_temp = str(folder)
        command.ensure_finalized()
        command.run()
        spec = importlib.util.spec_from_file_location(name, command.get_ext_fullpath(name))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # for pickle
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module

    return compile_one
