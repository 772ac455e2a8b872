"""Teams by hand, for tests."""
from libc.stdint cimport int64_t

import time

import numpy as np

from dforest.core.spin_team cimport SpinTeam
from dforest.core.threads cimport NOWAIT_LOCK, PyThread_acquire_lock, WorkerContext, poll

cdef struct Counting:
    int64_t n_items
    int64_t* counts            # [n_items] how often each has been done
    int64_t call
    int64_t n_calls
    double nap                 # seconds that the leader sleeps between calls
    bint fails


cdef void count(void* context, int64_t item) noexcept nogil:
    (<Counting*> context).counts[item] += 1


cdef int lead(void* context, SpinTeam team, WorkerContext* worker) except -1 nogil:
    cdef Counting* counting = <Counting*> context
    for counting.call in range(counting.n_calls):
        team.for_each(count, context, counting.n_items)
        if counting.nap > 0.0:
            with gil:
                time.sleep(counting.nap)
        poll(worker, 1 << 20)
    if counting.fails:
        with gil:
            raise ArithmeticError(f"after {counting.n_calls} calls")
    return 0


def count_items(SpinTeam team not None, int64_t n_calls, int64_t n_items, double nap=0.0, bint fails=False):
    """How often a team does each item.

    Parameters
    ----------
    team : SpinTeam
    n_calls, n_items : int
        How many calls its leader makes, one after another, and the items of each.
    nap : float
        Seconds that the leader sleeps after each call.
    fails : bool
        Whether it raises an ArithmeticError in the end.

    Returns
    -------
    ndarray of shape (n_items,), dtype int64
        ``n_calls``, if each item is done once in each call.
    """
    counts = np.zeros(max(1, n_items), np.int64)
    cdef int64_t[::1] to = counts
    cdef Counting counting
    counting.n_items = n_items
    counting.counts = &to[0]
    counting.n_calls = n_calls
    counting.nap = nap
    counting.fails = fails
    team.run_leader(lead, &counting, 0)
    return counts[:n_items]


def held_locks(SpinTeam team not None):
    """Whether the lock of each member, which wakes it, is held: list of bool. Those that are not are held afterwards."""
    return [not PyThread_acquire_lock(team.wake_locks[i], NOWAIT_LOCK) for i in range(team.n_members)]
