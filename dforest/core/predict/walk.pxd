# Packed trees, and rows that go down them: see walk.h.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from dforest.core.types cimport df_rows

ctypedef fused real_t:
    float
    double

cdef extern from "core/predict/walk.h" nogil:
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
        DF_NUMBERS
        DF_SUBSETS
        DF_VALUE_ROWS
    const char* df_tree(const df_packed* forest, size_t tree)
    bint df_is_leaf(const char* tree, uint32_t at, const df_packed* forest)
    uint32_t df_feature(const char* tree, uint32_t at, const df_packed* forest)
    uint32_t df_place(const char* tree, uint32_t at, const df_packed* forest)
    uint32_t df_child(const char* tree, uint32_t at, const df_packed* forest)
    uint32_t df_value_row(const char* tree, uint32_t at, const df_packed* forest)
    uint32_t df_step_by(const char* tree, uint32_t at, double value, const df_packed* forest)
    void df_write_number(char* tree, uint32_t at, uint32_t feature, uint32_t flags, double threshold, uint32_t slot,
                         const df_packed* forest)
    void df_write_subset(char* tree, uint32_t at, uint32_t feature, uint32_t flags, uint32_t place, uint32_t slot,
                         const df_packed* forest)
    void df_write_leaf(char* tree, uint32_t at, uint32_t value_row, const df_packed* forest)
    int df_mode(const df_packed* forest, const df_rows* rows, size_t first, size_t n, size_t n_features)
    void df_walk_rows(const df_packed* forest, size_t t, int n_first, const df_rows* rows, const uint32_t* numbers,
                      size_t first, size_t n, uint32_t* at, uint32_t* left, int mode)
    void df_walk_trees(const df_packed* forest, size_t n_trees, const df_rows* rows, size_t i, uint32_t* at, int mode)
    void df_add_values(const df_packed* forest, size_t t, const uint32_t* at, size_t n, const double* values,
                       size_t n_outputs, double* sums)

cdef extern from "core/predict/sparse_rows.h" nogil:
    ctypedef struct df_sparse_rows:
        const char* values
        const int32_t* columns
        const int64_t* starts
        int is_double
    void df_unpack_rows(const df_sparse_rows* rows, const uint32_t* numbers, size_t first, size_t n, const df_rows* to,
                        bint clears)
    double df_sparse_value(const df_sparse_rows* rows, size_t i, int64_t column)
    int df_sparse_mode(const df_packed* forest, const df_sparse_rows* rows, size_t first, size_t n)

cdef struct Descent:                    # rows that go down trees, one tree after another
    const df_rows* rows
    const uint32_t* numbers             # [n] which rows; NULL: first, first + 1, ...
    Py_ssize_t first, n
    int mode                            # see df_mode of walk.h
    uint32_t* at                        # [n] OUT the slots of the leaves that the rows reach
    uint32_t* left                      # [n] scratch

cdef extern from "core/predict/zero_paths.h" nogil:
    ctypedef struct df_stop:
        uint32_t slot
        uint32_t other
    ctypedef struct df_hash_table:
        pass
    void df_clear_table(df_hash_table* table)
    void df_fill_table(df_hash_table* table, const df_sparse_rows* rows, size_t i, bint clears)
    bint df_number_nodes(const df_packed* forest, size_t t, uint32_t* features, df_stop* stops, uint32_t* waiting)
    const df_stop* df_skip(const df_packed* forest, size_t t, const uint32_t* features, const df_stop* stops,
                           const df_sparse_rows* rows, size_t i, const df_hash_table* table)

cdef extern from "core/predict/packed_check.h" nogil:
    ctypedef struct df_limits_of_slots:
        uint64_t n_words
        uint32_t n_values
        uint32_t n_features
        int has_own_tests

cdef extern from "core/predict/shapley.h" nogil:
    enum:
        DF_SHAPLEY_LANES
        DF_SHAPLEY_POINTS
    ctypedef struct df_shapley_node:
        double left, above, threshold
        uint32_t right
        int32_t feature, ancestor
        uint32_t position, flags, place
    ctypedef struct df_shapley_tree:
        const df_shapley_node* nodes
        const uint64_t* words
    ctypedef struct df_shapley_interactions:
        int32_t* last
        double* gain
        double* added
        double* sums
    size_t df_shapley_couple(size_t one, size_t other)

cdef extern from "core/predict/shapley_rows.h" nogil:
    enum:
        DF_SHAPLEY_FACTORS
        DF_SHAPLEY_TABLED
    ctypedef struct df_shapley_tables:
        uint32_t* node
        uint8_t* side
        uint32_t* first
        uint16_t* cold
        uint16_t* lacking
        uint8_t* left
        uint32_t* counts
        uint16_t* patterns
        double* b
        double* e
        double** couples         # [3]

cdef extern from "core/predict/tiles.h" nogil:
    ctypedef struct df_keyed:
        pass
    enum:
        DF_MAX_KEYED
        DF_MAX_PLACES
    void df_fill_tiles32(const df_rows* rows, size_t first, size_t n, size_t n_features, uint32_t* tiles)
    void df_fill_tiles64(const df_rows* rows, size_t first, size_t n, size_t n_features, uint64_t* tiles)
    void df_key_slots(const df_packed* forest, size_t t, size_t n_slots, df_keyed* keyed)
    void df_walk_tiles(const df_keyed* tree, int n_first, const uint32_t* tiles, size_t n_features, size_t n, uint32_t* at,
                       uint32_t* left)

cdef extern from "core/predict/quickscorer.h" nogil:
    enum:
        DF_MAX_QUICKSCORER_LEAVES
    ctypedef struct df_leaf_test:
        pass
    ctypedef struct df_quickscorer_tree:
        const df_leaf_test* tests
        const double* values
        const uint32_t* rows
        int n_tests
    int df_quickscorer_tree_of(const df_packed* forest, size_t t, int most, df_leaf_test* tests, uint32_t* leaves)
