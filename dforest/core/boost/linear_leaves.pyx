"""The linear functions of a boosted tree's leaves, found once its splits and the values of its leaves are known.

`rules/linear_leaf.h` says what such a function, a *line*, is. Its features are the last ones that are tested on the way to the
leaf, without those that have one code alone there, as a feature of two values has below its split. Labels of categories are no
numbers, and make no terms.

A `LinearLeaves` belongs to a `TreeGrower`, and owns what it finds of one tree. It borrows X, which has the rows of the codes.
"""
cimport cython
from libc.math cimport HUGE_VAL
from libc.stdlib cimport free, malloc

from dforest.core.boost.boosted_tree cimport BoostNode
from dforest.core.tree.buffers cimport ensure_room
from dforest.core.types cimport CATEGORICAL
from dforest.rules.boost cimport df_limited_value
from dforest.rules.linear_leaf cimport (
    DF_LINE_HEAD, DF_MAX_TERMS, DF_TERM_NUMBERS, df_fit_line, df_line_size, df_n_line_sums, df_open_term,
)
from dforest.rules.numerics cimport df_big_sum

cdef extern from "core/boost/linear_leaves.h" nogil:
    void df_read_values(const df_rows* X, const uint32_t* rows, int64_t first, int64_t n_rows, int n, const int32_t* columns,
                        int stride, double* values, df_term* terms)
    void df_add_up_line(const double* values, int stride, const uint32_t* rows, int64_t first, int64_t n_rows,
                        const int32_t* quantised, bint has_hessian, const uint32_t* times, int n, const df_term* terms,
                        df_exact_sum* sums)
    void df_add_terms(const double* values, int stride, int64_t n_rows, double constant, const double* line, int n_terms,
                      double* added, double* extent)


cdef void read_values(void* leaves, int64_t item) noexcept nogil:
    (<LinearLeaves> leaves).read_values(item)


cdef void add_up(void* leaves, int64_t item) noexcept nogil:
    (<LinearLeaves> leaves).add_up(item)


cdef void add_terms(void* leaves, int64_t item) noexcept nogil:
    (<LinearLeaves> leaves).add_terms(item)


@cython.final
cdef class LinearLeaves:
    """The lines of one tree after another.

    Parameters
    ----------
    tree : BoostedTree
        Of one output.
    X : ndarray of shape (n_rows, n_columns), dtype float32 or float64
        C-contiguous. Columns of the tree beyond these make no terms.
    n_terms : int
        Most terms of a leaf, from 1 to DF_MAX_TERMS.
    l2 : float
        What is added to a leaf's sum of Hessians, for slopes.
    """

    def __cinit__(self, BoostedTree tree not None, X not None, int n_terms, double l2):
        cdef const char[:, ::1] there = X.view("i1")
        if not 1 <= n_terms <= DF_MAX_TERMS:
            raise ValueError(f"n_terms={n_terms}; allowed are numbers from 1 to {DF_MAX_TERMS}")
        if len(X) != tree.bundles.data.n_rows:
            raise ValueError(f"X has {len(X)} rows; allowed are the {tree.bundles.data.n_rows} of the codes")
        self.tree, self.owner, self.n_columns = tree, X, X.shape[1]
        self.X.x, self.X.stride, self.X.is_double = &there[0, 0], X.shape[1] * X.itemsize, X.dtype == "f8"
        self.n_terms, self.l2, self.line_size = n_terms, l2, df_line_size(n_terms)
        cdef size_t n = tree.bundles.data.n_features
        self.lowest = <int32_t*> malloc(n * sizeof(int32_t))
        self.highest = <int32_t*> malloc(n * sizeof(int32_t))
        self.tested = <int32_t*> malloc(n * sizeof(int32_t))
        self.values = <double*> malloc(tree.rows.n * n_terms * sizeof(double))
        self.added = <double*> malloc(tree.rows.n * sizeof(double))
        if (self.lowest == NULL or self.highest == NULL or self.tested == NULL or self.values == NULL
                or self.added == NULL):
            raise MemoryError()
        for i in range(n):
            self.lowest[i] = -1

    def __dealloc__(self):
        free(self.lines)
        free(self.columns)
        free(self.values)
        free(self.added)
        free(self.n_here)
        free(self.terms)
        free(self.range_terms)
        free(self.range_sums)
        free(self.extents)
        free(self.lowest)
        free(self.highest)
        free(self.tested)

    cdef int find(self, const LeafRange* ranges, Py_ssize_t n_ranges, const int32_t* quantised, bint has_hessian,
                  const uint32_t* times, double weight_unit) except -1 nogil:
        """Find the lines of a tree's leaves, whose values are known.

        IN ranges : [n_ranges] the rows of all leaves, leaf by leaf; quantised, has_hessian, times : as of the tree's gradients
        """
        cdef Py_ssize_t n_nodes = self.tree.n_nodes, i, node
        cdef int n_sums = df_n_line_sums(self.n_terms), j, k, n
        cdef df_term* terms
        cdef df_term* own
        cdef df_exact_sum* sums
        cdef double* line
        cdef double value
        self.ranges, self.quantised, self.has_hessian, self.times = ranges, quantised, has_hessian, times
        self.rows = self.tree.rows.rows_from(0)
        ensure_room(<void**> &self.lines, &self.lines_room, n_nodes * self.line_size, sizeof(double))
        ensure_room(<void**> &self.columns, &self.columns_room, n_nodes * self.n_terms, sizeof(int32_t))
        ensure_room(<void**> &self.n_here, &self.n_here_room, n_nodes, sizeof(int))
        ensure_room(<void**> &self.terms, &self.terms_room, n_nodes * self.n_terms, sizeof(df_term))
        ensure_room(<void**> &self.range_terms, &self.range_terms_room, n_ranges * self.n_terms, sizeof(df_term))
        ensure_room(<void**> &self.range_sums, &self.range_sums_room, n_ranges * n_sums, sizeof(df_exact_sum))
        ensure_room(<void**> &self.extents, &self.extents_room, n_ranges * 2, sizeof(double))
        for i in range(n_nodes):
            self.n_here[i] = self.choose_terms(i) if self.tree.nodes[i].left < 0 else 0
            line = self.line_of(i)
            for j in range(self.line_size):
                line[j] = -1.0
        self.tree.team.for_each(read_values, <void*> self, n_ranges)
        for i in range(n_ranges):
            node = ranges[i].node
            for j in range(self.n_here[node]):
                terms, own = &self.terms[node * self.n_terms + j], &self.range_terms[i * self.n_terms + j]
                terms.low, terms.high = min(terms.low, own.low), max(terms.high, own.high)
        for i in range(n_nodes):
            terms, n = &self.terms[i * self.n_terms], 0
            for j in range(self.n_here[i]):
                if df_open_term(&terms[j]):
                    terms[n] = terms[j]
                    n += 1
            self.n_here[i] = n
        self.tree.team.for_each(add_up, <void*> self, n_ranges)
        i = 0
        while i < n_ranges:
            node = ranges[i].node
            n, sums = self.n_here[node], &self.range_sums[i * n_sums]
            terms, line = &self.terms[node * self.n_terms], self.line_of(node)
            i += 1
            while i < n_ranges and ranges[i].node == node:
                for k in range(df_n_line_sums(n)):
                    sums[k] = df_big_sum(sums[k], self.range_sums[i * n_sums + k])
                i += 1
            if n > 0 and df_fit_line(n, terms, sums, self.l2 / weight_unit, self.limits.learning_rate,
                                     self.tree.outputs[node].scale.exponent_g, self.tree.outputs[node].scale.exponent_h,
                                     line) > 0:
                line[0] = line[1] = self.tree.outputs[node].value
        self.tree.team.for_each(add_terms, <void*> self, n_ranges)
        for i in range(n_ranges):
            line = self.line_of(ranges[i].node)
            for j in range(2):
                value = self.extents[2 * i + j]
                value = df_limited_value(self.limits, value / self.limits.learning_rate, value)
                line[j] = min(line[j], value) if j == 0 else max(line[j], value)
        for i in range(n_nodes):
            line = self.line_of(i) + DF_LINE_HEAD
            for j in range(self.n_terms):
                if line[DF_TERM_NUMBERS * j] >= 0.0:
                    line[DF_TERM_NUMBERS * j] = self.columns[i * self.n_terms + <Py_ssize_t> line[DF_TERM_NUMBERS * j]]
        return 0

    cdef int choose_terms(self, Py_ssize_t leaf) noexcept nogil:
        """Choose the features of a leaf: the last ones tested that have two codes or more. Returns how many there are."""
        cdef const BoostNode* node
        cdef int32_t child = <int32_t> leaf, parent = self.tree.nodes[leaf].parent, column
        cdef Py_ssize_t n_tested = 0, i
        cdef int n = 0
        while parent >= 0:
            node = &self.tree.nodes[parent]
            column = <int32_t> node.cut.feature
            if column < self.n_columns and self.tree.bundles.data.columns[column].kind != CATEGORICAL:
                if self.lowest[column] < 0:
                    self.lowest[column] = 0
                    self.highest[column] = <int32_t> self.tree.bundles.data.columns[column].n_codes - 1
                    self.tested[n_tested] = column
                    n_tested += 1
                if child == node.left:
                    self.highest[column] = min(self.highest[column], <int32_t> node.cut.code)
                else:
                    self.lowest[column] = max(self.lowest[column], <int32_t> node.cut.code + 1)
            child = parent
            parent = node.parent
        for i in range(n_tested):
            column = self.tested[i]
            if n < self.n_terms and self.lowest[column] < self.highest[column]:
                self.columns[leaf * self.n_terms + n] = column
                self.terms[leaf * self.n_terms + n].feature = n
                self.terms[leaf * self.n_terms + n].low = HUGE_VAL
                self.terms[leaf * self.n_terms + n].high = -HUGE_VAL
                n += 1
            self.lowest[column] = -1
        return n

    cdef void read_values(self, int64_t item) noexcept nogil:
        """Read the values of a range of a leaf's rows."""
        cdef const LeafRange* some = &self.ranges[item]
        df_read_values(&self.X, self.rows, some.first, some.n, self.n_here[some.node], &self.columns[some.node * self.n_terms],
                       self.n_terms, self.values + some.first * self.n_terms, &self.range_terms[item * self.n_terms])

    cdef void add_up(self, int64_t item) noexcept nogil:
        cdef const LeafRange* some = &self.ranges[item]
        df_add_up_line(self.values + some.first * self.n_terms, self.n_terms, self.rows, some.first, some.n, self.quantised,
                       self.has_hessian, self.times, self.n_here[some.node], &self.terms[some.node * self.n_terms],
                       &self.range_sums[item * df_n_line_sums(self.n_terms)])

    cdef void add_terms(self, int64_t item) noexcept nogil:
        """Find what the rows of a range add."""
        cdef const LeafRange* some = &self.ranges[item]
        df_add_terms(self.values + some.first * self.n_terms, self.n_terms, some.n, self.tree.outputs[some.node].value,
                     self.line_of(some.node), self.n_terms, self.added + some.first, &self.extents[2 * item])
