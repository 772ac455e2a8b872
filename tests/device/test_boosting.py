"""Boosted trees on a device: the models and predictions of the processor, to the bit."""

import numpy as np
import pytest
from helpers.device_forests import differences, fit_there, standing_in
from sklearn.base import clone

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor


@pytest.mark.parametrize("sizes", [{}, {"subtree_up_to": 0, "chunk": 50, "n_items": 7, "ahead": 4}])
@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor("squared_error", l2_regularization=0.5),
        HistGradientBoostingRegressor("poisson", max_leaf_nodes=None, max_depth=4),
        HistGradientBoostingRegressor("gamma", max_features=0.5),
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


def test_a_name_chooses_the_device(device, where):
    X = np.arange(200.0).reshape(100, 2)
    model = HistGradientBoostingRegressor(max_iter=2, random_state=0)
    there = clone(model).set_params(device=where).fit(X, X[:, 1])
    prediction = there.predict(X)
    assert there.fit_report_.device == device.name
    assert prediction.tobytes() == model.fit(X, X[:, 1]).predict(X).tobytes()
