"""All that a report shows of a forest, computed."""

from functools import cached_property

import numpy as np
from sklearn.base import is_classifier

from dforest.inspection.export import names_of_features
from dforest.inspection.report import assessment, proximity
from dforest.inspection.report.curve import fit_trend
from dforest.inspection.report.digest import digest_of
from dforest.inspection.report.facts import impurity_importance, parameters_of, sizes_of
from dforest.inspection.report.rows import Rows
from dforest.inspection.report.svg import clean
from dforest.inspection.report.targets import Classes, Numbers

DEPENDENCES = 6  # features whose partial dependence is shown


class Study:
    """A fitted forest, and what follows from it and from rows, each computed when it is first asked for.

    Parameters
    ----------
    forest : estimator
        Fitted.
    X, y
        Rows and their targets, as `report` is given them.

    Attributes
    ----------
    estimator : estimator
    forest : dforest.core.forest.arrays.Forest
    rows : dforest.inspection.report.rows.Rows or None
    target : Classes or Numbers
        What is said of the targets: see `dforest.inspection.report.targets`.
    classes : list of str
        Names of the classes; empty for regression.
    names : list of str
        Names of the features.
    curve : ndarray of shape (n_trees,), or None
        Errors out of bag of the first 1, 2, ... trees: misclassification rates, or roots of mean squared errors, which follow
        the law of `dforest.inspection.report.curve` too, to first order.
    """

    def __init__(self, forest, X, y):
        self.estimator, self.forest = forest, forest.forest_
        self.rows = None if X is None else Rows(forest, X, y)
        self.target = Classes() if is_classifier(forest) else Numbers()
        self.classes = [clean(label) for label in getattr(forest, "classes_", np.empty(0)).tolist()]
        self.names = [clean(name) for name in names_of_features(forest, None)]
        self.curve = self.target.curve(getattr(forest, "oob_curve_", None))

    @property
    def has_targets(self):
        return self.rows is not None and self.rows.y is not None

    @property
    def bootstraps(self):
        return all(plan.leaves_rows_out for plan in self.forest.plans)

    @cached_property
    def known_to(self):
        """The standard error of the last error out of bag, as an estimate for new rows; NaN if it is not known."""
        error = getattr(self.estimator, "oob_error_per_observation_", np.zeros(0))  # those of dforest.dask have none
        error = error[np.isfinite(error)]
        if len(error) < 2:
            return np.nan
        return self.target.known_to(assessment.deviation(error, 1) / np.sqrt(len(error)), self.curve[-1])

    @cached_property
    def trend(self):
        """The law of the curve, or None."""
        return None if self.curve is None else fit_trend(self.curve)

    @cached_property
    def predictions(self):
        """Of the rows: see `Rows.predictions`."""
        return self.rows.predictions()

    @cached_property
    def quality(self):
        """A `ClassQuality` or `NumberQuality` of the rows; None if none of them has a prediction."""
        rows, prediction, _ = self.predictions
        true = self.rows.y[rows]
        return self.target.assess(true, prediction) if len(rows) else None

    @cached_property
    def impurity(self):
        """(mean, standard deviation over trees) of importances by impurity."""
        return impurity_importance(self.forest)

    @cached_property
    def permutation(self):
        """The `Importance` by permutation, or None."""
        return assessment.permuted(self.rows) if self.has_targets else None

    @cached_property
    def order(self):
        """Numbers of the features, the most important one first: by permutation where that is known, else by impurity."""
        mean = self.impurity[0] if self.permutation is None else self.permutation.mean
        mean = np.nan_to_num(mean, nan=-np.inf)
        return np.lexsort([-self.impurity[0], -mean])

    @cached_property
    def dependences(self):
        """The `Dependence` of predictions on the most important features; none if there is one class."""
        if len(self.classes) == 1:
            return []
        shown = assessment.shown_classes(self.rows)
        found = [assessment.dependence(self.rows, int(j), shown) for j in self.order[:DEPENDENCES]]
        return [each for each in found if each is not None]

    @cached_property
    def map(self):
        """(numbers of the rows on it, points, shares of variance) of the proximity map."""
        chosen = self.rows.sample(proximity.MAP_ROWS)
        regions = proximity.regions_of(self.forest, self.rows.leaves(self.rows.X[chosen]))
        near = proximity.proximity_of(regions)
        return chosen, *proximity.classical_scaling(1 - near)

    @cached_property
    def sizes(self):
        return sizes_of(self.forest)

    @cached_property
    def digest(self):
        return digest_of(self.forest)

    @cached_property
    def parameters(self):
        return parameters_of(self.estimator)
