"""Partitions of a node's records: stable, in place, and those that plain Python makes, whatever the codes, tests and teams."""

import threading
import time

import numpy as np
import pytest

from dforest.core import loops
from dforest.core.coding import code_columns
from dforest.core.data import DataView
from dforest.core.team import Team

# Sizes around those of the chunks that threads share, 8192 records.
SIZES = [1, 2, 3, 100, 8191, 8193, 30_000]

COMPILED = """
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from dforest.core.component cimport CONTRACT
from dforest.core.component import declare_contract
from dforest.core.data cimport DataView
from dforest.core.grow.records cimport Leader, partition, partition_by_test
from dforest.core.team cimport TeamTask, Team
from dforest.core.search.splitter cimport Splitter
from dforest.core.search.sums cimport NO_SUMS, Sums, SumsKind
from dforest.core.search.packed_sums cimport unpack_sums
from dforest.core.threads cimport df_glance
from dforest.core.types cimport CATEGORICAL, CONTINUOUS, Column, Record, Node, Split, df_rows
declare_contract(__name__, CONTRACT)

ctypedef fused codes_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef class ByRow(Splitter):
    \"\"\"A test of its own: a row goes left if the payload has its bit.\"\"\"
    def __cinit__(self):
        self.has_own_tests = True

    cdef int goes_left(self, const uint64_t* payload, Py_ssize_t n_words, const df_rows* X, const uint32_t* rows,
                       Py_ssize_t n, uint8_t* left) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(n):
            left[i] = (payload[rows[i] >> 6] >> (rows[i] & 63)) & 1
        return 0


def partition_by_codes(uint32_t[:, ::1] draws, codes_t[::1] codes, uint64_t n_codes, bint has_missing, uint64_t code,
                       bint missing_left, uint64_t[::1] subset, uint8_t[::1] buckets, uint64_t scale, uint32_t[::1] rows,
                       Team team):
    cdef Column column
    cdef Node node
    cdef Split split
    cdef Sums left, right
    cdef Leader leader = Leader(<PyObject*> team, 0)
    memset(&column, 0, sizeof(Column))
    memset(&node, 0, sizeof(Node))
    memset(&split, 0, sizeof(Split))
    left.kind = right.kind = NO_SUMS
    column.codes = &codes[0]
    column.width = sizeof(codes_t)
    column.kind = CONTINUOUS if subset is None else CATEGORICAL
    column.n_codes = n_codes
    column.has_missing = has_missing
    column.buckets = &buckets[0] if buckets is not None else NULL
    column.scale = scale
    node.records = <Record*> &draws[0, 0]
    node.n = draws.shape[0]
    node.columns = &column
    node.scratch = <Record*> malloc(node.n * sizeof(Record))
    node.rows = &rows[0] if rows is not None else NULL
    split.code = code
    split.missing_left = missing_left
    split.payload = &subset[0] if subset is not None else NULL
    split.n_payload_words = len(subset) if subset is not None else 0
    try:
        return partition(&node, &column, &split, &leader if team is not None else NULL, 0, &left, &right)
    finally:
        free(node.scratch)


def partition_and_sum(uint32_t[:, ::1] draws, uint8_t[::1] codes, uint64_t code, int kind, int64_t[::1] statistics, Team team):
    cdef Column column
    cdef Node node
    cdef Split split
    cdef Sums left, right
    cdef Leader leader = Leader(<PyObject*> team, 0)
    memset(&column, 0, sizeof(Column))
    memset(&node, 0, sizeof(Node))
    memset(&split, 0, sizeof(Split))
    column.codes = &codes[0]
    column.width = 1
    column.kind = CONTINUOUS
    column.n_codes = 256
    node.records = <Record*> &draws[0, 0]
    node.n = draws.shape[0]
    node.columns = &column
    node.scratch = <Record*> malloc(node.n * sizeof(Record))
    node.statistics = &statistics[0]
    split.code = code
    left.kind = right.kind = <SumsKind> kind
    try:
        n_left = partition(&node, &column, &split, &leader if team is not None else NULL, statistics.shape[0], &left, &right)
    finally:
        free(node.scratch)
    sides = []
    for sums in (left, right):
        left = sums
        unpack_sums(&left, &statistics[0], statistics.shape[0])
        sides.append(list(statistics))
    return n_left, sides


def partition_by_rows(uint32_t[:, ::1] draws, uint64_t[::1] left, uint32_t[::1] rows, DataView data):
    cdef ByRow splitter = ByRow()
    cdef Node node
    cdef Split split
    memset(&node, 0, sizeof(Node))
    memset(&split, 0, sizeof(Split))
    splitter.data = data
    node.records = <Record*> &draws[0, 0]
    node.n = draws.shape[0]
    node.scratch = <Record*> malloc(node.n * sizeof(Record))
    node.rows = &rows[0] if rows is not None else NULL
    split.payload = &left[0]
    split.n_payload_words = left.shape[0]
    try:
        return partition_by_test(splitter, &node, &split)
    finally:
        free(node.scratch)


def join(Team team):
    return team.join()


def count_idle(Team team):
    return df_glance(team.n_idle)


def help(Team team, int member):
    cdef void* offer
    cdef TeamTask* task
    cdef Py_ssize_t n = 0
    with nogil:
        while team.wait_for_work(member, &offer, &task):
            team.help_with(task, NULL)
            n += 1
    return n
"""


@pytest.fixture(params=loops.names())
def each_loops(request):
    """Have the loops of one set in use."""
    loops.use(request.param)
    yield
    loops.use()


@pytest.fixture(scope="module")
def compiled(compile_module):
    return compile_module("partitions", COMPILED)


def records(rows):
    """One record for each row; its other numbers tell which record it is."""
    numbers = np.arange(len(rows), dtype=np.uint32)
    return np.stack([np.asarray(rows, np.uint32), numbers + 1, numbers % 3, numbers * 7], axis=1)


def check(partition, draws, left):
    """Compare a partition with the one that plain Python makes, given which records go left."""
    expected = [draw for draw, goes in zip(draws.tolist(), left, strict=True) if goes]
    n_left = len(expected)
    expected += [draw for draw, goes in zip(draws.tolist(), left, strict=True) if not goes]
    assert partition(draws) == n_left
    assert draws.tolist() == expected


class ByCodes:
    """A column, and a split of it: called with records, it partitions them; `left` says which of them go left."""

    def __init__(self, compiled, codes, n_codes, cut=0, missing_left=False, has_missing=True, subset=None, n_buckets=0,
                 rows=None, team=None):  # fmt: skip
        self.compiled, self.codes, self.n_codes, self.has_missing = compiled, codes, n_codes, has_missing
        self.cut, self.missing_left, self.subset, self.rows, self.team = cut, missing_left, subset, rows, team
        self.buckets, self.scale = None, 0
        if n_buckets:
            self.scale = n_buckets * 2**32 // n_codes
            bucket = (codes.astype(np.uint64) * np.uint64(self.scale) >> np.uint64(32)).astype(np.uint8)
            bucket[codes == n_codes] = 255
            self.buckets = bucket if rows is None else bucket[rows]

    def __call__(self, draws):
        words = None
        if self.subset is not None:
            words = np.zeros((self.n_codes + 63) // 64, np.uint64)
            for category in self.subset:
                words[category // 64] |= np.uint64(1 << category % 64)
        return self.compiled.partition_by_codes(draws, self.codes, self.n_codes, self.has_missing, self.cut, self.missing_left,
                                                words, self.buckets, self.scale, self.rows, self.team)  # fmt: skip

    def left(self, draws):
        """By the definitions of `Split`, record by record."""
        for row in draws[:, 0].tolist():
            code = int(self.codes[row if self.rows is None else self.rows[row]])
            if self.has_missing and code == self.n_codes:
                yield self.missing_left
            elif self.subset is None:
                yield code <= self.cut
            else:  # categories of the subset go to the side opposite to missing values, all others with them
                yield (code in self.subset) != self.missing_left

    def check(self, draws):
        check(self, draws, list(self.left(draws)))


def test_worked_example(compiled, each_loops):
    """Four records of the codes 5, 2, 7 and 2: by a cut after 4, the second and the fourth go left."""
    draws = records([0, 1, 2, 3])
    split = ByCodes(compiled, np.array([5, 2, 7, 2], np.uint8), 8, cut=4)
    assert list(split.left(draws)) == [False, True, False, True]
    assert split(draws) == 2
    assert draws[:, 0].tolist() == [1, 3, 0, 2]
    assert draws[:, 1].tolist() == [2, 4, 1, 3]


KINDS = {2: 1, 3: 2, 4: 2, 5: 2, 8: 2, 0: 3}  # of sums, by the number of classes, 0: numbers


@pytest.mark.parametrize("n_classes", KINDS)
@pytest.mark.parametrize("n", [2, 3, 40, 64, 129, 500])
def test_both_sides_are_added_up(n, n_classes, compiled, each_loops):
    check_sums(compiled, n, n_classes, None)


@pytest.mark.parametrize("n_classes", KINDS)
def test_a_team_adds_up_both_sides(n_classes, compiled):
    team = Team(1)  # which cuts the records into chunks as others do
    assert compiled.join(team)
    check_sums(compiled, 20_000, n_classes, team)


def check_sums(compiled, n, n_classes, team):
    """Draws, weights and classes or the sum of targets, as in plain Python."""
    rng = np.random.default_rng(n + n_classes)
    target = rng.integers(0, n_classes, n) if n_classes else rng.choice([-(2**31) + 1, -5, 0, 1, 2**31 - 1], n)
    counts = rng.integers(1, 2 * (65_535 // n), n) if n_classes else rng.integers(1, 9, n)
    counts[-1] = max(1, 65_535 - counts[:-1].sum()) if n_classes else counts[-1]
    while counts.sum() > 65_535:
        counts[counts.argmax()] = 1
    codes = rng.integers(0, 200, n).astype(np.uint8)
    codes[:2] = 0, 199
    draws = np.stack([np.arange(n), counts, target.astype(np.int64) & 0xFFFFFFFF, np.ones(n)], axis=1).astype(np.uint32)

    def statistic(which):
        own = [counts[which & (target == k)].sum() for k in range(n_classes)] or [(counts * target)[which].sum()]
        return [int(word) for word in (counts[which].sum(), counts[which].sum(), *own)]

    for cut in (0, 50, 198):
        before = draws.copy()
        total = np.array(statistic(np.ones(n, bool)), np.int64)
        n_left, sides = compiled.partition_and_sum(draws, codes, cut, KINDS[n_classes], total, team)
        goes = codes <= cut
        assert n_left == goes.sum()
        assert draws.tolist() == before[np.argsort(~goes, kind="stable")].tolist()
        assert sides == [statistic(goes), statistic(~goes)]
        draws = before


def random_column(width, n_rows, n_codes, seed):
    """Codes of rows, a tenth of them missing."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_codes, n_rows, dtype=np.uint64)
    codes[rng.random(n_rows) < 0.1] = n_codes
    return codes.astype(f"u{width}")


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 64, 100, 3000])
@pytest.mark.parametrize("width, n_codes", [(1, 2), (1, 255), (2, 40_000), (4, 10**6), (8, 2**64 - 1)])
def test_codes_of_all_widths(width, n_codes, n, missing_left, compiled, each_loops):
    codes = random_column(width, 50_000, n_codes, n)
    rows = np.random.default_rng(0).choice(50_000, n, replace=False)
    for cut in (0, n_codes // 3, n_codes - 1):
        ByCodes(compiled, codes, n_codes, cut, missing_left).check(records(rows))


def test_a_column_without_missing_values_has_a_code_more(compiled):
    """Where nothing is missing, a split may say that missing values go left, and codes are as they are."""
    codes = np.array([0, 3, 1, 2], np.uint8)
    for cut in range(4):
        ByCodes(compiled, codes, 4, cut, missing_left=True, has_missing=False).check(records(range(4)))


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_a_side_may_be_empty(width, compiled):
    """All records go one way: `Grower` refuses that, and is told so by the number returned."""
    codes = np.array([4, 5, 9, 9], f"u{width}")
    for cut, missing_left, n_left in [(3, False, 0), (8, True, 4), (8, False, 2), (3, True, 2)]:
        draws = records(range(4))
        assert ByCodes(compiled, codes, 9, cut, missing_left)(draws) == n_left
        assert draws[:, 0].tolist() == ([2, 3, 0, 1] if (cut, missing_left) == (3, True) else [0, 1, 2, 3])


@pytest.mark.parametrize("in_block", [False, True])
@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("n_buckets", [1, 7, 255])
def test_buckets_are_looked_up_before_codes(n_buckets, missing_left, in_block, compiled):
    """In a block, a record's number leads to its bucket, and only by the block's table of rows to its code."""
    codes = random_column(4, 5000, 1000, n_buckets)
    rows = np.random.default_rng(1).permutation(5000)[:700].astype(np.uint32)
    for cut in (0, 1, 332, 999):
        split = ByCodes(compiled, codes, 1000, cut, missing_left, n_buckets=n_buckets, rows=rows if in_block else None)
        split.check(records(np.arange(700) if in_block else rows))


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("width, n_codes", [(1, 5), (1, 64), (1, 200), (2, 1000), (4, 70_000)])
def test_categories(width, n_codes, missing_left, compiled):
    codes = random_column(width, 3000, n_codes, 0)
    rng = np.random.default_rng(1)
    for subset in (set(), {0}, {n_codes - 1}, set(rng.choice(n_codes, n_codes // 2, replace=False).tolist())):
        ByCodes(compiled, codes, n_codes, missing_left=missing_left, subset=subset).check(records(rng.permutation(3000)))


@pytest.mark.parametrize("in_block", [False, True])
@pytest.mark.parametrize("n", [1, 1023, 1024, 1025, 5000])
def test_tests_of_a_splitters_own(n, in_block, compiled):
    """A splitter is asked for 1024 records at a time, and is given numbers of rows of the data."""
    rng = np.random.default_rng(n)
    data = DataView(code_columns(np.arange(6.0)[:, None], 16), np.zeros(6, np.int32), None, None)
    rows = rng.permutation(6000)[:n].astype(np.uint32)
    for share in (0.0, 0.4, 1.0):
        goes = rng.random(6016) < share
        words = np.packbits(goes, bitorder="little").view(np.uint64)
        draws = records(np.arange(n) if in_block else rows)
        check(lambda draws, words=words: compiled.partition_by_rows(draws, words, rows if in_block else None, data), draws,
              goes[rows].tolist())  # fmt: skip


def wait_for_idle(compiled, team, n):
    """Until n members of a team have nothing to do, half a minute at most."""
    until = time.monotonic() + 30
    while compiled.count_idle(team) < n and time.monotonic() < until:
        time.sleep(0.0001)


@pytest.mark.parametrize("n_members", [1, 2, 3, 7])
@pytest.mark.parametrize("n", SIZES)
def test_members_of_a_team_partition_together(n, n_members, compiled):
    team = Team(n_members)
    is_shared = n > 2 * 8192 and n_members > 1
    assert all([compiled.join(team) for _ in range(n_members)])
    done = []
    helpers = [threading.Thread(target=lambda i=i: done.append(compiled.help(team, i))) for i in range(1, n_members)]
    for helper in helpers:
        helper.start()
    try:
        codes = random_column(2, 40_000, 300, n)
        rows = np.random.default_rng(2).permutation(40_000)[:n]
        for cut in (0, 100, 299):
            wait_for_idle(compiled, team, n_members - 1)
            ByCodes(compiled, codes, 300, cut, missing_left=True, team=team).check(records(rows))
        if is_shared:  # often enough that somebody helps, however busy the machine is
            partition = ByCodes(compiled, codes, 300, 100, missing_left=True, team=team)
            for _ in range(100):
                wait_for_idle(compiled, team, n_members - 1)
                partition(records(rows))
    finally:
        team.stop()
        for helper in helpers:
            helper.join()
    assert len(done) == n_members - 1
    if is_shared:
        assert sum(done) > 0
