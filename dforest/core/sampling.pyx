"""Sampling plans: which rows a tree draws, and how often.

Words: a *draw* is one selection of a row; a row's *count* says how often a tree draws it; a row of count 0 is *out of bag*. A
*block* is DF_BLOCK neighbouring rows; the last one may have fewer.

A plan keeps nothing of the trees: their draws follow from the plan, the number of rows and the tree's seed, in integers alone, so
that any thread, device or machine computes them again, for any block of rows without the others.

The bootstrap draws N rows of n with replacement, exactly multinomial. The draws are sent down a fixed binary tree over blocks,
and then each block draws its own rows. Nodes of that tree are numbered as in a heap (root 1, children 2i and 2i + 1), with the
blocks as leaves, padded to a power of two; padding holds no rows. Of 10,000 rows, blocks 0 to 2:

            1                  node 1: the left half has 8192 rows, the right one 1808, so each draw decides for itself
        2       3              node 2: even halves; k draws take k random bits, and as many go left as there are ones
      0   1   2   -            node 3: all its draws are block 2's, as there is no block 3

At most one node of a level has halves that are neither even nor empty.
"""
from operator import index

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from cpython.ref cimport PyObject
from cython cimport final

import numpy as np

from dforest.core.threads cimport Turn, poll, share
from dforest.rules.random cimport DF_BLOCK
from dforest.rules.sampling cimport df_draw_block, df_draws_to_left

MOST_ROWS = 2**32 - 1          # numbers of rows have 32 bits
MOST_DRAWS = 2**32 - 1         # counts of draws have 32 bits

cdef enum:
    MANY = 1 << 16             # what dealing one tree's draws counts as work, in nanoseconds or so: see threads.pxd


def checked_integer(name, number, least, most):
    """A number as an int.

    Raises
    ------
    TypeError
        If it is not an integer.
    ValueError
        If it is below `least` or above `most`.
    """
    try:
        number = index(number)
    except TypeError:
        raise TypeError(f"{name}={number!r}; allowed are integers") from None
    if not least <= number <= most:
        raise ValueError(f"{name}={number}; allowed are numbers from {least} to {most}")
    return number


cdef class SamplingPlan:
    """Which rows a tree draws, and how often: base class of plans, which do not change once they are made.

    Two plans are equal if they are of one class and have equal parameters.

    Attributes
    ----------
    leaves_rows_out : bool
        Whether a tree may leave rows out, which can then tell how well it predicts rows that it has not seen.
    """

    parameters = ()

    def __cinit__(self):
        if type(self) is SamplingPlan:
            raise TypeError("SamplingPlan is the base of sampling plans, and none itself; allowed are AllRows and Bootstrap")

    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil:
        return n_rows

    cdef int deal(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws) except -1 nogil:
        with gil:
            raise TypeError(f"{type(self).__name__} has no code that deals draws out to blocks: see dforest/core/sampling.pxd")

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, int64_t n_draws,
                         uint32_t* counts) noexcept nogil:
        """Do nothing: a class without code for `deal` never gets here."""

    def count_draws(self, n_rows):
        """How many draws a tree has, of n_rows rows: int."""
        return self.tree_draws(checked_integer("n_rows", n_rows, 1, MOST_ROWS))

    def most_records(self, n_rows):
        """How many rows a tree can draw at all, of n_rows rows: int."""
        return min(n_rows, self.count_draws(n_rows))

    def counts(self, n_rows, seed, blocks=None):
        """How often a tree draws each row.

        Parameters
        ----------
        n_rows : int
            Rows drawn from, below 2**32.
        seed : int
            The tree's, below 2**32.
        blocks : range, optional
            Blocks whose rows are asked for, of 4096 rows each; the rows of other blocks cost nothing. None: all blocks.

        Returns
        -------
        ndarray of shape (n_rows of these blocks,), dtype uint32

        Examples
        --------
        >>> from dforest.core.sampling import AllRows, Bootstrap
        >>> AllRows().counts(3, seed=0)
        array([1, 1, 1], dtype=uint32)
        >>> plan = Bootstrap(10_000)
        >>> counts = plan.counts(10_000, seed=0)
        >>> int(counts.sum())
        10000
        >>> bool((plan.counts(10_000, seed=0, blocks=range(1, 2)) == counts[4096:8192]).all())
        True
        """
        cdef Py_ssize_t n = checked_integer("n_rows", n_rows, 1, MOST_ROWS), block, n_blocks = count_blocks(n)
        cdef uint32_t tree = checked_integer("seed", seed, 0, 2**32 - 1)
        blocks = range(n_blocks) if blocks is None else blocks
        if not (isinstance(blocks, range) and blocks.step == 1 and 0 <= blocks.start < blocks.stop <= n_blocks):
            raise ValueError(f"blocks={blocks!r}; allowed are ranges of one or more of the {n_blocks} blocks of {n} rows")
        cdef Py_ssize_t first = blocks.start, last = blocks.stop
        cdef int64_t[::1] n_draws = np.empty(last - first, np.int64)
        result = np.empty(min(n, last * DF_BLOCK) - first * DF_BLOCK, np.uint32)
        cdef uint32_t[::1] out = result
        with nogil:
            self.deal(tree, n, first, last, &n_draws[0])
            for block in range(first, last):
                self.draw_block(tree, n, block, n_draws[block - first], &out[(block - first) * DF_BLOCK])
        return result

    def block_draws(self, n_rows, seed):
        """How many draws of a tree fall into each block of rows: ndarray of shape (n_blocks,), dtype int64."""
        cdef Py_ssize_t n = checked_integer("n_rows", n_rows, 1, MOST_ROWS)
        cdef uint32_t tree = checked_integer("seed", seed, 0, 2**32 - 1)
        result = np.empty(count_blocks(n), np.int64)
        cdef int64_t[::1] out = result
        with nogil:
            self.deal(tree, n, 0, out.shape[0], &out[0])
        return result

    def __reduce__(self):
        return type(self), tuple(getattr(self, name) for name in self.parameters)

    def __eq__(self, other):
        return type(self) is type(other) and self.__reduce__() == other.__reduce__()

    def __hash__(self):
        return hash(self.__reduce__())

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.parameters)})"


@final
cdef class AllRows(SamplingPlan):
    """Every row once."""

    cdef int deal(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws) except -1 nogil:
        cdef Py_ssize_t block
        for block in range(first, last):
            n_draws[block - first] = rows_of_block(n_rows, block)
        return 0

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, int64_t n_draws,
                         uint32_t* counts) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(rows_of_block(n_rows, block)):
            counts[i] = 1


@final
cdef class Bootstrap(SamplingPlan):
    """Rows drawn with replacement, all with equal chances.

    Parameters
    ----------
    n_draws : int
        Draws of a tree, from 1 to 2**32 - 1; there may be more draws than rows.
    """

    parameters = ("n_draws",)

    def __cinit__(self, n_draws):
        self.n_draws = checked_integer("n_draws", n_draws, 1, MOST_DRAWS)
        self.leaves_rows_out = True

    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil:
        return self.n_draws

    cdef int deal(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws) except -1 nogil:
        cdef int64_t pending[64]         # draws of the right siblings still to come, by level
        cdef int64_t block = first, begin, middle, end, draws = self.n_draws, left
        cdef int height = 0, level = 0
        while (<int64_t> 1 << height) < count_blocks(n_rows):
            height += 1
        while True:
            # Down to this block, from the root, or from the highest node that starts at it.
            while level < height:
                begin = block >> (height - level) << (height - level)      # of the node, in blocks
                middle = begin + (<int64_t> 1 << (height - level - 1))
                end = begin + (<int64_t> 1 << (height - level))
                left = df_draws_to_left(seed, (<uint64_t> 1 << level) + (<uint64_t> block >> (height - level)), draws,
                                        rows_before(n_rows, middle) - rows_before(n_rows, begin),
                                        rows_before(n_rows, end) - rows_before(n_rows, middle))
                level += 1
                pending[level] = draws - left
                draws = left if block < middle else draws - left
            n_draws[block - first] = draws
            block += 1
            if block == last:
                return 0
            # The next block is the first of a right sibling, at the level where the carry stops.
            while (block >> (height - level)) & 1 == 0:
                level -= 1
            draws = pending[level]

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, int64_t n_draws,
                         uint32_t* counts) noexcept nogil:
        df_draw_block(seed, block, rows_of_block(n_rows, block), n_draws, counts)


cdef inline int64_t rows_before(int64_t n_rows, int64_t block) noexcept nogil:
    return min(n_rows, block * DF_BLOCK)


def check_plans(plans):
    """Raise TypeError unless `plans` is a tuple of sampling plans."""
    if type(plans) is not tuple:
        raise TypeError(f"plans is a {type(plans).__name__}; allowed are tuples of sampling plans")
    for t, plan in enumerate(plans):
        if not isinstance(plan, SamplingPlan):
            raise TypeError(f"plans has {plan!r} for tree {t}; allowed are sampling plans")


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
    of_block : ndarray of shape (n_trees, n_blocks), dtype int64, optional
        How many draws of each tree fall into each block that has rows of the stretch, if somebody has dealt them out: see
        `dforest.spmd.draws.DrawDealer`. A stretch of less than all rows needs this.

    Attributes
    ----------
    plans, seeds, n_rows
        As given.
    first, n_own : int
        The number of the first row of the stretch, and how many rows it has.
    of_block : ndarray of shape (n_trees, n_blocks), dtype int64
        How many draws of each tree fall into each block that has rows of the stretch.
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
        shape = n_trees, count_blocks(self.first + self.n_own) - self.first_block
        self.seed, self.seeds = seeds, np.asarray(seeds)
        self.plan = <PyObject**> malloc(max(1, n_trees) * sizeof(PyObject*))
        if self.plan == NULL:
            raise MemoryError()
        for t in range(n_trees):
            plan = self.plans[t]
            self.plan[t] = <PyObject*> plan
        if of_block is None:
            if self.n_own < self.n_rows:
                raise ValueError(f"stretch={stretch!r} of {n_rows} rows needs of_block")
            self.of_block = np.empty(shape, np.int64)
            self.dealt = self.of_block
            share(deal_tree, <void*> self, n_trees, n_threads)
            return
        self.of_block = np.ascontiguousarray(of_block, np.int64)
        if self.of_block.shape != shape:
            raise ValueError(f"of_block has the shape {self.of_block.shape}; for stretch={stretch!r} it is {shape}")
        self.dealt = self.of_block

    def __dealloc__(self):
        free(self.plan)

    cdef int deal(self, Py_ssize_t tree, Turn* turn) except -1 nogil:
        (<SamplingPlan> self.plan[tree]).deal(self.seed[tree], self.n_rows, 0, self.dealt.shape[1], &self.dealt[tree, 0])
        return poll(turn, MANY)

    cdef Py_ssize_t n_blocks(self) noexcept nogil:
        return self.dealt.shape[1]

    cdef Py_ssize_t begin(self, Py_ssize_t block) noexcept nogil:
        return min(self.n_own, max(<Py_ssize_t> 0, (self.first_block + block) * DF_BLOCK - self.first))

    cdef const uint32_t* draw_block(self, Py_ssize_t tree, Py_ssize_t block, uint32_t* counts) noexcept nogil:
        cdef Py_ssize_t number = self.first_block + block
        (<SamplingPlan> self.plan[tree]).draw_block(self.seed[tree], self.n_rows, number, self.dealt[tree, block], counts)
        return counts + max(<Py_ssize_t> 0, self.first - number * DF_BLOCK)


cdef int deal_tree(void* context, Py_ssize_t tree, Turn* turn) except -1 nogil:
    return (<TreeDraws> context).deal(tree, turn)


cdef enum:
    PIECES_TOGETHER = 64       # of a tree, that one thread draws in one go


cdef class _Pieces:
    """What threads know that draw pieces of blocks for some trees; borrows its arrays from `draw_pieces`."""
    cdef SamplingPlan plan
    cdef Py_ssize_t n_rows, n_pieces, n_runs       # of a tree, of PIECES_TOGETHER pieces each
    cdef const uint32_t[::1] seeds
    cdef const int64_t[:, ::1] n_draws
    cdef const int64_t[::1] block, first, length, place
    cdef uint32_t[:, ::1] counts

    cdef int draw(self, Py_ssize_t item, Turn* turn) except -1 nogil:
        cdef uint32_t drawn[DF_BLOCK]
        cdef Py_ssize_t tree = item // self.n_runs, begin = item % self.n_runs * PIECES_TOGETHER, i, k
        cdef int64_t block = -1
        for i in range(begin, min(begin + PIECES_TOGETHER, self.n_pieces)):
            if self.block[i] != block:
                block = self.block[i]
                self.plan.draw_block(self.seeds[tree], self.n_rows, block, self.n_draws[tree, i], drawn)
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
    n_draws : ndarray of shape (n_trees, n_pieces), dtype int64
        How many draws of each tree fall into the block that each piece is of: see `SamplingPlan.block_draws`.
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
    if n_draws.shape != (len(seeds), len(block)) or not len(block) == len(first) == len(length):
        raise ValueError(f"draws of shape {n_draws.shape}, of {len(seeds)} trees and {len(block)} pieces")
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
