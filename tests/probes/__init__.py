"""Parts of dforest's core that only tests ask, as functions over arrays: `from probes import rules`.

Each .pyx beside this file is compiled when it is first imported: see `helpers.compiling`.
"""

from functools import cache
from pathlib import Path

from helpers.compiling import compile_module


@cache
def __getattr__(name):
    source = Path(__file__).parent / f"{name}.pyx"
    if not source.is_file():
        raise AttributeError(name)
    directives = "# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False\n"
    return compile_module(f"{name}_probe", directives + source.read_text(encoding="utf-8"))
