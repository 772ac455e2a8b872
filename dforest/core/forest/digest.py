"""A digest of a forest: a few letters that tell whether two forests are the same, on any machine."""

import hashlib

import numpy as np


def digest_of(forest):
    """The SHA-256 digest of the trees of a forest.

    It covers the arrays of nodes and leaves, the seeds, how trees drew rows, and what they predict; neither the labels of
    classes nor the names of features. Arrays are read in little-endian order; NaN and 0 count without their signs.

    Parameters
    ----------
    forest : dforest.core.forest.arrays.Forest

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    found = hashlib.sha256()
    settings = (forest.seed, forest.n_features, forest.objective, forest.criterion, forest.plans)
    found.update(repr(settings).encode())
    arrays = forest.as_dict()
    arrays["weight_unit"] = forest.weight_unit
    for name in ("seeds", "n_rows", "n_categories"):
        arrays[name] = np.asarray(getattr(forest, name), np.int64)
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), array.dtype.type(np.nan), array + array.dtype.type(0))
        found.update(f"{name} {array.dtype.str[1:]} {array.shape}".encode())
        found.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)
    return found.hexdigest()
