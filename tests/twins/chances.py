"""The naive twin of rows that boosting draws by chances of their own: `rules/chances.h` again, slow and plain."""

import math

from twins.gradients import fine_exponent

from dforest.testing.streams import CHANCE, Stream

BLOCK = 4096
STEPS = 32  # of a power of two


def draw_by_chance(outputs, n_asked, seed):
    """The rows that are drawn, and what the derivatives of each are multiplied by: (list of int, dict of float by row).

    Parameters
    ----------
    outputs : list of Integers
        Of the gradients and Hessians of all rows, by each raw prediction.
    n_asked : int
        About how many rows are drawn.
    seed : int
        Of the iteration's first tree.
    """
    times, lowest = outputs[0].times, min(one.exponents[0] for one in outputs)
    exact = []
    for row, n in enumerate(times):
        total = 0.0
        for one in outputs:
            unit = math.ldexp(1.0, lowest - one.exponents[0])
            steps = sum(map(abs, one.quantised_gradient)), sum(map(abs, one.quantised_hessian))
            total += (one.quantised_gradient[row] // n * unit) ** 2
            total += (one.quantised_hessian[row] // n * (unit * (steps[0] / steps[1]) if steps[1] else 0.0)) ** 2
        exact.append(math.sqrt(total) * n)
    factor = math.ldexp(1.0, fine_exponent(max(exact)))
    importance = [math.floor(s * factor + 0.5) for s in exact] if max(exact) > 0.0 else [1] * len(exact)
    certain = importance_of_certain(importance, n_asked)
    drawn = []
    for row, s in enumerate(importance):
        if row % BLOCK == 0:
            stream = Stream(seed, row // BLOCK, CHANCE)
        if stream.next() * certain < math.ldexp(s, 32):
            drawn.append(row)
    drawn = drawn or [importance.index(max(importance))]
    return drawn, {row: certain / importance[row] if importance[row] < certain else 1.0 for row in drawn}


def importance_of_certain(importance, n_asked):
    """From which importance on rows are drawn for certain."""
    below, left = float(sum(importance)), float(n_asked)
    for begin in sorted({step_begin(s) for s in importance if s > 0}, reverse=True):
        if begin * left <= below:
            break
        of_step = [s for s in importance if s > 0 and step_begin(s) == begin]
        below, left = below - sum(of_step), left - len(of_step)
    return below / left if left > 0.0 and below > 0.0 else 0.0


def step_begin(importance):
    """The least importance of the step of one above 0."""
    power = 2.0 ** (importance.bit_length() - 1)
    return power * (1.0 + math.floor((importance / power - 1.0) * STEPS) / STEPS)
