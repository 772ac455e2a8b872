"""Forests tell callbacks of their trees, and a fit that one of them ends is the beginning of a longer one."""

import threading
import warnings

import numpy as np
import pytest
import sklearn
from helpers.callbacks import CLASSES, FREE, NUMBERS, WEIGHT, Recorder, StopAfter, X, assert_equal_fits, one_line, target_of
from helpers.device_forests import assert_same
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV

from dforest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from dforest.callback import OutOfBagPlateau
from dforest.callback.base import Callback, is_step
from dforest.config import communicator

MODELS = [
    RandomForestClassifier(oob_score=True, variable_importance="mda_scaled"),
    RandomForestClassifier(oob_score=True, voting="hard", method="dense", ccp_alpha=0.003),
    RandomForestClassifier(class_weight="balanced_subsample", max_leaf_nodes=9, max_samples=0.3),
    RandomForestRegressor(oob_score=True, variable_importance="mdi"),
    RandomForestRegressor(criterion="absolute_error", max_depth=4),
    RandomForestRegressor(oob_score=True, ccp_alpha=20.0, min_samples_leaf=3),
    ExtraTreesClassifier(),
    ExtraTreesRegressor(bootstrap=True, oob_score=True),
    RandomTreesEmbedding(),
    IsolationForest(contamination=0.1, max_features=0.5),
]
ALL = pytest.mark.parametrize("model", MODELS, ids=one_line)


def quiet(fit, *data):
    """A fit of few trees, which may leave out no row."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        return fit(*data)


@ALL
def test_what_is_stopped_is_a_prefix(model):
    y = target_of(model)
    for k in (1, 5, 12):
        short = quiet(clone(model).set_params(n_estimators=k, random_state=3).fit, X, y, WEIGHT)
        for n_jobs in (1, 2, 8):
            long = clone(model).set_params(n_estimators=40, random_state=3, n_jobs=n_jobs).set_callbacks(StopAfter(k))
            assert quiet(long.fit, X, y, WEIGHT).n_estimators_ == k
            assert_equal_fits(long, short)


@ALL
def test_warm_starts_go_on(model):
    y = target_of(model)
    stopped = clone(model).set_params(n_estimators=20, random_state=1, warm_start=True).set_callbacks(StopAfter(4))
    for n_trees in (4, 8, 12):  # trees of a fit count from 0 again
        assert quiet(stopped.fit, X, y).n_estimators_ == n_trees
    whole = quiet(clone(model).set_params(n_estimators=20, random_state=1).fit, X, y)
    quiet(stopped.set_callbacks().fit, X, y)
    assert_same(whole, stopped)


@ALL
@pytest.mark.parametrize("is_weighted", [False, True])
def test_what_callbacks_are_told(model, is_weighted):
    y, weight = target_of(model), WEIGHT if is_weighted else None
    recorder = Recorder()
    told = clone(model).set_params(n_estimators=3, random_state=2, n_jobs=2)
    quiet(told.set_callbacks(recorder).fit, X, y, weight)
    trees = [(hook, "tree", i) for i in range(3) for hook in ("begin", "end")]
    assert [told[:3] for told in recorder.told] == [
        ("setup", "fit", 0), ("begin", "fit", 0), *trees, ("end", "fit", 0), ("teardown", "fit", 0)
    ]  # fmt: skip
    for hook, name, number, given in recorder.told[1:-1]:
        assert given["X"] is X
        assert given["y"] is y or isinstance(model, RandomTreesEmbedding | IsolationForest)  # of targets of their own
        assert given["metadata"] == ({} if weight is None else {"sample_weight": weight})
        n_trees = number + (hook == "end") if name == "tree" else 3 * (hook == "end")
        if n_trees == 0:
            assert given["fitted"] is None
        else:
            short = quiet(clone(model).set_params(n_estimators=n_trees, random_state=2).fit, X, y, weight)
            assert_equal_fits(given["fitted"], short, (*FREE, "_callback_fit_ctx", "_skl_callbacks_to_teardown"))


def test_hooks_have_the_configuration_of_the_caller():
    """Whichever thread calls them; one at a time."""
    seen, at_work = set(), []

    class Looker(Callback):
        def on_fit_task_end(self, estimator, context):
            at_work.append(context.task_id)
            assert len(at_work) == 1
            seen.add((sklearn.get_config()["working_memory"], communicator().size))
            at_work.pop()

    with sklearn.config_context(working_memory=77):
        RandomForestRegressor(100, n_jobs=4).set_callbacks(Looker()).fit(X, NUMBERS)
    assert seen == {(77, 1)}


class Raiser(Callback):
    """It raises an exception in a hook."""

    def __init__(self, hook):
        setattr(self, hook, self.fail)
        self.was_torn_down = False

    def fail(self, estimator, context):
        if context.task_name == "fit" or context.task_id == 2:
            raise RuntimeError("enough")

    def teardown(self, estimator, context):
        self.was_torn_down = True


@pytest.mark.parametrize("is_fitted", [False, True])
@pytest.mark.parametrize("hook", ["setup", "on_fit_task_begin", "on_fit_task_end", "teardown"])
@pytest.mark.parametrize(
    "model",
    [*(RandomForestClassifier(6, n_jobs=n) for n in (1, 4)), HistGradientBoostingClassifier(max_iter=6, early_stopping=False)],
    ids=one_line,
)
def test_a_callback_that_raises_leaves_the_estimator_as_it_was(hook, is_fitted, model):
    model = clone(model).set_params(random_state=0)
    if is_fitted:
        model.fit(X, CLASSES)
    raiser, size = Raiser(hook), "n_estimators" if hasattr(model, "n_estimators") else "max_iter"
    model.set_params(**{size: 30}, warm_start=True).set_callbacks(raiser)
    before, n_threads = dict(vars(model)), threading.active_count()
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(X, CLASSES)
    assert vars(model) == before
    assert raiser.was_torn_down == (hook != "teardown")
    assert threading.active_count() <= max(n_threads, 4)
    assert_same(model.set_callbacks().fit(X, CLASSES), clone(model).set_callbacks().fit(X, CLASSES))


def test_bad_data_are_told_before_callbacks_are_set_up():
    recorder = Recorder()
    model = RandomForestRegressor(5).set_callbacks(recorder)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.full(len(X), np.nan))
    assert recorder.told == []
    with pytest.raises(NotFittedError):
        model.n_estimators_  # noqa: B018


def test_nothing_is_left_to_be_grown():
    recorder = Recorder()
    model = RandomForestClassifier(4, random_state=0, warm_start=True).fit(X, CLASSES)
    with pytest.warns(UserWarning, match="without increasing n_estimators"):
        model.set_callbacks(recorder).fit(X, CLASSES)
    assert [told[:3] for told in recorder.told] == [(hook, "fit", 0) for hook in ("setup", "begin", "end", "teardown")]


def test_searches_pass_callbacks_on():
    search = GridSearchCV(RandomForestClassifier(30, random_state=0).set_callbacks(StopAfter(3)), {"max_depth": [2, 3]}, cv=3)
    assert search.fit(*load_wine(return_X_y=True)).best_estimator_.n_estimators_ == 3


# Live votes


@pytest.mark.parametrize("n_jobs", [1, 2, 8])
@pytest.mark.parametrize("model", [model for model in MODELS if getattr(model, "oob_score", False)], ids=one_line)
def test_the_live_curve_is_that_of_the_fit(model, n_jobs):
    curves = []

    class Looker(OutOfBagPlateau):
        def on_fit_task_end(self, estimator, context):
            if is_step(context):
                curves.append(list(estimator._growth.curve))
            return False

    y = target_of(model)
    plain = quiet(clone(model).set_params(n_estimators=15, random_state=5).fit, X, y, WEIGHT)
    told = clone(model).set_params(n_estimators=15, random_state=5, n_jobs=n_jobs).set_callbacks(Looker())
    assert_equal_fits(quiet(told.fit, X, y, WEIGHT), plain)
    assert [len(curve) for curve in curves] == list(range(1, 16))
    for curve in curves:
        np.testing.assert_array_equal(curve, plain.oob_curve_[: len(curve)])


def test_votes_of_earlier_trees_count():
    model = RandomForestRegressor(10, oob_score=True, warm_start=True, random_state=0)
    quiet(model.fit, X, NUMBERS)
    quiet(model.set_params(n_estimators=30).set_callbacks(OutOfBagPlateau(rounds=100)).fit, X, NUMBERS)
    whole = quiet(RandomForestRegressor(30, oob_score=True, random_state=0).fit, X, NUMBERS)
    for name in ("oob_curve_", "oob_prediction_", "oob_error_per_observation_", "oob_score_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(whole, name))


def test_plateau():
    """The rule, read off the curve."""
    plain = RandomForestRegressor(400, oob_score=True, random_state=0).fit(X, NUMBERS)
    for rounds, tolerance in [(1, 0.0), (10, 0.001), (40, 0.01), (30, 0.0)]:
        best, since, n = np.inf, 0, 0
        while since < rounds and n < 400:
            error = plain.oob_curve_[n]
            n, since = n + 1, since + 1
            if best == np.inf or -error > -best + tolerance * best:
                best, since = error, 0
        for n_jobs in (1, 3):
            stopped = clone(plain).set_params(n_jobs=n_jobs, oob_score=False)
            assert quiet(stopped.set_callbacks(OutOfBagPlateau(rounds=rounds, tolerance=tolerance)).fit, X, NUMBERS)
            assert stopped.n_estimators_ == n


def test_plateau_of_a_score():
    values = []

    def score(true, predicted):
        values.append(accuracy_score(true, predicted))
        return values[-1]

    model = RandomForestClassifier(300, oob_score=True, random_state=0).set_callbacks(OutOfBagPlateau(score, rounds=10))
    quiet(model.fit, X, CLASSES)
    assert model.n_estimators_ == len(values) < 300
    assert values[-1] == model.oob_score_
    assert max(values[-10:]) <= max(values[:-10]) * 1.001


def test_values_that_are_no_numbers_do_not_count():
    """Of the first eleven values these are the first four and the ninth."""
    values = iter([np.nan] * 4 + [3.0, 2.0, 2.0, 2.0, np.nan, 2.0, 2.0, 4.0])
    model = RandomForestClassifier(300, random_state=0).set_callbacks(OutOfBagPlateau(lambda *_: next(values), rounds=5))
    assert len(quiet(model.fit, X, CLASSES)) == 11 and next(values) == 4.0


def test_a_plateau_of_what_is_no_number_is_refused():
    model = RandomForestClassifier(300, random_state=0).set_callbacks(OutOfBagPlateau(lambda *_: np.nan, rounds=7))
    message = r"the value of scorer=<function .* is NaN after each of 7 trees in a row, with \d+ rows that some tree left out"
    with pytest.raises(ValueError, match=message):
        quiet(model.fit, X, CLASSES)
    model = RandomForestRegressor(300, random_state=0).set_callbacks(OutOfBagPlateau(rounds=3))
    with pytest.raises(ValueError, match="the out-of-bag error is NaN after each of 3 trees in a row, with 0 rows"):
        quiet(model.fit, X[:1], NUMBERS[:1])


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
@pytest.mark.parametrize("is_scorer", [False, True])
def test_plateau_of_several_outputs(kind, is_scorer):
    y = np.stack([NUMBERS, NUMBERS[::-1]], axis=1)
    y = y > np.median(NUMBERS) if kind is RandomForestClassifier else y
    values = []

    def score(true, predicted):
        assert true.shape == predicted.shape == (len(true), 2)
        values.append(-np.abs(true * 1.0 - predicted).mean())
        return values[-1]

    score = make_scorer(score) if is_scorer else score
    model = kind(300, oob_score=score, random_state=0).set_callbacks(OutOfBagPlateau(score, rounds=5))
    quiet(model.fit, X, y)
    assert model.n_estimators_ == len(values) - 1 < 300
    assert values[-1] == values[-2] == model.oob_score_
    assert max(values[-6:]) <= max(values[:-6]) * (1 - 0.001)
    curves = []
    for n_jobs in (1, 3):  # an end that depends on the trees alone; votes counted while trees come, and afterwards
        model = kind(60, oob_score=True, random_state=0, n_jobs=n_jobs, warm_start=True).set_params(n_estimators=20)
        quiet(model.fit, X, y)
        model.set_params(n_estimators=60).set_callbacks(OutOfBagPlateau(rounds=4))
        curves.append(quiet(model.fit, X, y).oob_curve_)
        assert 20 < len(curves[-1]) < 60
    assert curves[0].tobytes() == curves[1].tobytes()
    whole = quiet(kind(len(curves[0]), oob_score=True, random_state=0).fit, X, y)
    assert whole.oob_curve_.tobytes() == curves[0].tobytes()


def test_plateau_refuses():
    model = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X, CLASSES)
    model.set_params(n_estimators=9).set_callbacks(OutOfBagPlateau())
    with pytest.raises(ValueError, match="X has 300 rows of positive weight, but trees were grown on 442 rows"):
        model.fit(X[:300], CLASSES[:300])
    assert model.n_estimators_ == 5
    with pytest.raises(ValueError, match="bootstrap='auto' leaves no row out"):
        ExtraTreesClassifier().set_callbacks(OutOfBagPlateau()).fit(X, CLASSES)
    with pytest.raises(ValueError, match="OutOfBagPlateau can't watch a HistGradientBoostingRegressor; allowed are dforest"):
        HistGradientBoostingRegressor().set_callbacks(OutOfBagPlateau()).fit(X, NUMBERS)
    for name, value, allowed in [
        ("rounds", 0, "integers from 1"),
        ("rounds", 2.0, "integers from 1"),
        ("tolerance", -0.1, "numbers from 0"),
        ("tolerance", np.nan, "numbers from 0"),
        ("scorer", 2, "metrics and scorers"),
    ]:
        with pytest.raises(ValueError, match=f"{name}={value!r}; allowed are .*{allowed}"):
            OutOfBagPlateau(**{name: value})
    with pytest.raises(ValueError, match="scorer='neg_log_los' names no scorer; near it are 'neg_log_loss'"):
        OutOfBagPlateau(scorer="neg_log_los")
