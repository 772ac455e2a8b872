"""What figures mean, in sentences."""

import numpy as np

from dforest.inspection.report.markup import count, number, percent, precise
from dforest.inspection.report.svg import shortened

CLEAR = 2.0  # how many standard deviations a gain must have, to be told from chance
MAX_NAME = 40  # characters of a name in a sentence
TOP = 5  # features by which two kinds of importances are compared
WORTHWHILE = 0.01  # of the error: a gain that is worth its trees


def of_trees(curve, trend, name, known_to):
    """Whether more trees would help.

    Parameters
    ----------
    curve : ndarray of shape (n_trees,)
        Errors out of bag.
    trend : dforest.inspection.report.curve.Trend or None
    name : str
        What the errors are called.
    known_to : float
        The standard error of the last of them, or NaN.

    Returns
    -------
    verdict : str
        In a few words.
    paragraphs : list of str
    """
    n_trees, error = len(curve), curve[-1]
    if trend is None:
        return "Too few trees to tell", [
            f"With {count(n_trees, 'tree')} the error out of bag says little about what more trees would bring: that is "
            "estimated from 20 trees on. Most forests have some hundreds."
        ]
    if error == 0:
        return "More trees would not help", ["All rows are predicted rightly out of bag, so there is nothing left to gain."]
    before = curve[n_trees // 2 - 1]
    said = [f"The last {n_trees - n_trees // 2:,} of the {n_trees:,} trees {_change(before, error, name)}."]
    gain, chance = trend.gain(n_trees), trend.chance(n_trees)
    sign = "+" if trend.slope >= 0 else "−"
    law = f"{precise(trend.limit, chance)} {sign} {number(abs(trend.slope))} / trees"
    if gain <= CLEAR * chance:
        verdict = "More trees are unlikely to help"
        change = f"would lower it by about {number(gain)}" if gain > 0 else "would not lower it"
        ending = ", so such a gain can't be told from chance" if gain > 0 else ""
        said.append(
            f"The curve follows {law}, by which {n_trees:,} more trees {change}. Chance moves it by "
            f"±{number(chance)} over as many trees (one standard deviation){ending}."
        )
    else:
        verdict = "More trees would help" if gain >= WORTHWHILE * error else "More trees would help very little"
        said.append(
            f"The curve follows {law}, by which {n_trees:,} more trees would lower it by about {number(gain)}, or "
            f"{percent(gain / error)}, to {precise(trend.at(2 * n_trees), gain)}. Chance moves it by "
            f"±{number(chance)} over as many trees (one standard deviation)."
        )
    if np.isfinite(known_to) and known_to > 0:
        ending = ", which is more than those trees would bring" if known_to > gain > 0 else ""
        said.append(f"With these rows, the error on new rows is known to ±{number(known_to)} (one standard error){ending}.")
    return verdict, said


def _change(before, error, name):
    """What the later trees did to an error."""
    if not np.isfinite(before):
        return f"brought the first {name}s"
    change = before - error
    if change == 0:
        return f"left the {name} at {number(error)}"
    share = percent(abs(change) / before) if before else "from nothing"
    return (
        f"{'lowered' if change > 0 else 'raised'} the {name} from {precise(before, change)} to {precise(error, change)}, by "
        f"{number(abs(change))} ({share})"
    )


def of_calibration(quality, what, n_classes):
    """How far probabilities can be taken at their word; `what` says which ones."""
    off = quality.calibration_error
    leaning = float((quality.stated - quality.observed).mean())
    sentence = f"On average over the bins, {what} is off by {precise(off, 0.001)}."
    if n_classes != 2 and off > 0.02 and abs(leaning) > 0.8 * off:
        sentence += " The forest is less sure than it could be." if leaning < 0 else " The forest is surer than it should be."
    return sentence


def of_importances(impurity, permutation, names):
    """Where the two kinds of importances disagree: a sentence, or None."""
    top = int(impurity.argmax())
    if permutation[top] <= 0 < impurity[top]:
        name = shortened(names[top], MAX_NAME)
        return f"{name} is first by impurity, but permuting it does not hurt: features of many values are favoured by impurity."
    if len(names) <= TOP:
        return None
    ranks = [np.argsort(np.argsort(-mean, kind="stable"), kind="stable") for mean in (impurity, permutation)]
    both = np.count_nonzero((ranks[0] < TOP) & (ranks[1] < TOP))
    if both == TOP:
        return f"The {TOP} most important features are the same by impurity and by permutation."
    return f"Of the {TOP} most important features by impurity, {both} are among the {TOP} most important by permutation."
