"""Callbacks of scikit-learn's protocol: what they are told, and that a fit they stop is the beginning of a longer one."""

import pickle

import numpy as np
import pytest
from helpers.boosting import assert_equal_models, problem
from helpers.callbacks import Recorder, StopAfter
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV

from dforest import HistGradientBoostingClassifier, RandomForestClassifier
from dforest.callback.base import Callback

LOSSES = pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "log_loss", "multinomial"])
STOPPING = pytest.mark.parametrize(
    "stopping",
    [{"early_stopping": False}, {"early_stopping": True}, {"early_stopping": True, "validation_fraction": None}],
    ids=["no scores", "rows held out", "training rows"],
)


class Changer(Callback):
    """It sets a parameter after the second step."""

    def on_fit_task_end(self, estimator, context):
        if context.task_name != "fit" and context.task_id == 1:
            estimator.set_params(**{"verbose" if context.task_name == "tree" else "learning_rate": 0.5})


@pytest.mark.parametrize(("model", "what"), [
    (HistGradientBoostingClassifier(max_iter=5), "learning_rate=0.5"), (RandomForestClassifier(5, n_jobs=2), "verbose=0.5"),
])  # fmt: skip
def test_parameters_stay_during_a_fit(model, what):
    X, y, _ = problem("log_loss")
    before = model.get_params()
    with pytest.raises(ValueError, match=f"a callback has set {what} during the fit; allowed are changes between fits"):
        model.set_callbacks(Changer()).fit(X, y)
    assert model.get_params() == before and not hasattr(model, "forest_")


@LOSSES
@STOPPING
def test_what_is_stopped_is_a_prefix(loss, stopping):
    X, y, model = problem(loss)
    model.set_params(max_features=0.7, n_iter_no_change=20, **stopping)
    for k in (1, 3):
        short = clone(model).set_params(max_iter=k).fit(X, y)
        for n_jobs in (1, 2, 7):
            stopped = clone(model).set_params(max_iter=50, n_jobs=n_jobs).set_callbacks(StopAfter(k)).fit(X, y)
            assert stopped.n_iter_ == k
            assert_equal_models(stopped, short)
            assert stopped.predict(X).tobytes() == short.predict(X).tobytes()


@STOPPING
def test_warm_starts_go_on(stopping):
    X, y, model = problem("log_loss")
    model.set_params(n_iter_no_change=20, **stopping)
    stopped = clone(model).set_params(warm_start=True).set_callbacks(StopAfter(3)).fit(X, y)
    assert stopped.n_iter_ == 3
    assert stopped.fit(X, y).n_iter_ == 6  # rounds of a fit count from 0 again
    stopped.set_callbacks()
    assert_equal_models(stopped.fit(X, y), model.fit(X, y))
    recorder = Recorder()
    stopped.set_callbacks(recorder).fit(X, y)  # nothing is left to be done
    assert [told[:3] for told in recorder.told] == [(hook, "fit", 0) for hook in ("setup", "begin", "end", "teardown")]


def test_early_stopping_is_what_it_is_without_callbacks():
    X, y, model = problem("squared_error", n=500)
    model.set_params(max_iter=60, learning_rate=0.5, n_iter_no_change=4, early_stopping=True)
    recorder = Recorder()
    plain, told = clone(model).fit(X, y), clone(model).set_callbacks(recorder).fit(X, y)
    assert plain.n_iter_ < 60
    assert_equal_models(plain, told)
    assert sum(hook == "end" and name == "round" for hook, name, *_ in recorder.told) == len(plain.train_score_) - 1


@LOSSES
@STOPPING
@pytest.mark.parametrize("is_weighted", [False, True])
def test_what_callbacks_are_told(loss, stopping, is_weighted):
    X, y, model = problem(loss)
    weight = np.arange(300) % 3 + 0.5 if is_weighted else None
    model.set_params(max_iter=3, **stopping)
    recorder = Recorder()
    model.set_callbacks(recorder).fit(X, y, weight)
    rounds = [(hook, "round", i) for i in range(3) for hook in ("begin", "end")]
    expected = [("setup", "fit", 0), ("begin", "fit", 0), *rounds, ("end", "fit", 0), ("teardown", "fit", 0)]
    assert [told[:3] for told in recorder.told] == expected
    for hook, name, number, given in recorder.told[1:-1]:
        assert given["X"] is X and given["y"] is y
        assert (given["metadata"] == {}) if weight is None else (given["metadata"]["sample_weight"] is weight)
        n_rounds = number + (hook == "end") if name == "round" else 3 * (hook == "end")
        if n_rounds == 0:
            assert given["fitted"] is None
        else:
            fitted = clone(model).set_params(max_iter=n_rounds).set_callbacks().fit(X, y, weight)
            assert_equal_models(given["fitted"], fitted)
            assert given["fitted"].predict(X).tobytes() == fitted.predict(X).tobytes()


def test_bad_data_tear_nothing_down_that_was_not_set_up():
    X, y, model = problem("squared_error")
    recorder = Recorder()
    with pytest.raises(ValueError, match="NaN"):
        model.set_callbacks(recorder).fit(X, np.full(300, np.nan))
    assert recorder.told == []
    model.set_params(learning_rate=1e300)
    with pytest.raises(ValueError, match="leave the range of float64"):
        model.fit(X, y)
    assert [told[0] for told in recorder.told if told[1] == "fit"] == ["setup", "begin", "teardown"]
    assert not hasattr(model, "forest_") and not hasattr(model, "_callback_fit_ctx")


def test_what_is_no_callback():
    with pytest.raises(TypeError, match="following the FitCallback protocol"):
        HistGradientBoostingClassifier().set_callbacks(print)


def test_copies_keep_callbacks():
    X, y, model = problem("squared_error")
    model.set_callbacks(StopAfter(2))
    for other in (clone(model), pickle.loads(pickle.dumps(model))):
        assert other.fit(X, y).n_iter_ == 2


# scikit-learn's own


@pytest.mark.parametrize("loss", ["squared_error", "multinomial"])
def test_scoring_monitor(loss):
    monitors = pytest.importorskip("sklearn.callback")
    X, y, model = problem(loss)
    scoring = "r2" if loss == "squared_error" else "neg_log_loss"
    monitor = monitors.ScoringMonitor(scoring=scoring)
    model.set_callbacks(monitor).fit(X, y)
    rounds = [row[scoring] for row in monitor.get_logs().data if row["task_name"] == "round"]
    assert len(rounds) == 8 and rounds == sorted(rounds)
    metric = r2_score if loss == "squared_error" else lambda y, p: -log_loss(y, p, labels=model.classes_)
    stages = model.staged_predict(X) if loss == "squared_error" else model.staged_predict_proba(X)
    assert rounds == [metric(y, stage) for stage in stages]


def test_progress_bar(capsys):
    pytest.importorskip("rich")
    bars = pytest.importorskip("sklearn.callback")
    X, y, model = problem("squared_error")
    plain = clone(model).fit(X, y)
    assert_equal_models(model.set_callbacks(bars.ProgressBar()).fit(X, y), plain)
    told = capsys.readouterr().out
    assert "HistGradientBoostingRegressor - fit" in told and "100%" in told
    stopped = clone(model).set_params(max_iter=1000).set_callbacks(bars.ProgressBar(), StopAfter(8)).fit(X, y)
    assert_equal_models(stopped, plain)


def test_progress_bars_in_a_grid_search(capsys):
    pytest.importorskip("rich")
    bars = pytest.importorskip("sklearn.callback")
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(HistGradientBoostingClassifier(max_iter=2, random_state=0), {"max_depth": [1, 2]}, cv=2)
    plain = clone(search).fit(X, y)
    search.set_callbacks(bars.ProgressBar(max_propagation_depth=None)).fit(X, y)
    assert (search.cv_results_["mean_test_score"] == plain.cv_results_["mean_test_score"]).all()
    assert_equal_models(search.best_estimator_, plain.best_estimator_)
    assert "| HistGradientBoosting" in capsys.readouterr().out
