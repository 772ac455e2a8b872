"""Weights of rows as integers, which trees add up in place of the weights: sums of integers don't depend on an order.

Where weights are small multiples of one number, as equal weights are, this number is the unit, so that the trees are those of the
multiples. Otherwise the unit is a power of two. If the integers are rounded, trees look at the exact weights (`rules/weights.h`),
too. Ranks with rows of their own agree on one unit, which follows from the weights of all of them.
"""

from typing import NamedTuple

import numpy as np

_DIVISORS = 16  # the lightest row has a multiple up to this
_MAX_TIMES = 2**20  # and the heaviest one up to this
_BITS = 31  # of integers whose unit is a power of two, at most
_HEAVIEST = 1022  # DF_HEAVIEST
_SUM_BITS = 62  # of the sum of fine integers
_SAMPLE, _BLOCK = 64, 2**15  # rows that are looked at together


class IntegerWeights(NamedTuple):
    """Weights as integers.

    Attributes
    ----------
    integers : ndarray of shape (n,), dtype uint32, or None
        From 1 on; None: all are 1.
    unit : float
        The weights are ``integers * unit``, rounded.
    exact : ndarray of shape (n,), dtype float64, or None
        If integers were rounded, the weights times the power of two that puts the heaviest one into [2**1022, 2**1023).
    """

    integers: np.ndarray | None
    unit: float = 1.0
    exact: np.ndarray | None = None

    @property
    def in_units(self):
        """The weights divided by their unit: `integers`, or as float64 if these were rounded."""
        return self.integers if self.exact is None else np.ldexp(self.exact, _BITS - 1 - _HEAVIEST)

    def as_counts(self, n_rows):
        """These weights in units of 1, if all are whole numbers: as if rows were there several times. Others stay as they are.

        Where their sum would be 2**31 or more, the unit is the least one that leaves it below, and is up to the unit before.
        """
        if not self.unit.is_integer() or self.unit == 1.0 or self.exact is not None:
            return self
        integers = np.ones(n_rows, np.uint32) if self.integers is None else self.integers
        times = int(max(1, min(self.unit, (2**_BITS - 1) // integers.sum(dtype=np.int64))))
        return IntegerWeights(integers * np.uint32(times), self.unit / times)

    def fine(self, n_draws, max_bits=_SUM_BITS):
        """Integers of `max_bits` bits at most, of which `n_draws` add up to less than 2**63; None if all are 1.

        Returns
        -------
        ndarray of shape (n,), dtype int64
            From 1 on.
        """
        if self.exact is None:
            return None if self.integers is None else self.integers.astype(np.int64)
        bits = min(max_bits, _SUM_BITS - int(n_draws).bit_length())
        return np.maximum(1, np.rint(np.ldexp(self.exact, bits - _HEAVIEST - 1))).astype(np.int64)


def integer_weights(weight, ranks=None):
    """Turn weights into integers below 2**31, exactly where that is possible. A collective of `ranks`.

    Parameters
    ----------
    weight : ndarray of shape (n,), dtype float64
        Positive and finite.
    ranks : Communicator, optional
        Who else has weights, which are to have the same unit. None: nobody.

    Returns
    -------
    IntegerWeights
        The weights are ``integers * unit``. If some number times integers up to 2**20 gives all weights, rounded as floats are,
        and the least of these integers is 16 or less, it is the largest such number. Otherwise it is the greatest power of two of
        which all weights are multiples, provided that the integers are below 2**31 then. Otherwise it is the power of two that
        puts the largest integer in [2**30, 2**31), and the integers are rounded; the least one is 1.

    Examples
    --------
    >>> import numpy as np
    >>> integer_weights(np.array([0.1, 0.2, 0.1]))
    IntegerWeights(integers=array([1, 2, 1], dtype=uint32), unit=0.1, exact=None)
    >>> integer_weights(np.array([8.5, 1000.0]))
    IntegerWeights(integers=array([  17, 2000], dtype=uint32), unit=0.5, exact=None)
    >>> integer_weights(np.array([1e-12, 1.0])).integers
    array([         1, 1073741824], dtype=uint32)
    """
    least_of_all = (lambda own: own) if ranks is None else ranks.least
    with np.errstate(all="ignore"):  # multiples may be beyond any float, and are not taken then
        lowest, highest, lightest = least_of_all(_facts(weight)).tolist()
        lowest, highest, exact = int(lowest), -int(highest), None
        unit = _common_factor(weight, lightest, least_of_all)
        if not unit:
            unit = float(np.ldexp(1.0, lowest if highest - lowest <= _BITS else highest - _BITS))
            if highest - lowest > _BITS:
                exact = np.ldexp(weight, _HEAVIEST + 1 - highest)
        return IntegerWeights(np.maximum(1.0, np.rint(weight / unit)).astype(np.uint32), unit, exact)


def _facts(weight):
    """What the unit depends on: the greatest power of two of which all weights are multiples, the power above all, the lightest.

    The first two are exponents, the second with its sign changed, so that of several sets the least numbers are those of all.
    """
    fraction, exponent = np.frexp(weight)
    fraction = np.ldexp(fraction, 53).astype(np.int64)
    trailing = np.frexp((fraction & -fraction).astype(np.float64))[1] - 1  # zero bits at the end
    return np.array([(exponent - 53 + trailing).min(initial=1023), -exponent.max(initial=-1073), weight.min(initial=np.inf)])


def _common_factor(weight, lightest, least_of_all):
    """The largest number that weights are small multiples of, or 0."""
    divisors = np.arange(1, _DIVISORS + 1)
    times = weight[:_SAMPLE, None] / (lightest / divisors)
    may_divide = (np.abs(times - np.rint(times)) <= times * 2.0**-50).all(axis=0)
    for divisor in divisors[least_of_all(may_divide.astype(np.int64)) > 0].tolist():
        low, high = least_of_all(_allowed_change(weight, lightest / divisor)).tolist()
        if -low <= high:
            return lightest / divisor + 0.5 * (high - low)
    return 0.0


def _allowed_change(weight, factor):
    """How much a factor may change, from -low to high, if its multiples are to be weights: array of low and high.

    The rounding of a weight leaves half a unit in its last place. What its multiple lacks is found without rounding, as each part
    of the factor has 32 bits or fewer.
    """
    fraction, exponent = np.frexp(factor)
    head = np.ldexp(np.floor(np.ldexp(fraction, 32)), exponent - 32)
    low = high = np.inf
    for begin in range(0, len(weight), _BLOCK):
        some = weight[begin : begin + _BLOCK]
        times = np.rint(some / factor)
        if not (times <= _MAX_TIMES).all():
            return np.array([-np.inf, -np.inf])
        lack, half = some - times * head - times * (factor - head), 0.5 * np.spacing(some)
        low = min(low, ((half - lack) / times).min())
        high = min(high, ((half + lack) / times).min())
        if -low > high:
            break
    return np.array([low, high])
