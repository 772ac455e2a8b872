"""Several outputs: a y of two axes, a column for each of them, which the same trees predict together.

Classes, their numbers and what is estimated of them come in a list then, output by output, as in scikit-learn. An output is
known by its place among the columns of y.
"""

import numpy as np
from sklearn.utils import column_or_1d

from dforest.estimators.data.agreement import common_labels, error_of_types, join_labels
from dforest.estimators.data.validation import check_class_weight, check_classes


def by_output(y):
    """y as an array of one axis if it has one column, with scikit-learn's warning, or else of two axes."""
    if y.ndim == 2 and y.shape[1] == 1:
        return column_or_1d(y, warn=True)
    if y.ndim > 2 or y.shape[-1] == 0:
        raise ValueError(f"y has the shape {y.shape}; allowed are arrays of one axis, or of two with a column for each output")
    return y


def columns_of(y):
    """The targets of each output, contiguous: list of ndarray of shape (n_rows,)."""
    return [y] if y.ndim == 1 else [np.ascontiguousarray(column) for column in y.T]


def prediction_columns(objective):
    """The columns of each output in means over trees, or in raw predictions: tuple of slice."""
    return objective.outputs if objective.n_outputs > 1 else (slice(None),)


def classes_by_output(y, n_outputs, ranks):
    """The classes of all ranks and the class numbers of this rank's rows, output by output. A collective.

    Parameters
    ----------
    y : list of ndarray of shape (n_rows of the partition, n_outputs)
        Of each partition of this rank that has rows.
    n_outputs : int
    ranks : Communicator

    Returns
    -------
    list of ndarray
        The classes of each output, ascending.
    ndarray of shape (n_rows, n_outputs), dtype int32
    """
    found = []
    for output in range(n_outputs):
        name, classes, numbers = f"column {output} of y", np.zeros(0), np.zeros(0, np.int32)
        if y:
            column = join_labels(name, [_of_one_type(name, part[:, output]) for part in y])
            try:
                classes, numbers = check_classes(np.ascontiguousarray(column))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        found.append(common_labels(ranks, name, classes, numbers))
    return [classes for classes, _ in found], np.stack([numbers for _, numbers in found], axis=1)


def _of_one_type(name, labels):
    """Labels as an array of the type they have, which may be numbers beside columns of text."""
    if labels.dtype != object:
        return labels
    if len({type(label) for label in labels}) > 1:
        raise error_of_types(name, labels)
    return np.array(labels.tolist())


def classes_of(classifier):
    """The classes of each output of a fitted classifier: list of ndarray."""
    return classifier.classes_ if isinstance(classifier.classes_, list) else [classifier.classes_]


def most_probable(probability, outputs):
    """The number of the most probable class of each output, the lowest of equals: ndarray of shape (n_rows, n_outputs).

    Parameters
    ----------
    probability : ndarray of shape (n_rows, n_values)
        Of the classes of all outputs.
    outputs : tuple of slice
        The columns of each output.
    """
    return np.stack([probability[:, own].argmax(axis=1) for own in outputs], axis=1)


def check_columns(y, n_outputs):
    """Raise ValueError unless y has a column for each output."""
    n = y.shape[1] if y.ndim == 2 else 1
    if n != n_outputs:
        raise ValueError(f"y has {n} columns; the estimator predicts {n_outputs}")


def count_outputs(y, ranks):
    """How many columns y has; a rank without rows does not know it. A collective.

    Parameters
    ----------
    y : list of ndarray
        Of each partition of this rank that has rows, as `by_output` returns it.
    ranks : Communicator

    Raises
    ------
    ValueError
        If y has other numbers of columns in other partitions.
    """
    there = [part.shape[1] if part.ndim > 1 else 1 for part in y]
    n_outputs = int(ranks.greatest(np.array([max(there, default=1)], np.int64))[0])
    for n_own in there:
        if n_own != n_outputs:
            raise ValueError(f"y has {n_own} columns, but {n_outputs} in other rows; allowed is one number for all rows")
    return n_outputs


def same_classes(first, second):
    """Whether two estimators know the same classes: arrays, or lists of one for each output."""
    several = isinstance(first, list)
    if several != isinstance(second, list) or len(first) != len(second):
        return False
    return all(map(np.array_equal, first, second)) if several else np.array_equal(first, second)


def class_weights(class_weight, classes):
    """The factors of classes by output, given a list of dicts: see `check_class_weight`."""
    if not isinstance(class_weight, list):
        raise ValueError(
            f"class_weight={class_weight!r} for {len(classes)} outputs: For multi-output, class_weight should be a list of "
            "dicts, or the string 'balanced'."
        )
    if len(class_weight) != len(classes):
        raise ValueError(
            f"class_weight has {len(class_weight)} entries for {len(classes)} outputs: For multi-output, number of elements in "
            "class_weight should match number of outputs."
        )
    for output, one in enumerate(class_weight):
        if not isinstance(one, dict):
            raise ValueError(f"class_weight has {one!r} for column {output} of y; allowed are dicts")
    return [check_class_weight(one, labels) for one, labels in zip(class_weight, classes, strict=True)]


def joint_classes(numbers, labels, ranks):
    """The classes of all outputs together, those that occur on any rank: (numbers of the rows, tuples of labels by number)."""
    there = np.concatenate([numbers, *ranks.gather(np.unique(numbers, axis=0))])
    rows, joint = np.unique(there, axis=0, return_inverse=True)
    joint = joint[: len(numbers)]
    names = np.empty(len(rows), object)
    names[:] = [tuple(of_output[k] for of_output, k in zip(labels, row, strict=True)) for row in rows.tolist()]
    return joint.ravel().astype(np.int32), names
