from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.types cimport Column, Draw, Split

cdef Py_ssize_t draw_rows(DataView data, uint64_t seed, uint32_t tree, int64_t n_draws, Draw* out) noexcept nogil
cdef Py_ssize_t all_rows(DataView data, Draw* out) noexcept nogil
cdef Py_ssize_t partition(Draw* draws, Py_ssize_t n, const Column* column, const Split* split, Draw* scratch) noexcept nogil
