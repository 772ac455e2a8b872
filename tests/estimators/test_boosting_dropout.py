"""Boosted trees with dropouts: `boosting="dart"`."""

import numpy as np
import pytest
from helpers.boosting import assert_equal_models, problem
from helpers.callbacks import FailAfter
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import get_scorer
from twins.boosting import flatten, grow_booster

from dforest import HistGradientBoostingClassifier, HistGradientBoostingDistribution, HistGradientBoostingRegressor
from dforest.callback import Checkpoint
from dforest.estimators.boosting.dropout import DropRule

DART = {"boosting": "dart", "skip_drop": 0.2, "drop_rate": 0.4}
LOSSES = ["squared_error", "absolute_error", "poisson", "log_loss", "multinomial"]


@given(st.integers(0, 2**64 - 1), st.integers(0, 60), st.floats(0, 1), st.sampled_from([None, 1, 3, 100]))
def test_what_is_dropped(seed, iteration, rate, most):
    rule = DropRule(rate, 0.0, most, 0.1, seed)
    dropped = rule.dropped(iteration)
    assert len(dropped) <= (iteration if most is None else min(most, iteration))
    assert (np.diff(dropped) > 0).all() and set(dropped.tolist()) <= set(range(iteration))
    assert np.array_equal(dropped, rule.dropped(iteration))
    assert len(DropRule(rate, 1.0, most, 0.1, seed).dropped(iteration)) == 0
    assert len(DropRule(1.0, 0.0, None, 0.1, seed).dropped(iteration)) == iteration


def test_how_often():
    counts = np.array([[len(DropRule(0.1, 0.5, 50, 0.1, seed).dropped(200)) for seed in range(400)],
                       [len(DropRule(0.4, 0.5, 50, 0.1, seed).dropped(200)) for seed in range(400)]])  # fmt: skip
    assert np.allclose((counts == 0).mean(axis=1), 0.5, atol=0.08)
    assert abs(counts[0][counts[0] > 0].mean() - 20) < 1 and (counts[1][counts[1] > 0] == 50).all()
    every = np.bincount(np.concatenate([DropRule(0.9, 0.0, 5, 0.1, seed).dropped(20) for seed in range(800)]), minlength=20)
    assert every.min() > 140 and every.max() < 260  # each is as likely as any other: 200


@pytest.mark.parametrize("loss", LOSSES)
@given(seed=st.integers(0, 2**20))
def test_the_twin(loss, seed):
    rng = np.random.default_rng(seed)
    X, y, model = problem(loss, n=int(rng.integers(20, 90)), seed=seed)
    if len(np.unique(y)) < 2 + (loss == "multinomial"):
        return
    rate = float(rng.choice([0.1, 0.5, 1.0]))
    model.set_params(**DART, max_drop=int(rng.integers(1, 5)), learning_rate=rate, random_state=int(seed), min_samples_leaf=2)
    model.set_params(max_iter=int(rng.integers(2, 9)), max_leaf_nodes=int(rng.integers(2, 6)), drop_rate=rng.random())
    model.fit(X, y)
    rule = DropRule(model.drop_rate, model.skip_drop, model.max_drop, rate, model.forest_.seed)
    numbers = y if loss not in ("log_loss", "multinomial") else np.searchsorted(model.classes_, y).astype(float)
    twin = grow_booster(
        X, numbers, loss=loss, n_classes=3, max_iter=model.max_iter, learning_rate=rate, max_leaf_nodes=model.max_leaf_nodes,
        min_samples_leaf=2, max_bins=model.max_bins, seed=model.forest_.seed, dropped=rule.dropped,
    )  # fmt: skip
    trees = [(flatten(tree), weight) for round_, weight in zip(twin.rounds, twin.weights, strict=True) for tree in round_]
    forest = model.forest_
    assert np.array_equal(forest.feature, np.concatenate([tree["feature"] for tree, _ in trees]))
    tree_of, span = forest.tree_reader(), forest.objective.leaf_words["leaf_value"]
    for t, (tree, weight) in enumerate(trees):
        values = np.ascontiguousarray(tree_of(t).leaves[:, span]).view(np.float64)
        assert np.array_equal(values, weight * tree["values"][tree["feature"] < 0])


OF_ANY = [
    {}, {"subsample": 0.5}, {"sampling": "mvs", "subsample": 0.5}, {"max_features": 0.5},
    {"categorical_features": [0], "categorical_split": "order"}, {"split_axis": "oblique"},
]  # fmt: skip
LINEAR, MONOTONIC = {"leaf_model": "linear"}, {"monotonic_cst": [1, 0, 0, 0, 0]}
CASES = {
    "numbers": [*OF_ANY, LINEAR, MONOTONIC], "two classes": [*OF_ANY, LINEAR, MONOTONIC], "three classes": [*OF_ANY, LINEAR],
    "one tree": OF_ANY,
}  # fmt: skip


@pytest.mark.parametrize(("kind", "parameters"), [(kind, given) for kind, some in CASES.items() for given in some])
def test_early_stopping_scores_the_model_of_so_many_iterations(kind, parameters):
    """Each score is that of a fit that ends there, and the model is that of the best iteration, with the weights of then."""
    X, y, model = problem({"numbers": "squared_error", "two classes": "log_loss"}.get(kind, "multinomial"), n=400, missing=False)
    X[:, 0] = np.digitize(X[:, 0], np.linspace(-2, 2, 60)) if "categorical_features" in parameters else X[:, 0]
    scoring = "neg_mean_squared_error" if kind == "numbers" else "neg_log_loss"
    model.set_params(**DART, **parameters, scoring=scoring, learning_rate=0.5, max_iter=12, n_iter_no_change=12)
    if kind == "one tree":
        model.set_params(multi_class="one_tree")
    given = {"X_val": X[250:], "y_val": y[250:]}
    whole = clone(model).set_params(early_stopping=True, use_best_model=False).fit(X[:250], y[:250], **given)
    for n in (1, 2, 5, 9, 12):
        part = clone(model).set_params(max_iter=n, early_stopping=False).fit(X[:250], y[:250])
        assert np.isclose(get_scorer(scoring)(part, X[250:], y[250:]), whole.validation_score_[n], rtol=1e-10)
        if "categorical_split" not in parameters:  # training rows have other statistics of labels
            assert np.isclose(get_scorer(scoring)(part, X[:250], y[:250]), whole.train_score_[n], rtol=1e-10)
    best = clone(model).set_params(early_stopping=True).fit(X[:250], y[:250], **given)
    assert best.best_iteration_ == np.argmax(whole.validation_score_[1:]) + 1
    part = clone(model).set_params(max_iter=best.best_iteration_, early_stopping=False).fit(X[:250], y[:250])
    assert np.array_equal(best.forest_.leaf_value, part.forest_.leaf_value)


def test_folds_choose_the_iterations_and_predict_what_they_held_out():
    X, y = load_diabetes(return_X_y=True)
    model = HistGradientBoostingRegressor(**DART, random_state=0, max_iter=30, early_stopping=True, validation_folds=3)
    model.set_params(n_iter_no_change=30, learning_rate=0.3).fit(X, y)
    assert np.isclose(-0.5 * np.mean((model.oof_prediction_ - y) ** 2), model.best_score_, rtol=0.02)
    whole = clone(model).set_params(early_stopping=False, max_iter=model.n_iter_).fit(X, y)
    assert np.array_equal(whole.forest_.leaf_value, model.forest_.leaf_value)


@pytest.mark.parametrize("parameters", [{}, {"n_bags": 2, "subsample": 0.5}, {"early_stopping": True, "max_iter": 20}])
def test_the_same_on_any_number_of_threads(parameters):
    X, y, model = problem("multinomial", n=3_000)
    model.set_params(**DART, **parameters)
    one, three = (clone(model).set_params(n_jobs=n).fit(X, y) for n in (1, 3))
    assert_equal_models(one, three.set_params(n_jobs=1))


def test_sparse_rows_are_the_same_as_dense_ones():
    X, y, model = problem("squared_error", missing=False)
    X[np.abs(X) < 1] = 0.0
    model.set_params(**DART)
    dense, sparse = clone(model).fit(X, y), clone(model).fit(csr_array(X), y)
    assert np.array_equal(dense.forest_.leaf_value, sparse.forest_.leaf_value)


def test_offsets_count():
    X, y, model = problem("poisson", missing=False)
    offset = np.random.default_rng(0).normal(size=len(y))
    model.set_params(**DART)
    found = clone(model).fit(X, y * np.exp(offset), offset=offset).predict(X, offset=offset) / np.exp(offset)
    assert np.corrcoef(np.log(found), np.log(y))[0, 1] > 0.6
    shifted = clone(model).fit(X, y, offset=np.full(len(y), 2.0)).predict(X, offset=np.full(len(y), 2.0))
    assert np.allclose(shifted, clone(model).fit(X, y).predict(X), rtol=1e-6)


@pytest.mark.parametrize("parameters", [
    {"early_stopping": False}, {"n_bags": 2, "subsample": 0.5}, {"early_stopping": True, "n_iter_no_change": 3},
    {"categorical_features": [0], "categorical_split": "order"},
])  # fmt: skip
def test_a_fit_goes_on_from_its_checkpoint(parameters, tmp_path):
    X, y, model = problem("multinomial", n=400, missing=False)
    X[:, 0] = np.digitize(X[:, 0], np.linspace(-2, 2, 60))
    model.set_params(**{**DART, "max_iter": 12, "learning_rate": 0.5, **parameters})
    whole = clone(model).fit(X, y)
    with pytest.raises(RuntimeError, match="enough"):
        clone(model).set_callbacks(Checkpoint(tmp_path / "trees", 2), FailAfter(5)).fit(X, y)
    assert_equal_models(clone(model).set_callbacks(Checkpoint(tmp_path / "trees", 2)).fit(X, y), whole)


def test_without_dropped_iterations_it_is_ordinary_boosting():
    X, y = load_iris(return_X_y=True)
    plain = HistGradientBoostingClassifier(random_state=0, max_iter=10, learning_rate=0.1, n_iter_no_change=10).fit(X, y)
    for parameters in ({"skip_drop": 1.0}, {"drop_rate": 0.0}):
        model = clone(plain).set_params(boosting="dart", **parameters).fit(X, y)
        assert np.array_equal(model.forest_.leaf_value, plain.forest_.leaf_value)
        assert np.array_equal(model.train_score_, plain.train_score_)


def test_dropped_trees_lose_what_new_ones_say():
    """Stumps of one cut: with a rate of 1 and all iterations dropped, each has the same weight."""
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    model = HistGradientBoostingRegressor(
        boosting="dart", skip_drop=0.0, drop_rate=1.0, learning_rate=1.0, max_iter=4, l2_regularization=0.0, early_stopping=False,
    ).fit(X, 8.0 * X[:, 0])
    tree_of, span = model.forest_.tree_reader(), model.forest_.objective.leaf_words["leaf_value"]
    values = [np.ascontiguousarray(tree_of(t).leaves[:, span]).view(np.float64).ravel() for t in range(4)]
    assert np.allclose(values, [[-1.0, 1.0]] * 4) and np.allclose(model.predict(X), 8.0 * X[:, 0])


def test_distributions():
    X, y = load_diabetes(return_X_y=True)
    model = HistGradientBoostingDistribution(**DART, random_state=0, max_iter=30).fit(X, y)
    assert model.score(X, y) > HistGradientBoostingDistribution(random_state=0, max_iter=3).fit(X, y).score(X, y)


def test_a_warm_start_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match='boosting="dart" with warm_start=True.*multiplied by their weights'):
        HistGradientBoostingClassifier(boosting="dart", warm_start=True).fit(X, y)


def test_what_auto_means():
    X, y = load_diabetes(return_X_y=True)
    model = HistGradientBoostingRegressor(boosting="dart", random_state=0, skip_drop=1.0, min_samples_leaf=100).fit(X, y)
    assert (model.learning_rate_, model.max_iter_, model.n_iter_no_change_) == (0.3, 300, 30)
    model.set_params(early_stopping=False).fit(X, y)
    assert (model.learning_rate_, model.max_iter_) == (0.3, 100)
    model.set_params(defaults="scikit-learn").fit(X, y)
    assert (model.learning_rate_, model.max_iter_) == (0.1, 100)
