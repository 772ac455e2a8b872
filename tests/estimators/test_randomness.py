"""A Generator of NumPy is a `random_state`, of fits and of what else draws."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import dforest
from dforest import (
    AutoForestRegressor,
    DecisionTreeClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomTreesEmbedding,
)

X, y = load_iris(return_X_y=True)
MODELS = [
    DecisionTreeClassifier(max_features=1),
    RandomForestClassifier(3),
    HistGradientBoostingClassifier(max_iter=2, max_features=0.5),
    IsolationForest(3),
    RandomTreesEmbedding(3),
    AutoForestRegressor(3, members=["random_forest"]),
]
ALL = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def digests(model, random_state, n=2):
    model = clone(model).set_params(random_state=random_state)
    return [model.fit(X, y).digest() for _ in range(n)]


@ALL
def test_a_generator_goes_on(model):
    first = digests(model, np.random.default_rng(3))
    assert first[0] != first[1]
    assert digests(model, np.random.default_rng(3)) == first
    assert digests(model, np.random.default_rng(4)) != first


@pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_files_keep_where_a_generator_is(kind, tmp_path):
    model = RandomForestClassifier(3, random_state=np.random.Generator(getattr(np.random, kind)(5))).fit(X, y)
    model.save(tmp_path / "model")
    again, pickled = dforest.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))
    assert again.fit(X, y).digest() == pickled.fit(X, y).digest() == model.fit(X, y).digest()


def test_permutations_draw_from_it():
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    found = [model.oob_importance(X, y, random_state=np.random.default_rng(2)).importances for _ in range(2)]
    np.testing.assert_array_equal(*found)


def test_what_is_none_is_refused():
    with pytest.raises(ValueError, match="random_state.*Generator"):
        RandomForestClassifier(random_state="seed").fit(X, y)
