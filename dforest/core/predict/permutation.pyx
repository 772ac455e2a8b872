"""By how much errors rise on the rows that a tree left out if a column's values are permuted among them.

Errors are those of `out_of_bag.pyx`. A *group* is a run of features whose values are permuted at a time. A *trial* is a row on
its way down a tree with another value of one feature. If one process has all rows, each row names another row to take the value
from. If several ranks have the rows, the values are *given*: `dforest.spmd.permutations` has brought them to the rank.

The arrays handed in are borrowed; everything returned is new.
"""
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.predict.out_of_bag cimport TrainingRows, error_of, value_of
from dforest.core.predict.packed cimport PackedForest
from dforest.core.predict.totals cimport (
    DF_DIGITS, df_total, df_total_add, df_total_carry, df_total_open, df_total_value,
)
from dforest.core.predict.walk cimport (
    DF_SUBSETS, Descent, df_feature, df_is_leaf, df_packed, df_step_by, df_tree, df_unpack_rows,
    df_value_row,
)
from dforest.core.draws cimport TreeDraws
from dforest.core.threads cimport WorkerContext, df_add_to_long, parallel_for, poll
from dforest.core.types cimport df_rows
from dforest.rules.out_of_bag cimport df_open_permutation, df_permute
from dforest.rules.random cimport DF_BLOCK, df_stream

cdef enum:
    GROUP_BYTES = 1 << 25         # memory for the features of a tree that are permuted at a time
    TOGETHER = 1024               # rows that go down a tree of a splitter's own tests at a time
    SHUFFLED = 1 << 16            # rows that are permuted until it is asked whether to give up
    RANGE = 1 << 13               # rows with given values that a thread takes at a time
    TRIAL_WORK = 30               # of a row, a tree and a feature, in nanoseconds or so

cdef struct Trial:                 # a feature with another value, on its way down a tree
    uint32_t feature
    uint32_t at                   # the slot that a row with that value has reached
    double value

cdef struct Permuted:              # a tree, rows that it left out, and a group of features with permuted values
    Py_ssize_t tree
    const char* slots             # of the tree: see walk.h
    const double* value           # what the tree predicts in each leaf, by value row
    Py_ssize_t n_out
    const uint32_t* row           # [n_out] rows out of bag
    double* error                 # [n_out] their errors with no feature permuted
    int64_t weight                # of the rows out of bag
    Py_ssize_t begin, n           # the features of the group: begin, ..., begin + n - 1
    uint8_t* is_used              # [n] whether the tree has a test of the feature
    uint32_t* other               # [n, n_out] the row that each row takes the feature's value from; NULL: values are given
    const char** given            # [n] the feature's values [n_out], of the type of X
    df_total* total               # [n] by how much permuting the feature raises the sum of weighted errors
    uint32_t* first               # [n] the first slot on a row's path that tests the feature; 0: none so far
    Trial* trials                 # [n] of a row, one for each feature that its path tests


cdef class Permutations(TrainingRows):
    """The errors of rows that trees left out, as they are and with columns permuted.

    Parameters
    ----------
    packed, X, target, draws
        As for `dforest.core.predict.out_of_bag.predict_out_of_bag`.
    leaf_value : ndarray of shape (n_leaves,), dtype float64
        What a tree predicts in each leaf: a class number or a number. Numbers, and targets, are scaled to less than 2**479 in
        magnitude, so that sums of squares are in range.
    is_regression : bool
    weight : ndarray of shape (n,), dtype uint32, or None
        Integer weights of the rows in means; None: all 1.
    used : ndarray of shape (n_trees, n_features), dtype uint8, or None
        1 for the features that a tree's tests are about; None: the forest's nodes tell.
    """
    cdef const double[::1] leaf_value
    cdef const uint32_t[::1] weight        # or None
    cdef const uint8_t[:, ::1] used        # or None
    cdef double[:, ::1] error_increase
    cdef int64_t[:, ::1] left_out_         # of each tree, the number of rows that it left out, and their weight

    def __init__(self, PackedForest packed not None, X, target, leaf_value, is_regression, weight, TreeDraws draws not None,
                 used=None):
        super().__init__(packed, X, target, is_regression, draws, 0)
        self.leaf_value, self.weight, self.used = leaf_value, weight, used

    def error_increases(self, int n_threads):
        """The rise of each tree's mean error by each feature: see `permutation_error_increase`."""
        result = np.zeros((self.packed.n_trees, self.packed.n_features))
        self.error_increase = result
        parallel_for(permute_tree, <void*> self, self.packed.n_trees, n_threads,
                     <double> TRIAL_WORK * self.packed.n_trees * self.packed.n_features * self.n)
        return result

    def weigh_left_out(self, int n_threads):
        """How many rows each tree left out, and their weight: ndarray of shape (n_trees, 2), dtype int64."""
        result = np.zeros((self.packed.n_trees, 2), np.int64)
        self.left_out_ = result
        parallel_for(find_tree_weight, <void*> self, self.packed.n_trees, n_threads)
        return result

    def left_out(self, Py_ssize_t tree, Py_ssize_t n):
        """The rows that a tree left out, n of them: ndarray of shape (n,), dtype uint32, ascending."""
        result = np.empty(max(n, 1), np.uint32)
        cdef uint32_t[::1] out = result
        cdef Filling task = Filling(self, tree, out)
        parallel_for(fill_left_out, <void*> task, 1, 1)
        return result[:n]

    def values_of(self, const uint32_t[::1] rows not None, Py_ssize_t feature):
        """A feature's values in some rows: ndarray of shape (n,), of the type of X."""
        cdef Py_ssize_t i
        cdef double[::1] values = np.empty(rows.shape[0])
        for i in range(rows.shape[0]):
            values[i] = value_of(self, rows[i], feature)
        return np.asarray(values, np.float64 if self.rows.rows.is_double else np.float32)

    def add_error_increases(self, Py_ssize_t tree, const uint32_t[::1] rows not None, const int64_t[::1] features not None,
                            values, int64_t[:, ::1] digits not None, int n_threads):
        """Add by how much given values of features raise the sum of weighted errors of some rows in a tree.

        Parameters
        ----------
        tree : int
        rows : ndarray of shape (n,), dtype uint32
        features : ndarray of shape (n_given,), dtype int64
            Ascending; all that the tree tests from the first to the last of them.
        values : list of ndarray of shape (n,), of the type of X
            Of each of these features.
        digits : ndarray of shape (n_given, DF_DIGITS), dtype int64
            INOUT digits of the sums: see totals.h.
        n_threads : int
        """
        cdef GivenRises task
        if rows.shape[0] > 0 and features.shape[0] > 0:
            task = GivenRises(self, tree, rows, features, values, digits)
            parallel_for(add_given, <void*> task, (rows.shape[0] + RANGE - 1) // RANGE, n_threads)

    cdef inline int64_t weight_of(self, Py_ssize_t row) noexcept nogil:
        return self.weight[row] if self.weight is not None else 1

    cdef inline double other_value(self, const Permuted* p, Py_ssize_t j, Py_ssize_t i) noexcept nogil:
        """The value of feature j of the group that row i is tried with."""
        if p.other != NULL:
            return value_of(self, p.other[j * p.n_out + i], p.begin + j)
        return (<const double*> p.given[j])[i] if self.rows.rows.is_double else (<const float*> p.given[j])[i]

    cdef Py_ssize_t rows_out_of_bag(self, Py_ssize_t tree, uint32_t* out, WorkerContext* worker) except -1 nogil:
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
            poll(worker, 4 * DF_BLOCK)
        return n_out

    cdef int find_tree_weight(self, Py_ssize_t tree, WorkerContext* worker) except -1 nogil:
        """Fill a row of `left_out_`."""
        cdef Py_ssize_t n = self.rows_out_of_bag(tree, NULL, worker), i
        cdef int64_t weight = n
        cdef uint32_t* row
        if self.weight is not None:
            row = <uint32_t*> malloc(max(n, 1) * sizeof(uint32_t))
            try:
                if row == NULL:
                    with gil:
                        raise MemoryError()
                self.rows_out_of_bag(tree, row, worker)
                weight = 0
                for i in range(n):
                    weight += self.weight[row[i]]
            finally:
                free(row)
        self.left_out_[tree, 0], self.left_out_[tree, 1] = n, weight
        return 0

    cdef void open_tree(self, Permuted* p, Py_ssize_t tree) noexcept nogil:
        memset(p, 0, sizeof(p[0]))
        p.tree = tree
        p.slots = df_tree(&self.packed.forest, tree)
        p.value = &self.leaf_value[self.packed.bases[tree]]

    cdef int permute_tree(self, Py_ssize_t tree, WorkerContext* worker) except -1 nogil:
        """Fill a row of `error_increase`: group after group of features, as many at a time as there is memory for."""
        cdef Py_ssize_t n_features = self.packed.n_features, n_group, i, j
        cdef double* error_increase = &self.error_increase[tree, 0]
        cdef uint32_t* row
        cdef Permuted p
        self.open_tree(&p, tree)
        p.n_out = self.rows_out_of_bag(tree, NULL, worker)
        if p.n_out == 0:
            for j in range(n_features):
                error_increase[j] = NAN
            return 0
        n_group = max(1, min(n_features, <Py_ssize_t> (GROUP_BYTES // (p.n_out * sizeof(uint32_t) + sizeof(df_total)))))
        p.row = row = <uint32_t*> malloc(p.n_out * sizeof(uint32_t))
        p.error = <double*> malloc(p.n_out * sizeof(double))
        p.is_used = <uint8_t*> malloc(n_group * sizeof(uint8_t))
        p.other = <uint32_t*> malloc(n_group * p.n_out * sizeof(uint32_t))
        p.total = <df_total*> malloc(n_group * sizeof(df_total))
        p.first = <uint32_t*> malloc(n_group * sizeof(uint32_t))
        p.trials = <Trial*> malloc(n_group * sizeof(Trial))
        try:
            if (row == NULL or p.error == NULL or p.is_used == NULL or p.other == NULL or p.total == NULL or p.first == NULL
                    or p.trials == NULL):
                with gil:
                    raise MemoryError()
            self.rows_out_of_bag(tree, row, worker)
            for i in range(p.n_out):
                p.weight += self.weight_of(row[i])
            if self.used is not None:
                self.walk_copies(&p, -1, worker)
            while p.begin < n_features:
                p.n = min(n_group, n_features - p.begin)
                self.find_used(&p, worker)
                for j in range(p.n):
                    df_total_open(&p.total[j])
                    if p.is_used[j]:
                        self.permute_rows(&p, j, worker)
                memset(p.first, 0, p.n * sizeof(uint32_t))
                self.walk_group(&p, worker)
                for j in range(p.n):
                    error_increase[p.begin + j] = df_total_value(&p.total[j], 0) / <double> p.weight
                p.begin += p.n
        finally:
            free(row)
            free(p.error)
            free(p.is_used)
            free(p.other)
            free(p.total)
            free(p.first)
            free(p.trials)
        return 0

    cdef int walk_group(self, Permuted* p, WorkerContext* worker) except -1 nogil:
        """Add up the rises of all features of the group."""
        cdef Py_ssize_t j
        if self.used is None:
            return self.walk_paths(p, worker)
        for j in range(p.n):
            if p.is_used[j]:
                self.walk_copies(p, j, worker)
        return 0

    cdef int find_used(self, Permuted* p, WorkerContext* worker) except -1 nogil:
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
        return poll(worker, n_slots)

    cdef int permute_rows(self, Permuted* p, Py_ssize_t j, WorkerContext* worker) except -1 nogil:
        """Permute the rows out of bag, for feature j of the group to take its values from."""
        cdef uint32_t* to = p.other + j * p.n_out
        memcpy(to, p.row, p.n_out * sizeof(uint32_t))
        return permute_places(to, p.n_out, self.draws.seed[p.tree], p.begin + j, worker)

    cdef int walk_paths(self, Permuted* p, WorkerContext* worker) except -1 nogil:
        """Add up the rises of all features of the group, row by row.

        A row goes down the tree once as it is. Where its path tests a feature of the group for the first time, a `Trial` of that
        feature begins, which goes on from there with the feature's other value. A path that tests x0, x2 and x0 again has two
        trials, from its first and from its second node; the error of x1 does not change.
        """
        cdef const df_packed* forest = &self.packed.forest
        cdef Py_ssize_t i, j, k, n_trials, n_steps
        cdef uint32_t f, at
        cdef double target, error
        for i in range(p.n_out):
            at = 1
            n_trials = n_steps = 0
            while not df_is_leaf(p.slots, at, forest):
                f = df_feature(p.slots, at, forest)
                j = <Py_ssize_t> f - p.begin
                if 0 <= j < p.n and p.first[j] == 0:
                    p.first[j] = at
                    p.trials[n_trials] = Trial(f, at, self.other_value(p, j, i))
                    n_trials += 1
                at = df_step_by(p.slots, at, value_of(self, p.row[i], f), forest)
                n_steps += 1
            target = self.target[p.row[i]]
            p.error[i] = error_of(self, target, p.value[df_value_row(p.slots, at, forest)])
            self.walk_on(p, p.row[i], n_trials, worker)
            for k in range(n_trials):
                j = p.trials[k].feature - p.begin
                p.first[j] = 0
                error = error_of(self, target, p.value[df_value_row(p.slots, p.trials[k].at, forest)])
                self.add_error_increase(p, j, i, error)
            poll(worker, 10 * (n_steps + n_trials))
        return 0

    cdef int walk_on(self, Permuted* p, uint32_t row, Py_ssize_t n, WorkerContext* worker) except -1 nogil:
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
                    trial.at = df_step_by(p.slots, trial.at, trial.value if f == trial.feature else value_of(self, row, f),
                                          forest)
                    done = False
            poll(worker, 10 * n)
        return 0

    cdef int walk_copies(self, Permuted* p, Py_ssize_t j, WorkerContext* worker) except -1 nogil:
        """Add up the rise of feature j of the group; -1: tell the errors with no feature permuted.

        This is for tests of a splitter's own, each of which may be about many features: copies of the rows, with the feature's
        other values, go down the whole tree.
        """
        cdef const df_rows* all_rows = &self.rows.rows
        cdef Py_ssize_t i, n, first = 0, stride = all_rows.stride
        cdef uint32_t at[TOGETHER]
        cdef uint32_t left[TOGETHER]
        cdef char* x = <char*> malloc(TOGETHER * stride)
        cdef df_rows rows = df_rows(x, stride, all_rows.is_double)
        cdef Descent down = Descent(&rows, NULL, 0, 0, DF_SUBSETS, &at[0], &left[0])
        cdef double error, value
        try:
            if x == NULL:
                with gil:
                    raise MemoryError()
            while first < p.n_out:
                n = down.n = min(<Py_ssize_t> TOGETHER, p.n_out - first)
                if self.rows.is_sparse:
                    memset(x, 0, n * stride)
                    df_unpack_rows(&self.rows.sparse, p.row + first, 0, n, &rows, False)
                for i in range(n):
                    if not self.rows.is_sparse:
                        memcpy(x + i * stride, all_rows.x + p.row[first + i] * stride, stride)
                    if j >= 0:
                        value = self.other_value(p, j, first + i)
                        if all_rows.is_double:
                            (<double*> (x + i * stride))[p.begin + j] = value
                        else:
                            (<float*> (x + i * stride))[p.begin + j] = <float> value
                self.packed.walk_block(p.tree, &down, worker)
                for i in range(n):
                    error = error_of(self, self.target[p.row[first + i]],
                                     p.value[df_value_row(p.slots, at[i], &self.packed.forest)])
                    if j >= 0:
                        self.add_error_increase(p, j, first + i, error)
                    else:
                        p.error[first + i] = error
                first += n
        finally:
            free(x)
        return 0

    cdef inline void add_error_increase(self, Permuted* p, Py_ssize_t j, Py_ssize_t i, double error) noexcept nogil:
        """Add the rise of the error of row i with feature j of the group permuted."""
        cdef int64_t weight
        if error != p.error[i]:
            weight = self.weight_of(p.row[i])
            df_total_add(&p.total[j], error, weight)
            df_total_add(&p.total[j], p.error[i], -weight)


cdef int permute_tree(void* context, Py_ssize_t tree, WorkerContext* worker) except -1 nogil:
    return (<Permutations> context).permute_tree(tree, worker)


cdef int find_tree_weight(void* context, Py_ssize_t tree, WorkerContext* worker) except -1 nogil:
    return (<Permutations> context).find_tree_weight(tree, worker)


cdef int permute_places(uint32_t* places, Py_ssize_t n, uint32_t seed, Py_ssize_t feature, WorkerContext* worker) except -1 nogil:
    """Permute places by a tree's stream of a feature."""
    cdef Py_ssize_t i = 0, end
    cdef df_stream stream
    df_open_permutation(&stream, seed, feature)
    while i < n:
        end = min(i + SHUFFLED, n)
        df_permute(&stream, places, i, end, n)
        poll(worker, 10 * (end - i))
        i = end
    return 0


cdef class Filling:
    """What the thread knows that looks for the rows that a tree left out."""
    cdef Permutations rows
    cdef Py_ssize_t tree
    cdef uint32_t[::1] out

    def __init__(self, rows, tree, out):
        self.rows, self.tree, self.out = rows, tree, out

    cdef int fill(self, WorkerContext* worker) except -1 nogil:
        self.rows.rows_out_of_bag(self.tree, &self.out[0], worker)
        return 0


cdef int fill_left_out(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
    return (<Filling> context).fill(worker)


cdef class GivenRises:
    """What threads know that try rows with given values."""
    cdef Permutations rows
    cdef Py_ssize_t tree, begin, n_group       # the features of the group, some of which have values
    cdef const uint32_t[::1] row
    cdef const int64_t[::1] features
    cdef list values
    cdef const char** given                    # [n_group] values; NULL: none
    cdef int64_t[:, ::1] digits

    def __cinit__(self, Permutations rows, tree, const uint32_t[::1] row, const int64_t[::1] features, values, digits):
        cdef Py_ssize_t k
        self.rows, self.tree, self.row, self.features, self.digits = rows, tree, row, features, digits
        self.begin, self.n_group = features[0], features[features.shape[0] - 1] + 1 - features[0]
        dtype = np.float64 if rows.rows.rows.is_double else np.float32
        self.values = [np.ascontiguousarray(value, dtype) for value in values]
        n_features = rows.packed.n_features
        if (len(self.values) != features.shape[0] or digits.shape != (len(self.values), DF_DIGITS)
                or any(value.shape != (row.shape[0],) for value in self.values)):
            raise ValueError(f"{len(self.values)} arrays of values and digits of shape {digits.shape}, for "
                             f"{features.shape[0]} features and {row.shape[0]} rows")
        if not (0 <= tree < rows.packed.n_trees and 0 <= features[0] and features[features.shape[0] - 1] < n_features
                and (np.diff(features) > 0).all() and np.max(row) < rows.n):
            raise ValueError(f"features {np.asarray(features)} and rows up to {np.max(row)} of tree {tree}; allowed are "
                             f"features of {n_features}, ascending, and rows of {rows.n}")
        self.given = <const char**> malloc(self.n_group * sizeof(char*))
        if self.given == NULL:
            raise MemoryError()
        memset(self.given, 0, self.n_group * sizeof(char*))
        for k in range(features.shape[0]):
            self.given[features[k] - self.begin] = <const char*> <size_t> self.values[k].ctypes.data

    def __dealloc__(self):
        free(self.given)

    cdef int add(self, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
        cdef Py_ssize_t first = item * RANGE, j, k, d
        cdef Py_ssize_t size = sizeof(double) if self.rows.rows.rows.is_double else sizeof(float)
        cdef df_total* total
        cdef Permuted p
        self.rows.open_tree(&p, self.tree)
        p.n_out = min(<Py_ssize_t> RANGE, self.row.shape[0] - first)
        p.row = &self.row[first]
        p.begin, p.n = self.begin, self.n_group
        p.error = <double*> malloc(p.n_out * sizeof(double))
        p.is_used = <uint8_t*> malloc(p.n * sizeof(uint8_t))
        p.given = <const char**> malloc(p.n * sizeof(char*))
        p.total = <df_total*> malloc(p.n * sizeof(df_total))
        p.first = <uint32_t*> malloc(p.n * sizeof(uint32_t))
        p.trials = <Trial*> malloc(p.n * sizeof(Trial))
        try:
            if (p.error == NULL or p.is_used == NULL or p.given == NULL or p.total == NULL or p.first == NULL
                    or p.trials == NULL):
                with gil:
                    raise MemoryError()
            for j in range(p.n):
                p.is_used[j] = self.given[j] != NULL
                p.given[j] = self.given[j] + first * size if p.is_used[j] else NULL
                p.first[j] = not p.is_used[j]          # no trial of a feature without values begins
                df_total_open(&p.total[j])
            if self.rows.used is not None:
                self.rows.walk_copies(&p, -1, worker)
            self.rows.walk_group(&p, worker)
            for k in range(self.features.shape[0]):
                total = &p.total[self.features[k] - p.begin]
                df_total_carry(total)
                for d in range(total.begin, total.end):
                    if total.digit[d] != 0:
                        df_add_to_long(self.digits[k, d], total.digit[d])
        finally:
            free(p.error)
            free(p.is_used)
            free(p.given)
            free(p.total)
            free(p.first)
            free(p.trials)
        return 0


cdef int add_given(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
    return (<GivenRises> context).add(item, worker)


cdef class Shuffles:
    """What threads know that permute places, one array each at a time."""
    cdef list arrays
    cdef uint32_t** places                     # [n_arrays]
    cdef const int64_t[::1] length, feature
    cdef const uint32_t[::1] seed

    def __cinit__(self, arrays, seed, feature):
        self.arrays, self.seed, self.feature = arrays, seed, feature
        self.length = np.array([len(array) for array in arrays], np.int64)
        self.places = <uint32_t**> malloc(max(1, len(arrays)) * sizeof(uint32_t*))
        if self.places == NULL:
            raise MemoryError()
        for k in range(len(arrays)):
            self.places[k] = <uint32_t*> <size_t> arrays[k].ctypes.data

    def __dealloc__(self):
        free(self.places)

    cdef int shuffle(self, Py_ssize_t k, WorkerContext* worker) except -1 nogil:
        return permute_places(self.places[k], self.length[k], self.seed[k], self.feature[k], worker)


cdef int shuffle(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
    return (<Shuffles> context).shuffle(item, worker)


def permute_values(arrays, seeds, features, int n_threads):
    """Permute the values that some trees' rows out of bag have of features: those of a tree and a feature by their own stream.

    Parameters
    ----------
    arrays : list of ndarray of shape (n_out,)
        The values, in the order of the rows.
    seeds, features : sequence of int
        For each of them the seed of the tree, and the feature.
    n_threads : int

    Returns
    -------
    list of ndarray
        The values that the rows are tried with.
    """
    places = [np.arange(len(array), dtype=np.uint32) for array in arrays]
    cdef Shuffles task = Shuffles(places, np.array(seeds, np.uint32), np.array(features, np.int64))
    parallel_for(shuffle, <void*> task, len(places), n_threads)
    return [array[place] for array, place in zip(arrays, places, strict=True)]


def rise_of(const int64_t[:, ::1] digits not None):
    """Sums of rises of weighted errors as float64 numbers, given the digits of each: ndarray of shape (n,)."""
    cdef df_total total
    cdef Py_ssize_t k
    result = np.empty(digits.shape[0])
    cdef double[::1] out = result
    for k in range(digits.shape[0]):
        df_total_open(&total)
        memcpy(&total.digit[0], &digits[k, 0], sizeof(total.digit))
        total.begin, total.end = 0, DF_DIGITS
        out[k] = df_total_value(&total, 0)
    return result


def permutation_error_increase(PackedForest packed not None, X not None, const double[::1] target not None,
                               const double[::1] leaf_value not None, bint is_regression, const uint32_t[::1] weight,
                               TreeDraws draws not None, int n_threads, const uint8_t[:, ::1] used=None):
    """By how much permuting a column raises each tree's mean error on the rows it never drew.

    Parameters
    ----------
    packed, X, target, leaf_value, is_regression, weight, draws, used
        As for `Permutations`, of all training rows.
    n_threads : int

    Returns
    -------
    error_increase : ndarray of shape (n_trees, n_features), dtype float64
        0 for features that a tree doesn't use; NaN for trees that drew every row.
    """
    task = Permutations(packed, X, np.asarray(target), np.asarray(leaf_value), is_regression,
                        None if weight is None else np.asarray(weight), draws,
                        None if used is None else np.asarray(used))
    return task.error_increases(n_threads)
