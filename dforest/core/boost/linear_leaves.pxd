"""The linear functions of a boosted tree's leaves: see linear_leaves.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t

from dforest.core.boost.boosted_tree cimport BoostedTree
from dforest.core.types cimport df_rows
from dforest.rules.boost cimport df_value_limits
from dforest.rules.linear_leaf cimport DF_LINE_HEAD, df_bounded_value, df_linear_value, df_term
from dforest.rules.numerics cimport df_exact_sum


cdef struct LeafRange:         # some rows of a leaf
    int32_t node
    int64_t first, n           # of the tree's rows


@cython.final
cdef class LinearLeaves:
    cdef BoostedTree tree
    cdef df_rows X                     # [n_rows, n_columns]
    cdef Py_ssize_t n_columns
    cdef readonly int n_terms          # of a leaf, at most
    cdef int line_size
    cdef double l2                     # in units of weight
    cdef const df_value_limits* limits
    cdef object owner                  # of X
    cdef double* lines                 # [n_nodes, line_size] of leaves; before they are finished, features are places in `values`
    cdef int32_t* columns              # [n_nodes, n_terms] that a leaf looks at
    cdef double* values                # [rows of the tree, n_terms] of these columns
    cdef double* added                 # [rows of the tree] what they add, without bounds
    cdef int* n_here                   # [n_nodes] terms of a leaf that are looked at
    cdef df_term* terms                # [n_nodes, n_terms]
    cdef df_term* range_terms          # [n_ranges, n_terms] with the extents of a range
    cdef df_exact_sum* range_sums      # [n_ranges, ...]
    cdef double* extents               # [n_ranges, 2]
    cdef Py_ssize_t columns_room, lines_room, n_here_room, terms_room, range_terms_room, range_sums_room, extents_room
    cdef int32_t* lowest               # [n_columns] codes that a column may have in a leaf
    cdef int32_t* highest
    cdef int32_t* tested               # [n_columns] the columns that are tested above a leaf, the last one first
    # What a call of the team is about
    cdef const LeafRange* ranges
    cdef const uint32_t* rows
    cdef const int32_t* quantised
    cdef const uint32_t* times
    cdef bint has_hessian

    cdef int find(self, const LeafRange* ranges, Py_ssize_t n_ranges, const int32_t* quantised, bint has_hessian,
                  const uint32_t* times, double weight_unit) except -1 nogil
    cdef int choose_terms(self, Py_ssize_t leaf) noexcept nogil
    cdef void read_values(self, int64_t item) noexcept nogil
    cdef void add_up(self, int64_t item) noexcept nogil
    cdef void add_terms(self, int64_t item) noexcept nogil

    cdef inline double* line_of(self, Py_ssize_t node) noexcept nogil:
        return self.lines + node * self.line_size

    cdef inline double value_at(self, Py_ssize_t node, int64_t place) noexcept nogil:
        """What a leaf adds to a row of the tree, given its place in the order of the leaves."""
        cdef const double* line = self.line_of(node)
        if not line[DF_LINE_HEAD] >= 0.0:
            return self.tree.outputs[node].value
        return df_bounded_value(line, self.added[place])

    cdef inline double value(self, Py_ssize_t node, int64_t row) noexcept nogil:
        """What a leaf adds to any row, given its number."""
        return df_linear_value(self.tree.outputs[node].value, self.line_of(node), self.n_terms, self.X.x + row * self.X.stride,
                               self.X.is_double)
