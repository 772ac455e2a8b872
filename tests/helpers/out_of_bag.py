"""Problems for estimates from the rows that trees left out."""

import numpy as np

from dforest import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from helpers.ranks import one_of


def random_problem(seed, n=None):
    """A forest that has rows out of the bag: (a forest to fit, X, y, sample_weight or None)."""
    rng = np.random.default_rng([seed, 1])
    n = n or int(rng.integers(5, 200))
    X = rng.standard_normal((n, 4)).astype(one_of(rng, np.float32, np.float64))
    X[:, 2] = rng.integers(0, 6, n)
    y = X[:, 0] + (X[:, 2] % 2) + rng.standard_normal(n)
    if rng.random() < 0.5:
        X[rng.random(X.shape) < 0.1] = np.nan
    weight = one_of(rng, None, rng.random(n) + 0.1, rng.integers(0, 3, n) / 4, rng.integers(0, 2, n) + 0.0)
    if weight is not None:
        weight[0] = 1
    parameters = {
        "n_estimators": one_of(rng, 1, 3, 20),
        "bootstrap": True,
        "oob_score": True,
        "max_samples": one_of(rng, None, 0.3, 3.0),
        "max_depth": one_of(rng, None, 3),
        "categorical_features": one_of(rng, None, [2]),
        "method": one_of(rng, "hist", "dense"),
        "splitter": "random",
        "random_state": seed,
        "n_jobs": one_of(rng, 1, 2),
    }
    if rng.random() < 0.5:
        return one_of(rng, RandomForestRegressor, ExtraTreesRegressor)(**parameters), X, y * one_of(rng, 1, 1e9, 1e-200), weight
    y = np.array(["a", "b", "d"])[np.digitize(y, [0, 1.2])]
    class_weight = one_of(rng, None, "balanced", "balanced_subsample", {"a": 3, "b": 0})
    if isinstance(class_weight, dict) and (y[(1 if weight is None else weight) > 0] == "b").all():
        class_weight = None
    parameters |= {"voting": one_of(rng, "soft", "hard"), "class_weight": class_weight}
    return RandomForestClassifier(**parameters), X, y, weight
