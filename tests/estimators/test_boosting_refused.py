"""What fits of boosted trees refuse: an error says what is wrong and what is allowed, and the estimator is as it was."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestRegressor

X_FEW, Y_FEW = load_iris(return_X_y=True)
NAN = np.where(Y_FEW > 1, np.nan, Y_FEW)
ONE_ROW = pytest.mark.filterwarnings("ignore:R.2 score is not well-defined with less than two samples")
ONE_CLASS = pytest.mark.filterwarnings("ignore:Only one class is present in y_true")
REFUSED = [
    ({"learning_rate": 0}, {}, "The 'learning_rate' parameter of HistGradientBoostingRegressor must be a float"),
    ({"loss": "deviance"}, {}, "The 'loss' parameter .* one of \"squared_error\", .* Got 'deviance'"),
    ({"max_bins": 65536}, {}, r"The 'max_bins' parameter .* in the range \[2, 65535\]. Got 65536"),
    ({"quantile": 1.5}, {}, r"The 'quantile' parameter .* in the range \[0.0, 1.0\], an array-like or None. Got 1.5"),
    ({"loss": "quantile"}, {}, 'quantile=None with loss="quantile"; allowed are numbers from 0 to 1'),
    ({"loss": "poisson"}, {"y": Y_FEW - 1}, 'y holds -1.0; allowed with loss="poisson" are numbers from 0'),
    ({"loss": "poisson"}, {"y": 0 * Y_FEW}, 'y is 0 everywhere; allowed with loss="poisson"'),
    ({"loss": "gamma"}, {}, 'y holds 0.0; allowed with loss="gamma" are numbers above 0'),
    ({}, {"y": Y_FEW * 1e300}, "y holds 2e\\+300; allowed are numbers up to"),
    ({}, {"y": NAN}, "Input y contains NaN"),
    ({}, {"sample_weight": np.zeros(150)}, "Sample weights must contain at least one non-zero number"),
    ({}, {"sample_weight": -np.ones(150)}, "Negative values in data passed to `sample_weight`: got -1.0"),
    ({}, {"offset": np.zeros(149)}, r"offset has the shape \(149,\); allowed is \(150,\)"),
    ({}, {"offset": np.zeros((150, 3))}, r"offset has the shape \(150, 3\); allowed is \(150,\)"),
    ({}, {"offset": NAN}, "Input offset contains NaN, or has no value: nan in row 100; every row needs a value"),
    ({}, {"offset": ["a"] * 150}, "offset holds what are no numbers: .*; allowed are finite numbers"),
    ({}, {"offset_val": np.zeros(150)}, "offset_val is given without X_val and y_val; allowed are all three"),
    ({}, {"offset": Y_FEW, "X_val": X_FEW, "y_val": Y_FEW}, "offset is given, but offset_val is not; allowed with X_val are"),
    ({}, {"offset_val": Y_FEW, "X_val": X_FEW, "y_val": Y_FEW}, "offset_val is given, but offset is not; allowed with X_val are"),
    ({}, {"offset": Y_FEW, "X_val": X_FEW, "y_val": Y_FEW, "offset_val": Y_FEW[1:]}, r"offset_val has the shape \(149,\)"),
    ({"loss": "tweedie", "power": 2.0}, {}, r"The 'power' parameter of .* in the range \(1.0, 2.0\). Got 2.0"),
    ({"loss": "tweedie"}, {"y": Y_FEW - 1}, 'y holds -1.0; allowed with loss="tweedie" are numbers from 0'),
    ({"scoring": [], "early_stopping": True}, {}, r"scoring=\[\]; allowed are a name, a callable and None, a list of"),
    ({"scoring": ["r2", "r2"], "early_stopping": True}, {}, r"scoring=\['r2', 'r2'\]; allowed are a name"),
    ({"scoring": ["r2", len], "early_stopping": True}, {}, r"scoring=\['r2', <built-in .*; allowed are a name"),
    ({"scoring": {"r": 1}, "early_stopping": True}, {}, r"scoring=\{'r': 1\}; allowed are a name"),
    ({"l1_regularization": -1.0}, {}, "The 'l1_regularization' parameter of .* must be a float in the range"),
    ({"categorical_smoothing": 0.0}, {}, "The 'categorical_smoothing' parameter of .* must be a float in the range"),
    ({"min_samples_category": 0}, {}, "The 'min_samples_category' parameter of .* must be an int in the range"),
    ({"colsample_bytree": 0.0}, {}, "The 'colsample_bytree' parameter of .* must be a float in the range"),
    ({"colsample_bylevel": 1.5}, {}, "The 'colsample_bylevel' parameter of .* must be a float in the range"),
    ({"subsample": 0.0}, {}, "The 'subsample' parameter of HistGradientBoostingRegressor must be a float in the range"),
    ({"subsample": 1.5}, {}, r"must be a float in the range \(0.0, 1.0\]. Got 1.5 instead"),
    ({"subsample": np.nan}, {}, "The 'subsample' parameter"),
    ({"learning_rate": 1e300}, {}, "learning_rate=1e\\+300 makes raw predictions leave the range of float64 within 3 iterations"),
    ({}, {"X_val": X_FEW}, "X_val is provided, but y_val was not provided; allowed are both or neither"),
    ({}, {"X_val": [X_FEW] * 2, "y_val": [Y_FEW] * 2}, "X_val, y_val or .*: X is a list of 2 tables; allowed is one: pandas"),
    ({}, {"X_val": [(X_FEW, Y_FEW)], "y_val": Y_FEW}, "X_val, y_val or .*: X is a list of 1 tables; allowed is one"),
    ({}, {"y_val": Y_FEW}, "y_val is provided, but X_val was not provided; allowed are both or neither"),
    ({}, {"sample_weight_val": np.ones(150)}, "sample_weight_val is given without X_val and y_val"),
    ({"early_stopping": False}, {"X_val": X_FEW, "y_val": Y_FEW}, "X_val and y_val are passed to fit while at the same time"),
    ({"loss": "gamma"}, {"y": Y_FEW + 1, "X_val": X_FEW, "y_val": Y_FEW}, "y holds 0.0; allowed with loss"),
    ({"early_stopping": True}, {"X_val": X_FEW[:, :2], "y_val": Y_FEW}, "X_val, y_val or .*: X has 2 features, but"),
    ({"early_stopping": True}, {"X_val": X_FEW[:9], "y_val": Y_FEW}, "X_val, y_val or .*: Found input variables with incons"),
    ({"early_stopping": True}, {"X_val": X_FEW, "y_val": NAN}, "X_val, y_val or .*: Input y contains NaN"),
    ({"early_stopping": True, "loss": "poisson"}, {"X_val": X_FEW, "y_val": -Y_FEW}, "X_val, y_val or .*: y holds -2.0; allowed"),
    ({"early_stopping": True}, {"X_val": X_FEW, "y_val": Y_FEW, "sample_weight_val": np.zeros(150)},
     "X_val, y_val or sample_weight_val: Sample weights must contain at least one non-zero number"),
    ({"early_stopping": True}, {"X_val": X_FEW, "y_val": Y_FEW, "sample_weight_val": np.full(150, 1e200)},
     r"sample_weight_val holds 1e\+200, .* allowed are weights up to"),
    ({"early_stopping": True, "validation_fraction": 150}, {},
     r"validation_fraction=150 of 150 rows can't be held out for early stopping: .*\. Give X_val and y_val"),
    ({"early_stopping": True, "validation_fraction": 0.9, "random_state": 1, "loss": "poisson"}, {"y": np.arange(150) == 0},
     "validation_fraction=0.9 of 150 rows can't be held out for early stopping: y is 0 everywhere; allowed"),
    ({"early_stopping": True}, {"X": X_FEW[:1], "y": Y_FEW[:1]}, "validation_fraction=0.1 of 1 rows can't be held out"),
    ({}, {"sample_weight": np.full(150, 1e200)}, r"sample_weight holds 1e\+200, .* allowed are weights up to"),
    ({}, {"sample_weight": NAN}, "Input sample_weight contains NaN"),
    ({}, {"sample_weight": np.ones(3)}, r"sample_weight.shape == \(3,\), expected \(150,\)"),
    ({"early_stopping": True, "scoring": lambda *_: "x"}, {},
     "scoring=<function .* returned 'x' for the 135 training rows; allowed are numbers other than NaN"),
    ({"early_stopping": True, "scoring": lambda _, X, y: np.nan if len(y) == 15 else 1.0}, {},
     "scoring=<function .* returned nan for the 15 validation rows; allowed are numbers other than NaN"),
    pytest.param(
        {"early_stopping": True, "scoring": "r2"},
        {"X_val": X_FEW[:1], "y_val": Y_FEW[:1]},
        "scoring='r2' returned nan for the 1 validation rows; allowed are numbers other than NaN",
        marks=ONE_ROW,
    ),
    pytest.param(
        {"early_stopping": True, "scoring": None, "validation_fraction": 1},
        {},
        "scoring=None returned nan for the 1 validation rows; allowed are numbers other than NaN",
        marks=ONE_ROW,
    ),
    *[
        ({"loss": loss, "quantile": quantile}, {}, r"The 'quantile' parameter .* \[0.0, 1.0\], an array-like or None. Got")
        for loss in ("quantile", "huber")
        for quantile in (-0.1, 1.1, np.nan)
    ],
]  # fmt: skip
REFUSED_WARM = [
    ({"warm_start": True, "max_iter": 4}, {"X": X_FEW[:, :3]}, "X has 3 features, but warm_start=True goes on with .* on 4"),
    ({"warm_start": True, "max_iter": 4}, {"X": np.tile(X_FEW, 2)}, "X has 8 features, but warm_start=True goes on with .* on 4"),
    ({"warm_start": True, "max_iter": 2}, {}, "max_iter=2 must be larger than or equal to n_iter_=3 when"),
    ({"warm_start": True, "max_iter": 4, "loss": "huber"}, {},
     "loss='huber' means huber of 0.9, but warm_start=True goes on with trees grown by squared_error"),
    ({"warm_start": True, "max_iter": 4, "categorical_features": [0]}, {},
     "X column 0 is categorical, but warm_start=True goes on with trees grown on it as continuous"),
]  # fmt: skip


def assert_refused(model, given, message):
    """The fit raises, and leaves all attributes, and what is predicted, as they were."""
    before = dict(vars(model))
    predicted = model.predict(X_FEW).tobytes() if "forest_" in before else None
    with pytest.raises(ValueError, match=message):
        model.fit(**{"X": X_FEW, "y": Y_FEW, **given})
    assert vars(model) == before
    if predicted is not None:
        assert model.predict(X_FEW).tobytes() == predicted


@pytest.mark.parametrize("is_fitted", [False, True])
@pytest.mark.parametrize(("parameters", "given", "message"), REFUSED)
def test_refused(parameters, given, message, is_fitted):
    model = HistGradientBoostingRegressor(max_iter=3, n_jobs=1, defaults="scikit-learn")
    if is_fitted:
        model.fit(X_FEW, Y_FEW)
    assert_refused(model.set_params(**parameters), given, message)


REFUSED_CLASSES = [
    ({"loss": "exponential"}, {}, 'loss="exponential" is for two classes, and y has 3; allowed are loss="log_loss" and'),
    ({}, {"sample_weight": np.zeros(150)}, "Sample weights must contain at least one non-zero number"),
    ({}, {"y": NAN}, "Input y contains NaN"),
    ({}, {"y": X_FEW[:, 0]}, "Unknown label type: continuous"),
    ({"class_weight": {7: 1.0}}, {}, "class_weight names the class 7, but not .*; the classes are"),
    ({"class_weight": {0: 1e200}}, {}, r"sample_weight holds 1e\+200, class weights included; allowed are weights up to"),
    ({"early_stopping": True}, {"X_val": X_FEW}, "X_val is provided, but y_val was not provided"),
    ({"early_stopping": True}, {"X_val": X_FEW[:0], "y_val": Y_FEW[:0]}, r"X_val, .*: Found array with 0 sample\(s\)"),
    ({"early_stopping": True}, {"X_val": X_FEW, "y_val": Y_FEW[:0]}, "X_val, y_val or sample_weight_val: "),
    ({"early_stopping": True}, {"X_val": X_FEW, "y_val": Y_FEW + 5},
     r"X_val, y_val or sample_weight_val: y holds 5; the classes are \[0, 1, 2\]"),
    ({"early_stopping": True, "validation_fraction": 0.01}, {},
     "validation_fraction=0.01 of 150 rows can't be held out for early stopping: 2 of n_samples=150 would be held out"),
    ({"early_stopping": True, "validation_fraction": 0.95}, {"X": X_FEW[:104], "y": Y_FEW[:104]},
     "validation_fraction=0.95 of 104 rows .*: no row of the class 2 would be left to train on"),
    ({"early_stopping": True}, {"X": X_FEW[:51], "y": Y_FEW[:51]},
     "validation_fraction=0.1 of 51 rows can't be held out for early stopping: the class 1 has one row; allowed are two"),
]  # fmt: skip
REFUSED_CLASSES += [
    pytest.param(
        {"early_stopping": True, "scoring": scoring},
        {"y": labels, "X_val": X_FEW[:30], "y_val": labels[:30]},
        message,
        marks=ONE_CLASS,
    )
    for scoring, labels, message in [
        ("roc_auc", Y_FEW > 0, r"scoring='roc_auc' returned nan for the 30 validation rows, which lack the classes \[True\]"),
        (
            "roc_auc_ovr",
            Y_FEW,
            r"scoring='roc_auc_ovr' returned nan for the 30 validation rows, which lack the classes \[1, 2\]",
        ),
        (
            "average_precision",
            Y_FEW,
            r"scoring='average_precision' can't score the 30 validation rows, which lack the classes \[1, 2\]: y should be",
        ),
    ]
]
REFUSED_WARM_CLASSES = [
    ({"warm_start": True, "max_iter": 4}, {"X": X_FEW[:, :3]}, "X has 3 features, but warm_start=True goes on with .* on 4"),
    ({"warm_start": True, "max_iter": 4}, {"y": np.minimum(Y_FEW, 1)},
     r"y has the classes \[0, 1\], but warm_start=True goes on with trees .* \[0, 1, 2\]"),
    ({"warm_start": True, "max_iter": 2}, {}, "max_iter=2 must be larger than or equal to n_iter_=3 when"),
]  # fmt: skip


@pytest.mark.parametrize("is_fitted", [False, True])
@pytest.mark.parametrize(("parameters", "given", "message"), REFUSED_CLASSES)
def test_refused_classes(parameters, given, message, is_fitted):
    model = HistGradientBoostingClassifier(max_iter=3, n_jobs=1, defaults="scikit-learn")
    if is_fitted:
        model.fit(X_FEW, Y_FEW)
    assert_refused(model.set_params(**parameters), given, message)


@pytest.mark.parametrize(
    ("estimator", "parameters", "given", "message"),
    [(HistGradientBoostingRegressor, *case) for case in REFUSED_WARM]
    + [(HistGradientBoostingClassifier, *case) for case in REFUSED_WARM_CLASSES],
)
def test_refused_warm_starts(estimator, parameters, given, message):
    assert_refused(estimator(max_iter=3).fit(X_FEW, Y_FEW).set_params(**parameters), given, message)


def test_refused_warm_starts_with_other_losses():
    two = HistGradientBoostingClassifier(max_iter=3, warm_start=True).fit(X_FEW, Y_FEW > 0)
    message = "loss='exponential' means exponential, but warm_start=True goes on with trees grown by log_loss"
    assert_refused(two.set_params(loss="exponential", max_iter=4), {"y": Y_FEW > 0}, message)
    model = HistGradientBoostingRegressor("quantile", quantile=0.5, warm_start=True, max_iter=3).fit(X_FEW, Y_FEW)
    message = "loss='quantile' means quantile of 0.25, but warm_start=True goes on with trees grown by quantile of 0.5"
    assert_refused(model.set_params(quantile=0.25, max_iter=4), {}, message)


@pytest.mark.parametrize("estimator", [HistGradientBoostingRegressor, RandomForestRegressor])
def test_refused_warm_starts_with_other_columns(estimator):
    """The number of columns alone does not say that they are the same."""
    frame = pd.DataFrame(X_FEW, columns=["a", "b", "c", "d"])
    count = "max_iter" if estimator is HistGradientBoostingRegressor else "n_estimators"
    model = estimator(warm_start=True, **{count: 2}).fit(frame, Y_FEW).set_params(**{count: 3})
    before = dict(vars(model))
    message = "column 1 of X is 'c', but warm_start=True goes on with trees grown on 'b'; allowed are 'a', 'b', 'c', 'd'"
    with pytest.raises(ValueError, match=message):
        model.fit(frame[["a", "c", "b", "d"]], Y_FEW)
    assert vars(model) == before
    assert model.fit(X_FEW, Y_FEW).forest_.n_trees == 3  # without names nobody knows


def test_rows_to_be_scored_may_be_0_everywhere():
    model = HistGradientBoostingRegressor("poisson", early_stopping=True, max_iter=2)
    model.fit(X_FEW, Y_FEW, X_val=X_FEW[:50], y_val=Y_FEW[:50])
    assert np.isfinite(model.validation_score_).all()
