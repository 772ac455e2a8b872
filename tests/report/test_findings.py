"""What figures mean, in sentences: where they disagree, the page says why."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from dforest import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.inspection.report import study as studies
from dforest.inspection.report.assessment import Importance
from dforest.inspection.report.findings import of_harm, of_importances
from dforest.inspection.report.sections import importances

NAMES = ["customer", "b", "c", "d", "e", "f"]


def words(report):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", report.html, flags=re.DOTALL)))


def said_of(own, mean, n_labels=None, error=0.1):
    found = Importance(np.array(mean), np.full(len(mean), error), len(mean), True, 100, 0)
    return of_importances(np.array(own), found, NAMES[: len(own)], n_labels or [None] * len(own), "impurity")


@pytest.mark.parametrize("mean", [-0.3, 0.0, 0.19])
def test_a_first_feature_that_does_not_help_is_named(mean):
    said, is_warning = said_of([6.0, 2.0], [mean, 0.5], [1800, None])
    assert is_warning and said.startswith("customer, a column of 1,800 labels, is first by impurity, with 75.0% of all")
    assert "By so many labels, trees can tell single rows apart" in said
    few, is_warning = said_of([6.0, 2.0], [mean, 0.5], [4, None])
    assert is_warning and few.startswith("customer is first by") and "By many values, trees" in few


def test_so_is_one_that_helps_far_less_than_another():
    for mean, is_slight in ((0.4, True), (0.6, False)):
        assert said_of([6.0, 2.0], [mean, 5.0], [1800, None])[1] == is_slight


@pytest.mark.parametrize("mean", [0.21, np.nan])
def test_a_first_feature_that_helps_or_was_not_permuted_is_not(mean):
    assert said_of([6.0, 2.0], [mean, 0.5], [1800, None]) == (None, False)
    assert said_of([0.0, 0.0], [0.0, 0.0]) == (None, False)


def test_columns_that_hurt_are_named():
    def harm_of(mean, n_labels, orders_labels=True):
        found = Importance(np.array(mean), np.full(len(mean), 0.1), len(mean), True, 100, 0)
        return of_harm(found, NAMES[: len(mean)], n_labels, orders_labels)

    assert harm_of([0.5, -0.19, np.nan], [None] * 3) is None
    assert harm_of([0.5, -0.21], [None, 9]) == (
        "Predictions are better if b is permuted, one at a time: see whether they are better without it."
    )
    said = harm_of([-0.3, -0.5, 1.0], [1800, None, None])
    assert said.startswith("Predictions are better if b and customer (1,800 labels) are permuted, one at a time: see whether")
    assert "Many labels were ordered by other rows than a node's" in said
    assert 'categorical_split="order" orders them by other rows' in harm_of([-0.3], [1800], False)


@pytest.mark.parametrize("split", ["order", "subset"])
def test_what_the_fit_did_about_many_labels_is_told_of_the_model(split):
    random = np.random.default_rng(0)
    X = np.column_stack([random.standard_normal(400), random.integers(0, 50, 400)])
    given = {"categorical_features": [1], "categorical_split": split, "random_state": 0}
    for model in (RandomForestRegressor(5, **given), HistGradientBoostingRegressor(max_iter=5, **given)):
        assert studies.Study(model.fit(X, X[:, 0]), None, None).model.orders_labels == (split == "order")


def test_names_in_what_is_said_of_columns_are_escaped_once():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=300), "b & <c>": random.normal(size=300)})
    forest = RandomForestRegressor(5, oob_score=True, random_state=0).fit(X, X["a"])
    study = studies.Study(forest, X, X["a"])
    study.permutation = Importance(np.array([1.0, -1.0]), np.full(2, 0.1), 2, True, 300, 0)
    assert "better if b &amp; &lt;c&gt; is permuted" in str(importances(study))


def test_how_many_of_the_first_agree():
    own = [6.0, 5, 4, 3, 2, 1]
    assert said_of(own, own)[0] == "The 5 most important features are the same by impurity and by permutation."
    said = "Of the 5 most important features by impurity, 4 are among the 5 most important by permutation."
    assert said_of(own, [6.0, 5, 4, 3, 1, 2]) == (said, False)


def test_a_column_of_numbers_of_customers():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.normal(size=1500), "customer": pd.Categorical(random.integers(0, 700, 1500).astype(str))})
    y = X["age"] + random.normal(size=1500) > 0.5
    subset = {"categorical_split": "subset", "random_state": 0}
    forest = RandomForestClassifier(40, min_samples_leaf=5, oob_score=True, **subset).fit(X, y)
    page = forest.report(X, y)
    n_labels = X["customer"].nunique()
    assert f"customer, a column of {n_labels} labels, is first by impurity" in words(page)
    assert re.search('<p class="note">customer, a column', page.html)


def test_a_curve_of_some_rows_says_why_it_ends_elsewhere(monkeypatch):
    monkeypatch.setattr(studies, "CURVE_ROWS", 200)
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 3))
    forest = RandomForestRegressor(30, max_depth=4, oob_score=True, random_state=0).fit(X, X[:, 0] + random.normal(size=1500))
    y = X[:, 0] + random.normal(size=1500)
    for rows in (slice(None, 1000), slice(None, 200)):
        study = studies.Study(forest, X[rows], y[rows], "r2")
        ends = float(study.curve.values[-1]), study.score
        page = words(forest.report(X[rows], y[rows], scoring="r2"))
        caption = f"so that it ends at {ends[0]:.3g} and not at the {ends[1]:.3g} of all rows"
        assert (caption in page) == (rows.stop > 200) == (ends[0] != pytest.approx(ends[1]))


def test_rows_of_a_rare_class_beyond_a_plain_draw_are_explained():
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 2))
    y = X[:, 0] + random.normal(size=4000) > 2.6
    forest = RandomForestClassifier(40, max_depth=4, oob_score=True, random_state=0).fit(X, y)
    n_more = studies.Study(forest, X, y).permutation.n_more
    page = words(forest.report(X, y))
    assert n_more > 20
    assert f"{n_more} more of its rows were taken than such a draw would have; they have smaller weights, so that" in page


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_predictions_that_are_worse_than_a_constant_are_named(task):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    y = y > 0 if task == "classes" else y
    kind = RandomForestClassifier if task == "classes" else RandomForestRegressor
    said = words(kind(30, oob_score=True, random_state=0).fit(X, y).report(X, y))
    if task == "classes":
        of_scores = r"By the log loss \([\d.]+, not 0\.69\d*\) and the brier score \([\d.]+, not 0\.25\), the predictions are"
        assert re.search(of_scores, said)
        assert "worse than a constant prediction: the shares of the classes, for each row. The probabilities are too sure" in said
    else:
        assert re.search(r"By the root mean squared error \([\d.]+, not [\d.]+\), the predictions are worse than a", said)
    learnt = X[:, 0] > 0 if task == "classes" else X[:, 0]
    assert "are worse than a constant" not in words(kind(30, oob_score=True, random_state=0).fit(X, learnt).report(X, learnt))
