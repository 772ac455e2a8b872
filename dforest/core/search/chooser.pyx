"""The best cut of a list: see chooser.pxd.

Missing values go right first, then left with every cut. As left sides of a run grow from one cut to the next, the cuts that
satisfy the leaf rules are a run among them, and the criterion picks the best of that run; if none scores above 0, the evenest
is taken (df_imbalance, numerics.h). Where features have directions, each side of a cut has to predict within the node's
bounds, and in the right order; such cuts, and single categories, are tested one by one.

A `Chooser` belongs to one thread and owns its scratch; the lists are a producer's.
"""
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.search.cut_list cimport LANES, LONE, RUN, SINGLES, add_missing, left_draws
from dforest.core.search.outputs cimport own_criterion
from dforest.core.search.scans cimport scans_of
from dforest.rules.bounds cimport df_middle_prediction
from dforest.rules.cut cimport df_is_allowed, df_is_valid, df_leads_left, df_valid_run
from dforest.rules.numerics cimport df_imbalance

cdef dict _registered = {}       # Chooser by class of criterion


def register_chooser(type criterion not None, type chooser not None):
    """Have the cuts of a class of criteria, and of classes derived from it, chosen by a chooser of its own.

    Parameters
    ----------
    criterion : type
        A class of criteria.
    chooser : type
        A class derived from `Chooser`.
    """
    _registered[criterion] = chooser


cdef chooser_class_of(Criterion criterion):
    for base in type(own_criterion(criterion)).__mro__:
        if base in _registered:
            return _registered[base]
    return Chooser


def scores_statistics(Criterion criterion not None):
    """Whether a criterion scores sides by their statistics, so that it can score tests of a splitter's own too."""
    return chooser_class_of(criterion) is Chooser


cdef Choice best_of_run(Criterion criterion, const int64_t* left, Py_ssize_t n, const int64_t* total,
                        const LeafRules* rules) noexcept nogil:
    cdef Py_ssize_t n_words = criterion.n_words
    cdef int64_t first
    cdef Py_ssize_t n_valid = df_valid_run(rules, left, n, n_words, total, &first)
    cdef Choice choice
    choice.entry = -1
    choice.score = -1.0
    choice.middle = 0.0
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


cdef class Chooser:
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
        self.is_foreign = not criterion.is_built_in
        self.is_bounded = is_bounded
        self.n_words = criterion.n_words
        self.valid = <int64_t*> malloc(n_entries * self.n_words * sizeof(int64_t))
        self.valid_at = <uint32_t*> malloc(n_entries * sizeof(uint32_t))
        self.middles = <double*> malloc(n_entries * sizeof(double))
        if self.valid == NULL or self.valid_at == NULL or self.middles == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.valid)
        free(self.valid_at)
        free(self.middles)

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
            n_left = left_draws(cuts, choice.entry, self.n_words)
        if n_missing > 0:
            add_missing(cuts, self.n_words)
            other = (self.best_packed(node, cuts, True, rules) if cuts.is_packed
                     else self.best_entry(node, column, cuts, True, rules))
            if df_leads_left(other.score, other.imbalance, other.entry, choice.score, choice.imbalance, choice.entry):
                choice = other
                missing_left = True
        if choice.entry < 0 or choice.score <= best.score:
            return -1
        best.score = choice.score
        best.middle = choice.middle
        best.code = cuts.lone if cuts.kind == LONE else cuts.code[choice.entry]
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
        if not (self.is_bounded or cuts.kind == SINGLES):
            return best_of_run(self.criterion, cuts.left, cuts.n, total, rules)
        choice.entry = -1
        choice.score = -1.0
        choice.middle = 0.0
        choice.imbalance = 0
        n_valid = self.keep_valid(node, column, cuts, rules)
        if n_valid > 0:
            choice.entry = self.criterion.ask_best_cut(self.valid, n_valid, total, &choice.score)
        if choice.entry < 0:
            choice.score = -1.0
        else:
            choice.imbalance = df_imbalance(choice.score, self.valid[choice.entry * self.n_words + 1], total[1])
            choice.middle = self.middles[choice.entry]
            choice.entry = self.valid_at[choice.entry]
        return choice

    cdef Choice best_packed(self, const Node* node, const CutList* cuts, bint missing_left,
                            const LeafRules* rules) noexcept nogil:
        """`best_entry` from words. With at least 2 draws on each side of 9, left sides of 1, 3, 6 and 8 leave 3 and 6."""
        cdef uint64_t[2] offset
        cdef int64_t least = df_least_draws(rules), total = node.statistics[0], imbalance
        cdef int64_t n_missing = cuts.missing[0] if missing_left else 0
        cdef Py_ssize_t i, first = 0, last = cuts.n
        cdef Choice choice
        choice.entry = -1
        choice.score = -1.0
        choice.middle = 0.0
        choice.imbalance = 0
        offset[0] = cuts.missing_word[0] if missing_left else 0
        offset[1] = cuts.missing_word[1] if missing_left else 0
        while first < last and left_draws(cuts, first, self.n_words) + n_missing < least:
            first += 1
        while last > first and total - left_draws(cuts, last - 1, self.n_words) - n_missing < least:
            last -= 1
        if first < last:
            if cuts.manner == LANES:
                choice.entry = self.scans.best_lanes(cuts.run + first, cuts.more + first, last - first, offset, node.statistics,
                                                     &choice.score)
            else:
                choice.entry = self.scans.best_word(cuts.run + first, last - first, offset[0], node.statistics, &choice.score)
            choice.entry += first
            if self.is_foreign and not self.criterion.can_be_used("best_lanes" if cuts.manner == LANES else "best_word",
                                                                  choice.entry - first, last - first, choice.score):
                choice.entry = -1
                choice.score = -1.0
        if choice.entry >= 0 and choice.score == 0.0:
            choice.imbalance = total + 1
            for i in range(first, last):
                imbalance = df_imbalance(0.0, left_draws(cuts, i, self.n_words) + n_missing, total)
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
                if self.is_bounded:
                    for k in range(self.n_words):
                        right[k] = total[k] - left[k]
                    at_left = self.criterion.value(node, left)
                    at_right = self.criterion.value(node, right)
                if self.is_allowed(node, column, at_left, at_right):
                    memcpy(self.valid + kept * self.n_words, left, self.n_words * sizeof(int64_t))
                    self.valid_at[kept] = <uint32_t> i
                    self.middles[kept] = df_middle_prediction(at_left, at_right)
                    kept += 1
            left += self.n_words
        return kept

    cdef bint is_allowed(self, const Node* node, const Column* column, double left, double right) noexcept nogil:
        """Whether a cut whose sides predict this may be taken: not every one may where some feature has a direction."""
        return not self.is_bounded or df_is_allowed(node.lower, node.upper, column.direction, left, right)
