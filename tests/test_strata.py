"""Plans of strata, masses and groups: what they draw is that of their naive twins, for any block of rows alone."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from twins.sampling import twin_of

from dforest.core.draws import Groups, Strata, TreeDraws
from dforest.core.sampling import Bootstrap, Subsample
from dforest.rules.arrays import BLOCK

SEED = 4234567890
SIZES = [1, 2, 37, 4096, 4097, 12289]


def strata_of(n_rows, n_strata, rng, is_sorted=False):
    stratum = rng.integers(n_strata, size=n_rows).astype(np.uint32)
    return np.sort(stratum) if is_sorted else stratum


def check(plan, n_rows, seed=SEED):
    """A plan draws what its twin draws: all rows, any blocks alone, among plans of other kinds, and when it was pickled."""
    counts = plan.counts(n_rows, seed)
    np.testing.assert_array_equal(counts, twin_of(plan).counts(n_rows, seed))
    n_blocks = -(-n_rows // BLOCK)
    for first in range(n_blocks):
        for last in range(first + 1, n_blocks + 1):
            part = plan.counts(n_rows, seed, range(first, last))
            np.testing.assert_array_equal(part, counts[first * BLOCK : last * BLOCK])
    assert (plan.block_draws(n_rows, seed) >= np.add.reduceat(counts > 0, np.arange(0, n_rows, BLOCK))).all()
    assert counts.sum() == plan.count_draws(n_rows, seed) <= plan.largest_tree(n_rows)
    assert np.count_nonzero(counts) <= plan.max_records(n_rows)
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan and hash(again) == hash(plan) and again != Bootstrap(3)
    np.testing.assert_array_equal(again.counts(n_rows, seed), counts)
    draws = TreeDraws((Bootstrap(5), plan, Bootstrap(5)), np.array([1, seed, 1], np.uint32), n_rows, 1)
    assert draws.of_block.shape == (3, n_blocks, plan.width)
    np.testing.assert_array_equal(draws.of_block[1].sum(axis=1), plan.block_draws(n_rows, seed))
    for place in (0, 2):  # a plan of one number has it first
        np.testing.assert_array_equal(draws.of_block[place, :, 0], Bootstrap(5).block_draws(n_rows, 1))
        assert not draws.of_block[place, :, 1:].any()
    return counts


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_strata_are_those_of_the_twin(n_rows, replace, is_sorted):
    stratum = strata_of(n_rows, 4, np.random.default_rng(n_rows), is_sorted)
    there = np.bincount(stratum, minlength=4)
    n_draws = np.array([there[0] // 2, there[1], min(1, there[2]), 0])
    n_draws[0] += n_draws.sum() == 0 and there[0]
    n_draws[3] += n_draws.sum() == 0
    counts = check(Strata(stratum, n_draws, replace), n_rows)
    assert np.bincount(stratum, counts, 4).tolist() == n_draws.tolist()
    assert replace or counts.max() == 1


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("bits", [1, 8, 32])
def test_masses_are_those_of_the_twin(n_rows, bits):
    rng = np.random.default_rng(n_rows)
    mass = rng.integers(2**bits, size=n_rows, dtype=np.uint32)
    mass[-1] = 2**bits - 1
    counts = check(Strata(None, np.array([n_rows // 3 + 2]), True, mass), n_rows)
    assert not counts[mass == 0].any()
    stratum = strata_of(n_rows, 3, rng)
    there = np.bincount(stratum, mass, 3) > 0
    check(Strata(stratum, np.where(there, [7, 200, n_rows // 5 + 1], 0), True, mass), n_rows)


@given(st.data())
def test_groups_are_those_of_the_twin(data):
    n_rows = data.draw(st.sampled_from(SIZES), "rows")
    rng = np.random.default_rng(data.draw(st.integers(0, 99), "data"))
    n_groups = data.draw(st.sampled_from([1, 2, 40, n_rows]), "groups")
    seed, replace = data.draw(st.integers(0, 2**32 - 1), "seed"), data.draw(st.booleans(), "replace")
    _, first, number = np.unique(rng.integers(n_groups, size=n_rows), return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first))[number].astype(np.uint32)
    n = len(first)
    n_draws = data.draw(st.integers(1, n), "draws")
    counts = check(Groups(group, n_draws, replace), n_rows, seed)
    of_group = counts[np.sort(first)]
    np.testing.assert_array_equal(counts, of_group[group])  # no group is on both sides
    assert of_group.sum() == n_draws
    length = data.draw(st.sampled_from([1, 3, n_rows]), "length")
    length = min(length, n_rows)
    n_blocks = -(-n_rows // length)
    check(Groups(None, data.draw(st.integers(1, n_blocks), "blocks"), replace, n_rows, length), n_rows, seed)


def test_many_groups_of_a_block():
    """Rows of one block are in groups of many blocks of groups."""
    n_groups = 70 * BLOCK
    group = np.concatenate([np.arange(n_groups), np.random.default_rng(0).permutation(n_groups)]).astype(np.uint32)
    for replace in (True, False):
        plan = Groups(group, n_groups // 2, replace)
        of_groups = (Bootstrap if replace else Subsample)(n_groups // 2).counts(n_groups, 5)
        np.testing.assert_array_equal(plan.counts(len(group), 5), of_groups[group])


def test_one_stratum_is_a_bootstrap_or_a_subsample():
    for n_rows in SIZES:
        zeros, n = np.zeros(n_rows, np.uint32), max(1, n_rows // 2)
        np.testing.assert_array_equal(Strata(zeros, np.array([n]), True).counts(n_rows, 3), Bootstrap(n).counts(n_rows, 3))
        np.testing.assert_array_equal(Strata(zeros, np.array([n]), False).counts(n_rows, 3), Subsample(n).counts(n_rows, 3))
        ones = Strata(None, np.array([n]), True, np.ones(n_rows, np.uint32))
        np.testing.assert_array_equal(ones.counts(n_rows, 3), Bootstrap(n).counts(n_rows, 3))


@pytest.mark.parametrize("scale", [1, 2**30 // 8200])
def test_chances_are_in_proportion_to_masses(scale):
    n_rows, n_draws, n_trees = 8200, 4000, 400
    mass = (np.arange(n_rows) % 11 * scale).astype(np.uint32)
    plan = Strata(None, np.array([n_draws]), True, mass)
    counts = sum(plan.counts(n_rows, seed).astype(np.int64) for seed in range(n_trees))
    expected = n_draws * n_trees * (mass / mass.sum(dtype=np.float64))
    seen = mass > 0
    assert counts[~seen].sum() == 0
    assert stats.chisquare(counts[seen], expected[seen]).pvalue > 1e-4
    of_blocks = np.add.reduceat(counts, [0, 4096, 8192])
    assert stats.chisquare(of_blocks, np.add.reduceat(expected, [0, 4096, 8192])).pvalue > 1e-4


def test_trees_differ_and_strata_are_independent():
    stratum = np.repeat(np.arange(2, dtype=np.uint32), 500)
    plan = Strata(stratum, np.array([500, 500]), True)
    counts = plan.counts(1000, 1)
    assert (counts != plan.counts(1000, 2)).any() and (counts[:500] != counts[500:]).any()


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: Strata(None, np.array([3]), True), "that is a Bootstrap or a Subsample"),
        (lambda: Strata(np.zeros(4), np.array([3]), True), "stratum is a ndarray; allowed are ndarrays of .* uint32"),
        (lambda: Strata(np.zeros(0, np.uint32), np.array([3]), True), "with 1 to"),
        (lambda: Strata(np.full(4, 2, np.uint32), np.array([3, 3]), True), "stratum holds 2; n_draws has 2 entries"),
        (lambda: Strata(np.zeros(4, np.uint32), np.array([5]), False), "n_draws has 5 draws from stratum 0, of which 4 are"),
        (lambda: Strata(np.zeros(4, np.uint32), np.array([1, 1]), True), "n_draws has 1 draws from stratum 1, of which 0 are"),
        (lambda: Strata(np.zeros(4, np.uint32), np.array([0]), True), "the sum of n_draws=0"),
        (lambda: Strata(np.zeros(4, np.uint32), np.array([-1]), True), r"n_draws holds \[-1\]"),
        (lambda: Strata(None, np.array([2]), False, np.ones(4, np.uint32)), "mass needs replace=True"),
        (lambda: Strata(None, np.array([2]), True, np.zeros(4, np.uint32)), "2 draws from stratum 0, of which 0 are possible"),
        (lambda: Strata(np.zeros(3, np.uint32), np.array([2]), True, np.ones(4, np.uint32)), "mass has 4 entries for 3 rows"),
        (lambda: Groups(np.array([1, 0], np.uint32), 1, True), "not those of groups in the order of their first rows"),
        (lambda: Groups(np.array([0, 2], np.uint32), 1, True), "not those of groups in the order of their first rows"),
        (lambda: Groups(np.array([0, 1], np.uint32), 3, False), "n_draws=3; allowed are numbers from 1 to 2"),
        (lambda: Groups(np.array([0, 1], np.uint32), 1, False, 2, 1), "n_rows=2 and length=1 with group"),
        (lambda: Groups(None, 1, False, 2, 0), "length=0; allowed are numbers from 1"),
        (lambda: Groups(None, 2**32 - 1, True, 9, 3), "may make more than 4294967295 draws of rows"),
    ],
)
def test_what_no_plan_is_made_of(make, told):
    with pytest.raises(ValueError, match=told):
        make()


def test_a_plan_is_for_its_rows_alone():
    seeds = np.zeros(1, np.uint32)
    for plan in (Strata(np.zeros(4, np.uint32), np.array([5]), True), Groups(None, 1, True, 4, 2)):
        told = "n_rows=5, but .* says how 4 rows are drawn"
        for ask in (lambda p: p.counts(5, 0), lambda p: p.block_draws(5, 0), lambda p: TreeDraws((p,), seeds, 5, 1)):
            with pytest.raises(ValueError, match=told):
                ask(plan)


def test_a_plan_keeps_its_arrays():
    stratum = np.array([0, 1, 1], np.uint32)
    plan = Strata(stratum, np.array([1, 2]), True)
    before = plan.counts(3, 0)
    stratum[:] = 0
    np.testing.assert_array_equal(plan.counts(3, 0), before)
    with pytest.raises(ValueError, match="read-only"):
        plan.stratum[0] = 1
