"""Classes as targets: how they are encoded, and what predictions of training rows are worth."""

import numpy as np

from dforest.core.integer_weights import IntegerWeights
from dforest.core.objective import ClassObjective, MultiOutputClassObjective
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
from dforest.estimators.data.validation import check_class_weight, check_classes
from dforest.estimators.scoring import named_scorer, score_of_classes, score_of_outputs, share_of
from dforest.estimators.targets.target import Target, spread_rows


class Classes(Target):
    """Classes, one or several of each row."""

    has_numbers = False

    def encode(self, model, y, ranks):
        n_outputs = count_outputs(y, ranks)
        if n_outputs > 1:
            model.classes_, numbers = classes_by_output(y, n_outputs, ranks)
            model.n_classes_ = [len(classes) for classes in model.classes_]
            return numbers
        classes, numbers = check_classes(join_labels("y", y)) if y else (np.zeros(0), np.zeros(0, np.int32))
        model.classes_, numbers = common_labels(ranks, "y", classes, numbers)
        model.n_classes_ = len(model.classes_)
        return numbers

    def objective(self, model, rows):
        n = model.n_classes_
        return MultiOutputClassObjective(tuple(n)) if isinstance(n, list) else ClassObjective(n)

    def class_factors(self, model, rows):
        if model.class_weight is None or model.class_weight == "balanced_subsample":
            return None
        if isinstance(model.class_weight, str):
            return ClassBalance.of(rows, model.n_classes_).factors()
        if isinstance(model.classes_, list):
            factors = class_weights(model.class_weight, model.classes_)
            return np.prod([factor[rows.y[:, output]] for output, factor in enumerate(factors)], axis=0)
        if isinstance(model.class_weight, list):
            raise ValueError("class_weight is a list, which is for several outputs; y has one column: allowed is a dict")
        return check_class_weight(model.class_weight, model.classes_)[rows.y]

    def encode_known(self, model, y):
        if not isinstance(model.classes_, list):
            return _known_numbers(y, model.classes_, "y")
        check_columns(y, len(model.classes_))
        columns = [_known_numbers(y[:, o], known, f"column {o} of y") for o, known in enumerate(model.classes_)]
        return np.stack(columns, axis=1)

    def encode_none(self, model):
        return np.zeros((0, len(model.classes_)) if isinstance(model.classes_, list) else 0, np.int32)

    def make(self, model, rows, plan):
        weights, balance = plan.weights_of_draws(rows, model.n_classes_)
        if balance is not None:
            ones = np.ones(len(rows.y), np.uint32)
            weights = IntegerWeights(ones if weights.integers is None else weights.integers, weights.unit)
        numbers, classes = None, rows.y
        if rows.y.ndim == 2:
            numbers, classes = np.ascontiguousarray(rows.y, np.float64), np.zeros(len(rows.y), np.int32)
        max_weight = rows.max_weight(weights.integers)
        return Targets(classes, numbers, weights.integers, weights.unit, balance, max_weight, weights.exact)

    def check(self, model, rows, plan):
        if plan.grown is not None:
            self.check_same_classes(model, plan.classes)

    def check_same_classes(self, model, before):
        """Raise ValueError unless a warm start has the classes that there were before."""
        if not same_classes(model.classes_, before):
            known = [[labels.tolist() for labels in given] if isinstance(given, list) else given.tolist()
                     for given in (model.classes_, before)]  # fmt: skip
            raise ValueError(f"y has the classes {known[0]}, but warm_start=True goes on with trees grown on {known[1]}")

    def score(self, model, scorer, true, prediction, outputs, sample_weight=None):
        if true.ndim == 2:
            return score_of_outputs(scorer, model.classes_, outputs, true, prediction, sample_weight)
        return score_of_classes(scorer, model.classes_, model.classes_[true], prediction, sample_weight)

    def trial(self, model, y):
        """See `Target`: rows of all classes, each predicted by the classes' shares; of several outputs there are none."""
        if y.ndim == 2:
            return None
        shares = np.bincount(y, minlength=model.n_classes_) / len(y)
        true = y[np.union1d(np.unique(y, return_index=True)[1], spread_rows(y))]
        return true, np.tile(shares, (len(true), 1))

    def groups(self, model, y):
        """See `Target`: rows of the same classes are compared."""
        return np.unique(y, axis=0, return_inverse=True)[1].ravel()

    def set_oob_score(self, model, prediction, true, seen, ranks):
        """See `Target`: the score of several outputs is how often all are right."""
        has_several, outputs = true.ndim == 2, (slice(None),)
        model.oob_decision_function_ = prediction
        if has_several:
            outputs = model.forest_.objective.outputs
            parts = [prediction[:, own] for own in outputs]
            model.oob_decision_function_ = np.stack(parts, axis=2) if len(set(model.n_classes_)) == 1 else parts
        scorer = named_scorer(model.oob_score, "oob_score")
        if not callable(scorer):
            is_right = most_probable(seen, outputs) == true.reshape(len(true), len(outputs))
            model.oob_score_ = share_of(is_right.all(axis=1), ranks)
        elif len(true):
            model.oob_score_ = ranks.first(self.score(model, scorer, true, seen, outputs))


def _known_numbers(y, classes, name):
    """The numbers of labels among the classes there are."""
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"{name} holds {np.asarray(y)[unknown].tolist()[0]!r}; the classes are {classes.tolist()}")
    return np.searchsorted(classes, y).astype(np.int32)
