"""How the times, memory and sizes of several libraries grow with rows, columns, trees and threads.

    python asv_benchmarks/scaling.py --results forests.json --charts pictures
    python asv_benchmarks/scaling.py --libraries boosted --vary rows=1000,10000,100000 --results boosted.json

One number is varied at a time, and the others stay as --rows, --columns, --trees and --jobs tell. Each measurement has
a process of its own; doc/speed.md says what is measured, and how. chart.py draws a file of results again.
"""

import argparse
import os

import chart
from benchmarks import data
from measuring import Results, add_arguments, chosen, measure_point, positive

VARIED = "rows", "columns", "trees", "threads"


def powers(first, factor, last):
    """Some numbers, each `factor` times the one before, as text."""
    numbers = [first]
    while numbers[-1] * factor <= last:
        numbers.append(numbers[-1] * factor)
    return ",".join(map(str, numbers))


def default_vary():
    return [
        f"rows={powers(1000, 4, 256_000)}", f"columns={powers(5, 4, 320)}", f"trees={powers(5, 4, 320)}",
        f"threads={powers(1, 2, os.cpu_count())}",
    ]  # fmt: skip


def varied(text):
    """("rows", [1000, 10000]) of "rows=1000,10000"."""
    name, _, numbers = text.partition("=")
    if name not in VARIED:
        raise argparse.ArgumentTypeError(f"{text!r}: no number of {name!r} can be varied; those of {', '.join(VARIED)} can")
    return name, sorted({positive(number) for number in numbers.split(",")})


def questions(base, vary):
    """What is asked, in order: `base`, but for one number at a time; equal questions once."""
    asked = []
    for name, numbers in vary:
        for number in numbers:
            question = base | {name: number}
            if question not in asked:
                asked.append(question)
    return asked


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--problem", default="waves", help="waves or friedman, see benchmarks/data.py (default: %(default)s)")
    parser.add_argument(
        "--vary", nargs="+", type=varied, default=[varied(text) for text in default_vary()],
        help=f"NAME=NUMBER,NUMBER,... for some of {', '.join(VARIED)} (default: {' '.join(default_vary())})",
    )  # fmt: skip
    parser.add_argument("--rows", type=positive, default=16_000, help="training rows (default: %(default)s)")
    parser.add_argument("--columns", type=positive, default=20, help="(default: %(default)s)")
    parser.add_argument(
        "--trees", type=positive, default=20, help="of a forest, or iterations of boosted trees (default: %(default)s)"
    )
    parser.add_argument("--jobs", type=positive, default=os.cpu_count(), help="threads (default: all, %(default)s)")
    parser.add_argument("--charts", help="a folder for a chart of each number that is varied, drawn with matplotlib")
    args = parser.parse_args()
    libraries = chosen(parser, args.libraries)
    base = {"rows": args.rows, "columns": args.columns, "trees": args.trees, "threads": args.jobs}
    results = Results.begin(libraries, args.seeds, base)
    for question in questions(base, args.vary):
        problem = data.load(args.problem, -(-4 * question["rows"] // 3), question["columns"])
        trees, threads = question["trees"], question["threads"]
        results.points.append(measure_point(libraries, args.problem, problem, trees, threads, args.seeds, args.timeout))
        if args.results:
            results.write(args.results)
    if args.charts:
        chart.draw_growth(results, args.charts, "boosted" if args.libraries == "boosted" else "forests")


if __name__ == "__main__":
    main()
