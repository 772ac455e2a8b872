"""Training rows that lie in the leaves which other rows reach, and what their weights come to over all trees.

A tree's *members* are the training rows that it drew, or all training rows. Each member has a *mass* in the tree, such as draws
times weight; the *total* of a leaf is the sum of all masses in it, or 1. The *weight* of a training row for another row is a mean
over the trees that count: of the training row's mass in the leaf that the other row reaches, divided by this leaf's total. A tree
that does not count for a row has the leaf -1.

A `LeafTable` owns its arrays. Threads work on rows; each thread has its own `df_sparse`, and goes through the trees in their
order, so that sums have the same bits on any number of threads.
"""
cimport cython
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

import numpy as np

from dforest.core.threads cimport WorkerContext, parallel_for, poll
from dforest.core.threads import each

cdef extern from "core/predict/neighbours.h" nogil:
    ctypedef struct df_sparse:
        double* number
        uint64_t* occupied
        uint64_t* top
        int64_t n_tops
    void df_sparse_add(df_sparse* sparse, uint32_t place, double x)
    int64_t df_sparse_take(df_sparse* sparse, uint32_t* place, double* number)

cdef enum:
    ROWS_AT_A_TIME = 16

# By how much less than q a sum of weights may be to count as q: sums are rounded, and so are decimal fractions.
cdef double SLACK = 2.0 ** -40


def group_by_leaf(const int64_t[::1] leaf not None, const double[::1] mass not None, int64_t[::1] first not None,
                  uint32_t[::1] rows not None, double[::1] of_row not None, double[::1] total not None):
    """The members of a tree, leaf by leaf, and ascending in each.

    Parameters
    ----------
    leaf : ndarray of shape (n_rows,), dtype int64
        The leaf that each training row reaches.
    mass : ndarray of shape (n_rows,), dtype float64
        0: the row is no member.
    first : ndarray of shape (n_nodes + 1,), dtype int64
        OUT : where the members of each node begin.
    rows, of_row : ndarray of shape (n_members,), dtype uint32 and float64
        OUT : the members, and their masses.
    total : ndarray of shape (n_nodes,), dtype float64
        OUT : the sum of the masses in each node, in the order of the rows.
    """
    cdef Py_ssize_t i, n_nodes = total.shape[0]
    cdef int64_t at
    with nogil:
        first[:] = 0
        total[:] = 0.0
        for i in range(leaf.shape[0]):
            if mass[i] > 0.0:
                first[leaf[i] + 1] += 1
                total[leaf[i]] += mass[i]
        for i in range(n_nodes):
            first[i + 1] += first[i]
        for i in range(leaf.shape[0]):
            if mass[i] > 0.0:
                at = first[leaf[i]]
                rows[at] = <uint32_t> i
                of_row[at] = mass[i]
                first[leaf[i]] = at + 1
        for i in range(n_nodes, 0, -1):       # each one is where the next one began
            first[i] = first[i - 1]
        first[0] = 0


cdef class LeafTable:
    """The members of all trees, by leaf.

    Parameters
    ----------
    leaves_of : callable
        Given the number of a tree, returns the leaf of each training row, ndarray of shape (n_rows,), dtype int64.
    masses_of : callable
        Given the number of a tree, returns the mass of each row, ndarray of shape (n_rows,), dtype float64.
    n_nodes : ndarray of shape (n_trees,), dtype int64
        Of each tree.
    n_rows : int
        How many training rows there are.
    has_shares : bool
        Whether the total of a leaf is the sum of its masses; if not, it is 1.
    n_threads : int

    Attributes
    ----------
    n_trees, n_rows : int
    """
    cdef readonly Py_ssize_t n_trees, n_rows
    cdef object parts                 # by tree: first, rows, of_row, total
    cdef const int64_t** first
    cdef const uint32_t** rows
    cdef const double** mass
    cdef const double** total

    def __cinit__(self, leaves_of, masses_of, n_nodes, Py_ssize_t n_rows, bint has_shares, int n_threads):
        cdef Py_ssize_t t
        cdef const int64_t[::1] first
        cdef const uint32_t[::1] rows
        cdef const double[::1] mass, total
        self.n_trees, self.n_rows = len(n_nodes), n_rows
        self.first = <const int64_t**> malloc(max(1, self.n_trees) * sizeof(void*))
        self.rows = <const uint32_t**> malloc(max(1, self.n_trees) * sizeof(void*))
        self.mass = <const double**> malloc(max(1, self.n_trees) * sizeof(void*))
        self.total = <const double**> malloc(max(1, self.n_trees) * sizeof(void*))
        if self.first == NULL or self.rows == NULL or self.mass == NULL or self.total == NULL:
            raise MemoryError()
        parts = [None] * self.n_trees

        def fill(t, _):
            masses = masses_of(t)
            n = max(1, int(np.count_nonzero(masses)))
            part = np.empty(n_nodes[t] + 1, np.int64), np.empty(n, np.uint32), np.empty(n), np.empty(n_nodes[t])
            group_by_leaf(np.ascontiguousarray(leaves_of(t)), masses, *part)
            if not has_shares:
                part[3][:] = 1.0
            parts[t] = part

        each(self.n_trees, fill, n_threads)
        self.parts = parts
        for t in range(self.n_trees):
            first, rows, mass, total = parts[t]
            self.first[t], self.rows[t], self.mass[t], self.total[t] = &first[0], &rows[0], &mass[0], &total[0]

    def __dealloc__(self):
        free(self.first)
        free(self.rows)
        free(self.mass)
        free(self.total)

    @property
    def nbytes(self):
        """How much memory the members take."""
        return sum(array.nbytes for part in self.parts for array in part)

    cdef int64_t gather(self, const int64_t* leaf, const uint32_t* place, df_sparse* sparse) noexcept nogil:
        """Add up the weights of training rows for a row, over trees that count; returns how many these are.

        IN leaf : [n_trees] that the row reaches, -1: the tree does not count; place : [n_rows] where the weight of each training
        row goes, NULL: by its number
        """
        cdef Py_ssize_t t, i
        cdef int64_t n_counted = 0
        cdef double total
        cdef uint32_t row
        for t in range(self.n_trees):
            if leaf[t] < 0:
                continue
            n_counted += 1
            total = self.total[t][leaf[t]]
            for i in range(self.first[t][leaf[t]], self.first[t][leaf[t] + 1]):
                row = self.rows[t][i]
                df_sparse_add(sparse, row if place == NULL else place[row], self.mass[t][i] / total)
        return n_counted

    cdef int64_t members(self, const int64_t* leaf) noexcept nogil:
        """How many members the leaves of a row have together."""
        cdef Py_ssize_t t
        cdef int64_t n = 0
        for t in range(self.n_trees):
            if leaf[t] >= 0:
                n += self.first[t][leaf[t] + 1] - self.first[t][leaf[t]]
        return n


@cython.final
cdef class Task:
    """Rows whose neighbours are looked at, by several threads; what is done with these is told by what is not None."""
    cdef LeafTable table
    cdef const int64_t[:, ::1] leaf
    cdef const uint32_t[::1] place
    cdef df_sparse* sparse            # [n_threads]
    cdef int n_threads
    cdef int64_t[::1] counts          # OUT : how many neighbours each row has
    cdef const int64_t[::1] starts    # where those of each row go
    cdef uint32_t[::1] rows           # OUT : neighbours ...
    cdef double[::1] weights          # ... and their weights
    cdef const double[::1] sorted_y   # by place
    cdef const double[::1] q          # ascending
    cdef double[:, ::1] quantiles     # OUT
    cdef const int64_t[::1] group     # of each training row
    cdef double[::1] squares          # OUT : of weights of other rows of the same group
    cdef int64_t first_row            # the number, among training rows, of the first row

    def __cinit__(self, LeafTable table not None, leaf, int n_threads):
        cdef int i
        cdef df_sparse* sparse
        self.place = self.counts = self.rows = self.quantiles = None      # at first such views are neither None nor usable
        self.table, self.leaf, self.n_threads = table, leaf, n_threads
        if self.leaf.shape[1] != table.n_trees:
            raise ValueError(f"leaves of {self.leaf.shape[1]} trees, for a table of {table.n_trees}")
        self.sparse = <df_sparse*> calloc(n_threads, sizeof(df_sparse))
        if self.sparse == NULL:
            raise MemoryError()
        for i in range(n_threads):    # memory that nobody writes to costs nothing
            sparse = &self.sparse[i]
            sparse.n_tops = (table.n_rows + 4095) // 4096
            sparse.number = <double*> calloc(table.n_rows, sizeof(double))
            sparse.occupied = <uint64_t*> calloc(64 * sparse.n_tops, sizeof(uint64_t))
            sparse.top = <uint64_t*> calloc(sparse.n_tops, sizeof(uint64_t))
            if sparse.number == NULL or sparse.occupied == NULL or sparse.top == NULL:
                raise MemoryError()

    def __dealloc__(self):
        cdef int i
        if self.sparse != NULL:
            for i in range(self.n_threads):
                free(self.sparse[i].number)
                free(self.sparse[i].occupied)
                free(self.sparse[i].top)
            free(self.sparse)

    def run(self):
        parallel_for(do_rows, <void*> self, (self.leaf.shape[0] + ROWS_AT_A_TIME - 1) // ROWS_AT_A_TIME, self.n_threads)

    cdef int find_neighbours(self, Py_ssize_t i, df_sparse* sparse) except -1 nogil:
        """Do what is to be done for row i."""
        cdef const int64_t* leaf = &self.leaf[i, 0]
        cdef int64_t n = min(<int64_t> self.table.n_rows, self.table.members(leaf)), n_counted, k
        cdef uint32_t* rows
        cdef double* weights
        cdef double total = 0.0
        n_counted = self.table.gather(leaf, &self.place[0] if self.place is not None else NULL, sparse)
        if self.rows is not None:
            n = self.starts[i + 1] - self.starts[i]
            if n:
                weights = &self.weights[self.starts[i]]
                df_sparse_take(sparse, &self.rows[self.starts[i]], weights)
                for k in range(n):
                    weights[k] /= <double> n_counted
            return 0
        rows = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        weights = <double*> malloc((n + 1) * sizeof(double))
        if rows == NULL or weights == NULL:
            free(rows)
            free(weights)
            with gil:
                raise MemoryError()
        n = df_sparse_take(sparse, rows, weights)
        if self.counts is not None:
            self.counts[i] = n
        elif self.quantiles is not None:
            for k in range(n):
                weights[k] /= <double> n_counted
            take_quantiles(rows, weights, n, &self.sorted_y[0], &self.q[0], self.q.shape[0], &self.quantiles[i, 0])
        else:        # of weights that are whole numbers before they are divided, so that equal sums are equal
            for k in range(n):
                if rows[k] != self.first_row + i and self.group[rows[k]] == self.group[self.first_row + i]:
                    total += weights[k] * weights[k]
            self.squares[i] = total / (<double> n_counted * <double> n_counted)
        free(rows)
        free(weights)
        return 0


cdef int do_rows(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
    cdef Py_ssize_t i, first = item * ROWS_AT_A_TIME
    for i in range(first, min(first + ROWS_AT_A_TIME, (<Task> context).leaf.shape[0])):
        poll(worker, 20 * (<Task> context).table.members(&(<Task> context).leaf[i, 0]))
        (<Task> context).find_neighbours(i, &(<Task> context).sparse[worker.number])
    return 0


cdef void take_quantiles(const uint32_t* place, const double* weight, int64_t n, const double* sorted_y, const double* q,
                         Py_ssize_t n_q, double* out) noexcept nogil:
    """The least values up to which the weights come to q, for each q; NaN if there are none.

    IN place : ascending; q : ascending; OUT out : [n_q]
    """
    cdef Py_ssize_t k = 0
    cdef int64_t i
    cdef double sum = 0.0
    for i in range(n):
        sum += weight[i]
        while k < n_q and (sum >= q[k] - SLACK or i == n - 1):
            out[k] = sorted_y[place[i]]
            k += 1
    while k < n_q:
        out[k] = NAN
        k += 1


def weights_of_rows(LeafTable table not None, leaf not None, int n_threads):
    """The weights of training rows for other rows.

    Parameters
    ----------
    table : LeafTable
    leaf : ndarray of shape (n, n_trees), dtype int64
        The leaves that the other rows reach; -1: the tree does not count.
    n_threads : int

    Returns
    -------
    starts : ndarray of shape (n + 1,), dtype int64
        Where the training rows of each row begin.
    rows : ndarray of shape (n_weights,), dtype uint32
        Ascending for each row.
    weights : ndarray of shape (n_weights,), dtype float64
    """
    cdef Task task = Task(table, leaf, n_threads)
    counts = np.zeros(len(leaf) + 1, np.int64)
    task.counts = counts[1:]
    task.run()
    starts = np.cumsum(counts)
    n = int(counts.sum())
    rows, weights = np.empty(max(1, n), np.uint32), np.empty(max(1, n))
    task.counts = None
    task.starts, task.rows, task.weights = starts, rows, weights
    task.run()
    return starts, rows[:n], weights[:n]


def quantiles_of_rows(LeafTable table not None, leaf not None, const uint32_t[::1] place not None,
                      const double[::1] sorted_y not None, const double[::1] q not None, int n_threads):
    """Quantiles of the targets of training rows, by their weights for other rows.

    Parameters
    ----------
    table, leaf, n_threads
        As of `weights_of_rows`.
    place : ndarray of shape (n_rows,), dtype uint32
        Where the target of each training row is in `sorted_y`.
    sorted_y : ndarray of shape (n_rows,), dtype float64
        Ascending.
    q : ndarray of shape (n_q,), dtype float64
        Ascending.

    Returns
    -------
    ndarray of shape (n, n_q), dtype float64
        The least target up to which the weights, added up in the order of the targets, come to q - 2**-40; NaN for a row without
        training rows in its leaves, or for which no tree counts.
    """
    cdef Task task = Task(table, leaf, n_threads)
    result = np.empty((len(leaf), q.shape[0]))
    if q.shape[0]:
        task.place, task.sorted_y, task.q, task.quantiles = place, sorted_y, q, result
        task.run()
    return result


def squares_of_groups(LeafTable table not None, leaf not None, const int64_t[::1] group not None, int64_t first_row,
                      int n_threads):
    """Sums of the squared weights of training rows for others of their group.

    Parameters
    ----------
    table, leaf, n_threads
        As of `weights_of_rows`, of training rows that follow each other.
    group : ndarray of shape (n_rows,), dtype int64
        Of all training rows.
    first_row : int
        The number of the first row that `leaf` is of.

    Returns
    -------
    ndarray of shape (n,), dtype float64
    """
    cdef Task task = Task(table, leaf, n_threads)
    result = np.empty(len(leaf))
    task.group, task.first_row, task.squares = group, first_row, result
    task.run()
    return result
