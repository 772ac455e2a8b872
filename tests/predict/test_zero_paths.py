"""Rows that store few values go down zero paths, and arrive where dense rows do."""

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from dforest import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.core.predict.packed import PackedForest
from dforest.core.sparse_rows import SparseRows

LIMIT = "dforest.core.predict.packed.SKIPS_UP_TO"
EXTREMES = pytest.mark.parametrize("skips_up_to", [-1.0, 1.0])
VALUES = [1.0, -1.0, 0.5, 0.0, -0.0, np.nan, np.inf, -np.inf]


def same(a, b):
    assert a.dtype == b.dtype and a.tobytes() == b.tobytes()


def packings(forest):
    return [PackedForest(forest, forest.leaf_votes(), None, is_wide) for is_wide in (False, True)]


def assert_same(forest, X):
    """Whatever a forest says of sparse rows is what it says of these rows dense, whether many or one."""
    rows = SparseRows.of(X)
    for packed in packings(forest):
        for n_threads in (1, 3):
            same(packed.mean(rows, n_threads), packed.mean(X.toarray(), n_threads))
            same(packed.most(rows, n_threads), packed.most(X.toarray(), n_threads))
            same(packed.apply(rows, n_threads), packed.apply(X.toarray(), n_threads))
        for i in range(min(3, X.shape[0])):
            same(packed.mean(rows[i : i + 1], 1), packed.mean(X[[i]].toarray(), 1))
        sums = np.ones((2, X.shape[0], packed.n_outputs))
        packed.add_up(rows, sums[0], 1, packed.n_trees - 1, 1)
        packed.add_up(X.toarray(), sums[1], 1, packed.n_trees - 1, 1)
        same(sums[0], sums[1])


@st.composite
def cases(draw):
    """A sparse matrix to grow on and one to ask about, of as many features, and what they are like."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_features = draw(st.sampled_from([1, 3, 40, 5000, 13_000]))  # features of equal keys where there are many
    density, dtype = draw(st.sampled_from([0.0, 0.001, 0.02, 0.6])), draw(st.sampled_from([np.float32, np.float64]))
    values = np.array(draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=4)))

    def matrix(n, dtype):
        stored = max(1, round(density * n * n_features))
        place = rng.permutation(n * n_features)[:stored]
        numbers = np.where(rng.random(stored) < 0.5, rng.choice(values, stored), rng.normal(size=stored))
        X = sp.csr_array(sp.coo_array((numbers, np.divmod(place, n_features)), shape=(n, n_features)))
        X.sort_indices()
        return X.astype(dtype)

    return matrix(60, dtype), matrix(draw(st.sampled_from([1, 2, 70])), draw(st.sampled_from([np.float32, np.float64]))), rng


@EXTREMES
@settings(max_examples=examples(60), deadline=None)
@given(case=cases(), is_classifier=st.booleans())
def test_any_rows(case, is_classifier, skips_up_to):
    X, asked, rng = case
    y = rng.integers(0, 3, 60) if is_classifier else rng.normal(size=60)
    kind = RandomForestClassifier if is_classifier else RandomForestRegressor
    model = kind(3, random_state=0, max_features=1.0 if X.shape[1] < 100 else 50).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LIMIT, skips_up_to)
        assert_same(model.forest_, asked)
        assert_same(model.forest_, X)


@EXTREMES
def test_categories(skips_up_to, monkeypatch):
    monkeypatch.setattr(LIMIT, skips_up_to)
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 4)) < 0.6, 0.0, rng.integers(0, 70, (300, 4)))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X).sum(axis=1) % 7 + rng.normal(size=300)
    model = RandomForestRegressor(4, random_state=0, categorical_features=[0, 2]).fit(X, y)
    assert_same(model.forest_, sp.csr_array(X))


def test_sums_with_a_baseline(monkeypatch):
    monkeypatch.setattr(LIMIT, 1.0)
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 6)) < 0.7, 0.0, rng.normal(size=(300, 6)))
    model = HistGradientBoostingRegressor(max_iter=5, early_stopping=False).fit(X, X.sum(axis=1))
    packed = model.forest_.packed()
    same(packed.mean(SparseRows.of(sp.csr_array(X)), 1), packed.mean(X, 1))


def test_rows_of_more_values_than_entries_can_number(monkeypatch):
    monkeypatch.setattr(LIMIT, 1.0)
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.normal(size=(6, 70_000)))
    model = RandomForestRegressor(40, random_state=0, max_features=1).fit(X, rng.normal(size=6))
    assert model.forest_.feature.max() > 66_000
    assert_same(model.forest_, X)


@EXTREMES
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_estimators(skips_up_to, n_jobs, monkeypatch):
    """Features that no tree tests, rows that store nothing, 64-bit indices, rows out of bag, and paths."""
    monkeypatch.setattr(LIMIT, skips_up_to)
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 6000), density=0.004, rng=rng, format="csr")
    X.data[:5] = np.nan
    X = sp.vstack([X, sp.csr_array((5, 6000))], format="csr")
    y = np.nan_to_num(X.toarray()[:, :3000]).sum(axis=1).round()
    models = []
    for rows in (X, X.toarray()):
        model = RandomForestClassifier(30, random_state=0, n_jobs=n_jobs, oob_score=True, max_depth=4)
        models.append(model.fit(rows, y.astype(int)))
    same(models[0].oob_decision_function_, models[1].oob_decision_function_)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for method in ("predict", "predict_proba", "apply"):
        for rows in (X, wide, X[[7]], X[[402]]):
            same(getattr(models[0], method)(rows), getattr(models[1], method)(rows.toarray()))
    assert (models[0].decision_path(X)[0] != models[1].decision_path(X.toarray())[0]).nnz == 0


def test_nodes_of_two_parents():
    """Damaged trees: rows can follow them, but their nodes have more numbers than there are slots, or fewer."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    forest = RandomForestRegressor(1, random_state=0).fit(X, X[:, 0]).forest_
    arrays = PackedForest(forest, forest.leaf_votes(), None, True).arrays()
    refused = 0
    for to, other in ((2, 3), (3, 2)):  # the root's children; whose own are the larger subtree is not known here
        slots = arrays.slots.copy().view([("threshold", "f8"), ("word", "u4"), ("slot", "u4")])
        slots["slot"][to] = slots["slot"][other]
        packed = PackedForest(forest, arrays.values, None, stored=arrays._replace(slots=slots.view(np.int8)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LIMIT, 1.0)
            try:
                same(packed.mean(SparseRows.of(sp.csr_array(X)), 1), packed.mean(X, 1))
            except ValueError as error:
                assert "tree 0 has packed nodes with two parents" in str(error)
                refused += 1
    assert refused == 1
