"""Boosted trees grown iteration by iteration: see booster.pyx."""
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.boost.boosted_tree cimport BoostScale, BoostedTree
from dforest.core.boost.chances cimport RowChances
from dforest.core.boost.drawn_rows cimport DrawnRows
from dforest.core.boost.gradient_sketch cimport GradientSketch
from dforest.core.boost.histograms cimport Histograms
from dforest.core.boost.loss cimport CustomLoss, df_known_derivatives
from dforest.core.boost.projected_columns cimport ProjectedColumns
from dforest.core.boost.tree_grower cimport LeafSetting
from dforest.core.data cimport DataView
from dforest.core.loops cimport df_boost_extent, df_boost_rows
from dforest.core.spin_team cimport SpinTeam
from dforest.core.threads cimport WorkerContext


@cython.final
cdef class Booster:
    cdef DataView data
    cdef SpinTeam team
    cdef readonly int n_trees_per_iteration
    cdef readonly int n_sums           # raw predictions of a row: ...
    cdef int n_outputs                 # ... the values of a leaf of each tree of an iteration
    cdef readonly int64_t n_trees      # that have been grown, or were there before
    cdef uint64_t seed
    cdef int loss                      # its number
    cdef double max_weight             # weight of all rows; 0: none is light
    cdef bint is_of_classes            # see losses.h: nodes are light by weights alone
    cdef bint has_hessian              # quantised gradients of a row are two
    cdef bint counts_hessian           # it is 1 without `times`
    cdef int64_t total_weight          # sum of `times`, or number, of drawn rows
    cdef bint is_wide                  # words are wide, wherever there are Hessians
    cdef int64_t chunk                 # rows of a chunk, at most
    cdef int64_t n_cells               # of the data: see `Bundles`
    cdef LeafSetting fit
    cdef object growers                # list of TreeGrower: one of all threads, or one for each
    cdef PyObject** grower             # [n_growers] the same
    cdef int* is_busy                  # [n_growers] above 0 while one grows a tree
    cdef int n_growers
    cdef object errors                 # list of what threads have raised that grew trees alone
    cdef int has_failed
    cdef df_boost_rows rows
    cdef double[:, ::1] raw            # [n_sums, n_rows] sums of offsets and leaf values
    cdef int32_t* quantised            # [n_sums, n_rows, 1 or 2]
    cdef uint8_t* bits_below_max       # [n_rows] of weights; NULL: none is light
    cdef double* kept                  # [n_sums, n_rows, 2] derivatives; NULL: no node has been light yet, nor may be
    cdef double[::1] baseline          # [n_sums]
    cdef double[::1] parameters        # [n_sums] of the loss
    cdef double* factors               # [n_sums, 2] 2 to the power of the exponents of quantised gradients
    cdef bint has_scales               # rows of the iteration are quantised by them
    cdef BoostScale* scales            # [n_sums]
    cdef df_boost_extent* extents      # [chunks, n_sums]
    cdef df_boost_extent* totals       # [n_sums]
    cdef GradientSketch sketch         # None: splits are chosen by all outputs
    cdef readonly ProjectedColumns projected  # the last columns; None: trees split by single columns alone
    cdef CustomLoss own                # None: the loss has a number
    cdef DrawnRows drawn               # None: all are
    cdef int64_t n_drawn               # of each iteration, about
    cdef RowChances chances            # None: rows are drawn alike, if at all
    cdef double[:, ::1] importance_units  # [n_sums, 2] see `RowChances.draw`
    cdef int64_t n_listed              # rows that quantised gradients are made of
    cdef int64_t sum_of_weights        # of all rows
    cdef object owners, grown          # of arrays; the trees of the iteration

    cdef int grow_tree(self, int k, int which, WorkerContext* worker) except -1 nogil
    cdef void grow_alone(self, int k) noexcept nogil
    cdef void keep_error(self) noexcept nogil
    cdef int raise_error(self) except -1 nogil
    cdef int grow_trees(self, WorkerContext* worker) except -1 nogil
    cdef int set_weights(self, weight) except -1
    cdef object weigh_leaves_by(self, weight)
    cdef bint is_heavy(self, const df_boost_extent* of_all) noexcept nogil
    cdef int keep_derivatives(self) except -1 nogil
    cdef int64_t n_chunks(self) noexcept nogil
    cdef void quantise_all(self) noexcept nogil
    cdef void draw_by_chance(self) noexcept nogil
    cdef void list_rows(self, const uint32_t* rows, int64_t n, int64_t total_weight) noexcept nogil
    cdef df_boost_rows rows_of(self, int k) noexcept nogil
    cdef void quantise_chunk(self, int64_t item) noexcept nogil
    cdef void choose_scales(self) noexcept nogil
    cdef void join_extents(self) noexcept nogil
    cdef int32_t* quantised_of(self, int k) noexcept nogil
