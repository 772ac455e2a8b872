"""One output of an estimator of several, as an estimator that a report can be about."""

import numpy as np

from dforest.estimators.boosting.losses import Loss
from dforest.estimators.data.outputs import check_columns
from dforest.estimators.kinds import Forest

# Attributes that are about all outputs together, which an estimator of one of them does not have.
OF_ALL = ("oob_error_", "oob_error_per_observation_", "oob_curve_", "oob_score_", "n_never_oob_", "_estimates_of")


def estimator_of_output(estimator, output):
    """An estimator that predicts one output of a fitted estimator of several, whose trees it shares.

    Parameters
    ----------
    estimator : estimator
    output : int
        Its number, from 0 on.

    Returns
    -------
    estimator
        Of the same class, with what reports ask for.
    """
    found = object.__new__(type(estimator))
    found.__dict__.update({name: value for name, value in dict(vars(estimator)).items() if name not in OF_ALL})
    found.forest_ = estimator.forest_.of_output(output)
    for name in ("classes_", "n_classes_", "oob_decision_function_"):
        if hasattr(estimator, name):
            value = getattr(estimator, name)
            setattr(found, name, value[output] if isinstance(value, list) else value[..., output])
    if hasattr(estimator, "oob_prediction_"):
        found.oob_prediction_ = np.ascontiguousarray(estimator.oob_prediction_[:, output])
    if not isinstance(estimator, Forest):
        classes, name = getattr(found, "classes_", None), estimator._loss.name
        found._loss = estimator._loss.of_output(output) if classes is None else Loss.of_classes(name, len(classes))
        found.score_history_ = {}
    return found


def column_of(y, output, n_outputs):
    """The column of y that has an output's targets: a Series, if y is a frame of pandas; None if y is None."""
    if y is None:
        return None
    is_frame = hasattr(y, "iloc")
    table = y if is_frame else np.asarray(y)
    check_columns(table, n_outputs)
    return table.iloc[:, output] if is_frame else table[:, output]
