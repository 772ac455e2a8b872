"""The dtypes and records of the core, each defined once.

A `Record` holds equal draws with their count, so n records stand for at least n draws. A `Column` whose values may be missing has
a code for them, its largest. A *statistic* consists of int64 words, the sums over some draws that the criterion needs:

    word 0           number of draws
    word 1           sum of their weights
    word 2, 3, ...   the criterion's own (class weights, or sums of weight times target)

Nothing here owns memory: a node's pointers lead into the data view and the grower's scratch.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from dforest.rules.numerics cimport df_midpoint
from dforest.rules.records cimport df_leaf_rules, df_open_node, df_record, df_scale

ctypedef fused code_t:
    uint8_t
    uint16_t
    uint32_t

ctypedef fused column_t:     # codes of a column, keys included
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef extern from "core/rows.h" nogil:
    ctypedef struct df_rows:   # of X, one after another: values as `fit` and `predict` take them
        const char* x
        size_t stride          # bytes from one row to the next
        int is_double          # dtype: float64 or float32

cdef inline double value_at(const df_rows* X, size_t row, Py_ssize_t feature) noexcept nogil:
    """A value of X: NaN if missing; a category's number."""
    cdef const char* x = X.x + row * X.stride
    return (<const double*> x)[feature] if X.is_double else (<const float*> x)[feature]

ctypedef df_record Record
ctypedef df_leaf_rules LeafRules
ctypedef df_scale Scale

cdef extern from "rules/records.h" nogil:
    ctypedef enum Kind "df_kind":      # of a feature
        CONTINUOUS "DF_CONTINUOUS"     # tested by x <= threshold
        ORDINAL "DF_ORDINAL"           # tested by x <= threshold, with a value that occurs as threshold
        CATEGORICAL "DF_CATEGORICAL"   # tested by membership in a set; codes are category numbers

    ctypedef enum DrawKind "df_draw_kind":     # how a draw adds to words 2, 3, ... of a statistic
        CLASS_WEIGHTS "DF_CLASS_WEIGHTS"           # word 2 + target += weight
        TARGET_SUM "DF_TARGET_SUM"                 # word 2 += weight * target
        TARGET_SUM_WIDE "DF_TARGET_SUM_WIDE"       # words 2, 3 += low 31 bits, high bits of weight * target
        OUTPUTS "DF_OUTPUTS"                       # one of these for each of several outputs: see outputs.pxd

cdef extern from "rules/criteria.h" nogil:
    # Add a record's draws to a statistic.
    void add_draws "df_add_draws" (DrawKind kind, int64_t* statistic, const Record* record)

cdef enum:
    MAX_BUCKETS = 255     # a bucket's number, and one for missing values, fit 8 bits

cdef extern from "core/column.h" nogil:
    ctypedef struct Column "df_coded_column":
        const void* codes      # n_rows codes; of a sparse column n_stored
        const uint32_t* stored  # NULL; or the column is *sparse*: these rows, ascending, have other codes than the *implied* one
        uint32_t n_stored
        uint64_t implied       # the code of all other rows
        Kind kind
        int32_t monotonic_cst  # 1 or -1: predictions may only rise or only fall with the feature; 0: either
        int32_t width          # bytes of a code: 1, 2 or 4; or 8, if these are keys
        bint has_keys          # these are keys: values, lows and highs are NULL
        uint64_t n_codes       # codes of values are 0, ..., n_codes - 1
        bint has_missing       # if so, code n_codes means missing
        const uint32_t* origins  # NULL; or these codes are ranks in a subtree, and this is the data's code of each
        const void* values     # dense: its values; hist: the bins' upper edges; categorical: 0, 1, ...
        const void* lows       # smallest value of each code
        const void* highs      # largest value of each code
        # NULL; or the bucket of each row's code, MAX_BUCKETS for missing. In a subtree cache these are copied in place of
        # the codes, which remain the data's: see Node.rows.
        const uint8_t* buckets
        uint64_t scale         # see bucket_of
        bint is_float32        # dtype of these three: float32 or float64

cdef inline uint32_t bucket_of(const Column* column, uint32_t code) noexcept nogil:
    """The number of the bucket of neighbouring codes that a value's code is in."""
    return <uint32_t> (code * column.scale >> 32)

cdef inline uint32_t last_code(const Column* column, uint32_t bucket) noexcept nogil:
    """The highest code whose bucket is not above this one."""
    return <uint32_t> (((<uint64_t> bucket + 1 << 32) + column.scale - 1) // column.scale) - 1

cdef inline uint32_t data_code(const Column* column, uint32_t code) noexcept nogil:
    """What the data have for a code of a column, which may be one of a subtree."""
    return column.origins[code] if column.origins != NULL else code

cdef inline uint32_t code_at(const Column* column, uint32_t row) noexcept nogil:
    """The code of a record in a column of its node, given Record.row; not for columns with buckets or keys."""
    cdef size_t at = row, end
    if column.stored != NULL:
        at, end = 0, column.n_stored
        while at < end:            # the first stored row that is not below this one
            if column.stored[(at + end) // 2] < row:
                at = (at + end) // 2 + 1
            else:
                end = (at + end) // 2
        if at == column.n_stored or column.stored[at] != row:
            return <uint32_t> column.implied
    if column.width == 1:
        return (<const uint8_t*> column.codes)[at]
    if column.width == 2:
        return (<const uint16_t*> column.codes)[at]
    return (<const uint32_t*> column.codes)[at]

cdef inline double number_at(const Column* column, const void* numbers, uint32_t code) noexcept nogil:
    """An entry of a column's values, lows or highs, by the data's code."""
    if column.is_float32:
        return (<const float*> numbers)[code]
    return (<const double*> numbers)[code]

cdef inline double midpoint_of(const Column* column, uint32_t below, uint32_t above) noexcept nogil:
    """A threshold between the values of two of the data's codes, below < above."""
    return df_midpoint(number_at(column, column.highs, below), number_at(column, column.lows, above), column.is_float32)

cdef extern from "core/node.h" nogil:
    ctypedef struct Node "df_node":
        df_open_node at        # where it stands, of which the names that lead into it are fields
        Py_ssize_t n "at.n"    # records, not draws
        uint64_t key "at.key"  # see node_key in random.h
        int32_t depth "at.depth"  # the root's is 0
        Scale scale "at.scale"    # regression only
        double lower "at.lower"   # bounds of predictions, where features have directions
        double upper "at.upper"
        int32_t weight_shift "at.weight_shift"  # by which the records' weights follow from `exact_weight`; 0 without
        Record* records
        Record* scratch        # NULL; or [n] memory that the search for a split may write to, on the thread whose node it is
        const Column* columns  # [n_features] codes by Record.row: of all rows, or copied for this subtree
        # Of data with sparse columns, else NULL: which of its tree's records each row is, NO_RECORD if none. Those of this node
        # are numbered from `at.first` on. Other threads may write the numbers of other nodes' records meanwhile.
        const uint32_t* record_of
        const uint32_t* rows   # NULL; or, in a subtree cache, the data's row by Record.row: for codes of columns with buckets
        # Exact targets by Record.row: of all rows, or copied for this subtree; NULL for classification. Of several outputs, a row
        # has one target after another, which are class numbers if there are classes.
        const double* y
        # Exact weights (weights.h) by Record.row, as `y`; NULL: the records' weights are exact.
        const double* exact_weight
        # NULL; or the ranks of labels in the tree's order (categories.h): [n_features], each NULL, or [n_codes + 1] with that of
        # missing values last, or such ranks for each class (df_label_orders)
        const uint32_t* const* label_ranks
        int64_t* statistics    # their sum
        int32_t fine_shift     # by which fine integers follow from `exact_weight`, once the leaf that needs them is asked for
        bint is_pure           # one class, or one target
        # Features that the splits on the path from the root to here use; none unless Splitter.needs_path_features
        const int32_t* path_features  # [n_path_features] each once, in order of first use
        Py_ssize_t n_path_features
        const uint64_t* on_path       # [n_features bits] see Splitter.is_on_path; NULL without

cdef enum:
    NO_RECORD = 0xFFFFFFFF


cdef inline uint32_t data_row(const uint32_t* rows, uint32_t row) noexcept nogil:
    """Where the data have a record's code, given Node.rows and Record.row."""
    return rows[row] if rows != NULL else row

cdef struct Split:
    Py_ssize_t feature     # -1: no valid cut
    uint64_t code          # a draw goes left if its code is at most this; not for a categorical feature
    uint32_t above         # the lowest code in the node above that; 0: not known
    bint missing_left
    bint only_missing_right  # the cut divides missing from all the rest
    double threshold       # a row goes left if x <= threshold; NaN for a categorical feature
    # `threshold` is not looked up yet: it is the middle of the two values next to the cut, of which `between` has the data's
    # codes, the lower one first. Whoever writes the tree looks up those of many nodes at a time.
    bint is_deferred
    uint32_t[2] between
    double score           # node weight times impurity decrease, or what the criterion has in its place
    double midpoint        # between the predictions of the two sides, where features have directions
    # What tells the sides apart, where the rest does not; else NULL. Categorical feature: its *subset*, the
    # categories in the node on the side opposite to missing ones, a bit each; all others go with the
    # missing. A splitter's own test: whatever its `goes_left` understands. The splitter's, until its next call.
    const uint64_t* payload
    Py_ssize_t n_payload_words

cdef inline bint in_subset(const uint64_t* subset, uint32_t code) noexcept nogil:
    return (subset[code >> 6] >> (code & 63)) & 1
