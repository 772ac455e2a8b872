"""Grows many trees on many threads.

Each thread has a grower of its own and takes the next tree as soon as it is done with one. When no tree is left to begin, it
takes work from the growers of other trees: subtrees that they give away, or features of a large node (see
`dforest.core.team`). A tree depends on the data, the parameters and its seed alone, so it is the same whichever threads grow
it. A `Trainer` grows trees that draw rows; a `Finisher` those whose records are given, and subtrees of such.

The calling thread takes part, together with workers that all calls of the process share (`dforest.core.threads`): where fewer
workers come than were asked for, fewer threads grow the same trees. A thread holds the interpreter's lock only between trees, or
parts of trees.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

from dforest.core.search.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.grow.subtree_cache cimport caches_pay
from dforest.core.grow.records cimport Drawing
from dforest.core.grow.grower cimport PARALLEL_FROM, Grower
from dforest.core.grow.tree cimport end_part, leaf_table
from dforest.rules.feature_order cimport DF_MANY_FEATURES
from dforest.rules.random cimport df_tree_seed
from dforest.core.search.splitter cimport Splitter
from dforest.core.team cimport Team
from dforest.core.threads cimport df_glance
from dforest.core.types cimport Record
from dforest.rules.records cimport df_open_node

from dforest.core.tree.layout import join_parts
from dforest.core.threads import Stopped, each

cdef enum:
    VISIT_WORK = 3                 # of a record, a feature and a level of a tree, in nanoseconds or so
    RECORDS_TOGETHER = 1 << 14     # of given subtrees that are grown one after another without a look at Python


def tree_seeds(uint64_t seed, trees):
    """The seeds of some trees of a forest: trees of different numbers have different seeds.

    Parameters
    ----------
    seed : int
        Seed of the forest, below 2**64.
    trees : range
        Numbers of the trees, below 2**32.

    Returns
    -------
    ndarray of shape (n_trees,), dtype uint32
    """
    cdef Py_ssize_t i, first = trees.start
    result = np.empty(len(trees), np.uint32)
    cdef uint32_t[::1] out = result
    for i in range(out.shape[0]):
        out[i] = df_tree_seed(seed, <uint32_t> (first + i))
    return result


def bucketed_columns(DataView data not None, Splitter splitter not None, Criterion criterion not None):
    """Which columns get buckets before trees are grown: list of bool."""
    cdef uint64_t n_buckets = splitter.wanted_buckets(data, criterion)
    return [data.has_buckets(j, n_buckets) for j in range(data.n_features)]


class Growers:
    """Threads that grow trees of one problem. Their growers, and the memory of these, stay from call to call.

    Parameters
    ----------
    data : DataView
    objective : Objective
        What trees are to predict.
    criterion, splitter : Criterion, Splitter
        Patterns, of which every thread gets a clone.
    rules : GrowthRules
        When a node becomes a leaf: see `dforest.engines.problem.GrowthRules`.
    n_rows : int
        Of the problem; the data may have a part of them.
    max_records : int
        Of a tree.
    n_threads : int
        Most threads; fewer are used where there is not enough work for all.
    """

    def __init__(self, DataView data not None, objective not None, Criterion criterion not None, Splitter splitter not None,
                 rules, n_rows, max_records, int n_threads):
        self._data, self._objective, self._criterion, self._splitter = data, objective, criterion, splitter
        self._rules, self._n_rows, self._max_records, self._n_threads = rules, n_rows, max_records, n_threads
        self._growers = {}         # by the number of the thread in the team
        splitter.prepare(data, criterion)
        data.add_buckets(splitter.wanted_buckets(data, criterion))
        pays = caches_pay(data, splitter, rules, max_records)
        if data.has_sparse and (pays or data.n_features >= DF_MANY_FEATURES):
            data.add_present()
        elif pays:
            data.add_rows(n_threads)

    def _make_drawing(self):
        """What a grower draws trees with; None: records are given."""
        return None

    def _make_grower(self):
        return Grower(self._data, self._objective, self._criterion.clone(), self._splitter.clone(), self._rules, self._n_rows,
                      self._max_records, self._make_drawing())

    def _parallel_from(self):
        """Records of a tree or subtree that is worth giving away."""
        cdef Splitter splitter = self._splitter
        return max(1, splitter.tuning.get("parallel_from", PARALLEL_FROM))

    def _max_at_work(self, n_trees):
        """How many threads can have work to do at the same time, on n_trees trees."""
        cdef Splitter splitter = self._splitter
        cdef int64_t n = self._max_records, by_tree = 1
        if not self._rules.max_leaf_nodes:
            by_tree = n // <int64_t> self._parallel_from()
        if n * splitter.max_features >= splitter.parallel_visits_from:
            by_tree = max(by_tree, splitter.max_features)
        return n_trees * max(1, by_tree)

    def _grow_each(self, n, n_records, begin, put, bint keep_leaves=False):
        """Grow some trees.

        Parameters
        ----------
        n : int
            How many.
        n_records : int
            Of all of them.
        begin : callable
            Called with a `Grower` and the number of a tree, from 0; grows the tree, but for the parts that are given away.
        put : callable
            Called with each finished tree, in any order, by the thread that finished it: the number that the tree has in its
            `TreeRecords`; its `TreeArrays`, lent; its `leaf_table` (`dforest/core/grow/tree.pxd`), None without `keep_leaves`.
            Returns whether growing is to go on.
        keep_leaves : bool, default=False
            Whether `put` is to be told which rows each leaf has.

        Raises
        ------
        Exception
            The first exception that a thread raised, when all threads have stopped.
        """
        cdef int n_threads = min(self._n_threads, self._max_at_work(n))
        cdef Team team = Team(n_threads)
        cdef bint is_wanted = True
        growers = self._growers      # kept until all are done: they work in each other's memory
        n_levels = int(self._max_records).bit_length()
        if self._rules.max_depth is not None:
            n_levels = min(n_levels, self._rules.max_depth)
        parts = {}                   # by tree, of trees that are not finished: the parts that are, as `join_parts` takes them
        to_grow = iter(range(n))     # shared: each thread takes the next tree

        def keep(Grower grower):
            """Keep the part that a grower has finished; return whether more trees are wanted."""
            number = grower.tree_records.tree
            placeholders = grower.writer.placeholder_table()
            tree = grower.writer.arrays()
            if len(placeholders) or grower.part:
                parts.setdefault(number, {})[grower.part] = tree.copy(), placeholders
            if not end_part(grower.tree_records):
                return True
            if number in parts:
                tree = join_parts(parts.pop(number))
            return put(number, tree, leaf_table(grower.tree_records) if keep_leaves else None)

        def work(member, _):
            nonlocal is_wanted
            cdef Grower grower
            cdef bint has_part
            if not team.join():
                return
            try:
                if member not in growers:
                    growers[member] = self._make_grower()
                grower = growers[member]
                grower.join(team, member, keep_leaves)
                for i in to_grow:
                    if not is_wanted or df_glance(team.stopped):
                        return
                    begin(grower, i)
                    is_wanted = keep(grower) and is_wanted
                while is_wanted:
                    with nogil:
                        has_part = grower.help()
                    if not has_part:
                        return
                    is_wanted = keep(grower) and is_wanted
                team.stop()            # no more trees are wanted: other members need not finish what they are at
            except Stopped:
                if is_wanted:
                    raise
            except BaseException:
                team.stop()
                raise

        try:
            each(n_threads, work, n_threads, VISIT_WORK * n_records * self._splitter.max_features * n_levels)
        finally:
            keep = None      # which knows itself, and would keep the growers alive until Python looks for cycles


class Trainer(Growers):
    """Grows trees that draw rows.

    Parameters
    ----------
    data, objective, criterion, splitter, rules, n_threads
        As of `Growers`; the data have all rows, or those that are drawn.
    sampling : SamplingPlan
        Which rows each tree draws.
    drawn : DrawnRows, optional
        What trees draw, if the data have these rows alone: see `dforest.engines.problem.DrawnRows`.
    """

    def __init__(self, DataView data not None, objective not None, Criterion criterion not None, Splitter splitter not None,
                 rules, sampling, int n_threads, drawn=None):
        n_rows = data.n_rows if drawn is None else drawn.n_rows
        super().__init__(data, objective, criterion, splitter, rules, n_rows, sampling.max_records(n_rows), n_threads)
        self._sampling, self._drawn = sampling, drawn

    def _make_drawing(self):
        return Drawing(self._data, self._sampling, self._n_rows)

    def grow(self, trees, const uint32_t[::1] seeds not None, put, weigh_draws=None, bint keep_leaves=False):
        """Grow some trees.

        Parameters
        ----------
        trees : range
            Numbers of the trees.
        seeds : ndarray of shape (n_trees,), dtype uint32
            Seeds of the trees.
        put : callable
            Called with each finished tree, in any order, by the thread that finished it: the tree's number; its `TreeArrays`,
            lent; the unit of its weights, None without `weigh_draws`; its `leaf_table` (`dforest/core/grow/tree.pxd`), None
            without `keep_leaves`. Returns whether growing is to go on.
        weigh_draws : callable, optional
            Called with a tree's seed. Returns how often the tree draws each row, ndarray of shape (n_rows,), dtype uint32, and
            the rows' `IntegerWeights`, which take the place of the data's weights. The data must have weights, and exact ones.
        keep_leaves : bool, default=False
            Whether `put` is to be told which rows each leaf has.

        Raises
        ------
        Exception
            The first exception that a thread raised, when all threads have stopped.
        """
        units = {}                   # by tree: the unit of its weights

        def begin(Grower grower, i):
            cdef uint32_t tree = trees[i], seed = seeds[i]
            if weigh_draws is not None:
                counts, weight = weigh_draws(seed)
                units[tree] = weight.unit
                grower.drawing.set_draws(counts, weight.integers, weight.exact)
            if self._drawn is not None:
                grower.drawing.set_list(*self._drawn.of_tree(tree))
            with nogil:
                grower.grow(tree, seed)

        def put_with_unit(tree, arrays, leaves):
            return put(tree, arrays, units.pop(tree, None), leaves)

        self._grow_each(len(trees), len(trees) * self._max_records, begin, put_with_unit, keep_leaves)


class Finisher(Growers):
    """Grows trees and subtrees of given records.

    Parameters
    ----------
    data, objective, criterion, splitter, rules, n_rows, n_threads
        As of `Growers`; the data have codes and exact targets of the records, and weights if the records have. Whatever else
        these say of a row, the records say instead.
    max_records : int
        Of a tree or subtree.
    label_ranks : ndarray of shape (n_trees, n_ranks), dtype uint32, optional
        The ranks of trees' labels (`dforest.core.grow.label_order`), if they order them; which are those of a node's tree, its
        `label_order` says.
    """

    def __init__(self, DataView data not None, objective not None, Criterion criterion not None, Splitter splitter not None,
                 rules, n_rows, max_records, int n_threads, label_ranks=None):
        super().__init__(data, objective, criterion, splitter, rules, n_rows, max_records, n_threads)
        self._label_ranks = label_ranks

    def _make_grower(self):
        return Grower(self._data, self._objective, self._criterion.clone(), self._splitter.clone(), self._rules, self._n_rows,
                      self._max_records, None, self._label_ranks)

    def grow(self, records, open_nodes, put):
        """Grow some trees and subtrees.

        Parameters
        ----------
        records : ndarray, dtype df_record
            Their `row` is one of the data.
        open_nodes : ndarray of shape (n_nodes,), dtype df_open_node
            The uppermost node of each, the one of most records first; `n` records from `first` on. If growth is best first, all
            of them are roots.
        put : callable
            Called with finished ones, which come one after another in `open_nodes`, but in any order beside that, by the thread
            that finished them: the number of the first one, and the nodes of all of them, one tree or subtree after another, as
            lent `TreeArrays`, in which right children are counted from the first node of the first one.

        Raises
        ------
        Exception
            The first exception that a thread raised, when all threads have stopped.
        """
        cdef const Record[::1] record = records
        cdef const df_open_node[::1] open_node = open_nodes
        sizes = open_nodes["n"]
        alone = int((sizes >= self._parallel_from()).sum())    # the others are grown some at a time
        together = max(1, min(RECORDS_TOGETHER, int(sizes[alone:].sum()) // (4 * self._n_threads)))
        batches = (np.cumsum(sizes[alone:]) - sizes[alone:]) // together
        edges = np.concatenate([np.arange(alone), alone + np.flatnonzero(np.diff(batches, prepend=-1)), [len(sizes)]])

        def begin(Grower grower, i):
            cdef Py_ssize_t first = edges[i], n = edges[i + 1] - first
            cdef uint32_t number = i
            with nogil:
                grower.grow_given(number, &record[0], &open_node[first], n)

        def put_with_nodes(i, arrays, _):
            put(edges[i], arrays)
            return True

        self._grow_each(len(edges) - 1, int(sizes.sum()), begin, put_with_nodes)
