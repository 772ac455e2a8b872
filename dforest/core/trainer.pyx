"""Grows many trees on many threads.

Each thread has a grower of its own and takes the next tree as soon as it is done with one. When no tree
is left to begin, it takes parts of others': subtrees that their growers give away, or features of a
large node (see `dforest.core.team`). A tree depends on the data, the parameters and its seed alone, so
it is the same whichever threads grow it.

The calling thread is one of them, the others are those that the process has for all
(`dforest.core.threads`): where fewer come than were asked for, fewer grow the same trees. They hold the
interpreter's lock only between trees, or pieces of trees.
"""
from itertools import count

from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

from dforest.core.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.grower cimport Grower
from dforest.core.random cimport df_tree_seed
from dforest.core.splitter cimport Splitter
from dforest.core.team cimport Team
from dforest.core.threads cimport df_glance

from dforest.core.pieces import join_pieces
from dforest.core.threads import each


def tree_seeds(uint64_t seed, trees):
    """The seeds of some trees of a forest: different ones for different numbers.

    Parameters
    ----------
    seed : int
        The forest's, below 2**64.
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


def grow_trees(DataView data not None, Criterion criterion not None, Splitter splitter not None, dict limits not None,
               trees, const uint32_t[::1] seeds not None, int64_t n_draws, int n_threads, put, on_tree=None,
               reweigh=None):
    """Grow some trees of a forest.

    Parameters
    ----------
    data : DataView
    criterion, splitter : Criterion, Splitter
        Patterns, of which every thread gets a clone.
    limits : dict
        As for `dforest.core.grower.Grower`.
    trees : range
        Numbers of the trees.
    seeds : ndarray of shape (n_trees,), dtype uint32
        Their seeds.
    n_draws : int
        Draws of each tree's bootstrap; 0: every row once.
    n_threads : int
        Fewer are used where more can have no work.
    put : callable
        Given the number and the `TreeArrays` of each tree, lent, by the thread that grew it: see
        `dforest.core.assembly.Assembly.put`.
    on_tree : callable, optional
        Called with the number of trees finished, after each, by the thread that finished it.
    reweigh : callable, optional
        Given a tree's number, the integer weights of its rows in place of the data's (which must
        have some): ndarray of shape (n_rows,), dtype uint32.

    Raises
    ------
    Exception
        What a thread raised first; all threads have stopped by then.
    """
    n_threads = min(n_threads, Grower.most_members(data, splitter, limits, n_draws, len(trees)))
    cdef Team team = Team(n_threads)
    splitter.prepare(data, criterion)
    growers = {}                 # of each thread, kept until all are done: they work in each other's memory
    pieces = {}                  # of trees not yet finished, by number: their pieces, as for `join_pieces`
    n_grown = count(1)
    to_grow = iter(range(len(trees)))        # shared: each thread takes the next tree

    def keep(Grower grower):
        """Keep the piece that a grower has finished."""
        number = grower.trunk.tree
        holes = grower.hole_table()
        tree = grower.arrays()
        if len(holes) or grower.piece:
            pieces[number][grower.piece] = tree.copy(), holes
        if not grower.finish():
            return
        put(number, join_pieces(pieces[number]) if pieces[number] else tree)
        del pieces[number]
        if on_tree is not None:
            on_tree(next(n_grown))

    def work(member, _):
        cdef Grower grower
        cdef Py_ssize_t i
        cdef uint32_t tree, seed
        cdef bint has_piece
        if not team.join():
            return
        try:
            growers[member] = grower = Grower(data, criterion.clone(), splitter.clone(), limits, n_draws, team, member)
            for i in to_grow:
                if df_glance(team.stopped):
                    return
                tree, seed = trees[i], seeds[i]
                pieces[tree] = {}
                if reweigh is not None:
                    grower.set_weight(reweigh(tree))
                with nogil:
                    grower.grow(tree, seed)
                keep(grower)
            while True:
                with nogil:
                    has_piece = grower.help()
                if not has_piece:
                    return
                keep(grower)
        except BaseException:
            team.stop()
            raise

    each(n_threads, work, n_threads)
