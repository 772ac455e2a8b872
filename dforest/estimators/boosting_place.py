"""Where boosted trees are grown: by threads of the processor, on a device, or by several ranks. What has no code is refused."""

from importlib import import_module
from numbers import Integral
from time import perf_counter

import numpy as np

from dforest.config import queue_of
from dforest.core.boost.booster import Booster
from dforest.core.integer_weights import integer_weights
from dforest.estimators.features import CATEGORICAL
from dforest.estimators.validation import count_features
from dforest.fit_report import FitReport
from dforest.rules.losses import LOSSES
from dforest.spmd.binning import code_columns_together


class Place:
    """Where a fit grows its trees.

    Parameters
    ----------
    device : Device or None
        None: the processor.
    n_threads : int
        Of the processor.
    ranks : Communicator
        Who has rows.

    Attributes
    ----------
    begin : float
        When growing began.
    """

    def __init__(self, device, n_threads, ranks):
        if device is None and ranks.size > 1:  # the processor, which is a device to those kernels that ranks need
            device = import_module("dforest.host.device").HostDevice(n_threads)
        self.device, self.n_threads, self.ranks = device, n_threads, ranks
        self.begin = perf_counter()
        self._recorder = None

    def booster(self, estimator, training, growth, grown):
        """What grows the rounds that come next: the compiled booster, or `dforest.engines.boosting.Rounds`.

        Parameters
        ----------
        estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
            Its parameters, and what it knows of features, loss and constraints.
        training : Sample
        growth : Growth
        grown : Forest or None
            The trees there are.
        """
        X, y, weight, bin_weight = training
        bin_weight = None if bin_weight is None else integer_weights(bin_weight, self.ranks).integers
        features = estimator._features
        columns = code_columns_together(
            self.ranks, [X], estimator.max_bins, bin_weight, self.n_threads, features.kinds, features.n_categories,
            row_major=self.ranks.size > 1, counts_missing=False,
        )  # fmt: skip
        n_trees, raw = 0, None
        if grown is not None:
            n_trees, sums = grown.n_trees, np.zeros((len(y), growth.n_sums))
            grown.packed().add_up(X, sums, 0, n_trees, self.n_threads)
            raw = np.ascontiguousarray(sums.T)
        make = self._on_threads if self.device is None else self._on_device
        booster = make(estimator, columns, y, weight, growth, n_trees, raw)
        self.begin = perf_counter()
        return booster

    def _on_threads(self, estimator, columns, y, weight, growth, n_trees, raw):
        return Booster(
            columns,
            estimator._loss.number,
            y,
            weight,
            n_classes=max(2, growth.n_sums),
            parameter=estimator._loss.parameter,
            baseline=np.array(growth.baseline),
            seed=growth.seed,
            n_threads=self.n_threads,
            n_drawn=growth.n_drawn,
            n_trees=n_trees,
            raw=raw,
            constraints=estimator._constraints,
            **_limits(estimator, growth.n_rows, len(columns)),
        )

    def _on_device(self, estimator, columns, y, weight, growth, n_trees, raw):
        engines, there = import_module("dforest.engines.boosting"), import_module("dforest.engines.device.boosting")
        ranks, (integers, unit), facts = self.ranks, (None, 1.0), (1, growth.n_rows, None)
        if weight is not None:
            integers, unit, _ = integer_weights(weight, ranks)
            largest = ranks.greatest(np.array([integers.max(initial=1)], np.int64))
            ends = ranks.least(np.array([weight.min(initial=np.inf), -weight.max(initial=0.0)])) * [1.0, -1.0]
            facts = int(largest[0]), ranks.total(int(integers.sum(dtype=np.uint64))), ends
        weights = engines.RowWeights.of(weight, integers, unit, *facts, growth.n_rows)
        rules = engines.BoostRules(
            loss=estimator._loss.name,
            n_outputs=growth.n_sums,
            seed=growth.seed,
            weight_unit=weights.unit,
            total_weight=weights.total,
            is_weighted=weights.weight is not None,
            heaviest=weights.heaviest,
            **_limits(estimator, growth.n_rows, len(columns)),
        )
        raw = np.zeros((growth.n_sums, len(y))) if raw is None else raw
        self._recorder = import_module("dforest.engines.device.recorder").Recorder(self.device)
        shard, ahead = there.open_shard(self._recorder, rules, columns, y, weights, growth.baseline, raw)
        if ranks.size > 1:
            together = import_module("dforest.engines.ranks.boosting")
            shard, ahead = together.RankBoostShard(ranks, shard), together.AHEAD
        return engines.Rounds(rules, shard, columns, n_trees, ahead)

    def report(self, n_trees):
        """What growing some trees took since it began: `FitReport`."""
        seconds = perf_counter() - self.begin
        report = FitReport("cpu" if self.device is None else self.device.name, n_trees, train_seconds=seconds)
        if self._recorder is not None:
            report = self._recorder.report(n_trees, seconds)
        if self.ranks.size > 1:
            report = import_module("dforest.engines.ranks.shard").with_traffic(report, self.ranks)
        return report


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
    if not isinstance(estimator.loss, str):
        raise ValueError(f"loss={estimator.loss!r} is not supported for {what}; allowed are names of losses, or {way_out}")
    if LOSSES[estimator.loss].leaf != "newton":
        raise ValueError(
            f"loss={estimator.loss!r}, whose leaf values are not sums over rows, is not supported for {what}; allowed are losses "
            f'other than "absolute_error", "quantile" and "huber", or {way_out}'
        )
    if estimator.subsample != 1:
        raise ValueError(f"subsample={estimator.subsample} is not supported for {what}; allowed is subsample=1.0, or {way_out}")
    for name in ("monotonic_cst", "interaction_cst"):
        value = getattr(estimator, name)
        if value is not None:
            raise ValueError(f"{name}={value!r} is not supported for {what}; allowed is {name}=None, or {way_out}")


def check_shared(estimator, is_scored, given, has_callbacks):
    """Raise ValueError unless there is code for a fit whose rows several ranks have.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
    is_scored : bool
        Whether rounds are scored for early stopping.
    given : str
        What `fit` was given, of all ranks.
    has_callbacks : bool
    """
    _check_levels(estimator, "a fit by several ranks", "a fit in one process that has all rows")
    if is_scored:
        raise ValueError(
            f"early_stopping={estimator.early_stopping!r}, with {given}, is not supported for a fit by several ranks, as "
            "scores need all rows; allowed is early_stopping=False without X_val, or a fit in one process that has all rows"
        )
    if has_callbacks:
        raise ValueError(
            f"{type(estimator).__name__} has callbacks, which are not supported for a fit by several ranks; allowed are none, "
            "or a fit in one process that has all rows"
        )


def check_columns(estimator, place):
    """Raise ValueError if there are columns that only threads of the processor have code for."""
    categorical = np.flatnonzero(estimator._features.kinds == CATEGORICAL)
    if place.device is not None and len(categorical):
        what = "by several ranks" if place.ranks.size > 1 else "on a device"
        raise ValueError(
            f"{estimator._features.title(categorical[0])} is categorical, which is not supported for boosted trees grown {what}; "
            "allowed are continuous and ordinal columns, or a fit in one process that has all rows, with device=None"
        )


def _limits(estimator, n_rows, n_features):
    """What an estimator's parameters say of trees, cut to the data."""
    m = estimator.max_features
    return {
        "learning_rate": estimator.learning_rate,
        "max_delta_step": np.inf if estimator.max_delta_step is None else float(estimator.max_delta_step),
        "max_leaf_nodes": estimator.max_leaf_nodes and min(estimator.max_leaf_nodes, max(2, n_rows)),
        "max_depth": estimator.max_depth and min(estimator.max_depth, n_rows),
        "min_samples_leaf": min(estimator.min_samples_leaf, n_rows + 1),
        "min_hessian": estimator.min_hessian,
        "l2": estimator.l2_regularization,
        "max_features": count_features(m, n_features) if isinstance(m, Integral) else float(m),
    }
