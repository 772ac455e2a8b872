from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from dforest.core.predict.walk cimport (
    df_limits_of_slots, df_packed, df_quickscorer_tree, df_shapley_interactions, df_shapley_tables, df_shapley_tree,
)
from dforest.core.search.sums cimport SumsKind
from dforest.core.types cimport Column

from dforest.rules.boost cimport df_boost_limits, df_boost_sums
from dforest.rules.bounds cimport df_bounds
from dforest.rules.criteria cimport df_outputs
from dforest.rules.records cimport df_record, df_scale

cdef extern from "core/loops.h" nogil:
    enum:
        DF_UNORDERED
        DF_UNORDERED_DRAWS
        DF_UNORDERED_CLASSES
        DF_STRIDE
        DF_MASKED
    const int16_t DF_UNORDERED_NO_CODE
    uint64_t df_mask_of_bytes(const uint8_t* codes, uint8_t cut, uint8_t also)
    ctypedef struct df_unordered:
        int n
        int least
        int n_missing
        int16_t missing
        int16_t* code        # [DF_UNORDERED]
        uint16_t* binary_counts  # [DF_UNORDERED]
        uint64_t* word       # [DF_UNORDERED]
    ctypedef struct df_cut:
        int place
        int left
        double score
    ctypedef struct df_extent:
        uint64_t lowest
        uint64_t highest
        uint64_t highest_value
    enum:
        DF_SMALL
        DF_SMALL_BINARY
        DF_SMALL_CLASSES
        DF_SMALL_SUMS
    ctypedef struct df_small_node:
        uint64_t key, constants
        int64_t depth
        int32_t feature
        uint32_t code, above
        double threshold
        uint8_t first, n, parent, is_right, scale, is_pure, missing_left, only_missing_right
    enum:
        DF_SMALL_SLOTS
    ctypedef struct df_small_codes:
        uint8_t* is_ranked            # [DF_SMALL_SLOTS], as what follows
        uint8_t* missing
        uint8_t* slot_of
    ctypedef struct df_small_subtree:         # see small_subtree.h
        int64_t max_depth, min_split, least
        uint32_t seed, n_features
        int64_t max_features
        bint skip_constant
        int n_classes
        bint has_missing
        uint64_t all_features
        const uint8_t* byte_rows
        size_t byte_stride
        uint32_t* features
        uint32_t* swapped
        const uint8_t* is_constant
        const Column* columns
        const uint32_t* data_rows
        uint32_t* row                # [DF_SMALL], as what follows
        uint32_t* count
        int32_t* target
        double* y
        uint64_t* word
        uint16_t* binary_counts
        uint8_t* order
        df_small_codes codes
        df_scale* scales
        int n_scales
        df_small_node* nodes          # [2 * DF_SMALL]
        int n_nodes
    enum:
        DF_BOOST_TILE
        DF_BOOST_CODES
        DF_SUBSET_WORDS
        DF_ROOM_NUMBERS
        DF_OUTPUT_NUMBERS
    ctypedef struct df_boost_cut:          # see records.h
        double score
        int32_t feature
        uint32_t code, missing_left
        int64_t n_left, gradient_left, hessian_left, gradient, hessian, n, most
        uint64_t* left                 # [DF_SUBSET_WORDS]
    ctypedef struct df_boost_arrays:
        int64_t* g
        int64_t* h
        int64_t* n
    ctypedef struct df_boost_room:
        df_boost_arrays first
        double* scores
        double* keys
        uint64_t* words
        uint16_t* order
        uint16_t* spare
    ctypedef struct df_boost_constraint:
        df_bounds bounds
        int monotonic_cst
    ctypedef struct df_boost_entries:
        const uint64_t* words
        const df_boost_sums* sums
        const int64_t* g
        const int64_t* h
        const int64_t* n
    ctypedef struct df_boost_outputs:
        double* right
        double* left
        int64_t* count
    df_boost_outputs df_boost_outputs_at(double* memory, int n)
    void df_boost_write_subset(const uint16_t* order, int n, int n_codes, uint64_t* left, int n_words, df_boost_cut* cut)
    bint df_boost_goes_left(const df_boost_cut* cut, const uint64_t* left, int code, int missing)
    df_boost_sums df_boost_sums_on_left(int kind, const df_boost_entries* entries, int n_codes, bint has_missing,
                                        const df_boost_cut* cut, df_boost_sums* node)
    df_boost_room df_boost_room_at(double* memory, int n)
    int df_whole_lanes(int n)
    void df_boost_cut_in(int kind, const df_boost_entries* entries, int n_codes, bint has_missing, const df_boost_limits* limits,
                         const df_boost_constraint* constraint, const df_boost_room* room, df_boost_cut* cut)
    void df_boost_subset_in(int kind, const df_boost_entries* entries, int n_codes, bint has_missing,
                            const df_boost_limits* limits, const df_boost_constraint* constraint, const df_boost_room* room,
                            uint64_t* left, int n_words, df_boost_cut* cut)
    ctypedef struct df_boost_rows:         # see gradients.h
        const double* raw
        const double* y
        const uint32_t* times
        const double* weight
        const uint32_t* list
        double* kept
        double baseline, parameter
    ctypedef struct df_boost_extent:
        double gradient, hessian
        int64_t* largest               # [2], as the next
        int64_t* sum
    ctypedef void (*df_boost_fill)(const uint8_t* codes, int64_t stride, const int32_t* quantised, const uint32_t* times,
                                   const uint32_t* rows, int64_t first_row, int64_t n, const uint32_t* first, int begin, int end,
                                   uint64_t* words) noexcept nogil
    ctypedef void (*df_boost_fill_lists)(const int64_t* from_row, const uint32_t* listed, const int32_t* quantised,
                                         const uint32_t* times, const uint32_t* rows, int64_t first_row, int64_t n,
                                         uint64_t* words) noexcept nogil
    ctypedef df_boost_sums (*df_boost_total)(const int32_t* quantised, const uint32_t* times, const uint32_t* rows,
                                             int64_t first_row, int64_t n) noexcept nogil
    ctypedef void (*df_boost_find)(const df_boost_entries* entries, int n_codes, bint has_missing, const df_boost_limits* limits,
                                   const df_boost_constraint* constraint, df_boost_cut* cut) noexcept nogil
    ctypedef void (*df_boost_cut_beside_default)(const uint64_t* words, int n_codes, bint has_missing, int default_code,
                                                 int64_t n_others, df_boost_sums total, const df_boost_limits* limits,
                                                 const df_boost_constraint* constraint, df_boost_cut* cut) noexcept nogil
    ctypedef double (*df_boost_spread_of)(const df_boost_entries* entries, int n, const df_boost_limits* limits) noexcept nogil
    ctypedef int (*df_boost_order_of)(const df_boost_entries* entries, int n, const df_boost_limits* limits,
                                      const df_boost_room* room) noexcept nogil
    ctypedef void (*df_boost_add_output)(const df_boost_entries* entries, int n_codes, bint has_missing, const uint16_t* order,
                                         int n, const df_boost_limits* limits, const df_boost_constraint* constraint, double unit,
                                         bint is_first, const df_boost_room* room, df_boost_outputs* outputs) noexcept nogil
    ctypedef struct df_rank_rule:          # see ranking.h
        double sigmoid
        int64_t truncation
        bint by_ndcg, is_normalised
    ctypedef struct df_ranked:
        double* raw
        double* grade
        double* gain
        double* discount
        double* gradient
        double* hessian
        uint32_t* row
    ctypedef struct df_boost_loops:        # lists are by the kind of words
        df_boost_fill* fill
        df_boost_fill* fill_times
        df_boost_fill_lists* fill_lists
        df_boost_fill_lists* fill_lists_times
        df_boost_total* total
        df_boost_total* total_times
        void (*predictions)(int loss, const double* raw, int64_t n, double* prediction) noexcept nogil
        void (*class_predictions)(const double* raw, int64_t n, int64_t n_classes, double* p) noexcept nogil
        double (*rank_pairs)(const df_ranked* ranked, int64_t n, const df_rank_rule* rule) noexcept nogil
        void (*code_sums)(const double* edges, const double* sums, int n, int missing, uint8_t* codes) noexcept nogil
        void (*add_digits)(int64_t* entries, const int32_t* radix, int n_digits, int64_t* digits) noexcept nogil
        int64_t (*count)(const df_boost_entries* entries, int n, int64_t* most) noexcept nogil
        void (**unpack)(const df_boost_entries* entries, int n_codes, int default_code, df_boost_sums total,
                        const df_boost_arrays* unpacked) noexcept nogil
        void (**spill)(uint64_t* words, int64_t n_entries, int64_t* g, int64_t* h, int64_t* n) noexcept nogil
        df_boost_find* cut
        df_boost_find* subset
        df_boost_cut_beside_default* cut_beside_default
        df_boost_spread_of* spread
        df_boost_order_of* order
        df_boost_add_output* add_output
        void (*choose_of_outputs)(const df_boost_outputs* outputs, int n, df_boost_cut* cut) noexcept nogil
        int64_t (*divide)(const uint32_t* rows, int64_t first_row, int64_t n, const uint8_t* codes, const uint8_t* goes_left,
                          uint32_t* left, uint32_t* end) noexcept nogil
        void (*quantise)(int loss, const df_boost_rows* rows, int64_t begin, int64_t end, const double* factors, bint has_hessian,
                         int32_t* quantised, df_boost_extent* extent) noexcept nogil
        void (*quantise_classes)(const df_boost_rows* rows, const double* baseline, int64_t step, int64_t n_classes,
                                 int64_t begin, int64_t end, const double* factors, int32_t* quantised,
                                 df_boost_extent* extent) noexcept nogil
    ctypedef struct df_output_squares:     # see outputs.h
        const int64_t* mean
        const double* remainder
        const double* factor
    ctypedef struct df_output_targets:
        const double* y
        double* lowest
        double* highest
        double* centre
        int32_t* exponent
        double* first
        double* second
        int64_t* mean
        const int32_t* word
        int32_t* targets
    ctypedef struct df_output_loops:
        void (*open_numbers)(const df_record* records, int64_t n, int64_t k, bint is_wide, const df_output_targets* to,
                             int64_t* total) noexcept nogil
        void (*open_classes)(const df_record* records, int64_t n, int64_t k, int64_t n_words, const df_output_targets* to,
                             int64_t* total) noexcept nogil
        void (*add)(const df_outputs* outputs, int64_t* statistic, const df_record* record) noexcept nogil
        void (*count)(const df_outputs* outputs, const df_record* records, int64_t n, const void* codes, int width,
                      int64_t n_words, int64_t* counters) noexcept nogil
        void (*pass_statistics)(int64_t* counters, int64_t n_words, int64_t* sum, int64_t* left) noexcept nogil
        int64_t (*sorted)(const df_outputs* outputs, const uint64_t* keys, int64_t n, const df_record* records, int64_t n_words,
                          int64_t* sum, int64_t* left, uint32_t* code) noexcept nogil
        void (*square_scores)(const int64_t* left, int64_t n, const int64_t* total, int64_t k, bint is_wide,
                              const df_output_squares* outputs, double* scores) noexcept nogil
        void (*gini_scores)(const int64_t* left, int64_t n, const int64_t* total, int64_t n_words, int64_t n_outputs,
                            double* whole, double* scores) noexcept nogil
    ctypedef struct df_loops:
        const char* name
        int64_t (*gini)(const uint64_t* run, int64_t n, uint64_t offset, double weight, double first,
                        double* score) noexcept nogil
        int64_t (*gini_class_counters)(const uint64_t* run, const uint64_t* more, int64_t n, const uint64_t* offset,
                                       double weight, const int64_t* draws, int n_classes, double* score) noexcept nogil
        int64_t (*square)(const uint64_t* run, int64_t n, uint64_t offset, double weight, double mean, double remainder,
                          double* score) noexcept nogil
        void (*unordered_binary)(const df_unordered* unordered, uint64_t offset, double weight, double first,
                                 df_cut* cut) noexcept nogil
        void (*unordered_sums)(const df_unordered* unordered, uint64_t offset, double weight, double mean, double remainder,
                               df_cut* cut) noexcept nogil
        void (*unordered_classes)(const df_unordered* unordered, uint64_t offset, double weight, const int64_t* draws,
                                  int n_classes, df_cut* cut) noexcept nogil
        void (*unordered_ranks)(const uint32_t* code, int n, int32_t* rank) noexcept nogil
        uint32_t (*unordered_sums_below)(const uint16_t* numbers, const uint16_t* binary_counts, uint16_t number) noexcept nogil
        bint (*gini_reach)(const uint64_t* edges, int64_t n, uint64_t offset, double weight, double first, double floor,
                           bint skips_pure, bint more, double* excess) noexcept nogil
        uint32_t (*before)(const uint64_t* occupancy, int64_t n, uint32_t* before) noexcept nogil
        void (*ranks)(const uint32_t* codes, int64_t n, const uint64_t* occupancy, const uint32_t* before, uint16_t* ranks,
                      uint32_t* code_of) noexcept nogil
        void (*rank_packed_sums)(const uint32_t* codes, const uint64_t* words, int64_t n, const uint64_t* occupancy,
                                 const uint32_t* before, uint64_t* sums, uint32_t* code_of) noexcept nogil
        void (*extent32)(const uint32_t* code, int64_t n, uint64_t missing, df_extent* extent) noexcept nogil
        void (*extent64)(const uint64_t* code, int64_t n, uint64_t missing, df_extent* extent) noexcept nogil
        uint64_t (*side32)(const uint32_t* code, const uint64_t* word, int64_t n, uint32_t last) noexcept nogil
        uint64_t (*side64)(const uint64_t* code, const uint64_t* word, int64_t n, uint64_t last) noexcept nogil
        void (*up_to)(const uint32_t* ranks, int64_t n, uint32_t last, uint64_t* bits) noexcept nogil
        int64_t (*ones)(uint32_t seed, uint64_t node, int64_t first, int64_t n) noexcept nogil
        int64_t (*below)(uint32_t seed, uint64_t node, int64_t first, int64_t n, uint32_t left, uint32_t right,
                         int64_t* n_draws) noexcept nogil
        void (*draw_block)(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t* counts) noexcept nogil
        void (*subsample_block)(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t* counts) noexcept nogil
        void (*subsampled_rows)(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t* rows) noexcept nogil
        uint32_t (*pack_classes)(const df_record* records, int64_t n, int bits, uint32_t flip, uint32_t* row, uint64_t* word,
                                 uint32_t* slot) noexcept nogil
        uint32_t (*pack_sums)(const df_record* records, int64_t n, uint32_t* row, uint64_t* word) noexcept nogil
        int64_t (*running_sums)(uint64_t* counters, int64_t n, uint64_t* run, uint32_t* codes) noexcept nogil
        int (*divide)(const df_record* records, int n, uint64_t mask, SumsKind kind, df_record* to_left, df_record* to_right,
                      uint64_t* left) noexcept nogil
        int64_t (*records)(int64_t first, int64_t n, const uint32_t* counts, const int32_t* target, const uint32_t* weight,
                           df_record* out) noexcept nogil
        void (**small_subtree)(df_small_subtree* small) noexcept nogil      # by what the words of records are, from 1
        int* unordered_records                                              # of unordered.h, by the same: most records of a node
        int* small_records                                                  # of small_subtree: most records
        void (**random_small_subtree)(df_small_subtree* small) noexcept nogil
        void (*uniforms)(uint32_t seed, const uint64_t* stream_keys, int n, double* u) noexcept nogil
        void (*quickscorer32)(bint has_missing, const df_quickscorer_tree* trees, size_t first, size_t end, size_t n_values,
                              size_t n_outputs, const uint32_t* tiles, size_t size, size_t n, double* sums) noexcept nogil
        void (*quickscorer64)(bint has_missing, const df_quickscorer_tree* trees, size_t first, size_t end, size_t n_values,
                              size_t n_outputs, const uint64_t* tiles, size_t size, size_t n, double* sums) noexcept nogil
        bint (*wrong_slots)(const df_packed* forest, size_t t, const df_limits_of_slots* limits) noexcept nogil
        void (*shapley)(int n_points, const df_shapley_tree* tree, const double* x, const double* t, const double* weight,
                        double* room, uint32_t* path, uint8_t* side, double* sums,
                        const df_shapley_interactions* interactions) noexcept nogil
        void (*shapley_tables)(const df_shapley_tree* tree, const double* factors, const double* x, size_t n, const double* z,
                               size_t n_background, size_t size, const df_shapley_tables* tables, double* sums,
                               size_t step) noexcept nogil
        const df_boost_loops* boost
        const df_output_loops* outputs

cdef const df_loops* loops         # those in use
