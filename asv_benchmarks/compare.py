"""Compare dforest with other libraries of forests and boosted trees that are installed, on made data.

    pip install scikit-learn-intelex lightgbm xgboost ydf hessboost
    python asv_benchmarks/compare.py --trees 100 --jobs 2 --seeds 3 >table.md
    python asv_benchmarks/compare.py --libraries boosted --jobs 2 >boosted.md

Each measurement has a process of its own. doc/speed.md says what is measured, and how; scaling.py varies
the numbers of rows, columns, trees and threads.
"""

import argparse
import os
import statistics
import sys

import chart
from benchmarks import data
from libraries import LIBRARIES
from measuring import Results, add_arguments, chosen, measure_point, positive

# Measurement: heading of its column, and how its numbers are written.
COLUMNS = {
    "fit": ("fit, s", ".3g"),
    "first": ("first prediction, ms", ".3g"),
    "predict": ("prediction, ms", ".3g"),
    "row": ("one row, ms", ".3g"),
    "memory": ("memory of fit, MiB", ".3g"),
    "pickled": ("pickle, MiB", ".3g"),
}


def cell(of_library, of_first, name):
    """A median, and how many times the first library's median it is."""
    if name not in of_library[0]:
        return "—"
    here, first = (statistics.median(found[name] for found in runs) for runs in (of_library, of_first))
    written = format(here, COLUMNS[name][1])
    return written if of_library is of_first or not first else f"{written} (×{here / first:.2f})"


def score_cell(of_library, of_first):
    """The mean score, and the mean difference to the first library by seed, in points, with its standard error."""
    scores, first = ([100 * found["score"] for found in runs] for runs in (of_library, of_first))
    written = f"{statistics.mean(scores):.2f}"
    if of_library is of_first:
        return written
    differences = [a - b for a, b in zip(scores, first, strict=True)]
    if len(differences) == 1:
        return f"{written} ({differences[0]:+.2f})"
    error = statistics.stdev(differences) / len(differences) ** 0.5
    return f"{written} ({statistics.mean(differences):+.2f} ± {error:.2f})"


def table_of(runs, task):
    """Lines of a table, given the measurements of each library; the first library's must not have failed."""
    score = "accuracy, %" if task == "classification" else "R², %"
    yield "| | " + " | ".join(heading for heading, _ in COLUMNS.values()) + f" | {score} |"
    yield "|---|" + "---:|" * (len(COLUMNS) + 1)
    of_first = next(iter(runs.values()))
    for library, of_library in runs.items():
        title = LIBRARIES[library][0]
        failures = [found["failed"] for found in [*of_first, *of_library] if "failed" in found]
        if failures:
            yield f"| {title} | failed: {failures[0].replace('|', '/')} |" + " |" * len(COLUMNS)
            continue
        cells = [cell(of_library, of_first, name) for name in COLUMNS]
        yield f"| {title} | " + " | ".join([*cells, score_cell(of_library, of_first)]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--problems", default="waves,grid,friedman,wide", help="see benchmarks/data.py (default: %(default)s)")
    parser.add_argument("--rows", type=positive, default=100_000, help="a quarter of them test rows (default: %(default)s)")
    parser.add_argument(
        "--trees", type=positive, default=100, help="of a forest, or iterations of boosted trees (default: %(default)s)"
    )
    parser.add_argument("--jobs", type=positive, default=os.cpu_count(), help="threads (default: all, %(default)s)")
    parser.add_argument("--chart", help="a file for a chart of the times, drawn with matplotlib in the format of its ending")
    args = parser.parse_args()
    libraries = chosen(parser, args.libraries)
    results = Results.begin(libraries, args.seeds)
    print(f"{args.trees} trees, {args.jobs} threads, medians of {args.seeds} models. {results.told()}")
    for name in args.problems.split(","):
        problem = data.load(name, args.rows)
        point = measure_point(libraries, name, problem, args.trees, args.jobs, args.seeds, args.timeout)
        results.points.append(point)
        kind = f"{point.n_classes} classes" if point.n_classes else "regression"
        print(f"\n**{name}**: {kind}, {point.rows} × {point.columns} {point.dtype}, {point.test_rows} test rows\n")
        for line in table_of(point.runs, point.task):
            print(line)
        sys.stdout.flush()
        if args.results:
            results.write(args.results)
    if args.chart:
        chart.draw_ratios(results, args.chart)


if __name__ == "__main__":
    main()
