"""The order of the labels of columns that have many, in one tree.

By the means of a node's own rows, the many labels of a column can be parted so that they tell these rows apart and no others. So
a tree orders them once, by rows that it does not draw (categories.h has the rule, `dforest.core.sampling.WithLabelOrder` says
which rows these are), and its nodes look for cuts in this order. With three classes and more, there is an order for each class,
by its share, and a node takes that of its own largest class; with very many, all nodes take that of the root's.

Of labels a, b and c whose keys are .2, -.1 and 0, and missing values, the ranks are 2, 0, 1 and 1.

A `LabelOrder` belongs to one grower, which lends it to all nodes of the tree that it has begun, and owns its memory.
"""
cimport cython
from libc.math cimport ldexp
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memset

from dforest.core.types cimport CATEGORICAL, CLASS_WEIGHTS, MAX_LABEL_ORDERS, TARGET_SUM_WIDE, Column, Record, add_draws, code_at
from dforest.rules.bounds cimport df_clip
from dforest.rules.categories cimport (
    DF_LABELS_ORDERED_ABOVE, df_class_response, df_label_key, df_largest_class, df_target_response,
)
from dforest.rules.node cimport df_quantised, df_quantiser, df_quantiser_of
from dforest.rules.numerics cimport df_floor_mean
from dforest.rules.sampling cimport df_orders_labels


LABELS_ORDERED_ABOVE = DF_LABELS_ORDERED_ABOVE


cdef int compare_keys(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const Keyed*> a).key, y = (<const Keyed*> b).key
    return (x > y) - (x < y)


@cython.final
cdef class LabelOrder:
    """Ranks labels, tree by tree.

    Parameters
    ----------
    data : DataView
        Of all rows.
    criterion : Criterion
        Configured, of classes or of numbers, with one output.
    """

    def __cinit__(self, DataView data not None, Criterion criterion not None):
        cdef Py_ssize_t j, most = 0
        self.data, self.criterion = data, criterion
        self.n_words = 2 + criterion.n_classes if criterion.n_classes else criterion.n_words
        self.n_orders = criterion.n_classes if 2 < criterion.n_classes <= MAX_LABEL_ORDERS else 1
        self.ranks = <uint32_t**> calloc(data.n_features + 1, sizeof(uint32_t*))
        self.orders = <uint8_t*> malloc(data.n_rows + 1)
        if self.ranks == NULL or self.orders == NULL:
            raise MemoryError()
        for j in range(data.n_features):
            if data.columns[j].kind == CATEGORICAL and data.columns[j].n_codes > DF_LABELS_ORDERED_ABOVE:
                most = max(most, <Py_ssize_t> data.columns[j].n_codes)
                self.ranks[j] = <uint32_t*> malloc((data.columns[j].n_codes + 1) * self.n_orders * sizeof(uint32_t))
                self.is_needed = True
                if self.ranks[j] == NULL:
                    raise MemoryError()
        self.sums = <int64_t*> malloc((most + 1) * self.n_words * sizeof(int64_t))
        self.keyed = <Keyed*> malloc((most + 1) * sizeof(Keyed))
        if self.sums == NULL or self.keyed == NULL:
            raise MemoryError()

    def __dealloc__(self):
        cdef Py_ssize_t j
        if self.ranks != NULL:
            for j in range(self.data.n_features):
                free(self.ranks[j])
        free(self.ranks)
        free(self.orders)
        free(self.sums)
        free(self.keyed)

    cdef void fill(self, const Node* root, uint32_t seed) noexcept nogil:
        cdef Py_ssize_t j, order, n_labels, word = 2
        self.find_rows(root, seed)
        for j in range(self.data.n_features):
            if self.ranks[j] == NULL:
                continue
            n_labels = self.data.columns[j].n_codes
            self.add_up(root, j)
            if self.criterion.n_classes and self.n_orders == 1:
                word = df_largest_class(self.sums + n_labels * self.n_words, self.n_words)
            for order in range(self.n_orders):
                self.rank(n_labels, word + order, self.ranks[j] + order * (n_labels + 1))

    cdef void find_rows(self, const Node* root, uint32_t seed) noexcept nogil:
        """Find the rows that order labels."""
        cdef Py_ssize_t i
        memset(self.orders, 1, self.data.n_rows)
        for i in range(root.n):
            self.orders[root.records[i].row] = 0
        for i in range(self.data.n_rows):
            if self.orders[i]:
                self.orders[i] = df_orders_labels(seed, i)

    cdef void add_up(self, const Node* root, Py_ssize_t feature) noexcept nogil:
        """Add up the rows by label, and all of them. Targets beyond the root's range are taken to its ends."""
        cdef const Column* column = &self.data.columns[feature]
        cdef int64_t* total = self.sums + column.n_codes * self.n_words
        cdef df_quantiser scale
        cdef double least = 0.0, most = 0.0
        cdef Py_ssize_t i
        cdef uint32_t code
        cdef Record record
        if self.criterion.n_classes == 0:
            scale = df_quantiser_of(root.scale.centre, root.scale.exponent)
            most = ldexp(0.5 * <double> root.scale.range, -root.scale.exponent)
            least = root.scale.centre - most
            most += root.scale.centre
        memset(self.sums, 0, (column.n_codes + 1) * self.n_words * sizeof(int64_t))
        record.count = 1
        for i in range(self.data.n_rows):
            if not self.orders[i]:
                continue
            record.row = <uint32_t> i
            record.weight = self.data.weight[i] if self.data.weight != NULL else 1
            record.target = (self.data.target[i] if self.criterion.n_classes else
                             df_quantised(&scale, df_clip(self.data.y[i], least, most)))
            code = code_at(column, <uint32_t> i)
            if code < column.n_codes:
                add_draws(self.criterion.kind, self.sums + code * self.n_words, &record)
            add_draws(self.criterion.kind, total, &record)

    cdef void rank(self, Py_ssize_t n_labels, Py_ssize_t word, uint32_t* ranks) noexcept nogil:
        """Rank labels by the share of the class of a word, or by the mean target."""
        cdef const int64_t* total = self.sums + n_labels * self.n_words
        cdef const int64_t* statistic = self.sums
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
