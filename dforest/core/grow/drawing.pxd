"""What a tree draws, as records: see drawing.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint32_t

from dforest.core.data cimport DataView
from dforest.core.grow.team cimport Team
from dforest.core.sampling cimport Helpers, SamplingPlan
from dforest.core.types cimport Record


@cython.final
cdef class Drawing:
    cdef DataView data
    cdef SamplingPlan plan
    cdef readonly int64_t n_draws              # of a tree
    cdef readonly Py_ssize_t most_records      # of a tree
    cdef const uint32_t[::1] counts            # None; or how often the next tree draws each row, in place of what the plan says
    cdef const uint32_t[::1] weights           # None; or what a draw of each row weighs in it, in place of the data's weights
    # Of the tree that is being drawn
    cdef uint32_t seed
    cdef const uint32_t* weight                # [n_rows] integer weights of the rows; NULL: all are 1
    # [blocks of the rows, width of the plan] draws in each; or, where `counts` are known, [blocks of the rows] records
    cdef int64_t* of_block

    # Write the records of a tree in row order; return their number. OUT out : [most_records]
    cdef Py_ssize_t draw(self, uint32_t seed, Record* out) except -1 nogil

    # Do as `draw` does, with the help of idle members of a team, of whom the caller is number `member`.
    # OUT scratch : [most_records]
    cdef Py_ssize_t draw_together(self, Team team, int member, uint32_t seed, Record* out, Record* scratch) except -1 nogil

    cdef int deal(self, uint32_t seed, Helpers* helpers) except -1 nogil
    cdef void count_records(self, Py_ssize_t block) noexcept nogil
    cdef Py_ssize_t records_of_block(self, Py_ssize_t block) noexcept nogil
    cdef Py_ssize_t draw_block(self, Py_ssize_t block, Record* out) noexcept nogil
