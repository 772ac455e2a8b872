"""What a fit begins with: how many trees it grows and from what, and a copy of the estimator to be fitted."""

from contextlib import contextmanager
from dataclasses import dataclass, replace

from dforest.core.integer_weights import IntegerWeights
from dforest.engines.weights import ClassBalance


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


@contextmanager
def fitting(estimator):
    """A copy of an estimator, to be fitted in the block: the estimator takes its attributes at the end, all at once.

    Other threads may predict with the estimator meanwhile. If the block raises an exception, it stays as it was.
    """
    working = object.__new__(type(estimator))
    working.__dict__ = dict(estimator.__dict__)
    yield working
    estimator.__dict__ = working.__dict__  # not updated: see `dforest.estimators.one_fit`
