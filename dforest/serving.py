"""Models for serving: what a model file predicts, with NumPy alone.

`load` reads a file that `save` wrote, and returns an object that predicts what the estimator predicts, to the bit: by the methods
from which estimators inherit theirs. Neither scikit-learn nor SciPy is imported, and they need not be installed, but for SciPy
where quantiles and scores of distributions are asked for. Rows may come by the names of columns, and are checked as predictors
check them. Files are mapped into memory, which processes share.
"""

from collections import defaultdict
from collections.abc import Mapping
from numbers import Integral
from threading import Lock

import numpy as np

from dforest.estimators.auto.predictions import BlendedClasses, BlendedNumbers, BlendPredictions, check_blend
from dforest.estimators.boosting.distribution_predictions import BoostedDistributions
from dforest.estimators.boosting.predictions import BoostedClasses, BoostedNumbers, BoostedRanks, RawPredictions
from dforest.estimators.causal.predictions import EffectPredictions
from dforest.estimators.causal.uplift_predictions import UpliftPredictions
from dforest.estimators.data.given import check_number
from dforest.estimators.data.ranges import count_outside
from dforest.estimators.data.tables import read_table
from dforest.estimators.forest.predictions import ClassPredictions, NumberPredictions, OutlierPredictions
from dforest.estimators.forest.survival_predictions import SurvivalPredictions
from dforest.estimators.prediction import TreePredictions
from dforest.estimators.state import check_state
from dforest.interchange.storage.file import read_file
from dforest.interchange.storage.trees import read_forest

__all__ = ["ServedModel", "load"]

_MAX_THREADS = 2**31 - 1


class ServedModel:
    """A model that `load` has read for serving: base class of those of each family.

    A model has the methods that its estimator predicts by: `predict`, and `predict_proba`, `predict_log_proba` and
    `decision_function` for classes, `predict_interval` of boosted trees for numbers, `score_samples` and `decision_function` for
    outliers, `predict_survival_function`, `predict_cumulative_hazard_function`, `predict_quantiles` and
    `predict_restricted_mean` for survival times. They return what those of the estimator return, to the bit. Trees and boosted
    trees also have `predictor`, for single rows in microseconds.

    X may be an array of shape (n_rows, n_features), a list of rows, or a frame. If the estimator was fitted with column names, it
    may also be a dict from names to the values of one row or to columns of values, or a list of dicts of one row each. A name
    that the training rows did not have is an error that says so, as are a lacking name (see `missing` of `load`), a value that is
    no number in a column of numbers, and a label of another type than those in training. A missing value is None or NaN, and a
    label that was not there in training counts as missing. Threads may share a model.

    Attributes
    ----------
    estimator_name : str
        Name of the estimator's class.
    classes_ : ndarray or list of ndarray
        Classes of the training rows, in the order of the columns of probabilities; of classifiers alone.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if the estimator was fitted with names.
    n_samples_seen_ : int
        Number of rows that this model has been given so far, but for arrays given to what `predictor` returns.
    n_unseen_labels_ : ndarray of shape (n_features,), dtype int64
        For each column, how many of these rows had a label that was not there in training.
    n_out_of_range_ : ndarray of shape (n_features,), dtype int64, or None
        For each column, how many of these rows had a number below the least or above the greatest one in training. None if the
        file does not say what these are, as those of earlier versions and of converted models don't.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> from dforest import RandomForestRegressor, serving
    >>> X = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "town": ["Bern", "Oslo", "Oslo", "Bern"]})
    >>> forest = RandomForestRegressor(10, categorical_features=["town"], random_state=0).fit(X, [1.0, 2.0, 3.0, 4.0])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.safetensors")
    ...     forest.save(path)
    ...     model = serving.load(path)
    >>> rows = [{"size": 1.5, "town": "Bern"}, {"size": 9.0, "town": "Rome"}]
    >>> model.predict(rows).shape
    (2,)
    >>> model.n_samples_seen_, model.n_out_of_range_.tolist(), model.n_unseen_labels_.tolist()
    (2, [1, 0], [0, 1])
    """

    # What errors about unknown arguments of estimators' methods look into.
    _parameter_constraints, _other_names = {}, {}

    def __repr__(self):
        return f"<{self.estimator_name} for serving>"

    def __reduce__(self):
        raise TypeError("a model for serving can't be pickled; load its file again")


class _Encoder:
    """Makes arrays of rows, as a model's features say, and counts what is new in them.

    Parameters
    ----------
    features : RowEncoder
    missing : {"error", "allow"}
    """

    def __init__(self, features, missing):
        self.features, self._missing, self._lock = features, missing, Lock()
        self.n_rows, self.n_unseen, self.n_outside = 0, *np.zeros((2, len(features.kinds)), np.int64)

    def encode_rows(self, X):
        """Rows by the names of columns, and one as an array of one axis: see `RowEncoder.encode_rows`."""
        unseen = defaultdict(int)
        return self._counted(self.features.encode_rows(X, self._missing, unseen), unseen)

    def encode(self, X):
        """Rows in whatever way: ndarray of shape (n_rows, n_features), or `SparseRows`."""
        names, n = self.features.names, len(self.features.kinds)
        if _is_by_name(X, names):
            if names is None:
                raise TypeError(f"X has rows by names, but the model was fitted without names; allowed are arrays of {n} columns")
            return np.atleast_2d(self.encode_rows(X))
        table = read_table(X)
        if table.names is not None and names is not None:
            self.features.check_names(table.names)
        if table.n_columns != n:
            raise ValueError(f"X has {table.n_columns} columns; allowed are the {n} that the model was fitted with")
        unseen = defaultdict(int)
        return self._counted(self.features.encode_table(table, unseen), unseen)

    def _counted(self, rows, unseen):
        ranges = self.features.ranges
        outside = None if ranges is None else count_outside(rows, ranges)
        with self._lock:
            self.n_rows += len(rows) if len(rows.shape) == 2 else 1
            if outside is not None:
                self.n_outside += outside
            for j, n in unseen.items():
                self.n_unseen[j] += n
        return rows


def _is_by_name(X, names):
    """Whether these are rows as mappings, of which there may be none, columns as a mapping, or one row as a Series."""
    if isinstance(X, list | tuple):
        return isinstance(X[0], Mapping) if X else names is not None
    return isinstance(X, Mapping) or hasattr(X, "to_dict") and getattr(X, "ndim", 2) == 1


class _ServedTrees(TreePredictions, ServedModel):
    """A model that predicts by trees.

    Parameters
    ----------
    name : str
    n_threads : int
    missing : {"error", "allow"}
    attributes : dict
        Of the estimator, checked.
    """

    def __init__(self, name, n_threads, missing, attributes):
        vars(self).update(attributes)
        self.estimator_name, self.n_threads = name, n_threads
        self._encoder = _Encoder(self._features, missing)

    n_samples_seen_ = property(lambda self: self._encoder.n_rows)
    n_unseen_labels_ = property(lambda self: self._encoder.n_unseen.copy())
    n_out_of_range_ = property(lambda self: None if self._features.ranges is None else self._encoder.n_outside.copy())

    def _row_encoder(self):
        return self._encoder

    def _checked_rows(self, X):
        return self._encoder.encode(X)

    def _count_threads(self, is_small=False):
        return 1 if is_small else self.n_threads

    def _device(self, *arrays):
        return None  # on which files are not


class _ServedBlend(BlendPredictions, ServedModel):
    """A blend of models, each of which looks at all rows: the first one counts."""

    def __init__(self, name, attributes):
        vars(self).update(attributes)
        self.estimator_name = name

    n_samples_seen_ = property(lambda self: self.estimators_[0].n_samples_seen_)
    n_unseen_labels_ = property(lambda self: self.estimators_[0].n_unseen_labels_)
    n_out_of_range_ = property(lambda self: self.estimators_[0].n_out_of_range_)


class _ServedClassifier(ClassPredictions, _ServedTrees): ...


class _ServedRegressor(NumberPredictions, _ServedTrees): ...


class _ServedOutlierForest(OutlierPredictions, _ServedTrees): ...


class _ServedSurvivalTrees(SurvivalPredictions, _ServedTrees): ...


class _ServedCausalForest(EffectPredictions, _ServedTrees): ...


class _ServedUpliftForest(UpliftPredictions, _ServedTrees): ...


class _ServedBoostedClassifier(BoostedClasses, RawPredictions, _ServedTrees): ...


class _ServedBoostedRegressor(BoostedNumbers, RawPredictions, _ServedTrees): ...


class _ServedDistribution(BoostedDistributions, RawPredictions, _ServedTrees): ...


class _ServedRanker(BoostedRanks, RawPredictions, _ServedTrees): ...


class _ServedBlendClassifier(BlendedClasses, _ServedBlend): ...


class _ServedBlendRegressor(BlendedNumbers, _ServedBlend): ...


_OF_ESTIMATORS = {
    _ServedBlendClassifier: "AutoForestClassifier",
    _ServedBlendRegressor: "AutoForestRegressor",
    _ServedBoostedClassifier: "HistGradientBoostingClassifier",
    _ServedBoostedRegressor: "HistGradientBoostingRegressor",
    _ServedCausalForest: "CausalForest",
    _ServedDistribution: "HistGradientBoostingDistribution",
    _ServedClassifier: "DecisionTreeClassifier ExtraTreeClassifier ExtraTreesClassifier RandomForestClassifier",
    _ServedOutlierForest: "IsolationForest",
    _ServedRanker: "HistGradientBoostingRanker",
    _ServedRegressor: "DecisionTreeRegressor ExtraTreeRegressor ExtraTreesRegressor RandomForestRegressor",
    _ServedUpliftForest: "UpliftForestClassifier",
    _ServedSurvivalTrees: "ExtraSurvivalTree ExtraSurvivalTrees RandomSurvivalForest SurvivalTree",
}
_KINDS = {name: kind for kind, names in _OF_ESTIMATORS.items() for name in names.split()}
# What predictions follow from, of the attributes of estimators: the others stay in the file.
_ATTRIBUTES = (
    "_curves", "_features", "_loss", "_names", "calibration_", "classes_", "conformal_scores_", "event_times_",
    "feature_names_in_", "n_classes_", "n_features_in_", "n_trees_per_iteration_", "offset_", "unique_times_", "weights_",
)  # fmt: skip


def load(path, *, mmap=True, n_threads=1, missing="error", components=()):
    """Read a model for serving from a file that an estimator's method `save` wrote.

    No code of the file is run. Everything that predictions follow from is checked before it is used, as `dforest.load` does it;
    what else a file holds is not read. No other library than NumPy is imported for it.

    Parameters
    ----------
    path : str or path-like
        The file.
    mmap : bool, default=True
        Whether to map the file into memory, which processes that map one file share, instead of copying it. Files that were
        written with ``serving=True`` predict at once then; the trees of others are read, checked and packed when they are loaded.
    n_threads : int, default=1
        Largest number of threads that predict, and that check the file; few rows get fewer.
    missing : {"error", "allow"}, default="error"
        Whether a row that is a dict may lack names of columns, whose values are missing then. A name that the training rows did
        not have, such as a misspelt one, is an error in any case.
    components : sequence, default=()
        Classes of losses, splitters and criteria of your own that the model was fitted with.

    Returns
    -------
    ServedModel
        A model that predicts what the estimator predicts, to the bit.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, was written in a later version of the format, needs a component that is not
        given, or has a model that is for `dforest.load` alone: a `RandomTreesEmbedding`, which predicts nothing, or one of a
        class of your own, which may predict in another way.
    OSError
        If there is no such file, or if it can't be read.
    ValueError
        If `path` is a folder, a device or a pipe, or if another argument is not as described.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier, serving
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "iris.safetensors")
    ...     forest.save(path)
    ...     model = serving.load(path)
    >>> bool((model.predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    if missing not in ("error", "allow"):
        raise ValueError(f'missing={missing!r}; allowed are "error" and "allow"')
    allowed = f"integers from 1 to {_MAX_THREADS}"
    n_threads = check_number("n_threads", n_threads, Integral, allowed, lambda n: 1 <= n <= _MAX_THREADS)

    def read(model, container, reader, mmap, prefix):
        name = model["estimator"]
        if not isinstance(name, str) or name not in _KINDS:
            allowed = ", ".join(sorted(_KINDS))
            raise ValueError(f"it has a model of the class {name!r}; allowed for serving are {allowed}; dforest.load reads it")
        written = model["attributes"]
        attributes = reader.fields({key: written[key] for key in _ATTRIBUTES if key in written})
        kind = _KINDS[name]
        if issubclass(kind, _ServedBlend):
            attributes["estimators_"] = [
                read(part, container, reader, mmap, f"{prefix}members.{i}.") for i, part in enumerate(model["members"])
            ]
            check_blend(attributes)
            return kind(name, attributes)
        attributes["voting"] = reader.read(model["parameters"].get("voting", "soft"))
        if attributes["voting"] not in ("soft", "hard"):
            raise ValueError(f"its voting is {attributes['voting']!r}")
        attributes["forest_"] = read_forest(container, reader, model, mmap, prefix)
        served = kind(name, n_threads, missing, attributes)
        check_state(served, attributes)
        return served

    return read_file(path, mmap, components, n_threads, read)
