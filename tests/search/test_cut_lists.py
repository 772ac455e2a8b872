"""Cut lists: what each producer makes of a column, by worked examples first, then against plain Python on random nodes."""

import numpy as np
import pytest
from probes import cuts

from dforest.core import loops
from dforest.core.coding.coded_columns import CodedColumn
from dforest.core.data import DataView
from dforest.core.search.absolute_error import AbsoluteError
from dforest.core.search.criterion import Gini
from dforest.core.search.regression import SquaredError

Probe = cuts.Probe

CONTINUOUS, CATEGORICAL = 0, 2

# Ways to make the list of a column, by tuning.
WAYS = {
    "sorted by insertion": {"sort_below": 10**9, "insertion_below": 10**9},
    "sorted by radix": {"sort_below": 10**9, "insertion_below": 0},
    "counted": {"sort_below": 0, "codes_per_record": 10**6, "bitmap_from": 10**6},
    "counted in copies": {"sort_below": 0, "codes_per_record": 10**6, "bitmap_from": 10**6, "copy_from": 0},
    "by bitmap": {"sort_below": 0, "codes_per_record": 10**6, "bitmap_from": 0, "bitmap_codes_per_record": 10**6},
    "counted by bitmap": {"sort_below": 0, "codes_per_record": 10**6, "bitmap_from": 0, "bitmap_codes_per_record": 0},
}
BY_WAY = pytest.mark.parametrize("way", WAYS)


def column_of(codes, n_codes, *, has_missing=False, kind=CONTINUOUS, dtype=np.uint8):
    values = np.arange(n_codes, dtype=np.float64)
    return CodedColumn(np.array(codes, dtype), values, values, values, has_missing, kind)


def node_of(columns, target, *, n_classes=0, weight=None, counts=None, criterion=None, **options):
    """A probe of the node of all rows."""
    target = np.array(target, np.int32)
    y = None if n_classes else target.astype(np.float64)
    weight = None if weight is None else np.array(weight, np.uint32)
    counts = None if counts is None else np.array(counts, np.uint32)
    criterion = criterion or (Gini() if n_classes else SquaredError())
    data = DataView(columns, target, y, weight)
    return Probe(data, criterion.configure(n_classes), counts, **options)


# Worked examples


def test_categories_come_in_the_order_of_their_mean_response():
    """Mean targets of categories 0, 1 and 2: 5, 9 and 1."""
    column = column_of([0, 0, 1, 2, 2, 2], 3, kind=CATEGORICAL)
    node = node_of([column], [4, 6, 9, 0, 1, 2])
    cuts = node.arranged(0)
    assert cuts["codes"] == [2, 0, 1]
    assert [left[0] for left in cuts["left"]] == [3, 5, 6]


def test_of_equal_responses_the_lower_category_comes_first():
    column = column_of([3, 1, 0, 2], 4, kind=CATEGORICAL)
    assert node_of([column], [7, 7, 8, 7]).arranged(0)["codes"] == [1, 2, 3, 0]


def test_categories_one_by_one():
    """With missing values, all categories together are a left side too: the last one."""
    column = column_of([0, 1, 1, 2, 3], 3, has_missing=True, kind=CATEGORICAL)
    cuts = node_of([column], [0, 1, 0, 1, 1], n_classes=2, one_hot=True).arranged(0)
    assert cuts["kind"] == "singles"
    assert cuts["left"] == [[1, 1, 1, 0], [2, 2, 1, 1], [1, 1, 0, 1], [4, 4, 2, 2]]
    column = column_of([0, 1, 1, 2], 3, kind=CATEGORICAL)
    assert len(node_of([column], [0, 1, 0, 1], n_classes=2, one_hot=True).arranged(0)["left"]) == 3


def test_the_best_cut_and_the_side_of_missing_values():
    """After code 1 the classes are apart; the missing draw is of class 1, which goes right."""
    column = column_of([0, 1, 2, 3, 4], 4, has_missing=True)
    node = node_of([column], [0, 0, 1, 1, 1], n_classes=2)
    found = node.best(0)
    assert (found["code"], found["missing_left"], found["only_missing_right"]) == (1, False, False)
    # 5 draws of impurity 12/25, none after: the score is 5 * 12/25.
    assert found["score"] == pytest.approx(2.4)


def test_missing_values_against_the_rest():
    column = column_of([0, 1, 2, 3, 3], 3, has_missing=True)
    found = node_of([column], [0, 0, 0, 1, 1], n_classes=2).best(0)
    assert found["only_missing_right"] and not found["missing_left"]


def test_a_side_of_too_few_draws_is_no_cut():
    column = column_of([0, 1, 1, 1], 2)
    assert node_of([column], [0, 1, 1, 1], n_classes=2).best(0, min_draws=2) is None


def test_of_useless_cuts_the_evenest_is_taken():
    """Every cut leaves both classes in halves, so that none scores: after 3 of 6 values, both sides have as many draws."""
    codes = np.repeat(np.arange(6), 2)
    found = node_of([column_of(codes, 6)], [0, 1] * 6, n_classes=2).best(0)
    assert (found["score"], found["code"]) == (0.0, 2)


# Against plain Python


def plain_list(codes, records, n_values, n_words):
    """`Probe.cumulated`, one value after another."""
    left, sides, found = [0] * n_words, [], []
    for code in sorted({code for code, *_ in zip(codes, records, strict=True) if code < n_values}):
        for other, record in zip(codes, records, strict=True):
            if other == code:
                left = [a + b for a, b in zip(left, record, strict=True)]
        sides.append(left)
        found.append(code)
    missing = [sum(words) for words in zip([0] * n_words, *(r for c, r in zip(codes, records, strict=True) if c == n_values),
                                           strict=True)]  # fmt: skip
    return {"kind": "run", "codes": found, "left": sides, "missing": missing}


def random_node(seed, way, kind=CONTINUOUS):
    """(probe, codes, records of the rows drawn, number of values): one random column, of 1 to 300 codes."""
    rng = np.random.default_rng(seed)
    n, n_codes, n_classes = int(rng.integers(2, 120)), int(rng.choice([1, 2, 5, 60, 255])), int(rng.choice([0, 2, 3, 4, 5, 8, 9]))
    has_missing = bool(rng.integers(2))
    codes = rng.integers(0, n_codes + has_missing, n)
    target = rng.integers(0, n_classes, n) if n_classes else rng.integers(-50, 50, n)
    weight = rng.integers(1, 9, n) if rng.integers(2) else None
    counts = rng.integers(0, 3, n)
    counts[:2] = 1
    dtype = rng.choice([np.uint8, np.uint16, np.uint32])
    column = column_of(codes, n_codes, has_missing=has_missing, kind=kind, dtype=dtype)
    criterion = AbsoluteError() if not n_classes and rng.integers(2) else None
    probe = node_of([column], target, n_classes=n_classes, weight=weight, counts=counts, criterion=criterion, tuning=WAYS[way])
    records = []
    for i in range(n):
        w = int(counts[i]) * (1 if weight is None else int(weight[i]))
        own = [w * (target[i] == k) for k in range(n_classes)] if n_classes else [w * int(target[i])]
        records.append([int(counts[i]), w, *map(int, own)])
    drawn = counts > 0
    return (probe, [int(c) for c in codes[drawn]], [r for r, d in zip(records, drawn, strict=True) if d], n_codes)


@BY_WAY
@pytest.mark.parametrize("seed", range(40))
def test_lists_are_those_of_plain_python(seed, way):
    probe, codes, records, n_codes = random_node(seed, way)
    assert probe.cumulated(0) == plain_list(codes, records, n_codes, len(records[0]))


@BY_WAY
@pytest.mark.parametrize("most", [255, 256, 65_535, 65_536, 200_000])
@pytest.mark.parametrize("n_codes", [2, 30])
def test_rows_drawn_often(n_codes, most, way):
    """Counts, and their sums, at the limits of 8 and 16 bits, and beyond."""
    rng = np.random.default_rng(most)
    codes, target = rng.integers(0, n_codes, 60), rng.integers(0, 6, 60)
    counts = np.ones(60, int)
    counts[7] = most - 59 if most > 60_000 else most
    probe = node_of([column_of(codes, n_codes)], target, n_classes=6, counts=counts, tuning=WAYS[way])
    records = [[int(c), int(c), *(int(c) * (t == k) for k in range(6))] for c, t in zip(counts, target, strict=True)]
    assert probe.cumulated(0) == plain_list(codes.tolist(), records, n_codes, 8)


@pytest.mark.parametrize("seed", range(60))
def test_single_cuts_are_entries_of_the_list(seed):
    probe, codes, records, n_codes = random_node(seed, "sorted by radix")
    whole = plain_list(codes, records, n_codes, len(records[0]))
    for code, left in zip(whole["codes"], whole["left"], strict=True):
        cuts, _ = probe.added_up(0, code)
        assert (cuts["left"], cuts["missing"]) == ([left], whole["missing"])


@pytest.mark.parametrize("seed", range(60))
def test_single_categories_are_differences_of_the_list(seed):
    probe, codes, records, n_codes = random_node(seed, "sorted by insertion", CATEGORICAL)
    whole = plain_list(codes, records, n_codes, len(records[0]))
    ranked = probe.arranged(0)
    assert sorted(ranked["codes"]) == whole["codes"]
    before = [0] * len(records[0])
    for code, left in zip(ranked["codes"], ranked["left"], strict=True):
        own = [sum(words) for words in zip(*(r for c, r in zip(codes, records, strict=True) if c == code), strict=True)]
        assert [a - b for a, b in zip(left, before, strict=True)] == own
        before = left


@pytest.mark.parametrize("seed", range(40))
def test_the_best_cut_does_not_depend_on_how_it_is_found(seed):
    """Few records at once, all lists, and buckets of neighbouring codes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 200))
    column, target = column_of(rng.integers(0, 101, n), 100, has_missing=True), rng.integers(0, 2, n)
    found = []
    for way in WAYS.values():
        for more in ({}, {"unordered_below": 0}):
            found.append(node_of([column], target, n_classes=2, tuning=way | more).best(0, min_draws=2))
            node = node_of([column], target, n_classes=2, tuning=way | more | {"buckets": 7})
            found.append(node.best(0, min_draws=2, by_buckets=True))
    assert all(one == found[0] for one in found), found


@pytest.mark.parametrize("name", loops.names())
@pytest.mark.parametrize("n_classes", range(3, 9))
def test_lanes_score_as_statistics_do(n_classes, name):
    """Columns of 2 to 200 codes: cuts that are counted are scored many at once, those that are sorted one by one."""
    rng = np.random.default_rng(n_classes)
    loops.use(name)
    try:
        for n_codes in (2, 3, 17, 200):
            n = int(rng.integers(100, 1000))
            codes = rng.integers(0, n_codes + 1, n) if rng.integers(2) else rng.integers(0, n_codes, n)
            target = (codes * n_classes // (n_codes + 1) + rng.integers(0, 3, n)) % n_classes
            column, counts = column_of(codes, n_codes, has_missing=True), rng.integers(0, 9, n)
            options = {"n_classes": n_classes, "counts": counts}
            found = [node_of([column], target, tuning=way, **options).best(0, min_draws=20) for way in WAYS.values()]
            assert found[0] is not None
            assert all(one == found[0] for one in found), found
    finally:
        loops.use()


def test_useless_cuts_of_many_classes():
    """Each value has a draw of each class, so that no cut scores: after 20 of 40 values, both sides have as many draws."""
    codes = np.repeat(np.arange(40), 5)
    node = node_of([column_of(codes, 40)], np.tile(np.arange(5), 40), n_classes=5, tuning=WAYS["counted"])
    found = node.best(0)
    assert (found["score"], found["code"]) == (0.0, 19)
