"""Checks of packed trees that come from a file, say.

Prediction must be able to follow them, as it checks nothing (`packed_check.h`). An error with which they can be
followed, such as another threshold, is not found. What is checked is borrowed.
"""
import math

from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

from dforest.core.loops cimport loops
from dforest.core.predict.packing cimport slot_size
from dforest.core.predict.walk cimport df_limits_of_slots, df_packed
from dforest.core.threads cimport WorkerContext, parallel_for, poll
from dforest.rules.linear_leaf cimport DF_LINE_HEAD, DF_TERM_NUMBERS

from dforest.core.class_lists import ClassLists
from dforest.core.predict.packing import slot_bits

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
             "depth": (np.int64, 1), "values": (np.float64, 2), "bases": (np.int64, 1), "bounds": (np.float64, 2),
             "lines": (np.float64, 2)}
    lists = {"starts": (np.int64, 1), "classes": (np.int32, 1), "values": (np.float64, 1)}
    are_listed = isinstance(arrays.values, ClassLists)
    checked = [(arrays, name, form) for name, form in forms.items() if not (are_listed and name == "values")]
    checked += [(arrays.values, name, form) for name, form in lists.items()] if are_listed else []
    for owner, name, (kind, n_axes) in checked:
        array = getattr(owner, name)
        if name in ("words", "bounds", "lines") and array is None:
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
    if are_listed:
        check_lists(arrays.values)
    check_lines(arrays.lines, n_values, forest)
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


def check_lines(lines, n_values, forest):
    """Raise ValueError unless the lines of packed trees are those of n_values leaves, or None if leaves are constants."""
    n_terms = getattr(forest.objective, "n_leaf_features", 0)
    if n_terms == 0 and lines is None:
        return
    if lines is None or n_terms == 0 or lines.shape != (n_values, DF_LINE_HEAD + DF_TERM_NUMBERS * n_terms):
        shape = None if lines is None else lines.shape
        raise ValueError(f"lines of packed trees have the shape {shape}, of {n_values} leaves with {n_terms} features")
    features = lines[:, DF_LINE_HEAD::DF_TERM_NUMBERS]
    if not (np.isfinite(lines).all() and (features == np.floor(features)).all()
            and -1 <= features.min() <= features.max() < forest.n_features):
        raise ValueError(f"lines of packed trees hold numbers that are not finite, or features that are none of "
                         f"{forest.n_features}")


def check_equal(arrays, others):
    """Raise ValueError unless packed trees are the same as others, to the bit: both `PackedArrays`."""
    pairs = [(name, getattr(arrays, name), getattr(others, name)) for name in arrays._fields]
    if all(isinstance(some.values, ClassLists) for some in (arrays, others)):
        pairs = [pair for pair in pairs if pair[0] != "values"]
        parts = "starts", "classes", "values"
        pairs += [("values", getattr(arrays.values, part), getattr(others.values, part)) for part in parts]
    for name, one, other in pairs:
        are_arrays = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
        if type(one) is not type(other) or not (np.array_equal(one.view(np.int8), other.view(np.int8)) if are_arrays
                                                else one == other):
            raise ValueError(f"{name} of packed trees are not those of the trees that they were made of")


def check_lists(lists):
    """Raise ValueError unless the arrays of lists make lists of classes, none of which is empty."""
    starts, n, last = lists.starts, len(lists.classes), len(lists.starts) - 1
    if not (last > 0 and starts[0] == 0 and starts[last] == n and (starts[1:] > starts[:last]).all()):
        raise ValueError(f"lists of classes of packed trees do not rise from 0 to {n}")
    if len(lists.values) != n or not 0 <= lists.classes.min() <= lists.classes.max() < lists.n_classes:
        raise ValueError(f"lists of classes of packed trees have {len(lists.values)} numbers of {n} classes from "
                         f"{lists.classes.min()} to {lists.classes.max()}; allowed are as many numbers, of classes from 0 to "
                         f"{lists.n_classes - 1}")


cdef check_slots(arrays, Py_ssize_t n_trees, Py_ssize_t n_features, bint has_own_tests, int n_threads):
    cdef const char[::1] slots = arrays.slots
    cdef const int64_t[::1] starts = arrays.starts, bases = arrays.bases
    cdef const uint64_t[::1] words = arrays.words
    cdef Check check
    check.forest.slots = &slots[0]
    check.forest.starts = &starts[0]
    check.forest.words = &words[0] if words is not None else NULL
    check.forest.bits = arrays.bits
    check.forest.is_wide = arrays.is_wide
    check.limits.n_words = 0 if words is None else words.shape[0]
    check.limits.n_features = <uint32_t> n_features
    check.limits.has_own_tests = has_own_tests
    check.n_values = len(arrays.values)
    check.bases = &bases[0]
    parallel_for(check_tree, &check, n_trees, n_threads)


cdef int check_tree(void* context, Py_ssize_t t, WorkerContext* worker) except -1 nogil:
    cdef const Check* check = <const Check*> context
    cdef df_limits_of_slots limits = check.limits
    limits.n_values = <uint32_t> min(check.n_values - check.bases[t], <int64_t> 0xFFFFFFFF)     # above 0: see check_packed
    if loops.wrong_slots(&check.forest, t, &limits):
        with gil:
            raise ValueError(f"tree {t} has a packed node that leads nowhere, or lacks what it needs")
    return poll(worker, 2 * (check.forest.starts[t + 1] - check.forest.starts[t]))
