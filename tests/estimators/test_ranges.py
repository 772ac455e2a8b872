"""The ranges of training rows that features keep, and what is outside of them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.ranks import CUTS, Cut, fit_by_ranks
from helpers.rings import examples
from helpers.tables import make
from scipy.sparse import csr_array

import dforest
from dforest import DecisionTreeRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from dforest.core.sparse_rows import SparseRows
from dforest.estimators.data.ranges import count_outside, ranges_of
from dforest.spmd.communicator import ALONE
from dforest.spmd.threads import ThreadGroup

X = np.random.default_rng(0).normal(size=(300, 3))
Y = X[:, 0] + X[:, 1]
RANGES = np.stack([X.min(axis=0), X.max(axis=0)])


def test_ranges_and_what_is_outside_by_brute_force():
    rng = np.random.default_rng(1)
    for _ in range(examples(200)):
        n, p = rng.integers(0, 200), rng.integers(1, 5)
        rows = rng.integers(-3, 4, (n, p)) * rng.choice([0.0, 1.0], (n, p)).astype(rng.choice(["f4", "f8"]))
        rows[rng.random((n, p)) < 0.1] = rng.choice([np.nan, np.inf, 0.0])
        expected = np.full((2, p), [[np.inf], [-np.inf]])
        for j in range(p):
            for value in rows[:, j]:
                if value == value:
                    expected[:, j] = min(expected[0, j], value), max(expected[1, j], value)
        cut = rng.integers(0, n + 1)
        sparse = [SparseRows.of(csr_array(part)) for part in (rows[:cut], rows[cut:])]
        for parts in ([rows], [rows[:cut], rows[cut:]], sparse):
            found = ranges_of(parts, ALONE)
            assert found.dtype == np.float64 and found.tolist() == expected.tolist()
        ranges = np.sort(rng.normal(size=(2, p)), axis=0)
        ranges[:, rng.random(p) < 0.2] = np.nan
        outside = [sum(v < low or v > high for v in rows[:, j]) for j, (low, high) in enumerate(ranges.T)]
        found = count_outside(rows, ranges)
        assert found is None and not any(outside) or found.tolist() == outside
        assert count_outside(SparseRows.of(csr_array(rows)), ranges).tolist() == outside
        of_rows = [found for row in rows if (found := count_outside(row, ranges)) is not None]
        assert sum(of_rows, np.zeros(p)).tolist() == outside


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor, HistGradientBoostingRegressor])
def test_fits_keep_them(kind, tmp_path):
    model = make(kind).fit(X, Y)
    assert np.array_equal(model._features.ranges, RANGES)
    weight = np.ones(300)
    weight[X.argmax(axis=0)] = 0  # rows that trees do not see
    assert (make(kind).fit(X, Y, weight)._features.ranges[1] < RANGES[1]).all()
    model.save(tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), dforest.load(tmp_path / "model")):
        assert np.array_equal(again._features.ranges, RANGES)


@pytest.mark.parametrize("cut", CUTS)
def test_ranks_have_those_of_all_rows(cut):
    rows = Cut.random(np.random.default_rng(2), len(X), 3, cut)
    for model in fit_by_ranks(make(RandomForestRegressor), X, Y, None, rows, 3):
        assert np.array_equal(model._features.ranges, RANGES)


def test_ranks_whose_rows_are_stored_in_other_ways():
    rows = np.where(X.astype(np.float32) > 0, X.astype(np.float32), 0)

    def ranges(communicator):
        own = rows[communicator.rank :: 2]
        return ranges_of([SparseRows.of(csr_array(own)) if communicator.rank else own], communicator)

    for found in ThreadGroup(2).run(ranges):
        assert np.array_equal(found, [rows.min(axis=0), rows.max(axis=0)])


def test_encoded_columns_have_none():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y")})
    model = make(RandomForestRegressor, categorical_features="auto").fit(frame, Y)
    assert np.array_equal(model._features.ranges, [[RANGES[0, 0], np.nan], [RANGES[1, 0], np.nan]], equal_nan=True)


def test_trees_that_are_added_widen_them():
    half = X[:, 0] > 0
    model = make(RandomForestRegressor, warm_start=True).fit(X[half], Y[half])
    narrow = model._features
    model.set_params(n_estimators=6).fit(X[~half], Y[~half])
    assert np.array_equal(model._features.ranges, RANGES) and narrow.ranges[0, 0] > 0
    parts = [make(RandomForestRegressor).fit(X[own], Y[own]) for own in (half, ~half)]
    assert np.array_equal(dforest.combine(parts)._features.ranges, RANGES)
    parts[1]._features = parts[1]._features.with_ranges(None)  # as of an earlier version
    assert dforest.combine(parts)._features.ranges is None


def test_features_of_earlier_versions_lack_them():
    features = make(RandomForestRegressor).fit(X, Y)._features
    state = features.__getstate__()
    for wrong in (state["ranges"][0], state["ranges"].tolist(), state["ranges"].astype(np.float32)):
        with pytest.raises(ValueError, match="ranges of 3 features are"):
            features.__setstate__(state | {"ranges": wrong})
    del state["ranges"]
    features.__setstate__(state)
    assert features.ranges is None
