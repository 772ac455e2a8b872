"""Linear leaves of the compiled booster: trees, lines and raw predictions equal to those of the naive twin, to the bit."""

import numpy as np
import pytest
from boost.test_booster import EXTREMES, assert_equal_trees, make_booster, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.boosting import grow_booster, inner_nodes, predict_raw
from twins.linear_leaves import Line

from dforest.core import loops
from dforest.rules.losses import LOSSES

LOSSES_OF_STEPS = [name for name, facts in LOSSES.items() if facts.leaf == "newton"]
ROUNDS = 3
OF_STEPS = {"monotonic": None, "learning_rate": 0.1}  # with a higher rate, several rounds may lead beyond all numbers


def leaves_of(node):
    """The leaves of a tree of the twin, from left to right."""
    return [node] if node.feature < 0 else leaves_of(node.left) + leaves_of(node.right)


def words_of(line, n_terms):
    """What a leaf keeps of its line."""
    terms = line.terms + [(-1, 0.0, 0.0)] * (n_terms - len(line.terms))
    features, centres, slopes = (np.array(own) for own in zip(*terms, strict=True))
    bounds = [line.least, line.greatest] if line.terms else [0.0, 0.0]
    floats = [np.array(own, np.float64).view(np.int64) for own in (bounds, centres, slopes)]
    return np.concatenate([floats[0], features.astype(np.int64), floats[1], floats[2]])


def assert_equal_models(problem, n_terms, l2, extremes):
    twin = grow_booster(problem.X, problem.y, max_iter=ROUNDS, **problem.parameters, leaf_features=n_terms, linear_l2=l2)
    assert np.array_equal(predict_raw(twin, problem.X, problem.parameters["offset"]), twin.raw)
    for extreme in extremes:
        sizes = EXTREMES[extreme]
        wanted = sizes.get("loops")
        loops.use(wanted if wanted in loops.names() else None)
        try:
            more = {"X": np.ascontiguousarray(problem.X), "leaf_features": n_terms, "linear_l2": l2}
            booster = make_booster(problem, twin.baselines, more=more, **sizes)
            for trees in twin.rounds:
                for tree, expected in zip(booster.grow_iteration(), trees, strict=True):
                    n_words = tree.leaves.shape[1] - (2 + 3 * n_terms)
                    assert_equal_trees(tree._replace(leaves=tree.leaves[:, :n_words]), expected, problem.X.dtype)
                    lines = np.stack([words_of(leaf.line, n_terms) for leaf in leaves_of(expected)])
                    assert np.array_equal(tree.leaves[:, n_words:], lines)
            assert np.array_equal(booster.raw_sums.T + np.array(twin.baselines), twin.raw)
        finally:
            loops.use(None)
    return twin


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", LOSSES_OF_STEPS)
def test_models_are_those_of_the_twin(loss, seed):
    problem = random_problem([300 + seed, LOSSES[loss].number], loss)
    problem.parameters.update(OF_STEPS | {"one_tree": False if loss == "multinomial" else None})
    assert_equal_models(problem, 1 + 2 * seed, [0.0, 0.5, 10.0, 3.0][seed], EXTREMES)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    loss=st.sampled_from(LOSSES_OF_STEPS),
    n_terms=st.integers(1, 16),
    l2=st.sampled_from([0.0, 1e-6, 1.0, 1e6]),
    extreme=st.sampled_from([name for name in EXTREMES if "loops" not in name]),
    scale=st.sampled_from([1.0, 1e-30, 1e30, 1e-300, 1e300]),
    infinite=st.booleans(),
    by_chance=st.booleans(),
)
def test_random_models_are_those_of_the_twin(seed, loss, n_terms, l2, extreme, scale, infinite, by_chance):
    """Whatever the units of features; infinite values are none that a line looks at."""
    problem = random_problem(seed, loss)
    problem.parameters.update(OF_STEPS | {"one_tree": False if loss == "multinomial" else None})
    if by_chance and problem.parameters["n_drawn"] is not None:
        problem.parameters["by_chance"] = True
    rng = np.random.default_rng(seed)
    is_number = np.array(problem.parameters["n_categories"]) == 0
    X = problem.X.astype(np.float64)
    X[:, is_number] *= scale
    if infinite:
        X[:, is_number] = np.where(rng.random((len(X), is_number.sum())) < 0.1, np.inf, X[:, is_number])
    assert_equal_models(problem._replace(X=X), n_terms, l2, [extreme])


def test_lines_find_a_linear_function():
    """Without a penalty, one step of squared error finds slopes that there are, and no row adds more than training rows do."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 2))
    y = 3.0 * X[:, 0] - 2.0 * X[:, 1]
    names = ("squared_error", [1.0], None, 0, 0.0)
    given = dict(zip(("loss", "start", "max_depth", "l2_regularization", "min_hessian"), names, strict=True))
    twin = grow_booster(X, y, max_iter=1, learning_rate=1.0, max_leaf_nodes=8, leaf_features=2, **given)
    (tree,) = twin.rounds[0]
    assert len(inner_nodes(tree)) == 7
    for leaf in leaves_of(tree):
        slopes = {feature: slope for feature, _, slope in leaf.line.terms}
        if len(slopes) == 2:
            assert slopes == pytest.approx({0: 3.0, 1: -2.0}, rel=1e-4)
        assert leaf.line.value(leaf.values[0], [np.nan, 0.5]) in (leaf.values[0], leaf.line.value(leaf.values[0], [0.0, 0.5]))
        assert leaf.line.least <= leaf.line.value(leaf.values[0], [1e9, -1e9]) <= leaf.line.greatest


def test_opposite_infinities_add_the_least():
    line = Line(-1.0, 2.0, [(0, 0.0, 1e300), (1, 0.0, -1e300)])
    assert line.value(0.5, [1e300, 1e300]) == -1.0
    assert line.value(0.5, [np.inf, 1.0]) == 0.5


def test_arguments_are_checked():
    problem = random_problem(0, "squared_error")
    X = np.ascontiguousarray(problem.X)
    for more, message in (
        ({"X": X, "leaf_features": 0}, "n_terms=0; allowed are numbers from 1 to 16"),
        ({"X": X, "leaf_features": 17}, "n_terms=17; allowed are numbers from 1 to 16"),
        ({"X": X[1:], "leaf_features": 1}, "allowed are the"),
    ):
        with pytest.raises(ValueError, match=message):
            make_booster(problem, [0.0], more=more)
