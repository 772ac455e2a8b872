"""Monotonic constraints on boosted trees of several outputs: in none of them a prediction goes the other way."""

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from twins import boosting as twin

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor

NUMBERS = ["squared_error", "poisson", "gamma", "tweedie", "absolute_error", "quantile"]
OF_LOSSES = pytest.mark.parametrize("loss", [*NUMBERS, "log_loss", "exponential"])
ONE_STEP = {"max_iter": 1, "learning_rate": 1.0, "min_samples_leaf": 5, "defaults": "scikit-learn"}
CST = [1, 0, -1, 1]


def data(loss, n=300, seed=0):
    """X with missing values, a y of three columns that mostly keeps to the constraints, and an estimator."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 2)
    signal = np.column_stack([2 * X[:, 0] - X[:, 2], np.abs(X[:, 1]) + X[:, 0] ** 3 / 3, np.sin(3 * X[:, 0]) + X[:, 3]])
    signal += 0.5 * rng.normal(size=signal.shape)
    X[rng.random(X.shape) < 0.1] = np.nan
    given = {"max_iter": 8, "max_leaf_nodes": 9, "min_samples_leaf": 4, "monotonic_cst": CST, "random_state": 0}
    given["defaults"] = "scikit-learn"
    if loss not in NUMBERS:
        return X, (signal > 0).astype(int), HistGradientBoostingClassifier(loss, **given)
    y = np.exp(signal) if loss in ("poisson", "gamma", "tweedie") else signal
    return X, y, HistGradientBoostingRegressor(loss, quantile=0.7 if loss == "quantile" else None, **given)


def raw(model, X):
    return model.decision_function(X) if isinstance(model, HistGradientBoostingClassifier) else model._raw(X)


def assert_monotonic(model, rows, cst, values):
    """Whether no output goes the wrong way along constrained features, from any of some rows."""
    for j in np.flatnonzero(cst):
        line = np.repeat(rows, len(values), axis=0)
        line[:, j] = np.tile(values, len(rows))
        found = raw(model, line).reshape(len(rows), len(values), -1)
        assert (np.diff(found, axis=1) * cst[j] >= 0).all()


@OF_LOSSES
def test_no_output_goes_the_wrong_way(loss):
    X, y, model = data(loss)
    model.set_params(max_iter=30, min_samples_leaf=2, learning_rate=0.3).fit(X, y)
    assert {0, 2, 3} <= set(model.forest_.feature.tolist())
    assert_monotonic(model, X[:30], CST, np.linspace(-4, 4, 120))
    free = clone(model).set_params(monotonic_cst=None).fit(X, y)
    with pytest.raises(AssertionError):
        assert_monotonic(free, X[:30], CST, np.linspace(-4, 4, 120))


@settings(max_examples=examples(25), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from([*NUMBERS, "log_loss", "exponential"]),
    cst=st.lists(st.sampled_from([-1, 0, 1]), min_size=3, max_size=3).filter(any),
    weight=st.sampled_from(["none", "counts", "reals", "light"]),
    parameters=st.fixed_dictionaries({
        "max_leaf_nodes": st.sampled_from([None, 2, 6]),
        "min_samples_leaf": st.integers(1, 6),
        "min_sum_hessian_in_leaf": st.sampled_from([0.0, 1e-3, 3.0]),
        "learning_rate": st.sampled_from([0.1, 1.0]),
        "l1_regularization": st.sampled_from([0.0, 0.5]),
        "l2_regularization": st.sampled_from([0.0, 0.5]),
        "max_delta_step": st.sampled_from([None, 0.3]),
        "path_smooth": st.sampled_from([0.0, 5.0]),
        "subsample": st.sampled_from([1.0, 0.6]),
        "interaction_cst": st.sampled_from([None, "pairwise"]),
    }),
)  # fmt: skip
def test_random_models_are_the_naive_twins_and_monotonic(seed, loss, cst, weight, parameters):
    rng = np.random.default_rng(seed)
    X, y, model = data(loss, n=int(rng.integers(12, 90)), seed=seed)
    X[:, 3] = rng.integers(0, 5, len(X))
    X[:5, 3] = range(5)
    y[0] = 1 - y[1] if y.dtype.kind == "i" else y[0]
    cst = [*cst, 0]
    of_rows = {"none": None, "counts": rng.integers(1, 4, len(X)) * 1.0, "reals": rng.random(len(X)) + 0.1}
    of_rows["light"] = 10.0 ** -rng.choice([0, 6, 11], len(X))
    model.set_params(**parameters, max_iter=2, monotonic_cst=cst, categorical_features=[3]).fit(X, y, of_rows[weight])
    assert_monotonic(model, X[:5], cst, np.linspace(-3, 3, 601))  # among them all values
    grown = twin.grow_booster(
        X, y, loss=loss, max_iter=2, monotonic=cst, seed=model.forest_.seed, sample_weight=of_rows[weight],
        n_categories=[0, 0, 0, 5], max_leaf_nodes=parameters["max_leaf_nodes"], min_samples_leaf=parameters["min_samples_leaf"],
        min_hessian=parameters["min_sum_hessian_in_leaf"], learning_rate=parameters["learning_rate"],
        l1_regularization=parameters["l1_regularization"], l2_regularization=parameters["l2_regularization"],
        max_delta_step=parameters["max_delta_step"] or np.inf, path_smooth=parameters["path_smooth"],
        quantile=0.7 if loss == "quantile" else None,
        n_drawn=None if parameters["subsample"] == 1.0 else int(0.6 * len(X)),
        interactions=None if parameters["interaction_cst"] is None else [{i, j} for i in range(4) for j in range(4)],
    )  # fmt: skip
    assert raw(model, X).tobytes() == grown.raw.tobytes()


@pytest.mark.filterwarnings("ignore::UserWarning")  # of a model that is constant
def test_a_cut_does_not_divide_an_output_that_would_go_the_wrong_way():
    X = np.repeat([0.0, 1.0], 20)[:, None]
    rising, level, falling = X[:, 0], np.ones(40), -0.1 * X[:, 0]

    def steps(*outputs):
        model = HistGradientBoostingRegressor(**ONE_STEP, monotonic_cst=[1])
        return np.diff(model.fit(X, np.column_stack(outputs)).predict([[0.0], [1.0]]), axis=0)[0].tolist()

    assert steps(rising, level) == steps(rising, falling) == [1.0, 0.0]
    assert steps(falling, rising) == [0.0, 1.0]
    assert steps(rising, rising) == [1.0, 1.0]
    assert steps(falling, falling) == [0.0, 0.0]


def test_bounds_are_those_of_each_output():
    """Below the cut of the constrained column, another column would send one output over the bound that the cut set it."""
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 10, float)
    y = np.column_stack([[0, 6, 4, 4] * 10, [0, 0, 8, 30] * 10])
    model = HistGradientBoostingRegressor(**ONE_STEP, monotonic_cst=[1, 0]).fit(X, y)
    values = model.predict(X[:4])
    assert (values[2:] >= values[:2]).all()
    assert values[1, 0] == 3.5  # between 3 and 4, where the sides were parted
    assert values[3, 1] == 30 and values[2, 1] == 9.5  # between 0 and 19


def test_an_output_without_hessian_keeps_no_other_from_being_split():
    X, y, model = data("log_loss")
    with_constant = np.column_stack([y[:, 0], np.zeros(len(y), int)])
    both, alone = clone(model).fit(X, with_constant), clone(model).fit(X, y[:, 0])
    assert (both.forest_.feature == alone.forest_.feature).all() and {0, 2} < set(alone.forest_.feature)
    certain = clone(model).set_params(max_iter=60, learning_rate=1.0, min_sum_hessian_in_leaf=0.5).fit(X, y)
    assert_monotonic(certain, X[:20], CST, np.linspace(-4, 4, 80))
