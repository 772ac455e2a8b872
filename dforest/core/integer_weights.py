"""Weights of rows as integers, which trees add up in place of the weights: sums of integers don't depend on an order.

Where weights are multiples of one number, and none of them is a very large one, this number is the unit, so that the trees are
those of the multiples. Otherwise the integers are shares of the heaviest weight, rounded, and trees look at the exact weights
(`rules/weights.h`), too. Either way weights times a constant have the integers of the weights, to the bit where no product is
rounded; where some are, exact weights differ in their last bit, and an integer in a million by 1. Ranks with rows of their own
agree on one unit, which follows from the weights of all of them.
"""

from typing import NamedTuple

import numpy as np

_DIVISORS = 1024  # of rounded multiples of a number, the lightest row has one up to this
_MAX_TIMES = 2**20  # and the heaviest one up to this
_BITS = 31  # of exact multiples; the heaviest row has the highest one alone if they are rounded
_EXACT_MAX_EXPONENT = 1022  # DF_EXACT_MAX_EXPONENT
_SUM_BITS = 62  # of the sum of fine integers
_SAMPLES, _BLOCK = (0, 4, 64), 2**15  # rows that are looked at together


class IntegerWeights(NamedTuple):
    """Weights as integers.

    Attributes
    ----------
    integers : ndarray of shape (n,), dtype uint32, or None
        From 1 on; None: all are 1.
    unit : float
        The weights are ``integers * unit``, rounded.
    exact : ndarray of shape (n,), dtype float64, or None
        If integers were rounded, the weights divided by the heaviest one, times 2**1022.
    """

    integers: np.ndarray | None
    unit: float = 1.0
    exact: np.ndarray | None = None

    @property
    def in_units(self):
        """The weights divided by their unit: `integers`, or as float64 if these were rounded."""
        return self.integers if self.exact is None else np.ldexp(self.exact, _BITS - 1 - _EXACT_MAX_EXPONENT)

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
        return np.maximum(1, np.rint(np.ldexp(self.exact, bits - _EXACT_MAX_EXPONENT - 1))).astype(np.int64)


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
        and the least of these integers is 1024 or less, the unit is the largest such number. Otherwise it is the largest number
        of which all weights are multiples, provided that the integers are below 2**31 then. Otherwise the integer of the heaviest
        weight is 2**30, and the others are rounded; the least one is 1.

    Examples
    --------
    >>> import numpy as np
    >>> integer_weights(np.array([0.1, 0.2, 0.1]))
    IntegerWeights(integers=array([1, 2, 1], dtype=uint32), unit=0.1, exact=None)
    >>> integer_weights(np.array([8.5, 1000.0]))
    IntegerWeights(integers=array([  17, 2000], dtype=uint32), unit=0.5, exact=None)
    >>> integer_weights(np.array([3.0, 3e9])).integers
    array([         1, 1000000000], dtype=uint32)
    >>> integer_weights(np.array([1e-12, 1.0])).integers
    array([         1, 1073741824], dtype=uint32)
    """
    least_of_all = (lambda own: own) if ranks is None else ranks.least
    with np.errstate(all="ignore"):  # multiples may be beyond any float, and are not taken then
        lightest, max_weight = least_of_all(np.array([weight.min(initial=np.inf), -weight.max(initial=0.0)])).tolist()
        max_weight, exact = -max_weight, None
        unit = _common_factor(weight, lightest, max_weight, least_of_all) or _divisor(weight, max_weight, ranks)
        if unit:
            integers = np.rint(weight / unit)
        else:
            highest = int(np.frexp(max_weight)[1])
            exact = np.ldexp(weight, _EXACT_MAX_EXPONENT + 1 - highest) / np.ldexp(max_weight, 1 - highest)
            unit = float(np.ldexp(max_weight, 1 - _BITS))
            integers = np.maximum(1.0, np.rint(np.ldexp(exact, _BITS - 1 - _EXACT_MAX_EXPONENT)))
        return IntegerWeights(integers.astype(np.uint32), unit, exact)


def _divisor(weight, max_weight, ranks):
    """The largest number that all weights are multiples of, or 0 if one is too large a multiple. A collective.

    Weights are odd numbers times powers of two: the least of these powers is a factor of all, as the divisor of odd numbers is.
    """
    divisor, lowest = 0, 1023
    for begin in range(0, len(weight), _BLOCK):
        fraction, exponent = np.frexp(weight[begin : begin + _BLOCK])
        odd = np.ldexp(fraction, 53).astype(np.int64)
        trailing = np.frexp((odd & -odd).astype(np.float64))[1] - 1  # zero bits at the end
        divisor = int(np.gcd(divisor, np.gcd.reduce(odd >> trailing)))
        lowest = min(lowest, int((exponent - 53 + trailing).min()))
        if not _are_few_bits(max_weight, divisor, lowest):  # nor will they be by more rows
            break
    if ranks is not None:
        of_all = np.stack(ranks.gather(np.array([divisor, lowest], np.int64)))
        divisor, lowest = int(np.gcd.reduce(of_all[:, 0])), int(of_all[:, 1].min())
    return float(np.ldexp(float(divisor), lowest)) if _are_few_bits(max_weight, divisor, lowest) else 0.0


def _are_few_bits(max_weight, divisor, lowest):
    """Whether the heaviest weight is a multiple below 2**31 of a divisor times 2**lowest."""
    return int(np.frexp(max_weight / divisor)[1]) - lowest <= _BITS


def _common_factor(weight, lightest, max_weight, least_of_all):
    """The largest number that weights are small multiples of, rounded as floats are, or 0. A collective."""
    divisors = np.arange(1, _DIVISORS + 1)
    may_divide = np.rint(max_weight / (lightest / divisors)) <= _MAX_TIMES
    for begin, end in zip(_SAMPLES, _SAMPLES[1:], strict=False):
        may_divide[may_divide] = _are_multiples(weight[begin:end], lightest / divisors[may_divide])
    divisors = divisors[least_of_all(may_divide.astype(np.int64)) > 0]
    while len(divisors):
        low, high, counterexample = least_of_all(_allowed_change(weight, lightest / divisors[0])).tolist()
        if -low <= high:
            return lightest / divisors[0].item() + 0.5 * (high - low)
        divisors = divisors[1:]
        if counterexample < np.inf:
            divisors = divisors[_are_multiples(np.array([counterexample]), lightest / divisors)]
    return 0.0


def _are_multiples(weight, factors):
    """Of which factors all of some weights may be multiples, rounded: ndarray of bool."""
    times = weight[:, None] / factors
    return (np.abs(times - np.rint(times)) <= times * 2.0**-50).all(axis=0)


def _allowed_change(weight, factor):
    """How much a factor may change, from -low to high, if its multiples are to be weights; and a weight that is far from being
    one, or infinity if there is some room: ndarray of low, high and this weight.

    The rounding of a weight leaves half a unit in its last place. What its multiple lacks is found without rounding, as each part
    of the factor has 32 bits or fewer.
    """
    fraction, exponent = np.frexp(factor)
    head = np.ldexp(np.floor(np.ldexp(fraction, 32)), exponent - 32)
    low = high = np.inf
    for begin in range(0, len(weight), _BLOCK):
        some = weight[begin : begin + _BLOCK]
        times = np.rint(some / factor)
        lack, half = some - times * head - times * (factor - head), 0.5 * np.spacing(some)
        low = min(low, ((half - lack) / times).min())
        high = min(high, ((half + lack) / times).min())
        if -low > high:
            return np.array([low, high, some[np.abs(lack / half).argmax()]])
    return np.array([low, high, np.inf])
