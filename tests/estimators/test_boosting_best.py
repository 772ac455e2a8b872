"""The best iteration of early stopping: which one it is, what is kept, and predictions by fewer iterations than there are."""

import numpy as np
import pytest
from helpers.boosting import CLASSIFICATION, REGRESSION, assert_equal_models, problem
from helpers.callbacks import Recorder, StopAfter
from helpers.device_forests import assert_same
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from dforest import HistGradientBoostingRegressor

ALL_LOSSES = pytest.mark.parametrize("loss", REGRESSION + CLASSIFICATION)
FAST = {"early_stopping": True, "learning_rate": 0.7, "max_iter": 60, "n_iter_no_change": 5}  # some iterations after the best one


def rows_of(loss):
    """X, y and the model of a loss, with rows to be scored: (X, y, X_val, y_val, model)."""
    X, y, model = problem(loss, n=500)
    model.set_params(**FAST)
    if loss in ("gamma", "poisson", "tweedie"):
        y = np.clip(y, 0.5, 20)
        model.set_params(learning_rate=0.3)
    return X[:400], y[:400], X[400:], y[400:], model


def methods_of(loss):
    return ["predict"] if loss in REGRESSION else ["predict", "predict_proba", "decision_function"]


@ALL_LOSSES
@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_the_rounds_up_to_the_best_one_are_kept(loss, subsample):
    X, y, X_val, y_val, model = rows_of(loss)
    model.set_params(subsample=subsample).fit(X, y, X_val=X_val, y_val=y_val)
    scores = model.validation_score_
    assert model.best_iteration_ == model.n_iter_ == 1 + int(np.argmax(scores[1:])) < len(scores) - 1
    assert model.best_score_ == scores[model.best_iteration_] and type(model.best_score_) is float
    short = clone(model).set_params(early_stopping=False, max_iter=model.best_iteration_).fit(X, y)
    assert_same(model, short)
    assert model.predict(X).tobytes() == short.predict(X).tobytes()
    assert model.fit_report_.n_trees == (len(scores) - 1) * model.n_trees_per_iteration_


@ALL_LOSSES
def test_all_rounds_are_kept_if_asked(loss):
    X, y, X_val, y_val, model = rows_of(loss)
    best = clone(model).fit(X, y, X_val=X_val, y_val=y_val)
    model.set_params(use_best_model=False).fit(X, y, X_val=X_val, y_val=y_val)
    assert (model.best_iteration_, model.best_score_) == (best.best_iteration_, best.best_score_)
    assert model.n_iter_ == len(best.validation_score_) - 1 > best.n_iter_
    assert model.validation_score_.tobytes() == best.validation_score_.tobytes()
    n = model.best_iteration_
    for method in methods_of(loss):
        assert getattr(model, method)(X_val, n_iter=n).tobytes() == getattr(best, method)(X_val).tobytes()
    assert model.apply(X_val, n_iter=n).tobytes() == best.apply(X_val).tobytes()
    found, expected = model.shap_values(X_val[:5], n_iter=n), best.shap_values(X_val[:5])
    assert found.values.tobytes() == expected.values.tobytes()
    np.testing.assert_array_equal(found.base_values, expected.base_values)


@given(scores=st.lists(st.sampled_from([-np.inf, 0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=12), data=st.data())
@settings(max_examples=examples(50))
def test_the_best_round_is_the_first_of_the_highest_score(scores, data):
    """Iterations are counted from 1 on: the score before the first one counts only for stopping."""
    X = np.arange(40.0)[:, None]
    decides = data.draw(st.sampled_from(["validation", "training"]))
    given = {"X_val": X[:8], "y_val": X[:8, 0]} if decides == "validation" else {}
    left = iter(scores)

    def scorer(estimator, X, y):
        return next(left) if len(y) == (8 if given else 40) else 0.0

    model = HistGradientBoostingRegressor(max_iter=len(scores) - 1, early_stopping=True, scoring=scorer, n_iter_no_change=50)
    model.set_params(validation_fraction=None, min_samples_leaf=5).fit(X, X[:, 0], **given)
    expected = max(range(1, len(scores)), key=lambda n: (scores[n], -n))
    assert (model.best_iteration_, model.best_score_, model.n_iter_) == (expected, scores[expected], expected)


def test_without_scores_there_is_no_best_round():
    X, y, model = problem("squared_error")
    model.set_params(early_stopping=False).fit(X, y)
    assert model.best_iteration_ is None and model.best_score_ is None and model.n_iter_ == 8


@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "multinomial"])
def test_other_libraries_get_the_rounds_that_count(loss):
    pytest.importorskip("treelite")
    X, y, X_val, y_val, model = rows_of(loss)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.to_treelite(verify=False).num_tree == model.best_iteration_ * model.n_trees_per_iteration_


@pytest.mark.parametrize("loss", ["squared_error", "multinomial"])
def test_a_warm_start_goes_on_from_the_best_round(loss):
    """Iterations that were dropped are grown again; in the end there is what a single fit leaves."""
    X, y, X_val, y_val, model = rows_of(loss)
    parts = clone(model).set_params(warm_start=True, max_iter=1)
    for max_iter in (1, 4, 9, 60, 60, 80):
        parts.set_params(max_iter=max_iter).fit(X, y, X_val=X_val, y_val=y_val)
        assert_equal_models(parts, clone(model).set_params(max_iter=max_iter).fit(X, y, X_val=X_val, y_val=y_val))


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_callbacks_are_told_of_the_best_round_so_far(loss):
    X, y, X_val, y_val, model = rows_of(loss)
    recorder = Recorder()
    told = clone(model).set_callbacks(recorder).fit(X, y, X_val=X_val, y_val=y_val)
    n_grown = len(told.validation_score_) - 1
    fitted = [given["fitted"] for hook, name, _, given in recorder.told if hook == "end" and name == "round"]
    assert len(fitted) == n_grown > told.n_iter_
    for n in (1, n_grown - 1, n_grown):
        stopped = clone(model).set_callbacks(StopAfter(n)).fit(X, y, X_val=X_val, y_val=y_val)
        assert_equal_models(fitted[n - 1], stopped)
        assert stopped.best_iteration_ == 1 + int(np.argmax(told.validation_score_[1 : n + 1]))


# Predictions by fewer iterations


@ALL_LOSSES
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_predictions_by_the_first_rounds(loss, n_jobs):
    X, y, model = problem(loss)
    model.set_params(n_jobs=n_jobs).fit(X, y)
    for n in (1, 3, np.int64(7), 8):
        short = clone(model).set_params(max_iter=int(n)).fit(X, y)
        for method in methods_of(loss):
            assert getattr(model, method)(X, n_iter=n).tobytes() == getattr(short, method)(X).tobytes()
            assert getattr(model, method)(X[:1], n_iter=n).tobytes() == getattr(short, method)(X[:1]).tobytes()
        assert model.apply(X, n_iter=n).shape == short.apply(X).shape
        assert (model.apply(X, n_iter=n) == short.apply(X)).all()
        for background in (None, X[:20]):
            found, expected = (m.shap_values(X[:3], background, **k) for m, k in ((model, {"n_iter": n}), (short, {})))
            assert found.values.tobytes() == expected.values.tobytes()
    assert model.n_iter_ == 8


@pytest.mark.parametrize("n_iter", [0, -1, 9, 2.0, True, "3", np.nan])
def test_rounds_that_there_are_not(n_iter):
    X, y, model = problem("log_loss")
    model.fit(X, y)
    for method in ("predict", "predict_proba", "decision_function", "apply", "shap_values"):
        with pytest.raises(ValueError, match=f"n_iter={n_iter!r}; allowed are integers from 1 to n_iter_=8, and None"):
            getattr(model, method)(X, n_iter=n_iter)
