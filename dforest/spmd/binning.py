"""Codes of columns whose rows lie on several ranks: those that one process would give which has all rows.

Each rank sorts its own values. Which bins there are, the ranks agree upon: all of them keep the same *marks* of a column
(`dforest.core.shared_bins`), keys up to which the weight of the values of all ranks is known, and ask for what is still missing.
First marks are values that the ranks propose. Then gaps between marks in which a bin ends are narrowed down, those of all bins
and all columns together: to each side of the place where the end is expected a mark is put, and where few values are left, these
are counted one by one. Nothing is estimated in the end: all weights are exact sums, and bins end by the rule of one process.

A gap is asked for in a *question*, which has *probes*, keys within it. Its *judge* is the rank that adds up what the others
answer; each rank is the judge of a share of the questions.
"""

from typing import NamedTuple

import numpy as np

from dforest.core.binning import code_categories, code_columns
from dforest.core.code_writer import edges_between, last_keys, values_of_keys, write_codes
from dforest.core.data import CodedColumn
from dforest.core.shared_bins import deal_out, trim
from dforest.core.sorted_columns import runs_of, sort_columns
from dforest.core.threads import each

CONTINUOUS, CATEGORICAL = 0, 2  # kinds of columns
LEAST_ROOM = 1 << 25  # bytes that sorted values may take on a rank, if its codes take fewer
MOST_ENTRIES = 12  # values of a gap that a rank sends one by one
SAMPLES = 2  # values that ranks propose together for each bin
ROWS_AT_A_TIME = 1 << 14  # coded by one call


class Marks:
    """What is known of a column's values on all ranks: see `dforest.core.shared_bins.deal_out`."""

    def __init__(self, top, weight, n_bins, jump):
        self.marks = np.array([0, top], np.uint64)
        self.upto = np.array([0, weight], np.int64)
        self.is_single = np.zeros(2, np.uint8)
        self.n_bins, self.jump = n_bins, jump

    def add(self, marks, upto, is_single):
        marks = np.concatenate([self.marks, marks])
        upto = np.concatenate([self.upto, upto])
        is_single = np.concatenate([self.is_single, is_single])
        order = np.lexsort((1 - is_single, marks))
        order = order[np.append(True, np.diff(marks[order]) > 0)]
        self.marks, self.upto, self.is_single = marks[order], upto[order], is_single[order]
        self.is_single[1:] |= np.diff(self.marks) == 1


class Question(NamedTuple):
    """A gap of a column that ranks are asked about."""

    column: int
    low: int  # the marks between which it is
    high: int
    base: int  # the weight up to its lower mark
    first: int  # weights between which its targets are
    last: int
    probes: np.ndarray


def code_columns_together(
    ranks, parts, max_codes=0, weight=None, n_threads=1, kinds=None, n_categories=None, takes_keys=False, *, row_major=False
):
    """Code the columns of a matrix whose rows lie on several ranks. A collective.

    Parameters
    ----------
    ranks : Communicator
        In a piece of common work: what `together` yields.
    parts : list of ndarray of shape (n_k, n_features), dtype float32 or float64
        This rank's rows, one matrix above the other, possibly none; of one dtype and width on all ranks. NaN means missing,
        infinities are ordinary values.
    max_codes, n_threads, kinds, n_categories, takes_keys
        As in `dforest.core.binning.code_columns`; equal on all ranks, but for n_threads.
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
    if ranks.size == 1 and len(parts) == 1 and len(parts[0]) and not row_major:
        return code_columns(parts[0], max_codes, weight, n_threads, kinds, n_categories, takes_keys)
    n_rows = sum(map(len, parts))
    n_features, dtype, is_weighted = _agreed(ranks, parts, n_rows, weight)
    parts = [x for x in parts if len(x)]
    if not is_weighted:
        weight = None
    elif weight is None:
        weight = np.empty(0, np.uint32)
    kinds = [CONTINUOUS] * n_features if kinds is None else [int(kind) for kind in kinds]
    columns = [None] * n_features  # without codes
    rules = [None] * n_features
    keyed = [j for j in range(n_features) if takes_keys and kinds[j] == CONTINUOUS]
    categorical = [j for j in range(n_features) if kinds[j] == CATEGORICAL]
    searched = sorted(set(range(n_features)) - set(keyed) - set(categorical))
    _code_without_search(ranks, parts, dtype, keyed, categorical, n_categories, row_major, columns, rules)
    bytes_a_value = dtype.itemsize + (8 if weight is not None else 0)
    width = max(1, max(n_rows * n_features, LEAST_ROOM) // (bytes_a_value * max(1, n_rows)))
    width = int(ranks.least(np.array([min(width, n_features)], np.int64))[0])
    for first in range(0, len(searched), width):
        group = searched[first : first + width]
        values = _sorted(parts, group, dtype, weight, n_threads, max(1, SAMPLES * max_codes))
        known = _bins(ranks, values, dtype, max_codes) if max_codes else _distinct(ranks, values, dtype)
        for j, (column, rule) in zip(group, known, strict=True):
            columns[j], rules[j] = column._replace(kind=kinds[j]), rule
        del values
    return _write(parts, n_rows, columns, rules, n_threads, row_major)


def _agreed(ranks, parts, n_rows, weight):
    """How many features there are, the dtype of X, and whether rows have weights."""
    own = [(x.shape[1], x.dtype.str) for x in parts], [weight is not None] * (n_rows > 0)
    of_ranks = ranks.gather_objects(own)
    sorts = sorted({sort for own, _ in of_ranks for sort in own})
    if len(sorts) != 1:
        raise ValueError(f"ranks have X of n_features and dtype {sorts}; allowed is one sort on all, and at least one matrix")
    is_weighted = {has for _, has in of_ranks for has in has}
    if len(is_weighted) > 1:
        raise ValueError("some ranks have weights for their rows and others have none; allowed is either on all ranks")
    return sorts[0][0], np.dtype(sorts[0][1]), True in is_weighted


def _code_without_search(ranks, parts, dtype, keyed, categorical, n_categories, row_major, columns, rules):
    """The columns of keys and of categories, without their codes, and their rules."""
    if not keyed and not categorical:
        return
    has_missing, is_wide = np.zeros((2, len(columns)), np.uint8)
    for x in parts:
        for j in keyed + categorical:
            has_missing[j] |= np.isnan(x[:, j]).any()
        for j in keyed:
            with np.errstate(over="ignore"):
                is_wide[j] |= dtype == np.float64 and not np.array_equal(x[:, j].astype(np.float32), x[:, j], equal_nan=True)
            # a number beyond float32 becomes an infinity, which differs from it
    has_missing, is_wide = ranks.greatest(np.stack([has_missing, is_wide]))
    none = np.empty(0, dtype)
    for j in keyed:
        wide = is_wide.any() if row_major else is_wide[j]
        columns[j] = CodedColumn(None, none, none, none, bool(has_missing[j]), CONTINUOUS, True)
        rules[j] = ("key64", None, MISSING_KEY[8]) if wide else ("key32", None, MISSING_KEY[4])
    for j in categorical:
        columns[j] = code_categories(none, n_categories[j])._replace(codes=None, has_missing=bool(has_missing[j]))
        rules[j] = ("category", None, n_categories[j])


MISSING_KEY = {4: 0xFF800001, 8: 0xFFF0000000000001}


def _sorted(parts, group, dtype, weight, n_threads, n_shares):
    """The `SortedColumn` of each column of a group."""
    n_blocks = max(-(-len(group) // 8), min(n_threads, len(group)))
    edges = np.arange(n_blocks + 1) * len(group) // n_blocks
    values = [None] * len(group)

    def work(b, _):
        values[edges[b] : edges[b + 1]] = sort_columns(parts, group[edges[b] : edges[b + 1]], dtype, weight, n_shares)

    each(n_blocks, work, n_threads)
    return values


def _distinct(ranks, values, dtype):
    """Columns of distinct values, without codes, and their rules."""
    for column in values:
        has_missing = ranks.any(column.has_missing)
        keys = np.unique(np.concatenate(ranks.gather(np.unique(column.keys))))
        numbers = values_of_keys(keys)
        yield CodedColumn(None, numbers, numbers, numbers, has_missing, CONTINUOUS), ("searched", keys[:-1], len(keys))


def _bins(ranks, values, dtype, max_codes):
    """Columns of bins, without codes, and their rules."""
    key_dtype = values[0].keys.dtype
    own = [(c.weight, c.has_missing, c.n_distinct, c.n_distinct > max_codes, round(c.jump)) for c in values]
    facts = ranks.sum(np.array(own, np.int64))
    top = MISSING_KEY[key_dtype.itemsize] - 1
    columns = [
        Marks(top, weight, max_codes - (n_missing > 0), max(1.0, jump / ranks.size))
        for weight, n_missing, _, _, jump in facts.tolist()
    ]
    word = np.dtype(np.uint32 if key_dtype == np.uint32 and facts[:, 0].max() < 2**32 - 1 else np.uint64)
    # Columns of few values are sent as they are.
    is_few = (facts[:, 3] == 0) | (facts[:, 2] <= 2 * SAMPLES * max_codes)
    proposals = _proposals(ranks, values, is_few, facts[:, 0], max_codes)
    questions = []
    for j, column in enumerate(columns):
        weight = int(column.upto[1])
        if weight:
            questions.append(Question(j, 0, top, 0, 0, weight, proposals[j]))
    most = int(facts[is_few, 2].max(initial=0))
    n_steps = 0
    ends = [None] * len(columns)
    while questions:
        _ask(ranks, values, columns, questions, most, word)
        questions = []
        for j, column in enumerate(columns):
            if ends[j] is None:
                found, wanted = deal_out(column.marks, column.upto, column.is_single, column.n_bins, column.jump)
                questions += _questions(j, column, wanted, key_dtype, n_steps)
                if not wanted:
                    ends[j] = np.array(found, np.uint64)
        most = MOST_ENTRIES
        n_steps += 1
    ends = [np.empty(0, np.uint64) if e is None else e for e in ends]
    return _described(ranks, values, ends, facts[:, 1] > 0)


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


def _questions(j, column, wanted, key_dtype, n_steps):
    """Questions for gaps that are wanted of a column."""
    gaps = {}
    for gap, first, last, is_all in wanted:
        gaps.setdefault(gap, []).append((first, last, is_all))
    questions = []
    is_wide = key_dtype == np.uint64
    for gap, targets in gaps.items():
        low, high = int(column.marks[gap - 1]), int(column.marks[gap])
        base = int(column.upto[gap - 1])
        weight = int(column.upto[gap]) - base
        probes = set()
        if weight > MOST_ENTRIES:
            shares = []
            for first, last, is_all in targets:
                if is_all:
                    shares += [0.25, 0.5, 0.75]
                    continue
                share = (0.5 * (first + last) - base) / weight
                margin = 2.0 * np.sqrt(weight * column.jump * max(0.0, share * (1 - share))) + column.jump
                shares += [(first - base - margin) / weight, (last - base + margin) / weight]
            shares = [share for share in shares if 0 < share < 1]
            with np.errstate(all="ignore"):
                a, b = values_of_keys(np.array([low, high], np.uint64).astype(key_dtype)).astype(np.float64)
                for share in shares:
                    x = a + (b - a) * share
                    if np.isfinite(x):
                        probes.add(int(last_keys(np.array([x]), is_wide)[0]))
                    else:
                        probes.add(low + int((high - low) * share))
            if n_steps or not probes:
                probes.add((low + high) // 2)
        probes = {min(max(probe, low + 1), high - 1) for probe in probes}
        first, last = min(target[0] for target in targets), max(target[1] for target in targets)
        questions.append(Question(j, low, high, base, first, last, np.array(sorted(probes), np.uint64)))
    return questions


def _weights(column, places):
    """The weight of a sorted column's values before each place."""
    if column.sums is None:
        return places
    return np.where(places > 0, column.sums[places - 1] if len(column.sums) else 0, 0)


def _ask(ranks, values, columns, questions, most, word):
    """Ask all ranks, and add what they answer to the columns' marks. A collective."""
    n = len(questions)
    n_probes = np.array([len(question.probes) for question in questions], np.int64)
    share = ranks.edges(n)
    # What this rank answers: the weight up to each probe, from the gap's lower mark; how many entries; their keys and weights.
    counts, n_entries, keys, weights = [], [], [], []
    missing = np.iinfo(word).max
    for j, asked in _by_column(questions):
        column = values[j]
        dtype = column.keys.dtype
        low = np.searchsorted(column.keys, np.array([q.low for q in asked], dtype), "right")
        high = np.searchsorted(column.keys, np.array([q.high for q in asked], dtype), "right")
        probes = np.searchsorted(column.keys, np.concatenate([q.probes for q in asked]).astype(dtype), "right")
        base = np.repeat(_weights(column, low), [len(q.probes) for q in asked])
        counts.append(_weights(column, probes) - base)
        n_runs, ends = runs_of(column.keys, low, high, most)
        n_entries.append(n_runs)
        starts = np.concatenate([[0], ends[:-1]])
        first = (np.cumsum(np.maximum(n_runs, 0)) - np.maximum(n_runs, 0))[n_runs > 0]
        starts[first] = low[n_runs > 0]
        starts = starts[: len(ends)]
        keys.append(column.keys[ends - 1])
        weights.append(_weights(column, ends) - _weights(column, starts))
    counts, n_entries, keys, weights = (np.concatenate(a) for a in (counts, n_entries, keys, weights))
    probe_at = np.concatenate([[0], np.cumsum(n_probes)])
    entry_at = np.concatenate([[0], np.cumsum(np.maximum(n_entries, 0))])
    letters = []
    for r in range(ranks.size):
        a, b = share[r], share[r + 1]
        e = slice(entry_at[a], entry_at[b])
        letter = [counts[probe_at[a] : probe_at[b]], np.where(n_entries[a:b] < 0, missing, n_entries[a:b]), keys[e], weights[e]]
        letters.append(np.concatenate([part.astype(word) for part in letter]))
    answer = _judged(ranks.exchange(letters), questions[share[ranks.rank] : share[ranks.rank + 1]], word)
    verdicts = ranks.gather(answer)
    _learn(columns, questions, verdicts, share, probe_at)


def _by_column(questions):
    asked = {}
    for question in questions:
        asked.setdefault(question.column, []).append(question)
    return asked.items()


def _parsed(words, n_counts, n_questions, missing):
    """counts, n_entries, keys, weights of an answer"""
    counts, n_entries, rest = np.split(words, [n_counts, n_counts + n_questions])
    n_entries = np.where(n_entries == missing, -1, n_entries.astype(np.int64))
    return counts.astype(np.int64), n_entries, *rest.reshape(2, -1)


def _judged(letters, questions, word):
    """What ranks answered, put together: counts, n_entries, keys and weights as in an answer; weights are cumulated.

    The number of entries is doubled, and odd if entries below the first one were left out.
    """
    n = len(questions)
    n_counts = sum(len(question.probes) for question in questions)
    parsed = [_parsed(letter, n_counts, n, np.iinfo(word).max) for letter in letters]
    counts = np.sum([p[0] for p in parsed], axis=0, dtype=np.int64)
    is_whole = np.min([p[1] for p in parsed], axis=0) >= 0 if n else np.zeros(0, bool)
    of = np.concatenate([np.repeat(np.arange(n), np.maximum(p[1], 0)) for p in parsed])
    keys = np.concatenate([p[2] for p in parsed])
    weights = np.concatenate([p[3] for p in parsed]).astype(np.int64)
    order = np.lexsort((keys, of))
    order = order[is_whole[of[order]]]
    of, keys, weights = of[order], keys[order], weights[order]
    is_first = np.append(True, (np.diff(of) > 0) | (keys[1:] != keys[:-1]))[: len(of)]
    firsts = np.flatnonzero(is_first)
    weights = np.add.reduceat(weights, firsts) if len(firsts) else weights
    of, keys = of[firsts], keys[firsts]
    starts = np.searchsorted(of, np.arange(n + 1))
    low = np.array([q.first - q.base for q in questions], np.int64)
    high = np.array([q.last - q.base for q in questions], np.int64)
    is_kept, upto = trim(starts, weights, low, high)
    kept_of = of[is_kept]
    n_kept = np.bincount(kept_of, minlength=n)
    first_kept = np.searchsorted(kept_of, np.arange(n))
    is_cut = np.zeros(n, np.int64)
    places = np.flatnonzero(is_kept)
    has = n_kept > 0
    is_cut[has] = places[first_kept[has]] > starts[:-1][has]
    return np.concatenate([part.astype(word) for part in (counts, 2 * n_kept + is_cut, keys[is_kept], upto[is_kept])])


def _learn(columns, questions, verdicts, share, probe_at):
    found = {}
    for r, words in enumerate(verdicts):
        own = questions[share[r] : share[r + 1]]
        counts, n_entries, keys, upto = _parsed(words, probe_at[share[r + 1]] - probe_at[share[r]], len(own), None)
        is_cut, n_entries = n_entries & 1, n_entries >> 1
        ends = np.cumsum(n_entries)
        c = 0
        for q, end, k, cut in zip(own, ends.tolist(), n_entries.tolist(), is_cut.tolist(), strict=True):
            marks, total, single = found.setdefault(q.column, ([], [], []))
            e = slice(end - k, end)
            marks += [q.probes, keys[e].astype(np.uint64)]
            total += [q.base + counts[c : c + len(q.probes)], q.base + upto[e].astype(np.int64)]
            is_single = np.ones(k, np.uint8)
            if k:
                is_single[0] = not cut
            single += [np.zeros(len(q.probes), np.uint8), is_single]
            c += len(q.probes)
    for j, lists in found.items():
        columns[j].add(*map(np.concatenate, lists))


def _described(ranks, values, ends, has_missing):
    """Edges, lows and highs of bins that end at given keys, and how their values are told apart."""
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
        column = CodedColumn(None, edges_between(lows, highs), lows, highs, bool(has_missing[j]), CONTINUOUS)
        yield column, ("searched", keys[:-1], len(keys))


def _write(parts, n_rows, columns, rules, n_threads, row_major):
    """The columns with the codes of own rows."""
    dtypes = []
    for column, (rule, _, missing) in zip(columns, rules, strict=True):
        # The code for missing values counts for bins and ranks only where there are any.
        dtypes.append(np.min_scalar_type(missing - (rule == "searched" and not column.has_missing and missing > 0)))
    if row_major:
        matrix = np.empty((n_rows, len(columns)), max(dtypes, key=lambda dtype: dtype.itemsize))
        codes = [matrix[:, j] for j in range(len(columns))]
    else:
        codes = [np.empty(n_rows, dtype) for dtype in dtypes]
    rules = [(rule, None if highs is None else np.ascontiguousarray(highs), missing) for rule, highs, missing in rules]
    pieces = []
    offset = 0
    for x in parts:
        pieces += [(x[first : first + ROWS_AT_A_TIME], offset + first) for first in range(0, len(x), ROWS_AT_A_TIME)]
        offset += len(x)
    each(len(pieces), lambda p, _: write_codes(*pieces[p], rules, codes), n_threads)
    return [column._replace(codes=c) for column, c in zip(columns, codes, strict=True)]
