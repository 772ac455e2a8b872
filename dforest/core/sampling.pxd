"""What a sampling plan tells the grower and the estimates out of bag: see sampling.pyx for the words.

A plan of another kind is one class here: a subclass of `SamplingPlan` that has

- `tree_draws`, how many draws a tree has;
- `deal`, which divides these among blocks of rows, for any run of blocks without the others, perhaps with the help of threads;
- `draw_block`, which says how often each row of one block is drawn, given how many draws fell into the block;
- `leaves_rows_out`, set in `__cinit__`, and `parameters`, which a plan is compared, shown and pickled by.

All four are functions of the tree's seed and the number of rows, in integers. Threads call them at the same time, without the
interpreter's lock: a plan is never written to after it was made. Whoever draws for a whole tree calls `deal` once, and
`draw_block` for each block that got draws, in any order, on any thread. The grower makes records of the counts
(`core/grow/drawing`), out-of-bag estimates look for rows of count 0 (`TreeDraws`). A device needs code of its own for
`draw_block`, and refuses plans for which it has none (`dforest/engines/device/sampling.py`).
"""
from libc.stdint cimport int64_t, uint32_t

from cpython.ref cimport PyObject

from dforest.core.threads cimport Turn
from dforest.rules.random cimport DF_BLOCK


cdef inline Py_ssize_t count_blocks(Py_ssize_t n_rows) noexcept nogil:
    return (n_rows + DF_BLOCK - 1) // DF_BLOCK


cdef inline Py_ssize_t rows_of_block(Py_ssize_t n_rows, Py_ssize_t block) noexcept nogil:
    """How many of n_rows rows a block has: DF_BLOCK, but for the last one."""
    return min(n_rows - block * DF_BLOCK, <Py_ssize_t> DF_BLOCK)


# Does one item of what threads deal out together.
ctypedef void (*Work)(void* context, Py_ssize_t item) noexcept nogil

cdef struct Helpers:              # threads that a caller of `deal` has at hand, itself included
    void* context                 # handed to `share`
    # Have `work` called with every item, 0 to n_items - 1, in any order, by any of the threads.
    int (*share)(void* context, Py_ssize_t n_items, Work work, void* job) except -1 nogil


cdef class SamplingPlan:
    cdef readonly bint leaves_rows_out     # a tree may leave rows out

    # Draws of a tree, 1 or more.
    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil

    # How many of a tree's draws fall into each of the blocks from `first` to `last` - 1; all blocks together have `tree_draws`.
    # IN helpers : NULL, or threads that may help. OUT n_draws : [last - first]
    cdef int deal(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                  Helpers* helpers) except -1 nogil

    # How often each row of a block is drawn, given n_draws, the number that `deal` has for the block, which is the sum of the
    # counts. OUT counts : [rows of the block]
    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, int64_t n_draws,
                         uint32_t* counts) noexcept nogil


cdef class AllRows(SamplingPlan):
    pass


cdef class Bootstrap(SamplingPlan):
    cdef readonly int64_t n_draws

    cdef int deal_together(self, uint32_t seed, Py_ssize_t n_rows, int64_t* n_draws, Helpers* helpers) except -1 nogil


cdef class DrawnElsewhere(SamplingPlan):
    cdef readonly int64_t n_draws


cdef class Subsample(SamplingPlan):
    cdef readonly int64_t n_draws
    cdef readonly uint32_t seed


cdef class TreeDraws:
    cdef readonly tuple plans
    cdef readonly Py_ssize_t n_rows, first, n_own
    cdef readonly object seeds             # ndarray [n_trees]
    cdef readonly object of_block          # ndarray [n_trees, n_blocks]
    cdef Py_ssize_t first_block            # of the blocks that have rows of the stretch; they are counted from this one here
    cdef PyObject** plan                   # [n_trees] the members of `plans`, for threads without the interpreter's lock
    cdef const uint32_t[::1] seed          # `seeds`, for these threads
    cdef int64_t[:, ::1] dealt             # `of_block`, for these threads

    cdef int deal_all(self, int n_threads) except -1
    cdef int deal(self, Py_ssize_t tree, Helpers* helpers) except -1 nogil
    # How many blocks have rows of the stretch.
    cdef Py_ssize_t n_blocks(self) noexcept nogil
    # The first row of a block, counted in the stretch; of the block after the last one, how many rows there are.
    cdef Py_ssize_t begin(self, Py_ssize_t block) noexcept nogil
    # How often a tree draws each row of a block: see `SamplingPlan.draw_block`. Returns where the counts of the rows that belong
    # to the stretch begin. OUT counts : [DF_BLOCK]
    cdef const uint32_t* draw_block(self, Py_ssize_t tree, Py_ssize_t block, uint32_t* counts) noexcept nogil
