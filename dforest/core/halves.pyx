"""Sampling plans that part what other plans draw: honest trees, and trees in little bags.

An honest tree chooses its splits by one half of the rows that it draws, and fills its leaves with the other half. Neither half is
empty: where chance would have all rows in one of them, as it may where blocks have one drawn row each, the first one goes to the
other half, and if there is no other row, it is in both. Which block has this exception stands beside its draws. Trees of a
*little bag* share a random half of all rows, and draw from it alone. Where groups of rows are drawn, groups are parted instead of
rows, so that all rows of a group are on one side. See `dforest.core.sampling` for what a plan is.
"""
from cython cimport final
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.core.loops cimport loops
from dforest.core.sampling cimport Helpers, SamplingPlan, count_blocks, draws_of_block, rows_of_block
from dforest.rules.random cimport DF_BLOCK, df_tree_number, df_tree_seed
from dforest.rules.sampling cimport df_keep_half, df_subsampled_before

from dforest.core.draws import Groups
from dforest.core.sampling import MAX_DRAWS, Subsample, checked_integer

cdef enum:
    BAGS = 0xBA65              # what the seeds of bags differ by from those of trees
    IN_OTHER_HALF = 1          # exceptions
    IN_BOTH_HALVES = 2


def honest(plan, share):
    """The plan of the draws that choose the splits of honest trees; its `filling` is that of the draws that fill their leaves.

    Parameters
    ----------
    plan : SamplingPlan
        Which rows trees draw.
    share : float
        Share of these that choose splits, above 0 and below 1.
    """
    return plan.drawn_by(honest(plan.drawing, share)) if isinstance(plan, Groups) else HonestHalf(plan, share)


def in_bags(plan, n_rows, bag_size, seed):
    """The plan of trees that draw as many rows as by another one, without replacement, in bags that share half of the rows.

    Parameters
    ----------
    plan : SamplingPlan
    n_rows : int
    bag_size : int
        Trees of a bag, from 2.
    seed : int
        The seed of the forest.

    Raises
    ------
    ValueError
        If rows are drawn in another way, or more than half of them.
    """
    if isinstance(plan, Groups):
        return plan.drawn_by(in_bags(plan.drawing, plan.n_groups, bag_size, seed))
    if not isinstance(plan, Subsample) or plan.seed is not None:
        raise ValueError(f"{plan!r} does not draw without replacement, as trees of a bag do from the half that they share; "
                         'allowed are bootstrap="subsample" and GroupSampling(replace=False)')
    n_half = (n_rows + 1) // 2
    if plan.n_draws > n_half:
        raise ValueError(f"trees draw {plan.n_draws} of {n_rows} rows or groups, but those of a bag share half of them; allowed "
                         f"are up to {n_half}: see max_samples")
    return LittleBags(plan.n_draws, n_half, bag_size, seed)


@final
cdef class LittleBags(SamplingPlan):
    """A sampling plan of trees in little bags: those of a bag share a random half of the rows, and draw from it alone.

    All are drawn without replacement. How much the means of bags differ tells how much a forest would differ that had other
    training rows [1]_.

    Parameters
    ----------
    n_draws : int
        Number of draws of a tree, from 1 to `n_half`.
    n_half : int
        Number of rows that a bag shares, up to 2**32 - 1.
    bag_size : int
        Trees of a bag, from 2: the first bag has the trees from 0 to `bag_size` - 1.
    seed : int
        Seed of the forest, below 2**64, from which the seeds of its trees follow.

    References
    ----------
    .. [1] J. Sexton, P. Laake, "Standard errors for bagged and random forest estimators", Computational Statistics and Data
       Analysis 53(3), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import RandomForestRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> forest = RandomForestRegressor(4, bootstrap="subsample", ci_group_size=2, random_state=0).fit(X, X[:, 0])
    >>> first, second, third, _ = (set(rows.tolist()) for rows in forest.estimators_samples_)
    >>> len(first), first == second, first == third
    (10, True, False)
    """

    cdef readonly int64_t n_draws, n_half, bag_size
    cdef readonly object seed              # int, of the forest
    cdef uint64_t of_forest, of_bags       # the seeds of trees, and of bags, follow from these

    parameters = ("n_draws", "n_half", "bag_size", "seed")
    description = "without replacement, from halves of the rows that little bags of trees share"

    def __cinit__(self, n_draws, n_half, bag_size, seed):
        self.n_half = checked_integer("n_half", n_half, 1, MAX_DRAWS)
        self.n_draws = checked_integer("n_draws", n_draws, 1, self.n_half)
        self.bag_size = checked_integer("bag_size", bag_size, 2, 2**32 - 1)
        self.seed = checked_integer("seed", seed, 0, 2**64 - 1)
        self.of_forest = self.seed
        self.of_bags = self.seed ^ BAGS
        self.leaves_rows_out = self.draws_once = True

    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil:
        return min(self.n_draws, n_rows)

    cdef uint32_t bag_seed(self, uint32_t seed) noexcept nogil:
        """The seed by which the bag of a tree draws its half, given the tree's seed."""
        return df_tree_seed(self.of_bags, <uint32_t> (df_tree_number(self.of_forest, seed) // self.bag_size))

    cdef int64_t half_before(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t row) noexcept nogil:
        """How many rows before `row` are of a bag's half, given its seed: see `df_subsampled_before`."""
        return df_subsampled_before(seed, 0, n_rows, min(self.n_half, <int64_t> n_rows), row)

    cdef int allocate(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                      Helpers* helpers) except -1 nogil:
        cdef Py_ssize_t block
        cdef int64_t n = self.tree_draws(n_rows), n_half = min(self.n_half, <int64_t> n_rows), before, after
        cdef uint32_t bag = self.bag_seed(seed)
        after = df_subsampled_before(seed, 0, n_half, n, self.half_before(bag, n_rows, first * DF_BLOCK))
        for block in range(first, last):
            before = after
            after = df_subsampled_before(seed, 0, n_half, n,
                                         self.half_before(bag, n_rows, block * DF_BLOCK + rows_of_block(n_rows, block)))
            n_draws[block - first] = after - before
        return 0

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws,
                         uint32_t* counts) noexcept nogil:
        cdef uint32_t drawn[DF_BLOCK]
        cdef Py_ssize_t n = rows_of_block(n_rows, block), i, k = 0
        cdef uint32_t bag = self.bag_seed(seed)
        cdef int64_t n_half = (self.half_before(bag, n_rows, block * DF_BLOCK + n)
                               - self.half_before(bag, n_rows, block * DF_BLOCK))
        loops.subsample_block(bag, block, n, n_half, counts)
        loops.subsample_block(seed, block, n_half, n_draws[0], drawn)
        for i in range(n):
            if counts[i]:
                counts[i] = drawn[k]
                k += 1


@final
cdef class HonestHalf(SamplingPlan):
    """The draws of one half of what honest trees draw by another plan: those that choose splits, or those that fill leaves.

    A row is in one half with all of its draws. The halves follow from the tree's seed, and differ in each tree.

    Parameters
    ----------
    plan : SamplingPlan
        Which rows a tree draws, and how often, in both halves.
    share : float
        Share of the rows that choose splits, between 0 and 1.
    fills_leaves : bool, default=False
        Whether these are the draws that fill leaves.

    Examples
    --------
    >>> from dforest.core.sampling import AllRows, HonestHalf
    >>> plan = HonestHalf(AllRows(), 0.5)
    >>> splits, leaves = plan.counts(100, seed=0), plan.filling().counts(100, seed=0)
    >>> int(splits.sum()), bool((splits + leaves == 1).all())
    (50, True)
    """

    cdef readonly SamplingPlan plan
    cdef readonly double share
    cdef readonly bint fills_leaves

    parameters = ("plan", "share", "fills_leaves")

    def __cinit__(self, SamplingPlan plan not None, double share, bint fills_leaves=False):
        if not 0.0 < share < 1.0:
            raise ValueError(f"share={share}; allowed are numbers above 0 and below 1")
        self.plan, self.share, self.fills_leaves = plan, share, fills_leaves
        self.leaves_rows_out, self.draws_once = plan.leaves_rows_out, plan.draws_once
        self.width, self.only_rows = plan.width + 1, plan.only_rows

    @property
    def description(self):
        return f"{self.plan.description}; {self.share:.0%} of them choose splits, the others fill leaves"

    def used(self):
        return self.plan.used()

    def drawn(self):
        return self.plan

    def filling(self):
        return HonestHalf(self.plan, self.share, True)

    def count_draws(self, n_rows, seed=None):
        if seed is None:
            return super().count_draws(n_rows)
        return int(self.counts(n_rows, seed).sum(dtype=np.int64))

    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil:
        cdef double share = 1.0 - self.share if self.fills_leaves else self.share
        return max(1, <int64_t> (share * <double> self.plan.tree_draws(n_rows) + 0.5))

    cdef int64_t max_draws(self, Py_ssize_t n_rows) noexcept nogil:
        """A block with an exception has room for one draw more."""
        return self.plan.max_draws(n_rows) + 1

    cdef int check_rows(self, Py_ssize_t n_rows) except -1:
        return self.plan.check_rows(n_rows)

    cdef int allocate(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                      Helpers* helpers) except -1 nogil:
        """Let each block have room for both halves: which rows are in one is seen when the block is drawn."""
        cdef Py_ssize_t own = self.plan.width, block, i, exceptional = -1
        cdef int exception = self.find_exception(seed, n_rows, &exceptional)
        self.plan.allocate(seed, n_rows, first, last, n_draws, helpers)
        for block in range(last - first - 1, -1, -1):      # from the end, so that nothing is written over
            for i in range(own - 1, -1, -1):
                n_draws[block * (own + 1) + i] = n_draws[block * own + i]
            n_draws[block * (own + 1) + own] = exception if first + block == exceptional else 0
        return 0

    cdef int find_exception(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t* exceptional) except -1 nogil:
        """What is to become of the first drawn row, if all would be in one half; 0 if they are not. OUT exceptional : its block

        Mostly the first block says that neither half is empty.
        """
        cdef uint32_t counts[DF_BLOCK]
        cdef Py_ssize_t own = self.plan.width, block, n, i, n_drawn
        cdef int seen = 0, side, n_units = 0
        cdef int64_t* n_draws = <int64_t*> malloc(own * sizeof(int64_t))
        if n_draws == NULL:
            with gil:
                raise MemoryError()
        try:
            for block in range(count_blocks(n_rows)):
                self.plan.allocate(seed, n_rows, block, block + 1, n_draws, NULL)
                if draws_of_block(n_draws, own) == 0:
                    continue
                n = rows_of_block(n_rows, block)
                self.plan.draw_block(seed, n_rows, block, n_draws, counts)
                n_drawn = 0
                for i in range(n):
                    n_drawn += counts[i] > 0
                if n_drawn > 1:
                    return 0
                if n_drawn == 0:
                    continue
                if n_units == 0:
                    exceptional[0] = block
                n_units += 1
                df_keep_half(seed, block, n_rows <= DF_BLOCK, self.share, False, n, counts)
                side = 1
                for i in range(n):
                    side = 2 if counts[i] else side
                seen |= side
                if seen == 3:
                    return 0
        finally:
            free(n_draws)
        return IN_BOTH_HALVES if n_units == 1 else IN_OTHER_HALF

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws,
                         uint32_t* counts) noexcept nogil:
        cdef int64_t exception = n_draws[self.plan.width]
        self.plan.draw_block(seed, n_rows, block, n_draws, counts)
        if exception != IN_BOTH_HALVES:
            df_keep_half(seed, block, n_rows <= DF_BLOCK, self.share, self.fills_leaves ^ (exception == IN_OTHER_HALF),
                         rows_of_block(n_rows, block), counts)
