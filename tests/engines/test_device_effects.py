"""Causal forests that a device grows are those of the processor, to the bit: by the strict stand-in of a device."""

import numpy as np
import pytest
from helpers.device_forests import TUNINGS, differences, standing_in, tuned
from helpers.host_device import strict_device
from helpers.treatments import random_forest, table
from sklearn.base import clone


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_causal_forests(seed):
    given, model = table(seed), random_forest(seed)
    if seed % 9 == 1:
        given["sample_weight"] = 10.0 ** np.random.default_rng(seed).uniform(-8, 0, len(given["y"]))
    one = clone(model).fit(**given)
    with standing_in(strict_device(n_threads=2, is_cpu=seed % 2 == 0)), tuned(TUNINGS[seed % len(TUNINGS)] | {"n_items": 1}):
        there = clone(model).set_params(device="sycl").fit(**given)
    assert there.fit_report_.n_trees == 12 and "df_add_moments" in str(there.fit_report_)
    assert not differences(there, one)
    np.testing.assert_array_equal(there.predict(), one.predict())
    np.testing.assert_array_equal(there.predict_interval(given["X"]), one.predict_interval(given["X"]))


@pytest.mark.filterwarnings("ignore")
def test_parameters_are_chosen():
    given = table(0)
    model = random_forest(0).set_params(min_samples_leaf="auto", n_estimators=100)
    with standing_in(strict_device()):
        there = clone(model).set_params(device="sycl").fit(**given)
    assert not differences(there, model.fit(**given))
    assert there.best_params_ == model.best_params_
