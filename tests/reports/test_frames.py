"""Frames and other containers of rows."""

import numpy as np
import pandas as pd

from dforest import RandomForestRegressor


def test_a_frame_over_unaligned_memory_can_be_predicted():
    """`predict` of a frame over a message or a mapped file, whose numbers begin at an odd address, raised an error about the type
    '=d', and so did all other methods, predictors, and fits with out-of-bag estimates."""
    X = np.zeros(6 * 8 + 1, np.uint8)[1:].view(np.float64).reshape(6, 1)
    X[:, 0] = [0, 1, 2, 3, 4, 5]
    forest = RandomForestRegressor(1, bootstrap=False).fit(pd.DataFrame(X, copy=False), X[:, 0] * 10)
    assert forest.predict(pd.DataFrame(X, copy=False)).tolist() == [0, 10, 20, 30, 40, 50]
    assert forest.forest_.predictor().predict(X).tolist() == [0, 10, 20, 30, 40, 50]
