"""The criterion of causal forests: splits tell rows apart by the effect of a treatment.

A row has M outcomes Y, K treatments W, and, if the forest is instrumental, K instruments Z; otherwise Z is W. In a node, the
effects are the K x M matrix tau that solves

    cov(Z, W) tau = cov(Z, Y)

and each draw gets M K *pseudo-outcomes* (gradients of the moment condition), the entries of

    rho = cov(Z, W)^-1 (Z - mean Z) (Y - mean Y - (W - mean W) tau)'

where, for a single treatment, the factor cov(Z, W)^-1 is left out, which changes the unit alone; those of several are multiplied
by the range of each treatment in the node, so that the units of treatments decide nothing. A cut scores what squared error
says of the pseudo-outcomes. All is computed anew in each node. Formulas: S. Athey, J. Tibshirani, S. Wager, "Generalized random
forests", Annals of Statistics 47(2), 2019, sections 2.3, 6 and 7.

`Node.y` has the *moments* of rows, from which leaves predict (`dforest.core.predict.effects` says what they are): Y, W and Z come
first, and they alone are read here. They become integers at scales of the node's own, so that their means and covariances are
exact sums, whatever the order of the records; pseudo-outcomes are floats that depend on these and on the record. What follows is
done by the criterion of several outputs, for which the pseudo-outcomes are targets.

If the criterion `stabilizes`, three more columns for each instrument are added up: its distance d from the node's mean, d * d,
and whether d is above 0. A cut is allowed if the weight of the draws above the mean, and of those that are not, is on both sides
at least `least` times the mean weight of a draw, and if the sum of squares of d around its mean on each side is at least `alpha`
times that of the node: so both sides can tell an effect.

The criterion belongs to one thread, and owns its arrays.
"""
from libc.math cimport fabs, ldexp
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc

from dforest.core.loops cimport loops
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.outputs cimport Output
from dforest.rules.node cimport df_choose_scale, df_quantised, df_quantiser_of
from dforest.rules.numerics cimport df_add_product, df_big_floor, df_big_product, df_offset_sum, df_ratio_unit, df_sum_value
from dforest.rules.outputs cimport df_square_term

from dforest.core.search.regression import SquaredError

cdef enum:
    BITS = 30                  # integers are below 2 to this power in magnitude
    CUTS = 256                 # that are scored together
    BOUNDS = 3                 # columns of an instrument that bound cuts

# A determinant, or a pivot, below this share of the product of ranges is none: grf's bound, for residuals with a range of 1.
cdef double SINGULAR = ldexp(1e-10, 2 * BITS - 2)
cdef double NEARLY = 1.0 - ldexp(1.0, -20)     # of a count: what rounding may take from it


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

    def configure(self, Py_ssize_t n_classes=0, bint wide=False):
        cdef Py_ssize_t M = self.n_outcomes, K = self.n_treatments
        if self.each != NULL:
            raise ValueError("the criterion is configured already")
        self.n_scored = M * K
        MultiOutput.__init__(self, tuple(
            SquaredError().configure(n_classes, wide) for _ in range(self.n_scored + BOUNDS * K * self.stabilizes)))
        self.is_additive = True            # nothing is asked of nodes that are no leaves
        self.n_read = M + K + K * self.is_instrumental
        self.first_instrument = self.n_read - K
        self.n_moments = self.n_read + M * K + K * K
        self.room = <double*> calloc(5 * self.n_read + K * self.n_read + 3 * self.n_outputs, sizeof(double))
        self.quantisers = <df_quantiser*> calloc(self.n_read, sizeof(df_quantiser))
        self.whole = <int64_t*> calloc(self.n_read, sizeof(int64_t))
        self.sums = <df_exact_sum*> calloc(self.n_read, sizeof(df_exact_sum))
        self.products = <df_exact_sum*> calloc(K * self.n_read, sizeof(df_exact_sum))
        self.system = <double*> calloc(K * (2 * K + M), sizeof(double))
        if (self.room == NULL or self.quantisers == NULL or self.whole == NULL or self.sums == NULL or self.products == NULL
                or self.system == NULL):
            raise MemoryError()
        self.lowest, self.highest = self.room, self.room + self.n_read
        self.mean_read, self.unit = self.room + 2 * self.n_read, self.room + 3 * self.n_read
        self.rest, self.covariance = self.room + 4 * self.n_read, self.room + 5 * self.n_read
        self.column_unit = self.covariance + K * self.n_read
        self.column_origin, self.column_total = self.column_unit + self.n_outputs, self.column_unit + 2 * self.n_outputs
        return self

    def __dealloc__(self):
        free(self.columns)
        free(self.integers)
        free(self.room)
        free(self.quantisers)
        free(self.whole)
        free(self.sums)
        free(self.products)
        free(self.system)

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
        self.read(node)
        self.add_up(node)
        if not self.solve():
            for i in range(node.n * self.n_outputs):
                self.columns[i] = 0.0
        else:
            self.relabel(node)
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
        cdef double centre
        cdef int32_t exponent
        y = node.y + <Py_ssize_t> node.records[0].row * self.n_moments
        for c in range(n):
            self.lowest[c] = self.highest[c] = y[c]
        for i in range(1, node.n):
            y = node.y + <Py_ssize_t> node.records[i].row * self.n_moments
            for c in range(n):
                self.lowest[c] = min(self.lowest[c], y[c])
                self.highest[c] = max(self.highest[c], y[c])
        for c in range(n):
            self.quantisers[c].centre, self.quantisers[c].first, self.quantisers[c].second = self.lowest[c], 0.0, 0.0
            self.unit[c] = 0.0             # all are equal, and become 0
            if self.lowest[c] != self.highest[c]:
                exponent = df_choose_scale(self.lowest[c], self.highest[c], BITS, &centre)
                self.quantisers[c] = df_quantiser_of(centre, exponent)
                self.unit[c] = ldexp(1.0, -exponent)
        for i in range(node.n):
            y = node.y + <Py_ssize_t> node.records[i].row * self.n_moments
            for c in range(n):
                self.integers[i * n + c] = df_quantised(&self.quantisers[c], y[c])

    cdef void add_up(self, const Node* node) noexcept nogil:
        """Set the means of the integers, and sums of products of instruments with all that is read, around whole means."""
        cdef Py_ssize_t i, c, k, n = self.n_read, K = self.n_treatments
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
                z = q[self.first_instrument + k] - self.whole[self.first_instrument + k]
                for c in range(n):
                    df_add_product(&self.products[k * n + c], w, z * (q[c] - self.whole[c]))
        for c in range(n):
            self.rest[c] = df_sum_value(&self.sums[c]) / <double> weight
            self.mean_read[c] = <double> self.whole[c] + self.rest[c]
        for k in range(K):
            for c in range(n):
                self.covariance[k * n + c] = (df_sum_value(&self.products[k * n + c]) / <double> weight
                                              - self.rest[self.first_instrument + k] * self.rest[c])

    cdef bint solve(self) noexcept nogil:
        """Find the effects in units of the integers, and for several treatments the inverse of their covariance with instruments.

        Returns whether there are any. Of the equations 2 a + b = 4 and 2 a - b = 0, which are the rows [2, 1, 4, 1, 0] and
        [2, -1, 0, 0, 1] of the system, [1, 0, 1, .25, .25] and [0, 1, 2, .5, -.5] are left: a = 1, b = 2.
        """
        cdef Py_ssize_t k, t, j, p, K = self.n_treatments, M = self.n_outcomes, width = 2 * K + M
        cdef double* row
        cdef double* other
        cdef double factor, swapped
        for k in range(K):
            row = self.system + k * width
            for t in range(K):
                row[t] = self.covariance[k * self.n_read + M + t]
                row[K + M + t] = 1.0 if k == t else 0.0
            for j in range(M):
                row[K + j] = self.covariance[k * self.n_read + j]
        for t in range(K):
            p = t
            for k in range(t + 1, K):
                if fabs(self.system[k * width + t]) > fabs(self.system[p * width + t]):
                    p = k
            row = self.system + t * width
            other = self.system + p * width
            if not fabs(other[t]) >= SINGULAR:
                return False
            for j in range(width):
                swapped = row[j]
                row[j] = other[j]
                other[j] = swapped
            factor = row[t]
            for j in range(width):
                row[j] /= factor
            for k in range(K):
                other = self.system + k * width
                factor = other[t]
                if k != t:
                    for j in range(width):
                        other[j] -= factor * row[j]
        return True

    cdef void relabel(self, const Node* node) noexcept nogil:
        """Set the columns of all records."""
        cdef Py_ssize_t i, j, k, t, m, K = self.n_treatments, M = self.n_outcomes, n = self.n_read, width = 2 * K + M
        cdef const int32_t* q
        cdef double* column
        cdef const double* row
        cdef double d, residual, gradient
        cdef const double* mean_of_instruments = self.mean_read + self.first_instrument
        for i in range(node.n):
            q = self.integers + i * n
            column = self.columns + i * self.n_outputs
            for m in range(M):
                residual = <double> q[m] - self.mean_read[m]
                for t in range(K):
                    residual -= (<double> q[M + t] - self.mean_read[M + t]) * self.system[t * width + K + m]
                for k in range(K):
                    row = self.system + k * width + K + M
                    if K == 1:
                        gradient = <double> q[self.first_instrument] - mean_of_instruments[0]
                        column[m] = gradient * residual * (self.unit[self.first_instrument] * self.unit[m])
                        continue
                    gradient = 0.0
                    for j in range(K):
                        gradient += row[j] * (<double> q[self.first_instrument + j] - mean_of_instruments[j])
                    column[k * M + m] = (gradient * residual * (self.unit[m] / self.unit[M + k])
                                         * (self.highest[M + k] - self.lowest[M + k]))
            for k in range(K if self.stabilizes else 0):
                d = (<double> q[self.first_instrument + k] - mean_of_instruments[k]) * self.unit[self.first_instrument + k]
                column[self.n_scored + BOUNDS * k] = d
                column[self.n_scored + BOUNDS * k + 1] = d * d
                column[self.n_scored + BOUNDS * k + 2] = 1.0 if d > 0.0 else 0.0

    cdef bint has_one_score(self, const Node* node) noexcept nogil:
        return False

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
            self.column_unit[o] = ldexp(1.0, -output.scale.exponent)
            self.column_origin[o] = output.scale.centre + ldexp(<double> self.mean[o], -output.scale.exponent)

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        cdef Py_ssize_t i, m, o, first = 0, best = -1
        cdef double scores[CUTS]
        cdef double highest = -1.0, penalty = 0.0, found
        for o in range(self.n_scored, self.n_outputs):
            self.column_total[o] = self.sum_of(o, total)
        while first < n:
            m = min(<Py_ssize_t> CUTS, n - first)
            self.score_each(left + first * self.n_words, m, total, scores)
            for i in range(m):
                found = scores[i]
                if found <= highest:
                    continue
                if self.stabilizes:
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

    cdef double sum_of(self, Py_ssize_t o, const int64_t* statistic) noexcept nogil:
        """The sum of weight times a column, over the draws of a statistic."""
        cdef Py_ssize_t first = self.each[o].first
        cdef double around
        if self.is_wide:
            around = df_offset_sum(statistic[first], statistic[first + 1], statistic[1], self.mean[o])
        else:
            around = <double> statistic[first]
        return <double> statistic[1] * self.column_origin[o] + around * self.column_unit[o]

    cdef bint is_stable(self, const int64_t* left, const int64_t* total, double* penalty) noexcept nogil:
        cdef Py_ssize_t k, o
        cdef double w = <double> total[1], w_left = <double> left[1], w_right = w - w_left, mean_weight = w / <double> total[0]
        cdef double least = <double> self.least * mean_weight * NEARLY
        cdef double above, above_left, size, size_left, size_right, d, d_left, squares, squares_left
        penalty[0] = 0.0
        for k in range(self.n_treatments):
            o = self.n_scored + BOUNDS * k
            above = self.column_total[o + 2]
            above_left = self.sum_of(o + 2, left)
            if (above_left < least or above - above_left < least or w_left - above_left < least
                    or w_right - (above - above_left) < least):
                return False
            if self.alpha == 0.0 and self.imbalance_penalty == 0.0:
                continue
            d = self.column_total[o]
            d_left = self.sum_of(o, left)
            squares = self.column_total[o + 1]
            squares_left = self.sum_of(o + 1, left)
            size = squares - d * d / w
            size_left = squares_left - d_left * d_left / w_left
            size_right = (squares - squares_left) - (d - d_left) * (d - d_left) / w_right
            if size_left < self.alpha * size or size_right < self.alpha * size:
                return False
            if self.imbalance_penalty > 0.0:
                if size_left <= 0.0 or size_right <= 0.0:
                    return False
                penalty[0] += self.imbalance_penalty * (mean_weight / size_left + mean_weight / size_right)
        if penalty[0] > 0.0:               # a score is a mean over columns, in units of weight
            penalty[0] = ldexp(penalty[0] * mean_weight / <double> self.n_outputs, -self.exponent)
        return True
