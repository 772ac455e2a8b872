"""How the processes of one fit, or threads in their place, speak to each other.

Ranks are numbered from 0, and all of them take the same steps in the same order. A *collective* is a step in which every rank
hands something in; no rank goes on before it has what the others handed in for it. All collectives follow from one,
`Communicator.exchange`; a communicator whose system has collectives of its own overrides those that are faster there.

An error on one rank must end the work of all, as the others would otherwise wait for it forever. `Communicator.together` frames a
piece of common work for that: an exception that leaves the frame on one rank is told to the other ranks, and the collective in
which they wait, or the next one they come to, raises an exception of the same type, which names the rank. The frame ends with a
collective, so either all ranks come to its end or none does. In a frame within another one, ranks hear of errors in both.

Arrays handed in are borrowed until the collective returns. Arrays that it returns belong to the caller.
"""

import pickle
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from dforest.errors import RankError

SMALL = 1 << 12  # bytes of an array that every rank adds up alone, as another round would take longer
LONGEST = 2000  # characters of an error's text in a message, so that messages are sent at once, even if nobody waits for them


@dataclass
class Traffic:
    """What a rank has sent, and how long it has waited.

    Attributes
    ----------
    n_rounds : int
        Collectives, each counted by the exchanges that it is made of.
    bytes_sent : int
        Bytes handed in for other ranks.
    seconds_waited : float
        Time spent in collectives.
    """

    n_rounds: int = 0
    bytes_sent: int = 0
    seconds_waited: float = 0.0


def named_error(rank, error):
    """An exception like `error` whose message names the rank that raised it.

    Parameters
    ----------
    rank : int
    error : BaseException

    Returns
    -------
    BaseException
        Of the same type; or of the nearest base class that is made of a message alone; or a `RankError`.

    Examples
    --------
    >>> named_error(3, ValueError("Input y contains NaN"))
    ValueError('on rank 3: Input y contains NaN')
    """
    if hasattr(error, "_is_named"):  # in a frame that was left before
        return error
    named = _of_its_kind(error, f"on rank {rank}: {error}") or _by_name(rank, error)
    named._is_named = True
    return named


def _of_its_kind(error, text):
    """An exception of this message and of the first class among the error's, general ones apart, that it does for; or None."""
    for kind in type(error).__mro__:
        if kind in (Exception, BaseException):
            return None
        try:
            named = kind(text)
        except Exception:
            continue
        if str(named) == text:
            return named


def _by_name(rank, error):
    prefix = f"on rank {rank}: "
    return RankError(f"{prefix}{type(error).__name__}: {str(error).removeprefix(prefix)[:LONGEST]}")


def encode_error(rank, error):
    """What `decode_error`, perhaps in another process, makes the exception of: bytes, few more than 3 * `LONGEST`."""
    named = named_error(rank, error)
    try:
        kind = pickle.dumps(type(named))  # and not the exception, which may bring along what it follows from
    except Exception:
        kind = b""
    text = str(named)
    if len(text) + len(kind) > LONGEST:
        kind = text = b""
    return pickle.dumps((kind, text, str(_by_name(rank, error))))


def decode_error(message):
    """The exception of `named_error` in a message; a `RankError` that tells its type, if it is too long or not known here."""
    kind, text, by_name = pickle.loads(message)
    try:
        error = pickle.loads(kind)(text)
    except Exception:
        error = RankError(by_name)
    error._is_named = True
    return error


class Communicator(ABC):
    """Base class of communicators, through which the processes of a common fit exchange data.

    Each process is a *rank* and has a communicator of its own. All ranks call the same methods in the same order, each with its
    own data; no call returns before the data of all other ranks that it needs have come.

    Parameters
    ----------
    rank, size : int
        Number of this rank, from 0 on, and number of all ranks.

    Attributes
    ----------
    traffic : Traffic
        Numbers of exchanges and of bytes sent so far.
    room : int
        Bytes of scratch that a rank may always use to make do with fewer exchanges; more where an exchange takes long.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.spmd.threads import ThreadGroup  # its ranks are threads, each with a communicator
    >>> ThreadGroup(2).run(lambda communicator: communicator.sum(np.array([1, 10 * communicator.rank])).tolist())
    [[2, 10], [2, 10]]
    """

    room = 1 << 22

    def __init__(self, rank, size):
        self.rank, self.size = rank, size
        self.traffic = Traffic()
        self._around = None  # the communicator whose frame this one's lies in
        self._has_heard = False  # of an error on another rank

    def __repr__(self):
        return f"{type(self).__name__}(rank={self.rank}, size={self.size})"

    # What an implementation says.

    @abstractmethod
    def _duplicate(self):
        """Another communicator of these ranks, on which nothing has been sent. A collective."""

    @abstractmethod
    def _exchange(self, parts):
        """What `exchange` does, given parts that have been checked."""

    @abstractmethod
    def _broadcast_error(self, error):
        """Tell the other ranks of an error, which need not be waiting for it."""

    @abstractmethod
    def _received_error(self):
        """The error of `named_error` that another rank has told of, or None. The lowest such rank's, if it is known."""

    def _close(self, is_done):
        """Give back what `_duplicate` took; is_done: all ranks have come to the end of their work."""
        return None

    # What follows.

    @contextmanager
    def together(self):
        """Context manager for a piece of work that all ranks do together, so that an error of one rank ends it on all.

        Every rank enters it. Inside, use the communicator that it yields, also for fits: another communicator would not hear of
        an error of another rank.

        Yields
        ------
        Communicator
            A communicator of the same ranks, for this piece of work.

        Raises
        ------
        BaseException
            On every rank, the exception that one of them raised inside; its message names that rank.
        """
        ranks = self._duplicate()
        ranks._around = self
        is_done = False
        try:
            yield ranks
            ranks.barrier()
            is_done = True
        except BaseException as error:
            if ranks._has_heard:
                raise
            ranks._broadcast_error(error)
            named = named_error(self.rank, error)
            if named is error:
                raise
            raise named from error
        finally:
            self.traffic = ranks.traffic
            ranks._close(is_done)

    def _listen(self):
        """Raise what another rank has told of in this frame, or in one around it: for implementations, while they wait."""
        frames = [self]
        while frames[-1] is not None:
            error = frames[-1]._received_error()
            if error is not None:
                for frame in frames:
                    frame._has_heard = True
                raise error
            frames.append(frames[-1]._around)

    def _count(self, n_bytes):
        """Count a round in which so many bytes are handed in for other ranks."""
        self.traffic.n_rounds += 1
        self.traffic.bytes_sent += n_bytes

    def exchange(self, parts):
        """Send an array to each rank, and get an array from each.

        Parameters
        ----------
        parts : list of ndarray
            An array for each rank, in the order of their numbers. All arrays, on all ranks, have the same dtype, which may be
            structured but must not hold Python objects, and the same shape, except for its first number.

        Returns
        -------
        list of ndarray
            The array that each rank had for this one, in the order of their numbers.
        """
        parts = [np.ascontiguousarray(part) for part in parts]
        kinds = {(part.dtype, part.shape[1:]) for part in parts}
        if len(parts) != self.size or len(kinds) != 1 or parts[0].ndim == 0:
            raise ValueError(
                f"parts for {len(parts)} ranks, of {len(kinds)} dtypes and shapes; allowed are {self.size} arrays of one dtype "
                "and shape, but for the first number of the shape"
            )
        if parts[0].dtype.hasobject:
            raise TypeError(f"parts of dtype {parts[0].dtype}; allowed are arrays without Python objects")
        self._count(sum(part.nbytes for rank, part in enumerate(parts) if rank != self.rank))
        return self._exchange(parts)

    def gather(self, array):
        """Collect the arrays of all ranks on every rank.

        Parameters
        ----------
        array : ndarray
            The array of this rank. It has the same dtype on all ranks, and the same shape, except for its first number.

        Returns
        -------
        list of ndarray
            The arrays of all ranks, in the order of their numbers.
        """
        return self.exchange([array] * self.size)

    def gather_objects(self, thing):
        """The objects that the ranks hand in, on every rank: a list by rank. They are pickled."""
        pickled = np.frombuffer(pickle.dumps(thing), np.uint8)
        return [thing if r == self.rank else pickle.loads(got) for r, got in enumerate(self.gather(pickled))]

    def first(self, thing):
        """What rank 0 hands in."""
        return self.gather_objects(thing if self.rank == 0 else None)[0]

    def barrier(self):
        """Wait until all ranks are here."""
        self.gather(np.zeros(0, np.uint8))

    def edges(self, n):
        """Where the shares of n things begin that `sum_scattered` assigns to ranks, and the last one ends: ndarray of int64."""
        return np.arange(self.size + 1) * n // self.size

    def sum_scattered(self, array, edges=None):
        """This rank's share of the sum of what the ranks hand in.

        Parameters
        ----------
        array : ndarray of shape (n, ...), of integers
            Of one shape on all ranks.
        edges : ndarray of shape (size + 1,), dtype int64, optional
            Where the shares of ranks begin, and the last one ends; equal on all ranks. None means `edges(n)`.

        Returns
        -------
        ndarray of shape (n_own, ...)
            The entries from `edges[rank]` up to `edges[rank + 1]` of the sum.
        """
        check_integers(array)
        return self._reduce_scattered(np.add, array, edges)

    def sum(self, array):
        """Return the sum of the ranks' arrays, which hold integers and have the same shape on all ranks."""
        check_integers(array)
        return self._reduce(np.add, array)

    def least(self, array):
        """Return the least number of each entry of the ranks' arrays, which have the same shape and no NaN; 0.0 for -0.0."""
        return _without_sign_of_zero(self._reduce(np.minimum, array))

    def greatest(self, array):
        """Return the greatest number of each entry of the ranks' arrays, which have the same shape and no NaN; 0.0 for -0.0."""
        return _without_sign_of_zero(self._reduce(np.maximum, array))

    def _reduce(self, ufunc, array):
        array = np.ascontiguousarray(array)
        flat = array.reshape(-1)
        if array.nbytes <= SMALL:
            return _reduced(ufunc, self.gather(flat)).reshape(array.shape)
        return np.concatenate(self.gather(self._reduce_scattered(ufunc, flat))).reshape(array.shape)

    def _reduce_scattered(self, ufunc, array, edges=None):
        """This rank's share of what the ranks' arrays are reduced to, entry by entry."""
        edges = self.edges(len(array)) if edges is None else edges
        return _reduced(ufunc, self.exchange([array[edges[r] : edges[r + 1]] for r in range(self.size)]))

    def any(self, condition):
        """Whether a condition holds on any rank."""
        return bool(self.greatest(np.array([bool(condition)], np.uint8))[0])

    def total(self, number):
        """The sum of an integer: int."""
        return int(self.sum(np.array([number], np.int64))[0])


def check_integers(array):
    """Raise TypeError if a sum of such arrays could depend on their order."""
    if array.dtype.kind not in "iu":
        raise TypeError(f"a sum over ranks of {array.dtype}; allowed are integers, whose sum depends on no order")


def _reduced(ufunc, arrays):
    total = arrays[0].copy()
    for array in arrays[1:]:
        ufunc(total, array, out=total)
    return total


def _without_sign_of_zero(array):
    """The array, whose zeros lose their sign: which of two equal numbers is the least would depend on how rows are cut."""
    return array + array.dtype.type(0) if array.dtype.kind == "f" else array


class ByteCommunicator(Communicator):
    """A communicator whose parts travel as bytes."""

    @abstractmethod
    def _exchange_bytes(self, parts):
        """What `exchange` does, given one-dimensional arrays of uint8."""

    def _exchange(self, parts):
        kind, width = parts[0].dtype, parts[0].shape[1:]
        if kind.itemsize * int(np.prod(width)) == 0:  # the bytes of parts do not tell their lengths
            lengths = self._exchange([np.array([len(part)]) for part in parts])
            return [np.zeros((int(n), *width), kind) for (n,) in lengths]
        got = self._exchange_bytes([part.reshape(-1).view(np.uint8) for part in parts])
        return [part.view(kind).reshape(-1, *width) for part in got]


class Alone(Communicator):
    """The one rank of a process that works on its own: collectives return what is handed in, and errors stay what they are."""

    def __init__(self):
        super().__init__(0, 1)

    @contextmanager
    def together(self):
        yield self

    def _duplicate(self):
        return self

    def exchange(self, parts):
        (part,) = parts
        return [np.array(part, order="C")]

    def _exchange(self, parts):
        return parts

    def gather_objects(self, thing):
        return [thing]

    def _broadcast_error(self, error):
        return None

    def _received_error(self):
        return None


ALONE = Alone()
