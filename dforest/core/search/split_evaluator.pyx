"""The best cut of a list, or of a small node without a list, and fast scans of the built-in criteria: see split_evaluator.pxd.

Missing values go right first, then left with every cut. As left sides of a run grow from one cut to the next, the cuts that
satisfy the leaf rules are a run among them, and the criterion picks the best of that run; if none scores above 0, the most
balanced is taken (df_imbalance, numerics.h). With a feature that has a direction, each side of a cut has to predict within the
node's bounds, and in the right order; such cuts, and single categories, are tested one by one.

A `UnorderedRecords` has up to 64 records, in no order.

A `FastScans` owns nothing; its loops are those of `dforest.core.loops`. A `SplitEvaluator` and a `UnorderedRecords`
belong to one thread each, and own their scratch; the lists are a producer's.
"""
cimport cython
from libc.stdint cimport int16_t, int32_t, uint8_t, uint16_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.loops cimport (
    DF_SMALL_BINARY, DF_SMALL_CLASSES, DF_SMALL_SUMS, DF_UNORDERED, DF_UNORDERED_CLASSES, DF_UNORDERED_DRAWS,
    DF_UNORDERED_NO_CODE, loops,
)
from dforest.core.search.cut_list cimport CLASS_COUNTERS, ONE_VS_REST, RUN, SINGLE_CUT, add_missing, left_draws
from dforest.core.search.outputs cimport single_criterion
from dforest.core.search.packed_sums cimport DF_COUNTED_CLASSES, df_pack_sum
from dforest.core.types cimport CLASS_WEIGHTS, Record, code_at
from dforest.rules.bounds cimport df_midpoint_prediction
from dforest.rules.criteria cimport df_measure_squares
from dforest.rules.cut cimport df_is_allowed, df_is_valid, df_leads_left, df_valid_run
from dforest.rules.numerics cimport df_imbalance
from dforest.rules.class_fractions cimport df_midpoint_fraction

from dforest.core.search.criterion import Gini
from dforest.core.search.regression import SquaredError


cdef dict _scans = {}          # FastScans by class of criterion


def register_scans(type criterion not None, type scans not None):
    """Register fast scans beside a criterion.

    Parameters
    ----------
    criterion : type
        A class of criteria: this one alone, and none that derives from it.
    scans : type
        A class derived from `FastScans`, made as ``scans(criterion)``.

    Raises
    ------
    TypeError
        If either is of another kind.
    """
    if not issubclass(criterion, Criterion):
        raise TypeError(f"criterion={criterion!r}; allowed are classes derived from Criterion")
    if not issubclass(scans, FastScans):
        raise TypeError(f"scans={scans!r}; allowed are classes derived from FastScans")
    _scans[criterion] = scans


def fast_scans(Criterion criterion not None):
    """The fast scans of a criterion that is configured, or None."""
    return scans_of(criterion)


cdef FastScans scans_of(Criterion criterion):
    scans = _scans.get(type(criterion))
    return scans(criterion) if scans is not None else None


cdef class FastScans:
    """Base class; see split_evaluator.pxd. One that sets none of its attributes is never asked.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    """

    def __cinit__(self, Criterion criterion not None):
        self.criterion = criterion

    cdef void open_node(self, const Node* node) noexcept nogil:
        pass

    cdef Py_ssize_t best_packed_sum(self, const uint64_t* run, Py_ssize_t n, uint64_t offset, const int64_t* total,
                                    double* score) noexcept nogil:
        return -1

    cdef Py_ssize_t best_class_counters(self, const uint64_t* run, const uint64_t* more, Py_ssize_t n, const uint64_t* offset,
                                        const int64_t* total, double* score) noexcept nogil:
        return -1

    cdef void best_unordered(self, const df_unordered* unordered, uint64_t offset, const int64_t* total,
                             df_cut* cut) noexcept nogil:
        cut.score = -1.0


cdef class GiniScans(FastScans):
    """Gini impurity: two classes by all scans but that of class counters, more by this one and among few records."""

    def __cinit__(self, Criterion criterion not None):
        cdef Py_ssize_t n_classes = criterion.n_classes
        self.takes_packed_sums = self.has_bounds = n_classes == 2
        self.takes_class_counters = 2 < n_classes <= DF_COUNTED_CLASSES
        self.small_packing = DF_SMALL_BINARY if n_classes == 2 else DF_SMALL_CLASSES if n_classes <= DF_UNORDERED_CLASSES else 0
        self.unordered = loops.unordered_records[self.small_packing]

    cdef Py_ssize_t best_packed_sum(self, const uint64_t* run, Py_ssize_t n, uint64_t offset, const int64_t* total,
                                    double* score) noexcept nogil:
        return loops.gini(run, n, offset, <double> total[1], <double> total[2], score)

    cdef Py_ssize_t best_class_counters(self, const uint64_t* run, const uint64_t* more, Py_ssize_t n, const uint64_t* offset,
                                        const int64_t* total, double* score) noexcept nogil:
        return loops.gini_class_counters(run, more, n, offset, <double> total[1], &total[2], <int> self.criterion.n_classes,
                                         score)

    cdef void best_unordered(self, const df_unordered* unordered, uint64_t offset, const int64_t* total,
                             df_cut* cut) noexcept nogil:
        if self.takes_packed_sums:
            loops.unordered_binary(unordered, offset, <double> total[1], <double> total[2], cut)
        else:
            loops.unordered_classes(unordered, offset, <double> total[1], &total[2], <int> self.criterion.n_classes, cut)


cdef class SquareScans(FastScans):
    """Squared error, where sums fit one word."""

    def __cinit__(self, Criterion criterion not None):
        self.takes_packed_sums = not criterion.is_wide
        self.small_packing = DF_SMALL_SUMS if self.takes_packed_sums else 0
        self.unordered = loops.unordered_records[self.small_packing]

    cdef void open_node(self, const Node* node) noexcept nogil:
        if self.takes_packed_sums:
            df_measure_squares(node.statistics, False, &self.measure)

    cdef Py_ssize_t best_packed_sum(self, const uint64_t* run, Py_ssize_t n, uint64_t offset, const int64_t* total,
                                    double* score) noexcept nogil:
        return loops.square(run, n, offset, <double> total[1], <double> self.measure.mean, self.measure.remainder, score)

    cdef void best_unordered(self, const df_unordered* unordered, uint64_t offset, const int64_t* total,
                             df_cut* cut) noexcept nogil:
        loops.unordered_sums(unordered, offset, <double> total[1], <double> self.measure.mean, self.measure.remainder, cut)


register_scans(Gini, GiniScans)
register_scans(SquaredError, SquareScans)


cdef dict _evaluators = {}     # SplitEvaluator by class of criterion


def register_evaluator(type criterion not None, type evaluator not None):
    """Have the cuts of a class of criteria, and of classes derived from it, chosen by an evaluator of its own.

    Parameters
    ----------
    criterion : type
        A class of criteria.
    evaluator : type
        A class derived from `SplitEvaluator`.
    """
    _evaluators[criterion] = evaluator


cdef evaluator_class_of(Criterion criterion):
    for base in type(single_criterion(criterion)).__mro__:
        if base in _evaluators:
            return _evaluators[base]
    return SplitEvaluator


def scores_statistics(Criterion criterion not None):
    """Whether a criterion scores sides by their statistics, so that it can score tests of a splitter's own too."""
    return evaluator_class_of(criterion) is SplitEvaluator


cdef Choice best_of_run(Criterion criterion, const int64_t* left, Py_ssize_t n, const int64_t* total,
                        const LeafRules* rules) noexcept nogil:
    cdef Py_ssize_t n_words = criterion.n_words
    cdef int64_t first
    cdef Py_ssize_t n_valid = df_valid_run(rules, left, n, n_words, total, &first)
    cdef Choice choice
    choice.entry = -1
    choice.score = -1.0
    choice.midpoint = 0.0
    choice.imbalance = 0
    if n_valid > 0:
        choice.entry = criterion.ask_best_cut(left + first * n_words, n_valid, total, &choice.score)
    if choice.entry < 0:
        choice.score = -1.0
    else:
        choice.entry += first
        choice.imbalance = df_imbalance(choice.score, left[choice.entry * n_words + 1], total[1])
    return choice


cdef void check_cut(Criterion criterion, const char* scan, df_cut* cut, Py_ssize_t n) noexcept nogil:
    if cut.score == -1.0 or not criterion.can_be_used(scan, cut.place, n, cut.score):
        cut.score = -1.0
        cut.place = 0


cdef class SplitEvaluator:
    """Finds the best cut of a list by statistics.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    n_records : int
        Of the largest node.
    n_entries : int
        Cuts of the longest list that has to be tested one by one.
    is_bounded : bool
        Whether some feature has a direction.
    """

    def __cinit__(self, Criterion criterion not None, Py_ssize_t n_records, Py_ssize_t n_entries, bint is_bounded):
        self.criterion = criterion
        self.scans = scans_of(criterion)
        self.is_user_defined = not criterion.is_built_in
        self.is_bounded = is_bounded
        self.valid = <int64_t*> malloc(n_entries * self.criterion.n_words * sizeof(int64_t))
        self.valid_at = <uint32_t*> malloc(n_entries * sizeof(uint32_t))
        self.midpoints = <double*> malloc(n_entries * sizeof(double))
        if self.valid == NULL or self.valid_at == NULL or self.midpoints == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.valid)
        free(self.valid_at)
        free(self.midpoints)

    cdef void open_node(self, const Node* node) noexcept nogil:
        if self.scans is not None:
            self.scans.open_node(node)

    cdef Py_ssize_t choose(self, const Node* node, const Column* column, CutList* cuts, const LeafRules* rules,
                           Split* best) noexcept nogil:
        cdef Choice choice, other
        cdef int64_t n_left = 0, total = node.statistics[0], n_missing = cuts.missing[0]
        cdef bint missing_left = False
        # Packed words directly: nodes are many, and small.
        choice = (self.best_packed(node, cuts, False, rules) if cuts.is_packed
                  else self.best_entry(node, column, cuts, False, rules))
        if choice.entry >= 0:
            n_left = left_draws(cuts, choice.entry, self.criterion.n_words)
        if n_missing > 0:
            add_missing(cuts, self.criterion.n_words)
            other = (self.best_packed(node, cuts, True, rules) if cuts.is_packed
                     else self.best_entry(node, column, cuts, True, rules))
            if df_leads_left(other.score, other.imbalance, other.entry, choice.score, choice.imbalance, choice.entry):
                choice = other
                missing_left = True
        if choice.entry < 0 or choice.score <= best.score:
            return -1
        best.score = choice.score
        best.midpoint = choice.midpoint
        best.code = cuts.single_cut if cuts.kind == SINGLE_CUT else cuts.code[choice.entry]
        best.above = cuts.code[choice.entry + 1] if cuts.kind == RUN and choice.entry + 1 < cuts.n else 0
        best.only_missing_right = df_only_missing_right(n_left, n_missing, missing_left, total)
        best.missing_left = df_missing_goes_left(n_left, n_missing, missing_left, total)
        best.payload = NULL
        return choice.entry

    cdef Choice best_entry(self, const Node* node, const Column* column, const CutList* cuts, bint missing_left,
                           const LeafRules* rules) noexcept nogil:
        cdef const int64_t* total = node.statistics
        cdef Py_ssize_t n_valid
        cdef Choice choice
        if column.monotonic_cst == 0 and cuts.kind != ONE_VS_REST:
            return best_of_run(self.criterion, cuts.left, cuts.n, total, rules)
        choice.entry = -1
        choice.score = -1.0
        choice.midpoint = 0.0
        choice.imbalance = 0
        n_valid = self.keep_valid(node, column, cuts, rules)
        if n_valid > 0:
            choice.entry = self.criterion.ask_best_cut(self.valid, n_valid, total, &choice.score)
        if choice.entry < 0:
            choice.score = -1.0
        else:
            choice.imbalance = df_imbalance(choice.score, self.valid[choice.entry * self.criterion.n_words + 1], total[1])
            choice.midpoint = self.midpoints[choice.entry]
            choice.entry = self.valid_at[choice.entry]
        return choice

    cdef Choice best_packed(self, const Node* node, const CutList* cuts, bint missing_left,
                            const LeafRules* rules) noexcept nogil:
        """`best_entry` from words. With at least 2 draws on each side of 9, left sides of 1, 3, 6 and 8 leave 3 and 6."""
        cdef uint64_t[2] offset
        cdef int64_t least = df_min_draws(rules), total = node.statistics[0], imbalance
        cdef int64_t n_missing = cuts.missing[0] if missing_left else 0
        cdef Py_ssize_t i, first = 0, last = cuts.n
        cdef Choice choice
        choice.entry = -1
        choice.score = -1.0
        choice.midpoint = 0.0
        choice.imbalance = 0
        offset[0] = cuts.missing_sum[0] if missing_left else 0
        offset[1] = cuts.missing_sum[1] if missing_left else 0
        while first < last and left_draws(cuts, first, self.criterion.n_words) + n_missing < least:
            first += 1
        while last > first and total - left_draws(cuts, last - 1, self.criterion.n_words) - n_missing < least:
            last -= 1
        if first < last:
            if cuts.accumulator == CLASS_COUNTERS:
                choice.entry = self.scans.best_class_counters(cuts.run + first, cuts.more + first, last - first, offset,
                                                              node.statistics, &choice.score)
            else:
                choice.entry = self.scans.best_packed_sum(cuts.run + first, last - first, offset[0], node.statistics,
                                                          &choice.score)
            choice.entry += first
            if self.is_user_defined and not self.criterion.can_be_used(
                    "best_class_counters" if cuts.accumulator == CLASS_COUNTERS else "best_packed_sum",
                    choice.entry - first, last - first, choice.score):
                choice.entry = -1
                choice.score = -1.0
        if choice.entry >= 0 and choice.score == 0.0:
            choice.imbalance = total + 1
            for i in range(first, last):
                imbalance = df_imbalance(0.0, left_draws(cuts, i, self.criterion.n_words) + n_missing, total)
                if imbalance < choice.imbalance:
                    choice.imbalance = imbalance
                    choice.entry = i
        return choice

    cdef Py_ssize_t keep_valid(self, const Node* node, const Column* column, const CutList* cuts,
                               const LeafRules* rules) noexcept nogil:
        """Copy the cuts that are valid and allowed to `valid`; return how many they are."""
        cdef const int64_t* total = node.statistics
        cdef const int64_t* left = cuts.left
        cdef int64_t* right = self.criterion.scratch
        cdef Py_ssize_t i, k, kept = 0
        cdef double at_left, at_right
        for i in range(cuts.n):
            if df_is_valid(rules, left, total):
                at_left = at_right = 0.0
                if column.monotonic_cst != 0:
                    for k in range(self.criterion.n_words):
                        right[k] = total[k] - left[k]
                    at_left = self.criterion.value(node, left)
                    at_right = self.criterion.value(node, right)
                if df_is_allowed(node.lower, node.upper, column.monotonic_cst, at_left, at_right):
                    memcpy(self.valid + kept * self.criterion.n_words, left, self.criterion.n_words * sizeof(int64_t))
                    self.valid_at[kept] = <uint32_t> i
                    self.midpoints[kept] = (df_midpoint_fraction(at_left, at_right) if self.criterion.kind == CLASS_WEIGHTS
                                            else df_midpoint_prediction(at_left, at_right))
                    kept += 1
            left += self.criterion.n_words
        return kept


@cython.final
cdef class UnorderedRecords:
    """Finds the best cut among few records.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    scans : FastScans or None
    is_unit : bool
        Whether all weights are 1.
    tuning : dict
        ``unordered_below``: nodes of fewer records are scanned here, if the scans take as many.
    """

    def __cinit__(self, Criterion criterion not None, FastScans scans, bint is_unit, dict tuning not None):
        self.criterion = criterion
        self.scans = scans
        self.is_user_defined = not criterion.is_built_in
        self.is_binary = criterion.n_classes == 2
        if is_unit and scans is not None:
            self.below = min(scans.unordered + 1, tuning.get("unordered_below", DF_UNORDERED + 1))

    cdef void open_node(self, const Node* node) noexcept nogil:
        """Take a node, if it has few records."""
        cdef Py_ssize_t i
        cdef const Record* records = node.records
        self.is_open = node.n < self.below and node.statistics[0] <= DF_UNORDERED_DRAWS
        if not self.is_open:
            return
        self.unordered.n = <int> node.n
        for i in range(node.n, <Py_ssize_t> DF_UNORDERED):
            self.unordered.code[i] = DF_UNORDERED_NO_CODE
        if self.is_binary:
            for i in range(node.n):
                self.unordered.binary_counts[i] = <uint16_t> (records[i].count << (8 * records[i].target))
        elif self.criterion.kind == CLASS_WEIGHTS:
            for i in range(node.n):
                self.unordered.word[i] = <uint64_t> records[i].count << (8 * records[i].target)
        else:
            for i in range(node.n):
                self.unordered.word[i] = df_pack_sum(records[i].count, records[i].target)

    cdef bint gather(self, const Node* node, const Column* column, uint64_t* missing) noexcept nogil:
        """Have the codes of a column, or their ranks; return whether all are equal. OUT missing : word of missing draws

        Codes 7, 300 and 7 become the ranks 0, 2 and 0, how many are below each, if 300 means missing or needs 32 bits.
        """
        cdef uint32_t codes[DF_UNORDERED]
        cdef int32_t ranks[DF_UNORDERED]
        cdef Py_ssize_t i
        cdef uint32_t first, differing = 0, highest = 0xFFFFFFFF
        missing[0] = 0
        self.unordered.missing = DF_UNORDERED_NO_CODE
        self.unordered.n_missing = 0
        if column.width == 1:
            for i in range(node.n):
                codes[i] = (<const uint8_t*> column.codes)[node.records[i].row]
        elif column.width == 2:
            for i in range(node.n):
                codes[i] = (<const uint16_t*> column.codes)[node.records[i].row]
        else:
            for i in range(node.n):
                codes[i] = (<const uint32_t*> column.codes)[node.records[i].row]
        first = codes[0]
        for i in range(node.n):
            differing |= codes[i] ^ first
        if differing == 0:
            return True
        if column.has_missing:
            for i in range(node.n):
                if codes[i] == column.n_codes:
                    missing[0] += self.unordered.binary_counts[i] if self.is_binary else self.unordered.word[i]
                    self.unordered.n_missing += <int> node.records[i].count
                    codes[i] = highest
        if column.width < 4 and not column.has_missing:
            for i in range(node.n):        # the sign's bit turned: they order like unsigned numbers
                self.unordered.code[i] = <int16_t> (codes[i] ^ 0x8000)
            return False
        loops.unordered_ranks(codes, <int> node.n, ranks)
        for i in range(node.n):
            self.unordered.code[i] = <int16_t> ranks[i]
            if column.has_missing and codes[i] == highest:
                self.unordered.missing = <int16_t> ranks[i]
        return False

    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """Replace `best` if a cut of this column has a higher score; return whether it is constant."""
        cdef df_unordered* unordered = &self.unordered
        cdef uint64_t missing
        cdef df_cut cut, other
        cdef bint missing_left = False
        if self.gather(node, column, &missing):
            return True
        unordered.least = <int> min(<int64_t> (DF_UNORDERED_DRAWS + 1), df_min_draws(rules))
        self.scans.best_unordered(unordered, 0, node.statistics, &cut)
        if self.is_user_defined:
            check_cut(self.criterion, "best_unordered", &cut, node.n)
        if unordered.n_missing > 0:
            self.scans.best_unordered(unordered, missing, node.statistics, &other)
            if self.is_user_defined:
                check_cut(self.criterion, "best_unordered", &other, node.n)
            if df_leads_left(other.score, 0, unordered.code[other.place], cut.score, 0, unordered.code[cut.place]):
                cut = other
                missing_left = True
        self.score = cut.score
        take_cut(best, cut.score, cut.left, code_at(column, node.records[cut.place].row), 0, missing_left, unordered.n_missing,
                 node.statistics[0])
        return False
