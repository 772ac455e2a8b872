"""What reports show of survival times, against the estimator's own scores and plain loops."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dforest import RandomSurvivalForest, SurvivalTree
from dforest.inspection.report.study import Study
from dforest.inspection.report.survival import kaplan_meier

RNG = np.random.default_rng(0)
X = RNG.random((240, 4)).round(2)
TIME = np.ceil(10 * RNG.exponential(np.exp(2 * X[:, 0] - X[:, 1])))
EVENT = RNG.random(240) < 0.7
ENTRY = np.floor(TIME * RNG.random(240))
Y = np.column_stack([EVENT, TIME])
FOREST = RandomSurvivalForest(30, min_samples_leaf=10, oob_score=True, random_state=0).fit(X[:160], Y[:160])


def test_figures_out_of_bag_are_those_of_the_forest():
    weight = np.where(np.arange(160) % 7 == 0, 0.0, 1.0)  # rows of no weight are left out
    for given in (None, weight):
        quality = []
        for score in ("harrell", "uno", "neg_integrated_brier_score"):
            forest = RandomSurvivalForest(30, min_samples_leaf=10, oob_score=score, random_state=0).fit(X[:160], Y[:160], given)
            study = Study(forest, X[:160], Y[:160])
            assert study.predictions[2]
            quality.append(study.quality)
            assert quality[0].figures == study.quality.figures
            name = dict(zip(("harrell", "uno"), study.quality.figures, strict=False)).get(score, "Integrated Brier score")
            assert abs(study.quality.figures[name]) == pytest.approx(abs(forest.oob_score_), rel=1e-12)
        assert study.score == study.quality.figures["Concordance (Harrell)"]
        assert study.quality.constant["Integrated Brier score"] > study.quality.figures["Integrated Brier score"] > 0
        assert study.quality.constant["Concordance (Uno)"] == study.constant_score == 0.5


def test_figures_of_other_rows():
    study = Study(FOREST, X[160:], Y[160:])
    assert study.score == FOREST.score(X[160:], Y[160:]) == study.curve.values[-1]
    curves = FOREST.predict_survival_function(X[160:], return_array=True, times=FOREST.event_times_)
    whole, low, middle, high = study.quality.curves
    at = np.isin(FOREST.event_times_, whole.at)
    np.testing.assert_allclose(whole.mean, curves[:, at].mean(axis=0), rtol=1e-12)
    order = np.argsort(FOREST.predict(X[160:]), kind="stable")
    np.testing.assert_allclose(low.mean, curves[order[:27]][:, at].mean(axis=0), rtol=1e-12)
    assert (low.n_rows, middle.n_rows, high.n_rows) == (27, 27, 26) and low.mean.sum() > middle.mean.sum() > high.mean.sum()
    assert study.permutation.mean.argmax() == 0
    uno = Study(FOREST, X[160:], Y[160:], "uno")
    assert uno.score == study.quality.figures["Concordance (Uno)"] and uno.measure.name == "concordance (Uno)"
    assert Study(FOREST, csr_matrix(X[160:]), Y[160:]).quality.figures == study.quality.figures


@pytest.mark.parametrize("entry", [None, ENTRY])
def test_kaplan_meier_is_that_of_a_single_leaf(entry):
    times, found = kaplan_meier(EVENT, TIME, entry)
    y = Y if entry is None else np.column_stack([Y, entry])
    leaf = SurvivalTree(max_depth=1, min_samples_leaf=240).fit(X, y)
    np.testing.assert_array_equal(times, leaf.event_times_)
    expected = leaf.predict_survival_function(X[:1], return_array=True, times=times)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_entries():
    y = np.column_stack([Y, ENTRY])
    forest = RandomSurvivalForest(20, min_samples_leaf=10, oob_score=True, random_state=0).fit(X, y)
    quality = Study(forest, X, y).quality
    assert quality.figures["Concordance (Harrell)"] == forest.oob_score_
    assert np.isnan(quality.figures["Concordance (Uno)"]) and quality.figures["Integrated Brier score"] is None
    with pytest.raises(ValueError, match='scoring="uno" is not defined for a y with entries'):
        Study(forest, X, y, "uno")
