from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from dforest.core.predict.leaf_values cimport LeafValues
from dforest.core.predict.packing cimport Rows, ZeroPaths
from dforest.core.predict.walk cimport Descent, df_packed, df_sparse_rows, real_t
from dforest.core.search.splitter cimport Splitter
from dforest.core.threads cimport WorkerContext
from dforest.core.types cimport df_rows

cdef struct Task:                        # rows that are to be predicted, in blocks
    PyObject* packed                    # the PackedForest
    const df_rows* rows                 # NULL where they are sparse
    const df_sparse_rows* sparse        # NULL where they are not
    PyObject* paths                     # the ZeroPaths that sparse rows go down; NULL: they are unpacked
    df_rows room                        # [n_threads, n_block] rows that are 0, where sparse ones are unpacked
    Py_ssize_t n, n_block               # rows, and rows of a block
    Py_ssize_t first_tree, n_trees      # which trees the rows go down
    double* means                       # [n, n_outputs] or NULL: see `predict_rows`; or, if it `goes_on`, sums that are added to
    bint goes_on
    int64_t* most                       # [n] or NULL: see `predict_rows`
    int64_t* leaves                     # [n, n_trees] or NULL: leaves are asked for, not predictions
    PyObject* quickscorer               # the QuickScorerTrees among them, where these are worth it; NULL: all others
    const uint32_t* numbers             # the number of the node in each slot, where leaves are asked for


cdef class PackedForest:
    cdef object __weakref__             # copies on devices are kept by it
    cdef readonly Py_ssize_t n_trees, n_features, n_outputs
    cdef df_packed forest
    cdef LeafValues values
    cdef const double[::1] baseline     # [n_outputs] of outputs that are sums; None: they are means
    cdef readonly bint takes_turns      # trees do at the outputs; else each tree adds to all
    cdef const double[:, ::1] bounds    # [2, n_outputs] see `bounds_of_means`; or None
    cdef const double[:, ::1] lines     # [n_values, ...] see `PackedArrays`; or None
    cdef int n_terms                    # of a line, at most
    cdef const int64_t[::1] bases       # [n_trees] where in `values` those of each tree begin: value rows count from there
    cdef const int32_t[::1] n_first     # [n_trees] steps before rows are asked whether they have arrived
    cdef const int64_t[::1] depth       # [n_trees] of the deepest leaf, but 1 at least
    cdef double n_steps                 # of a row over all trees, about
    cdef object owned                   # the PackedArrays that `forest` points into
    cdef object read_nodes              # returns feature, right_child and node_offsets of the forest
    cdef object node_numbers_
    cdef ZeroPaths paths_               # None: not made yet
    cdef readonly Splitter splitter     # that tells where rows go, if the tests are its own; else None

    cdef int adopt_arrays(self, arrays) except -1
    cdef double steps(self, Py_ssize_t n_trees) noexcept nogil
    cdef int threads(self, Py_ssize_t n, Py_ssize_t n_trees, int n_threads) noexcept
    cdef int predict_rows(self, Rows rows, double* means, int64_t* most, int n_threads) except -1
    cdef int predict_in_parallel(self, Task* task, Rows rows, int n_threads) except -1
    cdef int predict_blocks_in_parallel(self, Task* task, Rows rows, Py_ssize_t n_block, int n_threads) except -1
    cdef int walk_block(self, Py_ssize_t t, const Descent* down, WorkerContext* worker) except -1 nogil
    cdef int walk_sparse(self, Py_ssize_t t, Rows rows, const Descent* down, WorkerContext* worker) except -1 nogil
    cdef int open_paths(self, Rows rows, int n_threads) except -1
    cdef int walk_zero_paths(self, Py_ssize_t t, Rows rows, const Descent* down, WorkerContext* worker) except -1 nogil
    cdef int skip_rows(self, const Task* task, Py_ssize_t first, Py_ssize_t n, WorkerContext* worker) except -1 nogil
    cdef bint takes_tiles(self, Py_ssize_t max_slots, Py_ssize_t first_tree, Py_ssize_t n_trees) noexcept nogil
    cdef void add_leaves(self, Py_ssize_t t, const uint32_t* at, const df_rows* X, Py_ssize_t first, Py_ssize_t n,
                         double* sums) noexcept nogil
    cdef int predict_block(self, const Task* task, const Descent* rows, Py_ssize_t first, WorkerContext* worker) except -1 nogil
    cdef int add_by_row(self, const Task* task, const Descent* rows, double* sums, WorkerContext* worker) except -1 nogil
    cdef int add_by_tree(self, const Task* task, const Descent* rows, double* sums, WorkerContext* worker) except -1 nogil
    cdef void finish(self, const Task* task, Py_ssize_t first, Py_ssize_t n, double* sums) noexcept nogil
    cdef int apply_block(self, const Task* task, const Descent* rows, Py_ssize_t first, WorkerContext* worker) except -1 nogil


cdef inline df_rows rows_of(const real_t[:, ::1] X) noexcept nogil:
    cdef df_rows rows
    rows.x = <const char*> &X[0, 0] if X.shape[0] > 0 else NULL
    rows.stride = X.shape[1] * sizeof(real_t)
    rows.is_double = real_t is double
    return rows
