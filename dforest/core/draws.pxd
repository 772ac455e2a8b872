"""Sampling plans by strata and by groups of rows, and the draws of several trees: see draws.pyx."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from dforest.core.sampling cimport Helpers, SamplingPlan


cdef class Strata(SamplingPlan):
    cdef readonly bint replace
    cdef readonly object stratum       # ndarray [n_rows], or None
    cdef readonly object n_draws       # ndarray [n_strata]
    cdef readonly object mass          # ndarray [n_rows], or None
    cdef Py_ssize_t n_strata
    cdef int64_t total                 # draws of a tree
    cdef const int64_t[::1] draws      # `n_draws`
    cdef const uint32_t[::1] masses    # `mass`; unassigned if that is None, or has 64 bits
    cdef const uint64_t[::1] long_masses  # `mass`, if that has 64 bits
    cdef bint has_long                 # it has
    cdef const uint16_t[::1] order     # [n_rows] of each block, its rows counted in the block, by stratum
    cdef const int64_t[:, ::1] members  # [n_blocks + 1, n_strata] rows of each stratum in the blocks before
    cdef const int64_t[:, ::1] before  # [n_blocks + 1, n_strata] their masses

    cdef void allocate_node(self, uint32_t seed, Py_ssize_t stratum, int64_t node, Py_ssize_t begin, Py_ssize_t size,
                            int64_t draws, Py_ssize_t first, Py_ssize_t last, int64_t* n_draws) noexcept nogil
    cdef void draw_members(self, uint32_t seed, Py_ssize_t stratum, Py_ssize_t block, const uint16_t* rows, Py_ssize_t n,
                           int64_t n_draws, uint32_t* counts) noexcept nogil


cdef class Groups(SamplingPlan):
    cdef readonly bint replace
    cdef readonly object group         # ndarray [n_rows], or None
    cdef readonly object n_rows, length
    cdef readonly int64_t n_draws
    cdef readonly object of_groups     # SamplingPlan, or None
    cdef readonly SamplingPlan drawing  # of groups: `of_groups`, or the plan that None stands for
    cdef dict others                   # plans of these groups that are drawn otherwise
    cdef readonly Py_ssize_t n_groups
    cdef int64_t run                   # rows of a group, where groups are runs of rows
    cdef const uint32_t[::1] groups    # `group`; unassigned if that is None
    cdef const int64_t[::1] sizes      # [n_groups] rows of each; unassigned where groups are runs of rows
    cdef const uint32_t[:, ::1] extent  # [n_blocks, 2] the least and the greatest group of each block of rows

    cdef inline uint32_t group_of(self, Py_ssize_t row) noexcept nogil:
        return self.groups[row] if self.group_is_known else <uint32_t> (row // self.run)
    cdef bint group_is_known


cdef class TreeDraws:
    cdef readonly tuple plans
    cdef readonly Py_ssize_t n_rows, first, n_own
    cdef readonly object seeds             # ndarray [n_trees]
    cdef readonly object of_block          # ndarray [n_trees, n_blocks, width]
    cdef readonly Py_ssize_t width         # the largest of the plans'; one of less has its numbers first
    cdef Py_ssize_t first_block            # of the blocks that have rows of the range; they are counted from this one here
    cdef PyObject** plan                   # [n_trees] the members of `plans`, for threads without the interpreter's lock
    cdef const uint32_t[::1] seed          # `seeds`, for these threads
    cdef int64_t[:, :, ::1] allocated      # `of_block`, for these threads

    cdef int allocate_all(self, int n_threads) except -1
    cdef int allocate(self, Py_ssize_t tree, Helpers* helpers) except -1 nogil
    cdef int spread(self) except -1
    # How many blocks have rows of the range.
    cdef Py_ssize_t n_blocks(self) noexcept nogil
    # The first row of a block, counted in the range; of the block after the last one, how many rows there are.
    cdef Py_ssize_t begin(self, Py_ssize_t block) noexcept nogil
    # How often a tree draws each row of a block: see `SamplingPlan.draw_block`. Returns where the counts of the rows that belong
    # to the range begin. OUT counts : [DF_BLOCK]
    cdef const uint32_t* draw_block(self, Py_ssize_t tree, Py_ssize_t block, uint32_t* counts) noexcept nogil
