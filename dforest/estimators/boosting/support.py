"""What boosted trees support on devices and for rows of several ranks; all else is refused."""

import numpy as np

from dforest.config import queue_of
from dforest.core.boost.loss import Loss

NARROW = 255  # bins or categories of a column whose codes are bytes


def training_device(estimator, *arrays):
    """The `Device` where an estimator grows its trees, given the data; None for the processor.

    Raises
    ------
    ValueError
        If devices do not support what the parameters say.
    """
    arrays = [array for array in arrays if array is not None]
    if queue_of(*arrays) is None and estimator.device in (None, "cpu"):
        return None
    what = "a queue's device" if estimator.device is None else f"device={estimator.device!r}"
    _check_levels(estimator, what, "device=None")
    return estimator._device(*arrays)


def _check_levels(estimator, what, way_out):
    """Raise ValueError unless there is code for growing what the parameters say from sums over rows, whoever has these."""
    if getattr(estimator.loss, "need_update_leaves_values", False):
        raise ValueError(
            f"loss={estimator.loss!r} says what values leaves have, which is not supported for {what}; allowed are losses whose "
            f"leaves follow from derivatives, or {way_out}"
        )


def check_columns_of_y(estimator, partitions):
    """Raise ValueError if a y has several columns that are numbers, and the loss is for one.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
    partitions : list of Partition
        What this rank was given.
    """
    if not estimator._has_numbers or estimator.__sklearn_tags__().target_tags.multi_output:
        return
    for partition in partitions:
        shape = np.shape(partition.y)
        if len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                f"loss={estimator.loss!r} is for a y of one column, and y has {shape[1]}; allowed are names of losses other than "
                '"huber", or an estimator for each column, such as sklearn.multioutput.MultiOutputRegressor makes'
            )


def check_supported(estimator, device, ranks):
    """Raise ValueError if there is no code for a y of several columns, or for columns of many codes, by what is asked besides.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Its loss is known, and what its columns are.
    device : Device or None
    ranks : Communicator
    """
    _check_outputs(estimator, device, ranks)
    _check_narrow(estimator, device, ranks)


def _check_outputs(estimator, device, ranks):
    n = estimator._loss.n_outputs
    if n == 1:
        return
    refused = {
        "a device": device is not None,
        "a fit by several ranks": ranks.size > 1,
        f"monotonic_cst={estimator.monotonic_cst!r}": estimator.monotonic_cst is not None,
        "categorical features": estimator.is_categorical_ is not None,
    }
    for what, is_asked in refused.items():
        if is_asked:
            raise ValueError(
                f"y has {n} columns, which is not supported for {what} in boosted trees; allowed is a y of one column, or an "
                "estimator for each column, such as sklearn.multioutput.MultiOutputRegressor makes"
            )


def _check_narrow(estimator, device, ranks):
    asked = {
        "a device": device is not None,
        "a fit by several ranks": ranks.size > 1,
        "a y of several columns": estimator._loss.n_outputs > 1,
    }
    for what in (what for what, is_asked in asked.items() if is_asked):
        if estimator.max_bins > NARROW:
            raise ValueError(f"max_bins={estimator.max_bins} is not supported for {what}; allowed are up to {NARROW}")
        features = estimator._features
        for j in np.flatnonzero(features.n_categories > NARROW).tolist():
            raise ValueError(
                f"{features.title(j)} has {features.n_categories[j]} categories, which is not supported for {what}; allowed are "
                f"up to {NARROW}"
            )


def check_shared(estimator):
    """Raise ValueError unless there is code for a fit whose rows several ranks have."""
    where, way_out = "a fit by several ranks", "a fit in one process that has all rows"
    _check_levels(estimator, where, way_out)
    if isinstance(estimator.loss, Loss) and type(estimator.loss).fit_intercept_only is not Loss.fit_intercept_only:
        raise ValueError(
            f"loss={estimator.loss!r} has a fit_intercept_only of its own, which needs all rows and is not supported for "
            f"{where}; allowed are losses without one, or {way_out}"
        )
