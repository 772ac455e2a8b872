"""Fitted estimators that other libraries are to have, and rows beside their thresholds."""

from importlib.util import find_spec

import numpy as np
import pandas as pd

import dforest
from dforest.interchange.conversion.columns import probes_of
from dforest.splitter import Splitter

HAS_ONNXRUNTIME = find_spec("onnxruntime") is not None  # of which the newest Pythons have no wheel
LOSSES = ("squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie", "mape", "cross_entropy")


def data_of(n=400, seed=0, dtype=np.float64, categories=False):
    """Rows with missing and infinite values, and targets above 0; with categories, columns 0 and 1 hold integers from 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    if categories:
        X[:, 0] = 3 * rng.integers(0, 12, n)
        X[:, 1] = rng.integers(0, 90, n)
    z = X[:, 2] + X[:, 3] * (X[:, 4] > 0) + X[:, 0] % 4 + 0.1 * (X[:, 1] % 7) + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[rng.random(n) < 0.03, 5] = np.inf
    X[rng.random(n) < 0.03, 4] = -np.inf
    return X.astype(dtype), z - z.min() + 0.1


def models(dtype=np.float64, categories=False, seed=0, n=400):
    """Fitted estimators of all kinds: (name, estimator)."""
    X, z = data_of(n, seed, dtype, categories)
    three, two = np.array(["few", "many", "more"])[np.digitize(z, np.quantile(z, [0.3, 0.6]))], z > np.median(z)
    common = {"random_state": seed, "categorical_features": [0, 1] if categories else None}
    for name in ("RandomForest", "ExtraTrees"):
        yield f"{name} of numbers", getattr(dforest, f"{name}Regressor")(7, **common).fit(X, z)
        yield f"{name} of three classes", getattr(dforest, f"{name}Classifier")(7, **common).fit(X, three)
    yield "votes of two classes", dforest.RandomForestClassifier(8, voting="hard", **common).fit(X, two)
    yield "one class", dforest.RandomForestClassifier(2, **common).fit(X, np.zeros(n, int))
    yield "classes of integers", dforest.DecisionTreeClassifier(**common).fit(X, z.astype(int) - 1)
    yield "a leaf", dforest.RandomForestRegressor(3, **common).fit(X, np.full(n, 0.1))
    yield "leaves of two rows", dforest.DecisionTreeRegressor(max_depth=1, **common).fit(X, z)
    for loss in LOSSES:
        quantile = {"quantile": 0.3} if loss == "quantile" else {}
        yield loss, dforest.HistGradientBoostingRegressor(loss=loss, max_iter=6, **quantile, **common).fit(
            X, z / z.max() if loss == "cross_entropy" else z
        )
    boosted = dforest.HistGradientBoostingClassifier
    yield "boosted, two classes", boosted(max_iter=6, **common).fit(X, two)
    yield "boosted, one class", boosted(max_iter=2, **common).fit(X, np.full(n, "all"))
    yield "boosted, a class without weight", boosted(max_iter=3, **common).fit(X, three, sample_weight=three != "few")
    yield "boosted, focal loss", boosted(max_iter=6, loss="focal", **common).fit(X, two)
    yield "boosted, exponential loss", boosted(max_iter=6, loss="exponential", **common).fit(X, two)
    yield "boosted, three classes", boosted(max_iter=6, **common).fit(X, three)


def models_of_several_outputs(dtype=np.float64, categories=False, seed=0, n=400):
    """As `models`, of two or three outputs; boosted trees are not grown on categories then."""
    X, z = data_of(n, seed, dtype, categories)
    numbers = np.stack([z, 100 * z[::-1], z * np.nan_to_num(X[:, 2])], axis=1)
    levels = np.digitize(z, np.quantile(z, [0.3, 0.6]))
    common = {"random_state": seed, "categorical_features": [0, 1] if categories else None}
    yield "numbers", dforest.RandomForestRegressor(7, **common).fit(X, numbers, levels + 0.5)
    yield "leaves of numbers", dforest.RandomForestRegressor(2, **common).fit(X, np.full((n, 2), [0.1, 7.0]))
    yield "a tree of numbers", dforest.ExtraTreeRegressor(max_depth=4, **common).fit(X, numbers[:, :2])
    classes = np.stack([levels * 2, z > z[::-1], np.full(n, 5)], axis=1)
    yield "classes", dforest.ExtraTreesClassifier(7, class_weight="balanced", **common).fit(X, classes)
    text = np.array(["few", "many", "more"])[np.stack([levels, levels[::-1]], axis=1)]
    yield "votes for text", dforest.RandomForestClassifier(8, voting="hard", **common).fit(X, text)
    mixed = np.stack([text[:, 0].astype(object), classes[:, 1]], axis=1)
    yield "a tree of mixed classes", dforest.DecisionTreeClassifier(**common).fit(X, mixed)
    for loss in () if categories else ("squared_error", "poisson", "cross_entropy"):
        y = numbers if loss == "squared_error" else numbers[:, :2] / (1.0 if loss == "poisson" else numbers[:, :2].max())
        yield f"boosted, {loss}", dforest.HistGradientBoostingRegressor(loss=loss, max_iter=6, random_state=seed).fit(X, y)


def model_of_quantiles(dtype=np.float64, categories=False):
    """A fitted estimator of several quantiles, whose raw predictions of some rows are not in order."""
    X, z = data_of(dtype=dtype, categories=categories)
    common = {"categorical_features": [0, 1] if categories else None, "random_state": 0}
    model = dforest.HistGradientBoostingRegressor("quantile", quantile=[0.4, 0.5, 0.6], max_iter=30, learning_rate=1.0, **common)
    model.set_params(min_samples_leaf=3, max_features=1.0, early_stopping=False).fit(X, z)
    assert (np.diff(model._raw(X), axis=1) < 0).any()
    return model


def labelled(seed, n=150):
    """A frame of categories and ordered levels, whose labels are numbers in any order, and of numbers; targets, and weights."""
    rng = np.random.default_rng(seed)
    few, many = rng.permutation(np.arange(-9, 30, 3))[:5], rng.permutation(20)[:14] - 4
    levels = rng.permutation(np.arange(6) / 2)
    a, b, c, d = rng.choice(few, n), rng.choice(many, n), rng.choice(levels, n), rng.integers(0, 9, n) / 4
    z = a % 4 + b % 5 * (d > 1) + 3 * (np.searchsorted(np.sort(levels), c) % 2) + rng.normal(size=n)
    columns = {
        "few": pd.Categorical(np.where(rng.random(n) < 0.1, np.nan, a)),
        "many": pd.Categorical(np.where(rng.random(n) < 0.1, np.nan, b)),
        "levels": pd.Categorical(np.where(rng.random(n) < 0.1, np.nan, c), categories=levels, ordered=True),
        "number": np.where(rng.random(n) < 0.1, np.nan, d),
    }
    return pd.DataFrame(columns), z - z.min() + 0.1, rng.choice([0.3, 1.0, 2.5], n)


def labelled_models(seed):
    """Fitted estimators of `labelled` data: (name, estimator, frame)."""
    X, z, weight = labelled(seed)
    classes, common = np.digitize(z, np.quantile(z, [0.3, 0.6])), {"random_state": seed}
    for split in ("subset", "one_hot"):
        for method in ("hist", "dense"):
            forests = {"categorical_split": split, "method": method, "max_features": 2, **common}
            forest = dforest.RandomForestRegressor(3, **forests).fit(X, z, weight)
            yield f"numbers by {method}, {split}", forest, X
            yield f"classes by {method}, {split}", dforest.RandomForestClassifier(3, **forests).fit(X, classes, weight), X
    yield "extra trees", dforest.ExtraTreesRegressor(3, max_depth=6, **common).fit(X, z), X
    yield "votes", dforest.RandomForestClassifier(4, voting="hard", max_depth=5, **common).fit(X, classes), X
    yield "a tree of two outputs", dforest.DecisionTreeRegressor(max_depth=5, **common).fit(X, np.c_[z, z[::-1]]), X
    yield "a tree of classes", dforest.DecisionTreeClassifier(max_leaf_nodes=9, **common).fit(X, np.c_[classes, z > 5]), X
    boosted = {"max_iter": 4, "min_samples_leaf": 3, **common}
    yield "boosted numbers", dforest.HistGradientBoostingRegressor(**boosted).fit(X, z, weight), X
    yield "boosted classes", dforest.HistGradientBoostingClassifier(**boosted).fit(X, classes), X


def held_rows(estimator, labels=None, dtype=np.float64):
    """Rows at and next to thresholds of up to 500 nodes, other than those by which conversions are compared."""
    return probes_of(estimator, dtype, labels, infinite=True, n_nodes=500, seed=1)[1]


class Own(Splitter):
    """What says that it makes tests of its own."""

    has_own_tests = True

    def __repr__(self):
        return "Own()"


def with_own_tests(estimator):
    estimator.forest_.__dict__["splitter"] = Own()
    return estimator
