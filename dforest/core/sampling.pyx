"""Sampling plans: which rows a tree draws, and how often.

A row's *count* says how often a tree draws it. The last block may have fewer than DF_BLOCK rows. A plan keeps nothing of the
trees: a tree's draws follow from the plan, the number of rows and the tree's seed, in integers alone, so that any thread, device
or machine computes them again, for any block of rows without the others.

The bootstrap draws N rows of n with replacement, exactly multinomial. The draws are sent down a fixed binary tree over blocks,
and then each block draws its own rows. Nodes of that tree are numbered as in a heap (root 1, children 2i and 2i + 1), with the
blocks as leaves, padded to a power of two; padding holds no rows. Of 10,000 rows, blocks 0 to 2:

            1                  node 1: the left half has 8192 rows, the right one 1808, so each draw decides for itself
        2       3              node 2: even halves; k draws take k random bits, and as many go left as there are ones
      0   1   2   -            node 3: all its draws are block 2's, as there is no block 3

At most one node of a level has halves that are neither even nor empty: the last one that has rows.

A subsample draws without replacement. Each block draws its share of rows, rounded down or up at random so that all rows have
equal chances. So no block has to know of the others.

A large bootstrap's draws are allocated by several threads: level after level, some words of the uneven node's stream or the bits
of an even node at a time, until nodes have PIECE_BLOCKS blocks; and then node after node, each to its end. Random words are
computed many at a time (`core/draws.h`).
"""
from hashlib import sha256
from operator import index

from libc.stdint cimport int64_t, uint32_t, uint64_t

from cython cimport final

import numpy as np

from dforest.core.loops cimport loops
from dforest.core.threads cimport df_add_to_long
from dforest.rules.random cimport DF_BLOCK
from dforest.rules.sampling cimport df_draws_to_left, df_orders_labels, df_subsampled_before

MAX_ROWS = 2**32 - 1           # numbers of rows have 32 bits
MAX_DRAWS = 2**32 - 1          # counts of draws have 32 bits

cdef enum:
    FEW_DRAWS = 16             # of a node with uneven halves that go left one by one ...
    FEW_BITS = 128             # ... and of one with even halves: more words at a time take longer
    PIECE_BLOCKS = 1 << 6      # of a node that one thread allocates to its end
    WORDS_TOGETHER = 1 << 17   # of an uneven node's stream, that one thread looks at in one go


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


def _text_of(value):
    """A parameter of a plan as text: of arrays how many numbers they have, and a digest of these."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    return f"<{value.size} numbers {sha256(np.ascontiguousarray(value).view(np.uint8)).hexdigest()[:16]}>"


cdef class SamplingPlan:
    """Base class of sampling plans, which say which rows a tree draws, and how often.

    The draws of a tree follow from the plan, the number of rows and the tree's seed. Plans do not change once they are made. Two
    plans are equal if they are of one class and have equal parameters. `dforest.sampling.Sampling` objects make plans.

    Attributes
    ----------
    leaves_rows_out : bool
        Whether a tree may leave rows out of which it is known that they were left out, so that out-of-bag estimates can be made.
    draws_once : bool
        Whether a tree draws no row twice.
    description : str
        How rows are drawn, in words for people, such as "with replacement".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y).forest_
    >>> forest.plans[0]
    Bootstrap(n_draws=150)
    >>> int(forest.plans[0].counts(150, seed=forest.seeds[0]).sum())
    150
    """

    parameters = ()
    description = "by a plan of its own"

    def __cinit__(self, *args, **kwargs):
        if type(self) is SamplingPlan:
            raise TypeError("SamplingPlan is the base of sampling plans, and none itself; allowed are AllRows, Bootstrap, "
                            "Subsample, Strata, Groups and DrawnElsewhere")
        self.width = 1

    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil:
        return n_rows

    cdef int64_t max_draws(self, Py_ssize_t n_rows) noexcept nogil:
        return self.tree_draws(n_rows)

    cdef int check_rows(self, Py_ssize_t n_rows) except -1:
        if self.only_rows not in (0, n_rows):
            raise ValueError(f"n_rows={n_rows}, but {self!r} says how {self.only_rows} rows are drawn")
        return 0

    cdef int allocate(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                      Helpers* helpers) except -1 nogil:
        with gil:
            raise TypeError(f"{type(self).__name__} has no code that deals draws out to blocks: see dforest/core/sampling.pxd")

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws,
                         uint32_t* counts) noexcept nogil:
        """Do nothing: a class without code for `allocate` never gets here."""

    cdef Py_ssize_t list_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws, uint32_t* rows,
                               uint32_t* counts) noexcept nogil:
        cdef uint32_t drawn[DF_BLOCK]
        cdef Py_ssize_t i, n = 0
        self.draw_block(seed, n_rows, block, n_draws, drawn)
        for i in range(rows_of_block(n_rows, block)):
            if drawn[i]:
                rows[n] = <uint32_t> i
                counts[n] = drawn[i]
                n += 1
        return n

    def count_draws(self, n_rows, seed=None):
        """Return how many draws a tree makes from `n_rows` rows: int.

        If trees differ in this, it is the average, or, with a seed, the number of draws of the tree of this seed.
        """
        return self.tree_draws(checked_integer("n_rows", n_rows, 1, MAX_ROWS))

    def largest_tree(self, n_rows):
        """The most draws that a tree may have, of n_rows rows: int."""
        return self.max_draws(checked_integer("n_rows", n_rows, 1, MAX_ROWS))

    def max_records(self, n_rows):
        """How many rows a tree can draw at all, of n_rows rows: int."""
        return min(n_rows, self.largest_tree(n_rows))

    def counts(self, n_rows, seed, blocks=None):
        """Return how often a tree draws each row.

        Parameters
        ----------
        n_rows : int
            Number of rows to draw from, below 2**32.
        seed : int
            Seed of the tree, below 2**32.
        blocks : range, optional
            Numbers of the blocks of 4096 rows that are asked for; the rows of other blocks take no time. None means all blocks.

        Returns
        -------
        ndarray of shape (n_rows of these blocks,), dtype uint32
            Number of draws of each row; 0 for a row that the tree leaves out.

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
        cdef Py_ssize_t n = checked_integer("n_rows", n_rows, 1, MAX_ROWS), block, n_blocks = count_blocks(n)
        cdef uint32_t tree = checked_integer("seed", seed, 0, 2**32 - 1)
        blocks = range(n_blocks) if blocks is None else blocks
        if not (isinstance(blocks, range) and blocks.step == 1 and 0 <= blocks.start < blocks.stop <= n_blocks):
            raise ValueError(f"blocks={blocks!r}; allowed are ranges of one or more of the {n_blocks} blocks of {n} rows")
        self.check_rows(n)
        cdef Py_ssize_t first = blocks.start, last = blocks.stop
        cdef int64_t[::1] n_draws = np.empty((last - first) * self.width, np.int64)
        result = np.empty(min(n, last * DF_BLOCK) - first * DF_BLOCK, np.uint32)
        cdef uint32_t[::1] out = result
        with nogil:
            self.allocate(tree, n, first, last, &n_draws[0], NULL)
            for block in range(first, last):
                self.draw_block(tree, n, block, &n_draws[(block - first) * self.width], &out[(block - first) * DF_BLOCK])
        return result

    def used(self):
        """The plan of all rows that a tree uses, as it draws them or they order its labels: rows of count 0 are out of bag."""
        return self

    def drawn(self):
        """The plan of all that a tree draws, if this is the plan of a part of it."""
        return self

    def filling(self):
        """The plan of the draws that fill the leaves of a tree, where these are others than those that choose its splits."""
        return self

    def block_draws(self, n_rows, seed):
        """How many draws of a tree fall into each block of rows: ndarray of shape (n_blocks,), dtype int64."""
        cdef Py_ssize_t n = checked_integer("n_rows", n_rows, 1, MAX_ROWS)
        cdef uint32_t tree = checked_integer("seed", seed, 0, 2**32 - 1)
        self.check_rows(n)
        result = np.empty(count_blocks(n) * self.width, np.int64)
        cdef int64_t[::1] out = result
        with nogil:
            self.allocate(tree, n, 0, count_blocks(n), &out[0], NULL)
        return result.reshape(-1, self.width).sum(axis=1)

    def __reduce__(self):
        return type(self), tuple(getattr(self, name) for name in self.parameters)

    def _parameter_texts(self):
        """The parameters as texts, an array by what tells it from all others."""
        if self.parameter_texts is None:
            self.parameter_texts = tuple(_text_of(value) for value in self.__reduce__()[1])
        return self.parameter_texts

    def __eq__(self, other):
        return self is other or (type(self) is type(other) and self._parameter_texts() == other._parameter_texts())

    def __hash__(self):
        return hash((type(self), self._parameter_texts()))

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(map('='.join, zip(self.parameters, self._parameter_texts())))})"


@final
cdef class AllRows(SamplingPlan):
    """A sampling plan by which each tree is grown on every row, once: ``bootstrap=False``.

    Examples
    --------
    >>> from dforest.sampling import AllRows
    >>> AllRows().counts(3, seed=0)
    array([1, 1, 1], dtype=uint32)
    """

    description = "each row once"

    def __cinit__(self):
        self.draws_once = True

    cdef int allocate(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                      Helpers* helpers) except -1 nogil:
        cdef Py_ssize_t block
        for block in range(first, last):
            n_draws[block - first] = rows_of_block(n_rows, block)
        return 0

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws,
                         uint32_t* counts) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(rows_of_block(n_rows, block)):
            counts[i] = 1


@final
cdef class Bootstrap(SamplingPlan):
    """A sampling plan by which rows are drawn with replacement, all with equal chances: ``bootstrap=True``.

    Parameters
    ----------
    n_draws : int
        Number of draws of a tree, from 1 to 2**32 - 1; there may be more draws than rows.

    Examples
    --------
    >>> from dforest.sampling import Bootstrap
    >>> counts = Bootstrap(100).counts(50, seed=0)
    >>> len(counts), int(counts.sum())
    (50, 100)
    """

    parameters = ("n_draws",)
    description = "with replacement"

    def __cinit__(self, n_draws):
        self.n_draws = checked_integer("n_draws", n_draws, 1, MAX_DRAWS)
        self.leaves_rows_out = True

    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil:
        return self.n_draws

    cdef int allocate(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                      Helpers* helpers) except -1 nogil:
        if helpers != NULL and self.n_draws >= MANY_DRAWS and last - first == count_blocks(n_rows):
            self.allocate_together(seed, n_rows, n_draws, helpers)
        else:
            allocate_below(seed, n_rows, 0, self.n_draws, first, last, n_draws)
        return 0

    cdef int allocate_together(self, uint32_t seed, Py_ssize_t n_rows, int64_t* n_draws, Helpers* helpers) except -1 nogil:
        cdef Allocation task
        cdef Py_ssize_t last
        cdef int64_t n_words
        task.seed = seed
        task.n_rows = n_rows
        task.height = height_of(n_rows)
        task.n_draws = n_draws
        n_draws[0] = self.n_draws
        task.level = 0
        task.n_blocks = <Py_ssize_t> 1 << task.height
        while task.n_blocks > PIECE_BLOCKS:
            last = n_rows // (task.n_blocks * DF_BLOCK)            # the node that has not all of its rows
            helpers.parallel_for(helpers.context, last, allocate_even_nodes, &task)
            halves_of(n_rows, last * task.n_blocks, task.n_blocks, &task.left, &task.right)
            if task.right > 0:
                task.first_word = task.n_left = task.n_right = 0
                n_words = n_draws[last * task.n_blocks]
                while n_words > 0:
                    task.last_word = task.first_word + n_words
                    helpers.parallel_for(helpers.context, (n_words + WORDS_TOGETHER - 1) // WORDS_TOGETHER, allocate_by_words,
                                         &task)
                    task.first_word = task.last_word
                    n_words = n_draws[last * task.n_blocks] - task.n_left - task.n_right
                n_draws[last * task.n_blocks] = task.n_left
                n_draws[last * task.n_blocks + task.n_blocks // 2] = task.n_right
            task.level += 1
            task.n_blocks //= 2
        helpers.parallel_for(helpers.context, (count_blocks(n_rows) + task.n_blocks - 1) // task.n_blocks, allocate_rest, &task)
        return 0

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws,
                         uint32_t* counts) noexcept nogil:
        loops.draw_block(seed, block, rows_of_block(n_rows, block), n_draws[0], counts)


@final
cdef class Subsample(SamplingPlan):
    """A sampling plan by which rows are drawn without replacement, all with equal chances: ``bootstrap="subsample"``.

    Each block of 4096 rows has its share of the draws, but for one row.

    Parameters
    ----------
    n_draws : int
        Number of draws of a tree, from 1 to 2**32 - 1; if there are fewer rows, all of them are drawn.
    seed : int, optional
        Seed by which rows are drawn, below 2**32, so that all trees of the plan have the same rows. None means the seed of each
        tree.

    Examples
    --------
    >>> from dforest.sampling import Subsample
    >>> counts = Subsample(20).counts(50, seed=0)
    >>> int(counts.sum()), int(counts.max())
    (20, 1)
    """

    parameters = ("n_draws", "seed")
    description = "without replacement"

    def __cinit__(self, n_draws, seed=None):
        self.n_draws = checked_integer("n_draws", n_draws, 1, MAX_DRAWS)
        self.has_seed = seed is not None
        self.own_seed = checked_integer("seed", seed, 0, 2**32 - 1) if self.has_seed else 0
        self.seed = self.own_seed if self.has_seed else None
        self.leaves_rows_out = self.draws_once = True

    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil:
        return min(self.n_draws, n_rows)

    cdef int allocate(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                      Helpers* helpers) except -1 nogil:
        cdef Py_ssize_t block
        cdef int64_t n = self.tree_draws(n_rows), before, after
        seed = self.own_seed if self.has_seed else seed
        after = df_subsampled_before(seed, 0, n_rows, n, first * DF_BLOCK)
        for block in range(first, last):
            before = after
            after = df_subsampled_before(seed, 0, n_rows, n, block * DF_BLOCK + rows_of_block(n_rows, block))
            n_draws[block - first] = after - before
        return 0

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws,
                         uint32_t* counts) noexcept nogil:
        loops.subsample_block(self.own_seed if self.has_seed else seed, block, rows_of_block(n_rows, block), n_draws[0], counts)

    cdef Py_ssize_t list_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws, uint32_t* rows,
                               uint32_t* counts) noexcept nogil:
        cdef Py_ssize_t i, n = rows_of_block(n_rows, block)
        if n_draws[0] > FEW_ROWS:
            return SamplingPlan.list_block(self, seed, n_rows, block, n_draws, rows, counts)
        loops.subsampled_rows(self.own_seed if self.has_seed else seed, block, n, n_draws[0], rows)
        for i in range(n_draws[0]):
            counts[i] = 1
        return n_draws[0]


@final
cdef class WithLabelOrder(SamplingPlan):
    """The draws of another plan, of trees that order labels by some of the rows that they do not draw.

    Of these rows, two of three order the labels of columns that have many, see `dforest.core.grow.label_order`, and the others
    are out of bag.

    Parameters
    ----------
    plan : SamplingPlan
        Which rows a tree draws, and how often.
    counts_order : bool, default=False
        Whether rows that order labels count as if they were drawn once: see `used`.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.core.sampling import Bootstrap, WithLabelOrder
    >>> plan = WithLabelOrder(Bootstrap(1000))
    >>> drawn, used = plan.counts(1000, seed=0) > 0, plan.used().counts(1000, seed=0) > 0
    >>> bool((drawn <= used).all()), round(float((used & ~drawn).sum() / (~drawn).sum()), 1)
    (True, 0.7)
    """

    parameters = ("plan", "counts_order")

    def __cinit__(self, SamplingPlan plan not None, bint counts_order=False):
        self.plan, self.counts_order = plan, counts_order
        self.leaves_rows_out, self.draws_once = plan.leaves_rows_out, plan.draws_once
        self.width, self.only_rows = plan.width, plan.only_rows

    @property
    def description(self):
        return self.plan.description + "; two thirds of the other rows order labels"

    def used(self):
        return WithLabelOrder(self.plan, True)

    def count_draws(self, n_rows, seed=None):
        return self.plan.count_draws(n_rows, seed)

    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil:
        return self.plan.tree_draws(n_rows)

    cdef int64_t max_draws(self, Py_ssize_t n_rows) noexcept nogil:
        return self.plan.max_draws(n_rows)

    cdef int check_rows(self, Py_ssize_t n_rows) except -1:
        return self.plan.check_rows(n_rows)

    cdef int allocate(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                      Helpers* helpers) except -1 nogil:
        return self.plan.allocate(seed, n_rows, first, last, n_draws, helpers)

    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws,
                         uint32_t* counts) noexcept nogil:
        cdef Py_ssize_t i
        self.plan.draw_block(seed, n_rows, block, n_draws, counts)
        if self.counts_order:
            for i in range(rows_of_block(n_rows, block)):
                if counts[i] == 0:
                    counts[i] = df_orders_labels(seed, block * DF_BLOCK + i)

    cdef Py_ssize_t list_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws, uint32_t* rows,
                               uint32_t* counts) noexcept nogil:
        if self.counts_order:
            return SamplingPlan.list_block(self, seed, n_rows, block, n_draws, rows, counts)
        return self.plan.list_block(seed, n_rows, block, n_draws, rows, counts)


@final
cdef class DrawnElsewhere(SamplingPlan):
    """Rows that were drawn elsewhere, such as by another library: how many draws a tree has is known, but not which rows.

    Parameters
    ----------
    n_draws : int
        Draws of a tree, from 1 to 2**32 - 1.
    """

    parameters = ("n_draws",)
    description = "of rows that are not known"

    def __cinit__(self, n_draws):
        self.n_draws = checked_integer("n_draws", n_draws, 1, MAX_DRAWS)

    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil:
        return self.n_draws

    cdef int allocate(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                      Helpers* helpers) except -1 nogil:
        with gil:
            raise ValueError("the tree was grown elsewhere, so the rows that it drew are not known")


cdef struct Allocation:            # what threads know that allocate a tree's draws together, level after level
    uint32_t seed
    Py_ssize_t n_rows
    int height, level              # of the tree of blocks; the level whose nodes are halved
    Py_ssize_t n_blocks            # of a node of this level
    int64_t* n_draws               # [blocks of the rows] of each node, at its first block
    int64_t left, right            # rows of the halves of the uneven node
    int64_t first_word, last_word  # of its stream: those that are looked at, the last one excluded
    int64_t n_left, n_right        # draws that went there so far


cdef inline int height_of(Py_ssize_t n_rows) noexcept nogil:
    """How many levels the tree of blocks has above the blocks."""
    cdef int height = 0
    while (<Py_ssize_t> 1 << height) < count_blocks(n_rows):
        height += 1
    return height


cdef inline void halves_of(Py_ssize_t n_rows, int64_t first, int64_t n_blocks, int64_t* left, int64_t* right) noexcept nogil:
    """How many rows the halves of a node have, of n_blocks blocks from `first` on."""
    cdef int64_t rows = min(n_rows - first * DF_BLOCK, n_blocks * DF_BLOCK)
    left[0] = min(rows, n_blocks // 2 * DF_BLOCK)
    right[0] = rows - left[0]


cdef int64_t draws_to_left(uint32_t seed, uint64_t node, int64_t n_draws, int64_t left, int64_t right) noexcept nogil:
    """See `df_draws_to_left`."""
    cdef int64_t first = 0, n_left = 0, n_decided = 0, n_words, n
    if right == 0 or n_draws <= (FEW_BITS if left == right else FEW_DRAWS):
        return df_draws_to_left(seed, node, n_draws, left, right)
    if left == right:
        return loops.ones(seed, node, 0, n_draws)
    while n_decided < n_draws:
        n_words = n_draws - n_decided
        n_left += loops.below(seed, node, first, n_words, <uint32_t> left, <uint32_t> right, &n)
        n_decided += n
        first += n_words
    return n_left


cdef void allocate_below(uint32_t seed, Py_ssize_t n_rows, int top, int64_t draws, int64_t first, int64_t last,
                         int64_t* n_draws) noexcept nogil:
    """Allocate `draws`, those of a node of the level `top`, to some of its blocks. OUT n_draws : [last - first]"""
    cdef int64_t pending[64]             # draws of the right siblings still to come, by level
    cdef int64_t block = first, begin, left_rows, right_rows, left
    cdef int height = height_of(n_rows), level = top
    while True:
        # Down to this block, from the top, or from the highest node that starts at it.
        while level < height:
            begin = block >> (height - level) << (height - level)      # of the node, in blocks
            halves_of(n_rows, begin, <int64_t> 1 << (height - level), &left_rows, &right_rows)
            left = draws_to_left(seed, (<uint64_t> 1 << level) + (<uint64_t> block >> (height - level)), draws, left_rows,
                                 right_rows)
            level += 1
            pending[level] = draws - left
            draws = draws - left if (block >> (height - level)) & 1 else left
        n_draws[block - first] = draws
        block += 1
        if block == last:
            return
        # The next block is the first of a right sibling, at the level where the carry stops.
        while (block >> (height - level)) & 1 == 0:
            level -= 1
        draws = pending[level]


cdef void allocate_even_nodes(void* context, Py_ssize_t item) noexcept nogil:
    """Divide the draws of a node that has all of its rows among its halves."""
    cdef Allocation* task = <Allocation*> context
    cdef int64_t* draws = task.n_draws + item * task.n_blocks
    cdef int64_t half = task.n_blocks // 2 * DF_BLOCK, left
    left = draws_to_left(task.seed, (<uint64_t> 1 << task.level) + item, draws[0], half, half)
    draws[task.n_blocks // 2] = draws[0] - left
    draws[0] = left


cdef void allocate_by_words(void* context, Py_ssize_t item) noexcept nogil:
    """Look at some words of the uneven node's stream. It is the last one of its level that has rows."""
    cdef Allocation* task = <Allocation*> context
    cdef uint64_t node = (<uint64_t> 1 << task.level) + task.n_rows // (task.n_blocks * DF_BLOCK)
    cdef int64_t first = task.first_word + item * WORDS_TOGETHER, n, n_left
    n_left = loops.below(task.seed, node, first, min(task.last_word - first, <int64_t> WORDS_TOGETHER), <uint32_t> task.left,
                         <uint32_t> task.right, &n)
    df_add_to_long(task.n_left, n_left)
    df_add_to_long(task.n_right, n - n_left)


cdef void allocate_rest(void* context, Py_ssize_t item) noexcept nogil:
    """Allocate the draws of a node to its blocks."""
    cdef Allocation* task = <Allocation*> context
    cdef Py_ssize_t first = item * task.n_blocks
    allocate_below(task.seed, task.n_rows, task.level, task.n_draws[first], first,
                   min(first + task.n_blocks, count_blocks(task.n_rows)), task.n_draws + first)


def check_plans(plans):
    """Raise TypeError unless `plans` is a tuple of sampling plans."""
    if type(plans) is not tuple:
        raise TypeError(f"plans is a {type(plans).__name__}; allowed are tuples of sampling plans")
    for t, plan in enumerate(plans):
        if not isinstance(plan, SamplingPlan):
            raise TypeError(f"plans has {plan!r} for tree {t}; allowed are sampling plans")


def check_rows(SamplingPlan plan not None, Py_ssize_t n_rows):
    """Raise ValueError if a plan says how another number of rows is drawn."""
    plan.check_rows(n_rows)
