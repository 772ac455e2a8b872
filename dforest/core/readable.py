"""Arrays as compiled loops read them."""


def is_readable(array):
    """Whether an array's values are in this machine's byte order, said in no other way, at addresses that suit their type."""
    return array.dtype.byteorder in "=|" and array.flags.aligned


def readable(array):
    """An array that compiled loops can read: the given one, or a copy of it.

    Messages, mapped files and frames may have values at any address, and in the byte order of another machine.
    """
    return array if is_readable(array) else array.astype(array.dtype.newbyteorder("="))
