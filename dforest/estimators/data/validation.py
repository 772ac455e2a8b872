"""What users pass beside X, checked and converted to what the core takes: y, weights, and numbers of features, draws and threads.

Each function returns arrays that say exactly what the input said, or raises an error that names the
parameter or column, the value and what is allowed.
"""

import math
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_monotonic_cst, _check_sample_weight

from dforest.core.cores import unbound
from dforest.core.threads import openmp_threads
from dforest.estimators.data.agreement import error_of_types
from dforest.estimators.data.column_check import check_values
from dforest.estimators.data.given import given_numbers
from dforest.estimators.data.labels import some_of
from dforest.spmd.communicator import ALONE

MAX_ROWS = 2**32 - 1  # row numbers of the core have 32 bits
MAX_THREADS = 2**31 - 1


def check_classes(y):
    """The classes in ascending order, and the number of each row's class as int32.

    Raises
    ------
    ValueError
        If `y` holds no classes, or classes without an order.
    """
    try:
        if y.dtype.kind in "biu" and int(y.max()) - int(y.min()) < len(y):
            classes, numbers = _count_classes(y)
            if 2 * len(classes) > len(y):
                check_classification_targets(y)  # which finds the classes once more, and warns that they are many
            return classes, numbers
        check_classification_targets(y)
        classes, y = np.unique(y, return_inverse=True)
    except TypeError:
        if len({type(label) for label in y}) == 1:
            raise
        raise error_of_types("y", y) from None
    return classes, y.astype(np.int32)


def _count_classes(y):
    """What `check_classes` returns, for integers that are close to each other, without sorting them."""
    wide = np.uint64 if y.dtype == np.uint64 else np.int64  # so that differences are in range
    lowest = wide(y.min())
    is_there = np.zeros(int(y.max()) - int(lowest) + 1, bool)
    parts = [slice(first, first + _PART) for first in range(0, len(y), _PART)]
    for part in parts:
        is_there[np.subtract(y[part], lowest, dtype=wide)] = True
    numbers, of_rows = np.cumsum(is_there, dtype=np.int32) - np.int32(1), np.empty(len(y), np.int32)
    for part in parts:
        of_rows[part] = numbers[np.subtract(y[part], lowest, dtype=wide)]
    return (np.flatnonzero(is_there).astype(wide) + lowest).astype(y.dtype), of_rows


_PART = 1 << 16  # rows whose labels are looked at together, so that what is computed of them stays in the cache


def check_targets(y):
    """Targets of regression as float64, in which -0 becomes 0.

    Raises
    ------
    ValueError
        If a target is missing, or is not a number that float64 can hold.
    """
    if y.dtype.kind not in "biuf":
        raise ValueError(f"y holds {y.tolist()[0]!r}; allowed are finite numbers")
    check_values("y", y)
    y = y.astype(np.float64) + 0.0
    if np.isnan(y).any():
        raise ValueError("Input y contains NaN; allowed are finite numbers")
    return y


def check_counts(least, greatest):
    """Raise ValueError if a target is negative, or if all are 0: a Poisson distribution has a positive mean.

    Parameters
    ----------
    least, greatest : float
        Of all targets.
    """
    if least < 0:
        raise ValueError(
            f'y holds {least}; allowed with criterion="poisson" are numbers from 0: Some value(s) of y are negative '
            "which is not allowed for Poisson regression."
        )
    if greatest == 0:
        raise ValueError(
            'y is 0 everywhere; criterion="poisson" needs a number above 0: Sum of y is not strictly positive which is necessary '
            "for Poisson regression."
        )


def check_directions(estimator, monotonic_cst):
    """The constraint of each feature, 0 for features without one: ndarray of shape (n_features,), dtype int8.

    Parameters
    ----------
    estimator : estimator
        Its classes, if it has any, and what its features are, `is_categorical_` or None, are known.
    monotonic_cst : array-like, dict or None
        Its parameter.

    Raises
    ------
    ValueError
        If a constraint is not -1, 0 or 1, if there are more or fewer than features, if a name is unknown, if a
        constrained feature is categorical, or if there are more than two classes.
    """
    try:
        directions = np.ascontiguousarray(_check_monotonic_cst(estimator, monotonic_cst), np.int8)
    except ValueError as error:
        if "unexpected feature names" not in str(error):
            raise
        raise ValueError(f"{error} The columns of X are {some_of(estimator.feature_names_in_)}") from None
    if not directions.any():
        return directions
    n = np.max(getattr(estimator, "n_classes_", 1))
    if n > 2:
        raise ValueError(
            f"monotonic_cst: Monotonicity constraints are for two classes at most; y has {n} classes: monotonic constraints are "
            "not supported for multiclass classification."
        )
    is_categorical = False if estimator.is_categorical_ is None else estimator.is_categorical_
    categorical = np.flatnonzero(is_categorical & (directions != 0))
    if len(categorical):
        name = getattr(estimator, "feature_names_in_", range(len(directions)))[categorical[0]]
        raise ValueError(
            f"monotonic_cst constrains X column {name!r}, which is categorical; allowed are continuous and ordinal features: "
            "Categorical features cannot have monotonic constraints."
        )
    return directions


def check_weights(sample_weight, X, ranks=ALONE):
    """Sample weights as float64; None remains None.

    Parameters
    ----------
    sample_weight : list of (array-like of shape (n_rows of the part,), or None)
        Of each part of X; None of one part means None of all.
    X : list of ndarray of shape (n_rows of the part, n_features)
    ranks : Communicator, default=ALONE
        Who else has rows, and weights if there are any here.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64, or None
        Of all parts.

    Raises
    ------
    ValueError
        If a weight is negative, NaN or infinite, if all are 0, or if there are more or fewer than rows.
    """
    if any(weight is None for weight in sample_weight):
        return None
    checked = [np.zeros(0)]
    for weight, part in zip(sample_weight, X, strict=True):
        if len(part) == 0:
            continue
        weight = np.full(len(part), float(weight)) if isinstance(weight, Real) else given_numbers("sample_weight", weight)
        if weight.shape == (len(part),) and not weight.any():  # which scikit-learn refuses, though others may have weights
            checked.append(np.zeros(len(part)))
            continue
        checked.append(_check_sample_weight(weight, part, dtype=np.float64))
        if checked[-1].min(initial=0) < 0:
            raise ValueError(
                f"Negative values in data passed to `sample_weight`: got {checked[-1].min()}; allowed are finite numbers from 0"
            )
    checked = np.concatenate(checked)
    if not ranks.any(checked.any()):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return checked


def check_class_weight(class_weight, classes):
    """The factor of each class, given a dict that may leave out classes: ndarray of shape (n_classes,), dtype float64.

    As in scikit-learn, a dict that leaves out none may also name classes that these rows, say of a fold, lack.

    Raises
    ------
    ValueError
        If the dict leaves out a class and names something that is not a class, or a factor is not a finite number from 0.
    """
    classes = classes.tolist()
    lacking = [label for label in classes if label not in class_weight]
    for label, factor in class_weight.items():
        if lacking and label not in classes:
            raise ValueError(f"class_weight names the class {label!r}, but not {lacking[0]!r}; the classes are {classes}")
        if not (isinstance(factor, Real) and 0 <= factor < math.inf):
            raise ValueError(f"class_weight gives the class {label!r} {factor!r}; allowed are finite numbers from 0")
    return np.array([class_weight.get(label, 1.0) for label in classes], np.float64)


def count_features(max_features, n_features):
    """How many of `n_features` a value of `max_features` means: all of them, if it is more."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return math.isqrt(n_features)
    if max_features == "log2":
        return max(1, n_features.bit_length() - 1)
    if not isinstance(max_features, Integral):
        return max(1, int(max_features * n_features))
    return int(min(max_features, n_features))


def count_samples(limit, n_draws, least):
    """How many of a tree's draws a value of `min_samples_split` or `min_samples_leaf` means. They may be more than there are."""
    if not isinstance(limit, Integral):
        return max(least, math.ceil(limit * n_draws))
    return int(min(limit, MAX_ROWS + 1))  # no tree has as many draws


def count_threads(n_jobs):
    """How many threads a value of `n_jobs` means in the calling process at this time.

    joblib knows what None means in a `joblib.parallel_config`, how many cores the process may use, and
    where work is nested so deep that there should be no more threads. Where `n_jobs` names no number,
    OpenMP's limit counts too: joblib sets it in its worker processes to their share of the cores, and
    `threadpoolctl.threadpool_limits` sets it for a block of code. Cores are those of the process, even if OpenMP has bound the
    calling thread to one of them.
    """
    with unbound():
        n_threads = effective_n_jobs(n_jobs)
    if n_threads > MAX_THREADS:
        raise ValueError(f"n_jobs={n_jobs} means {n_threads} threads; allowed are up to {MAX_THREADS}")
    return n_threads if n_jobs is not None and n_jobs > 0 else min(n_threads, openmp_threads())
