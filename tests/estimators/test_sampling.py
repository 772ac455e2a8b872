"""What `bootstrap` may be: forests of sampling plans, on threads and a device, and what follows from them."""

from dataclasses import dataclass

import numpy as np
import pytest
from helpers.device_forests import assert_same
from sklearn.datasets import load_wine

from dforest import RandomForestClassifier, RandomForestRegressor
from dforest.sampling import (
    BlockSampling,
    Bootstrap,
    Groups,
    GroupSampling,
    RowSampling,
    SampledRows,
    Sampling,
    Strata,
    StratifiedSampling,
    Subsample,
    WeightedSampling,
    sampling_of,
)

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
X, Y = load_wine(return_X_y=True)
N = len(Y)
GROUPS = np.arange(N) * 7 % 30
WEIGHT = np.random.default_rng(0).random(N)


@dataclass(frozen=True)
class ByAlternation(Sampling):
    """A sampling from outside: two draws of the even rows for each of the odd ones."""

    needs_groups = True

    def plan(self, rows):
        return Strata((np.arange(rows.n_rows) % 2).astype(np.uint32), np.array([60, 30]), True)


WAYS = [
    "subsample", "stratified", "balanced", "weighted", "group", RowSampling(), BlockSampling(9), BlockSampling(9, replace=False),
    StratifiedSampling("balanced", replace=False), StratifiedSampling({0: 0.5, 1: 10, 2: 7}), GroupSampling(replace=False),
    ByAlternation(),
]  # fmt: skip


def needs_groups(way):
    return way == "group" or getattr(way, "needs_groups", False)


def fitted(way, kind=RandomForestClassifier, y=Y, **parameters):
    parameters = {"n_estimators": 25, "random_state": 0, "oob_score": True, **parameters}
    return kind(bootstrap=way, **parameters).fit(X, y, WEIGHT, GROUPS if needs_groups(way) else None)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_out_of_bag_is_what_no_tree_drew(way):
    forest = fitted(way)
    drew = np.array([forest.forest_.row_counts(t) for t in range(25)])
    proba = np.array([forest.forest_.tree(t).packed("soft").mean(X, 1) for t in range(25)])
    out = drew == 0
    for row in range(N):
        if out[:, row].any():
            expected = proba[out[:, row], row].mean(axis=0)
            np.testing.assert_allclose(forest.oob_decision_function_[row], expected, rtol=0, atol=1e-12)
        else:
            assert np.isnan(forest.oob_decision_function_[row]).all()
    for t, samples in enumerate(forest.estimators_samples_):
        np.testing.assert_array_equal(np.bincount(samples, minlength=N), drew[t])


def test_strings_are_objects():
    for name, way in [
        ("subsample", RowSampling(replace=False)), ("stratified", StratifiedSampling()), ("group", GroupSampling()),
        ("balanced", StratifiedSampling("balanced")), ("weighted", WeightedSampling()), (True, RowSampling()),
    ]:  # fmt: skip
        assert_same(fitted(name), fitted(way))


def test_numbers_of_draws():
    sizes = np.bincount(Y)
    counts = {str(way): fitted(way).forest_.row_counts(3) for way in WAYS}
    by_class = {way: np.bincount(Y, count, 3).tolist() for way, count in counts.items()}
    assert counts["subsample"].sum() == round(0.632 * N) and counts["subsample"].max() == 1
    assert by_class["stratified"] == sizes.tolist()
    assert by_class["balanced"] == by_class[str(WAYS[8])] == [sizes.min()] * 3
    assert by_class[str(WAYS[9])] == [round(sizes[0] / 2), 10, 7]
    for way in ("group", str(WAYS[10])):
        for group in range(30):
            assert len(np.unique(counts[way][GROUPS == group])) == 1
    for way in map(str, WAYS[6:8]):
        for first in range(0, N, 9):
            assert len(np.unique(counts[way][first : first + 9])) == 1
    for share, expected in ((0.25, 0.25), (1.0, 1.0), (20, 20 / N), (2.5, 2.5)):
        forest = fitted("stratified", max_samples=share)
        assert abs(np.bincount(Y, forest.forest_.row_counts(0), 3) - sizes * expected).max() < 1
    assert fitted("balanced", max_samples=0.5).forest_.n_draws[0] == 3 * round(sizes.min() / 2)
    assert fitted("balanced", max_samples=32).forest_.n_draws[0] == 30
    assert fitted("group", max_samples=1).forest_.n_draws.max() <= 6
    forest = fitted("group")
    np.testing.assert_array_equal(forest.forest_.n_draws, [forest.forest_.row_counts(t).sum() for t in range(25)])


def test_what_scikit_learn_calls_the_number_of_draws():
    for way in WAYS:
        forest = fitted(way)
        counts = forest.forest_.n_draws
        assert abs(forest._n_samples_bootstrap - counts.mean()) <= 3 * counts.std()
    assert fitted("balanced")._n_samples_bootstrap == 3 * np.bincount(Y).min()
    forest = RandomForestClassifier(2, bootstrap=False)
    assert not hasattr(forest, "_n_samples_bootstrap")
    assert forest.fit(X, Y)._n_samples_bootstrap is None


def test_every_class_has_a_draw():
    y = np.r_[np.zeros(97, int), 1, 1, 2]
    plan = StratifiedSampling().plan(SampledRows(100, y.astype(np.int32), np.arange(3), None, None, 5))
    assert plan.n_draws.tolist() == [3, 1, 1]
    weight = np.ones(100)
    weight[99] = 0  # a class without rows has no draws
    forest = RandomForestClassifier(3, bootstrap="balanced").fit(np.arange(100)[:, None], y, weight)
    assert forest.forest_.plans[0].n_draws.tolist() == [2, 2, 0] and list(forest.classes_) == [0, 1, 2]


def test_weighted_draws_count_as_one():
    """As trees grown on the rows that were drawn; a weight of 0 is never drawn, and classes' weights count too."""
    forest = fitted("weighted")
    for t in range(3):
        tree, drawn = forest.estimators_[t].tree_, np.bincount(Y, forest.forest_.row_counts(t), 3)
        assert tree.weighted_n_node_samples[0] == tree.n_node_samples[0] == N
        np.testing.assert_allclose(tree.value[0, 0], drawn / N, rtol=1e-15)
    n = np.bincount(Y, fitted("weighted", class_weight={0: 100.0}, n_estimators=1).forest_.row_counts(0), 3)
    assert n[0] > 0.9 * N
    equal = RandomForestClassifier(5, bootstrap="weighted", random_state=0).fit(X, Y)
    assert_same(equal, RandomForestClassifier(5, random_state=0).fit(X, Y))
    assert isinstance(equal.forest_.plans[0], Bootstrap)
    balanced = fitted("weighted", class_weight="balanced_subsample")
    assert np.ptp(balanced.forest_.leaf_weight.sum(axis=1)) > 0 and balanced.oob_error_ < 0.2


def test_regression_has_no_classes():
    with pytest.raises(ValueError, match="rows are drawn by class, but regression has no classes"):
        RandomForestRegressor(bootstrap="balanced").fit(X, X[:, 0])


def test_trees_of_several_plans():
    """A warm start may go on with another sampling; the estimates out of bag are those of all trees."""
    forest = RandomForestClassifier(5, warm_start=True, oob_score=True, random_state=0)
    for i, way in enumerate(["balanced", True, "group", "subsample"]):
        forest.set_params(n_estimators=5 * (i + 1), bootstrap=way)
        forest.fit(X, Y, None, GROUPS if way == "group" else None)
    assert [type(plan) for plan in forest.forest_.plans[::5]] == [Strata, Bootstrap, Groups, Subsample]
    out = np.array([forest.forest_.row_counts(t) == 0 for t in range(20)])
    assert forest.n_never_oob_ == (~out.any(axis=0)).sum()


def test_importances_and_neighbours():
    for way in ("balanced", "group", "weighted"):
        forest = fitted(way, variable_importance="mda_raw", keep_training_data=True)
        assert forest.variable_importance_.sum() > 0
        assert forest.proximity(kind="gap").shape == (N, N)
    drawn = (RandomForestRegressor(60, bootstrap=BlockSampling(5), keep_training_data=True, random_state=0)
             .fit(X, X[:, 0]).predict_interval(X[:3], method="jackknife+ab"))  # fmt: skip
    assert np.isfinite(drawn).all()


@pytest.mark.parametrize(
    "parameters, groups, told",
    [
        ({"bootstrap": "jackknife"}, None, "The 'bootstrap' parameter of RandomForestClassifier must be"),
        ({"bootstrap": "group"}, None, "groups=None; rows are drawn by groups, .* Cross-.*set_fit_request"),
        ({"bootstrap": "group"}, GROUPS[:-1], "groups has 177 entries, but X has 178 rows"),
        ({"bootstrap": "group"}, np.where(GROUPS == 3, np.nan, GROUPS), "groups .*: nan in row 9; every row needs a value"),
        ({"bootstrap": "group"}, [None] * N, "Input groups .*: None in row 0"),
        ({"bootstrap": "group"}, np.zeros((N, 2)), r"groups has the shape \(178, 2\); allowed is one group for each row"),
        ({"bootstrap": True}, GROUPS, r"groups are given, but RowSampling\(replace=True\) does not draw by groups"),
        ({"bootstrap": False}, GROUPS, "groups are given, but bootstrap=False does not draw by groups"),
        ({"bootstrap": "subsample", "max_samples": 179}, None, "max_samples=179 is too much for 178 rows; allowed are up to 178"),
        ({"bootstrap": "subsample", "max_samples": 1.5}, None, "max_samples=1.5 is too much for 178 rows"),
        ({"bootstrap": GroupSampling(replace=False), "max_samples": 31}, GROUPS, "max_samples=31 is too much for 30 groups"),
        ({"bootstrap": "stratified", "max_samples": 2}, None, "makes 2 draws, but each of 3 classes needs at least one"),
        ({"bootstrap": "balanced", "max_samples": 2}, None, "max_samples=2 makes 0 draws from each of 3 classes"),
        ({"bootstrap": StratifiedSampling("balanced", False), "max_samples": 1.5}, None, "makes 72 draws from each of 3 classes"),
        ({"bootstrap": StratifiedSampling({0: 3})}, None, r"sizes={0: 3} leaves the class 1 out; allowed are numbers for all of"),
        ({"bootstrap": StratifiedSampling({0: 3, 1: 3, 2: 3, 7: 1})}, None, "sizes has the class 7; the classes are"),
        ({"bootstrap": StratifiedSampling({0: 3, 1: 0, 2: 3})}, None, "sizes has 0 for the class 1; allowed are"),
        ({"bootstrap": StratifiedSampling({0: 3, 1: "x", 2: 3})}, None, "sizes has 'x' for the class 1"),
        ({"bootstrap": StratifiedSampling({0: 99, 1: 1, 2: 3}, False)}, None, "sizes has 99 for the class 0, which"),
        ({"bootstrap": StratifiedSampling({0: 1, 1: 1, 2: 3}), "max_samples": 3}, None, "max_samples=3, but sizes="),
        ({"bootstrap": StratifiedSampling("equal")}, None, "sizes='equal'; allowed are None"),
        ({"bootstrap": BlockSampling(0)}, None, "length=0; allowed are 1 to 178 rows of a block"),
        ({"bootstrap": BlockSampling(2.5)}, None, "length=2.5; allowed are"),
    ],
)
def test_bad_input(parameters, groups, told):
    forest = RandomForestClassifier(**parameters)
    before = dict(forest.__dict__)
    with pytest.raises(ValueError, match=told):
        forest.fit(X, Y, None, groups)
    assert forest.__dict__ == before


@dataclass(frozen=True)
class Answers(Sampling):
    plan_of_all: object = None

    def plan(self, rows):
        return self.plan_of_all


def test_what_no_sampling_may_answer():
    with pytest.raises(TypeError, match="made a plan None; allowed are sampling plans"):
        RandomForestClassifier(bootstrap=Answers()).fit(X, Y)
    with pytest.raises(ValueError, match="n_rows=178, but .* says how 3 rows are drawn"):
        RandomForestClassifier(bootstrap=Answers(Groups(None, 1, True, 3, 1))).fit(X, Y)


def test_classes_are_told_to_those_who_need_them():
    """Whether the rows lie in one process or in several: so plans that look at nothing else are the same."""
    needy = [way for way in map(sampling_of, WAYS) if way.needs_classes]
    assert {type(way) for way in needy} == {StratifiedSampling, ByAlternation}
    plan = {"needs_classes": False, "plan": lambda self, rows: Bootstrap(9 if rows.classes is rows.labels is None else 3)}
    forest = RandomForestClassifier(1, bootstrap=type("Careless", (Sampling,), plan)()).fit(X, Y)
    assert forest.forest_.plans[0] == Bootstrap(9)


@pytest.mark.parametrize("small", [np.int8, np.uint8])
def test_small_numbers_of_numpy_are_those_of_python(small):
    """That of a block's rows is less than that of all rows, which 8 bits can't hold."""
    X = np.arange(400.0)[:, None]
    for ours, other in [
        (BlockSampling(small(5)), BlockSampling(5)),
        (StratifiedSampling({0: small(50), 1: np.float16(0.5)}), StratifiedSampling({0: 50, 1: 0.5})),
    ]:
        first, second = (RandomForestClassifier(3, bootstrap=way, random_state=0).fit(X, X[:, 0] > 99) for way in (ours, other))
        assert first.forest_.plans == second.forest_.plans
