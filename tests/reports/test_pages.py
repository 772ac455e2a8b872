"""What pages and messages say."""

import numpy as np
import pytest
from helpers.device_forests import standing_in
from helpers.host_device import strict_device

from dforest import DecisionTreeRegressor, HistGradientBoostingRegressor

X, Y = np.arange(12.0).reshape(-1, 2), np.arange(6.0)


def test_what_devices_cannot_fit_is_refused_as_their_page_says():
    """A message showed ``criterion=AbsoluteError()`` for ``"absolute_error"``."""
    with standing_in(strict_device()):
        with pytest.raises(ValueError, match="criterion='absolute_error' is not supported for device='sycl'"):
            DecisionTreeRegressor(criterion="absolute_error", device="sycl").fit(X, Y)
        several = DecisionTreeRegressor().fit(X, X)
        assert several.set_params(device="sycl").predict(X).tolist() == X.tolist()


def test_predictors_of_boosted_trees_return_raw_predictions():
    """The README said that they return probabilities or the mean."""
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=2, min_samples_leaf=1).fit(X, Y)
    raw = model.predictor().predict(X)
    np.testing.assert_allclose(np.exp(raw), model.predict(X))
