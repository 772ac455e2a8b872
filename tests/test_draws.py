"""Loops that compute random words many at a time, in all instruction sets: what they draw is what the rules draw word by word."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from probes import draws as probe
from probes import rules
from twins import sampling as twins

from dforest.core import loops
from dforest.core.draws import TreeDraws
from dforest.core.sampling import Bootstrap
from dforest.rules.arrays import BLOCK
from dforest.testing.streams import BOOTSTRAP_DRAW, SUBSAMPLE_DRAW, THRESHOLD, Stream

SEEDS = st.integers(0, 2**32 - 1)
NODES = st.integers(1, 2**64 - 1)
AHEAD = 2048  # words that are computed at a time


@pytest.fixture(params=loops.names())
def each_set(request):
    """Have the loops of one set in use."""
    loops.use(request.param)
    yield
    loops.use()


def pieces(draw, n, multiple=1):
    """Borders of some pieces of n words or bits, between which there is a multiple of a number."""
    cuts = draw(st.lists(st.integers(0, n // multiple), max_size=4))
    return [0, *(cut * multiple for cut in sorted(cuts)), n]


@pytest.mark.usefixtures("each_set")
@given(SEEDS, NODES, st.integers(0, 40) | st.integers(0, 5 * 32 * AHEAD), st.data())
@example(1, 2, 32 * AHEAD, None)
@example(1, 2, 32 * AHEAD + 31, None)
def test_draws_of_even_halves(seed, node, n, data):
    expected = rules.draws_to_left(seed, node, n, 5, 5)
    assert probe.ones(seed, node, 0, n) == expected
    borders = pieces(data.draw, n, 32) if data else [0, n]
    found = [probe.ones(seed, node, begin // 32, end - begin) for begin, end in itertools.pairwise(borders)]
    assert sum(found) == expected


# Of powers of two no word is passed over; of numbers just above half of 2**32 every other one is.
ROWS = st.integers(1, 2**31 - 1) | st.sampled_from([2**31 - 1, 2**30 + 1, BLOCK, 1])


@pytest.mark.usefixtures("each_set")
@given(SEEDS, NODES, st.integers(0, 40) | st.integers(0, 3 * AHEAD), ROWS, ROWS, st.data())
@example(1, 2, AHEAD, 2**31 - 1, 2, None)
@example(1, 2, AHEAD + 1, 2**31, 2**31 - 1, None)
@example(1, 2, 64, 2**32 - 2, 1, None)
def test_draws_of_uneven_halves(seed, node, n, left, right, data):
    if left == right:
        right += 1
    n_draws, n_left = probe.below(seed, node, 0, n, left, right)
    assert n_draws <= n and n_left == rules.draws_to_left(seed, node, n_draws, left, right)
    least = 2**32 % (left + right)
    assert abs(n_draws - n * (1 - least / 2**32)) <= 6 * n**0.5
    if n:  # no draw less: the last word that was looked at made the last draw, or none
        assert n_draws - probe.below(seed, node, 0, n - 1, left, right)[0] in (0, 1)
    borders = pieces(data.draw, n) if data else [0, n]
    found = [probe.below(seed, node, begin, end - begin, left, right) for begin, end in itertools.pairwise(borders)]
    assert tuple(np.sum(found, axis=0)) == (n_draws, n_left)


@pytest.mark.usefixtures("each_set")
@given(SEEDS, st.integers(0, 2**20), st.integers(1, BLOCK), st.integers(0, 40) | st.integers(0, 3 * AHEAD))
@example(1, 2, BLOCK, AHEAD)
@example(1, 2, BLOCK, AHEAD + 1)
@example(1, 2, 1, 5000)
def test_rows_of_a_block(seed, block, n, n_draws):
    np.testing.assert_array_equal(probe.draw_block(seed, block, n, n_draws), rules.draw_block(seed, block, n, n_draws))


@pytest.mark.usefixtures("each_set")
@pytest.mark.parametrize(("seed", "at"), [(115, 334), (330, 2945), (469, 1017)])
def test_a_word_that_is_passed_over(seed, at):
    """Few words are where the rows of a block are drawn: of 4093 rows, 2304 of the 2**32 possible ones."""
    n = 4093
    words = Stream(seed, 0, BOOTSTRAP_DRAW)
    assert [i for i in range(at + 1) if words.next() * n % 2**32 < 2**32 % n] == [at]
    for n_draws in (at, at + 1, 3000):  # it would have been no draw yet, the last one, one among others
        np.testing.assert_array_equal(probe.draw_block(seed, 0, n, n_draws), rules.draw_block(seed, 0, n, n_draws))


@pytest.mark.usefixtures("each_set")
@given(SEEDS, st.integers(0, 2**20), st.integers(1, BLOCK), st.floats(0, 1))
@example(1, 2, BLOCK, 1.0)
@example(1, 2, AHEAD + 1, 0.5)
def test_rows_of_a_block_without_replacement(seed, block, n, share):
    n_draws = int(n * share)
    counts = probe.subsample_block(seed, block, n, n_draws)
    assert counts.sum() == n_draws
    np.testing.assert_array_equal(counts, rules.subsample_block(seed, block, n, n_draws))


@pytest.mark.usefixtures("each_set")
@pytest.mark.parametrize(("seed", "at"), [(737, 759), (2373, 1269), (3574, 3283)])
def test_a_word_that_is_passed_over_without_replacement(seed, at):
    """All rows after it have the word behind the one that they would have."""
    n = 4093
    words = Stream(seed, 0, SUBSAMPLE_DRAW)
    assert [i for i in range(at + 1) if words.next() * (n - i) % 2**32 < 2**32 % (n - i)] == [at]
    for n_draws in (1, 2000, n - 1):
        counts = probe.subsample_block(seed, 0, n, n_draws)
        np.testing.assert_array_equal(counts, rules.subsample_block(seed, 0, n, n_draws))
        np.testing.assert_array_equal(counts, twins.Subsample(n_draws, seed).counts(n, 0))


@pytest.mark.usefixtures("each_set")
@given(st.integers(1, 100) | st.just(BLOCK), st.integers(0, 50), SEEDS, st.booleans(), st.sampled_from([None, 0, 0.3, 1]))
def test_records(n, first, seed, has_weight, drawn):
    rng = np.random.default_rng(seed)
    target = rng.integers(-(2**31), 2**31, first + n).astype(np.int32)
    weight = rng.integers(1, 2**32, first + n).astype(np.uint32) if has_weight else None
    counts = None if drawn is None else (rng.integers(1, 2**32, n) * (rng.random(n) < drawn)).astype(np.uint32)
    expected = rules.records(first, counts, target, weight, n)
    rows = first + np.arange(n) if counts is None else first + np.flatnonzero(counts)
    assert expected["row"].tolist() == rows.tolist() and (expected["target"] == target[rows]).all()
    assert (expected["count"] == (1 if counts is None else counts[rows - first])).all()
    assert (expected["weight"] == (weight[rows] if has_weight else 1)).all()
    found, n_found = probe.records(first, counts, target, weight, n)
    assert n_found == len(expected) and found[:n_found].tobytes() == expected.tobytes()
    assert not any(found[n_found:].tobytes())  # others may write there


@pytest.mark.parametrize("n_rows", [300_000, 64 * BLOCK, 64 * BLOCK + 1, 65 * BLOCK, 128 * BLOCK, 1_000_001])
def test_draws_that_threads_allocate_together(n_rows):
    """Of two trees by three threads, each tree's are; in more pieces than there are threads, or in one."""
    for n_draws in (2**18 - 1, 2**18, n_rows + 2**20):
        plans, seeds = (Bootstrap(n_draws),) * 2, np.array([3, 2**32 - 1], np.uint32)
        together, alone = (TreeDraws(plans, seeds, n_rows, n_threads).of_block for n_threads in (3, 1))
        np.testing.assert_array_equal(together, alone)
        assert (together.sum(axis=(1, 2)) == n_draws).all()


@pytest.mark.parametrize("n_rows", [2**31 + 4097, 3 * 2**30 + 1])
def test_draws_of_many_rows_are_allocated_together(n_rows):
    """Where many of the words of a large tree's root are passed over, threads look at some more, again and again."""
    plans, seeds = (Bootstrap(2**18),), np.array([5], np.uint32)
    together, alone = (TreeDraws(plans, seeds, n_rows, n_threads).of_block for n_threads in (2, 1))
    np.testing.assert_array_equal(together, alone)
    half = 2 ** ((n_rows - 1) // BLOCK).bit_length() // 2
    left = rules.draws_to_left(5, 1, 2**18, half * BLOCK, n_rows - half * BLOCK)
    assert alone[0, :half].sum() == left and alone.sum() == 2**18


@pytest.mark.usefixtures("each_set")
@given(SEEDS, st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=3).map(lambda paths: (8 * paths)[5:] + paths[:1] * 5))
def test_uniform_numbers_of_paths(seed, paths):
    expected = [Stream(seed, path, THRESHOLD).uniform() for path in paths]
    assert probe.uniforms(seed, np.array(paths, np.uint64)).tolist() == expected
