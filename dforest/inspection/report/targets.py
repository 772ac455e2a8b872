"""What a report says of classes, and what it says of numbers: sentences, figures and pictures that differ between the two."""

import numpy as np

from dforest.inspection.report import assessment, pictures, quality
from dforest.inspection.report.markup import number, percent
from dforest.inspection.report.text import shortened

LISTED_LABELS = 12
OWN_COLOURS = 10  # classes on the map


class Classes:
    """Of classifiers."""

    task = "classification"
    noun = "class"
    colours_targets = True  # rows on the map; else predictions
    of_training = "The forest was grown on these rows, which sets classes and targets further apart than those of new rows."
    no_curve = None  # why there is none, if that is another reason than for other forests
    error_name = "misclassification rate"
    of_boxes = "A box names the class of most weight, and its share."
    of_map = "Groups within a class, and rows among those of another, are worth a look."
    out_of_bag = "oob_decision_function_"  # the attribute that has predictions

    def curve(self, errors):
        """What is shown of mean errors out of bag."""
        return errors

    def known_to(self, deviation, error):
        """The standard error of an error that is shown, given that of the mean error."""
        return deviation

    def assess(self, study, true, prediction):
        """A `ClassQuality`."""
        return assessment.assess_classes(true, prediction, study.classes, study.positive, study.rare)

    of_constant = "a constant prediction: the shares of the classes, for each row"

    def constant(self, study, true):
        """What `of_constant` says, as predictions."""
        return assessment.constant_classes(true, len(study.classes))

    def parts(self, study):
        """The parts of the section on predictions."""
        return quality.class_parts(study)

    def tiles(self, study):
        """Figures for the head of the page that need no rows: a list of (name, value)."""
        found = [("Classes", f"{len(study.classes):,}")]
        error = getattr(study.estimator, "oob_error_", np.nan)
        is_known = study.has_targets and study.predictions[2]  # the measure is there already, of the same predictions
        shows = np.isfinite(error) and study.rare is None and not study.measure.is_chosen and not is_known
        return found + [("Out-of-bag accuracy", percent(1 - error))] * bool(shows)

    def facts(self, study):
        """What is known of the targets: rows of a table."""
        labels = [shortened(name, 30) for name in study.classes[:LISTED_LABELS]]
        more = len(study.classes) - len(labels)
        return [("Classes", f"{len(study.classes):,}: {', '.join(labels)}" + (f" and {more:,} more" if more else ""))]

    def value(self, prediction):
        """What rows are coloured by if they have no targets."""
        return prediction.argmax(axis=1)

    def map(self, study, label, points, by):
        """The proximity map, whose points are coloured by class numbers."""
        counts = np.bincount(by, minlength=len(study.classes))
        most = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        own = np.sort(most[:OWN_COLOURS])
        names = {int(k): study.classes[k] for k in own}
        return pictures.proximity_of_classes(label, points, by, names)


class Numbers:
    """Of regressors."""

    task = "regression"
    noun = "target"
    colours_targets, of_training, no_curve = True, Classes.of_training, None
    error_name = "root mean squared error"
    of_boxes = "A box has the mean of its targets."
    of_map = "Rows apart from all others, or among others of quite another colour, are worth a look."
    out_of_bag = "oob_prediction_"

    def curve(self, errors):
        return None if errors is None else np.sqrt(errors)

    def known_to(self, deviation, error):
        return deviation / (2 * error) if error > 0 else np.nan

    def assess(self, study, true, prediction):
        return assessment.assess_numbers(true, prediction[:, 0])

    of_constant = "a constant prediction: the mean of the targets, for each row"

    def constant(self, study, true):
        return assessment.constant_numbers(true)[:, None]

    def parts(self, study):
        return quality.number_parts(study)

    def tiles(self, study):
        curve = study.curve
        if study.measure.is_chosen or curve is None or curve.where != "out of bag" or not np.isfinite(curve.values[-1]):
            return []
        return [("Out-of-bag root mean squared error", number(curve.values[-1]))]

    def facts(self, study):
        return []

    def value(self, prediction):
        return prediction[:, 0]

    def map(self, study, label, points, by):
        return pictures.proximity_of_numbers(label, points, by)
