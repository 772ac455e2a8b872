"""Builds the compiled module; everything else is in pyproject.toml."""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

import dforest

headers = dforest.get_include()

setup(
    ext_modules=cythonize(
        # Never round a multiplication and an addition at once: the same bits on every machine.
        Extension("template.splitter", ["template/splitter.pyx"], include_dirs=[headers],
                  extra_compile_args=["-O3", "-ffp-contract=off"]),
        # For an editable install of dforest, whose .pxd files are not with the other packages.
        include_path=[str(Path(headers).parent)],
        compiler_directives={"boundscheck": False, "wraparound": False, "cdivision": True, "initializedcheck": False},
        language_level=3,
    )
)
