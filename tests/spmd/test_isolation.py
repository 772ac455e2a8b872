"""Isolation forests of ranks are those of one process, and so are the scores below which rows are outliers."""

import numpy as np
import pytest
from helpers.device_forests import differences
from helpers.ranks import CUTS, Cut, fit_by_ranks
from sklearn.base import clone

from dforest import IsolationForest


@pytest.mark.filterwarnings("ignore:max_samples")
@pytest.mark.parametrize("seed", range(24))
def test_random_fits(seed):
    rng = np.random.default_rng(seed)
    n, p, size = int(rng.integers(5, 300)), int(rng.integers(2, 6)), int(rng.choice([2, 3, 5]))
    X = rng.standard_normal((n, p)).astype(rng.choice([np.float32, np.float64]))
    X[rng.random((n, p)) < rng.choice([0.0, 0.1])] = np.nan
    kinds = rng.integers(0, 3, p) * (seed % 3 == 0)
    for j in np.flatnonzero(kinds):
        X[:, j] = rng.integers(0, 6, n)
    weight = rng.integers(0, 3, n) / 2 + (np.arange(n) == 0) if seed % 4 == 0 else None
    model = IsolationForest(
        4, method=("hist", "dense")[seed % 2], extension_level=int(rng.integers(0, p)), random_state=seed,
        max_samples=("auto", 0.3, 1.0, 5)[rng.integers(4)], bootstrap=(False, True, "weighted")[rng.integers(3)],
        max_features=(1.0, 0.5, 1)[rng.integers(3)], contamination=("auto", 0.1)[rng.integers(2)],
        categorical_features=kinds == 1, ordinal_features=kinds == 2,
    )  # fmt: skip
    one, cut = clone(model).fit(X, sample_weight=weight), Cut.random(rng, n, size, CUTS[seed % len(CUTS)])
    for own in fit_by_ranks(model, X, None, weight, cut, size):
        if isinstance(own, BaseException):
            raise own
        assert not differences(own, one)
        assert own.offset_ == one.offset_ and own.max_samples_ == one.max_samples_
