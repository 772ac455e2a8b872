"""Rows that are drawn by chances of their own: see chances.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from dforest.core.spin_team cimport SpinTeam


@cython.final
cdef class RowChances:
    cdef readonly int64_t n_rows
    cdef int64_t n_asked               # rows that are to be drawn, about
    cdef int n_sums
    cdef int64_t n_blocks, n_parts
    cdef int64_t n_drawn               # of the iteration
    cdef int64_t total_weight          # sum of `times` of those that are drawn, or their number
    cdef uint32_t* order               # [n_rows] those that are drawn, and those left out, each in order
    cdef double* exact                 # [n_rows] importances
    cdef uint32_t* importance          # [n_rows] as integers
    cdef uint8_t* is_drawn             # [n_rows]
    cdef int64_t* of_block             # [n_blocks] how many rows of it are drawn; then, how many of the blocks before
    cdef int64_t* weight_of_block      # [n_blocks] sums of `times` of the rows drawn of each block
    cdef double* largest               # [n_parts] importance
    cdef int64_t* counts               # [2, n_parts, DF_IMPORTANCE_STEPS] numbers of rows, and sums of their importances
    # What a call of the team is about
    cdef uint32_t seed                 # of the iteration
    cdef const int32_t* quantised
    cdef const double* units
    cdef const uint32_t* times
    cdef double* kept
    cdef bint all_are_equal            # all importances are 0
    cdef double factor                 # that makes integers of importances
    cdef double of_certain             # the importance from which on rows are drawn for certain

    cdef void draw(self, uint32_t seed, const int32_t* quantised, const double* units, const uint32_t* times, double* kept,
                   SpinTeam team) noexcept nogil
    cdef void rows_of_part(self, int64_t item, int64_t* begin, int64_t* end) noexcept nogil
    cdef void weigh_part(self, int64_t item) noexcept nogil
    cdef void count_part(self, int64_t item) noexcept nogil
    cdef void divide(self, int64_t row) noexcept nogil
    cdef void draw_block(self, int64_t item) noexcept nogil
    cdef void place_block(self, int64_t item) noexcept nogil
