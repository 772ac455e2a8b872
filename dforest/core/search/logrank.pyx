"""Criteria of survival times: the log-rank test [1]_, and log-rank scores [2]_.

What a row has as its target, in `Node.y`, is its *code*: twice the number of event times, among those of all training rows, that
are not after its time, and 1 more if its time is that of an event; and 2**27 times the number of event times that are not after
its *entry*, from which on it is seen. Draws are *at risk* at the event times after their entry, up to their time [3]_. In each
node the Nelson-Aalen hazard is formed anew, and a draw's integer target becomes its *residual*: event - (hazard at its time -
hazard at its entry), a log-rank score. Residuals of the draws on a side add up to the numerator of the log-rank test.

For log-rank scores, that is all: cuts are scored by the squared error of the residuals, in units of their variance in the node.

For the log-rank test, the variance is the sum over event times t of c_t n_L(t) (n(t) - n_L(t)). With C the sum of c up to a time,
the sum of c_t n_L(t)^2 is that of C(min(t_i, t_j)) over all pairs of draws i, j on the left, as both are at risk at all times up
to the earlier of theirs. When a draw moves to the left, the pairs with it come along: two sums over the draws on the left, of
weights and of weight times C, over earlier and over later times, which a Fenwick tree gives in O(log n). That makes O(n log n)
for all cuts of a feature. A draw with an entry is one of its weight with its time, and one of minus its weight with the time of
its entry, as the sum is a quadratic form of n_L. `dforest/rules/logrank.h` has the rules.

Categories are put in the order of their mean residuals.

A leaf predicts the sum of its cumulative hazard over the event times of all training rows, by exact weights if there are any.

A criterion belongs to one thread and owns its scratch, which its evaluator reads.

References
----------
.. [1] H. Ishwaran, U. B. Kogalur, E. H. Blackstone, M. S. Lauer, "Random survival forests", The Annals of Applied Statistics
   2(3), 2008.
.. [2] T. Hothorn, B. Lausen, "On the exact distribution of maximally selected rank statistics", Computational Statistics & Data
   Analysis 43(2), 2003.
.. [3] W. Fu, J. S. Simonoff, "Survival trees for left-truncated and right-censored data, with application to time-varying
   covariate data", Biostatistics 18(2), 2017.
"""
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from dforest.core.search.criterion cimport Criterion
from dforest.core.search.incremental_evaluator cimport sort_by_key
from dforest.core.search.sums cimport NO_SUMS, Sums, SumsKind
from dforest.core.types cimport TARGET_SUM_WIDE, Record
from dforest.rules.logrank cimport (
    df_addable, df_begin_hazards, df_entry_of, df_exit_of, df_exposed, df_hazards, df_logrank_score, df_next_hazard,
    df_pairs_change, df_residual_digits, df_variance_digits, df_variance_fraction, df_variance_shift, df_variance_step,
)
from dforest.rules.node cimport df_quantised, df_quantiser, df_quantiser_of
from dforest.rules.numerics cimport (
    df_add_product, df_big_difference, df_big_product, df_big_sum, df_big_times, df_exact_sum, df_offset_sum, df_sum_value,
)

from dforest.core.search.split_evaluator import register_evaluator


cdef class SurvivalCriterion(SquaredError):
    """Base class of criteria for survival times."""

    def __cinit__(self, *args, **kwargs):
        self.is_additive = False

    def __dealloc__(self):
        self.release()

    cdef void release(self) noexcept nogil:
        free(self.sort_keys)
        free(self.sort_keys_to)
        free(self.entries)
        free(self.entries_to)
        free(self.place)
        free(self.entered)
        free(self.hazard)
        free(self.at_risk)
        free(self.steps)
        free(self.products)
        free(self.sums)
        free(self.exposed)
        free(self.entering)

    def of_times(self, n_times):
        """Set how many event times the training rows have; return this criterion."""
        self.n_times = n_times
        return self

    def clone(self):
        return Criterion.clone(self).of_times(self.n_times)

    cdef int attach(self, Py_ssize_t n_records) except -1:
        self.sort_keys = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.sort_keys_to = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.entries = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.entries_to = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.place = <uint32_t*> malloc(n_records * sizeof(uint32_t))
        self.entered = <uint32_t*> malloc(n_records * sizeof(uint32_t))
        self.hazard = <double*> malloc((n_records + 1) * sizeof(double))
        self.at_risk = <int64_t*> malloc((n_records + 1) * sizeof(int64_t))
        self.steps = <int64_t*> malloc((n_records + 1) * sizeof(int64_t))
        self.products = <df_exact_sum*> malloc((n_records + 1) * sizeof(df_exact_sum))
        self.sums = <double*> malloc((2 * n_records + 2) * sizeof(double))
        self.exposed = <df_exposed*> malloc(n_records * sizeof(df_exposed))
        self.entering = <int64_t*> malloc(n_records * sizeof(int64_t))
        if (self.sort_keys == NULL or self.sort_keys_to == NULL or self.entries == NULL or self.entries_to == NULL
            or self.place == NULL
                or self.entered == NULL or self.hazard == NULL or self.at_risk == NULL or self.steps == NULL
                or self.products == NULL or self.sums == NULL or self.exposed == NULL or self.entering == NULL):
            raise MemoryError()
        return 0

    cdef void sort_times(self, const Node* node) noexcept nogil:
        """Find the hazard, and the steps of variance, at each of the node's event times.

        Of the times 1, 2, 2+, 3 of four draws (+: no event), the hazards are 1/4, 1/4 + 1/3 and 1/4 + 1/3 + 1, and the places of
        the draws 1, 2, 2 and 3.
        """
        cdef Py_ssize_t i, j, begin = 0, m = 0, n_entries = 0, next = 0
        cdef const Record* record
        cdef const uint64_t* sort_keys
        cdef const uint64_t* entries
        cdef uint32_t time
        cdef double hazard, sum = 0.0
        cdef int64_t code, w, at_risk = 0, all_counted = 0, events, leaving, counted, counted_events, counted_leaving
        for i in range(node.n):
            record = &node.records[i]
            code = <int64_t> node.y[record.row]
            self.sort_keys[i] = (<uint64_t> df_exit_of(code) << 32) | <uint64_t> i
            self.entered[i] = 0
            if df_entry_of(code) > 0:
                self.entries[n_entries] = (<uint64_t> df_entry_of(code) << 32) | <uint64_t> i
                n_entries += 1
            at_risk += <int64_t> record.count * record.weight
        sort_keys = sort_by_key(self.sort_keys, self.sort_keys_to, node.n)
        entries = sort_by_key(self.entries, self.entries_to, n_entries)
        self.shift = df_variance_shift(at_risk)
        for i in range(node.n):
            record = &node.records[i]
            all_counted += <int64_t> record.count * record.weight >> self.shift
        counted = all_counted
        for i in range(n_entries):         # they are not there from the start
            record = &node.records[<uint32_t> entries[i]]
            w = <int64_t> record.count * record.weight
            at_risk -= w
            counted -= w >> self.shift
        self.risk = self.hazard[0] = 0.0
        self.steps[0] = 0
        self.products[0] = df_big_product(0, 0)
        while begin < node.n:
            time = <uint32_t> (sort_keys[begin] >> 33)
            while next < n_entries and <uint32_t> (entries[next] >> 32) < time:
                i = <uint32_t> entries[next]
                record = &node.records[i]
                w = <int64_t> record.count * record.weight
                at_risk += w
                counted += w >> self.shift
                self.entered[i] = <uint32_t> m
                next += 1
            events = leaving = counted_events = counted_leaving = 0
            i = begin
            while i < node.n and <uint32_t> (sort_keys[i] >> 33) == time:
                record = &node.records[<uint32_t> sort_keys[i]]
                w = <int64_t> record.count * record.weight
                leaving += w
                counted_leaving += w >> self.shift
                if sort_keys[i] >> 32 & 1:
                    events += w
                    counted_events += w >> self.shift
                i += 1
            if events > 0:
                m += 1
                hazard = <double> events / <double> at_risk
                self.hazard[m] = self.hazard[m - 1] + hazard
                self.risk += hazard * <double> (self.n_times + 1 - <int64_t> time)
                self.at_risk[m] = counted
                self.steps[m] = counted_events
                sum += df_variance_fraction(counted_events, counted)
            for j in range(begin, i):
                self.place[<uint32_t> sort_keys[j]] = <uint32_t> m
            at_risk -= leaving
            counted -= counted_leaving
            begin = i
        for i in range(next, n_entries):   # never at risk at an event time, like draws that leave before the first one
            self.entered[<uint32_t> entries[i]] = <uint32_t> m
        self.digits = df_variance_digits(all_counted, sum)
        for i in range(1, m + 1):
            w = df_variance_step(df_variance_fraction(self.steps[i], self.at_risk[i]), self.digits)
            self.steps[i] = self.steps[i - 1] + w
            self.products[i] = df_big_sum(self.products[i - 1], df_big_product(w, self.at_risk[i]))
        self.n_events = m

    cdef int open_node(self, Node* node) except -1 nogil:
        cdef Py_ssize_t i
        cdef Record* record
        cdef df_quantiser scale
        cdef double hazard
        cdef int32_t digits
        self.sort_times(node)
        digits = df_residual_digits(self.hazard[self.n_events])
        scale = df_quantiser_of(0.0, digits)
        for i in range(node.n):
            record = &node.records[i]
            hazard = self.hazard[self.place[i]] - self.hazard[self.entered[i]]
            record.target = df_quantised(&scale, <double> (<int64_t> node.y[record.row] & 1) - hazard)
        node.scale.centre = 0.0
        node.scale.exponent = digits
        node.scale.range = 0
        self.add_up(node)
        self.scale = node.scale
        node.is_pure = self.n_events == 0
        return 0

    cdef SumsKind sums_kind(self) noexcept nogil:
        return NO_SUMS

    cdef int open_summed(self, Node* node, const Sums* sums) except -1 nogil:
        return self.open_node(node)

    cdef int join_node(self, const Node* node, Criterion other) except -1 nogil:
        self.sort_times(node)
        self.scale = node.scale
        return 0

    cdef double node_impurity(self, const Node* node) noexcept nogil:
        return 0.0

    cdef int score_exponent(self, const Node* node) noexcept nogil:
        return 0

    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil:
        out[0] = self.risk if node.exact_weight == NULL else self.exact_risk(node)
        return 0

    cdef double exact_risk(self, const Node* node) noexcept nogil:
        """`risk` by the exact weights of the node, whose split is found or not wanted any more: `place` is written to."""
        cdef Py_ssize_t i, n_entries = 0
        cdef const Record* record
        cdef const uint64_t* sort_keys
        cdef const uint64_t* entries
        cdef df_hazards hazards
        cdef int64_t code, time
        cdef double hazard, risk = 0.0
        for i in range(node.n):
            code = <int64_t> node.y[node.records[i].row]
            self.sort_keys[i] = (<uint64_t> df_exit_of(code) << 32) | <uint64_t> i
            if df_entry_of(code) > 0:
                self.entries[n_entries] = (<uint64_t> df_entry_of(code) << 32) | <uint64_t> i
                n_entries += 1
        sort_keys = sort_by_key(self.sort_keys, self.sort_keys_to, node.n)
        entries = sort_by_key(self.entries, self.entries_to, n_entries)
        for i in range(node.n):
            record = &node.records[<uint32_t> sort_keys[i]]
            self.place[<uint32_t> sort_keys[i]] = <uint32_t> i
            self.exposed[i].code = <int64_t> (sort_keys[i] >> 32)
            self.exposed[i].entry = df_entry_of(<int64_t> node.y[record.row])
            self.exposed[i].weight = record.count * df_addable(node.exact_weight[record.row])
        for i in range(n_entries):
            self.entering[i] = self.place[<uint32_t> entries[i]]
        hazards.draws, hazards.entering, hazards.sums = self.exposed, self.entering, self.sums
        hazards.n, hazards.n_entering = node.n, n_entries
        df_begin_hazards(&hazards)
        hazard = df_next_hazard(&hazards, &time)
        while hazard > 0.0:
            risk += hazard * <double> (self.n_times + 1 - time)
            hazard = df_next_hazard(&hazards, &time)
        return risk


cdef class LogRank(SurvivalCriterion):
    """The log-rank test as a criterion: splits are chosen whose sides differ most in survival, by the log-rank statistic.

    It is for survival times, and ``criterion="logrank"`` stands for it. The statistic is u**2 / V, where u is the number of
    events on a side less the number that is expected there if both sides have the hazard of the node, and V is the variance of u.

    References
    ----------
    H. Ishwaran, U. B. Kogalur, E. H. Blackstone, M. S. Lauer, "Random survival forests", The Annals of Applied Statistics 2(3),
    2008.

    Examples
    --------
    >>> from dforest import SurvivalTree
    >>> from dforest.criterion import LogRank
    >>> y = [(True, 1.0), (True, 2.0), (True, 3.0), (True, 8.0), (False, 9.0), (True, 9.0)]
    >>> tree = SurvivalTree(criterion=LogRank(), max_depth=1).fit([[0], [1], [2], [3], [4], [5]], y)
    >>> tree.predict([[0], [5]]).tolist()
    [6.666666666666666, 1.1666666666666665]
    """

    cdef int open_node(self, Node* node) except -1 nogil:
        SurvivalCriterion.open_node(self, node)
        node.is_pure = self.steps[self.n_events] == 0
        return 0


cdef class LogRankScore(SurvivalCriterion):
    """Log-rank scores as a criterion: splits are chosen whose sides differ most in the mean log-rank score of their rows.

    It is for survival times, and ``criterion="logrank_score"`` stands for it. The log-rank score of a row is 1 for an event and 0
    otherwise, less the Nelson-Aalen hazard of the node at the row's time. The statistic is the square of the sum of the scores on
    a side, less what is expected of so many rows, divided by its variance if rows were dealt to the sides at random.

    References
    ----------
    T. Hothorn, B. Lausen, "On the exact distribution of maximally selected rank statistics", Computational Statistics & Data
    Analysis 43(2), 2003.

    Examples
    --------
    >>> from dforest import SurvivalTree
    >>> from dforest.criterion import LogRankScore
    >>> y = [(True, 1.0), (True, 2.0), (True, 3.0), (True, 8.0), (False, 9.0), (True, 9.0)]
    >>> tree = SurvivalTree(criterion=LogRankScore(), max_depth=1).fit([[0], [1], [2], [3], [4], [5]], y)
    >>> tree.predict([[0], [5]]).tolist()
    [6.666666666666666, 1.1666666666666665]
    """

    cdef int open_node(self, Node* node) except -1 nogil:
        cdef Py_ssize_t i
        cdef const Record* record
        cdef df_exact_sum squares = df_big_product(0, 0)
        cdef double weight, sum, spread
        SurvivalCriterion.open_node(self, node)
        for i in range(node.n):
            record = &node.records[i]
            df_add_product(&squares, <int64_t> record.target * record.target, <int64_t> record.count * record.weight)
        weight = <double> node.statistics[1]
        sum = df_offset_sum(node.statistics[2], node.statistics[3] if self.kind == TARGET_SUM_WIDE else 0, node.statistics[1], 0)
        spread = df_sum_value(&squares) - sum * (sum / weight)
        self.factor = (weight - 1.0) / spread if spread > 0.0 else 0.0
        node.is_pure = node.is_pure or self.factor == 0.0
        return 0

    cdef int join_node(self, const Node* node, Criterion other) except -1 nogil:
        self.scale = node.scale
        self.factor = (<LogRankScore> other).factor
        return 0

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        cdef Py_ssize_t best = SquaredError.best_cut(self, left, n, total, score)
        score[0] *= self.factor
        return best


cdef class LogRankEvaluator(IncrementalEvaluator):
    """Finds the best cut of a list by the log-rank test; parameters as for `SplitEvaluator`."""

    def __cinit__(self, Criterion criterion not None, Py_ssize_t n_records, Py_ssize_t n_entries, bint is_bounded):
        self.of_node = criterion
        self.left = <AtRisk*> malloc((n_records + 1) * sizeof(AtRisk))
        self.leaving = <int64_t*> malloc((n_records + 1) * sizeof(int64_t))
        if self.left == NULL or self.leaving == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.left)
        free(self.leaving)

    cdef void clear(self, bint is_single_cut) noexcept nogil:
        self.is_single_cut = is_single_cut
        if is_single_cut:
            memset(self.leaving, 0, (self.of_node.n_events + 1) * sizeof(int64_t))
            return
        self.weight = 0
        self.products = self.pairs = df_big_product(0, 0)
        memset(self.left, 0, (self.of_node.n_events + 1) * sizeof(AtRisk))

    cdef void move(self, const Node* node, Py_ssize_t record, int sign) noexcept nogil:
        cdef int64_t weight = <int64_t> node.records[record].count * node.records[record].weight >> self.of_node.shift
        self.move_to(sign * weight, self.of_node.place[record])
        if self.of_node.entered[record] > 0:
            self.move_to(-sign * weight, self.of_node.entered[record])

    cdef void move_to(self, int64_t weight, Py_ssize_t place) noexcept nogil:
        """Let so much more weight on the left be at risk up to an event time."""
        cdef Py_ssize_t at
        cdef int64_t own = self.of_node.steps[place], later = self.weight
        cdef df_exact_sum others = df_big_product(0, 0), change
        if self.is_single_cut:
            self.leaving[place] += weight
            return
        if place == 0:                     # never at risk at an event time: what is later than such draws is all
            return
        at = place
        while at > 0:
            later -= self.left[at].weight
            others = df_big_sum(others, self.left[at].sum)
            at &= at - 1
        others = df_big_sum(others, df_big_product(own, later))
        self.pairs = df_big_sum(self.pairs, df_pairs_change(weight, own, others))
        self.products = df_big_sum(self.products, df_big_times(self.of_node.products[place], weight))
        self.weight += weight
        change = df_big_product(own, weight)
        at = place
        while at <= self.of_node.n_events:
            self.left[at].weight += weight
            self.left[at].sum = df_big_sum(self.left[at].sum, change)
            at += at & -at

    cdef df_exact_sum variance(self) noexcept nogil:
        """The variance of how many events there are on the left, as an integer."""
        cdef Py_ssize_t i
        cdef int64_t n_left = 0
        cdef df_exact_sum found = df_big_product(0, 0), here
        if not self.is_single_cut:
            return df_big_difference(self.products, self.pairs)
        for i in range(self.of_node.n_events, 0, -1):
            n_left += self.leaving[i]
            here = df_big_product(n_left, self.of_node.at_risk[i] - n_left)
            found = df_big_sum(found, df_big_times(here, self.of_node.steps[i] - self.of_node.steps[i - 1]))
        return found

    cdef double score_sides(self, const Node* node, const int64_t* left, double* at_left, double* at_right) noexcept nogil:
        cdef double sum = df_offset_sum(left[2], left[3] if self.criterion.kind == TARGET_SUM_WIDE else 0, left[1], 0)
        return df_logrank_score(sum, node.scale.exponent, self.variance(), self.of_node.digits, self.of_node.shift)


register_evaluator(LogRank, LogRankEvaluator)
