"""The rows of a boosted tree, in the order of its leaves: see tree_rows.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from dforest.core.boost.bundles cimport Bundles
from dforest.core.boost.histograms cimport Histograms
from dforest.core.spin_team cimport SpinTeam
from dforest.rules.boost cimport df_boost_sums
from dforest.rules.records cimport df_open_node


cdef extern from "core/boost/gradients.h" nogil:
    enum:
        DF_MAX_BITS_BELOW
    ctypedef struct df_boost_largest:
        double weight, gradient, hessian

cdef struct RowRange:              # what a thread finds of some of a node's rows
    int64_t n_left                 # how many go left, and then how many do of these ranges up to it
    int bits_below_max             # least of all
    df_boost_largest largest
    df_boost_sums sums


@cython.final
cdef class TreeRows:
    cdef Bundles bundles
    cdef Histograms histograms
    cdef SpinTeam team
    cdef int64_t partition_rows        # of a range, of a node that has several
    cdef const double* weight          # [n_rows] of all rows, which is in their derivatives; NULL where no weights may be light
    cdef const uint8_t* bits_below_max  # [n_rows] of it: see gradients.h
    cdef const uint32_t* drawn         # [n] the root's rows, the booster's; NULL: all
    cdef int64_t n
    cdef uint32_t* numbers             # [n] of the rows, in the order of the leaves
    cdef uint32_t* moved               # [n]
    cdef bint is_undivided             # `numbers` is not filled: the root is a leaf
    # What a call of the team is about
    cdef int64_t first, n_here         # rows of the node
    cdef int64_t range_rows, n_ranges
    cdef RowRange* ranges              # [n_ranges]
    cdef Py_ssize_t room
    cdef int32_t column                # that rows are divided by
    cdef const uint8_t* by_code        # [DF_BOOST_CODES] whether each of its codes goes left, ...
    cdef const uint8_t* by_shared      # [DF_BOOST_CODES] ... and each of its bundle's
    cdef int32_t* quantised            # of one output, as the next
    cdef const double* kept
    cdef const df_boost_largest* enough
    cdef const double* factors
    cdef bint has_hessian

    cdef const uint32_t* rows_from(self, int64_t first) noexcept nogil
    cdef int cut_into_ranges(self, const df_open_node* node) except -1 nogil
    cdef int divide(self, const df_open_node* node, int32_t column, const uint8_t* by_code,
                    const uint8_t* by_shared) except -1 nogil
    cdef int min_bits_below_max(self, const df_open_node* node) except -1 nogil
    cdef int find_largest(self, const df_open_node* node, const double* kept, const df_boost_largest* enough,
                          df_boost_largest* largest) except -1 nogil
    cdef int quantise(self, const df_open_node* node, const double* kept, const double* factors, bint has_hessian,
                      int32_t* quantised) except -1 nogil
    cdef int add_up(self, const df_open_node* node, int32_t* quantised, df_boost_sums* sums) except -1 nogil
    cdef int64_t begin_of(self, int64_t item, int64_t* n) noexcept nogil
    cdef void divide_range(self, int64_t item) noexcept nogil
    cdef void place_range(self, int64_t item) noexcept nogil
    cdef void bits_below_max_of_range(self, int64_t item) noexcept nogil
    cdef void largest_of_range(self, int64_t item) noexcept nogil
    cdef void quantise_range(self, int64_t item) noexcept nogil
    cdef void add_range(self, int64_t item) noexcept nogil
