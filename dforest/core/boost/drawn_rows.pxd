"""The rows drawn for an iteration: see drawn_rows.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t

from dforest.core.sampling cimport SamplingPlan
from dforest.core.spin_team cimport SpinTeam


@cython.final
cdef class DrawnRows:
    cdef readonly int64_t n_rows
    cdef readonly int64_t n_drawn      # of the iteration
    cdef SamplingPlan plan
    cdef uint32_t* order               # [n_rows] those that are drawn, and those left out, each in order
    cdef uint8_t* is_drawn             # [n_rows]
    cdef const uint32_t* times         # [n_rows] integer weights; NULL: all are 1
    cdef int64_t total_weight          # sum of `times` of those that are drawn, or their number
    cdef uint32_t seed                 # of the iteration
    cdef int64_t* allocated            # [n_blocks, plan.width] what the plan allocates to blocks
    cdef int64_t* of_block             # [n_blocks] how many rows of it are drawn; then, how many of the blocks before
    cdef int64_t* weight_of_block      # [n_blocks] sums of `times` of the rows drawn of each block

    cdef int draw(self, uint32_t seed, const uint32_t* times, SpinTeam team) except -1 nogil
    cdef void draw_block(self, int64_t item) noexcept nogil
    cdef void list_block(self, int64_t item) noexcept nogil
