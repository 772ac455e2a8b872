"""The draws of several trees: see tree_draws.pyx."""
from libc.stdint cimport int64_t, uint32_t

from cpython.ref cimport PyObject

from dforest.core.sampling cimport Helpers


cdef class TreeDraws:
    cdef readonly tuple plans
    cdef readonly Py_ssize_t n_rows, first, n_own
    cdef readonly object seeds             # ndarray [n_trees]
    cdef readonly object of_block          # ndarray [n_trees, n_blocks, width]
    cdef readonly Py_ssize_t width         # the largest of the plans'; one of less has its numbers first
    cdef Py_ssize_t first_block            # of the blocks that have rows of the stretch; they are counted from this one here
    cdef PyObject** plan                   # [n_trees] the members of `plans`, for threads without the interpreter's lock
    cdef const uint32_t[::1] seed          # `seeds`, for these threads
    cdef int64_t[:, :, ::1] dealt          # `of_block`, for these threads

    cdef int deal_all(self, int n_threads) except -1
    cdef int deal(self, Py_ssize_t tree, Helpers* helpers) except -1 nogil
    cdef int spread(self) except -1
    # How many blocks have rows of the stretch.
    cdef Py_ssize_t n_blocks(self) noexcept nogil
    # The first row of a block, counted in the stretch; of the block after the last one, how many rows there are.
    cdef Py_ssize_t begin(self, Py_ssize_t block) noexcept nogil
    # How often a tree draws each row of a block: see `SamplingPlan.draw_block`. Returns where the counts of the rows that belong
    # to the stretch begin. OUT counts : [DF_BLOCK]
    cdef const uint32_t* draw_block(self, Py_ssize_t tree, Py_ssize_t block, uint32_t* counts) noexcept nogil
