"""Bars of progress, whichever library draws them."""

import pickle
import sys

import pytest
from helpers.callbacks import StopAfter, assert_equal_fits
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV

from dforest import HistGradientBoostingClassifier, RandomForestClassifier
from dforest.callback import ProgressBar

X, Y = load_wine(return_X_y=True)


@pytest.fixture(params=["both", "rich", "tqdm"])
def drawer(request, monkeypatch):
    """Which packages draw bars."""
    if request.param != "tqdm":
        pytest.importorskip("sklearn.callback")
    if request.param == "rich":
        monkeypatch.setattr("dforest.callback.progress.find_spec", lambda name: None)
    if request.param == "tqdm":
        monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    return request.param


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_bars_change_nothing(drawer, n_jobs, capsys):
    model = RandomForestClassifier(30, random_state=0, n_jobs=n_jobs)
    plain = clone(model).fit(X, Y)
    assert_equal_fits(clone(model).set_callbacks(ProgressBar()).fit(X, Y), plain)
    told = "".join(capsys.readouterr())
    assert "RandomForestClassifier - fit" in told and "100%" in told


def test_tqdm_counts(capsys):
    bars = ProgressBar()
    RandomForestClassifier(30, random_state=0).set_callbacks(bars, StopAfter(7)).fit(X, Y)
    assert "| 7/30 [" in capsys.readouterr().err
    HistGradientBoostingClassifier(max_iter=12, random_state=0).set_callbacks(bars).fit(X, Y)
    assert "HistGradientBoostingClassifier - fit: 100%" in capsys.readouterr().err
    assert not bars._roots and not bars._alone._bars
    assert isinstance(pickle.loads(pickle.dumps(bars)), ProgressBar)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bars_of_fits_inside_a_search(drawer, n_jobs, capfd):
    search = GridSearchCV(RandomForestClassifier(5, random_state=0), {"max_depth": [1, 2]}, cv=2, n_jobs=n_jobs)
    if not hasattr(search, "set_callbacks"):
        pytest.skip("this scikit-learn's searches take no callbacks")
    plain = clone(search).fit(X, Y)
    search.set_callbacks(ProgressBar()).fit(X, Y)
    assert_equal_fits(search.best_estimator_, plain.best_estimator_)
    told = "".join(capfd.readouterr())
    assert "GridSearchCV - fit" in told and "RandomForestClassifier - fit" in told


def test_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    ProgressBar()
    monkeypatch.setattr("dforest.callback.progress.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="install one with: pip install 'rich"):
        ProgressBar()


@pytest.mark.parametrize("depth", [-1, 1.5, "1", True])
def test_bad_depths(depth):
    with pytest.raises(ValueError, match=f"max_propagation_depth={depth!r}; allowed are integers from 0, and None"):
        ProgressBar(depth)
