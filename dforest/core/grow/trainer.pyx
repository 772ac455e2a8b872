"""Grows many trees on many threads.

Each thread has a grower of its own and takes the next tree as soon as it is done with one. When no tree is left to begin, it
takes work from the growers of other trees: subtrees that they give away, or features of a large node (see
`dforest.core.grow.team`). A tree depends on the data, the parameters and its seed alone, so it is the same whichever threads grow
it.

The calling thread takes part, together with workers that all calls of the process share (`dforest.core.threads`): where fewer
workers come than were asked for, fewer threads grow the same trees. A thread holds the interpreter's lock only between trees, or
pieces of trees.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

from dforest.core.search.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.grow.grower cimport Grower
from dforest.core.grow.stack cimport SHARE_FROM
from dforest.core.grow.trunk cimport end_piece, leaf_table
from dforest.rules.random cimport df_tree_seed
from dforest.core.search.splitter cimport Splitter
from dforest.core.grow.team cimport Team
from dforest.core.threads cimport df_glance

from dforest.core.grow.pieces import join_pieces
from dforest.core.threads import Stopped, each


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


class Trainer:
    """Grows trees of one problem. The growers of its threads, and their memory, stay from call to call.

    Parameters
    ----------
    data : DataView
    objective : Objective
        What trees are to predict.
    criterion, splitter : Criterion, Splitter
        Patterns, of which every thread gets a clone.
    rules : GrowthRules
        When a node becomes a leaf: see `dforest.problem.GrowthRules`.
    sampling : SamplingPlan
        Which rows each tree draws.
    n_threads : int
        Most threads; fewer are used where there is not enough work for all.
    """

    def __init__(self, DataView data not None, objective not None, Criterion criterion not None, Splitter splitter not None,
                 rules, sampling, int n_threads):
        self._data, self._objective, self._criterion, self._splitter = data, objective, criterion, splitter
        self._rules, self._sampling, self._n_threads = rules, sampling, n_threads
        self._growers = {}         # by the number of the thread in the team
        splitter.prepare(data, criterion)
        data.add_coarse(splitter.wanted_buckets(data, criterion))

    def _most_at_work(self, n_trees):
        """How many threads can have work to do at the same time, on n_trees trees."""
        cdef Splitter splitter = self._splitter
        cdef int64_t n = self._sampling.most_records(self._data.n_rows), by_tree = 1
        if not self._rules.max_leaf_nodes:
            by_tree = n // max(1, <int64_t> splitter.tuning.get("share_from", SHARE_FROM))
        if n * splitter.max_features >= splitter.share_visits_from:
            by_tree = max(by_tree, splitter.max_features)
        return n_trees * max(1, by_tree)

    def grow(self, trees, const uint32_t[::1] seeds not None, put, weigh=None, bint keep_leaves=False):
        """Grow some trees.

        Parameters
        ----------
        trees : range
            Numbers of the trees.
        seeds : ndarray of shape (n_trees,), dtype uint32
            Seeds of the trees.
        put : callable
            Called with each finished tree, in any order, by the thread that finished it: the tree's number; its `TreeArrays`,
            lent; the exponent of its weights, None without `weigh`; its `leaf_table` (`dforest/core/grow/trunk.pxd`), None
            without `keep_leaves`. Returns whether growing is to go on.
        weigh : callable, optional
            Called with a tree's seed. Returns how often the tree draws each row and integer weights of the rows, both ndarray of
            shape (n_rows,), dtype uint32, and the weights' exponent. They take the place of the data's weights, which must not be
            missing.
        keep_leaves : bool, default=False
            Whether `put` is to be told which rows each leaf has.

        Raises
        ------
        Exception
            The first exception that a thread raised, when all threads have stopped.
        """
        cdef int n_threads = min(self._n_threads, self._most_at_work(len(trees)))
        cdef Team team = Team(n_threads)
        cdef bint is_wanted = True
        growers = self._growers      # kept until all are done: they work in each other's memory
        pieces = {}                  # by tree, of trees that are not finished: the pieces that are, as `join_pieces` takes them
        exponents = {}               # by tree: the exponent of its weights
        to_grow = iter(range(len(trees)))        # shared: each thread takes the next tree

        def keep(Grower grower):
            """Keep the piece that a grower has finished; return whether more trees are wanted."""
            number = grower.trunk.tree
            holes = grower.writer.hole_table()
            tree = grower.writer.arrays()
            if len(holes) or grower.piece:
                pieces[number][grower.piece] = tree.copy(), holes
            if not end_piece(grower.trunk):
                return True
            tree = join_pieces(pieces[number]) if pieces[number] else tree
            del pieces[number]
            return put(number, tree, exponents.pop(number), leaf_table(grower.trunk) if keep_leaves else None)

        def work(member, _):
            nonlocal is_wanted
            cdef Grower grower
            cdef uint32_t tree, seed
            cdef bint has_piece
            if not team.join():
                return
            try:
                if member not in growers:
                    growers[member] = Grower(self._data, self._objective, self._criterion.clone(), self._splitter.clone(),
                                             self._rules, self._sampling)
                grower = growers[member]
                grower.join(team, member, keep_leaves)
                for i in to_grow:
                    if not is_wanted or df_glance(team.stopped):
                        return
                    tree, seed = trees[i], seeds[i]
                    pieces[tree], exponents[tree] = {}, None
                    if weigh is not None:
                        counts, weight, exponents[tree] = weigh(seed)
                        grower.drawing.set_draws(counts, weight)
                    with nogil:
                        grower.grow(tree, seed)
                    is_wanted = keep(grower) and is_wanted
                while is_wanted:
                    with nogil:
                        has_piece = grower.help()
                    if not has_piece:
                        return
                    is_wanted = keep(grower) and is_wanted
                team.stop()            # no more trees are wanted: other members need not finish what they are at
            except Stopped:
                if is_wanted:
                    raise
            except BaseException:
                team.stop()
                raise

        each(n_threads, work, n_threads)
