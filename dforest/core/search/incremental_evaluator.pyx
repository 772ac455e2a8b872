"""The evaluator of criteria for which no statistic of a side says what a cut is worth: draws move to the left one by one.

From one cut of a run to the next, the draws of one more value move to the left. What is known of the left side is a subclass's,
which scores each cut once the draws are where they belong: medians (`dforest.core.search.absolute_error`), or how many draws are
at risk at each time (`dforest.core.search.logrank`).

A `IncrementalEvaluator` belongs to one thread and owns its scratch.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc

from dforest.core.search.split_evaluator cimport Choice
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport ONE_VS_REST, SINGLE_CUT
from dforest.core.types cimport CATEGORICAL, LeafRules, column_t, in_subset
from dforest.rules.bounds cimport df_midpoint_prediction
from dforest.rules.cut cimport df_is_allowed, df_is_valid
from dforest.rules.numerics cimport df_imbalance, df_is_better


cdef void move_all(IncrementalEvaluator evaluator, const Node* node, const column_t* codes, const Column* column,
                   const CutList* cuts, bint missing_left) noexcept nogil:
    """Move the draws on the left of the only cut of a list."""
    cdef Py_ssize_t i
    cdef uint64_t code
    for i in range(node.n):
        code = codes[node.records[i].row]
        if code == column.n_codes:
            if missing_left:
                evaluator.move(node, i, 1)
        elif in_subset(cuts.subset, <uint32_t> code) if column.kind == CATEGORICAL else code <= cuts.single_cut:
            evaluator.move(node, i, 1)


cdef class IncrementalEvaluator(SplitEvaluator):
    """Finds the best cut of a list by what moves; parameters as for `SplitEvaluator`."""

    def __cinit__(self, Criterion criterion not None, Py_ssize_t n_records, Py_ssize_t n_entries, bint is_bounded):
        self.needs_order = True
        self.start = <Py_ssize_t*> malloc((n_records + 2) * sizeof(Py_ssize_t))
        if self.start == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.start)

    cdef void clear(self, bint is_single_cut) noexcept nogil:
        pass

    cdef void move(self, const Node* node, Py_ssize_t record, int sign) noexcept nogil:
        pass

    cdef double score_sides(self, const Node* node, const int64_t* left, double* at_left, double* at_right) noexcept nogil:
        return 0.0

    cdef void move_group(self, const Node* node, const uint64_t* sorted, Py_ssize_t place, int sign) noexcept nogil:
        """`move` all records of a value, given its place among those that occur."""
        cdef Py_ssize_t i
        for i in range(self.start[place], self.start[place + 1]):
            self.move(node, <Py_ssize_t> <uint32_t> sorted[i], sign)

    cdef void move_where(self, const Node* node, const Column* column, const CutList* cuts, bint missing_left) noexcept nogil:
        if column.width == 1:
            move_all[uint8_t](self, node, <const uint8_t*> column.codes, column, cuts, missing_left)
        elif column.width == 2:
            move_all[uint16_t](self, node, <const uint16_t*> column.codes, column, cuts, missing_left)
        elif column.width == 4:
            move_all[uint32_t](self, node, <const uint32_t*> column.codes, column, cuts, missing_left)
        else:
            move_all[uint64_t](self, node, <const uint64_t*> column.codes, column, cuts, missing_left)

    cdef Choice best_entry(self, const Node* node, const Column* column, const CutList* cuts, bint missing_left,
                           const LeafRules* rules) noexcept nogil:
        cdef const int64_t* total = node.statistics
        cdef const int64_t* left = cuts.left
        cdef const uint64_t* sorted = cuts.sorted
        cdef Py_ssize_t i, j, begin = 0, end, n_values = 0
        cdef Choice choice
        cdef double score, at_left = 0.0, at_right = 0.0
        cdef int64_t imbalance
        choice.entry = -1
        choice.imbalance = 0
        choice.score = -1.0
        choice.midpoint = 0.0
        self.clear(cuts.kind == SINGLE_CUT)
        if cuts.kind == SINGLE_CUT:
            self.move_where(node, column, cuts, missing_left)
        else:
            for i in range(node.n):
                if i == 0 or sorted[i] >> 32 != sorted[i - 1] >> 32:
                    self.start[n_values] = i
                    n_values += 1
            self.start[n_values] = node.n
            if missing_left:
                self.move_group(node, sorted, n_values - 1, 1)
            n_values -= cuts.missing[0] > 0
        for i in range(cuts.n):
            if cuts.kind != SINGLE_CUT:
                if i == n_values:                      # all categories
                    for j in range(n_values):
                        self.move_group(node, sorted, j, 1)
                else:
                    end = cuts.ends[i] if cuts.ends != NULL else i + 1
                    for j in range(begin, end):
                        self.move_group(node, sorted, cuts.place[j] if cuts.place != NULL else j, 1)
                    begin = end
            if df_is_valid(rules, left, total):
                score = self.score_sides(node, left, &at_left, &at_right)
                imbalance = df_imbalance(score, left[1], total[1])
                if (df_is_better(score, imbalance, choice.score, choice.imbalance)
                        and df_is_allowed(node.lower, node.upper, column.monotonic_cst, at_left, at_right)):
                    choice.entry = i
                    choice.score = score
                    choice.imbalance = imbalance
                    choice.midpoint = df_midpoint_prediction(at_left, at_right)
            if cuts.kind == ONE_VS_REST and i < n_values:
                self.move_group(node, sorted, i, -1)
            left += self.criterion.n_words
        return choice
