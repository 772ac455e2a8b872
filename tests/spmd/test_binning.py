"""Columns coded by several ranks: what one process gives that has all rows."""

import numpy as np
import pytest

from dforest.core.coding import code_columns
from dforest.spmd.binning import code_columns_together
from dforest.spmd.communicator import ALONE
from dforest.spmd.threads import ThreadGroup
from dforest.testing import coding

SORTS = {
    "continuous": lambda rng, n: rng.standard_normal(n),
    "lognormal": lambda rng, n: np.exp(5 * rng.standard_normal(n)),
    "sorted": lambda rng, n: np.sort(rng.standard_normal(n)),
    "rounded": lambda rng, n: np.round(rng.standard_normal(n), rng.integers(0, 4)),
    "about as many values as bins": lambda rng, n: rng.integers(0, rng.choice([3, 15, 17, 250, 258, 300, 2000]), n),
    "few high values": lambda rng, n: rng.geometric(rng.choice([0.01, 0.1, 0.5]), n),
    "one heavy value": lambda rng, n: np.where(rng.random(n) < rng.random(), 0.25, rng.standard_normal(n)),
    "five heavy values": lambda rng, n: rng.integers(1, 6, n) * np.where(rng.random(n) < 0.02, rng.random(n), 1),
    "infinities": lambda rng, n: np.where(rng.random(n) < 0.1, rng.choice([np.inf, -np.inf], n), rng.standard_normal(n)),
    "extremes": lambda rng, n: rng.choice([np.inf, -np.inf, 3e38, -3e38, 0.0, 1e-40], n),
    "zeros of both signs": lambda rng, n: rng.choice([-0.0, 0.0, 1.0], n),
    "denormals": lambda rng, n: rng.integers(-400, 400, n) * 1e-45,
    "around zero": lambda rng, n: rng.standard_normal(n) ** 9,
    "neighbours": lambda rng, n: 1 + rng.integers(0, 700, n) * 2.0**-23,
    "two scales": lambda rng, n: np.where(rng.random(n) < 0.5, 1e9, 0) + rng.random(n),
    "constant": lambda rng, n: np.full(n, 3.5),
    "all missing": lambda rng, n: np.full(n, np.nan),
}
WEIGHTS = {
    "none": lambda rng, n: None,
    "small": lambda rng, n: rng.integers(1, 6, n).astype(np.uint32),
    "large": lambda rng, n: rng.integers(1, 2**31, n).astype(np.uint32),
    "of many magnitudes": lambda rng, n: np.exp(21.4 * rng.random(n)).astype(np.uint32),
}


def cuts(rng, n, size):
    """Where the rows of each rank begin, and the last ones end: some ranks have none, one, or all rows."""
    if rng.random() < 0.3:
        n_first = rng.integers(1, size + 1)
        return [0] * n_first + [n] * (size + 1 - n_first)
    inner = rng.integers(0, n + 1, size - 1)
    if size > 2 and rng.random() < 0.3:
        inner[0] = min(inner[1] + 1, n)
    return [0, *np.sort(inner).tolist(), n]


def coded_together(X, at, max_codes, weight=None, split=True, **more):
    """The columns of each rank, which has its rows in up to three matrices, and the ranks' communicators."""
    group = ThreadGroup(len(at) - 1)

    def code(communicator):
        a, b = at[communicator.rank : communicator.rank + 2]
        third = (b - a) // 3 if split else 0
        parts = [X[a : a + third], X[a + third : a + third], np.asfortranarray(X[a + third : b])] if b > a else []
        with communicator.together() as ranks:
            return code_columns_together(ranks, parts, max_codes, None if weight is None else weight[a:b], **more)

    found = group.run(code)
    for error in found:
        if isinstance(error, BaseException):
            raise error
    return found, group.communicators


def assert_equal(column, expected, a, b, dtype=None):
    for name in ("values", "lows", "highs"):
        numbers, others = getattr(column, name), getattr(expected, name)
        assert numbers.dtype == others.dtype
        assert numbers.tobytes() == others.tobytes()
    np.testing.assert_array_equal(column.codes, expected.codes[a:b])
    assert column.codes.dtype == (dtype or expected.codes.dtype)
    assert column[4:] == expected[4:]


def table(rng, n, dtype):
    """A matrix of columns of all sorts."""
    with np.errstate(over="ignore"):
        X = np.stack([sort(rng, n) for sort in SORTS.values()], axis=1).astype(dtype)
    for x in X.T:
        if rng.random() < 0.3:
            x[rng.random(n) < 0.2] = np.nan
        if rng.random() < 0.2:
            x[: n // 3] = np.nan  # on the first ranks only
    return X


@pytest.mark.parametrize("max_codes", [2, 3, 16, 255, 256, 300, 65535, 0])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_columns_are_those_of_one_process(size, max_codes):
    for n in (1, 7, 60, 2000):
        rng = np.random.default_rng([size, max_codes, n])
        X = table(rng, n, rng.choice([np.float32, np.float64]))
        weight = WEIGHTS[rng.choice(list(WEIGHTS))](rng, n)
        at = cuts(rng, n, size)
        expected = code_columns(X, max_codes, weight)
        by_rank, _ = coded_together(X, at, max_codes, weight, n_threads=2)
        for columns, a, b in zip(by_rank, at, at[1:], strict=False):
            for column, other in zip(columns, expected, strict=True):
                assert_equal(column, other, a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("size", [2, 5])
def test_more_rows_than_are_sent_one_by_one(size, weights, dtype):
    n = 20_000
    rng = np.random.default_rng([size, len(weights)])
    X = table(rng, n, dtype)
    weight = WEIGHTS[weights](rng, n)
    expected = code_columns(X, 200, weight)
    at = cuts(rng, n, size)
    by_rank, _ = coded_together(X, at, 200, weight)
    for columns, a, b in zip(by_rank, at, at[1:], strict=False):
        for column, other in zip(columns, expected, strict=True):
            assert_equal(column, other, a, b)


@pytest.mark.parametrize("max_codes", [0, 2, 5, 20])
def test_columns_are_those_of_the_twin(max_codes):
    rng = np.random.default_rng(max_codes)
    for n in (3, 80):
        X = table(rng, n, np.float32)
        weight = WEIGHTS["small"](rng, n)
        at = [0, n // 4, n // 4, n]
        by_rank, _ = coded_together(X, at, max_codes, weight)
        for j, x in enumerate(X.T):
            shares = [x[a:b] for a, b in zip(at, at[1:], strict=False)]
            weights = [weight[a:b] for a, b in zip(at, at[1:], strict=False)]
            for columns, twin in zip(by_rank, coding.code_column_together(shares, max_codes, weights), strict=True):
                column = columns[j]
                for found, expected in zip(column[:4], twin[:4], strict=True):
                    np.testing.assert_array_equal(found, expected)
                assert column.has_missing == twin[4]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("row_major", [False, True])
def test_columns_of_all_kinds(dtype, row_major):
    """Keys are of 32 bits where the values of all ranks fit; categories keep their numbers; ordinal columns are ranked."""
    rng = np.random.default_rng(3)
    n = 200
    X = np.stack([rng.integers(0, 4, n), rng.standard_normal(n), np.arange(n) % 5, rng.standard_normal(n)], axis=1).astype(dtype)
    X[:, 3] = X[:, 3].astype(np.float32)
    X[:20, 1] = X[:20, 1].astype(np.float32)  # so that the first rank alone would take 32 bits
    X[150, [0, 1, 2]] = np.nan
    X[160, 3] = np.inf
    kinds, n_categories, at = [2, 0, 1, 0], [300, 0, 0, 0], [0, 20, 20, 100, n]
    expected = code_columns(X, 0, kinds=kinds, n_categories=n_categories, takes_keys=True)
    by_rank, _ = coded_together(X, at, 0, kinds=kinds, n_categories=n_categories, takes_keys=True, row_major=row_major)
    for columns, a, b in zip(by_rank, at, at[1:], strict=False):
        for j, (column, other) in enumerate(zip(columns, expected, strict=True)):
            if row_major and dtype == np.float64:
                if j == 3:  # all keys are of one width
                    long = np.append(X[:, j], 1e-300)[:, None]
                    other = other._replace(codes=code_columns(long, takes_keys=True)[0].codes[:n])
                assert_equal(column, other, a, b, np.uint64)
            else:
                assert_equal(column, other, a, b, np.uint32 if row_major else None)


@pytest.mark.parametrize("size", [1, 3])
def test_codes_row_by_row(size):
    """One matrix has the codes of all columns, in the widest dtype that one of them takes."""
    rng = np.random.default_rng(size)
    X = table(rng, 900, np.float32)
    expected = code_columns(X, 300)
    at = np.linspace(0, 900, size + 1).astype(int).tolist()
    for columns, a, b in zip(coded_together(X, at, 300, row_major=True)[0], at, at[1:], strict=False):
        matrix = columns[0].codes.base
        assert matrix.shape == (b - a, X.shape[1])
        assert matrix.flags.c_contiguous
        for j, (column, other) in enumerate(zip(columns, expected, strict=True)):
            assert column.codes.base is matrix
            assert np.shares_memory(column.codes, matrix[:, j])
            assert_equal(column, other, a, b, np.uint16)


def test_rounds_do_not_grow_with_columns_nor_bytes_with_rows():
    def traffic(n, n_columns):
        X = np.random.default_rng(n).standard_normal((n, n_columns)).astype(np.float32)
        communicator = coded_together(X, [0, n // 3, n], 64, split=False)[1][0]
        return communicator.traffic

    one, many, long = traffic(20_000, 1), traffic(20_000, 20), traffic(200_000, 1)
    assert one.n_rounds <= 20
    assert many.n_rounds <= one.n_rounds + 10
    assert many.bytes_sent < 25 * one.bytes_sent
    assert long.n_rounds <= one.n_rounds + 8
    assert long.bytes_sent < 2 * one.bytes_sent < 40_000


def test_one_rank_with_one_matrix_speaks_to_nobody():
    before = ALONE.traffic.n_rounds
    X = np.random.default_rng(0).standard_normal((50, 3))
    for column, expected in zip(code_columns_together(ALONE, [X], 16), code_columns(X, 16), strict=True):
        assert_equal(column, expected, 0, 50)
    assert ALONE.traffic.n_rounds == before


@pytest.mark.parametrize(
    ("parts", "weights", "message"),
    [
        ([[np.zeros((2, 3))], [np.zeros((2, 4))]], [None, None], "n_features and dtype"),
        ([[np.zeros((2, 3))], [np.zeros((2, 3), np.float32)]], [None, None], "n_features and dtype"),
        ([[], []], [None, None], "at least one X"),
        ([[np.zeros((2, 3))], [np.zeros((2, 3))]], [None, np.ones(2, np.uint32)], "some ranks have weights"),
    ],
)
def test_ranks_that_differ_are_refused_on_all(parts, weights, message):
    def code(communicator):
        with communicator.together() as ranks:
            return code_columns_together(ranks, parts[ranks.rank], 16, weights[ranks.rank])

    for error in ThreadGroup(2).run(code):
        assert isinstance(error, ValueError)
        assert message in str(error)
