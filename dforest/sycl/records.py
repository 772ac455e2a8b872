"""The records that kernels share with this side, read from the kernels' own source.

A record is a ``typedef struct`` of `kernels/records.hpp`; its dtype has the same fields in the same places.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "kernels"

_TYPES = {
    "double": np.float64,
    "int32_t": np.int32,
    "int64_t": np.int64,
    "uint32_t": np.uint32,
    "uint64_t": np.uint64,
}


@cache
def record(name):
    """The dtype of a record.

    Parameters
    ----------
    name : str
        As in C: "df_draw", say.
    """
    text = re.sub(r"//[^\n]*", "", (FOLDER / "records.hpp").read_text())
    (body,) = re.findall(r"typedef struct \{([^}]*)\}\s*" + name + ";", text)
    fields = []
    for kind, names in re.findall(r"(\w+)\s+([\w, ]+);", body):
        fields += [(field.strip(), _TYPES[kind]) for field in names.split(",")]
    return np.dtype(fields, align=True)


@cache
def constants():
    """The numbers that enumerations of `records.hpp` give to names, as a dict."""
    text = re.sub(r"//[^\n]*", "", (FOLDER / "records.hpp").read_text())
    found = {}
    for body in re.findall(r"enum \{([^}]*)\}", text):
        for number, entry in enumerate(body.split(",")):
            name, _, given = entry.partition("=")
            found[name.strip()] = int(given or number)
    return found
