"""The pictures of a report: each function returns one, as HTML."""

from functools import partial

import numpy as np

from dforest.inspection.report.chart import SERIES, STEPS, Chart, round_numbers, shares
from dforest.inspection.report.markup import tick
from dforest.inspection.report.text import shortened

# Sizes in pixels. Pictures grow and shrink with the screen; on a phone of 390 pixels they have nearly these sizes.
PANEL, SMALL_PANEL, MAP_PANEL = (370, 250), (330, 220), (370, 320)
POINTS = 600  # of a scatter
NAME, TICK_LABEL = 26, 18  # characters of a feature, and of a category or a class
BAR = 22  # pixels of a bar that lies


def curve(label, curve, trend):
    """A score, or an error, by the number of trees or iterations, and the law that it follows, if there is one."""
    chart = Chart(*PANEL, label, f"Number of {curve.unit}s", curve.axis)
    if trend is not None:
        n_trees = np.geomspace(trend.first, 2 * trend.last, 60)
        fitted = curve.sign * trend.at(n_trees)
        chart.line(n_trees, fitted, "c1", "fitted, and extended", dashed=True)
    for values, name, colour in curve.lines:
        chart.line(curve.n_trees, values, colour, name)
    seen = [values[np.isfinite(values) & (curve.n_trees > curve.n_trees[-1] // 5)] for values, *_ in curve.lines]
    seen = np.concatenate(seen if trend is None else [*seen, fitted])
    low, high = seen.min(), seen.max()  # the first few trees err so much more that nothing else could be seen
    if high > low:
        chart.y.limit(low - 0.08 * (high - low), high + 0.08 * (high - low))
    else:
        chart.y.limit(*((0, 1) if low == 0 else sorted((0.9 * low, 1.1 * low))))
    chart.x.limit(0)
    marked = curve.best[0] if curve.unit == "iteration" else None if trend is None else trend.last
    if marked is not None:
        chart.strokes((marked, marked), (chart.y.fixed[0], chart.y.fixed[1]), "muted", "dotted")
    return chart.markup()


def importances(label, mean, error, names, features, axis):
    """Importances as bars that lie, with lines for their errors, if these are known."""
    places = -np.arange(len(features))
    chart = Chart(PANEL[0], 40 + BAR * max(3, len(features)), label, axis)
    chart.bars(places, mean[features], "c0", 0.35, lies=True)
    if error is not None:
        ends = mean[features] - error[features], mean[features] + error[features]
        chart.strokes(ends, (places, places), "muted", "thin")
    chart.strokes((0, 0), (0.5, places[-1] - 0.5), "muted", "thin")
    chart.y.ticks = [(place, shortened(names[j], NAME)) for place, j in zip(places, features, strict=True)]
    chart.y.limit(places[-1] - 0.6, 0.6)
    chart.x.most, chart.has_grid = 5, (True, False)
    return chart.markup()


def calibration(label, quality, what):
    """Stated and observed probabilities, with two standard errors."""
    chart = Chart(*PANEL, label, what, "Share for which it came true")
    low, high = ((quality.observed + k * quality.error).clip(0, 1) for k in (-2, 2))
    ends = [min(1.0, 1.05 * float(part.max()) or 1.0) for part in (quality.stated, high)]  # low where a class is rare
    chart.x.limit(0, ends[0])
    chart.y.limit(0, ends[1])
    return _of_bins(chart, quality, (0, min(ends)), (low, high), "observed", "as stated")


def _of_bins(chart, quality, ends, errors, name, diagonal):
    """A line through the bins of a quality, with their errors and a diagonal; the last two say what these are."""
    chart.strokes(ends, ends, "muted", "dashed")
    chart.strokes((quality.stated, quality.stated), errors, "c0", "thin")
    chart.line(quality.stated, quality.observed, "c0")
    chart.points(quality.stated, quality.observed, "c0", class_="spots")
    chart.keys = [(name, "c0", "line"), (diagonal, "muted", "dash")]
    return chart.markup()


def claims(label, claim, what):
    """How often which probabilities are stated, on a scale of powers of ten."""
    most = float(claim.max()) or 1.0
    chart = Chart(PANEL[0], 110, label, what, "Rows")
    _add_counts(chart, claim, np.linspace(0, most, 26))
    chart.x.limit(0, most)
    return chart.markup()


def thresholds(label, found, what):
    """Precision and recall by the threshold."""
    chart = Chart(*PANEL, label, f"Threshold on the probability of {what}")
    chart.line(found.threshold, found.precision, "c0", "precision: right among those found")
    chart.line(found.threshold, found.recall, "c1", "recall: found among those there are")
    chart.y.ticks = shares
    chart.y.limit(0, 1.02)
    chart.x.limit(0, found.threshold.max())
    if 0.5 <= found.threshold.max():
        chart.strokes((0.5, 0.5), (0, 1), "muted", "dotted")
    return chart.markup()


def agreement(label, quality):
    """Means of targets by predictions: the calibration of numbers."""
    chart = Chart(*PANEL, label, "Mean prediction", "Mean target")
    ends = [min(quality.stated.min(), quality.observed.min()), max(quality.stated.max(), quality.observed.max())]
    error = 2 * np.nan_to_num(quality.error)
    return _of_bins(chart, quality, ends, (quality.observed - error, quality.observed + error), "mean target", "equal")


def scores(label, found, offset):
    """How often which scores of outliers are there, on a scale of powers of ten."""
    low, high = min(found.min(), offset), max(found.max(), offset)
    chart = Chart(*PANEL, label, "Score", "Rows")
    highest = _add_counts(chart, found, np.linspace(low, high if high > low else low + 0.1, 41))
    chart.strokes((offset, offset), (0, highest), "muted", "dotted")
    return chart.markup()


def counts_of(parts, axis):
    """How many numbers are where, of one set of them or several: parts are (what they are, numbers)."""
    known = np.concatenate([numbers for _, numbers in parts])
    low, high = known.min(), known.max()
    edges = np.linspace(low, high if high > low else low + 1.0, 31)
    chart = Chart(*PANEL, f"{axis} of {' and '.join(name for name, _ in parts)}", axis, "Rows")
    steps = (edges[1:] + edges[:-1]) / 2
    for colour, (name, numbers) in zip(SERIES, parts, strict=False):
        heights = np.histogram(numbers, edges)[0]
        if len(parts) == 1:
            chart.bars(steps, heights, colour, 0.45 * (edges[1] - edges[0]))
        else:
            chart.line(np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(heights, 2), [0.0]]), colour, name)
    chart.y.limit(0)
    return chart.markup()


def _add_counts(chart, values, edges):
    """Add bars for the logarithms of how many values are between edges and one more, and ticks at powers of ten.

    Returns the height of the highest bar.
    """
    counts, edges = np.histogram(values, edges)
    chart.bars((edges[1:] + edges[:-1]) / 2, np.log10(counts + 1.0), "c0", 0.45 * (edges[1] - edges[0]))
    highest = np.log10(counts.max() + 1.0)
    chart.y.ticks = [(np.log10(10.0**k + 1), tick(10**k)) for k in range(0, int(highest) + 1, 1 + int(highest) // 3)]
    chart.y.limit(0)
    chart.has_grid = False, True
    return highest


def survival(label, named):
    """Survival functions, by their names: predicted ones as lines, and Kaplan-Meier estimates, which are dashed."""
    chart = Chart(*PANEL, label, "Time", "Probability that the event comes later")
    for colour, (name, curves) in zip(SERIES, named, strict=False):
        chart.line(np.append(0.0, curves.at), np.append(1.0, curves.mean), colour, name)
        steps = np.repeat(np.append(0.0, curves.times), 2)[1:], np.repeat(np.append(1.0, curves.observed), 2)[:-1]
        chart.line(*steps, colour, dashed=True)
    chart.y.ticks = shares
    chart.y.limit(0, 1.02)
    chart.x.limit(0)
    return chart.markup()


def residuals(label, quality, chosen):
    """What targets exceed predictions by."""
    chart = Chart(*PANEL, label, "Prediction", "Target less prediction")
    chart.points(quality.predicted[chosen], quality.true[chosen] - quality.predicted[chosen], "c0")
    chart.strokes((quality.predicted[chosen].min(), quality.predicted[chosen].max()), (0, 0), "muted", "dashed")
    return chart.markup()


def dependence(label, found, name, limits):
    """How predictions depend on a number."""
    chart = Chart(*SMALL_PANEL, label, title=shortened(name, 40))
    if found.low is not None:
        chart.band(found.grid, found.low, found.high, "c0")
    for k, mean in enumerate(found.mean):
        chart.line(found.grid, mean, SERIES[k])
        if len(found.grid) < 3:
            chart.points(found.grid, mean, SERIES[k], class_="spots")
    chart.y.limit(*limits)
    chart.x.most = 5
    return chart.markup()


def dependence_on_labels(label, found, name, limits, levels):
    """How predictions depend on a feature whose values are labels; `levels` are their names."""
    places = -np.arange(len(levels))
    chart = Chart(SMALL_PANEL[0], max(SMALL_PANEL[1], 60 + 16 * len(levels)), label, title=shortened(name, 40))
    if found.low is not None:
        chart.strokes((found.low, found.high), (places, places), "c0", "wide")
    for k, mean in enumerate(found.mean):
        chart.points(mean, places, SERIES[k], class_="spots")
    chart.y.ticks = [(place, shortened(level, TICK_LABEL)) for place, level in zip(places, levels, strict=True)]
    chart.y.limit(places[-1] - 0.6, 0.6)
    chart.x.limit(*limits)
    chart.x.most = 5
    return chart.markup()


def proximity_of_classes(label, points, number, names):
    """The map, coloured by class; `names` are those of the classes that have a colour of their own, the rest are one."""
    chart = _map(label)
    others = ~np.isin(number, list(names))
    if others.any():
        chart.points(*points[others].T, "other")
    colours = dict(zip(names, SERIES, strict=False))
    for value in sorted(names, key=lambda value: -np.count_nonzero(number == value)):  # so that none hides the rarer ones
        chart.points(*points[number == value].T, colours[value])
    chart.keys = [(shortened(name, TICK_LABEL), colours[value], "dot") for value, name in names.items()]
    if others.any():
        chart.keys.append(("other classes", "other", "dot"))
    return chart.markup()


def proximity_of_numbers(label, points, value):
    """The map, coloured by a number, in as many steps as there are colours, of equally many rows."""
    chart = _map(label)
    edges = np.unique(np.quantile(value, np.linspace(0, 1, len(STEPS) + 1)[1:-1]))
    step = np.searchsorted(edges, value, side="right")
    bounds = [value.min(), *edges, value.max()]
    for k in range(len(edges) + 1):
        shade = STEPS[round(k * (len(STEPS) - 1) / max(1, len(edges)))]
        ends = (tick(float(f"{bound:.3g}")) for bound in bounds[k : k + 2])
        chart.points(*points[step == k].T, shade, " to ".join(ends))
    return chart.markup()


def _map(label):
    """A chart without numbers at its axes, on which a distance is as long in all directions."""
    chart = Chart(*MAP_PANEL, label, "First coordinate", "Second coordinate")
    chart.x.ticks = chart.y.ticks = []
    chart.same_unit = True
    return chart


def depths(label, leaves_by_depth):
    chart = Chart(*PANEL, label, "Depth of a leaf", "Share of all leaves")
    chart.bars(np.arange(len(leaves_by_depth)), leaves_by_depth / leaves_by_depth.sum(), "c0")
    chart.x.ticks = partial(_integers, last=len(leaves_by_depth) - 1)
    return _of_shares(chart)


def _integers(low, high, most, last):
    """Ticks at integers from 0 to the last one."""
    return [(number, text) for number, text in round_numbers(0, max(last, 1), most) if number == int(number) and number <= last]


def leaf_sizes(label, leaves_by_draws, unit):
    chart = Chart(*PANEL, label, f"{unit.capitalize()} in a leaf, at least", "Share of all leaves")
    places = np.arange(len(leaves_by_draws))
    chart.bars(places, leaves_by_draws / leaves_by_draws.sum(), "c0")
    sizes = [(k, 2**k if k < 14 else float(f"{2**k:.2g}")) for k in places[:: 1 + len(places) // 11].tolist()]
    chart.x.ticks = [(k, tick(size)) for k, size in sizes]
    return _of_shares(chart)


def _of_shares(chart):
    chart.y.ticks, chart.has_grid = shares, (False, True)
    chart.y.limit(0)
    return chart.markup()
