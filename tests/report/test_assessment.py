"""Figures of a report, against scikit-learn's or the slow way."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import precision_score, recall_score

from dforest import RandomForestClassifier, RandomForestRegressor
from dforest.inspection.report import assessment
from dforest.inspection.report.assessment import Thresholds, assess_classes, dependence, permuted, shown_classes
from dforest.inspection.report.findings import never_predicted
from dforest.inspection.report.measure import Measure
from dforest.inspection.report.rows import Rows


def rare_rows(n=3000, share=0.02):
    random = np.random.RandomState(0)
    probability = random.beta(1, 1 / share - 1, n)
    return (random.rand(n) < probability).astype(int), np.column_stack([1 - probability, probability])


def test_thresholds():
    true, probability = rare_rows()
    found = Thresholds.of(true == 1, probability[:, 1])
    for threshold in (0.005, 0.02, 0.1):
        taken = probability[:, 1] >= threshold
        expected = precision_score(true, taken), recall_score(true, taken), taken.sum()
        assert found.at(threshold) == pytest.approx(expected)
    assert found.at(1.0) is None
    f1 = 2 * found.precision * found.recall / (found.precision + found.recall).clip(1e-9)
    assert found.threshold[f1.argmax()] == found.best


def test_bins_of_a_rare_class_have_equally_many_expected():
    true, probability = rare_rows()
    quality = assess_classes(true, probability, ["no", "yes"], 1, 1)
    assert len(quality.stated) == 10 and (np.diff(quality.stated) > 0).all() and quality.stated[-1] > 0.08
    assert (np.abs(quality.stated - quality.observed) < 4 * quality.error + 0.01).all()
    assert dict(quality.figures)["Recall of yes"] == pytest.approx(recall_score(true, probability[:, 1] > 0.5))
    usual = assess_classes(true, probability, ["no", "yes"], 1, None)
    assert usual.thresholds is None and usual.stated[-2] < quality.stated[-2]


def test_equal_probabilities_share_a_bin():
    probability = np.repeat([0.0, 0.3], [90, 10])
    quality = assess_classes(np.zeros(100, int), np.column_stack([1 - probability, probability]), ["a", "b"], 1, None)
    np.testing.assert_allclose(quality.stated, [0, 0.3])


def test_classes_that_are_never_predicted():
    true = np.repeat([0, 1, 2], [90, 6, 4])
    probability = np.tile([0.8, 0.15, 0.05], (100, 1))
    probability[5] = 0.5, 0.42, 0.08
    quality = assess_classes(true, probability, list("abc"), None, None)
    assert never_predicted(quality, list("abc"), "forest") == (
        "The forest never predicts 2 of the classes: b, c. 10 rows of 100 have them."
    )
    probability[95] = 0, 0, 1
    said = never_predicted(assess_classes(true, probability, list("abc"), None, None), list("abc"), "model")
    assert said.startswith("The model never predicts the class b, though 6 of 100 rows (6.0%) have it")
    assert "the highest is 0.42." in said
    probability[91] = 0, 1, 0
    assert never_predicted(assess_classes(true, probability, list("abc"), None, None), list("abc"), "forest") is None


def test_more_rows_of_a_rare_class_are_permuted(monkeypatch):
    """Weights make up for them: importances are those of many rows, but for chance."""
    monkeypatch.setattr(assessment, "PERMUTED_ROWS", 1500)
    random = np.random.RandomState(0)
    X = random.normal(size=(8000, 3))
    y = (X[:, 0] + random.normal(scale=0.5, size=8000) > 2.6).astype(int)
    estimator = RandomForestClassifier(30, min_samples_leaf=5, random_state=0).fit(X[:4000], y[:4000])
    rows, measure = Rows(estimator, X[4000:], y[4000:]), Measure.usual(estimator, 1, "1")
    found = permuted(rows, measure, estimator.feature_importances_, 1)
    n_rare = (y[4000:] == 1).sum()
    assert found.n_rows == 1500 and found.n_more == n_rare - round(n_rare * 1500 / 4000) and not found.is_out_of_bag
    monkeypatch.setattr(assessment, "PERMUTED_ROWS", 4000)
    whole = permuted(rows, measure, estimator.feature_importances_, 1)
    assert whole.n_rows == 4000 and whole.n_more == 0
    assert np.abs(found.mean - whole.mean).max() < 0.15 < whole.mean[0] and found.mean.argmax() == 0


def test_of_many_features_some_are_permuted(monkeypatch):
    monkeypatch.setattr(assessment, "PERMUTED_FEATURES", 3)
    X, y = load_diabetes(return_X_y=True)
    X[:, 4] = 0  # no tree tests it
    estimator = RandomForestRegressor(10, random_state=0).fit(X, y)
    own = estimator.feature_importances_
    found = permuted(Rows(estimator, X[:200], y[:200]), Measure.usual(estimator, None, None), own)
    asked = np.argsort(-own)[:3]
    assert found.n_asked == 3 and np.isfinite(found.mean[asked]).all() and found.mean[4] == 0
    assert np.isnan(found.mean).sum() == 6


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_dependence(kind):
    """The slow way, value by value."""
    X, y = load_iris(return_X_y=True) if kind is RandomForestClassifier else load_diabetes(return_X_y=True)
    estimator = kind(10, random_state=0).fit(X, y)
    rows = Rows(estimator, X[:200], y[:200])
    shown = shown_classes(rows, None)
    for feature in range(3):
        found = dependence(rows, feature, shown)
        low, high = np.quantile(X[:200, feature], [0.05, 0.95])
        assert found.grid[[0, -1]].tolist() == [low, high] or np.array_equal(found.grid, np.unique(X[:200, feature]))
        for k, value in enumerate(found.grid):
            other = rows.X.copy()
            other[:, feature] = value
            each = getattr(estimator, "predict_proba", estimator.predict)(other).reshape(len(other), -1)
            np.testing.assert_allclose(found.mean[:, k], each.mean(axis=0), atol=1e-9)
            if kind is RandomForestRegressor:
                assert [found.low[k], found.high[k]] == np.quantile(each[:, 0], [0.1, 0.9]).tolist()


def test_dependence_of_the_class_that_is_looked_at():
    X, y = load_iris(return_X_y=True)
    estimator = RandomForestClassifier(10, random_state=0).fit(X, y == 2)
    rows = Rows(estimator, X, y == 2)
    one, other = (dependence(rows, 2, shown_classes(rows, positive)) for positive in (0, 1))
    np.testing.assert_allclose(one.mean, 1 - other.mean, atol=1e-12)
    np.testing.assert_allclose(one.low, 1 - other.high, atol=1e-12)


def test_dependence_on_the_commonest_labels():
    labels = np.repeat([f"label {k:02}" for k in range(20)], np.arange(1, 21))
    frame = pd.DataFrame({"label": pd.Categorical(labels)})
    estimator = RandomForestRegressor(3, random_state=0).fit(frame, np.arange(len(labels)) % 7)
    assert dependence(Rows(estimator, frame, None), 0, []).grid.tolist() == list(range(8, 20))
