"""Numbers as targets: how they are encoded, and what predictions of training rows are worth."""

import numpy as np

from dforest.core.objective import MultiOutputNumberObjective, NumberObjective
from dforest.engines.problem import Targets
from dforest.estimators.data.outputs import check_columns, count_outputs
from dforest.estimators.data.validation import check_counts, check_targets
from dforest.estimators.scoring import named_scorer, r2, score_of_numbers
from dforest.estimators.targets.target import Target, spread_rows


class Numbers(Target):
    """Numbers, one or several of each row."""

    def encode_known(self, model, y):
        check_columns(y, getattr(model, "n_outputs_", 1))
        return check_targets(y)

    def encode(self, model, y, ranks):
        n_outputs = count_outputs(y, ranks)
        return check_targets(np.concatenate(y)) if y else np.zeros((0, n_outputs) if n_outputs > 1 else 0)

    def objective(self, model, rows):
        return NumberObjective() if rows.y.ndim == 1 else MultiOutputNumberObjective(rows.y.shape[1])

    def encode_none(self, model):
        n_outputs = getattr(model, "n_outputs_", 1)
        return np.zeros((0, n_outputs) if n_outputs > 1 else 0)

    def make(self, model, rows, plan):
        if model._own_criterion() == "poisson":
            check_counts(*rows.extent())
        weights, _ = plan.weights_of_draws(rows)
        numbers, zeros = np.ascontiguousarray(rows.y), np.zeros(len(rows.y), np.int32)
        return Targets(zeros, numbers, weights.integers, weights.unit, None, rows.max_weight(weights.integers), weights.exact)

    def check(self, model, rows, plan):
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

    def score(self, model, scorer, true, prediction, outputs, sample_weight=None):
        return score_of_numbers(scorer, true, prediction if true.ndim == 2 else prediction[:, 0], sample_weight)

    def trial(self, model, y):
        """See `Target`: predictions are right."""
        true = y[spread_rows(y)]
        return true, true.reshape(len(true), -1)

    def set_oob_score(self, model, prediction, true, seen, ranks):
        """See `Target`: the score is R², of several outputs the mean of theirs."""
        model.oob_prediction_ = prediction if true.ndim == 2 else prediction[:, 0]
        scorer = named_scorer(model.oob_score, "oob_score")
        if callable(scorer):
            if len(true):
                model.oob_score_ = ranks.first(self.score(model, scorer, true, seen, model.forest_.objective.outputs))
        elif true.ndim == 1:
            model.oob_score_ = r2(true, seen[:, 0], ranks)
        else:
            model.oob_score_ = float(np.mean([r2(y, own, ranks) for y, own in zip(true.T, seen.T, strict=True)]))
