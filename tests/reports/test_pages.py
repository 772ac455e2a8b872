"""What pages and messages say."""

import numpy as np
import pytest
from helpers.device_forests import standing_in
from helpers.host_device import strict_device
from scipy.sparse import csr_array

from dforest import DecisionTreeRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from dforest.callback import TimeLimit
from dforest.config import config_context
from dforest.spmd.threads import ThreadGroup

X, Y = np.arange(12.0).reshape(-1, 2), np.arange(6.0)


def refused(model, X, y):
    """What each of two ranks raises that fit together."""

    def fit(communicator):
        with config_context(communicator=communicator):
            model.fit(X[3 * communicator.rank : 3 * communicator.rank + 3], y[3 * communicator.rank : 3 * communicator.rank + 3])

    return {type(error) for error in ThreadGroup(2).run(fit)}


def test_what_several_processes_cannot_fit_is_refused_as_their_page_says():
    """The page left out sparse X, several outputs, kept training rows and callbacks, and named ValueError for all cases."""
    assert refused(RandomForestRegressor(1), csr_array(X), Y) == {TypeError}
    assert refused(RandomForestRegressor(1), X, X) == {ValueError}
    assert refused(RandomForestRegressor(1, keep_training_data=True), X, Y) == {ValueError}
    assert refused(RandomForestRegressor(1).set_callbacks(TimeLimit(60)), X, Y) == {ValueError}


def test_what_devices_cannot_fit_is_refused_as_their_page_says():
    """The page left out several outputs; a message showed ``criterion=AbsoluteError()`` for ``"absolute_error"``."""
    with standing_in(strict_device()):
        with pytest.raises(ValueError, match="a y of 2 columns is not supported for device='sycl'"):
            RandomForestRegressor(1, device="sycl").fit(X, X)
        with pytest.raises(ValueError, match="criterion='absolute_error' is not supported for device='sycl'"):
            DecisionTreeRegressor(criterion="absolute_error", device="sycl").fit(X, Y)
        several = DecisionTreeRegressor().fit(X, X)
        assert several.set_params(device="sycl").predict(X).tolist() == X.tolist()


def test_predictors_of_boosted_trees_return_raw_predictions():
    """The README said that they return probabilities or the mean."""
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=2, min_samples_leaf=1).fit(X, Y)
    raw = model.predictor().predict(X)
    np.testing.assert_allclose(np.exp(raw), model.predict(X))
