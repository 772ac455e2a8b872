"""Sampling plans: what they draw is that of their naive twins, for any block of rows alone, and exactly multinomial."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from twins import sampling as twins
from twins.sampling import twin_of

from dforest import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.core import loops
from dforest.core.coding import code_columns
from dforest.core.data import DataView
from dforest.core.draws import Groups, Strata, TreeDraws, draw_pieces
from dforest.core.grow.records import Drawing
from dforest.core.predict.out_of_bag import predict_out_of_bag
from dforest.core.row_lists import drawn_rows
from dforest.core.sampling import AllRows, Bootstrap, DrawnElsewhere, SamplingPlan, Subsample
from dforest.engines import cpu
from dforest.engines.cpu import CpuEngine
from dforest.engines.rows import RowShare
from dforest.rules.arrays import BLOCK
from dforest.testing.engine_check import Kept, assert_equal_trees, random_problem

# One row, one block, a block's border on either side, several blocks, none of them a power of two.
SIZES = [1, 2, 37, 4095, 4096, 4097, 8192, 12289, 20000]


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("share", [0.001, 0.3, 1.0])
def test_counts_are_those_of_the_twin(n_rows, share):
    n_draws = max(1, int(n_rows * share))
    counts = Bootstrap(n_draws).counts(n_rows, 4234567890)
    assert counts.sum() == n_draws
    np.testing.assert_array_equal(counts, twins.Bootstrap(n_draws).counts(n_rows, 4234567890))


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("share", [0.001, 0.3, 0.5, 0.8, 1.0])
def test_rows_without_replacement_are_those_of_the_twin(n_rows, share):
    plan = Subsample(max(1, int(n_rows * share)), 4234567890)
    counts = plan.counts(n_rows, 7)
    assert counts.max() == 1 and counts.sum() == plan.n_draws == plan.count_draws(n_rows) == plan.max_records(n_rows)
    np.testing.assert_array_equal(counts, twin_of(plan).counts(n_rows, 7))
    assert plan.leaves_rows_out and Subsample(2**32 - 1, 5).counts(n_rows, 0).tolist() == [1] * n_rows


@pytest.mark.parametrize("n_rows, n_draws", [(7, 3), (4097, 2048), (4100, 3000), (12300, 5000)])
def test_every_row_is_as_likely_without_replacement(n_rows, n_draws):
    """Those of a short last block too. The variance of how often a row is drawn is binomial."""
    n_trees, p = 3000, n_draws / n_rows
    counts = sum(Subsample(n_draws, seed).counts(n_rows, 0).astype(np.int64) for seed in seeds_of_trees(n_trees, 4))
    z = (counts - n_trees * p) / np.sqrt(n_trees * p * (1 - p))
    assert np.abs(z).max() < 5 and np.abs(z[4096:4100]).max(initial=0) < 4.5
    assert abs(z @ z / n_rows - 1) < 6 * np.sqrt(2 / n_rows)


def test_pairs_of_rows_without_replacement():
    """All subsets of a block are as likely as each other."""
    seeds = seeds_of_trees(20_000, 6)
    for n_draws, n_subsets in ((2, 10), (3, 10), (4, 5)):
        counts = np.stack([Subsample(n_draws, seed).counts(5, 0) for seed in seeds])
        _, observed = np.unique(counts @ 2 ** np.arange(5), return_counts=True)
        assert len(observed) == n_subsets and stats.chisquare(observed).pvalue > 1e-4


def seeds_of_trees(n_trees, seed):
    return np.random.default_rng(seed).integers(2**32, size=n_trees).tolist()


def counts_of_trees(n_rows, n_draws, n_trees, seed):
    seeds = seeds_of_trees(n_trees, seed)
    return np.stack([Bootstrap(n_draws).counts(n_rows, tree) for tree in seeds]).astype(np.int64)


def test_groups_of_rows_covary_as_a_multinomial():
    """Whole blocks, halves of blocks and the short last one: means, variances and covariances of their draws."""
    n_rows, n_trees = 4096 * 3 + 1000, 4000
    borders = [0, 2048, 4096, 8192, 12288, n_rows]
    seeds = seeds_of_trees(n_trees, 5)
    groups = np.stack([np.add.reduceat(Bootstrap(n_rows).counts(n_rows, tree), borders[:-1]) for tree in seeds])
    share = np.diff(borders) / n_rows
    covariance = n_rows * (np.diag(share) - np.outer(share, share))
    mean = groups.mean(axis=0)
    assert np.all(np.abs(mean - n_rows * share) < 4.5 * np.sqrt(np.diag(covariance) / n_trees))
    observed = np.cov(groups.astype(float), rowvar=False)
    error = np.sqrt((covariance**2 + np.outer(np.diag(covariance), np.diag(covariance))) / n_trees)
    assert np.all(np.abs(observed - covariance) < 4.5 * error)


def test_pairs_of_rows_covary_as_a_multinomial():
    n, n_trees = 6, 40000
    counts = counts_of_trees(n, n, n_trees, 9)
    covariance = n * (np.eye(n) / n - np.full((n, n), 1 / n**2))
    variance = np.diag(covariance)[0]
    assert np.abs(np.cov(counts, rowvar=False) - covariance).max() < 5 * variance * np.sqrt(2 / n_trees) * 1.5
    # The chi-square statistic of each tree's counts, over all of its values: the exact distribution's mean.
    statistic = ((counts - 1.0) ** 2).sum(axis=1)
    assert abs(statistic.mean() - (n - 1)) < 5 * np.sqrt(2 * (n - 1) / n_trees)


def test_all_rows():
    plan = AllRows()
    for n_rows in SIZES:
        counts = plan.counts(n_rows, 5)
        assert counts.dtype == np.uint32 and counts.tolist() == [1] * n_rows
        assert plan.count_draws(n_rows) == plan.max_records(n_rows) == n_rows
    assert not plan.leaves_rows_out


@st.composite
def drawings(draw):
    """A plan, a number of rows, a seed, a run of blocks."""
    n_blocks = draw(st.integers(1, 9))
    n_rows = (n_blocks - 1) * BLOCK + draw(st.sampled_from([1, 2, 37, 2048, 4095, 4096]))
    plan = draw(st.sampled_from([AllRows(), *map(Bootstrap, (1, 31, 33, 999, 5000))]))
    first = draw(st.integers(0, n_blocks - 1))
    return plan, n_rows, draw(st.integers(0, 2**32 - 1)), range(first, draw(st.integers(first + 1, n_blocks)))


@given(drawings())
def test_any_blocks_are_those_of_the_twin(drawing):
    plan, n_rows, seed, blocks = drawing
    whole = twin_of(plan).counts(n_rows, seed)
    some = plan.counts(n_rows, seed, blocks)
    assert some.dtype == np.uint32
    np.testing.assert_array_equal(some, whole[blocks.start * BLOCK : blocks.stop * BLOCK])
    np.testing.assert_array_equal(plan.counts(n_rows, seed), whole)
    assert whole.sum() == plan.count_draws(n_rows) and (whole > 0).sum() <= plan.max_records(n_rows)
    dealt = TreeDraws((plan,), np.array([seed], np.uint32), n_rows, 1).of_block
    np.testing.assert_array_equal(dealt[0, :, 0], np.add.reduceat(whole, range(0, n_rows, BLOCK)))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_draws_of_trees_of_several_plans(n_threads):
    plans = Bootstrap(100), AllRows(), Bootstrap(9000), Bootstrap(100)
    draws = TreeDraws(plans, np.arange(4, dtype=np.uint32), 9000, n_threads)
    assert draws.plans == plans and draws.n_rows == 9000
    for t, plan in enumerate(plans):
        whole = plan.counts(9000, t)
        np.testing.assert_array_equal(draws.of_block[t, :, 0], np.add.reduceat(whole, range(0, 9000, BLOCK)))
    with pytest.raises(ValueError, match="3 plans of 4 trees"):
        TreeDraws(plans[:3], np.arange(4, dtype=np.uint32), 9000, n_threads)
    with pytest.raises(TypeError, match="plans has None for tree 1; allowed are sampling plans"):
        TreeDraws((AllRows(), None), np.zeros(2, np.uint32), 9000, n_threads)


@pytest.mark.parametrize("name", loops.names())
@given(st.sampled_from([1, 7, 300, 4096, 4100, 9000, 20_000]), st.integers(1, 600), st.integers(0, 2**32 - 1))
def test_lists_of_drawn_rows_are_those_of_counts(name, n_rows, n_draws, seed):
    n_draws = min(n_draws, n_rows)
    plans = [AllRows(), Bootstrap(n_draws), Subsample(n_draws), Subsample(n_draws, seed),
             Strata(np.arange(n_rows, dtype=np.uint32) % 2, np.array([n_draws, n_rows > 1]), True),
             Groups(None, 1, False, n_rows, n_draws)]  # fmt: skip
    seeds = np.array([seed, 7, seed // 2], np.uint32)
    loops.use(name)
    try:
        for plan in plans:
            rows, counts, n = drawn_rows(plan, seeds, n_rows, 2)
            for t in range(3):
                expected = plan.counts(n_rows, int(seeds[t]))
                np.testing.assert_array_equal(rows[t, : n[t]], np.flatnonzero(expected))
                np.testing.assert_array_equal(counts[t, : n[t]], expected[expected > 0])
    finally:
        loops.use()


def test_estimates_out_of_bag_need_draws_of_their_own_rows():
    X = np.arange(60.0)[:, None]
    forest = RandomForestRegressor(3, random_state=0).fit(X, X[:, 0]).forest_
    for n_trees, n_rows in [(2, 60), (3, 59)]:
        draws = TreeDraws(forest.plans[:n_trees], forest.seeds[:n_trees], n_rows, 1)
        with pytest.raises(ValueError, match=f"draws of {n_trees} trees of {n_rows} rows, for a forest of 3 trees and 60 rows"):
            predict_out_of_bag(forest.packed_leaves(), X, X[:, 0], None, draws, 0, 1)


def test_plans_are_values():
    plans = [AllRows(), Bootstrap(7), Bootstrap(8), Subsample(7, 2**32 - 1), DrawnElsewhere(7)]
    assert [repr(plan) for plan in plans] == [
        "AllRows()", "Bootstrap(n_draws=7)", "Bootstrap(n_draws=8)", "Subsample(n_draws=7, seed=4294967295)",
        "DrawnElsewhere(n_draws=7)"]  # fmt: skip
    assert len({*plans, AllRows(), Bootstrap(np.int64(8)), Subsample(7, seed=np.uint32(2**32 - 1))}) == 5
    assert Subsample(7, 1) != Subsample(7, 2) != Subsample(8, 2) != Bootstrap(8)
    assert Bootstrap(7) == Bootstrap(n_draws=7) != Bootstrap(8) != AllRows() != "AllRows()"
    for plan in plans:
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(plan, protocol))
            assert again == plan and type(again) is type(plan)
        assert copy.deepcopy(plan) == copy.copy(plan) == plan
        with pytest.raises(AttributeError):
            plan.leaves_rows_out = True
    with pytest.raises(AttributeError):
        plans[1].n_draws = 9
    with pytest.raises(ValueError, match="seed=4294967296; allowed are numbers from 0 to 4294967295"):
        Subsample(7, 2**32)


@pytest.mark.parametrize(
    ("n_draws", "kind", "message"),
    [
        (0, ValueError, "n_draws=0; allowed are numbers from 1 to 4294967295"),
        (-3, ValueError, "n_draws=-3; allowed"),
        (2**32, ValueError, "n_draws=4294967296; allowed"),
        (2**70, ValueError, "n_draws=1180591620717411303424; allowed"),
        (2.0, TypeError, "n_draws=2.0; allowed are integers"),
        (None, TypeError, "n_draws=None; allowed are integers"),
    ],
)
def test_numbers_of_draws_that_are_none(n_draws, kind, message):
    with pytest.raises(kind, match=message):
        Bootstrap(n_draws)
    # Nor do they come out of a pickle.
    with pytest.raises(kind, match=message):
        pickle.loads(pickle.dumps(Bootstrap(5), 0).replace(b"I5\n", b"" if n_draws is None else f"I{n_draws}\n".encode())
                     if isinstance(n_draws, int) else pickle.dumps(Damaged(n_draws)))  # fmt: skip


class Damaged:
    """Pickled as a bootstrap with such a parameter."""

    def __init__(self, n_draws):
        self.n_draws = n_draws

    def __reduce__(self):
        return Bootstrap, (self.n_draws,)


def test_bad_arguments():
    for arguments, message in [
        ((0, 1), "n_rows=0"),
        ((2**32, 1), "n_rows=4294967296"),
        ((5, -1), "seed=-1"),
        ((5, 2**32), "seed=4294967296"),
        ((5, 0, range(1, 2)), r"blocks=range\(1, 2\); allowed are ranges of one or more of the 1 blocks of 5 rows"),
        ((9000, 0, range(0, 3, 2)), r"blocks=range\(0, 3, 2\)"),
        ((9000, 0, range(2, 2)), "blocks="),
    ]:
        for plan in (AllRows(), Bootstrap(3)):
            with pytest.raises(ValueError, match=message):
                plan.counts(*arguments)
    for method in (AllRows().count_draws, Bootstrap(3).max_records):
        with pytest.raises(ValueError, match="n_rows=0; allowed are numbers from 1 to 4294967295"):
            method(0)
    with pytest.raises(TypeError):
        Bootstrap.__new__(Bootstrap)
    with pytest.raises(TypeError, match="SamplingPlan is the base of sampling plans, and none itself"):
        SamplingPlan()
    with pytest.raises(TypeError):
        type("Own", (Bootstrap,), {})


def test_a_plan_without_code_draws_nothing():
    own = type("Own", (SamplingPlan,), {})()
    with pytest.raises(TypeError, match="Own has no code that deals draws out to blocks"):
        own.counts(5, 0)
    X, problem = random_problem(0, sampling=own)
    with CpuEngine(1).open(problem) as session, pytest.raises(TypeError, match="Own has no code"):
        session.grow(range(1), Kept())


def rows_of_trees(model, X):
    """How often each tree draws each row, as many leaves as rows tell: the leaves' draws, and their rows."""
    forest, leaves = model.forest_, model.apply(X)
    return [forest.leaf_draws[forest.leaf_row[forest.node_offsets[t] + leaves[:, t]]] for t in range(forest.n_trees)]


@pytest.mark.parametrize("n_jobs", [1, 4])
@pytest.mark.parametrize("plan", [AllRows(), Bootstrap(700), Bootstrap(20_000)])
def test_trees_hold_what_their_plans_draw(plan, n_jobs):
    """Of rows that all differ, drawn by one thread or by several: a row that a tree drew has a leaf of its own."""
    X, parameters = np.arange(20_000.0)[:, None], {"bootstrap": False}
    if isinstance(plan, Bootstrap):
        parameters = {"max_samples": plan.n_draws}
    model = RandomForestRegressor(2, method="dense", random_state=0, n_jobs=n_jobs, **parameters).fit(X, X[:, 0])
    assert model.forest_.plans == (plan,) * 2
    for t, draws in enumerate(rows_of_trees(model, X)):
        counts = model.forest_.row_counts(t)
        np.testing.assert_array_equal(counts, twin_of(plan).counts(20_000, model.forest_.seeds[t]))
        np.testing.assert_array_equal(draws[counts > 0], counts[counts > 0])


def test_trees_know_their_own_rows():
    """Cut out of a forest, added by a warm start with another plan or other rows, pickled, pruned."""
    X = np.arange(5000.0)[:, None]
    model = RandomForestRegressor(2, method="dense", random_state=3).fit(X, X[:, 0])
    model.set_params(warm_start=True, n_estimators=4, max_samples=30).fit(X, X[:, 0])
    model.set_params(n_estimators=5, max_samples=None).fit(X[:77], X[:77, 0])
    model.set_params(n_estimators=6, bootstrap=False).fit(X[:50], X[:50, 0])
    forest = model.forest_
    assert forest.plans == (Bootstrap(5000),) * 2 + (Bootstrap(30),) * 2 + (Bootstrap(77), AllRows())
    assert forest.n_draws.tolist() == [5000, 5000, 30, 30, 77, 50] and forest.n_rows.tolist() == [5000] * 4 + [77, 50]
    expected = [forest.row_counts(t) for t in range(6)]
    assert (expected[0] != expected[1]).any() and expected[2].sum() == 30 and len(expected[4]) == 77
    for t, estimator in enumerate(model.estimators_):
        alone = forest.tree(t)
        whole = np.zeros(len(alone.feature), bool)
        for one in (alone, estimator.forest_, pickle.loads(pickle.dumps(alone)), alone.cut_back(whole)):
            assert one.plans == (forest.plans[t],) and one.n_draws.tolist() == [forest.n_draws[t]]
            np.testing.assert_array_equal(one.row_counts(0), expected[t])
        np.testing.assert_array_equal(model.estimators_samples_[t], np.repeat(np.arange(len(expected[t])), expected[t]))
    with pytest.raises(IndexError, match="tree 6 of a forest of 6"):
        forest.row_counts(6)
    single = DecisionTreeRegressor(random_state=5).fit(X, X[:, 0]).forest_
    assert single.plans == (AllRows(),) and single.row_counts(0).tolist() == [1] * 5000
    assert ExtraTreesRegressor(2, random_state=5).fit(X, X[:, 0]).forest_.plans == (AllRows(),) * 2


@pytest.mark.parametrize("sampling", [AllRows(), Bootstrap(6000)])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_trees_of_weights_of_their_own_are_drawn_once(sampling, n_threads, monkeypatch):
    """Who weighs a tree's draws hands them on: a plan that would draw other rows the second time changes nothing."""
    problem = random_problem(2, "balanced classes", n_rows=9000, sampling=sampling)[1]
    problem.splitter.tuning.update({"parallel_visits_from": 0})
    once, again = Kept(), Kept()
    CpuEngine(1).open(problem).grow(range(3), once)
    drawn = []
    weigh = type(problem).weigh_draws

    def weigh_draws(self, seeds):
        drawn.extend(seeds)
        return weigh(self, seeds)

    monkeypatch.setattr(type(problem), "weigh_draws", weigh_draws)
    known = []

    def others(*arguments, made=cpu.Trainer, drawn=None):
        *same, plan, n_threads = arguments
        known.append(plan)
        return made(*same, Bootstrap(9000), n_threads)

    monkeypatch.setattr(cpu, "Trainer", others)
    CpuEngine(n_threads).open(problem).grow(range(3), again)
    assert known == [sampling] and sorted(drawn) == sorted(problem.seeds_of(range(3)).tolist())
    assert_equal_trees(again.trees, once.trees)


def test_draws_of_other_rows_are_refused():
    columns = code_columns(np.arange(6.0)[:, None], 16)
    ones = np.ones(6, np.uint32)
    for weight, draws in [(None, (ones, ones)), (ones, (ones[:5], ones)), (ones, (ones, ones[:5]))]:
        data = DataView(columns, np.arange(6, dtype=np.int32) % 3, None, weight)
        with pytest.raises(ValueError, match=r"counts of \d and weights of \d rows, of data of 6 rows with weights"):
            Drawing(data, AllRows()).set_draws(*draws)


def test_balanced_subsamples_weigh_what_the_plan_draws():
    X = np.arange(300.0)[:, None]
    y = (X[:, 0] < 40).astype(int)
    model = RandomForestClassifier(3, class_weight="balanced_subsample", max_samples=90, random_state=0, max_depth=1).fit(X, y)
    forest = model.forest_
    for t in range(3):
        counts = twin_of(forest.plans[t]).counts(300, forest.seeds[t])
        leaves = forest.tree(t).leaf_row[forest.tree(t).feature < 0]
        assert forest.leaf_draws[leaves].sum() == counts.sum() == 90
        zeros, ones = forest.leaf_weight[leaves].sum(axis=0)
        assert abs(zeros / ones - 1) < 1e-6


MANY = 3 * BLOCK + 100  # rows
BY_THREE = (np.arange(MANY) * 7 % 13 // 5).astype(np.uint32)
MASS = (np.arange(MANY) % 9 * 5).astype(np.uint32)
PLANS_OF_PIECES = [
    AllRows(), Bootstrap(6000), Bootstrap(40), Subsample(6001, 3), Strata(BY_THREE, np.array([30, 4000, 7]), True),
    Strata(BY_THREE, np.array([30, 2000, 7]), False), Strata(None, np.array([5000]), True, MASS),
    Groups(None, 3, True, MANY, 700), Groups((np.arange(MANY) % 5000).astype(np.uint32), 3000, False),
]  # fmt: skip


@pytest.mark.parametrize("sampling", PLANS_OF_PIECES, ids=repr)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_pieces_of_blocks_are_drawn_alone(sampling, n_threads):
    """Whoever holds some ranges of the rows has the counts of these rows, and draws no other block."""
    rng, n_rows, seeds = np.random.default_rng(0), MANY, np.array([5, 6, 2**32 - 1], np.uint32)
    expected = np.stack([sampling.counts(n_rows, int(seed)) for seed in seeds])
    dealt = TreeDraws((sampling,) * 3, seeds, n_rows, 1).of_block
    assert dealt.shape == (3, 4, sampling.width)
    for _ in range(20):
        cuts = np.sort(rng.integers(0, n_rows + 1, rng.integers(2, 400)))
        order = rng.permutation(len(cuts) - 1)
        share = RowShare(n_rows, cuts[:-1][order], np.diff(cuts)[order])
        pieces = share.pieces()
        counts = draw_pieces(sampling, seeds, n_rows, dealt[:, pieces[0]], pieces, n_threads)
        np.testing.assert_array_equal(counts, expected[:, share.numbers()])


def test_pieces_are_checked():
    pieces = np.array([[0], [4000], [97]])
    with pytest.raises(ValueError, match="beyond its block"):
        draw_pieces(AllRows(), np.zeros(1, np.uint32), 5000, np.ones((1, 1, 1)), pieces, 1)
    with pytest.raises(ValueError, match="of 1 trees and 1 pieces"):
        draw_pieces(AllRows(), np.zeros(1, np.uint32), 5000, np.ones((1, 2, 1)), pieces, 1)
    strata = Strata(np.zeros(5000, np.uint32), np.array([9, 0, 0]), True)
    with pytest.raises(ValueError, match=r"draws of shape \(1, 1, 1\), of 1 trees and 1 pieces by Strata.*which has 3 numbers"):
        draw_pieces(strata, np.zeros(1, np.uint32), 5000, np.ones((1, 1, 1)), pieces, 1)
    with pytest.raises(ValueError, match="n_rows=5001, but Strata.* says how 5000 rows are drawn"):
        draw_pieces(strata, np.zeros(1, np.uint32), 5001, np.ones((1, 1, 3)), pieces, 1)


def test_draws_of_another_library():
    """How many there are is known, and not which rows."""
    plan = DrawnElsewhere(7)
    assert plan.count_draws(5) == 7
    for asked in (plan.counts, plan.block_draws):
        with pytest.raises(ValueError, match="the tree was grown elsewhere, so the rows that it drew are not known"):
            asked(5, 0)
