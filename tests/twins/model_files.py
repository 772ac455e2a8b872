"""Model files that are damaged, or made to do harm, for tests of `dforest.interchange.storage`."""

import json
import struct

import numpy as np

_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5,
)  # fmt: skip
_MASK = 2**64 - 1
PIECE_BYTES = 1 << 20


def _rotated(x, n):
    return (x << n | x >> (64 - n)) & _MASK


def _absorbed(total, word):
    return _rotated((total + word * _P2) & _MASK, 31) * _P1 & _MASK


def xxh64(data):
    """XXH64 of some bytes, with seed 0, step by step: the twin of `core/checksum.h`."""
    n, at, total = len(data), 0, _P5
    if n >= 32:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        while n - at >= 32:
            lanes = [_absorbed(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at), strict=True)]
            at += 32
        total = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            total = ((total ^ _absorbed(0, lane)) * _P1 + _P4) & _MASK
    total = (total + n) & _MASK
    while n - at >= 8:
        total = (_rotated(total ^ _absorbed(0, *struct.unpack_from("<Q", data, at)), 27) * _P1 + _P4) & _MASK
        at += 8
    if n - at >= 4:
        total = (_rotated(total ^ struct.unpack_from("<I", data, at)[0] * _P1 & _MASK, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        total = _rotated(total ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    for shift, factor in ((33, _P2), (29, _P3)):
        total = (total ^ total >> shift) * factor & _MASK
    return total ^ total >> 32


def checksum(data):
    """The twin of `dforest.core.exchange.checksum`."""
    return xxh64(b"".join(struct.pack("<Q", xxh64(data[i : i + PIECE_BYTES])) for i in range(0, len(data), PIECE_BYTES)))


def header_of(blob):
    """The header of a file, read by the letter: (dict, how many bytes there are before the arrays)."""
    (n,) = struct.unpack_from("<Q", blob)
    return json.loads(blob[8 : 8 + n]), 8 + n


def signed(blob):
    """A file with the checksums that its bytes ask for, where its header still tells where these are."""
    blob = bytearray(blob)
    try:
        header, begin = header_of(blob)
        struct.pack_into("<Q", blob, begin, checksum(bytes(blob[:begin])))
        places = [(name, entry["data_offsets"]) for name, entry in header.items() if name != "__metadata__"]
        places = [(first, last) for name, (first, last) in places[1:] if not name.startswith("padding")]
        sums = [checksum(bytes(blob[begin + a : begin + b])) for a, b in places]
        struct.pack_into(f"<{len(sums)}Q", blob, begin + 8, *sums)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, struct.error, RecursionError):
        pass
    return bytes(blob)


def with_header(blob, header, sign=True):
    """A file with another header, as a dict, and right checksums if it is to be signed."""
    _, begin = header_of(blob)
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    whole = struct.pack("<Q", len(text)) + text + blob[begin:]
    return signed(whole) if sign else whole


def mutated(blob, rng):
    """A file that was damaged somehow: a byte, a number or a run of bytes changed, cut off, or put in; or its header rewritten.

    Parameters
    ----------
    blob : bytes
    rng : numpy.random.Generator

    Returns
    -------
    bytes
    """
    damaged = bytearray(blob)
    n, way = len(blob), int(rng.integers(8))
    begin = 8 + int(struct.unpack_from("<Q", blob)[0])
    # Half of the time somewhere in the header, which is short beside the arrays.
    at = int(rng.integers(begin if rng.random() < 0.5 else n))
    if way == 0:
        damaged[at] ^= 1 << int(rng.integers(8))
    elif way == 1:
        damaged[at] = int(rng.integers(256))
    elif way == 2:
        del damaged[at:]
    elif way == 3:
        del damaged[at : at + int(rng.integers(1, 100))]
    elif way == 4:
        damaged[at:at] = rng.bytes(int(rng.integers(1, 100)))
    elif way == 5:  # a number at a place for numbers
        size = int(rng.choice([4, 8]))
        at = min(at - at % size, n - size)
        value = int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1])) if rng.random() < 0.9 else 2**63
        damaged[at : at + size] = (value & (2 ** (8 * size) - 1)).to_bytes(size, "little")
    elif way == 6:  # a digit of the header
        digits = [i for i in range(8, begin) if chr(blob[i]).isdigit()]
        damaged[int(rng.choice(digits))] = ord(str(rng.integers(10)))
    else:
        return _with_other_entry(blob, rng)
    return bytes(damaged)


def _with_other_entry(blob, rng):
    header, _ = header_of(blob)
    names = [name for name in header if name != "__metadata__"]
    name, other = (str(name) for name in rng.choice(names, 2))
    way = int(rng.integers(5))
    if way == 0:
        header[name]["dtype"] = header[other]["dtype"]
    elif way == 1:
        header[name]["shape"] = [int(rng.choice([0, 1, 2**31, 2**62, 2**63, 10**30]))] * int(rng.integers(3))
    elif way == 2:
        header[name]["data_offsets"][int(rng.integers(2))] = int(rng.choice([0, 64, 2**62, 2**63 - 1]))
    elif way == 3:
        header[name], header[other] = header[other], header[name]
    else:
        del header[name]
    return with_header(blob, header, sign=False)


def with_other_number(blob, rng):
    """A file in which a number of an array is another one, and the checksums are right."""
    header, begin = header_of(blob)
    others = ("__", "padding", "checksums")
    places = {name: entry["data_offsets"] for name, entry in header.items() if not name.startswith(others)}
    filled = [name for name, (first, last) in places.items() if last > first]
    name = str(rng.choice(filled))
    kind = header[name]["dtype"]
    size = 1 if kind == "BOOL" else int(kind[1:]) // 8
    at = begin + places[name][0] + size * int(rng.integers((places[name][1] - places[name][0]) // size))
    old = int.from_bytes(blob[at : at + size], "little")
    new = [old ^ 1 << int(rng.integers(8 * size)), old + 1, old - 1, 0, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), old + 2]
    damaged = bytearray(blob)
    damaged[at : at + size] = (new[int(rng.integers(len(new)))] % 2 ** (8 * size)).to_bytes(size, "little")
    return signed(damaged)


def slots_of(arrays):
    """The slots of packed trees, as numbers that can be changed: a copy, by name of their parts."""
    kind = [("threshold", "<f8"), ("word", "<u4"), ("slot", "<u4")] if arrays.is_wide else [("threshold", "<f4"), ("word", "<u4")]
    return np.array(arrays.slots).view(kind)
