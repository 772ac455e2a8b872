"""Callbacks on ranks: any rank may have some, and a forest that one of them has stopped is, on all ranks, the shorter forest."""

import signal
from threading import Thread

import numpy as np
import pytest
from helpers.callbacks import FREE, FailAfter, Recorder, StopAfter, assert_equal_fits
from helpers.device_forests import differences
from helpers.ranks import Cut, fit_by_ranks, sizes
from sklearn.base import clone

from dforest import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor, config_context
from dforest.callback import Checkpoint, KeepOnInterrupt, ProgressBar, TimeLimit
from dforest.callback.base import Callback, is_step
from dforest.errors import LimitError
from dforest.spmd.threads import ThreadGroup

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")

N = 120
RNG = np.random.default_rng(0)
X = np.round(RNG.standard_normal((N, 4)), 2)
NUMBERS = X[:, 0] + RNG.standard_normal(N)
CLASSES = np.searchsorted([-0.5, 0.5], NUMBERS)
WEIGHT = RNG.integers(0, 4, N) / 2
MODELS = [
    RandomForestClassifier(oob_score=True, variable_importance="mda_scaled", class_weight="balanced"),
    RandomForestClassifier(class_weight="balanced_subsample", max_leaf_nodes=9, ccp_alpha=0.003),
    RandomForestRegressor(criterion="absolute_error", max_depth=4, oob_score=True),
    ExtraTreesRegressor(variable_importance="mdi", min_samples_leaf=3),
]
OF_RANKS = (*FREE, "fit_report_", "_callback_fit_ctx", "_skl_callbacks_to_teardown")  # the report counts what ranks sent


class Failing(Callback):
    """It raises an exception in a hook."""

    def __init__(self, hook):
        setattr(self, hook, self.fail)

    def fail(self, estimator, context):
        if context.task_name == "fit" or context.task_id == 2:
            raise RuntimeError("enough")


def target_of(model):
    return CLASSES if isinstance(model, RandomForestClassifier) else NUMBERS


def cut_for(size, kind):
    return Cut.random(np.random.default_rng(size), N, size, kind)


def fit_watched(model, callbacks, cut, weight=WEIGHT):
    """By rank, the fitted estimator, or what `fit` raised; callbacks: a list for each rank."""
    return fit_by_ranks(model, X, target_of(model), weight, cut, len(callbacks), callbacks=callbacks)


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
@pytest.mark.parametrize(("size", "kind"), [(2, "interleaved"), (2, "all on one"), (3, "empty")])
def test_a_callback_of_one_rank_ends_the_fit_of_all(model, size, kind):
    cut, k = cut_for(size, kind), 4
    model = clone(model).set_params(n_estimators=k, random_state=3)
    alone, short = clone(model).fit(X, target_of(model), WEIGHT), fit_by_ranks(model, X, target_of(model), WEIGHT, cut, size)
    model.set_params(n_estimators=9)
    for stopper, chosen in zip(range(size), [{}, {"n_trees": 3, "ship_up_to": 20}, {"n_trees": 1}], strict=False):
        callbacks = [[StopAfter(k)] if rank == stopper else [] for rank in range(size)]
        with sizes(**chosen):
            found = fit_watched(model, callbacks, cut)
        for own, shorter in zip(found, short, strict=True):
            assert own.n_estimators_ == k
            assert not differences(own, alone)
            assert_equal_fits(own, shorter, OF_RANKS)


def test_the_first_rank_that_asks_decides():
    model = RandomForestClassifier(9, random_state=0)
    alone = clone(model).set_params(n_estimators=2).fit(X, CLASSES, WEIGHT)
    for own in fit_watched(model, [[StopAfter(4)], [TimeLimit(1000), StopAfter(2)], [StopAfter(3)]], cut_for(3, "even")):
        assert not differences(own, alone)


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
@pytest.mark.parametrize(("watchers", "kind"), [((0, 1, 2), "empty"), ((1,), "random")])
def test_what_callbacks_are_told(model, watchers, kind):
    """Every tree in its order, with this rank's rows, and the estimator as a fit of all ranks that ended there leaves it."""
    cut = cut_for(3, kind)
    model = clone(model).set_params(n_estimators=3, random_state=2)
    recorders = [Recorder() if rank in watchers else None for rank in range(3)]
    found = fit_watched(model, [[recorder] if recorder else [] for recorder in recorders], cut)
    short = {
        n: fit_by_ranks(clone(model).set_params(n_estimators=n), X, target_of(model), WEIGHT, cut, 3) for n in (1, 2, 3)
    }  # fmt: skip
    for rank in range(3):
        assert_equal_fits(found[rank], short[3][rank], OF_RANKS)
    trees = [(hook, "tree", i) for i in range(3) for hook in ("begin", "end")]
    for rank in watchers:
        told = recorders[rank].told
        assert [one[:3] for one in told] == [
            ("setup", "fit", 0), ("begin", "fit", 0), *trees, ("end", "fit", 0), ("teardown", "fit", 0)
        ]  # fmt: skip
        for hook, name, number, given in told[1:-1]:
            np.testing.assert_array_equal(given["X"], X[cut.rows(rank)])
            n_trees = number + (hook == "end") if name == "tree" else 3 * (hook == "end")
            if n_trees == 0:
                assert given["fitted"] is None
            else:
                assert_equal_fits(given["fitted"], short[n_trees][rank], OF_RANKS)


@pytest.mark.parametrize("hook", ["setup", "on_fit_task_begin", "on_fit_task_end", "teardown"])
@pytest.mark.parametrize("size", [2, 3])
def test_a_callback_that_raises_ends_the_fit_of_all(hook, size):
    recorder, failing = Recorder(), size - 1
    callbacks = [[recorder]] + [[Failing(hook)] if rank == failing else [] for rank in range(1, size)]
    for error in fit_watched(RandomForestClassifier(5, random_state=0), callbacks, cut_for(size, "even")):
        assert type(error) is RuntimeError
        assert str(error) == f"on rank {failing}: enough"
    assert recorder.told[-1][0] == "teardown"
    n_trees = {"on_fit_task_end": 3, "teardown": 5}.get(hook, 0)
    assert sum(one[:2] == ("end", "tree") for one in recorder.told) == n_trees


def test_no_time_for_a_tree():
    for error in fit_watched(RandomForestClassifier(5), [[], [TimeLimit(1e-9)]], cut_for(2, "even")):
        assert isinstance(error, LimitError)
        assert str(error).startswith("on rank 1: TimeLimit(seconds=1e-09) was reached before the first tree")


def test_a_stopped_forest_goes_on():
    whole = RandomForestRegressor(9, random_state=0, oob_score=True).fit(X, NUMBERS)
    models = [RandomForestRegressor(8, random_state=0, oob_score=True, warm_start=True) for _ in range(2)]
    recorder = Recorder()

    def fit(ranks):
        own, model = slice(0, 50) if ranks.rank == 0 else slice(50, None), models[ranks.rank]
        with config_context(communicator=ranks):
            model.set_callbacks(*[StopAfter(3)] * ranks.rank).fit(X[own], NUMBERS[own])
            assert len(model) == 3
            model.set_callbacks(*[recorder, StopAfter(6)] * (1 - ranks.rank))
            return model.set_params(n_estimators=20).fit(X[own], NUMBERS[own])

    for own in ThreadGroup(2).run(fit):
        assert not differences(own, whole)
        assert own.oob_score_ == whole.oob_score_
    n_trees = [None if one[3]["fitted"] is None else len(one[3]["fitted"]) for one in recorder.told[1:-1]]
    assert n_trees == [3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9]


def test_partitions_of_one_process():
    cut, recorder = cut_for(1, "interleaved"), Recorder()
    model = RandomForestClassifier(9, random_state=0, oob_score=True)
    alone = clone(model).set_params(n_estimators=4).fit(X, CLASSES, WEIGHT)
    model.set_callbacks(StopAfter(4), recorder)
    model._fit_partitions(lambda rank: cut.partitions(0, X, CLASSES, WEIGHT))
    assert len(cut.owner) > 1
    assert not differences(model, alone)
    assert recorder.told[-2][3]["fitted"].oob_score_ == alone.oob_score_


def test_an_answer_takes_a_round_for_each_tree_and_none_without_callbacks():
    pytest.importorskip("tqdm")
    cut = cut_for(2, "even")
    model = RandomForestClassifier(6, random_state=0)
    rounds = [
        {own.fit_report_.n_rounds for own in fit_watched(model, callbacks, cut)}
        for callbacks in ([[], []], [[StopAfter(100)], []], [[StopAfter(100)], [ProgressBar()]])
    ]
    (without,) = rounds[0]
    assert rounds[1:] == [{without + 6}] * 2


def test_ctrl_c_ends_the_fit_of_all_and_keeps_the_trees():
    """The rank in the main thread is interrupted after its third tree, and ends after the fourth one, as the other ranks do."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 4))
    y = rng.integers(0, 2, len(X))

    class CtrlC(Callback):
        def on_fit_task_end(self, estimator, context):
            if is_step(context) and context.task_id == 2:
                signal.raise_signal(signal.SIGINT)

    models = [RandomForestClassifier(30, random_state=0) for _ in range(2)]
    models[0].set_callbacks(KeepOnInterrupt(), CtrlC())
    first, second = ThreadGroup(2).communicators

    def fit(ranks):
        own = slice(ranks.rank, None, 2)
        with config_context(communicator=ranks):
            models[ranks.rank].fit(X[own], y[own])

    other = Thread(target=fit, args=[second])
    other.start()
    with sizes(n_trees=1):
        fit(first)
        other.join()
    assert [len(model) for model in models] == [4, 4]
    assert not differences(*models)


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
@pytest.mark.parametrize("kind", ["interleaved", "empty"])
def test_checkpoints_go_on(model, kind, tmp_path):
    """By ranks, in one process, and by other ranks again: the first rank that has the callback writes the file."""
    model = clone(model).set_params(n_estimators=12, random_state=1)
    alone, path = clone(model).fit(X, target_of(model), WEIGHT), tmp_path / "trees"
    callbacks = [[], [Checkpoint(path, 2), FailAfter(3)], [Checkpoint(tmp_path / "other")]]
    for error in fit_watched(model, callbacks, cut_for(3, kind)):
        assert str(error) == "on rank 1: enough"
    with pytest.raises(RuntimeError):
        clone(model).set_callbacks(Checkpoint(path, 2), FailAfter(4)).fit(X, target_of(model), WEIGHT)
    for own in fit_watched(model, [[Checkpoint(path)], []], cut_for(2, kind)):
        assert not differences(own, alone)
        assert own.n_estimators_ == 12 and own.fit_report_.n_trees == 12
    assert not differences(clone(model).set_callbacks(Checkpoint(path), FailAfter(1)).fit(X, target_of(model), WEIGHT), alone)
    assert [file.name for file in tmp_path.iterdir()] == ["trees"]


def test_checkpoints_of_other_rows(tmp_path):
    """The rows of all ranks are compared, on a rank without the callback too."""
    cut, path = cut_for(2, "even"), tmp_path / "trees"
    model = RandomForestRegressor(3, random_state=0).set_callbacks(Checkpoint(path)).fit(X, NUMBERS)
    changed = NUMBERS.copy()
    changed[-1] += 1
    for error in fit_by_ranks(model, X, changed, None, cut, 2, callbacks=[[Checkpoint(path)], []]):
        assert "was written for another y than that of this fit" in str(error)
