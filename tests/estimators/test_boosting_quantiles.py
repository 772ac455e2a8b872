"""Boosted trees that predict several quantiles of one target by trees whose leaves have a value for each."""

from pickle import dumps, loads

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import d2_pinball_score, mean_pinball_loss
from sklearn.model_selection import cross_val_score
from twins import boosting as twin

from dforest import HistGradientBoostingRegressor, config_context, load, serving
from dforest.estimators.boosting.losses import Loss
from dforest.rules.losses import values
from dforest.spmd.threads import ThreadGroup

LEVELS = [0.05, 0.3, 0.5, 0.95]
SMALL = {"defaults": "scikit-learn", "max_iter": 8, "max_leaf_nodes": 7, "min_samples_leaf": 3, "random_state": 0}


def data(n=300, seed=0):
    """X, a y whose spread depends on X, and an estimator."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 2)
    y = np.round(X[:, 0] + np.exp(X[:, 1] / 2) * rng.normal(size=n), 2)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, HistGradientBoostingRegressor("quantile", quantile=LEVELS, **SMALL)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_models_are_the_naive_twins(seed):
    rng = np.random.default_rng(seed)
    X, y, model = data(int(rng.integers(20, 150)), seed)
    weight = [None, rng.integers(1, 5, len(y)), rng.exponential(size=len(y))][rng.integers(3)]
    levels = np.unique(np.round(rng.random(rng.integers(1, 5)), 2)).tolist()
    offset = rng.normal(size=(len(y), len(levels))) if rng.random() < 0.3 else None
    monotonic = rng.integers(-1, 2, 4).tolist() if rng.random() < 0.4 else None
    n_drawn = max(1, int(0.7 * len(y)))
    model.set_params(max_iter=3, subsample=0.7, quantile=levels, monotonic_cst=monotonic, n_jobs=int(rng.integers(1, 3)))
    model.fit(X, y, weight, offset=offset)
    grown = twin.grow_booster(
        X, y, loss="quantile", quantile=levels, max_iter=3, max_leaf_nodes=7, min_samples_leaf=3, max_bins=256, offset=offset,
        sample_weight=weight, seed=model.forest_.seed, n_drawn=n_drawn, monotonic=monotonic,
        start=None if offset is None else model.forest_.objective.baseline,
    )  # fmt: skip
    raw = model._raw(X, offset=offset)
    assert raw.tobytes() == grown.raw.tobytes()
    assert model.predict(X, offset=offset).tobytes() == np.array([sorted(row) for row in grown.raw.tolist()]).tobytes()


def test_one_level_is_one_quantile():
    X, y, model = data()
    one, several = clone(model).set_params(quantile=0.3).fit(X, y), clone(model).set_params(quantile=[0.3]).fit(X, y)
    assert several.predict(X).shape == (300, 1)
    assert several.predict(X)[:, 0].tobytes() == one.predict(X).tobytes()
    assert several.score(X, y) == pytest.approx(d2_pinball_score(y, one.predict(X), alpha=0.3), rel=1e-12)


def test_quantiles_begin_where_those_of_the_target_are():
    X, y, model = data()
    model.fit(X, y)
    for k, level in enumerate(LEVELS):
        assert model.forest_.objective.baseline[k] == np.quantile(y, level, method="averaged_inverted_cdf")


def test_what_is_predicted():
    X, y, model = data(1000)
    model.set_params(max_iter=60, max_leaf_nodes=15).fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == (1000, 4) and (np.diff(predicted, axis=1) >= 0).all()
    far = np.tile([3.0, 2.0, 1.0, 0.0], (1000, 1))  # raw predictions cross
    assert model.predict(X, offset=far).tobytes() == np.sort(model._raw(X, offset=far), axis=1).tobytes()
    assert (np.diff(model._raw(X, offset=far), axis=1) < 0).any()
    assert model.n_outputs_ == 1 and model.n_trees_per_iteration_ == 1 and model.forest_.n_trees == 60
    stages = list(model.staged_predict(X))
    assert len(stages) == 60 and stages[-1].tobytes() == predicted.tobytes()
    assert model.predict(X, n_iter=7).tobytes() == stages[6].tobytes()
    for k, level in enumerate(LEVELS):
        assert abs(np.mean(y <= predicted[:, k]) - level) < 0.05
    assert model.shap_values(X[:5]).values.shape == (5, 4, 4)
    assert model.feature_importances_.argmax() in (0, 1)


FOUR = {"min_size": 4, "max_size": 4}


@given(st.floats(-1e3, 1e3), st.lists(st.floats(-1e3, 1e3), **FOUR), st.lists(st.integers(0, 1000), unique=True, **FOUR))
def test_putting_predictions_in_order_never_loses(y, raw, levels):
    loss = Loss.of_levels([level / 1000 for level in sorted(levels)])
    raw, y = np.array([raw]), np.array([y])
    before, after = (
        sum(values("quantile", columns[:, k].copy(), y, level)[0] for k, level in enumerate(loss.levels))
        for columns in (raw, loss.predict(raw))
    )
    assert after <= before * (1 + 1e-12)
    assert loss.values(raw, y)[0] == pytest.approx(after / 4, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores(weighted):
    X, y, model = data(600)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    own = dict(X_val=X[400:], y_val=y[400:], sample_weight_val=weight[400:])
    model.set_params(early_stopping=True, scoring={"loss": "loss", "score": None}, use_best_model=False)
    model.fit(X[:400], y[:400], weight[:400], **own)
    predicted = model.predict(X[400:])

    def mean_loss(columns):
        losses = [
            mean_pinball_loss(y[400:], column, alpha=level, sample_weight=weight[400:])
            for column, level in zip(columns, LEVELS, strict=True)
        ]
        return np.mean(losses)

    assert model.validation_score_[-1] == pytest.approx(-mean_loss(predicted.T), rel=1e-12)
    repeated = np.repeat(y[400:], weight[400:].astype(int))
    constants = np.quantile(repeated, LEVELS, method="averaged_inverted_cdf")[:, None] * np.ones(200)
    score = model.score(X[400:], y[400:], weight[400:])
    assert score == pytest.approx(1 - mean_loss(predicted.T) / mean_loss(constants), rel=1e-12)
    assert model.score_history_["score"]["validation"][-1] == pytest.approx(score, rel=1e-12)


def test_scores_of_equal_targets():
    X, _, model = data(60)
    model.fit(X, np.full(60, 2.5))
    assert model.score(X, np.full(60, 2.5)) == 1.0 and model.score(X, np.full(60, 3.0)) == 0.0


def test_folds_and_what_asks_for_scores():
    X, y, model = data(200)
    model.set_params(defaults="dforest", early_stopping=True, max_iter=20).fit(X, y)
    assert model.oof_prediction_.shape == (200, 4) and (np.diff(model.oof_prediction_, axis=1) >= 0).all()
    assert len(cross_val_score(model.set_params(early_stopping=False), X, y, cv=2, error_score="raise")) == 2
    found = model.permutation_importance(X, y, n_repeats=2)
    assert found.importances_mean.shape == (4,)


def test_ranks_fit_as_one_process():
    X, y, model = data(200)
    alone = clone(model).fit(X, y)

    def fit(communicator):
        with config_context(communicator=communicator):
            return clone(model).fit(X[:80] if communicator.rank == 0 else X[80:], y[:80] if communicator.rank == 0 else y[80:])

    for found in ThreadGroup(2).run(fit):
        assert found.predict(X).tobytes() == alone.predict(X).tobytes()


def test_fits_go_on():
    X, y, model = data()
    whole, part = clone(model).fit(X, y), clone(model).set_params(warm_start=True, max_iter=3).fit(X, y)
    assert part.set_params(max_iter=8).fit(X, y).predict(X).tobytes() == whole.predict(X).tobytes()
    with pytest.raises(ValueError, match="means quantile of 0.5, 0.9, but warm_start=True goes on with trees grown by"):
        part.set_params(max_iter=9, quantile=[0.5, 0.9]).fit(X, y)


def test_files_and_what_looks_at_models(tmp_path):
    X, y, model = data()
    model.fit(X, y)
    expected = model.predict(X).tobytes()
    model.save(tmp_path / "model.safetensors")
    for found in (load(tmp_path / "model.safetensors"), serving.load(tmp_path / "model.safetensors"), loads(dumps(model))):
        assert found.predict(X).tobytes() == expected
    assert model.partial_dependence(X[:50], [0])["average"].shape[0] == 4
    assert [tree.predict(X).shape for tree in model.estimators_[:2, 0]] == [(300, 4)] * 2
    assert len(str(model.report(X, y, output=1))) > 0
    with pytest.raises(ValueError, match="output=None, but HistGradientBoostingRegressor has 4 outputs"):
        model.report(X, y)
    assert model.estimate_memory(X, y).total > 0


@pytest.mark.parametrize("quantile", [[], [0.5, 0.1], [0.5, 0.5], [0.1, 1.1], [[0.1]], [np.nan], ["a"]])
def test_levels_that_are_refused(quantile):
    X, y, model = data()
    with pytest.raises(ValueError, match=r"quantile=\[.*; allowed are a number from 0 to 1, and lists of such numbers, each"):
        model.set_params(quantile=quantile).fit(X, y)


def test_refused():
    X, y, model = data()
    with pytest.raises(ValueError, match=r"loss='quantile' with quantile=\[0.05, .* is for a y of one column, and y has 2"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r'quantile=\[.*\] with loss="huber"; allowed are a number from 0 to 1, and None'):
        model.set_params(loss="huber").fit(X, y)
    with pytest.raises(ValueError, match="scoring='r2'"):
        model.set_params(loss="quantile", early_stopping=True, scoring="r2").fit(X, y)


def test_scores_of_columns_and_weights():
    """y may be a column, as for other losses; weights that say nothing are refused as scikit-learn refuses them."""
    rows = np.random.default_rng(0).random((60, 2))
    model = HistGradientBoostingRegressor("quantile", quantile=[0.2, 0.8], max_iter=3).fit(rows, rows[:, :1])
    assert model.score(rows, rows[:, :1]) == model.score(rows, rows[:, 0])
    for weights, message in (
        (np.zeros(60), "at least one non-zero number"),
        (-np.ones(60), "Negative values"),
        (np.ones(3), r"expected \(60,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            model.score(rows, rows[:, 0], weights)
    with pytest.raises(ValueError, match=r'quantile=\[0.2, 0.8\] with loss="squared_error"'):
        HistGradientBoostingRegressor(quantile=[0.2, 0.8]).fit(rows, rows[:, 0])
