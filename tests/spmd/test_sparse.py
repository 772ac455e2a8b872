"""Sparse X of several ranks: columns, models and estimates are those of one process that has all rows, dense, to the byte."""

import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.callbacks import FailAfter
from helpers.device_forests import differences
from helpers.ranks import CUTS, Cut, fit_by_ranks, without_error
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import dforest
from dforest import config_context
from dforest.callback import Checkpoint
from dforest.core.coding import code_columns
from dforest.core.sparse_rows import SparseRows
from dforest.estimators.results.permutation import importance_of_partitions
from dforest.spmd.binning import code_columns_together
from dforest.spmd.threads import ThreadGroup

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.5, 1.0, 1.0, 2.0, 3.25]


def matrix(rng, n, p, dtype):
    """A CSR matrix of columns from one that stores nothing to one that stores all."""
    is_stored = rng.random((n, p)) < np.linspace(0, 1, p)
    values = np.where(np.arange(p) % 2, rng.choice(SPECIAL, (n, p)), rng.standard_normal((n, p)).round(2))
    starts = np.append(0, np.cumsum(is_stored.sum(axis=1)))
    return sp.csr_array((values[is_stored].astype(dtype), np.nonzero(is_stored)[1], starts), shape=(n, p))


class SomeDense:
    """The rows of a sparse matrix, of which some slices are dense."""

    def __init__(self, X):
        self._X = X

    def __getitem__(self, rows):
        return self._X[rows] if (rows.start or 0) % 3 else self._X[rows].toarray()


@settings(max_examples=examples(200))
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 2, 5, 255]), st.booleans(), st.booleans())
def test_columns(seed, max_codes, takes_keys, row_major):
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(1, 400)), int(rng.integers(1, 6))
    X = matrix(rng, n, 8, rng.choice([np.float32, np.float64]))
    weight = rng.integers(1, 2**31, n).astype(np.uint32) if rng.random() < 0.5 else None
    keys = takes_keys and max_codes == 0
    cut = Cut.random(rng, n, size, CUTS[rng.integers(len(CUTS))])
    are_sparse = rng.random(len(cut.owner)) < 0.7

    def code(communicator):
        parts = []
        for i in np.flatnonzero(cut.owner == communicator.rank):
            part = X[cut.edges[i] : cut.edges[i + 1]]
            parts.append(SparseRows.of(part) if are_sparse[i] else part.toarray())
        own = None if weight is None else weight[cut.rows(communicator.rank)]
        with communicator.together() as ranks:
            return code_columns_together(ranks, parts, max_codes, own, takes_keys=keys, row_major=row_major, n_threads=2)

    expected = code_columns(X.toarray(), max_codes, weight, takes_keys=keys)
    for rank, columns in enumerate(without_error(ThreadGroup(size).run(code))):
        for column, other in zip(columns, expected, strict=True):
            for numbers, others in zip(column[1:4], other[1:4], strict=True):
                assert numbers.dtype == others.dtype and numbers.tobytes() == others.tobytes()
            if not keys:  # those of a matrix may be wider
                np.testing.assert_array_equal(column.codes, other.codes[cut.rows(rank)])
            assert column[4:] == other[4:]


def score_by_rows(model, X, y, sample_weight=None):
    """A scorer that looks at X."""
    X = X.toarray() if sp.issparse(X) else X
    return -np.average(np.abs(model.predict(X) - y) * (X[:, -1] > 0), weights=sample_weight)


def model_of(rng, is_forest, is_class):
    kind = "Classifier" if is_class else "Regressor"
    if is_forest:
        if rng.random() < 0.3:
            return getattr(dforest, f"ExtraTrees{kind}")(3, bootstrap=True, oob_score=True, random_state=0)
        bins = {"max_bins": int(rng.choice([2, 8, 256]))}
        method = rng.choice([bins, {"method": "dense", "splitter": "random"}])
        more = {"oob_score": True, "variable_importance": "mda_raw", "keep_training_data": True}
        return getattr(dforest, f"RandomForest{kind}")(5, random_state=0, **more, **method)
    stopping = {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 2}
    scored = {**stopping, "scoring": rng.choice(["accuracy" if is_class else "r2", score_by_rows])}
    more = rng.choice([{}, {"subsample": 0.6, "max_features": 0.5}, stopping, scored])
    return getattr(dforest, f"HistGradientBoosting{kind}")(max_iter=5, max_bins=int(rng.choice([5, 255])), random_state=0, **more)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=examples(200))
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_models(seed, is_forest, is_class):
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(40, 300)), int(rng.choice([1, 2, 3, 5]))
    X, labelled = matrix(rng, n, 8, rng.choice([np.float32, np.float64])), [2, 5]
    are_labels = np.isin(X.indices, labelled)
    X.data[are_labels] = rng.integers(-1, 4, np.count_nonzero(are_labels))
    y = np.nan_to_num(X.toarray()).clip(-2, 2).sum(axis=1) + 0.3 * rng.standard_normal(n)
    y = np.digitize(y, np.quantile(y, [0.3, 0.6])) if is_class else y
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if rng.random() < 0.5 else None
    model = model_of(rng, is_forest, is_class).set_params(categorical_features=labelled if rng.random() < 0.5 else None)
    cut = Cut.random(rng, n, size, CUTS[rng.integers(len(CUTS))])
    alone = clone(model).fit(X.toarray(), y, weight)
    rows = X if rng.random() < 0.5 else SomeDense(X)
    found = without_error(fit_by_ranks(model, rows, y, weight, cut, size))
    for own in found:
        assert not differences(own, alone)
        if model.get_params().get("keep_training_data"):
            assert own._training_data.equals(alone._training_data)
        for name in ("oob_score_", "variable_importance_", "train_score_", "validation_score_"):
            if hasattr(alone, name):
                np.testing.assert_array_equal(getattr(own, name), getattr(alone, name))
    if not is_forest:
        return
    expected = alone.oob_importance(X.toarray(), y, weight).importances

    def importances(communicator):
        rank = communicator.rank
        with config_context(communicator=communicator):
            return importance_of_partitions(found[rank], lambda _: cut.partitions(rank, rows, y, weight)).importances

    for own in without_error(ThreadGroup(size).run(importances)):
        np.testing.assert_array_equal(own, expected)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=examples(100))
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_checkpoints_go_on(seed, is_forest, is_class):
    """By ranks of sparse rows, by other ranks of which some have dense ones, and in one process."""
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(40, 200)), int(rng.choice([2, 3, 5]))
    X = matrix(rng, n, 8, rng.choice([np.float32, np.float64]))
    y = np.nan_to_num(X.toarray()).clip(-2, 2).sum(axis=1) + 0.3 * rng.standard_normal(n)
    y = np.digitize(y, np.quantile(y, [0.3, 0.6])) if is_class else y
    model = model_of(rng, is_forest, is_class)
    model.set_params(**({} if is_forest else {"early_stopping": False}))
    alone = clone(model).fit(X.toarray(), y)

    def fit(rows, y, *others):
        cut = Cut.random(rng, n, size, CUTS[rng.integers(len(CUTS))])
        return fit_by_ranks(model, rows, y, None, cut, size, callbacks=[[Checkpoint(path, 2), *others]] + [[]] * (size - 1))

    with TemporaryDirectory() as folder:
        path = Path(folder) / "trees"
        assert all("enough" in str(error) for error in fit(X, y, FailAfter(3)))
        changed, swapped = X.copy(), np.arange(n)
        changed.data[rng.integers(len(changed.data))] = 9
        swapped[[0, -1]] = swapped[[-1, 0]]
        for name, others in {"X": (changed, y), "X ": (X[swapped], y), "y": (X, 1 - y)}.items():
            assert all(f"written for another {name.strip()} than" in str(error) for error in fit(*others))
        for found in without_error(fit(SomeDense(X), y)):
            assert not differences(found, alone)
        assert not differences(clone(model).set_callbacks(Checkpoint(path), FailAfter(1)).fit(X, y), alone)


def test_x_is_never_dense():
    """Only codes are: a byte for each row and column of a rank."""
    rng = np.random.default_rng(0)
    X = sp.random_array((20_000, 200), density=0.003, rng=rng, format="csr")
    y = X[:, :50].sum(axis=1)
    cut = Cut.random(rng, 20_000, 2, "even")
    tracemalloc.start()
    without_error(fit_by_ranks(dforest.RandomForestRegressor(2, max_depth=4, random_state=0), X, y, None, cut, 2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 20_000 * 200
