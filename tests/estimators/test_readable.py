"""Numbers at any address, in any byte order, that nobody may write: every method reads them as it reads others."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from dforest import (
    DecisionTreeRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
NUMBERS = X[:, 0] + X[:, 1] ** 2
CLASSES = (NUMBERS > 0.5).astype(np.int64)
WEIGHT = RNG.uniform(0.5, 2, len(X))


def unaligned(array):
    """A copy that begins in the middle of a word."""
    found = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    assert not found.flags.aligned
    return found


def swapped(array):
    return array.astype(array.dtype.newbyteorder())


def swapped_twice(array):
    """The machine's byte order, but named as little or big instead of as the machine's."""
    found = swapped(array).byteswap().view(swapped(array).dtype.newbyteorder())
    assert found.dtype == array.dtype and found.dtype.byteorder in "<>"
    return found


def unwritable(array):
    found = array.copy()
    found.flags.writeable = False
    return found


def backwards(array):
    return array[::-1].copy()[::-1]


def unaligned_and_swapped(array):
    return unaligned(swapped(array))


LAYOUTS = pytest.mark.parametrize(
    "layout",
    [unaligned, swapped, swapped_twice, unwritable, backwards, unaligned_and_swapped],
    ids=lambda layout: layout.__name__,
)
BOXES = {
    "array": lambda array, layout: layout(array),
    "one block": lambda array, layout: pd.DataFrame(layout(array), copy=False),
    "columns": lambda array, layout: pd.DataFrame(
        {j: pd.Series(layout(np.ascontiguousarray(column)), copy=False) for j, column in enumerate(array.T)}, copy=False
    ),
}
METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function", "apply", "decision_path", "staged_predict",
           "shap_values", "shap_interaction_values", "score", "oob_importance", "predict_quantiles", "predict_interval",
           "proximities"]  # fmt: skip
MODELS = {
    "forest of classes": lambda: RandomForestClassifier(20, oob_score=True, variable_importance="mda_raw"),
    "forest of numbers": lambda: RandomForestRegressor(20, oob_score=True, keep_training_data=True),
    "tree": DecisionTreeRegressor,
    "boosted classes": lambda: HistGradientBoostingClassifier(max_iter=3),
    "boosted numbers": lambda: HistGradientBoostingRegressor(max_iter=3),
}


def said_by(model, X, y):
    """All that the methods of a fitted estimator return for some rows, as arrays by name."""
    found = {name: array for name, array in vars(model).items() if name.startswith("oob_") and isinstance(array, np.ndarray)}
    if hasattr(model, "conformalize"):
        model.conformalize(X, y)
    for name in filter(lambda name: hasattr(model, name), METHODS):
        arguments = {"predict_quantiles": (X, [0.5]), "score": (X, y), "oob_importance": (X, y)}.get(name, (X,))
        result = getattr(model, name)(*arguments)
        result = {"decision_path": lambda r: (r[0] if isinstance(r, tuple) else r).toarray(), "shap_values": lambda r: r.values,
                  "staged_predict": list, "oob_importance": lambda r: r.importances}.get(name, np.asarray)(result)  # fmt: skip
        found[name] = np.asarray(result)
    return found


@LAYOUTS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("name", MODELS)
def test_a_layout_changes_nothing(name, box, dtype, layout):
    """Neither in the fit, whose y and weights have the layout too, nor in any method."""
    y, values = CLASSES if "classes" in name else NUMBERS, X.astype(dtype)
    plain, odd = BOXES[box](values, np.array), BOXES[box](values, layout)
    expected = MODELS[name]().set_params(random_state=0).fit(plain, y, WEIGHT)
    model = MODELS[name]().set_params(random_state=0).fit(odd, layout(y), layout(WEIGHT))
    assert model.forest_.threshold.dtype == dtype
    want, got = said_by(expected, plain, y), said_by(model, odd, layout(y))
    assert want.keys() == got.keys()
    for method, array in want.items():
        assert np.array_equal(array, got[method], equal_nan=True), method


@LAYOUTS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictors_read_any_layout(layout, dtype):
    model = RandomForestRegressor(3, random_state=0).fit(X.astype(dtype), NUMBERS)
    predictor, expected = model.predictor(), model.predict(X.astype(dtype))
    assert np.array_equal(predictor.predict(np.ascontiguousarray(layout(X.astype(dtype)))), expected)
    rows = [np.ascontiguousarray(layout(row)) for row in X.astype(dtype)]
    assert [predictor.predict(row) for row in rows] == expected.tolist()


@LAYOUTS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_of_any_layout(layout, dtype):
    """Values, columns and starts."""
    dense = np.where(X > 0, X, 0).astype(dtype)
    plain = csr_array(dense)
    parts = plain.data, plain.indices, plain.indptr
    odd = csr_array(plain.shape)
    odd.data, odd.indices, odd.indptr = map(layout, parts)
    expected = RandomForestRegressor(20, oob_score=True, random_state=0).fit(dense, NUMBERS)
    model = RandomForestRegressor(20, oob_score=True, random_state=0).fit(odd, NUMBERS)
    assert model.forest_.threshold.dtype == dtype
    assert np.array_equal(model.oob_prediction_, expected.oob_prediction_, equal_nan=True)
    assert np.array_equal(model.predict(odd), expected.predict(dense))


@LAYOUTS
def test_groups_and_rows_held_out_of_any_layout(layout):
    groups = np.arange(len(X)) // 4
    forests = [RandomForestRegressor(3, bootstrap="group", random_state=0).fit(X, NUMBERS, groups=given)
               for given in (groups, layout(groups))]  # fmt: skip
    assert np.array_equal(forests[0].predict(X), forests[1].predict(X))
    given = [dict(X_val=box(X), y_val=box(NUMBERS), sample_weight_val=box(WEIGHT)) for box in (np.array, layout)]
    model = HistGradientBoostingRegressor(max_iter=5, early_stopping=True, random_state=0)
    boosted = [clone(model).fit(X, NUMBERS, **held_out) for held_out in given]
    assert np.array_equal(boosted[0].validation_score_, boosted[1].validation_score_)


def test_targets_wider_than_float64():
    """They become float64, if that holds them."""
    expected = DecisionTreeRegressor(random_state=0).fit(X, NUMBERS)
    assert np.array_equal(
        DecisionTreeRegressor(random_state=0).fit(X, NUMBERS.astype(np.longdouble)).predict(X), expected.predict(X)
    )
