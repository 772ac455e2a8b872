from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from dforest.core.splitter cimport Splitter
from dforest.core.threads cimport Turn
from dforest.core.types cimport df_rows

ctypedef fused real_t:
    float
    double

cdef extern from "walk.h" nogil:
    ctypedef struct df_narrow:
        float threshold
        uint32_t word
    ctypedef struct df_wide:
        double threshold
        uint32_t word
        uint32_t slot
    ctypedef struct df_packed:
        const char* slots
        const int64_t* starts
        const uint64_t* words
        uint32_t bits
        int is_wide
    enum:
        DF_MISSING_LEFT
        DF_IS_SUBSET
        DF_LANES
        DF_PAYLOADS
    const char* df_tree(const df_packed* forest, size_t tree)
    bint df_is_leaf(const char* tree, uint32_t at, const df_packed* forest)
    uint32_t df_feature(const char* tree, uint32_t at, const df_packed* forest)
    uint32_t df_place(const char* tree, uint32_t at, const df_packed* forest)
    uint32_t df_child(const char* tree, uint32_t at, const df_packed* forest)
    uint32_t df_payload(const char* tree, uint32_t at, const df_packed* forest)
    uint32_t df_step_by(const char* tree, uint32_t at, double value, const df_packed* forest)
    void df_write_number(char* tree, uint32_t at, uint32_t feature, uint32_t flags, double threshold, uint32_t slot,
                         const df_packed* forest)
    void df_write_subset(char* tree, uint32_t at, uint32_t feature, uint32_t flags, uint32_t place, uint32_t slot,
                         const df_packed* forest)
    void df_write_leaf(char* tree, uint32_t at, uint32_t payload, const df_packed* forest)
    int df_mode(const df_packed* forest, const df_rows* rows, size_t first, size_t n, size_t n_features)
    void df_walk_rows(const df_packed* forest, size_t t, int n_first, const df_rows* rows, const uint32_t* numbers,
                      size_t first, size_t n, uint32_t* at, uint32_t* left, int mode)
    void df_walk_trees(const df_packed* forest, size_t n_trees, const df_rows* rows, size_t i, uint32_t* at, int mode)
    void df_add_values(const df_packed* forest, size_t t, const uint32_t* at, size_t n, const double* values,
                       size_t n_outputs, double* sums)


cdef struct Job:                        # rows that are to be predicted, in blocks
    PyObject* packed
    const df_rows* rows
    Py_ssize_t n, n_block
    double* means                       # as for `predict_rows`
    int64_t* most
    int64_t* leaves                     # [n, n_trees] or NULL: leaves are asked for, not predictions
    const uint32_t* numbers             # of their nodes


cdef class PackedForest:
    cdef object __weakref__             # copies on devices are kept by it
    cdef readonly Py_ssize_t n_trees, n_features, n_outputs
    cdef df_packed forest
    cdef const double[:, ::1] values
    cdef const int64_t[::1] bases       # [n_trees] where in `values` those of each tree begin: payloads count from there
    cdef const int32_t[::1] n_first     # [n_trees] steps before rows are asked whether they have arrived
    cdef const int64_t[::1] depth       # [n_trees] of the deepest leaf, but 1 at least
    cdef double n_steps                 # of a row over all trees, about
    cdef object owned                   # what `forest` points into
    cdef object nodes                   # feature, right and node_offsets of the forest
    cdef object node_numbers_
    cdef readonly Splitter splitter     # that tells where rows go, if the tests are its own; else None

    cdef int pack(self, forest, rows, bint is_wide) except -1
    cdef int own(self, slots, starts, bases, words, int bits, bint is_wide) except -1
    cdef int threads(self, Py_ssize_t n, int n_threads) noexcept
    cdef int predict_rows(self, df_rows rows, Py_ssize_t n, double* means, int64_t* most, int n_threads) except -1
    cdef int share_blocks(self, Job* job, const df_rows* rows, Py_ssize_t n, Py_ssize_t n_block, int n_threads) except -1
    cdef int walk(self, Py_ssize_t t, const df_rows* rows, const uint32_t* numbers, Py_ssize_t first, Py_ssize_t n,
                  uint32_t* at, uint32_t* left, int mode, Turn* turn) except -1 nogil
    cdef int walk_tests(self, Py_ssize_t t, const df_rows* rows, const uint32_t* numbers, Py_ssize_t first, Py_ssize_t n,
                        uint32_t* at) except -1 nogil
    cdef int predict_block(self, const df_rows* rows, Py_ssize_t first, Py_ssize_t n, double* means,
                           int64_t* most, Turn* turn) except -1 nogil
    cdef int apply_block(self, const df_rows* rows, Py_ssize_t first, Py_ssize_t n, const uint32_t* numbers,
                         int64_t* leaves, Turn* turn) except -1 nogil
    cdef int check(self, Py_ssize_t n_features) except -1


cdef class Rows:
    cdef df_rows rows
    cdef Py_ssize_t n
    cdef Py_buffer buffer
    cdef bint is_open, is_single


cdef inline df_rows rows_of(const real_t[:, ::1] X) noexcept nogil:
    cdef df_rows rows
    rows.x = <const char*> &X[0, 0] if X.shape[0] > 0 else NULL
    rows.stride = X.shape[1] * sizeof(real_t)
    rows.is_double = real_t is double
    return rows
