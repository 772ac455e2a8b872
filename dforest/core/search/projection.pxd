"""The sums of oblique splits: terms, what a row's sum is, and copies, means and scales of columns; see oblique.pyx.

Training and prediction add the same terms in the same order, and get the same bits. Nothing here owns memory.
"""
from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, NAN, sqrt
from libc.stdint cimport int64_t, uint32_t

from dforest.core.types cimport Node, df_rows

cdef enum:
    STEPS = 1 << 15                # of values whose mean is asked for
    ROWS = 256                     # whose sums are computed at a time: they stay in the cache from one term to the next

ctypedef fused real_t:
    float
    double

cdef struct Extremes:              # of a column in the node at hand
    double lowest
    double highest                 # below lowest: all values are missing
    int64_t n_missing

cdef struct Spread:                # of a column of numbers in the node at hand
    double mean                    # of the draws that have a finite value
    double scale                   # what weights are divided by
    const double* copy             # [records] NULL: there is none, or none any more
    bint may_miss                  # some values are missing
    bint is_known                  # in the node at hand

cdef struct Term:                  # as a payload has it
    double column
    double weight
    double if_missing


cdef inline void take_column(const real_t* x, size_t stride, const uint32_t* rows, Py_ssize_t n, double* copy,
                             Extremes* found) noexcept nogil:
    """Copy a column's values in some rows, and find their extremes. IN x : as of `add_column`"""
    cdef Py_ssize_t i
    cdef double value, lowest = INFINITY, highest = -INFINITY
    cdef int64_t n_missing = 0
    for i in range(n):
        value = x[rows[i] * stride]
        copy[i] = value
        lowest = value if value < lowest else lowest
        highest = value if value > highest else highest
        n_missing += value != value
    found.lowest = lowest
    found.highest = highest
    found.n_missing = n_missing


cdef inline void find_moments(const Node* node, const double* copy, const Extremes* found, bint standardizes,
                              Spread* spread) noexcept nogil:
    """Set the mean of a column, and its scale if that is the standard deviation. IN copy, found : of `take_column`"""
    cdef double half_range = 0.5 * found.highest - 0.5 * found.lowest, mean, variance
    cdef int64_t n = 0, sum = 0, squares = 0, step, count
    cdef Py_ssize_t i
    if not half_range > 0.0:                       # there is a single finite value, or none, or values are hardly different
        spread.mean = found.lowest + 0.0 if found.lowest <= found.highest else NAN     # 0.0 for -0.0
        return
    for i in range(node.n):
        if -DBL_MAX <= copy[i] <= DBL_MAX:
            count = node.records[i].count
            step = <int64_t> ((0.5 * copy[i] - 0.5 * found.lowest) / half_range * STEPS + 0.5)
            n += count
            sum += count * step
            squares += count * step * step
    mean = <double> sum / <double> n
    spread.mean = found.lowest * (1.0 - mean / STEPS) + found.highest * (mean / STEPS) + 0.0
    variance = <double> squares / <double> n - mean * mean
    if standardizes and 0.0 < variance and 2.0 * half_range <= DBL_MAX:
        spread.scale = 2.0 * half_range * sqrt(variance) / STEPS


cdef inline void add_column(const real_t* x, size_t stride, const uint32_t* rows, Py_ssize_t n, const Term* term,
                            double* sums) noexcept nogil:
    """Add a term to the sums of some rows. IN x : the column's value in row 0; the next row's is `stride` values further"""
    cdef Py_ssize_t i
    cdef double value
    for i in range(n):
        value = x[rows[i] * stride]
        value = value if value == value else term.if_missing
        sums[i] += term.weight * value


cdef inline void add_up(const Term* terms, Py_ssize_t n_terms, const df_rows* X, const uint32_t* rows, Py_ssize_t n,
                        double* sums) noexcept nogil:
    """The sums of some rows. Training and prediction add the same terms in the same order, and get the same bits."""
    cdef Py_ssize_t first = 0, i, k, m, column
    while first < n:
        m = min(<Py_ssize_t> ROWS, n - first)
        for i in range(m):
            sums[first + i] = 0.0
        for k in range(n_terms):
            column = <Py_ssize_t> terms[k].column
            if X.is_double:
                add_column(<const double*> X.x + column, X.stride // sizeof(double), rows + first, m, terms + k, sums + first)
            else:
                add_column(<const float*> X.x + column, X.stride // sizeof(float), rows + first, m, terms + k, sums + first)
        first += m


cdef inline void add_copy(const double* copy, Py_ssize_t n, const Term* term, bint may_miss, double* sums) noexcept nogil:
    """`add_column` for a column that was copied."""
    cdef Py_ssize_t i
    cdef double weight = term.weight, if_missing = term.if_missing
    if may_miss:
        for i in range(n):
            sums[i] += weight * (copy[i] if copy[i] == copy[i] else if_missing)
    else:
        for i in range(n):
            sums[i] += weight * copy[i]
