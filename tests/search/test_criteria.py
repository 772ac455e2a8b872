"""Trees and forests by absolute error, Poisson deviance and squared error: against scikit-learn, and brute force."""

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.tree import DecisionTreeRegressor as PeerTree

from dforest import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor

METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
CRITERIA = pytest.mark.parametrize("criterion", ["absolute_error", "poisson", "squared_error"])
NUMBER_KINDS = pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor])


def problem(criterion, seed=0, n=400):
    """X and, by poisson, sums of y without rounding. With the seeds below, no two best cuts are worth the same."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 5)) * 1024) / 1024
    y = np.exp(X[:, 0] + X[:, 1] ** 2 / 2 + rng.standard_normal(n) / 2)
    if criterion == "poisson":
        y = np.where(rng.random(n) < 0.5, 0, np.round(y * 1024) / 1024)
    return X, y, rng.integers(1, 900, n) / 8


def impurity(criterion, y, weight):
    """By numpy alone; integer weights."""
    if criterion == "absolute_error":
        y = np.repeat(y, weight)
        return np.abs(y - np.median(y)).mean()
    mean = np.average(y, weights=weight)
    if criterion == "poisson":
        return np.average(xlogy(y, y / mean), weights=weight)
    return np.average((y - mean) ** 2, weights=weight)


def value(criterion, y, weight):
    return np.median(np.repeat(y, weight)) if criterion == "absolute_error" else np.average(y, weights=weight)


# Trees against scikit-learn's


@CRITERIA
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", [0, 2, 11])  # two cuts of the same median are often worth the same without weights
def test_trees_are_scikit_learns(criterion, weighted, seed):
    """Nodes have the tests, places, members, values and impurities that scikit-learn's have."""
    X, y, weight = problem(criterion, seed)
    weight = weight if weighted else None
    parameters = {"criterion": criterion, "min_samples_leaf": 10, "random_state": 0}
    ours = DecisionTreeRegressor(method="dense", **parameters).fit(X, y, weight)
    theirs = PeerTree(**parameters).fit(X, y, weight)
    a, b = ours.tree_, theirs.tree_
    assert a.node_count > 50
    for name in ("children_left", "children_right", "feature", "threshold", "n_node_samples"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_allclose(a.weighted_n_node_samples, b.weighted_n_node_samples, rtol=1e-12)
    np.testing.assert_allclose(a.value, b.value, rtol=1e-12)
    # Ours are of targets as integers of 31 bits.
    np.testing.assert_allclose(a.impurity, b.impurity, rtol=1e-6, atol=1e-9 * b.impurity[0])
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-6)


@CRITERIA
@pytest.mark.parametrize("weighted", [False, True])
def test_best_first_trees_are_scikit_learns(criterion, weighted):
    X, y, weight = problem(criterion)
    weight = weight if weighted else None
    parameters = {"criterion": criterion, "max_leaf_nodes": 12, "min_samples_leaf": 10, "random_state": 0}
    ours = DecisionTreeRegressor(method="dense", **parameters).fit(X, y, weight)
    theirs = PeerTree(**parameters).fit(X, y, weight)
    assert ours.get_n_leaves() == theirs.get_n_leaves() == 12
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


@CRITERIA
@pytest.mark.parametrize("limit", ["min_impurity_decrease", "ccp_alpha"])
def test_limits_on_impurity_are_in_units_of_the_target(criterion, limit):
    """As scikit-learn has them."""
    X, y, weight = problem(criterion)
    impurity = PeerTree(criterion=criterion).fit(X, y, weight).tree_.impurity[0]
    sizes = []
    for share in (0.003, 0.01, 0.05):
        parameters = {"criterion": criterion, limit: share * impurity, "min_samples_leaf": 10, "random_state": 0}
        ours = DecisionTreeRegressor(method="dense", **parameters).fit(X, y, weight)
        theirs = PeerTree(**parameters).fit(X, y, weight)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
        sizes.append(ours.get_n_leaves())
    assert sizes[0] > sizes[1] > sizes[2] > 1


# Nodes against brute force


def members(model, t, X):
    """Which rows of X, with repetition, each node of tree t was grown on: (rows, mask by node)."""
    rows = model.estimators_samples_[t] if hasattr(model, "estimators_") else np.arange(len(X))
    tree = model.estimators_[t] if hasattr(model, "estimators_") else model
    return tree, rows, tree.decision_path(X[rows]).toarray().astype(bool)


@CRITERIA
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (DecisionTreeRegressor, {}),
        (DecisionTreeRegressor, {"max_leaf_nodes": 40}),
        (RandomForestRegressor, {"n_estimators": 2, "max_depth": 6}),
        (ExtraTreesRegressor, {"n_estimators": 2, "max_leaf_nodes": 40}),
    ],
)
def test_nodes_are_what_their_members_say(kind, parameters, criterion, weighted):
    """Value and impurity of every node, by numpy from the draws that pass it; importances from these."""
    X, y, _ = problem(criterion, n=150)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    weight = np.random.default_rng(2).integers(1, 5, len(y)) if weighted else np.ones(len(y), int)
    kinds = {"categorical_features": [3], "ordinal_features": [4]}
    X[:, 3] = np.round(X[:, 3] * 2)
    model = kind(criterion=criterion, method="dense", random_state=0, **kinds, **parameters).fit(X, y, weight)
    importances = []
    for t in range(model.forest_.n_trees):
        tree, rows, path = members(model, t, X)
        arrays, n = tree.tree_, tree.tree_.node_count
        of_y, of_weight = y[rows], weight[rows]
        values = [value(criterion, of_y[here], of_weight[here]) for here in path.T]
        impurities = np.array([impurity(criterion, of_y[here], of_weight[here]) for here in path.T])
        np.testing.assert_array_equal(arrays.n_node_samples, path.sum(axis=0))
        np.testing.assert_array_equal(arrays.weighted_n_node_samples, of_weight @ path)
        np.testing.assert_allclose(arrays.value[:, 0, 0], values, rtol=1e-12)
        np.testing.assert_allclose(arrays.impurity, impurities, rtol=1e-6, atol=1e-8 * impurities[0])
        inner = np.flatnonzero(arrays.feature >= 0)
        total = of_weight @ path * impurities
        decrease = total[inner] - total[arrays.children_left[inner]] - total[arrays.children_right[inner]]
        expected = np.bincount(arrays.feature[inner], decrease, X.shape[1]) / of_weight.sum()
        np.testing.assert_allclose(arrays.compute_feature_importances(normalize=False), expected, rtol=1e-6, atol=1e-9)
        importances.append(expected)
        assert n > 20
    shares = np.array(importances) / np.sum(importances, axis=1, keepdims=True)
    np.testing.assert_allclose(model.feature_importances_, shares.mean(axis=0), rtol=1e-6, atol=1e-9)
    if hasattr(model, "estimators_"):
        model.set_params(variable_importance="mdi").fit(X, y, weight)
        np.testing.assert_allclose(model.variable_importance_, np.mean(importances, axis=0), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
def test_each_split_is_the_best_of_all_thresholds(criterion):
    """In every node, by brute force over the members: no threshold and no side of the missing is better."""
    X, y, _ = problem(criterion, n=80)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    weight = np.random.default_rng(2).integers(1, 5, len(y))
    model = DecisionTreeRegressor(criterion=criterion, method="dense", random_state=0).fit(X, y, weight)
    _, _, path = members(model, 0, X)
    tree = model.tree_
    for node in range(tree.node_count):
        here = path[:, node]

        def decrease(left, y=y[here], weight=weight[here]):
            total = weight.sum() * impurity(criterion, y, weight)
            return total - sum(weight[s].sum() * impurity(criterion, y[s], weight[s]) for s in (left, ~left))

        best = -1.0
        for x in X[here].T:
            missing = np.isnan(x)
            for c in np.unique(x[~missing]):
                for left in (x <= c, (x <= c) | missing):
                    sides = [y[here][left], y[here][~left]]
                    if all(len(side) and (criterion != "poisson" or side.any()) for side in sides):
                        best = max(best, decrease(left))
        if tree.children_left[node] < 0:
            assert best < 0 or np.ptp(y[here]) == 0
        else:
            np.testing.assert_allclose(decrease(path[here, node + 1]), best, rtol=1e-7, atol=1e-7)


@NUMBER_KINDS
@METHODS
def test_leaves_predict_medians(kind, method):
    """Weighted ones; where the weight is halved between two targets, the middle of these."""
    model = kind(criterion="absolute_error", method=method, max_depth=1, random_state=0)
    if kind is not DecisionTreeRegressor:
        model.set_params(n_estimators=3, bootstrap=False)
    X = np.repeat([[0.0], [1.0]], 4, axis=0)
    y = np.array([1.0, 2, 4, 10, 101, 102, 103, 110])
    assert model.fit(X, y).predict([[0], [1]]).tolist() == [3, 102.5]
    assert model.fit(X, y, [1, 1, 2, 1, 5, 2, 2, 1]).predict([[0], [1]]).tolist() == [4, 101.5]
    assert model.fit(X, y, [0.1, 0.1, 0.1, 5, 1, 1, 1, 0]).predict([[0], [1]]).tolist() == [10, 102]


@NUMBER_KINDS
@METHODS
@pytest.mark.parametrize("max_leaf_nodes", [None, 20])
def test_no_leaf_of_zeros_by_poisson(kind, method, max_leaf_nodes):
    """Whatever the targets: its deviance from any later target would be infinite."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    for scale in (1.0, 1e-200, 1e200):
        y = np.where(rng.random(300) < 0.9, 0, rng.random(300) + 1e-3) * scale
        model = kind(criterion="poisson", method=method, max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, y)
        assert (model.forest_.leaf_value > 0).all() and len(model.forest_.leaf_value) > 5
        assert (model.predict(X) > 0).all()
        # There is a cut, but one side has no counts.
        root = kind(criterion="poisson", method=method, random_state=0).fit([[0.0], [1.0]] * 9, [0, scale] * 9)
        assert (root.forest_.feature < 0).all()


# Errors


@NUMBER_KINDS
@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"criterion": "poisson"}, [1, -0.5, 3], 'y holds -0.5; allowed with criterion="poisson" are numbers from 0'),
        ({"criterion": "poisson", "method": "dense"}, [-1, -1, -1], "y holds -1"),
        ({"criterion": "poisson"}, [0, 0, 0], 'criterion="poisson" needs a number above 0'),
        ({"criterion": "poisson", "method": "dense"}, [0.0, -0.0, 0.0], 'criterion="poisson" needs a number above 0'),
        ({"criterion": "gini"}, [1, 2, 3], "The 'criterion' parameter of .* must be one of"),
        ({"criterion": "mae"}, [1, 2, 3], "The 'criterion' parameter of .* must be one of"),
    ],
)
def test_refused(kind, parameters, y, message):
    """With a message that says what is allowed; the model stays as it was."""
    X = [[1], [2], [3]]
    model = kind(random_state=0).fit(X, [1, 2, 3])
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X, y)
    assert {**vars(model), "criterion": "squared_error", "method": before["method"]} == before


def test_only_rows_that_count_must_have_counts():
    """Zeros are all there is if the others have no weight."""
    X, y = [[1], [2], [3]], [0, 0, 5]
    model = DecisionTreeRegressor(criterion="poisson")
    with pytest.raises(ValueError, match="needs a number above 0"):
        model.fit(X, y, [1, 1, 0])
    assert model.fit(X, y, [1, 0, 1]).predict(X).tolist() == [2.5] * 3
