"""The pieces that the time of a forest is made of, for a slow-down to point at its cause.

Some pieces have functions of their own. The others are the difference of two measurements, or most
of one: a tree cut short is grown on coded columns, and `Tuning` says which way its nodes are worked
on. In the order of a fit and of a prediction:

===================  =====================================================================
`Frame`              labels of a frame's columns to numbers
`Coding`             values to codes: sorting, binning
`SharedCoding`       columns that threads share: the steps of their sorts
`Copies`             codes by row, and the codes of a subtree's rows in a block
`Bootstrap`          which rows a tree draws, and the records made of them
`Order`              which features a node tries
`Root`               one large node: counting or sorting, and the scan of cuts
`Classes`            one node of several classes: counting in lanes, and the scan of cuts
`Scan`               the scan of cuts alone
`Random`             one random cut of each feature of a large node, instead of all
`Divide`             partition of a large node, and opening its children: with it minus without
`SmallNodes`         trees of few rows: what a node costs whatever its size
`SmallRandom`        that, of random cuts
`MiddleNodes`        trees whose smallest inner nodes have 33 draws: counting, sums by code, scans and partitions, by loops
`Wide`               a tree of many columns, whose small nodes have codes far from each other
`Tree`               one whole tree: where the pieces above are put together
`Assemble`           a forest's arrays from its trees, and packed nodes from these
`Walk`               rows through packed nodes, without validation
`SmallTrees`         that, of trees that are copied for many rows
`Afterwards`         what is computed from a grown forest
===================  =====================================================================
"""

import numpy as np

from dforest.core import loops, sampling
from dforest.core.coding import code_columns
from dforest.core.data import DataView
from dforest.core.grow.subtree_cache import filled
from dforest.core.objective import ClassObjective, NumberObjective
from dforest.core.predict.packed import PackedForest
from dforest.core.search.criterion import Entropy, Gini
from dforest.core.search.feature_order import FeatureOrder
from dforest.core.search.regression import SquaredError
from dforest.core.threads import each
from dforest.engines.cpu import CpuEngine
from dforest.engines.fitting import ForestSink
from dforest.engines.problem import GrowthRules, Problem, Targets
from dforest.engines.weights import TrainingRows
from dforest.estimators.data.features import Features
from dforest.estimators.data.tables import read_table
from dforest.estimators.forest.base import SPLITTERS
from dforest.estimators.results import importance, oob, pruning

from . import data
from .forests import ROWS, forest_for

LARGE = 100_000  # rows of a node that is worked on alone
NEVER = 2**62

# Ways of working on a node, all of which yield the same tree.
COUNT = {"small_up_to": 0, "sort_below": 0, "codes_per_record": 10**9, "bitmap_from": 2**31}
MARK = {**COUNT, "bitmap_from": 0}
RADIX = {"small_up_to": 0, "sort_below": NEVER, "insertion_below": 0}
INSERTION = {"small_up_to": 0, "sort_below": NEVER, "insertion_below": NEVER}


class Kept:
    """A sink that keeps copies of the trees."""

    def __init__(self):
        self.trees = []

    def put(self, tree):
        self.trees.append(tree._replace(arrays=tree.arrays.copy()))
        return True


class Growth:
    """All that trees are grown on; `run` grows some of them on one thread.

    Parameters
    ----------
    columns : list of CodedColumn
    y : ndarray of shape (n_rows,)
        Class numbers, or numbers.
    criterion : str
    method, splitter : str
    draws : int, optional
        Number of draws of each tree's bootstrap. None means every row once.
    max_features : int, optional
        None means all features.
    tuning : dict, optional
    **limits
        Limits on the growth of trees: see `GrowthRules`.
    """

    def __init__(
        self, columns, y, criterion, method="hist", splitter="best", draws=None, max_features=None, tuning=None, **limits
    ):
        if criterion in ("gini", "entropy"):
            targets = Targets(y.astype(np.int32))
            objective = ClassObjective(int(y.max()) + 1)
        else:
            targets = Targets(np.zeros(len(y), np.int32), np.ascontiguousarray(y, np.float64))
            objective = NumberObjective()
        self.name = criterion
        self.problem = Problem(
            tuple(columns),
            targets,
            objective,
            objective.make_criterion(criterion),
            SPLITTERS[method, splitter]().configure(max_features or len(columns), False, tuning or {}),
            GrowthRules(**limits),
            sampling.AllRows() if draws is None else sampling.Bootstrap(draws),
            seed=0,
            is_tree=False,
            monotonic_csts=np.zeros(len(columns), np.int8),
        )

    def run(self, n_trees=1):
        kept = Kept()
        CpuEngine(1).open(self.problem).grow(range(n_trees), kept)
        return kept.trees

    def forest(self, trees, n_threads=1):
        """The forest of some grown trees, put together by several threads."""
        sink = ForestSink(np.float64, len(trees), 2, n_threads=n_threads)
        each(len(trees), lambda t, _: sink.prepare(trees[t]), n_threads)
        for tree in trees:
            sink.put(tree._replace(arrays=None))
        return sink.forest(
            self.problem, n_categories=np.zeros(self.problem.n_features, np.int32), criterion=self.name, splitter=None
        )


def made_columns(n_rows, n_columns, codes):
    """Coded columns whose codes are as wide as the width says: "uint8", "uint16" or "uint32"."""
    n_codes = {"uint8": 255, "uint16": 10_000, "uint32": None}[codes]
    X = np.random.default_rng(1).random((n_rows, n_columns))
    if n_codes is not None:
        X = np.floor(X * n_codes)
    return code_columns(X), X


def made_target(X, n_classes):
    """Class numbers, or numbers if n_classes is 0, that depend on two columns."""
    y = X[:, 0] / X[:, 0].max() + 0.5 * X[:, -1] / X[:, -1].max() + np.random.default_rng(2).random(len(X))
    return y if n_classes == 0 else (y / y.max() * n_classes).astype(np.int64).clip(0, n_classes - 1)


class Frame:
    """Columns of text and numbers of a pandas frame: finding the labels, and putting numbers in their place."""

    params = (["text", "category"],)
    param_names = ("dtype",)

    def setup(self, dtype):
        import pandas as pd

        random = np.random.default_rng(0)
        n = data.scaled(ROWS)
        words = np.array([f"label {i}" for i in range(300)], object)
        self.frame = pd.DataFrame({"a": words[random.integers(300, size=n)], "b": words[random.integers(5, size=n)]})
        if dtype == "category":
            self.frame = self.frame.astype("category")
        self.frame["c"] = random.random(n)
        self.chosen = ["a", "b"]
        self.features = Features.learn(read_table(self.frame), self.chosen)

    def time_learn(self, dtype):
        Features.learn(read_table(self.frame), self.chosen)

    def time_encode(self, dtype):
        self.features.encode(read_table(self.frame))


class Coding:
    """Eight columns on one thread: codes for bins, or, if the number is 0, for each distinct value; or keys, for random cuts."""

    params = (["distinct", "float32", "whole", "missing", "columns", "weighted"], [256, 0, "keys"])
    param_names = ("values", "max_codes")

    def setup(self, values, max_codes):
        random = np.random.default_rng(0)
        X = random.standard_normal((data.scaled(LARGE), 8))
        if values == "whole":
            X = np.rint(10 * X)
        elif values == "missing":
            X[random.random(X.shape) < 0.2] = np.nan
        elif values == "columns":
            X = np.asfortranarray(X)
        elif values == "float32":
            X = X.astype(np.float32)
        self.X = X
        self.weight = random.integers(1, 100, len(X), np.uint32) if values == "weighted" else None

    def time_code_columns(self, values, max_codes):
        takes_keys = max_codes == "keys"
        code_columns(self.X, 0 if takes_keys else max_codes, self.weight, takes_keys=takes_keys)


class SharedCoding:
    """Two columns to bins, on one thread, and on two that share both of them."""

    params = (["float32", "float64"], [1, 2])
    param_names = ("values", "threads")

    def setup(self, values, threads):
        self.X = np.random.default_rng(0).standard_normal((data.scaled(LARGE), 2)).astype(values)

    def time_code_columns(self, values, threads):
        code_columns(self.X, 256, n_threads=threads)


class Copies:
    """Codes by row, and a block's worth of every tenth row: of one byte, or ranked."""

    params = (["uint8", "uint32"], [30, 300])
    param_names = ("codes", "columns")

    def setup(self, codes, columns):
        n = data.scaled(LARGE)
        self.columns, _ = made_columns(n, columns, codes)
        self.target = np.zeros(n, np.int32)
        self.rows = np.arange(0, n, 10, dtype=np.uint32)
        self.view = DataView(self.columns, self.target)
        self.view.add_rows(1)

    def time_rows(self, codes, columns):
        DataView(self.columns, self.target).add_rows(1)

    def time_block(self, codes, columns):
        filled(self.view, self.rows)


class Bootstrap:
    """The draws of one tree: dealt out to blocks, and drawn; `time_rows` goes on to records of a root that is a leaf at once."""

    params = ([1000, 1_000_000],)
    param_names = ("rows",)

    def setup(self, rows):
        self.n = data.scaled(rows)
        columns, X = made_columns(self.n, 1, "uint8")
        y = made_target(X, 2)
        self.growth = Growth(columns, y, "gini", draws=self.n, max_depth=0)
        self.every_row = Growth(columns, y, "gini", max_depth=0)

    def time_deal(self, rows):
        sampling.Bootstrap(self.n).block_draws(self.n, 0)

    def time_counts(self, rows):
        sampling.Bootstrap(self.n).counts(self.n, 0)

    def time_rows(self, rows):
        self.growth.run()

    def time_every_row(self, rows):
        self.every_row.run()


class Order:
    """The features that 200 nodes try."""

    params = ([5, 5000],)
    param_names = ("features",)

    def setup(self, features):
        self.order = FeatureOrder(features)
        self.n_tried = max(1, int(features**0.5))

    def time_draw(self, features):
        for node in range(200):
            self.order.draw(0, node, self.n_tried)


class Root:
    """The best of all cuts of 16 features in one large node, which then is divided.

    Ways: a histogram over codes; that, walked through by the codes that are marked; a radix sort.
    """

    params = (["uint8", "uint16", "uint32"], ["gini 2", "gini 6", "squared_error"], ["count", "mark", "sort"])
    param_names = ("codes", "criterion", "way")
    ways = {"count": COUNT, "mark": MARK, "sort": RADIX}

    def setup(self, codes, criterion, way):
        criterion, _, n_classes = criterion.partition(" ")
        columns, X = made_columns(data.scaled(LARGE), 16, codes)
        y = made_target(X, int(n_classes or 0))
        self.growth = Growth(columns, y, criterion, "dense", tuning=self.ways[way], max_depth=1)

    def time_stump(self, codes, criterion, way):
        self.growth.run()


class Classes:
    """The best of all cuts of 16 features in a node of three or seven classes, which then is divided, by counting."""

    params = ([2, 255], [3, 7])
    param_names = ("codes", "classes")

    def setup(self, codes, classes):
        X = np.floor(np.random.default_rng(1).random((data.scaled(50_000), 16)) ** 4 * codes)
        self.growth = Growth(code_columns(X), made_target(X, classes), "gini", "dense", tuning=COUNT, max_depth=1)

    def time_stump(self, codes, classes):
        self.growth.run()


class OtherCriteria:
    """As `Root`, by counting, for criteria whose scan can't be timed alone, and for labels and constraints."""

    params = (["poisson", "absolute_error", "labels", "monotonic"],)
    param_names = ("what",)

    def setup(self, what):
        n = data.scaled(LARGE) // 4
        if what in ("labels", "monotonic"):
            kind, criterion = {"labels": "labels", "monotonic": "friedman"}[what], "squared_error"
            problem = data.load(kind, 2 * n)
            parameters = {"monotonic_cst": [1] * problem.X.shape[1]} if what == "monotonic" else {}
        else:
            criterion, parameters = what, {}
            problem = data.load("friedman", 2 * n)
        self.X, self.y = problem.X[:n], np.abs(problem.y[:n])
        self.forest = forest_for(
            problem, "RandomForest", criterion=criterion, method="dense", n_estimators=1, max_depth=1, **parameters
        )

    def time_stump(self, what):
        self.forest.fit(self.X, self.y)


class Scan:
    """The best of many cuts whose left sides have been summed up already; "base": by the base class's scan."""

    params = (["gini 2", "gini 6", "entropy 2", "entropy 6", "squared_error", "squared_error wide"], ["own", "base"])
    param_names = ("criterion", "scan")

    def setup(self, criterion, scan):
        name, _, kind = criterion.partition(" ")
        n = data.scaled(LARGE)
        random = np.random.default_rng(0)
        if name == "squared_error":
            self.criterion = SquaredError().configure(wide=kind == "wide")
            here = np.column_stack([np.ones((n, 2), np.int64), random.integers(-(2**20), 2**20, (n, 1 + (kind == "wide")))])
        else:
            n_classes = int(kind)
            self.criterion = {"gini": Gini, "entropy": Entropy}[name]().configure(n_classes)
            which = np.eye(n_classes, dtype=np.int64)[random.integers(n_classes, size=n)]
            here = np.column_stack([np.ones((n, 2), np.int64), which])
        summed = here.cumsum(axis=0)
        self.left, self.total = np.ascontiguousarray(summed[:-1]), summed[-1].copy()
        self.base = scan == "base"

    def time_score_cuts(self, criterion, scan):
        self.criterion.score_cuts(self.left, self.total, self.base)


class Random:
    """One random cut of each of 16 features in one large node, which then is divided."""

    params = (["hist", "dense"], ["gini 2", "squared_error"])
    param_names = ("method", "criterion")

    def setup(self, method, criterion):
        criterion, _, n_classes = criterion.partition(" ")
        X = np.random.default_rng(1).random((data.scaled(LARGE), 16))
        y = made_target(X, int(n_classes or 0))
        columns = code_columns(X, 256 if method == "hist" else 0, takes_keys=method == "dense")
        self.growth = Growth(columns, y, criterion, method, "random", max_depth=1)

    def time_stump(self, method, criterion):
        self.growth.run()


class Divide:
    """One feature's cuts in one large node, which stays whole as none of them is valid, or is divided.

    More than half of the rows have the same code, so that no cut leaves half of them on each side.
    """

    params = (["uint8", "uint16", "uint32"], ["whole", "divided"])
    param_names = ("codes", "node")

    def setup(self, codes, node):
        n = 4 * data.scaled(LARGE)
        (column,), X = made_columns(n, 1, codes)
        alike = column.codes.copy()
        alike[: n // 2 + 1] = alike[0]
        self.growth = Growth(
            [column._replace(codes=alike)], made_target(X, 2), "gini", tuning=COUNT, max_depth=1,
            min_samples_leaf=n // 2 if node == "whole" else 1,
        )  # fmt: skip

    def time_stump(self, codes, node):
        self.growth.run()


class SmallNodes:
    """Three hundred trees of 60 rows each, by all ways; "default": as the machinery chooses."""

    params = (["gini 2", "gini 6", "squared_error"], ["default", "node by node", "count", "mark", "radix", "insertion"])
    param_names = ("criterion", "way")
    ways = {
        "default": {},
        "node by node": {"small_up_to": 0},
        "count": COUNT,
        "mark": MARK,
        "radix": RADIX,
        "insertion": INSERTION,
    }
    n_trees = 300

    def setup(self, criterion, way):
        criterion, _, n_classes = criterion.partition(" ")
        columns, X = made_columns(60, 10, "uint8")
        y = made_target(X, int(n_classes or 0))
        self.growth = Growth(columns, y, criterion, draws=60, max_features=3, tuning=self.ways[way])

    def time_trees(self, criterion, way):
        self.growth.run(max(2, self.n_trees // data.DIVISOR))


class SmallRandom:
    """Three hundred trees of random cuts, of 60 rows each; "node by node": without small subtrees."""

    params = (["hist", "dense"], ["gini 2", "gini 6", "squared_error"], ["default", "node by node"])
    param_names = ("method", "criterion", "way")

    def setup(self, method, criterion, way):
        criterion, _, n_classes = criterion.partition(" ")
        X = np.random.default_rng(1).random((60, 10))
        columns = code_columns(X, 256 if method == "hist" else 0, takes_keys=method == "dense")
        self.growth = Growth(
            columns, made_target(X, int(n_classes or 0)), criterion, method, "random", max_features=3,
            tuning=SmallNodes.ways[way],
        )  # fmt: skip

    def time_trees(self, method, criterion, way):
        self.growth.run(max(2, SmallNodes.n_trees // data.DIVISOR))


class MiddleNodes:
    """Twenty trees of a few thousand rows that are not divided below 33 draws, by all sets of loops."""

    params = (["gini 2", "gini 6", "squared_error"], ["portable", "avx2", "avx512"])
    param_names = ("criterion", "loops")
    n_trees = 20

    def setup(self, criterion, name):
        if name not in loops.names():
            raise NotImplementedError(f"this processor has no {name}")  # asv leaves the benchmark out
        criterion, _, n_classes = criterion.partition(" ")
        n_rows = data.scaled(4000)
        columns, X = made_columns(n_rows, 10, "uint8")
        y = made_target(X, int(n_classes or 0))
        self.growth = Growth(columns, y, criterion, draws=n_rows, max_features=3, min_samples_split=33)
        loops.use(name)

    def teardown(self, criterion, name):
        loops.use()

    def time_trees(self, criterion, name):
        self.growth.run(max(2, self.n_trees // data.DIVISOR))


class Wide:
    """One tree of some rows and 25 times as many codes as a block has room for, few of which a node tries.

    Codes are asked for ahead, or not.
    """

    params = (["hist", "dense"], ["ahead", "not ahead"])
    param_names = ("method", "codes")

    def setup(self, method, codes):
        X = np.random.default_rng(1).random((data.scaled(16_000), 400))
        self.growth = Growth(
            code_columns(X, 256 if method == "hist" else 0), made_target(X, 2), "gini", method, max_features=20,
            tuning={"fetch_up_to": 4096 if codes == "ahead" else 0},
        )  # fmt: skip

    def time_tree(self, method, codes):
        self.growth.run()


class Tree:
    """One tree on draws of all rows, codes ready; without private copies of small subtrees' codes, and best first."""

    params = (["waves", "grid", "friedman"], ["hist", "dense"], ["best", "random"], ["default", "no blocks", "best first"])
    param_names = ("problem", "method", "splitter", "way")

    def setup(self, name, method, splitter, way):
        problem = data.load(name, ROWS)
        n_rows, n_features = problem.X.shape
        is_class = problem.task == "classification"
        self.growth = Growth(
            code_columns(problem.X, 256 if method == "hist" else 0, takes_keys=(method, splitter) == ("dense", "random")),
            problem.y,
            "gini" if is_class else "squared_error",
            method,
            splitter,
            draws=n_rows,
            max_features=int(n_features**0.5) if is_class else n_features,
            tuning={"cache_bytes": 0} if way == "no blocks" else {},
            max_leaf_nodes=n_rows if way == "best first" else None,
        )

    def time_grow(self, name, method, splitter, way):
        self.growth.run()


class Assemble:
    """Ten grown trees to a forest's arrays, and these to packed nodes."""

    params = (["waves", "grid", "friedman"],)
    param_names = ("problem",)

    def setup(self, name):
        problem = data.load(name, ROWS)
        criterion = "gini" if problem.task == "classification" else "squared_error"
        self.growth = Growth(code_columns(problem.X, 256), problem.y, criterion, draws=len(problem.y), max_features=4)
        self.trees = self.growth.run(10)
        self.forest = self.growth.forest(self.trees)
        weight = self.forest.leaf_weight
        is_class = problem.task == "classification"
        self.values = weight / weight.sum(axis=1, keepdims=True) if is_class else self.forest.leaf_value[:, None]

    def time_arrays(self, name):
        self.growth.forest(self.trees)

    def time_arrays_by_two(self, name):
        """By two threads, at the same time."""
        self.growth.forest(self.trees, 2)

    def time_pack(self, name):
        PackedForest(self.forest, self.values, None)


class Walk:
    """Rows through the packed nodes of ten trees on one thread."""

    params = (["waves", "grid", "friedman", "labels"], [1, 4000])
    param_names = ("problem", "rows")

    def setup(self, name, rows):
        problem = data.load(name, ROWS)
        self.packed = forest_for(problem, "RandomForest").fit(problem.X, problem.y).forest_.packed()
        self.X = np.ascontiguousarray(problem.X_test[:rows])
        self.leaves = self.packed.apply(self.X, 1)

    def time_mean(self, name, rows):
        self.packed.mean(self.X, 1)

    def time_apply(self, name, rows):
        self.packed.apply(self.X, 1)

    def time_paths(self, name, rows):
        self.packed.paths(self.leaves)


class SmallTrees:
    """Rows of numbers through fifty trees of depth 8 on one thread: many rows, for which trees are copied with keys, or few."""

    params = (["waves", "grid", "friedman"], [100, 4000])
    param_names = ("problem", "rows")

    def setup(self, name, rows):
        problem = data.load(name, ROWS)
        forest = forest_for(problem, "RandomForest", n_estimators=50, max_depth=8)
        self.packed = forest.fit(problem.X, problem.y).forest_.packed()
        self.X = np.ascontiguousarray(problem.X_test[:rows])

    def time_mean(self, name, rows):
        self.packed.mean(self.X, 1)


class Afterwards:
    """Out-of-bag estimates, importances, tables of nodes and pruning of ten trees."""

    params = (["waves", "friedman"],)
    param_names = ("problem",)

    def setup(self, name):
        self.problem = data.load(name, ROWS // 4)
        self.forest = forest_for(self.problem, "RandomForest", n_estimators=40).fit(self.problem.X, self.problem.y).forest_
        self.forest.packed()
        self.rows = TrainingRows([self.problem.X], self.problem.y, None)
        self.rows.number()

    def time_out_of_bag(self, name):
        oob.estimate(self.forest, self.rows, "soft", 1)

    def time_impurity_decrease(self, name):
        importance.impurity_decrease(self.forest)

    def time_accuracy_decrease(self, name):
        importance.accuracy_decrease(self.forest, self.rows, 1)

    def time_node_table(self, name):
        self.forest.node_table(0)

    def time_prune(self, name):
        pruning.cost_complexity(self.forest, range(self.forest.n_trees), 1e-4, 1)
