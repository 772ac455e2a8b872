"""How much faster fits would be on more threads than there are here: a simulation from pieces measured on one thread.

    python asv_benchmarks/schedule.py --problems waves,friedman,wide --rows 200000 --trees 100 --threads 2,8,64 >table.md

Words: a *piece* is work that one thread does in one go. What is measured, in seconds of one thread:

- the coding of each column;
- the growth of all trees, cut off at one depth after another, so that the difference of two is the time of a level. The time of a
  level is that of its nodes in proportion to their draws. Below the deepest cut all levels are one;
- each tree's way into the forest, by the thread that finished it;
- the copy of all codes by row, and the last steps of putting trees together, which threads share;
- all else, which one thread does.

What is simulated are threads that take the next piece as soon as they are free: the next tree; then the largest subtree that
waits in another's tree. A thread whose node leaves others idle shares the node with them. Memory is taken to be as fast for many
threads as for one, so the numbers say what the schedule allows, not what a machine does.
"""

import argparse
import sys
from collections import Counter
from contextlib import ExitStack
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from time import process_time
from typing import NamedTuple
from unittest import mock

import numpy as np

PARALLEL_FROM = 2000  # draws of a subtree that is given away, as in the tuning field `parallel_from`
PARALLEL_VISITS_FROM = 131_072  # draws times features tried of a node that is shared, as in `parallel_visits_from`
DEEPEST_CUT = 12
SHARING_COLUMNS = 1.2  # how much more work there is in columns that threads share: see `SharedCoding` in pieces.py
REPEATS = 3


class Piece(NamedTuple):
    """A node and what is below it: a subtree that no one shares, or a node whose children are pieces.

    n_draws : int
    seconds : float
        Of the node alone, or of the whole subtree.
    children : tuple of Piece
        None or two.
    """

    n_draws: int
    seconds: float
    children: tuple = ()


def list_schedule(durations, n_threads):
    """When the last of some pieces ends, if each thread that is free takes the next one."""
    free = [0.0] * n_threads
    for seconds in durations:
        heappush(free, heappop(free) + seconds)
    return max(free)


def grow_schedule(trees, n_threads, after=0.0, n_tried=1):
    """When the last of some trees is grown.

    Parameters
    ----------
    trees : list of Piece
        In their order.
    n_threads : int
    after : float
        Seconds after each tree's last piece, of the thread that finished it.
    n_tried : int
        How many features a node tries, and threads may share.
    """
    to_begin = list(enumerate(trees))[::-1]  # the next one last
    waiting = [[] for _ in range(n_threads)]  # of each thread: (tree, piece)
    n_open = [1] * len(trees)  # pieces of each tree that are not done
    idle = set(range(n_threads))
    events = [(0.0, -1, (), None, None)]  # (when, number, threads that are free then, tree, piece that they have done)
    numbers = count()

    def take(thread):
        """The next piece for a thread; None if there is none."""
        if waiting[thread]:
            return waiting[thread].pop()
        if to_begin:
            return to_begin.pop()
        size, owner, i = max(
            ((piece.n_draws, owner, i) for owner, pieces in enumerate(waiting) for i, (_, piece) in enumerate(pieces)),
            default=(0, 0, 0),
        )
        return waiting[owner].pop(i) if size else None

    now = 0.0
    while events:
        now, _, free, tree, piece = heappop(events)
        if piece is not None:
            n_open[tree] += len(piece.children) - 1
            waiting[free[0]] += [(tree, child) for child in piece.children[::-1]]
            if n_open[tree] == 0:
                heappush(events, (now + after, next(numbers), free, None, None))
                continue
        idle.update(free)
        begun = []
        for thread in [*free[:1], *sorted(idle - set(free[:1]))]:
            taken = take(thread)
            if taken is None:
                break
            begun.append((thread, *taken))
            idle.remove(thread)
        for thread, tree, piece in sorted(begun, key=lambda taken: -taken[2].n_draws):
            together = [thread]
            while idle and piece.children and piece.n_draws * n_tried >= PARALLEL_VISITS_FROM and len(together) < n_tried:
                together.append(idle.pop())
            heappush(events, (now + piece.seconds / len(together), next(numbers), tuple(together), tree, piece))
    return now


def pieces_of(draws, right_child, seconds, parallel_from=PARALLEL_FROM):
    """A tree as pieces, given the draws of its nodes in preorder, right children, and the seconds of each node."""
    upto = np.concatenate([[0.0], np.cumsum(seconds)])

    def piece(node, end):
        if draws[node] < parallel_from or end == node + 1:
            return Piece(int(draws[node]), float(upto[end] - upto[node]))
        right = int(right_child[node])
        return Piece(int(draws[node]), float(seconds[node]), (piece(node + 1, right), piece(right, end)))

    return piece(0, len(draws))


class Measured(NamedTuple):
    """The pieces of a fit, in seconds."""

    columns: list
    trees: list
    n_tried: int
    way_in: float  # of a tree into the forest
    by_row: float  # the copy of codes by row
    last: float  # steps of putting trees together
    rest: float

    def phases(self, n_threads):
        """How long each phase takes on some threads."""
        by_column = list_schedule(self.columns, n_threads)
        return {
            "coding": min(by_column, SHARING_COLUMNS * sum(self.columns) / n_threads) + self.by_row / n_threads,
            "growing": grow_schedule(self.trees, n_threads, self.way_in, self.n_tried),
            "putting together": self.last / n_threads,
            "the rest": self.rest,
        }


def seconds_of(forest, X, y):
    """A fit's seconds by part, in the fastest of some fits."""
    import dforest.engines.cpu as cpu
    import dforest.engines.fitting as fitting
    import dforest.estimators.forest.base as base

    runs = []
    for _ in range(REPEATS):
        spent = Counter()

        def timed(name, function, spent=spent):
            def call(*given, **named):
                begun = process_time()
                try:
                    return function(*given, **named)
                finally:
                    spent[name] += process_time() - begun

            return call

        with ExitStack() as patches:
            for name, owner, method in (
                ("coding", base, "coded_columns"),
                ("rows", cpu, "Trainer"),
                ("grow", cpu.CpuSession, "_grow"),
                ("way in", fitting.ForestSink, "prepare"),
                ("last", fitting.Assembly, "release"),
            ):
                patches.enter_context(mock.patch.object(owner, method, timed(name, getattr(owner, method))))
            begun = process_time()
            forest.fit(X, y)
            spent["all"] = process_time() - begun
        runs.append(spent)
    return min(runs, key=lambda run: run["all"])


def measure(forest, X, y, tried):
    """The `Measured` pieces of a fit, by a binning forest on numbers that is limited in nothing but max_depth, if at all."""
    from dforest.core.coding import code_columns

    forest.set_params(n_jobs=1)
    columns = []
    for j in range(X.shape[1]):
        alone = np.ascontiguousarray(X[:, j : j + 1])
        times = []
        for _ in range(REPEATS):
            begun = process_time()
            code_columns(alone, forest.max_bins)
            times.append(process_time() - begun)
        columns.append(min(times))
    limit = forest.max_depth
    cuts = [depth for depth in range(1, DEEPEST_CUT + 1) if limit is None or depth < limit]
    growing = [0.0]
    for depth in cuts:
        forest.set_params(max_depth=depth)
        growing.append(max(growing[-1], seconds_of(forest, X, y)["grow"]))
    forest.set_params(max_depth=limit)
    spent = seconds_of(forest, X, y)
    growing.append(max(growing[-1], spent["grow"] - spent["way in"]))
    levels = np.diff(growing)  # a root alone is in the first, together with its children
    grown = forest.forest_
    of_nodes = []
    for t in range(grown.n_trees):
        tree = grown.tree(t)
        of_nodes.append((grown.node_table(t).draws, tree.right_child, np.minimum(tree.depths(), len(levels) - 1)))
    visits = sum(np.bincount(level, draws, len(levels)) for draws, _, level in of_nodes)
    rate = levels / np.maximum(visits, 1)
    trees = [pieces_of(draws, right, draws * rate[level]) for draws, right, level in of_nodes]
    # A column alone takes longer than among others: what all of them take is divided in proportion.
    columns = [seconds * spent["coding"] / sum(columns) for seconds in columns]
    rest = spent["all"] - sum(spent[name] for name in ("coding", "rows", "grow", "last"))
    return Measured(columns, trees, tried, spent["way in"] / grown.n_trees, spent["rows"], spent["last"], rest)


def table(measured, threads):
    """Rows of a table: speed-up and shares of each phase by number of threads."""
    alone = sum(measured.phases(1).values())
    rows = []
    for n_threads in threads:
        phases = measured.phases(n_threads)
        total = sum(phases.values())
        shares = [f"{100 * seconds / total:.1f}" for seconds in phases.values()]
        rows.append([str(n_threads), f"{alone / total:.2f}", f"{1000 * total:.0f}", *shares])
    return rows


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", default="waves,friedman,wide")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--threads", default="1,2,8,64")
    given = parser.parse_args(words)
    sys.path.insert(0, str(Path(__file__).parent))
    from benchmarks import data
    from benchmarks.forests import forest_for

    threads = [int(number) for number in given.threads.split(",")]
    print("| problem | threads | times as fast | ms | coding, % | growing, % | putting together, % | the rest, % |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in given.problems.split(","):
        problem = data.load(name, given.rows)
        n_features = problem.X.shape[1]
        tried = int(n_features**0.5) if problem.task == "classification" else max(1, n_features // 3)
        forest = forest_for(problem, "RandomForest", n_estimators=given.trees, max_features=tried)
        measured = measure(forest, problem.X, problem.y, tried)
        for row in table(measured, threads):
            print("|", " | ".join([name, *row]), "|", flush=True)


if __name__ == "__main__":
    main()
