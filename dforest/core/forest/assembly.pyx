"""Trees put together to a forest.

A tree is handed in as `TreeArrays`, with its number in the forest. Several threads may hand in trees at the same time, and in any
order. Each thread finds which of the forest's distinct leaves are those of its tree (`dforest.core.forest.row_table`). If all
trees with lower numbers have come, it is known where the tree belongs, and the thread writes it there. Otherwise the tree is
*early*: it is copied, and written by whichever thread comes along later.

An `Assembly` owns what it has put together until that becomes a forest's. Room for the trees to come is taken ahead, by the size
of the trees that came; memory that nobody has written to costs nothing.
"""
from collections import deque, namedtuple
from threading import Lock

from libc.stdint cimport int32_t, uint32_t, uint8_t

import numpy as np

from dforest.core.class_lists import ClassLists
from dforest.core.forest.row_table import RowTable
from dforest.core.threads import each

ctypedef fused in_t:
    float
    double

ctypedef fused out_t:
    float
    double

NODE_ARRAYS = ("feature", "threshold", "link", "missing_left")

_SOURCES = {"link": "right"}       # what a tree has of some name, in `TreeArrays`
_OTHERS = ("inner", "payload_lengths", "payload_words")

MAX_AHEAD = 64                    # times as much room as is needed so far, or
MIN_BYTES = 1 << 28              # this many bytes of an array if they are more
ENTRIES_AT_A_TIME = 1 << 16

TREE_ARRAYS = ("feature", "threshold", "right", "missing_left", "leaves", "inner", "payload_lengths", "payload_words", "entries")


NO_ENTRIES = np.empty((0, 2), np.int64)


class TreeArrays(namedtuple("TreeArrays", TREE_ARRAYS, defaults=(NO_ENTRIES,))):
    """A tree before it is put together with others.

    Attributes
    ----------
    feature, threshold, missing_left : ndarray
        As in `Forest`.
    right : ndarray of shape (n_nodes,), dtype uint32
        The right child of each inner node; of leaves it means nothing.
    leaves : ndarray of shape (n_leaves, n_words), dtype int64
        For each node that is a leaf, what it keeps: see `Objective.leaf_words`. C-contiguous. Of leaves with lists of classes,
        how many draws reach it, and how many entries its list has.
    inner : ndarray of shape (n_inner, n_node_values) or (0, n_node_values), dtype float64
        As `Forest.inner`.
    payload_lengths : ndarray of shape (n_payloads,), dtype int64
        How many words the payload of each node that has one has: of its subset, or of the splitter's own test.
    payload_words : ndarray of shape (n_words,), dtype uint64
        Their words, one payload after another.
    entries : ndarray of shape (n_entries, 2), dtype int64
        The lists of classes of the leaves, one list after another: each class that a leaf has, ascending, and its weight. There
        are some if, and only if, the objective `lists_classes`.
    """

    __slots__ = ()

    def copy(self):
        """This tree in arrays of its own."""
        return TreeArrays(*(part.copy() for part in self))


class GrowingArray:
    """An array that more and more is written to, by several threads: one array in memory, or several if room was too scarce.

    Parameters
    ----------
    dtype : dtype
    """

    def __init__(self, dtype):
        self._dtype = dtype
        self._arrays = []          # arrays with room for some entries
        self._used = []            # entries of the one before each
        self._last = None          # the last one,
        self._first = 0            # its first free entry
        self._room = 0             # and its room
        self._n = 0                # all entries

    def take(self, n, fraction):
        """Room for the next n entries; `fraction` tells which fraction of all there will be has come, with these."""
        self._n += n
        if self._room - self._first < n or not self._arrays:
            # Not for all of very many trees: the system refuses more memory than it could ever give.
            most = max(MAX_AHEAD * self._n, MIN_BYTES // self._dtype.itemsize)
            room = n if fraction == 1.0 else max(n, min(int(1.1 * self._n / fraction), most) - (self._n - n))
            self._last = np.empty(room, self._dtype)
            self._used.append(self._first)
            self._arrays.append(self._last)
            self._first, self._room = 0, room
        first = self._first
        self._first += n
        return self._last[first : self._first]

    def release(self, n, n_threads):
        """The first n entries, in an array of their own."""
        arrays, self._arrays, self._last = self._arrays, None, None
        if len(arrays) == 1:
            array = arrays.pop()
            # Nothing refers to its memory any more; what the system did not take back would stay reserved.
            array.resize((n, *array.shape[1:]), refcheck=False)
            return array
        array = np.empty(n, self._dtype)
        parts, at = [], 0
        for held, used in zip(arrays, [*self._used[1:], self._first]):
            for first in range(0, min(used, n - at), ENTRIES_AT_A_TIME):
                end = min(first + ENTRIES_AT_A_TIME, used, n - at)
                parts.append((held[first:end], array[at + first : at + end]))
            at += used

        def copy(i, _):
            source, to = parts[i]
            to[...] = source

        each(len(parts), copy, n_threads)
        return array


cdef void copy_nodes(const int32_t[:] feature, const in_t[:] threshold, const uint32_t[:] right, const uint8_t[:] missing_left,
                     const uint32_t[::1] leaves, int32_t[::1] to_feature, out_t[::1] to_threshold, uint32_t[::1] to_link,
                     uint8_t[::1] to_missing_left) noexcept nogil:
    """Copy the nodes of a tree; a leaf's link is its number, that of an inner node its right child."""
    cdef Py_ssize_t i, n = 0, last = leaves.shape[0] - 1
    cdef bint is_leaf
    for i in range(feature.shape[0]):      # no branches: leaves come as if by chance
        is_leaf = feature[i] < 0
        to_feature[i] = feature[i]
        to_threshold[i] = <out_t> threshold[i]
        to_link[i] = leaves[min(n, last)] if is_leaf else right[i]
        to_missing_left[i] = missing_left[i]
        n += is_leaf


def _copy_thresholds(const int32_t[:] feature, const in_t[:] threshold, const uint32_t[:] right, const uint8_t[:] missing_left,
                     const uint32_t[::1] leaves, to_feature, out_t[::1] to_threshold, to_link, to_missing_left):
    """`copy_nodes`, whatever the types of thresholds."""
    cdef int32_t[::1] out_feature = to_feature
    cdef uint32_t[::1] out_link = to_link
    cdef uint8_t[::1] out_missing_left = to_missing_left
    with nogil:
        copy_nodes(feature, threshold, right, missing_left, leaves, out_feature, to_threshold, out_link, out_missing_left)


def _write(tree, leaves, to):
    """Write a tree.

    Parameters
    ----------
    tree : TreeArrays
    leaves : ndarray of shape (n_leaves,), dtype uint32
        Provisional numbers of its leaves.
    to : dict of ndarray
        OUT : by name, arrays of the tree's lengths.
    """
    _copy_thresholds(tree.feature, tree.threshold, tree.right, tree.missing_left.view(np.uint8), leaves, to["feature"],
                     to["threshold"], to["link"], to["missing_left"].view(np.uint8))
    for name in _OTHERS:
        to[name][...] = getattr(tree, name)


def _copy(source, to):
    for name, array in source.items():
        to[name][...] = array


class Assembly:
    """Puts trees together.

    Parameters
    ----------
    dtype : dtype
        Of thresholds: float32 or float64.
    n_trees : int
        How many trees there will be, as far as is known: room is made for them.
    n_node_values : int
        Numbers that `Forest.inner` has of a node: see `Objective`.
    before : Forest, optional
        The trees that come first.
    n_threads : int, default=1
        How many threads may hand in trees at the same time, and work together in the end.
    """

    def __init__(self, dtype, n_trees, n_node_values, before=None, n_threads=1):
        self._dtypes = {"feature": np.dtype(np.int32), "threshold": np.dtype(dtype), "link": np.dtype(np.uint32),
                        "missing_left": np.dtype(np.bool_), "inner": np.dtype((np.float64, n_node_values)),
                        "payload_lengths": np.dtype(np.int64), "payload_words": np.dtype(np.uint64)}
        self._n_trees = n_trees
        self._n_threads = n_threads
        self._lock = Lock()            # guards what is below
        self._leaves = None            # RowTable
        self._early = {}               # by number: copies of trees whose places are not known yet, and numbers of leaves
        self._to_write = deque()       # copies of early trees, and their places
        self._growing = {name: GrowingArray(given) for name, given in self._dtypes.items()}
        self._next = 0                 # the number of the first tree without a place
        self._lengths = dict.fromkeys((*self._dtypes, "leaves"), 0)       # of all trees with places together ...
        self._starts = {name: [0] for name in self._lengths}              # ... and of those before each
        if before is not None:
            tree_of = before.tree_reader()
            each(before.n_trees, lambda t, _: self.add(t, tree_of(t)), n_threads)

    def add(self, number, tree):
        """Put a tree in its place.

        Parameters
        ----------
        number : int
            Of the tree in the forest, from 0; that of each tree once.
        tree : TreeArrays
            Lent until this returns.
        """
        with self._lock:
            if self._leaves is None:
                self._leaves = RowTable(tree.leaves.shape[1], self._n_threads, len(tree.entries) > 0)
        leaves = self._leaves.add(tree.leaves, number, tree.entries)
        lengths = {name: len(getattr(tree, _SOURCES.get(name, name))) for name in self._lengths}
        place = self._take_place(number, lengths)
        if place is not None:
            _write(tree, leaves, place)
        else:
            copy = {name: np.empty(lengths[name], given) for name, given in self._dtypes.items()}
            _write(tree, leaves, copy)
            self._keep_early(number, lengths, copy)
        for _ in range(2):             # more than this thread has left to others
            if not self._write_next():
                break

    def _take_place(self, number, lengths):
        """The place of a tree, if it is known: arrays by name; None: the tree is early."""
        with self._lock:
            if number != self._next:
                return None
            place = self._next_place(lengths)
            self._place_early()
            return place

    def _keep_early(self, number, lengths, copy):
        with self._lock:
            self._early[number] = lengths, copy
            self._place_early()

    def _place_early(self):
        """Find places for the early trees whose turn it is."""
        while self._next in self._early:
            lengths, copy = self._early.pop(self._next)
            self._to_write.append((copy, self._next_place(lengths)))

    def _next_place(self, lengths):
        self._next += 1
        fraction = min(1.0, self._next / self._n_trees)
        for name, starts in self._starts.items():
            self._lengths[name] += lengths[name]
            starts.append(self._lengths[name])
        return {name: growing.take(lengths[name], fraction) for name, growing in self._growing.items()}

    def _write_next(self):
        """Write an early tree whose place is known, if there is one."""
        try:
            copy, place = self._to_write.popleft()
        except IndexError:
            return False
        _copy(copy, place)
        return True

    def release(self, objective, n_trees=None):
        """The arrays of the forest of the trees that have come; ends the assembly.

        Parameters
        ----------
        objective : Objective
            Which says what the words of leaves are.
        n_trees : int, optional
            How many trees are wanted, of those that have come. None means all of which none is missing in between.

        Returns
        -------
        dict
            As `Forest.as_dict` has them.
        """
        each(len(self._to_write), lambda *_: self._write_next(), self._n_threads)
        n_trees = self._next if n_trees is None else n_trees
        starts = {name: np.array(starts[: n_trees + 1], np.int64) for name, starts in self._starts.items()}
        arrays = {name: growing.release(starts[name][n_trees], self._n_threads) for name, growing in self._growing.items()}
        leaves, self._leaves = self._leaves, None
        leaves.finalize(starts["leaves"])
        leaves.renumber(arrays["feature"], arrays["link"])
        arrays["node_offsets"] = starts["feature"]
        arrays["payload_offsets"] = np.cumsum([0, *arrays.pop("payload_lengths")])
        if objective.lists_classes:
            draws, *lists = leaves.release_lists()
            return arrays | objective.leaf_tables({"leaf_draws": draws}, ClassLists(*lists, objective.n_weights))
        spans = objective.leaf_words
        words = leaves.release(*((span.start, span.stop) for span in spans.values()))
        return arrays | objective.leaf_tables(dict(zip(spans, words)))
