"""What a forest knows of itself, against the slow way over its trees."""

import hashlib
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

from dforest import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.core.forest.digest import digest_of
from dforest.inspection.report.facts import impurity_importance, parameters_of, sizes_of, weighted_quantiles

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
FORESTS = [
    (RandomForestClassifier(12, random_state=0), IRIS),
    (RandomForestRegressor(7, max_leaf_nodes=9, random_state=0), DIABETES),
    (ExtraTreesRegressor(3, min_samples_leaf=400, random_state=0), DIABETES),  # single leaves
]


@pytest.mark.parametrize(("model", "data"), FORESTS)
def test_sizes(model, data):
    model = clone(model).fit(*data)
    sizes = sizes_of(model.forest_)
    trees = [tree.tree_ for tree in model.estimators_]
    assert sizes.depth.tolist() == [tree.max_depth for tree in trees]
    assert sizes.n_leaves.tolist() == [tree.n_leaves for tree in trees]
    leaves = [tree.children_left == -1 for tree in trees]
    depths = np.concatenate([tree.compute_node_depths()[leaf] - 1 for tree, leaf in zip(trees, leaves, strict=True)])
    draws = np.concatenate([tree.n_node_samples[leaf] for tree, leaf in zip(trees, leaves, strict=True)])
    if model.bootstrap not in (False, "auto"):  # draws, not rows
        by_leaf = [model.forest_.tree(t) for t in range(len(model))]
        draws = np.concatenate([tree.leaf_draws[tree.leaf_row[tree.feature < 0]] for tree in by_leaf])
    assert sizes.leaves_by_depth.tolist() == np.bincount(depths).tolist()
    assert sizes.leaves_by_draws.tolist() == np.bincount(np.floor(np.log2(draws)).astype(int)).tolist()
    assert sizes.draws == np.quantile(draws, [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf").tolist()
    assert abs(sizes.n_leaves[sizes.typical_tree] - np.median(sizes.n_leaves)) == min(
        abs(sizes.n_leaves - np.median(sizes.n_leaves))
    )


def test_weighted_quantiles():
    random = np.random.RandomState(0)
    values, counts = random.permutation(20), random.randint(0, 4, 20)
    shares = [0.01, 0.3, 0.5, 0.99, 1]
    assert weighted_quantiles(values, counts, shares) == np.quantile(
        np.repeat(values, counts), shares, method="inverted_cdf"
    ).tolist()


@pytest.mark.parametrize(("model", "data"), FORESTS)
def test_importances_are_those_of_the_estimator(model, data):
    model = clone(model).fit(*data)
    mean, std = impurity_importance(model.forest_)
    assert np.array_equal(mean, model.feature_importances_)
    by_tree = np.array([tree.feature_importances_ for tree in model.estimators_])
    total = by_tree.mean(axis=0).sum() or 1
    np.testing.assert_allclose(std, by_tree.std(axis=0, ddof=1) / total, atol=1e-12)


def test_parameters_that_were_set():
    entries = parameters_of(RandomForestClassifier(n_estimators=7, class_weight={0: 2}, monotonic_cst=None))
    assert {name: text for name, text, _, differs in entries if differs} == {"n_estimators": "7", "class_weight": "{0: 2}"}
    assert len(entries) == len(RandomForestClassifier().get_params())


def test_a_digest_is_that_of_the_trees():
    model = RandomForestClassifier(5, random_state=3, n_jobs=1)
    digest = digest_of(model.fit(*IRIS).forest_)
    assert digest_of(pickle.loads(pickle.dumps(model)).forest_) == digest
    assert digest_of(clone(model).set_params(n_jobs=2).fit(*IRIS).forest_) == digest
    labels = np.array(["a", "b", "c"])[IRIS[1]]
    assert digest_of(clone(model).fit(IRIS[0], labels).forest_) == digest
    grown = clone(model).set_params(n_estimators=2, warm_start=True).fit(*IRIS).set_params(n_estimators=5).fit(*IRIS)
    assert digest_of(grown.forest_) == digest
    others = [{"random_state": 4}, {"n_estimators": 6}, {"max_depth": 2}, {"criterion": "entropy"}, {"max_samples": 149}]
    digests = {digest_of(clone(model).set_params(**other).fit(*IRIS).forest_) for other in others}
    assert len(digests | {digest}) == len(others) + 1


def test_a_digest_is_the_same_on_every_machine():
    """Of numbers that no machine rounds."""
    X = np.arange(32.0).reshape(16, 2) % 7
    model = RandomForestClassifier(2, random_state=0).fit(X, np.arange(16) % 3 == 0)
    assert digest_of(model.forest_) == "df8985da9eba98f0f055aeebfcd33a75c22660bd6572bb39cfc49a23b0b15d0e"
    assert len(digest_of(model.forest_)) == len(hashlib.sha256().hexdigest())
