"""Local linear predictions: ridge regressions of neighbours, one by one, and how much trees move them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dforest import ExtraTreesRegressor, RandomForestRegressor
from dforest.estimators.results.intervals import mean_and_variance

RNG = np.random.default_rng(0)
N = 150
X = RNG.normal(size=(N, 4)) * [1.0, 100.0, 1e-3, 1.0] + [0.0, 1e4, 0.0, 5.0]
Y = np.column_stack([X[:, 0] + X[:, 3], X[:, 1] / 100]) + 0.1 * RNG.normal(size=(N, 2))
BAGS = {"bootstrap": "subsample", "ci_group_size": 2}


def fitted(kind=RandomForestRegressor, y=Y[:, 0], X=X, weight=None, **parameters):
    own = {"min_samples_leaf": 5, "keep_training_data": True, "random_state": 0, **parameters}
    return kind(20, **own).fit(X, y, weight)


def line(alpha, x, at, y, ridge):
    """The naive twin: the coefficients of a weighted ridge regression around a row, and its square matrix without penalty."""
    delta = np.column_stack([np.ones(len(x)), x - at])
    square = (delta * alpha[:, None]).T @ delta
    penalty = np.diag(np.append(0.0, ridge * np.diag(square)[1:]))
    return np.linalg.solve(square + penalty, (delta * alpha[:, None]).T @ y), square + penalty, penalty


@given(
    st.sampled_from([RandomForestRegressor, ExtraTreesRegressor]), st.booleans(), st.booleans(), st.booleans(),
    st.sampled_from([[0], [3, 1], [0, 1, 2, 3]]), st.sampled_from([0.01, 0.1, 3.0]),
)  # fmt: skip
def test_predictions_are_weighted_regressions(kind, honest, weighted, several, features, ridge):
    weight = RNG.random(N) if weighted else None
    forest = fitted(kind, Y if several else Y[:, 0], weight=weight, honest=honest, bootstrap=True)
    new = X[:5] + 0.1 * X.std(axis=0)
    weights, found = forest.forest_weights(new).toarray(), forest.predict_local_linear(new, features, ridge=ridge)
    for alpha, row, at in zip(weights, found, new, strict=True):
        expected = line(alpha, X[:, features], at[features], Y if several else Y[:, 0], ridge)[0][0]
        np.testing.assert_allclose(row, expected, rtol=1e-5)
    if not several and not weighted:
        own = forest.proximity().toarray()
        np.testing.assert_allclose(
            forest.predict_local_linear(features=features, ridge=ridge)[7],
            line(own[7], X[:, features], X[7, features], Y[:, 0], ridge)[0][0], rtol=1e-5,
        )  # fmt: skip


def test_errors_are_those_of_the_linearised_trees():
    forest, features, ridge = fitted(**BAGS), [0, 3], 0.1
    trees, new = forest.forest_, X[:3]
    _, found = forest.predict_local_linear(new, features, ridge=ridge, return_std=True)
    leaves, reached = forest.apply(X), forest.apply(new)
    for i, at in enumerate(new):
        own = np.array([(leaves[:, t] == reached[i, t]) * trees.row_counts(t) for t in range(trees.n_trees)], float)
        own /= own.sum(axis=1, keepdims=True)
        theta, square, penalty = line(own.mean(axis=0), X[:, features], at[features], Y[:, 0], ridge)
        delta = np.column_stack([np.ones(N), X[:, features] - at[features]])
        score = (own * (Y[:, 0] - delta @ theta)) @ delta - penalty @ theta
        moved = score @ np.linalg.inv(square)[0]
        np.testing.assert_allclose(found[i], np.sqrt(mean_and_variance(moved[None], 2)[1][0]), rtol=1e-4)


def test_lines_do_not_depend_on_units_and_threads():
    forest, scaled = fitted(n_jobs=1), fitted(X=X * [1.0, 2.0**40, 2.0**-40, 1.0], n_jobs=3)
    one = forest.predict_local_linear(X)
    np.testing.assert_allclose(scaled.predict_local_linear(X * [1.0, 2.0**40, 2.0**-40, 1.0]), one, rtol=1e-6)
    assert fitted(n_jobs=3).predict_local_linear(X).tobytes() == one.tobytes()


def test_frames_and_rows_without_weight():
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = fitted(X=frame)
    assert np.array_equal(named.predict_local_linear(frame, ["a", "d"]), fitted().predict_local_linear(X, [0, 3]))
    weight = np.where(np.arange(N) % 3 == 0, 0.0, 1.0)
    found = fitted(weight=weight).predict_local_linear(features=[0])
    assert np.isnan(found[weight == 0]).all() and np.isfinite(found[weight > 0]).sum() > 90


def test_what_a_line_cannot_be_is_said():
    forest, holes = fitted(), np.where(X > 5, np.nan, X)
    for ask, message in (
        (lambda: forest.predict_local_linear(X, [4]), "features has 4; allowed are numbers from 0 to 3"),
        (lambda: forest.predict_local_linear(X, ["a"]), "features has 'a'; allowed are numbers from 0 to 3"),
        (lambda: forest.predict_local_linear(X, [0, 0]), "allowed are one column or more, each once"),
        (lambda: forest.predict_local_linear(X, ridge=-1), "ridge=-1; allowed are numbers from 0 on"),
        (lambda: forest.predict_local_linear(X, return_std=True), "return_std=True needs two bags of trees or more"),
        (lambda: forest.predict_local_linear(holes), "X: row 0 has nan in column 1; a line needs finite numbers"),
        (lambda: fitted(X=holes).predict_local_linear(X), "training rows: row 0 has nan in column 1"),
        (lambda: fitted(categorical_features=[3], X=X.round()).predict_local_linear(X.round(), [3]), "a column of labels"),
        (lambda: fitted(keep_training_data=False).predict_local_linear(X), "keep_training_data=False"),
    ):
        with pytest.raises(ValueError, match=message):
            ask()
