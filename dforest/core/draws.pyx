"""Draws by strata and by groups of rows, and those of several trees together.

The plans here draw from parts of the rows, with chances of their own, or whole groups of rows.

A *stratum* is a part of the rows, a class say, of which each tree has a given number of draws; its rows are its *members*. A
row's *mass* is an integer to which its chance to be drawn is proportional. A *group* is a set of rows that a tree draws together:
all of them, as often as the group is drawn, or none.

`Strata` sends the draws of each stratum down the tree of blocks as `Bootstrap` does, where the halves of a node count by the
masses of the stratum's rows there; so a block has a number of draws for each stratum. Inside a block the members of a stratum are
numbered in the order of rows, and drawn from as all rows of a block are in other plans. If there is one stratum, and masses are
equal, the draws are those of `Bootstrap`, or, without replacement, those of `Subsample`.

`Groups` draws groups as `Bootstrap` or `Subsample` draw rows, from blocks of neighbouring groups. A block of rows asks for the
draws of those blocks of groups that it has rows of. Groups are numbered in the order of their first rows; so a block of rows asks
few blocks of groups where groups are runs of rows.

A plan keeps the arrays it is made of, and what it needs to know of blocks; nothing is kept of trees.

A `TreeDraws` has the draws of several trees, by any plans: which rows of a range each tree draws, and the draws of pieces of
blocks. To find out how many of a tree's draws fall into each block takes time for every draw; so these numbers are computed once
for each tree, and kept. The rows of a block are drawn again whenever somebody asks. A `TreeDraws` owns the numbers by block;
plans and seeds are lent.
"""
cimport cython
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.core.loops cimport loops
from dforest.core.sampling cimport MANY_DRAWS, Work, count_blocks, draws_to_left, rows_of_block
from dforest.core.threads cimport WorkerContext, check_signals, parallel_for, poll
from dforest.rules.random cimport DF_BLOCK
from dforest.rules.sampling cimport df_draw_by_mass, df_heavy_to_left, df_subsampled_before

from dforest.core.sampling import MAX_DRAWS, MAX_ROWS, Bootstrap, Subsample, check_plans, checked_integer


MAX_STRATA = 2**20             # their numbers stand above those of nodes and blocks, in the keys of random streams

cdef enum:
    STRATUM_BITS = 40          # of a stream key, below the number of the stratum
    GROUP_BLOCKS = 64          # of groups, allocated to in one go
    MOST_NUMBERS = 2           # that a plan of groups has for a block


cdef inline uint64_t stream_key_of(Py_ssize_t stratum, int64_t number) noexcept nogil:
    return (<uint64_t> stratum << STRATUM_BITS) + <uint64_t> number


def _kept(name, numbers, kinds):
    """An array of a plan: one axis, at least one entry, and never to be written to again.

    Raises
    ------
    ValueError
        If it is another kind of array.
    """
    if not (isinstance(numbers, np.ndarray) and numbers.ndim == 1 and numbers.dtype in kinds and 0 < len(numbers) <= MAX_ROWS):
        raise ValueError(f"{name} is a {type(numbers).__name__}; allowed are ndarrays of one axis and one of the types "
                         f"{', '.join(np.dtype(kind).name for kind in kinds)}, with 1 to {MAX_ROWS} entries")
    kept = np.ascontiguousarray(numbers)
    if kept is numbers and numbers.flags.writeable:
        kept = numbers.copy()
    kept.setflags(write=False)
    return kept


_MOST_MASS = 2.0**63 * (1.0 - 2.0**-20)  # as sums of float64 are rounded


def _sums_of_blocks(stratum, n_strata, numbers):
    """Sums of some numbers of rows over the blocks before each block, by stratum: ndarray of shape (n_blocks + 1, n_strata)."""
    sums = np.zeros((count_blocks(len(stratum)) + 1, n_strata), np.int64)
    for block in range(len(sums) - 1):
        rows = slice(block * DF_BLOCK, (block + 1) * DF_BLOCK)
        np.add.at(sums[block + 1], stratum[rows], 1 if numbers is None else numbers[rows].astype(np.int64))
    return np.cumsum(sums, axis=0)


@cython.final
cdef class Strata(SamplingPlan):
    """A sampling plan by which a given number of rows is drawn from each part ("stratum") of the rows, such as a class.

    Parameters
    ----------
    stratum : ndarray of shape (n_rows,), dtype uint32, or None
        Number of the stratum of each row; None means that all rows are one stratum.
    n_draws : ndarray of shape (n_strata,), dtype int64
        Number of draws of a tree from each stratum, from 0 to 2**32 - 1. Their sum is at least 1 and at most 2**32 - 1. It must
        be 0 for strata without rows.
    replace : bool
        Whether rows are drawn with replacement. If False, there are at most as many draws from a stratum as it has rows.
    mass : ndarray of shape (n_rows,), dtype uint32 or uint64, or None
        Numbers to which the chances of rows are proportional, inside of each stratum. Their sum must be below 2**63. None means
        equal chances, which is the only possibility without replacement. Strata with draws must have some mass.

    Raises
    ------
    TypeError, ValueError
        If the parameters are not as described.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.sampling import Strata
    >>> plan = Strata(np.array([0, 0, 0, 0, 1, 1], np.uint32), np.array([2, 5]), True)
    >>> counts = plan.counts(6, seed=0)
    >>> int(counts[:4].sum()), int(counts[4:].sum())
    (2, 5)
    """

    parameters = ("stratum", "n_draws", "replace", "mass")
    description = "by class or by weight"

    def __cinit__(self, stratum, n_draws, replace, mass=None):
        cdef Py_ssize_t n_rows
        self.replace = replace
        self.n_draws = _kept("n_draws", n_draws, (np.int64,))
        self.n_strata = len(self.n_draws)
        checked_integer("the number of strata", self.n_strata, 1, MAX_STRATA)
        if stratum is None and mass is None:
            raise ValueError("stratum=None with mass=None; that is a Bootstrap or a Subsample")
        self.stratum = None if stratum is None else _kept("stratum", stratum, (np.uint32,))
        self.mass = None if mass is None else _kept("mass", mass, (np.uint32, np.uint64))
        if mass is not None and not self.mass.sum(dtype=np.float64) <= _MOST_MASS:
            raise ValueError(f"mass has the sum {self.mass.sum(dtype=np.float64)}; allowed are sums below 2**63")
        if mass is not None and not replace:
            raise ValueError("mass needs replace=True: without replacement all rows of a stratum are equally likely")
        self.only_rows = n_rows = len(self.mass if stratum is None else self.stratum)
        if mass is not None and len(self.mass) != n_rows:
            raise ValueError(f"mass has {len(self.mass)} entries for {n_rows} rows")
        numbers = np.zeros(n_rows, np.uint32) if stratum is None else self.stratum
        if int(numbers.max()) >= self.n_strata:
            raise ValueError(f"stratum holds {int(numbers.max())}; n_draws has {self.n_strata} entries")
        members = _sums_of_blocks(numbers, self.n_strata, None)
        before = members if mass is None else _sums_of_blocks(numbers, self.n_strata, self.mass)
        if self.n_draws.min() < 0 or self.n_draws.max() > MAX_DRAWS:
            raise ValueError(f"n_draws holds {self.n_draws.tolist()}; allowed are 0 to {MAX_DRAWS}")
        self.total = checked_integer("the sum of n_draws", int(self.n_draws.sum()), 1, MAX_DRAWS)
        most = members[count_blocks(n_rows)]
        if replace:
            most = np.where(before[count_blocks(n_rows)] > 0, MAX_DRAWS, 0)
        if (self.n_draws > most).any():
            s = int(np.argmax(self.n_draws > most))
            raise ValueError(f"n_draws has {self.n_draws[s]} draws from stratum {s}, of which {most[s]} are possible")
        order = np.empty(n_rows, np.uint16)
        for first in range(0, n_rows, DF_BLOCK):
            order[first : first + DF_BLOCK] = np.argsort(numbers[first : first + DF_BLOCK], kind="stable")
        self.draws, self.order, self.members, self.before = self.n_draws, order, members, before
        if mass is not None and self.mass.dtype == np.uint32:
            self.masses = self.mass
        elif mass is not None:
            self.long_masses = self.mass
        self.has_long = mass is not None and self.mass.dtype == np.uint64
        self.width = self.n_strata
        self.leaves_rows_out, self.draws_once = True, not replace

    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil:
        return self.total

    cdef void allocate_node(self, uint32_t seed, Py_ssize_t stratum, int64_t node, Py_ssize_t begin, Py_ssize_t size,
                            int64_t draws, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws) noexcept nogil:
        """Allocate the draws of a node, which has `size` blocks from `begin` on, to those of them from `first` to `last` - 1."""
        cdef Py_ssize_t n_blocks = self.before.shape[0] - 1, middle = min(begin + size // 2, n_blocks)
        cdef Py_ssize_t end = min(begin + size, n_blocks)
        cdef int64_t left, right, n_left
        if draws == 0 or begin >= last or end <= first:
            return
        if size == 1:
            n_draws[(begin - first) * self.n_strata + stratum] = draws
            return
        left = self.before[middle, stratum] - self.before[begin, stratum]
        right = self.before[end, stratum] - self.before[middle, stratum]
        if left == 0 or right == 0:
            n_left = draws if right == 0 else 0
        elif (left + right) >> 32 == 0 or left == right:
            n_left = draws_to_left(seed, stream_key_of(stratum, node), draws, left, right)
        else:
            n_left = df_heavy_to_left(seed, stream_key_of(stratum, node), draws, left, right)
        self.allocate_node(seed, stratum, 2 * node, begin, size // 2, n_left, first, last, n_draws)
        self.allocate_node(seed, stratum, 2 * node + 1, middle, size // 2, draws - n_left, first, last, n_draws)

    cdef int allocate(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                      Helpers* helpers) except -1 nogil:
        cdef Py_ssize_t n_blocks = count_blocks(n_rows), s, block, size = 1
        cdef int64_t n, before, after
        while size < n_blocks:
            size *= 2
        for s in range((last - first) * self.n_strata):
            n_draws[s] = 0
        for s in range(self.n_strata):
            n = self.members[n_blocks, s]
            if self.replace:
                self.allocate_node(seed, s, 1, 0, size, self.draws[s], first, last, n_draws)
            elif n > 0:
                after = df_subsampled_before(seed, s, n, self.draws[s], self.members[first, s])
                for block in range(first, last):
                    before = after
                    after = df_subsampled_before(seed, s, n, self.draws[s], self.members[block + 1, s])
                    n_draws[(block - first) * self.n_strata + s] = after - before
        return 0

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws,
                         uint32_t* counts) noexcept nogil:
        cdef const uint16_t* rows = &self.order[block * DF_BLOCK]
        cdef Py_ssize_t i, s, n
        for i in range(rows_of_block(n_rows, block)):
            counts[i] = 0
        for s in range(self.n_strata):
            n = self.members[block + 1, s] - self.members[block, s]
            if n_draws[s] > 0:
                self.draw_members(seed, s, block, rows, n, n_draws[s], counts)
            rows += n

    cdef void draw_members(self, uint32_t seed, Py_ssize_t stratum, Py_ssize_t block, const uint16_t* rows, Py_ssize_t n,
                           int64_t n_draws, uint32_t* counts) noexcept nogil:
        """Count the draws of a stratum in a block. IN rows : [n] its members there, counted in the block."""
        cdef uint32_t drawn[DF_BLOCK]
        cdef int64_t upto[DF_BLOCK]
        cdef int64_t total = 0
        cdef Py_ssize_t i
        if self.mass is not None:
            for i in range(n):
                total += <int64_t> (self.long_masses[block * DF_BLOCK + rows[i]] if self.has_long
                                    else self.masses[block * DF_BLOCK + rows[i]])
                upto[i] = total
                drawn[i] = 0
            df_draw_by_mass(seed, stream_key_of(stratum, block), n, n_draws, upto, drawn)
        elif self.replace:
            loops.draw_block(seed, stream_key_of(stratum, block), n, n_draws, drawn)
        else:
            loops.subsample_block(seed, stream_key_of(stratum, block), n, n_draws, drawn)
        for i in range(n):
            counts[rows[i]] = drawn[i]


@cython.final
cdef class Groups(SamplingPlan):
    """A sampling plan by which whole groups of rows are drawn: ``bootstrap="group"``.

    A tree has all rows of a group, as often as the group is drawn, or none of them.

    Parameters
    ----------
    group : ndarray of shape (n_rows,), dtype uint32, or None
        Number of the group of each row, where the groups 0, 1, ... are numbered in the order of their first rows. None means
        that groups are runs of `length` neighbouring rows, the last of which may be shorter.
    n_draws : int
        Number of groups that a tree draws, from 1 to 2**32 - 1; without replacement, at most as many as there are groups.
    replace : bool
        Whether groups are drawn with replacement.
    n_rows, length : int, optional
        Number of rows, and of rows in a group; needed if `group` is None, and not allowed otherwise.
    of_groups : SamplingPlan, optional
        How groups are drawn, as if they were rows: at most `n_draws` of them. None means that all have equal chances.

    Raises
    ------
    TypeError, ValueError
        If the parameters are not as described.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.sampling import Groups
    >>> plan = Groups(np.array([0, 0, 1, 1, 2], np.uint32), 2, False)
    >>> counts = plan.counts(5, seed=0)
    >>> bool(counts[0] == counts[1] and counts[2] == counts[3])
    True
    """

    @property
    def parameters(self):
        return ("group", "n_draws", "replace", "n_rows", "length") + (() if self.of_groups is None else ("of_groups",))

    def __cinit__(self, group, n_draws, replace, n_rows=None, length=None, SamplingPlan of_groups=None):
        self.replace = replace
        self.group_is_known = group is not None
        if self.group_is_known:
            if n_rows is not None or length is not None:
                raise ValueError(f"n_rows={n_rows} and length={length} with group; allowed there is None")
            self.group = _kept("group", group, (np.uint32,))
            self.groups = self.group
            self.only_rows = len(self.group)
            newest = np.maximum.accumulate(self.group.astype(np.int64))
            if self.group[0] != 0 or (np.diff(newest) > 1).any():
                raise ValueError("group has numbers that are not those of groups in the order of their first rows")
            sizes = np.bincount(self.group).astype(np.int64)
            self.sizes, self.n_groups = sizes, len(sizes)
            starts = np.arange(0, self.only_rows, DF_BLOCK)
            self.extent = np.stack([np.minimum.reduceat(self.group, starts), np.maximum.reduceat(self.group, starts)], axis=1)
        else:
            self.n_rows = self.only_rows = checked_integer("n_rows", n_rows, 1, MAX_ROWS)
            self.length = self.run = checked_integer("length", length, 1, MAX_ROWS)
            self.n_groups = (self.only_rows + self.run - 1) // self.run
        self.n_draws = checked_integer("n_draws", n_draws, 1, MAX_DRAWS if replace else self.n_groups)
        if self.max_draws(self.only_rows) > MAX_DRAWS:
            raise ValueError(f"n_draws={n_draws} draws of groups may make more than {MAX_DRAWS} draws of rows, a tree's most")
        plain = Bootstrap(self.n_draws) if replace else Subsample(self.n_draws)
        self.of_groups, self.drawing = of_groups, plain if of_groups is None else of_groups
        self.drawing.check_rows(self.n_groups)
        most = self.drawing.drawn().largest_tree(self.n_groups)
        if most > self.n_draws or self.drawing.width > MOST_NUMBERS or not (replace or self.drawing.draws_once):
            raise ValueError(f"of_groups={of_groups!r}, with n_draws={n_draws} and replace={replace}; allowed are plans of at "
                             "most so many draws, without replacement if replace=False")
        self.leaves_rows_out, self.draws_once = self.drawing.leaves_rows_out, not replace
        self.others = {}

    @property
    def description(self):
        return "in whole groups of rows" + ("" if self.of_groups is None else f", {self.of_groups.description}")

    def drawn_by(self, SamplingPlan of_groups not None):
        """This plan with groups that are drawn by another one."""
        if of_groups is self.drawing:
            return self
        if of_groups not in self.others:
            is_plain = of_groups == (Bootstrap(self.n_draws) if self.replace else Subsample(self.n_draws))
            self.others[of_groups] = Groups(self.group, self.n_draws, self.replace, self.n_rows, self.length,
                                            None if is_plain else of_groups)
        return self.others[of_groups]

    def used(self):
        return self.drawn_by(self.drawing.used())

    def drawn(self):
        return self.drawn_by(self.drawing.drawn())

    def filling(self):
        return self.drawn_by(self.drawing.filling())

    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil:
        cdef double n_draws = <double> self.drawing.tree_draws(self.n_groups)
        return max(1, <int64_t> (n_draws * <double> n_rows / <double> self.n_groups + 0.5))

    cdef int64_t max_draws(self, Py_ssize_t n_rows) noexcept nogil:
        cdef int64_t largest = 0
        cdef Py_ssize_t g
        if not self.replace:
            return n_rows
        if not self.group_is_known:
            return self.n_draws * min(self.run, <int64_t> n_rows)
        for g in range(self.n_groups):
            largest = max(largest, self.sizes[g])
        return self.n_draws * largest

    def count_draws(self, n_rows, seed=None):
        if seed is None:
            return super().count_draws(n_rows)
        return int(self.counts(n_rows, seed).sum(dtype=np.int64))

    cdef int allocate(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                      Helpers* helpers) except -1 nogil:
        """Let each block have room for any number of its rows: which are drawn is seen when the block is drawn."""
        cdef Py_ssize_t block
        for block in range(first, last):
            n_draws[block - first] = rows_of_block(n_rows, block)
        return 0

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws,
                         uint32_t* counts) noexcept nogil:
        cdef uint32_t drawn[DF_BLOCK]
        cdef int64_t of_groups[GROUP_BLOCKS * MOST_NUMBERS]
        cdef Py_ssize_t begin = block * DF_BLOCK, n = rows_of_block(n_rows, block), first, last, at, i
        cdef uint32_t group
        if self.group_is_known:
            first, last = self.extent[block, 0] // DF_BLOCK, self.extent[block, 1] // DF_BLOCK + 1
        else:
            first, last = self.group_of(begin) // DF_BLOCK, self.group_of(begin + n - 1) // DF_BLOCK + 1
        for at in range(first, last):
            if (at - first) % GROUP_BLOCKS == 0:
                self.drawing.allocate(seed, self.n_groups, at, min(at + GROUP_BLOCKS, last), of_groups, NULL)
            self.drawing.draw_block(seed, self.n_groups, at, &of_groups[(at - first) % GROUP_BLOCKS * self.drawing.width], drawn)
            for i in range(n):
                group = self.group_of(begin + i)
                if group // DF_BLOCK == at:
                    counts[i] = drawn[group % DF_BLOCK]


cdef enum:
    MANY = 1 << 16             # what allocating one tree's draws counts as work, in nanoseconds or so: see threads.pxd
    PIECES_TOGETHER = 64       # of a tree, that one thread draws in one go


cdef struct Workers:               # of the process, as helpers
    int n_threads
    Work work
    void* task


cdef int do_work(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
    (<Workers*> context).work((<Workers*> context).task, item)
    return 0


cdef int parallel_for_workers(void* context, Py_ssize_t n_items, Work work, void* task) except -1 nogil:
    """See `Helpers.parallel_for`. IN context : Workers"""
    cdef Workers* workers = <Workers*> context
    workers.work = work
    workers.task = task
    with gil:
        parallel_for(do_work, workers, n_items, workers.n_threads)
    return 0


def width_of(plans):
    """The largest of some plans' numbers of a block, by which their draws lie in one array; 1 if there is no plan."""
    return max([1] + [plan.width for plan in plans])


cdef class TreeDraws:
    """The draws of some trees: how many fall into each block is kept, and which rows they are is computed again when asked.

    These are the draws of all rows, or of a range of them, whose rows are then counted from 0.

    Parameters
    ----------
    plans : tuple of SamplingPlan
        The plan of each tree.
    seeds : ndarray of shape (n_trees,), dtype uint32
        The seed of each tree.
    n_rows : int
        Rows that all trees drew from.
    n_threads : int
        Most threads that allocate draws to blocks.
    row_range : tuple of int, optional
        The number of the first row of the range, and how many rows it has, at least one. None: all rows.
    of_block : ndarray of shape (n_trees, n_blocks, width), dtype int64, optional
        How many draws of each tree fall into each block that has rows of the range, if somebody has allocated them: see
        `dforest.spmd.draws.DrawAllocator`. A range of less than all rows needs this.

    Attributes
    ----------
    plans, seeds, n_rows
        As given.
    first, n_own : int
        The number of the first row of the range, and how many rows it has.
    of_block : ndarray of shape (n_trees, n_blocks, width), dtype int64
        How many draws of each tree fall into each block that has rows of the range. A plan of fewer numbers has them first, and
        0 after them.
    width : int
        The largest of the plans' numbers of a block.
    """

    def __cinit__(self, plans, const uint32_t[::1] seeds not None, n_rows, int n_threads, row_range=None, of_block=None):
        cdef Py_ssize_t t, n_trees = seeds.shape[0]
        cdef SamplingPlan plan
        check_plans(plans)
        self.plans = plans
        if len(self.plans) != n_trees:
            raise ValueError(f"{len(self.plans)} plans of {n_trees} trees")
        self.n_rows = checked_integer("n_rows", n_rows, 1, MAX_ROWS)
        self.first, self.n_own = (0, self.n_rows) if row_range is None else row_range
        checked_integer("the first row of the range", self.first, 0, self.n_rows - 1)
        checked_integer("the number of rows of the range", self.n_own, 1, self.n_rows - self.first)
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
                raise ValueError(f"row_range={row_range!r} of {n_rows} rows needs of_block")
            self.of_block = np.empty(shape, np.int64)
            self.allocated = self.of_block
            self.allocate_all(n_threads)
            self.spread()
            return
        self.of_block = np.ascontiguousarray(of_block, np.int64)
        if self.of_block.shape != shape:
            raise ValueError(f"of_block has the shape {self.of_block.shape}; for row_range={row_range!r} it is {shape}")
        self.allocated = self.of_block

    def __dealloc__(self):
        free(self.plan)

    cdef int allocate_all(self, int n_threads) except -1:
        """Allocate all trees' draws: each tree's by one thread, but together those of the last trees, too few for all threads."""
        cdef Workers workers = Workers(n_threads, NULL, NULL)
        cdef Helpers helpers = Helpers(&workers, parallel_for_workers)
        cdef Py_ssize_t n_trees = self.allocated.shape[0], n_apart = n_trees, t
        if n_threads > 1 and any(plan.count_draws(self.n_rows) >= MANY_DRAWS for plan in self.plans[-n_threads:]):
            n_apart = n_trees // n_threads * n_threads
        parallel_for(allocate_tree, <void*> self, n_apart, n_threads)
        for t in range(n_apart, n_trees):
            check_signals()
            with nogil:
                self.allocate(t, &helpers)
        return 0

    cdef int allocate(self, Py_ssize_t tree, Helpers* helpers) except -1 nogil:
        return (<SamplingPlan> self.plan[tree]).allocate(self.seed[tree], self.n_rows, 0, self.n_blocks(), &self.allocated[tree,
                                                                                                                           0, 0],
                                                         helpers)

    cdef int spread(self) except -1:
        """Move what plans of fewer numbers than `width` have allocated, one block after another, to where it belongs."""
        for numbers, plan in zip(self.of_block, self.plans):
            if plan.width < self.width:
                dense = numbers.reshape(-1)[: len(numbers) * plan.width].copy()
                numbers[:] = 0
                numbers[:, : plan.width] = dense.reshape(-1, plan.width)
        return 0

    cdef Py_ssize_t n_blocks(self) noexcept nogil:
        return self.allocated.shape[1]

    cdef Py_ssize_t begin(self, Py_ssize_t block) noexcept nogil:
        return min(self.n_own, max(<Py_ssize_t> 0, (self.first_block + block) * DF_BLOCK - self.first))

    cdef const uint32_t* draw_block(self, Py_ssize_t tree, Py_ssize_t block, uint32_t* counts) noexcept nogil:
        cdef Py_ssize_t number = self.first_block + block
        (<SamplingPlan> self.plan[tree]).draw_block(self.seed[tree], self.n_rows, number, &self.allocated[tree, block, 0], counts)
        return counts + max(<Py_ssize_t> 0, self.first - number * DF_BLOCK)


cdef int allocate_tree(void* context, Py_ssize_t tree, WorkerContext* worker) except -1 nogil:
    (<TreeDraws> context).allocate(tree, NULL)
    return poll(worker, MANY)


cdef class _Pieces:
    """What threads know that draw pieces of blocks for some trees; borrows its arrays from `draw_pieces`."""
    cdef SamplingPlan plan
    cdef Py_ssize_t n_rows, n_pieces, n_runs       # of a tree, of PIECES_TOGETHER pieces each
    cdef const uint32_t[::1] seeds
    cdef const int64_t[:, :, ::1] n_draws
    cdef const int64_t[::1] block, first, length, place
    cdef uint32_t[:, ::1] counts

    cdef int draw(self, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
        cdef uint32_t drawn[DF_BLOCK]
        cdef Py_ssize_t tree = item // self.n_runs, begin = item % self.n_runs * PIECES_TOGETHER, i, k
        cdef int64_t block = -1
        for i in range(begin, min(begin + PIECES_TOGETHER, self.n_pieces)):
            if self.block[i] != block:
                block = self.block[i]
                self.plan.draw_block(self.seeds[tree], self.n_rows, block, &self.n_draws[tree, i, 0], drawn)
            for k in range(self.length[i]):
                self.counts[tree, self.place[i] + k] = drawn[self.first[i] + k]
            poll(worker, MANY)
        return 0


cdef int draw_run(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
    return (<_Pieces> context).draw(item, worker)


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
        The block of each piece, the piece's first row in the block, and its number of rows: see
        `dforest.engines.rows.RowShare.pieces`.
    n_threads : int
        Most threads.

    Returns
    -------
    ndarray of shape (n_trees, n_rows of all pieces), dtype uint32
    """
    cdef _Pieces task = _Pieces()
    block, first, length = (np.ascontiguousarray(numbers, np.int64) for numbers in pieces)
    seeds, n_draws = np.ascontiguousarray(seeds, np.uint32), np.ascontiguousarray(n_draws, np.int64)
    n_rows = checked_integer("n_rows", n_rows, 1, MAX_ROWS)
    plan.check_rows(n_rows)
    if n_draws.shape != (len(seeds), len(block), plan.width) or not len(block) == len(first) == len(length):
        raise ValueError(f"draws of shape {n_draws.shape}, of {len(seeds)} trees and {len(block)} pieces by {plan!r}, which has "
                         f"{plan.width} numbers for a block")
    last = np.minimum(DF_BLOCK, n_rows - block * DF_BLOCK)
    if not ((block >= 0) & (first >= 0) & (length > 0) & (first + length <= last)).all():
        raise ValueError(f"a piece lies beyond its block, or beyond {n_rows} rows")
    counts = np.empty((len(seeds), int(length.sum())), np.uint32)
    task.plan, task.n_rows, task.n_pieces = plan, n_rows, len(block)
    task.n_runs = (task.n_pieces + PIECES_TOGETHER - 1) // PIECES_TOGETHER
    task.seeds, task.n_draws, task.counts = seeds, n_draws, counts
    task.block, task.first, task.length, task.place = block, first, length, np.cumsum(length) - length
    parallel_for(draw_run, <void*> task, len(seeds) * task.n_runs, n_threads)
    return counts
