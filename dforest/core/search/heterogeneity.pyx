"""The criterion of causal forests: splits tell rows apart by the effect of a treatment.

In a node, the effects of treatments on outcomes are those of a least-squares regression, or by instruments. Each draw gets
*pseudo-outcomes*, gradients of the moment condition, and a cut scores what squared error says of these. All is computed anew in
each node; the rules are those of rules/effects.h, which kernels have too.

`Node.y` has the *moments* of rows, from which leaves predict (`dforest.core.effects` says what they are): outcomes, treatments
and instruments come first, and they alone are read here. What follows is done by the criterion of several outputs, for which the
columns of effects.h are targets: pseudo-outcomes, and, if the criterion `stabilizes`, what bounds cuts. A cut is allowed if the
weight of the draws with an instrument above the mean, and of those without, is on both sides at least `least` times the mean
weight of a draw, and if the sum of squares of the instrument around its mean on each side is at least `alpha` times that of the
node: so both sides can tell an effect.

The criterion belongs to one thread, and owns its arrays.
"""
from libc.math cimport ldexp
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc

from dforest.core.loops cimport loops
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.outputs cimport Output
from dforest.core.types cimport Node
from dforest.rules.effects cimport (
    DF_EFFECT_BOUNDS,
    df_effect_column,
    df_effect_columns,
    df_effect_first_instrument,
    df_effect_integer,
    df_effect_is_stable,
    df_effect_moments,
    df_effect_penalty,
    df_effect_read,
    df_effect_rules,
    df_effect_scale,
    df_effect_scored,
    df_effect_solve,
    df_effect_sum,
    df_effect_words,
)
from dforest.rules.numerics cimport df_add_product, df_big_floor, df_big_product, df_offset_sum, df_ratio_unit
from dforest.rules.outputs cimport df_square_term

from dforest.core.search.regression import SquaredError

cdef enum:
    CUTS = 256                 # that are scored together


cdef class Heterogeneity(MultiOutput):
    """The heterogeneity of treatment effects as a criterion.

    Parameters
    ----------
    n_outcomes, n_treatments : int
        From 1.
    is_instrumental : bool
        Whether there is an instrument for each treatment.
    alpha : float, default=0.05
        Least share of an instrument's sum of squares on each side of a cut.
    imbalance_penalty : float, default=0.0
        What is taken from a score for each instrument: this, times the sum over sides of 1 / sum of squares. Weights count in
        units of their mean in the node, for both.
    least : int, default=1
        Least number of draws on each side of a cut above an instrument's mean, and of others.
    stabilizes : bool, default=True
        Whether these three hold.
    """

    parameters = ("n_outcomes", "n_treatments", "is_instrumental", "alpha", "imbalance_penalty", "least", "stabilizes")

    def __init__(self, n_outcomes, n_treatments, is_instrumental=False, alpha=0.05, imbalance_penalty=0.0, least=1,
                 stabilizes=True):
        self.n_outcomes, self.n_treatments, self.is_instrumental = n_outcomes, n_treatments, is_instrumental
        self.alpha, self.imbalance_penalty, self.least, self.stabilizes = alpha, imbalance_penalty, least, stabilizes
        self.rules = df_effect_rules(self.n_outcomes, self.n_treatments, self.is_instrumental, self.stabilizes, self.least,
                                     self.alpha, self.imbalance_penalty)

    def configure(self, Py_ssize_t n_classes=0, bint wide=False):
        cdef Py_ssize_t n_bounds, K = self.rules.n_treatments
        if self.each != NULL:
            raise ValueError("the criterion is configured already")
        columns = range(df_effect_columns(&self.rules))
        MultiOutput.__init__(self, tuple(SquaredError().configure(n_classes, wide) for _ in columns))
        self.is_additive = True            # nothing is asked of nodes that are no leaves
        self.n_read, self.n_scored = df_effect_read(&self.rules), df_effect_scored(&self.rules)
        self.n_moments, n_bounds = df_effect_moments(&self.rules), self.n_outputs - self.n_scored
        self.room = <double*> calloc(df_effect_words(&self.rules) + 2 * self.n_read + 4 * n_bounds, sizeof(double))
        self.whole = <int64_t*> calloc(self.n_read, sizeof(int64_t))
        self.sums = <df_exact_sum*> calloc(self.n_read, sizeof(df_exact_sum))
        self.products = <df_exact_sum*> calloc(K * self.n_read, sizeof(df_exact_sum))
        if self.room == NULL or self.whole == NULL or self.sums == NULL or self.products == NULL:
            raise MemoryError()
        self.effects = self.room
        self.lowest = self.effects + df_effect_words(&self.rules)
        self.highest = self.lowest + self.n_read
        self.bound_unit = self.highest + self.n_read
        self.bound_origin, self.bound_total = self.bound_unit + n_bounds, self.bound_unit + 2 * n_bounds
        self.bound_left = self.bound_unit + 3 * n_bounds
        return self

    def __dealloc__(self):
        free(self.columns)
        free(self.integers)
        free(self.room)
        free(self.whole)
        free(self.sums)
        free(self.products)

    def clone(self):
        return self.__sklearn_clone__().configure(0, self.is_wide)

    cdef int attach(self, Py_ssize_t n_records) except -1:
        MultiOutput.attach(self, n_records)
        self.columns = <double*> malloc(n_records * self.n_outputs * sizeof(double))
        self.integers = <int32_t*> malloc(n_records * self.n_read * sizeof(int32_t))
        if self.columns == NULL or self.integers == NULL:
            raise MemoryError()
        return 0

    cdef int open_node(self, Node* node) except -1 nogil:
        cdef Py_ssize_t i, o
        cdef const double* y
        self.read(node)
        self.add_up(node)
        for i in range(node.n):
            y = node.y + <Py_ssize_t> node.records[i].row * self.n_moments
            for o in range(self.n_outputs):
                self.columns[i * self.n_outputs + o] = df_effect_column(&self.rules, self.effects, y, o)
        for i in range(node.n):
            self.own[i] = node.records[i]
            self.own[i].row = <uint32_t> i
        self.opening.y = self.columns
        self.outputs.targets = self.targets
        self.is_centred = not self.is_wide
        loops.outputs.open_numbers(self.own, node.n, self.n_outputs, self.is_wide, &self.opening, node.statistics)
        for o in range(self.n_scored, self.n_outputs):
            if self.opening.first[o] == 0.0:
                self.opening.centre[o] = self.columns[o]   # which all have
        self.find_scales(node)
        node.is_pure = True
        for o in range(self.n_scored):
            node.is_pure = node.is_pure and self.each[o].is_pure
        for o in range(self.n_scored, self.n_outputs):
            self.each[o].is_pure = True    # what bounds cuts has no part in scores
        for i in range(node.n):
            node.records[i].target = <int32_t> <uint32_t> i
        if not node.is_pure:
            self.requantise_weights(node)
            self.measure_bounds()
        return 0

    cdef void read(self, const Node* node) noexcept nogil:
        """Make integers of what is read, at scales of the node's own."""
        cdef Py_ssize_t i, c, n = self.n_read
        cdef const double* y
        y = node.y + <Py_ssize_t> node.records[0].row * self.n_moments
        for c in range(n):
            self.lowest[c] = self.highest[c] = y[c]
        for i in range(1, node.n):
            y = node.y + <Py_ssize_t> node.records[i].row * self.n_moments
            for c in range(n):
                self.lowest[c] = min(self.lowest[c], y[c])
                self.highest[c] = max(self.highest[c], y[c])
        for c in range(n):
            df_effect_scale(&self.rules, self.effects, c, self.lowest[c], self.highest[c])
        for i in range(node.n):
            y = node.y + <Py_ssize_t> node.records[i].row * self.n_moments
            for c in range(n):
                self.integers[i * n + c] = df_effect_integer(self.effects, c, y[c])

    cdef void add_up(self, const Node* node) noexcept nogil:
        """Find the effects: from the means of the integers, and sums of their products with instruments, around whole means."""
        cdef Py_ssize_t i, c, k, n = self.n_read, K = self.rules.n_treatments, first = df_effect_first_instrument(&self.rules)
        cdef const int32_t* q
        cdef int64_t w, z, weight = 0
        for i in range(node.n):
            weight += <int64_t> node.records[i].count * node.records[i].weight
        for c in range(n):
            self.sums[c] = df_big_product(0, 0)
        for i in range(node.n):
            q = self.integers + i * n
            w = <int64_t> node.records[i].count * node.records[i].weight
            for c in range(n):
                df_add_product(&self.sums[c], w, q[c])
        for c in range(n):
            self.whole[c] = df_big_floor(self.sums[c], weight)
            df_add_product(&self.sums[c], -self.whole[c], weight)
        for i in range(K * n):
            self.products[i] = df_big_product(0, 0)
        for i in range(node.n):
            q = self.integers + i * n
            w = <int64_t> node.records[i].count * node.records[i].weight
            for k in range(K):
                z = q[first + k] - self.whole[first + k]
                for c in range(n):
                    df_add_product(&self.products[k * n + c], w, z * (q[c] - self.whole[c]))
        df_effect_solve(&self.rules, self.effects, weight, self.whole, self.sums, self.products)

    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        return 0.0

    cdef double node_impurity(self, const Node* node) noexcept nogil:
        """There is none: what a node tells of effects is worth something by that of others."""
        return 0.0

    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil:
        """Means of the moments."""
        cdef Py_ssize_t i, c
        cdef Node part = node[0]
        part.records = self.own
        part.rows = NULL
        part.y = self.own_y
        part.exact_weight = self.own_weight if node.exact_weight != NULL else NULL
        for i in range(node.n):
            self.own[i] = node.records[i]
            self.own[i].row = <uint32_t> i
            if node.exact_weight != NULL:
                self.own_weight[i] = node.exact_weight[node.records[i].row]
        for c in range(self.n_moments):
            for i in range(node.n):
                self.own_y[i] = node.y[<Py_ssize_t> node.records[i].row * self.n_moments + c]
            (<Criterion> self.each[0].criterion).leaf_value(&part, out + c)
        return 0

    cdef int join_node(self, const Node* node, Criterion other) except -1 nogil:
        MultiOutput.join_node(self, node, other)
        self.measure_bounds()
        return 0

    cdef void measure_bounds(self) noexcept nogil:
        """Set what the sums of columns that bound cuts, of an open node, are made of."""
        cdef Py_ssize_t o
        cdef const Output* output
        for o in range(self.n_scored, self.n_outputs):
            output = &self.each[o]
            self.bound_unit[o - self.n_scored] = ldexp(1.0, -output.scale.exponent)
            self.bound_origin[o - self.n_scored] = (output.scale.centre
                                                    + ldexp(<double> self.mean[o], -output.scale.exponent))

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        cdef Py_ssize_t i, m, first = 0, best = -1
        cdef double scores[CUTS]
        cdef double highest = -1.0, penalty = 0.0, found
        self.sum_bounds(total, self.bound_total)
        while first < n:
            m = min(<Py_ssize_t> CUTS, n - first)
            self.score_each(left + first * self.n_words, m, total, scores)
            for i in range(m):
                found = scores[i]
                if found <= highest:
                    continue
                if self.rules.stabilizes:
                    if not self.is_stable(left + (first + i) * self.n_words, total, &penalty):
                        continue
                    found -= penalty
                    if found <= highest or (penalty > 0.0 and found <= 0.0):
                        continue
                highest = found
                best = first + i
            first += m
        score[0] = highest
        return best

    cdef void score_each(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* scores) noexcept nogil:
        """Scores by the pseudo-outcomes; a single one has a loop of its own, whose lanes are those of `df_score_of_lanes`."""
        cdef Py_ssize_t i, word = self.each[0].first
        cdef double w = <double> total[1], rest = self.remainder[0], factor = self.factor[0], n_columns = <double> self.n_outputs
        if self.n_scored > 1 or self.is_wide:
            MultiOutput.score_each(self, left, n, total, scores)
            return
        for i in range(n):
            scores[i] = (df_square_term(w, <double> left[word], <double> left[1], rest, factor)
                         / df_ratio_unit(left[1], total[1]) / n_columns)
            left += self.n_words

    cdef void sum_bounds(self, const int64_t* statistic, double* sums) noexcept nogil:
        """The sums of weight times the columns that bound cuts, over the draws of a statistic."""
        cdef Py_ssize_t o, first
        cdef double around
        for o in range(self.n_scored, self.n_outputs):
            first = self.each[o].first
            if self.is_wide:
                around = df_offset_sum(statistic[first], statistic[first + 1], statistic[1], self.mean[o])
            else:
                around = <double> statistic[first]
            sums[o - self.n_scored] = df_effect_sum(<double> statistic[1], around, self.bound_origin[o - self.n_scored],
                                                    self.bound_unit[o - self.n_scored])

    cdef bint is_stable(self, const int64_t* left, const int64_t* total, double* penalty) noexcept nogil:
        cdef double w = <double> total[1], n_draws = <double> total[0]
        cdef Py_ssize_t k
        self.sum_bounds(left, self.bound_left)
        penalty[0] = 0.0
        for k in range(self.rules.n_treatments):
            if not df_effect_is_stable(&self.rules, w, n_draws, <double> left[1], self.bound_total + DF_EFFECT_BOUNDS * k,
                                       self.bound_left + DF_EFFECT_BOUNDS * k, penalty):
                return False
        if penalty[0] > 0.0:
            penalty[0] = df_effect_penalty(&self.rules, penalty[0], w / n_draws, self.exponent)
        return True
