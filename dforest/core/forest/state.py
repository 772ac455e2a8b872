"""A forest's arrays on their way out and in: made small, for storage and for other processes, and checked.

What follows from other arrays is left out: right children from the order of the nodes, what leaves have no use for, draws that
are sums of weights. Numbers get the smallest type that holds them; repeated numbers become codes and a table. `shrink` expects
arrays of trees as `Forest` keeps them; `expand` makes of its result arrays with the bits and types that `shrink` was given, but
for one thing: rows of the leaf tables that no leaf has, as where a tree shares the tables of its forest, are left out, and the
other rows numbered anew. `expand` trusts nothing: pickles get damaged.

Whatever reads a forest's arrays follows their numbers without checking them again: to a right child, a leaf row, a feature, a
payload. Arrays that come from a fit are right by construction; those of a pickle or a caller of `Forest` are checked here first.

Nothing here is kept: arrays handed in are borrowed, or returned as they are; all others are new.
"""

import numpy as np

from dforest.core.class_lists import ClassLists, weight_arrays
from dforest.core.forest.preorder import check_nodes, leaf_totals, right_children
from dforest.core.objective import check_objective
from dforest.core.sampling import MAX_ROWS, check_plans, check_rows, checked_integer
from dforest.core.search.criterion import Criterion
from dforest.core.search.splitter import Splitter


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
    draws = arrays["leaf_draws"]
    inner = ~leaf
    small = {"node_offsets": arrays["node_offsets"], "leaf": np.packbits(leaf)}
    small["feature"] = smallest(feature[inner])
    small["missing_left"] = np.packbits(arrays["missing_left"][inner])
    small.update(code_thresholds(arrays["threshold"][inner], small["feature"]))
    small.update(code_rows(arrays["link"][leaf]))
    if "leaf_weight" in arrays:
        small["leaf_weight"] = smallest(arrays["leaf_weight"])
        totals = arrays["leaf_weight"].sum(axis=1)
    else:
        lengths = np.diff(arrays["class_starts"])
        small["class_counts"], small["class_numbers"] = smallest(lengths), smallest(arrays["class_numbers"])
        small["class_weights"] = smallest(arrays["class_weights"])
        totals = sums_of(arrays["class_weights"], lengths)
    if not np.array_equal(draws, totals):
        small["leaf_draws"] = smallest(draws)
    if len(arrays["leaf_shift"]):
        small["leaf_shift"] = arrays["leaf_shift"].astype(np.int16)
    for name in ("leaf_value", "leaf_impurity"):
        table, codes = code_numbers(arrays[name].ravel())
        small[name] = table
        if codes is not None:
            small[name + "_codes"] = codes
    for name in LINES & arrays.keys():
        small[name] = arrays[name] if name != "leaf_features" else arrays[name].astype(np.int32)
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
    if "class_starts" in arrays:
        lists = ClassLists(arrays["class_starts"], arrays["class_numbers"], arrays["class_weights"], 0)
        own |= weight_arrays(lists.take(np.flatnonzero(is_used)))
    own["link"] = arrays["link"].copy()
    own["link"][leaf] = (np.cumsum(is_used) - 1)[arrays["link"][leaf]]
    return arrays | own


def expand(small):
    """The arrays that `shrink` was given.

    They are new, in the machine's byte order: those of a file that is mapped into memory do not stay there.

    Raises
    ------
    TypeError, ValueError
        If these are no arrays that `shrink` returns. Whether their numbers are those of a forest is for `check_arrays` to
        say; what is told here is what takes memory or reads beyond arrays.
    """
    if not isinstance(small, dict):
        raise TypeError(f"the arrays of a forest are a {type(small).__name__}; allowed are those in a dict")
    offsets = part(small, "node_offsets", "i").astype(np.int64)
    leaf = bits(small, "leaf", int(offsets[len(offsets) - 1]) if len(offsets) else -1)
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
    weights, totals = expand_weights(small)
    arrays |= weights
    n_leaves = len(totals)
    if rows.max(initial=0) >= n_leaves:
        raise ValueError(f"a leaf has row {rows.max()} of {n_leaves}")
    arrays["link"][leaf] = rows
    arrays["leaf_draws"] = part(small, "leaf_draws", "u").astype(np.int64) if "leaf_draws" in small else totals
    arrays["leaf_shift"] = part(small, "leaf_shift", "i", n_leaves).astype(np.int32) if "leaf_shift" in small else (
        np.zeros(0, np.int32))
    for name in ("leaf_value", "leaf_impurity"):
        numbers = floats(small, name)
        arrays[name] = look_up(numbers, part(small, name + "_codes", "u"), name) if name + "_codes" in small else numbers.copy()
    value = arrays["leaf_value"]
    if len(value) > n_leaves > 0:           # of several outputs
        if len(value) % n_leaves:
            raise ValueError(f"leaf_value has {len(value)} numbers of {n_leaves} leaves")
        arrays["leaf_value"] = value.reshape(n_leaves, -1)
    if "leaf_features" in small:
        arrays["leaf_features"] = part(small, "leaf_features", "i", n_leaves, 2).astype(np.int64)
        arrays |= {name: floats(small, name, 2).copy() for name in LINES - {"leaf_features"}}
    arrays["payload_offsets"] = np.append(0, np.cumsum(part(small, "payload_lengths", "u"), dtype=np.int64))
    arrays["payload_words"] = part(small, "payload_words", "u").astype(np.uint64)
    return arrays


def expand_weights(small):
    """The arrays of the weights of leaves, and the total of each leaf."""
    if "class_counts" not in small:
        weight = part(small, "leaf_weight", "u", None, 2).astype(np.int64)
        return {"leaf_weight": weight}, weight.sum(axis=1)
    lengths = part(small, "class_counts", "u")
    classes, weights = part(small, "class_numbers", "u"), part(small, "class_weights", "u", len(small["class_numbers"]))
    if lengths.max(initial=0) > len(classes) or int(lengths.sum(dtype=np.uint64)) != len(classes) or (lengths == 0).any():
        raise ValueError(f"class_counts are not the lengths of lists of {len(classes)} entries, none of which is empty")
    if classes.max(initial=0) >= 2**31:
        raise ValueError(f"class_numbers holds {classes.max()}; allowed are numbers below 2**31")
    lengths, weights = lengths.astype(np.int64), weights.astype(np.int64)
    lists = ClassLists(np.append(0, np.cumsum(lengths)), classes.astype(np.int32), weights, 0)
    return weight_arrays(lists), sums_of(weights, lengths)


def sums_of(numbers, lengths):
    """The sums of runs of numbers, one after another, none of which is empty."""
    return np.add.reduceat(numbers, np.cumsum(lengths) - lengths) if len(lengths) else numbers[:0]


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


MAX_FEATURES = (1 << 30) - 1  # a node of the packed forest has no more bits for a feature
MAX_CATEGORIES = 65535
INT64_MAX = (1 << 63) - 1
MAX_SHIFT = 4096  # exponents of float64 differ by less

# Types and number of axes of the arrays.
FORMS = {
    "node_offsets": (np.int64, 1), "feature": (np.int32, 1), "threshold": ((np.float32, np.float64), 1),
    "link": (np.uint32, 1), "missing_left": (np.bool_, 1), "leaf_draws": (np.int64, 1), "leaf_weight": (np.int64, 2),
    "class_starts": (np.int64, 1), "class_numbers": (np.int32, 1), "class_weights": (np.int64, 1),
    "leaf_shift": (np.int32, 1), "leaf_value": (np.float64, 1), "leaf_impurity": (np.float64, 1),
    "leaf_bounds": (np.float64, 2), "leaf_features": (np.int64, 2), "leaf_centers": (np.float64, 2),
    "leaf_slopes": (np.float64, 2), "inner": (np.float64, 2),
    "payload_offsets": (np.int64, 1), "payload_words": (np.uint64, 1), "seeds": (np.uint32, 1), "n_rows": (np.int64, 1),
    "weight_unit": (np.float64, 1), "n_categories": (np.int32, 1),
}
SETTINGS = {"seeds", "n_rows", "weight_unit", "n_categories"}      # of these, what is for trees or columns
LINES = {"leaf_bounds", "leaf_features", "leaf_centers", "leaf_slopes"}      # of leaves that are linear functions
LISTS = {"class_starts", "class_numbers", "class_weights"}         # and what takes the place of leaf_weight if classes are listed


def check_form(name, array, axes=None):
    """Raise TypeError unless an array has the type and the axes that it has in a `Forest`, and is C-contiguous."""
    allowed, n_axes = FORMS[name]
    n_axes = axes or n_axes
    allowed = [np.dtype(one) for one in (allowed if isinstance(allowed, tuple) else (allowed,))]
    what = " or ".join(map(str, allowed))
    if type(array) is not np.ndarray:
        raise TypeError(f"{name} is a {type(array).__name__}; allowed are arrays of {what}")
    if array.dtype not in allowed or array.ndim != n_axes or not array.flags.c_contiguous:
        raise TypeError(f"{name} has {array.ndim} axes and the type {array.dtype}; allowed are C-contiguous arrays of {what} "
                        f"with {n_axes}")


def check_forest(forest):
    """Raise unless the attributes of a forest fit together.

    Parameters
    ----------
    forest : Forest

    Raises
    ------
    TypeError
        If an attribute is of another type than the forest's class says.
    ValueError
        If a value is out of its range, or arrays contradict each other.
    """
    check_settings(forest)
    check_arrays(forest)


def check_settings(forest):
    """Raise, as `check_forest` does, unless what a forest has for trees and columns fits together; no node is looked at."""
    for name in ("node_offsets", *SETTINGS):
        check_form(name, getattr(forest, name))
    n_trees = len(forest.node_offsets) - 1
    check_objective(forest.objective)
    n_features = checked_integer("n_features", forest.n_features, 1, MAX_FEATURES)
    checked_integer("seed", forest.seed, 0, 2**64 - 1)
    check_plans(forest.plans)
    check_criterion(forest.criterion, forest.objective)
    splitter = forest.splitter
    if splitter is not None and not (isinstance(splitter, Splitter) and splitter.has_own_tests):
        raise TypeError(f"splitter={splitter!r}; allowed are None and splitters with tests of their own")
    if n_trees < 1:
        raise ValueError(f"node_offsets has length {n_trees + 1}; allowed are two and more, for a tree and more")
    for plan, n_rows in set(zip(forest.plans, np.asarray(forest.n_rows).tolist(), strict=False)):
        check_rows(plan, n_rows)
    lengths = {"seeds": n_trees, "n_rows": n_trees, "plans": n_trees, "weight_unit": n_trees, "n_categories": n_features}
    for name, n in lengths.items():
        check_length(name, len(getattr(forest, name)), n)
    check_offsets("node_offsets", forest.node_offsets, int(forest.node_offsets[n_trees]), 1)
    check_range("n_rows", forest.n_rows, 1, MAX_ROWS)
    check_range("n_categories", forest.n_categories, 0, MAX_CATEGORIES)


def check_arrays(forest):
    """Raise, as `check_forest` does, unless the nodes and leaves of a forest whose settings were checked make trees."""
    objective, splitter = forest.objective, forest.splitter
    by_output = objective.keeps_values and objective.n_outputs > 1
    names = FORMS.keys() - SETTINGS - LINES | objective.line_tables.keys()
    for name in names - ({"leaf_weight"} if objective.lists_classes else LISTS):
        check_form(name, getattr(forest, name), 2 if name == "leaf_value" and by_output else None)
    n_nodes, n_leaves = len(forest.feature), len(forest.leaf_draws)
    lengths = {
        "threshold": n_nodes, "link": n_nodes, "missing_left": n_nodes,
        "leaf_value": n_leaves if objective.keeps_values else 0, "leaf_impurity": n_leaves if objective.keeps_values else 0,
    }
    if len(forest.leaf_shift):
        lengths["leaf_shift"] = n_leaves
    for name, n in lengths.items():
        check_length(name, len(getattr(forest, name)), n)
    check_weights(forest, n_leaves)
    if by_output:
        check_length("each row of leaf_value", forest.leaf_value.shape[1], objective.n_outputs)
    check_lines(forest, n_leaves)
    check_offsets("node_offsets", forest.node_offsets, n_nodes, 1)
    check_offsets("payload_offsets", forest.payload_offsets, len(forest.payload_words), 0)
    check_range("missing_left", forest.missing_left.view(np.uint8), 0, 1)
    check_range("leaf_draws", forest.leaf_draws, 1, INT64_MAX)
    check_range("leaf_shift", forest.leaf_shift, -MAX_SHIFT, MAX_SHIFT)
    if isinstance(forest.criterion, str):          # the numbers of a user-defined criterion may be any
        check_numbers("leaf_value", forest.leaf_value, np.isfinite)
        check_numbers("leaf_impurity", forest.leaf_impurity, is_impurity)
        check_numbers("inner", forest.inner[:, :-1], np.isfinite)
        check_numbers("inner", forest.inner[:, -1:], is_impurity)
    totals = [weight_totals(forest.weights, columns) for columns in objective.weight_columns]
    for output, total in enumerate(totals):
        if (total != totals[0]).any():
            raise ValueError(f"leaf_weight has another weight of a leaf for output {output} than for output 0")
    weights = np.zeros_like(totals[0]) if len(forest.leaf_shift) else totals[0]     # else sums of them are rounded
    n_inner = check_nodes(
        forest.node_offsets, forest.feature, forest.threshold, forest.link, forest.missing_left.view(np.uint8),
        forest.leaf_draws, weights, forest.n_draws, forest.n_categories, splitter is not None,
        forest.payload_offsets, forest.payload_words,
    )
    n_given = n_inner if objective.keeps_gains or not objective.make_criterion(forest.criterion).is_additive else 0
    if forest.inner.shape != (n_given, objective.n_node_values):
        raise ValueError(
            f"inner has the shape {forest.inner.shape}; that of this forest is {(n_given, objective.n_node_values)}")


def check_lines(forest, n_leaves):
    """Raise unless the linear functions of n_leaves leaves are some, if the objective has them."""
    for name, (_, n_columns) in forest.objective.line_tables.items():
        table = getattr(forest, name)
        check_length(name, len(table), n_leaves)
        check_length(f"each row of {name}", table.shape[1], n_columns)
        if name == "leaf_features":
            check_range(name, table, -1, forest.n_features - 1)
            if ((table[:, 1:] >= 0) & (table[:, :-1] < 0)).any():
                raise ValueError("leaf_features has a feature behind -1, which ends the list of a leaf")
        else:
            check_numbers(name, table, np.isfinite)


def check_weights(forest, n_leaves):
    """Raise unless the weights of n_leaves leaves, listed or not, are weights of the objective's classes."""
    n_classes = forest.objective.n_weights
    if not forest.objective.lists_classes:
        check_length("leaf_weight", len(forest.leaf_weight), n_leaves)
        check_length("each row of leaf_weight", forest.leaf_weight.shape[1], n_classes)
        check_range("leaf_weight", forest.leaf_weight, 0, INT64_MAX)
        return
    starts, classes = forest.class_starts, forest.class_numbers
    check_length("class_starts", len(starts), n_leaves + 1)
    check_offsets("class_starts", starts, len(classes), 1)
    check_length("class_weights", len(forest.class_weights), len(classes))
    check_range("class_numbers", classes, 0, n_classes - 1)
    check_range("class_weights", forest.class_weights, 1, INT64_MAX)
    is_first = np.zeros(len(classes), bool)
    is_first[starts[:-1]] = True
    if not (is_first[1:] | (classes[1:] > classes[:-1])).all():
        raise ValueError("class_numbers must rise in the list of each leaf")


def weight_totals(weights, columns):
    """`leaf_totals` of some columns of the weights of leaves, listed or not."""
    if not isinstance(weights, ClassLists):
        return leaf_totals(np.ascontiguousarray(weights[:, columns]))
    own = weights.columns(columns)
    parts = own.values >> 32, own.values & 0xFFFFFFFF        # whose sums do not leave 63 bits
    rows = np.repeat(np.arange(len(own)), own.lengths)
    high, low = (np.zeros(len(own), np.int64) for _ in parts)
    np.add.at(high, rows, parts[0])
    np.add.at(low, rows, parts[1])
    high += low >> 32
    for wrong, what in ((high >> 31 != 0, "sum up to 2**63 or more"), (own.lengths == 0, "are all 0")):
        if wrong.any():
            raise ValueError(f"the weights in row {np.flatnonzero(wrong)[0]} of leaf_weight {what}")
    return own.totals()


def check_criterion(criterion, objective):
    """Raise TypeError or ValueError unless this is the name of a criterion for an objective, or a `Criterion` for it."""
    if isinstance(criterion, str):
        if criterion not in objective.criteria:
            raise ValueError(f"criterion={criterion!r} of a forest with {objective}; allowed are {sorted(objective.criteria)}")
        return
    if not isinstance(criterion, Criterion):
        raise TypeError(f"criterion={criterion!r}; allowed are names and objects of the class Criterion")
    n_words, expected = objective.make_criterion(criterion).n_words, objective.weight_words.stop
    # Where a leaf's weights are all it keeps, statistics are put together from them.
    if not objective.keeps_values and n_words != expected:
        raise ValueError(f"criterion={criterion!r} has statistics of {n_words} words; those of {objective} have {expected}")


def check_length(name, n, expected):
    if n != expected:
        raise ValueError(f"{name} has length {n}; that of this forest is {expected}")


def check_offsets(name, offsets, n, least):
    """Raise unless offsets lead from 0 to n in steps of some least size."""
    if len(offsets) < 1 or offsets[0] != 0 or offsets[len(offsets) - 1] != n or (offsets[1:] < offsets[:-1] + least).any():
        raise ValueError(f"{name} must rise from 0 to {n}, by {least} or more each")


def check_range(name, numbers, least, most):
    if numbers.size and not least <= int(numbers.min()) <= int(numbers.max()) <= most:
        raise ValueError(f"{name} holds numbers from {numbers.min()} to {numbers.max()}; allowed are {least} to {most}")


def check_numbers(name, numbers, is_allowed):
    wrong = ~is_allowed(numbers)
    if wrong.any():
        raise ValueError(f"{name} holds {numbers[wrong][0]!r}, which is not possible in a forest")


def is_impurity(numbers):
    return numbers >= 0.0
