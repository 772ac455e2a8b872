"""The source of all kernels, and what each of them takes.

A kernel's signature stands in its source alone: ``DF_KERNEL name(const float *x, int64_t n, DF_LOCAL)``; see
``kernels/group.hpp``.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from dforest.rules.records import record

FOLDER = Path(__file__).parent / "kernels"
MAIN = "kernels.cpp"
# What kernels may include of the rest of dforest, besides all of its rules.
HEADERS = ("core/rows.h", "core/predict/totals.h", "core/predict/walk.h")

# What a pointer points to; char: anything.
_DTYPES = {
    "char": None,
    "double": np.dtype(np.float64),
    "float": np.dtype(np.float32),
    **{f"{name}_t": np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_KERNEL = re.compile(r"^DF_KERNEL\s+(\w+)\s*\(([^()]*)\)", re.MULTILINE)
_PARAMETER = re.compile(r"(?:const\s+)?(\w+)\s*(\*?)\s*(?:const\s+)?(\w+)")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel.

    Attributes
    ----------
    name : str
    is_pointer : bool
        Else an integer of 64 bits.
    dtype : numpy.dtype or None
        Of what it points to; None: of any type.
    """

    name: str
    is_pointer: bool
    dtype: np.dtype | None


def parse(text):
    """The kernels that a source declares: a dict of names to lists of `Parameter`, without the memory of the group.

    Raises
    ------
    ValueError
        If a parameter is of another kind than kernels have.
    """
    found = {}
    for name, parameters in _KERNEL.findall(_COMMENT.sub("", text)):
        *parameters, last = (parameter.strip() for parameter in parameters.split(","))
        if last != "DF_LOCAL":
            raise ValueError(f"the last parameter of {name} is {last!r}; allowed is DF_LOCAL")
        found[name] = [_parameter(name, parameter) for parameter in parameters]
    return found


def _parameter(kernel, text):
    match = _PARAMETER.fullmatch(text)
    kind, star, name = match.groups() if match else (None, None, None)
    is_record = bool(star) and kind.startswith("df_")
    if match is None or (kind not in _DTYPES and not is_record if star else kind != "int64_t"):
        raise ValueError(f"{kernel} takes {text!r}; allowed are int64_t and pointers to {', '.join(_DTYPES)} and records")
    return Parameter(name, bool(star), record(kind) if is_record else _DTYPES[kind] if star else None)


@cache
def files():
    """What `MAIN` includes: a dict of file names to texts."""
    package = FOLDER.parents[2]
    paths = {path.name: path for path in sorted(FOLDER.glob("*.h*"))}
    paths |= {f"rules/{path.name}": path for path in sorted((package / "rules").glob("*.h"))}
    paths |= {name: package / name for name in HEADERS}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items()}


@cache
def main():
    """The text of `MAIN`."""
    return (FOLDER / MAIN).read_text(encoding="utf-8")


@cache
def kernels(*headers):
    """All kernels, or those that some headers declare: a dict of names to lists of `Parameter`."""
    texts = [files()[header] for header in headers] or files().values()
    return {name: parameters for text in texts for name, parameters in parse(text).items()}
