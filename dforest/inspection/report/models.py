"""What a report asks of a fitted model, of forests and of boosted trees: predictions, by all trees and by the first ones."""

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import is_classifier, is_outlier_detector

from dforest.config import communicator
from dforest.core.sampling import WithLabelOrder
from dforest.estimators.data.agreement import Partition
from dforest.estimators.data.encoder import CATEGORICAL, ORDINAL
from dforest.estimators.data.validation import count_threads
from dforest.estimators.kinds import CausalTrees, Forest, SurvivalTrees
from dforest.estimators.results import oob
from dforest.estimators.results.importance import gain_shares
from dforest.estimators.results.permutation import known_rows
from dforest.inspection.report.facts import impurity_importance


def model_of(estimator):
    return ForestModel(estimator) if isinstance(estimator, Forest) else BoostedModel(estimator)


class Model:
    """What forests and boosted trees share."""

    def __init__(self, estimator, packed, n_steps):
        self.estimator, self.forest, self.n_steps = estimator, estimator.forest_, n_steps
        self._packed, self._n_threads = packed, count_threads(estimator.n_jobs)
        kinds = estimator._features.kinds
        self.is_categorical, self.is_ordinal = kinds == CATEGORICAL, kinds == ORDINAL
        self.n_rows = int(self.forest.n_rows[-1])


class ForestModel(Model):
    """A forest, which predicts by means over its trees."""

    noun, unit = "forest", "tree"
    importance, of_importance = "impurity", (
        "By impurity: the share of a feature in all decreases of impurity, with the standard deviation over trees. It is found "
        "on the rows that the forest was grown on, and favours features of many values."
    )  # fmt: skip
    axis, node_value = "Share of all decreases of impurity", "mean"

    def __init__(self, estimator):
        forest = estimator.forest_
        super().__init__(estimator, forest.packed(getattr(estimator, "voting", "soft")), forest.n_trees)
        if isinstance(estimator, SurvivalTrees):
            self.importance, self.of_importance = "log-rank statistic", (
                "By log-rank statistic: the share of a feature in the statistics of all splits, with the standard deviation over "
                "trees. It is found on the rows that the forest was grown on, and favours features of many values."
            )  # fmt: skip
            self.axis, self.node_value = "Share of the statistics of all splits", "risk"
        self.title = "Extremely randomised trees" if estimator.splitter == "random" else "Random forest"
        if is_outlier_detector(estimator):
            self.title, self.node_value = "Isolation forest", "length"
        if isinstance(estimator, CausalTrees):
            self.title, self.importance = "Causal forest", "splits near the roots"

    @property
    def orders_labels(self):
        """Whether trees have ordered many labels by other rows than a node's."""
        return all(isinstance(plan, WithLabelOrder) for plan in self.forest.plans)

    @property
    def leaves_rows_out(self):
        """Whether it is known here which of its training rows each tree left out, and all of them are in the forest's y."""
        known = all(plan.leaves_rows_out for plan in self.forest.plans)
        return known and all(batch.kept is None for batch in self.estimator._batches) and communicator().size == 1

    def own_importances(self):
        """(importances by impurity, their standard deviations over trees); zeros if there are no targets."""
        if is_outlier_detector(self.estimator):
            return np.zeros((2, len(self.is_categorical)))
        if isinstance(self.estimator, CausalTrees):
            return np.stack([self.estimator.feature_importances_, np.zeros(len(self.is_categorical))])
        return impurity_importance(self.forest)

    def predict(self, X):
        """Predictions for encoded rows: ndarray of shape (n_rows, n_classes) or (n_rows, 1)."""
        return self._packed.mean(X, self._n_threads)

    def staged(self, X, numbers):
        """Yield predictions by the first trees, for ascending numbers of them."""
        sums, done = np.zeros((len(X), self.forest.objective.n_values)), 0
        for n in numbers:
            self._packed.add_up(X, sums, done, n - done, self._n_threads)
            done = n
            yield sums / n

    def staged_out_of_bag(self, given, numbers):
        """Yield (the rows that some tree left out, their predictions out of bag) by the first trees, for the training rows."""
        with communicator().together() as ranks:
            rows, _ = known_rows(self.estimator, [Partition(0, *given)], ranks)
        votes = oob.live_votes(rows, self.forest.objective, getattr(self.estimator, "voting", "soft"), None, self._n_threads)
        done = 0
        for n in numbers:
            for t in range(done, n):
                votes.add(votes.look(self.forest.tree(t)))
            done = n
            yield votes.prediction()

    def out_of_bag(self, chosen):
        """A function that predicts some training rows, given by their numbers, out of bag, also with other values.

        It returns NaN for rows that all trees drew.
        """
        forest = self.forest
        left_out = np.stack([forest.left_out(t)[chosen] for t in range(forest.n_trees)], axis=1)
        n_out = left_out.sum(axis=1)
        ones = np.ones(n_out.sum())
        starts, votes = np.concatenate([[0], np.cumsum(n_out)]), forest.leaf_votes(getattr(self.estimator, "voting", "soft"))
        packed = forest.packed()

        def predict(X):
            nodes = packed.apply(X, self._n_threads) + forest.node_offsets[:-1]
            shape = len(X), len(votes)
            sums = csr_array((ones, forest.leaf_row[nodes[left_out]], starts), shape=shape) @ votes
            return np.divide(sums, n_out[:, None], out=np.full(sums.shape, np.nan), where=n_out[:, None] > 0)

        return predict


class BoostedModel(Model):
    """Boosted trees, whose predictions come of sums over iterations."""

    title, noun, unit = "Gradient-boosted trees", "model", "iteration"
    importance, of_importance = "gain", (
        "By gain: the share of a feature in the gain of all splits. It is found on the rows that the model was grown on."
    )  # fmt: skip
    axis, node_value = "Share of all gains", "adds"
    leaves_rows_out = False

    def __init__(self, estimator):
        super().__init__(estimator, estimator.forest_.packed(), estimator.n_iter_)

    @property
    def orders_labels(self):
        """See `ForestModel`."""
        return getattr(self.estimator, "categorical_split_", "subset") == "order"

    def own_importances(self):
        return gain_shares(self.forest), None

    def predict(self, X):
        return next(self.staged(X, [self.n_steps]))

    def staged(self, X, numbers):
        """Yield predictions by the first iterations, for ascending numbers of them."""
        objective, per_step = self.forest.objective, self.estimator.n_trees_per_iteration_
        sums, done = np.zeros((len(X), objective.n_sums)), 0
        for n in numbers:
            self._packed.add_up(X, sums, done * per_step, (n - done) * per_step, self._n_threads)
            done = n
            raw = sums + np.array(objective.baseline)
            if is_classifier(self.estimator):
                yield self.estimator._loss.probabilities(raw)
            else:
                yield self.estimator._loss.predict(raw).reshape(len(X), -1)
