"""Numbers of many magnitudes with the same bits on every machine."""

import numpy as np


def about_ten_to(exponent):
    """Numbers up to twice as large as powers of ten: ndarray. NumPy's own powers have other last bits on other machines."""
    exponent = np.asarray(exponent)
    return np.ldexp(1.0 + exponent % 1.0, np.floor(3.3219280948 * exponent).astype(np.int32))
