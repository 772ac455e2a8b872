"""What leaves of causal forests keep, the *moments* of rows, and the effects of treatments that follow from their means.

A row has M outcomes Y, K treatments W, and K instruments Z if the forest is instrumental; otherwise Z is W. Its moments are Y, W,
Z unless that is W, the products Z Y (K x M) and the products Z W (K x K), in this order. Given weighted means of moments, the
effects are the K x M matrix tau that solves

    (mean ZW' - mean Z mean W') tau = mean ZY' - mean Z mean Y'

that is, of a least-squares regression of Y on W, or by the instruments. Formulas: S. Athey, J. Tibshirani, S. Wager, "Generalized
random forests", Annals of Statistics 47(2), 2019, sections 2.1, 4 and 7. Only sums and products in a fixed order are used, so
that effects have the same bits everywhere.
"""

from typing import NamedTuple

import numpy as np

from dforest.core.sampling import checked_integer

NONE = 2.0**-40  # a covariance of this share of the sizes that it is the difference of is none: what rounding leaves of 0


class Moments(NamedTuple):
    """Which moments a row has.

    Attributes
    ----------
    n_outcomes, n_treatments : int
        M and K, from 1.
    is_instrumental : bool
    """

    n_outcomes: int
    n_treatments: int
    is_instrumental: bool

    def check(self):
        """Raise TypeError or ValueError if one of these is not what it must be."""
        checked_integer("n_outcomes", self.n_outcomes, 1, 2**15)
        checked_integer("n_treatments", self.n_treatments, 1, 2**15)
        if type(self.is_instrumental) is not bool:
            raise TypeError(f"is_instrumental={self.is_instrumental!r}; allowed are True and False")

    @property
    def n_read(self):
        """How many of the moments are no products."""
        return self.n_outcomes + self.n_treatments * (1 + self.is_instrumental)

    @property
    def n(self):
        """How many moments there are."""
        return self.n_read + self.n_treatments * (self.n_outcomes + self.n_treatments)

    def of(self, y, w, z=None):
        """The moments of rows.

        Parameters
        ----------
        y, w, z : ndarray of shape (n_rows, M), (n_rows, K) and (n_rows, K), dtype float64
            z is None unless the forest is instrumental.

        Returns
        -------
        ndarray of shape (n_rows, n), dtype float64
        """
        by = w if z is None else z
        with np.errstate(over="ignore"):  # for the caller to look
            products = [(by[:, :, None] * other[:, None, :]).reshape(len(by), -1) for other in (y, w)]
        return np.ascontiguousarray(np.hstack([y, w, *([] if z is None else [z]), *products]))

    def parts(self, moments):
        """Y, W, Z, ZY' and ZW' of moments in the last axis; the last two have the shape (..., K, M) and (..., K, K)."""
        M, K = self.n_outcomes, self.n_treatments
        ends = np.cumsum([M, K, K * self.is_instrumental, K * M])
        y, w, z, zy, zw = np.split(moments, ends, axis=-1)
        z = z if self.is_instrumental else w
        return y, w, z, zy.reshape(*zy.shape[:-1], K, M), zw.reshape(*zw.shape[:-1], K, K)

    def effects(self, mean):
        """The effects, given means of moments.

        Parameters
        ----------
        mean : ndarray of shape (n_rows, n), dtype float64

        Returns
        -------
        ndarray of shape (n_rows, K, M), dtype float64
            NaN where treatments, or instruments, do not vary enough to tell.
        """
        y, _, z, zy, _ = self.parts(mean)
        return self._solved(mean, zy - z[:, :, None] * y[:, None, :])

    def _solved(self, mean, b):
        """What the covariances of instruments with treatments, given means of moments, must be multiplied by to get b."""
        _, w, z, _, zw = self.parts(mean)
        product = z[:, :, None] * w[:, None, :]
        size = np.abs(zw) + np.abs(product)
        by_row = _power_of_two(size.max(axis=2))  # so that units of treatments and instruments change nothing
        by_column = _power_of_two((size * by_row[:, :, None]).max(axis=1))
        a = (zw - product) * by_row[:, :, None] * by_column[:, None, :]
        return solved(a, b * by_row[:, :, None], np.full(len(a), NONE)) * by_column[:, :, None]

    def linearised(self, mean, effects, own):
        """By how much parts of a sample move the effects, to first order: as if each part were all that a forest consists of.

        Parameters
        ----------
        mean : ndarray of shape (n_rows, n), dtype float64
        effects : ndarray of shape (n_rows, K, M), dtype float64
            As `effects` finds them.
        own : ndarray of shape (n_rows, n_parts, n), dtype float64
            The means of the moments over each part.

        Returns
        -------
        ndarray of shape (n_rows, n_parts, K, M), dtype float64
        """
        y, w, z, _, _ = (part[:, None] for part in self.parts(mean))
        own_y, own_w, own_z, own_zy, own_zw = self.parts(own)
        tau = effects[:, None]
        level = y - _times(w[..., None, :], tau)[..., 0, :]
        # The estimating equations of effects and levels, at the estimates.
        of_effects = own_zy - _times(own_zw, tau) - own_z[..., :, None] * level[..., None, :]
        of_levels = own_y - _times(own_w[..., None, :], tau)[..., 0, :] - level
        score = of_effects - z[..., :, None] * of_levels[..., None, :]
        K, (n_rows, n_parts) = self.n_treatments, score.shape[:2]
        flat = np.moveaxis(score, 1, 2).reshape(n_rows, K, n_parts * self.n_outcomes)
        return np.moveaxis(self._solved(mean, flat).reshape(n_rows, K, n_parts, self.n_outcomes), 2, 1)


def _power_of_two(size):
    """The powers of two that bring sizes to between a half and 1; of what is no such size, 1."""
    with np.errstate(invalid="ignore"):
        exponent = np.where(np.isfinite(size) & (size > 0), np.frexp(size)[1], 0)
    return np.ldexp(1.0, -exponent)


def _times(a, b):
    """Products of small matrices in the last two axes, summed in order."""
    return sum(a[..., :, j, None] * b[..., None, j, :] for j in range(a.shape[-1]))


def solved(a, b, least):
    """The x for which a x = b, for many small systems, by elimination with row pivots.

    Parameters
    ----------
    a : ndarray of shape (n, K, K), dtype float64
    b : ndarray of shape (n, K, m), dtype float64
    least : ndarray of shape (n,), dtype float64
        Pivots of at most this magnitude are taken for 0.

    Returns
    -------
    ndarray of shape (n, K, m), dtype float64
        NaN where a is singular.
    """
    K = a.shape[1]
    both = np.concatenate([a, b], axis=2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for column in range(K):
            pivot = column + np.abs(both[:, column:, column]).argmax(axis=1)
            chosen = np.take_along_axis(both, pivot[:, None, None], axis=1)[:, 0]
            both[np.arange(len(both)), pivot] = both[:, column]
            both[:, column] = chosen / np.where(np.abs(chosen[:, column]) > least, chosen[:, column], np.nan)[:, None]
            for row in range(K):
                if row != column:
                    both[:, row] -= both[:, row, column, None] * both[:, column]
    return both[:, :, K:]
