"""The sums of oblique splits: terms, what a row's sum is, copies, means and scales of columns, and payloads; see oblique.pyx.

Training and prediction add the same terms in the same order, and get the same bits. Nothing here owns memory.
"""
from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, NAN, sqrt
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from dforest.core.types cimport Record, df_rows
from dforest.rules.random cimport df_below, df_stream, df_uniform

cdef enum:
    HEAD = 2                       # words of a payload before its terms, ...
    TERM = 3                       # ... and of a term
    LARGEST = 5                    # weight of those that are integers, and ...
    EXPONENT = 3                   # ... the largest exponent of those that are powers of two
    STEPS = 1 << 15                # of values whose mean is asked for
    ROWS = 256                     # whose sums are computed at a time: they stay in the cache from one term to the next

ctypedef fused real_t:
    float
    double

cdef struct Extremes:              # of the finite values of a column in some rows, such as those of the node at hand
    double lowest
    double highest                 # below lowest: all values are missing
    int64_t n_missing

cdef struct Spread:                # of a column of numbers in these rows
    double mean                    # of the draws that have a finite value
    double scale                   # what weights are divided by
    const double* copy             # [rows] NULL: there is none, or none any more
    bint may_miss                  # some values are missing
    bint is_known                  # in these rows

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


cdef inline bint take_values(const df_rows* X, Py_ssize_t column, const uint32_t* rows, Py_ssize_t n, double* copy,
                             Extremes* found) noexcept nogil:
    """Copy a column's values in some rows, find the extremes of the finite ones, and return whether it varies."""
    cdef Py_ssize_t i
    cdef bint varies
    if X.is_double:
        take_column(<const double*> X.x + column, X.stride // sizeof(double), rows, n, copy, found)
    else:
        take_column(<const float*> X.x + column, X.stride // sizeof(float), rows, n, copy, found)
    varies = found.lowest < found.highest or 0 < found.n_missing < n
    if found.lowest < -DBL_MAX or found.highest > DBL_MAX:
        found.lowest = INFINITY
        found.highest = -INFINITY
        for i in range(n):
            found.lowest = copy[i] if -DBL_MAX <= copy[i] < found.lowest else found.lowest
            found.highest = copy[i] if DBL_MAX >= copy[i] > found.highest else found.highest
    return varies


cdef inline void find_moments(const Record* records, Py_ssize_t n, const double* copy, const Extremes* found, bint standardizes,
                              Spread* spread) noexcept nogil:
    """Set the mean of a column, and its scale if that is the standard deviation.

    IN records : [n] how often the rows are drawn; NULL: once each; copy, found : of `take_values`
    """
    cdef double half_range = 0.5 * found.highest - 0.5 * found.lowest, mean, variance
    cdef int64_t total = 0, sum = 0, squares = 0, step, count
    cdef Py_ssize_t i
    if not half_range > 0.0:                       # there is a single finite value, or none, or values are hardly different
        spread.mean = found.lowest + 0.0 if found.lowest <= found.highest else NAN     # 0.0 for -0.0
        return
    for i in range(n):
        if -DBL_MAX <= copy[i] <= DBL_MAX:
            count = records[i].count if records != NULL else 1
            step = <int64_t> ((0.5 * copy[i] - 0.5 * found.lowest) / half_range * STEPS + 0.5)
            total += count
            sum += count * step
            squares += count * step * step
    mean = <double> sum / <double> total
    spread.mean = found.lowest * (1.0 - mean / STEPS) + found.highest * (mean / STEPS) + 0.0
    variance = <double> squares / <double> total - mean * mean
    if standardizes and 0.0 < variance and 2.0 * half_range <= DBL_MAX:
        spread.scale = 2.0 * half_range * sqrt(variance) / STEPS


cdef inline void find_spread(const Record* records, Py_ssize_t n, const double* copy, const Extremes* found, int scaling,
                             bint needs_mean, Spread* spread) noexcept nogil:
    """Set what weights of a column are divided by, and its mean, if that is needed or values are missing.

    IN scaling : place in SCALINGS; else as of `find_moments`
    """
    spread.may_miss = found.n_missing > 0
    spread.mean = NAN
    spread.scale = 1.0
    if scaling == 1 and 0.0 < found.highest - found.lowest <= DBL_MAX:
        spread.scale = found.highest - found.lowest
    if spread.may_miss or needs_mean or scaling == 2:
        find_moments(records, n, copy, found, scaling == 2, spread)


cdef inline Py_ssize_t draw_number(Py_ssize_t fewest, const double* cumulated, df_stream* stream) noexcept nogil:
    """Draw how many columns a projection has. IN fewest, cumulated : what `term_counts` says; NULL: there is nothing to draw"""
    cdef double u = df_uniform(stream)
    while cumulated != NULL and u >= cumulated[0]:
        fewest += 1
        cumulated += 1
    return max(<Py_ssize_t> 2, fewest)


cdef inline double draw_weight(int weights, df_stream* stream) noexcept nogil:
    """Draw the weight of a column before it is divided by its scale. IN weights : place in WEIGHTS"""
    cdef uint32_t drawn
    if weights == 0:
        return 1.0 - 2.0 * df_below(stream, 2)
    if weights == 1:
        return 2.0 * df_uniform(stream) - 1.0
    if weights == 2:
        drawn = df_below(stream, 2 * LARGEST)
        return 1.0 + drawn if drawn < LARGEST else -1.0 - (drawn - LARGEST)
    drawn = df_below(stream, 2 * (2 * EXPONENT + 1))
    return (1.0 - 2.0 * (drawn & 1)) * <double> (1 << (drawn >> 1)) / <double> (1 << EXPONENT)


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


cdef inline uint32_t draw_next(uint32_t* order, uint32_t* swapped, Py_ssize_t i, Py_ssize_t n, df_stream* stream) noexcept nogil:
    """Draw one of n numbers that have not been drawn yet, the i-th of them. INOUT order : [n]; OUT swapped : [n drawn]"""
    cdef Py_ssize_t other = i + df_below(stream, <uint32_t> (n - i))
    cdef uint32_t number = order[other]
    order[other] = order[i]
    order[i] = number
    swapped[i] = <uint32_t> other
    return number


cdef inline void put_back(uint32_t* order, const uint32_t* swapped, Py_ssize_t n_drawn) noexcept nogil:
    """Bring numbers of which some were drawn into the order again that they had before."""
    cdef Py_ssize_t i = n_drawn
    cdef uint32_t number
    while i > 0:
        i -= 1
        number = order[swapped[i]]
        order[swapped[i]] = order[i]
        order[i] = number


cdef inline Py_ssize_t write_sum(double threshold, bint missing_left, const Term* terms, Py_ssize_t n_terms,
                                 uint64_t* payload) noexcept nogil:
    """Write the test of a sum, or of a single column, and return how many words it has."""
    (<double*> payload)[0] = threshold
    (<double*> payload)[1] = 1.0 if missing_left else 0.0
    memcpy(payload + HEAD, terms, n_terms * sizeof(Term))
    return HEAD + TERM * n_terms


cdef inline Py_ssize_t write_subset(Py_ssize_t column, bint missing_left, const uint64_t* subset, Py_ssize_t n_words,
                                    uint64_t* payload) noexcept nogil:
    """Write the test of a categorical column, and return how many words it has."""
    (<double*> payload)[0] = NAN
    (<double*> payload)[1] = 1.0 if missing_left else 0.0
    (<double*> payload)[HEAD] = <double> column
    memcpy(payload + HEAD + 1, subset, n_words * sizeof(uint64_t))
    return HEAD + 1 + n_words
