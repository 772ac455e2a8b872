"""Columns of sums of other columns: see projected_columns.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.boost.bundles cimport Bundles
from dforest.core.data cimport RowCodes
from dforest.core.search.projection cimport Spread, Term
from dforest.core.spin_team cimport SpinTeam
from dforest.core.types cimport df_rows


@cython.final
cdef class ProjectedColumns:
    cdef readonly list columns         # [n] of CodedColumn, whose codes are written anew for each iteration
    cdef readonly Py_ssize_t n         # projections of an iteration
    cdef readonly bint may_lack        # a row may have no value of a projection
    cdef readonly Py_ssize_t n_payload_words  # of the test of a projection or a number, at most
    cdef Py_ssize_t n_features, n_rows
    cdef Py_ssize_t first              # number of the first projection among a tree's columns
    cdef int n_codes                   # of values of a projection
    cdef int weights                   # place in WEIGHTS
    cdef df_rows X                     # [n_rows, n_features]
    cdef df_rows sampled               # [n_sampled, n_features] the rows that edges are chosen by
    cdef Py_ssize_t n_sampled
    cdef uint32_t* numbers             # [n_sampled] 0, 1, ...
    cdef Spread* spread                # [n_features] of columns of numbers
    cdef uint32_t* drawable            # [n_drawable] the numbers of the columns that vary, or of the given projections, ...
    cdef uint32_t* swapped             # ... in order but while a projection is drawn, or all of them; and which were swapped
    cdef Py_ssize_t n_drawable
    cdef Py_ssize_t fewest_terms       # what `term_counts` says
    cdef const double* cumulated
    cdef const double* own_weights     # of the given projections, as the next; NULL: they are random
    cdef const int* own_columns
    cdef const int64_t* own_starts
    cdef Term* terms                   # of the iteration's projections, one after another
    cdef Py_ssize_t terms_room
    cdef Py_ssize_t* terms_from        # [n + 1] where those of each begin
    cdef double* edges                 # [n, DF_PROJECTED_EDGES] the greatest values of their codes, then infinity
    cdef uint8_t* codes                # [n, n_rows]
    cdef uint32_t* used                # [n_used] columns of the iteration's projections
    cdef Py_ssize_t n_used
    cdef int64_t* place                # [n_features] of a column in `used`; -1: it is not there
    cdef double* copies                # [chunks, numbers, BLOCK] of used columns
    cdef Py_ssize_t n_numbers          # columns of numbers
    cdef RowCodes rows                 # which have the codes of columns of one byte, these among them, ...
    cdef Py_ssize_t first_byte         # ... from this one on
    cdef object owners                 # of arrays

    cdef int attach(self, Bundles bundles) except -1
    cdef int draw(self, uint32_t seed, SpinTeam team) except -1 nogil
    cdef int draw_terms(self, uint32_t seed) except -1 nogil
    cdef void find_edges(self, int64_t item) noexcept nogil
    cdef void code_chunk(self, int64_t item) noexcept nogil
    cdef Py_ssize_t write_test(self, Py_ssize_t column, Py_ssize_t code, bint missing_left, uint64_t* payload) noexcept nogil
