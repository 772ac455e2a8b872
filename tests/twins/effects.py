"""The naive twin of causal trees (`heterogeneity.pyx`): one tree, grown slowly and plainly.

It covers what the criterion changes, on columns of numbers; everything else is that of `twins.outputs` and `twins.naive`, whose
words it uses. Sums are Python integers; the float expressions follow the core's operation by operation.
"""

import math

import numpy as np
from twins.naive import Node, goes_left
from twins.outputs import Output, best_split_of_outputs, score_of_outputs
from twins.sampling import AllRows
from twins.splits import feature_order

from dforest.testing.coding import Weights, columns_of, quantise
from dforest.testing.scores import Record
from dforest.testing.streams import ROOT_KEY, child_key

BITS = 30
SINGULAR = math.ldexp(1e-10, 2 * BITS - 2)
NEARLY = 1.0 - math.ldexp(1.0, -20)


def elimination(rows, K):
    """Solve K equations, given as rows of coefficients and right sides, by pivots; None if there is no solution."""
    rows = [list(row) for row in rows]
    for column in range(K):
        pivot = max(range(column, K), key=lambda k: abs(rows[k][column]))
        if not abs(rows[pivot][column]) >= SINGULAR:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for k in range(K):
            if k != column:
                factor = rows[k][column]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[column], strict=True)]
    return [row[K:] for row in rows]


def pseudo_outcomes(draws, moments, M, K, is_instrumental):
    """The pseudo-outcomes of draws, and their distances from the means of instruments; None if there are no effects.

    moments : [n_rows, n_moments]
    """
    n_read = M + K + K * is_instrumental
    first = n_read - K
    weight = sum(draw.count * draw.weight for draw in draws)
    q, unit, span = [], [], []
    for column in range(n_read):
        exact = [float(moments[draw.row, column]) for draw in draws]
        integers, scale = quantise(exact, BITS)
        constant = min(exact) == max(exact)
        span.append(max(exact) - min(exact))
        q.append([0] * len(draws) if constant else integers)
        unit.append(0.0 if constant else math.ldexp(1.0, -scale.exponent))
    mass = [draw.count * draw.weight for draw in draws]
    sums = [sum(w * value for w, value in zip(mass, own, strict=True)) for own in q]
    whole = [total // weight for total in sums]
    rest = [float(total - m * weight) / float(weight) for total, m in zip(sums, whole, strict=True)]
    mean = [float(m) + r for m, r in zip(whole, rest, strict=True)]

    def covariance(k, c):
        products = sum(w * (a - whole[k]) * (b - whole[c]) for w, a, b in zip(mass, q[k], q[c], strict=True))
        return float(products) / float(weight) - rest[k] * rest[c]

    rows = [
        [*(covariance(first + k, M + j) for j in range(K)), *(covariance(first + k, m) for m in range(M)),
         *(float(k == j) for j in range(K))]
        for k in range(K)
    ]  # fmt: skip
    solution = elimination(rows, K)
    if solution is None:
        return None
    rho, distance = [], []
    for i in range(len(draws)):
        own = [0.0] * (K * M)
        for m in range(M):
            residual = float(q[m][i]) - mean[m]
            for j in range(K):
                residual -= (float(q[M + j][i]) - mean[M + j]) * solution[j][m]
            for k in range(K):
                if K == 1:
                    gradient = float(q[first][i]) - mean[first]
                    own[m] = gradient * residual * (unit[first] * unit[m])
                    continue
                gradient = 0.0
                for j in range(K):
                    gradient += solution[k][M + j] * (float(q[first + j][i]) - mean[first + j])
                own[k * M + m] = gradient * residual * (unit[m] / unit[M + k]) * span[M + k]
        rho.append(own)
        distance.append([(float(q[first + k][i]) - mean[first + k]) * unit[first + k] for k in range(K)])
    return rho, distance


class NodeOfEffects:
    """What is known of a node: outputs that are pseudo-outcomes, and others that bound cuts."""

    def __init__(self, draws, moments, shape, alpha, penalty, least, stabilizes):
        self.draws, self.alpha, self.penalty, self.least, self.stabilizes = draws, alpha, penalty, least, stabilizes
        self.K, self.outputs, self.bounds = shape[1], [], []
        found = pseudo_outcomes(draws, moments, *shape)
        if found is None:
            return
        rho, distance = found
        for column in zip(*rho, strict=True):
            self.outputs.append(self.output(column))
        for column in zip(*distance, strict=True) if stabilizes else ():
            for own in (column, [d * d for d in column], [float(d > 0.0) for d in column]):
                self.bounds.append(self.output(own))
        self.unit = max((output.exponent for output in self.outputs if not output.is_pure), default=0)
        self.fixed = [(output.is_pure, output.exact[0]) for output in self.bounds]
        for output in self.bounds:
            output.is_pure = True

    def output(self, column):
        return Output(self.draws, dict(zip([draw.row for draw in self.draws], column, strict=True)), "squared_error", 0)

    @property
    def is_pure(self):
        return all(output.is_pure for output in self.outputs)

    def sum_of(self, o, draws):
        output, (is_fixed, value) = self.bounds[o], self.fixed[o]
        words = output.words(draws)
        if is_fixed:
            return float(words[1]) * (value + math.ldexp(float(0), 0)) + 0.0
        mean, e = output.total[2] // output.total[1], output.scale.exponent
        around = float(words[2] - words[1] * mean)
        return float(words[1]) * (output.scale.centre + math.ldexp(float(mean), -e)) + math.ldexp(around, -e)

    def score(self, sides):
        """The score of a cut, given the draws of both sides; None if it is not allowed."""
        found = score_of_outputs("squared_error", self.outputs + self.bounds, sides, self.unit)
        if not self.stabilizes:
            return found
        total = self.outputs[0].total
        w, w_left = float(total[1]), float(sum(draw.count * draw.weight for draw in sides[0]))
        w_right, mean_weight = w - w_left, w / float(total[0])
        least, cost = float(self.least) * mean_weight * NEARLY, 0.0
        for k in range(self.K):
            d, squares, above = (self.sum_of(3 * k + j, self.draws) for j in range(3))
            d_left, squares_left, above_left = (self.sum_of(3 * k + j, sides[0]) for j in range(3))
            if min(above_left, above - above_left, w_left - above_left, w_right - (above - above_left)) < least:
                return None
            if self.alpha == 0.0 and self.penalty == 0.0:
                continue
            size = squares - d * d / w
            size_left = squares_left - d_left * d_left / w_left
            size_right = (squares - squares_left) - (d - d_left) * (d - d_left) / w_right
            if min(size_left, size_right) < self.alpha * size:
                return None
            if self.penalty > 0.0:
                if min(size_left, size_right) <= 0.0:
                    return None
                cost += self.penalty * (mean_weight / size_left + mean_weight / size_right)
        if cost > 0.0:
            cost = math.ldexp(cost * mean_weight / float(len(self.outputs + self.bounds)), -self.unit)
            return found - cost if found - cost > 0.0 else None
        return found


def grow_effects(X, moments, shape, *, method, alpha=0.05, imbalance_penalty=0.0, least=1, stabilizes=True, max_bins=256,
                 sample_weight=None, sampling=None, seed=0, max_features=None, max_depth=None, min_samples_split=2,
                 min_samples_leaf=1):
    """Grow a tree of effects.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
        Numbers; NaN means missing.
    moments : ndarray of shape (n_rows, n_moments)
        As `dforest.core.effects` has them.
    shape : (int, int, bool)
        Numbers of outcomes and treatments, and whether there are instruments.
    alpha, imbalance_penalty, least, stabilizes
        As of `dforest.core.search.heterogeneity.Heterogeneity`.
    method, max_bins, sample_weight, sampling, seed, max_features, max_depth, min_samples_split, min_samples_leaf
        As of `twins.naive.grow_tree`.

    Returns
    -------
    Node
        Whose value is a list, the means of the moments.
    """
    n_rows, n_features = X.shape
    weights = Weights(sample_weight, n_rows)
    columns = columns_of(X, method, max_bins, weights.integers, None, None)
    counts = (sampling or AllRows()).counts(n_rows, seed).tolist()
    given = zip(range(n_rows), counts, weights.integers, strict=True)
    root = [Record(row, count, 0, w) for row, count, w in given if count > 0]
    _, root_shift = weights.of_node(root, 0)

    def grow(draws, node_key, depth, shift):
        draws, shift = weights.of_node(draws, shift)
        n_draws = sum(draw.count for draw in draws)
        fine, fine_shift = weights.of_leaf(draws)
        kept, leaf_shift = weights.kept([sum(fine)], fine_shift)
        node = Node(n_draws, kept, shift=leaf_shift)
        own = NodeOfEffects(draws, moments, shape, alpha, imbalance_penalty, least, stabilizes)
        split = None
        if not (own.is_pure or (max_depth is not None and depth >= max_depth) or n_draws < min_samples_split
                or n_draws < 2 * min_samples_leaf):
            order = feature_order(n_features, seed, node_key)
            split = best_split_of_outputs(draws, columns, order, max_features or n_features, own.score, min_samples_leaf, 0.0)
        if split is None:
            node.value = [weights.in_mean([float(column[d.row]) for d in draws], draws, fine) for column in moments.T]
            node.impurity = 0.0
            return node
        node.feature, node.threshold, node.missing_left = split.feature, split.threshold, split.missing_left
        sides = [], []
        for draw in draws:
            sides[not goes_left(node, X[draw.row])].append(draw)
        node.left, node.right = (grow(sides[side], child_key(node_key, side), depth + 1, shift) for side in (0, 1))
        return node

    return grow(root, ROOT_KEY, 0, 0)


def effects_of(mean, shape):
    """The effects that follow from the means of moments, for one row, [K, M], and whether these tell them well."""
    M, K, is_instrumental = shape
    y, w, rest = mean[:M], mean[M : M + K], mean[M + K :]
    z, rest = (rest[:K], rest[K:]) if is_instrumental else (w, rest)
    zy, zw = rest[: K * M].reshape(K, M), rest[K * M :].reshape(K, K)
    covariance = zw - np.outer(z, w)
    tells = np.linalg.svd(covariance, compute_uv=False)[-1] > 1e-6 * np.abs(zw).max()
    return (np.linalg.solve(covariance, zy - np.outer(z, y)) if tells else np.zeros((K, M))), tells
