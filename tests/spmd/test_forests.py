"""Forests of ranks are those of one process, to the byte: any number of ranks, any cut of the rows, any sizes."""


import numpy as np
import pytest
from sklearn.base import clone

from dforest.testing.device_forests import differences, random_fit
from dforest.testing.ranks import CUTS, Cut, fit_by_ranks, sizes

SIZES = [{"ship_up_to": 0}, {"ship_up_to": 20, "lot_records": 50}, {}, {"ship_up_to": 1 << 62, "n_trees": 3}]


def assert_equal(model, X, y, weight, cut, size, what):
    one = clone(model).fit(X, y, weight)
    for rank, own in enumerate(fit_by_ranks(model, X, y, weight, cut, size)):
        if isinstance(own, BaseException):
            raise AssertionError((what, rank)) from own
        assert not differences(own, one), (what, rank, size)
    return one


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(120))
def test_random_fits(seed):
    rng = np.random.default_rng([seed, 1])
    model, X, y, weight = random_fit(seed)
    if rng.random() < 0.2:
        order = np.argsort(y, kind="stable")
        X, y, weight = X[order], y[order], None if weight is None else weight[order]
    if weight is not None and rng.random() < 0.3:
        weight = weight * (rng.random(len(y)) < 0.7)
        weight[0] = 1
    size = int(rng.choice([1, 2, 2, 3, 4, 8]))
    kind = CUTS[rng.integers(len(CUTS))]
    chosen = SIZES[seed % len(SIZES)]
    with sizes(**chosen):
        assert_equal(model, X, y, weight, Cut.random(rng, len(y), size, kind), size, (seed, kind, chosen))
