"""Scores of uplift: definitions row by row, ties, weights, several arms, model selection, and pictures."""

import numpy as np
import pytest
import sklearn
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, cross_val_score

from dforest import UpliftForestClassifier
from dforest.uplift import (
    UpliftCurveDisplay,
    auuc_score,
    make_uplift_scorer,
    qini_curve,
    qini_score,
    uplift_at_k,
    uplift_curve,
)


def naive(y, uplift, treatment, weight):
    """(shares, points of the Qini curve, of the uplift curve), row by row, one for each number of first rows that are no tie."""
    order = sorted(range(len(y)), key=lambda i: -uplift[i])
    points = [(0.0, 0.0, 0.0)]
    of_all, n_treated = sum(weight), sum(w for w, t in zip(weight, treatment, strict=True) if t)
    for n in range(1, len(y) + 1):
        if n < len(y) and uplift[order[n]] == uplift[order[n - 1]]:
            continue
        first = order[:n]
        treated, others = ([i for i in first if treatment[i] == arm] for arm in (1, 0))
        n_t, n_c = (sum(weight[i] for i in rows) for rows in (treated, others))
        r_t, r_c = (sum(weight[i] * y[i] for i in rows) for rows in (treated, others))
        rate_t, rate_c = r_t / n_t if n_t else 0.0, r_c / n_c if n_c else 0.0
        share = (n_t + n_c) / of_all
        points.append((share, (r_t - rate_c * n_t) / n_treated, (rate_t - rate_c) * share))
    return [np.array(own) for own in zip(*points, strict=True)]


@st.composite
def experiments(draw):
    n = draw(st.integers(2, 12))
    of = lambda values: draw(st.lists(values, min_size=n, max_size=n))  # noqa: E731
    treatment = of(st.integers(0, 1))
    treatment[:2] = [0, 1]
    return of(st.integers(0, 1)), of(st.integers(0, 4)), treatment, of(st.sampled_from([1.0, 2.0, 0.5]))


@given(experiments())
@settings(max_examples=examples(300), deadline=None)
def test_curves_are_what_their_definitions_say(told):
    y, uplift, treatment, weight = told
    share, qini, gain = naive(y, uplift, treatment, weight)
    for curve, expected in ((qini_curve, qini), (uplift_curve, gain)):
        found = curve(y, uplift, treatment, sample_weight=weight)
        assert found[0] == pytest.approx(share)
        assert found[1] == pytest.approx(expected, abs=1e-12)
    for score, own in ((qini_score, qini), (auuc_score, gain)):
        area = sum((b - a) * (p + q) / 2 for a, b, p, q in zip(share, share[1:], own, own[1:], strict=False)) - own[-1] / 2
        assert score(y, uplift, treatment, sample_weight=weight) == pytest.approx(area, abs=1e-12)
    order = np.random.default_rng(0).permutation(len(y))
    again = qini_score(*(np.array(own)[order] for own in (y, uplift, treatment)), sample_weight=np.array(weight)[order])
    assert again == pytest.approx(qini_score(y, uplift, treatment, sample_weight=weight), abs=1e-12)


def test_areas_are_divided_by_that_of_predictions_that_know_what_came():
    random = np.random.default_rng(0)
    y, uplift, treatment = random.integers(0, 2, 500), random.random(500), random.integers(0, 2, 500)
    best = np.where(treatment == 1, y, -y)
    for score in (qini_score, auuc_score):
        assert score(y, best, treatment, normalize=True) == pytest.approx(1)
        expected = score(y, uplift, treatment) / score(y, best, treatment)
        assert score(y, uplift, treatment, normalize=True) == pytest.approx(expected)
        assert np.isnan(score(np.zeros(500), uplift, treatment, normalize=True))


def test_the_first_rows():
    y, uplift, treatment = [1, 0, 1, 0, 0, 1], [3, 3, 2, 2, 1, 1], [1, 0, 1, 0, 1, 0]
    assert uplift_at_k(y, uplift, treatment, k=1 / 3) == 1.0
    assert uplift_at_k(y, uplift, treatment, k=2 / 3) == 1.0
    assert uplift_at_k(y, uplift, treatment, k=1.0) == pytest.approx(2 / 3 - 1 / 3)
    # Half of the rows of prediction 1 belong to five sixths of all.
    assert uplift_at_k(y, uplift, treatment, k=5 / 6) == pytest.approx(2 / 2.5 - 0.5 / 2.5)
    assert np.isnan(uplift_at_k([1, 0], [2, 1], [1, 0], k=0.5))


def test_whole_weights_are_rows_that_are_there_several_times():
    random = np.random.default_rng(0)
    y, uplift, treatment, weight = (
        random.integers(0, 2, 60),
        random.random(60),
        random.integers(0, 2, 60),
        random.integers(0, 4, 60),
    )
    repeated = [np.repeat(own, weight) for own in (y, uplift, treatment)]
    for score in (qini_score, auuc_score, uplift_at_k):
        assert score(y, uplift, treatment, sample_weight=weight) == pytest.approx(score(*repeated))


def test_labels_of_arms():
    y, uplift, treatment = [1, 0, 0, 1], [4, 3, 2, 1], np.array([1, 0, 1, 0])
    for labels in (treatment == 1, np.array(["control", "letter"])[treatment], 5 + treatment):
        assert qini_score(np.array(y) == 1, uplift, labels) == qini_score(y, uplift, treatment)


def experiment(n, n_arms=2):
    random = np.random.default_rng(0)
    X, arm = random.normal(size=(n, 3)), random.integers(0, n_arms, n)
    return X, (random.random(n) < 0.2 + 0.4 * (arm == 1) * (X[:, 0] > 0) + 0.4 * (arm == 2) * (X[:, 1] > 0)).astype(int), arm


def test_model_selection():
    X, y, arm = experiment(1500)
    forest = UpliftForestClassifier(10, random_state=0)
    scorer = make_uplift_scorer(uplift_at_k, k=0.4)
    fitted = forest.fit(X, y, treatment=arm)
    assert scorer(fitted, X, y, treatment=arm) == uplift_at_k(y, fitted.predict(X), arm, k=0.4)
    with sklearn.config_context(enable_metadata_routing=True):
        asks = UpliftForestClassifier(10, random_state=0).set_fit_request(treatment=True, sample_weight=True)
        weight = np.ones(len(y))
        search = GridSearchCV(asks, {"min_samples_leaf": [50, 300]}, scoring=make_uplift_scorer(sample_weight=True), cv=3)
        search.fit(X, y, treatment=arm, sample_weight=weight)
        assert search.best_score_ > 0.02 and search.best_params_["min_samples_leaf"] == 50
        scores = cross_val_score(asks, X, y, scoring=scorer, cv=3, params={"treatment": arm})
        assert (scores > 0.2).all()
    with pytest.raises(ValueError, match="treatment=None; .*enable_metadata_routing"):
        scorer(fitted, X, y)
    with pytest.raises(ValueError, match="score='qini'; allowed are functions"):
        make_uplift_scorer("qini")


def test_one_of_several_arms_is_scored():
    X, y, arm = experiment(1500, 3)
    labels = np.array(["a", "b", "c"])[arm]
    forest = UpliftForestClassifier(10, random_state=0).fit(X, y, treatment=labels)
    rows = arm != 1
    found = make_uplift_scorer(arm="c")(forest, X, y, treatment=labels, sample_weight=np.ones(len(y)))
    assert found == pytest.approx(qini_score(y[rows], forest.predict(X)[rows, 1], arm[rows]))
    with pytest.raises(ValueError, match="arm='a'; allowed are the arms 'b', 'c'"):
        make_uplift_scorer(arm="a")(forest, X, y, treatment=labels)


@pytest.mark.parametrize("kind", ["qini", "uplift"])
def test_pictures(kind):
    pytest.importorskip("matplotlib").use("agg")
    X, y, arm = experiment(800)
    forest = UpliftForestClassifier(10, random_state=0).fit(X, y, treatment=arm)
    display = UpliftCurveDisplay.from_estimator(forest, X, y, arm, kind=kind)
    share, gain = {"qini": qini_curve, "uplift": uplift_curve}[kind](y, forest.predict(X), arm)
    assert np.array_equal(display.line_.get_xdata(), share) and np.array_equal(display.line_.get_ydata(), gain)
    assert display.line_.get_label().startswith("UpliftForestClassifier (area ")
    assert list(display.chance_level_.get_ydata()) == [0, gain[-1]]
    again = display.plot(ax=display.ax_, name="again", plot_chance_level=False, color="red")
    assert again.chance_level_ is None and again.line_.get_color() == "red"
    with pytest.raises(ValueError, match="kind='roc'; allowed are 'qini', 'uplift'"):
        UpliftCurveDisplay.from_predictions(y, forest.predict(X), arm, kind="roc")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": ["a", "b"]}, "y"),
        ({"y": [0, np.nan]}, "Input y contains NaN"),
        ({"uplift": [1.0, np.inf]}, "uplift has the value inf; allowed are finite"),
        ({"uplift": [1.0]}, "uplift has the shape"),
        ({"uplift": [[1.0, 2.0]]}, "arrays of one axis"),
        ({"treatment": [1, 1]}, "treatment has the labels"),
        ({"treatment": [0, 1, 1]}, "treatment has the shape"),
        ({"sample_weight": [1.0, 0.0]}, "sample_weight is 0 for all rows of treatment 1"),
        ({"sample_weight": [1.0, -1.0]}, "sample_weight"),
        ({"k": 0}, "k=0; allowed are numbers above 0 and up to 1"),
        ({"k": 1.5}, "k=1.5"),
    ],
)
def test_what_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        uplift_at_k(**{"y": [0, 1], "uplift": [0.1, 0.2], "treatment": [0, 1]} | change)
