"""What estimators predict: how targets are encoded for a fit, and what out-of-bag predictions of training rows are worth.

A kind of target has a mixin here, an `Objective` (`dforest.core.objective`), which says what leaves keep and predict, and its
criteria.
"""

import numpy as np

from dforest.core.integer_weights import IntegerWeights
from dforest.core.objective import ClassObjective, MultiOutputClassObjective, MultiOutputNumberObjective, NumberObjective
from dforest.engines.problem import Targets
from dforest.engines.weights import ClassBalance
from dforest.estimators.data.agreement import common_labels, join_labels
from dforest.estimators.data.outputs import (
    check_columns,
    class_weights,
    classes_by_output,
    count_outputs,
    most_probable,
    same_classes,
)
from dforest.estimators.data.validation import check_class_weight, check_classes, check_counts, check_targets
from dforest.estimators.scoring import named_scorer, r2, score_of_classes, score_of_numbers, score_of_outputs, share_of


class ClassTargets:
    """What makes an estimator grow trees for classes."""

    _has_numbers = False  # whether y must be numbers

    def _encode(self, y, ranks):
        n_outputs = count_outputs(y, ranks)
        if n_outputs > 1:
            self.classes_, numbers = classes_by_output(y, n_outputs, ranks)
            self.n_classes_ = [len(classes) for classes in self.classes_]
            return numbers
        classes, numbers = check_classes(join_labels("y", y)) if y else (np.zeros(0), np.zeros(0, np.int32))
        self.classes_, numbers = common_labels(ranks, "y", classes, numbers)
        self.n_classes_ = len(self.classes_)
        return numbers

    def _objective(self, rows):
        n = self.n_classes_
        return MultiOutputClassObjective(tuple(n)) if isinstance(n, list) else ClassObjective(n)

    def _class_factors(self, rows):
        if self.class_weight is None or self.class_weight == "balanced_subsample":
            return None
        if isinstance(self.class_weight, str):
            return ClassBalance.of(rows, self.n_classes_).factors()
        if isinstance(self.classes_, list):
            factors = class_weights(self.class_weight, self.classes_)
            return np.prod([factor[rows.y[:, output]] for output, factor in enumerate(factors)], axis=0)
        if isinstance(self.class_weight, list):
            raise ValueError("class_weight is a list, which is for several outputs; y has one column: allowed is a dict")
        return check_class_weight(self.class_weight, self.classes_)[rows.y]

    def _encode_known(self, y):
        """The class numbers of labels. Raises ValueError if one was not there in training."""
        if not isinstance(self.classes_, list):
            return _known_numbers(y, self.classes_, "y")
        check_columns(y, len(self.classes_))
        columns = [_known_numbers(y[:, o], known, f"column {o} of y") for o, known in enumerate(self.classes_)]
        return np.stack(columns, axis=1)

    def _no_targets(self):
        """The encoded targets of no rows."""
        return np.zeros((0, len(self.classes_)) if isinstance(self.classes_, list) else 0, np.int32)

    def _targets(self, rows, plan):
        weights, balance = plan.weights_of_draws(rows, self.n_classes_)
        if balance is not None:
            ones = np.ones(len(rows.y), np.uint32)
            weights = IntegerWeights(ones if weights.integers is None else weights.integers, weights.unit)
        numbers, classes = None, rows.y
        if rows.y.ndim == 2:
            numbers, classes = np.ascontiguousarray(rows.y, np.float64), np.zeros(len(rows.y), np.int32)
        return Targets(classes, numbers, weights.integers, weights.unit, balance, rows.heaviest(weights.integers), weights.exact)

    def _check_targets(self, rows, plan):
        """Raise ValueError if the targets of training rows do not go with the trees of a `Plan`. A collective."""
        if plan.grown is not None:
            self._check_same_classes(plan.classes)

    def _check_same_classes(self, before):
        """Raise ValueError unless a warm start has the classes that there were before."""
        if not same_classes(self.classes_, before):
            known = [[labels.tolist() for labels in given] if isinstance(given, list) else given.tolist()
                     for given in (self.classes_, before)]  # fmt: skip
            raise ValueError(f"y has the classes {known[0]}, but warm_start=True goes on with trees grown on {known[1]}")

    def _score_by(self, scorer, true, prediction, outputs, sample_weight=None):
        """What a scorer of the user says of predictions.

        Parameters
        ----------
        scorer : callable
        true : ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Encoded targets.
        prediction : ndarray of shape (n_rows, n_values)
        outputs : tuple of slice
            As `Objective.outputs`.
        sample_weight : ndarray of shape (n_rows,), optional
            None means that the scorer is given no weights.
        """
        if true.ndim == 2:
            return score_of_outputs(scorer, self.classes_, outputs, true, prediction, sample_weight)
        return score_of_classes(scorer, self.classes_, self.classes_[true], prediction, sample_weight)

    def _trial(self, y):
        """(true, predicted) of some rows, of all classes: all have the classes' shares; None for several outputs."""
        if y.ndim == 2:
            return None
        shares = np.bincount(y, minlength=self.n_classes_) / len(y)
        true = y[np.union1d(np.unique(y, return_index=True)[1], _some_rows(y))]
        return true, np.tile(shares, (len(true), 1))

    def _groups(self, y):
        """The number of each row's group, within which rows are compared by proximity: those of the same classes."""
        return np.unique(y, axis=0, return_inverse=True)[1].ravel()

    def _set_oob_score(self, prediction, true, seen, ranks):
        """Set predictions of training rows out of bag, and their score: that of several outputs is how often all are right.

        Parameters
        ----------
        prediction : ndarray of shape (n_rows, n_values)
            NaN for rows that are not seen.
        true : ndarray of shape (n_seen,) or (n_seen, n_outputs)
            The encoded targets of the rows that some tree left out: of this rank's, or, for a scorer, of all.
        seen : ndarray of shape (n_seen, n_values)
            Their predictions.
        ranks : Communicator
        """
        has_several, outputs = true.ndim == 2, (slice(None),)
        self.oob_decision_function_ = prediction
        if has_several:
            outputs = self.forest_.objective.outputs
            parts = [prediction[:, own] for own in outputs]
            self.oob_decision_function_ = np.stack(parts, axis=2) if len(set(self.n_classes_)) == 1 else parts
        scorer = named_scorer(self.oob_score, "oob_score")
        if not callable(scorer):
            is_right = most_probable(seen, outputs) == true.reshape(len(true), len(outputs))
            self.oob_score_ = share_of(is_right.all(axis=1), ranks)
        elif len(true):
            self.oob_score_ = ranks.first(self._score_by(scorer, true, seen, outputs))


class NumberTargets:
    """What makes an estimator grow trees for numbers."""

    _has_numbers = True

    def _encode_known(self, y):
        check_columns(y, getattr(self, "n_outputs_", 1))
        return check_targets(y)

    def _encode(self, y, ranks):
        n_outputs = count_outputs(y, ranks)
        return check_targets(np.concatenate(y)) if y else np.zeros((0, n_outputs) if n_outputs > 1 else 0)

    def _objective(self, rows):
        return NumberObjective() if rows.y.ndim == 1 else MultiOutputNumberObjective(rows.y.shape[1])

    def _class_factors(self, rows):
        return None

    def _no_targets(self):
        n_outputs = getattr(self, "n_outputs_", 1)
        return np.zeros((0, n_outputs) if n_outputs > 1 else 0)

    def _targets(self, rows, plan):
        if self._own_criterion() == "poisson":
            check_counts(*rows.extent())
        weights, _ = plan.weights_of_draws(rows)
        numbers, zeros = np.ascontiguousarray(rows.y), np.zeros(len(rows.y), np.int32)
        return Targets(zeros, numbers, weights.integers, weights.unit, None, rows.heaviest(weights.integers), weights.exact)

    def _check_targets(self, rows, plan):
        """Raise ValueError if the sum of what trees predict may leave the range of float64. A collective."""
        most = np.finfo(np.float64).max / plan.n_trees
        known = {"y": rows.extent()}
        if plan.grown is not None:
            known["a leaf of a tree grown before"] = plan.grown.leaf_value.min(), plan.grown.leaf_value.max()
        for name, numbers in known.items():
            largest = max(*numbers, key=abs)
            if abs(largest) > most:
                raise ValueError(
                    f"{name} holds {largest}; allowed with {plan.n_trees} trees are numbers up to {most} in magnitude, so that "
                    "the sum of what they predict is finite; rescale y"
                )

    def _score_by(self, scorer, true, prediction, outputs, sample_weight=None):
        return score_of_numbers(scorer, true, prediction if true.ndim == 2 else prediction[:, 0], sample_weight)

    def _trial(self, y):
        """(true, predicted) of some rows: predictions are right."""
        true = y[_some_rows(y)]
        return true, true.reshape(len(true), -1)

    def _groups(self, y):
        return np.zeros(len(y), np.int64)

    def _set_oob_score(self, prediction, true, seen, ranks):
        """Keep the out-of-bag predictions of all rows, and the score of those that have one; of several outputs the mean R²."""
        self.oob_prediction_ = prediction if true.ndim == 2 else prediction[:, 0]
        scorer = named_scorer(self.oob_score, "oob_score")
        if callable(scorer):
            if len(true):
                self.oob_score_ = ranks.first(self._score_by(scorer, true, seen, self.forest_.objective.outputs))
        elif true.ndim == 1:
            self.oob_score_ = r2(true, seen[:, 0], ranks)
        else:
            self.oob_score_ = float(np.mean([r2(y, own, ranks) for y, own in zip(true.T, seen.T, strict=True)]))


def _some_rows(y, most=10_000):
    """The numbers of some thousand rows, all over them."""
    return np.arange(0, len(y), 1 + len(y) // most)


def _known_numbers(y, classes, name):
    """The numbers of labels among the classes there are."""
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"{name} holds {np.asarray(y)[unknown].tolist()[0]!r}; the classes are {classes.tolist()}")
    return np.searchsorted(classes, y).astype(np.int32)
