"""Boosted trees on a device: the models and predictions of the processor, to the bit."""

import numpy as np
import pytest
from helpers.boosted_fits import OwnSquares
from helpers.device_forests import differences, fit_there, standing_in
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRanker, HistGradientBoostingRegressor


@pytest.mark.parametrize("sizes", [{}, {"subtree_up_to": 0, "chunk": 50, "n_items": 7, "ahead": 4}])
@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor("squared_error", l2_regularization=0.5),
        HistGradientBoostingRegressor("poisson", max_leaf_nodes=None, max_depth=4),
        HistGradientBoostingRegressor("gamma", max_features=0.5),
        HistGradientBoostingRegressor("squared_error", monotonic_cst=[1, -1, 0, 1], min_samples_leaf=30),
        HistGradientBoostingRegressor("squared_error", categorical_features=[2], l1_regularization=0.1),
        HistGradientBoostingClassifier("exponential"),
        HistGradientBoostingClassifier("log_loss", early_stopping=True, n_iter_no_change=2),
    ],
    ids=lambda model: model.loss,
)
@pytest.mark.parametrize("weighting", ["none", "integers", "reals"])
def test_models_are_those_of_the_processor(device, model, sizes, weighting):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((700, 4)), 2)
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0]) + rng.standard_normal(700)
    y = np.exp(signal) if isinstance(model, HistGradientBoostingRegressor) else signal > 0
    if model.loss == "log_loss":
        y = np.digitize(signal, [-1, 0, 1])
    weight = {"none": None, "integers": rng.integers(1, 5, 700), "reals": rng.random(700) + 0.1}[weighting]
    model = clone(model).set_params(max_iter=5, max_bins=31, min_samples_leaf=5, random_state=0)
    here = clone(model).fit(X, y, weight)
    with standing_in(device):
        there = fit_there(model, X, y, weight, tuning=sizes)
        assert not differences(here, there)
        assert here.predict(X).tobytes() == there.predict(X).tobytes()
        assert here.apply(X).tobytes() == there.apply(X).tobytes()


@pytest.mark.parametrize("sizes", [{}, {"subtree_up_to": 0, "chunk": 50, "n_items": 7, "ahead": 4}])
def test_rows_drawn_by_class_and_by_query(device, sizes):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((5000, 3)), 1)
    y, qid = np.clip(np.round(X[:, 0] + 1), 0, 2).astype(int), rng.permutation(5000) // 9
    for model, told in (
        (HistGradientBoostingClassifier(subsample={0: 0.2, 2: 0.5}), {}),
        (HistGradientBoostingRanker(subsample=0.4, sampling="query"), {"qid": qid}),
    ):
        model.set_params(max_iter=3, early_stopping=False, random_state=0)
        here = clone(model).fit(X, y, **told)
        with standing_in(device):
            there = fit_there(model, X, y, tuning=sizes, **told)
            assert not differences(here, there)
            assert here.predict(X).tobytes() == there.predict(X).tobytes()


@pytest.mark.parametrize("n_items", [1, 7])
@pytest.mark.parametrize(
    ("model", "load"),
    [
        (HistGradientBoostingClassifier(max_iter=3), load_breast_cancer),
        (HistGradientBoostingClassifier(max_iter=3, loss="exponential"), load_breast_cancer),
        (HistGradientBoostingClassifier(max_iter=3), load_iris),
        *((HistGradientBoostingRegressor(loss, max_iter=3), load_diabetes) for loss in ("squared_error", "poisson", "gamma")),
        (HistGradientBoostingRegressor("tweedie", power=1.5, max_iter=3), load_diabetes),
        (HistGradientBoostingRegressor("quantile", quantile=0.3, max_iter=3), load_diabetes),
        (HistGradientBoostingRegressor("quantile", quantile=[0.1, 0.5, 0.9], max_iter=3), load_diabetes),
        (HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2), load_linnerud),
        (HistGradientBoostingRegressor(OwnSquares(), max_iter=3), load_diabetes),
    ],
)
def test_predictions_are_those_of_the_processor(device, tuning, model, load, n_items):
    rows, y = load(return_X_y=True)
    model = clone(model).fit(rows, y)
    names = [name for name in ("predict", "predict_proba", "decision_function") if hasattr(model, name)]
    expected = [getattr(model, name)(rows) for name in names]
    tuning["n_items"] = n_items
    model.set_params(device="sycl")
    before = device.n_launches
    with standing_in(device):
        found = [getattr(model, name)(rows) for name in names]
    assert device.n_launches > before
    for here, there in zip(expected, found, strict=True):
        assert (there.shape, there.dtype, there.tobytes()) == (here.shape, here.dtype, here.tobytes())


def test_a_name_chooses_the_device(device, where):
    X = np.arange(200.0).reshape(100, 2)
    model = HistGradientBoostingRegressor(max_iter=2, random_state=0)
    there = clone(model).set_params(device=where).fit(X, X[:, 1])
    prediction = there.predict(X)
    assert there.fit_report_.device == device.name
    assert prediction.tobytes() == model.fit(X, X[:, 1]).predict(X).tobytes()
