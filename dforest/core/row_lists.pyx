"""Lists of the rows that trees draw, which take the time of few rows where trees draw few.

The arrays that are returned are new; plans and seeds are lent.
"""
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.core.sampling cimport SamplingPlan, count_blocks, draws_of_block
from dforest.core.threads cimport WorkerContext, parallel_for, poll
from dforest.rules.random cimport DF_BLOCK

from dforest.core.sampling import MAX_ROWS, checked_integer

cdef enum:
    LIST_WORK = 1 << 16        # what listing the rows of a tree counts as work, in nanoseconds or so: see threads.pxd


cdef class _Lists:
    """What threads know that list the rows which some trees draw; borrows its arrays from `drawn_rows`."""
    cdef SamplingPlan plan
    cdef Py_ssize_t n_rows
    cdef const uint32_t[::1] seeds
    cdef uint32_t[:, ::1] rows, counts
    cdef int64_t[::1] n

    cdef int fill(self, Py_ssize_t tree, WorkerContext* worker) except -1 nogil:
        cdef Py_ssize_t n_blocks = count_blocks(self.n_rows), width = self.plan.width, block, i, n_here, n = 0
        cdef int64_t* of_block = <int64_t*> malloc(n_blocks * width * sizeof(int64_t))
        if of_block == NULL:
            with gil:
                raise MemoryError()
        try:
            self.plan.allocate(self.seeds[tree], self.n_rows, 0, n_blocks, of_block, NULL)
            for block in range(n_blocks):
                if draws_of_block(of_block + block * width, width) == 0:
                    continue
                n_here = self.plan.list_block(self.seeds[tree], self.n_rows, block, of_block + block * width, &self.rows[tree, n],
                                              &self.counts[tree, n])
                for i in range(n, n + n_here):
                    self.rows[tree, i] += <uint32_t> (block * DF_BLOCK)
                n += n_here
        finally:
            free(of_block)
        self.n[tree] = n
        return poll(worker, LIST_WORK)


cdef int fill_list(void* context, Py_ssize_t tree, WorkerContext* worker) except -1 nogil:
    return (<_Lists> context).fill(tree, worker)


def drawn_rows(SamplingPlan plan not None, seeds, n_rows, int n_threads):
    """The rows that some trees draw, which take the time of few rows where these are few.

    Parameters
    ----------
    plan : SamplingPlan
        Of all trees.
    seeds : ndarray of shape (n_trees,), dtype uint32
    n_rows : int
        Rows that the trees draw from.
    n_threads : int
        Most threads.

    Returns
    -------
    rows, counts : ndarray of shape (n_trees, max_records), dtype uint32
        The numbers of the rows that a tree draws, ascending, and how often it draws each, in the first entries of a row.
    n : ndarray of shape (n_trees,), dtype int64
        How many of a row's entries these are.
    """
    cdef _Lists task = _Lists()
    seeds = np.ascontiguousarray(seeds, np.uint32)
    task.plan, task.n_rows, task.seeds = plan, checked_integer("n_rows", n_rows, 1, MAX_ROWS), seeds
    plan.check_rows(task.n_rows)
    shape = len(seeds), plan.max_records(n_rows)
    rows, counts, n = np.empty(shape, np.uint32), np.empty(shape, np.uint32), np.empty(len(seeds), np.int64)
    task.rows, task.counts, task.n = rows, counts, n
    parallel_for(fill_list, <void*> task, len(seeds), n_threads)
    return rows, counts, n
