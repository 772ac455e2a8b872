"""C4.5's gain ratio, which has its own scan, and Tsallis entropy, which only defines an impurity.

Terms: the *gain* of a cut is the decrease of the node's entropy; its *split information* is the entropy of the division
into two sides, regardless of the classes. Both are stored multiplied by the node's weight, in bits.

With f(n) = n log2 n, the entropy of a set of weight n times that weight is f(n) - sum of f(n_k). Up to a weight of MOST,
f is looked up in a table of integers, multiples of 2**-BITS. Their sums don't depend on the order, and two cuts of equal
gain get the same number. Heavier nodes, of which there are few, use dforest's formula of the gain, in which nothing cancels.

The table belongs to the module and never changes; a criterion owns no memory.
"""
from numbers import Real

from libc.math cimport rint, sqrt
from libc.stdint cimport int16_t, int64_t, uint16_t, uint32_t, uint64_t

from dforest.core.component cimport CONTRACT
from dforest.core.loops cimport DF_UNORDERED, df_cut, df_unordered
from dforest.core.search.criterion cimport ClassCriterion, Criterion, Entropy
from dforest.core.search.split_evaluator cimport FastScans

from dforest.core.component import declare_contract
from dforest.core.search.split_evaluator import register_scans

cdef extern from "rules/numerics.h" nogil:
    const double DF_LOG2_E
    double df_cross(int64_t a, int64_t b, int64_t c, int64_t d)
    double df_entropy_part(double cross, double weight_left, double weight_right, double weight, double count)
    double df_log2(double x)            # libm's differs between machines

declare_contract(__name__, CONTRACT)

cdef enum:
    MOST = 1 << 14
    BITS = 30

cdef double UNIT = 2.0 ** -BITS
cdef int64_t[MOST + 1] f


cdef void fill_table() noexcept nogil:
    cdef Py_ssize_t n
    f[0] = 0
    for n in range(1, MOST + 1):
        f[n] = <int64_t> rint(<double> n * df_log2(<double> n) / UNIT)

fill_table()


cdef inline int64_t sides_of_two(int64_t a, int64_t b, int64_t first, int64_t second) noexcept nogil:
    """The entropy of the two sides, times weights. a, b: weights of the classes on the left; first, second: in the node."""
    return (f[a + b] - f[a] - f[b]) + (f[first + second - a - b] - f[first - a] - f[second - b])


cdef inline double gain_of(const int64_t* left, const int64_t* total, Py_ssize_t n_words) noexcept nogil:
    """The gain of a cut of a heavy node."""
    cdef double gain = 0.0
    cdef Py_ssize_t k
    for k in range(2, n_words):
        gain += df_entropy_part(df_cross(total[1], left[k], left[1], total[k]), <double> left[1],
                                <double> (total[1] - left[1]), <double> total[1], <double> total[k])
    return gain * DF_LOG2_E


cdef class GainRatio(Entropy):
    """Gain divided by split information, as in C4.5 from release 8 on.

    The cut of a feature is the one with the highest gain, and its score is the node's weight times

        (gain - cost) / split information

    or 0 if this is negative. With n cuts to choose from, the cost is log2(n) / draws. If cuts were chosen by the ratio
    alone, a cut that separates hardly any rows could win: its gain is small, and its split information still smaller.
    Therefore the ratio only decides between features. The cost holds back features with many cuts, the best of which may owe
    its gain to chance. (C4.5 also leaves out features whose gain is below the average. A criterion sees one feature at a
    time, so it has no such rule.)

    dforest puts a missing value on one of the sides, whichever is better; C4.5 puts fractions of it on both.

    Parameters
    ----------
    correct : bool, default=True
        Whether the cost is subtracted from the gain.

    References
    ----------
    J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, section 2.2; "Improved use of continuous attributes in
    C4.5", JAIR 4, 1996, https://doi.org/10.1613/jair.279
    """

    parameters = ("correct",)

    cdef readonly bint correct

    def __init__(self, correct=True):
        if not isinstance(correct, bool):
            raise ValueError(f"correct={correct!r}; allowed are True and False")
        self.correct = correct

    cdef inline double ratio(self, double gain, int64_t left, const int64_t* total, Py_ssize_t n) noexcept nogil:
        """The score of the best of n cuts, given its gain and the weight on its left."""
        cdef int64_t weight = total[1], right = total[1] - left
        cdef double w = <double> weight, information
        if self.correct and n > 1:
            gain -= (<double> f[n] * UNIT / <double> n if n <= MOST else df_log2(<double> n)) * (w / <double> total[0])
        if gain <= 0.0:
            return 0.0
        if weight <= MOST:
            information = <double> (f[weight] - f[left] - f[right]) * UNIT
        else:
            information = <double> left * df_log2(w / <double> left) + <double> right * df_log2(w / <double> right)
        return w * (gain / information)

    cdef inline double ratio_of_two(self, int64_t remaining, int64_t left, const int64_t* total, Py_ssize_t n) noexcept nogil:
        """`ratio` for two classes, given the entropy of the two sides, in units of the table."""
        return self.ratio(<double> (f[total[1]] - f[total[2]] - f[total[3]] - remaining) * UNIT, left, total, n)

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        cdef Py_ssize_t i, k, best = 0
        cdef const int64_t* at = left
        cdef int64_t remaining, least = 0, before
        cdef double gain, highest = -1.0
        if total[1] <= MOST:
            before = f[total[1]]
            for k in range(2, self.n_words):
                before -= f[total[k]]
            for i in range(n):
                remaining = f[at[1]] + f[total[1] - at[1]]
                for k in range(2, self.n_words):
                    remaining -= f[at[k]] + f[total[k] - at[k]]
                if i == 0 or remaining < least:
                    least = remaining
                    best = i
                at += self.n_words
            highest = <double> (before - least) * UNIT
        else:
            for i in range(n):
                gain = gain_of(at, total, self.n_words)
                if gain > highest:
                    highest = gain
                    best = i
                at += self.n_words
        score[0] = self.ratio(highest, left[best * self.n_words + 1], total, n)
        return best


cdef class GainRatioScans(FastScans):
    """`GainRatio.best_cut` from packed draws of two classes."""

    def __cinit__(self, Criterion criterion not None):
        if criterion.n_classes == 2:
            self.takes_packed_sums = True
            self.unordered = DF_UNORDERED

    cdef Py_ssize_t best_packed_sum(self, const uint64_t* run, Py_ssize_t n, uint64_t offset, const int64_t* total,
                                    double* score) noexcept nogil:
        cdef Py_ssize_t i, best = 0
        cdef uint64_t word
        cdef int64_t remaining, least = 0
        cdef int64_t[4] left
        cdef double gain, highest = -1.0
        if total[1] <= MOST:
            for i in range(n):
                word = run[i] + offset
                remaining = sides_of_two(<uint32_t> word, <int64_t> (word >> 32), total[2], total[3])
                if i == 0 or remaining < least:
                    least = remaining
                    best = i
            word = run[best] + offset
            score[0] = (<GainRatio> self.criterion).ratio_of_two(least, <int64_t> (word >> 32) + <uint32_t> word, total, n)
            return best
        for i in range(n):
            word = run[i] + offset
            left[2] = <uint32_t> word
            left[3] = <int64_t> (word >> 32)
            left[0] = left[1] = left[2] + left[3]
            gain = gain_of(left, total, 4)
            if gain > highest:
                highest = gain
                best = i
        word = run[best] + offset
        score[0] = (<GainRatio> self.criterion).ratio(highest, <int64_t> (word >> 32) + <uint32_t> word, total, n)
        return best

    cdef void best_unordered(self, const df_unordered* unordered, uint64_t offset, const int64_t* total,
                             df_cut* cut) noexcept nogil:
        """From records in any order, each with the cut after its own code."""
        cdef uint16_t[DF_UNORDERED] word
        cdef uint64_t[4] seen
        cdef uint64_t key, best = 0xFFFFFFFFFFFFFFFF, is_valid, n_cuts = 0
        cdef int64_t a, b, left, draws = total[0]
        cdef Py_ssize_t i, j
        cdef int16_t code
        cdef uint16_t binary_counts
        for i in range(unordered.n):
            word[i] = <uint16_t> offset
        for j in range(unordered.n):
            code = unordered.code[j]
            binary_counts = unordered.binary_counts[j]
            for i in range(unordered.n):
                word[i] += binary_counts if unordered.code[i] >= code else 0
        for i in range(unordered.n):
            word[i] = word[i] if unordered.code[i] < unordered.missing else 0  # no draws on the left: no cut
        seen[0] = seen[1] = seen[2] = seen[3] = 0
        for i in range(unordered.n):               # without branches: the highest code, which is no cut, may be anywhere
            a = word[i] & 255
            b = word[i] >> 8
            left = a + b
            is_valid = (left >= unordered.least) & (left <= draws - unordered.least)
            # By the entropy left (below 2**41), the code, and the record: of the best cuts the lowest.
            key = (<uint64_t> sides_of_two(a, b, total[2],
                                           total[3]) << 22) | <uint64_t> (unordered.code[i] + 32768) << 6 | <uint64_t> i
            best = min(best, key | (is_valid - 1))
            n_cuts += is_valid & ~(seen[left >> 6] >> (left & 63))     # records of one code have the same left side
            seen[left >> 6] |= <uint64_t> 1 << (left & 63)
        cut.place = 0
        cut.left = 0
        cut.score = -1.0
        if n_cuts > 0:
            cut.place = <int> (best & 63)
            cut.left = (word[cut.place] & 255) + (word[cut.place] >> 8)
            cut.score = (<GainRatio> self.criterion).ratio_of_two(<int64_t> (best >> 22), cut.left, total, <Py_ssize_t> n_cuts)


register_scans(GainRatio, GainRatioScans)


cdef class Tsallis(ClassCriterion):
    """Tsallis entropy of order q, (1 - sum of p_k**q) / (q - 1).

    With q = 2, this is Gini impurity; as q approaches 1, it becomes Shannon entropy. Small classes matter less if q is large.

    Parameters
    ----------
    q : float, default=1.5
        A multiple of 0.5 other than 1, up to 16. These powers can be computed from products and square roots, which every
        machine rounds in the same way.

    References
    ----------
    C. Tsallis, "Possible generalization of Boltzmann-Gibbs statistics", J. Stat. Phys. 52, 1988; T. Maszczyk, W. Duch,
    "Comparison of Shannon, Renyi and Tsallis entropy used in decision trees", ICAISC 2008.
    """

    parameters = ("q",)

    cdef readonly double q
    cdef int halves

    def __init__(self, q=1.5):
        if not isinstance(q, Real) or q not in [0.5 * i for i in range(1, 33) if i != 2]:
            raise ValueError(f"q={q!r}; allowed are multiples of 0.5 from 0.5 to 16, but for 1")
        self.q = q
        self.halves = int(2 * q)

    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        cdef double p, power, total = 0.0
        cdef Py_ssize_t k
        cdef int _i
        for k in range(2, self.n_words):
            p = <double> statistic[k] / <double> statistic[1]
            power = sqrt(p) if self.halves % 2 else 1.0
            for _i in range(self.halves // 2):
                power *= p
            total += power
        return (1.0 - total) / (self.q - 1.0)
