"""What the rows that a tree left out say about it: predictions, errors, permuted errors.

Words: a row is *out of bag* for a tree that never drew it. Which rows those are is computed again
by the trees' sampling plans. An *error* is 0 or 1 for classes, the squared deviation for numbers; errors
are added without rounding (`totals.h`), so that their sums depend on no order, and none is lost beside
a large one.

The arrays handed in are borrowed; everything returned is new.
"""
from libc.math cimport NAN, ldexp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

import numpy as np

from dforest.core.predict.packed cimport PackedForest, Rows
from dforest.core.predict.walk cimport df_feature, df_is_leaf, df_mode, df_packed, df_payload, df_step_by, df_tree
from dforest.core.sampling cimport TreeDraws, count_blocks
from dforest.core.threads cimport Turn, df_add_to_long, poll, share
from dforest.core.types cimport df_rows
from dforest.rules.random cimport DF_BLOCK, DF_PERMUTATION, df_below, df_stream, df_stream_open

cdef extern from "core/predict/totals.h" nogil:
    enum:
        DF_DIGITS
        DF_SQUARE_EXPONENT
        DF_MOST_EXPONENT
    ctypedef struct df_total:
        int64_t* digit
        int begin
        int end
    void df_total_open(df_total* total)
    void df_total_add(df_total* total, double x, int64_t weight)
    void df_total_carry(df_total* total)
    double df_total_value(df_total* total, int power)
    double df_squared_error(double target, double predicted, double factor)

N_DIGITS = DF_DIGITS              # of the sums: see `curve_of`

cdef enum:
    GROUP_BYTES = 1 << 25         # of what is kept for features permuted at a time
    TOGETHER = 1024               # rows that go down a tree of a splitter's own tests at a time

cdef struct Trial:                 # a feature on a row's path
    uint32_t feature
    uint32_t at                   # a slot
    double value                  # what it has in the row it takes a value from


def error_exponent(target, values, bint is_regression):
    """Targets and what leaves predict, times 2 to this power, can be squared; 0 for classes."""
    if not is_regression:
        return 0
    largest = max(max(abs(float(part.min())), abs(float(part.max()))) for part in (target, values))
    return min(max(DF_SQUARE_EXPONENT - int(np.frexp(largest)[1]), -DF_MOST_EXPONENT), DF_MOST_EXPONENT)


def curve_of(totals, int exponent):
    """Sums of errors after 1, 2, ... trees.

    Parameters
    ----------
    totals : ndarray of shape (DF_DIGITS, n_trees), dtype int64
        Digits of what each tree adds to the sum of errors, of scaled targets.
    exponent : int
        See `error_exponent`.

    Returns
    -------
    ndarray of shape (n_trees,), dtype float64
        Rounded once.
    """
    used = np.flatnonzero(totals.any(axis=1))
    if len(used) == 0:
        return np.zeros(totals.shape[1])
    lowest = int(used[0])
    added = sum(totals[k].astype(object) * 2 ** (32 * (int(k) - lowest)) for k in used)
    return np.array([nearest(total, 32 * lowest - 1074 - 2 * exponent) for total in np.cumsum(added)])


def nearest(number, exponent):
    """The float64 nearest to an integer times 2**exponent; infinite if it is too large."""
    try:
        return number * 2**exponent / 1 if exponent >= 0 else number / 2**-exponent
    except OverflowError:
        return np.inf


cdef class TrainingRows:
    """The rows that a forest was grown on, and which of them each tree drew."""
    cdef PackedForest packed
    cdef Rows rows
    cdef Py_ssize_t n
    cdef const double[::1] target
    cdef TreeDraws draws
    cdef bint is_regression
    cdef int exponent              # see `error_exponent`
    cdef double factor             # 2**exponent

    def __init__(self, PackedForest packed not None, X, target, values, is_regression, TreeDraws draws not None):
        self.packed = packed
        self.rows = Rows(X, packed)
        self.n = self.rows.n
        if draws.n_rows != self.n or len(draws.plans) != packed.n_trees:
            raise ValueError(f"draws of {len(draws.plans)} trees of {draws.n_rows} rows, for a forest of {packed.n_trees} trees "
                             f"and {self.n} rows")
        self.target = target
        self.draws = draws
        self.is_regression = is_regression
        self.exponent = error_exponent(target, values, is_regression)
        self.factor = ldexp(1.0, self.exponent)

    cdef inline double error(self, double target, double predicted) noexcept nogil:
        """Of numbers, times 4**exponent."""
        return df_squared_error(target, predicted, self.factor) if self.is_regression else predicted != target

    cdef inline double value(self, Py_ssize_t row, Py_ssize_t feature) noexcept nogil:
        cdef const char* x = self.rows.rows.x + row * self.rows.rows.stride
        return (<const double*> x)[feature] if self.rows.rows.is_double else (<const float*> x)[feature]


cdef class Votes(TrainingRows):
    """What trees say of the rows that they never drew; as `predict_out_of_bag` returns it."""
    cdef const int32_t[::1] classes
    cdef double[:, ::1] sums
    cdef int32_t[:, ::1] votes
    cdef int32_t[::1] n_votes
    cdef int64_t[:, ::1] totals    # see `curve_of`
    cdef int64_t[::1] n_new        # rows with the first vote by each tree

    cdef int vote_in_block(self, Py_ssize_t block, Turn* turn) except -1 nogil:
        cdef uint32_t counts[DF_BLOCK]
        cdef double error[DF_BLOCK]      # of each row so far
        cdef int32_t best[DF_BLOCK]      # class with most votes so far
        cdef uint32_t out[DF_BLOCK]      # rows out of bag
        cdef uint32_t at[DF_BLOCK]       # the slots of their leaves
        cdef uint32_t left[DF_BLOCK]
        cdef const df_packed* forest = &self.packed.forest
        cdef const df_rows* all_rows = &self.rows.rows
        cdef Py_ssize_t t, i, j, k, row, rows, n_out, first = block * DF_BLOCK
        cdef df_total total
        cdef int64_t n_new
        cdef double now
        cdef int32_t c
        cdef uint32_t leaf
        cdef const char* tree
        cdef int mode = df_mode(forest, all_rows, first, min(<Py_ssize_t> DF_BLOCK, self.n - first), self.packed.n_features)
        for t in range(self.packed.n_trees):
            rows = self.draws.draw_block(t, block, counts)
            tree = df_tree(forest, t)
            n_out = n_new = 0
            for i in range(rows):
                out[n_out] = <uint32_t> (first + i)
                n_out += counts[i] == 0
            self.packed.walk(t, all_rows, out, 0, n_out, at, left, mode, turn)
            poll(turn, DF_BLOCK + n_out * self.packed.n_outputs)
            df_total_open(&total)
            for j in range(n_out):
                row = out[j]
                i = row - first
                leaf = <uint32_t> self.packed.bases[t] + df_payload(tree, at[j], forest)
                for k in range(self.packed.n_outputs):
                    self.sums[row, k] += self.packed.values[leaf, k]
                if self.n_votes[row] == 0:
                    n_new += 1
                    error[i] = 0.0
                    best[i] = 0
                self.n_votes[row] += 1
                if self.is_regression:
                    now = self.error(self.target[row], self.sums[row, 0] / <double> self.n_votes[row])
                else:
                    c = self.classes[leaf]
                    self.votes[row, c] += 1
                    if (self.votes[row, c] > self.votes[row, best[i]]
                            or (self.votes[row, c] == self.votes[row, best[i]] and c < best[i])):
                        best[i] = c
                    now = self.error(self.target[row], best[i])
                if now != error[i]:
                    df_total_add(&total, now, 1)
                    df_total_add(&total, error[i], -1)
                    error[i] = now
            # Digits stay below 2**63, as many rows as there are: each block adds less than 2**32.
            df_total_carry(&total)
            for k in range(total.begin, total.end):
                if total.digit[k] != 0:
                    df_add_to_long(self.totals[k, t], total.digit[k])
            if n_new != 0:
                df_add_to_long(self.n_new[t], n_new)
        return 0


cdef int vote_in_block(void* context, Py_ssize_t block, Turn* turn) except -1 nogil:
    return (<Votes> context).vote_in_block(block, turn)


def predict_out_of_bag(PackedForest packed not None, X not None, const double[::1] target not None,
                       leaf_class, TreeDraws draws not None, int n_threads):
    """Predict each row by the trees that never drew it.

    Parameters
    ----------
    packed : PackedForest
        Its values are those of the leaf tables, row by row.
    X : ndarray of shape (n, n_features), dtype float32 or float64
        The training rows; C-contiguous.
    target : ndarray of shape (n,), dtype float64
        Class numbers, or numbers.
    leaf_class : ndarray of shape (n_leaves,), dtype int32, or None
        The class that each leaf votes for; None: regression.
    draws : TreeDraws
        Of the forest's trees, on the rows of X.
    n_threads : int

    Returns
    -------
    sums : ndarray of shape (n, n_outputs), dtype float64
        Sums of leaf values over the trees a row is out of bag for, in the order of the trees.
    votes : ndarray of shape (n, n_outputs), dtype int32
        Votes of these trees for each class; no columns in regression.
    n_votes : ndarray of shape (n,), dtype int32
        How many trees that are.
    errors : ndarray of shape (n_trees,), dtype float64
        Sum over rows of the error after so many trees: of the class with most votes (the lower one
        of equals), or of the mean.
    n_seen : ndarray of shape (n_trees,), dtype int64
        Rows with any vote after so many trees.
    """
    cdef bint is_regression = leaf_class is None
    cdef Votes voting = Votes(packed, X, np.asarray(target), np.asarray(packed.values), is_regression, draws)
    cdef Py_ssize_t n = voting.n
    sums = np.zeros((n, packed.n_outputs))
    votes = np.zeros((n, 0 if is_regression else packed.n_outputs), np.int32)
    n_votes = np.zeros(n, np.int32)
    totals = np.zeros((DF_DIGITS, packed.n_trees), np.int64)
    n_new = np.zeros(packed.n_trees, np.int64)
    voting.sums, voting.votes, voting.n_votes, voting.totals, voting.n_new = sums, votes, n_votes, totals, n_new
    voting.classes = np.empty(0, np.int32) if is_regression else leaf_class
    share(vote_in_block, <void*> voting, count_blocks(n), n_threads)
    return sums, votes, n_votes, curve_of(totals, voting.exponent), np.cumsum(n_new)


cdef class Permutations(TrainingRows):
    """By how much permuting columns raises errors; as `permutation_rise` returns it."""
    cdef const double[::1] leaf_value
    cdef const uint32_t[::1] weight        # or None
    cdef const uint8_t[:, ::1] used        # or None
    cdef double[:, ::1] rise

    cdef int64_t weight_of(self, Py_ssize_t row) noexcept nogil:
        return self.weight[row] if self.weight is not None else 1

    cdef Py_ssize_t rows_out_of_bag(self, Py_ssize_t tree, uint32_t* out, Turn* turn) except -1 nogil:
        """How many rows a tree left out. OUT out : which ones; or NULL"""
        cdef Py_ssize_t block, i, rows, n_out = 0
        cdef uint32_t counts[DF_BLOCK]
        for block in range(count_blocks(self.n)):
            rows = self.draws.draw_block(tree, block, counts)
            for i in range(rows):
                if counts[i] == 0:
                    if out != NULL:
                        out[n_out] = <uint32_t> (block * DF_BLOCK + i)
                    n_out += 1
            poll(turn, 4 * DF_BLOCK)
        return n_out

    cdef int permute_rows(self, const uint32_t* row, Py_ssize_t n, Py_ssize_t tree, Py_ssize_t feature, uint32_t* to,
                          Turn* turn) except -1 nogil:
        """The rows that others take a feature's values from: these, in another order. OUT to : [n]"""
        cdef df_stream stream
        cdef Py_ssize_t i, place
        cdef uint32_t held
        memcpy(to, row, n * sizeof(uint32_t))
        df_stream_open(&stream, self.draws.seed[tree], feature, DF_PERMUTATION)
        for i in range(n - 1):
            place = i + df_below(&stream, <uint32_t> (n - i))
            held = to[place]
            to[place] = to[i]
            to[i] = held
            poll(turn, 10)
        return 0

    cdef int permute_tested_tree(self, Py_ssize_t tree, Turn* turn) except -1 nogil:
        """Fill a row of `rise`, of a tree whose tests are a splitter's own: all its features may be tested together."""
        cdef const df_packed* forest = &self.packed.forest
        cdef Py_ssize_t n_features = self.packed.n_features, n_out = self.rows_out_of_bag(tree, NULL, turn)
        cdef Py_ssize_t i, j, n, first, feature
        cdef const df_rows* all_rows = &self.rows.rows
        cdef Py_ssize_t size = sizeof(double) if all_rows.is_double else sizeof(float)
        cdef uint32_t* row = <uint32_t*> malloc((2 * n_out + 2 * TOGETHER) * sizeof(uint32_t))
        cdef uint32_t* other = row + n_out             # the rows they take a feature's values from
        cdef uint32_t* at = other + n_out
        cdef double* error = <double*> malloc((n_out + 1) * sizeof(double))      # with no feature permuted
        cdef char* x = <char*> malloc(TOGETHER * all_rows.stride)
        cdef const char* slots = df_tree(forest, tree)
        cdef const double* value = &self.leaf_value[self.packed.bases[tree]]
        cdef double* out = &self.rise[tree, 0]
        cdef df_total total
        cdef int64_t total_weight = 0, w
        cdef double now
        cdef df_rows rows
        rows.x = x
        rows.stride = all_rows.stride
        rows.is_double = all_rows.is_double
        try:
            if row == NULL or error == NULL or x == NULL:
                with gil:
                    raise MemoryError()
            self.rows_out_of_bag(tree, row, turn)
            for i in range(n_out):
                total_weight += self.weight_of(row[i])
            for feature in range(-1, n_features):      # -1: none is permuted
                out[max(feature, 0)] = NAN if n_out == 0 else 0.0
                if n_out == 0 or (feature >= 0 and not self.used[tree, feature]):
                    continue
                if feature >= 0:
                    self.permute_rows(row, n_out, tree, feature, other, turn)
                df_total_open(&total)
                first = 0
                while first < n_out:
                    n = min(<Py_ssize_t> TOGETHER, n_out - first)
                    for i in range(n):
                        memcpy(x + i * rows.stride, all_rows.x + row[first + i] * rows.stride, rows.stride)
                        if feature >= 0:
                            memcpy(x + i * rows.stride + feature * size,
                                   all_rows.x + other[first + i] * rows.stride + feature * size, size)
                    self.packed.walk(tree, &rows, NULL, 0, n, at, at + TOGETHER, 0, turn)
                    for i in range(n):
                        j = first + i
                        now = self.error(self.target[row[j]], value[df_payload(slots, at[i], forest)])
                        if feature < 0:
                            error[j] = now
                        w = self.weight_of(row[j])
                        df_total_add(&total, now, w)
                        df_total_add(&total, error[j], -w)
                    first += n
                if feature >= 0:
                    out[feature] = self.mean_rise(&total, total_weight)
        finally:
            free(row)
            free(error)
            free(x)
        return 0

    cdef double mean_rise(self, df_total* total, int64_t total_weight) noexcept nogil:
        return df_total_value(total, -2 * self.exponent) / <double> total_weight

    cdef int permute_tree(self, Py_ssize_t tree, Turn* turn) except -1 nogil:
        """Fill a row of `rise`."""
        cdef Py_ssize_t n_features = self.packed.n_features, j, n_group, n_out = self.rows_out_of_bag(tree, NULL, turn)
        cdef uint32_t* row
        cdef uint32_t* other
        cdef df_total* total
        cdef uint32_t* first
        cdef Trial* tests
        if n_out == 0:
            for j in range(n_features):
                self.rise[tree, j] = NAN
            return 0
        # Features looked at together.
        n_group = max(1, min(n_features, <Py_ssize_t> (GROUP_BYTES // (n_out * sizeof(uint32_t) + sizeof(df_total)))))
        row = <uint32_t*> malloc(n_out * sizeof(uint32_t))    # rows out of bag
        # [n_group, n_out] the rows they take a feature's values from
        other = <uint32_t*> malloc(n_group * n_out * sizeof(uint32_t))
        total = <df_total*> malloc(n_group * sizeof(df_total))
        # [n_group] the first slot on the row's path that tests a feature; 0: none does
        first = <uint32_t*> calloc(n_group, sizeof(uint32_t))
        tests = <Trial*> malloc(n_group * sizeof(Trial))           # those of the row's path
        try:
            if row == NULL or other == NULL or total == NULL or first == NULL or tests == NULL:
                with gil:
                    raise MemoryError()
            self.rows_out_of_bag(tree, row, turn)
            self.permute_features(tree, row, n_out, n_group, other, total, first, tests, turn)
        finally:
            free(row)
            free(other)
            free(total)
            free(first)
            free(tests)
        return 0

    cdef int permute_features(self, Py_ssize_t tree, const uint32_t* row, Py_ssize_t n_out, Py_ssize_t n_group, uint32_t* other,
                              df_total* total, uint32_t* first, Trial* tests, Turn* turn) except -1 nogil:
        cdef const df_packed* forest = &self.packed.forest
        cdef const char* slots = df_tree(forest, tree)
        cdef const double* value = &self.leaf_value[self.packed.bases[tree]]
        cdef double* out = &self.rise[tree, 0]
        cdef Py_ssize_t n_features = self.packed.n_features, group = 0, i, j, k, n_tests, n_steps
        cdef uint32_t f, at
        cdef int64_t total_weight = 0, w
        cdef double error, other_error
        for i in range(n_out):
            total_weight += self.weight_of(row[i])
        while group < n_features:
            n_group = min(n_group, n_features - group)
            for j in range(n_group):
                df_total_open(&total[j])
            for at in range(1, <uint32_t> (forest.starts[tree + 1] - forest.starts[tree])):
                f = df_feature(slots, at, forest)
                if not df_is_leaf(slots, at, forest) and <Py_ssize_t> f >= group and <Py_ssize_t> f < group + n_group:
                    first[f - group] = 1
            for j in range(n_group):
                if first[j] == 0:
                    continue
                first[j] = 0
                self.permute_rows(row, n_out, tree, group + j, other + j * n_out, turn)
            for i in range(n_out):
                at = 1
                n_tests = n_steps = 0
                while not df_is_leaf(slots, at, forest):
                    f = df_feature(slots, at, forest)
                    if <Py_ssize_t> f >= group and <Py_ssize_t> f < group + n_group and first[f - group] == 0:
                        first[f - group] = at
                        tests[n_tests].feature = f
                        tests[n_tests].at = at
                        tests[n_tests].value = self.value(other[(f - group) * n_out + i], f)
                        n_tests += 1
                    at = df_step_by(slots, at, self.value(row[i], f), forest)
                    n_steps += 1
                error = self.error(self.target[row[i]], value[df_payload(slots, at, forest)])
                w = self.weight_of(row[i])
                self.walk_on(slots, row[i], tests, n_tests, turn)
                for k in range(n_tests):
                    j = tests[k].feature - group
                    first[j] = 0
                    other_error = self.error(self.target[row[i]], value[df_payload(slots, tests[k].at, forest)])
                    if other_error != error:
                        df_total_add(&total[j], other_error, w)
                        df_total_add(&total[j], error, -w)
                poll(turn, 10 * (n_steps + n_tests))
            for j in range(n_group):
                out[group + j] = self.mean_rise(&total[j], total_weight)
            group += n_group
        return 0

    cdef int walk_on(self, const char* slots, uint32_t row, Trial* tests, Py_ssize_t n, Turn* turn) except -1 nogil:
        """From where each test stands to a leaf, with the feature's other value; a step of each in turn."""
        cdef const df_packed* forest = &self.packed.forest
        cdef Py_ssize_t k
        cdef uint32_t f
        cdef bint done = False
        while not done:
            done = True
            for k in range(n):
                if not df_is_leaf(slots, tests[k].at, forest):
                    f = df_feature(slots, tests[k].at, forest)
                    tests[k].at = df_step_by(slots, tests[k].at, tests[k].value if f == tests[k].feature else self.value(row, f),
                                             forest)
                    done = False
            poll(turn, 10 * n)
        return 0


cdef int permute_tree(void* context, Py_ssize_t tree, Turn* turn) except -1 nogil:
    if (<Permutations> context).used is None:
        return (<Permutations> context).permute_tree(tree, turn)
    return (<Permutations> context).permute_tested_tree(tree, turn)


def permutation_rise(PackedForest packed not None, X not None, const double[::1] target not None,
                     const double[::1] leaf_value not None, bint is_regression, const uint32_t[::1] weight,
                     TreeDraws draws not None, int n_threads, const uint8_t[:, ::1] used=None):
    """By how much permuting a column raises each tree's mean error on the rows it never drew.

    Parameters
    ----------
    packed, X, target, draws, n_threads
        As for `predict_out_of_bag`.
    leaf_value : ndarray of shape (n_leaves,), dtype float64
        What a tree predicts in each leaf: a class number or a number.
    is_regression : bool
    weight : ndarray of shape (n,), dtype uint32, or None
        Integer weights of the rows in means; None: all 1.
    used : ndarray of shape (n_trees, n_features), dtype uint8, or None
        1 for the features that a tree's tests are about; None: the forest's nodes tell.

    Returns
    -------
    rise : ndarray of shape (n_trees, n_features), dtype float64
        0 for features that a tree doesn't use; NaN for trees that drew every row.
    """
    cdef Permutations job = Permutations(packed, X, np.asarray(target), np.asarray(leaf_value), is_regression, draws)
    result = np.zeros((packed.n_trees, packed.n_features))
    job.leaf_value, job.weight, job.used, job.rise = leaf_value, weight, used, result
    share(permute_tree, <void*> job, packed.n_trees, n_threads)
    return result
