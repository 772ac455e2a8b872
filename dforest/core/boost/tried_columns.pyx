"""Which columns the nodes of a boosted tree try.

A tree has a *sample* of the columns that can split, which are those with two codes or more among the training rows; and each of
its levels has a sample of the tree's. A node tries some columns of its level's sample, of those that interaction constraints
leave it. Columns are drawn in random order without replacement (rules/feature_order.h), by streams of the tree's seed: those of
nodes are named by their keys, which are hashes of 64 bits, and those of samples by small numbers.

A `TriedColumns` owns its arrays, and serves one tree after another.
"""
cimport cython
from libc.stdlib cimport free, malloc

from numbers import Integral

import numpy as np

from dforest.core.types cimport CATEGORICAL

from dforest.core.boost.constraints import Constraints

NO_CODES = -(1 << 32)                  # below all codes, and below all codes times -1

cdef enum:
    TREE_SAMPLE = 0                    # the number of a tree's sample; those of levels follow by depth


@cython.final
cdef class TriedColumns:
    """What is drawn for one tree after another.

    Parameters
    ----------
    n_columns : int
    max_features : int or float
        How many columns, or which fraction of those that may be tried, are tried in a node.
    colsample_bytree, colsample_bylevel : float
        The fraction of the columns that can split in a tree's sample, and of these in a level's; each has one at least.
    constraints : Constraints, optional
        None: there are none.
    can_split : ndarray of shape (n_columns,), dtype uint8, optional
        See `can_split`. None: all can.
    """

    def __cinit__(self, Py_ssize_t n_columns, max_features, double colsample_bytree=1.0, double colsample_bylevel=1.0,
                  constraints=None, const uint8_t[::1] can_split=None):
        cdef Py_ssize_t j
        constraints = constraints or Constraints()
        self.n_columns = n_columns
        self.can_split = can_split
        self.n_can_split = n_columns if can_split is None else np.count_nonzero(can_split)
        self.n_of_tree = count_of(colsample_bytree, self.n_can_split)
        self.n_of_level = count_of(colsample_bylevel, self.n_of_tree)
        self.samples = self.n_of_level < self.n_can_split
        self.max_columns = constraints.most_features
        self.groups = constraints.groups
        self.order = FeatureOrder(n_columns)
        self.of_tree = <uint8_t*> malloc(n_columns)
        self.n_tried = <int64_t*> malloc((n_columns + 1) * sizeof(int64_t))
        if self.of_tree == NULL or self.n_tried == NULL:
            raise MemoryError()
        self.include_all()
        for j in range(n_columns + 1):
            self.n_tried[j] = min(max_features, j) if isinstance(max_features, Integral) else count_of(max_features, j)
        self.tries_all = (not self.samples and self.n_tried[self.n_can_split] == self.n_can_split and self.max_columns == 0
                          and self.groups is None)

    def __dealloc__(self):
        free(self.of_tree)
        free(self.n_tried)

    def draw_each(self, const uint32_t[::1] seeds not None, const uint64_t[::1] node_keys not None,
                  const int64_t[::1] depths not None, const int32_t[::1] tested not None, const int64_t[::1] ends not None):
        """The columns that nodes try.

        Parameters
        ----------
        seeds, node_keys, depths : ndarray of shape (n_nodes,)
            The seeds of the nodes' trees, the nodes' keys, and their depths.
        tested : ndarray of dtype int32
            The columns that are tested above the nodes, one node after another, each once for a node.
        ends : ndarray of shape (n_nodes,), dtype int64
            Where those of each node end.

        Returns
        -------
        ndarray of shape (n_nodes, n_tried), dtype int32
            Ascending; -1 in places of nodes that try fewer columns than others.
        """
        cdef Py_ssize_t i, j, n, first = 0, last, most = self.n_tried[self.n_columns]
        result = np.full((seeds.shape[0], most), -1, np.int32)
        cdef int32_t[:, ::1] out = result
        cdef const int32_t* above = &tested[0] if tested.shape[0] else NULL
        cdef uint8_t[::1] tried = np.empty(self.n_columns, np.uint8)
        with nogil:
            for i in range(seeds.shape[0]):
                self.begin_tree(seeds[i])
                last = ends[i]
                self.draw(node_keys[i], depths[i], above + first, last - first, &tried[0])
                first = last
                n = 0
                for j in range(self.n_columns):
                    if tried[j]:
                        out[i, n] = <int32_t> j
                        n += 1
        return result[:, : max(1, int((result >= 0).sum(axis=1).max(initial=0)))]

    cdef void begin_tree(self, uint32_t seed) noexcept nogil:
        """Begin a tree: draw its sample."""
        self.seed = seed
        if self.n_of_tree < self.n_can_split:
            self.include_all()
            self.keep_first(TREE_SAMPLE, self.n_of_tree, self.of_tree)

    cdef void include_all(self) noexcept nogil:
        """Have all columns that can split in the tree's sample."""
        cdef Py_ssize_t j
        for j in range(self.n_columns):
            self.of_tree[j] = self.can_split is None or self.can_split[j] != 0

    cdef void draw(self, uint64_t node_key, int64_t depth, const int32_t* tested, Py_ssize_t n_tested,
                   uint8_t* tried) noexcept nogil:
        """Draw the columns that are tried in a node.

        IN tested : [n_tested] columns that are tested above the node
        OUT tried : [n_columns] whether each is
        """
        cdef Py_ssize_t j, n_allowed = 0
        self.sample(depth, tried)
        self.allow(tested, n_tested, tried)
        for j in range(self.n_columns):
            n_allowed += tried[j]
        if self.n_tried[n_allowed] < n_allowed:
            self.keep_first(node_key, self.n_tried[n_allowed], tried)

    cdef void sample(self, int64_t depth, uint8_t* sampled) noexcept nogil:
        """The sample of a level. OUT sampled : [n_columns] whether each column is in it"""
        cdef Py_ssize_t j
        for j in range(self.n_columns):
            sampled[j] = self.of_tree[j]
        if self.n_of_level < self.n_of_tree:
            self.keep_first(TREE_SAMPLE + 1 + depth, self.n_of_level, sampled)

    cdef void allow(self, const int32_t* tested, Py_ssize_t n_tested, uint8_t* allowed) noexcept nogil:
        """Take away the columns that interaction constraints forbid. INOUT allowed : [n_columns] whether each may be tried"""
        cdef Py_ssize_t j, group
        if self.groups is None and (self.max_columns == 0 or n_tested < self.max_columns):
            return
        for j in range(n_tested):
            allowed[tested[j]] |= 2
        if self.groups is not None:
            for group in range(self.groups.shape[0]):
                if self.holds(group, tested, n_tested):
                    for j in range(self.n_columns):
                        allowed[j] |= 2 * self.groups[group, j]
        for j in range(self.n_columns):
            allowed[j] = allowed[j] == 3

    cdef bint holds(self, Py_ssize_t group, const int32_t* tested, Py_ssize_t n_tested) noexcept nogil:
        """Whether a group has all columns that are tested above a node."""
        cdef Py_ssize_t i
        for i in range(n_tested):
            if not self.groups[group, tested[i]]:
                return False
        return True

    cdef void keep_first(self, uint64_t node_key, Py_ssize_t n, uint8_t* kept) noexcept nogil:
        """Keep those n of some columns that come first in the order of a stream. INOUT kept : [n_columns] whether each is one"""
        cdef Py_ssize_t j, n_left = 0
        for j in range(self.n_columns):
            n_left += kept[j]
        self.order.open(self.seed, node_key)
        while n_left > 0:
            j = self.order.next()
            if kept[j]:
                n_left -= 1
                kept[j] = n > 0
                n -= n > 0
        self.order.close()


def can_split(columns, ranks=None):
    """Which columns have two codes or more among the training rows: ndarray of shape (n_columns,), dtype uint8. A collective, if
    ranks have some rows each.

    Parameters
    ----------
    columns : sequence of CodedColumn
        Bins of numbers have rows each; categories may have none, or all of theirs may be rows that are held out.
    ranks : Communicator, optional
    """
    found = np.array([len(column.values) + column.has_missing > 1 for column in columns], np.uint8)
    of_categories = [j for j, column in enumerate(columns) if column.kind == CATEGORICAL]
    if of_categories:
        ends = np.array([ends_of(columns[j]) for j in of_categories], np.int64)
        if ranks is not None:
            ends = ranks.greatest(ends)
        found[of_categories] = ends.sum(axis=1) > 0
    return found


def ends_of(column):
    """The greatest code of a column, and the least one times -1: (int, int). Without rows both are below those of any rows."""
    codes = column.codes if column.rows is None else np.append(column.codes, column.implied)
    return (int(codes.max()), -int(codes.min())) if len(codes) else (NO_CODES, NO_CODES)


def count_of(double fraction, Py_ssize_t n):
    """How many of n columns a fraction of them is, one at least: int."""
    return max(1, int(np.ceil(fraction * n)))
