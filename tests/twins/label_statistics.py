"""Target statistics of labels, row by row: what `dforest.estimators.boosting.statistics` computes from sums."""

import numpy as np

PRIOR_ROWS = 10.0


def label_statistics(labels, n_labels, responses, weights, folds):
    """Statistics of the labels of one column, by one response of each row.

    Parameters
    ----------
    labels : sequence of int
        The label of each row; `n_labels` stands for a missing value.
    n_labels : int
    responses, weights : sequence of float
        Of each row.
    folds : sequence of int
        The fold of each row.

    Returns
    -------
    of_rows : ndarray of shape (n_rows,)
        Of each row, the statistic that rows of other folds make of its label.
    of_labels : ndarray of shape (n_labels + 1,)
        The statistics of labels by all rows; the last one is that of missing values.
    """
    rows = list(zip(labels, responses, weights, folds, strict=True))
    mean = sum(w * r for _, r, w, _ in rows) / sum(w for _, _, w, _ in rows)
    prior = PRIOR_ROWS * sum(w for _, _, w, _ in rows) / len(rows)

    def statistic(label, without=None):
        own = [(r, w) for at, r, w, fold in rows if at == label and fold != without]
        return sum(w * (r - mean) for r, w in own) / (sum(w for _, w in own) + prior)

    of_rows = [statistic(label, fold) for label, _, _, fold in rows]
    return np.array(of_rows), np.array([statistic(label) for label in range(n_labels + 1)])
