"""Where rows are held out in turn, a fit keeps what is predicted for each by the trees that did not learn from it."""

import numpy as np
import pytest
from helpers.boosting import CLASSIFICATION, REGRESSION, problem
from sklearn.base import clone
from sklearn.metrics import log_loss, r2_score

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRanker, HistGradientBoostingRegressor
from dforest.engines.rows import RowShare
from dforest.spmd.communicator import ALONE
from dforest.spmd.draws import assign_parts

FOLDS = {"early_stopping": True, "validation_folds": 3, "n_iter_no_change": 4, "max_iter": 40, "learning_rate": 0.3}


def out_of_fold(model):
    """The predictions, or None."""
    return getattr(model, "oof_prediction_", None)


def folds_of(model, y):
    """The number of the fold of each row, all of which count."""
    classes = np.searchsorted(model.classes_, y) if hasattr(model, "classes_") else np.zeros(len(y))
    return assign_parts(RowShare.whole(len(y)), model.validation_folds_, model._row_seed, classes, int(classes.max()) + 1, ALONE)


@pytest.mark.parametrize("has_offset", [False, True])
@pytest.mark.parametrize("loss", REGRESSION + CLASSIFICATION)
def test_each_row_is_predicted_by_the_trees_of_other_folds(loss, has_offset):
    X, y, model = problem(loss, n=400)
    y = np.clip(y, 0.5, 20) if loss in ("gamma", "poisson", "tweedie") else y
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, 400).astype(float)
    n_sums = 3 if loss == "multinomial" else 1
    offset = rng.normal(scale=0.1, size=(400, n_sums)) if has_offset else None
    offset = offset[:, 0] if has_offset and n_sums == 1 else offset
    model.set_params(**FOLDS).fit(X, y, weight, offset=offset)
    found, kept = out_of_fold(model), weight > 0
    assert found.shape == ((400, len(model.classes_)) if loss in CLASSIFICATION else (400,))
    assert np.isnan(found[~kept]).all() and not kept.all()
    numbers = np.flatnonzero(kept)
    fold = folds_of(model, y[kept])
    alone = clone(model).set_params(validation_folds=1, early_stopping=False, max_iter=model.best_iteration_)
    for k in range(3):
        own, held = numbers[fold != k], numbers[fold == k]
        of_own, of_held = ({} if offset is None else {"offset": offset[rows]} for rows in (own, held))
        alone.fit(X[own], y[own], weight[own], **of_own)
        predict = alone.predict_proba if loss in CLASSIFICATION else alone.predict
        assert np.array_equal(found[held], predict(X[held], n_iter=model.best_iteration_, **of_held))


@pytest.mark.parametrize("n_bags", [1, 4])
def test_rows_do_not_learn_from_themselves(n_bags):
    """Of noise nothing is known before, so predictions by trees that had seen it would be far better than the mean."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.normal(size=300)
    settings = {"random_state": 0, "min_samples_leaf": 2, "n_bags": n_bags, "subsample": 0.9, **FOLDS}
    model = HistGradientBoostingRegressor(**settings).fit(X, y)
    assert model.score(X, y) > 0.1 > 0.02 > r2_score(y, model.oof_prediction_)
    classes = rng.integers(0, 3, 300)
    model = HistGradientBoostingClassifier(**settings).fit(X, classes)
    assert log_loss(classes, model.predict_proba(X)) < np.log(3) - 0.05
    assert log_loss(classes, model.oof_prediction_) > np.log(3) - 0.01


def test_the_loss_of_all_rows_is_the_best_score():
    X, y, model = problem("multinomial", n=300)
    model.set_params(**FOLDS).fit(X, y)
    assert model.best_score_ == pytest.approx(-log_loss(y, model.oof_prediction_))


def test_with_use_best_model_false_all_iterations_count():
    X, y, model = problem("squared_error", n=300)
    whole = clone(model).set_params(**FOLDS, use_best_model=False).fit(X, y)
    n_grown = len(whole.validation_score_) - 1
    assert n_grown > whole.best_iteration_
    fixed = clone(model).set_params(**{**FOLDS, "max_iter": n_grown, "n_iter_no_change": n_grown}, use_best_model=False).fit(X, y)
    assert np.array_equal(whole.oof_prediction_, fixed.oof_prediction_)


def test_several_outputs():
    X, y, model = problem("squared_error", n=300)
    model.set_params(**FOLDS).fit(X, np.column_stack([y, -y]))
    assert model.oof_prediction_.shape == (300, 2) and np.isfinite(model.oof_prediction_).all()
    labels = np.column_stack([y > 0, y > 1]).astype(int)
    model = HistGradientBoostingClassifier(random_state=0, **FOLDS).fit(X, labels)
    assert model.oof_prediction_.shape == (300, 2, 2)
    for output in range(2):
        shares = model.oof_prediction_[:, :, output]
        assert np.allclose(shares.sum(axis=1), 1) and log_loss(labels[:, output], shares) < 0.6
    labels[:, 1] = 7
    model.fit(X, labels)
    assert [own.shape for own in model.oof_prediction_] == [(300, 2), (300, 1)]
    assert (model.oof_prediction_[1] == 1).all()


def test_one_class():
    X = np.arange(60.0)[:, None]
    model = HistGradientBoostingClassifier(random_state=0, **FOLDS).fit(X, np.full(60, "a"))
    assert model.oof_prediction_.tolist() == [[1.0]] * 60


def test_ranking():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(300, 3)), np.arange(300) // 10
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=300)), 0, 3)
    model = HistGradientBoostingRanker(random_state=0, **FOLDS).fit(X, y, qid=qid)
    fold = assign_parts(RowShare.whole(30), 3, model._row_seed, np.zeros(30), 1, ALONE)[qid]
    alone = clone(model).set_params(validation_folds=1, early_stopping=False, max_iter=model.best_iteration_)
    for k in range(3):
        alone.fit(X[fold != k], y[fold != k], qid=qid[fold != k])
        assert np.array_equal(model.oof_prediction_[fold == k], alone.predict(X[fold == k], n_iter=model.best_iteration_))


def test_where_rows_are_not_held_out_in_turn_there_are_none():
    X, y, model = problem("log_loss")
    model.set_params(**FOLDS).fit(X, y)
    assert out_of_fold(model) is not None
    for parameters in ({"validation_folds": 1, "refit": True}, {"early_stopping": False}):
        again = clone(model)
        again.__dict__.update(vars(model))
        assert out_of_fold(again) is not None
        assert out_of_fold(again.set_params(**parameters).fit(X, y)) is None
    assert out_of_fold(HistGradientBoostingClassifier(random_state=0).fit(X, y)).shape == (300, 2)
