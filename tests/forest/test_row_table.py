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
    for batch, part in enumerate(np.array_split(rows, 7)):
        np.testing.assert_array_equal(distinct[table.add(part, batch)], part)
    assert len(table) == len(first)
    assert table.finalize(np.linspace(0, n, 8).astype(np.int64)) == len(first)
    whole, second, none = table.release((0, 2), (1, 2), (1, 1))
    np.testing.assert_array_equal(whole, distinct)
    np.testing.assert_array_equal(second, distinct[:, 1:])
    assert none.shape == (len(first), 0)
    assert len(table) == 0
    with pytest.raises(ValueError, match="released"):
        table.add(rows)


def expected(batches):
    """The distinct rows of batches in their order."""
    return list(dict.fromkeys(tuple(row) for batch in batches for row in batch.tolist()))


def check(table, batches, numbers, n_wanted):
    """Compare a table, given the provisional numbers of each batch, with plain Python."""
    wanted = batches[:n_wanted]
    distinct = expected(wanted)
    assert table.finalize(np.cumsum([0, *(len(batch) for batch in wanted)])) == len(distinct)
    link = np.concatenate([*numbers[:n_wanted], [123]]).astype(np.uint32)
    feature = np.full(len(link), -1, np.int32)
    feature[-1] = 0  # no leaf
    table.renumber(feature, link)
    (words,) = table.release((0, batches[0].shape[1]))
    assert [tuple(row) for row in words.tolist()] == distinct
    np.testing.assert_array_equal(words[link[:-1]], np.concatenate(wanted))
    assert link[-1] == 123


def made_batches(seed, n_batches=20):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 3 + 40 * (seed % 3), (rng.integers(0, 500), 2)) for _ in range(n_batches)]


@pytest.mark.parametrize("n_threads", [1, 2, 100])
@pytest.mark.parametrize("n_wanted", [7, 20])
@pytest.mark.parametrize("seed", range(6))
def test_batches_in_any_order(seed, n_wanted, n_threads):
    batches = made_batches(seed)
    table, numbers = RowTable(2, n_threads), [None] * len(batches)
    for batch in np.random.default_rng(seed).permutation(len(batches)):
        numbers[batch] = table.add(batches[batch], batch)
    check(table, batches, numbers, n_wanted)


@pytest.mark.parametrize("seed", range(6))
def test_several_threads(seed):
    batches = made_batches(seed, 60)
    table, numbers, turns = RowTable(2, 4), [None] * len(batches), iter(range(len(batches) - 1, -1, -1))

    def work():
        for batch in turns:
            numbers[batch] = table.add(batches[batch], batch)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(table, batches, numbers, len(batches))


def test_rows_of_another_length():
    table = RowTable(2)
    with pytest.raises(ValueError, match="rows of 3 words, in a table of rows of 2"):
        table.add(np.zeros((1, 3), np.int64))


def test_rows_that_are_not_settled():
    table = RowTable(2)
    table.add(np.zeros((1, 2), np.int64))
    with pytest.raises(ValueError, match="not been settled"):
        table.release((0, 2))
