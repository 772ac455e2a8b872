"""Trees of causal forests are those of the twin, and effects follow from moments as they should."""

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.effects import effects_of, grow_effects
from twins.naive import flatten
from twins.outputs import nodes_of
from twins.sampling import twin_of

from dforest import CausalForest
from dforest.core import loops
from dforest.core.effects import Moments, solved

KINDS = {
    "binary": (1, 1, False), "dose": (1, 1, False), "instrument": (1, 1, True), "arms": (1, 2, False), "doses": (2, 2, False),
    "instruments": (1, 2, True), "outcomes": (3, 1, False),
}  # fmt: skip


def table(kind, n, seed):
    """X with missing values and ties, outcomes, treatments, and instruments or None; all without expectations."""
    rng = np.random.default_rng(seed)
    M, K, is_instrumental = KINDS[kind]
    X = rng.normal(size=(n, 4)).round(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    known = np.nan_to_num(X)
    z = rng.normal(size=(n, K)).round(1)
    w = z + rng.normal(size=(n, K)) if is_instrumental else rng.normal(size=(n, K)).round(2) * 10.0 ** rng.integers(-3, 4)
    if kind == "binary":
        w = (rng.permutation(np.arange(n) % 2) == 1).astype(float)[:, None]
    if kind == "arms":
        w = (rng.permutation(np.arange(n) % 3)[:, None] == [1, 2]).astype(float)
    y = (w * known[:, :K]).sum(axis=1, keepdims=True) * np.ones(M) + rng.normal(size=(n, M))
    return X, y, w, z if is_instrumental else None


@given(
    kind=st.sampled_from(sorted(KINDS)),
    method=st.sampled_from(["hist", "dense"]),
    n=st.integers(4, 40),
    seed=st.integers(0, 1000),
    weights=st.sampled_from(["equal", "small", "large"]),
    stabilizes=st.booleans(),
    alpha=st.sampled_from([0.0, 0.05, 0.3]),
    penalty=st.sampled_from([0.0, 0.0, 0.01, 1.0]),
    loop_set=st.sampled_from(loops.names()),
    limits=st.fixed_dictionaries(
        {
            "max_features": st.sampled_from([None, 1, 2]),
            "min_samples_leaf": st.integers(1, 4),
            "max_depth": st.sampled_from([None, 3]),
            "min_samples_split": st.sampled_from([2, 10]),
        }
    ),
)
@settings(max_examples=examples(120), deadline=None)
@pytest.mark.filterwarnings("ignore:treatment")
def test_a_tree_is_that_of_the_twin(kind, method, n, seed, weights, stabilizes, alpha, penalty, loop_set, limits):
    X, y, w, z = table(kind, n, seed)
    rng = np.random.default_rng(seed)
    weight = {"equal": None, "small": rng.integers(1, 6, n) / 4, "large": rng.uniform(0.1, 1.0, n)}[weights]
    expected = {"y_hat": np.zeros(y.shape), "w_hat": np.zeros(w.shape), "z_hat": None if z is None else np.zeros(z.shape)}
    forest = CausalForest(
        1, method=method, max_samples=0.8, honest=False, ci_group_size=1, alpha=alpha, imbalance_penalty=penalty,
        stabilize_splits=stabilizes, random_state=seed, **limits,
    )  # fmt: skip
    loops.use(loop_set)
    try:
        forest.fit(X, y, w, z, weight, **expected)
    finally:
        loops.use()
    trees = forest.forest_
    limits["min_samples_leaf"] = min(limits["min_samples_leaf"], n)
    least = limits.pop("min_samples_leaf")
    kept = np.arange(n)
    centred = (None if own is None else own - np.average(own[kept], axis=0) for own in (y, w, z))
    moments = trees.objective.moments.of(*centred)
    tree = grow_effects(
        X, moments, KINDS[kind], method=method, alpha=alpha, imbalance_penalty=penalty, stabilizes=stabilizes,
        sample_weight=weight, seed=int(trees.seeds[0]), sampling=twin_of(trees.plans[0]), least=least,
        min_samples_leaf=least * (1 + stabilizes), **limits,
    )  # fmt: skip
    value = [node.value for node in nodes_of(tree)]
    for node in nodes_of(tree):
        node.value = np.nan
    twin = flatten(tree)
    leaf = trees.feature < 0
    np.testing.assert_array_equal(trees.feature, twin["feature"])
    np.testing.assert_array_equal(trees.threshold[~leaf], twin["threshold"][~leaf])
    np.testing.assert_array_equal(trees.missing_left, twin["missing_left"])
    np.testing.assert_array_equal(trees.leaf_weight[trees.leaf_row[leaf]], twin["weight"][leaf])
    own = np.array([v for v, is_leaf in zip(value, leaf, strict=True) if is_leaf])
    np.testing.assert_array_equal(trees.leaf_value[trees.leaf_row[leaf]], own)
    reached = own[np.searchsorted(np.flatnonzero(leaf), forest.apply(X)[:, 0])]
    effects, tells = map(np.array, zip(*(effects_of(mean, KINDS[kind]) for mean in reached), strict=True))
    found = forest.predict(X).reshape(n, *KINDS[kind][:2])  # outcomes, treatments
    np.testing.assert_allclose(found[tells], np.moveaxis(effects, 1, 2)[tells], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_first_order_changes_are_those_of_small_steps(kind):
    M, K, is_instrumental = KINDS[kind]
    moments, rng = Moments(M, K, is_instrumental), np.random.default_rng(0)
    own = moments.of(rng.normal(size=(50, M)), rng.normal(size=(50, K)), rng.normal(size=(50, K)) if is_instrumental else None)
    mean, step = own.mean(axis=0, keepdims=True), 1e-6
    effects = moments.effects(mean)
    for part in own[:5]:
        moved = (moments.effects(mean + step * (part - mean)) - effects) / step
        np.testing.assert_allclose(moments.linearised(mean, effects, part[None, None])[0, 0], moved[0], rtol=1e-3, atol=1e-3)


def test_small_systems_are_solved():
    rng = np.random.default_rng(0)
    for K in (1, 2, 3, 5):
        a, b = rng.normal(size=(20, K, K)), rng.normal(size=(20, K, 2))
        np.testing.assert_allclose(solved(a, b, np.zeros(20)), np.linalg.solve(a, b), rtol=1e-7)
        a[3] = 0.0
        assert np.isnan(solved(a, b, np.zeros(20))[3]).all()
