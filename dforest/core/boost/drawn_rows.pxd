"""The rows drawn for an iteration: see drawn_rows.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint32_t

from dforest.core.spin_team cimport SpinTeam


@cython.final
cdef class DrawnRows:
    cdef readonly int64_t n_rows, n_drawn
    cdef uint32_t* order               # [n_rows] those that are drawn, and those left out, each in order
    cdef const uint32_t* times         # [n_rows] integer weights; NULL: all are 1
    cdef int64_t total_weight          # sum of `times` of those that are drawn, or their number
    cdef uint32_t seed                 # of the iteration
    cdef int64_t* of_block             # [n_blocks] sums of `times` of the rows drawn of each block

    cdef void draw(self, uint32_t seed, const uint32_t* times, SpinTeam team) noexcept nogil
    cdef int64_t n_before(self, int64_t row) noexcept nogil
    cdef void draw_block(self, int64_t item) noexcept nogil
