"""The law of the error out of bag, and what is said of it."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from dforest import RandomForestRegressor
from dforest.inspection.report.curve import fit_trend
from dforest.inspection.report.findings import of_trees


def law(n_trees, limit=0.2, slope=0.5):
    return limit + slope / np.arange(1, n_trees + 1)


@pytest.mark.parametrize("scale", [1, 1e-30, 1e150])
def test_a_law_is_found_again(scale):
    trend = fit_trend(scale * law(80))
    assert trend.limit == pytest.approx(0.2 * scale) and trend.slope == pytest.approx(0.5 * scale)
    assert trend.spread <= 1e-12 * scale
    assert (trend.first, trend.last) == (21, 80)
    assert trend.at(160) == pytest.approx(scale * (0.2 + 0.5 / 160))
    assert trend.gain(80) == pytest.approx(scale * 0.5 / 160)


def test_the_first_quarter_and_unknown_errors_do_not_count():
    curve = law(80)
    curve[:20] = 17
    curve[[25, 60]] = np.nan
    assert fit_trend(curve).limit == pytest.approx(0.2)


def test_no_law_without_trees_or_errors():
    assert fit_trend(law(19)) is None and fit_trend(law(20)) is not None
    assert fit_trend(np.full(100, np.nan)) is None
    assert fit_trend(np.zeros(30)).slope == 0


def test_the_law_tells_what_more_trees_bring():
    """A forest's curve is foretold from half of it."""
    X, y = load_diabetes(return_X_y=True)
    for seed in range(5):
        curve = RandomForestRegressor(400, oob_score=True, random_state=seed).fit(X, y).oob_curve_
        trend = fit_trend(curve[:200])
        assert abs(trend.at(400) - curve[399]) < 3 * trend.chance(200) < 0.03 * curve[399]
        assert abs(curve[199] - curve[399] - trend.gain(200)) < 3 * trend.chance(200)


def test_chance_is_that_of_a_mean():
    random = np.random.RandomState(0)
    found, changes = [], []
    for _ in range(200):
        curve = law(200) + np.cumsum(random.normal(scale=0.1, size=200)) / np.arange(1, 201)
        trend = fit_trend(curve[:100])
        found.append(trend.chance(100))
        changes.append(curve[99] - curve[199] - 0.5 / 200)
    assert np.mean(found) == pytest.approx(0.1 / np.sqrt(200), rel=0.05)
    assert np.std(changes) == pytest.approx(0.1 / np.sqrt(200), rel=0.15)


@pytest.mark.parametrize(
    ("curve", "verdict"),
    [
        (law(100), "More trees would help"),
        (law(1000), "More trees would help very little"),
        (law(100, slope=0.01) + 0.01 * np.sin(np.arange(100)), "More trees are unlikely to help"),
        (law(100, slope=-0.5), "More trees are unlikely to help"),
        (law(10), "Too few trees to tell"),
        (np.zeros(100), "More trees would not help"),
    ],
)
def test_verdicts(curve, verdict):
    found, paragraphs = of_trees(curve, fit_trend(curve), "misclassification rate", 0.001)
    assert found == verdict
    assert all(text.endswith(".") and "nan" not in text for text in paragraphs)


def test_sentences_have_the_numbers():
    said = " ".join(of_trees(law(100), fit_trend(law(100)), "misclassification rate", 0.004)[1])
    assert "The last 50 of the 100 trees lowered the misclassification rate from 0.2100 to 0.2050, by 0.005 (2.4%)." in said
    assert "0.5 / trees, by which 100 more trees would lower it by about 0.0025, or 1.2%, to 0.2025." in said
    assert "known to ±0.004 (one standard error), which is more than those trees would bring." in said
    worse = " ".join(of_trees(law(100, slope=-0.5), fit_trend(law(100, slope=-0.5)), "misclassification rate", np.nan)[1])
    assert "raised the misclassification rate from 0.1900 to 0.1950" in worse and "would not lower it" in worse
