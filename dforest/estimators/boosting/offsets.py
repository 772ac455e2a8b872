"""Offsets: what is known of each row's raw prediction, which it begins with."""

import numpy as np

from dforest.estimators.boosting.losses import MAX_TARGET
from dforest.estimators.data.given import given_numbers


def check_offset(offsets, lengths, n_sums, name="offset"):
    """The offsets of the rows of all parts: ndarray of shape (n_rows, n_sums), dtype float64; None if there are none.

    Parameters
    ----------
    offsets : list of (array-like, or None)
        Of each part of X; None of one part means None of all.
    lengths : list of int
        How many rows each part has.
    n_sums : int
        How many raw predictions a row has.
    name : str
        What the offsets are called, for errors.

    Raises
    ------
    ValueError
        If they are not finite numbers up to 2**500 in magnitude, or if there are more or fewer than raw predictions.
    """
    if any(offset is None for offset in offsets):
        return None
    checked = [np.zeros((0, n_sums))]
    for offset, length in zip(offsets, lengths, strict=True):
        numbers = given_numbers(name, offset)
        try:
            numbers = numbers.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} holds what are no numbers: {error}; allowed are finite numbers") from error
        shapes = [(length,), (length, 1)] if n_sums == 1 else [(length, n_sums)]
        if numbers.shape not in shapes:
            raise ValueError(f"{name} has the shape {numbers.shape}; allowed is {shapes[0]}")
        wrong = np.argwhere(~(np.abs(numbers) <= MAX_TARGET))
        if len(wrong):
            raise ValueError(
                f"{name} holds {numbers[tuple(wrong[0])]} in row {wrong[0][0]}; allowed are finite numbers up to 2**500 in "
                "magnitude"
            )
        checked.append(numbers.reshape(length, n_sums))
    return np.concatenate(checked)
