"""`tree_` of single trees: scikit-learn's names, and its numbers where the trees are the same."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier as PeerClassifier
from sklearn.tree import DecisionTreeRegressor as PeerRegressor
from sklearn.tree import export_graphviz

from dforest import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.inspection.interop import Tree

PEERS = {DecisionTreeClassifier: PeerClassifier, DecisionTreeRegressor: PeerRegressor}
TREES = pytest.mark.parametrize("kind", PEERS)
FORESTS = {DecisionTreeClassifier: RandomForestClassifier, DecisionTreeRegressor: RandomForestRegressor}

STRUCTURE = ["children_left", "children_right", "feature", "threshold", "n_node_samples"]
COUNTS = ["node_count", "capacity", "max_depth", "n_leaves", "n_features", "n_outputs", "max_n_classes"]


def data_of(kind, missing=False, seed=0):
    """Numbers that float32 holds too, of which no two cuts that matter are equally good."""
    random = np.random.RandomState(seed)
    X = random.normal(size=(2000, 6)).astype(np.float32).astype(np.float64)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * random.normal(size=2000)
    if missing:
        X[random.random_sample(X.shape) < 0.15] = np.nan
    y = np.digitize(signal, [-0.7, 0.7]) if kind is DecisionTreeClassifier else signal
    return X, y


def pair(kind, missing=False, weighted=False, seed=0, **parameters):
    """The same tree by dforest and by scikit-learn, and the data."""
    X, y = data_of(kind, missing, seed)
    weight = np.random.RandomState(1).randint(0, 7, len(y)) / 4 if weighted else None
    parameters = {"max_depth": 4, "min_samples_leaf": 50, "random_state": 0, **parameters}
    model = kind(method="dense", **parameters).fit(X, y, weight)
    peer = PEERS[kind](**parameters).fit(X, y, weight)
    return model, peer, X


CASES = pytest.mark.parametrize(
    "settings",
    [
        {},
        {"seed": 1, "max_depth": 2},
        {"weighted": True},
        {"missing": True},
        {"missing": True, "weighted": True, "seed": 2},
        {"max_depth": 1, "min_samples_leaf": 1},
        {"min_samples_split": 2001},
    ],
    ids=str,
)


@TREES
@CASES
def test_the_peers_arrays(kind, settings):
    model, peer, _ = pair(kind, **settings)
    tree, expected = model.tree_, peer.tree_
    for name in COUNTS:
        assert getattr(tree, name) == getattr(expected, name), name
    for name in ["n_classes", *STRUCTURE]:
        found, wanted = getattr(tree, name), getattr(expected, name)
        assert found.dtype == wanted.dtype, name
        np.testing.assert_array_equal(found, wanted, name)
    # Impurities of numbers come from targets in 31 bits.
    for name, rtol in {"impurity": 1e-7, "weighted_n_node_samples": 0, "value": 1e-9}.items():
        found, wanted = getattr(tree, name), getattr(expected, name)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), name
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-12, err_msg=name)
    assert tree.missing_go_to_left.dtype == expected.missing_go_to_left.dtype
    inner = tree.children_left >= 0
    np.testing.assert_array_equal(tree.missing_go_to_left[inner], expected.missing_go_to_left[inner])
    assert not tree.missing_go_to_left[~inner].any()


@pytest.mark.parametrize("criterion", ["entropy", "log_loss"])
def test_the_peers_entropy(criterion):
    model, peer, _ = pair(DecisionTreeClassifier, criterion=criterion, weighted=True)
    for name in STRUCTURE:
        np.testing.assert_array_equal(getattr(model.tree_, name), getattr(peer.tree_, name), name)
    np.testing.assert_allclose(model.tree_.impurity, peer.tree_.impurity, rtol=1e-9, atol=1e-12)


@TREES
@CASES
def test_the_peers_methods(kind, settings):
    model, peer, X = pair(kind, **settings)
    tree, expected, narrow = model.tree_, peer.tree_, X.astype(np.float32)
    np.testing.assert_allclose(tree.predict(X), expected.predict(narrow), rtol=1e-12)
    assert tree.predict(X).shape == expected.predict(narrow).shape
    for name in ["apply", "compute_node_depths"]:
        arguments = ((X,), (narrow,)) if name == "apply" else ((), ())
        found, wanted = (getattr(it, name)(*given) for it, given in zip((tree, expected), arguments, strict=True))
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype
    path, wanted = tree.decision_path(X), expected.decision_path(narrow)
    assert issparse(path) and type(path) is type(wanted) and path.dtype == wanted.dtype
    np.testing.assert_array_equal(path.toarray(), wanted.toarray())
    for normalize in (True, False):
        found, wanted = (it.compute_feature_importances(normalize=normalize) for it in (tree, expected))
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(tree.compute_feature_importances(), model.feature_importances_, rtol=1e-14)


@TREES
@pytest.mark.parametrize("method", ["hist", "dense"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_arrays_and_categories_lead_to_the_leaves(kind, method, missing):
    random = np.random.RandomState(0)
    codes = random.randint(8, size=500)
    codes[random.random_sample(500) < missing] = -1
    X = pd.DataFrame({"colour": pd.Categorical.from_codes(codes, list("abcdefgh")), "size": random.normal(size=500)})
    y = np.isin(codes, [-1, 1, 3, 6]) ^ (X["size"] > 0) ^ (random.random_sample(500) < 0.2)
    model = kind(method=method, max_depth=6, random_state=0).fit(X, y.astype(int))
    encoded = np.column_stack([np.where(codes < 0, np.nan, codes), X["size"]])
    tree, leaves = model.tree_, model.apply(X)
    np.testing.assert_array_equal(tree.apply(encoded), leaves)
    np.testing.assert_array_equal(np.isnan(tree.threshold), tree.feature == 0)
    assert np.isnan(tree.threshold).any()
    for x, leaf in zip(encoded, leaves, strict=True):
        node = 0
        while tree.children_left[node] != -1:
            value, categories = x[tree.feature[node]], tree.categories_left(node)
            if np.isnan(value):
                left = tree.missing_go_to_left[node]
            elif categories is None:
                left = value <= tree.threshold[node]
            else:
                left = value in categories
            node = (tree.children_left if left else tree.children_right)[node]
        assert node == leaf


@TREES
def test_a_tree_of_a_forest_counts_draws(kind):
    X, y = data_of(kind)
    forest = FORESTS[kind](n_estimators=3, random_state=0, max_depth=4).fit(X, y)
    for drawn, model in zip(forest.estimators_samples_, forest.estimators_, strict=True):
        tree = model.tree_
        passed = tree.decision_path(X[drawn]).sum(axis=0)
        np.testing.assert_array_equal(tree.n_node_samples, np.ravel(passed))
        np.testing.assert_array_equal(tree.weighted_n_node_samples, tree.n_node_samples)
        np.testing.assert_allclose(tree.compute_feature_importances(), model.feature_importances_)


def test_class_weights_are_in_the_weights():
    X, y = data_of(DecisionTreeClassifier)
    settings = {"max_depth": 3, "min_samples_leaf": 50, "class_weight": {0: 0.5, 1: 3, 2: 1}, "random_state": 0}
    tree = DecisionTreeClassifier(method="dense", **settings).fit(X, y).tree_
    expected = PeerClassifier(**settings).fit(X, y).tree_
    np.testing.assert_array_equal(tree.children_left, expected.children_left)
    np.testing.assert_allclose(tree.weighted_n_node_samples, expected.weighted_n_node_samples)
    np.testing.assert_allclose(tree.value, expected.value, atol=1e-15)


@TREES
def test_a_missing_value_against_the_rest(kind):
    X = np.array([[1.0], [1.0], [np.nan], [np.nan]])
    tree = kind(method="dense").fit(X, [0, 0, 1, 1]).tree_
    assert tree.threshold.tolist() == [np.inf, -2, -2]
    assert tree.apply(X).tolist() == [1, 1, 2, 2]


@TREES
def test_made_when_asked_for(kind):
    with pytest.raises(NotFittedError):
        _ = kind().tree_
    assert not hasattr(kind(), "tree_")
    X, y = data_of(kind)
    model = kind(max_depth=3).fit(X, y)
    assert "_tree" not in vars(model)
    tree = model.tree_
    assert isinstance(tree, Tree) and model.tree_ is tree
    model.set_params(max_depth=2).fit(X, y)
    assert model.tree_ is not tree and model.tree_.max_depth == 2
    assert tree.max_depth == 3
    assert not hasattr(clone(model), "tree_")


@TREES
def test_copies(kind):
    model, _, X = pair(kind, weighted=True, missing=True)
    tree = model.tree_
    models = pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
    assert not any("_tree" in vars(other) for other in models)
    for other in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree), *(other.tree_ for other in models)):
        assert other is not tree
        for name in [*STRUCTURE, "missing_go_to_left", "impurity", "weighted_n_node_samples", "value"]:
            np.testing.assert_array_equal(getattr(other, name), getattr(tree, name))
            assert not getattr(other, name).flags.writeable
        np.testing.assert_array_equal(other.predict(X), tree.predict(X))


@TREES
def test_nothing_can_be_changed(kind):
    model, _, _ = pair(kind)
    for name in [*STRUCTURE, "missing_go_to_left", "impurity", "weighted_n_node_samples", "value", "n_classes"]:
        with pytest.raises(ValueError, match="read-only"):
            getattr(model.tree_, name)[0] = 0


@TREES
@pytest.mark.parametrize(
    "X",
    [[[0.0] * 6], np.zeros(6), np.zeros((2, 6), int), csr_matrix((2, 6), dtype=int), np.zeros((2, 6), object)],
    ids=["list", "1-d", "integers", "sparse", "objects"],
)
def test_other_data_are_refused(kind, X):
    model, _, _ = pair(kind)
    for method in ("predict", "apply", "decision_path"):
        with pytest.raises(ValueError, match="allowed are two-dimensional arrays of float32 or float64"):
            getattr(model.tree_, method)(X)
        with pytest.raises(ValueError, match="X has 5 features"):
            getattr(model.tree_, method)(np.zeros((2, 5)))
        with pytest.raises(ValueError, match="X has 5 features"):
            getattr(model.tree_, method)(csr_matrix((2, 5)))


@TREES
def test_sparse_data(kind):
    model, _, X = pair(kind)
    for method in ("predict", "apply", "decision_path"):
        found, expected = (getattr(model.tree_, method)(rows) for rows in (csr_matrix(np.nan_to_num(X)), np.nan_to_num(X)))
        assert (found != expected).sum() == 0


@TREES
def test_the_peers_graphviz_export_takes_the_trees(kind):
    model, peer, _ = pair(kind, max_depth=2)
    assert export_graphviz(model) == export_graphviz(peer)
