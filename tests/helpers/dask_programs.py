"""What ranks on Dask's workers do in tests; a module, so that workers can import it."""

import os
import signal
import time

import numpy as np

from helpers.collectives import check_collectives


def collectives(ranks):
    with ranks.together() as work:
        return check_collectives(work, range(40))


def large(ranks):
    """64 MiB to each other rank."""
    with ranks.together() as work:
        array = np.arange(1 << 23) + ranks.rank
        return [np.array_equal(got - rank, array - ranks.rank) for rank, got in enumerate(work.gather(array))]


def fail(ranks, step, error):
    """Ten exchanges, some of them large, and at a step an error on rank 1; what each rank then sees, and a sum after it."""
    try:
        with ranks.together() as work:
            for number in range(11):
                if number == step and ranks.rank == 1:
                    raise error
                if number < 10:
                    work.sum(np.ones(10 if number % 3 else 100_000, np.int64))
    except BaseException as seen:
        with ranks.together() as work:
            return type(seen).__name__, str(seen), work.total(1)


def raise_odd(ranks):
    with ranks.together() as work:
        if ranks.rank == 1:
            raise KeyError("odd")
        work.barrier()


def total(ranks, number, pause=0.0):
    with ranks.together() as work:
        time.sleep(pause)
        return work.total(number)


def leave(ranks, seconds, folder):
    """Exchanges without end; after a while, one rank is killed. All others say in a file what they saw."""
    begin = time.perf_counter()
    try:
        with ranks.together() as work:
            number = 0
            while True:
                if ranks.rank == 1 and time.perf_counter() - begin > seconds:
                    os.kill(os.getpid(), signal.SIGKILL)
                number += 1
                work.sum(np.ones(10 if number % 10 else 1_000_000, np.int64))
    except BaseException as seen:
        (folder / str(ranks.rank)).write_text(f"{type(seen).__name__}: {seen}")
        raise


def wait(ranks):
    """Rank 0 waits for the others, which never come."""
    with ranks.together() as work:
        while ranks.rank:
            time.sleep(0.1)
            work._listen()
        work.barrier()


def runs(dask_worker):
    """The runs that a worker has messages of."""
    post = dask_worker.extensions.get("dforest")
    return [] if post is None else list(post.runs)


def n_tasks(dask_worker):
    return len(dask_worker.state.executing) + len(dask_worker.state.long_running)
