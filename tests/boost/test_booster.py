"""The compiled booster: whole models equal to those of the naive twin, to the bit, whatever the machinery does."""

import signal
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pytest
from helpers.boosted_fits import weights_of_many_magnitudes
from scipy.sparse import csr_array
from twins import sampling
from twins.boosting import flatten, grow_booster, predict_raw

from dforest.core import loops
from dforest.core.boost.booster import Booster
from dforest.core.boost.constraints import Constraints
from dforest.core.boost.preferences import Preferences
from dforest.core.boost.tried_columns import can_split
from dforest.core.coding import code_columns
from dforest.core.draws import Groups, Strata
from dforest.core.grow.trainer import tree_seeds
from dforest.core.integer_weights import integer_weights
from dforest.core.sampling import Bootstrap
from dforest.core.sparse_rows import SparseRows
from dforest.rules.losses import LOSSES
from dforest.testing import streams
from dforest.testing.coding import CATEGORICAL, CONTINUOUS, ORDINAL

ROUNDS = 4
SQUARES = LOSSES["squared_error"].number
PLAIN = dict(learning_rate=1.0, max_leaf_nodes=31, max_depth=None, min_samples_leaf=1, min_hessian=0.0, l2=0.0, max_features=1,
             seed=0, n_threads=1)  # fmt: skip
OF_CLASSES = ("log_loss", "focal", "exponential", "multinomial")

# Both extremes of each size in the machinery.
EXTREMES = {
    "default": {},
    "sums of single words": {"packed_sum_rows": 0},
    "sums of three words": {"packed_sum_rows": 3},
    "parts of a row": {"part_rows": 1, "n_threads": 5},
    "parts of a row, sums": {"part_rows": 1, "packed_sum_rows": 5, "n_threads": 3},
    "ranges of a row": {"partition_rows": 1, "chunk_rows": 1, "leaf_rows": 1, "n_threads": 2},
    "ranges of some rows": {"partition_rows": 7, "chunk_rows": 5, "leaf_rows": 3, "n_threads": 3},
    "nothing is subtracted": {"subtracts": False},
    "nothing is subtracted from sums": {"subtracts": False, "packed_sum_rows": 0, "part_rows": 4, "n_threads": 4},
    "seven threads": {"n_threads": 7},
    "portable loops": {"loops": "portable"},
    "AVX2 loops": {"loops": "avx2"},
    "ranges of a column": {"range_items": 1, "n_threads": 3},
    "ranges of a column, sums": {"range_items": 1, "n_threads": 2, "packed_sum_rows": 2},
    "no bundles": {"bundles": False},
    "a tree for each thread": {"by_tree": True, "n_threads": 3},
    "a tree for each thread, sums": {"by_tree": True, "n_threads": 2, "packed_sum_rows": 0, "sparse": True},
    "wide columns": {"narrow_codes": 3},
    "wide columns, sums": {"narrow_codes": 0, "packed_sum_rows": 0, "part_rows": 1, "partition_rows": 1, "n_threads": 3},
    "wide sparse columns": {"narrow_codes": 2, "sparse": True, "n_threads": 2},
    "lists": {"lists": True},
    "lists, sums": {"lists": True, "packed_sum_rows": 0, "part_rows": 1, "n_threads": 3},
    "sparse": {"sparse": True, "lists": False, "n_threads": 2},
    "sparse lists": {"sparse": True, "lists": True, "partition_rows": 1, "n_threads": 2},
    "sparse lists, sums of three words": {"sparse": True, "lists": True, "packed_sum_rows": 3},
    "bytes of digits": {"packed_rows": 0},
    "bytes of digits, sums": {"packed_rows": 0, "packed_sum_rows": 0, "part_rows": 1, "n_threads": 3},
    "bytes of digits, sums of three words": {"packed_rows": 0, "packed_sum_rows": 3, "n_threads": 2},
    "sparse bytes of digits": {"packed_rows": 0, "sparse": True, "lists": False, "by_tree": True, "n_threads": 2},
    "sparse, no bundles": {"sparse": True, "bundles": False, "subtracts": False},
}


class Problem(NamedTuple):
    """What a booster is grown from, with parameters as the twin has them."""

    X: np.ndarray
    y: np.ndarray
    parameters: dict


def targets(rng, loss, n):
    """Random targets that a loss allows."""
    if loss in OF_CLASSES:
        n_classes = 3 if loss == "multinomial" else 2
        y = rng.integers(0, n_classes, n)
        y[:n_classes] = range(n_classes)
        return y.astype(float)
    y = np.round(3.0 * rng.standard_normal(n), 1)
    if loss in ("poisson", "tweedie"):
        return np.append(np.abs(np.round(y[1:])), 1.0)
    if loss == "gamma":
        return np.abs(y) + 0.1
    if loss == "cross_entropy":
        return np.clip(y / 6.0 + 0.5, 0.0, 1.0)
    if rng.random() < 0.2:
        y[rng.integers(n)] = 1e9
    return y


def random_problem(seed, loss):
    """A random problem, with missing values or without, of all kinds of weights and limits."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 120)), int(rng.integers(1, 6))
    X = np.round(rng.standard_normal((n, p)), int(rng.integers(0, 3))).astype(rng.choice([np.float32, np.float64]))
    if rng.random() < 0.6:
        X = np.hstack([X, exclusive_columns(rng, n)], dtype=X.dtype)[:, rng.permutation(p + 3)]
        p += 3
    n_categories = np.where(rng.random(p) < 0.3, rng.integers(1, 80, p), 0) * (rng.random() < 0.6)
    for j in np.flatnonzero(n_categories):
        X[:, j] = np.minimum(rng.geometric(0.25, n), n_categories[j]) - 1
    if rng.random() < 0.5:
        X[rng.random((n, p)) < 0.2] = np.nan
    monotonic = rng.integers(-1, 2, p) * (n_categories == 0)
    if loss == "multinomial" or rng.random() < 0.5:
        monotonic = None
    groups = [set(np.flatnonzero(rng.random(p) < 0.5).tolist()) for _ in range(3)]
    interactions = [None, None, [{j} for j in range(p)], [{i, j} for i in range(p) for j in range(p)],
                    [*groups, set(range(p)) - set().union(*groups)]]  # fmt: skip
    weights = [None, None, rng.integers(1, 5, n) * 1.0, rng.random(n) + 0.1, np.full(n, 0.5), rng.integers(1, 2049, n) / 4]
    weight = weights[rng.integers(len(weights))]
    return Problem(X, targets(rng, loss, n), dict(
        loss=loss,
        n_classes=3 if loss == "multinomial" else 2,
        learning_rate=float(rng.choice([0.1, 0.5, 1.0])),
        max_leaf_nodes=rng.choice([None, 2, 5, 31]),
        max_depth=rng.choice([None, 1, 3]),
        min_samples_leaf=int(rng.integers(1, 8)),
        min_hessian=float(rng.choice([0.0, 1e-3, 1.0])),
        l2_regularization=float(rng.choice([0.0, 0.5, 10.0])),
        max_features=float(rng.random() + 1e-9) if rng.random() < 0.3 else int(rng.integers(1, p + 1)),
        max_bins=int(rng.choice([256, 8])),
        quantile=float(rng.choice([0.25, 0.5, 0.9])),
        power=float(rng.choice([1.1, 1.5, 1.9])),
        fair_c=float(rng.choice([0.1, 1.0, 10.0])),
        focal_gamma=float(rng.choice([0.0, 0.5, 2.0])),
        start=[float(rng.standard_normal())] if loss == "focal" else None,
        sample_weight=weight,
        seed=int(rng.integers(2**63)),
        n_categories=n_categories,
        ordinal=(rng.random(p) < 0.2) & (n_categories == 0),
        monotonic=monotonic,
        interactions=interactions[rng.integers(len(interactions))],
        n_drawn=None if rng.random() < 0.5 else int(rng.integers(1, n + 1)),
        colsample_bytree=float(rng.choice([1.0, 1.0, 0.6])),
        colsample_bylevel=float(rng.choice([1.0, 1.0, 0.6])),
        l1_regularization=float(rng.choice([0.0, 0.0, 0.3, 3.0])),
        categorical_smoothing=float(rng.choice([10.0, 0.5, 100.0])),
        min_samples_category=int(rng.choice([10, 1, 25])),
        path_smooth=float(rng.choice([0.0, 0.0, 0.5, 20.0])),
        monotone_penalty=float(rng.choice([0.0, 0.0, 0.5, 2.5])),
        feature_costs=None if rng.random() < 0.7 else rng.choice([0.0, 0.1, 3.0], p).tolist(),
        min_gain=float(rng.choice([0.0, 0.0, 0.0, 0.05, 1.0, 1e30])),
        offset=rng.standard_normal((n, 3 if loss == "multinomial" else 1)) if rng.random() < 0.3 else None,
        one_tree=None if loss != "multinomial" else bool(rng.random() < 0.5),
    ))  # fmt: skip


def exclusive_columns(rng, n):
    """Three columns of which at most one is not 0 in most rows, or in all."""
    X = np.zeros((n, 3))
    here = rng.integers(-4, 3, n)
    X[here >= 0, here[here >= 0]] = np.round(rng.choice([1.0, 20.0]) * rng.standard_normal((here >= 0).sum()))
    X[rng.integers(0, n, 3), range(3)] = rng.choice([0.0, 1.0], 3)
    return X


def make_booster(problem, baselines, n_threads=1, loops=None, more=MappingProxyType({}), sparse=False, **tuning):
    """A compiled booster, which begins with the twin's baselines."""
    given = dict(problem.parameters)
    weight, loss, offset = given.pop("sample_weight"), given.pop("loss"), given.pop("offset", None)
    names = {"tweedie": "power", "fair": "fair_c", "focal": "focal_gamma"}
    parameters = {name: given.pop(name, None) for name in ("quantile", *names.values())}
    given.pop("start", None)
    columns = coded(problem, sparse)
    for name in ("max_bins", "n_categories", "ordinal"):
        del given[name]
    constraints = constraints_of(given.pop("monotonic"), given.pop("interactions"), len(columns))
    costs, penalty = given.pop("feature_costs", None), given.pop("monotone_penalty", 0.0)
    constraints = constraints._replace(costs=costs, monotone_penalty=penalty)
    if constraints.has_preferences:
        given["preferences"] = Preferences(len(columns), costs, penalty, constraints.directions)
    given["forced"] = forced_rows(given.pop("forced", None))
    can = can_split(columns)
    one_tree = given.pop("one_tree", None)
    given["one_tree"] = np.ndim(problem.y) == 2 if one_tree is None else one_tree
    tuning = {"thread_cells": 0} | tuning
    return Booster(columns, LOSSES[loss].number, problem.y, weight, l2=given.pop("l2_regularization"),
                   l1=given.pop("l1_regularization", 0.0), parameter=parameters[names.get(loss, "quantile")],
                   baseline=baselines, n_threads=n_threads, constraints=constraints, can_split=can, tuning=tuning,
                   **{"raw": None if offset is None else offset.T.copy()} | given | more)  # fmt: skip


def forced_rows(split):
    """Forced splits as the booster has them, from tuples in tuples."""
    rows = []

    def add(split):
        if split is None:
            return -1
        number = len(rows)
        rows.append(None)
        rows[number] = (*split[:2], add(split[2]), add(split[3]))
        return number

    add(split)
    return rows


def coded(problem, is_sparse=False):
    """The columns of a problem."""
    weight, max_bins, n_categories, ordinal = (
        problem.parameters[name] for name in ("sample_weight", "max_bins", "n_categories", "ordinal")
    )
    kinds = [CATEGORICAL if n > 0 else ORDINAL if is_ordinal else CONTINUOUS
             for n, is_ordinal in zip(n_categories, ordinal, strict=True)]  # fmt: skip
    weight = None if weight is None else integer_weights(weight).integers
    if is_sparse:
        X = SparseRows.of(csr_array(problem.X))
        return code_columns(X, max_bins, weight, kinds=kinds, n_categories=n_categories, max_stored=0.7)
    return list(code_columns(problem.X, max_bins, weight, kinds=kinds, n_categories=n_categories))


def constraints_of(monotonic, interactions, n_features):
    """Constraints as the compiled booster has them. Lists of all sets of one or of two features have a form of their own."""
    directions = None if monotonic is None else np.array(monotonic, np.int8)
    if interactions is None:
        return Constraints(directions)
    for most in (1, 2):
        if {frozenset(group) for group in interactions} == {
            frozenset(group) for group in product(range(n_features), repeat=most)
        }:  # fmt: skip
            return Constraints(directions, most)
    groups = np.zeros((len(interactions), n_features), np.uint8)
    for row, group in zip(groups, interactions, strict=True):
        row[list(group)] = 1
    return Constraints(directions, 0, groups)


def assert_equal_trees(tree, wanted, dtype):
    """Whether a tree of the booster is the twin's."""
    wanted = flatten(wanted, dtype)
    for name in ("feature", "threshold", "right", "missing_left", "payload_lengths", "payload_words"):
        assert getattr(tree, name).tobytes() == wanted[name].astype(getattr(tree, name).dtype).tobytes(), name
    leaves = wanted["feature"] < 0
    assert np.array_equal(tree.leaves[:, 2:-1].copy().view(np.float64), wanted["values"][leaves])
    assert np.array_equal(tree.leaves[:, 0], wanted["n_rows"][leaves])
    assert np.array_equal(tree.inner, np.column_stack([wanted["values"], wanted["gain"]])[~leaves])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("loss", LOSSES)
def test_models_are_those_of_the_twin(loss, seed):
    assert_equal_models(random_problem([seed, LOSSES[loss].number], loss))


@pytest.mark.parametrize("loss", LOSSES)
def test_weighted_models_are_those_of_the_twin(loss):
    """Whatever a loss asks of all rows, such as quantiles of their errors, takes weights into account."""
    problem = random_problem([100, LOSSES[loss].number], loss)
    n, rng = 60, np.random.default_rng(0)
    X, y = np.round(rng.standard_normal((n, problem.X.shape[1])), 1), targets(rng, loss, n)
    parameters = problem.parameters | {
        "sample_weight": rng.choice([0.1, 1.0, 7.5], n), "min_hessian": 0.0, "max_leaf_nodes": 5, "max_depth": None,
        "n_categories": np.zeros(X.shape[1], int), "n_drawn": None, "offset": None,
    }  # fmt: skip
    assert_equal_models(Problem(X, y, parameters))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", LOSSES)
def test_models_of_weights_of_many_magnitudes(loss, seed):
    """Rows of some values of a feature are far lighter than others, so that nodes have exponents of their own."""
    rng = np.random.default_rng(seed)
    problem = random_problem([200 + seed, LOSSES[loss].number], loss)
    problem.parameters.update({
        "sample_weight": weights_of_many_magnitudes(rng, np.nan_to_num(problem.X[:, 0])),
        "min_hessian": float(rng.choice([0.0, 0.0, 1e-3])),
        "min_samples_leaf": 1, "max_depth": None, "max_leaf_nodes": rng.choice([None, 31]), "max_features": problem.X.shape[1],
    })  # fmt: skip
    assert_equal_models(problem)


def assert_equal_models(problem):
    plan = problem.parameters.get("sampling")
    twin_plan = {} if plan is None else {"sampling": sampling.twin_of(plan)}
    twin = grow_booster(problem.X, problem.y, max_iter=ROUNDS, **problem.parameters | twin_plan)
    assert np.array_equal(predict_raw(twin, problem.X, problem.parameters["offset"]), twin.raw)
    for name, extreme in EXTREMES.items():
        wanted = extreme.get("loops")
        loops.use(wanted if wanted in loops.names() else None)
        try:
            booster = make_booster(problem, twin.baselines, **extreme)
            for trees in twin.rounds:
                for tree, expected in zip(booster.grow_iteration(), trees, strict=True):
                    assert_equal_trees(tree, expected, problem.X.dtype)
        finally:
            loops.use()
        raw = booster.raw_sums + np.array(twin.baselines)[:, None]
        assert np.array_equal(raw.T, twin.raw), name


@pytest.mark.parametrize("is_constrained", [False, True])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "quantile", "poisson", "gamma", "tweedie", "log_loss", "exponential"]
)
def test_models_of_several_outputs_are_those_of_the_twin(loss, seed, is_constrained):
    """Whose leaves have a value for each, and bounds for each where predictions are constrained."""
    rng = np.random.default_rng([seed, is_constrained])
    problem, n_outputs = random_problem([300 + seed, LOSSES[loss].number], loss), int(rng.integers(2, 5))
    n, p = problem.X.shape
    scales = [1.0] if loss in OF_CLASSES else [1e-3, 1.0, 50.0]
    y = np.column_stack([targets(rng, loss, n) * rng.choice(scales) for _ in range(n_outputs)])
    is_number = problem.parameters["n_categories"] == 0
    problem.parameters.update({
        "monotonic": rng.choice([-1, 0, 1], p, p=[0.4, 0.2, 0.4]) * is_number if is_constrained else None,
        "offset": rng.standard_normal((n, n_outputs)) if rng.random() < 0.3 else None,
    })  # fmt: skip
    assert_equal_models(problem._replace(y=y))
    if LOSSES[loss].leaf == "newton":  # a tree for each, as that of a class against the rest
        assert_equal_models(problem._replace(y=y, parameters=problem.parameters | {"one_tree": False}))
    weight = weights_of_many_magnitudes(rng, np.nan_to_num(problem.X[:, 0]))
    problem.parameters.update({"sample_weight": weight, "min_hessian": 0.0, "min_samples_leaf": 1, "max_depth": None})
    assert_equal_models(problem._replace(y=y))
    problem.parameters.update({"sample_weight": None, "min_hessian": 30.0})  # which some outputs lack on a side, and others have
    assert_equal_models(problem._replace(y=y))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", [loss for loss in LOSSES if LOSSES[loss].leaf == "newton"])
def test_models_of_rows_drawn_by_chance_are_those_of_the_twin(loss, seed):
    problem = random_problem([700 + seed, LOSSES[loss].number], loss)
    rng, n = np.random.default_rng(seed), len(problem.y)
    problem.parameters.update({"by_chance": True, "n_drawn": max(1, int(n * rng.choice([0.01, 0.1, 0.5, 0.9])))})
    if seed == 0:
        problem.parameters["sample_weight"] = weights_of_many_magnitudes(rng, np.nan_to_num(problem.X[:, 0]))
    assert_equal_models(problem)
    if loss != "multinomial":
        y = np.column_stack([problem.y, targets(rng, loss, n)])
        problem.parameters.update({"offset": None, "monotonic": None, "start": None if loss != "focal" else [0.0, 0.5]})
        assert_equal_models(problem._replace(y=y))


def plan_of_classes(rng, n):
    """A plan that draws a share of the rows of each class, the last of which may have none."""
    stratum = rng.integers(0, 3, n).astype(np.uint32)
    known = np.bincount(stratum, minlength=4)
    return Strata(stratum, np.where(known > 0, np.maximum(1, (known * rng.random(4)).astype(np.int64)), 0), False)


def plan_of_groups(rng, n):
    """A plan that draws whole groups of rows, of which those of one may be anywhere."""
    number = rng.integers(0, rng.choice([2, 7, 40]), n) if rng.random() < 0.5 else np.arange(n) // 7
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first))[number].astype(np.uint32)
    return Groups(group, int(rng.integers(1, len(first) + 1)), False)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("plan_of", [plan_of_classes, plan_of_groups])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "log_loss", "multinomial"])
def test_models_of_rows_drawn_by_a_plan_are_those_of_the_twin(loss, plan_of, seed):
    problem = random_problem([1700 + seed, LOSSES[loss].number], loss)
    rng, n = np.random.default_rng(seed), len(problem.y)
    plan = plan_of(rng, n)
    problem.parameters.update({"sampling": plan, "n_drawn": plan.count_draws(n)})
    assert_equal_models(problem)


@pytest.mark.parametrize("plan_of", [plan_of_classes, plan_of_groups])
def test_many_rows_drawn_by_a_plan(plan_of):
    """Of more than one block of rows, on any number of threads."""
    problem = large_problem("squared_error", False)
    plan = plan_of(np.random.default_rng(0), len(problem.y))
    drawn = {"sampling": plan, "n_drawn": plan.count_draws(len(problem.y))}
    raw = []
    for n_threads in (1, 3):
        booster = make_booster(problem, [0.0], n_threads, more=drawn)
        roots = [booster.grow_iteration()[0].leaves[:, 0].sum() for _ in range(4)]
        expected = [plan.counts(len(problem.y), int(seed)).sum() for seed in tree_seeds(problem.parameters["seed"], range(4))]
        assert roots == expected
        raw.append(booster.raw_sums.tobytes())
    assert raw[0] == raw[1]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "log_loss", "multinomial", "poisson"])
def test_random_and_forced_cuts_are_those_of_the_twin(loss, seed):
    problem = random_problem([1100 + seed, LOSSES[loss].number], loss)
    rng, p = np.random.default_rng(seed), problem.X.shape[1]
    columns = coded(problem)
    of_numbers = [j for j in range(p) if problem.parameters["n_categories"][j] == 0 and len(columns[j].values) > 0]

    def forced(depth):
        if depth == 0 or not of_numbers or rng.random() < 0.2:
            return None
        j = int(rng.choice(of_numbers))
        return j, int(rng.integers(len(columns[j].values))), forced(depth - 1), forced(depth - 1)

    problem.parameters.update({"is_random": bool(seed % 3), "forced": forced(3), "one_tree": seed % 2 == 1})
    if loss != "multinomial":
        problem.parameters["one_tree"] = None
    assert_equal_models(problem)
    if loss in ("squared_error", "poisson"):
        y = np.column_stack([problem.y, targets(rng, loss, len(problem.y))])
        problem.parameters["offset"] = None
        assert_equal_models(problem._replace(y=y))


@pytest.mark.parametrize("seed", range(12))
def test_sketched_trees_are_those_of_the_twin(seed):
    """Whose splits are chosen by some directions in place of all classes."""
    problem = random_problem([900 + seed, 0], "multinomial")
    rng = np.random.default_rng(seed)
    n, n_classes = len(problem.y), int(rng.integers(4, 9))
    y = rng.integers(0, n_classes, n).astype(float)
    problem.parameters.update({
        "one_tree": True, "n_classes": n_classes, "n_directions": int(rng.integers(1, 4)), "monotonic": None,
        "offset": rng.standard_normal((n, n_classes)) if rng.random() < 0.3 else None,
    })  # fmt: skip
    if seed % 4 == 3:
        problem.parameters["sample_weight"] = weights_of_many_magnitudes(rng, np.nan_to_num(problem.X[:, 0]))
    elif seed % 4 == 2:
        problem.parameters["sample_weight"] = rng.integers(1, 2049, n) / 7 * (1 + rng.random(n))  # no integers
    assert_equal_models(problem._replace(y=y))


@pytest.mark.parametrize("n_categories", [64, 128, 256])
def test_categories_that_fill_words(n_categories):
    """Without missing values: where these go is where rare categories go."""
    rng = np.random.default_rng(n_categories)
    problem = random_problem([600, n_categories], "squared_error")
    n, p = 400, problem.X.shape[1]
    X = np.minimum(rng.geometric(0.08, (n, p)), n_categories) - 1
    y = rng.standard_normal(n_categories)[X[:, 0]] + rng.standard_normal(n)
    problem.parameters.update({
        "n_categories": np.full(p, n_categories), "ordinal": np.zeros(p, bool), "monotonic": None, "max_features": p,
        "offset": None, "sample_weight": None, "n_drawn": None, "min_samples_leaf": 1, "max_depth": None,
        "max_leaf_nodes": 9, "max_bins": 256,
    })  # fmt: skip
    assert_equal_models(Problem(X.astype(problem.X.dtype), y, problem.parameters))


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma", "tweedie"])
def test_models_of_targets_of_many_magnitudes(loss, seed, n_outputs):
    """Few rows have most of what gradients or Hessians add up to, so that nodes without them have exponents of their own."""
    rng = np.random.default_rng([seed, n_outputs])
    problem = random_problem([500 + seed, LOSSES[loss].number], loss)
    X = np.tile(problem.X, (1 + 150 // len(problem.X), 1))
    n, p = X.shape
    y = np.column_stack([targets(rng, loss, n) for _ in range(n_outputs)])
    far = rng.random(n) < rng.choice([0.0, 0.01, 0.05])
    far[rng.integers(n)] = True
    y[far] = (np.abs(y[far]) + 1.0) * 10.0 ** rng.integers(2, 13, (far.sum(), n_outputs))
    y[rng.integers(n)] += rng.choice([0.0, 1e3])
    X[far, 0] = np.nanmax(np.nan_to_num(X[:, 0]))      # so that splits can tell them
    problem.parameters.update({
        "sample_weight": [None, rng.integers(1, 5, n) * 1.0, None, rng.random(n) + 0.1][seed], "offset": None, "max_features": p,
        "n_drawn": None if seed else n // 2, "min_samples_leaf": int(rng.integers(1, 4)), "max_depth": None,
        "max_leaf_nodes": 31,
    })  # fmt: skip
    if n_outputs > 1:
        problem.parameters.update({"n_categories": np.zeros(p, int), "monotonic": None, "n_classes": 2})
    assert_equal_models(Problem(X, y if n_outputs > 1 else y[:, 0], problem.parameters))


@pytest.mark.parametrize("seed", range(12))
def test_several_outputs_of_columns_of_mostly_one_value(seed):
    """Whose default alone has many rows: words are enough for all nodes, or for none, by how many rows a word stands for."""
    rng = np.random.default_rng(seed)
    problem, n_outputs = random_problem([400 + seed, LOSSES["squared_error"].number], "squared_error"), int(rng.integers(2, 4))
    n, p = problem.X.shape
    X = np.stack([column_of_mostly_one_value(rng, n) for _ in range(p)], axis=1).astype(problem.X.dtype)
    y = np.nan_to_num(X[:, rng.integers(0, p, n_outputs)]) + rng.standard_normal((n, n_outputs))
    problem.parameters.update({
        "n_categories": np.zeros(p, int), "monotonic": None, "n_classes": 2, "offset": None, "min_samples_leaf": 1,
        "min_hessian": 0.0, "sample_weight": None if seed % 3 else rng.integers(1, 5, n) * 1.0, "max_features": p,
        "max_bins": 256, "colsample_bytree": 1.0, "colsample_bylevel": 1.0, "interactions": None,
    })  # fmt: skip
    assert_equal_models(Problem(X, y, problem.parameters))


def column_of_mostly_one_value(rng, n):
    """A column of 0, NaN in a few rows or in none, and other values of at most three rows each."""
    x = np.zeros(n)
    others = rng.permutation(n)[: rng.integers(0, max(2, n // 3))]
    x[others] = np.arange(len(others)) // 3 - rng.integers(0, 2)
    if rng.random() < 0.3:
        x[rng.permutation(n)[:2]] = np.nan
    return x


@pytest.mark.parametrize("loss", ["log_loss", "multinomial", "poisson", "gamma", "exponential"])
def test_wide_words_are_those_of_the_twin(loss):
    problem = random_problem([7, LOSSES[loss].number], loss)
    problem.parameters["sample_weight"] = None
    twin = grow_booster(problem.X, problem.y, max_iter=ROUNDS, words="wide", **problem.parameters)
    booster = make_booster(problem, twin.baselines, wide_packed_sums=True)
    for trees in twin.rounds:
        for tree, expected in zip(booster.grow_iteration(), trees, strict=True):
            assert_equal_trees(tree, expected, problem.X.dtype)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("by_tree", [False, True])
def test_signals_end_an_iteration(by_tree):
    problem = large_problem("multinomial", False, n=200_000)
    booster = make_booster(problem, np.zeros(4), n_threads=2, by_tree=by_tree)

    def interrupt(*_):
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(InterruptedError):
            while True:
                booster.grow_iteration()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def large_problem(loss, is_weighted, n_drawn=None, n=30_000, p=5, missing=0.3):
    """More rows than a word stands for, some of one code; with a long tail of targets, and the largest integer weights."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((n, p - 2)), rng.random(n) < 0.1, np.where(rng.random(n) < missing, np.nan, 1.0)])
    score = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, -2] + 0.3 * rng.standard_normal(n)
    if loss == "log_loss":
        y = (score > 0).astype(float)
    elif loss == "multinomial":
        y = np.searchsorted([-1.0, 0.0, 1.0], score).astype(float)
    else:
        y = np.exp(1.5 * score)
    return Problem(X, y, dict(
        loss=loss, n_classes=4, learning_rate=0.1, max_leaf_nodes=31, max_depth=None, min_samples_leaf=20, min_hessian=1e-3,
        l2_regularization=0.0, max_features=p, max_bins=256, quantile=0.9, seed=0, n_drawn=n_drawn,
        sample_weight=rng.integers(1900, 2049, n).astype(float) if is_weighted else None, n_categories=[0] * p,
        ordinal=[False] * p, monotonic=[1] + [0] * (p - 1) if loss in ("squared_error", "huber") else None, interactions=None,
    ))  # fmt: skip


@pytest.mark.parametrize("n_drawn", [None, 20_000])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "multinomial", "gamma", "huber", "mape"])
def test_many_rows_on_any_number_of_threads(loss, is_weighted, n_drawn):
    """No twin: it would take too long. Histograms are words in some nodes, sums in others, and both only at the extremes."""
    problem = large_problem(loss, is_weighted, n_drawn)
    assert_equal_at_extremes(problem, np.zeros(4 if loss == "multinomial" else 1))


@pytest.mark.parametrize("missing", [0.1, 0.3])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_many_rows_of_several_outputs(is_weighted, missing):
    """Columns of mostly one value, whose other values all have fewer rows than a word stands for, or have not."""
    problem = large_problem("squared_error", is_weighted, missing=missing)
    problem.parameters.update(monotonic=None)
    y = np.column_stack([problem.y, problem.X[:, -2] - problem.y, np.isnan(problem.X[:, -1])])
    assert_equal_at_extremes(problem._replace(y=y), np.zeros(3))


def assert_equal_at_extremes(problem, baselines):
    models = []
    extremes = [{"n_threads": n} for n in (1, 2, 3, 7)] + [{"packed_sum_rows": 0}, {"packed_sum_rows": 50}, {"subtracts": False}]
    extremes.append({"by_tree": True, "n_threads": 3})
    extremes += [{"bundles": False}, {"lists": True}, {"sparse": True, "n_threads": 2}, {"sparse": True, "lists": True}]
    extremes += [{"packed_rows": 0}, {"packed_rows": 0, "packed_sum_rows": 50, "n_threads": 2}]
    for extreme in extremes:
        booster = make_booster(problem, baselines, **extreme)
        trees = [tree for _ in range(3) for tree in booster.grow_iteration()]
        models.append([part for tree in trees for part in tree] + [booster.raw_sums])
    for model in models[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(models[0], model, strict=True))


@pytest.mark.parametrize("l2", [1e300, np.finfo(float).max])
def test_l2_beyond_all_sums(l2):
    problem = random_problem(5, "squared_error")
    problem.parameters.update(l2_regularization=l2, monotonic=None)
    twin = grow_booster(problem.X, problem.y, max_iter=1, **problem.parameters)
    assert_equal_trees(make_booster(problem, twin.baselines).grow_iteration()[0], twin.rounds[0][0], problem.X.dtype)


def test_few_values_get_few_threads():
    assert Booster.threads_for(1_400, 64, 16384) == 1
    assert Booster.threads_for(60_200, 64, 16384) == 3
    assert Booster.threads_for(60_200, 2, 16384) == 2
    assert Booster.threads_for(1_400, 64, 0) == 64


def test_rounds_go_on_from_raw_predictions():
    problem = random_problem(3, "log_loss")
    whole, first = (make_booster(problem, [0.25]) for _ in range(2))
    trees = [whole.grow_iteration() for _ in range(4)]
    for _ in range(2):
        first.grow_iteration()
    second = make_booster(problem, [0.25], more={"n_trees": 2, "raw": first.raw_sums.copy()})
    for wanted in trees[2:]:
        for a, b in zip(second.grow_iteration()[0], wanted[0], strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_each_round_draws_rows_of_its_own(n_threads):
    """Of several blocks. Leaves have the rows that are drawn, by a root alone all of them; all rows move on."""
    problem = large_problem("squared_error", False, n_drawn=5_000)
    problem.parameters["min_samples_leaf"] = 1
    booster, sums = make_booster(problem, [0.0], n_threads), np.zeros(30_000)
    columns = code_columns(problem.X, 256)
    for number in range(3):
        (tree,) = booster.grow_iteration()
        seed = streams.tree_seed(0, number)
        drawn = sampling.Subsample(5_000, seed).counts(30_000, seed) > 0
        leaves = leaves_of(tree, columns)
        assert np.array_equal(tree.leaves[:, 0], np.bincount(leaves[drawn])) and drawn.sum() == 5_000
        sums += tree.leaves[leaves, 2].copy().view(np.float64)
        assert np.array_equal(booster.raw_sums[0], sums)


def leaves_of(tree, columns):
    """The number of the leaf that each row reaches, leaves being numbered in preorder."""
    values = [np.append(column.values, np.nan)[column.codes] for column in columns]
    nodes = np.zeros(len(values[0]), np.intp)
    while (inner := tree.feature[nodes] >= 0).any():
        for row in np.flatnonzero(inner):
            node = nodes[row]
            x = values[tree.feature[node]][row]
            goes_left = tree.missing_left[node] if x != x else x <= tree.threshold[node]
            nodes[row] = node + 1 if goes_left else tree.right[node]
    return np.cumsum(tree.feature < 0)[nodes] - 1


def test_plans_that_can_not_be_drawn_by():
    columns = list(code_columns(np.arange(4.0)[:, None], 256))
    for plan, says in (
        (Bootstrap(4), r"sampling=Bootstrap\(n_draws=4\); allowed are plans that draw no row twice"),
        (Groups(np.arange(3, dtype=np.uint32), 2, False), "n_rows=4, but Groups.* says how 3 rows are drawn"),
    ):
        with pytest.raises(ValueError, match=says):
            Booster(columns, SQUARES, np.zeros(4), baseline=[0.0], n_drawn=2, sampling=plan, **PLAIN)


@pytest.mark.parametrize("n_drawn", [0, 5, -1])
def test_numbers_of_rows_that_can_not_be_drawn(n_drawn):
    columns = list(code_columns(np.arange(4.0)[:, None], 256))
    with pytest.raises(ValueError, match=f"n_drawn={n_drawn}; allowed are numbers from 1 to 4, the number of rows, and None"):
        Booster(columns, SQUARES, np.zeros(4), baseline=[0.0], n_drawn=n_drawn, **PLAIN)


def test_one_target_far_from_all_others():
    """Gradients have 31 bits where few rows have most of their sum: the others lose next to nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4))
    y = 5.0 * X[:, 0] + np.sin(4 * X[:, 1]) * 3.0
    others = np.arange(len(y)) != 17
    fits = []
    for far in (y[17], 1e9):
        shifted = y.copy()
        shifted[17] = far
        columns = code_columns(X, 256)
        more = {"learning_rate": 0.1, "min_hessian": 1e-3, "max_features": 4, "n_threads": 2}
        booster = Booster(list(columns), SQUARES, shifted, baseline=[0.0], **PLAIN | more)
        for _ in range(100):
            booster.grow_iteration()
        error = (booster.raw_sums[0] - y)[others]
        fits.append(1.0 - (error**2).sum() / ((y[others] - y[others].mean()) ** 2).sum())
    assert fits[0] > 0.98
    assert fits[1] > fits[0] - 0.005


def test_targets_beside_one_far_from_all_others():
    """Nodes without it have exponents of their own: half an integer of the root's stands for 465, of theirs for less than 3."""
    y = np.where(np.arange(200) < 100, -1.0, 1.0)
    y[-1] = 1e12
    columns = list(code_columns(np.arange(200.0)[:, None], 256))
    booster = Booster(columns, SQUARES, y, baseline=[y.mean()], **PLAIN | {"max_leaf_nodes": None})
    booster.grow_iteration()
    assert np.abs(y.mean() + booster.raw_sums[0] - y)[:-1].max() < 6.0
    booster.grow_iteration()
    assert np.abs(y.mean() + booster.raw_sums[0] - y)[:-1].max() < 1e-5


@pytest.mark.parametrize("n_rows", [1, 2])
def test_hardly_any_rows(n_rows):
    columns = code_columns(np.arange(float(n_rows))[:, None], 256)
    booster = Booster(list(columns), SQUARES, np.arange(float(n_rows)), baseline=[0.0], **PLAIN)
    booster.grow_iteration()
    assert np.array_equal(booster.raw_sums[0], np.arange(float(n_rows)))


@pytest.mark.parametrize("loss", [-1, len(LOSSES)])
def test_numbers_that_no_loss_has(loss):
    columns = list(code_columns(np.arange(4.0)[:, None], 256))
    with pytest.raises(ValueError, match=f"loss={loss}; allowed are numbers from 0 to {len(LOSSES) - 1}, and a Loss"):
        Booster(columns, loss, np.zeros(4), baseline=[0.0], **PLAIN)


def test_shapes_that_do_not_fit():
    columns = list(code_columns(np.arange(4.0)[:, None], 256))
    with pytest.raises(ValueError, match=r"raw has shape \(1, 3\) and baseline \(1,\); allowed are \(1, 4\) and \(1,\)"):
        Booster(columns, SQUARES, np.zeros(4), baseline=[0.0], raw=np.zeros((1, 3)), **PLAIN)
    with pytest.raises(ValueError, match=r"baseline \(2,\); allowed"):
        Booster(columns, SQUARES, np.zeros(4), baseline=[0.0, 1.0], **PLAIN)
    with pytest.raises(ValueError, match="column 0 has 70000 codes of 4 bytes; allowed are codes of two bytes"):
        Booster(list(code_columns(np.arange(70_000.0)[:, None])), SQUARES, np.zeros(70_000), baseline=[0.0], **PLAIN)
