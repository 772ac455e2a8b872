"""Displays: scikit-learn's manner, with the numbers of the estimator."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance

from dforest import (
    DecisionTreeClassifier,
    HistGradientBoostingClassifier,
    ImportanceDisplay,
    OutOfBagCurveDisplay,
    RandomForestClassifier,
    RandomForestRegressor,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

X, Y = load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(autouse=True)
def figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(40, random_state=0, oob_score=True).fit(X, Y)


def test_curve(forest):
    display = OutOfBagCurveDisplay.from_estimator(forest)
    assert display.oob_curve is forest.oob_curve_
    assert np.array_equal(display.line_.get_xdata(), np.arange(1, 41))
    assert np.array_equal(display.line_.get_ydata(), forest.oob_curve_)
    assert display.figure_ is plt.gcf() and display.ax_ is plt.gca()
    assert display.ax_.get_xlabel() == "Number of trees"
    assert display.ax_.get_ylabel() == "Out-of-bag misclassification rate"
    assert display.estimator_name == "RandomForestClassifier"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["RandomForestClassifier", "limit + slope / trees, fitted"]
    n_trees = display.trend_line_.get_xdata()
    assert n_trees[-1] == pytest.approx(80)
    assert np.allclose(display.trend_line_.get_ydata(), display.trend.at(n_trees))


def test_curves_share_axes(forest):
    _, ax = plt.subplots()
    first = OutOfBagCurveDisplay.from_estimator(forest, ax=ax, trend=False, name="ours", color="red", linewidth=3)
    assert first.ax_ is ax and first.trend_line_ is None and first.line_.get_color() == "red"
    second = OutOfBagCurveDisplay(forest.oob_curve_[:10]).plot(ax)  # too few for a law
    assert second.trend is None and second.trend_line_ is None and len(ax.lines) == 2
    model = RandomForestRegressor(25, random_state=0, oob_score=True).fit(*load_diabetes(return_X_y=True))
    assert OutOfBagCurveDisplay.from_estimator(model, ax=ax).ax_.get_ylabel() == "Out-of-bag mean squared error"


def test_importances(forest):
    display = ImportanceDisplay.from_estimator(forest)
    order = np.argsort(-forest.feature_importances_, kind="stable")
    assert np.array_equal(display.features_, order)
    assert [bar.get_width() for bar in display.bars_] == forest.feature_importances_[order].tolist()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == X.columns[order].tolist()
    assert display.ax_.yaxis_inverted() or display.ax_.get_ylim()[0] > display.ax_.get_ylim()[1]
    assert display.ax_.get_xlabel() == "Mean decrease in impurity, scaled to sum to 1" and display.figure_ is plt.gcf()
    by_tree = np.array([tree.feature_importances_ for tree in forest.estimators_])
    np.testing.assert_allclose(display.importances_std, by_tree.std(axis=0, ddof=1))
    np.testing.assert_allclose(lines_of(display), display.importances_std[order])


def test_importances_by_permutation(forest):
    """Lines are standard errors."""
    display = ImportanceDisplay.from_estimator(forest, X, Y, kind="permutation", n_repeats=3, random_state=1, max_features=2)
    found, order = permutation_importance(forest, X, Y, n_repeats=3, random_state=1), display.features_
    assert np.array_equal(display.importances_mean, found.importances_mean) and len(display.bars_) == 2
    np.testing.assert_allclose(lines_of(display), found.importances_std[order] / np.sqrt(2))  # scikit-learn divides by 3
    display = ImportanceDisplay.from_estimator(forest, X, Y, kind="oob", features=[1, 0], color="green")
    found = forest.oob_importance(X, Y)
    assert np.array_equal(display.importances_mean, found.importances_mean)
    assert np.array_equal(display.importances_std, found.importances_std) and display.n_estimates == 40
    assert display.features_.tolist() == [1, 0]
    assert [bar.get_width() for bar in display.bars_] == found.importances_mean[[1, 0]].tolist()
    np.testing.assert_allclose(lines_of(display), found.importances_std[[1, 0]] / np.sqrt(40))
    one = ImportanceDisplay.from_estimator(forest, X, Y, kind="permutation", n_repeats=1)
    assert one.importances_std is None and one.bars_.errorbar is None


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("mdi", "Mean decrease in impurity"),
        ("mda_raw", "Mean rise of the error out of bag when permuted"),
        ("mda_scaled", "Mean rise of the error out of bag when permuted, in standard errors"),
    ],
)
def test_importances_that_the_fit_computed(forest, kind, label):
    model = RandomForestClassifier(40, random_state=0, variable_importance=kind).fit(X, Y)
    display = ImportanceDisplay.from_estimator(model, features=range(4))
    assert [bar.get_width() for bar in display.bars_] == model.variable_importance_.tolist()
    assert display.kind == kind and display.ax_.get_xlabel() == label
    if kind == "mda_scaled":
        assert display.bars_.errorbar is None
    else:
        n = {"mdi": 1, "mda_raw": 40}[kind]
        np.testing.assert_allclose(lines_of(display), model.variable_importance_std_ / np.sqrt(n))
    assert ImportanceDisplay.from_estimator(model, kind="impurity").importances_mean.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match=f"kind='oob' needs X and y; without them, allowed: '{kind}', 'impurity'$"):
        ImportanceDisplay.from_estimator(model, kind="oob")
    with pytest.raises(ValueError, match=f"kind='{kind}'; allowed for a RandomForestClassifier are 'impurity', 'perm"):
        ImportanceDisplay.from_estimator(forest, kind=kind)


def lines_of(display):
    """Half of the lengths of the lines of the bars."""
    (segments,) = [part.get_segments() for part in display.bars_.errorbar.lines[2]]
    return [(end[0] - start[0]) / 2 for start, end in segments]


def test_trees_that_drew_every_row_do_not_count():
    rows, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    model = RandomForestClassifier(100, random_state=0, variable_importance="mda_raw").fit(rows, y)
    found, expected = ImportanceDisplay.from_estimator(model), ImportanceDisplay.from_estimator(model, rows, y, kind="oob")
    assert found.n_estimates == expected.n_estimates < 100
    np.testing.assert_allclose(lines_of(found), lines_of(expected))


def test_importances_by_a_score(forest):
    display = ImportanceDisplay.from_estimator(forest, X, Y, kind="oob", scoring="neg_log_loss", random_state=0)
    found = forest.oob_importance(X, Y, scoring="neg_log_loss", random_state=0)
    assert np.array_equal(display.importances_mean, found.importances_mean) and display.n_estimates == 5
    assert display.ax_.get_xlabel() == "Mean loss of score when permuted"


def test_importances_of_boosted_trees():
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(X, Y)
    display = ImportanceDisplay.from_estimator(model)
    assert np.array_equal(display.importances_mean, model.feature_importances_) and display.bars_.errorbar is None
    assert display.ax_.get_xlabel() == "Share of the gain of all splits"
    display = ImportanceDisplay.from_estimator(model, X, Y, kind="permutation", random_state=0)
    found = permutation_importance(model, X, Y, random_state=0)
    assert np.array_equal(display.importances_mean, found.importances_mean)
    with pytest.raises(ValueError, match="kind='oob'; allowed for a HistGradientBoostingClassifier are 'gain', 'permutation'"):
        ImportanceDisplay.from_estimator(model, X, Y, kind="oob")


def test_names_are_no_formulas():
    names = [r"$\alpha$ $", "b" * 200]
    display = ImportanceDisplay(np.ones(2), np.zeros(2), names, estimator_name="$$").plot()
    display.figure_.canvas.draw()  # where formulas would be read, and this one refused
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert shown[0] == names[0] and len(shown[1]) < 30 and "…" in shown[1]


@pytest.mark.parametrize("display", [OutOfBagCurveDisplay, ImportanceDisplay])
def test_what_is_refused(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(RandomForestClassifier())
    with pytest.raises(ValueError, match="allowed for .*Display are the forests"):
        display.from_estimator(DecisionTreeClassifier().fit(X, Y))


def test_bad_parameters(forest):
    with pytest.raises(ValueError, match="fit it with bootstrap=True and oob_score=True"):
        OutOfBagCurveDisplay.from_estimator(RandomForestClassifier(2).fit(X, Y))
    with pytest.raises(ValueError, match="kind='gain'; allowed for a RandomForestClassifier are 'impurity', 'perm"):
        ImportanceDisplay.from_estimator(forest, kind="gain")
    with pytest.raises(ValueError, match="kind='oob' needs X and y"):
        ImportanceDisplay.from_estimator(forest, X, kind="oob")


def test_matplotlib_is_imported_when_it_is_needed():
    code = "import sys, dforest; dforest.OutOfBagCurveDisplay; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
