"""Frames and other containers of rows."""

import numpy as np
import pandas as pd
import pytest

from dforest import DecisionTreeClassifier, RandomForestRegressor


def test_a_frame_over_unaligned_memory_can_be_predicted():
    """`predict` of a frame over a message or a mapped file, whose numbers begin at an odd address, raised an error about the type
    '=d', and so did all other methods, predictors, and fits with out-of-bag estimates."""
    X = np.zeros(6 * 8 + 1, np.uint8)[1:].view(np.float64).reshape(6, 1)
    X[:, 0] = [0, 1, 2, 3, 4, 5]
    forest = RandomForestRegressor(1, bootstrap=False).fit(pd.DataFrame(X, copy=False), X[:, 0] * 10)
    assert forest.predict(pd.DataFrame(X, copy=False)).tolist() == [0, 10, 20, 30, 40, 50]
    assert forest.forest_.predictor().predict(X).tolist() == [0, 10, 20, 30, 40, 50]


def test_class_weight_may_name_a_class_that_a_fold_lacks():
    """With TimeSeriesSplit, whose first folds may lack a class, ``class_weight={"a": 1, "b": 2, "c": 5}`` was refused."""
    X, y = np.array([[0.0], [0.0], [0.0]]), ["a", "b", "b"]
    model = DecisionTreeClassifier(class_weight={"a": 1, "b": 2, "c": 5}).fit(X, y)
    assert model.predict_proba(X[:1]).tolist() == [[1 / 5, 4 / 5]]
    with pytest.raises(ValueError, match="class_weight names the class 'B', but not 'b'"):
        DecisionTreeClassifier(class_weight={"a": 1, "B": 2}).fit(X, y)
