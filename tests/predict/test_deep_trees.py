"""A chain of 10,000 levels: nothing that goes down a tree may count on it being shallow."""

import copy
import pickle

import numpy as np
import pytest

from dforest import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, export_text, plot_tree

DEPTH = 10_000

pytestmark = pytest.mark.slow(after=1)


def alternating(n=DEPTH + 1):
    """Each cut takes off one row: of alternating classes, one pure row apart is worth most."""
    return np.arange(float(n))[:, None], np.arange(n) % 2


@pytest.fixture(scope="module", params=[(DecisionTreeClassifier, None), (DecisionTreeRegressor, DEPTH + 1)])
def chain(request):
    kind, max_leaf_nodes = request.param
    X, y = alternating()
    model = kind(method="dense", max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, y)
    assert model.get_depth() == DEPTH and model.get_n_leaves() == DEPTH + 1
    return model


def test_prediction(chain):
    X, y = alternating()
    np.testing.assert_array_equal(chain.predict(X), y)
    assert len(set(chain.apply(X))) == len(X)
    paths = chain.decision_path(X[[0, -1]])
    assert paths.sum() == chain.tree_.compute_node_depths()[chain.apply(X[[0, -1]])].sum() > DEPTH


def test_pickles_and_copies(chain):
    X, _ = alternating()
    for again in (pickle.loads(pickle.dumps(chain)), copy.deepcopy(chain)):
        np.testing.assert_array_equal(again.apply(X[::100]), chain.apply(X[::100]))


def test_tables_and_importances(chain):
    tree = chain.tree_
    assert tree.max_depth == DEPTH and tree.compute_node_depths().max() == DEPTH + 1
    assert tree.n_node_samples[0] == DEPTH + 1 and tree.impurity[0] > 0
    assert chain.feature_importances_.tolist() == [1.0]


def test_pruning(chain):
    X, y = alternating()
    alphas = chain.cost_complexity_pruning_path(X, y).ccp_alphas
    assert (np.diff(alphas) >= 0).all()
    assert chain.prune(X, 0 * y, inplace=False).tree_.node_count == 1
    cut = np.zeros(chain.tree_.node_count, bool)
    cut[np.flatnonzero(chain.tree_.compute_node_depths() == DEPTH - 4)] = True
    assert int(chain.forest_.cut_back(cut).depths().max()) <= DEPTH - 5


def test_text_and_picture(chain):
    text = export_text(chain, max_depth=50)
    assert text.count("truncated branch of depth") in (1, 2)
    pytest.importorskip("matplotlib").use("agg")
    assert len(plot_tree(chain, max_depth=3)) < 20


def test_estimates():
    X, y = alternating(2001)
    model = RandomForestClassifier(
        40, method="dense", oob_score=True, variable_importance="mda_raw", max_features=None, n_jobs=2, random_state=0
    ).fit(X, y)
    assert model.oob_decision_function_.shape == (2001, 2) and np.isfinite(model.variable_importance_).all()
