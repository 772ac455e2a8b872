"""Records packed into words, and counters by code as sums up to each code: what plain Python makes, by all sets of loops."""

import numpy as np
import pytest

from dforest.core import loops

COMPILED = """
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.component cimport CONTRACT
from dforest.core.component import declare_contract
from dforest.core.loops cimport loops
from dforest.core.search.packed_sums cimport df_class_counter_of, df_pack_sum
from dforest.core.types cimport Record
declare_contract(__name__, CONTRACT)


def pack_classes(uint32_t[:, ::1] records, int bits, uint32_t[::1] row, uint64_t[::1] word, uint32_t[::1] slot):
    return loops.pack_classes(<Record*> &records[0, 0], records.shape[0], bits, df_class_counter_of(0), &row[0], &word[0],
                              &slot[0] if slot is not None else NULL)


def pack_sums(uint32_t[:, ::1] records, uint32_t[::1] row, uint64_t[::1] word):
    return loops.pack_sums(<Record*> &records[0, 0], records.shape[0], &row[0], &word[0])


def running_sums(uint64_t[::1] counters, uint64_t[::1] run, uint32_t[::1] codes):
    return loops.running_sums(&counters[0], counters.shape[0], &run[0], &codes[0])


def lane_of(int k):
    return df_class_counter_of(k)


def sum_word(uint32_t count, int target):
    return df_pack_sum(count, target)
"""


@pytest.fixture(scope="module")
def compiled(compile_module):
    return compile_module("runs", COMPILED)


@pytest.fixture(params=loops.names(), autouse=True)
def each_loops(request):
    """Have the loops of one set in use."""
    loops.use(request.param)
    yield
    loops.use()


SIZES = [1, 2, 7, 8, 9, 63, 64, 65, 200]


def random_records(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    target = rng.integers(0, n_classes, n) if n_classes else rng.integers(-(2**31), 2**31, n)
    fields = rng.integers(0, 2**32, n), rng.integers(1, 2 ** int(rng.integers(1, 9)), n), target & 0xFFFFFFFF, np.ones(n)
    return np.stack(fields, axis=1).astype(np.uint32), target


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("n_classes, bits", [(2, 32), (3, 16), (4, 16), (7, 8), (8, 8)])
def test_words_of_classes(n_classes, bits, n, compiled):
    """Draws of class k begin at the bit k * bits; a slot has the count, and the class counter of the class."""
    records, target = random_records(n, n_classes, n)
    row, word, slot = np.empty(n, np.uint32), np.empty(n, np.uint64), np.empty(n, np.uint32)
    assert compiled.pack_classes(records, bits, row, word, slot) == records[:, 1].max()
    assert row.tolist() == records[:, 0].tolist()
    counts = records[:, 1].tolist()
    assert word.tolist() == [count << bits * k for count, k in zip(counts, target.tolist(), strict=True)]
    assert slot.tolist() == [count << 16 | compiled.lane_of(k) for count, k in zip(counts, target.tolist(), strict=True)]
    again = np.empty(n, np.uint64)
    assert compiled.pack_classes(records, bits, row, again, None) == records[:, 1].max()
    assert again.tolist() == word.tolist()


@pytest.mark.parametrize("n", SIZES)
def test_words_of_sums(n, compiled):
    """Draws in the high 16 bits; below, the sum of target + 2**31."""
    records, target = random_records(n, 0, n)
    row, word = np.empty(n, np.uint32), np.empty(n, np.uint64)
    assert compiled.pack_sums(records, row, word) == records[:, 1].max()
    assert row.tolist() == records[:, 0].tolist()
    expected = [(count << 48) + count * (k + 2**31) for count, k in zip(records[:, 1].tolist(), target.tolist(), strict=True)]
    assert word.tolist() == expected
    assert word.tolist() == [compiled.sum_word(count, k) for count, k in zip(records[:, 1], target, strict=True)]


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 40, 255, 256, 1001])
def test_sums_up_to_each_code_that_occurs(n, compiled):
    """Of counters 2, 0 and 3, the codes 0 and 2 occur, with 2 and 5 draws up to them; there is room for a code more."""
    rng = np.random.default_rng(n)
    for share in (0.0, 0.1, 0.7, 1.0):
        counters = rng.integers(1, 2**50, n).astype(np.uint64) * (rng.random(n) < share).astype(np.uint64)
        expected, at = np.cumsum(counters, dtype=np.uint64), np.flatnonzero(counters)
        run, codes = np.zeros(len(at) + 2, np.uint64), np.zeros(len(at) + 2, np.uint32)
        run[-1], codes[-1] = 77, 78  # behind the room
        assert compiled.running_sums(counters, run, codes) == len(at)
        assert codes[: len(at)].tolist() == at.tolist()
        assert run[: len(at)].tolist() == expected[at].tolist()
        assert (run[-1], codes[-1]) == (77, 78)
        assert not counters.any()
