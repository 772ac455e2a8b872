from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.types cimport Column, Draw, Split

cdef Py_ssize_t count_blocks(Py_ssize_t n_rows) noexcept nogil
cdef void deal_draws(uint32_t seed, Py_ssize_t n_rows, int64_t n_draws, int64_t* out) noexcept nogil
cdef Py_ssize_t draw_block(uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, int64_t n_draws,
                           uint32_t* counts) noexcept nogil
cdef Py_ssize_t draw_block_rows(DataView data, const uint32_t* weight, uint32_t seed, Py_ssize_t block,
                                int64_t n_draws, Draw* out) noexcept nogil
cdef Py_ssize_t draw_rows(DataView data, const uint32_t* weight, uint32_t seed, int64_t n_draws,
                          int64_t* of_block, Draw* out) noexcept nogil
cdef Py_ssize_t all_rows(DataView data, const uint32_t* weight, Draw* out) noexcept nogil
cdef Py_ssize_t partition(Draw* draws, Py_ssize_t n, const Column* column, const uint32_t* rows, const Split* split,
                          Draw* scratch) noexcept nogil
