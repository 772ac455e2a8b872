"""X and y on their way from what users pass to what trees take: each step once, for all estimators and any number of ranks.

In a fit, `training_rows` takes a `Partition` (X, y and what goes with them) through these steps: X is read, as a `Table`; the
ranks agree, and `Features` learn what its columns are; it is checked, and encoded as a matrix, a *part*; the parts of all
partitions have one type and weights, as `TrainingRows`; `coded_columns` makes codes of them. For prediction the table is checked
and encoded by the features of the fit. Errors say what scikit-learn's say, or name the column, the value and what is allowed.
"""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import _check_y, _get_feature_names, check_array, check_consistent_length, validate_data

from dforest.core.readable import readable
from dforest.core.sparse_rows import SparseRows
from dforest.engines.weights import TrainingRows
from dforest.estimators.data.agreement import check_alike, common_features, common_floats
from dforest.estimators.data.encoder import CATEGORICAL, ORDINAL
from dforest.estimators.data.features import Features
from dforest.estimators.data.given import given_numbers, given_values
from dforest.estimators.data.outputs import by_output
from dforest.estimators.data.validation import MAX_ROWS, check_weights
from dforest.estimators.kinds import BoostedTrees
from dforest.spmd.binning import code_columns_together


class _NamedArray:
    """A frame's values with its column names, for versions of scikit-learn that can't read the names of such a frame."""

    def __init__(self, frame):
        self.frame = frame
        self.shape = frame.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.frame, dtype)

    def __dataframe__(self, **kwargs):
        return self

    def column_names(self):
        return self.frame.columns


def _check_names(estimator, X, reset):
    """Set the names and the number of columns, or compare them; an error about names as LightGBM writes them has a hint."""
    if hasattr(X, "iter_columns") and _get_feature_names(X) is None:
        X = _NamedArray(X)
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        names, known = _get_feature_names(X), vars(estimator).get("feature_names_in_")
        written = None if names is None else [name.replace(" ", "_") for name in names]
        if reset or known is None or written != list(known) or written == list(names):
            raise
        raise ValueError(
            f"{str(error).rstrip()}\nX has spaces where the estimator has '_'. LightGBM writes names so: convert its model by "
            "dforest.from_lightgbm(model, feature_names=X.columns); otherwise rename the columns of X"
        ) from None


def checked_rows(estimator, table, features, reset=False, min_rows=1):
    """X as a C-contiguous array of float32, if it has that type, or else of float64; a sparse one as `SparseRows` of these.

    Parameters
    ----------
    estimator : estimator
        Whose names of features are set (with ``reset=True``) or compared. Its tags say whether X may be sparse.
    table : Table
        NaN and infinities are allowed.
    features : Features
        Which columns hold labels, and the numbers of the labels.
    reset : bool, default=False
        Whether this is a fit.
    min_rows : int, default=1
        How many rows X has at least; 0 where others may have rows.

    Raises
    ------
    ValueError
        If a column that holds no labels holds something other than numbers, or numbers that float64 cannot hold.
    TypeError
        If X is sparse, and may not be.
    """
    is_sparse = issparse(table.X)
    if is_sparse and not estimator.__sklearn_tags__().input_tags.sparse:
        raise TypeError(
            f"X is a sparse matrix, which {type(estimator).__name__} does not support; allowed are arrays and frames, such as "
            "X.toarray()"
        )
    # Names and number of columns first: they say whether these are the columns that the features are of.
    _check_names(estimator, table.given, reset)
    features.check(table)
    X = check_array(
        features.encode(table), accept_sparse="csr" if is_sparse else False, dtype=[np.float64, np.float32], order="C",
        ensure_all_finite=False, ensure_min_samples=min_rows, estimator=estimator, input_name="X",
    )  # fmt: skip
    return SparseRows.of(X) if is_sparse else readable(X)


def checked_targets(estimator, y, X, min_rows=1):
    """The targets of checked rows: ndarray of numbers, if the estimator's targets are such, or of labels.

    Raises
    ------
    ValueError
        If there is none, a value is missing, or there are more or fewer than rows.
    """
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    has_numbers = estimator._target.has_numbers
    y = (given_numbers if has_numbers else given_values)("y", y)
    has_columns = np.ndim(y) > 1 and estimator.__sklearn_tags__().target_tags.multi_output
    if has_columns and not (len(y) or min_rows):  # scikit-learn takes no y of several columns without rows
        y, has_columns = np.zeros(0), False
    y = _check_y(y, multi_output=has_columns, y_numeric=has_numbers, estimator=estimator)
    check_consistent_length(X, y)
    return readable(y)


def checked_parts(estimator, partitions, features, ranks, reset=False):
    """The rows of read partitions, checked and encoded. A collective.

    Parameters
    ----------
    estimator, features, reset
        As of `checked_rows`.
    partitions : list of Partition
        This rank's.
    ranks : Communicator

    Returns
    -------
    parts : list of (ndarray of shape (n_rows of the partition, n_features), or SparseRows)
        X, of one dtype on all ranks.
    targets : list of ndarray
        y of those partitions that have rows.
    """
    min_rows = 1 if ranks.size == 1 and len(partitions) == 1 else 0
    parts = [checked_rows(estimator, partition.X, features, reset, min_rows) for partition in partitions]
    targets = [checked_targets(estimator, own.y, X, min_rows) for own, X in zip(partitions, parts, strict=True)]
    return common_floats(ranks, parts), [by_output(y) for y in targets if len(y)]


def training_rows(estimator, partitions, ranks, grown):
    """The rows that a fit is given, checked, encoded, weighed and numbered: `TrainingRows`. A collective.

    What is known of features and targets becomes attributes of the estimator.

    Parameters
    ----------
    estimator : estimator
        Its parameters.
    partitions : list of Partition
        This rank's, read.
    ranks : Communicator
    grown : Forest or None
        The trees that a warm start goes on with, whose features these rows get.

    Raises
    ------
    ValueError
        If the ranks ask for different things; if X or y are not what `fit` takes, or trees that there are were grown on others.
    """
    check_alike(ranks, estimator, partitions, grown)
    tables = [partition.X for partition in partitions]
    chosen = estimator.categorical_features, estimator.ordinal_features
    features = common_features(ranks, [Features.learn(table, *chosen) for table in tables], tables)
    parts, targets = checked_parts(estimator, partitions, features, ranks, reset=True)
    n_rows, n_features = ranks.total(sum(map(len, parts))), estimator.n_features_in_
    if not 0 < n_rows <= MAX_ROWS:
        raise ValueError(f"X has {n_rows} rows; allowed are 1 to {MAX_ROWS}")
    y = estimator._target.encode(estimator, targets, ranks)
    if grown is not None and n_features != grown.n_features:
        raise ValueError(f"X has {n_features} features, but warm_start=True goes on with trees grown on {grown.n_features}")
    rows = weighed_rows(estimator, partitions, parts, y, ranks)
    keep_features(estimator, features.kept(rows, None if grown is None else estimator._features))
    return rows


def keep_features(estimator, features):
    """Set what an estimator's columns are. Raises ValueError if one has too many categories."""
    features.check_limits()
    is_categorical = features.kinds == CATEGORICAL
    if isinstance(estimator, BoostedTrees) and not is_categorical.any():
        is_categorical = None  # as in scikit-learn
    estimator._features, estimator.categories_ = features, list(features.categories)
    estimator.is_categorical_, estimator.is_ordinal_ = is_categorical, features.kinds == ORDINAL


def weighed_rows(estimator, partitions, parts, y, ranks):
    """The `TrainingRows` of checked parts, weighed, also by class, and numbered. A collective.

    Parameters
    ----------
    estimator : estimator
        Whose target knows the weights of classes.
    partitions : list of Partition
        This rank's.
    parts : list of (ndarray, or SparseRows)
        X of each, encoded.
    y : ndarray
        The encoded targets of all of them.
    ranks : Communicator
    """
    weight = check_weights([partition.sample_weight for partition in partitions], parts, ranks)
    rows = TrainingRows(parts, y, weight, ranks, [partition.place for partition in partitions])
    rows.apply_class_weight(estimator._target.class_factors(estimator, rows))
    rows.number()
    return rows


def coded_columns(
    engine, ranks, parts, max_codes, weight, n_threads, kinds, n_categories, *, takes_keys=False, counts_missing=True,
    max_stored=0.0,
):  # fmt: skip
    """The columns of training rows as codes: by the engine, where it works, or by the processor. A collective.

    All ways give the same bits.

    Parameters
    ----------
    engine : Engine
    max_stored : float
        As of `dforest.core.coding.columns.code_columns`, for engines that take sparse columns.
    ranks, parts, max_codes, weight, n_threads, kinds, n_categories, takes_keys, counts_missing
        As of `dforest.spmd.binning.code_columns_together`.

    Returns
    -------
    list of CodedColumn
    """
    if ranks.size == 1 and len(parts) == 1:
        columns = engine.code_columns(parts[0], max_codes, weight, kinds, counts_missing)
        if columns is not None:
            return columns
    return code_columns_together(
        ranks, parts, max_codes, weight, n_threads, kinds, n_categories, takes_keys, row_major=ranks.size > 1,
        counts_missing=counts_missing, max_stored=max_stored if engine.takes_sparse else 0.0,
    )  # fmt: skip
