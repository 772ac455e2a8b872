"""The records of records.h as dtypes: read from the header, so that no field is written twice.

A record is a ``typedef struct`` of that header; its dtype has the same fields in the same places.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np

_HEADER = Path(__file__).parent / "records.h"

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
        As in C: "df_record", say.
    """
    text = re.sub(r"//[^\n]*", "", _HEADER.read_text(encoding="utf-8"))
    (body,) = re.findall(r"typedef struct \{([^}]*)\}\s*" + name + ";", text)
    fields = []
    for kind, names, length in re.findall(r"(\w+)\s+([\w, ]+)(?:\[(\d+)\])?;", body):
        dtype = _TYPES[kind] if kind in _TYPES else record(kind)
        fields += [(field.strip(), dtype, int(length)) if length else (field.strip(), dtype) for field in names.split(",")]
    return np.dtype(fields, align=True)


@cache
def constants():
    """The numbers that enumerations of records.h give to names, as a dict."""
    text = re.sub(r"//[^\n]*", "", _HEADER.read_text(encoding="utf-8"))
    found = {}
    for body in re.findall(r"enum \{([^}]*)\}", text):
        for number, entry in enumerate(body.split(",")):
            name, _, given = entry.partition("=")
            found[name.strip()] = int(given or number)
    return found
