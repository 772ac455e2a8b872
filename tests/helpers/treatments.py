"""Small problems of all kinds for forests that are told of treatments."""

import numpy as np
import pandas as pd

from dforest import CausalForest

ARMS = np.array(["none", "some", "much"])


def table(seed, n=240):
    """What a fit may be told of rows, by name: of one treatment, of arms, or with an instrument."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 3] = rng.integers(0, 6, n)
    given = {"X": X, "y": np.nan_to_num(X[:, 0]) * (rng.random(n) < 0.5) + rng.normal(size=n)}
    kind = ["binary", "dose", "arms", "ordered arms", "instrument", "outcomes"][seed % 6]
    number = rng.integers(0, 3, n)
    given["treatment"] = {
        "binary": number > 0,
        "dose": rng.normal(size=n),
        "arms": ARMS[number],
        "ordered arms": pd.Series(pd.Categorical(ARMS[number], ARMS)),
        "instrument": number.astype(float),
        "outcomes": number % 2,
    }[kind]
    if kind == "instrument":
        given["instrument"] = number + rng.normal(size=n)
    if kind == "outcomes":
        given["y"] = np.column_stack([given["y"], rng.normal(size=n)])
    if seed % 4 == 1:
        given["sample_weight"] = rng.random(n) * (rng.random(n) < 0.8)
    if seed % 3 == 1:
        given["groups"] = rng.integers(0, 30, n).astype(str)
    if seed % 5 == 2:
        given["y_hat"] = np.zeros(np.shape(given["y"]))
    return given


def random_forest(seed, n_estimators=12):
    """A causal forest whose parameters differ from seed to seed, not fitted."""
    return CausalForest(
        n_estimators,
        method=["hist", "dense"][seed // 2 % 2],
        honest=seed % 3 > 0,
        stabilize_splits=seed % 5 > 0,
        alpha=[0.05, 0.0, 0.2][seed // 4 % 3],
        imbalance_penalty=[0.0, 0.01][seed // 3 % 2],
        min_samples_leaf=1 + seed % 4,
        max_depth=[None, 3][seed % 7 == 6],
        max_leaf_nodes=[None, 6][seed % 11 == 5],
        categorical_features=[3] if seed % 4 == 2 else None,
        random_state=seed,
    )
