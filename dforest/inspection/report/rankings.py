"""What a report says of rankings: the scores of queries, and the grades at places.

True values of rows are two columns: the grade, and the number of the query.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from dforest.core.boost.loss import GroupedRows
from dforest.core.boost.ranking import have_gains, scores_of_groups
from dforest.estimators.boosting.queries import METRIC, METRICS, RankingMeasure, metric_of
from dforest.inspection.report.markup import count, element, number, paragraph, percent, table
from dforest.inspection.report.measure import Measure
from dforest.inspection.report.quality import figures_table
from dforest.inspection.report.targets import Numbers

FIGURES = ("ndcg@1", "ndcg@5", "ndcg@10", "ndcg", "map@10", "map")
PLACES = (1, 2, 3, 5, 10, 20, 50, 100)  # whose grades are listed
SHARES = (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)  # of queries


def name_of(metric):
    """What people call a metric, or another score."""
    return metric.upper() if METRIC.fullmatch(metric) else metric


def usual_metric(true, gains):
    """What rows of some true values are scored by, as long as nobody chooses: not by NDCG if grades have no gains."""
    return "ndcg@10" if have_gains(true[:, 0], gains).all() else "map@10"


def measure_of(estimator, rows, scoring):
    """The `Measure` of a ranker.

    Parameters
    ----------
    estimator : HistGradientBoostingRanker
    rows : Rows or None
    scoring : str or None
        A metric; None: the usual one of the rows.
    """
    gains, has_targets = estimator._gains(), rows is not None and rows.y is not None
    metric = scoring
    if scoring is None:
        metric = usual_metric(rows.y, gains) if has_targets else "ndcg@10"
    metric_of(metric, METRICS)
    return Measure(partial(score_of, metric, gains), name_of(metric), takes_weights=False, is_chosen=scoring is not None)


def score_of(metric, gains, true, prediction, weight=None):
    """The mean of a metric over queries, of which none is cut.

    Parameters
    ----------
    metric : str
        A name of `dforest.estimators.boosting.queries.metric_of`.
    gains : tuple of float
        Of the grades 0, 1, ...
    true : ndarray of shape (n_rows, 2)
    prediction : ndarray of shape (n_rows, 1)
    weight : ndarray of shape (n_rows,), or None
    """
    grade, query = true[:, 0].copy(), true[:, 1].astype(np.int64)
    return RankingMeasure(*metric_of(metric), grade, weight, query, gains)(prediction)


@dataclass(frozen=True)
class RankQuality:
    """How well queries are ranked."""

    true: np.ndarray  # of shape (n_rows, 2)
    figures: dict  # scores by their names; None where one is not defined
    constant: dict  # those of one prediction for all rows
    of_queries: np.ndarray  # of shape (n_queries,): the scores of queries by a metric, ascending
    metric: str
    grades: list  # of (place from 1 on, how many queries have it, mean grade there as predicted, and in the best order)


def assess_rankings(true, prediction, gains):
    """The `RankQuality` of predictions, ndarray of shape (n_rows, 1)."""
    grade, rows = true[:, 0].copy(), GroupedRows(np.unique(true[:, 1], return_inverse=True)[1])
    metric = usual_metric(true, gains)
    metrics = [each for each in FIGURES if each.startswith("map") or metric.startswith("ndcg")]
    both = prediction, np.zeros_like(prediction)
    figures, constant = ({name_of(each): score_of(each, gains, true, raw) for each in metrics} for raw in both)
    kind, k = metric_of(metric)
    of_queries = np.sort(scores_of_groups(kind, grade, prediction[:, 0].copy(), rows, k, gains))
    return RankQuality(true, figures, constant, of_queries, metric, _grades_by_place(grade, prediction[:, 0], rows))


def _grades_by_place(grade, prediction, rows):
    starts, found = np.asarray(rows.starts), []
    place = np.arange(len(grade)) - np.repeat(starts[:-1], np.diff(starts))
    predicted, best = (grade[np.lexsort([-by, rows.numbers])] for by in (prediction, grade))
    for number_of_place in PLACES:
        there = place == number_of_place - 1
        if there.any():
            found.append((number_of_place, int(there.sum()), float(predicted[there].mean()), float(best[there].mean())))
    return found


class Rankings(Numbers):
    """Of rankers."""

    task = "ranking"
    noun = "grade"
    of_constant = "one prediction for all rows, by which all orders are equally likely"

    def assess(self, study, true, prediction):
        return assess_rankings(true, prediction, study.estimator._gains())

    def constant(self, study, true):
        return np.zeros((len(true), 1))

    def facts(self, study):
        if not study.has_targets:
            return []
        sizes = np.unique(study.rows.y[:, 1], return_counts=True)[1]
        least = f"{sizes.min():,} to " if sizes.min() < sizes.max() else ""
        return [("Queries of X", f"{len(sizes):,}, of {least}{count(int(sizes.max()), 'row')}")]

    def parts(self, study):
        quality = study.quality
        said = paragraph(
            "Rows are compared within their query alone, and each query counts as much as any other; one whose rows are all of "
            "grade 0 counts as 1. Where a part of this page is computed from some of the rows, these are whole queries."
        )
        name, scores = name_of(quality.metric), quality.of_queries
        lines = [[percent(share, 0), number(score)] for share, score in zip(SHARES, np.quantile(scores, SHARES), strict=True)]
        title = f"The {name} of {count(len(scores), 'query', 'queries')}: which share of them has at most which score"
        by_query = table(["Queries", name], lines, title, {0, 1}, row_head=False)
        lines = [[f"{place:,}", f"{n:,}", number(there), number(best)] for place, n, there, best in quality.grades]
        heads = ["Place", "Queries", "Mean grade", "At best"]
        title = "The mean grade of the rows at a place, by predictions and in the best order"
        by_place = table(heads, lines, title, {0, 1, 2, 3})
        both = element("div", element("div", element("h3", "Queries"), by_query),
                       element("div", element("h3", "Grades by place"), by_place), class_="beside")  # fmt: skip
        return [said, element("h3", "Quality"), figures_table(study), both]
