"""What nodes of numbers have from what is below them; see node_table.pyx."""
from dforest.rules.numerics cimport df_entropy_term


cdef inline double fall_of(double left, double rest, double difference, double mean, bint is_poisson) noexcept nogil:
    """How far the impurity of two parts together is above the mean of theirs.

    left, rest : their shares, which add up to 1; difference : of the second mean from the first one; mean : of both together
    """
    if not is_poisson:
        return left * rest * difference * difference
    if mean <= 0.0:                        # all targets are 0
        return 0.0
    return mean * (left * df_entropy_term(-rest * difference / mean) + rest * df_entropy_term(left * difference / mean))
