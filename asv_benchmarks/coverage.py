"""How often intervals of causal forests hold the true effects, in simulations where these are known.

    python asv_benchmarks/coverage.py --repetitions 200 --jobs 2
    python asv_benchmarks/coverage.py --designs wager2 confounded --trees 2000

Each line tells of a design: the share of the intervals of 95 % that hold the effects of forty new rows, the root mean squared
error and the bias of these effects, and the share of the intervals that hold the mean effect, with its bias; ± is a standard
error over the repetitions. doc/guide_causal.md has what was found for these designs.
"""

import argparse
import warnings

import numpy as np

from dforest import CausalForest

N_FEATURES = 10


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def steep(x):
    return 1 + sigmoid(20 * (x - 1 / 3))


# Whether features are uniform, the effect, the share of treated rows, and the outcome of others but for noise.
DESIGNS = {
    "constant": (False, lambda X: np.ones(len(X)), lambda X: 0.5, lambda X: np.maximum(X[:, 0], 0) + X[:, 1]),
    "confounded": (False, lambda X: 1 + np.maximum(X[:, 0], 0), lambda X: sigmoid(X[:, 1] + 0.5 * X[:, 2]),
                   lambda X: 2 * X[:, 1] + X[:, 2]),
    "wager2": (True, lambda X: steep(X[:, 0]) * steep(X[:, 1]), lambda X: 0.5, lambda X: 0.0),
    "wager5": (True, lambda X: sigmoid(8 * (X[:, :5] - 0.5)).sum(axis=1), lambda X: 0.5, lambda X: 0.0),
    "none": (False, lambda X: np.zeros(len(X)), lambda X: sigmoid(X[:, 1]), lambda X: 2 * X[:, 1] + X[:, 2]),
    "unbalanced": (False, lambda X: sigmoid(2 * X[:, 0]), lambda X: 0.1, lambda X: X[:, 1]),
}  # fmt: skip
# Instruments that move so large a share of the rows, and groups of ten rows that share three features and a part of the outcome.
INSTRUMENTS = {"strong": 0.8, "weak": 0.3}
NAMES = [*DESIGNS, *INSTRUMENTS, "clusters"]


def effects(name, X):
    if name in DESIGNS:
        return DESIGNS[name][1](X)
    return 1 + sigmoid(2 * X[:, 3 if name == "clusters" else 0])


def rows(name, n, random):
    return random.random((n, N_FEATURES)) if name in DESIGNS and DESIGNS[name][0] else random.normal(size=(n, N_FEATURES))


def draw(name, n, random):
    """X, and what `fit` is told beside it."""
    X = rows(name, n, random)
    if name in INSTRUMENTS:
        z, hidden = (random.random(n) < 0.5).astype(float), random.normal(size=n)
        w = np.where(random.random(n) < INSTRUMENTS[name], z, hidden > 0)
        y = effects(name, X) * w + X[:, 1] + hidden + 0.5 * random.normal(size=n)
        return X, {"y": y, "treatment": w, "instrument": z}
    if name == "clusters":
        groups = np.arange(n) // 10
        X[:, :3] = X[groups * 10, :3]
        shared = 0.7 * random.normal(size=n)[groups]
        w = (random.random(n) < 0.5).astype(float)
        y = X[:, 0] + shared + effects(name, X) * w + random.normal(size=n)
        return X, {"y": y, "treatment": w, "groups": groups}
    _, effect, share, level = DESIGNS[name]
    w = (random.random(n) < share(X)).astype(float)
    return X, {"y": level(X) + effect(X) * w + random.normal(size=n), "treatment": w}


def measured(name, n_rows, n_trees, n_repetitions, n_jobs):
    """What is found in each repetition: ndarray of shape (n_repetitions, 6)."""
    new, many = (rows(name, n, np.random.default_rng(99)) for n in (40, 400_000))
    truth, mean, found = effects(name, new), effects(name, many).mean(), []
    for repetition in range(n_repetitions):
        X, told = draw(name, n_rows, np.random.default_rng([repetition, NAMES.index(name)]))
        forest = CausalForest(n_trees, random_state=repetition, n_jobs=n_jobs).fit(X, **told)
        predicted, ends, average = forest.predict(new), forest.predict_interval(new), forest.average_effect()
        low, high = average.interval()
        held = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        error = predicted - truth
        found.append((held.mean(), np.square(error).mean(), error.mean(), low <= mean <= high, average.estimate - mean,
                      average.standard_error))  # fmt: skip
    return np.array(found, float)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--designs", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of few rows to compare with
    print(f"{'design':12s}{'points':>16s}{'error':>9s}{'bias':>8s}{'average':>16s}{'bias':>17s}")
    for name in given.designs:
        found = measured(name, given.rows, given.trees, given.repetitions, given.jobs)
        mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
        print(f"{name:12s}{mean[0]:9.3f} ± {error[0]:.3f}{np.sqrt(mean[1]):9.3f}{mean[2]:+8.3f}{mean[3]:9.3f} ± {error[3]:.3f}"
              f"{mean[4]:+9.3f} ± {error[4]:.3f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
