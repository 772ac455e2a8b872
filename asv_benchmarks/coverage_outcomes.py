"""How often intervals of outcomes hold what they should, by honest forests and by others, in simulations of known distributions.

    python asv_benchmarks/coverage_outcomes.py --repetitions 100 --jobs 2

For new rows, the distribution of the outcome is known. So is the chance that it lies between the quantiles .05 and .95 that a
forest predicts (`predict_quantiles`, or the times at which a predicted survival function passes .95 and .05): 90 % would be
right. Each line has the mean of this chance over rows, and the root of its mean squared distance from 90 %. Of means, which
`predict_local_linear` and `predict_interval` find, it has the share of intervals of 95 % that hold them, and the root mean
squared error. ± is a standard error over the repetitions. doc/neighbours.md and doc/sampling.md have what was found.
"""

import argparse

import numpy as np
from scipy.stats import expon, norm

from dforest import RandomForestRegressor, RandomSurvivalForest

N_FEATURES, N_NEW = 10, 100


def rows(n, random):
    return random.random((n, N_FEATURES))


# The mean and the spread of a normal outcome.
DESIGNS = {
    "no effect": (lambda X: np.zeros(len(X)), lambda X: np.ones(len(X))),
    "spread": (lambda X: np.zeros(len(X)), lambda X: 0.5 + 2 * X[:, 0]),
    "smooth": (lambda X: 4 * X[:, 0] + 2 * X[:, 1], lambda X: np.ones(len(X))),
    "Friedman 1": (
        lambda X: 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4],
        lambda X: np.ones(len(X)),
    ),
}  # fmt: skip
TIMES = {"no effect": lambda X: np.ones(len(X)), "smooth": lambda X: np.exp(2 * X[:, 0] + X[:, 1])}  # means


def drawn(name, n, *seed):
    """X and y of a design, and new rows."""
    mean, spread = DESIGNS[name]
    random = np.random.default_rng(seed)
    X, new = rows(n, random), rows(N_NEW, random)
    return X, random.normal(mean(X), spread(X)), new


def of_quantiles(name, n, honest, n_trees, seed, n_jobs):
    """(mean chance, mean squared distance from .9) of the interval between two quantiles."""
    X, y, new = drawn(name, n, seed, 1)
    mean, spread = DESIGNS[name]
    forest = RandomForestRegressor(
        n_trees, min_samples_leaf=5, max_features=0.5, bootstrap="subsample", max_samples=0.5, honest=honest,
        keep_training_data=True, random_state=seed, n_jobs=n_jobs,
    ).fit(X, y)  # fmt: skip
    low, high = forest.predict_quantiles(new, [0.05, 0.95]).T
    chance = norm.cdf(high, mean(new), spread(new)) - norm.cdf(low, mean(new), spread(new))
    return chance.mean(), np.square(chance - 0.9).mean()


def of_curves(name, n, honest, n_trees, seed, n_jobs):
    """(mean chance, mean squared distance from .9) of the interval between the times at which a survival function that is
    predicted passes .95 and .05. A third of the training rows are censored."""
    random = np.random.default_rng([seed, 2])
    X, new = rows(n, random), rows(N_NEW, random)
    time, censored = random.exponential(TIMES[name](X)), random.exponential(2 * TIMES[name](X))
    y = np.column_stack([time <= censored, np.minimum(time, censored)])
    forest = RandomSurvivalForest(n_trees, min_samples_leaf=15, max_features=0.5, bootstrap="subsample", max_samples=0.5,
                                  honest=honest, random_state=seed, n_jobs=n_jobs).fit(X, y)  # fmt: skip
    curves, times = forest.predict_survival_function(new, return_array=True), forest.unique_times_
    ends = [np.where((curves <= s).any(axis=1), times[(curves <= s).argmax(axis=1)], np.inf) for s in (0.95, 0.05)]
    low, high = (expon.cdf(end, scale=TIMES[name](new)) for end in ends)
    return (high - low).mean(), np.square(high - low - 0.9).mean()


def of_means(name, n, is_linear, n_trees, seed, n_jobs):
    """(share of intervals of 95 % that hold the mean, mean squared error), by local linear predictions or by plain ones."""
    X, y, new = drawn(name, n, seed, 3)
    mean, _ = DESIGNS[name]
    forest = RandomForestRegressor(
        n_trees, min_samples_leaf=5, max_features=0.5, bootstrap="subsample", honest=True, ci_group_size=2,
        keep_training_data=True, random_state=seed, n_jobs=n_jobs,
    ).fit(X, y)  # fmt: skip
    if is_linear:
        found, error = forest.predict_local_linear(new, range(5), return_std=True)
    else:
        low, high = forest.predict_interval(new, method="little_bags").T
        found, error = forest.predict(new), (high - low) / 2 / norm.ppf(0.975)
    return (np.abs(found - mean(new)) <= norm.ppf(0.975) * error).mean(), np.square(found - mean(new)).mean()


PARTS = {
    "quantiles": (of_quantiles, DESIGNS, ("honest", "not honest")),
    "survival": (of_curves, TIMES, ("honest", "not honest")),
    "means": (of_means, DESIGNS, ("local linear", "plain")),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    for part in given.parts:
        measure, designs, ways = PARTS[part]
        for name in designs:
            for way in ways:
                is_first = way == ways[0]
                found = np.array([measure(name, given.rows, is_first, given.trees, seed, given.jobs)
                                  for seed in range(given.repetitions)])  # fmt: skip
                share, squares = found.mean(axis=0)
                error = found[:, 0].std(ddof=1) / np.sqrt(len(found))
                print(f"{part:10s} {name:10s} {way:12s} {share:7.3f} ± {error:.3f} {np.sqrt(squares):8.3f}", flush=True)


if __name__ == "__main__":
    main()
