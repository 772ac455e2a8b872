"""What isolation trees are made of: a criterion by which no split is better than another one, and splits by several features.

A leaf keeps the length of the path to it. As in [1]_, the length of the path to a leaf of n draws is its depth, and c(n) more: as
many steps as it would take, on average, to find that a row is none of n others in a binary search tree of these,

    c(n) = 2 (ln(n - 1) + 0.5772...) - 2 (n - 1) / n,     c(2) = 1,     c(1) = 0.

Draws have no targets, and statistics hold the number of draws and their weight alone.

Extended isolation trees [2]_ split by hyperplanes of random direction. Here, each of a split's features is first brought to the
node's *unit range*, so that no feature counts more than another for its unit of measurement: a number x becomes (x - lo) /
(hi - lo), with the least and the greatest finite value of the node. Each category, and a value that is missing, becomes a number
that is drawn from [0, 1) for this feature of this node; where no value of the node is missing, missing ones, and labels that were
not there in training, have the number of the node's rarest category. A row goes left if the sum of these numbers, each times a
coefficient drawn from the standard normal distribution, is at most a threshold. That is drawn from between the least and the
greatest sum in the node, and not within the box around the node's rows as in [2]_, so that neither side is ever empty.

A *term* of a split is what it says of one feature, in TERM_WORDS words. The payload of a split is the threshold, and then its
terms. A splitter belongs to one thread and owns its working memory, with the payload of the split at hand.

References
----------
.. [1] F. T. Liu, K. M. Ting, Z.-H. Zhou, "Isolation Forest", ICDM 2008.
.. [2] S. Hariri, M. Carrasco Kind, R. J. Brunner, "Extended Isolation Forest", IEEE TKDE 33(4), 2021.
"""
from libc.float cimport DBL_MAX, DBL_MIN
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.data cimport DataView
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport CATEGORICAL, CLASS_WEIGHTS, Node, Record, Split, data_row, df_rows, value_at
from dforest.rules.categories cimport df_is_rarer
from dforest.rules.numerics cimport df_log
from dforest.rules.random cimport DF_THRESHOLD, df_feature_key, df_stream, df_stream_open, df_uniform

import numpy as np

cdef double EULER_GAMMA = 0.5772156649015329
cdef double FARTHEST = 1e9         # in unit ranges: what lies farther away, as infinities do, counts as if it were there

cdef enum:
    BLOCK = 256                    # rows whose sums are computed at a time: they stay in the cache from one term to the next

ctypedef fused real_t:
    float
    double


cdef inline double length_below(int64_t n_draws) noexcept nogil:
    cdef double n = <double> n_draws
    if n_draws <= 2:
        return 1.0 if n_draws == 2 else 0.0
    return 2.0 * (df_log(n - 1.0) + EULER_GAMMA) - 2.0 * (n - 1.0) / n


def average_path_length(int64_t n_draws):
    """The average length of a path in a tree of so many draws that is grown to its end: float."""
    return length_below(n_draws)


cdef class PathLength(Criterion):
    """The criterion of isolation trees: all splits score 0, and a leaf keeps the length of the path to it."""

    isolates = True

    def configure(self, Py_ssize_t n_classes=0, bint wide=False):
        if n_classes:
            raise ValueError(f"criterion={self!r} is for isolation trees, which have no classes")
        Criterion.configure(self, n_classes, wide)
        self.kind = CLASS_WEIGHTS          # of one class, which all draws have
        self.reserve(3)
        return self

    cdef int open_node(self, Node* node) except -1 nogil:
        cdef Py_ssize_t i
        cdef int64_t n_draws = 0, weight = 0
        cdef const Record* record
        for i in range(node.n):
            record = &node.records[i]
            n_draws += record.count
            weight += <int64_t> record.count * record.weight
        node.statistics[0] = n_draws
        node.statistics[1] = node.statistics[2] = weight
        node.is_pure = node.n == 1
        return 0

    cdef int join_node(self, const Node* node, Criterion other) except -1 nogil:
        return 0

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        score[0] = 0.0
        return 0

    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil:
        out[0] = <double> node.depth + length_below(node.statistics[0])
        return 0


cdef struct Term:
    uint64_t feature
    uint64_t is_categorical
    double coefficient
    double lowest                  # of a feature of numbers: its least finite value in the node, and ...
    double width                   # ... how far its greatest one is from it; DBL_MIN if that is 0
    uint64_t key                   # of a categorical feature: that of its node and feature, and the seed of the tree
    uint64_t seed
    double if_missing              # what a missing value becomes

cdef enum:
    TERM_WORDS = 8                 # of a Term


cdef inline double draw_normal(df_stream* stream) noexcept nogil:
    """A number from the standard normal distribution, by Marsaglia's polar method."""
    cdef double u, v, square
    while True:
        u = 2.0 * df_uniform(stream) - 1.0
        v = 2.0 * df_uniform(stream) - 1.0
        square = u * u + v * v
        if 0.0 < square < 1.0:
            return u * sqrt(-2.0 * df_log(square) / square)


cdef inline double category_number(const Term* term, double category) noexcept nogil:
    """What a category becomes."""
    cdef df_stream stream
    df_stream_open(&stream, <uint32_t> term.seed, df_feature_key(term.key, <uint64_t> category), DF_THRESHOLD)
    return df_uniform(&stream)


cdef inline void add_term(const Term* term, const real_t* x, size_t stride, const uint32_t* rows, Py_ssize_t n,
                          double* sums) noexcept nogil:
    """Add a term to the sums of some rows. IN x : the feature's value in row 0; the next row's is `stride` values further"""
    cdef Py_ssize_t i
    cdef double value, number, lowest = term.lowest, width = term.width
    for i in range(n):
        value = x[rows[i] * stride]
        if term.is_categorical:
            number = category_number(term, value) if value == value else term.if_missing
        else:
            number = (value - lowest) / width
            number = number if number < FARTHEST else FARTHEST
            number = number if number > -FARTHEST else -FARTHEST
            number = number if value == value else term.if_missing
        sums[i] += term.coefficient * number


cdef void add_up(const Term* terms, Py_ssize_t n_terms, const df_rows* X, const uint32_t* rows, Py_ssize_t n,
                 double* sums) noexcept nogil:
    """The sums of some rows. Training and prediction add the same terms in the same order, and get the same bits."""
    cdef Py_ssize_t i, k, feature
    for i in range(n):
        sums[i] = 0.0
    for k in range(n_terms):
        feature = <Py_ssize_t> terms[k].feature
        if X.is_double:
            add_term(&terms[k], <const double*> X.x + feature, X.stride // sizeof(double), rows, n, sums)
        else:
            add_term(&terms[k], <const float*> X.x + feature, X.stride // sizeof(float), rows, n, sums)


cdef int check_payload(const uint64_t* payload, Py_ssize_t n_words, const df_rows* X) except -1 nogil:
    """Raise ValueError unless a payload, which may come from a file, is about features that rows of X have."""
    cdef size_t n_features = X.stride // (sizeof(double) if X.is_double else sizeof(float))
    cdef const Term* terms = <const Term*> (payload + 1)
    cdef Py_ssize_t k
    cdef bint is_right = n_words > 0 and (n_words - 1) % TERM_WORDS == 0
    if is_right:
        for k in range((n_words - 1) // TERM_WORDS):
            is_right &= terms[k].feature < n_features
    if not is_right:
        with gil:
            raise ValueError(f"a split of {n_words} words is no test of an isolation forest on {n_features} features")
    return 0


def terms_of(payload):
    """The terms of a split: structured ndarray."""
    fields = [("feature", np.uint64), ("is_categorical", np.uint64), ("coefficient", np.float64), ("lowest", np.float64),
              ("width", np.float64), ("key", np.uint64), ("seed", np.uint64), ("if_missing", np.float64)]
    return payload[1:].view(np.dtype(fields))


cdef class ExtendedSplitter(Splitter):
    """Splits nodes by random hyperplanes: sums of several features, each with a random coefficient.

    Values are taken from X as they are, and all splits score 0.

    Parameters
    ----------
    extension_level : int, default=1
        A split combines `extension_level` + 1 of the features that vary in the node, or all, if there are fewer.
    """

    cdef readonly int extension_level
    cdef uint32_t* rows            # [records] of the node at hand
    cdef double* sums              # [records]
    cdef int64_t* draws            # [n_codes of the column that has most] of each category of the node at hand
    cdef uint64_t* payload         # [1 + extension_level + 1 terms] lent to the split at hand

    parameters = ("extension_level",)

    def __cinit__(self, *args, **kwargs):
        self.has_own_tests = True
        self.takes_keys = True     # it reads no codes

    def __init__(self, extension_level=1):
        self.extension_level = extension_level

    def __dealloc__(self):
        free(self.rows)
        free(self.sums)
        free(self.draws)
        free(self.payload)

    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1:
        cdef Py_ssize_t j, n_codes = 0
        Splitter.attach(self, data, criterion, n_records)
        for j in range(data.n_features):
            if data.columns[j].kind == CATEGORICAL:
                n_codes = max(n_codes, <Py_ssize_t> data.columns[j].n_codes)
        self.draws = <int64_t*> malloc((n_codes + 1) * sizeof(int64_t))
        self.rows = <uint32_t*> malloc(n_records * sizeof(uint32_t))
        self.sums = <double*> malloc(n_records * sizeof(double))
        self.payload = <uint64_t*> malloc((1 + (self.extension_level + 1) * TERM_WORDS) * sizeof(uint64_t))
        if self.rows == NULL or self.sums == NULL or self.draws == NULL or self.payload == NULL:
            raise MemoryError()
        return 0

    cdef bint draw_term(self, const Node* node, Py_ssize_t feature, Term* term) noexcept nogil:
        """Set the term of a feature, and return whether the feature varies in the node."""
        cdef Py_ssize_t i
        cdef double x, lowest = INFINITY, highest = -INFINITY, first = value_at(&self.data.x, self.rows[0], feature)
        cdef bint varies = False
        cdef int64_t rarest
        cdef df_stream stream
        for i in range(node.n):
            x = value_at(&self.data.x, self.rows[i], feature)
            varies |= x != first and (x == x or first == first)
            if -INFINITY < x < INFINITY:
                lowest = min(lowest, x)
                highest = max(highest, x)
        term.feature = <uint64_t> feature
        term.is_categorical = node.columns[feature].kind == CATEGORICAL
        term.lowest = lowest if lowest < INFINITY else 0.0
        term.width = max(DBL_MIN, min(highest - lowest, DBL_MAX)) if lowest < INFINITY else DBL_MIN
        term.key = df_feature_key(node.key, <uint64_t> feature)
        term.seed = self.seed
        df_stream_open(&stream, self.seed, term.key, DF_THRESHOLD)
        term.coefficient = draw_normal(&stream)
        term.if_missing = df_uniform(&stream)
        rarest = self.find_rarest(node, feature) if term.is_categorical else -1
        if rarest >= 0:
            term.if_missing = category_number(term, <double> rarest)
        return varies

    cdef int64_t find_rarest(self, const Node* node, Py_ssize_t feature) noexcept nogil:
        """The rarest category of a node, by df_is_rarer; -1 if a value is missing."""
        cdef Py_ssize_t i, turn
        cdef double x
        cdef int64_t code, rarest = -1
        for turn in range(3):              # to clear, to count, to compare
            for i in range(node.n):
                x = value_at(&self.data.x, self.rows[i], feature)
                if not 0.0 <= x < node.columns[feature].n_codes:
                    return -1
                code = <int64_t> x
                if turn < 2:
                    self.draws[code] = self.draws[code] + node.records[i].count if turn == 1 else 0
                elif rarest < 0 or df_is_rarer(self.draws[code], code, self.draws[rarest], rarest):
                    rarest = code
        return rarest

    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        cdef Term* terms = <Term*> (self.payload + 1)
        cdef Py_ssize_t i, n_terms = 0, feature
        cdef double lowest = INFINITY, highest = -INFINITY, threshold
        cdef df_stream stream
        out.feature = -1
        out.score = -1.0
        out.payload = NULL
        self.forget_constants_from(node.depth)
        for i in range(node.n):
            self.rows[i] = data_row(node.rows, node.records[i].row)
        self.order.open(self.seed, node.key)
        while n_terms <= self.extension_level and self.order.n_drawn < self.data.n_features:
            feature = self.order.next()
            if self.is_constant[feature]:
                continue
            if self.draw_term(node, feature, terms + n_terms):
                n_terms += 1
            else:
                self.push_constant(feature, node.depth)
        self.order.close()
        add_up(terms, n_terms, &self.data.x, self.rows, node.n, self.sums)
        for i in range(node.n):
            lowest = min(lowest, self.sums[i])
            highest = max(highest, self.sums[i])
        if not lowest < highest:       # no feature varies; or, hardly ever, terms cancel out in all rows
            return 0
        df_stream_open(&stream, self.seed, node.key, DF_THRESHOLD)
        threshold = lowest + df_uniform(&stream) * (highest - lowest)
        if threshold >= highest:
            threshold = lowest
        memcpy(self.payload, &threshold, sizeof(threshold))
        out.feature = <Py_ssize_t> terms[0].feature
        out.score = 0.0
        out.threshold = threshold
        out.missing_left = False
        out.payload = self.payload
        out.n_payload_words = 1 + n_terms * TERM_WORDS
        return 0

    cdef int goes_left(self, const uint64_t* payload, Py_ssize_t n_words, const df_rows* X, const uint32_t* rows,
                       Py_ssize_t n, uint8_t* left) except -1 nogil:
        cdef double[BLOCK] sums
        cdef double threshold
        cdef Py_ssize_t first = 0, i, m
        check_payload(payload, n_words, X)
        memcpy(&threshold, payload, sizeof(threshold))
        while first < n:
            m = min(<Py_ssize_t> BLOCK, n - first)
            add_up(<const Term*> (payload + 1), (n_words - 1) // TERM_WORDS, X, rows + first, m, sums)
            for i in range(m):
                left[first + i] = sums[i] <= threshold
            first += m
        return 0

    def used_features(self, payload):
        """The features of a split, with equal shares."""
        terms = terms_of(payload)
        return terms["feature"].astype(np.int64), np.full(len(terms), 1.0 / len(terms))

    def describe(self, payload, names):
        """A split as text, such as "0.53 a - 1.2 b <= 0.25", where a and b stand for the features in unit range."""
        parts = [f"{term['coefficient']:+.3g} {names[int(term['feature'])]}" for term in terms_of(payload)]
        first, *others = (f"{part[0]} {part[1:]}" for part in parts)
        first = first[2:] if first[0] == "+" else "-" + first[2:]
        return " ".join([first, *others]) + f" <= {payload[:1].view(np.float64)[0]:.3g}"
