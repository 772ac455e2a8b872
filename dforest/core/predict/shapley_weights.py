"""Numbers that Shapley values are sums with: points of a quadrature, and weights of sets of features."""

import numpy as np


def gauss_points(n):
    """Points and weights of Gauss and Legendre's quadrature from 0 to 1, exact for polynomials of a degree below 2 n.

    Returns
    -------
    points, weights : ndarray of shape (n,), dtype float64

    Examples
    --------
    >>> points, weights = gauss_points(3)
    >>> bool(abs((weights * points**5).sum() - 1 / 6) < 1e-15)
    True
    """
    x = np.cos(np.pi * (np.arange(n) + 0.75) / (n + 0.5))
    for _ in range(100):
        before, value = np.ones(n), x.copy()            # Legendre's polynomials of the degrees n - 1 and n
        for degree in range(2, n + 1):
            before, value = value, ((2 * degree - 1) * x * value - (degree - 1) * before) / degree
        slope = n * (x * value - before) / (x * x - 1.0)
        step = value / slope
        x -= step
        if np.abs(step).max() < 1e-15:
            break
    weights = 2.0 / ((1.0 - x * x) * slope * slope)
    return 0.5 + 0.5 * x, weights / weights.sum()


def make_factors(n):
    """W(a, c) = (a - 1)! c! / (a + c)! for a from 1, and what shapley_rows.h has for a = 0 and a = -1, with c below n.

    Returns
    -------
    ndarray of shape (n + 1, n), dtype float64
        The first row is that of a = -1.
    """
    c = np.arange(n)
    factors = np.empty((n + 1, n))
    factors[1] = -np.cumsum(np.append(0.0, 1.0 / c[1:]))
    factors[0] = c * (-factors[1] - 1.0)
    factors[2] = 1.0 / (c + 1.0)
    for a in range(1, n - 1):
        factors[a + 2] = factors[a + 1] * (a / (a + c + 1.0))
    return factors
