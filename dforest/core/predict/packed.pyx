"""Prediction: rows down packed trees, on many threads.

A block of rows passes all trees before the next block starts, so that a tree is fetched once per
block; a row's sum over trees is formed by one thread in the order of the trees, so it has the same
bits on any number of threads. How a row goes down a tree, and what slots are: see `walk.h`; how many
rows without missing values go down trees that are small for so many: `tiles.h`.

A `PackedForest` owns its slots and leaf values, read only; any number of threads may use one.
"""
cimport cython
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.loops cimport loops
from dforest.core.threads cimport Turn, current_turn, poll, share
from dforest.core.predict.walk cimport (
    DF_LANES, DF_MOST_KEYED, DF_MOST_MARKED, DF_MOST_PLACES, DF_NUMBERS, DF_VALUE_ROWS, df_add_numbers, df_add_values,
    df_child, df_fill_tiles32, df_fill_tiles64, df_is_leaf, df_key_slots, df_keyed, df_mark_tree, df_marked, df_mode,
    df_packed, df_place, df_sparse_mode, df_tree, df_unpack_rows, df_walk_rows, df_walk_tiles, df_walk_trees,
)

from dforest.core.predict.packed_check import check_packed
from dforest.core.predict.packing import (
    WIDE_BITS, PackedArrays, empty_aligned, is_float32, payload_words, slot_bits, slot_numbers, slot_size, steps_of_rows,
    write_slots,
)
from dforest.core.sparse_rows import SparseRows

cdef enum:
    BLOCK_BYTES = 1 << 18     # of X in a block: beside them, a tree has room in a cache ...
    BLOCK_LEAST = 128         # ... but a block has at least this many rows, the last one excepted,
    BLOCK_MOST = 4096         # ... and at most this many
    UNPACKED_BYTES = 1 << 25  # of sparse rows that a thread unpacks at a time,
    SOME_BYTES = 1 << 22      # or for one tree; but one row at least
    STEPS = 1 << 17           # steps down trees that are worth another thread
    TESTED = 1024             # rows that a splitter tests at a time
    SOME_STEPS = 1 << 24      # steps that rows take together, at most, until it is asked whether to give up; 16 rows take any
    ROW_STEPS = 16            # steps of a row down a tree, about
    VALUES = 1 << 17          # sums of a block, rows times outputs, at most
    STEPS_PER_FEATURE = 2     # steps of a row down all trees that are worth its copy in a tile
    SLOTS_PER_ROW = 4         # of a tree that is worth a copy with keys

cdef struct Reached:          # a node, and which rows reach it
    uint32_t at
    Py_ssize_t start, end


cdef class PackedForest:
    """A forest made ready to predict.

    Parameters
    ----------
    forest : Forest
    values : ndarray of shape (n_values, n_outputs), dtype float64
        What leaves add to the prediction.
    rows : ndarray of shape (n_leaf_nodes,), dtype uint32
        Which row of the values each leaf adds, in the order of the nodes.
    is_wide : bool
        Whether slots have 16 bytes even where 8 would do.
    baseline : ndarray of shape (n_sums,), dtype float64, optional
        What predictions are sums of leaves and of, instead of means over trees. Trees take turns at the sums: tree t adds to
        sum t % n_sums. Values have one column then. See `dforest.core.objective.SumObjective`.
    stored : PackedArrays, optional
        What was packed before, as `arrays` returns it, perhaps by another process; it is checked, and not copied. None: the
        forest's nodes are packed now.
    read_nodes : callable, optional
        What returns the forest's `feature`, `right_child` and `node_offsets`. With `stored`, whose forest may have them
        elsewhere than in memory; it is first called when the number of a node is asked for.
    n_threads : int, default=1
        How many threads may check what is `stored`.

    Raises
    ------
    TypeError, ValueError
        If values, rows or what is `stored` do not fit the forest.
    """

    def __cinit__(self, forest not None, const double[:, ::1] values not None, rows, bint is_wide=False,
                  const double[::1] baseline=None, stored=None, read_nodes=None, int n_threads=1):
        if forest.n_features >= 1 << WIDE_BITS:
            raise ValueError(f"prediction by {forest.n_features} features; allowed are fewer than {1 << WIDE_BITS}")
        self.n_trees = forest.n_trees
        self.n_features = forest.n_features
        self.n_outputs = values.shape[1] if baseline is None else baseline.shape[0]
        if baseline is not None and (values.shape[1] != 1 or self.n_outputs < 1):
            raise ValueError(f"{self.n_outputs} sums of values of {values.shape[1]} columns; allowed are sums of single values")
        self.baseline = baseline
        self.values = values
        self.splitter = forest.splitter
        if stored is not None:
            self.read_nodes = read_nodes
            check_packed(forest, stored, n_threads)
            self.take(stored)
        else:
            nodes = forest.feature, forest.right_child, forest.node_offsets
            self.read_nodes = lambda: nodes
            self.pack(forest, rows, is_wide)

    cdef int pack(self, forest, rows, bint is_wide) except -1:
        offsets, leaf = forest.node_offsets, forest.feature < 0
        starts = offsets + np.arange(self.n_trees + 1)
        if len(rows) != leaf.sum() or rows.max() >= len(self.values):
            raise ValueError(f"{leaf.sum()} leaves, {len(rows)} rows up to {rows.max(initial=0)} of {len(self.values)} values")
        first_leaf = np.append(0, np.cumsum(leaf))[offsets[: self.n_trees]]
        bases = np.minimum.reduceat(rows, first_leaf).astype(np.int64)
        highest = np.maximum.reduceat(rows, first_leaf)
        is_wide = (is_wide or np.diff(offsets).max() >= 1 << max(0, 30 - slot_bits(self.n_features, False))
                   or (highest - bases).max() >= DF_VALUE_ROWS or not is_float32(forest.threshold))
        bits = slot_bits(self.n_features, is_wide)
        words, places = None, np.empty(0, np.int64)
        if len(forest.payload_offsets) > 1:
            words, places = payload_words(forest)
        slots = empty_aligned((len(leaf) + self.n_trees) * slot_size(is_wide))
        write_slots(slots, starts, bits, is_wide, bases, slot_numbers(forest.feature, forest.right_child, offsets),
                    forest.feature, forest.threshold, forest.missing_left.view(np.uint8), offsets, rows, places,
                    forest.n_categories, self.splitter is not None)
        n_first, depth, n_steps = steps_of_rows(forest.feature, forest.link, offsets, forest.leaf_draws)
        self.take(PackedArrays(slots, starts, words, bits, is_wide, n_first, depth, n_steps, np.asarray(self.values), bases))
        return 0

    cdef int take(self, arrays) except -1:
        """Predict by these `PackedArrays`, of which `values` are there already."""
        cdef const char[::1] slots = arrays.slots
        cdef const int64_t[::1] starts = arrays.starts
        cdef const uint64_t[::1] words = arrays.words
        self.bases, self.n_first, self.depth, self.n_steps = arrays.bases, arrays.n_first, arrays.depth, arrays.n_steps
        self.forest.slots = &slots[0]
        self.forest.starts = &starts[0]
        if words is not None:
            self.forest.words = &words[0]
        self.forest.bits = arrays.bits
        self.forest.is_wide = arrays.is_wide
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

    @property
    def node_numbers(self):
        """The node in each slot: ndarray of shape (n_nodes + n_trees,), dtype uint32; made at the first call."""
        if self.node_numbers_ is None:
            feature, right_child, offsets = self.read_nodes()
            tree = np.repeat(np.arange(self.n_trees), np.diff(offsets))
            numbers = np.zeros(len(feature) + self.n_trees, np.uint32)
            numbers[offsets[tree] + tree + slot_numbers(feature, right_child, offsets)] = np.arange(len(feature)) - offsets[tree]
            numbers.setflags(write=False)
            self.node_numbers_ = numbers
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
        cdef Rows opened = Rows(X, self)
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
        cdef Rows opened = Rows(X, self)
        cdef Job job
        if sums.shape[0] != opened.n or sums.shape[1] != self.n_outputs:
            raise ValueError(f"sums of shape ({sums.shape[0]}, {sums.shape[1]}), for {opened.n} rows and {self.n_outputs} "
                             "outputs")
        if not (0 <= first_tree and 0 <= n_trees <= self.n_trees - first_tree):
            raise ValueError(f"trees {first_tree} to {first_tree + n_trees - 1} of a forest of {self.n_trees}")
        if opened.n > 0 and n_trees > 0:
            memset(&job, 0, sizeof(Job))
            job.means = &sums[0, 0]
            job.goes_on = True
            job.first_tree = first_tree
            job.n_trees = n_trees
            self.share_rows(&job, opened, n_threads)

    def most(self, X not None, int n_threads):
        """The output of the largest mean, of equal ones the first: ndarray of shape (n,), dtype int64."""
        cdef Rows opened = Rows(X, self)
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
        cdef Job job
        memset(&job, 0, sizeof(Job))
        job.means = means
        job.most = most
        job.n_trees = self.n_trees
        return self.share_rows(&job, rows, n_threads)

    cdef int share_rows(self, Job* job, Rows rows, int n_threads) except -1:
        """Do a job of sums, in which no more is set yet than what is asked for, and the trees."""
        cdef Py_ssize_t n_block = max(BLOCK_LEAST, min(BLOCK_MOST, BLOCK_BYTES // <Py_ssize_t> rows.rows.stride))
        return self.share_blocks(job, rows, max(DF_LANES, min(n_block, VALUES // self.n_outputs)), n_threads)

    cdef int share_blocks(self, Job* job, Rows rows, Py_ssize_t n_block, int n_threads) except -1:
        """Do a job, of which no more is set yet than the trees, and what is asked for (`means`, `most`, `leaves`, `numbers`)."""
        cdef Py_ssize_t n = rows.n, n_blocks = (n + n_block - 1) // n_block
        cdef int used = self.threads(n, job.n_trees, n_threads)
        cdef char* room
        if used > 1:
            # Even shares, in blocks as large as that allows.
            n_blocks = (n_blocks + used - 1) // used * used
            n_block = lanes((n + n_blocks - 1) // n_blocks)
            n_blocks = (n + n_block - 1) // n_block
        job.packed = <PyObject*> self
        job.n = n
        job.n_block = n_block
        if not rows.is_sparse:
            job.rows = &rows.rows
            return share(do_block, job, n_blocks, used)
        job.sparse = &rows.sparse
        job.n_block = n_block = max(1, min(n, n_block, UNPACKED_BYTES // <Py_ssize_t> rows.rows.stride))
        room = <char*> calloc(used * n_block, rows.rows.stride)
        if room == NULL:
            raise MemoryError()
        job.room = df_rows(room, rows.rows.stride, rows.rows.is_double)
        try:
            return share(do_block, job, (n + n_block - 1) // n_block, used)
        finally:
            free(room)

    cdef int walk(self, Py_ssize_t t, const Descent* down, Turn* turn) except -1 nogil:
        """Send rows down tree t."""
        cdef Py_ssize_t i = 0, k = max(DF_LANES, SOME_STEPS // self.depth[t])
        if self.splitter is not None:
            self.walk_tests(t, down)
            return poll(turn, down.n * self.depth[t])
        while i < down.n:
            k = min(k, down.n - i)
            df_walk_rows(&self.forest, t, self.n_first[t], down.rows, down.numbers + i if down.numbers != NULL else NULL,
                         down.first + i, k, down.at + i, down.left, down.mode)
            poll(turn, k * self.depth[t])
            i += k
        return 0

    cdef int walk_sparse(self, Py_ssize_t t, Rows rows, const Descent* down, Turn* turn) except -1 nogil:
        """Send sparse rows down tree t: `walk`, but for `down.rows`, which are not looked at."""
        cdef Py_ssize_t i = 0, k = max(1, min(down.n, SOME_BYTES // <Py_ssize_t> rows.rows.stride))
        cdef char* room = <char*> calloc(k, rows.rows.stride)
        cdef df_rows unpacked = df_rows(room, rows.rows.stride, rows.rows.is_double)
        cdef Descent some
        cdef const uint32_t* numbers
        try:
            if room == NULL:
                with gil:
                    raise MemoryError()
            while i < down.n:
                k = min(k, down.n - i)
                numbers = down.numbers + i if down.numbers != NULL else NULL
                some = Descent(&unpacked, NULL, 0, k, down.mode, down.at + i, down.left)
                df_unpack_rows(&rows.sparse, numbers, down.first + i, k, &unpacked, False)
                self.walk(t, &some, turn)
                df_unpack_rows(&rows.sparse, numbers, down.first + i, k, &unpacked, True)
                i += k
        finally:
            free(room)
        return 0

    cdef int walk_tests(self, Py_ssize_t t, const Descent* down) except -1 nogil:
        """Send rows down tree t, whose splitter tells where they go: a node, with all rows that reach it, at a time.

        The rows of a node are a run of `order`. A node reached by the rows 0, 2, 5 and 7, of which 2 and 7 go left, leaves

            order:   | ...... |   2   7   |   0   5    | ...... |
                              from        middle       to

        and both runs wait on the stack, the left one on top.
        """
        cdef Py_ssize_t n = down.n
        cdef const df_packed* forest = &self.forest
        cdef const char* tree = df_tree(forest, t)
        cdef uint32_t row[TESTED]
        cdef uint8_t is_left[TESTED]
        cdef uint32_t* order = <uint32_t*> malloc(2 * (n + 1) * sizeof(uint32_t))
        cdef uint32_t* right = order + n
        cdef Reached* stack = <Reached*> malloc((n + 1) * sizeof(Reached))     # each has rows of its own
        cdef Py_ssize_t m = n > 0, i, j, k, middle, n_right        # m: nodes on the stack
        cdef Reached here
        cdef uint32_t place, child
        try:
            if order == NULL or stack == NULL:
                with gil:
                    raise MemoryError()
            for i in range(n):
                order[i] = <uint32_t> i
            stack[0] = Reached(1, 0, n)
            while m > 0:
                m -= 1
                here = stack[m]
                if df_is_leaf(tree, here.at, forest):
                    for i in range(here.start, here.end):
                        down.at[order[i]] = here.at
                    continue
                place = df_place(tree, here.at, forest)
                middle = here.start
                n_right = 0
                i = here.start
                while i < here.end:
                    k = min(<Py_ssize_t> TESTED, here.end - i)
                    for j in range(k):
                        row[j] = down.numbers[order[i + j]] if down.numbers != NULL else <uint32_t> (down.first + order[i + j])
                    self.splitter.goes_left(forest.words + place + 1, <Py_ssize_t> forest.words[place], down.rows, row, k,
                                            is_left)
                    for j in range(k):
                        right[n_right] = order[i + j]
                        order[middle] = order[i + j]
                        middle += is_left[j] != 0
                        n_right += is_left[j] == 0
                    i += k
                memcpy(order + middle, right, n_right * sizeof(uint32_t))
                child = df_child(tree, here.at, forest)
                if middle < here.end:
                    stack[m] = Reached(child + 1, middle, here.end)
                    m += 1
                if here.start < middle:
                    stack[m] = Reached(child, here.start, middle)
                    m += 1
        finally:
            free(order)
            free(stack)
        return 0

    cdef bint takes_tiles(self, Py_ssize_t most_slots, Py_ssize_t first_tree, Py_ssize_t n_trees) noexcept nogil:
        """Whether rows are worth a copy in tiles: if there are many steps, and trees mostly of so many slots."""
        return (self.splitter is None and self.n_features <= DF_MOST_PLACES
                and self.steps(n_trees) >= STEPS_PER_FEATURE * self.n_features
                and self.forest.starts[first_tree + n_trees] - self.forest.starts[first_tree] <= most_slots * n_trees)

    cdef bint mark(self, Py_ssize_t t, Py_ssize_t n, bint has_missing, const void* tiles, uint32_t* at) noexcept nogil:
        """Send n rows in tiles down tree t by marks; whether it has few leaves, and no tests of categories."""
        cdef df_marked tests[DF_MOST_MARKED]
        cdef uint32_t leaves[DF_MOST_MARKED]
        cdef size_t size = self.n_features * DF_LANES
        cdef int n_tests = df_mark_tree(&self.forest, t, most_marked(&self.forest), tests, leaves)
        if n_tests < 0:
            return False
        if self.forest.is_wide:
            loops.mark64(has_missing, tests, n_tests, leaves, <const uint64_t*> tiles, size, n, at)
        else:
            loops.mark32(has_missing, tests, n_tests, leaves, <const uint32_t*> tiles, size, n, at)
        return True

    @cython.final
    cdef void add(self, Py_ssize_t t, const uint32_t* at, Py_ssize_t n, double* sums) noexcept nogil:
        """Add what tree t says of n rows, which have reached the leaves at `at`."""
        if self.baseline is None:
            df_add_values(&self.forest, t, at, n, &self.values[self.bases[t], 0], self.n_outputs, sums)
        else:
            df_add_numbers(&self.forest, t, at, n, &self.values[self.bases[t], 0], self.n_outputs, sums + t % self.n_outputs)

    cdef int predict_block(self, const Job* job, const Descent* rows, Py_ssize_t first, Turn* turn) except -1 nogil:
        """Predict the rows of a job from the first one on, which lie where `rows` says."""
        cdef Py_ssize_t n = rows.n, n_outputs = self.n_outputs, n_trees = job.n_trees, end = job.first_tree + job.n_trees
        cdef Py_ssize_t t, i, k, best
        cdef df_packed forest = self.forest        # from the first tree on
        # One row down many trees at a time, or many rows down one: the one that leaves fewer lanes without work.
        cdef bint by_row = n * lanes(n_trees) < n_trees * lanes(n) and self.splitter is None
        cdef int mode = rows.mode
        cdef Py_ssize_t n_at = lanes(max(n, n_trees)), n_slots
        # Trees of at most so many slots are copied, and go to rows in tiles.
        cdef Py_ssize_t most_slots = min(SLOTS_PER_ROW * n, <Py_ssize_t> DF_MOST_KEYED)
        cdef Py_ssize_t n_tiles = lanes(n) * self.n_features * (2 if forest.is_wide else 1)
        # Trees of at most so many slots go to rows by marks.
        cdef Py_ssize_t most_marks = 2 * most_marked(&forest)
        if by_row or not self.takes_tiles(most_marks, job.first_tree, n_trees):
            most_marks = 0
        if by_row or mode != DF_NUMBERS or forest.is_wide or not self.takes_tiles(most_slots, job.first_tree, n_trees):
            most_slots = 0
        if most_slots == 0 and most_marks == 0:
            n_tiles = 0
        # Keys in tiles have 32 bits, or 64.
        cdef uint32_t* at = <uint32_t*> malloc(2 * n_at * sizeof(uint32_t) + n * n_outputs * sizeof(double)
                                               + most_slots * sizeof(df_keyed) + n_tiles * sizeof(uint32_t))
        cdef double* room = <double*> (at + 2 * n_at)
        cdef double* sums = room if job.means == NULL else job.means + first * n_outputs
        cdef df_keyed* keyed = <df_keyed*> (room + n * n_outputs)
        cdef uint32_t* tiles = <uint32_t*> (keyed + most_slots)
        cdef Descent down = Descent(rows.rows, NULL, rows.first, n, mode, at, at + n_at)
        if at == NULL:
            with gil:
                raise MemoryError()
        forest.starts += job.first_tree
        try:
            if not job.goes_on:
                memset(sums, 0, n * n_outputs * sizeof(double))
            if by_row:
                for i in range(n):
                    df_walk_trees(&forest, n_trees, rows.rows, rows.first + i, at, mode)
                    for t in range(n_trees):
                        self.add(job.first_tree + t, at + t, 1, sums + i * n_outputs)
                    poll(turn, n_trees * (ROW_STEPS + n_outputs))
            else:
                if n_tiles > 0 and forest.is_wide:
                    df_fill_tiles64(rows.rows, rows.first, n, self.n_features, <uint64_t*> tiles)
                elif n_tiles > 0:
                    df_fill_tiles32(rows.rows, rows.first, n, self.n_features, tiles)
                for t in range(job.first_tree, end):
                    n_slots = self.forest.starts[t + 1] - self.forest.starts[t]
                    if n_slots <= most_marks and self.mark(t, n, mode != DF_NUMBERS, tiles, at):
                        poll(turn, n * self.depth[t])
                    elif n_slots <= most_slots:
                        df_key_slots(&self.forest, t, n_slots, keyed)
                        df_walk_tiles(keyed, self.n_first[t], tiles, self.n_features, n, at, down.left)
                        poll(turn, n * self.depth[t])
                    else:
                        self.walk(t, &down, turn)
                    self.add(t, at, n, sums)
                    poll(turn, n * n_outputs)
            if job.goes_on:
                return 0
            if self.baseline is None:
                for i in range(n * n_outputs):
                    sums[i] /= <double> n_trees
            else:
                for i in range(n):
                    for k in range(n_outputs):
                        sums[i * n_outputs + k] += self.baseline[k]
            if job.most != NULL:
                for i in range(n):
                    best = 0
                    for k in range(1, n_outputs):
                        if sums[i * n_outputs + k] > sums[i * n_outputs + best]:
                            best = k
                    job.most[first + i] = best
        finally:
            free(at)
        return 0

    def apply(self, X not None, int n_threads):
        """The number of the leaf's node, by row and tree: ndarray of shape (n, n_trees), dtype int64."""
        cdef Rows opened = Rows(X, self)
        result = np.empty((opened.n, self.n_trees), np.int64)
        cdef int64_t[:, ::1] out = result
        cdef const uint32_t[::1] numbers = self.node_numbers
        cdef Job job
        if opened.n > 0:
            memset(&job, 0, sizeof(Job))
            job.leaves = &out[0, 0]
            job.numbers = &numbers[0]
            job.n_trees = self.n_trees
            self.share_blocks(&job, opened, BLOCK_LEAST, n_threads)
        return result

    cdef int apply_block(self, const Job* job, const Descent* rows, Py_ssize_t first, Turn* turn) except -1 nogil:
        """Tell the leaves of the rows of a job from the first one on, which lie where `rows` says."""
        cdef uint32_t at[BLOCK_LEAST]
        cdef uint32_t left[BLOCK_LEAST]
        cdef Descent down = Descent(rows.rows, NULL, rows.first, rows.n, rows.mode, &at[0], &left[0])
        cdef Py_ssize_t t, i, n_trees = self.n_trees
        cdef const uint32_t* numbers
        cdef int64_t* leaves
        for t in range(n_trees):
            self.walk(t, &down, turn)
            numbers = job.numbers + self.forest.starts[t]
            leaves = job.leaves + first * n_trees + t
            for i in range(rows.n):
                leaves[i * n_trees] = numbers[at[i]]
        return 0

    def paths(self, const int64_t[:, ::1] leaf not None):
        """The nodes that rows pass, over all trees.

        Parameters
        ----------
        leaf : ndarray of shape (n, n_trees), dtype int64
            The leaves where rows arrive, as `apply` tells them.

        Returns
        -------
        indices : ndarray, dtype int64
            Places in the node arrays, row after row, ascending in each.
        indptr : ndarray of shape (n + 1,), dtype int64
            Where in `indices` the nodes of each row begin.
        """
        nodes = self.read_nodes()
        cdef const int32_t[::1] feature = nodes[0]
        cdef const uint32_t[::1] right_child = nodes[1]
        cdef const int64_t[::1] offsets = nodes[2]
        cdef Py_ssize_t n = leaf.shape[0], i, j, t, place
        cdef int64_t[::1] parent = np.full(feature.shape[0], -1, np.int64), depth = np.zeros(feature.shape[0], np.int64)
        cdef Turn turn = current_turn()
        starts = np.zeros(n + 1, np.int64)
        cdef int64_t[::1] indptr = starts
        if leaf.shape[1] != self.n_trees:
            raise ValueError(f"leaves of {leaf.shape[1]} trees; the forest has {self.n_trees}")
        with nogil:
            for t in range(self.n_trees):
                for i in range(offsets[t], offsets[t + 1]):
                    if feature[i] >= 0:
                        parent[i + 1] = parent[offsets[t] + right_child[i]] = i
                        depth[i + 1] = depth[offsets[t] + right_child[i]] = depth[i] + 1
                poll(&turn, offsets[t + 1] - offsets[t])
            for i in range(n):
                indptr[i + 1] = indptr[i]
                for t in range(self.n_trees):
                    if not 0 <= leaf[i, t] < offsets[t + 1] - offsets[t]:
                        with gil:
                            raise ValueError(f"row {i} reaches node {leaf[i, t]} of tree {t}; allowed are 0 to "
                                             f"{offsets[t + 1] - offsets[t] - 1}")
                    indptr[i + 1] += depth[offsets[t] + leaf[i, t]] + 1
                poll(&turn, self.n_trees)
        result = np.empty(indptr[n], np.int64)
        cdef int64_t[::1] to = result
        with nogil:
            for i in range(n):
                place = indptr[i + 1]
                poll(&turn, place - indptr[i])
                for t in range(self.n_trees - 1, -1, -1):
                    j = offsets[t] + leaf[i, t]
                    while j >= 0:              # ancestors have lower numbers
                        place -= 1
                        to[place] = j
                        j = parent[j]
        return result, starts

    cdef int check(self, Py_ssize_t n_features) except -1:
        if n_features != self.n_features:
            raise ValueError(f"X has {n_features} features, but the forest was grown on {self.n_features}")
        return 0


cdef class Rows:
    """The memory of an array's rows, of one row, or of `SparseRows`, held while this object lives."""

    def __cinit__(self, X, PackedForest packed):
        if isinstance(X, SparseRows):
            packed.check(X.n_features)
            if packed.splitter is not None:
                raise ValueError(f"X is sparse, but the forest's tests are those of {packed.splitter!r}, which look at dense "
                                 "rows; allowed is X.toarray()")
            self.open_sparse(X)
            return
        PyObject_GetBuffer(X, &self.buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
        self.is_open = True
        cdef bytes kind = self.buffer.format
        cdef int n_axes = self.buffer.ndim
        if n_axes not in (1, 2) or kind not in (b"f", b"d"):
            raise ValueError(f"X has {n_axes} dimensions and the type {kind.decode()!r}; "
                             "allowed are arrays of rows, or one row, of float32 or float64")
        packed.check(self.buffer.shape[n_axes - 1])
        self.is_single = n_axes == 1
        self.n = 1 if self.is_single else self.buffer.shape[0]
        self.rows.x = <const char*> self.buffer.buf
        self.rows.stride = packed.n_features * self.buffer.itemsize
        self.rows.is_double = kind == b"d"

    cdef int open_sparse(self, X) except -1:
        cdef const int32_t[::1] columns = X.columns
        cdef const int64_t[::1] starts = X.starts
        cdef const char[::1] values = X.values.view("i1")
        self.held = columns, starts, values
        self.is_sparse = True
        self.n = starts.shape[0] - 1
        self.rows.is_double = self.sparse.is_double = X.dtype == np.float64
        self.rows.stride = max(1, X.n_features) * X.dtype.itemsize
        self.sparse.starts = &starts[0]
        if columns.shape[0] > 0:
            self.sparse.values, self.sparse.columns = &values[0], &columns[0]
        return 0

    def __dealloc__(self):
        if self.is_open:
            PyBuffer_Release(&self.buffer)


cdef int do_block(void* context, Py_ssize_t block, Turn* turn) except -1 nogil:
    """Predict a block of the rows of a `Job`."""
    cdef const Job* job = <const Job*> context
    cdef Py_ssize_t first = block * job.n_block, n = min(job.n_block, job.n - first)
    cdef const df_packed* forest = &(<PackedForest> job.packed).forest
    cdef df_rows unpacked
    cdef int mode
    if job.sparse == NULL:
        mode = df_mode(forest, job.rows, first, n, (<PackedForest> job.packed).n_features)
        return do_rows(job, Descent(job.rows, NULL, first, n, mode, NULL, NULL), first, turn)
    mode = df_sparse_mode(forest, job.sparse, first, n)
    unpacked = df_rows(job.room.x + turn.number * job.n_block * job.room.stride, job.room.stride, job.room.is_double)
    df_unpack_rows(job.sparse, NULL, first, n, &unpacked, False)
    do_rows(job, Descent(&unpacked, NULL, 0, n, mode, NULL, NULL), first, turn)
    df_unpack_rows(job.sparse, NULL, first, n, &unpacked, True)
    return 0


cdef inline int do_rows(const Job* job, Descent rows, Py_ssize_t first, Turn* turn) except -1 nogil:
    """Predict some rows of a `Job`, given where they lie, and the number of the first of them."""
    if job.leaves != NULL:
        return (<PackedForest> job.packed).apply_block(job, &rows, first, turn)
    return (<PackedForest> job.packed).predict_block(job, &rows, first, turn)


cdef inline int most_marked(const df_packed* forest) noexcept nogil:
    """The most leaves of a tree that rows go down by marks: the bits of a key; 0 where a walk is faster."""
    if forest.is_wide:
        return DF_MOST_MARKED if loops.mark64 != NULL else 0
    return DF_MOST_MARKED // 2


cdef inline Py_ssize_t lanes(Py_ssize_t n) noexcept nogil:
    """The next multiple of DF_LANES."""
    return (n + DF_LANES - 1) // DF_LANES * DF_LANES
