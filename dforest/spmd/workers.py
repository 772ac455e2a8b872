"""Ranks that are workers of a Dask cluster, and speak over the connections that its workers have to each other.

A *run* is one call of `run_on_workers`, which has a rank on each of some workers; a *message* is what one exchange sends from one
rank to another, or news of an error. Work within a run has a name, the run's with numbers after it, so that messages of different
works are never mixed up. Each worker has one `Post`, which keeps the messages for its ranks until they are asked for: a post
takes the messages of runs that are open on its worker, and drops those of a run when the run's rank on this worker ends.

A rank that waits for long asks the scheduler, and the ranks that it waits for, whether they are still there. So a worker that
leaves ends the run on all others, even if whoever began the run is gone too.
"""

import asyncio
import traceback
from concurrent.futures import wait
from threading import Condition
from time import perf_counter, sleep
from uuid import uuid4

import numpy as np

from dforest.errors import RankError
from dforest.extras import install_command
from dforest.spmd.communicator import ByteCommunicator, decode_error, encode_error

try:
    from distributed import CancelledError, get_worker, secede
    from distributed.protocol import to_serialize
except ImportError as error:
    raise ImportError(f"ranks of Dask need its distributed workers; install them: {install_command('dask')}") from error

INLINE = 1 << 16  # bytes of a part at most that is copied into a message
UNREST = 1.0  # seconds of waiting until a rank asks whether the others are still there, and then again
FAREWELL = 5.0  # seconds that the news of an error may take to leave; and that ranks have to notice that a worker has left
STEP = 0.02  # seconds between two looks of `run_on_workers`


class Post:
    """The messages for the ranks of one worker, which owns it.

    Parameters
    ----------
    worker : distributed.Worker

    Attributes
    ----------
    condition : Condition
        Held while messages are looked at or change; notified when there are others.
    runs : dict
        By run that is open: its parts, by (work, number of the exchange, rank), and its errors, by work and rank.
    """

    def __init__(self, worker):
        self.condition = Condition()
        self.runs = {}
        worker.handlers |= {"dforest_put": self._put, "dforest_tell": self._tell, "dforest_is_open": self._is_open}

    @classmethod
    def of(cls, worker):
        """The post of a worker, which is made if there is none."""
        post = worker.extensions.get("dforest")
        if post is None:
            post = worker.extensions["dforest"] = cls(worker)
        return post

    def open(self, run):
        with self.condition:
            self.runs[run] = {}, {}

    def close(self, *runs):
        """Drop all messages of runs, which need not be open; of all runs if none is named, as when the worker is closed."""
        with self.condition:
            for run in runs or list(self.runs):
                self.runs.pop(run, None)
            self.condition.notify_all()  # a rank that still waits ends

    def change(self, work, where, name, thing):
        """Add a part (where: 0) or the message of an error (1); False if the run is not open."""
        with self.condition:
            run = self.runs.get(_run_of(work))
            if run is not None:
                run[where][name] = thing
                self.condition.notify_all()
        return run is not None

    # What other workers call.

    async def _put(self, work, number, rank, part):
        return self.change(work, 0, (work, number, rank), part)

    async def _tell(self, work, rank, message):
        return self.change(work, 1, (work, rank), message)

    async def _is_open(self, run):
        return run in self.runs


def _run_of(work):
    return work.partition(".")[0]


class WorkerCommunicator(ByteCommunicator):
    """A rank's end of what connects the workers of a run.

    Parameters
    ----------
    worker : distributed.Worker
        That of this rank.
    addresses : list of str
        Of the ranks' workers.
    work : str
        The run, for the communicator that its rank begins with.
    """

    room = 1 << 25  # a round takes some milliseconds

    def __init__(self, worker, addresses, work):
        super().__init__(addresses.index(worker.address), len(addresses))
        self.worker, self.addresses, self.work = worker, addresses, work
        self._post = Post.of(worker)
        self._n_works = self._n_exchanges = 0
        self._lost = {}  # by rank that cannot be reached: why
        self._awaited = set()  # ranks whose messages have not come
        self._sending = None

    def _duplicate(self):
        self._n_works += 1
        own = WorkerCommunicator(self.worker, self.addresses, f"{self.work}.{self._n_works}")
        own._lost = self._lost
        return own

    def _others(self):
        return [rank for rank in range(self.size) if rank != self.rank and rank not in self._lost]

    def _begin(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.worker.loop.asyncio_loop)

    async def _call(self, rank, operation, /, **arguments):
        """Call another rank's post. Whatever goes wrong says that this rank cannot be reached."""
        reason = "its part in this work has ended"
        try:
            if await getattr(self.worker.rpc(self.addresses[rank]), operation)(**arguments):
                return
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        self._lose(rank, reason)

    def _lose(self, rank, reason):
        self._lost.setdefault(rank, reason)
        self._notify()

    async def _send(self, number, parts):
        await asyncio.gather(
            *(
                self._call(rank, "dforest_put", work=self.work, number=number, rank=self.rank, part=part)
                for rank, part in parts.items()
            )
        )

    async def _look(self, number):
        """Find out whether the others are still there, and those still at work whose messages of an exchange are awaited."""
        there = await self.worker.scheduler.ncores()
        for rank in self._others():
            if self.addresses[rank] not in there:
                self._lose(rank, "it has left the cluster")
        await asyncio.gather(*(self._look_at(rank, number) for rank in self._others() if self._lacks(rank, number)))

    async def _look_at(self, rank, number):
        try:
            is_open = await self.worker.rpc(self.addresses[rank]).dforest_is_open(run=_run_of(self.work))
        except OSError as error:
            self._lose(rank, f"{type(error).__name__}: {error}")
        else:
            if not is_open and self._lacks(rank, number):  # a rank ends well only when its messages have arrived
                self._lose(rank, "its part in this work has ended")

    def _lacks(self, rank, number):
        """Whether the message of a rank in an exchange has not come yet."""
        with self._post.condition:
            run = self._post.runs.get(_run_of(self.work))
            is_awaited = number == self._n_exchanges and rank in self._awaited
            return is_awaited and run is not None and (self.work, number, rank) not in run[0]

    def _exchange_bytes(self, parts):
        start = last_look = perf_counter()
        self._n_exchanges += 1
        number, condition = self._n_exchanges, self._post.condition
        is_inline = all(part.nbytes <= INLINE for part in parts)
        packed = {rank: parts[rank].tobytes() if is_inline else to_serialize(parts[rank]) for rank in self._others()}
        self._awaited = set(range(self.size)) - {self.rank}
        self._sending, looking = self._begin(self._send(number, packed)), None
        self._sending.add_done_callback(self._notify)
        got = {self.rank: parts[self.rank].copy()}
        with condition:
            while True:
                for rank in list(self._awaited):
                    part = self._messages(0).pop((self.work, number, rank), None)
                    if part is not None:
                        got[rank] = part
                        self._awaited.remove(rank)
                is_sent = self._sending.done()
                if is_sent:
                    self._sending.result()
                if not self._awaited and (is_sent or is_inline):  # or else the parts are still read
                    break
                self._listen()
                if perf_counter() - last_look > UNREST and (looking is None or looking.done()):
                    looking, last_look = self._begin(self._look(number)), perf_counter()
                condition.wait(UNREST)
        self.traffic.seconds_waited += perf_counter() - start
        return [_own(got[rank]) for rank in range(self.size)]

    def _notify(self, _=None):
        with self._post.condition:
            self._post.condition.notify_all()

    def _messages(self, where):
        """The parts (0) or errors (1) of this run, while the post's condition is held."""
        run = self._post.runs.get(_run_of(self.work))
        if run is None:
            raise RankError(f"on rank {self.rank}: the fit that it takes part in has ended")
        return run[where]

    def _received_error(self):
        errors = {rank: message for (work, rank), message in self._messages(1).items() if work == self.work}
        if errors:
            return decode_error(errors[min(errors)])
        for rank, reason in self._lost.items():  # the others may not know it yet: so it is raised here, and told
            raise RankError(f"rank {rank} at {self.addresses[rank]} cannot be reached: {reason}")
        if self.worker.status.name not in ("running", "paused"):
            raise RankError(f"the worker {self.worker.address} is being closed")
        return None

    def _broadcast_error(self, error):
        message = encode_error(self.rank, error)

        async def tell():
            await asyncio.gather(
                *(self._call(rank, "dforest_tell", work=self.work, rank=self.rank, message=message) for rank in self._others())
            )

        try:
            self._begin(tell()).result(FAREWELL)
        except TimeoutError:  # whoever has not heard of it will find that this rank's part has ended
            pass

    def _close(self, is_done):
        if is_done and self._sending is not None:
            wait([self._sending])  # whoever waits for it must not find that this rank has gone
        with self._post.condition:
            for messages in self._post.runs.get(_run_of(self.work), ()):
                for name in [name for name in messages if name[0] == self.work]:
                    del messages[name]


def _own(part):
    """A received part as an array that belongs to whoever asked for it."""
    array = np.frombuffer(part, np.uint8) if isinstance(part, bytes) else part
    return array if array.flags.writeable else array.copy()


# What is called on workers by whoever begins a run.


def _open(run, dask_worker):
    Post.of(dask_worker).open(run)


def _close(run, dask_worker):
    Post.of(dask_worker).close(run)


def _work_on(run, addresses, function, *arguments):
    """What a rank does: call the function, and return its result, or the message of an exception and where it was raised."""
    worker = get_worker()
    secede()  # or ranks of two runs could wait for each other's place
    post = Post.of(worker)
    try:
        with post.condition:
            if run not in post.runs:
                raise RankError(f"on rank {addresses.index(worker.address)}: the fit was begun again after its worker was lost")
        return function(WorkerCommunicator(worker, addresses, run), *arguments), None, None
    except BaseException as error:
        return None, encode_error(addresses.index(worker.address), error), traceback.format_exc()
    finally:
        post.close(run)


def run_on_workers(client, addresses, function, arguments):
    """Call a function on workers of a Dask cluster at the same time, as ranks that can speak to each other.

    Parameters
    ----------
    client : distributed.Client
        Not an asynchronous one.
    addresses : list of str
        Of different workers, by rank.
    function : callable
        It is given the rank's communicator and the arguments.
    arguments : list of tuple
        By rank. Futures come as their results, which the worker that has them need not send.

    Returns
    -------
    list
        What the function returns, by rank.

    Raises
    ------
    BaseException
        What a rank has raised, with a message that names the rank, if it lies within common work.
    RankError
        If a worker leaves the cluster.
    """
    run = uuid4().hex
    futures = []
    try:
        opened = wait_for(client, addresses, client.run(_open, run, **_those(addresses)))
        for rank, address in enumerate(addresses):
            if address not in opened:
                raise RankError(f"rank {rank} at {address} cannot be reached")
        futures = [
            client.submit(
                _work_on, run, addresses, function, *own, workers=[address], allow_other_workers=False, pure=False, retries=0
            )
            for address, own in zip(addresses, arguments, strict=True)
        ]
        return _results(client, addresses, futures)
    finally:  # which also ends ranks that are still at work, if this one is given up
        client.cancel(futures)
        wait([_begun(client, client.run(_close, run, **_those(addresses)))], UNREST)


def _those(addresses):
    return {"workers": addresses, "on_error": "ignore", "asynchronous": True}


def _begun(client, coroutine):
    """A coroutine of a client as a future."""
    return asyncio.run_coroutine_threadsafe(coroutine, client.loop.asyncio_loop)


def wait_for(client, addresses, coroutine):
    """What a coroutine of a client returns, which would wait for long for workers that have left.

    Raises
    ------
    RankError
        If one of the workers leaves the cluster.
    """
    future = _begun(client, coroutine)
    while not wait([future], UNREST / 2).done:
        _check_there(client, addresses)
    return future.result()


def _check_there(client, addresses):
    there = client.nthreads()
    for rank, address in enumerate(addresses):
        if address not in there:
            raise RankError(f"rank {rank} at {address} has left the cluster")


def _results(client, addresses, futures):
    """The results of ranks, as soon as all are there, or one has failed."""
    results = {}
    last_look = perf_counter()
    lost, since = None, 0.0
    while len(results) < len(futures):
        for rank, future in enumerate(futures):
            if rank not in results and future.done():
                try:
                    result, message, where = future.result()
                except CancelledError as error:  # the scheduler may tell of this before it no longer lists the worker that left
                    if lost is None:
                        lost, since = RankError(f"rank {rank} at {addresses[rank]} cannot be reached: {error}"), perf_counter()
                    continue
                if message is not None:
                    error = decode_error(message)
                    error.add_note(f"It was raised on the worker {addresses[rank]}:\n{where}")
                    raise error
                results[rank] = result
        if lost is not None and perf_counter() - since > FAREWELL:  # the ranks have not told of it
            raise lost
        if lost is None and perf_counter() - last_look > UNREST / 2:
            last_look = perf_counter()
            try:
                _check_there(client, addresses)
            except RankError as error:
                lost, since = error, last_look
        sleep(STEP)
    return [results[rank] for rank in range(len(futures))]
