"""No targets: trees that find outliers, and trees for targets that are drawn at random."""

import numpy as np
from sklearn.utils.validation import _num_samples

from dforest.core.grow.trainer import tree_seeds
from dforest.core.objective import PathObjective
from dforest.engines.problem import Targets
from dforest.estimators.randomness import check_random_state
from dforest.estimators.targets.numbers import Numbers
from dforest.estimators.targets.target import Target


def without_targets(partitions):
    """Partitions with zeros in place of y."""
    return [partition._replace(y=np.zeros(_num_samples(partition.X))) for partition in partitions]


class NoTarget(Target):
    """No target: leaves keep the lengths of paths."""

    def read(self, model, partitions):
        return without_targets(partitions)

    def encode(self, model, y, ranks):
        return np.zeros(sum(map(len, y)), np.int32)

    def objective(self, model, rows):
        return PathObjective()

    def make(self, model, rows, plan):
        weights, _ = plan.weights_of_draws(rows)
        return Targets(rows.y, None, weights.integers, weights.unit, None, rows.max_weight(weights.integers), weights.exact)


class RandomNumbers(Numbers):
    """Numbers from 0 to 1 that are drawn for each row."""

    def read(self, model, partitions):
        return without_targets(partitions)

    def replace(self, model, rows, ranks):
        seeds = check_random_state(model.random_state).randint(np.iinfo(np.int64).max, size=2, dtype=np.int64)
        seed = ranks.first(int(seeds[1]))  # the first one is that of the trees
        numbers = zip(rows.share.starts.tolist(), rows.share.lengths.tolist(), strict=True)
        drawn = [tree_seeds(seed, range(first, first + n)) for first, n in numbers]  # one for each number, whoever has the row
        rows.y = np.ldexp(np.concatenate([np.zeros(0, np.uint32), *drawn]).astype(np.float64), -32)

    def keep_out_of_bag(self, model, rows, found):
        raise NotImplementedError("OOB score not supported by RandomTreesEmbedding, whose trees predict random numbers")
