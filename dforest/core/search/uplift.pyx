"""The criteria of uplift forests: splits tell rows apart by how far the outcomes of arms are from those of the control.

Rows have an arm, 0 for the control, and one of two outcomes; their class is 2 * arm + outcome. With p_i the share of the second
outcome among the draws of arm i, D(p_i, p_0) a divergence, N the weight of a node, and N_i that of an arm in it, a cut into sides
L and R is worth

    N * gain / I,    gain = N_L / N mean of D(p_i, p_0) in L + N_R / N mean of D(p_i, p_0) in R - mean of D(p_i, p_0) in the node

where means are over the arms i from 1 on, and I is 1, or if the criterion `normalizes`

    I = H(N_0 / N) D(s_T, s_0) + sum over i from 0 on of N_i / N H(s_i) + 1/2

where s_i is the share of arm i that goes left, s_T that of all arms but the control, and H the entropy of a share, or for
divergences that are no entropies its Gini impurity. I is small for cuts that part all arms alike, and many rows from few.
Formulas: P. Rzepakowski, S. Jaroszewicz, "Decision trees for uplift modeling with single and multiple treatments", Knowledge and
Information Systems 32(2), 2012, with arms that are compared to the control alone (alpha = 1 there), and all alike.

Shares p_i are smoothed: as if each arm had `smoothing` more draws, of mean weight, in which outcomes are those of the node. So no
share is 0 or 1, sides with few draws are not taken at their word, and divergences are 0 where all outcomes are the same. A cut is
allowed if either side has `least` draws of each arm, counted by weight in units of the mean weight of a draw, and its gain is
above 0.

Criteria own nothing but `scratch`.
"""
from libc.stdint cimport int64_t

from dforest.core.search.criterion cimport ClassCriterion
from dforest.core.types cimport Node
from dforest.rules.numerics cimport df_log2

cdef double NEARLY = 1.0 - 2.0 ** -20          # of a count: what rounding may take from it


cdef inline int64_t weight_of(const int64_t* statistic, Py_ssize_t arm) noexcept nogil:
    return statistic[2 + 2 * arm] + statistic[3 + 2 * arm]


cdef inline int64_t second_outcomes(const int64_t* statistic, Py_ssize_t n_arms) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t found = 0
    for i in range(n_arms):
        found += statistic[3 + 2 * i]
    return found


cdef class UpliftCriterion(ClassCriterion):
    """Base class of the criteria of uplift forests.

    Parameters
    ----------
    normalize : bool, default=True
        Whether gains are divided by what makes uneven cuts costly.
    least : int, default=1
        Least number of draws of each arm on either side of a cut, from 1 on.
    smoothing : float, default=10.0
        How many draws are added to each arm, with the outcomes of the node; above 0.
    """

    parameters = ("normalize", "least", "smoothing")

    def __init__(self, normalize=True, least=1, smoothing=10.0):
        self.normalize, self.least, self.smoothing = normalize, least, smoothing

    def configure(self, Py_ssize_t n_classes=0, bint wide=False):
        if n_classes < 4 or n_classes % 2:
            raise ValueError(f"criterion={self!r} is for two outcomes of each of two arms or more; there are {n_classes} classes")
        self.n_arms = n_classes // 2
        return ClassCriterion.configure(self, n_classes, wide)

    cdef double divergence(self, double p, double q) noexcept nogil:
        return 0.0

    cdef double spread(self, double share) noexcept nogil:
        return 2.0 * share * (1.0 - share)

    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        """There is none: how far outcomes of arms are from each other in a node is worth something by that of others."""
        return 0.0

    cdef int open_node(self, Node* node) except -1 nogil:
        cdef Py_ssize_t i
        cdef int64_t second
        cdef double mean_weight
        ClassCriterion.open_node(self, node)
        mean_weight = <double> node.statistics[1] / <double> node.statistics[0]
        second = second_outcomes(node.statistics, self.n_arms)
        node.is_pure = second == 0 or second == node.statistics[1]
        for i in range(self.n_arms):           # which no cut can leave enough of on both sides
            if <double> weight_of(node.statistics, i) < 2.0 * <double> self.least * mean_weight * NEARLY:
                node.is_pure = True
        return 0

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        cdef Py_ssize_t i, best = -1
        cdef double w = <double> total[1], mean_weight = w / <double> total[0], mass = self.smoothing * mean_weight
        cdef double share = <double> second_outcomes(total, self.n_arms) / w, least = <double> self.least * mean_weight * NEARLY
        cdef double before, highest = 0.0, found
        if share == 0.0 or share == 1.0:
            return -1
        before = w * self.mean_divergence(total, share, mass)
        for i in range(n):
            if self.has_all_arms(left, total, least):
                found = self.side_divergence(left, total, share, mass) - before
                if self.normalize and 2.0 * found > highest:   # the normalizer is at least 1/2
                    found /= self.normalizer(left, total)
                if found > highest:
                    highest = found
                    best = i
            left += self.n_words
        score[0] = highest
        return best

    cdef bint has_all_arms(self, const int64_t* left, const int64_t* total, double least) noexcept nogil:
        cdef Py_ssize_t i
        cdef int64_t on_left
        for i in range(self.n_arms):
            on_left = weight_of(left, i)
            if <double> on_left < least or <double> (weight_of(total, i) - on_left) < least:
                return False
        return True

    cdef double mean_divergence(self, const int64_t* statistic, double share, double mass) noexcept nogil:
        cdef Py_ssize_t i
        cdef double q = (<double> statistic[3] + mass * share) / (<double> weight_of(statistic, 0) + mass), p, found = 0.0
        for i in range(1, self.n_arms):
            p = (<double> statistic[3 + 2 * i] + mass * share) / (<double> weight_of(statistic, i) + mass)
            found += self.divergence(p, q)
        return found / <double> (self.n_arms - 1)

    cdef double side_divergence(self, const int64_t* left, const int64_t* total, double share, double mass) noexcept nogil:
        """The sum over sides of weight times mean divergence."""
        cdef Py_ssize_t k
        cdef int64_t* right = self.scratch
        for k in range(self.n_words):
            right[k] = total[k] - left[k]
        return (<double> left[1] * self.mean_divergence(left, share, mass)
                + <double> right[1] * self.mean_divergence(right, share, mass))

    cdef double normalizer(self, const int64_t* left, const int64_t* total) noexcept nogil:
        cdef Py_ssize_t i
        cdef double w = <double> total[1], n = <double> weight_of(total, 0), own, found
        cdef double to_left = <double> weight_of(left, 0), treated_left = <double> left[1] - to_left
        found = self.spread(n / w) * self.divergence(treated_left / (w - n), to_left / n) + 0.5
        for i in range(self.n_arms):
            own = <double> weight_of(total, i)
            found += own / w * self.spread(<double> weight_of(left, i) / own)
        return found

    cdef void mean_responses(self, const int64_t* statistics, Py_ssize_t n, const int64_t* total,
                             double* responses) noexcept nogil:
        """What being treated, in any arm, adds to the share of the second outcome, smoothed by what it adds in the node."""
        cdef Py_ssize_t i
        cdef double w = <double> total[1], w_control = <double> weight_of(total, 0), second = <double> total[3]
        cdef double mass = self.smoothing * w / <double> total[0]
        cdef double of_control = second / w_control if w_control > 0.0 else 0.0, of_treated = 0.0, own, own_second, control
        if w > w_control:
            of_treated = (<double> second_outcomes(total, self.n_arms) - second) / (w - w_control)
        for i in range(n):
            control = <double> weight_of(statistics, 0)
            own = <double> statistics[1] - control
            own_second = <double> (second_outcomes(statistics, self.n_arms) - statistics[3])
            responses[i] = ((own_second + mass * of_treated) / (own + mass)
                            - (<double> statistics[3] + mass * of_control) / (control + mass))
            statistics += self.n_words


cdef class KullbackLeiblerUplift(UpliftCriterion):
    """The Kullback-Leibler divergence, in bits: p log2(p / q) + (1 - p) log2((1 - p) / (1 - q))."""

    cdef double divergence(self, double p, double q) noexcept nogil:
        return p * df_log2(p / q) + (1.0 - p) * df_log2((1.0 - p) / (1.0 - q))

    cdef double spread(self, double share) noexcept nogil:
        return -share * df_log2(share) - (1.0 - share) * df_log2(1.0 - share)


cdef class EuclideanUplift(UpliftCriterion):
    """The squared Euclidean distance: 2 (p - q)**2."""

    cdef double divergence(self, double p, double q) noexcept nogil:
        return 2.0 * (p - q) * (p - q)


cdef class ChiSquaredUplift(UpliftCriterion):
    """The chi-squared divergence: (p - q)**2 / q + (p - q)**2 / (1 - q)."""

    cdef double divergence(self, double p, double q) noexcept nogil:
        return (p - q) * (p - q) / (q * (1.0 - q))
