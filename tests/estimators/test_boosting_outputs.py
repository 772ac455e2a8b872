"""Boosted trees of several outputs: one tree of an iteration for all, whose leaves have a value for each."""

import numpy as np
import pytest
from helpers.boosting import REGRESSION, moved
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_linnerud
from twins import boosting as twin

from dforest import HistGradientBoostingRegressor, config_context
from dforest.loss import PythonLoss
from dforest.rules.losses import LOSSES, values
from dforest.spmd.threads import ThreadGroup

OF_OUTPUTS = pytest.mark.parametrize("loss", [name for name in REGRESSION if name not in ("huber", "mape")])
SMALL = {"defaults": "scikit-learn", "max_iter": 8, "max_leaf_nodes": 7, "min_samples_leaf": 3, "random_state": 0}


def data(loss, n=300, seed=0):
    """X, a y of three columns, and an estimator."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 5)), 2)
    signal = np.column_stack([2 * X[:, 0], np.abs(X[:, 1]), X[:, 0] * X[:, 2]]) + 0.3 * rng.normal(size=(n, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = expit(signal) if loss == "cross_entropy" else signal if LOSSES[loss].targets == "finite" else np.exp(signal)
    return X, y, HistGradientBoostingRegressor(loss, quantile=0.6 if loss == "quantile" else None, **SMALL)


@OF_OUTPUTS
@pytest.mark.parametrize("weighted", [False, True])
def test_models_are_the_naive_twins(loss, weighted):
    X, y, model = data(loss, n=120)
    weight = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    model.set_params(max_iter=3, subsample=0.7, l2_regularization=0.5).fit(X, y, weight)
    grown = twin.grow_booster(
        X, y, loss=loss, max_iter=3, max_leaf_nodes=7, min_samples_leaf=3, l2_regularization=0.5, max_bins=256,
        sample_weight=weight, seed=model.forest_.seed, n_drawn=84, quantile=model.quantile,
    )  # fmt: skip
    assert model._raw(X).tobytes() == grown.raw.tobytes()


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_labels", [9, 300])
@pytest.mark.parametrize("loss", ["squared_error", "poisson", "quantile"])
def test_categories_and_many_codes_are_the_naive_twins(loss, n_labels, n_jobs):
    """Labels that tell about the second output are ordered by it."""
    rng = np.random.default_rng(0)
    X, y, model = data(loss, n=4000 if n_labels > 255 else 400)
    X[:, 1] = np.concatenate([np.arange(n_labels), (rng.random(len(X) - n_labels) ** 2 * n_labels).astype(int)])
    effect = rng.normal(size=n_labels)[X[:, 1].astype(int)]
    y[:, 1] = y[:, 1] + 3 * effect if loss == "squared_error" else y[:, 1] * np.exp(effect)
    X[n_labels:, 1][rng.random(len(X) - n_labels) < 0.1] = np.nan
    model.set_params(max_iter=2, max_bins=500, categorical_features=[1], n_jobs=n_jobs).fit(X, y)
    assert {1} < set(model.forest_.feature)
    grown = twin.grow_booster(
        X, y, loss=loss, max_iter=2, max_leaf_nodes=7, min_samples_leaf=3, max_bins=501, n_categories=[0, n_labels, 0, 0, 0],
        quantile=model.quantile,
    )  # fmt: skip
    assert model._raw(X).tobytes() == grown.raw.tobytes()
    trees = [twin.flatten(tree) for trees in grown.rounds for tree in trees]
    assert (model.forest_.payload_words == np.concatenate([tree["payload_words"] for tree in trees])).all()


@OF_OUTPUTS
@pytest.mark.parametrize("has_categories", [False, True])
def test_equal_outputs_are_those_of_one(loss, has_categories):
    """Of gains that are added up the best are the same, and so is all else."""
    X, y, model = data(loss)
    if has_categories:
        X[:, 0] = np.abs(np.round(X[:, 0]))
        model.set_params(categorical_features=[0], max_bins=1000)
    both = clone(model).fit(X, np.column_stack([y[:, 0], y[:, 0]]))
    one = clone(model).fit(X, y[:, 0])
    assert both.forest_.feature.tobytes() == one.forest_.feature.tobytes()
    assert both.predict(X).tobytes() == np.column_stack([one.predict(X)] * 2).tobytes()
    np.testing.assert_allclose(both.feature_importances_, one.feature_importances_, rtol=1e-12)


@OF_OUTPUTS
def test_what_is_predicted(loss):
    X, y, model = data(loss, n=1000)
    model.set_params(max_iter=60, max_leaf_nodes=15).fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == y.shape and model.n_outputs_ == 3
    assert model.n_trees_per_iteration_ == 1 and model.forest_.n_trees == model.n_iter_ == 60
    stages = list(model.staged_predict(X))
    assert len(stages) == 60 and stages[-1].tobytes() == predicted.tobytes()
    assert model.predict(X, n_iter=7).tobytes() == stages[6].tobytes()
    for k in range(3):
        assert np.corrcoef(predicted[:, k], y[:, k])[0, 1] > 0.6
        alone = model.forest_.of_output(k).predictor().predict(X)
        assert alone.tobytes() == model._raw(X)[:, [k]].tobytes()
    assert model.apply(X).shape == (1000, 60)
    leaf = model.apply(X)[:, 0]
    for number in np.unique(leaf):  # which has one value for each output
        assert len(np.unique(stages[0][leaf == number], axis=0)) == 1


@OF_OUTPUTS
def test_scores_add_up_the_losses_of_outputs(loss):
    X, y, model = data(loss, n=600)
    model.set_params(early_stopping=True, scoring={"loss": "loss", "r2": "r2"}, use_best_model=False)
    model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    raw = model._raw(X[400:])
    of_outputs = [values(loss, raw[:, k].copy(), y[400:, k].copy(), model._loss.parameter) for k in range(3)]
    assert model.validation_score_[-1] == pytest.approx(-np.sum(of_outputs, axis=0).mean(), rel=1e-12)
    assert model.score_history_["r2"]["validation"][-1] == pytest.approx(model.score(X[400:], y[400:]))
    held_out = clone(model).fit(X, y)
    assert held_out.validation_score_[-1] > held_out.validation_score_[0]


@OF_OUTPUTS
def test_offsets_of_outputs(loss):
    X, y, model = data(loss)
    offset = np.random.default_rng(0).normal(size=y.shape)
    y = moved(loss, y, offset)
    model.fit(X, y, offset=offset)
    for k in range(3):
        alone = clone(model).set_params(max_iter=1).fit(X, y[:, k], offset=offset[:, k])
        assert alone.forest_.objective.baseline[0] == model.forest_.objective.baseline[k]
    np.testing.assert_allclose(model._raw(X, offset=offset), model._raw(X) + offset, rtol=1e-12, atol=1e-12)


def test_real_data():
    """Three physiological outputs of 20 men; one column of y is one output."""
    X, y = load_linnerud(return_X_y=True)
    model = HistGradientBoostingRegressor(min_samples_leaf=3, max_iter=50, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.5
    with pytest.warns(UserWarning, match="A column-vector y was passed when a 1d array was expected"):
        one = clone(model).fit(X, y[:, :1])
    assert one.predict(X).shape == (20,) and one.n_outputs_ == 1


class Own(PythonLoss):
    """Half the squared error."""

    constant_hessian = True

    def gradient_hessian(self, y_true, raw_prediction):
        return raw_prediction - y_true, np.ones_like(y_true)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "huber"}, "loss='huber' is for a y of one column, and y has 3; allowed are names of losses other than"),
        ({"loss": Own()}, r"loss=.* is for a y of one column, and y has 3; allowed are names of losses other than"),
        ({"loss": "mape"}, "loss='mape' is for a y of one column, and y has 3; allowed are names of losses other than"),
        ({"loss": "cross_entropy"}, 'y holds -.*; allowed with loss="cross_entropy" are numbers from 0 to 1, the share'),
        ({"loss": "poisson"}, 'y holds -.*; allowed with loss="poisson" are numbers from 0'),
    ],
)
def test_refused(parameters, message):
    X, y, model = data("squared_error")
    X[:, 0] = np.nan_to_num(np.abs(np.round(X[:, 0])))
    before = dict(vars(model.set_params(**parameters)))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert vars(model) == before


def test_what_is_refused_of_several_outputs():
    X, y, model = data("squared_error")

    def fit(communicator):
        own = y[communicator.rank :: 2] if communicator.rank else y[::2, :2]
        with config_context(communicator=communicator):
            return clone(model).fit(X[communicator.rank :: 2], own)

    for error in ThreadGroup(2).run(fit):
        assert isinstance(error, ValueError)
        assert "y has 2 columns, but 3 in other rows" in str(error)
    with pytest.raises(ValueError, match="y has 2 columns; the estimator predicts 3"):
        clone(model).set_params(early_stopping=True).fit(X, y, X_val=X, y_val=y[:, :2])
