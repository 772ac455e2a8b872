"""The naive twin's gradients and hessians of boosted trees as integers; the rules stand in `twins.boosting`.

A row's derivatives become *quantised* integers and, with fewer bits, *narrow* ones. Lists are of all rows.
"""

import math
from typing import NamedTuple

import numpy as np

from dforest.testing.coding import scale_exponent
from dforest.testing.streams import SKETCH, Stream

GRADIENT_BITS, LARGEST_WEIGHT, LIGHT_BITS, TAIL_BITS, LEAF_TAIL_BITS = 30, 2048, 8, 16, 6
GRADIENT_SHIFT, HESSIAN_SHIFT = 17, 16


class Integers(NamedTuple):
    """Gradients and hessians of rows as integers, q * 2**-exponent."""

    kind: str
    quantised_gradient: list
    quantised_hessian: list
    gradient: list  # narrow
    hessian: list
    exponents: tuple  # of quantised gradients and hessians
    coarse_exponents: tuple
    weight_unit: float
    derivatives: tuple  # gradients and hessians, times the weights that are no integers
    times: list  # integer weights
    weights: list = ()  # where derivatives are multiplied by weights: these; else empty
    reference: float = 0.0  # the heaviest weight of the rows that exponents were chosen for
    has_tail: bool = False  # nodes may be light by what their derivatives are


def integers_of(gradient, hessian, weight, unit, in_units, kind, drawn, is_of_classes, inverse=None):
    """Gradients and hessians as integers, of which those of drawn rows are in range.

    Parameters
    ----------
    gradient : list of float
    hessian : list of float, or None
        None: all are 1.
    weight : list of int
        ``in_units``, rounded.
    unit : float
        Of weights.
    in_units : list of float
        Weights divided by their unit.
    kind : str or None
        Of words; None: as the rule says.
    drawn : list of int
        The tree's rows.
    is_of_classes : bool
        Whether targets are classes.
    inverse : dict of float, optional
        What the derivatives of drawn rows are multiplied by, where these are drawn by chances of their own.
    """
    is_constant = hessian is None
    if inverse is not None and is_constant:
        hessian, is_constant = [1.0] * len(weight), False
    is_real = max(weight) > LARGEST_WEIGHT or sum(weight) >= 2**32
    weights = []
    if is_real:
        hessian = [1.0] * len(weight) if is_constant else hessian
        gradient, hessian = ([x * w for x, w in zip(values, in_units, strict=True)] for values in (gradient, hessian))
        weight, weights = [1] * len(weight), in_units
    if inverse:
        gradient, hessian = ([x * inverse.get(row, 1.0) for row, x in enumerate(values)] for values in (gradient, hessian))
    quantised_gradient, s_g = quantised_integers(gradient, GRADIENT_BITS, drawn)
    quantised_hessian, s_h = ([1] * len(weight), 0) if hessian is None else quantised_integers(hessian, GRADIENT_BITS, drawn)
    if is_real or inverse:
        quantised_hessian = not_nothing(quantised_hessian, hessian)
    is_heavy = any(
        has_heavy_tail([own[row] for row in drawn], [weight[row] for row in drawn])
        for own in (quantised_gradient, quantised_hessian)[: 1 if hessian is None else 2]
    )
    if kind is None:
        kind = "wide" if is_real else "constant" if is_constant else "wide" if is_heavy else "narrow"
    shifts = (GRADIENT_SHIFT, HESSIAN_SHIFT) if kind == "narrow" else (0, 0)
    coarse_gradient, coarse_hessian = narrow(quantised_gradient, shifts[0]), narrow(quantised_hessian, shifts[1])
    many = [times(weight, q) for q in (quantised_gradient, quantised_hessian, coarse_gradient, coarse_hessian)]
    return Integers(kind, *many, (s_g, s_h), (s_g - shifts[0], s_h - shifts[1]), unit, (gradient, hessian), weight, weights,
                    max(weights, default=0.0), is_heavy and not is_of_classes)  # fmt: skip


def sketch_of(outputs, drawn, n_directions, seed, kind):
    """The integers of rows along the directions of a sketch, given those by each of several classes: list of `Integers`.

    Each direction adds up the gradients of all classes, some of them times -1, and has the mean of their Hessians.

    Parameters
    ----------
    outputs : list of Integers
        Of the classes, one after another. No rows are light.
    drawn : list of int
        The tree's rows.
    n_directions : int
    seed : int
        The tree's.
    kind : str or None
        As of `integers_of`.
    """
    n_rows, weight = len(outputs[0].times), outputs[0].times
    signs = [Stream(seed, k, SKETCH).next() for k in range(len(outputs))]
    rest = [[[q // w for q, w in zip(own, weight, strict=True)] for own in (one.quantised_gradient, one.quantised_hessian)]
            for one in outputs]  # fmt: skip
    largest = max(abs(one.derivatives[0][row]) for one in outputs for row in drawn)
    factors = 1.0 / math.sqrt(n_directions), 1.0 / len(outputs)
    exponents = tuple(fine_exponent(2.0 * largest * factor) for factor in factors)
    along = [[0.0] * n_rows for _ in range(n_directions)]
    hessian = [0.0] * n_rows
    for one, sign, (g, h) in zip(outputs, signs, rest, strict=True):
        for row in range(n_rows):
            hessian[row] += math.ldexp(h[row], -one.exponents[1])
            for d in range(n_directions):
                along[d][row] += (-1 if sign >> d & 1 else 1) * math.ldexp(g[row], -one.exponents[0])
    found = []
    for own in along:
        quantised = [[round(x * math.ldexp(factor, s)) for x in numbers]
                     for numbers, factor, s in zip((own, hessian), factors, exponents, strict=True)]  # fmt: skip
        is_heavy = any(has_heavy_tail([q[row] for row in drawn], [weight[row] for row in drawn]) for q in quantised)
        of_direction = kind or ("wide" if outputs[0].weights or is_heavy else "narrow")
        shifts = (GRADIENT_SHIFT, HESSIAN_SHIFT) if of_direction == "narrow" else (0, 0)
        coarse = [narrow(q, shift) for q, shift in zip(quantised, shifts, strict=True)]
        many = [times(weight, q) for q in (*quantised, *coarse)]
        narrowed = tuple(s - shift for s, shift in zip(exponents, shifts, strict=True))
        found.append(Integers(of_direction, *many, exponents, narrowed, outputs[0].weight_unit, (own, hessian), weight))
    if kind is None and any(one.kind == "wide" for one in found):
        return sketch_of(outputs, drawn, n_directions, seed, "wide")
    return found


def not_nothing(quantised, hessian):
    """Quantised hessians, those that were rounded to 0 made 1."""
    return [q + (q == 0 and h > 0.0) for q, h in zip(quantised, hessian, strict=True)]


def of_node(integers, rows, tail_bits=TAIL_BITS):
    """The integers of a node's rows for each output, given those of its parent's: others, if the node is light."""
    is_light = any(
        is_far_below(derivatives, exponent, rows, tail_bits)
        for one in integers
        if any(own.has_tail for own in integers)
        for derivatives, exponent in zip(one.derivatives, one.exponents, strict=True)
    )
    if integers[0].weights:
        is_light |= max(integers[0].weights[row] for row in rows) < scaled(integers[0].reference, -LIGHT_BITS)
    return [integers_of_light(one, rows) for one in integers] if is_light else integers


def is_far_below(derivatives, exponent, rows, bits):
    """Whether the largest derivative of some rows is so many bits below that for which an exponent was chosen."""
    largest = 0.0 if derivatives is None else max(abs(derivatives[row]) for row in rows)
    return largest > 0.0 and fine_exponent(largest) >= exponent + bits


def integers_of_light(integers, rows):
    """The integers of a light node's rows, with exponents of their own."""
    found, exponents = [], []
    for k, derivatives in enumerate(integers.derivatives):
        own, exponent = [1] * len(rows), 0
        if derivatives is not None:
            of_rows = [derivatives[row] for row in rows]
            own, exponent = quantised_integers(of_rows, GRADIENT_BITS)
            own = not_nothing(own, of_rows) if k == 1 else own
        of_all = [0] * len(integers.times)
        for row, q in zip(rows, own, strict=True):
            of_all[row] = q * integers.times[row]
        found.append(of_all)
        exponents.append(exponent)
    reference = max((integers.weights[row] for row in rows), default=0.0) if integers.weights else 0.0
    return Integers(integers.kind, *found, *found, tuple(exponents), tuple(exponents), integers.weight_unit,
                    integers.derivatives, integers.times, integers.weights, reference, integers.has_tail)  # fmt: skip


def both_sums(a, b):
    """Sums of quantised gradients and hessians, with an exponent each, of both children: by the lower ones, a half rounded up."""
    both = []
    for (p, s), (q, t) in zip(a, b, strict=True):
        lower = min(s, t)
        both.append((without_bits(p, s - lower) + without_bits(q, t - lower), lower))
    return tuple(both)


def without_bits(q, n):
    """A sum without its last n bits."""
    return 0 if n > 62 else narrow([q], n)[0]


def scaled(x, exponent):
    """x * 2**exponent, infinite where math.ldexp would raise."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(x, exponent))


def times(weight, integers):
    """Integers of rows, each times its weight."""
    return [w * q for w, q in zip(weight, integers, strict=True)]


def fine_exponent(largest, bits=GRADIENT_BITS):
    """The exponent of quantised gradients, given the largest magnitude of what they stand for, which may become 2**bits."""
    if not largest > 0.0:
        return 0
    exponent = scale_exponent(largest, bits)
    return min(exponent + (round(math.ldexp(largest, exponent + 1)) <= 2**bits), 1000)


def quantised_integers(x, bits, drawn=None):
    """(integers, exponent) of some numbers, in range by those of drawn rows. None: all are."""
    s = fine_exponent(max(map(abs, x if drawn is None else [x[row] for row in drawn])), bits)
    return [round(v * math.ldexp(1.0, s)) for v in x], s


def has_heavy_tail(quantised, weight):
    """Whether the largest magnitude is above 64 times the mean."""
    return max(map(abs, quantised)) * sum(weight) > 64 * sum(times(weight, map(abs, quantised)))


def narrow(quantised, shift):
    """Integers without their last bits."""
    return [(q + 2**shift // 2) // 2**shift for q in quantised]
