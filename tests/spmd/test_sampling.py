"""Ways to draw rows, by ranks: plans, forests and estimates are those of one process, however the rows are cut among ranks."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from helpers.device_forests import differences
from helpers.ranks import CUTS, Cut, by_ranks, fit_by_ranks, one_of, sizes
from helpers.rings import some
from sklearn.base import clone

from dforest import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.core.draws import Strata, TreeDraws
from dforest.core.sampling import AllRows, Bootstrap
from dforest.engines.rows import RowShare
from dforest.estimators.results.permutation import importance_of_partitions
from dforest.rules.arrays import BLOCK
from dforest.sampling import BlockSampling, GroupSampling, Sampling, StratifiedSampling
from dforest.spmd.draws import DrawAllocator

OF_ROWS = ["oob_error_per_observation_", "oob_prediction_", "oob_decision_function_"]
OF_ALL = ["oob_error_", "oob_curve_", "n_never_oob_", "oob_score_", "variable_importance_", "variable_importance_std_"]
SIZES = [{"ship_up_to": 0}, {"ship_up_to": 20, "shipment_records": 50}, {}, {"ship_up_to": 1 << 62, "n_trees": 3}]

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores", "ignore:R.2 score is not well-defined")


@dataclass(frozen=True)
class OfWhatIsTold(Sampling):
    """A sampling from outside, whose plan depends on all that it is told."""

    ignores_weights = True
    needs_groups = True

    def plan(self, rows):
        kinds = [rows.groups] if rows.classes is None else [rows.groups, rows.labels[rows.classes]]
        stratum = np.unique(np.char.add(*kinds) if len(kinds) == 2 else kinds[0], return_inverse=True)[1].astype(np.uint32)
        mass = np.arange(1, rows.n_rows + 1, dtype=np.uint32) if rows.weight is None else rows.weight
        n_draws = np.bincount(stratum).astype(np.int64)
        return Strata(stratum, np.maximum(n_draws // 2, 1), True, np.ascontiguousarray(mass))


class Mute(Sampling):
    """A sampling that does not say what it is: equal ones are told by their plans."""

    def __init__(self, seed=None):
        self.seed = seed

    def plan(self, rows):
        mass = np.random.default_rng(self.seed).integers(1, 100, rows.n_rows, np.uint32)
        return Strata(rows.classes.astype(np.uint32), np.bincount(rows.classes), True, mass)


WAYS = [
    "subsample", "stratified", "balanced", "weighted", "group", BlockSampling(9), BlockSampling(30, replace=False),
    StratifiedSampling("balanced", replace=False), StratifiedSampling(replace=False),
    StratifiedSampling({"a": 0.5, "b": 3, "c": 9}), GroupSampling(replace=False), OfWhatIsTold(),
]  # fmt: skip


def needs_groups(way):
    return way == "group" or getattr(way, "needs_groups", False)


def random_problem(seed, way, n=None, is_regression=False):
    """(a forest to fit, X, y, sample_weight or None, groups or None)"""
    rng = np.random.default_rng([seed, 4])
    n = n or int(rng.integers(40, 150))
    X = rng.standard_normal((n, 4)).round(2)
    number = X[:, 0] + rng.standard_normal(n)
    y = number if is_regression else np.array(["a", "b", "c"])[np.digitize(number, [-0.5, 0.8])]
    if rng.random() < 0.3:
        order = np.argsort(number)
        X, y = X[order], y[order]
    weight = one_of(rng, None, rng.random(n) + 0.1, rng.integers(0, 3, n) / 4)
    if weight is not None:
        weight[:20] = 1
    groups = None
    if needs_groups(way):
        label = rng.integers(0, one_of(rng, 3, 20), n)
        groups = np.array([f"group {'x' * k}" for k in range(20)])[label]
    parameters = {
        "n_estimators": one_of(rng, 1, 5),
        "bootstrap": way,
        "oob_score": True,
        "variable_importance": one_of(rng, "mda_raw", "mdi"),
        "max_leaf_nodes": one_of(rng, None, 9),
        "random_state": seed,
        "max_samples": None if isinstance(way, StratifiedSampling) and isinstance(way.sizes, dict) else one_of(rng, None, 0.7),
    }
    if is_regression:
        return one_of(rng, RandomForestRegressor, ExtraTreesRegressor)(**parameters, method="hist"), X, y, weight, groups
    class_weight = one_of(rng, None, "balanced", "balanced_subsample", {"a": 3, "b": 0.5})
    kind = one_of(rng, RandomForestClassifier, ExtraTreesClassifier)
    return kind(**parameters, class_weight=class_weight, method="hist"), X, y, weight, groups


def assert_equal(one, found, cut, what):
    """Ranks know what one process knows: the forest, what it says of all rows, and of the own ones of each rank."""
    for rank, own in enumerate(found):
        if isinstance(own, BaseException):
            raise AssertionError((what, rank)) from own
        assert not differences(own, one), (what, rank)
        assert own.forest_.plans == one.forest_.plans
        assert pickle.dumps(own.forest_) == pickle.dumps(one.forest_)
        rows = cut.rows(rank)
        for name in [*OF_ROWS, *OF_ALL]:
            assert hasattr(own, name) == hasattr(one, name), (what, name)
            if hasattr(one, name):
                expected = np.asarray(getattr(one, name))
                expected = expected[rows] if name in OF_ROWS else expected
                assert np.asarray(getattr(own, name)).tobytes() == expected.tobytes(), (what, rank, name)
        for mine, theirs in zip(own.estimators_samples_, one.estimators_samples_, strict=True):
            counts = np.bincount(theirs, minlength=cut.edges[-1])[rows]
            np.testing.assert_array_equal(mine, np.repeat(np.arange(len(rows)), counts))


WAYS_OF_NUMBERS = [way for way in WAYS if "tratified" not in str(way) and way != "balanced"]  # strata are classes


@pytest.mark.parametrize(
    ("way", "is_regression"), [*((way, False) for way in WAYS), *((way, True) for way in WAYS_OF_NUMBERS)], ids=str
)
def test_random_fits(way, is_regression):
    for seed in some(range(6), 2, first=WAYS.index(way)):
        rng = np.random.default_rng([seed, WAYS.index(way)])
        model, X, y, weight, groups = random_problem(seed, way, is_regression=is_regression)
        one = clone(model).fit(X, y, weight, groups)
        size, kind, chosen = int(rng.choice([2, 3, 5])), CUTS[seed % len(CUTS)], SIZES[rng.integers(len(SIZES))]
        cut = Cut.random(rng, len(y), size, kind)
        with sizes(**chosen):
            assert_equal(one, fit_by_ranks(model, X, y, weight, cut, size, groups), cut, (seed, kind, chosen))


@pytest.mark.parametrize("way", ["stratified", "balanced", "weighted"])
def test_several_outputs(way):
    """Strata are the joint classes of all ranks, some of which one rank alone has."""
    model, X, y, weight, _ = random_problem(3, way, n=90)
    y = np.column_stack([np.sort(y), y])
    model.set_params(class_weight="balanced", max_samples=None)
    cut = Cut.random(np.random.default_rng(0), len(y), 3, "empty")
    assert_equal(clone(model).fit(X, y, weight), fit_by_ranks(model, X, y, weight, cut, 3), cut, way)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_rows_of_many_blocks(way):
    """Cuts in the middle of blocks of 4096 rows, of which some plans have several numbers of draws."""
    model, X, y, weight, groups = random_problem(7, way, n=2 * BLOCK + 500)
    model.set_params(n_estimators=3, max_depth=5)
    one = clone(model).fit(X, y, weight, groups)
    for size, kind in ((2, "interleaved"), (3, "empty")):
        cut = Cut.random(np.random.default_rng(size), len(y), size, kind)
        assert_equal(one, fit_by_ranks(model, X, y, weight, cut, size, groups), cut, (way, kind))


def test_draws_of_plans_of_different_widths_are_dealt():
    """Each rank deals for some of the trees, whose plans may all have fewer numbers than those of other ranks' trees."""
    rng, n_rows = np.random.default_rng(0), 4 * BLOCK + 9
    strata = Strata(rng.integers(0, 3, n_rows, np.uint32), np.array([900, 7, 5000]), True)
    two = Strata(rng.integers(0, 2, n_rows, np.uint32), np.array([30, 20]), False)
    seeds = np.arange(7, dtype=np.uint32)
    for plans in [(strata, Bootstrap(9), AllRows()) * 2 + (two,), (two,) * 7, (AllRows(), strata) * 3 + (Bootstrap(5000),)]:
        whole = TreeDraws(plans, seeds, n_rows, 1).of_block
        for size in (1, 2, 3, 8):
            edges = np.sort(np.r_[0, rng.integers(0, n_rows + 1, size - 1), n_rows])

            def deal(ranks, plans=plans, edges=edges):
                share = RowShare(n_rows, edges[[ranks.rank]], np.diff(edges)[[ranks.rank]])
                allocator = DrawAllocator(ranks, n_rows, share)
                return allocator.blocks, allocator.allocate(plans, seeds, 2), allocator.allocate(plans[:1], seeds[:1], 1)

            for blocks, allocated, first in by_ranks(size, deal):
                np.testing.assert_array_equal(allocated, whole[:, blocks])
                np.testing.assert_array_equal(first, TreeDraws(plans[:1], seeds[:1], n_rows, 1).of_block[:, blocks])


def test_a_forest_goes_on_by_other_plans_on_other_ranks():
    """What is estimated out of bag is by all trees, whose plans have different numbers of draws for a block."""
    _, X, y, weight, groups = random_problem(3, "group", n=BLOCK + 300)
    first = dict(oob_score=True, variable_importance="mda_raw", max_depth=5, warm_start=True, random_state=0)
    one, cut = RandomForestClassifier(2, **first), Cut.random(np.random.default_rng(0), len(y), 3, "interleaved")
    models = [RandomForestClassifier(2, **first) for _ in range(3)]
    for step, way in enumerate([True, "stratified", "group", StratifiedSampling({"a": 50, "b": 0.1, "c": 9}), "weighted"]):
        for model in [one, *models]:
            model.set_params(n_estimators=2 + 2 * step, bootstrap=way)
        given = groups if way == "group" else None
        one.fit(X, y, weight, given)

        def fit(ranks, given=given):
            return models[ranks.rank]._fit_partitions(lambda rank: cut.partitions(rank, X, y, weight, given))

        assert_equal(one, by_ranks(3, fit), cut, way)
    assert {plan.width for plan in one.forest_.plans} == {1, 3}
    rises = by_ranks(3, lambda ranks: importance_of_partitions(models[ranks.rank],
        lambda rank: cut.partitions(rank, X, y, weight)).importances)  # fmt: skip
    expected = one.oob_importance(X, y, weight).importances
    assert [rise.tobytes() for rise in rises] == [expected.tobytes()] * 3


# Labels of groups, which each rank has of a type of its own

NUMBERS = np.random.default_rng(0).integers(0, 9, 120)
LABELS = [
    [np.array([f"{'n' * k}" for k in NUMBERS[:40]]), np.array(["nnn"] * 0 + [f"{'n' * (k + 9)}" for k in NUMBERS[40:]])],
    [NUMBERS[:40].astype(np.int8), NUMBERS[40:].astype(np.int64) + 1000],
    [NUMBERS[:40] + 0.5, NUMBERS[40:]],
    [np.array([str(k) for k in NUMBERS[:40]], object), NUMBERS[40:].astype("U1")],
    [NUMBERS[:40].astype("M8[D]"), (NUMBERS[40:] * 86400).astype("M8[s]")],
]


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: f"{labels[0].dtype}, {labels[1].dtype}")
def test_labels_of_groups_of_different_types(labels):
    """A rank without rows has none, and so labels of no type in particular."""
    _, X, y, *_ = random_problem(0, True, n=120)
    model = RandomForestClassifier(3, bootstrap="group", random_state=0)
    one = clone(model).fit(X, y, groups=np.concatenate(labels))
    given = [(X[:40], y[:40], None, labels[0]), (X[:0], y[:0], None, []), (X[40:], y[40:], None, labels[1])]
    for own in by_ranks(3, lambda ranks: clone(model).fit(*given[ranks.rank])):
        assert not differences(own, one)
        assert own.forest_.plans == one.forest_.plans


def test_an_own_sampling_is_told_of_all_rows():
    """Labels of classes and groups as they were given, with the type that holds those of all ranks."""
    told = {}

    class Told(Sampling):
        needs_groups = ignores_weights = True

        def plan(self, rows):
            told.setdefault(len(told), rows)
            return Bootstrap(9)

    _, X, y, *_ = random_problem(0, True, n=120)
    weight = NUMBERS.astype(float)
    weight[:60] /= 7
    RandomForestClassifier(1, bootstrap=Told(), max_samples=9).fit(X, y, weight, np.concatenate(LABELS[0]))
    cut = Cut(np.array([0, 20, 40, 120]), np.array([0, 1, 0]))
    fit_by_ranks(RandomForestClassifier(1, bootstrap=Told(), max_samples=9), X, y, weight, cut, 2, np.concatenate(LABELS[0]))
    assert len(told) == 3
    for rank in (1, 2):
        for name, expected in told[0]._asdict().items():
            found = told[rank]._asdict()[name]
            assert type(found) is type(expected)
            assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
            np.testing.assert_array_equal(found, expected)


def test_samplings_that_do_not_say_what_they_are_are_compared_by_their_plans():
    _, X, y, *_ = random_problem(0, True, n=120)
    cut = Cut.random(np.random.default_rng(0), 120, 2, "random")
    one = RandomForestClassifier(3, bootstrap=Mute(5), random_state=0).fit(X, y)

    def fit(seed):
        def on(ranks):
            own = slice(*cut.edges[ranks.rank : ranks.rank + 2])
            return RandomForestClassifier(3, bootstrap=Mute(seed), random_state=0).fit(X[own], y[own])

        return on

    for own in by_ranks(2, fit(5)):
        assert not differences(own, one)
    with pytest.raises(ValueError, match=r"Mute.* made the plan Strata\(.* on rank 0, but Strata\(.* on rank 1; allowed is one"):
        by_ranks(2, fit(None))
