"""Oblique splits: nodes are divided by sums of several columns, which are drawn at random.

A *projection* computes one number from each row, the sum of a few columns of numbers, each times a weight. A node goes through
the columns in random order, and takes the best cut of whatever it tries on the way:

- each column by itself, with the cuts that it has in trees of single columns;
- projections of the columns of numbers that vary in the node, as soon as there are as many of them as the next projection is to
  have. That number is binomial: it is as if each of the table's columns of numbers were taken with chance `projection_density` /
  (their number), but it is 2 at least.

When all columns have had their turn, those of numbers that vary take another turn, in another random order and not by
themselves, until there are enough projections. No projection goes on from one turn into the next. Where there are enough before
the end of the first turn, it goes on with single columns until there are as many as in trees of these, and a cut is valid.

Where a matrix of projections is given, the node draws from its rows, without replacement, and takes their weights as they are.
Before that it tries single columns, as many as in trees of these.

A missing value counts as the mean of its column over the node's draws in a projection. In a test of a single column it stays
missing, as sums are that have no value because infinities cancel out; these go to the side on which they score more. Means and
standard deviations are those of values that are rounded to one of 2**15 steps between the least and the greatest finite value of
the node, so that they are sums of integers, which do not depend on the order of rows.

The *payload* of a test consists of float64 numbers: the threshold, then 1.0 if missing values go left, else 0.0, and then a
*term* for each column, which has three numbers: the column, its weight, and what a missing value counts as. Rows whose sum is at
most the threshold go left. In the test of a categorical column the threshold is NaN, and the column's number and the words of its
subset follow.

A splitter belongs to one thread and owns its working memory, with the payload of the best split so far. While a node is at hand,
its columns are copied, one behind the other, as they are first used; if room is short, those used before make room.

References
----------
T. M. Tomita et al., "Sparse Projection Oblique Randomer Forests", JMLR 21(104), 2020.
"""
from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from dforest.core.data cimport DataView
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.projection cimport (
    HEAD, ROWS, TERM, Extremes, Spread, Term, add_copy, add_up, draw_next, draw_number, draw_weight, find_moments, find_spread,
    put_back, take_values, write_subset, write_sum,
)
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport CATEGORICAL, LeafRules, Node, Split, code_at, data_row, df_rows, value_at
from dforest.rules.cut cimport df_category_goes_left
from dforest.rules.numerics cimport df_between, df_midpoint
from dforest.rules.random cimport (
    DF_PROJECTION, DF_THRESHOLD, df_below, df_feature_key, df_stream, df_stream_open, df_uniform,
)

import numpy as np

from dforest.core.search.oblique_test import ObliqueTest
from dforest.core.search.projections import (
    SCALINGS, WEIGHTS, Projections, check_parameters, count_projections, term_counts,
)

cdef enum:
    COPIED_VALUES = 1 << 16        # at a time; two columns of a larger node

cdef int check_payload(const uint64_t* payload, Py_ssize_t n_words, const df_rows* X) except -1 nogil:
    """Raise ValueError unless a payload, which may come from a file, is about columns that rows of X have."""
    cdef double n_features = <double> (X.stride // (sizeof(double) if X.is_double else sizeof(float)))
    cdef const double* numbers = <const double*> payload
    cdef const Term* terms = <const Term*> (payload + HEAD)
    cdef Py_ssize_t k
    cdef bint is_right = n_words > HEAD
    if is_right and numbers[0] != numbers[0]:
        is_right = n_words > HEAD + 1 and 0.0 <= numbers[HEAD] < n_features
    elif is_right:
        is_right = (n_words - HEAD) % TERM == 0
        for k in range((n_words - HEAD) // TERM if is_right else 0):
            is_right &= 0.0 <= terms[k].column < n_features
    if not is_right:
        with gil:
            raise ValueError(f"a split of {n_words} words is no test of an oblique tree on {int(n_features)} features")
    return 0


def bytes_of_copies(Py_ssize_t n_records):
    """What the copies of columns take, given the records of the largest node: int."""
    return sizeof(double) * max(<Py_ssize_t> COPIED_VALUES, 2 * n_records)


cdef class ObliqueSplitter(Splitter):
    """The splitter that divides nodes by weighted sums of a few columns: ``split_axis="oblique"``.

    A *projection* adds up a few random columns of numbers, each times a random weight. A node takes the best cut of several
    projections, of the columns in them, and of `max_features` columns, categorical ones included, at least. Values are taken from
    X as they are; with ``method="hist"``, cuts of single columns lie between bins.

    Parameters
    ----------
    n_projections : int, float or None, default=None
        How many projections are tried at a node. A float is an exponent of the number of columns of numbers, and None means this
        number.
    projection_density : float, default=2.0
        How many columns a projection has on average, a positive number; a projection with fewer than 2 has 2. There are fewer
        where few columns vary in the node, and in the last projection before all columns have had their turn.
    projection_weights : {"binary", "continuous", "integer", "power_of_two"}, default="binary"
        What weights are drawn from: -1 and 1; the numbers from -1 to 1; the integers from -5 to 5 without 0; or the powers of 2
        from 1/8 to 8 and their negatives.
    projection_scaling : {"min_max", "standard"} or None, default="min_max"
        What the values of a column are divided by: the range or the standard deviation of its finite values in the node. None
        means that they are added up as they are.
    thresholds : {"best", "random"}, default="best"
        Whether all cuts of a projection are tried, or a single one, at a threshold drawn between its least and its greatest sum.
    projections : array-like or sparse matrix of shape (n_matrix_rows, n_features), optional
        Projections of your own: each row holds the weights of one, of which two at least are not 0, and those of categorical
        columns are. A node tries `n_projections` rows, drawn at random, or all if there are not so many; the three parameters on
        density, weights and scaling keep their defaults, and say nothing then. `dforest.splitter.patch_projections` draws
        patches of images and windows of series. Kept as an object of its own kind.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> from dforest.splitter import ObliqueSplitter
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, splitter=ObliqueSplitter(projection_density=3.0), random_state=0).fit(X, y)
    >>> forest.score(X, y) > 0.98
    True
    """

    cdef readonly object n_projections
    cdef readonly object projection_density
    cdef readonly object projection_weights
    cdef readonly object projection_scaling
    cdef readonly object thresholds
    cdef readonly object projections                   # `Projections` or None
    cdef const double* own_weights                     # of `projections`, ...
    cdef const int* own_columns                        # ... their columns, ...
    cdef const int64_t* own_starts                     # ... [n_own + 1] and where those of each begin
    cdef Py_ssize_t n_own          # rows of `projections`; 0: none are given
    cdef uint32_t* own_order       # [n_own] the numbers of these rows, ascending but while a node is at hand
    cdef uint32_t* swapped         # [n_wanted] which places of these have been swapped
    cdef Py_ssize_t n_wanted       # projections of a node
    cdef Py_ssize_t n_tried        # projections of the node at hand
    cdef Py_ssize_t n_columns      # that count among its max_features
    cdef Py_ssize_t n_numeric      # columns of numbers
    cdef bint draws_thresholds
    cdef int weights               # place in WEIGHTS, and ...
    cdef int scaling               # ... in SCALINGS
    cdef Py_ssize_t fewest_terms   # what `term_counts` says
    cdef object chances
    cdef const double* cumulated
    cdef uint32_t* rows            # [records] of the node at hand
    cdef double* values            # [records] of the projection at hand
    cdef double* copies            # [n_room] see Spread
    cdef Py_ssize_t n_room         # values
    cdef Py_ssize_t n_copied       # values
    cdef Spread* spread            # [n_features] of the columns in `varying`
    cdef Py_ssize_t* varying       # [n_features] columns of numbers that vary, or that given projections have, if known
    cdef Py_ssize_t n_varying
    cdef Py_ssize_t at             # how many of `varying` have had their turn, ...
    cdef bint is_first_turn        # ... which is the first
    cdef Term* terms               # [n_features] of the projection at hand
    cdef Py_ssize_t n_terms
    cdef uint64_t* payload         # [words] of the best split so far, lent to the split at hand
    cdef Py_ssize_t n_payload_words

    parameters = ("n_projections", "projection_density", "projection_weights", "projection_scaling", "thresholds", "projections")

    def __cinit__(self, *args, **kwargs):
        self.has_own_tests = True

    def __init__(self, n_projections=None, projection_density=2.0, projection_weights="binary", projection_scaling="min_max",
                 thresholds="best", projections=None):
        check_parameters(n_projections, projection_density, projection_weights, projection_scaling, thresholds, projections)
        self.projections = None if projections is None else Projections.read(projections)
        self.n_projections = n_projections
        self.projection_density = projection_density
        self.projection_weights = projection_weights
        self.projection_scaling = projection_scaling
        self.thresholds = thresholds
        self.weights = WEIGHTS.index(projection_weights)
        self.scaling = SCALINGS.index(projection_scaling) if projections is None else 0
        self.draws_thresholds = thresholds == "random"
        self.takes_keys = self.draws_thresholds        # it reads codes of categories alone

    def __dealloc__(self):
        free(self.rows)
        free(self.values)
        free(self.copies)
        free(self.spread)
        free(self.varying)
        free(self.terms)
        free(self.payload)
        free(self.own_order)
        free(self.swapped)

    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1:
        cdef Py_ssize_t j, n = data.n_features, n_words = TERM * n
        cdef const double[::1] cumulated
        Splitter.attach(self, data, criterion, n_records)
        self.n_numeric = self.n_varying = 0
        for j in range(n):
            if data.columns[j].kind == CATEGORICAL:
                n_words = max(n_words, 2 + <Py_ssize_t> data.columns[j].n_codes // 64)
            else:
                self.n_numeric += 1
        self.n_wanted = count_projections(self.n_projections, self.n_numeric) if self.n_numeric > 1 else 0
        if self.projections is not None:
            self.attach_projections()
        if self.n_numeric:
            self.fewest_terms, self.chances = term_counts(self.n_numeric, self.projection_density)
            cumulated = self.chances
            self.cumulated = &cumulated[0]
        self.rows = <uint32_t*> malloc(n_records * sizeof(uint32_t))
        self.values = <double*> malloc(n_records * sizeof(double))
        self.n_room = self.tuning.get("copied_values", bytes_of_copies(n_records) // sizeof(double))
        self.copies = <double*> malloc((self.n_room + 1) * sizeof(double))
        self.spread = <Spread*> calloc(n, sizeof(Spread))
        self.varying = <Py_ssize_t*> malloc(n * sizeof(Py_ssize_t))
        self.terms = <Term*> malloc(n * sizeof(Term))
        self.payload = <uint64_t*> malloc((HEAD + n_words) * sizeof(uint64_t))
        if (self.rows == NULL or self.values == NULL or self.copies == NULL or self.spread == NULL or self.varying == NULL
                or self.terms == NULL or self.payload == NULL):
            raise MemoryError()
        return 0

    cdef int attach_projections(self) except -1:
        """Have the rows of `projections` at hand. Raises ValueError unless they fit the data."""
        cdef const double[::1] weights = self.projections.values
        cdef const int[::1] columns = self.projections.columns
        cdef const int64_t[::1] starts = self.projections.starts
        cdef Py_ssize_t i
        self.projections.check([self.data.columns[i].n_codes if self.data.columns[i].kind == CATEGORICAL else 0
                                for i in range(self.data.n_features)])
        self.own_weights = &weights[0]
        self.own_columns = &columns[0]
        self.own_starts = &starts[0]
        self.n_own = starts.shape[0] - 1
        self.n_wanted = min(self.n_wanted, self.n_own)
        self.own_order = <uint32_t*> malloc(self.n_own * sizeof(uint32_t))
        self.swapped = <uint32_t*> malloc((self.n_wanted + 1) * sizeof(uint32_t))
        if self.own_order == NULL or self.swapped == NULL:
            raise MemoryError()
        for i in range(self.n_own):
            self.own_order[i] = <uint32_t> i
        return 0

    cdef void find_means(self, const Node* node) noexcept nogil:
        """Set what missing values count as in the best split, if it is a projection: no row of the node may have had any."""
        cdef Term* terms = <Term*> (self.payload + HEAD)
        cdef Extremes found
        cdef Spread spread
        cdef Py_ssize_t k, n_terms = (self.n_payload_words - HEAD) // TERM
        if n_terms < 2 or (<double*> self.payload)[0] != (<double*> self.payload)[0]:
            return
        for k in range(n_terms):
            if terms[k].if_missing != terms[k].if_missing:
                take_values(&self.data.x, <Py_ssize_t> terms[k].column, self.rows, node.n, self.values, &found)
                find_moments(node.records, node.n, self.values, &found, self.scaling == 2, &spread)
                terms[k].if_missing = spread.mean

    cdef bint look_at(self, const Node* node, Py_ssize_t column) noexcept nogil:
        """Copy a column of numbers, if there is room, set its spread, and return whether it varies in the node.

        Of a column that does not, that is done for given projections alone, which may have it.
        """
        cdef Spread* spread = &self.spread[column]
        cdef bint is_kept = self.n_copied + node.n <= self.n_room
        cdef double* copy = self.copies + self.n_copied if is_kept else self.values    # which the projection does not need yet
        cdef Extremes found
        cdef bint varies = take_values(&self.data.x, column, self.rows, node.n, copy, &found)
        if not varies and self.n_own == 0:
            return False
        self.varying[self.n_varying] = column
        self.n_varying += 1
        spread.is_known = True
        self.n_copied += node.n if is_kept else 0
        spread.copy = copy if is_kept else NULL
        find_spread(node.records, node.n, copy, &found, self.scaling, False, spread)
        return varies

    cdef Py_ssize_t next_column(self, const Node* node, df_stream* stream, Split* best) except? -2 nogil:
        """The next column of numbers that varies; -1: the turn has ended. Categorical columns before it are tried."""
        cdef Py_ssize_t column, other
        cdef bint skips
        while self.is_first_turn and self.order.n_drawn < self.order.n_drawable:
            if self.n_tried >= self.n_wanted and self.n_columns >= self.max_features and best.feature >= 0:
                return -1
            column = self.order.next()
            self.n_columns += 1
            skips = self.skip_constant_features and self.order.n_drawn > self.order.n_first
            if self.is_constant[column]:
                self.n_columns -= skips
                continue
            if node.columns[column].kind == CATEGORICAL:
                self.n_columns -= not self.try_categories(node, column, best) and skips
                continue
            if not self.look_at(node, column):
                self.n_columns -= skips
                self.push_constant(column, node.depth)
                continue
            self.try_column(node, column, best)
            return column
        if self.is_first_turn or self.at == self.n_varying:
            self.is_first_turn = False
            self.at = 0
            if self.n_terms > 0 or self.n_tried >= self.n_wanted:
                return -1
        if self.n_varying < 2:         # there are no sums
            return -1
        other = self.at + df_below(stream, <uint32_t> (self.n_varying - self.at))
        column = self.varying[other]
        self.varying[other] = self.varying[self.at]
        self.varying[self.at] = column
        self.at += 1
        return column

    cdef int try_categories(self, const Node* node, Py_ssize_t column, Split* best) except -1 nogil:
        """Try a categorical column, keep the test if it is better than the best one, and return whether the column varies."""
        cdef double before = best.score
        if self.try_feature(node, column, best):
            self.push_constant(column, node.depth)
            return False
        if best.score > before:
            self.n_payload_words = write_subset(column, best.missing_left, best.payload, best.n_payload_words, self.payload)
            best.payload = NULL
        return True

    cdef int try_column(self, const Node* node, Py_ssize_t column, Split* best) except -1 nogil:
        """Try a column of numbers whose spread was found just now."""
        cdef double before = best.score, x, low = -INFINITY, high = INFINITY
        cdef const double* values = self.spread[column].copy if self.spread[column].copy != NULL else self.values
        cdef df_stream stream
        cdef Term term
        cdef Py_ssize_t i
        term.column = <double> column
        term.weight = 1.0
        term.if_missing = NAN
        if self.draws_thresholds:
            df_stream_open(&stream, self.seed, df_feature_key(node.key, column), DF_THRESHOLD)
            return self.keep_if_better(node, values, &term, 1, &stream, best)
        self.try_feature(node, column, best)
        if best.score <= before:
            return 0
        best.threshold = INFINITY
        if not best.only_missing_right:                # between the node's values on either side
            for i in range(node.n):
                x = values[i]
                if code_at(&node.columns[column], node.records[i].row) <= best.code:
                    low = x if x > low else low
                else:
                    high = x if x < high else high
            best.threshold = df_midpoint(low, high, 0)
        self.keep(&term, 1, best)
        return 0

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        cdef df_stream stream
        if not self.draws_thresholds:
            return self.cuts.find(node, &node.columns[feature], rules, best)
        df_stream_open(&stream, self.seed, df_feature_key(node.key, feature), DF_THRESHOLD)
        return self.cuts.find_random_subset(node, &node.columns[feature], &stream, rules, best)

    cdef int draw_projection(self, const Node* node, df_stream* stream, Split* best) except -1 nogil:
        """Set `terms`; none: the node has no more projections."""
        cdef Py_ssize_t n_wanted = draw_number(self.fewest_terms, self.cumulated, stream), column, k
        self.n_terms = 0
        self.make_room(n_wanted * node.n)
        while self.n_terms < n_wanted:
            column = self.next_column(node, stream, best)
            if column < 0:
                break
            self.terms[self.n_terms].column = <double> column
            self.n_terms += 1
        for k in range(self.n_terms):
            column = <Py_ssize_t> self.terms[k].column
            self.terms[k].weight = draw_weight(self.weights, stream) / self.spread[column].scale
            self.terms[k].if_missing = self.spread[column].mean
        return 0

    cdef void make_room(self, Py_ssize_t n_values) noexcept nogil:
        """Forget all copies, of columns that have had their turn, if there is no room for more values."""
        cdef Py_ssize_t k
        if self.n_copied + n_values > self.n_room:
            self.n_copied = 0
            for k in range(self.n_varying):
                self.spread[self.varying[k]].copy = NULL

    cdef void draw_own(self, const Node* node, df_stream* stream) noexcept nogil:
        """Set `terms` to a row of the given projections that the node has not had yet."""
        cdef uint32_t row = draw_next(self.own_order, self.swapped, self.n_tried, self.n_own, stream)
        cdef Py_ssize_t first = self.own_starts[row], k, column
        self.n_terms = self.own_starts[row + 1] - first
        self.make_room(self.n_terms * node.n)
        for k in range(self.n_terms):
            column = self.own_columns[first + k]
            if not self.spread[column].is_known:
                self.look_at(node, column)
            self.terms[k].column = <double> column
            self.terms[k].weight = self.own_weights[first + k]
            self.terms[k].if_missing = self.spread[column].mean

    cdef int try_own(self, const Node* node, Split* best) except -1 nogil:
        """Try given projections."""
        cdef df_stream stream
        self.n_tried = 0
        while self.n_tried < self.n_wanted:
            df_stream_open(&stream, self.seed, df_feature_key(node.key, self.n_tried), DF_PROJECTION)
            self.draw_own(node, &stream)
            self.n_tried += 1
            self.try_projection(node, &stream, best)
        put_back(self.own_order, self.swapped, self.n_tried)
        return 0

    cdef int try_projection(self, const Node* node, df_stream* stream, Split* best) except -1 nogil:
        """Replace `best` if a cut of the projection in `terms` is better."""
        cdef Py_ssize_t i, k, column
        cdef bint is_copied = True
        for k in range(self.n_terms):
            is_copied &= self.spread[<Py_ssize_t> self.terms[k].column].copy != NULL
        if is_copied:
            for i in range(node.n):
                self.values[i] = 0.0
            for k in range(self.n_terms):
                column = <Py_ssize_t> self.terms[k].column
                add_copy(self.spread[column].copy, node.n, self.terms + k, self.spread[column].may_miss, self.values)
        else:
            add_up(self.terms, self.n_terms, &self.data.x, self.rows, node.n, self.values)
        return self.keep_if_better(node, self.values, self.terms, self.n_terms, stream, best)

    cdef int keep_if_better(self, const Node* node, const double* values, const Term* terms, Py_ssize_t n_terms,
                            df_stream* stream, Split* best) except -1 nogil:
        """Replace `best` if a cut of the sums of some terms is better. IN values : [records] the sums"""
        cdef double before = best.score, lowest = INFINITY, highest = -INFINITY, threshold
        cdef Py_ssize_t i
        if self.draws_thresholds:
            for i in range(node.n):
                lowest = values[i] if values[i] < lowest else lowest
                highest = values[i] if values[i] > highest else highest
            threshold = df_between(lowest, highest, df_uniform(stream), 0) if lowest < highest else INFINITY
            self.divisions.find_at(node, values, threshold, &self.rules, best)
        else:
            self.divisions.find_along(node, values, &self.rules, best)
        if best.score > before:
            self.keep(terms, n_terms, best)
        return 0

    cdef void keep(self, const Term* terms, Py_ssize_t n_terms, Split* best) noexcept nogil:
        """Write the payload of the best split."""
        best.feature = <Py_ssize_t> terms[0].column
        self.n_payload_words = write_sum(best.threshold, best.missing_left, terms, n_terms, self.payload)

    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        cdef Py_ssize_t i, n_drawn = 0
        cdef df_stream stream
        out.feature = -1
        out.score = -1.0
        out.payload = NULL
        self.forget_constants_from(node.depth)
        self.cuts.open_node(node)
        for i in range(node.n):
            self.rows[i] = data_row(node.rows, node.records[i].row)
        for i in range(self.n_varying):
            self.spread[self.varying[i]].is_known = False
        self.n_tried = self.n_varying = self.n_copied = self.at = self.n_terms = 0
        self.n_columns = -self.order.n_first           # which come beside max_features others
        self.is_first_turn = True
        self.order.open(self.seed, node.key)
        while self.n_own == 0 and self.n_tried < self.n_wanted:
            df_stream_open(&stream, self.seed, df_feature_key(node.key, n_drawn), DF_PROJECTION)
            n_drawn += 1
            self.draw_projection(node, &stream, out)
            if self.n_terms == 0:
                break
            if self.n_terms > 1:       # what a turn leaves over may be a single column
                self.try_projection(node, &stream, out)
                self.n_tried += 1
        self.n_terms = 0
        self.n_tried = self.n_wanted
        while self.is_first_turn and self.next_column(node, &stream, out) >= 0:
            pass
        self.order.close()
        if self.n_own > 0:
            self.try_own(node, out)
        if out.feature >= 0:
            self.find_means(node)
            (<double*> self.payload)[1] = 1.0 if out.missing_left else 0.0
            out.payload = self.payload
            out.n_payload_words = self.n_payload_words
            out.missing_left = out.only_missing_right = False          # the payload tells
            out.is_deferred = False
            out.threshold = NAN
        return 0

    cdef int goes_left(self, const uint64_t* payload, Py_ssize_t n_words, const df_rows* X, const uint32_t* rows,
                       Py_ssize_t n, uint8_t* left) except -1 nogil:
        cdef double[ROWS] sums
        cdef const double* numbers = <const double*> payload
        cdef double threshold, x
        cdef bint missing_left
        cdef Py_ssize_t first = 0, i, m
        cdef uint64_t n_codes = <uint64_t> 64 * (n_words - HEAD - 1)
        check_payload(payload, n_words, X)
        threshold = numbers[0]
        missing_left = numbers[1] != 0.0
        if threshold != threshold:
            for i in range(n):
                x = value_at(X, rows[i], <Py_ssize_t> numbers[HEAD])
                left[i] = df_category_goes_left(<uint64_t> x if 0.0 <= x < <double> n_codes else n_codes, payload + HEAD + 1,
                                                n_codes, missing_left)
            return 0
        while first < n:
            m = min(<Py_ssize_t> ROWS, n - first)
            add_up(<const Term*> (payload + HEAD), (n_words - HEAD) // TERM, X, rows + first, m, sums)
            for i in range(m):
                left[first + i] = sums[i] <= threshold or (missing_left and sums[i] != sums[i])
            first += m
        return 0

    def used_features(self, payload):
        """The columns of a test, with equal shares."""
        columns = ObliqueTest.read(payload).columns
        return columns, np.full(len(columns), 1.0 / len(columns))

    def describe(self, payload, names):
        """A test as text, such as "-0.5 a + 2 b <= 0.25"; None for a categorical column."""
        return ObliqueTest.read(payload).describe(names)
