"""Print which lines of Cython and C were reached, by file, given the folder of a build by `gcc --coverage` that has run.

Lines are those that the C names: Cython's, if it was asked to name them. What Cython generates besides is not counted.
"""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path


def reached(build):
    """The lines of each file of dforest that compiled code has: dict from the file's name to that of line -> whether it ran."""
    found = defaultdict(dict)
    for data in sorted(build.rglob("*.gcda")):
        told = subprocess.run(["gcov", "--json-format", "--stdout", data], cwd=build, capture_output=True, text=True, check=True)
        for report in map(json.loads, told.stdout.splitlines()):
            for file in report["files"]:
                name = file["file"]
                if name.endswith((".pyx", ".pxd", ".h", ".hpp", ".cpp")) and "dforest/" in name and not name.startswith("/"):
                    lines = found[name[name.index("dforest/") :]]
                    for line in file["lines"]:
                        number = line["line_number"]
                        lines[number] = lines.get(number, False) or line["count"] > 0
    return found


def main(folder):
    files = reached(Path(folder).resolve())
    counts = {name: (len(lines), sum(lines.values())) for name, lines in files.items()}
    for name, (n, n_run) in sorted(counts.items(), key=lambda item: item[1][1] - item[1][0])[:10]:
        print(f"{name:60} {n:6} {n - n_run:6} {n_run / n:6.0%}")
    n, n_run = (sum(numbers) for numbers in zip(*counts.values(), strict=True))
    print(f"lines of Cython and C: {n}, of which tests reach {n_run}, {n_run / n:.0%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
