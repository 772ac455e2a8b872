"""What the rows that a tree's bootstrap left out say about it: predictions, errors, permuted errors.

Words: a row is *out of bag* for a tree that never drew it. Which rows those are is computed again
from the random streams. An *error* is 0 or 1 for classes, the squared deviation for numbers; errors
are turned into integers before they are summed, so that their sums depend on no order.

The arrays handed in are borrowed; everything returned is new.
"""
from cython.parallel cimport prange, threadid
from libc.math cimport NAN, ldexp, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.predict cimport (
    PackedForest, df_feature, df_is_leaf, df_mode, df_packed, df_payload, df_rows, df_step_by, df_tree,
    real_t, rows_of,
)
from dforest.core.random cimport DF_PERMUTATION, df_below, df_stream, df_stream_open
from dforest.core.rows cimport DF_BLOCK, count_blocks, deal_draws, draw_block

cdef extern from "numerics.h" nogil:
    ctypedef struct df_exact_sum:
        pass
    void df_add_product(df_exact_sum* sum, int64_t a, int64_t b)
    double df_sum_value(const df_exact_sum* sum)
    int32_t df_scale_exponent(double largest, int bits)

cdef enum:
    GROUP_ENTRIES = 1 << 23       # rows times features permuted at a time
    TOGETHER = 1024               # rows that go down a tree of a splitter's own tests at a time

cdef struct Trial:                 # a feature on a row's path
    uint32_t feature
    uint32_t at                   # a slot
    double value                  # what it has in the row it takes a value from


def block_draws(Py_ssize_t n_rows, const int64_t[::1] n_draws not None, const uint32_t[::1] seeds not None, int n_threads):
    """How many draws of each tree fall into each block of rows.

    Parameters
    ----------
    n_rows : int
    n_draws : ndarray of shape (n_trees,), dtype int64
        Draws of each tree.
    seeds : ndarray of shape (n_trees,), dtype uint32
        Of the trees.
    n_threads : int

    Returns
    -------
    ndarray of shape (n_trees, n_blocks), dtype int64
    """
    cdef Py_ssize_t t, n_trees = n_draws.shape[0]
    result = np.empty((n_trees, count_blocks(n_rows)), np.int64)
    cdef int64_t[:, ::1] out = result
    for t in prange(n_trees, nogil=True, num_threads=max(1, min(n_threads, n_trees)), schedule="dynamic"):
        deal_draws(seeds[t], n_rows, n_draws[t], &out[t, 0])
    return result


cdef struct ErrorScale:
    bint is_regression
    int exponent           # deviations times 2**exponent are below 2**30


def error_exponent(double lowest, double highest, bint is_regression):
    """Deviations between two targets times 2 to this power are below 2**30; 0 for classes, and if they are equal."""
    cdef double half = 0.5 * highest - 0.5 * lowest
    return df_scale_exponent(half, 29) if is_regression and half > 0.0 else 0


cdef ErrorScale scale_of(targets, bint is_regression):
    cdef ErrorScale scale
    scale.is_regression = is_regression
    scale.exponent = error_exponent(np.min(targets), np.max(targets), is_regression)
    return scale


cdef inline int64_t error_of(ErrorScale scale, double target, double predicted) noexcept nogil:
    """An error times 4**exponent, rounded; below 2**62 if the prediction lies among the targets."""
    cdef double d
    if not scale.is_regression:
        return predicted != target
    d = ldexp(target - predicted, scale.exponent)
    return <int64_t> rint(d * d)


def predict_out_of_bag(PackedForest packed not None, const real_t[:, ::1] X not None, const double[::1] target not None,
                       leaf_class, const int64_t[::1] n_draws not None, const uint32_t[::1] seeds not None, int n_threads):
    """Predict each row by the trees that never drew it.

    Parameters
    ----------
    packed : PackedForest
        Its values are those of the leaf tables, row by row.
    X : ndarray of shape (n, n_features), dtype float32 or float64
        The training rows.
    target : ndarray of shape (n,), dtype float64
        Class numbers, or numbers.
    leaf_class : ndarray of shape (n_leaves,), dtype int32, or None
        The class that each leaf votes for; None: regression.
    n_draws : ndarray of shape (n_trees,), dtype int64
    seeds : ndarray of shape (n_trees,), dtype uint32
        Of the trees.
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
    cdef Py_ssize_t n = X.shape[0], n_trees = packed.n_trees, n_outputs = packed.n_outputs, b
    cdef bint is_regression = leaf_class is None
    cdef ErrorScale scale = scale_of(target, is_regression)
    cdef int used = max(1, min(n_threads, count_blocks(n)))
    packed.check(X.shape[1])
    sums = np.zeros((n, n_outputs))
    votes = np.zeros((n, 0 if is_regression else n_outputs), np.int32)
    n_votes = np.zeros(n, np.int32)
    changes = np.zeros((used, n_trees, 3), np.int64)     # of the sum of errors, in two words, and of rows seen
    cdef double[:, ::1] to_sums = sums
    cdef int32_t[:, ::1] to_votes = votes
    cdef int32_t[::1] to_n_votes = n_votes
    cdef int64_t[:, :, ::1] to_changes = changes
    cdef const int32_t[::1] classes = np.empty(0, np.int32) if is_regression else leaf_class
    cdef const int64_t[:, ::1] of_block = block_draws(n, n_draws, seeds, n_threads)
    for b in prange(count_blocks(n), nogil=True, num_threads=used, schedule="dynamic"):
        vote_in_block(packed, X, target, classes, of_block, seeds, b, scale, to_sums, to_votes, to_n_votes,
                      to_changes[threadid()])
    totals = np.cumsum(changes.sum(axis=0), axis=0)
    errors = [float(int(high) * 2**31 + int(low)) for low, high in totals[:, :2]]
    return sums, votes, n_votes, np.ldexp(errors, -2 * scale.exponent), totals[:, 2].copy()


cdef int vote_in_block(PackedForest packed, const real_t[:, ::1] X, const double[::1] target, const int32_t[::1] classes,
                       const int64_t[:, ::1] of_block, const uint32_t[::1] seeds, Py_ssize_t block, ErrorScale scale,
                       double[:, ::1] sums, int32_t[:, ::1] votes, int32_t[::1] n_votes,
                       int64_t[:, ::1] changes) except -1 nogil:
    cdef uint32_t counts[DF_BLOCK]
    cdef int64_t error[DF_BLOCK]     # of each row so far
    cdef int32_t best[DF_BLOCK]      # class with most votes so far
    cdef uint32_t out[DF_BLOCK]      # rows out of bag
    cdef uint32_t at[DF_BLOCK]       # the slots of their leaves
    cdef uint32_t left[DF_BLOCK]
    cdef df_rows all_rows = rows_of(X)
    cdef Py_ssize_t t, i, j, k, row, rows, n_out, first = block * DF_BLOCK
    cdef int64_t now
    cdef int32_t c
    cdef uint32_t leaf
    cdef const char* tree
    cdef int mode = df_mode(&packed.forest, &all_rows, first, min(<Py_ssize_t> DF_BLOCK, X.shape[0] - first), X.shape[1])
    for t in range(packed.n_trees):
        rows = draw_block(seeds[t], X.shape[0], block, of_block[t, block], counts)
        tree = df_tree(&packed.forest, t)
        n_out = 0
        for i in range(rows):
            out[n_out] = <uint32_t> (first + i)
            n_out += counts[i] == 0
        packed.walk(t, &all_rows, out, 0, n_out, at, left, mode)
        for j in range(n_out):
            row = out[j]
            i = row - first
            leaf = <uint32_t> packed.bases[t] + df_payload(tree, at[j], &packed.forest)
            for k in range(packed.n_outputs):
                sums[row, k] += packed.values[leaf, k]
            if n_votes[row] == 0:
                changes[t, 2] += 1
                error[i] = 0
                best[i] = 0
            n_votes[row] += 1
            if scale.is_regression:
                now = error_of(scale, target[row], sums[row, 0] / <double> n_votes[row])
            else:
                c = classes[leaf]
                votes[row, c] += 1
                if votes[row, c] > votes[row, best[i]] or (votes[row, c] == votes[row, best[i]] and c < best[i]):
                    best[i] = c
                now = error_of(scale, target[row], best[i])
            changes[t, 0] += (now & 0x7FFFFFFF) - (error[i] & 0x7FFFFFFF)
            changes[t, 1] += (now >> 31) - (error[i] >> 31)
            error[i] = now


def permutation_rise(PackedForest packed not None, const real_t[:, ::1] X not None, const double[::1] target not None,
                     const double[::1] leaf_value not None, bint is_regression, const uint32_t[::1] weight,
                     const int64_t[::1] n_draws not None, const uint32_t[::1] seeds not None, int n_threads,
                     const uint8_t[:, ::1] used=None):
    """By how much permuting a column raises each tree's mean error on the rows it never drew.

    Parameters
    ----------
    packed, X, target, n_draws, seeds, n_threads
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
    cdef Py_ssize_t n = X.shape[0], n_trees = packed.n_trees, t
    cdef ErrorScale scale = scale_of(target, is_regression)
    packed.check(X.shape[1])
    result = np.zeros((n_trees, packed.n_features))
    cdef double[:, ::1] out = result
    cdef const int64_t[:, ::1] of_block = block_draws(n, n_draws, seeds, n_threads)
    for t in prange(n_trees, nogil=True, num_threads=max(1, min(n_threads, n_trees)), schedule="dynamic"):
        if used is not None:
            permute_tested_tree(packed, X, target, leaf_value, weight, of_block, seeds[t], t, scale, &used[t, 0], &out[t, 0])
        else:
            permute_tree(packed, X, target, leaf_value, weight, of_block, seeds[t], t, scale, &out[t, 0])
    return result


cdef Py_ssize_t rows_out_of_bag(Py_ssize_t n, const int64_t[:, ::1] of_block, uint32_t seed, Py_ssize_t tree,
                                uint32_t* out) noexcept nogil:
    """How many rows a tree's bootstrap left out. OUT out : which ones; or NULL"""
    cdef Py_ssize_t block, i, rows, n_out = 0
    cdef uint32_t counts[DF_BLOCK]
    for block in range(count_blocks(n)):
        rows = draw_block(seed, n, block, of_block[tree, block], counts)
        for i in range(rows):
            if counts[i] == 0:
                if out != NULL:
                    out[n_out] = <uint32_t> (block * DF_BLOCK + i)
                n_out += 1
    return n_out


cdef void permute_rows(const uint32_t* row, Py_ssize_t n, uint32_t seed, Py_ssize_t feature,
                       uint32_t* to) noexcept nogil:
    """The rows that others take a feature's values from: these, in another order. OUT to : [n]"""
    cdef df_stream stream
    cdef Py_ssize_t i, place
    cdef uint32_t held
    memcpy(to, row, n * sizeof(uint32_t))
    df_stream_open(&stream, seed, feature, DF_PERMUTATION)
    for i in range(n - 1):
        place = i + df_below(&stream, <uint32_t> (n - i))
        held = to[place]
        to[place] = to[i]
        to[i] = held


cdef int permute_tested_tree(PackedForest packed, const real_t[:, ::1] X, const double[::1] target,
                             const double[::1] leaf_value, const uint32_t[::1] weight, const int64_t[:, ::1] of_block,
                             uint32_t seed, Py_ssize_t tree, ErrorScale scale, const uint8_t* used,
                             double* out) except -1 nogil:
    """Fill one row of `permutation_rise`, of a tree whose tests are a splitter's own: all its features may be tested together."""
    cdef Py_ssize_t n_features = packed.n_features, n_out = rows_out_of_bag(X.shape[0], of_block, seed, tree, NULL)
    cdef Py_ssize_t i, j, n, first, feature
    cdef uint32_t* row = <uint32_t*> malloc((2 * n_out + 2 * TOGETHER) * sizeof(uint32_t))
    cdef uint32_t* other = row + n_out             # the rows they take a feature's values from
    cdef uint32_t* at = other + n_out
    cdef int64_t* error = <int64_t*> malloc((n_out + 1) * sizeof(int64_t))      # with no feature permuted
    cdef real_t* x = <real_t*> malloc(TOGETHER * n_features * sizeof(real_t))
    cdef const char* slots = df_tree(&packed.forest, tree)
    cdef const double* value = &leaf_value[packed.bases[tree]]
    cdef df_exact_sum total
    cdef int64_t total_weight = 0, w, now
    cdef df_rows rows
    rows.x = <const char*> x
    rows.stride = n_features * sizeof(real_t)
    rows.is_double = real_t is double
    try:
        if row == NULL or error == NULL or x == NULL:
            with gil:
                raise MemoryError()
        rows_out_of_bag(X.shape[0], of_block, seed, tree, row)
        for i in range(n_out):
            total_weight += weight[row[i]] if weight is not None else 1
        for feature in range(-1, n_features):      # -1: none is permuted
            out[max(feature, 0)] = NAN if n_out == 0 else 0.0
            if n_out == 0 or (feature >= 0 and not used[feature]):
                continue
            if feature >= 0:
                permute_rows(row, n_out, seed, feature, other)
            memset(&total, 0, sizeof(total))
            first = 0
            while first < n_out:
                n = min(<Py_ssize_t> TOGETHER, n_out - first)
                for i in range(n):
                    memcpy(x + i * n_features, &X[row[first + i], 0], n_features * sizeof(real_t))
                    if feature >= 0:
                        x[i * n_features + feature] = X[other[first + i], feature]
                packed.walk(tree, &rows, NULL, 0, n, at, at + TOGETHER, 0)
                for i in range(n):
                    j = first + i
                    now = error_of(scale, target[row[j]], value[df_payload(slots, at[i], &packed.forest)])
                    if feature < 0:
                        error[j] = now
                    w = weight[row[j]] if weight is not None else 1
                    df_add_product(&total, now - error[j], w)
                first += n
            if feature >= 0:
                out[feature] = ldexp(df_sum_value(&total) / <double> total_weight, -2 * scale.exponent)
    finally:
        free(row)
        free(error)
        free(x)
    return 0


cdef int permute_tree(PackedForest packed, const real_t[:, ::1] X, const double[::1] target, const double[::1] leaf_value,
                      const uint32_t[::1] weight, const int64_t[:, ::1] of_block, uint32_t seed, Py_ssize_t tree,
                      ErrorScale scale, double* out) except -1 nogil:
    """Fill one row of `permutation_rise`."""
    cdef Py_ssize_t n_features = packed.n_features, group, n_group, i, j, k, n_tests
    cdef Py_ssize_t n_out = rows_out_of_bag(X.shape[0], of_block, seed, tree, NULL)
    cdef const df_packed* forest = &packed.forest
    cdef const char* slots = df_tree(forest, tree)
    cdef const real_t* x
    cdef const double* value = &leaf_value[packed.bases[tree]]
    cdef uint32_t f, at
    cdef int64_t total_weight = 0, w, error, other_error
    if n_out == 0:
        for j in range(n_features):
            out[j] = NAN
        return 0
    n_group = max(1, min(n_features, GROUP_ENTRIES // n_out))       # features looked at together
    cdef uint32_t* row = <uint32_t*> malloc(n_out * sizeof(uint32_t))    # rows out of bag
    # [n_group, n_out] the rows they take a feature's values from
    cdef uint32_t* other = <uint32_t*> malloc(n_group * n_out * sizeof(uint32_t))
    cdef df_exact_sum* total = <df_exact_sum*> malloc(n_group * sizeof(df_exact_sum))
    # [n_group] the first slot on the row's path that tests a feature; 0: none does
    cdef uint32_t* first = <uint32_t*> calloc(n_group, sizeof(uint32_t))
    cdef Trial* tests = <Trial*> malloc(n_group * sizeof(Trial))           # those of the row's path
    if row == NULL or other == NULL or total == NULL or first == NULL or tests == NULL:
        free(row)
        free(other)
        free(total)
        free(first)
        free(tests)
        with gil:
            raise MemoryError()
    rows_out_of_bag(X.shape[0], of_block, seed, tree, row)
    for i in range(n_out):
        total_weight += weight[row[i]] if weight is not None else 1
    group = 0
    while group < n_features:
        n_group = min(n_group, n_features - group)
        memset(total, 0, n_group * sizeof(df_exact_sum))
        for at in range(1, <uint32_t> (forest.starts[tree + 1] - forest.starts[tree])):
            f = df_feature(slots, at, forest)
            if not df_is_leaf(slots, at, forest) and <Py_ssize_t> f >= group and <Py_ssize_t> f < group + n_group:
                first[f - group] = 1
        for j in range(n_group):
            if first[j] == 0:
                continue
            first[j] = 0
            permute_rows(row, n_out, seed, group + j, other + j * n_out)
        for i in range(n_out):
            x = &X[row[i], 0]
            at = 1
            n_tests = 0
            while not df_is_leaf(slots, at, forest):
                f = df_feature(slots, at, forest)
                if <Py_ssize_t> f >= group and <Py_ssize_t> f < group + n_group and first[f - group] == 0:
                    first[f - group] = at
                    tests[n_tests].feature = f
                    tests[n_tests].at = at
                    tests[n_tests].value = X[other[(f - group) * n_out + i], f]
                    n_tests += 1
                at = df_step_by(slots, at, x[f], forest)
            error = error_of(scale, target[row[i]], value[df_payload(slots, at, forest)])
            w = weight[row[i]] if weight is not None else 1
            walk_on(forest, slots, x, tests, n_tests)
            for k in range(n_tests):
                j = tests[k].feature - group
                first[j] = 0
                other_error = error_of(scale, target[row[i]], value[df_payload(slots, tests[k].at, forest)])
                df_add_product(&total[j], other_error - error, w)
        for j in range(n_group):
            out[group + j] = ldexp(df_sum_value(&total[j]) / <double> total_weight, -2 * scale.exponent)
        group += n_group
    free(row)
    free(other)
    free(total)
    free(first)
    free(tests)
    return 0


cdef void walk_on(const df_packed* forest, const char* slots, const real_t* x, Trial* tests, Py_ssize_t n) noexcept nogil:
    """From where each test stands to a leaf, with the feature's other value; a step of each in turn."""
    cdef Py_ssize_t k
    cdef uint32_t f
    cdef bint done = False
    while not done:
        done = True
        for k in range(n):
            if not df_is_leaf(slots, tests[k].at, forest):
                f = df_feature(slots, tests[k].at, forest)
                tests[k].at = df_step_by(slots, tests[k].at, tests[k].value if f == tests[k].feature else x[f], forest)
                done = False
