"""The sketch of an iteration's gradients: see gradient_sketch.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t

from dforest.core.boost.boosted_tree cimport BoostScale
from dforest.core.loops cimport df_boost_extent, df_boost_rows
from dforest.core.spin_team cimport SpinTeam

cdef extern from "core/boost/sketch.h" nogil:
    ctypedef struct df_sketch:
        int n_sums, n_directions
        const uint32_t* signs
        const double* units
        double[2] factors


@cython.final
cdef class GradientSketch:
    cdef int n_directions
    cdef int64_t n_rows
    cdef df_sketch sketch              # of the present iteration
    cdef int32_t* quantised            # [n_directions, n_rows, 2]
    cdef BoostScale* scales            # [n_directions]
    cdef df_boost_extent* extents      # [chunks, n_directions]
    cdef uint32_t* signs               # [n_sums]
    cdef double* units                 # [n_sums, 2]
    # What a call of the team is about
    cdef const df_boost_rows* rows
    cdef const int32_t* of_sums        # [n_sums, n_rows, 2] what is sketched
    cdef int64_t n_listed, chunk, n_chunks

    cdef void draw(self, uint32_t seed, const BoostScale* scales, const df_boost_extent* totals) noexcept nogil
    cdef void make(self, const df_boost_rows* rows, int64_t n_listed, int64_t chunk, const int32_t* quantised,
                   SpinTeam team) noexcept nogil
    cdef void make_chunk(self, int64_t item) noexcept nogil
    cdef df_boost_extent extent_along(self, int direction) noexcept nogil
