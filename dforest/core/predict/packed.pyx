"""Prediction: rows down packed trees, on many threads.

A tree is fetched from memory once per block of rows. A row's sum over trees is formed by one thread in the order of the trees,
so the sum has the same bits on any number of threads. `walk.h` says what slots are, and how a row goes down a tree; `tiles.h` and
`quickscorer.pyx` are for many rows down small trees, `zero_paths.h` is for rows that store few values.

A `PackedForest` owns its slots and leaf values, read only; any number of threads may use one.
"""
cimport cython
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from dforest.core.predict.packing cimport node_numbers, slot_size, walk_tests, zero_paths
from dforest.core.predict.quickscorer cimport QuickScorerTrees, max_quickscorer_leaves
from dforest.core.predict.walk cimport (
    DF_LANES, DF_MAX_KEYED, DF_MAX_PLACES, DF_NUMBERS, df_add_values, df_clear_table, df_fill_table, df_fill_tiles32,
    df_fill_tiles64, df_hash_table, df_key_slots, df_keyed, df_mode, df_sparse_mode, df_stop, df_tree, df_unpack_rows,
    df_value_row, df_walk_rows, df_walk_tiles, df_walk_trees,
)
from dforest.core.threads cimport parallel_for, poll
from dforest.rules.bounds cimport df_clip
from dforest.rules.linear_leaf cimport DF_LINE_HEAD, DF_TERM_NUMBERS, df_linear_value

from dforest.core.predict.decision_paths import paths_to
from dforest.core.predict.packed_check import check_packed
from dforest.core.predict.packing import WIDE_BITS, pack_trees

cdef enum:
    BLOCK_BYTES = 1 << 18     # of X in a block: beside them, a tree has room in a cache ...
    BLOCK_MIN = 128           # ... but a block has at least this many rows, the last one excepted,
    BLOCK_MAX = 4096          # ... and at most this many
    UNPACKED_BYTES = 1 << 25  # of sparse rows that a thread unpacks at a time,
    SOME_BYTES = 1 << 22      # or for one tree; but one row at least
    STEPS = 1 << 17           # steps down trees that are worth another thread
    SOME_STEPS = 1 << 24      # steps that rows take together, at most, until it is asked whether to give up; 16 rows take any
    ROW_STEPS = 16            # steps of a row down a tree, about
    VALUES = 1 << 17          # sums of a block, rows times outputs, at most
    STEPS_PER_FEATURE = 2     # steps of a row down all trees that are worth its copy in a tile
    SLOTS_PER_ROW = 4         # of a tree that is worth a copy with keys
    SKIPPED_SLOTS = 1 << 16   # of trees that a row on zero paths goes down before the next row does; but one tree at least

SKIPS_UP_TO = 0.02             # the share of the features that rows store for which zero paths are worth it


cdef class PackedForest:
    """A forest made ready to predict.

    Parameters
    ----------
    forest : Forest
    values : ndarray of shape (n_values, n_outputs), dtype float64, or ClassLists
        What leaves add to the prediction. As lists they need rows.
    rows : ndarray of shape (n_leaves,), dtype uint32, or None
        Which row of the values the leaves of each row of the leaf tables add. None: values are those of the leaf tables, and are
        copied for the leaves of all trees, in the order of the nodes.
    is_wide : bool
        Whether slots have 16 bytes even where 8 would do.
    baseline : ndarray of shape (n_sums,), dtype float64, optional
        What predictions are sums of leaves and of, instead of means over trees. Where values have one column, trees take turns at
        the sums: tree t adds to sum t % n_sums; else they have a column for each sum, and each tree adds to all. See
        `dforest.core.objective.SumObjective`.
    stored : PackedArrays, optional
        What was packed before, as `arrays` returns it, perhaps by another process; it is checked, and not copied. None: the
        forest's nodes are packed now.
    read_nodes : callable, optional
        What returns the forest's `feature`, `right_child` and `node_offsets`. With `stored`, whose forest may have them
        elsewhere than in memory; it is first called when the number of a node is asked for.
    n_threads : int, default=1
        How many threads may pack trees, or check what is `stored`.
    lines : ndarray of shape (n_values, n_numbers), dtype float64, optional
        As `PackedArrays.lines`, of leaves whose values have rows. None: leaves are constants, or those that are `stored` say.

    Raises
    ------
    TypeError, ValueError
        If values, rows or what is `stored` do not fit the forest.
    """

    def __cinit__(self, forest not None, values not None, rows, bint is_wide=False,
                  const double[::1] baseline=None, stored=None, read_nodes=None, int n_threads=1, lines=None):
        if forest.n_features >= 1 << WIDE_BITS:
            raise ValueError(f"prediction by {forest.n_features} features; allowed are fewer than {1 << WIDE_BITS}")
        self.n_trees = forest.n_trees
        self.n_features = forest.n_features
        self.n_outputs = values.shape[1] if baseline is None else baseline.shape[0]
        if baseline is not None and (values.shape[1] not in (1, self.n_outputs) or self.n_outputs < 1):
            raise ValueError(f"{self.n_outputs} sums of values of {values.shape[1]} columns; allowed are values of one column, "
                             "or of one for each sum")
        self.baseline = baseline
        self.takes_turns = baseline is not None and values.shape[1] == 1
        self.splitter = forest.splitter
        if stored is not None:
            self.read_nodes = read_nodes
            check_packed(forest, stored, n_threads)
            self.adopt_arrays(stored)
        else:
            nodes = forest.feature, forest.right_child, forest.node_offsets
            self.read_nodes = lambda: nodes
            self.adopt_arrays(pack_trees(forest, values, rows, is_wide, n_threads, lines))

    cdef int adopt_arrays(self, arrays) except -1:
        """Predict by these `PackedArrays`."""
        cdef const char[::1] slots = arrays.slots
        cdef const int64_t[::1] starts = arrays.starts
        cdef const uint64_t[::1] words = arrays.words
        self.values, self.bases, self.n_first = LeafValues(arrays.values), arrays.bases, arrays.n_first
        self.depth, self.n_steps = arrays.depth, arrays.n_steps
        self.forest.slots = &slots[0]
        self.forest.starts = &starts[0]
        if words is not None:
            self.forest.words = &words[0]
        self.forest.bits = arrays.bits
        self.forest.is_wide = arrays.is_wide
        self.bounds, self.lines = arrays.bounds, arrays.lines
        if self.lines is not None:
            self.n_terms = <int> ((self.lines.shape[1] - DF_LINE_HEAD) // DF_TERM_NUMBERS)
        self.owned = arrays
        for array in arrays:
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
        return 0

    @property
    def slot_size(self):
        """Bytes of a slot."""
        return slot_size(self.forest.is_wide)

    def arrays(self):
        """What another device or process needs to predict, borrowed and read-only: `PackedArrays`."""
        return self.owned

    @property
    def baselines(self):
        """What sums of leaves are added to: ndarray of shape (n_outputs,), dtype float64; None if predictions are means."""
        return None if self.baseline is None else np.array(self.baseline)

    def node_numbers(self, int n_threads=1):
        """The node in each slot: ndarray of shape (n_nodes + n_trees,), dtype uint32; made at the first call."""
        with cython.critical_section(self):
            if self.node_numbers_ is None:
                self.read_nodes()          # which checks them against what was stored
                self.node_numbers_ = node_numbers(&self.forest, self.n_trees, n_threads)
            return self.node_numbers_

    def mean(self, X not None, int n_threads):
        """The mean over trees of the values of the leaves that each row reaches; or the baseline, and their sum.

        Parameters
        ----------
        X : ndarray of shape (n, n_features), dtype float32 or float64
            C-contiguous.
        n_threads : int

        Returns
        -------
        ndarray of shape (n, n_outputs), dtype float64
        """
        cdef Rows opened = Rows(X, self.n_features)
        result = np.empty((opened.n, self.n_outputs))
        cdef double[:, ::1] out = result
        if opened.n > 0:
            self.predict_rows(opened, &out[0, 0], NULL, n_threads)
        return result

    def add_up(self, X not None, double[:, ::1] sums not None, Py_ssize_t first_tree, Py_ssize_t n_trees, int n_threads):
        """Add the values of the leaves that each row reaches in some trees, in the order of the trees, without a baseline.

        Parameters
        ----------
        X : ndarray of shape (n, n_features), dtype float32 or float64
            C-contiguous.
        sums : ndarray of shape (n, n_outputs), dtype float64
            What is added to, in place.
        first_tree, n_trees : int
            Which trees.
        n_threads : int
        """
        cdef Rows opened = Rows(X, self.n_features)
        cdef Task task
        if sums.shape[0] != opened.n or sums.shape[1] != self.n_outputs:
            raise ValueError(f"sums of shape ({sums.shape[0]}, {sums.shape[1]}), for {opened.n} rows and {self.n_outputs} "
                             "outputs")
        if not (0 <= first_tree and 0 <= n_trees <= self.n_trees - first_tree):
            raise ValueError(f"trees {first_tree} to {first_tree + n_trees - 1} of a forest of {self.n_trees}")
        if opened.n > 0 and n_trees > 0:
            memset(&task, 0, sizeof(Task))
            task.means = &sums[0, 0]
            task.goes_on = True
            task.first_tree = first_tree
            task.n_trees = n_trees
            self.predict_in_parallel(&task, opened, n_threads)

    def most(self, X not None, int n_threads):
        """The output of the largest mean, of equal ones the first: ndarray of shape (n,), dtype int64."""
        cdef Rows opened = Rows(X, self.n_features)
        result = np.empty(opened.n, np.int64)
        cdef int64_t[::1] out = result
        if opened.n > 0:
            self.predict_rows(opened, NULL, &out[0], n_threads)
        return result

    cdef double steps(self, Py_ssize_t n_trees) noexcept nogil:
        """How many steps a row takes down some trees, about."""
        return self.n_steps * n_trees / self.n_trees

    cdef int threads(self, Py_ssize_t n, Py_ssize_t n_trees, int n_threads) noexcept:
        """How many of n_threads threads it is worth to send n rows down some trees."""
        return <int> max(1.0, min(<double> n_threads, 1.0 + n * self.steps(n_trees) / STEPS))

    def is_small(self, Py_ssize_t n):
        """Whether the prediction of n rows is worth no second thread."""
        return self.threads(n, self.n_trees, 2) == 1

    cdef int predict_rows(self, Rows rows, double* means, int64_t* most, int n_threads) except -1:
        """OUT means : [n, n_outputs] means over trees, or NULL; most : [n] the output of the largest mean, or NULL"""
        cdef Task task
        memset(&task, 0, sizeof(Task))
        task.means = means
        task.most = most
        task.n_trees = self.n_trees
        return self.predict_in_parallel(&task, rows, n_threads)

    cdef int predict_in_parallel(self, Task* task, Rows rows, int n_threads) except -1:
        """Do a `Task` of sums, in which only the trees and what is asked for are set yet."""
        cdef QuickScorerTrees quickscorer = None
        cdef Py_ssize_t n_block = max(BLOCK_MIN, min(BLOCK_MAX, BLOCK_BYTES // <Py_ssize_t> rows.rows.stride))
        if (rows.n >= DF_LANES and not self.values.is_listed and self.lines is None
                and self.takes_tiles(2 * max_quickscorer_leaves(&self.forest), task.first_tree, task.n_trees)):
            quickscorer = QuickScorerTrees.of_forest(&self.forest, self.values.table, self.bases, self.n_outputs, task.first_tree,
                                                     task.first_tree + task.n_trees)
            task.quickscorer = <PyObject*> quickscorer
        return self.predict_blocks_in_parallel(task, rows, max(DF_LANES, min(n_block, VALUES // self.n_outputs)), n_threads)

    cdef int predict_blocks_in_parallel(self, Task* task, Rows rows, Py_ssize_t n_block, int n_threads) except -1:
        """Do a `Task` in which only the trees and what is asked for (`means`, `most`, `leaves`, `numbers`) are set yet."""
        cdef Py_ssize_t n = rows.n, n_blocks = (n + n_block - 1) // n_block
        cdef int used = self.threads(n, task.n_trees, n_threads)
        cdef char* room
        if used > 1:
            # Even shares, in blocks as large as that allows.
            n_blocks = (n_blocks + used - 1) // used * used
            n_block = lanes((n + n_blocks - 1) // n_blocks)
            n_blocks = (n + n_block - 1) // n_block
        task.packed = <PyObject*> self
        task.n = n
        task.n_block = n_block
        self.open_paths(rows, used)
        if rows.paths is not None:
            task.sparse = &rows.sparse
            task.paths = <PyObject*> rows.paths
            return parallel_for(skip_block, task, n_blocks, used)
        if not rows.is_sparse:
            task.rows = &rows.rows
            return parallel_for(do_block, task, n_blocks, used)
        task.sparse = &rows.sparse
        task.n_block = n_block = max(1, min(n, n_block, UNPACKED_BYTES // <Py_ssize_t> rows.rows.stride))
        room = <char*> calloc(used * n_block, rows.rows.stride)
        if room == NULL:
            raise MemoryError()
        task.room = df_rows(room, rows.rows.stride, rows.rows.is_double)
        try:
            return parallel_for(do_block, task, (n + n_block - 1) // n_block, used)
        finally:
            free(room)

    cdef int walk_block(self, Py_ssize_t t, const Descent* down, WorkerContext* worker) except -1 nogil:
        """Send rows down tree t."""
        cdef Py_ssize_t i = 0, k = max(DF_LANES, SOME_STEPS // self.depth[t])
        if self.splitter is not None:
            walk_tests(&self.forest, t, self.splitter, down)
            return poll(worker, down.n * self.depth[t])
        while i < down.n:
            k = min(k, down.n - i)
            df_walk_rows(&self.forest, t, self.n_first[t], down.rows, down.numbers + i if down.numbers != NULL else NULL,
                         down.first + i, k, down.at + i, down.left, down.mode)
            poll(worker, k * self.depth[t])
            i += k
        return 0

    cdef int walk_sparse(self, Py_ssize_t t, Rows rows, const Descent* down, WorkerContext* worker) except -1 nogil:
        """Send sparse rows down tree t.

        Some rows at a time are unpacked (sparse_rows.h), walk as dense rows do, and are cleared again; or all of them look up
        the values that they need, from the path of a row of zeros on (zero_paths.h). `down.rows` is not used.
        """
        if rows.paths is not None:
            return self.walk_zero_paths(t, rows, down, worker)
        cdef Py_ssize_t i = 0, k = max(1, min(down.n, SOME_BYTES // <Py_ssize_t> rows.rows.stride))
        cdef char* room = <char*> calloc(k, rows.rows.stride)
        cdef df_rows unpacked = df_rows(room, rows.rows.stride, rows.rows.is_double)
        cdef Descent block
        cdef const uint32_t* numbers
        try:
            if room == NULL:
                with gil:
                    raise MemoryError()
            while i < down.n:
                k = min(k, down.n - i)
                numbers = down.numbers + i if down.numbers != NULL else NULL
                block = Descent(&unpacked, NULL, 0, k, down.mode, down.at + i, down.left)
                df_unpack_rows(&rows.sparse, numbers, down.first + i, k, &unpacked, False)
                self.walk_block(t, &block, worker)
                df_unpack_rows(&rows.sparse, numbers, down.first + i, k, &unpacked, True)
                i += k
        finally:
            free(room)
        return 0

    cdef int open_paths(self, Rows rows, int n_threads) except -1:
        """Have rows go down zero paths, if they store so few values that this takes less time."""
        cdef double n_stored, skips_up_to = SKIPS_UP_TO
        if not rows.is_sparse or rows.n == 0 or self.splitter is not None or self.lines is not None:   # who look at whole rows
            return 0
        n_stored = <double> (rows.sparse.starts[rows.n] - rows.sparse.starts[0])
        if n_stored > skips_up_to * rows.n * self.n_features:
            return 0
        with cython.critical_section(self):
            if self.paths_ is None:
                self.paths_ = zero_paths(&self.forest, self.n_trees, n_threads)
            rows.paths = self.paths_
        return 0

    cdef int walk_zero_paths(self, Py_ssize_t t, Rows rows, const Descent* down, WorkerContext* worker) except -1 nogil:
        """`walk_sparse` for rows that go down zero paths."""
        cdef df_hash_table table
        cdef Py_ssize_t i, row
        df_clear_table(&table)
        for i in range(down.n):
            row = down.numbers[i] if down.numbers != NULL else down.first + i
            df_fill_table(&table, &rows.sparse, row, False)
            down.at[i] = rows.paths.walk(t, &rows.sparse, row, &table).slot
            df_fill_table(&table, &rows.sparse, row, True)
        return poll(worker, down.n * self.depth[t])

    cdef int skip_rows(self, const Task* task, Py_ssize_t first, Py_ssize_t n, WorkerContext* worker) except -1 nogil:
        """Predict n rows of a `Task` from the first one on, which go down zero paths, or tell their leaves."""
        cdef Py_ssize_t i, k, t, from_tree = task.first_tree, to_tree, end = task.first_tree + task.n_trees
        cdef Py_ssize_t n_outputs = self.n_outputs
        cdef const int64_t* starts = self.forest.starts
        cdef df_hash_table table
        cdef const df_stop* leaf
        cdef double* room = NULL
        cdef double* sums = NULL
        df_clear_table(&table)
        if task.leaves == NULL:
            sums = task.means + first * n_outputs
            if task.means == NULL:
                sums = room = <double*> malloc(n * n_outputs * sizeof(double))
                if room == NULL:
                    with gil:
                        raise MemoryError()
            if not task.goes_on:
                memset(sums, 0, n * n_outputs * sizeof(double))
        try:
            while from_tree < end:
                to_tree = from_tree + 1
                while to_tree < end and starts[to_tree + 1] - starts[from_tree] <= SKIPPED_SLOTS:
                    to_tree += 1
                for i in range(n):
                    df_fill_table(&table, task.sparse, first + i, False)
                    for t in range(from_tree, to_tree):
                        leaf = (<ZeroPaths> task.paths).walk(t, task.sparse, first + i, &table)
                        if task.leaves != NULL:
                            task.leaves[(first + i) * self.n_trees + t] = task.numbers[starts[t] + leaf.slot]
                            continue
                        k = i * n_outputs + (t % n_outputs if self.takes_turns else 0)
                        self.values.add(self.bases[t] + leaf.other, sums + k)
                    df_fill_table(&table, task.sparse, first + i, True)
                    poll(worker, (to_tree - from_tree) * (ROW_STEPS + n_outputs))
                from_tree = to_tree
            if task.leaves == NULL:
                self.finish(task, first, n, sums)
        finally:
            free(room)
        return 0

    cdef bint takes_tiles(self, Py_ssize_t max_slots, Py_ssize_t first_tree, Py_ssize_t n_trees) noexcept nogil:
        """Whether rows are worth a copy in tiles: if there are many steps, and trees have at most max_slots slots on average."""
        return (self.splitter is None and self.n_features <= DF_MAX_PLACES
                and self.steps(n_trees) >= STEPS_PER_FEATURE * self.n_features
                and self.forest.starts[first_tree + n_trees] - self.forest.starts[first_tree] <= max_slots * n_trees)

    @cython.final
    cdef void add_leaves(self, Py_ssize_t t, const uint32_t* at, const df_rows* X, Py_ssize_t first, Py_ssize_t n,
                         double* sums) noexcept nogil:
        """Add what tree t says of n rows of X from the first one on, which have reached the leaves at `at`.

        INOUT sums : [n, n_outputs]; or, if trees take turns, [n_outputs, n]
        """
        cdef const char* tree = df_tree(&self.forest, t)
        cdef Py_ssize_t i, row
        if self.lines is not None:
            if self.takes_turns:
                sums += t % self.n_outputs * n
            for i in range(n):
                row = self.bases[t] + df_value_row(tree, at[i], &self.forest)
                sums[i] += df_linear_value(self.values.table[row, 0], &self.lines[row, 0], self.n_terms,
                                           X.x + (first + i) * X.stride, X.is_double)
        elif self.values.is_listed:
            for i in range(n):
                self.values.add(self.bases[t] + df_value_row(tree, at[i], &self.forest), sums + i * self.n_outputs)
        elif self.takes_turns:
            df_add_values(&self.forest, t, at, n, &self.values.table[self.bases[t], 0], 1, sums + t % self.n_outputs * n)
        else:
            df_add_values(&self.forest, t, at, n, &self.values.table[self.bases[t], 0], self.n_outputs, sums)

    cdef int predict_block(self, const Task* task, const Descent* rows, Py_ssize_t first, WorkerContext* worker) except -1 nogil:
        """Predict the rows of a `Task` from the first one on, which lie where `rows` says."""
        cdef Py_ssize_t n = rows.n, n_outputs = self.n_outputs, i, k
        # Few rows may go down many trees at a time, if that leaves fewer lanes without work; else many rows go down one tree.
        cdef bint by_row = n < DF_LANES and n * lanes(task.n_trees) < task.n_trees * DF_LANES and self.splitter is None
        cdef bint by_output = self.takes_turns and n_outputs > 1 and not by_row    # sums are [n_outputs, n] meanwhile
        cdef double* room = <double*> malloc(2 * n * n_outputs * sizeof(double))
        cdef double* sums = room if task.means == NULL else task.means + first * n_outputs
        cdef double* turned = room + n * n_outputs
        try:
            if room == NULL:
                with gil:
                    raise MemoryError()
            if not task.goes_on:
                memset(sums, 0, n * n_outputs * sizeof(double))
            if by_row:
                self.add_by_row(task, rows, sums, worker)
            elif by_output:
                for k in range(n_outputs):
                    for i in range(n):
                        turned[k * n + i] = sums[i * n_outputs + k]
                self.add_by_tree(task, rows, turned, worker)
                for i in range(n):
                    for k in range(n_outputs):
                        sums[i * n_outputs + k] = turned[k * n + i]
            else:
                self.add_by_tree(task, rows, sums, worker)
            self.finish(task, first, n, sums)
        finally:
            free(room)
        return 0

    cdef int add_by_row(self, const Task* task, const Descent* rows, double* sums, WorkerContext* worker) except -1 nogil:
        """Add the values of the leaves that rows reach, row by row. INOUT sums : [n, n_outputs]"""
        cdef Py_ssize_t t, i
        cdef df_packed forest = self.forest        # from the first tree on
        cdef uint32_t* at = <uint32_t*> malloc(lanes(task.n_trees) * sizeof(uint32_t))
        if at == NULL:
            with gil:
                raise MemoryError()
        forest.starts += task.first_tree
        try:
            for i in range(rows.n):
                df_walk_trees(&forest, task.n_trees, rows.rows, rows.first + i, at, rows.mode)
                for t in range(task.n_trees):
                    self.add_leaves(task.first_tree + t, at + t, rows.rows, rows.first + i, 1, sums + i * self.n_outputs)
                poll(worker, task.n_trees * (ROW_STEPS + self.n_outputs))
        finally:
            free(at)
        return 0

    cdef int add_by_tree(self, const Task* task, const Descent* rows, double* sums, WorkerContext* worker) except -1 nogil:
        """Add the values of the leaves that rows reach, tree by tree. INOUT sums : as of `add`"""
        cdef Py_ssize_t n = rows.n, t = task.first_tree, end = task.first_tree + task.n_trees, run_end, n_slots
        # Trees of at most max_slots slots are copied, and rows go down them in tiles.
        cdef Py_ssize_t max_slots = min(SLOTS_PER_ROW * n, <Py_ssize_t> DF_MAX_KEYED)
        cdef Py_ssize_t n_tiles = lanes(n) * self.n_features * (2 if self.forest.is_wide else 1)
        if rows.mode != DF_NUMBERS or self.forest.is_wide or not self.takes_tiles(max_slots, t, task.n_trees):
            max_slots = 0
        if max_slots == 0 and task.quickscorer == NULL:
            n_tiles = 0
        # Keys in tiles have 32 bits, or 64.
        cdef uint32_t* at = <uint32_t*> malloc(2 * lanes(n) * sizeof(uint32_t) + max_slots * sizeof(df_keyed)
                                               + n_tiles * sizeof(uint32_t))
        cdef df_keyed* keyed = <df_keyed*> (at + 2 * lanes(n))
        cdef uint32_t* tiles = <uint32_t*> (keyed + max_slots)
        cdef Descent down = Descent(rows.rows, NULL, rows.first, n, rows.mode, at, at + lanes(n))
        if at == NULL:
            with gil:
                raise MemoryError()
        try:
            if n_tiles > 0 and self.forest.is_wide:
                df_fill_tiles64(rows.rows, rows.first, n, self.n_features, <uint64_t*> tiles)
            elif n_tiles > 0:
                df_fill_tiles32(rows.rows, rows.first, n, self.n_features, tiles)
            while t < end:
                run_end = (<QuickScorerTrees> task.quickscorer).end_of_run(t, end) if task.quickscorer != NULL else t
                if run_end > t:
                    (<QuickScorerTrees> task.quickscorer).add_predictions(t, run_end, rows.mode != DF_NUMBERS, tiles,
                                                                          self.n_features, n, sums)
                    poll(worker, n * (run_end - t) * self.n_outputs)
                    t = run_end
                    continue
                n_slots = self.forest.starts[t + 1] - self.forest.starts[t]
                if n_slots <= max_slots:
                    df_key_slots(&self.forest, t, n_slots, keyed)
                    df_walk_tiles(keyed, self.n_first[t], tiles, self.n_features, n, at, down.left)
                    poll(worker, n * self.depth[t])
                else:
                    self.walk_block(t, &down, worker)
                self.add_leaves(t, at, rows.rows, rows.first, n, sums)
                poll(worker, n * self.n_outputs)
                t += 1
        finally:
            free(at)
        return 0

    cdef void finish(self, const Task* task, Py_ssize_t first, Py_ssize_t n, double* sums) noexcept nogil:
        """Make of the sums over trees of n rows of a `Task`, from the first one on, what is asked for."""
        cdef Py_ssize_t i, k, best, n_outputs = self.n_outputs
        if task.goes_on:
            return
        if self.baseline is None:
            for i in range(n * n_outputs):
                sums[i] /= <double> task.n_trees
            if self.bounds is not None:
                for i in range(n):
                    for k in range(n_outputs):
                        sums[i * n_outputs + k] = df_clip(sums[i * n_outputs + k], self.bounds[0, k], self.bounds[1, k])
        else:
            for i in range(n):
                for k in range(n_outputs):
                    sums[i * n_outputs + k] += self.baseline[k]
        if task.most != NULL:
            for i in range(n):
                best = 0
                for k in range(1, n_outputs):
                    if sums[i * n_outputs + k] > sums[i * n_outputs + best]:
                        best = k
                task.most[first + i] = best

    def apply(self, X not None, int n_threads):
        """The number of the leaf's node, by row and tree: ndarray of shape (n, n_trees), dtype int64."""
        cdef Rows opened = Rows(X, self.n_features)
        result = np.empty((opened.n, self.n_trees), np.int64)
        cdef int64_t[:, ::1] out = result
        cdef const uint32_t[::1] numbers = self.node_numbers(n_threads)
        cdef Task task
        if opened.n > 0:
            memset(&task, 0, sizeof(Task))
            task.leaves = &out[0, 0]
            task.numbers = &numbers[0]
            task.n_trees = self.n_trees
            self.predict_blocks_in_parallel(&task, opened, BLOCK_MIN, n_threads)
        return result

    cdef int apply_block(self, const Task* task, const Descent* rows, Py_ssize_t first, WorkerContext* worker) except -1 nogil:
        """Tell the leaves of the rows of a `Task` from the first one on, which lie where `rows` says."""
        cdef uint32_t at[BLOCK_MIN]
        cdef uint32_t left[BLOCK_MIN]
        cdef Descent down = Descent(rows.rows, NULL, rows.first, rows.n, rows.mode, &at[0], &left[0])
        cdef Py_ssize_t t, i, n_trees = self.n_trees
        cdef const uint32_t* numbers
        cdef int64_t* leaves
        for t in range(n_trees):
            self.walk_block(t, &down, worker)
            numbers = task.numbers + self.forest.starts[t]
            leaves = task.leaves + first * n_trees + t
            for i in range(rows.n):
                leaves[i * n_trees] = numbers[at[i]]
        return 0

    def paths(self, leaf not None):
        """The nodes that rows pass, over all trees: see `paths_to`."""
        return paths_to(*self.read_nodes(), leaf)


cdef int do_block(void* context, Py_ssize_t block, WorkerContext* worker) except -1 nogil:
    """Predict a block of the rows of a `Task`."""
    cdef const Task* task = <const Task*> context
    cdef Py_ssize_t first = block * task.n_block, n = min(task.n_block, task.n - first)
    cdef const df_packed* forest = &(<PackedForest> task.packed).forest
    cdef df_rows unpacked
    cdef int mode
    if task.sparse == NULL:
        mode = df_mode(forest, task.rows, first, n, (<PackedForest> task.packed).n_features)
        return do_rows(task, Descent(task.rows, NULL, first, n, mode, NULL, NULL), first, worker)
    mode = df_sparse_mode(forest, task.sparse, first, n)
    unpacked = df_rows(task.room.x + worker.number * task.n_block * task.room.stride, task.room.stride, task.room.is_double)
    df_unpack_rows(task.sparse, NULL, first, n, &unpacked, False)
    do_rows(task, Descent(&unpacked, NULL, 0, n, mode, NULL, NULL), first, worker)
    df_unpack_rows(task.sparse, NULL, first, n, &unpacked, True)
    return 0


cdef int skip_block(void* context, Py_ssize_t block, WorkerContext* worker) except -1 nogil:
    """Predict a block of the rows of a `Task`, which go down zero paths."""
    cdef const Task* task = <const Task*> context
    cdef Py_ssize_t first = block * task.n_block
    return (<PackedForest> task.packed).skip_rows(task, first, min(task.n_block, task.n - first), worker)


cdef inline int do_rows(const Task* task, Descent rows, Py_ssize_t first, WorkerContext* worker) except -1 nogil:
    """Predict some rows of a `Task`, given where they lie, and the number of the first of them."""
    if task.leaves != NULL:
        return (<PackedForest> task.packed).apply_block(task, &rows, first, worker)
    return (<PackedForest> task.packed).predict_block(task, &rows, first, worker)


cdef inline Py_ssize_t lanes(Py_ssize_t n) noexcept nogil:
    """The next multiple of DF_LANES."""
    return (n + DF_LANES - 1) // DF_LANES * DF_LANES
