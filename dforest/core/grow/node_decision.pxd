"""What becomes of a node, and checks of what classes from elsewhere answer: see node_decision.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t

from dforest.core.data cimport DataView
from dforest.core.grow.tree cimport TreeRecords
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.splitter cimport Splitter
from dforest.core.tree.writer cimport TreeWriter
from dforest.core.search.sums cimport Sums, SumsKind
from dforest.core.types cimport CATEGORICAL, Column, LeafRules, Node, Split, data_code, number_at
from dforest.rules.records cimport df_limits


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
    if split.only_missing_right or column.buckets != NULL:
        return True
    if split.threshold >= number_at(column, column.highs, data_code(column, split.code)) and (
            not split.code < split.above < n_codes
            or split.threshold < number_at(column, column.lows, data_code(column, split.above))):
        return True
    return parts_codes(node, split)


# Raise SplitterError, for a split that can't be used: its feature, score or test is wrong.
cdef int refuse_split(Splitter splitter, DataView data, const Node* node, const Split* split) except -1 nogil

# Raise SplitterError, for a side of a split that has fewer draws, or less weight, than a leaf needs.
cdef int refuse_side(Splitter splitter, const LeafRules* rules, double min_fraction, double root_weight, const Node* node,
                     bint is_right) except -1 nogil

# Raise SplitterError, for a split one of whose sides is empty.
cdef int refuse_division(Splitter splitter, const Node* node, Py_ssize_t n_left) except -1 nogil

# Raise CriterionError, for a value or an impurity that is not finite.
cdef int refuse_node_value(Criterion criterion, double found, bint is_impurity) except -1 nogil


@cython.final
cdef class NodeDecision:
    cdef DataView data
    cdef Criterion criterion
    cdef Splitter splitter
    cdef df_limits limits
    cdef Py_ssize_t first_weight, n_weights  # the words of a statistic that a leaf keeps: see Objective.weight_words
    cdef bint keeps_values         # a leaf keeps its node values, too
    cdef bint keeps_gains          # see Objective
    cdef bint bounds_fractions     # shares of two classes are kept within the bounds of leaves
    # *Node values* are what a node predicts if it is a leaf, a number for each output, and its impurity.
    cdef readonly Py_ssize_t n_node_values    # of a node
    # [n_node_values] of the node whose split was found last, unless such values follow from the leaves; if the objective
    # `keeps_gains`, its last number is the score of the split
    cdef double* inner_values
    cdef SumsKind sums_kind        # what a partition may add up for the sides to be opened
    cdef int64_t* statistics       # [words of the criterion] of the node opened last
    cdef int64_t* low              # [n_weights] scratch of `add_weights`, which leaves there what a leaf keeps
    cdef int64_t* high             # [n_weights] scratch of `add_weights`
    cdef int64_t[:, ::1] sets      # of each output's weights among those of a leaf, the first one and the one after the last
    cdef const TreeRecords* tree_records        # of the tree at hand, lent

    # Begin a tree, or a part of one.
    cdef int enter(self, const TreeRecords* tree_records) except -1 nogil

    # Look at a node's records, of which its fields records, n, columns, rows and y tell: set statistics and purity, perhaps a
    # new scale. sums: what is known of its draws, so that these need not be looked at
    cdef int open(self, Node* node, bint is_right, const Sums* sums) except -1 nogil

    # Open a node, and find the split of highest score that all limits allow. OUT split : its feature is -1 if the node is a leaf
    cdef int find_split(self, Node* node, bint is_right, const Sums* sums, Split* split) except -1 nogil

    # What the partition of a node is to add up; of one that is not open (statistics: NULL), nothing.
    cdef SumsKind sums_of_sides(self, const Node* node) noexcept nogil

    # The exponent of the unit of an open node's scores: times 2 to this power, they are in units of weight times impurity.
    cdef int32_t absolute_exponent(self, const Node* node) noexcept nogil

    # Find the values of an open node. OUT node_values : [n_node_values]
    cdef int find_node_values(self, Node* node, double* node_values) except -1 nogil

    # Note the rows of an open node, let the splitter have its way with its draws, and append it to the tree as a leaf.
    cdef int write_leaf(self, Node* node, Py_ssize_t parent, bint is_right, TreeWriter writer) except -1 nogil

    cdef int find_user_defined_split(self, const Node* node, Split* split) except -1 nogil
    cdef void requantise_weights(self, Node* node) noexcept nogil
    cdef void set_fine_shift(self, Node* node) noexcept nogil
    cdef int64_t add_weights(self, Node* node) noexcept nogil
    cdef bint breaks_rules(self, const Node* node) noexcept nogil
    cdef bint is_leaf(self, const Node* node) noexcept nogil
