"""Universal Binary JSON, in which XGBoost writes models, as Python's objects; damaged bytes are a ValueError."""

import struct

import numpy as np

# The numbers that a letter says, most significant byte first.
_NUMBERS = {
    b"i": ">i1", b"U": ">u1", b"I": ">i2", b"u": ">u2", b"l": ">i4", b"m": ">u4", b"L": ">i8", b"M": ">u8",
    b"d": ">f4", b"D": ">f8",
}  # fmt: skip
_INTEGERS = frozenset(b"iUIulmLM")
_CONSTANTS = {b"T": True, b"F": False, b"Z": None}


def is_object(content):
    """Whether bytes begin like an object: behind its brace is the letter of a length, and not text as in JSON."""
    return content[:1] == b"{" and content[1:2] != b"" and content[1] in _INTEGERS | set(b"$#")


def loads(content):
    """The value that bytes say: dict, list, str, number, bool or None.

    Raises
    ------
    ValueError
        If they say none, or more than one.
    """
    reader = _Reader(content)
    try:
        found = reader.value(reader.take(1))
    except (struct.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not Universal Binary JSON: {error}") from None
    if reader.at < len(content):
        raise ValueError(f"{len(content) - reader.at} bytes follow the end of the value; allowed is one value")
    return found


class _Reader:
    """Reads values one after another. Attributes: the bytes, and how many of them have been read."""

    def __init__(self, content):
        self.content, self.at = content, 0

    def take(self, n):
        """The next n bytes."""
        if not 0 <= n <= len(self.content) - self.at:
            raise ValueError(f"{n} bytes are to follow byte {self.at}, and {len(self.content) - self.at} do")
        self.at += n
        return self.content[self.at - n : self.at]

    def array(self, kind, n):
        """The next numbers: list. None of them takes more than 8 bytes."""
        dtype = np.dtype(_NUMBERS[kind])
        return np.frombuffer(self.take(n * dtype.itemsize), dtype).tolist()

    def length(self):
        kind = self.take(1)
        if kind[0] not in _INTEGERS:
            raise ValueError(f"byte {self.at - 1} is {kind!r}; allowed are lengths")
        return self.array(kind, 1)[0]

    def text(self):
        return self.take(self.length()).decode("utf-8")

    def head(self):
        """(the letter of all elements or None, how many there are or None) of an array or object that has begun."""
        kind = n = None
        if self.content[self.at : self.at + 1] == b"$":
            kind = self.take(2)[1:]
        if self.content[self.at : self.at + 1] == b"#":
            self.take(1)
            n = self.length()
        if kind is not None and n is None:
            raise ValueError(f"byte {self.at} should say how many elements there are")
        return kind, n

    def value(self, kind):
        """The value that a letter begins."""
        if kind in _NUMBERS:
            return self.array(kind, 1)[0]
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == b"S":
            return self.text()
        if kind == b"C":
            return self.take(1).decode("ascii")
        if kind in (b"[", b"{"):
            return self.elements(kind == b"{")
        raise ValueError(f"byte {self.at - 1} is {kind!r}; allowed are letters of Universal Binary JSON")

    def elements(self, is_object):
        """The elements of an array, or of an object."""
        kind, n = self.head()
        if kind in _NUMBERS and not is_object:
            return self.array(kind, n)
        if kind in _CONSTANTS and not is_object:
            raise ValueError(f"byte {self.at} begins an array of one constant; allowed are arrays that have bytes")
        end, found = b"}" if is_object else b"]", {} if is_object else []
        while len(found) < n if n is not None else self.content[self.at : self.at + 1] != end:
            if is_object:
                name = self.text()
                if name in found:
                    raise ValueError(f"an object has {name!r:.60} twice")
                found[name] = self.value(kind or self.take(1))
            else:
                found.append(self.value(kind or self.take(1)))
        if n is None:
            self.take(1)
        return found
