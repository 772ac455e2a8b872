"""What a report says of outliers: the scores of rows, and which features make the most outlying ones so."""

import numpy as np
from sklearn.utils import _safe_indexing

from dforest.inspection.report import pictures
from dforest.inspection.report.markup import absent, element, figure, joined, number, paragraph, percent, table
from dforest.inspection.report.targets import Numbers
from dforest.inspection.report.text import shortened

LISTED_ROWS = 15
NAMED_FEATURES = 3  # of each
NAME = 24  # characters of a feature


class Outliers(Numbers):
    """Of isolation forests."""

    task = "outliers"
    noun = "mean path length"
    of_boxes = "A box has the mean length of the paths of its draws, from the root on."
    colours_targets, of_training = False, None

    def tiles(self, study):
        return [("Draws of a tree", f"{study.estimator.max_samples_:,}")]

    def facts(self, study):
        return [("Score below which rows are outliers, offset_", number(study.estimator.offset_))]


def scores_of(study):
    """The scores of the rows: ndarray of shape (n_rows,)."""
    return study.estimator._scores(study.model.predict(study.rows.X))


def scores(study):
    """The section on scores."""
    if study.rows is None:
        return absent("Scores need rows: pass them as X to report.")
    found, offset = scores_of(study), study.estimator.offset_
    n, n_outliers = len(found), np.count_nonzero(found - offset < 0)
    which = "the rows that the forest was grown on" if study.rows.is_training else "the rows of X"
    said = (
        f"Of {which}, {n_outliers:,} of {n:,} are outliers ({percent(n_outliers / n)}): their scores are below offset_, "
        f"{number(offset)}. Scores are from −1 to 0, the lower the more of an outlier is the row, and −0.5 where paths are as "
        "long as they are on average."
    )
    label = f"Scores of {n:,} rows, from {number(found.min())} to {number(found.max())}"
    caption = "How many rows have which score, on a scale of powers of ten. The dotted line is offset_."
    shares = (0, 0.01, 0.05, 0.25, 0.5, 0.75, 1)
    lines = [[percent(share, 0), number(score)] for share, score in zip(shares, np.quantile(found, shares), strict=True)]
    listing = table(["Rows", "Score"], lines, "Which share of the rows has at most which score", {0, 1}, row_head=False)
    picture = figure(pictures.scores(label, found, offset), caption)
    return joined([paragraph(said), element("div", picture, element("div", listing), class_="beside"), outlying(study, found)])


def outlying(study, found):
    """The rows of the lowest scores, and what makes their paths short."""
    chosen = np.argsort(found, kind="stable")[:LISTED_ROWS]
    head, lines = ["Row of X", "Score"], [[f"{i:,}", number(found[i])] for i in chosen]
    title = "The most outlying rows"
    if study.estimator.extension_level:
        said = (
            "Splits are of several features at a time, so that what a single feature adds is not known. Fit the forest with "
            "extension_level=0 to see which features make rows outliers."
        )
    else:
        said = (
            "Beside each row are the features that shorten its paths most, with their values in the row, and by how many steps: "
            "Shapley values of the mean length of its paths."
        )
        head.append("Features that shorten its paths")
        explained = study.estimator.shap_values(_safe_indexing(study.rows.given[0], chosen))
        for line, row, own in zip(lines, explained.data, explained.values, strict=True):
            first = [j for j in np.argsort(own, kind="stable")[:NAMED_FEATURES] if own[j] < 0]
            line.append("; ".join(f"{value_of(study, row[j], j)} ({number(own[j])})" for j in first) or "none")
    return joined([element("h3", title), paragraph(said), table(head, lines, title, {0, 1})])


def value_of(study, value, j):
    """A feature and a value of it, as text."""
    labels = study.estimator.categories_[j]
    if np.isnan(value):
        text = "missing"
    elif labels is None:
        text = number(float(value)) if np.isfinite(value) else "infinite"
    else:
        text = shortened(labels[int(value)], NAME) if 0 <= value < len(labels) else "another label"
    return f"{shortened(study.names[j], NAME)} = {text}"
