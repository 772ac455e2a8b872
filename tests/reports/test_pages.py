"""What pages and messages say."""

import numpy as np
from helpers.device_forests import standing_in
from helpers.host_device import strict_device

from dforest import DecisionTreeRegressor, HistGradientBoostingRegressor

X, Y = np.arange(12.0).reshape(-1, 2), np.arange(6.0)


def test_devices_predict_several_outputs_by_trees_of_the_processor():
    """The page about devices said that they do not."""
    with standing_in(strict_device()):
        several = DecisionTreeRegressor().fit(X, X)
        assert several.set_params(device="sycl").predict(X).tolist() == X.tolist()


def test_predictors_of_boosted_trees_return_raw_predictions():
    """The README said that they return probabilities or the mean."""
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=2, min_samples_leaf=1).fit(X, Y)
    raw = model.predictor().predict(X)
    np.testing.assert_allclose(np.exp(raw), model.predict(X))
