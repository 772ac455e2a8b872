"""Codes by row, and caches that are filled from them."""

import numpy as np
import pytest

from dforest.core.coding.coded_columns import CodedColumn
from dforest.core.data import DataView
from dforest.core.grow.subtree_cache import contents, filled
from dforest.core.sampling import Bootstrap
from dforest.engines.cpu import CpuEngine
from dforest.testing.engine_check import Kept, assert_equal_trees, random_problem


def random_columns(rng, n_rows, widths):
    """Columns of codes of so many bytes each, some of them missing; those of 8 bytes are keys."""
    columns = []
    for width in widths:
        n_codes = int(rng.integers(1, {1: 256, 2: 60_000, 4: 200_000, 8: 2}[width]))
        has_missing = bool(rng.integers(2)) and width < 8
        codes = rng.integers(0, n_codes + has_missing, n_rows).astype(f"u{width}")
        if width == 8:
            codes = rng.integers(0, 2**62, n_rows, dtype=np.uint64)
        values = np.arange(0 if width == 8 else n_codes, dtype=np.float64)
        columns.append(CodedColumn(codes, values, values, values, has_missing, 0, width == 8))
    return columns


SHAPES = [[1], [2], [4], [8], [1] * 7, [1] * 16, [1] * 33, [1] * 150, [1, 4, 1, 2, 8, 1], [4] * 20 + [1] * 3, [2, 1] * 40]


@pytest.mark.parametrize("widths", SHAPES, ids=lambda widths: f"{len(widths)}x{sum(widths)}")
@pytest.mark.parametrize("n_rows", [1, 15, 16, 300, 40_000])
def test_rows_have_the_codes_of_the_columns(widths, n_rows):
    rng = np.random.default_rng(n_rows)
    columns = random_columns(rng, n_rows, widths)
    data = DataView(columns, np.zeros(n_rows, np.int32))
    data.add_rows(3)
    assert data.rows.stride % 8 == 0
    assert sum(widths) <= data.rows.stride <= max(8, 2 * sum(widths))
    for j, column in enumerate(columns):
        np.testing.assert_array_equal(data.rows.column(j, widths[j]), column.codes)


def test_rows_have_the_buckets_of_columns_that_have_buckets():
    rng = np.random.default_rng(0)
    columns = random_columns(rng, 500, [4, 1, 2])
    data = DataView(columns, np.zeros(500, np.int32))
    data.add_buckets(100)
    data.add_rows(1)
    for j, column in enumerate(columns):
        expected, n_codes = column.codes, len(column.values)
        if n_codes > 101:
            expected = np.where(expected < n_codes, expected * np.uint64((100 << 32) // n_codes) >> np.uint64(32), 255)
        np.testing.assert_array_equal(data.rows.column(j, 1), expected)


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("widths", SHAPES, ids=lambda widths: f"{len(widths)}x{sum(widths)}")
@pytest.mark.parametrize("n", [16, 17, 64, 1000])
def test_a_block_has_the_codes_of_its_rows(widths, n, is_nested):
    """By all ways: buckets, ranks by a bitmap and by sorting, and codes as they are."""
    rng = np.random.default_rng(n)
    columns = random_columns(rng, 5000, widths)
    y = rng.random(5000)
    data = DataView(columns, np.zeros(5000, np.int32), y)
    data.add_rows(1)
    rows = np.sort(rng.choice(5000, n + 37, replace=False)).astype(np.uint32)
    chosen = np.sort(rng.choice(n + 37, n, replace=False)).astype(np.uint32)
    for takes_ranks in (False, True):
        cache, records = (
            filled(data, chosen, filled(data, rows, None, False)[0], takes_ranks)
            if is_nested
            else filled(data, rows[chosen], None, takes_ranks)
        )
        assert records["row"].tolist() == list(range(n))
        for of_node in (slice(None), slice(3, None, 2)):  # all records, and those of a node in the subtree
            right = rows[chosen][of_node]
            codes, targets, released, taken_back = contents(cache, records[of_node].copy())
            for found, column in zip(codes, columns, strict=True):
                np.testing.assert_array_equal(found, column.codes[right])
            assert targets == y[right].tolist()
            assert released.tolist() == right.tolist()
            assert taken_back.tolist() == records["row"][of_node].tolist()


@pytest.mark.parametrize("kind", ["classes", "weighted classes", "numbers"])
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize(
    "tuning",
    [
        {"cache_bytes": 400, "outer_cache_bytes": 4000},
        {"cache_bytes": 3000, "outer_cache_bytes": 12_000, "parallel_from": 1, "parallel_visits_from": 0},
        {"cache_bytes": 3000, "outer_cache_bytes": 0},
        {"cache_bytes": 1, "outer_cache_bytes": 200},
        {"copied_per_visit": 1},
        {"cache_bytes": 0, "scratch_from": 0},
        {"cache_bytes": 3000, "scratch_from": 0, "parallel_from": 1, "parallel_visits_from": 0},
        {"scratch_from": 2**62},
    ],
)
def test_blocks_change_nothing(kind, n_threads, tuning):
    """Nor do subtrees that are given away out of an outer cache."""
    for rules in ({}, {"max_depth": 6}):
        kept = []
        for sizes in ({"cache_bytes": 0}, tuning):
            _, problem = random_problem(7, kind, n_rows=6000, sampling=Bootstrap(6000), **rules)
            problem.splitter.tuning.update(sizes)
            kept.append(Kept())
            CpuEngine(n_threads).open(problem).grow(range(4), kept[-1])
        assert_equal_trees(kept[0].trees, kept[1].trees)
