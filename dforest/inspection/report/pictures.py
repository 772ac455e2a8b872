"""The pictures of a report: each function paints one on a figure of matplotlib."""

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from dforest.inspection.report.displays import ImportanceDisplay, OutOfBagCurveDisplay
from dforest.inspection.report.markup import tick
from dforest.inspection.report.svg import PALETTE, SERIES, STEPS, shortened

# Sizes in pixels. Pictures grow and shrink with the screen; on a phone of 390 pixels they have nearly these sizes.
PANEL, SMALL_PANEL, TALL_PANEL, MAP_PANEL = (370, 260), (330, 250), (370, 335), (370, 385)
POINTS = 600  # of a scatter
TICK_LABEL, SHORT_LABEL = 18, 14  # characters of a category or a class; of those of which three stand side by side


def colour(name):
    return PALETTE[name]


def _marks(ax, x, y, colour_name, **kwargs):
    style = {"linestyle": "none", "marker": "o", "markersize": 3.4, "markeredgewidth": 0, "alpha": 0.75, "clip_on": True}
    ax.plot(x, y, **style | {"color": colour(colour_name)} | kwargs)


def _few_ticks(axis, n=5):
    axis.set_major_locator(MaxNLocator(n, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))


def out_of_bag_curve(figure, curve, error_name):
    ax = figure.add_subplot()
    display = OutOfBagCurveDisplay(curve, error_name=f"Out-of-bag {error_name}").plot(ax, label="measured", color=colour("c0"))
    if display.trend_line_ is not None:
        display.trend_line_.set(color=colour("c1"), label="fitted, and extended")
        ax.axvline(len(curve), color=colour("muted"), linewidth=0.8, linestyle=(0, (1, 2)))
        ax.legend(loc="upper right")
    ax.set_xlim(left=0)
    _few_ticks(ax.xaxis)
    _few_ticks(ax.yaxis)


def importances(figure, mean, std, names, kind, features):
    ax = figure.add_subplot()
    display = ImportanceDisplay(mean, std, names, kind=kind)
    display.plot(ax, features=features, color=colour("c0"), error_kw={"elinewidth": 1.1, "ecolor": colour("muted")})
    if kind != "impurity":
        ax.set_xlabel("Rise of the error when permuted")
    ax.tick_params(axis="y", length=0, labelcolor=colour("ink"))
    ax.spines["left"].set_visible(False)
    ax.axvline(0, color=colour("muted"), linewidth=0.6)
    _few_ticks(ax.xaxis, 4)


def calibration(figure, quality, what):
    """Stated and observed probabilities, and below how often which probabilities are stated."""
    ax, below = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    ax.plot([0, 1], [0, 1], color=colour("muted"), linewidth=0.9, linestyle=(0, (2, 2)), label="as stated")
    ax.plot(quality.stated, quality.observed, color=colour("c0"), marker="o", markersize=4, label="observed")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="Share for which it came true")
    ax.legend(loc="upper left")
    below.hist(quality.claim, bins=np.linspace(0, 1, 26), color=colour("c0"), alpha=0.55)
    below.set(xlabel=what, ylabel="Rows")
    below.grid(False)
    _few_ticks(below.yaxis, 2)


def agreement(figure, quality):
    """Means of targets by predictions: the calibration of numbers."""
    ax = figure.add_subplot()
    ends = [min(quality.stated.min(), quality.observed.min()), max(quality.stated.max(), quality.observed.max())]
    ax.plot(ends, ends, color=colour("muted"), linewidth=0.9, linestyle=(0, (2, 2)), label="equal")
    ax.errorbar(quality.stated, quality.observed, 2 * np.nan_to_num(quality.error), color=colour("c0"), marker="o", markersize=4,
                elinewidth=1, label="mean target")  # fmt: skip
    ax.set(xlabel="Mean prediction", ylabel="Mean target")
    ax.legend(loc="upper left")
    _few_ticks(ax.xaxis)
    _few_ticks(ax.yaxis)


def residuals(figure, quality, chosen):
    """What targets exceed predictions by."""
    ax = figure.add_subplot()
    difference = quality.true - quality.predicted
    ax.axhline(0, color=colour("muted"), linewidth=0.9, linestyle=(0, (2, 2)))
    _marks(ax, quality.predicted[chosen], difference[chosen], "c0", markersize=3, alpha=0.5)
    ax.set(xlabel="Prediction", ylabel="Target less prediction")
    _few_ticks(ax.xaxis)
    _few_ticks(ax.yaxis)


def dependence(figure, found, name, limits):
    """How predictions depend on a number."""
    ax = figure.add_subplot()
    if found.low is not None:
        ax.fill_between(found.grid, found.low, found.high, color=colour("c0"), alpha=0.16, linewidth=0)
    marker = {"marker": "o", "markersize": 4} if len(found.grid) < 3 else {}
    for k, mean in enumerate(found.mean):
        ax.plot(found.grid, mean, color=colour(SERIES[k]), **marker)
    ax.set_title(shortened(name, 34))
    ax.set_ylim(*limits)
    _few_ticks(ax.xaxis, 4)
    _few_ticks(ax.yaxis, 4)


def dependence_on_labels(figure, found, name, levels, limits):
    """How predictions depend on a feature whose values are labels; `levels` are their names."""
    ax = figure.add_subplot()
    places = np.arange(len(levels))
    if found.low is not None:
        ax.hlines(places, found.low, found.high, color=colour("c0"), alpha=0.3, linewidth=4)
    for k, mean in enumerate(found.mean):
        ax.plot(mean, places, color=colour(SERIES[k]), linestyle="none", marker="o", markersize=4.5)
    ax.set_title(shortened(name, 34))
    ax.set_yticks(places, [shortened(level, TICK_LABEL) for level in levels])
    ax.set_ylim(len(levels) - 0.4, -0.6)
    ax.set_xlim(*limits)
    ax.tick_params(axis="y", length=0)
    _few_ticks(ax.xaxis, 4)


def proximity_of_classes(figure, points, number, names):
    """The map, coloured by class; `names` are those of the classes that have a colour of their own, the rest are one."""
    ax = figure.add_subplot()
    for k, (value, name) in enumerate(names.items()):
        _marks(ax, *points[number == value].T, SERIES[k], label=shortened(name, TICK_LABEL))
    others = ~np.isin(number, list(names))
    if others.any():
        _marks(ax, *points[others].T, "other", label="other classes", zorder=1.9)
    _finish_map(figure, ax)


def proximity_of_numbers(figure, points, value, name):
    """The map, coloured by a number, in as many steps as there are colours, of equally many rows."""
    ax = figure.add_subplot()
    edges = np.unique(np.quantile(value, np.linspace(0, 1, len(STEPS) + 1)[1:-1]))
    step = np.searchsorted(edges, value, side="right")
    bounds = [value.min(), *edges, value.max()]
    for k in range(len(edges) + 1):
        shade = STEPS[round(k * (len(STEPS) - 1) / max(1, len(edges)))]
        ends = (tick(float(f"{bound:.3g}")) for bound in bounds[k : k + 2])
        _marks(ax, *points[step == k].T, shade, label=" to ".join(ends))
    _finish_map(figure, ax, name)


def _finish_map(figure, ax, title=None):
    """What maps share: axes without numbers, and what colours mean below."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.grid(False)
    ax.tick_params(length=0, labelbottom=False, labelleft=False)
    ax.set(xlabel="First coordinate", ylabel="Second coordinate")
    longest = max(map(len, ax.get_legend_handles_labels()[1]))
    figure.legend(loc="outside lower center", ncols=3 if longest <= SHORT_LABEL else 2, markerscale=1.6, handletextpad=0.2,
                  columnspacing=1.2, title=title, title_fontsize=8.5)  # fmt: skip


def depths(figure, leaves_by_depth):
    ax = figure.add_subplot()
    share = leaves_by_depth / leaves_by_depth.sum()
    ax.bar(np.arange(len(share)), share, width=0.85, color=colour("c0"))
    ax.set(xlabel="Depth of a leaf", ylabel="Share of all leaves", xlim=(-0.7, len(share) - 0.3))
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
    _shares(ax)


def leaf_sizes(figure, leaves_by_draws):
    ax = figure.add_subplot()
    share = leaves_by_draws / leaves_by_draws.sum()
    places = np.arange(len(share))
    ax.bar(places, share, width=0.85, color=colour("c0"))
    labelled = places[:: 1 + len(places) // 11]
    ax.set_xticks(labelled, [tick(2**k) for k in labelled.tolist()])
    ax.set(xlabel="Draws in a leaf, at least", ylabel="Share of all leaves")
    _shares(ax)


def _shares(ax):
    ax.grid(False, axis="x")
    _few_ticks(ax.yaxis, 4)
    ax.yaxis.set_major_formatter(PercentFormatter(1))
