from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.team cimport Team
from dforest.core.types cimport Column, Draw, Split

cdef Py_ssize_t draw_rows_together(Team team, int leader, DataView data, const uint32_t* weight, uint32_t seed,
                                   int64_t n_draws, int64_t* of_block, Draw* out, Draw* scratch) except -1 nogil
cdef Py_ssize_t partition_together(Team team, int leader, Draw* draws, Py_ssize_t n, const Column* column,
                                   const uint32_t* rows, const Split* split, Draw* scratch) except -1 nogil
