"""The naive twin's integers: codes of a column (`core/coding/`), targets and weights (`data.pyx`) again, slow and plain."""

import math
from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

import numpy as np

CONTINUOUS, ORDINAL, CATEGORICAL = 0, 1, 2  # kinds of columns


class Column(NamedTuple):
    """A column as `code_column` returns it. If is_dense, values are the distinct values; if not, the upper edges of bins."""

    codes: np.ndarray
    values: np.ndarray
    lows: np.ndarray  # the smallest value of each code
    highs: np.ndarray  # largest
    is_dense: bool
    kind: int = CONTINUOUS

    @property
    def missing(self):
        """The code of missing values."""
        return len(self.values)


class Scale(NamedTuple):
    """Targets are rint((y - centre) * 2**exponent), which was made for integers of this range."""

    centre: float = 0.0
    exponent: int = 0
    range: int = 0


# From values to codes --------------------------------------------------------------------------------


def middle(lo, hi, is_float32):
    """The middle of lo < hi, in float64 or rounded to float32: lo if rounding would reach hi, and 0 for -0."""
    m = 0.5 * lo + 0.5 * hi  # NaN from -inf and inf
    if is_float32:
        m = float(np.float32(m))
    return (m if lo <= m < hi else lo) + 0.0  # 0.0 for -0.0


def distinct(x):
    """The distinct values of a column without missing ones, ascending, as Python floats, with 0 for -0."""
    return sorted({float(v) + 0.0 for v in x if v == v})


def bin_edges(x, max_codes, weight=None):
    """Upper edges of the bins of a column.

    With W the weight and B the bins still to be filled, a bin ends at the value that brings its
    weight closest to W / B, at the higher of two that do; but it leaves a value for every other bin.

    Parameters
    ----------
    x : ndarray of shape (n,), dtype float32 or float64
    max_codes : int
        The largest number of codes, the one for missing values included.
    weight : sequence of int, optional

    Returns
    -------
    list of float
        The edges in ascending order, of which the last is infinite; empty if all values are missing.
    """
    values = distinct(x)
    weight_of = dict.fromkeys(values, 0)
    for v, w in zip(x, [1] * len(x) if weight is None else weight, strict=True):
        if v == v:
            weight_of[float(v) + 0.0] += int(w)
    bins = max_codes - any(v != v for v in x)
    ends = []  # how many values lie in the bins so far
    if len(values) <= bins:
        ends = list(range(1, len(values) + 1))
    else:
        rest = sum(weight_of.values())
        begin = 0
        for left in range(bins, 1, -1):
            upto = list(accumulate(weight_of[v] for v in values[begin : len(values) - left + 1]))
            distance = [abs(left * w - rest) for w in upto]  # from rest / left, times left
            closest = min(distance)
            size = max(n for n, d in enumerate(distance, 1) if d == closest)
            begin += size
            rest -= upto[size - 1]
            ends.append(begin)
        ends.append(len(values))
    is_float32 = x.dtype == np.float32
    return [middle(values[end - 1], values[end], is_float32) for end in ends[:-1]] + [math.inf] * bool(ends)


def code_column(x, max_codes=0, weight=None):
    """Code a column.

    Parameters are those of `bin_edges`; if max_codes is 0, each distinct value gets a code.

    Returns
    -------
    codes : ndarray of shape (n,), dtype int64
        ``len(values)`` where the value is missing.
    values : ndarray, dtype of x
        The distinct values, or the upper edges of the bins.
    lows, highs : ndarray, dtype of x
        The smallest and largest value of each code.
    has_missing : bool
    """
    values = bin_edges(x, max_codes, weight) if max_codes else distinct(x)
    # A value's code is the first whose upper edge, or whose value, is not below it.
    codes = [bisect_left(values, v) if v == v else len(values) for v in x.tolist()]
    members = [[v + 0.0 for v, c in zip(x.tolist(), codes, strict=True) if c == code] for code in range(len(values))]
    lows, highs = (np.array([end(m) for m in members], x.dtype) for end in (min, max))
    return np.array(codes, np.int64), np.array(values, x.dtype), lows, highs, len(values) in codes


def code_categories(x, n_categories):
    """Code a column of category numbers from 0 to n_categories - 1 and NaN; the code of a category is its number."""
    codes = [int(v) if v == v else n_categories for v in x.tolist()]
    numbers = np.arange(n_categories).astype(x.dtype)
    return np.array(codes, np.int64), numbers, numbers, numbers, n_categories in codes


def code_column_together(shares, max_codes=0, weights=None):
    """Code a column whose rows lie on several ranks: one process is given all of them.

    Parameters
    ----------
    shares : list of ndarray of shape (n_r,)
        The values of each rank's rows.
    max_codes : int
    weights : list of sequence of int, optional
        Of each rank's rows.

    Returns
    -------
    list of tuple
        For each rank what `code_column` returns, with the codes of its own rows.
    """
    codes, *rest = code_column(np.concatenate(shares), max_codes, None if weights is None else np.concatenate(weights))
    ends = np.cumsum([len(share) for share in shares])
    return [(codes[end - len(share) : end], *rest) for share, end in zip(shares, ends, strict=True)]


def columns_of(X, method, max_bins, weight, n_categories=None, ordinal=None):
    """All columns of X, coded; n_categories and ordinal are those of `naive.grow_tree`."""
    max_codes = max_bins if method == "hist" else 0
    columns = []
    for j, x in enumerate(X.T):
        if n_categories is not None and n_categories[j] > 0:
            columns.append(Column(*code_categories(x, n_categories[j])[:4], method == "dense", CATEGORICAL))
        else:
            kind = ORDINAL if ordinal is not None and ordinal[j] else CONTINUOUS
            columns.append(Column(*code_column(x, max_codes, weight)[:4], method == "dense", kind))
    return columns


# From targets and weights to integers ----------------------------------------------------------------


def scale_exponent(largest, bits):
    """The largest e with rint(largest * 2**e) < 2**bits."""
    e = bits - math.frexp(largest)[1]
    return e if round(math.ldexp(largest, e)) < 2**bits else e - 1


def offsets(y, bits):
    """Targets that are not all equal as integers around their middle: (integers, centre, exponent)."""
    lo, hi = min(y), max(y)
    centre = 0.5 * lo + 0.5 * hi
    exponent = scale_exponent(max(hi - centre, centre - lo), bits)
    return [round(math.ldexp(v - centre, exponent)) for v in y], centre, exponent


def quantise(y, bits=31):
    """Turn targets into integers of at most so many magnitude bits.

    Returns
    -------
    list of int
        rint((y - centre) * 2**exponent).
    Scale
        Its range is the largest minus the smallest of them.
    """
    if min(y) == max(y):
        return [0] * len(y), Scale(float(y[0]))
    target, centre, exponent = offsets([float(v) for v in y], bits)
    return target, Scale(centre, exponent, max(target) - min(target))


def mean_target(y, weight, bits=62):
    """The value of a leaf: the weighted mean of its targets, from an exact sum of integers of so many bits."""
    lo, hi = min(y), max(y)
    if lo == hi:
        return lo
    offset, centre, exponent = offsets(y, bits)
    total = sum(w * q for w, q in zip(weight, offset, strict=True))
    mean = centre + math.ldexp(float(total) / float(sum(weight)), -exponent)
    return min(max(mean, lo), hi)


def median_target(y, weight):
    """The value of a leaf for absolute error: the weighted median of its targets.

    If the targets up to one have exactly half of the weight, it is the middle of that target and the next one.
    """
    weight_of = dict.fromkeys(sorted(y), 0)
    for v, w in zip(y, weight, strict=True):
        weight_of[v] += w
    values, upto = list(weight_of), list(accumulate(weight_of.values()))
    i = next(i for i, w in enumerate(upto) if 2 * w >= upto[-1])
    return values[i] if 2 * upto[i] > upto[-1] else 0.5 * values[i] + 0.5 * values[i + 1]


class Weights:
    """The weights of rows as integers, of all rows, of a node's, and of a leaf's.

    A node whose heaviest row has less than 2**-8 of what the shift of its integers was made for gets a shift of its own.

    Parameters
    ----------
    sample_weight : sequence of float, or None
        Positive and finite; None means that all are 1.
    n_rows : int

    Attributes
    ----------
    integers : list of int
        `integer_weights`.
    unit : float
        What an integer of 1 stands for.
    exact : list of Fraction, or None
        The weights divided by their unit, if some are no integers: shares of the heaviest, rounded, times 2**30.
    """

    def __init__(self, sample_weight, n_rows):
        self.integers, self.unit, self.exact = [1] * n_rows, 1.0, None
        if sample_weight is not None:
            integers, self.unit = integer_weights(sample_weight)
            self.integers = integers.tolist()
            in_units = [Fraction(float(w)) / Fraction(self.unit) for w in sample_weight]
            if max(self.integers) > 2**20 and in_units != self.integers:  # else all are small multiples, but for rounding
                max_weight = Fraction(float(max(sample_weight))) / 2**1022  # so that the lightest share is a normal float64, too
                self.exact = [Fraction(float(Fraction(float(w)) / max_weight)) / 2**992 for w in sample_weight]

    def as_counts(self):
        """The integers in units of 1 where all weights are whole numbers, as far as a sum below 2**31 has room for that."""
        if self.exact is not None or self.unit % 1 > 0:
            return self.integers
        times = max(1, min(int(self.unit), (2**31 - 1) // sum(self.integers)))
        return [times * w for w in self.integers]

    def of_node(self, draws, shift):
        """The draws of a node with the weights that they have there, and the shift of these, given that of its parent."""
        if self.exact is None:
            return draws, shift
        max_weight = max(self.exact[draw.row] for draw in draws)
        if max_weight * Fraction(2) ** shift >= 2**22:
            return draws, shift
        shift = _shift(max_weight, 31)
        return [draw._replace(weight=max(1, round(self.exact[draw.row] * Fraction(2) ** shift))) for draw in draws], shift

    def of_leaf(self, draws):
        """Fine weights of each record's draws, and the shift of these: the heaviest has 61 bits."""
        if self.exact is None:
            return [draw.count * draw.weight for draw in draws], 0
        shift = _shift(max(self.exact[draw.row] for draw in draws), 61)
        return [draw.count * round(self.exact[draw.row] * Fraction(2) ** shift) for draw in draws], shift

    def kept(self, by_class, shift):
        """What a leaf keeps of fine weights by class, or of the sum of all, and the shift of it: 62 bits of the sum at most."""
        if self.exact is None:
            return by_class, shift
        excess = max(0, sum(by_class).bit_length() - 62)
        kept = [weight >> excess for weight in by_class]
        kept[kept.index(max(kept))] += (sum(by_class) >> excess) - sum(kept)
        return kept, shift - excess

    def in_mean(self, y, draws, fine):
        """The value of a leaf of squared error or Poisson deviance, given its targets, and what `of_leaf` gave."""
        bits = 62 if self.exact is None else 62 - (sum(draw.count for draw in draws) - 1).bit_length()
        return mean_target(y, fine, bits)

    def in_median(self, y, draws, fine):
        """That of absolute error."""
        if self.exact is not None:
            n_draws = sum(draw.count for draw in draws)
            shift = _shift(max(self.exact[draw.row] for draw in draws), 61) + 1 - (n_draws - 1).bit_length()
            fine = [draw.count * round(self.exact[draw.row] * Fraction(2) ** shift) for draw in draws]
        return median_target(y, fine)


def _shift(max_weight, bits):
    """The largest s with round(heaviest * 2**s) < 2**bits."""
    s = bits - (max_weight.numerator.bit_length() - max_weight.denominator.bit_length()) + 1
    while round(max_weight * Fraction(2) ** s) >= 2**bits:
        s -= 1
    return s


def integer_weights(sample_weight):
    """Weights as integers, times a unit.

    Returns
    -------
    weight : ndarray of shape (n,), dtype uint32
    unit : float
        If weights, which are positive and finite, are integers up to 2**20 times some number, rounded as floats are, and the
        least integer is at most 1024: the largest such number. Else the largest number that makes all weights integers. If the
        largest of these reaches 2**31, the heaviest weight divided by 2**30, and weights are rounded, to 1 at least.
    """
    exact = [Fraction(float(w)) for w in sample_weight]
    half = [Fraction(float(np.spacing(w))) / 2 for w in sample_weight]
    least = min(exact)
    for divisor in range(1, 1025):
        times, lowest, highest = [], Fraction(0), 2 * max(exact)
        for w, h in zip(exact, half, strict=True):
            times.append(round(w * divisor / least))
            lowest, highest = max(lowest, (w - h) / times[-1]), min(highest, (w + h) / times[-1])
            if lowest > highest or times[-1] > 2**20:
                break
        else:
            return np.array(times, np.uint32), float((lowest + highest) / 2)
    one = max(w.denominator for w in exact)  # denominators are powers of two
    unit = Fraction(math.gcd(*(int(w * one) for w in exact)), one)
    if max(exact) >= unit * 2**31:
        unit = max(exact) / 2**30
    return np.array([max(1, round(w / unit)) for w in exact], np.uint32), float(unit)
