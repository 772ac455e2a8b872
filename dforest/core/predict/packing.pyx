"""Trees as packed nodes, made or checked, and rows of X opened for them.

To pack a tree is to find which slot each node gets, and to write it there; `walk.h` says what slots are. Packed trees that come
from a file, say, are checked: prediction must be able to follow them, as it checks nothing (`packed_check.h`). An error with
which they can be followed, such as another threshold, is not found.

`Rows` are rows of X as pointers, and what keeps them alive. For rows that store few values, packed trees have their nodes
numbered anew: `zero_paths.h` says why. Where tests are a splitter's own, the splitter is asked where rows go, many at a time.

The arrays made here belong to the `PackedForest` that asks for them. A `ZeroPaths` owns its arrays and borrows the slots of the
`PackedForest` that it is made of; any number of threads may use one. What is checked is borrowed.
"""
import math
from typing import NamedTuple

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.loops cimport loops
from dforest.core.predict.walk cimport (
    DF_VALUE_ROWS, df_child, df_is_leaf, df_limits_of_slots, df_narrow, df_number_nodes, df_place, df_tree, df_wide,
    df_write_leaf, df_write_number, df_write_subset, real_t,
)
from dforest.core.threads cimport WorkerContext, current_worker, poll, share

from dforest.core.readable import readable
from dforest.core.sparse_rows import SparseRows

cdef enum:
    LEVELS = 10               # of a tree that lie together at its beginning

WIDE_BITS = 30                # of a feature's number in a wide slot


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
    values : ndarray of shape (n_values, n_outputs), dtype float64
        What leaves add.
    bases : ndarray of shape (n_trees,), dtype int64
        Where in `values` the rows of each tree begin.
    bounds : ndarray of shape (2, n_outputs), dtype float64, or None
        See `bounds_of_means`.
    """

    slots: np.ndarray
    starts: np.ndarray
    words: np.ndarray | None
    bits: int
    is_wide: bool
    n_first: np.ndarray
    depth: np.ndarray
    n_steps: float
    values: np.ndarray
    bases: np.ndarray
    bounds: np.ndarray | None


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


def pack_trees(forest, values, rows, is_wide):
    """Pack a forest's trees.

    Parameters
    ----------
    forest : Forest
    values : ndarray of shape (n_values, n_outputs), dtype float64
        What leaves add to the prediction.
    rows : ndarray of shape (n_leaf_nodes,), dtype uint32
        Which row of the values each leaf adds, in the order of the nodes.
    is_wide : bool
        Whether slots have 16 bytes even where 8 would do.

    Returns
    -------
    PackedArrays
    """
    n_trees, offsets, leaf = forest.n_trees, forest.node_offsets, forest.feature < 0
    starts = offsets + np.arange(n_trees + 1)
    if len(rows) != leaf.sum() or rows.max() >= len(values):
        raise ValueError(f"{leaf.sum()} leaves, {len(rows)} rows up to {rows.max(initial=0)} of {len(values)} values")
    first_leaf = np.append(0, np.cumsum(leaf))[offsets[:n_trees]]
    bases = np.minimum.reduceat(rows, first_leaf).astype(np.int64)
    highest = np.maximum.reduceat(rows, first_leaf)
    is_wide = (is_wide or np.diff(offsets).max() >= 1 << max(0, 30 - slot_bits(forest.n_features, False))
               or (highest - bases).max() >= DF_VALUE_ROWS or not is_float32(forest.threshold))
    bits = slot_bits(forest.n_features, is_wide)
    words, places = None, np.empty(0, np.int64)
    if len(forest.payload_offsets) > 1:
        words, places = payload_words(forest)
    slots = empty_aligned((len(leaf) + n_trees) * slot_size(is_wide))
    write_slots(slots, starts, bits, is_wide, bases, slot_numbers(forest.feature, forest.right_child, offsets),
                forest.feature, forest.threshold, forest.missing_left.view(np.uint8), offsets, rows, places,
                forest.n_categories, forest.splitter is not None)
    n_first, depth, n_steps = steps_of_rows(forest.feature, forest.link, offsets, forest.leaf_draws)
    return PackedArrays(slots, starts, words, bits, is_wide, n_first, depth, n_steps, values, bases,
                        bounds_of_means(forest.objective, values))


def slot_bits(n_features, is_wide):
    """How many bits of a slot are a feature's number."""
    return WIDE_BITS if is_wide else max(1, int(n_features - 1).bit_length())


def slot_size(is_wide):
    """Bytes of a slot."""
    return sizeof(df_wide) if is_wide else sizeof(df_narrow)


def slot_numbers(const int32_t[::1] feature not None, const uint32_t[::1] right_child not None,
                 const int64_t[::1] offsets not None):
    """The slot of each node in its tree.

    Pairs of children lie in the order of their parents: pairs of the first levels level by level, as
    all rows pass them, the others in preorder.

    Parameters
    ----------
    feature, right_child, offsets : ndarray
        As in `Forest`.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype uint32
    """
    cdef Py_ssize_t t, i, first, n
    cdef uint32_t count[LEVELS + 1]
    cdef uint32_t level, start
    cdef WorkerContext worker = current_worker()
    result = np.empty(feature.shape[0], np.uint32)
    levels = np.empty(feature.shape[0], np.uint8)
    cdef uint32_t[::1] to = result
    cdef uint8_t[::1] at = levels
    with nogil:
        for t in range(offsets.shape[0] - 1):
            first = offsets[t]
            n = offsets[t + 1] - first
            memset(count, 0, sizeof(count))
            at[first] = 0
            for i in range(first, first + n):
                if feature[i] >= 0:
                    at[i + 1] = at[first + right_child[i]] = min(at[i] + 1, LEVELS)
                    count[at[i]] += 1
            start = 2
            for level in range(LEVELS + 1):
                count[level], start = start, start + 2 * count[level]
            to[first] = 1
            for i in range(first, first + n):
                if feature[i] >= 0:
                    to[i + 1] = count[at[i]]
                    to[first + right_child[i]] = count[at[i]] + 1
                    count[at[i]] += 2
            poll(&worker, 4 * n)
    return result


def write_slots(char[::1] slots not None, const int64_t[::1] starts not None, int bits, bint is_wide,
                const int64_t[::1] bases not None, const uint32_t[::1] numbers not None, const int32_t[::1] feature not None,
                const real_t[::1] threshold not None, const uint8_t[::1] missing_left not None,
                const int64_t[::1] offsets not None, const uint32_t[::1] rows not None, const int64_t[::1] places not None,
                const int32_t[::1] n_categories not None, bint has_own_tests):
    """Fill the slots of a packed forest.

    Parameters
    ----------
    slots : OUT ndarray, dtype int8
    starts, bits, is_wide
        The form of the slots: see `df_packed` of walk.h.
    bases : ndarray of shape (n_trees,), dtype int64
        Where in the values the rows of each tree begin.
    numbers : ndarray of shape (n_nodes,), dtype uint32
        See `slot_numbers`.
    feature, threshold, missing_left, offsets, n_categories : ndarray
        As in `Forest`.
    rows : ndarray of shape (n_leaf_nodes,), dtype uint32
        The values that leaves add.
    places : ndarray of shape (n_payloads,), dtype int64
        Where the words of each test with a payload begin: see `payload_words`.
    has_own_tests : bool
        Whether all payloads are those of a splitter's own tests, and every inner node has one. If not, they are the subsets
        of the nodes that test categories.
    """
    cdef df_packed packed
    cdef const df_packed* forest = &packed
    cdef Py_ssize_t t, i, leaf = 0, payload = 0
    cdef char* tree
    cdef WorkerContext worker = current_worker()
    packed.slots = &slots[0]
    packed.starts = &starts[0]
    packed.words = NULL
    packed.bits = bits
    packed.is_wide = is_wide
    with nogil:
        for t in range(bases.shape[0]):
            poll(&worker, 4 * (offsets[t + 1] - offsets[t]))
            tree = &slots[0] + (df_tree(forest, t) - forest.slots)
            memset(tree, 0, sizeof(df_wide) if is_wide else sizeof(df_narrow))      # slot 0, so that equal trees have equal bytes
            for i in range(offsets[t], offsets[t + 1]):
                if feature[i] < 0:
                    df_write_leaf(tree, numbers[i], <uint32_t> (rows[leaf] - bases[t]), forest)
                    leaf += 1
                elif has_own_tests or n_categories[feature[i]] > 0:
                    df_write_subset(tree, numbers[i], feature[i], missing_left[i], <uint32_t> places[payload], numbers[i + 1],
                                    forest)
                    payload += 1
                else:
                    df_write_number(tree, numbers[i], feature[i], missing_left[i], threshold[i], numbers[i + 1], forest)
    return None


def steps_of_rows(const int32_t[::1] feature not None, const uint32_t[::1] link not None, const int64_t[::1] offsets not None,
                  const int64_t[::1] leaf_draws not None):
    """How deep training rows went.

    Parameters
    ----------
    feature, link, offsets, leaf_draws : ndarray
        As in `Forest`.

    Returns
    -------
    n_first : ndarray of shape (n_trees,), dtype int32
        At least three quarters of the draws went so deep; 1 to 255.
    depth : ndarray of shape (n_trees,), dtype int64
        Of the deepest leaf, but 1 at least.
    n_steps : float
        Of a draw on average, over all trees.
    """
    cdef Py_ssize_t n_trees = offsets.shape[0] - 1, t, i, first, n
    cdef int64_t[256] draws             # that ended at each depth; at the last one all deeper ones too
    cdef int64_t total
    cdef double n_steps = 0.0, steps
    cdef int k
    cdef WorkerContext worker = current_worker()
    firsts, depths = np.empty(n_trees, np.int32), np.ones(n_trees, np.int64)
    cdef int32_t[::1] to_first = firsts
    cdef int64_t[::1] to_depth = depths
    cdef uint32_t[::1] depth = np.empty(np.diff(offsets).max(), np.uint32)      # of a tree's nodes
    with nogil:
        for t in range(n_trees):
            first = offsets[t]
            n = offsets[t + 1] - first
            memset(draws, 0, sizeof(draws))
            total = 0
            steps = 0.0
            depth[0] = 0
            for i in range(n):
                if feature[first + i] >= 0:
                    depth[i + 1] = depth[link[first + i]] = depth[i] + 1
                    continue
                draws[min(<uint32_t> 255, depth[i])] += leaf_draws[link[first + i]]
                total += leaf_draws[link[first + i]]
                steps += <double> leaf_draws[link[first + i]] * depth[i]
                to_depth[t] = max(to_depth[t], <int64_t> depth[i])
            n_steps += steps / <double> total
            k = 0
            while k < 255 and 4 * draws[k] < total:
                k += 1
                draws[k] += draws[k - 1]
            to_first[t] = max(k, 1)
            poll(&worker, n)
    return firsts, depths, n_steps


def is_float32(threshold):
    """Whether thresholds, where there are any, are float32 numbers."""
    if threshold.dtype == np.float32:
        return True
    with np.errstate(over="ignore", under="ignore"):
        return bool(((threshold.astype(np.float32) == threshold) | np.isnan(threshold)).all())


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


cdef struct Check:
    df_packed forest
    df_limits_of_slots limits
    int64_t n_values
    const int64_t* bases


def check_packed(forest, arrays, int n_threads):
    """Raise unless packed trees can be followed.

    Parameters
    ----------
    forest : Forest
        Its `node_offsets`, `n_features`, `splitter` and `objective`; other arrays are not looked at.
    arrays : PackedArrays
    n_threads : int

    Raises
    ------
    TypeError
        If an array has another type or other axes than those of packed trees.
    ValueError
        If lengths or numbers do not fit the forest, or each other.
    """
    cdef Py_ssize_t n_trees = len(forest.node_offsets) - 1
    forms = {"slots": (np.int8, 1), "starts": (np.int64, 1), "words": (np.uint64, 1), "n_first": (np.int32, 1),
             "depth": (np.int64, 1), "values": (np.float64, 2), "bases": (np.int64, 1), "bounds": (np.float64, 2)}
    for name, (kind, n_axes) in forms.items():
        array = getattr(arrays, name)
        if name in ("words", "bounds") and array is None:
            continue
        if (not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != n_axes
                or not (array.flags.c_contiguous and array.flags.aligned)):
            raise TypeError(f"{name} of packed trees is no C-contiguous array of {np.dtype(kind)} with {n_axes} axes")
    cdef bint is_wide = arrays.is_wide
    if arrays.bits != slot_bits(forest.n_features, is_wide):
        raise ValueError(f"features of packed trees have {arrays.bits} bits; those of this forest have "
                         f"{slot_bits(forest.n_features, is_wide)}")
    if not np.array_equal(arrays.starts, forest.node_offsets + np.arange(n_trees + 1)):
        raise ValueError("starts of packed trees are not those of this forest")
    if np.diff(arrays.starts).max() >> 32:
        raise ValueError(f"a packed tree has {np.diff(arrays.starts).max()} slots; allowed are fewer than 2**32")
    if arrays.words is not None and not 0 < len(arrays.words) < 2**32:
        raise ValueError(f"packed trees have {len(arrays.words)} words; allowed are 1 to {2**32 - 1}")
    if forest.splitter is not None and arrays.words is None and (np.diff(forest.node_offsets) > 1).any():
        raise ValueError("packed trees have no words for the tests of their splitter")
    n_values, n_outputs = len(arrays.values), forest.objective.n_values
    lengths = {"slots": int(arrays.starts[n_trees]) * slot_size(is_wide), "n_first": n_trees, "depth": n_trees, "bases": n_trees}
    for name, n in lengths.items():
        if len(getattr(arrays, name)) != n:
            raise ValueError(f"{name} of packed trees has length {len(getattr(arrays, name))}; that of this forest is {n}")
    if arrays.values.shape[1] != n_outputs:
        raise ValueError(f"leaves of packed trees have {arrays.values.shape[1]} values; those of this forest have {n_outputs}")
    cdef bint is_mean = forest.objective.predicts_means
    if is_mean != (arrays.bounds is not None) or (is_mean and not (
            arrays.bounds.shape == (2, n_outputs) and (arrays.bounds[0] <= arrays.bounds[1]).all())):
        raise ValueError(f"bounds of packed trees are {arrays.bounds}; allowed are two rows of {n_outputs} numbers, the lower "
                         "ones first, for means of numbers, and None for others")
    for name, least, most in (("n_first", 1, 255), ("depth", 1, 2**32), ("bases", 0, n_values - 1)):
        numbers = getattr(arrays, name)
        if not least <= numbers.min() <= numbers.max() <= most:
            raise ValueError(f"{name} of packed trees holds numbers from {numbers.min()} to {numbers.max()}; allowed are {least} "
                             f"to {most}")
    if not (isinstance(arrays.n_steps, float) and math.isfinite(arrays.n_steps) and arrays.n_steps >= 0.0):
        raise ValueError(f"packed trees take {arrays.n_steps!r} steps; allowed are finite numbers from 0")
    check_slots(arrays, n_trees, forest.n_features, forest.splitter is not None, n_threads)


def check_equal(arrays, others):
    """Raise ValueError unless packed trees are the same as others, to the bit: both `PackedArrays`."""
    for name in arrays._fields:
        one, other = getattr(arrays, name), getattr(others, name)
        are_arrays = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
        if type(one) is not type(other) or not (np.array_equal(one.view(np.int8), other.view(np.int8)) if are_arrays
                                                else one == other):
            raise ValueError(f"{name} of packed trees are not those of the trees that they were made of")


cdef check_slots(arrays, Py_ssize_t n_trees, Py_ssize_t n_features, bint has_own_tests, int n_threads):
    cdef const char[::1] slots = arrays.slots
    cdef const int64_t[::1] starts = arrays.starts, bases = arrays.bases
    cdef const uint64_t[::1] words = arrays.words
    cdef Check check
    check.forest.slots = &slots[0]
    check.forest.starts = &starts[0]
    check.forest.words = NULL if words is None else &words[0]
    check.forest.bits = arrays.bits
    check.forest.is_wide = arrays.is_wide
    check.limits.n_words = 0 if words is None else words.shape[0]
    check.limits.n_features = <uint32_t> n_features
    check.limits.has_own_tests = has_own_tests
    check.n_values = len(arrays.values)
    check.bases = &bases[0]
    share(check_tree, &check, n_trees, n_threads)


cdef int check_tree(void* context, Py_ssize_t t, WorkerContext* worker) except -1 nogil:
    cdef const Check* check = <const Check*> context
    cdef df_limits_of_slots limits = check.limits
    limits.n_values = <uint32_t> min(check.n_values - check.bases[t], <int64_t> 0xFFFFFFFF)     # above 0: see check_packed
    if loops.wrong_slots(&check.forest, t, &limits):
        with gil:
            raise ValueError(f"tree {t} has a packed node that leads nowhere, or lacks what it needs")
    return poll(worker, 2 * (check.forest.starts[t + 1] - check.forest.starts[t]))


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
    share(number_tree, <void*> paths, n_trees, n_threads)
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
