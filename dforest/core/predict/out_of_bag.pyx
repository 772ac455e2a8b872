"""What rows say about the trees that left them out: predictions and errors.

Which rows a tree never drew is computed again by the tree's sampling plan. An *error* is 0 or 1 for classes, the squared
deviation for numbers. Errors are added without rounding (`totals.h`), so that sums of errors do not depend on the order, and no
error is lost beside a large one.

The arrays handed in are borrowed; everything returned is new.
"""
cimport cython
from fractions import Fraction

from libc.math cimport fabs, ldexp
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy

import numpy as np

from dforest.core.predict.leaf_values cimport LeafValues
from dforest.core.predict.packing cimport Rows
from dforest.core.predict.packed cimport PackedForest
from dforest.core.predict.totals cimport (
    DF_DIGITS, DF_MAX_EXPONENT, DF_SQUARE_EXPONENT, df_total, df_total_add, df_total_carry, df_total_open,
)
from dforest.core.predict.walk cimport Descent, df_tree, df_value_row
from dforest.core.draws cimport TreeDraws
from dforest.core.threads cimport WorkerContext, current_worker, df_add_to_long, parallel_for, poll
from dforest.rules.out_of_bag cimport df_error, df_leading_class
from dforest.rules.random cimport DF_BLOCK

cdef enum:
    VOTE_WORK = 30        # of a row and a tree, in nanoseconds or so

N_DIGITS = DF_DIGITS              # digits of a sum of errors: see `curve_of`


def square_exponent(*numbers):
    """Numbers up to the largest of some in magnitude, times 2 to this power, can be squared, and the squares added up."""
    largest = max(abs(float(number)) for number in numbers)
    return min(max(DF_SQUARE_EXPONENT - int(np.frexp(largest)[1]), -DF_MAX_EXPONENT), DF_MAX_EXPONENT)


def curve_of(totals, int exponent):
    """Sums of errors after 1, 2, ... trees.

    Python's integers have any number of digits: each tree's digits become one, in units of its lowest digit that is used at all,
    and the integers are cumulated. Each sum is rounded once, when it becomes a float64 number.

    Parameters
    ----------
    totals : ndarray of shape (DF_DIGITS, n_trees), dtype int64
        Digits of what each tree adds to the sum of errors, of scaled targets: see totals.h.
    exponent : int
        The scale of the targets: see `square_exponent`.

    Returns
    -------
    ndarray of shape (n_trees,), dtype float64

    Examples
    --------
    A first tree with errors of 3 units of 2**-1042, which is the second digit, and a second tree that takes one of them away:

    >>> import numpy as np
    >>> totals = np.zeros((N_DIGITS, 2), np.int64)
    >>> totals[1] = 3, -1
    >>> curve_of(totals, 0) / 2.0**-1042
    array([3., 2.])
    """
    added, unit = _whole(totals)
    return np.array([nearest(total, unit - 2 * exponent) for total in np.cumsum(added)], np.float64)


def _whole(totals):
    """Totals as integers, and the power of two that these are in units of: (ndarray of shape (n,), dtype object; int)."""
    used = np.flatnonzero(totals.any(axis=1))
    lowest = int(used[0]) if len(used) else 0
    added = np.zeros(totals.shape[1], object)
    for k in used:
        added += totals[k].astype(object) * 2 ** (32 * (int(k) - lowest))
    return added, 32 * lowest - 1074


def total_of(digits):
    """A sum of numbers, which `add_up` has made digits of, without rounding: `fractions.Fraction`."""
    (number,), unit = _whole(digits[:, None])
    return Fraction(number) * Fraction(2) ** unit


def add_up(const double[::1] numbers not None):
    """The sum of float64 numbers below 2**1003 in magnitude, without rounding: ndarray of shape (DF_DIGITS,), dtype int64.

    The digits of several sums are added up entry by entry.

    Examples
    --------
    >>> import numpy as np
    >>> total_of(add_up(np.array([1e100, 0.5, -1e100])) + add_up(np.array([2.25])))
    Fraction(11, 4)
    """
    cdef df_total total
    cdef Py_ssize_t i
    digits = np.zeros(DF_DIGITS, np.int64)
    cdef int64_t[::1] out = digits
    with nogil:
        df_total_open(&total)
        for i in range(numbers.shape[0]):
            df_total_add(&total, fabs(numbers[i]), -1 if numbers[i] < 0 else 1)
        df_total_carry(&total)
        memcpy(&out[0], &total.digit[0], sizeof(total.digit))
    return digits


def nearest(number, exponent):
    """The float64 nearest to an integer times 2**exponent; infinite if it is too large."""
    try:
        return number * 2**exponent / 1 if exponent >= 0 else number / 2**-exponent
    except OverflowError:
        return np.inf


cdef class TrainingRows:
    def __init__(self, PackedForest packed not None, X, target, is_regression, TreeDraws draws not None, exponent):
        self.packed = packed
        self.rows = Rows(X, packed.n_features)
        self.n = self.rows.n
        if draws.n_own != self.n or len(draws.plans) != packed.n_trees:
            raise ValueError(f"draws of {len(draws.plans)} trees of {draws.n_own} rows, for a forest of {packed.n_trees} trees "
                             f"and {self.n} rows")
        self.target = target
        self.draws = draws
        self.is_regression = is_regression
        self.exponent = exponent
        self.factor = ldexp(1.0, self.exponent)


@cython.final
cdef class VoteCounts:
    """What trees have said so far of rows that they never drew.

    Parameters
    ----------
    target : ndarray of shape (n,), dtype float64
        Class numbers, or numbers.
    sums, votes, n_votes : ndarray
        As `predict_out_of_bag` returns them; borrowed, and written to as trees vote.
    exponent : int
        Targets and what leaves predict are times 2 to this power when they are squared: see `square_exponent`. 0 for classes.
    """
    cdef double[:, ::1] sum
    cdef int32_t[:, ::1] vote
    cdef int32_t[::1] n
    cdef const double[::1] target
    cdef bint is_regression
    cdef Py_ssize_t n_outputs
    cdef double factor

    def __init__(self, const double[::1] target not None, double[:, ::1] sums not None, int32_t[:, ::1] votes not None,
                 int32_t[::1] n_votes not None, int exponent):
        cdef Py_ssize_t n = target.shape[0]
        if sums.shape[0] != n or votes.shape[0] != n or n_votes.shape[0] != n:
            raise ValueError(f"votes for {sums.shape[0]}, {votes.shape[0]} and {n_votes.shape[0]} rows, of {n}")
        if votes.shape[1] not in (0, sums.shape[1]):
            raise ValueError(f"votes for {votes.shape[1]} classes, and sums of {sums.shape[1]} numbers")
        self.target, self.sum, self.vote, self.n = target, sums, votes, n_votes
        self.n_outputs, self.is_regression = sums.shape[1], votes.shape[1] == 0
        self.factor = ldexp(1.0, exponent)

    cdef inline double error(self, Py_ssize_t row, int32_t best) noexcept nogil:
        """The error of a row that has votes, given the class that has most of them."""
        return df_error(self.is_regression, self.factor, self.target[row],
                        self.sum[row, 0] / <double> self.n[row] if self.is_regression else best)

    cdef inline double add(self, Py_ssize_t row, LeafValues values, Py_ssize_t leaf, int32_t leaf_class,
                           int32_t* best) noexcept nogil:
        """Add a leaf's vote to a row's votes; return the row's error now. INOUT best : the class with most votes"""
        values.add(leaf, &self.sum[row, 0])
        self.n[row] += 1
        if not self.is_regression:
            self.vote[row, leaf_class] += 1
            best[0] = df_leading_class(&self.vote[row, 0], best[0], leaf_class)
        return self.error(row, best[0])

    def add_tree(self, const uint32_t[::1] rows not None, const uint32_t[::1] leaves not None,
                 values not None, leaf_class):
        """Let the next tree vote.

        Parameters
        ----------
        rows : ndarray of shape (n_out,), dtype uint32
            The rows that the tree never drew.
        leaves : ndarray of shape (n_out,), dtype uint32
            The leaf that each of these reaches: a row of `values`.
        values : ndarray of shape (n_leaves, n_outputs), dtype float64, or ClassLists
            What each leaf adds to a prediction.
        leaf_class : ndarray of shape (n_leaves,), dtype int32, or None
            The class that each leaf votes for; None: regression.

        Returns
        -------
        digits : ndarray of shape (DF_DIGITS,), dtype int64
            Of what the tree adds to the sum over rows of the error.
        n_new : int
            How many rows have their first vote from the tree.
        """
        cdef const int32_t[::1] classes = np.zeros(values.shape[0], np.int32) if self.is_regression else leaf_class
        cdef LeafValues added = LeafValues(values)
        cdef df_total total
        cdef double before, now
        cdef int32_t best
        cdef Py_ssize_t j, k, row, n_new = 0
        cdef uint32_t leaf
        if added.n_columns != self.n_outputs or classes.shape[0] != added.n or rows.shape[0] != leaves.shape[0]:
            raise ValueError(f"leaves that add {added.n_columns} numbers, to predictions of {self.n_outputs}")
        digits = np.zeros(DF_DIGITS, np.int64)
        cdef int64_t[::1] out = digits
        with nogil:
            df_total_open(&total)
            for j in range(rows.shape[0]):
                row, leaf = rows[j], leaves[j]
                best = 0
                before = 0.0
                if self.n[row] == 0:
                    n_new += 1
                else:
                    if not self.is_regression:      # the class with most votes, the lowest of equal ones
                        for k in range(1, self.n_outputs):
                            if self.vote[row, k] > self.vote[row, best]:
                                best = <int32_t> k
                    before = self.error(row, best)
                now = self.add(row, added, leaf, classes[leaf], &best)
                if now != before:
                    df_total_add(&total, now, 1)
                    df_total_add(&total, before, -1)
            df_total_carry(&total)
            memcpy(&out[0], &total.digit[0], sizeof(total.digit))
        return digits, n_new


cdef class Votes(TrainingRows):
    """What trees say of the rows that they never drew, as `predict_out_of_bag` returns it."""
    cdef VoteCounts counts
    cdef const int32_t[::1] classes
    cdef int64_t[:, ::1] totals    # see `curve_of`
    cdef int64_t[::1] n_new        # rows with the first vote by each tree

    cdef int vote_in_block(self, Py_ssize_t block, WorkerContext* worker) except -1 nogil:
        """Let all trees vote, in their order, for the rows of a block that they never drew."""
        cdef double error[DF_BLOCK]      # of each row so far
        cdef int32_t best[DF_BLOCK]      # class with most votes so far
        cdef uint32_t out[DF_BLOCK]      # rows out of bag
        cdef uint32_t leaf[DF_BLOCK]
        cdef Py_ssize_t t, i, j, k, first = self.draws.begin(block), n_out
        cdef df_total total
        cdef int64_t n_new
        cdef double now
        for t in range(self.packed.n_trees):
            n_out = out_of_bag(self, t, block, &out[0], &leaf[0], worker)
            n_new = 0
            df_total_open(&total)
            for j in range(n_out):
                i = out[j] - first
                if self.counts.n[out[j]] == 0:
                    n_new += 1
                    error[i] = 0.0
                    best[i] = 0
                now = self.counts.add(out[j], self.packed.values, leaf[j], self.classes[leaf[j]], &best[i])
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


cdef Py_ssize_t out_of_bag(TrainingRows training, Py_ssize_t t, Py_ssize_t block, uint32_t* out, uint32_t* leaf,
                           WorkerContext* worker) except -1 nogil:
    """The rows of a block that tree t never drew, and the value rows of their leaves; returns how many there are.

    OUT out, leaf : [DF_BLOCK]
    """
    cdef uint32_t counts[DF_BLOCK]
    cdef uint32_t at[DF_BLOCK]
    cdef uint32_t left[DF_BLOCK]
    cdef Py_ssize_t i, first = training.draws.begin(block), rows = training.draws.begin(block + 1) - first
    cdef int mode = training.rows.mode(&training.packed.forest, first, rows, training.packed.n_features)
    cdef Descent down = Descent(&training.rows.rows, out, 0, 0, mode, &at[0], &left[0])
    cdef const uint32_t* drawn = training.draws.draw_block(t, block, counts)
    cdef const char* tree = df_tree(&training.packed.forest, t)
    cdef uint32_t base = <uint32_t> training.packed.bases[t]
    for i in range(rows):
        out[down.n] = <uint32_t> (first + i)
        down.n += drawn[i] == 0
    if training.rows.is_sparse:
        training.packed.walk_sparse(t, training.rows, &down, worker)
    else:
        training.packed.walk_block(t, &down, worker)
    poll(worker, DF_BLOCK + down.n * training.packed.n_outputs)
    for i in range(down.n):
        leaf[i] = base + df_value_row(tree, at[i], &training.packed.forest)
    return down.n


cdef int vote_in_block(void* context, Py_ssize_t block, WorkerContext* worker) except -1 nogil:
    return (<Votes> context).vote_in_block(block, worker)


def predict_out_of_bag(PackedForest packed not None, X not None, const double[::1] target not None,
                       leaf_class, TreeDraws draws not None, int exponent, int n_threads):
    """Predict each row by the trees that never drew it.

    Parameters
    ----------
    packed : PackedForest
        Made of the forest's leaf tables: entry i of its values is row i of these tables.
    X : ndarray of shape (n, n_features), dtype float32 or float64
        The training rows, or a range of them; C-contiguous.
    target : ndarray of shape (n,), dtype float64
        Class numbers, or numbers.
    leaf_class : ndarray of shape (n_leaves,), dtype int32, or None
        The class that each leaf votes for; None: regression.
    draws : TreeDraws
        Of the forest's trees, on the rows of X.
    exponent : int
        Targets and what leaves predict are times 2 to this power when they are squared: see `square_exponent`. 0 for classes.
    n_threads : int

    Returns
    -------
    sums : ndarray of shape (n, n_outputs), dtype float64
        Sums of leaf values over the trees a row is out of bag for, in the order of the trees.
    votes : ndarray of shape (n, n_outputs), dtype int32
        Votes for each class by the trees a row is out of bag for; no columns in regression.
    n_votes : ndarray of shape (n,), dtype int32
        How many trees each row is out of bag for.
    totals : ndarray of shape (DF_DIGITS, n_trees), dtype int64
        Digits of what each tree adds to the sum over rows of the error, of the class with most votes so far (the lower one of
        equals), or of the mean so far. Those of several ranges are added up; `curve_of` makes numbers of them.
    n_new : ndarray of shape (n_trees,), dtype int64
        How many rows have their first vote from each tree.
    """
    cdef bint is_regression = leaf_class is None
    cdef Votes voting = Votes(packed, X, np.asarray(target), is_regression, draws, exponent)
    cdef Py_ssize_t n = voting.n
    sums = np.zeros((n, packed.n_outputs))
    votes = np.zeros((n, 0 if is_regression else packed.n_outputs), np.int32)
    n_votes = np.zeros(n, np.int32)
    totals = np.zeros((DF_DIGITS, packed.n_trees), np.int64)
    n_new = np.zeros(packed.n_trees, np.int64)
    packed.open_paths(voting.rows, n_threads)
    voting.counts = VoteCounts(target, sums, votes, n_votes, exponent)
    voting.totals, voting.n_new = totals, n_new
    voting.classes = np.zeros(packed.values.n, np.int32) if is_regression else leaf_class
    parallel_for(vote_in_block, <void*> voting, draws.n_blocks(), n_threads, <double> VOTE_WORK * packed.n_trees * n)
    return sums, votes, n_votes, totals, n_new


def leaves_out_of_bag(PackedForest packed not None, X not None, TreeDraws draws not None):
    """The rows that a tree never drew, and the leaves that these reach.

    Parameters
    ----------
    packed : PackedForest
        One tree, made of its leaf tables.
    X : ndarray of shape (n, n_features), dtype float32 or float64
        The training rows; C-contiguous.
    draws : TreeDraws
        Of this tree, on these rows.

    Returns
    -------
    rows, leaves : ndarray of shape (n_out,), dtype uint32
        As of `VoteCounts.add_tree`.
    """
    cdef TrainingRows training = TrainingRows(packed, X, np.empty(0), False, draws, 0)
    cdef WorkerContext worker = current_worker()
    cdef Py_ssize_t n = 0, n_out, block
    packed.open_paths(training.rows, 1)
    cdef uint32_t out[DF_BLOCK]
    cdef uint32_t leaf[DF_BLOCK]
    rows, leaves = np.empty(training.n, np.uint32), np.empty(training.n, np.uint32)
    cdef uint32_t[::1] to_rows = rows, to_leaves = leaves
    with nogil:
        for block in range(draws.n_blocks()):
            n_out = out_of_bag(training, 0, block, &out[0], &leaf[0], &worker)
            if n_out != 0:
                memcpy(&to_rows[n], &out[0], n_out * sizeof(uint32_t))
                memcpy(&to_leaves[n], &leaf[0], n_out * sizeof(uint32_t))
            n += n_out
    rows.resize(n, refcheck=False)
    leaves.resize(n, refcheck=False)
    return rows, leaves
