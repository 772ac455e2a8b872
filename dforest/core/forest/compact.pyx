"""A forest's arrays made small, for storage and for the way to other processes.

What follows from other arrays is left out: right children from the order of the nodes, what leaves
have no use for, draws that are sums of weights. Numbers get the smallest type that holds them;
repeated ones become codes and a table. `shrink` expects arrays of trees as `Forest` keeps them; what
`expand` makes of it has the same bits and types, but for one thing: rows of the leaf tables that no
leaf has, as where a tree shares the tables of its forest, are left out, and the others numbered anew.
`expand` trusts nothing: pickles get damaged.

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
    small.update(code_rows(arrays["link"][leaf]))
    small["leaf_weight"] = smallest(weight)
    if not np.array_equal(draws, weight.sum(axis=1)):
        small["leaf_draws"] = smallest(draws)
    for name in ("leaf_value", "leaf_impurity"):
        table, codes = code_numbers(arrays[name].ravel())
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
    is_used[arrays["link"][leaf]] = True
    if is_used.all():
        return arrays
    own = {name: table[is_used] if len(table) == n else table for name, table in arrays.items() if name.startswith("leaf_")}
    own["link"] = arrays["link"].copy()
    own["link"][leaf] = (np.cumsum(is_used) - 1)[arrays["link"][leaf]]
    return arrays | own


def expand(small):
    """The arrays that `shrink` was given.

    They are new, in the machine's byte order: those of a file that is mapped into memory do not stay there.

    Raises
    ------
    TypeError, ValueError
        If these are no arrays that `shrink` returns. Whether their numbers are those of a forest is for
        `dforest.core.forest.check` to say; what is told here is what takes memory or reads beyond arrays.
    """
    if not isinstance(small, dict):
        raise TypeError(f"the arrays of a forest are a {type(small).__name__}; allowed are those in a dict")
    offsets = part(small, "node_offsets", "i").astype(np.int64)
    leaf = bits(small, "leaf", int(offsets[-1]) if len(offsets) else -1)
    n = len(leaf)
    inner = ~leaf
    n_inner = int(inner.sum())
    arrays = {"node_offsets": offsets, "inner": floats(small, "inner", 2).copy()}
    tested = part(small, "feature", "u", n_inner)
    if tested.max(initial=0) >= 2**31:
        raise ValueError(f"feature holds {tested.max()}; allowed are numbers below 2**31")
    arrays["feature"] = feature = np.full(n, -1, np.int32)
    feature[inner] = tested
    arrays["missing_left"] = np.zeros(n, bool)
    arrays["missing_left"][inner] = bits(small, "missing_left", n_inner)
    threshold = decode_thresholds(small, tested)
    arrays["threshold"] = np.zeros(n, threshold.dtype)
    arrays["threshold"][inner] = threshold
    arrays["link"] = right_children(feature, offsets)
    rows = decode_rows(small, n - n_inner)
    arrays["leaf_weight"] = weight = part(small, "leaf_weight", "u", None, 2).astype(np.int64)
    if rows.max(initial=0) >= len(weight):
        raise ValueError(f"a leaf has row {rows.max()} of {len(weight)}")
    arrays["link"][leaf] = rows
    arrays["leaf_draws"] = part(small, "leaf_draws", "u").astype(np.int64) if "leaf_draws" in small else weight.sum(axis=1)
    for name in ("leaf_value", "leaf_impurity"):
        numbers = floats(small, name)
        arrays[name] = look_up(numbers, part(small, name + "_codes", "u"), name) if name + "_codes" in small else numbers.copy()
    value = arrays["leaf_value"]
    if len(value) > len(weight) > 0:           # of several outputs
        if len(value) % len(weight):
            raise ValueError(f"leaf_value has {len(value)} numbers of {len(weight)} leaves")
        arrays["leaf_value"] = value.reshape(len(weight), -1)
    arrays["payload_offsets"] = np.append(0, np.cumsum(part(small, "payload_lengths", "u"), dtype=np.int64))
    arrays["payload_words"] = part(small, "payload_words", "u").astype(np.uint64)
    return arrays


def part(small, name, kind, n=None, n_axes=1):
    """An array of a kind of types, in the machine's byte order; raise if it is another one, or not of length n."""
    array = small.get(name)
    if not isinstance(array, np.ndarray) or array.dtype.kind != kind or array.ndim != n_axes:
        raise TypeError(f"{name} is no array of a forest made small")
    if n is not None and len(array) != n:
        raise ValueError(f"{name} has length {len(array)}; that of this forest is {n}")
    return np.asarray(array, array.dtype.newbyteorder("="))


def floats(small, name, n_axes=1):
    array = part(small, name, "f", None, n_axes)
    if array.dtype != np.float64:
        raise TypeError(f"{name} has the type {array.dtype}; allowed is float64")
    return np.ascontiguousarray(array)


def bits(small, name, n):
    """The first n bits, as an array of bool."""
    packed = part(small, name, "u")
    if packed.dtype != np.uint8 or n < 0 or len(packed) != (n + 7) // 8:
        raise ValueError(f"{name} is of {len(packed)} numbers of the type {packed.dtype}, for the bits of {n} nodes")
    return np.unpackbits(packed, count=n).view(bool)


def look_up(table, places, name):
    """The numbers at some places of a table, given as unsigned ones."""
    if places.max(initial=0) >= max(1, len(table)) or (len(places) and not len(table)):
        raise ValueError(f"{name} has {len(table)} numbers, and places up to {places.max()} among them")
    return table[places]


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


def decode_thresholds(small, feature):
    """Thresholds of the nodes that test some features."""
    threshold = part(small, "threshold", "f")
    if threshold.dtype not in (np.float32, np.float64):
        raise TypeError(f"threshold has the type {threshold.dtype}; allowed are float32 and float64")
    if "threshold_codes" in small:
        counts = part(small, "threshold_counts", "u").astype(np.int64)
        codes = part(small, "threshold_codes", "u", len(feature))
        n = len(threshold)
        if ((counts < 0) | (counts > n)).any() or counts.sum() != n:
            raise ValueError(f"threshold_counts are not of {n} thresholds")
        if (codes >= look_up(counts, feature, "threshold_counts")).any():
            raise ValueError("a threshold is none of those of its feature")
        threshold = threshold[np.append(0, np.cumsum(counts))[feature] + codes.astype(np.int64)]
    if len(threshold) != len(feature):
        raise ValueError(f"there are {len(threshold)} thresholds of {len(feature)} nodes")
    return threshold


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
        return part(small, "rows", "u", n)
    is_next = bits(small, "is_next", n)
    rows = np.cumsum(is_next) - 1
    rows[~is_next] = part(small, "rows", "u", n - int(is_next.sum()))
    if rows.min(initial=0) < 0:
        raise ValueError("the first leaf has no row")
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
