"""What figures mean, in sentences."""

import numpy as np

from dforest.core.grow.label_order import LABELS_ORDERED_ABOVE
from dforest.inspection.report.markup import count, number, percent, precise
from dforest.inspection.report.text import shortened

CLEAR = 2.0  # how many standard deviations a gain must have, to be told from chance
MAX_NAME = 40  # characters of a name in a sentence
TOP = 5  # features by which two kinds of importances are compared
WORTHWHILE = 0.01  # of the error or the score: a gain that is worth its trees
SLIGHT = 0.1  # of the largest importance by permutation
MANY_LABELS = 50  # of a feature, more than which can hardly be told from a number of the row
BEST_CONSTANT = {"Log loss": True, "Brier score": True, "Root mean squared error": False}  # and whether they are of classes
FLAT = 1e-9  # of a value: what it differs by is rounding
LATE = 0.95  # of the iterations: a best value after them is late


def of_trees(curve, trend):
    """Whether more trees would help.

    Parameters
    ----------
    curve : dforest.inspection.report.curve.Curve
    trend : dforest.inspection.report.curve.Trend or None
        Of its errors.

    Returns
    -------
    verdict : str
        In a few words.
    paragraphs : list of str
    """
    n_trees, name, last = int(curve.n_trees[-1]), curve.name, float(curve.values[-1])
    if trend is None:
        return "Too few trees to tell", [
            f"With {count(n_trees, 'tree')} the {name} {curve.where} says little about what more trees would bring: that is "
            "estimated from 20 trees on. Most forests have some hundreds."
        ]
    if curve.is_error and last == 0:
        return "More trees would not help", [f"The {name} {curve.where} is 0, so there is nothing left to gain."]
    later = curve.values[curve.n_trees >= trend.first]
    later = later[np.isfinite(later)]
    if np.ptp(later) <= FLAT * abs(last):
        return "More trees would not help", [
            f"The {name} {curve.where} stays at {number(last)} from {trend.first:,} trees on: more trees do not change it."
        ]
    half, before = curve.at(n_trees // 2)
    said = [f"The last {n_trees - half:,} of the {n_trees:,} trees {_change(before, last, name)}."]
    gain, chance = trend.gain(n_trees), trend.chance(n_trees)
    better = "lower" if curve.is_error else "raise"
    if gain <= CLEAR * chance:
        verdict = "More trees are unlikely to help"
        change = f"{better} it by about {number(gain)}" if gain > chance / 10 else f"not {better} it"
        ending = ", so such a gain can't be told from chance" if gain > chance / 10 else ""
        said.append(
            f"By the trend, {n_trees:,} more trees would {change}. Chance alone moves it by about {number(chance)} over as many "
            f"trees (one standard deviation){ending}."
        )
    else:
        clear = gain >= WORTHWHILE * abs(last)
        verdict = "More trees would help" if clear else "More trees would help very little"
        share = f", or {percent(gain / abs(last))}," if last else ""
        then = curve.sign * trend.at(2 * n_trees)
        said.append(
            f"By the trend, {n_trees:,} more trees would {better} it by about {number(gain)}{share} to {precise(then, gain)}. "
            f"Chance alone moves it by about {number(chance)} over as many trees (one standard deviation)."
        )
    if np.isfinite(curve.known_to) and curve.known_to > 0:
        ending = ", which is more than those trees would bring" if curve.known_to > gain > 0 else ""
        said.append(f"With these rows, it is known to ±{number(curve.known_to)} for new rows (one standard error){ending}.")
    return verdict, said


def of_iterations(curve):
    """Whether more iterations would help, as `of_trees` says it of trees."""
    n, (n_best, value) = int(curve.n_trees[-1]), curve.best
    said = f"The {curve.name} {curve.where} is best after {count(n_best, 'iteration')}, with {number(value)}"
    said += f"; after all {n:,} that were grown it is {number(curve.values[-1])}." if n_best < n else ", the last."
    if curve.n_kept is not None:
        said += f" The model has the first {curve.n_kept:,} (use_best_model=True)."
    is_stopped = curve.n_iter_no_change is not None and n - n_best >= curve.n_iter_no_change
    if n_best > LATE * n and not is_stopped:
        return "More iterations may help", [
            said, "The best value is among the last ones: raise max_iter, or wait longer before growing stops (n_iter_no_change)."
        ]  # fmt: skip
    if not is_stopped and _still_better(curve):
        return "More iterations may help", [said, "It still gets better, if not with each iteration: raise max_iter."]
    return "More iterations are unlikely to help", [said]


def _still_better(curve):
    """Whether the middle value of the last quarter of the iterations is clearly better than that of the quarter before it."""
    errors = curve.sign * curve.values[np.isfinite(curve.values)]
    quarter = len(errors) // 4
    if quarter == 0:
        return False
    before, after = np.median(errors[-2 * quarter : -quarter]), np.median(errors[-quarter:])
    return bool(before - after > WORTHWHILE * abs(after))


def _change(before, after, name):
    """What the later trees did to a value."""
    if not np.isfinite(before):
        return f"brought the first {name}s"
    change = after - before
    if change == 0:
        return f"left the {name} at {number(after)}"
    share = f" ({percent(abs(change) / abs(before))})" if before else ""
    return (
        f"{'raised' if change > 0 else 'lowered'} the {name} from {precise(before, change)} to {precise(after, change)}, by "
        f"{number(abs(change))}{share}"
    )


def never_predicted(quality, classes, noun):
    """Which classes of the rows are predicted for none: a sentence, or None.

    Parameters
    ----------
    quality : ClassQuality
    classes : list of str
    noun : str
        "forest" or "model".
    """
    true = np.bincount(quality.true, minlength=len(classes))
    never = np.flatnonzero((true > 0) & (np.bincount(quality.predicted, minlength=len(classes)) == 0))
    if not len(never):
        return None
    n_rows = len(quality.true)
    if len(never) > 1:
        names = ", ".join(shortened(classes[k], MAX_NAME) for k in never[:TOP])
        more = f" and {len(never) - TOP:,} more" if len(never) > TOP else ""
        return (
            f"The {noun} never predicts {len(never):,} of the classes: {names}{more}. {count(int(true[never].sum()), 'row')} of "
            f"{n_rows:,} have them."
        )
    (k,) = never
    largest = quality.probability[:, k].max()
    return (
        f"The {noun} never predicts the class {shortened(classes[k], MAX_NAME)}, though {true[k]:,} of {n_rows:,} rows "
        f"({percent(true[k] / n_rows)}) have it: no row's probability of it is the largest one; the highest is "
        f"{number(largest)}. To find such rows, choose a lower threshold on this probability."
    )


def of_constant(figures, constant, what):
    """Which figures are worse than those of the constant prediction that is best by them: a sentence, or None.

    Parameters
    ----------
    figures, constant : dict of str to float or None
        Of the predictions and of the constant prediction.
    what : str
        What the constant prediction is.
    """
    worse = [name for name in BEST_CONSTANT if figures.get(name) is not None and figures[name] > constant[name] * (1 + FLAT)]
    if not worse:
        return None
    pairs = ((name[0].lower() + name[1:], number(figures[name]), number(constant[name])) for name in worse)
    named = " and ".join(f"the {name} ({own}, not {other})" for name, own, other in pairs)
    cure = (
        "The probabilities are too sure of themselves: calibrate them, as by sklearn.calibration.CalibratedClassifierCV, "
        "or let leaves be larger (min_samples_leaf) or iterations fewer."
        if BEST_CONSTANT[worse[0]]
        else "These predictions are no better than none: see whether X tells of y at all, and let leaves be larger."
    )
    return f"By {named}, the predictions are worse than {what}. {cure}"


def of_calibration(quality, what, n_classes):
    """How far probabilities can be taken at their word; `what` says which ones."""
    off = quality.calibration_error
    over = quality.stated - quality.observed
    sentence = f"On average over the bins, {what} is off by {precise(off, 0.1 * off or 0.001)}."
    if off > 2 * float(quality.error.mean()) and len(over) > 1:
        if (over < 0).all() or (over > 0).all():
            sentence += f" It is {'lower' if over[0] < 0 else 'higher'} than what comes true throughout."
        elif over[-1] < -2 * quality.error[-1]:
            sentence += " Where it is high, even more comes true."
        elif over[-1] > 2 * quality.error[-1]:
            sentence += " Where it is high, less comes true."
    return sentence


def of_shifted_classes(estimator):
    """Why probabilities are no frequencies, where trees see other shares of the classes than rows have: sentences, or None."""
    bootstrap, weight, ways = getattr(estimator, "bootstrap", False), estimator.class_weight, []
    if bootstrap == "balanced" or getattr(bootstrap, "sizes", None) is not None:
        draws = "draws the classes in other shares than they have among the rows"
        ways.append(f"bootstrap={shortened(repr(bootstrap), MAX_NAME)} {draws}")
    if weight is not None:
        ways.append(f"class_weight={shortened(repr(weight), MAX_NAME)} gives the classes other shares of the weight")
    if not ways:
        return None
    return (
        f"Here, {' and '.join(ways)}, which shifts probabilities: they are meant for a population with these shares, and are no "
        "frequencies among the rows. Choose a threshold by precision and recall, or calibrate them, for example by "
        "sklearn.calibration.CalibratedClassifierCV."
    )


def of_harm(permutation, names, n_labels, orders_labels):
    """Which columns make predictions worse, and what the fit did about those of many labels: sentences, or None.

    Parameters
    ----------
    permutation, names, n_labels
        As of `of_importances`.
    orders_labels : bool
        Whether many labels were ordered by other rows than a node's.
    """
    mean = np.nan_to_num(permutation.mean, nan=0.0)
    found = [j for j in np.argsort(mean, kind="stable")[:TOP].tolist() if mean[j] < -CLEAR * permutation.error[j]]
    if not found:
        return None

    def written(j):
        has_many = n_labels[j] is not None and n_labels[j] > LABELS_ORDERED_ABOVE
        return shortened(names[j], MAX_NAME) + (f" ({n_labels[j]:,} labels)" if has_many else "")

    named = " and ".join(map(written, found))
    said = (
        f"Predictions are better if {named} {'is' if len(found) == 1 else 'are'} permuted, one "
        f"at a time: see whether they are better without {'it' if len(found) == 1 else 'them'}."
    )
    if any(n_labels[j] is not None and n_labels[j] > LABELS_ORDERED_ABOVE for j in found):
        said += (
            " Many labels were ordered by other rows than a node's, so that few rows of a label say little."
            if orders_labels
            else " Nodes ordered the labels by their own rows, which say much by chance where labels are many; "
            'categorical_split="order" orders them by other rows.'
        )
    return said


def of_importances(own, permutation, names, n_labels, kind):
    """Where importances by "impurity" or "gain" and those by permutation disagree.

    Parameters
    ----------
    own : ndarray of shape (n_features,)
    permutation : Importance
    names : list of str
    n_labels : list of int or None
        How many labels each feature has; None for features of numbers.
    kind : str
        "impurity" or "gain".

    Returns
    -------
    (str or None, bool)
        A sentence or two, if there is something to say, and whether it is a warning.
    """
    top, mean = int(own.argmax()), np.nan_to_num(permutation.mean, nan=-np.inf)
    if own[top] > 0 and permutation.mean[top] <= max(CLEAR * permutation.error[top], SLIGHT * mean.max()):
        has_many = n_labels[top] is not None and n_labels[top] > MANY_LABELS
        name = shortened(names[top], MAX_NAME) + (f", a column of {n_labels[top]:,} labels," if has_many else "")
        values = "so many labels" if has_many else "many values"
        return (
            f"{name} is first by {kind}, with {percent(own[top] / own.sum())} of all importance, but predictions are hardly "
            f"worse if it is permuted. By {values}, trees can tell single rows apart, which counts by {kind} but says nothing "
            "about other rows. See whether predictions are as good without it."
        ), True
    if len(names) <= TOP:
        return None, False
    ranks = [np.argsort(np.argsort(-each, kind="stable"), kind="stable") for each in (own, mean)]
    both = np.count_nonzero((ranks[0] < TOP) & (ranks[1] < TOP))
    if both == TOP:
        return f"The {TOP} most important features are the same by {kind} and by permutation.", False
    return f"Of the {TOP} most important features by {kind}, {both} are among the {TOP} most important by permutation.", False
