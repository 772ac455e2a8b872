"""A forest's arrays made small, for storage and for the way to other processes.

What follows from other arrays is left out: right children from the order of the nodes, what leaves
have no use for, draws that are sums of weights. Numbers get the smallest type that holds them;
repeated ones become codes and a table. Arrays of trees are expected as `Forest` keeps them; what
`expand` makes of it has the same bits and types, but for one thing: rows of the leaf tables that no
leaf has, as where a tree shares the tables of its forest, are left out, and the others numbered anew.

Nothing here is kept: all arrays are new, or those handed in.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t

import numpy as np


def shrink(arrays):
    """Smaller arrays that say the same.

    Parameters
    ----------
    arrays : dict
        As `Forest.as_dict` returns them.

    Returns
    -------
    dict
        Of arrays of numbers, for `expand`.
    """
    feature = arrays["feature"]
    leaf = feature < 0
    arrays = with_own_leaves(arrays, leaf)
    weight, draws = arrays["leaf_weight"], arrays["leaf_draws"]
    inner = ~leaf
    small = {"node_offsets": arrays["node_offsets"], "leaf": np.packbits(leaf)}
    small["feature"] = smallest(feature[inner])
    small["missing_left"] = np.packbits(arrays["missing_left"][inner])
    small.update(code_thresholds(arrays["threshold"][inner], small["feature"]))
    small.update(code_rows(arrays["right"][leaf]))
    small["leaf_weight"] = smallest(weight)
    if not np.array_equal(draws, weight.sum(axis=1)):
        small["leaf_draws"] = smallest(draws)
    for name in ("leaf_value", "leaf_impurity"):
        table, codes = code_numbers(arrays[name])
        small[name] = table
        if codes is not None:
            small[name + "_codes"] = codes
    small["inner"] = arrays["inner"]
    small["payload_lengths"] = smallest(np.diff(arrays["payload_offsets"]))
    small["payload_words"] = arrays["payload_words"]
    return small


def with_own_leaves(arrays, leaf):
    """The arrays with those rows of the leaf tables only that a leaf has.

    Parameters
    ----------
    arrays : dict
    leaf : ndarray of shape (n_nodes,), dtype bool
        Which nodes are leaves.
    """
    n = len(arrays["leaf_draws"])
    is_used = np.zeros(n, bool)
    is_used[arrays["right"][leaf]] = True
    if is_used.all():
        return arrays
    own = {name: table[is_used] if len(table) == n else table for name, table in arrays.items() if name.startswith("leaf_")}
    own["right"] = arrays["right"].copy()
    own["right"][leaf] = (np.cumsum(is_used) - 1)[arrays["right"][leaf]]
    return arrays | own


def expand(small):
    """The arrays that `shrink` was given, read-only.

    They are new: those of a file that is mapped into memory do not stay there.

    Raises
    ------
    ValueError
        If these are no arrays of whole trees.
    """
    offsets = small["node_offsets"]
    n = int(offsets[len(offsets) - 1])
    leaf = np.unpackbits(small["leaf"], count=n).view(bool)
    inner = ~leaf
    n_inner = int(inner.sum())
    arrays = {"node_offsets": offsets, "inner": small["inner"], "payload_words": small["payload_words"]}
    arrays["feature"] = feature = np.full(n, -1, np.int32)
    feature[inner] = small["feature"]
    arrays["missing_left"] = np.zeros(n, bool)
    arrays["missing_left"][inner] = np.unpackbits(small["missing_left"], count=n_inner).view(bool)
    threshold = decode_thresholds(small)
    arrays["threshold"] = np.zeros(n, threshold.dtype)
    arrays["threshold"][inner] = threshold
    arrays["right"] = right_children(feature, offsets)
    arrays["right"][leaf] = rows = decode_rows(small, n - n_inner)
    if len(rows) > 0 and rows.max() >= len(small["leaf_weight"]):
        raise ValueError(f"a leaf has row {rows.max()} of {len(small['leaf_weight'])}")
    arrays["leaf_weight"] = small["leaf_weight"].astype(np.int64)
    arrays["leaf_draws"] = small["leaf_draws"].astype(np.int64) if "leaf_draws" in small else arrays["leaf_weight"].sum(axis=1)
    for name in ("leaf_value", "leaf_impurity"):
        codes = small.get(name + "_codes")
        arrays[name] = small[name] if codes is None else small[name][codes]
    arrays["payload_offsets"] = np.append(0, np.cumsum(small["payload_lengths"], dtype=np.int64))
    for array in arrays.values():
        array.setflags(write=False)
    return arrays


def smallest(numbers):
    """Integers from 0 in the smallest unsigned type that holds them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def code_numbers(numbers):
    """Floats as (distinct ones, which of them each is), equal in their bits; as (themselves, None) if that is no larger."""
    words = numbers.view(f"u{numbers.itemsize}")
    distinct, codes = np.unique(words, return_inverse=True)
    codes = smallest(codes)
    if distinct.nbytes + codes.nbytes >= numbers.nbytes:
        return numbers, None
    return distinct.view(numbers.dtype), codes


def code_thresholds(threshold, feature):
    """Thresholds as codes of those of their feature, where that is smaller."""
    order = np.argsort(feature, kind="stable")
    counts = np.bincount(feature)
    codes, tables, lengths, first = np.empty(len(threshold), np.uint32), [], np.zeros(len(counts), np.int64), 0
    words = threshold.view(f"u{threshold.itemsize}")
    for f in np.flatnonzero(counts).tolist():
        places = order[first : first + counts[f]]
        distinct, codes[places] = np.unique(words[places], return_inverse=True)
        tables.append(distinct)
        lengths[f] = len(distinct)
        first += counts[f]
    codes = smallest(codes)
    if not tables or int(lengths.sum()) * threshold.itemsize + codes.nbytes + lengths.nbytes >= threshold.nbytes:
        return {"threshold": threshold}
    table = np.concatenate(tables).view(threshold.dtype)
    return {"threshold": table, "threshold_codes": codes, "threshold_counts": smallest(lengths)}


def decode_thresholds(small):
    if "threshold_codes" not in small:
        return small["threshold"]
    before = np.append(0, np.cumsum(small["threshold_counts"], dtype=np.int64))
    return small["threshold"][before[small["feature"]] + small["threshold_codes"]]


def code_rows(rows):
    """Rows of the leaf tables: most trees count them up, so that it needs a bit to say that one is the next."""
    highest = np.maximum.accumulate(np.append(-1, rows.astype(np.int64)))[: len(rows)]
    if (rows > highest + 1).any():
        return {"rows": smallest(rows)}
    is_next = rows == highest + 1
    return {"is_next": np.packbits(is_next), "rows": smallest(rows[~is_next])}


def decode_rows(small, n):
    """Of n leaves."""
    if "is_next" not in small:
        return small["rows"]
    is_next = np.unpackbits(small["is_next"], count=n).view(bool)
    rows = np.cumsum(is_next) - 1
    rows[~is_next] = small["rows"]
    return rows


def right_children(const int32_t[::1] feature not None, const int64_t[::1] offsets not None):
    """The right children that the order of nodes implies.

    Parameters
    ----------
    feature : ndarray of shape (n_nodes,), dtype int32
        -1: a leaf.
    offsets : ndarray of shape (n_trees + 1,), dtype int64

    Returns
    -------
    ndarray of shape (n_nodes,), dtype uint32
        Of leaves: 0.
    """
    cdef Py_ssize_t n = feature.shape[0], n_trees = offsets.shape[0] - 1, t, i, n_open
    result = np.zeros(n, np.uint32)
    waiting = np.empty(n, np.uint32)      # nodes whose right child is to come, the lowest last
    cdef uint32_t[::1] right = result, opened = waiting
    for t in range(n_trees):
        if not 0 <= offsets[t] < offsets[t + 1] <= n:
            raise ValueError(f"the nodes of tree {t} begin at {offsets[t]} and end at {offsets[t + 1]} of {n}")
        n_open = 0
        for i in range(offsets[t], offsets[t + 1]):
            if feature[i] >= 0:
                opened[n_open] = <uint32_t> i
                n_open += 1
            elif i + 1 < offsets[t + 1]:
                if n_open == 0:
                    raise ValueError(f"tree {t} ends at its node {i - offsets[t]} of {offsets[t + 1] - offsets[t]}")
                n_open -= 1
                right[opened[n_open]] = <uint32_t> (i + 1 - offsets[t])
        if n_open > 0:
            raise ValueError(f"tree {t} lacks nodes")
    return result
