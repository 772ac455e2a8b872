"""What a fit begins with: how many trees it grows and from what, the rows that it is given, checked, and a copy to be fitted."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version

from dforest.core.integer_weights import IntegerWeights
from dforest.engines.weights import ClassBalance, TrainingRows
from dforest.estimators.data.agreement import check_alike, common_features, common_floats
from dforest.estimators.data.features import Features
from dforest.estimators.data.outputs import by_output
from dforest.estimators.data.validation import MAX_ROWS, check_weights, check_X


@dataclass
class Plan:
    """How many trees a fit grows, and from what."""

    n_trees: int  # in the end
    sampling: object = None  # a Sampling; None: trees take every row once
    max_samples: object = None
    orders_labels: bool = False  # each tree orders the labels of columns that have many, by rows that it leaves out
    n_threads: int = 1
    grown: object = None  # a Forest to go on with
    classes: object = None  # of the Forest to go on with
    balances_draws: bool = False  # the draws of each tree are weighed so that its classes have equal weight
    seed: object = None  # as of `TreeEstimator._seed`, on rank 0
    kept: object = None  # what the estimator keeps of the training rows

    @property
    def ignores_weights(self):
        """Whether trees count each draw as 1."""
        return self.sampling is not None and self.sampling.ignores_weights

    def weights_of_draws(self, rows, n_classes=None):
        """What a draw of each of the `TrainingRows` weighs in trees, whose estimator has `n_classes`. A collective.

        Returns
        -------
        weights : IntegerWeights
        balance : ClassBalance or None
            What makes the weights of each tree from its draws, in place of these.
        """
        weights = IntegerWeights(None) if self.ignores_weights else rows.integer_weight()
        balance = ClassBalance.of(rows, n_classes) if self.balances_draws else None
        if balance is not None and self.ignores_weights:
            balance = replace(balance, sample_weight=None)
        return weights, balance

    @property
    def n_grown(self):
        return 0 if self.grown is None else self.grown.n_trees


def instance_of(kind, name, given):
    """A component, given an object or a class of its kind; anything else is returned as it is."""
    if isinstance(given, type):
        if not issubclass(given, kind):
            raise ValueError(f"{name}={given!r}; allowed are subclasses of {kind.__name__}, and instances of them")
        return given()
    return given


def check_partitions(estimator, partitions, ranks, grown):
    """The rows that a fit is given, checked and encoded. A collective.

    Parameters
    ----------
    estimator : estimator
        Its parameters.
    partitions : list of Partition
        This rank's.
    ranks : Communicator
    grown : Forest or None
        The trees that a warm start goes on with.

    Returns
    -------
    features : Features
        Of the columns of all ranks.
    parts : list of ndarray of shape (n_rows of the partition, n_features), or of SparseRows
        X, of one dtype on all ranks.
    targets : list of ndarray
        y of those partitions that have rows.
    n_rows : int
        Of all ranks.
    """
    is_shared = ranks.size > 1 or len(partitions) != 1
    if is_shared:
        check_alike(ranks, estimator, partitions, version("dforest"), grown)
    columns = estimator.categorical_features, estimator.ordinal_features
    found = [Features.learn(partition.X, *columns) for partition in partitions]
    features = common_features(ranks, found, [partition.X for partition in partitions])
    known = {"y_numeric": estimator._target.has_numbers, "min_rows": 0 if is_shared else 1}
    checked = [check_X(estimator, partition.X, features, y=partition.y, **known) for partition in partitions]
    parts = common_floats(ranks, [X for X, _ in checked])
    n_rows = ranks.total(sum(map(len, parts)))
    if not 0 < n_rows <= MAX_ROWS:
        raise ValueError(f"X has {n_rows} rows; allowed are 1 to {MAX_ROWS}")
    return features, parts, [y for _, y in checked if len(y)], n_rows


def encoded_rows(estimator, partitions, ranks, grown):
    """The rows that a fit is given, checked, encoded, weighed and numbered. A collective.

    Parameters
    ----------
    estimator, partitions, ranks, grown
        As of `check_partitions`. What is known of targets becomes attributes of the estimator.

    Returns
    -------
    features : Features
        Of the columns of all ranks.
    parts : list of ndarray of shape (n_rows of the partition, n_features), or of SparseRows
        X, with rows of weight 0.
    rows : TrainingRows
    """
    features, parts, targets, _ = check_partitions(estimator, partitions, ranks, grown)
    y = estimator._target.encode(estimator, [by_output(y) for y in targets], ranks)
    return features, parts, training_rows(estimator, partitions, parts, y, ranks)


def training_rows(estimator, partitions, parts, y, ranks):
    """The `TrainingRows` of a fit, weighed, also by class, and numbered. A collective.

    Parameters
    ----------
    estimator : estimator
        Whose target knows the weights of classes.
    partitions : list of Partition
        This rank's.
    parts : list of ndarray, or of SparseRows
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


@contextmanager
def fitting(estimator):
    """A copy of an estimator, to be fitted in the block: the estimator takes its attributes at the end, all at once.

    Other threads may predict with the estimator meanwhile. If the block raises an exception, it stays as it was.
    """
    working = object.__new__(type(estimator))
    working.__dict__ = dict(estimator.__dict__)
    yield working
    estimator.__dict__ = working.__dict__  # not updated: see `dforest.estimators.one_fit`
