"""`HistGradientBoostingClassifier` and `HistGradientBoostingRegressor`."""

import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.boosting import CLASSIFICATION, REGRESSION, assert_equal_models, problem
from helpers.callbacks import StopAfter
from sklearn.base import clone
from twins import boosting as twin

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from dforest.core.sampling import AllRows
from dforest.estimators.boosting.losses import Loss
from dforest.rules.losses import derivatives, relative_weights, values, weighted_quantile
from dforest.spmd.communicator import ALONE

ALL_LOSSES = pytest.mark.parametrize("loss", REGRESSION + CLASSIFICATION)


@ALL_LOSSES
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_models_are_the_naive_twins(loss, weighted, subsample):
    X, y, model = problem(loss, n=120)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    model.set_params(max_iter=3, l2_regularization=0.5, subsample=subsample, random_state=7).fit(X, y, weight)
    targets = y if loss in REGRESSION else np.searchsorted(model.classes_, y)
    grown = twin.grow_booster(
        X, targets, loss=loss, n_classes=3 if loss == "multinomial" else 2, max_iter=3, max_leaf_nodes=7, min_samples_leaf=3,
        l2_regularization=0.5, max_bins=256, quantile=0.3 if loss == "quantile" else None, sample_weight=weight,
        seed=model.forest_.seed, n_drawn=int(subsample * 120),
        start=list(model.forest_.objective.baseline) if loss == "focal" else None,
    )  # fmt: skip
    assert model._raw(X).tobytes() == np.ascontiguousarray(grown.raw).reshape(len(X), -1).tobytes()


@ALL_LOSSES
@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_threads_change_nothing(loss, subsample):
    X, y, model = problem(loss, n=9000)
    model.set_params(early_stopping=True, max_features=0.7, subsample=subsample, n_jobs=1).fit(X, y)
    for n_jobs in (2, 3, 7):
        other = clone(model).set_params(n_jobs=n_jobs).fit(X, y)
        assert_equal_models(model, other)
        assert model.predict(X).tobytes() == other.predict(X).tobytes()


@pytest.mark.parametrize("loss", ["squared_error", "multinomial"])
def test_trees_know_the_rows_of_their_round(loss):
    X, y, model = problem(loss, n=5000, missing=False)
    model.set_params(subsample=0.37, min_samples_leaf=1).fit(X, y)
    forest, n_sums = model.forest_, model.n_trees_per_iteration_
    counts = np.array([forest.row_counts(t) for t in range(forest.n_trees)])
    assert (forest.n_draws == 1850).all() and (counts.sum(axis=1) == 1850).all() and counts.max() == 1
    for first in range(0, forest.n_trees, n_sums):
        assert (counts[first : first + n_sums] == counts[first]).all()
    assert (counts[0] != counts[n_sums]).any()


@pytest.mark.filterwarnings("ignore:no tree has a split")
@pytest.mark.parametrize("power", [-1, 0, 7])
@pytest.mark.parametrize("n_steps", [-2, -1, 0, 1, 2])
def test_gradients_a_hair_from_a_power_of_two(power, n_steps):
    """The integers of all rows are then the greatest that are allowed, or one step in float64 beyond, which rounds to that."""
    largest = 2.0**power
    for _ in range(abs(n_steps)):
        largest = np.nextafter(largest, np.inf * n_steps)
    x = np.arange(60)
    y = np.where(x < 30, -largest, largest)
    model = HistGradientBoostingRegressor(max_iter=1, learning_rate=1.0, l2_regularization=0.0).fit(x[:, None], y)
    assert model.predict(x[:, None]) == pytest.approx(y, rel=1e-9)


def test_class_weights_by_which_gradients_are_a_hair_from_a_half():
    x, y = np.arange(98), np.arange(98) < 49
    weight = np.where(y, 141 / 140, 141 / 142)
    model = HistGradientBoostingClassifier(max_iter=1, early_stopping=False).fit(x[:, None], y, weight)
    assert model.score(x[:, None], y) == 1.0


def test_a_subsample_takes_at_least_a_row():
    X, y, model = problem("squared_error")
    model.set_params(subsample=1e-9).fit(X, y)
    assert (model.forest_.n_draws == 1).all() and (model.forest_.leaf_value == 0).sum() < 8
    assert clone(model).set_params(subsample=1).fit(X, y).forest_.plans == (AllRows(),) * 8


@ALL_LOSSES
@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_baselines_are_what_no_split_predicts(loss):
    """min_samples_leaf is more than there are rows: trees are roots."""
    X, y, model = problem(loss)
    model.set_params(min_samples_leaf=1000, max_iter=1).fit(X, y)
    assert len(model.forest_.feature) == model.n_trees_per_iteration_
    if loss == "focal":
        raw, of_class = np.full(len(y), model.forest_.objective.baseline[0]), (y == model.classes_[1]).astype(float)
        assert derivatives(loss, raw, of_class, model.focal_gamma)[0].sum() == pytest.approx(0.0, abs=1e-9)
    elif loss in CLASSIFICATION:
        shares = np.unique(y, return_counts=True)[1] / len(y)
        np.testing.assert_allclose(model.predict_proba(X[:1])[0], shares, rtol=1e-6)
    else:
        medians = dict.fromkeys(("absolute_error", "huber", "fair", "log_cosh"), np.median(y))
        relative = weighted_quantile(y, 0.5, np.uint32(1e6 * relative_weights(y)))
        expected = {**medians, "mape": relative, "quantile": np.quantile(y, 0.3)}.get(loss, y.mean())
        np.testing.assert_allclose(model.predict(X[:1])[0], expected, rtol=0.1)


# Warm start


@ALL_LOSSES
@pytest.mark.parametrize(
    "stopping", [{"early_stopping": False}, {"early_stopping": True, "use_best_model": False, "n_iter_no_change": 50}]
)
@pytest.mark.parametrize("subsample", [1.0, 0.7])
def test_warm_start_is_one_fit(loss, stopping, subsample):
    X, y, model = problem(loss)
    model.set_params(max_features=0.6, subsample=subsample, **stopping)
    whole = clone(model).fit(X, y)
    parts = clone(model).set_params(warm_start=True, max_iter=3).fit(X, y)
    first = parts.forest_
    parts.set_params(max_iter=8).fit(X, y)
    assert_equal_models(whole, parts)
    assert parts.fit_report_.n_trees == 5 * parts.n_trees_per_iteration_
    assert first.n_trees == 3 * parts.n_trees_per_iteration_  # the forest there was has not changed
    again = clone(parts).set_params(warm_start=True)
    assert again.fit(X, y).n_iter_ == 8
    before = again.forest_
    assert again.fit(X, y).forest_ is before and again.fit_report_.n_trees == 0


def test_warm_start_in_another_precision():
    X, y, model = problem("squared_error")
    model.set_params(warm_start=True, max_iter=3).fit(X.astype(np.float32), y)
    known = model.forest_.threshold.copy()
    assert known.dtype == np.float32
    model.set_params(max_iter=6).fit(X, y)
    assert model.forest_.threshold.dtype == np.float64 and (model.forest_.threshold[: len(known)] == known).all()
    model.set_params(max_iter=8).fit(X.astype(np.float32), y)
    assert model.forest_.threshold.dtype == np.float64


@pytest.mark.parametrize("loss", ["squared_error", "huber", "multinomial"])
@pytest.mark.parametrize("fraction", [0.2, None])
def test_early_stopping_may_begin_at_a_warm_start(loss, fraction):
    """Iterations that were grown without scores are scored when stopping begins."""
    X, y, model = problem(loss, n=800)
    model.set_params(validation_fraction=fraction, n_iter_no_change=3, use_best_model=False)
    late = clone(model).set_params(warm_start=True, early_stopping=False).fit(X, y)
    assert len(late.train_score_) == len(late.validation_score_) == 0
    late.set_params(early_stopping=True, max_iter=40, verbose=1).fit(X, y)
    assert len(late.train_score_) == late.n_iter_ + 1 > 9
    if fraction is None:
        assert_equal_models(late, model.set_params(early_stopping=True, max_iter=40).fit(X, y))
    else:
        assert len(late.validation_score_) == late.n_iter_ + 1
    late.set_params(early_stopping=False, max_iter=50).fit(X, y)
    assert late.n_iter_ == 50 and len(late.train_score_) == len(late.validation_score_) == 0


def test_a_fit_that_has_stopped_goes_on_for_some_rounds():
    """As in scikit-learn: one at least, until the last scores are no better than the one before them."""
    X, y, model = problem("squared_error", n=800)
    model.set_params(early_stopping=True, use_best_model=False, warm_start=True, max_iter=300, n_iter_no_change=3).fit(X, y)
    n_iter = model.n_iter_
    assert n_iter < 300
    before = model.validation_score_
    assert n_iter < model.set_params(max_iter=600).fit(X, y).n_iter_ < 600
    scores = model.validation_score_
    assert scores[: n_iter + 1].tolist() == before.tolist()
    assert max(scores[-3:]) <= scores[-4] + model.tol_


@pytest.mark.parametrize("first", [{}, {"scoring": "r2"}, {"X_val": "other"}, {"sample_weight_val": "other"}, {"rows": "none"}])
def test_scores_are_those_of_the_fit_that_goes_on(first):
    """Whatever the first fit was scored by."""
    X, y, model = problem("squared_error", n=500)
    model.set_params(early_stopping=True, n_iter_no_change=50, warm_start=True)
    rows = {"X_val": X[400:], "y_val": y[400:]}
    given = {"X_val": X[300:400], "y_val": y[300:400]} if "X_val" in first else rows
    if "sample_weight_val" in first:
        given = {**rows, "sample_weight_val": np.arange(100) + 1.0}
    if "rows" in first:
        given = {}
        model.set_params(validation_fraction=None)
    model.set_params(scoring=first.get("scoring", "loss")).fit(X[:300], y[:300], **given)
    model.set_params(scoring="loss", max_iter=12).fit(X[:300], y[:300], **rows)
    assert_equal_models(model, clone(model).set_params(warm_start=False).fit(X[:300], y[:300], **rows))


def test_a_warm_start_without_new_rounds_is_scored():
    X, y, model = problem("log_loss")
    model.set_params(warm_start=True).fit(X, y)
    model.set_params(early_stopping=True, validation_fraction=None, n_iter_no_change=50).fit(X, y)
    assert_equal_models(model, clone(model).set_params(warm_start=False).fit(X, y))


# Early stopping


@ALL_LOSSES
def test_stages(loss):
    X, y, model = problem(loss)
    model.fit(X, y)
    methods = ["predict"] if loss in REGRESSION else ["predict", "predict_proba", "decision_function"]
    for method in methods:
        stages = list(getattr(model, f"staged_{method}")(X))
        assert len(stages) == model.n_iter_ == 8
        assert stages[-1].tobytes() == getattr(model, method)(X).tobytes()
        third = clone(model).set_params(max_iter=3).fit(X, y)
        assert stages[2].tobytes() == getattr(third, method)(X).tobytes()


def test_what_raw_predictions_say():
    X, y, model = problem("log_loss")
    raw = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-raw)))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert (model.predict(X) == model.classes_[(raw > 0).astype(int)]).all()
    X, y, model = problem("exponential")
    raw = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * raw)))
    X, y, model = problem("multinomial")
    raw = model.fit(X, y).decision_function(X)
    assert raw.shape == (300, 3) == model.predict_proba(X).shape
    np.testing.assert_allclose(model.predict_proba(X), np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True))
    assert (model.predict(X) == model.classes_[raw.argmax(axis=1)]).all()
    for loss in ("poisson", "gamma", "tweedie"):
        X, y, model = problem(loss)
        assert (model.fit(X, y).predict(X) > 0).all()


def test_a_predictor_adds_up_the_same():
    X, y, model = problem("multinomial")
    predictor = model.fit(X, y).predictor()
    assert predictor.predict(X).tobytes() == model.decision_function(X).tobytes()


def test_attributes():
    X, y, model = problem("multinomial")
    model.fit(pd.DataFrame(X, columns=list("abcde")), y)
    assert (model.n_iter_, model.n_trees_per_iteration_, model.forest_.n_trees) == (8, 3, 24)
    assert model.is_categorical_ is None and model.n_classes_ == 3 and list(model.classes_) == ["a", "b", "c"]
    assert list(model.feature_names_in_) == list("abcde") and model.do_early_stopping_ is False
    assert model.fit_report_.n_trees == 24 and model.fit_report_.device == "cpu"
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=list("abcdz")))


# Weights, bins, features


def test_rows_of_weight_0_are_left_out():
    X, y, model = problem("log_loss")
    weight = np.arange(300) % 3 / 2.0
    there = weight > 0
    assert_equal_models(clone(model).fit(X, y, weight), clone(model).fit(X[there], y[there], weight[there]))
    assert_equal_models(clone(model).fit(X, y, np.ones(300)), clone(model).fit(X, y))


def test_class_weights_are_weights():
    X, y, model = problem("multinomial")
    factors = {"a": 2.0, "b": 0.5}
    weighed = clone(model).set_params(class_weight=factors).fit(X, y)
    raw = clone(model).set_params(max_bins=255).fit(X, y, np.array([factors.get(label, 1.0) for label in y]))
    np.testing.assert_allclose(weighed.decision_function(X), raw.decision_function(X), atol=0.3)  # bins differ
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(np.array(balanced.forest_.objective.baseline), 0, atol=1e-8)


def test_missing_values_have_a_bin_on_top():
    X = np.arange(300.0)[:, None] % 4
    y = np.array([0.0, 5.0, 1.0, 7.0])[X[:, 0].astype(int)]
    X = np.vstack([X, np.full((60, 1), np.nan)])
    y = np.append(y, np.full(60, 20.0))
    model = HistGradientBoostingRegressor(max_iter=200, max_bins=4, learning_rate=0.5).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6)
    model.set_params(max_bins=3).fit(X, y)
    assert np.abs(model.predict(X) - y).max() > 0.5


def test_share_of_features_tried():
    X, y, model = problem("squared_error", n=500)
    n = X.shape[1]
    for share, number in ((1.0, n), (1 / n, 1), (1 / n + 0.01, 2), (0.001, 1)):
        fits = [clone(model).set_params(max_features=value).fit(X, y) for value in (share, number)]
        assert_equal_models(*fits)


def test_trees_and_levels_draw_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20))
    y = X.sum(axis=1) + rng.normal(size=2000)
    model = HistGradientBoostingRegressor(max_iter=20, colsample_bytree=0.3, colsample_bylevel=0.5, random_state=0).fit(X, y)
    forest, of_trees = model.forest_, []
    for t in range(forest.n_trees):
        nodes = slice(forest.node_offsets[t], forest.node_offsets[t + 1])
        feature, right = forest.feature[nodes], forest.right_child[nodes]
        depth = np.zeros(len(feature), int)
        for i in np.flatnonzero(feature >= 0):  # children come after their parent
            depth[[i + 1, right[i]]] = depth[i] + 1
        of_trees.append(set(feature[feature >= 0].tolist()))
        assert len(of_trees[-1]) <= 6
        for level in range(depth.max() + 1):
            assert len(np.unique(feature[(depth == level) & (feature >= 0)])) <= 3
    assert set().union(*of_trees) == set(range(20)) and len(set(map(frozenset, of_trees))) > 10
    whole = clone(model).set_params(colsample_bylevel=1.0).fit(X, y)
    assert max(len(np.unique(tree[tree >= 0])) for tree in np.split(whole.forest_.feature, whole.forest_.node_offsets[1:-1])) == 6


def test_l1_makes_small_leaves_zero():
    X, y, model = problem("squared_error", n=1000)
    spread = [clone(model).set_params(l1_regularization=l1).fit(X, y).predict(X).std() for l1 in (0.0, 30.0, 300.0)]
    assert spread[0] > spread[1] > spread[2] > 0
    model.set_params(l1_regularization=100.0, learning_rate=1.0, max_iter=1, l2_regularization=3.0).fit(X, y)
    leaves, baseline = model.apply(X)[:, 0], model.forest_.objective.baseline[0]
    for leaf in np.unique(leaves):
        gradient = (baseline - y[leaves == leaf]).sum()
        expected = -np.sign(gradient) * max(abs(gradient) - 100.0, 0.0) / ((leaves == leaf).sum() + 3.0)
        np.testing.assert_allclose(model.predict(X[leaves == leaf]) - baseline, expected, rtol=1e-6, atol=1e-9)
    with pytest.warns(UserWarning, match="no tree has a split"):
        clone(model).set_params(l1_regularization=1e9).fit(X, y)


def test_limits_of_trees():
    X, y, model = problem("squared_error", n=1000)
    grown = clone(model).set_params(max_depth=2, max_leaf_nodes=None).fit(X, y).forest_
    assert grown.depths().max() == 2 and grown.leaf_draws.min() >= 3
    assert max(np.diff(clone(model).set_params(max_leaf_nodes=4).fit(X, y).forest_.node_offsets)) == 7
    grown = clone(model).set_params(max_leaf_nodes=None, min_sum_hessian_in_leaf=100, min_samples_leaf=1).fit(X, y).forest_
    assert 100 <= grown.leaf_draws.min() < 200


def test_verbose(capfd):
    X, y, model = problem("squared_error")
    model.set_params(verbose=2, max_iter=3).fit(X, y)
    assert capfd.readouterr().err.splitlines() == [f"{n} of 3 iterations" for n in (1, 2, 3)]
    model.set_params(verbose=1, max_iter=20, early_stopping=True, n_iter_no_change=30).fit(X, y)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[0] == f"2 of 20 iterations, training score {model.train_score_[2]:.6g}, " + (
        f"validation score {model.validation_score_[2]:.6g}"
    )
    model.set_params(warm_start=True, max_iter=22, verbose=2).fit(X, y)
    assert f"22 of 22 iterations, training score {model.train_score_[22]:.6g}, " in capfd.readouterr().err


@pytest.mark.parametrize("held_out", [True, False])
def test_verbose_says_why_growing_stopped(held_out, capfd):
    X, y, model = problem("squared_error", n=500)
    rows = {"X_val": X[400:], "y_val": y[400:]} if held_out else {}
    model.set_params(early_stopping=True, max_iter=60, learning_rate=0.5, n_iter_no_change=4, tol=0.01, verbose=1)
    model.set_params(validation_fraction=None).fit(X[:400], y[:400], **rows)
    which, scores = ("validation", model.validation_score_) if held_out else ("training", model.train_score_)
    n = len(scores) - 1
    assert n < 60
    last = capfd.readouterr().err.splitlines()[-1]
    assert last == (
        f"stopped after {n} of 60 iterations, as the {which} score has not risen by more than tol=0.01 in the last 4: it was "
        f"best, {model.best_score_:.6g}, after the first {model.best_iteration_}; these are kept"
    )
    model.set_params(scoring={"error": "neg_mean_absolute_error", "loss": "loss"}, use_best_model=False, tol=0.1)
    model.fit(X[:400], y[:400], **rows)
    last = capfd.readouterr().err.splitlines()[-1]
    assert f"as the {which} error has not risen" in last and last.endswith("all are kept")
    model.set_params(n_iter_no_change=200).fit(X[:400], y[:400], **rows)
    assert "stopped" not in capfd.readouterr().err
    model.set_params(max_iter=model.set_params(n_iter_no_change=4).fit(X[:400], y[:400], **rows).n_iter_, verbose=0)
    capfd.readouterr()
    model.set_params(verbose=1).fit(X[:400], y[:400], **rows)
    assert "stopped" not in capfd.readouterr().err


@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_limits_may_be_beyond_all_rows():
    X, y, model = problem("squared_error")
    large = clone(model).set_params(max_depth=10**30, max_leaf_nodes=10**30, max_features=0.5).fit(X, y)
    assert_equal_models(large, clone(model).set_params(max_depth=None, max_leaf_nodes=None, max_features=0.5).fit(X, y))
    assert len(clone(model).set_params(min_samples_leaf=10**30).fit(X, y).forest_.feature) == 8


# Trees without a split


def no_split(model, X, y, **given):
    """What the fit warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **given)
    assert all(str(one.message).startswith("no tree has a split") and one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


@ALL_LOSSES
def test_a_fit_without_a_split_warns(loss):
    X, y, model = problem(loss)
    assert no_split(model, X, y) == []
    message = no_split(clone(model).set_params(min_samples_leaf=200), X, y)
    assert len(message) == 1 and "with 300 training rows, none gains anything and has min_samples_leaf=200 rows" in message[0]
    assert len(no_split(clone(model), np.ones_like(X), y)) == 1
    model.set_params(warm_start=True, max_iter=10, min_samples_leaf=200)
    assert no_split(model, X, y) == []  # earlier trees have splits


@pytest.mark.parametrize("loss", REGRESSION)
def test_equal_targets_need_no_split(loss):
    X, _, model = problem(loss)
    assert no_split(model, X, np.full(300, 0.5 if loss == "cross_entropy" else 3.0)) == []


@pytest.mark.parametrize("loss", ["squared_error", "multinomial"])
def test_callbacks_and_stopping_change_nothing_about_the_warning(loss):
    X, y, model = problem(loss)
    model.set_params(min_samples_leaf=200, early_stopping=True).set_callbacks(StopAfter(3))
    assert len(no_split(model, X, y)) == 1


def test_the_earlier_name_of_min_sum_hessian_in_leaf():
    """It counts, and is warned of; pickles in which the parameter has that name are read."""
    model, settings = HistGradientBoostingRegressor(max_iter=2, random_state=0), {"min_samples_leaf": 1}
    X, y = np.arange(40.0).reshape(-1, 1), np.arange(40.0)
    wanted = clone(model).set_params(min_sum_hessian_in_leaf=15.0, **settings).fit(X, y)
    assert (wanted.forest_.leaf_draws >= 15).all()
    assert (clone(model).set_params(**settings).fit(X, y).forest_.leaf_draws < 15).any()
    with pytest.warns(FutureWarning, match="min_hessian=15.0 is deprecated: it is the earlier name of min_sum_hessian_in_leaf"):
        named = clone(model).set_params(min_hessian=15.0, **settings).fit(X, y)
    assert np.array_equal(named.predict(X), wanted.predict(X))
    with pytest.raises(ValueError, match=r"min_hessian=2.0 and min_sum_hessian_in_leaf=15.0; allowed is one of them"):
        clone(wanted).set_params(min_hessian=2.0).fit(X, y)
    state = dict(wanted.__getstate__())
    state["min_hessian"] = state.pop("min_sum_hessian_in_leaf")
    again = HistGradientBoostingRegressor.__new__(HistGradientBoostingRegressor)
    again.__setstate__(state)
    assert again.get_params() == wanted.get_params()


def test_pickles_of_versions_with_fewer_parameters():
    X, y, model = problem("poisson")
    state = dict(model.fit(X, y).__getstate__())
    for name in ("power", "l1_regularization", "colsample_bytree", "colsample_bylevel", "_has_offset", "score_history_"):
        del state[name]
    before = object.__new__(HistGradientBoostingRegressor)
    before.__setstate__(state)
    assert before.predict(X).tobytes() == model.predict(X).tobytes() and before.get_params() == model.get_params()
    assert_equal_models(clone(before).fit(X, y), model)
    more = before.set_params(warm_start=True, max_iter=10).fit(X, y)
    assert_equal_models(more, clone(model).set_params(max_iter=10).fit(X, y))


@pytest.mark.parametrize("gamma", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("n, n_positive", [(1000, 1), (20_000, 2), (1000, 30), (1000, 500), (1000, 999)])
def test_focal_losses_begin_with_the_best_constant(gamma, n, n_positive):
    y = (np.arange(n) < n_positive).astype(np.float64)
    loss = Loss("focal", gamma)
    (best,) = loss.baseline(y, None, ALONE, None)
    means = [values("focal", np.full(n, raw), y, gamma).mean() for raw in (best, *np.linspace(-12, 12, 241))]
    assert means[0] <= min(means) * (1 + 1e-9)
