"""The law of the error out of bag, and what is said of it."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from dforest import RandomForestRegressor
from dforest.inspection.report.curve import Curve, fit_trend
from dforest.inspection.report.findings import of_iterations, of_trees


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


def test_points_far_apart_tell_the_same():
    """Of a score that is computed for some numbers of trees only."""
    numbers = np.unique(np.linspace(1, 400, 40).round().astype(int))
    trend = fit_trend(law(400)[numbers - 1], numbers)
    assert trend.limit == pytest.approx(0.2) and trend.slope == pytest.approx(0.5) and trend.last == 400
    random, found = np.random.RandomState(0), []
    for _ in range(200):
        curve = law(400) + np.cumsum(random.normal(scale=0.1, size=400)) / np.arange(1, 401)
        found.append(fit_trend(curve[numbers - 1], numbers).spread)
    assert np.mean(found) == pytest.approx(0.1, rel=0.05)


def said_of(values, known_to=np.nan, is_error=True):
    curve = Curve(np.arange(1, len(values) + 1), values, "misclassification rate", is_error, "out of bag", "tree", known_to)
    verdict, paragraphs = of_trees(curve, curve.trend)
    assert all(text.endswith(".") and "nan" not in text and "e-" not in text for text in paragraphs)
    return verdict, " ".join(paragraphs)


@pytest.mark.parametrize(
    ("curve", "verdict"),
    [
        (law(100), "More trees would help"),
        (law(1000), "More trees would help very little"),
        (law(100, slope=0.01) + 0.01 * np.sin(np.arange(100)), "More trees are unlikely to help"),
        (law(100, slope=-0.5), "More trees are unlikely to help"),
        (law(10), "Too few trees to tell"),
        (np.zeros(100), "More trees would not help"),
        (np.full(100, 0.0135), "More trees would not help"),
    ],
)
def test_verdicts(curve, verdict):
    assert said_of(curve, 0.001)[0] == verdict
    assert said_of(0.4 - curve, 0.001, is_error=False)[0] == verdict


def test_sentences_have_the_numbers():
    said = said_of(law(100), 0.004)[1]
    assert "The last 50 of the 100 trees lowered the misclassification rate from 0.2100 to 0.2050, by 0.005 (2.4%)." in said
    assert "By the trend, 100 more trees would lower it by about 0.0025, or 1.2%, to 0.2025." in said
    assert "known to ±0.004 for new rows (one standard error), which is more than those trees would bring." in said
    worse = said_of(law(100, slope=-0.5))[1]
    assert "raised the misclassification rate from 0.1900 to 0.1950" in worse and "would not lower it" in worse
    better = said_of(1 - law(100), is_error=False)[1]
    assert "raised the misclassification rate from 0.7900 to 0.7950" in better and "would raise it by about 0.0025" in better


def test_a_flat_curve_is_told_of_plainly():
    said = said_of(np.where(np.arange(200) < 30, 0.02, 0.0135))[1]
    assert said == "The misclassification rate out of bag stays at 0.0135 from 51 trees on: more trees do not change it."


def test_iterations():
    def said(values, is_error, **kept):
        return of_iterations(Curve(np.arange(1, 101), values, "loss", is_error, "of rows held out", "iteration", **kept))

    verdict, (text,) = said((np.arange(100) - 40.0) ** 2 + 1, True)
    assert verdict == "More iterations are unlikely to help"
    assert text == "The loss of rows held out is best after 41 iterations, with 1; after all 100 that were grown it is 3,482."
    verdict, paragraphs = said(np.arange(100.0), False)
    assert verdict == "More iterations may help" and "best after 100 iterations, with 99, the last." in paragraphs[0]
    falling = 1 / np.arange(1, 101.0)
    falling[90:] += 0.001 * (np.arange(10) + 1)  # the best is not among the last, but the curve falls
    verdict, paragraphs = said(falling, True)
    assert verdict == "More iterations may help" and paragraphs[1] == (
        "It still gets better, if not with each iteration: raise max_iter."
    )
    assert said(falling, True, n_iter_no_change=20)[0] == "More iterations may help"  # growing ended before it could stop
    assert said(falling, True, n_iter_no_change=5)[0] == "More iterations are unlikely to help"
    noisy = 1 + 0.001 * np.sin(np.arange(100.0) ** 2)
    assert said(noisy, True)[0] == "More iterations are unlikely to help"
    values = (np.arange(100) - 96.0) ** 2
    assert said(values, True, n_iter_no_change=4)[0] == "More iterations may help"
    verdict, (text,) = said(values, True, n_iter_no_change=3, n_kept=97)
    assert verdict == "More iterations are unlikely to help"
    assert text.endswith(" The model has the first 97 (use_best_model=True).")
