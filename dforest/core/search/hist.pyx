"""Splits at the edges of bins (method "hist"), best and random."""
from libc.stdint cimport uint32_t, uint64_t

from dforest.core.search.splitter cimport code_above
from dforest.core.types cimport CONTINUOUS, Column, Node, Split, number_at
from dforest.rules.cut cimport df_threshold_code

cdef extern from "core/search/random_cut.h" nogil:
    uint64_t df_draw_bin(const Column* column, uint64_t lo, uint64_t hi, double u, double* threshold)


cdef class HistSplitter(Splitter):
    """The splitter that searches all thresholds between bins of values: ``splitter="best"`` with ``method="hist"``.

    The threshold is the upper edge of the last bin that goes left. If the next bins are empty in the node, it is the
    upper edge of the one in the middle of these.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> from dforest.splitter import HistSplitter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(splitter=HistSplitter(), method="hist", random_state=0).fit(X, y)
    >>> tree.score(X, y)
    1.0
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"
        self.grows_twigs = self.takes_sparse = type(self) is HistSplitter

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        cdef uint64_t code = df_threshold_code(CONTINUOUS, split.code, code_above(node, column, split))
        return number_at(column, column.values, <uint32_t> code)


cdef class RandomHistSplitter(RandomSplitter):
    """The splitter that draws thresholds between bins of values: ``splitter="random"`` with ``method="hist"``.

    For each feature it draws a number, uniformly between the smallest value of the node's lowest bin and the largest value
    of its highest bin, and takes the edge of bins that is nearest to it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> from dforest.splitter import RandomHistSplitter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(splitter=RandomHistSplitter(), method="hist", random_state=0).fit(X, y)
    >>> tree.score(X, y)
    1.0
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"
        self.grows_twigs = type(self) is RandomHistSplitter

    cdef uint64_t draw_cut(self, const Column* column, uint64_t lo, uint64_t hi, double u, double* threshold) noexcept nogil:
        return df_draw_bin(column, lo, hi, u, threshold)
