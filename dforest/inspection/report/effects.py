"""What a report says of effects of treatments: who can be compared, the averages, who gains most, and what to doubt."""

import numpy as np

from dforest.core.sparse_rows import column_of
from dforest.inspection.report import pictures
from dforest.inspection.report.markup import absent, count, element, figure, joined, number, paragraph, percent, table
from dforest.inspection.report.targets import Numbers
from dforest.inspection.report.text import shortened

PROJECTED = 5  # features that effects are regressed on
SURE = 0.05  # p-values below it are told as sure
TARGETS = {"all": "all rows", "treated": "treated rows", "control": "other rows", "overlap": "rows by how mixed treatments are"}
NAME = 40  # characters of a feature


class Effects(Numbers):
    """Of causal forests.

    Parameters
    ----------
    outcome, treatment : int
        Numbers of the effect that the page is about.
    """

    task = "effects of treatments"
    noun = "effect"
    colours_targets, of_training = False, None

    def __init__(self, outcome, treatment):
        self.outcome, self.treatment = outcome, treatment

    def tiles(self, study):
        found = average(study, "all")
        if isinstance(found, str):
            return []
        low, high = found.interval()
        return [("Average effect", number(found.estimate)), ("Its 95 % interval", f"{number(low)} to {number(high)}")]

    def facts(self, study):
        moments, estimator = study.forest.objective.moments, study.estimator
        arms = "" if estimator.arms_ is None else f": {', '.join(map(str, estimator.arms_.tolist()))}; the first is the control"
        instruments = ", with instruments" if moments.is_instrumental else ""
        return [("Outcomes", f"{moments.n_outcomes:,}"), ("Treatments", f"{moments.n_treatments:,}{instruments}{arms}")]


def asked(study):
    """What methods of the estimator are told of the effect: labels of arms in place of their numbers."""
    target, arms = study.target, study.estimator.arms_
    treatment = target.treatment if arms is None else arms.tolist()[1 + target.treatment]
    return {"outcome": target.outcome, "treatment": treatment}


def average(study, of):
    """An average effect, or why there is none: Estimate or str."""
    try:
        return study.estimator.average_effect(of, **asked(study))
    except ValueError as error:
        return str(error)


def known_rows(study):
    """What is known of the training rows, without those of weight 0."""
    return study.estimator._rows(study.target.outcome, study.target.treatment)


def overlap(study):
    """The section on who can be compared with whom."""
    rows = known_rows(study)
    if not rows.is_binary:
        explained = 1.0 - np.square(rows.w - rows.w_hat).mean() / np.square(rows.w - rows.w.mean()).mean()
        label = "How far treatments are from what is expected of them"
        picture = figure(pictures.counts_of([(label, rows.w - rows.w_hat)], "Treatment less what is expected of it"), label)
        said = f"The features explain {percent(max(explained, 0))} of the treatment's variance; effects are told by the rest."
        return joined([paragraph(said), picture])
    treated = rows.w == 1
    shares = study.estimator.w_hat_[study.estimator._kept(), study.target.treatment]
    parts = [("treated rows", shares[treated]), ("other rows", shares[~treated])]
    outside = np.count_nonzero((shares < SURE) | (shares > 1 - SURE))
    said = (
        f"{percent(treated.mean())} of the rows are treated. What the features say of that, out of bag, goes from "
        f"{number(shares.min())} to {number(shares.max())}; {count(outside, 'row')} of {len(shares):,} have a share below {SURE} "
        f"or above {1 - SURE}. Where there are no rows of one kind, there is nobody to compare those of the other kind with."
    )
    return joined([paragraph(said), figure(pictures.counts_of(parts, "Expected share of treated rows"),
                                           "How many treated and other rows are expected to be treated so often.")])  # fmt: skip


def averages(study):
    """The section on average effects."""
    lines, reasons = [], []
    for name, words in TARGETS.items():
        found = average(study, name)
        if isinstance(found, str):
            reasons.append(found)
            continue
        low, high = found.interval()
        lines.append([words, number(found.estimate), number(found.standard_error), f"{number(low)} to {number(high)}"])
    if not lines:
        return absent(reasons[0])
    head = ["Of", "Mean effect", "Standard error", "95 % interval"]
    said = "By doubly robust scores, which are right if either what is expected of outcomes or of treatments is about right."
    return joined([paragraph(said), table(head, lines, "Average effects", {1, 2})])


def differences(study):
    """The section on whom the treatment helps."""
    tau = known_rows(study).tau
    tau = tau[np.isfinite(tau)]
    label = f"Effects of {len(tau):,} training rows, out of bag"
    parts = [paragraph(f"{label}, go from {number(tau.min())} to {number(tau.max())}; half of them are between "
                       f"{number(np.quantile(tau, 0.25))} and {number(np.quantile(tau, 0.75))}. Some of that is chance."),
             figure(pictures.counts_of([("rows", tau)], "Effect"), label)]  # fmt: skip
    try:
        test = study.estimator.calibration_test(**asked(study))
        sure = "They do" if test.pvalue[1] < SURE else "That they do is not sure"
        said = (
            f"Do effects differ as the forest says? {sure}: if outcomes are regressed on them, the coefficient of their "
            f"differences is {number(test.estimate[1])} ± {number(test.standard_error[1])} (p = {number(test.pvalue[1])}), where "
            f"1 is right and 0 means that differences are chance; that of their mean is {number(test.estimate[0])} ± "
            f"{number(test.standard_error[0])}."
        )
    except ValueError as error:
        said = str(error)
    return joined([*parts, paragraph(said), projection(study)])


def projection(study):
    """A regression of scores on the features that trees split by first."""
    X, estimator = study.estimator._training_rows().X, study.estimator
    order = np.argsort(-estimator.feature_importances_, kind="stable")
    chosen = [j for j in order if not study.model.is_categorical[j]][:PROJECTED]
    columns = np.column_stack([column_of(X, j) for j in chosen]) if chosen else np.zeros((X.shape[0], 0))
    known = np.isfinite(columns).all(axis=1)
    kept = estimator._kept()
    A = np.zeros((len(estimator._observed["y"]), len(chosen)))
    A[kept[known]] = columns[known]
    try:
        found = estimator.best_linear_projection(A, subset=kept[known], names=[study.names[j] for j in chosen], **asked(study))
    except ValueError as error:
        return paragraph(str(error))
    lines = [
        [shortened(name, NAME), number(value), number(error), number(p)]
        for name, value, error, p in zip(found.names, found.estimate, found.standard_error, found.pvalue, strict=True)
    ]
    said = (
        f"How the effect changes with the {count(len(chosen), 'column')} of numbers that trees split by most near their roots, "
        "by a linear regression of doubly robust scores with robust standard errors."
    )
    return joined([element("h3", "The best line"), paragraph(said),
                   table(["Feature", "Coefficient", "Standard error", "p"], lines, "The best line", {1, 2, 3})])  # fmt: skip


def importances(study):
    """The section on features."""
    share = study.estimator.feature_importances_
    order = np.argsort(-share, kind="stable")[:20]
    lines = [[shortened(study.names[j], NAME), percent(share[j])] for j in order]
    said = "How often trees split by a feature near their roots. It says which features tell effects apart, not by how much."
    return joined([paragraph(said), table(["Feature", "Share of the splits"], lines, "Features by their splits", {1})])


def doubts(study):
    """The section on what no data can show."""
    rows, notes = known_rows(study), []
    if study.forest.objective.moments.is_instrumental:
        notes.append("That the instrument reaches the outcome through the treatment alone, and depends on nothing that moves the "
                     "outcome but the features, is known to you or not at all.")  # fmt: skip
    else:
        notes.append("That all features which both treatments and outcomes depend on are among the columns is known to you or "
                     "not at all: if one is missing, every number on this page may be wrong.")  # fmt: skip
    notes.append("Columns that the treatment changes, such as what was measured after it, must not be among the features.")
    if rows.is_binary:
        least = int(min((rows.w == 1).sum(), (rows.w == 0).sum()))
        if least < 200:
            notes.append(f"The smaller side has {count(least, 'row')}: intervals of single rows are then too narrow.")
    if np.isnan(rows.tau).any():
        notes.append(f"{count(int(np.isnan(rows.tau).sum()), 'row')} have no effect out of bag: too few trees left them out.")
    notes.append("Intervals of single rows do not know of the forest's bias, which is largest where effects change quickly and "
                 "near the ends of the data. Averages have little of it.")  # fmt: skip
    return element("ul", *(element("li", note) for note in notes))


PARTS = [
    ("overlap", "Who can be compared?", overlap),
    ("averages", "Does it work?", averages),
    ("differences", "For whom?", differences),
    ("importances", "Which features tell effects apart?", importances),
    ("doubts", "What to doubt", doubts),
]
