"""All that a report shows of a forest or of boosted trees, computed."""

from functools import cached_property
from warnings import catch_warnings

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector

from dforest.core.forest.digest import digest_of
from dforest.estimators.data.validation import count_threads
from dforest.estimators.kinds import CausalTrees, Forest, RankingTrees, SurvivalTrees
from dforest.inspection.export import names_of_features
from dforest.inspection.report import assessment, effects, outliers, proximity, survival
from dforest.inspection.report.curve import Curve
from dforest.inspection.report.facts import parameters_of, sizes_of
from dforest.inspection.report.measure import Measure
from dforest.inspection.report.models import model_of
from dforest.inspection.report.rankings import Rankings, measure_of, name_of
from dforest.inspection.report.rows import Rows
from dforest.inspection.report.targets import Classes, Numbers
from dforest.inspection.report.text import clean, shortened

DEPENDENCES = 6  # features whose partial dependence is shown
RARE = 0.2  # of the share that a class would have if all were equally common
CURVE_POINTS = 40  # of a score that is not known already
CURVE_ROWS = 20_000  # that are scored for it


class Study:
    """A fitted forest or model, and what follows from it and from rows, each computed when it is first asked for.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X, y
        Rows and their targets, as `report` is given them.
    scoring : str, callable or None
    output : tuple of (int, int), optional
        Which output of how many the estimator predicts, if it shares its trees with others.
    told : tuple, optional
        Of the rows' queries, as of `Rows`; of a causal forest, the numbers of an outcome and of a treatment.

    Attributes
    ----------
    estimator : estimator
    model : ForestModel or BoostedModel
    forest : dforest.core.forest.arrays.Forest
    rows : dforest.inspection.report.rows.Rows or None
    target : Classes, Numbers, Rankings, Survival, Outliers or Effects
        What is said of the targets: see `dforest.inspection.report.targets`.
    classes : list of str
        Names of the classes; empty for regression.
    names : list of str
        Names of the features.
    rare : int or None
        The least common class of the rows, if it has far less than its share.
    positive : int or None
        The class whose probability is looked at: of two classes, the rare one or the second one; None if there are not two.
    measure : Measure
    """

    def __init__(self, estimator, X, y, scoring=None, output=None, told=(None, None)):
        self.estimator, self.model, self.output = estimator, model_of(estimator), output
        self.forest = self.model.forest
        self.rows = None if X is None else Rows(estimator, X, y, told)
        is_ranker, has_times = isinstance(estimator, RankingTrees), isinstance(estimator, SurvivalTrees)
        if is_outlier_detector(estimator):
            self.target = outliers.Outliers()
        elif isinstance(estimator, CausalTrees):
            self.target = effects.Effects(*told)
        else:
            kind = Rankings if is_ranker else survival.Survival if has_times else Classes if is_classifier(estimator) else Numbers
            self.target = kind()
        self.classes = [clean(label) for label in getattr(estimator, "classes_", np.empty(0)).tolist()]
        self.names = [clean(name) for name in names_of_features(estimator, None)]
        self.rare = self._rare_class()
        self.positive = None if len(self.classes) != 2 else 1 if self.rare is None else self.rare
        if is_ranker:
            self.measure = measure_of(estimator, self.rows, scoring)
        elif has_times:
            self.measure = survival.measure_of(self.rows, scoring)
        elif scoring is None:
            rare_name = None if self.rare is None else shortened(self.classes[self.rare], 30)
            self.measure = Measure.usual(estimator, self.rare, rare_name)
        else:
            self.measure = Measure.named(estimator, scoring)

    def _rare_class(self):
        if not self.has_targets or len(self.classes) < 2:
            return None
        counts = np.bincount(self.rows.y, minlength=len(self.classes))
        least = int(np.where(counts > 0, counts, len(self.rows) + 1).argmin())
        return least if counts[least] < RARE / len(self.classes) * len(self.rows) else None

    @property
    def is_forest(self):
        return isinstance(self.estimator, Forest)

    @property
    def has_targets(self):
        return self.rows is not None and self.rows.y is not None

    @property
    def target_name(self):
        """The name of y, if it is a Series that has one; else None."""
        name = getattr(self.rows.given[1], "name", None) if self.has_targets else None
        return clean(name) if isinstance(name, str) and name else None

    @property
    def bootstraps(self):
        return all(plan.leaves_rows_out for plan in self.forest.plans)

    @property
    def where(self):
        """Of which rows predictions are, and by which trees."""
        if self.predictions[2]:
            return "out of bag"
        return "of its training rows" if self.rows.is_training else "of the rows of X"

    @cached_property
    def curve(self):
        """The `Curve` of the measure by the number of trees or iterations, or of the error that is known; None without any."""
        known = self._known_curve()
        says_more = self.measure.is_chosen or (self.is_forest and self.rare is not None)
        if self.has_targets and (says_more or known is None):
            return self._measured_curve() or known
        return known

    def _known_curve(self):
        """The curve that the estimator has."""
        if self.is_forest:
            errors = self.target.curve(getattr(self.estimator, "oob_curve_", None))
            if errors is None:
                return None
            n_trees = np.arange(1, len(errors) + 1)
            return Curve(n_trees, errors, self.target.error_name, True, "out of bag", "tree", self._known_to(errors[-1]))
        for name, scores in self.estimator.score_history_.items():
            is_error = name == "loss" or name.startswith("neg_")
            sign = -1 if is_error else 1
            training, held_out = (
                None if array is None else sign * array[1:] for array in (scores["training"], scores.get("validation"))
            )
            numbers, name = np.arange(1, len(training) + 1), name_of(clean(name)).removeprefix("neg_").replace("_", " ")
            kept = {
                "n_kept": self.model.n_steps if self.model.n_steps < len(training) else None,
                "n_iter_no_change": self.estimator.n_iter_no_change_,
            }
            if held_out is None:
                return Curve(numbers, training, name, is_error, "of training rows", "iteration", **kept)
            return Curve(numbers, held_out, name, is_error, "of rows held out", "iteration", other=training, **kept)
        return None

    def _measured_curve(self):
        """The curve of the measure on the rows; None where trees know these, and can't be told from others."""
        numbers = np.unique(np.linspace(1, self.model.n_steps, CURVE_POINTS).round().astype(int))
        scored = self.rows.sample(CURVE_ROWS)
        if not self.rows.is_training:
            staged = ((scored, found) for found in self.model.staged(self.rows.X[scored], numbers))
        elif self.model.leaves_rows_out and self.predictions[2]:
            staged = self._staged_out_of_bag(numbers, scored)
        else:
            return None
        values = np.array([self.measure(self.rows.y[rows], found) if len(rows) else np.nan for rows, found in staged])
        name, is_error = self.measure.name, self.measure.is_error
        n_scored = len(scored) if len(scored) < len(self.rows) else None
        return Curve(numbers, self.measure.shown(values), name, is_error, self.where, self.model.unit, n_scored=n_scored)

    def _staged_out_of_bag(self, numbers, scored):
        is_scored = np.isin(np.arange(len(self.rows)), scored)
        for seen, found in self.model.staged_out_of_bag(self.rows.given, numbers):
            rows = np.flatnonzero(seen)
            yield rows[is_scored[rows]], found[is_scored[rows]]

    def _known_to(self, last):
        """The standard error of the last error out of bag, as an estimate for new rows; NaN if it is not known."""
        error = getattr(self.estimator, "oob_error_per_observation_", np.zeros(0))  # those of dforest.dask have none
        error = error[np.isfinite(error)]
        if len(error) < 2:
            return np.nan
        return self.target.known_to(assessment.deviation(error, 1) / np.sqrt(len(error)), last)

    @cached_property
    def predictions(self):
        """Of the rows: see `Rows.predictions`."""
        return self.rows.predictions()

    @cached_property
    def quality(self):
        """A quality of the rows, as `target` assesses it, such as a `ClassQuality`; None if none of them has a prediction."""
        rows, prediction, _ = self.predictions
        return self.target.assess(self, self.rows.y[rows], prediction) if len(rows) else None

    @cached_property
    def score(self):
        """The measure of the predictions for the rows: float."""
        rows, prediction, _ = self.predictions
        return self.measure(self.rows.y[rows], prediction)

    @cached_property
    def constant_score(self):
        """The measure of a constant prediction for the same rows: float; NaN where a measure of one's choice can't score it."""
        rows, _, _ = self.predictions
        true = self.rows.y[rows]
        try:
            with catch_warnings(action="ignore"):  # that no row is predicted to be of a class
                return assessment.without_rounding(self.measure(true, self.target.constant(self, true)), self.score)
        except ValueError:
            return np.nan

    @cached_property
    def own_importance(self):
        """(importances that the trees have by themselves, their standard deviations over trees or None)."""
        return self.model.own_importances()

    @cached_property
    def permutation(self):
        """The `Importance` by permutation, or None."""
        return assessment.permuted(self.rows, self.measure, self.own_importance[0], self.rare) if self.has_targets else None

    @cached_property
    def order(self):
        """Numbers of the features, the most important one first: by permutation where that is known, else as trees say."""
        own = self.own_importance[0]
        mean = np.nan_to_num(own if self.permutation is None else self.permutation.mean, nan=-np.inf)
        return np.lexsort([-own, -mean])

    @cached_property
    def dependences(self):
        """The `Dependence` of predictions on the most important features; none if there is one class."""
        if len(self.classes) == 1:
            return []
        shown = assessment.shown_classes(self.rows, self.positive)
        found = [assessment.dependence(self.rows, int(j), shown) for j in self.order[:DEPENDENCES]]
        return [each for each in found if each is not None]

    @cached_property
    def map(self):
        """(numbers of the rows on it, points, shares of variance) of the proximity map."""
        chosen = self.rows.sample(proximity.MAP_ROWS)
        leaves = self.forest.packed().apply(self.rows.X[chosen], count_threads(self.estimator.n_jobs))
        near = proximity.proximity_of(proximity.regions_of(self.forest, leaves))
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
