"""Sampling plans that draw from parts of the rows, or whole groups of rows: see strata.pyx for the words."""
from libc.stdint cimport int64_t, uint16_t, uint32_t

from dforest.core.sampling cimport SamplingPlan


cdef class Strata(SamplingPlan):
    cdef readonly bint replace
    cdef readonly object stratum       # ndarray [n_rows], or None
    cdef readonly object n_draws       # ndarray [n_strata]
    cdef readonly object mass          # ndarray [n_rows], or None
    cdef Py_ssize_t n_strata
    cdef int64_t total                 # draws of a tree
    cdef const int64_t[::1] draws      # `n_draws`
    cdef const uint32_t[::1] masses    # `mass`; unassigned if that is None
    cdef const uint16_t[::1] order     # [n_rows] of each block, its rows counted in the block, by stratum
    cdef const int64_t[:, ::1] members  # [n_blocks + 1, n_strata] rows of each stratum in the blocks before
    cdef const int64_t[:, ::1] before  # [n_blocks + 1, n_strata] their masses

    cdef void deal_node(self, uint32_t seed, Py_ssize_t stratum, int64_t node, Py_ssize_t begin, Py_ssize_t size, int64_t draws,
                        Py_ssize_t first, Py_ssize_t last, int64_t* n_draws) noexcept nogil
    cdef void draw_members(self, uint32_t seed, Py_ssize_t stratum, Py_ssize_t block, const uint16_t* rows, Py_ssize_t n,
                           int64_t n_draws, uint32_t* counts) noexcept nogil


cdef class Groups(SamplingPlan):
    cdef readonly bint replace
    cdef readonly object group         # ndarray [n_rows], or None
    cdef readonly object n_rows, length
    cdef readonly int64_t n_draws
    cdef Py_ssize_t n_groups
    cdef int64_t run                   # rows of a group, where groups are runs of rows
    cdef const uint32_t[::1] groups    # `group`; unassigned if that is None
    cdef const int64_t[::1] sizes      # [n_groups] rows of each; unassigned where groups are runs of rows
    cdef const uint32_t[:, ::1] extent  # [n_blocks, 2] the least and the greatest group of each block of rows

    cdef inline uint32_t group_of(self, Py_ssize_t row) noexcept nogil:
        return self.groups[row] if self.group_is_known else <uint32_t> (row // self.run)
    cdef bint group_is_known
    cdef void draw_groups(self, uint32_t seed, Py_ssize_t block, int64_t n_draws, uint32_t* counts) noexcept nogil
    cdef void deal_groups(self, uint32_t seed, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws) noexcept nogil
