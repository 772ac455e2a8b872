"""Forests grown on a device and on the CPU, to be compared: random problems, and how to grow on a device that stands in.

Run as a program, ``python -m helpers.device_forests LIBRARY FIRST LAST`` grows the problems of these seeds on a
`HostDevice` of two threads with the kernels of a library, perhaps one with sanitizers, and on the CPU, predicts and estimates by
their forests, grows boosted trees too, and fails if anything differs.
"""

import sys
from contextlib import contextmanager

import numpy as np
from sklearn.base import clone

import dforest
from dforest.backends.sycl import devices
from dforest.core.draws import TreeDraws
from dforest.core.predict import out_of_bag
from dforest.core.predict.permutation import permutation_error_increase
from dforest.engines.device import backend
from dforest.engines.device import out_of_bag as out_of_bag_there
from dforest.engines.device.predictor import DevicePredictor
from helpers.magnitudes import about_ten_to

# Sizes of the machinery on a device, at their extremes.
TUNINGS = [
    {},
    {"subtree_up_to": 0, "chunk": 64},
    {"subtree_up_to": 30, "chunk": 64, "n_items": 4, "n_together": 2, "cache_bytes": 0, "alone_up_to": 3},
    {"subtree_up_to": 100, "chunk": 128, "n_items": 7, "n_groups": 3, "n_growing": 2, "cache_bytes": 1 << 30, "alone_up_to": 0},
    {"n_items": 32, "extra_features": 1, "slice_records": 50, "histogram_bytes": 1, "subtree_up_to": 60},
    {"subtree_up_to": 500, "chunk": 1 << 20, "n_together": 1, "batch_bytes": 9 << 20},
]


def random_fit(seed):
    """An estimator with random parameters, and data to fit it to.

    Parameters
    ----------
    seed : int

    Returns
    -------
    estimator : estimator
        Not fitted.
    X, y : ndarray
    sample_weight : ndarray or None
    """
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.integers(20, 700)), int(rng.integers(1, 12))
    X = rng.standard_normal((n_rows, n_features)).astype(rng.choice([np.float32, np.float64]))
    for j in range(n_features):  # columns of few values, of many, of one, with infinities
        digits = rng.choice([-2, 0, 1, 6])
        X[:, j] = np.round(X[:, j], digits) * X.dtype.type(10.0) ** int(rng.integers(-3, 4))
        if rng.random() < 0.1:
            X[rng.random(n_rows) < 0.1, j] = rng.choice([np.inf, -np.inf])
    if rng.random() < 0.6:
        X[rng.random(X.shape) < rng.choice([0.02, 0.3, 0.9])] = np.nan
    categorical = [j for j in range(1, n_features) if rng.random() < 0.3] if rng.random() < 0.5 else []
    for j in categorical:
        number = np.abs(np.nan_to_num(X[:, j], nan=0.0, posinf=1, neginf=1)) % rng.choice([1, 3, 70, 5000])
        X[:, j] = np.where(np.isnan(X[:, j]), np.nan, np.floor(number))
    signal = np.nan_to_num(X[:, 0].astype(np.float64), posinf=3, neginf=-3) + rng.standard_normal(n_rows)
    weight = [
        None, rng.integers(1, 5, n_rows), rng.random(n_rows) + 1e-9,
        about_ten_to(rng.uniform(-rng.choice([9, 12, 40, 250]), 0, n_rows)),
    ][rng.integers(4)]  # fmt: skip
    parameters = {
        "n_estimators": int(rng.integers(1, 5)),
        "bootstrap": bool(rng.random() < 0.7),
        "max_bins": int(rng.choice([2, 7, 64, 256, 1000])),
        "max_features": float(rng.choice([0.01, 0.5, 1.0])),
        "min_samples_leaf": int(rng.choice([1, 1, 4])),
        "min_samples_split": int(rng.choice([2, 2, 9])),
        "min_weight_fraction_leaf": float(rng.choice([0.0, 0.0, 0.02])),
        "max_leaf_nodes": [None, None, int(rng.integers(2, 60))][rng.integers(3)],
        "max_depth": [None, None, 3][rng.integers(3)],
        "ordinal_features": [0] if rng.random() < 0.2 and np.isfinite(X[:, 0]).all() else None,
        "categorical_features": categorical or None,
        "categorical_split": rng.choice(["subset", "one_hot"]),
        "random_state": seed,
    }
    if rng.random() < 0.5:
        family = [dforest.RandomForestClassifier, dforest.ExtraTreesClassifier][rng.integers(2)]
        y = np.digitize(signal, np.quantile(signal, np.sort(rng.random(int(rng.integers(1, 6))))))
        parameters["criterion"] = rng.choice(["gini", "entropy", *(["hellinger"] if y.max() <= 1 else [])])
        parameters["impurity_threshold"] = float(rng.choice([0.0, 0.0, 0.2]))
        parameters["min_impurity_decrease"] = float(rng.choice([0.0, 0.0, 0.01]))
        parameters["class_weight"] = [None, None, "balanced_subsample"][rng.integers(3)]
    else:
        family = [dforest.RandomForestRegressor, dforest.ExtraTreesRegressor][rng.integers(2)]
        parameters["criterion"] = rng.choice(["squared_error", "poisson", "absolute_error"])
        skewed, far = np.float32(np.exp(2 * np.clip(signal, -9, 9))), np.where(rng.random(n_rows) < 0.01, 1e12, signal)
        y = [signal, np.round(signal), skewed, far][rng.integers(4)]
        if parameters["criterion"] == "poisson":
            y = np.abs(y)
        parameters["impurity_threshold"] = float(rng.choice([0.0, 0.0, 0.3]))
    if rng.random() < 0.4 and ("Regressor" in family.__name__ or len(np.unique(y)) == 2):
        parameters["monotonic_cst"] = [0 if j in categorical else int(rng.integers(-1, 2)) for j in range(n_features)]
    parameters["skip_constant_features"] = bool(rng.random() < 0.7)
    parameters["method"] = rng.choice(["hist", "dense"])
    parameters = {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}
    return family(**parameters), X, y, weight


def random_fit_of_outputs(seed):
    """`random_fit` with a y of several columns, some of them of one number or class, of huge numbers, or like others."""
    estimator, X, y, weight = random_fit(seed)
    rng, n_rows = np.random.default_rng([seed, 1]), len(X)
    columns, is_regression = [y], hasattr(estimator, "predict_interval")
    for _ in range(int(rng.choice([1, 1, 2, 3, 9]))):
        kind, mixed = rng.integers(5), y[rng.permutation(n_rows)] if rng.random() < 0.5 else y[::-1]
        if kind == 0:
            columns.append(np.full(n_rows, y[0]))
        elif is_regression:
            columns.append(mixed * 10.0 ** int(rng.integers(-9, 9)) + (kind == 1) * 1e5)
        else:
            columns.append(rng.integers(0, 1 + int(rng.choice([1, 1, 4])), n_rows) if kind < 3 else mixed)
    order = rng.permutation(len(columns))
    y = np.column_stack([columns[k] for k in order])
    if estimator.criterion == "hellinger":
        y = np.minimum(y, 1)
    if not is_regression and weight is not None and weight.min() < 1e-20:  # the factors of all outputs are multiplied
        estimator.set_params(class_weight=None)
    return estimator.set_params(monotonic_cst=None), X, y, weight


def differences(a, b, names=None):
    """The names of the arrays, all or some, in which two fitted estimators' forests differ by a bit."""
    a, b = a.forest_.as_dict(), b.forest_.as_dict()
    return [
        name
        for name in names or a
        if a[name].dtype != b[name].dtype or a[name].shape != b[name].shape or a[name].tobytes() != b[name].tobytes()
    ]


def tables(forest):
    """What a forest keeps, by name: bytes."""
    return {name: array.tobytes() for name, array in forest.as_dict().items()}


def assert_same(a, b, names=None):
    """Two fitted estimators have the same forest, or the same of its arrays, to the bit."""
    assert not differences(a, b, names)


def same_forest(a, b):
    return not differences(a, b)


def differences_afterwards(model, X, y, weight, device):
    """What a fitted estimator's forest says of rows on a device and on the CPU: the names of what differs by a bit.

    Parameters
    ----------
    model : estimator
    X : ndarray
    y, weight : ndarray or None
        As it was fitted to. Rows are estimated out of bag where none of them has weight 0, and trees leave rows out.
    device : dforest.engines.device.backend.Device
    """
    forest, different = model.forest_, []
    X = np.ascontiguousarray(X, np.result_type(X, forest.threshold))
    packed = forest.packed_leaves()
    there = DevicePredictor(device, packed)
    for name in ("mean", "most", "apply"):
        if getattr(packed, name)(X, 1).tobytes() != getattr(there, name)(X).tobytes():
            different.append(name)
    if not all(plan.leaves_rows_out for plan in forest.plans) or (forest.n_rows != len(X)).any():
        return different
    is_regression = not hasattr(model, "classes_")
    target = np.asarray(y, np.float64) if is_regression else np.searchsorted(model.classes_, y).astype(np.float64)
    draws = TreeDraws(forest.plans, forest.seeds, len(X), 1)
    leaf_class = None if is_regression else forest.leaf_class()
    exponent = out_of_bag.square_exponent(np.abs(target).max(), np.abs(forest.leaf_value).max()) if is_regression else 0
    here = out_of_bag.predict_out_of_bag(packed, X, target, leaf_class, draws, exponent, 1)
    found = out_of_bag_there.predict_out_of_bag(device, packed, X, target, leaf_class, draws, exponent)
    here, found = ((*votes, out_of_bag.curve_of(totals, exponent), n) for *votes, totals, n in (here, found))
    names = ("sums", "votes", "n_votes", "errors", "n_new")
    different += [name for name, a, b in zip(names, here, found, strict=True) if a.tobytes() != b.tobytes()]
    used = np.zeros((forest.n_trees, forest.n_features), bool)
    for t, nodes in enumerate(np.split(forest.feature, forest.node_offsets[1:-1])):
        used[t, nodes[nodes >= 0]] = True
    value = forest.leaf_value if is_regression else leaf_class.astype(np.float64)
    counts = None if weight is None else np.arange(1, len(X) + 1, dtype=np.uint32) % 7 + np.uint32(1)
    work = packed, X, target, value, is_regression, counts, draws
    rises = permutation_error_increase(*work, 1), out_of_bag_there.permutation_error_increase(device, *work, used)
    return different + ["rises"] * (rises[0].tobytes() != rises[1].tobytes())


@contextmanager
def standing_in(device):
    """Inside a `with` block, any device that is asked for is this one."""
    before = devices.find_device
    devices.find_device = lambda *_: device
    try:
        yield
    finally:
        devices.find_device = before


@contextmanager
def tuned(tuning):
    """Inside a `with` block, the machinery on devices has these sizes."""
    before = backend.TUNING
    backend.TUNING = {**before, **tuning}
    try:
        yield
    finally:
        backend.TUNING = before


def fit_there(estimator, X, y, sample_weight=None, device="sycl", tuning=None, **given):
    """A clone of an estimator, fitted on a device; `given` is what `fit` takes besides."""
    with tuned(tuning or {}):
        return clone(estimator).set_params(device=device).fit(X, y, sample_weight, **given)


def main(library, first, last):
    """Run the program that the module's docstring describes."""
    from helpers import boosted_fits
    from helpers.host_device import load_kernels, strict_device

    kernels, losses = load_kernels(library), [*boosted_fits.REGRESSION, *boosted_fits.CLASSES]

    def compare(estimator, X, y, weight):
        here = clone(estimator).fit(X, y, weight)
        for number, tuning in enumerate(TUNINGS):
            with standing_in(strict_device(kernels, 2, is_cpu=number % 2 == 0)):
                there = fit_there(estimator, X, y, weight, tuning=tuning)
            different = differences(here, there)
            if different:
                sys.exit(f"seed {seed}, {estimator!r}, sizes {tuning}: {different} differ")
        return here

    for seed in range(first, last):
        compare(*boosted_fits.random_fit(seed, losses[seed % len(losses)]))
        has_outputs = seed % 4 == 3
        estimator, X, y, weight = (random_fit_of_outputs if has_outputs else random_fit)(seed)
        here = compare(estimator, X, y, weight)
        for n_items in () if has_outputs else (1, 5):  # estimates are made output by output
            different = differences_afterwards(here, X, y, weight, strict_device(kernels, 2, n_items))
            if different:
                sys.exit(f"seed {seed}, {estimator!r}, {n_items} items: {different} differ")
    print(f"{last - first} problems: the same forests, boosted trees, predictions and estimates")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
