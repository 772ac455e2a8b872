"""Codes of columns whose rows lie on several ranks: those that one process would give which has all rows.

Each rank sorts its own values, among which the zeros that a sparse matrix does not store count like others. Which bins there are,
the ranks agree upon: all of them keep the same *cut points* of a column (`dforest.core.coding.quantile_sketch`), keys up to which
the weight of the values of all ranks is known, and ask for what is still missing. The first cut points are values that the ranks
propose. Then the gaps between cut points in which a bin ends are narrowed down, for all bins and columns together: a cut point is
put on each side of where the end is expected, and the values of a gap that has few are counted one by one. Nothing is estimated
in the end: all weights are exact sums, and bins end by the rule of one process.

The *owner* of a gap is the rank that adds up what the others answer; each rank owns a share of the gaps.
"""

import numpy as np

from dforest.core.coding.code_rule import MISSING_KEY, CodeRule, edges_between, values_of_keys
from dforest.core.coding.coded_columns import CodedColumn
from dforest.core.coding.columns import (
    BLOCK_BYTES,
    CATEGORICAL,
    CONTINUOUS,
    code_columns,
    describe_unsorted,
    unsorted_facts,
    write_columns,
)
from dforest.core.coding.quantile_sketch import QuantileSketch, merge_entries
from dforest.core.coding.sorted_keys import places_of, runs_of, sort_columns
from dforest.core.sparse_rows import SparseRows, joined
from dforest.core.threads import each

MAX_ENTRIES = 20  # values of a gap that a rank sends one by one
SAMPLES = 2  # values that ranks propose together for each bin


def code_columns_together(
    ranks,
    parts,
    max_codes=0,
    weight=None,
    n_threads=1,
    kinds=None,
    n_categories=None,
    takes_keys=False,
    *,
    row_major=False,
    counts_missing=True,
    max_stored=0.0,
):
    """Code the columns of a matrix whose rows lie on several ranks. A collective.

    Parameters
    ----------
    ranks : Communicator
        In a piece of common work: what `together` yields.
    parts : list of (ndarray of shape (n_k, n_features), or SparseRows), dtype float32 or float64
        This rank's rows, one matrix above the other, possibly none; of one dtype and width on all ranks. NaN means missing,
        infinities are ordinary values.
    max_codes, n_threads, kinds, n_categories, takes_keys, counts_missing, max_stored
        As in `dforest.core.coding.code_columns`; equal on all ranks, but for n_threads. Only one rank alone has sparse columns.
    weight : ndarray of shape (n_own,), dtype uint32, optional
        Integer weights of this rank's rows, 1 or more, on one scale for all ranks; None, on all ranks that have rows: all 1.
    row_major : bool
        Whether codes lie row by row, in one matrix of the widest code's dtype; the codes of a column are then a view of it. If
        a column has keys of 64 bits, all that have keys do.

    Returns
    -------
    list of CodedColumn
        The codes of this rank's rows. All else is of all rows, and what `code_columns` would give for them, to the bit.

    Raises
    ------
    ValueError
        If the ranks have matrices of several dtypes or widths, or weights on some of them only.
    """
    if ranks.size == 1 and any(isinstance(x, SparseRows) for x in parts) and not row_major:
        parts = [joined(parts)]  # of which columns may be sparse
    if ranks.size == 1 and len(parts) == 1 and len(parts[0]) and not row_major:
        return code_columns(parts[0], max_codes, weight, n_threads, kinds, n_categories, takes_keys, counts_missing, max_stored)
    n_rows = sum(map(len, parts))
    n_features, dtype, is_weighted, max_rows = _agreed(ranks, parts, n_rows, weight)
    parts = [x.by_column() if isinstance(x, SparseRows) else x for x in parts if len(x)]
    if not is_weighted:
        weight = None
    elif weight is None:
        weight = np.empty(0, np.uint32)
    kinds = [CONTINUOUS] * n_features if kinds is None else [int(kind) for kind in kinds]
    described = [None] * n_features  # the column without codes, its rule, its largest code
    unsorted = [j for j in range(n_features) if kinds[j] == CATEGORICAL or (takes_keys and kinds[j] == CONTINUOUS)]
    searched = sorted(set(range(n_features)) - set(unsorted))
    if unsorted:
        facts = ranks.greatest(unsorted_facts(parts, unsorted, n_threads))
        if row_major:
            facts[:, 1] = facts[:, 1].max()
        found = describe_unsorted(unsorted, facts, kinds, dtype, n_categories)
        for j, *own in zip(unsorted, *found, strict=True):
            described[j] = own
    bytes_a_value = dtype.itemsize + 8 * is_weighted
    width = max(1, max(max_rows * n_features, 2 * ranks.room) // (bytes_a_value * max(1, max_rows)))
    for first in range(0, len(searched), width):
        group = searched[first : first + width]
        values = _sorted(parts, group, dtype, weight, n_threads, max(1, SAMPLES * max_codes))
        known = _bins(ranks, values, dtype, max_codes, counts_missing) if max_codes else _distinct(ranks, values, dtype)
        for j, (column, keys) in zip(group, known, strict=True):
            largest = len(keys) - (len(keys) > 0 and not column.has_missing)
            described[j] = column._replace(kind=kinds[j]), CodeRule(len(keys), keys[:-1], n_rows=n_rows), largest
        del values
    return write_columns(parts, list(range(n_features)), *map(list, zip(*described, strict=True)), n_threads, row_major)


def _agreed(ranks, parts, n_rows, weight):
    """How many features there are, the dtype of X, whether rows have weights, and the most rows of a rank."""
    own = [(x.shape[1], x.dtype.str) for x in parts], [weight is not None] * (n_rows > 0), n_rows
    of_ranks = ranks.gather_objects(own)
    sorts = sorted({sort for own, _, _ in of_ranks for sort in own})
    if len(sorts) != 1:
        raise ValueError(f"X has the n_features and dtypes {sorts} on the ranks; allowed is one pair for all, and at least one X")
    is_weighted = {has for _, has, _ in of_ranks for has in has}
    if len(is_weighted) > 1:
        raise ValueError("some ranks have weights for their rows and others have none; allowed are weights on all or on none")
    return sorts[0][0], np.dtype(sorts[0][1]), True in is_weighted, max(n for _, _, n in of_ranks)


def _sorted(parts, group, dtype, weight, n_threads, n_shares):
    """The `SortedColumn` of each column of a group."""
    # Columns that are read together share cache lines of X; where they have weights, they take 16 bytes a value until sorted.
    most = 8 if weight is None else max(1, min(8, BLOCK_BYTES // (16 * max(1, len(weight)))))
    n_blocks = max(-(-len(group) // most), min(n_threads, len(group)))
    edges = np.arange(n_blocks + 1) * len(group) // n_blocks
    values = [None] * len(group)

    def work(b, _):
        values[edges[b] : edges[b + 1]] = sort_columns(parts, group[edges[b] : edges[b + 1]], dtype, weight, n_shares)

    each(n_blocks, work, n_threads)
    return values


def _distinct(ranks, values, dtype):
    """Columns of distinct values, without codes, and the keys of these."""
    for column in values:
        has_missing = ranks.any(column.has_missing)
        keys = np.unique(np.concatenate(ranks.gather(np.unique(column.keys))))
        numbers = values_of_keys(keys)
        yield CodedColumn(None, numbers, numbers, numbers, has_missing, CONTINUOUS), keys


def _bins(ranks, values, dtype, max_codes, counts_missing):
    """Columns of bins, without codes, and the keys of their highest values."""
    key_dtype = values[0].keys.dtype
    own = [(c.weight, c.has_missing, c.n_distinct, c.n_distinct > max_codes, round(c.jump)) for c in values]
    facts = ranks.sum(np.array(own, np.int64))
    top, is_wide = MISSING_KEY[key_dtype.itemsize] - 1, key_dtype == np.uint64
    columns = [
        QuantileSketch(top, weight, max_codes - (counts_missing and n_missing > 0), max(1.0, jump / ranks.size), is_wide)
        for weight, n_missing, _, _, jump in facts.tolist()
    ]
    word = np.dtype(np.uint32 if not is_wide and facts[:, 0].max() < 2**32 - 1 else np.uint64)
    # Columns of few values are sent as they are.
    is_few = (facts[:, 3] == 0) | (facts[:, 2] <= 2 * SAMPLES * max_codes)
    for column, probes in zip(columns, _proposals(ranks, values, is_few, facts[:, 0], max_codes), strict=True):
        column.want_all(probes)
    most, n_steps = int(facts[is_few, 2].max(initial=0)), 0
    while any(len(column.gaps) for column in columns):
        _ask(ranks, values, columns, most, word)
        for column in columns:
            if column.ends is None:
                column.allocate_bins(MAX_ENTRIES, n_steps > 0)
        most, n_steps = MAX_ENTRIES, n_steps + 1
    return _described(ranks, values, [column.ends for column in columns], facts[:, 1] > 0)


def _proposals(ranks, values, is_few, weight, max_codes):
    """Keys of each column to begin with: about `SAMPLES` for each bin, at regular steps of weight; and those before them."""
    own = []
    for j, column in enumerate(values):
        if is_few[j] or column.weight == 0:
            own.append(column.keys[:0])
            continue
        n = -(-SAMPLES * max_codes * column.weight // int(weight[j]))
        at = ((np.arange(n) + (ranks.rank + 0.5) / ranks.size) * (column.weight / n)).astype(np.int64)
        at = np.minimum(at, column.weight - 1)
        if column.sums is not None:
            at = np.searchsorted(column.sums, at, "right")
        own.append(column.keys[np.concatenate([[0, len(column.keys) - 1], at])])
    if is_few.all():
        return [np.empty(0, np.uint64)] * len(values)
    sizes = np.array([len(keys) for keys in own], values[0].keys.dtype)
    proposals = [[] for _ in values]
    for words in ranks.gather(np.concatenate([sizes, *own])):
        ends = len(values) + np.cumsum(words[: len(values)].astype(np.int64))
        for j, end in enumerate(ends.tolist()):
            proposals[j].append(words[end - int(words[j]) : end])
    found = []
    for keys in proposals:
        keys = np.unique(np.concatenate(keys)).astype(np.uint64)
        found.append(np.unique(np.concatenate([keys - np.uint64(1), keys])))
    return found


def _weights(column, places):
    """The weight of a sorted column's values before each place."""
    if column.sums is None:
        return places
    return np.where(places > 0, column.sums[places - 1], 0) if len(column.sums) else np.zeros(len(places), np.int64)


def _ask(ranks, values, columns, most, word):
    """Ask all ranks for the gaps that are wanted of columns, and add the cut points that they answer. A collective."""
    asked = [column.wanted_gaps() for column in columns]
    low, high, base, first, last, n_probes, probes = (np.concatenate(parts) for parts in zip(*asked, strict=True))
    # Where each column's gaps begin, each gap's probes, and each rank's share of gaps, which it owns.
    gap_at = np.cumsum([0] + [len(questions[0]) for questions in asked])
    probe_at = np.append(0, np.cumsum(n_probes))
    share = ranks.edges(len(low))
    counts, n_entries, keys, weights = np.empty(len(probes), np.int64), np.empty(len(low), np.int64), [], []
    for column, a, b in zip(values, gap_at, gap_at[1:], strict=False):
        own = slice(probe_at[a], probe_at[b])
        begins, ends, places = places_of(column.keys, low[a:b], high[a:b], n_probes[a:b], probes[own])
        counts[own] = _weights(column, places) - np.repeat(_weights(column, begins), n_probes[a:b])
        n_entries[a:b], starts, ends = runs_of(column.keys, begins, ends, most)
        keys.append(column.keys[starts])
        weights.append(_weights(column, ends) - _weights(column, starts))
    keys, weights = np.concatenate(keys), np.concatenate(weights)
    entry_at = np.append(0, np.cumsum(np.maximum(n_entries, 0)))
    messages = []
    for a, b in zip(share, share[1:], strict=False):
        entries = slice(entry_at[a], entry_at[b])
        message = (
            counts[probe_at[a] : probe_at[b]],
            n_entries[a:b],  # -1 becomes the greatest word
            keys[entries],
            weights[entries],
        )
        messages.append(np.concatenate([part.astype(word) for part in message]))
    a, b = share[ranks.rank], share[ranks.rank + 1]
    answers = ranks.gather(_merged_answers(ranks.exchange(messages), probe_at[b] - probe_at[a], first[a:b], last[a:b]))
    # All ranks learn what the owners say.
    parsed = [
        _parsed(answers[r], probe_at[share[r + 1]] - probe_at[share[r]], share[r + 1] - share[r]) for r in range(ranks.size)
    ]
    counts, n_kept, keys, upto = (np.concatenate(parts) for parts in zip(*parsed, strict=True))
    is_cut, n_kept = (n_kept & 1).astype(np.uint8), (n_kept >> 1).astype(np.int64)
    entry_at = np.append(0, np.cumsum(n_kept))
    counts = counts.astype(np.int64) + np.repeat(base, n_probes)
    upto = upto.astype(np.int64) + np.repeat(base, n_kept)
    is_single = np.ones(len(keys), np.uint8)
    is_single[entry_at[:-1][n_kept > 0]] = 1 - is_cut[n_kept > 0]
    keys = keys.astype(np.uint64)
    for column, a, b in zip(columns, gap_at, gap_at[1:], strict=False):
        if b > a:
            p, e = slice(probe_at[a], probe_at[b]), slice(entry_at[a], entry_at[b])
            column.add_cut_points(probes[p], counts[p], np.zeros(p.stop - p.start, np.uint8))
            column.add_cut_points(keys[e], upto[e], is_single[e])


def _parsed(words, n_counts, n_gaps):
    """The parts of a message: weights up to probes, numbers of entries, their keys, their weights."""
    counts, n_entries, entries = np.split(words, [n_counts, n_counts + n_gaps])
    return counts, n_entries, *entries.reshape(2, -1)


def _merged_answers(messages, n_counts, first, last):
    """What ranks answered for a share of gaps, put together: a message like theirs, but as `merge_entries` gives entries."""
    word, n_gaps = messages[0].dtype, len(first)
    parsed = [_parsed(message, n_counts, n_gaps) for message in messages]
    counts = np.sum([part[0] for part in parsed], axis=0, dtype=word)
    n_entries = np.stack([part[1] for part in parsed])
    n_entries = np.where(n_entries == np.iinfo(word).max, -1, n_entries.astype(np.int64))
    starts = np.cumsum([0] + [len(part[2]) for part in parsed[:-1]])
    keys = np.concatenate([part[2] for part in parsed]).astype(np.uint64)
    weights = np.concatenate([part[3] for part in parsed]).astype(np.int64)
    return np.concatenate([part.astype(word) for part in (counts, *merge_entries(n_entries, starts, keys, weights, first, last))])


def _described(ranks, values, ends, has_missing):
    """Edges, lows and highs of bins that end at given keys, and the keys of the highs."""
    own = []
    for column, keys in zip(values, ends, strict=True):
        dtype = column.keys.dtype
        places = np.searchsorted(column.keys, keys.astype(dtype), "right")
        starts = np.concatenate([[0], places])[: len(places)]
        there = np.flatnonzero(places > starts)
        low, high = np.full(len(keys), np.iinfo(dtype).max, dtype), np.zeros(len(keys), dtype)
        low[there], high[there] = column.keys[starts[there]], column.keys[places[there] - 1]
        own += [~low, high]
    sizes = np.repeat([len(keys) for keys in ends], 2)
    found = np.split(ranks.greatest(np.concatenate(own)), np.cumsum(sizes)[:-1])
    for j, keys in enumerate(found[1::2]):
        lows, highs = values_of_keys(np.ascontiguousarray(~found[2 * j])), values_of_keys(np.ascontiguousarray(keys))
        yield CodedColumn(None, edges_between(lows, highs), lows, highs, bool(has_missing[j]), CONTINUOUS), keys
