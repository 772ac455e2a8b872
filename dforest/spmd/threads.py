"""Ranks that are threads of one process: for tests, and to try what several processes will do.

A `ThreadGroup` owns the messages that lie between its ranks. A rank's pieces of common work are numbered, and so are the
exchanges of each: messages of different exchanges are never mixed up, even if a rank is early, or has left.
"""

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from threading import Condition
from time import perf_counter

from dforest.spmd.communicator import Communicator, decode_error, encode_error


class ThreadGroup:
    """A group of ranks that are threads of one process, for tests and for trying what several processes will do.

    Parameters
    ----------
    size : int
        Number of ranks.

    Attributes
    ----------
    communicators : list of ThreadCommunicator
        The communicator of each rank.

    Examples
    --------
    >>> from dforest.spmd.threads import ThreadGroup
    >>> def add_up(communicator):
    ...     with communicator.together() as ranks:
    ...         return ranks.total(ranks.rank)
    >>> ThreadGroup(3).run(add_up)
    [3, 3, 3]
    """

    def __init__(self, size):
        self.condition = Condition()
        self.messages = {}  # by (work, exchange, from, to)
        self.errors = defaultdict(dict)  # by work: the message of an exception that a rank has told of, by rank
        self.left = defaultdict(int)  # by work: ranks that have left it
        self.communicators = [ThreadCommunicator(self, rank, size) for rank in range(size)]

    def run(self, function):
        """Call a function in a thread for each rank, all of them at the same time.

        Parameters
        ----------
        function : callable
            It is given the communicator of its rank.

        Returns
        -------
        list
            For each rank, what its call returned, or the exception that it raised.
        """
        with ThreadPoolExecutor(len(self.communicators)) as pool:
            calls = [pool.submit(function, communicator) for communicator in self.communicators]
            return [call.exception() or call.result() for call in calls]


class ThreadCommunicator(Communicator):
    """A rank's end of a `ThreadGroup`."""

    def __init__(self, group, rank, size, work_id=0):
        super().__init__(rank, size)
        self.group, self.work_id = group, work_id
        self._n_works = 0
        self._n_exchanges = 0

    def _duplicate(self):
        self._n_works += 1
        return ThreadCommunicator(self.group, self.rank, self.size, (self.work_id, self._n_works))

    def _exchange(self, parts):
        start = perf_counter()
        group, condition = self.group, self.group.condition
        self._n_exchanges += 1
        sort = parts[0].dtype, parts[0].shape[1:]
        got = []
        with condition:
            for rank, part in enumerate(parts):
                group.messages[self.work_id, self._n_exchanges, self.rank, rank] = part.copy()
            condition.notify_all()
            for rank in range(self.size):
                name = self.work_id, self._n_exchanges, rank, self.rank
                while name not in group.messages:
                    self._listen()
                    condition.wait(1.0)
                got.append(group.messages.pop(name))
        self.traffic.seconds_waited += perf_counter() - start
        for rank, part in enumerate(got):
            if (part.dtype, part.shape[1:]) != sort:
                raise AssertionError(f"rank {rank} exchanges {part.dtype} of {part.shape}, rank {self.rank} {sort}")
        return got

    def _broadcast_error(self, error):
        """Leave an error where the other ranks of this piece of work look for it, and wake them."""
        with self.group.condition:
            self.group.errors[self.work_id][self.rank] = encode_error(self.rank, error)
            self.group.condition.notify_all()

    def _received_error(self):
        """The first error that a rank has left for this piece of work; None if there is none."""
        messages = self.group.errors.get(self.work_id)
        return decode_error(messages[min(messages)]) if messages else None

    def _close(self, is_done):
        group = self.group
        with group.condition:
            group.left[self.work_id] += 1
            if group.left[self.work_id] == self.size:  # nobody will ask for the messages of this work again
                for name in [name for name in group.messages if name[0] == self.work_id]:
                    del group.messages[name]
                del group.left[self.work_id]
                group.errors.pop(self.work_id, None)
