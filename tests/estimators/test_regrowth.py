"""Trees of a forest grown again, alone: from their seeds, on the rows that they drew."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import dforest
from dforest.core.forest.assembly import NODE_ARRAYS

CLASSIFIERS = [dforest.RandomForestClassifier, dforest.ExtraTreesClassifier]
REGRESSORS = [dforest.RandomForestRegressor, dforest.ExtraTreesRegressor]


def arrays_of(tree):
    """The arrays of a single tree, with its leaves in their order."""
    forest = tree.forest_
    is_leaf = forest.feature < 0
    arrays = {name: getattr(forest, name) for name in NODE_ARRAYS if name != "link"}
    arrays["right"] = np.where(is_leaf, 0, forest.right_child)
    for name in ("leaf_draws", "leaf_weight", "leaf_value", "leaf_impurity"):
        table = getattr(forest, name)
        arrays[name] = table[forest.leaf_row[is_leaf]] if len(table) else table
    for name in ("inner", "payload_offsets", "payload_words", "weight_unit"):
        arrays[name] = getattr(forest, name)
    return arrays


def assert_same_trees(a, b, context=""):
    a, b = arrays_of(a), arrays_of(b)
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].tobytes() == b[name].tobytes(), (name, context)


def check_regrowth(forest, X, y, weight=None, trees=None):
    """Each tree, grown again alone, has the same bytes."""
    samples = forest.estimators_samples_
    for t in range(forest.forest_.n_trees) if trees is None else trees:
        rows = samples[t]
        again = clone(forest.estimators_[t])
        again.fit(X[rows], y[rows], None if weight is None else weight[rows])
        assert_same_trees(forest.estimators_[t], again, (t, forest))
        assert again.forest_.seeds.tolist() == [forest.estimators_[t].random_state]


def problem(seed, kind, n=300, p=6):
    """Ties, missing and infinite values, a constant column."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = np.round(3 * X[:, 2])
    X[rng.random((n, p)) < 0.05] = np.nan
    X[rng.random((n, p)) < 0.01] = np.inf
    X[:, 4] = 7.0
    y = np.nan_to_num(X[:, 0], posinf=3) + np.nan_to_num(X[:, 1], posinf=3) ** 2 + rng.standard_normal(n)
    if kind in CLASSIFIERS:
        return X, np.array(["no", "some", "most"])[np.digitize(y, [0.5, 1.5])]
    y[0] = [1e9, 1.0][seed % 2]  # one that only some trees draw, and that makes the scale of all rows
    return X, y


PARAMETERS = {
    "plain": {},
    "no bootstrap": {"bootstrap": False},
    "few draws": {"max_samples": 0.3, "min_samples_leaf": 0.02},
    "best first": {"max_leaf_nodes": 17, "min_samples_split": 5},
    "limits": {"max_depth": 5, "min_samples_leaf": 3, "min_weight_fraction_leaf": 0.01, "min_impurity_decrease": 1e-4},
    "pruned": {"ccp_alpha": 1e-3},
}


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_a_tree_is_grown_again_from_its_seed(kind, parameters):
    for seed in range(4):
        X, y = problem(seed, kind)
        parameters = {"bootstrap": True, "max_features": [0.5, None][seed % 2], **parameters}
        forest = kind(5, method="dense", random_state=seed, **parameters).fit(X, y)
        check_regrowth(forest, X, y)


@pytest.mark.parametrize("criterion", ["entropy", "poisson", "absolute_error"])
def test_by_all_criteria(criterion):
    kind = dforest.RandomForestClassifier if criterion == "entropy" else dforest.RandomForestRegressor
    for seed in range(3):
        X, y = problem(seed, kind)
        y = y if criterion == "entropy" else np.abs(y)
        check_regrowth(kind(4, method="dense", criterion=criterion, random_state=seed).fit(X, y), X, y)


@pytest.mark.parametrize("kind", [dforest.RandomForestClassifier, dforest.RandomForestRegressor])
def test_with_constraints_of_two_signs(kind):
    for seed in range(3):
        X, y = problem(seed, kind)
        y = y == "most" if kind in CLASSIFIERS else y
        check_regrowth(kind(4, method="dense", monotonic_cst=[1, 0, -1, 0, 0, 0], random_state=seed).fit(X, y), X, y)


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_with_weights_and_rows_of_weight_0(kind):
    """Real weights are shares of the largest one, so a tree is grown again to the bit if it drew that."""
    for seed in range(4):
        X, y = problem(seed, kind)
        rng = np.random.default_rng(seed)
        weight = rng.integers(0, 4, len(y)) if seed % 2 else rng.uniform(0.5, 1, len(y)) * (rng.random(len(y)) < 0.9)
        forest = kind(5, method="dense", bootstrap=True, random_state=seed).fit(X, y, weight)
        trees = [t for t, rows in enumerate(forest.estimators_samples_) if weight[rows].max() == weight.max()]
        assert len(trees) > (4 if seed % 2 else 1)
        check_regrowth(forest, X, y, weight, trees)
        samples = np.concatenate(forest.estimators_samples_)
        assert samples.dtype == np.int32 and (weight[samples] > 0).all() and samples.max() > (weight > 0).sum()


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {"no": 3, "most": 0.25}, {"some": 0}])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_weights_of_classes(class_weight, weighted):
    for seed in range(3):
        X, y = problem(seed, dforest.RandomForestClassifier)
        weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float) if weighted else None
        forest = dforest.RandomForestClassifier(4, method="dense", class_weight=class_weight, random_state=seed)
        forest.fit(X, y, weight)
        if isinstance(class_weight, dict) and 0 in class_weight.values():
            assert not np.isin(np.concatenate(forest.estimators_samples_), np.flatnonzero(y == "some")).any()
            continue  # the class is not among those drawn
        check_regrowth(forest, X, y, weight)


def test_after_a_warm_start_with_other_rows():
    X, y = problem(0, dforest.RandomForestRegressor)
    forest = dforest.RandomForestRegressor(3, method="dense", warm_start=True, random_state=4).fit(X, y)
    other, other_y = problem(1, dforest.RandomForestRegressor, n=180)
    weight = (np.arange(180) % 3 > 0) * 1.0
    forest.set_params(n_estimators=7).fit(other, other_y, weight)
    forest = pickle.loads(pickle.dumps(forest))
    check_regrowth(forest, X, y, trees=range(3))
    check_regrowth(forest, other, other_y, weight, trees=range(3, 7))
    whole = dforest.RandomForestRegressor(7, method="dense", random_state=4).fit(X, y)
    assert whole.forest_.seeds.tolist() == forest.forest_.seeds.tolist()


def test_seeds_are_numbers_that_random_state_takes():
    X, y = problem(0, dforest.RandomForestClassifier)
    forest = dforest.RandomForestClassifier(50, random_state=0, max_depth=1).fit(X, y)
    seeds = [tree.random_state for tree in forest.estimators_]
    assert len(set(seeds)) == 50 and all(type(seed) is int and 0 <= seed < 2**32 for seed in seeds)
    tree = dforest.DecisionTreeClassifier(random_state=2**32 - 1).fit(X, y)
    assert tree.forest_.seeds.tolist() == [2**32 - 1]
    drawn = [dforest.DecisionTreeClassifier(random_state=np.random.RandomState(k)).fit(X, y).forest_.seeds[0] for k in (5, 5, 6)]
    assert drawn[0] == drawn[1] != drawn[2]
