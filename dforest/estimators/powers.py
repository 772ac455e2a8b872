"""Powers of two, by which numbers are scaled exactly before they are squared: squares of targets may leave float64's range."""

import numpy as np


def next_power(numbers, axis=None):
    """The least power of two above the magnitudes of numbers, as an exponent; 0 of zeros, and if there are no numbers."""
    return np.frexp(np.abs(numbers).max(axis=axis, initial=0.0))[1]


def times_power(numbers, power):
    """Numbers times 2**power, infinite where that is beyond the range of float64."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(numbers, power)
