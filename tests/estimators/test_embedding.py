"""`RandomTreesEmbedding`: rows as the leaves that they reach."""

import numpy as np
import pandas as pd
import pytest
from helpers.device_forests import differences
from helpers.ranks import Cut, fit_by_ranks
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from dforest import ExtraTreeRegressor, ExtraTreesRegressor, RandomTreesEmbedding

X, Y = load_iris(return_X_y=True)
METHODS = pytest.mark.parametrize("method", ["hist", "dense"])


@METHODS
def test_columns_are_leaves(method):
    embedding = RandomTreesEmbedding(7, random_state=0, method=method).fit(X)
    found = embedding.transform(X)
    assert issparse(found) and found.dtype == np.float64
    expected = []
    for tree, leaf in zip(embedding.estimators_, embedding.apply(X).T, strict=True):
        leaves = np.flatnonzero(tree.tree_.children_left < 0)
        expected.append(leaf[:, None] == leaves)
    np.testing.assert_array_equal(found.toarray(), np.hstack(expected))
    assert found.sum(axis=1).tolist() == [[7.0]] * len(X)
    assert (found.sum(axis=0) > 0).all()


def test_dense_output_is_the_same():
    sparse, dense = (RandomTreesEmbedding(5, random_state=0, sparse_output=kind).fit_transform(X) for kind in (True, False))
    assert isinstance(dense, np.ndarray)
    np.testing.assert_array_equal(sparse.toarray(), dense)


def test_targets_are_not_looked_at():
    first, second = RandomTreesEmbedding(5, random_state=3).fit(X), RandomTreesEmbedding(5, random_state=3).fit(X, Y)
    np.testing.assert_array_equal(first.apply(X), second.apply(X))


def test_trees_are_extra_trees_of_random_targets():
    embedding = RandomTreesEmbedding(5, random_state=3).fit(X)
    y = np.random.RandomState(3).uniform(size=len(X))
    forest = ExtraTreesRegressor(5, random_state=3, max_depth=5, max_features=1, method="dense").fit(X, y)
    np.testing.assert_array_equal(embedding.apply(X), forest.apply(X))
    assert all(type(tree) is ExtraTreeRegressor for tree in embedding)


def test_all_features_are_drawn_equally_often():
    rng = np.random.default_rng(0)
    embedding = RandomTreesEmbedding(2000, max_depth=1, random_state=0).fit(rng.standard_normal((50, 4)))
    share = np.bincount(embedding.forest_.feature[embedding.forest_.node_offsets[:-1]], minlength=4) / 2000
    np.testing.assert_allclose(share, 0.25, atol=0.04)  # four standard deviations


def test_names_of_columns():
    frame = pd.DataFrame(X, columns=list("abcd"))
    embedding = RandomTreesEmbedding(3, max_depth=2, random_state=0).fit(frame)
    names = embedding.get_feature_names_out()
    expected = [
        f"randomtreesembedding_{t}_{node}"
        for t, tree in enumerate(embedding)
        for node in np.flatnonzero(tree.tree_.children_left < 0)
    ]
    assert names.tolist() == expected
    with pytest.raises(ValueError, match="input_features is not equal"):
        embedding.get_feature_names_out(list("abce"))
    table = clone(embedding).set_params(sparse_output=False).set_output(transform="pandas").fit_transform(frame)
    assert list(table.columns) == expected and table.shape == (150, len(expected))


def test_categories_and_missing_values():
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.array(["x", "y", "z"])[Y])})
    frame.loc[::7, "a"] = np.nan
    found = RandomTreesEmbedding(20, max_depth=3, random_state=0).fit_transform(frame)
    assert found.sum() == 20 * len(X)


def test_in_a_pipeline():
    model = make_pipeline(RandomTreesEmbedding(30, random_state=0), LogisticRegression(max_iter=1000))
    assert model.fit(X, Y).score(X, Y) > 0.95


def test_is_neither_classifier_nor_regressor():
    embedding = RandomTreesEmbedding(3)
    assert not is_classifier(embedding) and not is_regressor(embedding)
    assert not hasattr(embedding, "predict")
    with pytest.raises(ValueError, match="sparse_output"):
        embedding.set_params(sparse_output="yes").fit(X)


def test_ranks_without_a_seed_agree():
    rows = np.random.default_rng(0).standard_normal((120, 4))
    first, second = fit_by_ranks(RandomTreesEmbedding(4), rows, None, None, Cut(np.array([0, 50, 120]), np.arange(2)), 2)
    assert not differences(first, second)
