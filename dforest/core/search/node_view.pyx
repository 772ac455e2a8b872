"""A node as Python sees it: NumPy arrays of what its records have.

All arrays are read-only copies, made when asked for: records come in an order that the node's own splits
change, and stay valid when the node is gone. A `NodeView` itself may be asked only while the node is open.
"""
from numbers import Integral

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from dforest.core.search.categories cimport Categories
from dforest.core.search.division cimport Divisions
from dforest.rules.random cimport DF_CUSTOM
from dforest.core.search.splitter cimport CodeRange, code_range
from dforest.core.types cimport CATEGORICAL, OUTPUTS, Column, Split, code_at, data_row, value_at

from dforest.core.component import SplitterError


def frozen(array):
    """An array, which can't be written to from now on."""
    array.setflags(write=False)
    return array


cdef class NodeView:
    """A node that is to be split, as the methods of a `PythonSplitter` see it.

    It may be asked only during the call that it was given to. All arrays are read-only copies.

    Attributes
    ----------
    n_records : int
        Number of records, which are the distinct rows of the node: a row that the tree drew several times is one record.
    n_draws : int
        Number of draws in the node: a row that the tree drew several times counts as often.
    depth : int
        Depth of the node; the root's depth is 0.
    key : int
        A number of 64 bits that the sides on the way from the root to the node determine.
    seed : int
        Seed of the tree, below 2**32, for what is drawn once for each tree. Use the method `random` for all other random
        numbers.
    n_features, n_classes : int
        Numbers of features and of classes; n_classes is 0 for regression. For several outputs, it is a tuple with the
        number for each.
    min_draws : int
        Least number of draws on each side of a split.
    min_weight : float
        Least weight of each side of a split.
    rows, counts, weights : ndarray of shape (n_records,), dtype uint32
        For each record, the number of its row among the training rows of positive weight, how often the row was drawn, and
        the weight of a draw as an integer.
    targets : ndarray of shape (n_records,) or (n_records, n_outputs)
        Target of each record: numbers of classes, int32, or for regression the targets, float64.
    X : ndarray of shape (n_records, n_features), dtype float32 or float64
        Rows of the records, with missing values as NaN and categories as their numbers.
    statistics : ndarray of shape (n_words,), dtype int64
        Sums over the node: number of draws, weight, and further words of the criterion.
    order : ndarray of shape (n_features,), dtype int64
        Numbers of all features, in the random order in which the built-in splitters try them. Those of `always_split_features`
        come first, and those whose `feature_weights` are 0 are not among them.
    path_features : ndarray of shape (n,), dtype int64
        Numbers of the features that the splits on the path from the root to this node use, each once, in the order of
        their first use. For a `Test`, its attribute `feature` counts.

    Examples
    --------
    >>> from dforest import DecisionTreeRegressor
    >>> from dforest.splitter import PythonSplitter
    >>> class Middle(PythonSplitter):
    ...     def best_cut(self, node, feature):
    ...         print(f"depth {node.depth}: {node.n_records} records, values {node.values(feature).tolist()}")
    ...         return 1  # the code after which to split
    >>> tree = DecisionTreeRegressor(splitter=Middle(), max_depth=1).fit([[3.0], [4.0], [5.0]], [0.0, 0.0, 1.0])
    depth 0: 3 records, values [3.0, 4.0, 5.0]
    """

    cdef void close(self) noexcept:
        self.node = NULL

    cdef const Node* opened(self) except NULL:
        if self.node == NULL:
            raise RuntimeError("this node has been split already; a node can only be used during the call that it was passed to")
        return self.node

    cdef Py_ssize_t feature_number(self, feature) except -1:
        if not isinstance(feature, Integral):
            raise SplitterError(f"{type(self.splitter).__name__}: feature={feature!r}; allowed are integers")
        if not 0 <= feature < self.splitter.data.n_features:
            raise IndexError(f"feature={feature}; the data have {self.splitter.data.n_features} features")
        return feature

    @property
    def n_records(self):
        return self.opened().n

    @property
    def n_draws(self):
        return self.opened().statistics[0]

    @property
    def depth(self):
        return self.opened().depth

    @property
    def key(self):
        return self.opened().key

    @property
    def seed(self):
        return self.splitter.seed

    @property
    def n_features(self):
        return self.splitter.data.n_features

    @property
    def n_classes(self):
        criterion = self.splitter.criterion
        return criterion.class_counts if criterion.n_outputs > 1 else criterion.n_classes

    @property
    def min_draws(self):
        return self.splitter.rules.min_draws

    @property
    def min_weight(self):
        return self.splitter.rules.min_weight

    @property
    def rows(self):
        return self._records("rows")

    @property
    def counts(self):
        return self._records("counts")

    @property
    def weights(self):
        return self._records("weights")

    @property
    def targets(self):
        return self._records("targets")

    def _records(self, name):
        cdef const Node* node = self.opened()
        cdef Py_ssize_t i
        cdef uint32_t[::1] rows, counts, weights
        if name not in self.kept:
            rows, counts, weights = (np.empty(node.n, np.uint32) for _ in range(3))
            numbers = np.empty(node.n)
            for i in range(node.n):
                rows[i] = data_row(node.rows, node.records[i].row)
                counts[i] = node.records[i].count
                weights[i] = node.records[i].weight
                numbers[i] = node.y[node.records[i].row] if node.y != NULL else node.records[i].target
            targets = numbers if node.y != NULL else numbers.astype(np.int32)
            if self.splitter.criterion.kind == OUTPUTS:
                targets = self._targets_by_output()
            self.kept.update(rows=frozen(np.asarray(rows)), counts=frozen(np.asarray(counts)),
                             weights=frozen(np.asarray(weights)), targets=frozen(targets))
        return self.kept[name]

    def _targets_by_output(self):
        """`targets` of several outputs."""
        cdef const Node* node = self.opened()
        cdef Py_ssize_t i, o, n_outputs = self.splitter.criterion.n_outputs
        numbers = np.empty((node.n, n_outputs))
        cdef double[:, ::1] to = numbers
        for i in range(node.n):
            for o in range(n_outputs):
                to[i, o] = node.y[node.records[i].row * n_outputs + o]
        return numbers.astype(np.int32) if any(self.n_classes) else numbers

    @property
    def X(self):
        cdef const Node* node = self.opened()
        cdef const char* x = self.splitter.data.x.x
        cdef char[:, ::1] to
        cdef Py_ssize_t i
        if "X" not in self.kept:
            dtype = np.float64 if self.splitter.data.x.is_double else np.float32
            X = np.empty((node.n, self.splitter.data.n_features), dtype)
            to = X.view(np.int8)
            for i in range(node.n):
                memcpy(&to[i, 0], x + data_row(node.rows, node.records[i].row) * self.splitter.data.x.stride,
                       self.splitter.data.x.stride)
            self.kept["X"] = frozen(X)
        return self.kept["X"]

    @property
    def statistics(self):
        cdef const Node* node = self.opened()
        return frozen(np.array([node.statistics[k] for k in range(self.splitter.criterion.n_words)], np.int64))

    @property
    def order(self):
        if "order" not in self.kept:
            drawn = self.splitter.order.draw(self.splitter.seed, self.key, self.splitter.order.n_drawable)
            self.kept["order"] = frozen(np.array(drawn, np.int64))
        return self.kept["order"]

    @property
    def path_features(self):
        cdef const Node* node = self.opened()
        if node.path_features == NULL:
            raise RuntimeError(f"{type(self.splitter).__name__}: path_features needs needs_path_features=True")
        return frozen(np.array([node.path_features[k] for k in range(node.n_path_features)], np.int64))

    def values(self, feature):
        """Return the value of each record in a feature: ndarray of shape (n_records,), dtype float64; NaN if missing."""
        cdef const Node* node = self.opened()
        cdef Py_ssize_t i, j = self.feature_number(feature)
        result = np.empty(node.n)
        cdef double[::1] to = result
        for i in range(node.n):
            to[i] = value_at(&self.splitter.data.x, data_row(node.rows, node.records[i].row), j)
        return frozen(result)

    def codes(self, feature):
        """Return the code of each record in a feature: ndarray of shape (n_records,), dtype uint32.

        Codes are integers from 0 on, in the order of values: numbers of bins with ``method="hist"``, ranks of values with
        "dense", and numbers of categories. The code of a missing value is `n_codes` of the feature.
        """
        cdef const Node* node = self.opened()
        cdef const Column* column = &node.columns[self.feature_number(feature)]
        cdef Py_ssize_t i
        result = np.empty(node.n, np.uint32)
        cdef uint32_t[::1] to = result
        for i in range(node.n):
            to[i] = code_at(column, node.records[i].row)
        return frozen(result)

    def n_codes(self, feature):
        """Return how many codes the values of a feature have in all training rows: int."""
        return self.opened().columns[self.feature_number(feature)].n_codes

    def is_categorical(self, feature):
        """Return whether a feature is categorical, so that its codes have no order: bool."""
        return self.opened().columns[self.feature_number(feature)].kind == CATEGORICAL

    def is_constant(self, feature):
        """Return whether all records of the node have the same code in a feature: bool."""
        cdef const Node* node = self.opened()
        cdef CodeRange codes = code_range(node, &node.columns[self.feature_number(feature)])
        return codes.lowest > codes.highest or (codes.lowest == codes.highest and not codes.has_missing)

    def random(self, purpose=0):
        """Return a generator of random numbers that depend on the tree's seed, the node and the purpose alone.

        Parameters
        ----------
        purpose : int
            Any number from 0 on; different numbers give different random numbers.

        Returns
        -------
        numpy.random.Generator
            A generator at the beginning of its sequence.
        """
        cdef uint64_t key = self.splitter.seed
        counter = [0, 0, 0, DF_CUSTOM + purpose]
        return np.random.Generator(np.random.Philox(key=[key, self.key], counter=counter))

    def score_cut(self, feature, code):
        """Return the criterion's score of a split by a feature: the node's weight times the decrease of its impurity.

        Parameters
        ----------
        feature : int
            Number of the feature.
        code : int, or array-like of int
            Where to split: records with codes up to this one go left. For a categorical feature, the codes of the
            categories that go left. Missing values go to the side on which they score more.

        Returns
        -------
        float
            The score, from 0 on; -1.0 if a side would be empty or the split breaks another rule.
        """
        cdef Split best
        best.score = -1.0
        take_cut(self, self.feature_number(feature), code, &best)
        self.splitter.criterion.check()
        return best.score

    def score_sides(self, left):
        """Return the criterion's score of any division of the node's records into two sides.

        Parameters
        ----------
        left : array-like of shape (n_records,), dtype bool
            For each record, whether it goes left.

        Returns
        -------
        float
            The score, from 0 on; -1.0 if a side breaks a rule.
        """
        cdef const Node* node = self.opened()
        cdef Split best
        sides = self.by_record(left, np.bool_)
        cdef const unsigned char[::1] to = sides.view(np.uint8)
        best.score = -1.0
        self.divisions().find_sides(node, &to[0], &self.splitter.rules, &best)
        self.splitter.criterion.check()
        return best.score

    def best_along(self, values):
        """Return the best split, by the criterion, of numbers that no feature has, such as a sum of features.

        Parameters
        ----------
        values : array-like of shape (n_records,)
            A number for each record; NaN means missing.

        Returns
        -------
        score : float
            Score as in `score_cut`; -1.0 if no split is valid.
        threshold : float
            Records with numbers up to this one go left. It lies in the middle between two of the numbers, or is
            infinity if missing ones are parted from all others, or NaN if no split is valid.
        missing_left : bool
            Whether missing numbers go left: to the side on which they score more, or, if there are none, to the side
            of more draws.
        """
        cdef const Node* node = self.opened()
        cdef Split best
        cdef const double[::1] given = self.by_record(values, np.float64)
        best.score = -1.0
        best.threshold = NAN
        best.missing_left = False
        self.divisions().find_along(node, &given[0], &self.splitter.rules, &best)
        self.splitter.criterion.check()
        return best.score, best.threshold, bool(best.missing_left)

    def by_record(self, given, dtype):
        """An array that has an entry for each record, checked."""
        array = np.ascontiguousarray(given, dtype)
        if array.shape != (self.n_records,):
            name = type(self.splitter).__name__
            raise SplitterError(f"{name}: an array has the shape {array.shape}; allowed is {(self.n_records,)}, a number "
                                "for each record")
        return array

    cdef Divisions divisions(self):
        if self.splitter.divisions is None:
            name = type(self.splitter).__name__
            raise SplitterError(f"{name}: criterion={self.splitter.criterion!r} scores cuts of columns only")
        return self.splitter.divisions


cdef int take_cut(NodeView view, Py_ssize_t feature, given, Split* best) except -1:
    """Replace `best` by a cut if it is valid and scores more. IN given : as for `NodeView.score_cut`"""
    cdef const Node* node = view.opened()
    cdef Splitter splitter = view.splitter
    cdef const Column* column = &node.columns[feature]
    cdef CodeRange codes
    cdef int64_t code
    cdef uint32_t category
    cdef Categories categories
    cdef Py_ssize_t at, n_words
    if column.kind != CATEGORICAL:
        codes = code_range(node, column)
        if not isinstance(given, Integral):
            name = type(splitter).__name__
            raise SplitterError(f"{name}: code={given!r} of feature {feature}; allowed is an integer, the code to cut after")
        code = given
        if (code < <int64_t> codes.lowest or codes.highest <= codes.lowest and not codes.has_missing
                or code > <int64_t> codes.highest):
            return 0
        splitter.cuts.find_at(node, column, <uint32_t> code, &splitter.rules, best)
        return 0
    categories = splitter.cuts.categories
    splitter.cuts.find_present(node, column)
    n_words = (<Py_ssize_t> column.n_codes + 63) // 64
    for at in range(n_words):
        categories.left_ones[at] = 0
    for number in np.atleast_1d(given).tolist():
        if not isinstance(number, Integral):
            raise SplitterError(f"{type(splitter).__name__}: category {number!r} of feature {feature}; allowed are integers")
        if not 0 <= number < column.n_codes:
            raise SplitterError(f"{type(splitter).__name__}: category {number} of feature {feature}, which has {column.n_codes} "
                                "categories")
        category = number
        categories.left_ones[category >> 6] |= categories.present[category >> 6] & (<uint64_t> 1 << (category & 63))
    splitter.cuts.find_subset(node, column, &splitter.rules, best)
    return 0


cdef NodeView view_of(const Node* node, Splitter splitter):
    cdef NodeView view = NodeView.__new__(NodeView)
    view.node = node
    view.splitter = splitter
    view.kept = {}
    return view
