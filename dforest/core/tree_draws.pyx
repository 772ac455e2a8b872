"""The draws of several trees together: which rows of a stretch each of them draws, and the draws of pieces of blocks.

What a tree draws follows from its plan, its seed and the number of rows (`dforest.core.sampling`). To find out how many of a
tree's draws fall into each block takes time for every draw; so that is done once for all trees, and kept. The rows of a block are
drawn again whenever somebody asks.

A `TreeDraws` owns the numbers by block; plans and seeds are lent.
"""
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc

from cpython.ref cimport PyObject

import numpy as np

from dforest.core.sampling cimport MANY_DRAWS, Helpers, SamplingPlan, Work, count_blocks
from dforest.core.threads cimport Turn, check_signals, poll, share
from dforest.rules.random cimport DF_BLOCK

from dforest.core.sampling import MOST_ROWS, check_plans, checked_integer

cdef enum:
    MANY = 1 << 16             # what dealing one tree's draws counts as work, in nanoseconds or so: see threads.pxd
    PIECES_TOGETHER = 64       # of a tree, that one thread draws in one go


cdef struct Workers:               # of the process, as helpers
    int n_threads
    Work work
    void* job


cdef int do_work(void* context, Py_ssize_t item, Turn* turn) except -1 nogil:
    (<Workers*> context).work((<Workers*> context).job, item)
    return 0


cdef int share_among_workers(void* context, Py_ssize_t n_items, Work work, void* job) except -1 nogil:
    """See `Helpers.share`. IN context : Workers"""
    cdef Workers* workers = <Workers*> context
    workers.work = work
    workers.job = job
    with gil:
        share(do_work, workers, n_items, workers.n_threads)
    return 0


def width_of(plans):
    """The largest of some plans' numbers of a block, by which their draws lie in one array; 1 if there is no plan."""
    return max([1] + [plan.width for plan in plans])


cdef class TreeDraws:
    """The draws of some trees: how many fall into each block is kept, and which rows they are is computed again when asked.

    These are the draws of all rows, or of a stretch of them, whose rows are then counted from 0.

    Parameters
    ----------
    plans : tuple of SamplingPlan
        The plan of each tree.
    seeds : ndarray of shape (n_trees,), dtype uint32
        The seed of each tree.
    n_rows : int
        Rows that all trees drew from.
    n_threads : int
        Most threads that deal draws out to blocks.
    stretch : tuple of int, optional
        The number of the first row of the stretch, and how many rows it has, at least one. None: all rows.
    of_block : ndarray of shape (n_trees, n_blocks, width), dtype int64, optional
        How many draws of each tree fall into each block that has rows of the stretch, if somebody has dealt them out: see
        `dforest.spmd.draws.DrawDealer`. A stretch of less than all rows needs this.

    Attributes
    ----------
    plans, seeds, n_rows
        As given.
    first, n_own : int
        The number of the first row of the stretch, and how many rows it has.
    of_block : ndarray of shape (n_trees, n_blocks, width), dtype int64
        How many draws of each tree fall into each block that has rows of the stretch. A plan of fewer numbers has them first, and
        0 after them.
    width : int
        The largest of the plans' numbers of a block.
    """

    def __cinit__(self, plans, const uint32_t[::1] seeds not None, n_rows, int n_threads, stretch=None, of_block=None):
        cdef Py_ssize_t t, n_trees = seeds.shape[0]
        cdef SamplingPlan plan
        check_plans(plans)
        self.plans = plans
        if len(self.plans) != n_trees:
            raise ValueError(f"{len(self.plans)} plans of {n_trees} trees")
        self.n_rows = checked_integer("n_rows", n_rows, 1, MOST_ROWS)
        self.first, self.n_own = (0, self.n_rows) if stretch is None else stretch
        checked_integer("the first row of the stretch", self.first, 0, self.n_rows - 1)
        checked_integer("the number of rows of the stretch", self.n_own, 1, self.n_rows - self.first)
        self.first_block = self.first // DF_BLOCK
        self.width = width_of(plans)
        shape = n_trees, count_blocks(self.first + self.n_own) - self.first_block, self.width
        self.seed, self.seeds = seeds, np.asarray(seeds)
        self.plan = <PyObject**> malloc(max(1, n_trees) * sizeof(PyObject*))
        if self.plan == NULL:
            raise MemoryError()
        for t in range(n_trees):
            plan = self.plans[t]
            plan.check_rows(self.n_rows)
            self.plan[t] = <PyObject*> plan
        if of_block is None:
            if self.n_own < self.n_rows:
                raise ValueError(f"stretch={stretch!r} of {n_rows} rows needs of_block")
            self.of_block = np.empty(shape, np.int64)
            self.dealt = self.of_block
            self.deal_all(n_threads)
            self.spread()
            return
        self.of_block = np.ascontiguousarray(of_block, np.int64)
        if self.of_block.shape != shape:
            raise ValueError(f"of_block has the shape {self.of_block.shape}; for stretch={stretch!r} it is {shape}")
        self.dealt = self.of_block

    def __dealloc__(self):
        free(self.plan)

    cdef int deal_all(self, int n_threads) except -1:
        """Deal all trees' draws out: each tree's by one thread, but together those of the last trees, too few for all threads."""
        cdef Workers workers = Workers(n_threads, NULL, NULL)
        cdef Helpers helpers = Helpers(&workers, share_among_workers)
        cdef Py_ssize_t n_trees = self.dealt.shape[0], n_apart = n_trees, t
        if n_threads > 1 and any(plan.count_draws(self.n_rows) >= MANY_DRAWS for plan in self.plans[-n_threads:]):
            n_apart = n_trees // n_threads * n_threads
        share(deal_tree, <void*> self, n_apart, n_threads)
        for t in range(n_apart, n_trees):
            check_signals()
            with nogil:
                self.deal(t, &helpers)
        return 0

    cdef int deal(self, Py_ssize_t tree, Helpers* helpers) except -1 nogil:
        return (<SamplingPlan> self.plan[tree]).deal(self.seed[tree], self.n_rows, 0, self.n_blocks(), &self.dealt[tree, 0, 0],
                                                     helpers)

    cdef int spread(self) except -1:
        """Move what plans of fewer numbers than `width` have dealt out, one block after another, to where it belongs."""
        for numbers, plan in zip(self.of_block, self.plans):
            if plan.width < self.width:
                dense = numbers.reshape(-1)[: len(numbers) * plan.width].copy()
                numbers[:] = 0
                numbers[:, : plan.width] = dense.reshape(-1, plan.width)
        return 0

    cdef Py_ssize_t n_blocks(self) noexcept nogil:
        return self.dealt.shape[1]

    cdef Py_ssize_t begin(self, Py_ssize_t block) noexcept nogil:
        return min(self.n_own, max(<Py_ssize_t> 0, (self.first_block + block) * DF_BLOCK - self.first))

    cdef const uint32_t* draw_block(self, Py_ssize_t tree, Py_ssize_t block, uint32_t* counts) noexcept nogil:
        cdef Py_ssize_t number = self.first_block + block
        (<SamplingPlan> self.plan[tree]).draw_block(self.seed[tree], self.n_rows, number, &self.dealt[tree, block, 0], counts)
        return counts + max(<Py_ssize_t> 0, self.first - number * DF_BLOCK)


cdef int deal_tree(void* context, Py_ssize_t tree, Turn* turn) except -1 nogil:
    (<TreeDraws> context).deal(tree, NULL)
    return poll(turn, MANY)


cdef class _Pieces:
    """What threads know that draw pieces of blocks for some trees; borrows its arrays from `draw_pieces`."""
    cdef SamplingPlan plan
    cdef Py_ssize_t n_rows, n_pieces, n_runs       # of a tree, of PIECES_TOGETHER pieces each
    cdef const uint32_t[::1] seeds
    cdef const int64_t[:, :, ::1] n_draws
    cdef const int64_t[::1] block, first, length, place
    cdef uint32_t[:, ::1] counts

    cdef int draw(self, Py_ssize_t item, Turn* turn) except -1 nogil:
        cdef uint32_t drawn[DF_BLOCK]
        cdef Py_ssize_t tree = item // self.n_runs, begin = item % self.n_runs * PIECES_TOGETHER, i, k
        cdef int64_t block = -1
        for i in range(begin, min(begin + PIECES_TOGETHER, self.n_pieces)):
            if self.block[i] != block:
                block = self.block[i]
                self.plan.draw_block(self.seeds[tree], self.n_rows, block, &self.n_draws[tree, i, 0], drawn)
            for k in range(self.length[i]):
                self.counts[tree, self.place[i] + k] = drawn[self.first[i] + k]
            poll(turn, MANY)
        return 0


cdef int draw_run(void* context, Py_ssize_t item, Turn* turn) except -1 nogil:
    return (<_Pieces> context).draw(item, turn)


def draw_pieces(SamplingPlan plan not None, seeds, n_rows, n_draws, pieces, int n_threads):
    """How often trees draw the rows of some pieces of blocks.

    Parameters
    ----------
    plan : SamplingPlan
        Of all trees.
    seeds : ndarray of shape (n_trees,), dtype uint32
    n_rows : int
        Rows that the trees draw from.
    n_draws : ndarray of shape (n_trees, n_pieces, width), dtype int64
        How many draws of each tree fall into the block that each piece is of, in as many numbers as the plan has for a block: see
        `TreeDraws.of_block`.
    pieces : tuple of ndarray of shape (n_pieces,), dtype int64
        The block of each piece, the piece's first row in the block, and its number of rows: see `dforest.rows.RowShare.pieces`.
    n_threads : int
        Most threads.

    Returns
    -------
    ndarray of shape (n_trees, n_rows of all pieces), dtype uint32
    """
    cdef _Pieces job = _Pieces()
    block, first, length = (np.ascontiguousarray(numbers, np.int64) for numbers in pieces)
    seeds, n_draws = np.ascontiguousarray(seeds, np.uint32), np.ascontiguousarray(n_draws, np.int64)
    n_rows = checked_integer("n_rows", n_rows, 1, MOST_ROWS)
    plan.check_rows(n_rows)
    if n_draws.shape != (len(seeds), len(block), plan.width) or not len(block) == len(first) == len(length):
        raise ValueError(f"draws of shape {n_draws.shape}, of {len(seeds)} trees and {len(block)} pieces by {plan!r}, which has "
                         f"{plan.width} numbers for a block")
    last = np.minimum(DF_BLOCK, n_rows - block * DF_BLOCK)
    if not ((block >= 0) & (first >= 0) & (length > 0) & (first + length <= last)).all():
        raise ValueError(f"a piece lies beyond its block, or beyond {n_rows} rows")
    counts = np.empty((len(seeds), int(length.sum())), np.uint32)
    job.plan, job.n_rows, job.n_pieces = plan, n_rows, len(block)
    job.n_runs = (job.n_pieces + PIECES_TOGETHER - 1) // PIECES_TOGETHER
    job.seeds, job.n_draws, job.counts = seeds, n_draws, counts
    job.block, job.first, job.length, job.place = block, first, length, np.cumsum(length) - length
    share(draw_run, <void*> job, len(seeds) * job.n_runs, n_threads)
    return counts
