"""Charts of what compare.py and scaling.py have measured.

    python asv_benchmarks/chart.py forests.json pictures
    python asv_benchmarks/chart.py peers.json pictures --libraries dforest,sklearn,sklearnex

draws a file of results of either: of compare.py, how many times as long each library took as the first one; of scaling.py, a
chart for each number that was varied.
"""

import argparse
import statistics
from pathlib import Path

from libraries import LIBRARIES

# Measurement: the title of its picture.
RATIOS = {"fit": "Training", "predict": "Prediction"}
AXES = {"rows": "training rows", "columns": "columns", "trees": "trees", "threads": "threads"}
OURS = "#c2410c"
OTHERS = {
    "dforest-dense": "#e8956a", "sklearn": "#2563a8", "sklearnex": "#0f8a6d", "lightgbm": "#c08a00", "xgboost": "#8b5cc6",
    "ydf": "#b83280",
}  # fmt: skip


def per_row(point, milliseconds):
    return 1000 * milliseconds / point.test_rows


# Title of a picture: the measurement, and its number for a point, given the median.
GROWTH = {
    "Training, seconds": ("fit", lambda point, median: median),
    "Prediction, microseconds a row": ("predict", per_row),
    "Memory of training, MiB": ("memory", lambda point, median: median),
    "Model as a pickle, MiB": ("pickled", lambda point, median: median),
}


def medians(runs, name):
    """A measurement's median by library; libraries that failed are left out."""
    return {
        library: statistics.median(found[name] for found in of_library)
        for library, of_library in runs.items()
        if not any(name not in found for found in of_library)
    }


def ratios(runs, name):
    """The median of a measurement over that of the first library, by library; libraries that failed are left out."""
    found = medians(runs, name)
    first = found.get(next(iter(runs)))
    return {library: median / first for library, median in found.items()} if first else {}


def mean_ratios(points, name):
    """The geometric mean over problems of `ratios`, for libraries that have one for each problem."""
    of_points = [ratios(point.runs, name) for point in points]
    libraries = [library for library in points[0].runs if all(library in found for found in of_points)]
    return {library: statistics.geometric_mean(found[library] for found in of_points) for library in libraries}


def title_of(library):
    return LIBRARIES[library][0].replace("`", "").removesuffix(", boosted trees")


def pyplot_for_files():
    """matplotlib.pyplot, with settings by which the same numbers give the same file."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams |= {"svg.hashsalt": "dforest", "svg.fonttype": "none", "font.size": 12}
    from matplotlib import pyplot

    return pyplot


def save(figure, path):
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
    pyplot_for_files().close(figure)


def draw_ratios(results, path):
    """Bars of times as multiples of the first library's, geometric means over problems; the format is by the ending of `path`."""
    pyplot = pyplot_for_files()
    found = {title: mean_ratios(results.points, name) for name, title in RATIOS.items()}
    height = 0.3 * max(map(len, found.values())) + 0.5
    figure, axes = pyplot.subplots(len(RATIOS), 1, figsize=(5.4, height * len(RATIOS) + 0.3), layout="constrained")
    for axis, (title, of_libraries) in zip(axes, found.items(), strict=True):
        names = [title_of(library) for library in of_libraries]
        bars = axis.barh(names, list(of_libraries.values()), color=[OURS, *["#7d93a8"] * (len(names) - 1)])
        axis.bar_label(bars, [f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}" for ratio in of_libraries.values()], padding=4)
        axis.set_xlim(0, 1.12 * max([*of_libraries.values(), 1.0]))
        axis.set_title(f"{title} time, {names[0]} = 1", loc="left", fontsize=12, fontweight="bold")
        axis.spines[["top", "right", "bottom"]].set_visible(False)
        axis.tick_params(left=False, bottom=False, labelbottom=False)
        axis.invert_yaxis()
    save(figure, path)


def draw_losses(over, path):
    """Bars of losses beyond the best peer's, in percent, with their standard errors; the format is by the ending of `path`.

    over : dict of str to (float, float)
        The mean and its standard error, by model.
    """
    pyplot = pyplot_for_files()
    over = dict(sorted(over.items(), key=lambda item: item[1]))
    figure, axis = pyplot.subplots(figsize=(6.4, 0.3 * len(over) + 0.8), layout="constrained")
    means, errors = zip(*over.values(), strict=True)
    colours = [OURS if name.startswith("dforest ") else "#7d93a8" for name in over]
    bars = axis.barh(list(over), means, xerr=errors, color=colours, ecolor="#30383f")
    axis.bar_label(bars, [f"{mean:+.1f}" for mean in means], padding=4)
    axis.axvline(0, color="#30383f", linewidth=0.8)
    axis.set_xlim(min(means) - max(errors) - 4, max(means) + max(errors) + 5)  # room for the numbers
    axis.set_title("Loss beyond the best peer's, %", loc="left", fontsize=12, fontweight="bold")
    axis.spines[["top", "right", "bottom", "left"]].set_visible(False)
    axis.tick_params(left=False, bottom=False, labelbottom=False)
    axis.invert_yaxis()
    save(figure, path)


def draw_growth(results, folder, stem):
    """For each number that was varied, a chart `stem_NUMBER.svg` of times, memory and sizes, on logarithmic scales.

    Returns
    -------
    list of Path
        The charts.
    """
    pyplot = pyplot_for_files()
    from matplotlib.ticker import LogLocator

    drawn = []
    for name, label in AXES.items():
        others = [other for other in AXES if other != name]
        points = [point for point in results.points if all(getattr(point, other) == results.base[other] for other in others)]
        points.sort(key=lambda point: getattr(point, name))
        if len(points) < 2:
            continue
        figure, axes = pyplot.subplots(2, 2, figsize=(6.6, 6.2), layout="constrained", sharex=True)
        libraries = list(points[0].runs)
        colours = dict.fromkeys(libraries, "#5c6670") | {
            library: OTHERS[library.removesuffix("-boosted")]
            for library in libraries
            if library.removesuffix("-boosted") in OTHERS
        }
        colours[libraries[0]] = OURS
        for axis, (title, (measurement, number_of)) in zip(axes.flat, GROWTH.items(), strict=True):
            found = [medians(point.runs, measurement) for point in points]
            for library, colour in colours.items():
                there = [(point, of_point[library]) for point, of_point in zip(points, found, strict=True) if library in of_point]
                axis.plot(
                    [getattr(point, name) for point, _ in there], [number_of(point, median) for point, median in there],
                    marker="o", markersize=4, linewidth=2.6 if colour == OURS else 1.4, color=colour, label=title_of(library),
                    zorder=3 if colour == OURS else 2,
                )  # fmt: skip
            axis.set_title(title, loc="left", fontsize=11)
            axis.set_xscale("log")
            axis.set_yscale("log")
            varied = [getattr(point, name) for point in points]
            axis.set_xticks(varied, [f"{number:,}" if number < 10_000 else f"{number // 1000:,}k" for number in varied])
            low, high = axis.get_ylim()
            axis.yaxis.set_major_locator(LogLocator(subs=(1,) if high > 100 * low else (1, 2, 5)))
            axis.yaxis.set_major_formatter("{x:,g}")
            axis.minorticks_off()
            axis.grid(axis="y", color="#dddddd")
            axis.spines[["top", "right"]].set_visible(False)
        figure.supxlabel(label, fontsize=12)
        figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False, fontsize=11)
        drawn.append(Path(folder) / f"{stem}_{name}.svg")
        save(figure, drawn[-1])
    return drawn


def main():
    from measuring import Results

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="what --results of compare.py or scaling.py has written")
    parser.add_argument("folder", type=Path, help="where the charts go; their names begin as that of the results does")
    parser.add_argument("--libraries", help="which of those that were measured, the one first that the others are compared with")
    args = parser.parse_args()
    results = Results.read(args.results)
    if args.libraries:
        for point in results.points:
            point.runs = {library: point.runs[library] for library in args.libraries.split(",")}
    if results.base is None:
        draw_ratios(results, args.folder / f"{args.results.stem}.svg")
    else:
        draw_growth(results, args.folder, args.results.stem)


if __name__ == "__main__":
    main()
