"""Threads."""

import numpy as np
import pytest

from dforest import (
    DecisionTreeRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from dforest.callback import TimeLimit
from dforest.engines.problem import Problem
from dforest.estimators.forest import base


def test_numbers_of_trees_beyond_the_possible_are_refused():
    """``n_estimators=2**63`` gave a bare OverflowError, and so did ``max_depth=2**63``, which is no limit."""
    X, y = np.arange(8.0).reshape(-1, 1), np.arange(8.0)
    for model in (RandomForestRegressor(2**63), RandomTreesEmbedding(2**32), HistGradientBoostingRegressor(max_iter=2**63)):
        with pytest.raises(ValueError, match=r"'(n_estimators|max_iter)' parameter .* in the range \[1, 4294967295\].* Got "):
            model.fit(X, y)
    assert DecisionTreeRegressor(max_depth=2**63).fit(X, y).predict(X).tolist() == y.tolist()


def test_the_first_of_very_many_trees_comes_at_once(monkeypatch):
    """With ``n_estimators=10**8``, the seeds of all trees were computed first, for seconds in which Ctrl-C had to wait."""
    asked, seeds_of = [], Problem.seeds_of
    monkeypatch.setattr(Problem, "seeds_of", lambda self, trees: asked.append(len(trees)) or seeds_of(self, trees))
    X, y = np.arange(8.0).reshape(-1, 1), np.arange(8.0)
    forest = RandomForestRegressor(10**8, random_state=0).set_callbacks(TimeLimit(0.2)).fit(X, y)
    assert len(forest) >= 1 and asked[0] <= 2**16


def test_predictions_during_a_refit_are_those_of_the_fit_before(monkeypatch):
    """`predict` while another thread fitted the same object again raised an IndexError, or said that None has no "packed"."""
    X, y = np.arange(8.0).reshape(-1, 1), np.arange(8) // 4
    forest, seen = RandomForestClassifier(3, random_state=0).fit(X, y), []
    grow = base.grow_forest
    monkeypatch.setattr(
        base, "grow_forest", lambda *given, **more: seen.append(forest.predict(X).tolist()) or grow(*given, **more)
    )
    forest.fit(X[:6], ["a", "b", "c"] * 2)
    assert seen == [[0, 0, 0, 0, 1, 1, 1, 1]]
    assert set(forest.predict(X)) <= {"a", "b", "c"}
