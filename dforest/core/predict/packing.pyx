"""Trees as packed nodes, and rows of X opened for them.

To pack a tree is to find which slot each node gets, and to write it there; `walk.h` says what slots are. Threads share a forest's
trees. Nodes are passed in preorder, so that a short stack of right children is all that a tree's packing remembers of it.

`Rows` are rows of X as pointers, and what keeps them alive. For rows that store few values, packed trees have their nodes
numbered anew: `zero_paths.h` says why. Where tests are a splitter's own, the splitter is asked where rows go, many at a time.

The arrays made here belong to the `PackedForest` that asks for them. A `ZeroPaths` owns its arrays and borrows the slots of the
`PackedForest` that it is made of; any number of threads may use one.
"""
from typing import NamedTuple

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.predict.walk cimport (
    DF_VALUE_ROWS, df_child, df_is_leaf, df_narrow, df_number_nodes, df_place, df_tree, df_wide,
    df_write_leaf, df_write_number, df_write_subset,
)
from dforest.core.threads cimport WorkerContext, parallel_for, poll
from dforest.rules.linear_leaf cimport DF_MAX_TERMS

from dforest.core.class_lists import ClassLists
from dforest.core.readable import readable
from dforest.core.sparse_rows import SparseRows

cdef enum:
    LEVELS = 10               # of a tree that lie together at its beginning

WIDE_BITS = 30                # of a feature's number in a wide slot
MAX_TERMS = DF_MAX_TERMS      # features of a linear leaf


class PackedArrays(NamedTuple):
    """All that prediction needs of a forest.

    Attributes
    ----------
    slots : ndarray of shape (n_bytes,), dtype int8
    starts : ndarray of shape (n_trees + 1,), dtype int64
    words : ndarray, dtype uint64, or None
    bits : int
    is_wide : bool
        As in `df_packed` of walk.h.
    n_first : ndarray of shape (n_trees,), dtype int32
        Steps that rows take in each tree before they are asked whether they have arrived.
    depth : ndarray of shape (n_trees,), dtype int64
        Of the deepest leaf, but 1 at least.
    n_steps : float
        Of a row over all trees, about.
    values : ndarray of shape (n_values, n_outputs), dtype float64, or ClassLists
        What leaves add.
    bases : ndarray of shape (n_trees,), dtype int64
        Where in `values` the rows of each tree begin.
    bounds : ndarray of shape (2, n_outputs), dtype float64, or None
        See `bounds_of_means`.
    lines : ndarray of shape (n_values, n_numbers), dtype float64, or None
        Of linear leaves, what rules/linear_leaf.h calls the line of each row of `values`: the least and the greatest, then the
        feature, the centre and the slope of each term. None: leaves are constants.
    """

    slots: np.ndarray
    starts: np.ndarray
    words: np.ndarray | None
    bits: int
    is_wide: bool
    n_first: np.ndarray
    depth: np.ndarray
    n_steps: float
    values: np.ndarray | ClassLists
    bases: np.ndarray
    bounds: np.ndarray | None
    lines: np.ndarray | None = None


def bounds_of_means(objective, values):
    """The least and the greatest of the values of leaves, between which the means of numbers are kept.

    A mean of equal values could be rounded to one beyond them. Shares of classes can't become what is no share.

    Parameters
    ----------
    objective : Objective
    values : ndarray of shape (n_values, n_outputs), dtype float64

    Returns
    -------
    ndarray of shape (2, n_outputs), dtype float64, or None
        None if predictions are shares of classes, or sums.
    """
    return np.stack([values.min(axis=0), values.max(axis=0)]) if objective.predicts_means else None


def pack_trees(forest, votes not None, rows, bint is_wide, int n_threads, lines=None):
    """Pack a forest's trees, on some threads: what one tree needs beside its nodes is a number or a few, so trees are looked at
    first, and written when all are known.

    Parameters
    ----------
    forest : Forest
    votes, rows, is_wide, n_threads, lines
        As `PackedForest` takes them.

    Returns
    -------
    PackedArrays
    """
    cdef Py_ssize_t n_trees = forest.n_trees, n_nodes = len(forest.feature), n_leaves = len(forest.leaf_draws)
    cdef const int64_t[::1] offsets = forest.node_offsets, leaf_draws = forest.leaf_draws, places = None
    cdef const int32_t[::1] feature = forest.feature, n_categories = forest.n_categories
    cdef const uint32_t[::1] link = forest.link, of_leaves = rows
    cdef const uint8_t[::1] missing_left = forest.missing_left.view(np.uint8)
    cdef bint is_single = forest.threshold.dtype == np.float32
    cdef const float[::1] single = forest.threshold if is_single else None
    cdef const double[::1] double_ = None if is_single else forest.threshold
    cdef Packing packing
    if rows is None and len(votes) != n_leaves:
        raise ValueError(f"{len(votes)} values of {n_leaves} leaves")
    if rows is not None and (len(rows) != n_leaves or rows.max() >= len(votes)):
        raise ValueError(f"{n_leaves} leaves, {len(rows)} rows up to {rows.max(initial=0)} of {len(votes)} values")
    memset(&packing, 0, sizeof(Packing))
    packing.offsets, packing.feature, packing.link, packing.missing_left = &offsets[0], &feature[0], &link[0], &missing_left[0]
    packing.single, packing.double_ = &single[0] if is_single else NULL, &double_[0] if not is_single else NULL
    packing.leaf_draws, packing.n_categories = &leaf_draws[0], &n_categories[0]
    packing.has_own_tests = forest.splitter is not None
    packing.rows = &of_leaves[0] if rows is not None else NULL
    cdef const double[:, ::1] copied = votes if rows is None else None
    packing.votes, packing.n_outputs = &copied[0, 0] if rows is None else NULL, votes.shape[1]

    cdef int used = <int> min(<Py_ssize_t> n_threads, 1 + n_nodes // NODES)
    looks = np.empty(n_trees, np.dtype([
        ("lowest", np.int64), ("highest", np.int64), ("depth", np.int64), ("n_payloads", np.int64), ("steps", np.float64),
        ("n_first", np.int32), ("is_exact", np.int32), ("count", np.uint32, LEVELS + 1),
    ], align=True))  # fmt: skip
    assert looks.dtype.itemsize == sizeof(Look)
    cdef char[::1] looks_there = looks.view(np.int8)
    packing.looks = <Look*> &looks_there[0]
    parallel_for(look_at_tree, &packing, n_trees, used)

    is_wide = (is_wide or np.diff(forest.node_offsets).max() >= 1 << max(0, 30 - slot_bits(forest.n_features, False))
               or (looks["highest"] - looks["lowest"]).max() >= DF_VALUE_ROWS or not looks["is_exact"].all())
    starts = forest.node_offsets + np.arange(n_trees + 1)
    slots = empty_aligned((n_nodes + n_trees) * slot_size(is_wide))
    cdef const int64_t[::1] starts_there = starts
    cdef char[::1] slots_there = slots
    packing.forest.slots = packing.slots = &slots_there[0]
    packing.forest.starts = &starts_there[0]
    packing.forest.bits = slot_bits(forest.n_features, is_wide)
    packing.forest.is_wide = is_wide
    words = None
    if len(forest.payload_offsets) > 1:
        words, places = payload_words(forest)
        packing.places = &places[0]
    looks["n_payloads"] = np.cumsum(looks["n_payloads"]) - looks["n_payloads"]
    values = votes if rows is not None else np.empty(((n_nodes + n_trees) // 2, votes.shape[1]))
    cdef double[:, ::1] values_there
    if rows is None:
        values_there = values
        packing.values = &values_there[0, 0]
    parallel_for(write_tree, &packing, n_trees, used)
    return PackedArrays(slots, starts, words, packing.forest.bits, bool(is_wide), looks["n_first"].copy(), looks["depth"].copy(),
                        float(np.cumsum(looks["steps"])[n_trees - 1]), values, looks["lowest"].copy(),
                        bounds_of_means(forest.objective, values), lines)


def slot_bits(n_features, is_wide):
    """How many bits of a slot are a feature's number."""
    return WIDE_BITS if is_wide else max(1, int(n_features - 1).bit_length())


cpdef Py_ssize_t slot_size(bint is_wide) noexcept nogil:
    """Bytes of a slot."""
    return sizeof(df_wide) if is_wide else sizeof(df_narrow)


cdef enum:
    NODES = 1 << 14           # that are worth another thread

cdef struct Look:             # what is known of a tree before it is written
    int64_t lowest, highest   # of the values that its leaves add
    int64_t depth             # as in `PackedArrays`
    int64_t n_payloads        # of its nodes; then of those of all trees before
    double steps              # of a draw on average
    int32_t n_first           # at least three quarters of the draws went so deep; 1 to 255
    int32_t is_exact          # whether thresholds, where there are any, are float32 numbers
    uint32_t count[LEVELS + 1]   # parents at each level; the last one has all that are deeper

cdef struct Packing:          # a forest's arrays, borrowed, and what is made of them
    df_packed forest          # points to the slots
    const int64_t* offsets
    const int32_t* feature
    const uint32_t* link
    const float* single       # thresholds; NULL: they are double
    const double* double_
    const uint8_t* missing_left
    const int64_t* leaf_draws
    const int32_t* n_categories
    bint has_own_tests        # payloads are those of a splitter's tests, one for each inner node; or subsets of categories
    const uint32_t* rows      # [n_leaves] which row of the values each row of the leaf tables adds; NULL: each leaf has its own
    const double* votes       # [n_leaves, n_outputs] of which those of leaves are copied, then
    Py_ssize_t n_outputs
    Look* looks               # [n_trees]
    const int64_t* places     # where the words of each payload begin: see `payload_words`
    char* slots
    double* values            # [n_leaf_nodes, n_outputs] if each leaf has its own

cdef struct Pending:          # a right child whose left sibling's subtree comes first
    uint32_t slot, depth


cdef inline bint has_payload(const Packing* packing, int32_t feature) noexcept nogil:
    return packing.has_own_tests or packing.n_categories[feature] > 0


cdef inline Py_ssize_t first_leaf(const Packing* packing, Py_ssize_t t) noexcept nogil:
    """How many leaves the trees before have: a tree has one more of them than of other nodes."""
    return (packing.offsets[t] + t) // 2


cdef inline int64_t value_row(const Packing* packing, Py_ssize_t leaf, Py_ssize_t i) noexcept nogil:
    """The value that a leaf adds, given its number among leaves and that among nodes."""
    return packing.rows[packing.link[i]] if packing.rows != NULL else leaf


cdef Pending* open_stack(Py_ssize_t n_nodes) except NULL nogil:
    """Room for all right children of a tree that may be pending at a time."""
    cdef Pending* stack = <Pending*> malloc((n_nodes // 2 + 1) * sizeof(Pending))
    if stack == NULL:
        with gil:
            raise MemoryError()
    return stack


cdef int look_at_tree(void* context, Py_ssize_t t, WorkerContext* worker) except -1 nogil:
    """Find what the slots of a tree depend on, and how deep training rows went."""
    cdef const Packing* packing = <const Packing*> context
    cdef Look* look = &packing.looks[t]
    cdef Py_ssize_t first = packing.offsets[t], n = packing.offsets[t + 1] - first, i, leaf = first_leaf(packing, t), n_open = 0
    cdef Pending* stack = open_stack(n)
    cdef int64_t[256] draws             # that ended at each depth; at the last one all deeper ones too
    cdef int64_t total = 0, own, row
    cdef uint32_t depth = 0
    cdef double steps = 0.0
    cdef int k = 0
    memset(look, 0, sizeof(Look))
    memset(draws, 0, sizeof(draws))
    look.lowest = look.highest = -1
    look.depth = look.is_exact = 1
    for i in range(first, first + n):
        if packing.feature[i] >= 0:
            if packing.single == NULL and packing.double_[i] == packing.double_[i]:
                look.is_exact &= <float> packing.double_[i] == packing.double_[i]
            look.n_payloads += has_payload(packing, packing.feature[i])
            look.count[min(<uint32_t> LEVELS, depth)] += 1
            depth += 1
            stack[n_open].depth = depth
            n_open += 1
            continue
        row = value_row(packing, leaf, i)
        look.lowest = row if look.lowest < 0 else min(look.lowest, row)
        look.highest = max(look.highest, row)
        leaf += 1
        own = packing.leaf_draws[packing.link[i]]
        draws[min(<uint32_t> 255, depth)] += own
        total += own
        steps += <double> own * depth
        look.depth = max(look.depth, <int64_t> depth)
        if n_open > 0:
            n_open -= 1
            depth = stack[n_open].depth
    free(stack)
    look.steps = steps / <double> total
    while k < 255 and 4 * draws[k] < total:
        k += 1
        draws[k] += draws[k - 1]
    look.n_first = max(k, 1)
    return poll(worker, 4 * n)


cdef int write_tree(void* context, Py_ssize_t t, WorkerContext* worker) except -1 nogil:
    """Fill the slots of a tree.

    Pairs of children lie in the order of their parents: pairs of the first levels level by level, as all rows pass them, the
    others in preorder.
    """
    cdef const Packing* packing = <const Packing*> context
    cdef const df_packed* forest = &packing.forest
    cdef const Look* look = &packing.looks[t]
    cdef Py_ssize_t first = packing.offsets[t], n = packing.offsets[t + 1] - first, i, leaf = first_leaf(packing, t), n_open = 0
    cdef Py_ssize_t payload = look.n_payloads
    cdef char* tree = packing.slots + (df_tree(forest, t) - forest.slots)
    cdef Pending* stack = open_stack(n)
    cdef uint32_t[LEVELS + 1] begin     # of the next pair, by the level of its parent
    cdef uint32_t slot = 1, depth = 0, child = 2, level
    cdef int32_t feature
    for level in range(LEVELS + 1):
        begin[level] = child
        child += 2 * look.count[level]
    memset(tree, 0, slot_size(forest.is_wide))         # slot 0, so that equal trees have equal bytes
    for i in range(first, first + n):
        feature = packing.feature[i]
        if feature < 0:
            df_write_leaf(tree, slot, <uint32_t> (value_row(packing, leaf, i) - look.lowest), forest)
            if packing.values != NULL:
                memcpy(packing.values + leaf * packing.n_outputs, packing.votes + packing.link[i] * packing.n_outputs,
                       packing.n_outputs * sizeof(double))
            leaf += 1
            if n_open > 0:
                n_open -= 1
                slot, depth = stack[n_open].slot, stack[n_open].depth
            continue
        level = min(<uint32_t> LEVELS, depth)
        depth += 1
        child = begin[level]
        begin[level] += 2
        if has_payload(packing, feature):
            df_write_subset(tree, slot, feature, packing.missing_left[i], <uint32_t> packing.places[payload], child, forest)
            payload += 1
        else:
            df_write_number(tree, slot, feature, packing.missing_left[i],
                            packing.single[i] if packing.single != NULL else packing.double_[i], child, forest)
        stack[n_open] = Pending(child + 1, depth)
        n_open += 1
        slot = child
    free(stack)
    return poll(worker, 8 * n)


cdef struct Numbering:
    const df_packed* forest
    uint32_t* numbers         # [slots of all trees]


cdef node_numbers(const df_packed* forest, Py_ssize_t n_trees, int n_threads):
    """The node in each slot: ndarray of shape (n_nodes + n_trees,), dtype uint32, read-only."""
    cdef Numbering numbering
    numbers = np.zeros(forest.starts[n_trees], np.uint32)
    cdef uint32_t[::1] there = numbers
    numbering.forest = forest
    numbering.numbers = &there[0]
    parallel_for(number_slots, &numbering, n_trees, n_threads)
    numbers.setflags(write=False)
    return numbers


cdef int number_slots(void* context, Py_ssize_t t, WorkerContext* worker) except -1 nogil:
    """Pass the slots of a tree in preorder of its nodes."""
    cdef const Numbering* numbering = <const Numbering*> context
    cdef const df_packed* forest = numbering.forest
    cdef const char* tree = df_tree(forest, t)
    cdef uint32_t* to = numbering.numbers + forest.starts[t]
    cdef Py_ssize_t n = forest.starts[t + 1] - forest.starts[t] - 1, i, n_open = 0
    cdef Pending* stack = open_stack(n)
    cdef uint32_t slot = 1
    for i in range(n):
        to[slot] = <uint32_t> i
        if not df_is_leaf(tree, slot, forest):
            slot = df_child(tree, slot, forest)
            if n_open > n // 2:
                break
            stack[n_open].slot = slot + 1
            n_open += 1
        elif n_open > 0:
            n_open -= 1
            slot = stack[n_open].slot
    free(stack)
    if n_open > 0:
        with gil:
            raise ValueError(f"tree {t} has packed nodes with two parents")
    return poll(worker, 4 * n)


def payload_words(forest):
    """The payloads of a forest's tests, subsets or a splitter's own, each after its number of words; and where each begins."""
    offsets, n_words = forest.payload_offsets, np.diff(forest.payload_offsets)
    words = np.empty(len(forest.payload_words) + len(n_words), np.uint64)
    if len(words) >> 32:
        raise OverflowError(f"the tests of a forest have {len(words)} words; allowed are fewer than 2**32")
    places = offsets[: len(n_words)] + np.arange(len(n_words))
    is_number = np.zeros(len(words), bool)
    is_number[places] = True
    words[is_number] = n_words
    words[~is_number] = forest.payload_words
    return words, places


def empty_aligned(n):
    """An array of n bytes that begins with a line of the cache, so that two children lie in one line."""
    room = np.empty(n + 64, np.int8)
    start = -room.ctypes.data % 64
    return room[start : start + n]


cdef class ZeroPaths:

    def __dealloc__(self):
        free(self.features)
        free(self.stops)


cdef ZeroPaths zero_paths(const df_packed* forest, Py_ssize_t n_trees, int n_threads):
    """Number the nodes of a forest's trees, on some threads; ValueError: there are too many, as some have two parents."""
    cdef ZeroPaths paths = ZeroPaths()
    cdef Py_ssize_t n_slots = forest.starts[n_trees]
    paths.forest = forest
    paths.features = <uint32_t*> calloc(n_slots + 3, sizeof(uint32_t))
    paths.stops = <df_stop*> malloc(n_slots * sizeof(df_stop))
    if paths.features == NULL or paths.stops == NULL:
        raise MemoryError()
    parallel_for(number_tree, <void*> paths, n_trees, n_threads)
    return paths


cdef int number_tree(void* context, Py_ssize_t t, WorkerContext* worker) except -1 nogil:
    cdef const df_packed* forest = (<ZeroPaths> context).forest
    cdef Py_ssize_t start = forest.starts[t], n_slots = forest.starts[t + 1] - start
    cdef uint32_t* waiting = <uint32_t*> malloc(2 * n_slots * sizeof(uint32_t))
    cdef bint is_done
    if waiting == NULL:
        with gil:
            raise MemoryError()
    is_done = df_number_nodes(forest, t, (<ZeroPaths> context).features + start, (<ZeroPaths> context).stops + start, waiting)
    free(waiting)
    if not is_done:
        with gil:
            raise ValueError(f"tree {t} has packed nodes with two parents")
    return poll(worker, 8 * n_slots)


cdef enum:
    TESTED = 1024             # rows that a splitter tests at a time

cdef struct Reached:          # a node, and which rows reach it
    uint32_t at
    Py_ssize_t start, end


cdef int walk_tests(const df_packed* forest, Py_ssize_t t, Splitter splitter, const Descent* down) except -1 nogil:
    """Send rows down tree t, whose splitter tells where they go: a node, with all rows that reach it, at a time.

    The rows of a node are a run of `order`. A node reached by the rows 0, 2, 5 and 7, of which 2 and 7 go left, leaves

        order:   | ...... |   2   7   |   0   5    | ...... |
                          from        middle       to

    and both runs wait on the stack, the left one on top.
    """
    cdef Py_ssize_t n = down.n
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
                splitter.goes_left(forest.words + place + 1, <Py_ssize_t> forest.words[place], down.rows, row, k, is_left)
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


cdef class Rows:
    """The memory of an array's rows, of one row, or of `SparseRows`, held while this object lives.

    Parameters
    ----------
    X : ndarray of shape (n, n_features) or (n_features,), dtype float32 or float64, or SparseRows
        C-contiguous.
    n_features : int
        Of the forest that the rows are for.
    """

    def __cinit__(self, X, Py_ssize_t n_features):
        if isinstance(X, SparseRows):
            self.check(X.n_features, n_features)
            self.open_sparse(X)
            return
        if not isinstance(X, np.ndarray):
            raise TypeError(f"X is of the type {type(X).__name__}; allowed are arrays of rows, or one row, of float32 or float64")
        if type(X) is not np.ndarray and isinstance(X, np.ma.MaskedArray):    # whose buffer has what is masked
            raise TypeError("X is a masked array; allowed are arrays with NaN for missing values, such as X.filled(numpy.nan)")
        PyObject_GetBuffer(X, &self.buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
        if self.buffer.format[0] in b"=<>":    # of another byte order, or at addresses that do not suit numbers
            PyBuffer_Release(&self.buffer)
            PyObject_GetBuffer(readable(X), &self.buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
        self.is_open = True
        cdef bytes kind = self.buffer.format
        cdef int n_axes = self.buffer.ndim
        if n_axes not in (1, 2) or kind not in (b"f", b"d"):
            raise ValueError(f"X has {n_axes} dimensions and the type {kind.decode()!r}; "
                             "allowed are arrays of rows, or one row, of float32 or float64")
        self.check(self.buffer.shape[n_axes - 1], n_features)
        self.is_single = n_axes == 1
        self.n = 1 if self.is_single else self.buffer.shape[0]
        self.rows.x = <const char*> self.buffer.buf
        self.rows.stride = n_features * self.buffer.itemsize
        self.rows.is_double = kind == b"d"

    cdef int check(self, Py_ssize_t n_features, Py_ssize_t n_known) except -1:
        if n_features != n_known:
            raise ValueError(f"X has {n_features} features, but the forest was grown on {n_known}")
        return 0

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
