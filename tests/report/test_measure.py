"""What predictions are judged by: scikit-learn's scores, under names for people."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import accuracy_score, average_precision_score, fbeta_score, make_scorer, max_error, r2_score

from dforest import RandomForestClassifier, RandomForestRegressor
from dforest.inspection.report.measure import Measure, average_precision

CLASSIFIER = RandomForestClassifier(3, random_state=0).fit(*load_iris(return_X_y=True))
REGRESSOR = RandomForestRegressor(3, random_state=0).fit(*load_diabetes(return_X_y=True))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.sampled_from([0.5, 1.0, 7.0])), min_size=1, max_size=30))
def test_average_precision(rows):
    true, probability, weight = (np.array(part) for part in zip(*rows, strict=True))
    prediction = np.column_stack([1 - probability / 5, probability / 5])
    if true.any():
        for weights in (None, weight):
            expected = average_precision_score(true, probability, sample_weight=weights)
            assert average_precision(true.astype(int), prediction, weights, 1) == pytest.approx(expected)
    else:
        assert average_precision(true.astype(int), prediction, None, 1) == 0


def test_usual_measures():
    random = np.random.RandomState(0)
    true, prediction, weight = random.randint(3, size=50), random.dirichlet([1, 1, 1], 50), random.rand(50)
    measure = Measure.usual(CLASSIFIER, None, None)
    expected = accuracy_score(true, prediction.argmax(axis=1), sample_weight=weight)
    assert measure(true, prediction, weight) == pytest.approx(expected) and measure.name == "accuracy"
    assert measure.text(0.25) == "25.0%" and not measure.is_chosen
    measure, true = Measure.usual(REGRESSOR, None, None), random.rand(50)
    assert measure(true * 1e200, prediction[:, :1] * 1e200) == pytest.approx(r2_score(true, prediction[:, 0]))
    assert np.isnan(measure(true[:1], prediction[:1])) and measure.text(np.nan) == "not defined"


@pytest.mark.parametrize(
    ("scoring", "name", "is_error"),
    [
        ("roc_auc_ovr", "roc auc ovr", False),
        ("neg_log_loss", "log loss", True),
        ("f1_macro", "f1 macro", False),
        (accuracy_score, "accuracy", False),
        (partial(fbeta_score, beta=2, average="macro"), "fbeta", False),
        (make_scorer(accuracy_score), "accuracy", False),
    ],
)
def test_measures_by_name(scoring, name, is_error):
    measure = Measure.named(CLASSIFIER, scoring)
    assert (measure.name, measure.is_error, measure.is_chosen) == (name, is_error, True)
    assert measure.shown(-0.5) == (0.5 if is_error else -0.5)
    true = np.arange(9) % 3
    right = measure(true, np.eye(3)[true], np.ones(9))
    assert right == pytest.approx(0 if is_error else 1, abs=1e-12)
    assert measure(true, np.eye(3)[(true + 1) % 3]) < right - 0.4


def test_errors_have_no_minus():
    measure = Measure.named(REGRESSOR, make_scorer(max_error, greater_is_better=False))
    assert not measure.takes_weights and measure.name == "max error"
    score = measure(np.array([1.0, 2]), np.array([[1.0], [5]]))
    assert score == -3 and measure.text(score) == "3"


def test_what_is_refused():
    with pytest.raises(ValueError, match="scoring='rok_auc' names no scorer; near it are 'roc_auc'"):
        Measure.named(CLASSIFIER, "rok_auc")
    with pytest.raises(ValueError, match=r"scoring=\['r2'\]; allowed are names"):
        Measure.named(REGRESSOR, ["r2"])
    with pytest.raises(ValueError, match="scoring='roc_auc' can't score y: multi_class"):
        Measure.named(CLASSIFIER, "roc_auc")(np.arange(3), np.eye(3))
    with pytest.raises(ValueError, match="scoring=.* returned 'good'; allowed are numbers"):
        Measure.named(CLASSIFIER, lambda true, predicted: "good")(np.arange(3), np.eye(3))
