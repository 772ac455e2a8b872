"""Parts of dforest's core that only tests ask, as functions over arrays: `from probes import rules`.

Each .pyx beside this file is compiled when a test first asks it: see `helpers.compiling`.
"""

from functools import cache
from pathlib import Path

from helpers.compiling import compile_module


class Probe:
    """The functions of a .pyx, given its path."""

    def __init__(self, source):
        self.source = source

    def __getattr__(self, name):
        if name.startswith("_"):  # pytest asks, when it collects tests
            raise AttributeError(name)
        return getattr(compiled(self.source), name)


@cache
def compiled(source):
    directives = "# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False\n"
    return compile_module(f"{source.stem}_probe", directives + source.read_text(encoding="utf-8"))


globals().update({source.stem: Probe(source) for source in Path(__file__).parent.glob("*.pyx")})
