"""Survival times as targets: some rows have had an event by the time that is known of them, others were censored.

A row's target is a code (`dforest.estimators.data.survival`) of its time among those of all training rows; trees are grown on
codes among event times (`dforest.core.search.logrank`). A leaf predicts a risk. What else there is to know of its draws is its
curve, made after growth and kept beside the forest, with the leaves in the order of nodes.
"""

import numpy as np

from dforest.core.objective import SurvivalObjective
from dforest.core.predict.survival import ENTRY, concordance, parts_of_codes
from dforest.engines.problem import Targets
from dforest.estimators.data.survival import check_events, check_survival, codes_of, logrank_scores
from dforest.estimators.data.validation import count_threads
from dforest.estimators.results.survival import LeafCurves, integrated_brier_score, uno_weights
from dforest.estimators.scoring import score_of_numbers
from dforest.estimators.targets.target import Target


class SurvivalTimes(Target):
    """Survival times, censored or not, with or without entries."""

    def read(self, model, partitions):
        read = []
        for partition in super().read(model, partitions):
            if partition.y is not None:
                event, time, entry = check_survival(partition.y)
                model.unique_times_, number = np.unique(time, return_inverse=True)
                code = codes_of(model.unique_times_, number, event, entry)
                partition = partition._replace(y=code.astype(np.float64))
            read.append(partition)
        return read

    def encode(self, model, y, ranks):
        return np.concatenate([np.zeros(0), *y]).astype(np.int64)

    def read_known(self, model, y):
        event, time, entry = check_survival(y)
        number = np.minimum(np.searchsorted(model.unique_times_, time), len(model.unique_times_) - 1)
        code = codes_of(model.unique_times_, number, event, entry)
        return np.where(model.unique_times_[number] == time, code, -1).astype(np.float64)

    def encode_known(self, model, y):
        return y.astype(np.int64)

    def check(self, model, rows, plan):
        event, number, entry = parts_of_codes(rows.y)
        occurring, number = np.unique(number, return_inverse=True)  # rows of weight 0 are left out
        rows.y = codes_of(occurring, number, event, entry)
        if entry is not None and getattr(model, "oob_score", False) in ("uno", "neg_integrated_brier_score"):
            raise ValueError(
                f"oob_score={model.oob_score!r} is not defined for a y with entries, as its weights are of rows that are seen "
                'from the start; allowed are True and "harrell"'
            )
        check_events(event)
        before = getattr(model, "event_times_", None)
        model.unique_times_ = model.unique_times_[occurring]
        model.event_times_ = model.unique_times_[np.unique(number[event])]
        if plan.grown is not None and not np.array_equal(before, model.event_times_):
            raise ValueError(
                f"y has {len(model.event_times_)} event times, but warm_start=True goes on with trees grown on {len(before)} "
                "others; allowed are equal event times"
            )

    def check_splitter(self, model, splitter):
        if splitter.has_own_leaves:
            raise ValueError(
                f"splitter={model.splitter!r} has leaves of its own, which trees for survival times can't have; allowed are "
                "others"
            )

    def objective(self, model, rows):
        return SurvivalObjective(len(model.event_times_))

    def make(self, model, rows, plan):
        weights, _ = plan.weights_of_draws(rows)
        weights = weights.as_counts(len(rows.y))  # the n - 1 of variances tells two rows from one of weight 2
        codes, zeros = _event_codes(model, rows.y), np.zeros(len(rows.y), np.int32)
        return Targets(
            zeros, codes.astype(np.float64), weights.integers, weights.unit, None, rows.max_weight(weights.integers),
            weights.exact,
            logrank_scores(codes, weights.integers, len(model.event_times_)) if plan.orders_labels else None,
        )  # fmt: skip

    def bytes_beside(self, problem, n_trees):
        share = np.mean(problem.targets.numbers % 2)  # of events; curves are joined once all are there
        return int(2 * 12 * share * problem.n_draws * n_trees)

    def after_growth(self, model, rows, plan):
        weights, _ = plan.weights_of_draws(rows)
        weight = weights.integers if weights.exact is None else weights.exact
        weight = None if weight is None else weight.astype(np.float64)
        new = range(plan.n_grown, model.forest_.n_trees)
        parts = [] if plan.grown is None else [model._curves]
        if new:
            code = _event_codes(model, rows.y)
            parts.append(LeafCurves.of_trees(model.forest_, new, rows, code % ENTRY, code // ENTRY, weight, plan.n_threads))
        model._curves = LeafCurves.joined(parts)

    def score(self, model, scorer, true, prediction, outputs, sample_weight=None):
        event, number, entry = parts_of_codes(true)
        y = np.empty(len(true), [("event", bool), ("time", np.float64)] + [("entry", np.float64)] * (entry is not None))
        y["event"], y["time"] = event, model.unique_times_[number]
        if entry is not None:
            y["entry"] = np.where(entry >= 0, model.unique_times_[entry], 0.0)  # the last time up to it
        return score_of_numbers(scorer, y, prediction[:, 0], sample_weight)

    def keep_out_of_bag(self, model, rows, found):
        """See `Target`: the score is a concordance, or the integrated Brier score with its sign changed."""
        model.oob_prediction_ = np.full(len(rows.kept), np.nan)
        model.oob_prediction_[rows.kept] = found.prediction[:, 0]
        model.n_never_oob_ = found.n_never
        model.oob_score_ = 1.0 - found.error
        model.oob_error_ = found.error
        seen = ~np.isnan(found.prediction[:, 0])
        event, number, _ = parts_of_codes(rows.y[seen])
        time = model.unique_times_[number]
        if model.oob_score == "uno":
            model.oob_score_ = concordance(event, time, found.prediction[seen, 0], uno_weights(event, time))
            model.oob_error_ = 1.0 - model.oob_score_
        elif model.oob_score == "neg_integrated_brier_score":
            model.oob_error_ = _brier_out_of_bag(model, rows.parts[0][seen], np.flatnonzero(seen), event, time)
            model.oob_score_ = -model.oob_error_


def _brier_out_of_bag(model, X, numbers, event, time):
    """The integrated Brier score of training rows, given their numbers, by the trees that left them out."""
    forest, n_threads = model.forest_, count_threads(model.n_jobs)
    packed, places = forest.packed(), np.flatnonzero(model.event_times_ < model.unique_times_[-1])
    at = model.event_times_[places]
    if len(at) < 2:
        return np.nan
    left_out = np.stack([forest.left_out(t)[numbers] for t in range(forest.n_trees)], axis=1)

    def survival_of(own):
        leaves = packed.apply(X[own], n_threads)
        return model._curves.means(forest, leaves, places + 1, True, n_threads, left_out[own])

    return integrated_brier_score(event, time, at, survival_of)


def _event_codes(model, y):
    """Codes of training rows among event times."""
    event, number, entry = parts_of_codes(y)
    upto = np.append(np.searchsorted(model.event_times_, model.unique_times_, side="right"), 0)  # 0: at the start, number -1
    return codes_of(np.arange(1, len(model.event_times_) + 1), upto[number], event, None if entry is None else upto[entry])
