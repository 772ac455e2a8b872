"""Splits between any two values (method "dense"), best and random."""
from libc.stdint cimport uint32_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.search.scans cimport FastScans, scans_of
from dforest.core.data cimport DataView
from dforest.core.search.splitter cimport code_above
from dforest.core.types cimport CONTINUOUS, MOST_BUCKETS, Column, LeafRules, Node, Split, data_code, number_at
from dforest.rules.numerics cimport df_between


cdef extern from "rules/keys.h" nogil:
    uint64_t df_draw_key(uint64_t lo, uint64_t hi, double u, int is_wide, int is_float32, double* threshold)


cdef class DenseSplitter(Splitter):
    """The splitter that searches all thresholds of exact values: ``splitter="best"`` with ``method="dense"``.

    A threshold is the middle between two neighbouring values of the node.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> from dforest.splitter import DenseSplitter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(splitter=DenseSplitter(), method="dense", max_depth=1, random_state=0).fit(X, y)
    >>> float(tree.tree_.threshold[0])
    2.45
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "dense"
        self.takes_ranks = type(self) is DenseSplitter       # a subclass may look codes up in the data
        self.grows_twigs = self.takes_sparse = self.takes_ranks

    cdef bint searches_coarsely(self, DataView data, Criterion criterion):
        """Whether bounds are known for what cuts inside a bucket score."""
        cdef Py_ssize_t j
        cdef FastScans scans = scans_of(criterion)
        for j in range(data.n_features):
            if data.columns[j].direction != 0:
                return False
        return self.takes_ranks and scans is not None and scans.has_bounds and data.weight == NULL

    cdef uint64_t wanted_buckets(self, DataView data, Criterion criterion):
        return self.tuning.get("buckets", MOST_BUCKETS) if self.searches_coarsely(data, criterion) else 0

    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1:
        Splitter.attach(self, data, criterion, n_records)
        if data.coarse != NULL:
            self.coarse = CoarseSearch(self.cuts, data)
        return 0

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        cdef double before = best.score
        cdef bint is_constant
        if node.columns[feature].coarse != NULL:
            is_constant = self.coarse.find(node, feature, rules, best)
        else:
            is_constant = self.cuts.find(node, &node.columns[feature], rules, best)
        if self.coarse is not None:
            self.coarse.note(best.score > before)
        return is_constant

    cdef void settle(self, const Node* node, const LeafRules* rules, Split* best) noexcept nogil:
        if self.coarse is not None:
            self.coarse.settle(node, rules, best)

    cdef int store_split(self, const Node* node, Split* split) except -1 nogil:
        """Leave the threshold of a continuous feature to whoever writes the tree, as looking values up means waiting for memory.

        Of a subclass, what `threshold` says is asked.
        """
        cdef const Column* column = &node.columns[split.feature]
        cdef Split found
        if not self.takes_ranks or column.kind != CONTINUOUS or split.only_missing_right:
            return Splitter.store_split(self, node, split)
        found = self.with_neighbours(node, split)
        split.is_deferred = True
        split.between[0] = data_code(column, <uint32_t> found.code)
        split.between[1] = data_code(column, code_above(node, column, &found))
        return 0

    cdef inline Split with_neighbours(self, const Node* node, const Split* split) noexcept nogil:
        """A split whose code is that of a value in the node, and whose `above` is known if buckets do not tell it."""
        cdef Split found = split[0]
        if node.columns[split.feature].coarse != NULL and split.above == 0:
            self.coarse.find_neighbours(node, &node.columns[split.feature], &found)
        return found

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef Split found = self.with_neighbours(node, split)
        return Splitter.threshold(self, node, &found)

    cdef double ordinal_threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef Split found = self.with_neighbours(node, split)
        return Splitter.ordinal_threshold(self, node, &found)


cdef class RandomDenseSplitter(RandomSplitter):
    """The splitter that draws thresholds between exact values: ``splitter="random"`` with ``method="dense"``.

    For each feature it draws one threshold, uniformly between the node's smallest and largest value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> from dforest.splitter import RandomDenseSplitter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(splitter=RandomDenseSplitter(), method="dense", random_state=0).fit(X, y)
    >>> tree.score(X, y)
    1.0
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "dense"
        self.takes_keys = type(self) is RandomDenseSplitter     # a subclass may look codes up in the data
        self.grows_twigs = self.takes_keys

    cdef uint64_t draw_cut(self, const Column* column, uint64_t lo, uint64_t hi, double u, double* threshold) noexcept nogil:
        cdef uint64_t middle
        cdef const void* values = column.values
        if column.has_keys:
            return df_draw_key(lo, hi, u, column.width == 8, column.is_float32, threshold)
        threshold[0] = df_between(number_at(column, values, <uint32_t> lo), number_at(column, values, <uint32_t> hi), u,
                                  column.is_float32)
        while hi - lo > 1:     # value[lo] <= threshold < value[hi]
            middle = lo + (hi - lo) // 2
            if number_at(column, values, <uint32_t> middle) <= threshold[0]:
                lo = middle
            else:
                hi = middle
        return lo
