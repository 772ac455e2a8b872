"""Tables of distinct rows against what plain Python makes of them."""

import threading

import numpy as np
import pytest

from dforest.core.forest.row_table import RowTable, unique_rows


@pytest.mark.parametrize("n", [0, 1, 40, 5000])
@pytest.mark.parametrize("n_distinct", [1, 30, 4000])
def test_distinct_rows(n, n_distinct):
    rows = np.random.default_rng(n).integers(0, n_distinct, (n, 2)) * [1, 0]
    first = list(dict.fromkeys(rows[:, 0].tolist()))
    distinct, numbers = unique_rows(rows)
    assert distinct[:, 0].tolist() == first and numbers.dtype == np.uint32
    np.testing.assert_array_equal(distinct[numbers], rows)
    table = RowTable(2)
    for lot, part in enumerate(np.array_split(rows, 7)):
        np.testing.assert_array_equal(distinct[table.add(part, lot)], part)
    assert len(table) == len(first)
    assert table.settle(np.linspace(0, n, 8).astype(np.int64)) == len(first)
    whole, second, none = table.release((0, 2), (1, 2), (1, 1))
    np.testing.assert_array_equal(whole, distinct)
    np.testing.assert_array_equal(second, distinct[:, 1:])
    assert none.shape == (len(first), 0)
    assert len(table) == 0
    with pytest.raises(ValueError, match="released"):
        table.add(rows)


def expected(lots):
    """The distinct rows of lots in their order."""
    return list(dict.fromkeys(tuple(row) for lot in lots for row in lot.tolist()))


def check(table, lots, numbers, n_wanted):
    """Compare a table, given the provisional numbers of each lot, with plain Python."""
    wanted = lots[:n_wanted]
    distinct = expected(wanted)
    assert table.settle(np.cumsum([0, *(len(lot) for lot in wanted)])) == len(distinct)
    link = np.concatenate([*numbers[:n_wanted], [123]]).astype(np.uint32)
    feature = np.full(len(link), -1, np.int32)
    feature[-1] = 0  # no leaf
    table.renumber(feature, link)
    (words,) = table.release((0, lots[0].shape[1]))
    assert [tuple(row) for row in words.tolist()] == distinct
    np.testing.assert_array_equal(words[link[:-1]], np.concatenate(wanted))
    assert link[-1] == 123


def made_lots(seed, n_lots=20):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 3 + 40 * (seed % 3), (rng.integers(0, 500), 2)) for _ in range(n_lots)]


@pytest.mark.parametrize("n_threads", [1, 2, 100])
@pytest.mark.parametrize("n_wanted", [7, 20])
@pytest.mark.parametrize("seed", range(6))
def test_lots_in_any_order(seed, n_wanted, n_threads):
    lots = made_lots(seed)
    table, numbers = RowTable(2, n_threads), [None] * len(lots)
    for lot in np.random.default_rng(seed).permutation(len(lots)):
        numbers[lot] = table.add(lots[lot], lot)
    check(table, lots, numbers, n_wanted)


@pytest.mark.parametrize("seed", range(6))
def test_several_threads(seed):
    lots = made_lots(seed, 60)
    table, numbers, turns = RowTable(2, 4), [None] * len(lots), iter(range(len(lots) - 1, -1, -1))

    def work():
        for lot in turns:
            numbers[lot] = table.add(lots[lot], lot)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(table, lots, numbers, len(lots))


def test_rows_of_another_length():
    table = RowTable(2)
    with pytest.raises(ValueError, match="rows of 3 words, in a table of rows of 2"):
        table.add(np.zeros((1, 3), np.int64))


def test_rows_that_are_not_settled():
    table = RowTable(2)
    table.add(np.zeros((1, 2), np.int64))
    with pytest.raises(ValueError, match="not been settled"):
        table.release((0, 2))
