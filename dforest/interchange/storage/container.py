"""The container of a model file: a safetensors file, whose arrays are aligned and have checksums.

    8 bytes                the length of the header, little-endian
    header                 JSON, padded with blanks to where the arrays can begin
    arrays                 one after another, each from a multiple of 64 bytes of the file on

The header says of each array its name, type, shape and place, and has texts by name under ``__metadata__``, as the format has it.
Between arrays are arrays of bytes that mean nothing, whose names begin with "padding": the format allows no gaps. The first array
is "checksums": the checksum of all bytes before the arrays, and of each array after itself but for padding, in their order (see
`dforest.core.exchange`). So the first 8 bytes after the header tell whether it is what was written, before it is read.

`write_container` writes; a `Container` is a file that is open for reading. It maps the file into memory, and lends views of it;
the mapping ends with the last of them. A file is never written to once it is there: `write_container` puts a new one there.
"""

import json
import math
import mmap
import os
import secrets
import struct
from contextlib import contextmanager

import numpy as np

from dforest.core.exchange import checksum
from dforest.errors import ModelFileError

ALIGNMENT = 64
_MAX_HEADER = 100_000_000  # bytes, as the format has it
_LENGTH = struct.Struct("<Q")
_SUMS = "checksums"
_PADDING = "padding"
_TYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "F16": "<f2", "U32": "<u4", "I32": "<i4", "F32": "<f4",
    "U64": "<u8", "I64": "<i8", "F64": "<f8",
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}


def is_storable(dtype):
    """Whether a container can have arrays of a type."""
    return dtype.newbyteorder("<") in _NAMES


def write_container(path, texts, arrays):
    """Write a file, in the place of one that may be there; if that fails, what was there stays.

    Parameters
    ----------
    path : str
    texts : dict of str to str
    arrays : dict of str to ndarray
        Of types that `is_storable` allows.
    """
    arrays = {name: _little(array) for name, array in arrays.items()}
    sums = np.zeros(len(arrays) + 1, "<u8")
    entries, end = {"__metadata__": texts}, 0
    stored = {_SUMS: sums, **arrays}
    for name, array in stored.items():
        end = _pad(entries, end)
        entries[name] = _entry(_NAMES[array.dtype], array.shape, end, end + array.nbytes)
        end += array.nbytes
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-(len(header) + _LENGTH.size) % ALIGNMENT)
    if len(header) > _MAX_HEADER:
        raise ValueError(f"the header of a model file would have {len(header)} bytes; allowed are up to {_MAX_HEADER}")
    head = _LENGTH.pack(len(header)) + header
    sums[:] = [checksum(head), *(checksum(array.reshape(-1)) for array in arrays.values())]
    with _replacing(path) as file:
        file.write(head)
        for name, array in stored.items():
            file.write(bytes(len(head) + entries[name]["data_offsets"][0] - file.tell()))
            file.write(array.reshape(-1).view(np.uint8).data)


def _little(array):
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(np.shape(array))


def _entry(kind, shape, first, end):
    return {"dtype": kind, "shape": list(shape), "data_offsets": [first, end]}


def _pad(entries, end):
    """Where the next array begins, after those of some entries, to which padding is added if there has to be some."""
    n = -end % ALIGNMENT
    if n:
        entries[f"{_PADDING}.{len(entries)}"] = _entry("U8", (n,), end, end + n)
    return end + n


@contextmanager
def _replacing(path):
    """A new file, which takes the place of another one when the block that writes it has ended, and else is removed."""
    folder, name = os.path.split(os.path.realpath(path))
    new = os.path.join(folder, f".{name}.{secrets.token_hex(8)}")
    with open(new, "xb") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(new, os.path.join(folder, name))
        except BaseException:
            os.unlink(new)
            raise


class Container:
    """A file that is open for reading.

    Parameters
    ----------
    path : str
    n_threads : int, default=1
        How many threads may look at checksums.

    Attributes
    ----------
    texts : dict of str to str

    Raises
    ------
    ModelFileError
        If it is not such a file, or its header is damaged. Arrays are looked at when they are asked for.
    OSError
        If there is no such file, or it can't be read.
    """

    def __init__(self, path, n_threads=1):
        self.path, self.n_threads = path, n_threads
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _LENGTH.size:
                raise self.error(f"it has {size} bytes")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        (length,) = _LENGTH.unpack_from(self._map)
        self._begin = _LENGTH.size + length
        if length > _MAX_HEADER or self._begin + 8 > size or self._map[8:9] != b"{":
            begins = bytes(self._map[:32]).lstrip()
            known = {b"tree\n": "dforest.from_lightgbm reads LightGBM's text", b"{": "dforest.from_xgboost reads XGBoost's JSON"}
            advice = next((f"; {what}" for start, what in known.items() if begins.startswith(start)), "")
            raise self.error(f"it does not begin like one{advice}")
        head = self._map[: self._begin]
        if checksum(head) != _LENGTH.unpack_from(self._map, self._begin)[0]:
            raise self.error("it is damaged, or was not written by dforest: the checksum of its header is wrong")
        try:
            entries = json.loads(head[_LENGTH.size :], object_pairs_hook=_without_twins)
            self.texts = _checked_texts(entries.pop("__metadata__", None))
            self._entries = _checked_entries(entries, size - self._begin)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self.error(f"its header is damaged: {error}") from error
        names = [name for name in self._entries if not name.startswith(_PADDING)]
        if not names or names[0] != _SUMS or self._entries[_SUMS][:2] != (np.dtype("<u8"), (len(names),)):
            raise self.error(f"its first array must be {len(names)} checksums")
        self._sums = dict(zip(names, self._view(_SUMS).tolist(), strict=True))

    def error(self, what):
        """A `ModelFileError` that names the file."""
        return ModelFileError(f"{os.fspath(self.path)!r} can't be read as a model file: {what}")

    def names(self, prefix=""):
        """Names of the arrays, in their order, that begin in some way."""
        return [name for name in self._sums if name.startswith(prefix) and name != _SUMS]

    def array(self, name):
        """A view of an array, read-only, once its checksum is right; raises ModelFileError if it is not, or there is no such."""
        if name not in self._sums or name == _SUMS:
            raise self.error(f"there is no array {name!r}")
        view = self._view(name)
        if checksum(view.reshape(-1).view(np.uint8), self.n_threads) != self._sums[name]:
            raise self.error(f"it is damaged: the checksum of the array {name!r} is wrong")
        if view.dtype == np.bool_ and view.size and view.view(np.uint8).max() > 1:
            raise self.error(f"the array {name!r} holds other truth values than 0 and 1")
        return view

    def _view(self, name):
        kind, shape, first = self._entries[name]
        n = math.prod(shape)
        flat = np.frombuffer(self._map, kind, n, self._begin + first) if n else np.frombuffer(b"", kind)
        return flat.reshape(shape)


def _without_twins(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it has a name twice")
    return found


def _checked_texts(texts):
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("it has no texts")
    return texts


def _checked_entries(entries, n_bytes):
    """By name (type, shape, where it begins) of arrays that fill some bytes without gaps; raises if they don't."""
    checked, end = {}, 0
    for name, entry in entries.items():
        kind, shape, (first, last) = np.dtype(_TYPES[entry["dtype"]]), tuple(entry["shape"]), entry["data_offsets"]
        if len(shape) > 8 or not all(type(n) is int and 0 <= n <= n_bytes for n in (*shape, first, last)):
            raise ValueError(f"the shape {shape} of {name!r}, or its place, can't be in a file of {n_bytes} bytes of arrays")
        if first != end or last - first != math.prod(shape) * kind.itemsize:
            raise ValueError(f"{name!r} has the bytes {first} to {last}, which are not those of its shape after the array before")
        if not name.startswith(_PADDING) and first % ALIGNMENT:
            raise ValueError(f"{name!r} begins at {first}; allowed are multiples of {ALIGNMENT}")
        checked[name], end = (kind, shape, first), last
    if end != n_bytes:
        raise ValueError(f"the arrays have {end} bytes; those of the file are {n_bytes}")
    return checked
