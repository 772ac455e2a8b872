"""What reports show of rankings, against the estimator's own scores and plain loops."""

import numpy as np
import pytest

from dforest import HistGradientBoostingRanker
from dforest.inspection.report.rankings import assess_rankings
from dforest.inspection.report.rows import Rows
from dforest.inspection.report.study import Study

RNG = np.random.default_rng(0)
SIZES = RNG.integers(1, 25, 60)
QID = RNG.permutation(np.repeat(np.arange(60), SIZES))
X = np.round(RNG.standard_normal((len(QID), 4)), 1)
Y = np.clip(np.floor(X[:, 0] + np.abs(X[:, 1])), 0, 4)
TRAIN, TEST = QID < 30, QID >= 30
MODEL = HistGradientBoostingRanker(max_iter=8, min_samples_leaf=3, random_state=0).fit(X[TRAIN], Y[TRAIN], qid=QID[TRAIN])


def test_figures_are_those_of_score():
    study = Study(MODEL, X[TEST], Y[TEST], None, None, (QID[TEST], None))
    rows = X[TEST], Y[TEST]
    assert study.score == MODEL.score(*rows, qid=QID[TEST], k=10)
    assert study.quality.figures["NDCG"] == MODEL.score(*rows, qid=QID[TEST])
    assert study.quality.figures["NDCG@1"] == MODEL.score(*rows, qid=QID[TEST], k=1)
    assert study.curve.values[-1] == study.score and study.curve.name == "NDCG@10"
    assert study.constant_score == study.quality.constant["NDCG@10"] < study.score
    of_queries = [MODEL.score(X[QID == q], Y[QID == q], group=[SIZES[q]], k=10) for q in range(30, 60)]
    assert study.quality.of_queries == pytest.approx(np.sort(of_queries))
    assert study.permutation.mean[0] > 0.05 > study.permutation.mean[2]


def test_constant_predictions_score_the_mean_of_all_orders():
    grade = RNG.integers(0, 5, 12).astype(float)
    true = np.column_stack([grade, np.zeros(12)])
    quality = assess_rankings(true, grade[:, None], MODEL._gains())
    orders = [assess_rankings(true, RNG.permutation(12)[:, None] * 1.0, MODEL._gains()).figures["NDCG@5"] for _ in range(2000)]
    assert quality.figures["NDCG@5"] == 1.0
    assert quality.constant["NDCG@5"] == pytest.approx(np.mean(orders), abs=4 * np.std(orders) / 2000**0.5)


def test_grades_by_place():
    raw = MODEL.predict(X)
    found = assess_rankings(np.column_stack([Y, QID]), raw[:, None], MODEL._gains()).grades
    queries = [np.flatnonzero(QID == q) for q in range(60)]
    ranked = [Y[rows[np.argsort(-raw[rows], kind="stable")]] for rows in queries]
    for place, n, predicted, best in found:
        there = [grades for grades in ranked if len(grades) >= place]
        assert n == len(there)
        assert predicted == pytest.approx(np.mean([grades[place - 1] for grades in there]))
        assert best == pytest.approx(np.mean([np.sort(grades)[-place] for grades in there]))
    assert [place for place, *_ in found] == [1, 2, 3, 5, 10, 20]


@pytest.mark.parametrize("most", [1, 30, 200])
def test_samples_are_whole_queries(most):
    rows = Rows(MODEL, X, Y, (QID, None))
    chosen = rows.sample(most)
    there = np.unique(QID[chosen])
    assert (chosen == np.flatnonzero(np.isin(QID, there))).all()
    assert len(chosen) <= most or len(there) == 1
    assert len(rows.sample(10_000)) == len(X)


def test_grades_without_gains():
    model = HistGradientBoostingRanker("pairwise", max_iter=3, random_state=0).fit(X, Y / 2, qid=QID)
    study = Study(model, X, Y / 2, None, None, (QID, None))
    assert study.measure.name == "MAP@10" and list(study.quality.figures) == ["MAP@10", "MAP"]
