from libc.stdint cimport int64_t, uint32_t

from cpython.ref cimport PyObject

from dforest.core.types cimport Column, Draw, Split

cdef struct Drawing:               # the draws of one tree
    PyObject* data                 # DataView
    PyObject* plan                 # SamplingPlan
    const uint32_t* weight         # [n_rows] integer weights; NULL: all 1
    const uint32_t* counts         # [n_rows] how often each row is drawn, where that is known; NULL: the plan says it
    uint32_t seed                  # the tree's
    int64_t* of_block              # [count_blocks(n_rows)] OUT: see `deal_draws`

cdef int deal_draws(const Drawing* drawing) except -1 nogil
cdef Py_ssize_t draw_block_rows(const Drawing* drawing, Py_ssize_t block, Draw* out) noexcept nogil
cdef Py_ssize_t draw_rows(const Drawing* drawing, Draw* out) except -1 nogil
cdef Py_ssize_t partition(Draw* draws, Py_ssize_t n, const Column* column, const uint32_t* rows, const Split* split,
                          Draw* scratch) noexcept nogil
