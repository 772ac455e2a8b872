"""The digest of a fitted estimator tells models apart that predict differently, and no others."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import dforest
from dforest import (
    AutoForestClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSurvivalForest,
)

X, CLASSES = load_iris(return_X_y=True)
TIMES = np.array(list(zip(X[:, 0] > 5, X[:, 1], strict=True)), [("event", bool), ("time", float)])
MODELS = [
    (RandomForestClassifier(5, random_state=0), CLASSES),
    (RandomForestRegressor(5, random_state=0), X[:, 0]),
    (HistGradientBoostingClassifier(max_iter=3, random_state=0), CLASSES),
    (RandomSurvivalForest(5, random_state=0), TIMES),
    (IsolationForest(5, random_state=0), None),
]
ALL = pytest.mark.parametrize("model, y", MODELS, ids=lambda value: type(value).__name__)


@ALL
def test_equal_models_have_equal_digests(model, y, tmp_path):
    fitted = clone(model).fit(X, y)
    again = clone(model).set_params(n_jobs=2, verbose=0).fit(X, y)
    fitted.save(tmp_path / "model")
    for other in (again, pickle.loads(pickle.dumps(fitted)), dforest.load(tmp_path / "model")):
        assert other.digest() == fitted.digest()
    assert len(fitted.digest()) == 64


@ALL
def test_other_models_have_other_digests(model, y):
    fitted = [clone(model).set_params(random_state=seed).fit(X, y).digest() for seed in range(3)]
    assert len(set(fitted)) == 3


def test_labels_and_columns_count():
    pd = pytest.importorskip("pandas")
    model, frame = MODELS[0][0], pd.DataFrame(X, columns=list("abcd"))
    named = clone(model).fit(frame, CLASSES)
    found = {
        clone(model).fit(X, CLASSES).digest(),
        named.digest(),
        clone(model).fit(frame.rename(columns={"a": "e"}), CLASSES).digest(),
        clone(model).fit(frame, np.array(["x", "y", "z"])[CLASSES]).digest(),
    }
    assert len(found) == 4


def test_how_predictions_are_made_counts():
    soft = MODELS[0][0].fit(X, CLASSES)
    digest = soft.digest()
    assert soft.set_params(voting="hard").digest() != digest
    assert soft.set_params(voting="soft", n_jobs=2).digest() == digest
    boosted = HistGradientBoostingClassifier("exponential", max_iter=1, random_state=0).fit(X, CLASSES > 0)
    digest = boosted.digest()
    boosted._loss = HistGradientBoostingClassifier("log_loss", max_iter=1).fit(X, CLASSES > 0)._loss
    assert boosted.digest() != digest


def test_blends():
    model = AutoForestClassifier(5, members=["random_forest", "extra_trees"], random_state=0)
    one, two = clone(model).fit(X, CLASSES), clone(model).set_params(n_jobs=2).fit(X, CLASSES)
    assert one.digest() == two.digest()
    two.weights_ = np.full(len(two.weights_), 1 / len(two.weights_))
    assert one.digest() != two.digest()
