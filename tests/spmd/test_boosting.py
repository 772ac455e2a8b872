"""Boosted trees of rows that several ranks have: the models of one process with all rows, to the bit."""

import pickle

import numpy as np
import pytest
from helpers.boosted_fits import CLASSES, REGRESSION, random_fit
from helpers.device_forests import differences, tuned
from helpers.ranks import CUTS, Cut, fit_by_ranks
from sklearn.base import clone

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor, config_context
from dforest.engines.ranks import boosting as engine
from dforest.spmd.threads import ThreadGroup


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("loss", [*REGRESSION, *CLASSES])
def test_models_are_those_of_one_process(loss, size, monkeypatch):
    for seed in range(8):
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


def test_rounds_go_on_where_others_stopped():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 3)).astype(np.float32), rng.integers(0, 3, 300)
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    alone = clone(model).fit(X, y)

    def fit(communicator):
        rows = slice(0, 90) if communicator.rank == 0 else slice(90, None)
        own = clone(model).set_params(warm_start=True, max_iter=2)
        with config_context(communicator=communicator):
            own.fit(X[rows], y[rows])
            return own.set_params(max_iter=5).fit(X[rows], y[rows])

    for found in ThreadGroup(2).run(fit):
        assert not differences(alone, found)


def test_heavy_tails_and_weights_of_one_rank():
    """One rank has the largest target and the largest weights: scales and kinds of words are those of all."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((400, 2)), np.exp(rng.standard_normal(400)), np.ones(400)
    y[399], weight[300:] = 1e6, 3000.0
    for loss in REGRESSION:
        for given in (None, weight, np.where(weight > 1, 2.0, 1.0)):
            model = HistGradientBoostingRegressor(loss, max_iter=3, random_state=0)
            alone = clone(model).fit(X, y, given)
            for found in fit_by_ranks(model, X, y, given, Cut(np.array([0, 200, 400]), np.arange(2)), 2):
                assert not differences(alone, found)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "absolute_error"}, "loss='absolute_error', .* is not supported for a fit by several ranks"),
        ({"subsample": 0.5}, "subsample=0.5 is not supported for a fit by several ranks; .* or a fit in one process"),
        ({"monotonic_cst": [1, 0]}, r"monotonic_cst=\[1, 0\] is not supported for a fit by several ranks"),
        ({"interaction_cst": "pairwise"}, "interaction_cst='pairwise' is not supported for a fit by several ranks"),
        ({"early_stopping": True}, "early_stopping=True, with 20 rows, is not supported for a fit by several ranks"),
        ({"loss": "gamma"}, "y holds 0.0; allowed"),
    ],
)
def test_what_ranks_have_no_code_for(parameters, message):
    X, y = np.arange(40.0).reshape(20, 2) % 7, np.arange(20.0)
    model = HistGradientBoostingRegressor(**parameters)

    def fit(communicator):
        rows = slice(0, 9) if communicator.rank == 0 else slice(9, None)
        own = clone(model)
        before = dict(vars(own))
        with config_context(communicator=communicator), pytest.raises(ValueError, match=message):
            own.fit(X[rows], y[rows])
        return vars(own) == before

    assert ThreadGroup(2).run(fit) == [True, True]


@pytest.mark.parametrize("ranks_with_rows", [(0, 1), (1,)])
def test_ranks_score_no_rows_that_are_given(ranks_with_rows):
    X, y = np.arange(20.0).reshape(10, 2) % 7, np.arange(10.0)

    def fit(communicator):
        given = {"X_val": X, "y_val": y} if communicator.rank in ranks_with_rows else {}
        message = "early_stopping='auto', with 20 rows and X_val, is not supported for a fit by several ranks"
        with config_context(communicator=communicator), pytest.raises(ValueError, match=message):
            HistGradientBoostingRegressor().fit(X, y, **given)
        return True

    assert ThreadGroup(2).run(fit) == [True, True]


def test_ranks_must_ask_for_the_same():
    X, y = np.arange(40.0).reshape(20, 2) % 7, np.arange(20.0)

    def fit(communicator):
        model = HistGradientBoostingRegressor(max_iter=3 + communicator.rank)
        message = "max_iter is 3 on rank 0, but 4 on rank 1"
        with config_context(communicator=communicator), pytest.raises(ValueError, match=message):
            model.fit(X, y)

    ThreadGroup(2).run(fit)


def test_ranks_pickle_equal_models():
    X, y = np.arange(400.0).reshape(200, 2) % 17, np.arange(200.0) % 3
    cut = Cut(np.array([0, 50, 200]), np.arange(2))
    models = fit_by_ranks(HistGradientBoostingClassifier(max_iter=3, random_state=0), X, y, None, cut, 2)
    assert len({pickle.dumps(model.forest_.as_dict()) for model in models}) == 1
