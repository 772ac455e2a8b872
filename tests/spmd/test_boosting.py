"""Boosted trees of rows that several ranks have: the models of one process with all rows, to the bit."""

import numpy as np
import pytest
from helpers.boosted_fits import CLASSES, KINDS, REGRESSION, OwnSquares, random_fit, random_fit_of
from helpers.callbacks import StopAfter
from helpers.device_forests import differences, tuned
from helpers.ranks import CUTS, Cut, fit_by_ranks
from helpers.rings import some
from sklearn.base import clone

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor, config_context
from dforest.engines.ranks import boosting as engine
from dforest.estimators.boosting import scores
from dforest.spmd.threads import ThreadCommunicator, ThreadGroup


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("loss", [*REGRESSION, *CLASSES])
def test_models_are_those_of_one_process(loss, size, monkeypatch):
    for seed in some(range(8), 4, first=size):
        model, X, y, weight = random_fit([seed, size], loss)
        alone = clone(model).fit(X, y, weight)
        cut = Cut.random(np.random.default_rng(seed), len(y), size, CUTS[seed % len(CUTS)])
        monkeypatch.setattr(engine, "AHEAD", [1, 4, 100][seed % 3])
        sizes = [{}, {"subtree_up_to": 0, "chunk": 7}][seed % 2]
        with tuned(sizes):
            models = fit_by_ranks(model, X, y, weight, cut, size)
        for found in models:
            assert not differences(alone, found)
            assert found.forest_.objective == alone.forest_.objective
            assert found.predict(X).tobytes() == alone.predict(X).tobytes()
            assert found.fit_report_.n_ranks == size and found.fit_report_.n_rounds > 0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("kind", "loss"), KINDS)
def test_other_models(kind, loss, seed, monkeypatch):
    """A rank without rows does not know how many outputs there are; penalties may be beyond all numbers in units of weight."""
    model, X, y, weight = random_fit_of(kind, seed, loss)
    alone, size = clone(model).fit(X, y, weight), [2, 3, 5][seed % 3]
    assert np.isfinite(alone.predict(X)).all()
    monkeypatch.setattr(ThreadCommunicator, "room", [1 << 22, 1 << 14][seed % 2])
    cut = Cut.random(np.random.default_rng(seed), len(y), size, CUTS[seed % len(CUTS)])
    for found in fit_by_ranks(model, X, y, weight, cut, size):
        assert not differences(alone, found)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("shares", [{0: 0.3}, {0: 0.1, 1: 1e-9, 2: 0.7}])
def test_rows_drawn_by_class(shares, size):
    """As many of each class as one process would draw, whichever ranks have them."""
    rng = np.random.default_rng(size)
    X, y = np.round(rng.standard_normal((5000, 3)), 1), np.sort(rng.integers(0, 3, 5000))
    model = HistGradientBoostingClassifier(max_iter=3, subsample=shares, early_stopping=False, random_state=0)
    alone = clone(model).fit(X, y)
    cut = Cut.random(rng, len(y), size, CUTS[size])
    for found in fit_by_ranks(model, X, y, None, cut, size):
        assert not differences(alone, found)
        assert found.predict(X).tobytes() == alone.predict(X).tobytes()


def test_columns_that_can_not_split_are_not_drawn():
    """What can split is known of the rows of all ranks, of which each has one value of the last column."""
    rng = np.random.default_rng(0)
    X, y = np.c_[np.zeros((300, 8)), rng.standard_normal(300), np.arange(300) // 150], rng.standard_normal(300)
    for parameters in ({"colsample_bytree": 0.1}, {"colsample_bylevel": 0.5}, {"max_features": 0.5}, {"max_features": 1}):
        model = HistGradientBoostingRegressor(max_iter=6, random_state=0, categorical_features=[0, 9], **parameters)
        alone = clone(model).fit(X, y)
        assert (alone.forest_.feature[alone.forest_.node_offsets[:-1]] >= 8).all()
        for found in fit_by_ranks(model, X, y, None, Cut(np.array([0, 150, 300]), np.arange(2)), 2):
            assert not differences(alone, found)


def test_many_bins_and_rows_with_missing_values():
    """More values than bins, which ranks agree upon: those for missing values come on top."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) + rng.standard_normal(5000)
    model = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    alone = clone(model).fit(X, y)
    assert len(np.unique(np.concatenate([alone.forest_.threshold]))) > 50
    for found in fit_by_ranks(model, X, y, None, Cut(np.array([0, 10, 3000, 5000]), np.arange(3)), 3):
        assert not differences(alone, found)


def test_heavy_tails_and_weights_of_one_rank():
    """One rank has the largest target and the largest weights: scales and kinds of words are those of all."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((400, 2)), np.exp(rng.standard_normal(400)), np.ones(400)
    y[399], weight[300:] = 1e6, 3000.0
    for loss in sorted({*REGRESSION} - {"quantile", "cross_entropy"}):
        for given in (None, weight, np.where(weight > 1, 2.0, 1.0)):
            model = HistGradientBoostingRegressor(loss, max_iter=3, random_state=0)
            alone = clone(model).fit(X, y, given)
            for found in fit_by_ranks(model, X, y, given, Cut(np.array([0, 200, 400]), np.arange(2)), 2):
                assert not differences(alone, found)


def test_targets_that_a_loss_does_not_allow():
    X, y = np.arange(40.0).reshape(20, 2) % 7, np.arange(20.0)
    model, message = HistGradientBoostingRegressor("gamma"), "y holds 0.0; allowed"

    def fit(communicator):
        rows = slice(0, 9) if communicator.rank == 0 else slice(9, None)
        own = clone(model)
        before = dict(vars(own))
        with config_context(communicator=communicator), pytest.raises(ValueError, match=message):
            own.fit(X[rows], y[rows])
        return vars(own) == before

    assert ThreadGroup(2).run(fit) == [True, True]


def fit_with_scores(model, X, y, given, cut, size):
    """What each rank fits to its rows. Rank 0 gives the first of the rows to be scored, and rank 1 all others."""

    def fit(communicator):
        part = {0: slice(0, 1), 1: slice(1, None)}.get(communicator.rank)
        scored = (None,) * 4 if given is None or part is None else (*(array[part] for array in given), None)
        with config_context(communicator=communicator):
            return clone(model)._fit_partitions(lambda rank: cut.partitions(rank, X, y, None), scored)

    return ThreadGroup(size).run(fit)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(
    ("loss", "scoring"),
    [("log_loss", "loss"), ("multinomial", "accuracy"), ("huber", "loss"), ("squared_error", ["r2", "loss"])],
)
def test_early_stopping(loss, scoring, size):
    """By rows held out, by rows that are given, and by training rows."""
    model, X, y, _ = random_fit([7, size], loss)
    rng = np.random.default_rng(size)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    scoring = {name: name for name in scoring} if isinstance(scoring, list) else scoring
    model.set_params(early_stopping=True, scoring=scoring, max_iter=30, n_iter_no_change=2, tol=1e-3)
    given = X[::3], y[::3], rng.integers(1, 3, len(y[::3])) * (np.arange(len(y[::3])) % 3 != 2).astype(float)
    for fraction, rows in [(0.3, None), (None, None), (0.3, given)]:
        model.set_params(validation_fraction=fraction)
        scored = zip(("X_val", "y_val", "sample_weight_val"), rows or (), strict=False)
        alone = clone(model).fit(X, y, **dict(scored))
        cut = Cut.random(rng, len(y), size, CUTS[size % len(CUTS)])
        for found in fit_with_scores(model, X, y, rows, cut, size):
            assert not differences(alone, found)
            for name in ("train_score_", "validation_score_"):
                assert getattr(alone, name).tobytes() == getattr(found, name).tobytes(), name
            assert found.best_iteration_ == alone.best_iteration_ and len(alone.train_score_) > 1


def nearness(estimator, X, y, sample_weight=None):
    """A scorer that looks at X."""
    return -float(np.average((estimator.predict(X) - X[:, 0]) ** 2, weights=sample_weight))


@pytest.mark.parametrize("is_weighted", [False, True])
def test_validation_rows_of_one_rank(is_weighted):
    """Of another dtype than an empty rank has, with weights that are 0 on the other rank, by a scorer that looks at X."""
    X, y, rng = np.arange(400.0).reshape(200, 2) % 17, np.arange(200.0) % 5, np.random.default_rng(0)
    given = rng.random((40, 2)) * 17, rng.random(40) * 5, np.r_[np.zeros(1), np.ones(39)] if is_weighted else None
    model = HistGradientBoostingRegressor(max_iter=9, scoring=nearness, early_stopping=True, random_state=0)
    alone = clone(model).fit(X, y, X_val=given[0], y_val=given[1], sample_weight_val=given[2])
    cut = Cut(np.array([0, 50, 200]), np.arange(2))

    def fit(communicator):
        parts = [slice(0, 1), slice(1, None)] if is_weighted else [slice(0, 0), slice(0, None)]
        scored = (None if array is None else array[parts[communicator.rank]] for array in given)
        with config_context(communicator=communicator):
            return clone(model)._fit_partitions(lambda rank: cut.partitions(rank, X, y, None), (*scored, None))

    for found in ThreadGroup(2).run(fit):
        assert not differences(alone, found)
        assert found.validation_score_.tolist() == alone.validation_score_.tolist()


def test_a_loss_of_ones_own_without_a_split_and_without_rows():
    """What is warned follows from the rows of all ranks."""
    X, y = np.zeros((20, 2)), np.arange(20.0)
    model = HistGradientBoostingRegressor(OwnSquares(), max_iter=2, random_state=0)
    with pytest.warns(UserWarning, match="no tree has a split, .* with 20 training rows"):
        found = fit_by_ranks(model, X, y, None, Cut(np.array([0, 0, 20]), np.arange(2)), 2)
    assert not differences(found[0], found[1])


def test_scores_of_a_part_of_the_training_rows(monkeypatch):
    monkeypatch.setattr(scores, "MAX_SCORED", 50)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), rng.integers(0, 3, 200)
    model = HistGradientBoostingClassifier(max_iter=3, early_stopping=True, scoring="neg_log_loss", random_state=0)
    alone = clone(model).fit(X, y)
    for found in fit_with_scores(model, X, y, None, Cut.random(rng, 200, 3, CUTS[0]), 3):
        assert found.train_score_.tolist() == alone.train_score_.tolist()


def test_a_callback_of_one_rank_ends_the_fit_of_all():
    X, y = np.arange(400.0).reshape(200, 2) % 17, np.arange(200.0) % 5
    model = HistGradientBoostingRegressor(max_iter=9, random_state=0)
    alone = clone(model).set_params(max_iter=3).fit(X, y)

    def fit(communicator):
        rows, own = (slice(0, 50), slice(50, None))[communicator.rank], clone(model)
        if communicator.rank == 1:
            own.set_callbacks(StopAfter(3))
        with config_context(communicator=communicator):
            return own.fit(X[rows], y[rows])

    for found in ThreadGroup(2).run(fit):
        assert not differences(alone, found)
