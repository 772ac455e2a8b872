"""Tsallis entropy compared with its formula and with Gini impurity, and checked by the contract."""

import numpy as np
import pytest
from gain_ratio import Tsallis
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

from dforest import RandomForestClassifier
from dforest.criterion import Entropy, Gini
from dforest.testing import check_criterion


def statistics(n_classes, n=50):
    rng = np.random.default_rng(n_classes)
    counts = rng.integers(0, 30, (n, n_classes)) + np.eye(n_classes, dtype=int)[rng.integers(0, n_classes, n)]
    return [np.hstack([c.sum(), c.sum(), c]) for c in counts]


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("q", [0.5, 1.5, 2, 3.5, 16])
def test_impurities_are_those_of_the_formula(n_classes, q):
    criterion = Tsallis(q).configure(n_classes)
    for statistic in statistics(n_classes):
        p = statistic[2:] / statistic[1]
        assert criterion.impurity_of(statistic) == pytest.approx((1 - (p[p > 0] ** q).sum()) / (q - 1), rel=1e-12, abs=1e-14)


def test_between_shannon_and_gini():
    for statistic in statistics(4):
        gini, half = (c.configure(4).impurity_of(statistic) for c in (Gini(), Tsallis(1.5)))
        nats = Entropy().configure(4).impurity_of(statistic) * np.log(2)
        assert Tsallis(2).configure(4).impurity_of(statistic) == pytest.approx(gini, rel=1e-12, abs=1e-14)
        assert gini - 1e-12 <= half <= nats + 1e-12


def test_forests_predict_as_well_as_by_gini():
    X, y = load_wine(return_X_y=True)
    for q in (0.5, 1.5, 4):
        forest = RandomForestClassifier(50, criterion=Tsallis(q), random_state=0)
        assert cross_val_score(forest, X, y).mean() > 0.95


def test_parameters():
    assert Tsallis(3).get_params() == {"q": 3.0}
    for q in (1, 0, -1.5, 0.7, 17, "2"):
        with pytest.raises(ValueError, match="q=.*multiples of 0.5"):
            Tsallis(q)


def test_it_keeps_the_contract():
    check_criterion(Tsallis)
