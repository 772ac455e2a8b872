"""The number of iterations is searched on some of the rows, or on all folds of them in turn, and then all rows grow the model."""

import io
import warnings
from contextlib import redirect_stderr

import numpy as np
import pytest
from helpers.boosting import CLASSIFICATION, REGRESSION, assert_equal_models, problem
from helpers.callbacks import Recorder, StopAfter
from helpers.device_forests import assert_same
from sklearn.base import clone

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRanker, HistGradientBoostingRegressor
from dforest.callback import Checkpoint
from dforest.engines.rows import RowShare
from dforest.estimators.boosting.defaults import FOLDS_BELOW, N_FOLDS
from dforest.loss import PythonLoss
from dforest.spmd.communicator import ALONE
from dforest.spmd.draws import assign_parts
from dforest.spmd.threads import ThreadGroup

ALL_LOSSES = pytest.mark.parametrize("loss", REGRESSION + CLASSIFICATION)
FAST = {"early_stopping": True, "learning_rate": 0.5, "max_iter": 60, "n_iter_no_change": 4, "subsample": 0.8}


def rows_of(loss, **parameters):
    """X, y and a model that stops early."""
    X, y, model = problem(loss, n=400)
    if loss in ("gamma", "poisson", "tweedie"):
        y, parameters = np.clip(y, 0.5, 20), {"learning_rate": 0.2, **parameters}
    return X, y, model.set_params(**{**FAST, **parameters})


def grown_anew(model, X, y, n_iterations):
    """What all rows grow in so many iterations."""
    parameters = {"early_stopping": False, "refit": False, "validation_folds": 1, "max_iter": n_iterations}
    return clone(model).set_params(**parameters).fit(X, y)


def assert_told(model, training, validation):
    """The model tells these scores of its search."""
    for which, scores in (("training", training), ("validation", validation)):
        (history,) = model.score_history_.values()
        assert np.array_equal(history[which], scores)
    assert np.array_equal(model.train_score_, training) and np.array_equal(model.validation_score_, validation)
    assert model.best_iteration_ == 1 + int(np.argmax(validation[1:])) and model.best_score_ == validation[model.best_iteration_]


@ALL_LOSSES
@pytest.mark.parametrize("keeps_best", [True, False])
def test_a_refit_is_a_search_and_a_fit_of_all_rows(loss, keeps_best):
    X, y, model = rows_of(loss, validation_fraction=100, use_best_model=keeps_best)
    search = clone(model).fit(X, y)
    model.set_params(refit=True).fit(X, y)
    assert model.n_iter_ == int(np.floor(search.n_iter_ * 400 / 300 + 0.5)) < 60
    assert_same(model, grown_anew(model, X, y, model.n_iter_))
    assert_told(model, search.train_score_, search.validation_score_)
    assert model.fit_report_.n_trees == model.n_iter_ * model.n_trees_per_iteration_


@ALL_LOSSES
def test_folds_are_fits_that_are_given_the_rows_held_out(loss):
    X, y, model = rows_of(loss, validation_folds=3, tol=0.01)
    model.fit(X, y)
    classes = np.searchsorted(model.classes_, y) if loss in CLASSIFICATION else np.zeros(400)
    fold = assign_parts(RowShare.whole(400), 3, model._row_seed, classes, int(classes.max()) + 1, ALONE)
    alone = clone(model).set_params(validation_folds=1, n_iter_no_change=60, use_best_model=False)
    fits = [clone(alone).fit(X[fold != k], y[fold != k], X_val=X[fold == k], y_val=y[fold == k]) for k in range(3)]
    training = np.mean([fit.train_score_ for fit in fits], axis=0)
    validation = np.mean([fit.validation_score_ for fit in fits], axis=0)
    n = next(n for n in range(5, 61) if not any(score > validation[n - 4] + 0.01 for score in validation[n - 3 : n + 1]))
    assert n < 60
    assert_told(model, training[: n + 1], validation[: n + 1])
    assert model.n_iter_ == int(np.floor(model.best_iteration_ * 3 / 2 + 0.5))
    assert_same(model, grown_anew(model, X, y, model.n_iter_))


def test_no_more_iterations_than_allowed():
    X, y, model = rows_of("squared_error", learning_rate=0.01, max_iter=7, refit=True)
    assert model.fit(X, y).n_iter_ == model.best_iteration_ == 7


@pytest.mark.parametrize("given", [{"X_val": True}, {"validation_fraction": None}, {"early_stopping": False}])
@pytest.mark.parametrize("asked", [{"refit": True}, {"validation_folds": 1}])
def test_where_no_rows_are_held_out_nothing_is_grown_anew(given, asked):
    X, y, model = rows_of("squared_error")
    scored = {"X_val": X[300:], "y_val": y[300:]} if given.get("X_val") else {}
    model.set_params(**{name: value for name, value in given.items() if name != "X_val"})
    assert_equal_models(clone(model).set_params(**asked).fit(X[:300], y[:300], **scored), model.fit(X[:300], y[:300], **scored))


@pytest.mark.parametrize("n_rows", [FOLDS_BELOW - 1, FOLDS_BELOW])
def test_folds_where_rows_are_few(n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    model = HistGradientBoostingRegressor(max_iter=2, early_stopping=True, defaults="dforest", random_state=0, max_leaf_nodes=3)
    n_folds = N_FOLDS if n_rows < FOLDS_BELOW else 1
    auto, expected = (clone(model).set_params(validation_folds=n).fit(X, X[:, 0]) for n in ("auto", n_folds))
    assert_equal_models(auto, expected)
    assert auto.validation_folds_ == n_folds and auto.refit_
    assert clone(model).set_params(validation_fraction=0.1).fit(X, X[:, 0]).validation_folds_ == 1
    warm = clone(model).set_params(warm_start=True).fit(X, X[:, 0])
    assert warm.validation_folds_ == 1 and not warm.refit_


def test_ranking_holds_whole_queries_out():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(300, 3)), rng.integers(0, 31, 300)
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=300)), 0, 3)
    model = HistGradientBoostingRanker(max_iter=20, early_stopping=True, n_iter_no_change=3, validation_folds=4, random_state=0)
    model.fit(X, y, qid=qid)
    fold = assign_parts(RowShare.whole(31), 4, model._row_seed, np.zeros(31), 1, ALONE)[qid]
    alone = clone(model).set_params(validation_folds=1, use_best_model=False, n_iter_no_change=20)
    scores = []
    for k in range(4):
        own, held = fold != k, fold == k
        scored = {"X_val": X[held], "y_val": y[held], "qid_val": qid[held]}
        scores.append(clone(alone).fit(X[own], y[own], qid=qid[own], **scored).validation_score_)
    assert np.array_equal(model.validation_score_, np.mean(scores, axis=0)[: len(model.validation_score_)])
    with pytest.raises(ValueError, match="validation_folds=32 of 31 queries can't be held out in turn.*from 1 to n_queries=31"):
        model.set_params(validation_folds=32).fit(X, y, qid=qid)


@pytest.mark.parametrize("seed", range(10))
def test_rows_are_dealt_out_evenly_whoever_has_them(seed):
    rng = np.random.default_rng(seed)
    n, n_parts, n_classes = int(rng.integers(10, 90)), int(rng.integers(2, 7)), int(rng.integers(1, 5))
    classes = rng.integers(0, n_classes, n)
    found = assign_parts(RowShare.whole(n), n_parts, seed, classes, n_classes, ALONE)
    for members in (classes >= 0, *(classes == k for k in range(n_classes))):
        sizes = np.bincount(found[members], minlength=n_parts)
        assert sizes.max() - sizes.min() <= 1
    cut = int(rng.integers(0, n + 1))

    def deal(ranks):
        own = slice(0, cut) if ranks.rank == 0 else slice(cut, n)
        share = RowShare.agreed(ranks, [ranks.rank], [len(classes[own])])
        return assign_parts(share, n_parts, seed, classes[own], n_classes, ranks)

    assert np.array_equal(np.concatenate(ThreadGroup(2).run(deal)), found)


def test_what_cannot_be_is_refused():
    X, y, model = rows_of("log_loss", validation_folds=3)
    for scored, parameters in (({"X_val": X, "y_val": y}, {}), ({}, {"validation_fraction": None})):
        with pytest.raises(ValueError, match=r"validation_folds=3, and .*so that no rows of X are held out; allowed are then 1"):
            clone(model).set_params(**parameters).fit(X, y, **scored)
    with pytest.raises(ValueError, match=r"validation_folds=401 of 400 rows can't be held out in turn.*from 1 to n_samples=400"):
        clone(model).set_params(validation_folds=401).fit(X, y)
    y[0] = "r"
    with pytest.raises(ValueError, match="validation_folds=3 of 400 rows can't .* the class 'r' has one row; allowed are two"):
        model.fit(X, y)


OURS = {
    "learning_rate": 0.05, "max_iter": 1000, "l2_regularization": 1.0, "max_features": 0.5, "validation_fraction": 0.15,
    "validation_folds": 5, "refit": True, "n_iter_no_change": 50, "tol": 0.0, "early_stopping": True,
}  # fmt: skip
THEIRS = {
    "learning_rate": 0.1, "max_iter": 100, "l2_regularization": 0.0, "max_features": 1.0, "validation_fraction": 0.1,
    "validation_folds": 1, "refit": False, "n_iter_no_change": 10, "tol": 1e-7, "early_stopping": False,
}  # fmt: skip


@pytest.mark.parametrize(("defaults", "values"), [("dforest", OURS), ("scikit-learn", THEIRS)])
@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, HistGradientBoostingRegressor, HistGradientBoostingRanker])
def test_what_auto_means(kind, defaults, values):
    """Fits by "auto" are fits by these values; each may be given, and is then taken."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    given = {"X": X, "y": (X[:, 0] + rng.normal(size=200) > 0).astype(int)}
    if kind is HistGradientBoostingRanker:
        given["qid"] = np.arange(200) // 10
    model = kind(defaults=defaults, max_leaf_nodes=4, random_state=0)
    auto = clone(model).fit(**given)
    assert_equal_models(auto, clone(model).set_params(**values).fit(**given))
    assert {name: getattr(auto, f"{name}_") for name in values if name != "early_stopping"} == {
        name: value for name, value in values.items() if name != "early_stopping"
    }
    assert auto.do_early_stopping_ == values["early_stopping"]
    other = {"learning_rate": 0.5, "max_iter": 3, "l2_regularization": 2.0, "max_features": 2, "validation_fraction": 30}
    chosen = clone(model).set_params(**other).fit(**given)
    assert {name: getattr(chosen, f"{name}_") for name in other} == other and not chosen.do_early_stopping_


@pytest.mark.parametrize(("max_iter", "rate"), [(1, 0.1), (100, 0.1), (160, 10 / 160), (201, 0.05)])
def test_the_rate_follows_the_iterations(max_iter, rate):
    X = np.arange(60.0)[:, None]
    model = HistGradientBoostingRegressor(defaults="dforest", max_iter=max_iter, max_leaf_nodes=2).fit(X, X[:, 0])
    assert model.learning_rate_ == rate and not model.do_early_stopping_


@pytest.mark.parametrize(("n_classes", "most", "rate", "n_folds", "n_waited"), [(5, 1000, 0.05, 5, 50), (6, 500, 0.1, 1, 25)])
def test_of_many_classes_time_counts(n_classes, most, rate, n_folds, n_waited):
    X = np.random.default_rng(0).normal(size=(120, 2))
    model = HistGradientBoostingClassifier(max_leaf_nodes=2, random_state=0).fit(X, np.arange(120) % n_classes)
    found = model.max_iter_, model.learning_rate_, model.validation_folds_, model.n_iter_no_change_
    assert found == (most, rate, n_folds, n_waited)
    assert clone(model).set_params(max_iter=1).fit(X, np.arange(120) % n_classes).learning_rate_ == 0.1


@pytest.mark.parametrize(("rate", "n_waited"), [(0.02, 125), (0.1, 25), (0.3, 10), (1e-320, 1000)])
def test_lower_rates_wait_longer(rate, n_waited):
    X = np.arange(60.0)[:, None]
    model = HistGradientBoostingRegressor(learning_rate=rate, max_iter=1, max_leaf_nodes=2).fit(X, X[:, 0])
    assert model.n_iter_no_change_ == n_waited


def test_small_targets_stop_no_earlier():
    X, y, _ = problem("squared_error")
    model = HistGradientBoostingRegressor(defaults="dforest", max_leaf_nodes=3, random_state=0)
    n_iterations = [clone(model).fit(X, y * 2.0**k).n_iter_ for k in (0, -20, 20)]
    assert len(set(n_iterations)) == 1


def test_a_loss_without_values_stops_at_no_score_that_it_lacks():
    class Bare(PythonLoss):
        def gradient_hessian(self, y_true, raw_prediction):
            return raw_prediction - y_true, np.ones(len(y_true))

    X, y, _ = problem("squared_error")
    model = HistGradientBoostingRegressor(Bare(), random_state=0).fit(X, y)
    assert not model.do_early_stopping_ and model.n_iter_ == model.max_iter_ == 100
    for given in ({"early_stopping": True}, {"early_stopping": "auto", "X_val": X, "y_val": y}):
        stopping = HistGradientBoostingRegressor(Bare(), early_stopping=given.pop("early_stopping"))
        with pytest.raises(NotImplementedError, match="Bare does not define loss, .*; allowed are .*, and early_stopping=False"):
            stopping.fit(X, y, **given)
    for parameters in ({"max_iter": 5}, {"early_stopping": False}, {"scoring": "r2", "learning_rate": 0.2}):
        assert HistGradientBoostingRegressor(Bare(), random_state=0, **parameters).fit(X, y).n_iter_ > 4


def test_where_rows_cannot_be_held_out_nothing_stops():
    X, y, _ = problem("log_loss", n=60)
    model = HistGradientBoostingClassifier(defaults="dforest", max_leaf_nodes=3, random_state=0)
    y[0] = "d"  # a class of one row
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = clone(model).set_params(early_stopping=False).fit(X, y)
    told = r"validation_folds=5 .* the class 'd' has one row.* so 100 iterations are grown without it; early_stopping=False does"
    with pytest.warns(UserWarning, match=told):
        assert_equal_models(model.fit(X, y), asked)
    assert (model.n_iter_, model.max_iter_, model.learning_rate_, model.do_early_stopping_) == (100, 100, 0.1, False)
    counts = np.zeros(60)
    counts[3] = 2.0  # no fold without this row has a mean above 0
    with pytest.warns(UserWarning, match=r"validation_folds=5 of 60 rows can't be held out in turn .*iterations are grown"):
        assert not HistGradientBoostingRegressor("poisson", defaults="dforest").fit(X, counts).do_early_stopping_
    for parameters in ({"early_stopping": True}, {"early_stopping": True, "validation_folds": 3}):
        with pytest.raises(ValueError, match="can't be held out.*the class 'd' has one row"):
            clone(model).set_params(**parameters).fit(X, y)


@pytest.mark.parametrize("asked", [{"refit": True}, {"validation_folds": 3}])
def test_callbacks_see_the_trees_of_all_rows(asked):
    X, y, model = rows_of("squared_error", **asked)
    whole, recorder = clone(model).fit(X, y), Recorder()
    assert_equal_models(clone(model).set_callbacks(recorder).fit(X, y), whole)
    stopped = clone(model).set_callbacks(StopAfter(2)).fit(X, y)
    assert stopped.n_iter_ == 2 and stopped.best_iteration_ == whole.best_iteration_
    assert_same(stopped, grown_anew(model, X, y, 2))


def test_a_checkpoint_is_of_one_rate(tmp_path):
    X, y, model = rows_of("squared_error", defaults="dforest", learning_rate="auto", early_stopping=False, max_iter=20)
    clone(model).set_callbacks(Checkpoint(tmp_path / "one")).fit(X, y)
    with pytest.raises(ValueError, match=r"was written for another learning_rate than that of this fit"):
        model.set_params(max_iter=140).set_callbacks(Checkpoint(tmp_path / "one")).fit(X, y)


def test_what_is_printed():
    X, y, model = rows_of("squared_error", validation_folds=3, verbose=2)
    with redirect_stderr(io.StringIO()) as printed:
        model.fit(X, y)
    lines = printed.getvalue().splitlines()
    n = len(model.validation_score_) - 1
    assert lines[0].startswith("1 of 60 iterations, training score ") and f"{model.validation_score_[1]:.6g}" in lines[0]
    assert lines[n].endswith(f"it was best, {model.best_score_:.6g}, after the first {model.best_iteration_}; "
                             f"{model.n_iter_} are grown on all rows")  # fmt: skip
    assert lines[n + 1 :] == [f"{k} of {model.n_iter_} iterations" for k in range(1, model.n_iter_ + 1)]


def test_memory_of_the_search():
    X, y, model = rows_of("squared_error", max_iter=10)
    folds, once = (clone(model).set_params(**asked).estimate_memory(X, y) for asked in ({"validation_folds": 3}, {"refit": True}))
    assert folds.search > once.search > 0 == model.estimate_memory(X, y).search
    assert folds.total >= folds.search and "searching iterations" in str(folds)


def test_a_search_without_gain_warns_of_all_rows_scored():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), np.arange(120) % 2
    model = HistGradientBoostingClassifier(early_stopping=True, validation_folds=4, max_leaf_nodes=31, min_samples_leaf=1)
    with pytest.warns(UserWarning, match=r"none of \d+ iterations scored better on the 120 validation rows"):
        model.set_params(random_state=0, learning_rate=1.0, n_iter_no_change=2).fit(X, y)
