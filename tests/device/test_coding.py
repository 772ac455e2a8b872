"""Bins found on a device: the processor's codes and bins, to the bit."""

import numpy as np
import pytest
from helpers.device_forests import differences, standing_in, tuned
from helpers.host_device import strict_device
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from dforest import ExtraTreesClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from dforest.core.coding import columns
from dforest.engines.device import coding
from dforest.engines.device.engine import DeviceEngine
from dforest.engines.device.training import Tuning


def table(rng, n_rows, n_columns, dtype):
    """Columns of all sorts: of few values and many, with long runs, missing values, infinities and zeros of both signs."""
    X = rng.standard_normal((n_rows, n_columns))
    for j in range(n_columns):
        X[:, j] = np.round(X[:, j], rng.integers(-1, 8)) * 10.0 ** rng.integers(-3, 4)
        kind = rng.integers(6)
        if kind == 0:
            X[rng.random(n_rows) < rng.random(), j] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
        elif kind == 1:
            X[:, j] = np.nan if rng.random() < 0.3 else 5.0
        elif kind == 2:
            X[:, j] = np.sort(X[:, j])
        X[rng.random(n_rows) < rng.choice([0, 0, 0.1, 0.9]), j] = np.nan
    return X.astype(dtype)


def check(device, sizes, X, max_codes, counts_missing):
    kinds = [j % 2 for j in range(X.shape[1])]
    assert coding.is_coded_there(X, max_codes, None, kinds, counts_missing)
    found = coding.code_columns(device, Tuning(device, sizes), X, max_codes, kinds, counts_missing)
    expected = columns.code_columns(X, max_codes, kinds=kinds, counts_missing=counts_missing)
    matrix = coding.codes_there(found).get()
    for j, (there, here) in enumerate(zip(found, expected, strict=True)):
        assert here.codes.dtype == matrix.dtype
        np.testing.assert_array_equal(matrix[:, j], here.codes)
        for name in ("values", "lows", "highs"):
            assert getattr(there, name).tobytes() == getattr(here, name).tobytes(), (j, name)
        assert there[4:] == here[4:]


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32), dtype=st.sampled_from([np.float32, np.float64]), n_rows=st.integers(1, 3000))
def test_the_host_as_a_device_finds_the_same(seed, dtype, n_rows):
    rng = np.random.default_rng(seed)
    max_codes, counts_missing = int(rng.choice([2, 3, 10, 64, 255])), bool(rng.random() < 0.5)
    check(strict_device(), {"batch_bytes": int(rng.choice([1, 1 << 15, 1 << 30]))}, table(rng, n_rows, 4, dtype), max_codes,
          counts_missing)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_items", [1, 7, 64])
def test_a_device_finds_the_same(device, dtype, n_items):
    rng = np.random.default_rng(n_items)
    for n_rows in (1, 100, 5000):
        check(device, {"n_items": n_items, "n_groups": 3}, table(rng, n_rows, 6, dtype), 30, n_rows > 1)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3, random_state=0),
        ExtraTreesClassifier(3, method="hist", random_state=0),
        HistGradientBoostingRegressor(max_iter=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_are_the_same(another, model):
    another.is_cpu = False  # a processor codes its columns itself
    rng = np.random.default_rng(0)
    X, y = table(rng, 900, 5, np.float32), rng.integers(0, 3, 900)
    coded = []
    with pytest.MonkeyPatch.context() as patch, standing_in(another), tuned({"subtree_up_to": 60}):
        patch.setattr(coding, "code_columns", lambda *given, own=coding.code_columns: coded.append(1) or own(*given))
        there = clone(model).set_params(device="sycl").fit(X, y)
        assert len(coded) == 1
        assert not differences(clone(model).fit(X, y), there)
        assert there.fit_report_.bytes_written > X.nbytes
        held = another.n_bytes_held
        there.fit(X, y)
        assert another.n_bytes_held == held


def test_what_the_processor_codes(device):
    """Weighted bins, categories, codes of two bytes, and rows that are not there."""
    X = np.zeros((5, 2), np.float32)
    assert coding.is_coded_there(X, 255, None, [0, 1], False)
    for given_X, max_codes, weight, kinds, counts_missing in (
        (X, 255, np.ones(5, np.uint32), [0, 0], True),
        (X, 255, None, [0, 2], True),
        (X, 257, None, [0, 0], True),
        (X, 256, None, [0, 0], False),
        (X, 0, None, [0, 0], True),
        (X[:0], 255, None, [0, 0], True),
    ):
        assert not coding.is_coded_there(given_X, max_codes, weight, kinds, counts_missing)
    if device.is_cpu:
        assert DeviceEngine(device).code_columns(X, 255, None, [0, 0], True) is None
