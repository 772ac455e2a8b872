"""Boosted trees with splits by sums of columns: trees and raw predictions equal to those of the naive twin, to the bit."""

import numpy as np
import pytest
from boost.test_booster import EXTREMES, assert_equal_trees, make_booster, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.boosting import grow_booster, inner_nodes, predict_raw
from twins.projections import Rule

from dforest.core import loops
from dforest.rules.losses import LOSSES
from dforest.splitter import ObliqueSplitter

ROUNDS = 3
FREE = {"monotonic": None, "interactions": None, "monotone_penalty": 0.0, "feature_costs": None}
WHERE = [name for name, sizes in EXTREMES.items() if not sizes.get("sparse")]


def assert_equal_models(problem, rule, extremes):
    problem.parameters.update(FREE)
    twin = grow_booster(problem.X, problem.y, max_iter=ROUNDS, **problem.parameters, oblique=rule)
    assert np.array_equal(predict_raw(twin, problem.X, problem.parameters["offset"]), twin.raw, equal_nan=True)
    names = "n_projections", "projection_density", "projection_weights", "projection_scaling", "projections"
    splitter = ObliqueSplitter(**{name: getattr(rule, name) for name in names})
    for extreme in extremes:
        sizes = dict(EXTREMES[extreme], sampled_rows=rule.n_sampled)
        wanted = sizes.get("loops")
        loops.use(wanted if wanted in loops.names() else None)
        try:
            more = {"X": np.ascontiguousarray(problem.X), "splitter": splitter, "max_codes": rule.max_codes}
            booster = make_booster(problem, twin.baselines, more=more, **sizes)
            for trees in twin.rounds:
                for tree, expected in zip(booster.grow_iteration(), trees, strict=True):
                    assert_equal_trees(tree, expected, problem.X.dtype)
            assert np.array_equal(booster.raw_sums.T + np.array(twin.baselines), twin.raw, equal_nan=True)
        finally:
            loops.use(None)
    return twin


def random_rule(rng, problem):
    """Random projections for the columns of a problem."""
    p, is_number = problem.X.shape[1], np.array(problem.parameters["n_categories"]) == 0
    sizes = {"max_codes": int(rng.choice([255, 256, 8, 2])), "n_sampled": int(rng.choice([1024, 20, 3]))}
    n_projections = [None, 1, 4, 0.5, 1.5][rng.integers(5)]
    if rng.random() < 0.25 and is_number.sum() > 1:
        matrix = np.where(is_number, rng.standard_normal((5, p)) * (rng.random((5, p)) < 0.5), 0.0)
        matrix[:, np.flatnonzero(is_number)[:2]] = [1.0, -0.5]
        return Rule(n_projections, projections=matrix, **sizes)
    return Rule(
        n_projections,
        float(rng.choice([1.0, 2.0, 3.5, 100.0])),
        str(rng.choice(["binary", "continuous", "integer", "power_of_two"])),
        [None, "min_max", "standard"][rng.integers(3)],
        **sizes,
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", LOSSES)
def test_models_are_those_of_the_twin(loss, seed):
    problem = random_problem([900 + seed, LOSSES[loss].number], loss)
    assert_equal_models(problem, random_rule(np.random.default_rng([seed, LOSSES[loss].number]), problem), WHERE)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    loss=st.sampled_from(sorted(LOSSES)),
    extreme=st.sampled_from([name for name in WHERE if "loops" not in name]),
    scale=st.sampled_from([1.0, 1e-30, 1e30, 1e-300, 1e300, 1e308]),
    infinite=st.booleans(),
    by_chance=st.booleans(),
    is_random=st.booleans(),
)
def test_random_models_are_those_of_the_twin(seed, loss, extreme, scale, infinite, by_chance, is_random):
    """Whatever the units of columns; infinities may cancel out, so that a sum has no value."""
    problem = random_problem(seed, loss)
    rng = np.random.default_rng(seed)
    problem.parameters["is_random"] = is_random
    if by_chance and problem.parameters["n_drawn"] is not None and LOSSES[loss].leaf == "newton":
        problem.parameters["by_chance"] = True
    is_number = np.array(problem.parameters["n_categories"]) == 0
    X = problem.X.astype(np.float64)
    with np.errstate(over="ignore"):
        X[:, is_number] *= scale
    if infinite:
        signs = rng.choice([-np.inf, np.inf], X.shape)
        X[:, is_number] = np.where(rng.random(X.shape) < 0.1, signs, X)[:, is_number]
    assert_equal_models(problem._replace(X=X), random_rule(rng, problem), [extreme])


def test_a_sum_is_found():
    """Where the target is a difference of two columns in equal units, one split by it is as good as many."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = (X[:, 0] > X[:, 1]).astype(float)
    problem = random_problem(0, "squared_error")
    problem.parameters.update(max_leaf_nodes=2, n_categories=np.zeros(2, int), ordinal=np.zeros(2, bool), max_features=4,
                              sample_weight=None, offset=None, n_drawn=None, max_bins=256, min_gain=0.0, max_depth=None,
                              min_samples_leaf=1, min_hessian=0.0, colsample_bytree=1.0, colsample_bylevel=1.0)  # fmt: skip
    twin = assert_equal_models(problem._replace(X=X, y=y), Rule(2), ["default"])
    assert any(len(node.terms) == 2 for trees in twin.rounds for tree in trees for node in inner_nodes(tree))


def test_rows_of_all_threads():
    """Of more rows than a thread codes at a time, all have their codes: raw predictions are those of the trees."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3)).astype(np.float32)
    y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(len(X))
    problem = random_problem(0, "squared_error")
    problem.parameters.update(FREE | dict(
        max_leaf_nodes=15, n_categories=np.zeros(3, int), ordinal=np.zeros(3, bool), max_features=6, sample_weight=None,
        offset=None, n_drawn=7000, max_bins=256, min_gain=0.0, max_depth=None,
    ))  # fmt: skip
    problem, raws = problem._replace(X=X, y=y), []
    for n_threads in (1, 3):
        more = {"X": X, "splitter": ObliqueSplitter()}
        booster = make_booster(problem, [0.0], n_threads=n_threads, more=more)
        trees = [booster.grow_iteration()[0] for _ in range(3)]
        raws.append(np.array(booster.raw_sums))
    assert np.array_equal(*raws)
    raw = np.zeros(len(X))
    for tree in trees:
        numbers = np.zeros(len(X), int)
        ends = np.concatenate([[0], np.cumsum(tree.payload_lengths)])
        payloads = dict(zip(np.flatnonzero(tree.feature >= 0).tolist(), zip(ends, ends[1:], strict=False), strict=True))
        for number, (begin, end) in payloads.items():
            here = numbers == number
            left = np.zeros(len(X), bool)
            threshold, missing_left, *terms = tree.payload_words[begin:end].view(np.float64)
            sums = np.zeros(len(X))
            for column, weight, _ in np.reshape(terms, (-1, 3)):
                sums += weight * X[:, int(column)].astype(float)
            left = sums <= threshold
            numbers[here] = np.where(left[here], number + 1, tree.right[number])
        values = np.zeros(len(tree.feature))
        values[tree.feature < 0] = tree.leaves[:, 2].copy().view(np.float64)
        raw += values[numbers]
    assert np.array_equal(raw, raws[0][0])
