"""Checks of what splitters and criteria from elsewhere answer: see split_check.pyx."""
from libc.stdint cimport int64_t, uint32_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport CATEGORICAL, Column, LeafRules, Node, Split, data_code, number_at

# Whether the threshold of a split by a code parts the values in a node as the code does: it is not below a value up to that code,
# and it is below all values of higher codes.
cdef bint parts_codes(const Node* node, const Split* split) noexcept nogil


cdef inline bint has_test(Splitter splitter, const Node* node, const Split* split) noexcept nogil:
    """Whether a split has what tells its sides apart, as far as that can be seen without a look at the draws."""
    cdef const Column* column = &node.columns[split.feature]
    cdef uint32_t n_codes = column.n_codes
    if splitter.has_own_tests:
        return split.payload != NULL and split.n_payload_words > 0
    if column.kind == CATEGORICAL:
        return split.payload != NULL and split.n_payload_words * 64 >= <Py_ssize_t> n_codes
    if split.payload != NULL or split.code >= n_codes or not split.threshold == split.threshold:
        return False
    if split.only_missing_right or column.coarse != NULL:
        return True
    if split.threshold >= number_at(column, column.highs, data_code(column, split.code)) and (
            not split.code < split.above < n_codes
            or split.threshold < number_at(column, column.lows, data_code(column, split.above))):
        return True
    return parts_codes(node, split)


# Raise SplitterError, for a split that can't be used: its feature, score or test is wrong.
cdef int refuse_split(Splitter splitter, DataView data, const Node* node, const Split* split) except -1 nogil

# Raise SplitterError, for a side of a split that has fewer draws, or less weight, than a leaf needs.
cdef int refuse_side(Splitter splitter, const LeafRules* rules, double min_fraction, int64_t root_weight, const Node* node,
                     bint is_right) except -1 nogil

# Raise SplitterError, for a split one of whose sides is empty.
cdef int refuse_division(Splitter splitter, const Node* node, Py_ssize_t n_left) except -1 nogil

# Raise CriterionError, for a value or an impurity that is not finite.
cdef int refuse_judgement(Criterion criterion, double found, bint is_impurity) except -1 nogil
