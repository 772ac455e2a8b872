"""A chart of what compare.py has measured: how many times as long each library took as the first one.

python asv_benchmarks/compare.py --chart speed.svg >table.md
"""

import statistics

# Measurement: the title of its row of pictures.
DRAWN = {"fit": "fit", "predict": "prediction"}


def ratios(runs, name):
    """The median of a measurement over that of the first library, by library; libraries that failed are left out."""
    medians = {
        library: statistics.median(found[name] for found in of_library)
        for library, of_library in runs.items()
        if not any("failed" in found for found in of_library)
    }
    first = medians.get(next(iter(runs)))
    return {library: median / first for library, median in medians.items()} if first else {}


def draw(problems, titles, path):
    """Write the chart.

    Parameters
    ----------
    problems : dict
        For each problem, by name, a dict of the measurements of each library, as `compare.measure` returns them.
    titles : dict of str
        What libraries are called.
    path : str or Path
        The file; its ending says in which format.
    """
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams |= {"svg.hashsalt": "dforest", "svg.fonttype": "none", "font.size": 9}  # the same file each time
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        len(DRAWN), len(problems), figsize=(3.0 * len(problems) + 1.2, 2.1 * len(DRAWN) + 0.4), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for row, (name, title) in zip(axes, DRAWN.items(), strict=True):
        for axis, (problem, runs) in zip(row, problems.items(), strict=True):
            found = ratios(runs, name)
            names = [titles[library].replace("`", "") for library in found]
            colours = ["#b5502e", *["#5b7a99"] * (len(found) - 1)]  # the first library's, and those of others
            bars = axis.barh(names, list(found.values()), color=colours)
            axis.bar_label(bars, [f"{ratio:.3g}" for ratio in found.values()], padding=3)
            axis.set_xscale("log")
            axis.set_xlim(0.5, 3.0 * max([*found.values(), 1.0]))
            axis.set_title(f"{problem}: {title}", loc="left")
            axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].invert_yaxis()
    figure.supxlabel(f"times as long as {titles[next(iter(runs))]}, on a logarithmic scale")
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
    pyplot.close(figure)
