"""What a sampling plan tells the grower and the estimates out of bag: see sampling.pyx.

A plan of another kind is one class here: a subclass of `SamplingPlan` that has

- `tree_draws`, how many draws a tree has;
- `allocate`, which divides these among blocks of rows, for any run of blocks without the others, perhaps with the help of
threads;
- `draw_block`, which says how often each row of one block is drawn, given how many draws fell into the block;
- `leaves_rows_out`, set in `__cinit__`, and `parameters`, which a plan is compared, shown and pickled by;
- if need be `max_draws`, `width`, `only_rows` and `list_block`, for which see the class.

All methods are functions of the tree's seed and the number of rows, in integers. Threads call them at the same time, without the
interpreter's lock: a plan is never written to after it was made. Whoever draws for a whole tree calls `allocate` once, and
`draw_block` for each block that got draws, in any order, on any thread. The grower makes records of the counts
(`core/grow/records`), out-of-bag estimates look for rows of count 0 (`core/draws`) by the plan that `used` returns, and leaves
keep draws of the plan that `filling` returns. A device that
has no code of its own for `draw_block` is handed the counts of all rows (`dforest/engines/device/sampling.py`).
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.rules.random cimport DF_BLOCK


cdef enum:
    FEW_ROWS = 256             # of a block, that are better listed than counted
    MANY_DRAWS = 1 << 18       # of a tree, that threads allocate together


cdef inline Py_ssize_t count_blocks(Py_ssize_t n_rows) noexcept nogil:
    return (n_rows + DF_BLOCK - 1) // DF_BLOCK


cdef inline Py_ssize_t rows_of_block(Py_ssize_t n_rows, Py_ssize_t block) noexcept nogil:
    """How many of n_rows rows a block has: DF_BLOCK, but for the last one."""
    return min(n_rows - block * DF_BLOCK, <Py_ssize_t> DF_BLOCK)


# Does one item of what threads allocate together.
ctypedef void (*Work)(void* context, Py_ssize_t item) noexcept nogil

cdef struct Helpers:              # threads that a caller of `allocate` has at hand, itself included
    void* context                 # handed to `parallel_for`
    # Have `work` called with every item, 0 to n_items - 1, in any order, by any of the threads.
    int (*parallel_for)(void* context, Py_ssize_t n_items, Work work, void* task) except -1 nogil


cdef class SamplingPlan:
    cdef readonly bint leaves_rows_out     # a tree may leave rows out
    cdef readonly bint draws_once          # a tree draws no row twice
    cdef readonly Py_ssize_t width         # how many numbers `allocate` has for a block; 1 unless __cinit__ says otherwise
    cdef readonly Py_ssize_t only_rows     # the one number of rows that the plan is for; 0: any number
    cdef tuple parameter_texts             # the parameters as texts, once they were asked for

    # Draws of a tree, 1 or more; of a plan whose trees differ in this, what they have on average.
    cdef int64_t tree_draws(self, Py_ssize_t n_rows) noexcept nogil

    # The most draws that a tree may have: by default `tree_draws`.
    cdef int64_t max_draws(self, Py_ssize_t n_rows) noexcept nogil

    # How many of a tree's draws fall into each of the blocks from `first` to `last` - 1; all blocks together have `tree_draws`.
    # A plan may tell them apart in `width` numbers of a block. Their sum is 0 for a block without draws, and at least as large as
    # the number of rows that are drawn of any other.
    # IN helpers : NULL, or threads that may help. OUT n_draws : [last - first, width]
    cdef int allocate(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws,
                      Helpers* helpers) except -1 nogil

    # How often each row of a block is drawn. IN n_draws : [width] what `allocate` has for the block. OUT counts : [rows of the
    # block]
    cdef void draw_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws,
                         uint32_t* counts) noexcept nogil

    # The rows of a block that are drawn, ascending and counted from the block's first one, and how often each; returns how many
    # these are. What `draw_block` says, for which the default asks: a plan may find a few rows sooner.
    # OUT rows, counts : [draws of the block, or its rows if these are fewer]
    cdef Py_ssize_t list_block(self, uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, const int64_t* n_draws, uint32_t* rows,
                               uint32_t* counts) noexcept nogil

    # Raise ValueError unless the plan is for n_rows rows.
    cdef int check_rows(self, Py_ssize_t n_rows) except -1


cdef class AllRows(SamplingPlan):
    pass


cdef class Bootstrap(SamplingPlan):
    cdef readonly int64_t n_draws

    cdef int allocate_together(self, uint32_t seed, Py_ssize_t n_rows, int64_t* n_draws, Helpers* helpers) except -1 nogil


cdef class DrawnElsewhere(SamplingPlan):
    cdef readonly int64_t n_draws


cdef class Subsample(SamplingPlan):
    cdef readonly int64_t n_draws
    cdef readonly object seed              # int, or None: the tree's
    cdef bint has_seed
    cdef uint32_t own_seed


cdef class WithLabelOrder(SamplingPlan):
    cdef readonly SamplingPlan plan
    cdef readonly bint counts_order


# How many of a node's draws go to its left half: see df_draws_to_left.
cdef int64_t draws_to_left(uint32_t seed, uint64_t node, int64_t n_draws, int64_t left, int64_t right) noexcept nogil

# Allocate `draws`, those of a node of the level `top`, to some of its blocks. OUT n_draws : [last - first]
cdef void allocate_below(uint32_t seed, Py_ssize_t n_rows, int top, int64_t draws, int64_t first, int64_t last,
                         int64_t* n_draws) noexcept nogil

# The sum of what `allocate` has for a block.
cdef inline int64_t draws_of_block(const int64_t* n_draws, Py_ssize_t width) noexcept nogil:
    cdef int64_t total = 0
    cdef Py_ssize_t i
    for i in range(width):
        total += n_draws[i]
    return total
