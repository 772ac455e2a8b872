"""A splitter that tests sums and differences of a few columns, which are drawn at random at each node.

The rule is that of SPORF. Each node draws a sparse matrix with max_features rows and one column for each feature. On average,
a row has feature_combinations entries that are 1 or -1; all others are 0. The non-zero cells are drawn without replacement. A
row of the matrix is a *projection*: it computes one number from each row of X. The best cut of the best projection divides the
node. Projections without an entry are skipped. If no projection has a valid cut, single columns are tried in random order until
one has, so that trees can grow as deep as trees that test single features.

A *term* is an entry of a projection, as one float64: the number of the column plus 1, negative if the column is subtracted. The
*payload* of a test is an array of float64, [threshold, whether missing numbers go left, term, term, ...]; rows whose number is
at most the threshold go left. A number is missing if a value in one of its columns is missing, or if infinities cancel out.

A splitter belongs to one thread and owns its working memory, including the payload of the current split.

Tomita, Browne, Shen, Chung, Patsolic, Falk, Priebe, Yim, Burns, Maggioni, Vogelstein, "Sparse Projection Oblique Randomer
Forests", JMLR 21(104), 2020, https://arxiv.org/abs/1506.03410
"""
from math import isfinite
from numbers import Real

from libc.math cimport fabs
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from dforest.core.component cimport CONTRACT
from dforest.core.search.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.rules.random cimport DF_CUSTOM, df_below, df_stream, df_stream_open
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport Node, Split, data_row, df_rows

import numpy as np

from dforest.core.component import declare_contract

declare_contract(__name__, CONTRACT)

cdef enum:
    STRETCH = 256              # rows projected at a time: they stay in the cache from one term to the next
    FIRST_TERM = 2             # of a payload

ctypedef fused real_t:
    float
    double


cdef inline double number_of(uint64_t word) noexcept nogil:
    """The float64 whose bits a word has."""
    cdef double number
    memcpy(&number, &word, sizeof(number))
    return number


cdef inline uint64_t word_of(double number) noexcept nogil:
    """The bits of a float64."""
    cdef uint64_t word
    memcpy(&word, &number, sizeof(word))
    return word


cdef inline void add_column(const real_t* x, size_t width, const uint32_t* rows, Py_ssize_t n, double sign,
                            double* values) noexcept nogil:
    """Add a column or subtract it. IN x : its value in row 0; the next row's value is `width` values further"""
    cdef Py_ssize_t i
    for i in range(n):
        values[i] += sign * x[rows[i] * width]


cdef void project(const df_rows* X, const uint32_t* rows, Py_ssize_t n, const uint64_t* terms, Py_ssize_t n_terms,
                  double* values) noexcept nogil:
    """The values of a projection. Training and prediction add the same terms in the same order, and get the same bits.

    IN rows : [n] numbers of rows
    OUT values : [n]
    """
    cdef Py_ssize_t first = 0, i, k, m, column
    cdef double sign
    while first < n:
        m = min(<Py_ssize_t> STRETCH, n - first)
        for i in range(m):
            values[first + i] = 0.0
        for k in range(n_terms):
            column = <Py_ssize_t> fabs(number_of(terms[k])) - 1
            sign = 1.0 if number_of(terms[k]) > 0.0 else -1.0
            if X.is_double:
                add_column(<const double*> X.x + column, X.stride // sizeof(double), rows + first, m, sign, values + first)
            else:
                add_column(<const float*> X.x + column, X.stride // sizeof(float), rows + first, m, sign, values + first)
        first += m


def check_combinations(feature_combinations):
    """Raise ValueError unless this is a positive number or None."""
    if feature_combinations is not None and not (
            isinstance(feature_combinations, Real) and isfinite(feature_combinations) and feature_combinations > 0):
        raise ValueError(f"feature_combinations={feature_combinations!r}; allowed are positive numbers, and None")


def count_entries(feature_combinations, n_projections, n_features):
    """How many entries of a node's matrix are not 0.

    Raises
    ------
    ValueError
        If there are more than the matrix has, or the matrix is too large.
    """
    if feature_combinations is None:
        feature_combinations = min(1.5, n_features)
    if feature_combinations > n_features:
        raise ValueError(f"feature_combinations={feature_combinations}; allowed are at most {n_features}, the number of features")
    if n_projections * n_features >= 2**31:
        raise ValueError(f"max_features={n_projections} projections of {n_features} features; allowed are fewer than 2**31 "
                         "of their products")
    return max(1, int(n_projections * feature_combinations))


def shares_of(payload):
    """The columns of a test: ndarray of int64; and equal shares of sum 1."""
    columns = np.abs(payload.view(np.float64)[FIRST_TERM:]).astype(np.int64) - 1
    return columns, np.full(len(columns), 1.0 / len(columns))


def text_of(payload, names):
    """A test as text, such as "-a + b <= 0.25"."""
    threshold, missing_left, *terms = payload.view(np.float64).tolist()
    text = " ".join(f"{'-' if term < 0 else '+'} {names[int(abs(term)) - 1]}" for term in terms)
    text = text[2:] if text[0] == "+" else "-" + text[2:]
    return f"{text} <= {threshold:.3g}" + (" or missing" if missing_left else "")


cdef class ObliqueSplitter(Splitter):
    """Divides nodes by sums and differences of a few columns, which are drawn at random.

    `max_features` of the forest is the number of projections that are drawn at a node; it must not exceed the number of
    features. Values are taken from X as they are, whatever `method` is; categories are treated as their numbers.

    Parameters
    ----------
    feature_combinations : float, optional
        The average number of columns in a projection, at most the number of features. None means 1.5, or 1 if there is only
        one feature.

    Raises
    ------
    ValueError
        If `feature_combinations` is not a positive number; in `fit`, if it is above the number of features.

    References
    ----------
    Tomita et al., "Sparse Projection Oblique Randomer Forests", JMLR 21(104), 2020.
    """

    cdef readonly object feature_combinations
    cdef Py_ssize_t n_entries
    cdef uint32_t* rows            # [records] of the node at hand
    cdef double* values            # [records] of the projection at hand
    cdef uint64_t* taken           # cells of the matrix, a bit each
    cdef uint32_t* drawn           # [n_entries] twice the cell, and 1 if it is negative
    cdef Py_ssize_t* start         # [max_features + 2] of each projection's terms; then their end
    cdef uint64_t* terms           # [n_entries] projection after projection
    cdef uint64_t* payload         # [FIRST_TERM + n_entries] of the best test so far, lent to the split at hand
    cdef Py_ssize_t n_payload_words

    parameters = ("feature_combinations",)

    def __cinit__(self, *args, **kwargs):
        self.has_own_tests = True

    def __init__(self, feature_combinations=None):
        check_combinations(feature_combinations)
        self.feature_combinations = feature_combinations

    def __dealloc__(self):
        free(self.rows)
        free(self.values)
        free(self.taken)
        free(self.drawn)
        free(self.start)
        free(self.terms)
        free(self.payload)

    cdef int prepare(self, DataView data, Criterion criterion) except -1:
        count_entries(self.feature_combinations, self.max_features, data.n_features)
        return 0

    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1:
        Splitter.attach(self, data, criterion, n_records)
        self.n_entries = count_entries(self.feature_combinations, self.max_features, data.n_features)
        self.rows = <uint32_t*> malloc(n_records * sizeof(uint32_t))
        self.values = <double*> malloc(n_records * sizeof(double))
        self.taken = <uint64_t*> calloc(self.max_features * data.n_features // 64 + 1, sizeof(uint64_t))
        self.drawn = <uint32_t*> malloc(self.n_entries * sizeof(uint32_t))
        self.start = <Py_ssize_t*> malloc((self.max_features + 2) * sizeof(Py_ssize_t))
        self.terms = <uint64_t*> malloc(self.n_entries * sizeof(uint64_t))
        self.payload = <uint64_t*> malloc((FIRST_TERM + self.n_entries) * sizeof(uint64_t))
        if (self.rows == NULL or self.values == NULL or self.taken == NULL or self.drawn == NULL or self.start == NULL
                or self.terms == NULL or self.payload == NULL):
            raise MemoryError()
        return 0

    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        cdef Py_ssize_t i, t
        cdef uint64_t single
        out.feature = -1
        out.score = -1.0
        for i in range(node.n):
            self.rows[i] = data_row(node.rows, node.records[i].row)
        self.draw_matrix(node)
        for t in range(self.max_features):
            if self.start[t] < self.start[t + 1]:
                self.try_projection(node, self.terms + self.start[t], self.start[t + 1] - self.start[t], out)
        self.order.open(self.seed, node.key)
        while out.feature < 0 and self.order.n_drawn < self.data.n_features:
            single = word_of(<double> (self.order.next() + 1))
            self.try_projection(node, &single, 1, out)
        self.order.close()
        if out.feature >= 0:
            self.store_split(node, out)
        return 0

    cdef int draw_matrix(self, const Node* node) except -1 nogil:
        """Set the terms of all projections of a node. Cells are drawn without replacement by Floyd's algorithm."""
        cdef uint32_t n_features = <uint32_t> self.data.n_features, n_projections = <uint32_t> self.max_features
        cdef uint32_t n_entries = <uint32_t> self.n_entries, n_cells = n_projections * n_features
        cdef uint32_t drawn, cell, i, t
        cdef double column
        cdef df_stream stream
        memset(self.start, 0, (n_projections + 2) * sizeof(Py_ssize_t))
        df_stream_open(&stream, self.seed, node.key, DF_CUSTOM)
        for i in range(n_cells - n_entries, n_cells):
            drawn = df_below(&stream, 2 * (i + 1))             # a cell up to the i-th, and a sign
            if (self.taken[drawn >> 7] >> (drawn >> 1 & 63)) & 1:
                drawn = 2 * i | drawn & 1
            self.taken[drawn >> 7] |= <uint64_t> 1 << (drawn >> 1 & 63)
            self.start[(drawn >> 1) // n_features + 2] += 1
            self.drawn[i - (n_cells - n_entries)] = drawn
        for t in range(2, n_projections + 2):
            self.start[t] += self.start[t - 1]
        # Now projection t begins at start[t + 1], which moves to its end as its terms are put in their places.
        for i in range(n_entries):
            cell = self.drawn[i] >> 1
            column = <double> (cell % n_features + 1)
            self.taken[cell >> 6] = 0
            t = cell // n_features + 1
            self.terms[self.start[t]] = word_of(-column if self.drawn[i] & 1 else column)
            self.start[t] += 1
        return 0

    cdef int try_projection(self, const Node* node, const uint64_t* terms, Py_ssize_t n_terms, Split* best) except -1 nogil:
        """Replace `best` by a cut of a projection if the cut has a higher score."""
        cdef double before = best.score
        project(&self.data.x, self.rows, node.n, terms, n_terms, self.values)
        self.divisions.find_along(node, self.values, &self.rules, best)
        if best.score > before:
            best.feature = <Py_ssize_t> fabs(number_of(terms[0])) - 1
            memcpy(self.payload + FIRST_TERM, terms, n_terms * sizeof(uint64_t))
            self.n_payload_words = FIRST_TERM + n_terms
        return 0

    cdef int store_split(self, const Node* node, Split* split) except -1 nogil:
        self.payload[0] = word_of(split.threshold)
        self.payload[1] = word_of(1.0 if split.missing_left else 0.0)
        split.payload = self.payload
        split.n_payload_words = self.n_payload_words
        split.missing_left = False         # the payload tells
        return 0

    cdef int goes_left(self, const uint64_t* payload, Py_ssize_t n_words, const df_rows* X, const uint32_t* rows,
                       Py_ssize_t n, uint8_t* left) except -1 nogil:
        cdef double values[STRETCH]
        cdef double threshold = number_of(payload[0])
        cdef bint missing_left = number_of(payload[1]) != 0.0
        cdef Py_ssize_t first = 0, i, m
        while first < n:
            m = min(<Py_ssize_t> STRETCH, n - first)
            project(X, rows + first, m, payload + FIRST_TERM, n_words - FIRST_TERM, values)
            for i in range(m):
                left[first + i] = values[i] <= threshold or (missing_left and values[i] != values[i])
            first += m
        return 0

    def used_features(self, payload):
        """The columns of a test, with equal shares."""
        return shares_of(payload)

    def describe(self, payload, names):
        """A test as text."""
        return text_of(payload, names)
