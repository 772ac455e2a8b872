"""The order of the labels of columns that have many, in one tree.

By the means of a node's own rows, the many labels of a column can be parted so that they tell these rows apart and no others. So
a tree orders them once, by rows that it does not draw (categories.h has the rule, `dforest.core.sampling.WithLabelOrder` says
which rows these are), and its nodes look for cuts in this order. With three classes and more, there is an order for each class,
by its share, and a node takes that of its own largest class; with very many, all nodes take that of the root's. Where targets
are no responses, as those of survival times, rows have some beside (`DataView.response`), which have one scale in all trees.

Of labels a, b and c whose keys are .2, -.1 and 0, and missing values, the ranks are 2, 0, 1 and 1.

A `LabelOrder` belongs to one grower, whose nodes point to the ranks of the tree that it has begun. It owns its memory. Where
trees are grown from sums over rows (`dforest.engines`), sums of the rows that order labels are added up over processes first;
then it is a driver's, and growers get the ranks of all trees at hand: [n_trees, n_ranks], of a tree column by column, of these
order by order.
"""
cimport cython
from libc.math cimport INFINITY, fabs, ldexp
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memset

import numpy as np

from dforest.core.types cimport CATEGORICAL, CLASS_WEIGHTS, TARGET_SUM_WIDE, Column, Record, Scale, add_draws, code_at
from dforest.rules.bounds cimport df_clip
from dforest.rules.categories cimport (
    DF_LABELS_ORDERED_ABOVE, df_class_response, df_label_key, df_label_orders, df_label_ranks, df_largest_class,
    df_target_response,
)
from dforest.rules.logrank cimport df_residual_digits
from dforest.rules.node cimport df_quantised, df_quantiser, df_quantiser_of
from dforest.rules.numerics cimport df_floor_mean
from dforest.rules.records cimport df_open_node
from dforest.rules.sampling cimport df_orders_labels

from dforest.core.threads import each

LABELS_ORDERED_ABOVE = DF_LABELS_ORDERED_ABOVE

cdef enum:
    ROW_WORK = 20                  # of a row and a column, in nanoseconds or so


cdef int compare_keys(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const Keyed*> a).key, y = (<const Keyed*> b).key
    return (x > y) - (x < y)


def places_of_ranks(kinds, n_labels, n_classes):
    """Where the ranks of columns' labels begin among those of a tree.

    Parameters
    ----------
    kinds, n_labels : sequence of int
        Of each column: its kind, and how many labels it has if that is that of categories.
    n_classes : int
        0 for numbers.

    Returns
    -------
    places : ndarray of shape (n_columns,), dtype int64
        -1 of columns whose labels nodes order.
    n_orders, n_ranks : int
        How many orders a tree has, and how many ranks.
    """
    cdef int64_t n_orders = df_label_orders(n_classes)
    n = np.array([df_label_ranks(kind == CATEGORICAL, labels, n_orders) for kind, labels in zip(kinds, n_labels)], np.int64)
    return np.where(n > 0, np.cumsum(n) - n, -1), n_orders, int(n.sum())


cpdef Py_ssize_t words_of_label(Criterion criterion):
    """How many words the statistic of a label has: of classes all, even while the criterion looks at those of a node alone."""
    return 2 + criterion.n_classes if criterion.n_classes else criterion.n_words


def label_order_bytes(columns, criterion, n_rows):
    """Bytes that a `LabelOrder` takes while trees are grown from `n_rows` rows, given their columns."""
    kinds, n_labels = [int(column.kind) for column in columns], [len(column.values) for column in columns]
    places, _, n_ranks = places_of_ranks(kinds, n_labels, criterion.n_classes)
    if n_ranks == 0:
        return 0
    most = max(len(column.values) + 1 for column, place in zip(columns, places) if place >= 0)
    return 4 * n_ranks + n_rows + most * (8 * words_of_label(criterion) + sizeof(Keyed))


@cython.final
cdef class LabelOrder:
    """Ranks labels, tree by tree.

    Parameters
    ----------
    data : DataView
        Of all rows, or those that are here; with ranks, of those that are grown from.
    criterion : Criterion
        Configured, of classes or of numbers, with one output.
    ranks : ndarray of shape (n_trees, n_ranks), dtype uint32, optional
        Of trees whose labels were ordered elsewhere. None: labels are ordered here.
    """

    def __cinit__(self, DataView data not None, Criterion criterion not None, const uint32_t[:, ::1] ranks=None):
        cdef Py_ssize_t i, j, n, most = 0
        cdef double largest = 0.0
        self.data, self.criterion, self.given = data, criterion, ranks
        if data.response != NULL:
            for i in range(data.n_rows):
                largest = max(largest, fabs(data.response[i]))
            self.scale = df_quantiser_of(0.0, df_residual_digits(largest))
        self.n_words = words_of_label(criterion)
        self.n_orders = df_label_orders(criterion.n_classes)
        for j in range(data.n_features):
            n = df_label_ranks(data.columns[j].kind == CATEGORICAL, data.columns[j].n_codes, self.n_orders)
            if n > 0:
                self.n_ranks += n
                self.n_entries += data.columns[j].n_codes + 1
                most = max(most, <Py_ssize_t> data.columns[j].n_codes)
        self.ranks = <const uint32_t**> calloc(data.n_features + 1, sizeof(uint32_t*))
        if self.ranks == NULL:
            raise MemoryError()
        if ranks is not None:
            if ranks.shape[1] != self.n_ranks:
                raise ValueError(f"trees with {ranks.shape[1]} ranks each, of columns that have {self.n_ranks}")
            return
        self.own = <uint32_t*> malloc((self.n_ranks + 1) * sizeof(uint32_t))
        self.orders = <uint8_t*> malloc(data.n_rows + 1)
        self.sums = <int64_t*> malloc((most + 1) * self.n_words * sizeof(int64_t))
        self.keyed = <Keyed*> malloc((most + 1) * sizeof(Keyed))
        if self.own == NULL or self.orders == NULL or self.sums == NULL or self.keyed == NULL:
            raise MemoryError()
        self.point_to(self.own)

    def __dealloc__(self):
        free(<void*> self.ranks)
        free(self.own)
        free(self.orders)
        free(self.sums)
        free(self.keyed)

    cdef void fill(self, const Node* root, uint32_t seed) noexcept nogil:
        cdef uint32_t* to = self.own
        cdef Py_ssize_t i, j
        memset(self.orders, 1, self.data.n_rows)
        for i in range(root.n):
            self.orders[root.records[i].row] = 0
        self.find_rows(seed, NULL)
        for j in range(self.data.n_features):
            if self.ranks[j] != NULL:
                self.add_up(&root.at.scale, j, self.sums)
                to += self.rank(j, self.sums, to)

    cdef void take(self, Py_ssize_t tree) noexcept nogil:
        self.point_to(&self.given[tree, 0])

    cdef void point_to(self, const uint32_t* table) noexcept nogil:
        """Set `ranks`, given those of a tree."""
        cdef Py_ssize_t j, n
        for j in range(self.data.n_features):
            n = df_label_ranks(self.data.columns[j].kind == CATEGORICAL, self.data.columns[j].n_codes, self.n_orders)
            self.ranks[j] = table if n > 0 else NULL
            table += n

    def add_up_draws(self, const uint32_t[::1] rows not None, const df_open_node[::1] roots not None,
                     const uint32_t[::1] numbers, Py_ssize_t t, int64_t[:, ::1] sums not None):
        """Add up the rows that order the labels of a tree.

        Parameters
        ----------
        rows : ndarray of shape (n_draws,), dtype uint32
            The row of each draw, of all trees.
        roots : ndarray of shape (n_trees,), dtype df_open_node
            Their draws are a range of these, and their targets have a scale.
        numbers : ndarray of shape (n_rows,), dtype uint32, or None
            The numbers of the rows among those of all processes. None: they are all rows.
        t : int
            The number of the tree.
        sums : ndarray of shape (n_entries, n_words), dtype int64
            What is found.
        """
        cdef const df_open_node* root = &roots[t]
        cdef Py_ssize_t i, j, at = 0
        if (sums.shape[0] != self.n_entries or sums.shape[1] != self.n_words or root.first < 0
                or root.first + root.n > rows.shape[0] or (numbers is not None and numbers.shape[0] != self.data.n_rows)):
            raise ValueError(f"sums of {sums.shape[0]} x {sums.shape[1]}, or draws {root.first} to {root.first + root.n}")
        with nogil:
            memset(self.orders, 1, self.data.n_rows)
            for i in range(root.first, root.first + root.n):
                self.orders[rows[i]] = 0
            self.find_rows(root.seed, &numbers[0] if numbers is not None else NULL)
            for j in range(self.data.n_features):
                if self.ranks[j] != NULL:
                    self.add_up(&root.scale, j, &sums[at, 0])
                    at += self.data.columns[j].n_codes + 1

    def rank_packed_sums(self, const int64_t[:, :, ::1] sums not None):
        """The ranks of trees' labels, given the sums of all rows that order them: ndarray of shape (n_trees, n_ranks)."""
        cdef Py_ssize_t t, j, at
        cdef uint32_t* into
        if sums.shape[1] != self.n_entries or sums.shape[2] != self.n_words:
            raise ValueError(f"sums of {sums.shape[1]} x {sums.shape[2]}; allowed are {self.n_entries} x {self.n_words}")
        ranks = np.empty((sums.shape[0], self.n_ranks), np.uint32)
        cdef uint32_t[:, ::1] to = ranks
        with nogil:
            for t in range(sums.shape[0]):
                at, into = 0, &to[t, 0]
                for j in range(self.data.n_features):
                    if self.ranks[j] != NULL:
                        into += self.rank(j, &sums[t, at, 0], into)
                        at += self.data.columns[j].n_codes + 1
        return ranks

    cdef void find_rows(self, uint32_t seed, const uint32_t* numbers) noexcept nogil:
        """Find the rows that order labels among those that are not drawn. IN numbers : of the rows, if these are not all"""
        cdef Py_ssize_t i
        for i in range(self.data.n_rows):
            if self.orders[i]:
                self.orders[i] = df_orders_labels(seed, numbers[i] if numbers != NULL else <uint32_t> i)

    cdef void add_up(self, const Scale* of_root, Py_ssize_t feature, int64_t* sums) noexcept nogil:
        """Add up the rows by label, and all of them. Targets beyond the root's range are taken to its ends."""
        cdef const Column* column = &self.data.columns[feature]
        cdef int64_t* total = sums + column.n_codes * self.n_words
        cdef df_quantiser scale
        cdef double least = 0.0, most = 0.0
        cdef const double* response = self.data.response if self.data.response != NULL else self.data.y
        cdef Py_ssize_t i
        cdef uint32_t code
        cdef Record record
        if self.data.response != NULL:
            scale, least, most = self.scale, -INFINITY, INFINITY
        elif self.criterion.n_classes == 0:
            scale = df_quantiser_of(of_root.centre, of_root.exponent)
            most = ldexp(0.5 * <double> of_root.range, -of_root.exponent)
            least = of_root.centre - most
            most += of_root.centre
        memset(sums, 0, (column.n_codes + 1) * self.n_words * sizeof(int64_t))
        record.count = 1
        for i in range(self.data.n_rows):
            if not self.orders[i]:
                continue
            record.row = <uint32_t> i
            record.weight = self.data.weight[i] if self.data.weight != NULL else 1
            record.target = (self.data.target[i] if self.criterion.n_classes else
                             df_quantised(&scale, df_clip(response[i], least, most)))
            code = code_at(column, <uint32_t> i)
            if code < column.n_codes:
                add_draws(self.criterion.kind, sums + code * self.n_words, &record)
            add_draws(self.criterion.kind, total, &record)

    cdef Py_ssize_t rank(self, Py_ssize_t feature, const int64_t* sums, uint32_t* ranks) noexcept nogil:
        """Rank a column's labels in all orders, given the sums of its labels; return how many ranks there are."""
        cdef Py_ssize_t order, n_labels = self.data.columns[feature].n_codes, word = 2
        if self.criterion.n_classes and self.n_orders == 1:
            word = df_largest_class(sums + n_labels * self.n_words, self.n_words)
        for order in range(self.n_orders):
            self.rank_by(word + order, n_labels, sums, ranks + order * (n_labels + 1))
        return self.n_orders * (n_labels + 1)

    cdef void rank_by(self, Py_ssize_t word, Py_ssize_t n_labels, const int64_t* sums, uint32_t* ranks) noexcept nogil:
        """Rank labels by the share of the class of a word, or by the mean target."""
        cdef const int64_t* total = sums + n_labels * self.n_words
        cdef const int64_t* statistic = sums
        cdef bint is_class = self.criterion.kind == CLASS_WEIGHTS, is_wide = self.criterion.kind == TARGET_SUM_WIDE
        cdef double mean = 0.0, row_weight = 0.0, response
        cdef int64_t floor = 0
        cdef Py_ssize_t k
        cdef uint32_t rank = 0
        if total[0] > 0:
            floor = 0 if is_class else df_floor_mean(total[2], total[3] if is_wide else 0, total[1])
            mean = df_class_response(total, word) if is_class else df_target_response(total, is_wide, floor)
            row_weight = <double> total[1] / <double> total[0]
        for k in range(n_labels + 1):          # the last one is that of missing values
            self.keyed[k].label = <uint32_t> k
            self.keyed[k].key = 0.0
            if k < n_labels and statistic[0] > 0:
                response = df_class_response(statistic, word) if is_class else df_target_response(statistic, is_wide, floor)
                self.keyed[k].key = df_label_key(response, mean, <double> statistic[1], row_weight)
            statistic += self.n_words
        qsort(self.keyed, n_labels + 1, sizeof(Keyed), compare_keys)
        for k in range(n_labels + 1):
            rank += k > 0 and self.keyed[k].key != self.keyed[k - 1].key
            ranks[self.keyed[k].label] = rank


class LabelSums:
    """Sums of the rows that order labels, where trees are grown from sums over rows.

    Parameters
    ----------
    data : DataView
        Of the rows that are here.
    criterion : Criterion
        As of `LabelOrder`.
    numbers : ndarray of shape (n_rows,), dtype uint32, or None
        As of `LabelOrder.add_up_draws`.
    n_threads : int
        Most threads.
    """

    def __init__(self, DataView data not None, Criterion criterion not None, numbers, n_threads):
        self._data, self._criterion, self._numbers, self._n_threads = data, criterion, numbers, n_threads
        self._orders = {0: LabelOrder(data, criterion)}        # by the number of the thread

    @property
    def tree_bytes(self):
        """Of the sums of a tree: int."""
        cdef LabelOrder order = self._orders[0]
        return 8 * order.n_entries * order.n_words

    def add_up(self, rows, roots):
        """Sums of trees, given their draws, as of `LabelOrder.add_up_draws`: int64, (n_trees, n_entries, n_words)."""
        cdef LabelOrder first = self._orders[0]
        sums = np.empty((len(roots), first.n_entries, first.n_words), np.int64)
        rows, roots = np.ascontiguousarray(rows), np.ascontiguousarray(roots)

        def add(t, member):
            if member not in self._orders:
                self._orders[member] = LabelOrder(self._data, self._criterion)
            self._orders[member].add_up_draws(rows, roots, self._numbers, t, sums[t])

        each(len(roots), add, self._n_threads, ROW_WORK * len(roots) * first.data.n_rows)
        return sums

    def rank(self, sums):
        """See `LabelOrder.rank_packed_sums`."""
        return self._orders[0].rank_packed_sums(sums)
