"""Crews by hand, for tests."""
from libc.stdint cimport int64_t

import time

import numpy as np

from dforest.core.crew cimport Crew
from dforest.core.threads cimport Worker, poll

cdef struct Tally:
    int64_t n_items
    int64_t* counts            # [n_items] how often each has been done
    int64_t call
    int64_t n_calls
    double nap                 # seconds that the leader sleeps between calls
    bint fails


cdef void count(void* context, int64_t item) noexcept nogil:
    (<Tally*> context).counts[item] += 1


cdef int lead(void* context, Crew crew, Worker* worker) except -1 nogil:
    cdef Tally* tally = <Tally*> context
    for tally.call in range(tally.n_calls):
        crew.call(count, context, tally.n_items)
        if tally.nap > 0.0:
            with gil:
                time.sleep(tally.nap)
        poll(worker, 1 << 20)
    if tally.fails:
        with gil:
            raise ArithmeticError(f"after {tally.n_calls} calls")
    return 0


def count_items(Crew crew not None, int64_t n_calls, int64_t n_items, double nap=0.0, bint fails=False):
    """How often a crew does each item.

    Parameters
    ----------
    crew : Crew
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
    cdef Tally tally
    tally.n_items = n_items
    tally.counts = &to[0]
    tally.n_calls = n_calls
    tally.nap = nap
    tally.fails = fails
    crew.run(lead, &tally)
    return counts[:n_items]
