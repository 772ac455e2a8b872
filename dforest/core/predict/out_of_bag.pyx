"""What the rows that a tree left out say about it: predictions, errors, permuted errors.

Words: a row is *out of bag* for a tree that never drew it. Which rows a tree never drew is computed again
by the tree's sampling plan. An *error* is 0 or 1 for classes, the squared deviation for numbers; errors
are added without rounding (`totals.h`), so that their sums depend on no order, and none is lost beside
a large one.

The arrays handed in are borrowed; everything returned is new.
"""
from fractions import Fraction

from libc.math cimport NAN, fabs, ldexp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.predict.packed cimport Descent, PackedForest, Rows
from dforest.core.predict.walk cimport (
    DF_SUBSETS, df_feature, df_is_leaf, df_mode, df_packed, df_step_by, df_tree, df_value_row,
)
from dforest.core.sampling cimport TreeDraws
from dforest.core.threads cimport Turn, df_add_to_long, poll, share
from dforest.core.types cimport df_rows
from dforest.rules.out_of_bag cimport df_error, df_leading_class, df_open_permutation, df_permute
from dforest.rules.random cimport DF_BLOCK, df_stream

cdef extern from "core/predict/totals.h" nogil:
    enum:
        DF_DIGITS
        DF_SQUARE_EXPONENT
        DF_MOST_EXPONENT
    ctypedef struct df_total:
        int64_t digit[DF_DIGITS]
        int begin
        int end
    void df_total_open(df_total* total)
    void df_total_add(df_total* total, double x, int64_t weight)
    void df_total_carry(df_total* total)
    double df_total_value(df_total* total, int power)

N_DIGITS = DF_DIGITS              # digits of a sum of errors: see `curve_of`

cdef enum:
    GROUP_BYTES = 1 << 25         # memory for the features of a tree that are permuted at a time
    TOGETHER = 1024               # rows that go down a tree of a splitter's own tests at a time
    SHUFFLED = 1 << 16            # rows that are permuted until it is asked whether to give up

cdef struct Trial:                 # a feature with another value, on its way down a tree
    uint32_t feature
    uint32_t at                   # the slot that a row with that value has reached
    double value

cdef struct Permuted:              # a tree, and a group of features whose values are permuted; `permute_tree` owns what is in it
    Py_ssize_t tree
    const char* slots             # of the tree: see walk.h
    const double* value           # what the tree predicts in each leaf, by value row
    Py_ssize_t n_out
    uint32_t* row                 # [n_out] the rows out of bag
    double* error                 # [n_out] their errors with no feature permuted
    int64_t weight                # of the rows out of bag
    Py_ssize_t begin, n           # the features of the group: begin, ..., begin + n - 1
    uint8_t* is_used              # [n] whether the tree has a test of the feature
    uint32_t* other               # [n, n_out] the row that each row takes the feature's value from
    df_total* total               # [n] by how much permuting the feature raises the sum of weighted errors
    uint32_t* first               # [n] the first slot on a row's path that tests the feature; 0: none so far
    Trial* trials                 # [n] of a row, one for each feature that its path tests


def square_exponent(*numbers):
    """Numbers up to the largest of some in magnitude, times 2 to this power, can be squared, and the squares added up."""
    largest = max(abs(float(number)) for number in numbers)
    return min(max(DF_SQUARE_EXPONENT - int(np.frexp(largest)[1]), -DF_MOST_EXPONENT), DF_MOST_EXPONENT)


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
    """The rows that a forest was grown on, and which of them each tree drew."""
    cdef PackedForest packed
    cdef Rows rows
    cdef Py_ssize_t n
    cdef const double[::1] target
    cdef TreeDraws draws
    cdef bint is_regression
    cdef int exponent              # of the scale of numbers: see `square_exponent`
    cdef double factor             # 2**exponent

    def __init__(self, PackedForest packed not None, X, target, is_regression, TreeDraws draws not None, exponent):
        self.packed = packed
        self.rows = Rows(X, packed)
        self.n = self.rows.n
        if draws.n_own != self.n or len(draws.plans) != packed.n_trees:
            raise ValueError(f"draws of {len(draws.plans)} trees of {draws.n_own} rows, for a forest of {packed.n_trees} trees "
                             f"and {self.n} rows")
        self.target = target
        self.draws = draws
        self.is_regression = is_regression
        self.exponent = exponent
        self.factor = ldexp(1.0, self.exponent)

    cdef inline double error(self, double target, double predicted) noexcept nogil:
        """The error of a prediction; of numbers, times 4**exponent."""
        return df_error(self.is_regression, self.factor, target, predicted)

    cdef inline double value(self, Py_ssize_t row, Py_ssize_t feature) noexcept nogil:
        cdef const char* x = self.rows.rows.x + row * self.rows.rows.stride
        return (<const double*> x)[feature] if self.rows.rows.is_double else (<const float*> x)[feature]


cdef class Votes(TrainingRows):
    """What trees say of the rows that they never drew, as `predict_out_of_bag` returns it."""
    cdef const int32_t[::1] classes
    cdef double[:, ::1] sums
    cdef int32_t[:, ::1] votes
    cdef int32_t[::1] n_votes
    cdef int64_t[:, ::1] totals    # see `curve_of`
    cdef int64_t[::1] n_new        # rows with the first vote by each tree

    cdef int vote_in_block(self, Py_ssize_t block, Turn* turn) except -1 nogil:
        """Let all trees vote, in their order, for the rows of a block that they never drew."""
        cdef uint32_t counts[DF_BLOCK]
        cdef double error[DF_BLOCK]      # of each row so far
        cdef int32_t best[DF_BLOCK]      # class with most votes so far
        cdef uint32_t out[DF_BLOCK]      # rows out of bag
        cdef uint32_t at[DF_BLOCK]
        cdef uint32_t left[DF_BLOCK]
        cdef const uint32_t* drawn
        cdef Py_ssize_t t, i, j, k, first = self.draws.begin(block), rows = self.draws.begin(block + 1) - first
        cdef int mode = df_mode(&self.packed.forest, &self.rows.rows, first, rows, self.packed.n_features)
        cdef Descent down = Descent(&self.rows.rows, &out[0], 0, 0, mode, &at[0], &left[0])
        cdef df_total total
        cdef int64_t n_new
        cdef double now
        cdef const char* tree
        for t in range(self.packed.n_trees):
            drawn = self.draws.draw_block(t, block, counts)
            down.n = n_new = 0
            for i in range(rows):
                out[down.n] = <uint32_t> (first + i)
                down.n += drawn[i] == 0
            self.packed.walk(t, &down, turn)
            poll(turn, DF_BLOCK + down.n * self.packed.n_outputs)
            df_total_open(&total)
            tree = df_tree(&self.packed.forest, t)
            for j in range(down.n):
                i = out[j] - first
                if self.n_votes[out[j]] == 0:
                    n_new += 1
                    error[i] = 0.0
                    best[i] = 0
                now = self.vote(out[j], <uint32_t> self.packed.bases[t] + df_value_row(tree, at[j], &self.packed.forest),
                                &best[i])
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

    cdef inline double vote(self, Py_ssize_t row, uint32_t leaf, int32_t* best) noexcept nogil:
        """Add a leaf's vote to a row's votes; return the row's error now. INOUT best : the class with most votes"""
        cdef Py_ssize_t k
        for k in range(self.packed.n_outputs):
            self.sums[row, k] += self.packed.values[leaf, k]
        self.n_votes[row] += 1
        if self.is_regression:
            return self.error(self.target[row], self.sums[row, 0] / <double> self.n_votes[row])
        self.votes[row, self.classes[leaf]] += 1
        best[0] = df_leading_class(&self.votes[row, 0], best[0], self.classes[leaf])
        return self.error(self.target[row], best[0])


cdef int vote_in_block(void* context, Py_ssize_t block, Turn* turn) except -1 nogil:
    return (<Votes> context).vote_in_block(block, turn)


def predict_out_of_bag(PackedForest packed not None, X not None, const double[::1] target not None,
                       leaf_class, TreeDraws draws not None, int exponent, int n_threads):
    """Predict each row by the trees that never drew it.

    Parameters
    ----------
    packed : PackedForest
        Made of the forest's leaf tables: entry i of its values is row i of these tables.
    X : ndarray of shape (n, n_features), dtype float32 or float64
        The training rows, or a stretch of them; C-contiguous.
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
        equals), or of the mean so far. Those of several stretches are added up; `curve_of` makes numbers of them.
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
    voting.sums, voting.votes, voting.n_votes, voting.totals, voting.n_new = sums, votes, n_votes, totals, n_new
    voting.classes = np.empty(0, np.int32) if is_regression else leaf_class
    share(vote_in_block, <void*> voting, draws.n_blocks(), n_threads)
    return sums, votes, n_votes, totals, n_new


cdef class Permutations(TrainingRows):
    """By how much permuting columns raises errors, as `permutation_rise` returns it."""
    cdef const double[::1] leaf_value
    cdef const uint32_t[::1] weight        # or None
    cdef const uint8_t[:, ::1] used        # or None
    cdef double[:, ::1] rise

    cdef int64_t weight_of(self, Py_ssize_t row) noexcept nogil:
        return self.weight[row] if self.weight is not None else 1

    cdef Py_ssize_t rows_out_of_bag(self, Py_ssize_t tree, uint32_t* out, Turn* turn) except -1 nogil:
        """How many rows a tree left out. OUT out : which ones, ascending; or NULL"""
        cdef Py_ssize_t block, i, first, n_out = 0
        cdef uint32_t counts[DF_BLOCK]
        cdef const uint32_t* drawn
        for block in range(self.draws.n_blocks()):
            drawn = self.draws.draw_block(tree, block, counts)
            first = self.draws.begin(block)
            for i in range(self.draws.begin(block + 1) - first):
                if drawn[i] == 0:
                    if out != NULL:
                        out[n_out] = <uint32_t> (first + i)
                    n_out += 1
            poll(turn, 4 * DF_BLOCK)
        return n_out

    cdef int permute_tree(self, Py_ssize_t tree, Turn* turn) except -1 nogil:
        """Fill a row of `rise`: group after group of features, as many at a time as there is memory for."""
        cdef Py_ssize_t n_features = self.packed.n_features, n_group, i, j
        cdef double* rise = &self.rise[tree, 0]
        cdef Permuted p
        memset(&p, 0, sizeof(p))
        p.tree = tree
        p.slots = df_tree(&self.packed.forest, tree)
        p.value = &self.leaf_value[self.packed.bases[tree]]
        p.n_out = self.rows_out_of_bag(tree, NULL, turn)
        if p.n_out == 0:
            for j in range(n_features):
                rise[j] = NAN
            return 0
        n_group = max(1, min(n_features, <Py_ssize_t> (GROUP_BYTES // (p.n_out * sizeof(uint32_t) + sizeof(df_total)))))
        p.row = <uint32_t*> malloc(p.n_out * sizeof(uint32_t))
        p.error = <double*> malloc(p.n_out * sizeof(double))
        p.is_used = <uint8_t*> malloc(n_group * sizeof(uint8_t))
        p.other = <uint32_t*> malloc(n_group * p.n_out * sizeof(uint32_t))
        p.total = <df_total*> malloc(n_group * sizeof(df_total))
        p.first = <uint32_t*> malloc(n_group * sizeof(uint32_t))
        p.trials = <Trial*> malloc(n_group * sizeof(Trial))
        try:
            if (p.row == NULL or p.error == NULL or p.is_used == NULL or p.other == NULL or p.total == NULL or p.first == NULL
                    or p.trials == NULL):
                with gil:
                    raise MemoryError()
            self.rows_out_of_bag(tree, p.row, turn)
            for i in range(p.n_out):
                p.weight += self.weight_of(p.row[i])
            if self.used is not None:
                self.walk_copies(&p, -1, turn)
            while p.begin < n_features:
                p.n = min(n_group, n_features - p.begin)
                self.find_used(&p, turn)
                for j in range(p.n):
                    df_total_open(&p.total[j])
                    if p.is_used[j]:
                        self.permute_rows(&p, j, turn)
                if self.used is None:
                    self.walk_paths(&p, turn)
                else:
                    for j in range(p.n):
                        if p.is_used[j]:
                            self.walk_copies(&p, j, turn)
                for j in range(p.n):
                    rise[p.begin + j] = df_total_value(&p.total[j], -2 * self.exponent) / <double> p.weight
                p.begin += p.n
        finally:
            free(p.row)
            free(p.error)
            free(p.is_used)
            free(p.other)
            free(p.total)
            free(p.first)
            free(p.trials)
        return 0

    cdef int find_used(self, Permuted* p, Turn* turn) except -1 nogil:
        """Tell which features of the group the tree tests."""
        cdef const df_packed* forest = &self.packed.forest
        cdef Py_ssize_t j, n_slots = forest.starts[p.tree + 1] - forest.starts[p.tree]
        cdef uint32_t at
        if self.used is not None:
            memcpy(p.is_used, &self.used[p.tree, p.begin], p.n)
            return 0
        memset(p.is_used, 0, p.n)
        for at in range(1, <uint32_t> n_slots):
            j = <Py_ssize_t> df_feature(p.slots, at, forest) - p.begin
            if 0 <= j < p.n and not df_is_leaf(p.slots, at, forest):
                p.is_used[j] = True
        return poll(turn, n_slots)

    cdef int permute_rows(self, Permuted* p, Py_ssize_t j, Turn* turn) except -1 nogil:
        """Permute the rows out of bag, for feature j of the group to take its values from."""
        cdef uint32_t* to = p.other + j * p.n_out
        cdef Py_ssize_t i = 0, end
        cdef df_stream stream
        memcpy(to, p.row, p.n_out * sizeof(uint32_t))
        df_open_permutation(&stream, self.draws.seed[p.tree], p.begin + j)
        while i < p.n_out:
            end = min(i + SHUFFLED, p.n_out)
            df_permute(&stream, to, i, end, p.n_out)
            poll(turn, 10 * (end - i))
            i = end
        return 0

    cdef int walk_paths(self, Permuted* p, Turn* turn) except -1 nogil:
        """Add up the rises of all features of the group, row by row.

        A row goes down the tree once as it is. Where its path tests a feature of the group for the first time, a `Trial` of that
        feature begins, which goes on from there with the feature's other value. A path that tests x0, x2 and x0 again has two
        trials, from its first and from its second node; the error of x1 does not change.
        """
        cdef const df_packed* forest = &self.packed.forest
        cdef Py_ssize_t i, j, k, n_trials, n_steps
        cdef uint32_t f, at
        cdef double target, error
        memset(p.first, 0, p.n * sizeof(uint32_t))
        for i in range(p.n_out):
            at = 1
            n_trials = n_steps = 0
            while not df_is_leaf(p.slots, at, forest):
                f = df_feature(p.slots, at, forest)
                j = <Py_ssize_t> f - p.begin
                if 0 <= j < p.n and p.first[j] == 0:
                    p.first[j] = at
                    p.trials[n_trials] = Trial(f, at, self.value(p.other[j * p.n_out + i], f))
                    n_trials += 1
                at = df_step_by(p.slots, at, self.value(p.row[i], f), forest)
                n_steps += 1
            target = self.target[p.row[i]]
            p.error[i] = self.error(target, p.value[df_value_row(p.slots, at, forest)])
            self.walk_on(p, p.row[i], n_trials, turn)
            for k in range(n_trials):
                j = p.trials[k].feature - p.begin
                p.first[j] = 0
                error = self.error(target, p.value[df_value_row(p.slots, p.trials[k].at, forest)])
                self.add_rise(p, j, i, error)
            poll(turn, 10 * (n_steps + n_trials))
        return 0

    cdef int walk_on(self, Permuted* p, uint32_t row, Py_ssize_t n, Turn* turn) except -1 nogil:
        """Send n trials of a row from where they stand to leaves, a step of each in turn: their memory accesses overlap."""
        cdef const df_packed* forest = &self.packed.forest
        cdef Trial* trial
        cdef Py_ssize_t k
        cdef uint32_t f
        cdef bint done = False
        while not done:
            done = True
            for k in range(n):
                trial = &p.trials[k]
                if not df_is_leaf(p.slots, trial.at, forest):
                    f = df_feature(p.slots, trial.at, forest)
                    trial.at = df_step_by(p.slots, trial.at, trial.value if f == trial.feature else self.value(row, f), forest)
                    done = False
            poll(turn, 10 * n)
        return 0

    cdef int walk_copies(self, Permuted* p, Py_ssize_t j, Turn* turn) except -1 nogil:
        """Add up the rise of feature j of the group; -1: tell the errors with no feature permuted.

        This is for tests of a splitter's own, each of which may be about many features: copies of the rows, with the feature's
        other values, go down the whole tree.
        """
        cdef const df_rows* all_rows = &self.rows.rows
        cdef Py_ssize_t i, n, first = 0, stride = all_rows.stride
        cdef Py_ssize_t size = sizeof(double) if all_rows.is_double else sizeof(float), at_feature = (p.begin + j) * size
        cdef uint32_t at[TOGETHER]
        cdef uint32_t left[TOGETHER]
        cdef char* x = <char*> malloc(TOGETHER * stride)
        cdef df_rows rows = df_rows(x, stride, all_rows.is_double)
        cdef Descent down = Descent(&rows, NULL, 0, 0, DF_SUBSETS, &at[0], &left[0])
        cdef double error
        try:
            if x == NULL:
                with gil:
                    raise MemoryError()
            while first < p.n_out:
                n = down.n = min(<Py_ssize_t> TOGETHER, p.n_out - first)
                for i in range(n):
                    memcpy(x + i * stride, all_rows.x + p.row[first + i] * stride, stride)
                    if j >= 0:
                        memcpy(x + i * stride + at_feature, all_rows.x + p.other[j * p.n_out + first + i] * stride + at_feature,
                               size)
                self.packed.walk(p.tree, &down, turn)
                for i in range(n):
                    error = self.error(self.target[p.row[first + i]], p.value[df_value_row(p.slots, at[i], &self.packed.forest)])
                    if j >= 0:
                        self.add_rise(p, j, first + i, error)
                    else:
                        p.error[first + i] = error
                first += n
        finally:
            free(x)
        return 0

    cdef inline void add_rise(self, Permuted* p, Py_ssize_t j, Py_ssize_t i, double error) noexcept nogil:
        """Add the rise of the error of row i with feature j of the group permuted."""
        cdef int64_t weight
        if error != p.error[i]:
            weight = self.weight_of(p.row[i])
            df_total_add(&p.total[j], error, weight)
            df_total_add(&p.total[j], p.error[i], -weight)


cdef int permute_tree(void* context, Py_ssize_t tree, Turn* turn) except -1 nogil:
    return (<Permutations> context).permute_tree(tree, turn)


def permutation_rise(PackedForest packed not None, X not None, const double[::1] target not None,
                     const double[::1] leaf_value not None, bint is_regression, const uint32_t[::1] weight,
                     TreeDraws draws not None, int exponent, int n_threads, const uint8_t[:, ::1] used=None):
    """By how much permuting a column raises each tree's mean error on the rows it never drew.

    Parameters
    ----------
    packed, X, target, draws, exponent, n_threads
        As for `predict_out_of_bag`, of all training rows.
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
    cdef Permutations job = Permutations(packed, X, np.asarray(target), is_regression, draws, exponent)
    result = np.zeros((packed.n_trees, packed.n_features))
    job.leaf_value, job.weight, job.used, job.rise = leaf_value, weight, used, result
    share(permute_tree, <void*> job, packed.n_trees, n_threads)
    return result
