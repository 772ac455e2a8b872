"""What a report says of survival times: concordances, the Brier score, mean curves beside Kaplan-Meier estimates.

True values of rows are columns: the event, 1 or 0, the time, and, if rows have them, the entry.
"""

from dataclasses import dataclass

import numpy as np

from dforest.core.predict.survival import concordance
from dforest.estimators.data.validation import count_threads
from dforest.estimators.results.survival import integrated_brier_score, uno_weights
from dforest.inspection.report import pictures
from dforest.inspection.report.markup import count, element, figure, number, paragraph, percent
from dforest.inspection.report.measure import Measure
from dforest.inspection.report.quality import figures_table
from dforest.inspection.report.rows import sentence_on_sample
from dforest.inspection.report.targets import Numbers

HARRELL, UNO, BRIER = "Concordance (Harrell)", "Concordance (Uno)", "Integrated Brier score"
NAMES = {None: HARRELL, "harrell": HARRELL, "uno": UNO}
CURVE_ROWS = 2000  # whose curves are compared
TIMES = 100  # at which they are, at most
GROUPS = 3  # of rows by their risk
MIN_ROWS = 10  # of a group


def kaplan_meier(event, time, entry=None):
    """The Kaplan-Meier estimate of survival: (event times, ascending; the probability from each of them on)."""
    times = np.unique(time[event])
    gone = np.searchsorted(np.sort(time), times)
    at_risk = (len(time) if entry is None else np.searchsorted(np.sort(entry), times)) - gone
    events = np.bincount(np.searchsorted(times, time[event]), minlength=len(times))
    return times, np.cumprod(1.0 - events / at_risk)


def parts_of(true):
    """(event, time, entry or None) of true values."""
    return true[:, 0] == 1, true[:, 1], true[:, 2] if true.shape[1] > 2 else None


def harrell(true, prediction, weight=None):
    event, time, entry = parts_of(true)
    return float(concordance(event, time, prediction[:, 0], None, entry))


def uno(true, prediction, weight=None):
    """NaN with entries, with which it is not defined."""
    event, time, entry = parts_of(true)
    return np.nan if entry is not None else float(concordance(event, time, prediction[:, 0], uno_weights(event, time)))


def measure_of(rows, scoring):
    """The `Measure` of a survival forest, by a value of `scoring`."""
    if not (scoring is None or isinstance(scoring, str)) or scoring not in NAMES:
        raise ValueError(f'scoring={scoring!r}; allowed for survival times are None, "harrell" and "uno"')
    if scoring == "uno" and rows is not None and rows.y is not None and rows.y.shape[1] > 2:
        raise ValueError('scoring="uno" is not defined for a y with entries; allowed are None and "harrell"')
    score = uno if scoring == "uno" else harrell
    return Measure(score, f"c{NAMES[scoring][1:]}", takes_weights=False, is_chosen=scoring is not None)


@dataclass(frozen=True)
class Curves:
    """Mean predicted survival functions of rows beside their Kaplan-Meier estimate."""

    at: np.ndarray  # of shape (n_times,): event times of the forest
    mean: np.ndarray  # of shape (n_times,): of the survival functions there
    times: np.ndarray  # of shape (n,): event times of the rows
    observed: np.ndarray  # of shape (n,): the estimate from each of them on
    n_rows: int


@dataclass(frozen=True)
class SurvivalQuality:
    """How well survival is predicted."""

    true: np.ndarray  # of shape (n_rows, 2) or (n_rows, 3)
    figures: dict  # scores by their names; None where one is not defined
    constant: dict  # those of the Kaplan-Meier estimate for all rows
    curves: list  # of some rows; and, if these are enough, of groups of them in the order of their risks


def survival_functions(estimator, X, numbers, places):
    """The survival functions of encoded rows after so many of the event times: ndarray of shape (n_rows, n_places).

    numbers : ndarray of shape (n_rows,), or None
        The numbers of training rows, which are predicted by the trees that left them out.
    """
    forest, n_threads = estimator.forest_, count_threads(estimator.n_jobs)
    left_out = None
    if numbers is not None:
        own = np.searchsorted(estimator._batches[-1].row_numbers(), numbers)
        left_out = np.stack([forest.left_out(t)[own] for t in range(forest.n_trees)], axis=1)
    leaves = forest.packed().apply(X, n_threads)
    return estimator._curves.means(forest, leaves, places, True, n_threads, left_out)


def assess_survival(study, true, prediction):
    """The `SurvivalQuality` of predictions, ndarray of shape (n_rows, 1), of the rows of a `Study`."""
    rows, _, is_out_of_bag = study.predictions
    chosen = np.arange(len(rows))
    if len(rows) > CURVE_ROWS:
        chosen = np.flatnonzero(np.isin(rows, study.rows.sample(CURVE_ROWS)))
    event, time, entry = parts_of(true[chosen])
    risk, event_times = prediction[chosen, 0], study.estimator.event_times_
    places = np.unique(np.linspace(0, len(event_times) - 1, TIMES).round().astype(int))
    at, numbers = event_times[places], rows[chosen] if is_out_of_bag else None
    survival = survival_functions(study.estimator, study.rows.X[rows[chosen]], numbers, places + 1)
    groups = [np.arange(len(chosen))]
    if len(chosen) >= GROUPS * MIN_ROWS:
        groups += np.array_split(np.argsort(risk, kind="stable"), GROUPS)
    curves = []
    for own in groups:
        estimate = kaplan_meier(event[own], time[own], None if entry is None else entry[own])
        curves.append(Curves(at, survival[own].mean(axis=0), *estimate, len(own)))
    figures, constant = {HARRELL: harrell(true, prediction)}, {HARRELL: harrell(true, np.zeros_like(prediction))}
    figures[UNO], constant[UNO] = uno(true, prediction), uno(true, np.zeros_like(prediction))
    seen = (at >= time.min()) & (at < time.max())
    figures[BRIER] = constant[BRIER] = None
    if entry is None and np.count_nonzero(seen) > 1:
        times, probability = kaplan_meier(event, time)
        same = np.append(1.0, probability)[np.searchsorted(times, at[seen], side="right")]
        figures[BRIER] = integrated_brier_score(event, time, at[seen], lambda own: survival[own][:, seen])
        constant[BRIER] = integrated_brier_score(event, time, at[seen], lambda own: same)
    return SurvivalQuality(true, figures, constant, curves)


class Survival(Numbers):
    """Of survival forests."""

    task = "survival times"
    noun = "risk"
    of_boxes = "A box has its risk."
    of_constant = "a constant prediction: the Kaplan-Meier estimate of the rows, for each row"
    colours_targets = False
    no_curve = (
        "No concordance by the number of trees is known. Pass the training rows as X and y to report, of a forest that was "
        "fitted with oob_score=True, or rows held out, to see whether more trees would help."
    )

    def assess(self, study, true, prediction):
        return assess_survival(study, true, prediction)

    def constant(self, study, true):
        return np.zeros((len(true), 1))

    def tiles(self, study):
        estimator = study.estimator
        is_known = study.has_targets and study.predictions[2]  # the measure is there already, of the same predictions
        error = getattr(estimator, "oob_error_", np.nan) if estimator.oob_score in (True, "harrell") else np.nan
        return [("Out-of-bag concordance", number(1 - error))] * bool(np.isfinite(error) and not is_known)

    def facts(self, study):
        times, events = study.estimator.unique_times_, study.estimator.event_times_
        found = [("Times", f"{len(times):,}, from {number(times[0])} to {number(times[-1])}"),
                 ("Event times", f"{len(events):,}, from {number(events[0])} to {number(events[-1])}")]  # fmt: skip
        if study.has_targets:
            n, n_events = len(study.rows), np.count_nonzero(study.rows.y[:, 0])
            entered = ", with entries" if study.rows.y.shape[1] > 2 else ""
            found.append(("Rows of X with an event", f"{n_events:,} of {n:,}, or {percent(n_events / n)}{entered}"))
        return found

    def parts(self, study):
        whole, *groups = study.quality.curves
        used = f"the {count(whole.n_rows, 'row')} that are predicted"
        if whole.n_rows < len(study.quality.true):
            used = sentence_on_sample(whole.n_rows, len(study.rows))
        label = "Mean survival function of the rows, and their Kaplan-Meier estimate"
        caption = (
            f"The mean survival function that is predicted {study.where}, and the Kaplan-Meier estimate, which knows no feature. "
            f"Both are from {used}, as is the Brier score."
        )
        drawn = [figure(pictures.survival(label, [("predicted", whole)]), caption)]
        if groups:
            label = f"Mean survival functions of {GROUPS} groups of rows by their predicted risk, and Kaplan-Meier estimates"
            names = "low risk", "middle risk", "high risk"
            caption = (
                f"The same of {GROUPS} groups of rows by their predicted risk, {count(groups[0].n_rows, 'row')} in the first. "
                "The further apart the groups are, the more the features tell; the nearer the dashed lines to the others, the "
                "better probabilities can be trusted."
            )
            drawn.append(figure(pictures.survival(label, list(zip(names, groups, strict=True))), caption))
        return [
            element("h3", "Quality"), figures_table(study), element("h3", "Survival functions"),
            paragraph("Lines are predicted, dashed lines are Kaplan-Meier estimates."), element("div", *drawn, class_="pictures"),
        ]  # fmt: skip
