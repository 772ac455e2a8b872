from libc.stdint cimport uint32_t

from dforest.core.grow.rows cimport Drawing
from dforest.core.grow.team cimport Team
from dforest.core.types cimport Column, Draw, Split

cdef Py_ssize_t draw_rows_together(Team team, int leader, const Drawing* drawing, Draw* out, Draw* scratch) except -1 nogil
cdef Py_ssize_t partition_together(Team team, int leader, Draw* draws, Py_ssize_t n, const Column* column,
                                   const uint32_t* rows, const Split* split, Draw* scratch) except -1 nogil
