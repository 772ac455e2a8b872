"""Ranks that are processes of an MPI job, by mpi4py.

Every piece of common work has a duplicate of the communicator to itself, so that a collective which an error has left half done
never meets one of later work. Errors are told on the duplicate by messages with a tag of their own. A rank that waits looks for
these messages, and for Ctrl-C; so all collectives are non-blocking ones, tested again and again.

Parts go from rank to rank as messages of bytes, whose lengths tell how many entries they have; messages of one exchange and of
the next have different tags, and no rank is two exchanges ahead of another. Sums and extremes of integers and floats are MPI's.

When work ends well, its duplicate is freed. After an error MPI may still hold requests that will never complete: the duplicate
and the memory that they point to are then kept until the process ends, as MPI demands.
"""

import os
from functools import cache
from itertools import count
from time import perf_counter, sleep

import numpy as np

from dforest.extras import install_command
from dforest.spmd.communicator import ByteCommunicator, check_integers, decode_error, encode_error

try:
    from mpi4py import MPI
except ImportError as error:
    raise ImportError(f"ranks of MPI need mpi4py; install it: {install_command('mpi')}") from error

ERROR, DATA = 1, 2  # tags; DATA and the next one take turns
PIECE = 1 << 30  # bytes of a message at most: MPI before its version 4 counted them in 32 bits
MAX_REDUCED = 1 << 28  # entries of an array that is handed to MPI's reductions, for the same reason
SPIN_SECONDS = 2e-3  # seconds of waiting until a rank sleeps between two looks
CONTESTED = 5e-5  # seconds for which others had the core, so that a rank sleeps at once: there may be more ranks than cores
LONGEST_SLEEP = 1e-3  # seconds
FAREWELL = 1.0  # seconds that the news of an error may take to leave
OPERATIONS = {np.add: MPI.SUM, np.minimum: MPI.MIN, np.maximum: MPI.MAX}

_kept = []  # what requests that never completed point to


@cache
def world():
    """The `MpiCommunicator` of all processes of the job."""
    return MpiCommunicator(MPI.COMM_WORLD)


class MpiCommunicator(ByteCommunicator):
    """A communicator whose ranks are the processes of a communicator of mpi4py.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        Communicator of the processes, which is duplicated for every piece of common work and not used otherwise.

    Raises
    ------
    ValueError
        If the communicator is null or an intercommunicator.

    Notes
    -----
    If a process ends by an exception outside of common work, the others wait for it forever. To end all of them in this case,
    start Python as ``mpiexec -n 4 python -m mpi4py script.py``.

    Examples
    --------
    >>> from dforest.spmd.mpi import world
    >>> with world().together() as ranks:
    ...     total = ranks.total(1)  # as many as there are ranks
    """

    def __init__(self, comm):
        if not isinstance(comm, MPI.Comm) or comm == MPI.COMM_NULL or comm.Is_inter():
            raise ValueError(f"comm={comm!r}; allowed are intracommunicators of mpi4py")
        super().__init__(comm.Get_rank(), comm.Get_size())
        self.comm = comm
        self._is_duplicate = False  # made by _duplicate for one piece of work, so that errors are told on it
        self._pending = []  # requests, and the memory that they point to
        self._tags = (DATA + number % 2 for number in count())

    def _duplicate(self):
        comm, request = self.comm.Idup()
        self._pending = [comm, request]
        self._wait(request.Test)
        own = MpiCommunicator(comm)
        own._is_duplicate = True
        return own

    def _close(self, is_done):
        if is_done:
            self.comm.Free()
        else:
            _kept.append((self.comm, self._pending))

    def _wait(self, is_done):
        """Wait until what is pending is done, unless another rank tells of an error."""
        start = now = perf_counter()
        spin_seconds = SPIN_SECONDS
        try:
            while not is_done():
                self._listen()
                if now - start < spin_seconds:
                    os.sched_yield()
                    before, now = now, perf_counter()
                    if now - before > CONTESTED:
                        spin_seconds = 0
                else:
                    sleep(min(LONGEST_SLEEP, (now - start) / 20))
                    now = perf_counter()
        except BaseException:
            _kept.append(self._pending)
            raise
        self._pending = []
        self.traffic.seconds_waited += perf_counter() - start

    def _broadcast_error(self, error):
        encoded = encode_error(self.rank, error)
        telling = [self.comm.Isend([encoded, MPI.BYTE], rank, ERROR) for rank in range(self.size) if rank != self.rank]
        self._pending += [encoded, telling]
        deadline = perf_counter() + FAREWELL
        while not MPI.Request.Testall(telling) and perf_counter() < deadline:
            os.sched_yield()

    def _received_error(self):
        """The error that another rank has sent; None if none has come yet. It does not wait."""
        if not self._is_duplicate:
            return None
        message = self.comm.Improbe(MPI.ANY_SOURCE, ERROR, status := MPI.Status())
        if message is None:
            return None
        received = bytearray(status.Get_count(MPI.BYTE))
        message.Recv([received, MPI.BYTE])
        return decode_error(received)

    def _exchange_bytes(self, parts):
        tag = next(self._tags)
        sending, receiving, got = [], [], [[] for _ in parts]
        got[self.rank].append(parts[self.rank].copy())
        awaited = self.size - 1  # ranks whose last message has not begun to come
        self._pending = [parts, sending, receiving, got]
        for step in range(1, self.size):
            rank = (self.rank + step) % self.size
            for begin in range(0, len(parts[rank]) + 1, PIECE):  # the last one is shorter than PIECE, perhaps empty
                sending.append(self.comm.Isend([parts[rank][begin : begin + PIECE], MPI.BYTE], rank, tag))
        status = MPI.Status()

        def is_done():
            nonlocal awaited
            while awaited and (message := self.comm.Improbe(MPI.ANY_SOURCE, tag, status)) is not None:
                piece = np.empty(status.Get_count(MPI.BYTE), np.uint8)
                got[status.source].append(piece)
                receiving.append(message.Irecv([piece, MPI.BYTE]))
                awaited -= len(piece) < PIECE
            return not awaited and MPI.Request.Testall(receiving) and MPI.Request.Testall(sending)

        self._wait(is_done)
        return [pieces[0] if len(pieces) == 1 else np.concatenate(pieces) for pieces in got]

    def barrier(self):
        self._count(0)
        self._pending = [request := self.comm.Ibarrier()]
        self._wait(request.Test)

    def _may_reduce(self, array):
        """Whether MPI is to combine arrays like this one, by the same answer on all ranks."""
        kind = array.dtype
        return kind.isnative and (kind.kind in "iu" or kind in (np.float32, np.float64)) and 0 < array.size <= MAX_REDUCED

    def _reduce(self, ufunc, array):
        array = np.ascontiguousarray(array)
        if not self._may_reduce(array):
            return super()._reduce(ufunc, array)
        self._count(2 * array.nbytes * (self.size - 1) // self.size)  # what a sum by shares, which are then gathered, would send
        combined = np.empty_like(array)
        self._pending = [array, combined]
        self._pending.append(request := self.comm.Iallreduce(array, combined, OPERATIONS[ufunc]))
        self._wait(request.Test)
        return combined

    def sum_scattered(self, array, edges=None):
        array = np.ascontiguousarray(array)
        check_integers(array)
        if not self._may_reduce(array):
            return super().sum_scattered(array, edges)
        counts = np.diff(self.edges(len(array)) if edges is None else edges)
        width = array.size // len(array)
        share = np.empty((counts[self.rank], *array.shape[1:]), array.dtype)
        self._count(array.nbytes - share.nbytes)
        self._pending = [array, share]
        self._pending.append(request := self.comm.Ireduce_scatter(array, share, counts * width))
        self._wait(request.Test)
        return share
